/* Logs of a run (doc/reference/paddleflow-api.md, "Logs"): those of all its jobs, or of one, page by page from one of
 * the ends. */
#include <fcntl.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "api/paddleflow/log-window.h"
#include "api/paddleflow/pod-logs.h"
#include "base/file.h"

enum {
        PAGE_LINES_MAX = 100,
        TAIL_LINES = 5000,   /* of a log that are read from its end */
        HEAD_BYTES = 500000, /* ... from its beginning */
        EVENTS = 200,
        NODES = 1000,
};

typedef struct {
        gint64 page, lines; /* `page` from 1 */
        bool tail;
} LogPage;

/* ---- one log ---- */

static guint count_lines(const char *text)
{
        guint n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/* Behind `n` lines. */
static const char *skip_lines(const char *text, gint64 n)
{
        for (; n > 0 && *text; n--) {
                const char *end = strchr(text, '\n');

                text = end ? end + 1 : text + strlen(text);
        }
        return text;
}

/* The lines of the page within what was read; *ret_next: more of it lies beyond the page. */
static char *cut_page(const LogPage *page, const char *text, bool *ret_next)
{
        gint64 n = count_lines(text), before = (page->page - 1) * page->lines;
        gint64 from = page->tail ? MAX(0, n - before - page->lines) : MIN(before, n);
        gint64 to = page->tail ? MAX(0, n - before) : MIN(n, before + page->lines);
        const char *begin = skip_lines(text, from), *end = skip_lines(begin, to - from);

        *ret_next = page->tail ? from > 0 : to < n;
        return g_strndup(begin, (gsize)(end - begin));
}

static json_t *read_page(const char *path, const void *arg)
{
        const LogPage *page = arg;
        const LogWindow window = { .tail = page->tail,
                                   .lines = page->tail ? TAIL_LINES : LOG_LINES_MAX,
                                   .size = page->tail ? LOG_REPLY_MAX : HEAD_BYTES };
        fd_auto int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
        bool beyond = false, next = false;
        g_autoptr(GString) text = fd >= 0 ? log_window_read(&window, fd, &beyond) : NULL;
        g_autofree char *cut = text ? cut_page(page, text->str, &next) : g_strdup("");
        g_autofree char *valid = g_utf8_make_valid(cut, -1);

        return json_pack("{s:s, s:b, s:b}", "logContent", valid, "hasNextPage", next, "truncated",
                         beyond && !next);
}

/* ---- the jobs ---- */

static Job *find_job(PaddleFlow *flow, const char *id)
{
        Job *job = engine_job(flow->engine, id);

        return job ? job : store_job_by_id(flow->store, id, NULL);
}

static json_t *show_job(PaddleFlow *flow, const Job *job, const LogPage *page)
{
        g_autofree char *id = job_flow_id(job);

        return json_pack("{s:s, s:o, s:s, s:s, s:[]}", "jobID", id, "taskList",
                         job_tasks_logs(flow, job, read_page, page), "name", job->name, "type", "pod",
                         "eventList");
}

/* As many as one reply may have; `only`: the id of one of them, "": all. */
static json_t *show_jobs(const Call *call, const RunRecord *run, const char *only, const LogPage *page,
                         GError **error)
{
        RunNodeQuery query = { .run = run->seq, .limit = NODES };
        g_autoptr(json_t) list = json_array();
        gint64 next;

        do {
                g_autoptr(GPtrArray) nodes = store_run_nodes(call->flow->store, &query, &next, error);

                if (!nodes)
                        return NULL;
                for (guint i = 0; i < nodes->len && json_array_size(list) < LOG_TASKS_MAX; i++) {
                        const RunNodeRecord *node = nodes->pdata[i];
                        g_autoptr(Job) job = node->job_id ? find_job(call->flow, node->job_id) : NULL;
                        g_autofree char *id = job ? job_flow_id(job) : NULL;

                        if (job && (!*only || strcmp(only, id) == 0))
                                json_array_append_new(list, show_job(call->flow, job, page));
                }
                query.after = next;
        } while (next && json_array_size(list) < (*only ? 1 : LOG_TASKS_MAX));
        return g_steal_pointer(&list);
}

/* ---- what the server did ---- */

static char *submit_log(const Call *call, const RunRecord *run)
{
        const EventQuery query = { .subject = SUBJECT_RUN, .seq = run->seq, .limit = EVENTS };
        g_autoptr(GPtrArray) events = store_events(call->flow->store, &query, NULL);
        g_autofree char *id = numbered_id_format("run", run->seq);
        GString *text = g_string_new(NULL);

        for (guint i = 0; events && i < events->len; i++) {
                const Event *event = events->pdata[i];
                g_autofree char *time = time_text(event->time);

                g_string_append_printf(text, "%s[%s] [INFO] <%s> %s %s", i ? "\n" : "", time, id, event->kind,
                                       event->data ? event->data : "");
        }
        return g_string_free(text, FALSE);
}

/* ---- the route ---- */

static bool take_page(const Call *call, LogPage *ret, GError **error)
{
        const char *position = call_query(call, "logFilePosition");

        ret->tail = strcmp(position, "begin") != 0;
        if (*position && ret->tail && strcmp(position, "end") != 0)
                return paddleflow_set(error, CODE_InvalidURI,
                                      "logFilePosition '%.20s' is neither begin nor end", position);
        return call_query_int(call, "pageNo", 1, G_MAXINT, 1, &ret->page, error) &&
               call_query_int(call, "pageSize", 1, PAGE_LINES_MAX, PAGE_LINES_MAX, &ret->lines, error);
}

static void show_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(RunRecord) run = NULL;
        g_autofree char *trace = NULL;
        json_t *jobs = NULL;
        GError *error = NULL;
        LogPage page = { 0 };

        if (!call_begin(&call, request, arg))
                return;
        if (take_page(&call, &page, &error))
                run = call_run(&call, call_param(&call, "runID"), &error);
        if (run)
                jobs = show_jobs(&call, run, call_query(&call, "jobID"), &page, &error);
        if (!jobs) {
                call_fail(&call, error);
                return;
        }
        trace = submit_log(&call, run);
        call_reply(&call, json_pack("{s:s, s:o, s:s}", "submitLog", trace, "runLog", jobs, "runID",
                                    call_param(&call, "runID")));
}

static void show_log(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, show_now);
}

static const HttpParameter query[] = {
        { "jobID", HTTP_STRING, "Only of this job." },
        { "pageNo", HTTP_INTEGER, "Number of the page, from 1." },
        { "pageSize", HTTP_INTEGER, "Lines on a page, 1 to 100." },
        { "logFilePosition", HTTP_STRING, "From which end pages count: begin or end." },
        { 0 },
};

const HttpRoute run_log_rows[] = {
        { "GET", PADDLEFLOW_BASE "/log/run/{runID}", ACCESS_LOG, VERB_SHOW, show_log,
          "Show what the jobs of a run have written.", .query = query, .reply = "RunLog" },
        { 0 },
};
