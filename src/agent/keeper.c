/* The life of a keeper (see keeper.h, and the drawing in doc/internals/agent.md).
 *
 * Invariants: the task's lock is held from before the fork until the process ends. The `started` record is
 * written before the member may run. The `end` record is written when the keeper has no child left; as it is
 * a subreaper, no process of the member is left then. All waiting is sigtimedwait: children and the stop
 * request are signals, and nothing else needs to wake it. */
#include "agent/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/logfile.h"
#include "agent/member.h"
#include "agent/record.h"
#include "agent/report.h"
#include "agent/tree.h"
#include "base/log-times.h"

enum {
        STRAGGLER_GRACE_MS = 2000, /* for processes that outlive their member */
        KILL_PASS_MS = 5,          /* between two kill passes; doubles up to the next line */
        KILL_PASS_MAX_MS = 500,
        LOG_CHECK_MS = 1000,
        MOUNTS_MS = 30000, /* within which a member has made its mounts and runs */
        SLOT_DIR_MAX = 400,
        REPORT_PATH_MAX = 4096,
        SHARED_KEPT_MAX = 16 << 20, /* with more, the next member gets another slot */
};

typedef enum { RUNNING, STOPPING, KILLING } Phase;

typedef struct {
        int state_fd, log_fd;
        pid_t self, member; /* the machine's numbers, as they are reported and recorded */
        pid_t child;        /* the member's number in our PID namespace */
        bool shares;        /* files that it wrote to /dev/shm may still be charged */
        int proc;           /* where its descendants are searched without a slot; -1: not searched */
        bool member_gone, stragglers_warned;
        int status;
        Phase phase;
        int64_t deadline, pass_ms;
        int64_t log_bytes;
        ReportFile reports;
        int64_t reports_due; /* when they are read next */
        bool log_cut;
        LogClock log_clock;
        int64_t log_due, log_cap_due; /* monotonic ms: the next checks of the log */
        bool never_starts;            /* a retry would fail in the same way */
        int start_err;                /* errno of a file that could not be made for the start, or 0 */
        Slot slot;
        SlotLimits limits;
        SlotUsage usage; /* of reaped processes; replaced by the slot's numbers at the end */
} Keeper;

