/* Checks of each component: its names (PE-06, PE-07), images (PE-31), condition (PE-19), loop (PE-18), the
 * values of parameters (PE-15 to PE-17), artifacts (PE-20, PE-21), and what each template refers to (PE-10
 * to PE-14). Templates that are fine get their kind here. See doc/reference/pipelines.md, "Templates". */
#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/word.h"
#include "pipeline/condition.h"
#include "pipeline/declared-type.h"
#include "pipeline/draft.h"
#include "pipeline/template.h"
#include "pipeline/value.h"

enum { IMAGE_MAX = 255 }; /* bytes, as of a job: the limit of registries */

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
        bool requested; /* the value is from the request: node is 0, and suffix the whole path */
} Check;

static const char *text_of(const Check *check, guint32 text)
{
        return check->draft->texts->str + text;
}

#define refuse(check, class, ...)                                                                            \
        draft_refuse((check)->draft, class, (check)->node,                                                   \
                     (check)->requested ? (guint32)DEFINITION_NONE : (check)->component, (check)->suffix,    \
                     __VA_ARGS__)

/* The same at another place of the text. */
#define refuse_at(check, place, class, ...)                                                                  \
        draft_refuse((check)->draft, class, (check)->requested ? 0 : (place),                                \
                     (check)->requested ? (guint32)DEFINITION_NONE : (check)->component, (check)->suffix,    \
                     __VA_ARGS__)

/* ---- templates of one part ---- */

static const char *nearest_name(const Check *check, const char *name)
{
        const char *nearest =
                draft_nearest_variable(check->draft, check->component, check->field->roles, name);

        return !nearest && check->field->system ? word_nearest(name, system_variables) : nearest;
}

