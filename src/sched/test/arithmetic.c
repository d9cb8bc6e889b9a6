/* Vectors for the arithmetic of resources that scheduling stands on, written from the rules of
 * doc/reference/scheduling.md, "Arithmetic of resources" (and what doc/guide/scheduling.md 2 makes stricter:
 * overflow and negative values are errors). */
#include <string.h>

#include "base/err.h"
#include "model/resources.h"

/* Braces for a union of a struct. */
#define NONE                                                                                                 \
        {                                                                                                    \
                .cpu_milli = 0                                                                               \
        }

static const gint64 KI = 1024, MI = 1024 * 1024, GI = 1024 * 1024 * 1024;

/* grammar: number + n u m "" k M G T P E, or Ki Mi Gi Ti Pi Ei. internal form: cpu in milli-cores, everything
 * else in base units */
static void test_grammar(void)
{
        const struct {
                int kind;
                const char *text;
                gint64 amount; /* -1: refused */
        } cases[] = {
                { RESOURCE_CPU, "500m", 500 },
                { RESOURCE_CPU, "2", 2000 },
                { RESOURCE_CPU, "1k", 1000000 },
                { RESOURCE_CPU, "2000000u", 2000 },
                { RESOURCE_CPU, "3000000000n", 3000 },
                { RESOURCE_MEMORY, "1Gi", 1073741824 },
                { RESOURCE_MEMORY, "1Ki", KI },
                { RESOURCE_MEMORY, "3Mi", 3 * MI },
                { RESOURCE_MEMORY, "1Ti", 1024 * GI },
                { RESOURCE_MEMORY, "1Pi", KI * KI * GI },
                { RESOURCE_MEMORY, "1Ei", KI * KI * KI * GI },
                { RESOURCE_MEMORY, "1k", 1000 },
                { RESOURCE_MEMORY, "1M", 1000000 },
                { RESOURCE_MEMORY, "1G", 1000000000 },
                { RESOURCE_MEMORY, "1T", 1000000000000 },
                { RESOURCE_MEMORY, "1P", 1000000000000000 },
                { RESOURCE_MEMORY, "1E", 1000000000000000000 },
                { RESOURCE_MEMORY, "12", 12 },
                { RESOURCE_STORAGE, "10Gi", 10 * GI },
                { RESOURCE_GPU, "0", 0 },
                { RESOURCE_GPU, "8", 8 },
                /* more than 2^63 - 1, and what is not in the grammar */
                { RESOURCE_MEMORY, "8Ei", -1 },
                { RESOURCE_MEMORY, "10E", -1 },
                { RESOURCE_CPU, "10P", -1 },
                { RESOURCE_GPU, "9223372036854775808", -1 },
                { RESOURCE_MEMORY, "1K", -1 },
                { RESOURCE_MEMORY, "1mi", -1 },
                { RESOURCE_MEMORY, "1 Gi", -1 },
                { RESOURCE_MEMORY, "Gi", -1 },
                { RESOURCE_MEMORY, "1GiB", -1 },
                { RESOURCE_CPU, "-1", -1 },
                { RESOURCE_GPU, "-1", -1 },
                { RESOURCE_CPU, "one", -1 },
        };

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                gint64 amount = -7;
                bool ok = quantity_parse("what", cases[i].kind, cases[i].text, &amount, &error);

                g_test_message("%d: %s", cases[i].kind, cases[i].text);
                g_assert_cmpint(ok, ==, cases[i].amount >= 0);
                if (ok)
                        g_assert_cmpint(amount, ==, cases[i].amount);
                else
                        g_assert_true(err_is(error, ERR_INVALID) && strstr(error->message, "what"));
        }
}

/* What is printed reads as the same amount again, whatever the amount. */
static void test_round_trip(void)
{
        static const int kinds[] = { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_GPU, RESOURCE_STORAGE };
        gint64 amount = 1;

        for (int step = 0; step < 4000; step++) {
                for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
                        g_autofree char *text = quantity_format(kinds[i], amount);
                        gint64 again = -1;

                        g_assert_true(quantity_parse("what", kinds[i], text, &again, NULL));
                        g_assert_cmpint(again, ==, amount);
                }
                amount = amount > G_MAXINT64 / 3 ? step : amount + amount / 2 + step % 3;
        }
}

