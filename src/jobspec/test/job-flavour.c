/* Flavours of requests: doc/reference/paddleflow-api.md, "Flavours". */
#include "jobspec/job-flavour.h"

#include <string.h>

static Catalog *seeded(void)
{
        g_autoptr(GPtrArray) objects = catalog_seed(CLUSTER_LOCAL, 0);
        g_autoptr(Catalog) catalog = catalog_load(objects);
        Flavour *bound = (Flavour *)object_new(KIND_FLAVOUR, "bound");
        Catalog *all;

        bound->cluster = g_strdup("elsewhere");
        bound->cpu = g_strdup("2");
        bound->memory = g_strdup("2Gi");
        all = catalog_with(catalog, &bound->object);
        object_unref(&bound->object);
        return all;
}

/* What a request says, and what one member gets: cores in thousandths, MiB, GPUs; or a part of the error. */
static void test_amounts(void)
{
        static const struct {
                const char *said; /* NULL: nothing */
                gint64 cpu_milli, memory_mib, gpus;
                const char *says;
        } cases[] = {
                { NULL, 1000, 1024, 0, NULL },
                { "{}", 1000, 1024, 0, NULL },
                { "{'name':''}", 1000, 1024, 0, NULL },
                { "{'name':'customFlavour'}", 1000, 1024, 0, NULL },
                { "{'cpu':'2'}", 1000, 1024, 0, NULL },
                { "{'mem':'2Gi'}", 1000, 1024, 0, NULL },
                { "{'cpu':'1500m','mem':'512Mi'}", 1500, 512, 0, NULL },
                { "{'name':'customFlavour','cpu':'2','mem':'3Gi','scalarResources':{'nvidia.com/gpu':'1'}}",
                  2000, 3072, 1, NULL },
                { "{'name':'flavour1'}", 1000, 1024, 0, NULL },
                { "{'name':'flavour2'}", 4000, 8192, 1, NULL },
                { "{'name':'flavour3','cpu':'9','mem':'9Gi'}", 4000, 8192, 2, NULL },
                { "{'cpu':'2','mem':'1Gi','scalarResources':{'x.org/y':'0'}}", 2000, 1024, 0, NULL },
                { "{'name':'none'}", 0, 0, 0, "there is no flavour 'none'" },
                { "{'name':'bound'}", 0, 0, 0, "there is no flavour 'bound' in cluster default-cluster" },
                { "{'cpu':'0','mem':'1Gi'}", 0, 0, 0, "cpu and mem must be more than 0" },
                { "{'cpu':'-1','mem':'1Gi'}", 0, 0, 0, "flavour: cpu" },
                { "{'cpu':'1','mem':'x'}", 0, 0, 0, "flavour: mem" },
                { "{'cpu':'1','mem':'1Gi','scalarResources':{'x.org/y':'1'}}", 0, 0, 0,
                  "scalarResources.x.org/y: there is no such resource here" },
        };
        g_autoptr(Catalog) catalog = seeded();
        const Queue *queue = catalog_queue(catalog, QUEUE_SEEDED);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text =
                        cases[i].said ? g_strdelimit(g_strdup(cases[i].said), "'", '"') : NULL;
                g_autoptr(json_t) said = text ? json_parse(text, strlen(text), NULL) : NULL;
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) flavour = job_flavour(catalog, queue, said, &error);
                Resources each;
                bool good = flavour && job_flavour_amounts(flavour, &each, &error);

                g_test_message("%s", text ? text : "nothing");
                g_assert_cmpint(good, ==, !cases[i].says);
                if (!good) {
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                g_assert_cmpint(each.cpu_milli, ==, cases[i].cpu_milli);
                g_assert_cmpint(each.memory, ==, cases[i].memory_mib << 20);
                g_assert_cmpint(each.gpus, ==, cases[i].gpus);
        }
}

static void test_limit(void)
{
        static const struct {
                const char *limit, *flavour, *says;
        } cases[] = {
                { "", "flavour3", NULL },
                { "NONE", "flavour3", NULL },
                { "flavour1", "flavour1", NULL },
                { "flavour2", "flavour1", NULL },
                { "flavour1", "flavour2",
                  "more cpu than the limit of flavour 'flavour1' (PF_JOB_LIMIT_FLAVOUR)" },
                { "flavour2", "flavour3", "more nvidia.com/gpu than the limit of flavour 'flavour2'" },
                { "none", "flavour1", "there is no flavour 'none'" },
        };
        g_autoptr(Catalog) catalog = seeded();
        const Queue *queue = catalog_queue(catalog, QUEUE_SEEDED);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) said = json_pack("{s:s}", "name", cases[i].flavour),
                                  flavour = job_flavour(catalog, queue, said, NULL);
                Resources each;

                g_assert_true(job_flavour_amounts(flavour, &each, NULL));
                g_assert_cmpint(job_flavour_check_limit(catalog, queue, cases[i].limit, &each, &error), ==,
                                !cases[i].says);
                if (cases[i].says)
                        g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/job-flavour/amounts", test_amounts);
        g_test_add_func("/job-flavour/limit", test_limit);
        return g_test_run();
}
