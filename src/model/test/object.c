/* Objects of the catalog: stored, shown, refused and merged, kind by kind. Expected texts are those of
 * doc/guide/rest.md. */
#include "model/object.h"

#include <string.h>

#include "base/err.h"
#include "model/cluster.h"
#include "model/flavour.h"
#include "model/queue.h"
#include "model/user.h"

static json_t *parse(const char *text)
{
        json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

        g_assert_nonnull(value);
        return value;
}

static void patch(Object *object, const char *text)
{
        g_autoptr(json_t) members = parse(text);
        g_autoptr(GError) error = NULL;

        object_patch(object, members, &error);
        g_assert_no_error(error);
}

static char *shown_member(const Object *object, const char *name)
{
        g_autoptr(json_t) shown = object_format(object);
        const json_t *value = json_object_get(shown, name);

        return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
}

static void assert_shows(const Object *object, const char *name, const char *text)
{
        g_autoptr(JsonText) shown = shown_member(object, name);

        g_test_message("%s", name);
        g_assert_cmpstr(shown, ==, text);
}

/* The defaults that every kind shows; NULL: has no such field. */
static void test_defaults(void)
{
        static const struct {
                ObjectKind kind;
                const char *name, *value;
        } cases[] = {
                { KIND_QUEUE, "name", "\"x1\"" },
                { KIND_QUEUE, "cluster", "\"default-cluster\"" },
                { KIND_QUEUE, "parent", "null" },
                { KIND_QUEUE, "namespace", "null" },
                { KIND_QUEUE, "quota_type", "\"elasticQuota\"" },
                { KIND_QUEUE, "max", "{}" },
                { KIND_QUEUE, "min", "{}" },
                { KIND_QUEUE, "reserved", "{}" },
                { KIND_QUEUE, "only_listed", "false" },
                { KIND_QUEUE, "weight", "1" },
                { KIND_QUEUE, "priority", "0" },
                { KIND_QUEUE, "reclaimable", "true" },
                { KIND_QUEUE, "backfill", "true" },
                { KIND_QUEUE, "preemption", "\"never\"" },
                { KIND_QUEUE, "ordering", "\"priority\"" },
                { KIND_QUEUE, "closed", "false" },
                { KIND_QUEUE, "everyone", "false" },
                { KIND_QUEUE, "max_running_per_user", "0" },
                { KIND_QUEUE, "max_open_per_user", "0" },
                { KIND_QUEUE, "location", "{}" },
                { KIND_QUEUE, "policies", "[]" },
                { KIND_QUEUE, "version", "0" },
                { KIND_QUEUE, "created", "null" },
                { KIND_QUEUE, "keep", NULL },
                { KIND_CLUSTER, "type", "\"Kubernetes\"" },
                { KIND_CLUSTER, "status", "\"online\"" },
                { KIND_CLUSTER, "description", "\"\"" },
                { KIND_CLUSTER, "source", "\"OnPremise\"" },
                { KIND_CLUSTER, "namespaces", "[]" },
                { KIND_CLUSTER, "has_credential", "false" },
                { KIND_CLUSTER, "credential", NULL },
                { KIND_USER, "admin", "false" },
                { KIND_USER, "has_password", "false" },
                { KIND_USER, "password", NULL },
                { KIND_FLAVOUR, "cpu", "null" },
                { KIND_FLAVOUR, "scalars", "{}" },
                { KIND_FLAVOUR, "cluster", "null" },
                { KIND_GRANT, "type", "\"queue\"" },
                { KIND_FILESYSTEM, "url", "null" },
                { KIND_FILESYSTEM, "properties", "{}" },
                { KIND_FILESYSTEM, "read_only", "false" },
                { KIND_POOL, "status", "\"creating\"" },
                { KIND_POOL, "hybrid", "false" },
                { KIND_POOL, "cluster", "\"default-cluster\"" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Object) object = object_new(cases[i].kind, "x1");

                assert_shows(object, cases[i].name, cases[i].value);
        }
}

