/* Reading compiled definitions (see definition.h), and the order of the passes that make one. */
#include "pipeline/definition.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "pipeline/draft.h"

void definition_free(Definition *definition)
{
        g_free(definition); /* one block */
}

/* ---- reading ---- */

guint32 component_target(const Definition *definition, guint32 component)
{
        guint32 target = component_extra(definition, component)->target;

        return target ? target : component;
}

enum { SORTED_FROM = 16 }; /* variables or children of a component; fewer are compared one by one */

guint32 component_child(const Definition *definition, guint32 dag, const char *name)
{
        const Component *body = &definition->components[component_target(definition, dag)];
        guint32 from = body->children, end = body[1].children;
        bool sorted = end - from > SORTED_FROM;

        while (from < end) {
                guint32 middle = sorted ? from + (end - from) / 2 : from;
                guint32 child = sorted ? definition->children_sorted[middle] : from;
                int order = strcmp(component_name(definition, child), name);

                if (order == 0)
                        return child;
                if (sorted && order > 0)
                        end = middle;
                else
                        from = middle + 1;
        }
        return 0;
}

static bool is_variable(const Value *variable, ValueRole role, guint32 name)
{
        return variable->name == name && variable->role == role;
}

static bool is_before(const Value *variable, ValueRole role, guint32 name)
{
        return variable->name != name ? variable->name < name : variable->role < role;
}

/* The first of the sorted indices [from, end) that is not before this variable. */
static guint32 find_sorted(const Definition *definition, guint32 from, guint32 end, ValueRole role,
                           guint32 name)
{
        while (from < end) {
                guint32 middle = from + (end - from) / 2;

                if (is_before(&definition->variables[definition->sorted[middle]], role, name))
                        from = middle + 1;
                else
                        end = middle;
        }
        return from;
}

guint32 component_find(const Definition *definition, guint32 component, ValueRole role, guint32 name)
{
        guint32 from = definition->components[component].variables,
                end = definition->components[component + 1].variables;

        if (end - from > SORTED_FROM) {
                guint32 at = find_sorted(definition, from, end, role, name);

                return at < end && is_variable(&definition->variables[definition->sorted[at]], role, name)
                               ? definition->sorted[at]
                               : (guint32)DEFINITION_NONE;
        }
        for (guint32 i = from; i < end; i++)
                if (is_variable(&definition->variables[i], role, name))
                        return i;
        return (guint32)DEFINITION_NONE;
}

guint32 component_env(const Definition *definition, guint32 step, guint32 name)
{
        guint32 own = component_find(definition, step, ROLE_ENV, name);

        return own != (guint32)DEFINITION_NONE ? own
                                               : component_find(definition, DEFINITION_ROOT, ROLE_ENV, name);
}

const Value *component_parameter(const Definition *definition, guint32 component, guint32 name,
                                 guint32 *ret_owner)
{
        for (int i = 0; i <= DEFINITION_REFERENCES_MAX; i++) {
                guint32 at = component_find(definition, component, ROLE_PARAMETER, name);

                if (at != (guint32)DEFINITION_NONE) {
                        *ret_owner = component;
                        return &definition->variables[at];
                }
                component = component_extra(definition, component)->reference;
                if (!component)
                        break;
        }
        return NULL;
}

static void write_path(GString *out, const Definition *definition, guint32 component)
{
        static const char *const roots[] = { "entry_points", "components", "post_process" };

        if (component < DEFINITION_FIRST) {
                g_string_append(out, roots[component]);
                return;
        }
        write_path(out, definition, definition->components[component].parent);
        g_string_append_printf(out, ".%s", component_name(definition, component));
}

char *component_path(const Definition *definition, guint32 component)
{
        GString *out = g_string_new(NULL);

        write_path(out, definition, component);
        return g_string_free(out, FALSE);
}

/* The array has the number of paths, the place of each, and the paths: length, then components. The paths are
 * sorted by path_compare. */
static int path_compare(const guint32 *path, const guint32 *chain, gsize n)
{
        if (*path != n)
                return *path < n ? -1 : 1;
        for (gsize i = 0; i < n; i++)
                if (path[i + 1] != chain[i])
                        return path[i + 1] < chain[i] ? -1 : 1;
        return 0;
}

