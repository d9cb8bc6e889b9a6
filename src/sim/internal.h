/* What the simulator reads (simulate.h says how it is written). Only for the simulator's own files. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "sim/simulate.h"

struct Room {
        SchedulerConfig config;
        GArray *nodes;         /* SchedNode, by id */
        GArray *queues;        /* SchedQueue, by id: parents before their children */
        GHashTable *queue_ids; /* name -> id + 1 */
        GPtrArray *topology;   /* label keys */
        GPtrArray *clusters;   /* names, by id */
        char *topology_list;   /* "zone,rack" */
        GStringChunk *strings;
        GPtrArray *lists; /* of labels */
        Resources total;  /* of all nodes */
};

/* Jobs that are alike: one line of a trace. */
typedef struct {
        SchedJob job; /* as it is put, but for key, times, state and tasks */
        gint64 run_ms, save_ms;
        int tasks;
} TraceGroup;

typedef struct {
        gint64 at;
        guint32 group;
} TraceJob;

struct Trace {
        const Room *room;
        GArray *groups; /* TraceGroup */
        GArray *jobs;   /* TraceJob, by arrival */
        GHashTable *user_ids;
        GStringChunk *strings;
        GPtrArray *lists; /* of labels and roles: what g_free takes */
        gint64 left_out;
        int arrays; /* so far */
};

/* {"K": "V"} as "K=V", NULL-terminated; owned by `lists`, the texts by `strings`. Absent: *ret stays. */
bool input_labels(const json_t *object, const char *where, GStringChunk *strings, GPtrArray *lists,
                  const char *const **ret, GError **error);
/* "90s", or a number of seconds. Absent: *ret stays. */
bool input_duration(const json_t *object, const char *where, const char *name, gint64 *ret_ms,
                    GError **error);
