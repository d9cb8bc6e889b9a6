/* When the bytes of a log were written: a file beside the log, LOG.times, of records in the machine's order.
 * Each says that the log had `size` bytes by `time_ms`. Both only grow, but for a clock that is set back.
 * Bytes behind the last record are as old as the log's mtime. A log without such a file is of one moment.
 *
 * Who keeps a log (agent/logfile.h, runtime/kubernetes/follow.h) appends to it; readers take what is there.
 */
#pragma once

#include <stdint.h>

#define LOG_TIMES_SUFFIX ".times"

typedef struct {
        int64_t time_ms; /* since 1970 */
        int64_t size;    /* bytes of the log */
} LogTime;

enum {
        LOG_TIMES_GAP_MS = 50,    /* at least, between two records; */
        LOG_TIMES_DOUBLE = 32768, /* twice as long after each so many: half a MiB */
};

/* The least time between two records behind `count` of them. */
static inline int64_t log_times_gap_ms(int64_t count)
{
        int64_t doublings = count / LOG_TIMES_DOUBLE;

        return (int64_t)LOG_TIMES_GAP_MS << (doublings < 16 ? doublings : 16);
}
