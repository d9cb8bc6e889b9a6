/* The journal: what a live Scheduler was told and what it decided, as lines of text, so that a decision can
 * be looked up later and played again bit for bit (`paddle sched list`, `paddle sched replay`).
 *
 * A Journal stands between the engine and its Scheduler: every change goes through journal_put_job() and its
 * like, which write a line and hand the change on; reading (explain, figures, clone) goes to the Scheduler
 * itself. A generation starts with a dump of the Scheduler, then come the inputs, and after each pass its
 * decisions. When a generation is full, a new one starts; its sink keeps the newest and the one before.
 *
 * It is an aid to diagnosis: written through a buffer, never synced. What a power cut takes from the end is
 * lost, and a line that it cut in two is passed over. A sink that fails (a full disk) turns the journal off
 * until the next generation is due; the scheduler goes on in any case.
 *
 *      paddle-sched-journal 1
 *      kinds cpu memory nvidia.com/gpu storage    what the numbers of kinds of resources mean
 *      dump 1234                                  so many bytes of scheduler_dump() follow, and a newline
 *      node ID CLUSTER USABLE NAME RESOURCES LABELS
 *      drop-node ID
 *      queue ID CLUSTER PARENT NAME STATE MIN MAX RESERVED WEIGHT PRIORITY RECLAIMABLE
 *            PREEMPTION ORDER BACKFILL MAX_RUNNING_PER_USER LABELS
 *      drop-queue ID
 *      job KEY QUEUE USER PRIORITY SUBMITTED NOT_BEFORE TIME_LIMIT GRACE HELD PREEMPTABLE
 *            ARRAY ARRAY_MAX TOPOLOGY TOPOLOGY_REQUIRED LABELS
 *            N_ROLES {RESOURCES REPLICAS MIN}... STATE [STARTED SAVED TASKS]
 *      drop-job KEY
 *      usage QUEUE USER USAGE AT
 *      clock NOW                                   what follows happened then
 *      pass NUMBER NOW                            and then its decisions:
 *      start|grow|shrink|evict RULE KEY FOR_KEY TASKS
 *      decided NUMBER COUNT CONSIDERED GANG_DISCARDS    the last two are cost, and not compared
 *
 * Inputs that the scheduler refuses are not written. RESOURCES is "KIND:AMOUNT,..." of what is not 0, "-" for
 * nothing; LABELS ("K=V,...") and TASKS ("NODE" or "NODE/DEVICES", the bit set in hexadecimal) likewise; in
 * names and labels, what is not a graphic ASCII character, '%' and ',' are written %XX. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "sched/scheduler.h"

typedef struct Journal Journal;

/* Where the lines go. Calls come from the thread that uses the Journal. */
typedef struct {
        bool (*begin)(void *arg, GError **error); /* a new generation: the next write is its first */
        bool (*write)(void *arg, const char *text, gsize len, GError **error);
        void (*free)(void *arg); /* may be NULL */
        void *arg;
} JournalSink;

typedef struct {
        gint64 max_passes; /* of a generation; 0: 10,000 */
        gsize max_bytes;   /* of a generation, beyond its dump; 0: 16 MiB. At least as much as the dump has */
} JournalLimits;

/* `sink` NULL: nothing is written, everything handed on. The sink's `arg` becomes the journal's; the
 * scheduler stays the caller's and outlives it. The first generation starts with the first line. */
Journal *journal_new(Scheduler *scheduler, const JournalSink *sink, const JournalLimits *limits);
void journal_free(Journal *journal); /* flushes; NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Journal, journal_free)

/* As the scheduler_ functions of the same name. */
bool journal_put_node(Journal *journal, const SchedNode *node);
bool journal_drop_node(Journal *journal, int id);
bool journal_put_queue(Journal *journal, const SchedQueue *queue);
bool journal_drop_queue(Journal *journal, int id);
bool journal_put_job(Journal *journal, const SchedJob *job);
void journal_drop_job(Journal *journal, gint64 key);
void journal_put_usage(Journal *journal, int queue, int user, gint64 usage, gint64 at);
void journal_clock(Journal *journal, gint64 now);
void journal_pass(Journal *journal, gint64 now, Decisions *ret);

/* Hands what is buffered to the sink: before somebody reads, and now and then when idle. False once when the
 * sink failed since the last call; the journal is off then until its next generation. */
bool journal_flush(Journal *journal, GError **error);
gint64 journal_passes(const Journal *journal); /* so far */

/* A sink of two files, `dir`/journal.0 (the generation before) and journal.1; `dir` is made. */
bool journal_files(const char *dir, JournalSink *ret, GError **error);
/* Both, one after the other: what the functions below read. ERR_NOT_FOUND when there is none. */
bool journal_read(const char *dir, char **ret, gsize *ret_len, GError **error);

/* ---- reading ---- */

enum { JOURNAL_READ_MAX = 512 * 1024 * 1024 }; /* bytes that journal_read takes at most */

typedef struct {
        gint64 pass, now; /* the pass's number and time */
        Decision decision;
        const SchedTask *tasks; /* decision.n_tasks of them; borrowed */
} JournalEntry;

/* The last `last` decisions, oldest first. ERR_INVALID with the line that cannot be read. */
bool journal_list(const char *text, gsize len, int last, void (*func)(const JournalEntry *entry, void *arg),
                  void *arg, GError **error);

typedef struct {
        gint64 generations, inputs, passes, decisions; /* that were played */
        bool torn;                 /* the last line of a generation was cut: passed over */
        bool same;                 /* every decision came out as it was recorded */
        gint64 pass, now, key;     /* not same: of the first difference */
        char *recorded, *replayed; /* the two lines; NULL where one side has none; journal_report_clear */
} JournalReport;

/* Plays the journal through a new Scheduler for each generation and compares what it decides. Goes on to the
 * first difference. False only for a text that cannot be read. */
bool journal_replay(const char *text, gsize len, JournalReport *ret, GError **error);
void journal_report_clear(JournalReport *report);
