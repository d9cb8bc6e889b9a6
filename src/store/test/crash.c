/* kill -9 while commits run: what was acknowledged is there afterwards, whole. The log is carried over from
 * death to death. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "store/test/help.h"

enum { ROUNDS = 6, MEMBERS = 3 };

/* The child: batches of MEMBERS jobs, each acknowledged by its last seq on the pipe, until it is killed. */
static void commit_until_killed(const char *dir, int out)
{
        Store *store = open_store(dir);

        for (gint64 seq = last_seq(store);;) {
                g_autoptr(Batch) batch = batch_new();

                for (int i = 0; i < MEMBERS; i++) {
                        g_autofree char *name = g_strdup_printf("job-%d", (int)++seq);
                        Job *job = make_job(seq, "ann", name, JOB_QUEUED);

                        batch_put(batch, RECORD_NEW_JOB, job);
                        batch_put(batch, RECORD_EVENT, make_event(seq, job, "job.queued"));
                }
                commit(store, batch);
                if (write(out, &seq, sizeof seq) != sizeof seq)
                        _exit(1);
        }
}

/* Lets a child acknowledge `n` batches, kills it, and answers the last acknowledged seq, read to the pipe's
 * end. */
static gint64 run_and_kill(const char *dir, int n)
{
        gint64 acknowledged = 0, seq;
        int ends[2], status;
        pid_t child;

        g_assert_cmpint(pipe(ends), ==, 0);
        child = fork();
        g_assert_cmpint(child, >=, 0);
        if (child == 0) {
                close(ends[0]);
                commit_until_killed(dir, ends[1]);
        }
        close(ends[1]);
        while (read(ends[0], &seq, sizeof seq) == sizeof seq) {
                acknowledged = seq;
                if (--n == 0)
                        g_assert_cmpint(kill(child, SIGKILL), ==, 0);
        }
        close(ends[0]);
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        return acknowledged;
}

static void check(const char *dir, gint64 acknowledged)
{
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        g_assert_true(store_load(store, &state, &error));
        g_assert_no_error(error);
        g_assert_cmpint(state.last_seq, >=, acknowledged);
        g_assert_cmpint(state.last_seq % MEMBERS, ==, 0);
        g_assert_cmpint(state.last_revision, ==, state.last_seq);
        g_assert_cmpuint(state.loaded[RECORD_JOB]->len, ==, state.last_seq);
        for (guint i = 0; i < state.loaded[RECORD_JOB]->len; i++)
                g_assert_cmpint(((Job *)state.loaded[RECORD_JOB]->pdata[i])->seq, ==, i + 1);
        g_autoptr(GPtrArray) events = store_events(store, &(EventQuery){ .limit = 1000000 }, &error);
        g_assert_cmpuint(events->len, ==, state.last_seq);
}

static void test_kill(void)
{
        g_autoptr(Scratch) dir = scratch_new();

        for (int round = 0; round < ROUNDS; round++) {
                gint64 acknowledged = run_and_kill(dir, 1 + 60 * round);

                acknowledged =
                        MAX(acknowledged, run_and_kill(dir, 7)); /* onto the log of the dead, unchecked */
                check(dir, acknowledged);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/crash/kill", test_kill);
        return g_test_run();
}
