/* Options from a table (see option.h). A row is found by name, letter or alias. One function converts text to
 * the field, whether it comes from the command line, a configuration file or the row's default.
 *
 * Invariants: a field changes only after its new value was accepted, and a target owns its strings. */
#include "base/option.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/word.h"

enum {
        HELP_COLUMN_MAX = 32, /* a longer left part gets a line of its own */
};

/* ---- values ---- */

static bool set_string(char **field, const char *value)
{
        g_free(*field);
        *field = g_strdup(value);
        return true;
}

static bool add_to_list(GPtrArray **field, const char *value)
{
        if (!*field)
                *field = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(*field, g_strdup(value));
        return true;
}

static bool set_switch(const char *what, const char *value, int *field, GError **error)
{
        bool on;

        if (!boolean_parse(what, value, &on, error))
                return false;
        *field = on ? 1 : -1;
        return true;
}

/* `what` is the name as the user wrote it: "--trainers", "-n", or the key of a configuration file. */
static bool set_value(const Option *option, void *target, const char *what, const char *value, GError **error)
{
        void *field = (char *)target + option->offset;

        switch (option->type) {
        case OPTION_STRING:
        case OPTION_OPTIONAL: return set_string(field, value);
        case OPTION_LIST: return add_to_list(field, value);
        case OPTION_BOOL: return boolean_parse(what, value, field, error);
        case OPTION_SWITCH: return set_switch(what, value, field, error);
        case OPTION_DURATION:
                return duration_parse_unit(what, value, field, error) &&
                       (*(gint64 *)field >= option->min ||
                        err_set(error, ERR_USAGE, "%s: the least is %" G_GINT64_FORMAT " s", what,
                                option->min / 1000));
        case OPTION_INT:
                return number_parse(what, value, option->min, option->max ? option->max : G_MAXINT64, field,
                                    error);
        }
        g_assert_not_reached();
}

static void clear_value(const Option *option, void *target)
{
        void *field = (char *)target + option->offset;

        switch (option->type) {
        case OPTION_STRING:
        case OPTION_OPTIONAL: g_clear_pointer((char **)field, g_free); break;
        case OPTION_LIST: g_clear_pointer((GPtrArray **)field, g_ptr_array_unref); break;
        case OPTION_BOOL: *(bool *)field = false; break;
        case OPTION_SWITCH: *(int *)field = 0; break;
        case OPTION_INT:
        case OPTION_DURATION: *(gint64 *)field = 0; break;
        }
}

void options_set_defaults(const Option *options, void *target)
{
        for (const Option *option = options; option->name; option++) {
                g_autoptr(GError) error = NULL;

                if (!option->fallback)
                        continue;
                clear_value(option, target);
                if (!set_value(option, target, option->name, option->fallback, &error))
                        g_error("default of --%s: %s", option->name, error->message);
        }
}

void options_clear(const Option *options, void *target)
{
        for (const Option *option = options; option->name; option++)
                clear_value(option, target);
}

/* ---- finding a row ---- */

static const Option *find_name(const Option *options, const char *name, size_t len)
{
        for (const Option *option = options; option->name; option++)
                if ((strncmp(option->name, name, len) == 0 && !option->name[len]) ||
                    (option->alias && strncmp(option->alias, name, len) == 0 && !option->alias[len]))
                        return option;
        return NULL;
}

static const Option *find_letter(const Option *options, char letter)
{
        for (const Option *option = options; option->name; option++)
                if (option->letter && option->letter == letter)
                        return option;
        return NULL;
}

/* The only name that starts with `name`, so that `--mem` suggests --memory; NULL: none, or several. */
static const char *longer_name(const Option *options, const char *name)
{
        const char *found = NULL;

        for (const Option *option = options; strlen(name) >= 2 && option->name; option++) {
                if (!g_str_has_prefix(option->name, name))
                        continue;
                if (found && strcmp(found, option->name) != 0)
                        return NULL;
                found = option->name;
        }
        return found;
}

/* The most similar known name, or NULL if none is similar enough. "params" is "param", too. */
static const char *nearest_name(const Option *options, const char *name)
{
        g_autofree char *singular = g_strndup(name, strlen(name) - g_str_has_suffix(name, "s"));
        const char *nearest = longer_name(options, singular);
        int best = (int)MIN(strlen(name), 12) / 3 + 2; /* a third of the letters wrong, and one more */

        if (nearest)
                return nearest;
        for (const Option *option = options; option->name; option++) {
                const char *names[] = { option->name, option->alias };

                for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                        int far = names[i] ? word_distance(name, names[i]) : best;

                        if (far < best) {
                                best = far;
                                nearest = names[i];
                        }
                }
        }
        return nearest;
}