static int64_t clock_ms(clockid_t clock)
{
        struct timespec now;

        clock_gettime(clock, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void keep_slot(Keeper *keeper, const Spawn *spawn)
{
        static char dirs[SLOT_CONTROLLERS][SLOT_DIR_MAX]; /* outlives the request */

        keeper->slot.v2 = spawn->head->slot_v2;
        keeper->slot.held = spawn->head->held;
        keeper->slot.peak_fd = -1;
        for (int i = 0; i < SLOT_CONTROLLERS; i++) {
                const char *dir = spawn->strings[WIRE_SLOT_DIRS + i];
                size_t len = strlen(dir);

                if (len == 0 || len >= SLOT_DIR_MAX)
                        continue;
                memcpy(dirs[i], dir, len + 1);
                keeper->slot.dir[i] = dirs[i];
        }
}

/* The result file is beside the log. */
static void keep_reports(Keeper *keeper, const Spawn *spawn)
{
        static char result[REPORT_PATH_MAX]; /* outlives the request */
        const WireSpawn *head = spawn->head;

        (void)snprintf(result, sizeof result, "%s.results", spawn->strings[WIRE_LOG]);
        report_open(&keeper->reports, spawn->strings[WIRE_PROGRESS], result,
                    head->as_user ? (uid_t)head->uid : (uid_t)-1, (gid_t)head->gid);
}

/* ── the start ─────────────────────────────────────────────────────────── */

/* Forks the member and finds its number on the machine, which differs in a PID namespace. */
static bool fork_member(Keeper *keeper, const Spawn *spawn, int *ret_gate)
{
        pid_t self = getpid();
        int gate[2], pidfd = -1;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
                return false;
        keeper->child = sandbox_fork(-1, false, &pidfd);
        if (keeper->child == 0) {
                close(gate[0]);
                member_run(spawn, gate[1], keeper->log_fd, self);
        }
        close(gate[1]);
        *ret_gate = gate[0];
        if (keeper->child < 0)
                close(gate[0]);
        keeper->member = spawn->head->sandbox & SANDBOX_PIDS ? sandbox_host_pid(pidfd) : keeper->child;
        if (pidfd >= 0)
                close(pidfd);
        return keeper->child > 0;
}

/* A file system of its mounts may never answer, and the keeper takes no stop request meanwhile. */
static bool answers(const Keeper *keeper, const Spawn *spawn, int gate)
{
        struct pollfd fd = { .fd = gate, .events = POLLIN };

        if (spawn->head->n_mounts == 0 || poll(&fd, 1, MOUNTS_MS) != 0)
                return true;
        (void)kill(keeper->child, SIGKILL);
        return false;
}

/* Lets the member continue and waits until it runs. On failure `text` is the member's own error. */
static bool release(const Keeper *keeper, const Spawn *spawn, int gate, bool *ret_never, char *text,
                    size_t size)
{
        char verdict;
        size_t len = 0;
        ssize_t got = 0;

        while (write(gate, "", 1) < 0 && errno == EINTR)
                ;
        if (!answers(keeper, spawn, gate)) {
                (void)snprintf(text, size, "a file system of its mounts did not answer within %d s",
                               MOUNTS_MS / 1000);
                return false;
        }
        while ((got = read(gate, &verdict, 1)) < 0 && errno == EINTR)
                ;
        if (got != 1)
                return true;
        *ret_never = verdict == MEMBER_NEVER;
        while (len < size - 1 &&
               ((got = read(gate, text + len, size - 1 - len)) > 0 || (got < 0 && errno == EINTR)))
                len += got > 0 ? (size_t)got : 0;
        text[len] = '\0';
        return false;
}

static bool write_started(const Keeper *keeper, const Spawn *spawn, const char *boot_id, int64_t now)
{
        RecordStarted started = {
                .keeper = keeper->self,
                .member = keeper->member,
                .slot = spawn->head->slot,
                .time_ms = now,
        };
        const char *ready_file = spawn->strings[WIRE_READY_FILE];

        memcpy(started.ready_ports, spawn->head->ready_ports, sizeof started.ready_ports);
        memcpy(started.boot_id, boot_id, strnlen(boot_id, sizeof started.boot_id - 1));
        return record_write_started(keeper->state_fd, &started, *ready_file ? ready_file : NULL);
}

/* `dir` "": no additional group. */
static bool enter_group(const char *dir, pid_t pid)
{
        char path[SLOT_DIR_MAX], number[24];
        int fd, len = snprintf(number, sizeof number, "%d", (int)pid);
        bool ok;

        if (!*dir)
                return true;
        (void)snprintf(path, sizeof path, "%s/cgroup.procs", dir);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        ok = fd >= 0 && write(fd, number, (size_t)len) == len;
        if (fd >= 0)
                close(fd);
        return ok;
}

/* From the log to a running member, in the order of the protocol. On failure `text` has a sentence. */
static bool start(Keeper *keeper, const Spawn *spawn, const char *boot_id, int64_t *ret_time, char *text,
                  size_t size)
{
        const char *file = "";
        int gate = -1;
        bool ok;

        keeper->log_fd = log_file_open(spawn->strings[WIRE_LOG], spawn->strings[WIRE_BANNER]);
        if (keeper->log_fd < 0) {
                keeper->start_err = errno;
                (void)snprintf(text, size, "cannot open the log '%s': %s", spawn->strings[WIRE_LOG],
                               strerrordesc_np(errno));
                return false;
        }
        keep_reports(keeper, spawn);
        if (spawn->head->as_user)
                log_file_share(keeper->log_fd, spawn->strings[WIRE_LOG]);
        if (!slot_begin(&keeper->slot, &keeper->limits, &file)) {
                (void)snprintf(text, size, "cannot set the limit '%s' of its cgroup: %s", file,
                               strerrordesc_np(errno));
                return false;
        }
        if (!fork_member(keeper, spawn, &gate)) {
                (void)snprintf(text, size, "cannot fork: %s", strerrordesc_np(errno));
                return false;
        }
        *ret_time = clock_ms(CLOCK_REALTIME);
        ok = slot_attach(&keeper->slot, &keeper->limits, keeper->child) &&
             enter_group(spawn->strings[WIRE_EGRESS], keeper->child);
        if (!ok) {
                (void)snprintf(text, size, "cannot enter its cgroup: %s", strerrordesc_np(errno));
        } else if (!(ok = write_started(keeper, spawn, boot_id, *ret_time))) {
                keeper->start_err = errno;
                (void)snprintf(text, size, "cannot write its state file: %s", strerrordesc_np(errno));
        } else {
                ok = release(keeper, spawn, gate, &keeper->never_starts, text, size);
        }
        close(gate); /* a member that still waits reads end of file and exits */
        return ok;
}

static void report_started(const Keeper *keeper, int report_fd, uint64_t id, int64_t now)
{
        WireReply reply = {
                .id = id,
                .kind = WIRE_STARTED,
                .keeper = keeper->self,
                .member = keeper->member,
                .time_ms = now,
        };

        /* if the agent is gone or its socket is full, it reads the record later */
        (void)send(report_fd, &reply, offsetof(WireReply, text), MSG_NOSIGNAL);
}

/* ── waiting ───────────────────────────────────────────────────────────── */

static void count_usage(Keeper *keeper, const struct rusage *usage)
{
        int64_t cpu_us = (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000) +
                         usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
        int64_t peak = usage->ru_maxrss * INT64_C(1024);

        keeper->usage.cpu_us += cpu_us;
        if (peak > keeper->usage.peak_memory)
                keeper->usage.peak_memory = peak;
}

/* Reaps all ended children. False: no child is left. */
static bool reap(Keeper *keeper)
{
        struct rusage usage;
        int status;
        pid_t pid;

        while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
                count_usage(keeper, &usage);
                if (pid != keeper->child)
                        continue;
                keeper->member_gone = true;
                keeper->status = status;
        }
        return pid == 0 || errno != ECHILD;
}

/* First the member's process group, then processes that left it. After the member is reaped its number may
 * name another group. */
static void signal_all(Keeper *keeper, int signal)
{
        pid_t except = keeper->member_gone ? -1 : keeper->child;

        if (!keeper->member_gone)
                (void)kill(-keeper->child, signal);
        if (slot_finds_processes(&keeper->slot))
                slot_signal(&keeper->slot, signal, except);
        else
                tree_signal(keeper->proc, getpid(), signal, except);
}

static void kill_all(Keeper *keeper)
{
        if (slot_finds_processes(&keeper->slot))
                slot_kill(&keeper->slot);
        else
                tree_signal(keeper->proc, getpid(), SIGKILL, -1);
        keeper->pass_ms = keeper->pass_ms * 2 > KILL_PASS_MAX_MS ? KILL_PASS_MAX_MS : keeper->pass_ms * 2;
}

/* Starts to end the member. A second call does not move the deadline. */
static void stop(Keeper *keeper, int64_t grace_ms)
{
        int64_t deadline = clock_ms(CLOCK_MONOTONIC) + grace_ms;

        if (keeper->phase == RUNNING) {
                keeper->phase = STOPPING;
                keeper->deadline = deadline;
                if (grace_ms > 0) {
                        signal_all(keeper, SIGTERM);
                        signal_all(keeper, SIGCONT);
                }
        } else if (deadline < keeper->deadline) {
                keeper->deadline = deadline;
        }
}

static void cap_log(Keeper *keeper, int64_t now)
{
        bool cut;

        if (keeper->log_bytes == 0 || now < keeper->log_cap_due)
                return;
        cut = log_file_cap(keeper->log_fd, keeper->log_bytes, &keeper->log_cut);
        /* a member that writes this much is checked more often */
        keeper->log_cap_due = now + (cut ? LOG_CHECK_MS / 5 : LOG_CHECK_MS);
}

/* Checks the log if that is due; returns the time until the next check. */
static int64_t watch_log(Keeper *keeper)
{
        int64_t now = clock_ms(CLOCK_MONOTONIC), due;

        cap_log(keeper, now);
        if (keeper->log_due == 0)
                keeper->log_due = now + LOG_TIMES_GAP_MS; /* a short task is never checked */
        if (now >= keeper->log_due)
                keeper->log_due = now + log_clock_look(&keeper->log_clock, keeper->log_fd);
        due = keeper->log_due;
        if (keeper->log_bytes > 0 && keeper->log_cap_due < due)
                due = keeper->log_cap_due;
        if (keeper->reports.fd >= 0 && now >= keeper->reports_due) {
                report_look(&keeper->reports, false);
                keeper->reports_due = now + LOG_CHECK_MS;
        }
        if (keeper->reports.fd >= 0 && keeper->reports_due < due)
                due = keeper->reports_due;
        return due - now;
}

/* Does all that is due; returns the time until something is, -1: never. */
static int64_t step(Keeper *keeper)
{
        int64_t log_ms = watch_log(keeper), left;

        if (keeper->member_gone && !keeper->stragglers_warned) {
                keeper->stragglers_warned = true;
                if (keeper->phase == RUNNING)
                        stop(keeper, STRAGGLER_GRACE_MS);
        }
        if (keeper->phase == RUNNING)
                return log_ms;
        left = keeper->deadline - clock_ms(CLOCK_MONOTONIC);
        if (keeper->phase == STOPPING && left > 0)
                return log_ms < left ? log_ms : left;
        keeper->phase = KILLING;
        kill_all(keeper);
        return keeper->pass_ms;
}

static void wait_signal(Keeper *keeper, int64_t timeout_ms)
{
        struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000 };
        siginfo_t info;
        sigset_t set;
        int signal;

        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigaddset(&set, WIRE_STOP_SIGNAL);
        sigaddset(&set, WIRE_PASS_SIGNAL);
        signal = sigtimedwait(&set, &info, timeout_ms < 0 ? NULL : &timeout);
        if (signal == WIRE_STOP_SIGNAL && info.si_code == SI_QUEUE)
                stop(keeper, info.si_value.sival_int < 0 ? 0 : info.si_value.sival_int);
        if (signal == WIRE_PASS_SIGNAL && info.si_code == SI_QUEUE && info.si_value.sival_int > 0)
                signal_all(keeper, info.si_value.sival_int);
}

