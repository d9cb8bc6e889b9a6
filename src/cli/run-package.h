/* The directory that is sent with a run. */
#pragma once

#include "cli/cli.h"

typedef struct {
        const char *file;         /* the definition; "-": standard input; NULL: a stored pipeline */
        const char *package_path; /* NULL: the directory of the file; none without one */
        bool none;                /* nothing is sent */
        bool allow_large;
} RunDirectory;

/* Sends the directory, and puts package, package_name and requirements into the body of the run. ERR_USAGE: it may not be
 * sent (send-package.h), or its requirements are wrong. */
bool run_package_send(Cli *cli, const RunDirectory *directory, json_t *body, GError **error);
