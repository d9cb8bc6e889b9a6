/* Delayed calls: one thread that makes each call at its time. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Timers Timers;
/* Short. `stopped`: the timers are stopping; only answer and free. */
typedef void (*TimerFunc)(bool stopped, void *arg);

Timers *timers_new(void);         /* the thread is started with the first timer */
void timers_stop(Timers *timers); /* calls waiting functions with `stopped`, and later ones at once, too */
void timers_free(Timers *timers); /* stops it first; NULL is a no-op */
void timers_add(Timers *timers, gint64 wait_ms, TimerFunc func, void *arg); /* any thread */
