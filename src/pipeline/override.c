/* The parameters of a request (PE-32). See doc/reference/pipelines.md, "Requests": a plain key replaces the
 * parameter wherever it is, a key with dots in one component; the latter counts more. */
#include <string.h>

#include "base/err.h"
#include "pipeline/declared-type.h"
#include "pipeline/draft.h"

static void refuse(Draft *draft, ProblemClass class, const char *key, const char *format, ...)
        G_GNUC_PRINTF(4, 5);

static void refuse(Draft *draft, ProblemClass class, const char *key, const char *format, ...)
{
        g_autofree char *text = NULL, *path = draft_request_parameter(draft, key);
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        draft_refuse(draft, class, 0, (guint32)DEFINITION_NONE, path, "%s", text);
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
                ret->kind = VALUE_FLOAT; /* a whole one was converted */
                ret->real = json_real_value(json);
        } else if (json_is_string(json)) {
                fill_text(draft, json_string_value(json), ret);
        } else {
                return json_is_array(json) && fill_list(draft, json, ret);
        }
        return true;
}

ValueType draft_declared_type(const Draft *draft, guint32 component, const Value *parameter)
{
        ValueType type = (ValueType)parameter->type;
        guint32 reference = component, name = parameter->name;

        for (int i = 0; type == TYPE_NONE && i < DEFINITION_REFERENCES_MAX; i++) {
                guint32 known;

                reference = component_extra(&draft->definition, reference)->reference;
                if (!reference)
                        break;
                known = component_find(&draft->definition, reference, ROLE_PARAMETER, name);
                type = known == (guint32)DEFINITION_NONE ? TYPE_NONE
                                                         : (ValueType)draft_variable(draft, known)->type;
        }
        return type;
}

/* The value of a key, for each type that parameters of its name have: one value is shared by all of them. */
typedef struct {
        const char *key;
        const json_t *json;
        bool refused;
        bool known[TYPE_UNKNOWN + 1];
        Value values[TYPE_UNKNOWN + 1];
} Wanted;

static const Value *value_for(Draft *draft, Wanted *wanted, ValueType type)
{
        Value *value = &wanted->values[type];
        g_autoptr(json_t) json = NULL;

        if (wanted->known[type] || wanted->refused)
                return wanted->refused ? NULL : value;
        json = type_convert(type, wanted->json); /* reads all of a long text */
        if (!fill_plain(draft, json, value)) {
                bool list = json_is_array(wanted->json);

                wanted->refused = true;
                refuse(draft, list ? PE_17 : PE_15, wanted->key,
                       list ? "an item of a list must be a number, text without templates or a list"
                            : "must be a number, text or list");
                return NULL;
        }
        wanted->known[type] = true;
        draft_look(draft);
        return value;
}

static void set_parameter(Draft *draft, guint32 component, guint32 variable, Wanted *wanted)
{
        Value new = *draft_variable(draft, variable);
        ValueType type = draft_declared_type(draft, component, &new);
        const Value *value;

        if (type != TYPE_NONE && json_is_string(wanted->json) && !*json_string_value(wanted->json))
                return; /* the default */
        value = value_for(draft, wanted, type);
        if (!value)
                return;
        new = *value;
        new.role = ROLE_PARAMETER;
        new.type = draft_variable(draft, variable)->type;
        new.name = draft_variable(draft, variable)->name;
        new.requested = true;
        *draft_variable(draft, variable) = new;
}

/* ---- plain keys ---- */

/* A parameter outside of the library. */
typedef struct {
        guint32 name, component, variable;
} Parameter;

static int by_name(const void *a, const void *b)
{
        const Parameter *one = a, *two = b;

        if (one->name != two->name)
                return one->name < two->name ? -1 : 1;
        return one->variable < two->variable ? -1 : one->variable > two->variable;
}

static GArray *find_parameters(const Draft *draft)
{
        GArray *parameters = g_array_new(FALSE, FALSE, sizeof(Parameter));

        for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++)
                for (guint32 k = draft_component(draft, i)->variables;
                     k < draft_component(draft, i + 1)->variables && !draft_is_library(draft, i); k++) {
                        Parameter parameter = { draft_variable(draft, k)->name, i, k };

                        if (draft_variable(draft, k)->role == ROLE_PARAMETER)
                                g_array_append_val(parameters, parameter);
                }
        g_array_sort(parameters, by_name);
        return parameters;
}

/* The first parameter with this name or a later one. */
static guint first_of(const GArray *parameters, guint32 name)
{
        guint from = 0, end = parameters->len;

        while (from < end) {
                guint middle = from + (end - from) / 2;

                if (g_array_index(parameters, Parameter, middle).name < name)
                        from = middle + 1;
                else
                        end = middle;
        }
        return from;
}

enum { NEAREST_OF = 2000 }; /* names that are compared with a wrong one */

static const char *nearest_parameter(Draft *draft, const GArray *parameters, const char *key)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint i = 0; i < parameters->len && names->len < NEAREST_OF && draft_gives_hints(draft); i++) {
                guint32 name = g_array_index(parameters, Parameter, i).name;

                if (i == 0 || name != g_array_index(parameters, Parameter, i - 1).name)
                        g_ptr_array_add(names, draft->texts->str + name);
        }
        g_ptr_array_add(names, NULL);
        return draft_nearest_of(draft, key, (const char *const *)names->pdata, names->len);
}

