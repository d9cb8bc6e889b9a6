/* Jobs over HTTP: submit, list, show, cancel, members. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"

enum {
        LIST_MAX = 1000,
        WAIT_MS_MAX = 30000,
        LIVE_MAX = 2000 /* members that are measured for one request */
};

/* ---- submit ---- */

typedef struct {
        HttpRequest *request;
        Api *api;
        bool cloud; /* POST /v1/trainer/job: the reply carries that route's members, too */
} Submit;

static json_t *cloud_reply(json_t *job)
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
        bool cloud;
} Answer;

/* An array's, or one with the members of PaddlePaddle Cloud's route. */
static char *answer_tree(const Answer *answer)
{
        const Job *job = answer->job;
        g_autoptr(json_t) object =
                job->array_seq ? api_format_array(answer->api, job, false) : api_format_job(answer->api, job);

        if (answer->cloud)
                object = cloud_reply(g_steal_pointer(&object));
        return json_format(object);
}

static char *answer_write(void *arg, gsize *ret_len)
{
        const Answer *answer = arg;
        bool plain = !answer->job->array_seq && !answer->cloud;
        char *text = plain ? api_new_job_text(answer->api, answer->job) : answer_tree(answer);

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

                *answer = (Answer){ submit->api, job_ref(job), submit->cloud };
                http_request_set_subject(submit->request, job->id);
                http_reply_written(submit->request, repeated ? 200 : 201, "application/json", answer_write,
                                   answer, answer_free);
        }
        http_request_unref(submit->request);
}

static void submit_spec(Api *api, HttpRequest *request, json_t *object, bool cloud)
{
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(GError) error = NULL;
        EngineSubmission submission = { .user = caller->user, .admin = caller->admin, .n_specs = 1 };
        g_autoptr(Spec) spec = NULL;
        bool dry_run = false;
        Submit *submit;

        if (api_spec_takes_long(api, object) && http_request_to_pool(request))
                return;
        if (!api_query_flag(request, "dry_run", &dry_run, &error) ||
            !api_query_flag(request, "check", &submission.only_check, &error) ||
            !api_take_key(request, &submission.idempotency_key, &error) ||
            !(spec = api_take_spec(api, request, object, &error))) {
                http_fail(request, error);
                return;
        }
        if (dry_run) {
                api_dry_run(api, request, g_steal_pointer(&spec));
                return;
        }
        submission.specs = &spec;
        if (submission.only_check) {
                engine_submit(api->engine, &submission, api_answer_done, http_request_ref(request));
                return;
        }
        submit = g_new0(Submit, 1);
        *submit = (Submit){ http_request_ref(request), api, cloud };
        engine_submit(api->engine, &submission, submit_done, submit);
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

static void submit_cloud_job(HttpRequest *request, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) cloud = http_request_json(request, &error);
        g_autoptr(json_t) object = cloud ? spec_from_cloud_job(cloud, &error) : NULL;

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

static bool query_labels(char *const *labels, GError **error)
{
        for (; labels && *labels; labels++)
                if (**labels == '=' || !strchr(*labels, '='))
                        return err_set(error, ERR_INVALID, "label: '%.80s' is not KEY=VALUE", *labels);
        return true;
}

/* The array of this name or id, or that a job of it names. */
static bool query_array(Api *api, HttpRequest *request, gint64 *ret)
{
        const char *name = http_request_query(request, "array");
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;
        gint64 array;

        if (!name)
                return true;
        job = api_find_any(api, request, name, &array);
        if (!job)
                return false;
        if (job->array_seq) {
                *ret = job->array_seq;
                return true;
        }
        err_set(&error, ERR_INVALID, "array: job '%s' is of no array", job->id);
        http_fail(request, error);
        return false;
}

/* ?collapse=true: an array is one item, if its own state is asked for. Its jobs have numbers in a row, so the
 * list goes on before the first of them. */
typedef struct {
        Api *api;
        JobQuery query;
        bool collapse, live;
        int members; /* that were measured */
        json_t *items;
        gint64 next;
} List;

enum { CHUNK = 20 }; /* jobs read at a time while arrays are collapsed */

static bool asks_for(const List *list, const json_t *item)
{
        JobState state;

        return !list->query.states ||
               (job_state_parse(json_string_value(json_object_get(item, "state")), &state) &&
                (list->query.states >> state & 1));
}

static void add_item(List *list, const Job *job, bool whole)
{
        json_t *item = whole ? api_format_array(list->api, job, false) : api_format_job(list->api, job);

        if (whole && !asks_for(list, item)) {
                json_decref(item);
                return;
        }
        json_object_del(item, "members");
        json_object_del(item, "spec");
        if (list->live && !whole && (list->members += job->n_members) <= LIVE_MAX)
                json_object_set_new(item, "usage_now", usage_of_job(list->api, job));
        json_array_append_new(list->items, item);
}

static bool add_chunk(List *list, int limit, GError **error)
{
        g_autoptr(GPtrArray) jobs = NULL;
        gint64 array = 0;

        list->query.limit = list->collapse ? MIN(limit, CHUNK) : limit;
        jobs = store_jobs(list->api->store, &list->query, &list->next, error);
        for (guint i = 0; jobs && i < jobs->len; i++) {
                const Job *job = jobs->pdata[i];

                if (list->collapse && job->array_seq && job->array_seq == array)
                        continue;
                array = list->collapse ? job->array_seq : 0;
                add_item(list, job, array != 0);
        }
        if (list->next && array)
                list->next = MIN(list->next, array); /* behind the last page's last array */
        list->query.before_seq = list->next;
        return jobs != NULL;
}

/* Ends where a chunk brings nothing: a page may be short and yet not the last. */
static bool fill_list(List *list, int limit, GError **error)
{
        int before, n = 0;

        do {
                before = n;
                if (!add_chunk(list, limit - before, error))
                        return false;
                n = (int)json_array_size(list->items);
        } while (list->collapse && list->next && n > before && n < limit);
        return true;
}

/* Behind the page that ends with `next`, at most `max`. */
static bool count_more(Api *api, JobQuery query, gint64 next, int max, int *ret, GError **error)
{
        query.before_seq = next;
        *ret = 0;
        return !next || !max || store_jobs_count(api->store, &query, max, ret, error);
}

static void list_jobs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *states = http_request_query(request, "state");
        g_auto(GStrv) labels = http_request_queries(request, "label");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;
        List list = { .api = api,
                      .items = items,
                      .query = { .name = http_request_query(request, "name"),
                                 .queue = http_request_query(request, "queue"),
                                 .labels = (const char *const *)labels } };
        gint64 limit, after, count;
        int more = 0;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "count", 0, LIST_MAX, 0, &count) ||
            !api_query_boolean(request, "usage", false, &list.live) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &after) ||
            !query_array(api, request, &list.query.array_seq))
                return;
        list.query.before_seq = after;
        if (!query_user(request, &list.query.user, &error) || !query_labels(labels, &error) ||
            !api_query_flag(request, "collapse", &list.collapse, &error) ||
            (states && !query_states(states, &list.query.states, &error)) ||
            !fill_list(&list, (int)limit, &error) ||
            !count_more(api, list.query, list.next, (int)count, &more, &error)) {
                http_fail(request, error);
                return;
        }
        reply = json_pack("{s:O, s:o}", "items", items, "next",
                          list.next ? json_sprintf("%" G_GINT64_FORMAT, list.next) : json_null());
        if (count > 0)
                json_object_set_new(reply, "more", json_integer(more));
        http_reply_json(request, 200, reply);
}

