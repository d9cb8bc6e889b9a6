/* The rules of the catalog (doc/guide/scheduling.md 7): whether an object may be put or deleted. Each kind
 * has one row of functions; every error names object, field, value and rule.
 *
 * Invariants of a catalog that grew by these rules: names that it refers to exist, queues form trees of at
 * most DEPTH_MAX levels, and a queue's limits are within those of its parent. Sums of mins are compared with
 * the capacity only when a change raises them: machines may have left since. */
#include <string.h>

#include "base/err.h"
#include "model/catalog.h"
#include "model/object-row.h"

enum {
        DEPTH_MAX = 8,
        FLAVOURS_MAX = 1000, /* that one user without administrator rights may create */
};

typedef struct {
        const Catalog *catalog;
        const Object *was;    /* NULL: a new object */
        const Object *object; /* the object to put or delete */
        const CatalogFacts *facts;
} Change;

static const CatalogFacts no_facts = { NULL };

/* In messages: "3 open jobs". */
#define OPEN_JOBS "%" G_GINT64_FORMAT " open job%s"
#define COUNT(n) (n), (n) == 1 ? "" : "s"

static gint64 open_jobs(const Change *change, const char *queue)
{
        return change->facts->open_jobs ? change->facts->open_jobs(queue, change->facts->arg) : 0;
}

static const Queue *queue_at(const GPtrArray *list, guint i)
{
        return list->pdata[i];
}

static bool same(const char *a, const char *b)
{
        return g_strcmp0(a, b) == 0;
}

/* ---- queues: the tree ---- */

static bool check_cluster(const Change *change, const char *name, GError **error)
{
        const Cluster *cluster = name ? catalog_cluster(change->catalog, name) : NULL;

        if (!name)
                return err_set(error, ERR_INVALID, "cluster is missing");
        if (!cluster)
                return err_set(error, ERR_NOT_FOUND,
                               "cluster '%.80s' does not exist\n'paddle cluster list' shows all.", name);
        if (cluster->offline && !change->was)
                return err_set(error, ERR_CONFLICT,
                               "cluster '%s' is offline\nSet its status to online first.", name);
        return true;
}

static bool check_namespace(const Change *change, const Queue *queue, GError **error)
{
        const Cluster *cluster = catalog_cluster(change->catalog, queue->cluster);
        g_autofree char *known = NULL;

        if (!queue->namespace || !cluster->namespaces ||
            g_strv_contains((const char *const *)cluster->namespaces, queue->namespace))
                return true;
        known = json_words((const char *const *)cluster->namespaces);
        return err_set(error, ERR_INVALID, "namespace '%s' is not one of cluster '%s', which has %s",
                       queue->namespace, queue->cluster, known);
}

/* The number of levels below `name`. */
static int height(const GPtrArray *queues, const char *name, int limit)
{
        int highest = 0;

        for (guint i = 0; limit > 0 && i < queues->len; i++)
                if (same(queue_at(queues, i)->parent, name))
                        highest =
                                MAX(highest, 1 + height(queues, queue_at(queues, i)->object.name, limit - 1));
        return highest;
}

/* Checks for cycles and depth. */
static bool check_ancestors(const Change *change, const Queue *queue, GError **error)
{
        const Queue *at = catalog_queue(change->catalog, queue->parent);
        int depth = 1 + height(catalog_list(change->catalog, KIND_QUEUE), queue->object.name, DEPTH_MAX);

        for (; at; at = queue_parent(change->catalog, at), depth++)
                if (same(at->object.name, queue->object.name))
                        return err_set(error, ERR_INVALID, "parent '%s' is the queue itself or below it",
                                       queue->parent);
        if (depth > DEPTH_MAX)
                return err_set(error, ERR_INVALID, "parent '%s' would make more than %d levels of queues",
                               queue->parent, DEPTH_MAX);
        return true;
}

