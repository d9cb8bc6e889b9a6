/* Events over HTTP: pages, and a resumable stream of server-sent events. */
#include "api/v1/live.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "model/array.h"

enum { PAGE = 256, LIST_MAX = 10000 };

json_t *api_format_event(const Event *event)
{
        g_autofree char *time = clock_format(event->time);
        json_t *data = event->data ? json_loads(event->data, 0, NULL) : NULL;

        return json_pack("{s:I, s:s, s:s, s:s*, s:s*, s:s?, s:s?, s:s, s:o}", "revision",
                         (json_int_t)event->revision, "time", time, "job",
                         event->subject.kind == SUBJECT_JOB ? event->subject.id : "", "run",
                         event->subject.kind == SUBJECT_RUN ? event->subject.id : NULL, "pipeline",
                         event->subject.kind == SUBJECT_PIPELINE ? event->subject.id : NULL, "name",
                         event->name, "user", event->subject.owner, "kind", event->kind, "data",
                         data ? data : json_object());
}

typedef struct {
        Api *api;
        char *user; /* NULL: sees all */
        gint64 job_seq, since;
        int n_jobs; /* of an array, from job_seq on; 0: one job, or all */
        bool all;   /* until there is no more */
} Follow;

/* Jobs of an array have numbers in a row. */
static EventQuery query_of(const Follow *about, int limit)
{
        return (EventQuery){ .since = about->since,
                             .subject = about->job_seq ? SUBJECT_JOB : SUBJECT_NONE,
                             .seq = about->job_seq,
                             .n = about->n_jobs,
                             .owner = about->n_jobs ? NULL : about->user,
                             .limit = limit };
}

static void set_jobs(Follow *about, const Job *job, gint64 array)
{
        about->job_seq = array ? array : job->seq;
        about->n_jobs = array ? array_size(job->spec) : 0;
}

/* What there was has been sent. */
static StreamState finish(const Follow *follow, GString *out)
{
        g_autofree char *text = NULL;

        if (!follow->all)
                return STREAM_WAIT;
        text = g_strdup_printf("{\"revision\":%" G_GINT64_FORMAT "}", follow->since);
        sse_append(out, NULL, "end", text);
        return STREAM_END;
}

static StreamState follow_pull(GString *out, void *arg)
{
        Follow *follow = arg;
        const EventQuery query = query_of(follow, PAGE);
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = NULL;

        if (engine_revision(follow->api->engine) <= follow->since)
                return finish(follow, out);
        events = store_events(follow->api->store, &query, &error);
        if (!events) {
                g_autoptr(json_t) body = json_from_error(error, NULL);
                g_autofree char *text = json_format(body);

                sse_append(out, NULL, "error", text);
                return STREAM_END;
        }
        for (guint i = 0; i < events->len; i++) {
                const Event *event = events->pdata[i];
                g_autoptr(json_t) body = api_format_event(event);
                g_autofree char *text = json_format(body);
                g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, event->revision);

                sse_append(out, id, event->kind, text);
                follow->since = event->revision;
        }
        return events->len == PAGE ? STREAM_MORE : finish(follow, out);
}

static void follow_close(void *arg)
{
        Follow *follow = arg;

        g_free(follow->user);
        g_free(follow);
}

/* Where to begin: ?since, else Last-Event-ID, else now, or with the oldest event when it ends by itself. */
static bool first_revision(Api *api, HttpRequest *request, bool all, gint64 *ret)
{
        const char *last = http_request_header(request, "Last-Event-ID");
        gint64 fallback = all ? store_events_horizon(api->store) : engine_revision(api->engine);

        if (last && !number_parse("Last-Event-ID", last, 0, G_MAXINT64, &fallback, NULL))
                fallback = 0;
        return http_request_query_int(request, "since", 0, G_MAXINT64, fallback, ret);
}

/* 410 with the revision from which a snapshot taken now goes on. */
static void reply_gone(Api *api, HttpRequest *request, const GError *error)
{
        g_autoptr(json_t) body = json_from_error(error, http_request_id(request));

        json_object_set_new(body, "revision", json_integer(engine_revision(api->engine)));
        http_reply_json(request, err_row(error)->http, body);
}

static bool within_horizon(Api *api, HttpRequest *request, gint64 since)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) probe =
                store_events(api->store, &(EventQuery){ .since = since, .limit = 1 }, &error);

        if (!probe)
                reply_gone(api, request, error);
        return probe != NULL;
}

static void follow_events(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        const char *name = http_request_query(request, "job");
        g_autoptr(Job) job = NULL;
        gint64 since, array;
        Follow *follow;
        bool on;

        if (!api_query_boolean(request, "follow", true, &on) || !first_revision(api, request, !on, &since) ||
            !within_horizon(api, request, since))
                return;
        if (name && !(job = api_find_any(api, request, name, &array)))
                return;
        follow = g_new0(Follow, 1);
        *follow = (Follow){
                .api = api, .user = caller->admin ? NULL : g_strdup(caller->user), .since = since, .all = !on
        };
        if (job)
                set_jobs(follow, job, array);
        live_stream_start(live_stream_new(api, follow_pull, follow_close, follow), request);
}

void api_reply_events(Api *api, HttpRequest *request, const EventQuery *query)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = store_events(api->store, query, &error);
        g_autoptr(json_t) items = json_array(), reply = NULL;

        if (!events) {
                reply_gone(api, request, error);
                return;
        }
        for (guint i = 0; i < events->len; i++)
                json_array_append_new(items, api_format_event(events->pdata[i]));
        reply = json_pack("{s:O, s:I}", "items", items, "revision", (json_int_t)engine_revision(api->engine));
        http_reply_json(request, 200, reply);
}

static void list_events(HttpRequest *request, void *arg)
{
        Api *api = arg;
        Follow about = { .api = api };
        gint64 limit, array;
        g_autoptr(Job) job = NULL;
        EventQuery query;

        if (!http_request_query_int(request, "since", 0, G_MAXINT64, 0, &about.since) ||
            !http_request_query_int(request, "limit", 1, LIST_MAX, 1000, &limit) ||
            !(job = api_job_or_array(api, request, &array)))
                return;
        set_jobs(&about, job, array);
        query = query_of(&about, (int)limit);
        api_reply_events(api, request, &query);
}

static const HttpParameter follow_events_query[] = {
        { "since", HTTP_INTEGER, "Only events with a larger revision, the present one when absent." },
        { "follow", HTTP_BOOLEAN,
          "Wait for more, true when absent. Otherwise begin with the oldest event that is kept, and end with "
          "the newest." },
        { "job", HTTP_STRING, "Only events of this job or array." },
        { "user", HTTP_STRING, WHOSE_JOB },
        { 0 },
};

static const HttpParameter list_events_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "since", HTTP_INTEGER, "Only events with a larger revision." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 10000." },
        { 0 },
};

const HttpRoute event_routes[] = {
        { "GET", "/v1/events", ACCESS_EVENT, VERB_LIST, follow_events,
          "Follow the events as server-sent events; resumes with since or Last-Event-ID.",
          .query = follow_events_query, .reply = "Event", .reply_type = "text/event-stream" },
        { "GET", "/v1/jobs/{job}/events", ACCESS_EVENT, VERB_SHOW, list_events,
          "List the events of a job or an array.", .query = list_events_query, .reply = "EventList" },
        { 0 },
};
