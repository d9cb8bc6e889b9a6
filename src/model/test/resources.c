/* Quantities: exact, rounded up, bounded; sums that overflow are refused whole. */
#include "model/resources.h"

#include <string.h>

#include "base/err.h"

static void test_cpu(void)
{
        static const struct {
                const char *text;
                gint64 milli; /* -1: refused */
        } cases[] = {
                { "2", 2000 },
                { "500m", 500 },
                { "1.5", 1500 },
                { "0.1", 100 },
                { ".5", 500 },
                { "2.", 2000 },
                { "0", 0 },
                { "1e3", 1000000 },
                { "1E3", 1000000 },
                { "1e-3", 1 },
                { "0.0001", 1 },
                { "1n", 1 },
                { "1500u", 2 },
                { "1k", 1000000 },
                { "1.0000000000000000000", 1000 },
                { "1e-99", 1 },
                { "0e99", 0 },
                { "9223372036854775", 9223372036854775000 },
                { "0.1001", 101 },
                { "1.e2", 100000 },
                { "000000000000000000000000000000000001", 1000 },
                { "", -1 },
                { "-1", -1 },
                { "+1", -1 },
                { " 1", -1 },
                { "1 ", -1 },
                { "m", -1 },
                { ".", -1 },
                { "1.2.3", -1 },
                { "1mm", -1 },
                { "1e", -1 },
                { "1e+", -1 },
                { "1e1000", -1 },
                { "1e99", -1 },
                { "0x10", -1 },
                { "NaN", -1 },
                { "9223372036854776", -1 },
                { "99999999999999999999999999999999999999999999", -1 },
                { NULL, -1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                gint64 milli = -7;
                bool ok = cpu_parse("cpu", cases[i].text, &milli, &error);

                g_test_message("%s", cases[i].text ? cases[i].text : "NULL");
                g_assert_cmpint(ok, ==, cases[i].milli >= 0);
                g_assert_cmpint(milli, ==, ok ? cases[i].milli : -7);
                g_assert_cmpint(err_is(error, ERR_INVALID), ==, !ok);
        }
}

static void test_memory(void)
{
        static const struct {
                const char *text;
                gint64 bytes; /* -1: refused */
                const char *shown;
        } cases[] = {
                { "64Mi", 67108864, "64Mi" },
                { "1Gi", 1073741824, "1Gi" },
                { "1.5Gi", 1610612736, "1536Mi" },
                { "1G", 1000000000, "1000000000" },
                { "1000", 1000, "1000" },
                { "1024", 1024, "1Ki" },
                { "0", 0, "0" },
                { "0.5", 1, "1" },
                { "1m", 1, "1" },
                { "1e3", 1000, "1000" },
                { "1E", 1000000000000000000, "976562500000000Ki" },
                { "7Ei", 8070450532247928832, "7Ei" },
                { "9223372036854775807", G_MAXINT64, "9223372036854775807" },
                { "8Ei", -1, NULL },
                { "9223372036854775808", -1, NULL },
                { "1KiB", -1, NULL },
                { "1gi", -1, NULL },
                { "-1Gi", -1, NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *shown = NULL;
                gint64 bytes = -7, again = -7;
                bool ok = memory_parse("memory", cases[i].text, &bytes, &error);

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(ok, ==, cases[i].bytes >= 0);
                if (!ok)
                        continue;
                g_assert_cmpint(bytes, ==, cases[i].bytes);
                shown = memory_format(bytes);
                g_assert_cmpstr(shown, ==, cases[i].shown);
                g_assert_true(memory_parse("m", shown, &again, &error) && again == bytes);
        }
}

static void test_says(void)
{
        g_autoptr(GError) cpu = NULL, memory = NULL;
        gint64 n;

        g_assert_false(cpu_parse("roles[1].cpu", "-1", &n, &cpu));
        g_assert_cmpstr(cpu->message, ==,
                        "roles[1].cpu: '-1' is not a number of cores such as 2, 1.5 or 500m");
        g_assert_false(memory_parse("roles[0].memory", "lots", &n, &memory));
        g_assert_cmpstr(memory->message, ==,
                        "roles[0].memory: 'lots' is not an amount of memory such as 512Mi, 4Gi or 1000000");
}

static void test_cpu_format(void)
{
        g_autofree char *two = cpu_format(2000), *half = cpu_format(500), *none = cpu_format(0);

        g_assert_cmpstr(two, ==, "2");
        g_assert_cmpstr(half, ==, "500m");
        g_assert_cmpstr(none, ==, "0");
}

static void test_sums(void)
{
        Resources sum = { 1, 2, 3 }, huge = { 0, G_MAXINT64 / 2, 0 };

        g_assert_true(resources_add(&sum, &(Resources){ 10, 20, 30 }, 3));
        g_assert_true(sum.cpu_milli == 31 && sum.memory == 62 && sum.gpus == 93);
        g_assert_false(resources_add(&sum, &huge, 3)); /* the product */
        g_assert_true(resources_add(&sum, &huge, 1));
        g_assert_false(resources_add(&sum, &(Resources){ 5, G_MAXINT64 / 2, 5 }, 1)); /* the sum */
        g_assert_true(sum.cpu_milli == 31 && sum.gpus == 93); /* untouched by what failed */
        resources_subtract(&sum, &(Resources){ 1, 62, 3 });
        g_assert_true(sum.cpu_milli == 30 && sum.memory == G_MAXINT64 / 2 && sum.gpus == 90);
}

static void test_fit(void)
{
        Resources have = { 1000, 100, 1 };

        g_assert_true(resources_fit(&(Resources){ 1000, 100, 1 }, &have));
        g_assert_false(resources_fit(&(Resources){ 1001, 0, 0 }, &have));
        g_assert_false(resources_fit(&(Resources){ 0, 101, 0 }, &have));
        g_assert_false(resources_fit(&(Resources){ 0, 0, 2 }, &have));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/resources/cpu", test_cpu);
        g_test_add_func("/resources/memory", test_memory);
        g_test_add_func("/resources/says", test_says);
        g_test_add_func("/resources/cpu-format", test_cpu_format);
        g_test_add_func("/resources/sums", test_sums);
        g_test_add_func("/resources/fit", test_fit);
        return g_test_run();
}
