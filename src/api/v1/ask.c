/* Questions to the scheduler: why does this job wait, what would become of that one. Each is answered on a
 * copy of it, by the thread pool; nothing here changes anything. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/err.h"

enum { FORECAST_STEPS = 20000 };
#define DRY_RUN_KEY (G_MAXINT64 / 2) /* after all jobs there are */

/* ---- what the engine says ---- */

/* An answer of the engine's thread, waited for by one of the thread pool. */
typedef struct {
        GMutex lock;
        GCond arrived;
        bool done;
        Scheduler *clone;
        gint64 now;
        PreparationState environment; /* of a submission that is checked */
        GError *error;
} Handover;

static void handover_init(Handover *handover)
{
        *handover = (Handover){ .clone = NULL };
        g_mutex_init(&handover->lock);
        g_cond_init(&handover->arrived);
}

static void hand_over(Handover *handover, Scheduler *clone, gint64 now, const GError *error)
{
        g_mutex_lock(&handover->lock);
        handover->clone = clone;
        handover->now = now;
        handover->error = error ? g_error_copy(error) : NULL;
        handover->done = true;
        g_cond_signal(&handover->arrived);
        g_mutex_unlock(&handover->lock);
}

static void handover_wait(Handover *handover)
{
        g_mutex_lock(&handover->lock);
        while (!handover->done)
                g_cond_wait(&handover->arrived, &handover->lock);
        g_mutex_unlock(&handover->lock);
        g_cond_clear(&handover->arrived);
        g_mutex_clear(&handover->lock);
}

static void cloned(Scheduler *clone, gint64 now, void *arg)
{
        hand_over(arg, clone, now, NULL);
}

Scheduler *api_clone(Api *api, gint64 *ret_now, GError **error)
{
        Handover handover;

        handover_init(&handover);
        engine_clone_scheduler(api->engine, cloned, &handover);
        handover_wait(&handover);
        if (!handover.clone)
                err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        *ret_now = handover.now;
        return handover.clone;
}

static void checked(Job *job, bool repeated G_GNUC_UNUSED, const GError *error, void *arg)
{
        if (job)
                ((Handover *)arg)->environment = job_environment(job);
        hand_over(arg, NULL, 0, error);
}

bool api_flush_journal(Api *api, GError **error)
{
        Handover handover;

        handover_init(&handover);
        engine_flush_journal(api->engine, checked, &handover);
        handover_wait(&handover);
        if (!handover.error)
                return true;
        g_propagate_error(error, handover.error);
        return false;
}

/* Would the engine take it? By the very checks of a submission. */
static bool would_take(Api *api, const HttpCaller *caller, Spec *spec, PreparationState *ret_environment,
                       GError **error)
{
        Handover handover;

        handover_init(&handover);
        engine_submit(api->engine,
                      &(EngineSubmission){ .user = caller->user,
                                           .admin = caller->admin,
                                           .specs = &spec,
                                           .n_specs = 1,
                                           .only_check = true },
                      checked, &handover);
        handover_wait(&handover);
        *ret_environment = handover.environment;
        if (!handover.error)
                return true;
        g_propagate_error(error, handover.error);
        return false;
}

/* ---- explain ---- */

typedef struct {
        Api *api;
        HttpRequest *request;
        Job *job;   /* explain */
        Spec *spec; /* dry run */
} Question;

static void question_free(Question *question)
{
        if (question->job)
                job_unref(question->job);
        spec_unref(question->spec);
        http_request_unref(question->request);
        g_free(question);
}

/* True if only the engine knows the full reason: the job is held, waits for a time, or has no node. */
static bool is_the_engines(const Reason *reason)
{
        return reason->cause == CAUSE_HELD || reason->cause == CAUSE_NOT_BEFORE ||
               reason->cause == CAUSE_NO_NODES || (reason->cause == CAUSE_TOO_LARGE && reason->queue < 0);
}

