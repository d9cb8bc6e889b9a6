/* Who calls: tokens over TCP, peer credentials on the Unix socket; and the routes that make and revoke
 * tokens.
 *
 * A token is 32 random characters; only its BLAKE2b-256 is kept. The lookup is by that hash, so its time says
 * nothing about the token. A cache of hashes spares the store a query for each request; dropping a token
 * empties it. */
#include "api/v1/internal.h"

#include <pwd.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"

enum { CACHE_MAX = 1000, NAME_MAX_BYTES = 128, NOTE_MAX = 200 };
#define EXPIRES_MAX (10ll * 366 * 86400)

typedef struct {
        char *user;
        bool admin;
        gint64 expires;
} Known;

struct TokenCache {
        GMutex lock;
        GHashTable *by_hash; /* char * -> Known * */
        GHashTable *by_uid;  /* uid -> char * */
        guint changes;       /* what was looked up before the last change is not added */
};

static void known_free(void *arg)
{
        Known *known = arg;

        g_free(known->user);
        g_free(known);
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
        g_hash_table_unref(cache->by_hash);
        g_hash_table_unref(cache->by_uid);
        g_mutex_clear(&cache->lock);
        g_free(cache);
}

static void cache_clear(TokenCache *cache)
{
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
                *ret = (Known){ g_strdup(known->user), known->admin, known->expires };
        g_mutex_unlock(&cache->lock);
        return known != NULL;
}

static void cache_add(TokenCache *cache, const char *hash, const Known *known, guint changes)
{
        Known *copy = g_new0(Known, 1);

        *copy = (Known){ g_strdup(known->user), known->admin, known->expires };
        g_mutex_lock(&cache->lock);
        if (g_hash_table_size(cache->by_hash) >= CACHE_MAX)
                g_hash_table_remove_all(cache->by_hash);
        if (cache->changes == changes)
                g_hash_table_insert(cache->by_hash, g_strdup(hash), g_steal_pointer(&copy));
        g_mutex_unlock(&cache->lock);
        if (copy)
                known_free(copy);
}

static bool find_token(Api *api, const char *hash, Known *ret, GError **error)
{
        g_autoptr(GError) unknown = NULL;
        g_autoptr(Token) token = NULL;
        g_autoptr(User) user = NULL;
        guint changes;

        if (cache_find(api->tokens, hash, ret, &changes))
                return true;
        token = store_token_by_hash(api->store, hash, &unknown);
        user = token ? store_user(api->store, token->user, &unknown) : NULL;
        if (!user && err_is(unknown, ERR_NOT_FOUND))
                return err_set(error, ERR_UNAUTHENTICATED,
                               "the token is not known here\nMake one with `paddle token create`.");
        if (!user) {
                g_propagate_error(error, g_steal_pointer(&unknown));
                return false;
        }
        *ret = (Known){ g_strdup(user->name), user->admin, token->expires };
        cache_add(api->tokens, hash, ret, changes);
        return true;
}

static bool by_token(Api *api, const char *authorization, char **ret_user, bool *ret_admin, GError **error)
{
        static const char *const schemes[] = { "Bearer ", "Token " };
        const char *secret = NULL;
        char hash[HASH_LEN + 1];
        Known known;

        for (gsize i = 0; i < G_N_ELEMENTS(schemes); i++)
                if (g_ascii_strncasecmp(authorization, schemes[i], strlen(schemes[i])) == 0)
                        secret = authorization + strlen(schemes[i]);
        if (!secret)
                return err_set(error, ERR_UNAUTHENTICATED,
                               "the Authorization header is not of the form 'Bearer TOKEN'");
        hash_bytes(secret, strlen(secret), hash);
        if (!find_token(api, hash, &known, error))
                return false;
        if (known.expires && known.expires <= clock_now_ms()) {
                g_free(known.user);
                return err_set(error, ERR_UNAUTHENTICATED,
                               "the token has expired\nMake one with `paddle token create`.");
        }
        *ret_user = known.user;
        *ret_admin = known.admin;
        return true;
}

/* The Unix user's name; one that could not be a directory's name becomes "uid-N". */
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
        if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found && *found->pw_name != '.' &&
            !strpbrk(found->pw_name, "/\\ "))
                name = g_strdup(found->pw_name);
        else
                name = g_strdup_printf("uid-%u", uid);
        g_mutex_lock(&cache->lock);
        g_hash_table_insert(cache->by_uid, GUINT_TO_POINTER(uid), g_strdup(name));
        g_mutex_unlock(&cache->lock);
        return name;
}

bool api_authenticate(const char *authorization, uid_t uid, const char *address, char **ret_user,
                      bool *ret_admin, void *arg, GError **error)
{
        Api *api = arg;

        if (authorization)
                return by_token(api, authorization, ret_user, ret_admin, error);
        if (uid == (uid_t)-1)
                return err_set(error, ERR_UNAUTHENTICATED,
                               "a token is needed over TCP\nSend 'Authorization: Bearer TOKEN'; make a token "
                               "with `paddle token create` on the server's machine.");
        *ret_user = user_of(api->tokens, uid);
        *ret_admin = uid == 0 || uid == api->owner;
        return true;
}

/* ---- routes ---- */

typedef struct {
        HttpRequest *request;
        Api *api;
        json_t *reply; /* NULL: 204 */
} Change;

static void change_done(Job *job, bool repeated, const GError *error, void *arg)
{
        g_autofree Change *change = arg;

        cache_clear(change->api->tokens);
        if (error)
                http_fail(change->request, error);
        else if (change->reply)
                http_reply_json(change->request, 201, change->reply);
        else
                http_reply(change->request, 204, NULL, NULL, 0);
        if (change->reply)
                json_decref(change->reply);
        http_request_unref(change->request);
}

