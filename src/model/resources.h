/* Amounts of each kind of resource: a member's request, a node's capacity, a queue's limit. Plain data, exact
 * integers: CPU in thousandths of a core, everything else in base units (bytes, devices). The rules of the
 * arithmetic are those of doc/reference/scheduling.md, "Arithmetic of resources" (doc/guide/scheduling.md
 * says where we differ: overflow is an error). */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

/* Kinds of resources. Names of further kinds ("rdma/hca") are interned for the life of the process, as quarks
 * are. There are at most RESOURCE_KINDS_MAX kinds. Only an administrator's settings (a machine's
 * configuration, a queue) create a new kind: a job that names an unknown one is refused. */
enum {
        RESOURCE_CPU,     /* "cpu", milli-cores */
        RESOURCE_MEMORY,  /* "memory", bytes */
        RESOURCE_GPU,     /* "nvidia.com/gpu", devices with indices; "gpu" and "gpus" are read, too */
        RESOURCE_STORAGE, /* "storage", bytes */
        RESOURCE_OTHERS,  /* the first interned kind */
        RESOURCE_KINDS_MAX = 12,
};

typedef union {
        struct {
                gint64 cpu_milli; /* thousandths of a core */
                gint64 memory;    /* bytes */
                gint64 gpus;      /* devices */
                gint64 storage;   /* bytes */
                gint64 others[RESOURCE_KINDS_MAX - RESOURCE_OTHERS];
        };
        gint64 amount[RESOURCE_KINDS_MAX];
} Resources;

#define RESOURCE_UNLIMITED G_MAXINT64 /* value of a limit */
/* The largest amount of one kind that can be guaranteed (a queue's min). Shares are compared exactly, in 128
 * bits. */
#define RESOURCE_MOST (((gint64)1 << 56) - 1)

/* Amounts of which only some are set: a queue's max, min and reserved. */
typedef struct {
        Resources amount; /* 0 where not set */
        guint32 said;     /* the kinds that are set: bits of 1u << kind */
} ResourceLimits;

int resource_find(const char *name); /* -1: no such kind */
int resource_intern(const char *what, const char *name,
                    GError **error); /* a qualified name; -1: bad name, or the table of kinds is full */
/* Checks a resource name that a user gave. It is valid if it is a known kind or has a domain ("rdma/hca"), as
 * the resources of cluster nodes have. Other names are mistakes: ERR_INVALID. Creates no kind. */
bool resource_name_check(const char *what, const char *name, GError **error);
const char *resource_name(int kind); /* valid for the life of the process */
int resource_kinds(void);            /* the current number of kinds */

/* Quantities in the Kubernetes grammar: "2", "500m", "1.5", "64Mi", "1Gi", "1G", "1e3". Exact: a value that
 * is not a whole number of units (milli-cores, bytes) is rounded up; overflow and negative values are
 * ERR_INVALID naming `what`. "" is 0 only for quantity_parse. */
bool cpu_parse(const char *what, const char *text, gint64 *ret_milli, GError **error);
bool memory_parse(const char *what, const char *text, gint64 *ret_bytes, GError **error);
bool quantity_parse(const char *what, int kind, const char *text, gint64 *ret, GError **error);
/* A quantity of any resource, as exact as in Kubernetes: in billionths (nano) of a unit, rounded up. Accepts
 * a leading '+'. ERR_INVALID above 2^63 - 1 units, or if a long fraction overflows 128 bits. */
#define QUANTITY_NANO 1000000000
bool quantity_parse_nano(const char *what, const char *text, __int128 *ret_nano, GError **error);
char *cpu_format(gint64 milli);    /* "2", "500m" */
char *memory_format(gint64 bytes); /* "1Gi", "64Mi", "1000" */
/* As PaddleFlow prints (doc/reference/paddleflow-api.md, "Amounts of resources"): cpu as milli quantity,
 * memory and storage with a decimal suffix when divisible by 1000, else a binary one; the others with a
 * decimal one. */
char *quantity_format(int kind, gint64 amount);
/* For people: "2", "1.5", "4Gi", "3"; and with the noun: "2 cores", "1 GPU", "4Gi of memory", "2
 * rdma/hca". */
char *quantity_text(int kind, gint64 amount);
char *quantity_named(int kind, gint64 amount);

/* *sum += n * r. False on overflow. */
bool resources_add(Resources *sum, const Resources *r, gint64 n);
void resources_subtract(Resources *sum, const Resources *r);
/* True if every kind of `want` that is above 0 fits; RESOURCE_UNLIMITED fits everything. */
bool resources_fit(const Resources *want, const Resources *have);
bool resources_is_zero(const Resources *r);
bool resources_equal(const Resources *a, const Resources *b);
/* The first kind of `want` that does not fit `have`, or -1. */
int resources_lacking(const Resources *want, const Resources *have);

/* {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": 1}; members are quantities as strings or numbers. `mem`,
 * `gpu`, `gpus` and PaddleFlow's {"scalarResources": {...}} are read, too. With `intern` unknown names become
 * new kinds, else ERR_INVALID. NULL or null: nothing said. */
bool limits_parse(const char *where, const json_t *object, bool intern, ResourceLimits *ret, GError **error);
/* The same on top of `limits`: null unsets a kind. `limits` is unchanged on failure. */
bool limits_merge(const char *where, const json_t *object, bool intern, ResourceLimits *limits,
                  GError **error);
json_t *limits_format(const ResourceLimits *limits); /* only the kinds that are set, in order of kinds */
/* "cpu=64,memory=256Gi,nvidia.com/gpu=8", the form of the command line; "" sets nothing. */
bool limits_parse_list(const char *what, const char *text, bool intern, ResourceLimits *ret, GError **error);
json_t *resources_format(const Resources *r); /* the amounts above 0 */
bool limits_equal(const ResourceLimits *a, const ResourceLimits *b);
/* The limits as plain amounts: a kind that is not set becomes `unsaid` (0, or RESOURCE_UNLIMITED). */
Resources limits_flat(const ResourceLimits *limits, gint64 unsaid);
