/* Variables and secrets of a submission (see submission.h): --env, --env-file, --secret, --secret-file. */
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/submission.h"

enum { ENV_FILE_MAX = 1024 * 1024 };

static bool variable_name_is_valid(const char *text, gsize len)
{
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_isalpha(text[i]) && text[i] != '_' && (i == 0 || !g_ascii_isdigit(text[i])))
                        return false;
        return len > 0;
}

/* The object of this name in the specification, created if missing. Borrowed. */
static json_t *member(json_t *spec, const char *name)
{
        json_t *object = json_object_get(spec, name);

        if (json_is_object(object))
                return object;
        object = json_object();
        json_object_set_new(spec, name, object);
        return object;
}

/* "NAME=VALUE", or "NAME" for its value in the command's environment. `what` names the source in errors. */
static bool put_variable(json_t *env, const char *what, const char *item, GError **error)
{
        g_autofree char *name = g_strndup(item, strcspn(item, "="));
        gsize len = strlen(name);
        const char *value = item[len] ? item + len + 1 : g_getenv(name);

        if (!variable_name_is_valid(name, len))
                return err_set(error, ERR_USAGE,
                               "%s: '%s' is not a variable's name: letters, digits and '_', no digit first",
                               what, name);
        if (!value)
                return err_set(error, ERR_USAGE,
                               "%s: '%s' has no value, and there is no such variable here\n"
                               "Write %s=VALUE, or set it first.",
                               what, name, name);
        if (!g_utf8_validate(value, -1, NULL))
                return err_set(error, ERR_USAGE,
                               "%s: the value of '%s' is not UTF-8\n"
                               "A program can read such bytes from a file of its package.",
                               what, name);
        json_object_set_new(env, name, json_string(value));
        return true;
}

/* Removes the quotes of 'text' or "text". */
static void unquote(char *value)
{
        gsize len = strlen(value);

        if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0]) {
                memmove(value, value + 1, len - 2);
                value[len - 2] = '\0';
        }
}

/* A line of an .env file; modifies it. Blanks around name and value, and a leading "export", are ignored. */
static bool put_line(json_t *env, const char *where, char *line, GError **error)
{
        g_autofree char *item = NULL;
        char *equals;

        g_strstrip(line);
        if (!*line || *line == '#')
                return true;
        if (g_str_has_prefix(line, "export "))
                g_strchug(memmove(line, line + 7, strlen(line + 7) + 1));
        equals = strchr(line, '=');
        if (!equals)
                return put_variable(env, where, line, error);
        *equals = '\0';
        g_strchomp(line);
        g_strchug(equals + 1);
        unquote(equals + 1);
        item = g_strconcat(line, "=", equals + 1, NULL);
        return put_variable(env, where, item, error);
}

static bool put_env_file(json_t *env, const char *path, GError **error)
{
        g_autofree char *text = NULL;
        g_autoptr(GError) cause = NULL;
        g_auto(GStrv) lines = NULL;
        gsize len = 0;

        if (!file_read(path, ENV_FILE_MAX, &text, &len, &cause))
                return err_set(error, ERR_USAGE, "--env-file: %s", cause->message);
        if (memchr(text, '\0', len))
                return err_set(error, ERR_USAGE, "--env-file: '%s' has a NUL byte, so it is not text", path);
        lines = g_strsplit(text, "\n", -1);
        for (int i = 0; lines[i]; i++) {
                g_autofree char *where = g_strdup_printf("--env-file: '%s', line %d", path, i + 1);

                if (!put_line(env, where, lines[i], error))
                        return false;
        }
        return true;
}

/* "NAME=SECRET", or "SECRET" for both. */
static bool put_secrets(json_t *spec, const char *field, const char *option, const GPtrArray *list,
                        GError **error)
{
        for (guint i = 0; list && i < list->len; i++) {
                const char *item = list->pdata[i], *equals = strchr(item, '=');
                g_autofree char *name = g_strndup(item, strcspn(item, "="));
                g_autoptr(json_t) whole = submission_text(option, item, error);

                if (!whole)
                        return false;
                json_object_set_new(member(spec, field), name, json_string(equals ? equals + 1 : item));
        }
        return true;
}

bool submission_put_env(const Submission *s, json_t *spec, GError **error)
{
        for (guint i = 0; s->env_files && i < s->env_files->len; i++)
                if (!put_env_file(member(spec, "env"), s->env_files->pdata[i], error))
                        return false;
        for (guint i = 0; s->env && i < s->env->len; i++)
                if (!put_variable(member(spec, "env"), "--env", s->env->pdata[i], error))
                        return false;
        return put_secrets(spec, "secrets", "--secret", s->secrets, error) &&
               put_secrets(spec, "secret_files", "--secret-file", s->secret_files, error);
}
