/* Pools of threads. The works wait for a word, so that it is known which of them run and which wait. */
#include "base/thread-pool.h"

#include <pthread.h>
#include <time.h>

#include "base/err.h"

enum { WAIT_S = 60 };

typedef struct {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        int running, done, stopped, may_end;
        GString *order; /* a letter for each begin */
} Stage;

typedef struct {
        Stage *stage;
        char letter;
} Act;

static Stage *stage_new(void)
{
        Stage *stage = g_new0(Stage, 1);

        pthread_mutex_init(&stage->mutex, NULL);
        pthread_cond_init(&stage->changed, NULL);
        stage->order = g_string_new(NULL);
        return stage;
}

static void stage_free(Stage *stage)
{
        g_string_free(stage->order, TRUE);
        pthread_cond_destroy(&stage->changed);
        pthread_mutex_destroy(&stage->mutex);
        g_free(stage);
}

/* Runs until it may end. */
static void act(bool stopped, void *arg)
{
        g_autofree Act *self = arg;
        Stage *stage = self->stage;

        pthread_mutex_lock(&stage->mutex);
        if (stopped) {
                stage->stopped++;
        } else {
                stage->running++;
                g_string_append_c(stage->order, self->letter);
                pthread_cond_broadcast(&stage->changed);
                while (stage->may_end == 0)
                        pthread_cond_wait(&stage->changed, &stage->mutex);
                stage->may_end--;
                stage->running--;
                stage->done++;
        }
        pthread_cond_broadcast(&stage->changed);
        pthread_mutex_unlock(&stage->mutex);
}

static bool push(ThreadPool *pool, Stage *stage, const char *owner, GError **error)
{
        Act *one = g_new(Act, 1);

        *one = (Act){ stage, owner ? owner[0] : '-' };
        if (thread_pool_push(pool, owner, act, one, error))
                return true;
        g_free(one);
        return false;
}

static void let_end(Stage *stage, int n)
{
        pthread_mutex_lock(&stage->mutex);
        stage->may_end += n;
        pthread_cond_broadcast(&stage->changed);
        pthread_mutex_unlock(&stage->mutex);
}

static void wait_until(Stage *stage, const int *what, int value)
{
        struct timespec end;

        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += WAIT_S;
        pthread_mutex_lock(&stage->mutex);
        while (*what != value)
                g_assert_cmpint(pthread_cond_timedwait(&stage->changed, &stage->mutex, &end), ==, 0);
        pthread_mutex_unlock(&stage->mutex);
}

static void test_one_owner_leaves_threads_to_others(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "works", .threads = 3, .share = 2, .waiting_max = 10 });

        for (int i = 0; i < 6; i++)
                g_assert_true(push(pool, stage, "ann", NULL));
        wait_until(stage, &stage->running, 2);
        g_assert_true(push(pool, stage, "bob", NULL));
        wait_until(stage, &stage->running, 3); /* past ann's four that wait */
        g_assert_cmpstr(stage->order->str, ==, "aab");
        let_end(stage, 7);
        wait_until(stage, &stage->done, 7);
        thread_pool_free(pool);
        stage_free(stage);
}

static void test_in_turn(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "works", .threads = 1, .share = 1, .waiting_max = 10 });

        g_assert_true(push(pool, stage, "x", NULL));
        wait_until(stage, &stage->running, 1);
        for (int i = 0; i < 3; i++)
                g_assert_true(push(pool, stage, "ann", NULL));
        for (int i = 0; i < 2; i++)
                g_assert_true(push(pool, stage, "bob", NULL));
        let_end(stage, 6);
        wait_until(stage, &stage->done, 6);
        g_assert_cmpstr(stage->order->str, ==, "xababa");
        thread_pool_free(pool);
        stage_free(stage);
}