/* To whom jobs of others are not named; NULL: all are. */
static const char *reader(const HttpCaller *caller)
{
        return caller->admin ? NULL : caller->user;
}

/* The reasons from the scheduler, or from the engine. */
static json_t *reasons_of(Api *api, const HttpCaller *caller, const Job *job, const Scheduler *clone,
                          gint64 now, gint64 key, int *ret_position)
{
        Reason found[REASONS_MAX];
        bool placed = job && job->state != JOB_QUEUED && job->state != JOB_SUSPENDED;
        int n = placed ? 0 : scheduler_explain(clone, key, now, found);
        json_t *reasons, *build;

        if (job && (n == 0 || is_the_engines(&found[0])))
                return engine_reasons(api->engine, job);
        reasons = json_array();
        build = job ? engine_build_reason(api->engine, job) : NULL;
        if (build)
                json_array_append_new(reasons, build);
        for (int i = 0; i < n; i++) {
                json_array_append_new(reasons,
                                      engine_reason_format(api->engine, &found[i], now, reader(caller)));
                if (found[i].cause == CAUSE_BEHIND)
                        *ret_position = found[i].position;
        }
        return reasons;
}

static json_t *explain(Api *api, const HttpCaller *caller, const Job *job, Scheduler *clone, gint64 now)
{
        int position = 0;
        json_t *reasons = reasons_of(api, caller, job, clone, now, job->seq, &position);
        const json_t *cause = json_object_get(json_array_get(reasons, 0), "cause");
        bool waits =
                json_array_size(reasons) > 0 && (job->state == JOB_QUEUED || job->state == JOB_SUSPENDED);
        gint64 start = waits ? scheduler_forecast(clone, job->seq, now, FORECAST_STEPS) : 0;

        return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "job", job->id, "name", job->name, "state",
                         job_state_name(job->state), "cause", cause ? json_string_value(cause) : "none",
                         "reasons", reasons, "position", waits ? json_integer(position) : json_null(),
                         "expected_start", json_time(start));
}

static void run_explain(bool stopped, void *arg)
{
        Question *question = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(Scheduler) clone = NULL;
        gint64 now;

        if (stopped)
                err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        else
                clone = api_clone(question->api, &now, &error);
        if (clone) {
                g_autoptr(json_t) reply = explain(question->api, http_request_caller(question->request),
                                                  question->job, clone, now);

                http_reply_json(question->request, 200, reply);
        } else {
                http_fail(question->request, error);
        }
        question_free(question);
}

/* Hands the question to the thread pool. */
static void ask(Question *question, ThreadPoolFunc func)
{
        g_autoptr(GError) error = NULL;

        if (thread_pool_push(question->api->threads, http_request_caller(question->request)->user, func,
                             question, &error))
                return;
        http_fail(question->request, error);
        question_free(question);
}

/* Of an array its first job that waits. */
static Job *asked_job(Api *api, HttpRequest *request)
{
        gint64 array;
        Job *job = api_job_or_array(api, request, &array);
        Job *waiting = job && array ? api_array_waiting(api, array) : NULL;

        if (waiting)
                job_unref(job);
        return waiting ? waiting : job;
}

static void explain_job(HttpRequest *request, void *arg)
{
        Api *api = arg;
        Job *job = asked_job(api, request);
        Question *question;

        if (!job)
                return;
        question = g_new0(Question, 1);
        *question = (Question){ .api = api, .request = http_request_ref(request), .job = job };
        ask(question, run_explain);
}

/* ---- dry run ---- */

static json_t *gpus_format(guint64 devices)
{
        json_t *indices = json_array();

        for (int i = 0; i < SCHED_DEVICES_MAX; i++)
                if (devices & 1ull << i)
                        json_array_append_new(indices, json_integer(i));
        return indices;
}

