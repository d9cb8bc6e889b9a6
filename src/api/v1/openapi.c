/* The OpenAPI 3.1 document, drawn from the route tables (net/server.h) and the schemas beside this file. */
#include "api/v1/internal.h"

#include <string.h>

#include "api/parameters.h"

extern const char openapi_schemas[];
extern const unsigned openapi_schemas_len;

static json_t *content(const char *type, const char *schema)
{
        json_t *media = schema ? json_pack("{s:{s:o}}", "schema", "$ref",
                                           json_sprintf("#/components/schemas/%s", schema))
                               : json_object();
        json_t *by_type = json_object();

        json_object_set_new(by_type, type, media);
        return by_type;
}

/* "/v1/files/{path...}" is "/v1/files/{path}" in the document. */
static char *document_path(const char *path)
{
        GString *text = g_string_new(path);

        g_string_replace(text, "...}", "}", 0);
        return g_string_free(text, FALSE);
}

/* What a body may be, by its schema; all others are JSON. An archive may come in either form. */
static json_t *request_content(const char *schema)
{
        static const struct {
                const char *schema, *type, *is;
        } kinds[] = {
                { "Manifest", "text/plain", "Manifest" },
                { "Bytes", "application/octet-stream", "Bytes" },
                { "Archive", "application/octet-stream", "Archive" },
                { "Archive", "multipart/form-data", "ArchiveForm" },
        };
        json_t *all = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
                if (g_strcmp0(schema, kinds[i].schema) != 0)
                        continue;
                json_object_update_new(all, content(kinds[i].type, kinds[i].is));
        }
        if (json_object_size(all) == 0)
                json_object_update_new(all, content("application/json", schema));
        return all;
}

/* Further ways in which a request succeeds. */
static const struct {
        const char *method, *path, *status, *description, *schema;
} others[] = {
        { "POST", "/v1/jobs", "200", "The job that the same key made before, or the outcome of a dry run.",
          "JobOrDryRun" },
        { "POST", "/v1/jobs", "204", "It would be accepted (check).", NULL },
        { "POST", "/v1/trainer/job", "200", "The job that the same key made before.", "SeedJob" },
        { "POST", "/v1/jobs/batch", "200", "The jobs that the same key made before.", "BatchJobs" },
        { "DELETE", "/v1/jobs/{job}", "204", "Forgotten.", NULL },
        { "GET", "/v1/files/{path...}", "206", "A part of it.", "Bytes" },
        { "GET", "/v1/jobs/{job}/logs/{member}", "206", "A part of it.", "Bytes" },
        { "POST", "/v1/login/sso", "202", "The person has not answered the issuer yet.", "SsoPending" },
        { "GET", "/readyz", "503", "Not ready, and why.", NULL },
};

static void add_others(json_t *all, const HttpRoute *route)
{
        for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
                json_t *done;

                if (strcmp(route->method, others[i].method) != 0 || strcmp(route->path, others[i].path) != 0)
                        continue;
                done = json_pack("{s:s}", "description", others[i].description);
                if (others[i].schema)
                        json_object_set_new(done, "content",
                                            content(route->reply_type ? route->reply_type
                                                                      : "application/json",
                                                    others[i].schema));
                json_object_set_new(all, others[i].status, done);
        }
}

static json_t *responses(const HttpRoute *route)
{
        g_autofree char *status = g_strdup_printf("%d", route->reply_status ? route->reply_status : 200);
        const char *type = route->reply_type ? route->reply_type : "application/json";
        bool either = route->reply_type && strcmp(type, "application/octet-stream") == 0 && route->reply;
        json_t *done = json_pack("{s:s}", "description", "Done.");
        json_t *all = json_object();

        if (route->reply_status != 204) {
                json_t *body = content(type, either ? "Bytes" : route->reply);

                if (either) /* bytes, or what is known about them */
                        json_object_update_new(body, content("application/json", route->reply));
                json_object_set_new(done, "content", body);
        }
        json_object_set_new(all, status, done);
        add_others(all, route);
        json_object_set_new(all, "default",
                            json_pack("{s:s, s:o}", "description", "An error.", "content",
                                      content("application/json", "Error")));
        return all;
}

static json_t *operation(const HttpRoute *route)
{
        json_t *object = json_pack("{s:s}", "summary", route->summary);
        json_t *parameters = parameters_document(route);

        if (parameters)
                json_object_set_new(object, "parameters", parameters);
        if (route->body_max > 0)
                json_object_set_new(object, "requestBody",
                                    json_pack("{s:b, s:o}", "required",
                                              g_strcmp0(route->request, "Cancel") != 0, "content",
                                              request_content(route->request)));
        json_object_set_new(object, "x-access",
                            json_pack("{s:s, s:s}", "kind", access_kind_name(route->kind), "verb",
                                      access_verb_name(route->verb)));
        if (auth_access_from(route, false) == HTTP_PUBLIC)
                json_object_set_new(object, "security", json_array());
        else if (auth_access_from(route, true) == HTTP_PUBLIC) /* by where the caller is */
                json_object_set_new(object, "security", json_pack("[{}, {s:[]}]", "token"));
        json_object_set_new(object, "responses", responses(route));
        return object;
}

static json_t *paths(void)
{
        json_t *all = json_object();

        for (const HttpRoute *const *table = api_routes(); *table; table++) {
                for (const HttpRoute *route = *table; route->method; route++) {
                        g_autofree char *path = document_path(route->path);
                        g_autofree char *method = g_ascii_strdown(route->method, -1);
                        json_t *item = json_object_get(all, path);

                        if (!item) {
                                item = json_object();
                                json_object_set_new(all, path, item);
                        }
                        json_object_set_new(item, method, operation(route));
                }
        }
        return all;
}

static char *build(void)
{
        g_autoptr(json_t) schemas = json_loadb(openapi_schemas, openapi_schemas_len, 0, NULL);
        g_autoptr(json_t) document = NULL;

        g_assert(schemas);
        document = json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:[]}], s:o, s:{s:O, s:{s:{s:s, s:s}}}}",
                             "openapi", "3.1.0", "info", "title", "Paddle job platform", "version",
                             PADDLE_VERSION, "description", "Jobs, logs, events, packages and files.",
                             "security", "token", "paths", paths(), "components", "schemas", schemas,
                             "securitySchemes", "token", "type", "http", "scheme", "bearer");
        g_assert(document);
        return json_format(document);
}

const char *openapi_text(gsize *ret_len)
{
        static char *text;

        if (g_once_init_enter(&text))
                g_once_init_leave(&text, build());
        *ret_len = strlen(text);
        return text;
}
