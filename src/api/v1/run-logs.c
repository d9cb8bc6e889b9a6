/* The stream of a run's logs (see run-logs.h).
 *
 * Each step is the log of its job (log-stream.h), with its path in each event. The nodes of the run are passed over again
 * and again, in their order: first those that have jobs when the stream begins, then those that got one since the last pass
 * began (RunMoment of store.h):
 *
 *      nodes with jobs since (low, high] ──▶ page (1,000) ──▶ open (32 that run, 1 that has ended) ──▶ events
 *                          ▲                      │
 *                          └── cursor: "LOW-HIGH-NODE-LOW-HIGH;OPEN=CURSOR;...": all nodes with jobs up to LOW, and those
 *                              with jobs up to HIGH among the nodes up to NODE, were sent, but those that are open. The
 *                              second pair is of results that were taken from the cache
 *
 * A run may have a million steps: only open ones have a state here, and none of them holds a descriptor between two
 * pulls. A step that has ended is sent whole before the next one that has ended, so that past steps are not mixed. */
#include "api/v1/run-logs.h"

#include <string.h>

#include "api/v1/live.h"
#include "api/v1/log-stream.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"

enum {
        PAGE = 1000,
        RUNNING_MAX = 32, /* steps that run and are followed at one time */
        LOOK_MS = 500,    /* between two looks at files and for new steps */
        PULL_BYTES = 65536,
        CURSOR_MAX = 8192, /* bytes; a request line has no more */
};

typedef struct RunLogs RunLogs;

/* A step that is being sent. */
typedef struct {
        RunLogs *logs;
        guint32 node;
        char *path, *job_id;
        LogSink sink;
        LogStream *source;
        bool ended;        /* it had when it was opened */
        StreamState state; /* after the last pull */
} Open;

struct RunLogs {
        Api *api;
        LiveStream *live;
        RunText *text;
        char *id, *user; /* of the run */
        gint64 seq;
        char *step; /* or NULL */
        bool follow, raw, times;
        GHashTable *dags; /* of run_node_path */
        GPtrArray *page;  /* RunNodeRecord; those before `at` were opened or left out */
        guint at;
        gint64 next; /* node behind which the next page begins; 0: the page is the last one of its pass */
        RunMoment low, high; /* see above */
        gint64 node;
        gint64 read_at;  /* monotonic ms: when the pass began; 0: none yet */
        GPtrArray *open; /* Open */
        guint turn;      /* the one that a pull begins with */
};

static void open_free(gpointer data)
{
        Open *open = data;

        log_source_free(open->source);
        g_free(open->path);
        g_free(open->job_id);
        g_free(open);
}

static void run_logs_close(void *arg)
{
        RunLogs *logs = arg;

        g_ptr_array_unref(logs->open);
        g_clear_pointer(&logs->page, g_ptr_array_unref);
        g_hash_table_unref(logs->dags);
        run_text_unref(logs->text);
        g_free(logs->step);
        g_free(logs->id);
        g_free(logs->user);
        g_free(logs);
}

/* ---- events ---- */

static char *cursor_format(const RunLogs *logs)
{
        GString *text = g_string_new(NULL);

        g_string_append_printf(text,
                               "%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT
                               "-%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT,
                               logs->low.job, logs->high.job, logs->node, logs->low.taken, logs->high.taken);
        for (guint i = 0; i < logs->open->len; i++) {
                const Open *open = logs->open->pdata[i];
                g_autofree char *cursor = log_source_cursor(open->source);

                g_string_append_printf(text, ";%u=%s", open->node, cursor);
        }
        return g_string_free(text, FALSE);
}

static void send(const RunLogs *logs, GString *out, const char *event, json_t *data)
{
        g_autofree char *cursor = cursor_format(logs), *text = json_format(data);

        sse_append(out, cursor, event, text);
        json_decref(data);
}

/* Only lines: states and ends of single jobs are no news of the run's log. */
static void on_event(void *arg, const char *event, json_t *data, GString *out)
{
        const Open *open = arg;

        if (strcmp(event, "log") != 0) {
                json_decref(data);
                return;
        }
        json_object_set_new(data, "step", json_string(open->path));
        json_object_set_new(data, "job", json_string(open->job_id));
        send(open->logs, out, "log", data);
}

static StreamState fail(GString *out, const GError *error)
{
        g_autoptr(json_t) body = json_from_error(error, NULL);
        g_autofree char *text = json_format(body);

        sse_append(out, NULL, "error", text);
        return STREAM_END;
}

static StreamState finish(const RunLogs *logs, GString *out, const RunRecord *run)
{
        send(logs, out, "end",
             json_pack("{s:s, s:s}", "state", node_state_name(run_record_state(run)), "message",
                       run->message ? run->message : ""));
        return STREAM_END;
}

