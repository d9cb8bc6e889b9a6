/* The state file of one task: its keeper and its result (layout: doc/internals/agent.md). A keeper writes it,
 * later agents read it. Each record has its own offset, and a header with a checksum, so a torn or missing
 * record reads as absent. It is not synced: after kill -9 the page cache is complete, and after a power
 * failure the boot id differs. No GLib: the spawner is linked with this. Functions return false with
 * errno. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        RECORD_STARTED_AT = 0,
        RECORD_END_AT = 256,
        RECORD_READY_AT = 2048, /* offset of the path of the ready file */
        RECORD_TEXT_MAX = 1024,
        RECORD_READY_MAX = 4096, /* PATH_MAX */
        TASK_READY_PORTS = 2,    /* a member is ready when it listens on one of them */
};

typedef struct {
        int32_t keeper, member;                /* pids */
        int32_t slot;                          /* number of its cgroup slot; -1: none */
        int32_t ready_ports[TASK_READY_PORTS]; /* 0: none */
        int64_t time_ms;
        char boot_id[40];
        uint32_t ready_len; /* length of the ready file's path; 0: none */
} RecordStarted;

typedef enum { END_EXITED = 1, END_FAILED, END_LOST } EndKind;

typedef struct {
        int32_t kind; /* EndKind */
        int32_t exit_code, signal;
        int32_t oom;
        int32_t clean; /* its slot was empty and is reset */
        int32_t permanent; /* of END_FAILED: a retry would fail as well; of END_LOST: a full disk prevented the start */
        int64_t time_ms, peak_memory, cpu_us;
        char text[RECORD_TEXT_MAX]; /* the reason, for END_FAILED and END_LOST */
} RecordEnd;

/* `ready_file` may be NULL; it is written before the record that has its length. */
bool record_write_started(int fd, RecordStarted *started, const char *ready_file);
bool record_write_end(int fd, const RecordEnd *end);

/* How a start ends that failed with this errno, or 0. A full disk is no fault of the task: it is lost before it ran. */
static inline EndKind record_start_end(int err)
{
        return err == ENOSPC ? END_LOST : END_FAILED;
}

/* False if there is no valid record. */
bool record_read_started(int fd, RecordStarted *ret);
bool record_read_end(int fd, RecordEnd *ret);

/* Makes both records absent, so that another task can reuse the file. Each task needs one, and creating files
 * is slow after many were deleted (ext4 searches all inodes deleted in the last seconds). */
bool record_clear(int fd);

/* Reads the path of the ready file; false if there is none. */
bool record_read_ready_file(int fd, const RecordStarted *started, char ret[RECORD_READY_MAX]);
