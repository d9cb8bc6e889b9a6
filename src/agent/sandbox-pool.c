/* One table of holders (see sandbox-pool.h). A holder that is not in the table ends with its member. */
#include "agent/sandbox-pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/wire.h"

enum { PATH_SIZE = 4096, POOLED_MAX = 64 };

typedef struct {
        int holder, socket; /* holder 0: an empty slot */
        uint32_t parts;
        uid_t uid;
        gid_t gid;
        uint64_t keep; /* hash */
} Entry;

static Entry entries[POOLED_MAX];

static uint64_t hash_keep(const SandboxPlace *place)
{
        uint64_t hash = 14695981039346656037u ^ place->n_read_only; /* FNV-1a */
        const char *at = place->keep;

        for (uint32_t i = 0; i < place->n_keep; i++) {
                size_t len = strlen(at) + 1;

                for (; len > 0; len--)
                        hash = (hash ^ (unsigned char)*at++) * 1099511628211u;
        }
        return hash;
}

static int move(int fd)
{
        int moved = fcntl(fd, F_DUPFD_CLOEXEC, SANDBOX_POOL_FD), err = errno;

        close(fd);
        errno = err;
        return moved;
}

/* The holder ends now if it is idle, or as soon as it becomes idle. */
static void drop(Entry *entry)
{
        close(entry->holder);
        close(entry->socket);
        *entry = (Entry){ 0 };
}

/* Receives the holder's message that its sandbox is clean, with the end of a pipe for its next member; -1
 * until then. */
static int ask(Entry *entry, int flags)
{
        char byte;
        int lock = -1;
        ssize_t got = wire_receive(entry->socket, &byte, 1, &lock, flags);

        if (lock < 0 && (got >= 0 || errno != EAGAIN))
                drop(entry); /* it has ended */
        return lock;
}

static bool lend(Entry *entry, int lock, int *ret_lock, int *ret_holder)
{
        *ret_holder = fcntl(entry->holder, F_DUPFD_CLOEXEC, 0);
        *ret_lock = lock;
        if (*ret_holder >= 0)
                return true;
        close(lock);
        drop(entry);
        return false;
}

static bool fits(const Entry *entry, const Entry *wanted)
{
        return entry->holder && entry->uid == wanted->uid && entry->gid == wanted->gid &&
               entry->parts == wanted->parts && entry->keep == wanted->keep;
}

/* A free entry, if necessary that of an idle holder; NULL: all are in use. */
static Entry *make_place(void)
{
        static unsigned turn;

        for (int i = 0; i < POOLED_MAX; i++)
                if (!entries[i].holder)
                        return &entries[i];
        for (int i = 0; i < POOLED_MAX; i++) {
                Entry *entry = &entries[turn++ % POOLED_MAX];
                int lock = ask(entry, MSG_DONTWAIT);

                if (lock >= 0) {
                        close(lock);
                        drop(entry);
                }
                if (!entry->holder)
                        return entry;
        }
        return NULL;
}

static bool make(Entry *entry, const SandboxPlace *all, const char **ret_what)
{
        static unsigned last;
        char dir[PATH_SIZE];
        SandboxPlace own = *all;

        *ret_what = "a directory for its sandbox";
        if (snprintf(dir, sizeof dir, "%s/%d-%u", all->dir, (int)getpid(), ++last) >= PATH_SIZE) {
                errno = ENAMETOOLONG;
                return false;
        }
        if (mkdir(dir, 0711) < 0 && errno != EEXIST)
                return false;
        own.dir = dir;
        entry->holder = sandbox_serve(&own, entry->parts, &entry->socket, ret_what);
        if (entry->holder < 0)
                return false;
        entry->holder = move(entry->holder);
        entry->socket = move(entry->socket);
        if (entry->holder >= 0 && entry->socket >= 0)
                return true;
        drop(entry);
        return false;
}

bool sandbox_pool_take(const SandboxPlace *place, uint32_t parts, int *ret_lock, int *ret_holder,
                       const char **ret_what)
{
        Entry wanted = { .parts = parts, .uid = place->uid, .gid = place->gid, .keep = hash_keep(place) },
              *at;
        bool lent;
        int lock;

        for (int i = 0; i < POOLED_MAX; i++)
                if (fits(&entries[i], &wanted) && (lock = ask(&entries[i], MSG_DONTWAIT)) >= 0 &&
                    lend(&entries[i], lock, ret_lock, ret_holder))
                        return true;
        if (!make(&wanted, place, ret_what))
                return false;
        *ret_what = "a sandbox that was just made";
        if ((lock = ask(&wanted, 0)) < 0) {
                errno = ECHILD;
                return false;
        }
        at = make_place();
        if (at) {
                *at = wanted;
                return lend(at, lock, ret_lock, ret_holder);
        }
        lent = lend(&wanted, lock, ret_lock, ret_holder);
        if (lent)
                drop(&wanted);
        return lent;
}
