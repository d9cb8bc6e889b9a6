/* Kinds of extension templates as tables (see extension.h; doc/reference/scheduling.md, "Objects of
 * frameworks" and "Job templates"). */
#include "model/extension.h"

#include <string.h>

#include "base/err.h"

static const struct {
        const char *framework, *kind, *version;
} kinds[] = {
        { "standalone", "Pod", "v1" },
        { "paddle", "PaddleJob", "batch.paddlepaddle.org/v1" },
        { "pytorch", "PyTorchJob", "kubeflow.org/v1" },
        { "tensorflow", "TFJob", "kubeflow.org/v1" },
        { "mxnet", "MXJob", "kubeflow.org/v1" },
        { "mpi", "MPIJob", "kubeflow.org/v1" },
        { "spark", "SparkApplication", "sparkoperator.k8s.io/v1beta2" },
        { "ray", "RayJob", "ray.io/v1alpha1" },
        { "aitj", "AITrainingJob", "kongming.cce.baiudbce.com/v1" },
        { "", "Workflow", "argoproj.io/v1alpha1" },
};

static const char *text_of(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

/* ---- shape ---- */

typedef enum { SHAPE_OBJECT, SHAPE_TEXT, SHAPE_OBJECTS, SHAPE_NAMED, SHAPE_TEXTS } Shape;

typedef struct {
        const char *name;
        Shape shape;
} ShapeRow;

/* The fields from which pods are built; the API server checks the others. */
static const ShapeRow pod_shape[] = { { "metadata", SHAPE_OBJECT }, { "spec", SHAPE_OBJECT }, { NULL } };
static const ShapeRow metadata_shape[] = { { "labels", SHAPE_OBJECT },
                                           { "annotations", SHAPE_OBJECT },
                                           { NULL } };
static const ShapeRow spec_shape[] = { { "containers", SHAPE_OBJECTS },     { "initContainers", SHAPE_NAMED },
                                       { "volumes", SHAPE_NAMED },          { "tolerations", SHAPE_OBJECTS },
                                       { "imagePullSecrets", SHAPE_NAMED }, { NULL } };
static const ShapeRow container_shape[] = { { "name", SHAPE_TEXT },        { "image", SHAPE_TEXT },
                                            { "command", SHAPE_TEXTS },    { "args", SHAPE_TEXTS },
                                            { "env", SHAPE_NAMED },        { "envFrom", SHAPE_OBJECTS },
                                            { "ports", SHAPE_OBJECTS },    { "volumeMounts", SHAPE_OBJECTS },
                                            { "resources", SHAPE_OBJECT }, { NULL } };
static const ShapeRow resources_shape[] = { { "requests", SHAPE_OBJECT },
                                            { "limits", SHAPE_OBJECT },
                                            { NULL } };

static bool is_item(const json_t *item, Shape shape)
{
        switch (shape) {
        case SHAPE_OBJECTS: return json_is_object(item);
        case SHAPE_NAMED: return json_is_string(json_object_get(item, "name"));
        default: return json_is_string(item);
        }
}

static bool is_list(const json_t *value, Shape shape)
{
        const json_t *item;
        size_t i;

        json_array_foreach(value, i, item) {
                if (!is_item(item, shape))
                        return false;
        }
        return json_is_array(value);
}

static bool has_shape(const json_t *value, Shape shape)
{
        switch (shape) {
        case SHAPE_OBJECT: return json_is_object(value);
        case SHAPE_TEXT: return json_is_string(value);
        default: return is_list(value, shape);
        }
}

static bool check_shape(const char *where, const json_t *object, const ShapeRow *rows, GError **error)
{
        static const char *const words[] = { [SHAPE_OBJECT] = "an object",
                                             [SHAPE_TEXT] = "a text",
                                             [SHAPE_OBJECTS] = "a list of objects",
                                             [SHAPE_NAMED] = "a list of objects that have a name",
                                             [SHAPE_TEXTS] = "a list of texts" };

        for (; rows->name; rows++) {
                const json_t *value = json_object_get(object, rows->name);

                if (value && !json_is_null(value) && !has_shape(value, rows->shape))
                        return err_set(error, ERR_INVALID, "extensionTemplate: %s.%s must be %s", where,
                                       rows->name, words[rows->shape]);
        }
        return true;
}

static bool check_container(const char *where, const json_t *container, GError **error)
{
        g_autofree char *inner = g_strconcat(where, ".resources", NULL);

        return check_shape(where, container, container_shape, error) &&
               check_shape(inner, json_object_get(container, "resources"), resources_shape, error);
}

/* A duplicate name would replace the platform's entry, which members need. */
static bool check_names(const char *where, const json_t *list, const char *const *ours, GError **error)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                if (g_strv_contains(ours, text_of(item, "name")))
                        return err_set(error, ERR_INVALID,
                                       "extensionTemplate: %s: the name '%.63s' is the platform's own", where,
                                       text_of(item, "name"));
        }
        return true;
}

