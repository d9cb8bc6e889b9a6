/* paddle logs: what the members of a job wrote. */
#include "base/err.h"
#include "base/number.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/password.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool follow;
        GPtrArray *members;
        char *tail;
        gint64 attempt;
        bool raw;
} Logs;

static const Option options[] = {
        { "follow", 'f', OPTION_BOOL, offsetof(Logs, follow), NULL, NULL, "go on until the job ends", 0, 0,
          NULL },
        { "member", 'm', OPTION_LIST, offsetof(Logs, members), "NAME", NULL,
          "only this member: trainer-0, environment", 0, 0, NULL },
        { "tail", 'n', OPTION_STRING, offsetof(Logs, tail), "N", NULL,
          "begin with the last N lines of each member", 0, 0, NULL },
        { "attempt", 0, OPTION_INT, offsetof(Logs, attempt), "N", NULL,
          "begin with this attempt; without it, the newest", 1, 1000000, NULL },
        { "raw", 0, OPTION_BOOL, offsetof(Logs, raw), NULL, NULL,
          "on a terminal, too, every byte as the job wrote it: also what moves the cursor or sets titles", 0,
          0, NULL },
        COMMON_OPTIONS,
        { 0 },
};

/* The id of the user's newest job; the caller's. */
static char *newest_job(Cli *cli, GError **error)
{
        g_autofree char *user = NULL, *escaped = NULL, *path = NULL;
        g_autoptr(json_t) page = NULL;
        const json_t *job;
        bool vouched;

        if (!cli_client(cli, error) || !who_am_i(cli, &user, &vouched, error))
                return NULL;
        escaped = url_escape(user);
        path = g_strdup_printf("/v1/jobs?limit=1&user=%s", escaped);
        if (!http_call_json(cli->client, "GET", path, NULL, &page, error))
                return NULL;
        job = json_array_get(json_object_get(page, "items"), 0);
        if (!job) {
                err_set(error, ERR_NOT_FOUND, "you have no jobs\nSubmit one with `paddle submit`.");
                return NULL;
        }
        cli_say(cli, "job '%s' (%s)", text_of(job, "name"), text_of(job, "id"));
        return g_strdup(text_of(job, "id"));
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Logs *logs = target;
        g_autofree char *newest = NULL;
        FollowOptions follow = { .job = words[0],
                                 .tail = -1,
                                 .attempt = logs->attempt,
                                 .follow = logs->follow,
                                 .raw = logs->raw };
        g_autofree char *members = NULL;

        if (logs->tail && !number_parse("--tail", logs->tail, 0, 100000000, &follow.tail, error))
                return false;
        if (logs->members) {
                g_ptr_array_add(logs->members, NULL);
                members = g_strjoinv(",", (char **)logs->members->pdata);
                follow.members = members;
        }
        if (!words[0]) {
                newest = newest_job(cli, error);
                if (!newest)
                        return false;
                follow.job = newest;
        }
        return follow_job(cli, &follow, NULL, error);
}

const Verb verb_logs = {
        .name = "logs",
        .args = "[JOB]",
        .summary = "Show the log of a job, or of your newest one",
        .about = "Each line has its member in front: `trainer-0 | ...`; the log of one --member comes as it "
                 "is. With -f the command "
                 "waits for a job that is not running yet, saying why it waits, goes on where it was when "
                 "the server restarts, and ends "
                 "with the job. On a terminal colours pass and other control sequences are shown as text; "
                 "into a file or a pipe the log is written unchanged.",
        .options = options,
        .size = sizeof(Logs),
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