static bool unknown_name(const Option *options, ErrCode code, const char *dashes, const char *name,
                         GError **error)
{
        const char *nearest = nearest_name(options, name);

        if (!nearest)
                return err_set(error, code, "there is no option '%s%s'", dashes, name);
        return err_set(error, code, "there is no option '%s%s'\nDid you mean %s%s?", dashes, name, dashes,
                       nearest);
}

bool options_set(const Option *options, void *target, const char *name, const char *value, GError **error)
{
        const Option *option = find_name(options, name, strlen(name));

        if (!option)
                return unknown_name(options, ERR_INVALID, "", name, error);
        return set_value(option, target, name, value, error);
}

/* ---- the command line ---- */

typedef struct {
        const Option *options;
        void *target;
        int argc;
        char *const *argv;
        int at;          /* index of the current word */
        GPtrArray *rest; /* of char *, owned */
} Line;

/* The next word, as the value of `option`; NULL with an error at the end of the line. */
static const char *next_word(Line *line, const Option *option, const char *what, GError **error)
{
        if (line->at + 1 < line->argc)
                return line->argv[++line->at];
        err_set(error, ERR_USAGE, "%s needs a value: %s %s", what, what, option->arg ? option->arg : "VALUE");
        return NULL;
}

/* What it means without a value; NULL: it needs one. */
static const char *value_alone(const Option *option)
{
        switch (option->type) {
        case OPTION_BOOL:
        case OPTION_SWITCH: return "true";
        case OPTION_OPTIONAL: return "";
        default: return NULL;
        }
}

/* The switch that "no-NAME" turns off, or NULL. */
static const Option *find_denied(const Option *options, const char *name, size_t len)
{
        static const char no[] = "no-";
        size_t skip = strlen(no);
        const Option *option = len > skip && strncmp(name, no, skip) == 0
                                       ? find_name(options, name + skip, len - skip)
                                       : NULL;

        return option && option->type == OPTION_SWITCH ? option : NULL;
}

static bool take_long(Line *line, GError **error)
{
        const char *name = line->argv[line->at] + 2;
        size_t len = strcspn(name, "=:");
        const Option *option = find_name(line->options, name, len);
        g_autofree char *what = g_strdup_printf("--%.*s", (int)MIN(len, 200), name);
        const char *value = name[len] ? name + len + 1 : NULL;

        if (!option && !value && (option = find_denied(line->options, name, len)))
                return set_value(option, line->target, what, "false", error);
        if (!option)
                return unknown_name(line->options, ERR_USAGE, "--", what + 2, error);
        if (!value)
                value = value_alone(option);
        if (!value && !(value = next_word(line, option, what, error)))
                return false;
        return set_value(option, line->target, what, value, error);
}

/* "-svg": a long name with one dash. */
static bool unknown_letter(const Line *line, const char *letter, GError **error)
{
        const char *word = line->argv[line->at] + 1;
        int len = (int)strcspn(word, "=:");
        bool is_long = find_name(line->options, word, (size_t)len);

        return err_set(error, ERR_USAGE, "there is no option '-%.*s'%s%.*s%s",
                       (int)(g_utf8_next_char(letter) - letter), letter, is_long ? "\nDid you mean --" : "",
                       is_long ? len : 0, word, is_long ? "?" : "");
}

/* "-x VALUE", "-xVALUE", "-x=VALUE"; letters of bools may share a dash: "-fv". */
static bool take_short(Line *line, GError **error)
{
        for (const char *letter = line->argv[line->at] + 1; *letter; letter++) {
                const Option *option = find_letter(line->options, *letter);
                char what[] = { '-', *letter, '\0' };
                const char *value = letter + 1;

                if (!option)
                        return unknown_letter(line, letter, error);
                if (value_alone(option) && *value != '=') {
                        if (!set_value(option, line->target, what, value_alone(option), error))
                                return false;
                        continue;
                }
                if (*value == '=')
                        value++;
                else if (!*value && !(value = next_word(line, option, what, error)))
                        return false;
                return set_value(option, line->target, what, value, error);
        }
        return true;
}

static void take_rest(Line *line)
{
        for (; line->at < line->argc; line->at++)
                g_ptr_array_add(line->rest, g_strdup(line->argv[line->at]));
}

static bool take_word(Line *line, bool stop_at_word, GError **error)
{
        const char *word = line->argv[line->at];

        if (word[0] != '-' || !word[1]) { /* a single dash is a positional word: standard input */
                if (stop_at_word)
                        take_rest(line);
                else
                        g_ptr_array_add(line->rest, g_strdup(word));
                return true;
        }
        if (strcmp(word, "--") == 0) {
                line->at++;
                take_rest(line);
                return true;
        }
        return word[1] == '-' ? take_long(line, error) : take_short(line, error);
}

