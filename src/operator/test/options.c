/* The command line. Expected values are those of doc/guide/operator.md, "Flags". */
#include "operator/options.h"

#include "base/err.h"

static bool read_line(OperatorOptions *options, const char *line, GError **error)
{
        g_auto(GStrv) words = g_strsplit(line, " ", -1);

        return operator_options_read(options, (int)g_strv_length(words), words, error);
}

static void test_defaults(void)
{
        OperatorOptions options = { 0 };

        g_assert_true(read_line(&options, "op", NULL));
        g_assert_cmpstr(options.metrics, ==, ":8080");
        g_assert_cmpstr(options.health, ==, ":8081");
        g_assert_false(options.leader_elect);
        g_assert_cmpstr(options.namespace, ==, "");
        g_assert_cmpstr(options.scheduling, ==, "");
        g_assert_cmpstr(options.init_image, ==, "docker.io/library/alpine:3.10");
        g_assert_cmpstr(options.etcd_server, ==, "");
        g_assert_cmpstr(options.port_range, ==, "35000,65000");
        g_assert_cmpstr(json_string_value(json_object_get(options.init_requests, "memory")), ==, "10m");
        g_assert_null(options.init_limits);
        operator_options_clear(&options);
}

/* One dash or two, a value after '=' or a blank; what is no option ends them. */
static void test_go(void)
{
        static const char *const lines[] = {
                "op -namespace a -leader-elect -initImage=x",
                "op --namespace=a --leader-elect=true --initImage x",
                "op -namespace=a --leader-elect -initImage x word --bogus",
        };

        for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
                OperatorOptions options = { 0 };

                g_assert_true(read_line(&options, lines[i], NULL));
                g_assert_cmpstr(options.namespace, ==, "a");
                g_assert_cmpstr(options.init_image, ==, "x");
                g_assert_true(options.leader_elect);
                operator_options_clear(&options);
        }
}

static void test_refused(void)
{
        static const char *const lines[] = { "op --bogus",         "op -bogus=1",
                                             "op --scheduling=x",  "op --compat=v0.3",
                                             "op --init-limits=x", "op --init-requests=cpu=x",
                                             "op --zap-encoder=x" };

        for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
                OperatorOptions options = { 0 };
                g_autoptr(GError) error = NULL;

                g_assert_false(read_line(&options, lines[i], &error));
                g_assert_error(error, ERR_DOMAIN, ERR_USAGE);
                operator_options_clear(&options);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/operator/options/defaults", test_defaults);
        g_test_add_func("/operator/options/go", test_go);
        g_test_add_func("/operator/options/refused", test_refused);
        return g_test_run();
}
