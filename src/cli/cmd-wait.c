/* paddle wait: until a job has ended. */
#include "base/err.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/summary.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *format;
} Wait;

static const Option options[] = {
        FORMAT_OPTION(offsetof(Wait, format)),
        COMMON_OPTIONS,
        { 0 },
};

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Wait *wait = target;
        g_autoptr(json_t) job = NULL;
        g_autofree char *line = NULL;
        Format format;

        if (!format_parse(wait->format, &format, error) || !cli_client(cli, error) ||
            !wait_for_job(cli, words[0], &job, error))
                return false;
        cli->status = job_succeeded(job) ? 0 : 1;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE) {
                format_print(job, format, "name");
                return true;
        }
        line = summary_line(job, cli->terminal.out_colour);
        puts(line);
        return true;
}

const Verb verb_wait = {
        .name = "wait",
        .args = "JOB",
        .summary = "Wait until a job has ended; its success is the exit status",
        .options = options,
        .size = sizeof(Wait),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
