/* JSON trees (see tree.h). */
#include "operator/test/tree.h"

#include <string.h>

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

char *tree_show(const json_t *value)
{
        return !value                  ? g_strdup("-")
               : json_is_string(value) ? g_strdup(json_string_value(value))
                                       : json_format(value);
}

static bool same_json(const char *a, const char *b)
{
        g_autoptr(json_t) x = json_loads(a, JSON_DECODE_ANY, NULL), y = json_loads(b, JSON_DECODE_ANY, NULL);

        return x && y && json_equal(x, y);
}

char *tree_expected_path(const char *text)
{
        const char *equals = strchr(text, '=');

        if (!equals)
                g_error("neither command nor expectation: %s", text);
        return g_strndup(text, (gsize)(equals - text));
}

bool tree_expect(const char *text, const char *value)
{
        const char *wanted = strchr(text, '=') + 1;
        bool ret = *wanted == '~' ? strstr(value, wanted + 1) != NULL
                                  : strcmp(value, wanted) == 0 || same_json(value, wanted);

        if (!ret)
                g_test_message("expected %s, found %s", text, value);
        return ret;
}