static void test_ids(void)
{
        static const struct {
                ObjectKind kind;
                const char *name, *pattern;
        } cases[] = {
                { KIND_USER, "user", "^user-[0-9a-f]{8}$" },
                { KIND_CLUSTER, "cluster", "^cluster-[0-9a-f]{8}$" },
                { KIND_QUEUE, "queue", "^queue-[0-9a-f]{8}$" },
                { KIND_FLAVOUR, "flavour", "^flavour-[0-9a-f]{8}$" },
                { KIND_GRANT, "grant", "^grant-[0-9a-f]{8}$" },
                { KIND_POOL, "resource pool", "^rp-[0-9a-f]{8}$" },
                { KIND_SECRET, "secret", "^secret-[0-9a-f]{8}$" },
                { KIND_FILESYSTEM, "file system", "^fs-[0-9a-f]{8}$" },
        };

        G_STATIC_ASSERT(G_N_ELEMENTS(cases) == KINDS);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Object) object = object_new(cases[i].kind, "x1");

                g_assert_cmpstr(kind_name(cases[i].kind), ==, cases[i].name);
                g_assert_true(g_regex_match_simple(cases[i].pattern, object->id, 0, 0));
        }
}

/* One patch with every settable field. */
static const struct {
        ObjectKind kind;
        const char *patch;
} fulls[] = {
        { KIND_QUEUE,
          "{\"name\":\"x1\",\"cluster\":\"c1\",\"parent\":\"p\",\"namespace\":\"n\",\"quota_type\":"
          "\"volcanoCapabilityQuota\",\"max\":{\"cpu\":\"8\",\"memory\":\"1Gi\",\"nvidia.com/gpu\":2,\"rdma/"
          "hca\":1},"
          "\"min\":{\"cpu\":\"1500m\"},\"reserved\":{\"cpu\":\"0\"},\"only_listed\":true,\"weight\":65535,"
          "\"priority\":"
          "-1000,\"reclaimable\":false,\"backfill\":false,\"preemption\":\"lower-priority\",\"ordering\":"
          "\"fair\","
          "\"closed\":true,\"everyone\":true,\"max_running_per_user\":3,\"max_open_per_user\":2147483647,"
          "\"location\":{\"zone\":\"a\",\"disk.io/type\":\"\"},\"policies\":[\"priority\",\"x\"]}" },
        { KIND_CLUSTER,
          "{\"type\":\"Local\",\"status\":\"offline\",\"description\":\"our\\nmachine\",\"endpoint\":\"127.0."
          "0.1\","
          "\"source\":\"AWS\",\"version\":\"1.16+\",\"setting\":\"s\",\"namespaces\":[\"a\",\"b\"]}" },
        { KIND_FLAVOUR, "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"scalars\":{\"z/z\":\"1\",\"nvidia.com/"
                        "gpu\":\"1\"},\"cluster\":\"c1\"}" },
        { KIND_USER, "{\"admin\":true}" },
        { KIND_FILESYSTEM,
          "{\"url\":\"mock://data/sets\",\"properties\":{\"pvc\":\"p\",\"namespace\":\"n\"},\"read_only\":true}" },
        { KIND_GRANT, "{\"user\":\"ann\",\"type\":\"fs\",\"resource\":\"fs-ann-x\"}" },
        { KIND_POOL,
          "{\"namespace\":\"n\",\"type\":\"t\",\"provider\":\"p\",\"org_id\":\"o\",\"description\":\"d\","
          "\"cluster\":"
          "\"c1\",\"quota_type\":\"volcanoCapabilityQuota\",\"total\":{\"cpu\":\"10\"},\"min\":{\"cpu\":"
          "\"1\"},"
          "\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"},\"hybrid\":true,\"status\":\"open\"}" },
};

/* All fields are shown and survive the store; a copy is complete when the original is gone. */
static void test_round(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(fulls); i++) {
                g_autoptr(Object) object = object_new(fulls[i].kind, "x1"), copy = NULL, back = NULL;
                g_autoptr(json_t) said = parse(fulls[i].patch), shown = NULL, first = NULL, second = NULL;
                g_autofree char *text = NULL;
                g_autoptr(GError) error = NULL;
                const char *name;
                json_t *value;

                patch(object, fulls[i].patch);
                object->version = 7;
                object->created = 1000;
                object->updated = 2000;
                object->seq = 5;
                shown = object_format(object);
                json_object_foreach(said, name, value) {
                        g_test_message("%s.%s", kind_name(fulls[i].kind), name);
                        g_assert_true(json_equal(json_object_get(shown, name), value));
                }
                copy = object_copy(object);
                text = object_pack(object);
                g_clear_pointer(&object, object_unref);
                first = object_format(copy);
                g_assert_true(json_equal(shown, first));
                back = object_unpack(fulls[i].kind, 5, "x1", text, &error);
                g_assert_no_error(error);
                second = object_format(back);
                g_assert_true(json_equal(shown, second));
                g_assert_cmpint(back->seq, ==, 5);
        }
}

