/* paddle explain: why a job waits, and what it waits for. */
#include "base/clock.h"
#include "base/err.h"
#include "cli/listing.h"
#include "cli/reasons.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *format;
} Explain;

static const Option options[] = {
        FORMAT_OPTION(offsetof(Explain, format)),
        COMMON_OPTIONS,
        { 0 },
};

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Explain *explain = target;
        g_autofree char *path = job_path(words[0], "/explain"), *job_at = NULL, *text = NULL;
        g_autoptr(json_t) answer = NULL, job = NULL;
        Format format;
        bool waits;

        if (!format_parse(cli, explain->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &answer, error))
                return false;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE) {
                format_print(answer, format, "cause");
                return true;
        }
        /* for an array: the waiting job, or the array if none waits */
        waits = json_array_size(json_object_get(answer, "reasons")) > 0;
        job_at = job_path(waits ? text_of(answer, "job") : words[0], "");
        if (!http_call_json(cli->client, "GET", job_at, NULL, &job, error))
                return false;
        if (!waits)
                json_object_set(answer, "state", json_object_get(job, "state"));
        text = explain_text(job, answer, clock_now_ms(), &cli->terminal);
        fputs(text, stdout);
        return true;
}

const Verb verb_explain = {
        .name = "explain",
        .args = "JOB",
        .summary = "Say why a job waits, with figures, and when it may start",
        .about = "The first reason blocks the job now; the others would block it next. Each shows the "
                 "request, the free amount, the part of the queue's share that is lent and to which queue, "
                 "and the job that has to end first. The answer is computed now, on a copy of the scheduler. "
                 "For an array it is about its first waiting job.\n\nThe expected start is known if every "
                 "running job that blocks it has a time limit.",
        .examples = "paddle explain digits\n"
                    "paddle explain digits -o json\tthe figures, for programs\n"
                    "paddle submit --dry-run -n 4 --gpus 2 -- true\tthe same before a job is submitted",
        .options = options,
        .size = sizeof(Explain),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
