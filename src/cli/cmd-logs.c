/* paddle logs: the output of a job's members. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/follow-array.h"
#include "cli/listing.h"
#include "cli/password.h"
#include "cli/summary.h"
#include "cli/verbs.h"
#include "cli/when.h"

typedef struct {
        Common common;
        bool follow;
        GPtrArray *members;
        char *tail, *since, *attempt;
        bool timestamps, raw;
} Logs;

static const Option options[] = {
        { "follow", 'f', OPTION_BOOL, offsetof(Logs, follow), NULL, "go on until the job ends" },
        { "member", 'm', OPTION_LIST, offsetof(Logs, members), "NAME",
          "only this member: trainer-0, environment" },
        { "tail", 'n', OPTION_STRING, offsetof(Logs, tail), "N",
          "begin with the last N lines of each member" },
        { "since", 0, OPTION_STRING, offsetof(Logs, since), "TIME",
          "only lines written since then: 10m (ago), 14:30, 2026-03-01T10:00 (local; with Z for UTC)" },
        { "attempt", 0, OPTION_STRING, offsetof(Logs, attempt), "N",
          "only this attempt, or `all`; without it, the newest, and with -f also later ones" },
        { "timestamps", 0, OPTION_BOOL, offsetof(Logs, timestamps), NULL,
          "show the time of each line: in your time zone on a terminal, otherwise RFC 3339 in UTC" },
        { "raw", 0, OPTION_BOOL, offsetof(Logs, raw), NULL,
          "unfiltered output: all states of redrawn lines and, on a terminal, all control sequences; with "
          "one --member and without -f every byte" },
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
        path = g_strdup_printf("/v1/jobs?limit=1&collapse=true&user=%s", escaped);
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

/* ---- one member's bytes ---- */

static bool put(const char *data, gsize len, void *arg, GError **error)
{
        return fwrite(data, 1, len, stdout) == len || err_set_errno(error, errno, "cannot print the log");
}

/* The stream of all members is text; binary output needs the route of a single member. */
static bool is_for_bytes(const FollowOptions *follow)
{
        return follow->raw && follow->members && !strchr(follow->members, ',') && !follow->follow &&
               !follow->whole && !follow->since && !follow->timestamps;
}

static bool copy_log(Cli *cli, const FollowOptions *follow, GError **error)
{
        g_autofree char *member = url_escape(follow->members);
        g_autofree char *suffix =
                g_strdup_printf("/logs/%s?attempt=%" G_GINT64_FORMAT, member, follow->attempt);
        g_autofree char *path = job_path(follow->job, suffix);
        g_autofree char *tail =
                follow->tail >= 0 ? g_strdup_printf("%s&tail=%" G_GINT64_FORMAT, path, follow->tail) : NULL;
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "GET", .path = tail ? tail : path, .receive = put };

        if (!http_call(cli->client, &call, &reply, error))
                return false;
        return reply.status / 100 == 2 || http_reply_error(&reply, error);
}

/* ---- the verb ---- */

/* Why there was no output. */
static const char *silence_of(const json_t *job, const FollowOptions *follow)
{
        const char *environment = text_of(job, "environment");
        bool asks_for_build = g_strcmp0(follow->members, "environment") == 0;

        if (asks_for_build && strcmp(environment, "none") == 0)
                return "has no environment: it asks for no packages";
        if (asks_for_build && strcmp(environment, "waiting") == 0)
                return "waits for its environment to be built, which has no log yet";
        if (json_array_size(json_object_get(job, "members")) == 0)
                return job_is_final(job) ? "never started, so it has no log"
                                         : "has not started, so it has no log yet";
        if (follow->since)
                return "wrote nothing in this time";
        return job_is_final(job) ? "wrote nothing" : "has written nothing yet";
}

static bool follow_one(Cli *cli, const json_t *job, const FollowOptions *about, GError **error)
{
        FollowOptions follow = *about;
        bool heard = false;

        follow.heard = &heard;
        if (!follow_job(cli, &follow, NULL, error))
                return false;
        if (!heard && follow.tail != 0)
                cli_say(cli, "job '%s' %s", text_of(job, "name"),
                        follow.follow ? "wrote nothing" : silence_of(job, &follow));
        return true;
}

static bool show(Cli *cli, const FollowOptions *follow, GError **error)
{
        g_autofree char *path = job_path(follow->job, "");
        g_autoptr(json_t) job = NULL;

        if (!cli_client(cli, error) || !http_call_json(cli->client, "GET", path, NULL, &job, error))
                return false;
        if (is_array(job))
                return follow_array(cli, job, follow, error);
        return is_for_bytes(follow) ? copy_log(cli, follow, error) : follow_one(cli, job, follow, error);
}

static bool parse_attempt(const char *text, FollowOptions *follow, GError **error)
{
        follow->whole = g_strcmp0(text, "all") == 0;
        return !text || follow->whole || number_parse("--attempt", text, 1, 1000000, &follow->attempt, error);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Logs *logs = target;
        g_autofree char *newest = NULL;
        FollowOptions follow = { .job = words[0],
                                 .tail = -1,
                                 .follow = logs->follow,
                                 .timestamps = logs->timestamps,
                                 .raw = logs->raw };
        g_autofree char *members = NULL, *since = NULL;

        if (logs->tail && !number_parse("--tail", logs->tail, 0, 100000000, &follow.tail, error))
                return false;
        if (!parse_attempt(logs->attempt, &follow, error))
                return false;
        if (logs->since && !(since = since_parse("--since", logs->since, clock_now_ms(), error)))
                return false;
        follow.since = since;
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
        return show(cli, &follow, error);
}

const Verb verb_logs = {
        .name = "logs",
        .args = "[JOB]",
        .summary = "Show the log of a job, or of your newest one",
        .about = "Each line starts with the member's name: `trainer-0 | ...`; with one --member it does not. "
                 "Lines are shown in the order in which they were written, attempt by attempt, each after a "
                 "line `-- attempt 2 --`. A line that was redrawn, such as a progress bar, is shown in its "
                 "last state and marked: `trainer-0 ~ 100%`; on a terminal, -f shows it while it "
                 "changes.\n\nWith -f the command waits for a job that is not running yet and shows the "
                 "reason, resumes after a restart of the server, and ends with the job. On a terminal, "
                 "colours are kept and other control sequences are shown as text; in a file or a pipe they "
                 "are unchanged.\n\nLines of a whole array also start with the element: `sw[3] trainer-0 | "
                 "...`; with -f up to 32 elements are followed at the same time.",
        .options = options,
        .size = sizeof(Logs),
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
