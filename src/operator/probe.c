/* Metrics and health (see probe.h). Names and labels of metrics are those that dashboards of controllers
 * know; the text is made on the main loop, which owns what it shows. */
#include "operator/probe.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"

#define CONTROLLER "{controller=\"paddlejob\"}"
#define QUEUE "{name=\"paddlejob\"}"

enum { STAT_MAX = 4096 };

static void put(GString *out, const char *name, const char *labels, double value)
{
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        g_string_append_printf(out, "%s%s %s\n", name, labels,
                               g_ascii_formatd(text, sizeof text, "%.9g", value));
}

static void head(GString *out, const char *name, const char *type)
{
        g_string_append_printf(out, "# TYPE %s %s\n", name, type);
}

static void put_one(GString *out, const char *name, const char *type, const char *labels, double value)
{
        head(out, name, type);
        put(out, name, labels, value);
}

/* ---- the controller ---- */

static void put_passes(GString *out, const ControllerFigures *figures)
{
        const struct {
                const char *result;
                guint64 n;
        } results[] = { { "error", figures->errors },
                        { "requeue", figures->requeue },
                        { "requeue_after", figures->requeue_after },
                        { "success", figures->success } };
        guint64 sum = 0;

        head(out, "controller_runtime_reconcile_total", "counter");
        for (gsize i = 0; i < G_N_ELEMENTS(results); i++)
                g_string_append_printf(
                        out,
                        "controller_runtime_reconcile_total{controller=\"paddlejob\",result=\"%s\"} "
                        "%" G_GUINT64_FORMAT "\n",
                        results[i].result, results[i].n);
        put_one(out, "controller_runtime_reconcile_errors_total", "counter", CONTROLLER,
                (double)figures->errors);
        head(out, "controller_runtime_reconcile_time_seconds", "histogram");
        for (int i = 0; i <= CONTROLLER_BUCKETS; i++) {
                char bound[G_ASCII_DTOSTR_BUF_SIZE] = "+Inf";

                sum += figures->took[i];
                if (i < CONTROLLER_BUCKETS)
                        g_ascii_formatd(bound, sizeof bound, "%g", controller_bucket_s[i]);
                g_string_append_printf(
                        out,
                        "controller_runtime_reconcile_time_seconds_bucket{controller=\"paddlejob\","
                        "le=\"%s\"} %" G_GUINT64_FORMAT "\n",
                        bound, sum);
        }
        put(out, "controller_runtime_reconcile_time_seconds_sum", CONTROLLER, figures->took_sum_s);
        put(out, "controller_runtime_reconcile_time_seconds_count", CONTROLLER, (double)sum);
        put_one(out, "controller_runtime_active_workers", "gauge", CONTROLLER, figures->active);
        put_one(out, "controller_runtime_max_concurrent_reconciles", "gauge", CONTROLLER, 256);
}

static void put_durations(GString *out, const char *name, const guint64 buckets[16], guint64 sum_us,
                          guint64 count)
{
        guint64 sum = 0;

        head(out, name, "histogram");
        for (int i = 0; i < 16; i++) {
                char bound[G_ASCII_DTOSTR_BUF_SIZE];

                sum += buckets[i];
                g_ascii_formatd(bound, sizeof bound, "%g", pow(10, i - 8));
                g_string_append_printf(out, "%s_bucket{name=\"paddlejob\",le=\"%s\"} %" G_GUINT64_FORMAT "\n",
                                       name, bound, sum);
        }
        g_string_append_printf(out, "%s_bucket{name=\"paddlejob\",le=\"+Inf\"} %" G_GUINT64_FORMAT "\n", name,
                               count);
        g_string_append_printf(out, "%s_sum{name=\"paddlejob\"} %.6f\n", name, (double)sum_us / 1e6);
        g_string_append_printf(out, "%s_count{name=\"paddlejob\"} %" G_GUINT64_FORMAT "\n", name, count);
}

