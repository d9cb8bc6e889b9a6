/* Schedules (doc/reference/paddleflow-api.md, "Schedules"). Of their owner and of root. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/clock.h"
#include "schedule/cron.h"

#define LIST "scheduleList"
#define RUNS "runs"

enum {
        BODY_MAX = 64 * 1024,
};

static const CodeMap codes[] = { { ERR_INVALID, CODE_InvalidArguments },
                                 { ERR_EXISTS, CODE_DuplicatedName },
                                 { ERR_NOT_FOUND, CODE_PipelineNotFound },
                                 CODE_MAP_END };
static const CodeMap change_codes[] = { { ERR_NOT_FOUND, CODE_ScheduleNotFound }, CODE_MAP_END };

/* ---- as clients see them ---- */

static json_t *show_schedule(const ScheduleRecord *schedule)
{
        g_autofree char *id = numbered_id_format("schedule", schedule->seq);
        g_autofree char *pipeline = numbered_id_format("ppl", schedule->pipeline);
        g_autofree char *version = g_strdup_printf("%d", schedule->version);
        g_autofree char *start = time_text(schedule->start_at), *end = time_text(schedule->end_at);
        g_autofree char *created = time_text(schedule->created), *updated = time_text(schedule->updated);
        g_autofree char *next = time_text(schedule->next_at);
        json_t *options =
                json_pack("{s:b, s:I, s:I, s:s}", "catchup", schedule->catchup, "expireInterval",
                          (json_int_t)schedule->expire_s, "concurrency", (json_int_t)schedule->concurrency,
                          "concurrencyPolicy", schedule_policy_name((SchedulePolicy)schedule->policy));

        return json_pack(
                "{s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s}, s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
                "scheduleID", id, "name", schedule->name, "desc", schedule->note ? schedule->note : "",
                "pipelineID", pipeline, "pipelineVersionID", version, "username", schedule->user, "fsConfig",
                "username", schedule->run_user ? schedule->run_user : schedule->user, "crontab",
                schedule->crontab, "options", options, "startTime", start, "endTime", end, "createTime",
                created, "updateTime", updated, "nextRunTime", next, "scheduleMsg",
                schedule->message ? schedule->message : "", "status",
                schedule_state_name((ScheduleState)schedule->state));
}

/* ---- which one ---- */

/* `foreign`: the code for another user's. */
static ScheduleRecord *call_schedule(const Call *call, Code foreign, GError **error)
{
        const char *id = call_param(call, "scheduleID");
        g_autoptr(ScheduleRecord) schedule = NULL;
        gint64 seq;

        if (numbered_id_parse("schedule", id, &seq))
                schedule = store_schedule(call->flow->store, seq, NULL);
        if (!schedule) {
                paddleflow_set(error, CODE_ScheduleNotFound, "there is no schedule '%.80s'", id);
        } else if (!call->root && strcmp(schedule->user, call->user) != 0) {
                http_request_set_denied(call->request);
                paddleflow_set(error, foreign, "schedule '%.80s' is not of '%s'", id, call->user);
        } else {
                http_request_set_owner(call->request, schedule->user);
                http_request_set_subject(call->request, id);
                return g_steal_pointer(&schedule);
        }
        return NULL;
}

/* ---- create ---- */

static void create_done(const ScheduleRecord *schedule, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error) {
                paddleflow_fail(request, g_error_copy(error), codes);
        } else {
                g_autofree char *id = numbered_id_format("schedule", schedule->seq);
                g_autoptr(json_t) reply = json_pack("{s:s}", "scheduleID", id);

                http_request_set_subject(request, id);
                http_reply_json(request, 201, reply);
        }
        http_request_unref(request);
}

/* The body by its table; the client sends numbers as texts. What is no JSON has another code here. */
static json_t *take_body(const Call *call, GError **error)
{
        g_autoptr(GError) why = NULL;
        json_t *body = call_body(call, schedule_body, &why);

        if (!body)
                paddleflow_set(error, CODE_InvalidHTTPRequest, "%s", why->message);
        return body;
}

