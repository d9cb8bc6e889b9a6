/* Stored pipelines and their versions (doc/reference/paddleflow-api.md, "Pipelines"). Of their owner and of root. */
#include <string.h>

#include "api/paddleflow/internal.h"

#define LIST "pipelineList"
#define VERSIONS "pplVersionList"

enum {
        BODY_MAX = 24 * 1024 * 1024, /* a text of 16 MiB in base64 */
        DESC_MAX = 256,
        TEXTS_MAX = 32 * 1024 * 1024 /* bytes of the texts on one page of versions */
};

/* Of a new pipeline or version. ERR_CONFLICT: the definition names another file system than fsName, or another pipeline
 * than the one that is updated. */
static const CodeMap put_codes[] = { { ERR_INVALID, CODE_InvalidPipeline },
                                     { ERR_CONFLICT, CODE_InvalidArguments },
                                     { ERR_EXISTS, CODE_DuplicatedName },
                                     { ERR_NOT_FOUND, CODE_PipelineNotFound },
                                     CODE_MAP_END };
static const CodeMap drop_codes[] = { { ERR_NOT_FOUND, CODE_PipelineNotFound }, CODE_MAP_END };

/* ---- as clients see them ---- */

static json_t *show_pipeline(const PipelineRecord *pipeline)
{
        g_autofree char *id = numbered_id_format("ppl", pipeline->seq);
        g_autofree char *created = time_text(pipeline->created), *updated = time_text(pipeline->updated);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "pipelineID", id, "name", pipeline->name, "desc",
                         pipeline->note ? pipeline->note : "", "username", pipeline->user, "createTime",
                         created, "updateTime", updated);
}

static json_t *show_version(const PipelineVersion *version)
{
        g_autofree char *id = numbered_id_format("ppl", version->pipeline);
        g_autofree char *number = g_strdup_printf("%d", version->version),
                        *created = time_text(version->created);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "pipelineVersionID", number,
                         "pipelineID", id, "fsName", version->fs ? version->fs : "", "yamlPath",
                         version->path ? version->path : "", "pipelineYaml",
                         version->text ? version->text : "", "username", version->user, "createTime", created,
                         "updateTime", created);
}

/* ---- which one ---- */

PipelineRecord *call_pipeline(const Call *call, const char *id, GError **error)
{
        g_autoptr(PipelineRecord) pipeline = NULL;
        gint64 seq;

        if (numbered_id_parse("ppl", id, &seq))
                pipeline = store_pipeline(call->flow->store, seq, NULL);
        if (!pipeline) {
                paddleflow_set(error, CODE_PipelineNotFound, "there is no pipeline '%.80s'", id);
        } else if (!call->root && strcmp(pipeline->user, call->user) != 0) {
                http_request_set_denied(call->request);
                paddleflow_set(error, CODE_AccessDenied, "pipeline '%.80s' is not of '%s'", id, call->user);
        } else {
                http_request_set_owner(call->request, pipeline->user);
                http_request_set_subject(call->request, id);
                return g_steal_pointer(&pipeline);
        }
        return NULL;
}

PipelineVersion *call_version(const Call *call, const PipelineRecord *pipeline, const char *number, bool text,
                              GError **error)
{
        Store *store = call->flow->store;
        gint64 version = 0;
        PipelineVersion *found = NULL;
        g_autoptr(PipelineVersion) newest = NULL;

        if (!*number || paddleflow_number_parse("version", number, 1, G_MAXINT, &version, NULL))
                found = store_pipeline_version(store, pipeline->seq, (int)version, text, NULL);
        if (found)
                return found;
        newest = store_pipeline_version(store, pipeline->seq, 0, false, NULL);
        paddleflow_set(error, CODE_PipelineNotFound,
                       "pipeline '%s' has no version '%.20s'; its newest one is %d", pipeline->name, number,
                       newest ? newest->version : 0);
        return NULL;
}

/* ---- create, update ---- */

typedef struct {
        HttpRequest *request;
        const CodeMap *map;
        bool named; /* the answer has the name */
} Change;

static Change *change_new(const Call *call, const CodeMap *map, bool named)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ http_request_ref(call->request), map, named };
        return change;
}

