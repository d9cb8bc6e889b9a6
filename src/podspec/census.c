/* Nodes and pods as amounts (see census.h). Fields: Kubernetes API reference, core/v1 Node, Pod; requests of
 * pods: "Resource Management for Pods and Containers", with init containers. */
#include "podspec/census.h"

#include <string.h>

#include "kube/kind.h"
#include "model/resources.h"

/* ---- amounts ---- */

/* An amount that cannot be parsed counts as 0. */
static gint64 amount_of(const char *name, const json_t *value)
{
        const char *text = json_string_value(value);
        gint64 amount = 0;

        if (text)
                (void)(strcmp(name, "cpu") == 0 ? cpu_parse : memory_parse)(name, text, &amount, NULL);
        return amount;
}

static json_t *amounts_of(const json_t *quantities)
{
        json_t *amounts = json_object(), *value;
        const char *name;

        json_object_foreach((json_t *)quantities, name, value)
                json_object_set_new(amounts, name, json_integer(amount_of(name, value)));
        return amounts;
}

void census_add(json_t *sum, const json_t *amounts, gint64 n)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)amounts, name, value) {
                gint64 was = json_integer_value(json_object_get(sum, name)), more, now;

                if (__builtin_mul_overflow(json_integer_value(value), n, &more) ||
                    __builtin_add_overflow(was, more, &now))
                        now = G_MAXINT64;
                json_object_set_new(sum, name, json_integer(now));
        }
}

static void raise_to(json_t *least, const json_t *amounts)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)amounts, name, value)
                if (json_integer_value(value) > json_integer_value(json_object_get(least, name)))
                        json_object_set(least, name, value);
}

/* The requests. The API server fills in a request where only a limit is given. */
static json_t *container_asks(const json_t *container)
{
        return amounts_of(kube_get(container, "resources.requests"));
}

json_t *census_pod_asks(const json_t *pod)
{
        json_t *sum = json_object(), *container;
        const json_t *first = kube_get(pod, "spec.initContainers"), *all = kube_get(pod, "spec.containers");
        g_autoptr(json_t) stay = json_object(), most = json_object();
        g_autoptr(json_t) overhead = amounts_of(kube_get(pod, "spec.overhead"));
        size_t i;

        json_array_foreach(all, i, container) {
                g_autoptr(json_t) asks = container_asks(container);

                census_add(sum, asks, 1);
        }
        json_array_foreach(first, i, container) {
                g_autoptr(json_t) asks = container_asks(container);

                if (g_strcmp0(kube_get_text(container, "restartPolicy"), "Always") == 0) {
                        census_add(stay, asks, 1); /* a sidecar keeps running beside the others */
                } else {
                        census_add(asks, stay, 1);
                        raise_to(most, asks);
                }
        }
        census_add(sum, stay, 1);
        raise_to(sum, most);
        census_add(sum, overhead, 1);
        return sum;
}

/* ---- nodes ---- */

static bool is_ready(const json_t *node)
{
        const json_t *list = kube_get(node, "status.conditions"), *one;
        size_t i;

        json_array_foreach(list, i, one) {
                if (g_strcmp0(kube_get_text(one, "type"), "Ready") == 0)
                        return g_strcmp0(kube_get_text(one, "status"), "True") == 0;
        }
        return false;
}

static const char *address_of(const json_t *node)
{
        const json_t *list = kube_get(node, "status.addresses"), *one;
        size_t i;

        json_array_foreach(list, i, one) {
                const char *address = kube_get_text(one, "address");

                if (address && g_strcmp0(kube_get_text(one, "type"), "InternalIP") == 0)
                        return address;
        }
        return "";
}

static json_t *labels_of(const json_t *object)
{
        const json_t *labels = kube_get(object, "metadata.labels");

        return labels ? json_copy((json_t *)labels) : json_object();
}

json_t *census_node(const json_t *node)
{
        bool ready = is_ready(node);

        return json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:{}, s:[]}", "name", kube_name(node), "ip",
                         address_of(node), "ready", ready, "schedulable",
                         ready && !json_is_true(kube_get(node, "spec.unschedulable")), "labels",
                         labels_of(node), "capacity", amounts_of(kube_get(node, "status.capacity")),
                         "allocatable", amounts_of(kube_get(node, "status.allocatable")), "used", "pods");
}

/* ---- pods ---- */

static CensusStatus status_of(const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");

        if (g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0)
                return CENSUS_DELETED;
        if (kube_is_deleting(pod))
                return CENSUS_TERMINATING;
        return g_strcmp0(phase, "Running") == 0 ? CENSUS_RUNNING : CENSUS_CREATING;
}

void census_add_pod(json_t *nodes, const json_t *pod)
{
        const char *name = kube_get_text(pod, "spec.nodeName");
        json_t *node = name ? json_object_get(nodes, name) : NULL, *asks;
        CensusStatus status = status_of(pod);

        if (!node || status == CENSUS_DELETED)
                return;
        asks = census_pod_asks(pod);
        census_add(json_object_get(node, "used"), asks, 1);
        json_array_append_new(json_object_get(node, "pods"),
                              json_pack("{s:s, s:o, s:i, s:o}", "name", kube_name(pod), "labels",
                                        labels_of(pod), "status", (int)status, "asks", asks));
}
