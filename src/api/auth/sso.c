/* See sso.h.
 *
 *      handler ──▶ threads: ask the issuer, verify, find the user ──▶ engine: the user, if new ──▶ engine: the
 * token
 *
 * A binding that changes between the decision and the commit ends the log-in, as a password does. */
#include "api/auth/sso.h"

#include <pwd.h>
#include <sodium.h>
#include <string.h>

#include "api/auth/internal.h"
#include "api/auth/jwt.h"
#include "base/clock.h"
#include "base/err.h"

enum { THREADS = 4, SHARE = 2, LINE = 16, CLAIM_MAX = 255, PASSWD_MAX = 4096 };

struct Sso {
        SsoConfig config;
        char *username_claim;
        Oidc *oidc;
        ThreadPool *threads;
};

/* One log-in on its way. */
typedef struct {
        Sso *sso;
        char *device_code, *id_token, *nonce;
        char *subject, *user, *who;
        char secret[SECRET_LEN + 1], token_id[ID_LEN + 1];
        gint64 expires;
        SsoDone done;
        void *arg;
} Entry;

static void wipe(char *text)
{
        if (text)
                sodium_memzero(text, strlen(text));
        g_free(text);
}

static void entry_free(Entry *entry)
{
        wipe(entry->device_code);
        wipe(entry->id_token);
        g_free(entry->nonce);
        g_free(entry->subject);
        g_free(entry->user);
        g_free(entry->who);
        sodium_memzero(entry->secret, sizeof entry->secret);
        g_free(entry);
}

/* The end of every way. */
static void finish(Entry *entry, DeviceState state, const GError *error)
{
        AuthLogin login = { .user = entry->user, .token = entry->secret, .expires = entry->expires };
        bool in = !error && state == DEVICE_DONE;

        entry->done(&(SsoReply){ .state = state,
                                 .login = in ? &login : NULL,
                                 .user = entry->user,
                                 .who = entry->who },
                    error, entry->arg);
        entry_free(entry);
}

static bool set_stopped(GError **error)
{
        return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
}

/* ---- the token ---- */

static void ignore_done(Job *job, bool repeated, const GError *error, void *arg)
{
        auth_forget_tokens(arg);
}

static bool is_bound(const Entry *entry)
{
        const Sso *sso = entry->sso;
        g_autoptr(Catalog) catalog = engine_catalog(sso->config.engine);
        const User *user = catalog_user_by_subject(catalog, oidc_issuer(sso->oidc), entry->subject);

        return user && !user->disabled && strcmp(user->object.name, entry->user) == 0;
}

static void token_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Entry *entry = arg;
        const SsoConfig *config = &entry->sso->config;
        g_autoptr(GError) changed = NULL;

        if (!error && !is_bound(entry)) {
                engine_drop_token(config->engine, entry->token_id, ignore_done, config->auth);
                err_set(&changed, ERR_DENIED, "the account of '%s' was changed meanwhile\nLog in again.",
                        entry->user);
                error = changed;
        }
        finish(entry, DEVICE_DONE, error);
}

static void give_token(Entry *entry)
{
        const SsoConfig *config = &entry->sso->config;
        g_autoptr(Token) token = NULL;

        entry->expires = clock_now_ms() + config->expire_ms;
        token = auth_new_token(entry->user, SSO_NOTE, entry->expires, entry->secret);
        token->login = TOKEN_LOGIN;
        token->scope = SCOPE_ADMIN;
        g_strlcpy(entry->token_id, token->id, sizeof entry->token_id);
        engine_put_token(config->engine, token, token_done, entry);
}

/* ---- whom it means ---- */

/* Another log-in of the subject may have been faster. */
static void user_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Entry *entry = arg;

        if (error && !is_bound(entry))
                finish(entry, DEVICE_DONE, error);
        else
                give_token(entry);
}

/* Jobs of a user of that name would run as this Unix user (doc/guide/people.md, 10). */
static bool is_of_machine(const char *name)
{
        char buffer[PASSWD_MAX];
        struct passwd entry, *found = NULL;

        return g_str_has_prefix(name, "uid-") ||
               getpwnam_r(name, &entry, buffer, sizeof buffer, &found) != 0 || found;
}

/* The local part of an address that the issuer has verified; other claims as they are. The caller's. */
static char *name_in(const Sso *sso, const json_t *claims, GError **error)
{
        const char *text = jwt_text(claims, sso->username_claim, CLAIM_MAX);
        bool email = strcmp(sso->username_claim, "email") == 0;
        g_autofree char *name = NULL;

        if (email && text && !json_is_true(json_object_get(claims, "email_verified"))) {
                err_set(error, ERR_DENIED,
                        "the issuer has not verified your address '%s'\nVerify it there, or ask an "
                        "administrator.",
                        text);
                return NULL;
        }
        name = g_strndup(text ? text : "", email && text ? strcspn(text, "@") : text ? strlen(text) : 0);
        if (user_name_check(sso->username_claim, name, NULL))
                return g_steal_pointer(&name);
        err_set(error, ERR_DENIED,
                "the issuer's claim '%s' ('%.80s') cannot be the name of a user here\nAn administrator can "
                "bind "
                "you: `paddle user create NAME --oidc-subject SUBJECT`.",
                sso->username_claim, text ? text : "");
        return NULL;
}

