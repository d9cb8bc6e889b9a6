/* Secrets of users (see secret.h). The encryption is bound to the object's id and name: a value that is
 * copied to another row of the database cannot be decrypted. */
#include "model/secret.h"

#include <string.h>

#include "base/err.h"
#include "model/object-row.h"
#include "model/user.h"

enum { NAME_MAX_BYTES = 60, USER_MAX = 60, SEALED_MAX = 2 * SECRET_VALUE_MAX };

bool secret_name_check(const char *what, const char *name, GError **error)
{
        size_t len = strlen(name);
        bool good = len >= 1 && len <= NAME_MAX_BYTES && name[0] != '.' && name[0] != '-';
        g_autofree char *shown = NULL;

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || strchr("._-", *at);
        if (good)
                return true;
        shown = err_shown(name);
        return err_set(
                error, ERR_INVALID,
                "%s: '%.80s' is not a secret's name: 1 to %d letters, digits, '.', '_' and '-' that begin "
                "neither with '.' nor with '-'",
                what, shown, NAME_MAX_BYTES);
}

char *secret_key(const char *user, const char *name)
{
        return g_strdup_printf("%s/%s", user, name);
}

const char *secret_name(const Secret *secret)
{
        const char *slash = strchr(secret->object.name, '/');

        return slash ? slash + 1 : secret->object.name;
}

static char *context_of(const Secret *secret)
{
        return g_strdup_printf("secret %s %s", secret->object.id, secret->object.name);
}

void secret_set(Secret *secret, const SealKey *key, const void *value, gsize len)
{
        g_autofree char *context = context_of(secret);

        g_free(secret->sealed);
        secret->sealed = seal(key, context, value, len);
        secret->bytes = (int)len;
        secret->binary = !g_utf8_validate(value, (gssize)len, NULL); /* rejects a NUL byte as well */
}

char *secret_value(const Secret *secret, SealKey *key, gsize *ret_len, GError **error)
{
        g_autofree char *context = context_of(secret);
        char *value;

        if (!seal_key_open(key, false, error))
                return NULL;
        value = unseal(key, context, secret->sealed ? secret->sealed : "", ret_len);
        if (!value)
                err_set(error, ERR_UNAVAILABLE,
                        "secret '%s' cannot be read with this server's key\nSet it again: `paddle secret set "
                        "%s`.",
                        secret_name(secret), secret_name(secret));
        return value;
}

static bool key_check(const char *what, const char *name, GError **error)
{
        return true; /* the routes check user and name separately */
}

static const ObjectField fields[] = {
        { "user", FIELD_TEXT, offsetof(Secret, user), FIELD_FIXED, .max = USER_MAX },
        { "value", FIELD_TEXT, offsetof(Secret, sealed), FIELD_SECRET | FIELD_FIXED, .max = SEALED_MAX },
        { "bytes", FIELD_INT, offsetof(Secret, bytes), FIELD_FIXED, .max = SECRET_VALUE_MAX },
        { "binary", FIELD_BOOL, offsetof(Secret, binary), FIELD_FIXED },
        { NULL },
};

const ObjectRow secret_row = { "secret", "secret-", sizeof(Secret), fields, key_check };