static bool check_parent(const Change *change, const Queue *queue, GError **error)
{
        const Queue *parent = queue->parent ? catalog_queue(change->catalog, queue->parent) : NULL;
        bool moved = !change->was || !same(((const Queue *)change->was)->parent, queue->parent);
        gint64 jobs = parent && moved ? open_jobs(change, queue->parent) : 0;

        if (!queue->parent)
                return true;
        if (same(queue->object.name, QUEUE_DEFAULT))
                return err_set(error, ERR_INVALID, "it cannot have a parent: it is the whole cluster");
        if (!parent)
                return err_set(error, ERR_NOT_FOUND, "parent '%.80s' does not exist", queue->parent);
        if (!same(parent->cluster, queue->cluster))
                return err_set(error, ERR_INVALID, "parent '%s' is in cluster '%s', not in '%s'",
                               queue->parent, parent->cluster, queue->cluster);
        if (!check_ancestors(change, queue, error))
                return false;
        if (jobs > 0)
                return err_set(error, ERR_CONFLICT,
                               "parent '%s' has " OPEN_JOBS
                               " of its own\nJobs are in leaves only: wait for them, or move them.",
                               queue->parent, COUNT(jobs));
        return true;
}

/* ---- queues: limits ---- */

static Resources max_of(const Queue *queue)
{
        return limits_flat(&queue->max, queue->only_listed ? 0 : RESOURCE_UNLIMITED);
}

/* small <= large for each kind, or an error "min cpu is 8, above max 4". */
static bool check_order(const char *small_name, const Resources *small, const char *large_name,
                        const Resources *large, GError **error)
{
        int kind = resources_lacking(small, large);
        g_autofree char *value = kind < 0 ? NULL : quantity_text(kind, small->amount[kind]);
        g_autofree char *limit = kind < 0 ? NULL : quantity_text(kind, large->amount[kind]);

        if (kind < 0)
                return true;
        return err_set(error, ERR_INVALID, "%s: %s %s is above %s, which is %s", small_name, value,
                       resource_name(kind), large_name, limit);
}

/* Only built-in kinds, with amounts that a cgroup can enforce. */
static bool check_defaults(const ResourceLimits *defaults, GError **error)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                if (!(defaults->said & (1u << kind)))
                        continue;
                if (kind != RESOURCE_CPU && kind != RESOURCE_MEMORY)
                        return err_set(error, ERR_INVALID,
                                       "defaults: %s has none\nMembers use it only if they ask for it; "
                                       "defaults are for cpu and memory.",
                                       resource_name(kind));
                if (defaults->amount.amount[kind] == 0)
                        return err_set(error, ERR_INVALID,
                                       "defaults: %s must be above 0\nLeave it out for no default.",
                                       resource_name(kind));
        }
        return true;
}

/* Its own three limits, and its max against its parent's. Kinds without a limit inherit the parent's. */
static bool check_limits(const Queue *queue, const Queue *parent, GError **error)
{
        Resources max = max_of(queue), above = parent ? max_of(parent) : max;
        g_autofree char *its = parent ? g_strdup_printf("max of its parent '%s'", parent->object.name) : NULL;

        return check_order("reserved", &queue->reserved.amount, "min", &queue->min.amount, error) &&
               check_order("min", &queue->min.amount, "max", &max, error) &&
               check_defaults(&queue->defaults, error) &&
               check_order("defaults", &queue->defaults.amount, "max", &max, error) &&
               (!parent || check_order("max", &queue->max.amount, its, &above, error));
}

/* The sum of the mins of `queue` and its siblings. */
static bool sum_mins(const GPtrArray *queues, const Queue *queue, Resources *ret)
{
        Resources sum = queue->min.amount;

        for (guint i = 0; i < queues->len; i++) {
                const Queue *other = queue_at(queues, i);

                if (!same(other->object.name, queue->object.name) && same(other->parent, queue->parent) &&
                    same(other->cluster, queue->cluster) && !resources_add(&sum, &other->min.amount, 1))
                        return false;
        }
        *ret = sum;
        return true;
}

/* Only kinds whose min grows; all kinds if the queue is new or gets another parent. */
static Resources raised(const Change *change, const Queue *queue, const Resources *sum)
{
        const Queue *was = (const Queue *)change->was;
        Resources result = *sum;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (was && same(was->parent, queue->parent) &&
                    queue->min.amount.amount[kind] <= was->min.amount.amount[kind])
                        result.amount[kind] = 0;
                else if (queue->min.amount.amount[kind] == 0)
                        result.amount[kind] = 0;
        return result;
}

