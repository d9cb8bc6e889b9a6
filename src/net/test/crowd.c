/* Who may have one more connection, as a story: ten connections in all, two of them for the Unix socket, five
 * for one holder. */
#include "net/crowd.h"

#include <string.h>

static void test_story(void)
{
        static const char *const proxies[] = { "10.9.9.9", NULL };
        static const struct {
                const char *holder; /* "unix..." by the Unix socket */
                int times;          /* below 0: so many leave */
                CrowdPlace place;   /* of the last */
                const char *instead_of;
        } steps[] = {
                { "10.0.0.1", 5, CROWD_SERVED, NULL },
                { "10.0.0.1", 64, CROWD_OWN_FULL, NULL },
                { "10.0.0.1", 1, CROWD_DROPPED, NULL },
                { "10.0.0.2", 3, CROWD_SERVED, NULL },
                { "10.0.0.3", 1, CROWD_SERVED, "10.0.0.1" }, /* all are taken: at the cost of who has most */
                { "10.0.0.2", 1, CROWD_SERVED, "10.0.0.1" },
                { "10.0.0.2", 1, CROWD_ALL_FULL, NULL }, /* as many as 10.0.0.1 would have then */
                { "unix 1", 2, CROWD_SERVED, NULL },
                { "unix 2", 1, CROWD_SERVED, "unix 1" },
                { "unix 2", 1, CROWD_ALL_FULL, NULL },
                { "10.0.0.1", -5, CROWD_SERVED, NULL },
                { "10.9.9.9", 3, CROWD_PROXY, NULL },
                { "10.9.9.9", 1, CROWD_ALL_FULL, NULL },
                { "10.0.0.2", -4, CROWD_SERVED, NULL },
                { "10.9.9.9", 4, CROWD_PROXY, NULL }, /* beyond what one holder may have */
                { "10.0.0.3", 1, CROWD_ALL_FULL, NULL },
        };
        g_autoptr(Crowd) crowd =
                crowd_new(&(CrowdLimits){ .max = 10, .kept = 2, .own = 5, .told = 100, .proxies = proxies });

        for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
                Peer peer = { .local = g_str_has_prefix(steps[i].holder, "unix") };
                CrowdPlace place = CROWD_SERVED;
                const char *instead_of = NULL;

                g_strlcpy(peer.address, steps[i].holder, sizeof peer.address);
                g_strlcpy(peer.holder, steps[i].holder, sizeof peer.holder);
                for (int n = 0; n < steps[i].times; n++)
                        place = crowd_enter(crowd, &peer, &instead_of);
                for (int n = 0; n > steps[i].times; n--)
                        crowd_leave(crowd, &peer, CROWD_SERVED);
                g_test_message("step %d", (int)i);
                g_assert_cmpint(place, ==, steps[i].place);
                g_assert_cmpstr(instead_of, ==, steps[i].instead_of);
        }
}

/* What was told leaves as it came. */
static void test_told_leave(void)
{
        g_autoptr(Crowd) crowd = crowd_new(&(CrowdLimits){ .max = 2, .own = 1, .told = 1 });
        const Peer a = { .address = "10.0.0.1", .holder = "10.0.0.1" };
        const char *instead_of;

        g_assert_cmpint(crowd_enter(crowd, &a, &instead_of), ==, CROWD_SERVED);
        for (int i = 0; i < 3; i++) {
                g_assert_cmpint(crowd_enter(crowd, &a, &instead_of), ==, CROWD_OWN_FULL);
                g_assert_cmpint(crowd_enter(crowd, &a, &instead_of), ==, CROWD_DROPPED);
                crowd_leave(crowd, &a, CROWD_DROPPED);
                crowd_leave(crowd, &a, CROWD_OWN_FULL);
        }
        crowd_leave(crowd, &a, CROWD_SERVED);
        g_assert_cmpint(crowd_enter(crowd, &a, &instead_of), ==, CROWD_SERVED);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/crowd/story", test_story);
        g_test_add_func("/net/crowd/told-leave", test_told_leave);
        return g_test_run();
}
