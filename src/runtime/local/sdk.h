/* The Python SDK for members of this machine: `import paddlecloud` works in every job, in the server's
 * version. The program contains the files (python/paddlecloud) and writes them to a directory of the
 * state. */
#pragma once

#include <glib.h>

typedef struct {
        const char *name; /* of a file in the package */
        const unsigned char *data;
        gsize size;
} SdkFile;

extern const SdkFile sdk_files[]; /* ends with a NULL name */

/* Writes files that differ to STATE/python/paddlecloud, readable for all users. Returns the directory for
 * PYTHONPATH, the caller's. NULL if that fails, which is logged; jobs run without it. */
char *sdk_write(const char *state_dir);
