/* A member's proxy (see proxy.h): each connection has a thread, which reads one request and then copies
 * bytes. It runs beside untrusted code with the same uid, so it cannot be traced; it holds only addresses
 * and, in memory, the credentials of the machine's proxies. */
#include "agent/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/allow.h"
#include "agent/wire.h"
#include "base/err.h"
#include "base/file.h"

enum {
        SOCKET_FD = 3,
        CONNECTIONS_MAX = 128,
        STACK_BYTES = 512 * 1024,
        PIECE = 32 * 1024,
        IDLE_MS = 10 * 60 * 1000, /* of a connection without traffic */
        HEAD_MS = 30 * 1000,      /* for a request, or the answer of another proxy */
        CONNECT_MS = 30 * 1000,
        REFUSALS_MAX = 100, /* at most this many are logged */
        BAD_REQUEST = 400,
        FORBIDDEN = 403,
        BAD_GATEWAY = 502,
};

static const char *allow;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER;
static int connections;
static GHashTable *refused; /* "HOST:PORT" that were logged already */

/* ---- bytes ---- */

static bool send_all(int fd, const char *bytes, gsize len)
{
        while (len > 0) {
                ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent <= 0)
                        return false;
                bytes += sent;
                len -= (gsize)sent;
        }
        return true;
}

static bool wait_for(int fd, short events, int timeout_ms)
{
        struct pollfd poll_fd = { .fd = fd, .events = events };
        int n;

        do
                n = poll(&poll_fd, 1, timeout_ms);
        while (n < 0 && errno == EINTR);
        return n > 0;
}

/* Reads up to and including the empty line. Later bytes stay in `buffer` as well. 0: no complete head. */
static gsize read_head(int fd, GString *buffer)
{
        char piece[PIECE];
        const char *end;

        while (!(end = strstr(buffer->str, "\r\n\r\n"))) {
                ssize_t got;

                if (buffer->len > ALLOW_HEAD_MAX || !wait_for(fd, POLLIN, HEAD_MS))
                        return 0;
                got = recv(fd, piece, sizeof piece, 0);
                if (got <= 0 || memchr(piece, '\0', (gsize)got))
                        return 0;
                g_string_append_len(buffer, piece, got);
        }
        return (gsize)(end - buffer->str) + strlen("\r\n\r\n");
}

/* Copies one piece. False: end of file, or an error. */
static bool carry(int from, int to)
{
        char piece[PIECE];
        ssize_t got = recv(from, piece, sizeof piece, 0);

        if (got > 0 && send_all(to, piece, (gsize)got))
                return true;
        (void)shutdown(to, SHUT_WR);
        return false;
}

/* Copies until both sides have closed; with `one_way` only what `there` sends. */
static void carry_all(int here, int there, bool one_way)
{
        struct pollfd fds[2] = { { .fd = one_way ? -1 : here, .events = POLLIN },
                                 { .fd = there, .events = POLLIN } };

        while (fds[0].fd >= 0 || fds[1].fd >= 0) {
                int n = poll(fds, 2, IDLE_MS);

                if (n == 0 || (n < 0 && errno != EINTR))
                        return;
                if (n > 0 && fds[0].fd >= 0 && fds[0].revents && !carry(here, there))
                        fds[0].fd = -1;
                if (n > 0 && fds[1].fd >= 0 && fds[1].revents && !carry(there, here))
                        fds[1].fd = -1;
        }
}

/* ---- connecting ---- */

static int connect_one(const struct addrinfo *at)
{
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0, one = 1;
        socklen_t len = sizeof err;

        if (fd < 0)
                return -1;
        if (connect(fd, at->ai_addr, at->ai_addrlen) < 0 &&
            (errno != EINPROGRESS || !wait_for(fd, POLLOUT, CONNECT_MS) ||
             getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err != 0)) {
                int why = err ? err : errno == EINPROGRESS ? ETIMEDOUT : errno;

                close(fd);
                errno = why;
                return -1;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        (void)fcntl(fd, F_SETFL, 0); /* blocking again */
        return fd;
}

static int connect_to(const char *host, int port, GError **error)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
        g_autofree char *service = g_strdup_printf("%d", port);
        int fd = -1, failure = getaddrinfo(host, service, &hints, &list);

        if (failure) {
                err_set(error, ERR_NOT_FOUND, "'%s' cannot be looked up: %s", host, gai_strerror(failure));
                return -1;
        }
        for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
                fd = connect_one(at);
        if (fd < 0)
                err_set_errno(error, errno, "cannot connect to '%s:%d'", host, port);
        freeaddrinfo(list);
        return fd;
}

