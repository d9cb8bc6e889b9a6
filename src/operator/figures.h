/* The counts of a controller, for /metrics. Plain data. */
#pragma once

#include <glib.h>

#include "kube/queue.h"

enum { FIGURES_BUCKETS = 16 }; /* of seconds a pass took: the bounds are figures_bucket_s */

typedef struct {
        guint64 success, errors, requeue, requeue_after; /* passes by their result */
        guint64 took[FIGURES_BUCKETS + 1];               /* the last one: longer */
        double took_sum_s;
        guint active; /* passes under way */
        KubeQueueFigures queue;
        guint jobs;
} Figures;
extern const double figures_bucket_s[FIGURES_BUCKETS];

/* A pass has ended. Its job is looked at once more: `again`: at once; again_ms: after that time at the
 * latest, 0: when something changes. */
void figures_count_pass(Figures *figures, gint64 began_us, WorkResult result, bool again, gint64 again_ms);