static void put_queue(GString *out, const KubeQueueFigures *queue)
{
        put_one(out, "workqueue_adds_total", "counter", QUEUE, (double)queue->adds);
        put_one(out, "workqueue_depth", "gauge", QUEUE, queue->depth);
        put_one(out, "workqueue_retries_total", "counter", QUEUE, (double)queue->retries);
        put_one(out, "workqueue_unfinished_work_seconds", "gauge", QUEUE, queue->longest_running_s);
        put_one(out, "workqueue_longest_running_processor_seconds", "gauge", QUEUE, queue->longest_running_s);
        put_durations(out, "workqueue_queue_duration_seconds", queue->queued_us_buckets, queue->queued_us_sum,
                      queue->queued_count);
        put_durations(out, "workqueue_work_duration_seconds", queue->worked_us_buckets, queue->worked_us_sum,
                      queue->worked_count);
}

/* ---- requests, process ---- */

static void put_requests(GString *out, const ProbeSource *source)
{
        static const struct {
                const char *method;
                KubeVerb verbs[2];
        } rows[] = {
                { "GET", { KUBE_GET, KUBE_LIST } },
                { "POST", { KUBE_CREATE, KUBE_CREATE } },
                { "PUT", { KUBE_REPLACE, KUBE_REPLACE } },
                { "PATCH", { KUBE_PATCH, KUBE_PATCH } },
                { "DELETE", { KUBE_DELETE, KUBE_DELETE_ALL } },
        };
        static const char *const codes[] = { "<error>", "1xx", "2xx", "3xx", "4xx", "5xx" };
        KubeClientFigures figures;

        kube_client_figures(source->client, &figures);
        head(out, "rest_client_requests_total", "counter");
        for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
                for (gsize code = 0; code < G_N_ELEMENTS(codes); code++) {
                        const KubeVerb *verbs = rows[row].verbs;
                        guint64 n = figures.requests[verbs[0]][code];

                        n += verbs[1] != verbs[0] ? figures.requests[verbs[1]][code] : 0;
                        if (n > 0)
                                g_string_append_printf(out,
                                                       "rest_client_requests_total{code=\"%s\",host=\"%s\","
                                                       "method=\"%s\"} %" G_GUINT64_FORMAT "\n",
                                                       codes[code], source->host, rows[row].method, n);
                }
}

/* Field `index` of /proc/self/stat after the name; 0 when it cannot be read. */
static double stat_field(guint index)
{
        g_autofree char *text = NULL;
        const char *end;

        if (!file_read("/proc/self/stat", STAT_MAX, &text, NULL, NULL) || !(end = strrchr(text, ')')))
                return 0;
        g_auto(GStrv) fields = g_strsplit(end + 2, " ", -1);
        return index < g_strv_length(fields) ? g_ascii_strtod(fields[index], NULL) : 0;
}

/* Seconds since 1970 at which the machine started. */
static double boot_time(void)
{
        g_autofree char *text = NULL;
        const char *line;

        if (!file_read("/proc/stat", 1 << 20, &text, NULL, NULL) || !(line = strstr(text, "\nbtime ")))
                return 0;
        return g_ascii_strtod(line + strlen("\nbtime "), NULL);
}

static guint open_files(void)
{
        GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
        guint n = 0;

        for (; dir && g_dir_read_name(dir); n++)
                ;
        if (dir)
                g_dir_close(dir);
        return n;
}

