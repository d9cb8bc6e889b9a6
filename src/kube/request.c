/* A request as HTTP (see request.h); Kubernetes API concepts, "Resource URIs" and "Patches". */
#include "kube/request.h"

#include <string.h>

#include "base/json.h"
#include "net/client.h"
#include "net/url.h"

static const char *const methods[] = {
        [KUBE_GET] = "GET",     [KUBE_LIST] = "GET",    [KUBE_CREATE] = "POST",
        [KUBE_REPLACE] = "PUT", [KUBE_PATCH] = "PATCH", [KUBE_DELETE] = "DELETE",
};

static const char *const patch_types[] = {
        [PATCH_MERGE] = "application/merge-patch+json",
        [PATCH_JSON] = "application/json-patch+json",
        [PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [PATCH_APPLY] = "application/apply-patch+yaml", /* of which JSON is a part */
};

void kube_query_add(GString *path, const char *name, const char *value)
{
        if (value && *value)
                url_add_query(path, name, value);
}

static void add_read(GString *path, const KubeRequest *request)
{
        const char *version = request->resource_version;

        kube_query_add(path, "resourceVersion", version);
        if (request->verb == KUBE_LIST && version && *version && strcmp(version, "0") != 0)
                kube_query_add(path, "resourceVersionMatch", "NotOlderThan");
}

static void add_list(GString *path, const KubeRequest *request)
{
        g_autofree char *limit = request->limit > 0 ? g_strdup_printf("%d", request->limit) : NULL;

        kube_query_add(path, "labelSelector", request->label_selector);
        kube_query_add(path, "fieldSelector", request->field_selector);
        kube_query_add(path, "limit", limit);
        kube_query_add(path, "continue", request->resume);
        add_read(path, request);
}

static void add_write(GString *path, const KubeRequest *request)
{
        kube_query_add(path, "fieldManager", request->field_manager);
        if (request->verb == KUBE_PATCH && request->patch == PATCH_APPLY && request->force)
                kube_query_add(path, "force", "true");
}

static void (*const queries[])(GString *path, const KubeRequest *request) = {
        [KUBE_GET] = add_read,      [KUBE_LIST] = add_list,   [KUBE_CREATE] = add_write,
        [KUBE_REPLACE] = add_write, [KUBE_PATCH] = add_write, [KUBE_DELETE] = NULL,
};

/* DeleteOptions: the caller's, and what the request says. */
static char *delete_body(const KubeRequest *request)
{
        g_autoptr(json_t) options = request->body ? json_deep_copy(request->body) : json_object();
        const char *propagation = request->propagation ? request->propagation : "Background";

        json_object_set_new(options, "kind", json_string("DeleteOptions"));
        json_object_set_new(options, "apiVersion", json_string("v1"));
        if (request->propagation || !json_object_get(options, "propagationPolicy"))
                json_object_set_new(options, "propagationPolicy", json_string(propagation));
        if (request->has_grace && request->grace_seconds >= 0)
                json_object_set_new(options, "gracePeriodSeconds", json_integer(request->grace_seconds));
        if (request->delete_uid)
                json_object_set_new(options, "preconditions", json_pack("{s:s}", "uid", request->delete_uid));
        return json_format(options);
}

void kube_http_init(KubeHttp *http, const KubeRequest *request)
{
        KubeVerb verb = request->verb;
        g_autofree char *base = request->path ? g_strdup(request->path)
                                              : kube_path(request->kind, request->namespace, request->name,
                                                          request->subresource);
        GString *path = g_string_new(base);

        *http = (KubeHttp){ .verb = verb, .method = methods[verb] };
        if (queries[verb])
                queries[verb](path, request);
        http->path = g_string_free(path, FALSE);
        if (verb == KUBE_DELETE)
                http->body = delete_body(request);
        else if (request->body)
                http->body = json_format(request->body);
        if (http->body)
                http->type = verb == KUBE_PATCH ? patch_types[request->patch] : "application/json";
}

void kube_http_clear(KubeHttp *http)
{
        g_free(http->path);
        g_free(http->body);
}
