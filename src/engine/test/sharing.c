/* Many users and one machine of 4 cores: queues, limits, evictions, elastic jobs, arrays, dependencies, holds
 * and changes, played from the engine's doors. What the scheduler chooses is tested in sched/; here it is
 * what the engine makes of it. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"
#include "model/catalog.h"

#define JOB(name, cpu, more)                                                                                 \
        "{'name':'" name "','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'" cpu "'}]" more "}"
#define ONE(name) JOB(name, "1", "")
#define WHOLE(name) JOB(name, "4", "")
#define ELASTIC(name, more)                                                                                  \
        "{'name':'" name "','command':['t'],'framework':'plain','roles':[{'name':'worker','replicas':4,'"    \
        "min':1,'cpu':'1'}]" more "}"

static char *submit(House *house, const char *user, const char *spec)
{
        g_autoptr(GError) error = NULL;
        char *id = house_submit(house, user, spec, NULL, &error);

        g_assert_no_error(error);
        return id;
}

/* Of its reasons; 0: nobody is ahead of it. */
static int views_position(House *house, const char *id)
{
        g_autoptr(Job) job = house_job(house, id);
        g_autoptr(json_t) reasons = engine_reasons(house->engine, job);
        json_t *reason;
        size_t i;

        json_array_foreach(reasons, i, reason) {
                json_t *position = json_object_get(reason, "position");

                if (position)
                        return (int)json_integer_value(position);
        }
        return 0;
}

static void submit_fails(House *house, const char *user, const char *spec, ErrCode code, const char *says)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *id = house_submit(house, user, spec, NULL, &error);

        g_assert_null(id);
        g_assert_error(error, ERR_DOMAIN, (int)code);
        if (!strstr(error->message, says))
                g_error("'%s' does not say '%s'", error->message, says);
}

static void act(House *house, const char *id, JobAction action)
{
        g_autoptr(GError) error = NULL;

        (void)house_act(house, id, action, &error);
        g_assert_no_error(error);
        house_barrier(house);
}

static void act_fails(House *house, const char *id, JobAction action, ErrCode code)
{
        g_autoptr(GError) error = NULL;

        g_assert_false(house_act(house, id, action, &error));
        g_assert_error(error, ERR_DOMAIN, (int)code);
}

static void started(House *house, const char *id, int attempt, int index)
{
        g_autofree char *task = task_of(id, attempt, "worker", index);

        script_say_kind(house->script, OBSERVED_STARTED, task);
        house_barrier(house);
}

static void ended(House *house, const char *id, int attempt, int index, int status)
{
        g_autofree char *task = task_of(id, attempt, "worker", index);

        script_say_exit(house->script, task, status, 0, false);
        house_barrier(house);
}

static int asked(House *house, const char *what, const char *id, int attempt, int index, const char *rest)
{
        g_autofree char *line = g_strdup_printf("%s %s.%d.worker.%d%s", what, id, attempt, index, rest);

        return script_count(house->script, line);
}

static void assert_because(House *house, const char *id, const char *cause, const char *says)
{
        g_autoptr(Job) job = house_job(house, id);
        g_autoptr(json_t) reasons = engine_reasons(house->engine, job);
        g_autofree char *why = engine_explain(house->engine, job);
        const char *first = json_string_value(json_object_get(json_array_get(reasons, 0), "cause"));

        if (g_strcmp0(first, cause) != 0 || !why || !strstr(why, says))
                g_error("'%s' (%s) is not %s: '%s'", why ? why : "(none)", first ? first : "", cause, says);
}

static void assert_member(House *house, const char *id, int index, MemberState state)
{
        g_autoptr(Job) job = house_job(house, id);

        g_assert_cmpint(index, <, job->n_members);
        g_assert_cmpstr(member_state_name(job->members[index].state), ==, member_state_name(state));
}

/* ---- the catalog ---- */

static char *names_of(Catalog *catalog, ObjectKind kind)
{
        const GPtrArray *list = catalog_list(catalog, kind);
        GString *names = g_string_new(NULL);

        for (guint i = 0; i < list->len; i++)
                g_string_append_printf(names, "%s%s", i ? " " : "", ((const Object *)list->pdata[i])->name);
        return g_string_free(names, FALSE);
}

static void assert_names(House *house, ObjectKind kind, const char *want)
{
        g_autoptr(Catalog) catalog = engine_catalog(house->engine);
        g_autofree char *names = names_of(catalog, kind);

        g_assert_cmpstr(names, ==, want);
}

static void test_seeds(void)
{
        House *house = house_new();

        assert_names(house, KIND_USER, "root");
        assert_names(house, KIND_CLUSTER, "default-cluster");
        assert_names(house, KIND_QUEUE, "default default-queue");
        assert_names(house, KIND_FLAVOUR, "flavour1 flavour2 flavour3");
        g_assert_true(house_drop(house, KIND_FLAVOUR, "flavour2", NULL));
        house_close(house);
        house_open(house);
        assert_names(house, KIND_QUEUE, "default default-queue"); /* seeded once */
        assert_names(house, KIND_FLAVOUR, "flavour1 flavour3");
        house_free(house);
}

