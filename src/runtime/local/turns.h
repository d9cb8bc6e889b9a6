/* A limit of concurrent items per user; others wait in order of request. Pure; the caller locks. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Turns Turns;
Turns *turns_new(guint each);  /* at one time, at least 1 */
void turns_free(Turns *turns); /* waiting items remain their owner's */

/* True: the item may start. False: it waits, borrowed. */
bool turns_take(Turns *turns, const char *user, void *item);
/* An item of the user has finished. Returns the user's next item, which may start now; NULL: none waits. */
void *turns_give(Turns *turns, const char *user);
