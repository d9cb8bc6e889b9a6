/* Counters of a controller (see figures.h); the bounds are those of controller-runtime. */
#include "operator/figures.h"

const double figures_bucket_s[FIGURES_BUCKETS] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                                   2.5,   5,    10,    15,   20,  30,   45,  60 };

void figures_count_pass(Figures *figures, gint64 began_us, WorkResult result, bool again, gint64 again_ms)
{
        double took = (double)(g_get_monotonic_time() - began_us) / G_USEC_PER_SEC;
        int bucket = 0;

        while (bucket < FIGURES_BUCKETS && took > figures_bucket_s[bucket])
                bucket++;
        figures->took[bucket]++;
        figures->took_sum_s += took;
        if (result == WORK_RETRY)
                figures->errors++;
        else if (again)
                figures->requeue++;
        else if (again_ms > 0)
                figures->requeue_after++;
        else
                figures->success++;
}
