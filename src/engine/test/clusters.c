/* Two clusters, each with a runtime of its own: this machine's, and one that a driver makes. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"

typedef struct {
        House *house;
        Script *far;   /* the other cluster's */
        char *refusal; /* what the driver says instead; or NULL */
        int made;
} World;

static Runtime *make(const Cluster *cluster, void *arg, GError **error)
{
        World *world = arg;

        world->made++;
        if (world->refusal) {
                g_set_error_literal(error, g_quark_from_static_string("test"), 1, world->refusal);
                return NULL;
        }
        return cluster->type == CLUSTER_KUBERNETES ? script_runtime(world->far) : NULL;
}

static void open_world(World *world)
{
        world->house->config.driver = make;
        world->house->config.driver_arg = world;
        house_open(world->house);
}

static void put(World *world, ObjectKind kind, const char *name, const char *patch)
{
        g_autoptr(GError) error = NULL;

        (void)house_patch(world->house, kind, name, patch, &error);
        g_assert_no_error(error);
}

static void world_init(World *world)
{
        *world = (World){ .house = house_new_cold(),
                          .far = script_new(&(Resources){ { 2000, 1ll << 30, 2 } }) };
        open_world(world);
        house_sync(world->house);
        put(world, KIND_CLUSTER, "far", "{'type':'Kubernetes','credential':'x'}");
        put(world, KIND_QUEUE, "away", "{'cluster':'far','everyone':true}");
        house_barrier(world->house);
}

static void world_clear(World *world)
{
        house_free(world->house);
        script_free(world->far);
}

static void sync_far(World *world)
{
        script_say_kind(world->far, OBSERVED_SYNCED, NULL);
        house_barrier(world->house);
}

static char *submit(World *world, const char *queue)
{
        g_autofree char *spec = g_strdup_printf(
                "{'command':['true'],'queue':'%s','roles':[{'name':'worker','replicas':1,'cpu':'1'}]}",
                queue);

        return house_submit_ok(world->house, spec);
}

static void end(World *world, Script *script, const char *id)
{
        g_autofree char *task = task_of(id, 1, "worker", 0);

        script_say_kind(script, OBSERVED_STARTED, task);
        script_say_exit(script, task, 0, 0, false);
        job_unref(house_wait(world->house, id, JOB_SUCCEEDED));
}

static void test_each_its_own(void)
{
        World world;
        g_autofree char *here = NULL, *there = NULL;
        g_autoptr(Job) job = NULL;

        world_init(&world);
        sync_far(&world);
        here = submit(&world, "default");
        there = submit(&world, "away");
        house_barrier(world.house);
        g_assert_cmpint(script_count(world.house->script, "start "), ==, 1);
        g_assert_cmpint(script_count(world.far, "start "), ==, 1);
        job = house_job(world.house, there);
        g_assert_cmpstr(job->members[0].node, ==, "far");
        end(&world, world.far, there);
        end(&world, world.house->script, here);
        house_barrier(world.house);
        g_assert_cmpint(script_count(world.far, "forget "), ==, 1);
        g_assert_cmpint(script_count(world.far, "clean "), ==, 1);
        g_assert_cmpint(script_count(world.house->script, "clean "), ==, 1);
        world_clear(&world);
}

/* Either way round: jobs of the one that is away wait, those of the other do not. */
static void test_away(void)
{
        for (int far_is_away = 0; far_is_away < 2; far_is_away++) {
                World world;
                g_autofree char *here = NULL, *there = NULL;
                Script *away, *back;

                world_init(&world);
                sync_far(&world);
                away = far_is_away ? world.far : world.house->script;
                back = far_is_away ? world.house->script : world.far;
                script_say_kind(away, OBSERVED_DISCONNECTED, NULL);
                house_barrier(world.house);
                here = submit(&world, "default");
                there = submit(&world, "away");
                house_barrier(world.house);
                g_assert_cmpint(script_count(back, "start "), ==, 1);
                g_assert_cmpint(script_count(away, "start "), ==, 0);
                assert_state(world.house, far_is_away ? there : here, JOB_QUEUED);
                script_say_kind(away, OBSERVED_SYNCED, NULL);
                script_wait(away, "start ", 1);
                end(&world, world.far, there);
                end(&world, world.house->script, here);
                world_clear(&world);
        }
}

