/* The bytes of a watch or list as objects (see watch.h). A scanner finds where objects begin and end, by
 * brackets and strings alone; what it has found is parsed by itself. So nothing that one object holds can
 * hide the next one, and of a list of any length only one item is in memory. */
#include "kube/watch.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "kube/kind.h"
#include "kube/status.h"

enum { REST_MAX = 1 << 20 };

/* The state of the scanner: brackets and strings. */
typedef struct {
        int depth;
        bool in_string, escaped;
} Scan;

struct KubeFrames {
        KubeFramesMode mode;
        gsize max;
        KubeFrameFound found;
        void *arg;
        Scan item;     /* depth 0: not in one */
        GString *text; /* of the item so far */
        bool too_large;
        Scan outer; /* of a list */
        bool in_items;
        GString *rest; /* of a list: all but its items */
        bool stopped;
};

KubeFrames *kube_frames_new(KubeFramesMode mode, gsize max, KubeFrameFound found, void *arg)
{
        KubeFrames *frames = g_new0(KubeFrames, 1);

        frames->mode = mode;
        frames->max = max;
        frames->found = found;
        frames->arg = arg;
        frames->text = g_string_new(NULL);
        frames->rest = g_string_new(NULL);
        return frames;
}

void kube_frames_free(KubeFrames *frames)
{
        if (!frames)
                return;
        g_string_free(frames->text, TRUE);
        g_string_free(frames->rest, TRUE);
        g_free(frames);
}

static void scan(Scan *at, char c)
{
        if (at->in_string) {
                if (at->escaped)
                        at->escaped = false;
                else if (c == '\\')
                        at->escaped = true;
                else if (c == '"')
                        at->in_string = false;
        } else if (c == '"') {
                at->in_string = true;
        } else if (c == '{' || c == '[') {
                at->depth++;
        } else if (c == '}' || c == ']') {
                at->depth--;
        }
}

/* ---- An item ---- */

static void keep(KubeFrames *frames, const char *data, gsize len)
{
        if (frames->too_large || len > frames->max - frames->text->len) {
                frames->too_large = true;
                g_string_truncate(frames->text, 0);
                return;
        }
        g_string_append_len(frames->text, data, (gssize)len);
}

static void give(KubeFrames *frames)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = NULL;

        if (frames->too_large)
                err_set(&error, ERR_TOO_LARGE, "an object is larger than %" G_GSIZE_FORMAT " bytes",
                        frames->max);
        else
                object = kube_json_parse(frames->text->str, frames->text->len, &error);
        frames->too_large = false;
        if (frames->text->allocated_len > 1 << 20) { /* a large item is rare: its memory is released */
                g_string_free(frames->text, TRUE);
                frames->text = g_string_new(NULL);
        }
        g_string_truncate(frames->text, 0);
        frames->stopped = !frames->found(object, error, frames->arg);
}

/* Takes bytes of the current item, at most up to its end, and returns their number. Too deep values are left out, with
 * null in its place. */
static gsize take_item(KubeFrames *frames, const char *data, gsize len)
{
        Scan *at = &frames->item;
        gsize from = 0, i;

        for (i = 0; i < len; i++) {
                int before = at->depth;

                scan(at, data[i]);
                if (before == KUBE_DEPTH_MAX && at->depth > before) {
                        keep(frames, data + from, i - from);
                        keep(frames, "null", strlen("null"));
                } else if (before > KUBE_DEPTH_MAX && at->depth == KUBE_DEPTH_MAX) {
                        from = i + 1;
                } else if (at->depth == 0) {
                        i++;
                        break;
                }
        }
        if (at->depth <= KUBE_DEPTH_MAX)
                keep(frames, data + from, i - from);
        return i;
}

/* ---- Around the items ---- */

static bool refuse(const char *where, char c, GError **error)
{
        return err_set(error, ERR_INVALID, "the API server sent no JSON object %s but byte 0x%02x", where,
                       (guchar)c);
}

/* Is the bracket that comes now the one of the list's "items"? */
static bool is_items(const GString *rest)
{
        static const char name[] = "\"items\"";
        gsize len = rest->len;

        while (len && g_ascii_isspace(rest->str[len - 1]))
                len--;
        if (!len || rest->str[len - 1] != ':')
                return false;
        len--;
        while (len && g_ascii_isspace(rest->str[len - 1]))
                len--;
        return len >= strlen(name) && memcmp(rest->str + len - strlen(name), name, strlen(name)) == 0;
}

static bool take_rest(KubeFrames *frames, char c, GError **error)
{
        if (frames->outer.depth == 0 && frames->rest->len && !g_ascii_isspace(c))
                return refuse("at the end of a list", c, error);
        if (frames->outer.depth == 0 && g_ascii_isspace(c))
                return true;
        if (frames->outer.depth == 0 && c != '{')
                return refuse("for a list", c, error);
        if (frames->rest->len >= REST_MAX)
                return err_set(error, ERR_TOO_LARGE, "what is beside a list's items is larger than %d bytes",
                               REST_MAX);
        frames->in_items =
                c == '[' && !frames->outer.in_string && frames->outer.depth == 1 && is_items(frames->rest);
        scan(&frames->outer, c);
        g_string_append_c(frames->rest, c);
        return true;
}

/* A byte that is in no item. False with an error; *ret_begins: an item begins with it. */
static bool take_between(KubeFrames *frames, char c, bool *ret_begins, GError **error)
{
        *ret_begins = false;
        if (frames->mode == FRAMES_LIST && !frames->in_items)
                return take_rest(frames, c, error);
        *ret_begins = c == '{';
        if (*ret_begins || g_ascii_isspace(c))
                return true;
        if (frames->mode == FRAMES_LIST && c == ',')
                return true;
        if (frames->mode == FRAMES_LIST && c == ']') {
                frames->in_items = false;
                frames->outer.depth--;
                g_string_append_c(frames->rest, c);
                return true;
        }
        return refuse("where one begins", c, error);
}

bool kube_frames_feed(KubeFrames *frames, const char *data, gsize len, GError **error)
{
        bool begins;

        for (gsize i = 0; i < len && !frames->stopped;) {
                if (frames->item.depth == 0) {
                        if (!take_between(frames, data[i], &begins, error))
                                return false;
                        if (!begins) {
                                i++;
                                continue;
                        }
                }
                i += take_item(frames, data + i, len - i);
                if (frames->item.depth == 0)
                        give(frames);
        }
        return true;
}

bool kube_frames_end(KubeFrames *frames, json_t **ret_rest, GError **error)
{
        bool is_list = frames->mode == FRAMES_LIST;

        *ret_rest = NULL;
        if (frames->stopped)
                return true;
        if (frames->item.depth || (is_list && (frames->outer.depth || !frames->rest->len)))
                return err_set(error, ERR_UNAVAILABLE, "the API server's reply ends in the middle of %s",
                               is_list ? "a list" : "an event");
        return !is_list || (*ret_rest = kube_json_parse(frames->rest->str, frames->rest->len, error));
}

/* ---- What a frame says ---- */

KubeWatchType kube_watch_type(json_t *frame, json_t **ret_object)
{
        static const char *const words[] = {
                [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
                [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
        };
        const char *word = kube_get_text(frame, "type");

        *ret_object = json_object_get(frame, "object");
        for (int type = 0; word && json_is_object(*ret_object) && type < WATCH_UNKNOWN; type++)
                if (strcmp(word, words[type]) == 0)
                        return type;
        *ret_object = NULL;
        return WATCH_UNKNOWN;
}
