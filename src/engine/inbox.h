/* Commands that wait for the engine's thread, in order of arrival. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/command.h"

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t filled;
        GQueue waiting;         /* Command */
        guint wake_at;          /* number of waiting commands at which inbox_put wakes inbox_take */
        gint64 expect_until_us; /* monotonic: inbox_take waits until then for more than one */
        bool closing;
        bool poked;
} Inbox;

void inbox_init(Inbox *inbox);
void inbox_clear(Inbox *inbox); /* answers waiting commands with ERR_UNAVAILABLE */
void inbox_put(Inbox *inbox, Command *command);
/* Puts commands back that could not be applied yet, before all others. */
void inbox_put_back(Inbox *inbox, GQueue *commands);
void inbox_poke(Inbox *inbox);  /* wakes a waiting inbox_take */
void inbox_close(Inbox *inbox); /* inbox_take does not wait any more */

/* `n` more commands are expected soon, besides those that wait now: their callers are about to be answered. The next
 * inbox_take waits until all of them wait, but at most until the monotonic time `until_us` (microseconds), so that they
 * share one commit. It does not wait while a command without a caller waits (an observation), or if its own `until_ms`
 * is 0. */
void inbox_expect(Inbox *inbox, guint n, gint64 until_us);

/* Moves up to `max` commands to the end of `ret`. If there are none it waits until the monotonic time
 * `until_ms` (-1: for ever; 0: not at all), a poke or the closing. False when the inbox is closing. */
bool inbox_take(Inbox *inbox, guint max, gint64 until_ms, GQueue *ret);
