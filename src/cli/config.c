/* The client's configuration (see config.h), as in doc/reference/paddle-cloud.md, "The first configuration
 * file" and "The later configuration file".
 *
 * PaddlePaddle Cloud's example has a comment after a value, ` //default is docker.io`. That is not YAML: a
 * plain scalar extends to the end of the line. So it is removed from every string here. URLs are safe: their
 * `//` has no blank before it. */
#include "cli/config.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "base/yaml.h"

enum {
        CONFIG_SIZE_MAX = 256 * 1024,
        CONFIG_TEXT_MAX = 4096, /* of one value */
};

void client_config_free(ClientConfig *config)
{
        if (!config)
                return;
        g_free(config->server);
        g_free(config->token);
        g_free(config->ca);
        g_free(config->cert);
        g_free(config->key);
        g_free(config->idle);
        g_free(config->registry_domain);
        g_free(config->registry_username);
        g_free(config->registry_password);
        g_free(config);
}

/* The start of the comment: a `//` with a blank before it, or at the very start. */
static gsize remark_at(const char *text)
{
        for (const char *at = text; (at = strstr(at, "//")); at += 2)
                if (at == text || g_ascii_isspace(at[-1]))
                        return (gsize)(at - text);
        return strlen(text);
}

/* A string field without its comment; numbers are taken as written (a password may be 1234). NULL: absent. */
static bool take_text(const json_t *object, const char *where, const char *name, char **ret, GError **error)
{
        const json_t *value = json_object_get(object, name);
        g_autofree char *text = NULL;

        if (!value || json_is_null(value))
                return true;
        if (json_is_object(value) || json_is_array(value))
                return err_set(error, ERR_FAILED, "%s%s must be a text", where, name);
        text = json_is_string(value) ? g_strdup(json_string_value(value)) : json_format(value);
        if (strlen(text) > CONFIG_TEXT_MAX)
                return err_set(error, ERR_FAILED, "%s%s is longer than %d bytes", where, name,
                               CONFIG_TEXT_MAX);
        text[remark_at(text)] = '\0';
        g_strstrip(text);
        if (*text) {
                g_free(*ret);
                *ret = g_steal_pointer(&text);
        }
        return true;
}

static bool has_scheme(const char *url)
{
        static const char *const schemes[] = { "http://", "https://", "unix:/" };

        for (gsize i = 0; i < G_N_ELEMENTS(schemes); i++)
                if (g_str_has_prefix(url, schemes[i]) && url[strlen(schemes[i])])
                        return true;
        return false;
}

static bool clean_url(const char *what, char *url, GError **error)
{
        gsize len = strlen(url);

        while (len > 0 && (url[len - 1] == '/' || url[len - 1] == '\\'))
                url[--len] = '\0';
        for (const char *c = url; *c; c++)
                if ((guchar)*c <= ' ' || *c == 0x7f)
                        return err_set(error, ERR_FAILED, "%s: '%s' is not a URL: it holds a blank", what,
                                       url);
        if (!has_scheme(url))
                return err_set(error, ERR_FAILED, "%s: '%s' is not a URL such as http://HOST:PORT", what,
                               url);
        return true;
}

static bool read_datacenter(ClientConfig *config, const json_t *entry, gsize index, const char *current,
                            bool *found, GError **error)
{
        g_autofree char *where = g_strdup_printf("datacenters[%" G_GSIZE_FORMAT "].", index);
        g_autofree char *what = g_strconcat(where, "endpoint", NULL);
        g_autofree char *name = NULL, *endpoint = NULL, *token = NULL;

        if (!json_is_object(entry))
                return err_set(error, ERR_FAILED,
                               "datacenters[%" G_GSIZE_FORMAT
                               "] must hold name, username, password, endpoint",
                               index);
        if (!take_text(entry, where, "name", &name, error) ||
            !take_text(entry, where, "endpoint", &endpoint, error) ||
            !take_text(entry, where, "token", &token, error))
                return false;
        if (!endpoint)
                return err_set(error, ERR_FAILED, "%s is missing", what);
        if (!clean_url(what, endpoint, error))
                return false;
        if (*found || g_strcmp0(name, current) != 0)
                return true;
        *found = true;
        if (!config->server)
                config->server = g_steal_pointer(&endpoint);
        if (!config->token)
                config->token = g_steal_pointer(&token);
        return true;
}

static char *datacenter_names(const json_t *list)
{
        g_autoptr(GString) names = g_string_new(NULL);
        gsize i;
        json_t *entry;

        json_array_foreach(list, i, entry) {
                const char *name = json_string_value(json_object_get(entry, "name"));

                g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", name ? name : "(no name)");
        }
        return g_string_free(g_steal_pointer(&names), FALSE);
}

/* Every endpoint must be a URL, otherwise the whole file is refused (doc/reference/paddle-cloud.md, "The
 * later configuration file"). */
static bool read_datacenters(ClientConfig *config, const json_t *root, GError **error)
{
        const json_t *list = json_object_get(root, "datacenters");
        g_autofree char *current = NULL;
        bool found = false;
        gsize i;
        json_t *entry;

        if (!list)
                return true;
        if (!json_is_array(list))
                return err_set(error, ERR_FAILED, "datacenters must be a list");
        if (!take_text(root, "", "current-datacenter", &current, error))
                return false;
        json_array_foreach(list, i, entry)
                if (!read_datacenter(config, entry, i, current, &found, error))
                        return false;
        if (!found && !config->server) {
                g_autofree char *names = datacenter_names(list);

                return err_set(error, ERR_FAILED,
                               "current-datacenter '%s' is not one of datacenters\nThe list has: %s.",
                               current ? current : "", *names ? names : "none");
        }
        return true;
}

