/* Who calls: tokens over TCP, peer credentials on the Unix socket.
 *
 * Of a token only its BLAKE2b-256 is kept. The lookup is by that hash, so its time says nothing about the
 * token. A cache of hashes spares the store a query for each request: what it says holds for one version of
 * the user, so that a changed password or a dropped user ends it, and dropping a token empties it. */
#include "api/auth/internal.h"

#include <pwd.h>
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "package/package.h"

enum { CACHE_MAX = 1000, UIDS_MAX = 10000 };

typedef struct {
        char *user;
        gint64 version; /* of the user */
        gint64 expires;
        Scope scope;
        char *queue, *id, *authority; /* of the token */
        bool login;                   /* a log-in with a password gave it */
} Known;

struct TokenCache {
        GMutex lock;
        GHashTable *by_hash; /* char * -> Known * */
        GHashTable *by_uid;  /* uid -> char * */
        guint changes;       /* what was looked up before the last change is not added */
};

static void known_clear(Known *known)
{
        g_free(known->user);
        g_free(known->queue);
        g_free(known->id);
        g_free(known->authority);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Known, known_clear)

static void known_free(void *arg)
{
        known_clear(arg);
        g_free(arg);
}

static Known known_copy(const Known *known)
{
        Known copy = *known;

        copy.user = g_strdup(known->user);
        copy.queue = g_strdup(known->queue);
        copy.id = g_strdup(known->id);
        copy.authority = g_strdup(known->authority);
        return copy;
}

TokenCache *token_cache_new(void)
{
        TokenCache *cache = g_new0(TokenCache, 1);

        g_mutex_init(&cache->lock);
        cache->by_hash = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, known_free);
        cache->by_uid = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        return cache;
}

void token_cache_free(TokenCache *cache)
{
        if (!cache)
                return;
        g_hash_table_unref(cache->by_hash);
        g_hash_table_unref(cache->by_uid);
        g_mutex_clear(&cache->lock);
        g_free(cache);
}

void auth_forget_tokens(Auth *auth)
{
        TokenCache *cache = auth->cache;

        g_mutex_lock(&cache->lock);
        g_hash_table_remove_all(cache->by_hash);
        cache->changes++;
        g_mutex_unlock(&cache->lock);
}

static bool cache_find(TokenCache *cache, const char *hash, Known *ret, guint *ret_changes)
{
        const Known *known;

        g_mutex_lock(&cache->lock);
        *ret_changes = cache->changes;
        known = g_hash_table_lookup(cache->by_hash, hash);
        if (known)
                *ret = known_copy(known);
        g_mutex_unlock(&cache->lock);
        return known != NULL;
}

static void cache_add(TokenCache *cache, const char *hash, const Known *known, guint changes)
{
        Known *copy = g_new0(Known, 1);

        *copy = known_copy(known);
        g_mutex_lock(&cache->lock);
        if (g_hash_table_size(cache->by_hash) >= CACHE_MAX)
                g_hash_table_remove_all(cache->by_hash);
        if (cache->changes == changes)
                g_hash_table_insert(cache->by_hash, g_strdup(hash), g_steal_pointer(&copy));
        g_mutex_unlock(&cache->lock);
        if (copy)
                known_free(copy);
}

/* The user of a token as it is now, and what is known of the token. */
static const User *find_token(Auth *auth, const Catalog *catalog, const char *hash, Known *ret,
                              GError **error)
{
        g_autoptr(GError) unknown = NULL;
        g_autoptr(Token) token = NULL;
        g_auto(Known) known = { 0 };
        const User *user;
        guint changes;

        if (cache_find(auth->cache, hash, &known, &changes)) {
                user = catalog_user(catalog, known.user);
                if (user && user->object.version == known.version) {
                        *ret = known;
                        known = (Known){ 0 };
                        return user;
                }
        }
        token = store_token_by_hash(auth->config.store, hash, &unknown);
        if (!token && !err_is(unknown, ERR_NOT_FOUND)) {
                g_propagate_error(error, g_steal_pointer(&unknown));
                return NULL;
        }
        user = token ? catalog_user(catalog, token->user) : NULL;
        if (!user) {
                err_set(error, ERR_UNAUTHENTICATED,
                        "the token is not known here\nMake one with `paddle token create`.");
                return NULL;
        }
        *ret = known_copy(&(Known){ token->user, user->object.version, token->expires, token->scope,
                                    token->queue, token->id, token->authority,
                                    token->login == TOKEN_LOGIN && g_strcmp0(token->note, SSO_NOTE) != 0 });
        cache_add(auth->cache, hash, ret, changes);
        return user;
}

static bool check_enabled(const User *user, GError **error)
{
        return !user->disabled || err_set(error, ERR_UNAUTHENTICATED,
                                          "the account of '%s' is disabled\nAn administrator can enable it: "
                                          "paddle user set %s --no-disabled. A new log-in "
                                          "or token does not help.",
                                          user->object.name, user->object.name);
}

