/* See parameters.h. */
#include "api/parameters.h"

#include <string.h>

/* "{path...}" is the parameter "path". */
static void add_path(json_t *parameters, const char *path)
{
        for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{')) {
                g_autofree char *name = g_strndup(at + 1, strcspn(at + 1, ".}"));

                json_array_append_new(parameters,
                                      json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", name, "in", "path",
                                                "required", 1, "schema", "type", "string"));
        }
}

static void add_query(json_t *parameters, const HttpParameter *query)
{
        static const char *const types[HTTP_PARAMETER_TYPES] = {
                [HTTP_STRING] = "string",
                [HTTP_INTEGER] = "integer",
                [HTTP_BOOLEAN] = "boolean",
                [HTTP_ARRAY] = "array",
        };

        for (const HttpParameter *row = query; row && row->name; row++)
                json_array_append_new(parameters, json_pack("{s:s, s:s, s:s, s:{s:s}}", "name", row->name,
                                                            "in", "query", "description", row->help, "schema",
                                                            "type", types[row->type]));
}

json_t *parameters_document(const HttpRoute *route)
{
        g_autoptr(json_t) parameters = json_array();

        add_path(parameters, route->path);
        add_query(parameters, route->query);
        return json_array_size(parameters) > 0 ? g_steal_pointer(&parameters) : NULL;
}