static void test_objects(void)
{
        House *house = house_new();
        g_autoptr(Catalog) catalog = NULL;
        g_autoptr(Object) stale = NULL, twice = object_new(KIND_QUEUE, "default");
        g_autoptr(GError) error = NULL;
        gint64 revision = engine_revision(house->engine);

        house_queue(house, "q", "{'max':{'cpu':'2'}}");
        catalog = engine_catalog(house->engine);
        stale = object_copy(catalog_find(catalog, KIND_QUEUE, "q"));
        g_assert_cmpint(stale->version, ==, revision + 1);
        g_assert_cmpint(stale->created, ==, house->clock_ms);
        house_queue(house, "q", "{'weight':3}");
        g_assert_false(house_put(house, stale, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_CONFLICT);
        g_clear_error(&error);
        g_assert_false(house_put(house, twice, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_EXISTS);
        g_clear_error(&error);
        g_assert_false(house_drop(house, KIND_QUEUE, "nowhere", &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        house_close(house);
        house_open(house);
        g_clear_pointer(&catalog, catalog_unref);
        catalog = engine_catalog(house->engine);
        g_assert_cmpint(catalog_queue(catalog, "q")->weight, ==, 3);
        house_free(house);
}

static void test_object_events(void)
{
        House *house = house_new();
        gint64 since = engine_revision(house->engine);
        g_autoptr(GPtrArray) events = NULL;
        const Event *event;

        house_queue(house, "q", "{}");
        g_assert_true(house_drop(house, KIND_QUEUE, "q", NULL));
        events = store_events(house->store, &(EventQuery){ .since = since, .limit = 10 }, NULL);
        g_assert_cmpuint(events->len, ==, 2);
        event = events->pdata[0];
        g_assert_cmpstr(event->kind, ==, "queue.put");
        g_assert_cmpstr(event->data, ==, "{\"name\":\"q\",\"by\":\"root\"}");
        g_assert_null(event->subject.owner);
        event = events->pdata[1];
        g_assert_cmpstr(event->kind, ==, "queue.dropped");
        house_free(house);
}

/* Tokens and grants go with a user; a new password ends what was logged in. */
static void test_user(void)
{
        House *house = house_new();
        const Token token = { .id = (char *)"t",
                              .user = (char *)"ann",
                              .hash = (char *)"t",
                              .note = (char *)"",
                              .created = 1 };
        g_autoptr(Object) ann = object_new(KIND_USER, "ann"), changed = NULL;
        g_autoptr(Object) grant = object_new(KIND_GRANT, "ann/queue/q");
        g_autoptr(Catalog) catalog = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *id = NULL;

        g_assert_true(house_put(house, ann, NULL));
        house_queue(house, "q", "{}");
        ((Grant *)grant)->user = g_strdup("ann");
        ((Grant *)grant)->resource = g_strdup("q");
        g_assert_true(house_put(house, grant, &error));
        g_assert_no_error(error);
        g_assert_true(house_take_token(house, &token, NULL));
        catalog = engine_catalog(house->engine);
        changed = object_copy(catalog_find(catalog, KIND_USER, "ann"));
        g_free(((User *)changed)->password);
        ((User *)changed)->password = g_strdup("other");
        g_assert_true(house_put(house, changed, NULL));
        g_autoptr(Token) stays = store_token_by_hash(house->store, "t", NULL);
        g_assert_nonnull(stays); /* it was not given by a log-in */
        id = submit(house, "ann", JOB("a", "1", ",'queue':'q'"));
        g_assert_false(house_drop(house, KIND_USER, "ann", &error));
        g_assert_error(error, ERR_DOMAIN, ERR_CONFLICT);
        ended(house, id, 1, 0, 0);
        g_assert_true(house_drop(house, KIND_USER, "ann", NULL));
        g_assert_null(store_token_by_hash(house->store, "t", NULL));
        assert_names(house, KIND_GRANT, "");
        house_free(house);
}

/* ---- queues ---- */

static void test_submission_queue(void)
{
        House *house = house_new();
        g_autofree char *id = NULL, *other = NULL;
        g_autoptr(Job) job = NULL;

        house_queue(house, "q", "{}");
        submit_fails(house, "ann", JOB("a", "1", ",'queue':'q'"), ERR_DENIED, "not granted");
        submit_fails(house, "ann", JOB("a", "1", ",'queue':'none'"), ERR_NOT_FOUND, "'none'");
        house_queue(house, "q", "{'everyone':true}");
        id = submit(house, "ann", JOB("a", "1", ",'queue':'q'"));
        job = house_job(house, id);
        g_assert_cmpstr(job->queue, ==, "q");
        g_assert_cmpint(engine_queue_open(house->engine, "q"), ==, 1);
        house_queue(house, "q", "{'closed':true}");
        submit_fails(house, "ann", JOB("b", "1", ",'queue':'q'"), ERR_CONFLICT, "clos");
        g_assert_false(house_drop(house, KIND_QUEUE, "q", NULL));
        ended(house, id, 1, 0, 0);
        g_assert_cmpint(engine_queue_open(house->engine, "q"), ==, 0);
        g_assert_true(house_drop(house, KIND_QUEUE, "q", NULL));
        g_assert_cmpint(engine_queue_id(house->engine, "q"), ==, -1);
        other = submit(house, "ann", ONE("b"));
        assert_state(house, other, JOB_STARTING);
        house_free(house);
}

static void test_open_queues(void)
{
        House *house = house_new_cold();
        g_autofree char *id = NULL;

        house->config.open_queues = true;
        house_open(house);
        house_sync(house);
        house_queue(house, "q", "{}");
        id = submit(house, "ann", JOB("a", "1", ",'queue':'q'"));
        assert_state(house, id, JOB_STARTING);
        house_free(house);
}

static void test_max(void)
{
        House *house = house_new();
        g_autofree char *first = NULL, *second = NULL, *other = NULL;

        house_queue(house, "q", "{'everyone':true,'max':{'cpu':'2'}}");
        submit_fails(house, "ann", JOB("a", "3", ",'queue':'q'"), ERR_INVALID, "queue 'q' may use 2");
        first = submit(house, "ann", JOB("a", "2", ",'queue':'q'"));
        second = submit(house, "bob", JOB("a", "1", ",'queue':'q'"));
        other = submit(house, "bob", JOB("b", "2", ""));
        assert_state(house, first, JOB_STARTING);
        assert_state(house, second, JOB_QUEUED);
        assert_state(house, other, JOB_STARTING); /* another queue is not concerned */
        assert_because(house, second, "queue_max",
                       "queue 'q' is at its limit: asks for 1 core, 2 of 2 are in use");
        house_queue(house, "q", "{'max':{'cpu':'3'}}");
        house_barrier(house);
        assert_because(house, second, "resources", "0 of 4 are free");
        ended(house, other, 1, 0, 0);
        assert_state(house, second, JOB_STARTING);
        house_free(house);
}

static void test_other_clusters(void)
{
        House *house = house_new();
        g_autofree char *id = NULL;
        g_autoptr(GError) error = NULL;

        (void)house_patch(house, KIND_CLUSTER, "k8s", "{'type':'Kubernetes','endpoint':'https://x'}", &error);
        g_assert_no_error(error);
        house_queue(house, "far", "{'cluster':'k8s','everyone':true}");
        id = submit(house, "ann", JOB("a", "100", ",'queue':'far'")); /* its room is not known */
        assert_state(house, id, JOB_QUEUED);
        assert_because(house, id, "no_nodes", "cluster 'k8s' is of type Kubernetes and not connected");
        house_free(house);
}

/* Who waits for something else stands in nobody's way. */
static void test_positions_of_those_that_may_start(void)
{
        House *house = house_new();
        g_autofree char *run = submit(house, "ann", WHOLE("run"));
        g_autofree char *after = submit(house, "ann", JOB("after", "1", ",'after':['ok:run']"));
        g_autofree char *retried = submit(house, "ann", JOB("retried", "1", ",'retries':1,'backoff':'1h'"));
        g_autofree char *next = NULL, *last = NULL;

        house_barrier(house);
        next = submit(house, "bob", ONE("next"));
        last = submit(house, "bob", ONE("last"));
        assert_because(house, last, "resources", "2 jobs are ahead of it");
        g_assert_true(house_act(house, retried, ACT_HOLD, NULL));
        assert_because(house, last, "resources", "1 job is ahead of it");
        g_assert_true(house_act(house, retried, ACT_RELEASE, NULL));
        ended(house, run, 1, 0, 1); /* all of them start; `after` waits in vain */
        started(house, retried, 1, 0);
        ended(house, retried, 1, 0, 1);
        assert_state(house, retried, JOB_QUEUED); /* for an hour */
        g_clear_pointer(&run, g_free);
        run = submit(house, "ann", WHOLE("again"));
        ended(house, next, 1, 0, 0);
        ended(house, last, 1, 0, 0);
        assert_state(house, run, JOB_STARTING);
        g_clear_pointer(&next, g_free);
        next = submit(house, "bob", ONE("next"));
        assert_because(house, next, "resources", "waits for 1 core");
        g_assert_cmpint(views_position(house, next), ==, 0);
        house_pass(house, 3600 * 1000);
        g_assert_cmpint(views_position(house, next), ==, 1);
        house_free(house);
}

static void test_positions(void)
{
        House *house = house_new();
        g_autofree char *run = submit(house, "ann", WHOLE("run")), *low = submit(house, "ann", ONE("low"));
        g_autofree char *next = submit(house, "bob", ONE("next")), *high = NULL;
        const int top = 200;

        house_let_rise(house, "bob", "default");
        high = submit(house, "bob", JOB("high", "1", ",'priority':'high'"));
        assert_state(house, run, JOB_STARTING);
        assert_because(house, next, "resources", "2 jobs are ahead of it in queue 'default'");
        assert_because(house, low, "resources", "1 job is ahead of it");
        assert_because(house, high, "resources", "waits for 1 core: asks for 1, 0 of 4 are free");
        g_assert_true(house_change(house, next, &(JobChange){ .priority = &top, .by = "bob" }, NULL));
        assert_because(house, high, "resources", "1 job is ahead of it");
        ended(house, run, 1, 0, 0);
        assert_state(house, low, JOB_STARTING);
        house_free(house);
}

/* ---- limits of users ---- */

static void test_user_limits(void)
{
        House *house = house_new();
        g_autofree char *a = NULL, *b = NULL, *c = NULL;

        house_queue(house, "q", "{'everyone':true,'max_running_per_user':1,'max_open_per_user':2}");
        a = submit(house, "ann", JOB("a", "1", ",'queue':'q'"));
        b = submit(house, "ann", JOB("b", "1", ",'queue':'q'"));
        submit_fails(house, "ann", JOB("c", "1", ",'queue':'q'"), ERR_QUOTA,
                     "queue 'q' takes 2 open jobs of each user");
        c = submit(house, "bob", JOB("c", "1", ",'queue':'q'"));
        assert_state(house, a, JOB_STARTING);
        assert_state(house, b, JOB_QUEUED);
        assert_because(house, b, "user_limit",
                       "user limit of queue 'q' reached: 1 of at most 1 job is running");
        assert_state(house, c, JOB_STARTING);
        ended(house, a, 1, 0, 0);
        assert_state(house, b, JOB_STARTING);
        house_free(house);
}

static void test_rate(void)
{
        House *house = house_new_cold();
        g_autofree char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *refused = NULL;
        g_autoptr(GError) late = NULL;

        house->config.submit_rate = 2;
        house_open(house);
        house_sync(house);
        a = submit(house, "ann", ONE("a"));
        b = submit(house, "ann", ONE("b"));
        submit_fails(house, "ann", ONE("c"), ERR_QUOTA, "may submit 2 jobs in a minute");
        d = submit(house, "bob", ONE("d"));
        house_pass(house, 29999);
        submit_fails(house, "ann", ONE("c"), ERR_QUOTA, "Try again in 1 s");
        refused = house_submit(house, "ann", ONE("c"), NULL, &late);
        g_assert_null(refused);
        g_assert_cmpint(err_wait_s(late), ==, 1);
        house_pass(house, 1);
        c = submit(house, "ann", ONE("c"));
        submit_fails(house, "ann", ONE("e"), ERR_QUOTA, "may submit");
        house_free(house);
}

/* ---- evictions ---- */

static House *house_with_preemption(void)
{
        House *house = house_new();

        house_queue(house, "default", "{'preemption':'lower-priority'}");
        house_let_rise(house, "bob", "default");
        return house;
}

/* `by`: whose job it goes for. Another user's is not named. */
static void check_evicted(const char *by, bool told)
{
        House *house = house_with_preemption();
        g_autofree char *low = submit(house, "ann", JOB("low", "4", ",'priority':'low','grace':'5s'"));
        g_autofree char *high = NULL, *kinds = NULL;
        g_autoptr(Job) job = NULL;
        EngineMetrics metrics;

        started(house, low, 1, 0);
        house_let_rise(house, by, "default");
        high = submit(house, by, JOB("high", "4", ",'priority':'high'"));
        house_barrier(house);
        assert_state(house, low, JOB_PREEMPTING);
        assert_state(house, high, JOB_QUEUED);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, " 5000"), ==, 1);
        ended(house, low, 1, 0, 143);
        assert_state(house, high, JOB_STARTING);
        job = house_job(house, low);
        g_assert_cmpint(job->state, ==, JOB_QUEUED);
        g_assert_cmpint(job->failures, ==, 0);
        g_assert_cmpint(job->evictions, ==, 1);
        g_assert_cmpstr(job->evicted_for, ==, told ? high : NULL);
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.evictions, ==, 1);
        ended(house, high, 1, 0, 0);
        assert_state(house, low, JOB_STARTING);
        g_assert_cmpint(asked(house, "start", low, 2, 0, ""), ==, 1);
        started(house, low, 2, 0);
        ended(house, low, 2, 0, 0);
        kinds = house_events(house, low);
        g_assert_cmpstr(kinds, ==,
                        "job.queued job.starting member.started job.running job.preempting member.exited "
                        "job.requeued job.starting member.started job.running member.exited job.succeeded");
        house_free(house);
}

static void test_evicted(void)
{
        check_evicted("ann", true);
        check_evicted("bob", false);
}

/* Who goes for another cannot hold on to what is lent for as long as it likes. */
static void test_grace_for_room(void)
{
        House *house = house_with_preemption();
        g_autofree char *low = submit(house, "ann", JOB("low", "4", ",'priority':'low','grace':'24h'"));
        g_autofree char *high = NULL;

        started(house, low, 1, 0);
        high = submit(house, "bob", JOB("high", "4", ",'priority':'high'"));
        house_barrier(house);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, " 600000"), ==, 1);
        house_free(house);
}