/* Tasks are in role order. */
static json_t *placement_format(Api *api, const Spec *spec, const Decision *decision, const Decisions *all)
{
        json_t *placement = json_array();
        int at = 0;

        for (int r = 0; r < spec->n_roles; r++) {
                for (int i = 0; i < spec->roles[r].replicas && at < decision->n_tasks; i++, at++) {
                        const SchedTask *task =
                                &g_array_index(all->tasks, SchedTask, decision->first_task + at);

                        if (task->node >= 0)
                                json_array_append_new(placement,
                                                      json_pack("{s:s, s:i, s:s, s:o}", "role",
                                                                spec->roles[r].name, "index", i, "node",
                                                                api_node_name(api, task->node), "gpus",
                                                                gpus_format(task->devices)));
                }
        }
        return placement;
}

/* Of others' jobs it is told that there are some, as everywhere else. */
static json_t *victim_format(const HttpCaller *caller, const Job *job, bool shrinks)
{
        bool told = caller->admin || strcmp(caller->user, job->user) == 0;

        return json_pack("{s:s?, s:s?, s:s?, s:b}", "job", told ? job->id : NULL, "name",
                         told ? job->name : NULL, "user", told ? job->user : NULL, "shrinks", shrinks);
}

/* The jobs that would be evicted. */
static json_t *evicts_format(Api *api, const HttpCaller *caller, const Decisions *all, gint64 key)
{
        json_t *evicts = json_array();

        for (guint i = 0; i < all->decisions->len; i++) {
                const Decision *decision = &g_array_index(all->decisions, Decision, i);
                g_autoptr(Job) job = decision->for_key == key ? api_job_by_seq(api, decision->key) : NULL;

                if (job)
                        json_array_append_new(evicts,
                                              victim_format(caller, job, decision->kind == DECIDE_SHRINK));
        }
        return evicts;
}

static const Decision *find_start(const Decisions *all, gint64 key)
{
        for (guint i = 0; i < all->decisions->len; i++) {
                const Decision *decision = &g_array_index(all->decisions, Decision, i);

                if (decision->key == key && decision->kind == DECIDE_START)
                        return decision;
        }
        return NULL;
}

static json_t *refused(const GError *error)
{
        return json_pack("{s:b, s:s, s:n, s:[], s:[], s:[], s:o}", "admitted", 0, "state", "refused", "start",
                         "placement", "evicts", "reasons", "error", json_from_error(error, NULL));
}

/* A job that could never start is not taken. For nodes that its cluster may get back it waits: the engine
 * was asked. */
static bool could_start(Api *api, const HttpCaller *caller, const Scheduler *clone, gint64 key, gint64 now,
                        GError **error)
{
        Reason found[REASONS_MAX];
        g_autoptr(json_t) reason = NULL;

        if (scheduler_explain(clone, key, now, found) == 0 || found[0].cause != CAUSE_TOO_LARGE ||
            found[0].queue < 0)
                return true;
        reason = engine_reason_format(api->engine, &found[0], now, reader(caller));
        return err_set(error, ERR_INVALID, "the job %s\nAsk for less, or name another queue.",
                       json_string_value(json_object_get(reason, "message")));
}

static json_t *waits(Api *api, const HttpCaller *caller, const Decisions *all, gint64 key, Scheduler *clone,
                     gint64 now)
{
        int position = 0;
        json_t *reasons = reasons_of(api, caller, NULL, clone, now, key, &position);
        json_t *evicts = evicts_format(api, caller, all, key);
        gint64 start = scheduler_forecast(clone, key, now, FORECAST_STEPS);

        return json_pack("{s:b, s:s, s:o, s:[], s:o, s:o}", "admitted", 0, "state", "would wait", "start",
                         json_time(start), "placement", "evicts", evicts, "reasons", reasons);
}

static json_t *starts(Api *api, const HttpCaller *caller, const Spec *spec, const Decision *start,
                      const Decisions *all, gint64 now)
{
        return json_pack("{s:b, s:s, s:o, s:o, s:o, s:[]}", "admitted", 1, "state", "would start", "start",
                         json_time(now), "placement", placement_format(api, spec, start, all), "evicts",
                         evicts_format(api, caller, all, start->key), "reasons");
}

