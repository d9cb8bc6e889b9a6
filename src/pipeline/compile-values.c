/* Parameters, environment, artifacts and loops of a component: from the document to values. What the values
 * may be is checked later (check-components.c), except for their types where the language calls that PE-02. */
#include <string.h>

#include "base/err.h"
#include "pipeline/draft.h"
#include "pipeline/template.h"
#include "pipeline/value.h"

/* ---- values ---- */

static void fill_list(Draft *draft, const Document *document, guint32 node, Value *ret);

/* A scalar or list; anything else stays VALUE_NONE. Texts in lists have no templates. */
static void fill_value(Draft *draft, const Document *document, guint32 node, bool item, Value *ret)
{
        const DocumentNode *from = &document->nodes[node];

        switch ((DocumentKind)from->kind) {
        case DOCUMENT_INT:
                ret->kind = VALUE_INT;
                ret->whole = from->whole;
                break;
        case DOCUMENT_FLOAT:
                ret->kind = value_whole(from->real, &ret->whole) ? VALUE_INT : VALUE_FLOAT;
                if (ret->kind == VALUE_FLOAT)
                        ret->real = from->real;
                break;
        case DOCUMENT_TEXT:
                ret->kind = VALUE_TEXT;
                ret->text = item ? (Text){ draft_intern(draft, document_text(document, node)), 0 }
                                 : draft_text(draft, document_text(document, node));
                break;
        case DOCUMENT_LIST: fill_list(draft, document, node, ret); break;
        default: break;
        }
}

/* The items of a list lie side by side, those of lists in it behind them. */
static void fill_list(Draft *draft, const Document *document, guint32 node, Value *ret)
{
        const DocumentNode *nodes = document->nodes;
        guint32 first = draft->items->len, at = first;

        ret->kind = VALUE_LIST;
        ret->list.first = first;
        ret->list.count = nodes[node].count;
        g_array_set_size(draft->items, first + nodes[node].count);
        for (guint32 i = node + 1; i < nodes[node].next; i = nodes[i].next, at++) {
                Value item = { .role = ROLE_ITEM };

                fill_value(draft, document, i, true, &item);
                g_array_index(draft->items, Value, at) = item;
        }
}

static Value *append_variable(Draft *draft, guint32 node, ValueRole role, const char *name)
{
        Value variable = { .role = (guint8)role, .name = draft_intern(draft, name) };

        g_array_append_val(draft->variables, variable);
        g_array_append_val(draft->variable_nodes, node);
        return draft_variable(draft, draft->variables->len - 1);
}

static const char *name_at(const Draft *draft, guint32 node)
{
        return document_text(draft->document, node);
}

/* ---- parameters ---- */

static const char *const type_names[] = { [TYPE_STRING] = "string",
                                          [TYPE_INT] = "int",
                                          [TYPE_FLOAT] = "float",
                                          [TYPE_PATH] = "path",
                                          [TYPE_LIST] = "list" };

static ValueType type_of(const Draft *draft, guint32 node)
{
        if (draft_node(draft, node)->kind != DOCUMENT_TEXT)
                return TYPE_UNKNOWN;
        for (ValueType type = TYPE_STRING; type < TYPE_UNKNOWN; type++)
                if (strcmp(name_at(draft, node), type_names[type]) == 0)
                        return type;
        return TYPE_UNKNOWN;
}

/* {type: int, default: 3}; the case of the two keys does not matter. */
static void fill_declared(Draft *draft, guint32 map, Value *ret)
{
        const DocumentNode *nodes = draft->document->nodes;
        guint32 type = 0, fallback = 0;

        for (guint32 key = map + 1; key < nodes[map].next; key = nodes[key + 1].next) {
                if (g_ascii_strcasecmp(name_at(draft, key), "type") == 0)
                        type = key + 1;
                else if (g_ascii_strcasecmp(name_at(draft, key), "default") == 0)
                        fallback = key + 1;
        }
        if (type)
                ret->type = (guint8)type_of(draft, type);
        if (type && fallback)
                fill_value(draft, draft->document, fallback, false, ret);
}

