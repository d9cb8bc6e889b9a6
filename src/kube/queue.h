/* A work queue of keys ("namespace/name"): each key once, however often it was added; a key is in the hands
 * of one worker at a time, and one that is added meanwhile comes again afterwards. Failures come back later
 * and later (per key: 5 ms doubling to 5 min, with jitter); a parked key waits for the next add from outside.
 * Same thread as its context. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct KubeQueue KubeQueue;

typedef enum {
        WORK_DONE,  /* forgets its failures */
        WORK_RETRY, /* again, after its back-off */
        WORK_PARK,  /* not before kube_queue_add: nothing that we do would change the outcome */
        WORK_LATER, /* not finished: kube_queue_finish will say */
        WORK_WAIT,  /* not begun, by no fault of its own: its failures stay, and somebody will add it */
} WorkResult;

typedef WorkResult (*KubeWork)(const char *key, void *arg);

typedef struct {
        GMainContext *context; /* NULL: the default one */
        KubeWork work;         /* called from the loop */
        void *arg;
        int in_flight_max;                     /* keys with WORK_LATER at one time, 0: 256 */
        gint64 backoff_min_ms, backoff_max_ms; /* 0: 5 ms, 5 min */
} KubeQueueConfig;

KubeQueue *kube_queue_new(const KubeQueueConfig *config);
void kube_queue_free(KubeQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeQueue, kube_queue_free)

void kube_queue_add(KubeQueue *queue, const char *key); /* unparks; does not shorten a back-off */
/* The earliest of several counts, and of a back-off. */
void kube_queue_add_after(KubeQueue *queue, const char *key, gint64 ms);
void kube_queue_finish(KubeQueue *queue, const char *key,
                       WorkResult result); /* of a WORK_LATER; not itself WORK_LATER */
/* No failures, no timers, and what comes of the work under way is not heard: it has gone, or is another one
 * now and is added anew. */
void kube_queue_forget(KubeQueue *queue, const char *key);

/* workqueue_* of /metrics, names and meanings of Prometheus' controller metrics. */
typedef struct {
        guint64 adds, retries;
        guint depth, parked, in_flight;
        double longest_running_s;
        guint64 queued_us_buckets[16],
                worked_us_buckets[16]; /* powers of ten from 1 us, as client-go's: 10 ns·10^n */
        guint64 queued_us_sum, worked_us_sum, queued_count, worked_count;
} KubeQueueFigures;
void kube_queue_figures(const KubeQueue *queue, KubeQueueFigures *ret);
