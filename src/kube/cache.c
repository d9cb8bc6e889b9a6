/* A list-watch cache (see cache.h).
 *
 *     LISTING --(last page)--> WATCHING --(410, or it fails again and again)--> LISTING
 *        |                      |    ^
 *        +------- RESTING <-----+    | from the version that was last heard of
 *                    +---------------+
 *
 * Every list has a generation; what it names gets it, and at its end what has an older one is gone: so a
 * delete that was missed is reported, and a list that was started again in the middle needs no second store.
 *
 * What always holds: an object is in `entries` and in all indexes, or in none; handlers may free the cache,
 * so after each of them `freed` is looked at. */
#include "kube/cache.h"

#include <string.h>

#include "base/clock.h"
#include "base/backoff.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/internal.h"
#include "kube/request.h"
#include "kube/share.h"
#include "kube/status.h"
#include "kube/watch.h"

enum {
        PAGE = 500,
        LIST_SILENCE_MS = 60000,
        WATCH_SILENCE_MS = 180000, /* bookmarks come every minute */
        WATCH_MIN_S = 300,
        WATCH_MAX_S = 600,
        BACK_OFF_MS = 200,
        BACK_OFF_MAX_MS = 30000,
        SHORT_WATCH_MS = 1000, /* a watch that ends sooner without an event counts as a failure */
        REFUSED_MAX = 3,       /* refused watches in a row, before a new list */
        EXPIRED_MAX = 2,       /* expired paged lists, before an unpaged one */
};

typedef enum { STATE_LISTING, STATE_WATCHING, STATE_RESTING } State;

typedef struct {
        json_t *object;
        guint64 generation;
} Entry;

struct KubeCache {
        int refs;
        bool freed;
        KubeClient *client;
        KubeCacheConfig config;
        char *namespace, *label_selector, *field_selector, *api_version;
        KubeCacheEvents events;
        GHashTable *entries;  /* "namespace/name" -> Entry */
        GHashTable **indexes; /* value -> GPtrArray of json_t, borrowed from the entries */
        guint indexes_count;
        State state;
        KubeCall *call;
        KubeFrames *frames;
        Timer *timer;
        char *version; /* to watch from; NULL: a list is needed */
        char *resume;  /* of the list */
        guint64 generation;
        /* In a row: pages that expired, watches that were refused, watches that were of no use (gone or ended
         * at once), failures of any kind. */
        guint expired, refused, hollow, failures;
        bool synced, troubled;
        GError *said;        /* the ERROR event of the watch */
        gint64 started_ms;   /* the watch; monotonic */
        bool answered;       /* the watch: the server has accepted it */
        bool said_something; /* the watch: an event */
};

/* ---- Life ---- */

static void cache_unref(KubeCache *cache)
{
        if (--cache->refs)
                return;
        kube_frames_free(cache->frames);
        for (guint i = 0; i < cache->indexes_count; i++)
                g_hash_table_unref(cache->indexes[i]);
        g_free(cache->indexes);
        g_hash_table_unref(cache->entries);
        g_free(cache->namespace);
        g_free(cache->label_selector);
        g_free(cache->field_selector);
        g_free(cache->api_version);
        g_free(cache->version);
        g_free(cache->resume);
        g_clear_error(&cache->said);
        g_free(cache);
}

void kube_cache_free(KubeCache *cache)
{
        if (!cache || cache->freed)
                return;
        cache->freed = true;
        kube_call_cancel(cache->call);
        timer_clear(&cache->timer);
        cache_unref(cache);
}

static void entry_free(void *data)
{
        Entry *entry = data;

        json_decref(entry->object);
        g_free(entry);
}

/* ---- Store and indexes ---- */

static char *key_of(const json_t *object)
{
        return g_strconcat(kube_namespace(object), "/", kube_name(object), NULL);
}

static GPtrArray *index_values(const KubeCache *cache, guint index, const json_t *object)
{
        GPtrArray *values = g_ptr_array_new_with_free_func(g_free);

        cache->config.indexes[index](object, values);
        return values;
}

static void index_add(KubeCache *cache, json_t *object)
{
        for (guint i = 0; i < cache->indexes_count; i++) {
                g_autoptr(GPtrArray) values = index_values(cache, i, object);

                for (guint k = 0; k < values->len; k++) {
                        GPtrArray *found = g_hash_table_lookup(cache->indexes[i], values->pdata[k]);

                        if (!found) {
                                found = g_ptr_array_new();
                                g_hash_table_insert(cache->indexes[i], g_strdup(values->pdata[k]), found);
                        }
                        g_ptr_array_add(found, object);
                }
        }
}