static void test_secrets(void)
{
        g_autoptr(Object) user = object_new(KIND_USER, "ann"), cluster = object_new(KIND_CLUSTER, "c1");
        g_autoptr(Object) back = NULL;
        g_autoptr(json_t) shown = NULL;
        g_autofree char *text = NULL, *visible = NULL;

        ((User *)user)->password = g_strdup("$argon2id$secret");
        assert_shows(user, "has_password", "true");
        patch(cluster, "{\"credential\":\"c2VjcmV0\"}");
        assert_shows(cluster, "has_credential", "true");
        shown = object_format(cluster);
        visible = json_format(shown);
        g_assert_null(strstr(visible, "c2VjcmV0"));
        text = object_pack(user);
        back = object_unpack(KIND_USER, 1, "ann", text, NULL);
        g_assert_cmpstr(((User *)back)->password, ==, "$argon2id$secret");
}

/* Passwords in a setting are hidden, and kept if the shown text is written back. */
static void test_setting(void)
{
        static const struct {
                const char *was, *said, *kept, *shown;
        } cases[] = {
                { NULL, "note \"password\"", "note \"password\"", CLUSTER_HIDDEN },
                { NULL, "note", "note", "note" },
                { NULL, "{ \"a\": 1 }", "{ \"a\": 1 }", "{ \"a\": 1 }" },
                { NULL, "{\"r\":{\"password\":\"s\"},\"b\":2}", "{\"r\":{\"password\":\"s\"},\"b\":2}",
                  "{\"r\":{\"password\":\"***\"},\"b\":2}" },
                { NULL, "{\"r\": {\"password\": \"s\"}, }", "{\"r\": {\"password\": \"s\"}, }",
                  CLUSTER_HIDDEN },
                { "{\"r\":{\"password\":\"s\"}}", "{\"b\":1,\"r\":{\"password\":\"***\"}}",
                  "{\"b\":1,\"r\":{\"password\":\"s\"}}", "{\"b\":1,\"r\":{\"password\":\"***\"}}" },
                { "{\"r\":{\"password\":\"s\"}}", "{\"r\":{\"password\":\"new\"}}",
                  "{\"r\":{\"password\":\"new\"}}", "{\"r\":{\"password\":\"***\"}}" },
                { "{\"r\":{\"password\":\"s\"}}", "{\"q\":{\"password\":\"***\"}}",
                  "{\"q\":{\"password\":\"***\"}}", "{\"q\":{\"password\":\"***\"}}" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Object) cluster = object_new(KIND_CLUSTER, "c1");
                g_autoptr(json_t) said = json_pack("{s:s}", "setting", cases[i].said), shown = NULL;
                g_autoptr(GError) error = NULL;

                ((Cluster *)cluster)->setting = g_strdup(cases[i].was);
                g_assert_true(object_patch(cluster, said, &error));
                g_assert_cmpstr(((Cluster *)cluster)->setting, ==, cases[i].kept);
                shown = object_format(cluster);
                g_assert_cmpstr(json_string_value(json_object_get(shown, "setting")), ==, cases[i].shown);
        }
}

/* The store's text has no defaults. */
static void test_small(void)
{
        g_autoptr(Object) object = object_new(KIND_QUEUE, "q"), back = NULL;
        g_autofree char *text = NULL;
        g_autoptr(json_t) packed = NULL;

        text = object_pack(object);
        packed = parse(text);
        g_assert_cmpint(json_object_size(packed), ==, 1); /* the id */
        back = object_unpack(KIND_QUEUE, 1, "q", text, NULL);
        g_assert_cmpstr(back->id, ==, object->id);
        g_assert_cmpint(((Queue *)back)->weight, ==, 1);
        g_assert_cmpstr(((Queue *)back)->cluster, ==, "default-cluster");
}

