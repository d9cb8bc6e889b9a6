/* Detection of controllers and the pool of slots (see cgroup.h; layout in doc/internals/agent.md). A slot
 * number is in exactly one place: free (an array), discarded (a set), or in use by a task, which remembers
 * it. */
#include "agent/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"

enum {
        FREE_MAX = 256, /* idle slots that are worth their kernel memory */
        PROC_FILE_MAX = 4 << 20,
        SLOT_NUMBER_MAX = 1 << 24,
};

static const char *const controller_names[SLOT_CONTROLLERS] = { "memory", "cpu", "cpuacct", "pids",
                                                                "devices" };

struct CgroupPool {
        char *base[SLOT_CONTROLLERS];     /* <mount>/paddle/<id>; NULL: not available */
        char *slot_dir[SLOT_CONTROLLERS]; /* from the last call of cgroup_pool_slot */
        guint32 v2;
        int next;
        GArray *free;          /* FreeSlot; the most recently used one is last */
        GHashTable *users;     /* gint64 -> User */
        GHashTable *owned;     /* number -> OwnedSlot: the slots inside users' groups */
        GHashTable *discarded; /* numbers */
        GHashTable *found;     /* numbers found at the start that no task has claimed yet */
};

/* A user's group; exists while it contains a slot. */
typedef struct {
        gint64 id;
        gint64 processes; /* the current limit; -1: unknown */
        gint64 weight_milli;
        guint slots;
} User;

typedef struct {
        User *user;
        gint64 weight_milli; /* of the member in the slot */
} OwnedSlot;

typedef struct {
        int number;
        SlotLimits held; /* of its last member */
} FreeSlot;

/* ── detection ─────────────────────────────────────────────────────────── */

/* mountinfo writes blanks and backslashes as \ooo. */
static char *unescape(const char *text)
{
        return g_strcompress(text);
}

static bool has_word(const char *list, const char *separators, const char *word)
{
        g_auto(GStrv) words = g_strsplit_set(list, separators, -1);

        return g_strv_contains((const char *const *)words, word);
}

/* Creates a child group that we own, with the defaults of its parents. */
static char *make_group(const char *parent, const char *name)
{
        g_autofree char *path = g_build_filename(parent, name, NULL);

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return NULL;
        return access(path, W_OK) == 0 ? g_steal_pointer(&path) : NULL;
}

