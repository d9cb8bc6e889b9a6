/* Schedules over HTTP: create, list, show, their coming ticks, stop, delete. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "schedule/cron.h"

enum {
        BODY_MAX = 64 * 1024,
        LIST_MAX = 1000,
        WORD_MAX = 255,
        TICKS_MAX = 100,
        CONCURRENCY_MAX = 1000000,
        EXPIRE_MAX = 366 * 86400,
};

/* ---- as clients see them ---- */

/* `pipeline_name`: NULL if it was deleted. */
static json_t *format_schedule(const ScheduleRecord *schedule, const char *pipeline_name)
{
        g_autofree char *id = numbered_id_format("schedule", schedule->seq);
        g_autofree char *pipeline = numbered_id_format("ppl", schedule->pipeline);
        ScheduleState state = (ScheduleState)schedule->state;

        return json_pack(
                "{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:i, s:s, s:o, s:o, s:I, s:s, s:I, s:b, s:s, s:s, s:o, s:I, s:o, "
                "s:o}",
                "id", id, "name", schedule->name, "user", schedule->user, "run_user",
                schedule->run_user ? schedule->run_user : schedule->user, "description",
                schedule->note ? schedule->note : "", "pipeline", pipeline, "pipeline_name", pipeline_name,
                "version", schedule->version, "crontab", schedule->crontab, "start_at",
                json_time(schedule->start_at), "end_at", json_time(schedule->end_at), "concurrency",
                (json_int_t)schedule->concurrency, "policy",
                schedule_policy_name((SchedulePolicy)schedule->policy), "expire_s",
                (json_int_t)schedule->expire_s, "catchup", schedule->catchup, "state",
                schedule_state_name(state), "message", schedule->message ? schedule->message : "", "next_at",
                json_time(state == SCHEDULE_RUNNING ? schedule->next_at : 0), "revision",
                (json_int_t)schedule->revision, "created_at", json_time(schedule->created), "updated_at",
                json_time(schedule->updated));
}

/* ---- which one ---- */

/* By name, of `user`; else by id. */
static ScheduleRecord *look_up(Api *api, const char *user, const char *word, GError **error)
{
        ScheduleRecord *schedule = store_schedule_by_name(api->store, user, word, error);
        gint64 seq;

        if (schedule || !numbered_id_parse("schedule", word, &seq))
                return schedule;
        g_clear_error(error);
        return store_schedule(api->store, seq, error);
}

ScheduleRecord *api_find_schedule(Api *api, HttpRequest *request, AccessVerb verb, const char *word,
                                  GError **error)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *named = http_request_query(request, "user");
        g_autoptr(GError) why = NULL;
        g_autoptr(ScheduleRecord) schedule =
                look_up(api, named && caller->admin ? named : caller->user, word, &why);

        if (schedule && api_may(request, ACCESS_SCHEDULE, verb, schedule->user))
                return g_steal_pointer(&schedule);
        api_set_absent(error, &why, "schedule", word, caller->user,
                       "`paddle schedule list` shows the schedules.");
        return NULL;
}

/* The one that the route names, if the caller may do this with it. NULL: an error was already sent. */
static ScheduleRecord *find_schedule(Api *api, HttpRequest *request)
{
        const HttpRoute *route = http_request_route(request);
        g_autoptr(GError) error = NULL;
        bool shows = route->verb == VERB_SHOW || route->verb == VERB_LIST;
        ScheduleRecord *schedule =
                shows || auth_check_runs(http_request_caller(request), &error)
                        ? api_find_schedule(api, request, (AccessVerb)route->verb,
                                            http_request_param(request, "schedule"), &error)
                        : NULL;

        if (schedule) {
                g_autofree char *id = numbered_id_format("schedule", schedule->seq);

                http_request_set_owner(request, schedule->user);
                http_request_set_subject(request, id);
        } else {
                http_fail(request, error);
        }
        return schedule;
}

/* ---- create ---- */

