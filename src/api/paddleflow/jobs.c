/* Jobs over HTTP (doc/reference/paddleflow-api.md, "Routes of jobs"). */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/number.h"

enum { SCANS_MAX = 64 }; /* pages of the store that one list looks at */

/* ---- create ---- */

typedef struct {
        HttpRequest *request;
        char *id;
} Submit;

/* Every failure but that of JSON has one code; the finer one is in the message
 * (doc/reference/paddleflow-api.md, "Fields of a job"). */
static void fail_create(HttpRequest *request, GError *error)
{
        g_autofree char *text = paddleflow_message(error);
        Code code = code_of(error, NULL);
        GError *outer = NULL;

        if (code == CODE_MalformedJSON || code == CODE_InternalError) {
                paddleflow_fail(request, error, NULL);
                return;
        }
        paddleflow_set(&outer, CODE_JobCreateFailed, "%s: %s", code_word(code), text);
        g_error_free(error);
        paddleflow_fail(request, outer, NULL);
}

static void submit_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Submit *submit = arg;

        if (error)
                fail_create(submit->request, g_error_copy(error));
        else {
                http_request_set_subject(submit->request, submit->id);
                paddleflow_reply(submit->request, json_pack("{s:s}", "id", submit->id));
        }
        http_request_unref(submit->request);
        g_free(submit->id);
        g_free(submit);
}

static void submit(const Call *call, const Asked *asked)
{
        char id[ID_LEN + 1];
        EngineSubmission submission = { .user = call->user,
                                        .admin = call->root,
                                        .specs = &asked->spec,
                                        .n_specs = 1,
                                        .id = id,
                                        .refusal = asked->refusal };
        Submit *waiting = g_new0(Submit, 1);

        job_engine_id(asked->id, id);
        *waiting = (Submit){ http_request_ref(call->request), g_strdup(asked->id) };
        engine_submit(call->flow->engine, &submission, submit_done, waiting);
}

static void create(HttpRequest *request, void *arg, JobRoute route, const GoField *fields)
{
        g_auto(Call) call;
        g_auto(Asked) asked = { 0 };
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, fields, &error);
        if (body && job_request_read(&call, route, body, &asked, &error))
                submit(&call, &asked);
        else
                fail_create(request, error);
}

static void create_single(HttpRequest *request, void *arg)
{
        create(request, arg, ROUTE_SINGLE, single_body);
}

static void create_distributed(HttpRequest *request, void *arg)
{
        create(request, arg, ROUTE_DISTRIBUTED, distributed_body);
}

static void create_workflow(HttpRequest *request, void *arg)
{
        create(request, arg, ROUTE_WORKFLOW, workflow_body);
}

/* ---- list ---- */

typedef struct {
        JobQuery query;
        char **labels;
        const char *word; /* "": any */
} Filter;

static void filter_clear(Filter *filter)
{
        g_strfreev(filter->labels);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filter, filter_clear)

static bool take_labels(const Call *call, Filter *filter, GError **error)
{
        const char *text = call_query(call, "labels");
        g_autoptr(json_t) map = *text ? go_parse(text, strlen(text), NULL) : NULL;
        g_autoptr(GError) why = NULL;

        if (*text && !json_is_object(map))
                return paddleflow_set(error, CODE_InvalidURI, "labels: '%.80s' is not a JSON object", text);
        if (!labels_parse("labels", map, &filter->labels, &why))
                return paddleflow_set(error, CODE_InvalidURI, "%s", why->message);
        filter->query.labels = (const char *const *)filter->labels;
        return true;
}

static bool take_times(const Call *call, JobQuery *query, GError **error)
{
        const char *start = call_query(call, "startTime");
        gint64 seconds;

        if (!call_query_int(call, "timestamp", 0, G_MAXINT64 / 1000, 0, &seconds, error))
                return false;
        query->updated_since = seconds * 1000;
        return !*start || time_take(start, &query->started_since) ||
               paddleflow_set(error, CODE_InvalidURI,
                              "startTime: '%.40s' is not of the form YYYY-MM-DD hh:mm:ss", start);
}

static bool take_filter(const Call *call, Filter *filter, GError **error)
{
        const char *queue = call_query(call, "queue");

        filter->word = call_query(call, "status");
        filter->query.states = job_word_states(filter->word);
        filter->query.user = call->root ? NULL : call->user;
        filter->query.queue = *queue ? queue : NULL;
        return take_times(call, &filter->query, error) && take_labels(call, filter, error) &&
               (!*queue || catalog_queue(call->catalog, queue) ||
                paddleflow_set(error, CODE_QueueNameNotFound, "there is no queue '%.255s'", queue));
}

