/* Callers and log-ins against an engine and a store of the test's own: a catalog, a list of tokens, and a
 * hook that runs between a log-in's comparison and its commit. */
#include "api/auth/auth.h"

#include <string.h>
#include <unistd.h>

#include "api/auth/password.h"
#include "api/auth/published.h"
#include "api/auth/throttle.h"
#include "base/clock.h"
#include "base/err.h"
#include "package/package.h"

struct Engine {
        GMutex lock;
        Catalog *catalog;
        GPtrArray *tokens; /* Token * */
        gint64 seq, revision;
        void (*before_commit)(Engine *engine); /* of a token; or NULL */
};

/* ---- the engine ---- */

static Token *token_copy(const Token *token)
{
        Token *copy = g_new0(Token, 1);

        *copy = (Token){ .id = g_strdup(token->id),
                         .user = g_strdup(token->user),
                         .hash = g_strdup(token->hash),
                         .note = g_strdup(token->note),
                         .login = token->login,
                         .created = token->created,
                         .expires = token->expires };
        return copy;
}

void token_free(Token *token)
{
        g_free(token->id);
        g_free(token->user);
        g_free(token->hash);
        g_free(token->note);
        g_free(token->parent);
        g_free(token);
}

static void put(Engine *engine, const Object *object)
{
        g_autoptr(Object) copy = object_copy(object);
        Catalog *next;

        g_mutex_lock(&engine->lock);
        if (!copy->seq)
                copy->seq = ++engine->seq;
        copy->version = ++engine->revision;
        next = catalog_with(engine->catalog, copy);
        catalog_unref(engine->catalog);
        engine->catalog = next;
        g_mutex_unlock(&engine->lock);
}

Catalog *engine_catalog(Engine *engine)
{
        Catalog *catalog;

        g_mutex_lock(&engine->lock);
        catalog = catalog_ref(engine->catalog);
        g_mutex_unlock(&engine->lock);
        return catalog;
}

static __thread bool is_engine; /* this thread is that of the engine, after a commit */

void engine_put(Engine *engine, const Object *object, const char *by, EngineDone done, void *arg)
{
        put(engine, object);
        is_engine = true;
        done(NULL, false, NULL, arg);
        is_engine = false;
}

void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg)
{
        if (engine->before_commit)
                engine->before_commit(engine);
        g_mutex_lock(&engine->lock);
        g_ptr_array_add(engine->tokens, token_copy(token));
        g_mutex_unlock(&engine->lock);
        done(NULL, false, NULL, arg);
}

void engine_drop_token(Engine *engine, const char *id, EngineDone done, void *arg)
{
        g_mutex_lock(&engine->lock);
        for (guint i = engine->tokens->len; i-- > 0;)
                if (strcmp(((Token *)engine->tokens->pdata[i])->id, id) == 0)
                        g_ptr_array_remove_index(engine->tokens, i);
        g_mutex_unlock(&engine->lock);
        done(NULL, false, NULL, arg);
}

GPtrArray *store_tokens(Store *store, const char *user, GError **error)
{
        Engine *engine = (Engine *)store;
        GPtrArray *found = g_ptr_array_new_with_free_func((GDestroyNotify)token_free);

        g_mutex_lock(&engine->lock);
        for (guint i = 0; i < engine->tokens->len; i++)
                if (strcmp(((Token *)engine->tokens->pdata[i])->user, user) == 0)
                        g_ptr_array_add(found, token_copy(engine->tokens->pdata[i]));
        g_mutex_unlock(&engine->lock);
        return found;
}

Token *store_token_by_hash(Store *store, const char *hash, GError **error)
{
        Engine *engine = (Engine *)store;
        Token *found = NULL;

        g_mutex_lock(&engine->lock);
        for (guint i = 0; i < engine->tokens->len; i++)
                if (strcmp(((Token *)engine->tokens->pdata[i])->hash, hash) == 0)
                        found = token_copy(engine->tokens->pdata[i]);
        g_mutex_unlock(&engine->lock);
        if (!found)
                err_set(error, ERR_NOT_FOUND, "no such token");
        return found;
}

