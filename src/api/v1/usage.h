/* The current usage of running members: measured for each request, and not stored. */
#pragma once

#include "base/json.h"
#include "model/job.h"

typedef struct Api Api;

/* How fast processor time was used: what was seen of tasks at earlier questions. Any thread. */
typedef struct UsageRates UsageRates;
UsageRates *usage_rates_new(void);
void usage_rates_free(UsageRates *rates);

/* Cores in use by a task (its name) that has used `cpu_us` up to `now` (ms), since an earlier question, or
 * since it was started, where there was none. Pure but for `rates`. */
double usage_rate(UsageRates *rates, const char *task, gint64 started, gint64 cpu_us, gint64 now);

/* {"cpu_ms","cores","memory","peak_memory","processes","gpus":[{"index","percent","memory","memory_total"}]}
 * of a member; null: it does not run, or is not measured. */
json_t *usage_of_member(Api *api, const Job *job, const Member *member);
/* {"measured", "cores", "memory", "gpu_percent", "gpu_memory"} of all its members together; `measured` of
 * them were. null: none was. */
json_t *usage_of_job(Api *api, const Job *job);
