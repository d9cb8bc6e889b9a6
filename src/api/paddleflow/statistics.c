/* The usage of jobs (doc/reference/paddleflow-api.md, "Statistics"): of running members from the runtime, of
 * ended ones from the job, of times in between from samples. Figures that are not measured are 0. */
#include <math.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/clock.h"

enum { STEP = 60, POINTS_MAX = 1000, AHEAD_S = 600, QUEUES_MAX = 1000, CARD_JOBS_MAX = 100000 };

/* ---- the metrics ---- */

typedef enum { AS_RATE, AS_BYTES, AS_BYTES_PER_S } Unit;

/* Usage and limits of one member, or of all. */
typedef struct {
        double cpu_us;  /* used in `span_us` */
        double span_us; /* times cores asked for */
        double memory, memory_asked;
} Use;

static double cpu_rate(const Use *use)
{
        return use->span_us > 0 ? 100 * use->cpu_us / use->span_us : 0;
}

static double memory_rate(const Use *use)
{
        return use->memory_asked > 0 ? 100 * use->memory / use->memory_asked : 0;
}

static double memory_bytes(const Use *use)
{
        return use->memory;
}

static double unknown(const Use *use)
{
        return 0;
}

static const struct {
        const char *name;
        Unit unit;
        double (*of)(const Use *use);
} metrics[] = {
        { "cpu_usage_rate", AS_RATE, cpu_rate },
        { "memory_usage_rate", AS_RATE, memory_rate },
        { "memory_usage", AS_BYTES, memory_bytes },
        { "disk_usage", AS_BYTES, unknown },
        { "net_receive_bytes", AS_BYTES_PER_S, unknown },
        { "net_send_bytes", AS_BYTES_PER_S, unknown },
        { "disk_read_rate", AS_BYTES_PER_S, unknown },
        { "disk_write_rate", AS_BYTES_PER_S, unknown },
        { "gpu_util", AS_RATE, unknown },
        { "gpu_memory_util", AS_RATE, unknown },
        { "gpu_memory_usage", AS_BYTES, unknown },
};

static const char *const suffixes[] = { [AS_RATE] = "%", [AS_BYTES] = "(Bytes)", [AS_BYTES_PER_S] = "(B/s)" };

static json_t *format_use(const Use *use)
{
        json_t *all = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++) {
                char number[G_ASCII_DTOSTR_BUF_SIZE];

                g_ascii_formatd(number, sizeof number, "%.2f", metrics[i].of(use));
                json_object_set_new(all, metrics[i].name,
                                    json_sprintf("%s%s", number, suffixes[metrics[i].unit]));
        }
        return all;
}

/* ---- a job's summary ---- */

static char *task_of(const Job *job, int member)
{
        const Member *at = &job->members[member];

        return g_strdup_printf("%s.%d.%s.%d", job->id, job->attempt, job->spec->roles[at->role].name,
                               at->index);
}

static void asked_by(const Job *job, int member, Resources *ret)
{
        spec_member_wants(job->spec, job->members[member].role, job_share(job), ret);
}

static void add_use(PaddleFlow *flow, const Job *job, int member, gint64 now, Use *use)
{
        const Member *at = &job->members[member];
        gint64 end = at->finished ? at->finished : now;
        TaskUsage usage = { .cpu_us = at->cpu_us, .memory = at->peak_memory };
        Resources asked;

        if (!at->started)
                return;
        if (!at->finished)
                (void)engine_usage(flow->engine, job, at, &usage);
        asked_by(job, member, &asked);
        use->cpu_us += (double)usage.cpu_us;
        use->span_us += (double)MAX(end - at->started, 1) * 1000 * (double)MAX(asked.cpu_milli, 1) / 1000;
        use->memory += (double)usage.memory;
        use->memory_asked += (double)asked.memory;
}

static void show_summary(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(Job) job = NULL;
        Use use = { 0 };
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        job = call_job(&call, call_param(&call, "jobID"), CODE_AccessDenied, &error);
        if (!job) {
                call_fail(&call, error);
                return;
        }
        for (int i = 0; i < job->n_members; i++)
                add_use(call.flow, job, i, clock_now_ms(), &use);
        call_reply(&call, json_pack("{s:o}", "metricsInfo", format_use(&use)));
}

