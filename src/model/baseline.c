/* Checks the templates of users (see baseline.h) against the tables of baseline-fields.h. A field without a
 * row is refused whatever its type is, so that no later reader can interpret it in another way.
 *
 *   template ─▶ its pods (extension.h) ─▶ every field is in its table, with a value that the row allows
 *                                      ─▶ the template may use every secret, ConfigMap, claim and volume
 *                                         that it names
 */
#include "model/baseline.h"

#include <string.h>

#include "base/err.h"
#include "model/baseline-fields.h"
#include "model/extension.h"

#define ELSEWHERE "an object in a namespace that the job chose"

/* ---- fields ---- */

/* `list`: the list in the setting's `allow` with which an administrator can permit it; or NULL. */
static bool refuse(const char *where, const char *what, const char *list, GError **error)
{
        g_autofree char *widen =
                list ? g_strdup_printf(", or add it to 'allow.%s' of the cluster's setting", list) : NULL;
        g_autofree char *shown = err_shown(where);

        return err_set(error, ERR_DENIED,
                       "extensionTemplate: %.400s: only administrators can request %s\nLeave it out, or let "
                       "an administrator submit the job%s.",
                       shown, what, widen ? widen : "");
}

/* In a field that users may not set, null, false, 0 and an empty list count as absent. */
static bool is_unsaid(const json_t *value)
{
        return json_is_null(value) || json_is_false(value) ||
               (json_is_integer(value) && json_integer_value(value) == 0) ||
               (json_is_array(value) && json_array_size(value) == 0);
}

static bool is_plain(const json_t *value)
{
        return !json_is_object(value) && !json_is_array(value);
}

static bool is_word(const Field *field, const Fence *fence, const json_t *value)
{
        const char *text = json_string_value(value);

        return text && ((field->words && g_strv_contains(field->words, text)) ||
                        (field->list && fence_lists(fence, field->list, text)));
}

static bool is_allowed(const Field *field, const Fence *fence, const json_t *value)
{
        bool bounded = field->words || field->list || field->may;

        return !bounded || is_word(field, fence, value) || (field->may && field->may(fence, value));
}

static bool refuse_value(const Field *field, const char *where, GError **error)
{
        return refuse(where, field->what ? field->what : "this value", field->list, error);
}

static bool check_fields(const Field *fields, const Fence *fence, const char *where, const json_t *object,
                         GError **error);

static bool check_keys(const Field *field, const Fence *fence, const char *where, const json_t *object,
                       GError **error)
{
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)object, key, value) {
                g_autofree char *at = g_strdup_printf("%s.%s", where, key);
                g_autoptr(json_t) text = json_string(key);

                if (!is_plain(value) || !is_allowed(field, fence, text))
                        return refuse_value(field, at, error);
        }
        return json_is_object(object) || refuse_value(field, where, error);
}

static bool check_item(const Field *field, const Fence *fence, const char *where, const json_t *item,
                       GError **error)
{
        if (field->shape == FIELD_PLAINS && !is_plain(item))
                return refuse_value(field, where, error);
        return (is_allowed(field, fence, item) || refuse_value(field, where, error)) &&
               (field->shape == FIELD_PLAINS || check_fields(field->fields, fence, where, item, error));
}

static bool check_list(const Field *field, const Fence *fence, const char *where, const json_t *list,
                       GError **error)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                g_autofree char *at = g_strdup_printf("%s[%" G_GSIZE_FORMAT "]", where, i);

                if (!check_item(field, fence, at, item, error))
                        return false;
        }
        return json_is_array(list) || refuse_value(field, where, error);
}

static bool check_field(const Field *field, const Fence *fence, const char *where, const json_t *value,
                        GError **error)
{
        switch (field->shape) {
        case FIELD_PLAIN:
                return (is_plain(value) && is_allowed(field, fence, value)) ||
                       refuse_value(field, where, error);
        case FIELD_OBJECT:
                return (is_allowed(field, fence, value) || refuse_value(field, where, error)) &&
                       check_fields(field->fields, fence, where, value, error);
        case FIELD_PLAINS:
        case FIELD_LIST: return check_list(field, fence, where, value, error);
        case FIELD_MAP: return check_keys(field, fence, where, value, error);
        case FIELD_ANY: return true;
        case FIELD_NEVER: return is_unsaid(value) || refuse_value(field, where, error);
        }
        return false;
}

/* NULL: no table has the field. The row "*" matches every name; the setting's list decides. */
static const Field *field_of(const Field *fields, const char *name)
{
        while (fields->name && strcmp(fields->name, "*") != 0 && strcmp(fields->name, name) != 0)
                fields++;
        return fields->name ? fields : NULL;
}