/* ---- the fixture ---- */

typedef struct {
        Engine engine;
        Auth *auth;
        char *hash; /* of "correct horse" */
} Fixture;

static void put_user(Engine *engine, const char *name, const char *password)
{
        g_autoptr(Catalog) catalog = engine_catalog(engine);
        const User *known = catalog_user(catalog, name);
        g_autoptr(Object) object = known ? object_copy(&known->object) : object_new(KIND_USER, name);
        User *user = (User *)object;

        g_free(user->password);
        user->password = g_strdup(password);
        put(engine, object);
}

static void set_up_with(Fixture *f, const char *first_password)
{
        AuthConfig config = { .owner = 4711,
                              .token_expire_ms = 3600 * 1000,
                              .first_password = first_password };

        *f = (Fixture){ .engine = { .catalog = catalog_new(),
                                    .tokens = g_ptr_array_new_with_free_func((GDestroyNotify)token_free) } };
        g_mutex_init(&f->engine.lock);
        config.engine = &f->engine;
        config.store = (Store *)&f->engine;
        f->auth = auth_new(&config);
        f->hash = password_hash("correct horse", NULL);
        put_user(&f->engine, "ann", f->hash);
}

static void set_up(Fixture *f)
{
        set_up_with(f, NULL);
}

static void tear_down(Fixture *f)
{
        auth_free(f->auth);
        catalog_unref(f->engine.catalog);
        g_ptr_array_unref(f->engine.tokens);
        g_mutex_clear(&f->engine.lock);
        g_free(f->hash);
}

/* ---- log-ins ---- */

typedef struct {
        GMutex lock;
        GCond came;
        int answers, codes[ERR_CODES], successes;
        char token[SECRET_LEN + 1];
        gint64 wait_ms;
} Answers;

static void on_login(const AuthLogin *login, const GError *error, gint64 wait_ms, void *arg)
{
        Answers *answers = arg;

        g_assert_true((login != NULL) != (error != NULL));
        g_mutex_lock(&answers->lock);
        answers->answers++;
        if (error)
                answers->codes[error->code]++;
        else
                answers->successes++;
        if (login)
                g_strlcpy(answers->token, login->token, sizeof answers->token);
        answers->wait_ms = wait_ms;
        g_cond_signal(&answers->came);
        g_mutex_unlock(&answers->lock);
}

static void wait_answers(Answers *answers, int n)
{
        g_mutex_lock(&answers->lock);
        while (answers->answers < n)
                g_cond_wait(&answers->came, &answers->lock);
        g_mutex_unlock(&answers->lock);
}

static const LoginOrigin elsewhere = { .address = "10.0.0.1", .port = 1234 };

static Answers log_in(Fixture *f, const char *user, const char *password)
{
        Answers answers = { 0 };

        auth_login(f->auth, &(LoginAsk){ .user = user, .password = password }, &elsewhere, on_login,
                   &answers);
        wait_answers(&answers, 1);
        return answers;
}

static bool is_known(Fixture *f, const char *token, const char **ret_user)
{
        static char name[64];
        g_autoptr(GError) error = NULL;
        g_autofree char *user = NULL;
        HttpRight right = { 0 };
        bool known = auth_by_token(f->auth, token, &user, &right, &error);

        g_assert_true(known || err_is(error, ERR_UNAUTHENTICATED));
        if (known)
                g_strlcpy(name, user, sizeof name);
        g_free(right.queue);
        g_free(right.token);
        *ret_user = name;
        return known;
}