static bool check_sum(const Change *change, const Queue *queue, const Queue *parent, GError **error)
{
        const CatalogFacts *facts = change->facts;
        g_autofree char *whose = NULL;
        Resources sum, room;

        if (!sum_mins(catalog_list(change->catalog, KIND_QUEUE), queue, &sum))
                return err_set(error, ERR_INVALID,
                               "min: the minimums of all queues add up to more than can be counted");
        sum = raised(change, queue, &sum);
        if (parent) {
                whose = g_strdup_printf("min of its parent '%s'", parent->object.name);
                return check_order("min: added to the minimums of the queues beside it", &sum, whose,
                                   &parent->min.amount, error);
        }
        if (!facts->room || !facts->room(queue->cluster, &room, facts->arg)) {
                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        room.amount[kind] = RESOURCE_MOST;
                return check_order("min: added to the minimums of the queues beside it", &sum,
                                   "the most that can be promised", &room, error);
        }
        whose = g_strdup_printf("the capacity of cluster '%s'", queue->cluster);
        return check_order("min: added to the minimums of the queues beside it", &sum, whose, &room, error);
}

/* The limits of its children must be within its own. */
static bool check_children(const Change *change, const Queue *queue, GError **error)
{
        const GPtrArray *queues = catalog_list(change->catalog, KIND_QUEUE);
        Resources sum = { 0 }, max = max_of(queue);

        for (guint i = 0; i < queues->len; i++) {
                const Queue *child = queue_at(queues, i);
                g_autofree char *what = g_strdup_printf("max of '%s' below it", child->object.name);

                if (!same(child->parent, queue->object.name))
                        continue;
                if (!check_order(what, &child->max.amount, "its max", &max, error))
                        return false;
                if (!resources_add(&sum, &child->min.amount, 1))
                        return err_set(error, ERR_INVALID,
                                       "min: the minimums of the queues below it add up to more than can be "
                                       "counted");
        }
        return check_order("min: of the queues below it", &sum, "its own min", &queue->min.amount, error);
}

static bool put_queue(const Change *change, GError **error)
{
        const Queue *queue = (const Queue *)change->object, *was = (const Queue *)change->was;
        const Queue *parent;

        if (was && (!same(was->cluster, queue->cluster) || was->quota_type != queue->quota_type))
                return err_set(error, ERR_INVALID,
                               "cluster and quota_type cannot be changed\nMake a new queue.");
        if (was && !same(was->namespace, queue->namespace) && open_jobs(change, queue->object.name) > 0)
                return err_set(error, ERR_CONFLICT,
                               "namespace: its open jobs are in the one that it has\n"
                               "Close it and wait, or cancel them.");
        if (!check_cluster(change, queue->cluster, error) || !check_namespace(change, queue, error) ||
            !check_parent(change, queue, error))
                return false;
        parent = queue_parent(change->catalog, queue);
        return check_limits(queue, parent, error) && check_sum(change, queue, parent, error) &&
               check_children(change, queue, error);
}

static bool drop_queue(const Change *change, GError **error)
{
        const char *name = change->object->name;
        const GPtrArray *queues = catalog_list(change->catalog, KIND_QUEUE);
        gint64 jobs = open_jobs(change, name);

        if (same(name, QUEUE_DEFAULT) || same(name, QUEUE_SEEDED))
                return err_set(error, ERR_CONFLICT,
                               "it is built in and cannot be dropped\nIt can be closed.");
        for (guint i = 0; i < queues->len; i++)
                if (same(queue_at(queues, i)->parent, name))
                        return err_set(error, ERR_CONFLICT, "queue '%s' is below it\nDrop that one first.",
                                       queue_at(queues, i)->object.name);
        if (jobs > 0)
                return err_set(error, ERR_CONFLICT,
                               "it has " OPEN_JOBS "\nClose it and wait, or cancel them.", COUNT(jobs));
        return true;
}

/* ---- clusters ---- */

/* One of the cluster's queues that has open jobs; NULL: none has. */
static const Queue *busy_queue(const Change *change, gint64 *ret_jobs)
{
        const GPtrArray *queues = catalog_list(change->catalog, KIND_QUEUE);

        for (guint i = 0; i < queues->len; i++) {
                const Queue *queue = queue_at(queues, i);

                *ret_jobs = same(queue->cluster, change->object->name) ? open_jobs(change, queue->object.name)
                                                                       : 0;
                if (*ret_jobs > 0)
                        return queue;
        }
        return NULL;
}

