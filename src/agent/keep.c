/* The agent's tasks (see keep.h, and the protocol in doc/internals/agent.md).
 *
 * Invariants: a task is reported as ended only after its keeper is dead (pidfd) or its end record was read;
 * an ended task never changes. A slot number belongs to one task or to the pool. A state file is deleted only
 * when its task is forgotten, or when its lock is free and it has no record, which means that nothing was
 * started. */
#include "agent/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "agent/egress.h"
#include "agent/ready.h"
#include "agent/record.h"
#include "agent/spawnlink.h"
#include "agent/task.h"
#include "agent/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/timer.h"

enum {
        ORPHAN_POLL_MS = 20,
        SWEEP_MS = 10,
        DYING_MAX_MS =
                10 * 1000,  /* after this a lost task is reported although some of its processes hang in the
                               kernel */
        READY_POLL_MS = 20, /* initially; each interval is an eighth longer */
        READY_POLL_MAX_MS = 250,
        SPAWNER_STARTS_MAX = 5, /* within SPAWNER_WINDOW_MS */
        SPAWNER_WINDOW_MS = 10 * 1000,
        EVENTS = 64,
        SPARES_MAX = 512,
};

struct Keep {
        char *tasks_dir, *boot_id;
        int tasks_fd, epoll_fd;
        GHashTable *tasks; /* name -> Task, owned */
        GHashTable *by_id; /* id -> Task */
        guint64 last_id;
        GArray *spares; /* int: the numbers of cleared state files, ".spare-N" */
        int next_spare;
        CgroupPool *pool;
        SpawnLink *link;
        guint epoll_source, ready_poll_ms;
        Timer *orphan_timer, *sweep_timer, *ready_timer;
        gint64 starts[SPAWNER_STARTS_MAX]; /* of the spawner, monotonic ms; a ring */
        guint n_starts;
        bool rest_discarded;
        char *sandboxes_dir, *cgroup_id, *egress; /* egress: the group for limited members, or NULL */
        bool egress_limited;
        const char *limits[4], *sandbox[SANDBOX_PARTS + 1];
        GString *line; /* scratch */
        KeepConfig config;
};

static void watch_orphans(Keep *keep);
static void watch_sweep(Keep *keep);
static void watch_ready(Keep *keep);

/* ── reports ───────────────────────────────────────────────────────────── */

typedef void (*FormatFunc)(const Task *task, GString *line);

static void report(Keep *keep, const Task *task, FormatFunc format)
{
        g_string_truncate(keep->line, 0);
        format(task, keep->line);
        keep->config.report(keep->line->str, keep->config.arg);
}

static void add_reports(const Task *task, GString *lines)
{
        if (task->state == TASK_ENDED) {
                task_format_end(task, lines);
                return;
        }
        if (task->started)
                task_format_started(task, lines);
        if (task->started && task->ready)
                task_format_ready(task, lines);
}

static Task *add_task(Keep *keep, const char *name)
{
        Task *task = task_new(name, ++keep->last_id);

        g_hash_table_insert(keep->tasks, task->name, task);
        g_hash_table_insert(keep->by_id, &task->id, task);
        return task;
}

static void remove_task(Keep *keep, Task *task)
{
        g_hash_table_remove(keep->by_id, &task->id);
        g_hash_table_remove(keep->tasks, task->name);
}

/* ── the end of a task ─────────────────────────────────────────────────── */

static void drop_pidfd(Keep *keep, Task *task)
{
        if (task->pidfd >= 0) {
                /* closing is not enough: the spawner may still have its copy */
                (void)epoll_ctl(keep->epoll_fd, EPOLL_CTL_DEL, task->pidfd, NULL);
                close(task->pidfd);
        }
        task->pidfd = -1;
}

static void drop_request(Task *task)
{
        if (task->request)
                g_bytes_unref(task->request);
        task->request = NULL;
}

/* `clean`: another task can use it. */
static void leave_slot(Keep *keep, Task *task, bool clean)
{
        if (!clean)
                cgroup_pool_discard(keep->pool, task->slot);
        if (!clean || cgroup_pool_give(keep->pool, task->slot, &task->limits))
                watch_sweep(keep);
        task->slot = -1;
}