static bool check_member(const Field *fields, const Fence *fence, const char *where, const char *name,
                         const json_t *value, GError **error)
{
        const Field *field = field_of(fields, name);

        if (!field)
                return refuse(where, "this field", NULL, error);
        if (strcmp(field->name, "*") == 0 && !fence_lists(fence, field->list, name))
                return refuse_value(field, where, error);
        return check_field(field, fence, where, value, error);
}

static bool check_fields(const Field *fields, const Fence *fence, const char *where, const json_t *object,
                         GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)object, name, value) {
                g_autofree char *at = g_strdup_printf("%s.%s", where, name);

                if (!json_is_null(value) && !check_member(fields, fence, at, name, value, error))
                        return false;
        }
        return json_is_object(object) || json_is_null(object) || refuse(where, "this value", NULL, error);
}

/* ---- volumes, and objects in the namespace ---- */

static bool has_volume(const json_t *spec, const char *name)
{
        const json_t *volume;
        size_t i;

        json_array_foreach(json_object_get(spec, "volumes"), i, volume) {
                if (g_strcmp0(json_string_value(json_object_get(volume, "name")), name) == 0)
                        return true;
        }
        return false;
}

/* The platform mounts its own volumes: a whole volume of homes would expose all users' homes. */
static bool check_mounts(const json_t *spec, const char *where, const json_t *container, GError **error)
{
        const json_t *mount;
        size_t i;

        json_array_foreach(json_object_get(container, "volumeMounts"), i, mount) {
                const char *name = json_string_value(json_object_get(mount, "name"));
                g_autofree char *at = g_strdup_printf("%s.volumeMounts[%" G_GSIZE_FORMAT "].name", where, i);

                if (name && !has_volume(spec, name))
                        return refuse(at, "a volume that the template does not define", NULL, error);
        }
        return true;
}

/* "homes-%s" in a setting matches "homes-*". */
static bool is_named_by(const json_t *text, const char *name)
{
        g_auto(GStrv) parts = json_is_string(text) ? g_strsplit(json_string_value(text), "%s", -1) : NULL;
        g_autofree char *pattern = parts ? g_strjoinv("*", parts) : NULL;

        return pattern && g_pattern_match_simple(pattern, name);
}

/* `kind`: "claim", "secret". */
static bool is_of_homes(const Fence *fence, const char *kind, const char *name)
{
        const char *entry;
        json_t *volume;

        json_object_foreach((json_t *)fence->volumes, entry, volume) {
                if (is_named_by(json_object_get(volume, kind), name))
                        return true;
        }
        return false;
}

/* Names of image.h and gate.h: pull secrets, and the shared secret of an attempt's members. */
static bool is_secret_of_ours(const Fence *fence, const char *name)
{
        return g_str_has_prefix(name, "paddle-") || g_str_has_prefix(name, "j-") ||
               is_of_homes(fence, "secret", name);
}

/* ConfigMaps of an attempt (form.h, package.h): its members' variables, its package. */
static bool is_map_of_ours(const Fence *fence, const char *name)
{
        return g_str_has_prefix(name, "j-");
}

static bool is_claim_of_homes(const Fence *fence, const char *name)
{
        return is_of_homes(fence, "claim", name);
}

typedef struct {
        const char *word; /* in a field's name: "secretName", "imagePullSecrets", "configMapKeyRef" */
        bool (*is_ours)(const Fence *fence, const char *name);
        const char *what;
} Source;

static const Source sources[] = {
        { "secret", is_secret_of_ours, "a secret of the platform" },
        { "configmap", is_map_of_ours, "a ConfigMap of the platform" },
        { "claimname", is_claim_of_homes, "the claim of users' homes" },
};

/* True for the text itself, an object's "name", or any of a list of these. */
static bool names_any(const json_t *value, const Source *source, const Fence *fence)
{
        const json_t *named = json_is_object(value) ? json_object_get(value, "name") : value, *item;
        size_t i;

        json_array_foreach(value, i, item) {
                if (names_any(item, source, fence))
                        return true;
        }
        return json_is_string(named) && (fence->chosen || source->is_ours(fence, json_string_value(named)));
}

/* The restricted object that the field `key` refers to; NULL: none. */
static const char *what_is_named(const Fence *fence, const char *key, const json_t *value)
{
        g_autofree char *lower = g_ascii_strdown(key, -1);

        for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
                if (strstr(lower, sources[i].word) && names_any(value, &sources[i], fence))
                        return fence->chosen ? ELSEWHERE : sources[i].what;
        return NULL;
}

