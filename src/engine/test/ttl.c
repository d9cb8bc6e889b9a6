/* How long what ended jobs leave is kept, as in doc/reference/scheduling.md, "How long objects are kept". */
#include "engine/ttl.h"

enum { END = 1000000 };

static const struct {
        const char *name;
        JobState state;
        const char *annotation; /* or NULL */
        bool keep, keep_failed;
        int attempt; /* that is asked about; the job's is 2 */
        gint64 expires;
} rows[] = {
        { "succeeded", JOB_SUCCEEDED, NULL, false, false, 2, END + 600000 },
        { "failed", JOB_FAILED, NULL, false, false, 2, END + 3600000 },
        { "cancelled", JOB_CANCELLED, NULL, false, false, 2, END + 3600000 },
        { "preempted", JOB_PREEMPTED, NULL, false, false, 2, END + 3600000 },
        { "says so itself", JOB_SUCCEEDED, "5", false, false, 2, END + 5000 },
        { "failed, and says so itself", JOB_FAILED, "5", false, true, 2, END + 5000 },
        { "at once", JOB_FAILED, "0", false, false, 2, END },
        { "no number", JOB_SUCCEEDED, "soon", false, false, 2, END + 600000 },
        { "negative", JOB_SUCCEEDED, "-1", false, false, 2, END + 600000 },
        { "beyond any time", JOB_SUCCEEDED, "9223372036854775807", false, false, 2, END + 600000 },
        { "failed ones stay", JOB_FAILED, NULL, false, true, 2, TTL_NEVER },
        { "of failed ones alone", JOB_SUCCEEDED, NULL, false, true, 2, END + 600000 },
        { "all stay", JOB_SUCCEEDED, "5", true, false, 2, TTL_NEVER },
        { "an attempt before", JOB_SUCCEEDED, NULL, true, false, 1, 0 },
        { "goes on", JOB_QUEUED, "5", true, false, 2, 0 },
};

static void test_expires(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *pair = g_strdup_printf(TTL_ANNOTATION "=%s", rows[i].annotation);
                char *annotations[] = { rows[i].annotation ? pair : NULL, NULL };
                Job job = {
                        .state = rows[i].state, .attempt = 2, .finished = END, .annotations = annotations
                };
                Ttl ttl = { .succeeded_ms = 600000,
                            .failed_ms = 3600000,
                            .keep = rows[i].keep,
                            .keep_failed = rows[i].keep_failed };

                g_test_message("%s", rows[i].name);
                g_assert_cmpint(ttl_expires(&ttl, &job, rows[i].attempt), ==, rows[i].expires);
        }
        g_assert_cmpint(ttl_expires(&(Ttl){ .keep = true }, NULL, 1), ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ttl/expires", test_expires);
        return g_test_run();
}