static void test_evicted_with_warning(void)
{
        House *house = house_with_preemption();
        g_autofree char *low =
                submit(house, "ann",
                       JOB("low", "4",
                           ",'priority':'low','grace':'5s','signal':'USR1@10s','on_preempt':'end'"));
        g_autofree char *high = NULL;

        started(house, low, 1, 0);
        high = submit(house, "bob", JOB("high", "4", ",'priority':'high'"));
        house_barrier(house);
        g_assert_cmpint(asked(house, "signal", low, 1, 0, " 10"), ==, 1);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, ""), ==, 0);
        house_pass(house, 4999);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, ""), ==, 0);
        house_pass(house, 1);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, " 0"), ==, 1);
        ended(house, low, 1, 0, 137);
        assert_state(house, low, JOB_PREEMPTED);
        assert_state(house, high, JOB_STARTING);
        house_free(house);
}

/* The server restarts in the middle of an eviction. */
static void test_evicted_over_restart(void)
{
        House *house = house_with_preemption();
        g_autofree char *low =
                submit(house, "ann", JOB("low", "4", ",'priority':'low','signal':'USR1@1s','grace':'5s'"));
        g_autofree char *high = NULL, *task = task_of(low, 1, "worker", 0);

        started(house, low, 1, 0);
        high = submit(house, "bob", JOB("high", "4", ",'priority':'high'"));
        house_barrier(house);
        assert_state(house, low, JOB_PREEMPTING);
        house_close(house);
        house_open(house);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        house_sync(house);
        house_barrier(house);
        assert_state(house, high, JOB_QUEUED); /* what it waits for is still held */
        g_assert_cmpint(asked(house, "signal", low, 1, 0, " 10"), ==, 1);
        ended(house, low, 1, 0, 0);
        assert_state(house, high, JOB_STARTING);
        assert_state(house, low, JOB_QUEUED);
        house_free(house);
}

static void test_cancelled_while_evicted(void)
{
        House *house = house_with_preemption();
        g_autofree char *low = submit(house, "ann", JOB("low", "4", ",'priority':'low','signal':'USR1@1s'"));
        g_autofree char *high = NULL;

        started(house, low, 1, 0);
        high = submit(house, "bob", JOB("high", "4", ",'priority':'high'"));
        house_barrier(house);
        act(house, low, ACT_CANCEL);
        assert_state(house, low, JOB_STOPPING);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, " 30000"), ==, 1);
        ended(house, low, 1, 0, 143);
        assert_state(house, low, JOB_CANCELLED);
        assert_state(house, high, JOB_STARTING);
        house_free(house);
}

