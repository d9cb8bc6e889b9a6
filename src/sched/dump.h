/* A Scheduler as text, and back: the base of a journal's generation. Deterministic: equal states give equal
 * texts, and what is loaded decides what the dumped one decides. It holds all that decisions depend on.
 *
 *      paddle-scheduler 1
 *      kinds cpu memory nvidia.com/gpu storage         what the numbers of kinds of resources mean
 *      config NOMINATED COOLDOWN HALF_LIFE TOPOLOGY    TOPOLOGY: "zone,rack", or "-"
 *      clock NOW                                       of the last pass
 *      node ID CLUSTER USABLE NAME RESOURCES LABELS                                          by ID
 *      queue ID CLUSTER PARENT NAME STATE MIN MAX RESERVED WEIGHT PRIORITY RECLAIMABLE
 *            PREEMPTION ORDER BACKFILL MAX_RUNNING_PER_USER LABELS                           parents first
 *      job KEY QUEUE USER PRIORITY SUBMITTED NOT_BEFORE TIME_LIMIT GRACE HELD PREEMPTABLE
 *            ARRAY ARRAY_MAX TOPOLOGY TOPOLOGY_REQUIRED LABELS
 *            N_ROLES {RESOURCES REPLICAS MIN}... STATE [STARTED SAVED TASKS GOING]           by KEY
 *      past KEY VICTIM SAFE_UNTIL EVICTOR              of a job that was evicted or shrunk
 *      usage QUEUE USER USAGE AT RATE                  by QUEUE and USER; USER -1: the queue's sum
 *      nominated KEY UNTIL TASKS VICTIMS               room that is being made, oldest first
 *      closed KEY CAUSE                                what KEY asks for is known not to fit at present
 *      end LINES                                       how many lines stand before this one
 *
 * RESOURCES, MIN, MAX and RESERVED are "KIND:AMOUNT,..." of what is not 0, "*" for an unlimited amount, "-"
 * for nothing; LABELS are "K=V,..." or "-"; TASKS and GOING are "NODE/DEVICES,..." of each replica in role
 * order, the bit set in hexadecimal, "." for one that stands nowhere, "-" for none at all; VICTIMS are keys
 * with commas. STATE, PREEMPTION, ORDER and CAUSE are numbers. In names and labels every byte that is not a
 * graphic ASCII character, and '%' and ',', are written %XX; an empty name is "%". */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "sched/scheduler.h"

/* Appends to `out`. Never fails; bool so that it reads like its twin. */
bool scheduler_dump(const Scheduler *scheduler, GString *out);

/* NULL with ERR_INVALID: the line, what is wrong there, and what would have been right. Anything may be in
 * `text`: it is checked as input from outside. */
Scheduler *scheduler_load(const char *text, gsize len, GError **error);