static void test_login(void)
{
        Fixture f;
        const char *user;
        const Token *kept;
        char hash[HASH_LEN + 1];

        set_up(&f);
        Answers good = log_in(&f, "ann", "correct horse");
        g_assert_cmpint(good.successes, ==, 1);
        g_assert_cmpint(strlen(good.token), ==, 52); /* of 32 letters: 260 bits */
        g_assert_true(is_known(&f, good.token, &user));
        g_assert_cmpstr(user, ==, "ann");
        kept = f.engine.tokens->pdata[0];
        hash_bytes(good.token, 52, hash);
        g_assert_cmpstr(kept->hash, ==, hash);
        g_assert_true(kept->login);
        g_assert_cmpint(llabs(kept->expires - clock_now_ms() - 3600 * 1000), <, 60000);
        g_assert_cmpint(log_in(&f, "ann", "wrong").codes[ERR_UNAUTHENTICATED], ==, 1);
        g_assert_cmpint(log_in(&f, "bob", "wrong").codes[ERR_UNAUTHENTICATED], ==, 1);
        g_assert_cmpint(f.engine.tokens->len, ==, 1);
        tear_down(&f);
}

/* The answer to a changed password, and what became of the file by then. */
typedef struct {
        Answers answers;
        const char *file;
        bool is_there, by_engine;
} Changed;

static void on_change(Job *job, bool repeated, const GError *error, void *arg)
{
        Changed *changed = arg;

        g_assert_no_error(error);
        g_mutex_lock(&changed->answers.lock);
        changed->is_there = g_file_test(changed->file, G_FILE_TEST_EXISTS);
        changed->by_engine = is_engine;
        changed->answers.answers++;
        g_cond_signal(&changed->answers.came);
        g_mutex_unlock(&changed->answers.lock);
}

static Changed change(Fixture *f, const char *user, const char *file)
{
        Changed changed = { .file = file };

        auth_change_password(f->auth,
                             &(PasswordChange){ .user = user, .password = "another horse", .by = "root" },
                             on_change, &changed);
        wait_answers(&changed.answers, 1);
        return changed;
}

/* The file with root's first password is gone before the answer; the engine's thread removes no files. */
static void test_first_password_goes(void)
{
        Fixture f;
        g_autofree char *file = NULL;
        Changed changed;
        int fd = g_file_open_tmp("first-password-XXXXXX", &file, NULL);

        g_assert_cmpint(fd, >=, 0);
        close(fd);
        set_up_with(&f, file);
        put_user(&f.engine, SEEDED_USER, f.hash);
        g_assert_true(change(&f, "ann", file).is_there);
        changed = change(&f, SEEDED_USER, file);
        g_assert_false(changed.is_there);
        g_assert_false(changed.by_engine);
        tear_down(&f);
}

static void change_password(Engine *engine)
{
        engine->before_commit = NULL;
        put_user(engine, "ann", "another hash");
}

static void test_password_that_changes_meanwhile(void)
{
        Fixture f;
        Answers answers;

        set_up(&f);
        f.engine.before_commit = change_password;
        answers = log_in(&f, "ann", "correct horse");
        g_assert_cmpint(answers.codes[ERR_UNAUTHENTICATED], ==, 1);
        g_assert_cmpint(f.engine.tokens->len, ==, 0);
        tear_down(&f);
}

static void test_oldest_logins_go(void)
{
        Fixture f;

        set_up(&f);
        for (int i = 0; i < 1200; i++) {
                char secret[SECRET_LEN + 1];
                Token *token = auth_new_token("ann", i % 2 ? "own" : "log-in", 0, secret);

                token->login = i % 2 == 0 || i >= 400 ? TOKEN_LOGIN
                               : i % 4 == 1           ? TOKEN_OF_LOGIN
                                            : TOKEN_OWN; /* 200 of the first 400 are the user's own */
                token->created = 1000 + i;
                g_ptr_array_add(f.engine.tokens, token);
        }
        g_assert_cmpint(log_in(&f, "ann", "correct horse").successes, ==, 1);
        guint logins = 0, own = 0;
        gint64 oldest = G_MAXINT64;
        for (guint i = 0; i < f.engine.tokens->len; i++) {
                const Token *token = f.engine.tokens->pdata[i];

                logins += token->login == TOKEN_LOGIN;
                own += token->login != TOKEN_LOGIN;
                if (token->login == TOKEN_LOGIN)
                        oldest = MIN(oldest, token->created);
        }
        g_assert_cmpint(logins, <=, 1000);
        g_assert_cmpint(logins, >=, 990);
        g_assert_cmpint(own, ==, 200);
        g_assert_cmpint(oldest, <=, 1010);
        g_assert_cmpint(oldest, >, 1000);
        tear_down(&f);
}

