/* Runs of pipelines (doc/reference/paddleflow-api.md, "Runs"): create, list, show, stop, retry, delete. Of their owner and of
 * root. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "api/run-package.h"
#include "pipeline/source.h"

#define LIST "runList"
#define SCHEDULED "scheduledRunList" /* of the markers of the runs of a schedule */

enum {
        BODY_MAX = 24 * 1024 * 1024, /* a text of 16 MiB in base64 */
        DESC_MAX = 4096,
};

static const CodeMap codes[] = {
        { ERR_INVALID, CODE_InvalidPipeline },
        { ERR_NOT_FOUND, CODE_InvalidArguments }, /* a file system that the definition names */
        { ERR_GONE, CODE_PipelineNotFound },      /* its version was just deleted */
        { ERR_CONFLICT, CODE_InvalidArguments },
        CODE_MAP_END,
};

/* ---- states ---- */

const char *run_word(const RunRecord *run)
{
        NodeState state = run_record_state(run);

        return state == NODE_STOPPING ? "terminating" : node_state_name(state);
}

/* The states of the store that a word can stand for. A run begins at once: none is initiating or pending. */
static guint32 states_of(char **words)
{
        static const struct {
                const char *word;
                NodeState state;
        } known[] = { { "running", NODE_RUNNING },       { "terminating", NODE_STOPPING },
                      { "succeeded", NODE_SUCCEEDED },   { "failed", NODE_FAILED },
                      { "terminated", NODE_TERMINATED }, { "skipped", NODE_SKIPPED } };
        guint32 states = 0;

        for (; words && *words; words++)
                for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
                        if (strcmp(known[i].word, *words) == 0)
                                states |= 1u << known[i].state;
        return states;
}

/* ---- which one ---- */

static bool only_shows(const Call *call)
{
        const int verb = http_request_route(call->request)->verb;

        return verb == VERB_SHOW || verb == VERB_LIST;
}

RunRecord *call_run(const Call *call, const char *id, GError **error)
{
        g_autoptr(RunRecord) run = NULL;
        gint64 seq;

        if (numbered_id_parse("run", id, &seq))
                run = store_run_by_seq(call->flow->store, seq, false, NULL);
        if (!run) {
                paddleflow_set(error, CODE_RunNotFound, "there is no run '%.80s'", id);
        } else if (!call->root && strcmp(run->user, call->user) != 0) {
                http_request_set_denied(call->request);
                paddleflow_set(error, CODE_AccessDenied, "run '%.80s' is not of '%s'", id, call->user);
        } else {
                http_request_set_owner(call->request, run->user);
                http_request_set_subject(call->request, run->id);
                if (only_shows(call) || auth_check_runs(http_request_caller(call->request), error))
                        return g_steal_pointer(&run);
                http_request_set_denied(call->request);
        }
        return NULL;
}

/* ---- create ---- */

/* What a request asks for. */
typedef struct {
        const char *user; /* the effective one */
        char *text;       /* the definition: of the request, or of the file; NULL: stored, or not read yet */
        const char *path; /* of the file; NULL: it comes from elsewhere */
        char *source;
        PipelineVersion *version; /* of a stored pipeline */
        json_t *request;          /* EngineRun's */
} Wish;

static void wish_clear(Wish *wish)
{
        g_free(wish->text);
        g_free(wish->source);
        pipeline_version_free(wish->version);
        json_decref(wish->request);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wish, wish_clear)

static bool take_stored(const Call *call, const json_t *body, Wish *wish, GError **error)
{
        g_autoptr(PipelineRecord) pipeline = call_pipeline(call, go_text(body, "pipelineID"), error);

        if (pipeline)
                wish->version = call_version(call, pipeline, go_text(body, "pipelineVersionID"), true, error);
        return wish->version != NULL;
}

static bool is_on_file_system(const json_t *body)
{
        return !*go_text(body, "runYamlRaw") && !*go_text(body, "pipelineID");
}

/* The first source that the body has: a text, a stored pipeline, a file. `read`: what is in the file; NULL: it has not been
 * read. */
