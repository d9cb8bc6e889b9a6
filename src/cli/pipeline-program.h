/* Definitions that programs in Python make. A word FILE.py is such a program, FILE.py:NAME one of its pipelines.
 *
 * A program that does not contain the word `pipeline` is refused. Any other is loaded by the first `python3` of PATH, with its module paddlecloud, in the current directory. It writes its
 * messages to standard error, and reads nothing from standard input. It ends together with this process. */
#pragma once

#include "cli/discover.h"

enum { PIPELINE_PROGRAM_MS = 300000 }; /* until the definition is known */

typedef struct {
        const Discovery *server; /* to which its functions are sent; NULL: nothing is sent */
        const char *directory;   /* sent with each function; NULL: none */
        gint64 limit_ms;         /* then the program is killed */
} PipelineProgram;

/* False: any other file. */
bool pipeline_program_is(const char *word);

/* FILE.py of FILE.py:NAME; the caller's. */
char *pipeline_program_file(const char *word);

/* Runs the program. *ret is the definition in YAML, of at most 16 MiB, and the caller's. ERR_USAGE if it cannot be run or does not
 * end in time, ERR_INVALID for an error of the program, ERR_DENIED, ERR_FAILED and ERR_UNREACHABLE for one of the server. */
bool pipeline_program_run(const PipelineProgram *how, const char *word, char **ret, gsize *ret_len,
                          GError **error);
