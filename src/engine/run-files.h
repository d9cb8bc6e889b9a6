/* File access for runs of pipelines, on threads of its own. Internal to runs*.c; the engine's thread.
 *
 * A request is asked after a commit. Its answer comes back as an observation, so that it is given again if a commit fails:
 *
 *   run_files_ask ─▶ waits ─▶ a thread: identity, home, vfs_open, read ... ─▶ inbox ─▶ runs_answered (runs-act.c)
 *                      │            └── 30 s without an answer ──────────────▶ inbox ─▶ runs_answered with an error
 *                      └── at most 4 threads for a file system, 16 for a user
 *
 * Times of many files may take minutes. They have threads beside these, at most 2 for a file system, 8 for a user.
 * Digests may take longer. They have threads of low priority, at most 2 for a user.
 *
 * A thread whose call never returns stays with its file system, and is not waited for at the end. Other file systems have
 * threads of their own. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "pipeline/run.h"

enum {
        RUN_FILES_OF_PLACE = 4,   /* threads for one file system */
        RUN_FILES_OF_USER = 16,   /* ... for those of one user */
        RUN_FILES_THREADS = 512,  /* ... of all */
        RUN_TIMES_OF_PLACE = 2,   /* threads for times of files on one file system */
        RUN_TIMES_OF_USER = 8,    /* ... for those of one user */
        RUN_TIMES_THREADS = 64,   /* ... of all */
        RUN_DIGESTS_OF_USER = 2,  /* threads for digests of one user's files */
        RUN_DIGESTS_THREADS = 64, /* ... of all */
        RUN_FILES_DEADLINE_MS = 30 * 1000,
};

typedef enum {
        FILES_READ,    /* the content of each path: text of at most `max` bytes */
        FILES_PREPARE, /* each path is removed if it exists; the directory that contains it is created */
        FILES_REMOVE,  /* each path, with what is below it; it may be missing */
        /* Of each path, or of several joined by commas: its newest time (fs/tree-sum.h). If it is not known, {"unknown": why}
         * instead, and no values of further paths. The deadline begins again with each part of a file. */
        FILES_TIMES,
        FILES_DIGESTS, /* the same, a digest of the content */
        FILES_STAT,    /* {"exists": bool, "is_dir": bool, "mtime": ms} of each path */
} FilesKind;

/* Who asks. */
typedef struct FilesTicket {
        gint64 run;
        RunActionKind what;
        guint32 index; /* a node, or a child for ACTION_EXPAND */
        /* NULL: runs_answered. Otherwise called once, also at the end of the server (`engine` NULL), for who is no run. */
        void (*answered)(Engine *engine, const struct FilesTicket *ticket, const json_t *values,
                         const GError *error);
        void *arg;
} FilesTicket;

/* FILES_TIMES and FILES_DIGESTS that belong together: the limits of fs/tree-sum.h hold for all. One after the other; counted. */
typedef struct FilesGroup FilesGroup;
FilesGroup *files_group_new(void);
FilesGroup *files_group_ref(FilesGroup *group);
void files_group_unref(FilesGroup *group); /* NULL is a no-op, also for the next */
/* Nobody waits for them any more: a thread ends soon. A request that has not begun is answered with ERR_UNAVAILABLE. Any
 * thread. */
void files_group_cancel(FilesGroup *group);

typedef struct {
        FilesTicket ticket;
        FilesKind kind;
        const char *user, *fs; /* the owner, and the name among their file systems */
        const char *root; /* NULL: the catalog knows it; else the directory of one that is not there yet */
        json_t *paths;    /* name -> path on the file system; taken */
        gsize max;
        bool unnamed;      /* errors do not say the name of what failed */
        FilesGroup *group; /* taken; or NULL: it is alone */
} FilesRequest;

typedef struct RunFiles RunFiles;

RunFiles *run_files_new(Engine *engine);
/* No answer comes any more. Does not wait for threads. */
void run_files_stop(RunFiles *files);
void run_files_free(RunFiles *files); /* NULL is a no-op */

/* Never blocks. One answer follows for each request, also if the file system does not exist. */
void run_files_ask(RunFiles *files, const FilesRequest *request);
/* The same from any thread, for who is no run. */
void run_files_post(Engine *engine, const FilesRequest *request);
/* The same answer for a request that cannot be made. */
void run_files_refuse(RunFiles *files, const FilesTicket *ticket, const GError *error);
/* Answers what has waited too long. */
void run_files_expire(RunFiles *files, gint64 now);
gint64 run_files_due(const RunFiles *files); /* ms: when to call it next; 0: nothing waits */

/* runs-act.c: `values` has a value for each name of the request; NULL with `error`. May come twice for one request if a
 * commit fails, and late: whoever is not waiting for it ignores it. */
void runs_answered(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error);
