/* Reading compiled definitions (see definition.h), and the order of the passes that make one. */
#include "pipeline/definition.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "pipeline/draft.h"

enum { CHAIN_MAX = 2 * DEFINITION_DEPTH_MAX }; /* of references, while a circle may be among them */

void definition_free(Definition *definition)
{
        g_free(definition); /* one block */
}

/* ---- reading ---- */

guint32 component_target(const Definition *definition, guint32 component)
{
        for (int i = 0; i < CHAIN_MAX; i++) {
                guint32 reference = component_extra(definition, component)->reference;

                if (!reference)
                        break;
                component = reference;
        }
        return component;
}

guint32 component_find(const Definition *definition, guint32 component, ValueRole role, guint32 name)
{
        guint32 end = definition->components[component + 1].variables;

        for (guint32 i = definition->components[component].variables; i < end; i++)
                if (definition->variables[i].name == name && definition->variables[i].role == role)
                        return i;
        return (guint32)DEFINITION_NONE;
}

const Value *component_parameter(const Definition *definition, guint32 component, guint32 name,
                                 guint32 *ret_owner)
{
        for (int i = 0; i < CHAIN_MAX; i++) {
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

bool definition_is_disabled(const Definition *definition, const guint32 *chain, gsize n)
{
        if (definition->components[chain[n - 1]].disabled)
                return true;
        for (const guint32 *path = definition->disabled; *path; path += *path + 1)
                if (*path == n && memcmp(path + 1, chain, n * sizeof(*chain)) == 0)
                        return true;
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

static Definition *pack(Draft *draft)
{
        static const gsize items[] = { sizeof(Component), sizeof(Value),      sizeof(Value),
                                       sizeof(Piece),     sizeof(guint32),    sizeof(Extra),
                                       sizeof(Mount),     sizeof(CacheScope), sizeof(guint32) };
        const GArray *arrays[] = { draft->components, draft->variables, draft->items,
                                   draft->pieces,     draft->links,     draft->extras,
                                   draft->mounts,     draft->scopes,    draft->disabled };
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
        definition->pieces = parts[3];
        definition->links = parts[4];
        definition->extras = parts[5];
        definition->mounts = parts[6];
        definition->scopes = parts[7];
        definition->disabled = parts[8];
        definition->texts = block + size;
        definition->size = size + draft->texts->len + 1;
        return definition;
}

/* ---- the passes ---- */

static guint hash_pair(const void *key)
{
        guint64 pair = GPOINTER_TO_SIZE(key);

        return (guint)((pair * 0x9e3779b97f4a7c15ULL) >> 32);
}

static GArray *array_new(gsize item)
{
        GArray *array = g_array_new(FALSE, TRUE, (guint)item);

        g_array_set_size(array, 1); /* index 0 stands for "none" */
        return array;
}

static void draft_init(Draft *draft)
{
        draft->components = g_array_new(FALSE, TRUE, sizeof(Component));
        draft->variables = g_array_new(FALSE, TRUE, sizeof(Value));
        draft->items = array_new(sizeof(Value));
        draft->pieces = array_new(sizeof(Piece));
        draft->links = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->extras = array_new(sizeof(Extra));
        draft->mounts = array_new(sizeof(Mount));
        draft->scopes = array_new(sizeof(CacheScope));
        draft->disabled = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->component_nodes = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->variable_nodes = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->mount_nodes = array_new(sizeof(guint32));
        draft->scope_nodes = array_new(sizeof(guint32));
        draft->keys = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->stamps = g_array_new(FALSE, TRUE, sizeof(guint32));
        draft->texts = g_string_new(NULL);
        g_string_append_c(draft->texts, '\0');
        draft->interned = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        draft->by_name = g_hash_table_new(hash_pair, g_direct_equal);
        draft->disabled_paths = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        draft->disabled_order = g_ptr_array_new();
}

static void draft_clear(Draft *draft)
{
        GArray *arrays[] = { draft->components,      draft->variables,      draft->items,
                             draft->pieces,          draft->links,          draft->extras,
                             draft->mounts,          draft->scopes,         draft->disabled,
                             draft->component_nodes, draft->variable_nodes, draft->mount_nodes,
                             draft->scope_nodes,     draft->keys,           draft->stamps };

        for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
                g_array_unref(arrays[i]);
        g_string_free(draft->texts, TRUE);
        g_hash_table_unref(draft->interned);
        g_hash_table_unref(draft->by_name);
        g_ptr_array_unref(draft->disabled_order);
        g_hash_table_unref(draft->disabled_paths);
}

static Definition *compile(Draft *draft)
{
        draft_init(draft);
        compile_definition(draft);
        draft_look(draft);
        check_graph(draft);
        check_references(draft);
        apply_request(draft);
        apply_disabled(draft);
        draft_look(draft);
        check_disabled(draft);
        check_components(draft);
        check_post(draft);
        check_files(draft);
        draft_look(draft);
        return draft->problems->n ? NULL : pack(draft);
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
