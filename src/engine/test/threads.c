/* Many at a time: submitters, readers and the runtime's own thread. What a reader sees is in the store, never
 * goes back, and is never in neither place. Meant for the thread sanitizer, too. */
#include <string.h>

#include "base/err.h"
#include "engine/test/help.h"

enum { SUBMITTERS = 4, READERS = 3, JOBS_EACH = 60 };

typedef struct {
        House *house;
        pthread_mutex_t lock;
        GPtrArray *ids; /* acknowledged */
        bool done;
} Crowd;

static void *submitter(void *arg)
{
        Crowd *crowd = arg;

        for (int i = 0; i < JOBS_EACH; i++) {
                char *id = house_submit_ok(
                        crowd->house,
                        "{'command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}");

                if (i % 7 == 0)
                        (void)house_cancel(crowd->house, id, NULL); /* it may have ended before */
                pthread_mutex_lock(&crowd->lock);
                g_ptr_array_add(crowd->ids, id);
                pthread_mutex_unlock(&crowd->lock);
        }
        return NULL;
}

static char *pick(Crowd *crowd, guint at)
{
        char *id = NULL;

        pthread_mutex_lock(&crowd->lock);
        if (crowd->ids->len > 0)
                id = g_strdup(g_ptr_array_index(crowd->ids, at % crowd->ids->len));
        pthread_mutex_unlock(&crowd->lock);
        return id;
}

static bool is_done(Crowd *crowd)
{
        bool done;

        pthread_mutex_lock(&crowd->lock);
        done = crowd->done;
        pthread_mutex_unlock(&crowd->lock);
        return done;
}

static void look(House *house, const char *id, GHashTable *seen)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = engine_find(house->engine, "ann", id, &error);
        g_autoptr(Job) stored = store_job_by_id(house->store, id, NULL);
        g_autofree char *why = NULL;
        EngineMetrics metrics;

        g_assert_no_error(error);
        g_assert_nonnull(stored);
        g_assert_cmpint(stored->revision, >=, job->revision);
        g_assert_cmpint(job->revision, >=, GPOINTER_TO_SIZE(g_hash_table_lookup(seen, id)));
        g_hash_table_insert(seen, g_strdup(id), GSIZE_TO_POINTER((gsize)job->revision));
        why = engine_explain(house->engine, job);
        g_assert_true((why != NULL) == (job->state == JOB_QUEUED));
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.free.cpu_milli, >=, 0);
        g_assert_cmpint(engine_revision(house->engine), >=, job->state == JOB_QUEUED ? 1 : 2);
}

static void count_wake(gint64 revision, void *arg)
{
        gint64 *last = arg;

        g_assert_cmpint(revision, >, *last); /* each publication once, in order */
        *last = revision;
}

static void *reader(void *arg)
{
        Crowd *crowd = arg;
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        gint64 last = 0;

        for (guint i = 0; !is_done(crowd); i += 7) {
                g_autofree char *id = pick(crowd, i);

                if (i % 70 == 0)
                        engine_watch(crowd->house->engine, count_wake, &last);
                if (id)
                        look(crowd->house, id, seen);
                if (i % 70 == 63)
                        engine_unwatch(crowd->house->engine, count_wake, &last);
        }
        engine_unwatch(crowd->house->engine, count_wake, &last);
        return NULL;
}

/* Ends what is started, stops what is stopped. */
static void *player(void *arg)
{
        Crowd *crowd = arg;

        while (!is_done(crowd)) {
                g_autoptr(GPtrArray) lines = script_take(crowd->house->script);

                for (guint i = 0; i < lines->len; i++) {
                        g_auto(GStrv) words = g_strsplit(g_ptr_array_index(lines, i), " ", 3);

                        if (strcmp(words[0], "start") == 0 || strcmp(words[0], "stop") == 0)
                                script_say_exit(crowd->house->script, words[1], 0, 0, false);
                }
                if (lines->len == 0)
                        g_thread_yield();
        }
        return NULL;
}

static void test_crowd(void)
{
        Crowd crowd = { .house = house_new(),
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .ids = g_ptr_array_new_with_free_func(g_free) };
        pthread_t submitters[SUBMITTERS], readers[READERS], plays;

        script_starts_at_once(crowd.house->script, true);
        g_assert_cmpint(pthread_create(&plays, NULL, player, &crowd), ==, 0);
        for (int i = 0; i < READERS; i++)
                g_assert_cmpint(pthread_create(&readers[i], NULL, reader, &crowd), ==, 0);
        for (int i = 0; i < SUBMITTERS; i++)
                g_assert_cmpint(pthread_create(&submitters[i], NULL, submitter, &crowd), ==, 0);
        for (int i = 0; i < SUBMITTERS; i++)
                pthread_join(submitters[i], NULL);
        for (guint i = 0; i < crowd.ids->len; i++) {
                const char *id = g_ptr_array_index(crowd.ids, i);
                g_autoptr(Job) job = house_job(crowd.house, id);

                while (!job_state_is_final(job->state)) {
                        g_clear_pointer(&job, job_unref);
                        house_barrier(crowd.house);
                        job = house_job(crowd.house, id);
                }
        }
        pthread_mutex_lock(&crowd.lock);
        crowd.done = true;
        pthread_mutex_unlock(&crowd.lock);
        for (int i = 0; i < READERS; i++)
                pthread_join(readers[i], NULL);
        pthread_join(plays, NULL);
        g_assert_cmpint(crowd.ids->len, ==, SUBMITTERS * JOBS_EACH);
        g_ptr_array_unref(crowd.ids);
        house_free(crowd.house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/threads/crowd", test_crowd);
        return g_test_run();
}