/* ---- steps ---- */

static bool is_at(const char *path, const char *step)
{
        gsize len = strlen(step);

        return strncmp(path, step, len) == 0 && (path[len] == '\0' || path[len] == '.');
}

static bool is_wanted(const RunLogs *logs, const RunNodeRecord *node, const char *path)
{
        g_autofree char *plain = NULL;

        if (!logs->step || is_at(path, logs->step))
                return true;
        plain = run_node_path(logs->api->store, logs->text, logs->dags, node, false, NULL);
        return plain && is_at(plain, logs->step);
}

/* Nothing, if the job was deleted meanwhile. */
static void open_node(RunLogs *logs, const RunNodeRecord *node, const char *cursor)
{
        g_autofree char *path = run_node_path(logs->api->store, logs->text, logs->dags, node, true, NULL);
        g_autoptr(Job) job =
                node->job_id ? engine_find(logs->api->engine, logs->user, node->job_id, NULL) : NULL;
        Open *open;

        if (!path || !job || !is_wanted(logs, node, path))
                return;
        open = g_new0(Open, 1);
        open->logs = logs;
        open->node = node->node;
        open->path = g_steal_pointer(&path);
        open->job_id = g_strdup(job->id);
        open->ended = job_state_is_final(job->state);
        open->sink = (LogSink){ on_event, open };
        open->source = log_source_new(logs->api, job,
                                      &(LogStreamOptions){ .cursor = cursor,
                                                           .tail = -1,
                                                           .follow = logs->follow,
                                                           .raw = logs->raw,
                                                           .times = logs->times,
                                                           .sink = &open->sink });
        g_ptr_array_add(logs->open, open);
}

static bool has_ended_one(const RunLogs *logs)
{
        for (guint i = 0; i < logs->open->len; i++)
                if (((const Open *)logs->open->pdata[i])->ended)
                        return true;
        return false;
}

static bool may_open(const RunLogs *logs, const RunNodeRecord *next)
{
        if (!logs->follow)
                return logs->open->len == 0;
        return node_is_final((NodeState)next->state) ? !has_ended_one(logs) : logs->open->len < RUNNING_MAX;
}

static bool has_next(const RunLogs *logs)
{
        return logs->page && logs->at < logs->page->len;
}

static bool is_through(const RunLogs *logs)
{
        return logs->page && !has_next(logs) && logs->next == 0;
}

/* Over the nodes that got their jobs since the last pass began. */
static bool begin_pass(RunLogs *logs, gint64 now, GError **error)
{
        RunMoment last;

        if (!store_run_moment(logs->api->store, logs->seq, &last, error))
                return false;
        logs->low = logs->high;
        logs->high.job = MAX(logs->high.job, last.job);
        logs->high.taken = MAX(logs->high.taken, last.taken);
        logs->node = 0;
        logs->read_at = now;
        return true;
}

static bool read_page(RunLogs *logs, GError **error)
{
        const RunNodeQuery query = { .run = logs->seq,
                                     .after = logs->node,
                                     .new_jobs = true,
                                     .from = logs->low,
                                     .upto = logs->high,
                                     .limit = PAGE };
        bool is_empty = logs->high.job == logs->low.job && logs->high.taken == logs->low.taken;
        GPtrArray *page;

        logs->next = 0;
        page = is_empty ? g_ptr_array_new() : store_run_nodes(logs->api->store, &query, &logs->next, error);
        g_clear_pointer(&logs->page, g_ptr_array_unref);
        logs->page = page;
        logs->at = 0;
        return page != NULL;
}

/* More steps, if there may be some. */
static bool look(RunLogs *logs, GError **error)
{
        gint64 now = clock_monotonic_ms();

        if (has_next(logs) || (is_through(logs) && now < logs->read_at + LOOK_MS))
                return true;
        if (logs->page && !is_through(logs))
                logs->node = logs->next;
        else if ((logs->page || logs->high.job == 0) && !begin_pass(logs, now, error))
                return false;
        return read_page(logs, error);
}

static bool open_some(RunLogs *logs, GError **error)
{
        for (guint n = 0; n < PAGE; n++) { /* one pull looks at so many nodes at most */
                const RunNodeRecord *next;

                if (!look(logs, error))
                        return false;
                if (!has_next(logs))
                        return true;
                next = logs->page->pdata[logs->at];
                if (!may_open(logs, next))
                        return true;
                open_node(logs, next, NULL);
                logs->node = next->node;
                logs->at++;
        }
        return true;
}

/* True if a pull at once may open one. */
static bool may_go_on(const RunLogs *logs)
{
        return has_next(logs) ? may_open(logs, logs->page->pdata[logs->at]) : logs->next > 0;
}

