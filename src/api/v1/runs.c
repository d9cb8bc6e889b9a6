/* Runs of pipelines over HTTP: create, list, show, their nodes, stop, retry, delete, events. */
#include "api/v1/runs.h"

#include <string.h>

#include "api/run-package.h"
#include "api/v1/run-logs.h"
#include "api/v1/run-tree.h"
#include "api/v1/run-waits.h"
#include "base/clock.h"
#include "base/err.h"
#include "engine/run-waits.h"
#include "model/filesystem.h"
#include "pipeline/run-break.h"

enum {
        BODY_MAX = 36 * 1024 * 1024, /* a text of 16 MiB, of which a character may be written as two */
        LIST_MAX = 1000,
        EVENTS_MAX = 10000,
        WORD_MAX = 64 * 1024,
        NOTE_MAX = 1024, /* bytes of a description */
};

/* ---- as clients see it ---- */

static json_t *format_run(const RunRecord *run)
{
        g_autofree char *created = clock_format(run->created);
        g_autofree char *finished = run->finished ? clock_format(run->finished) : NULL;
        g_autofree char *pipeline = run->pipeline ? numbered_id_format("ppl", run->pipeline) : NULL;
        g_autofree char *schedule = run->schedule ? numbered_id_format("schedule", run->schedule) : NULL;
        g_autofree char *scheduled = run->scheduled ? clock_format(run->scheduled) : NULL;

        return json_pack(
                "{s:s, s:s, s:s, s:s, s:s, s:i, s:s?, s:I, s:s, s:s?, s:s?, s:o, s:s, s:s?, s:s?, s:I}", "id",
                run->id, "name", run->name, "user", run->user, "state",
                node_state_name(run_record_state(run)), "message", run->message ? run->message : "",
                "attempt", (int)run->attempt, "retry_of", run->retry_id, "revision",
                (json_int_t)run->revision, "created_at", created, "finished_at", finished, "pipeline",
                pipeline, "version", pipeline ? json_integer(run->version) : json_null(), "description",
                run->note ? run->note : "", "schedule", schedule, "scheduled_at", scheduled, "paused",
                (json_int_t)run->paused);
}

static json_t *list_of(const json_t *control, const char *name)
{
        json_t *list = json_object_get(control, name);

        return list ? json_incref(list) : json_array();
}

/* Where it is paused, and what was set for it: breakpoints, parameters, single steps. */
static bool put_pauses(Api *api, const RunRecord *run, const RunText *text, json_t *reply, gint64 *ret_epoch,
                       GError **error)
{
        g_autoptr(json_t) control = NULL;
        json_t *pauses = run_pauses_format(api->store, text, run, &control, error), *parameters;

        if (!pauses)
                return false;
        parameters = json_object_get(control, "parameters");
        *ret_epoch = json_integer_value(json_object_get(control, "epoch"));
        json_object_set_new(reply, "pauses", pauses);
        json_object_set_new(reply, "break_before", list_of(control, "before"));
        json_object_set_new(reply, "break_after", list_of(control, "after"));
        json_object_set_new(reply, "missed_breakpoints", list_of(control, "missed"));
        json_object_set_new(reply, "lost_outputs", list_of(control, "lost"));
        json_object_set_new(reply, "changed_parameters",
                            json_is_object(parameters) ? json_incref(parameters) : json_object());
        json_object_set_new(reply, "single_steps",
                            json_boolean(json_is_true(json_object_get(control, "stepping"))));
        return true;
}

static bool is_over(const RunRecord *run)
{
        return node_is_final((NodeState)run->state);
}

/* Adds "waits" and "trouble" to the reply: the reasons why a run does not go on. A run that has ended has none. */
static bool put_waits(Api *api, const RunRecord *run, const RunText *text, json_t *reply, GError **error)
{
        json_t *waits = is_over(run) ? json_array() : run_waits_format(api, text, run, error);
        g_autofree char *trouble = is_over(run) ? NULL : engine_trouble(api->engine);

        if (!waits)
                return false;
        json_object_set_new(reply, "waits", waits);
        json_object_set_new(reply, "trouble", trouble ? json_string(trouble) : json_null());
        return true;
}

