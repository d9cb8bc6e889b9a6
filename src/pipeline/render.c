/* Rendering (see render.h).
 *
 * A parameter may take its value from that of a sibling, and so on along a chain as long as the text. So
 * they are resolved with a stack of their own, and each only once. */
#include "pipeline/render.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/items.h"
#include "base/keyed-hash.h"
#include "pipeline/declared-type.h"
#include "pipeline/edit.h"
#include "pipeline/render-internal.h"
#include "pipeline/value.h"

enum {
        KEPT_MIN = 1024, /* bytes of a text that all instances share */
        JSON_VALUE = 64, /* bytes of memory of a value in JSON, beside its text */
        JSON_LIST = 192, /* ... of a list, with the place of its first items */
        MEMO_FROM = 64,  /* parameters that one component needed: from then on values are kept */
        MEMO_MAX = 1024, /* values that are kept; then they are dropped, and kept anew */
        MEMO_BYTES_MAX = 1024 * 1024,
};

void rendered_clear(Rendered *rendered)
{
        json_decref(rendered->parameters);
        json_decref(rendered->inputs);
        json_decref(rendered->outputs);
        json_decref(rendered->env);
        g_free(rendered->command);
        g_free(rendered->condition);
        *rendered = (Rendered){ 0 };
}

/* ---- values ---- */

static json_t *json_of(const Definition *definition, const Value *value)
{
        json_t *list;

        switch ((ValueKind)value->kind) {
        case VALUE_INT: return json_integer(value->whole);
        case VALUE_FLOAT: return json_real(value->real);
        case VALUE_TEXT: return json_string(definition_text(definition, value->text.text));
        case VALUE_LIST:
                list = json_array();
                for (guint32 i = 0; i < value->list.count; i++)
                        json_array_append_new(list,
                                              json_of(definition, &definition->items[value->list.first + i]));
                return list;
        default: return json_string("");
        }
}

static void list_unref(void *list)
{
        json_decref(list);
}

/* A short text is copied faster than found. Only texts of parameters become JSON as they are. */
static bool is_kept(const Definition *definition, const Value *value)
{
        if (value->kind == VALUE_TEXT && value->role == ROLE_PARAMETER && !value->text.pieces)
                return strlen(definition_text(definition, value->text.text)) > KEPT_MIN;
        return value->kind == VALUE_LIST;
}

static void keep_list(GHashTable *lists, const Definition *definition, const Value *value)
{
        if (is_kept(definition, value))
                g_hash_table_insert(lists, (void *)value, json_of(definition, value));
}

GHashTable *render_lists(const Definition *definition)
{
        GHashTable *lists = g_hash_table_new_full(NULL, NULL, NULL, list_unref);

        for (guint32 i = 0; i < definition->n_components; i++) {
                const Component *component = &definition->components[i];

                for (guint32 k = component->variables; k < component[1].variables; k++)
                        keep_list(lists, definition, &definition->variables[k]);
                if (component->extra)
                        keep_list(lists, definition, &component_extra(definition, i)->loop);
        }
        return lists;
}

static gsize json_size(const Definition *definition, const Value *value)
{
        if (value->kind == VALUE_TEXT)
                return JSON_VALUE + strlen(definition_text(definition, value->text.text));
        return value->kind == VALUE_LIST ? JSON_LIST : JSON_VALUE;
}

static gsize kept_size(const Definition *definition, const Value *value)
{
        return is_kept(definition, value) ? json_size(definition, value) : 0;
}

gsize render_lists_size(const Definition *definition)
{
        gsize ret = 0;

        for (guint32 i = 0; i < definition->n_items; i++) /* each is in one list */
                ret += json_size(definition, &definition->items[i]);
        for (guint32 i = 0; i < definition->n_components; i++) {
                const Component *component = &definition->components[i];

                for (guint32 k = component->variables; k < component[1].variables; k++)
                        ret += kept_size(definition, &definition->variables[k]);
                if (component->extra)
                        ret += kept_size(definition, &component_extra(definition, i)->loop);
        }
        return ret;
}

/* As json_of, but what is kept is not made again. */
static json_t *value_of(const RenderContext *context, const Value *value)
{
        bool may = value->kind == VALUE_LIST || value->kind == VALUE_TEXT;
        json_t *kept = context->lists && may ? g_hash_table_lookup(context->lists, value) : NULL;

        return kept ? json_incref(kept) : json_of(context->definition, value);
}