/* printing memory: decimal suffix when divisible by 1000, else binary suffix */
static void test_printing(void)
{
        const struct {
                int kind;
                gint64 amount;
                const char *text;
        } cases[] = {
                { RESOURCE_CPU, 2000, "2" },
                { RESOURCE_CPU, 500, "500m" },
                { RESOURCE_CPU, 1500, "1500m" },
                { RESOURCE_MEMORY, GI, "1Gi" },
                { RESOURCE_MEMORY, 20 * GI, "20Gi" },
                { RESOURCE_MEMORY, 64 * MI, "64Mi" },
                { RESOURCE_GPU, 8, "8" },
        };

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = quantity_format(cases[i].kind, cases[i].amount);

                g_assert_cmpstr(text, ==, cases[i].text);
        }
}

/* add, sub: per kind; missing = 0. scaling: int64 × replicas, overflow is an error that leaves the sum alone.
 */
static void test_add(void)
{
        const struct {
                Resources sum, r;
                gint64 n;
                bool ok;
                Resources result;
        } cases[] = {
                { { .cpu_milli = 1000 }, { .memory = GI }, 1, true, { .cpu_milli = 1000, .memory = GI } },
                { { .cpu_milli = 1000 },
                  { .cpu_milli = 500, .gpus = 2 },
                  3,
                  true,
                  { .cpu_milli = 2500, .gpus = 6 } },
                { { .cpu_milli = 1 }, { .cpu_milli = 5 }, 0, true, { .cpu_milli = 1 } },
                { { .memory = G_MAXINT64 - 1 }, { .memory = 1 }, 1, true, { .memory = G_MAXINT64 } },
                { { .memory = G_MAXINT64 }, { .memory = 1 }, 1, false, { .memory = G_MAXINT64 } },
                { { .gpus = 1 }, { .cpu_milli = 1, .memory = G_MAXINT64 / 2 }, 3, false, { .gpus = 1 } },
                { { .gpus = 1 }, { .cpu_milli = G_MAXINT64 }, 2, false, { .gpus = 1 } },
        };

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                Resources sum = cases[i].sum;

                g_test_message("case %u", i);
                g_assert_cmpint(resources_add(&sum, &cases[i].r, cases[i].n), ==, cases[i].ok);
                g_assert_true(resources_equal(&sum, &cases[i].result));
        }
}

static void test_subtract(void)
{
        Resources sum = { .cpu_milli = 2500, .memory = GI, .gpus = 6 };

        resources_subtract(&sum, &(Resources){ .cpu_milli = 500, .gpus = 6 });
        g_assert_true(resources_equal(&sum, &(Resources){ .cpu_milli = 2000, .memory = GI }));
        resources_subtract(&sum, &(Resources){ .cpu_milli = 2000, .memory = GI });
        g_assert_true(resources_is_zero(&sum));
}

/* lessEqual(a, b): checks only the kinds of a; empty a <= anything; non-empty a against empty b is false */
static void test_less_equal(void)
{
        const struct {
                Resources a, b;
                int lacking; /* the first kind; -1: none, it fits */
        } cases[] = {
                { NONE, NONE, -1 },
                { NONE, { .cpu_milli = 1 }, -1 },
                { { .cpu_milli = 1 }, NONE, RESOURCE_CPU },
                { { .cpu_milli = 1000 }, { .cpu_milli = 1000 }, -1 },
                { { .cpu_milli = 1001 }, { .cpu_milli = 1000 }, RESOURCE_CPU },
                { { .memory = 5 }, { .cpu_milli = 1000 }, RESOURCE_MEMORY },
                { { .gpus = 2 }, { .cpu_milli = 0, .gpus = 2 }, -1 },
                { { .cpu_milli = 1, .gpus = 3 }, { .cpu_milli = 1, .gpus = 2 }, RESOURCE_GPU },
                { { .storage = G_MAXINT64 }, { .storage = RESOURCE_UNLIMITED }, -1 },
                /* a kind that is not asked for does not matter, even when it is overdrawn */
                { { .cpu_milli = 1 }, { .cpu_milli = 1, .memory = -5 }, -1 },
        };

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_test_message("case %u", i);
                g_assert_cmpint(resources_lacking(&cases[i].a, &cases[i].b), ==, cases[i].lacking);
                g_assert_cmpint(resources_fit(&cases[i].a, &cases[i].b), ==, cases[i].lacking < 0);
        }
}