/* ---- show ---- */

typedef struct {
        Api *api;
        HttpRequest *request;
        char *id;
        gint64 array; /* not 0: this whole array, of which `id` is a job */
        gint64 revision;
        bool ended; /* changes before the end are passed over */
} Watch;

static void watch_free(Watch *watch)
{
        http_request_unref(watch->request);
        g_free(watch->id);
        g_free(watch);
}

static bool is_news(const Watch *watch, bool open, gint64 revision)
{
        return !open || (!watch->ended && revision > watch->revision);
}

static bool array_is_news(const Watch *watch)
{
        gint64 revision;
        bool open = engine_array_open(watch->api->engine, watch->array, &revision);

        return is_news(watch, open, revision);
}

static bool watch_check(bool expired, void *arg)
{
        Watch *watch = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;

        if (watch->array && !expired && !array_is_news(watch))
                return true;
        job = engine_find(watch->api->engine, http_request_caller(watch->request)->user, watch->id, &error);
        if (job && !watch->array && !expired &&
            !is_news(watch, !job_state_is_final(job->state), job->revision))
                return true;
        if (job && watch->array) {
                g_autoptr(json_t) reply = api_format_array(watch->api, job, true);

                http_reply_json(watch->request, 200, reply);
        } else if (job) {
                char *text = api_new_job_text(watch->api, job);

                http_reply_take(watch->request, 200, "application/json", text, strlen(text));
        } else {
                http_fail(watch->request, error);
        }
        watch_free(watch);
        return false;
}

static void reply_now(Api *api, HttpRequest *request, const Job *job, gint64 array)
{
        if (array) {
                g_autoptr(json_t) reply = api_format_array(api, job, true);

                http_reply_json(request, 200, reply);
        } else {
                g_autoptr(GBytes) text = api_job_text(api, job);

                http_reply(request, 200, "application/json", g_bytes_get_data(text, NULL),
                           g_bytes_get_size(text));
        }
}

