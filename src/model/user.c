/* Users and grants (see user.h): checks of their fields. */
#include "model/user.h"

#include <string.h>

#include "base/err.h"
#include "model/object-row.h"
#include "model/resources.h"

enum {
        NAME_MAX_BYTES = 60, /* the width of the older interface's column */
        PASSWORD_MAX = 255,  /* of the hash; libsodium's has at most 128 */
        RESOURCE_MAX = 255,
        LIMIT_MAX = 40, /* of a quantity */
        SUBJECT_MAX = 255,
        ISSUER_MAX = 2048,
        FACTOR_MAX = 1000, /* of a record: a version, a secret of 80 bytes, a number, 10 hashes of 32 */
};

static const char *const grant_types[] = { "queue", "fs", "user", NULL };

G_STATIC_ASSERT(G_N_ELEMENTS(grant_types) == GRANT_TYPES + 1);

bool user_name_check(const char *what, const char *name, GError **error)
{
        size_t len = strlen(name);
        g_autofree char *shown = NULL;
        bool good = len >= 1 && len <= NAME_MAX_BYTES && name[0] != '-' && name[0] != '.';

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || strchr("._-", *at);
        if (good)
                return true;
        shown = err_shown(name);
        return err_set(
                error, ERR_INVALID,
                "%s: '%.80s' is not a user's name of 1 to %d letters, digits, '.', '_' and '-' that begins "
                "neither with '-' nor with '.'",
                what, shown, NAME_MAX_BYTES);
}

const char *grant_type_name(GrantType type)
{
        return grant_types[type];
}

bool grant_type_parse(const char *name, GrantType *ret)
{
        int type = word_find(grant_types, name);

        if (type >= 0)
                *ret = (GrantType)type;
        return type >= 0;
}

char *grant_key(const char *user, GrantType type, const char *resource)
{
        return g_strdup_printf("%s/%s/%s", user, grant_types[type], resource);
}

/* The catalog, which has the objects, checks the parts of the name. */
static bool grant_name_check(const char *what, const char *name, GError **error)
{
        return true;
}

static bool limit_check(const char *what, const char *value, GError **error)
{
        gint64 amount;

        return memory_parse(what, value, &amount, NULL) ||
               err_set(error, ERR_INVALID, "%s: '%s' is not an amount such as 200Gi or 2M; 0: no limit", what,
                       value);
}

static bool subject_check(const char *what, const char *value, GError **error)
{
        for (const char *at = value; *at; at++)
                if (g_ascii_iscntrl(*at))
                        return err_set(error, ERR_INVALID, "%s: a subject has no control characters", what);
        return true;
}

bool user_limit(const char *text, gint64 *ret)
{
        return text && memory_parse("limit", text, ret, NULL);
}

static const ObjectField fields[] = {
        { "admin", FIELD_BOOL, offsetof(User, admin) },
        { "password", FIELD_TEXT, offsetof(User, password), FIELD_SECRET | FIELD_FIXED, .max = PASSWORD_MAX },
        { "disabled", FIELD_BOOL, offsetof(User, disabled) },
        { "disk", FIELD_TEXT, offsetof(User, disk), .max = LIMIT_MAX, .check = limit_check },
        { "files", FIELD_TEXT, offsetof(User, files), .max = LIMIT_MAX, .check = limit_check },
        { "oidc_subject", FIELD_TEXT, offsetof(User, oidc_subject), .max = SUBJECT_MAX,
          .check = subject_check },
        { "oidc_issuer", FIELD_TEXT, offsetof(User, oidc_issuer), FIELD_FIXED, .max = ISSUER_MAX },
        { "ldap", FIELD_BOOL, offsetof(User, ldap) },
        { "second_factor", FIELD_TEXT, offsetof(User, second_factor), FIELD_SECRET | FIELD_FIXED,
          .max = FACTOR_MAX },
        { "unix_user", FIELD_BOOL, offsetof(User, unix_user), FIELD_FIXED },
        { NULL },
};

const ObjectRow user_row = { "user", "user-", sizeof(User), fields, user_name_check };

static const ObjectField grant_fields[] = {
        { "user", FIELD_TEXT, offsetof(Grant, user), FIELD_ONCE, .max = NAME_MAX_BYTES },
        { "type", FIELD_WORD, offsetof(Grant, type), FIELD_ONCE, .words = grant_types },
        { "resource", FIELD_TEXT, offsetof(Grant, resource), FIELD_ONCE, .max = RESOURCE_MAX },
        { "max_priority", FIELD_PRIORITY, offsetof(Grant, max_priority) },
        { NULL },
};

const ObjectRow grant_row = { "grant", "grant-", sizeof(Grant), grant_fields, grant_name_check };
