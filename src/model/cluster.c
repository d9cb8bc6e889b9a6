/* Clusters and resource pools (see cluster.h): checks of their fields. */
#include "model/cluster.h"

#include <string.h>

#include "base/err.h"
#include "model/object-row.h"
#include "model/spec.h"

enum {
        TEXT_MAX = 255,
        DESCRIPTION_MAX = 2048,
        SETTING_MAX = 64 * 1024,
        CREDENTIAL_MAX = 256 * 1024, /* a kubeconfig with its certificates */
        POOL_WORD_MAX = 32,          /* type, provider */
        LABEL_MAX = 4096,
        CLUSTER_NAME_MAX = 255,
};

static const char *const types[] = { "Kubernetes", "Local", "K3S", NULL };
static const char *const online[] = { "online", "offline", NULL };
static const char *const pool_states[] = { "creating", "open", "closed", NULL };

G_STATIC_ASSERT(G_N_ELEMENTS(types) == CLUSTER_TYPES + 1);

const char *cluster_type_name(ClusterType type)
{
        return types[type];
}

bool cluster_type_parse(const char *name, ClusterType *ret)
{
        int type = word_find(types, name);

        if (type >= 0)
                *ret = (ClusterType)type;
        return type >= 0;
}

/* ^[A-Za-z0-9_][A-Za-z0-9-_]{0,253}[A-Za-z0-9_]$ */
static bool cluster_name_check(const char *what, const char *name, GError **error)
{
        size_t len = strlen(name);
        g_autofree char *shown = NULL;
        bool good = len >= 2 && len <= CLUSTER_NAME_MAX && name[0] != '-' && name[len - 1] != '-';

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || *at == '_' || *at == '-';
        if (good)
                return true;
        shown = err_shown(name);
        return err_set(
                error, ERR_INVALID,
                "%s: '%.80s' is not a name of 2 to %d letters, digits, '_' and '-' that neither begins nor "
                "ends with '-'",
                what, shown, CLUSTER_NAME_MAX);
}

static bool pool_status_check(const char *what, const char *value, GError **error)
{
        if (word_find(pool_states, value) >= 0)
                return true;
        return err_set(error, ERR_INVALID, "%s: '%.40s' is not one of creating, open, closed", what, value);
}

/* ---- passwords in a setting ---- */

/* NULL: not an object. */
static json_t *read_setting(const char *setting)
{
        const char *at = setting;

        while (at && g_ascii_isspace(*at))
                at++;
        return at && *at == '{' ? json_parse(at, strlen(at), NULL) : NULL;
}

static bool is_password(const char *name, const json_t *value)
{
        return strcmp(name, "password") == 0 && json_is_string(value);
}

static int hide(json_t *object)
{
        const char *name;
        json_t *value;
        int n = 0;

        json_object_foreach(object, name, value) {
                if (is_password(name, value))
                        n += json_string_set(value, CLUSTER_HIDDEN) == 0;
                else if (json_is_object(value))
                        n += hide(value);
        }
        return n;
}

/* Copies values that are hidden in `object` from `was`. */
static int restore(json_t *object, const json_t *was)
{
        const char *name;
        json_t *value;
        int n = 0;

        json_object_foreach(object, name, value) {
                const json_t *old = json_object_get(was, name);

                if (json_is_object(value))
                        n += restore(value, old);
                else if (is_password(name, value) && json_is_string(old) &&
                         strcmp(json_string_value(value), CLUSTER_HIDDEN) == 0)
                        n += json_string_set(value, json_string_value(old)) == 0;
        }
        return n;
}

/* Invalid JSON may contain a password as well: hide all of it. */
char *cluster_setting_show(const char *setting)
{
        g_autoptr(json_t) object = read_setting(setting);

        if (object)
                return hide(object) ? json_format(object) : g_strdup(setting);
        return g_strdup(strstr(setting, "\"password\"") ? CLUSTER_HIDDEN : setting);
}

char *cluster_setting_keep(const char *setting, const char *was)
{
        g_autoptr(json_t) object = read_setting(setting), old = object ? read_setting(was) : NULL;

        return old && restore(object, old) ? json_format(object) : g_strdup(setting);
}

#define AT(field) offsetof(Cluster, field)

static const ObjectField fields[] = {
        { "type", FIELD_WORD, AT(type), .words = types },
        { "status", FIELD_EITHER, AT(offline), .words = online },
        { "description", FIELD_TEXT, AT(description), FIELD_BLANK, .max = DESCRIPTION_MAX },
        { "endpoint", FIELD_TEXT, AT(endpoint), FIELD_BLANK, .max = DESCRIPTION_MAX },
        { "source", FIELD_TEXT, AT(source), FIELD_BLANK, .max = TEXT_MAX, .text = "OnPremise" },
        { "version", FIELD_TEXT, AT(version), FIELD_BLANK, .max = TEXT_MAX },
        { "credential", FIELD_TEXT, AT(credential), FIELD_SECRET, .max = CREDENTIAL_MAX },
        { "setting", FIELD_TEXT, AT(setting), FIELD_BLANK, .max = SETTING_MAX, .show = cluster_setting_show,
          .keep = cluster_setting_keep },
        { "namespaces", FIELD_LIST, AT(namespaces), .max = SPEC_NAME_MAX, .check = name_check },
        { "defaults", FIELD_LIMITS, AT(defaults) },
        { NULL },
};

const ObjectRow cluster_row = { "cluster", "cluster-", sizeof(Cluster), fields, cluster_name_check };

#undef AT
#define AT(field) offsetof(Pool, field)

static const ObjectField pool_fields[] = {
        { "namespace", FIELD_TEXT, AT(namespace), .max = SPEC_NAME_MAX, .check = name_check },
        { "type", FIELD_TEXT, AT(type), FIELD_BLANK, .max = POOL_WORD_MAX },
        { "provider", FIELD_TEXT, AT(provider), FIELD_BLANK, .max = POOL_WORD_MAX },
        { "org_id", FIELD_TEXT, AT(org_id), FIELD_BLANK, .max = TEXT_MAX },
        { "creator", FIELD_TEXT, AT(creator), FIELD_FIXED, .max = TEXT_MAX },
        { "description", FIELD_TEXT, AT(description), FIELD_BLANK, .max = DESCRIPTION_MAX },
        { "cluster", FIELD_TEXT, AT(cluster), .max = TEXT_MAX, .text = CLUSTER_DEFAULT },
        { "quota_type", FIELD_WORD, AT(quota_type), FIELD_ONCE, .words = quota_type_words },
        { "total", FIELD_LIMITS, AT(total) },
        { "min", FIELD_LIMITS, AT(min) },
        { "labels", FIELD_LABELS, AT(labels), .max = LABEL_MAX },
        { "annotations", FIELD_LABELS, AT(annotations), .max = LABEL_MAX },
        { "hybrid", FIELD_BOOL, AT(hybrid) },
        { "status", FIELD_TEXT, AT(status), .max = POOL_WORD_MAX, .text = "creating",
          .check = pool_status_check },
        { NULL },
};

const ObjectRow pool_row = { "resource pool", "rp-", sizeof(Pool), pool_fields, name_check };
