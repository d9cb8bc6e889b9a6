/* The setting of a cluster (see setting.h), read by tables: a row for each key. Groups are objects with a
 * table of their own; the keys of `volumes` are names, and its values groups.
 *
 * The entries of `volumes` are those of PaddlePaddle Cloud's setting DATACENTERS, with claims beside host
 * paths and CephFS. */
#include "runtime/kubernetes/pod/setting.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "runtime/kubernetes/pod/form.h"
#include "runtime/kubernetes/pod/policy.h"

enum {
        TEXT_MAX = 1024,
        NAME_MAX_BYTES = 253, /* of objects in Kubernetes */
        LIST_MAX = 64,
        VOLUMES_MAX = 64,
        COUNT_MAX = 100000,
        DEPTH = 128, /* of the names of keys, for messages */
};

typedef enum { KEY_TEXT, KEY_BOOL, KEY_COUNT, KEY_LIST, KEY_GROUP, KEY_VOLUMES } KeyType;

typedef struct Key Key;
struct Key {
        const char *name;
        KeyType type;
        gsize offset; /* in the struct of its table; of a group: where its own begins */
        bool (*check)(const char *where, const char *value,
                      GError **error); /* of a text, or each of a list */
        const Key *keys;               /* of a group */
};

/* ---- what texts may be ---- */

static bool refuse(const char *where, const char *value, const char *rule, GError **error)
{
        g_autofree char *shown = err_shown(value);

        return err_set(error, ERR_INVALID, "%s: '%.80s' is not %s", where, shown, rule);
}

static bool consists_of(const char *text, const char *others)
{
        for (; *text; text++)
                if (!g_ascii_isalnum(*text) && !strchr(others, *text))
                        return false;
        return true;
}

static bool check_image(const char *where, const char *value, GError **error)
{
        return (g_ascii_isalnum(*value) && consists_of(value, "._/:@+-")) ||
               refuse(where, value, "an image reference such as paddlepaddle/paddle:2.6.2", error);
}

static bool check_form(const char *where, const char *value, GError **error)
{
        g_autofree char *names = form_names(), *rule = g_strdup_printf("one of %s", names);

        return form_is_known(value) || refuse(where, value, rule, error);
}

static bool check_operator(const char *where, const char *value, GError **error)
{
        g_autofree char *names = form_operator_names(), *rule = g_strdup_printf("one of %s", names);

        return form_has_operator(value) || refuse(where, value, rule, error);
}

static bool check_address(const char *where, const char *value, GError **error)
{
        return (g_ascii_isalnum(*value) && consists_of(value, "._/:-") && !strstr(value, "//") &&
                !g_str_has_suffix(value, "/")) ||
               refuse(where, value,
                      "HOST[:PORT][/PREFIX]\nGive it without https://; 'insecure': true stands for plain "
                      "HTTP.",
                      error);
}

static bool check_url(const char *where, const char *value, GError **error)
{
        return ((g_str_has_prefix(value, "http://") || g_str_has_prefix(value, "https://")) &&
                !strpbrk(value, " \t\r\n'\"")) ||
               refuse(where, value, "a URL that begins with http:// or https://", error);
}

static bool check_host(const char *where, const char *value, GError **error)
{
        return (*value && consists_of(value, ".:-[]")) || refuse(where, value, "a host, or HOST:PORT", error);
}

static bool check_name(const char *where, const char *value, GError **error)
{
        return (g_ascii_isalnum(*value) && consists_of(value, ".-_") && strlen(value) <= NAME_MAX_BYTES) ||
               refuse(where, value, "a name of letters, digits, '.', '-' and '_'", error);
}

/* The key of a taint, a resource or a label, or its prefix ("example.com/"). */
static bool check_label_key(const char *where, const char *value, GError **error)
{
        return (g_ascii_isalnum(*value) && consists_of(value, "./-_")) ||
               refuse(where, value, "a key such as example.com/gpu", error);
}

/* A directory of the node would give access to the whole node. */
static bool check_volume_kind(const char *where, const char *value, GError **error)
{
        return (g_ascii_isalpha(*value) && consists_of(value, "") && strcmp(value, "hostPath") != 0) ||
               refuse(where, value, "a kind of volume such as nfs or csi; hostPath cannot be allowed", error);
}

