/* Stored pipelines over HTTP: create, list, show, their versions, update, delete. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "base/word.h"
#include "model/filesystem.h"

enum {
        BODY_MAX = 36 * 1024 * 1024, /* a text of 16 MiB, of which a character may be written as two */
        SOON = 64 * 1024,            /* bytes of a body that is compiled at once */
        LIST_MAX = 1000,
        NAME_MAX_BYTES = 255,
        NOTE_MAX = 1024, /* the engine says what is too long */
};

/* ---- as clients see them ---- */

static json_t *format_pipeline(const PipelineRecord *pipeline)
{
        g_autofree char *id = numbered_id_format("ppl", pipeline->seq);
        g_autofree char *created = clock_format(pipeline->created),
                        *updated = clock_format(pipeline->updated);

        return json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s}", "id", id, "name", pipeline->name, "user",
                         pipeline->user, "description", pipeline->note ? pipeline->note : "", "revision",
                         (json_int_t)pipeline->revision, "created_at", created, "updated_at", updated);
}

static json_t *format_version(const PipelineVersion *version)
{
        g_autofree char *created = clock_format(version->created);

        g_autoptr(json_t) files = json_object();
        const char *name;

        pipeline_add_files(files, version->files);
        name = json_string_value(json_object_get(files, "package_name"));
        return json_pack("{s:i, s:s, s:I, s:s, s:s?, s:s?, s:s?, s:s?, s:s}", "version", version->version,
                         "hash", version->hash, "size", (json_int_t)version->size, "user", version->user,
                         "fs", version->fs, "path", version->path, "package",
                         json_string_value(json_object_get(files, "package")), "package_name", name,
                         "created_at", created);
}

/* The pipeline with what the version has. */
static json_t *format_both(const PipelineRecord *pipeline, const PipelineVersion *version)
{
        json_t *reply = format_pipeline(pipeline);

        json_object_set_new(reply, "version", format_version(version));
        return reply;
}

/* The same with its newest version. Without one if it was deleted meanwhile. */
static json_t *format_newest(Api *api, const PipelineRecord *pipeline)
{
        g_autoptr(PipelineVersion) version =
                store_pipeline_version(api->store, pipeline->seq, 0, false, NULL);

        return version ? format_both(pipeline, version) : format_pipeline(pipeline);
}

/* ---- which one ---- */

/* By name, of `user`; else by id. */
static PipelineRecord *look_up(Api *api, const char *user, const char *word, GError **error)
{
        PipelineRecord *pipeline = store_pipeline_by_name(api->store, user, word, error);
        gint64 seq;

        if (pipeline || !numbered_id_parse("ppl", word, &seq))
                return pipeline;
        g_clear_error(error);
        return store_pipeline(api->store, seq, error);
}

/* "Did you mean 'digits'? ...", of the pipelines of `user`. The caller's. */
static char *hint_of(Api *api, const char *user, const char *word)
{
        const PipelineQuery query = { .user = user, .limit = LIST_MAX };
        gint64 next;
        g_autoptr(GPtrArray) found = store_pipelines(api->store, &query, &next, NULL);
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *near;

        for (guint i = 0; found && i < found->len; i++)
                g_ptr_array_add(names, ((PipelineRecord *)found->pdata[i])->name);
        g_ptr_array_add(names, NULL);
        near = word_nearest(word, (const char *const *)names->pdata);
        return g_strdup_printf("%s%s%s`paddle pipeline list` shows the stored pipelines.",
                               near ? "Did you mean '" : "", near ? near : "", near ? "'? " : "");
}

PipelineRecord *api_find_pipeline(Api *api, HttpRequest *request, AccessVerb verb, const char *word,
                                  GError **error)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *named = http_request_query(request, "user");
        g_autoptr(GError) why = NULL;
        g_autoptr(PipelineRecord) pipeline =
                look_up(api, named && caller->admin ? named : caller->user, word, &why);
        g_autofree char *hint = NULL;

        if (pipeline && api_may(request, ACCESS_PIPELINE, verb, pipeline->user))
                return g_steal_pointer(&pipeline);
        hint = hint_of(api, caller->user, word);
        api_set_absent(error, &why, "stored pipeline", word, caller->user, hint);
        return NULL;
}

/* The one that the route names, if the caller may do this with it. NULL: an error was already sent. */
static PipelineRecord *find_pipeline(Api *api, HttpRequest *request)
{
        const HttpRoute *route = http_request_route(request);
        g_autoptr(GError) error = NULL;
        g_autoptr(PipelineRecord) pipeline =
                api_find_pipeline(api, request, (AccessVerb)route->verb,
                                  http_request_param(request, "pipeline"), &error);

        if (pipeline) {
                g_autofree char *id = numbered_id_format("ppl", pipeline->seq);

                http_request_set_owner(request, pipeline->user);
                http_request_set_subject(request, id);
                if (route->verb == VERB_SHOW || route->verb == VERB_LIST ||
                    auth_check_runs(http_request_caller(request), &error))
                        return g_steal_pointer(&pipeline);
                http_request_set_denied(request);
        }
        http_fail(request, error);
        return NULL;
}

