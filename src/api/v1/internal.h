/* Shared by the files of api/v1. */
#pragma once

#include "base/thread-pool.h"
#include "api/v1/api.h"
#include "api/v1/rendered.h"
#include "api/v1/run-tree.h"
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
        ThreadPool *readers; /* for replies that read the store after a change */
        ThreadPool *threads; /* for questions to a copy of the scheduler, and other long work */
        Rendered *rendered;
        JobIds *ids;
        UsageRates *rates;
        RunTexts *run_texts;
};

extern const HttpRoute system_routes[], job_routes[], change_routes[], event_routes[], log_routes[],
        package_routes[], file_routes[], token_routes[], user_routes[], second_factor_routes[],
        secret_routes[], catalog_routes[], filesystem_routes[], scheduler_routes[], metrics_routes[],
        ask_routes[], exec_routes[], storage_routes[], audit_routes[], sso_routes[], result_routes[],
        run_routes[], run_sum_routes[], run_pause_routes[], artifact_routes[], cache_routes[],
        cache_why_routes[], pipeline_routes[], schedule_routes[];

/* The parameter `user` of routes below /v1/jobs/{job}: its sentence, and a query with nothing else. */
#define WHOSE_JOB "Whose job a name means (administrators)."
extern const HttpParameter whose_job[];

/* The caller may do that with a thing of the user `owner`. Otherwise the request counts as denied. */
bool api_may(HttpRequest *request, AccessKind kind, AccessVerb verb, const char *owner);
/* Sets *error for a thing that is not there, or that the caller may not see: both are ERR_NOT_FOUND with the same words, "there
 * is no run 'x' of 'ann'" and `hint`. Another error of the search, in *why, is passed on. */
void api_set_absent(GError **error, GError **why, const char *noun, const char *word, const char *user,
                    const char *hint);
/* The stored pipeline with this name or id, if the caller may do that with it; the caller's. ?user= says whose name it is,
 * for administrators. NULL with ERR_NOT_FOUND. */
PipelineRecord *api_find_pipeline(Api *api, HttpRequest *request, AccessVerb verb, const char *word,
                                  GError **error);
/* The same for a schedule. */
ScheduleRecord *api_find_schedule(Api *api, HttpRequest *request, AccessVerb verb, const char *word,
                                  GError **error);
/* Whose things a list shows: the caller's, or for an administrator those of ?user= or, with ?all=true, everyone's (NULL).
 * `what`: "runs". */
bool api_query_owner(HttpRequest *request, const char *what, const char **ret, GError **error);
/* The marker of the next page of a list: null for 0. */
json_t *api_next_page(gint64 next);

/* True for a caller on the Unix socket without a token: the machine authenticates them. */
bool api_is_vouched_for(const HttpRequest *request);
/* ERR_NOT_FOUND: no user of that name. */
bool api_check_user(Api *api, const char *name, GError **error);
/* Whose objects a request about things of a user is about: the caller's, or those of the user in ?user=, for
 * administrators. NULL: the request has been answered. */
const char *api_whose(Api *api, HttpRequest *request);
/* The job of that id or name, if the caller may see it. NULL: an error was already sent. The caller's
 * reference. */
Job *api_find_job(Api *api, HttpRequest *request, const char *name);
/* The job that a route's {job} names. */
Job *api_job(Api *api, HttpRequest *request);
/* The same if the name may mean a whole array: then *ret_array is its number, and the job one of its
 * elements; else 0. */
Job *api_find_any(Api *api, HttpRequest *request, const char *name, gint64 *ret_array);
Job *api_job_or_array(Api *api, HttpRequest *request, gint64 *ret_array);

/* The run of that id, if the caller may do this with it. NULL: an error was already sent. */
RunRecord *api_find_run(Api *api, HttpRequest *request, const char *id, AccessVerb verb);

/* ---- catalog.c: the handlers of all kinds ---- */

void api_list_objects(HttpRequest *request, void *arg);
void api_show_object(HttpRequest *request, void *arg);
void api_create_object(HttpRequest *request, void *arg);
void api_change_object(HttpRequest *request, void *arg);
void api_drop_object(HttpRequest *request, void *arg);

/* ---- cache.c ---- */

json_t *api_format_cache_entry(const CacheEntry *entry); /* as in a list */
json_t *api_cache_body(const CacheEntry *entry);         /* CacheEntry.body, {} if it cannot be read */

/* ---- filesystems.c ---- */

/* What is shown of a file system besides its fields. */
void api_add_filesystem(Api *api, const Catalog *catalog, const Object *object, json_t *shown);
/* For a list of what is on the file system `name` of a user, if the list is empty: ERR_NOT_FOUND if the user has none of this
 * name. NULL counts as one that there is. */
bool api_check_filesystem(Api *api, const char *user, const char *name, GError **error);
json_t *api_format_home(Api *api, const char *user); /* the user's built-in file system */
/* engine_put of a file system, new (`was` NULL) or changed. A directory that its URL newly names has to be there, if this
 * machine is the only one on which jobs run. */
void api_put_filesystem(Api *api, const Object *was, Object *object, const char *by, EngineDone done,
                        void *arg);

/* ---- arrays.c ---- */

/* One of its elements, or NULL if all were deleted. The caller's reference. */
Job *api_array_job(Api *api, gint64 array_seq);
/* Its id, "" if its first element was deleted. The caller's. */
char *api_array_id(Api *api, gint64 array_seq);
/* The member `array` in the JSON of a job that is an element. */
json_t *api_format_element(Api *api, const Job *job);
/* A whole array, of which `one` is an element. `failed`: with its first failed element. */
json_t *api_format_array(Api *api, const Job *one, bool failed);
/* {"loss": {"last","min","max"}} of a job, including its running members (results.c). */
json_t *api_format_results(Api *api, const Job *job);
/* The first of its waiting elements, or NULL. The caller's reference. */
Job *api_array_waiting(Api *api, gint64 array_seq);