static const char *variable(const char *name)
{
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

/* The machine's proxy for this address; false: none. */
static bool find_proxy(const AllowAsk *ask, AllowProxy *ret, GError **error)
{
        const char *url = variable(ask->tunnel ? "https_proxy" : "http_proxy");

        if (!url)
                url = variable("all_proxy");
        if (!url || allow_is_direct(variable("no_proxy"), ask->host))
                return false;
        return allow_proxy_parse(url, ret, error);
}

static void add_authorization(GString *text, const AllowProxy *proxy)
{
        if (proxy->authorization)
                g_string_append_printf(text, "Proxy-Authorization: %s\r\n", proxy->authorization);
}

static const char *brackets(const char *host, bool open)
{
        return !strchr(host, ':') ? "" : open ? "[" : "]";
}

/* Connects through another proxy, up to its 2xx answer. Other answers are not forwarded: the client would
 * send another request on the connection. */
static bool tunnel_through(int there, const AllowAsk *ask, const AllowProxy *proxy, GString *rest,
                           GError **error)
{
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *line = NULL;
        gsize len;

        g_string_printf(text, "CONNECT %s%s%s:%d HTTP/1.1\r\nHost: %s%s%s:%d\r\n", brackets(ask->host, true),
                        ask->host, brackets(ask->host, false), ask->port, brackets(ask->host, true),
                        ask->host, brackets(ask->host, false), ask->port);
        add_authorization(text, proxy);
        g_string_append(text, "\r\n");
        if (!send_all(there, text->str, text->len))
                return err_set_errno(error, errno, "proxy '%s:%d'", proxy->host, proxy->port);
        len = read_head(there, rest);
        line = g_strndup(rest->str, strcspn(rest->str, "\r\n"));
        if (len == 0 || !g_str_has_prefix(line, "HTTP/1.") || strlen(line) < 10 || line[9] != '2')
                return err_set(error, ERR_UNREACHABLE, "proxy '%s:%d' does not connect to '%s:%d': %s",
                               proxy->host, proxy->port, ask->host, ask->port, *line ? line : "no answer");
        g_string_erase(rest, 0, (gssize)len);
        return true;
}

static bool send_request(int there, const AllowAsk *ask, const AllowProxy *proxy)
{
        g_autoptr(GString) text = g_string_new(NULL);

        g_string_printf(text, "%s %s HTTP/1.1\r\nHost: %s%s%s", ask->method, proxy ? ask->target : ask->path,
                        brackets(ask->host, true), ask->host, brackets(ask->host, false));
        if (ask->port != 80)
                g_string_append_printf(text, ":%d", ask->port);
        g_string_append_printf(text, "\r\n%sConnection: close\r\n", ask->headers);
        if (proxy)
                add_authorization(text, proxy);
        g_string_append(text, "\r\n");
        return send_all(there, text->str, text->len);
}

/* ---- one connection ---- */

/* pip and uv show the status line of a proxy and no body, so the text is in both. */
static void refuse(int here, int status, const char *text)
{
        g_autofree char *line = err_line(text);
        g_autofree char *reply =
                g_strdup_printf("HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                                "Connection: close\r\n\r\n%s\n",
                                status, line, strlen(line) + 1, line);

        (void)send_all(here, reply, strlen(reply));
}

/* Logs `text` to the build's log, once per address. */
static void tell(const AllowAsk *ask, const char *text)
{
        bool new = false;

        pthread_mutex_lock(&lock);
        if (g_hash_table_size(refused) < REFUSALS_MAX)
                new = g_hash_table_add(refused, g_strdup_printf("%s:%d", ask->host, ask->port));
        pthread_mutex_unlock(&lock);
        if (new)
                dprintf(STDERR_FILENO, "paddle: %s\n", text);
}

static void refuse_address(int here, const AllowAsk *ask)
{
        g_autofree char *text = g_strdup_printf(
                "a connection to '%s:%d' was refused: a build can connect only to the addresses of the package index; an administrator can add it (paddled --build-allow %s:%d)",
                ask->host, ask->port, ask->host, ask->port);

        tell(ask, text);
        refuse(here, FORBIDDEN, text);
}

/* --egress is a program at our cgroup: connect() fails with EPERM, and name servers are unreachable. */
static void refuse_failed(int here, const AllowAsk *ask, const GError *error)
{
        const char *egress =
                !variable("EGRESS") ? ""
                : err_is(error, ERR_DENIED)
                        ? ": the list of the server's --egress does not have it; an administrator can add it"
                : err_is(error, ERR_NOT_FOUND)
                        ? "; with the server's --egress the name servers have to be in its list, too"
                        : "";
        g_autofree char *why = err_text(error);
        g_autofree char *text = g_strdup_printf("no way to '%s:%d': %s%s", ask->host, ask->port, why, egress);

        tell(ask, text);
        refuse(here, BAD_GATEWAY, text);
}

static void pass(int here, const AllowAsk *ask, const char *behind, gsize len)
{
        static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        g_auto(AllowProxy) proxy = { 0 };
        g_autoptr(GString) rest = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        bool through = find_proxy(ask, &proxy, &error);
        fd_auto int there = error ? -1
                                  : connect_to(through ? proxy.host : ask->host,
                                               through ? proxy.port : ask->port, &error);

        if (there < 0 || (through && ask->tunnel && !tunnel_through(there, ask, &proxy, rest, &error))) {
                refuse_failed(here, ask, error);
                return;
        }
        if (!ask->tunnel) {
                if (send_request(there, ask, through ? &proxy : NULL))
                        carry_all(here, there, true);
                return;
        }
        if (send_all(here, established, strlen(established)) && send_all(here, rest->str, rest->len) &&
            send_all(there, behind, len))
                carry_all(here, there, false);
}

static void serve(int here)
{
        g_autoptr(GString) buffer = g_string_new(NULL);
        g_auto(AllowAsk) ask = { 0 };
        g_autoptr(GError) error = NULL;
        gsize len = read_head(here, buffer);

        if (len == 0)
                return;
        if (!allow_ask_parse(buffer->str, len, &ask, &error)) {
                refuse(here, err_is(error, ERR_DENIED) ? FORBIDDEN : BAD_REQUEST, error->message);
        } else if (!allow_list_has(allow, ask.host, ask.port)) {
                refuse_address(here, &ask);
        } else {
                pass(here, &ask, buffer->str + len, buffer->len - len);
        }
}

static void *run(void *arg)
{
        int here = GPOINTER_TO_INT(arg);

        serve(here);
        close(here);
        pthread_mutex_lock(&lock);
        connections--;
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&lock);
        return NULL;
}

