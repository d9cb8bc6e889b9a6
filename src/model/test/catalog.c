/* The catalog: look-ups, order, the cost of a change; and each rule of doc/guide/scheduling.md 7. */
#include "model/catalog.h"

#include <string.h>

#include "base/err.h"
#include "base/test/seed.h"

static gint64 next_seq = 1;

static Object *make(ObjectKind kind, const char *name, const char *fields)
{
        Object *object = object_new(kind, name);
        g_autoptr(json_t) patch = json_loads(fields, 0, NULL);
        g_autoptr(GError) error = NULL;

        g_assert_nonnull(patch);
        object_patch(object, patch, &error);
        g_assert_no_error(error);
        object->seq = next_seq++;
        return object;
}

static void put(Catalog **catalog, Object *object /* taken */)
{
        Catalog *next = catalog_with(*catalog, object);

        object_unref(object);
        catalog_unref(*catalog);
        *catalog = next;
}

/* ---- lookups ---- */

static void test_find(void)
{
        g_autoptr(Catalog) catalog = catalog_new(), before = NULL, without = NULL;
        const Object *user;

        put(&catalog, make(KIND_USER, "ann", "{}"));
        before = catalog_ref(catalog);
        put(&catalog, make(KIND_QUEUE, "ann", "{}"));
        put(&catalog,
            make(KIND_GRANT, "ann/queue/ann", "{\"user\":\"ann\",\"type\":\"queue\",\"resource\":\"ann\"}"));
        user = catalog_find(catalog, KIND_USER, "ann");
        g_assert_true(user && user == (const Object *)catalog_user(catalog, "ann"));
        g_assert_true(catalog_find(before, KIND_USER, "ann") == user); /* shared */
        g_assert_null(catalog_queue(before, "ann"));
        g_assert_nonnull(catalog_queue(catalog, "ann"));
        g_assert_nonnull(catalog_grant(catalog, "ann", GRANT_QUEUE, "ann"));
        g_assert_null(catalog_grant(catalog, "ann", GRANT_FS, "ann"));
        g_assert_null(catalog_user(catalog, "bob"));
        g_assert_null(catalog_cluster(catalog, "ann"));
        g_assert_null(catalog_flavour(catalog, "ann"));
        without = catalog_without(catalog, KIND_USER, "ann");
        g_assert_null(catalog_user(without, "ann"));
        g_assert_nonnull(catalog_user(catalog, "ann"));
        g_assert_cmpint(catalog_count(without, KIND_USER), ==, 0);
        g_assert_cmpint(catalog_count(catalog, KIND_USER), ==, 1);
}

/* Random puts and deletions, compared with a plain table; old catalogs stay unchanged. */
static void test_random(void)
{
        g_autoptr(Catalog) catalog = catalog_new();
        g_autoptr(GHashTable) model = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        for (int step = 0; step < 20000; step++) {
                g_autofree char *name = g_strdup_printf("u%d", g_rand_int_range(rand, 0, 2000));
                g_autoptr(Catalog) was = catalog_ref(catalog);
                guint n = catalog_count(was, KIND_USER);

                if (g_rand_boolean(rand)) {
                        put(&catalog, make(KIND_USER, name, "{}"));
                        g_hash_table_add(model, g_strdup(name));
                } else {
                        Catalog *next = catalog_without(catalog, KIND_USER, name);

                        catalog_unref(catalog);
                        catalog = next;
                        g_hash_table_remove(model, name);
                }
                g_assert_cmpint(catalog_count(was, KIND_USER), ==, n);
                g_assert_cmpint(catalog_count(catalog, KIND_USER), ==, g_hash_table_size(model));
                g_assert_cmpint(catalog_user(catalog, name) != NULL, ==, g_hash_table_contains(model, name));
        }
        g_assert_cmpint(catalog_list(catalog, KIND_USER)->len, ==, g_hash_table_size(model));
}

static void test_order(void)
{
        g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
        g_autoptr(Catalog) catalog = NULL;
        const GPtrArray *list;

        for (int i = 0; i < 1000; i++) {
                g_autofree char *name = g_strdup_printf("u%d", i * 7919 % 1000);

                g_ptr_array_add(objects, make(KIND_USER, name, "{}"));
        }
        catalog = catalog_load(objects);
        put(&catalog, object_copy(objects->pdata[500])); /* a changed object keeps its position */
        list = catalog_list(catalog, KIND_USER);
        g_assert_cmpint(list->len, ==, 1000);
        for (guint i = 0; i < 1000; i++)
                g_assert_cmpstr(((Object *)list->pdata[i])->name, ==, ((Object *)objects->pdata[i])->name);
        g_assert_true(catalog_list(catalog, KIND_USER) == list);
}

static gpointer list_users(gpointer catalog)
{
        return (gpointer)catalog_list(catalog, KIND_USER);
}