static bool take_number(const json_t *body, const char *name, gint64 *ret, GError **error)
{
        const json_t *value = json_object_get(body, name);
        const char *text = json_string_value(value);

        *ret = json_integer_value(value);
        if (!value || json_is_integer(value) || (text && !*text) ||
            (text && paddleflow_number_parse(name, text, G_MININT32, G_MAXINT32, ret, NULL)))
                return *ret >= 0 || paddleflow_set(error, CODE_InvalidArguments, "%s is negative", name);
        return text ? paddleflow_set(error, CODE_InvalidArguments, "%s '%.40s' is not a number", name, text)
                    : paddleflow_set(error, CODE_InvalidHTTPRequest, "%s is not a number", name);
}

static bool take_options(const json_t *body, ScheduleRecord *ret, GError **error)
{
        g_autoptr(GError) why = NULL;
        const json_t *catchup = json_object_get(body, "catchup");
        SchedulePolicy policy = SCHEDULE_SUSPEND;

        if (!take_number(body, "concurrency", &ret->concurrency, error) ||
            !take_number(body, "expireInterval", &ret->expire_s, error))
                return false;
        if (!schedule_policy_parse(go_text(body, "concurrencyPolicy"), &policy, &why))
                return paddleflow_set(error, CODE_InvalidArguments, "%s", why->message);
        ret->policy = (guint8)policy;
        ret->catchup = !json_is_false(catchup);
        return true;
}

static bool take_time(const json_t *body, const char *name, gint64 *ret, GError **error)
{
        const char *text = go_text(body, name);

        return !*text || time_take(text, ret) ||
               paddleflow_set(error, CODE_InvalidArguments, "%s '%.40s' is not like 2006-01-02 15:04:05",
                              name, text);
}

static bool take_texts(const json_t *body, ScheduleRecord *ret, GError **error)
{
        const char *name = go_text(body, "name"), *desc = go_text(body, "desc");
        g_autofree char *advice = schedule_name_advice(name);

        ret->name = g_strdup(name);
        ret->note = *desc ? g_strdup(desc) : NULL;
        ret->crontab = g_strdup(go_text(body, "crontab"));
        if (!schedule_name_is_valid(name))
                return paddleflow_set(
                        error, CODE_InvalidNamePattern,
                        "name '%.60s' is not 2 to %d letters, digits and '_' that do not begin with a digit%s",
                        name, SCHEDULE_NAME_MAX, advice);
        return strlen(desc) <= SCHEDULE_NOTE_MAX ||
               paddleflow_set(error, CODE_InvalidArguments, "desc is longer than %d bytes",
                              SCHEDULE_NOTE_MAX);
}

static bool no_version(const char *id, const char *number, GError **error)
{
        return paddleflow_set(error, CODE_PipelineNotFound,
                              "there is no pipeline '%.80s' with version '%.20s'", id, number);
}

/* Whosever it is: the owner is compared later. So what is said until then has the caller's own words, and none that are stored. */
static bool take_pipeline(const Call *call, const json_t *body, ScheduleRecord *ret, GError **error)
{
        const char *id = go_text(body, "pipelineID"), *number = go_text(body, "pipelineVersionID");
        g_autoptr(PipelineRecord) pipeline = NULL;
        g_autoptr(PipelineVersion) version = NULL;
        gint64 seq;

        if (numbered_id_parse("ppl", id, &seq))
                pipeline = store_pipeline(call->flow->store, seq, NULL);
        if (!pipeline || !*number)
                return no_version(id, number, error);
        version = call_version(call, pipeline, number, false, NULL);
        if (!version)
                return no_version(id, number, error);
        ret->pipeline = pipeline->seq;
        ret->version = version->version;
        ret->fs = g_strdup(version->fs);
        return true;
}

/* The file system's name is a stored text: root and the pipeline's owner are told it. */
static bool check_fs(const Call *call, const json_t *body, const ScheduleRecord *record, GError **error)
{
        g_autoptr(PipelineRecord) pipeline = store_pipeline(call->flow->store, record->pipeline, NULL);
        bool told = call->root || (pipeline && strcmp(pipeline->user, call->user) == 0);

        if (yaml_check_fs(call, go_text(body, "username"), record->fs ? record->fs : "",
                          CODE_InvalidArguments, told ? error : NULL))
                return true;
        if (!told)
                paddleflow_set(error, CODE_InvalidArguments,
                               "user '%.60s' does not have the file system of pipeline '%.80s'", call->user,
                               go_text(body, "pipelineID"));
        return false;
}