static bool write_text(const char *dir, const char *file, const char *text)
{
        g_autofree char *path = g_build_filename(dir, file, NULL);
        fd_auto int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* A group competes with single processes beside it, so our group gets the weight of the whole machine. */
static void weigh(const char *dir, bool v2)
{
        guint cpus = g_get_num_processors();
        g_autofree char *weight = g_strdup_printf("%u", v2 ? MIN(100 * cpus, 10000) : 1024 * cpus);

        (void)write_text(dir, v2 ? "cpu.weight" : "cpu.shares", weight); /* failure only means less CPU */
}

static void use_v1(CgroupPool *pool, SlotController controller, const char *mount, const char *id)
{
        g_autofree char *parent = make_group(mount, "paddle");
        char *base = parent ? make_group(parent, id) : NULL;

        if (!base)
                return;
        if (controller == SLOT_CPU) {
                weigh(parent, false);
                weigh(base, false);
        }
        g_free(pool->base[controller]);
        pool->base[controller] = base;
        pool->v2 &= ~(1u << controller);
}

/* The agent's own group in the v2 hierarchy, "/a/b". */
static char *own_v2_path(const char *own)
{
        g_autofree char *text = NULL;
        const char *line;

        if (!file_read(own, PROC_FILE_MAX, &text, NULL, NULL))
                return NULL;
        line = g_str_has_prefix(text, "0::") ? text : strstr(text, "\n0::");
        if (!line)
                return NULL;
        line = strstr(line, "0::") + 3;
        return g_strndup(line, strcspn(line, "\n"));
}

static void enable(const char *dir)
{
        static const char *const wanted[] = { "+memory", "+cpu", "+pids" };

        for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
                (void)write_text(dir, "cgroup.subtree_control",
                                 wanted[i]); /* the list of the child shows the result */
}

/* The first group, from the mount down to our own, in which we may create one: the top for root, the
 * delegated group for a user. */
static char *place_v2(const char *mount, const char *own)
{
        g_autofree char *path = own_v2_path(own);
        g_auto(GStrv) steps = g_strsplit(path ? path : "", "/", -1);
        g_autofree char *at = g_strdup(mount);

        for (gsize i = 0;; i++) {
                char *group = make_group(at, "paddle"), *below;

                if (group) {
                        enable(at);
                        return group;
                }
                while (steps[i] && !*steps[i])
                        i++;
                if (!steps[i])
                        return NULL;
                below = g_build_filename(at, steps[i], NULL);
                g_free(at);
                at = below;
        }
}

/* The missing controllers that `group` offers, one bit each. Version 2 has no cpuacct; cpu.stat has its
 * numbers. */
static guint32 offered_v2(const CgroupPool *pool, const char *group)
{
        g_autofree char *list = g_build_filename(group, "cgroup.controllers", NULL), *available = NULL;
        guint32 offered = 0;

        if (!file_read(list, PROC_FILE_MAX, &available, NULL, NULL))
                return 0;
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (!pool->base[i] &&
                    has_word(available, " \n", i == SLOT_CPUACCT ? "cpu" : controller_names[i]))
                        offered |= 1u << i;
        return offered;
}

static void use_v2(CgroupPool *pool, const char *mount, const char *own, const char *id)
{
        g_autofree char *parent = NULL, *base = NULL;
        guint32 offered;

        if (offered_v2(pool, mount) == 0) /* mounted, with all controllers in v1 */
                return;
        parent = place_v2(mount, own);
        if (!parent)
                return;
        enable(parent);
        base = make_group(parent, id);
        if (!base)
                return;
        enable(base);
        offered = offered_v2(pool, base);
        for (int i = 0; i < SLOT_CONTROLLERS; i++) {
                if (!(offered & (1u << i)))
                        continue;
                pool->base[i] = g_strdup(base);
                pool->v2 |= 1u << i;
        }
        if (pool->v2 & (1u << SLOT_CPU)) {
                weigh(parent, true);
                weigh(base, true);
        }
}

/* "36 35 98:0 /root MOUNT options [tags] - TYPE source SUPER" */
static void use_mount(CgroupPool *pool, const char *line, const char *own, const char *id)
{
        g_auto(GStrv) fields = g_strsplit(line, " ", -1);
        guint n = g_strv_length(fields), dash = 0;
        g_autofree char *mount = NULL;

        while (dash < n && strcmp(fields[dash], "-") != 0)
                dash++;
        if (n < 7 || dash + 3 >= n)
                return;
        mount = unescape(fields[4]);
        if (strcmp(fields[dash + 1], "cgroup2") == 0)
                use_v2(pool, mount, own, id);
        if (strcmp(fields[dash + 1], "cgroup") != 0)
                return;
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (has_word(fields[dash + 3], ",", controller_names[i]))
                        use_v1(pool, i, mount, id);
}

/* ── users ──────────────────────────────────────────────────────────────── */

/* True if this hierarchy limits the number of processes; slots then are inside users' groups. */
static bool has_users(const CgroupPool *pool, SlotController controller)
{
        return pool->base[controller] && pool->base[SLOT_PIDS] &&
               strcmp(pool->base[controller], pool->base[SLOT_PIDS]) == 0;
}

static char *user_dir(const CgroupPool *pool, const User *user)
{
        return g_strdup_printf("%s/user-%" G_GINT64_FORMAT, pool->base[SLOT_PIDS], user->id);
}

static User *get_user(CgroupPool *pool, gint64 id)
{
        User *user = g_hash_table_lookup(pool->users, &id);

        if (!user) {
                user = g_new0(User, 1);
                *user = (User){ .id = id, .processes = -1 };
                g_hash_table_insert(pool->users, &user->id, user);
        }
        return user;
}

static void own(CgroupPool *pool, int number, User *user)
{
        OwnedSlot *slot = g_new0(OwnedSlot, 1);

        slot->user = user;
        user->slots++;
        g_hash_table_insert(pool->owned, GINT_TO_POINTER(number), slot);
}

static void make_user(CgroupPool *pool, const User *user)
{
        g_autofree char *dir = user_dir(pool, user);

        if (mkdir(dir, 0755) == 0 && pool->v2 & (1u << SLOT_PIDS))
                enable(dir);
}

/* Forgets a removed slot. Deletes the user's group with its last slot. */
static void disown(CgroupPool *pool, int number)
{
        OwnedSlot *slot = g_hash_table_lookup(pool->owned, GINT_TO_POINTER(number));

        if (!slot)
                return;
        if (--slot->user->slots == 0) {
                g_autofree char *dir = user_dir(pool, slot->user);

                (void)rmdir(dir); /* if this fails, the group is empty and found again */
                g_hash_table_remove(pool->users, &slot->user->id);
        }
        g_hash_table_remove(pool->owned, GINT_TO_POINTER(number));
}

static bool bound_user(CgroupPool *pool, User *user, gint64 processes, GError **error)
{
        g_autofree char *dir = NULL, *text = NULL;

        if (user->processes == processes)
                return true;
        dir = user_dir(pool, user);
        text = processes > 0 ? g_strdup_printf("%" G_GINT64_FORMAT, processes) : g_strdup("max");
        if (!write_text(dir, "pids.max", text))
                return err_set_errno(error, errno, "cannot limit the processes of its user");
        user->processes = processes;
        return true;
}

/* Users' groups compete for CPU in this hierarchy: each gets the sum of the weights of its members. */
static void weigh_user(CgroupPool *pool, int number, gint64 weight_milli)
{
        OwnedSlot *slot = g_hash_table_lookup(pool->owned, GINT_TO_POINTER(number));
        bool v2 = pool->v2 & (1u << SLOT_CPU);
        g_autofree char *dir = NULL, *text = NULL;

        if (!slot || !has_users(pool, SLOT_CPU) || slot->weight_milli == weight_milli)
                return;
        slot->user->weight_milli += weight_milli - slot->weight_milli;
        slot->weight_milli = weight_milli;
        dir = user_dir(pool, slot->user);
        text = g_strdup_printf("%" G_GINT64_FORMAT, slot_weight(slot->user->weight_milli, v2));
        (void)write_text(dir, v2 ? "cpu.weight" : "cpu.shares", text); /* failure only means less CPU */
}

/* The weight that an earlier agent gave to the slot. */
static gint64 read_weight(CgroupPool *pool, int number)
{
        bool v2 = pool->v2 & (1u << SLOT_CPU);
        g_autofree char *path = NULL, *text = NULL;
        Slot slot;

        cgroup_pool_slot(pool, number, &slot);
        if (!slot.dir[SLOT_CPU])
                return 0;
        path = g_build_filename(slot.dir[SLOT_CPU], v2 ? "cpu.weight" : "cpu.shares", NULL);
        if (!file_read(path, PROC_FILE_MAX, &text, NULL, NULL))
                return 0;
        return g_ascii_strtoll(text, NULL, 10) * (v2 ? 262142 / 9999 : 1) * 1000 / 1024;
}

/* ── left by an earlier agent ──────────────────────────────────────────── */

static void find_slots(CgroupPool *pool, const char *base, User *user)
{
        g_autoptr(GDir) dir = g_dir_open(base, 0, NULL);

        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                gint64 number;

                if (!g_str_has_prefix(name, "slot-") ||
                    !number_parse("slot", name + 5, 0, SLOT_NUMBER_MAX, &number, NULL))
                        continue;
                g_hash_table_add(pool->found, GINT_TO_POINTER((int)number));
                if (user && !g_hash_table_contains(pool->owned, GINT_TO_POINTER((int)number)))
                        own(pool, (int)number, user);
                pool->next = MAX(pool->next, (int)number + 1);
        }
}