bool auth_by_token(Auth *auth, const char *token, char **ret_user, HttpRight *ret_right, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        g_auto(Known) known = { 0 };
        char hash[HASH_LEN + 1];
        const User *user;

        hash_bytes(token, strlen(token), hash);
        user = find_token(auth, catalog, hash, &known, error);
        if (!user || !check_enabled(user, error))
                return false;
        if (known.expires && known.expires <= clock_now_ms())
                return err_set(error, ERR_UNAUTHENTICATED,
                               "the token has expired\nMake one with `paddle token create`.");
        if (known.authority && !certificate_authority_check(auth, known.authority, NULL))
                return err_set(
                        error, ERR_UNAUTHENTICATED,
                        "the token was made with a certificate whose authority is no longer one of the "
                        "server's --tls-client-ca\nMake one with a new certificate, or log in.");
        *ret_user = g_strdup(user->object.name);
        if (known.login && lacks_second_factor(auth, user))
                known.scope = SCOPE_NONE;
        *ret_right = (HttpRight){ .admin = user->admin && known.scope == SCOPE_ADMIN,
                                  .scope = known.scope,
                                  .queue = g_steal_pointer(&known.queue),
                                  .token = g_steal_pointer(&known.id),
                                  .until_ms = known.expires };
        return true;
}

bool auth_is_fresh_login(Auth *auth, const char *token, gint64 within_ms)
{
        g_autoptr(Token) found = NULL;
        char hash[HASH_LEN + 1];

        hash_bytes(token, strlen(token), hash);
        found = store_token_by_hash(auth->config.store, hash, NULL);
        return found && found->login == TOKEN_LOGIN && g_strcmp0(found->note, SSO_NOTE) != 0 &&
               clock_now_ms() - found->created <= within_ms;
}

/* The Unix user's name; one that could not be a user's becomes "uid-N". */
static char *user_of(TokenCache *cache, uid_t uid)
{
        char buffer[4096]; /* sysconf's usual suggestion is 1024 */
        struct passwd entry, *found = NULL;
        char *name;

        g_mutex_lock(&cache->lock);
        name = g_strdup(g_hash_table_lookup(cache->by_uid, GUINT_TO_POINTER(uid)));
        g_mutex_unlock(&cache->lock);
        if (name)
                return name;
        if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found &&
            user_name_check("user", found->pw_name, NULL))
                name = g_strdup(found->pw_name);
        else
                name = g_strdup_printf("uid-%u", uid);
        g_mutex_lock(&cache->lock);
        if (g_hash_table_size(cache->by_uid) >= UIDS_MAX)
                g_hash_table_remove_all(cache->by_uid);
        g_hash_table_insert(cache->by_uid, GUINT_TO_POINTER(uid), g_strdup(name));
        g_mutex_unlock(&cache->lock);
        return name;
}

static void ignore_done(Job *job, bool repeated, const GError *error, void *arg)
{
}

/* Creates a user for the first request of a Unix user over the socket. The engine has the user before it
 * handles this request. Another request may have created the user already. */
static void welcome(Auth *auth, const char *name, bool admin)
{
        g_autoptr(Object) object = object_new(KIND_USER, name);
        User *user = (User *)object;

        user->unix_user = true;
        user->admin = admin;
        engine_put(auth->config.engine, object, name, ignore_done, NULL);
}

/* The caller by Unix user. Root and the server's own user are always administrators, and cannot be disabled. */
static bool by_socket(Auth *auth, uid_t uid, char **ret_user, HttpRight *ret_right, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        g_autofree char *name = user_of(auth->cache, uid);
        const User *user = catalog_user(catalog, name);
        bool owner = uid == 0 || uid == auth->config.owner;

        if (!user)
                welcome(auth, name, owner);
        else if (!owner && !check_enabled(user, error))
                return false;
        *ret_user = g_steal_pointer(&name);
        *ret_right = (HttpRight){ .admin = owner || (user && user->admin), .scope = SCOPE_ADMIN };
        return true;
}

/* The token of the header; NULL when it is of another form. */
static const char *find_secret(const char *authorization)
{
        static const char *const schemes[] = { "Bearer ", "Token " };

        for (gsize i = 0; authorization && i < G_N_ELEMENTS(schemes); i++)
                if (g_ascii_strncasecmp(authorization, schemes[i], strlen(schemes[i])) == 0)
                        return authorization + strlen(schemes[i]);
        return NULL;
}