static void test_queues_are_bounded(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "works", .threads = 2, .share = 1, .waiting_max = 2 });
        g_autoptr(GError) error = NULL;

        g_assert_true(push(pool, stage, "ann", NULL));
        wait_until(stage, &stage->running, 1);
        g_assert_true(push(pool, stage, "ann", NULL) && push(pool, stage, "ann", NULL));
        g_assert_false(push(pool, stage, "ann", &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        g_assert_cmpstr(error->message, ==,
                        "2 works of 'ann' wait already, as many as one may have\nTry again in a moment.");
        g_assert_true(push(pool, stage, "bob", NULL));
        let_end(stage, 4);
        wait_until(stage, &stage->done, 4);
        thread_pool_free(pool);
        stage_free(stage);
}

static void test_stop(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "works", .threads = 1, .share = 1, .waiting_max = 10 });
        g_autoptr(GError) error = NULL;

        for (int i = 0; i < 3; i++)
                g_assert_true(push(pool, stage, "ann", NULL));
        wait_until(stage, &stage->running, 1);
        let_end(stage, 1); /* it may take the next one before it hears of the end */
        let_end(stage, 2);
        thread_pool_stop(pool);
        g_assert_cmpint(stage->done + stage->stopped, ==, 3);
        g_assert_false(push(pool, stage, "ann", &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        thread_pool_free(pool);
        stage_free(stage);
}

/* An idle thread is woken for the first of two works; the second one does not wait for it. */
static void test_works_of_one_owner_run_together(void)
{
        for (int i = 0; i < 100; i++) {
                Stage *stage = stage_new();
                ThreadPool *pool = thread_pool_new(&(ThreadPoolConfig){ .name = "works", .threads = 2 });

                g_assert_true(push(pool, stage, NULL, NULL));
                let_end(stage, 1);
                wait_until(stage, &stage->done, 1);
                g_assert_true(push(pool, stage, NULL, NULL) && push(pool, stage, NULL, NULL));
                wait_until(stage, &stage->running, 2);
                let_end(stage, 2);
                thread_pool_free(pool);
                stage_free(stage);
        }
}

/* Without owners: all threads, in order, and any number of works waits unless there is a limit. */
static void test_without_owners(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(&(ThreadPoolConfig){ .name = "works", .threads = 3 });

        for (int i = 0; i < 1000; i++)
                g_assert_true(push(pool, stage, NULL, NULL));
        wait_until(stage, &stage->running, 3);
        let_end(stage, 1000);
        wait_until(stage, &stage->done, 1000);
        thread_pool_free(pool);
        stage_free(stage);
}

static void test_bounded_without_owners(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool =
                thread_pool_new(&(ThreadPoolConfig){ .name = "log-ins", .threads = 1, .waiting_max = 1 });
        g_autoptr(GError) error = NULL;

        g_assert_true(push(pool, stage, NULL, NULL));
        wait_until(stage, &stage->running, 1);
        g_assert_true(push(pool, stage, NULL, NULL));
        g_assert_false(push(pool, stage, NULL, &error));
        g_assert_cmpstr(error->message, ==,
                        "the server works on as many log-ins as it accepts at once\nTry again in a moment.");
        let_end(stage, 2);
        thread_pool_free(pool);
        stage_free(stage);
}

/* Works that wait are called too: nothing that was taken is forgotten. */
static void test_stop_calls_all(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "works", .threads = 4, .share = 1, .waiting_max = 100 });

        for (int i = 0; i < 100; i++)
                g_assert_true(push(pool, stage, i % 2 ? "ann" : "bob", NULL));
        wait_until(stage, &stage->running, 2);
        let_end(stage, 100); /* those that begin before the stop */
        thread_pool_stop(pool);
        g_assert_cmpint(stage->done + stage->stopped, ==, 100);
        g_assert_cmpint(stage->running, ==, 0);
        thread_pool_stop(pool); /* a second time: nothing */
        thread_pool_free(pool);
        stage_free(stage);
}

static void test_no_work(void)
{
        thread_pool_free(thread_pool_new(&(ThreadPoolConfig){ .name = "works", .threads = 2 }));
        thread_pool_free(NULL);
}

static int count_threads(void)
{
        g_autoptr(GDir) dir = g_dir_open("/proc/self/task", 0, NULL);
        int n = 0;

        while (g_dir_read_name(dir))
                n++;
        return n;
}

