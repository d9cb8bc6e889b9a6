/* paddle-gate: what stands at the beginning of a container of a job on Kubernetes
 * (doc/internals/kubernetes.md, "A gate before the entry point"). Linked statically and small, since it
 * travels in a ConfigMap into images that hold nothing of ours; so it includes no room, and GLib neither. It
 * asks no API server.
 *
 *   wait ADDRESS...          ends when each listens. HOST:PORT, or HOST:PORT,PORT for any of two
 *   run [--once MARK] FILES -- PROGRAM [ARGUMENT...]
 *                            sets the variables of FILES-INDEX and becomes the program. With a mark
 *                            that is there it ran before: it holds still until it is told to end
 *   unpack TAR DIRECTORY [NAME]
 *                            a package, where an image of its own cannot be had (unpack.c)
 *   serve [PORT]             runs what members of the job ask for, and
 *   call HOST[:PORT] WORD... asks (shell.c)
 *   terminal HANGUP_MS PROGRAM [ARGUMENT...]
 *                            becomes the host of the program's terminal (terminal/terminal.h), and
 *   relay                    connects standard input and output with it
 *
 * INDEX is the number at the end of PADDLE_GATE_MEMBER: the name of the pod, or the number of a job's pod.
 *
 * As the first process of a container it gets no signal that it has no handler for. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gate/gate.h"
#include "terminal/terminal.h"

enum {
        CONNECT_MS = 1000,
        FIRST_MS = 100,   /* between two tries; the names of pods take a second or two to come */
        FIRST_TRIES = 30, /* so often, then less and less */
        LAST_MS = 1000,
        SAY_S = 30,             /* what it waits for is said so often */
        FILE_MAX = 1024 * 1024, /* bytes: what a ConfigMap can hold */
        HOST_SIZE = 256,        /* a DNS name has at most 253 */
        NOT_FOUND = 127,        /* as a shell says it: it is not there */
};

static const char last_words[] = "/dev/termination-log";

void fail(int status, const char *format, ...)
{
        char text[1024]; /* longer reasons are cut */
        va_list args;
        int fd;

        va_start(args, format);
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        (void)fprintf(stderr, "paddle-gate: %s\n", text);
        fd = open(last_words, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (fd >= 0) {
                (void)dprintf(fd, "paddle-gate: %s", text);
                (void)close(fd);
        }
        exit(status);
}

static void on_term(int signo)
{
        _exit(ASKED_TO_END);
}

static void end_on_term(void)
{
        const struct sigaction action = { .sa_handler = on_term };

        (void)sigaction(SIGTERM, &action, NULL);
        (void)sigaction(SIGINT, &action, NULL);
}

/* ---- does it listen? ---- */

/* -1: it does not. */
static int connection(const struct addrinfo *at)
{
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), problem = 0;
        struct pollfd wait = { .fd = fd, .events = POLLOUT };
        socklen_t size = sizeof problem;
        bool up;

        if (fd < 0)
                return -1;
        up = connect(fd, at->ai_addr, at->ai_addrlen) == 0 ||
             (errno == EINPROGRESS && poll(&wait, 1, CONNECT_MS) == 1 &&
              getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0);
        if (up)
                return fd;
        (void)close(fd);
        return -1;
}

/* The name is resolved anew each time: a pod gets its address late. */
static int dial(const char *host, const char *port)
{
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
        struct addrinfo *list = NULL;
        int fd = -1;

        if (getaddrinfo(host, port, &hints, &list) != 0)
                return -1;
        for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
                fd = connection(at);
        freeaddrinfo(list);
        return fd;
}

/* "HOST:PORT" or "HOST:PORT,PORT": any of them; -1: none listens. */
static int dial_any(const char *address)
{
        const char *colon = strrchr(address, ':');
        char host[HOST_SIZE], port[8]; /* 65535 */
        int fd = -1;

        (void)snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
        for (const char *at = colon + 1; *at && fd < 0;) {
                size_t len = strcspn(at, ",");

                (void)snprintf(port, sizeof port, "%.*s", (int)len, at);
                fd = dial(host, port);
                at += len + (at[len] == ',');
        }
        return fd;
}

static bool any_listens(const char *address)
{
        int fd = dial_any(address);

        if (fd >= 0)
                (void)close(fd);
        return fd >= 0;
}

static bool is_ports(const char *text)
{
        if (strspn(text, "0123456789,") != strlen(text) || text[strlen(text) - 1] == ',')
                return false;
        for (const char *at = text; *at;) {
                size_t len = strcspn(at, ",");
                long port = strtol(at, NULL, 10);

                if (len == 0 || len > 5 || port < 1 || port > 65535)
                        return false;
                at += len + (at[len] == ',');
        }
        return true;
}

bool is_port(const char *text)
{
        return *text && is_ports(text) && !strchr(text, ',');
}

bool is_address(const char *text)
{
        const char *colon = strrchr(text, ':');

        return colon && colon > text && colon - text < HOST_SIZE && colon[1] && is_ports(colon + 1);
}

/* ---- wait ---- */

static void say_what_is_left(char *const *addresses, int n)
{
        (void)fprintf(stderr, "paddle-gate: waits until %d listen:", n);
        for (int i = 0; i < n; i++)
                (void)fprintf(stderr, " %s", addresses[i]);
        (void)fputc('\n', stderr);
}

static void pause_ms(int ms)
{
        const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

        (void)nanosleep(&time, NULL);
}

static time_t seconds(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec;
}

