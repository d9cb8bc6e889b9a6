/* How long a cluster keeps what is left of an ended job (doc/reference/scheduling.md, "How long objects are
 * kept"): its pods, for people to look at, and what stands around them. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"

/* Annotation of a job: seconds after its end, instead of the server's setting. */
#define TTL_ANNOTATION "paddleflow/job-ttl-seconds"
#define TTL_NEVER G_MAXINT64 /* they are kept */

typedef struct {
        gint64 succeeded_ms, failed_ms; /* after the end; failed_ms is for all ends but success; 0: at once */
        bool keep;                      /* nothing is deleted */
        bool keep_failed;               /* nothing of failed jobs is deleted, unless they have the
                                           annotation */
} Ttl;

/* When the objects of the attempt are deleted, in ms since 1970; 0: now. `job`: as it is stored, or NULL if
 * it is unknown. Attempts that were followed by another, and those of waiting jobs, are deleted now. */
gint64 ttl_expires(const Ttl *ttl, const Job *job, int attempt);