/* Of a job whose members are there, too; not of one that has ended. */
static void test_says_away(void)
{
        World world;
        g_autofree char *id = NULL, *why = NULL, *back = NULL, *after = NULL;
        g_autoptr(Job) job = NULL, done = NULL;

        world_init(&world);
        sync_far(&world);
        id = submit(&world, "away");
        script_say_kind(world.far, OBSERVED_DISCONNECTED, NULL);
        house_barrier(world.house);
        job = house_job(world.house, id);
        g_assert_cmpint(job->state, ==, JOB_STARTING);
        why = engine_explain(world.house->engine, job);
        g_assert_cmpstr(why, ==,
                        "cluster 'far' is not connected; members that run there run on, all else is done "
                        "when it is back");
        sync_far(&world);
        back = engine_explain(world.house->engine, job);
        g_assert_null(back);
        end(&world, world.far, id);
        script_say_kind(world.far, OBSERVED_DISCONNECTED, NULL);
        house_barrier(world.house);
        done = house_wait(world.house, id, JOB_SUCCEEDED);
        after = engine_explain(world.house->engine, done);
        g_assert_null(after);
        world_clear(&world);
}

/* What the one reports or does not report says nothing of the other's tasks. */
static void test_restart(void)
{
        World world;
        g_autofree char *here = NULL, *there = NULL, *near_task = NULL, *far_task = NULL;

        world_init(&world);
        sync_far(&world);
        here = submit(&world, "default");
        there = submit(&world, "away");
        near_task = task_of(here, 1, "worker", 0);
        far_task = task_of(there, 1, "worker", 0);
        script_say_kind(world.house->script, OBSERVED_STARTED, near_task);
        script_say_kind(world.far, OBSERVED_STARTED, far_task);
        job_unref(house_wait(world.house, here, JOB_RUNNING));
        job_unref(house_wait(world.house, there, JOB_RUNNING));
        house_close(world.house);
        script_reset(world.far);
        open_world(&world);
        script_say_kind(world.house->script, OBSERVED_STARTED, near_task);
        house_sync(world.house);
        assert_state(world.house, here, JOB_RUNNING);
        assert_state(world.house, there, JOB_RUNNING); /* not lost: its cluster has said nothing yet */
        script_say_kind(world.far, OBSERVED_STARTED, far_task);
        sync_far(&world);
        assert_state(world.house, there, JOB_RUNNING);
        g_assert_cmpint(script_count(world.far, "start "), ==, 0);
        g_assert_cmpint(script_count(world.house->script, "start "), ==, 0);
        end(&world, world.far, there);
        end(&world, world.house->script, here);
        world_clear(&world);
}

/* A task that the wrong runtime tells of is a stray there. */
static void test_stranger(void)
{
        World world;
        g_autofree char *there = NULL, *task = NULL, *line = NULL;

        world_init(&world);
        sync_far(&world);
        there = submit(&world, "away");
        task = task_of(there, 1, "worker", 0);
        script_say_kind(world.far, OBSERVED_STARTED, task);
        job_unref(house_wait(world.house, there, JOB_RUNNING));
        script_say_exit(world.house->script, task, 1, 0, false);
        house_barrier(world.house);
        assert_state(world.house, there, JOB_RUNNING);
        line = g_strdup_printf("forget %s", task);
        g_assert_cmpint(script_count(world.house->script, line), ==, 1);
        g_assert_cmpint(script_count(world.far, "forget"), ==, 0);
        end(&world, world.far, there);
        world_clear(&world);
}

/* A runtime that makes no preparations: the job that waited for one starts. */
static void test_opening_without_preparations(void)
{
        World world;
        g_autofree char *id = NULL;

        world_init(&world);
        world.refusal = "not yet";
        put(&world, KIND_CLUSTER, "far", "{'credential':'y'}");
        id = submit(&world, "away");
        house_barrier(world.house);
        assert_state(world.house, id, JOB_QUEUED);
        world.refusal = NULL;
        script_makes(world.far, false, false);
        put(&world, KIND_CLUSTER, "far", "{'credential':'z'}");
        house_barrier(world.house);
        sync_far(&world);
        script_wait(world.far, "start ", 1);
        g_assert_cmpint(script_count(world.far, "prepare "), ==, 0);
        end(&world, world.far, id);
        world_clear(&world);
}

