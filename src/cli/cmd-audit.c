/* paddle audit list, verify: the audit log, and whether it is intact (doc/guide/audit.md). */
#include "base/chain.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "net/url.h"

enum { PAGE = 1000 };

typedef struct {
        Common common;
        char *user, *since, *head, *format;
        gint64 limit;
} Audit;

static const Option list_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(Audit, user), "NAME", "only what this user did" },
        { "since", 0, OPTION_STRING, offsetof(Audit, since), "NUMBER",
          "lines after this number, oldest first; default: the last ones" },
        { "limit", 'n', OPTION_INT, offsetof(Audit, limit), "N", "at most N lines", .fallback = "50",
          .min = 1, .max = 1000000 },
        FORMAT_OPTION(offsetof(Audit, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option verify_options[] = {
        { "head", 0, OPTION_STRING, offsetof(Audit, head), "NUMBER:HASH",
          "a head that was stored elsewhere: the log must still contain it" },
        COMMON_OPTIONS,
        { 0 },
};

/* ---- list ---- */

static char *cell_number(const json_t *item, const Terminal *terminal)
{
        return g_strdup_printf("%" G_GINT64_FORMAT, int_of(item, "seq"));
}

/* Aggregated lines name their user. */
static char *cell_user(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, is_set(item, "who") ? "who" : "user"));
}

static char *cell_action(const json_t *item, const Terminal *terminal)
{
        return is_set(item, "count") ? g_strdup_printf("%s (%" G_GINT64_FORMAT " times)",
                                                       text_of(item, "action"), int_of(item, "count"))
                                     : g_strdup(text_of(item, "action"));
}

static char *cell_subject(const json_t *item, const Terminal *terminal)
{
        const char *subject = text_of(item, is_set(item, "subject") ? "subject" : "detail");

        return is_set(item, "owner") ? g_strdup_printf("%s (of %s)", subject, text_of(item, "owner"))
                                     : g_strdup(subject);
}

static const Column columns[] = {
        { ">NUMBER", false, cell_number },
        { "TIME", false, NULL, "time", { 5, 17 } },
        { "USER", false, cell_user, NULL, { 2 } },
        { "ADDRESS", false, NULL, "address", { 6 } },
        { "ACTION", false, cell_action, NULL, { 0, 16 } },
        { "OUTCOME", false, NULL, "outcome", { 1 } },
        { "SUBJECT", false, cell_subject, NULL, { 3, 16 } },
        { "TOKEN", true, NULL, "token" },
        { "ROUTE", true, NULL, "route" },
        { "REQUEST", true, NULL, "request" },
        { 0 },
};

static bool get_page(Cli *cli, const Audit *audit, gint64 since, gint64 limit, json_t **ret, GError **error)
{
        g_autofree char *user = audit->user ? url_escape(audit->user) : NULL;
        g_autoptr(GString) path = g_string_new(NULL);

        g_string_printf(path, "/v1/audit?limit=%" G_GINT64_FORMAT, limit);
        if (since >= 0)
                g_string_append_printf(path, "&since=%" G_GINT64_FORMAT, since);
        if (user)
                g_string_append_printf(path, "&user=%s", user);
        return http_call_json(cli->client, "GET", path->str, NULL, ret, error);
}

/* All pages; without --since only the last one. */
static bool list_pages(Cli *cli, const Audit *audit, gint64 since, Listing *listing, GError **error)
{
        gint64 left = since < 0 ? MIN(audit->limit, PAGE) : audit->limit;

        while (left > 0) {
                g_autoptr(json_t) reply = NULL;
                const json_t *items;
                json_t *item;
                gsize i;

                if (!get_page(cli, audit, since, MIN(left, PAGE), &reply, error))
                        return false;
                items = json_object_get(reply, "items");
                json_array_foreach(items, i, item) {
                        listing_add(listing, item);
                        since = int_of(item, "seq");
                }
                listing_page(listing);
                left -= (gint64)i;
                if (i < PAGE)
                        break;
        }
        return true;
}

