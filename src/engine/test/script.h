/* A runtime that a test plays: it notes what it is asked to do, and says what the test makes it say. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct Script Script;

Script *script_new(const Resources *total);
void script_free(Script *script);
Runtime *script_runtime(Script *script);

/* Another machine, for the next engine. */
void script_total(Script *script, const Resources *total);
/* It is a cluster of these nodes (RuntimeNode, copied), until it is told of others. */
void script_nodes(Script *script, const RuntimeNode *nodes, int n);
/* Where each member of its jobs is reached; "127.0.0.1" before. */
void script_address_is(Script *script, const char *address);
/* What jobs need is there at once, or has to be prepared. */
void script_prepared(Script *script, bool prepared);
/* How often it was asked whether a job is prepared. */
int script_asked_prepared(Script *script);
/* Which preparations its jobs have; only environments before. To be called while no engine uses it. */
void script_makes(Script *script, bool environment, bool image);
/* What the build of an environment is counted as; nothing before. */
void script_builder(Script *script, const Resources *wants);
/* How many ports may be leased at one time. */
void script_ports(Script *script, int n);
/* Members wait by themselves for those of earlier phases. */
void script_gates(Script *script, bool gates);
void script_orders(Script *script, bool orders);
/* A task whose start is asked for is reported as started at once. */
void script_starts_at_once(Script *script, bool at_once);

/* What the runtime says. Texts may be NULL. */
void script_say(Script *script, const Observation *said);
void script_say_kind(Script *script, ObservationKind kind, const char *task);
void script_say_exit(Script *script, const char *task, int exit_code, int signal, bool oom);

/* What it was asked to do: lines such as "start ID.1.trainer.0", "stop TASK 30000", "forget TASK", "clean ID
 * 1", "prepare ID" (an environment), "abandon ID", "image ID", "abandon-image ID", "lease ID 2", "release ID", "keep ID 2". Counting takes the lines that begin with
 * `prefix`. */
int script_count(Script *script, const char *prefix);
/* Waits until as many such lines are there; a test that waits in vain fails. */
void script_wait(Script *script, const char *prefix, int n);
/* All lines with the prefix, in order; a GPtrArray of char *. */
GPtrArray *script_lines(Script *script, const char *prefix);
/* All lines, which are forgotten. */
GPtrArray *script_take(Script *script);
/* Forgets the lines, not the leases: another engine will speak to it. */
void script_reset(Script *script);

/* Of the last start of `task`; the caller's. NULL when it was never started. */
char *script_variable(Script *script, const char *task, const char *name);
int script_ready_port(Script *script, const char *task);
char *script_ready_file(Script *script, const char *task);
char *script_waits_for(Script *script, const char *task); /* addresses joined by blanks; "" for none */
int script_together(Script *script, const char *task);

int script_leased(Script *script);
