/* The object behind the routes, and what the handlers share (see api.h, internal.h). */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json-out.h"
#include "base/number.h"
#include "base/word.h"
#include "model/array.h"
#include "model/results.h"

enum { READERS = 4, READERS_OF_USER = 2 };
enum { THREADS = 2, LINE = 32 }; /* of questions; one thread for a user, and so many that wait */
enum { TEXT_SIZE = 3072, MOVING_SIZE = 1536 }; /* of a job, about; longer texts grow */

const HttpRoute *const *api_routes(void)
{
        static const HttpRoute *const all[] = {
                system_routes,    metrics_routes,       job_routes,     change_routes,    ask_routes,
                event_routes,     log_routes,           package_routes, file_routes,      token_routes,
                user_routes,      second_factor_routes, secret_routes,  catalog_routes,   filesystem_routes,
                scheduler_routes, exec_routes,          storage_routes, audit_routes,     sso_routes,
                result_routes,    run_routes,           run_sum_routes, run_pause_routes, artifact_routes,
                pipeline_routes,  schedule_routes,      cache_routes,   cache_why_routes, NULL
        };

        return all;
}

const HttpRoute *const *api_metrics_routes(void)
{
        static const HttpRoute *const all[] = { metrics_routes, NULL };

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
        api->ledger = config->ledger;
        api->projects = config->projects;
        api->janitor = config->janitor;
        api->auth = config->auth;
        api->sso = config->sso;
        api->audit = config->audit;
        api->secrets = config->secrets;
        api->dc = g_strdup(config->dc);
        api->state_dir = g_strdup(config->state_dir);
        api->journal_dir = g_strdup(config->journal_dir);
        api->node_name = g_strdup(config->node_name);
        api->node_labels = g_strdupv((char **)config->node_labels);
        api->started = clock_now_ms();
        api->notifier = notifier_new(config->engine);
        api->readers = thread_pool_new(
                &(ThreadPoolConfig){ .name = "replies", .threads = READERS, .share = READERS_OF_USER });
        api->threads = thread_pool_new(&(ThreadPoolConfig){
                .name = "questions", .threads = THREADS, .share = 1, .waiting_max = LINE });
        api->rendered = rendered_new();
        api->ids = job_ids_new();
        api->rates = usage_rates_new();
        api->run_texts = run_texts_new(config->engine);
        return api;
}

void api_stop(Api *api)
{
        thread_pool_stop(api->readers);
        thread_pool_stop(api->threads);
        notifier_stop(api->notifier);
}

void api_free(Api *api)
{
        if (!api)
                return;
        notifier_free(api->notifier);
        thread_pool_free(api->readers);
        thread_pool_free(api->threads);
        rendered_free(api->rendered);
        job_ids_free(api->ids);
        usage_rates_free(api->rates);
        run_texts_free(api->run_texts);
        g_free(api->dc);
        g_free(api->state_dir);
        g_free(api->journal_dir);
        g_free(api->node_name);
        g_strfreev(api->node_labels);
        g_free(api);
}

void api_set_server(Api *api, HttpServer *server)
{
        api->server = server;
}

/* On this machine, not in another cluster. */
static bool runs_here(const Api *api, const Job *job)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const Queue *queue = catalog_queue(catalog, job->queue);
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;

        return !cluster || cluster->type == CLUSTER_LOCAL;
}

/* Remarks about a job beside its state: sentences. */
static json_t *job_notes(const Api *api, const Job *job)
{
        const RuntimeOps *ops = api->runtime->ops;
        json_t *notes = json_array();

        if (job->spec->image && runs_here(api, job) && !ops->uses_images)
                json_array_append_new(notes, json_sprintf("the image '%s' is recorded and not used: the %s "
                                                          "cluster runs the programs of "
                                                          "its machine",
                                                          job->spec->image, ops->name));
        return notes;
}

/* The members that depend on the time and on other jobs, and the sentences for people. */
static void put_moving(Api *api, JsonOut *out, const Job *job, json_t *results)
{
        JsonOut reasons = json_out_begin(MOVING_SIZE);
        g_autofree char *first = engine_write_reasons(api->engine, job, &reasons); /* the sentence has one */
        g_autofree char *text = json_out_end(&reasons);
        json_t *array = job->array_seq ? api_format_element(api, job) : NULL;

        job_put_moving(out, job, first, array, results);
        json_put_value(out, "notes", job_notes(api, job));
        json_put_written(out, text, strlen(text));
}

