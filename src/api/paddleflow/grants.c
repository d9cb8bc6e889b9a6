/* Grants (doc/reference/paddleflow-api.md, "Grants"). */
#include <string.h>

#include "api/paddleflow/internal.h"

static const CodeMap codes[] = { { ERR_EXISTS, CODE_GrantAlreadyExist },
                                 { ERR_NOT_FOUND, CODE_GrantNotFound },
                                 { ERR_INVALID, CODE_GrantRootActionNotSupport },
                                 CODE_MAP_END };
static const EditRow row = { KIND_GRANT, NULL, NULL, codes, CODE_GrantNotFound };

typedef struct {
        const char *user, *type, *resource;
        GrantType kind;
} Wish;

static bool find_resource(const Call *call, const Wish *wish, GError **error)
{
        switch (wish->kind) {
        case GRANT_QUEUE:
                return catalog_queue(call->catalog, wish->resource) ||
                       paddleflow_set(error, CODE_QueueNameNotFound, "there is no queue '%.255s'",
                                      wish->resource);
        case GRANT_USER:
                return catalog_user(call->catalog, wish->resource) ||
                       paddleflow_set(error, CODE_UserNotExist, "there is no user '%.60s'", wish->resource);
        default: /* the reference's word for it */
                return catalog_filesystem_by_id(call->catalog, wish->resource) ||
                       paddleflow_set(error, CODE_UserNotExist, "there is no file system '%.120s'",
                                      wish->resource);
        }
}

static bool check(const Call *call, Wish *wish, GError **error)
{
        const User *user = catalog_user(call->catalog, wish->user);

        if (!call_root(call, CODE_OnlyRootAllowed, error))
                return false;
        if (strcmp(wish->user, "root") == 0 || (user && user->admin))
                return paddleflow_set(error, CODE_GrantRootActionNotSupport,
                                      "'%s' may do everything without a grant", wish->user);
        if (!grant_type_parse(wish->type, &wish->kind))
                return paddleflow_set(error, CODE_GrantResourceTypeNotFound,
                                      "resourceType: '%.40s' is not one of queue, user, fs", wish->type);
        return find_resource(call, wish, error) &&
               (user || paddleflow_set(error, CODE_UserNotExist, "there is no user '%.60s'", wish->user));
}

static Object *draft_of(const Wish *wish)
{
        g_autofree char *name = grant_key(wish->user, wish->kind, wish->resource);
        Grant *grant = (Grant *)object_new(KIND_GRANT, name);

        grant->type = wish->kind;
        set_text(&grant->user, wish->user);
        set_text(&grant->resource, wish->resource);
        return &grant->object;
}

static void create_grant(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;
        Wish wish;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, grant_body, &error);
        wish = (Wish){ go_text(body, *go_text(body, "userName") ? "userName" : "username"),
                       go_text(body, "resourceType"), go_text(body, "resourceID") };
        if (!body || !check(&call, &wish, &error))
                call_fail(&call, error);
        else if (catalog_grant(call.catalog, wish.user, wish.kind, wish.resource)) {
                paddleflow_set(&error, CODE_GrantAlreadyExist, "'%s' has this grant on '%s' already",
                               wish.user, wish.resource);
                call_fail(&call, error);
        } else {
                edit_put(&call, &row, draft_of(&wish), "grantID");
        }
}

static void drop_grant(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        GError *error = NULL;
        const Grant *grant;
        Wish wish;

        if (!call_begin(&call, request, arg))
                return;
        wish = (Wish){ call_query(&call, "username"), call_query(&call, "resourceType"),
                       call_query(&call, "resourceID") };
        if (!check(&call, &wish, &error)) {
                call_fail(&call, error);
                return;
        }
        grant = catalog_grant(call.catalog, wish.user, wish.kind, wish.resource);
        if (grant) {
                edit_drop(&call, &row, grant->object.name);
        } else {
                paddleflow_set(&error, CODE_GrantNotFound, "'%s' has no grant on '%s'", wish.user,
                               wish.resource);
                call_fail(&call, error);
        }
}

static json_t *show_grant(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        const Grant *grant = (const Grant *)object;
        g_autofree char *created = time_rfc3339(object->created), *updated = time_rfc3339(object->updated);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "grantID", object->id, "userName", grant->user,
                         "resourceType", grant_type_name(grant->type), "resourceID", grant->resource,
                         "createTime", created, "updateTime", updated);
}

static bool is_of_user(const Call *call, const Object *object, void *arg)
{
        return !*(const char *)arg || strcmp(((const Grant *)object)->user, arg) == 0;
}

static void list_grants(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (call_root(&call, CODE_OnlyRootAllowed, &error))
                page_reply(&call, KIND_GRANT, "grantList", is_of_user, (char *)call_query(&call, "username"),
                           show_grant);
        else
                call_fail(&call, error);
}

static const HttpParameter list_grants_query[] = {
        { "username", HTTP_STRING, "Only of this user." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

static const HttpParameter drop_grant_query[] = {
        { "username", HTTP_STRING, "Whose." },
        { "resourceType", HTTP_STRING, "queue, user or fs." },
        { "resourceID", HTTP_STRING, "On what." },
        { 0 },
};

const HttpRoute grant_rows[] = {
        { "POST", PADDLEFLOW_BASE "/grant", ACCESS_GRANT, VERB_CREATE, create_grant,
          "Grant a queue, a user or a file system to a user.", .request = "NewGrant", .reply = "GrantMade" },
        { "GET", PADDLEFLOW_BASE "/grant", ACCESS_GRANT, VERB_LIST, list_grants, "List grants.",
          .query = list_grants_query, .reply = "GrantList" },
        { "DELETE", PADDLEFLOW_BASE "/grant", ACCESS_GRANT, VERB_DELETE, drop_grant, "Revoke a grant.",
          .query = drop_grant_query },
        { 0 },
};
