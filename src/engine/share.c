/* Equal shares of nodes (see share.h). An equal part of the sum may fit on none of the nodes: they are taken
 * one by one, without what the cluster's own pods hold. */
#include "engine/share.h"

#include "runtime/runtime.h"

static gint64 room_of(const RuntimeNode *node)
{
        return node->usable ? MAX(node->allocatable.cpu_milli - node->system.cpu_milli, 0) : 0;
}

static bool fits(const GPtrArray *nodes, int members, gint64 share)
{
        gint64 places = 0;

        for (guint i = 0; i < nodes->len && places < members; i++)
                places += room_of(nodes->pdata[i]) / share;
        return places >= members;
}

/* The largest that fits, below `most` which does not; 0: none does. */
static gint64 largest(const GPtrArray *nodes, int members, gint64 most)
{
        gint64 good = 0, bad = most;

        while (bad - good > 1) {
                gint64 middle = (good + bad) / 2;

                if (fits(nodes, members, middle))
                        good = middle;
                else
                        bad = middle;
        }
        return good;
}

gint64 share_on(const GPtrArray *nodes, const Resources *total, const Spec *spec)
{
        gint64 equal = spec_share(spec, total), less;
        int members = spec_members(spec);

        if (!nodes || equal <= 0 || spec_declares_cpu(spec) || fits(nodes, members, equal))
                return equal;
        less = largest(nodes, members, equal);
        return less > 0 ? less : equal;
}
