/* Decoding as Go does it; see go.h. */
#include "api/paddleflow/go.h"

#include <string.h>

#include "base/err.h"

static const char *const type_names[GO_TYPES] = {
        [GO_STRING] = "a string",        [GO_INT] = "a whole number", [GO_BOOL] = "true or false",
        [GO_NUMBER] = "a number",        [GO_OBJECT] = "an object",   [GO_MAP] = "an object of strings",
        [GO_LIST] = "a list of strings", [GO_STRUCT] = "an object",   [GO_STRUCTS] = "a list of objects",
        [GO_ANY] = "anything",
};

json_t *go_parse(const char *text, gsize len, GError **error)
{
        return json_parse_loose(text, len, error);
}

const json_t *go_member(const json_t *object, const char *name)
{
        const json_t *found = json_object_get(object, name);
        const char *key;
        json_t *value;

        if (found)
                return json_is_null(found) ? NULL : found;
        json_object_foreach((json_t *)object, key, value) {
                if (g_ascii_strcasecmp(key, name) == 0 && !json_is_null(value))
                        found = value;
        }
        return found;
}

const char *go_text(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

/* ---- one member ---- */

static bool refuse(const char *where, GoType type, GError **error)
{
        return err_set(error, ERR_INVALID, "%s must be %s", where, type_names[type]);
}

static bool take_struct(const json_t *value, const GoField *fields, const char *where, json_t **ret,
                        GError **error);

static json_t *text_or_empty(const json_t *item)
{
        return json_is_null(item) ? json_string("") : json_incref((json_t *)item);
}

static bool take_map(const json_t *value, const char *where, json_t **ret, GError **error)
{
        g_autoptr(json_t) map = json_object();
        const char *key;
        json_t *item;

        if (!json_is_object(value))
                return refuse(where, GO_MAP, error);
        json_object_foreach((json_t *)value, key, item) {
                if (!json_is_string(item) && !json_is_null(item))
                        return err_set(error, ERR_INVALID, "%s.%.80s must be a string", where, key);
                json_object_set_new(map, key, text_or_empty(item));
        }
        *ret = g_steal_pointer(&map);
        return true;
}

static bool take_list(const json_t *value, const char *where, json_t **ret, GError **error)
{
        g_autoptr(json_t) list = json_array();
        const json_t *item;
        size_t i;

        if (!json_is_array(value))
                return refuse(where, GO_LIST, error);
        json_array_foreach(value, i, item) {
                if (!json_is_string(item) && !json_is_null(item))
                        return err_set(error, ERR_INVALID, "%s[%zu] must be a string", where, i);
                json_array_append_new(list, text_or_empty(item));
        }
        *ret = g_steal_pointer(&list);
        return true;
}

static bool take_structs(const json_t *value, const GoField *fields, const char *where, json_t **ret,
                         GError **error)
{
        g_autoptr(json_t) list = json_array();
        const json_t *item;
        size_t i;

        if (!json_is_array(value))
                return refuse(where, GO_STRUCTS, error);
        json_array_foreach(value, i, item) {
                g_autofree char *place = g_strdup_printf("%s[%zu]", where, i);
                json_t *object = NULL;

                if (!take_struct(item, fields, place, &object, error))
                        return false;
                json_array_append_new(list, object);
        }
        *ret = g_steal_pointer(&list);
        return true;
}

static bool is_plain(const json_t *value, GoType type)
{
        switch (type) {
        case GO_STRING: return json_is_string(value);
        case GO_INT: return json_is_integer(value);
        case GO_BOOL: return json_is_boolean(value);
        case GO_NUMBER: return json_is_number(value);
        case GO_OBJECT: return json_is_object(value);
        default: return true;
        }
}

static bool take_value(const json_t *value, const GoField *field, const char *where, json_t **ret,
                       GError **error)
{
        switch (field->type) {
        case GO_MAP: return take_map(value, where, ret, error);
        case GO_LIST: return take_list(value, where, ret, error);
        case GO_STRUCT: return take_struct(value, field->fields, where, ret, error);
        case GO_STRUCTS: return take_structs(value, field->fields, where, ret, error);
        default: break;
        }
        if (!is_plain(value, field->type))
                return refuse(where, field->type, error);
        *ret = json_incref((json_t *)value);
        return true;
}

static bool take_struct(const json_t *value, const GoField *fields, const char *where, json_t **ret,
                        GError **error)
{
        g_autoptr(json_t) object = json_object();

        if (value && !json_is_object(value) && !json_is_null(value))
                return refuse(where, GO_STRUCT, error);
        for (const GoField *field = fields; field->name; field++) {
                const json_t *member = go_member(value, field->name);
                g_autofree char *place = g_strconcat(where, *where ? "." : "", field->name, NULL);
                json_t *taken = NULL;

                if (!member)
                        continue;
                if (!take_value(member, field, place, &taken, error))
                        return false;
                json_object_set_new(object, field->name, taken);
        }
        *ret = g_steal_pointer(&object);
        return true;
}

void go_trim(json_t *object, const char *name)
{
        const char *key;
        json_t *value;

        json_object_foreach(object, key, value) {
                g_autofree char *text = json_is_string(value) ? g_strdup(json_string_value(value)) : NULL;

                if (text && strcmp(key, name) != 0)
                        json_string_set(value, g_strstrip(text));
        }
}

json_t *go_decode(const json_t *object, const GoField *fields, GError **error)
{
        json_t *decoded = NULL;

        if (!json_is_object(object) && !json_is_null(object)) { /* null says nothing */
                err_set(error, ERR_INVALID, "the body is not a JSON object");
                return NULL;
        }
        (void)take_struct(object, fields, "", &decoded, error);
        return decoded;
}
