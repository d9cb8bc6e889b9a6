/* Condition variables whose waits end by the monotonic clock (clock_monotonic_ms), which nobody sets. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

void cond_init(pthread_cond_t *cond);
/* With the mutex. False when the time has come; true after a signal, or for no reason. A time that is past
 * does not wait. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, gint64 until_ms);