static bool take_source(const Call *call, const json_t *body, const char *read, Wish *wish, GError **error)
{
        const char *raw = go_text(body, "runYamlRaw");

        if (*raw) {
                wish->text = yaml_take(raw, CODE_MalformedYaml, error);
                return wish->text != NULL;
        }
        if (*go_text(body, "pipelineID"))
                return take_stored(call, body, wish, error);
        if (!*go_text(body, "fsName"))
                return paddleflow_set(error, CODE_InvalidArguments,
                                      "one of runYamlRaw, pipelineID and fsName is needed");
        wish->path = yaml_path(go_text(body, "runYamlPath"));
        wish->text = g_strdup(read);
        return true;
}

static bool is_name(const char *name)
{
        gsize len = strlen(name);

        return len >= 1 && len <= 128 && (g_ascii_isalpha(*name) || *name == '_') &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static void put_text(json_t *request, const char *key, const char *text)
{
        if (*text)
                json_object_set_new(request, key, json_string(text));
}

static json_t *overrides(const json_t *body, const Wish *wish)
{
        const char *fs = go_text(body, "fsName");
        const json_t *parameters = json_object_get(body, "parameters");
        json_t *request = json_pack("{s:s}", "queue_default", QUEUE_SEEDED);

        put_text(request, "name", go_text(body, "name"));
        put_text(request, "image", go_text(body, "dockerEnv"));
        put_text(request, "disabled", go_text(body, "disabled"));
        put_text(request, "failure_strategy", go_text(json_object_get(body, "failureOptions"), "strategy"));
        put_text(request, "fs_name", *fs ? fs : wish->version && wish->version->fs ? wish->version->fs : "");
        if (json_object_size(parameters) > 0)
                json_object_set(request, "parameters", (json_t *)parameters);
        return request;
}

static bool check_common(const Call *call, const char *name, const char *desc, GError **error)
{
        return (!*name || is_name(name) ||
                paddleflow_set(
                        error, CODE_InvalidNamePattern,
                        "name '%.140s' is not 1 to 128 letters, digits, '-' and '_', of which the first is "
                        "no digit and no '-'",
                        name)) &&
               (strlen(desc) <= DESC_MAX ||
                paddleflow_set(error, CODE_InvalidArguments, "desc is longer than %d bytes", DESC_MAX)) &&
               auth_check_runs(http_request_caller(call->request), error);
}

static bool take_wish(const Call *call, const json_t *body, const char *read, Wish *wish, GError **error)
{
        const char *user = go_text(body, "username");
        Code missing = is_on_file_system(body) ? CODE_ReadYamlFileFailed : CODE_InvalidArguments;

        if (!check_common(call, go_text(body, "name"), go_text(body, "desc"), error) ||
            !yaml_check_fs(call, user, go_text(body, "fsName"), missing, error) ||
            !take_source(call, body, read, wish, error))
                return false;
        wish->user = *user && call->root ? user : call->user;
        wish->request = overrides(body, wish);
        return !wish->version ||
               run_package_of_version(call->flow->packages, wish->version, wish->request, error);
}

static void reply_id(HttpRequest *request, int status, const RunRecord *run)
{
        g_autofree char *id = numbered_id_format("run", run->seq);
        g_autoptr(json_t) reply = json_pack("{s:s}", "runID", id);

        http_request_set_subject(request, run->id);
        http_reply_json(request, status, reply);
}

static void create_done(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                paddleflow_fail(request, g_error_copy(error), codes);
        else
                reply_id(request, 201, run);
        http_request_unref(request);
}

static void begin(const Call *call, Wish *wish, const char *note)
{
        const char *text = wish->version ? wish->version->text : wish->text;

        if (!wish->version)
                wish->source = wish->path ? g_strdup(wish->path) : definition_source(text, strlen(text));
        engine_create_run(call->flow->engine,
                          &(EngineRun){ .user = wish->user,
                                        .admin = call->root,
                                        .text = text,
                                        .request = wish->request,
                                        .version = wish->version,
                                        .source = wish->source,
                                        .note = note },
                          create_done, http_request_ref(call->request));
}

/* `read`: the file that the request names, in a second pass through it; NULL: the first one. */
static void create(HttpRequest *request, PaddleFlow *flow, const char *read)
{
        g_auto(Call) call;
        g_auto(Wish) wish = { 0 };
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, flow))
                return;
        body = call_body(&call, run_create_body, &error);
        if (!body || !take_wish(&call, body, read, &wish, &error))
                call_fail(&call, error);
        else if (wish.path && !wish.text)
                yaml_read(&call, wish.user, go_text(body, "fsName"), wish.path, create);
        else
                begin(&call, &wish, go_text(body, "desc"));
}