/* The number in the path. 0: an error was already sent. */
static int find_number(HttpRequest *request)
{
        g_autoptr(GError) error = NULL;
        gint64 number = 0;

        if (!number_parse("version", http_request_param(request, "version"), 1, G_MAXINT, &number, &error))
                http_fail(request, error);
        return (int)number;
}

/* ---- changes ---- */

typedef struct {
        HttpRequest *request;
        int status; /* 204: without a body */
} Change;

static void change_done(const PipelineRecord *pipeline, const PipelineVersion *version, const GError *error,
                        void *arg)
{
        g_autofree Change *change = arg;
        g_autoptr(json_t) reply = version ? format_both(pipeline, version) : NULL;

        if (error)
                http_fail(change->request, error);
        else if (reply)
                http_reply_json(change->request, change->status, reply);
        else
                http_reply(change->request, 204, NULL, NULL, 0);
        http_request_unref(change->request);
}

static Change *change_new(HttpRequest *request, int status)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ http_request_ref(request), status };
        return change;
}

/* The directory that is stored with the version; the caller's. NULL: none, or an error. */
static char *take_files(Api *api, const HttpCaller *caller, const json_t *body, GError **error)
{
        static const char *const texts[] = { "package", "package_name", "requirements" };
        g_autoptr(json_t) files = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                const char *text = NULL;

                if (!json_get_string(body, "", texts[i], SOON, &text, error))
                        return NULL;
                if (text)
                        json_object_set_new(files, texts[i], json_string(text));
        }
        if (json_object_size(files) > 0 && !json_object_get(files, "package"))
                err_set(error, ERR_INVALID,
                        "package is missing: package_name and requirements belong to one");
        return json_object_get(files, "package") && api_take_package(api, caller, files, error)
                       ? json_format(files)
                       : NULL;
}

/* The body, checked, with texts in `ret`, of which `files` is the caller's; NULL: an error was already sent. */
static json_t *take_body(Api *api, HttpRequest *request, EnginePipeline *ret)
{
        static const char *const known[] = { "definition",   "description",  "fs", "package",
                                             "package_name", "requirements", NULL };
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        const json_t *text = json_object_get(body, "definition");
        bool ok = body && auth_check_runs(caller, &error);

        *ret = (EnginePipeline){ .user = caller->user,
                                 .by = caller->user,
                                 .admin = caller->admin,
                                 .fs_default = FILESYSTEM_HOME };
        if (ok && !json_is_string(text))
                err_set(&error, ERR_INVALID, "definition: the text of the pipeline is missing");
        else if (ok && json_only(body, "", known, &error) &&
                 json_get_string(body, "", "description", NOTE_MAX, &ret->note, &error))
                if (json_get_string(body, "", "fs", NAME_MAX_BYTES, &ret->fs, &error))
                        ret->files = take_files(api, caller, body, &error);
        ret->text = json_string_value(text);
        if (!error)
                return g_steal_pointer(&body);
        http_fail(request, error);
        return NULL;
}

/* True: the request goes on on a thread of the pool. */
static bool is_long(HttpRequest *request)
{
        gsize len;

        (void)http_request_body(request, &len);
        return len > SOON && http_request_to_pool(request);
}

static void create_pipeline(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(json_t) body = NULL;
        EnginePipeline pipeline;

        if (is_long(request))
                return;
        body = take_body(api, request, &pipeline);
        if (body)
                engine_create_pipeline(api->engine, &pipeline, change_done, change_new(request, 201));
        g_free((char *)pipeline.files);
}

static void update_pipeline(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(PipelineRecord) record = NULL;
        g_autoptr(json_t) body = NULL;
        EnginePipeline pipeline = { 0 };

        if (is_long(request))
                return;
        record = find_pipeline(api, request);
        body = record ? take_body(api, request, &pipeline) : NULL;
        if (!body)
                return;
        pipeline.user = record->user;
        engine_update_pipeline(api->engine, record->seq, &pipeline, change_done, change_new(request, 201));
        g_free((char *)pipeline.files);
}

static void delete_pipeline(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(PipelineRecord) pipeline = find_pipeline(api, request);

        if (pipeline)
                engine_delete_pipeline(api->engine, pipeline->seq, 0, http_request_caller(request)->user,
                                       change_done, change_new(request, 204));
}

static void delete_version(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(PipelineRecord) pipeline = find_pipeline(api, request);
        int number = pipeline ? find_number(request) : 0;

        if (number)
                engine_delete_pipeline(api->engine, pipeline->seq, number, http_request_caller(request)->user,
                                       change_done, change_new(request, 204));
}

/* ---- reading ---- */

static void list_pipelines(HttpRequest *request, void *arg)
{
        Api *api = arg;
        PipelineQuery query = { .name = http_request_query(request, "name") };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) found = NULL;
        g_autoptr(json_t) reply = NULL;
        gint64 limit, next = 0;
        json_t *items;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &query.after_seq))
                return;
        query.limit = (int)limit;
        if (api_query_owner(request, "stored pipelines", &query.user, &error))
                found = store_pipelines(api->store, &query, &next, &error);
        if (!found) {
                http_fail(request, error);
                return;
        }
        items = json_array();
        for (guint i = 0; i < found->len; i++)
                json_array_append_new(items, format_newest(api, found->pdata[i]));
        reply = json_pack("{s:o, s:o}", "items", items, "next", api_next_page(next));
        http_reply_json(request, 200, reply);
}