/* Running jobs stay where they are, and are found again only there: no other cluster takes them over. */
static bool check_place(const Change *change, GError **error)
{
        const Cluster *was = (const Cluster *)change->was, *now = (const Cluster *)change->object;
        const CatalogFacts *facts = change->facts;
        g_autofree char *from = NULL, *to = NULL;
        gint64 jobs = 0;
        const Queue *queue = was ? busy_queue(change, &jobs) : NULL;

        if (!queue)
                return true;
        if (was->type != now->type)
                return err_set(error, ERR_CONFLICT,
                               "type: its queue '%s' has " OPEN_JOBS "\nClose it and wait, or cancel them.",
                               queue->object.name, COUNT(jobs));
        if (facts->elsewhere && facts->elsewhere(was, now, &from, &to, facts->arg))
                return err_set(error, ERR_CONFLICT,
                               "credential: it leads to %s, and its queue '%s' has " OPEN_JOBS
                               " at %s\nClose the queue and wait, or cancel them; or make a new cluster for "
                               "the other place.",
                               to, queue->object.name, COUNT(jobs), from);
        return true;
}

static bool put_cluster(const Change *change, GError **error)
{
        const Cluster *cluster = (const Cluster *)change->object;
        const GPtrArray *queues = catalog_list(change->catalog, KIND_QUEUE);

        if (!check_place(change, error) || !check_defaults(&cluster->defaults, error))
                return false;
        for (guint i = 0; cluster->namespaces && i < queues->len; i++) {
                const Queue *queue = queue_at(queues, i);

                if (same(queue->cluster, cluster->object.name) && queue->namespace &&
                    !g_strv_contains((const char *const *)cluster->namespaces, queue->namespace))
                        return err_set(error, ERR_CONFLICT,
                                       "namespaces: '%s' is not in the list, but queue '%s' uses it",
                                       queue->namespace, queue->object.name);
        }
        return true;
}

static bool drop_cluster(const Change *change, GError **error)
{
        const Queue *queue;
        gint64 jobs = 0;

        if (same(change->object->name, CLUSTER_DEFAULT))
                return err_set(error, ERR_CONFLICT, "it is built in and cannot be dropped");
        queue = busy_queue(change, &jobs);
        if (queue)
                return err_set(error, ERR_CONFLICT,
                               "its queue '%s' has " OPEN_JOBS "\nClose it and wait, or cancel them.",
                               queue->object.name, COUNT(jobs));
        return true;
}

/* ---- flavours ---- */

static bool check_scalar(const char *pair, GError **error)
{
        const char *value = strchr(pair, '=') + 1;
        g_autofree char *what = g_strdup_printf("scalars.%.*s", (int)(value - 1 - pair), pair);
        gint64 amount;

        if (!*value)
                return err_set(error, ERR_INVALID, "%s is empty\nGive a number of devices.", what);
        return quantity_parse(what, RESOURCE_GPU, value, &amount, error);
}

/* All users can create some; a limit protects the others. */
static bool check_creator(const Change *change, const Flavour *flavour, GError **error)
{
        const User *creator = flavour->creator ? catalog_user(change->catalog, flavour->creator) : NULL;
        const GPtrArray *flavours = catalog_list(change->catalog, KIND_FLAVOUR);
        int n = 0;

        if (change->was || !creator || creator->admin || flavours->len < FLAVOURS_MAX)
                return true;
        for (guint i = 0; i < flavours->len; i++)
                n += same(((const Flavour *)flavours->pdata[i])->creator, flavour->creator);
        return n < FLAVOURS_MAX ||
               err_set(error, ERR_QUOTA,
                       "user '%s' has made %d flavours, and %d is the most that one user may have\n"
                       "Delete those that are not needed: `paddle flavour delete NAME`.",
                       flavour->creator, n, FLAVOURS_MAX);
}

static bool put_flavour(const Change *change, GError **error)
{
        const Flavour *flavour = (const Flavour *)change->object;
        gint64 cpu = 0, memory = 0;

        if (!check_creator(change, flavour, error))
                return false;
        if (!cpu_parse("cpu", flavour->cpu, &cpu, error) ||
            !memory_parse("memory", flavour->memory, &memory, error))
                return false;
        if (cpu == 0 || memory == 0)
                return err_set(error, ERR_INVALID, "%s must be more than 0", cpu == 0 ? "cpu" : "memory");
        for (char **pair = flavour->scalars; pair && *pair; pair++)
                if (!check_scalar(*pair, error))
                        return false;
        if (flavour->cluster && !catalog_cluster(change->catalog, flavour->cluster))
                return err_set(error, ERR_NOT_FOUND, "cluster '%.80s' does not exist", flavour->cluster);
        return true;
}