/* With the number of its nodes in each state. `text` NULL: it has ended, and is not paused. */
static json_t *format_whole(Api *api, const RunRecord *run, const RunText *text, gint64 *ret_epoch,
                            GError **error)
{
        gint64 counts[NODE_STATES];
        g_autoptr(json_t) reply = NULL;
        json_t *states;

        if (!store_run_counts(api->store, run->seq, counts, error))
                return NULL;
        reply = format_run(run);
        if (!put_pauses(api, run, text, reply, ret_epoch, error) || !put_waits(api, run, text, reply, error))
                return NULL;
        states = json_object();
        for (int state = NODE_RUNNING; state < NODE_STATES; state++)
                json_object_set_new(states, node_state_name((NodeState)state), json_integer(counts[state]));
        json_object_set_new(reply, "nodes", states);
        return g_steal_pointer(&reply);
}

/* "run-000001", as PaddleFlow's interface names it. */
static RunRecord *read_numbered(Api *api, const char *word)
{
        gint64 seq;

        return numbered_id_parse("run", word, &seq) ? store_run_by_seq(api->store, seq, false, NULL) : NULL;
}

/* By its id, the newest one of the caller with this name, or by its id in PaddleFlow's interface. */
static RunRecord *read_run(Api *api, const HttpCaller *caller, const char *word, GError **error)
{
        RunQuery query = { .user = caller->user, .name = word, .limit = 1 };
        g_autoptr(GError) missing = NULL;
        RunRecord *run = store_run_by_id(api->store, word, false, &missing);
        gint64 next = 0;

        while (!run && err_is(missing, ERR_NOT_FOUND)) {
                g_autoptr(GPtrArray) runs = store_runs(api->store, &query, &next, error);

                if (!runs)
                        return NULL;
                if (runs->len > 0)
                        return g_ptr_array_steal_index(runs, 0);
                if (next == 0)
                        break;
                query.before_seq = next;
        }
        if (!run && err_is(missing, ERR_NOT_FOUND))
                run = read_numbered(api, word);
        if (!run)
                g_propagate_error(error, g_steal_pointer(&missing));
        return run;
}

RunRecord *api_find_run(Api *api, HttpRequest *request, const char *id, AccessVerb verb)
{
        const HttpCaller *caller = http_request_caller(request);
        const HttpRoute *route = http_request_route(request);
        g_autoptr(GError) why = NULL, error = NULL;
        g_autoptr(RunRecord) run = read_run(api, caller, id, &why);

        if (run && api_may(request, (AccessKind)route->kind, verb, run->user)) {
                http_request_set_owner(request, run->user);
                http_request_set_subject(request, run->id);
                if (verb == VERB_SHOW || verb == VERB_LIST || auth_check_runs(caller, &error))
                        return g_steal_pointer(&run);
                http_request_set_denied(request);
        } else {
                api_set_absent(&error, &why, "run", id, caller->user,
                               "`paddle run list` shows the newest runs.");
        }
        http_fail(request, error);
        return NULL;
}

/* The run that the route names. */
RunRecord *api_run(Api *api, HttpRequest *request)
{
        return api_find_run(api, request, http_request_param(request, "run"),
                            (AccessVerb)http_request_route(request)->verb);
}

/* ---- changes ---- */

typedef struct {
        Api *api;
        HttpRequest *request;
        int status;  /* 204: without a body */
        json_t *run; /* as the change has left it, and as it is in a list */
} Change;

static void change_free(Change *change)
{
        json_decref(change->run);
        http_request_unref(change->request);
        g_free(change);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Change, change_free)

/* As GET gives it. */
static json_t *read_whole(Api *api, const RunRecord *run, GError **error)
{
        bool needed = run->paused > 0 || !is_over(run);
        g_autoptr(RunText) text = needed ? run_texts_get(api->run_texts, api->store, run, error) : NULL;
        gint64 epoch;

        return text || !needed ? format_whole(api, run, text, &epoch, error) : NULL;
}