static bool check_own_names(const char *where, const json_t *spec, GError **error)
{
        static const char *const our_volumes[] = { "paddle-gate",    "paddle-members", "paddle-state",
                                                   "paddle-package", "paddle-work",    NULL };
        static const char *const our_containers[] = { "gate", "package", NULL };
        g_autofree char *volumes = g_strconcat(where, ".volumes", NULL);
        g_autofree char *before = g_strconcat(where, ".initContainers", NULL);

        return check_names(volumes, json_object_get(spec, "volumes"), our_volumes, error) &&
               check_names(before, json_object_get(spec, "initContainers"), our_containers, error);
}

static bool check_pod(const char *where, const json_t *pod, const void *arg, GError **error)
{
        g_autofree char *metadata = g_strconcat(where, ".metadata", NULL);
        g_autofree char *spec = g_strconcat(where, ".spec", NULL);
        const json_t *container;
        size_t i;

        if (!check_shape(where, pod, pod_shape, error) ||
            !check_shape(metadata, json_object_get(pod, "metadata"), metadata_shape, error) ||
            !check_shape(spec, json_object_get(pod, "spec"), spec_shape, error) ||
            !check_own_names(spec, json_object_get(pod, "spec"), error))
                return false;
        json_array_foreach(json_object_get(json_object_get(pod, "spec"), "containers"), i, container) {
                g_autofree char *at = g_strdup_printf("%s.containers[%" G_GSIZE_FORMAT "]", spec, i);

                if (!check_container(at, container, error))
                        return false;
        }
        return true;
}

/* The path to the pods of each role. Roles have our names and PaddleFlow's. */
static const struct {
        const char *kind, *role, *path;
} places[] = {
        { "PaddleJob", "pserver", "spec.ps.template" },
        { "PaddleJob", "trainer", "spec.worker.template" },
        { "PaddleJob", "worker", "spec.worker.template" },
        { "PaddleJob", "trainer", "spec.paddleReplicaSpecs.Worker.template" },
        { "PaddleJob", "worker", "spec.paddleReplicaSpecs.Worker.template" },
        { "PaddleJob", "master", "spec.paddleReplicaSpecs.Master.template" },
        { "PyTorchJob", "master", "spec.pytorchReplicaSpecs.Master.template" },
        { "PyTorchJob", "worker", "spec.pytorchReplicaSpecs.Worker.template" },
        { "TFJob", "pserver", "spec.tfReplicaSpecs.PS.template" },
        { "TFJob", "master", "spec.tfReplicaSpecs.Chief.template" },
        { "TFJob", "master", "spec.tfReplicaSpecs.Master.template" },
        { "TFJob", "worker", "spec.tfReplicaSpecs.Worker.template" },
        { "TFJob", "evaluator", "spec.tfReplicaSpecs.Evaluator.template" },
        { "MPIJob", "master", "spec.mpiReplicaSpecs.Launcher.template" },
        { "MPIJob", "launcher", "spec.mpiReplicaSpecs.Launcher.template" },
        { "MPIJob", "worker", "spec.mpiReplicaSpecs.Worker.template" },
};

/* ---- the kind ---- */

/* Without a version the right one is assumed. */
static bool is_kind(const json_t *template, const char *kind, const char *version)
{
        const char *said = text_of(template, "apiVersion");

        return strcmp(text_of(template, "kind"), kind) == 0 && (!*said || strcmp(said, version) == 0);
}

static bool refuse(const json_t *template, const char *what, GError **error)
{
        return err_set(error, ERR_INVALID, "extensionTemplate: '%.60s' of '%.60s' is not %s",
                       text_of(template, "kind"), text_of(template, "apiVersion"), what);
}

/* "{Kind}.{group}/{version}": a group has dots, a kind has none. */
static bool check_named(const char *named, const json_t *template, GError **error)
{
        const char *dot = strchr(named, '.');
        g_autofree char *kind = dot ? g_strndup(named, (gsize)(dot - named)) : g_strdup(named);

        return is_kind(template, kind, dot ? dot + 1 : "v1") ||
               refuse(template, "what the annotation " EXTENSION_KIND_ANNOTATION " names", error);
}

static bool check_kind(const char *framework, const char *named, const json_t *template, GError **error)
{
        if (named && *named)
                return check_named(named, template, error);
        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
                g_autofree char *what = NULL;

                if (strcmp(kinds[i].framework, framework) != 0 ||
                    is_kind(template, kinds[i].kind, kinds[i].version))
                        continue;
                what = g_strdup_printf("'%s' of '%s', as such a job needs", kinds[i].kind, kinds[i].version);
                return refuse(template, what, error);
        }
        return true;
}

