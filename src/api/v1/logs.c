/* Logs over HTTP: one member's file, and all members as one resumable stream (doc/guide/rest.md, "The log stream").
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/v1/log-file.h"
#include "api/v1/log-stream.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum { TAIL_MAX = 1000000 };

/* Were they removed, since nothing needs them (doc/guide/storage.md)? Then that is the answer. */
static bool answer_gone(const Api *api, HttpRequest *request, const Job *job)
{
        g_autofree char *mark =
                g_strdup_printf("%s/jobs/%.2s/%s/" SURVEY_LOGS_GONE, api->state_dir, job->id, job->id);
        g_autoptr(GError) error = NULL;

        if (!job_state_is_final(job->state) || access(mark, F_OK) < 0)
                return false;
        err_set(&error, ERR_GONE,
                "the logs of job '%s' were removed some time after its end (paddled --gc logs=...)",
                job->name);
        http_fail(request, error);
        return true;
}

/* ---- one file ---- */

static bool query_attempt(HttpRequest *request, const Job *job, gint64 *ret)
{
        g_autoptr(GError) error = NULL;

        if (!http_request_query_int(request, "attempt", 0, G_MAXINT, 0, ret))
                return false;
        if (*ret == 0)
                *ret = job->attempt;
        if (*ret <= job->attempt)
                return true;
        err_set(&error, ERR_NOT_FOUND, "job '%s' has had %d attempt%s, not %" G_GINT64_FORMAT, job->name,
                job->attempt, job->attempt == 1 ? "" : "s", *ret);
        http_fail(request, error);
        return false;
}

static void get_log(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        g_autoptr(GError) error = NULL;
        g_autofree char *path = NULL;
        fd_auto int fd = -1;
        const char *role;
        struct stat st;
        gint64 attempt, tail;
        guint64 offset = 0;
        int index;

        if (!job || !query_attempt(request, job, &attempt) ||
            !http_request_query_int(request, "tail", 0, TAIL_MAX, -1, &tail))
                return;
        if (!log_member_find(job, http_request_param(request, "member"), &role, &index)) {
                log_member_unknown(job, http_request_param(request, "member"), &error);
                http_fail(request, error);
                return;
        }
        path = api->runtime->ops->log_path(api->runtime, job->id, (int)attempt, role, index);
        fd = path ? member_log_open(api, path) : -1;
        if (fd < 0 || fstat(fd, &st) < 0) {
                if (!answer_gone(api, request, job))
                        http_reply(request, 200, "text/plain; charset=utf-8", "",
                                   0); /* it has not said anything yet */
                return;
        }
        if (tail >= 0)
                offset = member_log_tail(fd, (guint64)st.st_size, tail);
        http_reply_file(request, path, fd_steal(&fd), offset, (guint64)st.st_size - offset,
                        "text/plain; charset=utf-8");
}

/* ---- the stream ---- */

static bool query_members(HttpRequest *request, const Job *job, char ***ret)
{
        const char *text = http_request_query(request, "member");
        g_auto(GStrv) members = text ? g_strsplit(text, ",", SPEC_REPLICAS_MAX) : NULL;
        g_autoptr(GError) error = NULL;
        const char *role;
        int index;

        for (char **member = members; member && *member; member++) {
                if (log_member_find(job, *member, &role, &index))
                        continue;
                log_member_unknown(job, *member, &error);
                http_fail(request, error);
                return false;
        }
        *ret = g_steal_pointer(&members);
        return true;
}

/* A time, or how long ago: into ms since 1970; 0: not asked for. */
static bool query_since(HttpRequest *request, gint64 *ret)
{
        const char *text = http_request_query(request, "since");
        g_autoptr(GDateTime) time = text ? g_date_time_new_from_iso8601(text, NULL) : NULL;
        g_autoptr(GError) error = NULL;
        gint64 ago;

        *ret = 0;
        if (!text)
                return true;
        if (time)
                *ret = g_date_time_to_unix(time) * 1000 + g_date_time_get_microsecond(time) / 1000;
        else if (duration_parse("since", text, &ago, NULL))
                *ret = clock_now_ms() - ago;
        if (*ret > 0)
                return true;
        err_set(&error, ERR_INVALID,
                "since: '%.80s' is neither a time such as 2026-03-01T10:00:00Z nor how long ago, such as 10m",
                text);
        http_fail(request, error);
        return false;
}

