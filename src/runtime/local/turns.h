/* Whose turn it is: of each user so many at one time, in the order of asking. Pure; the caller locks. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Turns Turns;
Turns *turns_new(guint each);  /* at one time, 1 and more */
void turns_free(Turns *turns); /* what waits stays its owner's */

/* True: the item of the user has its turn. Else it waits, borrowed. */
bool turns_take(Turns *turns, const char *user, void *item);
/* An item of the user has had its turn. Whose it is now, of the same user; NULL: nothing waits. */
void *turns_give(Turns *turns, const char *user);
