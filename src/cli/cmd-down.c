/* paddle down: stops the embedded server. */
#include "base/err.h"
#include "cli/embedded.h"
#include "cli/listing.h"
#include "cli/verbs.h"

static const Option options[] = {
        COMMON_OPTIONS,
        { 0 },
};

/* The number of running jobs; -1: unknown. */
static int running_jobs(void)
{
        g_autofree char *url = embedded_url();
        g_autoptr(HttpClient) client = http_client_new(url, NULL, NULL);
        g_autoptr(json_t) info = NULL;

        if (!client || !http_call_json(client, "GET", "/v1/info", NULL, &info, NULL))
                return -1;
        return (int)int_of(json_object_get(info, "jobs"), "running");
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        int running = embedded_pid() > 0 ? running_jobs() : 0;
        pid_t pid = 0;

        if (cli->common->server)
                return err_set(error, ERR_USAGE,
                               "--server='%s' names a server, and 'down' stops the embedded one",
                               cli->common->server);
        if (!embedded_stop(&pid, error))
                return false;
        if (pid == 0) {
                cli_say(cli, "the embedded server was not up");
                return true;
        }
        cli_say(cli, "the embedded server (process %d) has stopped", (int)pid);
        if (running != 0)
                cli_say(cli, running == 1 ? "1 job keeps running; the next `paddle up` finds it again"
                                          : "its jobs keep running; the next `paddle up` finds them again");
        return true;
}

const Verb verb_down = {
        .name = "down",
        .args = "",
        .summary = "Stop the embedded server; its jobs keep running",
        .about = "The server gets TERM and the command waits for its end. Jobs keep running, and the next "
                 "server takes them over. `paddle cancel` stops a job.",
        .options = options,
        .size = sizeof(Common),
        .run = run,
};