bool options_parse(const Option *options, void *target, int argc, char *const *argv, bool stop_at_word,
                   char ***ret_rest, GError **error)
{
        g_autoptr(GPtrArray) rest = g_ptr_array_new_with_free_func(g_free);
        Line line = { .options = options, .target = target, .argc = argc, .argv = argv, .rest = rest };

        for (; line.at < argc; line.at++) {
                g_autoptr(GError) cause = NULL;

                if (!take_word(&line, stop_at_word, &cause))
                        return err_set(error, ERR_USAGE, "%s", cause->message);
        }
        g_ptr_array_add(rest, NULL);
        *ret_rest = (char **)g_ptr_array_steal(rest, NULL);
        return true;
}

/* ---- help ---- */

static char *left_part(const Option *option)
{
        g_autoptr(GString) text = g_string_new("  ");

        if (option->letter)
                g_string_append_printf(text, "-%c, ", option->letter);
        else
                g_string_append(text, "    ");
        g_string_append_printf(text, option->type == OPTION_SWITCH ? "--[no-]%s" : "--%s", option->name);
        if (option->arg)
                g_string_append_printf(text, value_alone(option) ? "[=%s]" : " %s", option->arg);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The help sentence with the default, and whether the option may be repeated. A default of "false" is not
 * shown. */
static char *right_part(const Option *option)
{
        GString *text = g_string_new(option->help);
        bool shown = option->fallback && option->fallback[0] &&
                     !(option->type == OPTION_BOOL && strcmp(option->fallback, "false") == 0);

        if (option->type == OPTION_LIST)
                g_string_append(text, " (repeatable)");
        if (shown)
                g_string_append_printf(text, " (default %s)", option->fallback);
        return g_string_free(text, FALSE);
}

static int help_column(const Option *options)
{
        int column = 0;

        for (const Option *option = options; option->name; option++) {
                g_autofree char *left = left_part(option);
                int width = (int)g_utf8_strlen(left, -1) + 2;

                if (option->help && width <= HELP_COLUMN_MAX)
                        column = MAX(column, width);
        }
        return column ? column : HELP_COLUMN_MAX;
}

/* Appends `text` word by word from `column` on, breaking lines before `width`. The cursor is at `column`. */
static void append_wrapped(GString *out, const char *text, int column, int width)
{
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        int at = column;

        for (char **word = words; *word; word++) {
                int len = (int)g_utf8_strlen(*word, -1);

                if (at > column && at + 1 + len > width) {
                        g_string_append_printf(out, "\n%*s", column, "");
                        at = column;
                }
                g_string_append_printf(out, "%s%s", at > column ? " " : "", *word);
                at += len + (at > column);
        }
        g_string_append_c(out, '\n');
}

char *options_help(const Option *options, int width)
{
        GString *out = g_string_new(NULL);
        int column = help_column(options);

        for (const Option *option = options; option->name; option++) {
                g_autofree char *left = left_part(option), *right = NULL;
                int at = (int)g_utf8_strlen(left, -1);

                if (!option->help)
                        continue;
                if (option->group)
                        g_string_append_printf(out, "%s%s:\n", out->len ? "\n" : "", option->group);
                right = right_part(option);
                g_string_append(out, left);
                if (at + 2 > column)
                        g_string_append_printf(out, "\n%*s", column, "");
                else
                        g_string_append_printf(out, "%*s", column - at, "");
                append_wrapped(out, right, column, width);
        }
        return g_string_free(out, FALSE);
}

/* Text for man(7): escapes what troff would read as a command or as a typographic hyphen. */
static void append_man(GString *out, const char *text)
{
        if (*text == '.' || *text == '\'')
                g_string_append(out, "\\&");
        for (; *text; text++) {
                if (*text == '\\')
                        g_string_append(out, "\\e");
                else if (*text == '-')
                        g_string_append(out, "\\-");
                else
                        g_string_append_c(out, *text);
        }
}

static void append_man_name(GString *out, const Option *option)
{
        g_string_append(out, ".TP\n");
        if (option->letter)
                g_string_append_printf(out, "\\fB\\-%c\\fR, ", option->letter);
        g_string_append(out, "\\fB\\-\\-");
        if (option->type == OPTION_SWITCH)
                g_string_append(out, "[no\\-]");
        append_man(out, option->name);
        g_string_append(out, "\\fR");
        if (option->arg) {
                g_string_append(out, option->type == OPTION_BOOL ? "[=\\fI" : " \\fI");
                append_man(out, option->arg);
                g_string_append(out, option->type == OPTION_BOOL ? "\\fR]" : "\\fR");
        }
        g_string_append_c(out, '\n');
}

char *options_man(const Option *options)
{
        GString *out = g_string_new(NULL);

        for (const Option *option = options; option->name; option++) {
                g_autofree char *right = NULL;

                if (!option->help)
                        continue;
                if (option->group) {
                        g_string_append(out, ".SS ");
                        append_man(out, option->group);
                        g_string_append_c(out, '\n');
                }
                right = right_part(option);
                append_man_name(out, option);
                append_man(out, right);
                g_string_append(out, ".\n");
        }
        return g_string_free(out, FALSE);
}