static void write_text(GString *out, const json_t *value)
{
        const json_t *item;
        size_t i;

        if (json_is_integer(value)) {
                g_string_append_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        } else if (json_is_real(value)) {
                value_write_real(out, json_real_value(value));
        } else if (json_is_array(value)) {
                g_string_append_c(out, '[');
                json_array_foreach(value, i, item) {
                        g_string_append(out, i ? " " : "");
                        write_text(out, item);
                }
                g_string_append_c(out, ']');
        } else {
                g_string_append(out, json_is_string(value) ? json_string_value(value) : "");
        }
}

char *render_text(const json_t *value)
{
        GString *out = g_string_new(NULL);

        write_text(out, value);
        return g_string_free(out, FALSE);
}

bool render_fits(const GString *text, GError **error)
{
        return text->len <= RENDER_TEXT_MAX ||
               err_set(error, ERR_INVALID, "RE-03: a text with its templates is longer than %d bytes",
                       RENDER_TEXT_MAX);
}

bool render_all_fit(gsize *len, gsize more, const char *what, GError **error)
{
        *len += more;
        return *len <= RENDER_ALL_MAX ||
               err_set(error, ERR_INVALID, "RE-03: %s with their templates are longer than %d bytes", what,
                       RENDER_ALL_MAX);
}

void render_count_work(const RenderContext *context, gsize bytes)
{
        if (context->memo)
                context->memo->work += bytes;
}

/* ---- parameters ---- */

/* A parameter of a component in an instance of a DAG. */
typedef struct {
        const RenderDag *dag;
        guint32 component, name;
} Need;

static guint need_hash(const void *data)
{
        const Need *need = data;
        guint64 mixed = (guint64)GPOINTER_TO_SIZE(need->dag) ^ ((guint64)need->component << 32 | need->name);

        return (guint)((mixed * 0x9e3779b97f4a7c15ULL) >> 32);
}

static gboolean need_equal(const void *a, const void *b)
{
        const Need *one = a, *two = b;

        return one->dag == two->dag && one->component == two->component && one->name == two->name;
}

/* The same in a RenderMemo, beyond the life of the RenderDag. */
typedef struct {
        guint32 dag, component, name;
} MemoKey;

static guint memo_hash(const void *data)
{
        const MemoKey *key = data;
        guint64 mixed =
                (guint64)key->dag * 0xff51afd7ed558ccdULL ^ ((guint64)key->component << 32 | key->name);

        return (guint)((mixed * 0x9e3779b97f4a7c15ULL) >> 32);
}

static gboolean memo_equal(const void *a, const void *b)
{
        return memcmp(a, b, sizeof(MemoKey)) == 0;
}

static void drop_values(RenderMemo *memo)
{
        g_hash_table_remove_all(memo->values);
        memo->bytes = 0;
}

void render_memo_clear(RenderMemo *memo)
{
        g_clear_pointer(&memo->values, g_hash_table_unref);
        memo->bytes = 0;
}

static json_t *memo_find(const RenderMemo *memo, const Need *need)
{
        const MemoKey key = { need->dag->id, need->component, need->name };

        return memo && memo->values && key.dag ? g_hash_table_lookup(memo->values, &key) : NULL;
}

static void memo_keep(RenderMemo *memo, const Need *need, json_t *value)
{
        const MemoKey key = { need->dag->id, need->component, need->name };

        if (!memo || !memo->values || !key.dag || json_string_length(value) > MEMO_BYTES_MAX)
                return;
        if (g_hash_table_size(memo->values) >= MEMO_MAX ||
            memo->bytes + json_string_length(value) > MEMO_BYTES_MAX)
                drop_values(memo);
        memo->bytes += json_string_length(value);
        g_hash_table_replace(memo->values, g_memdup2(&key, sizeof key), json_incref(value));
}

typedef struct {
        const RenderContext *context;
        GHashTable *known; /* Need * -> json_t * */
        GArray *stack;     /* Need */
        gsize len;         /* of all texts with templates, as RENDER_ALL_MAX counts */
} Resolver;

/* The text of a parameter. */
static json_t *text_result(const GString *text, GError **error)
{
        json_t *ret = json_stringn(text->str, text->len);

        if (!ret)
                err_set(error, ERR_INVALID, "RE-03: a text with its templates is not UTF-8");
        return ret;
}

