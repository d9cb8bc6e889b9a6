/* The server's health, version and description of the API. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

static void health(HttpRequest *request, void *arg)
{
        http_reply(request, 200, "text/plain", "ok\n", 3);
}

static void ready(HttpRequest *request, void *arg)
{
        Api *api = arg;

        if (engine_is_ready(api->engine))
                http_reply(request, 200, "text/plain", "ok\n", 3);
        else
                http_reply(request, 503, "text/plain", "not ready: the local runtime is not connected\n", 46);
}

static void version(HttpRequest *request, void *arg)
{
        const Api *api = arg;
        g_autoptr(json_t) reply =
                json_pack("{s:s, s:s, s:b}", "version", PADDLE_VERSION, "api", "v1", "sso", api->sso != NULL);

        http_reply_json(request, 200, reply);
}

static void whoami(HttpRequest *request, void *arg)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *scope = caller->scope < SCOPE_ADMIN ? scope_name((Scope)caller->scope) : NULL;
        g_autofree char *until = caller->until_ms ? clock_format(caller->until_ms) : NULL;
        g_autoptr(json_t) reply =
                json_pack("{s:s, s:b, s:s, s:s*, s:s*, s:s*, s:s*}", "user", caller->user, "admin",
                          caller->admin, "address", caller->address, "scope", scope, "queue", caller->queue,
                          "token", caller->token, "expires_at", until);

        http_reply_json(request, 200, reply);
}

static json_t *format_resources(const Resources *r)
{
        g_autofree char *cpu = cpu_format(r->cpu_milli);
        g_autofree char *memory = memory_format(r->memory);

        return json_pack("{s:s, s:s, s:I}", "cpu", cpu, "memory", memory, "gpus", (json_int_t)r->gpus);
}

static void info(HttpRequest *request, void *arg)
{
        Api *api = arg;
        EngineMetrics m;
        g_autofree char *started = clock_format(api->started);
        g_autoptr(json_t) reply = NULL;

        engine_metrics(api->engine, &m);
        /* Where the server keeps its files concerns those who look after it. */
        reply = json_pack("{s:s, s:s, s:s*, s:s, s:{s:o, s:o}, s:{s:I, s:I, s:I}, s:{s:I}}", "version",
                          PADDLE_VERSION, "datacenter", api->dc, "state_dir",
                          http_request_caller(request)->admin ? api->state_dir : NULL, "started_at", started,
                          "resources", "total", format_resources(&m.total), "free", format_resources(&m.free),
                          "jobs", "open", (json_int_t)m.open_jobs, "queued", (json_int_t)m.queued_jobs,
                          "running", (json_int_t)m.running_jobs, "schedules", "running",
                          (json_int_t)m.running_schedules);
        http_reply_json(request, 200, reply);
}

static void openapi(HttpRequest *request, void *arg)
{
        gsize len;
        const char *text = openapi_text(&len);

        http_reply(request, 200, "application/json", text, len);
}

const HttpRoute system_routes[] = {
        { "GET", "/healthz", ACCESS_SYSTEM, VERB_SHOW, health, "The server answers.",
          .reply_type = "text/plain" },
        { "GET", "/readyz", ACCESS_SYSTEM, VERB_SHOW, ready,
          "Jobs are loaded and the runtime is connected; else 503.", .reply_type = "text/plain" },
        { "GET", "/v1/version", ACCESS_SYSTEM, VERB_SHOW, version, "The server's version.",
          .reply = "Version" },
        { "GET", "/v1/openapi.json", ACCESS_SYSTEM, VERB_SHOW, openapi, "This document." },
        { "GET", "/v1/whoami", ACCESS_USER, VERB_SHOW, whoami, "Who the caller is.", .reply = "Whoami" },
        { "GET", "/v1/info", ACCESS_STATISTICS, VERB_LIST, info, "The server, its resources and jobs.",
          .reply = "Info" },
        { 0 },
};
