/* The messages of agent and spawner on their SOCK_SEQPACKET pair: one message is one struct. A spawn request
 * is a WireSpawn and its strings, inline or, above WIRE_INLINE_MAX, in a memfd that comes with the message.
 * Both ends are built together and start together, so there is no versioning. No GLib: the spawner reads
 * this. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/record.h"
#include "agent/slot.h"

enum {
        WIRE_INLINE_MAX = 24 * 1024,        /* well below the socket's buffer, so that it can queue several
                                        requests */
        WIRE_PAYLOAD_MAX = 6 * 1024 * 1024, /* a 2 MiB line of one-byte strings, each with its NUL */
        WIRE_TEXT_MAX = 512,
        WIRE_MOUNTS_MAX = 32,
        WIRE_MOUNT_WORDS = 5, /* file system, its root, directory in it, path, "ro" or "rw" */
        WIRE_SOCKET_FD = 3,   /* descriptors a spawner is started with */
        WIRE_LOCK_FD = 4,
        WIRE_TASKS_FD = 5,
};

/* The fixed strings of a request, in this order; then argv, env, binds, proxy, keep, mounts. Each ends in NUL; absent
 * is empty. */
typedef enum {
        WIRE_TASK,
        WIRE_DIR,
        WIRE_LOG,
        WIRE_BANNER,
        WIRE_READY_FILE,
        WIRE_SPARE,    /* a cleared state file to be renamed, see record_clear */
        WIRE_GROUPS,   /* "10,20": supplementary groups of as_user */
        WIRE_PLACE,    /* directory of the attempt, of a sandbox */
        WIRE_PROGRESS, /* file with the member's reports; the result is beside the log (report.h) */
        WIRE_EGRESS,   /* a cgroup that limits what the member may connect to */
        WIRE_SLOT_DIRS,
        WIRE_STRINGS = WIRE_SLOT_DIRS + SLOT_CONTROLLERS
} WireString;

typedef struct {
        uint64_t id;
        uint32_t payload;  /* bytes of strings */
        uint32_t by_memfd; /* they are in the memfd that was sent along */
        uint32_t n_argv, n_env, n_binds, n_proxy, n_keep;
        uint32_t n_mounts;    /* each is WIRE_MOUNT_WORDS strings */
        uint32_t n_read_only; /* number of read-only entries at the start of `keep` */
        int32_t slot;         /* -1: none */
        uint32_t slot_v2;     /* bit per controller */
        uint32_t as_user; /* the member becomes `uid`, `gid` and its groups; 0: it keeps those of the agent */
        uint32_t uid, gid;
        uint32_t confined; /* set-uid programs give the member no rights (no_new_privs) */
        uint32_t sandbox;  /* SandboxPart bits */
        uint32_t tty;      /* its program has a terminal, held by a host (terminal/terminal.h) */
        uint32_t shared;   /* by several members, so that a holder is needed */
        int32_t ready_ports[TASK_READY_PORTS];
        SlotLimits limits, held;                /* `held`: what the slot has already */
        int64_t log_bytes, grace_ms, hangup_ms; /* the last: of `tty` */
} WireSpawn;

typedef enum {
        WIRE_SPAWNED = 1, /* keeper; its pidfd is sent along */
        WIRE_BUSY,        /* another process has the task's lock: it already has a keeper */
        WIRE_KNOWN,       /* its state file has a `started` or `end` record */
        WIRE_REFUSED,     /* no keeper could be started; text */
        WIRE_STARTED,     /* from the keeper itself: member, time_ms */
} WireKind;

typedef struct {
        uint64_t id;
        int32_t kind;
        int32_t keeper, member;
        int32_t err; /* errno of WIRE_REFUSED */
        int64_t time_ms;
        char text[WIRE_TEXT_MAX];
} WireReply;

/* The signal that tells a keeper to stop its member; its value is the grace in milliseconds (sigqueue). */
#define WIRE_STOP_SIGNAL (SIGRTMIN + 4)
/* The signal that tells a keeper to pass a signal on to its member; its value is that signal's number. */
#define WIRE_PASS_SIGNAL (SIGRTMIN + 5)

/* Sends one message, with a descriptor unless `fd` is -1. False with errno. */
bool wire_send(int socket, const void *data, size_t len, int fd, int flags);
/* Receives one message of at most `size` bytes. *ret_fd is the descriptor sent with it (close-on-exec), or
 * -1. Returns as recvmsg: the number of bytes, 0 at the end, -1 with errno. */
ssize_t wire_receive(int socket, void *memory, size_t size, int *ret_fd, int flags);
