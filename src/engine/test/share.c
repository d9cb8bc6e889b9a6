/* Shares of members. What fits: nodes in thousandths of a core, with what never goes from them. The expected
 * shares are the largest whole number s with sum of floor(room / s) >= members. */
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

/* Of a job in no queue. */
static gint64 cpu_on(const GPtrArray *nodes, const Resources *total, const Spec *spec)
{
        const SharePlace place = { NULL, NULL, nodes, total };
        SpecShare share = share_on(&place, spec);

        g_assert_cmpint(share.memory, ==, 0);
        return share.cpu_milli;
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
                g_assert_cmpint(cpu_on(nodes, &total, spec), ==, cases[i].share);
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
        g_assert_cmpint(cpu_on(list, &total, spec), ==, 500);
}

/* The machine that the server runs on is one, and nothing is known to hold it. */
static void test_machine(void)
{
        const Resources total = { .cpu_milli = 2000 };
        g_autoptr(Spec) spec = spec_of("[{'name':'worker','replicas':6}]");

        g_assert_cmpint(cpu_on(NULL, &total, spec), ==, 333);
}

/* Every member counts, however many there are. */
static void test_many(void)
{
        const Resources total = { .cpu_milli = 2000 };
        g_autoptr(Spec) spec = spec_of("[{'name':'worker','replicas':10000}]");

        g_assert_cmpint(cpu_on(NULL, &total, spec), ==, 1);
}

/* ---- in queues ---- */

static void put(GPtrArray *objects, ObjectKind kind, const char *name, const char *fields)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(fields), "'", '"');
        g_autoptr(json_t) patch = json_parse(quoted, strlen(quoted), NULL);
        g_autoptr(GError) error = NULL;
        Object *object = object_new(kind, name);

        object_patch(object, patch, &error);
        g_assert_no_error(error);
        g_ptr_array_add(objects, object);
}

enum { GIB = 1024 * 1024 * 1024 };

