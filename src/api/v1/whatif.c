/* What if a queue were changed? Two copies of the scheduler, one with the queue as it would be, are each
 * given a pass; the jobs that fare differently in them are the answer. Where a job waits in both, it is
 * played forward, as long as time allows: a forecast costs a copy of its own. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

enum {
        CHANGES_MAX = 200,  /* jobs that are reported */
        CHECK_MAX = 100000, /* jobs that are looked at */
        PAGE = 1000,
        FORECAST_STEPS = 20000,
        FORECAST_MS = 2000, /* for all forecasts together */
};

typedef struct {
        Api *api;
        HttpRequest *request;
        Queue *queue; /* as it would be */
} WhatIf;

/* How a job fares in one of the copies. */
typedef struct {
        const char *state;
        Cause cause;
        int placed;   /* tasks */
        gint64 start; /* 0: not known */
} Fate;

typedef struct {
        WhatIf *what_if;
        Scheduler *now, *then;
        gint64 at, deadline; /* deadline: monotonic */
        json_t *changes;
        gint64 checked;
} Comparison;

static int placed_tasks(const SchedJob *job)
{
        int n = 0, placed = 0;

        for (int r = 0; r < job->n_roles; r++)
                n += job->roles[r].replicas;
        for (int i = 0; job->tasks && i < n; i++)
                placed += job->tasks[i].node >= 0;
        return placed;
}

static Fate fate_of(const Scheduler *scheduler, gint64 key)
{
        static const char *const states[] = {
                [SCHED_PENDING] = "queued", [SCHED_RUNNING] = "running", [SCHED_ENDING] = "stopping"
        };
        SchedJob job;

        if (!scheduler_job(scheduler, key, &job))
                return (Fate){ .state = "unknown" };
        return (Fate){ .state = states[job.state],
                       .cause = scheduler_cause(scheduler, key),
                       .placed = placed_tasks(&job) };
}

/* The words for a difference say what happened: "starts", "evicted", "shrunk". */
static void say_change(const Fate *now, Fate *then)
{
        bool ran = strcmp(now->state, "running") == 0;

        if (!ran && strcmp(then->state, "running") == 0)
                then->state = "starts";
        else if (ran && strcmp(then->state, "stopping") == 0)
                then->state = "evicted";
        else if (ran && then->placed < now->placed)
                then->state = "shrunk";
}

static gint64 forecast(const Comparison *comparison, const Scheduler *scheduler, gint64 key)
{
        g_autoptr(Scheduler) copy = scheduler_clone(scheduler);

        return scheduler_forecast(copy, key, comparison->at, FORECAST_STEPS);
}

static json_t *fate_format(const Fate *fate, bool waits)
{
        json_t *object = json_pack("{s:s}", "state", fate->state);
        g_autofree char *start = fate->start ? clock_format(fate->start) : NULL;

        if (waits && fate->cause != CAUSE_NONE)
                json_object_set_new(object, "cause", json_string(cause_name(fate->cause)));
        if (start)
                json_object_set_new(object, "expected_start", json_string(start));
        return object;
}

static void compare_job(Comparison *comparison, const Job *job)
{
        Fate now = fate_of(comparison->now, job->seq), then = fate_of(comparison->then, job->seq);
        bool waited = strcmp(now.state, "queued") == 0, waits = strcmp(then.state, "queued") == 0;

        if ((waited || waits) && clock_monotonic_ms() < comparison->deadline) {
                now.start = waited ? forecast(comparison, comparison->now, job->seq) : 0;
                then.start = waits ? forecast(comparison, comparison->then, job->seq) : 0;
        }
        comparison->checked++;
        if (strcmp(now.state, then.state) == 0 && now.cause == then.cause && now.placed == then.placed &&
            now.start == then.start)
                return;
        say_change(&now, &then);
        json_array_append_new(comparison->changes,
                              json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "job", job->id, "name", job->name,
                                        "user", job->user, "queue", job->queue, "now",
                                        fate_format(&now, waited), "then", fate_format(&then, waits)));
}