static void create_now(HttpRequest *request, void *arg)
{
        create(request, arg, NULL);
}

/* A definition is compiled, which may take a second. */
static void create_run(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, create_now);
}

/* ---- the body is the definition ---- */

static const char *member_text(const json_t *body, const char *name)
{
        const char *text = json_string_value(go_member(body, name));

        return text ? text : "";
}

static bool take_json(const Call *call, Wish *wish, GError **error)
{
        const char *user = member_text(call->body, "username");
        gsize len;
        const char *text = http_request_body(call->request, &len);

        if (!call->body)
                return paddleflow_set(error, CODE_MalformedJSON, "%s", call->unread->message);
        if (json_is_null(call->body))
                return paddleflow_set(error, CODE_InvalidPipeline, "the definition is null");
        if (!json_is_object(call->body))
                return paddleflow_set(error, CODE_MalformedJSON, "the body is not an object");
        if (!check_common(call, "", member_text(call->body, "description"), error) ||
            !yaml_check_fs(call, user, "", CODE_InvalidArguments, error))
                return false;
        wish->user = *user && call->root ? user : call->user;
        wish->text = g_strndup(text, len);
        wish->request = json_pack("{s:b, s:s}", "json_body", true, "queue_default", QUEUE_SEEDED);
        return true;
}

static void create_json_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Wish) wish = { 0 };
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (take_json(&call, &wish, &error))
                begin(&call, &wish, member_text(call.body, "description"));
        else
                call_fail(&call, error);
}

static void create_json(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, create_json_now);
}

/* ---- list ---- */

typedef struct {
        char **users, **fs, **ids, **names, **words; /* NULL: all */
        RunQuery query;
} Filter;

static void filter_clear(Filter *filter)
{
        g_strfreev(filter->users);
        g_strfreev(filter->fs);
        g_strfreev(filter->ids);
        g_strfreev(filter->names);
        g_strfreev(filter->words);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filter, filter_clear)

static void take_filter(const Call *call, Filter *ret)
{
        ret->users = call->root ? call_query_list(call, "userFilter") : NULL;
        ret->fs = call_query_list(call, "fsFilter");
        ret->ids = call_query_list(call, "runFilter");
        ret->names = call_query_list(call, "nameFilter");
        ret->words = call_query_list(call, "statusFilter");
        ret->query = (RunQuery){ .user = !call->root                                     ? call->user
                                         : ret->users && ret->users[0] && !ret->users[1] ? ret->users[0]
                                                                                         : NULL,
                                 .states = states_of(ret->words),
                                 .oldest_first = true,
                                 .limit = PADDLEFLOW_KEYS_MAX };
}

static bool is_wanted(const void *target, const void *row)
{
        const Filter *filter = target;
        const RunRecord *run = row;
        g_autofree char *id = filter->ids ? numbered_id_format("run", run->seq) : NULL;

        return page_has(filter->users, run->user) && page_has(filter->fs, run->fs ? run->fs : "") &&
               page_has(filter->ids, id) && page_has(filter->names, run->name) &&
               page_has(filter->words, run_word(run));
}

char *run_schedule(const RunRecord *run)
{
        return run->schedule ? numbered_id_format("schedule", run->schedule) : g_strdup("");
}

static json_t *show_brief(const RunRecord *run)
{
        g_autofree char *id = numbered_id_format("run", run->seq);
        g_autofree char *created = time_text(run->created),
                        *updated = time_text(run->finished ? run->finished : run->created);
        g_autofree char *schedule = run_schedule(run), *scheduled = time_text(run->scheduled);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "runID", id,
                         "name", run->name, "source", run->source ? run->source : "", "username", run->user,
                         "fsName", run->fs ? run->fs : "", "description", run->note ? run->note : "",
                         "scheduleID", schedule, "runMsg", run->message ? run->message : "", "status",
                         run_word(run), "scheduledTime", scheduled, "createTime", created, "activateTime",
                         created, "updateTime", updated);
}

