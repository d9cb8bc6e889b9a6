/* Declared types (see declared-type.h). */
#include "pipeline/declared-type.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "pipeline/template.h"
#include "pipeline/value.h"

#define PATH_BYTES "-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_"

static bool is_path(const char *text)
{
        return *text && text[strspn(text, PATH_BYTES)] == '\0';
}

const char *type_fault(ValueType type, ValueKind kind, const char *text)
{
        switch (type) {
        case TYPE_NONE: return NULL;
        case TYPE_STRING: return kind == VALUE_TEXT ? NULL : "must be text";
        case TYPE_INT: return kind == VALUE_INT ? NULL : "must be a whole number";
        case TYPE_FLOAT: return kind == VALUE_INT || kind == VALUE_FLOAT ? NULL : "must be a number";
        case TYPE_PATH:
                return kind == VALUE_TEXT && is_path(text)
                               ? NULL
                               : "must be a path of letters, digits, '.', '/', '_' and '-'";
        case TYPE_LIST: return kind == VALUE_LIST ? NULL : "must be a list";
        case TYPE_UNKNOWN: break;
        }
        return "the type must be string, int, float, path or list";
}

ValueKind type_json_kind(const json_t *value)
{
        gint64 whole;

        switch (value ? json_typeof(value) : JSON_NULL) {
        case JSON_INTEGER: return VALUE_INT;
        case JSON_REAL: return value_whole(json_real_value(value), &whole) ? VALUE_INT : VALUE_FLOAT;
        case JSON_STRING: return VALUE_TEXT;
        case JSON_ARRAY: return VALUE_LIST;
        default: return VALUE_NONE;
        }
}

const char *type_json_fault(ValueType type, const json_t *value)
{
        return type_fault(type, type_json_kind(value), json_string_value(value));
}

bool type_is_plain(const json_t *value)
{
        Template found;
        const json_t *item;
        size_t i;

        if (json_is_string(value))
                return !template_find(json_string_value(value), &found);
        json_array_foreach((json_t *)value, i, item)
                if (!type_is_plain(item))
                        return false;
        return type_json_kind(value) != VALUE_NONE;
}

/* ---- texts as values ---- */

static json_t *read_int(const char *text)
{
        gint64 whole;

        return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &whole, NULL) ? json_integer(whole)
                                                                                        : NULL;
}

static json_t *read_float(const char *text)
{
        char *end = NULL;
        double real = g_ascii_strtod(text, &end);

        if (end == text || *end || text[strspn(text, "0123456789+-.eE")] || !isfinite(real))
                return NULL;
        return json_real(real);
}

static json_t *read_list(const char *text)
{
        g_autoptr(json_t) list = json_parse(text, strlen(text), NULL);

        return json_is_array(list) && type_is_plain(list) ? g_steal_pointer(&list) : NULL;
}

json_t *type_convert(ValueType type, const json_t *given)
{
        const char *text = json_string_value(given);
        json_t *value = NULL;
        gint64 whole;

        if (json_is_real(given) && value_whole(json_real_value(given), &whole))
                return json_integer(whole);
        if (text && type == TYPE_INT)
                value = read_int(text);
        else if (text && type == TYPE_FLOAT)
                value = read_float(text);
        else if (text && type == TYPE_LIST)
                value = read_list(text);
        return value ? value : json_incref((json_t *)given);
}