/* All jobs that hold or want something, newest first. */
static bool compare_jobs(Comparison *comparison, GError **error)
{
        JobQuery query = { .states = 1u << JOB_QUEUED | 1u << JOB_ADMITTED | 1u << JOB_STARTING |
                                     1u << JOB_RUNNING,
                           .limit = PAGE };
        gint64 next = 0;

        do {
                g_autoptr(GPtrArray) page = store_jobs(comparison->what_if->api->store, &query, &next, error);

                if (!page)
                        return false;
                for (guint i = 0; i < page->len; i++) {
                        if (json_array_size(comparison->changes) >= CHANGES_MAX ||
                            comparison->checked >= CHECK_MAX)
                                return true;
                        compare_job(comparison, page->pdata[i]);
                }
                query.before_seq = next;
        } while (next);
        return true;
}

static void pass(Scheduler *scheduler, gint64 at)
{
        Decisions ignored;

        decisions_init(&ignored);
        scheduler_pass(scheduler, at, &ignored);
        decisions_clear(&ignored);
}

/* The queue as it would be, put into a copy. It may have been dropped since it was looked at. */
static bool put_queue(WhatIf *what_if, Scheduler *scheduler, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(what_if->api->engine);
        const char *name = what_if->queue->object.name;
        SchedQueue queue;

        if (!catalog_queue(catalog, name))
                return err_set(error, ERR_NOT_FOUND, "there is no queue '%s' any more", name);
        return (engine_fill_queue(what_if->api->engine, what_if->queue, &queue) &&
                scheduler_put_queue(scheduler, &queue)) ||
               err_set(error, ERR_CONFLICT, "the scheduler cannot take queue '%s' as it would be", name);
}

static json_t *compare(WhatIf *what_if, GError **error)
{
        Comparison comparison = { .what_if = what_if, .deadline = clock_monotonic_ms() + FORECAST_MS };
        g_autoptr(Scheduler) now = api_clone(what_if->api, &comparison.at, error);
        g_autoptr(Scheduler) then = now ? scheduler_clone(now) : NULL;
        g_autoptr(json_t) changes = json_array();

        if (!now || !put_queue(what_if, then, error))
                return NULL;
        pass(now, comparison.at);
        pass(then, comparison.at);
        comparison.now = now;
        comparison.then = then;
        comparison.changes = changes;
        if (!compare_jobs(&comparison, error))
                return NULL;
        return json_pack("{s:O, s:I}", "changes", changes, "checked", (json_int_t)comparison.checked);
}

static void what_if_free(WhatIf *what_if)
{
        object_unref(&what_if->queue->object);
        http_request_unref(what_if->request);
        g_free(what_if);
}

static void run_what_if(bool stopped, void *arg)
{
        WhatIf *what_if = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;

        if (stopped)
                err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        else
                reply = compare(what_if, &error);
        if (reply)
                http_reply_json(what_if->request, 200, reply);
        else
                http_fail(what_if->request, error);
        what_if_free(what_if);
}

/* ---- would it be accepted? ---- */

static gint64 open_jobs(const char *queue, void *arg)
{
        return engine_queue_open(((Api *)arg)->engine, queue);
}

static Resources used(const char *queue, void *arg)
{
        QueueFigures figures = { .id = -1 };

        (void)api_find_figures(arg, queue, &figures); /* else nothing is used */
        return figures.used;
}

static bool room(const char *cluster, Resources *ret, void *arg)
{
        Api *api = arg;
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Cluster *known = catalog_cluster(catalog, cluster);

        return known && engine_cluster(api->engine, known, ret, NULL);
}

void api_what_if(Api *api, HttpRequest *request, const Queue *was, Queue *queue)
{
        CatalogFacts facts = { .open_jobs = open_jobs, .used = used, .room = room, .arg = api };
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        g_autoptr(GError) error = NULL;
        WhatIf *what_if = g_new0(WhatIf, 1);

        *what_if = (WhatIf){ api, http_request_ref(request), queue };
        if (catalog_check_put(catalog, &was->object, &queue->object, &facts, &error) &&
            thread_pool_push(api->threads, http_request_caller(request)->user, run_what_if, what_if, &error))
                return;
        http_fail(request, error);
        what_if_free(what_if);
}
