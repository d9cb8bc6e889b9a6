/* Port leases: range, locks between servers, ports in use by others, rest after release. */
#include "runtime/local/ports.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

static char *scratch;

static char *proc_with_range(const char *range)
{
        char *root = g_build_filename(scratch, "proc-root", NULL);
        g_autofree char *dir = g_build_filename(root, "proc/sys/net/ipv4", NULL);
        g_autofree char *path = g_build_filename(dir, "ip_local_port_range", NULL);

        g_assert_true(file_mkdirs(dir, 0755, NULL));
        g_assert_true(g_file_set_contents(path, range, -1, NULL));
        return root;
}

static void test_range(void)
{
        static const struct {
                const char *range;
                int first, last;
        } cases[] = {
                { "32768\t60999\n", 20000, 29999 }, { "15000\t60999\n", 5000, 14999 },
                { "4000\t60999\n", 1024, 3823 },   /* whole blocks below */
                { "1024\t60999\n", 61000, 65399 }, /* no room below: above */
                { "1024\t65535\n", 20000, 29999 }, /* none at all: bind decides */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *root = proc_with_range(cases[i].range);
                PortsConfig config = { .lock_dir = scratch, .proc_root = root };
                g_autoptr(Ports) ports = ports_new(&config);
                int first, last;

                ports_range(ports, &first, &last);
                g_assert_cmpint(first, ==, cases[i].first);
                g_assert_cmpint(last, ==, cases[i].last);
        }
}

static Ports *fresh(const char *name)
{
        g_autofree char *dir = g_build_filename(scratch, name, NULL);
        PortsConfig config = { .lock_dir = dir, .seed = (guint32)getpid() };

        return ports_new(&config);
}

static int block_of(const Ports *ports, int port)
{
        int first, last;

        ports_range(ports, &first, &last);
        return (port - first) / PORT_BLOCK;
}

static void test_lease(void)
{
        g_autoptr(Ports) ports = fresh("lease");
        g_autoptr(GError) error = NULL;
        int a[4], b[4], again[4];

        g_assert_true(ports_lease(ports, "a", 4, a, &error));
        g_assert_true(ports_lease(ports, "b", 4, b, &error));
        for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                        g_assert_cmpint(a[i], !=, b[j]);
                        g_assert_true(i == j || a[i] != a[j]);
                }
        ports_release(ports, "a");
        g_assert_true(ports_lease(ports, "c", 4, again, &error)); /* a's ports rest */
        for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                        g_assert_cmpint(a[i], !=, again[j]);
        ports_release(ports, "nobody");
}

static void test_two_servers(void)
{
        g_autoptr(Ports) one = fresh("two");
        g_autoptr(Ports) two = fresh("two");
        int a, b;

        g_assert_true(ports_lease(one, "a", 1, &a, NULL));
        g_assert_true(ports_lease(two, "a", 1, &b, NULL));
        g_assert_cmpint(block_of(one, a), !=, block_of(two, b));

        g_clear_pointer(&one, ports_free); /* its locks go with it */
        one = fresh("two");
        g_assert_true(ports_lease(one, "a", 1, &b, NULL));
        g_assert_cmpint(block_of(one, a), ==, block_of(one, b));
}

static int listen_on(int port)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((guint16)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        g_assert_cmpint(listen(fd, 1), ==, 0);
        return fd;
}

static void test_in_use(void)
{
        g_autoptr(Ports) ports = fresh("in-use");
        int probe, next;
        fd_auto int fd = -1;

        g_assert_true(ports_lease(ports, "probe", 1, &probe, NULL));
        fd = listen_on(probe + 1); /* the one that would be next */
        g_assert_true(ports_lease(ports, "a", 1, &next, NULL));
        g_assert_cmpint(next, !=, probe + 1);
}

static void test_keep(void)
{
        g_autoptr(Ports) ports = fresh("keep");
        int first, kept[3], got;

        g_assert_true(ports_lease(ports, "probe", 1, &first, NULL));
        kept[0] = first + 1;
        kept[1] = 0;     /* a member without a port */
        kept[2] = 40000; /* of another range */
        ports_keep(ports, "old", 3, kept);
        g_assert_true(ports_lease(ports, "a", 1, &got, NULL));
        g_assert_cmpint(got, !=, first + 1);
        ports_release(ports, "old");
        ports_release(ports, "a");
        ports_release(ports, "probe");
}

static void test_too_many(void)
{
        g_autofree char *root = proc_with_range("4000 60999");
        g_autofree char *dir = g_build_filename(scratch, "many", NULL);
        PortsConfig config = { .lock_dir = dir, .proc_root = root };
        g_autoptr(Ports) ports = ports_new(&config);
        g_autoptr(GError) error = NULL;
        g_autofree int *got = g_new0(int, 5000);

        g_assert_false(ports_lease(ports, "a", 5000, got, &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        g_assert_cmpint(got[0], ==, 0);
        g_assert_true(ports_lease(ports, "a", 1000, got, NULL)); /* nothing of the failure is kept */
        g_assert_true(ports_lease(ports, "b", 1000, got, NULL));
}

static void test_no_locks(void)
{
        g_autofree char *file = g_build_filename(scratch, "file", NULL);
        PortsConfig config = { .lock_dir = file };
        g_autoptr(Ports) ports = ports_new(&config);
        g_autoptr(GError) error = NULL;
        int port;

        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        g_assert_false(ports_lease(ports, "a", 1, &port, &error));
        g_assert_nonnull(strstr(error->message, file));
}

int main(int argc, char **argv)
{
        int status;

        g_test_init(&argc, &argv, NULL);
        scratch = g_dir_make_tmp("test-ports-XXXXXX", NULL);
        g_test_add_func("/ports/range", test_range);
        g_test_add_func("/ports/lease", test_lease);
        g_test_add_func("/ports/two-servers", test_two_servers);
        g_test_add_func("/ports/in-use", test_in_use);
        g_test_add_func("/ports/keep", test_keep);
        g_test_add_func("/ports/too-many", test_too_many);
        g_test_add_func("/ports/no-locks", test_no_locks);
        status = g_test_run();
        g_assert_true(file_remove_tree(scratch, NULL));
        g_free(scratch);
        return status;
}
