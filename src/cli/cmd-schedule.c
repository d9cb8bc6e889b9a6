/* paddle schedule: create, list, show, next, stop, delete. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/pipeline-stored.h"
#include "cli/verbs.h"
#include "cli/when.h"
#include "net/url.h"

typedef struct {
        Common common;
        char *format, *user, *name, *state;
        char *description, *start, *end, *policy;
        gint64 concurrency, expire_ms, limit, count;
        bool all, no_catchup;
} ScheduleOptions;

/* clang-format off */
#define USER_OPTION                                                                                          \
        { "user", 'u', OPTION_STRING, offsetof(ScheduleOptions, user), "NAME",                               \
          "a schedule of this user (administrators)" }
/* clang-format on */

/* "/v1/schedules/<name, encoded><suffix>"; the caller's. */
static char *schedule_path(const char *name, const char *suffix, const char *user)
{
        g_autofree char *escaped = url_escape(name), *whose = user ? url_escape(user) : NULL;

        return g_strdup_printf("/v1/schedules/%s%s%s%s", escaped, suffix, whose ? "?user=" : "",
                               whose ? whose : "");
}

/* ---- create ---- */

static const Option create_options[] = {
        { "description", 'd', OPTION_STRING, offsetof(ScheduleOptions, description), "TEXT",
          "what it is for, at most 256 bytes" },
        { "concurrency", 'c', OPTION_INT, offsetof(ScheduleOptions, concurrency), "N",
          "at most N runs at a time; 0: any number", .fallback = "0", .min = 0, .max = 1000000 },
        { "policy", 0, OPTION_STRING, offsetof(ScheduleOptions, policy), "POLICY",
          "at this limit: suspend (wait for the end of a run), replace (stop the oldest run) or skip",
          .fallback = "suspend" },
        { "start", 0, OPTION_STRING, offsetof(ScheduleOptions, start), "TIME",
          "not before this time: 2h, 22:00 or 2026-03-01T22:00" },
        { "end", 0, OPTION_STRING, offsetof(ScheduleOptions, end), "TIME", "not after this time" },
        { "expire", 0, OPTION_DURATION, offsetof(ScheduleOptions, expire_ms), "TIME",
          "skip a run that is later by more, for example after the server was down" },
        { "no-catchup", 0, OPTION_BOOL, offsetof(ScheduleOptions, no_catchup), NULL,
          "do not make up for runs that were missed: of several, only the newest runs" },
        COMMON_OPTIONS,
        { 0 },
};

static bool put_time(json_t *body, const char *option, const char *member, const char *text, GError **error)
{
        gint64 now = clock_now_ms();
        g_autofree char *time = text ? begin_parse(option, text, now, error) : NULL,
                        *shown = clock_format(now);

        if (!time)
                return !text;
        if (strcmp(time, shown) <= 0) /* both are UTC, in one form */
                return err_set(error, ERR_USAGE, "%s %s is not in the future: it is %s", option, text, shown);
        json_object_set_new(body, member, json_string(time));
        return true;
}

static json_t *body_of(const ScheduleOptions *options, char *const *words, GError **error)
{
        g_auto(PipelineWord) word = { 0 };
        g_autoptr(json_t) body = NULL;

        if (!pipeline_word_parse(words[1], &word, error))
                return NULL;
        body = json_pack("{s:s, s:s, s:s, s:s*, s:I, s:s, s:I, s:b}", "name", words[0], "pipeline", word.name,
                         "crontab", words[2], "description", options->description, "concurrency",
                         (json_int_t)options->concurrency, "policy", options->policy, "expire_s",
                         (json_int_t)options->expire_ms / 1000, "catchup", !options->no_catchup);
        if (word.version)
                json_object_set_new(body, "version", json_integer(word.version));
        return put_time(body, "--start", "start_at", options->start, error) &&
                               put_time(body, "--end", "end_at", options->end, error)
                       ? g_steal_pointer(&body)
                       : NULL;
}