/* The parameter that a piece refers to. */
static bool need_of(const Piece *piece, const Need *of, Need *ret)
{
        if (piece->kind == PIECE_SIBLING_PARAMETER)
                *ret = (Need){ of->dag, piece->component, piece->name };
        else if (piece->kind == PIECE_PARENT_PARAMETER)
                *ret = (Need){ of->dag->parent, of->dag->component, piece->name };
        else
                return false;
        return true;
}

static json_t *item_or_empty(const json_t *item)
{
        return item ? json_incref((json_t *)item) : json_string("");
}

/* A piece of a parameter. PF_LOOP_ARGUMENT is that of the DAG around, as text. */
static json_t *piece_value(const Resolver *resolver, const Piece *piece, const Need *of)
{
        const RenderContext *context = resolver->context;
        Need need;

        if (need_of(piece, of, &need))
                return json_incref(g_hash_table_lookup(resolver->known, &need));
        if (piece->kind == PIECE_PARENT_LOOP)
                return item_or_empty(of->dag->item);
        if (piece->kind != PIECE_SYSTEM)
                return json_stringn(text_at(context, piece->at), piece->len);
        switch ((SystemVariable)piece->component) {
        case SYSTEM_RUN_ID: return json_string(context->run_id);
        case SYSTEM_USER_NAME: return json_string(context->user);
        case SYSTEM_STEP_NAME: return json_string(component_name(context->definition, of->component));
        default: {
                g_autofree char *text = of->dag->item ? render_text(of->dag->item) : g_strdup("");

                return json_string(text);
        }
        }
}

static json_t *resolve_pieces(Resolver *resolver, const Text *text, const Need *of, GError **error)
{
        const Piece *piece = &resolver->context->definition->pieces[text->pieces];
        g_autoptr(GString) out = NULL;

        if (piece->last)
                return piece_value(resolver, piece, of); /* one template: the value keeps its type */
        out = g_string_new(NULL);
        for (;; piece++) {
                g_autoptr(json_t) value = piece_value(resolver, piece, of);
                gsize before = out->len;

                write_text(out, value);
                if (!render_all_fit(&resolver->len, RENDER_TEMPLATE + out->len - before,
                                    "the parameters of a component", error) ||
                    !render_fits(out, error))
                        return NULL;
                if (piece->last)
                        return text_result(out, error);
        }
}

/* The type that the target at the end of the chain declares. */
static bool check_type(const RenderContext *context, const Need *need, const json_t *value, GError **error)
{
        guint32 target = component_target(context->definition, need->component);
        guint32 at = component_find(context->definition, target, ROLE_PARAMETER, need->name);
        const char *fault =
                at == (guint32)DEFINITION_NONE
                        ? NULL
                        : type_json_fault((ValueType)context->definition->variables[at].type, value);

        return !fault || err_set(error, ERR_INVALID, "RE-03: the parameter '%s' of '%s' %s",
                                 text_at(context, need->name),
                                 component_name(context->definition, need->component), fault);
}

/* The value to which the parameter was changed; borrowed, or NULL. */
static json_t *edited(const RenderContext *context, const Need *need)
{
        g_autofree char *path =
                context->edits ? edit_path(context->definition, need->dag, need->component) : NULL;

        return path ? json_object_get(json_object_get(context->edits, path), text_at(context, need->name))
                    : NULL;
}

/* Also if an earlier instance needed it. */
static bool is_known(Resolver *resolver, const Need *need)
{
        json_t *value;

        if (g_hash_table_contains(resolver->known, need))
                return true;
        value = memo_find(resolver->context->memo, need);
        if (value)
                g_hash_table_insert(resolver->known, g_memdup2(need, sizeof *need), json_incref(value));
        return value != NULL;
}

/* True if other parameters have to be known first; they are then on the stack. All at once, since the text is looked
 * through again afterwards; one may be there twice. */
static bool push_missing(Resolver *resolver, const Text *text, const Need *of)
{
        guint before = resolver->stack->len;
        Need need;

        for (const Piece *piece = &resolver->context->definition->pieces[text->pieces];; piece++) {
                if (need_of(piece, of, &need) && !is_known(resolver, &need))
                        g_array_append_val(resolver->stack, need);
                if (piece->last)
                        return resolver->stack->len > before;
        }
}

