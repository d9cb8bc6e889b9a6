/* Tolerations (see tolerations.h). */
#include "runtime/kubernetes/pod/tolerations.h"

#include "kube/kind.h"

/* Our pods may be placed on nodes with these taints if they request this resource. */
static const struct {
        const char *key, *effect;
        int kind;
} tolerated[] = {
        { "nvidia.com/gpu", "NoSchedule", RESOURCE_GPU },
};

/* The taints of a node that stopped reporting. A member there is lost sooner than by Kubernetes' own default
 * (5 min), because the other members of its job wait for it. */
static const char *const lost[] = { "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable" };
enum { LOST_AFTER_S = 60 };

static json_t *brief_toleration(const char *key)
{
        return json_pack("{s:s, s:s, s:s, s:i}", "key", key, "operator", "Exists", "effect", "NoExecute",
                         "tolerationSeconds", LOST_AFTER_S);
}

json_t *tolerations_of(const Resources *wants)
{
        json_t *list = json_array();

        for (gsize i = 0; i < G_N_ELEMENTS(lost); i++)
                json_array_append_new(list, brief_toleration(lost[i]));

        for (gsize i = 0; i < G_N_ELEMENTS(tolerated); i++) {
                if (wants->amount[tolerated[i].kind] <= 0)
                        continue;
                json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "key", tolerated[i].key, "operator",
                                                      "Exists", "effect", tolerated[i].effect));
        }
        return list;
}

bool toleration_covers(const json_t *taint)
{
        const char *key = kube_get_text(taint, "key"), *effect = kube_get_text(taint, "effect");

        if (g_strcmp0(effect, "PreferNoSchedule") == 0)
                return true;
        for (gsize i = 0; i < G_N_ELEMENTS(tolerated); i++)
                if (g_strcmp0(key, tolerated[i].key) == 0 && g_strcmp0(effect, tolerated[i].effect) == 0)
                        return true;
        return false;
}
