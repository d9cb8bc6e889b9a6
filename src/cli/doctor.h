/* The results of `paddle doctor`, and its checks of the machine. */
#pragma once

#include <glib.h>

typedef enum { GOOD, DOUBT, BAD } Level;

typedef struct {
        Level level;
        char *text; /* the result */
        char *todo; /* or NULL */
} Finding;

/* `todo` is used only if the level is not GOOD. */
Finding finding(Level level, const char *todo, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* `root` is "/" except in tests: proc, sys and dev below it are read. */
Finding doctor_kernel(const char *root);
Finding doctor_memory(const char *root);
Finding doctor_gpus(const char *root);
