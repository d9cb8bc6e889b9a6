/* Changed parameters (see edit.h). */
#include "pipeline/edit.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/template.h"

static const char *const type_names[] = {
        [TYPE_NONE] = "a number, text or list",
        [TYPE_STRING] = "a text",
        [TYPE_INT] = "a whole number",
        [TYPE_FLOAT] = "a number",
        [TYPE_PATH] = "a path",
        [TYPE_LIST] = "a list",
        [TYPE_UNKNOWN] = "a number, text or list",
};

static bool is_in_loop(const Definition *definition, const RenderDag *dag)
{
        return definition->components[component_target(definition, dag->component)].loops;
}

char *edit_path(const Definition *definition, const RenderDag *dag, guint32 component)
{
        GString *path = g_string_new(component_name(definition, component));

        for (; dag && dag->parent; dag = dag->parent) {
                g_autofree char *number =
                        is_in_loop(definition, dag) ? g_strdup_printf("-%u", dag->seq) : g_strdup("");

                g_string_prepend_c(path, '.');
                g_string_prepend(path, number);
                g_string_prepend(path, component_name(definition, dag->component));
        }
        return g_string_free(path, FALSE);
}

/* ---- values ---- */

/* The text of its name; 0: there is no such parameter. */
static guint32 find_name(const Definition *definition, guint32 component, const char *name)
{
        guint32 target = component_target(definition, component);

        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++) {
                const Value *variable = &definition->variables[k];

                if (variable->role == ROLE_PARAMETER &&
                    strcmp(definition_text(definition, variable->name), name) == 0)
                        return variable->name;
        }
        return 0;
}

/* That of the nearest reference that declares one. */
static ValueType declared_type(const Definition *definition, guint32 component, guint32 name)
{
        ValueType type = TYPE_NONE;

        for (guint32 at = component; at && type == TYPE_NONE;
             at = component_extra(definition, at)->reference) {
                guint32 found = component_find(definition, at, ROLE_PARAMETER, name);

                if (found != (guint32)DEFINITION_NONE)
                        type = (ValueType)definition->variables[found].type;
        }
        return type;
}

static bool is_plain(const json_t *value)
{
        Template found;
        const json_t *item;
        size_t i;

        if (json_is_string(value))
                return !template_find(json_string_value(value), &found);
        json_array_foreach((json_t *)value, i, item)
                if (!is_plain(item))
                        return false;
        return json_is_number(value) || json_is_array(value);
}

/* A text as the number or list that the type asks for; others stay texts. */
static json_t *coerce(const char *text, ValueType type)
{
        gint64 whole;
        char *end = NULL;
        double real;

        if (type == TYPE_INT && g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &whole, NULL))
                return json_integer(whole);
        if (type == TYPE_FLOAT) {
                real = g_ascii_strtod(text, &end);
                if (end > text && !*end && !text[strspn(text, "0123456789+-.eE")])
                        return json_real(real);
        }
        if (type == TYPE_LIST) {
                json_t *list = json_parse(text, strlen(text), NULL);

                if (json_is_array(list))
                        return list;
                json_decref(list);
        }
        return json_string(text);
}

static bool has_type(const json_t *value, ValueType type)
{
        switch (type) {
        case TYPE_INT: return json_is_integer(value);
        case TYPE_FLOAT: return json_is_number(value);
        case TYPE_STRING:
        case TYPE_PATH: return json_is_string(value);
        case TYPE_LIST: return json_is_array(value);
        default: return true;
        }
}

json_t *edit_value(const Definition *definition, guint32 component, const char *name, const json_t *given,
                   GError **error)
{
        guint32 text = find_name(definition, component, name);
        ValueType type = text ? declared_type(definition, component, text) : TYPE_NONE;
        json_t *value;

        if (!text) {
                err_set(error, ERR_INVALID, "'%s' has no parameter '%.80s'",
                        component_name(definition, component), name);
                return NULL;
        }
        if (type != TYPE_NONE && json_is_string(given) && !*json_string_value(given))
                return json_null();
        value = json_is_string(given) ? coerce(json_string_value(given), type) : json_incref((json_t *)given);
        if (is_plain(value) && has_type(value, type))
                return value;
        json_decref(value);
        err_set(error, ERR_INVALID, "the parameter '%.80s' of '%s' must be %s, without templates", name,
                component_name(definition, component), type_names[type]);
        return NULL;
}
