/* The address of a cluster and our credentials (see config.h). A kubeconfig is read into a JSON tree. Each of its
 * named entries is stored with the folder of its file. Of several files the first that has an entry wins, as for
 * kubectl; entries of two files are never merged. Then the chosen context, its cluster and its user are converted
 * to a KubeConfig. Only these are checked, so that an entry that is not used does no harm. */
#include "kube/config.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/yaml.h"

enum { ENTRIES_MAX = 4096, TEXT_MAX = 64 << 10, WORDS_MAX = 256 };

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* ---- The plain data ---- */

static void plugin_free(KubeExecPlugin *plugin)
{
        if (!plugin)
                return;
        g_strfreev(plugin->argv);
        g_strfreev(plugin->env);
        g_free(plugin->api_version);
        g_free(plugin->install_hint);
        g_free(plugin->cluster_config);
        g_free(plugin);
}

static const gsize texts[] = {
        G_STRUCT_OFFSET(KubeConfig, context),
        G_STRUCT_OFFSET(KubeConfig, cluster),
        G_STRUCT_OFFSET(KubeConfig, user),
        G_STRUCT_OFFSET(KubeConfig, server),
        G_STRUCT_OFFSET(KubeConfig, namespace),
        G_STRUCT_OFFSET(KubeConfig, ca),
        G_STRUCT_OFFSET(KubeConfig, tls_server_name),
        G_STRUCT_OFFSET(KubeConfig, proxy_url),
        G_STRUCT_OFFSET(KubeConfig, certificate),
        G_STRUCT_OFFSET(KubeConfig, key),
        G_STRUCT_OFFSET(KubeConfig, token),
        G_STRUCT_OFFSET(KubeConfig, token_file),
        G_STRUCT_OFFSET(KubeConfig, user_name),
        G_STRUCT_OFFSET(KubeConfig, password),
        G_STRUCT_OFFSET(KubeConfig, as_user),
        G_STRUCT_OFFSET(KubeConfig, as_uid),
};

static char **text_at(const KubeConfig *config, gsize offset)
{
        return (char **)((char *)config + offset);
}

void kube_config_free(KubeConfig *config)
{
        if (!config)
                return;
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                g_free(*text_at(config, texts[i]));
        g_strfreev(config->as_groups);
        plugin_free(config->exec);
        g_free(config);
}

KubeConfig *kube_config_copy(const KubeConfig *config)
{
        KubeConfig *copy = g_memdup2(config, sizeof *config);

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                *text_at(copy, texts[i]) = g_strdup(*text_at(config, texts[i]));
        copy->as_groups = g_strdupv(config->as_groups);
        if (config->exec) {
                copy->exec = g_memdup2(config->exec, sizeof *config->exec);
                copy->exec->argv = g_strdupv(config->exec->argv);
                copy->exec->env = g_strdupv(config->exec->env);
                copy->exec->api_version = g_strdup(config->exec->api_version);
                copy->exec->install_hint = g_strdup(config->exec->install_hint);
                copy->exec->cluster_config = g_strdup(config->exec->cluster_config);
        }
        return copy;
}

/* ---- A document, or several merged ---- */

/* One entry of "clusters", "users" or "contexts". */
typedef struct {
        json_t *body; /* owned */
        char *dir;    /* of its file; NULL: nothing may be read from files */
        char *where;  /* "users 'ada' of /home/ada/.kube/config: " */
} Entry;

typedef enum { LIST_CLUSTERS, LIST_USERS, LIST_CONTEXTS, LISTS } List;

static const struct {
        const char *list, *one;
} lists[LISTS] = {
        [LIST_CLUSTERS] = { "clusters", "cluster" },
        [LIST_USERS] = { "users", "user" },
        [LIST_CONTEXTS] = { "contexts", "context" },
};

typedef struct {
        GHashTable *entries[LISTS]; /* name -> Entry */
        char *current;              /* context, or NULL */
} Merged;

static void entry_free(void *data)
{
        Entry *entry = data;

        json_decref(entry->body);
        g_free(entry->dir);
        g_free(entry->where);
        g_free(entry);
}