/* ---- users ---- */

/* One subject belongs to one account. */
static bool check_subject(const Change *change, GError **error)
{
        const User *user = (const User *)change->object;
        const User *other = user->oidc_subject ? catalog_user_by_subject(change->catalog, user->oidc_issuer,
                                                                         user->oidc_subject)
                                               : NULL;

        return !other || same(other->object.name, user->object.name) ||
               err_set(error, ERR_EXISTS, "oidc_subject: it is that of user '%s'", other->object.name);
}

static bool put_user(const Change *change, GError **error)
{
        const User *user = (const User *)change->object;

        if (same(user->object.name, "root") && !user->admin)
                return err_set(error, ERR_INVALID, "admin: root is always an administrator");
        if (same(user->object.name, SEEDED_USER) && user->ldap)
                return err_set(error, ERR_INVALID,
                               "ldap: root keeps a password of its own, so that it can log in without the "
                               "directory");
        return check_subject(change, error);
}

static bool drop_user(const Change *change, GError **error)
{
        const CatalogFacts *facts = change->facts;
        const char *name = change->object->name;
        gint64 jobs = facts->user_jobs ? facts->user_jobs(name, facts->arg) : 0;

        if (same(name, "root"))
                return err_set(error, ERR_CONFLICT, "it is built in and cannot be deleted");
        if (jobs > 0)
                return err_set(error, ERR_CONFLICT,
                               "%" G_GINT64_FORMAT " of the user's jobs %s open\nCancel %s, or wait.", jobs,
                               jobs == 1 ? "is" : "are", jobs == 1 ? "it" : "them");
        return true;
}

/* ---- grants ---- */

static bool check_granted(const Change *change, const Grant *grant, GError **error)
{
        static const ObjectKind kinds[GRANT_TYPES] = {
                [GRANT_QUEUE] = KIND_QUEUE, [GRANT_USER] = KIND_USER, [GRANT_FS] = KIND_FILESYSTEM
        };
        bool known = grant->type == GRANT_FS
                             ? catalog_filesystem_by_id(change->catalog, grant->resource) != NULL
                             : catalog_find(change->catalog, kinds[grant->type], grant->resource) != NULL;

        return known || err_set(error, ERR_NOT_FOUND, "%s '%.80s' does not exist",
                                kind_name(kinds[grant->type]), grant->resource);
}

static bool put_grant(const Change *change, GError **error)
{
        const Grant *grant = (const Grant *)change->object;
        const User *user = grant->user ? catalog_user(change->catalog, grant->user) : NULL;
        g_autofree char *name = NULL;

        if (!grant->user || !grant->resource)
                return err_set(error, ERR_INVALID, "%s is missing", grant->user ? "resource" : "user");
        name = grant_key(grant->user, grant->type, grant->resource);
        if (!same(name, grant->object.name))
                return err_set(error, ERR_INVALID, "its name must be '%.200s'", name);
        if (!check_granted(change, grant, error))
                return false;
        if (!user)
                return err_set(error, ERR_NOT_FOUND, "user '%.80s' does not exist", grant->user);
        if (user->admin)
                return err_set(error, ERR_INVALID,
                               "user '%s' is an administrator, who may use everything already", grant->user);
        return true;
}

/* ---- resource pools ---- */

static bool put_pool(const Change *change, GError **error)
{
        const Pool *pool = (const Pool *)change->object;

        if (pool->cluster && !catalog_cluster(change->catalog, pool->cluster))
                return err_set(error, ERR_NOT_FOUND, "cluster '%.80s' does not exist", pool->cluster);
        return check_order("min", &pool->min.amount, "total", &pool->total.amount, error);
}

/* ---- secrets ---- */

static bool put_secret(const Change *change, GError **error)
{
        const Secret *secret = (const Secret *)change->object;
        const GPtrArray *secrets = catalog_list(change->catalog, KIND_SECRET);
        gint64 bytes = secret->bytes;
        int n = 1;

        if (!catalog_user(change->catalog, secret->user))
                return err_set(error, ERR_NOT_FOUND, "user '%.80s' does not exist", secret->user);
        for (guint i = 0; i < secrets->len; i++) {
                const Secret *other = secrets->pdata[i];

                if (!same(other->user, secret->user) || same(other->object.name, secret->object.name))
                        continue;
                bytes += other->bytes;
                n++;
        }
        if (n > SECRETS_PER_USER)
                return err_set(error, ERR_QUOTA,
                               "a user can have %d secrets\nDelete one first: `paddle secret delete NAME`.",
                               SECRETS_PER_USER);
        return bytes <= SECRETS_USER_BYTES ||
               err_set(error, ERR_QUOTA,
                       "the secrets of user '%s' would have %" G_GINT64_FORMAT
                       " bytes together, and the limit is %d\nDelete one first: `paddle secret delete NAME`.",
                       secret->user, bytes, SECRETS_USER_BYTES);
}

