/* The engine: the only writer. One thread takes all that waits (commands, observations, timers), applies it
 * to drafts of the live jobs, asks sched/ what follows, commits everything in one transaction, publishes the
 * new views, and only then answers callers and hands actions to the runtime. Nothing is acknowledged before
 * it is durable; nothing is started before the intent is.
 *
 * Readers (any thread) see published views: committed, immutable, counted. They never wait for a commit. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"
#include "runtime/runtime.h"
#include "store/store.h"

typedef struct Engine Engine;

typedef struct {
        Store *store;
        Runtime *runtime;
        const char *dc;           /* datacenter name, for the variables of members */
        const char *boot_id;      /* of the machine now */
        gint64 keep_events;       /* how many are kept; 0: 1,000,000 */
        gint64 keep_finished_ms;  /* finished jobs are dropped after this time; 0: never */
        int max_open_jobs;        /* 0: 1,000,000; above it submits fail with ERR_QUOTA */
        gint64 (*now)(void *arg); /* NULL: the clock; a test owns it */
        void *now_arg;
        void (*fatal)(const GError *error,
                      void *arg); /* a commit whose outcome is unknown: the program must exit */
        void *fatal_arg;
} EngineConfig;

/* Loads the open jobs, starts the thread, opens the runtime. NULL on failure. Borrows store and runtime. */
Engine *engine_new(const EngineConfig *config, GError **error);
/* Stops the thread after the batch in hand; commands still waiting are answered with ERR_UNAVAILABLE. Members
 * run on. */
void engine_free(Engine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Engine, engine_free)

/* A command's outcome, called once from the engine's thread after the commit; must not block. On success
 * `error` is NULL and `job` the view after the change (borrowed; NULL for commands without one). `repeated`:
 * an idempotency key matched, nothing new was made. */
typedef void (*EngineDone)(Job *job, bool repeated, const GError *error, void *arg);

/* A specification from `user`. ERR_EXISTS when an open job of that user has the name (the message names its
 * id and state); ERR_CONFLICT when the idempotency key was used for another specification; ERR_INVALID when
 * the job could never fit this machine. */
void engine_submit(Engine *engine, const char *user, Spec *spec, const char *idempotency_key, EngineDone done,
                   void *arg);

/* Cancels by id. A job in a final state: ERR_CONFLICT naming the state. One that is already stopping:
 * success. */
void engine_cancel(Engine *engine, const char *job_id, const char *by, EngineDone done, void *arg);

void engine_put_user(Engine *engine, const User *user, EngineDone done, void *arg);
void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg);
void engine_drop_token(Engine *engine, const char *id, EngineDone done, void *arg);

/* Published views of live jobs; a reference, or NULL when it is not live (look in the store then). */
Job *engine_job(Engine *engine, const char *id);
Job *engine_job_by_name(Engine *engine, const char *user, const char *name); /* the open one */
/* Live or stored, by id or by name of `user` (the newest); ERR_NOT_FOUND. */
Job *engine_find(Engine *engine, const char *user, const char *id_or_name, GError **error);
/* Why a live job waits; NULL when it does not. The caller's. */
char *engine_explain(Engine *engine, const Job *job);

/* The revision of the last published event; and a wait for a newer one: `wake` is called (engine's thread,
 * must not block) after each publication until unwatched. */
gint64 engine_revision(Engine *engine);
typedef void (*EngineWake)(gint64 revision, void *arg);
void engine_watch(Engine *engine, EngineWake wake, void *arg);
void engine_unwatch(Engine *engine, EngineWake wake, void *arg);

bool engine_is_ready(Engine *engine); /* loaded, runtime connected and synced */

typedef struct {
        gint64 open_jobs, queued_jobs, running_jobs, running_members;
        gint64 submitted, succeeded, failed, cancelled, batches, batch_jobs_max, commit_us_last,
                commit_us_max, observations;
        Resources total, free;
} EngineMetrics;
void engine_metrics(Engine *engine, EngineMetrics *ret);
