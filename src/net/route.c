/* The dispatcher; see route.h. A search visits each node of the tree at most once per way to reach it, and a
 * tree is as deep as its longest pattern, so no path from outside makes it slow. */
#include "net/route.h"

#include <string.h>

#include "base/err.h"

typedef struct Node Node;
struct Node {
        char *text; /* the literal, NULL otherwise */
        gsize len;
        GPtrArray *literals;
        Node *param, *rest;
        GPtrArray *entries; /* RouteEntry, one per method; NULL when no route ends here */
        char *allow;        /* "GET, HEAD, POST" */
};

struct RouteTable {
        Node *root;
        char *hint; /* where the routes are described, or NULL */
        bool exact; /* HEAD is a method like any other */
};

static void node_free(void *data)
{
        Node *node = data;

        if (!node)
                return;
        g_free(node->text);
        g_ptr_array_unref(node->literals);
        node_free(node->param);
        node_free(node->rest);
        if (node->entries)
                g_ptr_array_unref(node->entries);
        g_free(node->allow);
        g_free(node);
}

static Node *node_new(const char *text, gsize len)
{
        Node *node = g_new0(Node, 1);

        node->text = text ? g_strndup(text, len) : NULL;
        node->len = len;
        node->literals = g_ptr_array_new_with_free_func(node_free);
        return node;
}

static Node *find_literal(const Node *node, const char *text, gsize len)
{
        for (guint i = 0; i < node->literals->len; i++) {
                Node *child = node->literals->pdata[i];

                if (child->len == len && memcmp(child->text, text, len) == 0)
                        return child;
        }
        return NULL;
}

static Node *get_literal(Node *node, const char *text, gsize len)
{
        Node *child = find_literal(node, text, len);

        if (!child) {
                child = node_new(text, len);
                g_ptr_array_add(node->literals, child);
        }
        return child;
}

static Node *get_slot(Node **slot)
{
        if (!*slot)
                *slot = node_new(NULL, 0);
        return *slot;
}

/* One step down for the segment `text` of a pattern, and its parameter noted in `entry`. NULL when it is
 * malformed. */
static Node *descend(Node *node, RouteEntry *entry, guint index, const char *text, gsize len, bool last)
{
        RouteParam *param = &entry->params[entry->n_params];

        if (text[0] != '{')
                return memchr(text, '}', len) ? NULL : get_literal(node, text, len);
        if (len < 3 || text[len - 1] != '}' || entry->n_params == ROUTE_PARAMS_MAX)
                return NULL;
        entry->n_params++;
        *param = (RouteParam){ .name = text + 1, .name_len = len - 2, .segment = index };
        if (len > 5 && memcmp(text + len - 4, "...", 3) == 0) {
                param->name_len -= 3;
                param->rest = true;
                return last ? get_slot(&node->rest) : NULL;
        }
        return get_slot(&node->param);
}

static bool add_entry(const RouteTable *table, Node *node, RouteEntry *entry, GError **error)
{
        const HttpRoute *route = entry->route;
        bool head = !table->exact && strcmp(route->method, "GET") == 0;
        g_autofree char *allow = node->allow;

        if (!node->entries)
                node->entries = g_ptr_array_new_with_free_func(g_free);
        for (guint i = 0; i < node->entries->len; i++) {
                const RouteEntry *other = node->entries->pdata[i];

                if (strcmp(other->route->method, route->method) == 0) {
                        node->allow = g_steal_pointer(&allow);
                        return err_set(error, ERR_INVALID, "route '%s %s' is the same as '%s %s'",
                                       route->method, route->path, other->route->method, other->route->path);
                }
        }
        node->allow =
                g_strconcat(allow ? allow : "", allow ? ", " : "", route->method, head ? ", HEAD" : "", NULL);
        g_ptr_array_add(node->entries, g_memdup2(entry, sizeof *entry));
        return true;
}

static bool add_route(RouteTable *table, const HttpRoute *route, GError **error)
{
        RouteEntry entry = { .route = route };
        Node *node = table->root;
        guint index = 0;

        if (route->path[0] != '/')
                return err_set(error, ERR_INVALID, "route '%s' does not begin with '/'", route->path);
        for (const char *text = route->path + 1; *text; index++) {
                gsize len = strcspn(text, "/");

                node = len ? descend(node, &entry, index, text, len, text[len] == '\0') : NULL;
                if (!node)
                        return err_set(
                                error, ERR_INVALID,
                                "route '%s': segment %u is neither text nor {name} nor a last {name...}",
                                route->path, index + 1);
                text += len + (text[len] == '/');
        }
        if (g_str_has_suffix(route->path, "/openapi.json") && !table->hint)
                table->hint = g_strdup_printf("\nGET %s lists what there is.", route->path);
        return add_entry(table, node, &entry, error);
}

RouteTable *route_table_new(const HttpRoute *const *routes, GError **error)
{
        g_autoptr(RouteTable) table = g_new0(RouteTable, 1);

        table->root = node_new(NULL, 0);
        for (; *routes; routes++)
                for (const HttpRoute *route = *routes; route->method; route++)
                        if (!add_route(table, route, error))
                                return NULL;
        return g_steal_pointer(&table);
}

RouteTable *route_table_new_exact(const HttpRoute *routes, GError **error)
{
        g_autoptr(RouteTable) table = g_new0(RouteTable, 1);

        table->root = node_new(NULL, 0);
        table->exact = true;
        for (; routes->method; routes++)
                if (!add_route(table, routes, error))
                        return NULL;
        return g_steal_pointer(&table);
}

void route_table_free(RouteTable *table)
{
        if (!table)
                return;
        node_free(table->root);
        g_free(table->hint);
        g_free(table);
}

static const RouteEntry *find_entry(const Node *node, const char *method)
{
        for (guint i = 0; i < node->entries->len; i++) {
                const RouteEntry *entry = node->entries->pdata[i];

                if (strcmp(entry->route->method, method) == 0)
                        return entry;
        }
        return NULL;
}

/* `method` NULL: whatever it serves. */
static bool is_end(const Node *node, const char *method)
{
        return node && node->entries && (!method || find_entry(node, method));
}

static const Node *match(const Node *node, const UrlPath *path, guint index, const char *method)
{
        const Node *found = NULL;

        if (index == path->count)
                return is_end(node, method) ? node : is_end(node->rest, method) ? node->rest : NULL;
        Node *child =
                find_literal(node, path->text->str + path->segments[index].at, path->segments[index].len);
        if (child)
                found = match(child, path, index + 1, method);
        if (!found && node->param)
                found = match(node->param, path, index + 1, method);
        return found ? found : is_end(node->rest, method) ? node->rest : NULL;
}

const RouteEntry *route_find(const RouteTable *table, const char *method, const UrlPath *path,
                             const char **ret_allow, GError **error)
{
        const char *wanted = !table->exact && strcmp(method, "HEAD") == 0 ? "GET" : method;
        const Node *node = table->exact ? match(table->root, path, 0, wanted) : NULL;
        const RouteEntry *entry;

        if (!node)
                node = match(table->root, path, 0, NULL);
        if (!node) {
                err_set(error, ERR_NOT_FOUND, "no such route: '%s %s'%s", method, path->text->str,
                        table->hint ? table->hint : "\nCheck the spelling of the path.");
                return NULL;
        }
        entry = find_entry(node, wanted);
        if (entry)
                return entry;
        *ret_allow = node->allow;
        err_set(error, ERR_METHOD, "'%s' is not a method of '%s'\nIt takes %s.", method, path->text->str,
                node->allow);
        return NULL;
}
