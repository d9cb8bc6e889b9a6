/* Tokens over HTTP: made, listed, revoked. Who calls is api/auth's business. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

enum {
        NAME_MAX_BYTES = 128,
        NOTE_MAX = 200,
        TOKENS_MAX = 1000, /* of one user, besides log-ins, which have a bound of their own */
};
#define EXPIRES_MAX (10ll * 366 * 86400)

typedef struct {
        HttpRequest *request;
        Api *api;
        json_t *reply; /* NULL: 204 */
} Change;

static void change_done(Job *job, bool repeated, const GError *error, void *arg)
{
        g_autofree Change *change = arg;

        auth_forget_tokens(change->api->auth);
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
        const char *whose = http_request_query(request, "user");
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) tokens = NULL;
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;

        if (whose && !caller->admin && strcmp(whose, caller->user) != 0)
                err_set(&error, ERR_DENIED, "user: '%s' may list only their own tokens", caller->user);
        else
                tokens = store_tokens(api->store, whose ? whose : caller->user, &error);
        if (tokens && tokens->len == 0 && whose && !api_check_user(api, whose, &error))
                g_clear_pointer(&tokens, g_ptr_array_unref);
        if (!tokens) {
                http_fail(request, error);
                return;
        }
        http_request_set_owner(request, whose);
        for (guint i = 0; i < tokens->len; i++) {
                const Token *token = tokens->pdata[i];
                g_autofree char *created = clock_format(token->created);
                g_autofree char *expires = token->expires ? clock_format(token->expires) : NULL;

                json_array_append_new(items,
                                      json_pack("{s:s, s:s, s:s, s:b, s:s, s:s?, s:s, s:s?}", "id", token->id,
                                                "user", token->user, "note", token->note ? token->note : "",
                                                "login", token->login != TOKEN_OWN, "scope",
                                                scope_name(token->scope), "queue", token->queue, "created_at",
                                                created, "expires_at", expires));
        }
        reply = json_pack("{s:O}", "items", items);
        http_reply_json(request, 200, reply);
}

typedef struct {
        const char *user, *note;
        gint64 expires_in; /* s; 0: never */
        bool admin;
        Scope scope;       /* SCOPE_NONE: not said */
        const char *queue; /* or NULL */
} TokenAsk;

/* A queue bounds what is submitted: a token that only reads needs none, and the whole right has no bounds. */
static bool take_scope(Api *api, const json_t *body, TokenAsk *ask, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const char *scope = NULL;

        if (!json_get_string(body, "", "scope", NAME_MAX_BYTES, &scope, error) ||
            !json_get_string(body, "", "queue", NAME_MAX_BYTES, &ask->queue, error) ||
            (scope && !scope_parse("scope", scope, &ask->scope, error)))
                return false;
        if (!ask->queue)
                return true;
        if (!scope)
                ask->scope = SCOPE_SUBMIT;
        if (ask->scope != SCOPE_SUBMIT)
                return err_set(error, ERR_INVALID, "queue: only a token of scope 'submit' is of one queue");
        return catalog_queue(catalog, ask->queue) ||
               err_set(error, ERR_NOT_FOUND, "queue: there is no queue '%.255s'\nSee `paddle queue list`.",
                       ask->queue);
}

static bool take_ask(Api *api, const HttpCaller *caller, const json_t *body, TokenAsk *ret, GError **error)
{
        static const char *const known[] = { "user", "note", "expires_in", "admin", "scope", "queue", NULL };
        TokenAsk ask = { .user = caller->user, .note = "" };

        if (!json_only(body, "", known, error) ||
            !json_get_string(body, "", "user", NAME_MAX_BYTES, &ask.user, error) ||
            !json_get_string(body, "", "note", NOTE_MAX, &ask.note, error) ||
            !json_get_int(body, "", "expires_in", 1, EXPIRES_MAX, &ask.expires_in, error) ||
            !json_get_bool(body, "", "admin", &ask.admin, error) || !take_scope(api, body, &ask, error))
                return false;
        if (!user_name_check("user", ask.user, error))
                return false;
        if (!caller->admin && (ask.admin || strcmp(ask.user, caller->user) != 0))
                return err_set(error, ERR_DENIED, "'%s' may make tokens only for themselves", caller->user);
        *ret = ask;
        return true;
}

typedef struct {
        Change *change;
        Token *token;
} NewToken;

static void put_token(NewToken *made)
{
        g_autoptr(Token) token = made->token;

        engine_put_token(made->change->api->engine, token, change_done, made->change);
        g_free(made);
}

static void refuse_token(NewToken *made, const GError *error)
{
        token_free(made->token);
        change_done(NULL, false, error, made->change);
        g_free(made);
}

static void run_put_token(bool stopped, void *arg)
{
        g_autoptr(GError) error = NULL;

        if (!stopped) {
                put_token(arg);
                return;
        }
        err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        refuse_token(arg, error);
}

/* The user is there; now the token. Its parent is read from the store: not on this thread, which is the engine's. */
static void user_done(Job *job, bool repeated, const GError *error, void *arg)
{
        NewToken *made = arg;
        g_autoptr(GError) busy = NULL;

        if (error)
                refuse_token(made, error);
        else if (!thread_pool_push(made->change->api->threads,
                                   http_request_caller(made->change->request)->user, run_put_token, made,
                                   &busy))
                refuse_token(made, busy);
}

