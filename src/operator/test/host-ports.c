/* Ports of jobs on their hosts: no two jobs have one in common. Expected values are those of
 * doc/reference/paddle-operator.md, "Ports on hosts". */
#include "operator/host-ports.h"

#include "base/err.h"
#include "operator/paddlejob.h"

static HostPorts *open_ports(const char *range)
{
        GError *error = NULL;
        HostPorts *ports = host_ports_new(range, &error);

        g_assert_no_error(error);
        return ports;
}

static gint64 reserve(HostPorts *ports, int i)
{
        g_autofree char *uid = g_strdup_printf("uid-%d", i);

        return host_ports_reserve(ports, uid);
}

/* START + 20, then 20 on, around to START, past what is taken. */
static void test_order(void)
{
        g_autoptr(HostPorts) ports = open_ports("35000,35099");
        static const gint64 bases[] = { 35020, 35040, 35060, 35080, 35000, PORTS_EXHAUSTED };

        for (int i = 0; i < (int)G_N_ELEMENTS(bases); i++)
                g_assert_cmpint(reserve(ports, i), ==, bases[i]);
        g_assert_cmpint(reserve(ports, 1), ==, 35040); /* the same again */
        host_ports_release(ports, "uid-2");
        g_assert_cmpint(reserve(ports, 9), ==, 35060);
        host_ports_release(ports, "nobody");
}

/* Ports that another operator gave lie anywhere; all of a job's count, not the first alone. */
static void test_overlap(void)
{
        static const struct {
                gint64 noted;
                int left; /* of the 50 bases of 35000..35999 */
        } cases[] = { { 35050, 48 }, { 35040, 49 }, { 35041, 48 }, { 35059, 48 },
                      { 35990, 49 }, { 34990, 49 }, { 34980, 50 }, { 36000, 50 } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(HostPorts) ports = open_ports("35000,35999");
                gint64 base;
                int n = 0;

                host_ports_note(ports, "other", cases[i].noted);
                for (; (base = reserve(ports, n)) != PORTS_EXHAUSTED; n++)
                        g_assert_true(base + JOB_PORTS <= cases[i].noted ||
                                      base >= cases[i].noted + JOB_PORTS);
                g_assert_cmpint(n, ==, cases[i].left);
        }
}

/* A job that turns out to have other ports gives those back that were reserved for it. */
static void test_noted_instead(void)
{
        g_autoptr(HostPorts) ports = open_ports("35000,35059");

        g_assert_cmpint(reserve(ports, 0), ==, 35020);
        host_ports_note(ports, "uid-0", 36007);
        g_assert_cmpint(reserve(ports, 0), ==, 36007);
        g_assert_cmpint(reserve(ports, 1), ==, 35040);
        g_assert_cmpint(reserve(ports, 2), ==, 35000);
        g_assert_cmpint(reserve(ports, 3), ==, 35020);
}

static void test_ranges(void)
{
        static const char *const wrong[] = { "",       "1",     "35000,", "35000,35039", "35000,65536",
                                             "100,50", "0,100", "-1,100", "a,b",         "1,2,3" };

        for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(host_ports_new(wrong[i], &error));
                g_assert_true(err_is(error, ERR_USAGE));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/operator/host-ports/order", test_order);
        g_test_add_func("/operator/host-ports/overlap", test_overlap);
        g_test_add_func("/operator/host-ports/noted-instead", test_noted_instead);
        g_test_add_func("/operator/host-ports/ranges", test_ranges);
        return g_test_run();
}
