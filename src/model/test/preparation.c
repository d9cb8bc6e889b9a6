/* The kinds of preparations, and the state of a list. */
#include "model/preparation.h"

#include <string.h>

#include "base/json.h"

/* Words that clients and the store know. */
static void test_names(void)
{
        static const char *const words[] = { "none", "building", "ready", "failed", "waiting" };
        PreparationKind kind;

        G_STATIC_ASSERT(G_N_ELEMENTS(words) == PREPARATION_STATES);
        for (int state = 0; state < PREPARATION_STATES; state++)
                g_assert_cmpstr(preparation_state_name(state), ==, words[state]);
        for (int k = 0; k < PREPARE_KINDS; k++)
                g_assert_true(preparation_parse(preparation_info(k)->name, &kind) && (int)kind == k);
        g_assert_false(preparation_parse("", &kind));
}

/* W waiting, B being built, R ready, F failed. */
static void test_state(void)
{
        static const struct {
                const char *list;
                PreparationState state;
                bool ready;
        } cases[] = {
                { "", PREPARATION_NONE, true },       { "R", PREPARATION_READY, true },
                { "RR", PREPARATION_READY, true },    { "B", PREPARATION_RUNNING, false },
                { "RB", PREPARATION_RUNNING, false }, { "BR", PREPARATION_RUNNING, false },
                { "W", PREPARATION_WAITING, false },  { "BW", PREPARATION_WAITING, false },
                { "WR", PREPARATION_WAITING, false }, { "F", PREPARATION_FAILED, false },
                { "BF", PREPARATION_FAILED, false },  { "FW", PREPARATION_FAILED, false },
                { "FR", PREPARATION_FAILED, false },
        };
        static const guint8 states[] = { ['W'] = PREPARATION_WAITING,
                                         ['B'] = PREPARATION_RUNNING,
                                         ['R'] = PREPARATION_READY,
                                         ['F'] = PREPARATION_FAILED };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Preparation list[PREPARE_KINDS] = { 0 };
                int n = (int)strlen(cases[i].list);

                for (int k = 0; k < n; k++)
                        list[k] = (Preparation){ .kind = (guint8)k, .state = states[(int)cases[i].list[k]] };
                g_assert_cmpint(preparations_state(list, n), ==, cases[i].state);
                g_assert_true(preparations_are_ready(list, n) == cases[i].ready);
        }
}

/* Jobs with the same recipe share one preparation. An environment does not depend on image and package. */
static void test_recipe(void)
{
        Spec a = { .requirements = (char *)"six", .image = (char *)"i", .package = (char *)"p" }, b = a;
        g_autofree char *environment = preparation_info(PREPARE_ENVIRONMENT)->recipe(&a),
                        *image = preparation_info(PREPARE_IMAGE)->recipe(&a), *other = NULL, *same = NULL,
                        *setup = NULL;

        b.package = (char *)"q";
        same = preparation_info(PREPARE_ENVIRONMENT)->recipe(&b);
        other = preparation_info(PREPARE_IMAGE)->recipe(&b);
        g_assert_cmpstr(environment, ==, same);
        g_assert_cmpstr(image, !=, other);
        b.setup = (char *)"make";
        setup = preparation_info(PREPARE_ENVIRONMENT)->recipe(&b);
        g_assert_cmpstr(environment, !=, setup);
}

static void test_needs(void)
{
        const Spec plain = { .package = (char *)"p" }, packages = { .requirements = (char *)"six" },
                   setup = { .setup = (char *)"make" };

        for (int kind = 0; kind < PREPARE_KINDS; kind++) {
                g_assert_false(preparation_info(kind)->needs(&plain));
                g_assert_true(preparation_info(kind)->needs(&packages));
                g_assert_true(preparation_info(kind)->needs(&setup));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/preparation/names", test_names);
        g_test_add_func("/preparation/state", test_state);
        g_test_add_func("/preparation/recipe", test_recipe);
        g_test_add_func("/preparation/needs", test_needs);
        return g_test_run();
}
