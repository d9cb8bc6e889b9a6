/* Who may use the published password of `root`: older clients have it built in, and everybody knows it. */
#pragma once

#include "api/auth/auth.h"

/* As far as the request itself tells: `published` as in AuthConfig. */
bool published_is_open(const char *const *published, const LoginOrigin *origin);
