/* Jobs over HTTP: submit, list, show, cancel, members. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"

enum { LIST_MAX = 1000, WAIT_MS_MAX = 30000, KEY_MAX = 128 };

/* ---- submit ---- */

typedef struct {
        HttpRequest *request;
        Api *api;
        bool seed; /* POST /v1/trainer/job: the reply carries that route's members, too */
} Submit;

static json_t *seed_reply(json_t *job)
{
        json_t *reply = json_pack("{s:i, s:s, s:O, s:O}", "code", 200, "msg", "", "job_name",
                                  json_object_get(job, "name"), "job_id", json_object_get(job, "id"));

        json_object_update(reply, job);
        json_decref(job);
        return reply;
}

/* What an answer is written from, by the worker that sends it: the engine's thread only hands it over. */
typedef struct {
        Api *api;
        Job *job;
        bool seed;
} Answer;

static char *answer_write(void *arg, gsize *ret_len)
{
        const Answer *answer = arg;
        g_autoptr(json_t) object = api_format_job(answer->api, answer->job);
        char *text;

        if (answer->seed)
                object = seed_reply(g_steal_pointer(&object));
        text = json_format(object);
        *ret_len = strlen(text);
        return text;
}

static void answer_free(void *arg)
{
        Answer *answer = arg;

        job_unref(answer->job);
        g_free(answer);
}

static void submit_done(Job *job, bool repeated, const GError *error, void *arg)
{
        g_autofree Submit *submit = arg;

        if (error) {
                http_fail(submit->request, error);
        } else {
                Answer *answer = g_new0(Answer, 1);

                *answer = (Answer){ submit->api, job_ref(job), submit->seed };
                http_reply_written(submit->request, repeated ? 200 : 201, "application/json", answer_write,
                                   answer, answer_free);
        }
        http_request_unref(submit->request);
}

/* An input must be there; an output is made at the start, so that a job that is refused leaves nothing. */
static bool check_place(const char *name, const char *path, const char *real, bool write, GError **error)
{
        if (!write && !g_file_test(real, G_FILE_TEST_EXISTS))
                return err_set(error, ERR_NOT_FOUND,
                               "%s: '%s' does not exist\nPut it there with `paddle upload`.", name, path);
        if (write && g_file_test(real, G_FILE_TEST_IS_REGULAR))
                return err_set(error, ERR_CONFLICT, "%s: '%s' is a file, not a directory", name, path);
        return true;
}

/* Replaces a path member by its /pfs form and checks that the caller may use it. */
static bool take_path(Api *api, const HttpCaller *caller, json_t *object, const char *name, bool write,
                      GError **error)
{
        const char *text = NULL;
        StorageAccess access = { caller->user, caller->admin, write };
        g_autofree char *path = NULL, *real = NULL;

        if (!json_get_string(object, "", name, PACKAGE_PATH_MAX, &text, error))
                return false;
        if (!text)
                return true;
        path = pfs_path_normal(text, api->dc, caller->user, error);
        if (!path)
                return err_prefix(error, "%s: ", name);
        real = storage_resolve(api->storage, path, &access, false, error);
        if (!real)
                return err_prefix(error, "%s: ", name);
        if (!check_place(name, path, real, write, error))
                return false;
        json_object_set_new(object, name, json_string(path));
        return true;
}

/* The package must be here; what it requires becomes part of the specification. */
static bool take_package(Api *api, json_t *object, GError **error)
{
        const char *hash = NULL;
        g_autofree char *requirements = NULL;
        g_autoptr(GError) unreadable = NULL;

        if (!json_get_string(object, "", "package", HASH_LEN, &hash, error))
                return false;
        if (!hash)
                return true;
        if (strlen(hash) != HASH_LEN || strspn(hash, "0123456789abcdef") != HASH_LEN)
                return err_set(error, ERR_INVALID,
                               "package: '%s' is not a content hash of %d hexadecimal digits", hash,
                               HASH_LEN);
        if (!package_store_has(api->packages, hash))
                return err_set(error, ERR_NOT_FOUND,
                               "package: '%s' is not on this server\nSend it to /v1/packages first.", hash);
        requirements = package_store_requirements(api->packages, hash, &unreadable);
        if (unreadable) {
                g_propagate_error(error, g_steal_pointer(&unreadable));
                return false;
        }
        if (requirements)
                json_object_set_new(object, "requirements", json_string(requirements));
        return true;
}

