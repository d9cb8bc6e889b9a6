/* Options of a program or verb: one table is the parser, the configuration file's keys, `--help` and the man
 * page.
 *
 *     static const Option options[] = {
 *             { "trainers", 'n', OPTION_INT, offsetof(Submit, trainers), "N", "trainer processes",
 *               .fallback = "1", .max = 10000 },
 *             { 0 },
 *     };
 *
 * Forms taken: --name VALUE, --name=VALUE, --name:VALUE, -x VALUE, -xVALUE, -x=VALUE; a bool may stand alone
 * (--use-gpu) or carry a value (--use-gpu=true, never as a separate word), and so may an optional text; `--` ends the
 * options. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum {
        OPTION_STRING,   /* char *, owned by the target, g_free()d on overwrite */
        OPTION_INT,      /* gint64, min..max */
        OPTION_BOOL,     /* bool */
        OPTION_SWITCH,   /* int: 0 not said, 1 yes, -1 no; --no-NAME says no */
        OPTION_DURATION, /* gint64 milliseconds */
        OPTION_OPTIONAL, /* char *: "" if it stands alone */
        OPTION_LIST,     /* GPtrArray * of char * (made on first use); repeatable */
} OptionType;

typedef struct {
        const char *name; /* long name without dashes; NULL ends the table */
        char letter;      /* short name or 0 */
        OptionType type;
        size_t offset;        /* of the field in the target struct */
        const char *arg;      /* placeholder in help, "N"; NULL for a bool */
        const char *help;     /* one sentence without a full stop; NULL: taken, but not shown */
        const char *fallback; /* default as text, parsed like any value; NULL: the field stays 0 */
        gint64 min, max;   /* for OPTION_INT; max 0: no upper bound. OPTION_DURATION has `min` alone, in ms */
        const char *alias; /* another long name that means the same (older spellings), or NULL */
        const char
                *group; /* heading in help, of this option and those after it; NULL: that of the one before */
} Option;

/* Sets the fallbacks of all rows. `target` is zeroed memory or was filled by an earlier call. */
void options_set_defaults(const Option *options, void *target);

/* Takes argv[0..argc) (without program and verb). Positional words go to *ret_rest (NULL-terminated, the
 * caller's g_strfreev). When `stop_at_word` is set the first positional word ends the options (`paddle submit
 * -n 2 python -u x.py`). ERR_USAGE names the option and, for an unknown one, the nearest known name. */
bool options_parse(const Option *options, void *target, int argc, char *const *argv, bool stop_at_word,
                   char ***ret_rest, GError **error);

/* Sets one option from its long name and a text, as a configuration file does; ERR_INVALID for an unknown
 * name. */
bool options_set(const Option *options, void *target, const char *name, const char *value, GError **error);

/* Frees strings and lists of the target and zeroes them. */
void options_clear(const Option *options, void *target);

/* The lines of `--help` for the table, aligned, wrapped at `width` columns. */
char *options_help(const Option *options, int width);

/* The OPTIONS part of a man page in man(7). */
char *options_man(const Option *options);