/* The only function that sets TASK_ENDED. */
static void end_task(Keep *keep, Task *task, const RecordEnd *end)
{
        drop_pidfd(keep, task);
        drop_request(task);
        task->state = TASK_ENDED;
        task->end = (TaskEnd){
                .kind = end->kind,
                .exit_code = end->exit_code,
                .signal = end->signal,
                .oom = end->oom,
                .permanent = end->permanent,
                .time_ms = end->time_ms,
                .peak_memory = end->peak_memory,
                .cpu_us = end->cpu_us,
                .text = end->text[0] ? g_strdup(end->text) : NULL,
        };
        leave_slot(keep, task, end->clean && !task->adopted);
        report(keep, task, task_format_end);
}

static int open_state(Keep *keep, const Task *task)
{
        return openat(keep->tasks_fd, task->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

static void end_unstarted(Keep *keep, Task *task, EndKind kind, bool permanent, const char *text)
{
        RecordEnd end = { .kind = kind, .exit_code = -1, .permanent = permanent, .time_ms = clock_now_ms() };
        fd_auto int fd = open_state(keep, task);

        g_strlcpy(end.text, text, sizeof end.text);
        if (fd >= 0)
                (void)record_write_end(fd, &end); /* else the next agent comes to the same conclusion */
        end_task(keep, task, &end);
}

static void end_with_text(Keep *keep, Task *task, EndKind kind, const char *text)
{
        end_unstarted(keep, task, kind, false, text);
}

static const char *lost_text(const Task *task)
{
        return task->started
                       ? "its keeper was killed, and the process with it"
                       : "its keeper was killed, or the disk was full, before it could start the process";
}

/* The keeper died without a report. Kill its processes before the task is reported, so that ports and files
 * are free. */
static void lose_task(Keep *keep, Task *task)
{
        task->state = TASK_DYING;
        task->dying_until = clock_monotonic_ms() + DYING_MAX_MS;
        cgroup_pool_discard(keep->pool, task->slot);
        task->kill_session = task->slot < 0 && task->member > 0;
        watch_sweep(keep);
}

/* Without a cgroup: kill the rest of the member's session, in passes. */
static bool is_session_empty(const Task *task)
{
        int pids[64];

        if (!task->kill_session || tree_session(task->member, pids, G_N_ELEMENTS(pids)) == 0)
                return true;
        tree_signal_session(task->member, SIGKILL);
        return false;
}

static bool sweep_task(Keep *keep, Task *task, gint64 now)
{
        bool empty =
                task->slot < 0 ? is_session_empty(task) : !cgroup_pool_is_discarded(keep->pool, task->slot);

        if (!empty && now < task->dying_until)
                return false;
        task->slot = -1; /* the pool has it now */
        end_with_text(keep, task, END_LOST, lost_text(task));
        return true;
}

static void on_sweep(void *arg)
{
        Keep *keep = arg;
        bool empty = cgroup_pool_sweep(keep->pool), waiting = false;
        gint64 now = clock_monotonic_ms();
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, keep->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Task *task = value;

                if (task->state == TASK_DYING)
                        waiting |= !sweep_task(keep, task, now);
        }
        if (!empty || waiting)
                watch_sweep(keep);
}

static void watch_sweep(Keep *keep)
{
        if (!keep->sweep_timer)
                timer_set(&keep->sweep_timer, NULL, SWEEP_MS, on_sweep, keep);
}

/* ── a running task ────────────────────────────────────────────────────── */

static void set_started(Keep *keep, Task *task, int member, gint64 time_ms)
{
        if (task->started)
                return;
        task->started = true;
        task->member = member;
        task->started_ms = time_ms;
        drop_request(task);
        if (task->state != TASK_ENDED)
                report(keep, task, task_format_started);
        if (task->state != TASK_ENDED && (task->ready_ports[0] > 0 || task->ready_file))
                watch_ready(keep);
}

/* Does nothing if the keeper is gone: its end will be reported. */
static void tell_keeper(const Task *task, int signo, int value)
{
        siginfo_t info = { .si_signo = signo, .si_code = SI_QUEUE };

        info.si_pid = getpid();
        info.si_value.sival_int = value;
        (void)syscall(SYS_pidfd_send_signal, task->pidfd, signo, &info, 0);
}

static void send_stop(Task *task)
{
        if (task->pidfd < 0 || task->stop_ms < 0)
                return;
        tell_keeper(task, WIRE_STOP_SIGNAL, (int)MIN(task->stop_ms, G_MAXINT));
        task->stop_ms = -1;
}

/* Takes ownership of `pidfd`. */
static void watch_keeper(Keep *keep, Task *task, int pidfd)
{
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = task };

        drop_pidfd(keep, task);
        task->pidfd = pidfd;
        task->state = TASK_RUNNING;
        if (epoll_ctl(keep->epoll_fd, EPOLL_CTL_ADD, pidfd, &event) < 0)
                log_error("cannot watch a keeper", "task", task->name, "error", g_strerror(errno), NULL);
        send_stop(task);
}

