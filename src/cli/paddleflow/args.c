/* The command line (see args.h). The rules are click's, which the older client stands on: the longest name of
 * an option is tried first, then its letters. */
#include "cli/paddleflow/args.h"

#include <string.h>

#include "base/err.h"

enum { HELP_INDENT = 26 };

static const PaddleFlowParam front_options[] = {
        { "pf_config", NULL, PADDLEFLOW_TEXT, NULL, "the path of the configuration file" },
        { "output", NULL, PADDLEFLOW_TEXT, NULL, "the output format", .fallback = "table",
          .choices = "table|json|text" },
        { 0 },
};

void paddleflow_args_clear(PaddleFlowArgs *args)
{
        g_free(args->config);
        g_free(args->output);
        g_free(args->help);
        for (gsize i = 0; i < G_N_ELEMENTS(args->words); i++)
                g_free(args->words[i]);
        for (gsize i = 0; i < G_N_ELEMENTS(args->options); i++)
                g_free(args->options[i]);
        *args = (PaddleFlowArgs){ 0 };
}

/* ---- help ---- */

/* "paddleflow queue create [OPTIONS] NAME NAMESPACE" */
static void append_usage(GString *out, const char *group, const PaddleFlowCommand *command)
{
        g_string_append(out, "Usage: paddleflow");
        if (*group)
                g_string_append_printf(out, " %s", group);
        if (!command) {
                g_string_append(out, " [OPTIONS] COMMAND [ARGS]...\n");
                return;
        }
        g_string_append_printf(out, " %s [OPTIONS]", command->name);
        for (const PaddleFlowParam *word = command->words; word && word->name; word++)
                g_string_append_printf(out, " %s", word->name);
        g_string_append_c(out, '\n');
}

static void append_option(GString *out, const PaddleFlowParam *option)
{
        g_autoptr(GString) left = g_string_new(NULL);
        g_autofree char *right =
                g_strconcat(option->help ? option->help : "", option->required ? "  [required]" : "", NULL);

        if (option->flag)
                g_string_append_printf(left, "%s, ", option->flag);
        g_string_append_printf(left, "--%s", option->name);
        if (option->choices)
                g_string_append_printf(left, " [%s]", option->choices);
        else if (option->type != PADDLEFLOW_FLAG)
                g_string_append(left, option->type == PADDLEFLOW_INT ? " INTEGER" : " TEXT");
        if ((int)left->len < HELP_INDENT - 2)
                g_string_append_printf(out, "  %-*s%s\n", HELP_INDENT - 2, left->str, right);
        else
                g_string_append_printf(out, "  %s\n  %*s%s\n", left->str, HELP_INDENT - 2, "", right);
}

