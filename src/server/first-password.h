/* The first password of `root`, whom a new installation has. */
#pragma once

#include "engine/engine.h"

/* An account that nobody has given a password gets one at random: it is written to `path`, which only the
 * server's owner reads, before it holds; the log says where. A file that is there already is believed: the
 * server died between the two. Any other account is left alone. Before requests are taken. */
bool first_password_make(Engine *engine, const char *path, GError **error);

/* Has `root` a password of its own? Then the published one opens nothing. */
bool first_password_is_there(Engine *engine);
