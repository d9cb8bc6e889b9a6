/* A job as GET /v1/jobs/ID shows it (doc/guide/rest.md). Durations of what still runs are counted up to now,
 * others up to its end. */
#include <string.h>

#include "base/clock.h"
#include "base/json-out.h"
#include "model/framework.h"
#include "model/job.h"
#include "model/results.h"

/* A program's arguments may be any bytes; JSON is UTF-8. */
static json_t *text_or_null(const char *text)
{
        g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

        return valid ? json_string(valid) : json_null();
}

static bool has_ended(const Member *member)
{
        return member->state == MEMBER_EXITED || member->state == MEMBER_LOST;
}

static json_t *number_or_null(bool known, gint64 value)
{
        return known ? json_integer(value) : json_null();
}

json_t *member_format(const Job *job, const Member *member)
{
        const char *role = job->spec->roles[member->role].name;
        g_autofree char *name = g_strdup_printf("%s-%d", role, member->index);
        json_t *object = json_object();

        json_object_set_new(object, "name", json_string(name));
        json_object_set_new(object, "role", json_string(role));
        json_object_set_new(object, "index", json_integer(member->index));
        json_object_set_new(object, "state", json_string(member_state_name(member->state)));
        json_object_set_new(object, "pid", json_integer(member->pid));
        json_object_set_new(object, "port", json_integer(member->port));
        json_object_set_new(object, "gpus", text_or_null(member->gpus));
        if (member->stands_on)
                json_object_set_new(object, "node", json_string(member->stands_on));
        json_object_set_new(object, "exit_code",
                            number_or_null(has_ended(member) && member->exit_code >= 0, member->exit_code));
        json_object_set_new(object, "signal", number_or_null(member->signal != 0, member->signal));
        json_object_set_new(object, "oom", json_boolean(member->oom));
        json_object_set_new(object, "started_at", json_time(member->started));
        json_object_set_new(object, "finished_at", json_time(member->finished));
        json_object_set_new(object, "cpu_ms", json_integer(member->cpu_us / 1000));
        json_object_set_new(object, "peak_memory", json_integer(member->peak_memory));
        json_object_set_new(object, "error", text_or_null(member->error));
        return object;
}

/* ---- times ---- */

/* From the first that began to the last that was ready: waiting for cores before it counts as queued. Jobs of older
 * servers have no start time of the build. */
static gint64 environment_ms(const Job *job, gint64 end)
{
        gint64 begun = G_MAXINT64, ready = 0;

        for (int i = 0; i < job->n_preparations; i++) {
                const Preparation *one = &job->preparations[i];

                if (!preparation_info(one->kind)->is_environment || one->state == PREPARATION_WAITING)
                        continue;
                begun = MIN(begun, one->begun ? one->begun : job->submitted);
                ready = MAX(ready, one->ready ? one->ready : end);
        }
        return MAX(ready - begun, 0);
}

static json_t *stages_format(const Job *job, gint64 now)
{
        gint64 end = job->finished ? job->finished : now;
        gint64 since = job->submitted + job->queued_ms + job->starting_ms + job->running_ms;
        gint64 admitted = job->admitted ? job->admitted : end;
        gint64 running = job->running ? job->running : end;
        gint64 queued_ms = job->queued_ms + MAX(admitted - since, 0);
        gint64 starting_ms = job->starting_ms + MAX(running - admitted, 0);
        gint64 running_ms = job->running_ms + MAX(end - running, 0);

        return json_pack("{s:I, s:I, s:I, s:I}", "queued_ms", (json_int_t)queued_ms, "environment_ms",
                         (json_int_t)environment_ms(job, end), "starting_ms", (json_int_t)starting_ms,
                         "running_ms", (json_int_t)running_ms);
}

/* ---- usage ---- */

typedef struct {
        gint64 cpu_us, peak_memory;
        double cores_us;     /* wall time × requested cores of ended members */
        gint64 asked, peaks; /* memory, of ended members that requested some */
} Usage;

/* Usage is known only after a member's end, so efficiency counts ended members only. */
static void add_usage(Usage *usage, const Job *job, const Member *member)
{
        const Resources *each = &job->spec->roles[member->role].each;
        double cores = each->cpu_milli > 0 ? (double)each->cpu_milli / 1000 : 1;

        usage->cpu_us += member->cpu_us;
        usage->peak_memory += member->peak_memory;
        if (!has_ended(member) || !member->started || member->finished < member->started)
                return;
        usage->cores_us += (double)(member->finished - member->started) * 1000 * cores;
        if (each->memory > 0) {
                usage->asked += each->memory;
                usage->peaks += member->peak_memory;
        }
}

static json_t *ratio(double part, double whole)
{
        return whole > 0 ? json_real(part / whole) : json_null();
}