typedef struct {
        HttpRequest *request;
        int status;          /* 204: without a body */
        char *pipeline_name; /* read before the command: an answer does not wait for the store */
} Change;

static void change_done(const ScheduleRecord *schedule, const GError *error, void *arg)
{
        g_autofree Change *change = arg;
        g_autofree char *pipeline_name = change->pipeline_name;
        g_autoptr(json_t) reply = schedule ? format_schedule(schedule, pipeline_name) : NULL;

        if (error)
                http_fail(change->request, error);
        else if (change->status == 204)
                http_reply(change->request, 204, NULL, NULL, 0);
        else
                http_reply_json(change->request, change->status, reply);
        http_request_unref(change->request);
}

/* `schedule`: as it is before the change. */
static Change *change_new(HttpRequest *request, const ScheduleRecord *schedule, int status)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ http_request_ref(request), status, g_strdup(schedule->pipeline_name) };
        return change;
}

static bool take_time(const json_t *body, const char *name, gint64 *ret, GError **error)
{
        const char *text = NULL;
        g_autoptr(GDateTime) time = NULL;

        if (!json_get_string(body, "", name, WORD_MAX, &text, error))
                return false;
        time = text ? g_date_time_new_from_iso8601(text, NULL) : NULL;
        if (text && !time)
                return err_set(error, ERR_INVALID,
                               "%s: '%.40s' is not a time with a zone, such as 2026-03-01T22:00:00Z", name,
                               text);
        *ret = time ? g_date_time_to_unix(time) * 1000 : 0;
        return true;
}

/* Texts are copied. */
static bool take_text(const json_t *body, const char *name, int max, char **ret, GError **error)
{
        const char *text = NULL;

        if (!json_get_string(body, "", name, max, &text, error))
                return false;
        *ret = g_strdup(text);
        return true;
}

static bool take_rule(const json_t *body, ScheduleRecord *ret, GError **error)
{
        const char *policy = NULL;
        SchedulePolicy parsed = SCHEDULE_SUSPEND;

        ret->catchup = true;
        if (!json_get_int(body, "", "concurrency", 0, CONCURRENCY_MAX, &ret->concurrency, error) ||
            !json_get_int(body, "", "expire_s", 0, EXPIRE_MAX, &ret->expire_s, error) ||
            !json_get_bool(body, "", "catchup", &ret->catchup, error) ||
            !json_get_string(body, "", "policy", WORD_MAX, &policy, error) ||
            !schedule_policy_parse(policy ? policy : "", &parsed, error))
                return false;
        ret->policy = (guint8)parsed;
        return take_time(body, "start_at", &ret->start_at, error) &&
               take_time(body, "end_at", &ret->end_at, error);
}

static bool take_texts(const json_t *body, ScheduleRecord *ret, GError **error)
{
        if (!take_text(body, "name", WORD_MAX, &ret->name, error) ||
            !take_text(body, "crontab", WORD_MAX + 1, &ret->crontab, error) ||
            !take_text(body, "description", 4 * SCHEDULE_NOTE_MAX, &ret->note, error))
                return false;
        return ret->name && ret->crontab
                       ? true
                       : err_set(error, ERR_INVALID, "%s is missing", ret->name ? "crontab" : "name");
}

/* The older interface rounds these. */
static bool check_crontab(const char *crontab, GError **error)
{
        g_autoptr(Cron) cron = cron_parse(crontab, NULL, error);

        return cron && (!cron_is_rounded(cron) ||
                        err_set(error, ERR_INVALID,
                                "crontab '%s': it is not a whole number of seconds, at least 1\n"
                                "The smallest one is '@every 1s'.",
                                crontab));
}

