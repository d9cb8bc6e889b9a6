/* Logs of jobs (paddleflow-api.md 2.16; scheduling.md 13): what each member's process has written, some lines
 * from one of its ends. Logs of pods and deployments by their names are not read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/paddleflow/internal.h"
#include "base/file.h"
#include "base/number.h"
#include "model/framework.h"

enum {
        LINES = 1000,
        LINES_MAX = 1000000,
        TASKS_MAX = 1000,
        PIECE = 64 * 1024,
        REPLY_MAX = 64 * 1024 * 1024, /* bytes of one reply, whatever is asked for */
};
#define SIZE_DEFAULT ((gint64)100 * 1000 * 1000)
#define SIZE_MAX_BYTES ((gint64)1000 * 1000 * 1000)

typedef struct {
        bool tail;
        gint64 lines, size;
} Window;

/* ---- one file ---- */

/* The first lines from `at` on that fit; the last may lack its end. */
static GString *read_lines(int fd, guint64 at, gint64 lines, gint64 size, bool *ret_more)
{
        GString *text = g_string_new(NULL);
        g_autofree char *piece = g_malloc(PIECE);
        gint64 left = lines;

        *ret_more = false;
        for (;;) {
                ssize_t got = pread(fd, piece, PIECE, (off_t)at);

                if (got <= 0)
                        return text;
                for (ssize_t i = 0; i < got; i++) {
                        if (left == 0 || (gint64)text->len == size) {
                                *ret_more = true;
                                return text;
                        }
                        g_string_append_c(text, piece[i]);
                        left -= piece[i] == '\n';
                }
                at += (guint64)got;
        }
}

/* Where the last `lines` lines begin, no more than `size` bytes from the end. */
static guint64 tail_start(int fd, guint64 end, gint64 lines, gint64 size)
{
        g_autofree char *piece = g_malloc(PIECE);
        guint64 least = end > (guint64)size ? end - (guint64)size : 0, at = end;
        bool last = true;

        while (at > least) {
                guint64 from = at - least > PIECE ? at - PIECE : least;
                ssize_t got = pread(fd, piece, at - from, (off_t)from);

                if (got <= 0)
                        return at;
                for (ssize_t i = got - 1; i >= 0; i--, last = false)
                        if (piece[i] == '\n' && !last && --lines == 0)
                                return from + (guint64)i + 1;
                at = from;
        }
        return least;
}

/* A part of a line at the cut end goes, unless it is all there is. */
static void cut_tail(GString *text, bool *cut)
{
        const char *newline = strrchr(text->str, '\n');

        if (*cut && newline)
                g_string_truncate(text, (gsize)(newline + 1 - text->str));
        if (text->len && text->str[text->len - 1] != '\n')
                g_string_append_c(text, '\n');
}

static void cut_head(GString *text, bool cut)
{
        const char *newline = strchr(text->str, '\n');

        if (cut && newline && newline[1])
                g_string_erase(text, 0, newline + 1 - text->str);
        if (text->len && text->str[text->len - 1] != '\n')
                g_string_append_c(text, '\n');
}

static GString *read_window(int fd, const Window *window, bool *ret_more)
{
        struct stat status;
        GString *text;

        if (!window->tail) {
                text = read_lines(fd, 0, window->lines, window->size, ret_more);
                cut_tail(text, ret_more);
                return text;
        }
        if (fstat(fd, &status) != 0)
                status.st_size = 0;
        guint64 start = tail_start(fd, (guint64)status.st_size, window->lines, window->size);
        bool beyond;
        text = read_lines(fd, start, LINES_MAX + 1, window->size, &beyond);
        *ret_more = start > 0;
        cut_head(text, start > 0 && (gint64)text->len == window->size);
        return text;
}

static json_t *log_of(const char *path, const Window *window)
{
        fd_auto int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
        g_autoptr(GString) text = NULL;
        g_autofree char *valid = NULL;
        bool more = false;

        if (fd >= 0)
                text = read_window(fd, window, &more);
        valid = text ? g_utf8_make_valid(text->str, (gssize)text->len) : g_strdup("");
        return json_pack("{s:s, s:b, s:b}", "logContent", valid, "hasNextPage", more, "truncated",
                         more && text && (gint64)text->len >= window->size / 2);
}

/* ---- a job ---- */

static json_t *tasks_of(Flow *flow, const Job *job, const Window *window)
{
        Runtime *runtime = flow->runtime;
        json_t *tasks = json_array();
        gsize total = 0;

        for (int i = 0; i < job->n_members && i < TASKS_MAX && total < REPLY_MAX; i++) {
                const Member *member = &job->members[i];
                g_autofree char *name = job_task_name(job, i);
                g_autofree char *path =
                        runtime->ops->log_path(runtime, job->id, job->attempt,
                                               job->spec->roles[member->role].name, member->index);
                json_t *log = log_of(path, window);

                total += json_string_length(json_object_get(log, "logContent"));
                json_array_append_new(tasks, json_pack("{s:s, s:o}", "taskID", name, "logInfo", log));
        }
        return tasks;
}