static void test_merge(void)
{
        static const struct {
                const char *patch, *member, *shows;
        } steps[] = {
                { "{\"max\":{\"cpu\":8,\"mem\":\"1Gi\"}}", "max", "{\"cpu\":\"8\",\"memory\":\"1Gi\"}" },
                { "{\"max\":{\"gpu\":2}}", "max", "{\"cpu\":\"8\",\"memory\":\"1Gi\",\"nvidia.com/gpu\":2}" },
                { "{\"max\":{\"cpu\":null,\"gpu\":0}}", "max", "{\"memory\":\"1Gi\",\"nvidia.com/gpu\":0}" },
                { "{\"max\":{}}", "max", "{\"memory\":\"1Gi\",\"nvidia.com/gpu\":0}" },
                { "{\"weight\":5}", "weight", "5" },
                { "{}", "weight", "5" },
                { "{\"weight\":null}", "weight", "1" },
                { "{\"max\":null}", "max", "{}" },
                { "{\"reclaimable\":false}", "reclaimable", "false" },
                { "{\"reclaimable\":null}", "reclaimable", "true" },
                { "{\"location\":{\"b\":\"1\",\"a\":\"2\",\"a-b\":\"3\"}}", "location",
                  "{\"a\":\"2\",\"a-b\":\"3\",\"b\":\"1\"}" },
                { "{\"location\":{\"a\":null,\"b\":\"9\"}}", "location", "{\"a-b\":\"3\",\"b\":\"9\"}" },
                { "{\"location\":{\"a-b\":null,\"b\":null}}", "location", "{}" },
                { "{\"policies\":[\"x\"]}", "policies", "[\"x\"]" },
                { "{\"policies\":[\"y\",\"z\"]}", "policies", "[\"y\",\"z\"]" },
                { "{\"policies\":[]}", "policies", "[]" },
                { "{\"parent\":\"p\"}", "parent", "\"p\"" },
                { "{\"parent\":\"\"}", "parent", "null" },
                { "{\"preemption\":\"lower-priority\"}", "preemption", "\"lower-priority\"" },
                { "{\"preemption\":null}", "preemption", "\"never\"" },
                { "{\"cluster\":null}", "cluster", "\"default-cluster\"" },
        };
        g_autoptr(Object) object = object_new(KIND_QUEUE, "q"), flavour = object_new(KIND_FLAVOUR, "f");

        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
                patch(object, steps[i].patch);
                assert_shows(object, steps[i].member, steps[i].shows);
        }
        patch(flavour, "{\"scalars\":{\"z\":\"1\",\"a\":\"2\"}}");
        assert_shows(flavour, "scalars", "{\"z\":\"1\",\"a\":\"2\"}"); /* in the order given */
        patch(flavour, "{\"scalars\":{\"z\":\"3\",\"b\":\"4\",\"a\":null}}");
        assert_shows(flavour, "scalars", "{\"z\":\"3\",\"b\":\"4\"}");
}

