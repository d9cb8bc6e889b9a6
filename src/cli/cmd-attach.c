/* paddle attach: connects this terminal to that of a running job. */
#include "base/err.h"
#include "cli/attach.h"
#include "cli/listing.h"
#include "cli/summary.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
} Attach;

static const Option options[] = { COMMON_OPTIONS, { 0 } };

static bool check_job(const json_t *job, GError **error)
{
        const char *name = text_of(job, "name"), *reason = text_of(job, "reason");

        if (!json_is_true(json_object_get(json_object_get(job, "spec"), "tty")))
                return err_set(
                        error, ERR_CONFLICT,
                        job_is_final(job)
                                ? "job '%s' has no terminal, and it has ended\n`paddle logs %s` shows "
                                  "its output."
                                : "job '%s' has no terminal\n`paddle logs -f %s` shows its output; while "
                                  "it runs `paddle exec -it %s -- sh` is a shell beside it.",
                        name, name, name);
        if (job_is_final(job))
                return err_set(error, ERR_CONFLICT,
                               "job '%s' has ended: %s%s%s\n`paddle logs %s` shows its output.", name,
                               text_of(job, "state"), *reason ? ", " : "", reason, name);
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autofree char *path = job_path(words[0], "");
        g_autoptr(json_t) job = NULL;

        if (!cli_client(cli, error) || !http_call_json(cli->client, "GET", path, NULL, &job, error) ||
            !check_job(job, error) ||
            !attach_check_terminal("attach", "`paddle logs -f` shows the output without one.", error))
                return false;
        return attach_run(cli, text_of(job, "id"), text_of(job, "name"), error);
}

const Verb verb_attach = {
        .name = "attach",
        .args = "JOB",
        .summary = "Connect this terminal to that of a running job",
        .about = "For jobs of `paddle shell`. It shows the last screenful first. Ctrl-P Ctrl-Q detaches; the "
                 "job keeps running. Several terminals may be connected at the same time: all see the same "
                 "output, and all can type. The exit status is the program's.",
        .examples = "paddle attach lab\tthe terminal of the job `lab`",
        .options = options,
        .size = sizeof(Attach),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
