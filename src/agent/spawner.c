/* paddle-spawner: forks a keeper for each request of the agent. It is static, single-threaded and has no
 * heap, because every keeper is a copy of it. The agent starts it with WIRE_SOCKET_FD, WIRE_LOCK_FD and
 * WIRE_TASKS_FD. It ends when the agent's end of the socket is closed; keepers remain. It holds the agent's
 * lock until then, so that no new agent starts while requests of the old one may still run. The kernel reaps
 * keepers (SIGCHLD is ignored). The agent learns of their end from pidfds, which clone itself creates, so
 * that they never refer to another process.
 *
 * "paddle-spawner walled" serves members that have no capabilities and fewer system calls. It drops as much
 * of both as it can once for itself, since doing so for each member would cost a tenth of a short task. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/enter.h"
#include "agent/keeper.h"
#include "agent/record.h"
#include "agent/sandbox-pool.h"
#include "terminal/terminal.h"

enum { MEMORY_SIZE = sizeof(WireSpawn) + WIRE_INLINE_MAX };

static char boot_id[40];

static void reply(const WireReply *what, int pidfd)
{
        size_t len = what->text[0] ? sizeof *what : offsetof(WireReply, text);

        (void)wire_send(WIRE_SOCKET_FD, what, len, pidfd, 0); /* without an agent the next receive ends us */
}

static void refuse(uint64_t id, const char *what, int err)
{
        WireReply refusal = { .id = id, .kind = WIRE_REFUSED, .err = err };
        const char *why = strerrordesc_np(err);
        size_t len = strnlen(what, sizeof refusal.text / 2);

        memcpy(refusal.text, what, len);
        memcpy(refusal.text + len, ": ", 2);
        memcpy(refusal.text + len + 2, why, strnlen(why, sizeof refusal.text / 2 - 3));
        reply(&refusal, -1);
}

/* Skips `n` strings; NULL if the text is shorter. */
static const char *skip(const char *at, const char *end, uint32_t n)
{
        for (; n > 0 && at; n--) {
                const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

                at = nul ? nul + 1 : NULL;
        }
        return at;
}

static bool lay_out(Spawn *spawn, const char *strings)
{
        const WireSpawn *head = spawn->head;
        const char *end = strings + head->payload, *at = strings;

        for (int i = 0; i < WIRE_STRINGS && at; i++) {
                spawn->strings[i] = at;
                at = skip(at, end, 1);
        }
        spawn->argv = at;
        at = skip(at, end, head->n_argv);
        spawn->env = at;
        at = skip(at, end, head->n_env);
        spawn->binds = at;
        at = skip(at, end, head->n_binds);
        spawn->proxy = at;
        at = skip(at, end, head->n_proxy);
        spawn->keep = at;
        at = skip(at, end, head->n_keep);
        spawn->mounts = at;
        return head->n_mounts <= WIRE_MOUNTS_MAX && skip(at, end, head->n_mounts * WIRE_MOUNT_WORDS) == end &&
               head->n_argv > 0;
}

/* Locates the strings of a request of `len` bytes, in the message or in a memfd. */
static bool read_request(Spawn *spawn, size_t len)
{
        const WireSpawn *head = spawn->head;
        struct stat status;

        if (!head->by_memfd)
                return len == sizeof *head + head->payload && lay_out(spawn, (const char *)(head + 1));
        if (spawn->memfd < 0 || head->payload > WIRE_PAYLOAD_MAX || fstat(spawn->memfd, &status) < 0 ||
            status.st_size < (off_t)head->payload)
                return false;
        spawn->big_size = head->payload;
        spawn->big = mmap(NULL, spawn->big_size, PROT_READ, MAP_PRIVATE, spawn->memfd, 0);
        if (spawn->big == MAP_FAILED) {
                spawn->big = NULL;
                return false;
        }
        return lay_out(spawn, spawn->big);
}

