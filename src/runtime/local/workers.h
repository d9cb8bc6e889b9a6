/* A few threads for blocking work: copies, removals, running an interpreter. A thread is created when there
 * is work and none is idle. */
#pragma once

#include <glib.h>

typedef struct Workers Workers;
typedef void (*WorkFunc)(void *work, void *arg); /* takes ownership of the work */

Workers *workers_new(int max_threads, WorkFunc run, void *arg);
/* Completes the pushed work, then ends the threads. NULL is a no-op. */
void workers_free(Workers *workers);
void workers_push(Workers *workers, void *item);
