/* A remote shell between the members of a job, for launchers that start processes in other members
 * (model/framework-mpi.c) and images that need have no sshd.
 *
 *   call HOST[:PORT] WORD...    SECRET\nLENGTH\nCOMMAND ─▶    serve [PORT]
 *                                           ◀─ STATUS\n        sh -c COMMAND
 *
 * Who calls knows the attempt's secret, PADDLE_GATE_SECRET; until it has said it a caller is a stranger, and
 * costs a descriptor, no process. Nothing is encrypted, as nothing is that the processes say to each other.
 * What a command prints goes to the log of the member where it runs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gate/gate.h"

enum {
        BACKLOG = 1024,
        COMMAND_MAX = 128 * 1024, /* bytes: what one argument may have */
        LINE_MAX_BYTES = 256,
        ADDRESS_SIZE = 512, /* a host, of at most 255, and ports */
        REQUEST_S = 30,     /* a caller says who it is within this time, and then what it wants */
        STRANGERS = 64,     /* at once: one more takes the place of the one that is silent for longest */
        LOST = 255,         /* as ssh says it: the connection went */
};

typedef struct {
        time_t until;
        unsigned long number; /* callers are counted */
        size_t len;
        char line[LINE_MAX_BYTES]; /* what it has said so far */
} Stranger;

typedef enum { IS_STRANGE, IS_KNOWN, IS_REFUSED } Standing;

typedef struct {
        const char *secret;
        sigset_t waiting; /* the signals that are blocked while it waits, and in its children */
        struct pollfd fds[1 + STRANGERS]; /* who listens, then the strangers'; -1: the place is free */
        Stranger strangers[STRANGERS];
        unsigned long callers;
        bool crowded; /* which was said */
} Door;

static const char variable[] = "PADDLE_GATE_SECRET";
static char usual_port[] = "36000"; /* a pod has its own address */
static volatile sig_atomic_t told_to_end;

/* To the log alone: beside a program of the member's, whose end is told by itself. Returns the status. */
static int __attribute__((format(printf, 2, 3))) say(int status, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        (void)fputs("paddle-gate: ", stderr);
        (void)vfprintf(stderr, format, args);
        (void)fputc('\n', stderr);
        va_end(args);
        return status;
}

/* NULL: there is none. */
static const char *secret_of(void)
{
        const char *secret = getenv(variable);

        return secret && *secret && strlen(secret) < LINE_MAX_BYTES && !strchr(secret, '\n') ? secret : NULL;
}

/* False: cut off. */
static bool read_whole(int fd, char *into, size_t size)
{
        for (size_t len = 0; len < size;) {
                ssize_t got = read(fd, into + len, size - len);

                if (got <= 0)
                        return false;
                len += (size_t)got;
        }
        return true;
}

/* Without its end; false: cut off, or too long. */
static bool read_line(int fd, char into[LINE_MAX_BYTES])
{
        for (size_t len = 0; len < LINE_MAX_BYTES; len++) {
                if (!read_whole(fd, into + len, 1))
                        return false;
                if (into[len] == '\n') {
                        into[len] = '\0';
                        return true;
                }
        }
        return false;
}

static bool write_whole(int fd, const char *text, size_t size)
{
        while (size > 0) {
                ssize_t put = send(fd, text, size, MSG_NOSIGNAL);

                if (put <= 0)
                        return false;
                text += put;
                size -= (size_t)put;
        }
        return true;
}

/* ---- serve ---- */

/* How long it takes says nothing of where they differ. */
static bool is_same(const char *said, const char *secret)
{
        size_t len = strlen(secret);
        unsigned char differs = strlen(said) != len;

        for (size_t i = 0; i < len && said[i]; i++)
                differs |= (unsigned char)(said[i] ^ secret[i]);
        return !differs;
}

/* The command of one of ours; NULL: it is none. */
static char *read_request(int fd)
{
        const struct timeval limit = { .tv_sec = REQUEST_S };
        char line[LINE_MAX_BYTES], *command, *end;
        long size;

        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (!read_line(fd, line))
                return NULL;
        size = strtol(line, &end, 10);
        if (end == line || *end || size < 1 || size > COMMAND_MAX)
                return NULL;
        command = calloc((size_t)size + 1, 1);
        if (command && read_whole(fd, command, (size_t)size))
                return command;
        free(command);
        return NULL;
}