/* The first thread that needs the list builds it; all get the same one. */
static void test_list_threads(void)
{
        for (int round = 0; round < 50; round++) {
                g_autoptr(Catalog) catalog = catalog_new();
                GThread *threads[4];
                const GPtrArray *list;

                for (int i = 0; i < 20; i++) {
                        g_autofree char *name = g_strdup_printf("u%d", i);

                        put(&catalog, make(KIND_USER, name, "{}"));
                }
                for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                        threads[i] = g_thread_new("list", list_users, catalog);
                list = catalog_list(catalog, KIND_USER);
                for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                        g_assert_true(g_thread_join(threads[i]) == list);
                g_assert_cmpint(list->len, ==, 20);
        }
}

/* A change among 20,000 objects takes far less than a millisecond: the fastest of ten, as others use the
 * machine. */
static void test_cost(void)
{
        g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
        g_autoptr(Catalog) catalog = NULL;
        gint64 best = G_MAXINT64;

        for (int i = 0; i < 20000; i++) {
                g_autofree char *name = g_strdup_printf("u%d", i);

                g_ptr_array_add(objects, make(KIND_USER, name, "{}"));
        }
        catalog = catalog_load(objects);
        for (int i = 0; i < 10; i++) {
                Object *object = make(KIND_USER, "u7", "{\"admin\":true}");
                gint64 start = g_get_monotonic_time();

                put(&catalog, object);
                best = MIN(best, g_get_monotonic_time() - start);
        }
        g_test_message("%" G_GINT64_FORMAT " us", best);
        g_assert_cmpint(best, <, 1000);
        g_assert_true(catalog_user(catalog, "u7")->admin);
}

/* ---- the rules ---- */

static const struct {
        ObjectKind kind;
        const char *name, *fields;
} world[] = {
        { KIND_USER, "ann", "{}" },
        { KIND_USER, "bob", "{}" },
        { KIND_CLUSTER, "c2", "{\"namespaces\":[\"n1\",\"n2\"]}" },
        { KIND_CLUSTER, "away", "{\"status\":\"offline\"}" },
        { KIND_CLUSTER, "c3", "{}" },
        { KIND_QUEUE, "top", "{\"max\":{\"cpu\":10,\"gpu\":4},\"min\":{\"cpu\":6},\"only_listed\":true}" },
        { KIND_QUEUE, "left", "{\"parent\":\"top\",\"max\":{\"cpu\":8},\"min\":{\"cpu\":4}}" },
        { KIND_QUEUE, "right", "{\"parent\":\"top\",\"min\":{\"cpu\":2},\"closed\":true}" },
        { KIND_QUEUE, "busy", "{\"everyone\":true}" }, /* has open jobs */
        { KIND_QUEUE, "in-c2", "{\"cluster\":\"c2\",\"namespace\":\"n1\"}" },
        { KIND_QUEUE, "in-c3", "{\"cluster\":\"c3\"}" },
        { KIND_QUEUE, "in-away", "{\"cluster\":\"away\"}" },
        { KIND_QUEUE, "d1", "{}" },
        { KIND_QUEUE, "d2", "{\"parent\":\"d1\"}" },
        { KIND_QUEUE, "d3", "{\"parent\":\"d2\"}" },
        { KIND_QUEUE, "d4", "{\"parent\":\"d3\"}" },
        { KIND_QUEUE, "d5", "{\"parent\":\"d4\"}" },
        { KIND_QUEUE, "d6", "{\"parent\":\"d5\"}" },
        { KIND_QUEUE, "d7", "{\"parent\":\"d6\"}" },
        { KIND_QUEUE, "d8", "{\"parent\":\"d7\"}" },
        { KIND_FLAVOUR, "bound", "{\"cpu\":\"1\",\"memory\":\"1Gi\",\"cluster\":\"c2\"}" },
        { KIND_GRANT, "ann/queue/left", "{\"user\":\"ann\",\"resource\":\"left\"}" },
        { KIND_GRANT, "ann/queue/in-c2", "{\"user\":\"ann\",\"resource\":\"in-c2\"}" },
        { KIND_GRANT, "bob/queue/left", "{\"user\":\"bob\",\"resource\":\"left\"}" },
        { KIND_POOL, "pool-c2", "{\"namespace\":\"n\",\"cluster\":\"c2\"}" },
};

static Catalog *world_new(void)
{
        g_autoptr(GPtrArray) seeds = catalog_seed(CLUSTER_LOCAL, 1000);
        g_autoptr(Catalog) catalog = NULL;

        for (guint i = 0; i < seeds->len; i++)
                ((Object *)seeds->pdata[i])->seq = next_seq++;
        catalog = catalog_load(seeds);
        for (size_t i = 0; i < G_N_ELEMENTS(world); i++)
                put(&catalog, make(world[i].kind, world[i].name, world[i].fields));
        return g_steal_pointer(&catalog);
}

