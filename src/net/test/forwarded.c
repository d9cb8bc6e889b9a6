/* Who asks, where proxies stand between. */
#include "net/forwarded.h"

#include <stdbool.h>

static const char *const trusted[] = { "127.0.0.1", "10.0.0.1", "2001:db8::1", NULL };

static const struct {
        const char *peer, *header;
        bool none; /* nobody is trusted */
        const char *from;
} cases[] = {
        { "10.0.0.9", NULL, false, "10.0.0.9" },
        { "10.0.0.9", "1.2.3.4", false, "10.0.0.9" }, /* anybody can write a header */
        { "127.0.0.1", "1.2.3.4", true, "127.0.0.1" },
        { "127.0.0.1", NULL, false, "127.0.0.1" },
        { "127.0.0.1", "", false, "127.0.0.1" },
        { "127.0.0.1", "1.2.3.4", false, "1.2.3.4" },
        { "127.0.0.1", " 1.2.3.4 ", false, "1.2.3.4" },
        { "127.0.0.1", "9.9.9.9, 1.2.3.4", false, "1.2.3.4" }, /* what the client wrote stands first */
        { "127.0.0.1", "9.9.9.9,1.2.3.4,10.0.0.1", false, "1.2.3.4" },
        { "127.0.0.1", "10.0.0.1", false, "10.0.0.1" },
        { "127.0.0.1", "1.2.3.4, unknown", false, "127.0.0.1" },
        { "127.0.0.1", "unix", false, "127.0.0.1" },
        { "127.0.0.1", "1.2.3.4:80", false, "127.0.0.1" },
        { "127.0.0.1", "2001:DB8:0::2", false, "2001:db8::2" },
        { "2001:db8::1", "1.2.3.4", false, "1.2.3.4" },
        { "unix", "1.2.3.4", false, "unix" },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *from =
                        forwarded_for(cases[i].peer, cases[i].header, cases[i].none ? NULL : trusted);

                g_test_message("%s: %s", cases[i].peer, cases[i].header);
                g_assert_cmpstr(from, ==, cases[i].from);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/forwarded/cases", test_cases);
        return g_test_run();
}
