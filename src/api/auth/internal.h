/* Shared by the files of auth/. */
#pragma once

#include "api/auth/auth.h"
#include "api/auth/second-factor.h"
#include "api/auth/throttle.h"
#include "base/thread-pool.h"

typedef struct TokenCache TokenCache;

struct Auth {
        AuthConfig config;
        ThreadPool *threads;
        ThreadPool
                *directory_threads; /* waits for the directory, so that users with a password here do not */
        Throttle *throttle;
        ThreadPool *turns; /* attempts that wait for their turn */
        TokenCache *cache;
        SecondFactors *factors;
};

/* Deletes an old log-in if necessary, so that the user can have one more. */
bool login_make_room(Auth *auth, const char *user, GError **error);

/* The note of a token from single sign-on, which needed no password. */
#define SSO_NOTE "single sign-on"
/* True if the server requires a second factor for this user who has none yet: log-ins can only set it up. */
bool lacks_second_factor(const Auth *auth, const User *user);

TokenCache *token_cache_new(void);
void token_cache_free(TokenCache *cache);

/* Checks that it is still one of the server's authorities for clients. ERR_UNAUTHENTICATED. */
bool certificate_authority_check(Auth *auth, const char *authority, GError **error);
/* True if it came from auth_certificate_credential; true if that certificate is still valid. */
bool certificate_is_credential(const char *credential);
bool certificate_is_valid(Auth *auth, const char *credential);
