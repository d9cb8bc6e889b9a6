/* Quantities: exact, rounded up, bounded; a sum that overflows changes nothing. */
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
                { "+1", 1000 },
                { "+500m", 500 },
                { "++1", -1 },
                { "+-1", -1 },
                { "+", -1 },
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

static void test_nano(void)
{
        static const struct {
                const char *text;
                gint64 whole; /* -1: refused */
                int nano;
        } cases[] = {
                { "2", 2, 0 },
                { "+2", 2, 0 },
                { "100n", 0, 100 },
                { "0.1n", 0, 1 },
                { "1e-10", 0, 1 },
                { "1.0001m", 0, 1000100 },
                { "1.18Ti", 1297423720775, 680000000 },
                { "0.0000000001Ti", 109, 951162778 },
                { "9223372036854775807", G_MAXINT64, 0 },
                { "9223372036854775692707849540n", 9223372036854775692, 707849540 },
                { "1.0000000000000000000000000000000000001", 1, 1 },
                { "9223372036854775807.1", -1, 0 },
                { "8Ei", -1, 0 },
                { "-1", -1, 0 },
                { "+-1", -1, 0 },
                { "++1", -1, 0 },
                { "+", -1, 0 },
                { "", -1, 0 },
                { NULL, -1, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                __int128 nano = -7;
                bool ok = quantity_parse_nano("fpga", cases[i].text, &nano, &error);

                g_test_message("%s", cases[i].text ? cases[i].text : "NULL");
                g_assert_cmpint(ok, ==, cases[i].whole >= 0);
                g_assert_cmpint(err_is(error, ERR_INVALID), ==, !ok);
                if (!ok) {
                        g_assert_true(nano == -7);
                        continue;
                }
                g_assert_cmpint((gint64)(nano / QUANTITY_NANO), ==, cases[i].whole);
                g_assert_cmpint((int)(nano % QUANTITY_NANO), ==, cases[i].nano);
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
        Resources sum = { .cpu_milli = 1, .memory = 2, .gpus = 3 }, huge = { .memory = G_MAXINT64 / 2 };

        g_assert_true(resources_add(&sum, &(Resources){ .cpu_milli = 10, .memory = 20, .gpus = 30 }, 3));
        g_assert_true(sum.cpu_milli == 31 && sum.memory == 62 && sum.gpus == 93);
        g_assert_false(resources_add(&sum, &huge, 3)); /* the product */
        g_assert_true(resources_add(&sum, &huge, 1));
        g_assert_false(resources_add(&sum,
                                     &(Resources){ .cpu_milli = 5, .memory = G_MAXINT64 / 2, .gpus = 5 },
                                     1));                     /* the sum */
        g_assert_true(sum.cpu_milli == 31 && sum.gpus == 93); /* unchanged by the failures */
        resources_subtract(&sum, &(Resources){ .cpu_milli = 1, .memory = 62, .gpus = 3 });
        g_assert_true(sum.cpu_milli == 30 && sum.memory == G_MAXINT64 / 2 && sum.gpus == 90);
}

static void test_fit(void)
{
        Resources have = { .cpu_milli = 1000, .memory = 100, .gpus = 1 };

        g_assert_true(resources_fit(&(Resources){ .cpu_milli = 1000, .memory = 100, .gpus = 1 }, &have));
        g_assert_false(resources_fit(&(Resources){ .cpu_milli = 1001 }, &have));
        g_assert_false(resources_fit(&(Resources){ .memory = 101 }, &have));
        g_assert_false(resources_fit(&(Resources){ .gpus = 2 }, &have));
}

/* ---- kinds ---- */

static void test_kinds(void)
{
        static const struct {
                const char *name;
                int kind;
        } known[] = {
                { "cpu", RESOURCE_CPU },
                { "memory", RESOURCE_MEMORY },
                { "mem", RESOURCE_MEMORY },
                { "nvidia.com/gpu", RESOURCE_GPU },
                { "gpu", RESOURCE_GPU },
                { "gpus", RESOURCE_GPU },
                { "storage", RESOURCE_STORAGE },
                { "CPU", -1 },
                { "", -1 },
                { "rdma/none", -1 },
        };
        static const char *const bad[] = { "",    "/x",    "x/",   "a/b/c", "-x", "x-",
                                           "a b", "a/b=c", "\xff", "a,b",   "_x", "a/_" };

        for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
                g_assert_cmpint(resource_find(known[i].name), ==, known[i].kind);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *shown = g_strescape(bad[i], NULL);

                g_test_message("%s", shown);
                g_assert_cmpint(resource_intern("max", bad[i], &error), ==, -1);
                g_assert_true(err_is(error, ERR_INVALID));
        }
        g_assert_cmpint(resource_kinds(), ==, RESOURCE_OTHERS);
}

static void test_said_names(void)
{
        static const struct {
                const char *name;
                bool ok;
        } cases[] = { { "cpu", true },
                      { "gpus", true },
                      { "rdma/none", true },
                      { "hugepages-2Mi", true },
                      { "nvidia.com/mig", true },
                      { "foo", false },
                      { "CPU", false },
                      { "", false } };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_cmpint(resource_name_check("max", cases[i].name, &error), ==, cases[i].ok);
                g_assert_cmpint(err_is(error, ERR_INVALID), ==, !cases[i].ok);
        }
        g_assert_cmpint(resource_kinds(), ==, RESOURCE_OTHERS);
}