static void find_users(CgroupPool *pool)
{
        g_autoptr(GDir) dir = g_dir_open(pool->base[SLOT_PIDS], 0, NULL);

        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *path = g_build_filename(pool->base[SLOT_PIDS], name, NULL);
                gint64 id;
                User *user;

                if (!g_str_has_prefix(name, "user-") ||
                    !number_parse("user", name + 5, 1, G_MAXINT64, &id, NULL))
                        continue;
                user = get_user(pool, id);
                find_slots(pool, path, user);
                if (user->slots > 0)
                        continue;
                (void)rmdir(path); /* on failure an empty group remains */
                g_hash_table_remove(pool->users, &id);
        }
}

CgroupPool *cgroup_pool_new(const char *mounts, const char *own, const char *id)
{
        CgroupPool *pool = g_new0(CgroupPool, 1);
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        pool->free = g_array_new(FALSE, FALSE, sizeof(FreeSlot));
        pool->discarded = g_hash_table_new(NULL, NULL);
        pool->users = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
        pool->owned = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        pool->found = g_hash_table_new(NULL, NULL);
        if (!file_read(mounts, PROC_FILE_MAX, &text, NULL, NULL))
                return pool;
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line;
             line++) /* cgroup2 may come first in the list; it has none of the controllers of v1 */
                use_mount(pool, *line, own, id);
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (pool->base[i])
                        find_slots(pool, pool->base[i], NULL);
        if (pool->base[SLOT_PIDS])
                find_users(pool);
        return pool;
}

