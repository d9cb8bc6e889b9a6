/* paddle list: jobs, newest first, page by page. */
#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool all;
        char *state, *user, *name, *format;
        gint64 limit;
} List;

enum { PAGE = 100 };

static const Option options[] = {
        { "all", 'a', OPTION_BOOL, offsetof(List, all), NULL, NULL, "jobs of all users (administrators)", 0,
          0, NULL },
        { "state", 's', OPTION_STRING, offsetof(List, state), "STATES", NULL,
          "only these states, separated by commas: queued,running", 0, 0, NULL },
        { "user", 'u', OPTION_STRING, offsetof(List, user), "NAME", NULL,
          "jobs of this user (administrators)", 0, 0, NULL },
        { "name", 0, OPTION_STRING, offsetof(List, name), "NAME", NULL, "only jobs of this name", 0, 0,
          NULL },
        { "limit", 'l', OPTION_INT, offsetof(List, limit), "N", NULL, "at most so many jobs; without it, all",
          1, 100000000, NULL },
        FORMAT_OPTION(offsetof(List, format)),
        COMMON_OPTIONS,
        { 0 },
};

static char *cell_name(const json_t *job, const Terminal *terminal)
{
        return g_strdup(text_of(job, "name"));
}

static char *cell_id(const json_t *job, const Terminal *terminal)
{
        return g_strdup(text_of(job, "id"));
}

static char *cell_user(const json_t *job, const Terminal *terminal)
{
        return g_strdup(text_of(job, "user"));
}

static char *cell_framework(const json_t *job, const Terminal *terminal)
{
        return g_strdup(text_of(job, "framework"));
}

static char *cell_state(const json_t *job, const Terminal *terminal)
{
        return g_strdup(text_of(job, "state"));
}

/* "trainer 4/4, pserver 2/2": running (or done) of all. */
static char *cell_members(const json_t *job, const Terminal *terminal)
{
        g_autoptr(GString) out = g_string_new(NULL);
        gsize i;
        json_t *role;

        json_array_foreach(json_object_get(job, "roles"), i, role) if (int_of(role, "replicas") > 0)
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

static char *cell_submitted(const json_t *job, const Terminal *terminal)
{
        return g_strdup(text_of(job, "submitted_at"));
}

static char *cell_attempt(const json_t *job, const Terminal *terminal)
{
        return g_strdup_printf("%d", (int)int_of(job, "attempt"));
}

static char *cell_reason(const json_t *job, const Terminal *terminal)
{
        enum {
                REASON_COLUMNS = 60
        }; /* beside the other columns it fits a wide terminal; `status` has all of it */
        g_autofree char *visible = text_visible(text_of(job, "reason"));

        return terminal->out_is_terminal ? text_cut(visible, REASON_COLUMNS, terminal->utf8)
                                         : g_steal_pointer(&visible);
}

static const Column columns[] = {
        { "NAME", false, cell_name },       { "ID", false, cell_id },
        { "USER", true, cell_user },        { "FRAMEWORK", true, cell_framework },
        { "STATE", false, cell_state },     { "MEMBERS", false, cell_members },
        { ">ATTEMPT", true, cell_attempt }, { ">RAN", false, cell_ran },
        { ">AGE", false, cell_age },        { "SUBMITTED", true, cell_submitted },
        { "REASON", false, cell_reason },   { 0 },
};

static void add_query(GString *path, const char *name, const char *value)
{
        g_autofree char *escaped = value ? url_escape(value) : NULL;

        if (value)
                g_string_append_printf(path, "&%s=%s", name, escaped);
}

static char *page_path(const List *list, gint64 limit, const char *after)
{
        g_autoptr(GString) path = g_string_new(NULL);

        g_string_append_printf(path, "/v1/jobs?limit=%" G_GINT64_FORMAT, limit);
        add_query(path, "user", list->user);
        add_query(path, "name", list->name);
        add_query(path, "state", list->state);
        add_query(path, "after", after);
        if (list->all)
                g_string_append(path, "&all=true");
        return g_string_free(g_steal_pointer(&path), FALSE);
}

/* The items of one page; *ret_after is the marker of the next one, or NULL. */
static bool list_page(Cli *cli, const List *list, Listing *listing, gint64 *left, char **after,
                      GError **error)
{
        g_autofree char *path = page_path(list, MIN(*left, PAGE), *after);
        g_autoptr(json_t) reply = NULL;
        gsize i;
        json_t *job;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        json_array_foreach(json_object_get(reply, "items"), i, job) listing_add(listing, job);
        listing_page(listing);
        *left -= (gint64)json_array_size(json_object_get(reply, "items"));
        g_free(*after);
        *after = is_set(reply, "next") ? g_strdup(text_of(reply, "next")) : NULL;
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const List *list = target;
        gint64 asked = list->limit ? list->limit : G_MAXINT64, left = asked;
        g_autofree char *after = NULL;
        g_autoptr(Listing) listing = NULL;
        Format format;

        if (list->all && list->user)
                return err_set(error, ERR_USAGE, "--all and --user='%s' contradict each other", list->user);
        if (!format_parse(list->format, &format, error) || !cli_client(cli, error))
                return false;
        listing = listing_new(cli, format, columns, "name");
        do {
                if (!list_page(cli, list, listing, &left, &after, error))
                        return false;
        } while (after && left > 0);
        listing_end(listing);
        if (left == asked)
                cli_say(cli, list->user || list->name || list->state
                                     ? "no job matches"
                                     : "no jobs yet; `paddle submit` makes one");
        return true;
}

const Verb verb_list = {
        .name = "list",
        .args = "",
        .summary = "List jobs, newest first",
        .examples = "paddle list --state queued,running\twhat is open\n"
                    "paddle cancel $(paddle list --state queued -o name)\tnames for other commands",
        .options = options,
        .size = sizeof(List),
        .run = run,
};
