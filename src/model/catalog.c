/* The catalog (see catalog.h): per kind a table of buckets, selected by a hash of the name and sorted by
 * name. A change copies one bucket and the pointers to the others, so its cost hardly grows with the number
 * of objects. Lists are built on first use and kept with the table.
 *
 * Invariant: a table that others can see never changes, except that its list is added. */
#include "model/catalog.h"

#include <string.h>

#include "base/err.h"
#include "model/spec.h"

enum { BUCKETS = 256 };

typedef struct {
        gatomicrefcount refs;
        guint n;
        Object *objects[]; /* sorted by name; owned references */
} Bucket;

typedef struct {
        gatomicrefcount refs;
        guint n;
        GPtrArray *list;          /* in order of seq, borrowed from the buckets; NULL: not built yet */
        Bucket *buckets[BUCKETS]; /* NULL: empty */
} Table;

struct Catalog {
        gatomicrefcount refs;
        Table *tables[KINDS];
};

/* ---- buckets ---- */

static Bucket *bucket_new(guint n)
{
        Bucket *bucket = g_malloc(sizeof(Bucket) + n * sizeof(Object *));

        g_atomic_ref_count_init(&bucket->refs);
        bucket->n = n;
        return bucket;
}

static Bucket *bucket_ref(Bucket *bucket)
{
        if (bucket)
                g_atomic_ref_count_inc(&bucket->refs);
        return bucket;
}

static void bucket_unref(Bucket *bucket)
{
        if (!bucket || !g_atomic_ref_count_dec(&bucket->refs))
                return;
        for (guint i = 0; i < bucket->n; i++)
                object_unref(bucket->objects[i]);
        g_free(bucket);
}