static gint64 facts_jobs(const char *queue, void *arg)
{
        return strcmp(queue, "busy") == 0 || strcmp(queue, "in-c3") == 0 ? 3 : 0;
}

static gint64 facts_user_jobs(const char *user, void *arg)
{
        return strcmp(user, "bob") == 0;
}

static Resources facts_used(const char *queue, void *arg)
{
        return (Resources){ .cpu_milli = 5000 };
}

static bool facts_room(const char *cluster, Resources *ret, void *arg)
{
        *ret = (Resources){ .cpu_milli = 16000, .memory = 64ll << 30 };
        return strcmp(cluster, "default-cluster") == 0;
}

static bool facts_elsewhere(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now, void *arg)
{
        if (g_strcmp0(now->credential, "leads elsewhere") != 0)
                return false;
        *ret_was = g_strdup("https://a");
        *ret_now = g_strdup("https://b");
        return true;
}

static const CatalogFacts facts = {
        facts_jobs, facts_user_jobs, facts_used, facts_room, facts_elsewhere, NULL
};

/* `says` NULL: allowed. Changes an existing object, or creates one. */
static const struct {
        ObjectKind kind;
        const char *name, *fields;
        ErrCode code;
        const char *says;
} allowed_or_not[] = {
        /* names */
        { KIND_QUEUE, "q-1", "{}", 0, NULL },
        { KIND_QUEUE, "Q", "{}", ERR_INVALID, "queue: 'Q' is not a name of 1 to 63 characters" },
        { KIND_USER, "carl", "{}", 0, NULL },
        { KIND_USER, "-x", "{}", ERR_INVALID, "user: '-x' is not a user's name" },
        { KIND_CLUSTER, "My_cluster-1", "{}", 0, NULL },
        { KIND_CLUSTER, "c", "{}", ERR_INVALID, "cluster: 'c' is not a name of 2" },
        { KIND_CLUSTER, "a-", "{}", ERR_INVALID, "cluster: 'a-' is not a name" },
        { KIND_POOL, "P", "{}", ERR_INVALID, "resource pool: 'P' is not a name" },
        /* the position of a queue */
        { KIND_QUEUE, "q", "{\"cluster\":\"none\"}", ERR_NOT_FOUND,
          "queue 'q': cluster 'none' does not exist" },
        { KIND_QUEUE, "q", "{\"cluster\":\"away\"}", ERR_CONFLICT, "queue 'q': cluster 'away' is offline" },
        { KIND_QUEUE, "in-away", "{\"closed\":true}", 0, NULL },
        { KIND_QUEUE, "in-away", "{\"max\":{\"cpu\":2}}", 0, NULL },
        { KIND_QUEUE, "q", "{\"cluster\":\"c2\",\"namespace\":\"n2\"}", 0, NULL },
        { KIND_QUEUE, "q", "{\"cluster\":\"c2\",\"namespace\":\"n3\"}", ERR_INVALID,
          "queue 'q': namespace 'n3' is not one of cluster 'c2', which has n1, n2" },
        { KIND_QUEUE, "q", "{\"parent\":\"none\"}", ERR_NOT_FOUND,
          "queue 'q': parent 'none' does not exist" },
        { KIND_QUEUE, "q", "{\"parent\":\"in-c2\"}", ERR_INVALID,
          "queue 'q': parent 'in-c2' is in cluster 'c2', not in 'default-cluster'" },
        { KIND_QUEUE, "q", "{\"parent\":\"busy\"}", ERR_CONFLICT,
          "queue 'q': parent 'busy' has 3 open jobs of its own" },
        { KIND_QUEUE, "q", "{\"parent\":\"q\"}", ERR_NOT_FOUND, "parent 'q' does not exist" },
        { KIND_QUEUE, "d1", "{\"parent\":\"d1\"}", ERR_INVALID,
          "parent 'd1' is the queue itself or below it" },
        { KIND_QUEUE, "d1", "{\"parent\":\"d3\"}", ERR_INVALID,
          "parent 'd3' is the queue itself or below it" },
        { KIND_QUEUE, "q", "{\"parent\":\"d7\"}", 0, NULL },
        { KIND_QUEUE, "q", "{\"parent\":\"d8\"}", ERR_INVALID, "parent 'd8' would make more than 8 levels" },
        { KIND_QUEUE, "d1", "{\"parent\":\"left\"}", ERR_INVALID, "more than 8 levels" },
        { KIND_QUEUE, "d8", "{\"parent\":\"d1\"}", 0, NULL },
        { KIND_QUEUE, "default", "{\"parent\":\"d1\"}", ERR_INVALID,
          "queue 'default': it cannot have a parent" },
        { KIND_QUEUE, "default", "{\"everyone\":false,\"closed\":true}", 0, NULL },
        /* its own limits */
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":4},\"max\":{\"cpu\":4},\"reserved\":{\"cpu\":4}}", 0, NULL },
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":5},\"max\":{\"cpu\":4}}", ERR_INVALID,
          "queue 'q': min: 5 cpu is above max, which is 4" },
        { KIND_QUEUE, "q", "{\"min\":{\"memory\":\"2Gi\"},\"reserved\":{\"memory\":\"3Gi\"}}", ERR_INVALID,
          "queue 'q': reserved: 3Gi memory is above min, which is 2Gi" },
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":4},\"max\":{\"memory\":\"4Gi\"}}", 0, NULL },
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":4},\"max\":{\"memory\":\"4Gi\"},\"only_listed\":true}",
          ERR_INVALID, "min: 4 cpu is above max, which is 0" },
        { KIND_QUEUE, "q", "{\"defaults\":{\"cpu\":2,\"memory\":\"1Gi\"},\"max\":{\"cpu\":2}}", 0, NULL },
        { KIND_QUEUE, "q", "{\"defaults\":{\"cpu\":3},\"max\":{\"cpu\":2}}", ERR_INVALID,
          "queue 'q': defaults: 3 cpu is above max, which is 2" },
        { KIND_QUEUE, "q", "{\"defaults\":{\"memory\":0}}", ERR_INVALID,
          "queue 'q': defaults: memory must be above 0" },
        { KIND_QUEUE, "q", "{\"defaults\":{\"gpu\":1}}", ERR_INVALID,
          "queue 'q': defaults: nvidia.com/gpu has none" },
        { KIND_CLUSTER, "c2", "{\"defaults\":{\"cpu\":2}}", 0, NULL },
        { KIND_CLUSTER, "c2", "{\"defaults\":{\"cpu\":0}}", ERR_INVALID,
          "cluster 'c2': defaults: cpu must be above 0" },
        /* the parent's */
        { KIND_QUEUE, "left", "{\"max\":{\"cpu\":10}}", 0, NULL },
        { KIND_QUEUE, "left", "{\"max\":{\"cpu\":11}}", ERR_INVALID,
          "queue 'left': max: 11 cpu is above max of its parent 'top', which is 10" },
        { KIND_QUEUE, "left", "{\"max\":{\"memory\":1}}", ERR_INVALID,
          "max: 1 memory is above max of its parent 'top'" },
        { KIND_QUEUE, "left", "{\"min\":{\"cpu\":\"4001m\"}}", ERR_INVALID,
          "queue 'left': min: added to the minimums of the queues beside it: 6.001 cpu is above min of its "
          "parent 'top', which is 6" },
        { KIND_QUEUE, "left", "{\"min\":{\"cpu\":3}}", 0, NULL },
        { KIND_QUEUE, "q", "{\"parent\":\"top\",\"min\":{\"gpu\":1}}", ERR_INVALID,
          "1 nvidia.com/gpu is above min of" },
        { KIND_QUEUE, "q", "{\"parent\":\"top\"}", 0, NULL },
        /* the children's */
        { KIND_QUEUE, "top", "{\"max\":{\"cpu\":8}}", 0, NULL },
        { KIND_QUEUE, "top", "{\"max\":{\"cpu\":7}}", ERR_INVALID,
          "queue 'top': max of 'left' below it: 8 cpu is above its max, which is 7" },
        { KIND_QUEUE, "top", "{\"min\":{\"cpu\":5}}", ERR_INVALID,
          "queue 'top': min: of the queues below it: 6 cpu is above its own min, which is 5" },
        { KIND_QUEUE, "d1", "{\"parent\":\"top\"}", ERR_INVALID, "more than 8 levels" },
        /* the cluster's capacity: 16 cores, of which top's min takes 6 */
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":10}}", 0, NULL },
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":11}}", ERR_INVALID,
          "queue 'q': min: added to the minimums of the queues beside it: 17 cpu is above the capacity of "
          "cluster 'default-cluster', "
          "which is 16" },
        { KIND_QUEUE, "q", "{\"min\":{\"cpu\":1000},\"cluster\":\"c3\"}", 0, NULL }, /* unknown capacity */
        { KIND_QUEUE, "q", "{\"min\":{\"memory\":\"64Pi\"},\"cluster\":\"c3\"}", ERR_INVALID,
          "64Pi memory is above the most that can be promised" },
        { KIND_QUEUE, "q", "{\"min\":{\"memory\":9223372036854775807}}", ERR_INVALID,
          "above the capacity of cluster" },
        /* fields that cannot change */
        { KIND_CLUSTER, "c2", "{\"namespaces\":[\"n2\"]}", ERR_CONFLICT,
          "cluster 'c2': namespaces: 'n1' is not in the list, but queue 'in-c2' uses it" },
        { KIND_CLUSTER, "c2", "{\"namespaces\":[\"n1\"]}", 0, NULL },
        { KIND_CLUSTER, "c2", "{\"namespaces\":[]}", 0, NULL },
        /* clusters with open jobs */
        { KIND_CLUSTER, "c2", "{\"type\":\"K3S\"}", 0, NULL },
        { KIND_CLUSTER, "c3", "{\"type\":\"K3S\"}", ERR_CONFLICT,
          "cluster 'c3': type: its queue 'in-c3' has 3 open jobs" },
        { KIND_CLUSTER, "c2", "{\"credential\":\"leads elsewhere\"}", 0, NULL },
        { KIND_CLUSTER, "c3", "{\"credential\":\"of the same place\"}", 0, NULL },
        { KIND_CLUSTER, "c3", "{\"credential\":\"leads elsewhere\"}", ERR_CONFLICT,
          "cluster 'c3': credential: it leads to https://b, and its queue 'in-c3' has 3 open jobs at "
          "https://a" },
        /* flavours */
        { KIND_FLAVOUR, "f", "{\"cpu\":\"500m\",\"memory\":\"1\",\"scalars\":{\"x/y\":\"0\"}}", 0, NULL },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"0\",\"memory\":\"1\"}", ERR_INVALID,
          "flavour 'f': cpu must be more than 0" },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"1\",\"memory\":\"0Gi\"}", ERR_INVALID,
          "memory must be more than 0" },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"1\"}", ERR_INVALID, "flavour 'f': memory: '' is not an amount" },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"-1\",\"memory\":\"1\"}", ERR_INVALID, "cpu: '-1' is not" },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"1\",\"memory\":\"1\",\"scalars\":{\"x/y\":\"-1\"}}", ERR_INVALID,
          "flavour 'f': scalars.x/y: '-1' is not a number" },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"1\",\"memory\":\"1\",\"scalars\":{\"x/y\":\"\"}}", ERR_INVALID,
          "scalars.x/y is empty" },
        { KIND_FLAVOUR, "f", "{\"cpu\":\"1\",\"memory\":\"1\",\"cluster\":\"none\"}", ERR_NOT_FOUND,
          "flavour 'f': cluster 'none' does not exist" },
        /* users */
        { KIND_USER, "root", "{\"admin\":false}", ERR_INVALID,
          "user 'root': admin: root is always an administrator" },
        { KIND_USER, "ann", "{\"admin\":true}", 0, NULL },
        { KIND_GRANT, "bob/queue/top", "{\"user\":\"bob\",\"resource\":\"top\"}", 0, NULL },
        { KIND_GRANT, "bob/queue/none", "{\"user\":\"bob\",\"resource\":\"none\"}", ERR_NOT_FOUND,
          "grant 'bob/queue/none': queue 'none' does not exist" },
        { KIND_GRANT, "carl/queue/top", "{\"user\":\"carl\",\"resource\":\"top\"}", ERR_NOT_FOUND,
          "grant 'carl/queue/top': user 'carl' does not exist" },
        { KIND_GRANT, "root/queue/top", "{\"user\":\"root\",\"resource\":\"top\"}", ERR_INVALID,
          "user 'root' is an administrator" },
        { KIND_GRANT, "bob/queue/top", "{\"user\":\"bob\",\"resource\":\"left\"}", ERR_INVALID,
          "its name must be 'bob/queue/left'" },
        { KIND_GRANT, "bob/queue/top", "{\"user\":\"bob\"}", ERR_INVALID, "resource is missing" },
        { KIND_GRANT, "bob/user/ann", "{\"user\":\"bob\",\"type\":\"user\",\"resource\":\"ann\"}", 0, NULL },
        /* pools */
        { KIND_POOL, "p", "{\"total\":{\"cpu\":4},\"min\":{\"cpu\":4}}", 0, NULL },
        { KIND_POOL, "p", "{\"total\":{\"cpu\":4},\"min\":{\"cpu\":5}}", ERR_INVALID,
          "resource pool 'p': min: 5 cpu is above total, which is 4" },
        { KIND_POOL, "p", "{\"cluster\":\"none\"}", ERR_NOT_FOUND, "cluster 'none' does not exist" },
};

