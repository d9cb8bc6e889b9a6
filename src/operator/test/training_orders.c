/* Every order of events for small TrainingJobs: from a job that was just made, ReplicaSets may become ready
 * or not, trainers may run, succeed, fail and be made anew, others may change the trainers' number, somebody
 * may delete what was made, and the server may refuse what is to be made; after each event the controller
 * acts until it rests. Worlds that were seen before are not entered again, so the search is exhaustive. What
 * may be done at each action is asserted by training_world.c; here, at rest: nothing more is written, an end
 * is final and has released what it must, and the phase is what doc/guide/trainingjob.md, "Phases", says of
 * the counts. */
#include "operator/test/training_world.h"
#include "operator/test/tree.h"

#include <string.h>

#include "podspec/objects.h"

enum { WORLDS_MAX = 200000, FAILURES_MAX = 4 };

typedef struct {
        gint64 active, succeeded, failed, parallelism;
} Counts;

typedef struct {
        GHashTable *seen;
        GQueue *open; /* TrainingWorld * */
        gint64 least; /* trainers at the beginning */
        gint64 most;  /* trainers that others may ask for; as many as at the beginning: none do */
        bool tolerant;
        guint ends[2]; /* worlds that have succeeded, failed */
} Search;

static Counts counts_of(const TrainingWorld *world)
{
        const json_t *job = training_find(world, "trainer");

        return (Counts){ .active = kube_get_int(job, "status.active", 0),
                         .succeeded = kube_get_int(job, "status.succeeded", 0),
                         .failed = kube_get_int(job, "status.failed", 0),
                         .parallelism = kube_get_int(job, "spec.parallelism", 0) };
}

static bool is_final(const char *phase)
{
        return strcmp(phase, "succeeded") == 0 || strcmp(phase, "failed") == 0;
}

/* ---- what doc/guide/trainingjob.md says ---- */

static const char *due_phase(const Search *search, const TrainingWorld *world)
{
        Counts counts = counts_of(world);

        if (world->refusal)
                return "failed";
        if (!training_find(world, "trainer"))
                return NULL; /* creating, or running when it was made once */
        if (search->tolerant)
                return counts.failed >= counts.parallelism          ? "failed"
                       : counts.succeeded > 0 && counts.active == 0 ? "succeeded"
                                                                    : "running";
        return counts.failed > 0                                              ? "failed"
               : counts.succeeded == counts.parallelism && counts.active == 0 ? "succeeded"
                                                                              : "running";
}

static void check_rest(const Search *search, const TrainingWorld *world, const char *before, const char *due)
{
        const char *phase = training_phase(world);

        if (is_final(before))
                g_assert_cmpstr(phase, ==, before);
        else if (due)
                g_assert_cmpstr(phase, ==, due);
        else
                g_assert_cmpstr(phase, ==, strcmp(before, "running") == 0 ? "running" : phase);
        if (!is_final(phase))
                return;
        g_assert_null(training_find(world, "master"));
        g_assert_null(training_find(world, "pserver"));
        if (strcmp(phase, "failed") == 0 && training_find(world, "trainer"))
                g_assert_cmpint(counts_of(world).parallelism, ==, 0);
}

/* Takes `world`. `due`: as doc/guide/trainingjob.md says of the counts before the controller acted. */
static void enter(Search *search, TrainingWorld *world, const char *before)
{
        const char *due = due_phase(search, world);
        char *key;

        training_settle(world);
        if (world->refusal)
                due = "failed";
        if (!due && training_find(world, "trainer"))
                due = "running";
        training_settle(world);
        g_assert_cmpuint(world->writes, ==, 0); /* steady */
        check_rest(search, world, before, due);
        key = json_dumps(world->state, JSON_SORT_KEYS | JSON_COMPACT);
        if (g_hash_table_contains(search->seen, key)) {
                g_free(key);
                training_world_free(world);
                return;
        }
        g_hash_table_add(search->seen, key);
        g_assert_cmpuint(g_hash_table_size(search->seen), <, WORLDS_MAX);
        search->ends[0] += strcmp(training_phase(world), "succeeded") == 0;
        search->ends[1] += strcmp(training_phase(world), "failed") == 0;
        g_queue_push_tail(search->open, world);
}

/* ---- events ---- */

static void step_sets(Search *search, const TrainingWorld *world)
{
        static const char *const roles[] = { "master", "pserver" };

        for (gsize i = 0; i < G_N_ELEMENTS(roles); i++) {
                const json_t *set = training_find(world, roles[i]);
                gint64 replicas = kube_get_int(set, "spec.replicas", 0);

                for (int ready = 0; set && ready <= replicas; ready++) {
                        TrainingWorld *next = training_world_copy(world);

                        training_ready(next, roles[i], ready);
                        enter(search, next, training_phase(world));
                }
        }
}

