/* Requests as HTTP, and what refusals mean. */
#include "kube/request.h"

#include <string.h>

#include "base/json.h"
#include "kube/status.h"

static json_t *body(void)
{
        static json_t *kept;

        if (!kept)
                kept = json_pack("{s:i}", "a", 1);
        return kept;
}

static void check(const KubeRequest *request, const char *method, const char *path, const char *type,
                  const char *text)
{
        KubeHttp http;

        kube_http_init(&http, request);
        g_assert_cmpstr(http.method, ==, method);
        g_assert_cmpstr(http.path, ==, path);
        g_assert_cmpstr(http.type, ==, type);
        g_assert_cmpstr(http.body, ==, text);
        kube_http_clear(&http);
}

#define PODS "/api/v1/namespaces/n/pods"
#define DELETES "\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\""
#define POD .kind = &kube_pods, .namespace = "n", .name = "p"

static void test_read(void)
{
        check(&(KubeRequest){ .verb = KUBE_GET, POD }, "GET", PODS "/p", NULL, NULL);
        check(&(KubeRequest){ .verb = KUBE_GET, POD, .resource_version = "0" }, "GET",
              PODS "/p?resourceVersion=0", NULL, NULL);
        check(&(KubeRequest){ .verb = KUBE_GET, .path = "/version" }, "GET", "/version", NULL, NULL);
        check(&(KubeRequest){ .verb = KUBE_LIST, .kind = &kube_pods }, "GET", "/api/v1/pods", NULL, NULL);
        check(&(KubeRequest){ .verb = KUBE_LIST,
                              .kind = &kube_pods,
                              .namespace = "n",
                              .label_selector = "a=b,c in (d)",
                              .field_selector = "x=1",
                              .limit = 5,
                              .resume = "c==" },
              "GET",
              PODS "?labelSelector=a%3Db%2Cc%20in%20%28d%29&fieldSelector=x%3D1&limit=5&continue=c%3D%3D",
              NULL, NULL);
        check(&(KubeRequest){ .verb = KUBE_LIST,
                              .kind = &kube_pods,
                              .namespace = "n",
                              .resource_version = "7" },
              "GET", PODS "?resourceVersion=7&resourceVersionMatch=NotOlderThan", NULL, NULL);
        check(&(KubeRequest){ .verb = KUBE_LIST,
                              .kind = &kube_pods,
                              .namespace = "n",
                              .resource_version = "0" },
              "GET", PODS "?resourceVersion=0", NULL, NULL);
}

static void test_write(void)
{
        check(&(KubeRequest){ .verb = KUBE_CREATE, .kind = &kube_pods, .namespace = "n", .body = body() },
              "POST", PODS, "application/json", "{\"a\":1}");
        check(&(KubeRequest){ .verb = KUBE_REPLACE, POD, .subresource = "status", .body = body() }, "PUT",
              PODS "/p/status", "application/json", "{\"a\":1}");
        check(&(KubeRequest){ .verb = KUBE_PATCH, POD, .body = body() }, "PATCH", PODS "/p",
              "application/merge-patch+json", "{\"a\":1}");
        check(&(KubeRequest){ .verb = KUBE_PATCH, POD, .body = body(), .patch = PATCH_JSON }, "PATCH",
              PODS "/p", "application/json-patch+json", "{\"a\":1}");
        check(&(KubeRequest){ .verb = KUBE_PATCH, POD, .body = body(), .patch = PATCH_STRATEGIC }, "PATCH",
              PODS "/p", "application/strategic-merge-patch+json", "{\"a\":1}");
        check(&(KubeRequest){ .verb = KUBE_PATCH,
                              POD,
                              .body = body(),
                              .patch = PATCH_APPLY,
                              .field_manager = "m",
                              .force = true },
              "PATCH", PODS "/p?fieldManager=m&force=true", "application/apply-patch+yaml", "{\"a\":1}");
}

static void test_delete(void)
{
        check(&(KubeRequest){ .verb = KUBE_DELETE, POD }, "DELETE", PODS "/p", "application/json",
              "{" DELETES ",\"propagationPolicy\":\"Background\"}");
        check(&(KubeRequest){ .verb = KUBE_DELETE,
                              POD,
                              .delete_uid = "u",
                              .propagation = "Orphan",
                              .has_grace = true,
                              .grace_seconds = 0 },
              "DELETE", PODS "/p", "application/json",
              "{" DELETES ",\"propagationPolicy\":\"Orphan\",\"gracePeriodSeconds\":0,\"preconditions\":{"
              "\"uid\":\"u\"}}");
        json_decref(body());
}

