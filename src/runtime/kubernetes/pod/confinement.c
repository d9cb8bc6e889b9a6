/* The security context of pods (see confinement.h).
 *
 * The defaults are those of Pod Security Standards, level "Restricted", but that images may run as root: most
 * do. Root without capabilities cannot read a home whose files have another owner, so a pod with a home keeps
 * the one for that, which reaches nothing beyond the pod's own volumes. */
#include "runtime/kubernetes/pod/confinement.h"

#include <string.h>

#include "kube/kind.h"
#include "podspec/objects.h"

static const char any_file[] = "DAC_OVERRIDE";

static json_t *object_of(json_t *parent, const char *name)
{
        json_t *object = json_object_get(parent, name);

        if (!json_is_object(object))
                json_object_set_new(parent, name, object = json_object());
        return object;
}

static void set_if_absent(json_t *object, const char *name, json_t *value /* taken */)
{
        json_t *said = json_object_get(object, name);

        if (!said || json_is_null(said))
                json_object_set(object, name, value);
        json_decref(value);
}

static bool has_word(const json_t *list, const char *word)
{
        const json_t *item;
        gsize i;

        json_array_foreach(list, i, item) {
                const char *text = json_string_value(item);

                if (text && (strcmp(text, word) == 0 ||
                             (g_str_has_prefix(text, "CAP_") && strcmp(text + strlen("CAP_"), word) == 0)))
                        return true;
        }
        return false;
}

/* If a template drops capabilities, only these are dropped. */
static void put_capabilities(json_t *security, const char *const *keep)
{
        json_t *capabilities = object_of(security, "capabilities");

        if (json_object_get(capabilities, "drop"))
                return;
        json_object_set_new(capabilities, "drop", json_pack("[s]", "ALL"));
        for (; *keep; keep++)
                if (!has_word(json_object_get(capabilities, "add"), *keep))
                        json_array_append_new(podspec_list(capabilities, "add"), json_string(*keep));
}

/* The API server refuses a container that has this capability and may not gain rights. */
static bool is_mighty(const json_t *security)
{
        return has_word(kube_get(security, "capabilities.add"), "SYS_ADMIN");
}

void confine_container(json_t *container, const char *const *capabilities)
{
        json_t *security = object_of(container, "securityContext");

        put_capabilities(security, capabilities);
        if (!is_mighty(security))
                set_if_absent(security, "allowPrivilegeEscalation", json_false());
}

static void put_profile(json_t *security)
{
        set_if_absent(security, "seccompProfile", json_pack("{s:s}", "type", "RuntimeDefault"));
}

static void confine_list(json_t *containers, const Confinement *confinement)
{
        const char *const keep[] = { confinement->files && !confinement->non_root ? any_file : NULL, NULL };
        json_t *container;
        gsize i;

        json_array_foreach(containers, i, container) {
                if (json_is_true(kube_get(container, "securityContext.privileged")))
                        continue;
                if (!confinement->lifted)
                        confine_container(container, keep);
                if (confinement->non_root)
                        json_object_set_new(object_of(container, "securityContext"), "runAsNonRoot",
                                            json_true());
        }
}

void confine_pod(json_t *pod_spec, const Confinement *confinement)
{
        if (g_strcmp0(kube_get_text(pod_spec, "os.name"), "windows") == 0)
                return;
        if (!confinement->lifted)
                put_profile(object_of(pod_spec, "securityContext"));
        confine_list(json_object_get(pod_spec, "containers"), confinement);
        confine_list(json_object_get(pod_spec, "initContainers"), confinement);
}