/* "%s" and "%%" alone. */
static bool check_percents(const char *where, const char *value, GError **error)
{
        for (const char *at = value; (at = strchr(at, '%')); at += 2)
                if (at[1] != 's' && at[1] != '%')
                        return refuse(where, value, "a text in which %s is the user and %% a percent sign",
                                      error);
        return true;
}

static bool has_parent(const char *path)
{
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);

        return g_strv_contains((const char *const *)parts, "..");
}

static bool check_path(const char *where, const char *value, GError **error)
{
        return ((*value == '/' && !has_parent(value)) ||
                refuse(where, value, "an absolute path without '..'", error)) &&
               check_percents(where, value, error);
}

static bool check_below(const char *where, const char *value, GError **error)
{
        return ((*value && *value != '/' && !has_parent(value)) ||
                refuse(where, value, "a relative path without '..'", error)) &&
               check_percents(where, value, error);
}

static bool check_egress(const char *where, const char *value, GError **error)
{
        return policy_check(value, error) || err_prefix(error, "%s: ", where);
}

/* The path of a mount follows from the entry's name; the older setting has it, too. */
static bool check_mount(const char *where, const char *value, GError **error)
{
        g_autofree char *path = g_strdup(value);

        if (g_str_has_suffix(path, "/"))
                path[strlen(path) - 1] = '\0';
        return strcmp(path, "/pfs/%s/home/%s") == 0 || strcmp(path, "/pfs/%s/public") == 0 ||
               refuse(where, value, "'/pfs/%s/home/%s' or '/pfs/%s/public'", error);
}

/* ---- the tables ---- */

#define AT(field) offsetof(Setting, field)

static const Key registry_keys[] = {
        { "address", KEY_TEXT, offsetof(SettingRegistry, address), check_address, NULL },
        { "username", KEY_TEXT, offsetof(SettingRegistry, username), NULL, NULL },
        { "password", KEY_TEXT, offsetof(SettingRegistry, password), NULL, NULL },
        { "insecure", KEY_BOOL, offsetof(SettingRegistry, insecure), NULL, NULL },
        { NULL },
};

static const Key pip_keys[] = {
        { "index", KEY_TEXT, offsetof(SettingPip, index), check_url, NULL },
        { "trusted", KEY_LIST, offsetof(SettingPip, trusted), check_host, NULL },
        { NULL },
};

/* An entry as it is written. Two keys that repeat others are checked and ignored, and so is the key by which the older
 * server created homes: no pod has it. */
typedef struct {
        SettingVolume volume;
        char *fstype, *mount_path, *admin_key;
} Entry;

static const Key volume_keys[] = {
        { "fstype", KEY_TEXT, offsetof(Entry, fstype), NULL, NULL },
        { "host_path", KEY_TEXT, offsetof(Entry, volume.host_path), check_path, NULL },
        { "claim", KEY_TEXT, offsetof(Entry, volume.claim), check_percents, NULL },
        { "sub_path", KEY_TEXT, offsetof(Entry, volume.sub_path), check_below, NULL },
        { "monitors_addr", KEY_LIST, offsetof(Entry, volume.monitors), check_host, NULL },
        { "cephfs_path", KEY_TEXT, offsetof(Entry, volume.ceph_path), check_path, NULL },
        { "user", KEY_TEXT, offsetof(Entry, volume.ceph_user), NULL, NULL },
        { "secret", KEY_TEXT, offsetof(Entry, volume.ceph_secret), check_name, NULL },
        { "mount_path", KEY_TEXT, offsetof(Entry, mount_path), check_mount, NULL },
        { "admin_key", KEY_TEXT, offsetof(Entry, admin_key), NULL, NULL },
        { "read_only", KEY_BOOL, offsetof(Entry, volume.read_only), NULL, NULL },
        { NULL },
};

/* Used by model/baseline; here they are only checked. */
static const Key allow_keys[] = {
        { "tolerations", KEY_LIST, offsetof(SettingAllow, tolerations), check_label_key, NULL },
        { "runtime_classes", KEY_LIST, offsetof(SettingAllow, runtime_classes), check_name, NULL },
        { "priority_classes", KEY_LIST, offsetof(SettingAllow, priority_classes), check_name, NULL },
        { "volumes", KEY_LIST, offsetof(SettingAllow, volumes), check_volume_kind, NULL },
        { "service_accounts", KEY_LIST, offsetof(SettingAllow, service_accounts), check_name, NULL },
        { "resources", KEY_LIST, offsetof(SettingAllow, resources), check_label_key, NULL },
        { "metadata", KEY_LIST, offsetof(SettingAllow, metadata), check_label_key, NULL },
        { NULL },
};

