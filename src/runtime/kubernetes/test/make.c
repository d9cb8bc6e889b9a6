/* Makings while nobody answers. What API servers say of them is tested against real ones (t/kube). */
#include "runtime/kubernetes/object/make.h"

#include "base/json.h"
#include "kube/test/rogue.h"
#include "podspec/objects.h"

enum {
        PLACES = 128, /* doc/internals/kubernetes.md, "Many pods" */
        MAKINGS = PLACES + 12,
        ROUNDS_MS = 2500, /* two tries */
};

static const RogueRow silent[] = { { NULL, 0, 0, NULL, 0 } };

static void on_done(const GError *error, void *arg)
{
        g_assert_not_reached();
}

static gboolean set_true(void *arg)
{
        *(bool *)arg = true;
        return G_SOURCE_REMOVE;
}

static int idle_of(Making *const *makings)
{
        int n = 0;

        for (int i = 0; i < MAKINGS; i++)
                n += making_is_idle(makings[i]);
        return n;
}

/* Who gets no answer keeps its place, and the others are not asked for. */
static void test_outage(void)
{
        KubeClientOptions options = { .retries = 1 };
        g_autoptr(GHashTable) gates = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        MakingRoom *room = making_room_new();
        Making *makings[MAKINGS];
        bool over = false;
        Rogue rogue;

        rogue_start(&rogue, silent);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", &options);
        rogue_stop(&rogue);
        for (int i = 0; i < MAKINGS; i++) {
                g_autofree char *name = g_strdup_printf("m-%d", i);
                MakingConfig config = {
                        .client = client, .room = room, .gates = gates, .done = on_done, .waits = on_done
                };
                json_t *objects = json_array();

                json_array_append_new(objects, podspec_object(&kube_config_maps, "n", name, NULL));
                makings[i] = making_new(&config, objects);
        }
        g_assert_cmpint(idle_of(makings), ==, MAKINGS - PLACES);
        g_timeout_add(ROUNDS_MS, set_true, &over);
        run_until(over);
        g_assert_cmpint(idle_of(makings), ==, MAKINGS - PLACES);
        g_assert_true(making_is_in_doubt(makings[0]));
        for (int i = 0; i < MAKINGS; i++)
                making_free(makings[i]);
        making_room_free(room);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/make/an outage", test_outage);
        return g_test_run();
}