/* A grace that somebody chose keeps nobody from the machine. */
static void test_killed_while_evicted(void)
{
        House *house = house_with_preemption();
        g_autofree char *low =
                submit(house, "ann", JOB("low", "4", ",'priority':'low','signal':'USR1@1s','grace':'1d'"));
        g_autofree char *high = NULL;

        started(house, low, 1, 0);
        high = submit(house, "bob", JOB("high", "4", ",'priority':'high'"));
        house_barrier(house);
        assert_state(house, low, JOB_PREEMPTING);
        act(house, low, ACT_KILL);
        assert_state(house, low, JOB_STOPPING);
        g_assert_cmpint(asked(house, "stop", low, 1, 0, " 0"), ==, 1);
        ended(house, low, 1, 0, 137);
        assert_state(house, low, JOB_CANCELLED);
        assert_state(house, high, JOB_STARTING);
        house_free(house);
}

/* What was lent comes back to whom it is guaranteed. */
static void test_reclaimed(void)
{
        House *house = house_new();
        g_autofree char *first = NULL, *second = NULL, *owner = NULL;

        house_queue(house, "mine", "{'everyone':true,'min':{'cpu':'2'}}");
        house_queue(house, "yours", "{'everyone':true,'min':{'cpu':'2'}}");
        first = submit(house, "ann", JOB("a", "2", ",'queue':'yours'"));
        second = submit(house, "ann", JOB("b", "2", ",'queue':'yours'"));
        started(house, first, 1, 0);
        started(house, second, 1, 0);
        owner = submit(house, "bob", JOB("b", "2", ",'queue':'mine'"));
        house_barrier(house);
        assert_state(house, first, JOB_RUNNING); /* what is guaranteed to them stays */
        assert_state(house, second, JOB_PREEMPTING);
        ended(house, second, 1, 0, 143);
        assert_state(house, owner, JOB_STARTING);
        assert_state(house, second, JOB_QUEUED);
        house_free(house);
}

/* ---- elastic jobs ---- */

static void test_elastic(void)
{
        House *house = house_new();
        g_autofree char *other = submit(house, "bob", JOB("other", "2", ""));
        g_autofree char *id = submit(house, "ann", ELASTIC("e", "")), *kinds = NULL;

        assert_state(house, other, JOB_STARTING);
        assert_state(house, id, JOB_STARTING); /* with two of four */
        assert_member(house, id, 1, MEMBER_INTENDED);
        assert_member(house, id, 2, MEMBER_SURPLUS);
        started(house, id, 1, 0);
        started(house, id, 1, 1);
        assert_state(house, id, JOB_RUNNING);
        g_assert_cmpint(asked(house, "start", id, 1, 2, ""), ==, 0);
        ended(house, other, 1, 0, 0);
        assert_member(house, id, 3, MEMBER_INTENDED); /* there is room now */
        g_assert_cmpint(asked(house, "start", id, 1, 3, ""), ==, 1);
        started(house, id, 1, 2);
        started(house, id, 1, 3);
        for (int i = 0; i < 4; i++)
                ended(house, id, 1, i, 0);
        assert_state(house, id, JOB_SUCCEEDED);
        kinds = house_events(house, id);
        g_assert_nonnull(strstr(kinds, "job.running job.grown member.started"));
        house_free(house);
}

/* Where the others ended long ago, the reason names the one that goes on. */
static void test_late(void)
{
        House *house = house_new();
        g_autofree char *id = submit(house, "ann", ELASTIC("e", ""));
        g_autoptr(Job) job = NULL;
        g_autofree char *early = NULL, *late = NULL;

        for (int i = 0; i < 4; i++)
                started(house, id, 1, i);
        for (int i = 0; i < 3; i++)
                ended(house, id, 1, i, 0);
        job = house_job(house, id);
        early = engine_explain(house->engine, job);
        g_assert_null(early);
        house_pass(house, 61000);
        late = engine_explain(house->engine, job);
        g_assert_cmpstr(
                late, ==,
                "worker-0 and 2 more ended more than a minute ago, worker-3 still runs; see `paddle logs e "
                "--member worker-3`");
        house_free(house);
}

/* A member that has ended well says that the work is nearly done: none joins after it. */
static void test_no_growth_at_the_end(void)
{
        House *house = house_new();
        g_autofree char *other = submit(house, "bob", JOB("other", "2", ""));
        g_autofree char *id = submit(house, "ann", ELASTIC("e", ""));

        started(house, id, 1, 0);
        started(house, id, 1, 1);
        ended(house, id, 1, 0, 0);
        ended(house, other, 1, 0, 0);
        house_pass(house, 1);
        assert_member(house, id, 2, MEMBER_SURPLUS);
        g_assert_cmpint(asked(house, "start", id, 1, 2, ""), ==, 0);
        assert_state(house, id, JOB_RUNNING);
        ended(house, id, 1, 1, 0);
        assert_state(house, id, JOB_SUCCEEDED);
        house_free(house);
}

/* The place of one that has ended well is given like that of one that works. */
static void test_ended_members_give_their_place(void)
{
        House *house = house_new();
        g_autofree char *id = NULL, *owner = NULL;

        house_queue(house, "mine", "{'everyone':true,'min':{'cpu':'2'}}");
        house_queue(house, "yours", "{'everyone':true,'min':{'cpu':'2'}}");
        id = submit(house, "ann", ELASTIC("e", ",'queue':'yours'"));
        for (int i = 0; i < 4; i++)
                started(house, id, 1, i);
        ended(house, id, 1, 3, 0);
        owner = submit(house, "bob", JOB("b", "1", ",'queue':'mine'"));
        house_barrier(house);
        assert_member(house, id, 2, MEMBER_RUNNING);
        assert_member(house, id, 3, MEMBER_SURPLUS);
        assert_state(house, owner, JOB_STARTING);
        for (int i = 0; i < 3; i++)
                ended(house, id, 1, i, 0);
        assert_state(house, id, JOB_SUCCEEDED);
        house_free(house);
}

/* Members that agree on their number at the start: neither joins nor leaves one, and the whole goes instead.
 */
static void test_fixed_size(void)
{
        House *house = house_new();
        g_autofree char *other = NULL, *id = NULL, *owner = NULL;

        house_queue(house, "mine", "{'everyone':true,'min':{'cpu':'3'}}");
        house_queue(house, "yours", "{'everyone':true}");
        other = submit(house, "bob", JOB("other", "2", ",'queue':'yours'"));
        id = submit(house, "ann",
                    "{'name':'c','command':['t'],'framework':'pytorch','queue':'yours','roles':[{'name':"
                    "'worker','replicas':4,'min':1,'cpu':'1'}]}");
        started(house, id, 1, 0);
        started(house, id, 1, 1);
        assert_state(house, id, JOB_RUNNING); /* with two of four */
        ended(house, other, 1, 0, 0);
        house_pass(house, 1);
        assert_member(house, id, 2, MEMBER_SURPLUS);
        assert_state(house, id, JOB_RUNNING);
        owner = submit(house, "bob", JOB("b", "3", ",'queue':'mine'"));
        house_pass(house, 120000);
        assert_state(house, id, JOB_PREEMPTING);
        ended(house, id, 1, 0, 143);
        ended(house, id, 1, 1, 143);
        assert_state(house, owner, JOB_STARTING);
        assert_state(house, id, JOB_STARTING); /* anew, with the one core that is left */
        assert_member(house, id, 0, MEMBER_INTENDED);
        assert_member(house, id, 1, MEMBER_SURPLUS);
        house_free(house);
}

