/* Resource pools (doc/reference/paddleflow-api.md, "Resource pools"). */
#include <string.h>

#include "api/paddleflow/internal.h"

enum { WORD_MAX = 32, DESCRIPTION_MAX = 2048 };

static const CodeMap codes[] = { { ERR_EXISTS, CODE_DuplicatedName },
                                 { ERR_NOT_FOUND, CODE_ResourceNotFound },
                                 { ERR_INVALID, CODE_InvalidArguments },
                                 CODE_MAP_END };

static json_t *show_pool(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        const Pool *pool = (const Pool *)object;
        g_autofree char *created = time_text(object->created), *updated = time_text(object->updated);

        return json_pack(
                "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:s, s:i, s:s, "
                "s:s}",
                "id", object->id, "name", object->name, "namespace", text_or_blank(pool->namespace), "type",
                text_or_blank(pool->type), "provider", text_or_blank(pool->provider), "orgID",
                text_or_blank(pool->org_id), "creator", text_or_blank(pool->creator), "description",
                text_or_blank(pool->description), "clusterName", text_or_blank(pool->cluster), "quotaType",
                quota_type_name(pool->quota_type), "minResources",
                amounts_format(&pool->min.amount, pool->min.said), "totalResources",
                amounts_format(&pool->total.amount, pool->total.said), "labels", labels_format(pool->labels),
                "annotations", labels_format(pool->annotations), "status",
                pool->status ? pool->status : "creating", "isHybrid", pool->hybrid, "createTime", created,
                "updateTime", updated);
}

/* ---- create ---- */

static bool check_texts(const json_t *body, GError **error)
{
        static const struct {
                const char *name;
                gsize max;
        } texts[] = { { "type", WORD_MAX }, { "provider", WORD_MAX }, { "description", DESCRIPTION_MAX } };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                if (strlen(go_text(body, texts[i].name)) > texts[i].max)
                        return paddleflow_set(error, CODE_InvalidArguments, "%s is longer than %d bytes",
                                              texts[i].name, (int)texts[i].max);
        return true;
}

static bool check_label(const json_t *body, const char *name, GError **error)
{
        return name_is_valid(go_text(body, name)) ||
               paddleflow_set(error, CODE_InvalidArguments,
                              "%s '%.80s' is not a label of at most 63 of a-z, 0-9 and '-'", name,
                              go_text(body, name));
}

static const char *cluster_of(const json_t *body)
{
        const char *name = go_text(body, "clusterName");

        return *name ? name : CLUSTER_DEFAULT;
}

static bool check_cluster(const Call *call, const char *name, GError **error)
{
        const Cluster *cluster = catalog_cluster(call->catalog, name);

        if (!cluster)
                return paddleflow_set(error, CODE_ClusterNotFound, "there is no cluster '%.255s'", name);
        return !cluster->offline ||
               paddleflow_set(error, CODE_InvalidClusterStatus, "cluster '%s' is offline", name);
}

static bool check_new(const Call *call, const json_t *body, GError **error)
{
        return call_root(call, CODE_OnlyRootAllowed, error) && check_label(body, "name", error) &&
               check_label(body, "namespace", error) && check_texts(body, error) &&
               check_cluster(call, cluster_of(body), error);
}

static bool take_limits(const char *name, const json_t *body, bool merge, ResourceLimits *limits, Code code,
                        GError **error)
{
        GError *why = NULL;

        if (amounts_take(name, json_object_get(body, name), merge, limits, &why))
                return true;
        paddleflow_set(error, code, "%s", why->message);
        g_error_free(why);
        return false;
}

static bool take_labels(const char *name, const json_t *map, char ***field, GError **error)
{
        char **labels = NULL;
        GError *why = NULL;

        if (labels_parse(name, map, &labels, &why)) {
                g_strfreev(*field);
                *field = labels;
                return true;
        }
        paddleflow_set(error, CODE_InvalidArguments, "%s", why->message);
        g_error_free(why);
        return false;
}

static bool fill_new(const Call *call, Object *draft, const json_t *body, GError **error)
{
        Pool *pool = (Pool *)draft;
        const char *type = go_text(body, "quotaType");

        if (*type && !quota_type_parse(type, &pool->quota_type))
                return paddleflow_set(error, CODE_QueueQuotaTypeIsNotSupported,
                                      "quotaType '%.60s' is not one of %s, %s", type,
                                      quota_type_name(QUOTA_ELASTIC), quota_type_name(QUOTA_CAPABILITY));
        set_text(&pool->creator, call->user);
        set_text(&pool->namespace, go_text(body, "namespace"));
        set_text(&pool->type, go_text(body, "type"));
        set_text(&pool->provider, go_text(body, "provider"));
        set_text(&pool->org_id, go_text(body, "orgID"));
        set_text(&pool->description, go_text(body, "description"));
        set_text(&pool->cluster, cluster_of(body));
        pool->hybrid = json_is_true(json_object_get(body, "isHybrid"));
        return take_limits("totalResources", body, false, &pool->total, CODE_InvalidComputeResource, error) &&
               take_limits("minResources", body, false, &pool->min, CODE_InvalidComputeResource, error) &&
               take_labels("labels", json_object_get(body, "labels"), &pool->labels, error) &&
               take_labels("annotations", json_object_get(body, "annotations"), &pool->annotations, error);
}

