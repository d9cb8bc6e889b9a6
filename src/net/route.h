/* The dispatcher: routes as a tree of segments. A literal segment goes before {x}, {x} before {x...}. {x...}
 * also matches an empty rest. Built once, then only read. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/server.h"
#include "net/url.h"

enum { ROUTE_PARAMS_MAX = 8 };

typedef struct RouteTable RouteTable;

typedef struct {
        const char *name; /* as the route writes it, not NUL-terminated */
        gsize name_len;
        guint segment; /* its index in the path */
        bool rest;
} RouteParam;

typedef struct {
        const HttpRoute *route;
        guint n_params;
        RouteParam params[ROUTE_PARAMS_MAX];
} RouteEntry;

/* `routes`: arrays ending with a NULL method, in a NULL-terminated list. ERR_INVALID for a malformed or
 * duplicate pattern. */
RouteTable *route_table_new(const HttpRoute *const *routes, GError **error);
/* For a face (server.h): HEAD is an ordinary method. If the path with literal text does not serve a method, a
 * path with {x} that does is found. */
RouteTable *route_table_new_exact(const HttpRoute *routes, GError **error);
void route_table_free(RouteTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RouteTable, route_table_free)

/* The entry for a request; HEAD finds GET. NULL with ERR_NOT_FOUND, or with ERR_METHOD and *ret_allow set
 * (borrowed from the table). */
const RouteEntry *route_find(const RouteTable *table, const char *method, const UrlPath *path,
                             const char **ret_allow, GError **error);