static void reply_made(const Change *change, const PipelineRecord *pipeline, const PipelineVersion *version)
{
        g_autofree char *id = numbered_id_format("ppl", pipeline->seq);
        g_autofree char *number = g_strdup_printf("%d", version->version);
        g_autoptr(json_t) reply = json_pack("{s:s, s:s}", "pipelineID", id, "pipelineVersionID", number);

        if (change->named)
                json_object_set_new(reply, "name", json_string(pipeline->name));
        http_request_set_subject(change->request, id);
        http_reply_json(change->request, 201, reply);
}

static void change_done(const PipelineRecord *pipeline, const PipelineVersion *version, const GError *error,
                        void *arg)
{
        g_autofree Change *change = arg;

        if (error)
                paddleflow_fail(change->request, g_error_copy(error), change->map);
        else if (version)
                reply_made(change, pipeline, version);
        else
                paddleflow_reply_empty(change->request);
        http_request_unref(change->request);
}

/* The body by its table; what is no JSON has another code here. */
static json_t *take_body(const Call *call, GError **error)
{
        g_autoptr(GError) why = NULL;
        json_t *body = call_body(call, pipeline_body, &why);

        if (!body)
                paddleflow_set(error, CODE_InvalidHTTPRequest, "%s", why->message);
        return body;
}

static bool check_body(const Call *call, const json_t *body, GError **error)
{
        bool raw = *go_text(body, "yamlRaw"), fs = *go_text(body, "fsName"),
             path = *go_text(body, "yamlPath");

        if (strlen(go_text(body, "desc")) > DESC_MAX)
                return paddleflow_set(error, CODE_InvalidArguments, "desc is longer than %d bytes", DESC_MAX);
        if (raw && (fs || path))
                return paddleflow_set(error, CODE_InvalidArguments, "yamlRaw excludes fsName and yamlPath");
        if (!raw && !fs)
                return paddleflow_set(error, CODE_InvalidArguments, "either yamlRaw or fsName is needed");
        return yaml_check_fs(call, go_text(body, "username"), go_text(body, "fsName"),
                             CODE_ReadYamlFileFailed, error);
}

/* `record`: the one that is changed; NULL: a new one. `read`: the file that the body names, in a second pass through it;
 * NULL: the first one, which goes on with `then`. */
static void put_pipeline(const Call *call, const PipelineRecord *record, const json_t *body, const char *read,
                         YamlThen then)
{
        GError *error = NULL;
        const char *raw = go_text(body, "yamlRaw"), *user = go_text(body, "username"),
                   *fs = go_text(body, "fsName"), *path = yaml_path(go_text(body, "yamlPath"));
        bool ok = check_body(call, body, &error);
        g_autofree char *text = !ok ? NULL : *fs ? g_strdup(read) : yaml_take(raw, CODE_DecodeBase64, &error);
        const EnginePipeline pipeline = { .user = record ? record->user : call->user,
                                          .by = call->user,
                                          .admin = call->root,
                                          .text = text,
                                          .note = go_text(body, "desc"),
                                          .fs = *fs ? fs : NULL,
                                          .path = *fs ? path : NULL };

        if (error)
                call_fail(call, error);
        else if (!text)
                yaml_read(call, *user ? user : call->user, fs, path, then);
        else if (record)
                engine_update_pipeline(call->flow->engine, record->seq, &pipeline, change_done,
                                       change_new(call, put_codes, false));
        else
                engine_create_pipeline(call->flow->engine, &pipeline, change_done,
                                       change_new(call, put_codes, true));
}

/* A token of one queue may not: whoever runs the pipeline later may use any. */
static bool may_change(const Call *call, GError **error)
{
        return auth_check_runs(http_request_caller(call->request), error);
}

static void create(HttpRequest *request, PaddleFlow *flow, const char *read)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, flow))
                return;
        body = may_change(&call, &error) ? take_body(&call, &error) : NULL;
        if (body)
                put_pipeline(&call, NULL, body, read, create);
        else
                call_fail(&call, error);
}

static void create_now(HttpRequest *request, void *arg)
{
        create(request, arg, NULL);
}