/* ---- file systems ---- */

/* Ids are unique, although names may contain the '-' that separates their parts. */
static bool check_new_filesystem(const Change *change, const Filesystem *filesystem, GError **error)
{
        const char *user = filesystem->user ? filesystem->user : "", *name = filesystem_name(filesystem);
        const GPtrArray *all = catalog_list(change->catalog, KIND_FILESYSTEM);
        int n = 0;

        if (!filesystem_name_check(user, name, error))
                return false;
        if (!catalog_user(change->catalog, user))
                return err_set(error, ERR_NOT_FOUND, "user '%.80s' does not exist", user);
        for (guint i = 0; i < all->len; i++) {
                const Filesystem *other = all->pdata[i];

                if (same(other->object.id, filesystem->object.id))
                        return err_set(error, ERR_EXISTS, /* perhaps another user's, whose name is not told */
                                       "its id would be '%s', which is in use\nChoose another name.",
                                       filesystem->object.id);
                n += same(other->user, user);
        }
        return n < FILESYSTEMS_PER_USER ||
               err_set(error, ERR_QUOTA,
                       "a user can have %d file systems\nDelete one first: `paddle fs delete NAME`.",
                       FILESYSTEMS_PER_USER);
}

static bool put_filesystem(const Change *change, GError **error)
{
        const Filesystem *filesystem = (const Filesystem *)change->object;

        return (change->was || check_new_filesystem(change, filesystem, error)) &&
               filesystem_check(filesystem, error);
}

static bool drop_filesystem(const Change *change, GError **error)
{
        const CatalogFacts *facts = change->facts;
        g_autofree char *use = facts->filesystem_use
                                       ? facts->filesystem_use((const Filesystem *)change->object, facts->arg)
                                       : NULL;

        return !use ||
               err_set(error, ERR_CONFLICT, "it is %s\nWait until that has ended, or cancel it.", use);
}

/* ---- all ---- */

static const struct {
        bool (*put)(const Change *change, GError **error);
        bool (*drop)(const Change *change, GError **error); /* NULL: always */
} rules[KINDS] = {
        [KIND_USER] = { put_user, drop_user },    [KIND_CLUSTER] = { put_cluster, drop_cluster },
        [KIND_QUEUE] = { put_queue, drop_queue }, [KIND_FLAVOUR] = { put_flavour, NULL },
        [KIND_GRANT] = { put_grant, NULL },       [KIND_POOL] = { put_pool, NULL },
        [KIND_SECRET] = { put_secret, NULL },     [KIND_FILESYSTEM] = { put_filesystem, drop_filesystem },
};

static bool check_name(const Catalog *catalog, const Object *was, const Object *object, GError **error)
{
        if (was)
                return same(was->name, object->name) && was->kind == object->kind
                               ? true
                               : err_set(error, ERR_INVALID, "%s '%s' cannot be renamed",
                                         kind_name(was->kind), was->name);
        if (catalog_find(catalog, object->kind, object->name))
                return err_set(error, ERR_EXISTS, "%s '%.200s' exists already", kind_name(object->kind),
                               object->name);
        return object_row(object->kind)->name_check(kind_name(object->kind), object->name, error);
}

bool catalog_check_put(const Catalog *catalog, const Object *was, const Object *object,
                       const CatalogFacts *facts, GError **error)
{
        Change change = { catalog, was, object, facts ? facts : &no_facts };

        if (!check_name(catalog, was, object, error))
                return false;
        return rules[object->kind].put(&change, error)
                       ? true
                       : err_prefix(error, "%s '%.200s': ", kind_name(object->kind), object->name);
}

bool catalog_check_drop(const Catalog *catalog, const Object *object, const CatalogFacts *facts,
                        GError **error)
{
        Change change = { catalog, NULL, object, facts ? facts : &no_facts };

        if (!rules[object->kind].drop || rules[object->kind].drop(&change, error))
                return true;
        return err_prefix(error, "%s '%.200s': ", kind_name(object->kind), object->name);
}

