/* Log-ins and passwords: whatever hashes runs on the thread pool, whatever changes something goes through the
 * engine.
 *
 *      handler ──▶ throttle ──▶ threads: compare, make a token ──▶ engine: commit ──▶ done
 *
 * A password that changes between the comparison and the commit ends the log-in: the engine has dropped the
 * user's log-in tokens by then, and this one would be left over. */
#include "api/auth/attempt.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "api/auth/password.h"
#include "api/auth/published.h"
#include "base/clock.h"
#include "base/err.h"

/* Of one user; the oldest go. One less for each thread that may be adding one. */
enum { LOGINS_MAX = 1000, LOGINS_BEFORE = LOGINS_MAX - 2 };
/* Nobody's name is longer, and what is tried is remembered. */
enum { NAME_BYTES_MAX = 128 };
enum { REFUSAL_MS = 500 }; /* before an attempt without a turn is answered */

static void wipe(char *text)
{
        if (text)
                sodium_memzero(text, strlen(text));
        g_free(text);
}

static void attempting_free(Attempting *at)
{
        g_free(at->user);
        wipe(at->password);
        wipe(at->old);
        wipe(at->code);
        wipe(at->new_secret);
        g_strfreev(at->recovery);
        g_clear_error(&at->trouble);
        g_free(at->address);
        g_free(at->by);
        g_free(at->verified);
        if (at->draft)
                object_unref(at->draft);
        sodium_memzero(at->secret, sizeof at->secret);
        g_free(at);
}

static bool is_for_set_up(const Attempting *at)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);

        return user && lacks_second_factor(at->auth, user);
}

void finish(Attempting *at, const GError *error, gint64 wait_ms)
{
        AuthLogin login = { .user = at->user,
                            .token = at->secret,
                            .expires = at->expires,
                            .lacks_factor = !error && at->login_done && is_for_set_up(at),
                            .by_directory = at->by_directory };

        if (at->login_done)
                at->login_done(error ? NULL : &login, error, wait_ms, at->arg);
        else if (at->factor_done)
                at->factor_done(error ? NULL : &(AuthFactor){ login, (const char *const *)at->recovery },
                                error, wait_ms, at->arg);
        else
                at->done(NULL, false, error, at->arg);
        attempting_free(at);
}

/* The file with the first password of `root` says nothing true any more. */
static bool ends_first_password(const Attempting *at)
{
        return at->auth->config.first_password && at->password && strcmp(at->user, SEEDED_USER) == 0;
}

/* Also while the server stops: the password has changed. */
static void drop_first_password(bool stopped, void *arg)
{
        Attempting *at = arg;

        (void)unlink(at->auth->config.first_password); /* most often it is gone */
        finish(at, NULL, 0);
}

/* On the engine's thread, which touches no files. */
static void put_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Attempting *at = arg;

        if (error || !ends_first_password(at))
                finish(at, error, 0);
        else if (!thread_pool_push_after(at->auth->turns, 0, drop_first_password, at))
                drop_first_password(true, at); /* the server stops */
}

bool set_stopped(GError **error)
{
        return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
}

/* ---- attempts ---- */

void end_attempt(Attempting *at, Attempt how)
{
        throttle_end(at->auth->throttle, at->user, at->address, clock_monotonic_ms(), &at->turn, how);
}

void refuse_attempt(Attempting *at, ErrCode code, const char *message, GError **error)
{
        end_attempt(at, at->trouble ? ATTEMPT_DROPPED : ATTEMPT_FAILED);
        if (at->trouble)
                g_propagate_error(error, g_steal_pointer(&at->trouble));
        else
                err_set(error, code, "%s", message);
}

static bool may_use_published(const Attempting *at)
{
        const AuthConfig *config = &at->auth->config;

        if (at->known || !at->published)
                return at->known;
        return !config->is_of_member || !config->is_of_member(at->address, at->port, at->pid);
}

static bool compare_here(Attempting *at, const char *given)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        bool seeded = user && g_strcmp0(user->password, USER_PASSWORD_SEEDED) == 0;
        bool same = password_verify(user ? user->password : NULL, given) &&
                    (!seeded || may_use_published(at)) && !user->disabled && !user->ldap;

        at->verified = same ? g_strdup(user->password) : NULL;
        return same;
}

bool compare(Attempting *at, const char *given)
{
        return at->there ? compare_there(at, given) : compare_here(at, given);
}

