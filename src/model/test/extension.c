/* Requests of a template's container, with absent requests filled in as Kubernetes does. */
#include "model/extension.h"

#include "base/test/quoted.h"

static void test_flavour(void)
{
        static const struct {
                const char *resources, *flavour; /* NULL: nothing */
        } cases[] = {
                { "{}", NULL },
                { "{'requests': {'cpu': '2', 'memory': 1024}}", "{'cpu': '2', 'mem': '1024'}" },
                { "{'limits': {'cpu': '2'}}", "{'cpu': '2'}" },
                { "{'requests': {'cpu': '1'}, 'limits': {'cpu': '2', 'memory': '1Gi'}}",
                  "{'cpu': '1', 'mem': '1Gi'}" },
                { "{'requests': {'cpu': '1'}, 'limits': {'nvidia.com/gpu': '2'}}",
                  "{'cpu': '1', 'scalarResources': {'nvidia.com/gpu': '2'}}" },
                { "{'requests': null, 'limits': {'cpu': '2'}}", "{'cpu': '2'}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{'resources': %s}", cases[i].resources);
                g_autoptr(json_t) container = json_of(text), flavour = extension_flavour(container);
                g_autoptr(json_t) expected = cases[i].flavour ? json_of(cases[i].flavour) : NULL;

                g_test_message("%s", cases[i].resources);
                g_assert_true(expected ? json_equal(flavour, expected) : !flavour);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/extension/flavour", test_flavour);
        return g_test_run();
}