static void __attribute__((noreturn)) become(const char *command)
{
        int null = open("/dev/null", O_RDONLY);

        (void)dup2(null, STDIN_FILENO);
        (void)execlp("sh", "sh", "-c", command, NULL);
        _exit(say(NOT_RUN, "cannot run 'sh': %s", strerror(errno)));
}

/* As a shell says it. */
static int status_of(pid_t pid)
{
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return LOST;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int answer(int fd)
{
        char *command = read_request(fd), reply[8]; /* 255 */
        pid_t pid;

        if (!command)
                return say(1, "serve: refused a caller that did not say what to run");
        (void)unsetenv(variable);
        pid = fork();
        if (pid == 0)
                become(command);
        free(command);
        (void)snprintf(reply, sizeof reply, "%d\n", pid < 0 ? NOT_RUN : status_of(pid));
        return write_whole(fd, reply, strlen(reply)) ? 0 : 1;
}

/* Where there is no IPv6, by IPv4 alone. */
static int listen_on(int port)
{
        struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
        struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
        const struct sockaddr *at = (const struct sockaddr *)&six;
        int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0, on = 1;
        socklen_t size = sizeof six;

        if (fd < 0) {
                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                at = (const struct sockaddr *)&four;
                size = sizeof four;
        } else {
                (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        }
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd < 0 || bind(fd, at, size) != 0 || listen(fd, BACKLOG) != 0)
                fail(NOT_RUN, "serve: cannot listen on port %d: %s", port, strerror(errno));
        return fd;
}

static void on_end(int signo)
{
        told_to_end = 1;
}

/* They come only while it waits for callers. */
static void catch_ends(sigset_t *ret_waiting)
{
        const struct sigaction end = { .sa_handler = on_end };
        sigset_t ends;

        (void)sigemptyset(&ends);
        (void)sigaddset(&ends, SIGTERM);
        (void)sigaddset(&ends, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &ends, ret_waiting);
        (void)sigaction(SIGTERM, &end, NULL);
        (void)sigaction(SIGINT, &end, NULL);
}

static time_t now_s(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec;
}

static void let_go(Door *door, int place)
{
        (void)close(door->fds[1 + place].fd);
        door->fds[1 + place].fd = -1;
}

static void serve_known(Door *door, int place)
{
        pid_t pid = fork();

        if (pid == 0) {
                int caller = door->fds[1 + place].fd;

                for (int i = 0; i < STRANGERS; i++)
                        if (i != place && door->fds[1 + i].fd >= 0)
                                let_go(door, i);
                (void)close(door->fds[0].fd);
                (void)signal(SIGTERM, SIG_DFL);
                (void)signal(SIGINT, SIG_DFL);
                (void)sigprocmask(SIG_SETMASK, &door->waiting, NULL);
                _exit(answer(caller));
        }
}

/* Byte by byte: what follows the secret is read by who serves it. */
static Standing hear(int fd, Stranger *stranger, const char *secret)
{
        while (stranger->len < LINE_MAX_BYTES) {
                char *at = stranger->line + stranger->len++;
                ssize_t got = recv(fd, at, 1, MSG_DONTWAIT);

                if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
                        stranger->len--;
                        return IS_STRANGE;
                }
                if (got <= 0)
                        return IS_REFUSED;
                if (*at == '\n') {
                        *at = '\0';
                        return is_same(stranger->line, secret) ? IS_KNOWN : IS_REFUSED;
                }
        }
        return IS_REFUSED;
}

static void hear_place(Door *door, int place)
{
        Stranger *stranger = &door->strangers[place];
        Standing standing = hear(door->fds[1 + place].fd, stranger, door->secret);

        if (standing == IS_STRANGE && now_s() < stranger->until)
                return;
        if (standing == IS_KNOWN)
                serve_known(door, place);
        else
                (void)say(0, "serve: refused a caller that does not know the secret");
        let_go(door, place);
}

/* A free place, or the one of who is silent for longest. */
static int place_for_one(Door *door)
{
        int oldest = 0;

        for (int i = 0; i < STRANGERS; i++) {
                if (door->fds[1 + i].fd < 0)
                        return i;
                if (door->strangers[i].number < door->strangers[oldest].number)
                        oldest = i;
        }
        if (!door->crowded)
                (void)say(0, "serve: %d callers do not say the secret, those that came first are let go",
                          STRANGERS);
        door->crowded = true;
        let_go(door, oldest);
        return oldest;
}