/* ── slots ─────────────────────────────────────────────────────────────── */

bool cgroup_pool_has(const CgroupPool *pool, SlotController controller)
{
        return pool->base[controller];
}

bool cgroup_pool_denies_devices(const CgroupPool *pool)
{
        return pool->base[SLOT_DEVICES] || (pool->v2 && devices_can_deny());
}

bool cgroup_pool_is_usable(const CgroupPool *pool)
{
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (pool->base[i])
                        return true;
        return false;
}

void cgroup_pool_bound(CgroupPool *pool, gint64 processes)
{
        g_autofree char *parent = pool->base[SLOT_PIDS] ? g_path_get_dirname(pool->base[SLOT_PIDS]) : NULL;
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, processes);

        if (parent && !write_text(parent, "pids.max", text))
                log_warning("the number of processes of all members together is not limited", "group", parent,
                            NULL);
}

void cgroup_pool_slot(CgroupPool *pool, int number, Slot *ret)
{
        const OwnedSlot *owned = g_hash_table_lookup(pool->owned, GINT_TO_POINTER(number));
        g_autofree char *of_user = owned ? user_dir(pool, owned->user) : NULL;

        *ret = (Slot){ .v2 = pool->v2, .peak_fd = -1 };
        for (int i = 0; i < SLOT_CONTROLLERS && number >= 0; i++) {
                const char *in = of_user && has_users(pool, i) ? of_user : pool->base[i];

                g_free(pool->slot_dir[i]);
                pool->slot_dir[i] = in ? g_strdup_printf("%s/slot-%d", in, number) : NULL;
                ret->dir[i] = pool->slot_dir[i];
        }
}

/* The most recently used free slot of the user (NULL: one without a user) that has these limits, otherwise the most
 * recently used one; false: there is none. */
static bool take_free(CgroupPool *pool, const User *user, const SlotLimits *limits, FreeSlot *ret)
{
        guint found = 0; /* its place, counted from 1 */

        for (guint i = pool->free->len; i > 0; i--) {
                const FreeSlot *slot = &g_array_index(pool->free, FreeSlot, i - 1);
                const OwnedSlot *owned = g_hash_table_lookup(pool->owned, GINT_TO_POINTER(slot->number));

                if ((owned ? owned->user : NULL) != user)
                        continue;
                if (slot_limits_equal(&slot->held, limits)) {
                        found = i;
                        break;
                }
                found = found ? found : i;
        }
        if (!found)
                return false;
        *ret = g_array_index(pool->free, FreeSlot, found - 1);
        g_array_remove_index(pool->free, found - 1);
        return true;
}

static bool make_slot(CgroupPool *pool, User *user, int *ret, GError **error)
{
        int number = pool->next;
        Slot slot;
        bool made;

        if (user)
                own(pool, number, user);
        cgroup_pool_slot(pool, number, &slot);
        made = slot_make(&slot);
        if (!made && errno == ENOENT && user) { /* the user's first slot, or something deleted the empty
                                                   group */
                make_user(pool, user);
                user->processes = -1;
                made = slot_make(&slot);
        }
        if (!made) {
                int err = errno;

                (void)slot_remove(&slot); /* removes what was created before the failure */
                disown(pool, number);
                return err_set_errno(error, err, "cannot make a cgroup for it");
        }
        pool->next++;
        *ret = number;
        return true;
}