/* Without quotes the shell makes five words of a crontab, or more where '*' stands for files. */
static bool is_one_word(char *const *words, GError **error)
{
        bool every = strcmp(words[2], "every") == 0 || strcmp(words[2], "@every") == 0;
        g_autofree char *meant =
                every && words[3] ? g_strdup_printf("@every %s", words[3]) : g_strdup("30 2 * * *");

        return !words[3] || err_set(error, ERR_USAGE,
                                    "the crontab is one word, and here are %u\n"
                                    "Put it in quotes: paddle schedule create %s %s '%s'",
                                    g_strv_length((char **)words) - 2, words[0], words[1], meant);
}

/* False: what the server says, or, of a file, what to do with it. */
static bool post(Cli *cli, const json_t *body, const char *pipeline, json_t **ret, GError **error)
{
        g_autoptr(GError) why = NULL;

        if (http_call_json(cli->client, "POST", "/v1/schedules", body, ret, &why))
                return true;
        if (err_is(why, ERR_NOT_FOUND) && pipeline_is_file(pipeline))
                return err_set(
                        error, ERR_NOT_FOUND,
                        "'%s' is a file, and a schedule runs a stored pipeline\n"
                        "Store it first, `paddle pipeline create %s`, and give the name that this prints.",
                        pipeline, pipeline);
        g_propagate_error(error, g_steal_pointer(&why));
        return false;
}

static bool run_create(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autoptr(json_t) body = is_one_word(words, error) ? body_of(target, words, error) : NULL,
                          schedule = NULL;

        if (!body || !cli_client(cli, error) || !post(cli, body, words[1], &schedule, error))
                return false;
        printf("%s\n", text_of(schedule, "name"));
        fflush(stdout);
        cli_say(cli,
                "`paddle schedule next %s` shows when it runs, `paddle schedule show %s` what came of it",
                text_of(schedule, "name"), text_of(schedule, "name"));
        return true;
}

const Verb verb_schedule_create = {
        .name = "schedule create",
        .args = "NAME PIPELINE[@VERSION] CRONTAB",
        .summary = "Run a stored pipeline again and again, at the times of a crontab",
        .about =
                "NAME has 2 to 50 letters, digits and '_', and is the name of the runs. Without @VERSION it is the version "
                "that is the newest one now.\n\n"
                "CRONTAB is one word of five fields: 'MINUTE HOUR DAY MONTH WEEKDAY'. A field is '*', a number, a range 1-5, a "
                "list 1,15, or one of these with a step: */10. Months and weekdays have names: jan, mon. @hourly, "
                "@daily, @weekly, @monthly, @yearly and '@every 90s' stand for all five. 'TZ=Europe/Berlin ' in front "
                "sets the time zone; else it is that of the server.",
        .examples =
                "paddle schedule create nightly digits '30 2 * * *'\n"
                "paddle schedule create weekly digits@3 'TZ=Europe/Berlin 0 9 * * mon' -c 1 --policy skip\n"
                "paddle schedule create often digits '@every 10m' --no-catchup",
        .options = create_options,
        .size = sizeof(ScheduleOptions),
        .min_words = 3,
        .max_words = -1, /* see is_one_word */
        .run = run_create,
};

/* ---- list ---- */

