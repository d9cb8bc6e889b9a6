/* Metrics and health (see probe.h). Names and labels of metrics are those that dashboards of controllers
 * know; the text is made on the main loop, which owns what it shows. */
#include "operator/probe.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"

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

/* ---- controllers: of each family of metrics first the one's, then the other's ---- */

enum { CONTROLLERS_MAX = 2 };

typedef struct {
        const char *name;
        Figures figures;
} Shown;

typedef struct {
        Shown shown[CONTROLLERS_MAX];
        int n;
} Controllers;

static double errors(const Figures *figures)
{
        return (double)figures->errors;
}

static double active(const Figures *figures)
{
        return figures->active;
}

static double most_at_once(const Figures *figures)
{
        return 256; /* the queue's bound */
}

static double adds(const Figures *figures)
{
        return (double)figures->queue.adds;
}

static double depth(const Figures *figures)
{
        return figures->queue.depth;
}

static double retries(const Figures *figures)
{
        return (double)figures->queue.retries;
}

static double longest(const Figures *figures)
{
        return figures->queue.longest_running_s;
}

static const struct {
        const char *name, *type, *label;
        double (*value)(const Figures *figures);
} plain[] = {
        { "controller_runtime_reconcile_errors_total", "counter", "controller", errors },
        { "controller_runtime_active_workers", "gauge", "controller", active },
        { "controller_runtime_max_concurrent_reconciles", "gauge", "controller", most_at_once },
        { "workqueue_adds_total", "counter", "name", adds },
        { "workqueue_depth", "gauge", "name", depth },
        { "workqueue_retries_total", "counter", "name", retries },
        { "workqueue_unfinished_work_seconds", "gauge", "name", longest },
        { "workqueue_longest_running_processor_seconds", "gauge", "name", longest },
};

static void put_plain(GString *out, const Controllers *controllers)
{
        for (gsize row = 0; row < G_N_ELEMENTS(plain); row++) {
                head(out, plain[row].name, plain[row].type);
                for (int i = 0; i < controllers->n; i++) {
                        const Shown *shown = &controllers->shown[i];
                        g_autofree char *labels =
                                g_strdup_printf("{%s=\"%s\"}", plain[row].label, shown->name);

                        put(out, plain[row].name, labels, plain[row].value(&shown->figures));
                }
        }
}

static void put_results(GString *out, const Controllers *controllers)
{
        head(out, "controller_runtime_reconcile_total", "counter");
        for (int i = 0; i < controllers->n; i++) {
                const Figures *figures = &controllers->shown[i].figures;
                const struct {
                        const char *result;
                        guint64 n;
                } results[] = { { "error", figures->errors },
                                { "requeue", figures->requeue },
                                { "requeue_after", figures->requeue_after },
                                { "success", figures->success } };

                for (gsize k = 0; k < G_N_ELEMENTS(results); k++)
                        g_string_append_printf(
                                out,
                                "controller_runtime_reconcile_total{controller=\"%s\",result=\"%s\"} "
                                "%" G_GUINT64_FORMAT "\n",
                                controllers->shown[i].name, results[k].result, results[k].n);
        }
}

void probe_put_histogram(GString *out, const char *name, const char *labels, const ProbeHistogram *histogram)
{
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        guint64 so_far = 0;

        for (int i = 0; i < histogram->bounds; i++) {
                so_far += histogram->buckets[i];
                g_string_append_printf(out, "%s_bucket{%s,le=\"%s\"} %" G_GUINT64_FORMAT "\n", name, labels,
                                       g_ascii_formatd(text, sizeof text, "%g", histogram->bound_s(i)),
                                       so_far);
        }
        so_far += histogram->buckets[histogram->bounds];
        g_string_append_printf(out,
                               "%s_bucket{%s,le=\"+Inf\"} %" G_GUINT64_FORMAT "\n"
                               "%s_sum{%s} %s\n%s_count{%s} %" G_GUINT64_FORMAT "\n",
                               name, labels, so_far, name, labels,
                               g_ascii_formatd(text, sizeof text, "%.6f", histogram->sum_s), name, labels,
                               so_far);
}

static double pass_bound_s(int bucket)
{
        return figures_bucket_s[bucket];
}

static ProbeHistogram took(const Figures *figures)
{
        return (ProbeHistogram){ figures->took, FIGURES_BUCKETS, pass_bound_s, figures->took_sum_s };
}

static ProbeHistogram queued(const Figures *figures)
{
        return (ProbeHistogram){ figures->queue.queued_buckets, KUBE_QUEUE_BOUNDS, kube_queue_bound_s,
                                 (double)figures->queue.queued_us_sum / G_USEC_PER_SEC };
}

static ProbeHistogram worked(const Figures *figures)
{
        return (ProbeHistogram){ figures->queue.worked_buckets, KUBE_QUEUE_BOUNDS, kube_queue_bound_s,
                                 (double)figures->queue.worked_us_sum / G_USEC_PER_SEC };
}

static void put_histograms(GString *out, const Controllers *controllers)
{
        static const struct {
                const char *name, *label;
                ProbeHistogram (*of)(const Figures *figures);
        } rows[] = {
                { "controller_runtime_reconcile_time_seconds", "controller", took },
                { "workqueue_queue_duration_seconds", "name", queued },
                { "workqueue_work_duration_seconds", "name", worked },
        };

        for (gsize row = 0; row < G_N_ELEMENTS(rows); row++) {
                head(out, rows[row].name, "histogram");
                for (int i = 0; i < controllers->n; i++) {
                        const Shown *shown = &controllers->shown[i];
                        ProbeHistogram histogram = rows[row].of(&shown->figures);
                        g_autofree char *labels = g_strdup_printf("%s=\"%s\"", rows[row].label, shown->name);

                        probe_put_histogram(out, rows[row].name, labels, &histogram);
                }
        }
}

static void put_controllers(GString *out, const ProbeSource *source)
{
        Controllers controllers = { .shown = { { .name = "paddlejob" }, { .name = "trainingjob" } }, .n = 1 };

        controller_figures(source->controller, &controllers.shown[0].figures);
        controllers.n += training_figures(source->training, &controllers.shown[1].figures);
        put_results(out, &controllers);
        put_plain(out, &controllers);
        put_histograms(out, &controllers);
        put_one(out, "paddle_operator_jobs", "gauge", "", controllers.shown[0].figures.jobs);
        if (controllers.n > 1)
                put_one(out, "paddle_operator_training_jobs", "gauge", "", controllers.shown[1].figures.jobs);
}

/* ---- requests, process ---- */

static void put_requests(GString *out, const ProbeSource *source)
{
        static const struct {
                const char *method;
                KubeVerb verbs[2];
        } rows[] = {
                { "GET", { KUBE_GET, KUBE_LIST } },         { "POST", { KUBE_CREATE, KUBE_CREATE } },
                { "PUT", { KUBE_REPLACE, KUBE_REPLACE } },  { "PATCH", { KUBE_PATCH, KUBE_PATCH } },
                { "DELETE", { KUBE_DELETE, KUBE_DELETE } },
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

        put_controllers(out, source);
        put_requests(out, source);
        put_process(out);
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
        { "GET", "/metrics", .handler = get_metrics },
        { 0 },
};

static const HttpRoute health_routes[] = {
        { "GET", "/healthz/{name...}", .handler = get_health },
        { "GET", "/readyz/{name...}", .handler = get_health },
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
