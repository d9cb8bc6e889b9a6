/* What fits: nodes in thousandths of a core, with what never goes from them. The expected shares are the
 * largest whole number s with sum of floor(room / s) >= members. */
#include "engine/share.h"

#include <string.h>

#include "runtime/runtime.h"

static Spec *spec_of(const char *roles)
{
        g_autofree char *text = g_strdup_printf("{\"command\":[\"x\"],\"roles\":%s}", roles);
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), &error);
        Spec *spec = spec_parse(object, &error);

        g_assert_no_error(error);
        return spec;
}

typedef struct {
        gint64 allocatable, system;
        bool closed;
} Node;

static void test_shares(void)
{
        static const struct {
                const char *roles;
                Node nodes[3];
                gint64 share;
        } cases[] = {
                /* a core each */
                { "[{'name':'worker','replicas':2}]", { { 2000, 0, false } }, 1000 },
                { "[{'name':'worker','replicas':2}]", { { 4000, 900, false } }, 1000 },
                /* an equal part, where nothing else is */
                { "[{'name':'worker','replicas':4}]", { { 2000, 0, false } }, 500 },
                /* beside what never goes */
                { "[{'name':'worker','replicas':4}]", { { 2000, 200, false } }, 450 },
                { "[{'name':'pserver','replicas':2},{'name':'trainer','replicas':4}]",
                  { { 2000, 950, false } },
                  175 },
                /* nodes are no sum: one on each of two, or two on each */
                { "[{'name':'worker','replicas':2}]", { { 1500, 0, false }, { 400, 0, false } }, 750 },
                { "[{'name':'worker','replicas':4}]", { { 1000, 100, false }, { 1000, 100, false } }, 450 },
                { "[{'name':'worker','replicas':4}]", { { 2000, 200, false }, { 1000, 100, false } }, 600 },
                /* one that cannot be used */
                { "[{'name':'worker','replicas':3}]", { { 900, 0, false }, { 9000, 0, true } }, 300 },
                /* who says what it wants gets that */
                { "[{'name':'pserver','cpu':'2'},{'name':'trainer','replicas':4}]",
                  { { 9000, 8000, false } },
                  1000 },
                /* no share is small enough */
                { "[{'name':'worker','replicas':3}]", { { 2, 0, false }, { 4, 4, false } }, 2 },
                { "[{'name':'worker','replicas':2}]", { { 2000, 2000, false } }, 1000 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GPtrArray) nodes = g_ptr_array_new();
                g_autoptr(Spec) spec = spec_of(cases[i].roles);
                RuntimeNode made[3] = { 0 };
                Resources total = { 0 };

                for (gsize n = 0; n < 3 && cases[i].nodes[n].allocatable; n++) {
                        made[n] =
                                (RuntimeNode){ .allocatable = { .cpu_milli = cases[i].nodes[n].allocatable },
                                               .system = { .cpu_milli = cases[i].nodes[n].system },
                                               .usable = !cases[i].nodes[n].closed };
                        if (made[n].usable)
                                total.cpu_milli += cases[i].nodes[n].allocatable;
                        g_ptr_array_add(nodes, &made[n]);
                }
                g_test_message("%zu: %s", i, cases[i].roles);
                g_assert_cmpint(share_on(nodes, &total, spec), ==, cases[i].share);
        }
}

/* It may stand on the second alone. */
static void test_labels(void)
{
        static const char text[] = "{\"command\":[\"x\"],\"roles\":[{\"name\":\"worker\",\"replicas\":2}],"
                                   "\"node_labels\":{\"zone\":\"b\"}}";
        char *first[] = { (char *)"zone=a", NULL }, *second[] = { (char *)"gpu=1", (char *)"zone=b", NULL };
        RuntimeNode nodes[] = {
                { .allocatable = { .cpu_milli = 8000 }, .usable = true, .labels = first },
                { .allocatable = { .cpu_milli = 1000 }, .usable = true, .labels = second },
                { .allocatable = { .cpu_milli = 8000 }, .usable = true },
        };
        const Resources total = { .cpu_milli = 17000 };
        g_autoptr(GPtrArray) list = g_ptr_array_new();
        g_autoptr(json_t) object = json_parse(text, strlen(text), NULL);
        g_autoptr(Spec) spec = spec_parse(object, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++)
                g_ptr_array_add(list, &nodes[i]);
        g_assert_cmpint(share_on(list, &total, spec), ==, 500);
}

/* The machine that the server runs on is one, and nothing is known to hold it. */
static void test_machine(void)
{
        const Resources total = { .cpu_milli = 2000 };
        g_autoptr(Spec) spec = spec_of("[{'name':'worker','replicas':6}]");

        g_assert_cmpint(share_on(NULL, &total, spec), ==, 333);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/share/nodes", test_shares);
        g_test_add_func("/share/labels", test_labels);
        g_test_add_func("/share/machine", test_machine);
        return g_test_run();
}
