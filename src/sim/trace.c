/* Traces for the simulator (see simulate.h): lines of JSON, or the Standard Workload Format. A line becomes a
 * group of jobs that are alike, and an entry for each of them. */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "sim/internal.h"

enum {
        LINE_MAX_BYTES = 64 * 1024,
        NAME_MAX_BYTES = 253,
        ROLES_MAX = 64,
        SWF_COLUMNS = 18,
};
static const gint64 SECONDS_MAX = 100LL * 365 * 86400;

/* ---- what both formats share ---- */

static int find_user(Trace *trace, const char *name)
{
        int id = GPOINTER_TO_INT(g_hash_table_lookup(trace->user_ids, name));

        if (id > 0)
                return id - 1;
        id = (int)g_hash_table_size(trace->user_ids);
        g_hash_table_insert(trace->user_ids, g_string_chunk_insert(trace->strings, name),
                            GINT_TO_POINTER(id + 1));
        return id;
}

/* The id of a queue; NULL: the only one. -1 with an error. */
static int find_queue(const Room *room, const char *name, GError **error)
{
        int id;

        if (!name) {
                if (room->queues->len == 1)
                        return 0;
                err_set(error, ERR_INVALID, "queue is missing, and the room has %u", room->queues->len);
                return -1;
        }
        id = GPOINTER_TO_INT(g_hash_table_lookup(room->queue_ids, name)) - 1;
        if (id < 0)
                err_set(error, ERR_INVALID, "queue: the room has none called '%s'", name);
        return id;
}

static bool add_group(Trace *trace, const TraceGroup *group, gint64 at, gint64 every, gint64 count,
                      GError **error)
{
        if (trace->jobs->len + count > TRACE_JOBS_MAX)
                return err_set(error, ERR_TOO_LARGE, "a trace has at most %d jobs", TRACE_JOBS_MAX);
        if (every > (SECONDS_MAX * 1000 - at) / count)
                return err_set(error, ERR_INVALID, "every: the last job arrives after more than 100 years");
        g_array_append_val(trace->groups, *group);
        for (gint64 i = 0; i < count; i++) {
                TraceJob job = { .at = at + i * every, .group = trace->groups->len - 1 };

                g_array_append_val(trace->jobs, job);
        }
        return true;
}

/* ---- lines of JSON ---- */

static bool parse_role(const json_t *object, const char *where, bool alone, SchedRole *ret, GError **error)
{
        static const char *const known[] = { "resources", "replicas", "min", NULL };
        g_autofree char *path = g_strconcat(where, "resources", NULL);
        gint64 replicas = 1, min;
        ResourceLimits limits;

        if (!alone && !json_only(object, where, known, error))
                return false;
        if (!limits_parse(path, json_object_get(object, "resources"), false, &limits, error) ||
            !json_get_int(object, where, "replicas", 0, TRACE_TASKS_MAX, &replicas, error))
                return false;
        min = replicas;
        if (!json_get_int(object, where, "min", 0, replicas, &min, error))
                return false;
        *ret = (SchedRole){ .each = limits_flat(&limits, 0), .replicas = (int)replicas, .min = (int)min };
        return true;
}

/* The sum of what a job asks for must be a number; so must its work, task × ms. */
static bool check_roles(TraceGroup *group, GError **error)
{
        Resources sum = { 0 };
        gint64 tasks = 0;

        for (int i = 0; i < group->job.n_roles; i++) {
                const SchedRole *role = &group->job.roles[i];

                tasks += role->replicas;
                if (!resources_add(&sum, &role->each, role->replicas))
                        return err_set(error, ERR_INVALID, "resources: the whole job asks for too much");
        }
        if (tasks < 1 || tasks > TRACE_TASKS_MAX)
                return err_set(error, ERR_INVALID, "replicas: a job has 1 to %d tasks", TRACE_TASKS_MAX);
        group->tasks = (int)tasks;
        return true;
}

static bool parse_roles(Trace *trace, const json_t *object, TraceGroup *group, GError **error)
{
        json_t *list = NULL, *item;
        SchedRole *roles;
        size_t i, n;

        if (!json_get_array(object, "", "roles", ROLES_MAX, &list, error))
                return false;
        if (list && (json_object_get(object, "resources") || json_object_get(object, "replicas")))
                return err_set(error, ERR_INVALID, "roles: a job says roles, or resources and replicas");
        n = list ? json_array_size(list) : 1;
        roles = g_new0(SchedRole, n);
        g_ptr_array_add(trace->lists, roles);
        if (!list && !parse_role(object, "", true, &roles[0], error))
                return false;
        json_array_foreach(list, i, item) {
                g_autofree char *where = g_strdup_printf("roles[%zu].", i);

                if (!json_is_object(item))
                        return err_set(error, ERR_INVALID, "roles[%zu] must be an object", i);
                if (!parse_role(item, where, false, &roles[i], error))
                        return false;
        }
        group->job.n_roles = (int)n;
        group->job.roles = roles;
        return check_roles(group, error);
}

