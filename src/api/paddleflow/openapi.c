/* The OpenAPI 3.1 document of this face, drawn from its routes and shapes. */
#include <string.h>

#include "api/parameters.h"
#include "api/paddleflow/internal.h"

/* ---- shapes ---- */

static json_t *schema_of(const GoField *fields, bool nullable);

static json_t *type_of(const char *name, bool nullable)
{
        return nullable ? json_pack("{s:[s, s]}", "type", name, "null") : json_pack("{s:s}", "type", name);
}

/* Of requests null stands for what is not said. */
static json_t *field_schema(const GoField *field, bool nullable)
{
        static const char *const types[GO_TYPES] = {
                [GO_STRING] = "string", [GO_INT] = "integer",   [GO_BOOL] = "boolean",
                [GO_NUMBER] = "number", [GO_OBJECT] = "object", [GO_MAP] = "object",
                [GO_LIST] = "array",    [GO_STRUCT] = "object", [GO_STRUCTS] = "array",
        };
        json_t *schema;

        if (field->type == GO_ANY)
                return json_object();
        if (field->type == GO_STRUCT)
                return schema_of(field->fields, nullable);
        schema = type_of(types[field->type], nullable);
        if (field->type == GO_MAP)
                json_object_set_new(schema, "additionalProperties", type_of("string", nullable));
        if (field->type == GO_LIST)
                json_object_set_new(schema, "items", type_of("string", nullable));
        if (field->type == GO_STRUCTS)
                json_object_set_new(schema, "items", schema_of(field->fields, nullable));
        return schema;
}

static json_t *schema_of(const GoField *fields, bool nullable)
{
        json_t *properties = json_object(), *needed = json_array(), *schema = type_of("object", nullable);

        for (const GoField *field = fields; field->name; field++) {
                json_object_set_new(properties, field->name, field_schema(field, nullable && !field->needed));
                if (field->needed)
                        json_array_append_new(needed, json_string(field->name));
        }
        json_object_set_new(schema, "properties", properties);
        if (json_array_size(needed) > 0)
                json_object_set(schema, "required", needed);
        json_decref(needed);
        return schema;
}

static bool is_request(const char *name)
{
        for (const HttpRoute *route = paddleflow_routes(); route->method; route++)
                if (g_strcmp0(route->request, name) == 0)
                        return true;
        return false;
}

static json_t *schemas(void)
{
        json_t *all = json_object();

        for (const Shape *shape = shapes; shape->name; shape++) {
                json_t *schema = schema_of(shape->fields, false);

                if (is_request(shape->name)) {
                        json_decref(schema);
                        schema = schema_of(shape->fields, true);
                        if (shape->partial)
                                json_object_del(schema, "required");
                        if (json_object_get(schema, "required")) /* null has no members (go_decode) */
                                json_object_set_new(schema, "type", json_string("object"));
                }
                json_object_set_new(all, shape->name, schema);
        }
        return all;
}

static json_t *content(const char *schema)
{
        return json_pack("{s:{s:{s:o}}}", "application/json", "schema", "$ref",
                         json_sprintf("#/components/schemas/%s", schema));
}

/* ---- routes ---- */

/* Every status that a code may have; clients tell errors apart by the code. */
static json_t *responses(const HttpRoute *route)
{
        static const char *const statuses[] = { "400", "403", "404", "405", "500" };
        g_autofree char *status = g_strdup_printf("%d", route->reply_status ? route->reply_status : 200);
        json_t *done = json_pack("{s:s}", "description", route->reply ? "Done." : "Done; an empty body.");
        json_t *all = json_object();

        if (route->reply && route->reply_status != 101)
                json_object_set_new(done, "content", content(route->reply));
        json_object_set_new(all, status, done);
        for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++)
                json_object_set_new(all, statuses[i],
                                    json_pack("{s:s, s:o}", "description", "An error.", "content",
                                              content("Error")));
        return all;
}

static json_t *operation(const HttpRoute *route)
{
        json_t *object = json_pack("{s:s}", "summary", route->summary);
        json_t *parameters = parameters_document(route);

        if (parameters)
                json_object_set_new(object, "parameters", parameters);
        if (route->request)
                json_object_set_new(object, "requestBody",
                                    json_pack("{s:b, s:o}", "required", 1, "content",
                                              content(route->request)));
        json_object_set_new(object, "x-access",
                            json_pack("{s:s, s:s}", "kind", access_kind_name(route->kind), "verb",
                                      access_verb_name(route->verb)));
        if (access_row(route->kind, route->verb) & REL_ANYONE)
                json_object_set_new(object, "security", json_array());
        json_object_set_new(object, "responses", responses(route));
        return object;
}

static json_t *paths(void)
{
        json_t *all = json_object();

        for (const HttpRoute *route = paddleflow_routes(); route->method; route++) {
                g_autofree char *method = g_ascii_strdown(route->method, -1);
                json_t *item = json_object_get(all, route->path);

                if (!item) {
                        item = json_object();
                        json_object_set_new(all, route->path, item);
                }
                json_object_set_new(item, method, operation(route));
        }
        return all;
}

static char *build(void)
{
        g_autoptr(json_t) document = json_pack(
                "{s:s, s:{s:s, s:s, s:s}, s:[{s:[]}], s:o, s:{s:o, s:{s:{s:s, s:s, s:s}}}}", "openapi",
                "3.1.0", "info", "title", "PaddleFlow interface of the Paddle job platform", "version",
                PADDLE_VERSION, "description",
                "What clients of PaddleFlow speak: users, grants, queues, flavours, clusters, jobs.",
                "security", "token", "paths", paths(), "components", "schemas", schemas(), "securitySchemes",
                "token", "type", "apiKey", "in", "header", "name", "x-pf-authorization");

        g_assert(document);
        return json_format(document);
}

const char *paddleflow_description(gsize *ret_len)
{
        static char *text;

        if (g_once_init_enter(&text))
                g_once_init_leave(&text, build());
        *ret_len = strlen(text);
        return text;
}
