/* The state file of one task: who keeps it and how it ended (layout: doc/internals/agent.md). Written by a keeper, read
 * by whoever comes after. Each record lies at its own offset behind a header with a checksum, so a torn or
 * missing one reads as absent. No sync: what kill -9 leaves in the page cache is whole, and after a power cut
 * the boot id differs. No GLib: the spawner is linked with this. Functions return false with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
        RECORD_STARTED_AT = 0,
        RECORD_END_AT = 256,
        RECORD_READY_AT = 2048, /* the path of the ready file */
        RECORD_TEXT_MAX = 1024,
        RECORD_READY_MAX = 4096, /* PATH_MAX */
        TASK_READY_PORTS = 2,    /* a member is ready when it listens on any of them */
};

typedef struct {
        int32_t keeper, member;                /* pids */
        int32_t slot;                          /* number of its cgroup slot; -1: none */
        int32_t ready_ports[TASK_READY_PORTS]; /* 0: none */
        int64_t time_ms;
        char boot_id[40];
        uint32_t ready_len; /* of the ready file's path; 0: none */
} RecordStarted;

typedef enum { END_EXITED = 1, END_FAILED, END_LOST } EndKind;

typedef struct {
        int32_t kind; /* EndKind */
        int32_t exit_code, signal;
        int32_t oom;
        int32_t clean;     /* its slot was left empty and reset */
        int32_t permanent; /* of END_FAILED: the same start would fail again */
        int64_t time_ms, peak_memory, cpu_us;
        char text[RECORD_TEXT_MAX]; /* why, for END_FAILED and END_LOST */
} RecordEnd;

/* `ready_file` may be NULL; it is written before the record that names its length. */
bool record_write_started(int fd, RecordStarted *started, const char *ready_file);
bool record_write_end(int fd, const RecordEnd *end);

/* False when there is no valid record. */
bool record_read_started(int fd, RecordStarted *ret);
bool record_read_end(int fd, RecordEnd *ret);

/* Makes both records absent, so that the file can serve another task. A file system that has just deleted
 * many files is slow to make new ones (ext4 passes over every inode of the last seconds), and each task needs
 * one: so they are used again. */
bool record_clear(int fd);

/* The path of the ready file into `ret`; false when there is none. */
bool record_read_ready_file(int fd, const RecordStarted *started, char ret[RECORD_READY_MAX]);