/* ---- its pods ---- */

static const json_t *walk(const json_t *object, const char *path)
{
        g_auto(GStrv) steps = g_strsplit(path, ".", -1);

        for (char **step = steps; *step && object; step++)
                object = json_object_get(object, *step);
        return json_is_object(object) ? object : NULL;
}

/* Without a kind it is a member's own pod. */
static bool is_pod(const json_t *template)
{
        const char *kind = text_of(template, "kind");

        return json_is_object(template) && (strcmp(kind, "Pod") == 0 || !*kind);
}

const json_t *extension_pod(const json_t *template, const char *role)
{
        const char *kind = text_of(template, "kind");
        const json_t *found = NULL;

        if (is_pod(template))
                return template;
        for (gsize i = 0; i < G_N_ELEMENTS(places) && !found; i++)
                if (strcmp(places[i].kind, kind) == 0 && strcmp(places[i].role, role) == 0)
                        found = walk(template, places[i].path);
        return found;
}

bool extension_each_pod(const json_t *template, ExtensionPodFunc check, const void *arg, GError **error)
{
        const char *kind = text_of(template, "kind");

        if (is_pod(template))
                return check("pod", template, arg, error);
        for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
                const json_t *pod = strcmp(places[i].kind, kind) == 0 ? walk(template, places[i].path) : NULL;

                if (pod && !check(places[i].path, pod, arg, error))
                        return false;
        }
        return true;
}

bool extension_check_pods(const json_t *template, GError **error)
{
        return extension_each_pod(template, check_pod, NULL, error);
}

bool extension_check(const char *framework, const char *named, const json_t *template, GError **error)
{
        return check_kind(framework, named, template, error) && extension_check_pods(template, error);
}

json_t *extension_container(const json_t *pod)
{
        const json_t *list = json_object_get(json_object_get(pod, "spec"), "containers");
        json_t *container;
        size_t i;

        json_array_foreach(list, i, container) {
                if (strcmp(text_of(container, "name"), "main") == 0)
                        return container;
        }
        container = json_array_get(list, 0);
        return json_is_object(container) ? container : NULL;
}

/* ---- its requests ---- */

/* Quantities may be numbers. */
static json_t *quantity_text(const json_t *value)
{
        g_autofree char *text = json_is_number(value) ? json_format(value) : NULL;

        return json_string(text ? text : json_is_string(value) ? json_string_value(value) : "");
}

/* As in Kubernetes: a limit without a request is also the request. */
json_t *extension_flavour(const json_t *container)
{
        const json_t *resources = json_object_get(container, "resources");
        json_t *requests = json_object_get(resources, "requests"),
               *limits = json_object_get(resources, "limits");
        g_autoptr(json_t) asked = json_is_object(limits) ? json_copy(limits) : json_object();
        g_autoptr(json_t) flavour = json_object(), scalars = json_object();
        const char *name;
        json_t *value;

        if (json_is_object(requests))
                json_object_update(asked, requests);
        json_object_foreach(asked, name, value) {
                if (strcmp(name, "cpu") == 0)
                        json_object_set_new(flavour, "cpu", quantity_text(value));
                else if (strcmp(name, "memory") == 0)
                        json_object_set_new(flavour, "mem", quantity_text(value));
                else
                        json_object_set_new(scalars, name, quantity_text(value));
        }
        if (json_object_size(scalars) > 0)
                json_object_set(flavour, "scalarResources", scalars);
        return json_object_size(flavour) > 0 ? g_steal_pointer(&flavour) : NULL;
}

/* "spec.worker.template" -> the value at "spec.worker.replicas". */
static gint64 replicas_beside(const json_t *template, const char *path)
{
        g_autofree char *role = g_strndup(path, (gsize)(strrchr(path, '.') - path));
        const json_t *replicas = json_object_get(walk(template, role), "replicas");

        return json_is_integer(replicas) ? json_integer_value(replicas) : 1;
}

json_t *extension_members(const json_t *template)
{
        static const char *const roles[] = { "pserver", "master", "worker", NULL };
        json_t *members = json_array();

        for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
                if (strcmp(places[i].kind, text_of(template, "kind")) == 0 &&
                    g_strv_contains(roles, places[i].role) && walk(template, places[i].path))
                        json_array_append_new(members,
                                              json_pack("{s:s, s:I}", "role", places[i].role, "replicas",
                                                        (json_int_t)replicas_beside(template,
                                                                                    places[i].path)));
        return members;
}
