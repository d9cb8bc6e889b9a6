/* The host of a terminal (see terminal.h, drawing in doc/guide/interactive.md). One thread, one poll.
 *
 *   program ─▶ pseudo-terminal ─▶ ring ─▶ watchers, each at a place of its own
 *                              └▶ standard output: the log
 *   watchers ─▶ input ─▶ pseudo-terminal
 *
 * The ring has the last TERMINAL_KEPT bytes; `end` counts all that there ever were. The program is read only
 * while every watcher would still find its next byte there: a watcher that does not read holds it up, for at
 * most STALL_MS. Input is taken while there is space for it.
 *
 *   RUNNING ──program gone──▶ FLUSHING ──all watchers gone, or FLUSH_MS──▶ exit
 *      └──no watcher for HANGUP_MS──▶ HANGING_UP: HUP, KILL_MS later KILL ──▶ FLUSHING */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "terminal/terminal.h"

enum {
        PIECE = 4096,
        READS_A_TURN = 8,
        INPUT_MAX = 16 << 10,
        STALL_MS = 10000, /* a watcher takes something within this time */
        KILL_MS = 10000,  /* from HUP to KILL */
        FLUSH_MS = 5000,  /* for watchers to read the end and close */
        OUT_SIZE = TERMINAL_HEAD + PIECE,
        POSITION_BYTES = 8,
        STATUS_BYTES = 4,
        CELL_BYTES = 2,
        FIXED = 3, /* signals, listener, terminal */
        SIGNALLED = 128,
};

typedef struct {
        int fd;        /* -1: a free place */
        bool attached; /* it has said from where */
        bool leaves;   /* it has detached, and gets the output before `until` */
        bool told_end;
        uint64_t at, until; /* of the next byte of output for it */
        int64_t taken_ms;   /* when it last took something, or needed nothing */
        size_t in_len, out_at, out_len;
        unsigned char in[TERMINAL_HEAD + TERMINAL_FRAME_MAX], out[OUT_SIZE];
} Watcher;

typedef struct {
        int signals, listener, terminal; /* terminal -1: nothing more comes from it */
        int report;                      /* -1: none */
        pid_t program;
        bool gone;
        int status; /* of waitpid */
        int64_t hangup_ms, alone_ms, kill_at, flush_until;
        bool stays, hung_up;
        uint64_t end;
        size_t input_at, input_len;
        unsigned char input[INPUT_MAX];
        unsigned char ring[TERMINAL_KEPT];
        Watcher watchers[TERMINAL_WATCHERS];
} Host;

static int64_t now_ms(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void write_log(const void *data, size_t len)
{
        for (size_t at = 0; at < len;) {
                ssize_t done = write(STDOUT_FILENO, (const char *)data + at, len - at);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done <= 0)
                        return; /* a full disk loses a part of the log, not the terminal */
                at += (size_t)done;
        }
}

/* ---- output ---- */

static void keep(Host *host, const unsigned char *data, size_t len)
{
        size_t place = (size_t)(host->end % TERMINAL_KEPT);
        size_t first = len < TERMINAL_KEPT - place ? len : TERMINAL_KEPT - place;

        memcpy(host->ring + place, data, first);
        memcpy(host->ring, data + first, len - first);
        host->end += len;
        write_log(data, len);
}

static bool everyone_keeps_up(const Host *host)
{
        for (int i = 0; i < TERMINAL_WATCHERS; i++) {
                const Watcher *watcher = &host->watchers[i];

                if (watcher->fd >= 0 && watcher->attached && host->end - watcher->at > TERMINAL_KEPT - PIECE)
                        return false;
        }
        return true;
}

/* True when there may be more. */
static bool read_program(Host *host)
{
        unsigned char piece[PIECE];

        for (int i = 0; i < READS_A_TURN && host->terminal >= 0 && everyone_keeps_up(host); i++) {
                ssize_t got = read(host->terminal, piece, sizeof piece);

                if (got > 0) {
                        keep(host, piece, (size_t)got);
                } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) { /* EIO: no other side */
                        (void)close(host->terminal);
                        host->terminal = -1;
                } else if (errno == EAGAIN) {
                        return false;
                }
        }
        return host->terminal >= 0;
}

