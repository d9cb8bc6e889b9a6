/* How much a user may submit: open jobs, jobs of a queue, and jobs a minute (see submit.h). */
#include "engine/submit.h"

#include "base/err.h"
#include "base/word.h"

enum {
        MAX_OPEN_JOBS = 1000000,
        MAX_JOBS = 10000, /* of one submission */
};

void submit_init(Engine *engine)
{
        user_rates_init(&engine->submit_rates, engine->config.submit_rate);
}

void submit_clear(Engine *engine)
{
        user_rates_clear(&engine->submit_rates);
}

bool submit_take_rate(Engine *engine, const char *user, gint64 jobs, bool only_check, GError **error)
{
        UserRateLack lack = { 0 };
        g_autofree char *limit = NULL;

        if (user_rates_take(&engine->submit_rates, user, jobs, engine->batch.now, only_check, &lack))
                return true;
        limit = count_format(engine->config.submit_rate, "job");
        err_set(error, ERR_QUOTA,
                "'%s' may submit %s in a minute, and asks for %" G_GINT64_FORMAT
                " more than that\nTry again in %" G_GINT64_FORMAT " s.",
                user, limit, lack.lack, lack.wait_s);
        if (jobs <= engine->config.submit_rate) /* else it never passes */
                err_add_wait(error, lack.wait_s);
        return false;
}

bool submit_check_rate(Submission *submission)
{
        Submit *submit = submission->submit;

        return submit->admin || submit_take_rate(submission->engine, submit->user, submission->n_jobs,
                                                 submit->only_check, &submit->command.error);
}

/* One user leaves room for the others. */
static bool check_user_count(Submission *submission, guint all)
{
        const Engine *engine = submission->engine;
        const Submit *submit = submission->submit;
        gint64 max = engine->config.max_open_per_user > 0 ? engine->config.max_open_per_user
                                                          : (gint64)MAX(all / 4, 1);
        g_autofree char *has = NULL;
        gint64 open;

        if (submit->admin || g_hash_table_size(engine->by_id) + submission->n_jobs <= max)
                return true;
        open = live_open_of(submission->engine, submit->user);
        if (open + submission->n_jobs <= max)
                return true;
        has = count_format(open, "open job");
        return err_set(&submission->submit->command.error, ERR_QUOTA,
                       "'%s' has %s, and this would be %" G_GINT64_FORMAT
                       " more: one user may have %" G_GINT64_FORMAT
                       " (paddled --max-open-jobs-per-user)\nTry again when some have ended.",
                       submit->user, has, submission->n_jobs, max);
}

static bool check_count(Submission *submission)
{
        Engine *engine = submission->engine;
        guint max = engine->config.max_open_jobs > 0 ? (guint)engine->config.max_open_jobs : MAX_OPEN_JOBS;
        g_autofree char *open = NULL;

        if (submission->n_jobs > MAX_JOBS)
                return err_set(&submission->submit->command.error, ERR_INVALID,
                               "%" G_GINT64_FORMAT " jobs in one submission: at most %d", submission->n_jobs,
                               MAX_JOBS);
        if (!engine_may_write(engine, submission->submit->user, &submission->submit->command.error))
                return false;
        if (g_hash_table_size(engine->by_id) + submission->n_jobs <= max)
                return check_user_count(submission, max);
        open = count_format(g_hash_table_size(engine->by_id), "job");
        return err_set(
                &submission->submit->command.error, ERR_QUOTA,
                "the server has %s that %s not ended; its limit is %u\nTry again when some have ended.", open,
                g_hash_table_size(engine->by_id) == 1 ? "has" : "have", max);
}

/* The limits of each queue, over all entries that go to it. */
static bool check_queue_counts(Submission *submission)
{
        g_autoptr(GHashTable) counts = NULL; /* Queue * -> jobs, of the queues with a limit */
        GHashTableIter at;
        gpointer queue, n;

        for (guint i = 0; i < submission->entries->len; i++) {
                const Entry *entry = g_ptr_array_index(submission->entries, i);

                if (entry->queue->max_open_per_user <= 0)
                        continue;
                if (!counts)
                        counts = g_hash_table_new(NULL, NULL);
                n = g_hash_table_lookup(counts, entry->queue);
                g_hash_table_insert(counts, (gpointer)entry->queue,
                                    GINT_TO_POINTER(GPOINTER_TO_INT(n) + submit_entry_jobs(entry)));
        }
        if (!counts)
                return true;
        g_hash_table_iter_init(&at, counts);
        while (g_hash_table_iter_next(&at, &queue, &n))
                if (!check_queue_count(submission->engine, queue, submission->submit->user,
                                       GPOINTER_TO_INT(n), &submission->submit->command.error))
                        return false;
        return true;
}

bool submit_check_counts(Submission *submission)
{
        return check_count(submission) && check_queue_counts(submission);
}
