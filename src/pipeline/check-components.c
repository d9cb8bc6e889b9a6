/* Checks of each component: its names (PE-06, PE-07), images (PE-31), condition (PE-19), loop (PE-18), the
 * values of parameters (PE-15 to PE-17), artifacts (PE-20, PE-21), and what each template refers to (PE-10
 * to PE-14). Templates that are fine get their kind here. See doc/reference/pipelines.md, "Templates". */
#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/word.h"
#include "pipeline/condition.h"
#include "pipeline/draft.h"
#include "pipeline/template.h"

/* A field with templates: what a template of one part may name, and the classes of errors. */
typedef struct {
        const char *what;      /* "a parameter" */
        guint roles;           /* own variables, bits of ValueRole */
        bool system;           /* system variables */
        bool siblings, parent; /* templates of two parts */
        ValueRole of_sibling;  /* what they name there */
        ProblemClass one, two; /* for a template of one or two parts that the field does not take */
} Field;

static const Field parameter_field = { "parameters", 0, true, true, true, ROLE_PARAMETER, PE_10, PE_14 };
static const Field env_field = {
        "env", 1U << ROLE_PARAMETER, true, false, false, ROLE_PARAMETER, PE_10, PE_14
};
static const Field command_field = { "a command", 1U << ROLE_PARAMETER | 1U << ROLE_INPUT | 1U << ROLE_OUTPUT,
                                     true,        false,
                                     false,       ROLE_PARAMETER,
                                     PE_10,       PE_14 };
static const Field input_field = { "an input artifact", 0, false, true, true, ROLE_OUTPUT, PE_21, PE_14 };
static const Field condition_field = { "a condition", 1U << ROLE_PARAMETER | 1U << ROLE_INPUT,
                                       true,          false,
                                       false,         ROLE_PARAMETER,
                                       PE_19,         PE_19 };
static const Field loop_field = { "loop_argument", 1U << ROLE_PARAMETER | 1U << ROLE_INPUT,
                                  false,           false,
                                  false,           ROLE_PARAMETER,
                                  PE_18,           PE_18 };

/* A text that is checked. */
typedef struct {
        Draft *draft;
        guint32 component, node;
        const char *suffix;
        const Field *field;
} Check;

static const char *text_of(const Check *check, guint32 text)
{
        return check->draft->texts->str + text;
}

#define refuse(check, class, ...)                                                                            \
        draft_refuse((check)->draft, class, (check)->node, (check)->component, (check)->suffix, __VA_ARGS__)

/* ---- templates of one part ---- */

static const char *nearest_name(const Check *check, const char *name)
{
        const char *nearest =
                draft_nearest_variable(check->draft, check->component, check->field->roles, name);

        return !nearest && check->field->system ? word_nearest(name, system_variables) : nearest;
}

static bool resolve_own(const Check *check, Piece *piece)
{
        static const PieceKind kinds[] = {
                [ROLE_PARAMETER] = PIECE_PARAMETER, [ROLE_INPUT] = PIECE_INPUT, [ROLE_OUTPUT] = PIECE_OUTPUT
        };

        for (ValueRole role = ROLE_PARAMETER; role <= ROLE_OUTPUT; role++)
                if ((check->field->roles & (1U << role)) &&
                    component_find(&check->draft->definition, check->component, role, piece->name) !=
                            (guint32)DEFINITION_NONE) {
                        piece->kind = (guint8)kinds[role];
                        return true;
                }
        return false;
}

static void check_one_part(const Check *check, Piece *piece)
{
        const char *name = text_of(check, piece->name);
        SystemVariable variable = system_variable_find(name);
        g_autofree char *hint = NULL;

        if (variable < SYSTEM_VARIABLES && check->field->system) {
                piece->kind = PIECE_SYSTEM;
                piece->component = variable;
        } else if (variable < SYSTEM_VARIABLES || !resolve_own(check, piece)) {
                hint = draft_nearest(nearest_name(check, name));
                refuse(check, check->field->one, "'{{%.64s}}' names nothing that %s may use%s", name,
                       check->field->what, hint);
        }
}

/* ---- templates of two parts ---- */