/* No further than the one that asks. */
static bool narrow(const Token *parent, Token *token, GError **error)
{
        if (!token->scope)
                token->scope = token->queue ? SCOPE_SUBMIT : parent->scope;
        if (!token->queue && token->scope == SCOPE_SUBMIT)
                token->queue = g_strdup(parent->queue);
        if (token->scope > parent->scope)
                return err_set(
                        error, ERR_DENIED,
                        "scope: a token of scope '%s' makes none of scope '%s'\nLog in, or use a token "
                        "of that scope.",
                        scope_name(parent->scope), scope_name(token->scope));
        if (parent->queue && token->queue && strcmp(parent->queue, token->queue) != 0)
                return err_set(error, ERR_DENIED, "queue: a token of queue '%s' makes none of queue '%s'",
                               parent->queue, token->queue);
        return true;
}

/* `end` 0: what asks has none. */
static bool end_with(gint64 end, Token *token, GError **error)
{
        if (!end || (token->expires && token->expires <= end))
                return true;
        if (token->expires)
                return err_set(error, ERR_DENIED,
                               "expires_in: the new token would outlast the one that makes it\nAsk for less, "
                               "or log in.");
        token->expires = end;
        return true;
}

static bool descend_from_made(const Token *parent, Token *token, GError **error)
{
        if (!narrow(parent, token, error))
                return false;
        if (strcmp(parent->user, token->user) == 0)
                token->maker = g_strdup(parent->id);
        return end_with(parent->expires, token, error);
}

bool auth_descend(Auth *auth, const char *authorization, const HttpCertificate *certificate, Token *token,
                  GError **error)
{
        const char *secret = find_secret(authorization);
        g_autoptr(Token) parent = NULL;
        char hash[HASH_LEN + 1];

        if (!secret && certificate)
                token->authority = g_strdup(certificate->authority);
        if (!secret)
                return !certificate || end_with(certificate->until_ms, token, error);
        hash_bytes(secret, strlen(secret), hash);
        parent = store_token_by_hash(auth->config.store, hash, error);
        if (!parent && error && err_is(*error, ERR_NOT_FOUND)) {
                g_clear_error(error);
                return err_set(error, ERR_UNAUTHENTICATED, "the token that asks was revoked\nLog in again.");
        }
        if (!parent)
                return false;
        token->parent = g_strdup(hash);
        token->authority = g_strdup(parent->authority);
        if (parent->login != TOKEN_LOGIN && !descend_from_made(parent, token, error))
                return false;
        if (parent->login != TOKEN_OWN && strcmp(parent->user, token->user) == 0)
                token->login = TOKEN_OF_LOGIN;
        return true;
}

bool auth_authenticate(const char *authorization, uid_t uid, const char *address, char **ret_user,
                       HttpRight *ret_right, void *arg, GError **error)
{
        const char *secret = find_secret(authorization);
        Auth *auth = arg;

        if (secret)
                return auth_by_token(auth, secret, ret_user, ret_right, error);
        if (authorization)
                return err_set(error, ERR_UNAUTHENTICATED,
                               "the Authorization header is not of the form 'Bearer TOKEN'");
        if (uid == (uid_t)-1)
                return err_set(error, ERR_UNAUTHENTICATED,
                               "a token is needed over TCP\nSend 'Authorization: Bearer TOKEN'; make a token "
                               "with `paddle token create` on the server's machine, or log in.");
        return by_socket(auth, uid, ret_user, ret_right, error);
}

char *auth_credential_of(const char *token)
{
        char *hash = g_malloc(HASH_LEN + 1);

        hash_bytes(token, strlen(token), hash);
        return hash;
}

char *auth_credential(const char *authorization, void *arg)
{
        const char *secret = find_secret(authorization);

        return secret ? auth_credential_of(secret) : NULL;
}

bool auth_is_valid(const char *credential, void *arg)
{
        Auth *auth = arg;
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        g_autoptr(GError) error = NULL;
        g_auto(Known) known = { 0 };
        const User *user;

        if (certificate_is_credential(credential))
                return certificate_is_valid(auth, credential);
        user = find_token(auth, catalog, credential, &known, &error);

        if (!user)
                return error && !err_is(error, ERR_UNAUTHENTICATED); /* the store cannot say now */
        return !user->disabled && (!known.expires || known.expires > clock_now_ms()) &&
               (!known.authority || certificate_authority_check(auth, known.authority, NULL));
}

Token *auth_new_token(const char *user, const char *note, gint64 expires, char ret_secret[SECRET_LEN + 1])
{
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
        guchar random[SECRET_LEN];
        char id[ID_LEN + 1], hash[HASH_LEN + 1];
        Token *token = g_new0(Token, 1);

        randombytes_buf(random, sizeof random);
        for (gsize i = 0; i < sizeof random; i++)
                ret_secret[i] = digits[random[i] & 31];
        ret_secret[SECRET_LEN] = '\0';
        hash_bytes(ret_secret, SECRET_LEN, hash);
        id_new(id);
        *token = (Token){ .id = g_strdup(id),
                          .user = g_strdup(user),
                          .hash = g_strdup(hash),
                          .note = g_strdup(note),
                          .created = clock_now_ms(),
                          .expires = expires };
        return token;
}
