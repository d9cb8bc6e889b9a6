/* The writer's statements and the table of records: record.c has both. */
#pragma once

#include "store/sqlite/sqlite.h"

/* Two statements of each kind of subject: its subjects of a deleted user are renamed, and then their events. */
#define DISOWN_ID(constant, number, table) DISOWN_##constant, DISOWN_EVENTS_##constant,

/* Statements with a name. Those of the table's rows have the numbers behind these. */
enum {
        BEGIN,
        COMMIT,
        ROLLBACK,
        JOB_INSERT,
        JOB_CHANGE,
        JOB_MOVE,
        JOB_FINISH,
        JOB_SPEC,
        JOB_DROP,
        SPEC_INSERT,
        SPEC_DROP,
        LABEL_INSERT,
        LABELS_DROP,
        OBJECT_PUT,
        EVENTS_OF_DROP,
        EVENTS_DROP,
        HORIZON_SET,
        KEEP_COUNTERS,
        KEEP_OBJECT_SEQ,
        KEEP_RUN_SEQ,
        RUN_INSERT,
        RUN_TEXT_INSERT,
        RUN_DROP,
        RUN_TEXT_DROP,
        RUN_HASH,
        KEEP_PIPELINE_SEQ,
        PIPELINE_DROP,
        VERSION_INSERT,
        VERSION_HASH,
        VERSION_DROP,
        STORED_TEXT_INSERT,
        STORED_TEXT_DROP,
        KEEP_SCHEDULE_SEQ,
        SCHEDULE_DROP,
        JOB_EXISTS,
        EVENT_EXISTS,
        LOAD_STATE,
        SUBJECT_KINDS(DISOWN_ID) /* two of each kind */
        WRITER_N_SQL,
};

/* What the rows of one load share. */
typedef struct {
        GHashTable *specs; /* see job_row_make */
} Loading;

/* How records of one kind and operation are written, and how a start reads them. A batch is written row by row: all
 * records of the first row, then all of the second, ... */
typedef struct {
        RecordKind kind;
        RecordOp op;
        int first; /* a named statement that runs once before the first record; 0: none */
        /* For each record `sql` runs after `bind`. A kind that takes several statements has `write` instead. */
        const char *sql;
        void (*bind)(Conn *conn, int stmt, const void *data);
        bool (*write)(Conn *conn, const void *data, GError **error);
        void (*committed)(SqliteStore *store,
                          const void *data); /* for each record, after the commit; or NULL */
        /* What a start loads: a query, and what makes a record of one of its rows. Or NULL. */
        const char *load;
        void *(*read)(Conn *conn, int stmt, Loading *loading, GError **error);
        GDestroyNotify free;
} RecordRow;
extern const RecordRow record_rows[];
extern const int record_n_rows;

/* Deletes the events of a subject. */
bool drop_events(Conn *conn, SubjectKind kind, gint64 seq, GError **error);

/* ---- run.c: runs of pipelines ---- */

bool write_new_run(Conn *conn, const void *data, GError **error);
bool drop_run(Conn *conn, const void *data, GError **error);
void bind_run(Conn *conn, int stmt, const void *data);
void bind_run_node(Conn *conn, int stmt, const void *data);
void bind_run_node_key(Conn *conn, int stmt, const void *data);
void bind_run_child(Conn *conn, int stmt, const void *data);
void bind_run_children(Conn *conn, int stmt, const void *seq);
void bind_artifact(Conn *conn, int stmt, const void *data);
void bind_artifact_drop(Conn *conn, int stmt, const void *data);
void *read_run(Conn *conn, int stmt, Loading *loading, GError **error);
void *read_run_node(Conn *conn, int stmt, Loading *loading, GError **error);
void *read_run_child(Conn *conn, int stmt, Loading *loading, GError **error);

/* ---- cache-entry.c: the cache of steps ---- */

void bind_cache_entry(Conn *conn, int stmt, const void *data);
void bind_seq(Conn *conn, int stmt, const void *seq);

/* ---- pipeline.c: stored pipelines ---- */

void bind_pipeline(Conn *conn, int stmt, const void *data);
bool drop_pipeline(Conn *conn, const void *data, GError **error);
bool write_version(Conn *conn, const void *data, GError **error);
bool drop_version(Conn *conn, const void *data, GError **error);
void *read_pipeline(Conn *conn, int stmt, Loading *loading, GError **error);
void *read_version(Conn *conn, int stmt, Loading *loading, GError **error);
/* Deletes the definition of this hash if no version and no run has it. NULL is a no-op. */
bool drop_stored_text(Conn *conn, const char *hash, GError **error);

/* ---- schedule.c: schedules ---- */

void bind_schedule(Conn *conn, int stmt, const void *data);
bool drop_schedule(Conn *conn, const void *data, GError **error);
void *read_schedule(Conn *conn, int stmt, Loading *loading, GError **error);

/* Prepares the named statements and those of the rows. */
bool writer_prepare(Conn *conn, GError **error);
/* The numbers of a row's two statements. */
int record_sql_stmt(const RecordRow *row);
int record_load_stmt(const RecordRow *row);
