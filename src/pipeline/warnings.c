/* Warnings: what the language accepts, although it cannot work or does not do what its author expects. Only of a
 * definition without errors. Each says what happens in a run. See doc/reference/pipelines.md, "Warnings". */
#include <string.h>

#include "base/err.h"
#include "pipeline/condition.h"
#include "pipeline/draft.h"
#include "pipeline/value.h"

static void warn(Draft *draft, guint32 node, guint32 component, const char *suffix, const char *format, ...)
        G_GNUC_PRINTF(5, 6);

static void warn(Draft *draft, guint32 node, guint32 component, const char *suffix, const char *format, ...)
{
        const DocumentNode *at = node ? draft_node(draft, node) : NULL;
        g_autofree char *path =
                component == (guint32)DEFINITION_NONE ? NULL : component_path(&draft->definition, component);
        va_list args;
        char *text;

        if (draft->problems->warnings->len >= PROBLEMS_MAX)
                return;
        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        problems_warn(draft->problems, at ? at->line : 0, at ? at->column : 0,
                      path ? g_strconcat(path, ".", suffix, NULL) : g_strdup(suffix), text);
}

static const char *text_of(const Draft *draft, guint32 text)
{
        return draft->texts->str + text;
}

/* ---- values that are known before the run ---- */

enum { CHAIN_MAX = 100 }; /* parameters that take their value from one another */

/* True if a reference may replace the parameters of this component. */
static bool is_replaceable(const Draft *draft, guint32 component)
{
        return draft_component(draft, component)->parent == DEFINITION_LIBRARY;
}

/* The parameter that the only template of a value names, or DEFINITION_NONE. *ret_component: whose it is. */
static guint32 followed(const Draft *draft, guint32 component, const Piece *piece, guint32 *ret_component)
{
        const Definition *definition = &draft->definition;

        if (piece->kind == PIECE_SIBLING_PARAMETER)
                *ret_component = component_target(definition, piece->component) == piece->component
                                         ? piece->component
                                         : (guint32)DEFINITION_NONE;
        else if (piece->kind == PIECE_PARENT_PARAMETER)
                *ret_component = definition->components[component].parent;
        else
                return (guint32)DEFINITION_NONE;
        if (*ret_component == (guint32)DEFINITION_NONE)
                return (guint32)DEFINITION_NONE;
        return component_find(definition, *ret_component, ROLE_PARAMETER, piece->name);
}

/* The value of a parameter if the definition alone decides it; NULL otherwise. */
static const Value *known_value(const Draft *draft, guint32 component, guint32 name)
{
        guint32 at = component_find(&draft->definition, component, ROLE_PARAMETER, name);

        for (int i = 0; at != (guint32)DEFINITION_NONE && i < CHAIN_MAX; i++) {
                const Value *value = draft_variable(draft, at);
                const Piece *piece;

                if (is_replaceable(draft, component))
                        return NULL;
                if (value->kind != VALUE_TEXT || !value->text.pieces)
                        return value;
                piece = &g_array_index(draft->pieces, Piece, value->text.pieces);
                if (!piece->last)
                        return NULL;
                at = followed(draft, component, piece, &component);
        }
        return NULL;
}

/* ---- loops ---- */

static bool is_json_list(const char *text)
{
        g_autoptr(json_t) json = json_parse(text, strlen(text), NULL);

        return json_is_array(json);
}

static void warn_value_of_loop(Draft *draft, guint32 i, const Piece *piece)
{
        const Value *value = known_value(draft, i, piece->name);
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *shown = NULL;

        if (!value || value->kind == VALUE_LIST ||
            (value->kind == VALUE_TEXT && is_json_list(text_of(draft, value->text.text))))
                return;
        value_write(text, &draft->definition, value);
        shown = err_shown(text->str);
        warn(draft, draft_keys(draft, i)[KEY_LOOP_ARGUMENT], i, "loop_argument",
             "the parameter '%s' is '%.40s', which is not a list: this component fails (RE-02)",
             text_of(draft, piece->name), shown);
}

