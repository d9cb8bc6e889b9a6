/* A separate network for a member (see proxied.h).
 *
 *     member: fork ─▶ proxy, in the machine's network
 *       │              │
 *     unshare, lo up   │
 *     listen ──socket──▶ accepts there, connects here; says that it is ready
 *     goes on
 *
 * A socket belongs to the network in which it was created, so the proxy serves the member's network without
 * being in it. It dies with the member. Other processes of its user can never trace it: its program is an
 * unreadable copy in memory, and the kernel forbids tracing a process that executes one. PR_SET_DUMPABLE,
 * which the proxy sets itself, would come too late: its environment has passwords of the machine's proxies. */
#include "agent/proxied.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

enum { PROXY_FD = 3, STRINGS_MAX = 32, BACKLOG = 64, PIECE = 1 << 20 };

bool proxied_is_required(const Spawn *spawn)
{
        const char *at = spawn->proxy;

        for (uint32_t i = 0; i < spawn->head->n_proxy; i++, at += strlen(at) + 1)
                if (strcmp(at, PROXY_REQUIRED) == 0)
                        return true;
        return false;
}

/* ---- the proxy's side ---- */

static bool take_rights(const WireSpawn *head, pid_t member)
{
        if (head->sandbox & SANDBOX_RIGHTS && !sandbox_drop_rights())
                return false;
        if (head->as_user && (setgroups(0, NULL) < 0 || setresgid(head->gid, head->gid, head->gid) < 0 ||
                              setresuid(head->uid, head->uid, head->uid) < 0))
                return false;
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
               getppid() == member;
}

static int make_memory(void)
{
        int fd = memfd_create("paddle-proxy", MFD_CLOEXEC | MFD_EXEC);

        return fd >= 0 || errno != EINVAL ? fd : memfd_create("paddle-proxy", MFD_CLOEXEC); /* Linux < 6.3 */
}

static bool copy_all(int from, int to)
{
        ssize_t sent;

        while ((sent = sendfile(to, from, NULL, PIECE)) > 0)
                ;
        return sent == 0;
}

/* Its owner cannot read it either. A file that is open for writing cannot be executed, so it is reopened. -1
 * with errno. */
static int copy_unreadable(const char *program)
{
        int file = open(program, O_RDONLY | O_CLOEXEC), copy = make_memory(), ret = -1;
        char path[64];

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
        if (file >= 0 && copy >= 0 && copy_all(file, copy) && fchmod(copy, 0111) == 0)
                ret = open(path, O_PATH | O_CLOEXEC);
        if (file >= 0)
                close(file);
        if (copy >= 0)
                close(copy);
        return ret;
}

/* Standard error is the log already. The user may be unable to reach the program by its path. */
static _Noreturn void become_proxy(const Spawn *spawn, int socket, pid_t member)
{
        char *variables[STRINGS_MAX + 1], *at = (char *)spawn->proxy;
        const char *program = at;
        int file = copy_unreadable(program);
        uint32_t n = 0;
        sigset_t none;

        for (uint32_t i = 1; i < spawn->head->n_proxy && n < STRINGS_MAX; i++) {
                at += strlen(at) + 1;
                variables[n++] = at;
        }
        variables[n] = NULL;
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (file == PROXY_FD)
                file = fcntl(file, F_DUPFD_CLOEXEC, PROXY_FD + 1);
        if (!take_rights(spawn->head, member) || dup2(socket, PROXY_FD) < 0 ||
            fcntl(PROXY_FD, F_SETFD, 0) < 0)
                _exit(127);
        (void)close_range(PROXY_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
        (void)syscall(SYS_execveat, file, "", (char *[]){ (char *)program, (char *)"proxy", NULL }, variables,
                      AT_EMPTY_PATH);
        _exit(127);
}

/* ---- the member's side ---- */

static bool unshare_network(void)
{
        return unshare(CLONE_NEWNET) == 0 ||
               (errno == EPERM && geteuid() != 0 && sandbox_unshare_as_user(CLONE_NEWNET));
}

static bool bring_up_loopback(int any_socket)
{
        struct ifreq request = { .ifr_name = "lo" };

        if (ioctl(any_socket, SIOCGIFFLAGS, &request) < 0)
                return false;
        request.ifr_flags |= IFF_UP;
        return ioctl(any_socket, SIOCSIFFLAGS, &request) == 0;
}

/* -1 with errno. */
static int listen_there(int *ret_port)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof address;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -1;
        if (!bring_up_loopback(fd) || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
            listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
                int err = errno;

                close(fd);
                errno = err;
                return -1;
        }
        *ret_port = ntohs(address.sin_port);
        return fd;
}

static bool wait_ready(int socket)
{
        char word;
        ssize_t got;

        do
                got = read(socket, &word, 1);
        while (got < 0 && errno == EINTR);
        if (got == 0)
                errno = ECHILD;
        return got == 1;
}

/* Gives the proxy the listening socket. */
static bool hand_over(int socket, int *ret_port, char *why, size_t size)
{
        int fd = -1;

        if (!unshare_network() || (fd = listen_there(ret_port)) < 0) {
                (void)snprintf(why, size, "no network namespace can be had (%s)", strerrordesc_np(errno));
                return false;
        }
        if (!wire_send(socket, "", 1, fd, 0) || !wait_ready(socket)) {
                (void)snprintf(why, size, "its proxy does not start (%s)", strerrordesc_np(errno));
                close(fd);
                return false;
        }
        close(fd);
        return true;
}

bool proxied_enter(const Spawn *spawn, int *ret_port, char *why, size_t size)
{
        pid_t member = getpid(), proxy;
        int pair[2];
        bool ok;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                (void)snprintf(why, size, "no socket for its proxy (%s)", strerrordesc_np(errno));
                return false;
        }
        proxy = fork();
        if (proxy == 0)
                become_proxy(spawn, pair[1], member);
        close(pair[1]);
        if (proxy < 0)
                (void)snprintf(why, size, "its proxy cannot be forked (%s)", strerrordesc_np(errno));
        ok = proxy > 0 && hand_over(pair[0], ret_port, why, size);
        close(pair[0]);
        return ok;
}

void proxied_variables(int port)
{
        static const char *const set[] = { "http_proxy",  "https_proxy", "all_proxy", "HTTP_PROXY",
                                           "HTTPS_PROXY", "ALL_PROXY",   "PIP_PROXY" };
        char url[64];

        (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
        for (size_t i = 0; i < sizeof set / sizeof *set; i++)
                (void)setenv(set[i], url, 1);
        (void)unsetenv("no_proxy");
        (void)unsetenv("NO_PROXY");
}
