/* A run of a pipeline, and its nodes, as the store keeps them. The state machine of a run is pipeline/run.h; a record is
 * what survives of it. Times are ms since 1970, 0: not yet. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/id.h"

/* The states of a node, and of a run: a run is NODE_RUNNING, or in a final state but SKIPPED and CANCELLED. The numbers
 * are in databases. */
typedef enum {
        NODE_NONE, /* not made yet */
        NODE_LOOKING,
        NODE_STARTING,
        NODE_RUNNING,
        NODE_STOPPING,
        NODE_SUCCEEDED, /* the first final state */
        NODE_FAILED,
        NODE_TERMINATED,
        NODE_CANCELLED,
        NODE_SKIPPED,
        NODE_STATES,
} NodeState;

static inline bool node_is_final(NodeState state)
{
        return state >= NODE_SUCCEEDED;
}

const char *node_state_name(NodeState state);
bool node_state_parse(const char *name, NodeState *ret); /* false: unknown name */

/* Where a component pauses. The numbers are in databases. */
typedef enum { RUN_PAUSE_NONE, RUN_PAUSE_BEFORE, RUN_PAUSE_AFTER } RunPauseKind;

typedef struct {
        gint64 seq;      /* the store's key; grows with creation, never used again */
        gint64 revision; /* of its last event */
        char id[ID_LEN + 1];
        char *user, *name;
        char *key;       /* idempotency key; or NULL */
        char *text;      /* the definition, UTF-8; NULL: not read */
        char *request;   /* what the request changed, a JSON object; NULL: not read */
        char *message;   /* why it failed; or NULL */
        gint64 retry_of; /* seq of the run that this one retries; 0: none, or it was deleted and had none */
        guint32 attempt; /* 1; of a retry: that of the earlier run, and one more */
        char *retry_id;  /* of the run `retry_of`; NULL: none; set by queries, not stored */
        char *source; /* what its text is, for the cache and for people: "ppl-000001-2" of a stored pipeline, the path of
                          a file, or the MD5 of a definition; NULL: not computed */
        char *fs;   /* the main file system that the request named; or NULL */
        char *note; /* what it is for, in the words of its owner; or NULL */
        char *hash; /* pipeline_hash of a text that is stored already: `text` is not stored again; or NULL. Read with
                       the text */
        gint64 pipeline;  /* seq of the stored pipeline, perhaps deleted since; 0: none */
        int version;      /* of it */
        gint64 schedule;  /* seq of the schedule that created it, perhaps deleted since; 0: none */
        gint64 scheduled; /* the tick for which it did, ms */
        char *control; /* breakpoints, changed parameters, single steps: an object in JSON (engine/runs-pause.c); or NULL.
                            Read with the text */
        guint32 paused; /* components that are paused */
        bool admin;     /* created with an administrator's rights */
        bool stopping;  /* a user stops it */
        bool forced;    /* ... with its post_process */
        bool dropped;   /* deleted: it is no longer shown, and its jobs and nodes are being deleted */
        guint8 state;   /* NodeState */
        gint64 created, finished;
        gint64 size; /* about how many bytes it takes in the store, with its nodes, lists and jobs. While it runs the
                        stored number may be 64 KiB too small */
} RunRecord;
void run_record_free(RunRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunRecord, run_record_free)
/* NODE_STOPPING for one that a user stops, else its state. */
static inline NodeState run_record_state(const RunRecord *run)
{
        return run->state == NODE_RUNNING && run->stopping ? NODE_STOPPING : (NodeState)run->state;
}

/* An instance of a component: a row for each that has run, was skipped, or failed. */
typedef struct {
        gint64 run;        /* seq */
        guint32 node;      /* index, from 2 on: 0 and 1 hold the entry points and post_process */
        guint32 dag;       /* the node of the DAG that holds it */
        guint32 component; /* of the compiled definition, as it is written */
        guint32 number;    /* in its loop, from 0 */
        guint8 state;      /* NodeState */
        bool culprit;      /* its DAG fails because of it */
        bool inner;        /* it is a DAG that has started */
        gint64 job;        /* seq of the job of a step; 0: none */
        gint64 made_by; /* seq of the earlier run whose result a retry kept, or the cache gave; 0: this run's own */
        gint64 started, finished;
        char *message; /* why it failed, was skipped, reused or not reused; or NULL */
        /* Of a result from the cache: a JSON object {"run": id, "step": path, "job": id, "entry": seq, "outputs": {name: path}}.
         * NULL: it is none. */
        char *reuse;
        gint64 taken; /* of the results that this run took from the cache, in the order in which they were stored, from
                          1; 0: it took none, or a retry kept it */
        char *job_id;  /* of `job`; NULL: none, or it was deleted; set by queries, not stored */
        char *made_id; /* of the run `made_by`; NULL: none, or it was deleted; set by queries, not stored */
} RunNodeRecord;
void run_node_record_free(RunNodeRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunNodeRecord, run_node_record_free)

/* What is known of a component in an instance of a DAG beside its nodes: the length of its loop, and the state of the
 * nodes that never were made, and where it pauses. Most components have no row. */
typedef struct {
        gint64 run;
        guint32 dag; /* the node of the DAG */
        guint32 component;
        guint32 first,
                count; /* of a loop: its nodes are first to first + count - 1; count 0: it is no loop, or not known */
        guint8 rest;  /* NODE_TERMINATED, NODE_CANCELLED; NODE_NONE: they will be made, or there are none */
        guint8 pause; /* RunPauseKind */
        guint32 pause_at, pause_epoch, passed; /* as in RunPause (pipeline/run.h) */
        char *list; /* of a loop over an artifact: its text as it was read, an array in JSON; or NULL */
} RunChildRecord;
void run_child_record_free(RunChildRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunChildRecord, run_child_record_free)

/* A file or directory that a step was to write, or got from another one. */
typedef struct {
        gint64 run; /* seq */
        guint32 node;
        bool output; /* it wrote it, and has succeeded; false: it got it, and its job was submitted */
        char *name;  /* of the artifact in the step */
        char *user, *fs,
                *path; /* owner and name of the file system; paths of a loop are joined by commas, up to 4096
                                   bytes */
        gint64 created;
        char *run_id, *job_id; /* job_id NULL: none, or it was deleted; set by queries, not stored */
} ArtifactRecord;
void artifact_record_free(ArtifactRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ArtifactRecord, artifact_record_free)