static bool resolve_top(Resolver *resolver, GError **error)
{
        Need need = g_array_index(resolver->stack, Need, resolver->stack->len - 1);
        const Definition *definition = resolver->context->definition;
        guint32 owner;
        const Value *value = component_parameter(definition, need.component, need.name, &owner);
        json_t *changed = edited(resolver->context, &need);
        bool templates = !changed && value && value->kind == VALUE_TEXT && value->text.pieces;
        json_t *result;

        if (g_hash_table_contains(resolver->known, &need)) {
                g_array_set_size(resolver->stack, resolver->stack->len - 1);
                return true;
        }
        if (templates && push_missing(resolver, &value->text, &need))
                return true;
        if (!value)
                return err_set(error, ERR_INVALID, "RE-03: '%s' has no parameter '%s'",
                               component_name(definition, need.component),
                               definition_text(definition, need.name));
        result = changed     ? json_incref(changed)
                 : templates ? resolve_pieces(resolver, &value->text, &need, error)
                             : value_of(resolver->context, value);
        if (!result)
                return !(error && *error) &&
                       err_set(error, ERR_INVALID, "RE-03: the parameter '%s' is not UTF-8",
                               text_at(resolver->context, need.name));
        g_hash_table_insert(resolver->known, g_memdup2(&need, sizeof(need)), result);
        memo_keep(resolver->context->memo, &need, result);
        g_array_set_size(resolver->stack, resolver->stack->len - 1);
        return !templates || check_type(resolver->context, &need, result, error);
}

static json_t *resolve(Resolver *resolver, Need need, GError **error)
{
        g_array_append_val(resolver->stack, need);
        while (resolver->stack->len)
                if (!resolve_top(resolver, error))
                        return NULL;
        return json_incref(g_hash_table_lookup(resolver->known, &need));
}

static bool resolve_all(Resolver *resolver, const RenderDag *dag, guint32 component, json_t *ret,
                        GError **error)
{
        const Definition *definition = resolver->context->definition;
        guint32 target = component_target(definition, component);

        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++) {
                const Value *variable = &definition->variables[k];
                json_t *value;

                if (variable->role != ROLE_PARAMETER)
                        continue;
                value = resolve(resolver, (Need){ dag, component, variable->name }, error);
                if (!value)
                        return false;
                json_object_set_new(ret, definition_text(definition, variable->name), value);
        }
        return true;
}

static void begin_memo(const Resolver *resolver)
{
        RenderMemo *memo = resolver->context->memo;

        if (memo && !memo->values && g_hash_table_size(resolver->known) > MEMO_FROM)
                memo->values =
                        g_hash_table_new_full(memo_hash, memo_equal, g_free, (GDestroyNotify)json_decref);
}

json_t *render_parameters(const RenderContext *context, const RenderDag *dag, guint32 component,
                          GError **error)
{
        Resolver resolver = { .context = context, .stack = g_array_new(FALSE, FALSE, sizeof(Need)) };
        json_t *parameters = json_object();

        resolver.known = g_hash_table_new_full(need_hash, need_equal, g_free, (GDestroyNotify)json_decref);
        if (!resolve_all(&resolver, dag, component, parameters, error))
                g_clear_pointer(&parameters, json_decref);
        begin_memo(&resolver);
        render_count_work(context, resolver.len + (gsize)g_hash_table_size(resolver.known) * RENDER_VALUE);
        g_hash_table_unref(resolver.known);
        g_array_unref(resolver.stack);
        return parameters;
}

/* ---- loops ---- */

static json_t *list_of(const json_t *value, GError **error)
{
        g_autoptr(json_t) parsed = NULL;

        if (json_is_array(value))
                return json_incref((json_t *)value);
        if (json_is_string(value))
                parsed = json_parse(json_string_value(value), json_string_length(value), NULL);
        if (json_is_array(parsed))
                return g_steal_pointer(&parsed);
        (void)items_refuse(value, error);
        return NULL;
}

const char *render_loop_input(const Definition *definition, guint32 component)
{
        const Value *loop = &component_extra(definition, component_target(definition, component))->loop;
        const Piece *piece = &definition->pieces[loop->text.pieces];

        if (loop->kind != VALUE_TEXT || !loop->text.pieces || piece->kind != PIECE_INPUT)
                return NULL;
        return definition_text(definition, piece->name);
}

