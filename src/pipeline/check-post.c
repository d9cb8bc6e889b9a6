/* Checks of post_process (PE-25). */
#include <string.h>

#include "pipeline/draft.h"

static void refuse_key(Draft *draft, guint32 i, Key key)
{
        guint32 node = draft_keys(draft, i)[key];

        if (node &&
            !(draft_node(draft, node)->kind == DOCUMENT_TEXT && !*document_text(draft->document, node)))
                draft_refuse(draft, PE_25, node, i, key_rows[key].name, "the post_process step has no '%s'",
                             key_rows[key].name);
}

static void check_values(Draft *draft, guint32 i)
{
        for (guint32 k = draft_component(draft, i)->variables; k < draft_component(draft, i + 1)->variables;
             k++)
                if (draft_variable(draft, k)->role == ROLE_INPUT)
                        draft_refuse(draft, PE_25, draft_variable_node(draft, k), i, "artifacts.input",
                                     "the post_process step has no input artifacts");
}

static void check_step(Draft *draft, guint32 i)
{
        static const Key forbidden[] = { KEY_DEPS, KEY_CONDITION, KEY_LOOP_ARGUMENT };
        guint32 target = component_target(&draft->definition, i);

        if (draft_component(draft, target)->dag)
                draft_refuse(draft, PE_25, draft_component_node(draft, i), i, NULL,
                             "post_process is a step, not a DAG");
        if (draft_child(draft, DEFINITION_ROOT, draft_component(draft, i)->name) != (guint32)DEFINITION_NONE)
                draft_refuse(draft, PE_25, draft_component_node(draft, i), i, NULL,
                             "a component of entry_points has the same name");
        for (size_t k = 0; k < G_N_ELEMENTS(forbidden); k++)
                refuse_key(draft, i, forbidden[k]);
        if (component_extra(&draft->definition, i)->cache.enable == CACHE_ON)
                draft_refuse(draft, PE_25, draft_keys(draft, i)[KEY_CACHE], i, "cache",
                             "the post_process step has no cache");
        check_values(draft, i);
}

void check_post(Draft *draft)
{
        guint32 first = draft_component(draft, DEFINITION_POST)->children;
        guint32 end = draft_component(draft, DEFINITION_POST + 1)->children;

        if (end - first > 1)
                draft_refuse(draft, PE_25, draft->top[KEY_POST_PROCESS], (guint32)DEFINITION_NONE,
                             "post_process", "has %u steps; only one is possible", end - first);
        for (guint32 i = first; i < end; i++)
                check_step(draft, i);
}