static Object *new_user(Entry *entry, const Catalog *catalog, const char *name, GError **error)
{
        g_autoptr(Object) object = NULL;
        User *user;

        if (catalog_user(catalog, name) || strcmp(name, SEEDED_USER) == 0 || is_of_machine(name)) {
                err_set(error, ERR_DENIED,
                        "the name '%s' is taken on this server, and not bound to you\nIf it is yours, an "
                        "administrator can bind it: `paddle user set %s --oidc-subject '%s'`.",
                        name, name, entry->subject);
                return NULL;
        }
        object = object_new(KIND_USER, name);
        user = (User *)object;
        user->oidc_subject = g_strdup(entry->subject);
        user->oidc_issuer = g_strdup(oidc_issuer(entry->sso->oidc));
        return g_steal_pointer(&object);
}

/* Nobody is bound to the subject. */
static void welcome(Entry *entry, const Catalog *catalog, const json_t *claims)
{
        const Sso *sso = entry->sso;
        g_autoptr(GError) error = NULL;
        g_autoptr(Object) object = NULL;
        g_autofree char *name = NULL;

        if (!sso->config.create_users)
                err_set(&error, ERR_DENIED,
                        "no user here is bound to your subject '%s'\nAn administrator can bind one: `paddle "
                        "user "
                        "set NAME --oidc-subject '%s'`.",
                        entry->subject, entry->subject);
        else if ((name = name_in(sso, claims, &error)))
                object = new_user(entry, catalog, name, &error);
        if (!object) {
                finish(entry, DEVICE_DONE, error);
                return;
        }
        entry->user = g_steal_pointer(&name);
        engine_put(sso->config.engine, object, entry->user, user_done, entry);
}

static void enter(Entry *entry, const json_t *claims)
{
        const SsoConfig *config = &entry->sso->config;
        g_autoptr(Catalog) catalog = engine_catalog(config->engine);
        const char *issuer = oidc_issuer(entry->sso->oidc);
        g_autoptr(GError) error = NULL;
        const User *user;

        entry->subject = g_strdup(jwt_text(claims, "sub", SUBJECT_MAX));
        entry->who = g_strdup_printf("subject '%s' of %s", entry->subject, issuer);
        user = catalog_user_by_subject(catalog, issuer, entry->subject);
        if (!user) {
                welcome(entry, catalog, claims);
                return;
        }
        entry->user = g_strdup(user->object.name);
        if (user->disabled)
                err_set(&error, ERR_DENIED, "the account of '%s' is disabled\nAsk an administrator.",
                        entry->user);
        if (error || !login_make_room(config->auth, entry->user, &error))
                finish(entry, DEVICE_DONE, error);
        else
                give_token(entry);
}

/* ---- on the thread pool ---- */

static bool get_token(Entry *entry, DeviceState *ret, GError **error)
{
        *ret = DEVICE_DONE;
        return entry->id_token ||
               oidc_device_poll(entry->sso->oidc, entry->device_code, ret, &entry->id_token, error);
}

static void log_in(bool stopped, void *arg)
{
        Entry *entry = arg;
        DeviceState state = DEVICE_DONE;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) claims = NULL;

        if (stopped ? set_stopped(&error) : get_token(entry, &state, &error) && state == DEVICE_DONE)
                claims = oidc_verify(entry->sso->oidc, entry->id_token, entry->nonce, &error);
        if (claims)
                enter(entry, claims);
        else
                finish(entry, state, error);
}

static void start(bool stopped, void *arg)
{
        Entry *entry = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) device = NULL;

        if (stopped)
                set_stopped(&error);
        else
                device = oidc_device_start(entry->sso->oidc, &error);
        entry->done(&(SsoReply){ .state = DEVICE_PENDING, .device = device }, error, entry->arg);
        entry_free(entry);
}

static void push(Entry *entry, const char *address, ThreadPoolFunc work)
{
        g_autoptr(GError) error = NULL;

        if (!thread_pool_push(entry->sso->threads, address, work, entry, &error))
                finish(entry, DEVICE_DONE, error);
}

void sso_start(Sso *sso, const char *address, SsoDone done, void *arg)
{
        Entry *entry = g_new0(Entry, 1);

        *entry = (Entry){ .sso = sso, .done = done, .arg = arg };
        push(entry, address, start);
}

void sso_login(Sso *sso, const SsoAsk *ask, SsoDone done, void *arg)
{
        Entry *entry = g_new0(Entry, 1);

        *entry = (Entry){ .sso = sso,
                          .device_code = g_strdup(ask->device_code),
                          .id_token = g_strdup(ask->id_token),
                          .nonce = g_strdup(ask->nonce),
                          .done = done,
                          .arg = arg };
        push(entry, ask->address, log_in);
}

/* ---- the object ---- */

Sso *sso_new(const SsoConfig *config, GError **error)
{
        Oidc *oidc = oidc_new(&config->issuer, error);
        Sso *sso;

        if (!oidc)
                return NULL;
        sso = g_new0(Sso, 1);
        sso->config = *config;
        sso->config.issuer = (OidcConfig){ NULL }; /* copied, and not ours */
        sso->username_claim = g_strdup(config->username_claim);
        sso->oidc = oidc;
        sso->threads = thread_pool_new(&(ThreadPoolConfig){ .name = "log-ins",
                                                            .threads = THREADS,
                                                            .share = SHARE,
                                                            .waiting_max = LINE,
                                                            .background = true });
        return sso;
}

void sso_stop(Sso *sso)
{
        if (!sso)
                return;
        oidc_stop(sso->oidc);
        thread_pool_stop(sso->threads);
}

void sso_free(Sso *sso)
{
        if (!sso)
                return;
        sso_stop(sso);
        thread_pool_free(sso->threads);
        oidc_free(sso->oidc);
        g_free(sso->username_claim);
        g_free(sso);
}

const char *sso_issuer(const Sso *sso)
{
        return oidc_issuer(sso->oidc);
}
