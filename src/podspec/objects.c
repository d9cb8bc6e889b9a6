/* Objects for the members of a job (see objects.h). */
#include "podspec/objects.h"

#include <string.h>

json_t *podspec_object(const KubeKind *kind, const char *namespace, const char *name,
                       const PodspecOwner *owner)
{
        g_autofree char *version = kube_api_version(kind);
        json_t *object = json_pack("{s:s, s:s, s:{s:s, s:s*}}", "apiVersion", version, "kind", kind->kind,
                                   "metadata", "name", name, "namespace", namespace);

        if (owner) {
                g_autofree char *owner_version = kube_api_version(owner->kind);

                json_object_set_new(json_object_get(object, "metadata"), "ownerReferences",
                                    json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", owner_version,
                                              "kind", owner->kind->kind, "name", owner->name, "uid",
                                              owner->uid, "controller", 1, "blockOwnerDeletion", 1));
        }
        return object;
}

/* The field `name`, created if missing. */
static json_t *member(json_t *object, const char *name, json_t *(*make)(void))
{
        json_t *value = json_object_get(object, name);

        if (!value || json_is_null(value)) {
                value = make();
                json_object_set_new(object, name, value);
        }
        return value;
}

static void set_in_metadata(json_t *object, const char *map, const char *name, const char *value)
{
        json_t *metadata = member(object, "metadata", json_object);

        json_object_set_new(member(metadata, map, json_object), name, json_string(value));
}

void podspec_label(json_t *object, const char *name, const char *value)
{
        set_in_metadata(object, "labels", name, value);
}

void podspec_annotate(json_t *object, const char *name, const char *value)
{
        set_in_metadata(object, "annotations", name, value);
}

bool podspec_is_owned(const json_t *object, const char *uid)
{
        const json_t *controller = kube_controller(object);

        return controller && g_strcmp0(json_string_value(json_object_get(controller, "uid")), uid) == 0;
}

json_t *podspec_list(json_t *object, const char *name)
{
        return member(object, name, json_array);
}

bool podspec_has_named(const json_t *list, const char *name)
{
        const json_t *item;
        gsize i;

        json_array_foreach(list, i, item) {
                if (g_strcmp0(json_string_value(json_object_get(item, "name")), name) == 0)
                        return true;
        }
        return false;
}

/* ---- fields of a container ---- */

char *podspec_literal(const char *text)
{
        g_auto(GStrv) parts = g_strsplit(text, "$", -1);

        return g_strjoinv("$$", parts);
}

void podspec_env(json_t *container, const char *name, const char *value)
{
        json_array_append_new(podspec_list(container, "env"),
                              json_pack("{s:s, s:s}", "name", name, "value", value));
}

void podspec_env_field(json_t *container, const char *name, const char *field_path)
{
        json_array_append_new(podspec_list(container, "env"),
                              json_pack("{s:s, s:{s:{s:s}}}", "name", name, "valueFrom", "fieldRef",
                                        "fieldPath", field_path));
}

void podspec_env_from_config_map(json_t *container, const char *config_map)
{
        json_array_append_new(podspec_list(container, "envFrom"),
                              json_pack("{s:{s:s}}", "configMapRef", "name", config_map));
}

static bool declares(const json_t *ports, int port)
{
        const json_t *item;
        size_t i;

        json_array_foreach(ports, i, item) {
                const char *protocol = json_string_value(json_object_get(item, "protocol"));

                if (json_integer_value(json_object_get(item, "containerPort")) == port &&
                    (!protocol || strcmp(protocol, "TCP") == 0))
                        return true;
        }
        return false;
}

void podspec_port(json_t *container, int port)
{
        json_t *ports = podspec_list(container, "ports");

        if (!declares(ports, port))
                json_array_append_new(ports, json_pack("{s:i}", "containerPort", port));
}

/* ---- Service, PodGroup ---- */

static json_t *service_ports(int port, int n_ports)
{
        json_t *ports = json_array();

        for (int i = 0; i < n_ports; i++) {
                g_autofree char *name = g_strdup_printf("p-%d", i);

                json_array_append_new(ports, json_pack("{s:s, s:s, s:i, s:i}", "name", name, "protocol",
                                                       "TCP", "port", port + i, "targetPort", port + i));
        }
        return ports;
}

json_t *podspec_service(const char *namespace, const char *name, const PodspecOwner *owner,
                        const char *selector, const char *value, int port, int n_ports)
{
        json_t *service = podspec_object(&kube_services, namespace, name, owner);

        json_object_set_new(service, "spec",
                            json_pack("{s:s, s:b, s:{s:s}, s:o}", "clusterIP", "None",
                                      "publishNotReadyAddresses", 1, "selector", selector, value, "ports",
                                      service_ports(port, n_ports)));
        return service;
}

json_t *podspec_pod_group(const char *namespace, const char *name, const PodspecOwner *owner,
                          const PodspecGang *gang)
{
        json_t *group = podspec_object(&kube_pod_groups, namespace, name, owner);
        json_t *spec = json_pack("{s:I, s:O}", "minMember", (json_int_t)gang->min_member, "minResources",
                                 gang->min_resources);

        if (gang->queue && *gang->queue)
                json_object_set_new(spec, "queue", json_string(gang->queue));
        if (gang->priority_class && *gang->priority_class)
                json_object_set_new(spec, "priorityClassName", json_string(gang->priority_class));
        json_object_set_new(group, "spec", spec);
        return group;
}

/* ---- templates ---- */

typedef enum { IS_OBJECT, IS_ARRAY } Shape;

/* Absent and null count as empty. */
static char *shape_problem(const json_t *object, const char *where, const char *name, Shape shape)
{
        const json_t *value = json_object_get(object, name);

        if (!value || json_is_null(value) ||
            (shape == IS_OBJECT ? json_is_object(value) : json_is_array(value)))
                return NULL;
        return g_strdup_printf("%s%s is not %s", where, name, shape == IS_OBJECT ? "an object" : "a list");
}

static char *shapes_problem(const json_t *object, const char *where, const char *const *names, Shape shape)
{
        char *problem = NULL;

        for (; *names && !problem; names++)
                problem = shape_problem(object, where, *names, shape);
        return problem;
}

static char *containers_problem(const json_t *spec)
{
        static const char *const lists[] = { "env", "envFrom", "ports", NULL };
        const json_t *containers = json_object_get(spec, "containers");
        const json_t *first = json_array_get(containers, 0);

        if (!json_is_array(containers))
                return g_strdup("spec.containers is missing");
        if (json_array_size(containers) == 0)
                return g_strdup("spec.containers is empty");
        if (!json_is_object(first))
                return g_strdup("spec.containers[0] is not an object");
        return shapes_problem(first, "spec.containers[0].", lists, IS_ARRAY);
}

char *podspec_template_problem(const json_t *template)
{
        static const char *const maps[] = { "labels", "annotations", NULL };
        static const char *const lists[] = { "initContainers", NULL };
        const json_t *metadata = json_object_get(template, "metadata");
        const json_t *spec = json_object_get(template, "spec");
        char *problem;

        if (!json_is_object(template))
                return g_strdup("is missing");
        if (!json_is_object(spec))
                return g_strdup("spec is missing");
        problem = shape_problem(template, "", "metadata", IS_OBJECT);
        if (!problem)
                problem = shapes_problem(metadata, "metadata.", maps, IS_OBJECT);
        if (!problem)
                problem = shapes_problem(spec, "spec.", lists, IS_ARRAY);
        return problem ? problem : containers_problem(spec);
}
