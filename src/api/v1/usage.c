/* Live usage (see usage.h). A task is forgotten that was not asked about for FORGET_MS. */
#include "api/v1/usage.h"

#include <string.h>

#include "api/v1/internal.h"
#include "base/clock.h"
#include "engine/task.h"

enum { RATE_MS = 1000, FORGET_MS = 60000, SWEEP_AT = 1024 };

typedef struct {
        gint64 at, cpu_us; /* the rate is that from here on */
        gint64 seen;
        double cores;
} Seen;

struct UsageRates {
        GMutex lock;
        GHashTable *by_task;
};

UsageRates *usage_rates_new(void)
{
        UsageRates *rates = g_new0(UsageRates, 1);

        g_mutex_init(&rates->lock);
        rates->by_task = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return rates;
}

void usage_rates_free(UsageRates *rates)
{
        if (!rates)
                return;
        g_hash_table_unref(rates->by_task);
        g_mutex_clear(&rates->lock);
        g_free(rates);
}

static gboolean is_stale(gpointer task, gpointer value, gpointer now)
{
        return ((Seen *)value)->seen + FORGET_MS < *(const gint64 *)now;
}

static Seen *seen_of(UsageRates *rates, const char *task, gint64 started, gint64 now)
{
        Seen *seen = g_hash_table_lookup(rates->by_task, task);

        if (seen)
                return seen;
        if (g_hash_table_size(rates->by_task) >= SWEEP_AT)
                (void)g_hash_table_foreach_remove(rates->by_task, is_stale, &now);
        seen = g_new0(Seen, 1);
        seen->at = started;
        g_hash_table_insert(rates->by_task, g_strdup(task), seen);
        return seen;
}

/* Questions that follow each other closely have one answer. */
double usage_rate(UsageRates *rates, const char *task, gint64 started, gint64 cpu_us, gint64 now)
{
        Seen *seen;
        double cores;

        g_mutex_lock(&rates->lock);
        seen = seen_of(rates, task, started, now);
        if (!seen->seen || now - seen->at >= RATE_MS) {
                gint64 span_us = MAX(now - seen->at, 1) * 1000;

                seen->cores = (double)MAX(cpu_us - seen->cpu_us, 0) / (double)span_us;
                seen->at = now;
                seen->cpu_us = cpu_us;
        }
        seen->seen = now;
        cores = seen->cores;
        g_mutex_unlock(&rates->lock);
        return cores;
}

/* ---- a member ---- */

static json_t *gpus_of_member(Api *api, const Job *job, const Member *member)
{
        g_auto(GStrv) indices = member->gpus ? g_strsplit(member->gpus, ",", -1) : NULL;
        json_t *gpus = json_array();

        for (char **at = indices; at && *at; at++) {
                int index = (int)g_ascii_strtoll(*at, NULL, 10);
                GpuUsage usage;

                if (!engine_gpu_usage(api->engine, job, index, &usage))
                        continue;
                json_array_append_new(gpus,
                                      json_pack("{s:i, s:o, s:I, s:I}", "index", index, "percent",
                                                usage.percent < 0 ? json_null() : json_integer(usage.percent),
                                                "memory", (json_int_t)usage.memory, "memory_total",
                                                (json_int_t)usage.memory_total));
        }
        return gpus;
}

static bool runs(const Member *member)
{
        return member->started && !member->finished &&
               (member->state == MEMBER_RUNNING || member->state == MEMBER_READY ||
                member->state == MEMBER_STOPPING);
}

json_t *usage_of_member(Api *api, const Job *job, const Member *member)
{
        g_autofree char *task = task_format(job, member);
        gint64 now = clock_now_ms();
        TaskUsage usage;

        if (!runs(member) || !engine_usage(api->engine, job, member, &usage))
                return json_null();
        return json_pack("{s:I, s:f, s:I, s:I, s:I, s:o}", "cpu_ms", (json_int_t)(usage.cpu_us / 1000),
                         "cores", usage_rate(api->rates, task, member->started, usage.cpu_us, now), "memory",
                         (json_int_t)usage.memory, "peak_memory",
                         (json_int_t)MAX(usage.memory_peak, usage.memory), "processes",
                         (json_int_t)usage.processes, "gpus", gpus_of_member(api, job, member));
}

/* ---- a job ---- */

typedef struct {
        int measured, gpus, gpus_told; /* told: those whose share is known */
        double cores, gpu_percent;
        json_int_t memory, gpu_memory;
} Sum;

static void add(Sum *sum, const json_t *usage)
{
        const json_t *gpu;
        gsize i;

        if (!json_is_object(usage))
                return;
        sum->measured++;
        sum->cores += json_number_value(json_object_get(usage, "cores"));
        sum->memory += json_integer_value(json_object_get(usage, "memory"));
        json_array_foreach(json_object_get(usage, "gpus"), i, gpu) {
                const json_t *percent = json_object_get(gpu, "percent");

                sum->gpus++;
                sum->gpus_told += json_is_integer(percent);
                sum->gpu_percent += (double)json_integer_value(percent);
                sum->gpu_memory += json_integer_value(json_object_get(gpu, "memory"));
        }
}

json_t *usage_of_job(Api *api, const Job *job)
{
        Sum sum = { 0 };

        for (int i = 0; i < job->n_members; i++) {
                g_autoptr(json_t) usage = usage_of_member(api, job, &job->members[i]);

                add(&sum, usage);
        }
        if (sum.measured == 0)
                return json_null();
        return json_pack("{s:i, s:f, s:I, s:o, s:o}", "measured", sum.measured, "cores", sum.cores, "memory",
                         sum.memory, "gpu_percent",
                         sum.gpus_told ? json_real(sum.gpu_percent / sum.gpus_told) : json_null(),
                         "gpu_memory", sum.gpus ? json_integer(sum.gpu_memory) : json_null());
}