static void test_puts(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(allowed_or_not); i++) {
                g_autoptr(Catalog) catalog = world_new();
                const Object *was = catalog_find(catalog, allowed_or_not[i].kind, allowed_or_not[i].name);
                g_autoptr(Object) object =
                        was ? object_copy(was) : object_new(allowed_or_not[i].kind, allowed_or_not[i].name);
                g_autoptr(json_t) patch = json_loads(allowed_or_not[i].fields, 0, NULL);
                g_autoptr(GError) error = NULL;
                bool ok;

                g_test_message("%s %s %s", kind_name(allowed_or_not[i].kind), allowed_or_not[i].name,
                               allowed_or_not[i].fields);
                g_assert_nonnull(patch);
                object_patch(object, patch, &error);
                g_assert_no_error(error);
                ok = catalog_check_put(catalog, was, object, &facts, &error);
                if (!allowed_or_not[i].says) {
                        g_assert_no_error(error);
                        g_assert_true(ok);
                        continue;
                }
                g_assert_false(ok);
                if (!strstr(error->message, allowed_or_not[i].says))
                        g_assert_cmpstr(error->message, ==, allowed_or_not[i].says);
                g_assert_true(err_is(error, allowed_or_not[i].code));
        }
}

static void test_taken(void)
{
        g_autoptr(Catalog) catalog = world_new();
        g_autoptr(Object) again = object_new(KIND_QUEUE, "default"), other = NULL;
        g_autoptr(GError) error = NULL, renamed = NULL, moved = NULL;

        g_assert_false(catalog_check_put(catalog, NULL, again, &facts, &error));
        g_assert_true(err_is(error, ERR_EXISTS));
        g_assert_cmpstr(error->message, ==, "queue 'default' exists already");
        g_assert_false(catalog_check_put(catalog, catalog_find(catalog, KIND_QUEUE, "top"), again, &facts,
                                         &renamed));
        g_assert_true(err_is(renamed, ERR_INVALID));
        other = object_copy(catalog_find(catalog, KIND_QUEUE, "top"));
        g_free(((Queue *)other)->cluster);
        ((Queue *)other)->cluster = g_strdup("c3");
        g_assert_false(
                catalog_check_put(catalog, catalog_find(catalog, KIND_QUEUE, "top"), other, &facts, &moved));
        g_assert_true(err_is(moved, ERR_INVALID));
}