typedef struct {
        int tries, delay;
        time_t said;
} Patience;

/* True: it is time to say what for. */
static bool wait_a_while(Patience *patience)
{
        pause_ms(patience->delay);
        if (++patience->tries > FIRST_TRIES)
                patience->delay = patience->delay * 3 / 2 < LAST_MS ? patience->delay * 3 / 2 : LAST_MS;
        if (seconds() - patience->said < SAY_S)
                return false;
        patience->said = seconds();
        return true;
}

int reach(char *address)
{
        Patience patience = { .delay = FIRST_MS, .said = seconds() };
        int fd;

        while ((fd = dial_any(address)) < 0)
                if (wait_a_while(&patience))
                        say_what_is_left(&address, 1);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return fd;
}

static int wait_for_all(int n, char **addresses)
{
        Patience patience = { .delay = FIRST_MS, .said = seconds() };

        end_on_term();
        if (n < 1)
                fail(USAGE, "wait: which addresses? HOST:PORT...");
        for (int i = 0; i < n; i++)
                if (!is_address(addresses[i]))
                        fail(USAGE, "wait: '%s' is not HOST:PORT", addresses[i]);
        say_what_is_left(addresses, n);
        for (; n > 0; n--, addresses++) {
                while (!any_listens(addresses[0]))
                        if (wait_a_while(&patience))
                                say_what_is_left(addresses, n);
        }
        return 0;
}

/* ---- run ---- */

/* Its program has run in this pod: what it left is as it left it, and how it ended is on record. */
static int __attribute__((noreturn)) hold(void)
{
        end_on_term();
        for (;;)
                (void)pause();
}

/* False: it was there. */
static bool set_mark(const char *path)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (fd < 0 && errno == EEXIST)
                return false;
        if (fd < 0)
                fail(NOT_RUN, "mark '%s': %s", path, strerror(errno));
        (void)close(fd);
        return true;
}

static char *read_all(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t len = 0;
        struct stat st;
        char *text;

        if (fd < 0 || fstat(fd, &st) != 0 || st.st_size > FILE_MAX)
                fail(NOT_RUN, "variables '%s': %s", path, fd < 0 ? strerror(errno) : "too large");
        text = malloc((size_t)st.st_size + 1);
        while (text && len < (size_t)st.st_size) {
                ssize_t got = read(fd, text + len, (size_t)st.st_size - len);

                if (got <= 0)
                        fail(NOT_RUN, "variables '%s': %s", path, got ? strerror(errno) : "cut off");
                len += (size_t)got;
        }
        if (!text)
                fail(NOT_RUN, "variables '%s': no memory", path);
        text[len] = '\0';
        (void)close(fd);
        return text;
}

/* "\n" and "\\" in place. */
static void unescape(char *text)
{
        char *to = text;

        for (const char *from = text; *from; from++) {
                if (*from == '\\' && from[1]) {
                        from++;
                        *to++ = (char)(*from == 'n' ? '\n' : *from);
                } else {
                        *to++ = *from;
                }
        }
        *to = '\0';
}

/* Lines NAME=VALUE. */
static void set_variables(char *text)
{
        for (char *line = text, *end; *line; line = end) {
                char *equals;

                end = line + strcspn(line, "\n");
                if (*end)
                        *end++ = '\0';
                equals = strchr(line, '=');
                if (!equals)
                        continue;
                *equals = '\0';
                unescape(equals + 1);
                (void)setenv(line, equals + 1, 1);
        }
}

static char *file_of_member(const char *files)
{
        const char *member = getenv("PADDLE_GATE_MEMBER"), *dash = member ? strrchr(member, '-') : NULL;
        const char *index = dash ? dash + 1 : member;
        size_t size;
        char *path;

        if (!index || !*index || strspn(index, "0123456789") != strlen(index))
                fail(NOT_RUN, "PADDLE_GATE_MEMBER '%s' has no number at its end", member ? member : "");
        size = strlen(files) + strlen(index) + 2;
        path = malloc(size);
        if (!path)
                fail(NOT_RUN, "no memory");
        (void)snprintf(path, size, "%s-%s", files, index);
        (void)unsetenv("PADDLE_GATE_MEMBER");
        return path;
}

static int run(int argc, char **argv)
{
        const char *mark = NULL;

        if (argc > 2 && strcmp(argv[0], "--once") == 0) {
                mark = argv[1];
                argc -= 2;
                argv += 2;
        }
        if (argc < 3 || strcmp(argv[1], "--") != 0)
                fail(USAGE, "run [--once MARK] FILES -- PROGRAM [ARGUMENT...]");
        if (mark && !set_mark(mark))
                return hold();
        set_variables(read_all(file_of_member(argv[0])));
        (void)execvp(argv[2], argv + 2);
        fail(errno == ENOENT ? NOT_FOUND : NOT_RUN, "cannot run '%s': %s", argv[2], strerror(errno));
}

static int relay(int argc, char **argv)
{
        return terminal_relay();
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                int (*run)(int argc, char **argv);
        } verbs[] = { { "wait", wait_for_all }, { "run", run },   { "unpack", unpack },
                      { "serve", serve },       { "call", call }, { "terminal", terminal_host },
                      { "relay", relay } };

        for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof verbs[0]; i++)
                if (strcmp(argv[1], verbs[i].name) == 0)
                        return verbs[i].run(argc - 2, argv + 2);
        fail(USAGE, "which of wait, run, unpack, serve, call, terminal, relay?");
}
