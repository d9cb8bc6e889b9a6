/* Checks of reference steps (PE-22): which keys they have, and that parameters and inputs are those of the
 * target. */
#include <string.h>

#include "base/err.h"
#include "pipeline/declared-type.h"
#include "pipeline/draft.h"

static bool is_set(const Draft *draft, guint32 node)
{
        const DocumentNode *value = draft_node(draft, node);

        if (!node)
                return false;
        if (value->kind == DOCUMENT_TEXT)
                return *document_text(draft->document, node) != '\0';
        return (value->kind != DOCUMENT_LIST && value->kind != DOCUMENT_MAP) || value->count > 0;
}

static bool has_cache(const Draft *draft, guint32 i)
{
        const CacheOptions *cache = &component_extra(&draft->definition, i)->cache;

        return cache->enable == CACHE_ON || cache->expires || cache->n_scopes || cache->has_fingerprint;
}

static void check_keys(Draft *draft, guint32 i)
{
        static const Key forbidden[] = { KEY_COMMAND,       KEY_CONDITION,   KEY_DOCKER_ENV, KEY_ENV,
                                         KEY_LOOP_ARGUMENT, KEY_EXTRA_FS,    KEY_RETRIES,    KEY_TIME_LIMIT,
                                         KEY_PACKAGE,       KEY_REQUIREMENTS };
        const guint32 *keys = draft_keys(draft, i);

        for (size_t k = 0; k < G_N_ELEMENTS(forbidden); k++)
                if (is_set(draft, keys[forbidden[k]]))
                        draft_refuse(
                                draft, PE_22, keys[forbidden[k]], i, key_rows[forbidden[k]].name,
                                "a step with 'reference' has no '%s'\nSet it in the component that it refers to.",
                                key_rows[forbidden[k]].name);
        if (has_cache(draft, i))
                draft_refuse(
                        draft, PE_22, keys[KEY_CACHE], i, "cache",
                        "a step with 'reference' has no cache options\nSet them in the component that it refers "
                        "to.");
}

/* A template is checked when it is resolved. */
static bool fits(const Draft *draft, const Value *value, ValueType type)
{
        bool text = value->kind == VALUE_TEXT;

        return (text && value->text.pieces) || type == TYPE_UNKNOWN ||
               !type_fault(type, (ValueKind)value->kind,
                           text ? definition_text(&draft->definition, value->text.text) : NULL);
}

static void check_parameter(Draft *draft, guint32 i, guint32 target, guint32 variable)
{
        const char *name = definition_text(&draft->definition, draft_variable(draft, variable)->name);
        guint32 known = component_find(&draft->definition, target, ROLE_PARAMETER,
                                       draft_variable(draft, variable)->name);
        g_autofree char *suffix = g_strdup_printf("parameters.%s", name), *hint = NULL;

        if (known == (guint32)DEFINITION_NONE && draft_is_refused(draft, target, KEY_PARAMETERS))
                return;
        if (known == (guint32)DEFINITION_NONE) {
                hint = draft_nearest(draft_nearest_variable(draft, target, 1U << ROLE_PARAMETER, name));
                draft_refuse(draft, PE_22, draft_variable_node(draft, variable), i, suffix,
                             "the component '%s' has no parameter '%.50s'%s",
                             component_name(&draft->definition, target), name, hint);
        } else if (draft_variable(draft, variable)->kind != VALUE_NONE &&
                   !fits(draft, draft_variable(draft, variable),
                         (ValueType)draft_variable(draft, known)->type)) {
                draft_refuse(draft, PE_22, draft_value_node(draft, variable), i, suffix,
                             "the component '%s' declares another type for this value",
                             component_name(&draft->definition, target));
        }
}

static bool has_input(const Draft *draft, guint32 component, guint32 name)
{
        return component_find(&draft->definition, component, ROLE_INPUT, name) != (guint32)DEFINITION_NONE;
}

/* Inputs of `from` that `in` lacks. */
static void check_inputs(Draft *draft, guint32 i, guint32 from, guint32 in)
{
        if (draft_lacks_artifacts(draft, in))
                return;
        for (guint32 k = draft_component(draft, from)->variables;
             k < draft_component(draft, from + 1)->variables; k++) {
                const Value *variable = draft_variable(draft, k);

                if (variable->role != ROLE_INPUT || has_input(draft, in, variable->name))
                        continue;
                draft_refuse(draft, PE_22,
                             from == i ? draft_variable_node(draft, k) : draft_component_node(draft, i), i,
                             "artifacts.input",
                             from == i ? "'%.50s' is no input of the component that it refers to"
                                       : "the input '%.50s' of the component that it refers to is missing",
                             definition_text(&draft->definition, variable->name));
        }
}

static void check_reference(Draft *draft, guint32 i, guint32 target)
{
        for (guint32 k = draft_component(draft, i)->variables; k < draft_component(draft, i + 1)->variables;
             k++) {
                if (draft_variable(draft, k)->role == ROLE_PARAMETER)
                        check_parameter(draft, i, target, k);
                else if (draft_variable(draft, k)->role == ROLE_OUTPUT)
                        draft_refuse(
                                draft, PE_22, draft_variable_node(draft, k), i, "artifacts.output",
                                "a step with 'reference' has the outputs of its component, and none of its own");
        }
        check_inputs(draft, i, i, target);
        check_inputs(draft, i, target, i);
}

void check_references(Draft *draft)
{
        for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++) {
                guint32 target = component_extra(&draft->definition, i)->reference;

                if (draft_keys(draft, i)[KEY_REFERENCE])
                        check_keys(draft, i);
                if (target)
                        check_reference(draft, i, target);
                draft_look(draft);
        }
}