static void test_refused(void)
{
        static const struct {
                ObjectKind kind;
                const char *patch, *says;
        } cases[] = {
                { KIND_QUEUE, "[]", "queue 'x1': a JSON object is needed" },
                { KIND_QUEUE, "{\"colour\":1}", "queue 'x1': 'colour' is not a field that can be set" },
                { KIND_QUEUE, "{\"id\":\"x\"}", "queue 'x1': 'id' is not a field that can be set" },
                { KIND_QUEUE, "{\"state\":\"open\"}", "'state' is not a field that can be set" },
                { KIND_QUEUE, "{\"name\":\"y\"}", "queue 'x1': name cannot be changed" },
                { KIND_QUEUE, "{\"weight\":0}",
                  "queue 'x1': weight: '0' is not a whole number from 1 to 65535" },
                { KIND_QUEUE, "{\"weight\":65536}", "weight: '65536' is not" },
                { KIND_QUEUE, "{\"weight\":\"1\"}", "weight: '\"1\"' is not a whole number" },
                { KIND_QUEUE, "{\"weight\":1.5}", "weight: '1.5' is not a whole number" },
                { KIND_QUEUE, "{\"priority\":1001}",
                  "priority: '1001' is not a whole number from -1000 to 1000" },
                { KIND_QUEUE, "{\"max_open_per_user\":-1}", "max_open_per_user: '-1'" },
                { KIND_QUEUE, "{\"closed\":\"yes\"}", "queue 'x1': closed must be true or false" },
                { KIND_QUEUE, "{\"ordering\":\"lifo\"}",
                  "ordering: 'lifo' is not one of priority, fifo, fair" },
                { KIND_QUEUE, "{\"ordering\":7}", "ordering must be one of priority, fifo, fair" },
                { KIND_QUEUE, "{\"max\":{\"cpu\":\"-1\"}}",
                  "queue 'x1': max.cpu: '-1' is not a number of cores" },
                { KIND_QUEUE, "{\"max\":{\"memory\":\"9999999999Gi\"}}",
                  "max.memory: '9999999999Gi' is not" },
                { KIND_QUEUE, "{\"max\":[]}", "queue 'x1': max must be an object" },
                { KIND_QUEUE, "{\"max\":{\"none/such\":null}}", "'none/such' is not a kind of resource" },
                { KIND_QUEUE, "{\"max\":{\"foo\":1}}", "queue 'x1': max: there is no resource 'foo' here" },
                { KIND_QUEUE, "{\"min\":{\"scalarResources\":{\"cpus\":1}}}",
                  "min: there is no resource 'cpus' here" },
                { KIND_QUEUE, "{\"namespace\":\"Bad\"}", "namespace: 'Bad' is not a name" },
                { KIND_QUEUE, "{\"parent\":5}", "parent must be a string" },
                { KIND_QUEUE, "{\"location\":[]}", "location must be an object of strings" },
                { KIND_QUEUE, "{\"location\":{\"a=b\":\"\"}}", "location: 'a=b' is not a key" },
                { KIND_QUEUE, "{\"location\":{\"a\":1}}", "location.a must be a string" },
                { KIND_QUEUE, "{\"policies\":\"x\"}", "policies must be a list of strings" },
                { KIND_QUEUE, "{\"policies\":[1]}", "policies[0] must be a string" },
                { KIND_QUEUE, "{\"policies\":[\"\"]}", "policies[0] is empty" },
                { KIND_CLUSTER, "{\"type\":\"local\"}",
                  "type: 'local' is not one of Kubernetes, Local, K3S" },
                { KIND_CLUSTER, "{\"status\":\"up\"}", "status: 'up' is not one of online, offline" },
                { KIND_CLUSTER, "{\"namespaces\":[\"a\",\"B\"]}", "namespaces[1]: 'B' is not a name" },
                { KIND_CLUSTER, "{\"has_credential\":true}",
                  "'has_credential' is not a field that can be set" },
                { KIND_USER, "{\"password\":\"x\"}", "user 'x1': 'password' is not a field that can be set" },
                { KIND_FLAVOUR, "{\"creator\":\"ann\"}", "'creator' is not a field that can be set" },
                { KIND_POOL, "{\"status\":\"ajar\"}", "status: 'ajar' is not one of creating, open, closed" },
                { KIND_POOL, "{\"type\":\"123456789012345678901234567890123\"}",
                  "type is longer than 32 bytes" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Object) object = object_new(cases[i].kind, "x1");
                g_autoptr(json_t) members = parse(cases[i].patch);
                g_autoptr(GError) error = NULL;

                g_test_message("%s", cases[i].patch);
                g_assert_false(object_patch(object, members, &error));
                g_assert_true(err_is(error, ERR_INVALID));
                if (!strstr(error->message, cases[i].says))
                        g_assert_cmpstr(error->message, ==, cases[i].says);
        }
}

/* Some fields are fixed at creation. */
static void test_once(void)
{
        g_autoptr(Object) queue = object_new(KIND_QUEUE, "q");
        g_autoptr(json_t) other = parse("{\"cluster\":\"c2\"}"),
                          same = parse("{\"cluster\":\"c1\",\"weight\":2}");
        g_autoptr(GError) error = NULL;

        patch(queue, "{\"cluster\":\"c1\"}");
        queue->seq = 3;
        g_assert_false(object_patch(queue, other, &error));
        g_assert_nonnull(strstr(error->message, "queue 'q': cluster cannot be changed"));
        g_assert_true(object_patch(queue, same, NULL));
        g_assert_cmpint(((Queue *)queue)->weight, ==, 2);
}

