/* paddle delete: deletes ended jobs. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/question.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        gint64 older_ms; /* 0: not given */
        char *state;
        bool yes;
} Delete;

static const Option options[] = {
        { "older-than", 0, OPTION_DURATION, offsetof(Delete, older_ms), "TIME",
          "all of your jobs that ended longer ago than this: 12h, 30d", .min = 1000 },
        { "state", 's', OPTION_STRING, offsetof(Delete, state), "STATES",
          "with --older-than: only these states, separated by commas: failed,cancelled" },
        { "yes", 'y', OPTION_BOOL, offsetof(Delete, yes), NULL,
          "with --older-than: do not ask on a terminal" },
        COMMON_OPTIONS,
        { 0 },
};

static bool forget(Cli *cli, const char *job, GError **error)
{
        g_autofree char *path = job_path(job, "?forget=true");

        return http_call_json(cli->client, "DELETE", path, NULL, NULL, error);
}

/* ---- by name ---- */

static bool delete_one(Cli *cli, const char *job, void *arg, GError **error)
{
        if (!forget(cli, job, error))
                return false;
        cli_say(cli, "job '%s' is deleted", job);
        return true;
}

/* ---- by age ---- */

typedef struct {
        Cli *cli;
        gint64 before;   /* ms since 1970 */
        bool only_count; /* only count them */
        gint64 jobs;     /* deleted, or counted */
} Sweep;

/* Another client may delete the same jobs. */
static bool sweep_one(Sweep *sweep, const json_t *job, GError **error)
{
        gint64 ended = time_of(job, "finished_at");
        g_autoptr(GError) cause = NULL;

        if (!ended || ended >= sweep->before)
                return true;
        if (!sweep->only_count && !forget(sweep->cli, text_of(job, "id"), &cause) &&
            !err_is(cause, ERR_NOT_FOUND)) {
                g_propagate_error(error, g_steal_pointer(&cause));
                return false;
        }
        if (!cause)
                sweep->jobs += MAX(int_of(json_object_get(job, "elements"), "total"), 1);
        return true;
}

/* A page names the start of the next one, whichever of its jobs were deleted. */
static bool sweep_pages(Sweep *sweep, const char *states, GError **error)
{
        g_autofree char *after = NULL, *state = url_escape(states);
        bool more = true;

        while (more) {
                g_autofree char *path = g_strconcat("/v1/jobs?limit=1000&collapse=true&state=", state,
                                                    after ? "&after=" : "", after, NULL);
                g_autoptr(json_t) page = NULL;
                const json_t *job;
                gsize i;

                if (!http_call_json(sweep->cli->client, "GET", path, NULL, &page, error))
                        return false;
                json_array_foreach(json_object_get(page, "items"), i, job)
                        if (!sweep_one(sweep, job, error))
                                return false;
                more = is_set(page, "next");
                g_free(after);
                after = more ? url_escape(text_of(page, "next")) : NULL;
        }
        return true;
}

/* Shows the number of jobs before it deletes them. */
static bool is_agreed(const Sweep *about, const char *states, bool *ret, GError **error)
{
        Sweep count = { .cli = about->cli, .before = about->before, .only_count = true };
        g_autofree char *jobs = NULL, *question = NULL;

        if (!sweep_pages(&count, states, error))
                return false;
        jobs = count_format(count.jobs, "job");
        question = g_strdup_printf("delete %s, with events and logs? [y/N] ", jobs);
        *ret = count.jobs == 0 || question_agreed(question, false);
        return true;
}

static bool delete_old(Cli *cli, const Delete *about, GError **error)
{
        Sweep sweep = { .cli = cli, .before = clock_now_ms() - about->older_ms };
        const char *states = about->state ? about->state : "succeeded,failed,cancelled,preempted";
        g_autofree char *jobs = NULL;
        bool agreed = true, whole;

        if (!about->yes && question_is_possible(cli) && !is_agreed(&sweep, states, &agreed, error))
                return false;
        if (!agreed)
                return err_set(error, ERR_FAILED, "no job is deleted: you did not answer 'y'");
        whole = sweep_pages(&sweep, states, error);
        jobs = count_format(sweep.jobs, "job");
        cli_say(cli, "%s %s deleted", jobs, sweep.jobs == 1 ? "is" : "are");
        return whole;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Delete *about = target;

        if (!*words == !about->older_ms)
                return err_set(error, ERR_USAGE,
                               *words ? "delete takes jobs or --older-than, not both"
                                      : "delete needs jobs, or --older-than TIME for all that ended before");
        if (*words && (about->state || about->yes))
                return err_set(error, ERR_USAGE, "%s goes with --older-than",
                               about->state ? "--state" : "--yes");
        return cli_client(cli, error) &&
               (*words ? cli_each(cli, words, g_strv_length((char **)words), delete_one, NULL, error)
                       : delete_old(cli, about, error));
}

const Verb verb_delete = {
        .name = "delete",
        .args = "[JOB...]",
        .summary = "Delete jobs that have ended, with their events and logs",
        .about = "An open job is not deleted; `paddle cancel` ends it. Files that the job wrote to the "
                 "storage are kept. The next garbage collection deletes its work directories and logs. On a "
                 "terminal, --older-than shows the number of jobs and asks; --yes does not ask.",
        .examples = "paddle delete digits\tthe newest job of this name\n"
                    "paddle delete --older-than 30d\tall of yours that ended more than 30 days ago\n"
                    "paddle delete --older-than 1h --state failed,cancelled",
        .options = options,
        .size = sizeof(Delete),
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run,
};
