/* What the engine thread owns, shared by the files of this room and by nobody else. Other threads touch the
 * inbox, the views and the two tables of ids only.
 *
 *   inbox ─▶ apply (submit.c, act.c, objects.c, observe.c) ─▶ drafts ─▶ depend.c ─▶ feed.c ─▶ scheduler ─▶
 *   admit.c ─▶ batch.c: commit ─▶ views ─▶ replies ─▶ actions.c ─▶ runtime          life.c decides */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "engine/ids.h"
#include "engine/inbox.h"
#include "engine/life.h"
#include "engine/slots.h"
#include "engine/views.h"
#include "journal/journal.h"

/* Jobs that wait for one build, see building.c. */
typedef struct BuildGroup BuildGroup;

/* A live job. The first touch in a batch clones its view into a draft; until the commit both are here. */
typedef struct Live {
        Job *job; /* as it stands: the draft while dirty (owned), else the published view (borrowed from the
                     views) */
        Job *was; /* the published view while dirty; NULL: the job is new */
        bool dirty;
        bool leased;          /* ports were leased in this batch */
        bool unfed;           /* in engine->unfed: the scheduler may have to be told */
        bool fed;             /* the scheduler knows it */
        bool in_array;        /* counted among the open ones of its array */
        bool portless;        /* no ports could be leased: held back until engine->ports_at */
        guint64 told;         /* digest of what the scheduler knows of it; 0: it has to be told in any case */
        BuildGroup *group;    /* it waits for a build that counts; or NULL */
        GSequenceIter *place; /* in its group */
        bool builds;          /* counted there as one that is built */
        const char *queue;    /* in whose books it is open; interned, NULL: in none */
        int terminals;        /* that wait for its start; not durable, as the next */
        gint64 alone;         /* since when there is none, ms; or since the engine knows the job */
        gint64 due;           /* when the clock matters, ms; 0: never */
        GSequenceIter *timer; /* in engine->timers, or NULL */
} Live;

/* A task that no job knows, and the runtime that does. */
typedef struct {
        RuntimeSlot *slot;
        char *task;
} Stray;

/* What one transaction holds, and what follows from it. */
typedef struct {
        gint64 now;
        GQueue inputs;     /* applied ones, to be answered or kept */
        GQueue put_back;   /* have to wait for this batch's outcome */
        GPtrArray *dirty;  /* Live, in order of their first touch */
        GPtrArray *ended;  /* Live whose drafts came to their end, for those that wait for them */
        GPtrArray *events; /* Event */
        GPtrArray
                *objects; /* Object, references: put; those that `catalog` does not hold any more are void */
        GPtrArray *dropped_objects;       /* Object, references */
        GPtrArray *tokens, *dropped_jobs; /* borrowed from the inputs; jobs: gint64, owned */
        GPtrArray *dropped_tokens;        /* char, owned */
        GPtrArray *logged_out;            /* char, owned */
        GPtrArray *usage;                 /* Usage */
        Catalog *catalog;                 /* as it will be; a reference */
        GPtrArray *strays;                /* Stray: tasks that no job knows and that have ended */
        GPtrArray *unwanted;              /* Stray: tasks that no job knows and that run */
        gint64 revision;                  /* of its last event */
        gint64 horizon;                   /* events up to here may go; 0: none */
} Batch;

struct Engine {
        Store *store;
        char *dc, *node_name, *journal_dir;
        char **node_labels;
        char **topology; /* label keys */
        char boot_id[37];
        EngineConfig config;
        Inbox inbox;
        Views *views;
        Ids *queue_ids, *user_ids; /* the scheduler's numbers; any thread */
        pthread_t thread;
        bool running; /* the thread */
        GMutex clusters_lock;
        GHashTable *clusters;        /* name -> ClusterView: what readers know of them; "": this machine */
        Ids *cluster_ids, *node_ids; /* the scheduler's numbers, see slots.c */

        /* From here on the engine thread's alone. */
        GHashTable *by_id;        /* set of Live: every live job, new ones of this batch too */
        GHashTable *by_seq;       /* the same */
        GHashTable *by_name;      /* set of Live: (user, name) */
        GHashTable *by_key;       /* set of Live: (user, idempotency key); jobs without a key are not in it */
        GHashTable *books;        /* queue (interned) -> Book: who has how many open jobs in it */
        GHashTable *arrays;       /* array_seq -> how many of its jobs are open */
        GHashTable *waiters;      /* id of a job or array -> Waiters, see depend.c */
        GHashTable *build_groups; /* key -> BuildGroup, see building.c */
        GHashTable *rates;        /* user (interned) -> Rate, see submit.c */
        GSequence *timers;        /* Live by due */

