/* What the files of auth/ share. */
#pragma once

#include "api/auth/auth.h"
#include "api/auth/second-factor.h"
#include "api/auth/throttle.h"
#include "api/auth/timers.h"
#include "api/crew.h"

typedef struct TokenCache TokenCache;

struct Auth {
        AuthConfig config;
        Crew *crew;
        Crew *directory_crew; /* waits for the directory, so that who has a password here does not */
        Throttle *throttle;
        Timers *timers; /* attempts that wait for theirs */
        TokenCache *cache;
        SecondFactors *factors;
};

/* Makes room for one more log-in of the user. */
bool login_make_room(Auth *auth, const char *user, GError **error);

/* The note of a token that single sign-on gave: no password was said for it. */
#define SSO_NOTE "single sign-on"
/* The server asks this user for a second factor, and there is none yet: log-ins are good for setting it up
 * alone. */
bool lacks_second_factor(const Auth *auth, const User *user);

TokenCache *token_cache_new(void);
void token_cache_free(TokenCache *cache);

/* Is it still one of the server's authorities of clients? ERR_UNAUTHENTICATED. */
bool certificate_authority_check(Auth *auth, const char *authority, GError **error);
/* Is this auth_certificate_credential's? Does it hold still? */
bool certificate_is_credential(const char *credential);
bool certificate_is_valid(Auth *auth, const char *credential);