/* True if there may be more at once. */
static bool send_open(RunLogs *logs, GString *out)
{
        bool more = false;

        guint n = logs->open->len, turn = logs->turn++;

        for (guint i = 0; i < n && out->len < PULL_BYTES; i++) {
                Open *open = logs->open->pdata[(turn + i) % n];

                open->state = log_source_pull(open->source, out);
                more |= open->state != STREAM_WAIT;
        }
        for (guint i = n; i-- > 0;)
                if (((const Open *)logs->open->pdata[i])->state == STREAM_END)
                        g_ptr_array_remove_index(logs->open, i);
        return more || out->len >= PULL_BYTES;
}

/* All steps that there are were sent. */
static bool is_done(const RunLogs *logs)
{
        return logs->open->len == 0 && is_through(logs);
}

static StreamState run_logs_pull(GString *out, void *arg)
{
        RunLogs *logs = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run = store_run_by_id(logs->api->store, logs->id, false, &error);
        bool over = run && (!logs->follow || node_is_final((NodeState)run->state));

        if (over && is_done(logs))
                logs->read_at = -LOOK_MS; /* one more look: steps that began before the end */
        if (!run || !open_some(logs, &error))
                return fail(out, error);
        if (send_open(logs, out))
                return STREAM_MORE;
        if (may_go_on(logs))
                return STREAM_MORE;
        if (over && is_done(logs))
                return finish(logs, out, run);
        live_stream_wake_at(logs->live, clock_monotonic_ms() + LOOK_MS);
        return STREAM_WAIT;
}

/* ---- the start ---- */

static bool wrong_cursor(const char *cursor, GError **error)
{
        return err_set(error, ERR_INVALID, "cursor: '%.80s' is not one that the stream's ids have", cursor);
}

/* The step that an earlier stream had not sent whole. */
static bool open_again(RunLogs *logs, const char *part, GError **error)
{
        const char *is = strchr(part, '=');
        g_autofree char *number = is ? g_strndup(part, (gsize)(is - part)) : NULL;
        RunNodeQuery query = { .run = logs->seq, .limit = 1 };
        g_autoptr(GPtrArray) nodes = NULL;
        gint64 node, next;

        if (!is || !number_parse("cursor", number, 2, G_MAXINT32, &node, NULL))
                return wrong_cursor(part, error);
        query.after = node - 1;
        nodes = store_run_nodes(logs->api->store, &query, &next, error);
        if (!nodes)
                return false;
        if (nodes->len > 0 && ((const RunNodeRecord *)nodes->pdata[0])->node == node)
                open_node(logs, nodes->pdata[0], is + 1);
        return true;
}

static bool read_place(RunLogs *logs, const char *text)
{
        g_auto(GStrv) parts = g_strsplit(text, "-", -1);

        return g_strv_length(parts) == 5 &&
               number_parse("cursor", parts[0], 0, G_MAXINT64, &logs->low.job, NULL) &&
               number_parse("cursor", parts[1], logs->low.job, G_MAXINT64, &logs->high.job, NULL) &&
               number_parse("cursor", parts[2], 0, G_MAXINT32, &logs->node, NULL) &&
               number_parse("cursor", parts[3], 0, G_MAXINT64, &logs->low.taken, NULL) &&
               number_parse("cursor", parts[4], logs->low.taken, G_MAXINT64, &logs->high.taken, NULL);
}

static bool read_cursor(RunLogs *logs, const char *cursor, GError **error)
{
        g_auto(GStrv) parts = g_strsplit(cursor, ";", -1);

        if (strlen(cursor) > CURSOR_MAX || !read_place(logs, parts[0]))
                return wrong_cursor(cursor, error);
        for (char **part = parts + 1; *part; part++)
                if (part - parts > RUNNING_MAX + 1 || !open_again(logs, *part, error))
                        return *error ? false : wrong_cursor(cursor, error);
        return true;
}

bool run_logs_start(Api *api, HttpRequest *request, const RunRecord *run, RunText *text,
                    const RunLogOptions *options, GError **error)
{
        RunLogs *logs = g_new0(RunLogs, 1);

        *logs = (RunLogs){ .api = api,
                           .text = run_text_ref(text),
                           .id = g_strdup(run->id),
                           .user = g_strdup(run->user),
                           .seq = run->seq,
                           .step = g_strdup(options->step),
                           .follow = options->follow,
                           .raw = options->raw,
                           .times = options->times,
                           .dags = run_paths_new(),
                           .open = g_ptr_array_new_with_free_func(open_free) };
        if (options->cursor && *options->cursor && !read_cursor(logs, options->cursor, error)) {
                run_logs_close(logs);
                return false;
        }
        logs->live = live_stream_new(api, run_logs_pull, run_logs_close, logs);
        live_stream_start(logs->live, request);
        return true;
}