static void test_drops(void)
{
        static const struct {
                ObjectKind kind;
                const char *name;
                const char *says; /* NULL: allowed */
                const char *followers;
        } cases[] = {
                { KIND_QUEUE, "left", NULL, "ann/queue/left bob/queue/left" },
                { KIND_QUEUE, "top", "queue 'top': queue 'left' is below it", NULL },
                { KIND_QUEUE, "busy", "queue 'busy': it has 3 open jobs", NULL },
                { KIND_QUEUE, "default", "queue 'default': it is built in", NULL },
                { KIND_QUEUE, "default-queue", "queue 'default-queue': it is built in", NULL },
                { KIND_CLUSTER, "c2", NULL, "in-c2 ann/queue/in-c2 bound pool-c2" },
                { KIND_CLUSTER, "c3", "cluster 'c3': its queue 'in-c3' has 3 open jobs", NULL },
                { KIND_CLUSTER, "default-cluster", "cluster 'default-cluster': it is built in", NULL },
                { KIND_USER, "ann", NULL, "ann/queue/left ann/queue/in-c2" },
                { KIND_USER, "bob", "user 'bob': 1 of the user's jobs is open", NULL },
                { KIND_USER, "root", "user 'root': it is built in and cannot be deleted", NULL },
                { KIND_FLAVOUR, "flavour1", NULL, "" },
                { KIND_GRANT, "ann/queue/left", NULL, "" },
                { KIND_POOL, "pool-c2", NULL, "" },
        };
        g_autoptr(Catalog) catalog = world_new();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const Object *object = catalog_find(catalog, cases[i].kind, cases[i].name);
                g_autoptr(GPtrArray) followers = catalog_followers(catalog, object);
                g_autoptr(GString) names = g_string_new(NULL);
                g_autoptr(GError) error = NULL;

                g_test_message("%s %s", kind_name(cases[i].kind), cases[i].name);
                g_assert_cmpint(catalog_check_drop(catalog, object, &facts, &error), ==, !cases[i].says);
                if (cases[i].says) {
                        g_assert_true(err_is(error, ERR_CONFLICT));
                        g_assert_true(g_str_has_prefix(error->message, cases[i].says));
                        continue;
                }
                for (guint k = 0; k < followers->len; k++)
                        g_string_append_printf(names, "%s%s", k ? " " : "",
                                               ((Object *)followers->pdata[k])->name);
                g_assert_cmpstr(names->str, ==, cases[i].followers);
        }
}

