/* Which Python packages a program's directory asks for, as one text in the form of requirements.txt. The
 * first of these files in its root counts: requirements.txt (or requirments.txt), uv.lock, pyproject.toml
 * with [project] (doc/guide/environments.md). Pure: files are read by the caller's function. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        NEEDS_TEXT_MAX = 128 * 1024,     /* the text is shorter: the limit of a specification, in bytes */
        NEEDS_FILES_MAX = 64,            /* files named by -r */
        LOCK_FILE_MAX = 4 * 1024 * 1024, /* bytes of uv.lock */
};

typedef struct {
        /* The text of a file of the package, UTF-8 of at most `max` bytes. NULL without an error: no such
         * file. */
        char *(*read)(const char *path, gsize max, void *arg, GError **error);
        void *arg;
} RequirementsFiles;

/* Refuses lines that every `pip` refuses, before anything is sent: one '=' before a version. ERR_INVALID
 * begins with `what` and the line's number. */
bool requirements_check(const char *what, const char *text, GError **error);

/* *ret_text: NULL if no file requires anything; the caller's. ERR_INVALID names file and line, and what to do
 * instead; ERR_TOO_LARGE for a text of NEEDS_TEXT_MAX bytes or more. *ret_note (may be NULL): a sentence,
 * with a hint on the next line, about a file whose packages are not read although the user may expect it,
 * else NULL; the caller's. */
bool requirements_gather(const RequirementsFiles *files, char **ret_text, char **ret_note, GError **error);

/* The packages that a uv.lock pins for its own project, without development groups: lines "name==version ;
 * marker" in the order of names; the caller's. `text` is the file's. */
char *uv_lock_requirements(const char *text, GError **error);
