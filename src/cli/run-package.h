/* The directory that is sent with a run. */
#pragma once

#include "cli/cli.h"
#include "pipeline/definition.h"

typedef struct {
        const char *file;         /* the definition; "-": standard input; NULL: a stored pipeline */
        const char *package_path; /* NULL: the directory of the file; none without one */
        bool none;                /* nothing is sent */
        bool unused;              /* no step begins in it, so it is only sent if package_path names it */
        bool allow_large;
        const Definition *definition; /* whose programs are looked for in the directory; or NULL */
} RunDirectory;

/* ERR_USAGE: the options contradict each other, or package_path is not a directory. */
bool run_package_check(const RunDirectory *directory, GError **error);

/* Sends the directory, warns of commands whose program is not in it, and puts package, package_name and requirements into the body of the run. ERR_USAGE: it may not be
 * sent (send-package.h), or its requirements are wrong. */
bool run_package_send(Cli *cli, const RunDirectory *directory, json_t *body, GError **error);
