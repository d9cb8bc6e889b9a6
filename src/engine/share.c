/* Equal shares of nodes (see share.h). An equal part of the sum may fit on none of the nodes: they are taken
 * one by one, without what the cluster's own pods hold. */
#include "engine/share.h"

#include "runtime/runtime.h"

static bool may_stand(const RuntimeNode *node, const Spec *spec)
{
        for (char *const *label = spec->node_labels; label && *label; label++)
                if (!node->labels || !g_strv_contains((const char *const *)node->labels, *label))
                        return false;
        return node->usable;
}

static gint64 room_of(const RuntimeNode *node, const Spec *spec)
{
        return may_stand(node, spec) ? MAX(node->allocatable.cpu_milli - node->system.cpu_milli, 0) : 0;
}

static bool fits(const GPtrArray *nodes, const Spec *spec, gint64 share)
{
        int members = spec_members(spec);
        gint64 places = 0;

        for (guint i = 0; i < nodes->len && places < members; i++)
                places += room_of(nodes->pdata[i], spec) / share;
        return places >= members;
}

/* The largest that fits, below `most` which does not; 0: none does. */
static gint64 largest(const GPtrArray *nodes, const Spec *spec, gint64 most)
{
        gint64 good = 0, bad = most;

        while (bad - good > 1) {
                gint64 middle = (good + bad) / 2;

                if (fits(nodes, spec, middle))
                        good = middle;
                else
                        bad = middle;
        }
        return good;
}

gint64 share_on(const GPtrArray *nodes, const Resources *total, const Spec *spec)
{
        gint64 equal = spec_share(spec, total), less;

        if (!nodes || equal <= 0 || spec_declares_cpu(spec) || fits(nodes, spec, equal))
                return equal;
        less = largest(nodes, spec, equal);
        return less > 0 ? less : equal;
}
