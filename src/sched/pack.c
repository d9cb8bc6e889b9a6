/* Two kinds of tasks on nodes, when putting the larger ones on the fullest nodes leaves no place for the
 * others: exactly, so that a gang of two roles that fits once still fits when more has become free.
 *
 * If t tasks of role a stand on a node, a number of tasks of role b fit beside them. Going through the nodes,
 * most[j] is how many b fit at most beside j tasks of a in all; the answer is in most[need of a]. */
#include "sched/pack.h"

enum { CELLS_MAX = 4 * 1024 * 1024 }; /* nodes × tasks: beyond that nothing is tried */

typedef struct {
        const PackSpot *spots;
        int n;
        const Class *a, *b;
        int need_a, need_b;
        int *most;      /* by tasks of a; -1: not possible */
        guint16 *taken; /* by spot and tasks of a so far: of them, on this spot */
} Pack;

static int beside(const Pack *pack, const PackSpot *spot, int tasks)
{
        Resources available = spot->available;

        amounts_add_times(&available, &pack->a->each, -tasks);
        return (int)free_slots(&available, pack->b, pack->need_b);
}

static void add_spot(Pack *pack, int at)
{
        const PackSpot *spot = &pack->spots[at];
        int fit = (int)free_slots(&spot->available, pack->a, pack->need_a);
        g_autofree int *had = g_memdup2(pack->most, sizeof(int) * (gsize)(pack->need_a + 1));
        guint16 *taken = pack->taken + (gsize)at * (gsize)(pack->need_a + 1);

        for (int tasks = 0; tasks <= fit; tasks++) {
                int more = beside(pack, spot, tasks);

                for (int j = tasks; j <= pack->need_a; j++) {
                        int most = had[j - tasks] < 0 ? -1 : MIN(pack->need_b, had[j - tasks] + more);

                        if (most > pack->most[j] || tasks == 0) {
                                pack->most[j] = most;
                                taken[j] = (guint16)tasks;
                        }
                }
        }
}

/* From the last spot back to the first. */
static void read_off(Pack *pack, int *ret_a, int *ret_b)
{
        int left_a = pack->need_a, left_b = pack->need_b;

        for (int at = pack->n - 1; at >= 0; at--) {
                ret_a[at] = pack->taken[(gsize)at * (gsize)(pack->need_a + 1) + (gsize)left_a];
                ret_b[at] = MIN(left_b, beside(pack, &pack->spots[at], ret_a[at]));
                left_a -= ret_a[at];
                left_b -= ret_b[at];
        }
}

static bool pack_two(const PackSpot *spots, int n, const Class *a, int need_a, const Class *b, int need_b,
                     int *ret_a, int *ret_b)
{
        Pack pack = { spots, n, a, b, need_a, need_b, NULL, NULL };
        bool fits;

        if ((gint64)n * (need_a + 1) > CELLS_MAX || need_a > G_MAXUINT16)
                return false;
        pack.most = g_new(int, need_a + 1);
        pack.taken = g_new(guint16, (gsize)n * (gsize)(need_a + 1));
        for (int j = 0; j <= need_a; j++)
                pack.most[j] = j == 0 ? 0 : -1;
        for (int at = 0; at < n; at++)
                add_spot(&pack, at);
        fits = pack.most[need_a] >= need_b;
        if (fits)
                read_off(&pack, ret_a, ret_b);
        g_free(pack.most);
        g_free(pack.taken);
        return fits;
}

bool pack_roles(const Gang *gang, int *ret_a, int *ret_b)
{
        int n = 0;

        *ret_a = *ret_b = -1;
        for (int role = 0; role < gang->n_roles; role++) {
                if (gang->need[role] == 0)
                        continue;
                if (n++ == 0)
                        *ret_a = role;
                else
                        *ret_b = role;
        }
        if (n != 2)
                return false;
        if (gang->need[*ret_b] < gang->need[*ret_a]) {
                int a = *ret_a;

                *ret_a = *ret_b;
                *ret_b = a;
        }
        return true;
}

bool pack_gang(const Gang *gang, const PackSpot *spots, int n, PackPut put, void *arg)
{
        int a, b;
        g_autofree int *on_a = g_new(int, n + 1), *on_b = g_new(int, n + 1);

        if (!pack_roles(gang, &a, &b) ||
            !pack_two(spots, n, gang->classes[a], gang->need[a], gang->classes[b], gang->need[b], on_a, on_b))
                return false;
        for (int i = 0; i < n; i++) {
                if (on_a[i] > 0 && !put(spots[i].node, a, on_a[i], arg))
                        return false;
                if (on_b[i] > 0 && !put(spots[i].node, b, on_b[i], arg))
                        return false;
        }
        return true;
}

void pack_add(GArray *spots, const Gang *gang, Node *node, const Resources *available)
{
        PackSpot spot = { node, *available };

        for (int role = 0; role < gang->n_roles; role++)
                if (gang->need[role] > 0 && free_slots(available, gang->classes[role], 1) > 0) {
                        g_array_append_val(spots, spot);
                        return;
                }
}
