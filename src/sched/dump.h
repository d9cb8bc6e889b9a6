/* A Scheduler as text, and back: the base of a journal's generation. Deterministic: equal states give equal
 * texts, and a loaded scheduler makes the same decisions as the dumped one. The text has everything that
 * decisions depend on.
 *
 *      paddle-scheduler 1
 *      kinds cpu memory nvidia.com/gpu storage         the names of the kinds of resources, by number
 *      config NOMINATED COOLDOWN HALF_LIFE TOPOLOGY    TOPOLOGY: "zone,rack", escaped as in a URL, or "-"
 *      clock NOW                                       of the last pass
 *      node ...                                        as in the journal (journal/journal.h); by id
 *      queue ...                                       likewise; parents before their children, by id
 *      job ...                                         likewise; by key, and each followed by
 *      going KEY {TASK NODE LOW HIGH}...               its tasks that were shrunk away and still run; LOW
 *                                                      and HIGH are halves of the bit set of devices
 *      past KEY VICTIM SAFE_UNTIL EVICTOR              it was evicted or shrunk, for EVICTOR
 *      used QUEUE USER VALUE AT RATE                   usage; by queue and user
 *      used-in-all QUEUE VALUE AT
 *      nominated KEY UNTIL N {TASK NODE}... N {VICTIM}...      capacity that is being freed, oldest first
 *      closed KEY CAUSE                                the request of KEY is known not to fit at present
 *      end LINES                                       number of lines before this one */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "sched/scheduler.h"

/* Appends to `out`. Never fails; it returns bool like scheduler_load. */
bool scheduler_dump(const Scheduler *scheduler, GString *out);

/* NULL with ERR_INVALID: the line, what is wrong there, and what would have been right. `text` is untrusted:
 * it is checked completely. */
Scheduler *scheduler_load(const char *text, gsize len, GError **error);
