/* The second factor of log-ins, and how one is set up and taken away (auth.h). A code that was used is stored
 * before anything follows from it, so that it is good once, also across a restart:
 *
 *      password is right ──▶ code is right ──▶ engine: put the user without it ──▶ token
 *
 * Two at one time put the same version of the user: the engine refuses the second. */
#include "api/auth/attempt.h"

#include <sodium.h>
#include <string.h>

#include "api/auth/totp.h"
#include "base/clock.h"
#include "base/err.h"

enum { TRIES = 8 }; /* of storing it, while others change the same user */
#define ISSUER "paddle"

bool second_factor_for_parse(const char *what, const char *word, SecondFactorFor *ret, GError **error)
{
        static const char *const words[] = { "nobody", "administrators", "everybody" };

        for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
                if (strcmp(words[i], word) != 0)
                        continue;
                *ret = (SecondFactorFor)i;
                return true;
        }
        return err_set(error, ERR_INVALID, "%s: '%.40s' is not nobody, administrators or everybody", what,
                       word);
}

bool lacks_second_factor(const Auth *auth, const User *user)
{
        SecondFactorFor whose = auth->config.second_factor_for;

        return !user->second_factor &&
               (whose == SECOND_FACTOR_EVERYBODY || (whose == SECOND_FACTOR_ADMINISTRATORS && user->admin));
}

void split_code(Attempting *at)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        gsize len = strlen(at->password);
        char *code = at->password + (len < TOTP_DIGITS ? 0 : len - TOTP_DIGITS);

        if (!at->code_is_appended || !user || !user->second_factor || !totp_is_code(code))
                return;
        at->code = g_strdup(code);
        sodium_memzero(code, TOTP_DIGITS);
}

/* A wrong code of who is known already, by a token, leaves the token what it is. */
static ErrCode refusal(const Attempting *at)
{
        return at->login_done ? ERR_UNAUTHENTICATED : ERR_DENIED;
}

/* ---- storing that a code was used ---- */

typedef struct {
        Attempting *at;
        AttemptNext next;
        char *was;    /* the record that the code was checked against */
        bool of_code; /* that a code was used, and nothing else, is stored */
} Storing;

static void storing_free(Storing *storing)
{
        g_free(storing->was);
        g_free(storing);
}

static void store_done(Job *job, bool repeated, const GError *error, void *arg);

static void put(Storing *storing)
{
        Attempting *at = storing->at;

        engine_put(at->auth->config.engine, at->draft, at->by ? at->by : at->user, store_done, storing);
}

/* The user was changed meanwhile: once more with the present one, unless the change was of the same record.
 */
static bool renew(Storing *storing)
{
        Attempting *at = storing->at;
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        g_autoptr(Object) stale = at->draft;

        at->draft = user ? object_copy(&user->object) : NULL;
        if (!user || ++at->tries > TRIES || g_strcmp0(user->second_factor, storing->was) != 0 ||
            g_strcmp0(user->object.id, stale->id) != 0)
                return false;
        g_free(((User *)at->draft)->second_factor);
        ((User *)at->draft)->second_factor = g_strdup(((User *)stale)->second_factor);
        return true;
}

/* Sets the error for a change that was not stored because another request changed the account first. */
static bool set_late(const Storing *storing, GError **error)
{
        Attempting *at = storing->at;
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);

        if (storing->of_code && user && user->second_factor)
                return err_set(error, refusal(at), "the code has just been used\nWait for the next one.");
        if (!storing->was && user && user->second_factor)
                return err_set(error, ERR_CONFLICT,
                               "a second factor of '%s' was set up from elsewhere at the same time\nThat one "
                               "counts. Take it away if it is not yours: `paddle user totp disable`.",
                               at->user);
        return err_set(error, storing->of_code ? refusal(at) : ERR_CONFLICT,
                       "the account of '%s' was changed at the same time\nTry again.", at->user);
}

static void store_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Storing *storing = arg;
        Attempting *at = storing->at;
        g_autoptr(GError) late = NULL;

        if (err_is(error, ERR_CONFLICT) && renew(storing)) {
                put(storing);
                return;
        }
        if (err_is(error, ERR_CONFLICT)) {
                set_late(storing, &late);
                error = late;
        }
        if (error)
                finish(at, error, 0);
        else
                storing->next(at);
        storing_free(storing);
}

/* `record`: the new one, taken over; NULL: none any more. */
static void store(Attempting *at, const User *user, char *record, bool of_code, AttemptNext next)
{
        Storing *storing = g_new0(Storing, 1);

        *storing = (Storing){ at, next, g_strdup(user->second_factor), of_code };
        g_clear_pointer(&at->draft, object_unref);
        at->draft = object_copy(&user->object);
        g_free(((User *)at->draft)->second_factor);
        ((User *)at->draft)->second_factor = record;
        put(storing);
}

/* ---- log-ins ---- */

static bool refuse_code(Attempting *at, CodeAnswer answer, gint64 wait_ms, GError **error)
{
        if (answer == CODE_TOO_SOON)
                return err_set(
                        error, ERR_QUOTA,
                        "too many codes of '%s' were wrong\nTry again in %d s. An administrator can take the "
                        "second factor away.",
                        at->user, (int)((wait_ms + 999) / 1000));
        if (answer == CODE_BROKEN)
                return err_set(error, ERR_UNAVAILABLE,
                               "the second factor of '%s' cannot be checked\nAsk an administrator.",
                               at->user);
        return err_set(error, refusal(at), "wrong user name, password or code");
}

/* Nothing is counted for what needs a code, and a success only with one: a right password alone clears no
 * failures, so that codes cannot be tried in between. */