/* ---- change ---- */

static bool merge_annotations(Pool *pool, const json_t *said, GError **error)
{
        g_autoptr(json_t) map = labels_format(pool->annotations);
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)said, key, value) {
                if (json_string_length(value) == 0)
                        json_object_del(map, key);
                else
                        json_object_set(map, key, value);
        }
        return take_labels("annotations", map, &pool->annotations, error);
}

static bool apply(const PaddleFlow *flow, const Catalog *catalog, Object *draft, const json_t *body,
                  GError **error)
{
        Pool *pool = (Pool *)draft;
        const char *status = go_text(body, "status");

        if (*status && strcmp(status, "open") != 0 && strcmp(status, "closed") != 0)
                return paddleflow_set(error, CODE_InvalidArguments,
                                      "status '%.40s' is neither open nor closed", status);
        if (*status)
                set_text(&pool->status, status);
        return take_limits("totalResources", body, true, &pool->total, CODE_InvalidArguments, error) &&
               merge_annotations(pool, json_object_get(body, "annotations"), error);
}

static bool check_change(const Call *call, const char *name, const json_t *body, GError **error)
{
        return call_root(call, CODE_OnlyRootAllowed, error);
}

/* ---- drop, show, list ---- */

static bool check_drop(const Call *call, const char *name, GError **error)
{
        return call_root(call, CODE_OnlyRootAllowed, error);
}

static const EditKind pools = {
        .member = "name",
        .param = "name",
        .body = pool_body,
        .check_new = check_new,
        .fill = fill_new,
        .check_change = check_change,
        .check_drop = check_drop,
        .made = { KIND_POOL, NULL, NULL, codes, CODE_ResourceNotFound },
        .changed = { KIND_POOL, apply, show_pool, codes, CODE_RecordNotFound },
        .dropped = { KIND_POOL, NULL, NULL, codes, CODE_ResourceNotFound },
        .answer = "name",
};

static void create_pool(HttpRequest *request, void *arg)
{
        edit_create(request, arg, &pools);
}

static void change_pool(HttpRequest *request, void *arg)
{
        edit_update(request, arg, &pools);
}

static void drop_pool(HttpRequest *request, void *arg)
{
        edit_delete(request, arg, &pools);
}

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Object *pool;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        pool = catalog_find(call.catalog, KIND_POOL, call_param(&call, "name"));
        if (!call_root(&call, CODE_ActionNotAllowed, &error)) {
                call_fail(&call, error);
        } else if (!pool) {
                paddleflow_set(&error, CODE_ResourceNotFound, "there is no resource pool '%.63s'",
                               call_param(&call, "name"));
                call_fail(&call, error);
        } else {
                call_reply(&call, show_pool(call.flow, call.catalog, pool));
        }
}

static void list_pools(HttpRequest *request, void *arg)
{
        g_auto(Call) call;

        if (call_begin(&call, request, arg))
                page_reply(&call, KIND_POOL, "resourcePoolList", NULL, NULL, show_pool);
}

const HttpRoute pool_rows[] = {
        { "POST", PADDLEFLOW_BASE "/resourcepool", ACCESS_POOL, VERB_CREATE, create_pool,
          "Make a resource pool.", .request = "Pool", .reply = "Named" },
        { "GET", PADDLEFLOW_BASE "/resourcepool", ACCESS_POOL, VERB_LIST, list_pools, "List resource pools.",
          .query = page_query, .reply = "PoolList" },
        { "GET", PADDLEFLOW_BASE "/resourcepool/{name}", ACCESS_POOL, VERB_SHOW, show_one,
          "Show a resource pool.", .reply = "PoolShown" },
        { "PUT", PADDLEFLOW_BASE "/resourcepool/{name}", ACCESS_POOL, VERB_UPDATE, change_pool,
          "Change a resource pool; what is not said stays.", .request = "PoolChange", .reply = "PoolShown" },
        { "DELETE", PADDLEFLOW_BASE "/resourcepool/{name}", ACCESS_POOL, VERB_DELETE, drop_pool,
          "Drop a resource pool." },
        { 0 },
};
