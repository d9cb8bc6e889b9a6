/* A retry of a run that has ended: which of its nodes keep their results. Pure.
 *
 *   rows of the earlier run ─▶ run_retry ─▶ rows with which the new run begins ─▶ run_restore_node ... run_restored
 *
 * Nodes that succeeded or were skipped are kept. A DAG that failed or was stopped goes on: what is kept in it stays, the
 * rest is made again. All other nodes, and post_process, are made again. With `from`, this component is made again
 * whatever its state, and so is all that depends on it. The same holds for components that use a parameter with another
 * value, and for steps whose output files are gone, if something that runs depends on them. The rules:
 * doc/reference/pipelines.md, "Retry". */
#pragma once

#include "model/run-record.h"
#include "pipeline/step-path.h"

/* The component from which on all is made again: "train", "dag.train". ERR_INVALID names the part that is wrong. */
bool run_retry_from(const Definition *definition, const char *text, StepPath *ret, GError **error);

typedef struct {
        const Definition *was, *now; /* of the same text; the parameters of the request may differ */
        gint64 run;                  /* seq of the earlier run */
        const char *run_id;          /* its id */
        const GPtrArray *nodes;      /* RunNodeRecord, all of the earlier run, in order of index */
        const GPtrArray *children;   /* RunChildRecord, all of it */
        const StepPath *from;        /* or NULL */
        GHashTable
                *lost; /* a set of nodes of the earlier run, of which an output is gone; or NULL: none is */
} RunRetry;

typedef struct {
        GPtrArray *nodes;    /* RunNodeRecord, in order of index; numbered without gaps but those of loops */
        GPtrArray *children; /* RunChildRecord, loops only, in order of their first node */
        guint32 kept;        /* steps that are not made again */
        GArray *earlier;     /* guint32, for each row in `nodes`: its node in the earlier run */
        GArray *lost; /* guint32: nodes of the earlier run that are made again because an output is gone */
} RunKept;
void run_kept_clear(RunKept *kept);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunKept, run_kept_clear)

/* `run` of the rows is 0: the caller sets it. `made_by` of a kept node is the run whose job it was. ERR_CONFLICT: the two
 * definitions are not of one text. */
bool run_retry(const RunRetry *retry, RunKept *ret, GError **error);
