/* Shares of members (see share.h). An equal part of the sum may fit on none of the nodes: they are taken
 * one by one, without what the cluster's own pods hold. */
#include "engine/share.h"

#include "runtime/runtime.h"

enum { MIB = 1024 * 1024 };

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

/* ---- CPU ---- */

static gint64 cpu_of(const SharePlace *place, const Spec *spec)
{
        gint64 equal = spec_share(spec, place->total), less;

        if (place->queue && queue_default(place->catalog, place->queue, RESOURCE_CPU, &less))
                return less;
        if (!place->nodes || spec_declares_cpu(spec) || fits(place->nodes, spec, equal))
                return equal;
        less = largest(place->nodes, spec, equal);
        return less > 0 ? less : equal;
}

/* ---- memory ---- */

/* Of the members that declare no memory. */
typedef struct {
        gint64 members, cpu_milli, gpus;
        gint64 declared; /* bytes that the others ask for together */
} Undeclared;

static Undeclared count_undeclared(const Spec *spec, gint64 cpu_milli)
{
        Undeclared sum = { 0 };

        for (int r = 0; r < spec->n_roles; r++) {
                const Role *role = &spec->roles[r];
                Resources each;

                spec_member_wants(spec, r, (SpecShare){ .cpu_milli = cpu_milli }, &each);
                if (each.memory > 0) {
                        sum.declared += each.memory * role->replicas;
                        continue;
                }
                sum.members += role->replicas;
                sum.cpu_milli += each.cpu_milli * role->replicas;
                sum.gpus += each.gpus * role->replicas;
        }
        return sum;
}

/* `part` of `whole` of an amount. */
static gint64 portion(gint64 amount, gint64 part, gint64 whole)
{
        return whole > 0 ? (gint64)((__int128)amount * MIN(part, whole) / whole) : 0;
}

/* The largest share of each undeclared member that fits into every limit above it. */
static gint64 cap_of(const SharePlace *place, const Undeclared *sum)
{
        gint64 cap = RESOURCE_UNLIMITED;

        for (const Queue *at = place->queue; at; at = queue_parent(place->catalog, at)) {
                Resources max = queue_max(place->catalog, at);

                if (max.memory != RESOURCE_UNLIMITED)
                        cap = MIN(cap, (max.memory - sum->declared) / sum->members);
        }
        return cap;
}

/* Of a job that fits into no limit the whole part is asked for: it is refused, and told so. */
static gint64 memory_of(const SharePlace *place, const Spec *spec, gint64 cpu_milli)
{
        Undeclared sum;
        gint64 memory, cap;

        if (!place->queue || queue_default(place->catalog, place->queue, RESOURCE_MEMORY, &memory))
                return place->queue ? memory : 0;
        if (!queue_is_limited(place->catalog, place->queue, RESOURCE_MEMORY))
                return 0;
        sum = count_undeclared(spec, cpu_milli);
        if (sum.members == 0)
                return 0;
        memory = MAX(portion(place->total->memory, sum.cpu_milli, place->total->cpu_milli),
                     portion(place->total->memory, sum.gpus, place->total->gpus)) /
                 sum.members;
        cap = cap_of(place, &sum);
        if (memory == 0 || (cap > 0 && cap < memory)) /* 0: nobody knows what the machines have */
                memory = MAX(cap, 1);
        return memory > MIB ? memory / MIB * MIB : memory;
}

SpecShare share_on(const SharePlace *place, const Spec *spec)
{
        SpecShare share = { .cpu_milli = cpu_of(place, spec) };

        share.memory = memory_of(place, spec, share.cpu_milli);
        return share;
}

/* ---- what is held ---- */

void share_hold(const SharePlace *place, const Spec *spec, int role, SpecShare share, Resources *ret)
{
        gint64 said;
        bool held = place->queue && (queue_is_limited(place->catalog, place->queue, RESOURCE_CPU) ||
                                     queue_default(place->catalog, place->queue, RESOURCE_CPU, &said));
        bool declared = spec->roles[role].each.cpu_milli >= 0;

        spec_member_wants(spec, role, share, ret);
        if (!declared && !held)
                ret->cpu_milli = 0;
}
