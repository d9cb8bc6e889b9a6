/* paddle wait: waits until jobs have ended. */
#include "base/clock.h"
#include "base/err.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/summary.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *format;
        gint64 timeout_ms; /* 0: not given */
} Wait;

static const Option options[] = {
        { "timeout", 0, OPTION_DURATION, offsetof(Wait, timeout_ms), "TIME",
          "time limit for all of them; then it exits with 1, and the jobs continue" },
        FORMAT_OPTION(offsetof(Wait, format)),
        COMMON_OPTIONS,
        { 0 },
};

static bool wait_one(Cli *cli, const char *name, Format format, gint64 deadline, GError **error)
{
        g_autoptr(json_t) job = NULL;
        g_autofree char *line = NULL;

        if (!wait_for_job_until(cli, name, deadline, &job, error))
                return false;
        if (!job_succeeded(job))
                cli->status = 1;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE) {
                format_print(job, format, "name");
                return true;
        }
        line = summary_line(job, cli->terminal.out_colour);
        puts(line);
        fflush(stdout); /* the next one may take long */
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Wait *wait = target;
        gint64 deadline = wait->timeout_ms > 0 ? clock_monotonic_ms() + wait->timeout_ms : 0;
        Format format;

        if (!format_parse(cli, wait->format, &format, error) || !cli_client(cli, error))
                return false;
        for (; *words; words++)
                if (!wait_one(cli, *words, format, deadline, error))
                        return false;
        return true;
}

const Verb verb_wait = {
        .name = "wait",
        .args = "JOB...",
        .summary = "Wait until jobs have ended; exits with 0 only if every job succeeded",
        .options = options,
        .size = sizeof(Wait),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run,
};