/* The change holds, so the reply is never an error: a run that cannot be read now is answered as in a list. */
static void reply_changed(bool stopped, void *arg)
{
        g_autoptr(Change) change = arg;
        g_autoptr(RunRecord) run =
                stopped ? NULL
                        : store_run_by_id(change->api->store,
                                          json_string_value(json_object_get(change->run, "id")), false, NULL);
        g_autoptr(json_t) whole = run ? read_whole(change->api, run, NULL) : NULL;
        g_autoptr(json_t) reply = whole ? json_incref(whole) : json_incref(change->run);

        http_reply_json(change->request, change->status, reply);
}

/* On the engine's thread, which does not read the store. */
void api_run_changed(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        g_autoptr(Change) change = arg;

        if (error) {
                http_fail(change->request, error);
        } else if (change->status == 204) {
                http_reply(change->request, 204, NULL, NULL, 0);
        } else {
                change->run = format_run(run);
                change->status = repeated ? 200 : change->status;
                if (thread_pool_push(change->api->readers, http_request_caller(change->request)->user,
                                     reply_changed, change, NULL))
                        g_steal_pointer(&change);
                else
                        reply_changed(true, g_steal_pointer(&change));
        }
}

void *api_run_change(Api *api, HttpRequest *request, int status)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ .api = api, .request = http_request_ref(request), .status = status };
        return change;
}

static bool take_text(const json_t *body, const char *key, json_t *ret, GError **error)
{
        const char *text = NULL;

        if (!json_get_string(body, "", key, WORD_MAX, &text, error))
                return false;
        if (text)
                json_object_set_new(ret, key, json_string(text));
        return true;
}

static bool take_breaks(const json_t *body, const char *key, json_t *ret, GError **error)
{
        json_t *list = NULL;

        if (!json_get_array(body, "", key, BREAKS_MAX, &list, error))
                return false;
        if (json_array_size(list) > 0)
                json_object_set(ret, key, list);
        return true;
}

/* The part of the body that the run keeps beside the definition. */
static json_t *take_request(const json_t *body, GError **error)
{
        static const char *const known[] = { "definition", "pipeline",     "version",      "name",
                                             "image",      "disabled",     "description",  "failure_strategy",
                                             "parameters", "package",      "package_name", "requirements",
                                             "queue",      "break_before", "break_after",  NULL };
        static const char *const texts[] = { "name",    "image",        "disabled",     "failure_strategy",
                                             "package", "package_name", "requirements", "queue" };
        const json_t *parameters = json_object_get(body, "parameters");
        g_autoptr(json_t) request = json_object();

        if (!json_only(body, "", known, error))
                return NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                if (!take_text(body, texts[i], request, error))
                        return NULL;
        if (parameters && !json_is_null(parameters) && !json_is_object(parameters)) {
                err_set(error, ERR_INVALID, "parameters must be an object of names and values");
                return NULL;
        }
        if (json_object_size(parameters) > 0)
                json_object_set(request, "parameters", (json_t *)parameters);
        if (!take_breaks(body, "break_before", request, error) ||
            !take_breaks(body, "break_after", request, error))
                return NULL;
        json_object_set_new(request, "fs_default", json_string(FILESYSTEM_HOME)); /* no set-up is needed */
        return g_steal_pointer(&request);
}

/* The stored pipeline that the body names. */
static PipelineVersion *take_version(Api *api, HttpRequest *request, const json_t *body, GError **error)
{
        const char *word = NULL;
        gint64 number = 0;
        g_autoptr(PipelineRecord) pipeline = NULL;

        if (!json_get_string(body, "", "pipeline", WORD_MAX, &word, error) ||
            !json_get_int(body, "", "version", 1, G_MAXINT, &number, error))
                return NULL;
        pipeline = api_find_pipeline(api, request, VERB_SHOW, word, error);
        return pipeline ? store_pipeline_version(api->store, pipeline->seq, (int)number, true, error) : NULL;
}