static void read_parameter(Draft *draft, guint32 key)
{
        Value value = { .role = ROLE_PARAMETER, .name = draft_intern(draft, name_at(draft, key)) };

        if (draft_node(draft, key + 1)->kind == DOCUMENT_MAP)
                fill_declared(draft, key + 1, &value);
        else
                fill_value(draft, draft->document, key + 1, false, &value);
        g_array_append_val(draft->variables, value);
        g_array_append_val(draft->variable_nodes, key);
}

static bool is_too_large(Draft *draft, guint32 component, guint32 map)
{
        if (!map || draft_node(draft, map)->count <= DEFINITION_VARIABLES_MAX)
                return false;
        draft_refuse(draft, PE_35, map, component, NULL, "more than %d parameters or variables",
                     DEFINITION_VARIABLES_MAX);
        return true;
}

/* ---- environment ---- */

static char *env_text(const Draft *draft, guint32 node)
{
        const DocumentNode *value = draft_node(draft, node);

        switch ((DocumentKind)value->kind) {
        case DOCUMENT_TEXT: return g_strdup(name_at(draft, node));
        case DOCUMENT_INT: return g_strdup_printf("%" G_GINT64_FORMAT, value->whole);
        case DOCUMENT_FLOAT: return value_env_real(value->real);
        default: return NULL;
        }
}

static void add_env(Draft *draft, guint32 node, const char *name, const char *text)
{
        Text value = draft_text(draft, text);
        Value *variable = append_variable(draft, node, ROLE_ENV, name);

        variable->kind = VALUE_TEXT;
        variable->text = value;
}

static void read_env(Draft *draft, guint32 component, guint32 key)
{
        g_autofree char *text = env_text(draft, key + 1);
        bool fits = text && strlen(text) <= PIPELINE_TEXT_MAX;
        g_autofree char *suffix = fits ? NULL : g_strdup_printf("env.%s", name_at(draft, key));

        if (fits)
                add_env(draft, key, name_at(draft, key), text);
        else if (text)
                draft_refuse(draft, PE_02, key + 1, component, suffix, "is longer than %d bytes",
                             PIPELINE_TEXT_MAX);
        else
                draft_refuse(draft, PE_02, key + 1, component, suffix, "must be text or a number");
}

static bool has_env(const Draft *draft, guint32 component, const char *name)
{
        guint32 known = draft_interned(draft, name);

        for (guint32 i = draft_component(draft, component)->variables; known && i < draft->variables->len;
             i++)
                if (draft_variable(draft, i)->role == ROLE_ENV && draft_variable(draft, i)->name == known)
                        return true;
        return false;
}

static void add_shortcuts(Draft *draft, guint32 component, const guint32 *keys)
{
        static const struct {
                Key key;
                const char *name;
        } shortcuts[] = { { KEY_FLAVOUR, "PF_JOB_FLAVOUR" },
                          { KEY_QUEUE, "PF_JOB_QUEUE_NAME" },
                          { KEY_JOB_TYPE, "PF_JOB_TYPE" } };

        for (size_t i = 0; i < G_N_ELEMENTS(shortcuts); i++) {
                guint32 node = keys[shortcuts[i].key];

                if (node && *name_at(draft, node) && !has_env(draft, component, shortcuts[i].name))
                        add_env(draft, node, shortcuts[i].name, name_at(draft, node));
        }
}

/* In the body of a run as JSON, a step's variables are its own, then its shortcuts, then those of the whole run,
 * which are kept once: steps times variables may be any number. */
void compile_shared_env(Draft *draft)
{
        const DocumentNode *nodes = draft->document->nodes;
        guint32 map = draft->top[KEY_ENV];

        if (is_too_large(draft, (guint32)DEFINITION_NONE, map))
                return;
        for (guint32 key = map + 1; map && key < nodes[map].next; key = nodes[key + 1].next)
                read_env(draft, (guint32)DEFINITION_NONE, key);
        add_shortcuts(draft, DEFINITION_ROOT, draft->top);
}

/* ---- artifacts ---- */

