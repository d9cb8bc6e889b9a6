/* The work queue, by what its worker sees and in which order. Times are tiny; nothing sleeps. */
#include "kube/queue.h"

#include <string.h>

typedef struct {
        KubeQueue *queue;
        GString *seen;
        int answers_left; /* `answer` so often, then WORK_DONE */
        WorkResult answer;
        int calls;
        void (*meanwhile)(KubeQueue *queue, const char *key);
        bool free_it;
} Work;

static WorkResult work(const char *key, void *arg)
{
        Work *self = arg;

        g_string_append_printf(self->seen, "%s ", key);
        self->calls++;
        if (self->meanwhile)
                self->meanwhile(self->queue, key);
        if (self->free_it)
                g_clear_pointer(&self->queue, kube_queue_free);
        return self->answers_left-- > 0 ? self->answer : WORK_DONE;
}

static void begin_with(Work *self, const KubeQueueConfig *like)
{
        KubeQueueConfig config = *like;

        config.work = work;
        config.arg = self;
        *self = (Work){ .seen = g_string_new(NULL) };
        self->queue = kube_queue_new(&config);
}

static void begin(Work *self, int in_flight)
{
        begin_with(self, &(KubeQueueConfig){
                                 .in_flight_max = in_flight, .backoff_min_ms = 1, .backoff_max_ms = 8 });
}

static void end(Work *self)
{
        kube_queue_free(self->queue);
        g_string_free(self->seen, TRUE);
}

static void until_calls(const Work *self, int calls)
{
        while (self->calls < calls)
                g_main_context_iteration(NULL, TRUE);
}

/* Whatever can run without waiting has run. */
static void settle(void)
{
        while (g_main_context_iteration(NULL, FALSE))
                ;
}

static guint64 counted(const guint64 *buckets)
{
        guint64 n = 0;

        for (int i = 0; i <= KUBE_QUEUE_BOUNDS; i++)
                n += buckets[i];
        return n;
}

static void test_once(void)
{
        Work self;
        KubeQueueFigures figures;

        begin(&self, 0);
        kube_queue_add(self.queue, "a");
        kube_queue_add(self.queue, "b");
        kube_queue_add(self.queue, "a");
        g_assert_cmpint(self.calls, ==, 0);
        kube_queue_figures(self.queue, &figures);
        g_assert_cmpuint(figures.depth, ==, 2);
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a b ");
        kube_queue_figures(self.queue, &figures);
        g_assert_cmpuint(figures.adds, ==, 3);
        g_assert_cmpuint(figures.depth, ==, 0);
        g_assert_cmpuint(counted(figures.queued_buckets), ==, 2);
        g_assert_cmpuint(counted(figures.worked_buckets), ==, 2);
        end(&self);
}

static void add_itself(KubeQueue *queue, const char *key)
{
        static int left = 2;

        if (left-- > 0) {
                kube_queue_add(queue, key);
                kube_queue_add(queue, key);
        }
}

static void test_again(void)
{
        Work self;

        begin(&self, 0);
        self.meanwhile = add_itself;
        kube_queue_add(self.queue, "a");
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a a a ");
        end(&self);
}

static void test_retry(void)
{
        Work self;
        KubeQueueFigures figures;
        gint64 began;

        begin(&self, 0);
        self.answer = WORK_RETRY;
        self.answers_left = 5;
        began = g_get_monotonic_time();
        kube_queue_add(self.queue, "a");
        until_calls(&self, 6);
        g_assert_cmpint(g_get_monotonic_time() - began, >=, (1 + 2 + 4 + 8 + 8) * 1000);
        kube_queue_figures(self.queue, &figures);
        g_assert_cmpuint(figures.retries, ==, 5);
        /* Its failures are forgotten now. */
        self.answers_left = 1;
        began = g_get_monotonic_time();
        kube_queue_add(self.queue, "a");
        until_calls(&self, 8);
        end(&self);
}

