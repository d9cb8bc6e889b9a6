/* Work that may wait (a disk, another server), done on a thread of its own, and its end on the loop's. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Aside Aside;

/* `work` is called on a thread, then `done` on `context`, from where it was begun; `done` is not called after
 * aside_cancel. `drop` frees `arg` at the very end in any case. The handle holds until `done` returns or it
 * is cancelled. */
typedef struct {
        void (*work)(void *arg);
        void (*done)(void *arg);
        void (*drop)(void *arg);
        void *arg;
} AsideWork;
Aside *aside_run(GMainContext *context, const AsideWork *work);
void aside_cancel(Aside *aside); /* NULL is a no-op */
