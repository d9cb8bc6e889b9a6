/* What waits for its time: one thread that calls each when it has come. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Timers Timers;
/* Short. `stopped`: the line ends, only answer and free. */
typedef void (*TimerFunc)(bool stopped, void *arg);

Timers *timers_new(void);         /* its thread is started with the first that waits */
void timers_stop(Timers *timers); /* what waits is called with `stopped`, and so are later ones, at once */
void timers_free(Timers *timers); /* stops it first; NULL is a no-op */
void timers_add(Timers *timers, gint64 wait_ms, TimerFunc func, void *arg); /* any thread */
