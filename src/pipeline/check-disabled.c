/* Disabled components (PE-26): finding them by their paths, also through references into the library, and
 * that nobody needs their artifacts or parameters. */
#include <string.h>

#include "base/err.h"
#include "pipeline/draft.h"

static guint32 node_of(const Draft *draft)
{
        return draft->request->disabled ? 0 : draft->top[KEY_DISABLED];
}

static const char *place_of(const Draft *draft)
{
        return draft->request->disabled ? draft_request_path(draft, REQUEST_DISABLED) : "disabled";
}

#define refuse(draft, ...)                                                                                   \
        draft_refuse(draft, PE_26, node_of(draft), (guint32)DEFINITION_NONE, place_of(draft), __VA_ARGS__)

/* The components along a path, as they are written. False if one is missing; the last of the chain is then the DAG
 * that lacks it. */
static bool find(const Draft *draft, guint32 root, char **names, GArray *chain)
{
        guint32 at = root;

        g_array_set_size(chain, 0);
        for (int i = 0; names[i]; i++) {
                at = draft_child(draft, component_target(&draft->definition, at),
                                 draft_interned(draft, names[i]));
                if (at == (guint32)DEFINITION_NONE)
                        return false;
                g_array_append_val(chain, at);
        }
        return chain->len > 0;
}

/* Paths through references are added to `paths`: length, then components. */
static void mark(Draft *draft, const GArray *chain, GArray *paths)
{
        guint32 n = chain->len, last = g_array_index(chain, guint32, n - 1);

        if (!draft_is_library(draft, last)) {
                draft_component(draft, last)->disabled = true;
                return;
        }
        g_array_append_val(paths, n);
        g_array_append_vals(paths, chain->data, n);
}

/* `chain` is that of the entry points, as far as it goes. */
static void refuse_unknown(Draft *draft, const char *path, char **names, const GArray *chain)
{
        guint32 n = chain->len, dag = n ? g_array_index(chain, guint32, n - 1) : DEFINITION_ROOT;
        g_autofree char *shown = err_shown(path), *hint = NULL;

        dag = component_target(&draft->definition, dag);
        hint = draft_nearest(names[n] ? draft_nearest_child(draft, dag, names[n]) : NULL);
        refuse(draft, "there is no component '%.80s'%s", shown, hint);
}

static void disable(Draft *draft, const char *path, GArray *paths)
{
        g_auto(GStrv) names = g_strsplit(path, ".", -1);
        g_autoptr(GArray) chain = g_array_new(FALSE, FALSE, sizeof(guint32));
        g_autofree char *shown = err_shown(path);

        char *own;

        if (g_hash_table_contains(draft->disabled_paths, path)) {
                refuse(draft, "'%.80s' is given twice", shown);
                return;
        }
        own = g_strdup(path);
        g_hash_table_add(draft->disabled_paths, own);
        g_ptr_array_add(draft->disabled_order, own);
        if (find(draft, DEFINITION_POST, names, chain) || find(draft, DEFINITION_ROOT, names, chain))
                mark(draft, chain, paths);
        else
                refuse_unknown(draft, path, names, chain);
}

/* ---- the sorted paths of a definition ---- */

static int by_path(const void *a, const void *b, void *data)
{
        const guint32 *one = (const guint32 *)data + *(const guint32 *)a;
        const guint32 *two = (const guint32 *)data + *(const guint32 *)b;

        if (*one != *two)
                return *one < *two ? -1 : 1;
        for (guint32 i = 1; i <= *one; i++)
                if (one[i] != two[i])
                        return one[i] < two[i] ? -1 : 1;
        return 0;
}

/* The number of paths, the place of each, and the paths. */
static void store_paths(Draft *draft, const GArray *paths)
{
        g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(guint32));
        guint32 n;

        for (guint32 at = 0; at < paths->len; at += g_array_index(paths, guint32, at) + 1)
                g_array_append_val(places, at);
        n = places->len;
        if (n > 1)
                g_qsort_with_data(places->data, (gint)n, sizeof(guint32), by_path, paths->data);
        for (guint32 i = 0; i < n; i++)
                g_array_index(places, guint32, i) += n + 1;
        g_array_append_val(draft->disabled, n);
        if (n) {
                g_array_append_vals(draft->disabled, places->data, n);
                g_array_append_vals(draft->disabled, paths->data, paths->len);
        }
}

