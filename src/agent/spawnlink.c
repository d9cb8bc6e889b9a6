/* The link to the spawners (see spawnlink.h). The caller sees the two as one: if one ends, the other is
 * ended, too. The second one starts with the first sandboxed member; if it cannot, the first one does its
 * work, more slowly. */
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

#include "agent/sandbox.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

enum {
        OPEN,   /* for members that may still gain rights */
        WALLED, /* for all others: it has dropped what they must not have (sandbox_be_ready) */
        SPAWNERS,
        WALLS = SANDBOX_CALLS | SANDBOX_RIGHTS, /* of a member that needs the second spawner */
};

typedef struct {
        SpawnLink *link;
        int socket; /* -1: not running */
        pid_t pid;
        GQueue waiting; /* GBytes */
        guint in_source, out_source;
} Spawner;

struct SpawnLink {
        char *program;
        int lock_fd, tasks_fd;
        Spawner spawners[SPAWNERS];
        struct rlimit files; /* the limit that members inherit */
        const SpawnLinkOps *ops;
        void *arg;
};

static void clear_source(guint *id)
{
        if (*id)
                g_source_remove(*id);
        *id = 0;
}

static void drop_one(Spawner *spawner)
{
        clear_source(&spawner->in_source);
        clear_source(&spawner->out_source);
        if (spawner->socket >= 0)
                close(spawner->socket);
        spawner->socket = -1;
        g_queue_clear_full(&spawner->waiting, (GDestroyNotify)g_bytes_unref);
        if (spawner->pid > 0) {
                (void)waitpid(spawner->pid, NULL, 0); /* it ends with its socket */
                spawner->pid = 0;
        }
}

static void drop(SpawnLink *link)
{
        for (int i = 0; i < SPAWNERS; i++)
                drop_one(&link->spawners[i]);
}

/* A descriptor of the payload, for messages that exceed the socket's size. */
static int as_memfd(const void *data, gsize len)
{
        fd_auto int fd = memfd_create("paddle-request", MFD_CLOEXEC);

        if (fd < 0 || !file_write_all(fd, data, len, NULL))
                return -1;
        return fd_steal(&fd);
}

/* False with errno; EAGAIN: retry later. */
static bool send_now(Spawner *spawner, GBytes *message)
{
        gsize len;
        const char *data = g_bytes_get_data(message, &len);
        WireSpawn head;
        fd_auto int fd = -1;

        if (len <= sizeof head + WIRE_INLINE_MAX)
                return wire_send(spawner->socket, data, len, -1, MSG_DONTWAIT);
        memcpy(&head, data, sizeof head);
        head.by_memfd = 1;
        fd = as_memfd(data + sizeof head, len - sizeof head);
        if (fd < 0) {
                errno = EAGAIN; /* no memory or descriptor just now */
                return false;
        }
        return wire_send(spawner->socket, &head, sizeof head, fd, MSG_DONTWAIT);
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer arg)
{
        Spawner *spawner = arg;

        while (!g_queue_is_empty(&spawner->waiting)) {
                GBytes *message = g_queue_peek_head(&spawner->waiting);

                if (!send_now(spawner, message) && (errno == EAGAIN || errno == ENOBUFS))
                        return G_SOURCE_CONTINUE;
                /* Sent, or the spawner is gone: the reading side notices that and reports it to the
                 * caller. */
                g_bytes_unref(g_queue_pop_head(&spawner->waiting));
        }
        spawner->out_source = 0;
        return G_SOURCE_REMOVE;
}