static void test_warnings(void)
{
        g_autoptr(Object) queue = make(KIND_QUEUE, "q", "{\"max\":{\"cpu\":4}}");
        g_autoptr(Object) wide = make(KIND_QUEUE, "q", "{\"max\":{\"cpu\":5}}");
        g_auto(GStrv) said = catalog_warnings(queue, &facts);

        g_assert_cmpint(g_strv_length(said), ==, 1);
        g_assert_true(g_str_has_prefix(said[0], "queue 'q' uses 5 cores, more than its max of 4:"));
        g_assert_null(catalog_warnings(wide, &facts));
        g_assert_null(catalog_warnings(queue, NULL));
}

/* ---- the queue of a submission ---- */

static void test_submit(void)
{
        static const struct {
                const char *queue, *user;
                ErrCode code;
                const char *says; /* NULL: accepted */
        } cases[] = {
                { NULL, "ann", 0, NULL },
                { "default", "bob", 0, NULL },
                { "busy", "bob", 0, NULL },
                { "left", "ann", 0, NULL },
                { "left", "root", 0, NULL },
                { "default-queue", "root", 0, NULL },
                { "default-queue", "ann", ERR_DENIED, "queue 'default-queue' is not granted to ann" },
                { "in-c3", "ann", ERR_DENIED, "queue 'in-c3' is not granted to ann" },
                { "nope", "ann", ERR_NOT_FOUND, "queue 'nope' does not exist" },
                { "top", "root", ERR_CONFLICT, "queue 'top' has queues below it" },
                { "right", "root", ERR_CONFLICT, "queue 'right' is closed" },
                { "left", NULL, ERR_DENIED, "queue 'left' is not granted to you" },
        };
        g_autoptr(Catalog) catalog = world_new();
        g_autoptr(GError) below = NULL, offline = NULL;
        const User *ann;

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                const User *user = cases[i].user ? catalog_user(catalog, cases[i].user) : NULL;
                const Queue *queue = catalog_submit_queue(catalog, cases[i].queue, user, &error);

                g_test_message("%s %s", cases[i].queue ? cases[i].queue : "-",
                               cases[i].user ? cases[i].user : "-");
                if (!cases[i].says) {
                        g_assert_no_error(error);
                        g_assert_cmpstr(queue->object.name, ==, cases[i].queue ? cases[i].queue : "default");
                        continue;
                }
                g_assert_null(queue);
                g_assert_true(err_is(error, cases[i].code) &&
                              g_str_has_prefix(error->message, cases[i].says));
        }
        ann = catalog_user(catalog, "ann");
        put(&catalog, make(KIND_QUEUE, "top", "{\"closed\":true}")); /* also closes the queues below */
        g_assert_null(catalog_submit_queue(catalog, "left", catalog_user(catalog, "ann"), &below));
        g_assert_true(err_is(below, ERR_CONFLICT));
        g_assert_true(g_str_has_prefix(below->message, "queue 'left' is closed, since it is below top"));
        put(&catalog, make(KIND_CLUSTER, "c2", "{\"status\":\"offline\"}"));
        g_assert_null(catalog_submit_queue(catalog, "in-c2", ann, &offline));
        g_assert_true(err_is(offline, ERR_CONFLICT));
        g_assert_true(g_str_has_prefix(offline->message, "queue 'in-c2': its cluster 'c2' is offline"));
}

