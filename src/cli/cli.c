/* The frame of a run (see cli.h): terminal, verb, options, running the verb, and the exit status for its
 * result. */
#include "cli/cli.h"

#include <errno.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "cli/discover.h"
#include "cli/help.h"
#include "cli/table.h"
#include "model/array.h"
#include "model/spec.h"

enum { EXIT_USAGE = 2 };

static Terminal terminal_read(void)
{
        static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
        const char *no_colour = g_getenv("NO_COLOR"), *term = g_getenv("TERM"),
                   *columns = g_getenv("COLUMNS");
        bool colour = (!no_colour || !*no_colour) && term && strcmp(term, "dumb") != 0;
        Terminal terminal = { .width = 80,
                              .out_is_terminal = isatty(STDOUT_FILENO),
                              .err_is_terminal = isatty(STDERR_FILENO) };
        struct winsize size;
        gint64 said;

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                const char *value = g_getenv(names[i]);

                if (!value || !*value)
                        continue;
                terminal.utf8 = strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8");
                break;
        }
        terminal.out_colour = colour && terminal.out_is_terminal;
        terminal.err_colour = colour && terminal.err_is_terminal;
        if ((terminal.err_is_terminal || terminal.out_is_terminal) &&
            ioctl(terminal.err_is_terminal ? STDERR_FILENO : STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
            size.ws_col > 0)
                terminal.width = size.ws_col;
        if ((terminal.err_is_terminal || terminal.out_is_terminal) && columns && *columns &&
            number_parse("COLUMNS", columns, 1, G_MAXINT16, &said, NULL))
                terminal.width = (int)said;
        return terminal;
}

void cli_print(const char *format, ...)
{
        g_autofree char *text = NULL, *visible = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        visible = text_visible(text);
        puts(visible);
}

void cli_say(const Cli *cli, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
}

void cli_warn(const Cli *cli, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        fprintf(stderr,
                cli->terminal.err_colour ? "paddle: \033[33mwarning:\033[0m %s\n" : "paddle: warning: %s\n",
                text);
}

void cli_print_error(const Cli *cli, const GError *error)
{
        g_autofree char *text = err_text(error);

        fprintf(stderr, cli->terminal.err_colour ? "paddle: \033[31m%s\033[0m\n" : "paddle: %s\n", text);
        if (err_hint(error))
                fprintf(stderr, "%s\n", err_hint(error));
}

bool cli_each(Cli *cli, char *const *words, guint n, CliEach *one, void *arg, GError **error)
{
        g_autoptr(GError) first = NULL;

        for (guint i = 0; i < n && !err_is(first, ERR_UNREACHABLE); i++) {
                g_autoptr(GError) cause = NULL;

                if (one(cli, words[i], arg, &cause))
                        continue;
                if (first)
                        cli_print_error(cli, cause);
                else
                        first = g_steal_pointer(&cause);
        }
        if (!first)
                return true;
        g_propagate_error(error, g_steal_pointer(&first));
        return false;
}

/* Why standard output takes nothing. Something was lost by an earlier write, whose reason is not known any more, so one more
 * is tried; an end of a line does no harm there. */
