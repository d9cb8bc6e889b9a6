/* paddle events: changes, one line per event. */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/retry.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool follow;
        char *since, *format;
} Events;

enum { PAGE = 1000 };

static const Option options[] = {
        { "follow", 'f', OPTION_BOOL, offsetof(Events, follow), NULL,
          "continue with new events until interrupted" },
        { "since", 0, OPTION_STRING, offsetof(Events, since), "REVISION",
          "only events with a larger revision (the first column)" },
        FORMAT_OPTION(offsetof(Events, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- one line ---- */

static char *cell_revision(const json_t *event, const Terminal *terminal)
{
        return g_strdup_printf("%" G_GINT64_FORMAT, int_of(event, "revision"));
}

static char *cell_time(const json_t *event, const Terminal *terminal)
{
        return local_time_text(event, "time");
}

static char *cell_job(const json_t *event, const Terminal *terminal)
{
        return g_strdup(*text_of(event, "name") ? text_of(event, "name") : text_of(event, "job"));
}

static char *cell_user(const json_t *event, const Terminal *terminal)
{
        return g_strdup(text_of(event, "user"));
}

static char *cell_kind(const json_t *event, const Terminal *terminal)
{
        return g_strdup(text_of(event, "kind"));
}

/* "member=trainer-0 exit_code=1": fields that are not null, texts without quotes. */
static char *cell_data(const json_t *event, const Terminal *terminal)
{
        json_t *data = json_object_get(event, "data"), *value;
        g_autoptr(GString) out = g_string_new(NULL);
        const char *name;

        json_object_foreach(data, name, value) {
                g_autofree char *text =
                        json_is_string(value) ? g_strdup(json_string_value(value)) : json_format(value);

                if (!json_is_null(value) && *text)
                        g_string_append_printf(out, "%s%s=%s", out->len ? " " : "", name, text);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* KIND has the width of the longest kind, so that the columns of a stream are aligned from the start. */
static const Column columns[] = {
        { ">REVISION", false, cell_revision },
        { "TIME", false, cell_time, .fit = { 3, 12 } },
        { "JOB", false, cell_job, .fit = { 1, 16 } },
        { "USER", true, cell_user },
        { "KIND           ", false, cell_kind },
        { "DATA", false, cell_data, .fit = { 2, 20 } },
        { 0 },
};

/* ---- pages ---- */

static bool list_events(Cli *cli, const char *job, gint64 since, Listing *listing, GError **error)
{
        gsize got;

        do {
                g_autofree char *suffix =
                        g_strdup_printf("/events?since=%" G_GINT64_FORMAT "&limit=%d", since, PAGE);
                g_autofree char *path = job_path(job, suffix);
                g_autoptr(json_t) reply = NULL;
                gsize i;
                json_t *event;

                if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                        return false;
                got = json_array_size(json_object_get(reply, "items"));
                json_array_foreach(json_object_get(reply, "items"), i, event) {
                        listing_add(listing, event);
                        since = MAX(since, int_of(event, "revision"));
                }
                listing_page(listing);
        } while (got == PAGE);
        listing_end(listing);
        return true;
}

/* ---- following ---- */

typedef struct {
        Cli *cli;
        Listing *listing;
        Format format;
        gint64 since; /* -1: from now on; without `follow` from the oldest */
        bool follow, ended;
        guint waiting; /* events that are not printed yet, without `follow` */
        Retry retry;
        GError *failed;
} Stream;

static bool on_event(const char *id, const char *event, const char *data, void *arg)
{
        Stream *stream = arg;
        g_autoptr(json_t) value = json_parse(data, strlen(data), NULL);

        if (retry_succeeded(&stream->retry))
                cli_say(stream->cli, "paddle: connected again");
        if (!value)
                return true;
        if (g_strcmp0(event, "error") == 0)
                return err_set(&stream->failed, err_from_word(text_of(value, "code")), "%s",
                               text_of(value, "message"));
        if (g_strcmp0(event, "end") == 0) {
                stream->ended = true;
                return false;
        }
        stream->since = MAX(stream->since, int_of(value, "revision"));
        if (stream->format == FORMAT_JSON &&
            stream->follow) { /* a stream has no end, so no JSON list: one object per line */
                g_autofree char *line = json_format(value);

                puts(line);
        } else {
                listing_add(stream->listing, value);
                if (stream->follow || ++stream->waiting % PAGE == 0)
                        listing_page(stream->listing);
        }
        fflush(stdout);
        return true;
}

static char *stream_path(const Stream *stream, const char *job)
{
        g_autofree char *escaped = job ? url_escape(job) : NULL;
        g_autoptr(GString) path = g_string_new("/v1/events?follow=");

        g_string_append(path, stream->follow ? "true" : "false");
        if (stream->since >= 0)
                g_string_append_printf(path, "&since=%" G_GINT64_FORMAT, stream->since);
        if (job)
                g_string_append_printf(path, "&job=%s", escaped);
        return g_string_free(g_steal_pointer(&path), FALSE);
}

static bool follow_events(Stream *stream, const char *job, GError **error)
{
        for (;;) {
                g_autofree char *path = stream_path(stream, job);
                GError *cause = NULL;

                (void)http_client_events(stream->cli->client, path, on_event, stream,
                                         &cause); /* `cause` has the reason */
                if (stream->failed) {
                        g_clear_error(&cause);
                        cause = g_steal_pointer(&stream->failed);
                }
                if (stream->ended)
                        return true;
                if (!retry_after(&stream->retry, stream->cli, cause, error))
                        return false;
        }
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Events *events = target;
        g_autoptr(Listing) listing = NULL;
        Stream stream = { .cli = cli, .since = words[0] ? 0 : -1, .follow = events->follow };

        if ((events->since && !number_parse("--since", events->since, 0, G_MAXINT64, &stream.since, error)) ||
            !format_parse(cli, events->format, &stream.format, error) || !cli_client(cli, error))
                return false;
        listing = listing_new(cli, stream.format, columns, "kind");
        if (words[0] && !events->follow)
                return list_events(cli, words[0], stream.since, listing, error);
        stream.listing = listing;
        retry_init(&stream.retry, "`paddle events --since REVISION` continues after the last line.");
        if (!follow_events(&stream, words[0], error))
                return false;
        listing_end(listing);
        return true;
}

const Verb verb_events = {
        .name = "events",
        .args = "[JOB]",
        .summary = "Show the events of a job, or of all jobs",
        .about = "The events so far of JOB, or of all your jobs (an administrator's: of all jobs), as far "
                 "back as the server keeps them, or since --since. With -f the command continues with new "
                 "events; without JOB it then starts now.",
        .options = options,
        .size = sizeof(Events),
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
