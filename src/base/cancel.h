/* Long work that its asker may give up: who starts it says how to ask, the work asks again and again.
 *
 *     cancel_begin(is_gone, request); hash_file(...); cancel_end();
 *
 * Belongs to the thread, so that what reads, hashes and deletes deep below need not hand it on. */
#pragma once

#include <stdbool.h>

typedef bool (*CancelFunc)(void *arg); /* true: nobody waits for the work any more. May cost a system call */

void cancel_begin(CancelFunc func, void *arg);
void cancel_end(void);

/* False when this thread's work was given up, with errno ECANCELED; true when nobody said how to ask. To be
 * called between pieces of work of a few milliseconds; most calls cost a look at the clock. */
bool cancel_check(void);