static void update(HttpRequest *request, PaddleFlow *flow, const char *read)
{
        g_auto(Call) call;
        g_autoptr(PipelineRecord) pipeline = NULL;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, flow))
                return;
        body = may_change(&call, &error) ? take_body(&call, &error) : NULL;
        pipeline = body ? call_pipeline(&call, call_param(&call, "pipelineID"), &error) : NULL;
        if (pipeline)
                put_pipeline(&call, pipeline, body, read, update);
        else
                call_fail(&call, error);
}

static void update_now(HttpRequest *request, void *arg)
{
        update(request, arg, NULL);
}

/* A definition is compiled, which may take a second. */
static void create_pipeline(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, create_now);
}

static void update_pipeline(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, update_now);
}

/* ---- delete ---- */

static void drop(HttpRequest *request, void *arg, bool one)
{
        g_auto(Call) call;
        g_autoptr(PipelineRecord) pipeline = NULL;
        g_autoptr(PipelineVersion) version = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        pipeline = may_change(&call, &error) ? call_pipeline(&call, call_param(&call, "pipelineID"), &error)
                                             : NULL;
        if (pipeline && one)
                version =
                        call_version(&call, pipeline, call_param(&call, "pipelineVersionID"), false, &error);
        if (error)
                call_fail(&call, error);
        else
                engine_delete_pipeline(call.flow->engine, pipeline->seq, version ? version->version : 0,
                                       call.user, change_done, change_new(&call, drop_codes, false));
}

static void drop_pipeline(HttpRequest *request, void *arg)
{
        drop(request, arg, false);
}

static void drop_version(HttpRequest *request, void *arg)
{
        drop(request, arg, true);
}

/* ---- lists ---- */

typedef struct {
        char **users, **names; /* NULL: all */
        PipelineQuery query;
} Filter;

static void filter_clear(Filter *filter)
{
        g_strfreev(filter->users);
        g_strfreev(filter->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filter, filter_clear)

static char **take_list(const Call *call, const char *name)
{
        char **list = call_query_list(call, name);

        for (char **item = list; item && *item; item++)
                (void)g_strstrip(*item);
        return list;
}

static bool take_filter(const Call *call, Filter *ret, GError **error)
{
        ret->users = take_list(call, "userFilter");
        ret->names = take_list(call, "nameFilter");
        if (ret->users && !call->root)
                return paddleflow_set(error, CODE_AccessDenied, "userFilter is for root, and '%s' is not",
                                      call->user);
        ret->query.user = call->root ? NULL : call->user;
        ret->query.limit = PADDLEFLOW_KEYS_MAX;
        return true;
}

static bool is_wanted(const void *target, const void *row)
{
        const Filter *filter = target;
        const PipelineRecord *pipeline = row;

        return page_has(filter->users, pipeline->user) && page_has(filter->names, pipeline->name);
}

static GPtrArray *read_rows(const Call *call, void *target, gint64 after, gint64 *ret_next, GError **error)
{
        Filter *filter = target;

        filter->query.after_seq = after;
        return store_pipelines(call->flow->store, &filter->query, ret_next, error);
}

static json_t *show_row(const Call *call, const void *row)
{
        return show_pipeline(row);
}

static const PageRows rows = { read_rows, is_wanted, show_row, offsetof(PipelineRecord, seq) };

static void list_pipelines(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Filter) filter = { 0 };
        json_t *items = NULL;
        gint64 next = 0;
        GError *error = NULL;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        if (page_take(&call, LIST, &page, &error) && take_filter(&call, &filter, &error))
                items = page_collect(&call, &rows, &filter, &page, &next, &error);
        if (items)
                call_reply(&call, page_format(&call, LIST, &page, next, LIST, items));
        else
                call_fail(&call, error);
}

/* ---- show ---- */

