/* NetworkPolicies (see policy.h), networking.k8s.io/v1. They name addresses and never hosts: what a name
 * leads to changes, and a policy does not follow it. */
#include "runtime/kubernetes/pod/policy.h"

#include <string.h>

#include "base/err.h"
#include "kube/kind.h"
#include "podspec/objects.h"
#include "runtime/local/egress.h"

#define DNS_PORT 53

/* The cluster's name servers, wherever they stand in its own namespace. */
static json_t *to_names(void)
{
        return json_pack("{s:[{s:{s:{s:s}}}], s:[{s:s, s:i}, {s:s, s:i}]}", "to", "namespaceSelector",
                         "matchLabels", "kubernetes.io/metadata.name", "kube-system", "ports", "protocol",
                         "UDP", "port", DNS_PORT, "protocol", "TCP", "port", DNS_PORT);
}

static json_t *to_address(const json_t *rule)
{
        json_int_t port = json_integer_value(json_object_get(rule, "port"));
        json_t *made = json_pack("{s:[{s:{s:o}}]}", "to", "ipBlock", "cidr",
                                 json_sprintf("%s/%" JSON_INTEGER_FORMAT,
                                              json_string_value(json_object_get(rule, "address")),
                                              json_integer_value(json_object_get(rule, "bits"))));

        if (port)
                json_object_set_new(made, "ports",
                                    json_pack("[{s:s, s:I}, {s:s, s:I}]", "protocol", "TCP", "port", port,
                                              "protocol", "UDP", "port", port));
        return made;
}

static void add_addresses(json_t *rules, char *const *egress)
{
        for (; egress && *egress; egress++) {
                g_autofree char *text = NULL;
                g_autoptr(json_t) list =
                        egress_parse(*egress, &text, NULL) ? json_parse(text, strlen(text), NULL) : NULL;
                const json_t *rule;
                gsize i;

                json_array_foreach(list, i, rule)
                        json_array_append_new(rules, to_address(rule));
        }
}

static json_t *policy(json_t *object, json_t *selector, json_t *egress)
{
        json_object_set_new(object, "spec",
                            json_pack("{s:o, s:[s], s:o}", "podSelector", selector, "policyTypes", "Egress",
                                      "egress", egress));
        return object;
}

json_t *policy_of_attempt(const MemberHome *home, const char *job_id, int attempt, char *const *egress)
{
        g_autofree char *name = member_service_name(job_id, attempt);
        g_autofree char *number = g_strdup_printf("%d", attempt);
        g_autoptr(json_t) own = json_pack("{s:{s:s, s:s, s:s}}", "matchLabels", "paddle-server", home->server,
                                          "paddle-job-id", job_id, "paddle-attempt", number);
        json_t *rules = json_pack("[{s:[{s:O}]}, o]", "to", "podSelector", own, to_names());
        json_t *made = podspec_object(&kube_network_policies, home->namespace, name, NULL);

        member_put_labels(made, home, job_id, attempt);
        add_addresses(rules, egress);
        policy(made, json_incref(own), rules);
        if (!egress) {
                json_array_append_new(kube_get(made, "spec.policyTypes"), json_string("Ingress"));
                json_object_set_new(kube_get(made, "spec"), "ingress",
                                    json_pack("[{s:[{s:O}]}]", "from", "podSelector", own));
        }
        return made;
}

json_t *policy_of_builds(const MemberHome *home, char *const *egress)
{
        g_autofree char *name = g_strconcat("paddle-builds-", home->server, NULL);
        json_t *rules = json_pack("[o]", to_names());
        json_t *builds = json_pack("{s:{s:s}}", "matchLabels", POLICY_BUILDS_LABEL, home->server);

        add_addresses(rules, egress);
        return policy(podspec_object(&kube_network_policies, home->namespace, name, NULL), builds, rules);
}

bool policy_check(const char *item, GError **error)
{
        g_autofree char *text = NULL;
        g_autoptr(GError) why = NULL;

        if (!strchr(item, ',') && strcmp(item, "none") != 0 && egress_parse(item, &text, &why))
                return true;
        return err_set(
                error, ERR_INVALID,
                "'%.80s' is not ADDRESS[/BITS][:PORT], such as 10.1.0.0/16:443\nA policy cannot name hosts: "
                "give their addresses.",
                item);
}