static void test_priorities(void)
{
        static const struct {
                const char *queue, *user; /* user NULL: anonymous */
                int most;
        } cases[] = {
                { "left", "root", 0 }, { "left", "ann", 0 },  { "left", "bob", 200 },  { "in-c2", "ann", 7 },
                { "busy", "ann", 0 },  { "busy", "bob", 50 }, { "default", "bob", 0 }, { "left", NULL, 0 },
        };
        g_autoptr(Catalog) catalog = world_new();

        /* ann's grant for `left` is older than this field */
        put(&catalog, make(KIND_GRANT, "bob/queue/left",
                           "{\"user\":\"bob\",\"resource\":\"left\",\"max_priority\":\"very-high\"}"));
        put(&catalog, make(KIND_GRANT, "ann/queue/in-c2",
                           "{\"user\":\"ann\",\"resource\":\"in-c2\",\"max_priority\":7}"));
        put(&catalog, make(KIND_GRANT, "bob/queue/busy",
                           "{\"user\":\"bob\",\"resource\":\"busy\",\"max_priority\":\"50\"}"));
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const User *user = cases[i].user ? catalog_user(catalog, cases[i].user) : NULL;

                g_test_message("%s %s", cases[i].queue, cases[i].user ? cases[i].user : "-");
                g_assert_cmpint(catalog_max_priority(catalog, catalog_queue(catalog, cases[i].queue), user),
                                ==, cases[i].most);
        }
}

static bool may_make_flavour(const Catalog *catalog, const char *creator, const char *name, GError **error)
{
        g_autoptr(Object) flavour = make(KIND_FLAVOUR, name, "{\"cpu\":\"1\",\"memory\":\"1Gi\"}");
        const Object *was = catalog_find(catalog, KIND_FLAVOUR, name);

        ((Flavour *)flavour)->creator = g_strdup(creator);
        return catalog_check_put(catalog, was, flavour, &facts, error);
}