/* A definition, or the version of a stored pipeline. */
static bool take_source(Api *api, HttpRequest *request, const json_t *body, EngineRun *run,
                        PipelineVersion **ret, GError **error)
{
        const json_t *text = json_object_get(body, "definition"), *stored = json_object_get(body, "pipeline");

        if (json_is_string(stored) && !text) {
                *ret = take_version(api, request, body, error);
                run->version = *ret;
                if (*ret && (*ret)->fs)
                        json_object_set_new((json_t *)run->request, "fs_name", json_string((*ret)->fs));
                run->text = *ret ? (*ret)->text : NULL;
                return *ret && run_package_of_version(api->packages, *ret, (json_t *)run->request, error);
        }
        if (json_object_get(body, "version") && !stored)
                return err_set(error, ERR_INVALID, "version: of which stored pipeline? pipeline is missing");
        if (!json_is_string(text) || stored)
                return err_set(
                        error, ERR_INVALID,
                        "a run needs either definition, the text of a pipeline, or pipeline, the name of a "
                        "stored one");
        run->text = json_string_value(text);
        return true;
}

static bool take_run(HttpRequest *request, const json_t *body, EngineRun *run, json_t **ret, GError **error)
{
        const HttpCaller *caller = http_request_caller(request);

        if (!auth_check_runs(caller, error) || !api_take_key(request, &run->idempotency_key, error) ||
            !json_get_string(body, "", "description", NOTE_MAX, &run->note, error))
                return false;
        *ret = take_request(body, error);
        run->request = *ret;
        run->user = caller->user;
        run->admin = caller->admin;
        return *ret != NULL;
}

static void create_run(HttpRequest *request, void *arg)
{
        Api *api = arg;
        EngineRun run = { 0 };
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = NULL, wanted = NULL;
        g_autoptr(PipelineVersion) version = NULL;

        body = http_request_json(request, &error);
        if (body && take_run(request, body, &run, &wanted, &error) &&
            api_take_package(api, http_request_caller(request), wanted, &error) &&
            take_source(api, request, body, &run, &version, &error))
                engine_create_run(api->engine, &run, api_run_changed, api_run_change(api, request, 201));
        else
                http_fail(request, error);
}

static void stop_run(HttpRequest *request, void *arg)
{
        static const char *const known[] = { "force", NULL };
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = NULL;
        bool force = false;
        gsize len;

        if (!run)
                return;
        (void)http_request_body(request, &len);
        body = len > 0 ? http_request_json(request, &error) : json_object();
        if (body && json_only(body, "", known, &error) && json_get_bool(body, "", "force", &force, &error))
                engine_stop_run(api->engine, run->id, force, http_request_caller(request)->user,
                                api_run_changed, api_run_change(api, request, 200));
        else
                http_fail(request, error);
}

/* What a retry changes. False with an error. */
static bool read_retry(const json_t *body, EngineRetry *ret, GError **error)
{
        static const char *const known[] = { "from", "parameters", "break_before", "break_after", NULL };
        const json_t *parameters = json_object_get(body, "parameters");

        if (!json_only(body, "", known, error) ||
            !json_get_array(body, "", "break_before", BREAKS_MAX, (json_t **)&ret->before, error) ||
            !json_get_array(body, "", "break_after", BREAKS_MAX, (json_t **)&ret->after, error) ||
            !json_get_string(body, "", "from", WORD_MAX, &ret->from, error))
                return false;
        if (parameters && !json_is_null(parameters) && !json_is_object(parameters))
                return err_set(error, ERR_INVALID, "parameters must be an object of names and values");
        ret->parameters = json_is_object(parameters) ? parameters : NULL;
        return true;
}