static gpointer intern_both(gpointer arg)
{
        const char *const *names = arg;
        g_autoptr(GError) error = NULL;
        int sum = 0;

        for (int i = 0; i < 2; i++) {
                int kind = resource_intern("max", names[i], &error);

                g_assert_no_error(error);
                g_assert_cmpstr(resource_name(kind), ==, names[i]);
                sum += kind;
        }
        return GINT_TO_POINTER(sum);
}

/* All threads get the same number for the same name. Then the table is full. */
static void test_intern(void)
{
        static const char *const names[] = { "rdma/hca", "baidu.com/v100_32g_cgpu_core" };
        GThread *threads[8];
        int n = resource_kinds();

        for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                threads[i] = g_thread_new("intern", intern_both, (gpointer)names);
        for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(threads[i])), ==, n + n + 1);
        g_assert_cmpint(resource_kinds(), ==, n + 2);
}

static void test_intern_full(void)
{
        g_autoptr(GError) error = NULL;

        while (resource_kinds() < RESOURCE_KINDS_MAX) {
                g_autofree char *name = g_strdup_printf("x/%d", resource_kinds());

                g_assert_cmpint(resource_intern("max", name, NULL), ==, resource_kinds() - 1);
        }
        g_assert_cmpint(resource_intern("queue 'q': max", "x/more", &error), ==, -1);
        g_assert_true(err_is(error, ERR_INVALID));
        g_assert_nonnull(strstr(error->message, "queue 'q': max: 'x/more' cannot be added: "));
        g_assert_cmpint(resource_intern("max", "rdma/hca", NULL), >=, 0);
}

/* ---- printing ---- */

/* doc/reference/paddleflow-api.md, "Amounts of resources": cpu as milli quantity, memory decimal when
 * divisible by 1000. */
