/* Waiting for news (see internal.h). The engine's wake and inotify only make the thread's descriptors
 * readable; the thread then rests until a round is due, so that what comes close together is one round, and
 * calls the waiters that the news concerns.
 *
 * Where inotify cannot be had (its watches are counted per user, and others use them up), or has lost events
 * in a burst, a round is as after a publication: all are called, without inotify once a second.
 *
 * Holds: a waiter is in `waiters` from notifier_add until notifier_remove or until its func returned false;
 * `lock` is held while a func runs, which is why removal waits for a running call. */
#include "api/v1/internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

enum {
        ROUND_MS = 20,   /* at most one round in this time; the first after a rest comes at once */
        BLIND_MS = 1000, /* between rounds when something cannot be watched */
};

struct Waiter {
        gint64 deadline;
        WaiterFunc func;
        void *arg;
        GArray *watches; /* int: inotify descriptors */
};

struct Notifier {
        Engine *engine;
        GThread *thread;
        GMutex lock;
        GHashTable *waiters; /* set of Waiter * */
        GHashTable *watched; /* inotify descriptor -> how many waiters use it */
        int event_fd, inotify_fd;
        gint published, stopping;
        bool blind;   /* a directory that is there could not be watched */
        bool stopped; /* no more calls */
};

static void ring(Notifier *notifier)
{
        if (eventfd_write(notifier->event_fd, 1) < 0)
                return; /* the counter is full: the thread is awake anyway */
}

static void on_publication(gint64 revision, void *arg)
{
        Notifier *notifier = arg;

        if (!g_atomic_int_exchange(&notifier->published,
                                   1)) /* else it has been rung for, and not been looked at */
                ring(notifier);
}

static void unwatch(Notifier *notifier, int watch)
{
        int users = GPOINTER_TO_INT(g_hash_table_lookup(notifier->watched, GINT_TO_POINTER(watch)));

        if (users > 1) {
                g_hash_table_insert(notifier->watched, GINT_TO_POINTER(watch), GINT_TO_POINTER(users - 1));
                return;
        }
        g_hash_table_remove(notifier->watched, GINT_TO_POINTER(watch));
        (void)inotify_rm_watch(notifier->inotify_fd, watch); /* fails when the directory is gone: as good */
}

static void unwatch_all(Notifier *notifier, Waiter *waiter)
{
        for (guint i = 0; i < waiter->watches->len; i++)
                unwatch(notifier, g_array_index(waiter->watches, int, i));
        g_array_set_size(waiter->watches, 0);
}

static void waiter_free(Notifier *notifier, Waiter *waiter)
{
        unwatch_all(notifier, waiter);
        g_array_free(waiter->watches, TRUE);
        g_free(waiter);
}

/* The directories in which something changed, as a set of watch descriptors. */
static GHashTable *read_changes(Notifier *notifier)
{
        GHashTable *changed = g_hash_table_new(NULL, NULL);
        char buffer[16384] __attribute__((aligned(8))); /* some 500 events without names */
        ssize_t got;

        while ((got = read(notifier->inotify_fd, buffer, sizeof buffer)) > 0) {
                for (char *at = buffer; at < buffer + got;) {
                        const struct inotify_event *event = (const struct inotify_event *)at;

                        if (event->mask & IN_Q_OVERFLOW)
                                g_atomic_int_set(&notifier->published, 1);
                        g_hash_table_add(changed, GINT_TO_POINTER(event->wd));
                        at += sizeof *event + event->len;
                }
        }
        return changed;
}

static bool concerns(const Waiter *waiter, GHashTable *changed)
{
        for (guint i = 0; i < waiter->watches->len; i++)
                if (g_hash_table_contains(changed, GINT_TO_POINTER(g_array_index(waiter->watches, int, i))))
                        return true;
        return false;
}

/* One round; returns when the next deadline falls (monotonic ms, 0: none). */
static gint64 call_waiters(Notifier *notifier, GHashTable *changed, bool published, bool last)
{
        gint64 now = clock_monotonic_ms(), next = 0;
        GHashTableIter iter;
        Waiter *waiter;

        g_hash_table_iter_init(&iter, notifier->waiters);
        while (g_hash_table_iter_next(&iter, (void **)&waiter, NULL)) {
                bool expired = last || (waiter->deadline && now >= waiter->deadline);

                if (!expired && !published && !concerns(waiter, changed)) {
                        /* nothing for this one */
                } else if (!waiter->func(expired, waiter->arg) || last) {
                        g_hash_table_iter_remove(&iter);
                        waiter_free(notifier, waiter);
                        continue;
                } else if (expired) {
                        waiter->deadline = 0;
                }
                if (waiter->deadline && (!next || waiter->deadline < next))
                        next = waiter->deadline;
        }
        return next;
}

static void rest_until(gint64 time)
{
        gint64 left = time - clock_monotonic_ms();

        if (left > 0)
                (void)poll(NULL, 0, (int)left);
}