static const Key mounts_keys[] = {
        { "host_paths", KEY_LIST, offsetof(SettingMounts, host_paths), check_path, NULL },
        { "claims", KEY_LIST, offsetof(SettingMounts, claims), check_name, NULL },
        { NULL },
};

static const Key setting_keys[] = {
        { "image", KEY_TEXT, AT(image), check_image, NULL },
        { "form", KEY_TEXT, AT(form), check_form, NULL },
        { "operators", KEY_LIST, AT(operators), check_operator, NULL },
        { "builder", KEY_TEXT, AT(builder), check_image, NULL },
        { "registry", KEY_GROUP, AT(registry), NULL, registry_keys },
        { "pip", KEY_GROUP, AT(pip), NULL, pip_keys },
        { "datacenter", KEY_TEXT, AT(datacenter), check_name, NULL },
        { "volumes", KEY_VOLUMES, AT(volumes), NULL, volume_keys },
        { "volcano", KEY_BOOL, AT(volcano), NULL, NULL },
        { "log_streams", KEY_COUNT, AT(log_streams), NULL, NULL },
        { "allow", KEY_GROUP, AT(allow), NULL, allow_keys },
        { "mounts", KEY_GROUP, AT(mounts), NULL, mounts_keys },
        { "allow_new_privileges", KEY_LIST, AT(new_privileges), check_name, NULL },
        { "run_as_non_root", KEY_BOOL, AT(non_root), NULL, NULL },
        { "network_policies", KEY_BOOL, AT(network_policies), NULL, NULL },
        { "egress", KEY_LIST, AT(egress), check_egress, NULL },
        { "build_egress", KEY_LIST, AT(build_egress), check_egress, NULL },
        { NULL },
};

/* ---- reading ---- */

static bool read_group(const json_t *object, const char *where, const Key *keys, void *into, GError **error);

static bool read_text(const json_t *object, const char *where, const Key *key, char **into, GError **error)
{
        g_autofree char *name = g_strconcat(where, key->name, NULL);
        const char *value = NULL;

        if (!json_get_string(object, where, key->name, TEXT_MAX, &value, error) ||
            (value && key->check && !key->check(name, value, error)))
                return false;
        if (value && !*value)
                return err_set(error, ERR_INVALID, "%s is empty\nLeave it out instead.", name);
        *into = g_strdup(value);
        return true;
}

static bool read_list(const json_t *object, const char *where, const Key *key, char ***into, GError **error)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        json_t *items = NULL, *item;
        gsize i;

        if (!json_get_array(object, where, key->name, LIST_MAX, &items, error))
                return false;
        json_array_foreach(items, i, item) {
                g_autofree char *name = g_strdup_printf("%s%s[%" G_GSIZE_FORMAT "]", where, key->name, i);

                if (!json_is_string(item))
                        return err_set(error, ERR_INVALID, "%s must be a string", name);
                if (key->check && !key->check(name, json_string_value(item), error))
                        return false;
                g_ptr_array_add(list, g_strdup(json_string_value(item)));
        }
        if (list->len == 0)
                return true;
        g_ptr_array_add(list, NULL);
        *into = (char **)g_ptr_array_steal(list, NULL);
        return true;
}

static void volume_clear(SettingVolume *volume)
{
        g_free(volume->name);
        g_free(volume->host_path);
        g_free(volume->claim);
        g_free(volume->sub_path);
        g_strfreev(volume->monitors);
        g_free(volume->ceph_path);
        g_free(volume->ceph_user);
        g_free(volume->ceph_secret);
}

static void volume_free(gpointer volume)
{
        volume_clear(volume);
        g_free(volume);
}

static void entry_clear(Entry *entry)
{
        volume_clear(&entry->volume);
        g_free(entry->fstype);
        g_free(entry->mount_path);
        g_free(entry->admin_key);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Entry, entry_clear)

/* The source that an entry names; NULL unless it is exactly one. */
static const char *source_of(const SettingVolume *volume)
{
        int n = !!volume->host_path + !!volume->claim + !!volume->monitors;

        return n != 1 ? NULL : volume->host_path ? "hostpath" : volume->claim ? "claim" : "cephfs";
}