/* ── the end ───────────────────────────────────────────────────────────── */

static void finish_record(Keeper *keeper, RecordEnd *end)
{
        slot_usage(&keeper->slot, &keeper->usage);
        end->oom = keeper->usage.oom;
        end->peak_memory = keeper->usage.peak_memory;
        end->cpu_us = keeper->usage.cpu_us;
        end->clean = slot_reset(&keeper->slot, &keeper->limits, &keeper->usage) &&
                     !(keeper->shares && keeper->usage.peak_memory > SHARED_KEPT_MAX);
        end->time_ms = clock_ms(CLOCK_REALTIME);
}

static _Noreturn void end_failed(Keeper *keeper, const char *text)
{
        RecordEnd end = { .kind = (int32_t)record_start_end(keeper->start_err),
                          .exit_code = -1,
                          .permanent = keeper->never_starts || keeper->start_err == ENOSPC };

        keeper->phase = KILLING;
        while (reap(keeper)) {
                kill_all(keeper);
                wait_signal(keeper, keeper->pass_ms);
        }
        if (keeper->log_fd >= 0)
                log_file_say(keeper->log_fd, text);
        memcpy(end.text, text, strnlen(text, sizeof end.text - 1));
        finish_record(keeper, &end);
        (void)record_write_end(keeper->state_fd, &end); /* without a record the task is reported as lost */
        _exit(0);
}