static gpointer notifier_main(gpointer arg)
{
        Notifier *notifier = arg;
        struct pollfd fds[] = { { notifier->event_fd, POLLIN, 0 }, { notifier->inotify_fd, POLLIN, 0 } };
        gint64 next = 0, last_round = 0;
        bool blind = false;

        while (!g_atomic_int_get(&notifier->stopping)) {
                gint64 left = next ? MAX(next - clock_monotonic_ms(), 0) : blind ? BLIND_MS : -1;
                g_autoptr(GHashTable) changed = NULL;
                eventfd_t rings;

                if (poll(fds, G_N_ELEMENTS(fds), (int)(blind ? MIN(left, BLIND_MS) : left)) > 0)
                        rest_until(last_round + ROUND_MS); /* gather */
                last_round = clock_monotonic_ms();
                (void)eventfd_read(notifier->event_fd, &rings); /* empty when inotify or the clock woke us */
                g_mutex_lock(&notifier->lock);
                changed = read_changes(notifier);
                next = call_waiters(notifier, changed,
                                    g_atomic_int_exchange(&notifier->published, 0) || notifier->blind, false);
                blind = notifier->blind && g_hash_table_size(notifier->waiters) > 0;
                g_mutex_unlock(&notifier->lock);
        }
        return NULL;
}

Notifier *notifier_new(Engine *engine)
{
        Notifier *notifier = g_new0(Notifier, 1);

        notifier->engine = engine;
        g_mutex_init(&notifier->lock);
        notifier->waiters = g_hash_table_new(NULL, NULL);
        notifier->watched = g_hash_table_new(NULL, NULL);
        notifier->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        notifier->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        notifier->thread = g_thread_new("notifier", notifier_main, notifier);
        engine_watch(engine, on_publication, notifier);
        return notifier;
}

void notifier_stop(Notifier *notifier)
{
        g_autoptr(GHashTable) none = g_hash_table_new(NULL, NULL);

        if (!notifier->thread)
                return;
        engine_unwatch(notifier->engine, on_publication, notifier);
        g_atomic_int_set(&notifier->stopping, 1);
        ring(notifier);
        g_thread_join(g_steal_pointer(&notifier->thread));
        g_mutex_lock(&notifier->lock);
        (void)call_waiters(notifier, none, false, true);
        notifier->stopped = true;
        g_mutex_unlock(&notifier->lock);
}

void notifier_free(Notifier *notifier)
{
        if (!notifier)
                return;
        notifier_stop(notifier);
        g_hash_table_unref(notifier->waiters);
        g_hash_table_unref(notifier->watched);
        close(notifier->event_fd);
        close(notifier->inotify_fd);
        g_mutex_clear(&notifier->lock);
        g_free(notifier);
}

static void go_blind(Notifier *notifier, const char *dir)
{
        if (!notifier->blind)
                log_warning("a directory cannot be watched, looking once a second instead; "
                            "fs.inotify.max_user_watches may be too low",
                            "directory", dir, "error", g_strerror(errno), NULL);
        notifier->blind = true;
        ring(notifier);
}

static void watch_locked(Notifier *notifier, Waiter *waiter, const char *dir)
{
        int watch = inotify_add_watch(notifier->inotify_fd, dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
        int users;

        if (watch < 0) {
                if (errno != ENOENT &&
                    errno != ENOTDIR) /* not there yet: its making comes with a publication */
                        go_blind(notifier, dir);
                return;
        }
        for (guint i = 0; i < waiter->watches->len; i++)
                if (g_array_index(waiter->watches, int, i) == watch)
                        return;
        users = GPOINTER_TO_INT(g_hash_table_lookup(notifier->watched, GINT_TO_POINTER(watch)));
        g_hash_table_insert(notifier->watched, GINT_TO_POINTER(watch), GINT_TO_POINTER(users + 1));
        g_array_append_val(waiter->watches, watch);
}

Waiter *notifier_add(Notifier *notifier, const char *dir, gint64 deadline, WaiterFunc func, void *arg)
{
        Waiter *waiter = g_new0(Waiter, 1);

        *waiter = (Waiter){ deadline, func, arg, g_array_new(FALSE, FALSE, sizeof(int)) };
        g_mutex_lock(&notifier->lock);
        if (dir)
                watch_locked(notifier, waiter, dir);
        if (notifier->stopped) {
                (void)func(true, arg);
                waiter_free(notifier, waiter);
        } else {
                g_hash_table_add(notifier->waiters, waiter);
        }
        g_mutex_unlock(&notifier->lock);
        g_atomic_int_set(&notifier->published, 1); /* what came before the waiter was there */
        ring(notifier);
        return waiter;
}

void notifier_watch_dir(Notifier *notifier, Waiter *waiter, const char *dir)
{
        g_mutex_lock(&notifier->lock);
        if (g_hash_table_contains(notifier->waiters, waiter))
                watch_locked(notifier, waiter, dir);
        g_mutex_unlock(&notifier->lock);
}

void notifier_unwatch(Notifier *notifier, Waiter *waiter)
{
        g_mutex_lock(&notifier->lock);
        if (g_hash_table_contains(notifier->waiters, waiter))
                unwatch_all(notifier, waiter);
        g_mutex_unlock(&notifier->lock);
}

void notifier_wake_at(Notifier *notifier, Waiter *waiter, gint64 deadline)
{
        g_mutex_lock(&notifier->lock);
        if (g_hash_table_contains(notifier->waiters, waiter) &&
            (!waiter->deadline || deadline < waiter->deadline))
                waiter->deadline = deadline;
        g_mutex_unlock(&notifier->lock);
        ring(notifier);
}

void notifier_remove(Notifier *notifier, Waiter *waiter)
{
        g_mutex_lock(&notifier->lock);
        if (g_hash_table_remove(notifier->waiters, waiter))
                waiter_free(notifier, waiter);
        g_mutex_unlock(&notifier->lock);
}
