/* Whole arrays as JSON: the members of a job with what is true of all of it, `elements` (how many are in
 * which state) and `failed` (the first of those that failed). Elements themselves are not sent: there may be
 * ten thousand. */
#include "api/v1/internal.h"

#include "base/err.h"
#include "model/array.h"
#include "model/sweep.h"

enum { FAILED_MAX = 20 };

Job *api_array_job(Api *api, gint64 array_seq)
{
        const JobQuery query = { .array_seq = array_seq, .limit = 1 };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(api->store, &query, &next, NULL); /* else as if forgotten */

        return jobs && jobs->len ? job_ref(jobs->pdata[0]) : NULL;
}

char *api_array_id(Api *api, gint64 array_seq)
{
        g_autofree char *first = api_job_id(api, array_seq);
        char id[ARRAY_ID_LEN + 1] = "";

        if (*first)
                array_id_make(first, id);
        return g_strdup(id);
}

json_t *api_format_element(Api *api, const Job *job)
{
        g_autofree char *id = api_array_id(api, job->array_seq), *name = array_name(job);

        return json_pack("{s:s, s:s?, s:i, s:i, s:i}", "id", id, "name", name, "index", job->array_index,
                         "max", job->array_max, "size", array_size(job->spec));
}

/* ---- parts ---- */

static json_t *format_counts(const ArrayCount *count)
{
        json_t *elements = json_pack("{s:i}", "total", count->size);

        for (int state = 0; state < JOB_STATES; state++)
                if (count->counts[state] > 0)
                        json_object_set_new(elements, job_state_name(state),
                                            json_integer(count->counts[state]));
        return elements;
}

static json_t *format_failed(Api *api, gint64 array_seq, const ArrayCount *count)
{
        const guint32 states = 1u << JOB_FAILED | 1u << JOB_PREEMPTED;
        g_autoptr(GPtrArray) jobs = NULL;
        json_t *failed = json_array();

        if (count->counts[JOB_FAILED] + count->counts[JOB_PREEMPTED] > 0)
                jobs = store_array_jobs(api->store, array_seq, states, FAILED_MAX, NULL);
        for (guint i = 0; jobs && i < jobs->len; i++) {
                const Job *job = jobs->pdata[i];
                g_autofree char *name = element_name(job);

                json_array_append_new(failed, json_pack("{s:s, s:s, s:i, s:s, s:s}", "id", job->id, "name",
                                                        name, "index", job->array_index, "state",
                                                        job_state_name(job->state), "reason",
                                                        job->reason ? job->reason : ""));
        }
        return failed;
}

/* The first that waits, while none runs: what it waits for, all of them wait for. */
static Job *first_waiting(Api *api, const ArrayCount *count)
{
        JobState state = array_state(count->counts);
        bool waits = state == JOB_QUEUED || state == JOB_SUSPENDED;

        return waits ? api_job_by_seq(api, count->first[state]) : NULL;
}

static char *reason_of(const ArrayCount *count, const json_t *reasons)
{
        const json_t *message = json_object_get(json_array_get(reasons, 0), "message");
        int failed = count->counts[JOB_FAILED] + count->counts[JOB_PREEMPTED];

        if (message)
                return g_strdup(json_string_value(message));
        return failed ? g_strdup_printf("%d of its %d job%s failed", failed, count->size,
                                        count->size == 1 ? "" : "s")
                      : g_strdup("");
}

/* ---- the whole ---- */

/* The parameters of a sweep are labels of single jobs. */
static void drop_parameters(json_t *labels, const Spec *spec, int index)
{
        g_auto(GStrv) values = sweep_values(spec, index);

        for (char **value = values; value && *value; value++) {
                *strchr(*value, '=') = '\0';
                json_object_del(labels, *value);
        }
}

/* Drops the members of one job's JSON that differ between the jobs of an array. Those that put_own sets stay,
 * so that they keep their order. */
static void drop_single(json_t *object)
{
        static const char *const of_all[] = { "user",    "framework",    "environment", "queue", "priority",
                                              "labels",  "after",        "annotations", "spec",  "notes",
                                              "retries", "submitted_at", NULL };
        static const char *const own[] = { "id",      "name",        "state",    "reason", "reasons",
                                           "attempt", "failures",    "revision", "array",  "saved_at",
                                           "roles",   "finished_at", "stages",   "usage",  NULL };
        const char *name;
        json_t *value;
        void *next;

        json_object_foreach_safe(object, next, name, value) {
                if (!g_strv_contains(of_all, name) && !g_strv_contains(own, name))
                        json_object_del(object, name);
        }
}

static void put_own(Api *api, json_t *object, const Job *one, const ArrayCount *count)
{
        g_autofree char *id = api_array_id(api, one->array_seq), *name = array_name(one);
        gint64 revision = 0;
        bool open = engine_array_open(api->engine, one->array_seq, &revision);

        drop_single(object);
        drop_parameters(json_object_get(object, "labels"), one->spec, one->array_index);
        json_object_set_new(object, "id", json_string(id));
        json_object_set_new(object, "name", json_string(name));
        json_object_set_new(object, "state", json_string(job_state_name(array_state(count->counts))));
        json_object_set_new(object, "attempt", json_integer(0));
        json_object_set_new(object, "failures", json_integer(0));
        json_object_set_new(object, "revision", json_integer(open ? revision : one->revision));
        json_object_set_new(object, "saved_at", json_null());
        json_object_set_new(object, "finished_at", json_time(open ? 0 : count->updated));
        json_object_set_new(object, "stages", json_object());
        json_object_set_new(object, "usage", json_object());
        json_object_set_new(object, "roles", json_array());
        json_object_set_new(object, "array",
                            json_pack("{s:s, s:s, s:s?, s:i, s:i}", "id", id, "name", name, "indices",
                                      one->spec->array, "size", array_size(one->spec), "max",
                                      one->array_max));
        json_object_set_new(object, "elements", format_counts(count));
}

json_t *api_format_array(Api *api, const Job *one, bool failed)
{
        json_t *object = api_format_job(api, one);
        ArrayCount count;
        g_autoptr(Job) waiting = NULL;
        g_autofree char *reason = NULL;
        json_t *reasons;

        if (!store_array_count(api->store, one->array_seq, &count, NULL))
                return object; /* the store cannot be read: rather one of its jobs than nothing */
        put_own(api, object, one, &count);
        waiting = first_waiting(api, &count);
        reasons = waiting ? engine_reasons(api->engine, waiting) : json_array();
        reason = reason_of(&count, reasons);
        json_object_set_new(object, "reason", json_string(reason));
        json_object_set_new(object, "reasons", reasons);
        if (failed)
                json_object_set_new(object, "failed", format_failed(api, one->array_seq, &count));
        return object;
}

Job *api_array_waiting(Api *api, gint64 array_seq)
{
        static const guint32 states = 1u << JOB_QUEUED | 1u << JOB_SUSPENDED;
        g_autoptr(GPtrArray) jobs = store_array_jobs(api->store, array_seq, states, 1, NULL);

        return jobs && jobs->len ? job_ref(jobs->pdata[0]) : NULL;
}