static void merged_init(Merged *merged)
{
        *merged = (Merged){ 0 };
        for (int i = 0; i < LISTS; i++)
                merged->entries[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
}

static void merged_clear(Merged *merged)
{
        for (int i = 0; i < LISTS; i++)
                g_hash_table_unref(merged->entries[i]);
        g_free(merged->current);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Merged, merged_clear)

static bool add_entry(Merged *merged, List list, json_t *item, size_t index, const char *path,
                      const char *dir, GError **error)
{
        g_autofree char *where =
                g_strdup_printf("%s: %s[%" G_GSIZE_FORMAT "].", path, lists[list].list, index);
        const char *name = NULL;
        json_t *body = NULL;

        if (!json_is_object(item))
                return err_set(error, ERR_INVALID, "%s: %s[%" G_GSIZE_FORMAT "] must be an object", path,
                               lists[list].list, index);
        if (!json_get_string(item, where, "name", TEXT_MAX, &name, error) ||
            !json_get_object(item, where, lists[list].one, ENTRIES_MAX, &body, error))
                return false;
        if (!name || !*name)
                return err_set(error, ERR_INVALID, "%sname is missing", where);
        if (g_hash_table_contains(merged->entries[list], name))
                return true; /* the first one wins */
        Entry *entry = g_new0(Entry, 1);
        entry->body = body ? json_incref(body) : json_object();
        entry->dir = g_strdup(dir);
        entry->where = g_strdup_printf("%s: %s '%s': ", path, lists[list].one, name);
        g_hash_table_insert(merged->entries[list], g_strdup(name), entry);
        return true;
}

static json_t *parse_document(const char *text, gsize len, const char *path, GError **error)
{
        if (len > KUBE_CONFIG_MAX) {
                err_set(error, ERR_TOO_LARGE, "%s is larger than %d bytes", path, KUBE_CONFIG_MAX);
                return NULL;
        }
        gsize blank = 0;
        while (blank < len && g_ascii_isspace(text[blank]))
                blank++;
        json_t *root = blank == len ? json_object() : yaml_parse(text, len, path, error);
        if (json_is_null(root)) {
                json_decref(root);
                root = json_object();
        }
        if (root && !json_is_object(root)) {
                err_set(error, ERR_INVALID, "%s is no kubeconfig: it must be an object", path);
                g_clear_pointer(&root, json_decref);
        }
        return root;
}

/* Adds the entries of the document that `merged` does not have. */
static bool merge(Merged *merged, const char *text, gsize len, const char *path, const char *dir,
                  GError **error)
{
        g_autoptr(json_t) root = parse_document(text, len, path, error);
        g_autofree char *where = g_strconcat(path, ": ", NULL);
        const char *current = NULL, *kind = NULL;

        if (!root || !json_get_string(root, where, "kind", TEXT_MAX, &kind, error) ||
            !json_get_string(root, where, "current-context", TEXT_MAX, &current, error))
                return false;
        if (kind && strcmp(kind, "Config") != 0)
                return err_set(error, ERR_INVALID, "%s is no kubeconfig: its kind is '%.64s', not 'Config'",
                               path, kind);
        if (!merged->current && current && *current)
                merged->current = g_strdup(current);
        for (int list = 0; list < LISTS; list++) {
                json_t *items = NULL, *item;
                size_t i;

                if (!json_get_array(root, where, lists[list].list, ENTRIES_MAX, &items, error))
                        return false;
                json_array_foreach(items, i, item) {
                        if (!add_entry(merged, list, item, i, path, dir, error))
                                return false;
                }
        }
        return true;
}

/* ---- Values of an entry ---- */

static bool take_text(const Entry *entry, const char *name, char **ret, GError **error)
{
        const char *text = NULL;

        if (!json_get_string(entry->body, entry->where, name, TEXT_MAX, &text, error))
                return false;
        if (text && *text)
                *ret = g_strdup(text);
        return true;
}

static bool take_words(const json_t *object, const char *where, const char *name, GPtrArray *words,
                       GError **error)
{
        json_t *list = NULL, *item;
        size_t i;

        if (!json_get_array(object, where, name, WORDS_MAX, &list, error))
                return false;
        json_array_foreach(list, i, item) {
                if (!json_is_string(item))
                        return err_set(error, ERR_INVALID, "%s%s[%" G_GSIZE_FORMAT "] must be a string",
                                       where, name, i);
                g_ptr_array_add(words, g_strdup(json_string_value(item)));
        }
        return true;
}

static char *absolute(const Entry *entry, const char *path)
{
        return g_path_is_absolute(path) ? g_strdup(path) : g_build_filename(entry->dir, path, NULL);
}

static bool refuse_files(const Entry *entry, const char *name, GError **error)
{
        return err_set(error, ERR_INVALID,
                       "%s%s names something on the machine of the kubeconfig, which is not this one\nSend a "
                       "kubeconfig that holds its data: `kubectl config view --raw --flatten` writes one.",
                       entry->where, name);
}

/* Stricter than GLib: an invalid character is an error, and is not skipped. */
static char *decode(const char *text, gsize *ret_len)
{
        g_autoptr(GString) packed = g_string_new(NULL);
        gsize data;

        for (; *text; text++)
                if (!strchr(" \t\r\n", *text))
                        g_string_append_c(packed, *text);
        data = strspn(packed->str, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
        gsize padding = strspn(packed->str + data, "=");
        if (!packed->len || packed->len % 4 || padding > 2 || data + padding != packed->len)
                return NULL;
        return (char *)g_base64_decode(packed->str, ret_len);
}

static bool has_pem_block(const char *pem, const char *what)
{
        static const char begin[] = "-----BEGIN ", end[] = "-----END ";

        for (const char *at = pem; (at = strstr(at, begin)); at += strlen(begin)) {
                const char *name = at + strlen(begin), *close = strstr(name, "-----"),
                           *line = strchr(name, '\n');

                if (!close || (line && line < close) || !strstr(close, end))
                        continue;
                g_autofree char *title = g_strndup(name, (gsize)(close - name));
                if (g_str_has_suffix(title, what))
                        return true;
        }
        return false;
}

typedef struct {
        const char *data_name, *file_name; /* in the kubeconfig */
        const char *block;                 /* what its PEM must hold */
} PemField;

/* PEM from NAME-data (base64) or from the file of NAME; data wins. */
static bool take_pem(const Entry *entry, const PemField *field, char **ret, GError **error)
{
        g_autofree char *data = NULL, *file = NULL, *pem = NULL, *path = NULL;
        gsize len = 0;

        if (!take_text(entry, field->data_name, &data, error) ||
            !take_text(entry, field->file_name, &file, error))
                return false;
        if (!data && !file)
                return true;
        if (data && !(pem = decode(data, &len)))
                return err_set(error, ERR_INVALID, "%s%s is not base64", entry->where, field->data_name);
        if (!data && !entry->dir)
                return refuse_files(entry, field->file_name, error);
        if (!data) {
                path = absolute(entry, file);
                if (!file_read(path, KUBE_CONFIG_MAX, &pem, &len, error))
                        return err_prefix(error, "%s%s: ", entry->where, field->file_name);
        }
        g_autofree char *text = g_strndup(pem, len);
        if (strlen(text) != len || !has_pem_block(text, field->block))
                return err_set(error, ERR_INVALID, "%s%s holds no PEM block '-----BEGIN %s-----'",
                               entry->where, data ? field->data_name : field->file_name, field->block);
        *ret = g_steal_pointer(&text);
        return true;
}

/* ---- Cluster, user, exec plug-in ---- */

static bool check_server(const Entry *entry, const char *server, GError **error)
{
        const char *host = g_str_has_prefix(server, "https://")  ? server + 8
                           : g_str_has_prefix(server, "http://") ? server + 7
                                                                 : NULL;

        if (!host || !*host || *host == '/' || *host == ':' || strpbrk(server, " \t\r\n?#@"))
                return err_set(error, ERR_INVALID, "%sserver '%.200s' is not https://HOST:PORT[/PATH]",
                               entry->where, server);
        return true;
}

static bool take_cluster(const Entry *entry, KubeConfig *config, GError **error)
{
        static const PemField ca = { "certificate-authority-data", "certificate-authority", "CERTIFICATE" };

        if (!take_text(entry, "server", &config->server, error) ||
            !take_text(entry, "tls-server-name", &config->tls_server_name, error) ||
            !take_text(entry, "proxy-url", &config->proxy_url, error) ||
            !json_get_bool(entry->body, entry->where, "insecure-skip-tls-verify", &config->insecure, error) ||
            !take_pem(entry, &ca, &config->ca, error))
                return false;
        if (!config->server)
                return err_set(error, ERR_INVALID, "%sserver is missing", entry->where);
        for (gsize len = strlen(config->server); len && config->server[len - 1] == '/';)
                config->server[--len] = '\0';
        if (config->insecure && config->ca)
                return err_set(error, ERR_INVALID,
                               "%sinsecure-skip-tls-verify and certificate-authority exclude each other",
                               entry->where);
        return check_server(entry, config->server, error);
}

static bool take_env(const json_t *body, const char *where, GPtrArray *env, GError **error)
{
        json_t *list = NULL, *item;
        size_t i;

        if (!json_get_array(body, where, "env", WORDS_MAX, &list, error))
                return false;
        json_array_foreach(list, i, item) {
                const char *name = json_string_value(json_object_get(item, "name"));
                const char *value = json_string_value(json_object_get(item, "value"));

                if (!name || !*name || strchr(name, '=') || !value)
                        return err_set(error, ERR_INVALID,
                                       "%senv[%" G_GSIZE_FORMAT "] needs a name and a value", where, i);
                g_ptr_array_add(env, g_strdup_printf("%s=%s", name, value));
        }
        return true;
}

static bool check_plugin(const KubeExecPlugin *plugin, const char *where, const char *mode, GError **error)
{
        static const char *const versions[] = { "client.authentication.k8s.io/v1",
                                                "client.authentication.k8s.io/v1beta1", NULL };

        if (!plugin->api_version || !g_strv_contains(versions, plugin->api_version))
                return err_set(error, ERR_INVALID, "%sapiVersion '%.100s' is not one of %s, %s", where,
                               plugin->api_version ? plugin->api_version : "", versions[0], versions[1]);
        if (mode && strcmp(mode, "Always") == 0)
                return err_set(error, ERR_INVALID,
                               "%sinteractiveMode 'Always' needs a terminal, and there is none", where);
        return true;
}

static bool take_command(const Entry *entry, const json_t *body, const char *where, KubeExecPlugin *plugin,
                         GError **error)
{
        g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
        const char *command = NULL;

        if (!json_get_string(body, where, "command", TEXT_MAX, &command, error))
                return false;
        if (!command || !*command)
                return err_set(error, ERR_INVALID, "%scommand is missing", where);
        g_ptr_array_add(argv, strchr(command, '/') ? absolute(entry, command) : g_strdup(command));
        if (!take_words(body, where, "args", argv, error))
                return false;
        g_ptr_array_add(argv, NULL);
        plugin->argv = (char **)g_ptr_array_steal(argv, NULL);
        return true;
}

static bool take_plugin(const Entry *entry, const json_t *body, KubeExecPlugin *plugin, GError **error)
{
        g_autofree char *where = g_strconcat(entry->where, "exec.", NULL);
        g_autoptr(GPtrArray) env = g_ptr_array_new_with_free_func(g_free);
        const char *version = NULL, *hint = NULL, *mode = NULL;

        if (!entry->dir)
                return refuse_files(entry, "exec", error);
        if (!json_get_string(body, where, "apiVersion", TEXT_MAX, &version, error) ||
            !json_get_string(body, where, "installHint", TEXT_MAX, &hint, error) ||
            !json_get_string(body, where, "interactiveMode", TEXT_MAX, &mode, error) ||
            !json_get_bool(body, where, "provideClusterInfo", &plugin->provide_cluster_info, error) ||
            !take_command(entry, body, where, plugin, error) || !take_env(body, where, env, error))
                return false;
        g_ptr_array_add(env, NULL);
        plugin->env = (char **)g_ptr_array_steal(env, NULL);
        plugin->api_version = g_strdup(version);
        plugin->install_hint = g_strdup(hint);
        return check_plugin(plugin, where, mode, error);
}

static bool take_impersonation(const Entry *entry, KubeConfig *config, GError **error)
{
        g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(g_free);
        json_t *extra = NULL;

        if (!take_text(entry, "as", &config->as_user, error) ||
            !take_text(entry, "as-uid", &config->as_uid, error) ||
            !take_words(entry->body, entry->where, "as-groups", groups, error) ||
            !json_get_object(entry->body, entry->where, "as-user-extra", ENTRIES_MAX, &extra, error))
                return false;
        if (json_object_size(extra))
                return err_set(error, ERR_INVALID, "%sas-user-extra is not supported", entry->where);
        if (!config->as_user && (groups->len || config->as_uid))
                return err_set(error, ERR_INVALID, "%sas-groups and as-uid need 'as'", entry->where);
        if (groups->len) {
                g_ptr_array_add(groups, NULL);
                config->as_groups = (char **)g_ptr_array_steal(groups, NULL);
        }
        return true;
}

static bool take_token_file(const Entry *entry, KubeConfig *config, GError **error)
{
        g_autofree char *file = NULL;

        if (!take_text(entry, "tokenFile", &file, error))
                return false;
        if (file && !entry->dir)
                return refuse_files(entry, "tokenFile", error);
        if (file)
                config->token_file = absolute(entry, file);
        return true;
}

/* A header must hold it. */
static bool check_token(const Entry *entry, const char *token, GError **error)
{
        for (const char *c = token; c && *c; c++)
                if (*c <= ' ' || *c == 0x7f)
                        return err_set(error, ERR_INVALID, "%stoken has a blank or control character in it",
                                       entry->where);
        return true;
}

static bool take_user(const Entry *entry, KubeConfig *config, GError **error)
{
        static const PemField certificate = { "client-certificate-data", "client-certificate",
                                              "CERTIFICATE" },
                              key = { "client-key-data", "client-key", "PRIVATE KEY" };
        json_t *plugin = NULL, *provider = NULL;

        if (!take_pem(entry, &certificate, &config->certificate, error) ||
            !take_pem(entry, &key, &config->key, error) ||
            !take_text(entry, "token", &config->token, error) || !take_token_file(entry, config, error) ||
            !take_text(entry, "username", &config->user_name, error) ||
            !take_text(entry, "password", &config->password, error) ||
            !json_get_object(entry->body, entry->where, "exec", ENTRIES_MAX, &plugin, error) ||
            !json_get_object(entry->body, entry->where, "auth-provider", ENTRIES_MAX, &provider, error) ||
            !take_impersonation(entry, config, error))
                return false;
        if (provider)
                return err_set(error, ERR_INVALID,
                               "%sauth-provider is no longer part of Kubernetes\nUse an exec plug-in.",
                               entry->where);
        if (!config->certificate != !config->key)
                return err_set(error, ERR_INVALID, "%sclient-certificate and client-key need each other",
                               entry->where);
        if (plugin && (config->user_name || config->token || config->token_file))
                return err_set(error, ERR_INVALID, "%sexec excludes token, tokenFile and username",
                               entry->where);
        if (plugin) {
                config->exec = g_new0(KubeExecPlugin, 1);
                if (!take_plugin(entry, plugin, config->exec, error))
                        return false;
        }
        return check_token(entry, config->token, error);
}

/* The cluster's configuration for the plug-in:
 * extensions[name="client.authentication.k8s.io/exec"].extension */
static void take_plugin_config(const Entry *cluster, KubeConfig *config)
{
        const json_t *list = json_object_get(cluster->body, "extensions"), *item;
        size_t i;

        if (!config->exec)
                return;
        json_array_foreach(list, i, item) {
                const char *name = json_string_value(json_object_get(item, "name"));
                const json_t *extension = json_object_get(item, "extension");

                if (extension && g_strcmp0(name, "client.authentication.k8s.io/exec") == 0 &&
                    !config->exec->cluster_config)
                        config->exec->cluster_config = json_format(extension);
        }
}

/* ---- The chosen context ---- */

static const Entry *find(const Merged *merged, List list, const char *name, const char *source,
                         GError **error)
{
        const Entry *entry = g_hash_table_lookup(merged->entries[list], name);

        if (!entry) {
                g_autofree void **keys = g_hash_table_get_keys_as_array(merged->entries[list], NULL);
                g_autofree char *known = g_strjoinv(", ", (char **)keys);

                err_set(error, ERR_NOT_FOUND, "%s: no %s '%.200s'\nThere are: %.2000s.", source,
                        lists[list].one, name, *known ? known : "none");
        }
        return entry;
}

static const char *context_name(const Merged *merged, const char *asked, const char *source, GError **error)
{
        if (asked && *asked)
                return asked;
        if (merged->current)
                return merged->current;
        err_set(error, ERR_INVALID, "%s: no current-context is set, and none was asked for", source);
        return NULL;
}

static KubeConfig *choose(const Merged *merged, const char *asked, const char *source, GError **error)
{
        g_autoptr(KubeConfig) config = g_new0(KubeConfig, 1);
        const char *name = context_name(merged, asked, source, error);
        const Entry *context = name ? find(merged, LIST_CONTEXTS, name, source, error) : NULL, *cluster,
                    *user;

        if (!context)
                return NULL;
        config->context = g_strdup(name);
        if (!take_text(context, "cluster", &config->cluster, error) ||
            !take_text(context, "user", &config->user, error) ||
            !take_text(context, "namespace", &config->namespace, error))
                return NULL;
        if (!config->cluster) {
                err_set(error, ERR_INVALID, "%scluster is missing", context->where);
                return NULL;
        }
        if (!config->namespace)
                config->namespace = g_strdup("default");
        if (!(cluster = find(merged, LIST_CLUSTERS, config->cluster, source, error)) ||
            !take_cluster(cluster, config, error))
                return NULL;
        if (config->user) {
                if (!(user = find(merged, LIST_USERS, config->user, source, error)) ||
                    !take_user(user, config, error))
                        return NULL;
                take_plugin_config(cluster, config);
        } else {
                config->user = g_strdup("");
        }
        return g_steal_pointer(&config);
}

KubeConfig *kube_config_parse(const char *text, gsize len, const char *dir, const char *context,
                              GError **error)
{
        g_auto(Merged) merged;

        merged_init(&merged);
        if (!merge(&merged, text, len, "kubeconfig", dir, error))
                return NULL;
        return choose(&merged, context, "kubeconfig", error);
}

/* ---- Files ---- */

/* *ret_found is false when there is no such file. */
static bool merge_file(Merged *merged, const char *path, bool *ret_found, GError **error)
{
        g_autofree char *text = NULL, *full = g_canonicalize_filename(path, NULL),
                        *dir = g_path_get_dirname(full);
        g_autoptr(GError) failed = NULL;
        gsize len;

        *ret_found = file_read(full, KUBE_CONFIG_MAX, &text, &len, &failed);
        if (*ret_found)
                return merge(merged, text, len, path, dir, error);
        if (err_is(failed, ERR_NOT_FOUND))
                return true;
        g_propagate_error(error, g_steal_pointer(&failed));
        return false;
}

static KubeConfig *load_one(const char *path, const char *context, GError **error)
{
        g_auto(Merged) merged;
        bool found = false;

        merged_init(&merged);
        if (!merge_file(&merged, path, &found, error))
                return NULL;
        if (!found) {
                err_set(error, ERR_NOT_FOUND, "there is no kubeconfig '%s'", path);
                return NULL;
        }
        return choose(&merged, context, path, error);
}

static KubeConfig *load_list(const char *list, const char *context, GError **error)
{
        g_auto(GStrv) paths = g_strsplit(list, G_SEARCHPATH_SEPARATOR_S, KUBE_CONFIG_FILES_MAX + 1);
        g_auto(Merged) merged;
        bool any = false;

        merged_init(&merged);
        if (g_strv_length(paths) > KUBE_CONFIG_FILES_MAX) {
                err_set(error, ERR_INVALID, "KUBECONFIG lists more than %d files", KUBE_CONFIG_FILES_MAX);
                return NULL;
        }
        for (char **path = paths; *path; path++) {
                bool found = false;

                if (**path && !merge_file(&merged, *path, &found, error))
                        return NULL;
                any = any || found;
        }
        if (!any) {
                err_set(error, ERR_NOT_FOUND, "none of the files of KUBECONFIG exists: '%s'", list);
                return NULL;
        }
        g_autofree char *source = g_strdup_printf("KUBECONFIG '%s'", list);
        return choose(&merged, context, source, error);
}

KubeConfig *kube_config_load(const char *path, const char *context, GError **error)
{
        const char *list = g_getenv("KUBECONFIG");
        g_autofree char *home = file_home();
        g_autofree char *file = g_build_filename(home ? home : "/", ".kube", "config", NULL);
        g_autoptr(GError) failed = NULL;
        KubeConfig *config;

        if (path && *path)
                return load_one(path, context, error);
        if (list && *list)
                return load_list(list, context, error);
        if ((config = kube_config_in_cluster(&failed)))
                return config;
        if (err_is(failed, ERR_NOT_FOUND)) {
                g_clear_error(&failed);
                if ((config = load_one(file, context, &failed)))
                        return config;
                if (err_is(failed, ERR_NOT_FOUND) && !g_file_test(file, G_FILE_TEST_EXISTS)) {
                        err_set(error, ERR_NOT_FOUND,
                                "no cluster is configured: KUBECONFIG is not set, this is no pod "
                                "(no KUBERNETES_SERVICE_HOST or no token in " ACCOUNT_DIR
                                "), and there is no '%s'",
                                file);
                        return NULL;
                }
        }
        g_propagate_error(error, g_steal_pointer(&failed));
        return NULL;
}

/* ---- In a pod ---- */

static char *read_account(const char *dir, const char *name, GError **error)
{
        g_autofree char *path = g_build_filename(dir, name, NULL), *text = NULL;
        gsize len;

        return file_read(path, KUBE_CONFIG_MAX, &text, &len, error) ? g_strstrip(g_steal_pointer(&text))
                                                                    : NULL;
}

KubeConfig *kube_config_in_cluster_at(const char *dir, GError **error)
{
        const char *host = g_getenv("KUBERNETES_SERVICE_HOST"), *port = g_getenv("KUBERNETES_SERVICE_PORT");
        g_autofree char *token = NULL, *ca = NULL, *namespace = NULL;

        if (!host || !*host || !port || !*port) {
                err_set(error, ERR_NOT_FOUND,
                        "this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
                return NULL;
        }
        if (!(token = read_account(dir, "token", error)) || !(ca = read_account(dir, "ca.crt", error))) {
                err_prefix(error, "the pod's service account: ");
                return NULL;
        }
        if (!(namespace = read_account(dir, "namespace", NULL)) || !*namespace) {
                g_free(namespace);
                namespace = g_strdup("default");
        }
        KubeConfig *config = g_new0(KubeConfig, 1);
        config->context = g_strdup("in-cluster");
        config->cluster = g_strdup("in-cluster");
        config->user = g_strdup("in-cluster");
        config->server = g_strdup_printf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
        config->namespace = g_steal_pointer(&namespace);
        config->ca = g_steal_pointer(&ca);
        config->token_file = g_build_filename(dir, "token", NULL);
        return config;
}

KubeConfig *kube_config_in_cluster(GError **error)
{
        return kube_config_in_cluster_at(ACCOUNT_DIR, error);
}