/* An add from outside does not end a back-off, and another key does not wait for it. */
static void test_back_off_kept(void)
{
        Work self;

        begin(&self, 0);
        self.answer = WORK_RETRY;
        self.answers_left = 1;
        kube_queue_add(self.queue, "a");
        until_calls(&self, 1);
        kube_queue_add(self.queue, "a");
        kube_queue_add(self.queue, "b");
        until_calls(&self, 3);
        g_assert_cmpstr(self.seen->str, ==, "a b a ");
        end(&self);
}

static void test_park(void)
{
        Work self;
        KubeQueueFigures figures;

        begin(&self, 0);
        self.answer = WORK_PARK;
        self.answers_left = 1;
        kube_queue_add(self.queue, "a");
        settle();
        kube_queue_figures(self.queue, &figures);
        g_assert_cmpuint(figures.parked, ==, 1);
        kube_queue_add(self.queue, "a");
        kube_queue_figures(self.queue, &figures);
        g_assert_cmpuint(figures.parked, ==, 0);
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a a ");
        end(&self);
}

static void test_later(void)
{
        Work self;
        KubeQueueFigures figures;

        begin(&self, 2);
        self.answer = WORK_LATER;
        self.answers_left = 3;
        kube_queue_add(self.queue, "a");
        kube_queue_add(self.queue, "b");
        kube_queue_add(self.queue, "c");
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a b ");
        kube_queue_add(self.queue, "a"); /* in hands: afterwards */
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a b ");
        kube_queue_figures(self.queue, &figures);
        g_assert_cmpuint(figures.in_flight, ==, 2);
        kube_queue_finish(self.queue, "a", WORK_DONE);
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a b c ");
        kube_queue_finish(self.queue, "b", WORK_DONE);
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a b c a ");
        kube_queue_finish(self.queue, "nobody", WORK_DONE);
        kube_queue_finish(self.queue, "c", WORK_PARK);
        end(&self);
}

static void test_after(void)
{
        Work self;
        gint64 began = g_get_monotonic_time();

        begin(&self, 0);
        kube_queue_add_after(self.queue, "late", 3600000);
        kube_queue_add_after(self.queue, "a", 3600000);
        kube_queue_add_after(self.queue, "a", 5);
        kube_queue_add_after(self.queue, "a", 3600000);
        until_calls(&self, 1);
        g_assert_cmpint(g_get_monotonic_time() - began, >=, 5000);
        g_assert_cmpstr(self.seen->str, ==, "a ");
        kube_queue_add(self.queue, "late"); /* at once, and not again */
        until_calls(&self, 2);
        g_assert_cmpstr(self.seen->str, ==, "a late ");
        end(&self);
}

static void add_soon(KubeQueue *queue, const char *key)
{
        kube_queue_add_after(queue, key, 50);
}

/* What is due by the clock does not wait for the end of a back-off. */
static void test_due_within_back_off(void)
{
        Work self;
        gint64 began = g_get_monotonic_time();

        begin_with(&self, &(KubeQueueConfig){ .backoff_min_ms = 600000, .backoff_max_ms = 600000 });
        self.meanwhile = add_soon;
        self.answer = WORK_RETRY;
        self.answers_left = 2;
        kube_queue_add(self.queue, "a");
        until_calls(&self, 3);
        g_assert_cmpint(g_get_monotonic_time() - began, >=, 2 * 50000);
        g_assert_cmpint(g_get_monotonic_time() - began, <, 600000 * (gint64)1000);
        end(&self);
}

/* A key that changed meanwhile is not held up by its failures: not by the one under way, nor by those before.
 */
static void test_forgotten_and_added(void)
{
        Work self;

        begin_with(&self, &(KubeQueueConfig){ .backoff_min_ms = 600000, .backoff_max_ms = 600000 });
        self.answer = WORK_RETRY;
        self.answers_left = 1;
        kube_queue_add(self.queue, "a");
        settle();
        kube_queue_add(self.queue, "a");
        settle();
        g_assert_cmpint(self.calls, ==, 1);
        self.answer = WORK_LATER;
        self.answers_left = 1;
        kube_queue_forget(self.queue, "a");
        kube_queue_add(self.queue, "a");
        settle();
        g_assert_cmpint(self.calls, ==, 2);
        kube_queue_forget(self.queue, "a");
        kube_queue_add(self.queue, "a");
        kube_queue_finish(self.queue, "a", WORK_RETRY);
        settle();
        g_assert_cmpint(self.calls, ==, 3);
        end(&self);
}