static void warn_loop(Draft *draft, guint32 i)
{
        const Value *loop = &component_extra(&draft->definition, i)->loop;
        const Piece *piece;

        if (loop->kind == VALUE_LIST && !loop->list.count)
                warn(draft, draft_keys(draft, i)[KEY_LOOP_ARGUMENT], i, "loop_argument",
                     "the list is empty, so this component is always skipped");
        if (loop->kind != VALUE_TEXT)
                return;
        piece = &g_array_index(draft->pieces, Piece, loop->text.pieces);
        if (piece->kind == PIECE_PARAMETER)
                warn_value_of_loop(draft, i, piece);
}

/* ---- conditions ---- */

/* The condition with its values. False if some are known in a run only. */
static bool fill_condition(const Draft *draft, guint32 i, const Text *condition, GString *out)
{
        if (!condition->pieces) {
                g_string_append(out, text_of(draft, condition->text));
                return true;
        }
        for (const Piece *piece = &g_array_index(draft->pieces, Piece, condition->pieces);; piece++) {
                const Value *value =
                        piece->kind == PIECE_PARAMETER ? known_value(draft, i, piece->name) : NULL;

                if (piece->kind == PIECE_LITERAL)
                        g_string_append_len(out, text_of(draft, piece->at), piece->len);
                else if (value)
                        value_write(out, &draft->definition, value);
                else
                        return false;
                if (out->len > CONDITION_MAX)
                        return false;
                if (piece->last)
                        return true;
        }
}

static void warn_condition(Draft *draft, guint32 i)
{
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_autofree char *shown = NULL;
        bool value;

        if (!fill_condition(draft, i, &component_extra(&draft->definition, i)->condition, text) ||
            condition_searches(text->str) || condition_eval(text->str, &value, &error))
                return;
        shown = err_shown(text->str);
        g_strdelimit(error->message, "\n", ' ');
        warn(draft, draft_keys(draft, i)[KEY_CONDITION], i, "condition",
             "with the values of its parameters it is \"%.60s\", which cannot be evaluated: %s (RE-01)",
             shown, error->message);
}

/* ---- texts ---- */

/* "{{ a.b.c }}": one that was meant as a template. Code between braces is none. */
static bool looks_like_template(const char *at, gsize *ret_len)
{
        gsize len = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$ ");
        gsize first = 2 + strspn(at + 2, " ");

        *ret_len = len + 2;
        return at[len] == '}' && at[len + 1] == '}' &&
               (g_ascii_isalpha(at[first]) || at[first] == '_' || at[first] == '$');
}

/* Of a literal piece, or of a text without templates. */
static void warn_braces(Draft *draft, guint32 node, guint32 i, const char *suffix, const char *from, gsize n)
{
        g_autofree char *text = g_strndup(from, n);
        gsize len;

        for (const char *at = text; (at = strstr(at, "{{")); at += 2) {
                if (!looks_like_template(at, &len))
                        continue;
                warn(draft, node, i, suffix,
                     "'%.*s' stays as it is: a template is {{name}} or {{component.name}}", (int)MIN(len, 60),
                     at);
                return;
        }
}

static bool has_loop(const Draft *draft, guint32 component)
{
        return component >= DEFINITION_FIRST && draft_component(draft, component)->loops;
}

/* `looping` is the component of which PF_LOOP_ARGUMENT is the item; DEFINITION_LIBRARY: a reference decides. */
static void warn_text(Draft *draft, guint32 node, guint32 i, const char *suffix, const Text *text,
                      guint32 looping)
{
        if (!text->pieces) {
                warn_braces(draft, node, i, suffix, text_of(draft, text->text),
                            strlen(text_of(draft, text->text)));
                return;
        }
        for (const Piece *piece = &g_array_index(draft->pieces, Piece, text->pieces);; piece++) {
                if (piece->kind == PIECE_LITERAL)
                        warn_braces(draft, node, i, suffix, text_of(draft, piece->at), piece->len);
                else if (piece->kind == PIECE_SYSTEM && piece->component == SYSTEM_LOOP_ARGUMENT &&
                         looping != DEFINITION_LIBRARY && !has_loop(draft, looping))
                        warn(draft, node, i, suffix,
                             "'{{" PIPELINE_LOOP_ARGUMENT "}}' is always empty: %s has no loop_argument",
                             looping == i ? "this component"
                                          : "here it is the item of the DAG around, which");
                if (piece->last)
                        return;
        }
}