/* 1: a reply, 0: none for now, -1: the spawner is gone. */
static int receive(const Spawner *spawner, WireReply *ret, int *ret_pidfd)
{
        ssize_t got;

        *ret = (WireReply){ 0 };
        got = wire_receive(spawner->socket, ret, sizeof *ret, ret_pidfd, MSG_DONTWAIT);
        if (got < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -1;
        ret->text[sizeof ret->text - 1] = '\0';
        return got >= (ssize_t)offsetof(WireReply, text) ? 1 : -1;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
        Spawner *spawner = arg;
        SpawnLink *link = spawner->link;
        WireReply reply;
        int pidfd, got;

        for (int i = 0; i < 64; i++) { /* then give other sources a turn */
                got = receive(spawner, &reply, &pidfd);
                if (got == 0)
                        return G_SOURCE_CONTINUE;
                if (got < 0)
                        break;
                link->ops->reply(&reply, pidfd, link->arg);
        }
        if (got > 0)
                return G_SOURCE_CONTINUE;
        spawner->in_source = 0;
        drop(link);
        link->ops->down(link->arg);
        return G_SOURCE_REMOVE;
}

/* posix_spawn with descriptors WIRE_*_FD, which are first moved out of each other's way. */
static int spawn_program(Spawner *spawner, int socket)
{
        const SpawnLink *link = spawner->link;
        bool walled = spawner == &link->spawners[WALLED];
        posix_spawn_file_actions_t actions;
        char *argv[] = { (char *)"paddle-spawner", walled ? (char *)"walled" : NULL, NULL };
        const int from[] = { socket, link->lock_fd, link->tasks_fd };
        const int to[] = { WIRE_SOCKET_FD, WIRE_LOCK_FD, WIRE_TASKS_FD };
        int err;

        posix_spawn_file_actions_init(&actions);
        for (gsize i = 0; i < G_N_ELEMENTS(from); i++)
                posix_spawn_file_actions_adddup2(&actions, from[i], 100 + (int)i);
        for (gsize i = 0; i < G_N_ELEMENTS(from); i++)
                posix_spawn_file_actions_adddup2(&actions, 100 + (int)i, to[i]);
        err = posix_spawn(&spawner->pid, link->program, &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        if (err == 0)
                (void)prlimit(spawner->pid, RLIMIT_NOFILE, &link->files,
                              NULL); /* we had raised ours for pidfds */
        else
                spawner->pid = 0;
        return err;
}

static bool start(Spawner *spawner, GError **error)
{
        fd_auto int theirs = -1;
        int pair[2], err;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set_errno(error, errno, "cannot make a socket for the spawner");
        theirs = pair[1];
        spawner->socket = pair[0];
        err = spawn_program(spawner, theirs);
        if (err != 0) {
                drop_one(spawner);
                return err_set_errno(error, err, "cannot run the spawner '%s'", spawner->link->program);
        }
        spawner->in_source =
                g_unix_fd_add(spawner->socket, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, spawner);
        return true;
}

bool spawn_link_up(SpawnLink *link, GError **error)
{
        return start(&link->spawners[OPEN], error);
}

static Spawner *spawner_for(SpawnLink *link, GBytes *message)
{
        Spawner *walled = &link->spawners[WALLED];
        WireSpawn head;

        memcpy(&head, g_bytes_get_data(message, NULL), sizeof head);
        if (head.as_user && (head.sandbox & WALLS) == WALLS && head.n_mounts == 0 &&
            (walled->socket >= 0 || start(walled, NULL)))
                return walled;
        return &link->spawners[OPEN];
}

void spawn_link_send(SpawnLink *link, GBytes *message)
{
        Spawner *spawner;

        if (link->spawners[OPEN].socket < 0)
                return; /* the task is undecided: sent again when the spawner runs */
        spawner = spawner_for(link, message);
        if (g_queue_is_empty(&spawner->waiting) && (send_now(spawner, message) || errno != EAGAIN))
                return;
        g_queue_push_tail(&spawner->waiting, g_bytes_ref(message));
        if (!spawner->out_source)
                spawner->out_source = g_unix_fd_add(spawner->socket, G_IO_OUT, on_writable, spawner);
}

SpawnLink *spawn_link_new(const char *program, int lock_fd, int tasks_fd, const SpawnLinkOps *ops, void *arg)
{
        SpawnLink *link = g_new0(SpawnLink, 1);
        struct rlimit raised;

        link->program = g_strdup(program);
        link->lock_fd = lock_fd;
        link->tasks_fd = tasks_fd;
        link->ops = ops;
        link->arg = arg;
        for (int i = 0; i < SPAWNERS; i++) {
                link->spawners[i].link = link;
                link->spawners[i].socket = -1;
                g_queue_init(&link->spawners[i].waiting);
        }
        if (getrlimit(RLIMIT_NOFILE, &link->files) == 0) {
                raised = (struct rlimit){ link->files.rlim_max, link->files.rlim_max };
                (void)setrlimit(RLIMIT_NOFILE, &raised); /* on failure fewer tasks run at a time */
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