/* ---- a job's series ---- */

typedef struct {
        gint64 start, end, step; /* s */
        bool truncated;
} Span;

/* The query's values; 0: not given. */
static bool take_span(const Call *call, Span *ret, GError **error)
{
        *ret = (Span){ 0 };
        if (!call_query_int(call, "start", 0, G_MAXINT32, 0, &ret->start, error) ||
            !call_query_int(call, "end", 0, G_MAXINT32, 0, &ret->end, error) ||
            !call_query_int(call, "step", 1, G_MAXINT32, STEP, &ret->step, error))
                return false;
        return !ret->start || !ret->end || ret->start <= ret->end ||
               paddleflow_set(error, CODE_InvalidURI, "start is after end");
}

/* Missing values come from the job. */
static void complete_span(const Job *job, Span *span)
{
        if (!span->start)
                span->start = (job->running ? job->running : job->submitted) / 1000;
        if (!span->end && job_state_is_final(job->state))
                span->end = MAX(job->finished / 1000, span->start);
        if (!span->end)
                span->end = span->start + AHEAD_S;
        span->end = MIN(span->end, clock_now_ms() / 1000); /* of what is to come nothing is known */
        span->truncated = (span->end - span->start) / span->step >= POINTS_MAX;
}

/* The usage between the previous sample and this one. */
static Use use_at(const GArray *samples, guint i, const Resources *asked)
{
        const Sample *now = &g_array_index(samples, Sample, i);
        const Sample *before = i > 0 ? &g_array_index(samples, Sample, i - 1) : NULL;
        double cores = (double)MAX(asked->cpu_milli, 1) / 1000;

        return (Use){ .cpu_us = before ? (double)(now->cpu_us - before->cpu_us) : 0,
                      .span_us = before ? (double)(now->at - before->at) * 1e6 * cores : 0,
                      .memory = (double)now->memory,
                      .memory_asked = (double)asked->memory };
}

/* At each step the last sample before it, if it is not older than a step and a period. */
static json_t *values_of(const GArray *samples, const Span *span, const Resources *asked,
                         double (*of)(const Use *use))
{
        json_t *values = json_array();
        guint next = 0;

        for (gint64 at = span->start, n = 0; at <= span->end && n < POINTS_MAX; at += span->step, n++) {
                while (next < samples->len && g_array_index(samples, Sample, next).at <= at)
                        next++;
                if (next == 0 || at - g_array_index(samples, Sample, next - 1).at > MAX(span->step, STEP))
                        continue;
                Use use = use_at(samples, next - 1, asked);
                json_array_append_new(values, json_pack("[I, f]", (json_int_t)at, of(&use)));
        }
        return values;
}

static json_t *task_series(PaddleFlow *flow, const Job *job, int member, const Span *span)
{
        g_autofree char *task = task_of(job, member), *name = job_task_name(job, member);
        g_autoptr(GArray) samples = sampler_find(flow->sampler, task);
        json_t *infos = json_array();
        Resources asked;

        asked_by(job, member, &asked);
        for (gsize i = 0; samples && i < G_N_ELEMENTS(metrics); i++)
                if (metrics[i].of != unknown)
                        json_array_append_new(infos,
                                              json_pack("{s:s, s:o}", "metric", metrics[i].name, "values",
                                                        values_of(samples, span, &asked, metrics[i].of)));
        return json_pack("{s:s, s:o}", "taskName", name, "taskInfo", infos);
}

static void show_series(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(Job) job = NULL;
        json_t *result;
        GError *error = NULL;
        Span span;

        if (!call_begin(&call, request, arg))
                return;
        if (take_span(&call, &span, &error))
                job = call_job(&call, call_param(&call, "jobID"), CODE_AccessDenied, &error);
        if (!job) {
                call_fail(&call, error);
                return;
        }
        complete_span(job, &span);
        result = json_array();
        for (int i = 0; i < job->n_members; i++)
                json_array_append_new(result, task_series(call.flow, job, i, &span));
        call_reply(&call, json_pack("{s:o, s:b}", "result", result, "truncated", span.truncated));
}

/* ---- card time ---- */