static void index_remove(KubeCache *cache, json_t *object)
{
        for (guint i = 0; i < cache->indexes_count; i++) {
                g_autoptr(GPtrArray) values = index_values(cache, i, object);

                for (guint k = 0; k < values->len; k++) {
                        GPtrArray *found = g_hash_table_lookup(cache->indexes[i], values->pdata[k]);

                        if (found && g_ptr_array_remove_fast(found, object) && !found->len)
                                g_hash_table_remove(cache->indexes[i], values->pdata[k]);
                }
        }
}

static void tell_changed(KubeCache *cache, const json_t *old, const json_t *new)
{
        if (!cache->freed && cache->events.changed)
                cache->events.changed(cache, old, new, cache->events.arg);
}

static void tell_poisoned(KubeCache *cache, const GError *error)
{
        if (cache->events.poisoned)
                cache->events.poisoned(cache, error, cache->events.arg);
        else
                log_warning("an object could not be read and is left out", "kind", cache->config.kind.kind,
                            "error", error->message, NULL);
}

/* Items of a list have no kind and apiVersion. */
static void stamp(const KubeCache *cache, json_t *object)
{
        if (!json_object_get(object, "kind"))
                json_object_set_new(object, "kind", json_string(cache->config.kind.kind));
        if (!json_object_get(object, "apiVersion"))
                json_object_set_new(object, "apiVersion", json_string(cache->api_version));
}

static void trim(const KubeCache *cache, json_t *object)
{
        json_object_del(json_object_get(object, "metadata"), "managedFields");
        stamp(cache, object);
        if (cache->config.trim)
                cache->config.trim(object);
}

static bool check_object(KubeCache *cache, const json_t *object)
{
        g_autoptr(GError) error = NULL;

        if (*kube_name(object) && *kube_resource_version(object))
                return true;
        err_set(&error, ERR_INVALID, "an object of kind '%s' has no name or no resourceVersion",
                cache->config.kind.kind);
        tell_poisoned(cache, error);
        return false;
}

/* Of the objects with a value of the first index in common with this one, or else of all, the one that is found first:
 * pods of one job are alike. NULL: it is the only object. */
static json_t *find_like(const KubeCache *cache, const json_t *object)
{
        GHashTableIter iter;
        void *entry;

        if (cache->indexes_count) {
                g_autoptr(GPtrArray) values = index_values(cache, 0, object);
                const GPtrArray *found =
                        values->len ? g_hash_table_lookup(cache->indexes[0], values->pdata[0]) : NULL;

                if (found)
                        return found->pdata[0];
        }
        g_hash_table_iter_init(&iter, cache->entries);
        return g_hash_table_iter_next(&iter, NULL, &entry) ? ((const Entry *)entry)->object : NULL;
}

static void put(KubeCache *cache, json_t *object)
{
        if (!check_object(cache, object))
                return;
        g_autofree char *key = key_of(object);
        Entry *entry = g_hash_table_lookup(cache->entries, key);
        g_autoptr(json_t) old = entry ? entry->object : NULL;

        if (entry && strcmp(kube_resource_version(old), kube_resource_version(object)) == 0) {
                entry->generation = cache->generation;
                old = NULL; /* it stays the entry's */
                return;
        }
        trim(cache, object);
        if (old)
                index_remove(cache, old);
        json_t *kept = kube_share(object, find_like(cache, object));

        if (!entry) {
                entry = g_new0(Entry, 1);
                g_hash_table_insert(cache->entries, g_steal_pointer(&key), entry);
        }
        entry->object = kept;
        entry->generation = cache->generation;
        index_add(cache, kept);
        tell_changed(cache, old, kept);
}

/* `last`: its form when it went, or NULL: the one we have. */
static void drop(KubeCache *cache, const char *key, json_t *last)
{
        const Entry *entry = g_hash_table_lookup(cache->entries, key);

        if (!entry)
                return;
        g_autoptr(json_t) had = json_incref(entry->object);
        if (last)
                trim(cache, last);
        index_remove(cache, had);
        g_hash_table_remove(cache->entries, key);
        tell_changed(cache, last ? last : had, NULL);
}