/* No run has a status that the language does not know. */
static GPtrArray *read_rows(const Call *call, void *target, gint64 after, gint64 *ret_next, GError **error)
{
        Filter *filter = target;

        if (filter->words && !filter->query.states)
                return g_ptr_array_new();
        filter->query.after_seq = after;
        return store_runs(call->flow->store, &filter->query, ret_next, error);
}

static json_t *show_row(const Call *call, const void *row)
{
        return show_brief(row);
}

static const PageRows rows = { read_rows, is_wanted, show_row, offsetof(RunRecord, seq) };

json_t *run_page_of(const Call *call, gint64 schedule, GError **error)
{
        g_auto(Filter) filter = { 0 };
        json_t *items;
        gint64 next = 0;
        Page page;

        if (!page_take(call, SCHEDULED, &page, error))
                return NULL;
        filter.ids = call_query_list(call, "runFilter");
        filter.words = call_query_list(call, "statusFilter");
        filter.query = (RunQuery){ .schedule = schedule,
                                   .states = states_of(filter.words),
                                   .oldest_first = true,
                                   .limit = PADDLEFLOW_KEYS_MAX };
        items = page_collect(call, &rows, &filter, &page, &next, error);
        return items ? page_format(call, SCHEDULED, &page, next, LIST, items) : NULL;
}

static void list_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Filter) filter = { 0 };
        json_t *items = NULL;
        gint64 next = 0;
        GError *error = NULL;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        if (page_take(&call, LIST, &page, &error)) {
                take_filter(&call, &filter);
                items = page_collect(&call, &rows, &filter, &page, &next, &error);
        }
        if (items)
                call_reply(&call, page_format(&call, LIST, &page, next, LIST, items));
        else
                call_fail(&call, error);
}

static void list_runs(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, list_now);
}

/* ---- show ---- */

static void show_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(RunRecord) run = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        run = call_run(&call, call_param(&call, "runID"), &error);
        if (run)
                run_show(&call, run);
        else
                call_fail(&call, error);
}

static void show_one(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_now);
}

/* ---- stop, retry, delete ---- */

/* A request that the engine answers. */
typedef struct {
        PaddleFlow *flow;
        HttpRequest *request;
} Change;

static Change *change_new(const Call *call)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ call->flow, http_request_ref(call->request) };
        return change;
}

static void change_free(Change *change)
{
        http_request_unref(change->request);
        g_free(change);
}

static void change_done(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        Change *change = arg;

        if (error)
                run_refuse(change->flow, change->request, error);
        else
                paddleflow_reply_empty(change->request);
        change_free(change);
}

/* A body that may be missing; NULL with MalformedJSON. DELETE has one, too. */
static json_t *take_optional(const Call *call, const GoField *fields, GError **error)
{
        g_autoptr(GError) why = NULL;
        g_autoptr(json_t) body = NULL;
        json_t *decoded;
        gsize len;
        const char *text = http_request_body(call->request, &len);

        if (len == 0)
                return json_object();
        body = go_parse(text, len, &why);
        decoded = body ? go_decode(body, fields, &why) : NULL;
        if (!decoded)
                paddleflow_set(error, CODE_MalformedJSON, "%s", why->message);
        return decoded;
}

static bool check_stop(const RunRecord *run, bool force, GError **error)
{
        if (node_is_final((NodeState)run->state))
                return paddleflow_set(error, CODE_ActionNotAllowed, "the run has already ended: %s",
                                      run_word(run));
        return force || !run->stopping ||
               paddleflow_set(error, CODE_ActionNotAllowed,
                              "the run is being stopped already\nOnly stopForce can be added.");
}

static void stop(const Call *call, const RunRecord *run)
{
        GError *error = NULL;
        g_autoptr(json_t) body = take_optional(call, run_stop_body, &error);
        bool force = json_is_true(json_object_get(body, "stopForce"));

        if (body && check_stop(run, force, &error))
                engine_stop_run(call->flow->engine, run->id, force, call->user, change_done,
                                change_new(call));
        else
                call_fail(call, error);
}

