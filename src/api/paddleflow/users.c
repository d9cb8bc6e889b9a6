/* Log-in, users, version (doc/reference/paddleflow-api.md, "Log-in and tokens" and "Users and version"). */
#include <string.h>

#include "api/paddleflow/internal.h"

enum { NAME_MIN = 4, NAME_MAX_BYTES = 16, PASSWORD_MIN_BYTES = 6, PASSWORD_MAX_BYTES = 72 };

static const CodeMap codes[] = { { ERR_EXISTS, CODE_UserNameDuplicated },
                                 { ERR_INVALID, CODE_InvalidNamePattern },
                                 { ERR_NOT_FOUND, CODE_UserNotExist },
                                 CODE_MAP_END };

/* ---- log-in ---- */

typedef struct {
        PaddleFlow *flow;
        HttpRequest *request;
        char *user;
        bool older; /* auth_is_older_clients */
} LogIn;

bool paddleflow_has_user(PaddleFlow *flow, const char *user)
{
        g_autoptr(Catalog) catalog = engine_catalog(flow->engine);

        return catalog_user(catalog, user) != NULL;
}

/* The interface has a code of its own for a user that is not there. A stranger would learn by it who has an
 * account: everywhere but where older clients are at home it is the code of a wrong password, with its words.
 */
static void refuse_login(const LogIn *login, const GError *error, gint64 wait_ms)
{
        g_autofree char *after = g_strdup_printf("%d", (int)((wait_ms + 999) / 1000));
        GError *refusal = NULL;

        if (wait_ms)
                http_reply_header(login->request, "Retry-After", after);
        if (login->older && err_is(error, ERR_UNAUTHENTICATED) &&
            !paddleflow_has_user(login->flow, login->user))
                paddleflow_set(&refusal, CODE_UserNotExist, "there is no user '%.60s'", login->user);
        else if (err_is(error, ERR_UNAUTHENTICATED) || err_is(error, ERR_SECOND_FACTOR) ||
                 err_is(error, ERR_QUOTA))
                paddleflow_set(&refusal, CODE_AuthFailed, "%s", error->message);
        paddleflow_fail(login->request, refusal ? refusal : g_error_copy(error), NULL);
}

static void login_done(const AuthLogin *given, const GError *error, gint64 wait_ms, void *arg)
{
        LogIn *login = arg;

        if (error) {
                refuse_login(login, error, wait_ms);
        } else {
                g_autofree char *token = login_format(login->flow, given);

                auth_note_logged_in(login->request, given->user, given->by_directory);
                paddleflow_reply(login->request, json_pack("{s:s}", "authorization", token));
        }
        http_request_unref(login->request);
        g_free(login->user);
        g_free(login);
}

/* Older clients log in before each command, and a code of a second factor is good once: a token of `paddle
 * token create` does instead of a password. No guess finds one. */
static bool is_own_token(PaddleFlow *flow, const char *user, const char *password)
{
        g_autofree char *whose = NULL;
        HttpRight right = { 0 };
        bool known =
                strlen(password) == SECRET_LEN && auth_by_token(flow->auth, password, &whose, &right, NULL);

        g_free(right.queue);
        g_free(right.token);
        return known && strcmp(whose, user) == 0;
}

static void log_in(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;
        LoginOrigin origin;
        LogIn *login;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, login_body, &error);
        if (!body) {
                call_fail(&call, error);
                return;
        }
        if (!auth_note_login(call.flow->auth, request, go_text(body, "username"), &error)) {
                call_fail(&call, error);
                return;
        }
        if (is_own_token(call.flow, go_text(body, "username"), go_text(body, "password"))) {
                auth_note_logged_in(request, go_text(body, "username"), false);
                call_reply(&call, json_pack("{s:s}", "authorization", go_text(body, "password")));
                return;
        }
        login = g_new0(LogIn, 1);
        origin = login_origin(request);
        *login = (LogIn){ call.flow, http_request_ref(request), g_strdup(go_text(body, "username")),
                          auth_is_older_clients(call.flow->auth, &origin) };
        auth_login(call.flow->auth,
                   &(LoginAsk){ .user = login->user,
                                .password = go_text(body, "password"),
                                .code_is_appended = true },
                   &origin, login_done, login);
}

