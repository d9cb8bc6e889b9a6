/* Logs of pods (see follow.h). A stream that breaks is opened again after a moment; the server sends a log
 * from its beginning, so as many bytes are passed over as the file has. */
#include "runtime/kubernetes/follow.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/number.h"

enum {
        AGAIN_MS = 500,
        LAST_MS = 10000, /* for the rest of a log, after its container has ended */
};

struct Follow {
        KubeClient *client;
        FollowConfig config; /* its texts are ours */
        char *url;
        int fd;
        gint64 size;   /* of the file */
        gint64 before; /* of it, what earlier pods wrote */
        gint64 skip;   /* bytes of this stream that are in it already */
        KubeCall *call;
        GSource *again, *deadline;
        bool last;
};

static gboolean open_stream(gpointer arg);

static void drop_timer(GSource **at)
{
        if (!*at)
                return;
        g_source_destroy(*at);
        g_clear_pointer(at, g_source_unref);
}

static void set_timer(Follow *follow, GSource **at, guint ms, GSourceFunc func)
{
        drop_timer(at);
        *at = g_timeout_source_new(ms);
        g_source_set_callback(*at, func, follow, NULL);
        g_source_attach(*at, follow->config.context);
}

static bool write_out(Follow *follow, const char *data, gsize len)
{
        g_autoptr(GError) error = NULL;
        gint64 room = follow->config.limit > 0 ? MAX(follow->config.limit - follow->size, 0) : G_MAXINT64;
        gsize part = (gsize)MIN((gint64)len, room);

        follow->size += (gint64)len;
        if (part == 0 || file_write_all(follow->fd, data, part, &error))
                return true;
        log_warning("a pod's log cannot be written", "file", follow->config.path, "reason", error->message,
                    NULL);
        return false;
}

static bool on_data(const char *data, gsize len, void *arg)
{
        Follow *follow = arg;
        gsize over = (gsize)MIN((gint64)len, follow->skip);

        follow->skip -= (gint64)over;
        if (!write_out(follow, data + over, len - over))
                follow->config.limit = follow->size = 1; /* nothing more of it */
        return true;
}

static void finish(Follow *follow)
{
        follow->config.done(follow->config.arg);
}

static void on_end(const KubeReply *reply, void *arg)
{
        Follow *follow = arg;

        follow->call = NULL;
        if (follow->last && (!reply->error || reply->status >= 400))
                finish(follow);
        else
                set_timer(follow, &follow->again, AGAIN_MS, open_stream);
}

static gboolean open_stream(gpointer arg)
{
        Follow *follow = arg;

        follow->skip = follow->size - follow->before;
        follow->call = kube_stream(follow->client, follow->url, 0, on_data, on_end, follow);
        return G_SOURCE_REMOVE;
}

static gboolean on_too_late(gpointer arg)
{
        Follow *follow = arg;

        log_warning("the end of a pod's log did not come in time", "pod", follow->config.pod, NULL);
        finish(follow);
        return G_SOURCE_REMOVE;
}

void follow_last(Follow *follow)
{
        if (follow->last)
                return;
        follow->last = true;
        set_timer(follow, &follow->deadline, LAST_MS, on_too_late);
}

static int open_file(const char *path, gint64 *ret_size)
{
        g_autofree char *dir = g_path_get_dirname(path);
        g_autoptr(GError) error = NULL;
        struct stat st = { 0 };
        int fd = -1;

        if (file_mkdirs(dir, 0755, &error))
                fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 || fstat(fd, &st) < 0)
                log_warning("a pod's log has no file", "file", path, "reason", error ? error->message : "",
                            NULL);
        *ret_size = st.st_size;
        return fd;
}

enum { NOTE_MAX = 256 };

/* Where the pod begins in the file, if that is known; without a note it is a single pod's. */
static bool read_note(const char *path, const char *uid, gint64 size, gint64 *ret)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) words = NULL;
        gint64 start = 0;
        gsize len;

        if (!file_read(path, NOTE_MAX, &text, &len, NULL)) {
                *ret = 0;
                return size > 0;
        }
        words = g_strsplit(g_strchomp(text), " ", 2);
        if (g_strv_length(words) != 2 || strcmp(words[0], uid) != 0 ||
            !number_parse("start", words[1], 0, size, &start, NULL))
                return false;
        *ret = start;
        return true;
}

static gint64 bytes_before(const char *log, const char *uid, gint64 size)
{
        g_autofree char *path = g_strconcat(log, ".pod", NULL);
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;
        gint64 start = 0;

        if (!uid || read_note(path, uid, size, &start))
                return start;
        text = g_strdup_printf("%s %" G_GINT64_FORMAT "\n", uid, size);
        if (!file_replace(path, text, strlen(text), 0644, false, &error))
                log_warning("where a pod's log begins cannot be noted: after a restart it may be there twice",
                            "file", path, "reason", error->message, NULL);
        return size;
}

Follow *follow_new(KubeClient *client, const FollowConfig *config)
{
        Follow *follow = g_new0(Follow, 1);
        g_autofree char *path = kube_path(&kube_pods, config->namespace, config->pod, "log");

        follow->client = client;
        follow->config = *config;
        follow->config.path = g_strdup(config->path);
        follow->config.pod = g_strdup(config->pod);
        follow->config.namespace = follow->config.container = follow->config.uid = NULL;
        follow->url = g_strdup_printf("%s?container=%s&%s=true", path, config->container,
                                      config->previous ? "previous" : "follow");
        follow->fd = open_file(config->path, &follow->size);
        follow->before = bytes_before(config->path, config->uid, follow->size);
        (void)open_stream(follow);
        return follow;
}

void follow_free(Follow *follow)
{
        if (!follow)
                return;
        if (follow->call)
                kube_call_cancel(follow->call);
        drop_timer(&follow->again);
        drop_timer(&follow->deadline);
        if (follow->fd >= 0)
                close(follow->fd);
        g_free((char *)follow->config.path);
        g_free((char *)follow->config.pod);
        g_free(follow->url);
        g_free(follow);
}

bool follow_is_of_another(const char *log, const char *uid)
{
        g_autofree char *path = g_strconcat(log, ".pod", NULL);
        g_autofree char *text = NULL;
        gsize len;

        return file_read(path, NOTE_MAX, &text, &len, NULL) && strchr(text, ' ') &&
               strncmp(text, uid, strlen(uid)) != 0;
}
