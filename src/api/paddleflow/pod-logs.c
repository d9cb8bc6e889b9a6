/* Logs of pods by name (see pod-logs.h): the object, its pods, the log of each container, its events, one
 * question after the other. A log that cannot be read leaves its place empty and a line among the events;
 * when none can, that is the answer. */
#include "api/paddleflow/pod-logs.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "podspec/pod-log.h"

/* What is read of one log at most (doc/reference/paddleflow-api.md, "Logs"). */
enum { HEAD_BYTES = 500000, TAIL_LINES = 5000 };
enum { EVENTS_MAX = 500, ALL_MS = 40000 };

typedef struct {
        PaddleFlow *flow;
        const char *cluster, *namespace, *name, *type;
        const LogWindow *window;
        json_t *tasks, *events;
        gsize total;     /* bytes of logs */
        gint64 until_ms; /* monotonic */
        bool any;        /* some log was read, or is empty */
        GError *why;     /* the first log that cannot be read */
} Reading;

static const char *member_text(const json_t *object, const char *part, const char *name)
{
        return json_string_value(json_object_get(part ? json_object_get(object, part) : object, name));
}

static json_t *ask(const Reading *reading, RuntimeAsk *question, GError **error)
{
        question->namespace = (char *)reading->namespace;
        return paddleflow_ask(reading->flow, reading->cluster, question, error);
}

static json_t *get(const Reading *reading, const char *version, const char *kind, GError **error)
{
        RuntimeAsk question = { .verb = ASK_GET,
                                .api_version = (char *)version,
                                .kind = (char *)kind,
                                .name = (char *)reading->name };

        return ask(reading, &question, error);
}

/* ---- beside the logs ---- */

/* Adds an event that says which part of the answer is missing, and why. */
static void note(Reading *reading, const char *reason, const char *message)
{
        g_autofree char *now = clock_format(clock_now_ms());
        g_autofree char *line = pod_log_event_line("Warning", reason, now, message);

        json_array_append_new(reading->events, json_string(line));
}

static int compare_times(gconstpointer a, gconstpointer b)
{
        return strcmp(pod_log_event_time(*(json_t *const *)a), pod_log_event_time(*(json_t *const *)b));
}

static void add_events(Reading *reading, const json_t *list)
{
        g_autoptr(GPtrArray) sorted = g_ptr_array_new();
        json_t *item;
        size_t i;

        json_array_foreach(json_object_get(list, "items"), i, item)
                g_ptr_array_add(sorted, item);
        g_ptr_array_sort(sorted, compare_times);
        for (guint j = 0; j < sorted->len; j++) {
                const json_t *event = sorted->pdata[j];
                g_autofree char *line =
                        pod_log_event_line(member_text(event, NULL, "type"),
                                           member_text(event, NULL, "reason"), pod_log_event_time(event),
                                           member_text(event, NULL, "message"));

                json_array_append_new(reading->events, json_string(line));
        }
}

static void read_events(Reading *reading, const json_t *object)
{
        const char *uid = member_text(object, "metadata", "uid");
        g_autofree char *which = g_strdup_printf("involvedObject.name=%s,involvedObject.uid=%s",
                                                 reading->name, uid ? uid : "");
        RuntimeAsk question = { .verb = ASK_LIST,
                                .api_version = (char *)"v1",
                                .kind = (char *)"Event",
                                .field_selector = which,
                                .limit = EVENTS_MAX };
        g_autoptr(GError) why = NULL;
        g_autoptr(json_t) list = ask(reading, &question, &why);

        if (list)
                add_events(reading, list);
        else
                note(reading, "EventsNotRead", why->message);
}

/* ---- the log of a container ---- */

/* The requested part of a log, within the limits of one log and of the reply. */
static LogWindow reach_of(const Reading *reading)
{
        LogWindow reach = *reading->window;

        reach.size = MIN(reach.size, LOG_REPLY_MAX - (gint64)reading->total);
        if (reach.tail)
                reach.lines = MIN(reach.lines, TAIL_LINES);
        else
                reach.size = MIN(reach.size, HEAD_BYTES);
        return reach;
}

static gint64 count_lines(const GString *text)
{
        gint64 lines = 0;

        for (gsize i = 0; i < text->len; i++)
                lines += text->str[i] == '\n';
        return lines;
}

