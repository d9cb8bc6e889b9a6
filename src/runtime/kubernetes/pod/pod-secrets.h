/* Secrets of a job (runtime.h, TaskSecret) in its pods. The values are in one Secret of Kubernetes for each
 * attempt. Pods, and the objects that make pods, only refer to it. Pure. */
#pragma once

#include "runtime/kubernetes/pod/member.h"

#define POD_SECRETS_DIR "/run/paddle/secrets" /* $PADDLE_SECRETS_DIR */
#define POD_SECRETS_LABEL "paddle-secrets"    /* of pods that have some */

/* Its name, "j-ID-1-secrets" of the service "j-ID-1"; the caller's. Templates of users may name no Secret
 * that begins so (model/baseline.c). */
char *pod_secrets_name(const char *service);
/* The attempt's Secret. It cannot be changed: members that start later get what the first ones got. */
json_t *pod_secrets_object(const MemberHome *home, const RuntimeAttempt *attempt, const TaskSecret *secrets,
                           int n);

/* Gives them to the member's container only. Call it last, on the complete and confined pod: a template's
 * variable or volume of the same name, and a mount in the same place, are replaced. */
void pod_secrets_put(json_t *pod, const RuntimeAttempt *attempt, const TaskSecret *secrets, int n);
