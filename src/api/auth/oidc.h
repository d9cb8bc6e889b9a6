/* The trusted issuer of OpenID Connect: its documents, its keys, and its device flow (OpenID Connect
 * Discovery 1.0, RFC 8628). Calls use the network and block, each at most OIDC_CALL_MS: only on a thread that
 * may block. Redirects are not followed, and the size of replies is limited.
 *
 * Keys are read when they are first needed, and again when they are an hour old or a token names an unknown
 * one. If the issuer is unreachable, known keys stay valid for a day. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum { OIDC_CALL_MS = 5000, DEVICE_CODE_MAX = 4096 };

typedef struct Oidc Oidc;

typedef struct {
        const char *issuer;          /* spelled as in its documents and tokens */
        const char *client, *secret; /* secret: NULL for a public client */
        const char *ca;              /* path of authorities (PEM); NULL: the system's */
} OidcConfig;

/* An issuer is an https:// address, or http:// on the loopback, without a query. ERR_INVALID. */
bool oidc_check_issuer(const char *issuer, GError **error);

Oidc *oidc_new(const OidcConfig *config, GError **error); /* copies; checks the issuer */
void oidc_stop(Oidc *oidc);                               /* calls that begin after this fail at once */
void oidc_free(Oidc *oidc);                               /* NULL is a no-op */
const char *oidc_issuer(const Oidc *oidc);

/* The claims of a valid ID token. ERR_UNAUTHENTICATED with the reason. ERR_UNAVAILABLE: the issuer does not
 * answer, and none of its keys are known. */
json_t *oidc_verify(Oidc *oidc, const char *token, const char *nonce, GError **error);

/* Starts the device flow: {"device_code", "user_code", "verification_uri", "verification_uri_complete"?,
 * "expires_in", "interval"}, checked. ERR_UNAVAILABLE. */
json_t *oidc_device_start(Oidc *oidc, GError **error);

typedef enum { DEVICE_DONE, DEVICE_PENDING, DEVICE_SLOWER } DeviceState;
/* The result of the person's action. When done, *ret_token is an ID token of the issuer, not verified yet.
 * ERR_DENIED: they refused, ERR_GONE: the code has expired, ERR_UNAVAILABLE. */
bool oidc_device_poll(Oidc *oidc, const char *device_code, DeviceState *ret, char **ret_token,
                      GError **error);