/* Its surplus goes before anybody is evicted, and comes back under the same names. */
static void test_shrunk(void)
{
        House *house = house_new();
        g_autofree char *id = NULL, *owner = NULL, *old = NULL;
        g_autoptr(Job) job = NULL;
        EngineMetrics metrics;

        house_queue(house, "mine", "{'everyone':true,'min':{'cpu':'2'}}");
        house_queue(house, "yours", "{'everyone':true,'min':{'cpu':'2'}}");
        id = submit(house, "ann", ELASTIC("e", ",'queue':'yours','grace':'7s'"));
        for (int i = 0; i < 4; i++)
                started(house, id, 1, i);
        owner = submit(house, "bob", JOB("b", "2", ",'queue':'mine'"));
        house_barrier(house);
        assert_state(house, id, JOB_RUNNING);
        assert_member(house, id, 1, MEMBER_RUNNING);
        assert_member(house, id, 2, MEMBER_STOPPING);
        assert_member(house, id, 3, MEMBER_STOPPING);
        g_assert_cmpint(asked(house, "stop", id, 1, 3, " 7000"), ==, 1);
        act(house, id, ACT_SAVED); /* a change meanwhile undoes nothing */
        ended(house, id, 1, 3, 1); /* how it ends does not count */
        assert_state(house, owner, JOB_QUEUED);
        ended(house, id, 1, 2, 143);
        assert_member(house, id, 2, MEMBER_SURPLUS);
        g_assert_cmpint(asked(house, "forget", id, 1, 2, ""), ==, 1);
        assert_state(house, owner, JOB_STARTING);
        assert_state(house, id, JOB_RUNNING);
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.shrinks, ==, 1);
        g_assert_cmpint(metrics.free.cpu_milli, ==, 0);

        house_pass(house, 120000); /* no cooldown is left */
        ended(house, owner, 1, 0, 0);
        assert_member(house, id, 2, MEMBER_INTENDED);
        g_assert_cmpint(asked(house, "start", id, 1, 2, ""), ==, 2);
        /* The earlier stay is told of once more: it is not the new one's end. */
        job = house_job(house, id);
        old = task_of(id, 1, "worker", 2);
        Observation said = { .kind = OBSERVED_EXITED, .exit_code = 143, .time = job->members[2].finished };
        g_strlcpy(said.task, old, sizeof said.task);
        script_say(house->script, &said);
        house_barrier(house);
        assert_member(house, id, 2, MEMBER_INTENDED);
        started(house, id, 1, 2);
        started(house, id, 1, 3);
        for (int i = 0; i < 4; i++)
                ended(house, id, 1, i, 0);
        assert_state(house, id, JOB_SUCCEEDED);
        house_free(house);
}

/* ---- holds ---- */

static void test_hold(void)
{
        House *house = house_new();
        g_autofree char *run = submit(house, "ann", WHOLE("run")),
                        *waits = submit(house, "ann", ONE("waits"));
        g_autofree char *kinds = NULL;

        act(house, waits, ACT_HOLD);
        assert_state(house, waits, JOB_SUSPENDED);
        assert_because(house, waits, "held", "is held by ann; `paddle release waits`");
        act(house, waits, ACT_HOLD); /* so already */
        started(house, run, 1, 0);
        act(house, run, ACT_HOLD);
        assert_state(house, run, JOB_STOPPING);
        ended(house, run, 1, 0, 143);
        assert_state(house, run, JOB_SUSPENDED);
        assert_state(house, waits, JOB_SUSPENDED);
        act(house, run, ACT_RELEASE);
        act(house, waits, ACT_RELEASE);
        assert_state(house, run, JOB_STARTING);
        assert_state(house, waits, JOB_QUEUED);
        g_assert_cmpint(asked(house, "start", run, 2, 0, ""), ==, 1);
        act(house, waits, ACT_HOLD);
        act(house, waits, ACT_CANCEL);
        assert_state(house, waits, JOB_CANCELLED);
        act_fails(house, waits, ACT_RELEASE, ERR_CONFLICT);
        act_fails(house, "0000000000000000", ACT_HOLD, ERR_NOT_FOUND);
        kinds = house_events(house, run);
        g_assert_cmpstr(kinds, ==,
                        "job.queued job.starting member.started job.running job.stopping member.exited "
                        "job.suspended job.released job.starting");
        house_free(house);
}

static void test_requeue(void)
{
        House *house = house_new();
        g_autofree char *id = submit(house, "ann", ONE("a"));
        g_autoptr(Job) job = NULL;

        started(house, id, 1, 0);
        act(house, id, ACT_REQUEUE);
        assert_state(house, id, JOB_STOPPING);
        ended(house, id, 1, 0, 143);
        job = house_job(house, id); /* at once: no back-off */
        g_assert_cmpint(job->state, ==, JOB_STARTING);
        g_assert_cmpint(job->attempt, ==, 2);
        g_assert_cmpint(job->failures, ==, 0);
        act(house, id, ACT_CANCEL);
        act_fails(house, id, ACT_REQUEUE, ERR_CONFLICT); /* on its way out */
        house_free(house);
}

