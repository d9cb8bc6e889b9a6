/* Condition variables with timeouts on the monotonic clock (clock_monotonic_ms), which is never set back. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

void cond_init(pthread_cond_t *cond);
/* Call with the mutex held. False after a timeout; true after a signal or a spurious wakeup. Returns at once
 * if the time is past. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, gint64 until_ms);
/* The same, with a time in microseconds (g_get_monotonic_time). */
bool cond_wait_until_us(pthread_cond_t *cond, pthread_mutex_t *mutex, gint64 until_us);
