/* Every order of events for small jobs: from a job that was just made, each pod may take any step of its life
 * at any time, pods may vanish, and the owner may change the job; after each event the controller acts until
 * it rests. Worlds that were seen before are not entered again, so the search is exhaustive. world.c asserts
 * at each action that it may be done (nothing twice, never more pods than asked, no write that changes
 * nothing); here, at rest: nothing more is written, an end is final, and the phase is what the pods say. */
#include "operator/test/world.h"

#include <string.h>

enum { WORLDS_MAX = 200000 };

#define POD "{\"spec\": {\"containers\": [{\"name\": \"c\"}]}}"

static const struct {
        const char *from, *to;
} steps[] = {
        { "pending", "coord" },     { "pending", "failed" },  { "coord", "running" },
        { "coord", "failed" },      { "running", "unready" }, { "unready", "running" },
        { "running", "succeeded" }, { "running", "failed" },  { "running", "unknown" },
        { "unknown", "running" },
};

typedef struct {
        GHashTable *seen;
        GQueue *open;               /* World * */
        const char *const *changes; /* of the spec, as stories; NULL-terminated */
} Search;

static const char *mark_of(const json_t *pod)
{
        return json_string_value(json_object_get(pod, "mark"));
}

/* Marks pods with the step of their life they are in; the operator does not look at it. */
static void mark_new(World *world)
{
        const char *name;
        json_t *pod;

        json_object_foreach(json_object_get(world->state, "pods"), name, pod) {
                if (!mark_of(pod))
                        json_object_set_new(pod, "mark", json_string("pending"));
        }
}

static const char *phase_of(const World *world)
{
        const char *phase = kube_get_text(world->state, "job.status.phase");

        return phase ? phase : "";
}

static bool is_final(const char *phase)
{
        return strcmp(phase, "Completed") == 0 || strcmp(phase, "Failed") == 0;
}

static gint64 asked_of(const World *world)
{
        return kube_get_int(world->state, "job.spec.worker.replicas", 0) +
               kube_get_int(world->state, "job.spec.ps.replicas", 0);
}

/* What the pods say, for those phases in which they say it unmistakably. */
static void check_phase(const World *world, const char *before)
{
        const char *phase = phase_of(world), *name;
        json_t *pod;
        guint n = 0, running = 0, succeeded = 0, failed = 0;

        if (is_final(before)) {
                g_assert_cmpstr(phase, ==, before);
                return;
        }
        json_object_foreach(json_object_get(world->state, "pods"), name, pod) {
                n++;
                running += strcmp(mark_of(pod), "running") == 0;
                succeeded += strcmp(mark_of(pod), "succeeded") == 0;
                failed += strcmp(mark_of(pod), "failed") == 0;
        }
        if (failed > 0)
                g_assert_cmpstr(phase, ==, "Failed");
        else if (!is_final(phase))
                g_assert_cmpuint(n, ==, (guint)asked_of(world));
        if (n > 0 && running == n && !is_final(phase)) {
                g_assert_cmpstr(phase, ==, "Running");
                g_assert_nonnull(kube_get(world->state, "map.data"));
        }
        if (n > 0 && succeeded == n && n == (guint)asked_of(world))
                g_assert_cmpstr(phase, ==, "Completed");
}

/* Takes `world`. */
static void enter(Search *search, World *world, const char *before)
{
        char *key;

        world_settle(world);
        mark_new(world);
        world_settle(world);
        g_assert_cmpuint(world->writes, ==, 0); /* steady */
        check_phase(world, before);
        key = json_dumps(world->state, JSON_SORT_KEYS | JSON_COMPACT);
        if (g_hash_table_contains(search->seen, key)) {
                g_free(key);
                world_free(world);
                return;
        }
        g_hash_table_add(search->seen, key);
        g_assert_cmpuint(g_hash_table_size(search->seen), <, WORLDS_MAX);
        g_queue_push_tail(search->open, world);
}

static void step_pods(Search *search, const World *world)
{
        const char *name;
        json_t *pod;

        json_object_foreach(json_object_get(world->state, "pods"), name, pod) {
                World *without = world_copy(world);

                world_delete_pod(without, name);
                enter(search, without, phase_of(world));
                for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
                        World *next;

                        if (strcmp(mark_of(pod), steps[i].from) != 0)
                                continue;
                        next = world_copy(world);
                        world_set_pod(next, name, steps[i].to);
                        json_object_set_new(json_object_get(json_object_get(next->state, "pods"), name),
                                            "mark", json_string(steps[i].to));
                        enter(search, next, phase_of(world));
                }
        }
}

static void step_owner(Search *search, const World *world)
{
        for (const char *const *change = search->changes; *change; change++) {
                World *next = world_copy(world);

                world_tell(next, *change);
                enter(search, next, phase_of(world));
        }
}

static guint explore(const char *spec, const char *const *changes, bool volcano)
{
        Search search = { .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                          .open = g_queue_new(),
                          .changes = changes };
        World *first = world_new(spec), *world;
        guint n;

        first->steady = true;
        first->rules.init_image = "";
        first->rules.volcano = volcano;
        if (volcano)
                world_tell(first, "go; group Inqueue");
        enter(&search, first, "");
        while ((world = g_queue_pop_head(search.open))) {
                step_pods(&search, world);
                step_owner(&search, world);
                world_free(world);
        }
        n = g_hash_table_size(search.seen);
        g_test_message("%u worlds", n);
        g_hash_table_unref(search.seen);
        g_queue_free(search.open);
        return n;
}

static const char *const no_change[] = { NULL };
static const char *const scaled[] = { "spec {\"spec\": {\"worker\": {\"replicas\": 1}}}",
                                      "spec {\"spec\": {\"worker\": {\"replicas\": 2}}}", NULL };

static void test_workers(void)
{
        static const char *const policies[] = { "", "Always", "Never", "OnFailure", "OnCompletion" };

        for (gsize i = 0; i < G_N_ELEMENTS(policies); i++) {
                g_autofree char *spec =
                        g_strdup_printf("{\"cleanPodPolicy\": \"%s\", \"worker\": {\"replicas\": 2, "
                                        "\"template\": " POD "}}",
                                        policies[i]);

                g_assert_cmpuint(explore(spec, no_change, false), >, 30);
        }
}

static void test_roles(void)
{
        g_assert_cmpuint(
                explore("{\"cleanPodPolicy\": \"Never\", \"ps\": {\"replicas\": 1, \"template\": " POD
                        "}, \"worker\": {\"replicas\": 1, \"template\": " POD "}}",
                        no_change, false),
                >, 30);
}

static void test_scaling(void)
{
        g_assert_cmpuint(explore("{\"worker\": {\"replicas\": 2, \"template\": " POD "}}", scaled, false), >,
                         50);
}

static void test_gang(void)
{
        g_assert_cmpuint(explore("{\"worker\": {\"replicas\": 2, \"template\": " POD "}}", no_change, true),
                         >, 30);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/operator/orders/workers", test_workers);
        g_test_add_func("/operator/orders/roles", test_roles);
        g_test_add_func("/operator/orders/scaling", test_scaling);
        g_test_add_func("/operator/orders/gang", test_gang);
        return g_test_run();
}