char **catalog_warnings(const Object *object, const CatalogFacts *facts)
{
        const Queue *queue = object->kind == KIND_QUEUE ? (const Queue *)object : NULL;
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        Resources used = { 0 }, max;

        if (!queue || !facts || !facts->used)
                return NULL;
        used = facts->used(object->name, facts->arg);
        max = max_of(queue);
        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *has = quantity_named(kind, used.amount[kind]);
                g_autofree char *may = quantity_text(kind, max.amount[kind]);

                if (used.amount[kind] > max.amount[kind])
                        g_ptr_array_add(
                                list,
                                g_strdup_printf("queue '%s' uses %s, more than its max of %s: no job starts "
                                                "in it until it uses less; running jobs continue",
                                                object->name, has, may));
        }
        if (!list->len)
                return NULL;
        g_ptr_array_add(list, NULL);
        return (char **)g_ptr_array_steal(list, NULL);
}

/* ---- objects deleted along with another ---- */

static void add_grants(const Catalog *catalog, GPtrArray *list, const char *user, GrantType type,
                       const char *resource)
{
        const GPtrArray *grants = catalog_list(catalog, KIND_GRANT);

        for (guint i = 0; i < grants->len; i++) {
                const Grant *grant = grants->pdata[i];

                if (((user && same(grant->user, user)) ||
                     (grant->type == type && same(grant->resource, resource))) &&
                    !g_ptr_array_find(list, grant, NULL))
                        g_ptr_array_add(list, (gpointer)grant);
        }
}

static void add_secrets(const Catalog *catalog, GPtrArray *list, const char *user)
{
        const GPtrArray *secrets = catalog_list(catalog, KIND_SECRET);

        for (guint i = 0; i < secrets->len; i++)
                if (same(((const Secret *)secrets->pdata[i])->user, user))
                        g_ptr_array_add(list, secrets->pdata[i]);
}

/* With the grants on them. */
static void add_filesystems(const Catalog *catalog, GPtrArray *list, const char *user)
{
        const GPtrArray *filesystems = catalog_list(catalog, KIND_FILESYSTEM);

        for (guint i = 0; i < filesystems->len; i++) {
                const Filesystem *filesystem = filesystems->pdata[i];

                if (!same(filesystem->user, user))
                        continue;
                g_ptr_array_add(list, (gpointer)filesystem);
                add_grants(catalog, list, NULL, GRANT_FS, filesystem->object.id);
        }
}

static void add_of_cluster(const Catalog *catalog, GPtrArray *list, const char *cluster)
{
        const GPtrArray *queues = catalog_list(catalog, KIND_QUEUE),
                        *flavours = catalog_list(catalog, KIND_FLAVOUR);
        const GPtrArray *pools = catalog_list(catalog, KIND_POOL);

        for (guint i = 0; i < queues->len; i++) {
                const Queue *queue = queue_at(queues, i);

                if (!same(queue->cluster, cluster))
                        continue;
                g_ptr_array_add(list, (gpointer)queue);
                add_grants(catalog, list, NULL, GRANT_QUEUE, queue->object.name);
        }
        for (guint i = 0; i < flavours->len; i++)
                if (same(((const Flavour *)flavours->pdata[i])->cluster, cluster))
                        g_ptr_array_add(list, flavours->pdata[i]);
        for (guint i = 0; i < pools->len; i++)
                if (same(((const Pool *)pools->pdata[i])->cluster, cluster))
                        g_ptr_array_add(list, pools->pdata[i]);
}

GPtrArray *catalog_followers(const Catalog *catalog, const Object *object)
{
        GPtrArray *list = g_ptr_array_new();

        if (object->kind == KIND_USER) {
                add_grants(catalog, list, object->name, GRANT_USER, object->name);
                add_secrets(catalog, list, object->name);
                add_filesystems(catalog, list, object->name);
        }
        if (object->kind == KIND_FILESYSTEM)
                add_grants(catalog, list, NULL, GRANT_FS, object->id);
        if (object->kind == KIND_QUEUE)
                add_grants(catalog, list, NULL, GRANT_QUEUE, object->name);
        if (object->kind == KIND_CLUSTER)
                add_of_cluster(catalog, list, object->name);
        return list;
}
