/* The walls around the members of one attempt of a job (drawing: doc/internals/agent.md): namespaces of their own, the
 * directories that everybody could write to, capabilities and system calls. Each part is had or not, kernel
 * by kernel. No GLib, no heap: keepers are linked with this. Functions that can fail return false with errno.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum {
        SANDBOX_PIDS = 1 << 0,    /* a PID namespace, and a /proc that shows only it */
        SANDBOX_IPC = 1 << 1,     /* System V IPC, message queues, /dev/shm */
        SANDBOX_FILES = 1 << 2,   /* /tmp and /var/tmp */
        SANDBOX_NETWORK = 1 << 3, /* a network of nothing but loopback */
        SANDBOX_CALLS = 1 << 4,   /* system calls that no training needs are refused (seccomp) */
        SANDBOX_RIGHTS = 1 << 5,  /* no capability can ever be had */
        SANDBOX_ALL = (1 << 6) - 1,
        SANDBOX_MOUNTS = SANDBOX_PIDS | SANDBOX_IPC | SANDBOX_FILES,
        SANDBOX_SHARED = SANDBOX_PIDS | SANDBOX_IPC | SANDBOX_FILES | SANDBOX_NETWORK,
} SandboxPart;

enum { SANDBOX_PARTS = 6, SANDBOX_KEEP_MAX = 17 /* --sandbox-keep, the state directory, a job's secrets */ };

/* The word for the part of bit `i`: "pids", "ipc", "files", "network", "calls", "rights". */
const char *sandbox_word(int i);

typedef struct {
        const char *dir; /* `tmp` in it becomes /tmp; whoever holds a lock on it keeps the sandbox alive */
        uid_t uid;       /* of `tmp` */
        gid_t gid;
        const char *keep; /* strings that follow each other: directories that are seen although they lie below
                             one that is not shared */
        uint32_t n_keep, n_read_only; /* the first of them can only be read */
        const char *like;             /* a directory whose project id `tmp` gets (base/project-id.h) */
} SandboxPlace;

/* Leaves the machine's namespaces for new ones and furnishes them: the parts of SANDBOX_SHARED but for the
 * PID namespace itself, which the caller has to be in already. *ret_what says what could not be done. */
bool sandbox_make(const SandboxPlace *place, uint32_t parts, const char **ret_what);

/* Goes into those of the process behind `pidfd`, all but its PID namespace. */
bool sandbox_join(int pidfd, uint32_t parts);

/* A mount namespace of one's own, whose mounts nobody else sees. */
bool sandbox_own_mounts(void);

/* ---- holders: processes that do nothing but keep namespaces alive, the first ones of their PID namespace
 * ---- */

/* Takes a shared lock on the directory of a sandbox; the descriptor, to be held for as long as something of
 * the member lives, or -1. When the last one is gone its holder knows. */
int sandbox_hold(const char *dir);

/* The holder of a sandbox that several members share, of the directory behind `dir_fd`, which is locked: the
 * one that is there (it marks the directory with a record lock, by which it is found), or a new one. It ends
 * with the last lock. Its pidfd; -1 with *ret_what. From one process at a time. */
int sandbox_holder(int dir_fd, const SandboxPlace *place, uint32_t parts, const char **ret_what);

/* A holder for one member after another: each message through its socket brings the end of a pipe, and says
 * that all is as new. The next member is to keep it for as long as something of it lives; with the last copy
 * the holder looks at what was left. It ends, and removes `place->dir`, when there was anything, or when the
 * socket is closed. Its pidfd, *ret_socket ours; -1 with *ret_what. */
int sandbox_serve(const SandboxPlace *place, uint32_t parts, int *ret_socket, const char **ret_what);

/* Forks into the PID namespace of `pidfd` (-1: a new one if `fresh`, else ours). As fork(); *ret_pidfd gets
 * the child's, `ret_pidfd` may be NULL. */
pid_t sandbox_fork(int pidfd, bool fresh, int *ret_pidfd);

/* The number that the machine knows a process by, of its pidfd; -1: not known. */
pid_t sandbox_host_pid(int pidfd);

/* ---- what a process gives up, in this order ---- */

/* While it is root still: nothing that it runs gets a capability. It keeps its own. */
bool sandbox_drop_rights(void);
/* With no_new_privs set, or as root. For good and for all that it starts. */
bool sandbox_filter_calls(void);
/* The part of it with which sandboxes can still be made. */
bool sandbox_filter_early(void);

/* Gives up once, for all that the caller will fork, what costs each of them most: the bounding set, and the
 * system calls that neither spawner, holder nor keeper needs. Sandboxes can still be made. What fails is left
 * to the two functions above, which do what is lacking. */
void sandbox_be_ready(void);

/* "paddle-spawner probe": prints the words of the parts that this machine has. */
int sandbox_probe_main(void);