static void test_opening(void)
{
        World world;
        g_autofree char *id = NULL, *why = NULL;
        g_autoptr(Catalog) catalog = NULL;

        world_init(&world);
        g_assert_cmpint(world.made, ==, 1);
        put(&world, KIND_CLUSTER, "far", "{'description':'another word'}");
        put(&world, KIND_CLUSTER, "far", "{'status':'offline'}");
        put(&world, KIND_CLUSTER, "far", "{'status':'online'}");
        house_barrier(world.house);
        g_assert_cmpint(world.made, ==, 1);
        world.refusal = "the credential is not good";
        put(&world, KIND_CLUSTER, "far", "{'credential':'y'}");
        house_barrier(world.house);
        g_assert_cmpint(world.made, ==, 2);
        catalog = engine_catalog(world.house->engine);
        g_assert_false(engine_cluster(world.house->engine, catalog_cluster(catalog, "far"), NULL, &why));
        g_assert_cmpstr(why, ==, world.refusal);
        id = submit(&world, "away");
        world.refusal = NULL;
        put(&world, KIND_CLUSTER, "far", "{'credential':'z'}");
        house_barrier(world.house);
        g_assert_cmpint(world.made, ==, 3);
        sync_far(&world);
        script_wait(world.far, "prepare ", 1);
        script_say_kind(world.far, OBSERVED_PREPARED, id);
        script_wait(world.far, "start ", 1);
        end(&world, world.far, id);
        world_clear(&world);
}

/* The volume that an extension template brings. */
#define CLAIM(name)                                                                                          \
        "'origin':{'paddleflow':{'extensionTemplate':{'spec':{'volumes':[{'name':'a',"                       \
        "'persistentVolumeClaim':{'claimName':'" name "'}}]}}}}"

/* A job that comes to a queue later may have no more than one that is submitted to it. */
static void test_moving_in(void)
{
        static const struct {
                const char *asks, *says; /* NULL: it may come */
                bool admin;              /* may move it */
        } cases[] = {
                { "'name':'a'", NULL, true },
                { "'namespace':'team'", NULL, true },
                { "'namespace':'other'", "namespace: 'other' is not one of cluster 'far', which has team",
                  false },
                { CLAIM("mine"), NULL, true },
                { "'namespace':'team'," CLAIM("mine"), NULL, true },
                { CLAIM("homes"), "only administrators can request the claim of users' homes", true },
        };
        World world;

        world_init(&world);
        script_say_kind(world.house->script, OBSERVED_DISCONNECTED, NULL); /* what is here waits */
        put(&world, KIND_CLUSTER, "far",
            "{'namespaces':['team'],'setting':'{\\\"volumes\\\":{\\\"dc\\\":{\\\"claim\\\":\\\"homes\\\"}}}'"
            "}");
        house_barrier(world.house);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *spec = g_strdup_printf(
                        "{'command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}],%s}",
                        cases[i].asks);
                g_autofree char *id = house_submit_ok(world.house, spec);
                const JobChange user = { .queue = "away", .by = "ann" },
                                admin = { .queue = "away", .by = "root", .admin = true };
                g_autoptr(GError) error = NULL;

                g_assert_cmpint(house_change(world.house, id, &user, &error), ==, !cases[i].says);
                if (cases[i].says)
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                g_assert_cmpint(house_change(world.house, id, &admin, NULL), ==, cases[i].admin);
        }
        world_clear(&world);
}

static void say_nodes(World *world, bool first_is_ready, bool second_is_ready)
{
        const char *unready = "not ready: KubeletNotReady: no network yet";
        const RuntimeNode nodes[] = {
                { .name = (char *)"one",
                  .allocatable = { { 2000, 1ll << 30, 0 } },
                  .ready = first_is_ready,
                  .usable = first_is_ready,
                  .why = first_is_ready ? NULL : (char *)unready },
                { .name = (char *)"two",
                  .allocatable = { { 1000, 1ll << 30, 0 } },
                  .ready = second_is_ready,
                  .usable = second_is_ready,
                  .why = second_is_ready ? NULL : (char *)unready },
        };

        script_nodes(world->far, nodes, G_N_ELEMENTS(nodes));
}

static char *submit_members(World *world, int n, GError **error)
{
        g_autofree char *spec = g_strdup_printf("{'command':['true'],'queue':'away','framework':'plain',"
                                                "'roles':[{'name':'worker','replicas':%d,'cpu':'1'}]}",
                                                n);

        return house_submit(world->house, "root", spec, NULL, error);
}

static void assert_why(World *world, const char *id, const char *cause, const char *says)
{
        g_autoptr(Job) job = house_job(world->house, id);
        g_autoptr(json_t) reasons = engine_reasons(world->house->engine, job);
        const json_t *first = json_array_get(reasons, 0);

        g_assert_cmpstr(json_string_value(json_object_get(first, "cause")), ==, cause);
        g_assert_cmpstr(json_string_value(json_object_get(first, "message")), ==, says);
}

