/* Decides which nodes are asked for the usage of members, and when (usage.c). Pure: time passes by ticks, one
 * a second, and the caller reports each outcome.
 *
 * A turn begins every 10 s, if no node of the previous turn is waiting or being asked. So slow and large
 * clusters are asked less often: 1,000 nodes every 100 s. A node that does not answer is skipped for more and
 * more turns, up to 5 min. If the account may not ask, all nodes are skipped. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { USAGE_TURN = 10, USAGE_AT_ONCE = 4, USAGE_EACH_TICK = 10, USAGE_TURNS_OFF = 30 };

typedef struct UsagePace UsagePace;

UsagePace *usage_pace_new(void);
void usage_pace_free(UsagePace *pace); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(UsagePace, usage_pace_free)

/* A second has passed. True if a turn begins: add its nodes now. */
bool usage_pace_tick(UsagePace *pace);
/* Adds a node to the turn. */
void usage_pace_add(UsagePace *pace, const char *node);
/* The next node to ask; the caller's. NULL: none at the moment. */
char *usage_pace_next(UsagePace *pace);

/* Reports the outcome. */
void usage_pace_answered(UsagePace *pace, const char *node);
void usage_pace_silent(UsagePace *pace, const char *node);
void usage_pace_denied(UsagePace *pace);

/* No node is being asked or waits any more. */
void usage_pace_stop(UsagePace *pace);