static bool take_code(Attempting *at, const User *user, char **ret_record, gint64 *ret_wait_ms,
                      GError **error)
{
        CodeAnswer answer;

        if (!at->code) {
                end_attempt(at, ATTEMPT_DROPPED);
                return err_set(error, ERR_SECOND_FACTOR,
                               "a code of the second factor of '%s' is needed, too\nSay it with --otp or "
                               "PADDLE_OTP (`otp` "
                               "of the request); older clients append it to the password.",
                               at->user);
        }
        answer = second_factor_check(at->auth->factors, at->user, user->object.id, user->second_factor,
                                     at->code, clock_now_ms() / 1000, clock_monotonic_ms(), ret_record,
                                     ret_wait_ms);
        end_attempt(at, answer == CODE_RIGHT   ? ATTEMPT_SUCCEEDED
                        : answer == CODE_WRONG ? ATTEMPT_FAILED
                                               : ATTEMPT_DROPPED);
        return answer == CODE_RIGHT || refuse_code(at, answer, *ret_wait_ms, error);
}

void check_factor(Attempting *at, AttemptNext next)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        g_autoptr(GError) error = NULL;
        char *record = NULL;
        gint64 wait_ms = 0;

        if (!user || !user->second_factor) { /* who is dropped meanwhile gets no token of the engine */
                end_attempt(at, ATTEMPT_SUCCEEDED);
                next(at);
        } else if (take_code(at, user, &record, &wait_ms, &error)) {
                store(at, user, record, true, next);
        } else {
                finish(at, error, wait_ms);
        }
}

/* ---- setting it up, taking it away ---- */

void auth_new_factor_secret(const char *user, char **ret_secret, char **ret_uri)
{
        guint8 secret[TOTP_SECRET_LEN];

        randombytes_buf(secret, sizeof secret);
        *ret_secret = g_malloc(TOTP_TEXT_LEN + 1);
        totp_secret_format(secret, *ret_secret);
        *ret_uri = totp_uri(ISSUER, user, *ret_secret);
        sodium_memzero(secret, sizeof secret);
}

static void finish_well(Attempting *at)
{
        finish(at, NULL, 0);
}

static void take_away(Attempting *at)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        g_autoptr(GError) error = NULL;

        if (!user)
                err_set(&error, ERR_NOT_FOUND, "there is no user '%s'", at->user);
        else if (!user->second_factor)
                err_set(&error, ERR_CONFLICT, "'%s' has no second factor", at->user);
        if (error)
                finish(at, error, 0);
        else
                store(at, user, NULL, false, finish_well);
}

bool auth_lacks_factor(const User *user, GError **error)
{
        return !user->second_factor ||
               err_set(error, ERR_CONFLICT,
                       "'%s' has a second factor already\nTake it away first: `paddle user totp disable`.",
                       user->object.name);
}

static void add(Attempting *at)
{
        g_autoptr(Catalog) catalog = engine_catalog(at->auth->config.engine);
        const User *user = catalog_user(catalog, at->user);
        g_autoptr(GError) error = NULL;
        char *record = NULL;

        if (!user)
                err_set(&error, ERR_NOT_FOUND, "there is no user '%s'", at->user);
        else if (auth_lacks_factor(user, &error))
                (void)second_factor_make(at->auth->factors, user->object.id, at->new_secret, at->code,
                                         clock_now_ms() / 1000, &record, &at->recovery, &error);
        if (error)
                finish(at, error, 0);
        else
                store(at, user, record, false, at->old ? give_token : finish_well);
}

/* Where the password is asked for. */
static bool password_is_right(Attempting *at, GError **error)
{
        g_autofree char *message = NULL;

        if (!at->old || compare(at, at->old))
                return true;
        message = g_strdup_printf("password: it is not the present password of '%s'", at->user);
        refuse_attempt(at, ERR_DENIED, message, error);
        return false;
}

static void add_factor(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;

        if (stopped && at->old)
                end_attempt(at, ATTEMPT_DROPPED);
        if (stopped ? !set_stopped(&error) : !password_is_right(at, &error)) {
                finish(at, error, 0);
                return;
        }
        if (at->old)
                end_attempt(at, ATTEMPT_SUCCEEDED);
        add(at);
}

static void drop_factor(bool stopped, void *arg)
{
        Attempting *at = arg;
        g_autoptr(GError) error = NULL;

        if (stopped && at->old)
                end_attempt(at, ATTEMPT_DROPPED);
        if (stopped ? !set_stopped(&error) : !password_is_right(at, &error))
                finish(at, error, 0);
        else if (at->old)
                check_factor(at, take_away);
        else
                take_away(at);
}

static void change_factor(Auth *auth, const FactorChange *change, ThreadPoolFunc work, AuthFactorDone done,
                          void *arg)
{
        Attempting *at = g_new0(Attempting, 1);
        g_autoptr(GError) error = NULL;

        *at = (Attempting){ .auth = auth,
                            .known = true,
                            .user = g_strdup(change->user),
                            .old = g_strdup(change->password),
                            .code = g_strdup(change->code),
                            .new_secret = g_strdup(change->secret),
                            .address = g_strdup(change->address),
                            .by = g_strdup(change->by),
                            .factor_done = done,
                            .arg = arg };
        if (at->old)
                attempt(at, work);
        else if (!thread_pool_push(auth->threads, NULL, work, at, &error))
                finish(at, error, 0);
}

void auth_add_second_factor(Auth *auth, const FactorChange *change, AuthFactorDone done, void *arg)
{
        change_factor(auth, change, add_factor, done, arg);
}

void auth_drop_second_factor(Auth *auth, const FactorChange *change, AuthFactorDone done, void *arg)
{
        change_factor(auth, change, drop_factor, done, arg);
}