/* ... and others are started when there is work again. */
static void test_idle_threads_end(void)
{
        Stage *stage = stage_new();
        int before = count_threads();
        ThreadPool *pool =
                thread_pool_new(&(ThreadPoolConfig){ .name = "works", .threads = 3, .idle_ms = 1 });

        for (int round = 0; round < 5; round++) {
                gint64 end = g_get_monotonic_time() + WAIT_S * G_USEC_PER_SEC;

                for (int i = 0; i < 3; i++)
                        g_assert_true(push(pool, stage, NULL, NULL));
                wait_until(stage, &stage->running, 3);
                g_assert_cmpint(count_threads(), >=, before + 3);
                let_end(stage, 3);
                wait_until(stage, &stage->running, 0);
                while (count_threads() > before && g_get_monotonic_time() < end)
                        g_thread_yield();
                g_assert_cmpint(count_threads(), ==, before);
        }
        thread_pool_free(pool);
        stage_free(stage);
}

/* ---- works that wait for their time ---- */

typedef struct {
        Stage *stage;
        char letter; /* in `order`; a capital: it was stopped */
} Call;

static void on_time(bool stopped, void *arg)
{
        g_autofree Call *call = arg;

        pthread_mutex_lock(&call->stage->mutex);
        g_string_append_c(call->stage->order, stopped ? g_ascii_toupper(call->letter) : call->letter);
        call->stage->done++;
        pthread_cond_broadcast(&call->stage->changed);
        pthread_mutex_unlock(&call->stage->mutex);
}

static bool push_after(ThreadPool *pool, Stage *stage, char letter, gint64 ms)
{
        Call *call = g_new(Call, 1);

        *call = (Call){ stage, letter };
        if (thread_pool_push_after(pool, ms, on_time, call))
                return true;
        g_free(call);
        return false;
}

static void test_in_order_of_time(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(&(ThreadPoolConfig){ .name = "times", .threads = 1 });

        g_assert_true(push_after(pool, stage, 'c', 600000));
        g_assert_true(push_after(pool, stage, 'b', 300));
        g_assert_true(push_after(pool, stage, 'a', 0));
        wait_until(stage, &stage->done, 2);
        g_assert_cmpstr(stage->order->str, ==, "ab");
        thread_pool_stop(pool);
        g_assert_cmpstr(stage->order->str, ==, "abC");
        g_assert_false(push_after(pool, stage, 'd', 600000));
        thread_pool_free(pool);
        stage_free(stage);
}

/* A thread that has nothing else to do is there when the time comes, whatever its idle time; and those that wait are
 * not counted among the works that may wait. */
static void test_later_than_idle(void)
{
        Stage *stage = stage_new();
        ThreadPool *pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "times", .threads = 2, .waiting_max = 1, .idle_ms = 1 });

        for (int i = 0; i < 5; i++)
                g_assert_true(push_after(pool, stage, 'a', 100));
        wait_until(stage, &stage->done, 5);
        g_assert_cmpstr(stage->order->str, ==, "aaaaa");
        thread_pool_free(pool);
        stage_free(stage);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/thread-pool/share", test_one_owner_leaves_threads_to_others);
        g_test_add_func("/thread-pool/in-turn", test_in_turn);
        g_test_add_func("/thread-pool/bounded", test_queues_are_bounded);
        g_test_add_func("/thread-pool/stop", test_stop);
        g_test_add_func("/thread-pool/together", test_works_of_one_owner_run_together);
        g_test_add_func("/thread-pool/without-owners", test_without_owners);
        g_test_add_func("/thread-pool/bounded-without-owners", test_bounded_without_owners);
        g_test_add_func("/thread-pool/stop-calls-all", test_stop_calls_all);
        g_test_add_func("/thread-pool/no-work", test_no_work);
        g_test_add_func("/thread-pool/idle-threads-end", test_idle_threads_end);
        g_test_add_func("/thread-pool/in-order-of-time", test_in_order_of_time);
        g_test_add_func("/thread-pool/later-than-idle", test_later_than_idle);
        return g_test_run();
}