static bool key_is_valid(const char *key)
{
        if (*key == '\0' || strlen(key) > KEY_MAX)
                return false;
        for (; *key; key++)
                if (*key < 0x20 || *key > 0x7e)
                        return false;
        return true;
}

static Spec *take_spec(Api *api, HttpRequest *request, json_t *object, GError **error)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *key = http_request_header(request, "Idempotency-Key");

        if (key && !key_is_valid(key)) {
                err_set(error, ERR_INVALID, "Idempotency-Key: '%.40s' is not 1 to %d printable characters",
                        key, KEY_MAX);
                return NULL;
        }
        if (!take_path(api, caller, object, "input", false, error) ||
            !take_path(api, caller, object, "output", true, error) || !take_package(api, object, error))
                return NULL;
        return spec_parse(object, error);
}

static void submit_spec(Api *api, HttpRequest *request, json_t *object, bool seed)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) spec = take_spec(api, request, object, &error);
        Submit *submit;

        if (!spec) {
                http_fail(request, error);
                return;
        }
        submit = g_new0(Submit, 1);
        *submit = (Submit){ http_request_ref(request), api, seed };
        engine_submit(api->engine, http_request_caller(request)->user, spec,
                      http_request_header(request, "Idempotency-Key"), submit_done, submit);
}

static void submit_job(HttpRequest *request, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = http_request_json(request, &error);

        if (!object)
                http_fail(request, error);
        else
                submit_spec(arg, request, object, false);
}

static void submit_seed_job(HttpRequest *request, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) seed = http_request_json(request, &error);
        g_autoptr(json_t) object = seed ? spec_from_seed(seed, &error) : NULL;

        if (!object)
                http_fail(request, error);
        else
                submit_spec(arg, request, object, true);
}

/* ---- list ---- */

static bool query_states(const char *text, guint32 *ret, GError **error)
{
        g_auto(GStrv) words = g_strsplit(text, ",", JOB_STATES + 1);
        guint32 states = 0;

        for (char **word = words; *word; word++) {
                JobState state;

                if (!job_state_parse(*word, &state))
                        return err_set(
                                error, ERR_INVALID,
                                "state: '%.40s' is not a state of a job\nStates are submitted, queued, "
                                "suspended, admitted, starting, running, preempting, stopping, succeeded, "
                                "failed, "
                                "cancelled, preempted.",
                                *word);
                states |= 1u << state;
        }
        *ret = states;
        return true;
}

/* Whose jobs: the caller's, or for an administrator another user's or (all=true) everyone's. */
static bool query_user(HttpRequest *request, const char **ret, GError **error)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *user = http_request_query(request, "user"), *all = http_request_query(request, "all");
        bool everyone = false;

        if (all && !boolean_parse("all", all, &everyone, error))
                return false;
        if (!caller->admin && (everyone || (user && strcmp(user, caller->user) != 0)))
                return err_set(error, ERR_DENIED, "'%s' may list only their own jobs", caller->user);
        *ret = everyone ? NULL : user ? user : caller->user;
        return true;
}

static void list_jobs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *states = http_request_query(request, "state");
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) jobs = NULL;
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;
        JobQuery query = { .name = http_request_query(request, "name") };
        gint64 limit, after, next = 0;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &after))
                return;
        query.limit = (int)limit;
        query.before_seq = after;
        if (!query_user(request, &query.user, &error) ||
            (states && !query_states(states, &query.states, &error)) ||
            !(jobs = store_jobs(api->store, &query, &next, &error))) {
                http_fail(request, error);
                return;
        }
        for (guint i = 0; i < jobs->len; i++) {
                json_t *item = api_format_job(api, jobs->pdata[i]);

                json_object_del(item, "members");
                json_object_del(item, "spec");
                json_array_append_new(items, item);
        }
        reply = json_pack("{s:O, s:o}", "items", items, "next",
                          next ? json_sprintf("%" G_GINT64_FORMAT, next) : json_null());
        http_reply_json(request, 200, reply);
}

/* ---- show ---- */

typedef struct {
        Api *api;
        HttpRequest *request;
        char *id;
        gint64 revision;
        Waiter *waiter;
} Watch;

static bool watch_check(bool expired, void *arg)
{
        Watch *watch = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job =
                engine_find(watch->api->engine, http_request_caller(watch->request)->user, watch->id, &error);

        if (job && !expired && job->revision <= watch->revision)
                return true;
        if (job) {
                g_autoptr(json_t) reply = api_format_job(watch->api, job);

                http_reply_json(watch->request, 200, reply);
        } else {
                http_fail(watch->request, error);
        }
        http_request_unref(watch->request);
        g_free(watch->id);
        g_free(watch);
        return false;
}

