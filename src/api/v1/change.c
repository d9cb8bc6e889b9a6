/* Changes of jobs: members of a queued one, hold and release, and many submissions at once. */
#include "api/v1/internal.h"

#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "base/err.h"

enum { CHANGE_MAX = 256 * 1024, BATCH_BYTES_MAX = 32 * 1024 * 1024, BATCH_MAX = 10000, PAGE = 1000 };

/* ---- members ---- */

typedef struct {
        JobChange change;
        int priority;
        char **labels, **annotations;
} Wanted;

static void wanted_clear(Wanted *wanted)
{
        g_strfreev(wanted->labels);
        g_strfreev(wanted->annotations);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wanted, wanted_clear)

/* null takes all of them away, as {} does. */
static bool take_labels(const json_t *body, const char *name, char ***ret, GError **error)
{
        const json_t *value = json_object_get(body, name);
        g_autofree char *where = g_strconcat(name, ".", NULL);

        if (!value)
                return true;
        if (!labels_parse(where, value, ret, error))
                return false;
        if (!*ret)
                *ret = g_new0(char *, 1);
        return true;
}

static bool take_change(const HttpCaller *caller, const json_t *body, Wanted *ret, GError **error)
{
        static const char *const known[] = { "queue", "priority", "labels", "annotations", NULL };
        const json_t *priority = json_object_get(body, "priority");

        if (!json_only(body, "", known, error) ||
            !json_get_string(body, "", "queue", SPEC_NAME_MAX, &ret->change.queue, error) ||
            !take_labels(body, "labels", &ret->labels, error) ||
            !take_labels(body, "annotations", &ret->annotations, error))
                return false;
        if (priority && !priority_parse("priority", priority, &ret->priority, error))
                return false;
        ret->change.priority = priority ? &ret->priority : NULL;
        ret->change.labels = ret->labels;
        ret->change.annotations = ret->annotations;
        ret->change.by = caller->user;
        ret->change.admin = caller->admin;
        return true;
}

static void change_job(HttpRequest *request, void *arg)
{
        Api *api = arg;
        gint64 array;
        g_autoptr(Job) job = api_job_or_array(api, request, &array);
        g_autofree char *id = job && array ? api_array_id(api, array) : NULL;
        g_auto(Wanted) wanted = { 0 };
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = NULL;

        if (!job)
                return;
        body = http_request_json(request, &error);
        if (body && take_change(http_request_caller(request), body, &wanted, &error) &&
            (!wanted.change.queue ||
             auth_check_queue(http_request_caller(request), wanted.change.queue, &error)))
                engine_change_array(api->engine, array, id ? id : job->id, &wanted.change, api_answer_job,
                                    api_answer_array_new(api, request, array));
        else
                http_fail(request, error);
}

/* ---- actions ---- */

static const struct {
        const char *path;
        JobAction action;
} actions[] = {
        { "/hold", ACT_HOLD },
        { "/release", ACT_RELEASE },
        { "/requeue", ACT_REQUEUE },
        { "/saved", ACT_SAVED },
};

/* A deleted job is not shown in the reply. */
static void forgotten(Job *job, bool repeated, const GError *error, void *arg)
{
        api_answer_job(NULL, repeated, error, arg);
}

void api_act(Api *api, HttpRequest *request, JobAction action)
{
        const HttpCaller *caller = http_request_caller(request);
        bool forget = action == ACT_DELETE;
        gint64 array;
        g_autoptr(Job) job = api_job_or_array(api, request, &array);
        g_autofree char *id = job && array ? api_array_id(api, array) : NULL;

        if (job)
                engine_act_array(api->engine, array, id ? id : job->id, action, caller->user, caller->admin,
                                 forget ? forgotten : api_answer_job,
                                 api_answer_array_new(api, request, forget ? 0 : array));
}