        GPtrArray *slots;   /* RuntimeSlot; the first is this machine's */
        GPtrArray *sources; /* Source, of all openings */
        Scheduler *scheduler;
        Journal *journal; /* stands before it */
        Decisions decisions;
        Catalog *catalog; /* the committed one */
        GPtrArray *unfed; /* Live the scheduler may have to be told of */
        gint64 pass_time; /* the time of the batch as the scheduler sees it: never goes back */
        gint64 fed_at;    /* ... that it knows of */
        bool pass_due;    /* the scheduler was told something since its last pass */
        bool figures_due; /* ... since the last figures */
        GArray *portless; /* gint64: numbers of the jobs whose `portless` is set */
        gint64 ports_at;  /* some jobs lack ports: asked for again then, monotonic ms; 0: none does */
        gint64 usage_at,
                flush_at; /* monotonic ms: usage is stored, the journal flushed then; 0: nothing to do */

        bool opened;     /* this machine's runtime was synced once */
        bool rebooted;   /* the machine restarted since the last run, and what it left is not reported yet */
        bool boot_due;   /* this boot's id is not stored yet */
        bool dead;       /* a commit ended in an unknown state */
        GQueue held;     /* observations of a batch whose commit failed, in order */
        gint64 retry_at; /* monotonic ms; the held ones and the clock wait until then; 0: nothing held */

        bool failing; /* the last commit failed */
        guint singly; /* so many commands are applied one by one: their batch broke a constraint */

        gint64 seq, object_seq, revision, horizon;
        gint64 retain_array; /* that the sweep has met last */
        gint64 retain_seq,
                retain_at; /* the sweep over finished jobs goes on below this number; not before this time */
        Batch batch;
        EngineMetrics metrics; /* of what is committed */
};

/* ---- live.c: live jobs and their indices ---- */

void live_init(Engine *engine);
void live_clear(Engine *engine);
Live *live_add(Engine *engine, Job *job); /* clean; indexed by id, number, name and key */
void live_remove(Engine *engine,
                 Live *live); /* out of all indices and the scheduler, and freed; not its job */
Live *live_find(Engine *engine, const char *id);
Live *live_by_seq(Engine *engine, gint64 seq);
Live *live_by_name(Engine *engine, const char *user, const char *name);
Live *live_by_key(Engine *engine, const char *user, const char *key);
/* Puts the job where its state says: in the books of its queue or not, among the timers or not; and notes
 * that the scheduler may have to be told. After every change of it. */
void live_settle(Engine *engine, Live *live);
/* True when its clock is due and cannot count yet, for its cluster is away: what it knows may be that the
 * start made progress. Looked at again a second later. */
bool live_put_off(Engine *engine, Live *live);
/* Open jobs of a queue, of all or one user. */
gint64 live_open_of(Engine *engine, const char *user); /* in all queues */
int live_array_open(Engine *engine, gint64 array_seq);
gint64 live_open_in(Engine *engine, const char *queue, const char *user);

/* ---- feed.c: what the scheduler is told ---- */

/* The parts of a specification as the scheduler wants them; what SchedJob points to is in it. */
struct SchedJobFill {
        SchedRole roles[SPEC_ROLES_MAX];
        Spec *spec;
};
void feed_spec(const Spec *spec, SpecShare share, char *const *topology, SchedJobFill *fill, SchedJob *ret);
/* What its members ask for together at least, and at most. False on overflow. */
bool feed_wants(const Spec *spec, SpecShare share, bool least, Resources *ret);
void feed_limit(Resources *total); /* to what the scheduler can count on one node */
void feed_queue(Engine *engine, const Catalog *catalog, const Queue *queue);
void feed_queues(Engine *engine, const Catalog *catalog); /* all of them; those not in it are dropped */
/* Tells of all jobs in engine->unfed. */
void feed_jobs(Engine *engine);
/* The scheduler knows what the draft says already: it decided so. */
void feed_known(Engine *engine, Live *live);
/* Of all jobs that have no attempt and wait, as far as it has changed what their members get that declare
 * nothing, or what their builds get. */
void feed_shares(Engine *engine);
/* At once, even if nothing seems to have changed. */
void feed_again(Engine *engine, Live *live);
void feed_drop(Engine *engine, Live *live);
/* What became of it in this batch counts for the scheduler after the commit only: settle it again then. */
bool feed_later(const Live *live);
void feed_usage(Engine *engine, const GPtrArray *usage /* Usage */);
void feed_take_usage(Engine *engine, GPtrArray *ret);
/* Any thread. */
bool queue_fill(const Engine *engine, const Catalog *catalog, const Queue *queue, SchedQueue *ret);

/* ---- building.c: builds of environments in the books of queues ---- */

void building_init(Engine *engine);
void building_clear(Engine *engine);
/* What the build of its environment is counted as in its queue. False: as nothing. Any thread, with a catalog
 * and a runtime that it may use. */
bool building_wants(const Catalog *catalog, Runtime *runtime, const Job *job, Resources *ret);
/* After every change of the job; before it goes. */
void building_settle(Engine *engine, Live *live);
void building_leave(Engine *engine, Live *live);
/* It stands for its build in the scheduler. */
bool building_leads(const Live *live);
/* Where a job begins whose environment is not there: waiting, or building with others. */
EnvState building_first(Engine *engine, const Job *job);
/* Starts the builds on this slot that wait although they count as nothing: those of a server that had other
 * bounds. */