/* ---- watchers ---- */

static bool is_watched(const Host *host)
{
        for (int i = 0; i < TERMINAL_WATCHERS; i++)
                if (host->watchers[i].fd >= 0 && host->watchers[i].attached)
                        return true;
        return false;
}

static void drop(Host *host, Watcher *watcher)
{
        if (watcher->fd < 0)
                return;
        (void)close(watcher->fd);
        watcher->fd = -1;
        if (!is_watched(host))
                host->alone_ms = now_ms();
}

static bool is_ours(int fd)
{
        struct ucred peer;
        socklen_t size = sizeof peer;

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* A new connection has space for that. */
static void refuse(int fd)
{
        unsigned char frame[TERMINAL_HEAD];

        terminal_head(frame, TERMINAL_FULL, 0);
        (void)send(fd, frame, sizeof frame, MSG_NOSIGNAL); /* who has gone need not know */
}

static void welcome(Host *host)
{
        int fd = accept4(host->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        Watcher *watcher = NULL;

        for (int i = 0; i < TERMINAL_WATCHERS && !watcher; i++)
                if (host->watchers[i].fd < 0)
                        watcher = &host->watchers[i];
        if (fd < 0)
                return;
        if (watcher && is_ours(fd)) {
                *watcher = (Watcher){ .fd = fd, .taken_ms = now_ms() };
                return;
        }
        if (is_ours(fd))
                refuse(fd);
        (void)close(fd);
}

static void put_frame(Watcher *watcher, TerminalFrame type, const unsigned char *data, size_t len)
{
        terminal_head(watcher->out + watcher->out_len, type, (uint32_t)len);
        memcpy(watcher->out + watcher->out_len + TERMINAL_HEAD, data, len);
        watcher->out_len += TERMINAL_HEAD + len;
}

static int exit_status(const Host *host)
{
        if (host->hung_up)
                return TERMINAL_HUNG_UP;
        return WIFSIGNALED(host->status) ? SIGNALLED + WTERMSIG(host->status) : WEXITSTATUS(host->status);
}

static uint64_t output_left(const Host *host, const Watcher *watcher)
{
        return (watcher->leaves ? watcher->until : host->end) - watcher->at;
}

static bool is_to_hear_end(const Host *host, const Watcher *watcher)
{
        return host->gone && host->terminal < 0 && !watcher->told_end && !watcher->leaves;
}

/* The next frame for it, once the last one is away. */
static void fill(const Host *host, Watcher *watcher)
{
        uint64_t left = output_left(host, watcher);
        size_t place = (size_t)(watcher->at % TERMINAL_KEPT);
        size_t len = left < PIECE ? (size_t)left : PIECE;
        unsigned char status[STATUS_BYTES];

        if (len > TERMINAL_KEPT - place)
                len = TERMINAL_KEPT - place;
        watcher->out_at = watcher->out_len = 0;
        if (len) {
                put_frame(watcher, TERMINAL_OUTPUT, host->ring + place, len);
                watcher->at += len;
        } else if (is_to_hear_end(host, watcher)) {
                terminal_put_number(status, STATUS_BYTES, (uint64_t)exit_status(host));
                put_frame(watcher, TERMINAL_END, status, sizeof status);
                watcher->told_end = true;
        }
}

static bool has_more(const Host *host, const Watcher *watcher)
{
        return watcher->attached && (watcher->out_at < watcher->out_len || output_left(host, watcher) ||
                                     is_to_hear_end(host, watcher));
}

static void serve(Host *host, Watcher *watcher)
{
        while (has_more(host, watcher)) {
                ssize_t done;

                if (watcher->out_at == watcher->out_len)
                        fill(host, watcher);
                done = send(watcher->fd, watcher->out + watcher->out_at, watcher->out_len - watcher->out_at,
                            MSG_NOSIGNAL);
                if (done < 0 && errno != EAGAIN && errno != EINTR)
                        drop(host, watcher);
                if (done <= 0)
                        return;
                watcher->out_at += (size_t)done;
                watcher->taken_ms = now_ms();
        }
        if (watcher->leaves)
                drop(host, watcher);
        else if (watcher->told_end)
                (void)shutdown(watcher->fd, SHUT_WR); /* the relay then exits; repeating it has no effect */
}

static void send_to_all(Host *host)
{
        for (int i = 0; i < TERMINAL_WATCHERS; i++)
                if (host->watchers[i].fd >= 0)
                        serve(host, &host->watchers[i]);
}

/* ---- what watchers say ---- */

static uint64_t first_kept(const Host *host)
{
        return host->end > TERMINAL_KEPT - PIECE ? host->end - (TERMINAL_KEPT - PIECE) : 0;
}

/* The beginning of a line, where one begins soon. */
static uint64_t line_after(const Host *host, uint64_t at)
{
        for (uint64_t i = at; i < host->end && i < at + PIECE; i++)
                if (host->ring[i % TERMINAL_KEPT] == '\n')
                        return i + 1;
        return at;
}

static void attach(Host *host, Watcher *watcher, uint64_t asked)
{
        unsigned char position[POSITION_BYTES];

        if (asked != TERMINAL_LATEST)
                watcher->at = asked > host->end ? host->end : asked;
        else if (host->end > TERMINAL_REPLAY)
                watcher->at = line_after(host, host->end - TERMINAL_REPLAY);
        if (watcher->at < first_kept(host))
                watcher->at = first_kept(host);
        watcher->attached = true;
        terminal_put_number(position, POSITION_BYTES, watcher->at);
        put_frame(watcher, TERMINAL_POSITION, position, sizeof position);
}

/* A program that draws the whole screen draws it again for a new watcher, whose screen has only the end of
 * what was drawn. */
static void resize(const Host *host, const unsigned char *at)
{
        struct winsize size = { .ws_col = (unsigned short)terminal_number(at, CELL_BYTES),
                                .ws_row = (unsigned short)terminal_number(at + CELL_BYTES, CELL_BYTES) };
        struct winsize before = { 0 };
        pid_t group;

        if (host->terminal < 0 || !size.ws_col || !size.ws_row)
                return;
        (void)ioctl(host->terminal, TIOCGWINSZ, &before);
        (void)ioctl(host->terminal, TIOCSWINSZ, &size); /* one that it does not get is the old one */
        group = tcgetpgrp(host->terminal);
        if (group > 0 && before.ws_col == size.ws_col && before.ws_row == size.ws_row)
                (void)kill(-group, SIGWINCH);
}

/* From now on the program may be without one. */
static void detach(Host *host, Watcher *watcher)
{
        host->stays = true;
        watcher->leaves = true;
        watcher->until = host->end;
}

/* False: that is no watcher. */
static bool obey(Host *host, Watcher *watcher, TerminalFrame type, const unsigned char *data, size_t len)
{
        if (!watcher->attached) {
                if (type != TERMINAL_ATTACH || len != POSITION_BYTES)
                        return false;
                attach(host, watcher, terminal_number(data, POSITION_BYTES));
                return true;
        }
        switch (type) {
        case TERMINAL_INPUT:
                memcpy(host->input + host->input_len, data, len); /* there is space: see takes_input */
                host->input_len += len;
                return true;
        case TERMINAL_SIZE:
                if (len == (size_t)2 * CELL_BYTES)
                        resize(host, data);
                return len == (size_t)2 * CELL_BYTES;
        case TERMINAL_DETACH: detach(host, watcher); return true;
        default: return false;
        }
}

static bool takes_input(const Host *host)
{
        return host->input_len + TERMINAL_FRAME_MAX <= INPUT_MAX;
}

/* Obeys the whole frames that are there; what is left of them waits. False: that is no watcher. */
static bool obey_all(Host *host, Watcher *watcher)
{
        while (!watcher->leaves && watcher->in_len >= TERMINAL_HEAD && takes_input(host)) {
                size_t len = (size_t)terminal_number(watcher->in + 1, 4), whole = TERMINAL_HEAD + len;

                if (len > TERMINAL_FRAME_MAX)
                        return false;
                if (watcher->in_len < whole)
                        return true;
                if (!obey(host, watcher, (TerminalFrame)watcher->in[0], watcher->in + TERMINAL_HEAD, len))
                        return false;
                watcher->in_len -= whole;
                memmove(watcher->in, watcher->in + whole, watcher->in_len);
        }
        return true;
}

static void hear(Host *host, Watcher *watcher)
{
        size_t space = sizeof watcher->in - watcher->in_len; /* never 0: whole frames are taken out */
        ssize_t got = read(watcher->fd, watcher->in + watcher->in_len, space);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        watcher->in_len += got > 0 ? (size_t)got : 0;
        if (got <= 0 || !obey_all(host, watcher))
                drop(host, watcher);
}

static void hear_all(Host *host, const struct pollfd *polled)
{
        for (int i = 0; i < TERMINAL_WATCHERS; i++) {
                if (polled[i].fd < 0 || polled[i].fd != host->watchers[i].fd)
                        continue;
                if (polled[i].revents & POLLIN)
                        hear(host, &host->watchers[i]);
                else if (polled[i].revents & (POLLHUP | POLLERR))
                        drop(host, &host->watchers[i]);
        }
}

static void write_input(Host *host)
{
        while (host->terminal >= 0 && host->input_len) {
                ssize_t done = write(host->terminal, host->input, host->input_len);

                if (done <= 0)
                        break;
                host->input_len -= (size_t)done;
                memmove(host->input, host->input + done, host->input_len);
        }
        if (host->terminal < 0)
                host->input_len = 0;
        for (int i = 0; i < TERMINAL_WATCHERS; i++) /* frames that had no space until now */
                if (host->watchers[i].fd >= 0 && !obey_all(host, &host->watchers[i]))
                        drop(host, &host->watchers[i]);
}

/* ---- signals and time ---- */

/* An interactive shell takes no notice of TERM. */
static bool is_shell(pid_t pid)
{
        static const char *const shells[] = {
                "sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "csh", "tcsh"
        };
        char path[32], name[32] = ""; /* the kernel's names have at most 15 bytes */
        FILE *file;

        (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        file = fopen(path, "re");
        if (!file)
                return false;
        if (!fgets(name, sizeof name, file))
                name[0] = '\0';
        (void)fclose(file);
        name[strcspn(name, "\n")] = '\0';
        for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
                if (strcmp(name, shells[i]) == 0)
                        return true;
        return false;
}

static void signal_session(const Host *host, int signo)
{
        pid_t group = host->terminal >= 0 ? tcgetpgrp(host->terminal) : -1;

        if (group > 0 && group != host->program)
                (void)kill(-group, signo);
        if (!host->gone)
                (void)kill(-host->program, signo);
}

/* The keeper of a member sends its signals to all processes; the first process of a container gets them
 * alone. */
static void end_program(const Host *host)
{
        if (host->gone)
                return;
        if (getpid() == 1)
                signal_session(host, SIGTERM);
        if (is_shell(host->program)) {
                signal_session(host, SIGHUP);
                signal_session(host, SIGCONT);
        }
}

static void reap(Host *host)
{
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                if (pid != host->program)
                        continue;
                host->gone = true;
                host->status = status;
                host->flush_until = now_ms() + FLUSH_MS;
        }
}

static void take_signals(Host *host)
{
        struct signalfd_siginfo info;

        while (read(host->signals, &info, sizeof info) == (ssize_t)sizeof info)
                if (info.ssi_signo == SIGTERM)
                        end_program(host);
        reap(host);
}

static void hang_up(Host *host, int64_t now)
{
        static const char note[] = "\r\npaddle: no terminal has come back; the program is hung up\r\n";
        static const char mark[] = "\n" TERMINAL_HANG_UP_NAME "=1\n"; /* whatever line the program was at */

        write_log(note, sizeof note - 1);
        if (host->report >= 0)
                (void)!write(host->report, mark,
                             sizeof mark - 1); /* without it the program ended by itself */
        host->hung_up = true;
        host->kill_at = now + KILL_MS;
        signal_session(host, SIGHUP);
        signal_session(host, SIGCONT);
}

static bool waits_for_watcher(const Host *host)
{
        return host->hangup_ms > 0 && !host->stays && !host->hung_up && !host->gone && !is_watched(host);
}

static void drop_stalled(Host *host, int64_t now)
{
        for (int i = 0; i < TERMINAL_WATCHERS; i++) {
                Watcher *watcher = &host->watchers[i];

                if (watcher->fd < 0)
                        continue;
                if (watcher->attached && !has_more(host, watcher))
                        watcher->taken_ms = now;
                else if (now - watcher->taken_ms >= STALL_MS)
                        drop(host, watcher);
        }
}

static void keep_time(Host *host)
{
        int64_t now = now_ms();

        drop_stalled(host, now);
        if (waits_for_watcher(host) && now - host->alone_ms >= host->hangup_ms)
                hang_up(host, now);
        if (host->hung_up && !host->gone && now >= host->kill_at)
                signal_session(host, SIGKILL);
}

/* True: the program has ended, and all watchers have read its output and closed, or FLUSH_MS is over. If the host is the
 * first process of a container, its exit kills the relays, so it waits for them. Later output of other processes that
 * hold the terminal is dropped. */
static bool is_over(Host *host)
{
        if (!host->gone)
                return false;
        if (!read_program(host) && host->terminal >= 0) {
                (void)close(host->terminal);
                host->terminal = -1;
        }
        send_to_all(host);
        return now_ms() >= host->flush_until || (host->terminal < 0 && !is_watched(host));
}

/* How long nothing is due, as poll has it. */
static int patience(const Host *host)
{
        enum { LONG_MS = 1000, SHORT_MS = 50 };
        int64_t left = LONG_MS;

        if (host->gone)
                return SHORT_MS;
        if (waits_for_watcher(host)) {
                left = host->alone_ms + host->hangup_ms - now_ms();
                return left < 0 ? 0 : left < LONG_MS ? (int)left : LONG_MS;
        }
        for (int i = 0; i < TERMINAL_WATCHERS; i++)
                if (host->watchers[i].fd >= 0)
                        return LONG_MS;
        return host->hung_up ? LONG_MS : -1;
}

static void turn(Host *host)
{
        struct pollfd polled[FIXED + TERMINAL_WATCHERS];
        bool reads = everyone_keeps_up(host);

        polled[0] = (struct pollfd){ .fd = host->signals, .events = POLLIN };
        polled[1] = (struct pollfd){ .fd = host->listener, .events = POLLIN };
        polled[2] =
                (struct pollfd){ .fd = reads || (host->input_len && !host->gone) ? host->terminal : -1,
                                 .events = (short)((reads ? POLLIN : 0) | (host->input_len ? POLLOUT : 0)) };
        for (int i = 0; i < TERMINAL_WATCHERS; i++) {
                const Watcher *watcher = &host->watchers[i];

                polled[FIXED + i] = (struct pollfd){
                        .fd = watcher->fd,
                        .events = (short)((takes_input(host) && !watcher->leaves ? POLLIN : 0) |
                                          (has_more(host, watcher) ? POLLOUT : 0))
                };
        }
        if (poll(polled, FIXED + TERMINAL_WATCHERS, patience(host)) < 0)
                return; /* a signal: there is another turn */
        if (polled[1].revents)
                welcome(host);
        hear_all(host, polled + FIXED);
        write_input(host);
        if (reads && polled[2].revents)
                (void)read_program(host); /* the rest in the next turn */
        send_to_all(host);
        take_signals(host);
        keep_time(host);
}

/* ---- the beginning ---- */

static int complain(const char *what)
{
        (void)fprintf(stderr, "paddle: %s: %s\n", what, strerror(errno));
        return TERMINAL_LOST;
}

static int listen_at(const char *secret)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, TERMINAL_PREFIX "%s", secret);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd >= 0 && len < (int)sizeof address.sun_path - 1 &&
            bind(fd, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0 &&
            listen(fd, TERMINAL_WATCHERS) == 0)
                return fd;
        if (fd >= 0)
                (void)close(fd);
        return -1;
}

