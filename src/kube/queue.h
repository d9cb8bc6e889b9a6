/* A work queue of keys ("namespace/name"). Each key is in it once, however often it was added. One worker at
 * a time handles a key; a key that is added meanwhile is handled again afterwards. Failures are retried with
 * growing delay (per key: 5 ms doubling to 5 min, with jitter). A parked key waits for the next add from
 * outside. Same thread as its context. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct KubeQueue KubeQueue;

typedef enum {
        WORK_DONE,  /* resets its failures */
        WORK_RETRY, /* again, after its back-off */
        WORK_PARK,  /* not before kube_queue_add: retrying would not change the outcome */
        WORK_LATER, /* not finished: kube_queue_finish will give the result */
        WORK_WAIT,  /* not begun, for external reasons: its failures stay, and another event will add it */
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
/* The earliest of several counts, also compared with a back-off. */
void kube_queue_add_after(KubeQueue *queue, const char *key, gint64 ms);
void kube_queue_finish(KubeQueue *queue, const char *key,
                       WorkResult result); /* of a WORK_LATER; not itself WORK_LATER */
/* Resets failures and timers, and ignores the result of work in progress: the object was deleted, or is a
 * different one now and is added again. */
void kube_queue_forget(KubeQueue *queue, const char *key);

/* Durations are counted in buckets. The upper bound of bucket n is 10 ns * 10^n, as in client-go; the one bucket
 * after these has no bound. */
enum { KUBE_QUEUE_BOUNDS = 16 };
int kube_queue_bucket(gint64 us);      /* the first bucket whose bound is not below `us`; pure */
double kube_queue_bound_s(int bucket); /* in seconds; of a bucket below KUBE_QUEUE_BOUNDS */

/* workqueue_* of /metrics; names and meanings as in Prometheus' controller metrics. */
typedef struct {
        guint64 adds, retries;
        guint depth, parked, in_flight;
        double longest_running_s;
        /* Keys by the time that they waited, and by the time that the worker took; each in one bucket. */
        guint64 queued_buckets[KUBE_QUEUE_BOUNDS + 1], worked_buckets[KUBE_QUEUE_BOUNDS + 1];
        guint64 queued_us_sum, worked_us_sum; /* in microseconds */
} KubeQueueFigures;
void kube_queue_figures(const KubeQueue *queue, KubeQueueFigures *ret);
