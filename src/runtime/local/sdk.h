/* The Python SDK for members of this machine: `import paddlecloud` works in every job, in the version that
 * fits this server. The program carries the files (python/paddlecloud); a directory of the state holds them.
 */
#pragma once

#include <glib.h>

typedef struct {
        const char *name; /* of a file in the package */
        const unsigned char *data;
        gsize size;
} SdkFile;

extern const SdkFile sdk_files[]; /* ends with a NULL name */

/* Writes what differs to STATE/python/paddlecloud, readable for all. The directory for PYTHONPATH, the
 * caller's; NULL when it cannot be written, which is logged: jobs run without it. */
char *sdk_write(const char *state_dir);