static void check_parent(const Check *check, Piece *piece)
{
        const Definition *definition = &check->draft->definition;
        guint32 parent = definition->components[check->component].parent;
        const char *name = text_of(check, piece->name);
        bool input = check->field->of_sibling == ROLE_OUTPUT;
        ValueRole role = input ? ROLE_INPUT : ROLE_PARAMETER;
        g_autofree char *hint = NULL;

        if (parent < DEFINITION_FIRST) {
                refuse(check, PE_14, "'{{" PIPELINE_PARENT ".%.64s}}' is only possible inside of a DAG",
                       name);
        } else if (!input && strcmp(name, PIPELINE_LOOP_ARGUMENT) == 0) {
                piece->kind = PIECE_PARENT_LOOP;
                if (!definition->components[parent].loops)
                        refuse(check, PE_12, "the DAG '%s' has no loop_argument",
                               component_name(definition, parent));
        } else if (component_find(definition, parent, role, piece->name) == (guint32)DEFINITION_NONE) {
                hint = draft_nearest(draft_nearest_variable(check->draft, parent, 1U << role, name));
                refuse(check, PE_12, "the DAG '%s' has no %s '%.64s'%s", component_name(definition, parent),
                       input ? "input artifact" : "parameter", name, hint);
        } else {
                piece->kind = input ? PIECE_PARENT_INPUT : PIECE_PARENT_PARAMETER;
        }
}

static bool has_output(const Draft *draft, guint32 component, guint32 name)
{
        return component_find(&draft->definition, component, ROLE_OUTPUT, name) != (guint32)DEFINITION_NONE;
}

static void refuse_unknown(const Check *check, guint32 component, ValueRole role, const char *name)
{
        g_autofree char *hint = draft_nearest(
                draft_nearest_variable(check->draft, component_target(&check->draft->definition, component),
                                       1U << role, name));

        refuse(check, PE_12, "the component '%s' has no %s '%.64s'%s",
               component_name(&check->draft->definition, component),
               role == ROLE_OUTPUT ? "output artifact" : "parameter", name, hint);
}

/* An artifact or parameter of another component. */
static void check_variable_of(const Check *check, Piece *piece, guint32 component, PieceKind kind)
{
        const Definition *definition = &check->draft->definition;
        guint32 target = component_target(definition, component);
        ValueRole role = check->field->of_sibling;
        const char *name = text_of(check, piece->name);

        piece->component = component;
        if (role == ROLE_OUTPUT) {
                if (!has_output(check->draft, target, piece->name))
                        refuse_unknown(check, component, role, name);
                else if (definition->components[component].looks || definition->components[target].looks)
                        refuse(check, PE_13, "'%s' has a condition, so its artifacts may be missing",
                               component_name(definition, component));
                else
                        piece->kind = (guint8)kind;
        } else if (strcmp(name, PIPELINE_LOOP_ARGUMENT) == 0 ||
                   component_find(definition, target, role, piece->name) == (guint32)DEFINITION_NONE) {
                refuse_unknown(check, component, role, name);
        } else {
                piece->kind = (guint8)kind;
        }
}

static void check_sibling(const Check *check, Piece *piece)
{
        Draft *draft = check->draft;
        const char *part1 = text_of(check, piece->part1);
        guint32 parent = draft_component(draft, check->component)->parent;
        guint32 sibling = draft_child(draft, parent, piece->part1);
        g_autofree char *hint = NULL;

        if (sibling != (guint32)DEFINITION_NONE &&
            g_array_index(draft->stamps, guint32, sibling) == check->component) {
                check_variable_of(check, piece, sibling,
                                  check->field->of_sibling == ROLE_OUTPUT ? PIECE_SIBLING_OUTPUT
                                                                          : PIECE_SIBLING_PARAMETER);
                return;
        }
        hint = sibling != (guint32)DEFINITION_NONE ? g_strdup_printf("\nAdd '%.40s' to deps.", part1)
                                                   : draft_nearest(draft_nearest_child(draft, parent, part1));
        refuse(check, PE_11, "'%.64s' is not in the deps of this component%s", part1, hint);
}

