/* What the files of this room share. */
#pragma once

#include "api/v1/api.h"
#include "api/v1/rendered.h"

typedef struct Notifier Notifier;
typedef struct TokenCache TokenCache;

struct Api {
        Engine *engine;
        Store *store;
        Runtime *runtime;
        Storage *storage;
        PackageStore *packages;
        char *dc, *state_dir;
        uid_t owner;
        gint64 started;
        HttpServer *_Atomic server;
        Notifier *notifier;
        TokenCache *tokens;
        Rendered *rendered;
};

extern const HttpRoute system_routes[], job_routes[], event_routes[], log_routes[], package_routes[],
        file_routes[], token_routes[];

/* Tokens that were looked up lately, so that a request costs no query. Thread-safe. */
TokenCache *token_cache_new(void);
void token_cache_free(TokenCache *cache);

/* Replies with `error` and frees it. */
void api_fail(HttpRequest *request, GError *error);

/* The job of that id or name, if the caller may see it; NULL has been answered. The caller's reference. */
Job *api_find_job(Api *api, HttpRequest *request, const char *name);
/* The one that a route's {job} names. */
Job *api_job(Api *api, HttpRequest *request);

/* The JSON of a job with its reason worked out. */
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
/* No call of `func` runs or comes after this returns. Not from within func. */
void notifier_remove(Notifier *notifier, Waiter *waiter);