static void act_on_job(HttpRequest *request, void *arg)
{
        const char *path = http_request_route(request)->path;

        for (gsize i = 0; i < G_N_ELEMENTS(actions); i++)
                if (g_str_has_suffix(path, actions[i].path))
                        api_act(arg, request, actions[i].action);
}

/* An empty body asks for nothing in particular. */
static bool take_force(HttpRequest *request, bool *ret, GError **error)
{
        static const char *const known[] = { "force", NULL };
        g_autoptr(json_t) body = NULL;
        gsize len;

        (void)http_request_body(request, &len);
        if (len == 0)
                return true;
        body = http_request_json(request, error);
        return body && json_only(body, "", known, error) && json_get_bool(body, "", "force", ret, error);
}

static void cancel_job(HttpRequest *request, void *arg)
{
        g_autoptr(GError) error = NULL;
        bool force = false;

        if (take_force(request, &force, &error))
                api_act(arg, request, force ? ACT_KILL : ACT_CANCEL);
        else
                http_fail(request, error);
}

/* ---- many at once ---- */

typedef struct {
        Api *api;
        HttpRequest *request;
        const char *key;  /* borrowed from the request */
        GPtrArray *specs; /* Spec * */
        gint64 n_jobs;
        Job *first;
} Batch;

static void batch_free(void *arg)
{
        Batch *batch = arg;

        if (batch->specs)
                g_ptr_array_unref(batch->specs);
        if (batch->first)
                job_unref(batch->first);
        http_request_unref(batch->request);
        g_free(batch);
}

/* Jobs of one transaction have seqs in a row. */
static json_t *batch_jobs(const Batch *batch)
{
        JobQuery query = { .user = batch->first->user, .before_seq = batch->first->seq + batch->n_jobs };
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
        json_t *jobs = json_array();
        gint64 left = batch->n_jobs, next = 0;

        while (left > 0) {
                g_autoptr(GPtrArray) page = NULL;

                query.limit = (int)MIN(left, PAGE);
                page = store_jobs(batch->api->store, &query, &next, NULL);
                if (!page || page->len == 0)
                        break; /* forgotten already, or unreadable: what is left out was made all the same */
                for (guint i = 0; i < page->len; i++) {
                        const Job *job = page->pdata[i];

                        if (job->seq >= batch->first->seq)
                                g_ptr_array_add(rows,
                                                json_pack("{s:s, s:s}", "id", job->id, "name", job->name));
                }
                left -= page->len;
                query.before_seq = ((const Job *)page->pdata[page->len - 1])->seq;
        }
        for (guint i = rows->len; i-- > 0;)
                json_array_append(jobs, rows->pdata[i]);
        return jobs;
}

static char *batch_write(void *arg, gsize *ret_len)
{
        g_autoptr(json_t) reply = json_pack("{s:o}", "jobs", batch_jobs(arg));
        char *text = json_format(reply);

        *ret_len = strlen(text);
        return text;
}

static void batch_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Batch *batch = arg;

        if (error) {
                http_fail(batch->request, error);
                batch_free(batch);
                return;
        }
        batch->first = job_ref(job);
        http_request_set_subject(batch->request, job->id);
        http_reply_written(batch->request, repeated ? 200 : 201, "application/json", batch_write, batch,
                           batch_free);
}

static gint64 jobs_of(const Spec *spec)
{
        g_autoptr(GArray) indices = NULL;
        int at_once;

        if (!spec->array || !spec_array(spec->array, &indices, &at_once, NULL))
                return 1;
        return indices->len;
}

static bool take_entry(Batch *batch, size_t i, json_t *entry, GError **error)
{
        Spec *spec;

        if (!json_is_object(entry))
                return err_set(error, ERR_INVALID, "jobs[%zu] must be an object", i);
        spec = api_take_spec(batch->api, batch->request, entry, error);
        if (!spec)
                return err_prefix(error, "jobs[%zu]: ", i);
        g_ptr_array_add(batch->specs, spec);
        batch->n_jobs += jobs_of(spec);
        return true;
}

