/* Secrets of a job (see spec.h): {"secrets": {"WANDB_API_KEY": "wandb"}, "secret_files": {"gcs.json":
 * "gcs-key"}}. A specification has only their names; the engine checks that they exist. */
#include <string.h>

#include "base/err.h"
#include "model/secret.h"
#include "model/spec-draft.h"

enum { FILE_NAME_MAX = 100 };

static bool check_variable(const char *name, GError **error)
{
        g_autofree char *shown = NULL;

        if (env_name_is_valid(name, strlen(name)))
                return true;
        shown = err_shown(name);
        return err_set(
                error, ERR_INVALID,
                "secrets: '%.64s' is not a variable's name: a letter or '_', then letters, digits and '_'\n"
                "Say VARIABLE=SECRET to give the variable another name than the secret.",
                shown);
}

static bool check_file(const char *name, GError **error)
{
        size_t len = strlen(name);
        bool good =
                len >= 1 && len <= FILE_NAME_MAX && strcmp(name, ".") != 0 && !g_str_has_prefix(name, "..");
        g_autofree char *shown = NULL;

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || strchr("._-", *at);
        if (good)
                return true;
        shown = err_shown(name);
        return err_set(
                error, ERR_INVALID,
                "secret_files: '%.80s' is not a file's name of 1 to %d letters, digits, '.', '_' and '-'",
                shown, FILE_NAME_MAX);
}

static bool take_map(Draft *draft, const json_t *object, const char *field,
                     bool (*check)(const char *name, GError **error), char ***ret, GError **error)
{
        const json_t *map = json_object_get(object, field);
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        const char *key;
        json_t *item;

        if (!is_given(object, field))
                return true;
        if (!json_is_object(map))
                return err_set(error, ERR_INVALID, "%s must be an object of names and secrets", field);
        json_object_foreach((json_t *)map, key, item) {
                if (!check(key, error))
                        return false;
                if (!json_is_string(item))
                        return err_set(error, ERR_INVALID, "%s.%s must be the name of a secret", field, key);
                if (!secret_name_check(field, json_string_value(item), error))
                        return false;
                g_ptr_array_add(list, g_strdup_printf("%s=%s", key, json_string_value(item)));
        }
        *ret = draft_own(draft, g_steal_pointer(&list));
        return true;
}

/* A variable in both lists would lose one of its values. */
static bool check_once(char *const *secrets, char *const *env, GError **error)
{
        for (; secrets && *secrets; secrets++) {
                gsize len = strcspn(*secrets, "=") + 1;

                for (char *const *at = env; at && *at; at++)
                        if (strncmp(*at, *secrets, len) == 0)
                                return err_set(error, ERR_INVALID,
                                               "secrets: '%.*s' is in env, too\nLeave out one of the two.",
                                               (int)len - 1, *secrets);
        }
        return true;
}

bool take_secrets(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;
        guint n;

        if (!take_map(draft, object, "secrets", check_variable, &spec->secrets, error) ||
            !take_map(draft, object, "secret_files", check_file, &spec->secret_files, error) ||
            !check_once(spec->secrets, spec->env, error))
                return false;
        for (int i = 0; i < spec->n_roles; i++)
                if (!check_once(spec->secrets, draft->roles[i].env, error))
                        return false;
        n = (spec->secrets ? g_strv_length(spec->secrets) : 0) +
            (spec->secret_files ? g_strv_length(spec->secret_files) : 0);
        return n <= SECRETS_PER_JOB ||
               err_set(error, ERR_INVALID, "secrets: a job can have %d secrets", SECRETS_PER_JOB);
}

void secrets_format(const Spec *spec, json_t *object)
{
        if (spec->secrets)
                json_object_set_new(object, "secrets", labels_format(spec->secrets));
        if (spec->secret_files)
                json_object_set_new(object, "secret_files", labels_format(spec->secret_files));
}
