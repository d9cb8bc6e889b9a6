/* Finds the program that a command runs among the files of the package. If it is missing, the job would fail,
 * which is known before anything is sent. Only certain cases are reported: a word that a shell would change,
 * a module that may be installed, and unknown options count as fine. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

typedef enum {
        PROGRAM_FINE,           /* it exists, or nothing is certain */
        PROGRAM_MISSING,        /* no such file in the package */
        PROGRAM_MISTYPED,       /* "pyhton": not on this machine's PATH, and similar to an interpreter */
        PROGRAM_OUTSIDE,        /* "../x.py": above the package's directory */
        PROGRAM_NOT_EXECUTABLE, /* "./x.py" without permission to execute */
        PROGRAM_NO_DIRECTORY,   /* "./" or "python DIR" if DIR has no __main__.py */
        PROGRAM_ALONE,          /* "x.py" is in the package, but is searched on PATH */
        PROGRAM_NO_MODULE,      /* "python -m pkg.x": the package has pkg, but not x */
        PROGRAM_FILE_AS_MODULE, /* "python -m x.py" */
} ProgramFault;

typedef struct {
        ProgramFault fault;
        char *path; /* of the program in the package ("train.py" for "./train.py"), or the module */
        char *near; /* a similar file (or module) of the package, or NULL */
} ProgramVerdict;
void program_verdict_clear(ProgramVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProgramVerdict, program_verdict_clear)

/* `paths` are those of a Measure: the content of the package. `command` is a list of words or a shell line.
 * Pure except for a search of this machine's PATH. */
ProgramVerdict program_judge(const json_t *command, GHashTable *paths);

/* False with ERR_USAGE and advice for a command whose program is not in the package of the directory
 * `dir`. */
bool program_check(const json_t *command, GHashTable *paths, const char *dir, GError **error);