/* A cursor is empty or ATTEMPT.MEMBER:OFFSET,...; which members it names is not looked at. */
static bool query_cursor(HttpRequest *request, const char **ret)
{
        const char *cursor = http_request_query(request, "cursor");
        g_auto(GStrv) parts = g_strsplit(cursor ? cursor : "", ",", -1);
        g_autoptr(GError) error = NULL;

        for (char **part = parts; *part && !error; part++) {
                const char *dot = strchr(*part, '.'), *colon = dot ? strchr(dot, ':') : NULL;
                g_autofree char *attempt = dot ? g_strndup(*part, (gsize)(dot - *part)) : NULL;
                gint64 number;

                if (!colon || !number_parse("attempt", attempt, 0, G_MAXINT, &number, NULL) ||
                    !number_parse("offset", colon + 1, 0, G_MAXINT64, &number, NULL))
                        err_set(&error, ERR_INVALID,
                                "cursor: '%.80s' is not ATTEMPT.MEMBER:OFFSET as the stream's ids have it",
                                *part);
        }
        if (error) {
                http_fail(request, error);
                return false;
        }
        *ret = cursor ? cursor : http_request_header(request, "Last-Event-ID");
        return true;
}

static void stream_logs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        LogStreamOptions options = { 0 };
        gint64 attempt;

        if (!job || !query_attempt(request, job, &attempt) ||
            !api_query_boolean(request, "follow", true, &options.follow) ||
            !api_query_boolean(request, "partial", false, &options.partial) ||
            !api_query_boolean(request, "raw", false, &options.raw) ||
            !api_query_boolean(request, "timestamps", false, &options.times) ||
            !api_query_boolean(request, "terminal", false, &options.terminal) ||
            !query_since(request, &options.since) ||
            !http_request_query_int(request, "tail", 0, TAIL_MAX, -1, &options.tail) ||
            !query_cursor(request, &options.cursor) || !query_members(request, job, &options.members) ||
            (!options.members && answer_gone(api, request, job)))
                return;
        options.attempt = http_request_query(request, "attempt") ? (int)attempt : 0;
        log_stream_start(api, request, job, &options);
}

static const HttpParameter stream_logs_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "follow", HTTP_BOOLEAN, "Wait for more until the job ends, true when absent." },
        { "tail", HTTP_INTEGER, "Begin with so many last lines of each member." },
        { "since", HTTP_STRING,
          "Begin with the lines written since then, a time in RFC 3339 or how long ago (10m)." },
        { "member", HTTP_STRING, "Only these members, separated by commas." },
        { "attempt", HTTP_INTEGER, "Only this attempt. The newest and those that follow when absent or 0." },
        { "partial", HTTP_BOOLEAN, "Also send what a line shows that has no end yet." },
        { "raw", HTTP_BOOLEAN, "Send all states of redrawn lines." },
        { "timestamps", HTTP_BOOLEAN, "Say when the lines of each event were written." },
        { "terminal", HTTP_BOOLEAN,
          "It stands for a terminal that waits for the start of the job (see hangup_after)." },
        { "cursor", HTTP_STRING, "Where an earlier stream ended." },
        { 0 },
};

static const HttpParameter get_log_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "attempt", HTTP_INTEGER, "Which attempt, the newest when absent." },
        { "tail", HTTP_INTEGER, "Only this many last lines." },
        { 0 },
};

const HttpRoute log_routes[] = {
        { "GET", "/v1/jobs/{job}/logs", ACCESS_LOG, VERB_SHOW, stream_logs,
          "Follow the logs of all members as server-sent events until the job ends; resumes with cursor or "
          "Last-Event-ID.",
          .query = stream_logs_query, .reply = "LogEvent", .reply_type = "text/event-stream" },
        { "GET", "/v1/jobs/{job}/logs/{member}", ACCESS_LOG, VERB_SHOW, get_log,
          "The log of one member; takes Range.", .query = get_log_query,
          .reply_type = "text/plain; charset=utf-8" },
        { 0 },
};