/* Read the record only after the death is known. */
static void on_keeper_gone(Keep *keep, Task *task)
{
        fd_auto int fd = open_state(keep, task);
        RecordStarted started;
        RecordEnd end;

        drop_pidfd(keep, task);
        if (fd < 0 || !record_read_end(fd, &end)) {
                if (fd >= 0 && !task->started && record_read_started(fd, &started))
                        set_started(keep, task, started.member, started.time_ms);
                lose_task(keep, task);
                return;
        }
        if (end.kind == END_EXITED && !task->started && record_read_started(fd, &started))
                set_started(keep, task, started.member,
                            started.time_ms); /* its own message has not arrived yet */
        end_task(keep, task, &end);
}

static gboolean on_epoll(gint epoll_fd, GIOCondition condition, gpointer arg)
{
        Keep *keep = arg;
        struct epoll_event events[EVENTS];
        int n = epoll_wait(epoll_fd, events, EVENTS, 0);

        for (int i = 0; i < n; i++)
                on_keeper_gone(keep, events[i].data.ptr);
        return G_SOURCE_CONTINUE;
}

/* ── reused state files ────────────────────────────────────────────────── */

#define SPARE_PREFIX ".spare-"

/* Clears the state file of a forgotten task and keeps it for reuse, or deletes it. */
static bool retire_state(Keep *keep, const Task *task)
{
        fd_auto int fd = open_state(keep, task);
        g_autofree char *spare = g_strdup_printf(SPARE_PREFIX "%d", keep->next_spare);

        if (fd < 0)
                return errno == ENOENT;
        if (keep->spares->len >= SPARES_MAX || !record_clear(fd) ||
            renameat(keep->tasks_fd, task->name, keep->tasks_fd, spare) < 0)
                return unlinkat(keep->tasks_fd, task->name, 0) == 0 || errno == ENOENT;
        g_array_append_val(keep->spares, keep->next_spare);
        keep->next_spare++;
        return true;
}

/* The name of a spare file, or NULL; the caller's. */
static char *take_spare(Keep *keep)
{
        int number;

        if (keep->spares->len == 0)
                return NULL;
        number = g_array_index(keep->spares, int, keep->spares->len - 1);
        g_array_set_size(keep->spares, keep->spares->len - 1);
        return g_strdup_printf(SPARE_PREFIX "%d", number);
}

static void delete_spares(Keep *keep)
{
        char *spare;

        while ((spare = take_spare(keep))) {
                (void)unlinkat(keep->tasks_fd, spare, 0); /* else the next agent does */
                g_free(spare);
        }
}

/* ── adoption ──────────────────────────────────────────────────────────── */

typedef enum { ADOPTED, UNDECIDED, NEVER_RAN } Adoption;

static bool is_locked(int fd)
{
        if (flock(fd, LOCK_SH | LOCK_NB) < 0)
                return true;
        (void)flock(fd, LOCK_UN); /* just acquired */
        return false;
}

