/* Sockets that are listened on (see listen.h). */
#include "net/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "net/server.h"

enum { BACKLOG = 1024 };

static int open_socket(int family, const struct sockaddr *address, socklen_t len, mode_t mode,
                       const char *name, GError **error)
{
        fd_auto int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int on = 1;

        if (fd < 0) {
                err_set_errno(error, errno, "cannot make a socket for '%s'", name);
                return -1;
        }
        if (family == AF_UNIX)
                (void)fchmod(
                        fd,
                        mode); /* bind creates the file with this mode: no other user can connect earlier */
        else
                (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, address, len) != 0 || listen(fd, BACKLOG) != 0) {
                int err = errno;

                if (err == EADDRINUSE)
                        err_set(error, ERR_EXISTS,
                                "cannot listen on '%s': another program does\nStop it, or choose another "
                                "address.",
                                name);
                else
                        err_set_errno(error, err, "cannot listen on '%s'", name);
                return -1;
        }
        return fd_steal(&fd);
}

/* "HOST:PORT", "[HOST]:PORT" with a numeric host, or "localhost". */
bool http_listen_split(const char *listen, char **ret_host, char **ret_port, GError **error)
{
        const char *colon = strrchr(listen, ':');
        gint64 port;

        if (!colon || colon == listen || (listen[0] == '[' && (colon - listen < 3 || colon[-1] != ']')))
                return err_set(error, ERR_INVALID,
                               "'%s' is not ADDRESS:PORT, such as 127.0.0.1:8999 or [::1]:8999", listen);
        if (!number_parse("the port", colon + 1, 0, 65535, &port, error))
                return err_prefix(error, "'%s': ", listen);
        *ret_host = listen[0] == '[' ? g_strndup(listen + 1, (gsize)(colon - listen) - 2)
                                     : g_strndup(listen, (gsize)(colon - listen));
        *ret_port = g_strdup(colon + 1);
        return true;
}

/* The first of what the name stands for is listened on. NULL with an error. */
static struct addrinfo *resolve(const char *listen, GError **error)
{
        g_autofree char *host = NULL, *port = NULL;
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV },
                        *info = NULL;

        if (!http_listen_split(listen, &host, &port, error))
                return NULL;
        int failed = getaddrinfo(host, port, &hints, &info);
        if (failed) {
                err_set(error, ERR_INVALID, "cannot listen on '%s': %s", listen, gai_strerror(failed));
                return NULL;
        }
        return info;
}

bool http_listen_is_local(const char *listen, bool *ret, GError **error)
{
        struct addrinfo *info = resolve(listen, error);
        const struct sockaddr_in *v4;
        const struct sockaddr_in6 *v6;

        if (!info)
                return false;
        v4 = (const void *)info->ai_addr;
        v6 = (const void *)info->ai_addr;
        *ret = info->ai_family == AF_INET ? (ntohl(v4->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET
                                          : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
                                                    (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) &&
                                                     v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
        freeaddrinfo(info);
        return true;
}

int listen_tcp(const char *listen, int *ret_port, GError **error)
{
        struct addrinfo *info = resolve(listen, error);
        struct sockaddr_storage bound;
        socklen_t len = sizeof bound;

        if (!info)
                return -1;
        int fd = open_socket(info->ai_family, info->ai_addr, info->ai_addrlen, 0, listen, error);
        freeaddrinfo(info);
        if (fd >= 0 && getsockname(fd, (struct sockaddr *)&bound, &len) == 0)
                *ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                              : ((struct sockaddr_in *)&bound)->sin_port);
        return fd;
}

/* A socket file without a listener was left by a server that was killed. */
static bool remove_stale(const char *path, const struct sockaddr_un *address, GError **error)
{
        fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct stat status;

        if (lstat(path, &status) != 0)
                return true;
        if (!S_ISSOCK(status.st_mode))
                return err_set(error, ERR_EXISTS, "'%s' is in the way: it is no socket", path);
        if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
            errno != ECONNREFUSED)
                return err_set(error, ERR_EXISTS,
                               "cannot listen on '%s': another server does\nStop it, or choose another state "
                               "directory.",
                               path);
        return unlink(path) == 0 || err_set_errno(error, errno, "cannot remove '%s'", path);
}

int listen_unix(const char *path, ino_t *ret_inode, GError **error)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct stat status;

        if (g_strlcpy(address.sun_path, path, sizeof address.sun_path) >= sizeof address.sun_path) {
                err_set(error, ERR_INVALID,
                        "socket path '%s' is longer than %d bytes\nChoose a shorter state directory.", path,
                        (int)sizeof address.sun_path - 1);
                return -1;
        }
        if (!remove_stale(path, &address, error))
                return -1;
        int fd = open_socket(AF_UNIX, (struct sockaddr *)&address, sizeof address, 0600, path, error);
        if (fd >= 0 && geteuid() == 0)
                (void)chmod(path, 0660);
        if (fd >= 0 && stat(path, &status) == 0)
                *ret_inode = status.st_ino;
        return fd;
}
