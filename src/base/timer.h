/* A timer on a GMainContext: it calls a function once. It exists while it is set: a field `Timer *` that is NULL is a
 * timer that is not set, so that objects with timers stay small and a loop has only the timers that are set.
 *
 *      timer_set(&object->retry, context, 1000, on_retry, object);
 *      if (object->retry) ...                 it is set
 *      timer_clear(&object->retry);           with the object, if not before */
#pragma once

#include <glib.h>

typedef struct Timer Timer;

/* Sets *timer, instead of what was set before: `func` is called on the context (NULL: the default one) in `ms` from
 * now, or at `us` of g_get_monotonic_time(). A time that is past is the next iteration of the loop; a negative one
 * clears the timer. *timer is NULL again when `func` is called, which may set it again, or free the object that the
 * timer is in. All calls are on the thread of the context, and *timer does not move while it is set. */
void timer_set(Timer **timer, GMainContext *context, gint64 ms, void (*func)(void *arg), void *arg);
void timer_set_at(Timer **timer, GMainContext *context, gint64 us, void (*func)(void *arg), void *arg);

/* Its function is not called any more. *timer may be NULL. */
void timer_clear(Timer **timer);

gint64 timer_due_at(const Timer *timer); /* in us, as above; -1: NULL, a timer that is not set */