/* The version of the stored pipeline that the body names; the newest one if it names none. */
static bool take_pipeline(Api *api, HttpRequest *request, const json_t *body, ScheduleRecord *ret,
                          GError **error)
{
        const char *word = NULL;
        gint64 number = 0;
        g_autoptr(PipelineRecord) pipeline = NULL;
        g_autoptr(PipelineVersion) version = NULL;

        if (!json_get_string(body, "", "pipeline", WORD_MAX, &word, error) ||
            !json_get_int(body, "", "version", 1, G_MAXINT, &number, error))
                return false;
        if (!word)
                return err_set(error, ERR_INVALID,
                               "pipeline is missing: the name or id of a stored pipeline");
        pipeline = api_find_pipeline(api, request, VERB_SHOW, word, error);
        version = pipeline ? store_pipeline_version(api->store, pipeline->seq, (int)number, false, error)
                           : NULL;
        if (!version)
                return false;
        ret->pipeline = pipeline->seq;
        ret->pipeline_name = g_strdup(pipeline->name);
        ret->version = version->version;
        ret->fs = g_strdup(version->fs);
        return true;
}

/* The record, or NULL with an error. */
static ScheduleRecord *take_body(Api *api, HttpRequest *request, GError **error)
{
        static const char *const known[] = { "name",        "pipeline", "version",     "crontab",
                                             "description", "start_at", "end_at",      "policy",
                                             "catchup",     "expire_s", "concurrency", NULL };
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(json_t) body = http_request_json(request, error);
        g_autoptr(ScheduleRecord) record = g_new0(ScheduleRecord, 1);

        record->user = g_strdup(caller->user);
        if (body && json_only(body, "", known, error) && auth_check_runs(caller, error) &&
            take_texts(body, record, error) && check_crontab(record->crontab, error) &&
            take_rule(body, record, error) && take_pipeline(api, request, body, record, error))
                return g_steal_pointer(&record);
        return NULL;
}

static void create_schedule(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(ScheduleRecord) record = take_body(api, request, &error);
        const EngineSchedule schedule = { record, http_request_caller(request)->admin };

        if (record)
                engine_create_schedule(api->engine, &schedule, change_done, change_new(request, record, 201));
        else
                http_fail(request, error);
}

static void stop_schedule(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(ScheduleRecord) schedule = find_schedule(api, request);

        if (schedule)
                engine_stop_schedule(api->engine, schedule->seq, http_request_caller(request)->user,
                                     change_done, change_new(request, schedule, 200));
}

static void delete_schedule(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(ScheduleRecord) schedule = find_schedule(api, request);

        if (schedule)
                engine_delete_schedule(api->engine, schedule->seq, http_request_caller(request)->user,
                                       change_done, change_new(request, schedule, 204));
}

/* ---- reading ---- */

static bool query_state(HttpRequest *request, guint32 *ret, GError **error)
{
        const char *text = http_request_query(request, "state");
        g_auto(GStrv) words = text ? g_strsplit(text, ",", -1) : NULL;

        for (char **word = words; word && *word; word++) {
                ScheduleState state;

                if (!schedule_state_parse(*word, &state))
                        return err_set(error, ERR_INVALID,
                                       "state: '%.40s' is not a state\n"
                                       "States are running, success, terminated and failed.",
                                       *word);
                *ret |= 1u << state;
        }
        return true;
}

static void list_schedules(HttpRequest *request, void *arg)
{
        Api *api = arg;
        ScheduleQuery query = { .name = http_request_query(request, "name") };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) found = NULL;
        g_autoptr(json_t) reply = NULL;
        gint64 limit, next = 0;
        json_t *items;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &query.after_seq))
                return;
        query.limit = (int)limit;
        if (api_query_owner(request, "schedules", &query.user, &error) &&
            query_state(request, &query.states, &error))
                found = store_schedules(api->store, &query, &next, &error);
        if (!found) {
                http_fail(request, error);
                return;
        }
        items = json_array();
        for (guint i = 0; i < found->len; i++) {
                const ScheduleRecord *schedule = found->pdata[i];

                json_array_append_new(items, format_schedule(schedule, schedule->pipeline_name));
        }
        reply = json_pack("{s:o, s:o}", "items", items, "next", api_next_page(next));
        http_reply_json(request, 200, reply);
}