static bool names_user(const SettingVolume *volume)
{
        const char *const texts[] = { volume->host_path, volume->claim, volume->sub_path, volume->ceph_path };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                if (texts[i] && strstr(texts[i], "%s"))
                        return true;
        return false;
}

static bool check_entry(const char *where, const Entry *entry, GError **error)
{
        const SettingVolume *volume = &entry->volume;
        const char *source = source_of(volume);
        bool public = strcmp(volume->name, SETTING_PUBLIC) == 0;

        if (!source)
                return err_set(error, ERR_INVALID, "%s must have one of host_path, claim, monitors_addr",
                               where);
        if (entry->fstype && strcmp(entry->fstype, source) != 0)
                return err_set(error, ERR_INVALID,
                               "%s.fstype: '%.40s' is not '%s', which the other keys mean", where,
                               entry->fstype, source);
        if (volume->sub_path && !volume->claim)
                return err_set(error, ERR_INVALID, "%s.sub_path belongs to a claim", where);
        if (volume->monitors && !(volume->ceph_path && volume->ceph_user && volume->ceph_secret))
                return err_set(error, ERR_INVALID,
                               "%s must have cephfs_path, user and secret beside monitors_addr", where);
        if (!volume->monitors && (volume->ceph_path || volume->ceph_user || volume->ceph_secret))
                return err_set(error, ERR_INVALID, "%s: cephfs_path, user and secret belong to monitors_addr",
                               where);
        if (!public && !names_user(volume))
                return err_set(error, ERR_INVALID,
                               "%s: its path must contain %%s for the user's name, or all users would "
                               "share one home",
                               where);
        return true;
}

static bool read_volume(const char *name, const json_t *object, const char *where, const Key *keys,
                        GPtrArray *into, GError **error)
{
        g_autofree char *own = g_strdup_printf("%s%.*s", where, DEPTH, name);
        g_autofree char *inner = g_strconcat(own, ".", NULL);
        g_auto(Entry) entry = { .volume.name = g_strdup(name) };

        if (!check_name(own, name, error))
                return false;
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "%s must be an object", own);
        if (!read_group(object, inner, keys, &entry, error) || !check_entry(own, &entry, error))
                return false;
        entry.volume.read_only |= strcmp(name, SETTING_PUBLIC) == 0;
        g_ptr_array_add(into, g_memdup2(&entry.volume, sizeof entry.volume));
        memset(&entry.volume, 0, sizeof entry.volume);
        return true;
}

static bool read_volumes(const json_t *object, const char *where, const Key *key, GPtrArray *into,
                         GError **error)
{
        g_autofree char *inner = g_strdup_printf("%s%s.", where, key->name);
        json_t *entries = NULL, *entry;
        const char *name;

        if (!json_get_object(object, where, key->name, VOLUMES_MAX, &entries, error))
                return false;
        json_object_foreach(entries, name, entry) {
                if (!read_volume(name, entry, inner, key->keys, into, error))
                        return false;
        }
        return true;
}

static bool read_inner(const json_t *object, const char *where, const Key *key, void *into, GError **error)
{
        g_autofree char *inner = g_strdup_printf("%s%s.", where, key->name);
        json_t *group = NULL;

        return json_get_object(object, where, key->name, G_MAXUINT, &group, error) &&
               (!group || read_group(group, inner, key->keys, into, error));
}

static bool read_key(const json_t *object, const char *where, const Key *key, void *into, GError **error)
{
        void *at = (char *)into + key->offset;

        switch (key->type) {
        case KEY_TEXT: return read_text(object, where, key, at, error);
        case KEY_BOOL: return json_get_bool(object, where, key->name, at, error);
        case KEY_COUNT: return json_get_int(object, where, key->name, 1, COUNT_MAX, at, error);
        case KEY_LIST: return read_list(object, where, key, at, error);
        case KEY_GROUP: return read_inner(object, where, key, at, error);
        case KEY_VOLUMES: return read_volumes(object, where, key, *(GPtrArray **)at, error);
        }
        return true;
}

