/* The object behind the routes, and what the handlers share (see api.h, internal.h). */
#include "api/v1/internal.h"

#include "base/clock.h"
#include "base/err.h"

const HttpRoute *const *api_routes(void)
{
        static const HttpRoute *const all[] = { system_routes,  job_routes,  event_routes, log_routes,
                                                package_routes, file_routes, token_routes, NULL };

        return all;
}

Api *api_new(const ApiConfig *config)
{
        Api *api = g_new0(Api, 1);

        api->engine = config->engine;
        api->store = config->store;
        api->runtime = config->runtime;
        api->storage = config->storage;
        api->packages = config->packages;
        api->dc = g_strdup(config->dc);
        api->state_dir = g_strdup(config->state_dir);
        api->owner = config->owner;
        api->started = clock_now_ms();
        api->notifier = notifier_new(config->engine);
        api->tokens = token_cache_new();
        api->rendered = rendered_new();
        return api;
}

void api_stop(Api *api)
{
        notifier_stop(api->notifier);
}

void api_free(Api *api)
{
        if (!api)
                return;
        notifier_free(api->notifier);
        token_cache_free(api->tokens);
        rendered_free(api->rendered);
        g_free(api->dc);
        g_free(api->state_dir);
        g_free(api);
}

void api_set_server(Api *api, HttpServer *server)
{
        api->server = server;
}

void api_fail(HttpRequest *request, GError *error)
{
        http_fail(request, error);
        g_error_free(error);
}

/* What a person should know of a job beside its state: sentences. */
static json_t *job_notes(const Api *api, const Job *job)
{
        const RuntimeOps *ops = api->runtime->ops;
        json_t *notes = json_array();

        if (job->spec->image && !ops->uses_images)
                json_array_append_new(notes, json_sprintf("the image '%s' is recorded and not used: the %s "
                                                          "cluster runs the programs of "
                                                          "its machine",
                                                          job->spec->image, ops->name));
        return notes;
}

json_t *api_format_job(Api *api, const Job *job)
{
        g_autofree char *waiting = engine_explain(api->engine, job);

        json_t *object = job_format(job, waiting);

        json_object_set_new(object, "notes", job_notes(api, job));
        return object;
}

static bool may_see(const HttpCaller *caller, const Job *job)
{
        return caller->admin || g_strcmp0(caller->user, job->user) == 0;
}

Job *api_find_job(Api *api, HttpRequest *request, const char *name)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *user = http_request_query(request, "user");
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;

        if (!user || !caller->admin)
                user = caller->user;
        job = engine_find(api->engine, user, name, &error);
        if (job && may_see(caller, job))
                return g_steal_pointer(&job);
        if (job) /* another user's: not told apart from one that is not there */
                err_set(&error, ERR_NOT_FOUND, "no job '%s' of '%s'\n`paddle list --all` shows all jobs.",
                        name, user);
        http_fail(request, error);
        return NULL;
}

Job *api_job(Api *api, HttpRequest *request)
{
        return api_find_job(api, request, http_request_param(request, "job"));
}