/* What a pass with the job in it would do. */
static json_t *play(Api *api, const HttpCaller *caller, const Spec *spec, const SchedJob *job,
                    Scheduler *clone, gint64 now)
{
        g_autoptr(GError) never = NULL;
        const Decision *start;
        Decisions all;
        json_t *reply;

        decisions_init(&all);
        scheduler_pass(clone, now, &all);
        start = find_start(&all, job->key);
        if (start)
                reply = starts(api, caller, spec, start, &all, now);
        else if (could_start(api, caller, clone, job->key, now, &never))
                reply = waits(api, caller, &all, job->key, clone, now);
        else
                reply = refused(never);
        decisions_clear(&all);
        return reply;
}

/* What it asks for, with what members get that declare nothing, in the order of its roles. */
static json_t *asks_format(const Spec *spec, const SchedJob *job)
{
        json_t *asks = json_array();

        for (int r = 0; r < job->n_roles; r++)
                json_array_append_new(asks, json_pack("{s:s, s:i, s:o}", "role", spec->roles[r].name,
                                                      "replicas", job->roles[r].replicas, "each",
                                                      resources_format(&job->roles[r].each)));
        return asks;
}

/* How many jobs it makes, and how many of them may run at once (null: all). */
static void put_jobs(json_t *reply, const Spec *spec)
{
        g_autoptr(GArray) indices = NULL;
        int max = 0;

        if (spec->array)
                (void)spec_array(spec->array, &indices, &max,
                                 NULL); /* it was parsed with the specification */
        json_object_set_new(reply, "jobs", json_integer(indices ? indices->len : 1));
        json_object_set_new(reply, "parallel", max > 0 ? json_integer(max) : json_null());
}

static json_t *dry_run(Api *api, const HttpCaller *caller, Spec *spec, GError **error)
{
        g_autoptr(GError) why = NULL;
        g_autoptr(Scheduler) clone = NULL;
        SchedJob job = { 0 };
        SchedJobFill *fill = NULL;
        PreparationState environment = PREPARATION_NONE;
        json_t *reply;
        gint64 now;

        clone = api_clone(api, &now, error);
        if (!clone)
                return NULL;
        if (would_take(api, caller, spec, &environment, &why))
                fill = engine_fill_job(api->engine, caller->user, spec, DRY_RUN_KEY, now, &job, &why);
        if (fill && !scheduler_put_job(clone, &job))
                err_set(&why, ERR_UNAVAILABLE,
                        "the job's queue is not known to the scheduler yet\n"
                        "Try again in a moment.");
        reply = why ? refused(why) : play(api, caller, spec, &job, clone, now);
        json_object_set_new(reply, "asks", asks_format(spec, &job));
        put_jobs(reply, spec);
        engine_fill_free(fill);
        json_object_set_new(reply, "queue", json_string(spec->queue ? spec->queue : QUEUE_DEFAULT));
        json_object_set_new(reply, "environment", json_string(preparation_state_name(environment)));
        return reply;
}

static void run_dry_run(bool stopped, void *arg)
{
        Question *question = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;

        if (stopped)
                err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        else
                reply = dry_run(question->api, http_request_caller(question->request), question->spec,
                                &error);
        if (reply)
                http_reply_json(question->request, 200, reply);
        else
                http_fail(question->request, error);
        question_free(question);
}

void api_dry_run(Api *api, HttpRequest *request, Spec *spec)
{
        Question *question = g_new0(Question, 1);

        *question = (Question){ .api = api, .request = http_request_ref(request), .spec = spec };
        ask(question, run_dry_run);
}

const HttpRoute ask_routes[] = {
        { "GET", "/v1/jobs/{job}/explain", ACCESS_JOB, VERB_SHOW, explain_job,
          "Why a job waits, computed now, and when it is expected to start.", .query = whose_job,
          .reply = "Explanation" },
        { 0 },
};
