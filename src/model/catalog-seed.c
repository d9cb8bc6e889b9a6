/* The objects of a new server (doc/reference/paddleflow-api.md, "What a new server begins with"). */
#include "base/json.h"
#include "model/catalog.h"

static const struct {
        ObjectKind kind;
        const char *name, *fields; /* in the JSON of /v1 */
} seeds[] = {
        { KIND_USER, "root", "{\"admin\":true}" },
        { KIND_CLUSTER, CLUSTER_DEFAULT, "{\"endpoint\":\"127.0.0.1\",\"version\":\"1.16+\"}" },
        { KIND_QUEUE, QUEUE_DEFAULT, "{\"namespace\":\"default\",\"everyone\":true}" },
        { KIND_QUEUE, QUEUE_SEEDED,
          "{\"namespace\":\"default\",\"quota_type\":\"volcanoCapabilityQuota\",\"only_listed\":true,"
          "\"max\":{\"cpu\":\"20\",\"memory\":\"20Gi\"}}" },
        { KIND_FLAVOUR, "flavour1", "{\"cpu\":\"1\",\"memory\":\"1Gi\"}" },
        { KIND_FLAVOUR, "flavour2",
          "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"scalars\":{\"nvidia.com/gpu\":\"1\"}}" },
        { KIND_FLAVOUR, "flavour3",
          "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"scalars\":{\"nvidia.com/gpu\":\"2\"}}" },
};

static Object *seed(size_t i, gint64 now)
{
        Object *object = object_new(seeds[i].kind, seeds[i].name);
        g_autoptr(json_t) fields = json_loads(seeds[i].fields, 0, NULL);
        g_autoptr(GError) error = NULL;

        if (!object_patch(object, fields, &error))
                g_error("the seed: %s", error->message);
        g_free(object->id);
        object->id = g_uuid_string_random();
        object->created = object->updated = now;
        return object;
}

GPtrArray *catalog_seed(ClusterType type, gint64 now)
{
        GPtrArray *objects = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

        for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
                Object *object = seed(i, now);

                if (object->kind == KIND_USER)
                        ((User *)object)->password = g_strdup(USER_PASSWORD_SEEDED);
                if (object->kind == KIND_CLUSTER)
                        ((Cluster *)object)->type = type;
                g_ptr_array_add(objects, object);
        }
        return objects;
}
