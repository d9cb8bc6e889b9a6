/* What `paddle doctor` finds, and its looks at the machine. */
#pragma once

#include <glib.h>

typedef enum { GOOD, DOUBT, BAD } Level;

typedef struct {
        Level level;
        char *text; /* what was found */
        char *todo; /* or NULL */
} Finding;

/* `todo` counts where the level is not GOOD. */
Finding finding(Level level, const char *todo, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* `root` is "/" but in tests: proc, sys and dev below it are read. */
Finding doctor_kernel(const char *root);
Finding doctor_memory(const char *root);
Finding doctor_gpus(const char *root);
