/* What the files of auth/ share. */
#pragma once

#include "api/auth/auth.h"
#include "api/auth/throttle.h"
#include "api/auth/timers.h"
#include "api/crew.h"

typedef struct TokenCache TokenCache;

struct Auth {
        AuthConfig config;
        Crew *crew;
        Throttle *throttle;
        Timers *timers; /* attempts that wait for theirs */
        TokenCache *cache;
};

/* Makes room for one more log-in of the user. */
bool login_make_room(Auth *auth, const char *user, GError **error);

/* The note of a token that single sign-on gave: no password was said for it. */
#define SSO_NOTE "single sign-on"

TokenCache *token_cache_new(void);
void token_cache_free(TokenCache *cache);

/* Is it still one of the server's authorities of clients? ERR_UNAUTHENTICATED. */
bool certificate_authority_check(Auth *auth, const char *authority, GError **error);
/* Is this auth_certificate_credential's? Does it hold still? */
bool certificate_is_credential(const char *credential);
bool certificate_is_valid(Auth *auth, const char *credential);
