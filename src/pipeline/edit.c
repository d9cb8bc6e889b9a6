/* Changed parameters (see edit.h). */
#include "pipeline/edit.h"

#include <string.h>

#include "base/err.h"
#include "base/word.h"
#include "pipeline/declared-type.h"

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

/* "must be a whole number"; NULL: the value is right. */
static const char *fault_of(ValueType type, const json_t *value)
{
        if (type_json_kind(value) == VALUE_NONE)
                return "must be a number, text or list";
        if (!type_is_plain(value))
                return "must be given without templates";
        return type_json_fault(type, value);
}

static bool no_parameter(const Definition *definition, guint32 component, const char *name, GError **error)
{
        guint32 target = component_target(definition, component);
        g_autofree char *shown = err_shown(name), *hint = NULL;
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *near;

        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++)
                if (definition->variables[k].role == ROLE_PARAMETER)
                        g_ptr_array_add(names,
                                        (gpointer)definition_text(definition, definition->variables[k].name));
        g_ptr_array_add(names, NULL);
        near = word_nearest(name, (const char *const *)names->pdata);
        hint = near              ? g_strdup_printf("Did you mean '%s'?", near)
               : names->pdata[0] ? g_strjoinv(", ", (char **)names->pdata)
                                 : NULL;
        return err_set(error, ERR_INVALID, "'%s' has no parameter '%.80s'\n%s%.500s",
                       component_name(definition, component), shown,
                       near   ? ""
                       : hint ? "Its parameters: "
                              : "It has no parameters.",
                       hint ? hint : "");
}

json_t *edit_value(const Definition *definition, guint32 component, const char *name, const json_t *given,
                   GError **error)
{
        guint32 text = find_name(definition, component, name);
        ValueType type = text ? declared_type(definition, component, text) : TYPE_NONE;
        g_autoptr(json_t) value = NULL;
        g_autofree char *given_text = NULL, *shown = NULL;
        const char *fault;

        if (!text) {
                no_parameter(definition, component, name, error);
                return NULL;
        }
        if (type != TYPE_NONE && json_is_string(given) && !*json_string_value(given))
                return json_null();
        value = type_convert(type, given);
        fault = fault_of(type, value);
        if (!fault)
                return g_steal_pointer(&value);
        given_text = json_is_string(given) ? g_strdup(json_string_value(given))
                                           : json_dumps(given, JSON_ENCODE_ANY);
        shown = err_shown(given_text);
        err_set(error, ERR_INVALID, "the parameter '%.80s' of '%s' %s, not '%.40s'", name,
                component_name(definition, component), fault, shown);
        return NULL;
}
