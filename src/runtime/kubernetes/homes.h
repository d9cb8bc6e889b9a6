/* The owners of home directories on clusters. The path of a home, from the cluster's setting, has only the user's
 * name. If a user is deleted and another one is created under that name, it is another person
 * (doc/guide/people.md). So the first job of a user whose pods see a home writes the user's number into
 * STATE/homes/<name>.owner, for all clusters. */
#pragma once

#include <glib.h>

/* Why pods of the user may not see the home; the caller's. NULL: it is theirs; a home without an owner
 * becomes theirs. `seq`: the user's number in the catalog; 0 means unknown, owns nothing and is not checked.
 * Called only by the engine's thread; writes once for each user. */
char *homes_problem(const char *state_dir, const char *user, gint64 seq);
