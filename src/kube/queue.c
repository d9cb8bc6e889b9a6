/* A work queue of keys (see queue.h). An item is in at most one of: ready (waits for the worker), timed
 * (waits for its time), in the worker's hands; `again` says that it was added while it was there.
 *
 * The worker handles one key in each turn of the loop, so that a long queue delays nothing else. */
#include "kube/queue.h"

#include <string.h>

#include "base/backoff.h"
#include "base/timer.h"

enum { IN_FLIGHT_MAX = 256, BACK_OFF_MIN_MS = 5, BACK_OFF_MAX_MS = 300000 };

typedef struct {
        char *key;
        GList ready;          /* its link in queue->ready */
        GSequenceIter *timed; /* in queue->timed, or NULL */
        gint64 due_us;
        bool is_ready, is_working, is_parked;
        bool again;         /* added while it was worked on */
        gint64 again_at_us; /* the same with a time; 0: none */
        bool forgotten;     /* while it was worked on */
        guint failures;
        gint64 queued_us, began_us;
} Item;

struct KubeQueue {
        int refs;
        bool freed;
        KubeQueueConfig config;
        GHashTable *items; /* key -> Item, as long as there is something to remember */
        GQueue ready;
        GSequence *timed; /* by due_us */
        Timer *timer;
        guint working, parked;
        KubeQueueFigures figures;
};

static void item_free(void *data)
{
        Item *item = data;

        g_free(item->key);
        g_free(item);
}

static void queue_unref(KubeQueue *queue)
{
        if (--queue->refs)
                return;
        g_sequence_free(queue->timed);
        g_hash_table_unref(queue->items);
        g_free(queue);
}

/* ---- When the loop comes again ---- */

static void on_timer(void *arg);

static void set_timer(KubeQueue *queue)
{
        GSequenceIter *first = g_sequence_get_begin_iter(queue->timed);
        bool room = (int)queue->working < queue->config.in_flight_max;
        gint64 us = -1;

        if (queue->freed)
                return;
        if (queue->ready.length && room)
                us = 0;
        else if (!g_sequence_iter_is_end(first))
                us = ((const Item *)g_sequence_get(first))->due_us;
        timer_set_at(&queue->timer, queue->config.context, us, on_timer, queue);
}

/* ---- Where an item is ---- */

static Item *item_of(KubeQueue *queue, const char *key)
{
        Item *item = g_hash_table_lookup(queue->items, key);

        if (item)
                return item;
        item = g_new0(Item, 1);
        item->key = g_strdup(key);
        item->ready.data = item;
        g_hash_table_insert(queue->items, item->key, item);
        return item;
}

static int compare_due(const void *a, const void *b, void *unused)
{
        gint64 left = ((const Item *)a)->due_us, right = ((const Item *)b)->due_us;

        return (left > right) - (left < right);
}

static void unpark(KubeQueue *queue, Item *item)
{
        queue->parked -= item->is_parked;
        item->is_parked = false;
}

static void untime(Item *item)
{
        if (item->timed)
                g_sequence_remove(item->timed);
        item->timed = NULL;
}

static void make_ready(KubeQueue *queue, Item *item)
{
        untime(item);
        if (item->is_ready)
                return;
        item->is_ready = true;
        item->queued_us = g_get_monotonic_time();
        g_queue_push_tail_link(&queue->ready, &item->ready);
}

static void make_timed(KubeQueue *queue, Item *item, gint64 due_us)
{
        if (item->is_ready || (item->timed && item->due_us <= due_us))
                return;
        untime(item);
        item->due_us = due_us;
        item->timed = g_sequence_insert_sorted(queue->timed, item, compare_due, NULL);
}

/* Removes the item if nothing about it has to be remembered. */
static void release(KubeQueue *queue, Item *item)
{
        if (!item->is_ready && !item->timed && !item->is_working && !item->is_parked && !item->failures)
                g_hash_table_remove(queue->items, item->key);
}

/* ---- Work ---- */

int kube_queue_bucket(gint64 us)
{
        int bucket = 0;

        while (bucket < KUBE_QUEUE_BOUNDS && (double)us / G_USEC_PER_SEC > kube_queue_bound_s(bucket))
                bucket++;
        return bucket;
}

double kube_queue_bound_s(int bucket)
{
        static const double bounds_s[KUBE_QUEUE_BOUNDS] = { 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1,
                                                            1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7 };

        return bounds_s[bucket];
}

static gint64 back_off_us(const KubeQueue *queue, Item *item)
{
        gint64 us = backoff_delay(queue->config.backoff_min_ms * 1000, queue->config.backoff_max_ms * 1000,
                                  item->failures++);

        return us + g_random_int_range(0, (gint32)MIN(us / 10, G_MAXINT32 - 1) + 1);
}

