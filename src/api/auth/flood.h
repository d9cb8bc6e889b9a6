/* Keeps those who are refused again and again from filling the audit log: the first of their lines are
 * written, the rest is counted, and the counts become lines. Bounded in memory and in lines, however many
 * addresses and names there are. Time is monotonic ms and the caller's, as is the lock.
 *
 *     of one who     30 lines at once, then one in 6 s
 *     of all         500 at once, then one a second
 *     counts         one line for each (who, what) in 10 min, of at most 256 of them; what is more is one for
 *                    each `what`, of who "*" */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Flood Flood;

enum {
        FLOOD_BURST = 30,
        FLOOD_EVERY_MS = 6000,
        FLOOD_BURST_ALL = 500,
        FLOOD_EVERY_ALL_MS = 1000,
        FLOOD_WINDOW_MS = 10 * 60 * 1000,
        FLOOD_ENTRIES_MAX = 256,
        FLOOD_SEEN_MAX = 1024,
};

Flood *flood_new(void);
void flood_free(Flood *flood); /* NULL is a no-op */

/* True: write this line. False: it was counted. `who`: a user, or an address; `what`: one of a few words. */
bool flood_take(Flood *flood, const char *who, const char *what, gint64 now);
/* The same for allowed actions that repeat: the first of each (who, what) in a window is written. Lines
 * beyond the size of the table are written, too. */
bool flood_take_repeated(Flood *flood, const char *who, const char *what, gint64 now);

/* Returns the counts whose window has ended, or (`all`) all counts. */
typedef void (*FloodCounted)(const char *who, const char *what, gint64 count, void *arg);
void flood_collect(Flood *flood, gint64 now, bool all, FloodCounted counted, void *arg);