static void say_waits(World *world, const char *id, int index, const char *text)
{
        Observation said = { .kind = OBSERVED_WAITS, .exit_code = -1, .text = (char *)text };
        g_autofree char *task = task_of(id, 1, "worker", index);

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(world->far, &said);
}

/* Of a job as large as there may be; the most common reason stands first. */
static void test_many_members(void)
{
        enum { MANY = 10000 };
        const RuntimeNode node = { .name = (char *)"one",
                                   .allocatable = { { 2ll * MANY * 1000, 1ll << 50, 0 } },
                                   .ready = true,
                                   .usable = true };
        World world;
        g_autofree char *id = NULL;
        g_autoptr(GError) error = NULL;

        world_init(&world);
        script_nodes(world.far, &node, 1);
        sync_far(&world);
        id = submit_members(&world, MANY, &error);
        g_assert_no_error(error);
        script_wait(world.far, "start ", MANY);
        say_waits(&world, id, 7, "no node");
        say_waits(&world, id, 8, "no image");
        say_waits(&world, id, 9, "no image");
        house_barrier(world.house);
        assert_why(&world, id, "members", "admitted; 2 of 10000 members wait: no image");
        world_clear(&world);
}

/* Of more members than a program could be told of no job is begun; who is told of none may have more. */
static void test_told_of_all(void)
{
        static const char text[] = "{'command':['true'],'queue':'away','framework':'%s',"
                                   "'roles':[{'name':'%s','replicas':%d,'cpu':'1'}]}";
        enum { HOST = 1000, MOST = 130 }; /* with a comma each, of 131071 bytes */
        const RuntimeNode node = { .name = (char *)"one",
                                   .allocatable = { { 1ll << 40, 1ll << 50, 0 } },
                                   .ready = true,
                                   .usable = true };
        const struct {
                const char *framework, *role;
                int members;
                bool fits;
        } cases[] = { { "paddle-collective", "trainer", MOST + 1, false },
                      { "paddle-collective", "trainer", MOST, true },
                      { "tensorflow", "worker", MOST + 1, false },
                      { "plain", "worker", MOST + 1, true },
                      { "pytorch", "worker", MOST + 1, true } };
        g_autofree char *host = g_strnfill(HOST, 'h');
        World world;

        world_init(&world);
        script_nodes(world.far, &node, 1);
        script_address_is(world.far, host);
        sync_far(&world);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *spec =
                        g_strdup_printf(text, cases[i].framework, cases[i].role, cases[i].members);
                g_autofree char *id = house_submit(world.house, "root", spec, NULL, &error);

                g_assert_cmpint(!error, ==, cases[i].fits);
                if (error) {
                        g_assert_true(err_is(error, ERR_INVALID));
                        g_assert_nonnull(strstr(error->message, "roles: 131 members of role"));
                        g_assert_nonnull(strstr(error->message, "Ask for at most 130."));
                }
        }
        world_clear(&world);
}

/* What the nodes that cannot be used now would hold is waited for, and why is said. More is refused. */
static void test_nodes_that_are_not_ready(void)
{
        World world;
        g_autofree char *small = NULL, *large = NULL;
        g_autoptr(GError) error = NULL;

        world_init(&world);
        say_nodes(&world, false, false);
        sync_far(&world);
        small = submit_members(&world, 1, &error);
        g_assert_no_error(error);
        large = submit_members(&world, 3, &error);
        g_assert_no_error(error);
        assert_state(world.house, small, JOB_QUEUED);
        assert_why(&world, small, "no_nodes",
                   "2 of 2 nodes of cluster 'far' cannot be used: node 'one' is not ready: KubeletNotReady: "
                   "no network yet");
        g_assert_null(submit_members(&world, 4, &error));
        g_assert_true(err_is(error, ERR_INVALID));
        g_assert_nonnull(strstr(error->message, "4 cores; cluster 'far' has 3"));
        say_nodes(&world, true, false);
        script_say_kind(world.far, OBSERVED_NODES, NULL);
        script_wait(world.far, "start ", 1);
        end(&world, world.far, small);
        assert_why(&world, large, "no_nodes",
                   "1 of 2 nodes of cluster 'far' cannot be used: node 'two' is not ready: KubeletNotReady: "
                   "no network yet");
        say_nodes(&world, true, true);
        script_say_kind(world.far, OBSERVED_NODES, NULL);
        script_wait(world.far, "start ", 4);
        assert_state(world.house, large, JOB_STARTING);
        world_clear(&world);
}