static int why_unwritten(void)
{
        return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

bool cli_flush(GError **error)
{
        int failed = fflush(stdout) == 0 ? 0 : errno;

        if (!failed && !ferror(stdout))
                return true;
        return err_set_errno(error, failed ? failed : why_unwritten(), "cannot write to standard output");
}

char *job_path(const char *job, const char *suffix)
{
        g_autofree char *escaped = url_escape(job);

        return g_strconcat("/v1/jobs/", escaped, suffix, NULL);
}

HttpClient *cli_client(Cli *cli, GError **error)
{
        g_autoptr(Discovery) found = NULL;

        if (cli->client)
                return cli->client;
        found = discover(cli->common->server, cli->common->token, DISCOVER_START, error);
        if (found)
                cli->client = discovery_client(found, found->token, error);
        return cli->client;
}

static bool check_jobs(char *const *words, int n, GError **error)
{
        enum { SHOWN = 70 };

        for (; *words && n > 0; words++, n--) {
                g_autofree char *visible = text_visible(*words);
                g_autofree char *shown = text_cut_columns(visible, SHOWN, false);

                if (!job_word_is_valid(*words))
                        return err_set(error, ERR_USAGE,
                                       "'%s' is not a job's name or id: 1 to 63 characters a-z, 0-9 and '-', "
                                       "and '[3]' behind an array's name for one of its jobs\n"
                                       "`paddle list` shows your jobs.",
                                       shown);
        }
        return true;
}

/* "-p NAME VALUE": the value became a word of its own. Advice for it, or the usage; the caller's. */
static char *advice_for(const Verb *verb, char *const *argv, const char *word)
{
        for (char *const *at = argv; at[0] && at[1] && at[2]; at++)
                if ((strcmp(at[0], "-p") == 0 || strcmp(at[0], "--parameter") == 0) && !strchr(at[1], '=') &&
                    strcmp(at[2], word) == 0)
                        return g_strdup_printf("Write -p %.80s=%.80s.", at[1], word);
        return help_usage(verb);
}

static bool check_words(const Verb *verb, char *const *argv, char *const *words, GError **error)
{
        int n = (int)g_strv_length((char **)words);
        g_autofree char *usage = help_usage(verb);

        if (n < verb->min_words)
                return err_set(error, ERR_USAGE, "'paddle %s' needs %s\n%s", verb->name, verb->args, usage);
        if (verb->max_words >= 0 && n > verb->max_words) {
                g_autofree char *advice = advice_for(verb, argv, words[verb->max_words]);

                return err_set(error, ERR_USAGE, "'paddle %s' does not take '%s'\n%s", verb->name,
                               words[verb->max_words], advice);
        }
        if (verb->words == WORDS_MEMBER) {
                g_autofree char *job = g_strndup(words[0], strcspn(words[0], "/"));

                return check_jobs((char *[]){ job, NULL }, 1, error);
        }
        return check_jobs(words,
                          verb->words == WORDS_JOBS  ? G_MAXINT
                          : verb->words == WORDS_JOB ? 1
                                                     : 0,
                          error);
}

/* True if "--" precedes the words, which are the last `n` of the line. */
static bool ends_options(int argc, char *const *argv, int n)
{
        return n < argc && strcmp(argv[argc - n - 1], "--") == 0;
}

static bool run_verb(Cli *cli, const Verb *verb, void *target, int argc, char *const *argv, GError **error)
{
        g_auto(GStrv) words = NULL;

        if (!options_parse(verb->options, target, argc, argv, verb->stop_at_word, &words, error))
                return err_prefix(error, "%s: ", verb->name);
        cli->common = target;
        cli->verb = verb;
        cli->said_end = verb->stop_at_word && ends_options(argc, argv, (int)g_strv_length(words));
        if (cli->common->help) {
                g_autofree char *help = help_verb(verb, cli->terminal.width);

                fputs(help, stdout);
                return true;
        }
        return check_words(verb, argv, words, error) && verb->run(cli, target, words, error);
}

/* True if another token would help. It would not for a disabled account, or with a certificate. */
static bool asks_for_token(const GError *error)
{
        const char *hint = err_hint(error);

        return !hint || strstr(hint, "paddle token create");
}

/* The server's hint is about headers; users of the command line have flags and files. */
static void print_failure(const Cli *cli, const GError *error)
{
        g_autofree char *text = err_text(error);
        g_autoptr(GError) told = NULL;

        if (!err_is(error, ERR_UNAUTHENTICATED) || !asks_for_token(error)) {
                cli_print_error(cli, error);
                return;
        }
        (void)err_set(&told, ERR_UNAUTHENTICATED, /* returns false */
                      "%s\n`paddle login` gets a token with a password. Else give one with --token, "
                      "PADDLE_TOKEN or 'token:' in "
                      "the configuration; `paddle token create` on the server's machine makes one.",
                      text);
        cli_print_error(cli, told);
}

static int finish(const Cli *cli, bool ok, GError *error)
{
        g_autoptr(GError) late = NULL;

        if (!ok)
                print_failure(cli, error);
        if (!cli_flush(&late) && ok) {
                cli_print_error(cli, late);
                return err_row(late)->exit;
        }
        return ok ? cli->status : err_row(error)->exit;
}

static int dispatch(Cli *cli, const Verb *verb, const Common *before, int argc, char *const *argv)
{
        g_autoptr(GError) error = NULL;
        g_autofree void *target = g_malloc0(verb->size);
        Common *common = target;
        bool ok;
        int status;

        options_set_defaults(verb->options, target);
        common->server = g_strdup(before->server);
        common->token = g_strdup(before->token);
        common->help = before->help; /* `paddle -h cancel j` cancels nothing */
        ok = run_verb(cli, verb, target, argc, argv, &error);
        status = finish(cli, ok, error);
        options_clear(verb->options, target);
        g_clear_pointer(&cli->client, http_client_free);
        return status;
}

static int no_such_verb(const Cli *cli, const char *first, const char *second, const char *near)
{
        cli_say(cli, "paddle: there is no verb '%.64s%s%.64s'", first, *second ? " " : "", second);
        if (near)
                cli_say(cli, "Did you mean 'paddle %s'?", near);
        else
                cli_say(cli, "`paddle help%s%s` lists the verbs.", *second ? " " : "", *second ? first : "");
        return EXIT_USAGE;
}

/* Options may also precede the verb: `paddle --server URL list`. */
static const Option front_options[] = {
        COMMON_OPTIONS,
        { "version", 'V', OPTION_BOOL, sizeof(Common), NULL, "as the verb 'version'" },
        { 0 },
};

typedef struct {
        Common common;
        bool version;
} Front;
G_STATIC_ASSERT(offsetof(Front, version) == sizeof(Common));

/* "run python": the first word is half of a verb, the second is not. */
static int unknown_second(const Cli *cli, const char *first, const char *second)
{
        g_autofree char *both = g_strconcat(first, " ", second, NULL);
        const char *elsewhere = verb_elsewhere(both);
        const char *near = elsewhere ? elsewhere : verb_nearest_of(cli_verbs, first, second);

        elsewhere = verb_elsewhere(first);
        if (near || !elsewhere)
                return no_such_verb(cli, first, second, near);
        if (strcmp(first, "run") == 0 &&
            (g_str_has_suffix(second, ".yaml") || g_str_has_suffix(second, ".yml")))
                elsewhere = "run create -f FILE";
        cli_say(cli,
                "paddle: '%s' has no verb '%.64s'\nDid you mean 'paddle %s'? `paddle help %s` lists the verbs.",
                first, second, elsewhere, first);
        return EXIT_USAGE;
}

/* "queue" alone is half of a verb: shows the verbs that start with it. */
static int unknown_verb(const Cli *cli, const Front *front, char *const *words)
{
        static const char *const asking[] = { "--help", "-h", "help", NULL };
        g_autofree char *family = help_family(cli_verbs, words[0]);
        bool asked = front->common.help || (words[1] && g_strv_contains(asking, words[1]));

        if (family && asked) {
                fputs(family, stdout);
                return 0;
        }
        if (!family)
                return no_such_verb(cli, words[0], "", verb_nearest(cli_verbs, words[0]));
        if (words[1] && words[1][0] != '-')
                return unknown_second(cli, words[0], words[1]);
        cli_say(cli, "paddle: '%s' needs one more word\n%s", words[0], g_strchomp(family));
        return EXIT_USAGE;
}

static int print_overview(FILE *to, int status)
{
        g_autofree char *text = help_overview(cli_verbs, cli_groups);

        fputs(text, to);
        return status;
}

static int run_words(Cli *cli, const Front *front, int argc, char **words)
{
        static char version[] = "version";
        char *version_words[] = { version, NULL };
        const Verb *verb;
        int used = 0;

        if (front->version) {
                words = version_words;
                argc = 1;
        }
        if (argc == 0)
                return front->common.help ? print_overview(stdout, 0) : print_overview(stderr, EXIT_USAGE);
        verb = verb_find(cli_verbs, argc, words, &used);
        if (!verb)
                return unknown_verb(cli, front, words);
        return dispatch(cli, verb, &front->common, argc - used, words + used);
}

int cli_run(int argc, char *const *argv)
{
        Cli cli = { .terminal = terminal_read() };
        Front front = { 0 };
        g_auto(GStrv) words = NULL;
        g_autoptr(GError) error = NULL;
        int status = EXIT_USAGE;

        if (options_parse(front_options, &front, argc, argv, true, &words, &error))
                status = run_words(&cli, &front, (int)g_strv_length(words), words);
        else
                cli_print_error(&cli, error);
        options_clear(front_options, &front);
        return status;
}
