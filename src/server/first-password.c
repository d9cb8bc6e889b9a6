/* The first password of `root` (see first-password.h). */
#include "server/first-password.h"

#include <string.h>

#include "api/auth/password.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

enum { FILE_MODE = 0600 };

typedef struct {
        GMutex mutex;
        GCond came;
        bool done;
        GError *error;
} Answer;

static void on_put(Job *job, bool repeated, const GError *error, void *arg)
{
        Answer *answer = arg;

        g_mutex_lock(&answer->mutex);
        answer->done = true;
        answer->error = error ? g_error_copy(error) : NULL;
        g_cond_signal(&answer->came);
        g_mutex_unlock(&answer->mutex);
}

static bool put_and_wait(Engine *engine, const User *user, GError **error)
{
        Answer answer = { 0 };

        g_mutex_init(&answer.mutex);
        g_cond_init(&answer.came);
        engine_put(engine, &user->object, user->object.name, on_put, &answer);
        g_mutex_lock(&answer.mutex);
        while (!answer.done)
                g_cond_wait(&answer.came, &answer.mutex);
        g_mutex_unlock(&answer.mutex);
        g_mutex_clear(&answer.mutex);
        g_cond_clear(&answer.came);
        if (answer.error)
                g_propagate_error(error, answer.error);
        return !answer.error;
}

/* The hash of the password in the file; NULL: the file was not written by a server. */
static char *hash_of_file(const char *path)
{
        g_autofree char *text = NULL;

        if (!file_read(path, PASSWORD_MAX, &text, NULL, NULL))
                return NULL;
        g_strchomp(text);
        return strlen(text) == PASSWORD_RANDOM_LEN ? password_hash(text, NULL) : NULL;
}

static char *make_file(const char *path, GError **error)
{
        char text[PASSWORD_RANDOM_LEN + 2];
        g_autofree char *hash = NULL;

        if (!password_make_random(text, &hash, error))
                return NULL;
        text[PASSWORD_RANDOM_LEN] = '\n';
        if (!file_replace(path, text, PASSWORD_RANDOM_LEN + 1, FILE_MODE, true, error))
                return NULL;
        return g_steal_pointer(&hash);
}

bool first_password_is_there(Engine *engine)
{
        g_autoptr(Catalog) catalog = engine_catalog(engine);
        const User *seeded = catalog_user(catalog, SEEDED_USER);

        return seeded && seeded->password && strcmp(seeded->password, USER_PASSWORD_SEEDED) != 0;
}

bool first_password_make(Engine *engine, const char *path, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(engine);
        const User *seeded = catalog_user(catalog, SEEDED_USER);
        g_autoptr(Object) draft = NULL;
        char *hash;

        if (!seeded || g_strcmp0(seeded->password, USER_PASSWORD_SEEDED) != 0)
                return true;
        hash = hash_of_file(path);
        if (!hash && !(hash = make_file(path, error)))
                return err_prefix(error, "no password for '%s': ", SEEDED_USER);
        draft = object_copy(&seeded->object);
        g_free(((User *)draft)->password);
        ((User *)draft)->password = hash;
        if (!put_and_wait(engine, (const User *)draft, error))
                return err_prefix(error, "no password for '%s': ", SEEDED_USER);
        log_info(
                "the administrator's account has a random password; its file is deleted when the password is changed "
                "(paddle user set "
                "NAME --password)",
                "user", SEEDED_USER, "file", path, NULL);
        return true;
}