static _Noreturn void end_exited(Keeper *keeper)
{
        RecordEnd end = { .kind = END_EXITED, .exit_code = -1 };

        if (WIFSIGNALED(keeper->status))
                end.signal = WTERMSIG(keeper->status);
        else
                end.exit_code = WEXITSTATUS(keeper->status);
        report_look(&keeper->reports, true);
        if (keeper->log_bytes > 0)
                log_file_finish(keeper->log_fd, keeper->log_bytes);
        log_clock_finish(&keeper->log_clock, keeper->log_fd);
        finish_record(keeper, &end);
        (void)record_write_end(keeper->state_fd, &end); /* without a record the task is reported as lost */
        _exit(0);
}

/* /proc is the machine's, so this is our number there. */
static pid_t own_number(void)
{
        char text[24];
        ssize_t got = readlink("/proc/self", text, sizeof text - 1);

        text[got > 0 ? got : 0] = '\0';
        return got > 0 ? (pid_t)strtol(text, NULL, 10) : getpid();
}

/* The member's /proc shows its PID namespace, with the numbers that we use. */
static void find_proc(Keeper *keeper, const Spawn *spawn)
{
        bool pids = spawn->head->sandbox & SANDBOX_PIDS;
        char path[64];

        if (keeper->proc >= 0 || slot_finds_processes(&keeper->slot) || (pids && keeper->member < 0))
                return;
        (void)snprintf(path, sizeof path, pids ? "/proc/%d/root/proc" : "/proc", (int)keeper->member);
        keeper->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void become_keeper(void)
{
        struct sigaction action = { .sa_handler = SIG_DFL };

        (void)setsid(); /* a new child leads no group, so this cannot fail */
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        (void)prctl(PR_SET_NAME, "paddle-keeper");
        (void)sigaction(SIGCHLD, &action,
                        NULL); /* the spawner ignores it, which would discard exit statuses */
}

void keeper_run(Spawn *spawn, int state_fd, int report_fd, const char *boot_id)
{
        Keeper keeper = {
                .state_fd = state_fd,
                .log_fd = -1,
                .self = own_number(),
                .member = -1,
                .child = -1,
                .proc = -1,
                .reports = { .fd = -1, .result_fd = -1 },
                .pass_ms = KILL_PASS_MS,
                .log_bytes = spawn->head->log_bytes,
                .limits = spawn->head->limits,
                .shares = spawn->head->sandbox & SANDBOX_IPC,
        };
        char text[RECORD_TEXT_MAX];
        int64_t now = 0;

        become_keeper();
        keep_slot(&keeper, spawn);
        find_proc(&keeper, spawn);
        if (!start(&keeper, spawn, boot_id, &now, text, sizeof text))
                end_failed(&keeper, text);
        report_started(&keeper, report_fd, spawn->head->id, now);
        find_proc(&keeper, spawn);
        close(report_fd);
        if (spawn->big)
                (void)munmap(spawn->big, spawn->big_size);
        if (spawn->memfd >= 0)
                close(spawn->memfd);
        (void)munmap(spawn->memory,
                     spawn->memory_size); /* ours from here on: `spawn` no longer points into it */
        while (reap(&keeper))
                wait_signal(&keeper, step(&keeper));
        end_exited(&keeper);
}