static void show_schedule(HttpRequest *request, void *arg)
{
        g_autoptr(ScheduleRecord) schedule = find_schedule(arg, request);
        g_autoptr(json_t) reply = schedule ? format_schedule(schedule, schedule->pipeline_name) : NULL;

        if (reply)
                http_reply_json(request, 200, reply);
}

/* The ticks from the next one on, those that wait included. */
static json_t *format_ticks(const ScheduleRecord *schedule, const Cron *cron, gint64 count)
{
        json_t *items = json_array();
        gint64 tick = schedule->next_at;

        for (gint64 i = 0; i < count && schedule->state == SCHEDULE_RUNNING; i++) {
                g_autofree char *local = cron_format_local(cron, tick);

                if (schedule->end_at && tick > schedule->end_at)
                        break;
                json_array_append_new(items, json_pack("{s:o, s:s}", "at", json_time(tick), "local", local));
                if (!cron_next(cron, tick, &tick))
                        break;
        }
        return items;
}

static void show_next(HttpRequest *request, void *arg)
{
        g_autoptr(ScheduleRecord) schedule = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(Cron) cron = NULL;
        g_autoptr(json_t) reply = NULL;
        gint64 count;

        if (!http_request_query_int(request, "count", 1, TICKS_MAX, 5, &count))
                return;
        schedule = find_schedule(arg, request);
        if (!schedule)
                return;
        cron = cron_parse(schedule->crontab, NULL, &error);
        if (!cron) {
                http_fail(request, error);
                return;
        }
        reply = json_pack("{s:s, s:o}", "zone", cron_zone_name(cron), "items",
                          format_ticks(schedule, cron, count));
        http_reply_json(request, 200, reply);
}

/* ---- routes ---- */

#define WHOSE "Whose schedule a name means (administrators)."

static const HttpParameter list_query[] = {
        { "user", HTTP_STRING, "Whose schedules (administrators)." },
        { "all", HTTP_BOOLEAN, "Everyone's schedules (administrators)." },
        { "name", HTTP_STRING, "Only the schedules with this name." },
        { "state", HTTP_STRING,
          "Only these states, separated by commas: running, success, terminated, failed." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};
static const HttpParameter one_query[] = { { "user", HTTP_STRING, WHOSE }, { 0 } };
static const HttpParameter next_query[] = {
        { "user", HTTP_STRING, WHOSE },
        { "count", HTTP_INTEGER, "So many ticks, 1 to 100; 5 when absent." },
        { 0 },
};

const HttpRoute schedule_routes[] = {
        { "POST", "/v1/schedules", ACCESS_SCHEDULE, VERB_CREATE, create_schedule,
          "Create a schedule: it runs a version of a stored pipeline when its crontab says.",
          .body_max = BODY_MAX, .request = "NewSchedule", .reply = "Schedule", .reply_status = 201 },
        { "GET", "/v1/schedules", ACCESS_SCHEDULE, VERB_LIST, list_schedules, "List schedules, oldest first.",
          .query = list_query, .reply = "ScheduleList" },
        { "GET", "/v1/schedules/{schedule}", ACCESS_SCHEDULE, VERB_SHOW, show_schedule,
          "Show a schedule, by name or id.", .query = one_query, .reply = "Schedule" },
        { "GET", "/v1/schedules/{schedule}/next", ACCESS_SCHEDULE, VERB_SHOW, show_next,
          "Show when a schedule is due next, in its time zone.", .query = next_query,
          .reply = "ScheduleTicks" },
        { "POST", "/v1/schedules/{schedule}/stop", ACCESS_SCHEDULE, VERB_UPDATE, stop_schedule,
          "Stop a schedule for good. Its runs go on.", .query = one_query, .body_max = 1024,
          .reply = "Schedule" },
        { "DELETE", "/v1/schedules/{schedule}", ACCESS_SCHEDULE, VERB_DELETE, delete_schedule,
          "Delete a schedule that is over. Its runs stay.", .query = one_query, .reply_status = 204 },
        { 0 },
};
