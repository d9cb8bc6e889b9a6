/* paddle sched: the scheduler's decisions, its journal, and replaying the journal. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "journal/journal.h"

enum { DECISIONS = 100, DECISIONS_MAX = 10000 };

typedef struct {
        Common common;
        char *format;
        gint64 limit;
} Sched;

static const Option decisions_options[] = {
        { "limit", 'l', OPTION_INT, offsetof(Sched, limit), "N", "the last N decisions", .fallback = "100",
          .min = 1, .max = DECISIONS_MAX },
        FORMAT_OPTION(offsetof(Sched, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option replay_options[] = {
        FORMAT_REPORT_OPTION(offsetof(Sched, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option journal_options[] = {
        COMMON_OPTIONS,
        { 0 },
};

/* ---- decisions ---- */

static const Column columns[] = {
        { ">PASS", .member = "pass", .fit = { 6 } },
        { "TIME", .member = "time", .fit = { 4, 17 } },
        { "WHAT", .member = "kind" },
        { "RULE", .member = "rule", .fit = { 1 } },
        { "JOB", .member = "name", .fit = { .min = 16 } },
        { "ID", .member = "job", .fit = { 5, TABLE_WHOLE } },
        { "FOR", .member = "for", .fit = { 2 } },
        { "NODE", .member = "node", .fit = { 3 } },
        { 0 },
};

static bool run_decisions(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Sched *sched = target;
        g_autofree char *path =
                g_strdup_printf("/v1/scheduler/decisions?limit=%" G_GINT64_FORMAT, sched->limit);
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        Format format;
        gsize i;
        json_t *item;

        if (!format_parse(cli, sched->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        listing = listing_new(cli, format, columns, "job");
        json_array_foreach(json_object_get(reply, "items"), i, item)
                listing_add(listing, item);
        listing_end(listing);
        if (json_array_size(json_object_get(reply, "items")) == 0)
                cli_say(cli, "nothing was decided yet");
        return true;
}

/* ---- the journal ---- */

/* Streamed from the server: a journal is too large for memory. */
static bool to_stdout(const char *data, gsize len, void *arg, GError **error)
{
        if (fwrite(data, 1, len, stdout) == len)
                return true;
        return err_set_errno(error, errno, "cannot write to standard output");
}

static bool to_text(const char *data, gsize len, void *arg, GError **error)
{
        GString *text = arg;

        if (text->len + len > JOURNAL_READ_MAX)
                return err_set(error, ERR_TOO_LARGE, "the journal is larger than %d bytes", JOURNAL_READ_MAX);
        g_string_append_len(text, data, (gssize)len);
        return true;
}

static bool fetch(Cli *cli, bool (*receive)(const char *, gsize, void *, GError **), void *arg,
                  GError **error)
{
        HttpCall call = { .method = "GET", .path = "/v1/scheduler/journal", .receive = receive, .arg = arg };
        g_auto(HttpReply) reply = { 0 };

        if (!cli_client(cli, error) || !http_call(cli->client, &call, &reply, error))
                return false;
        return reply.status / 100 == 2 || http_reply_error(&reply, error);
}

static bool run_journal(Cli *cli, const void *target, char *const *words, GError **error)
{
        return fetch(cli, to_stdout, NULL, error);
}

/* ---- replay ---- */

static bool read_journal(Cli *cli, const char *path, GString *text, GError **error)
{
        g_autofree char *file = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len;

        if (!path)
                return fetch(cli, to_text, text, error);
        if (!file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, JOURNAL_READ_MAX, &file, &len, &cause))
                return err_set(error, ERR_USAGE, "%s", cause->message);
        g_string_append_len(text, file, (gssize)len);
        return true;
}

static json_t *report_json(const JournalReport *report)
{
        json_t *value = json_pack("{s:b, s:I, s:I, s:I, s:I, s:b}", "identical", report->same, "generations",
                                  (json_int_t)report->generations, "inputs", (json_int_t)report->inputs,
                                  "passes", (json_int_t)report->passes, "decisions",
                                  (json_int_t)report->decisions, "torn", report->torn);

        if (!report->same)
                json_object_set_new(value, "difference",
                                    json_pack("{s:I, s:I, s:I, s:s?, s:s?}", "pass", (json_int_t)report->pass,
                                              "now", (json_int_t)report->now, "job", (json_int_t)report->key,
                                              "recorded", report->recorded, "replayed", report->replayed));
        return value;
}

static void print_report(const JournalReport *report)
{
        g_autofree char *now = clock_format(report->now);
        g_autoptr(json_t) value = json_string(now);
        g_autofree char *time = cell_text(value);
        g_autofree char *passes = count_format(report->passes, "pass");
        g_autofree char *decisions = count_format(report->decisions, "decision");

        printf("%s, %s, %s\n", passes, decisions, report->same ? "identical" : "and then a difference");
        if (report->torn)
                printf("a generation ends in a cut line, which was passed over\n");
        if (report->same)
                return;
        printf("in pass %" G_GINT64_FORMAT " at %s\n  recorded  %s\n  replayed  %s\n", report->pass, time,
               report->recorded ? report->recorded : "nothing",
               report->replayed ? report->replayed : "nothing");
}

static bool run_replay(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Sched *sched = target;
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(json_t) json = NULL;
        JournalReport report = { 0 };
        Format format;

        if (!format_parse(cli, sched->format, &format, error) || !read_journal(cli, words[0], text, error) ||
            !journal_replay(text->str, text->len, &report, error))
                return false;
        cli->status = report.same ? 0 : 1;
        if (format == FORMAT_JSON || format == FORMAT_YAML) {
                json = report_json(&report);
                format_print(json, format, NULL);
        } else {
                print_report(&report);
        }
        journal_report_clear(&report);
        return true;
}

const Verb verb_sched_decisions = {
        .name = "sched decisions",
        .args = "",
        .summary = "List the decisions of the scheduler, newest last",
        .options = decisions_options,
        .size = sizeof(Sched),
        .run = run_decisions,
};

const Verb verb_sched_journal = {
        .name = "sched journal",
        .args = "",
        .summary = "Print the scheduler's journal: its inputs and decisions (administrators)",
        .examples = "paddle sched journal >journal.txt",
        .options = journal_options,
        .size = sizeof(Sched),
        .run = run_journal,
};

const Verb verb_sched_replay = {
        .name = "sched replay",
        .args = "[FILE]",
        .summary = "Replay the journal in a new scheduler and compare every decision",
        .about = "Without FILE the journal comes from the server (administrators). Equal inputs lead to "
                 "equal decisions, "
                 "bit for bit; the first difference is shown, and the exit status is 1.",
        .examples = "paddle sched replay\n"
                    "paddle sched replay journal.txt",
        .options = replay_options,
        .size = sizeof(Sched),
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run_replay,
};
