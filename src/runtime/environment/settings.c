/* Index settings (see settings.h).
 *
 * pip's files are read as its documentation says: /etc/xdg/pip/pip.conf and /etc/pip.conf, then
 * ~/.pip/pip.conf and ~/.config/pip/pip.conf, then PIP_CONFIG_FILE; PIP_CONFIG_FILE=/dev/null disables them
 * all. The grammar is that of Python's configparser: "key = value" or "key: value", continued by indented
 * lines. */
#include "runtime/environment/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/inherited.h"

enum { CONFIG_MAX = 256 * 1024 };

/* Variables of a build besides those that all programs inherit; a trailing '*' means all with this prefix. */
static const char *const passed[] = {
        "USER",   "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CC",   "CXX",
        "CFLAGS", "LDFLAGS",        "PYENV_*",         "PIP_*",         "UV_*", NULL,
};

/* uv's variables for settings of pip. */
static const struct {
        const char *pip, *uv;
        char separator; /* between several values */
} translations[] = {
        { "index-url", "UV_DEFAULT_INDEX", ' ' },
        { "extra-index-url", "UV_EXTRA_INDEX_URL", ' ' },
        { "find-links", "UV_FIND_LINKS", ',' },
        { "trusted-host", "UV_INSECURE_HOST", ' ' },
        { "cert", "SSL_CERT_FILE", ' ' },
        { "timeout", "UV_HTTP_TIMEOUT", ' ' },
        { "default-timeout", "UV_HTTP_TIMEOUT", ' ' },
        { "proxy", "ALL_PROXY", ' ' },
};

/* Other names of the same uv setting: if the user has set one, it must win as well. */
static const struct {
        const char *name, *other;
} other_names[] = { { "UV_DEFAULT_INDEX", "UV_INDEX_URL" }, { "UV_EXTRA_INDEX_URL", "UV_INDEX" } };

/* pip's settings that change the contents of an installation. */
static const char *const decisive[] = { "index-url", "extra-index-url", "find-links",    "no-index",   "pre",
                                        "no-binary", "only-binary",     "prefer-binary", "constraint", NULL };

static bool name_matches(const char *pattern, const char *entry)
{
        size_t len = strcspn(pattern, "*");

        return strncmp(pattern, entry, len) == 0 && (pattern[len] == '*' || entry[len] == '=');
}

static bool matches_any(const char *const *patterns, const char *entry)
{
        for (; *patterns; patterns++)
                if (name_matches(*patterns, entry))
                        return true;
        return false;
}

/* "a\n   b" -> "a b" */
static char *join_words(const char *text)
{
        g_auto(GStrv) words = g_strsplit_set(text, " \t\r\n", -1);
        GString *joined = g_string_new(NULL);

        for (char **word = words; *word; word++)
                if (**word)
                        g_string_append_printf(joined, "%s%s", joined->len ? " " : "", *word);
        return g_string_free(joined, FALSE);
}

static void append_value(GHashTable *section, const char *key, const char *more)
{
        const char *before = g_hash_table_lookup(section, key);
        g_autofree char *both = g_strconcat(before ? before : "", " ", more, NULL);

        g_hash_table_insert(section, g_strdup(key), join_words(both));
}

/* Parses a "key = value" line; returns the key in the form of the command line ("index_url" is "index-url").
 * NULL: no such line. */
static char *take_key(const char *line, const char **ret_value)
{
        size_t len = strcspn(line, "=:");
        char *key;

        if (!line[len])
                return NULL;
        key = g_ascii_strdown(line, (gssize)len);
        g_strstrip(key);
        g_strdelimit(key, "_", '-');
        *ret_value = line + len + 1;
        return key;
}

static void merge(GHashTable *into, GHashTable *from)
{
        GHashTableIter iter;
        void *key, *value;

        g_hash_table_iter_init(&iter, from);
        while (g_hash_table_iter_next(&iter, &key, &value))
                g_hash_table_insert(into, g_strdup(key), g_strdup(value));
}

