/* NetworkPolicies: the allowed connections of pods, if the cluster's network plugin enforces them. Pure. */
#pragma once

#include "runtime/kubernetes/pod/member.h"

/* For the pods of an attempt: each other, the cluster's DNS, and the addresses of `egress`
 * (ADDRESS[/BITS][:PORT]; NULL ends the list). `egress` NULL: no other address, and no other connections to
 * them. */
json_t *policy_of_attempt(const MemberHome *home, const char *job_id, int attempt, char *const *egress);

/* The label of pods that build images: the server's id. */
#define POLICY_BUILDS_LABEL "paddle-image-server"
/* For all pods that build images for the server in its namespace: DNS and these addresses. */
json_t *policy_of_builds(const MemberHome *home, char *const *egress);

/* Checks an item of such a list; ERR_INVALID. */
bool policy_check(const char *item, GError **error);
