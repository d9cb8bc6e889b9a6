/* NetworkPolicies: what pods may connect to, where the cluster's network plugin enforces them. Pure. */
#pragma once

#include "runtime/kubernetes/member.h"

/* Of the pods of an attempt: each other, names by the cluster's DNS, and the addresses of `egress`
 * (ADDRESS[/BITS][:PORT], the list ending in NULL). `egress` NULL: nothing else, and nothing else reaches
 * them. */
json_t *policy_of_attempt(const MemberHome *home, const char *job_id, int attempt, char *const *egress);

/* Of all pods that build images for the server in its namespace: DNS and these addresses. */
json_t *policy_of_builds(const MemberHome *home, char *const *egress);

/* An item of such a list; ERR_INVALID. */
bool policy_check(const char *item, GError **error);