static bool check_times(const ScheduleRecord *record, GError **error)
{
        gint64 now = clock_now_ms();

        return ((!record->start_at || record->start_at > now) && (!record->end_at || record->end_at > now) &&
                (!record->end_at || record->end_at > record->start_at)) ||
               paddleflow_set(error, CODE_InvalidArguments,
                              "startTime and endTime must be in the future, and endTime after startTime");
}

static bool check_crontab(const char *text, GError **error)
{
        g_autoptr(GError) why = NULL;
        g_autoptr(Cron) cron = cron_parse(text, NULL, &why);

        return cron || paddleflow_set(error, CODE_InvalidArguments, "%s", why->message);
}

static bool check_owner(const Call *call, const json_t *body, GError **error)
{
        g_autoptr(PipelineRecord) pipeline = call_pipeline(call, go_text(body, "pipelineID"), error);

        return pipeline != NULL;
}

/* In the order of doc/reference/paddleflow-api.md, "Schedules"; the engine does the rest. */
static bool take_record(const Call *call, const json_t *body, ScheduleRecord *ret, GError **error)
{
        const char *user = go_text(body, "username");

        ret->user = g_strdup(call->user);
        ret->queue = g_strdup(QUEUE_SEEDED);
        if (!take_texts(body, ret, error) || !take_options(body, ret, error) ||
            !take_pipeline(call, body, ret, error) || !check_fs(call, body, ret, error) ||
            !take_time(body, "startTime", &ret->start_at, error) ||
            !take_time(body, "endTime", &ret->end_at, error) || !check_times(ret, error) ||
            !check_crontab(ret->crontab, error) || !check_owner(call, body, error))
                return false;
        if (*user && call->root && strcmp(user, call->user) != 0)
                ret->run_user = g_strdup(user);
        return auth_check_runs(http_request_caller(call->request), error);
}

static void create_schedule(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(ScheduleRecord) record = g_new0(ScheduleRecord, 1);
        g_autoptr(json_t) body = NULL;
        const EngineSchedule schedule = { record, http_request_caller(request)->admin };
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = take_body(&call, &error);
        if (body && take_record(&call, body, record, &error))
                engine_create_schedule(call.flow->engine, &schedule, create_done, http_request_ref(request));
        else
                call_fail(&call, error);
}

/* ---- stop, delete ---- */

static void change_done(const ScheduleRecord *schedule, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                paddleflow_fail(request, g_error_copy(error), change_codes);
        else
                paddleflow_reply_empty(request);
        http_request_unref(request);
}

static void stop_schedule(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(ScheduleRecord) schedule = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (auth_check_runs(http_request_caller(call.request), &error))
                schedule = call_schedule(&call, CODE_AccessDenied, &error);
        if (schedule)
                engine_stop_schedule(call.flow->engine, schedule->seq, call.user, change_done,
                                     http_request_ref(request));
        else
                call_fail(&call, error);
}

static void drop_schedule(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(ScheduleRecord) schedule = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (auth_check_runs(http_request_caller(call.request), &error))
                schedule = call_schedule(&call, CODE_ScheduleNotFound, &error);
        if (schedule)
                engine_delete_schedule(call.flow->engine, schedule->seq, call.user, change_done,
                                       http_request_ref(request));
        else
                call_fail(&call, error);
}

/* ---- lists ---- */

typedef struct {
        char **users, **pipelines, **versions, **ids, **names, **words; /* NULL: all */
        ScheduleQuery query;
} Filter;

static void filter_clear(Filter *filter)
{
        g_strfreev(filter->users);
        g_strfreev(filter->pipelines);
        g_strfreev(filter->versions);
        g_strfreev(filter->ids);
        g_strfreev(filter->names);
        g_strfreev(filter->words);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filter, filter_clear)

static bool take_filter(const Call *call, Filter *ret, GError **error)
{
        ret->users = call_query_list(call, "userFilter");
        ret->pipelines = call_query_list(call, "pplFilter");
        ret->versions = call_query_list(call, "pplVersionFilter");
        ret->ids = call_query_list(call, "scheduleFilter");
        ret->names = call_query_list(call, "nameFilter");
        ret->words = call_query_list(call, "statusFilter");
        if (ret->users && !call->root)
                return paddleflow_set(error, CODE_AccessDenied, "userFilter is for root, and '%s' is not",
                                      call->user);
        ret->query.user = call->root ? NULL : call->user;
        ret->query.limit = PADDLEFLOW_KEYS_MAX;
        return true;
}