bool definition_is_disabled(const Definition *definition, const guint32 *chain, gsize n)
{
        const guint32 *disabled = definition->disabled;
        guint32 from = 0, end = *disabled;

        if (definition->components[chain[n - 1]].disabled)
                return true;
        while (from < end) {
                guint32 middle = from + (end - from) / 2;
                int order = path_compare(disabled + disabled[middle + 1], chain, n);

                if (order == 0)
                        return true;
                if (order < 0)
                        from = middle + 1;
                else
                        end = middle;
        }
        return false;
}

bool definition_uses_package(const Definition *definition)
{
        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++) {
                const Extra *extra = component_extra(definition, i);

                if (!definition->components[i].dag && !extra->reference && !extra->package)
                        return true;
        }
        return false;
}

CacheOptions component_cache(const Definition *definition, guint32 component, bool *ret_global)
{
        CacheOptions cache = component_extra(definition, component)->cache;
        const CacheOptions *global = &definition->cache;

        *ret_global = definition->components[component].parent != DEFINITION_POST;
        if (!*ret_global) {
                cache.expiry_s = cache.expires ? cache.expiry_s : -1;
                return cache;
        }
        if (cache.enable == CACHE_UNSET)
                cache.enable = global->enable;
        if (!cache.expires)
                cache.expiry_s = global->expires ? global->expiry_s : -1;
        if (!cache.has_fingerprint)
                cache.content = global->content;
        return cache;
}

/* ---- one block ---- */

static gsize add(gsize *size, const GArray *array, gsize item)
{
        gsize at = *size;

        *size += (array->len * item + 7) & ~(gsize)7;
        return at;
}

static void *put(char *block, gsize at, const GArray *array, gsize item)
{
        if (array->len) /* without items there may be no memory */
                memcpy(block + at, array->data, array->len * item);
        return block + at;
}

static int by_name(const void *a, const void *b, void *draft)
{
        const Draft *in = draft;

        return strcmp(component_name(&in->definition, *(const guint32 *)a),
                      component_name(&in->definition, *(const guint32 *)b));
}

/* Those of a DAG with few children are left in their order: they are not read. */
static void sort_children(Draft *draft)
{
        guint32 n = draft->definition.n_components;
        guint32 *sorted;

        g_array_set_size(draft->children_sorted, n);
        sorted = (guint32 *)(void *)draft->children_sorted->data;
        for (guint32 i = 0; i < n; i++)
                sorted[i] = i;
        for (guint32 i = 0; i < n; i++) {
                guint32 from = draft->definition.components[i].children,
                        end = draft->definition.components[i + 1].children;

                if (end - from > SORTED_FROM)
                        g_qsort_with_data(sorted + from, (gint)(end - from), sizeof(guint32), by_name, draft);
        }
}

static Definition *pack(Draft *draft)
{
        static const gsize items[] = { sizeof(Component), sizeof(Value),      sizeof(Value),
                                       sizeof(Piece),     sizeof(guint32),    sizeof(Extra),
                                       sizeof(StepMount), sizeof(CacheScope), sizeof(guint32),
                                       sizeof(guint32),   sizeof(guint32) };
        const GArray *arrays[] = { draft->components, draft->variables, draft->items,          draft->pieces,
                                   draft->links,      draft->extras,    draft->mounts,         draft->scopes,
                                   draft->disabled,   draft->sorted,    draft->children_sorted };
        gsize at[G_N_ELEMENTS(arrays)], size = (sizeof(Definition) + 7) & ~(gsize)7;
        void *parts[G_N_ELEMENTS(arrays)];
        char *block;
        Definition *definition;

        for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
                at[i] = add(&size, arrays[i], items[i]);
        block = g_malloc(size + draft->texts->len + 1);
        for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
                parts[i] = put(block, at[i], arrays[i], items[i]);
        memcpy(block + size, draft->texts->str, draft->texts->len + 1);
        definition = (Definition *)(void *)block;
        *definition = draft->definition;
        definition->components = parts[0];
        definition->variables = parts[1];
        definition->items = parts[2];
        definition->n_items = draft->items->len;
        definition->pieces = parts[3];
        definition->links = parts[4];
        definition->extras = parts[5];
        definition->mounts = parts[6];
        definition->scopes = parts[7];
        definition->disabled = parts[8];
        definition->sorted = parts[9];
        definition->children_sorted = parts[10];
        definition->texts = block + size;
        definition->size = size + draft->texts->len + 1;
        return definition;
}

/* ---- the passes ---- */

