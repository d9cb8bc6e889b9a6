/* paddle cancel: stops jobs in any open state. */
#include "base/err.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool force;
} Cancel;

static const Option options[] = {
        { "force", 'f', OPTION_BOOL, offsetof(Cancel, force), NULL,
          "kill running processes at once, without the job's grace time" },
        COMMON_OPTIONS,
        { 0 },
};

/* With POST, which is not retried if its answer is lost: a second cancel does more than the first. */
static bool cancel(Cli *cli, const char *job, void *arg, GError **error)
{
        const Cancel *about = arg;
        g_autofree char *path = job_path(job, "/cancel");
        g_autoptr(json_t) body = json_pack("{s:b}", "force", about->force);
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(cli->client, "POST", path, body, &reply, error))
                return false;
        cli_say(cli, "%s (%s) is %s", text_of(reply, "name"), text_of(reply, "id"), text_of(reply, "state"));
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), cancel, (void *)target, error);
}

const Verb verb_cancel = {
        .name = "cancel",
        .args = "JOB...",
        .summary = "Cancel jobs",
        .about = "A waiting job is cancelled at once. The processes of a running job get TERM, and KILL "
                 "after the job's grace time; until they have ended, its state is 'stopping'. `paddle wait "
                 "JOB` waits for that. A second cancel ends the grace time and kills the remaining "
                 "processes; --force does so at once. The same applies to a job that is being evicted.",
        .options = options,
        .size = sizeof(Cancel),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run,
};