/* A text, or nothing, which is an empty text. */
static const char *artifact_text(Draft *draft, guint32 component, guint32 key, const char *group)
{
        const DocumentNode *value = draft_node(draft, key + 1);
        g_autofree char *suffix = NULL;

        if (value->kind == DOCUMENT_TEXT)
                return name_at(draft, key + 1);
        if (value->kind == DOCUMENT_NULL)
                return "";
        suffix = g_strdup_printf("artifacts.%s.%s", group, name_at(draft, key));
        draft_refuse(draft, PE_02, key + 1, component, suffix, "must be text");
        return NULL;
}

static void add_artifact(Draft *draft, guint32 component, guint32 key, ValueRole role)
{
        const char *text = artifact_text(draft, component, key, role == ROLE_INPUT ? "input" : "output");
        Text value = draft_text(draft, text ? text : "");
        Value *variable = append_variable(draft, key, role, name_at(draft, key));

        variable->kind = text ? VALUE_TEXT : VALUE_NONE;
        variable->text = value;
        if (text && *text && role == ROLE_OUTPUT && !draft_component(draft, component)->dag)
                draft_refuse(draft, PE_02, key + 1, component, "artifacts.output",
                             "an output of a step is only a name: its path is chosen by the run");
}

static void read_artifacts(Draft *draft, guint32 component, guint32 map, ValueRole role)
{
        const DocumentNode *nodes = draft->document->nodes;

        for (guint32 key = map + 1; map && key < nodes[map].next; key = nodes[key + 1].next)
                add_artifact(draft, component, key, role);
}

static void read_output_names(Draft *draft, guint32 component, guint32 list)
{
        const DocumentNode *nodes = draft->document->nodes;

        if (draft_component(draft, component)->dag) {
                draft_mark_refused(draft, component, KEY_OUTPUT);
                draft_refuse(draft, PE_02, list, component, "artifacts.output",
                             "must be a map for a DAG: NAME: \"{{child.artifact}}\"");
                return;
        }
        for (guint32 i = list + 1; i < nodes[list].next; i = nodes[i].next) {
                if (nodes[i].kind == DOCUMENT_TEXT)
                        append_variable(draft, i, ROLE_OUTPUT, name_at(draft, i))->kind = VALUE_TEXT;
                else
                        draft_refuse(draft, PE_02, i, component, "artifacts.output",
                                     "each item must be a name");
        }
}

static void read_all_artifacts(Draft *draft, guint32 component, guint32 map)
{
        const DocumentNode *nodes = draft->document->nodes;
        guint32 input = 0, output = 0;

        for (guint32 key = map + 1; map && key < nodes[map].next; key = nodes[key + 1].next) {
                Key known = key_find(name_at(draft, key), IN_ARTIFACTS, false);
                DocumentKind kind = nodes[key + 1].kind;
                g_autofree char *advice = NULL;

                if (known == KEYS) {
                        Key meant = key_nearest(name_at(draft, key), IN_ARTIFACTS);

                        advice = key_advice(name_at(draft, key), IN_ARTIFACTS, meant);
                        draft_mark_refused(draft, component, meant < KEYS ? meant : KEY_ARTIFACTS);
                        draft_refuse(draft, PE_03, key, component, "artifacts",
                                     "there is no key '%.64s' here\n%s", name_at(draft, key), advice);
                } else if (kind == DOCUMENT_NULL) {
                        continue;
                } else if (!(key_rows[known].kinds & (1U << kind))) {
                        draft_mark_refused(draft, component, known);
                        draft_refuse(draft, PE_02, key + 1, component,
                                     known == KEY_INPUT ? "artifacts.input" : "artifacts.output",
                                     "must be %s", key_rows[known].type);
                } else if (known == KEY_INPUT) {
                        input = key + 1;
                } else {
                        output = key + 1;
                }
        }
        read_artifacts(draft, component, input, ROLE_INPUT);
        if (output && nodes[output].kind == DOCUMENT_LIST)
                read_output_names(draft, component, output);
        else
                read_artifacts(draft, component, output, ROLE_OUTPUT);
}

