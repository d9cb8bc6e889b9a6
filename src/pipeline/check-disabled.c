/* Disabled components (PE-26): finding them by their paths, also through references into the library, and
 * that nobody needs their artifacts or parameters. */
#include <string.h>

#include "base/err.h"
#include "pipeline/draft.h"

static guint32 node_of(const Draft *draft)
{
        return draft->request->disabled ? 0 : draft->top[KEY_DISABLED];
}

#define refuse(draft, ...)                                                                                   \
        draft_refuse(draft, PE_26, node_of(draft), (guint32)DEFINITION_NONE, "disabled", __VA_ARGS__)

/* The components along a path, as they are written. False if one is missing. */
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

static void mark(Draft *draft, const GArray *chain)
{
        guint32 n = chain->len, last = g_array_index(chain, guint32, n - 1);

        if (!draft_is_library(draft, last)) {
                draft_component(draft, last)->disabled = true;
                return;
        }
        g_array_append_val(draft->disabled, n);
        g_array_append_vals(draft->disabled, chain->data, n);
}

static void disable(Draft *draft, const char *path)
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
        if (find(draft, DEFINITION_ROOT, names, chain) || find(draft, DEFINITION_POST, names, chain))
                mark(draft, chain);
        else
                refuse(draft, "there is no component '%.80s'", shown);
}

void apply_disabled(Draft *draft)
{
        const char *text = draft->request->disabled;
        guint32 end = 0;
        g_auto(GStrv) paths = NULL;

        if (!text)
                text = draft->top[KEY_DISABLED] ? document_text(draft->document, draft->top[KEY_DISABLED])
                                                : "";
        paths = g_strsplit(text, ",", -1);
        for (int i = 0; paths[i]; i++)
                if (*g_strstrip(paths[i]))
                        disable(draft, paths[i]);
        g_array_append_val(draft->disabled, end);
}

/* ---- who needs them ---- */

/* A template in parameters or artifacts that names the component `name`. */
static bool uses(const Draft *draft, guint32 component, guint32 name, guint roles)
{
        for (guint32 k = draft_component(draft, component)->variables;
             k < draft_component(draft, component + 1)->variables; k++) {
                const Value *value = draft_variable(draft, k);

                if (value->kind != VALUE_TEXT || !value->text.pieces || !(roles & (1U << value->role)))
                        continue;
                for (const Piece *piece = &g_array_index(draft->pieces, Piece, value->text.pieces);;
                     piece++) {
                        if (piece->part1 && piece->part1 == name)
                                return true;
                        if (piece->last)
                                break;
                }
        }
        return false;
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

static void check_path(Draft *draft, const char *path, guint32 component)
{
        const Definition *definition = &draft->definition;
        const Component *row = draft_component(draft, component);
        guint32 parent = row->parent, name = row->name;

        for (guint32 k = row->dependants; k < row[1].dependants; k++) {
                guint32 sibling = definition->links[k];

                if (is_disabled(draft, path, component_name(definition, sibling)) ||
                    !uses(draft, sibling, name, 1U << ROLE_PARAMETER | 1U << ROLE_INPUT))
                        continue;
                refuse(draft, "'%.80s' cannot be disabled: '%s' uses its parameters or artifacts", path,
                       component_name(definition, sibling));
                return;
        }
        if (parent >= DEFINITION_FIRST && !is_disabled(draft, path, NULL) &&
            uses(draft, parent, name, 1U << ROLE_OUTPUT))
                refuse(draft, "'%.80s' cannot be disabled: the DAG around it gives its artifacts away", path);
}

void check_disabled(Draft *draft)
{
        g_autoptr(GArray) chain = g_array_new(FALSE, FALSE, sizeof(guint32));

        for (guint i = 0; i < draft->disabled_order->len; i++) {
                const char *path = draft->disabled_order->pdata[i];
                g_auto(GStrv) names = g_strsplit(path, ".", -1);

                if (find(draft, DEFINITION_ROOT, names, chain))
                        check_path(draft, path, g_array_index(chain, guint32, chain->len - 1));
        }
}