/* Versions after `after` with their texts, as many as one page may have. */
static json_t *collect_versions(const Call *call, const PipelineRecord *pipeline, const Page *page, char **fs,
                                gint64 *ret_next, GError **error)
{
        Store *store = call->flow->store;
        g_autoptr(json_t) items = json_array();
        g_autoptr(GPtrArray) found = NULL;
        gint64 last = page->after, bytes = 0;
        int rest = 0;

        *ret_next = 0;
        found = store_pipeline_versions(store, pipeline->seq, (int)page->after, PADDLEFLOW_KEYS_MAX, &rest,
                                        error);
        if (!found)
                return NULL;
        for (guint i = 0; i < found->len; i++) {
                const PipelineVersion *bare = found->pdata[i];
                g_autoptr(PipelineVersion) version = NULL;

                if (!page_has(fs, bare->fs ? bare->fs : ""))
                        continue;
                if ((gint64)json_array_size(items) == page->max ||
                    (bytes > 0 && bytes + bare->size > TEXTS_MAX)) {
                        *ret_next = last;
                        break;
                }
                last = bare->version;
                version = store_pipeline_version(store, pipeline->seq, bare->version, true, NULL);
                if (!version) /* it was deleted while it was read */
                        continue;
                bytes += version->size;
                json_array_append_new(items, show_version(version));
        }
        return g_steal_pointer(&items);
}

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(GStrv) fs = NULL;
        g_autoptr(PipelineRecord) pipeline = NULL;
        json_t *items = NULL;
        gint64 next = 0;
        GError *error = NULL;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        fs = take_list(&call, "fsFilter");
        pipeline = call_pipeline(&call, call_param(&call, "pipelineID"), &error);
        if (pipeline && page_take(&call, VERSIONS, &page, &error))
                items = collect_versions(&call, pipeline, &page, fs, &next, &error);
        if (items)
                call_reply(&call, json_pack("{s:o, s:o}", "pipeline", show_pipeline(pipeline), "pplVersions",
                                            page_format(&call, VERSIONS, &page, next, VERSIONS, items)));
        else
                call_fail(&call, error);
}

static void show_one_version(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(PipelineRecord) pipeline = NULL;
        g_autoptr(PipelineVersion) version = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        pipeline = call_pipeline(&call, call_param(&call, "pipelineID"), &error);
        if (pipeline)
                version = call_version(&call, pipeline, call_param(&call, "pipelineVersionID"), true, &error);
        if (version)
                call_reply(&call, json_pack("{s:o, s:o}", "pipeline", show_pipeline(pipeline),
                                            "pipelineVersion", show_version(version)));
        else
                call_fail(&call, error);
}

static void show_pipeline_later(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_one);
}

static void show_version_later(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_one_version);
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "userFilter", HTTP_STRING, "Only of these users, separated by commas (root)." },
        { "nameFilter", HTTP_STRING, "Only those of these names, separated by commas." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};
static const HttpParameter show_query[] = {
        { "fsFilter", HTTP_STRING, "Only versions of these file systems, separated by commas." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute pipeline_rows[] = {
        { "POST", PADDLEFLOW_BASE "/pipeline", ACCESS_PIPELINE, VERB_CREATE, create_pipeline,
          "Store a pipeline as version 1.", .body_max = BODY_MAX, .request = "NewPipeline",
          .reply = "PipelineMade", .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/pipeline", ACCESS_PIPELINE, VERB_LIST, list_pipelines,
          "List stored pipelines.", .query = list_query, .reply = "PipelineList" },
        { "POST", PADDLEFLOW_BASE "/pipeline/{pipelineID}", ACCESS_PIPELINE, VERB_UPDATE, update_pipeline,
          "Store a new version of a pipeline.", .body_max = BODY_MAX, .request = "NewPipeline",
          .reply = "PipelineMade", .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/pipeline/{pipelineID}", ACCESS_PIPELINE, VERB_SHOW, show_pipeline_later,
          "Show a stored pipeline with its versions.", .query = show_query, .reply = "PipelineShown" },
        { "DELETE", PADDLEFLOW_BASE "/pipeline/{pipelineID}", ACCESS_PIPELINE, VERB_DELETE, drop_pipeline,
          "Delete a stored pipeline with all versions." },
        { "GET", PADDLEFLOW_BASE "/pipeline/{pipelineID}/{pipelineVersionID}", ACCESS_PIPELINE, VERB_SHOW,
          show_version_later, "Show a version of a stored pipeline.", .reply = "PipelineVersion" },
        { "DELETE", PADDLEFLOW_BASE "/pipeline/{pipelineID}/{pipelineVersionID}", ACCESS_PIPELINE,
          VERB_DELETE, drop_version, "Delete a version of a stored pipeline, unless it is the only one." },
        { 0 },
};