static GArray *array_new(gsize item)
{
        GArray *array = g_array_new(FALSE, TRUE, (guint)item);

        g_array_set_size(array, 1); /* index 0 stands for "none" */
        return array;
}

enum { COMPARISONS_MAX = 200 * 1000 }; /* of names for hints */

static void draft_init(Draft *draft)
{
        draft->components = g_array_new(FALSE, TRUE, sizeof(Component));
        draft->variables = g_array_new(FALSE, TRUE, sizeof(Value));
        draft->items = array_new(sizeof(Value));
        draft->pieces = array_new(sizeof(Piece));
        draft->links = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->extras = array_new(sizeof(Extra));
        draft->mounts = array_new(sizeof(StepMount));
        draft->scopes = array_new(sizeof(CacheScope));
        draft->disabled = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->sorted = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->children_sorted = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->refused = g_array_new(FALSE, TRUE, sizeof(guint64));
        g_array_set_size(draft->refused, 1); /* of the top level, before it is read */
        draft->component_nodes = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->variable_nodes = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->mount_nodes = array_new(sizeof(guint32));
        draft->scope_nodes = array_new(sizeof(guint32));
        draft->keys = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->stamps = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->texts = g_string_new(NULL);
        g_string_append_c(draft->texts, '\0');
        draft->interned = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        draft->by_name = g_hash_table_new(draft_hash_pair, g_direct_equal);
        draft->disabled_paths = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        draft->disabled_order = g_ptr_array_new();
        draft->checked_requests = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        draft->comparisons = COMPARISONS_MAX;
}

static void draft_clear(Draft *draft)
{
        GArray *arrays[] = { draft->components,      draft->variables,      draft->items,
                             draft->pieces,          draft->links,          draft->extras,
                             draft->mounts,          draft->scopes,         draft->disabled,
                             draft->component_nodes, draft->variable_nodes, draft->mount_nodes,
                             draft->scope_nodes,     draft->keys,           draft->stamps,
                             draft->sorted,          draft->refused,        draft->children_sorted };

        for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
                g_array_unref(arrays[i]);
        g_string_free(draft->texts, TRUE);
        g_hash_table_unref(draft->interned);
        g_hash_table_unref(draft->by_name);
        g_hash_table_unref(draft->checked_requests);
        g_ptr_array_unref(draft->disabled_order);
        g_hash_table_unref(draft->disabled_paths);
}

/* A definition beyond a limit is not looked at any further: what is not read would look like more errors. */
static Definition *compile(Draft *draft)
{
        static void (*const passes[])(Draft *) = { check_graph,      check_references, apply_request,
                                                   apply_disabled,   check_disabled,   check_environment,
                                                   check_components, check_post,       check_files };

        draft_init(draft);
        compile_definition(draft);
        draft_look(draft);
        for (size_t i = 0; i < G_N_ELEMENTS(passes) && !draft->stopped; i++) {
                passes[i](draft);
                draft_look(draft);
        }
        if (draft->request->warn && !draft->problems->n)
                add_warnings(draft);
        if (draft->problems->n)
                return NULL;
        sort_children(draft);
        return pack(draft);
}

void definition_request_read(const json_t *request, DefinitionRequest *ret)
{
        const struct {
                const char *key, **at;
        } texts[] = {
                { "name", &ret->name },
                { "image", &ret->docker_env },
                { "disabled", &ret->disabled },
                { "failure_strategy", &ret->failure_strategy },
                { "fs_id", &ret->fs_id },
                { "fs_name", &ret->fs_name },
                { "fs_default", &ret->fs_default },
        };

        *ret = (DefinitionRequest){ .parameters = json_object_get(request, "parameters"),
                                    .json_body = json_is_true(json_object_get(request, "json_body")),
                                    .image_optional = true };
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                *texts[i].at = json_string_value(json_object_get(request, texts[i].key));
}

Definition *definition_parse(const char *text, gsize len, const DefinitionRequest *request,
                             Problems *problems)
{
        DocumentPlace place = { 0 };
        g_autoptr(GError) error = NULL;
        g_autoptr(Document) document = document_parse(text, len, &document_limits, &place, &error);
        Draft draft = { .document = document, .request = request, .problems = problems };
        Definition *definition;

        if (!document) {
                problems_add(problems, PE_01, place.line, place.column, g_strdup(""),
                             g_strdup(error->message));
                return NULL;
        }
        definition = compile(&draft);
        draft_clear(&draft);
        return definition;
}
