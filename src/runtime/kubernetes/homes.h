/* Whose the homes on clusters are. A home lies where the cluster's setting says, by its user's name alone; a
 * user who is dropped and made anew under that name is somebody else (doc/guide/people.md, decisions 10 and
 * 12). So the first job of a user whose pods see a home writes the user's number into
 * STATE/homes/<name>.owner, for all clusters. */
#pragma once

#include <glib.h>

/* Why pods of the user may not see the home; the caller's. NULL: it is theirs; a home without an owner
 * becomes theirs. `seq`: the user's number in the catalog; 0 means unknown, owns nothing and is not checked.
 * Called only by the engine's thread; writes once for each user. */
char *homes_problem(const char *state_dir, const char *user, gint64 seq);
