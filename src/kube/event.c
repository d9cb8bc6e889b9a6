/* Events about objects (see event.h): equal ones become one whose count grows, as client-go's correlator
 * makes them. One request per event at a time: what happens meanwhile is in the next patch.
 *
 * Events are remembered as text: as a tree of values each would take four times the memory. */
#include "kube/event.h"

#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"

enum {
        EQUAL_MS = 600000,
        BURST = 25,
        REFILL_MS = 5000,
        KEPT_MAX = 4096, /* equal events, and objects, that are remembered */
        MESSAGE_MAX = 1024,
        NAME_MAX_LEN = 236, /* of 253, with a point and 16 digits */
};

typedef struct {
        KubeRecorder *recorder;
        char *key;
        GList link; /* in recorder->recent */
        char *namespace, *name;
        char *event;           /* JSON, without what changes when it happens again */
        gint64 count, seen_ms; /* since 1970: the last time */
        KubeCall *call;
        bool is_written, is_dirty;
        gint64 last_ms; /* monotonic */
} Equal;

typedef struct {
        double tokens;
        gint64 filled_ms;
} Bucket;

struct KubeRecorder {
        KubeClient *client;
        char *component;
        GHashTable *equals;  /* key -> Equal */
        GQueue recent;       /* by last_ms, the oldest first */
        GHashTable *buckets; /* object -> Bucket */
};

static void equal_free(void *data)
{
        Equal *equal = data;

        kube_call_cancel(equal->call);
        g_queue_unlink(&equal->recorder->recent, &equal->link);
        g_free(equal->event);
        g_free(equal->namespace);
        g_free(equal->name);
        g_free(equal->key);
        g_free(equal);
}

KubeRecorder *kube_recorder_new(KubeClient *client, const char *component)
{
        KubeRecorder *recorder = g_new0(KubeRecorder, 1);

        recorder->client = client;
        recorder->component = g_strdup(component);
        recorder->equals = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, equal_free);
        recorder->buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return recorder;
}

void kube_recorder_free(KubeRecorder *recorder)
{
        if (!recorder)
                return;
        g_hash_table_unref(recorder->equals);
        g_hash_table_unref(recorder->buckets);
        g_free(recorder->component);
        g_free(recorder);
}

/* ---- Rate ---- */

static void forget_full_buckets(KubeRecorder *recorder, gint64 now_ms)
{
        GHashTableIter iter;
        void *value;

        if (g_hash_table_size(recorder->buckets) < KEPT_MAX)
                return;
        g_hash_table_iter_init(&iter, recorder->buckets);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (now_ms - ((const Bucket *)value)->filled_ms >= (gint64)BURST * REFILL_MS)
                        g_hash_table_iter_remove(&iter);
        if (g_hash_table_size(recorder->buckets) >= KEPT_MAX)
                g_hash_table_remove_all(recorder->buckets);
}

static bool may_speak(KubeRecorder *recorder, const char *object)
{
        gint64 now_ms = clock_monotonic_ms();
        Bucket *bucket = g_hash_table_lookup(recorder->buckets, object);

        if (!bucket) {
                forget_full_buckets(recorder, now_ms);
                bucket = g_new0(Bucket, 1);
                bucket->tokens = BURST;
                bucket->filled_ms = now_ms;
                g_hash_table_insert(recorder->buckets, g_strdup(object), bucket);
        }
        bucket->tokens += (double)(now_ms - bucket->filled_ms) / REFILL_MS;
        bucket->tokens = MIN(bucket->tokens, (double)BURST);
        bucket->filled_ms = now_ms;
        if (bucket->tokens < 1)
                return false;
        bucket->tokens -= 1;
        return true;
}

/* ---- Writing ---- */

static void write_equal(Equal *equal);

static void on_written(const KubeReply *reply, void *arg)
{
        Equal *equal = arg;
        KubeRecorder *recorder = equal->recorder;

        equal->call = NULL;
        if (!reply->error || err_is(reply->error, ERR_EXISTS)) {
                equal->is_written = true;
        } else if (equal->is_written && err_is(reply->error, ERR_NOT_FOUND)) {
                equal->is_written = false; /* it has expired there */
                equal->is_dirty = true;
        } else {
                log_debug("an event was not written", "event", equal->name, "error", reply->error->message,
                          NULL);
                g_hash_table_remove(recorder->equals, equal->key);
                return;
        }
        if (equal->is_dirty)
                write_equal(equal);
}

static void write_equal(Equal *equal)
{
        g_autofree char *seen = kube_time_format(equal->seen_ms, false);
        g_autoptr(json_t) latest =
                json_pack("{s:I, s:s}", "count", (json_int_t)equal->count, "lastTimestamp", seen);
        KubeRequest request = { .verb = equal->is_written ? KUBE_PATCH : KUBE_CREATE,
                                .kind = &kube_events,
                                .namespace = equal->namespace,
                                .body = latest,
                                .background = true };
        g_autoptr(json_t) event = NULL;

        if (equal->is_written) {
                request.name = equal->name;
                request.patch = PATCH_MERGE;
        } else {
                event = json_parse_own(equal->event, strlen(equal->event), NULL);
                json_object_update(event, latest);
                request.body = event;
        }
        equal->is_dirty = false;
        equal->call = kube_send(equal->recorder->client, &request, on_written, equal);
}