static void test_unpack_refused(void)
{
        static const char *const bad[] = { "",
                                           "[]",
                                           "{}",
                                           "{\"id\":5}",
                                           "{\"id\":\"x\",\"revision\":-1}",
                                           "{\"id\":\"x\",\"weight\":0}",
                                           "{\"id\":\"x\",\"max\":{\"cpu\":\"x\"}}",
                                           "{\"id\":\"x\",\"closed\":1}" };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(GError) error = NULL;

                g_test_message("%s", bad[i]);
                g_assert_null(object_unpack(KIND_QUEUE, 1, "q", bad[i], &error));
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_true(g_str_has_prefix(error->message, "queue 'q' of the store: "));
        }
}

static void test_words(void)
{
        QuotaType quota;
        ClusterType cluster;
        GrantType grant;
        g_autofree char *key = grant_key("ann", GRANT_QUEUE, "q1");
        Queue open = { .closed = false }, closed = { .closed = true };

        g_assert_true(quota_type_parse("volcanoCapabilityQuota", &quota) && quota == QUOTA_CAPABILITY);
        g_assert_false(quota_type_parse("elastic", &quota));
        g_assert_true(cluster_type_parse("K3S", &cluster) && cluster == CLUSTER_K3S);
        g_assert_false(cluster_type_parse("k3s", &cluster));
        g_assert_true(grant_type_parse("fs", &grant) && grant == GRANT_FS);
        g_assert_cmpstr(key, ==, "ann/queue/q1");
        g_assert_cmpstr(queue_state_name(queue_state(&open, 5, true)), ==, "open");
        g_assert_cmpstr(queue_state_name(queue_state(&open, 0, false)), ==, "unavailable");
        g_assert_cmpstr(queue_state_name(queue_state(&closed, 5, true)), ==, "closing");
        g_assert_cmpstr(queue_state_name(queue_state(&closed, 0, true)), ==, "closed");
}

static void test_user_names(void)
{
        static const struct {
                const char *name;
                bool ok;
        } cases[] = {
                { "a", true },
                { "root", true },
                { "Ann.B_c-d9", true },
                { "", false },
                { "-a", false },
                { ".a", false },
                { "a b", false },
                { "a/b", false },
                { "\xc3\xa4", false },
                { "a\nb", false },
                { "_apt", true },
                { "123", true },
                { "123456789012345678901234567890123456789012345678901234567890", true },
                { "1234567890123456789012345678901234567890123456789012345678901", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(user_name_check("name", cases[i].name, NULL), ==, cases[i].ok);
}

static void test_flavours(void)
{
        g_autoptr(Object) object = object_new(KIND_FLAVOUR, "f");
        g_autoptr(GError) error = NULL;
        Resources asked;

        patch(object, "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"scalars\":{\"nvidia.com/gpu\":\"2\"}}");
        g_assert_true(flavour_resources((Flavour *)object, &asked, &error));
        g_assert_true(
                resources_equal(&asked, &(Resources){ .cpu_milli = 4000, .memory = 8ll << 30, .gpus = 2 }));
        patch(object, "{\"scalars\":{\"un/known\":\"2\"}}");
        g_assert_false(flavour_resources((Flavour *)object, &asked, &error));
        g_assert_true(
                g_str_has_prefix(error->message, "flavour 'f': 'un/known' is not a kind of resource here"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/object/defaults", test_defaults);
        g_test_add_func("/object/ids", test_ids);
        g_test_add_func("/object/round", test_round);
        g_test_add_func("/object/secrets", test_secrets);
        g_test_add_func("/object/setting", test_setting);
        g_test_add_func("/object/small", test_small);
        g_test_add_func("/object/merge", test_merge);
        g_test_add_func("/object/refused", test_refused);
        g_test_add_func("/object/once", test_once);
        g_test_add_func("/object/unpack-refused", test_unpack_refused);
        g_test_add_func("/object/words", test_words);
        g_test_add_func("/object/user-names", test_user_names);
        g_test_add_func("/object/flavours", test_flavours);
        return g_test_run();
}