/* The job of that seq, or NULL if it was deleted. The caller's reference. */
Job *api_job_by_seq(Api *api, gint64 seq);
/* Its id, from a cache; "" if the job was deleted. The caller's. */
char *api_job_id(Api *api, gint64 seq);
JobIds *job_ids_new(void);
void job_ids_free(JobIds *ids);

/* An EngineDone for a change of a job: answers with the job after the commit, or with the error. `arg` is
 * api_answer_array_new's. */
void api_answer_job(Job *job, bool repeated, const GError *error, void *arg);
/* An EngineDone that answers 204, or with the error. `arg` is a reference of the HttpRequest. */
void api_answer_done(Job *job, bool repeated, const GError *error, void *arg);
/* `array_seq`: the array that is the answer; 0: the job is. */
void *api_answer_array_new(Api *api, HttpRequest *request, gint64 array_seq);

/* Applies the action to the job or array that the route names, and answers. */
void api_act(Api *api, HttpRequest *request, JobAction action);

/* True if api_take_spec takes long for this body, because files of its package must be read. */
bool api_spec_takes_long(const Api *api, const json_t *object);
/* Takes ownership of the body of a submission. Checks paths, package and flavours, and fills in their
 * values. */
Spec *api_take_spec(Api *api, HttpRequest *request, json_t *object, GError **error);
/* The member "package" of a submission must be here, sent by the caller; what it requires becomes the member
 * "requirements", unless that is there. Reads files: on the pool. */
bool api_take_package(Api *api, const HttpCaller *caller, json_t *object, GError **error);
/* Idempotency-Key of the request, or NULL. False: it is invalid. */
bool api_take_key(HttpRequest *request, const char **ret, GError **error);
/* True and *ret for ?name=true. */
bool api_query_flag(HttpRequest *request, const char *name, bool *ret, GError **error);
/* A boolean parameter with a default. False: it has already replied with the error. */
bool api_query_boolean(HttpRequest *request, const char *name, bool fallback, bool *ret);

/* Why jobs cannot run on the cluster at present, as a sentence that begins with "it"; NULL: they can. */
char *api_cluster_trouble(Api *api, const Cluster *cluster);
/* The published figures of a queue; false: not known yet. api_queue_figures gives them as JSON, NULL then. */
bool api_find_figures(Api *api, const char *queue, QueueFigures *ret);
json_t *api_queue_figures(Api *api, const Queue *queue);
/* POST /v1/jobs?dry_run=true, PATCH /v1/queues/{name}?what_if=true. They take `spec` and `queue`. */
void api_dry_run(Api *api, HttpRequest *request, Spec *spec);
void api_what_if(Api *api, HttpRequest *request, const Queue *was, Queue *queue);
/* A copy of the scheduler. Waits for the engine, so call it only on the thread pool. NULL: the engine is
 * stopping. */
Scheduler *api_clone(Api *api, gint64 *ret_now, GError **error);
/* Waits, as api_clone does, until the scheduler's decisions so far can be read from the journal. */
bool api_flush_journal(Api *api, GError **error);
/* The name of a node, by the scheduler's number. */
const char *api_node_name(const Api *api, int id);

/* The JSON of a job with its reasons computed. */
json_t *api_format_job(Api *api, const Job *job);
/* The same as text, with the results that running members have reported so far. */
GBytes *api_job_text(Api *api, const Job *job);
/* The same of a job that was just submitted: its text is not kept. */
char *api_new_job_text(Api *api, const Job *job);
json_t *api_format_event(const Event *event);
/* Answers with {"items","revision"}, the events that the query finds, or with the error: 410 if they are gone. */
void api_reply_events(Api *api, HttpRequest *request, const EventQuery *query);

/* The OpenAPI document of all routes; built once. */
const char *openapi_text(gsize *ret_len);

/* Wakes waiters when the engine publishes or a file grows. One thread collects wake-ups for a few
 * milliseconds, so that a busy engine does not resume a follower for each batch. */
typedef struct Waiter Waiter;
typedef bool (*WaiterFunc)(bool expired, void *arg); /* on the notifier's thread; true: keep waiting */
Notifier *notifier_new(Engine *engine);
/* Ends the thread. Every waiter gets a last call with expired = true, and later ones get none. */
void notifier_stop(Notifier *notifier);
void notifier_free(Notifier *notifier);
/* Calls `func` after each publication, after a change in the directory `dir` (may be NULL), and once at
 * `deadline` (monotonic ms, 0: none) with expired = true, until it returns false. */
Waiter *notifier_add(Notifier *notifier, const char *dir, gint64 deadline, WaiterFunc func, void *arg);
/* Also watches `dir` from now on. */
void notifier_watch_dir(Notifier *notifier, Waiter *waiter, const char *dir);
/* Stops watching a directory. */
void notifier_unwatch(Notifier *notifier, Waiter *waiter);
/* Brings the deadline forward to `deadline`, unless it is earlier already. Call it again after each call of
 * `func`. */
void notifier_wake_at(Notifier *notifier, Waiter *waiter, gint64 deadline);
/* After this returns, no call of `func` runs or follows. Do not call it from within func. */
void notifier_remove(Notifier *notifier, Waiter *waiter);
