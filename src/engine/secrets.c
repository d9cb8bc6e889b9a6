/* Secrets of a job (see secrets.h). */
#include "engine/secrets.h"

#include <string.h>

#include "base/err.h"
#include "engine/mask.h"
#include "engine/state.h"

/* One entry, "VARIABLE=SECRET" or "FILE=SECRET". */
static const Secret *find_secret(const Catalog *catalog, const char *user, const char *entry, bool is_file,
                                 GError **error)
{
        const char *name = strchr(entry, '=') + 1;
        const Secret *secret = catalog_secret(catalog, user, name);

        if (secret && (is_file || !secret->binary))
                return secret;
        if (secret)
                err_set(error, ERR_INVALID,
                        "secret '%s' is not UTF-8 text or has a NUL byte, which no variable can hold\n"
                        "Give it as a file: `--secret-file %s`.",
                        name, name);
        else
                err_set(error, ERR_NOT_FOUND,
                        "user '%s' has no secret '%s'\n"
                        "Make it with `paddle secret set %s`; `paddle secret list` shows the existing ones.",
                        user, name, name);
        return NULL;
}

static bool check_list(const Catalog *catalog, const char *user, char *const *list, bool is_file,
                       gint64 *bytes, GError **error)
{
        for (; list && *list; list++) {
                const Secret *secret = find_secret(catalog, user, *list, is_file, error);

                if (!secret)
                        return err_prefix(error, "%s: ", is_file ? "secret_files" : "secrets");
                if (!is_file && strcspn(*list, "=") + 1 + (gsize)secret->bytes >= SPEC_TEXT_MAX)
                        return err_set(error, ERR_INVALID,
                                       "secrets: '%.64s' and its value are longer than %d bytes", *list,
                                       SPEC_TEXT_MAX - 1);
                *bytes += secret->bytes;
        }
        return true;
}

bool secrets_check(const Catalog *catalog, const Spec *spec, const char *user, GError **error)
{
        gint64 bytes = 0;

        if (!check_list(catalog, user, spec->secrets, false, &bytes, error) ||
            !check_list(catalog, user, spec->secret_files, true, &bytes, error))
                return false;
        return bytes <= SECRETS_JOB_BYTES || err_set(error, ERR_INVALID,
                                                     "secrets: those of this job have %" G_GINT64_FORMAT
                                                     " bytes together, and the limit is %d",
                                                     bytes, SECRETS_JOB_BYTES);
}

static bool open_list(const Engine *engine, const Job *job, char *const *list, bool is_file, JobSecrets *ret,
                      GError **error)
{
        for (; list && *list; list++) {
                const Secret *secret = find_secret(engine->catalog, job->user, *list, is_file, error);
                TaskSecret *one = &ret->list[ret->n];
                char *value = NULL;

                if (!secret || !(value = secret_value(secret, engine->config.secrets, &one->len, error)))
                        return false;
                ret->names[ret->n++] = g_strndup(*list, strcspn(*list, "="));
                one->value = value;
                *(is_file ? &one->file : &one->variable) = ret->names[ret->n - 1];
        }
        return true;
}

static int count(char *const *list)
{
        return list ? (int)g_strv_length((char **)list) : 0;
}

bool secrets_open(const Engine *engine, const Job *job, JobSecrets *ret, GError **error)
{
        const Spec *spec = job->spec;
        int n = count(spec->secrets) + count(spec->secret_files);

        *ret = (JobSecrets){ 0 };
        if (n == 0)
                return true;
        if (!engine->config.secrets)
                return err_set(error, ERR_UNAVAILABLE, "this server has no key for secrets");
        if (!secrets_check(engine->catalog, spec, job->user, error)) /* they may have changed since */
                return false;
        ret->list = g_new0(TaskSecret, n);
        ret->names = g_new0(char *, n + 1);
        return open_list(engine, job, spec->secrets, false, ret, error) &&
               open_list(engine, job, spec->secret_files, true, ret, error);
}

void secrets_clear(JobSecrets *secrets)
{
        for (int i = 0; i < secrets->n; i++)
                seal_wipe((char *)secrets->list[i].value, secrets->list[i].len);
        g_free(secrets->list);
        g_strfreev(secrets->names);
}

/* ---- in what members write ---- */

/* They are those that the present attempt was given. */
static bool are_unchanged(const Engine *engine, const Job *job, char *const *list)
{
        for (; list && *list; list++) {
                const Secret *secret = catalog_secret(engine->catalog, job->user, strchr(*list, '=') + 1);

                if (!secret || secret->object.updated >= job->admitted)
                        return false;
        }
        return true;
}

char *secrets_mask(const Engine *engine, const Job *job, const char *line)
{
        JobSecrets secrets = { 0 };
        char *masked = NULL;

        if (are_unchanged(engine, job, job->spec->secrets) &&
            are_unchanged(engine, job, job->spec->secret_files) &&
            secrets_open(engine, job, &secrets, NULL)) {
                Mask *mask = mask_new(line);

                for (int i = 0; i < secrets.n; i++)
                        mask_hide(mask, secrets.list[i].value, secrets.list[i].len);
                masked = mask_end(mask);
        }
        secrets_clear(&secrets);
        return masked;
}
