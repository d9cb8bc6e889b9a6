/* The end of what ended jobs leave (see ttl.h). */
#include "engine/ttl.h"

#include "base/number.h"

enum { SECONDS_MAX = 100 * 366 * 24 * 3600LL }; /* a longer time means this one */

/* False if the annotation is missing, or not a number of seconds. */
static bool take_annotation(const Job *job, gint64 *ret_ms)
{
        const char *text = labels_get(job_annotations(job), TTL_ANNOTATION);
        gint64 seconds;

        if (!text || !number_parse(TTL_ANNOTATION, text, 0, SECONDS_MAX, &seconds, NULL))
                return false;
        *ret_ms = seconds * 1000;
        return true;
}

gint64 ttl_expires(const Ttl *ttl, const Job *job, int attempt)
{
        gint64 after_ms;

        if (!job || !job_state_is_final(job->state) || job->attempt != attempt)
                return 0;
        if (ttl->keep)
                return TTL_NEVER;
        if (take_annotation(job, &after_ms))
                return job->finished + after_ms;
        if (job->state == JOB_FAILED && ttl->keep_failed)
                return TTL_NEVER;
        return job->finished + (job->state == JOB_SUCCEEDED ? ttl->succeeded_ms : ttl->failed_ms);
}