static GHashTable *table_new(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

void settings_add_pip_file(GHashTable *settings, const char *text)
{
        g_autoptr(GHashTable) global = table_new();
        g_autoptr(GHashTable) install = table_new();
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *key = NULL;
        GHashTable *section = NULL;

        for (char **line = lines; *line; line++) {
                bool indented = **line == ' ' || **line == '\t';
                char *body = g_strstrip(*line);
                const char *value;

                if (!*body || *body == '#' || *body == ';')
                        continue;
                if (*body == '[') {
                        section = strcmp(body, "[global]") == 0    ? global
                                  : strcmp(body, "[install]") == 0 ? install
                                                                   : NULL;
                        g_clear_pointer(&key, g_free);
                } else if (section && indented && key) {
                        append_value(section, key, body);
                } else if (section) {
                        g_free(key);
                        key = take_key(body, &value);
                        if (key)
                                g_hash_table_insert(section, g_strdup(key), join_words(value));
                }
        }
        merge(settings, global);
        merge(settings, install);
}

static void add_file(GHashTable *settings, const char *dir, const char *rest)
{
        g_autofree char *path = g_build_filename(dir, rest, NULL);
        g_autofree char *text = NULL;

        if (file_read(path, CONFIG_MAX, &text, NULL, NULL)) /* most of them do not exist */
                settings_add_pip_file(settings, text);
}

static char *user_config_dir(char *const *env)
{
        const char *set = g_environ_getenv((char **)env, "XDG_CONFIG_HOME");
        const char *home = g_environ_getenv((char **)env, "HOME");

        if (set && *set)
                return g_strdup(set);
        return g_build_filename(home ? home : "/", ".config", NULL);
}

static void add_files(GHashTable *settings, char *const *env)
{
        const char *chosen = g_environ_getenv((char **)env, "PIP_CONFIG_FILE");
        const char *home = g_environ_getenv((char **)env, "HOME");
        g_autofree char *config = user_config_dir(env);

        if (chosen && strcmp(chosen, "/dev/null") == 0)
                return;
        add_file(settings, "/etc/xdg/pip", "pip.conf");
        add_file(settings, "/etc", "pip.conf");
        if (home)
                add_file(settings, home, ".pip/pip.conf");
        add_file(settings, config, "pip/pip.conf");
        if (chosen)
                add_file(settings, chosen, NULL);
}

static void add_variables(GHashTable *settings, char *const *env)
{
        for (; *env; env++) {
                size_t len = strcspn(*env, "=");
                char *key;

                if (!g_str_has_prefix(*env, "PIP_") || !(*env)[len])
                        continue;
                key = g_ascii_strdown(*env + 4, (gssize)len - 4);
                g_strdelimit(key, "_", '-');
                g_hash_table_insert(settings, key, join_words(*env + len + 1));
        }
}

GHashTable *settings_read_pip(char *const *environ_list)
{
        GHashTable *settings = table_new();

        add_files(settings, environ_list);
        add_variables(settings, environ_list);
        return settings;
}

static bool is_set(char **env, const char *name)
{
        if (g_environ_getenv(env, name))
                return true;
        for (size_t i = 0; i < G_N_ELEMENTS(other_names); i++)
                if (strcmp(other_names[i].name, name) == 0 && g_environ_getenv(env, other_names[i].other))
                        return true;
        return false;
}

/* The configuration file of uv for this user; its path is given explicitly, since uv would otherwise search
 * all parent directories. */
static char **choose_uv_config(char **env)
{
        g_autofree char *dir = user_config_dir(env);
        g_autofree char *of_user = g_build_filename(dir, "uv/uv.toml", NULL);
        const char *const candidates[] = { of_user, "/etc/uv/uv.toml", NULL };

        if (g_environ_getenv(env, "UV_CONFIG_FILE") || g_environ_getenv(env, "UV_NO_CONFIG"))
                return env;
        for (const char *const *path = candidates; *path; path++)
                if (g_file_test(*path, G_FILE_TEST_IS_REGULAR))
                        return g_environ_setenv(env, "UV_CONFIG_FILE", *path, TRUE);
        return g_environ_setenv(env, "UV_NO_CONFIG", "1", TRUE);
}

char **settings_variables(char *const *environ_list)
{
        g_autoptr(GHashTable) settings = settings_read_pip(environ_list);
        GPtrArray *list = g_ptr_array_new();
        char **env;

        for (char *const *entry = environ_list; *entry; entry++)
                if (matches_any(inherited_variables, *entry) || matches_any(passed, *entry))
                        g_ptr_array_add(list, g_strdup(*entry));
        g_ptr_array_add(list, NULL);
        env = (char **)g_ptr_array_free(list, FALSE);

        for (size_t i = 0; i < G_N_ELEMENTS(translations); i++) {
                g_autofree char *value = g_strdup(g_hash_table_lookup(settings, translations[i].pip));

                if (!value || !*value || is_set(env, translations[i].uv))
                        continue;
                g_strdelimit(value, " ", translations[i].separator);
                env = g_environ_setenv(env, translations[i].uv, value, TRUE);
        }
        return choose_uv_config(env);
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* True for uv's variables that change what is installed; those for directories and connections do not. */
static bool decides(const char *entry)
{
        static const char *const aside[] = { "UV_CACHE_DIR",    "UV_NO_PROGRESS",
                                             "UV_HTTP_*",       "UV_LINK_MODE",
                                             "UV_CONCURRENT_*", "UV_PYTHON_*",
                                             "UV_NO_CACHE",     NULL };

        return g_str_has_prefix(entry, "UV_") && !matches_any(aside, entry);
}

char *settings_fingerprint(char *const *environ_list)
{
        g_autoptr(GHashTable) settings = settings_read_pip(environ_list);
        g_auto(GStrv) env = settings_variables(environ_list);
        g_autoptr(GPtrArray) lines = g_ptr_array_new();
        const char *uv_config = g_environ_getenv(env, "UV_CONFIG_FILE");
        g_autofree char *uv_text = NULL;
        GString *text = g_string_new(NULL);

        for (const char *const *key = decisive; *key; key++) {
                const char *value = g_hash_table_lookup(settings, *key);

                if (value)
                        g_string_append_printf(text, "%s=%s\n", *key, value);
        }
        for (char **entry = env; *entry; entry++)
                if (decides(*entry))
                        g_ptr_array_add(lines, *entry);
        g_ptr_array_sort(lines, by_text);
        for (guint i = 0; i < lines->len; i++)
                g_string_append_printf(text, "%s\n", (char *)lines->pdata[i]);
        if (uv_config && file_read(uv_config, CONFIG_MAX, &uv_text, NULL, NULL))
                g_string_append(text, uv_text);
        return g_string_free(text, FALSE);
}

/* ---- addresses ---- */

/* Other hosts with the files of an index. */
static const struct {
        const char *index, *files;
} companions[] = {
        { "pypi.org:443", "files.pythonhosted.org:443" },
        { "pypi.python.org:443", "pypi.org:443" },
        { "pypi.python.org:443", "files.pythonhosted.org:443" },
        { "test.pypi.org:443", "test-files.pythonhosted.org:443" },
        { "download.pytorch.org:443", "download-r2.pytorch.org:443" },
};

static const char pypi[] = "https://pypi.org/simple";

static void add_once(GPtrArray *list, char *address)
{
        if (g_ptr_array_find_with_equal_func(list, address, g_str_equal, NULL))
                g_free(address);
        else
                g_ptr_array_add(list, address);
}

/* "USER:PASSWORD@HOST:PORT" of `len` bytes; NULL: no host. */
static char *address_of(const char *authority, gsize len, const char *port)
{
        const char *at = g_strrstr_len(authority, (gssize)len, "@");
        const char *host = at ? at + 1 : authority;
        gsize n = len - (gsize)(host - authority);
        g_autofree char *name = g_ascii_strdown(host, (gssize)n);
        const char *behind = strrchr(name, ']');

        if (n == 0)
                return NULL;
        return strchr(behind ? behind : name, ':') ? g_steal_pointer(&name)
                                                   : g_strconcat(name, ":", port, NULL);
}

static void add_urls(GPtrArray *list, const char *text)
{
        static const struct {
                const char *begin, *port;
        } schemes[] = { { "http://", "80" }, { "https://", "443" } };

        for (gsize i = 0; i < G_N_ELEMENTS(schemes); i++) {
                for (const char *at = text; (at = strstr(at, schemes[i].begin));) {
                        gsize len;
                        char *address;

                        at += strlen(schemes[i].begin);
                        len = strcspn(at, "/?#\"' ,;\t\r\n\\");
                        address = address_of(at, len, schemes[i].port);
                        if (address)
                                add_once(list, address);
                }
        }
}

static void add_companions(GPtrArray *list)
{
        for (gsize i = 0; i < G_N_ELEMENTS(companions); i++)
                if (g_ptr_array_find_with_equal_func(list, companions[i].index, g_str_equal, NULL))
                        add_once(list, g_strdup(companions[i].files));
}

static char *join_addresses(GPtrArray *list)
{
        add_companions(list);
        g_ptr_array_add(list, NULL);
        return g_strjoinv(",", (char **)list->pdata);
}

char *settings_addresses_in(const char *text)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);

        add_urls(list, text ? text : "");
        return join_addresses(list);
}