json_t *render_loop_value(const RenderContext *context, guint32 component, const json_t *parameters,
                          const char **ret_input)
{
        const Definition *definition = context->definition;
        const Value *loop = &component_extra(definition, component_target(definition, component))->loop;
        const Piece *piece;
        json_t *value;

        if (loop->kind == VALUE_LIST)
                return value_of(context, loop);
        piece = &definition->pieces[loop->text.pieces];
        if (piece->kind == PIECE_INPUT) {
                *ret_input = definition_text(definition, piece->name);
                return NULL;
        }
        value = json_object_get(parameters, definition_text(definition, piece->name));
        return value ? json_incref(value) : json_null();
}

json_t *render_loop(const RenderContext *context, guint32 component, const json_t *parameters,
                    const char **ret_input, GError **error)
{
        g_autoptr(json_t) value = render_loop_value(context, component, parameters, ret_input);

        return value ? list_of(value, error) : NULL;
}

/* ---- texts of one instance ---- */

typedef struct {
        const RenderContext *context;
        guint32 component; /* as it is written */
        const json_t *item;
        const Rendered *rendered;
        const json_t *contents; /* for a condition; otherwise artifacts are paths in the container */
        bool condition;
        bool unknown; /* set when a content is missing */
        gsize len;    /* of its texts, as RENDER_ALL_MAX counts */
} Instance;

static bool texts_fit(Instance *instance, gsize more, GError **error)
{
        render_count_work(instance->context, more);
        return render_all_fit(&instance->len, more, "the variables, the command and the condition of a step",
                              error);
}

static void write_artifact(GString *out, const Instance *instance, const json_t *paths, const char *name)
{
        const char *path = json_string_value(json_object_get(paths, name));
        g_autofree char *text = render_container_paths(instance->context, path ? path : "");

        g_string_append(out, text);
}

static void write_system(GString *out, const Instance *instance, SystemVariable variable)
{
        g_autofree char *item = NULL;

        switch (variable) {
        case SYSTEM_RUN_ID: g_string_append(out, instance->context->run_id); break;
        case SYSTEM_USER_NAME: g_string_append(out, instance->context->user); break;
        case SYSTEM_STEP_NAME:
                g_string_append(out, component_name(instance->context->definition, instance->component));
                break;
        default:
                item = instance->item ? render_text(instance->item) : g_strdup("");
                g_string_append(out, item);
        }
}

static void write_content(GString *out, Instance *instance, const Piece *piece, const char *name)
{
        const json_t *content = json_object_get(instance->contents, name);

        if (content) {
                g_string_append(out, json_string_value(content));
                return;
        }
        instance->unknown = true;
        g_string_append_len(out, text_at(instance->context, piece->at), piece->len);
}

/* In a text that is not for a program. */
static bool stays(const Instance *instance, const Piece *piece)
{
        return (piece->kind == PIECE_OUTPUT && instance->context->keep_outputs) ||
               (piece->kind == PIECE_INPUT && instance->context->keep_inputs);
}

static void write_piece(GString *out, Instance *instance, const Piece *piece)
{
        const char *name = text_at(instance->context, piece->name);

        if (stays(instance, piece)) {
                g_string_append_len(out, text_at(instance->context, piece->at), piece->len);
                return;
        }
        switch ((PieceKind)piece->kind) {
        case PIECE_SYSTEM: write_system(out, instance, (SystemVariable)piece->component); break;
        case PIECE_PARAMETER: write_text(out, json_object_get(instance->rendered->parameters, name)); break;
        case PIECE_INPUT:
                if (instance->condition)
                        write_content(out, instance, piece, name);
                else
                        write_artifact(out, instance, instance->rendered->inputs, name);
                break;
        case PIECE_OUTPUT: write_artifact(out, instance, instance->rendered->outputs, name); break;
        default: g_string_append_len(out, text_at(instance->context, piece->at), piece->len);
        }
}

static char *instance_text(Instance *instance, const Text *text, GError **error)
{
        const char *plain = text_at(instance->context, text->text);
        g_autoptr(GString) out = NULL;

        if (!text->pieces)
                return texts_fit(instance, strlen(plain), error) ? g_strdup(plain) : NULL;
        out = g_string_new(NULL);
        for (const Piece *piece = &instance->context->definition->pieces[text->pieces];; piece++) {
                gsize before = out->len;

                write_piece(out, instance, piece);
                if (!texts_fit(instance, RENDER_TEMPLATE + out->len - before, error) ||
                    !render_fits(out, error))
                        return NULL;
                if (piece->last)
                        return g_string_free(g_steal_pointer(&out), FALSE);
        }
}

/* ---- variables ---- */