static char *command_help(const char *group, const PaddleFlowCommand *command)
{
        g_autoptr(GString) out = g_string_new(NULL);

        append_usage(out, group, command);
        g_string_append_printf(out, "\n  %s\n\nOptions:\n", command->help);
        for (const PaddleFlowParam *option = command->options; option && option->name; option++)
                append_option(out, option);
        g_string_append_printf(out, "  %-*s%s\n", HELP_INDENT - 2, "--help", "Show this message and exit.");
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static void append_commands(GString *out, const PaddleFlowGroup *group)
{
        for (const PaddleFlowCommand *command = group->commands; command->name; command++)
                g_string_append_printf(out, "  %-14s%s\n", command->name, command->help);
}

static char *group_help(const PaddleFlowGroup *group)
{
        g_autoptr(GString) out = g_string_new(NULL);

        append_usage(out, group->name, NULL);
        g_string_append_printf(out,
                               "\n  %s\n\nOptions:\n  --help  Show this message and exit.\n\nCommands:\n",
                               group->help);
        append_commands(out, group);
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *front_help(void)
{
        g_autoptr(GString) out = g_string_new(NULL);

        append_usage(out, "", NULL);
        g_string_append(out, "\n  The command line of PaddleFlow's interface.\n\nOptions:\n");
        for (const PaddleFlowParam *option = front_options; option->name; option++)
                append_option(out, option);
        g_string_append_printf(out, "  %-*s%s\n\nCommands:\n", HELP_INDENT - 2, "--help",
                               "Show this message and exit.");
        for (const PaddleFlowGroup *group = paddleflow_groups; group->name; group++)
                if (*group->name)
                        g_string_append_printf(out, "  %-14s%s\n", group->name, group->help);
                else
                        append_commands(out, group);
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- parsing ---- */

typedef struct {
        const char *group; /* of the usage line */
        const PaddleFlowCommand *command;
        const PaddleFlowParam *options;
        char **values; /* of the options */
        int argc;
        char *const *argv;
        int at;
        bool help;
} Line;

static bool wrong(const Line *line, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

static bool wrong(const Line *line, GError **error, const char *format, ...)
{
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        append_usage(out, line->group, line->command);
        g_string_append_printf(out, "Try 'paddleflow%s%s%s%s --help' for help.\n\nError: %s",
                               *line->group ? " " : "", line->group, line->command ? " " : "",
                               line->command ? line->command->name : "", text);
        g_set_error_literal(error, ERR_DOMAIN, ERR_USAGE,
                            out->str); /* of several lines, which err_set would mask */
        return false;
}

/* "'-m' / '--maxsize'" */
static char *option_text(const PaddleFlowParam *option)
{
        return option->flag ? g_strdup_printf("'%s' / '--%s'", option->flag, option->name)
                            : g_strdup_printf("'--%s'", option->name);
}

static bool is_integer(const char *text)
{
        gint64 number;

        return g_ascii_string_to_signed(text + (*text == '+'), 10, G_MININT64, G_MAXINT64, &number, NULL);
}

static bool is_choice(const char *choices, const char *text)
{
        g_auto(GStrv) list = g_strsplit(choices, "|", -1);

        return g_strv_contains((const char *const *)list, text);
}

static bool check_value(const Line *line, const PaddleFlowParam *option, const char *value, GError **error)
{
        g_autofree char *what = option_text(option);
        g_autofree char *list = option->choices ? g_strdelimit(g_strdup(option->choices), "|", ',') : NULL;

        if (!g_utf8_validate(value, -1, NULL))
                return wrong(line, error, "Invalid value for %s: it is not UTF-8", what);
        if (option->type == PADDLEFLOW_INT && !is_integer(value))
                return wrong(line, error, "Invalid value for %s: %s is not a valid integer", what, value);
        if (option->choices && !is_choice(option->choices, value))
                return wrong(line, error, "Invalid value for %s: invalid choice: %s. (choose from %s)", what,
                             value, list);
        return true;
}

static bool set_value(Line *line, const PaddleFlowParam *option, const char *value, GError **error)
{
        char **slot = &line->values[option - line->options];

        g_autofree char *was = NULL;

        if (!check_value(line, option, value, error))
                return false;
        was = *slot;
        *slot = was && option->type == PADDLEFLOW_PAIRS      ? g_strconcat(was, "\n", value, NULL)
                : was && option->type == PADDLEFLOW_REPEATED ? g_strconcat(was, ",", value, NULL)
                                                             : g_strdup(value);
        return true;
}

/* The option that `name` (with its dashes, `len` bytes) is. */
static const PaddleFlowParam *find_option(const Line *line, const char *name, gsize len)
{
        for (const PaddleFlowParam *option = line->options; option && option->name; option++) {
                g_autofree char *full = g_strconcat("--", option->name, NULL);

                if ((strlen(full) == len && strncmp(full, name, len) == 0) ||
                    (option->flag && strlen(option->flag) == len && strncmp(option->flag, name, len) == 0))
                        return option;
        }
        return NULL;
}

static bool take_with(Line *line, const PaddleFlowParam *option, const char *value, GError **error)
{
        if (option->type == PADDLEFLOW_FLAG)
                return value ? wrong(line, error, "--%s option does not take a value", option->name)
                             : set_value(line, option, "true", error);
        if (!value && line->at + 1 >= line->argc)
                return wrong(line, error, "--%s option requires an argument", option->name);
        return set_value(line, option, value ? value : line->argv[++line->at], error);
}

static bool take_option(Line *line, GError **error)
{
        const char *word = line->argv[line->at], *equals = strchr(word, '=');
        gsize len = equals ? (gsize)(equals - word) : strlen(word);
        const PaddleFlowParam *option = find_option(line, word, len);

        if (strcmp(word, "--help") == 0) {
                line->help = true;
                return true;
        }
        if (option)
                return take_with(line, option, equals ? equals + 1 : NULL, error);
        if (word[1] != '-') { /* -mVALUE */
                option = find_option(line, word, 2);
                if (option && option->type != PADDLEFLOW_FLAG)
                        return take_with(line, option, word + 2, error);
        }
        return wrong(line, error, "no such option: %.*s", (int)MIN(len, 100), word);
}

/* The environment's value, when none was said: PADDLEFLOW_<GROUP>_<COMMAND>_<OPTION>. */
static bool take_environment(Line *line, GError **error)
{
        for (const PaddleFlowParam *option = line->options; option && option->name; option++) {
                g_autofree char *name =
                        g_strdup_printf("PADDLEFLOW_%s%s%s%s%s", line->group, *line->group ? "_" : "",
                                        line->command ? line->command->name : "", line->command ? "_" : "",
                                        option->name);
                const char *value;
                char **slot = &line->values[option - line->options];

                for (char *c = name; *c; c++)
                        *c = *c == '-' ? '_' : g_ascii_toupper(*c);
                value = g_getenv(name);
                if (!*slot && value && *value && !set_value(line, option, value, error))
                        return false;
                if (!*slot && option->fallback)
                        *slot = g_strdup(option->fallback);
        }
        return true;
}

static bool check_required(const Line *line, GError **error)
{
        for (const PaddleFlowParam *option = line->options; option && option->name; option++) {
                g_autofree char *what = option_text(option);

                if (option->required && !line->values[option - line->options])
                        return wrong(line, error, "Missing option %s.", what);
        }
        return true;
}

static guint count_params(const PaddleFlowParam *params)
{
        guint n = 0;

        while (params && params[n].name)
                n++;
        return n;
}

static bool check_words(const Line *line, char *const *words, guint n, GError **error)
{
        guint wanted = count_params(line->command->words);

        if (n < wanted)
                return wrong(line, error, "Missing argument '%s'.", line->command->words[n].name);
        if (n > wanted)
                return wrong(line, error, "Got unexpected extra argument%s (%.100s)",
                             n > wanted + 1 ? "s" : "", words[wanted]);
        for (guint i = 0; i < n; i++) {
                const PaddleFlowParam *word = &line->command->words[i];

                if (!g_utf8_validate(words[i], -1, NULL))
                        return wrong(line, error, "Invalid value for '%s': it is not UTF-8", word->name);
                if (word->choices && !is_choice(word->choices, words[i]))
                        return wrong(line, error,
                                     "Invalid value for '%s': invalid choice: %.100s. (choose from %s)",
                                     word->name, words[i], word->choices);
        }
        return true;
}

/* Options and words behind the command. */
static bool parse_command(Line *line, PaddleFlowArgs *args, GError **error)
{
        g_autoptr(GPtrArray) words = g_ptr_array_new();
        bool options_end = false;

        for (; line->at < line->argc; line->at++) {
                char *word = line->argv[line->at];

                if (!options_end && strcmp(word, "--") == 0)
                        options_end = true;
                else if (options_end || word[0] != '-' || !word[1])
                        g_ptr_array_add(words, word);
                else if (!take_option(line, error))
                        return false;
        }
        if (line->help) {
                args->help = command_help(line->group, line->command);
                return true;
        }
        g_ptr_array_add(words, NULL);
        if (!take_environment(line, error) ||
            !check_words(line, (char **)words->pdata, words->len - 1, error) || !check_required(line, error))
                return false;
        for (guint i = 0; i + 1 < words->len; i++)
                args->words[i] = g_strdup(words->pdata[i]);
        args->command = line->command;
        return true;
}

static const PaddleFlowGroup *find_group(const char *name)
{
        for (const PaddleFlowGroup *group = paddleflow_groups; group->name; group++)
                if (strcmp(group->name, name) == 0)
                        return group;
        return NULL;
}

static const PaddleFlowCommand *find_command(const PaddleFlowGroup *group, const char *name)
{
        for (const PaddleFlowCommand *command = group->commands; command->name; command++)
                if (strcmp(command->name, name) == 0)
                        return command;
        return NULL;
}

/* Options before the first word that is none. */
static bool parse_front(Line *line, GError **error)
{
        for (; line->at < line->argc && line->argv[line->at][0] == '-'; line->at++)
                if (!take_option(line, error))
                        return false;
        return true;
}

static bool parse_group(Line *line, const PaddleFlowGroup *group, PaddleFlowArgs *args, GError **error)
{
        Line inside = { .group = group->name, .argc = line->argc, .argv = line->argv, .at = line->at + 1 };
        const char *word;

        if (!parse_front(&inside, error))
                return false;
        if (inside.help || inside.at >= inside.argc) {
                args->help = group_help(group);
                return true;
        }
        word = inside.argv[inside.at];
        inside.command = find_command(group, word);
        if (!inside.command)
                return wrong(&inside, error, "No such command '%.100s'.", word);
        inside.options = inside.command->options;
        inside.values = args->options;
        inside.at++;
        return parse_command(&inside, args, error);
}

static bool parse_line(Line *line, PaddleFlowArgs *args, GError **error)
{
        const PaddleFlowGroup *group;
        const char *word;

        if (!parse_front(line, error) || !take_environment(line, error))
                return false;
        if (line->help || line->at >= line->argc) {
                args->help = front_help();
                return true;
        }
        word = line->argv[line->at];
        group = find_group(word);
        if (group && *word)
                return parse_group(line, group, args, error);
        line->command = find_command(find_group(""), word);
        if (!line->command)
                return wrong(line, error, "No such command '%.100s'.", word);
        line->options = line->command->options;
        line->values = args->options;
        line->at++;
        return parse_command(line, args, error);
}

bool paddleflow_args_parse(int argc, char *const *argv, PaddleFlowArgs *ret, GError **error)
{
        g_auto(PaddleFlowArgs) args = { 0 };
        char *front[G_N_ELEMENTS(front_options)] = { NULL };
        Line line = { .group = "", .options = front_options, .values = front, .argc = argc, .argv = argv };
        bool ok = parse_line(&line, &args, error);

        args.config = front[0];
        args.output = front[1];
        if (!ok)
                return false;
        *ret = args;
        args = (PaddleFlowArgs){ 0 };
        return true;
}
