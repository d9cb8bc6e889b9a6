/* Cancellation of long operations (see cancel.h). */
#include "base/cancel.h"

#include <errno.h>
#include <stddef.h>

#include "base/clock.h"

enum { ASK_MS = 20 };

static _Thread_local struct {
        CancelFunc func;
        void *arg;
        long long next; /* monotonic ms */
        bool cancelled;
} work;

void cancel_begin(CancelFunc func, void *arg)
{
        work.func = func;
        work.arg = arg;
        work.next = 0;
        work.cancelled = false;
}

void cancel_end(void)
{
        work.func = NULL;
        work.cancelled = false;
}

bool cancel_check(void)
{
        long long now;

        if (!work.func)
                return true;
        now = clock_monotonic_ms();
        if (!work.cancelled && now >= work.next) {
                work.cancelled = work.func(work.arg);
                work.next = now + ASK_MS;
        }
        if (work.cancelled)
                errno = ECANCELED;
        return !work.cancelled;
}