static void reply_job(const Call *call, const Job *job, const char *id, const Window *window)
{
        call_reply(call,
                   json_pack("{s:s, s:o, s:s, s:s, s:n}", "jobID", id, "taskList",
                             tasks_of(call->flow, job, window), "name", id, "type", "pod", "eventList"));
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

static bool take_window(const Call *call, Window *ret, GError **error)
{
        const char *lines = call_query(call, "lineLimit"), *size = call_query(call, "sizeLimit");
        g_autoptr(GError) why = NULL;

        *ret = (Window){ .lines = LINES, .size = SIZE_DEFAULT };
        if (!take_flag(call_query(call, "readFromTail"), &ret->tail))
                return flow_set(error, CODE_InvalidURI, "readFromTail: '%.40s' is neither true nor false",
                                call_query(call, "readFromTail"));
        if (*lines && !is_number(lines))
                return flow_set(error, CODE_InvalidURI, "lineLimit: '%.40s' is not a number", lines);
        (void)number_parse("lineLimit", lines, 1, LINES_MAX, &ret->lines, NULL); /* else the usual (13) */
        if (*size && !memory_parse("sizeLimit", size, &ret->size, &why))
                return flow_set(error, CODE_InvalidURI, "%s", why->message);
        if (ret->size < 1 || ret->size > SIZE_MAX_BYTES)
                return flow_set(error, CODE_InvalidURI, "sizeLimit: '%.40s' is not 1 to 1G", size);
        ret->size = MIN(ret->size, REPLY_MAX);
        return true;
}

static bool check_framework(const char *name, GError **error)
{
        g_autofree char *known = flow_framework_names();

        if (!*name)
                return flow_set(error, CODE_InvalidArguments, "framework is missing: one of %s", known);
        return flow_framework_find(name) || strcmp(name, "workflow") == 0 ||
               flow_set(error, CODE_InvalidArguments, "framework '%.40s' is not one of %s", name, known);
}

static Job *find_job(const Call *call, const char *id, GError **error)
{
        GError *why = NULL;
        Job *job;

        if (!check_framework(call_query(call, "framework"), error))
                return NULL;
        job = call_job(call, id, CODE_AccessDenied, &why);
        if (why && why->code == CODE_JobNotFound)
                why->code = CODE_InvalidURI; /* the contract's word here */
        if (why)
                g_propagate_error(error, why);
        return job;
}

/* What is asked by the name of a pod or deployment. */
static bool check_object(const Call *call, GError **error)
{
        static const char *const types[] = { "pod", "deployment", "deploy", NULL };
        const char *name = call_query(call, "clusterName"), *type = call_query(call, "type");
        const Cluster *cluster = catalog_cluster(call->catalog, name);

        if (!*name)
                return flow_set(error, CODE_InvalidURI, "jobID or clusterName is needed");
        if (!cluster)
                return flow_set(error, CODE_ClusterNotFound, "there is no cluster '%.255s'", name);
        if (!*call_query(call, "name") || !*call_query(call, "namespace"))
                return flow_set(error, CODE_InvalidURI, "name and namespace are needed");
        if (!g_strv_contains(types, type))
                return flow_set(error, CODE_InvalidURI, "type '%.40s' is neither pod nor deployment", type);
        if (cluster->type == CLUSTER_KUBERNETES)
                return flow_set(error, CODE_InternalError,
                                "cluster '%s': logs are not read by the names of pods\nAsk by jobID.", name);
        return flow_set(error, CODE_InvalidURI,
                        "cluster '%s' is of type %s, which has no pods\nAsk by jobID.", name,
                        cluster_type_name(cluster->type));
}

static void show_log_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(Job) job = NULL;
        const char *id;
        GError *error = NULL;
        Window window;

        if (!call_begin(&call, request, arg))
                return;
        id = call_query(&call, "jobID");
        if (take_window(&call, &window, &error) && (*id || check_object(&call, &error)))
                job = find_job(&call, id, &error);
        if (job)
                reply_job(&call, job, id, &window);
        else
                call_fail(&call, error);
}

static void show_log(HttpRequest *request, void *arg)
{
        flow_defer(request, arg, show_log_now);
}

const HttpRoute log_rows[] = {
        { "GET", FLOW_BASE "/log/job", ACCESS_LOG, VERB_SHOW, HTTP_BODY_MEMORY, FLOW_BODY_MAX, show_log,
          "Show what a job's processes have written.",
          "jobID:string:Of this job.;framework:string:Of the job.;clusterName:string:Of a pod or deployment.;"
          "name:string:Of it.;namespace:string:Of it.;type:string:pod or deployment.;"
          "readFromTail:boolean:The last lines instead of the first.;lineLimit:integer:At most so many.;"
          "sizeLimit:string:At most so many bytes, a quantity.",
          NULL, "JobLog", 0, NULL },
        { 0 },
};