/* What declares no CPU gets what fits beside the cluster's own pods, and the books say so as well. */
static void test_shares(void)
{
        const RuntimeNode nodes[] = {
                { .name = (char *)"one",
                  .allocatable = { { 2000, 1ll << 30, 0 } },
                  .others = { { 200, 0, 0 } },
                  .system = { { 200, 0, 0 } },
                  .ready = true,
                  .usable = true },
                { .name = (char *)"two",
                  .allocatable = { { 1000, 1ll << 30, 0 } },
                  .others = { { 100, 0, 0 } },
                  .system = { { 100, 0, 0 } },
                  .ready = true,
                  .usable = true },
        };
        const char *spec = "{'command':['true'],'queue':'away','framework':'plain',"
                           "'roles':[{'name':'worker','replicas':4}]}";
        World world;
        g_autofree char *first = NULL, *second = NULL;
        g_autoptr(Job) job = NULL;

        world_init(&world);
        script_nodes(world.far, nodes, G_N_ELEMENTS(nodes));
        sync_far(&world);
        first = house_submit_ok(world.house, spec);
        script_wait(world.far, "start ", 4);
        job = house_job(world.house, first);
        g_assert_cmpint(job->cpu_share, ==, 600);
        second = house_submit_ok(world.house, spec);
        assert_state(world.house, second, JOB_QUEUED);
        world_clear(&world);
}

static void say_placed(World *world, const char *task, const char *node)
{
        Observation said = { .kind = OBSERVED_PLACED, .exit_code = -1, .text = (char *)node };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(world->far, &said);
}

/* The cluster's own scheduler decides: what it says is shown, what our pass chose stays in the books. */
static void test_placed(void)
{
        World world;
        g_autofree char *id = NULL, *task = NULL, *events = NULL;
        g_autoptr(Job) before = NULL, placed = NULL, after = NULL;
        g_autoptr(GError) error = NULL;
        const char *other;

        world_init(&world);
        say_nodes(&world, true, true);
        sync_far(&world);
        id = submit_members(&world, 1, &error);
        g_assert_no_error(error);
        task = task_of(id, 1, "worker", 0);
        before = house_job(world.house, id);
        g_assert_nonnull(before->members[0].node);
        g_assert_null(before->members[0].reported_node);
        other = strcmp(before->members[0].node, "one") == 0 ? "two" : "one";
        say_placed(&world, task, other);
        say_placed(&world, task, other);
        house_barrier(world.house);
        placed = house_job(world.house, id);
        g_assert_cmpstr(placed->members[0].reported_node, ==, other);
        g_assert_cmpstr(placed->members[0].node, ==, before->members[0].node);
        house_close(world.house);
        open_world(&world);
        house_sync(world.house);
        after = house_job(world.house, id);
        g_assert_cmpstr(after->members[0].reported_node, ==, other);
        events = house_events(world.house, id);
        g_assert_cmpstr(events, ==, "job.queued job.starting member.placed");
        world_clear(&world);
}

/* A cluster may get its first node any time. */
static void test_no_nodes(void)
{
        World world;
        g_autofree char *id = NULL;
        g_autoptr(GError) error = NULL;

        world_init(&world);
        script_nodes(world.far, NULL, 0);
        sync_far(&world);
        id = submit_members(&world, 3, &error);
        g_assert_no_error(error);
        assert_why(&world, id, "no_nodes", "cluster 'far' has no node");
        say_nodes(&world, true, true);
        script_say_kind(world.far, OBSERVED_NODES, NULL);
        script_wait(world.far, "start ", 3);
        world_clear(&world);
}