char *api_new_job_text(Api *api, const Job *job)
{
        JsonOut out = json_out_begin(TEXT_SIZE);

        json_open(&out, '{');
        put_moving(api, &out, job, job->results ? results_format(job->results) : NULL);
        job_put_fixed(&out, job);
        json_close(&out, '}');
        return json_out_end(&out);
}

json_t *api_format_job(Api *api, const Job *job)
{
        g_autofree char *text = api_new_job_text(api, job);

        return json_parse_own(text, strlen(text), NULL);
}

static GBytes *kept_fixed(Api *api, const Job *job)
{
        GBytes *text = rendered_find(api->rendered, job, TEXT_FIXED, clock_monotonic_ms());
        JsonOut out;
        char *members;

        if (text)
                return text;
        out = json_out_begin(TEXT_SIZE);
        job_put_fixed(&out, job);
        members = json_out_end(&out);
        text = g_bytes_new_take(members, strlen(members));
        rendered_keep(api->rendered, job, TEXT_FIXED, text, clock_monotonic_ms());
        return text;
}

/* A job that waits is written for each request: its reason depends on other jobs. */
GBytes *api_job_text(Api *api, const Job *job)
{
        bool waits = job->state == JOB_QUEUED;
        gint64 now = clock_monotonic_ms();
        GBytes *text = waits ? NULL : rendered_find(api->rendered, job, TEXT_WHOLE, now);
        g_autoptr(GBytes) fixed = NULL;
        JsonOut out;
        char *whole;

        if (text)
                return text;
        fixed = kept_fixed(api, job);
        out = json_out_begin(g_bytes_get_size(fixed) + MOVING_SIZE);
        json_open(&out, '{');
        put_moving(api, &out, job, api_format_results(api, job));
        json_put_written(&out, g_bytes_get_data(fixed, NULL), g_bytes_get_size(fixed));
        json_close(&out, '}');
        whole = json_out_end(&out);
        text = g_bytes_new_take(whole, strlen(whole));
        if (!waits)
                rendered_keep(api->rendered, job, TEXT_WHOLE, text, now);
        return text;
}

/* What this request does to a job, by its route; a list that is asked about one job shows that job. */
static bool may(HttpRequest *request, const Job *job)
{
        const HttpCaller *caller = http_request_caller(request);
        const HttpRoute *route = http_request_route(request);
        AccessVerb verb = route->verb == VERB_LIST ? VERB_SHOW : (AccessVerb)route->verb;

        return auth_may(caller, route->kind, verb, g_strcmp0(caller->user, job->user) == 0, false);
}

/* A token of one queue looks at all jobs of its user, and works with those of its queue. */
static bool may_work_in(HttpRequest *request, const Job *job, GError **error)
{
        AccessVerb verb = (AccessVerb)http_request_route(request)->verb;

        return verb == VERB_LIST || verb == VERB_SHOW ||
               auth_check_queue(http_request_caller(request), job->queue, error);
}

/* Jobs of an array may have been moved to queues of their own. */
static bool may_work_in_all(Api *api, HttpRequest *request, const Job *job, gint64 array, GError **error)
{
        g_autoptr(GPtrArray) jobs = NULL;

        if (!may_work_in(request, job, error))
                return false;
        if (!array || !http_request_caller(request)->queue)
                return true;
        jobs = store_array_jobs(api->store, array, G_MAXUINT32, SPEC_ARRAY_MAX, error);
        for (guint i = 0; jobs && i < jobs->len; i++)
                if (!may_work_in(request, jobs->pdata[i], error))
                        return false;
        return jobs != NULL;
}

bool api_may(HttpRequest *request, AccessKind kind, AccessVerb verb, const char *owner)
{
        const HttpCaller *caller = http_request_caller(request);
        bool may = auth_may(caller, kind, verb, strcmp(owner, caller->user) == 0, false);

        if (!may)
                http_request_set_denied(request);
        return may;
}

void api_set_absent(GError **error, GError **why, const char *noun, const char *word, const char *user,
                    const char *hint)
{
        if (*why && !err_is(*why, ERR_NOT_FOUND)) {
                g_propagate_error(error, g_steal_pointer(why));
                return;
        }
        err_set(error, ERR_NOT_FOUND, "there is no %s '%.130s' of '%s'\n%s", noun, word, user, hint);
}