static json_t *reference(const json_t *object)
{
        static const struct {
                const char *name, *path;
        } fields[] = {
                { "apiVersion", "apiVersion" },
                { "kind", "kind" },
                { "namespace", "metadata.namespace" },
                { "name", "metadata.name" },
                { "uid", "metadata.uid" },
                { "resourceVersion", "metadata.resourceVersion" },
        };
        json_t *ref = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
                const char *text = kube_get_text(object, fields[i].path);

                if (text && *text)
                        json_object_set_new(ref, fields[i].name, json_string(text));
        }
        return ref;
}

/* Without "count" and "lastTimestamp", which write_equal adds. */
static json_t *new_event(const KubeRecorder *recorder, const json_t *object, const char *namespace,
                         const char *type, const char *reason, const char *message)
{
        g_autofree char *now = kube_time_format(clock_now_ms(), false);
        g_autofree char *name = g_strdup_printf("%.*s.%08x%08x", NAME_MAX_LEN, kube_name(object),
                                                g_random_int(), g_random_int());

        return json_pack("{s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:s, s:{s:s}, s:s, s:s, s:s}", "apiVersion",
                         "v1", "kind", "Event", "metadata", "name", name, "namespace", namespace,
                         "involvedObject", reference(object), "type", type, "reason", reason, "message",
                         message, "source", "component", recorder->component, "firstTimestamp", now,
                         "reportingComponent", recorder->component, "reportingInstance", "");
}

/* Those that no event can equal any more, and the oldest of too many. */
static void forget_old(KubeRecorder *recorder, gint64 now_ms)
{
        const Equal *oldest;

        while ((oldest = g_queue_peek_head(&recorder->recent)) &&
               (recorder->recent.length >= KEPT_MAX ||
                (now_ms - oldest->last_ms > EQUAL_MS && !oldest->call)))
                g_hash_table_remove(recorder->equals, oldest->key);
}

static Equal *remember(KubeRecorder *recorder, const char *key, const char *namespace, const json_t *event)
{
        g_autofree char *text = json_format(event); /* in a buffer that is larger than it */
        Equal *equal = g_new0(Equal, 1);

        equal->recorder = recorder;
        equal->key = g_strdup(key);
        equal->namespace = g_strdup(namespace);
        equal->name = g_strdup(kube_name(event));
        equal->event = g_strdup(text);
        equal->link.data = equal;
        g_queue_push_tail_link(&recorder->recent, &equal->link);
        g_hash_table_insert(recorder->equals, equal->key, equal);
        return equal;
}

/* It has happened once more, now; the caller writes it. */
static void count_up(Equal *equal, gint64 now_ms)
{
        GQueue *recent = &equal->recorder->recent;

        equal->count++;
        equal->seen_ms = clock_now_ms();
        equal->last_ms = now_ms;
        g_queue_unlink(recent, &equal->link);
        g_queue_push_tail_link(recent, &equal->link);
}

static char *message_of(const char *format, va_list args)
{
        g_autofree char *text = g_strdup_vprintf(format, args);
        char *valid = g_utf8_make_valid(text, -1);

        if (strlen(valid) > MESSAGE_MAX)
                *(char *)g_utf8_find_prev_char(valid, valid + MESSAGE_MAX + 1) = '\0';
        return valid;
}

void kube_event(KubeRecorder *recorder, const json_t *object, KubeEventType type, const char *reason,
                const char *format, ...)
{
        static const char *const types[] = { [EVENT_NORMAL] = "Normal", [EVENT_WARNING] = "Warning" };
        const char *namespace = *kube_namespace(object) ? kube_namespace(object) : "default";
        g_autofree char *message = NULL, *who = NULL, *key = NULL;
        gint64 now_ms = clock_monotonic_ms();
        Equal *equal;
        va_list args;

        va_start(args, format);
        message = message_of(format, args);
        va_end(args);
        who = g_strjoin("/", kube_get_text(object, "kind") ? kube_get_text(object, "kind") : "", namespace,
                        kube_name(object), kube_uid(object), NULL);
        key = g_strjoin("\n", who, types[type], reason, message, NULL);
        if (!may_speak(recorder, who))
                return;
        equal = g_hash_table_lookup(recorder->equals, key);
        if (equal && now_ms - equal->last_ms > EQUAL_MS) {
                g_hash_table_remove(recorder->equals, key);
                equal = NULL;
        }
        if (!equal) {
                g_autoptr(json_t) event =
                        new_event(recorder, object, namespace, types[type], reason, message);

                forget_old(recorder, now_ms);
                equal = remember(recorder, key, namespace, event);
        }
        count_up(equal, now_ms);
        if (equal->call)
                equal->is_dirty = true;
        else
                write_equal(equal);
}