static const Option list_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(ScheduleOptions, user), "NAME",
          "schedules of this user (administrators)" },
        { "all", 'a', OPTION_BOOL, offsetof(ScheduleOptions, all), NULL,
          "schedules of all users (administrators)" },
        { "name", 0, OPTION_STRING, offsetof(ScheduleOptions, name), "NAME",
          "only schedules with this name" },
        { "state", 's', OPTION_STRING, offsetof(ScheduleOptions, state), "STATE,...",
          "only in these states: running, success, terminated, failed" },
        { "limit", 'l', OPTION_INT, offsetof(ScheduleOptions, limit), "N", "at most N", .fallback = "1000",
          .min = 1, .max = 1000000 },
        FORMAT_OPTION(offsetof(ScheduleOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

static char *pipeline_cell(const json_t *item, const Terminal *terminal)
{
        const char *name = text_of(item, is_set(item, "pipeline_name") ? "pipeline_name" : "pipeline");

        return g_strdup_printf("%s@%" G_GINT64_FORMAT, name, int_of(item, "version"));
}

static char *next_cell(const json_t *item, const Terminal *terminal)
{
        return listing_time(item, "next_at", terminal);
}

static char *concurrency_cell(const json_t *item, const Terminal *terminal)
{
        gint64 concurrency = int_of(item, "concurrency");

        return concurrency > 0 ? g_strdup_printf("%" G_GINT64_FORMAT, concurrency) : g_strdup("no limit");
}

static const Column columns[] = {
        { "NAME", .member = "name" },
        { "ID", true, .member = "id" },
        { "USER", .member = "user", .fit = { 5 } },
        { "PIPELINE", .cell = pipeline_cell, .fit = { 3 } },
        { "CRONTAB", .member = "crontab", .fit = { 1, 32, .wish = 32 } },
        { "STATE", .member = "state" },
        { "NEXT", .cell = next_cell, .fit = { 1, TABLE_WHOLE } },
        { "POLICY", true, .member = "policy" },
        { ">CONCURRENCY", true, .cell = concurrency_cell },
        { "MESSAGE", true, .member = "message" },
        { 0 },
};

static bool run_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const ScheduleOptions *options = target;
        g_autoptr(GString) path = g_string_new("/v1/schedules");

        url_add_query(path, "user", options->user);
        url_add_query(path, "all", options->all ? "true" : NULL);
        url_add_query(path, "name", options->name);
        url_add_query(path, "state", options->state);
        return listing_show(cli, options->format, columns, "name", path->str, options->limit,
                            "no schedules; `paddle schedule create NAME PIPELINE CRONTAB` creates one",
                            error);
}

const Verb verb_schedule_list = {
        .name = "schedule list",
        .args = "",
        .summary = "List schedules",
        .options = list_options,
        .size = sizeof(ScheduleOptions),
        .run = run_list,
};

/* ---- show ---- */

static const Option show_options[] = {
        USER_OPTION,
        { "limit", 'l', OPTION_INT, offsetof(ScheduleOptions, limit), "N", "show at most N runs",
          .fallback = "10", .min = 1, .max = 1000 },
        FORMAT_REPORT_OPTION(offsetof(ScheduleOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Column run_columns[] = {
        { "RUN", .member = "id" },
        { "STATE", .member = "state" },
        { "DUE", .member = "scheduled_at", .fit = { 1, 17 } },
        { "FINISHED", .member = "finished_at", .fit = { 3, 17 } },
        { "MESSAGE", .member = "message", .fit = { 2, 16 } },
        { 0 },
};

/* How a member is shown. */
typedef struct {
        const char *member, *head;
        const char *zero;   /* for 0; or NULL */
        const char *suffix; /* of a number; or NULL */
} Field;

/* The caller's; NULL: the field is left out. */
static char *field_text(const json_t *schedule, const Field *field)
{
        const json_t *value = json_object_get(schedule, field->member);
        g_autofree char *text = cell_text(value);

        if (field->zero && json_integer_value(value) == 0)
                return g_strdup(field->zero);
        if (!text || !*text)
                return NULL;
        return field->suffix ? g_strdup_printf("%s%s", text, field->suffix) : text_visible(text);
}

static void print_fields(const json_t *schedule)
{
        static const Field fields[] = {
                { "id", "id" },
                { "pipeline_name", "pipeline" },
                { "version", "version" },
                { "crontab", "crontab" },
                { "description", "description" },
                { "start_at", "start" },
                { "end_at", "end" },
                { "concurrency", "concurrency", "any number of runs", " at a time" },
                { "policy", "policy" },
                { "expire_s", "expire", "never", " s" },
                { "catchup", "catchup" },
                { "state", "state" },
                { "message", "message" },
                { "next_at", "next" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
                g_autofree char *text = field_text(schedule, &fields[i]);

                if (text)
                        printf("%-12s %s\n", fields[i].head, text);
        }
        printf("\n");
}

/* Newest first. */
static bool print_runs(Cli *cli, const ScheduleOptions *options, const char *word, GError **error)
{
        g_autoptr(GString) path = g_string_new("/v1/runs");
        g_autoptr(Listing) listing = listing_new(cli, FORMAT_TABLE, run_columns, "id");
        ListingCount count;

        url_add_query(path, "schedule", word);
        url_add_query(path, "user", options->user);
        if (!listing_fetch(listing, cli->client, path->str, options->limit, &count, error))
                return false;
        if (count.items > 0)
                listing_end(listing);
        else
                cli_say(cli, "it has no runs yet; `paddle schedule next %s` shows when the first one is due",
                        word);
        return true;
}

static bool run_show(Cli *cli, const void *target, char *const *words, GError **error)
{
        const ScheduleOptions *options = target;
        g_autofree char *path = schedule_path(words[0], "", options->user);
        g_autoptr(json_t) schedule = NULL;
        g_autoptr(Listing) listing = NULL;
        Format format;

        if (!format_parse(cli, options->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &schedule, error))
                return false;
        if (format == FORMAT_TABLE) {
                print_fields(schedule);
                fflush(stdout);
                return print_runs(cli, options, words[0], error);
        }
        listing = listing_new(cli, format, columns, "name");
        listing_add(listing, schedule);
        listing_end(listing);
        return true;
}

const Verb verb_schedule_show = {
        .name = "schedule show",
        .args = "NAME",
        .summary = "Show a schedule and its newest runs",
        .options = show_options,
        .size = sizeof(ScheduleOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = run_show,
};

/* ---- next ---- */

static const Option next_options[] = {
        USER_OPTION,
        { "count", 'n', OPTION_INT, offsetof(ScheduleOptions, count), "N", "show so many", .fallback = "5",
          .min = 1, .max = 100 },
        COMMON_OPTIONS,
        { 0 },
};

static bool run_next(Cli *cli, const void *target, char *const *words, GError **error)
{
        const ScheduleOptions *options = target;
        g_autofree char *count = g_strdup_printf("%" G_GINT64_FORMAT, options->count);
        g_autofree char *bare = schedule_path(words[0], "/next", NULL);
        g_autoptr(GString) path = g_string_new(bare);
        g_autoptr(json_t) reply = NULL;
        const json_t *items, *item;
        gsize i;

        url_add_query(path, "count", count);
        url_add_query(path, "user", options->user);
        if (!cli_client(cli, error) || !http_call_json(cli->client, "GET", path->str, NULL, &reply, error))
                return false;
        items = json_object_get(reply, "items");
        json_array_foreach((json_t *)items, i, item)
                printf("%s\n", text_of(item, "local"));
        fflush(stdout);
        if (json_array_size(items) == 0)
                cli_say(cli, "the schedule is over: it has no more runs");
        else
                cli_say(cli, "in time zone %s", text_of(reply, "zone"));
        return true;
}

const Verb verb_schedule_next = {
        .name = "schedule next",
        .args = "NAME",
        .summary = "Show when a schedule runs next, in its time zone",
        .examples = "paddle schedule next nightly -n 10",
        .options = next_options,
        .size = sizeof(ScheduleOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = run_next,
};

/* ---- stop, delete ---- */

static const Option one_options[] = { USER_OPTION, COMMON_OPTIONS, { 0 } };

static bool stop_one(Cli *cli, const char *word, void *arg, GError **error)
{
        const ScheduleOptions *options = arg;
        g_autofree char *path = schedule_path(word, "/stop", options->user);
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(cli->client, "POST", path, NULL, &reply, error))
                return false;
        printf("schedule %s is stopped; its runs go on\n", word);
        return true;
}

static bool run_stop(Cli *cli, const void *target, char *const *words, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), stop_one, (void *)target, error);
}

const Verb verb_schedule_stop = {
        .name = "schedule stop",
        .args = "NAME...",
        .summary = "Stop schedules for good; their runs go on",
        .options = one_options,
        .size = sizeof(ScheduleOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = run_stop,
};

static bool delete_one(Cli *cli, const char *word, void *arg, GError **error)
{
        const ScheduleOptions *options = arg;
        g_autofree char *path = schedule_path(word, "", options->user);
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(cli->client, "DELETE", path, NULL, &reply, error))
                return false;
        printf("schedule %s is deleted\n", word);
        return true;
}

static bool run_delete(Cli *cli, const void *target, char *const *words, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), delete_one, (void *)target, error);
}

const Verb verb_schedule_delete = {
        .name = "schedule delete",
        .args = "NAME...",
        .summary = "Delete schedules that are over; their runs stay",
        .options = one_options,
        .size = sizeof(ScheduleOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = run_delete,
};
