/* The link to the spawner (see spawnlink.h). */
#include "agent/spawnlink.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

struct SpawnLink {
        char *program;
        int lock_fd, tasks_fd, socket;
        pid_t pid;
        GQueue waiting; /* GBytes */
        guint in_source, out_source;
        struct rlimit files; /* what members are to inherit */
        const SpawnLinkOps *ops;
        void *arg;
};

static void clear_source(guint *id)
{
        if (*id)
                g_source_remove(*id);
        *id = 0;
}

static void drop(SpawnLink *link)
{
        clear_source(&link->in_source);
        clear_source(&link->out_source);
        if (link->socket >= 0)
                close(link->socket);
        link->socket = -1;
        g_queue_clear_full(&link->waiting, (GDestroyNotify)g_bytes_unref);
        if (link->pid > 0) {
                (void)waitpid(link->pid, NULL, 0); /* it ends with the socket, if it has not yet */
                link->pid = 0;
        }
}

/* A descriptor of our own of the payload, for messages that are too long for the socket. */
static int as_memfd(const void *data, gsize len)
{
        fd_auto int fd = memfd_create("paddle-request", MFD_CLOEXEC);

        if (fd < 0 || !file_write_all(fd, data, len, NULL))
                return -1;
        return fd_steal(&fd);
}

/* False with errno; EAGAIN: later. */
static bool send_now(SpawnLink *link, GBytes *message)
{
        gsize len;
        const char *data = g_bytes_get_data(message, &len);
        WireSpawn head;
        fd_auto int fd = -1;

        if (len <= sizeof head + WIRE_INLINE_MAX)
                return wire_send(link->socket, data, len, -1, MSG_DONTWAIT);
        memcpy(&head, data, sizeof head);
        head.by_memfd = 1;
        fd = as_memfd(data + sizeof head, len - sizeof head);
        if (fd < 0) {
                errno = EAGAIN; /* no memory or descriptor just now */
                return false;
        }
        return wire_send(link->socket, &head, sizeof head, fd, MSG_DONTWAIT);
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer arg)
{
        SpawnLink *link = arg;

        while (!g_queue_is_empty(&link->waiting)) {
                GBytes *message = g_queue_peek_head(&link->waiting);

                if (!send_now(link, message) && (errno == EAGAIN || errno == ENOBUFS))
                        return G_SOURCE_CONTINUE;
                /* Sent; or the spawner is gone, which the reading side finds and whoever asked is told. */
                g_bytes_unref(g_queue_pop_head(&link->waiting));
        }
        link->out_source = 0;
        return G_SOURCE_REMOVE;
}

void spawn_link_send(SpawnLink *link, GBytes *message)
{
        if (link->socket < 0)
                return; /* undecided: sent again when the spawner is up */
        if (g_queue_is_empty(&link->waiting) && (send_now(link, message) || errno != EAGAIN))
                return;
        g_queue_push_tail(&link->waiting, g_bytes_ref(message));
        if (!link->out_source)
                link->out_source = g_unix_fd_add(link->socket, G_IO_OUT, on_writable, link);
}

/* 1: a reply, 0: none for now, -1: the spawner is gone. */
static int receive(SpawnLink *link, WireReply *ret, int *ret_pidfd)
{
        struct iovec part = { ret, sizeof *ret };
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control;
        struct msghdr message = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = control.bytes,
                .msg_controllen = sizeof control.bytes,
        };
        ssize_t got;

        *ret = (WireReply){ 0 };
        *ret_pidfd = -1;
        got = recvmsg(link->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -1;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
                if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
                        memcpy(ret_pidfd, CMSG_DATA(header), sizeof *ret_pidfd);
        ret->text[sizeof ret->text - 1] = '\0';
        return got >= (ssize_t)offsetof(WireReply, text) ? 1 : -1;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
        SpawnLink *link = arg;
        WireReply reply;
        int pidfd, got;

        for (int i = 0; i < 64; i++) { /* then others have their turn */
                got = receive(link, &reply, &pidfd);
                if (got == 0)
                        return G_SOURCE_CONTINUE;
                if (got < 0)
                        break;
                link->ops->reply(&reply, pidfd, link->arg);
        }
        if (got > 0)
                return G_SOURCE_CONTINUE;
        link->in_source = 0;
        drop(link);
        link->ops->down(link->arg);
        return G_SOURCE_REMOVE;
}

/* posix_spawn with descriptors WIRE_*_FD. They are first moved out of each other's way. */
static int spawn_program(SpawnLink *link, int socket)
{
        posix_spawn_file_actions_t actions;
        char *argv[] = { (char *)"paddle-spawner", NULL };
        const int from[] = { socket, link->lock_fd, link->tasks_fd };
        const int to[] = { WIRE_SOCKET_FD, WIRE_LOCK_FD, WIRE_TASKS_FD };
        int err;

        posix_spawn_file_actions_init(&actions);
        for (gsize i = 0; i < G_N_ELEMENTS(from); i++)
                posix_spawn_file_actions_adddup2(&actions, from[i], 100 + (int)i);
        for (gsize i = 0; i < G_N_ELEMENTS(from); i++)
                posix_spawn_file_actions_adddup2(&actions, 100 + (int)i, to[i]);
        err = posix_spawn(&link->pid, link->program, &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        if (err == 0)
                (void)prlimit(link->pid, RLIMIT_NOFILE, &link->files, NULL); /* ours was raised for pidfds */
        else
                link->pid = 0;
        return err;
}

bool spawn_link_up(SpawnLink *link, GError **error)
{
        fd_auto int theirs = -1;
        int pair[2], err;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set_errno(error, errno, "cannot make a socket for the spawner");
        theirs = pair[1];
        link->socket = pair[0];
        err = spawn_program(link, theirs);
        if (err != 0) {
                drop(link);
                return err_set_errno(error, err, "cannot run the spawner '%s'", link->program);
        }
        link->in_source = g_unix_fd_add(link->socket, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, link);
        return true;
}

SpawnLink *spawn_link_new(const char *program, int lock_fd, int tasks_fd, const SpawnLinkOps *ops, void *arg)
{
        SpawnLink *link = g_new0(SpawnLink, 1);
        struct rlimit raised;

        link->program = g_strdup(program);
        link->lock_fd = lock_fd;
        link->tasks_fd = tasks_fd;
        link->socket = -1;
        link->ops = ops;
        link->arg = arg;
        g_queue_init(&link->waiting);
        if (getrlimit(RLIMIT_NOFILE, &link->files) == 0) {
                raised = (struct rlimit){ link->files.rlim_max, link->files.rlim_max };
                (void)setrlimit(RLIMIT_NOFILE, &raised); /* fewer tasks at a time, then */
        }
        return link;
}

void spawn_link_free(SpawnLink *link)
{
        if (!link)
                return;
        drop(link);
        g_free(link->program);
        g_free(link);
}