/* One that could not be begun has neither failed nor succeeded. */
static void test_wait(void)
{
        Work self;
        gint64 began;

        begin_with(&self, &(KubeQueueConfig){ .backoff_min_ms = 250, .backoff_max_ms = 600000 });
        self.answer = WORK_RETRY;
        self.answers_left = 2;
        kube_queue_add(self.queue, "a");
        until_calls(&self, 2);
        self.answer = WORK_WAIT;
        self.answers_left = 1;
        until_calls(&self, 3);
        settle();
        began = g_get_monotonic_time();
        kube_queue_add(self.queue, "a"); /* no back-off is under way */
        self.answer = WORK_RETRY;
        self.answers_left = 1;
        settle();
        g_assert_cmpint(self.calls, ==, 4);
        until_calls(&self, 5);
        g_assert_cmpint(g_get_monotonic_time() - began, >=, 1000000); /* after the third failure in a row */
        end(&self);
}

static void forget_it(KubeQueue *queue, const char *key)
{
        kube_queue_add(queue, key);
        kube_queue_forget(queue, key);
}

static void test_forget(void)
{
        Work self;

        begin(&self, 0);
        kube_queue_add(self.queue, "a");
        kube_queue_add_after(self.queue, "b", 1);
        kube_queue_forget(self.queue, "a");
        kube_queue_forget(self.queue, "b");
        kube_queue_forget(self.queue, "c");
        settle();
        g_assert_cmpint(self.calls, ==, 0);
        self.meanwhile = forget_it;
        self.answer = WORK_RETRY;
        self.answers_left = 1;
        kube_queue_add(self.queue, "a");
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a ");
        end(&self);
}

static void test_free_within(void)
{
        Work self;

        begin(&self, 0);
        self.free_it = true;
        kube_queue_add(self.queue, "a");
        kube_queue_add(self.queue, "b");
        settle();
        g_assert_cmpstr(self.seen->str, ==, "a ");
        g_assert_null(self.queue);
        end(&self);
}

/* At most 10 ns * 10^n, n from 0 to 15; longer ones are in the bucket without a bound. */
static void test_buckets(void)
{
        static const struct {
                gint64 us;
                int bucket;
        } cases[] = {
                { 0, 0 },
                { 1, 2 },
                { 2, 3 },
                { 10, 3 },
                { 11, 4 },
                { 1000, 5 },
                { 1001, 6 },
                { 1000000, 8 },
                { 1000001, 9 },
                { 10000000, 9 },
                { 300000000, 11 },
                { G_GINT64_CONSTANT(10000000000000), 15 },
                { G_GINT64_CONSTANT(10000000000001), 16 },
                { G_MAXINT64, 16 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(kube_queue_bucket(cases[i].us), ==, cases[i].bucket);
        g_assert_cmpint(KUBE_QUEUE_BOUNDS, ==, 16);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/queue/once", test_once);
        g_test_add_func("/kube/queue/again", test_again);
        g_test_add_func("/kube/queue/retry", test_retry);
        g_test_add_func("/kube/queue/back-off-kept", test_back_off_kept);
        g_test_add_func("/kube/queue/park", test_park);
        g_test_add_func("/kube/queue/later", test_later);
        g_test_add_func("/kube/queue/after", test_after);
        g_test_add_func("/kube/queue/due-within-back-off", test_due_within_back_off);
        g_test_add_func("/kube/queue/forgotten-and-added", test_forgotten_and_added);
        g_test_add_func("/kube/queue/wait", test_wait);
        g_test_add_func("/kube/queue/forget", test_forget);
        g_test_add_func("/kube/queue/free-within", test_free_within);
        g_test_add_func("/kube/queue/buckets", test_buckets);
        return g_test_run();
}