/* With its newest version. */
static void show_pipeline(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(PipelineRecord) pipeline = find_pipeline(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(PipelineVersion) version = NULL;
        g_autoptr(json_t) reply = NULL;

        if (!pipeline)
                return;
        version = store_pipeline_version(api->store, pipeline->seq, 0, false, &error);
        if (!version) {
                http_fail(request, error);
                return;
        }
        reply = format_both(pipeline, version);
        http_reply_json(request, 200, reply);
}

static void list_versions(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(PipelineRecord) pipeline = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) found = NULL;
        g_autoptr(json_t) reply = NULL;
        gint64 limit, after;
        int next = 0;
        json_t *items;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT, 0, &after))
                return;
        pipeline = find_pipeline(api, request);
        if (!pipeline)
                return;
        found = store_pipeline_versions(api->store, pipeline->seq, (int)after, (int)limit, &next, &error);
        if (!found) {
                http_fail(request, error);
                return;
        }
        items = json_array();
        for (guint i = 0; i < found->len; i++)
                json_array_append_new(items, format_version(found->pdata[i]));
        reply = json_pack("{s:o, s:o}", "items", items, "next", api_next_page(next));
        http_reply_json(request, 200, reply);
}

/* With its definition. */
static void show_version(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(PipelineRecord) pipeline = find_pipeline(api, request);
        int number = pipeline ? find_number(request) : 0;
        g_autoptr(GError) error = NULL;
        g_autoptr(PipelineVersion) version =
                number ? store_pipeline_version(api->store, pipeline->seq, number, true, &error) : NULL;
        g_autoptr(json_t) reply = NULL;

        if (!number)
                return;
        if (!version) {
                http_fail(request, error);
                return;
        }
        reply = format_version(version);
        json_object_set_new(reply, "definition", json_string(version->text));
        http_reply_json(request, 200, reply);
}

/* ---- routes ---- */

#define WHOSE "Whose pipeline a name means (administrators)."

static const HttpParameter list_query[] = {
        { "user", HTTP_STRING, "Whose pipelines (administrators)." },
        { "all", HTTP_BOOLEAN, "Everyone's pipelines (administrators)." },
        { "name", HTTP_STRING, "Only the pipelines with this name." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};
static const HttpParameter versions_query[] = {
        { "user", HTTP_STRING, WHOSE },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};
static const HttpParameter one_query[] = { { "user", HTTP_STRING, WHOSE }, { 0 } };

const HttpRoute pipeline_routes[] = {
        { "POST", "/v1/pipelines", ACCESS_PIPELINE, VERB_CREATE, create_pipeline,
          "Store the definition of a pipeline under its name, as version 1.", .body_max = BODY_MAX,
          .request = "NewPipeline", .reply = "Pipeline", .reply_status = 201 },
        { "GET", "/v1/pipelines", ACCESS_PIPELINE, VERB_LIST, list_pipelines,
          "List stored pipelines, oldest first, each with its newest version.", .query = list_query,
          .reply = "PipelineList", .on_pool = true }, /* a query for each */
        { "GET", "/v1/pipelines/{pipeline}", ACCESS_PIPELINE, VERB_SHOW, show_pipeline,
          "Show a stored pipeline, by name or id, with its newest version.", .query = one_query,
          .reply = "Pipeline" },
        { "DELETE", "/v1/pipelines/{pipeline}", ACCESS_PIPELINE, VERB_DELETE, delete_pipeline,
          "Delete a stored pipeline with all versions. Its runs stay.", .query = one_query,
          .reply_status = 204 },
        { "POST", "/v1/pipelines/{pipeline}/versions", ACCESS_PIPELINE, VERB_UPDATE, update_pipeline,
          "Store a new version of a pipeline.", .query = one_query, .body_max = BODY_MAX,
          .request = "NewPipeline", .reply = "Pipeline", .reply_status = 201 },
        { "GET", "/v1/pipelines/{pipeline}/versions", ACCESS_PIPELINE, VERB_SHOW, list_versions,
          "List the versions of a stored pipeline, oldest first.", .query = versions_query,
          .reply = "PipelineVersionList" },
        { "GET", "/v1/pipelines/{pipeline}/versions/{version}", ACCESS_PIPELINE, VERB_SHOW, show_version,
          "Show a version of a stored pipeline, with its definition.", .query = one_query,
          .reply = "PipelineVersionText", .on_pool = true },
        { "DELETE", "/v1/pipelines/{pipeline}/versions/{version}", ACCESS_PIPELINE, VERB_DELETE,
          delete_version, "Delete a version of a stored pipeline, unless it is the only one.",
          .query = one_query, .reply_status = 204 },
        { 0 },
};
