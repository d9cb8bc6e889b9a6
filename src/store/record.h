/* What a batch writes and a start loads: records of several kinds. doc/internals/store.md, "Records", says how to add
 * a kind. */
#pragma once

#include <glib.h>

/* `put` and `drop` name the type of StoreRecord.data. The order in which a batch is written does not depend on the
 * order of its records (store/sqlite/record.c). */
typedef enum {
        RECORD_OBJECT, /* put: Object, inserted or replaced by (kind, seq). drop: Object, by the same */
        RECORD_USAGE,  /* put: Usage, inserted or replaced */
        RECORD_JOB, /* put: Job, changed. drop: gint64, the seq of a job that ended; its events go with it */
        RECORD_NEW_JOB, /* put: Job, inserted; its seq is set by the engine. A spec is written once, with the job
                           whose spec_seq is its own seq; the other jobs refer to it */
        RECORD_EVENT, /* put: Event, inserted */
        RECORD_LOGIN, /* drop: char, a user whose log-in tokens are deleted, except those put in this batch */
        RECORD_TOKEN, /* put: Token, inserted. drop: char, the id, also of one put in this batch */
        RECORD_HORIZON, /* put: gint64, a revision: events up to it cannot be read from this commit on. At most
                           2,000 of them are deleted in one batch; a later batch with the same horizon deletes
                           more */
        RECORD_BOOT,    /* put: char, the id of this boot */
        RECORD_NEW_RUN, /* put: RunRecord, inserted with its text; its seq is set by the engine */
        RECORD_RUN, /* put: RunRecord, changed: state, flags, message, end and revision. drop: gint64, the seq of a
                           dropped run that has no nodes any more; its events go with it */
        RECORD_RUN_NODE, /* put: RunNodeRecord, inserted or replaced by (run, node); the first start and message stay.
                            drop: RunNodeRecord, by the same */
        RECORD_RUN_CHILD, /* put: RunChildRecord, inserted or replaced by (run, dag, component). drop: gint64, the seq
                             of a run: some of its rows, at most 1,000 */
        RECORD_ARTIFACT, /* put: ArtifactRecord, inserted, or replaced by (run, node, output, name). drop: ArtifactRecord:
                            those of its run and node; with a name, those of that name */
        RECORD_PIPELINE, /* put: PipelineRecord, inserted or changed by seq. drop: gint64, the seq of one whose versions
                            are dropped in this batch or before; its events go with it */
        RECORD_PIPELINE_VERSION, /* put: PipelineVersion, inserted with its text. drop: PipelineVersion, by (pipeline,
                                    version); the text goes with the last version or run that has it */
        RECORD_SCHEDULE, /* put: ScheduleRecord, inserted, or changed by seq: message, state, next tick and revision. drop:
                            gint64, the seq; its events go with it, its runs stay */
        RECORD_CACHE_ENTRY, /* put: CacheEntry, inserted; the store gives it its seq. drop: gint64, the seq. The entries of
                               a node go with it */
        RECORD_KINDS,
} RecordKind;

typedef enum { RECORD_PUT, RECORD_DROP, RECORD_OPS } RecordOp;

typedef struct {
        guint8 kind; /* RecordKind */
        guint8 op;   /* RecordOp */
        const void *data;
} StoreRecord;
