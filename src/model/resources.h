/* What a member asks for and a node has: CPU, memory, GPUs. Plain data, exact integers. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        gint64 cpu_milli; /* thousandths of a core */
        gint64 memory;    /* bytes */
        gint64 gpus;      /* devices */
} Resources;

/* Quantities in the Kubernetes grammar: "2", "500m", "1.5", "64Mi", "1Gi", "1G", "1e3". Exact: a value that
 * is not a whole number of units (milli-cores, bytes) is rounded up; overflow and negative values are
 * ERR_INVALID naming `what`. */
bool cpu_parse(const char *what, const char *text, gint64 *ret_milli, GError **error);
bool memory_parse(const char *what, const char *text, gint64 *ret_bytes, GError **error);
char *cpu_format(gint64 milli);    /* "2", "500m" */
char *memory_format(gint64 bytes); /* "1Gi", "64Mi", "1000" */

/* *sum += n * r. False on overflow. */
bool resources_add(Resources *sum, const Resources *r, gint64 n);
void resources_subtract(Resources *sum, const Resources *r);
bool resources_fit(const Resources *want, const Resources *have);