/* ---- the program ---- */

static int receive_listener(void)
{
        char byte;
        int fd = -1;

        return wire_receive(SOCKET_FD, &byte, 1, &fd, 0) == 1 ? fd : -1;
}

static _Noreturn void accept_all(int listener)
{
        pthread_attr_t attributes;
        pthread_t thread;

        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        for (;;) {
                int here = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

                if (here < 0 && (errno == EINTR || errno == ECONNABORTED))
                        continue;
                if (here < 0)
                        _exit(1);
                pthread_mutex_lock(&lock);
                while (connections >= CONNECTIONS_MAX)
                        pthread_cond_wait(&room, &lock);
                connections++;
                pthread_mutex_unlock(&lock);
                if (pthread_create(&thread, &attributes, run, GINT_TO_POINTER(here)) !=
                    0) { /* out of processes */
                        close(here);
                        pthread_mutex_lock(&lock);
                        connections--;
                        pthread_mutex_unlock(&lock);
                }
        }
}

int proxy_main(void)
{
        int listener;

        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        (void)prctl(PR_SET_NAME, "paddle-proxy");
        (void)signal(SIGPIPE, SIG_IGN);
        (void)!chdir("/");
        allow = getenv("ALLOW");
        refused = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        listener = receive_listener();
        if (listener < 0 || write(SOCKET_FD, "", 1) != 1)
                _exit(1); /* the member has no network of its own */
        close(SOCKET_FD);
        accept_all(listener);
}
