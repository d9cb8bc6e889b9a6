/* Who we are, as it changes: a token, a token file that is written anew from time to time, or an exec plug-in
 * that is asked again when what it said expires. Private to the client; on the thread of the context. */
#pragma once

#include "kube/config.h"

typedef struct KubeCredential KubeCredential;

typedef enum {
        CREDENTIAL_READY, /* the getters answer */
        CREDENTIAL_WAIT,  /* a plug-in runs: `changed` will be called */
        CREDENTIAL_FAILED /* with an error; it is tried again a moment later */
} KubeCredentialState;

/* `config` outlives it. */
KubeCredential *kube_credential_new(const KubeConfig *config, GMainContext *context,
                                    void (*changed)(void *arg), void *arg);
void kube_credential_free(KubeCredential *credential);

/* Looks whether what we have is still good, and begins to get better when it is not. */
KubeCredentialState kube_credential_check(KubeCredential *credential, GError **error);
/* Value of the Authorization header, or NULL; PEM, or NULL. Borrowed until the next check. */
const char *kube_credential_authorization(const KubeCredential *credential);
const char *kube_credential_certificate(const KubeCredential *credential);
const char *kube_credential_key(const KubeCredential *credential);
/* Grows whenever the above change. */
guint kube_credential_generation(const KubeCredential *credential);

/* The server refused what it was in `generation`: forgets that, so that the next check reads it anew. False
 * when there is nothing to read anew. */
bool kube_credential_renew(KubeCredential *credential, guint generation);