/* ---- rules ---- */

static bool check_name(const char *name, GError **error)
{
        gsize len = strlen(name);
        bool good = len >= NAME_MIN && len <= NAME_MAX_BYTES;

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at);
        return good || paddleflow_set(error, CODE_InvalidNamePattern,
                                      "username: '%.60s' is not %d to %d letters and digits", name, NAME_MIN,
                                      NAME_MAX_BYTES);
}

static bool check_password(const char *password, GError **error)
{
        gsize len = strlen(password);
        bool digit = strpbrk(password, "0123456789"), lower = strpbrk(password, "abcdefghijklmnopqrstuvwxyz");

        return (len >= PASSWORD_MIN_BYTES && len <= PASSWORD_MAX_BYTES && digit && lower) ||
               paddleflow_set(error, CODE_UserPasswordWeak,
                              "password: %d to %d bytes with a digit and a lower-case letter are needed",
                              PASSWORD_MIN_BYTES, PASSWORD_MAX_BYTES);
}

static const User *find_user(const Call *call, const char *name, GError **error)
{
        const User *user = catalog_user(call->catalog, name);

        if (!user)
                paddleflow_set(error, CODE_UserNotExist, "there is no user '%.60s'", name);
        return user;
}

/* ---- users ---- */

typedef struct {
        HttpRequest *request;
        char *name; /* of a new one; NULL: an empty reply */
} Change;

static void change_done(Job *job, bool repeated, const GError *error, void *arg)
{
        Change *change = arg;

        if (error)
                paddleflow_fail(change->request, g_error_copy(error), codes);
        else if (change->name)
                paddleflow_reply(change->request, json_pack("{s:s}", "username", change->name));
        else
                paddleflow_reply_empty(change->request);
        http_request_unref(change->request);
        g_free(change->name);
        g_free(change);
}

static Change *change_new(HttpRequest *request, const char *name)
{
        Change *change = g_new0(Change, 1);

        *change = (Change){ http_request_ref(request), g_strdup(name) };
        return change;
}

static bool check_new(const Call *call, const json_t *body, GError **error)
{
        const char *name = go_text(body, "username");

        return check_name(name, error) && check_password(go_text(body, "password"), error) &&
               call_root(call, CODE_OnlyRootAllowed, error) &&
               (!catalog_user(call->catalog, name) ||
                paddleflow_set(error, CODE_UserNameDuplicated, "user '%s' is there already", name));
}

static void create_user(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        g_autoptr(Object) draft = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, user_body, &error);
        if (!body || !check_new(&call, body, &error)) {
                call_fail(&call, error);
                return;
        }
        draft = object_new(KIND_USER, go_text(body, "username"));
        http_request_set_subject(request, draft->name);
        auth_put_user(call.flow->auth, (User *)draft, go_text(body, "password"), call.user, change_done,
                      change_new(request, draft->name));
}

static json_t *show_user(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        g_autofree char *created = time_rfc3339(object->created);

        return json_pack("{s:s, s:s}", "createTime", created, "name", object->name);
}

static bool is_listed(const Call *call, const Object *object, void *arg)
{
        return strcmp(object->name, "root") != 0;
}

static void list_users(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const User *user = NULL;
        const char *name;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        name = call_query(&call, "user");
        if (!call_root(&call, CODE_AccessDenied, &error) ||
            (*name && !(user = find_user(&call, name, &error))))
                call_fail(&call, error);
        else if (user)
                call_reply(&call, show_user(call.flow, call.catalog, &user->object));
        else
                page_reply(&call, KIND_USER, "userList", is_listed, NULL, show_user);
}

/* The body has no old password, so the thief of a token could take over the account. Therefore only a token
 * of a recent log-in may change the password. The older client logs in before each command. */
