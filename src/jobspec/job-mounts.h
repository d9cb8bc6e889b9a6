/* File systems of a request: where a job sees them, and the directory in which its command begins
 * (doc/reference/paddleflow-api.md, "Fields of a job"). Pure. */
#pragma once

#include "base/json.h"

/* Texts are borrowed. */
typedef struct {
        const char *fs;   /* name of a file system of the job's user */
        const char *sub;  /* a directory in it; "": its root */
        const char *path; /* in the job; "": job_mount_path */
        bool read_only;
} JobMount;

/* The path of a mount that names none: /home/paddleflow/storage/mnt/fs-USER-FS. The caller's. */
char *job_mount_path(const char *user, const char *fs);

/* The list `mounts` of a specification, a new reference. A mount that is listed twice is there once. */
json_t *job_mounts_format(const char *user, const JobMount *mounts, guint n);

/* A command line for sh that begins in the directory `path`, which is also its PF_WORK_DIR. The caller's. */
char *job_command_in(const char *path, const char *command);

/* False: PF_MOUNT_PATH has the value NONE, so that the command begins where it would without mounts. */
bool job_mount_is_work_dir(const char *variable);
