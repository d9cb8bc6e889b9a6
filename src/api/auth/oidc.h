/* The issuer of OpenID Connect that the server believes: its documents, its keys, and its device flow (OpenID
 * Connect Discovery 1.0, RFC 8628). Calls go to the network and block, each at most OIDC_CALL_MS: on a thread
 * that may. Nothing is followed to another address, and what is read is bounded.
 *
 * Keys are read when they are needed first, and again when they are an hour old or a token names one that is
 * not there. While the issuer is away those that are known go on for a day. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum { OIDC_CALL_MS = 5000, DEVICE_CODE_MAX = 4096 };

typedef struct Oidc Oidc;

typedef struct {
        const char *issuer;          /* as its documents and tokens spell it */
        const char *client, *secret; /* secret: NULL for a public client */
        const char *ca;              /* path of authorities (PEM); NULL: the system's */
} OidcConfig;

/* An issuer is an https:// address, or http:// on the loopback, without a query. ERR_INVALID. */
bool oidc_check_issuer(const char *issuer, GError **error);

Oidc *oidc_new(const OidcConfig *config, GError **error); /* copies; the issuer is checked */
void oidc_stop(Oidc *oidc);                               /* calls that begin from now on fail at once */
void oidc_free(Oidc *oidc);                               /* NULL is a no-op */
const char *oidc_issuer(const Oidc *oidc);

/* The claims of an ID token that holds. ERR_UNAUTHENTICATED with the reason; ERR_UNAVAILABLE: the issuer does
 * not answer, and no keys of it are known. */
json_t *oidc_verify(Oidc *oidc, const char *token, const char *nonce, GError **error);

/* A code for a person: {"device_code", "user_code", "verification_uri", "verification_uri_complete"?,
 * "expires_in", "interval"}, checked. ERR_UNAVAILABLE. */
json_t *oidc_device_start(Oidc *oidc, GError **error);

typedef enum { DEVICE_DONE, DEVICE_PENDING, DEVICE_SLOWER } DeviceState;
/* What the person did: an ID token of the issuer, not verified yet, when done. ERR_DENIED: they refused,
 * ERR_GONE: the code has expired, ERR_UNAVAILABLE. */
bool oidc_device_poll(Oidc *oidc, const char *device_code, DeviceState *ret, char **ret_token,
                      GError **error);
