/* paddle down: stops the embedded server. */
#include <string.h>

#include "base/err.h"
#include "base/word.h"
#include "cli/discover.h"
#include "cli/embedded.h"
#include "cli/listing.h"
#include "cli/verbs.h"

static const Option options[] = {
        COMMON_OPTIONS,
        { 0 },
};

/* Numbers of running jobs and schedules of the server; -1: unknown. */
typedef struct {
        gint64 jobs, schedules;
} Work;

static Work look_at_work(void)
{
        g_autofree char *url = embedded_url();
        g_autoptr(HttpClient) client = http_client_new(url, NULL, NULL);
        g_autoptr(json_t) info = NULL;

        if (!client || !http_call_json(client, "GET", "/v1/info", NULL, &info, NULL))
                return (Work){ -1, -1 };
        return (Work){ int_of(json_object_get(info, "jobs"), "running"),
                       int_of(json_object_get(info, "schedules"), "running") };
}

/* A user who has named another server does not mean the one of this machine. An unreadable configuration names none. */
static bool check_is_embedded(const Cli *cli, GError **error)
{
        g_autoptr(Discovery) found = discover(cli->common->server, NULL, DISCOVER_ONLY, NULL);
        g_autofree char *own = embedded_url();

        if (!found || strcmp(found->url, own) == 0)
                return true;
        return err_set(error, ERR_USAGE,
                       "%s%s names '%s', a server that `paddle` did not start: it was not stopped\n"
                       "`paddle down --server %s` stops the embedded server of this machine.",
                       strcmp(found->source, "configuration") == 0 ? "the " : "", found->source, found->url,
                       own);
}

static void say_what_goes_on(const Cli *cli, const Work *work)
{
        if (work->jobs != 0)
                cli_say(cli, work->jobs == 1
                                     ? "1 job keeps running; the next `paddle up` finds it again"
                                     : "its jobs keep running; the next `paddle up` finds them again");
        if (work->schedules > 0) {
                g_autofree char *count = count_format(work->schedules, "schedule");

                cli_say(cli, "%s will not begin runs until the server is up again: `paddle up`", count);
        }
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        pid_t pid = 0;
        Work work = { 0 };

        if (!check_is_embedded(cli, error))
                return false;
        if (embedded_pid() > 0)
                work = look_at_work();
        if (!embedded_stop(&pid, error))
                return false;
        if (pid == 0) {
                cli_say(cli, "the embedded server was not up");
                return true;
        }
        cli_say(cli, "the embedded server (process %d) has stopped", (int)pid);
        say_what_goes_on(cli, &work);
        return true;
}

const Verb verb_down = {
        .name = "down",
        .args = "",
        .summary = "Stop the embedded server; its jobs keep running",
        .about =
                "The server gets TERM and the command waits for its end. Jobs keep running, and the next "
                "server takes them over. paddle-agent, which keeps them, ends 30 s after the last one; until then it uses PADDLE_HOME. Schedules begin no runs until the server is up again. `paddle cancel` stops a job. If --server, PADDLE_SERVER or the "
                "configuration names another server, nothing is stopped.",
        .options = options,
        .size = sizeof(Common),
        .run = run,
};