void building_begin_uncounted(Engine *engine, const RuntimeSlot *slot);
/* The scheduler has started the build. */
void building_begin(Engine *engine, Live *leader, int node);
/* What the scheduler is told of one that leads. `put` borrows `task`, which is filled: where it stands. */
void building_fill(Engine *engine, const Live *live, SchedTask *task, SchedJobFill *fill, SchedJob *put);

/* ---- depend.c: jobs that wait for others ---- */

void depend_init(Engine *engine);
void depend_clear(Engine *engine);
/* Notes what a live job waits for. After load, and again when a batch is undone. */
void depend_note(Engine *engine, const Job *job);
/* Makes what the ends of this batch mean for those that wait. */
void depend_run(Engine *engine);
/* Of an array that has ended: succeeded, or how one of its jobs ended that did not. */
JobState depend_array_state(Engine *engine, gint64 array);

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

/* An event that is not a job's; the revision it got. */
gint64 batch_note(Engine *engine, const char *kind, const char *user, json_t *data /* taken */);

/* ---- commands. False: the input has to wait for the outcome of this batch ---- */

bool apply_submit(Engine *engine, Input *input);
bool apply_act(Engine *engine, Input *input);
bool apply_terminal(Engine *engine, Input *input); /* live.c */
bool apply_change(Engine *engine, Input *input);
/* What apply_act and apply_change do to one open job, and to an array (act-array.c). */
bool act_on_live(Engine *engine, Live *live, Input *input);
bool check_change(Engine *engine, const Job *job, Input *input, const Queue **ret_queue);
void change_live(Engine *engine, Live *live, const Queue *queue, Input *input);
bool apply_act_array(Engine *engine, Input *input);
bool apply_change_array(Engine *engine, Input *input);
bool apply_put(Engine *engine, Input *input);
bool apply_drop(Engine *engine, Input *input);
bool apply_token(Engine *engine, Input *input);
bool apply_clone(Engine *engine, Input *input);
void submit_init(Engine *engine);
void submit_clear(Engine *engine);
/* Whether a job with this specification could ever run in the queue. */
bool check_fit(Engine *engine, const Catalog *catalog, const Queue *queue, const Spec *spec, GError **error);
/* Whether it names a namespace where jobs of the queue may be, for this user. */
bool check_namespace(const Engine *engine, const Queue *queue, const Spec *spec, bool admin, GError **error);
/* Whether the user's labels and annotations may be those of the pods of a job in the queue. Either may be
 * NULL. */
bool check_words(const Engine *engine, const Queue *queue, char *const *labels, char *const *annotations,
                 bool admin, GError **error);
/* Whether jobs of the user may have this priority in it. */
bool check_priority(const Engine *engine, const Queue *queue, const char *user, bool admin, int priority,
                    GError **error);
/* Whether the user may have `n` more open jobs in it. */
bool check_queue_count(Engine *engine, const Queue *queue, const char *user, gint64 n, GError **error);
/* Whether the runtime of its cluster has what it needs to start. */
EnvState submit_environment(Engine *engine, const Job *job);
/* The queue that a submission by the user goes to. */
const Queue *submit_queue(Engine *engine, const char *name, const char *user, bool admin, GError **error);

/* ---- objects.c ---- */

/* Of the batch that is open, else the committed one. */
const Catalog *engine_catalog_now(const Engine *engine);

/* The catalog of a new start: what was stored, and what a new server begins with. */
bool objects_load(Engine *engine, GPtrArray *objects, GError **error);

/* ---- observe.c ---- */

bool apply_observation(Engine *engine, Input *input);

/* ---- admit.c ---- */

/* A pass of the scheduler when there is something to decide, and what it decides carried out on drafts. */
void admit_pass(Engine *engine);
/* When there may be something to decide next: 0 now, -1 never; monotonic ms. */
gint64 admit_due(const Engine *engine);

/* ---- actions.c: what the runtime is asked to do ---- */

/* What follows from `was` having become `now`; `was` NULL: everything that `now` wants. */
void actions_run(Engine *engine, const Job *was, const Job *now);
char *job_array_id(Engine *engine, const Job *job); /* of its array (array.h); NULL: its first element is
                                                       forgotten. The caller's */
RuntimeAttempt attempt_of(const Engine *engine, const Job *job); /* borrows from both */

/* ---- retain.c ---- */

/* Something old may go with this batch; `idle`: nobody waits. */
void retain_events(Engine *engine, bool idle);
void retain_jobs(Engine *engine);
bool retain_is_due(const Engine *engine, gint64 now);
gint64 retain_due(const Engine *engine); /* when there may be something next, ms; 0: never */

/* ---- engine.c ---- */

gint64 engine_now(const Engine *engine);
void engine_new_id(const Engine *engine, char ret[ID_LEN + 1]);
/* Wakes the thread, as when a test has moved its clock. */
void engine_poke(Engine *engine);
