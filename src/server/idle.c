/* The idle time of a server (see idle.h). */
#include "server/idle.h"

enum { STEP_MIN_MS = 100, STEP_MAX_MS = 60000, STEPS = 10 /* checks within the limit */ };

void idle_init(Idle *idle, gint64 limit_ms, gint64 now)
{
        *idle = (Idle){ .limit_ms = limit_ms, .since = now };
}

bool idle_look(Idle *idle, const IdleLook *seen, gint64 now)
{
        bool busy = seen->open_jobs > 0 || seen->schedules > 0 || seen->connections > 0 ||
                    seen->requests != idle->requests;

        idle->requests = seen->requests;
        if (busy)
                idle->since = now;
        return idle->limit_ms > 0 && now - idle->since >= idle->limit_ms;
}

gint64 idle_step_ms(const Idle *idle)
{
        return CLAMP(idle->limit_ms / STEPS, STEP_MIN_MS, STEP_MAX_MS);
}
