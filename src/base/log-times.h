/* When the bytes of a log were written: a file beside the log, LOG.times, of records in the machine's order.
 * Each says that the log had `size` bytes at `time_ms`. Both only grow, unless the clock is set back. Bytes
 * after the last record have the log's mtime. Without such a file all bytes have the same time.
 *
 * The writer of the log (agent/logfile.h, runtime/kubernetes/log/follow.h) appends records; readers use what
 * exists. */
#pragma once

#include <stdint.h>

#define LOG_TIMES_SUFFIX ".times"

typedef struct {
        int64_t time_ms; /* since 1970 */
        int64_t size;    /* bytes of the log */
} LogTime;

enum {
        LOG_TIMES_GAP_MS = 50,    /* minimum between two records */
        LOG_TIMES_DOUBLE = 32768, /* the minimum doubles after each such number of records: half a MiB */
};

/* The minimum time between two records after `count` records. */
static inline int64_t log_times_gap_ms(int64_t count)
{
        int64_t doublings = count / LOG_TIMES_DOUBLE;

        return (int64_t)LOG_TIMES_GAP_MS << (doublings < 16 ? doublings : 16);
}