/* Two run, 64 wait, the rest is refused at once; when the server stops, all are answered. */
static void test_line_is_bounded(void)
{
        enum { MANY = 300 };
        Fixture f;
        Answers answers = { 0 };

        set_up(&f);
        for (int i = 0; i < MANY; i++) {
                g_autofree char *address = g_strdup_printf("10.1.%d.1", i);

                auth_login(f.auth, &(LoginAsk){ .user = "ann", .password = "correct horse" },
                           &(LoginOrigin){ .address = address }, on_login, &answers);
        }
        auth_stop(f.auth);
        wait_answers(&answers, MANY);
        g_assert_cmpint(answers.codes[ERR_UNAVAILABLE], >=,
                        MANY / 2); /* those that ran made room for others */
        g_assert_cmpint(answers.codes[ERR_UNAVAILABLE] + answers.successes, ==, MANY);
        g_assert_cmpint(answers.answers, ==, MANY);
        tear_down(&f);
}

/* What comes after five failures waits its second and is looked at; what finds no place in line is refused at
 * once, and when the server stops, all that wait are answered. */
static void test_failures_slow_down(void)
{
        Fixture f;
        gint64 before = 0;

        set_up(&f);
        for (int i = 0; i < 5; i++) {
                before = g_get_monotonic_time();
                g_assert_cmpint(log_in(&f, "ann", "wrong").codes[ERR_UNAUTHENTICATED], ==, 1);
        }
        g_assert_cmpint(log_in(&f, "ann", "correct horse").successes, ==, 1);
        g_assert_cmpint(g_get_monotonic_time() - before, >=, G_USEC_PER_SEC - G_USEC_PER_SEC / 1000);
        tear_down(&f);
}

static void test_line_of_an_address_is_bounded(void)
{
        Fixture f;
        Answers answers = { 0 };

        set_up(&f);
        for (int i = 0; i < 5; i++)
                g_assert_cmpint(log_in(&f, "ann", "wrong").codes[ERR_UNAUTHENTICATED], ==, 1);
        for (int i = 0; i < 2 * THROTTLE_SHARE; i++)
                auth_login(f.auth, &(LoginAsk){ .user = "ann", .password = "wrong" }, &elsewhere, on_login,
                           &answers);
        wait_answers(&answers, THROTTLE_SHARE);
        g_assert_cmpint(answers.codes[ERR_QUOTA], >=, 1);
        auth_stop(f.auth);
        wait_answers(&answers, 2 * THROTTLE_SHARE);
        g_assert_cmpint(answers.codes[ERR_UNAVAILABLE], >=, 1);
        g_assert_cmpint(answers.codes[ERR_QUOTA] + answers.codes[ERR_UNAVAILABLE] +
                                answers.codes[ERR_UNAUTHENTICATED],
                        ==, 2 * THROTTLE_SHARE);
        tear_down(&f);
}

/* ---- callers ---- */

