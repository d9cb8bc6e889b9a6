/* A few threads for what may block: copies, removals, asking an interpreter. Threads are made when there is
 * work and none is idle. */
#pragma once

#include <glib.h>

typedef struct Workers Workers;
typedef void (*WorkFunc)(void *work, void *arg); /* takes the work */

Workers *workers_new(int max_threads, WorkFunc run, void *arg);
/* Does what was pushed, ends the threads. NULL is a no-op. */
void workers_free(Workers *workers);
void workers_push(Workers *workers, void *item);