static bool set_system(Instance *instance, json_t *env, GError **error)
{
        for (SystemVariable i = 0; i < SYSTEM_VARIABLES; i++) {
                g_autoptr(GString) text = g_string_new(NULL);

                write_system(text, instance, i);
                if (!texts_fit(instance, text->len, error))
                        return false;
                json_object_set_new(env, system_variables[i], json_string(text->str));
        }
        return true;
}

static bool set_artifacts(Instance *instance, json_t *env, const json_t *paths, const char *prefix,
                          GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)paths, name, value) {
                g_autofree char *upper = g_ascii_strup(name, -1),
                                *variable = g_strconcat(prefix, upper, NULL);
                g_autoptr(GString) text = g_string_new(NULL);

                write_artifact(text, instance, paths, name);
                if (!texts_fit(instance, text->len, error))
                        return false;
                json_object_set_new(env, variable, json_string(text->str));
        }
        return true;
}

/* Variables that are not there yet. */
static bool set_variables(Instance *instance, json_t *env, guint32 component, GError **error)
{
        const Definition *definition = instance->context->definition;

        for (guint32 k = definition->components[component].variables;
             k < definition->components[component + 1].variables; k++) {
                const Value *variable = &definition->variables[k];
                const char *name = definition_text(definition, variable->name);
                g_autofree char *text = NULL;

                if (variable->role != ROLE_ENV || json_object_get(env, name))
                        continue;
                text = instance_text(instance, &variable->text, error);
                if (!text || !texts_fit(instance, RENDER_VALUE, error))
                        return false;
                json_object_set_new(env, name, json_string(text));
        }
        return true;
}

static json_t *render_env(Instance *instance, guint32 target, GError **error)
{
        g_autoptr(json_t) env = json_object();

        if (!set_variables(instance, env, target, error) ||
            !set_variables(instance, env, DEFINITION_ROOT, error) || !set_system(instance, env, error) ||
            !set_artifacts(instance, env, instance->rendered->inputs, RENDER_INPUT_PREFIX, error) ||
            !set_artifacts(instance, env, instance->rendered->outputs, RENDER_OUTPUT_PREFIX, error))
                return NULL;
        return g_steal_pointer(&env);
}

/* ---- one instance ---- */

GPtrArray *render_condition_inputs(const Definition *definition, guint32 component)
{
        const Text *condition =
                &component_extra(definition, component_target(definition, component))->condition;
        g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL); /* equal names share one text */
        GPtrArray *names = g_ptr_array_new();

        if (!condition->pieces)
                return names;
        for (const Piece *piece = &definition->pieces[condition->pieces];; piece++) {
                char *name = (char *)definition_text(definition, piece->name);

                if (piece->kind == PIECE_INPUT && g_hash_table_add(known, name))
                        g_ptr_array_add(names, name);
                if (piece->last)
                        return names;
        }
}

static bool render_condition(Instance *instance, guint32 target, Rendered *ret, GError **error)
{
        const Text *condition = &component_extra(instance->context->definition, target)->condition;

        if (!condition->text)
                return true;
        instance->condition = true;
        ret->condition = instance_text(instance, condition, error);
        instance->condition = false;
        ret->condition_known = !instance->unknown;
        return ret->condition != NULL;
}

static bool render_all(Instance *instance, const RenderDag *dag, guint32 seq, Rendered *ret, GError **error)
{
        const RenderContext *context = instance->context;
        guint32 target = component_target(context->definition, instance->component);

        ret->parameters = render_parameters(context, dag, instance->component, error);
        ret->inputs = ret->parameters ? render_inputs(context, dag, instance->component, error) : NULL;
        ret->outputs = ret->inputs ? render_outputs(context, dag, instance->component, seq, error) : NULL;
        if (!ret->outputs || !render_condition(instance, target, ret, error))
                return false;
        if (context->definition->components[target].dag)
                return true;
        ret->env = render_env(instance, target, error);
        ret->command =
                ret->env ? instance_text(instance, &context->definition->components[target].command, error)
                         : NULL;
        return ret->command != NULL;
}

bool render_instance(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                     const json_t *item, const json_t *contents, Rendered *ret, GError **error)
{
        g_auto(Rendered) rendered = { 0 };
        Instance instance = { .context = context,
                              .component = component,
                              .item = item,
                              .contents = contents,
                              .rendered = &rendered };

        if (!render_all(&instance, dag, seq, &rendered, error))
                return false;
        *ret = rendered;
        rendered = (Rendered){ 0 };
        return true;
}