/* Reports the objects that the list did not have as deleted. */
static void sweep(KubeCache *cache)
{
        g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        void *key, *value;

        g_hash_table_iter_init(&iter, cache->entries);
        while (g_hash_table_iter_next(&iter, &key, &value))
                if (((const Entry *)value)->generation != cache->generation)
                        g_ptr_array_add(gone, g_strdup(key));
        for (guint i = 0; i < gone->len && !cache->freed; i++)
                drop(cache, gone->pdata[i], NULL);
}

/* ---- Success and failure ---- */

static void heard(KubeCache *cache)
{
        cache->failures = 0;
        if (!cache->troubled)
                return;
        cache->troubled = false;
        if (cache->events.trouble)
                cache->events.trouble(cache, NULL, 0, cache->events.arg);
}

static void on_rested(void *arg);

static void rest(KubeCache *cache, gint64 ms)
{
        cache->state = STATE_RESTING;
        timer_set(&cache->timer, kube_client_context(cache->client), ms, on_rested, cache);
}

static void fail(KubeCache *cache, const GError *error, gint64 at_least_ms)
{
        guint failures = MAX(cache->failures, cache->hollow);
        gint64 delay_ms = backoff_delay(BACK_OFF_MS, BACK_OFF_MAX_MS, failures);
        gint64 wait_ms = MAX(backoff_spread(delay_ms), at_least_ms);

        cache->failures++;
        cache->troubled = true;
        rest(cache, wait_ms);
        if (cache->events.trouble)
                cache->events.trouble(cache, error, wait_ms, cache->events.arg);
}

/* ---- List ---- */

static void list_page(KubeCache *cache);
static void watch(KubeCache *cache);

static void list_begin(KubeCache *cache)
{
        g_clear_pointer(&cache->version, g_free);
        g_clear_pointer(&cache->resume, g_free);
        cache->generation++;
        list_page(cache);
}

static bool on_item(json_t *object, const GError *error, void *arg)
{
        KubeCache *cache = arg;

        if (object)
                put(cache, object);
        else
                tell_poisoned(cache, error);
        return !cache->freed;
}

static void tell_listed(KubeCache *cache)
{
        void (*tell)(KubeCache * cache, void *arg) =
                cache->synced ? cache->events.relisted : cache->events.synced;

        cache->synced = true;
        if (tell)
                tell(cache, cache->events.arg);
}

static void list_complete(KubeCache *cache, const json_t *rest_of_list)
{
        cache->version = g_strdup(kube_resource_version(rest_of_list));
        cache->expired = 0;
        cache->refused = 0;
        sweep(cache);
        if (!cache->freed)
                tell_listed(cache);
        if (!cache->freed)
                watch(cache);
}

static void list_page_done(KubeCache *cache)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) rest_of_list = NULL;
        const char *resume;

        if (!kube_frames_end(cache->frames, &rest_of_list, &error)) {
                fail(cache, error, 0);
                return;
        }
        resume = kube_get_text(rest_of_list, "metadata.continue");
        g_free(cache->resume);
        cache->resume = resume && *resume ? g_strdup(resume) : NULL;
        heard(cache);
        if (cache->freed)
                return;
        if (cache->resume)
                list_page(cache);
        else
                list_complete(cache, rest_of_list);
}

static void on_list_end(const KubeReply *reply, void *arg)
{
        KubeCache *cache = arg;

        cache->call = NULL;
        cache->refs++;
        if (!reply->error)
                list_page_done(cache);
        else if (reply->status == 410 && cache->resume && cache->expired++ < EXPIRED_MAX)
                list_begin(cache); /* the pages took longer than the server keeps them */
        else
                fail(cache, reply->error, reply->retry_after_ms);
        cache_unref(cache);
}

static void frames_failed(KubeCache *cache, const GError *error)
{
        kube_call_cancel(cache->call);
        cache->call = NULL;
        fail(cache, error, 0);
}

static void on_watch_end(const KubeReply *reply, void *arg);

static bool on_data(const char *data, gsize len, void *arg)
{
        static const KubeReply ended = { .status = 200, .reason = "", .retry_after_ms = -1 };
        KubeCache *cache = arg;
        g_autoptr(GError) error = NULL;

        cache->refs++;
        if (cache->state == STATE_WATCHING) {
                cache->answered = true;
                heard(cache);
        }
        if (!cache->freed && !kube_frames_feed(cache->frames, data, len, &error))
                frames_failed(cache, error);
        bool more = !cache->freed && cache->call && !cache->said;
        if (!cache->freed && cache->said) /* also if the server ends it now */
                on_watch_end(&ended, cache);
        cache_unref(cache);
        return more;
}