static void fill_from_record(Keep *keep, Task *task, int fd, const RecordStarted *started)
{
        char path[RECORD_READY_MAX];

        task->keeper = started->keeper;
        memcpy(task->ready_ports, started->ready_ports, sizeof task->ready_ports);
        if (!task->ready_file && record_read_ready_file(fd, started, path))
                task->ready_file = g_strdup(path);
        if (task->slot < 0 && started->slot >= 0 && cgroup_pool_is_usable(keep->pool)) {
                task->slot = started->slot;
                task->adopted = true;
                cgroup_pool_mark(keep->pool, task->slot);
        }
}

/* The keeper may have died between the two checks: then its record, if any, is final. */
static void decide_dead(Keep *keep, Task *task, int fd)
{
        RecordEnd end;

        if (record_read_end(fd, &end)) {
                end_task(keep, task, &end);
                return;
        }
        lose_task(keep, task);
        if (kill(task->member, 0) == 0) /* members die with their keeper: another process has that number */
                task->kill_session = false;
}

static Adoption adopt_started(Keep *keep, Task *task, int fd, const RecordStarted *started)
{
        fd_auto int pidfd = -1;
        RecordEnd end;

        if (strcmp(started->boot_id, keep->boot_id) != 0) {
                task->slot = -1; /* a restart of the machine deletes groups */
                task->started = true;
                if (record_read_end(fd, &end))
                        end_task(keep, task, &end);
                else
                        end_with_text(keep, task, END_LOST, "the machine was restarted");
                return ADOPTED;
        }
        if (record_read_end(fd, &end)) { /* another task may have its slot by now */
                end_task(keep, task, &end);
                return ADOPTED;
        }
        fill_from_record(keep, task, fd, started);
        pidfd = (int)syscall(SYS_pidfd_open, started->keeper, 0);
        if (is_locked(fd)) {
                if (pidfd < 0)
                        return UNDECIDED; /* it is dying now */
                watch_keeper(keep, task, fd_steal(&pidfd));
                set_started(keep, task, started->member, started->time_ms);
                return ADOPTED;
        }
        task->started = true;
        task->member = started->member;
        task->started_ms = started->time_ms;
        decide_dead(keep, task, fd);
        return ADOPTED;
}

static Adoption adopt(Keep *keep, Task *task)
{
        fd_auto int fd = open_state(keep, task);
        RecordStarted started;
        RecordEnd end;

        if (fd < 0)
                return NEVER_RAN;
        if (record_read_started(fd, &started))
                return adopt_started(keep, task, fd, &started);
        if (record_read_end(fd, &end)) { /* it failed before the member was started */
                end_task(keep, task, &end);
                return ADOPTED;
        }
        if (is_locked(fd))
                return UNDECIDED;
        if (record_read_started(fd, &started)) /* written since then, by a keeper that is now dead */
                return adopt_started(keep, task, fd, &started);
        if (record_read_end(fd, &end)) {
                end_task(keep, task, &end);
                return ADOPTED;
        }
        return NEVER_RAN;
}

/* A task that never ran is started again if this agent was asked for it; otherwise its empty file is deleted.
 * False: it is gone. */
static bool settle(Keep *keep, Task *task)
{
        switch (adopt(keep, task)) {
        case ADOPTED: return true;
        case UNDECIDED:
                task->state = TASK_ORPHAN;
                watch_orphans(keep);
                return true;
        case NEVER_RAN: break;
        }
        if (task->request) {
                task->state = TASK_SPAWNING;
                spawn_link_send(keep->link, task->request);
                return true;
        }
        (void)unlinkat(keep->tasks_fd, task->name, 0); /* if this fails, the next start finds it again */
        return false;
}

bool keep_is_settled(const Keep *keep)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, keep->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (((Task *)value)->state == TASK_ORPHAN)
                        return false;
        return true;
}

/* Cleans unclaimed slots once no keeper is left that may claim one. */
static void discard_rest(Keep *keep)
{
        if (keep->rest_discarded || !keep_is_settled(keep))
                return;
        keep->rest_discarded = true;
        cgroup_pool_discard_rest(keep->pool);
        watch_sweep(keep);
}