static void test_status(void)
{
        static const struct {
                int status;
                const char *reason, *message;
                ErrCode code;
        } cases[] = {
                { 400, "BadRequest", "", ERR_INVALID },
                { 401, "Unauthorized", "", ERR_UNAUTHENTICATED },
                { 403, "Forbidden", "no", ERR_DENIED },
                { 403, "Forbidden", "pods \"p\" is forbidden: exceeded quota: q, requested: cpu=1",
                  ERR_QUOTA },
                { 404, "NotFound", "", ERR_NOT_FOUND },
                { 405, "MethodNotAllowed", "", ERR_FAILED },
                { 409, "AlreadyExists", "", ERR_EXISTS },
                { 409, "Conflict", "", ERR_CONFLICT },
                { 410, "Expired", "", ERR_GONE },
                { 413, "RequestEntityTooLarge", "", ERR_TOO_LARGE },
                { 415, "UnsupportedMediaType", "", ERR_FAILED },
                { 422, "Invalid", "", ERR_INVALID },
                { 422, "Invalid",
                  "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: "
                  "no",
                  ERR_DENIED },
                { 400, "", "admission webhook \"x.y.z\" denied the request without explanation", ERR_DENIED },
                { 403, "Forbidden", "admission webhook \"x.y.z\" denied the request: no", ERR_DENIED },
                { 500, "InternalError", "failed calling webhook \"x.y.z\"", ERR_UNAVAILABLE },
                { 429, "TooManyRequests", "", ERR_UNAVAILABLE },
                { 500, "InternalError", "", ERR_UNAVAILABLE },
                { 503, "ServiceUnavailable", "", ERR_UNAVAILABLE },
                { 504, "Timeout", "", ERR_UNAVAILABLE },
                { 302, "", "", ERR_FAILED },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(kube_status_code(cases[i].status, cases[i].reason, cases[i].message), ==,
                                cases[i].code);
}

/* The messages are those of Kubernetes 1.33. */
static void test_refusals(void)
{
        static const struct {
                const char *message;
                KubeRefusal refusal;
        } cases[] = {
                { "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no",
                  KUBE_REFUSED_POLICY },
                { "admission webhook \"x.y.z\" denied the request: exceeded quota, you cannot do that",
                  KUBE_REFUSED_WEBHOOK },
                { "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": host namespaces",
                  KUBE_REFUSED_POD_SECURITY },
                { "pods \"p\" is forbidden: exceeded quota: q, requested: cpu=1", KUBE_REFUSED_QUOTA },
                { "pods \"p\" is forbidden: unable to create new content in namespace n because it is being "
                  "terminated",
                  KUBE_REFUSED_TERMINATING },
                { "pods \"p\" is forbidden: error looking up service account n/default: serviceaccount "
                  "\"default\" not found",
                  KUBE_REFUSED_NO_DEFAULT },
                { "pods \"p\" is forbidden: error looking up service account n/other: serviceaccount "
                  "\"other\" not found",
                  KUBE_REFUSED_NO_ACCOUNT },
                { "Pod \"p\" is invalid: spec.containers: Required value", KUBE_REFUSED_INVALID },
                { "secrets is forbidden: User \"u\" cannot create resource \"secrets\" in API group \"\"",
                  KUBE_REFUSED_NO_RIGHT },
                { "failed calling webhook \"x.y.z\"", KUBE_REFUSED },
                { "", KUBE_REFUSED },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(kube_refusal(cases[i].message), ==, cases[i].refusal);
}

static void test_status_text(void)
{
        static const struct {
                const char *object, *text, *says;
        } cases[] = {
                { "{\"reason\":\"NotFound\",\"message\":\"pods \\\"x\\\" not found\"}", NULL,
                  "pods \"x\" not found" },
                { "{\"reason\":\"NotFound\"}", NULL, "GET /x: the API server answered 404 NotFound" },
                { "{}", NULL, "GET /x: the API server answered 404" },
                { NULL, "<p>no</p>\n", "GET /x: the API server answered 404: <p>no</p>" },
                { "{\"reason\":1,\"message\":{}}", NULL, "GET /x: the API server answered 404" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *text = cases[i].object;
                g_autoptr(json_t) object = text ? json_parse(text, strlen(text), NULL) : NULL;
                g_autoptr(GError) error = NULL;

                g_assert_false(kube_status_error(404, object, cases[i].text, "GET /x", &error));
                g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
                g_assert_cmpstr(error->message, ==, cases[i].says);
        }
        g_autoptr(json_t) wait = json_pack("{s:{s:i}}", "details", "retryAfterSeconds", 2);
        g_assert_cmpint(kube_status_retry_after(wait), ==, 2000);
        g_assert_cmpint(kube_status_retry_after(NULL), ==, -1);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/request/read", test_read);
        g_test_add_func("/kube/request/write", test_write);
        g_test_add_func("/kube/request/delete", test_delete);
        g_test_add_func("/kube/request/status", test_status);
        g_test_add_func("/kube/request/refusals", test_refusals);
        g_test_add_func("/kube/request/status-text", test_status_text);
        return g_test_run();
}