bool cgroup_pool_take(CgroupPool *pool, const SlotOwner *owner, int *ret, SlotLimits *ret_held,
                      GError **error)
{
        FreeSlot slot = { .number = -1 };
        User *user;

        *ret = -1;
        *ret_held = slot.held;
        if (!cgroup_pool_is_usable(pool))
                return true;
        user = owner->user > 0 && pool->base[SLOT_PIDS] ? get_user(pool, owner->user) : NULL;
        if (!take_free(pool, user, &owner->limits, &slot) && !make_slot(pool, user, &slot.number, error))
                return false;
        if (user && !bound_user(pool, user, owner->processes, error)) {
                cgroup_pool_discard(pool, slot.number);
                return false;
        }
        weigh_user(pool, slot.number, owner->limits.cpu_weight_milli);
        *ret = slot.number;
        *ret_held = slot.held;
        return true;
}

void cgroup_pool_mark(CgroupPool *pool, int number)
{
        if (number < 0)
                return;
        (void)g_hash_table_remove(pool->found,
                                  GINT_TO_POINTER(number)); /* gone after a restart of the machine */
        pool->next = MAX(pool->next, number + 1);
        if (g_hash_table_contains(pool->owned, GINT_TO_POINTER(number)) && has_users(pool, SLOT_CPU))
                weigh_user(pool, number, read_weight(pool, number));
}

/* Discards the slot that was free longest, since its user may be gone for good. */
bool cgroup_pool_give(CgroupPool *pool, int number, const SlotLimits *held)
{
        const FreeSlot slot = { number, *held };

        if (number < 0)
                return false;
        weigh_user(pool, number, 0);
        g_array_append_val(pool->free, slot);
        if (pool->free->len <= FREE_MAX)
                return false;
        cgroup_pool_discard(pool, g_array_index(pool->free, FreeSlot, 0).number);
        g_array_remove_index(pool->free, 0);
        return true;
}

void cgroup_pool_discard(CgroupPool *pool, int number)
{
        if (number < 0)
                return;
        weigh_user(pool, number, 0);
        g_hash_table_add(pool->discarded, GINT_TO_POINTER(number));
}

void cgroup_pool_discard_rest(CgroupPool *pool)
{
        GHashTableIter iter;
        gpointer number;

        g_hash_table_iter_init(&iter, pool->found);
        while (g_hash_table_iter_next(&iter, &number, NULL)) {
                g_hash_table_add(pool->discarded, number);
                g_hash_table_iter_remove(&iter);
        }
}

bool cgroup_pool_sweep(CgroupPool *pool)
{
        GHashTableIter iter;
        gpointer number;

        g_hash_table_iter_init(&iter, pool->discarded);
        while (g_hash_table_iter_next(&iter, &number, NULL)) {
                Slot slot;

                cgroup_pool_slot(pool, GPOINTER_TO_INT(number), &slot);
                if (slot_remove(&slot)) {
                        disown(pool, GPOINTER_TO_INT(number));
                        g_hash_table_iter_remove(&iter);
                        continue;
                }
                slot_kill(&slot);
        }
        return g_hash_table_size(pool->discarded) == 0;
}

bool cgroup_pool_is_discarded(const CgroupPool *pool, int number)
{
        return g_hash_table_contains(pool->discarded, GINT_TO_POINTER(number));
}

void cgroup_pool_free(CgroupPool *pool)
{
        if (!pool)
                return;
        for (guint i = 0; i < pool->free->len; i++)
                cgroup_pool_discard(pool, g_array_index(pool->free, FreeSlot, i).number);
        (void)cgroup_pool_sweep(pool); /* the next agent finds slots that still have processes */
        for (int i = 0; i < SLOT_CONTROLLERS; i++) {
                if (pool->base[i]) {
                        g_autofree char *parent = g_path_get_dirname(pool->base[i]);

                        (void)rmdir(pool->base[i]); /* fails while slots or other agents' groups are inside */
                        (void)rmdir(parent);
                }
                g_free(pool->base[i]);
                g_free(pool->slot_dir[i]);
        }
        g_array_unref(pool->free);
        g_hash_table_unref(pool->discarded);
        g_hash_table_unref(pool->found);
        g_hash_table_unref(pool->owned);
        g_hash_table_unref(pool->users);
        g_free(pool);
}