/* Up to `max` jobs; *ret_next is the seq to go on before, 0 at the end. A state of the store may stand for
 * several words, so that a page of it can lose some. */
static json_t *collect(const Call *call, Filter *filter, gint64 max, gint64 *ret_next, GError **error)
{
        g_autoptr(json_t) items = json_array();
        gint64 last = 0;
        int scans = 0;

        *ret_next = 0;
        if (*filter->word && !filter->query.states)
                return g_steal_pointer(&items);
        do {
                g_autoptr(GPtrArray) jobs = NULL;
                gint64 next = 0;

                filter->query.limit = (int)MIN(max - (gint64)json_array_size(items) + 1, PADDLEFLOW_KEYS_MAX);
                jobs = store_jobs(call->flow->store, &filter->query, &next, error);
                if (!jobs)
                        return NULL;
                for (guint i = 0; i < jobs->len; i++) {
                        const Job *job = jobs->pdata[i];

                        if (*filter->word && strcmp(job_word(job), filter->word) != 0)
                                continue;
                        if ((gint64)json_array_size(items) == max) {
                                *ret_next = last;
                                return g_steal_pointer(&items);
                        }
                        json_array_append_new(items, job_show(call->flow, call->catalog, job, false));
                        last = job->seq;
                }
                filter->query.before_seq = next;
        } while (filter->query.before_seq && ++scans < SCANS_MAX);
        *ret_next = filter->query.before_seq; /* there may be more, far away */
        return g_steal_pointer(&items);
}

static void list_jobs(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Filter) filter = { 0 };
        json_t *items = NULL;
        gint64 next = 0;
        GError *error = NULL;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        if (page_take(&call, "jobList", &page, &error) && take_filter(&call, &filter, &error)) {
                filter.query.before_seq = page.after;
                items = collect(&call, &filter, page.max, &next, &error);
        }
        if (items)
                call_reply(&call, page_format(&call, "jobList", &page, next, "jobList", items));
        else
                call_fail(&call, error);
}

/* ---- show ---- */

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(Job) job = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        job = call_job(&call, call_param(&call, "jobID"), CODE_ActionNotAllowed, &error);
        if (job)
                call_reply(&call, job_show(call.flow, call.catalog, job, true));
        else
                call_fail(&call, error);
}

/* ---- stop, modify, delete ---- */

static void act_done(Job *job, bool repeated, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                paddleflow_fail(request, g_error_copy(error), NULL);
        else
                paddleflow_reply_empty(request);
        http_request_unref(request);
}

static void act(const Call *call, const Job *job, JobAction action)
{
        engine_act(call->flow->engine, job->id, action, call->user, call->root, act_done,
                   http_request_ref(call->request));
}

static void stop(const Call *call, const Job *job)
{
        GError *error = NULL;

        if (!job_state_is_final(job->state)) {
                act(call, job, ACT_CANCEL);
                return;
        }
        paddleflow_set(&error, CODE_ActionNotAllowed, "the job has already ended: it is %s", job_word(job));
        call_fail(call, error);
}

typedef struct {
        int priority;
        char **labels, **annotations;
} Wanted;

static void wanted_clear(Wanted *wanted)
{
        g_strfreev(wanted->labels);
        g_strfreev(wanted->annotations);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wanted, wanted_clear)

/* The present map, with the given values replaced or added. */
static bool merge_map(const char *name, char *const *now, const json_t *said, char ***ret, GError **error)
{
        g_autoptr(json_t) map = labels_format(now);
        g_autoptr(GError) why = NULL;

        if (!said)
                return true;
        json_object_update(map, (json_t *)said);
        if (!labels_parse(name, map, ret, &why))
                return paddleflow_set(error, CODE_InvalidArguments, "%s", why->message);
        if (!*ret)
                *ret = g_new0(char *, 1);
        return true;
}

/* All five words; in any case of letters. */
static bool take_priority(const json_t *body, int *ret, GError **error)
{
        static const char *const words[] = { "VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH" };
        const char *word = go_text(body, "priority");

        for (int i = 0; i < (int)G_N_ELEMENTS(words); i++) {
                if (*word && g_ascii_strcasecmp(words[i], word) != 0)
                        continue;
                *ret = (i - 2) * 100;
                return true;
        }
        return paddleflow_set(error, CODE_InvalidArguments,
                              "priority '%.40s' is not one of VERY_LOW, LOW, NORMAL, HIGH, VERY_HIGH", word);
}

