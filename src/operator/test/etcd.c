/* etcd that is there and does not answer: it holds up nobody for longer than one request, and no stop. What
 * it answers is tried on a real one (t/operator/test_operator_process.py). */
#include "operator/etcd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

enum { CALLS = 5 };

typedef struct {
        int fd;
        char *url;
} Silent;

/* The kernel takes connections and requests; nobody ever reads them. */
static void silent_open(Silent *silent)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof address;

        silent->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        g_assert_cmpint(bind(silent->fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        g_assert_cmpint(listen(silent->fd, 16), ==, 0);
        g_assert_cmpint(getsockname(silent->fd, (struct sockaddr *)&address, &len), ==, 0);
        silent->url = g_strdup_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
}

/* How many connections were made. */
static int silent_close(Silent *silent)
{
        int n = 0, fd;

        while ((fd = accept(silent->fd, NULL, NULL)) >= 0) {
                close(fd);
                n++;
        }
        g_assert_cmpint(errno, ==, EAGAIN);
        close(silent->fd);
        g_free(silent->url);
        return n;
}

static void on_failed(const char *value, const GError *error, void *arg)
{
        int *failed = arg;

        g_assert_null(value);
        g_assert_nonnull(error);
        ++*failed;
}

static void wait_all(const int *failed)
{
        while (*failed < CALLS)
                g_main_context_iteration(NULL, TRUE);
}

static void test_silent(void)
{
        Silent silent;
        g_autoptr(Etcd) etcd = NULL;
        int failed = 0;

        silent_open(&silent);
        etcd = etcd_new(silent.url, NULL);
        for (int i = 0; i < CALLS; i++)
                etcd_get(etcd, "k", on_failed, &failed);
        wait_all(&failed);
        g_assert_cmpint(silent_close(&silent), ==, 1);
}

/* No endpoint is asked any more but the one that is being asked. */
static void test_stop(void)
{
        Silent first, second;
        g_autoptr(Etcd) etcd = NULL;
        g_autofree char *both = NULL;
        int failed = 0;

        silent_open(&first);
        silent_open(&second);
        both = g_strconcat(first.url, ",", second.url, NULL);
        etcd = etcd_new(both, NULL);
        for (int i = 0; i < CALLS; i++)
                etcd_get(etcd, "k", on_failed, &failed);
        etcd_stop(etcd);
        wait_all(&failed);
        g_assert_cmpint(silent_close(&first), <=, 1);
        g_assert_cmpint(silent_close(&second), ==, 0);
        etcd_get(etcd, "k", on_failed, &failed);
        while (failed <= CALLS)
                g_main_context_iteration(NULL, TRUE);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/operator/etcd/silent", test_silent);
        g_test_add_func("/operator/etcd/stop", test_stop);
        return g_test_run();
}
