/* The sandbox of the members of one attempt of a job (drawing: doc/internals/agent.md): separate namespaces,
 * private copies of the directories that all users can write to, no capabilities, fewer system calls. Each
 * part is available or not, depending on the kernel. No GLib, no heap: keepers are linked with this.
 * Functions that can fail return false with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum {
        SANDBOX_PIDS = 1 << 0,    /* a PID namespace, and a /proc that shows only it */
        SANDBOX_IPC = 1 << 1,     /* System V IPC, message queues, /dev/shm */
        SANDBOX_FILES = 1 << 2,   /* /tmp and /var/tmp */
        SANDBOX_NETWORK = 1 << 3, /* a network with only a loopback device */
        SANDBOX_CALLS = 1 << 4,   /* refuses system calls that training does not need (seccomp) */
        SANDBOX_RIGHTS = 1 << 5,  /* the process can never gain a capability */
        SANDBOX_ALL = (1 << 6) - 1,
        SANDBOX_MOUNTS = SANDBOX_PIDS | SANDBOX_IPC | SANDBOX_FILES,
        SANDBOX_SHARED = SANDBOX_PIDS | SANDBOX_IPC | SANDBOX_FILES | SANDBOX_NETWORK,
} SandboxPart;

enum { SANDBOX_PARTS = 6, SANDBOX_KEEP_MAX = 17 /* --sandbox-keep, the state directory, a job's secrets */ };

/* The name of the part of bit `i`: "pids", "ipc", "files", "network", "calls", "rights". */
const char *sandbox_word(int i);

typedef struct {
        const char *dir; /* its `tmp` becomes /tmp; a lock on the directory keeps the sandbox alive */
        uid_t uid;       /* owner of `tmp` */
        gid_t gid;
        const char *keep; /* consecutive strings: directories that stay visible below a hidden one */
        uint32_t n_keep, n_read_only; /* the first `n_read_only` of them are read-only */
        const char *like;             /* a directory whose project id `tmp` gets (base/project-id.h) */
} SandboxPlace;

/* Moves this process to new namespaces and sets them up: the parts of SANDBOX_SHARED except the PID
 * namespace, which the caller must be in already. On failure *ret_what names the failed step. */
bool sandbox_make(const SandboxPlace *place, uint32_t parts, const char **ret_what);

/* Enters the namespaces of the process behind `pidfd`, except its PID namespace. */
bool sandbox_join(int pidfd, uint32_t parts);

/* Without root: moves this process to a user namespace that maps its user to itself, and to the new namespaces of
 * `flags` (CLONE_NEWNET, CLONE_NEWNS), in which it has all rights until it runs a program. */
bool sandbox_unshare_as_user(int flags);

/* Moves this process to a private mount namespace. */
bool sandbox_own_mounts(void);

/* ---- holders: processes that only keep namespaces alive; each is the first of its PID namespace ---- */

/* Takes a shared lock on the directory of a sandbox. Returns the descriptor, to be kept open while a process
 * of the member lives, or -1. The holder notices when the last lock is released. */
int sandbox_hold(const char *dir);

/* Finds or creates the holder of a sandbox that several members share; `dir_fd` is its locked directory. An
 * existing holder is found by its record lock on the directory. It ends with the last lock. Returns its
 * pidfd; -1 with *ret_what. Call it from one process at a time. */
int sandbox_holder(int dir_fd, const SandboxPlace *place, uint32_t parts, const char **ret_what);

/* Creates a holder that serves one member after another. Each message on its socket says that the sandbox is
 * clean, and carries the end of a pipe. The next member keeps that end open while a process of it lives; once
 * the last copy is closed, the holder checks what the member left. If there is anything, or the socket is
 * closed, it removes `place->dir` and ends. Returns its pidfd, and our end as *ret_socket; -1 with
 * *ret_what. */
int sandbox_serve(const SandboxPlace *place, uint32_t parts, int *ret_socket, const char **ret_what);

/* Forks into the PID namespace of `pidfd` (-1: a new one if `fresh`, else ours). Returns as fork() does;
 * *ret_pidfd is the child's pidfd; `ret_pidfd` may be NULL. */
pid_t sandbox_fork(int pidfd, bool fresh, int *ret_pidfd);

/* The process number on the machine of the process behind a pidfd; -1: unknown. */
pid_t sandbox_host_pid(int pidfd);

/* ---- dropping rights, in this order ---- */

/* Call it while still root: programs that this process runs get no capability. The process keeps its own. */
bool sandbox_drop_rights(void);
/* Needs no_new_privs or root. Permanent, also for all children. */
bool sandbox_filter_calls(void);
/* The part of the filter that still permits creating sandboxes. */
bool sandbox_filter_early(void);

/* Drops once, for all later children, the rights that are most expensive to drop: the bounding set, and the
 * system calls that neither spawner, holder nor keeper needs. Sandboxes can still be created. If something
 * fails, the two functions above do it later. */
void sandbox_be_ready(void);

/* "paddle-spawner probe": prints the names of the parts that this machine supports. */
int sandbox_probe_main(void);
