/* File systems of a request for a job: `fs` and `extraFS` (doc/reference/paddleflow-api.md, "Fields of a job"). */
#pragma once

#include "api/paddleflow/internal.h"

/* Those of a member, each complete: {"id", "name", "mountPath", "subPath", "readOnly"}. */
typedef struct {
        json_t *fs;    /* NULL: none */
        json_t *extra; /* a list; NULL: none */
} JobFiles;

/* FileSystemNotExist: the caller has no such file system; InvalidArguments: nothing can be mounted at this path. Call
 * job_files_clear on *ret also after a failure. */
bool job_files_take(const Call *call, const json_t *member, JobFiles *ret, GError **error);
void job_files_clear(JobFiles *files);

/* Adds those of a member to a list of JobMount, whose texts are borrowed. */
void job_files_add(const JobFiles *files, GArray *mounts);

/* The path in which its command begins; NULL: it has no file system. Borrowed. */
const char *job_files_work_dir(const JobFiles *files);