static void test_tokens_that_end(void)
{
        Fixture f;
        char secret[SECRET_LEN + 1], other[SECRET_LEN + 1];
        const char *user;
        g_autoptr(Token) token = NULL, past = NULL;
        g_autofree char *id = NULL;

        set_up(&f);
        token = auth_new_token("ann", "", 0, secret);
        past = auth_new_token("ann", "", clock_now_ms() - 1, other);
        g_ptr_array_add(f.engine.tokens, token_copy(token));
        g_ptr_array_add(f.engine.tokens, token_copy(past));
        g_assert_true(is_known(&f, secret, &user));
        g_assert_false(is_known(&f, other, &user));
        g_assert_false(is_known(&f, "no such token", &user));
        g_assert_false(is_known(&f, "", &user));
        g_ptr_array_set_size(f.engine.tokens, 0);   /* as the engine does with a password's change */
        g_assert_true(is_known(&f, secret, &user)); /* remembered */
        put_user(&f.engine, "ann", "another hash"); /* but for this version of the user only */
        g_assert_false(is_known(&f, secret, &user));
        tear_down(&f);
}

static void test_socket_makes_users(void)
{
        static const struct {
                uid_t uid;
                const char *user;
                bool admin;
        } callers[] = { { 0, "root", true }, { 4711, "uid-4711", true }, { 4712, "uid-4712", false } };
        Fixture f;

        set_up(&f);
        for (gsize i = 0; i < G_N_ELEMENTS(callers); i++) {
                g_autofree char *name = NULL;
                HttpRight right = { 0 };

                g_assert_true(auth_authenticate(NULL, callers[i].uid, "unix", &name, &right, f.auth, NULL));
                g_assert_cmpstr(name, ==, callers[i].user);
                g_assert_cmpint(right.admin, ==, callers[i].admin);
                g_assert_cmpint(right.scope, ==, SCOPE_ADMIN);
                g_autoptr(Catalog) catalog = engine_catalog(&f.engine);
                const User *user = catalog_user(catalog, name);
                g_assert_nonnull(user);
                g_assert_true(user->unix_user);
                g_assert_cmpint(user->admin, ==, callers[i].admin);
                g_assert_null(user->password);
        }
        tear_down(&f);
}

static void test_headers(void)
{
        static const struct {
                const char *header;
                uid_t uid;
        } cases[] = {
                { NULL, -1 },       { "", -1 },          { "Bearer", -1 },  { "Bearer ", -1 },
                { "Bearer x", -1 }, { "Basic eA==", 0 }, { "Bearer x", 0 }, { "token x", 0 },
        };
        Fixture f;

        set_up(&f);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                char *name = NULL;
                HttpRight right = { 0 };

                g_assert_false(auth_authenticate(cases[i].header, cases[i].uid, "10.0.0.1", &name, &right,
                                                 f.auth, &error));
                g_assert_true(err_is(error, ERR_UNAUTHENTICATED));
        }
        tear_down(&f);
}