static void test_saved_and_deleted(void)
{
        House *house = house_new();
        g_autofree char *id = submit(house, "ann", WHOLE("a")), *waits = submit(house, "ann", WHOLE("b"));
        g_autoptr(Job) job = NULL;
        g_autoptr(GError) error = NULL;

        house_pass(house, 1000);
        act(house, id, ACT_SAVED);
        job = house_job(house, id);
        g_assert_cmpint(job->saved, ==, house->clock_ms);
        act_fails(house, waits, ACT_SAVED, ERR_CONFLICT);
        act_fails(house, id, ACT_DELETE, ERR_CONFLICT);
        ended(house, id, 1, 0, 0);
        act(house, id, ACT_DELETE);
        g_assert_null(store_job_by_id(house->store, id, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        act_fails(house, id, ACT_DELETE, ERR_NOT_FOUND);
        house_free(house);
}

/* ---- times ---- */

static void test_begin(void)
{
        House *house = house_new();
        g_autofree char *id = submit(house, "ann", JOB("a", "1", ",'begin':'2025-06-15T16:00:00Z'"));
        gint64 begin = 1750003200000;
        g_autofree char *next = submit(house, "ann", WHOLE("next"));

        assert_state(house, id, JOB_QUEUED);
        assert_because(house, id, "begin", "is not to start before its time");
        assert_state(house, next, JOB_STARTING); /* it holds up nobody */
        ended(house, next, 1, 0, 0);
        house_pass(house, begin - house->clock_ms - 1);
        assert_state(house, id, JOB_QUEUED);
        house_pass(house, 1);
        assert_state(house, id, JOB_STARTING);
        house_free(house);
}

static void test_warned(void)
{
        House *house = house_new();
        g_autofree char *id = submit(house, "ann", JOB("a", "1", ",'time_limit':'60s','signal':'USR2@10s'"));

        started(house, id, 1, 0);
        house_pass(house, 49999);
        g_assert_cmpint(asked(house, "signal", id, 1, 0, ""), ==, 0);
        house_pass(house, 1);
        g_assert_cmpint(asked(house, "signal", id, 1, 0, " 12"), ==, 1);
        house_pass(house, 9999);
        assert_state(house, id, JOB_RUNNING);
        house_pass(house, 1);
        assert_state(house, id, JOB_STOPPING);
        g_assert_cmpint(asked(house, "signal", id, 1, 0, ""), ==, 1);
        house_free(house);
}

/* ---- dependencies ---- */

static void test_after(void)
{
        static const struct {
                const char *kind;
                int status;
                JobState then;
        } cases[] = {
                { "ok", 0, JOB_STARTING },  { "ok", 1, JOB_CANCELLED },  { "any", 0, JOB_STARTING },
                { "any", 1, JOB_STARTING }, { "fail", 1, JOB_STARTING }, { "fail", 0, JOB_CANCELLED },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                House *house = house_new();
                g_autofree char *first = submit(house, "ann", ONE("first")), *second = NULL, *third = NULL;
                g_autofree char *spec = g_strdup_printf("{'name':'second','command':['t'],'after':['%s:%s']}",
                                                        cases[i].kind, first);
                g_autoptr(Job) job = NULL;

                second = submit(house, "ann", spec);
                third = submit(house, "ann", JOB("third", "1", ",'after':['ok:second']"));
                assert_state(house, second, JOB_QUEUED);
                assert_because(house, second, "dependency", ", now starting");
                ended(house, first, 1, 0, cases[i].status);
                assert_state(house, second, cases[i].then);
                assert_state(house, third, cases[i].then == JOB_CANCELLED ? JOB_CANCELLED : JOB_QUEUED);
                job = house_job(house, second);
                if (cases[i].then == JOB_CANCELLED)
                        g_assert_nonnull(strstr(job->reason, "job 'first'"));
                house_free(house);
        }
}

static void test_after_over_restart(void)
{
        House *house = house_new();
        g_autofree char *first = submit(house, "ann", ONE("first"));
        g_autofree char *second = submit(house, "ann", JOB("second", "1", ",'after':['ok:first']"));
        g_autofree char *task = task_of(first, 1, "worker", 0);

        started(house, first, 1, 0);
        house_close(house);
        house_open(house);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        house_sync(house);
        assert_state(house, second, JOB_QUEUED);
        ended(house, first, 1, 0, 0);
        assert_state(house, second, JOB_STARTING);
        house_free(house);
}

static void test_after_refused(void)
{
        House *house = house_new();
        g_autofree char *done = submit(house, "ann", ONE("done")),
                        *foreign = submit(house, "bob", ONE("foreign"));
        g_autofree char *spec = g_strdup_printf("{'command':['t'],'after':['ok:%s']}", foreign), *late = NULL;

        ended(house, done, 1, 0, 1);
        submit_fails(house, "ann", JOB("a", "1", ",'after':['ok:nobody']"), ERR_NOT_FOUND, "no job 'nobody'");
        submit_fails(house, "ann", spec, ERR_NOT_FOUND, "no job");
        submit_fails(house, "ann", JOB("a", "1", ",'after':['ok:done']"), ERR_CONFLICT, "can never hold");
        late = submit(house, "ann", JOB("a", "1", ",'after':['any:done','fail:done']"));
        assert_state(house, late, JOB_STARTING); /* both hold already */
        house_free(house);
}

static void test_batch(void)
{
        static const char *const chain[] = { JOB("a", "1", ""), JOB("b", "1", ",'after':['ok:a']"),
                                             JOB("c", "1", ",'after':['any:b','ok:a']"), NULL };
        static const char *const ring[] = { JOB("x", "1", ",'after':['ok:z']"),
                                            JOB("y", "1", ",'after':['ok:x']"),
                                            JOB("z", "1", ",'after':['ok:y']"), NULL };
        static const char *const self[] = { JOB("x", "1", ",'after':['ok:x']"), NULL };
        static const char *const twins[] = { ONE("x"), ONE("y"), ONE("x"), NULL };
        static const char *const bad[] = { ONE("x"), JOB("y", "1", ",'queue':'none'"), NULL };
        static const struct {
                const char *const *specs;
                ErrCode code;
                const char *says;
        } refused[] = {
                { ring, ERR_INVALID, "'x' after 'z' after 'y' after 'x'" },
                { self, ERR_INVALID, "'x' after 'x'" },
                { twins, ERR_EXISTS, "jobs[2] ('x'): two jobs of the submission are named 'x'" },
                { bad, ERR_NOT_FOUND, "jobs[1] ('y'): queue 'none'" },
        };
        House *house = house_new();
        g_autofree char *id = NULL;
        g_autoptr(GError) error = NULL;
        EngineMetrics metrics;

        for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
                g_assert_null(house_submit_all(house, "ann", refused[i].specs, &error));
                g_assert_error(error, ERR_DOMAIN, (int)refused[i].code);
                if (!strstr(error->message, refused[i].says))
                        g_error("'%s' does not say '%s'", error->message, refused[i].says);
                g_clear_error(&error);
        }
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.open_jobs, ==, 0); /* nothing half done */
        id = house_submit_all(house, "ann", chain, &error);
        g_assert_no_error(error);
        g_autoptr(Job) b = engine_job_by_name(house->engine, "ann", "b");
        g_autoptr(Job) c = engine_job_by_name(house->engine, "ann", "c");
        assert_state(house, id, JOB_STARTING);
        ended(house, id, 1, 0, 0);
        assert_state(house, b->id, JOB_STARTING);
        assert_state(house, c->id, JOB_QUEUED);
        ended(house, b->id, 1, 0, 1);
        assert_state(house, c->id, JOB_STARTING);
        house_free(house);
}

/* A repeat is one only as a whole, and never speaks of jobs that others sent in between. */
static void test_batch_repeated(void)
{
        static const char *const one[] = { ONE("a"), NULL }, *const more[] = { ONE("a"), ONE("b"), NULL };
        static const char *const all[] = { ONE("x"), JOB("y", "1", ",'array':'0-1'"), ONE("z"), NULL };
        static const char *const other[] = { ONE("x"), JOB("y", "1", ",'array':'0-1'"), ONE("zz"), NULL };
        static const char *const longer[] = { ONE("x"), JOB("y", "1", ",'array':'0-1'"), ONE("z"), ONE("b"),
                                              NULL };
        const struct {
                const char *const *specs;
                const char *key;
        } refused[] = { { more, "one" }, { other, "all" }, { longer, "all" } };
        House *house = house_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *single = house_submit_keyed(house, "ann", one, "one", &error),
                        *foreign = submit(house, "bob", ONE("b")),
                        *id = house_submit_keyed(house, "ann", all, "all", &error),
                        *foreign_too = submit(house, "bob", ONE("c")), *again = NULL;

        g_assert_no_error(error);
        for (int round = 0; round < 2; round++) {
                for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
                        g_assert_null(
                                house_submit_keyed(house, "ann", refused[i].specs, refused[i].key, &error));
                        g_assert_error(error, ERR_DOMAIN, ERR_CONFLICT);
                        g_clear_error(&error);
                }
                g_free(again);
                again = house_submit_keyed(house, "ann", all, "all", &error);
                g_assert_no_error(error);
                g_assert_cmpstr(again, ==, id);
                ended(house, single, 1, 0, 0); /* the second time it is found in the store */
        }
        house_free(house);
}

