/* The first password of `root`, which every new installation has. */
#pragma once

#include "engine/engine.h"

/* Gives `root` a random password if it has none: first writes it to `path`, which only the server's owner can
 * read; the log names the file. An existing file is used: the server died between the two steps. Other
 * accounts are unchanged. Call it before requests are accepted. */
bool first_password_make(Engine *engine, const char *path, GError **error);

/* True if `root` has its own password; then the published one is not accepted. */
bool first_password_is_there(Engine *engine);