/* True if the name may be one that was refused. */
static bool may_be_refused(const Check *check)
{
        guint artifacts = 1U << ROLE_INPUT | 1U << ROLE_OUTPUT;

        return ((check->field->roles & 1U << ROLE_PARAMETER) &&
                draft_is_refused(check->draft, check->component, KEY_PARAMETERS)) ||
               ((check->field->roles & artifacts) && draft_lacks_artifacts(check->draft, check->component));
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
        } else if (variable == SYSTEM_VARIABLES && (resolve_own(check, piece) || may_be_refused(check))) {
                return;
        } else {
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
                if (!definition->components[parent].loops &&
                    !draft_is_refused(check->draft, parent, KEY_LOOP_ARGUMENT))
                        refuse(check, PE_12, "the DAG '%s' has no loop_argument",
                               component_name(definition, parent));
        } else if (component_find(definition, parent, role, piece->name) == (guint32)DEFINITION_NONE) {
                if (input ? draft_lacks_artifacts(check->draft, parent)
                          : draft_is_refused(check->draft, parent, KEY_PARAMETERS))
                        return;
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
        guint32 target = component_target(&check->draft->definition, component);
        g_autofree char *hint = NULL;

        if (draft_is_refused(check->draft, target, KEY_REFERENCE) ||
            (role == ROLE_OUTPUT ? draft_lacks_artifacts(check->draft, target)
                                 : draft_is_refused(check->draft, target, KEY_PARAMETERS)))
                return;
        hint = draft_nearest(draft_nearest_variable(check->draft, target, 1U << role, name));
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

/* True if `deps` has a wrong name that may stand for this one: that is the mistake. */
static bool is_misspelt_in_deps(const Check *check, const char *part1)
{
        guint32 node = draft_keys(check->draft, check->component)[KEY_DEPS];
        guint32 parent = draft_component(check->draft, check->component)->parent;
        g_auto(GStrv) names = NULL;

        if (draft_is_refused(check->draft, check->component, KEY_DEPS))
                return true;
        if (!node || check->draft->problems->n >= PROBLEMS_MAX)
                return false;
        names = g_strsplit(document_text(check->draft->document, node), ",", -1);
        for (int i = 0; names[i]; i++) {
                const char *list[] = { part1, NULL };
                guint32 name = draft_interned(check->draft, g_strstrip(names[i]));

                if (*names[i] && draft_child(check->draft, parent, name) == (guint32)DEFINITION_NONE &&
                    draft_nearest_of(check->draft, names[i], list, 1))
                        return true;
        }
        return false;
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
        if (is_misspelt_in_deps(check, part1))
                return;
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

static const char *fault_of(const Check *check, const Value *value, ValueType type)
{
        return type_fault(type, (ValueKind)value->kind,
                          value->kind == VALUE_TEXT ? text_of(check, value->text.text) : NULL);
}

/* "a whole number, not 'abc'": the value that has not its type. */
static void refuse_type(const Check *check, guint32 node, const Value *value, ValueType type,
                        const char *fault)
{
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *shown = NULL;

        value_write(text, &check->draft->definition, value);
        shown = err_shown(text->str);
        if (type == TYPE_UNKNOWN)
                refuse_at(check, node, PE_16, "%s", fault);
        else
                refuse_at(check, node, PE_16, "%s, not '%.40s'", fault, shown);
}

/* The node of a declaration's key; 0 if it has none. */
static guint32 declared_node(const Draft *draft, guint32 map, const char *name)
{
        const DocumentNode *nodes = draft->document->nodes;

        for (guint32 key = map + 1; key < nodes[map].next; key = nodes[key + 1].next)
                if (g_ascii_strcasecmp(document_text(draft->document, key), name) == 0)
                        return key + 1;
        return 0;
}

/* The items of a list in the text. */
static void check_items(const Check *check, guint32 list)
{
        guint32 item;
        const char *fault = compile_list_fault(check->draft->document, list, &item);

        if (fault)
                refuse_at(check, item, PE_17,
                          "an item of a list must be a number, text without templates or a list, not %s",
                          fault);
}

/* The map is the value of the parameter in the text; the value may come from the request. */
static void check_declared(Check *check, guint32 map, const Value *value)
{
        guint32 fallback = declared_node(check->draft, map, "default");
        const char *fault = fault_of(check, value, (ValueType)value->type);

        if (value->type == TYPE_NONE) {
                refuse(check, PE_15, "a map must have the keys 'type' and 'default'");
        } else if (!value->requested &&
                   (!fallback || draft_node(check->draft, fallback)->kind == DOCUMENT_NULL ||
                    (value->kind == VALUE_TEXT && !*text_of(check, value->text.text)))) {
                refuse(check, PE_16, "a declared parameter needs a default that is not empty");
        } else if (fault) {
                refuse_type(check,
                            value->type == TYPE_UNKNOWN ? declared_node(check->draft, map, "type") : fallback,
                            value, (ValueType)value->type, fault);
        } else if (value->kind == VALUE_LIST && !value->requested) {
                check_items(check, fallback);
        } else if (value->kind == VALUE_TEXT) {
                check->node = value->requested ? 0 : fallback;
                check_text(check, value->text);
        }
}

/* The value of a reference step from the request, whose type is declared by the component it refers to. */
static void check_requested_type(const Check *check, const Value *value)
{
        ValueType type = draft_declared_type(check->draft, check->component, value);
        const char *fault =
                type == TYPE_NONE || type == TYPE_UNKNOWN || (value->kind == VALUE_TEXT && value->text.pieces)
                        ? NULL
                        : fault_of(check, value, type);

        if (fault)
                refuse_type(check, 0, value, type, fault);
}

static void check_plain(const Check *check, const Value *value, DocumentKind kind)
{
        if (value->requested)
                check_requested_type(check, value);
        if (value->kind == VALUE_TEXT)
                check_text(check, value->text);
        else if (value->kind == VALUE_LIST && !value->requested)
                check_items(check, check->node);
        else if (value->kind == VALUE_NONE)
                refuse(check, PE_15,
                       kind == DOCUMENT_NULL
                               ? "a parameter must have a value: a number, text or list"
                               : "must be a number, text or list, not true or false\nQuote it if it is "
                                 "text.");
}

static void check_parameter(Check *check, const Value *value)
{
        guint32 node = check->node;
        DocumentKind kind = draft_node(check->draft, node)->kind;

        check->field = &parameter_field;
        check->requested = value->requested;
        check->node = value->requested ? 0 : node;
        if (kind == DOCUMENT_MAP)
                check_declared(check, node, value);
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
                if (draft_is_refused(draft, check->component, KEY_ENTRY_POINTS))
                        return;
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

        if (!input && !check->draft->definition.has_main_fs &&
            !draft_is_refused(check->draft, DEFINITION_ROOT, KEY_FS_OPTIONS) &&
            !draft_is_refused(check->draft, DEFINITION_ROOT, KEY_MAIN_FS))
                refuse(check, PE_20,
                       "an output artifact needs a main file system\nWrite fs_options: {main_fs: {name: home}}, or give %s.",
                       draft_request_word(check->draft, REQUEST_FS));
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
                refuse(check, PE_06, DRAFT_NAME_FAULT, shown);
        else if (value->role != ROLE_ENV && !g_hash_table_add(names, g_ascii_strdown(name, -1)))
                refuse(check, PE_07,
                       "another parameter or artifact of this component has the name '%.64s', ignoring case",
                       shown);
}

/* The key of the request that set the value: the path of the component, or the name alone. */
static char *requested_path(const Draft *draft, guint32 component, const Value *value)
{
        const char *name = draft->texts->str + value->name;
        g_autofree char *path = component_path(&draft->definition, component);
        g_autofree char *dotted = g_strconcat(strchr(path, '.') + 1, ".", name, NULL);
        bool given = json_object_get(draft->request->parameters, dotted) != NULL;

        return draft_request_parameter(draft, given ? dotted : name);
}

static void check_variable(Draft *draft, guint32 component, guint32 variable, GHashTable *names)
{
        static const char *const groups[] = { "parameters", "env", "artifacts.input", "artifacts.output" };
        const Value *value = draft_variable(draft, variable);
        g_autofree char *suffix =
                g_strdup_printf("%s.%s", groups[value->role], draft->texts->str + value->name);
        g_autofree char *requested = value->requested ? requested_path(draft, component, value) : NULL;
        Check check = { .draft = draft,
                        .component = component,
                        .node = draft_variable_node(draft, variable),
                        .suffix = suffix };

        check_variable_name(&check, value, names);
        check.node = draft_value_node(draft, variable);
        check.suffix = requested ? requested : suffix;
        if (requested && !g_hash_table_add(draft->checked_requests, g_strdup(requested)))
                return; /* the same value for another component */
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

        at = known ? component_env(&draft->definition, component, known) : (guint32)DEFINITION_NONE;
        return at == (guint32)DEFINITION_NONE
                       ? NULL
                       : definition_text(&draft->definition, draft_variable(draft, at)->text.text);
}

bool draft_is_standalone(const Draft *draft, guint32 component)
{
        const char *type = env_of(draft, component, "PF_JOB_TYPE"),
                   *mode = env_of(draft, component, "PF_JOB_MODE");

        if (!type || !*type || strcmp(type, "single") == 0)
                return true;
        return strcmp(type, "vcjob") == 0 && (!mode || strcmp(mode, "Pod") == 0 || !*mode);
}

static bool is_long_image(const char *image)
{
        return strlen(image) > IMAGE_MAX;
}

static void refuse_long_image(Draft *draft, guint32 node, guint32 component, const char *path)
{
        draft_refuse(draft, PE_02, node, component, path,
                     "is longer than %d bytes: no registry has such an image", IMAGE_MAX);
}

static void check_image(Draft *draft, guint32 i)
{
        const Component *component = draft_component(draft, i);
        guint32 node = draft_keys(draft, i)[KEY_DOCKER_ENV];

        if (component->dag || draft_keys(draft, i)[KEY_REFERENCE])
                return;
        if (node && has_tar(definition_text(&draft->definition, component->image)))
                draft_refuse(draft, PE_31, node, i, "docker_env", "an image cannot end in '.tar'");
        else if (node && is_long_image(definition_text(&draft->definition, component->image)))
                refuse_long_image(draft, node, i, "docker_env");
        else if (!component->image && !draft->request->image_optional && draft_is_standalone(draft, i) &&
                 !draft_is_refused(draft, i, KEY_DOCKER_ENV) && !draft_is_refused(draft, i, KEY_REFERENCE) &&
                 !draft_is_refused(draft, DEFINITION_ROOT, KEY_DOCKER_ENV))
                draft_refuse(
                        draft, PE_IMAGE, draft_component_node(draft, i), i, "docker_env",
                        "the step has no image\nSet docker_env here or for the whole pipeline, or give %s.",
                        draft_request_word(draft, REQUEST_IMAGE));
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
        bool requested = draft->request->docker_env && *draft->request->docker_env;
        guint32 node = requested ? 0 : draft->top[KEY_DOCKER_ENV];
        const char *path = requested ? draft_request_path(draft, REQUEST_IMAGE) : "docker_env";

        if (has_tar(image))
                draft_refuse(draft, PE_31, node, (guint32)DEFINITION_NONE, path,
                             "an image cannot end in '.tar'");
        else if (is_long_image(image))
                refuse_long_image(draft, node, (guint32)DEFINITION_NONE, path);
        for (int library = 0; library < 2; library++)
                for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++)
                        if (draft_is_library(draft, i) == (library == 1) && draft->problems->n < PROBLEMS_MAX)
                                check_component(draft, i);
}