static void modify(const Call *call, const Job *job, const json_t *body)
{
        g_auto(Wanted) wanted = { 0 };
        JobChange change = { .by = call->user, .admin = call->root };
        GError *error = NULL;

        if (!take_priority(body, &wanted.priority, &error) ||
            !merge_map("labels", job_labels(job), json_object_get(body, "labels"), &wanted.labels, &error) ||
            !merge_map("annotations", job_annotations(job), json_object_get(body, "annotations"),
                       &wanted.annotations, &error)) {
                call_fail(call, error);
                return;
        }
        change.labels = wanted.labels;
        change.annotations = wanted.annotations;
        if (*go_text(body, "priority"))
                change.priority = &wanted.priority;
        if (change.labels || change.annotations || change.priority)
                engine_change_job(call->flow->engine, job->id, &change, act_done,
                                  http_request_ref(call->request));
        else
                paddleflow_reply_empty(call->request);
}

/* The checks of a change that do not need the job. */
static bool check_modify(const json_t *body, GError **error)
{
        g_auto(Wanted) wanted = { 0 };

        return take_priority(body, &wanted.priority, error) &&
               merge_map("labels", NULL, json_object_get(body, "labels"), &wanted.labels, error) &&
               merge_map("annotations", NULL, json_object_get(body, "annotations"), &wanted.annotations,
                         error);
}

static void change_job(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        g_autoptr(Job) job = NULL;
        const char *action;
        GError *error = NULL;
        bool modifies;

        if (!call_begin(&call, request, arg))
                return;
        action = call_query(&call, "action");
        modifies = strcmp(action, "modify") == 0;
        if (modifies && (!(body = call_body(&call, modify_body, &error)) || !check_modify(body, &error)))
                ;
        else if (!modifies && strcmp(action, "stop") != 0)
                paddleflow_set(&error, CODE_ActionNotAllowed, "action '%.40s' is neither stop nor modify",
                               action);
        else
                job = call_job(&call, call_param(&call, "jobID"), CODE_ActionNotAllowed, &error);
        if (!job)
                call_fail(&call, error);
        else if (modifies)
                modify(&call, job, body);
        else
                stop(&call, job);
}

static void drop_job(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(Job) job = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        job = call_job(&call, call_param(&call, "jobID"), CODE_ActionNotAllowed, &error);
        if (job)
                act(&call, job, ACT_DELETE);
        else
                call_fail(&call, error);
}

static const HttpParameter list_jobs_query[] = {
        { "status", HTTP_STRING, "Only those of this state." },
        { "timestamp", HTTP_INTEGER, "Changed since, in unix seconds." },
        { "startTime", HTTP_STRING, "Begun since, YYYY-MM-DD hh:mm:ss." },
        { "queue", HTTP_STRING, "Only of this queue." },
        { "labels", HTTP_STRING, "Only those with all labels of this JSON object." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

static const HttpParameter change_job_query[] = {
        { "action", HTTP_STRING, "stop or modify." },
        { 0 },
};

const HttpRoute job_rows[] = {
        { "POST", PADDLEFLOW_BASE "/job/single", ACCESS_JOB, VERB_CREATE, create_single,
          "Submit a job of one process.", .request = "SingleJob", .reply = "JobMade" },
        { "POST", PADDLEFLOW_BASE "/job/distributed", ACCESS_JOB, VERB_CREATE, create_distributed,
          "Submit a job of several members.", .request = "DistributedJob", .reply = "JobMade" },
        { "POST", PADDLEFLOW_BASE "/job/workflow", ACCESS_JOB, VERB_CREATE, create_workflow,
          "Submit a workflow.", .request = "WorkflowJob", .reply = "JobMade" },
        { "GET", PADDLEFLOW_BASE "/job", ACCESS_JOB, VERB_LIST, list_jobs, "List jobs, newest first.",
          .query = list_jobs_query, .reply = "JobList" },
        { "GET", PADDLEFLOW_BASE "/job/{jobID}", ACCESS_JOB, VERB_SHOW, show_one, "Show a job.",
          .reply = "Job" },
        { "PUT", PADDLEFLOW_BASE "/job/{jobID}", ACCESS_JOB, VERB_UPDATE, change_job,
          "Stop a job, or modify it.", .query = change_job_query, .request = "JobChange" },
        { "DELETE", PADDLEFLOW_BASE "/job/{jobID}", ACCESS_JOB, VERB_DELETE, drop_job,
          "Drop a job that has ended." },
        { 0 },
};
