/* The object, and the table of who may do what as the façades ask it (see auth.h). */
#include "api/auth/internal.h"

#include <sodium.h>
#include <string.h>

#include "base/err.h"

enum { THREADS = 2, LINE = 64, DIRECTORY_THREADS = 4 };

static ThreadPool *pool_new(const char *name, int threads)
{
        return thread_pool_new(&(ThreadPoolConfig){ .name = name, .threads = threads, .waiting_max = LINE });
}

Auth *auth_new(const AuthConfig *config)
{
        Auth *auth = g_new0(Auth, 1);

        g_assert(sodium_init() >= 0);
        auth->config = *config;
        auth->threads = pool_new("log-ins", THREADS);
        auth->directory_threads = pool_new("log-ins by the directory", DIRECTORY_THREADS);
        auth->throttle = throttle_new();
        auth->turns = thread_pool_new(&(ThreadPoolConfig){ .name = "log-in turns", .threads = 1 });
        auth->cache = token_cache_new();
        auth->factors = second_factors_new(config->second_factor_key);
        return auth;
}

void auth_stop(Auth *auth)
{
        thread_pool_stop(auth->turns); /* its works end, or go to the other pools */
        thread_pool_stop(auth->directory_threads);
        thread_pool_stop(auth->threads);
}

void auth_free(Auth *auth)
{
        if (!auth)
                return;
        thread_pool_free(auth->turns);
        thread_pool_free(auth->directory_threads);
        thread_pool_free(auth->threads);
        throttle_free(auth->throttle);
        token_cache_free(auth->cache);
        second_factors_free(auth->factors);
        g_free(auth);
}

HttpAccess auth_access_from(const HttpRoute *route, bool near)
{
        guint row = access_row(route->kind, route->verb);

        if (!row)
                return HTTP_NOBODY;
        if (g_str_has_prefix(route->path, "/api/paddleflow/"))
                return HTTP_PUBLIC;
        if (route->kind == ACCESS_METRICS)
                return near ? HTTP_PUBLIC : HTTP_USER;
        if (row & REL_ANYONE)
                return HTTP_PUBLIC;
        return row & ~(guint)REL_ADMIN ? HTTP_USER : HTTP_ADMIN;
}

bool auth_permits(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error)
{
        Scope least = access_scope(route->kind, route->verb);

        if (caller->scope == SCOPE_NONE)
                return route->kind == ACCESS_SECOND_FACTOR ||
                       err_set(error, ERR_DENIED,
                               "this server asks '%s' for a second factor, and there is none yet\nSet it up: "
                               "`paddle user "
                               "totp enable`. Until then a log-in does nothing else.",
                               caller->user);
        return caller->scope >= (int)least ||
               err_set(error, ERR_DENIED,
                       "the token has scope '%s', and '%s %s' takes '%s'\nUse a token of that scope (`paddle "
                       "token create --scope %s`), or log in.",
                       scope_name((Scope)CLAMP(caller->scope, SCOPE_NONE, SCOPE_ADMIN)), route->method,
                       route->path, scope_name(least), scope_name(least));
}

bool auth_check_queue(const HttpCaller *caller, const char *queue, GError **error)
{
        return !caller->queue || g_strcmp0(caller->queue, queue) == 0 ||
               err_set(error, ERR_DENIED,
                       "the token is for jobs of queue '%s' only, not of '%s'\nUse another token, or log in.",
                       caller->queue, queue);
}

bool auth_check_runs(const HttpCaller *caller, GError **error)
{
        return !caller->queue ||
               err_set(error, ERR_DENIED,
                       "the token is for jobs of queue '%s' only, and steps of a pipeline may use any queue\n"
                       "Use a token without a queue.",
                       caller->queue);
}

bool auth_may(const HttpCaller *caller, AccessKind kind, AccessVerb verb, bool owner, bool granted)
{
        return access_allows(kind, verb, relations_of(caller->user != NULL, caller->admin, owner, granted));
}

bool auth_is_granted(const Auth *auth, const Catalog *catalog, const char *user, const Queue *queue)
{
        return queue->everyone || auth->config.open_queues ||
               catalog_grant(catalog, user, GRANT_QUEUE, queue->object.name) != NULL;
}
