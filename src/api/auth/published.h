/* The rule for the published password of `root`, which older clients have built in and which is publicly
 * known. */
#pragma once

#include "api/auth/auth.h"

/* True if the request itself allows it: `published` as in AuthConfig. */
bool published_is_open(const char *const *published, const LoginOrigin *origin);
