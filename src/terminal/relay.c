/* A watcher's way to the host (see terminal.h): a connection, and bytes copied both ways. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "terminal/terminal.h"

enum { PIECE = 32 << 10 };

/* One direction: what was read and is not written yet. */
typedef struct {
        int from, to;
        bool to_socket; /* its end is a shutdown */
        bool over;
        bool broken; /* the socket was lost while it had more to take */
        size_t at, len;
        char piece[PIECE];
} Way;

static void end_way(Way *way)
{
        way->over = true;
        if (way->to_socket)
                (void)shutdown(way->to, SHUT_WR); /* a connection that is gone needs none */
        else
                (void)close(way->to);
}

/* False: the connection broke. */
static bool read_piece(Way *way)
{
        ssize_t got = read(way->from, way->piece, sizeof way->piece);

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return true;
        if (got < 0 && !way->to_socket)
                return false;
        way->at = 0;
        way->len = got > 0 ? (size_t)got : 0;
        if (got <= 0)
                end_way(way);
        return true;
}

static ssize_t write_some(const Way *way)
{
        const char *from = way->piece + way->at;
        size_t len = way->len - way->at;

        return way->to_socket ? send(way->to, from, len, MSG_NOSIGNAL) : write(way->to, from, len);
}

/* A socket that takes no more may still have an answer for us. False: nobody takes it any more. */
static bool write_piece(Way *way)
{
        ssize_t done = write_some(way);

        if (done < 0 && (errno == EINTR || errno == EAGAIN))
                return true;
        if (done < 0 && !way->to_socket)
                return false;
        if (done < 0) {
                way->broken = errno != EPIPE;
                end_way(way);
                return true;
        }
        way->at += (size_t)done;
        return true;
}

static bool step(Way *way, struct pollfd *polled)
{
        if (way->over || !polled->revents)
                return true;
        return way->at < way->len ? write_piece(way) : read_piece(way);
}

/* The descriptors may block, but each is touched only when it is ready, and a pipe takes a part. */
bool terminal_copy(int in, int out, int socket, bool until_socket)
{
        static Way ways[2];
        struct pollfd polled[2];

        ways[0] = (Way){ .from = in, .to = socket, .to_socket = true };
        ways[1] = (Way){ .from = socket, .to = out };
        while (!ways[1].over || (!until_socket && !ways[0].over)) {
                for (int i = 0; i < 2; i++) {
                        bool writes = ways[i].at < ways[i].len;

                        polled[i] = (struct pollfd){ .fd = ways[i].over ? -1
                                                           : writes     ? ways[i].to
                                                                        : ways[i].from,
                                                     .events = writes ? POLLOUT : POLLIN };
                }
                if (poll(polled, 2, -1) < 0 && errno != EINTR)
                        return false;
                for (int i = 0; i < 2; i++)
                        if (!step(&ways[i], &polled[i]))
                                return false;
        }
        return !ways[0].broken;
}

/* -1: there is none, or it is not our user's. */
static int reach_host(const char *secret)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct ucred peer;
        socklen_t size = sizeof peer;
        int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, TERMINAL_PREFIX "%s", secret);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && len > 0 && len < (int)sizeof address.sun_path - 1 &&
            connect(fd, (struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid())
                return fd;
        if (fd >= 0)
                (void)close(fd);
        return -1;
}

int terminal_relay(void)
{
        const char *secret = getenv(TERMINAL_VARIABLE);
        int fd = secret && *secret ? reach_host(secret) : -1;

        if (fd < 0) {
                (void)fputs(secret ? "its terminal does not answer\n" : "it has no terminal\n", stderr);
                return TERMINAL_LOST;
        }
        (void)terminal_copy(STDIN_FILENO, STDOUT_FILENO, fd, true); /* however it ends, it is over */
        return 0;
}
