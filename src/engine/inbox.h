/* Commands that wait for the engine's thread, in order of arrival. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/command.h"

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t filled;
        GQueue waiting; /* Command */
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

/* Moves up to `max` commands to the end of `ret`. If there are none it waits until the monotonic time
 * `until_ms` (-1: for ever; 0: not at all), a poke or the closing. False when the inbox is closing. */
bool inbox_take(Inbox *inbox, guint max, gint64 until_ms, GQueue *ret);
