/* The ini file (see ini.h): sections, "key = value" or "key: value", keys in any case, remarks on lines of
 * their own. Sections and keys of others are passed over. */
#include "cli/paddleflow/ini.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum { INI_MAX = 256 * 1024, PORT = 8999, PORT_MAX = 65535 };

static const char fallback_text[] = "[user]\n"
                                    "# this password is valid only with `paddled --published-password`\n"
                                    "name = root\n"
                                    "password = paddleflow\n"
                                    "\n"
                                    "[server]\n"
                                    "# where paddled listens\n"
                                    "paddleflow_server_host = 127.0.0.1\n"
                                    "paddleflow_server_port = 8999\n";

void paddleflow_config_free(PaddleFlowConfig *config)
{
        if (!config)
                return;
        g_free(config->user);
        g_free(config->password);
        g_free(config->host);
        g_free(config);
}

typedef struct {
        const char *section, *key;
        char **value;
        bool required;
} Wanted;

static void keep(const Wanted *wanted, const char *section, const char *key, const char *value)
{
        for (; wanted->section; wanted++) {
                if (strcmp(wanted->section, section) != 0 || g_ascii_strcasecmp(wanted->key, key) != 0)
                        continue;
                g_free(*wanted->value);
                *wanted->value = g_strdup(value);
        }
}

/* One line; `section` is the one that holds, and may change. */
static bool take_line(const Wanted *wanted, char *line, char **section)
{
        char *end, *value;

        g_strstrip(line);
        if (!*line || *line == '#' || *line == ';')
                return true;
        if (*line == '[') {
                end = strchr(line, ']');
                if (!end)
                        return false;
                g_free(*section);
                *section = g_strndup(line + 1, (gsize)(end - line - 1));
                return true;
        }
        value = strpbrk(line, "=:");
        if (!value || !*section)
                return false;
        *value++ = '\0';
        keep(wanted, *section, g_strchomp(line), g_strchug(value));
        return true;
}

static bool check_wanted(const Wanted *wanted, const char *name, GError **error)
{
        for (; wanted->section; wanted++)
                if (wanted->required && (!*wanted->value || !**wanted->value))
                        return err_set(error, ERR_FAILED, "configuration '%s': [%s] has no '%s'", name,
                                       wanted->section, wanted->key);
        return true;
}

PaddleFlowConfig *paddleflow_config_parse(const char *text, const char *name, GError **error)
{
        g_autoptr(PaddleFlowConfig) config = g_new0(PaddleFlowConfig, 1);
        g_autofree char *section = NULL, *port = NULL;
        const Wanted wanted[] = {
                { "user", "name", &config->user, true },
                { "user", "password", &config->password, true },
                { "server", "paddleflow_server_host", &config->host, true },
                { "server", "paddleflow_server_port", &port, false },
                { 0 },
        };
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        gint64 number = PORT;
        g_autoptr(GError) cause = NULL;

        for (guint i = 0; lines[i]; i++) {
                if (take_line(wanted, lines[i], &section))
                        continue;
                err_set(error, ERR_FAILED,
                        "configuration '%s': line %u is neither '[section]' nor 'key = value'", name, i + 1);
                return NULL;
        }
        if (!check_wanted(wanted, name, error))
                return NULL;
        if (port && *port && !number_parse("paddleflow_server_port", port, 1, PORT_MAX, &number, &cause)) {
                err_set(error, ERR_FAILED, "configuration '%s': %s", name, cause->message);
                return NULL;
        }
        config->port = (int)number;
        return g_steal_pointer(&config);
}

/* It holds a password: nobody else reads it. */
static bool make(const char *path, GError **error)
{
        g_autofree char *dir = g_path_get_dirname(path);

        if (g_file_test(path, G_FILE_TEST_EXISTS))
                return true;
        if (!file_mkdirs(dir, 0700, error) ||
            !file_replace(path, fallback_text, strlen(fallback_text), 0600, false, error))
                return false;
        fprintf(stderr,
                "paddleflow: '%s' was made: it names the server 127.0.0.1:%d, and root with the published password\n",
                path, PORT);
        return true;
}

PaddleFlowConfig *paddleflow_config_read(const char *path, GError **error)
{
        g_autofree char *home = file_home();
        g_autofree char *own =
                path ? NULL : g_build_filename(home ? home : "/", ".paddleflow", "paddleflow.ini", NULL);
        g_autofree char *text = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len;

        if ((own && !make(own, &cause)) || !file_read(own ? own : path, INI_MAX, &text, &len, &cause)) {
                err_set(error, ERR_FAILED, "configuration: %s", cause->message);
                return NULL;
        }
        if (!g_utf8_validate(text, (gssize)len, NULL)) {
                err_set(error, ERR_FAILED, "configuration '%s' is not UTF-8", own ? own : path);
                return NULL;
        }
        return paddleflow_config_parse(text, own ? own : path, error);
}