static void check_two_parts(const Check *check, Piece *piece)
{
        const char *part1 = text_of(check, piece->part1), *name = text_of(check, piece->name);
        bool parent = strcmp(part1, PIPELINE_PARENT) == 0;
        bool post = draft_component(check->draft, check->component)->parent == DEFINITION_POST;

        if (post && !(parent && check->field->two != PE_14))
                refuse(check, PE_25,
                       "the post_process step knows no other components, so '{{%.64s.%.64s}}' names nothing",
                       part1, name);
        else if (parent && check->field->parent)
                check_parent(check, piece);
        else if (!parent && check->field->siblings)
                check_sibling(check, piece);
        else
                refuse(check, check->field->two,
                       "'{{%.64s.%.64s}}' is not possible in %s\nGive this component a parameter with the value, and "
                       "use that.",
                       part1, name, check->field->what);
}

static void check_text(const Check *check, Text text)
{
        if (!text.pieces)
                return;
        draft_look(check->draft);
        for (guint32 i = text.pieces;; i++) {
                Piece *piece = &g_array_index(check->draft->pieces, Piece, i);

                if (piece->kind == PIECE_TEMPLATE && piece->part1)
                        check_two_parts(check, piece);
                else if (piece->kind == PIECE_TEMPLATE)
                        check_one_part(check, piece);
                if (piece->last)
                        break;
        }
}

/* ---- parameters ---- */