static void finish(KubeQueue *queue, Item *item, WorkResult result)
{
        gint64 now_us = g_get_monotonic_time();

        item->is_working = false;
        queue->working--;
        queue->figures.worked_buckets[kube_queue_bucket(now_us - item->began_us)]++;
        queue->figures.worked_us_sum += (guint64)(now_us - item->began_us);
        if (item->forgotten)
                result = WORK_DONE;
        item->forgotten = false;
        if (result != WORK_RETRY && result != WORK_WAIT)
                item->failures = 0;
        if (item->again_at_us)
                make_timed(queue, item, item->again_at_us);
        if (result == WORK_RETRY) {
                queue->figures.retries++;
                make_timed(queue, item, now_us + back_off_us(queue, item));
        } else if (item->again) {
                make_ready(queue, item);
        } else if (result == WORK_PARK && !item->timed) {
                item->is_parked = true;
                queue->parked++;
        }
        item->again = false;
        item->again_at_us = 0;
        release(queue, item);
        set_timer(queue);
}

static void work_one(KubeQueue *queue)
{
        Item *item = g_queue_pop_head_link(&queue->ready)->data;
        gint64 waited_us;

        item->is_ready = false;
        item->is_working = true;
        item->began_us = g_get_monotonic_time();
        waited_us = item->began_us - item->queued_us;
        queue->figures.queued_buckets[kube_queue_bucket(waited_us)]++;
        queue->figures.queued_us_sum += (guint64)waited_us;
        queue->working++;
        WorkResult result = queue->config.work(item->key, queue->config.arg);
        if (!queue->freed && result != WORK_LATER)
                finish(queue, item, result);
}

static void on_timer(void *arg)
{
        KubeQueue *queue = arg;
        gint64 now_us = g_get_monotonic_time();
        GSequenceIter *first;

        queue->refs++;
        while (!g_sequence_iter_is_end(first = g_sequence_get_begin_iter(queue->timed))) {
                Item *item = g_sequence_get(first);

                if (item->due_us > now_us)
                        break;
                make_ready(queue, item);
        }
        if (queue->ready.length && (int)queue->working < queue->config.in_flight_max)
                work_one(queue);
        set_timer(queue);
        queue_unref(queue);
}

/* ---- The queue ---- */

KubeQueue *kube_queue_new(const KubeQueueConfig *config)
{
        KubeQueue *queue = g_new0(KubeQueue, 1);

        queue->refs = 1;
        queue->config = *config;
        if (queue->config.in_flight_max <= 0)
                queue->config.in_flight_max = IN_FLIGHT_MAX;
        if (queue->config.backoff_min_ms <= 0)
                queue->config.backoff_min_ms = BACK_OFF_MIN_MS;
        if (queue->config.backoff_max_ms <= 0)
                queue->config.backoff_max_ms = BACK_OFF_MAX_MS;
        queue->items = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, item_free);
        queue->timed = g_sequence_new(NULL);
        return queue;
}

void kube_queue_free(KubeQueue *queue)
{
        if (!queue || queue->freed)
                return;
        queue->freed = true;
        timer_clear(&queue->timer);
        queue_unref(queue);
}

void kube_queue_add(KubeQueue *queue, const char *key)
{
        Item *item = item_of(queue, key);

        queue->figures.adds++;
        unpark(queue, item);
        if (item->is_working)
                item->again = true;
        else if (!item->failures || !item->timed) /* a back-off is kept */
                make_ready(queue, item);
        set_timer(queue);
}

void kube_queue_add_after(KubeQueue *queue, const char *key, gint64 ms)
{
        Item *item = item_of(queue, key);
        gint64 due_us = g_get_monotonic_time() + MAX(ms, 0) * 1000;

        queue->figures.adds++;
        unpark(queue, item);
        if (!item->is_working)
                make_timed(queue, item, due_us);
        else if (!item->again_at_us || due_us < item->again_at_us)
                item->again_at_us = due_us;
        set_timer(queue);
}

void kube_queue_finish(KubeQueue *queue, const char *key, WorkResult result)
{
        Item *item = g_hash_table_lookup(queue->items, key);

        g_return_if_fail(result != WORK_LATER);
        if (item && item->is_working)
                finish(queue, item, result);
}

void kube_queue_forget(KubeQueue *queue, const char *key)
{
        Item *item = g_hash_table_lookup(queue->items, key);

        if (!item)
                return;
        unpark(queue, item);
        untime(item);
        item->failures = 0;
        item->again = false;
        item->again_at_us = 0;
        item->forgotten = item->is_working;
        if (item->is_ready)
                g_queue_unlink(&queue->ready, &item->ready);
        item->is_ready = false;
        release(queue, item);
        set_timer(queue);
}

void kube_queue_figures(const KubeQueue *queue, KubeQueueFigures *ret)
{
        gint64 now_us = g_get_monotonic_time(), longest_us = 0;
        GHashTableIter iter;
        void *value;

        g_hash_table_iter_init(&iter, queue->items);
        while (queue->working && g_hash_table_iter_next(&iter, NULL, &value))
                if (((const Item *)value)->is_working)
                        longest_us = MAX(longest_us, now_us - ((const Item *)value)->began_us);
        *ret = queue->figures;
        ret->depth = queue->ready.length;
        ret->parked = queue->parked;
        ret->in_flight = queue->working;
        ret->longest_running_s = (double)longest_us / 1e6;
}