static GPtrArray *tasks_where(Keep *keep, bool (*matches)(const Task *task))
{
        GPtrArray *list = g_ptr_array_new();
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, keep->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (matches(value))
                        g_ptr_array_add(list, value);
        return list;
}

static bool is_orphan(const Task *task)
{
        return task->state == TASK_ORPHAN;
}

static void on_orphans(void *arg)
{
        Keep *keep = arg;
        g_autoptr(GPtrArray) orphans = tasks_where(keep, is_orphan);

        for (guint i = 0; i < orphans->len; i++)
                if (!settle(keep, orphans->pdata[i]))
                        remove_task(keep, orphans->pdata[i]);
        keep->config.changed(keep->config.arg);
        if (keep_is_settled(keep))
                discard_rest(keep);
        else
                watch_orphans(keep);
}

static void watch_orphans(Keep *keep)
{
        if (!keep->orphan_timer)
                timer_set(&keep->orphan_timer, NULL, ORPHAN_POLL_MS, on_orphans, keep);
}

static bool adopt_all(Keep *keep, GError **error)
{
        g_autoptr(GDir) dir = g_dir_open(keep->tasks_dir, 0, error);

        if (!dir)
                return err_prefix(error, "cannot list the tasks: ");
        for (const char *name; (name = g_dir_read_name(dir));) {
                Task *task;

                if (g_str_has_prefix(name, SPARE_PREFIX))
                        (void)unlinkat(keep->tasks_fd, name, 0); /* of an agent that was killed */
                if (!task_name_is_valid(name))
                        continue;
                task = add_task(keep, name);
                if (!settle(keep, task))
                        remove_task(keep, task);
        }
        discard_rest(keep);
        return true;
}

/* ── readiness ─────────────────────────────────────────────────────────── */

static bool waits_for_ready(const Task *task)
{
        return task->state == TASK_RUNNING && task->started && !task->ready &&
               (task->ready_ports[0] > 0 || task->ready_file);
}

static bool has_ready_file(const Task *task)
{
        struct stat status;

        return task->ready_file && lstat(task->ready_file, &status) == 0;
}

static void find_listeners(Keep *keep, const GPtrArray *waiting, ReadyPort *ports)
{
        for (guint i = 0; i < waiting->len; i++) {
                const Task *task = waiting->pdata[i];
                Slot slot;

                cgroup_pool_slot(keep->pool, task->slot, &slot);
                for (guint j = 0; j < TASK_READY_PORTS; j++) {
                        ReadyPort *port = &ports[i * TASK_READY_PORTS + j];

                        *port = (ReadyPort){ .port = task->ready_ports[j], .session = task->member };
                        if (task->slot >= 0)
                                port->procs = ready_procs_path(&slot);
                }
        }
        ready_ports_find("/proc", ports, (gsize)waiting->len * TASK_READY_PORTS);
}

static void on_ready_timer(void *arg)
{
        Keep *keep = arg;
        g_autoptr(GPtrArray) waiting = tasks_where(keep, waits_for_ready);
        g_autofree ReadyPort *ports = g_new0(ReadyPort, (gsize)waiting->len * TASK_READY_PORTS + 1);
        bool more = false;

        if (waiting->len > 0)
                find_listeners(keep, waiting, ports);
        for (guint i = 0; i < waiting->len; i++) {
                Task *task = waiting->pdata[i];
                bool listens = false;

                for (guint j = 0; j < TASK_READY_PORTS; j++) {
                        listens |= ports[i * TASK_READY_PORTS + j].listens;
                        g_free(ports[i * TASK_READY_PORTS + j].procs);
                }
                if (!listens && !has_ready_file(task)) {
                        more = true;
                        continue;
                }
                task->ready = true;
                task->ready_ms = clock_now_ms();
                report(keep, task, task_format_ready);
        }
        if (more) {
                keep->ready_poll_ms = MIN(keep->ready_poll_ms + keep->ready_poll_ms / 8, READY_POLL_MAX_MS);
                timer_set(&keep->ready_timer, NULL, keep->ready_poll_ms, on_ready_timer, keep);
        }
}