static void retry_done(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        Change *change = arg;

        if (error)
                run_refuse(change->flow, change->request, error);
        else
                reply_id(change->request, 200, run);
        change_free(change);
}

/* The engine's hint names options that this interface does not have. */
static bool check_retry(const RunRecord *run, GError **error)
{
        g_autofree char *id = numbered_id_format("run", run->seq);

        return run->state != NODE_SUCCEEDED ||
               paddleflow_set(error, CODE_ActionNotAllowed,
                              "run '%s' has succeeded: there is nothing to retry\n"
                              "Create another run of its pipeline.",
                              id);
}

static void retry(const Call *call, const RunRecord *run)
{
        GError *error = NULL;

        if (check_retry(run, &error) && run_package_use(call->flow->store, call->flow->packages, run, &error))
                engine_retry_run(call->flow->engine, &(EngineRetry){ .id = run->id }, retry_done,
                                 change_new(call));
        else
                call_fail(call, error);
}

static void change_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(RunRecord) run = NULL;
        GError *error = NULL;
        const char *action;
        bool again;

        if (!call_begin(&call, request, arg))
                return;
        action = call_query(&call, "action");
        again = strcmp(action, "retry") == 0;
        if (!again && strcmp(action, "stop") != 0)
                paddleflow_set(&error, CODE_InvalidArguments, "action '%.40s' is not stop or retry", action);
        else
                run = call_run(&call, call_param(&call, "runID"), &error);
        if (run)
                (again ? retry : stop)(&call, run);
        else
                call_fail(&call, error);
}

/* A retry reads all nodes of the earlier run. */
static void change_run(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, change_now);
}

static void drop_run(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(RunRecord) run = NULL;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;
        bool force;

        if (!call_begin(&call, request, arg))
                return;
        body = take_optional(&call, run_delete_body, &error);
        force = json_is_false(json_object_get(body, "checkCache"));
        run = body ? call_run(&call, call_param(&call, "runID"), &error) : NULL;
        if (run)
                engine_delete_run(call.flow->engine, run->id, force, call.user, change_done,
                                  change_new(&call));
        else
                call_fail(&call, error);
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "userFilter", HTTP_STRING, "Only of these users, separated by commas (root)." },
        { "fsFilter", HTTP_STRING, "Only those with one of these main file systems." },
        { "runFilter", HTTP_STRING, "Only those of these ids." },
        { "nameFilter", HTTP_STRING, "Only those of these names." },
        { "statusFilter", HTTP_STRING, "Only those in one of these states." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};
static const HttpParameter action_query[] = { { "action", HTTP_STRING, "stop or retry." }, { 0 } };

const HttpRoute run_rows[] = {
        { "POST", PADDLEFLOW_BASE "/run", ACCESS_RUN, VERB_CREATE, create_run, "Run a pipeline.",
          .body_max = BODY_MAX, .request = "NewRun", .reply = "RunMade", .reply_status = 201 },
        { "POST", PADDLEFLOW_BASE "/runjson", ACCESS_RUN, VERB_CREATE, create_json,
          "Run the pipeline whose definition is the body.", .body_max = BODY_MAX, .request = "NewRunJson",
          .reply = "RunMade", .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/run", ACCESS_RUN, VERB_LIST, list_runs, "List runs.", .query = list_query,
          .reply = "RunList" },
        { "GET", PADDLEFLOW_BASE "/run/{runID}", ACCESS_RUN, VERB_SHOW, show_one,
          "Show a run with all its steps. The answer for a large run is sent in parts.",
          .reply = "RunShown" },
        { "PUT", PADDLEFLOW_BASE "/run/{runID}", ACCESS_RUN, VERB_UPDATE, change_run,
          "Stop a run, or retry it as a new run, whose id is the answer.", .query = action_query,
          .request = "RunStop" },
        { "DELETE", PADDLEFLOW_BASE "/run/{runID}", ACCESS_RUN, VERB_DELETE, drop_run,
          "Delete a run that has ended, with its jobs." },
        { 0 },
};