/* On a machine of 16 cores, 64 GiB and 8 GPUs. */
static void test_queues(void)
{
        static const struct {
                const char *cluster, *parent, *queue, *roles;
                gint64 cpu_milli, memory_mib;       /* what is counted */
                gint64 held_milli, held_memory_mib; /* of the first role */
        } cases[] = {
                /* nothing limits it: as much as there is */
                { "{}", "{}", "{}", "[{'name':'worker'}]", 1000, 0, 0, 0 },
                { "{}", "{}", "{'min':{'cpu':4,'memory':'8Gi'}}", "[{'name':'worker'}]", 1000, 0, 0, 0 },
                /* to ask for nothing is not to ask */
                { "{}", "{}", "{}", "[{'name':'worker','cpu':0,'memory':'0'}]", 1000, 0, 0, 0 },
                { "{}", "{}", "{'max':{'cpu':4}}", "[{'name':'worker','cpu':'0'}]", 1000, 0, 1000, 0 },
                /* each kind by itself, and limits from above */
                { "{}", "{}", "{'max':{'cpu':4}}", "[{'name':'worker','memory':'3Gi'}]", 1000, 0, 1000,
                  3072 },
                { "{}", "{'max':{'memory':'32Gi'}}", "{}", "[{'name':'worker'}]", 1000, 4096, 0, 4096 },
                { "{}", "{}", "{'max':{'cpu':8,'memory':'32Gi'}}", "[{'name':'worker','replicas':2}]", 1000,
                  4096, 1000, 4096 },
                /* the part of the machine that its CPU is, or its GPUs */
                { "{}", "{}", "{'max':{'memory':'32Gi'}}", "[{'name':'worker','cpu':4}]", 1000, 16384, 4000,
                  16384 },
                { "{}", "{}", "{'max':{'memory':'32Gi'}}", "[{'name':'worker','gpus':2}]", 1000, 16384, 0,
                  16384 },
                { "{}", "{}", "{'max':{'memory':'640Gi'}}", "[{'name':'worker','cpu':400}]", 1000, 65536,
                  400000, 65536 },
                /* no more than fits beside what others of the job ask for */
                { "{}", "{}", "{'max':{'memory':'2Gi'}}", "[{'name':'worker'}]", 1000, 2048, 0, 2048 },
                { "{}", "{}", "{'max':{'memory':'5Gi'}}",
                  "[{'name':'trainer','replicas':4},{'name':'pserver','memory':'1Gi'}]", 1000, 1024, 0,
                  1024 },
                { "{}", "{'max':{'memory':'2Gi'}}", "{'max':{'memory':'1Gi'}}",
                  "[{'name':'worker','replicas':4}]", 1000, 256, 0, 256 },
                /* where it fits in no way the whole part is asked for, and refused */
                { "{}", "{}", "{'max':{'cpu':4},'only_listed':true}", "[{'name':'worker'}]", 1000, 4096, 1000,
                  4096 },
                /* the nearest default, as it stands */
                { "{'defaults':{'cpu':2,'memory':'1Gi'}}", "{}", "{}", "[{'name':'worker','replicas':3}]",
                  2000, 1024, 2000, 1024 },
                { "{'defaults':{'cpu':2,'memory':'1Gi'}}", "{'defaults':{'memory':'512Mi'}}", "{}",
                  "[{'name':'worker'}]", 2000, 512, 2000, 512 },
                { "{'defaults':{'cpu':2,'memory':'1Gi'}}", "{'defaults':{'memory':'512Mi'}}",
                  "{'defaults':{'cpu':'500m'},'max':{'memory':'32Gi'}}", "[{'name':'worker'}]", 500, 512, 500,
                  512 },
                { "{'defaults':{'cpu':2,'memory':'1Gi'}}", "{}", "{}",
                  "[{'name':'worker','cpu':'100m','memory':'64Mi'}]", 2000, 1024, 100, 64 },
        };
        const Resources total = { .cpu_milli = 16000, .memory = 64 * (gint64)GIB, .gpus = 8 };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
                g_autoptr(Spec) spec = spec_of(cases[i].roles);
                g_autoptr(Catalog) catalog = NULL;
                SharePlace place = { .total = &total };
                SpecShare share;
                Resources held;

                put(objects, KIND_CLUSTER, "c", cases[i].cluster);
                put(objects, KIND_QUEUE, "above", cases[i].parent);
                put(objects, KIND_QUEUE, "q", cases[i].queue);
                for (gsize q = 1; q < 3; q++) {
                        g_autoptr(json_t) where = json_pack("{s:s}", "cluster", "c");

                        if (q == 2)
                                json_object_set_new(where, "parent", json_string("above"));
                        g_assert_true(object_patch(objects->pdata[q], where, NULL));
                }
                catalog = catalog_load(objects);
                place.catalog = catalog;
                place.queue = catalog_queue(catalog, "q");
                g_test_message("%zu: %s in %s", i, cases[i].roles, cases[i].queue);
                share = share_on(&place, spec);
                g_assert_cmpint(share.cpu_milli, ==, cases[i].cpu_milli);
                g_assert_cmpint(share.memory / 1048576, ==, cases[i].memory_mib);
                share_hold(&place, spec, 0, share, &held);
                g_assert_cmpint(held.cpu_milli, ==, cases[i].held_milli);
                g_assert_cmpint(held.memory / 1048576, ==, cases[i].held_memory_mib);
        }
}

/* A cluster that tells of no nodes yet: what fits into the limits is all that is known. */
static void test_unknown_machine(void)
{
        g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
        g_autoptr(Spec) spec = spec_of("[{'name':'worker','replicas':4}]");
        g_autoptr(Catalog) catalog = NULL;
        const Resources nothing = { 0 };
        SharePlace place = { .total = &nothing };

        put(objects, KIND_QUEUE, "q", "{'max':{'memory':'8Gi'}}");
        catalog = catalog_load(objects);
        place.catalog = catalog;
        place.queue = catalog_queue(catalog, "q");
        g_assert_cmpint(share_on(&place, spec).memory, ==, 2 * (gint64)GIB);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/share/nodes", test_shares);
        g_test_add_func("/share/labels", test_labels);
        g_test_add_func("/share/machine", test_machine);
        g_test_add_func("/share/many", test_many);
        g_test_add_func("/share/queues", test_queues);
        g_test_add_func("/share/unknown-machine", test_unknown_machine);
        return g_test_run();
}