/* doc/guide/people.md 11 */
static void test_flavours_of_one_user(void)
{
        g_autoptr(Catalog) catalog = world_new();
        g_autoptr(GError) error = NULL;

        for (int i = 0; i < 1000; i++) {
                g_autofree char *name = g_strdup_printf("f%d", i);
                Object *flavour = make(KIND_FLAVOUR, name, "{\"cpu\":\"1\",\"memory\":\"1Gi\"}");

                g_assert_true(may_make_flavour(catalog, "ann", name, NULL));
                ((Flavour *)flavour)->creator = g_strdup("ann");
                put(&catalog, flavour);
        }
        g_assert_false(may_make_flavour(catalog, "ann", "more", &error));
        g_assert_true(err_is(error, ERR_QUOTA));
        g_assert_cmpstr(
                error->message, ==,
                "flavour 'more': user 'ann' has made 1000 flavours, and 1000 is the most that one user "
                "may have\nDelete those that are not needed: `paddle flavour delete NAME`.");
        g_assert_true(may_make_flavour(catalog, "ann", "f7", NULL)); /* a change of an existing one */
        g_assert_true(may_make_flavour(catalog, "bob", "more", NULL));
        g_assert_true(may_make_flavour(catalog, "root", "more", NULL));
}

/* doc/reference/paddleflow-api.md, "What a new server begins with", and the rules for these objects. */
static void test_seed(void)
{
        static const struct {
                ObjectKind kind;
                const char *name, *member, *value;
        } cases[] = {
                { KIND_USER, "root", "admin", "true" },
                { KIND_USER, "root", "has_password", "true" },
                { KIND_CLUSTER, "default-cluster", "type", "\"Local\"" },
                { KIND_CLUSTER, "default-cluster", "endpoint", "\"127.0.0.1\"" },
                { KIND_CLUSTER, "default-cluster", "version", "\"1.16+\"" },
                { KIND_CLUSTER, "default-cluster", "status", "\"online\"" },
                { KIND_CLUSTER, "default-cluster", "source", "\"OnPremise\"" },
                { KIND_QUEUE, "default", "everyone", "true" },
                { KIND_QUEUE, "default", "max", "{}" },
                { KIND_QUEUE, "default", "cluster", "\"default-cluster\"" },
                { KIND_QUEUE, "default-queue", "namespace", "\"default\"" },
                { KIND_QUEUE, "default-queue", "quota_type", "\"volcanoCapabilityQuota\"" },
                { KIND_QUEUE, "default-queue", "max", "{\"cpu\":\"20\",\"memory\":\"20Gi\"}" },
                { KIND_QUEUE, "default-queue", "everyone", "false" },
                { KIND_FLAVOUR, "flavour1", "cpu", "\"1\"" },
                { KIND_FLAVOUR, "flavour1", "memory", "\"1Gi\"" },
                { KIND_FLAVOUR, "flavour1", "scalars", "{}" },
                { KIND_FLAVOUR, "flavour2", "memory", "\"8Gi\"" },
                { KIND_FLAVOUR, "flavour2", "scalars", "{\"nvidia.com/gpu\":\"1\"}" },
                { KIND_FLAVOUR, "flavour3", "cpu", "\"4\"" },
                { KIND_FLAVOUR, "flavour3", "scalars", "{\"nvidia.com/gpu\":\"2\"}" },
        };
        g_autoptr(GPtrArray) seeds = catalog_seed(CLUSTER_LOCAL, 1000);
        g_autoptr(Catalog) catalog = catalog_new();

        for (guint i = 0; i < seeds->len; i++) {
                const Object *object = seeds->pdata[i];
                g_autoptr(GError) error = NULL;

                catalog_check_put(catalog, NULL, object, NULL, &error);
                g_assert_no_error(error);
                g_assert_true(g_uuid_string_is_valid(object->id));
                g_assert_true(object->created == 1000 && object->updated == 1000 && object->seq == 0);
                put(&catalog, object_ref(object));
        }
        g_assert_cmpint(seeds->len, ==, 7);
        g_assert_cmpstr(catalog_user(catalog, "root")->password, ==, USER_PASSWORD_SEEDED);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const Object *object = catalog_find(catalog, cases[i].kind, cases[i].name);
                g_autoptr(json_t) shown = object ? object_format(object) : NULL;
                g_autoptr(JsonText) text =
                        json_dumps(json_object_get(shown, cases[i].member), JSON_ENCODE_ANY | JSON_COMPACT);

                g_test_message("%s.%s", cases[i].name, cases[i].member);
                g_assert_cmpstr(text, ==, cases[i].value);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/catalog/find", test_find);
        g_test_add_func("/catalog/random", test_random);
        g_test_add_func("/catalog/order", test_order);
        g_test_add_func("/catalog/list-threads", test_list_threads);
        g_test_add_func("/catalog/cost", test_cost);
        g_test_add_func("/catalog/puts", test_puts);
        g_test_add_func("/catalog/flavours of one user", test_flavours_of_one_user);
        g_test_add_func("/catalog/taken", test_taken);
        g_test_add_func("/catalog/drops", test_drops);
        g_test_add_func("/catalog/warnings", test_warnings);
        g_test_add_func("/catalog/submit", test_submit);
        g_test_add_func("/catalog/priorities", test_priorities);
        g_test_add_func("/catalog/seed", test_seed);
        return g_test_run();
}