static void retry_run(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = NULL;
        EngineRetry retry = { .id = run ? run->id : NULL };
        gsize len;

        if (!run)
                return;
        (void)http_request_body(request, &len);
        body = len > 0 ? http_request_json(request, &error) : json_object();
        if (body && run_package_use(api->store, api->packages, run, &error) &&
            api_take_key(request, &retry.idempotency_key, &error) && read_retry(body, &retry, &error))
                engine_retry_run(api->engine, &retry, api_run_changed, api_run_change(api, request, 201));
        else
                http_fail(request, error);
}

static void delete_run(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = NULL;
        bool force = false;

        if (!api_query_boolean(request, "force", false, &force))
                return;
        run = api_run(api, request);
        if (run)
                engine_delete_run(api->engine, run->id, force, http_request_caller(request)->user,
                                  api_run_changed, api_run_change(api, request, 204));
}

/* ---- reading ---- */

/* "paused" is no state of the machine: other steps of such a run may be running. */
static bool run_state_parse(const char *word, guint32 *ret)
{
        NodeState state;

        if (strcmp(word, "paused") == 0)
                *ret = 1u << RUN_QUERY_PAUSED;
        else if (node_state_parse(word, &state) && state >= NODE_RUNNING)
                *ret = 1u << state;
        else
                return false;
        return true;
}

/* `nodes`: of nodes; only these are cancelled, and only runs are paused. */
static bool query_states(HttpRequest *request, bool nodes, guint32 *ret, GError **error)
{
        const char *text = http_request_query(request, "state");
        g_auto(GStrv) words = text ? g_strsplit(text, ",", -1) : NULL;

        for (char **word = words; word && *word; word++) {
                guint32 state;

                if (!run_state_parse(*word, &state) ||
                    state == 1u << (nodes ? RUN_QUERY_PAUSED : (guint)NODE_CANCELLED))
                        return err_set(
                                error, ERR_INVALID,
                                "state: '%.40s' is not a state\nStates are running, %sstopping, succeeded, failed, "
                                "terminated%s, skipped.",
                                *word, nodes ? "" : "paused, ", nodes ? ", cancelled" : "");
                *ret |= state;
        }
        return true;
}

/* Only runs of a stored pipeline: that of the query's user by this name, or by an id, which may be that of a deleted one. */
static bool query_pipeline(Api *api, HttpRequest *request, RunQuery *query, GError **error)
{
        const char *user = query->user ? query->user : http_request_caller(request)->user;
        const char *word = http_request_query(request, "pipeline");
        g_autoptr(GError) why = NULL;
        g_autoptr(PipelineRecord) pipeline =
                word ? store_pipeline_by_name(api->store, user, word, &why) : NULL;

        if (pipeline)
                query->pipeline = pipeline->seq;
        if (!word || pipeline || numbered_id_parse("ppl", word, &query->pipeline))
                return true;
        api_set_absent(error, &why, "stored pipeline", word, user,
                       "`paddle pipeline list` shows the stored pipelines.");
        return false;
}

/* Only runs of a schedule; whoever may see it may see them. */
static bool query_schedule(Api *api, HttpRequest *request, RunQuery *query, GError **error)
{
        const char *word = http_request_query(request, "schedule");
        g_autoptr(ScheduleRecord) schedule =
                word ? api_find_schedule(api, request, VERB_SHOW, word, error) : NULL;

        query->schedule = schedule ? schedule->seq : 0;
        return !word || schedule;
}

static void list_runs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        RunQuery query = { .name = http_request_query(request, "name") };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) runs = NULL;
        g_autoptr(json_t) reply = NULL;
        gint64 limit, next = 0;
        json_t *items;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &query.before_seq))
                return;
        query.limit = (int)limit;
        if (api_query_owner(request, "runs", &query.user, &error) &&
            query_states(request, false, &query.states, &error) &&
            query_pipeline(api, request, &query, &error) && query_schedule(api, request, &query, &error))
                runs = store_runs(api->store, &query, &next, &error);
        if (!runs) {
                http_fail(request, error);
                return;
        }
        items = json_array();
        for (guint i = 0; i < runs->len; i++)
                json_array_append_new(items, format_run(runs->pdata[i]));
        reply = json_pack("{s:o, s:o}", "items", items, "next", api_next_page(next));
        http_reply_json(request, 200, reply);
}