/* The page ends because no more is read at all, and not because it is full. */
static bool is_cut(const LogWindow *asked, const GString *text)
{
        gint64 lines = count_lines(text);

        return asked->tail ? lines == TAIL_LINES : asked->size >= HEAD_BYTES && lines < asked->lines;
}

static json_t *info_format(Reading *reading, const LogWindow *reach, int fd)
{
        bool more = false;
        g_autoptr(GString) text = log_window_read(reach, fd, &more);
        g_autofree char *valid = g_utf8_make_valid(text->str, (gssize)text->len);
        bool cut = more && is_cut(reading->window, text);

        reading->total += text->len;
        return json_pack("{s:s, s:b, s:b}", "logContent", valid, "hasNextPage", more && !cut, "truncated",
                         cut);
}

/* One line and one byte more than is shown say whether there is more. */
static json_t *read_log(Reading *reading, const char *pod, const char *container, GError **error)
{
        LogWindow reach = reach_of(reading);
        RuntimeAsk question = { .verb = ASK_LOG,
                                .name = (char *)pod,
                                .container = (char *)container,
                                .tail_lines = reach.tail ? reach.lines + 1 : 0,
                                .max_bytes = (gsize)reach.size + 1 };
        g_autoptr(json_t) text = NULL;
        fd_auto int fd = -1;

        if (reach.size <= 0 || clock_monotonic_ms() > reading->until_ms) {
                err_set(error, ERR_TOO_LARGE, "what came before it took too %s",
                        reach.size <= 0 ? "much room" : "long");
                return NULL;
        }
        text = ask(reading, &question, error);
        if (!text)
                return NULL;
        fd = memfd_create("log", MFD_CLOEXEC);
        if (fd < 0 || !file_write_all(fd, json_string_value(text), json_string_length(text), NULL)) {
                err_set(error, ERR_UNAVAILABLE, "there is no memory for it");
                return NULL;
        }
        return info_format(reading, &reach, fd);
}

/* A container that has not begun (ERR_INVALID) has an empty log. */
static json_t *miss_log(Reading *reading, const char *pod, const char *container, GError *why)
{
        g_autofree char *message = g_strdup_printf("%s/%s: %s", pod, container, why->message);

        note(reading, "LogNotRead", message);
        reading->any |= why->code == ERR_INVALID;
        if (!reading->why)
                reading->why = g_error_copy(why);
        return json_pack("{s:s, s:b, s:b}", "logContent", "", "hasNextPage", 0, "truncated", 0);
}

static void add_task(Reading *reading, const json_t *pod, const char *container)
{
        const char *name = member_text(pod, "metadata", "name"), *uid = member_text(pod, "metadata", "uid");
        g_autofree char *id = g_strdup_printf("%s_%s/%s", name ? name : "", uid ? uid : "", container);
        g_autoptr(GError) why = NULL;
        json_t *info = read_log(reading, name, container, &why);

        reading->any |= info != NULL;
        if (!info)
                info = miss_log(reading, name, container, why);
        json_array_append_new(reading->tasks, json_pack("{s:s, s:o}", "taskID", id, "logInfo", info));
}

static void read_pod(Reading *reading, const json_t *pod)
{
        g_auto(GStrv) containers = pod_log_containers(pod);

        for (char **name = containers; *name && json_array_size(reading->tasks) < LOG_TASKS_MAX; name++)
                add_task(reading, pod, *name);
}

/* ---- what has a name ---- */

static bool read_named_pod(Reading *reading, GError **error)
{
        g_autoptr(json_t) pod = get(reading, "v1", "Pod", error);

        if (!pod)
                return false;
        read_events(reading, pod);
        read_pod(reading, pod);
        return true;
}

static json_t *list_pods(const Reading *reading, const json_t *deployment, GError **error)
{
        g_autofree char *selector = pod_log_selector(deployment, error);
        RuntimeAsk question = { .verb = ASK_LIST,
                                .api_version = (char *)"v1",
                                .kind = (char *)"Pod",
                                .label_selector = selector,
                                .limit = LOG_TASKS_MAX };

        return selector ? ask(reading, &question, error) : NULL;
}