/* A new task waits: check often again. */
static void watch_ready(Keep *keep)
{
        keep->ready_poll_ms = READY_POLL_MS;
        if (!keep->ready_timer)
                timer_set(&keep->ready_timer, NULL, READY_POLL_MS, on_ready_timer, keep);
}

/* ── the spawner ───────────────────────────────────────────────────────── */

static void refused(Keep *keep, Task *task, const WireReply *reply)
{
        leave_slot(keep, task, false); /* it has the limits of another task */
        end_unstarted(keep, task, record_start_end(reply->err), reply->err == ENOSPC, reply->text);
}

static void on_reply(const WireReply *reply, int pidfd_received, void *arg)
{
        Keep *keep = arg;
        fd_auto int pidfd = pidfd_received;
        Task *task = g_hash_table_lookup(keep->by_id, &reply->id);

        if (!task || task->state == TASK_ENDED || task->state == TASK_DYING)
                return; /* a keeper's message that arrived after its end was seen */
        switch (reply->kind) {
        case WIRE_SPAWNED:
                task->keeper = reply->keeper;
                watch_keeper(keep, task, fd_steal(&pidfd));
                break;
        case WIRE_STARTED: set_started(keep, task, reply->member, reply->time_ms); break;
        case WIRE_REFUSED: refused(keep, task, reply); break;
        default: /* a keeper has, or had, this task */
                if (!settle(keep, task))
                        remove_task(keep, task);
        }
}

static bool has_no_keeper(const Task *task)
{
        return task->state == TASK_SPAWNING;
}

static bool too_many_starts(Keep *keep)
{
        gint64 now = clock_monotonic_ms(), *slot = &keep->starts[keep->n_starts++ % SPAWNER_STARTS_MAX];
        bool full = keep->n_starts > SPAWNER_STARTS_MAX && now - *slot < SPAWNER_WINDOW_MS;

        *slot = now;
        return full;
}

static bool start_spawner(Keep *keep, GError **error)
{
        if (too_many_starts(keep))
                return err_set(error, ERR_FAILED, "the spawner ended %d times within %d s",
                               SPAWNER_STARTS_MAX, SPAWNER_WINDOW_MS / 1000);
        return spawn_link_up(keep->link, error);
}

/* It may have forked a keeper without reporting it: the state file decides each unanswered request. */
static void on_spawner_down(void *arg)
{
        Keep *keep = arg;
        g_autoptr(GPtrArray) undecided = tasks_where(keep, has_no_keeper);
        g_autoptr(GError) error = NULL;

        log_warning("the spawner is gone, starting another", NULL);
        if (!start_spawner(keep, &error)) {
                keep->config.broken(error, keep->config.arg);
                return;
        }
        for (guint i = 0; i < undecided->len; i++)
                if (!settle(keep, undecided->pdata[i]))
                        remove_task(keep, undecided->pdata[i]);
}

/* ── requests of the server ────────────────────────────────────────────── */

void keep_refuse(Keep *keep, const char *name, const char *text, bool permanent)
{
        Task *task = g_hash_table_lookup(keep->tasks, name);
        RecordEnd end = { .kind = END_FAILED,
                          .exit_code = -1,
                          .clean = true,
                          .permanent = permanent,
                          .time_ms = clock_now_ms() };

        if (!task)
                task = add_task(keep, name);
        g_strlcpy(end.text, text, sizeof end.text);
        end_task(keep, task, &end);
        keep->config.changed(keep->config.arg);
}