static bool read_group(const json_t *object, const char *where, const Key *keys, void *into, GError **error)
{
        g_autoptr(GPtrArray) known = g_ptr_array_new();

        for (const Key *key = keys; key->name; key++)
                g_ptr_array_add(known, (gpointer)key->name);
        g_ptr_array_add(known, NULL);
        if (!json_only(object, where, (const char *const *)known->pdata, error))
                return false;
        for (const Key *key = keys; key->name; key++)
                if (!read_key(object, where, key, into, error))
                        return false;
        return true;
}

/* ---- what several keys say together ---- */

static bool check_registry(const Setting *setting, GError **error)
{
        const SettingRegistry *registry = &setting->registry;

        if (!registry->address && (registry->username || registry->password || registry->insecure))
                return err_set(error, ERR_INVALID, "registry.address is missing");
        if (!registry->username != !registry->password)
                return err_set(error, ERR_INVALID, "registry.%s is missing: name and password go together",
                               registry->username ? "password" : "username");
        if (registry->address && !setting->builder)
                return err_set(
                        error, ERR_INVALID,
                        "builder is missing: images for the registry are built in an image with buildah");
        return true;
}

static bool check_policies(const Setting *setting, GError **error)
{
        if (setting->network_policies || (!setting->egress && !setting->build_egress))
                return true;
        return err_set(error, ERR_INVALID,
                       "network_policies is missing: %s is held by a NetworkPolicy\n"
                       "Say true if the cluster's network plugin enforces these.",
                       setting->egress ? "egress" : "build_egress");
}

static Setting *setting_new(void)
{
        Setting *setting = g_new0(Setting, 1);

        setting->volumes = g_ptr_array_new_with_free_func(volume_free);
        return setting;
}

/* The parser quotes what it cannot read, which may be a password. */
static json_t *parse_object(const char *text, GError **error)
{
        g_autoptr(GError) why = NULL;
        json_t *object = json_parse(text, strlen(text), &why);
        const char *near = why ? strstr(why->message, " near ") : NULL;

        if (!object)
                err_set(error, ERR_INVALID, "%.*s",
                        near ? (int)(near - why->message) : (int)strlen(why->message), why->message);
        return object;
}

Setting *setting_parse(const char *text, GError **error)
{
        g_autoptr(Setting) setting = setting_new();
        g_autoptr(json_t) object = NULL;

        while (text && g_ascii_isspace(*text))
                text++;
        if (!text || *text != '{')
                return g_steal_pointer(&setting);
        object = parse_object(text, error);
        if (!object || !read_group(object, "", setting_keys, setting, error) ||
            !check_registry(setting, error) || !check_policies(setting, error))
                return NULL;
        return g_steal_pointer(&setting);
}

void setting_free(Setting *setting)
{
        if (!setting)
                return;
        g_free(setting->image);
        g_free(setting->form);
        g_strfreev(setting->operators);
        g_free(setting->builder);
        g_free(setting->registry.address);
        g_free(setting->registry.username);
        g_free(setting->registry.password);
        g_free(setting->pip.index);
        g_strfreev(setting->pip.trusted);
        g_strfreev(setting->allow.tolerations);
        g_strfreev(setting->allow.runtime_classes);
        g_strfreev(setting->allow.priority_classes);
        g_strfreev(setting->allow.volumes);
        g_strfreev(setting->allow.service_accounts);
        g_strfreev(setting->allow.resources);
        g_strfreev(setting->allow.metadata);
        g_strfreev(setting->mounts.host_paths);
        g_strfreev(setting->mounts.claims);
        g_strfreev(setting->new_privileges);
        g_strfreev(setting->egress);
        g_strfreev(setting->build_egress);
        g_free(setting->datacenter);
        g_ptr_array_unref(setting->volumes);
        g_free(setting);
}

const SettingVolume *setting_volume(const Setting *setting, const char *name)
{
        for (guint i = 0; i < setting->volumes->len; i++) {
                const SettingVolume *volume = setting->volumes->pdata[i];

                if (strcmp(volume->name, name) == 0)
                        return volume;
        }
        return NULL;
}

char *setting_for_user(const char *text, const char *user)
{
        g_autoptr(GString) made = g_string_new(NULL);

        for (; *text; text++) {
                if (*text != '%')
                        g_string_append_c(made, *text);
                else if (*++text == 's')
                        g_string_append(made, user);
                else
                        g_string_append_c(made, '%');
        }
        return g_string_free(g_steal_pointer(&made), FALSE);
}
