/* Log-in by single sign-on: an ID token of the issuer (oidc.h) becomes a token of the platform, for the user
 * whom its subject is bound to. doc/guide/people.md has the rules. Any thread; what waits for the network runs on a
 * pool of its own, shared fairly between addresses. */
#pragma once

#include "api/auth/auth.h"
#include "api/auth/oidc.h"

typedef struct Sso Sso;

typedef struct {
        Auth *auth; /* borrowed */
        Engine *engine;
        Store *store;
        OidcConfig issuer;
        const char *username_claim; /* the claim with the name for new users */
        bool create_users;          /* at their first log-in */
        gint64 expire_ms;           /* of the tokens */
} SsoConfig;

Sso *sso_new(const SsoConfig *config, GError **error); /* ERR_USAGE */
void sso_stop(Sso *sso);                               /* answers waiting requests; NULL is a no-op */
void sso_free(Sso *sso);                               /* stops it first; NULL is a no-op */
const char *sso_issuer(const Sso *sso);

typedef struct {
        DeviceState state;
        const json_t *device;   /* of sso_start: the result of oidc_device_start */
        const AuthLogin *login; /* of sso_login: the log-in, when done */
        const char *user, *who; /* for the audit log, if known: the account, and issuer and subject */
} SsoReply;

/* Called once, with an error or without; `reply` is never NULL. Must not block. */
typedef void (*SsoDone)(const SsoReply *reply, const GError *error, void *arg);

/* Begins the device flow. */
void sso_start(Sso *sso, const char *address, SsoDone done, void *arg);

typedef struct {
        const char *device_code;      /* either device_code or id_token is set */
        const char *id_token, *nonce; /* the nonce of an ID token that has one */
        const char *address;          /* of the client */
} SsoAsk;
/* ERR_UNAUTHENTICATED: the token is not valid; ERR_DENIED: it belongs to no account here, or the person
 * refused; ERR_GONE: the code has expired; ERR_UNAVAILABLE. */
void sso_login(Sso *sso, const SsoAsk *ask, SsoDone done, void *arg);