/* A build that goes on while its cluster has no node counts in its queue, and nowhere on this machine. */
static void test_building_without_nodes(void)
{
        World world;
        g_autofree char *there = NULL, *here = NULL, *next = NULL;

        world_init(&world);
        put(&world, KIND_QUEUE, "away", "{'max':{'cpu':'1'}}");
        script_builder(world.far, &(Resources){ .cpu_milli = 1000 });
        script_prepared(world.far, false);
        sync_far(&world);
        there = house_submit_ok(world.house, "{'command':['true'],'queue':'away','requirements':'six',"
                                             "'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}");
        script_wait(world.far, "prepare ", 1);
        house_close(world.house);
        script_nodes(world.far, NULL, 0);
        open_world(&world);
        house_sync(world.house);
        sync_far(&world);
        here = house_submit_ok(world.house,
                               "{'command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'4'}]}");
        assert_state(world.house, here, JOB_STARTING);
        script_prepared(world.far, true);
        next = submit(&world, "away");
        say_nodes(&world, true, true);
        script_say_kind(world.far, OBSERVED_NODES, NULL);
        house_barrier(world.house);
        assert_state(world.house, next, JOB_QUEUED);
        assert_state(world.house, there, JOB_QUEUED);
        script_say_kind(world.far, OBSERVED_PREPARED, there);
        script_wait(world.far, "start ", 1);
        assert_state(world.house, there, JOB_STARTING);
        world_clear(&world);
}

typedef struct {
        char *name; /* of the object */
        GError *error;
        int n;
} Answer;

static void on_answer(json_t *object, const GError *error, void *arg)
{
        Answer *answer = arg;

        answer->n++;
        answer->name = g_strdup(json_string_value(json_object_get(object, "name")));
        answer->error = error ? g_error_copy(error) : NULL;
}

static RuntimeAsk *question(Answer *answer)
{
        RuntimeAsk *ask = g_new0(RuntimeAsk, 1);

        *ask = (RuntimeAsk){ .kind = g_strdup("ConfigMap"),
                             .name = g_strdup("words"),
                             .body = json_object(),
                             .answer = on_answer,
                             .arg = answer };
        return ask;
}

/* Each is answered once: by the cluster that is named, or by whoever finds that nobody will. */
static void test_questions(void)
{
        World world;
        Answer there = { 0 }, none = { 0 }, dropped = { 0 };

        world_init(&world);
        engine_ask(world.house->engine, "far", question(&there));
        engine_ask(world.house->engine, "none", question(&none));
        house_barrier(world.house);
        g_assert_cmpint(there.n, ==, 1);
        g_assert_no_error(there.error);
        g_assert_cmpstr(there.name, ==, "words");
        g_assert_cmpint(script_count(world.far, "ask ConfigMap words"), ==, 1);
        g_assert_cmpint(none.n, ==, 1);
        g_assert_true(err_is(none.error, ERR_UNAVAILABLE));
        runtime_ask_free(question(&dropped));
        g_assert_cmpint(dropped.n, ==, 1);
        g_assert_true(err_is(dropped.error, ERR_UNAVAILABLE));
        g_error_free(none.error);
        g_error_free(dropped.error);
        g_free(there.name);
        world_clear(&world);
}

static void assert_last(Script *script, const char *line)
{
        g_autoptr(GPtrArray) lines = script_lines(script, "queues");

        g_assert_cmpint(lines->len, >, 0);
        g_assert_cmpstr(lines->pdata[lines->len - 1], ==, line);
}

/* It hears of the queues whose jobs come to it, and of no others. */
static void test_queues(void)
{
        World world;

        world_init(&world);
        assert_last(world.far, "queues away");
        put(&world, KIND_QUEUE, "near", "{'everyone':true}");
        put(&world, KIND_QUEUE, "second", "{'cluster':'far'}");
        house_barrier(world.house);
        assert_last(world.far, "queues away second");
        g_assert_cmpint(script_count(world.house->script, "queues"), ==, 0);
        world_clear(&world);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/clusters/each its own", test_each_its_own);
        g_test_add_func("/clusters/one is away", test_away);
        g_test_add_func("/clusters/says that it is away", test_says_away);
        g_test_add_func("/clusters/a restart", test_restart);
        g_test_add_func("/clusters/a task of another", test_stranger);
        g_test_add_func("/clusters/opening and closing", test_opening);
        g_test_add_func("/clusters/opening without preparations", test_opening_without_preparations);
        g_test_add_func("/clusters/nodes that are not ready", test_nodes_that_are_not_ready);
        g_test_add_func("/clusters/shares", test_shares);
        g_test_add_func("/clusters/placed", test_placed);
        g_test_add_func("/clusters/no nodes", test_no_nodes);
        g_test_add_func("/clusters/building without nodes", test_building_without_nodes);
        g_test_add_func("/clusters/questions", test_questions);
        g_test_add_func("/clusters/queues", test_queues);
        g_test_add_func("/clusters/moving in", test_moving_in);
        g_test_add_func("/clusters/many members", test_many_members);
        g_test_add_func("/clusters/told of all", test_told_of_all);
        return g_test_run();
}
