/* The parameters of a request (PE-32). See doc/reference/pipelines.md, "Requests": a plain key replaces the
 * parameter wherever it is, a key with dots in one component; the latter counts more. */
#include <string.h>

#include "base/err.h"
#include "pipeline/draft.h"
#include "pipeline/value.h"

static void refuse(Draft *draft, ProblemClass class, const char *key, const char *format, ...)
        G_GNUC_PRINTF(4, 5);

static void refuse(Draft *draft, ProblemClass class, const char *key, const char *format, ...)
{
        g_autofree char *text = NULL, *shown = err_shown(key),
                        *suffix = g_strdup_printf("parameters.%.128s", shown);
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        draft_refuse(draft, class, 0, (guint32)DEFINITION_NONE, suffix, "%s", text);
}

/* ---- values ---- */

/* As the document would be read: through its text, so that the rules of values are in one place. */
static bool fill_list(Draft *draft, const json_t *list, Value *ret)
{
        g_autofree char *text = json_format(list);

        return compile_json_list(draft, text, ret);
}

static void fill_text(Draft *draft, const char *text, Value *ret)
{
        ret->kind = VALUE_TEXT;
        ret->text = draft_text(draft, text);
}

/* A JSON value without regard to a type. False for true, false, null and maps. */
static bool fill_plain(Draft *draft, const json_t *json, Value *ret)
{
        if (json_is_integer(json)) {
                ret->kind = VALUE_INT;
                ret->whole = json_integer_value(json);
        } else if (json_is_real(json)) {
                ret->kind = value_whole(json_real_value(json), &ret->whole) ? VALUE_INT : VALUE_FLOAT;
                if (ret->kind == VALUE_FLOAT)
                        ret->real = json_real_value(json);
        } else if (json_is_string(json)) {
                fill_text(draft, json_string_value(json), ret);
        } else {
                return json_is_array(json) && fill_list(draft, json, ret);
        }
        return true;
}

/* A text as the number or list that the type asks for, if it is one. Others stay texts, which the type
 * refuses later. */
static void coerce(Draft *draft, ValueType type, Value *value)
{
        g_autofree char *text = g_strdup(draft->texts->str + value->text.text);
        Value list = *value;
        char *end = NULL;
        double real;

        if (type == TYPE_INT &&
            g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &list.whole, NULL)) {
                list.kind = VALUE_INT;
        } else if (type == TYPE_FLOAT) {
                real = g_ascii_strtod(text, &end);
                if (end == text || *end || text[strspn(text, "0123456789+-.eE")])
                        return;
                list.kind = VALUE_FLOAT;
                list.real = real;
        } else if (type != TYPE_LIST || !compile_json_list(draft, text, &list)) {
                return;
        }
        *value = list;
}

/* The type that counts for a parameter: its own, or that of the component that a reference step names. */
static ValueType type_of(const Draft *draft, guint32 component, const Value *parameter)
{
        guint32 reference = component_extra(&draft->definition, component)->reference, known;

        if (parameter->type != TYPE_NONE || !reference)
                return parameter->type;
        known = component_find(&draft->definition, reference, ROLE_PARAMETER, parameter->name);
        return known == (guint32)DEFINITION_NONE ? TYPE_NONE : draft_variable(draft, known)->type;
}

static void set_parameter(Draft *draft, guint32 component, guint32 variable, const char *key,
                          const json_t *json)
{
        Value value = *draft_variable(draft, variable);
        ValueType type = type_of(draft, component, &value);

        if (type != TYPE_NONE && json_is_string(json) && !*json_string_value(json))
                return; /* the default */
        if (!fill_plain(draft, json, &value)) {
                refuse(draft, json_is_array(json) ? PE_17 : PE_15, key,
                       json_is_array(json)
                               ? "an item of a list must be a number, text without templates or a list"
                               : "must be a number, text or list");
                return;
        }
        if (value.kind == VALUE_TEXT && !value.text.pieces)
                coerce(draft, type, &value);
        value.requested = true;
        *draft_variable(draft, variable) = value;
        draft_look(draft);
}

/* ---- plain keys ---- */

static void apply_plain(Draft *draft, const char *key, const json_t *value)
{
        guint32 name = draft_interned(draft, key);
        bool found = false;

        for (guint32 i = DEFINITION_FIRST; name && i < draft->definition.n_components; i++) {
                guint32 at = draft_is_library(draft, i)
                                     ? (guint32)DEFINITION_NONE
                                     : component_find(&draft->definition, i, ROLE_PARAMETER, name);

                if (at == (guint32)DEFINITION_NONE)
                        continue;
                found = true;
                set_parameter(draft, i, at, key, value);
        }
        if (!found)
                refuse(draft, PE_32, key, "no component has a parameter of this name");
}

/* ---- keys with dots ---- */

/* The component under `root` with this path, or DEFINITION_NONE. */
static guint32 component_at(const Draft *draft, guint32 root, char **names, guint n)
{
        guint32 at = root;

        for (guint i = 0; i < n && at != (guint32)DEFINITION_NONE; i++)
                at = draft_child(draft, at, draft_interned(draft, names[i]));
        return at;
}

static void apply_dotted(Draft *draft, const char *key, const json_t *value)
{
        g_auto(GStrv) names = g_strsplit(key, ".", -1);
        guint n = g_strv_length(names);
        guint32 name = draft_interned(draft, names[n - 1]), at = (guint32)DEFINITION_NONE;
        guint32 component = component_at(draft, DEFINITION_ROOT, names, n - 1);

        if (component == (guint32)DEFINITION_NONE)
                component = component_at(draft, DEFINITION_POST, names, n - 1);
        if (component != (guint32)DEFINITION_NONE && name)
                at = component_find(&draft->definition, component, ROLE_PARAMETER, name);
        if (at == (guint32)DEFINITION_NONE)
                refuse(draft, PE_32, key, "there is no component and parameter with this path");
        else
                set_parameter(draft, component, at, key, value);
}

void apply_request(Draft *draft)
{
        const json_t *parameters = draft->request->parameters;
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)parameters, key, value)
                if (!strchr(key, '.'))
                        apply_plain(draft, key, value);
        json_object_foreach((json_t *)parameters, key, value)
                if (strchr(key, '.'))
                        apply_dotted(draft, key, value);
}
