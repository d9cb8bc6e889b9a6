/* Cancellation of long work. The caller sets a function that says whether the result is still wanted, and the
 * work calls cancel_check() between its steps.
 *
 *     cancel_begin(is_gone, request); hash_file(...); cancel_end();
 *
 * The state belongs to the thread, so functions deep below need no parameter for it. */
#pragma once

#include <stdbool.h>

typedef bool (*CancelFunc)(void *arg); /* true: the result is no longer wanted. May cost a system call */

void cancel_begin(CancelFunc func, void *arg);
void cancel_end(void);

/* False with errno ECANCELED when this thread's work was cancelled. True without cancel_begin(). Call it
 * between pieces of work of a few milliseconds. Most calls only read the clock. */
bool cancel_check(void);
