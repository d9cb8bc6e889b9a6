/* Credentials of clusters: which of two lead to one place. */
#include "runtime/kubernetes/cluster/credential.h"

#include <string.h>

static char *kubeconfig(const char *server, const char *authority)
{
        g_autofree char *pem = g_strdup_printf("-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n",
                                               authority ? authority : "");
        g_autofree char *coded = g_base64_encode((const guchar *)pem, strlen(pem));

        return g_strdup_printf("{\"current-context\": \"c\", \"contexts\": [{\"name\": \"c\", \"context\": "
                               "{\"cluster\": \"k\", \"user\": \"u\"}}], \"users\": [{\"name\": \"u\", "
                               "\"user\": {\"token\": \"t\"}}], \"clusters\": [{\"name\": \"k\", "
                               "\"cluster\": {\"server\": \"%s\"%s%s%s}}]}",
                               server, authority ? ", \"certificate-authority-data\": \"" : "",
                               authority ? coded : "", authority ? "\"" : "");
}

static void test_elsewhere(void)
{
        static const struct {
                const char *server[2], *authority[2];
                bool elsewhere;
        } cases[] = {
                { { "https://a", "https://a" }, { "QQ==", "QQ==" }, false },
                { { "https://a", "https://b" }, { "QQ==", "QQ==" }, false }, /* another address of it */
                { { "https://a", "https://a" }, { "QQ==", "Qg==" }, false }, /* its authority was renewed */
                { { "https://a", "https://b" }, { "QQ==", "Qg==" }, true },
                { { "https://a", "https://b" }, { NULL, NULL }, true }, /* the system's say nothing */
                { { "https://a", "https://b" }, { "QQ==", NULL }, true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *was = kubeconfig(cases[i].server[0], cases[i].authority[0]);
                g_autofree char *now = kubeconfig(cases[i].server[1], cases[i].authority[1]);
                g_autofree char *coded = g_base64_encode((const guchar *)now, strlen(now));
                g_autofree char *from = NULL, *to = NULL;

                g_assert_cmpint(credential_elsewhere(was, coded, &from, &to), ==, cases[i].elsewhere);
                g_assert_cmpstr(from, ==, cases[i].elsewhere ? cases[i].server[0] : NULL);
                g_assert_cmpstr(to, ==, cases[i].elsewhere ? cases[i].server[1] : NULL);
        }
}

/* What cannot be read is refused by others, in other words. */
static void test_unreadable(void)
{
        g_autofree char *good = kubeconfig("https://a", NULL);
        static const char *const bad[] = { NULL, "", "%", "eA==", "{}" };
        char *from = NULL, *to = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_false(credential_elsewhere(bad[i], good, &from, &to));
                g_assert_false(credential_elsewhere(good, bad[i], &from, &to));
                g_assert_null(credential_parse("prod", bad[i], &error));
                g_assert_true(g_str_has_prefix(error->message, "cluster 'prod'"));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/credential/elsewhere", test_elsewhere);
        g_test_add_func("/credential/unreadable", test_unreadable);
        return g_test_run();
}