/* Its turn has come: it goes to the thread pool. */
static void on_turn(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;
        ThreadPool *threads;

        at->there = asks_directory(at->auth, at->user);
        threads = at->there ? at->auth->directory_threads : at->auth->threads;
        if (stopped ? !set_stopped(&error) : !thread_pool_push(threads, NULL, at->work, at, &error)) {
                end_attempt(at, ATTEMPT_DROPPED);
                finish(at, error, 0);
        }
}

static void refuse_turn(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;

        err_set(&error, ERR_QUOTA,
                "too many log-ins of '%s' or from this address have failed, or wait\nTry again in %d s.",
                at->user, (int)((at->turn.wait_ms + 999) / 1000));
        finish(at, error, at->turn.wait_ms);
}

static void wait_for_turn(Attempting *at, gint64 ms, ThreadPoolFunc func)
{
        if (!thread_pool_push_after(at->auth->turns, ms, func, at))
                func(true, at);
}

/* Waits for its turn, unless that is too far. A refusal takes its time, so that whoever answers it with the
 * next attempt at once keeps the server no busier than others do. */
void attempt(Attempting *at, ThreadPoolFunc work)
{
        at->work = work;
        if (!throttle_begin(at->auth->throttle, at->user, at->address, clock_monotonic_ms(), &at->turn)) {
                wait_for_turn(at, REFUSAL_MS, refuse_turn);
        } else if (at->turn.wait_ms == 0) {
                on_turn(false, at);
        } else {
                wait_for_turn(at, at->turn.wait_ms, on_turn);
        }
}

/* ---- log-in ---- */

static void ignore_done(Job *job, bool repeated, const GError *error, void *arg)
{
        auth_forget_tokens(arg);
}

static int by_age(const void *a, const void *b)
{
        const Token *one = *(Token *const *)a, *two = *(Token *const *)b;

        return one->created < two->created ? -1 : one->created > two->created;
}

bool login_make_room(Auth *auth, const char *user, GError **error)
{
        g_autoptr(GPtrArray) tokens = store_tokens(auth->config.store, user, error);
        guint n_logins = 0;

        if (!tokens)
                return false;
        for (guint i = 0; i < tokens->len; i++)
                n_logins += ((const Token *)tokens->pdata[i])->login == TOKEN_LOGIN;
        if (n_logins < LOGINS_BEFORE)
                return true;
        g_ptr_array_sort(tokens, by_age);
        for (guint i = 0; i < tokens->len && n_logins >= LOGINS_BEFORE; i++) {
                const Token *token = tokens->pdata[i];

                if (token->login != TOKEN_LOGIN)
                        continue;
                engine_drop_token(auth->config.engine, token->id, ignore_done, auth);
                n_logins--;
        }
        return true;
}

static bool password_is_still(Attempting *at)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);

        return user && g_strcmp0(user->password, at->verified) == 0 && (!at->by_directory || user->ldap);
}

static void token_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) changed = NULL;

        if (!error && !password_is_still(at)) {
                engine_drop_token(at->auth->config.engine, at->token_id, ignore_done, at->auth);
                err_set(&changed, ERR_UNAUTHENTICATED,
                        "the password of '%s' was changed meanwhile\nLog in with the new one.", at->user);
                error = changed;
        }
        finish(at, error, 0);
}

void give_token(Attempting *at)
{
        const AuthConfig *config = &at->auth->config;
        g_autoptr(Token) token = NULL;

        at->expires = config->token_expire_ms ? clock_now_ms() + config->token_expire_ms : 0;
        token = auth_new_token(at->user, at->by_directory ? "log-in by ldap" : "log-in", at->expires,
                               at->secret);
        token->login = TOKEN_LOGIN;
        token->scope = SCOPE_ADMIN;
        g_strlcpy(at->token_id, token->id, sizeof at->token_id);
        engine_put_token(config->engine, token, token_done, at);
}

static void go_on(Attempting *at)
{
        check_factor(at, give_token);
}

static void log_in(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;

        if (stopped) {
                end_attempt(at, ATTEMPT_DROPPED);
                set_stopped(&error);
        } else {
                split_code(at);
                if (!compare(at, at->password)) {
                        refuse_attempt(at, ERR_UNAUTHENTICATED,
                                       at->code && !at->code_is_appended ? "wrong user name, password or code"
                                                                         : "wrong user name or password",
                                       &error);
                } else if (!login_make_room(at->auth, at->user, &error)) {
                        end_attempt(at, ATTEMPT_DROPPED);
                }
        }
        if (error)
                finish(at, error, 0);
        else
                make_user(at, go_on);
}