void keep_start(Keep *keep, const StartRequest *request)
{
        Task *task = g_hash_table_lookup(keep->tasks, request->task);
        g_autoptr(GError) error = NULL;
        g_autofree char *spare = NULL;
        const SlotOwner owner = { request->user, request->user_processes, request->limits };
        SlotLimits held;
        Slot slot;
        int number;

        if (task) {
                g_string_truncate(keep->line, 0);
                add_reports(task, keep->line);
                if (keep->line->len > 0)
                        keep->config.report(keep->line->str, keep->config.arg);
                return;
        }
        if (request->egress && !keep->egress_limited) {
                keep_refuse(keep, request->task, "what it may connect to cannot be limited on this machine",
                            false);
                return;
        }
        if (!cgroup_pool_take(keep->pool, &owner, &number, &held, &error)) {
                keep_refuse(keep, request->task, error->message, false);
                return;
        }
        task = add_task(keep, request->task);
        task->slot = number;
        task->limits = request->limits;
        task->ready_ports[0] = (int32_t)request->ready_port;
        task->ready_ports[1] = (int32_t)request->ready_port_other;
        task->ready_file = request->ready_file && *request->ready_file ? g_strdup(request->ready_file) : NULL;
        cgroup_pool_slot(keep->pool, number, &slot);
        slot.held = held;
        spare = take_spare(keep);
        task->request =
                g_byte_array_free_to_bytes(start_request_pack(request, task->id, spare, number, &slot,
                                                              keep->config.sandboxes_dir, keep->egress));
        spawn_link_send(keep->link, task->request);
        keep->config.changed(keep->config.arg);
}

/* The end of an ended task was reported already. A second report could be mistaken for the next task of this
 * name. */
void keep_stop(Keep *keep, const char *name, gint64 grace_ms)
{
        Task *task = g_hash_table_lookup(keep->tasks, name);

        if (!task) {
                g_string_truncate(keep->line, 0);
                task_format_unknown(name, clock_now_ms(), keep->line);
                keep->config.report(keep->line->str, keep->config.arg);
        } else if (task->state != TASK_ENDED) {
                task->stop_ms = grace_ms;
                send_stop(task); /* now, or as soon as its keeper is known */
        }
}

void keep_signal(Keep *keep, const char *name, int signo)
{
        const Task *task = g_hash_table_lookup(keep->tasks, name);

        if (task && task->state == TASK_RUNNING && task->pidfd >= 0)
                tell_keeper(task, WIRE_PASS_SIGNAL, signo);
}

bool keep_forget(Keep *keep, const char *name, GError **error)
{
        Task *task = g_hash_table_lookup(keep->tasks, name);

        if (!task)
                return true;
        if (task->state != TASK_ENDED)
                return err_set(error, ERR_CONFLICT, "task '%s' has not ended", name);
        if (!retire_state(keep, task))
                return err_set_errno(error, errno, "cannot delete the state of task '%s'", name);
        remove_task(keep, task);
        keep->config.changed(keep->config.arg);
        return true;
}

void keep_report_all(Keep *keep, GString *lines)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, keep->tasks);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                add_reports(value, lines);
}

bool keep_limit_egress(Keep *keep, const json_t *rules, GError **error)
{
        g_clear_pointer(&keep->egress, g_free);
        keep->egress_limited = egress_apply(keep->pool, "/proc/self/mountinfo", keep->cgroup_id, rules,
                                            &keep->egress, error) &&
                               rules;
        return keep->egress_limited || !rules;
}

guint keep_count(const Keep *keep)
{
        return g_hash_table_size(keep->tasks);
}

const char *const *keep_limits(const Keep *keep)
{
        return keep->limits;
}

const char *const *keep_sandbox(const Keep *keep)
{
        return keep->sandbox;
}

bool keep_denies_devices(const Keep *keep)
{
        return cgroup_pool_denies_devices(keep->pool);
}

/* ── life ──────────────────────────────────────────────────────────────── */

static void note_limits(Keep *keep)
{
        static const struct {
                SlotController controller;
                const char *word;
        } rows[] = { { SLOT_CPU, "cpu" }, { SLOT_MEMORY, "memory" }, { SLOT_PIDS, "pids" } };
        guint n = 0;

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (cgroup_pool_has(keep->pool, rows[i].controller))
                        keep->limits[n++] = rows[i].word;
}

static gint64 kernel_number(const char *path)
{
        g_autofree char *text = NULL;

        return file_read(path, 64, &text, NULL, NULL) ? g_ascii_strtoll(text, NULL, 10) : G_MAXINT64;
}