/* Without comment lines. */
static char *read_uv_config(char **env)
{
        const char *path = g_environ_getenv(env, "UV_CONFIG_FILE");
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        g_autoptr(GString) kept = g_string_new(NULL);

        if (!path || !file_read(path, CONFIG_MAX, &text, NULL, NULL))
                return g_strdup("");
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
                if (*g_strstrip(*line) != '#')
                        g_string_append_printf(kept, "%s\n", *line);
        return g_string_free(g_steal_pointer(&kept), FALSE);
}

/* A guess without parsing TOML. If it is true, PyPI is not used. */
static bool sets_index(const char *uv_config)
{
        g_auto(GStrv) lines = g_strsplit(uv_config, "\n", -1);

        for (char **line = lines; *line; line++) {
                g_auto(GStrv) words = g_strsplit(*line, " ", -1);
                g_autofree char *dense = g_strjoinv("", words);

                if (g_str_has_prefix(dense, "index-url=") || g_str_has_prefix(dense, "default=true"))
                        return true;
        }
        return false;
}

char *settings_addresses(char *const *environ_list)
{
        static const char *const of_pip[] = { "index-url", "extra-index-url", "find-links" };
        static const char *const of_uv[] = { "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL",
                                             "UV_INDEX", "UV_FIND_LINKS" };
        g_autoptr(GHashTable) pip = settings_read_pip(environ_list);
        g_auto(GStrv) env = settings_variables(environ_list);
        g_autofree char *uv_config = read_uv_config(env);
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);

        for (gsize i = 0; i < G_N_ELEMENTS(of_pip); i++)
                if (g_hash_table_lookup(pip, of_pip[i]))
                        add_urls(list, g_hash_table_lookup(pip, of_pip[i]));
        for (gsize i = 0; i < G_N_ELEMENTS(of_uv); i++)
                if (g_environ_getenv(env, of_uv[i]))
                        add_urls(list, g_environ_getenv(env, of_uv[i]));
        add_urls(list, uv_config);
        if (!is_set(env, "UV_DEFAULT_INDEX") && !g_hash_table_lookup(pip, "index-url") &&
            !sets_index(uv_config))
                add_urls(list, pypi);
        return join_addresses(list);
}

/* ---- proxies ---- */

static const char *either_case(char *const *env, const char *name)
{
        g_autofree char *upper = g_ascii_strup(name, -1);
        const char *value = g_environ_getenv((char **)env, name);

        return value && *value ? value : g_environ_getenv((char **)env, upper);
}

char **settings_proxies(char *const *environ_list, GError **error)
{
        static const char *const names[] = { "http_proxy", "https_proxy", "all_proxy", "no_proxy" };
        g_autoptr(GHashTable) pip = settings_read_pip(environ_list);
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                const char *value = either_case(environ_list, names[i]);
                g_autofree char *entry = NULL;

                if ((!value || !*value) && strcmp(names[i], "all_proxy") == 0)
                        value = g_hash_table_lookup(pip, "proxy");
                if (!value || !*value)
                        continue;
                if (strstr(value, "://") && g_ascii_strncasecmp(value, "http://", 7) != 0) {
                        err_set(error, ERR_INVALID, "the proxy in %s needs another protocol than http://",
                                names[i]);
                        return NULL;
                }
                entry = g_strconcat(names[i], "=", value, NULL);
                g_strv_builder_add(list, entry);
        }
        return g_strv_builder_end(list);
}
