/* How long a cluster keeps what is left of an ended job (doc/reference/scheduling.md, "How long objects are
 * kept"): its pods, for people to look at, and what stands around them. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

/* On a job: seconds after its end, instead of what the server says. */
#define TTL_ANNOTATION "paddleflow/job-ttl-seconds"
#define TTL_NEVER G_MAXINT64 /* they stay */

typedef struct {
        gint64 succeeded_ms, failed_ms; /* after the end; the second for all other ends; 0: at once */
        bool keep;                      /* nothing goes */
        bool keep_failed;               /* nothing of failed jobs, unless they say so themselves */
} Ttl;

/* When what is left of the attempt goes, in ms since 1970; 0: now. `job`: as it is stored, or NULL when
 * nobody knows it any more. Attempts that were followed by another, and those of jobs that wait, go now. */
gint64 ttl_expires(const Ttl *ttl, const Job *job, int attempt);