static json_t *usage_format(const Job *job)
{
        Usage usage = { 0 };

        for (int i = 0; i < job->n_members; i++)
                add_usage(&usage, job, &job->members[i]);
        return json_pack("{s:I, s:I, s:o, s:o}", "cpu_ms", (json_int_t)(usage.cpu_us / 1000), "peak_memory",
                         (json_int_t)usage.peak_memory, "cpu_efficiency",
                         ratio((double)usage.cpu_us, usage.cores_us), "memory_efficiency",
                         ratio((double)usage.peaks, (double)usage.asked));
}

/* ---- roles ---- */

typedef struct {
        int running, succeeded, failed;
} Counts;

/* A server that was stopped because the work was done has succeeded, whatever its exit status. */
static bool has_succeeded(const Job *job, const Member *member)
{
        const FrameworkRole *row = framework_role(job->spec->framework, job->spec->roles[member->role].name);

        if (row && row->end == ENDS_WITH_JOB && job->state == JOB_SUCCEEDED)
                return true;
        return member->state == MEMBER_EXITED && member->exit_code == 0;
}

static void count(Counts *counts, const Job *job, const Member *member)
{
        if (member->state == MEMBER_SURPLUS)
                return;
        if (has_ended(member)) {
                bool good = has_succeeded(job, member);

                counts->succeeded += good;
                counts->failed += !good;
        } else {
                counts->running += member->state >= MEMBER_RUNNING;
        }
}

static json_t *roles_format(const Job *job)
{
        Counts counts[SPEC_ROLES_MAX] = { 0 };
        json_t *roles = json_array();

        for (int i = 0; i < job->n_members; i++)
                count(&counts[job->members[i].role], job, &job->members[i]);
        for (int i = 0; i < job->spec->n_roles; i++)
                json_array_append_new(roles,
                                      json_pack("{s:s, s:i, s:i, s:i, s:i}", "name", job->spec->roles[i].name,
                                                "replicas", job->spec->roles[i].replicas, "running",
                                                counts[i].running, "succeeded", counts[i].succeeded, "failed",
                                                counts[i].failed));
        return roles;
}

static json_t *members_format(const Job *job)
{
        json_t *members = json_array();

        for (int i = 0; i < job->n_members; i++)
                json_array_append_new(members, member_format(job, &job->members[i]));
        return members;
}

/* The caller, who can look up jobs, adds the id of the array: that of its first job. */
static json_t *array_format(const Job *job)
{
        if (job->array_index < 0)
                return json_null();
        return json_pack("{s:i, s:i}", "index", job->array_index, "max", job->array_max);
}

static json_t *list_format(char *const *list)
{
        json_t *array = json_array();

        for (; list && *list; list++)
                json_array_append_new(array, json_string(*list));
        return array;
}

json_t *job_format_moving(const Job *job, const char *waiting)
{
        const char *reason = waiting ? waiting : job->reason;
        json_t *object = json_object();

        json_object_set_new(object, "id", json_string(job->id));
        json_object_set_new(object, "name", json_string(job->name));
        json_object_set_new(object, "user", json_string(job->user));
        json_object_set_new(object, "state", json_string(job_state_name(job->state)));
        json_object_set_new(object, "reason", text_or_null(reason ? reason : ""));
        json_object_set_new(object, "array", array_format(job));
        json_object_set_new(object, "stages", stages_format(job, clock_now_ms()));
        json_object_set_new(object, "results", results_format(job->results));
        return object;
}

char *job_fixed_text(const Job *job)
{
        JsonOut out = json_out_begin(1536);

        json_open(&out, '{');
        json_put_text(&out, "framework", job->spec->framework->name);
        json_put_int(&out, "attempt", job->attempt);
        json_put_int(&out, "retries", job->spec->retries);
        json_put_int(&out, "failures", job->failures);
        json_put_int(&out, "revision", job->revision);
        json_put_text(&out, "environment", preparation_state_name(job_environment(job)));
        json_put_text(&out, "queue", job->queue);
        json_put_int(&out, "priority", job->priority);
        json_put_value(&out, "labels", labels_format(job_labels(job)));
        json_put_value(&out, "annotations", labels_format(job_annotations(job)));
        json_put_value(&out, "after", list_format(job->after));
        json_put_int(&out, "evictions", job->evictions);
        json_put_text(&out, "evicted_for", job->evicted_for);
        json_put_time(&out, "saved_at", job->saved);
        json_put_name(&out, "spec");
        spec_write(&out, job->spec);
        json_put_value(&out, "roles", roles_format(job));
        json_put_time(&out, "submitted_at", job->submitted);
        json_put_time(&out, "admitted_at", job->admitted);
        json_put_time(&out, "running_at", job->running);
        json_put_time(&out, "finished_at", job->finished);
        json_put_time(&out, "not_before", job->not_before);
        json_put_value(&out, "usage", usage_format(job));
        json_put_value(&out, "members", members_format(job));
        json_close(&out, '}');
        return json_out_end(&out);
}

json_t *job_format(const Job *job, const char *waiting)
{
        json_t *object = job_format_moving(job, waiting);
        g_autofree char *text = job_fixed_text(job);
        g_autoptr(json_t) fixed = json_parse_own(text, strlen(text), NULL);

        json_object_update(object, fixed);
        return object;
}
