/* paddle cancel: stops jobs in any open state. */
#include "base/err.h"
#include "cli/listing.h"
#include "cli/verbs.h"

static const Option options[] = {
        COMMON_OPTIONS,
        { 0 },
};

static bool cancel(Cli *cli, const char *job, GError **error)
{
        g_autofree char *path = job_path(job, "");
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(cli->client, "DELETE", path, NULL, &reply, error))
                return false;
        cli_say(cli, "%s (%s) is %s", text_of(reply, "name"), text_of(reply, "id"), text_of(reply, "state"));
        return true;
}

/* One that cannot be cancelled does not save the others; the first failure is the outcome. Without a server
 * there are no others. */
static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autoptr(GError) first = NULL;

        if (!cli_client(cli, error))
                return false;
        for (; *words; words++) {
                g_autoptr(GError) cause = NULL;

                if (cancel(cli, *words, &cause))
                        continue;
                if (first)
                        cli_print_error(cli, cause);
                else
                        first = g_steal_pointer(&cause);
                if (err_is(first, ERR_UNREACHABLE))
                        break;
        }
        if (!first)
                return true;
        g_propagate_error(error, g_steal_pointer(&first));
        return false;
}

const Verb verb_cancel = {
        .name = "cancel",
        .args = "JOB...",
        .summary = "Cancel jobs",
        .about = "A job that waits is cancelled at once. The processes of a running one get TERM, and KILL "
                 "after the job's grace time; "
                 "until they have ended its state is 'stopping'. `paddle wait JOB` waits for that.",
        .options = options,
        .size = sizeof(Common),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run,
};
