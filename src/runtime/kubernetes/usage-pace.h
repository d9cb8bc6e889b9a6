/* Which nodes are asked for what members use, and when (usage.c). Pure: time comes as ticks, one a second;
 * who is asked is told what came of it.
 *
 * A turn begins every 10 s, when the line of the one before is empty and nobody is being asked: so a slow
 * cluster is asked less often, and a large one: 1,000 nodes every 100 s. A node that does not answer is left
 * out of ever more turns, up to 5 min; where the account may not ask, all are. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { USAGE_TURN = 10, USAGE_AT_ONCE = 4, USAGE_EACH_TICK = 10, USAGE_TURNS_OFF = 30 };

typedef struct UsagePace UsagePace;

UsagePace *usage_pace_new(void);
void usage_pace_free(UsagePace *pace); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(UsagePace, usage_pace_free)

/* A second has passed. True when a turn begins: its nodes are wanted now. */
bool usage_pace_tick(UsagePace *pace);
/* One of them. */
void usage_pace_add(UsagePace *pace, const char *node);
/* Who is to be asked now; the caller's, NULL: nobody for the moment. */
char *usage_pace_next(UsagePace *pace);

/* What came of it. */
void usage_pace_answered(UsagePace *pace, const char *node);
void usage_pace_silent(UsagePace *pace, const char *node);
void usage_pace_denied(UsagePace *pace);

/* Nobody is being asked any more, nor waits for it. */
void usage_pace_stop(UsagePace *pace);