static bool check_version(const json_t *root, GError **error)
{
        g_autofree char *version = NULL;

        if (!take_text(root, "", "apiVersion", &version, error))
                return false;
        if (version && strcmp(version, "v1") != 0)
                return err_set(error, ERR_FAILED, "apiVersion: '%s' is not known; this client reads v1",
                               version);
        return true;
}

static bool read_registry(ClientConfig *config, const json_t *root, GError **error)
{
        const json_t *registry = json_object_get(root, "dockerRegistry");

        config->registry_domain = g_strdup("docker.io");
        if (!registry || json_is_null(registry))
                return true;
        if (!json_is_object(registry))
                return err_set(error, ERR_FAILED, "dockerRegistry must hold domain, username, password");
        return take_text(registry, "dockerRegistry.", "domain", &config->registry_domain, error) &&
               take_text(registry, "dockerRegistry.", "username", &config->registry_username, error) &&
               take_text(registry, "dockerRegistry.", "password", &config->registry_password, error);
}

static bool read_root(ClientConfig *config, const json_t *root, GError **error)
{
        gint64 idle_ms;

        if (!json_is_object(root) && !json_is_null(root))
                return err_set(error, ERR_FAILED, "not a list of 'key: value' lines");
        if (!check_version(root, error) || !read_registry(config, root, error) ||
            !take_text(root, "", "paddleServer", &config->server, error) ||
            !take_text(root, "", "token", &config->token, error) ||
            !take_text(root, "", "caCert", &config->ca, error) ||
            !take_text(root, "", "clientCert", &config->cert, error) ||
            !take_text(root, "", "clientKey", &config->key, error) ||
            !take_text(root, "", "embeddedIdle", &config->idle, error))
                return false;
        if (config->idle && !duration_parse("embeddedIdle", config->idle, &idle_ms, error))
                return false;
        if (config->server && !clean_url("paddleServer", config->server, error))
                return false;
        return read_datacenters(config, root, error);
}

static ClientConfig *refuse(const char *name, GError *cause, GError **error)
{
        err_set(error, ERR_FAILED, "configuration '%s': %s", name, cause->message);
        g_error_free(cause);
        return NULL;
}

ClientConfig *client_config_parse(const char *text, gsize len, const char *name, GError **error)
{
        g_autoptr(ClientConfig) config = g_new0(ClientConfig, 1);
        g_autoptr(json_t) root = NULL;
        GError *cause = NULL;

        root = len > 0 ? yaml_parse(text, len, "YAML", &cause) : json_null();
        if (!root || !read_root(config, root, &cause))
                return refuse(name, cause, error);
        return g_steal_pointer(&config);
}

ClientConfig *client_config_read(const char *path, GError **error)
{
        g_autofree char *text = NULL;
        gsize len = 0;
        GError *cause = NULL;

        if (file_read(path, CONFIG_SIZE_MAX, &text, &len, &cause))
                return client_config_parse(text, len, path, error);
        if (!err_is(cause, ERR_NOT_FOUND))
                return refuse(path, cause, error);
        g_error_free(cause);
        return client_config_parse(NULL, 0, path, error);
}

/* ---- writing line by line, to keep comments and other programs' keys ---- */

/* Replaces the line of that key by "key: value", or appends it. JSON texts are valid YAML. */
static void put_line(GPtrArray *lines, const char *key, const char *value)
{
        g_autoptr(GString) line = g_string_new(key);
        gsize len = strlen(key);

        g_string_append(line, ": ");
        json_quote(line, value);
        for (guint i = 0; i < lines->len; i++) {
                const char *old = lines->pdata[i];

                if (strncmp(old, key, len) != 0 || old[len + strspn(old + len, " ")] != ':')
                        continue;
                g_free(lines->pdata[i]);
                lines->pdata[i] = g_strdup(line->str);
                return;
        }
        g_ptr_array_add(lines, g_strdup(line->str));
}

static char *text_with(const char *text, const char *server, const char *token)
{
        g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
        g_auto(GStrv) parts = g_strsplit(text, "\n", -1);
        g_autofree char *joined = NULL;

        for (char **part = parts; *part; part++)
                if (**part || part[1])
                        g_ptr_array_add(lines, g_strdup(*part));
        put_line(lines, "paddleServer", server);
        put_line(lines, "token", token);
        g_ptr_array_add(lines, NULL);
        joined = g_strjoinv("\n", (char **)lines->pdata);
        return g_strconcat(joined, "\n", NULL);
}

bool client_config_store(const char *path, const char *server, const char *token, GError **error)
{
        g_autofree char *old = NULL, *text = NULL, *dir = g_path_get_dirname(path);
        g_autoptr(ClientConfig) check = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len = 0;

        if (!file_read(path, CONFIG_SIZE_MAX, &old, &len, &cause) && !err_is(cause, ERR_NOT_FOUND))
                return err_set(error, ERR_FAILED, "configuration '%s': %s", path, cause->message);
        text = text_with(old ? old : "apiVersion: v1\n", server, token);
        check = client_config_parse(text, strlen(text), path, NULL);
        if (!check || g_strcmp0(check->server, server) != 0 || g_strcmp0(check->token, token) != 0)
                return err_set(error, ERR_FAILED,
                               "configuration '%s' has a form that cannot be added to\nWrite 'paddleServer: "
                               "URL' and "
                               "'token: SECRET' on lines of their own, or move the file away.",
                               path);
        return file_mkdirs(dir, 0700, error) && file_replace(path, text, strlen(text), 0600, false, error);
}