static void test_local_addresses(void)
{
        static const struct {
                const char *address;
                bool local;
        } cases[] = {
                { "unix", true },
                { "127.0.0.1", true },
                { "127.255.0.3", true },
                { "::1", true },
                { "localhost", true },
                { "::ffff:127.0.0.1", true },
                { "", false },
                { "0.0.0.0", false },
                { "::", false },
                { "10.127.0.1", false },
                { "128.0.0.1", false },
                { "::11", false },
                { "localhost.example.org", false },
                { "127.0.0.1.example.org", false },
                { "127.example.org", false },
        };
        static const struct {
                const char *host;
                bool local;
        } hosts[] = {
                { NULL, true },
                { "localhost", true },
                { "localhost:8999", true },
                { "127.0.0.1:8999", true },
                { "[::1]:8999", true },
                { "[::1]", true },
                { "", false },
                { "unix", false },
                { "example.org:8999", false },
                { "127.0.0.1.example.org:8999", false },
                { "10.0.0.1:8999", false },
                { "[2001:db8::1]:8999", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(address_is_local(cases[i].address), ==, cases[i].local);
        for (gsize i = 0; i < G_N_ELEMENTS(hosts); i++)
                g_assert_cmpint(host_is_local(hosts[i].host), ==, hosts[i].local);
}

static void test_published(void)
{
        static const char *const given[] = { "127.0.0.1", "10.0.0.1", NULL }, *const none[] = { "unix",
                                                                                                NULL };
        static const struct {
                const char *const *published;
                LoginOrigin origin;
                bool open;
        } cases[] = {
                { NULL, { .address = "unix" }, false },
                { NULL, { .address = "127.0.0.1" }, false },
                { none, { .address = "unix" }, true },
                { none, { .address = "unix", .forwarded = true }, false },
                { none, { .address = "127.0.0.1" }, false },
                { given, { .address = "unix" }, true },
                { given, { .address = "127.0.0.1" }, true },
                { given, { .address = "127.0.0.1", .host = "localhost:8999" }, true },
                { given, { .address = "127.0.0.1", .host = "example.org" }, false },
                { given, { .address = "127.0.0.1", .host = "127.0.0.1", .forwarded = true }, false },
                { given, { .address = "127.0.0.2" }, false },
                { given, { .address = "::1" }, false },
                { given, { .address = "10.0.0.1", .host = "jobs.example.org" }, true },
                { given, { .address = "10.0.0.1", .forwarded = true }, false },
                { given, { .address = "10.0.0.11" }, false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(published_is_open(cases[i].published, &cases[i].origin), ==, cases[i].open);
}

static void test_access(void)
{
        static const struct {
                HttpRoute route;
                bool near;
                HttpAccess access;
        } cases[] = {
                { { .path = "/v1/x" }, true, HTTP_NOBODY },
                { { .path = "/v1/x", .kind = ACCESS_TOKEN, .verb = VERB_UPDATE }, true, HTTP_NOBODY },
                { { .path = "/v1/x", .kind = ACCESS_SYSTEM, .verb = VERB_SHOW }, false, HTTP_PUBLIC },
                { { .path = "/v1/x", .kind = ACCESS_LOGIN, .verb = VERB_CREATE }, false, HTTP_PUBLIC },
                { { .path = "/v1/x", .kind = ACCESS_JOB, .verb = VERB_SHOW }, true, HTTP_USER },
                { { .path = "/v1/x", .kind = ACCESS_USER, .verb = VERB_LIST }, true, HTTP_ADMIN },
                { { .path = "/metrics", .kind = ACCESS_METRICS, .verb = VERB_SHOW }, true, HTTP_PUBLIC },
                { { .path = "/metrics", .kind = ACCESS_METRICS, .verb = VERB_SHOW }, false, HTTP_USER },
                { { .path = "/api/paddleflow/v1/user", .kind = ACCESS_USER, .verb = VERB_LIST },
                  false,
                  HTTP_PUBLIC },
                { { .path = "/api/paddleflow/v1/user" }, false, HTTP_NOBODY },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(auth_access_from(&cases[i].route, cases[i].near), ==, cases[i].access);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/auth/login", test_login);
        g_test_add_func("/auth/password-that-changes-meanwhile", test_password_that_changes_meanwhile);
        g_test_add_func("/auth/first-password-goes", test_first_password_goes);
        g_test_add_func("/auth/oldest-logins-go", test_oldest_logins_go);
        g_test_add_func("/auth/line-is-bounded", test_line_is_bounded);
        g_test_add_func("/auth/failures-slow-down", test_failures_slow_down);
        g_test_add_func("/auth/line-of-an-address-is-bounded", test_line_of_an_address_is_bounded);
        g_test_add_func("/auth/tokens-that-end", test_tokens_that_end);
        g_test_add_func("/auth/socket-makes-users", test_socket_makes_users);
        g_test_add_func("/auth/headers", test_headers);
        g_test_add_func("/auth/local-addresses", test_local_addresses);
        g_test_add_func("/auth/access", test_access);
        g_test_add_func("/auth/published", test_published);
        return g_test_run();
}