typedef struct {
        gint64 from, to;   /* ms */
        GHashTable *users; /* name -> {"userName", "jobInfoList", "jobCount", "totalCardTime"} */
        GPtrArray *order;  /* of names, borrowed from users */
        double total;
        int jobs;
        const char *device;
} Cards;

static double floor2(double value)
{
        return floor(value * 100) / 100;
}

/* Cards are counted from the resources whose names end so. */
static bool is_card(int kind)
{
        const char *name = resource_name(kind);

        return g_str_has_suffix(name, "nvidia.com/gpu") || g_str_has_suffix(name, "_cgpu");
}

static gint64 cards_of(const Job *job, const char **ret_device)
{
        gint64 cards = 0;

        for (int kind = 0; kind < resource_kinds(); kind++) {
                gint64 sum = 0;

                for (int r = 0; is_card(kind) && r < job->spec->n_roles; r++)
                        sum += job->spec->roles[r].each.amount[kind] * job->spec->roles[r].replicas;
                if (sum > 0 && cards == 0)
                        *ret_device = resource_name(kind);
                cards += sum;
        }
        return cards;
}

static json_t *user_entry(Cards *cards, const char *user)
{
        json_t *entry = g_hash_table_lookup(cards->users, user);

        if (entry)
                return entry;
        entry = json_pack("{s:s, s:[], s:i, s:f}", "userName", user, "jobInfoList", "jobCount", 0,
                          "totalCardTime", 0.0);
        g_hash_table_insert(cards->users, g_strdup(user), entry);
        g_ptr_array_add(cards->order, (char *)json_string_value(json_object_get(entry, "userName")));
        return entry;
}

static bool count_job(const Job *job, void *arg)
{
        Cards *cards = arg;
        gint64 end = job_state_is_final(job->state) ? job->finished : clock_now_ms();
        gint64 overlap = MAX(0, MIN(end, cards->to) - MAX(job->running, cards->from));
        gint64 count = cards_of(job, &cards->device);
        double hours = (double)overlap * (double)count / 3600e3;
        g_autofree char *id = job_flow_id(job), *created = time_text(job->submitted),
                        *started = time_text(job->running),
                        *finished = time_text(job_state_is_final(job->state) ? job->finished : 0);
        json_t *entry;

        if (!job->running)
                return true;
        entry = user_entry(cards, job->user);
        json_array_append_new(json_object_get(entry, "jobInfoList"),
                              json_pack("{s:s, s:f, s:s, s:s, s:s, s:I}", "jobId", id, "cardTime",
                                        floor2(hours), "createTime", created, "startTime", started,
                                        "finishTime", finished, "deviceCount", (json_int_t)count));
        json_object_set_new(entry, "jobCount",
                            json_integer(json_integer_value(json_object_get(entry, "jobCount")) + 1));
        json_object_set_new(entry, "totalCardTime",
                            json_real(json_real_value(json_object_get(entry, "totalCardTime")) + hours));
        cards->total += hours;
        return ++cards->jobs < CARD_JOBS_MAX;
}

static json_t *cards_detail(const Cards *cards)
{
        json_t *detail = cards->order->len ? json_array() : json_null();

        for (guint i = 0; i < cards->order->len; i++) {
                json_t *entry = g_hash_table_lookup(cards->users, cards->order->pdata[i]);

                json_object_set_new(entry, "totalCardTime",
                                    json_real(floor2(
                                            json_real_value(json_object_get(entry, "totalCardTime")))));
                json_array_append(detail, entry);
        }
        return detail;
}

static json_t *queue_cards(PaddleFlow *flow, const char *queue, gint64 from, gint64 to, GError **error)
{
        g_autoptr(GHashTable) users =
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
        g_autoptr(GPtrArray) order = g_ptr_array_new();
        Cards cards = { from, to, users, order, 0, 0, resource_name(RESOURCE_GPU) };
        GError *why = NULL;

        if (!store_jobs_that_ran(flow->store, queue, from, to, count_job, &cards, &why)) {
                g_propagate_error(error, why);
                return NULL;
        }
        return json_pack("{s:s, s:f, s:s, s:o}", "queueName", queue, "cardTime", floor2(cards.total),
                         "deviceType", cards.device, "detail", cards_detail(&cards));
}