/* The user as it is to be: kept when it is there and no more is asked for. NULL: nothing to put. */
static Object *user_to_put(Api *api, const HttpCaller *caller, const TokenAsk *ask)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const User *known = catalog_user(catalog, ask->user);
        bool admin = ask->admin || (caller->admin && strcmp(ask->user, caller->user) == 0);
        Object *user;

        if (known && (known->admin || !admin))
                return NULL;
        user = known ? object_copy(&known->object) : object_new(KIND_USER, ask->user);
        ((User *)user)->admin = admin;
        return user;
}

static void ignore_done(Job *job, bool repeated, const GError *error, void *arg)
{
}

/* Those that have expired make room. */
static bool check_count(Api *api, const char *user, GError **error)
{
        g_autoptr(GPtrArray) tokens = store_tokens(api->store, user, error);
        gint64 now = clock_now_ms();
        int n = 0;

        if (!tokens)
                return false;
        for (guint i = 0; i < tokens->len; i++) {
                const Token *token = tokens->pdata[i];

                if (token->expires && token->expires <= now)
                        engine_drop_token(api->engine, token->id, ignore_done, NULL);
                else
                        n += token->login != TOKEN_LOGIN;
        }
        if (n < TOKENS_MAX)
                return true;
        return err_set(error, ERR_QUOTA,
                       "user '%s' has %d tokens, and %d is the most that one user may have\n"
                       "Revoke those that are not needed: `paddle token list`, `paddle token revoke ID`.",
                       user, n, TOKENS_MAX);
}

static Token *new_token(Api *api, HttpRequest *request, const TokenAsk *ask, char *ret_secret, GError **error)
{
        gint64 expires = ask->expires_in ? clock_now_ms() + ask->expires_in * 1000 : 0;
        g_autoptr(Token) token = NULL;

        if (!check_count(api, ask->user, error))
                return NULL;
        token = auth_new_token(ask->user, ask->note, expires, ret_secret);
        token->scope = ask->scope;
        token->queue = g_strdup(ask->queue);
        if (!auth_descend(api->auth, http_request_header(request, "Authorization"),
                          http_request_certificate(request), token, error))
                return NULL;
        if (!token->scope)
                token->scope = SCOPE_ADMIN;
        return g_steal_pointer(&token);
}

static json_t *new_token_reply(const Token *token, const char *secret)
{
        g_autofree char *expires = token->expires ? clock_format(token->expires) : NULL;

        return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?}", "id", token->id, "token", secret, "user",
                         token->user, "scope", scope_name(token->scope), "queue", token->queue, "expires_at",
                         expires);
}

/* Whose, and how far it reaches: never the token itself. */
static void note_token(HttpRequest *request, const Token *token)
{
        g_autofree char *subject =
                g_strdup_printf("%s for %s: scope %s%s%s%s", token->id, token->user, scope_name(token->scope),
                                token->queue ? ", queue " : "", token->queue ? token->queue : "",
                                token->expires ? ", ends" : "");

        http_request_set_owner(request, token->user);
        http_request_set_subject(request, subject);
}

static void create_token(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        g_autoptr(Object) user = NULL;
        g_autoptr(Token) token = NULL;
        char secret[SECRET_LEN + 1];
        TokenAsk ask;
        NewToken *made;

        if (!body || !take_ask(api, caller, body, &ask, &error) ||
            !(token = new_token(api, request, &ask, secret, &error))) {
                http_fail(request, error);
                return;
        }
        note_token(request, token);
        made = g_new0(NewToken, 1);
        made->token = g_steal_pointer(&token);
        made->change = change_new(api, request, new_token_reply(made->token, secret));
        user = user_to_put(api, caller, &ask);
        if (user)
                engine_put(api->engine, user, caller->user, user_done, made);
        else
                put_token(made);
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
                http_request_set_owner(request, token->user);
                engine_drop_token(api->engine, id, change_done, change_new(api, request, NULL));
                return;
        }
        if (!error)
                err_set(&error, ERR_NOT_FOUND, "no token '%.40s' of '%s'\nSee `paddle token list`.", id,
                        caller->user);
        http_fail(request, error);
}

static const HttpParameter list_tokens_query[] = {
        { "user", HTTP_STRING, "Those of this user instead (administrators)." },
        { 0 },
};

const HttpRoute token_routes[] = {
        { "GET", "/v1/tokens", ACCESS_TOKEN, VERB_LIST, list_tokens,
          "List the caller's tokens, without their secrets.", .query = list_tokens_query,
          .reply = "TokenList" },
        { "POST", "/v1/tokens", ACCESS_TOKEN, VERB_CREATE, create_token,
          "Make a token; the secret is shown this once. For another user: administrators only. One that is "
          "made with a made token reaches and lasts no further than that.",
          .body_max = 65536, .request = "TokenAsk", .reply = "NewToken", .reply_status = 201 },
        { "DELETE", "/v1/tokens/{id}", ACCESS_TOKEN, VERB_DELETE, drop_token, "Revoke a token.",
          .reply_status = 204 },
        { 0 },
};