static bool check_fresh(const Call *call, GError **error)
{
        return login_is_fresh(call->flow, http_request_header(call->request, "x-pf-authorization")) ||
               paddleflow_set(error, CODE_AccessDenied,
                              "a password is changed with the token of a log-in that is at most %d minutes "
                              "old\nLog in again, "
                              "or use `paddle user set NAME --password`.",
                              LOGIN_FRESH_MS / 60000);
}

static bool check_change(const Call *call, const char *name, const json_t *body, GError **error)
{
        return check_password(go_text(body, "password"), error) && find_user(call, name, error) &&
               (call->root || strcmp(name, call->user) == 0 ||
                paddleflow_set(error, CODE_AccessDenied, "'%s' may change only their own password",
                               call->user)) &&
               check_fresh(call, error);
}

static void set_password(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;
        const char *name;

        if (!call_begin(&call, request, arg))
                return;
        name = call_param(&call, "username");
        body = call_body(&call, password_body, &error);
        if (!body || !check_change(&call, name, body, &error)) {
                call_fail(&call, error);
                return;
        }
        auth_change_password(call.flow->auth,
                             &(PasswordChange){ .user = name,
                                                .password = go_text(body, "password"),
                                                .address = http_request_caller(request)->address,
                                                .by = call.user },
                             change_done, change_new(request, NULL));
}

static bool check_drop(const Call *call, const char *name, GError **error)
{
        return call_root(call, CODE_AccessDenied, error) &&
               (strcmp(name, "root") != 0 ||
                paddleflow_set(error, CODE_AccessDenied, "user 'root' is built in and cannot be deleted")) &&
               find_user(call, name, error);
}

/* Those that are made and changed take the way of their passwords. */
static const EditKind users = { .param = "username",
                                .check_drop = check_drop,
                                .dropped = { KIND_USER, NULL, NULL, codes, CODE_UserNotExist } };

static void drop_user(HttpRequest *request, void *arg)
{
        edit_delete(request, arg, &users);
}

/* ---- version ---- */

static void show_version(HttpRequest *request, void *arg)
{
        g_auto(Call) call;

        if (call_begin(&call, request, arg))
                call_reply(&call, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "gitVersion",
                                            "v" PADDLE_VERSION, "gitCommit", "unknown", "gitBranch",
                                            "unknown", "buildDate", "unknown", "goVersion", "none",
                                            "compiler", "gcc " __VERSION__, "platform", "linux"));
}

static void show_description(HttpRequest *request, void *arg)
{
        gsize len;
        const char *text = paddleflow_description(&len);

        http_reply(request, 200, "application/json", text, len);
}

static const HttpParameter list_users_query[] = {
        { "user", HTTP_STRING, "Only this one." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute user_rows[] = {
        { "POST", PADDLEFLOW_BASE "/login", ACCESS_LOGIN, VERB_CREATE, log_in,
          "Log in; the token goes into x-pf-authorization.", .body_max = PADDLEFLOW_LOGIN_BODY_MAX,
          .request = "LogIn", .reply = "LoggedIn" },
        { "POST", PADDLEFLOW_BASE "/user", ACCESS_USER, VERB_CREATE, create_user, "Make a user.",
          .request = "NewUser", .reply = "UserMade" },
        { "GET", PADDLEFLOW_BASE "/user", ACCESS_USER, VERB_LIST, list_users, "List users, or show one.",
          .query = list_users_query, .reply = "UserList" },
        { "PUT", PADDLEFLOW_BASE "/user/{username}", ACCESS_PASSWORD, VERB_UPDATE, set_password,
          "Set a password.", .request = "Password" },
        { "DELETE", PADDLEFLOW_BASE "/user/{username}", ACCESS_USER, VERB_DELETE, drop_user,
          "Drop a user with what is granted to it." },
        { 0 },
};

const HttpRoute about_rows[] = {
        { "GET", PADDLEFLOW_BASE "/version", ACCESS_STATISTICS, VERB_LIST, show_version,
          "The server's version.", .reply = "Version" },
        { "GET", PADDLEFLOW_BASE "/openapi.json", ACCESS_SYSTEM, VERB_SHOW, show_description,
          "This document." },
        { 0 },
};