static void test_printing(void)
{
        static const struct {
                int kind;
                gint64 amount;
                const char *flow, *text, *named;
        } cases[] = {
                { RESOURCE_CPU, 0, "0", "0", "0 cores" },
                { RESOURCE_CPU, 2000, "2", "2", "2 cores" },
                { RESOURCE_CPU, 1000, "1", "1", "1 core" },
                { RESOURCE_CPU, 1500, "1500m", "1.5", "1.5 cores" },
                { RESOURCE_CPU, 1, "1m", "0.001", "0.001 cores" },
                { RESOURCE_CPU, 20000, "20", "20", "20 cores" },
                { RESOURCE_CPU, 2000000, "2k", "2000", "2000 cores" },
                { RESOURCE_MEMORY, 0, "0", "0", "0 of memory" },
                { RESOURCE_MEMORY, 1ll << 30, "1Gi", "1Gi", "1Gi of memory" },
                { RESOURCE_MEMORY, 3ll << 29, "1536Mi", "1.5Gi", "1.5Gi of memory" },
                { RESOURCE_MEMORY, 1000000000, "1G", "953.6Mi", "953.6Mi of memory" },
                { RESOURCE_MEMORY, 1024000, "1024k", "1000Ki", "1000Ki of memory" },
                { RESOURCE_MEMORY, 1023, "1023", "1023", "1023 of memory" },
                { RESOURCE_MEMORY, G_MAXINT64 - 1, "9223372036854775806", "7.9Ei", "7.9Ei of memory" },
                { RESOURCE_STORAGE, 10ll << 30, "10Gi", "10Gi", "10Gi of storage" },
                { RESOURCE_GPU, 1, "1", "1", "1 GPU" },
                { RESOURCE_GPU, 1000, "1k", "1000", "1000 GPUs" },
                { RESOURCE_GPU, RESOURCE_UNLIMITED, "9223372036854775807", "unlimited", "unlimited GPUs" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *flow = quantity_format(cases[i].kind, cases[i].amount);
                g_autofree char *text = quantity_text(cases[i].kind, cases[i].amount);
                g_autofree char *named = quantity_named(cases[i].kind, cases[i].amount);
                gint64 again = -1;

                g_assert_cmpstr(flow, ==, cases[i].flow);
                g_assert_cmpstr(text, ==, cases[i].text);
                g_assert_cmpstr(named, ==, cases[i].named);
                g_assert_true(quantity_parse("q", cases[i].kind, flow, &again, NULL));
                g_assert_cmpint(again, ==, cases[i].amount);
        }
}

static void test_printing_others(void)
{
        g_autoptr(GError) error = NULL;
        int kind = resource_intern("max", "rdma/hca", &error);
        g_autofree char *named = quantity_named(kind, 2);
        gint64 amount = -1;

        g_assert_no_error(error);
        g_assert_cmpstr(named, ==, "2 rdma/hca");
        g_assert_true(quantity_parse("q", kind, "", &amount, &error));
        g_assert_cmpint(amount, ==, 0);
        g_assert_false(quantity_parse("max.rdma/hca", kind, "-1", &amount, &error));
        g_assert_cmpstr(error->message, ==, "max.rdma/hca: '-1' is not a number of devices such as 1 or 8");
}

/* ---- limits ---- */

static void test_limits(void)
{
        static const struct {
                const char *json;
                bool intern;
                const char *shown; /* NULL: refused */
                const char *says;
        } cases[] = {
                { "null", false, "{}", NULL },
                { "{}", false, "{}", NULL },
                { "{\"cpu\":\"2\",\"memory\":\"4Gi\",\"nvidia.com/gpu\":1}", false,
                  "{\"cpu\":\"2\",\"memory\":\"4Gi\",\"nvidia.com/gpu\":1}", NULL },
                { "{\"gpus\":\"3\",\"mem\":1024,\"cpu\":1.5}", false,
                  "{\"cpu\":\"1500m\",\"memory\":\"1Ki\",\"nvidia.com/gpu\":3}", NULL },
                { "{\"cpu\":\"1\",\"mem\":\"1Gi\",\"scalarResources\":{\"nvidia.com/gpu\":\"2\"}}", false,
                  "{\"cpu\":\"1\",\"memory\":\"1Gi\",\"nvidia.com/gpu\":2}", NULL },
                { "{\"cpu\":\"\",\"memory\":null,\"scalarResources\":null}", false, "{\"cpu\":\"0\"}", NULL },
                { "{\"rdma/hca\":4}", true, "{\"rdma/hca\":4}", NULL },
                { "{\"x.y/unheard\":4}", false, NULL,
                  "max.x.y/unheard: 'x.y/unheard' is not a kind of resource" },
                { "{\"not good\":4}", true, NULL, "max.not good: 'not good' is not the name of a resource" },
                { "{\"mem\":1,\"memory\":1}", false, NULL, "memory is given twice" },
                { "{\"cpu\":-1}", false, NULL, "max.cpu: '-1' is not a number of cores" },
                { "{\"cpu\":true}", false, NULL, "max.cpu must be a quantity" },
                { "{\"memory\":\"8Ei\"}", false, NULL, "max.memory: '8Ei' is not an amount of memory" },
                { "{\"scalarResources\":[]}", false, NULL, "max.scalarResources must be an object" },
                { "{\"scalarResources\":{\"scalarResources\":{}}}", false, NULL, "must be a quantity" },
                { "[1]", false, NULL, "max must be an object" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) object = json_loads(cases[i].json, JSON_DECODE_ANY, NULL), shown = NULL;
                g_autofree char *text = NULL;
                ResourceLimits limits = { .said = 77 };

                g_test_message("%s", cases[i].json);
                g_assert_cmpint(limits_parse("max", object, cases[i].intern, &limits, &error), ==,
                                cases[i].shown != NULL);
                if (!cases[i].shown) {
                        g_assert_true(err_is(error, ERR_INVALID) && strstr(error->message, cases[i].says));
                        g_assert_cmpint(limits.said, ==, 77);
                        continue;
                }
                shown = limits_format(&limits);
                text = json_format(shown);
                g_assert_cmpstr(text, ==, cases[i].shown);
        }
        {
                ResourceLimits limits = { .said = 77 };

                g_assert_true(limits_parse("max", NULL, false, &limits, NULL));
                g_assert_cmpint(limits.said, ==, 0);
        }
}

static void test_limits_list(void)
{
        static const struct {
                const char *text, *shown, *says;
        } cases[] = {
                { "", "{}", NULL },
                { "cpu=64,memory=256Gi,gpu=8", "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"nvidia.com/gpu\":8}",
                  NULL },
                { "cpu=500m", "{\"cpu\":\"500m\"}", NULL },
                { "cpu", NULL, "--max: 'cpu' is not NAME=AMOUNT" },
                { "cpu=", NULL, "--max: 'cpu=' is not NAME=AMOUNT" },
                { "=1", NULL, "--max: '=1' is not NAME=AMOUNT" },
                { "cpu=1,,mem=1", NULL, "--max: '' is not NAME=AMOUNT" },
                { "cpu=1,cpu=2", NULL, "--max: cpu is given twice" },
                { "cpu=much", NULL, "--max: 'much' is not a number of cores" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) shown = NULL;
                g_autofree char *text = NULL;
                ResourceLimits limits;

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(limits_parse_list("--max", cases[i].text, false, &limits, &error), ==,
                                cases[i].shown != NULL);
                if (!cases[i].shown) {
                        g_assert_true(err_is(error, ERR_INVALID) && strstr(error->message, cases[i].says));
                        continue;
                }
                shown = limits_format(&limits);
                text = json_format(shown);
                g_assert_cmpstr(text, ==, cases[i].shown);
        }
}

static void test_flat(void)
{
        ResourceLimits limits = { .amount = { .memory = 7 },
                                  .said = 1u << RESOURCE_MEMORY | 1u << RESOURCE_GPU };
        Resources max = limits_flat(&limits, RESOURCE_UNLIMITED), min = limits_flat(&limits, 0);

        g_assert_true(max.cpu_milli == RESOURCE_UNLIMITED && max.memory == 7 && max.gpus == 0);
        g_assert_true(max.others[0] == RESOURCE_UNLIMITED);
        g_assert_true(resources_equal(&min, &(Resources){ .memory = 7 }) && !resources_is_zero(&min));
        g_assert_true(resources_is_zero(&(Resources){ 0 }));
        g_assert_true(resources_fit(&min, &max));
        g_assert_cmpint(resources_lacking(&(Resources){ .memory = 7, .gpus = 1 }, &max), ==, RESOURCE_GPU);
        g_assert_true(resources_fit(&(Resources){ .cpu_milli = -1 }, &(Resources){ .cpu_milli = -2 }));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/resources/cpu", test_cpu);
        g_test_add_func("/resources/memory", test_memory);
        g_test_add_func("/resources/nano", test_nano);
        g_test_add_func("/resources/says", test_says);
        g_test_add_func("/resources/cpu-format", test_cpu_format);
        g_test_add_func("/resources/sums", test_sums);
        g_test_add_func("/resources/fit", test_fit);
        g_test_add_func("/resources/kinds", test_kinds);
        g_test_add_func("/resources/said-names", test_said_names);
        g_test_add_func("/resources/intern", test_intern);
        g_test_add_func("/resources/printing", test_printing);
        g_test_add_func("/resources/printing-others", test_printing_others);
        g_test_add_func("/resources/limits", test_limits);
        g_test_add_func("/resources/limits-list", test_limits_list);
        g_test_add_func("/resources/flat", test_flat);
        g_test_add_func("/resources/intern-full", test_intern_full);
        return g_test_run();
}
