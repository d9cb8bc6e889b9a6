/* What the engine thread owns, shared by the files of this room and by nobody else. Other threads touch the
 * inbox and the views only.
 *
 *   inbox ─▶ apply (submit.c, observe.c) ─▶ drafts ─▶ admit.c ─▶ batch.c: commit ─▶ views ─▶ replies ─▶
 * actions.c ─▶ runtime ▲ life.c decides */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "engine/inbox.h"
#include "engine/life.h"
#include "engine/views.h"

/* A live job. The first touch in a batch clones its view into a draft; until the commit both are here. */
typedef struct Live {
        Job *job; /* as it stands: the draft while dirty (owned), else the published view (borrowed from the
                     views) */
        Job *was; /* the published view while dirty; NULL: the job is new */
        bool dirty;
        bool holds;           /* `want` and its members' GPUs are taken */
        bool leased;          /* ports were leased in this batch */
        Resources want;       /* what all its members are accounted with */
        gint64 due;           /* when the clock matters, ms; 0: never */
        GSequenceIter *timer; /* in engine->timers, or NULL */
        GSequenceIter *place; /* in engine->eligible, or NULL */
} Live;

/* What one transaction holds, and what follows from it. */
typedef struct {
        gint64 now;
        GQueue inputs;     /* applied ones, to be answered or kept */
        GQueue put_back;   /* have to wait for this batch's outcome */
        GPtrArray *dirty;  /* Live, in order of their first touch */
        GPtrArray *events; /* Event */
        GPtrArray *users, *tokens, *dropped_tokens,
                *dropped_jobs; /* borrowed from the inputs; jobs: gint64 */
        GPtrArray *strays;     /* char: tasks that no job knows and that have ended */
        GPtrArray *unwanted;   /* char: tasks that no job knows and that run */
        gint64 revision;       /* of its last event */
        gint64 horizon;        /* events up to here may go; 0: none */
        bool synced;           /* the runtime has reported all it knows */
} Batch;

struct Engine {
        Store *store;
        Runtime *runtime;
        char *dc;
        char boot_id[37];
        EngineConfig config;
        Inbox inbox;
        Views *views;
        pthread_t thread;
        bool running, open; /* the thread; the runtime */

        /* From here on the engine thread's alone. */
        GHashTable *by_id;   /* set of Live: every live job, new ones of this batch too */
        GHashTable *by_name; /* set of Live: (user, name) */
        GHashTable *by_key;  /* set of Live: (user, idempotency key); jobs without a key are not in it */
        GSequence
                *eligible; /* Live by seq: queued, environment there, due, and not larger than the machine */
        GSequence *timers; /* Live by due */
        Resources total, used;
        GByteArray *gpus;   /* one byte a device: taken */
        gint64 blocked_seq; /* the eligible job that did not fit: nothing behind it is looked at; 0: none */
        bool pass_due;      /* something changed that may let a job start */
        gint64 ports_at; /* the first in line lacks ports: asked for again then, monotonic ms; 0: none does */

        bool connected, opened; /* synced now; synced once */
        bool rebooted;    /* the machine restarted since the last run, and what it left is not reported yet */
        bool boot_due;    /* this boot's id is not stored yet */
        bool dead;        /* a commit ended in an unknown state */
        GHashTable *seen; /* tasks reported since the runtime connected, until it is synced */
        GQueue held;      /* observations of a batch whose commit failed, in order */
        gint64 retry_at;  /* monotonic ms; the held ones and the clock wait until then; 0: nothing held */

        bool failing; /* the last commit failed */
        guint singly; /* so many commands are applied one by one: their batch broke a constraint */

        gint64 seq, revision, horizon;
        gint64 retain_seq,
                retain_at; /* the sweep over finished jobs goes on below this number; not before this time */
        Batch batch;
        EngineMetrics metrics; /* of what is committed */
};

/* ---- live.c: live jobs and their indices ---- */

enum { GPUS_MAX = 4096 }; /* devices of one machine */

void live_init(Engine *engine);
void live_clear(Engine *engine);
Live *live_add(Engine *engine, Job *job);     /* clean; indexed by id, name and key */
void live_remove(Engine *engine, Live *live); /* out of all indices, and freed; not its job */
Live *live_find(Engine *engine, const char *id);
Live *live_by_name(Engine *engine, const char *user, const char *name);
Live *live_by_key(Engine *engine, const char *user, const char *key);
/* Puts the job where its state says: eligible or not, among the timers or not. After every change of it. */
void live_settle(Engine *engine, Live *live, gint64 now);
/* Resources and GPUs of its members; no-ops when already so. */
void live_hold(Engine *engine, Live *live, const Job *job);
void live_release(Engine *engine, Live *live, const Job *job);
/* The machine has this; recounts everything. */
void live_inventory(Engine *engine, const Resources *total, gint64 now);
/* Gives `n` free devices as "0,1"; NULL when there are not as many, or n is 0. */
char *gpus_take(Engine *engine, gint64 n);

/* ---- batch.c ---- */

void batch_init(Batch *batch);
void batch_clear(Batch *batch);
void batch_begin(Engine *engine);
/* The draft of a job, for a decision of life.c; batch_end_life puts its notes among the events and settles
 * the job. */
Life batch_life(Engine *engine, Live *live);
void batch_end_life(Engine *engine, Live *live, Life *life);
/* A new job enters, dirty. Takes the reference. */
Live *batch_add_job(Engine *engine, Job *job);
/* Commits, publishes, answers, acts; or restores. */
void batch_end(Engine *engine);
/* Publishes `n` changes and the figures as they are now. */
void batch_publish(Engine *engine, const ViewChange *changes, guint n, GPtrArray *ret_dropped);
/* Counts a change of a job; `was` NULL: it is new. */
void batch_count(EngineMetrics *metrics, const Job *was, const Job *now);

/* ---- submit.c: commands ---- */

/* False: the input has to wait for the outcome of this batch. */
bool apply_submit(Engine *engine, Input *input);
bool apply_cancel(Engine *engine, Input *input);

/* ---- observe.c ---- */

bool apply_observation(Engine *engine, Input *input);

/* ---- admit.c ---- */

void admit_pass(Engine *engine);

/* ---- actions.c: what the runtime is asked to do ---- */

/* What follows from `was` having become `now`; `was` NULL: everything that `now` wants. */
void actions_run(Engine *engine, const Job *was, const Job *now);
void runtime_job_fill(const Job *job, RuntimeJob *ret);

/* ---- retain.c ---- */

/* Something old may go with this batch; `idle`: nobody waits. */
void retain_events(Engine *engine, bool idle);
void retain_jobs(Engine *engine);
bool retain_is_due(const Engine *engine, gint64 now);
gint64 retain_due(const Engine *engine); /* when there may be something next, ms; 0: never */

/* ---- engine.c ---- */

gint64 engine_now(const Engine *engine);
/* Wakes the thread, as when a test has moved its clock. */
void engine_poke(Engine *engine);
