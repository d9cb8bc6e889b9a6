/* paddle list: jobs, newest first, page by page. Without options: the open jobs, then those that ended last,
 * since a user may have thousands. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/follow-array.h"
#include "cli/hint.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/summary.h"
#include "cli/verbs.h"
#include "model/job.h"
#include "net/url.h"

typedef struct {
        Common common;
        bool all, elements, all_states;
        char *state, *user, *name, *queue, *array, *format;
        GPtrArray *labels;
        gint64 limit;
} List;

enum { RECENT = 20, COUNT_MAX = 1000 };

static const Option options[] = {
        { "all", 'a', OPTION_BOOL, offsetof(List, all), NULL, "jobs of all users (administrators)" },
        { "all-states", 'A', OPTION_BOOL, offsetof(List, all_states), NULL,
          "open jobs and all that have ended; without it, the 20 newest ended jobs" },
        { "state", 's', OPTION_STRING, offsetof(List, state), "STATES",
          "only these states, separated by commas: queued,running" },
        { "user", 'u', OPTION_STRING, offsetof(List, user), "NAME", "jobs of this user (administrators)" },
        { "name", 0, OPTION_STRING, offsetof(List, name), "NAME", "only jobs of this name" },
        { "queue", 'q', OPTION_STRING, offsetof(List, queue), "NAME", "only jobs of this queue" },
        { "label", 0, OPTION_LIST, offsetof(List, labels), "K=V", "only jobs with this label" },
        { "array", 0, OPTION_STRING, offsetof(List, array), "ARRAY", "only the jobs of this array" },
        { "elements", 'e', OPTION_BOOL, offsetof(List, elements), NULL,
          "one row for each job of an array; without it, an array is one row" },
        { "limit", 'l', OPTION_INT, offsetof(List, limit), "N", "the N newest jobs, whatever their state",
          .min = 1, .max = 100000000 },
        FORMAT_OPTION(offsetof(List, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* "sw[3]" for a job of an array. */
static char *cell_name(const json_t *job, const Terminal *terminal)
{
        return element_text(job);
}

/* "3 of a4k2m...": its index, and the id of the array. */
static char *cell_array(const json_t *job, const Terminal *terminal)
{
        const json_t *array = json_object_get(job, "array");

        if (is_array(job))
                return g_strdup(text_of(array, "indices"));
        return json_is_object(array)
                       ? g_strdup_printf("%d of %s", (int)int_of(array, "index"), text_of(array, "id"))
                       : NULL;
}

