/* Owners of objects (see owner.h). Others have jobs of the same kind in another group (kubeflow.org), and
 * call their pods alike. */
#include "operator/owner.h"

#include <glib.h>
#include <string.h>

static const char *member(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

static bool is_of_group(const char *api_version, const char *group)
{
        const char *slash = api_version ? strchr(api_version, '/') : NULL;
        gsize len = slash ? (gsize)(slash - api_version) : 0;

        return strlen(group) == len && (len == 0 || strncmp(api_version, group, len) == 0);
}

bool owner_is(const json_t *owner, const KubeKind *kind)
{
        return owner && g_strcmp0(member(owner, "kind"), kind->kind) == 0 &&
               is_of_group(member(owner, "apiVersion"), kind->group);
}

char *owner_problem(const KubeKind *kind, const json_t *object, const KubeKind *job_kind,
                    const char *job_name)
{
        const json_t *owner = kube_controller(object);

        if (kube_is_deleting(object) ||
            (owner_is(owner, job_kind) && g_strcmp0(member(owner, "name"), job_name) == 0))
                return NULL;
        return g_strdup_printf("create failed %s %s: one that belongs to somebody else has this name; delete "
                               "it, or give the job another name",
                               kind->kind, kube_name(object));
}
