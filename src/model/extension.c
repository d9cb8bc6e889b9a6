/* Kinds of extension templates as tables (see extension.h; scheduling.md 7 and 9). */
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

/* Where the pods of a role are. Roles have our names and PaddleFlow's. */
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

static const char *text_of(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

/* ---- the kind ---- */

/* A version that is not said is the right one. */
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

bool extension_check(const char *framework, const char *named, const json_t *template, GError **error)
{
        if (named && *named)
                return check_named(named, template, error);
        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
                g_autofree char *what = NULL;

                if (strcmp(kinds[i].framework, framework) != 0 ||
                    is_kind(template, kinds[i].kind, kinds[i].version))
                        continue;
                what = g_strdup_printf("'%s' of '%s', which such a job is made of", kinds[i].kind,
                                       kinds[i].version);
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

const json_t *extension_pod(const json_t *template, const char *role)
{
        const char *kind = text_of(template, "kind");
        const json_t *found = NULL;

        if (strcmp(kind, "Pod") == 0 || !*kind) /* a member's own */
                return json_is_object(template) ? template : NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(places) && !found; i++)
                if (strcmp(places[i].kind, kind) == 0 && strcmp(places[i].role, role) == 0)
                        found = walk(template, places[i].path);
        return found;
}

json_t *extension_container(const json_t *pod)
{
        const json_t *list = json_object_get(json_object_get(pod, "spec"), "containers");
        json_t *container;
        size_t i;

        json_array_foreach(list, i, container)
        {
                if (strcmp(text_of(container, "name"), "main") == 0)
                        return container;
        }
        container = json_array_get(list, 0);
        return json_is_object(container) ? container : NULL;
}