static bool parse_topology(const Room *room, const json_t *object, SchedJob *job, GError **error)
{
        const char *key = NULL;

        job->topology = -1;
        if (!json_get_string(object, "", "topology", NAME_MAX_BYTES, &key, error) ||
            !json_get_bool(object, "", "topology-required", &job->topology_required, error))
                return false;
        for (guint i = 0; key && i < room->topology->len; i++)
                if (strcmp(room->topology->pdata[i], key) == 0)
                        job->topology = (int)i;
        if (key && job->topology < 0)
                return err_set(error, ERR_INVALID, "topology: the room's topology has no '%s'", key);
        return true;
}

static bool parse_who(Trace *trace, const json_t *object, SchedJob *job, GError **error)
{
        const char *queue = NULL, *user = "-";
        gint64 priority = 0;

        job->preemptable = true;
        if (!json_get_string(object, "", "queue", NAME_MAX_BYTES, &queue, error) ||
            !json_get_string(object, "", "user", NAME_MAX_BYTES, &user, error) ||
            !json_get_int(object, "", "priority", -SCHED_PRIORITY_MAX, SCHED_PRIORITY_MAX, &priority,
                          error) ||
            !json_get_bool(object, "", "preemptable", &job->preemptable, error))
                return false;
        job->queue = find_queue(trace->room, queue, error);
        job->user = find_user(trace, user);
        job->priority = (int)priority;
        return job->queue >= 0;
}

static bool parse_times(const json_t *object, TraceGroup *group, GError **error)
{
        group->run_ms = -1;
        if (!input_duration(object, "", "run", &group->run_ms, error) ||
            !input_duration(object, "", "limit", &group->job.time_limit_ms, error) ||
            !input_duration(object, "", "grace", &group->job.grace_ms, error) ||
            !input_duration(object, "", "save", &group->save_ms, error))
                return false;
        if (group->run_ms < 0)
                return err_set(error, ERR_INVALID, "run is missing: how long the job runs");
        return true;
}

static bool parse_job(Trace *trace, const json_t *object, GError **error)
{
        static const char *const known[] = { "at",
                                             "run",
                                             "limit",
                                             "count",
                                             "every",
                                             "queue",
                                             "user",
                                             "priority",
                                             "resources",
                                             "replicas",
                                             "min",
                                             "roles",
                                             "grace",
                                             "save",
                                             "array-max",
                                             "topology",
                                             "preemptable",
                                             "labels",
                                             "topology-required",
                                             NULL };
        gint64 at = 0, every = 0, count = 1, array_max = 0;
        TraceGroup group = { 0 };

        if (!json_only(object, "", known, error) || !input_duration(object, "", "at", &at, error) ||
            !input_duration(object, "", "every", &every, error) ||
            !json_get_int(object, "", "count", 1, TRACE_JOBS_MAX, &count, error) ||
            !json_get_int(object, "", "array-max", 0, G_MAXINT, &array_max, error) ||
            !parse_times(object, &group, error) || !parse_who(trace, object, &group.job, error) ||
            !parse_topology(trace->room, object, &group.job, error) ||
            !input_labels(object, "", trace->strings, trace->lists, &group.job.labels, error) ||
            !parse_roles(trace, object, &group, error))
                return false;
        if (array_max > 0) {
                group.job.array = ++trace->arrays;
                group.job.array_max = (int)array_max;
        }
        return add_group(trace, &group, at, every, count, error);
}

static bool parse_json_line(Trace *trace, const char *text, gsize len, GError **error)
{
        g_autoptr(json_t) object = json_parse(text, len, error);

        if (!object)
                return false;
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a job is an object");
        return parse_job(trace, object, error);
}

/* ---- the Standard Workload Format ---- */

enum {
        SWF_SUBMIT = 1,
        SWF_RUN = 3,
        SWF_PROCESSORS = 4,
        SWF_MEMORY = 6, /* KB per processor */
        SWF_ASKED_PROCESSORS = 7,
        SWF_ASKED_TIME = 8,
        SWF_ASKED_MEMORY = 9,
        SWF_USER = 11,
        SWF_QUEUE = 14,
};

/* Columns of numbers; decimals are cut off, -1 is "not known". */
static bool swf_columns(const char *text, gsize len, gint64 ret[SWF_COLUMNS], GError **error)
{
        g_autofree char *line = g_strndup(text, len);
        g_auto(GStrv) words = g_strsplit_set(g_strstrip(line), " \t\r", -1);
        int n = 0;

        for (char **word = words; *word; word++) {
                char *end;
                double number;

                if (!**word)
                        continue;
                number = g_ascii_strtod(*word, &end);
                if (n == SWF_COLUMNS || *end || !(number >= -1) || !(number <= 1e15))
                        return err_set(error, ERR_INVALID,
                                       "'%s' is not one of the %d numbers of the Standard Workload Format",
                                       *word, SWF_COLUMNS);
                ret[n++] = (gint64)number;
        }
        if (n != SWF_COLUMNS)
                return err_set(error, ERR_INVALID, "%d of the %d columns of the Standard Workload Format", n,
                               SWF_COLUMNS);
        return true;
}

