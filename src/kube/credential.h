/* Our credentials, as they change: a token, a token file that is rewritten from time to time, or an exec
 * plug-in that is run again when its credential expires. Private to the client; on the thread of the
 * context. */
#pragma once

#include "kube/config.h"

typedef struct KubeCredential KubeCredential;

typedef enum {
        CREDENTIAL_READY, /* the getters return the credential */
        CREDENTIAL_WAIT,  /* a plug-in is running: `changed` will be called */
        CREDENTIAL_FAILED /* with an error; it is retried a moment later */
} KubeCredentialState;

/* `config` outlives it. */
KubeCredential *kube_credential_new(const KubeConfig *config, GMainContext *context,
                                    void (*changed)(void *arg), void *arg);
void kube_credential_free(KubeCredential *credential);

/* Checks whether the credential is still valid, and starts to renew it if not. */
KubeCredentialState kube_credential_check(KubeCredential *credential, GError **error);
/* Value of the Authorization header, or NULL; PEM, or NULL. Borrowed until the next check. */
const char *kube_credential_authorization(const KubeCredential *credential);
const char *kube_credential_certificate(const KubeCredential *credential);
const char *kube_credential_key(const KubeCredential *credential);
/* Increases whenever the values above change. */
guint kube_credential_generation(const KubeCredential *credential);

/* The server refused the credential of `generation`: discards it, so that the next check reads it again.
 * False if it cannot be read again. */
bool kube_credential_renew(KubeCredential *credential, guint generation);