static bool is_wanted(const void *target, const void *row)
{
        const Filter *filter = target;
        const ScheduleRecord *schedule = row;
        g_autofree char *id = numbered_id_format("schedule", schedule->seq);
        g_autofree char *pipeline = numbered_id_format("ppl", schedule->pipeline);
        g_autofree char *version = g_strdup_printf("%d", schedule->version);

        return page_has(filter->users, schedule->user) && page_has(filter->pipelines, pipeline) &&
               page_has(filter->versions, version) && page_has(filter->ids, id) &&
               page_has(filter->names, schedule->name) &&
               page_has(filter->words, schedule_state_name((ScheduleState)schedule->state));
}

static GPtrArray *read_rows(const Call *call, void *target, gint64 after, gint64 *ret_next, GError **error)
{
        Filter *filter = target;

        filter->query.after_seq = after;
        return store_schedules(call->flow->store, &filter->query, ret_next, error);
}

static json_t *show_row(const Call *call, const void *row)
{
        return show_schedule(row);
}

static const PageRows rows = { read_rows, is_wanted, show_row, offsetof(ScheduleRecord, seq) };

static void list_schedules(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Filter) filter = { 0 };
        json_t *items = NULL;
        gint64 next = 0;
        GError *error = NULL;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        if (page_take(&call, LIST, &page, &error) && take_filter(&call, &filter, &error))
                items = page_collect(&call, &rows, &filter, &page, &next, &error);
        if (items)
                call_reply(&call, page_format(&call, LIST, &page, next, LIST, items));
        else
                call_fail(&call, error);
}

/* ---- show ---- */

/* With a page of its runs. The client looks for their marker at the top, too. */
static void show_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(ScheduleRecord) schedule = NULL;
        json_t *runs = NULL, *reply, *marker;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        schedule = call_schedule(&call, CODE_AccessDenied, &error);
        if (schedule)
                runs = run_page_of(&call, schedule->seq, &error);
        if (!runs) {
                call_fail(&call, error);
                return;
        }
        reply = show_schedule(schedule);
        marker = json_object_get(runs, "nextMarker");
        if (marker)
                json_object_set(reply, "nextMarker", marker);
        json_object_set_new(reply, RUNS, runs);
        call_reply(&call, reply);
}

static void show_one(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_now);
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "userFilter", HTTP_STRING, "Only of these users, separated by commas (root)." },
        { "pplFilter", HTTP_STRING, "Only of these pipelines, separated by commas." },
        { "pplVersionFilter", HTTP_STRING, "Only of these versions, separated by commas." },
        { "scheduleFilter", HTTP_STRING, "Only those of these ids, separated by commas." },
        { "nameFilter", HTTP_STRING, "Only those of these names, separated by commas." },
        { "statusFilter", HTTP_STRING,
          "Only those in one of these states: running, success, failed, terminated." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};
static const HttpParameter show_query[] = {
        { "runFilter", HTTP_STRING, "Only runs of these ids, separated by commas." },
        { "statusFilter", HTTP_STRING, "Only runs in one of these states." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute schedule_rows[] = {
        { "POST", PADDLEFLOW_BASE "/schedule", ACCESS_SCHEDULE, VERB_CREATE, create_schedule,
          "Create a schedule of a stored pipeline.", .body_max = BODY_MAX, .request = "NewSchedule",
          .reply = "ScheduleMade", .reply_status = 201 },
        { "GET", PADDLEFLOW_BASE "/schedule", ACCESS_SCHEDULE, VERB_LIST, list_schedules, "List schedules.",
          .query = list_query, .reply = "ScheduleList" },
        { "GET", PADDLEFLOW_BASE "/schedule/{scheduleID}", ACCESS_SCHEDULE, VERB_SHOW, show_one,
          "Show a schedule with its runs.", .query = show_query, .reply = "ScheduleShown" },
        { "PUT", PADDLEFLOW_BASE "/schedule/{scheduleID}", ACCESS_SCHEDULE, VERB_UPDATE, stop_schedule,
          "Stop a schedule. Its runs go on.", .body_max = BODY_MAX },
        { "DELETE", PADDLEFLOW_BASE "/schedule/{scheduleID}", ACCESS_SCHEDULE, VERB_DELETE, drop_schedule,
          "Delete a schedule that is over. Its runs stay." },
        { 0 },
};