static void put_process(GString *out)
{
        enum { START_TIME = 19, VSIZE = 20, RSS = 21 }; /* proc(5), counted from the state */
        double tick = (double)sysconf(_SC_CLK_TCK);
        struct rusage usage = { 0 };
        struct rlimit files = { 0 };

        (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail with these arguments */
        (void)getrlimit(RLIMIT_NOFILE, &files);
        put_one(out, "process_cpu_seconds_total", "counter", "",
                (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
        put_one(out, "process_resident_memory_bytes", "gauge", "",
                stat_field(RSS) * (double)sysconf(_SC_PAGESIZE));
        put_one(out, "process_virtual_memory_bytes", "gauge", "", stat_field(VSIZE));
        put_one(out, "process_start_time_seconds", "gauge", "", boot_time() + stat_field(START_TIME) / tick);
        put_one(out, "process_open_fds", "gauge", "", open_files());
        put_one(out, "process_max_fds", "gauge", "", (double)files.rlim_cur);
}

char *probe_metrics(const ProbeSource *source, gsize *ret_len)
{
        GString *out = g_string_new(NULL);
        ControllerFigures figures;

        controller_figures(source->controller, &figures);
        put_passes(out, &figures);
        put_queue(out, &figures.queue);
        put_requests(out, source);
        put_process(out);
        put_one(out, "paddle_operator_jobs", "gauge", "", figures.jobs);
        if (source->elects)
                put_one(out, "leader_election_master_status", "gauge", "{name=\"b2a304f2.paddlepaddle.org\"}",
                        source->leads);
        *ret_len = out->len;
        return g_string_free(out, FALSE);
}

/* ---- HTTP ---- */

typedef struct {
        HttpRequest *request;
        ProbeSource *source;
} Question;

static gboolean answer_metrics(void *data)
{
        Question *question = data;
        gsize len;
        char *text = probe_metrics(question->source, &len);

        http_reply_take(question->request, 200, "text/plain; version=0.0.4; charset=utf-8", text, len);
        http_request_unref(question->request);
        g_free(question);
        return G_SOURCE_REMOVE;
}

static void get_metrics(HttpRequest *request, void *arg)
{
        Question *question = g_new0(Question, 1);

        *question = (Question){ http_request_ref(request), arg };
        g_idle_add_full(G_PRIORITY_DEFAULT, answer_metrics, question, NULL);
}

/* "/healthz" has a check of the name "health", "/readyz" one of the name "check". Each answers as long as
 * this process does, from its beginning. */
static void get_health(HttpRequest *request, void *arg)
{
        bool ready = g_str_has_prefix(http_request_path(request), "/readyz");
        const char *check = ready ? "check" : "health", *rest = http_request_param(request, "name");
        g_autofree char *text = NULL;

        if (rest && *rest && strcmp(rest, check) != 0) {
                http_reply(request, 404, "text/plain; charset=utf-8", "404 page not found\n", 19);
                return;
        }
        if (http_request_query(request, "verbose") && !(rest && *rest))
                text = g_strdup_printf("[+]%s ok\n%s check passed\n", check, ready ? "readyz" : "healthz");
        else
                text = g_strdup("ok");
        http_reply(request, 200, "text/plain; charset=utf-8", text, strlen(text));
}

static const HttpRoute metrics_routes[] = {
        { .method = "GET", .path = "/metrics", .handler = get_metrics },
        { 0 },
};

static const HttpRoute health_routes[] = {
        { .method = "GET", .path = "/healthz/{name...}", .handler = get_health },
        { .method = "GET", .path = "/readyz/{name...}", .handler = get_health },
        { 0 },
};

static HttpServer *try(const char *host, const char *address, const HttpRoute *routes, void *arg,
                       GError **error)
{
        const HttpRoute *const tables[] = { routes, NULL };
        g_autofree char *listen = g_strconcat(host, address, NULL);
        HttpServerConfig config = { .listen = listen, .max_connections = 64 };

        return http_server_new(&config, tables, arg, error);
}

/* Without a host: both families where the machine has both. */
static HttpServer *serve(const char *address, const HttpRoute *routes, void *arg, GError **error)
{
        HttpServer *server;

        if (!*address || strcmp(address, "0") == 0)
                return NULL;
        if (*address != ':')
                return try("", address, routes, arg, error);
        server = try("[::]", address, routes, arg, NULL);
        return server ? server : try("0.0.0.0", address, routes, arg, error);
}

HttpServer *probe_serve_metrics(const char *address, ProbeSource *source, GError **error)
{
        return serve(address, metrics_routes, source, error);
}

HttpServer *probe_serve_health(const char *address, GError **error)
{
        return serve(address, health_routes, NULL, error);
}