Job *api_find_any(Api *api, HttpRequest *request, const char *name, gint64 *ret_array)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *user = http_request_query(request, "user");
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;

        if (!user || !caller->admin)
                user = caller->user;
        job = engine_look_up(api->engine, user, name, ret_array, &error);
        if (job && may(request, job) && may_work_in_all(api, request, job, *ret_array, &error)) {
                g_autofree char *array = *ret_array ? api_array_id(api, *ret_array) : NULL;

                http_request_set_owner(request, job->user);
                http_request_set_subject(request, array ? array : job->id);
                return g_steal_pointer(&job);
        }
        if (job && !error)
                http_request_set_denied(request);
        if (job && !error) /* another user's: not told apart from one that is not there */
                (void)engine_no_job(user, name, &error);
        http_fail(request, error);
        return NULL;
}

Job *api_find_job(Api *api, HttpRequest *request, const char *name)
{
        g_autoptr(GError) error = NULL;
        gint64 array;
        Job *job = api_find_any(api, request, name, &array);
        g_autofree char *whole = job && array ? array_name(job) : NULL, *size = NULL;

        if (!job || !array)
                return job;
        size = count_format(array_size(job->spec), "job");
        err_set(&error, ERR_INVALID, "'%s' is an array of %s\nName one of them: '%s[%d]' or %s.", whole, size,
                whole, job->array_index, job->name);
        http_fail(request, error);
        job_unref(job);
        return NULL;
}

const HttpParameter whose_job[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { 0 },
};

Job *api_job(Api *api, HttpRequest *request)
{
        return api_find_job(api, request, http_request_param(request, "job"));
}

Job *api_job_or_array(Api *api, HttpRequest *request, gint64 *ret_array)
{
        return api_find_any(api, request, http_request_param(request, "job"), ret_array);
}

bool api_query_flag(HttpRequest *request, const char *name, bool *ret, GError **error)
{
        const char *text = http_request_query(request, name);

        *ret = false;
        return !text || boolean_parse(name, text, ret, error);
}

bool api_query_owner(HttpRequest *request, const char *what, const char **ret, GError **error)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *user = http_request_query(request, "user");
        bool everyone = false;

        if (!api_query_flag(request, "all", &everyone, error))
                return false;
        if (!caller->admin && (everyone || (user && strcmp(user, caller->user) != 0)))
                return err_set(error, ERR_DENIED, "'%s' may list only their own %s", caller->user, what);
        *ret = everyone ? NULL : user ? user : caller->user;
        return true;
}

json_t *api_next_page(gint64 next)
{
        return next ? json_sprintf("%" G_GINT64_FORMAT, next) : json_null();
}

bool api_query_boolean(HttpRequest *request, const char *name, bool fallback, bool *ret)
{
        const char *text = http_request_query(request, name);
        g_autoptr(GError) error = NULL;

        *ret = fallback;
        if (!text || boolean_parse(name, text, ret, &error))
                return true;
        http_fail(request, error);
        return false;
}

/* ---- a job that was changed ---- */

/* What an answer is written from, by the worker that sends it: the engine's thread only hands it over. */
typedef struct {
        Api *api;
        HttpRequest *request;
        Job *job;
        gint64 array; /* not 0: the answer is this array */
} Answer;

static char *answer_write(void *arg, gsize *ret_len)
{
        const Answer *answer = arg;
        g_autoptr(Job) one = answer->array ? api_array_job(answer->api, answer->array) : NULL;
        g_autoptr(json_t) whole = one ? api_format_array(answer->api, one, true) : NULL;
        char *text = one           ? json_format(whole)
                     : answer->job ? api_new_job_text(answer->api, answer->job)
                                   : g_strdup("{}"); /* forgotten meanwhile */

        *ret_len = strlen(text);
        return text;
}

static void answer_free(void *arg)
{
        Answer *answer = arg;

        if (answer->job)
                job_unref(answer->job);
        g_free(answer);
}

void *api_answer_array_new(Api *api, HttpRequest *request, gint64 array_seq)
{
        Answer *answer = g_new0(Answer, 1);

        *answer = (Answer){ api, http_request_ref(request), NULL, array_seq };
        return answer;
}

void api_answer_done(Job *job G_GNUC_UNUSED, bool repeated G_GNUC_UNUSED, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                http_fail(request, error);
        else
                http_reply(request, 204, NULL, NULL, 0);
        http_request_unref(request);
}

void api_answer_job(Job *job, bool repeated, const GError *error, void *arg)
{
        Answer *answer = arg;
        HttpRequest *request = answer->request;

        if (error) {
                http_fail(request, error);
                answer_free(answer);
        } else if (!job && !answer->array) {
                http_reply(request, 204, NULL, NULL, 0);
                answer_free(answer);
        } else {
                answer->job = job ? job_ref(job) : NULL;
                http_reply_written(request, 200, "application/json", answer_write, answer, answer_free);
        }
        http_request_unref(request);
}