static void let_in(Door *door)
{
        int caller = accept4(door->fds[0].fd, NULL, NULL, SOCK_CLOEXEC), place;

        if (caller < 0)
                return;
        place = place_for_one(door);
        door->fds[1 + place] = (struct pollfd){ .fd = caller, .events = POLLIN };
        door->strangers[place].until = now_s() + REQUEST_S;
        door->strangers[place].number = door->callers++;
        door->strangers[place].len = 0;
        hear_place(door, place);
}

static void look_at_callers(Door *door)
{
        for (int i = 0; i < STRANGERS; i++)
                if (door->fds[1 + i].fd >= 0)
                        hear_place(door, i);
        if (door->fds[0].revents)
                let_in(door);
}

static void take_the_dead(void)
{
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

/* As the first process of its container it tells the others, and leaves when they have. */
static int end_with_all(void)
{
        (void)signal(SIGTERM, SIG_IGN);
        (void)kill(0, SIGTERM);
        while (wait(NULL) > 0 || errno == EINTR)
                ;
        return ASKED_TO_END;
}

int serve(int argc, char **argv)
{
        const struct timespec moment = { .tv_sec = 1 };
        const char *port = argc > 0 ? argv[0] : usual_port;
        Door door = { .secret = secret_of() };

        if (argc > 1 || !is_port(port))
                fail(USAGE, "serve [PORT]");
        if (!door.secret)
                fail(USAGE, "serve: the variable %s holds no secret", variable);
        (void)setpgid(0, 0); /* of its own, so that it can tell all that it began */
        catch_ends(&door.waiting);
        for (int i = 0; i < STRANGERS; i++)
                door.fds[1 + i].fd = -1;
        door.fds[0] = (struct pollfd){ .fd = listen_on((int)strtol(port, NULL, 10)), .events = POLLIN };
        (void)say(0, "serves on port %s", port);
        while (!told_to_end) {
                if (ppoll(door.fds, 1 + STRANGERS, &moment, &door.waiting) >= 0)
                        look_at_callers(&door);
                take_the_dead();
        }
        return end_with_all();
}

/* ---- call ---- */

/* NULL: there is no memory. */
static char *join(int n, char **words)
{
        size_t size = 1;
        char *text, *end;

        for (int i = 0; i < n; i++)
                size += strlen(words[i]) + 1;
        text = end = calloc(size, 1);
        for (int i = 0; text && i < n; i++)
                end = stpcpy(stpcpy(end, i ? " " : ""), words[i]);
        return text;
}

/* With a port. */
static void complete(const char *host, char into[ADDRESS_SIZE])
{
        (void)snprintf(into, ADDRESS_SIZE, "%s%s%s", host, strchr(host, ':') ? "" : ":",
                       strchr(host, ':') ? "" : usual_port);
}

/* How the command ended; LOST: that is not known. */
static int ask(int fd, const char *secret, const char *command)
{
        char head[LINE_MAX_BYTES * 2], line[LINE_MAX_BYTES];
        int len = snprintf(head, sizeof head, "%s\n%zu\n", secret, strlen(command));
        bool told = write_whole(fd, head, (size_t)len) && write_whole(fd, command, strlen(command)) &&
                    read_line(fd, line);

        return told ? (int)strtol(line, NULL, 10) : LOST;
}

int call(int argc, char **argv)
{
        const char *secret = secret_of();
        char *command, address[ADDRESS_SIZE];
        int fd, on = 1, status;

        complete(argc > 0 ? argv[0] : "", address);
        if (argc < 2 || !is_address(address))
                return say(USAGE, "call HOST[:PORT] WORD...");
        if (!secret)
                return say(USAGE, "call: the variable %s holds no secret", variable);
        command = join(argc - 1, argv + 1);
        if (!command || strlen(command) > COMMAND_MAX)
                return say(USAGE, "call: the command is longer than %d bytes", COMMAND_MAX);
        fd = reach(address);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        status = ask(fd, secret, command);
        if (status == LOST)
                (void)say(LOST, "call: '%s' went, or does not know us, before the command ended", address);
        (void)close(fd);
        free(command);
        return status;
}