static bool take_batch(Batch *batch, GError **error)
{
        static const char *const known[] = { "jobs", NULL };
        g_autoptr(json_t) body = http_request_json(batch->request, error);
        json_t *entries = NULL, *entry;
        size_t i;

        if (!body || !json_only(body, "", known, error) ||
            !json_get_array(body, "", "jobs", BATCH_MAX, &entries, error))
                return false;
        if (json_array_size(entries) == 0)
                return err_set(error, ERR_INVALID, "jobs: a list of 1 to %d specifications is needed",
                               BATCH_MAX);
        json_array_foreach(entries, i, entry) {
                if (!cancel_check())
                        return err_set_errno(error, errno, "the batch was given up");
                if (!take_entry(batch, i, entry, error))
                        return false;
        }
        if (batch->n_jobs > BATCH_MAX)
                return err_set(error, ERR_INVALID,
                               "jobs: their arrays make %" G_GINT64_FORMAT
                               " jobs, and one request makes at most %d",
                               batch->n_jobs, BATCH_MAX);
        return true;
}

/* Takes the batch. */
static void run_batch(Batch *batch)
{
        const HttpCaller *caller = http_request_caller(batch->request);
        g_autoptr(GError) error = NULL;

        if (take_batch(batch, &error)) {
                EngineSubmission submission = { .user = caller->user,
                                                .admin = caller->admin,
                                                .specs = (Spec *const *)batch->specs->pdata,
                                                .n_specs = (int)batch->specs->len,
                                                .idempotency_key = batch->key };

                engine_submit(batch->api->engine, &submission, batch_done, batch);
                return;
        }
        http_fail(batch->request, error);
        batch_free(batch);
}

static void submit_batch(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        const char *key = NULL;
        Batch *batch;

        if (!api_take_key(request, &key, &error)) {
                http_fail(request, error);
                return;
        }
        batch = g_new0(Batch, 1);
        *batch = (Batch){ .api = api,
                          .request = http_request_ref(request),
                          .key = key,
                          .specs = g_ptr_array_new_with_free_func((GDestroyNotify)spec_unref) };
        run_batch(batch);
}

const HttpRoute change_routes[] = {
        { "POST", "/v1/jobs/batch", ACCESS_JOB, VERB_CREATE, submit_batch,
          "Submit many jobs, all or none; they may name each other in after.", .body_max = BATCH_BYTES_MAX,
          .request = "Batch", .reply = "BatchJobs", .reply_status = 201, .on_pool = true },
        { "PATCH", "/v1/jobs/{job}", ACCESS_JOB, VERB_UPDATE, change_job,
          "Change queue, priority, labels or annotations of a job or an array.", .query = whose_job,
          .body_max = CHANGE_MAX, .request = "JobChange", .reply = "Job" },
        { "POST", "/v1/jobs/{job}/cancel", ACCESS_JOB, VERB_DELETE, cancel_job,
          "Cancel a job or an array; with force, or when it is stopping for good already, without its grace.",
          .query = whose_job, .body_max = CHANGE_MAX, .request = "Cancel", .reply = "Job" },
        { "POST", "/v1/jobs/{job}/hold", ACCESS_JOB, VERB_UPDATE, act_on_job,
          "Hold a job or an array: it waits, and stops first if it runs.", .query = whose_job,
          .reply = "Job" },
        { "POST", "/v1/jobs/{job}/release", ACCESS_JOB, VERB_UPDATE, act_on_job,
          "Let a job or an array that is held go on.", .query = whose_job, .reply = "Job" },
        { "POST", "/v1/jobs/{job}/requeue", ACCESS_JOB, VERB_UPDATE, act_on_job,
          "Stop a running job, or those of an array, and put it back into its queue.", .query = whose_job,
          .reply = "Job" },
        { "POST", "/v1/jobs/{job}/saved", ACCESS_JOB, VERB_UPDATE, act_on_job,
          "Say that the job's work up to now survives an eviction.", .query = whose_job, .reply = "Job" },
        { 0 },
};
