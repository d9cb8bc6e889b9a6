/* Secrets of a job (runtime.h, TaskSecret) in its pods. The values are in one Secret of Kubernetes for each
 * attempt; pods and what makes them name it. Pure. */
#pragma once

#include "runtime/kubernetes/member.h"

#define POD_SECRETS_DIR "/run/paddle/secrets" /* $PADDLE_SECRETS_DIR */
#define POD_SECRETS_LABEL "paddle-secrets"    /* of pods that have some */

/* Its name, "j-ID-1-secrets" of the service "j-ID-1"; the caller's. Templates of users may name no Secret
 * that begins so (model/baseline.c). */
char *pod_secrets_name(const char *service);
/* The attempt's Secret. It cannot be changed: members that start later get what the first ones got. */
json_t *pod_secrets_object(const MemberHome *home, const RuntimeJob *job, const TaskSecret *secrets, int n);

/* The member's container gets them, and no other. The pod is complete and confined: where a template has a
 * variable, a volume or a mount in the same place, this one replaces it. */
void pod_secrets_put(json_t *pod, const RuntimeJob *job, const TaskSecret *secrets, int n);