static gint64 known_or(gint64 column, gint64 instead)
{
        return column > 0 ? column : instead;
}

static int swf_queue(const Trace *trace, gint64 number, GError **error)
{
        g_autofree char *plain = g_strdup_printf("%" G_GINT64_FORMAT, number);
        g_autofree char *named = g_strconcat("q", plain, NULL);

        if (trace->room->queues->len == 1)
                return 0;
        return find_queue(trace->room, g_hash_table_contains(trace->room->queue_ids, named) ? named : plain,
                          error);
}

static bool parse_swf_line(Trace *trace, const char *text, gsize len, GError **error)
{
        gint64 column[SWF_COLUMNS], processors, memory;
        TraceGroup group = { .job = { .topology = -1, .preemptable = true, .n_roles = 1 } };
        g_autofree char *user = NULL;
        SchedRole *role;

        if (!swf_columns(text, len, column, error))
                return false;
        processors = known_or(column[SWF_ASKED_PROCESSORS], column[SWF_PROCESSORS]);
        memory = known_or(column[SWF_ASKED_MEMORY], column[SWF_MEMORY]);
        if (column[SWF_RUN] < 0 || processors <= 0 || column[SWF_SUBMIT] < 0) {
                trace->left_out++;
                return true;
        }
        if (processors > TRACE_TASKS_MAX || column[SWF_RUN] > SECONDS_MAX ||
            column[SWF_SUBMIT] > SECONDS_MAX || column[SWF_ASKED_TIME] > SECONDS_MAX)
                return err_set(error, ERR_INVALID,
                               "more than %d processors, or a time of more than 100 years", TRACE_TASKS_MAX);
        role = g_new0(SchedRole, 1);
        g_ptr_array_add(trace->lists, role);
        role->replicas = role->min = (int)processors;
        role->each.cpu_milli = 1000;
        if (memory > 0 && trace->room->total.memory > 0)
                role->each.memory = memory * 1024;
        user = g_strdup_printf("u%" G_GINT64_FORMAT, column[SWF_USER]);
        group.job.roles = role;
        group.job.user = find_user(trace, user);
        group.job.queue = swf_queue(trace, column[SWF_QUEUE], error);
        group.job.time_limit_ms = MAX(column[SWF_ASKED_TIME], 0) * 1000;
        group.run_ms = column[SWF_RUN] * 1000;
        return group.job.queue >= 0 && check_roles(&group, error) &&
               add_group(trace, &group, column[SWF_SUBMIT] * 1000, 0, 1, error);
}

/* ---- both ---- */

static int compare_jobs(const void *a, const void *b)
{
        const TraceJob *x = a, *y = b;

        if (x->at != y->at)
                return x->at < y->at ? -1 : 1;
        return (x->group > y->group) - (x->group < y->group);
}

static bool parse_line(Trace *trace, const char *text, gsize len, GError **error)
{
        while (len > 0 && g_ascii_isspace(*text)) {
                text++;
                len--;
        }
        if (len == 0 || *text == '#' || *text == ';')
                return true;
        if (len > LINE_MAX_BYTES)
                return err_set(error, ERR_TOO_LARGE, "a line has at most %d bytes", LINE_MAX_BYTES);
        return (g_ascii_isdigit(*text) ? parse_swf_line : parse_json_line)(trace, text, len, error);
}

Trace *trace_parse(const char *text, gsize len, const char *name, const Room *room, GError **error)
{
        g_autoptr(Trace) trace = g_new0(Trace, 1);
        const char *end = text + len;

        trace->room = room;
        trace->groups = g_array_new(false, false, sizeof(TraceGroup));
        trace->jobs = g_array_new(false, false, sizeof(TraceJob));
        trace->user_ids = g_hash_table_new(g_str_hash, g_str_equal);
        trace->strings = g_string_chunk_new(1024);
        trace->lists = g_ptr_array_new_with_free_func(g_free);
        for (int line = 1; text < end; line++) {
                const char *newline = memchr(text, '\n', (gsize)(end - text));
                const char *stop = newline ? newline : end;

                if (!parse_line(trace, text, (gsize)(stop - text), error)) {
                        err_prefix(error, "%s, line %d: ", name, line);
                        return NULL;
                }
                text = newline ? newline + 1 : end;
        }
        g_array_sort(trace->jobs, compare_jobs);
        return g_steal_pointer(&trace);
}

void trace_free(Trace *trace)
{
        if (!trace)
                return;
        g_array_unref(trace->groups);
        g_array_unref(trace->jobs);
        g_hash_table_unref(trace->user_ids);
        g_string_chunk_free(trace->strings);
        g_ptr_array_unref(trace->lists);
        g_free(trace);
}

gint64 trace_jobs(const Trace *trace)
{
        return trace->jobs->len;
}

gint64 trace_left_out(const Trace *trace)
{
        return trace->left_out;
}
