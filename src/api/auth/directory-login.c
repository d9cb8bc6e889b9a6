/* Log-ins of users whose password a directory knows (LDAP): those marked so, and, if the server may make
 * users, names that are not here yet. An account that is here without the mark is never the directory's. */
#include "api/auth/attempt.h"

#include <string.h>

#include "api/auth/directory.h"
#include "base/err.h"

/* A directory takes names that differ in case for one, and the machine gives these rights to names. */
static bool may_be_made(const char *name)
{
        g_autofree char *lower = g_ascii_strdown(name, -1);

        return user_name_check("user", name, NULL) && strcmp(lower, name) == 0 &&
               strcmp(name, SEEDED_USER) != 0 && strcmp(name, g_get_user_name()) != 0 &&
               !g_str_has_prefix(name, "uid-");
}

bool asks_directory(const Auth *auth, const char *name)
{
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        const User *user = catalog_user(catalog, name);

        if (!auth->config.directory)
                return false;
        return user ? user->ldap : directory_creates_users(auth->config.directory) && may_be_made(name);
}

bool compare_there(Attempting *at, const char *given)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        g_autoptr(GError) why = NULL;

        if (user && (user->disabled || !user->ldap))
                return false;
        at->by_directory = directory_check(at->auth->config.directory, at->user, given, &why);
        if (err_is(why, ERR_UNAVAILABLE))
                at->trouble = g_steal_pointer(&why);
        at->verified = at->by_directory && user ? g_strdup(user->password) : NULL;
        return at->by_directory;
}

typedef struct {
        Attempting *at;
        AttemptNext next;
} Making;

/* Another log-in may have been faster; an administrator may have made another account of the name. */
static bool is_there(const Attempting *at)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);

        return user && user->ldap && !user->disabled && !user->password;
}

static void resume(bool stopped, void *arg)
{
        g_autofree Making *making = arg;
        g_autoptr(GError) error = NULL;

        if (!stopped) {
                making->next(making->at);
                return;
        }
        set_stopped(&error);
        end_attempt(making->at, ATTEMPT_DROPPED);
        finish(making->at, error, 0);
}

/* On the engine's thread. A user that was made just now has no second factor, so that what follows does not
 * block. */
static void made(Job *job, bool repeated, const GError *error, void *arg)
{
        Making *making = arg;
        Attempting *at = making->at;
        g_autoptr(GError) busy = NULL;

        if (!error) {
                resume(false, making);
        } else if (!is_there(at) ||
                   !thread_pool_push(at->auth->directory_threads, NULL, resume, making, &busy)) {
                end_attempt(at, ATTEMPT_DROPPED);
                finish(at, busy ? busy : error, 0);
                g_free(making);
        }
}

void make_user(Attempting *at, AttemptNext next)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        g_autoptr(Object) object = NULL;
        Making *making;

        if (!at->by_directory || catalog_user(catalog, at->user)) {
                next(at);
                return;
        }
        making = g_new0(Making, 1);
        *making = (Making){ at, next };
        object = object_new(KIND_USER, at->user);
        ((User *)object)->ldap = true;
        engine_put(at->auth->config.engine, object, at->user, made, making);
}

bool auth_has_directory(const Auth *auth)
{
        return auth->config.directory != NULL;
}

bool auth_password_is_here(const Auth *auth, const User *user, GError **error)
{
        const Directory *directory = auth->config.directory;

        return !user->ldap ||
               err_set(error, ERR_CONFLICT,
                       "the password of '%s' is that of the directory (LDAP%s%s)\nChange it there.",
                       user->object.name, directory ? ", " : "", directory ? directory_url(directory) : "");
}