bool auth_is_older_clients(const Auth *auth, const LoginOrigin *origin)
{
        return published_is_open(auth->config.published, origin);
}

void auth_login(Auth *auth, const LoginAsk *ask, const LoginOrigin *origin, AuthLoginDone done, void *arg)
{
        Attempting *at = g_new0(Attempting, 1);

        *at = (Attempting){ .auth = auth,
                            .user = g_strdup(strlen(ask->user) > NAME_BYTES_MAX ? "(too long)" : ask->user),
                            .published = published_is_open(auth->config.published, origin),
                            .port = origin->port,
                            .pid = origin->pid,
                            .password = g_strdup(ask->password),
                            .code = g_strdup(ask->code),
                            .code_is_appended = ask->code_is_appended,
                            .address = g_strdup(origin->address),
                            .login_done = done,
                            .arg = arg };
        attempt(at, log_in);
}

/* ---- users and their passwords ---- */

/* The user as it is to be: a copy with the new password hashed. */
static bool hash_into(Attempting *at, GError **error)
{
        User *user = (User *)at->draft;
        char *hash = password_hash(at->password, error);

        if (!hash)
                return false;
        g_free(user->password);
        user->password = hash;
        return true;
}

static void put_user(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;

        if (stopped ? !set_stopped(&error) : !hash_into(at, &error))
                finish(at, error, 0);
        else
                engine_put(at->auth->config.engine, at->draft, at->by, put_done, at);
}

void auth_put_user(Auth *auth, const User *draft, const char *password, const char *by, EngineDone done,
                   void *arg)
{
        g_autoptr(GError) error = NULL;
        Attempting *at;

        if (password && !auth_password_is_here(auth, draft, &error)) {
                done(NULL, false, error, arg);
                return;
        }
        if (!password) {
                engine_put(auth->config.engine, &draft->object, by, done, arg);
                return;
        }
        at = g_new0(Attempting, 1);
        *at = (Attempting){ .auth = auth,
                            .user = g_strdup(draft->object.name),
                            .password = g_strdup(password),
                            .by = g_strdup(by),
                            .draft = object_copy(&draft->object),
                            .done = done,
                            .arg = arg };
        if (!thread_pool_push(auth->threads, NULL, put_user, at, &error))
                finish(at, error, 0);
}

static bool check_old(Attempting *at, GError **error)
{
        g_autofree char *message = NULL;

        if (!at->old)
                return true;
        if (compare(at, at->old)) {
                end_attempt(at, ATTEMPT_SUCCEEDED);
                return true;
        }
        message = g_strdup_printf("old: it is not the present password of '%s'", at->user);
        refuse_attempt(at, ERR_DENIED, message, error);
        return false;
}

static bool copy_user(Attempting *at, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);

        if (!user)
                return err_set(error, ERR_NOT_FOUND, "there is no user '%s'", at->user);
        if (!auth_password_is_here(at->auth, user, error))
                return false;
        at->draft = object_copy(&user->object);
        return true;
}

static void change_password(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;

        if (stopped && at->old)
                end_attempt(at, ATTEMPT_DROPPED);
        if (stopped ? !set_stopped(&error)
                    : !check_old(at, &error) || !copy_user(at, &error) || !hash_into(at, &error))
                finish(at, error, 0);
        else
                engine_put(at->auth->config.engine, at->draft, at->by, put_done, at);
}

void auth_change_password(Auth *auth, const PasswordChange *change, EngineDone done, void *arg)
{
        g_autoptr(GError) error = NULL;
        Attempting *at = g_new0(Attempting, 1);

        *at = (Attempting){ .auth = auth,
                            .known = true,
                            .user = g_strdup(change->user),
                            .password = g_strdup(change->password),
                            .old = g_strdup(change->old),
                            .address = g_strdup(change->address ? change->address : "unix"),
                            .by = g_strdup(change->by),
                            .done = done,
                            .arg = arg };
        if (at->old)
                attempt(at, change_password);
        else if (!thread_pool_push(auth->threads, NULL, change_password, at, &error))
                finish(at, error, 0);
}