static bool open_terminal(Host *host, char *name, size_t size)
{
        static const struct winsize usual = { .ws_col = 80, .ws_row = 24 };

        host->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
        return host->terminal >= 0 && grantpt(host->terminal) == 0 && unlockpt(host->terminal) == 0 &&
               ptsname_r(host->terminal, name, size) == 0 && ioctl(host->terminal, TIOCSWINSZ, &usual) == 0;
}

static _Noreturn void become_program(const char *terminal, char **words, const sigset_t *mask)
{
        int fd;

        (void)setsid();
        fd = open(terminal, O_RDWR);
        if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
                _exit(complain("no terminal"));
        for (int i = 0; i <= 2; i++)
                if (dup2(fd, i) < 0)
                        _exit(complain("no terminal"));
        if (fd > 2)
                (void)close(fd);
        (void)setenv("TERM", "xterm", 0);
        (void)sigprocmask(SIG_SETMASK, mask, NULL);
        (void)execvp(words[0], words);
        fd = errno;
        (void)fprintf(stderr, "paddle: cannot run '%s': %s\n", words[0], strerror(fd));
        _exit(fd == ENOENT ? 127 : 126); /* as a shell says it */
}

/* Before the program is there nothing is to be lost: TERM and the ends of children wait in the mask. */
static int begin(Host *host, char **words)
{
        const char *secret = getenv(TERMINAL_VARIABLE), *report = getenv(TERMINAL_REPORT);
        char name[64]; /* /dev/pts/N */
        sigset_t ours, before;

        for (int i = 0; i < TERMINAL_WATCHERS; i++)
                host->watchers[i].fd = -1;
        (void)sigfillset(&ours);
        for (int fault = 0; fault < 4; fault++)
                (void)sigdelset(&ours, (int[]){ SIGSEGV, SIGBUS, SIGILL, SIGFPE }[fault]);
        (void)sigprocmask(SIG_BLOCK, &ours, &before);
        host->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
        host->listener = listen_at(secret ? secret : "");
        host->report = report ? open(report, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
        if (host->signals < 0 || host->listener < 0)
                return complain("no socket for its terminal");
        if (!open_terminal(host, name, sizeof name))
                return complain("no terminal");
        host->program = fork();
        if (host->program == 0)
                become_program(name, words, &before);
        return host->program < 0 ? complain("cannot fork") : 0;
}

/* As the program ended. */
static int end(const Host *host)
{
        const struct rlimit none = { 0, 0 };
        int signo = WIFSIGNALED(host->status) && !host->hung_up ? WTERMSIG(host->status) : 0;
        sigset_t set;

        if (signo) {
                (void)setrlimit(RLIMIT_CORE, &none); /* it was the program's */
                (void)signal(signo, SIG_DFL);
                (void)sigemptyset(&set);
                (void)sigaddset(&set, signo);
                (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
                (void)kill(getpid(), signo);
        }
        return exit_status(host);
}

int terminal_host(int argc, char **argv)
{
        static Host host; /* too large for a stack */
        int status;

        if (argc < 2)
                return 2;
        host.hangup_ms = strtoll(argv[0], NULL, 10);
        host.alone_ms = now_ms();
        status = begin(&host, argv + 1);
        if (status)
                return status;
        while (!is_over(&host))
                turn(&host);
        return end(&host);
}
