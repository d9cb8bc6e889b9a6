/* Logs (doc/reference/paddleflow-api.md, "Logs"): what each member's process of a job has written, some lines
 * from one of its ends; of pods and deployments by their names pod-logs.c knows. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "api/paddleflow/pod-logs.h"
#include "base/file.h"
#include "base/number.h"
#include "model/framework.h"

enum { LINES = 1000 };
#define SIZE_DEFAULT ((gint64)100 * 1000 * 1000)
#define SIZE_MAX_BYTES ((gint64)1000 * 1000 * 1000)

/* ---- one file ---- */

static json_t *log_of(const char *path, const void *arg)
{
        const LogWindow *window = arg;
        fd_auto int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
        g_autoptr(GString) text = NULL;
        g_autofree char *valid = NULL;
        bool more = false;

        if (fd >= 0)
                text = log_window_read(window, fd, &more);
        valid = text ? g_utf8_make_valid(text->str, (gssize)text->len) : g_strdup("");
        return json_pack("{s:s, s:b, s:b}", "logContent", valid, "hasNextPage", more, "truncated",
                         more && text && (gint64)text->len >= window->size / 2);
}

/* ---- a job ---- */

json_t *job_tasks_logs(PaddleFlow *flow, const Job *job, LogRead read, const void *arg)
{
        Runtime *runtime = flow->runtime;
        json_t *tasks = json_array();
        gsize total = 0;

        for (int i = 0; i < job->n_members && i < LOG_TASKS_MAX && total < LOG_REPLY_MAX; i++) {
                const Member *member = &job->members[i];
                g_autofree char *name = job_task_name(job, i);
                g_autofree char *path =
                        runtime->ops->log_path(runtime, job->id, job->attempt,
                                               job->spec->roles[member->role].name, member->index);
                json_t *log = read(path, arg);

                total += json_string_length(json_object_get(log, "logContent"));
                json_array_append_new(tasks, json_pack("{s:s, s:o}", "taskID", name, "logInfo", log));
        }
        return tasks;
}

/* ---- what is asked for ---- */

/* As Go's strconv reads a bool. */
static bool take_flag(const char *text, bool *ret)
{
        static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True", NULL }, *const no[] = {
                "", "0", "f", "F", "false", "FALSE", "False", NULL
        };

        *ret = g_strv_contains(yes, text);
        return *ret || g_strv_contains(no, text);
}

static bool is_number(const char *text)
{
        const char *digits = text + (*text == '-' || *text == '+');

        return *digits && strspn(digits, "0123456789") == strlen(digits);
}

static bool take_window(const Call *call, LogWindow *ret, GError **error)
{
        const char *lines = call_query(call, "lineLimit"), *size = call_query(call, "sizeLimit");
        g_autoptr(GError) why = NULL;

        *ret = (LogWindow){ .lines = LINES, .size = SIZE_DEFAULT };
        if (!take_flag(call_query(call, "readFromTail"), &ret->tail))
                return paddleflow_set(error, CODE_InvalidURI,
                                      "readFromTail: '%.40s' is neither true nor false",
                                      call_query(call, "readFromTail"));
        if (*lines && !is_number(lines))
                return paddleflow_set(error, CODE_InvalidURI, "lineLimit: '%.40s' is not a number", lines);
        (void)paddleflow_number_parse("lineLimit", lines, 1, LOG_LINES_MAX, &ret->lines,
                                      NULL); /* else the usual (13) */
        if (*size && !memory_parse("sizeLimit", size, &ret->size, &why))
                return paddleflow_set(error, CODE_InvalidURI, "%s", why->message);
        if (ret->size < 1 || ret->size > SIZE_MAX_BYTES)
                return paddleflow_set(error, CODE_InvalidURI, "sizeLimit: '%.40s' is not 1 to 1G", size);
        ret->size = MIN(ret->size, LOG_REPLY_MAX);
        return true;
}

static bool check_framework(const char *name, GError **error)
{
        g_autofree char *known = paddleflow_framework_names();

        if (!*name)
                return paddleflow_set(error, CODE_InvalidArguments, "framework is missing: one of %s", known);
        return paddleflow_framework_find(name) || strcmp(name, "workflow") == 0 ||
               paddleflow_set(error, CODE_InvalidArguments, "framework '%.40s' is not one of %s", name,
                              known);
}

static Job *find_job(const Call *call, const char *id, GError **error)
{
        GError *why = NULL;
        Job *job;

        if (!check_framework(call_query(call, "framework"), error))
                return NULL;
        job = call_job(call, id, CODE_AccessDenied, &why);
        if (why && why->code == CODE_JobNotFound)
                why->code = CODE_InvalidURI; /* the reference's word here */
        if (why)
                g_propagate_error(error, why);
        return job;
}

static void show_job_log(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(Job) job = NULL;
        const char *id;
        GError *error = NULL;
        LogWindow window;

        if (!call_begin(&call, request, arg))
                return;
        id = call_query(&call, "jobID");
        if (take_window(&call, &window, &error))
                job = find_job(&call, id, &error);
        if (job)
                call_reply(&call, json_pack("{s:s, s:o, s:s, s:s, s:n}", "jobID", id, "taskList",
                                            job_tasks_logs(call.flow, job, log_of, &window), "name", id,
                                            "type", "pod", "eventList"));
        else
                call_fail(&call, error);
}

static void show_pod_log(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        json_t *reply = NULL;
        GError *error = NULL;
        LogWindow window;

        if (!call_begin(&call, request, arg))
                return;
        if (take_window(&call, &window, &error))
                reply = pod_logs(&call, &window, &error);
        if (reply)
                call_reply(&call, reply);
        else
                call_fail(&call, error);
}

static void show_log(HttpRequest *request, void *arg)
{
        const char *id = http_request_query(request, "jobID");

        if (id && *id)
                paddleflow_defer(request, arg, show_job_log);
        else
                paddleflow_defer_ask(request, arg, show_pod_log);
}

static const HttpParameter show_log_query[] = {
        { "jobID", HTTP_STRING, "Of this job." },
        { "framework", HTTP_STRING, "Of the job." },
        { "clusterName", HTTP_STRING, "Of a pod or deployment." },
        { "name", HTTP_STRING, "Of it." },
        { "namespace", HTTP_STRING, "Of it." },
        { "type", HTTP_STRING, "pod or deployment." },
        { "readFromTail", HTTP_BOOLEAN, "The last lines instead of the first." },
        { "lineLimit", HTTP_INTEGER, "At most this many." },
        { "sizeLimit", HTTP_STRING, "At most this many bytes, a quantity." },
        { 0 },
};

const HttpRoute log_rows[] = {
        { "GET", PADDLEFLOW_BASE "/log/job", ACCESS_LOG, VERB_SHOW, show_log,
          "Show what a job's processes have written.", .query = show_log_query, .reply = "JobLog" },
        { 0 },
};
