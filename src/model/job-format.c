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
        if (member->reported_node)
                json_object_set_new(object, "node", json_string(member->reported_node));
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

JobStages job_stages(const Job *job, gint64 now)
{
        gint64 end = job->finished ? job->finished : now;
        gint64 since = job->submitted + job->queued_ms + job->starting_ms + job->running_ms;
        gint64 admitted = job->admitted ? job->admitted : end;
        gint64 running = job->running ? job->running : end;

        return (JobStages){ .queued_ms = job->queued_ms + MAX(admitted - since, 0),
                            .environment_ms = environment_ms(job, end),
                            .starting_ms = job->starting_ms + MAX(running - admitted, 0),
                            .running_ms = job->running_ms + MAX(end - running, 0) };
}

static void put_stages(JsonOut *out, const Job *job, gint64 now)
{
        JobStages stages = job_stages(job, now);

        json_open_member(out, "stages", '{');
        json_put_int(out, "queued_ms", stages.queued_ms);
        json_put_int(out, "environment_ms", stages.environment_ms);
        json_put_int(out, "starting_ms", stages.starting_ms);
        json_put_int(out, "running_ms", stages.running_ms);
        json_close(out, '}');
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

static void put_usage(JsonOut *out, const Job *job)
{
        Usage usage = { 0 };

        for (int i = 0; i < job->n_members; i++)
                add_usage(&usage, job, &job->members[i]);
        json_open_member(out, "usage", '{');
        json_put_int(out, "cpu_ms", usage.cpu_us / 1000);
        json_put_int(out, "peak_memory", usage.peak_memory);
        json_put_value(out, "cpu_efficiency", ratio((double)usage.cpu_us, usage.cores_us));
        json_put_value(out, "memory_efficiency", ratio((double)usage.peaks, (double)usage.asked));
        json_close(out, '}');
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

static void put_roles(JsonOut *out, const Job *job)
{
        Counts counts[SPEC_ROLES_MAX] = { 0 };

        for (int i = 0; i < job->n_members; i++)
                count(&counts[job->members[i].role], job, &job->members[i]);
        json_open_member(out, "roles", '[');
        for (int i = 0; i < job->spec->n_roles; i++) {
                json_open(out, '{');
                json_put_text(out, "name", job->spec->roles[i].name);
                json_put_int(out, "replicas", job->spec->roles[i].replicas);
                json_put_int(out, "running", counts[i].running);
                json_put_int(out, "succeeded", counts[i].succeeded);
                json_put_int(out, "failed", counts[i].failed);
                json_close(out, '}');
        }
        json_close(out, ']');
}

static void put_members(JsonOut *out, const Job *job)
{
        json_open_member(out, "members", '[');
        for (int i = 0; i < job->n_members; i++)
                json_put_item(out, member_format(job, &job->members[i]));
        json_close(out, ']');
}

/* The caller, who can look up jobs, adds the id of the array: that of its first job. */
static json_t *array_format(const Job *job)
{
        if (job->array_index < 0)
                return json_null();
        return json_pack("{s:i, s:i}", "index", job->array_index, "max", job->array_max);
}

static void put_list(JsonOut *out, const char *name, char *const *list)
{
        json_out_open(out, name, '[');
        for (; list && *list; list++)
                json_put_item_text(out, *list);
        json_close(out, ']');
}

static void put_labels(JsonOut *out, const char *name, char *const *labels)
{
        json_out_value(out, name, labels ? labels_format(labels) : NULL);
}

void job_put_moving(JsonOut *out, const Job *job, const char *waiting, json_t *array, json_t *results)
{
        const char *reason = waiting ? waiting : job->reason;

        json_put_text(out, "id", job->id);
        json_put_text(out, "name", job->name);
        json_put_text(out, "user", job->user);
        json_put_text(out, "state", job_state_name(job->state));
        json_put_text(out, "reason", reason ? reason : "");
        json_put_value(out, "array", array ? array : json_null());
        put_stages(out, job, clock_now_ms());
        json_put_value(out, "results", results);
}

void job_put_fixed(JsonOut *out, const Job *job)
{
        json_put_text(out, "framework", job->spec->framework->name);
        json_put_int(out, "attempt", job->attempt);
        json_put_int(out, "retries", job->spec->retries);
        json_put_int(out, "failures", job->failures);
        json_put_int(out, "revision", job->revision);
        json_put_text(out, "environment", preparation_state_name(job_environment(job)));
        json_put_text(out, "queue", job->queue);
        json_put_int(out, "priority", job->priority);
        put_labels(out, JSON_NAME("labels"), job_labels(job));
        put_labels(out, JSON_NAME("annotations"), job_annotations(job));
        put_list(out, JSON_NAME("after"), job->after);
        json_put_int(out, "evictions", job->evictions);
        json_put_text(out, "evicted_for", job->evicted_for);
        json_put_time(out, "saved_at", job->saved);
        json_put_name(out, "spec");
        spec_write(out, job->spec);
        put_roles(out, job);
        json_put_time(out, "submitted_at", job->submitted);
        json_put_time(out, "admitted_at", job->admitted);
        json_put_time(out, "running_at", job->running);
        json_put_time(out, "finished_at", job->finished);
        json_put_time(out, "not_before", job->not_before);
        put_usage(out, job);
        put_members(out, job);
}

json_t *job_format(const Job *job, const char *waiting)
{
        JsonOut out = json_out_begin(2048);
        g_autofree char *text = NULL;

        json_open(&out, '{');
        job_put_moving(&out, job, waiting, array_format(job), results_format(job->results));
        job_put_fixed(&out, job);
        json_close(&out, '}');
        text = json_out_end(&out);
        return json_parse_own(text, strlen(text), NULL);
}
