/* The frame of the command line: what a verb is, its input, and how messages and data are printed.
 *
 * A verb is one row (Verb) in one file `cmd-<verb>.c`; verbs.c lists the rows. The dispatcher, `--help`, the
 * man pages and the shells' completions use them. A verb prints data to stdout and messages for people to
 * stderr. It returns false with a GError, or true with cli->status set, and never exits by itself. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/option.h"
#include "net/client.h"

/* The options of every verb. A verb's target begins with a Common, and its table with COMMON_OPTIONS. */
typedef struct {
        char *server;
        char *token;
        bool help;
} Common;

/* clang-format off */
#define COMMON_OPTIONS                                                                                       \
        { "server", 0, OPTION_STRING, offsetof(Common, server), "URL",                                       \
          "server to talk to: http://HOST:PORT, https://... or unix:PATH" },                                 \
        { "token", 0, OPTION_STRING, offsetof(Common, token), "TOKEN", "secret for a server on TCP" },       \
        { "help", 'h', OPTION_BOOL, offsetof(Common, help), NULL, "show this help" }
/* clang-format on */

typedef struct {
        bool out_is_terminal, err_is_terminal;
        bool out_colour, err_colour; /* terminal, no NO_COLOR, TERM not dumb */
        bool utf8;                   /* the locale's encoding can show bars and ellipses */
        int width;                   /* of the terminal; 80 when there is none */
} Terminal;

typedef struct {
        const Common *common;
        const struct Verb *verb; /* the running verb */
        Terminal terminal;
        HttpClient *client; /* created by cli_client() on first use */
        int status;         /* the exit status of a verb that returned true */
        bool said_end;      /* the positional words followed "--" */
} Cli;

/* The kind of a verb's positional words, for completion. */
typedef enum {
        WORDS_NONE,
        WORDS_JOBS,
        WORDS_JOB,    /* the first is a job; the verb defines the rest */
        WORDS_MEMBER, /* the first is JOB or JOB/MEMBER; the verb defines the rest */
        WORDS_FILES,
        WORDS_COMMAND,
        WORDS_SHELLS,
        WORDS_VERBS,
        WORDS_OBJECTS, /* of the verb's family: the output of `paddle FAMILY list -o name` */
} WordKind;

typedef struct Verb {
        const char *name;     /* "list", "job submit" */
        const char *args;     /* after the options in the usage line: "JOB...", "" */
        const char *summary;  /* one sentence without a full stop */
        const char *about;    /* paragraphs separated by empty lines, for help and man page; or NULL */
        const char *examples; /* lines "command\tremark", or NULL */
        const Option *options;
        gsize size;               /* of the options' target */
        bool stop_at_word;        /* the first positional word ends the options */
        int min_words, max_words; /* numbers of positional words; max -1: any number */
        WordKind words;
        bool (*run)(Cli *cli, const void *options, char *const *words, GError **error);
        const void *row; /* data for a `run` function that several verbs share, read from cli->verb; or
                            NULL */
} Verb;

/* All verbs in the order of the overview, NULL-terminated. */
extern const Verb *const cli_verbs[];

/* A heading of the overview is printed before its first verb. */
typedef struct {
        const char *heading; /* NULL ends the list */
        const Verb *first;
} VerbGroup;
extern const VerbGroup cli_groups[];

/* Runs a command line (without the program's name). Returns the exit status. */
int cli_run(int argc, char *const *argv);

/* A client of the verb's server, found by the rules of discover.h. Borrowed from `cli`; NULL with an
 * error. */
HttpClient *cli_client(Cli *cli, GError **error);

/* Prints a line to stdout. Control characters in it are made visible, as in table.h: for texts of users. */
void cli_print(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Prints a message of one or more lines to stderr, ended by a newline. */
void cli_say(const Cli *cli, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same as a warning: "paddle: warning: ...". */
void cli_warn(const Cli *cli, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* "paddle: MESSAGE" and, on a separate line, its hint. */
void cli_print_error(const Cli *cli, const GError *error);

/* Calls `one` for each of the first `n` words. After a failure it continues with the others, unless there is
 * no server. The first failure is the result; later ones are printed. */
typedef bool CliEach(Cli *cli, const char *word, void *arg, GError **error);
bool cli_each(Cli *cli, char *const *words, guint n, CliEach *one, void *arg, GError **error);

/* Flushes stdout; false if that fails (a full disk must not look like success). */
bool cli_flush(GError **error);

/* "/v1/jobs/<name, encoded><suffix>"; the caller's. */
char *job_path(const char *job, const char *suffix);