/* Takes the task's lock. Returns the descriptor, or -1 after telling the agent why not. */
static int claim(const Spawn *spawn)
{
        WireReply taken = { .id = spawn->head->id };
        RecordStarted started;
        RecordEnd end;
        const char *task = spawn->strings[WIRE_TASK], *spare = spawn->strings[WIRE_SPARE];
        int fd;

        if (*spare) /* if this fails (the file is gone, or the task has one), the next line does all */
                (void)renameat2(WIRE_TASKS_FD, spare, WIRE_TASKS_FD, task, RENAME_NOREPLACE);
        fd = openat(WIRE_TASKS_FD, task, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
                refuse(spawn->head->id, "cannot open its state file", errno);
                return -1;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                taken.kind = WIRE_BUSY;
        else if (record_read_started(fd, &started) || record_read_end(fd, &end))
                taken.kind = WIRE_KNOWN;
        else
                return fd;
        reply(&taken, -1);
        close(fd);
        return -1;
}

/* A separate process holds a member's namespaces. It is found or created only here, one request after the
 * other. */
static bool find_sandbox(Spawn *spawn)
{
        const WireSpawn *head = spawn->head;
        const SandboxPlace place = {
                .dir = spawn->strings[WIRE_PLACE],
                .uid = head->as_user ? head->uid : geteuid(),
                .gid = head->as_user ? head->gid : getegid(),
                .keep = spawn->keep,
                .n_keep = head->n_keep,
                .n_read_only = head->n_read_only,
                .like = spawn->strings[WIRE_DIR],
        };
        uint32_t parts = head->sandbox & SANDBOX_SHARED;
        const char *what = "the directory of its sandbox";
        bool ok = !parts;

        if (parts && head->shared) {
                spawn->place_fd = sandbox_hold(place.dir);
                if (spawn->place_fd >= 0)
                        spawn->holder = sandbox_holder(spawn->place_fd, &place, parts, &what);
                ok = spawn->holder >= 0;
        } else if (parts) {
                ok = sandbox_pool_take(&place, parts, &spawn->place_fd, &spawn->holder, &what);
        }
        if (!ok)
                refuse(head->id, what, errno);
        return ok;
}

/* The keeper is in the PID namespace of its member. */
static void spawn_keeper(Spawn *spawn)
{
        int state_fd = claim(spawn), pidfd = -1;
        WireReply spawned = { .id = spawn->head->id, .kind = WIRE_SPAWNED };
        bool pids = spawn->head->sandbox & SANDBOX_PIDS;

        if (state_fd < 0)
                return;
        if (!find_sandbox(spawn)) {
                close(state_fd);
                return;
        }
        spawned.keeper = sandbox_fork(pids ? spawn->holder : -1, false, &pidfd);
        if (spawned.keeper == 0) {
                close(WIRE_LOCK_FD);
                close(WIRE_TASKS_FD);
                (void)close_range(SANDBOX_POOL_FD, ~0u, 0);
                keeper_run(spawn, state_fd, WIRE_SOCKET_FD, boot_id);
        }
        if (spawned.keeper < 0)
                refuse(spawn->head->id, "cannot fork a keeper", errno);
        else
                reply(&spawned, pidfd);
        if (pidfd >= 0)
                close(pidfd);
        close(state_fd);
}

/* Receives one request into `memory`. False when the agent is gone. */
static bool receive(void *memory, size_t *ret_len, int *ret_memfd)
{
        ssize_t got;

        do
                got = wire_receive(WIRE_SOCKET_FD, memory, MEMORY_SIZE, ret_memfd, 0);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
                return false;
        *ret_len = (size_t)got;
        return true;
}

static void shut(int fd)
{
        if (fd >= 0)
                close(fd);
}

static void prepare(void)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        sigset_t all;
        int null = open("/dev/null", O_RDWR), fd;

        sigfillset(&all); /* signals to the agent's group do not concern us, and keepers wait for signals with
                             this mask */
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        (void)sigaction(SIGCHLD, &ignore, NULL);
        if (null >= 0)
                for (int i = 0; i <= 2; i++)
                        (void)dup2(null, i);
        for (int i = WIRE_SOCKET_FD; i <= WIRE_TASKS_FD; i++)
                (void)fcntl(i, F_SETFD, FD_CLOEXEC);
        (void)close_range(WIRE_TASKS_FD + 1, ~0u, 0);
        (void)!chdir("/"); /* keeps no directory busy */
        fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
                (void)!read(fd, boot_id, 36);
                close(fd);
        }
}

int main(int argc, char **argv)
{
        if (argc > 1 && strcmp(argv[1], "enter") == 0)
                return enter_main(argc - 1, argv + 1);
        if (argc > 1 && strcmp(argv[1], "terminal") == 0)
                return terminal_host(argc - 2, argv + 2);
        if (argc > 1 && strcmp(argv[1], "probe") == 0)
                return sandbox_probe_main();
        void *memory = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        size_t len;
        int memfd;

        if (memory == MAP_FAILED || fcntl(WIRE_TASKS_FD, F_GETFD) < 0)
                _exit(2); /* not started by an agent */
        prepare();
        if (argc > 1 && strcmp(argv[1], "walled") == 0)
                sandbox_be_ready();
        while (receive(memory, &len, &memfd)) {
                Spawn spawn = {
                        .head = memory,
                        .memory = memory,
                        .memory_size = MEMORY_SIZE,
                        .memfd = memfd,
                        .place_fd = -1,
                        .holder = -1,
                };

                if (len < sizeof *spawn.head)
                        _exit(2); /* not our agent */
                if (read_request(&spawn, len))
                        spawn_keeper(&spawn);
                else
                        refuse(spawn.head->id, "the agent's request cannot be read", EPROTO);
                if (spawn.big)
                        (void)munmap(spawn.big, spawn.big_size);
                shut(memfd);
                shut(spawn.place_fd);
                shut(spawn.holder);
        }
        _exit(0);
}