static void show_run(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = run ? read_whole(api, run, &error) : NULL;

        if (reply)
                http_reply_json(request, 200, reply);
        else if (run)
                http_fail(request, error);
}

static void list_nodes(HttpRequest *request, void *arg)
{
        Api *api = arg;
        RunNodeQuery query = { 0 };
        g_autoptr(RunRecord) run = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(RunText) text = NULL;
        g_autoptr(GPtrArray) nodes = NULL;
        g_autoptr(json_t) reply = NULL;
        json_t *items = NULL;
        gint64 limit, next = 0;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT32, 0, &query.after))
                return;
        run = api_run(api, request);
        if (!run)
                return;
        query.run = run->seq;
        query.limit = (int)limit;
        if (query_states(request, true, &query.states, &error))
                text = run_texts_get(api->run_texts, api->store, run, &error);
        if (text)
                nodes = store_run_nodes(api->store, &query, &next, &error);
        if (nodes)
                items = run_nodes_format(api->store, text, nodes, &error);
        if (!items) {
                http_fail(request, error);
                return;
        }
        run_waits_put(api, items);
        reply = json_pack("{s:o, s:o}", "items", items, "next", api_next_page(next));
        http_reply_json(request, 200, reply);
}

static void show_tree(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(RunText) text = run ? run_texts_get(api->run_texts, api->store, run, &error) : NULL;
        bool partial = false;
        gint64 epoch = 0;
        g_autoptr(GHashTable) waits = text ? run_waits_by_component(api, run) : NULL;
        g_autoptr(json_t) reply = text ? format_whole(api, run, text, &epoch, &error) : NULL;
        json_t *items =
                reply ? run_tree_format(api->store, text, run, epoch,
                                        json_object_get(reply, "changed_parameters"), waits, &partial, &error)
                      : NULL;

        if (items) {
                run_waits_put(api, items);
                json_object_set_new(reply, "items", items);
                json_object_set_new(reply, "partial", json_boolean(partial));
                http_reply_json(request, 200, reply);
        } else if (run) {
                http_fail(request, error);
        }
}

static void list_run_events(HttpRequest *request, void *arg)
{
        Api *api = arg;
        EventQuery query = { .subject = SUBJECT_RUN };
        g_autoptr(RunRecord) run = NULL;
        gint64 limit;

        if (!http_request_query_int(request, "since", 0, G_MAXINT64, 0, &query.since) ||
            !http_request_query_int(request, "limit", 1, EVENTS_MAX, 1000, &limit))
                return;
        run = api_run(api, request);
        if (!run)
                return;
        query.seq = run->seq;
        query.limit = (int)limit;
        api_reply_events(api, request, &query);
}

static void stream_run_logs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        RunLogOptions options = { .step = http_request_query(request, "step"),
                                  .cursor = http_request_query(request, "cursor") };
        g_autoptr(RunRecord) run = NULL;
        g_autoptr(RunText) text = NULL;
        g_autoptr(GError) error = NULL;

        if (!api_query_boolean(request, "follow", true, &options.follow) ||
            !api_query_boolean(request, "timestamps", false, &options.times) ||
            !api_query_boolean(request, "raw", false, &options.raw))
                return;
        if (!options.cursor)
                options.cursor = http_request_header(request, "Last-Event-ID");
        run = api_run(api, request);
        if (!run)
                return;
        text = run_texts_get(api->run_texts, api->store, run, &error);
        if (!text || !run_logs_start(api, request, run, text, &options, &error))
                http_fail(request, error);
}

/* ---- routes ---- */

