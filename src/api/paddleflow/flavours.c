/* Flavours (doc/reference/paddleflow-api.md, "Flavours"). */
#include <string.h>

#include "api/paddleflow/internal.h"

static const CodeMap codes[] = { { ERR_EXISTS, CODE_DuplicatedName },
                                 { ERR_NOT_FOUND, CODE_FlavourNotFound },
                                 { ERR_INVALID, CODE_FlavourInvalidField },
                                 CODE_MAP_END };

static json_t *show_flavour(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        const Flavour *flavour = (const Flavour *)object;
        g_autofree char *created = time_text(object->created), *updated = time_text(object->updated);

        return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "id", object->id, "name", object->name, "cpu",
                         text_or_blank(flavour->cpu), "mem", text_or_blank(flavour->memory),
                         "scalarResources", labels_format(flavour->scalars), "createTime", created,
                         "updateTime", updated);
}

/* Applies the body to the flavour. The engine makes the same checks; this one chooses the code. */
static bool apply(const PaddleFlow *flow, const Catalog *catalog, Object *draft, const json_t *body,
                  GError **error)
{
        g_autoptr(json_t) patch = json_object();
        GError *why = NULL;
        static const char *const names[][2] = { { "cpu", "cpu" },
                                                { "mem", "memory" },
                                                { "scalarResources", "scalars" } };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                json_t *value = json_object_get(body, names[i][0]);

                if (value && !(json_is_string(value) && json_string_length(value) == 0))
                        json_object_set(patch, names[i][1], value);
        }
        /* Whether the name is free comes later. */
        if (object_patch(draft, patch, &why) && catalog_check_put(catalog, draft, draft, NULL, &why))
                return true;
        paddleflow_set(error, CODE_FlavourInvalidField, "%s", why->message);
        g_error_free(why);
        return false;
}

static bool check_scalars(const json_t *body, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach(json_object_get(body, "scalarResources"), name, value) {
                if (json_string_length(value) == 0)
                        return paddleflow_set(error, CODE_FlavourInvalidField,
                                              "scalarResources.%.80s is empty", name);
        }
        return true;
}

static bool check_cluster(const Call *call, const char *name, GError **error)
{
        return !*name || catalog_cluster(call->catalog, name) ||
               paddleflow_set(error, CODE_ClusterNameNotFound, "there is no cluster '%.255s'", name);
}

static bool check_new(const Call *call, const json_t *body, GError **error)
{
        return (*go_text(body, "name") || paddleflow_set(error, CODE_FlavourNotFound, "name is missing")) &&
               check_cluster(call, go_text(body, "clusterName"), error) && check_scalars(body, error);
}

static bool fill_new(const Call *call, Object *draft, const json_t *body, GError **error)
{
        Flavour *flavour = (Flavour *)draft;

        set_text(&flavour->cluster, go_text(body, "clusterName"));
        set_text(&flavour->creator, call->user);
        return apply(call->flow, call->catalog, draft, body, error);
}

static const Flavour *find_flavour(const Call *call, const char *name, GError **error)
{
        const Flavour *flavour = catalog_flavour(call->catalog, name);

        if (!flavour)
                paddleflow_set(error, CODE_FlavourNotFound, "there is no flavour '%.60s'", name);
        return flavour;
}

/* Only the creator and root may change a flavour. */
static bool check_drop(const Call *call, const char *name, GError **error)
{
        const Flavour *flavour = find_flavour(call, name, error);

        return flavour && (call->root || g_strcmp0(flavour->creator, call->user) == 0 ||
                           paddleflow_set(error, CODE_ActionNotAllowed, "flavour '%s' is not of '%s'", name,
                                          call->user));
}

static bool check_change(const Call *call, const char *name, const json_t *body, GError **error)
{
        return check_drop(call, name, error) && check_scalars(body, error);
}

static const EditKind flavours = {
        .member = "name",
        .param = "flavourName",
        .body = flavour_body,
        .check_new = check_new,
        .fill = fill_new,
        .check_change = check_change,
        .check_drop = check_drop,
        .made = { KIND_FLAVOUR, NULL, NULL, codes, CODE_FlavourNotFound },
        .changed = { KIND_FLAVOUR, apply, show_flavour, codes, CODE_FlavourNotFound },
        .dropped = { KIND_FLAVOUR, NULL, NULL, codes, CODE_FlavourNotFound },
        .answer = "name",
};

static void create_flavour(HttpRequest *request, void *arg)
{
        edit_create(request, arg, &flavours);
}

static void change_flavour(HttpRequest *request, void *arg)
{
        edit_update(request, arg, &flavours);
}

static void drop_flavour(HttpRequest *request, void *arg)
{
        edit_delete(request, arg, &flavours);
}

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Flavour *flavour;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        flavour = find_flavour(&call, call_param(&call, "flavourName"), &error);
        if (flavour)
                call_reply(&call, show_flavour(call.flow, call.catalog, &flavour->object));
        else
                call_fail(&call, error);
}

/* By a part of its name; those of a cluster only when that is named. */
static bool is_listed(const Call *call, const Object *object, void *arg)
{
        const Flavour *flavour = (const Flavour *)object;

        return strstr(object->name, call_query(call, "name")) &&
               (!flavour->cluster || strcmp(flavour->cluster, call_query(call, "clusterName")) == 0);
}

/* The page is judged before the cluster is looked for. */
static void list_flavours(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        GError *error = NULL;
        Page page;

        if (!call_begin(&call, request, arg))
                return;
        if (page_take(&call, "flavourList", &page, &error) &&
            check_cluster(&call, call_query(&call, "clusterName"), &error))
                page_reply(&call, KIND_FLAVOUR, "flavourList", is_listed, NULL, show_flavour);
        else
                call_fail(&call, error);
}

static const HttpParameter list_flavours_query[] = {
        { "name", HTTP_STRING, "Only those with this in their name." },
        { "clusterName", HTTP_STRING, "Those of this cluster, too." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute flavour_rows[] = {
        { "POST", PADDLEFLOW_BASE "/flavour", ACCESS_FLAVOUR, VERB_CREATE, create_flavour, "Make a flavour.",
          .request = "Flavour", .reply = "Named" },
        { "GET", PADDLEFLOW_BASE "/flavour", ACCESS_FLAVOUR, VERB_LIST, list_flavours, "List flavours.",
          .query = list_flavours_query, .reply = "FlavourList" },
        { "GET", PADDLEFLOW_BASE "/flavour/{flavourName}", ACCESS_FLAVOUR, VERB_SHOW, show_one,
          "Show a flavour.", .reply = "FlavourShown" },
        { "PUT", PADDLEFLOW_BASE "/flavour/{flavourName}", ACCESS_FLAVOUR, VERB_UPDATE, change_flavour,
          "Change a flavour; what is not said stays.", .request = "FlavourChange", .reply = "FlavourShown" },
        { "DELETE", PADDLEFLOW_BASE "/flavour/{flavourName}", ACCESS_FLAVOUR, VERB_DELETE, drop_flavour,
          "Drop a flavour." },
        { 0 },
};
