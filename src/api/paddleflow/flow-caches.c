/* Entries of the cache of steps (doc/reference/paddleflow-api.md, "Run cache"): list, show, delete. Of their owner and of
 * root. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "pipeline/step-job.h"

#define LIST "runCacheList"

static const CodeMap codes[] = { { ERR_NOT_FOUND, CODE_RunCacheNotFound }, CODE_MAP_END };

/* "" without a job: it was deleted. */
static char *job_of(const Call *call, const CacheEntry *entry)
{
        g_autoptr(Job) job = entry->job_id ? store_job_by_id(call->flow->store, entry->job_id, NULL) : NULL;

        return job ? job_flow_id(job) : g_strdup("");
}

static json_t *show_entry(const Call *call, const void *row)
{
        const CacheEntry *entry = row;
        g_autofree char *id = numbered_id_format("cch", entry->seq),
                        *run = numbered_id_format("run", entry->run), *created = time_text(entry->created),
                        *job = job_of(call, entry);
        g_autofree char *expiry = g_strdup_printf("%" G_GINT64_FORMAT, entry->expiry_s);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "cacheID", id,
                         "firstFp", entry->first, "secondFp", entry->second, "runID", run, "source",
                         entry->source, "jobID", job, "fsname", entry->fs, "username", entry->user,
                         "expiredTime", expiry, "strategy", "conservative", "custom", "", "createTime",
                         created, "updateTime", created);
}

/* ---- list ---- */

typedef struct {
        char **users, **fs, **runs; /* NULL: all */
} Filter;

static void filter_clear(Filter *filter)
{
        g_strfreev(filter->users);
        g_strfreev(filter->fs);
        g_strfreev(filter->runs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filter, filter_clear)

static bool is_wanted(const void *target, const void *row)
{
        const Filter *filter = target;
        const CacheEntry *entry = row;
        g_autofree char *run = filter->runs ? numbered_id_format("run", entry->run) : NULL;

        return page_has(filter->users, entry->user) && page_has(filter->fs, entry->fs) &&
               page_has(filter->runs, run);
}

static GPtrArray *read_rows(const Call *call, void *target, gint64 after, gint64 *ret_next, GError **error)
{
        const CacheQuery query = { .user = call->root ? NULL : call->user,
                                   .after = after,
                                   .limit = PADDLEFLOW_KEYS_MAX };

        return store_cache_entries(call->flow->store, &query, ret_next, error);
}

static const PageRows rows = { read_rows, is_wanted, show_entry, offsetof(CacheEntry, seq) };

static void list_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Filter) filter = { 0 };
        g_autoptr(json_t) items = NULL;
        GError *error = NULL;
        gint64 next = 0;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        filter = (Filter){ call.root ? call_query_list(&call, "userFilter") : NULL,
                           call_query_list(&call, "fsFilter"), call_query_list(&call, "runFilter") };
        if (page_take(&call, LIST, &page, &error))
                items = page_collect(&call, &rows, &filter, &page, &next, &error);
        if (items)
                call_reply(&call, page_format(&call, LIST, &page, next, LIST, g_steal_pointer(&items)));
        else
                call_fail(&call, error);
}

static void list_entries(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, list_now);
}

/* ---- one ---- */

/* The entry that the path names, if it is the caller's, and can be dropped by this token; NULL with RunCacheNotFound or
 * AccessDenied. The error does not name the owner. */
static CacheEntry *find_entry(const Call *call, bool drop, GError **error)
{
        const char *id = call_param(call, "runCacheID");
        g_autoptr(CacheEntry) entry = NULL;
        gint64 seq = 0;

        if (numbered_id_parse("cch", id, &seq))
                entry = store_cache_entry(call->flow->store, seq, NULL);
        if (!entry) {
                paddleflow_set(error, CODE_RunCacheNotFound, "there is no run cache '%.60s'", id);
        } else if (!call->root && strcmp(entry->user, call->user) != 0) {
                http_request_set_denied(call->request);
                paddleflow_set(error, CODE_AccessDenied, "run cache '%.60s' is not of '%s'", id, call->user);
        } else {
                http_request_set_owner(call->request, entry->user);
                http_request_set_subject(call->request, id);
                if (!drop || auth_check_runs(http_request_caller(call->request), error))
                        return g_steal_pointer(&entry);
                http_request_set_denied(call->request);
        }
        return NULL;
}

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(CacheEntry) entry = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        entry = find_entry(&call, false, &error);
        if (entry)
                call_reply(&call, show_entry(&call, entry));
        else
                call_fail(&call, error);
}

static void drop_done(const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                paddleflow_fail(request, g_error_copy(error), codes);
        else
                paddleflow_reply_empty(request);
        http_request_unref(request);
}

static void drop_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(CacheEntry) entry = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        entry = find_entry(&call, true, &error);
        if (entry)
                engine_delete_cache_entry(call.flow->engine, entry->seq, drop_done,
                                          http_request_ref(request));
        else
                call_fail(&call, error);
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "userFilter", HTTP_STRING, "Only of these users, separated by commas (root)." },
        { "fsFilter", HTTP_STRING, "Only with these main file systems." },
        { "runFilter", HTTP_STRING, "Only of runs of these ids." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute cache_rows[] = {
        { "GET", PADDLEFLOW_BASE "/runCache", ACCESS_RUN, VERB_LIST, list_entries,
          "List entries of the cache of steps.", .query = list_query, .reply = "RunCacheList" },
        { "GET", PADDLEFLOW_BASE "/runCache/{runCacheID}", ACCESS_RUN, VERB_SHOW, show_one,
          "Show an entry of the cache of steps.", .reply = "RunCache" },
        { "DELETE", PADDLEFLOW_BASE "/runCache/{runCacheID}", ACCESS_RUN, VERB_DELETE, drop_one,
          "Delete an entry of the cache of steps." },
        { 0 },
};