/* Members may use all but a quarter of the processes that the kernel has numbers and memory for. */
static gint64 processes_of_members(void)
{
        gint64 all =
                MIN(kernel_number("/proc/sys/kernel/pid_max"), kernel_number("/proc/sys/kernel/threads-max"));

        return all - all / 4;
}

/* The spawner tries it, since this process has threads and a heap. No answer means no sandbox. */
static void note_sandbox(Keep *keep)
{
        char *argv[] = { (char *)keep->config.spawner_program, (char *)"probe", NULL };
        g_autofree char *said = NULL;
        g_auto(GStrv) lines = NULL;
        guint n = 0;

        if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &said, NULL, NULL, NULL))
                return;
        lines = g_strsplit(said, "\n", -1);
        for (int i = 0; i < SANDBOX_PARTS; i++)
                if (g_strv_contains((const char *const *)lines, sandbox_word(i)))
                        keep->sandbox[n++] = sandbox_word(i);
}

/* Removes what killed holders left. Living holders have a lock. */
static void clear_sandboxes(const char *path)
{
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *place = g_build_filename(path, name, NULL);
                fd_auto int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                struct flock mark = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

                if (fd >= 0 && fcntl(fd, F_GETLK, &mark) == 0 && mark.l_type == F_UNLCK)
                        (void)file_remove_tree(place, NULL); /* else the next agent does */
        }
}

Keep *keep_new(const KeepConfig *config, GError **error)
{
        static const SpawnLinkOps ops = { on_reply, on_spawner_down };
        Keep *keep = g_new0(Keep, 1);
        char boot_id[37];

        keep->config = *config;
        keep->config.sandboxes_dir = keep->sandboxes_dir = g_strdup(config->sandboxes_dir);
        keep->tasks_dir = g_strdup(config->tasks_dir);
        keep->cgroup_id = g_strdup(config->cgroup_id);
        keep->tasks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)task_free);
        keep->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
        keep->line = g_string_new(NULL);
        keep->spares = g_array_new(FALSE, FALSE, sizeof(int));
        keep->pool = cgroup_pool_new("/proc/self/mountinfo", "/proc/self/cgroup", config->cgroup_id);
        cgroup_pool_bound(keep->pool, processes_of_members());
        keep->tasks_fd = open(config->tasks_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        keep->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        keep->link = spawn_link_new(config->spawner_program, config->lock_fd, keep->tasks_fd, &ops, keep);
        note_limits(keep);
        note_sandbox(keep);
        clear_sandboxes(config->sandboxes_dir);
        if (keep->tasks_fd < 0 || keep->epoll_fd < 0) {
                err_set_errno(error, errno, "cannot open '%s'", config->tasks_dir);
                keep_free(keep);
                return NULL;
        }
        keep->epoll_source = g_unix_fd_add(keep->epoll_fd, G_IO_IN, on_epoll, keep);
        if (!clock_boot_id(boot_id, error) || !start_spawner(keep, error)) {
                keep_free(keep);
                return NULL;
        }
        keep->boot_id = g_strdup(boot_id);
        if (!adopt_all(keep, error)) {
                keep_free(keep);
                return NULL;
        }
        return keep;
}

static void remove_sources(Keep *keep)
{
        if (keep->epoll_source)
                g_source_remove(keep->epoll_source);
        timer_clear(&keep->orphan_timer);
        timer_clear(&keep->sweep_timer);
        timer_clear(&keep->ready_timer);
}

void keep_free(Keep *keep)
{
        if (!keep)
                return;
        remove_sources(keep);
        spawn_link_free(keep->link);
        delete_spares(keep);
        g_array_unref(keep->spares);
        cgroup_pool_free(keep->pool);
        g_hash_table_unref(keep->by_id);
        g_hash_table_unref(keep->tasks);
        g_string_free(keep->line, TRUE);
        if (keep->tasks_fd >= 0)
                close(keep->tasks_fd);
        if (keep->epoll_fd >= 0)
                close(keep->epoll_fd);
        g_free(keep->tasks_dir);
        g_free(keep->sandboxes_dir);
        g_free(keep->cgroup_id);
        g_free(keep->egress);
        g_free(keep->boot_id);
        g_free(keep);
}
