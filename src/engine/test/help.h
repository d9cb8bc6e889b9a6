/* A house for one test: a store in a scratch directory, a played runtime, an engine with a clock of the
 * test's own. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "engine/test/script.h"

typedef struct {
        char *dir;
        Store *store;
        const StoreOps *store_ops; /* NULL: store_sqlite; a test may set it before house_open */
        Script *script;
        Engine *engine;
        EngineConfig config; /* for house_open; a test may change it before */
        const char *boot_id;
        gint64 clock_ms; /* atomic */
        pthread_mutex_t lock;
        pthread_cond_t woken;
        gint64 revision; /* the last one published */
        int held;        /* 1: the engine has to wait in its answer, 2: it does */
        gint64 fatal;    /* how often the engine said that it must end; atomic */
} House;

/* A machine of 4 cores, 4 GiB and 4 GPUs; connected and synced. */
House *house_new(void);
House *house_new_cold(void); /* the engine is not opened yet */
void house_open(House *house);
void house_sync(House *house);  /* the runtime says that it has told all it knows */
void house_close(House *house); /* the engine and the store, as when the server ends; what the runtime was
                                   asked is forgotten */
void house_free(House *house);

/* Moves the clock, and lets the engine see it. */
void house_pass(House *house, gint64 ms);
/* Returns when everything said and asked before has been applied, and what followed was handed to the
 * runtime. */
void house_barrier(House *house);

/* Keeps the engine's thread busy, so that what is said and asked meanwhile comes into one batch. */
void house_hold(House *house);
void house_let_go(House *house);

/* A specification in JSON with single quotes; the id is the caller's, NULL with *error. */
char *house_submit(House *house, const char *user, const char *spec, const char *key, GError **error);
char *house_submit_ok(House *house, const char *spec);
bool house_cancel(House *house, const char *id, GError **error);
bool house_put_token(House *house, const char *id, GError **error); /* of root */
bool house_take_token(House *house, const Token *token, GError **error);
bool house_act(House *house, const char *id, JobAction action, GError **error);
bool house_change(House *house, const char *id, const JobChange *change, GError **error);
/* Several specifications in one submission, the list ending in NULL; the id of the first job. */
char *house_submit_all(House *house, const char *user, const char *const *specs, GError **error);
char *house_submit_keyed(House *house, const char *user, const char *const *specs, const char *key,
                         GError **error);
/* A new object, or the changed one, from a patch in JSON with single quotes. */
bool house_patch(House *house, ObjectKind kind, const char *name, const char *patch, GError **error);
void house_queue(House *house, const char *name, const char *patch);    /* has to succeed */
void house_let_rise(House *house, const char *user, const char *queue); /* any priority is granted to it */
bool house_put(House *house, const Object *object, GError **error);
bool house_drop(House *house, ObjectKind kind, const char *name, GError **error);
bool house_repeated(void); /* of this thread's last house_submit */

/* The job as readers see it. */
Job *house_job(House *house, const char *id);
/* Waits for the job's state; a test that waits in vain fails. */
Job *house_wait(House *house, const char *id, JobState state);
/* "ID.1.trainer.0"; the caller's. */
char *task_of(const char *id, int attempt, const char *role, int index);
/* Kinds of the job's events from the store, joined by spaces; the caller's. */
char *house_events(House *house, const char *id);

#define assert_state(house, id, want)                                                                        \
        do {                                                                                                 \
                g_autoptr(Job) job_ = house_job(house, id);                                                  \
                g_assert_cmpstr(job_state_name(job_->state), ==, job_state_name(want));                      \
        } while (0)