void apply_disabled(Draft *draft)
{
        const char *text = draft->request->disabled;
        g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(guint32));
        g_auto(GStrv) paths = NULL;

        if (!text)
                text = draft->top[KEY_DISABLED] ? document_text(draft->document, draft->top[KEY_DISABLED])
                                                : "";
        paths = g_strsplit(text, ",", DEFINITION_DISABLED_MAX + 1);
        if (g_strv_length(paths) > DEFINITION_DISABLED_MAX)
                draft_refuse(draft, PE_35, node_of(draft), (guint32)DEFINITION_NONE, place_of(draft),
                             "more than %d components", DEFINITION_DISABLED_MAX);
        for (int i = 0; paths[i] && !draft->stopped; i++)
                if (*g_strstrip(paths[i]))
                        disable(draft, paths[i], found);
        store_paths(draft, found);
}

/* ---- who needs them ---- */

static void *use_key(guint32 component, guint32 name)
{
        return GSIZE_TO_POINTER((gsize)component << 32 | name);
}

/* Notes what the templates of a value name: (component, name) -> bits of ValueRole. */
static void add_uses(const Draft *draft, guint32 component, const Value *value, GHashTable *uses)
{
        if (value->kind != VALUE_TEXT || !value->text.pieces)
                return;
        for (const Piece *piece = &g_array_index(draft->pieces, Piece, value->text.pieces);; piece++) {
                void *key = use_key(component, piece->part1);
                guint bits = GPOINTER_TO_UINT(g_hash_table_lookup(uses, key));

                if (piece->part1 && !(bits & 1U << value->role))
                        g_hash_table_insert(uses, key, GUINT_TO_POINTER(bits | 1U << value->role));
                if (piece->last)
                        return;
        }
}

/* Once for all disabled components, since many of them may be used by one component. */
static GHashTable *find_uses(const Draft *draft)
{
        GHashTable *uses = g_hash_table_new(draft_hash_pair, g_direct_equal);

        for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++)
                for (guint32 k = draft_component(draft, i)->variables;
                     k < draft_component(draft, i + 1)->variables; k++)
                        add_uses(draft, i, draft_variable(draft, k), uses);
        return uses;
}

static bool is_used(GHashTable *uses, guint32 component, guint32 name, guint roles)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(uses, use_key(component, name))) & roles;
}

/* The path with its last name replaced, or without it; the caller's. */
static char *beside(const char *path, const char *name)
{
        const char *dot = strrchr(path, '.');
        g_autofree char *parent = dot ? g_strndup(path, (gsize)(dot - path)) : g_strdup("");

        if (!name)
                return g_steal_pointer(&parent);
        return dot ? g_strconcat(parent, ".", name, NULL) : g_strdup(name);
}

static bool is_disabled(const Draft *draft, const char *path, const char *name)
{
        g_autofree char *other = beside(path, name);

        return g_hash_table_contains(draft->disabled_paths, other);
}

static void check_path(Draft *draft, GHashTable *uses, const char *path, guint32 component)
{
        const Definition *definition = &draft->definition;
        const Component *row = draft_component(draft, component);
        guint32 parent = row->parent, name = row->name;

        for (guint32 k = row->dependants; k < row[1].dependants; k++) {
                guint32 sibling = definition->links[k];

                if (!is_used(uses, sibling, name, 1U << ROLE_PARAMETER | 1U << ROLE_INPUT) ||
                    is_disabled(draft, path, component_name(definition, sibling)))
                        continue;
                refuse(draft, "'%.80s' cannot be disabled: '%s' uses its parameters or artifacts", path,
                       component_name(definition, sibling));
                return;
        }
        if (parent >= DEFINITION_FIRST && !is_disabled(draft, path, NULL) &&
            is_used(uses, parent, name, 1U << ROLE_OUTPUT))
                refuse(draft, "'%.80s' cannot be disabled: the DAG around it gives its artifacts away", path);
}

void check_disabled(Draft *draft)
{
        g_autoptr(GArray) chain = g_array_new(FALSE, FALSE, sizeof(guint32));
        g_autoptr(GHashTable) uses = draft->disabled_order->len ? find_uses(draft) : NULL;

        for (guint i = 0; i < draft->disabled_order->len; i++) {
                const char *path = draft->disabled_order->pdata[i];
                g_auto(GStrv) names = g_strsplit(path, ".", -1);

                if (find(draft, DEFINITION_ROOT, names, chain))
                        check_path(draft, uses, path, g_array_index(chain, guint32, chain->len - 1));
        }
}
