/* What the files of this room share. */
#pragma once

#include "api/crew.h"
#include "api/v1/api.h"
#include "api/v1/rendered.h"
#include "api/v1/usage.h"

typedef struct Notifier Notifier;
typedef struct JobIds JobIds;

struct Api {
        Engine *engine;
        Store *store;
        Runtime *runtime;
        Storage *storage;
        PackageStore *packages;
        Ledger *ledger;
        Projects *projects;
        Janitor *janitor;
        Auth *auth;
        Sso *sso; /* or NULL */
        Audit *audit;
        SealKey *secrets;
        char *dc, *state_dir, *journal_dir, *node_name;
        char **node_labels; /* or NULL */
        gint64 started;
        HttpServer *_Atomic server;
        Notifier *notifier;
        Crew *crew; /* for questions to a copy of the scheduler, and other long work */
        Rendered *rendered;
        JobIds *ids;
        UsageRates *rates;
};

extern const HttpRoute system_routes[], job_routes[], change_routes[], event_routes[], log_routes[],
        package_routes[], file_routes[], token_routes[], user_routes[], second_factor_routes[],
        secret_routes[], catalog_routes[], scheduler_routes[], metrics_routes[], ask_routes[], exec_routes[],
        storage_routes[], audit_routes[], sso_routes[], result_routes[];

/* The parameter `user` of routes below /v1/jobs/{job}: its sentence, and a query with nothing else. */
#define WHOSE_JOB "Whose job a name means (administrators)."
extern const HttpParameter whose_job[];

/* Replies with `error` and frees it. */
void api_fail(HttpRequest *request, GError *error);

/* By the Unix socket, without a token: the machine says who it is. */
bool api_is_vouched_for(const HttpRequest *request);
/* ERR_NOT_FOUND: there is no user of that name. */
bool api_check_user(Api *api, const char *name, GError **error);
/* The job of that id or name, if the caller may see it; NULL has been answered. The caller's reference. */
Job *api_find_job(Api *api, HttpRequest *request, const char *name);
/* The one that a route's {job} names. */
Job *api_job(Api *api, HttpRequest *request);
/* The same where a whole array may be meant: then *ret_array is its number, and the job one of its elements;
 * else 0. */
Job *api_find_any(Api *api, HttpRequest *request, const char *name, gint64 *ret_array);
Job *api_job_or_array(Api *api, HttpRequest *request, gint64 *ret_array);

/* ---- arrays.c ---- */

/* One of its elements, or NULL when all are forgotten. The caller's reference. */
Job *api_array_job(Api *api, gint64 array_seq);
/* Its id, "" when its first element is forgotten. The caller's. */
char *api_array_id(Api *api, gint64 array_seq);
/* The member `array` of a job that is an element. */
json_t *api_format_element(Api *api, const Job *job);
/* A whole array, of which `one` is an element; with the first of its elements that failed, or without. */
json_t *api_format_array(Api *api, const Job *one, bool failed);
/* {"loss": {"last","min","max"}} of a job, also of its members that run (results.c). */
json_t *api_format_results(Api *api, const Job *job);
/* The first of its elements that waits, or NULL. The caller's reference. */
Job *api_array_waiting(Api *api, gint64 array_seq);

/* The job of that seq, or NULL when it is forgotten. The caller's reference. */
Job *api_job_by_seq(Api *api, gint64 seq);
/* Its id, remembered; "" when it is forgotten. The caller's. */
char *api_job_id(Api *api, gint64 seq);
JobIds *job_ids_new(void);
void job_ids_free(JobIds *ids);

/* A job's change was asked for: answers with the job after the commit, or with the error. `arg` is
 * api_answer_new's. */
void api_answer_job(Job *job, bool repeated, const GError *error, void *arg);
/* Answers 204, or with the error. `arg` is a reference of the HttpRequest. */
void api_answer_done(Job *job, bool repeated, const GError *error, void *arg);
void *api_answer_new(Api *api, HttpRequest *request);
/* The same of an array (not 0), which is then the answer. */
void *api_answer_array_new(Api *api, HttpRequest *request, gint64 array_seq);

/* Does it to the job or array that the route names, and answers. */
void api_act(Api *api, HttpRequest *request, JobAction action);

/* Does api_take_spec take long for this body? Files of its package are to be read then. */
bool api_spec_takes_long(const Api *api, const json_t *object);
/* Takes over the body of a submission: paths, package and flavours are checked and filled in. */
Spec *api_take_spec(Api *api, HttpRequest *request, json_t *object, GError **error);
/* Idempotency-Key of the request, or NULL. False: it is none. */
bool api_take_key(HttpRequest *request, const char **ret, GError **error);
/* True and *ret for ?name=true. */
bool api_query_flag(HttpRequest *request, const char *name, bool *ret, GError **error);
/* A yes or no with a default; false has replied with the error already. */
bool api_query_boolean(HttpRequest *request, const char *name, bool fallback, bool *ret);

/* Can jobs run on the cluster now? If not, why, as a sentence that begins with "it"; else NULL. */
char *api_cluster_trouble(Api *api, const Cluster *cluster);
/* What a queue holds and lends, as published; false: not known yet. And as JSON, NULL then. */
bool api_find_figures(Api *api, const char *queue, QueueFigures *ret);
json_t *api_queue_figures(Api *api, const Queue *queue);
/* POST /v1/jobs?dry_run=true, PATCH /v1/queues/{name}?what_if=true. They take `spec` and `queue` over. */
void api_dry_run(Api *api, HttpRequest *request, Spec *spec);
void api_what_if(Api *api, HttpRequest *request, const Queue *was, Queue *queue);
/* A copy of the scheduler; waits for the engine: on the crew only. NULL: the engine stops. */
Scheduler *api_clone(Api *api, gint64 *ret_now, GError **error);
/* The scheduler's decisions up to now can be read; waits as api_clone does. */
bool api_flush_journal(Api *api, GError **error);
/* The name of the scheduler's node. */
const char *api_node_name(const Api *api, int id);

/* The JSON of a job with its reasons worked out. */
json_t *api_format_job(Api *api, const Job *job);
json_t *api_format_event(const Event *event);

/* The OpenAPI document of all routes; built once. */
const char *openapi_text(gsize *ret_len);

/* Wakes those who wait for a publication of the engine or for a file to grow. One thread, which gathers
 * wake-ups for a few milliseconds so that a busy engine does not resume a follower for each batch. */
typedef struct Waiter Waiter;
typedef bool (*WaiterFunc)(bool expired, void *arg); /* on the notifier's thread; true: keep waiting */
Notifier *notifier_new(Engine *engine);
/* Ends the thread; every waiter gets a last call with expired = true, and later ones get none. */
void notifier_stop(Notifier *notifier);
void notifier_free(Notifier *notifier);
/* Calls `func` after each publication, after a change in the directory `dir` (may be NULL), and once at
 * `deadline` (monotonic ms, 0: none) with expired = true, until it returns false. */
Waiter *notifier_add(Notifier *notifier, const char *dir, gint64 deadline, WaiterFunc func, void *arg);
/* Also watches `dir` from now on. */
void notifier_watch_dir(Notifier *notifier, Waiter *waiter, const char *dir);
/* Watches no directory any more. */
void notifier_unwatch(Notifier *notifier, Waiter *waiter);
/* Brings the deadline forward to `deadline`, if it is not earlier already; again after each call. */
void notifier_wake_at(Notifier *notifier, Waiter *waiter, gint64 deadline);
/* No call of `func` runs or comes after this returns. Not from within func. */
void notifier_remove(Notifier *notifier, Waiter *waiter);
