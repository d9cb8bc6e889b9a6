/* Common parts of objects (see share.h). */
#include "kube/share.h"

static json_t *share_members(json_t *object, json_t *like)
{
        json_t *copy = json_object(), *value;
        const char *name;

        json_object_foreach(object, name, value) {
                json_object_set_new_nocheck(copy, name, kube_share(value, json_object_get(like, name)));
        }
        return copy;
}

static json_t *share_items(json_t *array, json_t *like)
{
        json_t *copy = json_array(), *value;
        size_t i;

        json_array_foreach(array, i, value) {
                json_array_append_new(copy, kube_share(value, json_array_get(like, i)));
        }
        return copy;
}

json_t *kube_share(json_t *value, json_t *like)
{
        if (like && json_equal(value, like))
                return json_incref(like);
        if (json_is_object(value))
                return share_members(value, like);
        if (json_is_array(value))
                return share_items(value, like);
        return json_incref(value);
}