/* names in JSON input: cpu, mem or memory, storage, scalarResources{} */
static void test_names(void)
{
        const struct {
                const char *text;
                bool ok;
                guint32 said;
                Resources amount;
        } cases[] = {
                { "{\"cpu\": \"500m\", \"mem\": \"1Gi\"}",
                  true,
                  1u << RESOURCE_CPU | 1u << RESOURCE_MEMORY,
                  { .cpu_milli = 500, .memory = GI } },
                { "{\"cpu\": 2, \"memory\": \"1Gi\", \"storage\": \"5k\"}",
                  true,
                  1u << RESOURCE_CPU | 1u << RESOURCE_MEMORY | 1u << RESOURCE_STORAGE,
                  { .cpu_milli = 2000, .memory = GI, .storage = 5000 } },
                { "{\"scalarResources\": {\"nvidia.com/gpu\": \"2\"}}",
                  true,
                  1u << RESOURCE_GPU,
                  { .gpus = 2 } },
                { "{\"nvidia.com/gpu\": 1}", true, 1u << RESOURCE_GPU, { .gpus = 1 } },
                { "{\"cpu\": 0}", true, 1u << RESOURCE_CPU, NONE },
                { "{}", true, 0, NONE },
                { "null", true, 0, NONE },
                { "{\"cpu\": \"-1\"}", false, 0, NONE },
                { "{\"cpu\": -1}", false, 0, NONE },
                { "{\"memory\": \"16Ei\"}", false, 0, NONE },
                { "{\"cpu\": []}", false, 0, NONE },
                { "{\"unheard/of\": 1}", false, 0, NONE },
                { "{\"scalarResources\": {\"unheard/of\": 1}}", false, 0, NONE },
                { "{\"scalarResources\": 1}", false, 0, NONE },
                { "[]", false, 0, NONE },
        };

        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *wrapped = g_strdup_printf("[%s]", cases[i].text);
                g_autoptr(json_t) list = json_parse(wrapped, strlen(wrapped), NULL);
                g_autoptr(GError) error = NULL;
                ResourceLimits limits = { 0 };
                bool ok = limits_parse("max", json_array_get(list, 0), false, &limits, &error);

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(ok, ==, cases[i].ok);
                if (!ok) {
                        g_assert_true(err_is(error, ERR_INVALID) && strstr(error->message, "max"));
                        continue;
                }
                g_assert_cmpint(limits.said, ==, cases[i].said);
                g_assert_true(resources_equal(&limits.amount, &cases[i].amount));
        }
}

/* What a max does not name is unlimited, what a min does not name is nothing (doc/guide/scheduling.md 2). */
static void test_flat(void)
{
        ResourceLimits limits = { .amount = { .cpu_milli = 5 },
                                  .said = 1u << RESOURCE_CPU | 1u << RESOURCE_GPU };
        Resources max = limits_flat(&limits, RESOURCE_UNLIMITED), min = limits_flat(&limits, 0);

        g_assert_true(max.cpu_milli == 5 && max.gpus == 0 && max.memory == RESOURCE_UNLIMITED);
        g_assert_true(resources_equal(&min, &(Resources){ .cpu_milli = 5 }));
        g_assert_true(resources_fit(&(Resources){ .memory = G_MAXINT64 }, &max));
        g_assert_cmpint(resources_lacking(&(Resources){ .gpus = 1 }, &max), ==, RESOURCE_GPU);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/arithmetic/grammar", test_grammar);
        g_test_add_func("/arithmetic/round-trip", test_round_trip);
        g_test_add_func("/arithmetic/printing", test_printing);
        g_test_add_func("/arithmetic/add", test_add);
        g_test_add_func("/arithmetic/subtract", test_subtract);
        g_test_add_func("/arithmetic/less-equal", test_less_equal);
        g_test_add_func("/arithmetic/names", test_names);
        g_test_add_func("/arithmetic/flat", test_flat);
        return g_test_run();
}