/* Texts that never have templates. */
static void warn_literal(Draft *draft, guint32 node, guint32 i, Key key)
{
        if (node && draft_node(draft, node)->kind == DOCUMENT_TEXT &&
            strstr(document_text(draft->document, node), "{{"))
                warn(draft, node, i, key_rows[key].name, "'%s' has no templates: the text stays as it is",
                     key_rows[key].name);
}

/* ---- variables ---- */

static void warn_hidden(Draft *draft, guint32 i, guint32 variable, const char *suffix)
{
        const Value *value = draft_variable(draft, variable);

        if (system_variable_find(text_of(draft, value->name)) == SYSTEM_VARIABLES)
                return;
        if (value->role == ROLE_ENV)
                warn(draft, draft_variable_node(draft, variable), i, suffix,
                     "the run replaces this variable by its own value");
        else
                warn(draft, draft_variable_node(draft, variable), i, suffix,
                     "a template of this name is the system variable, not this %s",
                     value->role == ROLE_PARAMETER ? "parameter" : "artifact");
}

static void warn_variable(Draft *draft, guint32 i, guint32 variable)
{
        static const char *const groups[] = { "parameters", "env", "artifacts.input", "artifacts.output" };
        const Value *value = draft_variable(draft, variable);
        g_autofree char *suffix = g_strdup_printf("%s.%s", groups[value->role], text_of(draft, value->name));
        guint32 parent = draft_component(draft, i)->parent;

        warn_hidden(draft, i, variable, suffix);
        if (value->kind == VALUE_TEXT && value->role <= ROLE_ENV && !value->requested)
                warn_text(draft, draft_value_node(draft, variable), i, suffix, &value->text,
                          value->role == ROLE_PARAMETER ? parent : i);
}

/* ---- components ---- */

static void warn_post(Draft *draft, guint32 i)
{
        guint32 target = component_target(&draft->definition, i);

        if (draft_component(draft, target)->loops)
                warn(draft, draft_keys(draft, i)[KEY_REFERENCE], i, "reference",
                     "'%s' has a loop, but post_process runs once: with the first item",
                     component_name(&draft->definition, target));
}

/* A job of one process needs a command: the program that its image begins with is not run. */
static void warn_command(Draft *draft, guint32 i)
{
        const Text *command = &draft_component(draft, i)->command;
        const char *text = text_of(draft, command->text);
        guint32 node = draft_keys(draft, i)[KEY_COMMAND];

        if (command->pieces || text[strspn(text, " \t\r\n")] || !draft_is_standalone(draft, i))
                return;
        warn(draft, node ? node : draft_component_node(draft, i), i, "command",
             "the step has no command: it fails (RE-05)");
}

static void warn_component(Draft *draft, guint32 i)
{
        const Component *component = draft_component(draft, i);
        const guint32 *keys = draft_keys(draft, i);

        if (component->loops)
                warn_loop(draft, i);
        if (component->looks)
                warn_condition(draft, i);
        for (guint32 k = component->variables; k < component[1].variables; k++)
                warn_variable(draft, i, k);
        warn_text(draft, keys[KEY_COMMAND], i, "command", &component->command, i);
        if (!component->dag && !keys[KEY_REFERENCE])
                warn_command(draft, i);
        warn_literal(draft, keys[KEY_DOCKER_ENV], i, KEY_DOCKER_ENV);
        warn_literal(draft, keys[KEY_PACKAGE], i, KEY_PACKAGE);
        if (component->parent == DEFINITION_POST)
                warn_post(draft, i);
}

void add_warnings(Draft *draft)
{
        guint32 parallelism = draft->top[KEY_PARALLELISM];
        int max = draft->definition.parallelism;

        if (parallelism && draft_node(draft, parallelism)->kind == DOCUMENT_INT &&
            draft_node(draft, parallelism)->whole > max)
                warn(draft, parallelism, (guint32)DEFINITION_NONE, "parallelism",
                     "a run has at most %d steps at one time, unless the administrator allows more", max);
        warn_literal(draft, draft->top[KEY_DOCKER_ENV], (guint32)DEFINITION_NONE, KEY_DOCKER_ENV);
        for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++)
                if (!draft_component(draft, i)->disabled)
                        warn_component(draft, i);
}