/* The end's second counts, too. */
static bool take_times(const char *start, const char *end, gint64 *ret_from, gint64 *ret_to, GError **error)
{
        if (!time_take(start, ret_from))
                return paddleflow_set(error, CODE_InvalidArguments,
                                      "startTime: '%.40s' is not of the form YYYY-MM-DD hh:mm:ss", start);
        if (!time_take(end, ret_to))
                return paddleflow_set(error, CODE_InvalidArguments,
                                      "endTime: '%.40s' is not of the form YYYY-MM-DD hh:mm:ss", end);
        *ret_to += 1000;
        return *ret_from < *ret_to ||
               paddleflow_set(error, CODE_InvalidArguments, "startTime is after endTime");
}

/* Unknown queues are left out; those that are not the caller's are refused. */
static json_t *all_cards(const Call *call, const json_t *names, gint64 from, gint64 to, GError **error)
{
        g_autoptr(json_t) data = json_array();
        const json_t *name;
        size_t i;

        json_array_foreach(names, i, name) {
                const Queue *queue = catalog_queue(call->catalog, json_string_value(name));
                json_t *cards;

                if (!queue)
                        continue;
                if (!queue_is_granted(call, queue)) {
                        paddleflow_set(error, CODE_AccessDenied, "'%s' has no grant on queue '%s'",
                                       call->user, queue->object.name);
                        return NULL;
                }
                cards = queue_cards(call->flow, queue->object.name, from, to, error);
                if (!cards)
                        return NULL;
                json_array_append_new(data, cards);
        }
        return json_pack("{s:o}", "data", json_array_size(data) ? json_incref(data) : json_null());
}

static void reply_cards(const Call *call, const json_t *names, const char *start, const char *end)
{
        gint64 from, to;
        json_t *reply = NULL;
        GError *error = NULL;

        if (json_array_size(names) > QUEUES_MAX)
                paddleflow_set(&error, CODE_InvalidArguments, "queueNames: more than %d", QUEUES_MAX);
        else if (take_times(start, end, &from, &to, &error))
                reply = all_cards(call, names, from, to, &error);
        if (reply)
                call_reply(call, reply);
        else
                call_fail(call, error);
}

static void show_cards_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) names = NULL;

        if (!call_begin(&call, request, arg))
                return;
        names = json_pack("[s]", call_param(&call, "queueName"));
        reply_cards(&call, names, call_query(&call, "startTime"), call_query(&call, "endTime"));
}

static void show_cards(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_cards_now);
}

static void show_many_cards_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, card_time_body, &error);
        if (body)
                reply_cards(&call, json_object_get(body, "queueNames"), go_text(body, "startTime"),
                            go_text(body, "endTime"));
        else
                call_fail(&call, error);
}

static void show_many_cards(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_many_cards_now);
}

static const HttpParameter show_series_query[] = {
        { "start", HTTP_INTEGER, "Unix seconds." },
        { "end", HTTP_INTEGER, "Unix seconds." },
        { "step", HTTP_INTEGER, "Seconds between values." },
        { 0 },
};

static const HttpParameter times_query[] = {
        { "startTime", HTTP_STRING, "YYYY-MM-DD hh:mm:ss." },
        { "endTime", HTTP_STRING, "The same." },
        { 0 },
};

const HttpRoute statistics_rows[] = {
        { "GET", PADDLEFLOW_BASE "/statistics/job/{jobID}", ACCESS_STATISTICS, VERB_SHOW, show_summary,
          "Show what a job uses.", .reply = "JobStatistics" },
        { "GET", PADDLEFLOW_BASE "/statistics/jobDetail/{jobID}", ACCESS_STATISTICS, VERB_SHOW, show_series,
          "Show what a job used in the course of time.", .query = show_series_query, .reply = "JobSeries" },
        { "GET", PADDLEFLOW_BASE "/statistics/cardTime/{queueName}", ACCESS_STATISTICS, VERB_LIST, show_cards,
          "Show the GPU hours of a queue.", .query = times_query, .reply = "CardTimes" },
        { "POST", PADDLEFLOW_BASE "/statistics/cardTime", ACCESS_STATISTICS, VERB_LIST, show_many_cards,
          "Show the GPU hours of queues.", .request = "CardTimeQuery", .reply = "CardTimes" },
        { 0 },
};
