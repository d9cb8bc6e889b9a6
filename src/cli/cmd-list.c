/* paddle list: jobs, newest first, page by page. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/follow-array.h"
#include "cli/listing.h"
#include "cli/summary.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool all, elements;
        char *state, *user, *name, *queue, *array, *format;
        GPtrArray *labels;
        gint64 limit;
} List;

static const Option options[] = {
        { "all", 'a', OPTION_BOOL, offsetof(List, all), NULL, NULL, "jobs of all users (administrators)", 0,
          0, NULL },
        { "state", 's', OPTION_STRING, offsetof(List, state), "STATES", NULL,
          "only these states, separated by commas: queued,running", 0, 0, NULL },
        { "user", 'u', OPTION_STRING, offsetof(List, user), "NAME", NULL,
          "jobs of this user (administrators)", 0, 0, NULL },
        { "name", 0, OPTION_STRING, offsetof(List, name), "NAME", NULL, "only jobs of this name", 0, 0,
          NULL },
        { "queue", 'q', OPTION_STRING, offsetof(List, queue), "NAME", NULL, "only jobs of this queue", 0, 0,
          NULL },
        { "label", 0, OPTION_LIST, offsetof(List, labels), "K=V", NULL, "only jobs with this label", 0, 0,
          NULL },
        { "array", 0, OPTION_STRING, offsetof(List, array), "ARRAY", NULL, "only the jobs of this array", 0,
          0, NULL },
        { "elements", 'e', OPTION_BOOL, offsetof(List, elements), NULL, NULL,
          "each job of an array in a row of its own; without it, an array is one row", 0, 0, NULL },
        { "limit", 'l', OPTION_INT, offsetof(List, limit), "N", NULL, "at most N jobs; without it, all", 1,
          100000000, NULL },
        FORMAT_OPTION(offsetof(List, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* "sw[3]" of an array's job. */
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

/* "trainer 4/4, pserver 2/2": running (or done) of all. */
static char *cell_members(const json_t *job, const Terminal *terminal)
{
        g_autoptr(GString) out = g_string_new(NULL);
        gsize i;
        json_t *role;

        if (is_array(job))
                return summary_elements(job);
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

static const Column columns[] = {
        { "NAME", .cell = cell_name, .fit = { .min = 20 } },
        { "ID", .member = "id", .fit = { 4, TABLE_WHOLE } },
        { "USER", true, .member = "user" },
        { "FRAMEWORK", true, .member = "framework" },
        { "QUEUE", true, .member = "queue" },
        { ">PRIORITY", true, .member = "priority" },
        { "LABELS", true, .member = "labels" },
        { "ARRAY", true, cell_array },
        { "STATE", .member = "state" },
        { "MEMBERS", .cell = cell_members, .fit = { 2 } },
        { ">ATTEMPT", true, .member = "attempt" },
        { ">RAN", .cell = cell_ran, .fit = { 5 } },
        { ">AGE", .cell = cell_age, .fit = { 3 } },
        { "SUBMITTED", true, .member = "submitted_at" },
        { "REASON", .member = "reason", .fit = { 1, 24 } },
        { 0 },
};

static void add_query(GString *path, const char *name, const char *value)
{
        g_autofree char *escaped = value ? url_escape(value) : NULL;

        if (value)
                g_string_append_printf(path, "%c%s=%s", strchr(path->str, '?') ? '&' : '?', name, escaped);
}

static char *list_path(const List *list)
{
        g_autoptr(GString) path = g_string_new("/v1/jobs");

        add_query(path, "user", list->user);
        add_query(path, "name", list->name);
        add_query(path, "state", list->state);
        add_query(path, "queue", list->queue);
        add_query(path, "array", list->array);
        for (guint i = 0; list->labels && i < list->labels->len; i++)
                add_query(path, "label", list->labels->pdata[i]);
        add_query(path, "all", list->all ? "true" : NULL);
        add_query(path, "collapse", list->elements || list->array ? NULL : "true");
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

/* Nothing matches: because the name is wrong? */
static bool check_name(Cli *cli, const char *path, const char *name, GError **error)
{
        g_autofree char *escaped = name ? url_escape(name) : NULL;
        g_autofree char *whole = name ? g_strconcat(path, escaped, NULL) : NULL;

        return !name || http_call_json(cli->client, "GET", whole, NULL, NULL, error);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const List *list = target;
        g_autofree char *path = NULL;
        g_autoptr(Listing) listing = NULL;
        gint64 items = 0;
        Format format;

        if (list->all && list->user)
                return err_set(error, ERR_USAGE, "--all cannot be combined with --user='%s'", list->user);
        if (!check_labels(list, error) || !format_parse(list->format, &format, error) ||
            !cli_client(cli, error))
                return false;
        path = list_path(list);
        listing = listing_new(cli, format, columns, "name");
        if (!listing_pages(listing, cli->client, path, list->limit, &items, error))
                return false;
        if (items == 0 && (!check_name(cli, "/v1/users/", list->user, error) ||
                           !check_name(cli, "/v1/queues/", list->queue, error)))
                return false;
        if (items == 0)
                cli_say(cli, is_narrowed(list) ? "no job matches" : "no jobs yet; `paddle submit` makes one");
        return true;
}

const Verb verb_list = {
        .name = "list",
        .args = "",
        .summary = "List jobs, newest first",
        .about =
                "An array is one row, with how many of its jobs are in which state; --array NAME lists them, "
                "as `sw[3]`.",
        .examples = "paddle list --state queued,running\twhat is open\n"
                    "paddle list --queue vision --label team=a\tof one queue, with one label\n"
                    "paddle cancel $(paddle list --state queued -o name)\tnames for other commands",
        .options = options,
        .size = sizeof(List),
        .run = run,
};