static void step_trainers(Search *search, const TrainingWorld *world)
{
        Counts was = counts_of(world);
        const Counts next[] = {
                { was.active + 1, was.succeeded, was.failed, 0 },     /* a pod is made */
                { was.active - 1, was.succeeded + 1, was.failed, 0 }, /* succeeds */
                { was.active - 1, was.succeeded, was.failed + 1, 0 }, /* fails */
                { was.active - 1, was.succeeded, was.failed, 0 },     /* vanishes, uncounted */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(next); i++) {
                TrainingWorld *then;

                if (!training_find(world, "trainer") || next[i].active < 0 || next[i].failed > FAILURES_MAX ||
                    next[i].active + next[i].succeeded > was.parallelism)
                        continue;
                then = training_world_copy(world);
                training_count(then, (int)next[i].active, (int)next[i].succeeded, (int)next[i].failed);
                enter(search, then, training_phase(world));
        }
}

static void step_scale(Search *search, const TrainingWorld *world)
{
        for (gint64 count = search->least; count <= search->most; count++) {
                g_autoptr(json_t) change = json_pack("{s:{s:I}}", "spec", "parallelism", (json_int_t)count);
                TrainingWorld *next;

                if (!training_find(world, "trainer") || is_final(training_phase(world)))
                        return;
                next = training_world_copy(world);
                tree_merge(training_find(next, "trainer"), change);
                enter(search, next, training_phase(world));
        }
}

static void step_deletions(Search *search, const TrainingWorld *world)
{
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++) {
                const char *name = training_role_name(role);
                TrainingWorld *next;

                if (!training_find(world, name))
                        continue;
                next = training_world_copy(world);
                json_object_del(next->state, name);
                enter(search, next, training_phase(world));
        }
}

/* What is made next, is refused: when the set before becomes ready, or one vanishes. */
static void step_refusal(Search *search, const TrainingWorld *world)
{
        static const char *const roles[] = { "master", "pserver" };

        for (gsize i = 0; i < G_N_ELEMENTS(roles); i++) {
                const json_t *set = training_find(world, roles[i]);
                TrainingWorld *next;

                if (!set || is_final(training_phase(world)))
                        continue;
                next = training_world_copy(world);
                next->refuses = true;
                training_ready(next, roles[i], (int)kube_get_int(set, "spec.replicas", 0));
                training_settle(next);
                next->refuses = false;
                enter(search, next, training_phase(world));
        }
}

static void explore(Search *search, const char *spec)
{
        TrainingWorld *first = training_world_new(spec), *world;

        search->seen = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);
        search->open = g_queue_new();
        first->steady = true;
        enter(search, first, "");
        while ((world = g_queue_pop_head(search->open))) {
                step_sets(search, world);
                step_trainers(search, world);
                if (search->most > search->least)
                        step_scale(search, world);
                step_deletions(search, world);
                step_refusal(search, world);
                training_world_free(world);
        }
        g_test_message("%u worlds, %u succeeded, %u failed", g_hash_table_size(search->seen), search->ends[0],
                       search->ends[1]);
        g_assert_cmpuint(search->ends[0], >, 0);
        g_assert_cmpuint(search->ends[1], >, 0);
        g_hash_table_unref(search->seen);
        g_queue_free(search->open);
}

#define TRAINERS(min, max) "\"trainer\": {\"min-instance\": " #min ", \"max-instance\": " #max "}"

static void test_plain(void)
{
        Search search = { .least = 2, .most = 2 };

        explore(&search, "{" TRAINERS(2, 2) ", \"pserver\": {\"min-instance\": 2}}");
}

static void test_without_pservers(void)
{
        Search search = { .least = 3, .most = 3 };

        explore(&search, "{" TRAINERS(3, 3) "}");
}

static void test_tolerant(void)
{
        Search search = { .least = 2, .most = 2, .tolerant = true };

        explore(&search,
                "{\"fault_tolerant\": true, " TRAINERS(2, 2) ", \"pserver\": {\"min-instance\": 1}}");
}

static void test_elastic(void)
{
        Search search = { .least = 1, .most = 3, .tolerant = true };

        explore(&search,
                "{\"fault_tolerant\": true, " TRAINERS(1, 3) ", \"pserver\": {\"min-instance\": 1}}");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/operator/training-orders/plain", test_plain);
        g_test_add_func("/operator/training-orders/without-pservers", test_without_pservers);
        g_test_add_func("/operator/training-orders/tolerant", test_tolerant);
        g_test_add_func("/operator/training-orders/elastic", test_elastic);
        return g_test_run();
}
