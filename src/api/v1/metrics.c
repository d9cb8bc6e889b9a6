/* Metrics in Prometheus text: engine, scheduler, queues, store, HTTP. */
#include "api/v1/internal.h"

#include <string.h>

static void metric(GString *out, const char *name, const char *type, const char *help, double value)
{
        g_string_append_printf(out, "# HELP paddle_%s %s\n# TYPE paddle_%s %s\npaddle_%s %.15g\n", name, help,
                               name, type, name, value);
}

static void engine_part(GString *out, Engine *engine)
{
        EngineMetrics m;

        engine_metrics(engine, &m);
        metric(out, "jobs_open", "gauge", "Jobs that are not finished.", (double)m.open_jobs);
        metric(out, "jobs_queued", "gauge", "Jobs that wait.", (double)m.queued_jobs);
        metric(out, "jobs_running", "gauge", "Jobs that run.", (double)m.running_jobs);
        metric(out, "members_running", "gauge", "Members that run.", (double)m.running_members);
        metric(out, "jobs_submitted_total", "counter", "Jobs accepted since the start.", (double)m.submitted);
        metric(out, "jobs_succeeded_total", "counter", "Jobs that succeeded since the start.",
               (double)m.succeeded);
        metric(out, "jobs_failed_total", "counter", "Jobs that failed since the start.", (double)m.failed);
        metric(out, "jobs_cancelled_total", "counter", "Jobs cancelled since the start.",
               (double)m.cancelled);
        metric(out, "jobs_evicted_total", "counter", "Evictions since the start.", (double)m.evictions);
        metric(out, "jobs_shrunk_total", "counter", "Elastic jobs made smaller since the start.",
               (double)m.shrinks);
        metric(out, "scheduler_passes_total", "counter", "Passes of the scheduler.", (double)m.passes);
        metric(out, "scheduler_pass_seconds_last", "gauge", "Time of the last pass.",
               (double)m.pass_us_last / 1e6);
        metric(out, "scheduler_pass_seconds_max", "gauge", "Longest pass.", (double)m.pass_us_max / 1e6);
        metric(out, "engine_batches_total", "counter", "Batches committed.", (double)m.batches);
        metric(out, "engine_observations_total", "counter", "Observations applied.", (double)m.observations);
        metric(out, "engine_commit_seconds_last", "gauge", "Time of the last commit.",
               (double)m.commit_us_last / 1e6);
        metric(out, "engine_commit_seconds_max", "gauge", "Longest commit.", (double)m.commit_us_max / 1e6);
        metric(out, "cpu_cores_total", "gauge", "Cores of the cluster.", (double)m.total.cpu_milli / 1000);
        metric(out, "cpu_cores_free", "gauge", "Cores not given to a job.", (double)m.free.cpu_milli / 1000);
        metric(out, "memory_bytes_total", "gauge", "Memory of the cluster.", (double)m.total.memory);
        metric(out, "memory_bytes_free", "gauge", "Memory not given to a job.", (double)m.free.memory);
        metric(out, "gpus_total", "gauge", "GPUs of the cluster.", (double)m.total.gpus);
        metric(out, "gpus_free", "gauge", "GPUs not given to a job.", (double)m.free.gpus);
}

static void store_part(GString *out, Store *store)
{
        StoreMetrics m;

        store_metrics(store, &m);
        metric(out, "store_commits_total", "counter", "Durable commits.", (double)m.commits);
        metric(out, "store_wal_bytes", "gauge", "Size of the write-ahead log.", (double)m.wal_bytes);
        metric(out, "store_checkpoint_seconds_max", "gauge", "Longest checkpoint in the writer.",
               (double)m.checkpoint_ms_max / 1e3);
}

static void latency_part(GString *out, const HttpMetrics *m)
{
        gint64 sum = 0;

        g_string_append(out, "# HELP paddle_http_request_seconds Time from a request's head to its reply.\n"
                             "# TYPE paddle_http_request_seconds histogram\n");
        for (gsize i = 0; i < G_N_ELEMENTS(m->latency_bucket); i++) {
                sum += m->latency_bucket[i];
                g_string_append_printf(out,
                                       "paddle_http_request_seconds_bucket{le=\"%.6g\"} %" G_GINT64_FORMAT
                                       "\n",
                                       (double)(64ll << i) / 1e6, sum);
        }
        g_string_append_printf(
                out,
                "paddle_http_request_seconds_bucket{le=\"+Inf\"} %" G_GINT64_FORMAT "\n"
                "paddle_http_request_seconds_sum %.6f\npaddle_http_request_seconds_count %" G_GINT64_FORMAT
                "\n",
                m->latency_count, (double)m->latency_us_sum / 1e6, m->latency_count);
}

static void http_part(GString *out, HttpServer *server)
{
        HttpMetrics m;

        http_server_metrics(server, &m);
        metric(out, "http_requests_total", "counter", "Requests.", (double)m.requests);
        metric(out, "http_client_errors_total", "counter", "Replies of 4xx.", (double)m.errors_4xx);
        metric(out, "http_server_errors_total", "counter", "Replies of 5xx.", (double)m.errors_5xx);
        metric(out, "http_refused_total", "counter", "Requests refused for a limit.", (double)m.refused);
        metric(out, "http_connections", "gauge", "Open connections.", (double)m.connections);
        metric(out, "http_suspended", "gauge", "Requests that wait for an answer.", (double)m.suspended);
        metric(out, "http_streams", "gauge", "Followers.", (double)m.streams);
        metric(out, "http_body_bytes", "gauge", "Bytes of bodies in memory.", (double)m.body_bytes);
        latency_part(out, &m);
}

static void metrics(HttpRequest *request, void *arg)
{
        Api *api = arg;
        HttpServer *server = api->server;
        GString *out = g_string_sized_new(8192);
        gsize len;

        engine_part(out, api->engine);
        store_part(out, api->store);
        if (server)
                http_part(out, server);
        len = out->len;
        http_reply_take(request, 200, "text/plain; version=0.0.4", g_string_free(out, FALSE), len);
}

const HttpRoute metrics_routes[] = {
        { "GET", "/metrics", ACCESS_METRICS, VERB_SHOW, metrics, "Metrics in Prometheus text.",
          .reply_type = "text/plain; version=0.0.4" },
        { 0 },
};