static void test_batch_queue_limits(void)
{
        static const char *const specs[] = { JOB("a", "1", ",'queue':'wide'"),
                                             JOB("b", "1", ",'queue':'narrow','array':'0-1'"), NULL };
        House *house = house_new();
        g_autoptr(GError) error = NULL;

        house_queue(house, "wide", "{'everyone':true,'max_open_per_user':9}");
        house_queue(house, "narrow", "{'everyone':true,'max_open_per_user':1}");
        g_assert_null(house_submit_all(house, "ann", specs, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_QUOTA);
        g_assert_nonnull(strstr(error->message, "queue 'narrow' takes 1 open job of each user"));
        house_free(house);
}

/* ---- arrays ---- */

static Job *element(House *house, const char *name)
{
        g_autoptr(GError) error = NULL;
        Job *job = engine_find(house->engine, "ann", name, &error);

        g_assert_no_error(error);
        return job;
}

static void test_array(void)
{
        House *house = house_new();
        g_autofree char *first = submit(house, "ann", JOB("a", "1", ",'array':'2-4,9%2'"));
        g_autofree char *after = submit(house, "ann", JOB("after", "1", ",'after':['any:a']"));
        g_autofree char *one = submit(house, "ann", JOB("one", "1", ",'after':['ok:a[2]']"));
        g_autofree char *array = g_strdup_printf("a%s", first);
        g_autofree char *all = NULL, *spec = NULL, *task = NULL, *index = NULL, *id = NULL, *size = NULL;
        static const char *const names[] = { "a-2", "a-3", "a-4", "a-9" };
        g_autoptr(Job) third = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(Job) job = element(house, names[i]);
                g_autoptr(Job) head = element(house, "a-2");

                g_assert_cmpint(job->state, ==, i < 2 ? JOB_STARTING : JOB_QUEUED);
                g_assert_true(job->spec == head->spec);
                g_assert_cmpint(job->array_seq, ==, head->seq);
                g_assert_cmpint(job->spec_seq, ==, head->seq);
        }
        third = element(house, "a-3");
        task = task_of(third->id, 1, "worker", 0);
        index = script_variable(house->script, task, "PADDLE_ARRAY_INDEX");
        id = script_variable(house->script, task, "PADDLE_ARRAY_ID");
        size = script_variable(house->script, task, "PADDLE_ARRAY_SIZE");
        g_assert_cmpstr(index, ==, "3");
        g_assert_cmpstr(id, ==, array);
        g_assert_cmpstr(size, ==, "4");
        assert_state(house, after, JOB_QUEUED);
        spec = g_strdup_printf("{'name':'all','command':['t'],'after':['ok:%s']}", array);
        all = submit(house, "ann", spec);
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(Job) job = element(house, names[i]);

                g_assert_cmpint(job->state, ==, JOB_STARTING);
                assert_state(house, all, JOB_QUEUED);
                assert_state(house, after, JOB_QUEUED);
                assert_state(house, one, i == 0 ? JOB_QUEUED : JOB_STARTING); /* waits for the first alone */
                ended(house, job->id, 1, 0, 0);
        }
        assert_state(house, all, JOB_STARTING);
        assert_state(house, after, JOB_STARTING);
        house_free(house);
}

/* Others wait for the array by an id that is made from its first job's. */
static void test_array_head_stays(void)
{
        House *house = house_new();
        g_autofree char *first = submit(house, "ann", JOB("a", "1", ",'array':'0-1'"));
        g_autofree char *after = submit(house, "ann", JOB("after", "1", ",'after':['any:a']"));
        g_autoptr(Job) second = element(house, "a-1");

        ended(house, first, 1, 0, 0);
        act_fails(house, first, ACT_DELETE, ERR_CONFLICT);
        ended(house, second->id, 1, 0, 0);
        assert_state(house, after, JOB_STARTING);
        act_fails(house, first, ACT_DELETE, ERR_CONFLICT); /* the array goes as a whole */
        house_free(house);
}

static void test_array_fails(void)
{
        House *house = house_new();
        g_autofree char *first = submit(house, "ann", JOB("a", "1", ",'array':'0-1'")), *all = NULL;
        g_autofree char *long_name = g_strnfill(SPEC_NAME_MAX, 'x');
        g_autofree char *spec = g_strdup_printf("{'name':'all','command':['t'],'after':['ok:a%s']}", first);
        g_autofree char *long_spec =
                g_strdup_printf("{'name':'%s','command':['t'],'array':'0-1'}", long_name);
        g_autoptr(Job) second = element(house, "a-1");

        submit_fails(house, "ann", long_spec, ERR_INVALID, "longer than 63");
        ended(house, first, 1, 0, 1);
        all = submit(house, "ann", spec); /* the array is not over */
        assert_state(house, all, JOB_QUEUED);
        ended(house, second->id, 1, 0, 0);
        assert_state(house, all, JOB_CANCELLED);
        house_free(house);
}