static bool check_sources(const Fence *fence, const char *where, const json_t *value, GError **error)
{
        const char *key;
        json_t *item;
        size_t i;

        json_object_foreach((json_t *)value, key, item) {
                g_autofree char *at = g_strdup_printf("%s.%s", where, key);
                const char *what = what_is_named(fence, key, item);

                if (what)
                        return refuse(at, what, NULL, error);
                if (!check_sources(fence, at, item, error))
                        return false;
        }
        json_array_foreach(value, i, item) {
                g_autofree char *at = g_strdup_printf("%s[%" G_GSIZE_FORMAT "]", where, i);

                if (!check_sources(fence, at, item, error))
                        return false;
        }
        return true;
}

/* ---- pods ---- */

/* Quotas count only the member's container. */
static bool check_alone(const char *where, const json_t *spec, GError **error)
{
        g_autofree char *second = g_strconcat(where, ".containers[1]", NULL);

        return json_array_size(json_object_get(spec, "containers")) < 2 ||
               refuse(second, "a container beside the member's, which no quota counts", NULL, error);
}

static bool check_all_mounts(const char *where, const json_t *spec, const char *list, GError **error)
{
        const json_t *container;
        size_t i;

        json_array_foreach(json_object_get(spec, list), i, container) {
                g_autofree char *at = g_strdup_printf("%s.%s[%" G_GSIZE_FORMAT "]", where, list, i);

                if (!check_mounts(spec, at, container, error))
                        return false;
        }
        return true;
}

static bool check_pod(const char *where, const json_t *pod, const void *arg, GError **error)
{
        const json_t *spec = json_object_get(pod, "spec");
        const Fence *fence = arg;
        g_autofree char *at = g_strconcat(where, ".spec", NULL);

        return check_fields(baseline_pod, fence, where, pod, error) && check_alone(at, spec, error) &&
               check_all_mounts(at, spec, "containers", error) &&
               check_all_mounts(at, spec, "initContainers", error) && check_sources(fence, at, spec, error);
}

static bool check(const json_t *template, const Fence *fence, GError **error)
{
        return extension_check_pods(template, error) && extension_each_pod(template, check_pod, fence, error);
}

/* NULL if the setting is not an object. */
static json_t *parse(const char *setting)
{
        return setting ? json_parse(setting, strlen(setting), NULL) : NULL;
}

static Fence fence_of(const json_t *setting, const BaselinePlace *place)
{
        return (Fence){ .volumes = json_object_get(setting, "volumes"),
                        .allow = json_object_get(setting, "allow"),
                        .volcano = json_is_true(json_object_get(setting, "volcano")),
                        .chosen = place->chosen };
}

bool baseline_check(const json_t *template, const BaselinePlace *place, GError **error)
{
        g_autoptr(json_t) setting = parse(place->setting);
        const Fence fence = fence_of(setting, place);

        return check(template, &fence, error);
}

bool baseline_check_origin(const json_t *origin, const BaselinePlace *place, GError **error)
{
        const json_t *asked = json_object_get(origin, "paddleflow"), *member;
        g_autoptr(json_t) setting = parse(place->setting);
        const Fence fence = fence_of(setting, place);
        size_t i;

        json_array_foreach(json_object_get(asked, "members"), i, member) {
                if (!check(json_object_get(member, "extensionTemplate"), &fence, error))
                        return false;
        }
        return check(json_object_get(asked, "extensionTemplate"), &fence, error) &&
               check(json_object_get(asked, "defaultTemplate"), &fence, error);
}

bool baseline_check_words(const char *where, char *const *words, const BaselinePlace *place, GError **error)
{
        g_autoptr(json_t) setting = parse(place->setting);
        const Fence fence = fence_of(setting, place);

        for (; place->pods && words && *words; words++) {
                g_autofree char *key = g_strndup(*words, strcspn(*words, "="));
                g_autofree char *shown = NULL;

                if (fence_has_key(&fence, key))
                        continue;
                shown = err_shown(key);
                return err_set(error, ERR_DENIED,
                               "%s: '%.300s' speaks to what runs in the cluster: it is an administrator's to "
                               "ask for\n"
                               "Use a name without '/', or let an administrator add its prefix to "
                               "'allow.metadata' of the cluster's setting.",
                               where, shown);
        }
        return true;
}

/* A namespace in the queue, in the cluster's list or in the kubeconfig is an administrator's choice. */
static bool is_chosen(const Cluster *cluster, const Queue *queue, const char *namespace)
{
        const char *const *listed = cluster ? (const char *const *)cluster->namespaces : NULL;

        return namespace && !(queue && g_strcmp0(queue->namespace, namespace) == 0) &&
               !(listed && g_strv_contains(listed, namespace));
}

BaselinePlace baseline_place(const Catalog *catalog, const Queue *queue, const char *namespace)
{
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;

        return (BaselinePlace){ .setting = cluster ? cluster->setting : NULL,
                                .pods = cluster && cluster->type != CLUSTER_LOCAL,
                                .chosen = is_chosen(cluster, queue, namespace) };
}