enum { NAMED_MAX = 5 }; /* parameters that a hint names */

/* "\nThere are: prepare.n, fit.epochs."; the caller's. */
static char *those_there_are(const Draft *draft, const GArray *parameters)
{
        g_autoptr(GString) text = g_string_new(NULL);
        static const char root[] = "entry_points.";

        for (guint i = 0; i < MIN(parameters->len, NAMED_MAX); i++) {
                const Parameter *at = &g_array_index(parameters, Parameter, i);
                g_autofree char *path = component_path(&draft->definition, at->component);

                g_string_append_printf(text, "%s%s.%s", i ? ", " : "",
                                       g_str_has_prefix(path, root) ? path + strlen(root) : path,
                                       draft->texts->str + at->name);
        }
        if (parameters->len == 0)
                return g_strdup("\nThe pipeline has no parameters.");
        return g_strdup_printf("\nThere are: %s%s.", text->str, parameters->len > NAMED_MAX ? ", ..." : "");
}

static char *hint_for(Draft *draft, const GArray *parameters, const char *key)
{
        const char *near = nearest_parameter(draft, parameters, key);

        if (near)
                return draft_nearest(near);
        return draft_gives_hints(draft) ? those_there_are(draft, parameters) : g_strdup("");
}

static void apply_plain(Draft *draft, const GArray *parameters, const char *key, const json_t *json)
{
        guint32 name = draft_interned(draft, key);
        guint from = first_of(parameters, name), i;
        Wanted wanted = { .key = key, .json = json };
        g_autofree char *hint = NULL;

        for (i = from; name && i < parameters->len && g_array_index(parameters, Parameter, i).name == name;
             i++)
                set_parameter(draft, g_array_index(parameters, Parameter, i).component,
                              g_array_index(parameters, Parameter, i).variable, &wanted);
        if (i > from)
                return;
        hint = hint_for(draft, parameters, key);
        refuse(draft, PE_32, key, "no component has a parameter of this name%s", hint);
}

/* ---- keys with dots ---- */

/* The component under `root` with this path, or the last that there is: *ret_found names were found. */
static guint32 component_at(const Draft *draft, guint32 root, char **names, guint n, guint *ret_found)
{
        guint32 at = root;

        for (*ret_found = 0; *ret_found < n; (*ret_found)++) {
                guint32 child = draft_child(draft, at, draft_interned(draft, names[*ret_found]));

                if (child == (guint32)DEFINITION_NONE)
                        break;
                at = child;
        }
        return at;
}

static void refuse_component(Draft *draft, const char *key, guint32 dag, const char *name)
{
        g_autofree char *hint = draft_nearest(draft_nearest_child(draft, dag, name)),
                        *shown = err_shown(name);

        refuse(draft, PE_32, key, "there is no component '%.64s' %s%s%s", shown,
               dag < DEFINITION_FIRST ? "in the pipeline" : "in ",
               dag < DEFINITION_FIRST ? "" : component_name(&draft->definition, dag), hint);
}

/* A reference step takes only the parameters that it lists. */
static void refuse_parameter(Draft *draft, const char *key, guint32 component, const char *name)
{
        const Definition *definition = &draft->definition;
        guint32 target = component_target(definition, component), interned = draft_interned(draft, name);
        bool of_target =
                target != component && interned &&
                component_find(definition, target, ROLE_PARAMETER, interned) != (guint32)DEFINITION_NONE;
        g_autofree char *shown = err_shown(name);
        g_autofree char *hint =
                of_target
                        ? g_strdup_printf(
                                  "\nIt refers to '%s', which has one: add the parameter to '%s' to set it.",
                                  component_name(definition, target), component_name(definition, component))
                        : draft_nearest(draft_nearest_variable(draft, component, 1U << ROLE_PARAMETER, name));

        refuse(draft, PE_32, key, "the component '%s' has no parameter '%.64s'%s",
               component_name(definition, component), shown, hint);
}

static void apply_dotted(Draft *draft, const char *key, const json_t *json)
{
        g_auto(GStrv) names = g_strsplit(key, ".", -1);
        guint n = g_strv_length(names) - 1, found, found_post;
        guint32 name = draft_interned(draft, names[n]), at = (guint32)DEFINITION_NONE;
        guint32 component = component_at(draft, DEFINITION_ROOT, names, n, &found);
        guint32 post = component_at(draft, DEFINITION_POST, names, n, &found_post);
        Wanted wanted = { .key = key, .json = json };

        if (found_post > found) {
                component = post;
                found = found_post;
        }
        if (found == n && name)
                at = component_find(&draft->definition, component, ROLE_PARAMETER, name);
        if (found < n)
                refuse_component(draft, key, component, names[found]);
        else if (at == (guint32)DEFINITION_NONE)
                refuse_parameter(draft, key, component, names[n]);
        else
                set_parameter(draft, component, at, &wanted);
}

void apply_request(Draft *draft)
{
        const json_t *parameters = draft->request->parameters;
        g_autoptr(GArray) known = json_object_size(parameters) ? find_parameters(draft) : NULL;
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)parameters, key, value)
                if (!strchr(key, '.'))
                        apply_plain(draft, known, key, value);
        json_object_foreach((json_t *)parameters, key, value)
                if (strchr(key, '.'))
                        apply_dotted(draft, key, value);
}