static bool is_path(const char *text)
{
        return *text &&
               text[strspn(text, ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-")] ==
                       '\0';
}

static const char *type_fault(const Check *check, const Value *value)
{
        bool text = value->kind == VALUE_TEXT;

        switch ((ValueType)value->type) {
        case TYPE_STRING: return text ? NULL : "must be text";
        case TYPE_INT: return value->kind == VALUE_INT ? NULL : "must be a whole number";
        case TYPE_FLOAT:
                return value->kind == VALUE_INT || value->kind == VALUE_FLOAT ? NULL : "must be a number";
        case TYPE_PATH:
                return text && is_path(text_of(check, value->text.text))
                               ? NULL
                               : "must be a path of letters, digits, '.', '/', '_' and '-'";
        case TYPE_LIST: return value->kind == VALUE_LIST ? NULL : "must be a list";
        default: return "the type must be string, int, float, path or list";
        }
}

/* The node of a declaration's default; 0 if it has none. */
static guint32 default_of(const Draft *draft, guint32 map)
{
        const DocumentNode *nodes = draft->document->nodes;

        for (guint32 key = map + 1; key < nodes[map].next; key = nodes[key + 1].next)
                if (g_ascii_strcasecmp(document_text(draft->document, key), "default") == 0)
                        return key + 1;
        return 0;
}

static void check_declared(const Check *check, const Value *value)
{
        guint32 fallback = value->requested ? 0 : default_of(check->draft, check->node + 1);
        const char *fault;

        if (value->type == TYPE_NONE) {
                refuse(check, PE_15, "a map must have the keys 'type' and 'default'");
        } else if (!value->requested &&
                   (!fallback || draft_node(check->draft, fallback)->kind == DOCUMENT_NULL ||
                    (value->kind == VALUE_TEXT && !*text_of(check, value->text.text)))) {
                refuse(check, PE_16, "a declared parameter needs a default that is not empty");
        } else if ((fault = type_fault(check, value))) {
                refuse(check, PE_16, "%s", fault);
        } else if (value->kind == VALUE_LIST && fallback &&
                   (fault = compile_list_fault(check->draft->document, fallback))) {
                refuse(check, PE_17,
                       "an item of a list must be a number, text without templates or a list, not %s", fault);
        } else if (value->kind == VALUE_TEXT) {
                check_text(check, value->text);
        }
}

static void check_plain(const Check *check, const Value *value, DocumentKind kind)
{
        const char *fault = NULL;

        if (value->kind == VALUE_TEXT)
                check_text(check, value->text);
        else if (value->kind == VALUE_LIST && !value->requested &&
                 (fault = compile_list_fault(check->draft->document, check->node + 1)))
                refuse(check, PE_17,
                       "an item of a list must be a number, text without templates or a list, not %s", fault);
        else if (value->kind == VALUE_NONE)
                refuse(check, PE_15,
                       kind == DOCUMENT_NULL
                               ? "a parameter must have a value: a number, text or list"
                               : "must be a number, text or list, not true or false\nQuote it if it is "
                                 "text.");
}

static void check_parameter(Check *check, const Value *value)
{
        DocumentKind kind = draft_node(check->draft, check->node + 1)->kind;

        check->field = &parameter_field;
        if (kind == DOCUMENT_MAP)
                check_declared(check, value);
        else
                check_plain(check, value, kind);
}

/* ---- artifacts ---- */

static void check_child_output(const Check *check, Piece *piece)
{
        Draft *draft = check->draft;
        const char *part1 = text_of(check, piece->part1);
        guint32 child = draft_child(draft, check->component, piece->part1);
        g_autofree char *hint = NULL;

        if (strcmp(part1, PIPELINE_PARENT) == 0) {
                refuse(check, PE_14,
                       "an output of a DAG comes from one of its components, not from its parent");
        } else if (child == (guint32)DEFINITION_NONE) {
                hint = draft_nearest(draft_nearest_child(draft, check->component, part1));
                refuse(check, PE_12, "the DAG has no component '%.64s'%s", part1, hint);
        } else {
                check_variable_of(check, piece, child, PIECE_CHILD_OUTPUT);
        }
}

static void check_artifact(Check *check, const Value *value)
{
        Template template;
        bool dag = draft_component(check->draft, check->component)->dag, input = value->role == ROLE_INPUT;

        if (!input && !check->draft->definition.has_main_fs)
                refuse(check, PE_20,
                       "an output artifact needs a main file system\nName it in fs_options.main_fs, or "
                       "in the request.");
        if ((!input && !dag) || value->kind == VALUE_NONE)
                return;
        if (input && draft_component(check->draft, check->component)->parent == DEFINITION_LIBRARY)
                return; /* the step that refers to it gives the value */
        if (input && draft_component(check->draft, check->component)->parent == DEFINITION_POST)
                return; /* check-post.c */
        check->field = &input_field;
        draft_look(check->draft);
        if (!template_is_whole(text_of(check, value->text.text), &template) || !template.part1)
                refuse(check, PE_21, "must be exactly one template of the form {{component.artifact}}");
        else if (input)
                check_text(check, value->text);
        else
                check_child_output(check, &g_array_index(check->draft->pieces, Piece, value->text.pieces));
}

/* ---- names of variables ---- */

static void check_variable_name(const Check *check, const Value *value, GHashTable *names)
{
        const char *name = text_of(check, value->name);
        g_autofree char *shown = err_shown(name);

        if (!variable_name_is_valid(name))
                refuse(check, PE_06,
                       "'%.64s' is not a name\nUse at most 50 letters, digits and '_'; begin with a letter or '_'.",
                       shown);
        else if (value->role != ROLE_ENV && !g_hash_table_add(names, g_ascii_strdown(name, -1)))
                refuse(check, PE_07,
                       "another parameter or artifact of this component has the name '%.64s', ignoring case",
                       shown);
}

static void check_variable(Draft *draft, guint32 component, guint32 variable, GHashTable *names)
{
        static const char *const groups[] = { "parameters", "env", "artifacts.input", "artifacts.output" };
        const Value *value = draft_variable(draft, variable);
        g_autofree char *suffix =
                g_strdup_printf("%s.%s", groups[value->role], draft->texts->str + value->name);
        Check check = { .draft = draft,
                        .component = component,
                        .node = draft_variable_node(draft, variable),
                        .suffix = suffix };

        check_variable_name(&check, value, names);
        if (value->role == ROLE_PARAMETER) {
                check_parameter(&check, value);
        } else if (value->role == ROLE_ENV) {
                check.field = &env_field;
                check_text(&check, value->text);
        } else {
                check_artifact(&check, value);
        }
}

/* ---- images, conditions, loops ---- */

static bool has_tar(const char *image)
{
        return g_str_has_suffix(image, ".tar");
}

static const char *env_of(const Draft *draft, guint32 component, const char *name)
{
        guint32 known = draft_interned(draft, name), at;

        at = known ? component_find(&draft->definition, component, ROLE_ENV, known)
                   : (guint32)DEFINITION_NONE;
        return at == (guint32)DEFINITION_NONE
                       ? NULL
                       : definition_text(&draft->definition, draft_variable(draft, at)->text.text);
}

/* A job of one member, which needs the image of the step. Others get theirs from variables. */
static bool is_standalone(const Draft *draft, guint32 component)
{
        const char *type = env_of(draft, component, "PF_JOB_TYPE"),
                   *mode = env_of(draft, component, "PF_JOB_MODE");

        if (!type || !*type || strcmp(type, "single") == 0)
                return true;
        return strcmp(type, "vcjob") == 0 && (!mode || strcmp(mode, "Pod") == 0 || !*mode);
}

static void check_image(Draft *draft, guint32 i)
{
        const Component *component = draft_component(draft, i);
        guint32 node = draft_keys(draft, i)[KEY_DOCKER_ENV];

        if (component->dag || draft_keys(draft, i)[KEY_REFERENCE])
                return;
        if (has_tar(definition_text(&draft->definition, component->image)))
                draft_refuse(draft, PE_31, node ? node : draft->top[KEY_DOCKER_ENV], i, "docker_env",
                             "an image cannot end in '.tar'");
        else if (!component->image && !draft->request->image_optional && is_standalone(draft, i))
                draft_refuse(
                        draft, PE_IMAGE, draft_component_node(draft, i), i, "docker_env",
                        "the step has no image\nSet docker_env here, for the whole pipeline, or in the request.");
}

static void check_condition(Draft *draft, guint32 i)
{
        Text condition = component_extra(&draft->definition, i)->condition;
        Check check = { .draft = draft,
                        .component = i,
                        .node = draft_keys(draft, i)[KEY_CONDITION],
                        .suffix = "condition",
                        .field = &condition_field };
        guint before = draft->problems->n;
        g_autofree char *fault = NULL;

        if (!condition.text)
                return;
        check_text(&check, condition);
        fault = condition_fault(text_of(&check, condition.text));
        if (fault && draft->problems->n == before)
                refuse(&check, PE_19, "%s", fault);
}

static void check_loop(Draft *draft, guint32 i)
{
        Check check = { .draft = draft,
                        .component = i,
                        .node = draft_keys(draft, i)[KEY_LOOP_ARGUMENT],
                        .suffix = "loop_argument",
                        .field = &loop_field };
        const Value *loop = &component_extra(&draft->definition, i)->loop;

        if (loop->kind == VALUE_TEXT)
                check_text(&check, loop->text);
}

/* ---- components ---- */

static void stamp_dependencies(Draft *draft, guint32 i)
{
        const Component *component = draft_component(draft, i);

        for (guint32 k = component->dependencies; k < component[1].dependencies; k++)
                g_array_index(draft->stamps, guint32, g_array_index(draft->links, guint32, k)) = i;
}

static void check_component(Draft *draft, guint32 i)
{
        g_autoptr(GHashTable) names = NULL;
        Check check = { .draft = draft,
                        .component = i,
                        .node = draft_keys(draft, i)[KEY_COMMAND],
                        .suffix = "command",
                        .field = &command_field };

        draft_look(draft);
        stamp_dependencies(draft, i);
        check_image(draft, i);
        check_condition(draft, i);
        check_loop(draft, i);
        if (draft_component(draft, i)->disabled)
                return;
        names = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        for (guint32 k = draft_component(draft, i)->variables; k < draft_component(draft, i + 1)->variables;
             k++)
                check_variable(draft, i, k, names);
        check_text(&check, draft_component(draft, i)->command);
}

/* Entry points and post_process before the library, so that errors come in this order. */
void check_components(Draft *draft)
{
        const char *image = definition_text(&draft->definition, draft->definition.image);

        if (has_tar(image) && !draft->request->docker_env)
                draft_refuse(draft, PE_31, draft->top[KEY_DOCKER_ENV], (guint32)DEFINITION_NONE, "docker_env",
                             "an image cannot end in '.tar'");
        for (int library = 0; library < 2; library++)
                for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++)
                        if (draft_is_library(draft, i) == (library == 1) && draft->problems->n < PROBLEMS_MAX)
                                check_component(draft, i);
}
