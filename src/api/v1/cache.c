/* The cache of steps over HTTP: list, show, delete. */
#include <string.h>

#include "api/v1/internal.h"
#include "base/clock.h"

enum { LIST_MAX = 1000 };

/* ---- one entry ---- */

json_t *api_cache_body(const CacheEntry *entry)
{
        json_t *body = json_parse(entry->body, strlen(entry->body), NULL);

        return body ? body : json_object();
}

static char *expiry_of(const CacheEntry *entry)
{
        return entry->expiry_s == CACHE_NEVER_EXPIRES ? NULL
                                                      : clock_format(entry->created + entry->expiry_s * 1000);
}

json_t *api_format_cache_entry(const CacheEntry *entry)
{
        g_autofree char *id = numbered_id_format("cch", entry->seq), *created = clock_format(entry->created),
                        *expires = expiry_of(entry);

        return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s?}", "id", id,
                         "run", entry->run_id, "step", entry->step, "job", entry->job_id, "state",
                         entry->job_id ? job_state_name((JobState)entry->job_state) : NULL, "user",
                         entry->user, "filesystem", entry->fs, "source", entry->source, "fingerprint",
                         entry->first, "files", entry->second, "max_expired_time",
                         (json_int_t)entry->expiry_s, "created_at", created, "expires_at", expires);
}

/* The entry that the route names, if the caller may do that with it; another user's is not told apart from one that is not
 * there. NULL: the request has been answered. */
static CacheEntry *find_entry(Api *api, HttpRequest *request)
{
        const HttpCaller *caller = http_request_caller(request);
        const HttpRoute *route = http_request_route(request);
        const char *id = http_request_param(request, "entry");
        g_autoptr(GError) why = NULL, error = NULL;
        gint64 seq = 0;
        g_autoptr(CacheEntry) entry =
                numbered_id_parse("cch", id, &seq) ? store_cache_entry(api->store, seq, &why) : NULL;

        if (entry && api_may(request, (AccessKind)route->kind, (AccessVerb)route->verb, entry->user)) {
                http_request_set_owner(request, entry->user);
                if (route->verb == VERB_SHOW || auth_check_runs(caller, &error))
                        return g_steal_pointer(&entry);
                http_request_set_denied(request);
        } else {
                api_set_absent(&error, &why, "cache entry", id, caller->user,
                               "`paddle cache list` shows the entries.");
        }
        http_fail(request, error);
        return NULL;
}

static void show_entry(HttpRequest *request, void *arg)
{
        g_autoptr(CacheEntry) entry = find_entry(arg, request);
        g_autoptr(json_t) reply = entry ? api_format_cache_entry(entry) : NULL;
        g_autoptr(json_t) body = entry ? api_cache_body(entry) : NULL;

        if (!entry)
                return;
        json_object_set(reply, "parts", json_object_get(body, "parts"));
        json_object_set(reply, "outputs", json_object_get(body, "outputs"));
        http_reply_json(request, 200, reply);
}

/* ---- list ---- */

/* Entries of a run, or of a user. False: the request has been answered. */
static bool query_owner(Api *api, HttpRequest *request, CacheQuery *query)
{
        const char *id = http_request_query(request, "run");
        g_autoptr(RunRecord) run = id ? api_find_run(api, request, id, VERB_SHOW) : NULL;
        g_autoptr(GError) error = NULL;

        query->fs = http_request_query(request, "filesystem");
        query->run = run ? run->seq : 0;
        if (id)
                return run != NULL;
        if (api_query_owner(request, "cache entries", &query->user, &error))
                return true;
        http_fail(request, error);
        return false;
}

/* A file system that was deleted may still have entries. */
static bool check_place(Api *api, const CacheQuery *query, const GPtrArray *entries, GError **error)
{
        return entries->len > 0 || query->after || !query->user ||
               api_check_filesystem(api, query->user, query->fs, error);
}

static void list_entries(HttpRequest *request, void *arg)
{
        Api *api = arg;
        CacheQuery query = { 0 };
        g_autoptr(GPtrArray) entries = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;
        json_t *items;
        gint64 limit, next = 0;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &query.after) ||
            !query_owner(api, request, &query))
                return;
        query.limit = (int)limit;
        entries = store_cache_entries(api->store, &query, &next, &error);
        if (!entries || !check_place(api, &query, entries, &error)) {
                http_fail(request, error);
                return;
        }
        items = json_array();
        for (guint i = 0; i < entries->len; i++)
                json_array_append_new(items, api_format_cache_entry(entries->pdata[i]));
        reply = json_pack("{s:o, s:o}", "items", items, "next", api_next_page(next));
        http_reply_json(request, 200, reply);
}

/* ---- delete ---- */

static void note_deleted(const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                http_fail(request, error);
        else
                http_reply(request, 204, NULL, NULL, 0);
        http_request_unref(request);
}

static void delete_entry(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(CacheEntry) entry = find_entry(api, request);

        if (entry)
                engine_delete_cache_entry(api->engine, entry->seq, note_deleted, http_request_ref(request));
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "user", HTTP_STRING, "Whose entries (administrators)." },
        { "all", HTTP_BOOLEAN, "Everyone's entries (administrators)." },
        { "run", HTTP_STRING, "Only entries of steps of this run." },
        { "filesystem", HTTP_STRING, "Only with this main file system." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

const HttpRoute cache_routes[] = {
        { "GET", "/v1/cache", ACCESS_RUN, VERB_LIST, list_entries,
          "List entries of the cache of steps, oldest first.", .query = list_query, .reply = "CacheList" },
        { "GET", "/v1/cache/{entry}", ACCESS_RUN, VERB_SHOW, show_entry,
          "Show an entry of the cache of steps, with the parts of its fingerprints.", .reply = "CacheEntry" },
        { "DELETE", "/v1/cache/{entry}", ACCESS_RUN, VERB_DELETE, delete_entry,
          "Delete an entry of the cache of steps. Steps that were reused from it keep their results.",
          .reply_status = 204 },
        { 0 },
};