/* Between callbacks of the frames: the old ones are not in use. */
static void open_stream(KubeCache *cache, const GString *path, KubeFramesMode mode, gint64 silence_ms,
                        KubeFrameFound found, KubeEnd end)
{
        kube_frames_free(cache->frames);
        cache->frames = kube_frames_new(mode, KUBE_OBJECT_MAX, found, cache);
        cache->call = kube_stream(cache->client, path->str, silence_ms, on_data, end, cache);
        kube_call_hurry(cache->call);
}

static GString *selection_path(const KubeCache *cache)
{
        g_autofree char *base = kube_path(&cache->config.kind, cache->namespace, NULL, NULL);
        GString *path = g_string_new(base);

        kube_query_add(path, "labelSelector", cache->label_selector);
        kube_query_add(path, "fieldSelector", cache->field_selector);
        return path;
}

static void list_page(KubeCache *cache)
{
        GString *path = selection_path(cache);
        g_autofree char *limit = g_strdup_printf("%d", cache->config.page > 0 ? cache->config.page : PAGE);

        if (cache->expired < EXPIRED_MAX)
                kube_query_add(path, "limit", limit);
        kube_query_add(path, "continue", cache->resume);
        cache->state = STATE_LISTING;
        open_stream(cache, path, FRAMES_LIST, LIST_SILENCE_MS, on_item, on_list_end);
        g_string_free(path, TRUE);
}

/* ---- Watch ---- */

static void take_error(KubeCache *cache, const json_t *status)
{
        int code = (int)kube_get_int(status, "code", 500);

        g_clear_error(&cache->said);
        kube_status_error(code, status, NULL, "watch", &cache->said);
}

static void take_event(KubeCache *cache, KubeWatchType type, json_t *object)
{
        g_autofree char *version = g_strdup(kube_resource_version(object));
        g_autofree char *key = NULL;

        switch (type) {
        case WATCH_ADDED:
        case WATCH_MODIFIED: put(cache, object); break;
        case WATCH_DELETED:
                key = key_of(object);
                drop(cache, key, object);
                break;
        case WATCH_BOOKMARK: break;
        default: return;
        }
        if (*version && !cache->freed) {
                g_free(cache->version);
                cache->version = g_steal_pointer(&version);
        }
}

static bool on_frame(json_t *frame, const GError *error, void *arg)
{
        KubeCache *cache = arg;
        json_t *object = NULL;
        KubeWatchType type = frame ? kube_watch_type(frame, &object) : WATCH_UNKNOWN;
        g_autoptr(GError) unknown = NULL;

        cache->said_something = true;
        cache->refused = 0;
        if (type == WATCH_ERROR) {
                take_error(cache, object);
                return false;
        }
        cache->hollow = 0;
        if (type != WATCH_UNKNOWN) {
                take_event(cache, type, object);
        } else {
                err_set(&unknown, ERR_INVALID, "a frame of the watch is no event");
                tell_poisoned(cache, error ? error : unknown);
        }
        return !cache->freed;
}

/* Our resource version has expired, or is newer than the server's, which was restored from a backup. */
static bool needs_list(KubeCache *cache, const KubeReply *reply, const GError *error)
{
        static const int ours[] = { 401, 403, 429 }; /* a list would fail, too */

        if (err_is(error, ERR_GONE))
                return true;
        for (gsize i = 0; i < G_N_ELEMENTS(ours); i++)
                if (reply->status == ours[i])
                        return false;
        if (reply->status != 0 || cache->said)
                cache->refused++;
        return cache->refused >= REFUSED_MAX;
}

static void watch_failed(KubeCache *cache, const KubeReply *reply, const GError *error)
{
        bool list = needs_list(cache, reply, error);

        if (list)
                g_clear_pointer(&cache->version, g_free);
        if (err_is(error, ERR_GONE) && cache->hollow++ == 0)
                list_begin(cache); /* a second one in a row waits */
        else
                fail(cache, error, reply->retry_after_ms);
}

