/* The program that a command starts, looked for among the files of the package: a command whose program will
 * not be there fails, and that is known before anything is sent. Judged is only what is certain: a word that
 * a shell would change, a module that may be installed, or options that are not known are taken as right. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

typedef enum {
        PROGRAM_FINE,           /* it is there, or nothing certain can be said */
        PROGRAM_MISSING,        /* no such file in the package */
        PROGRAM_MISTYPED,       /* "pyhton": not on this machine's PATH, and near to an interpreter */
        PROGRAM_OUTSIDE,        /* "../x.py": above the package's directory */
        PROGRAM_NOT_EXECUTABLE, /* "./x.py" without permission to execute */
        PROGRAM_NO_DIRECTORY,   /* "./" or "python DIR" where DIR has no __main__.py */
        PROGRAM_ALONE,          /* "x.py" is in the package, and is looked for on PATH */
        PROGRAM_NO_MODULE,      /* "python -m pkg.x": pkg is in the package, x is not */
        PROGRAM_FILE_AS_MODULE, /* "python -m x.py" */
} ProgramFault;

typedef struct {
        ProgramFault fault;
        char *path; /* of the program as the package would have it ("train.py" of "./train.py"), or the module
                     */
        char *near; /* a file (or module) of the package that may have been meant, or NULL */
} ProgramVerdict;
void program_verdict_clear(ProgramVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProgramVerdict, program_verdict_clear)

/* `paths` is a Measure's: what the package will hold. `command` is a list of words or a line for the shell.
 * Pure but for a look at this machine's PATH. */
ProgramVerdict program_judge(const json_t *command, GHashTable *paths);

/* False with ERR_USAGE, and what to do, for a command that cannot find its program in the package of the
 * directory `dir`. */
bool program_check(const json_t *command, GHashTable *paths, const char *dir, GError **error);
