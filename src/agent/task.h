/* The agent's view of a task: one member, its keeper, and the outcome. Plain data; keep.c changes it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/record.h"
#include "agent/request.h"

/* spawning ─▶ running ─▶ (dying) ─▶ ended      an adopted one may begin as orphan: its keeper lives, but has
 * not written yet */
typedef enum { TASK_SPAWNING, TASK_ORPHAN, TASK_RUNNING, TASK_DYING, TASK_ENDED } TaskState;

typedef struct {
        EndKind kind;
        int exit_code, signal;
        bool oom, permanent;
        gint64 time_ms, peak_memory, cpu_us;
        char *text; /* or NULL */
} TaskEnd;

typedef struct {
        char name[TASK_NAME_SIZE];
        guint64 id; /* identifies it in the spawner's replies */
        TaskState state;
        int pidfd;         /* of the keeper; -1 */
        int slot;          /* -1: none */
        SlotLimits limits; /* of its slot */
        bool adopted;      /* from an earlier agent: the limits are not known */
        int keeper, member;
        bool started, ready;
        bool kill_session; /* in TASK_DYING, without a slot */
        gint64 started_ms, ready_ms;
        int32_t ready_ports[TASK_READY_PORTS]; /* any of them; 0: none */
        char *ready_file;
        gint64 stop_ms;     /* the grace of a stop that waits for a keeper; -1: none */
        GBytes *request;    /* until a keeper has taken it */
        gint64 dying_until; /* monotonic */
        TaskEnd end;        /* in TASK_ENDED */
} Task;

Task *task_new(const char *name, guint64 id);
void task_free(Task *task);

/* The lines of the protocol (doc/internals/agent.md), with their newline. */
void task_format_started(const Task *task, GString *line);
void task_format_ready(const Task *task, GString *line);
void task_format_end(const Task *task, GString *line);
void task_format_failed(const char *name, const char *text, bool permanent, GString *line);
void task_format_unknown(const char *name, gint64 now, GString *line);