/* Ten thousand jobs are one transaction. */
static void test_many(void)
{
        static const char *const too_many[] = { JOB("b", "1", ",'array':'0-9999'"), ONE("c"), NULL };
        House *house = house_new();
        EngineMetrics was, now;
        g_autofree char *id = NULL;
        g_autoptr(Job) last = NULL;
        g_autoptr(GError) error = NULL;

        engine_metrics(house->engine, &was);
        id = submit(house, "ann", JOB("a", "1", ",'array':'0-9999'"));
        engine_metrics(house->engine, &now);
        g_assert_cmpint(now.open_jobs, ==, 10000);
        g_assert_cmpint(now.batches - was.batches, ==, 1);
        last = element(house, "a-9999");
        assert_because(house, last->id, "resources", "9995 jobs are ahead of it");
        g_assert_null(house_submit_all(house, "ann", too_many, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
        g_assert_nonnull(strstr(error->message, "10001 jobs in one submission: at most 10000"));
        house_close(house);
        house_open(house);
        house_sync(house);
        engine_metrics(house->engine, &now);
        g_assert_cmpint(now.open_jobs, ==, 10000);
        house_free(house);
}

/* ---- changes ---- */

/* An administrator who acts without an administrator's right, as by a lesser token, is an ordinary user. */
static void test_lesser_administrator(void)
{
        static const char high[] = JOB("high", "1", ",'priority':'high'");
        House *house = house_new();
        g_autofree char *name = grant_key("ann", GRANT_QUEUE, "default"), *id = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;

        house_let_rise(house, "ann", "default");
        id = house_submit_ok(house, high);
        act(house, id, ACT_HOLD);
        ended(house, id, 1, 0, 0);
        g_assert_true(house_drop(house, KIND_GRANT, name, &error));
        g_assert_true(house_patch(house, KIND_USER, "ann", "{'admin':true}", &error));
        act(house, id, ACT_RELEASE);
        job = house_job(house, id);
        g_assert_cmpint(job->priority, ==, 0);
        g_assert_null(house_submit(house, "ann", high, NULL, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_DENIED);
        g_assert_nonnull(strstr(error->message, "scope 'admin'"));
        house_free(house);
}

static void test_changes(void)
{
        House *house = house_new();
        g_autofree char *run = submit(house, "ann", WHOLE("run")), *a = submit(house, "ann", ONE("a"));
        static const char *const labels[] = { "team=x", NULL };
        const int priority = 100;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;
        g_autoptr(GPtrArray) found = NULL;
        gint64 next;

        house_queue(house, "q", "{'everyone':true,'max':{'cpu':'1'}}");
        house_queue(house, "closed", "{}");
        g_assert_false(house_change(house, a,
                                    &(JobChange){ .queue = "q", .priority = &priority, .by = "ann" },
                                    &error));
        g_assert_error(error, ERR_DOMAIN, ERR_DENIED);
        g_clear_error(&error);
        house_let_rise(house, "ann", "q");
        g_assert_true(house_change(house, a,
                                   &(JobChange){ .queue = "q",
                                                 .priority = &priority,
                                                 .labels = (char *const *)labels,
                                                 .by = "ann" },
                                   &error));
        g_assert_no_error(error);
        job = house_job(house, a);
        g_assert_cmpstr(job->queue, ==, "q");
        g_assert_cmpint(job->priority, ==, 100);
        g_assert_cmpint(engine_queue_open(house->engine, "q"), ==, 1);
        found = store_jobs(house->store, &(JobQuery){ .limit = 5, .queue = "q", .labels = labels }, &next,
                           NULL);
        g_assert_cmpuint(found->len, ==, 1);
        g_assert_false(house_change(house, a, &(JobChange){ .queue = "closed", .by = "ann" }, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_DENIED);
        g_clear_error(&error);
        g_assert_false(house_change(house, run, &(JobChange){ .priority = &priority, .by = "ann" }, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_CONFLICT);
        g_assert_true(
                house_change(house, run, &(JobChange){ .labels = (char *const *)labels, .by = "ann" }, NULL));
        ended(house, run, 1, 0, 0);
        assert_state(house, a, JOB_STARTING);
        house_free(house);
}

/* ---- questions ---- */

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t there;
        Scheduler *clone;
} Clone;

static void cloned(Scheduler *clone, gint64 now, void *arg)
{
        Clone *got = arg;

        pthread_mutex_lock(&got->lock);
        got->clone = clone;
        pthread_cond_signal(&got->there);
        pthread_mutex_unlock(&got->lock);
}

/* What a dry run does: the job is put into a copy, and the copy is asked. */
static void test_clone(void)
{
        House *house = house_new();
        g_autofree char *run = submit(house, "ann", WHOLE("run"));
        g_autofree char *waits = submit(house, "ann", ONE("waits"));
        Clone got = { .lock = PTHREAD_MUTEX_INITIALIZER, .there = PTHREAD_COND_INITIALIZER };
        g_autoptr(Job) job = house_job(house, waits);
        Reason reasons[REASONS_MAX];
        SchedJob put;
        SchedJobFill *fill;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) shown = NULL;

        engine_clone_scheduler(house->engine, cloned, &got);
        pthread_mutex_lock(&got.lock);
        while (!got.clone)
                pthread_cond_wait(&got.there, &got.lock);
        pthread_mutex_unlock(&got.lock);
        g_assert_cmpint(scheduler_explain(got.clone, job->seq, house->clock_ms, reasons), >, 0);
        shown = engine_reason_format(house->engine, &reasons[0], house->clock_ms, NULL);
        g_assert_nonnull(json_object_get(shown, "message"));
        fill = engine_fill_job(house->engine, "bob", job->spec, G_MAXINT64, house->clock_ms, &put, &error);
        g_assert_no_error(error);
        g_assert_true(scheduler_put_job(got.clone, &put));
        g_assert_cmpint(put.roles[0].each.cpu_milli, ==, 1000);
        engine_fill_free(fill);
        scheduler_free(got.clone);
        assert_state(house, run, JOB_STARTING); /* the live one knows nothing of it */
        house_free(house);
}

/* Usage decides turns in a fair queue, and survives the server. */
static void test_usage(void)
{
        House *house = house_new();
        g_autofree char *ann = NULL, *next_ann = NULL, *next_bob = NULL, *run = NULL;

        house_queue(house, "fair", "{'everyone':true,'ordering':'fair'}");
        ann = submit(house, "ann", JOB("a", "4", ",'queue':'fair'"));
        started(house, ann, 1, 0);
        house_pass(house, 3600 * 1000);
        ended(house, ann, 1, 0, 0);
        house_close(house);
        house_open(house);
        house_sync(house);
        run = submit(house, "cid", WHOLE("run"));
        next_ann = submit(house, "ann", JOB("b", "4", ",'queue':'fair'"));
        next_bob = submit(house, "bob", JOB("b", "4", ",'queue':'fair'"));
        ended(house, run, 1, 0, 0);
        assert_state(house, next_bob, JOB_STARTING); /* ann came first, but has used an hour */
        assert_state(house, next_ann, JOB_QUEUED);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sharing/seeds", test_seeds);
        g_test_add_func("/sharing/objects", test_objects);
        g_test_add_func("/sharing/object events", test_object_events);
        g_test_add_func("/sharing/user", test_user);
        g_test_add_func("/sharing/submission queue", test_submission_queue);
        g_test_add_func("/sharing/open queues", test_open_queues);
        g_test_add_func("/sharing/max", test_max);
        g_test_add_func("/sharing/other clusters", test_other_clusters);
        g_test_add_func("/sharing/positions", test_positions);
        g_test_add_func("/sharing/positions of those that may start", test_positions_of_those_that_may_start);
        g_test_add_func("/sharing/user limits", test_user_limits);
        g_test_add_func("/sharing/rate", test_rate);
        g_test_add_func("/sharing/evicted", test_evicted);
        g_test_add_func("/sharing/grace for room", test_grace_for_room);
        g_test_add_func("/sharing/evicted with warning", test_evicted_with_warning);
        g_test_add_func("/sharing/evicted over restart", test_evicted_over_restart);
        g_test_add_func("/sharing/cancelled while evicted", test_cancelled_while_evicted);
        g_test_add_func("/sharing/killed while evicted", test_killed_while_evicted);
        g_test_add_func("/sharing/reclaimed", test_reclaimed);
        g_test_add_func("/sharing/elastic", test_elastic);
        g_test_add_func("/sharing/shrunk", test_shrunk);
        g_test_add_func("/sharing/late", test_late);
        g_test_add_func("/sharing/no-growth-at-the-end", test_no_growth_at_the_end);
        g_test_add_func("/sharing/ended-members-give-their-place", test_ended_members_give_their_place);
        g_test_add_func("/sharing/fixed-size", test_fixed_size);
        g_test_add_func("/sharing/hold", test_hold);
        g_test_add_func("/sharing/requeue", test_requeue);
        g_test_add_func("/sharing/lesser-administrator", test_lesser_administrator);
        g_test_add_func("/sharing/saved and deleted", test_saved_and_deleted);
        g_test_add_func("/sharing/begin", test_begin);
        g_test_add_func("/sharing/warned", test_warned);
        g_test_add_func("/sharing/after", test_after);
        g_test_add_func("/sharing/after over restart", test_after_over_restart);
        g_test_add_func("/sharing/after refused", test_after_refused);
        g_test_add_func("/sharing/batch", test_batch);
        g_test_add_func("/sharing/batch repeated", test_batch_repeated);
        g_test_add_func("/sharing/batch, limits of queues", test_batch_queue_limits);
        g_test_add_func("/sharing/array", test_array);
        g_test_add_func("/sharing/array fails", test_array_fails);
        g_test_add_func("/sharing/array head stays", test_array_head_stays);
        g_test_add_func("/sharing/many", test_many);
        g_test_add_func("/sharing/changes", test_changes);
        g_test_add_func("/sharing/clone", test_clone);
        g_test_add_func("/sharing/usage", test_usage);
        return g_test_run();
}