/* One that is not there has no pods (doc/reference/paddleflow-api.md, "Logs"). */
static bool read_deployment(Reading *reading, GError **error)
{
        g_autoptr(GError) why = NULL;
        g_autoptr(json_t) deployment = get(reading, "apps/v1", "Deployment", &why), pods = NULL;
        json_t *pod;
        size_t i;

        if (!deployment && why->code == ERR_NOT_FOUND)
                return true;
        if (deployment)
                pods = list_pods(reading, deployment, &why);
        if (!pods) {
                g_propagate_error(error, g_steal_pointer(&why));
                return false;
        }
        read_events(reading, deployment);
        json_array_foreach(json_object_get(pods, "items"), i, pod)
                read_pod(reading, pod);
        if (json_array_size(reading->tasks) >= LOG_TASKS_MAX)
                note(reading, "LogNotRead", "only so many containers are shown; ask for pods by their names");
        return true;
}

static const struct {
        const char *word, *type;
        bool (*read)(Reading *reading, GError **error);
} types[] = {
        { "pod", "pod", read_named_pod },
        { "deployment", "deployment", read_deployment },
        { "deploy", "deployment", read_deployment }, /* as the command's help says */
};

/* ---- what is asked for ---- */

static bool check_cluster(const Call *call, GError **error)
{
        const char *name = call_query(call, "clusterName");
        const Cluster *cluster = catalog_cluster(call->catalog, name);

        if (!*name)
                return paddleflow_set(error, CODE_InvalidURI, "jobID or clusterName is needed");
        if (!cluster)
                return paddleflow_set(error, CODE_ClusterNotFound, "there is no cluster '%.255s'", name);
        if (!*call_query(call, "name") || !*call_query(call, "namespace"))
                return paddleflow_set(error, CODE_InvalidURI, "name and namespace are needed");
        return true;
}

static bool check_pods(const Call *call, GError **error)
{
        const Cluster *cluster = catalog_cluster(call->catalog, call_query(call, "clusterName"));

        return cluster->type == CLUSTER_KUBERNETES || cluster->type == CLUSTER_K3S ||
               paddleflow_set(error, CODE_InvalidURI,
                              "cluster '%s' is of type %s, which has no pods\nAsk by jobID.",
                              cluster->object.name, cluster_type_name(cluster->type));
}

static json_t *reply_format(const Reading *reading)
{
        g_autofree char *name = g_strdup_printf("%s/%s", reading->namespace, reading->name);

        return json_pack("{s:s, s:O, s:s, s:s, s:O}", "jobID", "", "taskList", reading->tasks, "name", name,
                         "type", reading->type, "eventList", reading->events);
}

static json_t *read_all(Reading *reading, bool (*read)(Reading *reading, GError **error), GError **error)
{
        g_autoptr(GError) why = NULL;
        bool good = read(reading, &why);

        if (good && reading->why && !reading->any) {
                good = false;
                why = g_steal_pointer(&reading->why);
        }
        if (good)
                return reply_format(reading);
        paddleflow_set(error, CODE_InternalError, "%s", why->message);
        return NULL;
}

static json_t *read_type(const Call *call, const LogWindow *window, gsize type, GError **error)
{
        Reading reading = { .flow = call->flow,
                            .cluster = call_query(call, "clusterName"),
                            .namespace = call_query(call, "namespace"),
                            .name = call_query(call, "name"),
                            .type = types[type].type,
                            .window = window,
                            .tasks = json_array(),
                            .events = json_array(),
                            .until_ms = clock_monotonic_ms() + ALL_MS };
        json_t *reply = read_all(&reading, types[type].read, error);

        json_decref(reading.tasks);
        json_decref(reading.events);
        g_clear_error(&reading.why);
        return reply;
}

json_t *pod_logs(const Call *call, const LogWindow *window, GError **error)
{
        const char *word = call_query(call, "type");

        if (!check_cluster(call, error) || !call_root(call, CODE_AccessDenied, error))
                return NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
                if (strcmp(types[i].word, word) == 0)
                        return check_pods(call, error) ? read_type(call, window, i, error) : NULL;
        paddleflow_set(error, CODE_InternalError, "type '%.40s' is neither pod nor deployment", word);
        return NULL;
}
