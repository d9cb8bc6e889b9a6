/* Blocking work (on a disk, or with another server) on a thread of its own; its completion is reported on the
 * loop. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Aside Aside;

/* `work` is called on a thread, then `done` on `context`, from which it was started. `done` is not called
 * after aside_cancel. `drop` frees `arg` at the end in any case. The handle is valid until `done` returns or
 * it is cancelled. */
typedef struct {
        void (*work)(void *arg);
        void (*done)(void *arg);
        void (*drop)(void *arg);
        void *arg;
} AsideWork;
Aside *aside_run(GMainContext *context, const AsideWork *work);
void aside_cancel(Aside *aside); /* NULL is a no-op */