static Change *change_new(Api *api, HttpRequest *request, json_t *reply)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ http_request_ref(request), api, reply };
        return change;
}

static void list_tokens(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) tokens = store_tokens(api->store, caller->user, &error);
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;

        if (!tokens) {
                http_fail(request, error);
                return;
        }
        for (guint i = 0; i < tokens->len; i++) {
                const Token *token = tokens->pdata[i];
                g_autofree char *created = clock_format(token->created);
                g_autofree char *expires = token->expires ? clock_format(token->expires) : NULL;

                json_array_append_new(items, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "id", token->id, "user",
                                                       token->user, "note", token->note ? token->note : "",
                                                       "created_at", created, "expires_at", expires));
        }
        reply = json_pack("{s:O}", "items", items);
        http_reply_json(request, 200, reply);
}

static bool user_name_is_valid(const char *name)
{
        return *name && *name != '.' && *name != '-' &&
               strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-") ==
                       strlen(name);
}

typedef struct {
        const char *user, *note;
        gint64 expires_in; /* s; 0: never */
        bool admin;
} TokenAsk;

static bool take_ask(const HttpCaller *caller, const json_t *body, TokenAsk *ret, GError **error)
{
        static const char *const known[] = { "user", "note", "expires_in", "admin", NULL };
        TokenAsk ask = { .user = caller->user, .note = "" };

        if (!json_only(body, "", known, error) ||
            !json_get_string(body, "", "user", NAME_MAX_BYTES, &ask.user, error) ||
            !json_get_string(body, "", "note", NOTE_MAX, &ask.note, error) ||
            !json_get_int(body, "", "expires_in", 1, EXPIRES_MAX, &ask.expires_in, error) ||
            !json_get_bool(body, "", "admin", &ask.admin, error))
                return false;
        if (!user_name_is_valid(ask.user))
                return err_set(error, ERR_INVALID,
                               "user: '%s' is not made of letters, digits and @ . _ + -, beginning with a "
                               "letter or digit",
                               ask.user);
        if (!caller->admin && (ask.admin || strcmp(ask.user, caller->user) != 0))
                return err_set(error, ERR_DENIED, "'%s' may make tokens only for themselves", caller->user);
        *ret = ask;
        return true;
}

typedef struct {
        Change *change;
        Token *token;
} NewToken;

/* The user is there; now the token. */
static void user_done(Job *job, bool repeated, const GError *error, void *arg)
{
        g_autofree NewToken *made = arg;
        g_autoptr(Token) token = made->token;

        if (error)
                change_done(NULL, false, error, made->change);
        else
                engine_put_token(made->change->api->engine, token, change_done, made->change);
}

/* The user's row as it is to be: kept when it is there and no more is asked for. NULL: nothing to write. */
static User *user_to_write(Api *api, const HttpCaller *caller, const TokenAsk *ask)
{
        g_autoptr(User) known = store_user(api->store, ask->user, NULL); /* absent is the usual case */
        bool admin = ask->admin || (caller->admin && strcmp(ask->user, caller->user) == 0);
        User *user;

        if (known && (known->admin || !admin))
                return NULL;
        user = g_new0(User, 1);
        *user = (User){ g_strdup(ask->user), admin, known ? known->created : clock_now_ms() };
        return user;
}

static void create_token(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        g_autoptr(User) user = NULL;
        char id[ID_LEN + 1], secret[2 * ID_LEN + 1], hash[HASH_LEN + 1];
        TokenAsk ask;
        NewToken *made;

        if (!body || !take_ask(caller, body, &ask, &error)) {
                http_fail(request, error);
                return;
        }
        id_new(id);
        id_new(secret);
        id_new(secret + ID_LEN);
        hash_bytes(secret, strlen(secret), hash);
        made = g_new0(NewToken, 1);
        made->token = g_new0(Token, 1);
        *made->token = (Token){ g_strdup(id),   g_strdup(ask.user),
                                g_strdup(hash), g_strdup(ask.note),
                                clock_now_ms(), ask.expires_in ? clock_now_ms() + ask.expires_in * 1000 : 0 };
        made->change = change_new(api, request,
                                  json_pack("{s:s, s:s, s:s}", "id", id, "token", secret, "user", ask.user));
        user = user_to_write(api, caller, &ask);
        if (user)
                engine_put_user(api->engine, user, user_done, made);
        else
                user_done(NULL, false, NULL, made);
}

static void drop_token(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        const char *id = http_request_param(request, "id");
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) tokens = store_tokens(api->store, caller->admin ? NULL : caller->user, &error);

        for (guint i = 0; tokens && i < tokens->len; i++) {
                const Token *token = tokens->pdata[i];

                if (strcmp(token->id, id) != 0)
                        continue;
                engine_drop_token(api->engine, id, change_done, change_new(api, request, NULL));
                return;
        }
        if (!error)
                err_set(&error, ERR_NOT_FOUND, "no token '%.40s' of '%s'\nSee `paddle token list`.", id,
                        caller->user);
        http_fail(request, error);
}

const HttpRoute token_routes[] = {
        { "GET", "/v1/tokens", HTTP_USER, HTTP_BODY_NONE, 0, list_tokens,
          "List the caller's tokens, without their secrets.", NULL, NULL, "TokenList", 0, NULL },
        { "POST", "/v1/tokens", HTTP_USER, HTTP_BODY_MEMORY, 65536, create_token,
          "Make a token; the secret is shown this once. For another user: administrators only.", NULL,
          "TokenAsk", "NewToken", 201, NULL },
        { "DELETE", "/v1/tokens/{id}", HTTP_USER, HTTP_BODY_NONE, 0, drop_token, "Revoke a token.", NULL,
          NULL, NULL, 204, NULL },
        { 0 },
};