/* "name" when it comes with a wrong type is reported elsewhere; here each map is walked once. */
void compile_component_values(Draft *draft, guint32 component)
{
        const DocumentNode *nodes = draft->document->nodes;
        const guint32 *keys = draft_keys(draft, component);
        guint32 parameters = keys[KEY_PARAMETERS], env = keys[KEY_ENV];

        if (is_too_large(draft, component, parameters) || is_too_large(draft, component, env))
                return;
        for (guint32 key = parameters + 1; parameters && key < nodes[parameters].next;
             key = nodes[key + 1].next)
                read_parameter(draft, key);
        for (guint32 key = env + 1; env && key < nodes[env].next; key = nodes[key + 1].next)
                read_env(draft, component, key);
        if (draft->request->json_body && !draft_component(draft, component)->dag && !keys[KEY_REFERENCE])
                add_shortcuts(draft, component, keys);
        read_all_artifacts(draft, component, keys[KEY_ARTIFACTS]);
        if (draft->variables->len - draft_component(draft, component)->variables >
            4 * DEFINITION_VARIABLES_MAX)
                draft_refuse(draft, PE_35, draft_component_node(draft, component), component, NULL,
                             "more than %d parameters, variables and artifacts",
                             4 * DEFINITION_VARIABLES_MAX);
}

/* ---- loops ---- */

const char *compile_list_fault(const Document *document, guint32 node, guint32 *ret_node)
{
        const DocumentNode *nodes = document->nodes;
        Template template;

        *ret_node = node;
        switch ((DocumentKind)nodes[node].kind) {
        case DOCUMENT_INT:
        case DOCUMENT_FLOAT: return NULL;
        case DOCUMENT_TEXT:
                return template_find(document_text(document, node), &template) ? "a template" : NULL;
        case DOCUMENT_LIST:
                for (guint32 i = node + 1; i < nodes[node].next; i = nodes[i].next) {
                        const char *fault = compile_list_fault(document, i, ret_node);

                        if (fault)
                                return fault;
                }
                return NULL;
        case DOCUMENT_BOOL: return "true or false";
        default: return nodes[node].kind == DOCUMENT_NULL ? "an empty value" : "a map";
        }
}

static bool loop_over_list(Draft *draft, guint32 component, const Document *document, guint32 list,
                           guint32 node, Value *ret)
{
        guint32 item;
        const char *fault = compile_list_fault(document, list, &item);

        if (fault)
                draft_refuse(draft, PE_18, document == draft->document ? item : node, component,
                             "loop_argument",
                             "an item must be a number, text without templates or a list of these, not %s",
                             fault);
        else
                fill_list(draft, document, list, ret);
        return !fault;
}

static void loop_over_text(Draft *draft, guint32 component, guint32 node, const char *text, Value *ret)
{
        g_autoptr(Document) document = NULL;
        DocumentPlace place;
        Template template;

        if (template_is_whole(text, &template)) {
                ret->kind = VALUE_TEXT;
                ret->text = draft_text(draft, text);
                return;
        }
        document = document_parse_json(text, strlen(text), &document_limits, &place, NULL);
        if (document && document->nodes[0].kind == DOCUMENT_LIST)
                (void)loop_over_list(draft, component, document, 0, node, ret);
        else
                draft_refuse(draft, PE_18, node, component, "loop_argument",
                             "must be a list, a JSON list as text, or one template such as \"{{p}}\"");
}

void compile_loop(Draft *draft, guint32 component, guint32 node, Extra *extra)
{
        DocumentKind kind = draft_node(draft, node)->kind;

        draft_component(draft, component)->loops = true;
        extra->loop.role = ROLE_ITEM;
        if (kind == DOCUMENT_LIST)
                (void)loop_over_list(draft, component, draft->document, node, node, &extra->loop);
        else if (kind == DOCUMENT_TEXT)
                loop_over_text(draft, component, node, name_at(draft, node), &extra->loop);
        else
                draft_refuse(draft, PE_18, node, component, "loop_argument", "must be a list or text");
}

/* ---- values of a request ---- */

/* A JSON list in a text, as a value without places. */
bool compile_json_list(Draft *draft, const char *text, Value *ret)
{
        DocumentPlace place;
        g_autoptr(Document) document =
                document_parse_json(text, strlen(text), &document_limits, &place, NULL);
        guint32 item;

        if (!document || document->nodes[0].kind != DOCUMENT_LIST || compile_list_fault(document, 0, &item))
                return false;
        fill_list(draft, document, 0, ret);
        return true;
}
