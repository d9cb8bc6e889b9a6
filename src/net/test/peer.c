/* For whom a connection counts, and what the kernel tells of its other end. */
#include "net/peer.h"

#include <glib.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static void test_holder(void)
{
        static const struct {
                const char *address;
                uid_t uid;
                const char *holder;
        } cases[] = {
                { "unix", 0, "uid 0" },
                { "unix", 1000, "uid 1000" },
                { "10.0.0.5", (uid_t)-1, "10.0.0.5" },
                { "::ffff:10.0.0.5", (uid_t)-1, "10.0.0.5" },
                { "2001:db8:1:2:3:4:5:6", (uid_t)-1, "2001:db8:1:2::/64" },
                { "2001:db8:1:2:ffff::1", (uid_t)-1, "2001:db8:1:2::/64" },
                { "2001:db8:1:3::1", (uid_t)-1, "2001:db8:1:3::/64" },
                { "127.0.0.1", (uid_t)-1, "127.0.0.1" },
                { "127.0.0.1", 0, "127.0.0.1" },
                { "127.9.9.9", 1000, "uid 1000" },
                { "::1", 1000, "uid 1000" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                char holder[PEER_HOLDER_MAX];

                peer_holder(cases[i].address, cases[i].uid, holder);
                g_assert_cmpstr(holder, ==, cases[i].holder);
        }
}

/* Connects as this user, from a process of its own, and keeps the connection until the pipe is closed. */
static pid_t connect_as(uid_t uid, const struct sockaddr *address, socklen_t len, const int done[2])
{
        pid_t pid = fork();
        char nothing;

        if (pid != 0)
                return pid;
        close(done[1]);
        if (setuid(uid) != 0)
                _exit(1);
        int fd = socket(address->sa_family, SOCK_STREAM, 0);
        _exit(connect(fd, address, len) == 0 && read(done[0], &nothing, 1) == 0 ? 0 : 1);
}

static void expect_peer(int family, const struct sockaddr *any, socklen_t len, uid_t uid, const char *holder)
{
        struct sockaddr_storage address;
        fd_auto int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int done[2], status;
        Peer peer;

        g_assert_cmpint(bind(listener, any, len), ==, 0);
        g_assert_cmpint(listen(listener, 1), ==, 0);
        g_assert_cmpint(getsockname(listener, (struct sockaddr *)&address, &len), ==, 0);
        g_assert_cmpint(pipe(done), ==, 0);
        pid_t pid = connect_as(uid, (struct sockaddr *)&address, len, done);
        fd_auto int fd = accept(listener, NULL, NULL);

        peer_read(fd, &peer);
        close(done[1]);
        close(done[0]);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpstr(peer.holder, ==, holder);
        g_assert_false(peer.local);
        g_assert_cmpint(peer.port, >, 0);
        g_assert_cmpint(peer.uid, ==, (uid_t)-1); /* who a caller is does not follow from it */
}

/* The kernel knows whose the other end is; root's counts by address. */
static void test_owner(void)
{
        const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        uid_t uid = geteuid() ? geteuid() : 12345;
        g_autofree char *own = g_strdup_printf("uid %u", uid);

        expect_peer(AF_INET, (const struct sockaddr *)&v4, sizeof v4, uid, own);
        expect_peer(AF_INET6, (const struct sockaddr *)&v6, sizeof v6, uid, own);
        if (geteuid() == 0)
                expect_peer(AF_INET, (const struct sockaddr *)&v4, sizeof v4, 0, "127.0.0.1");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/peer/holder", test_holder);
        g_test_add_func("/net/peer/owner", test_owner);
        return g_test_run();
}
