/* A pool that is shared fairly: works that wait for a word, so that who runs and who waits is known. */
#include "net/pool.h"

#include <pthread.h>
#include <string.h>
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

static bool push(Pool *pool, Stage *stage, const char *user, GError **error)
{
        Act *one = g_new(Act, 1);

        *one = (Act){ stage, user[0] };
        if (pool_push(pool, user, act, one, error))
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

static void test_one_user_leaves_threads_to_others(void)
{
        Stage *stage = stage_new();
        Pool *pool = pool_new(&(PoolConfig){ .threads = 3, .share = 2, .line_max = 10 });

        for (int i = 0; i < 6; i++)
                g_assert_true(push(pool, stage, "ann", NULL));
        wait_until(stage, &stage->running, 2);
        g_assert_true(push(pool, stage, "bob", NULL));
        wait_until(stage, &stage->running, 3); /* past ann's four that wait */
        g_assert_cmpstr(stage->order->str, ==, "aab");
        let_end(stage, 7);
        wait_until(stage, &stage->done, 7);
        pool_free(pool);
        stage_free(stage);
}

static void test_in_turn(void)
{
        Stage *stage = stage_new();
        Pool *pool = pool_new(&(PoolConfig){ .threads = 1, .share = 1, .line_max = 10 });

        g_assert_true(push(pool, stage, "x", NULL));
        wait_until(stage, &stage->running, 1);
        for (int i = 0; i < 3; i++)
                g_assert_true(push(pool, stage, "ann", NULL));
        for (int i = 0; i < 2; i++)
                g_assert_true(push(pool, stage, "bob", NULL));
        let_end(stage, 6);
        wait_until(stage, &stage->done, 6);
        g_assert_cmpstr(stage->order->str, ==, "xababa");
        pool_free(pool);
        stage_free(stage);
}

static void test_lines_are_bounded(void)
{
        Stage *stage = stage_new();
        Pool *pool = pool_new(&(PoolConfig){ .threads = 2, .share = 1, .line_max = 2 });
        g_autoptr(GError) error = NULL;

        g_assert_true(push(pool, stage, "ann", NULL));
        wait_until(stage, &stage->running, 1);
        g_assert_true(push(pool, stage, "ann", NULL) && push(pool, stage, "ann", NULL));
        g_assert_false(push(pool, stage, "ann", &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        g_assert_nonnull(strstr(error->message, "'ann'"));
        g_assert_true(push(pool, stage, "bob", NULL));
        let_end(stage, 4);
        wait_until(stage, &stage->done, 4);
        pool_free(pool);
        stage_free(stage);
}

static void test_stop(void)
{
        Stage *stage = stage_new();
        Pool *pool = pool_new(&(PoolConfig){ .threads = 1, .share = 1, .line_max = 10 });
        g_autoptr(GError) error = NULL;

        for (int i = 0; i < 3; i++)
                g_assert_true(push(pool, stage, "ann", NULL));
        wait_until(stage, &stage->running, 1);
        let_end(stage, 1); /* it may take the next one before it hears of the end */
        let_end(stage, 2);
        pool_stop(pool);
        g_assert_cmpint(stage->done + stage->stopped, ==, 3);
        g_assert_false(push(pool, stage, "ann", &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        pool_free(pool);
        stage_free(stage);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pool/share", test_one_user_leaves_threads_to_others);
        g_test_add_func("/pool/in-turn", test_in_turn);
        g_test_add_func("/pool/bounded", test_lines_are_bounded);
        g_test_add_func("/pool/stop", test_stop);
        return g_test_run();
}