/* The position of the name, or where to insert it. */
static bool bucket_find(const Bucket *bucket, const char *name, guint *ret)
{
        guint low = 0, high = bucket ? bucket->n : 0;

        while (low < high) {
                guint middle = low + (high - low) / 2;
                int order = strcmp(bucket->objects[middle]->name, name);

                if (order == 0) {
                        *ret = middle;
                        return true;
                }
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        *ret = low;
        return false;
}

/* A copy in which `object`, if any, replaces the `drop` objects at `at`. */
static Bucket *bucket_splice(const Bucket *bucket, guint at, guint drop, Object *object)
{
        guint n = bucket ? bucket->n : 0, add = object != NULL, to = 0;
        Bucket *copy = n - drop + add ? bucket_new(n - drop + add) : NULL;

        for (guint i = 0; i < at; i++)
                copy->objects[to++] = object_ref(bucket->objects[i]);
        if (object)
                copy->objects[to++] = object_ref(object);
        for (guint i = at + drop; i < n; i++)
                copy->objects[to++] = object_ref(bucket->objects[i]);
        return copy;
}

/* ---- tables ---- */

static Table *table_new(void)
{
        Table *table = g_new0(Table, 1);

        g_atomic_ref_count_init(&table->refs);
        return table;
}

static Table *table_ref(Table *table)
{
        g_atomic_ref_count_inc(&table->refs);
        return table;
}

static void table_unref(Table *table)
{
        if (!table || !g_atomic_ref_count_dec(&table->refs))
                return;
        for (int i = 0; i < BUCKETS; i++)
                bucket_unref(table->buckets[i]);
        if (table->list)
                g_ptr_array_unref(table->list);
        g_free(table);
}

/* The copy is not shared yet. */
static Table *table_copy(const Table *table)
{
        Table *copy = table_new();

        copy->n = table->n;
        for (int i = 0; i < BUCKETS; i++)
                copy->buckets[i] = bucket_ref(table->buckets[i]);
        return copy;
}

static Bucket **table_bucket(Table *table, const char *name)
{
        guint hash = g_str_hash(name);

        return &table->buckets[(hash ^ (hash >> 8) ^ (hash >> 16)) % BUCKETS];
}

/* `object` NULL: removes the name. The table must not be shared yet. */
static void table_set(Table *table, const char *name, Object *object)
{
        Bucket **bucket = table_bucket(table, name), *was = *bucket;
        guint at = 0;
        bool found = bucket_find(was, name, &at);

        if (!found && !object)
                return;
        *bucket = bucket_splice(was, at, found, object);
        table->n = table->n - found + (object != NULL);
        bucket_unref(was);
}

static gint compare_seq(gconstpointer a, gconstpointer b)
{
        const Object *first = *(const Object *const *)a, *second = *(const Object *const *)b;

        if (first->seq != second->seq)
                return first->seq < second->seq ? -1 : 1;
        return strcmp(first->name, second->name);
}

/* Several threads may build it at once; one result is kept. */
static const GPtrArray *table_list(Table *table)
{
        GPtrArray *list = g_atomic_pointer_get(&table->list);

        if (list)
                return list;
        list = g_ptr_array_sized_new(table->n);
        for (int i = 0; i < BUCKETS; i++)
                for (guint k = 0; table->buckets[i] && k < table->buckets[i]->n; k++)
                        g_ptr_array_add(list, table->buckets[i]->objects[k]);
        g_ptr_array_sort(list, compare_seq);
        if (g_atomic_pointer_compare_and_exchange(&table->list, NULL, list))
                return list;
        g_ptr_array_unref(list);
        return g_atomic_pointer_get(&table->list);
}

/* ---- the catalog ---- */

static Catalog *catalog_alloc(void)
{
        Catalog *catalog = g_new0(Catalog, 1);

        g_atomic_ref_count_init(&catalog->refs);
        return catalog;
}

Catalog *catalog_new(void)
{
        Catalog *catalog = catalog_alloc();

        for (int kind = 0; kind < KINDS; kind++)
                catalog->tables[kind] = table_new();
        return catalog;
}

Catalog *catalog_ref(Catalog *catalog)
{
        g_atomic_ref_count_inc(&catalog->refs);
        return catalog;
}

void catalog_unref(Catalog *catalog)
{
        if (!catalog || !g_atomic_ref_count_dec(&catalog->refs))
                return;
        for (int kind = 0; kind < KINDS; kind++)
                table_unref(catalog->tables[kind]);
        g_free(catalog);
}

static Catalog *with(const Catalog *catalog, ObjectKind kind, const char *name, Object *object)
{
        Catalog *copy = catalog_alloc();

        for (int i = 0; i < KINDS; i++)
                copy->tables[i] =
                        i == (int)kind ? table_copy(catalog->tables[i]) : table_ref(catalog->tables[i]);
        table_set(copy->tables[kind], name, object);
        return copy;
}

Catalog *catalog_with(const Catalog *catalog, Object *object)
{
        return with(catalog, object->kind, object->name, object);
}

Catalog *catalog_without(const Catalog *catalog, ObjectKind kind, const char *name)
{
        return with(catalog, kind, name, NULL);
}

Catalog *catalog_load(GPtrArray *objects)
{
        Catalog *catalog = catalog_new();

        for (guint i = 0; i < objects->len; i++) {
                Object *object = objects->pdata[i];

                table_set(catalog->tables[object->kind], object->name, object);
        }
        return catalog;
}

const Object *catalog_find(const Catalog *catalog, ObjectKind kind, const char *name)
{
        const Bucket *bucket = name ? *table_bucket(catalog->tables[kind], name) : NULL;
        guint at = 0;

        return bucket_find(bucket, name, &at) ? bucket->objects[at] : NULL;
}

const User *catalog_user(const Catalog *catalog, const char *name)
{
        return (const User *)catalog_find(catalog, KIND_USER, name);
}

const User *catalog_user_by_subject(const Catalog *catalog, const char *issuer, const char *subject)
{
        const GPtrArray *users = catalog_list(catalog, KIND_USER);

        for (guint i = 0; i < users->len; i++) {
                const User *user = users->pdata[i];

                if (user->oidc_subject && g_strcmp0(user->oidc_subject, subject) == 0 &&
                    g_strcmp0(user->oidc_issuer, issuer) == 0)
                        return user;
        }
        return NULL;
}

const Cluster *catalog_cluster(const Catalog *catalog, const char *name)
{
        return (const Cluster *)catalog_find(catalog, KIND_CLUSTER, name);
}

const Queue *catalog_queue(const Catalog *catalog, const char *name)
{
        return (const Queue *)catalog_find(catalog, KIND_QUEUE, name);
}

const Flavour *catalog_flavour(const Catalog *catalog, const char *name)
{
        return (const Flavour *)catalog_find(catalog, KIND_FLAVOUR, name);
}

const Grant *catalog_grant(const Catalog *catalog, const char *user, GrantType type, const char *resource)
{
        g_autofree char *name = grant_key(user, type, resource);

        return (const Grant *)catalog_find(catalog, KIND_GRANT, name);
}

const Secret *catalog_secret(const Catalog *catalog, const char *user, const char *name)
{
        g_autofree char *key = secret_key(user, name);

        return (const Secret *)catalog_find(catalog, KIND_SECRET, key);
}

const Filesystem *catalog_filesystem(const Catalog *catalog, const char *user, const char *name)
{
        g_autofree char *key = filesystem_key(user, name);

        return (const Filesystem *)catalog_find(catalog, KIND_FILESYSTEM, key);
}

const Filesystem *catalog_filesystem_by_id(const Catalog *catalog, const char *id)
{
        const GPtrArray *all = catalog_list(catalog, KIND_FILESYSTEM);

        for (guint i = 0; i < all->len; i++)
                if (strcmp(((const Object *)all->pdata[i])->id, id) == 0)
                        return all->pdata[i];
        return NULL;
}

const GPtrArray *catalog_list(const Catalog *catalog, ObjectKind kind)
{
        return table_list(catalog->tables[kind]);
}

guint catalog_count(const Catalog *catalog, ObjectKind kind)
{
        return catalog->tables[kind]->n;
}

/* ---- the tree of queues ---- */

bool queue_is_leaf(const Catalog *catalog, const Queue *queue)
{
        const GPtrArray *queues = catalog_list(catalog, KIND_QUEUE);

        for (guint i = 0; i < queues->len; i++)
                if (g_strcmp0(((const Queue *)queues->pdata[i])->parent, queue->object.name) == 0)
                        return false;
        return true;
}

const Queue *queue_parent(const Catalog *catalog, const Queue *queue)
{
        return queue->parent ? catalog_queue(catalog, queue->parent) : NULL;
}

bool queue_has_quota(const Catalog *catalog, const Queue *queue)
{
        const Cluster *cluster = queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;

        return !cluster || cluster->type != CLUSTER_K3S;
}

Resources queue_max(const Catalog *catalog, const Queue *queue)
{
        static const ResourceLimits none;

        if (!queue_has_quota(catalog, queue))
                return limits_flat(&none, RESOURCE_UNLIMITED);
        return limits_flat(&queue->max, queue->only_listed ? 0 : RESOURCE_UNLIMITED);
}

bool queue_is_limited(const Catalog *catalog, const Queue *queue, int kind)
{
        for (; queue; queue = queue_parent(catalog, queue)) {
                Resources max = queue_max(catalog, queue);

                if (max.amount[kind] != RESOURCE_UNLIMITED)
                        return true;
        }
        return false;
}

bool queue_default(const Catalog *catalog, const Queue *queue, int kind, gint64 *ret)
{
        const Cluster *cluster = queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;
        const ResourceLimits *defaults = cluster ? &cluster->defaults : NULL;

        for (; queue; queue = queue_parent(catalog, queue))
                if (queue->defaults.said & (1u << kind)) {
                        defaults = &queue->defaults;
                        break;
                }
        if (!defaults || !(defaults->said & (1u << kind)))
                return false;
        *ret = defaults->amount.amount[kind];
        return true;
}

/* ---- the queue of a submission ---- */

static bool may_submit(const Catalog *catalog, const Queue *queue, const User *user)
{
        return queue->everyone || (user && user->admin) ||
               (user && catalog_grant(catalog, user->object.name, GRANT_QUEUE, queue->object.name));
}

/* The nearest closed queue, from the queue itself upwards; NULL: none. The rules guarantee trees without
 * cycles. */
static const Queue *closed_queue(const Catalog *catalog, const Queue *queue)
{
        while (queue && !queue->closed)
                queue = queue_parent(catalog, queue);
        return queue;
}

static bool takes_jobs(const Catalog *catalog, const Queue *queue, GError **error)
{
        const Queue *closed = closed_queue(catalog, queue);
        const Cluster *cluster = catalog_cluster(catalog, queue->cluster);

        if (!queue_is_leaf(catalog, queue))
                return err_set(error, ERR_CONFLICT,
                               "queue '%s' has queues below it, so it takes no jobs itself\nSubmit to one of "
                               "those.",
                               queue->object.name);
        if (closed)
                return err_set(
                        error, ERR_CONFLICT,
                        "queue '%s' is closed%s%s\nAn administrator opens it with 'paddle queue open %s'.",
                        queue->object.name, closed == queue ? "" : ", since it is below ",
                        closed == queue ? "" : closed->object.name, closed->object.name);
        if (!cluster || cluster->offline)
                return err_set(error, ERR_CONFLICT,
                               "queue '%s': its cluster '%s' is offline\nAn administrator sets its status to "
                               "online.",
                               queue->object.name, queue->cluster ? queue->cluster : "");
        return true;
}

const Queue *catalog_submit_queue(const Catalog *catalog, const char *name, const User *user, GError **error)
{
        const char *wanted = name ? name : QUEUE_DEFAULT;
        const Queue *queue = catalog_queue(catalog, wanted);

        if (!queue) {
                err_set(error, ERR_NOT_FOUND,
                        "queue '%.80s' does not exist\n'paddle queue list' shows yours.", wanted);
                return NULL;
        }
        if (!may_submit(catalog, queue, user)) {
                err_set(error, ERR_DENIED,
                        "queue '%s' is not granted to %s\nAn administrator grants it with 'paddle grant "
                        "create %s %s'.",
                        wanted, user ? user->object.name : "you", user ? user->object.name : "USER", wanted);
                return NULL;
        }
        return takes_jobs(catalog, queue, error) ? queue : NULL;
}

int catalog_max_priority(const Catalog *catalog, const Queue *queue, const User *user)
{
        const Grant *grant =
                user ? catalog_grant(catalog, user->object.name, GRANT_QUEUE, queue->object.name) : NULL;

        return grant ? grant->max_priority : 0;
}

/* ---- file systems ---- */

static bool refuse_unknown(const char *user, const char *name, bool has_home, GError **error)
{
        g_autofree char *shown = err_shown(name);

        g_autofree char *advice =
                has_home ? g_strdup_printf("\nSee `paddle fs list`. A directory of the home is home/%.80s.",
                                           shown)
                         : g_strdup("");

        return err_set(error, ERR_NOT_FOUND, "user '%s' has no file system '%.80s'%s", user, shown, advice);
}

bool catalog_filesystem_place(const Catalog *catalog, const char *homes, const char *user, const char *name,
                              FilesystemPlace *ret, GError **error)
{
        const Filesystem *filesystem = catalog_filesystem(catalog, user, name);
        bool home = homes && strcmp(name, FILESYSTEM_HOME) == 0;
        g_auto(FilesystemAddress) address = { 0 };
        g_auto(FilesystemPlace) place = { .type = FILESYSTEM_HOMES };

        if (!home && !filesystem)
                return refuse_unknown(user, name, homes, error);
        if (!home && (!filesystem_check(filesystem, error) ||
                      !filesystem_address_parse(filesystem->url, filesystem->properties, &address, error)))
                return err_prefix(error, "file system '%s': ", name);
        place.id = filesystem_id(user, name);
        place.user = g_strdup(user);
        place.name = g_strdup(name);
        place.root = home ? g_build_filename(homes, user, NULL) : g_strdup(address.path);
        if (!home) {
                place.type = address.type;
                place.read_only = filesystem->read_only;
                place.claim = g_strdup(filesystem_property(filesystem->properties, "pvc"));
                place.namespace = g_strdup(filesystem_property(filesystem->properties, "namespace"));
        }
        *ret = place;
        place = (FilesystemPlace){ 0 };
        return true;
}