static void watch_ended(KubeCache *cache)
{
        g_autoptr(GError) error = NULL;
        gint64 lasted_ms = clock_monotonic_ms() - cache->started_ms;

        if (cache->said_something || lasted_ms >= SHORT_WATCH_MS) {
                watch(cache);
                return;
        }
        if (cache->hollow++ == 0) { /* a busy server ends watches that it cannot serve */
                rest(cache, BACK_OFF_MS);
                return;
        }
        err_set(&error, ERR_UNAVAILABLE, "the watch of %s ended at once", cache->config.kind.plural);
        fail(cache, error, 0);
}

/* A watch that never got a reply does not count: the API server may be down. */
static bool fell_silent(const KubeCache *cache, const KubeReply *reply)
{
        return cache->answered && err_is(reply->error, ERR_TIMEOUT) && !reply->status;
}

static void on_watch_end(const KubeReply *reply, void *arg)
{
        KubeCache *cache = arg;
        g_autoptr(GError) said = g_steal_pointer(&cache->said);

        cache->call = NULL;
        cache->refs++;
        if (said)
                watch_failed(cache, reply, said);
        else if (!reply->error || fell_silent(cache, reply))
                watch_ended(cache);
        else
                watch_failed(cache, reply, reply->error);
        cache_unref(cache);
}

static void watch(KubeCache *cache)
{
        GString *path = selection_path(cache);
        g_autofree char *seconds = g_strdup_printf("%d", g_random_int_range(WATCH_MIN_S, WATCH_MAX_S));

        kube_query_add(path, "watch", "1");
        kube_query_add(path, "allowWatchBookmarks", "true");
        kube_query_add(path, "resourceVersion", cache->version);
        kube_query_add(path, "timeoutSeconds", seconds);
        cache->state = STATE_WATCHING;
        cache->started_ms = clock_monotonic_ms();
        cache->answered = false;
        cache->said_something = false;
        open_stream(cache, path, FRAMES_WATCH,
                    cache->config.idle_ms > 0 ? cache->config.idle_ms : WATCH_SILENCE_MS, on_frame,
                    on_watch_end);
        g_string_free(path, TRUE);
}

static void on_rested(void *arg)
{
        KubeCache *cache = arg;

        if (cache->version)
                watch(cache);
        else
                list_begin(cache);
}

/* ---- The cache ---- */

static void make_indexes(KubeCache *cache)
{
        const KubeIndexFunc *funcs = cache->config.indexes;

        while (funcs && funcs[cache->indexes_count])
                cache->indexes_count++;
        cache->indexes = g_new0(GHashTable *, cache->indexes_count + 1);
        for (guint i = 0; i < cache->indexes_count; i++)
                cache->indexes[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                          (GDestroyNotify)g_ptr_array_unref);
}

KubeCache *kube_cache_new(KubeClient *client, const KubeCacheConfig *config, const KubeCacheEvents *events)
{
        KubeCache *cache = g_new0(KubeCache, 1);

        cache->refs = 1;
        cache->client = client;
        cache->config = *config;
        cache->namespace = g_strdup(config->namespace);
        cache->label_selector = g_strdup(config->label_selector);
        cache->field_selector = g_strdup(config->field_selector);
        cache->api_version = kube_api_version(&config->kind);
        if (events)
                cache->events = *events;
        cache->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
        make_indexes(cache);
        list_begin(cache);
        return cache;
}

bool kube_cache_is_synced(const KubeCache *cache)
{
        return cache->synced;
}

const KubeKind *kube_cache_kind(const KubeCache *cache)
{
        return &cache->config.kind;
}

guint kube_cache_size(const KubeCache *cache)
{
        return g_hash_table_size(cache->entries);
}

const json_t *kube_cache_get(const KubeCache *cache, const char *namespace, const char *name)
{
        g_autofree char *key = g_strconcat(namespace ? namespace : "", "/", name, NULL);
        const Entry *entry = g_hash_table_lookup(cache->entries, key);

        return entry ? entry->object : NULL;
}

const GPtrArray *kube_cache_find(const KubeCache *cache, int index, const char *value)
{
        g_assert(index >= 0 && (guint)index < cache->indexes_count);
        return g_hash_table_lookup(cache->indexes[index], value);
}

void kube_cache_each(const KubeCache *cache, void (*each)(const json_t *object, void *arg), void *arg)
{
        GHashTableIter iter;
        void *value;

        g_hash_table_iter_init(&iter, cache->entries);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                each(((const Entry *)value)->object, arg);
}