static void show_job(HttpRequest *request, void *arg)
{
        Api *api = arg;
        gint64 wait_ms, revision, array;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;
        Watch *watch;
        bool ended;

        if (!http_request_query_int(request, "wait_ms", 0, WAIT_MS_MAX, 0, &wait_ms) ||
            !http_request_query_int(request, "revision", 0, G_MAXINT64, 0, &revision))
                return;
        if (!api_query_flag(request, "ended", &ended, &error)) {
                http_fail(request, error);
                return;
        }
        job = api_job_or_array(api, request, &array);
        if (!job)
                return;
        watch = g_new0(Watch, 1);
        *watch = (Watch){ api, http_request_ref(request), g_strdup(job->id), array, revision, ended };
        if (!wait_ms ||
            (array ? array_is_news(watch) : is_news(watch, !job_state_is_final(job->state), job->revision))) {
                reply_now(api, request, job, array);
                watch_free(watch);
                return;
        }
        (void)notifier_add(api->notifier, NULL, clock_monotonic_ms() + wait_ms, watch_check, watch);
}

static void list_members(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = NULL;
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;
        bool brief;

        if (!api_query_flag(request, "brief", &brief, &error)) {
                http_fail(request, error);
                return;
        }
        job = api_job(api, request);
        if (!job)
                return;
        for (int i = 0; i < job->n_members; i++) {
                json_t *item = member_format(job, &job->members[i]);

                if (!brief)
                        json_object_set_new(item, "usage",
                                            i < LIVE_MAX ? usage_of_member(api, job, &job->members[i])
                                                         : json_null());
                json_array_append_new(items, item);
        }
        reply = json_pack("{s:O}", "items", items);
        http_reply_json(request, 200, reply);
}

/* ---- cancel, forget ---- */

static void cancel_job(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        bool forget;

        if (api_query_flag(request, "forget", &forget, &error))
                api_act(api, request, forget ? ACT_DELETE : ACT_CANCEL);
        else
                http_fail(request, error);
}

static const HttpParameter submit_job_query[] = {
        { "dry_run", HTTP_BOOLEAN, "Make nothing, only say what would become of it." },
        { "check", HTTP_BOOLEAN,
          "Make nothing. 204 when the job would be accepted, else the error of the submission." },
        { 0 },
};

static const HttpParameter list_jobs_query[] = {
        { "user", HTTP_STRING, "Whose jobs (administrators)." },
        { "all", HTTP_BOOLEAN, "Everyone's jobs (administrators)." },
        { "name", HTTP_STRING, "Only this name." },
        { "state", HTTP_STRING, "Only these states, separated by commas." },
        { "queue", HTTP_STRING, "Only jobs of this queue." },
        { "label", HTTP_ARRAY, "Only jobs that carry this KEY=VALUE, and each that follows." },
        { "array", HTTP_STRING, "Only jobs of this array, or of the one that this job is of." },
        { "collapse", HTTP_BOOLEAN,
          "An array is one item, with how many of its jobs are in which state, and is found by its own "
          "state." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { "count", HTTP_INTEGER,
          "Also count the jobs behind this page in the reply's more, up to this many, 0 to 1000." },
        { "usage", HTTP_BOOLEAN, "Also measure what running jobs use now, the first of the page." },
        { 0 },
};

static const HttpParameter show_job_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "wait_ms", HTTP_INTEGER, "Wait so long, at most 30000, for a newer revision." },
        { "revision", HTTP_INTEGER, "The revision already known." },
        { "ended", HTTP_BOOLEAN, "Wait for its end and not for changes before it." },
        { 0 },
};

static const HttpParameter cancel_job_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "forget", HTTP_BOOLEAN, "Forget it with its events, 204." },
        { 0 },
};

static const HttpParameter list_members_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "brief", HTTP_BOOLEAN, "Without measuring what they use." },
        { 0 },
};

const HttpRoute job_routes[] = {
        { "POST", "/v1/jobs", ACCESS_JOB, VERB_CREATE, submit_job,
          "Submit a job; with an Idempotency-Key a repeat answers 200 with the same job.",
          .query = submit_job_query, .body_max = SPEC_BODY_MAX, .request = "Spec", .reply = "Job",
          .reply_status = 201 },
        { "POST", "/v1/trainer/job", ACCESS_JOB, VERB_CREATE, submit_cloud_job,
          "Submit a job in the older form.", .body_max = SPEC_BODY_MAX, .request = "SeedSpec",
          .reply = "SeedJob", .reply_status = 201 },
        { "GET", "/v1/jobs", ACCESS_JOB, VERB_LIST, list_jobs, "List jobs, newest first.",
          .query = list_jobs_query, .reply = "JobList" },
        { "GET", "/v1/jobs/{job}", ACCESS_JOB, VERB_SHOW, show_job,
          "Show a job or a whole array by id or name, or wait for its next change.", .query = show_job_query,
          .reply = "Job" },
        { "DELETE", "/v1/jobs/{job}", ACCESS_JOB, VERB_DELETE, cancel_job,
          "Cancel a job or an array, once more to kill what is stopping, or forget one that is finished.",
          .query = cancel_job_query, .reply = "Job" },
        { "GET", "/v1/jobs/{job}/members", ACCESS_JOB, VERB_SHOW, list_members, "List the members of a job.",
          .query = list_members_query, .reply = "MemberList" },
        { 0 },
};