static bool run_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Audit *audit = target;
        g_autoptr(Listing) listing = NULL;
        gint64 since = -1;
        Format format;

        if ((audit->since && !number_parse("--since", audit->since, 0, G_MAXINT64, &since, error)) ||
            !format_parse(cli, audit->format, &format, error) || !cli_client(cli, error))
                return false;
        listing = listing_new(cli, format, columns, "seq");
        if (!list_pages(cli, audit, since, listing, error))
                return false;
        listing_end(listing);
        return true;
}

/* ---- verify ---- */

typedef struct {
        gint64 lines, first, last, n_problems;
        const char *head;
} Found;

static void say_found(Cli *cli, const Found *found)
{
        printf("%s\n", found->head);
        if (found->n_problems)
                cli_say(cli, "the audit log is not whole: %" G_GINT64_FORMAT " problem%s", found->n_problems,
                        found->n_problems == 1 ? "" : "s");
        else
                cli_say(cli,
                        "%" G_GINT64_FORMAT " lines, %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                        ", are intact\nStore the head elsewhere: `paddle audit verify --head NUMBER:HASH` later checks that the log still has it.",
                        found->lines, found->first, found->last);
        cli->status = found->n_problems ? 1 : 0;
}

static bool verify_directory(Cli *cli, const char *dir, const ChainHead *kept, GError **error)
{
        g_auto(ChainReport) report = { 0 };
        g_autofree char *head = NULL;

        if (!chain_check(dir, kept, &report, error))
                return false;
        if (report.lines == 0 && report.problems->len == 0)
                return err_set(error, ERR_NOT_FOUND,
                               "'%s' holds no line of an audit log: it is another directory, or was emptied\n"
                               "The server's is STATE/audit.",
                               dir);
        for (guint i = 0; i < report.problems->len; i++)
                cli_say(cli, "%s", (char *)report.problems->pdata[i]);
        head = chain_head_format(&report.last);
        say_found(cli, &(Found){ report.lines, report.first, report.last.seq, report.n_problems, head });
        return true;
}

static bool verify_server(Cli *cli, const char *head, GError **error)
{
        g_autofree char *escaped = head ? url_escape(head) : NULL;
        g_autofree char *path = g_strconcat("/v1/audit/verify", head ? "?head=" : "", escaped, NULL);
        g_autoptr(json_t) reply = NULL;
        json_t *problem;
        gsize i;

        if (!cli_client(cli, error) || !http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        json_array_foreach(json_object_get(reply, "problems"), i, problem)
                cli_say(cli, "%s", json_string_value(problem));
        say_found(cli, &(Found){ int_of(reply, "lines"), int_of(reply, "first"), int_of(reply, "last"),
                                 int_of(reply, "n_problems"), text_of(reply, "head") });
        return true;
}

static bool run_verify(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Audit *audit = target;
        ChainHead kept;

        if (audit->head && !chain_head_parse(audit->head, &kept, error))
                return err_prefix(error, "--head: ");
        return words[0] ? verify_directory(cli, words[0], audit->head ? &kept : NULL, error)
                        : verify_server(cli, audit->head, error);
}

const Verb verb_audit_list = {
        .name = "audit list",
        .args = "",
        .summary = "Show the audit log: who did what on the server (administrators)",
        .about = "The last lines of the audit log, or those after --since: log-ins, changes, refused "
                 "requests, and administrators' views of other users' data.",
        .examples = "paddle audit list --user ann -n 20\twhat ann did last\n"
                    "paddle audit list --since 4200 -o json\tto take it elsewhere",
        .options = list_options,
        .size = sizeof(Audit),
        .run = run_list,
};

const Verb verb_audit_verify = {
        .name = "audit verify",
        .args = "[DIR]",
        .summary = "Check that no line of the audit log was changed or removed",
        .about =
                "Each line holds the hash of the one before. The head, the number and hash of the last line, "
                "goes to standard output. A user who can write the server's files can rewrite the whole log; "
                "only a head that was stored elsewhere reveals that.\n\nWith DIR it reads the files there, "
                "without a server. Exits with 1 if something is wrong.",
        .examples = "paddle audit verify\twhat the server finds\n"
                    "paddle audit verify /var/lib/paddle/audit --head 4305:77ab...\tby the files themselves, "
                    "against a head from before",
        .options = verify_options,
        .size = sizeof(Audit),
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run_verify,
};