static void reply_view(Api *api, HttpRequest *request, const Job *job)
{
        g_autoptr(GBytes) text = rendered_find(api->rendered, job);
        const char *bytes;
        gsize len;

        if (!text) {
                g_autoptr(json_t) object = api_format_job(api, job);
                char *formatted = json_format(object);

                text = g_bytes_new_take(formatted, strlen(formatted));
                rendered_keep(api->rendered, job, text);
        }
        bytes = g_bytes_get_data(text, &len);
        http_reply(request, 200, "application/json", bytes, len);
}

static void show_job(HttpRequest *request, void *arg)
{
        Api *api = arg;
        gint64 wait_ms, revision;
        g_autoptr(Job) job = NULL;
        Watch *watch;

        if (!http_request_query_int(request, "wait_ms", 0, WAIT_MS_MAX, 0, &wait_ms) ||
            !http_request_query_int(request, "revision", 0, G_MAXINT64, 0, &revision) ||
            !(job = api_job(api, request)))
                return;
        if (!wait_ms || job->revision > revision || job_state_is_final(job->state)) {
                reply_view(api, request, job);
                return;
        }
        watch = g_new0(Watch, 1);
        *watch = (Watch){ api, http_request_ref(request), g_strdup(job->id), revision, NULL };
        (void)notifier_add(api->notifier, NULL, clock_monotonic_ms() + wait_ms, watch_check, watch);
}

static void list_members(HttpRequest *request, void *arg)
{
        g_autoptr(Job) job = api_job(arg, request);
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;

        if (!job)
                return;
        for (int i = 0; i < job->n_members; i++)
                json_array_append_new(items, member_format(job, &job->members[i]));
        reply = json_pack("{s:O}", "items", items);
        http_reply_json(request, 200, reply);
}

/* ---- cancel ---- */

static void cancel_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Submit *submit = arg; /* a cancel is answered as a submit is, with 200 */

        submit_done(job, true, error, submit);
}

static void cancel_job(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        Submit *submit;

        if (!job)
                return;
        submit = g_new0(Submit, 1);
        *submit = (Submit){ http_request_ref(request), api, false };
        engine_cancel(api->engine, job->id, http_request_caller(request)->user, cancel_done, submit);
}

#define QUERY_USER "user:string:Whose job a name means (administrators)."

const HttpRoute job_routes[] = {
        { "POST", "/v1/jobs", HTTP_USER, HTTP_BODY_MEMORY, SPEC_BODY_MAX, submit_job,
          "Submit a job; with an Idempotency-Key a repeat answers 200 with the same job.", NULL, "Spec",
          "Job", 201, NULL },
        { "POST", "/v1/trainer/job", HTTP_USER, HTTP_BODY_MEMORY, SPEC_BODY_MAX, submit_seed_job,
          "Submit a job in the older form.", NULL, "SeedSpec", "SeedJob", 201, NULL },
        { "GET", "/v1/jobs", HTTP_USER, HTTP_BODY_NONE, 0, list_jobs, "List jobs, newest first.",
          "user:string:Whose jobs (administrators).;all:boolean:Everyone's jobs "
          "(administrators).;name:string:Only this name.;"
          "state:string:Only these states, separated by commas.;limit:integer:At most so many, 1 to 1000.;"
          "after:string:Marker of the page before.",
          NULL, "JobList", 0, NULL },
        { "GET", "/v1/jobs/{job}", HTTP_USER, HTTP_BODY_NONE, 0, show_job,
          "Show a job by id or name, or wait for its next change.",
          QUERY_USER ";wait_ms:integer:Wait so long, at most 30000, for a newer "
                     "revision.;revision:integer:The revision already known.",
          NULL, "Job", 0, NULL },
        { "DELETE", "/v1/jobs/{job}", HTTP_USER, HTTP_BODY_NONE, 0, cancel_job, "Cancel a job.", QUERY_USER,
          NULL, "Job", 0, NULL },
        { "GET", "/v1/jobs/{job}/members", HTTP_USER, HTTP_BODY_NONE, 0, list_members,
          "List the members of a job.", QUERY_USER, NULL, "MemberList", 0, NULL },
        { 0 },
};