static const HttpParameter list_runs_query[] = {
        { "user", HTTP_STRING, "Whose runs (administrators)." },
        { "all", HTTP_BOOLEAN, "Everyone's runs (administrators)." },
        { "name", HTTP_STRING, "Only runs with this name." },
        { "pipeline", HTTP_STRING, "Only runs of this stored pipeline, by name or id." },
        { "schedule", HTTP_STRING, "Only runs of this schedule, by name or id." },
        { "state", HTTP_STRING,
          "Only these states, separated by commas: running, paused (running, and a step waits at a breakpoint), stopping, "
          "succeeded, failed, terminated, skipped." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

static const HttpParameter delete_run_query[] = {
        { "force", HTTP_BOOLEAN, "Also if another run keeps results of it." },
        { 0 },
};

static const HttpParameter run_events_query[] = {
        { "since", HTTP_INTEGER, "Only events with a larger revision." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 10000." },
        { 0 },
};

static const HttpParameter run_logs_query[] = {
        { "step", HTTP_STRING,
          "Only this component, such as train, dag.train or train-3. A name without number means all items of a loop." },
        { "follow", HTTP_BOOLEAN, "Wait for more until the run ends, true when absent." },
        { "timestamps", HTTP_BOOLEAN, "Say when the lines of each event were written." },
        { "raw", HTTP_BOOLEAN, "Send all states of redrawn lines." },
        { "cursor", HTTP_STRING, "Where an earlier stream ended." },
        { 0 },
};

static const HttpParameter list_nodes_query[] = {
        { "state", HTTP_STRING, "Only these states, separated by commas." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

const HttpRoute run_routes[] = {
        { "POST", "/v1/runs", ACCESS_RUN, VERB_CREATE, create_run,
          "Run a pipeline from its definition, or a stored one. With an Idempotency-Key a repeat answers 200 with "
          "the same run.",
          .body_max = BODY_MAX, .request = "NewRun", .reply = "Run", .reply_status = 201,
          .on_pool = true }, /* aliases make a short text take a second */
        { "GET", "/v1/runs", ACCESS_RUN, VERB_LIST, list_runs, "List runs, newest first.",
          .query = list_runs_query, .reply = "RunList" },
        { "GET", "/v1/runs/{run}", ACCESS_RUN, VERB_SHOW, show_run,
          "Show a run, with the number of its nodes in each state.", .reply = "Run",
          .on_pool = true }, /* all nodes are counted */
        { "GET", "/v1/runs/{run}/nodes", ACCESS_RUN, VERB_SHOW, list_nodes,
          "List the nodes of a run that have begun, in the order in which they did.",
          .query = list_nodes_query, .reply = "RunNodeList", .on_pool = true },
        { "GET", "/v1/runs/{run}/tree", ACCESS_RUN, VERB_SHOW, show_tree,
          "Show a run with its components as a tree. Long loops are shown in part.", .reply = "RunTree",
          .on_pool = true },
        { "POST", "/v1/runs/{run}/stop", ACCESS_RUN, VERB_UPDATE, stop_run,
          "Stop a run: its jobs are cancelled, then post_process runs, unless force is set.",
          .body_max = 1024, .request = "StopRun", .reply = "Run" },
        { "POST", "/v1/runs/{run}/retry", ACCESS_RUN, VERB_UPDATE, retry_run,
          "Retry a run that has ended: a new run keeps what has succeeded, and makes the rest again.",
          .body_max = 1024 * 1024, .request = "RetryRun", .reply = "Run", .reply_status = 201,
          .on_pool = true },
        { "DELETE", "/v1/runs/{run}", ACCESS_RUN, VERB_DELETE, delete_run,
          "Delete a run that has ended, with its jobs. Refused while another run keeps results of it.",
          .query = delete_run_query, .reply_status = 204 },
        { "GET", "/v1/runs/{run}/events", ACCESS_EVENT, VERB_SHOW, list_run_events,
          "List the events of a run.", .query = run_events_query, .reply = "EventList" },
        { "GET", "/v1/runs/{run}/logs", ACCESS_LOG, VERB_SHOW, stream_run_logs,
          "Follow the logs of all steps as server-sent events until the run ends; resumes with cursor or "
          "Last-Event-ID.",
          .query = run_logs_query, .reply = "RunLogEvent", .reply_type = "text/event-stream",
          .on_pool = true },
        { 0 },
};
