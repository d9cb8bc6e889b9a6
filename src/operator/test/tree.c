/* JSON trees (see tree.h). */
#include "operator/test/tree.h"

json_t *tree_parse(const char *text)
{
        json_error_t at;
        json_t *value = json_loads(text, JSON_DECODE_ANY, &at);

        if (!value)
                g_error("%s: %s", text, at.text);
        return value;
}

void tree_merge(json_t *target, const json_t *patch)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)patch, name, value) {
                json_t *was = json_object_get(target, name);

                if (json_is_null(value)) {
                        json_object_del(target, name);
                } else if (json_is_object(value)) {
                        if (!json_is_object(was))
                                json_object_set_new(target, name, json_object());
                        tree_merge(json_object_get(target, name), value);
                } else {
                        json_object_set_new(target, name, json_deep_copy(value));
                }
        }
}

void tree_stamp(json_t *object, bool steady, guint *counter)
{
        g_autofree char *version = g_strdup_printf("%u", steady ? 1 : ++*counter);

        json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(version));
}

void tree_give_uid(json_t *object, const char *name, bool steady, guint *counter)
{
        g_autofree char *uid = g_strdup_printf("uid-%s-%u", name, steady ? 1 : ++*counter);

        json_object_set_new(json_object_get(object, "metadata"), "uid", json_string(uid));
        tree_stamp(object, steady, counter);
}