/* "trainer 4/4, pserver 2/2": running or finished members, of all. */
static char *cell_members(const json_t *job, const Terminal *terminal)
{
        g_autoptr(GString) out = g_string_new(NULL);
        gsize i;
        json_t *role;

        if (is_array(job))
                return summary_elements(job);
        json_array_foreach(json_object_get(job, "roles"), i, role)
                if (int_of(role, "replicas") > 0)
                        g_string_append_printf(out, "%s%s %d/%d", out->len ? ", " : "", text_of(role, "name"),
                                               (int)(int_of(role, "running") + int_of(role, "succeeded")),
                                               (int)int_of(role, "replicas"));
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *cell_age(const json_t *job, const Terminal *terminal)
{
        gint64 from = time_of(job, "submitted_at");

        return from ? duration_format(clock_now_ms() - from) : NULL;
}

static char *cell_ran(const json_t *job, const Terminal *terminal)
{
        gint64 ms = int_of(json_object_get(job, "stages"), "running_ms");

        return ms > 0 ? duration_format(ms) : NULL;
}

/* Without the hint: a list is too narrow for commands. */
static char *cell_reason(const json_t *job, const Terminal *terminal)
{
        return hint_drop(text_of(job, "reason"));
}

static char *cell_submitted(const json_t *job, const Terminal *terminal)
{
        return local_time_text(job, "submitted_at");
}

static const Column columns[] = {
        { "NAME", .cell = cell_name, .fit = { .min = 20, .middle = true } },
        { "ID", .member = "id", .fit = { 4, TABLE_WHOLE } },
        { "USER", true, .member = "user" },
        { "FRAMEWORK", true, .member = "framework" },
        { "QUEUE", true, .member = "queue" },
        { ">PRIORITY", true, .member = "priority" },
        { "LABELS", true, .member = "labels" },
        { "ARRAY", true, cell_array },
        { "STATE", .member = "state", .paint = state_paint },
        { "MEMBERS", .cell = cell_members, .fit = { 2 } },
        { ">ATTEMPT", true, .member = "attempt" },
        { ">RAN", .cell = cell_ran, .fit = { 5 } },
        { ">AGE", .cell = cell_age, .fit = { 3 } },
        { "SUBMITTED", true, cell_submitted },
        { "REASON", .cell = cell_reason, .fit = { 1, 24, .wish = 60 } },
        { 0 },
};

/* `states` NULL: all. */
static char *list_path(const List *list, const char *states)
{
        g_autoptr(GString) path = g_string_new("/v1/jobs");

        url_add_query(path, "user", list->user);
        url_add_query(path, "name", list->name);
        url_add_query(path, "state", states);
        url_add_query(path, "queue", list->queue);
        url_add_query(path, "array", list->array);
        for (guint i = 0; list->labels && i < list->labels->len; i++)
                url_add_query(path, "label", list->labels->pdata[i]);
        url_add_query(path, "all", list->all ? "true" : NULL);
        url_add_query(path, "collapse", list->elements || list->array ? NULL : "true");
        return g_string_free(g_steal_pointer(&path), FALSE);
}

static bool check_labels(const List *list, GError **error)
{
        for (guint i = 0; list->labels && i < list->labels->len; i++) {
                const char *equals = strchr(list->labels->pdata[i], '=');

                if (!equals || equals == list->labels->pdata[i])
                        return err_set(error, ERR_USAGE, "--label: '%s' is not KEY=VALUE",
                                       (const char *)list->labels->pdata[i]);
        }
        return true;
}

static bool is_narrowed(const List *list)
{
        return list->user || list->name || list->state || list->queue || list->array || list->labels;
}

/* If nothing matches, checks whether the name exists. */
static bool check_name(Cli *cli, const char *path, const char *name, GError **error)
{
        g_autofree char *escaped = name ? url_escape(name) : NULL;
        g_autofree char *whole = name ? g_strconcat(path, escaped, NULL) : NULL;

        return !name || http_call_json(cli->client, "GET", whole, NULL, NULL, error);
}

/* True without any option that selects jobs. */
static bool shows_recent(const List *list)
{
        return !list->all_states && !list->state && !list->name && !list->array && !list->limit;
}

/* "queued,running,...": the final states, or the others. */
static char *states_text(bool final)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (int state = 0; state < JOB_STATES; state++)
                if (job_state_is_final((JobState)state) == final)
                        g_string_append_printf(text, "%s%s", text->len ? "," : "",
                                               job_state_name((JobState)state));
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool fetch_recent(Cli *cli, const List *list, Listing *listing, ListingCount *ret, GError **error)
{
        g_autofree char *open = states_text(false), *ended = states_text(true);
        g_autofree char *first = list_path(list, open), *path = list_path(list, ended);
        g_autofree char *second = g_strdup_printf("%s&count=%d", path, COUNT_MAX);
        ListingCount count;

        if (!listing_fetch(listing, cli->client, first, 0, &count, error) ||
            !listing_fetch(listing, cli->client, second, RECENT, ret, error))
                return false;
        ret->items += count.items;
        return true;
}

static void say_more(Cli *cli, gint64 more)
{
        if (more >= COUNT_MAX)
                cli_say(cli,
                        "at least %d jobs that ended earlier are not shown; `paddle list --all-states` shows "
                        "all",
                        COUNT_MAX);
        else if (more > 0)
                cli_say(cli, "%d job%s that ended earlier %s not shown; `paddle list --all-states` shows all",
                        (int)more, more == 1 ? "" : "s", more == 1 ? "is" : "are");
}

static bool fetch(Cli *cli, const List *list, Listing *listing, ListingCount *ret, GError **error)
{
        g_autofree char *path = list_path(list, list->state);

        return shows_recent(list) ? fetch_recent(cli, list, listing, ret, error)
                                  : listing_fetch(listing, cli->client, path, list->limit, ret, error);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const List *list = target;
        g_autoptr(Listing) listing = NULL;
        ListingCount count = { 0 };
        Format format;

        if (list->all && list->user)
                return err_set(error, ERR_USAGE, "--all cannot be combined with --user='%s'", list->user);
        if (list->all_states && list->state)
                return err_set(error, ERR_USAGE, "--all-states cannot be combined with --state='%s'",
                               list->state);
        if (!check_labels(list, error) || !format_parse(cli, list->format, &format, error) ||
            !cli_client(cli, error))
                return false;
        listing = listing_new(cli, format, columns, "name");
        if (!fetch(cli, list, listing, &count, error))
                return false;
        listing_end(listing);
        if (count.items == 0 && (!check_name(cli, "/v1/users/", list->user, error) ||
                                 !check_name(cli, "/v1/queues/", list->queue, error)))
                return false;
        if (count.items == 0)
                cli_say(cli, is_narrowed(list) ? "no job matches" : "no jobs yet; `paddle submit` makes one");
        say_more(cli, count.more);
        return true;
}

const Verb verb_list = {
        .name = "list",
        .args = "",
        .summary = "List jobs, newest first",
        .about = "Shows the open jobs, then the 20 newest of those that have ended, and says how many more "
                 "there are. --all-states shows all; --state, --name, --array and --limit show only matching "
                 "jobs. An array is one row with the number of its jobs in each state; --array NAME lists "
                 "its jobs, as `sw[3]`.",
        .examples = "paddle list --state queued,running\twhat is open\n"
                    "paddle list --queue vision --label team=a\tof one queue, with one label\n"
                    "paddle cancel $(paddle list --state queued -o name)\tnames for other commands",
        .options = options,
        .size = sizeof(List),
        .run = run,
};
