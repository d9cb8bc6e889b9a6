/* Which boxes and lines of a picture lie on the longest chain of a run. Pure. Internal. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "pipeline/run-parts.h"

/* A component of the chain, and the next one in the same DAG. */
typedef struct {
        guint32 from, to;
} ChainLink;

/* `steps`: RunChainStep, as of run_chain_find. Both must outlive it. Steps of parts that were left out are skipped. */
typedef struct ChainMarks ChainMarks;
ChainMarks *chain_marks_new(const RunParts *parts, const GArray *steps);
void chain_marks_free(ChainMarks *marks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ChainMarks, chain_marks_free)

/* The part, or something in it, is a step of the chain. */
bool chain_marks_has(const ChainMarks *marks, guint32 part);
/* ChainLink between the components of this part, in order; NULL: there are none. Borrowed. */
const GArray *chain_marks_links(const ChainMarks *marks, guint32 part);
/* ms: the steps together, without the time for which they waited for a slot. */
gint64 chain_marks_time(const ChainMarks *marks);
