/* Secrets: names, encryption, the number per user, and their fields in a specification. */
#include "model/secret.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "model/catalog.h"
#include "model/spec.h"

typedef struct {
        char *dir, *path;
        SealKey *key;
        Catalog *catalog;
} Fixture;

static void put(Fixture *f, Object *object)
{
        static gint64 seq = 1000;
        Catalog *next;

        object->seq = ++seq;
        next = catalog_with(f->catalog, object);
        catalog_unref(f->catalog);
        f->catalog = next;
        object_unref(object);
}

static void set_up(Fixture *f, gconstpointer unused)
{
        f->dir = g_dir_make_tmp("secret-XXXXXX", NULL);
        f->path = g_build_filename(f->dir, "key", NULL);
        f->key = seal_key_new(f->path, "secrets");
        f->catalog = catalog_new();
        g_assert_true(seal_key_open(f->key, true, NULL));
        put(f, object_new(KIND_USER, "ann"));
        put(f, object_new(KIND_USER, "ben"));
}

static void tear_down(Fixture *f, gconstpointer unused)
{
        seal_key_free(f->key);
        catalog_unref(f->catalog);
        (void)g_unlink(f->path);
        (void)g_rmdir(f->dir);
        g_free(f->path);
        g_free(f->dir);
}

static Secret *make(Fixture *f, const char *user, const char *name, const char *value, gsize len)
{
        g_autofree char *key = secret_key(user, name);
        Secret *secret = (Secret *)object_new(KIND_SECRET, key);

        secret->user = g_strdup(user);
        secret_set(secret, f->key, value, len);
        return secret;
}

static void test_names(Fixture *f, gconstpointer unused)
{
        static const struct {
                const char *name;
                bool good;
        } cases[] = {
                { "wandb", true },
                { "HF_TOKEN", true },
                { "a.b-c_9", true },
                { "0", true },
                { "", false },
                { ".env", false },
                { "-x", false },
                { "a/b", false },
                { "a b", false },
                { "a=b", false },
                { "n\n", false },
                { "schl\xc3\xbcssel", false },
                { "123456789012345678901234567890123456789012345678901234567890", true },
                { "1234567890123456789012345678901234567890123456789012345678901", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(secret_name_check("name", cases[i].name, NULL) == cases[i].good);
}

static void test_value(Fixture *f, gconstpointer unused)
{
        Secret *secret = make(f, "ann", "wandb", "hunter2", 7);
        g_autofree char *text = object_pack(&secret->object);
        g_autoptr(Object) stored = object_unpack(KIND_SECRET, 7, "ann/wandb", text, NULL);
        g_autoptr(Object) moved = object_unpack(KIND_SECRET, 7, "ben/wandb", text, NULL);
        g_autoptr(json_t) shown = object_format(&secret->object);
        g_autofree char *shown_text = json_format(shown);
        g_autoptr(GError) error = NULL;
        gsize len = 0;
        char *value = secret_value((Secret *)stored, f->key, &len, &error);

        g_assert_no_error(error);
        g_assert_cmpmem(value, len, "hunter2", 7);
        seal_wipe(value, len);
        g_assert_null(strstr(text, "hunter2"));
        g_assert_null(strstr(shown_text, secret->sealed));
        g_assert_null(secret_value((Secret *)moved, f->key, &len, &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        g_assert_cmpint(secret->bytes, ==, 7);
        g_assert_false(secret->binary);
        secret_set(secret, f->key, "a\0b", 3);
        g_assert_true(secret->binary);
        object_unref(&secret->object);
}

static void test_limits(Fixture *f, gconstpointer unused)
{
        g_autofree char *large = g_strnfill(SECRET_VALUE_MAX, 'x');
        g_autoptr(GError) count = NULL, bytes = NULL, user = NULL;
        Secret *more, *of_ben, *stranger = make(f, "eve", "s", "v", 1);

        for (int i = 0; i < SECRETS_PER_USER; i++) {
                g_autofree char *name = g_strdup_printf("s%d", i);
                Secret *secret = make(f, "ann", name, "v", 1);

                g_assert_true(catalog_check_put(f->catalog, NULL, &secret->object, NULL, NULL));
                put(f, &secret->object);
        }
        more = make(f, "ann", "more", "v", 1);
        g_assert_false(catalog_check_put(f->catalog, NULL, &more->object, NULL, &count));
        g_assert_true(err_is(count, ERR_QUOTA));
        for (int i = 0; i < SECRETS_USER_BYTES / SECRET_VALUE_MAX; i++) {
                g_autofree char *name = g_strdup_printf("s%d", i);

                put(f, &make(f, "ben", name, large, SECRET_VALUE_MAX)->object);
        }
        of_ben = make(f, "ben", "more", "v", 1);
        g_assert_false(catalog_check_put(f->catalog, NULL, &of_ben->object, NULL, &bytes));
        g_assert_true(err_is(bytes, ERR_QUOTA));
        g_assert_false(catalog_check_put(f->catalog, NULL, &stranger->object, NULL, &user));
        g_assert_true(err_is(user, ERR_NOT_FOUND));
        object_unref(&more->object);
        object_unref(&of_ben->object);
        object_unref(&stranger->object);
}

static void test_go_with_their_user(Fixture *f, gconstpointer unused)
{
        g_autoptr(GPtrArray) followers = NULL;

        put(f, &make(f, "ann", "a", "v", 1)->object);
        put(f, &make(f, "ben", "b", "v", 1)->object);
        followers = catalog_followers(f->catalog, catalog_find(f->catalog, KIND_USER, "ann"));
        g_assert_cmpuint(followers->len, ==, 1);
        g_assert_cmpstr(((const Object *)followers->pdata[0])->name, ==, "ann/a");
}

static void test_specs(Fixture *f, gconstpointer unused)
{
        static const struct {
                const char *members, *says; /* NULL: good */
        } cases[] = {
                { "'secrets': {'WANDB_API_KEY': 'wandb', 'B': 'b'}, 'secret_files': {'key.json': 'gcs', "
                  "'.netrc': 'n'}",
                  NULL },
                { "'secrets': {}, 'secret_files': null", NULL },
                { "'secrets': ['a']", "secrets must be an object" },
                { "'secrets': {'a-b': 'a-b'}", "'a-b' is not a variable's name" },
                { "'secrets': {'A': 7}", "secrets.A must be the name of a secret" },
                { "'secrets': {'A': '../b'}", "'../b' is not a secret's name" },
                { "'secrets': {'A': 'a'}, 'env': {'A': 'b'}", "'A' is in env, too" },
                { "'secrets': {'A': 'a'}, 'roles': [{'name': 'worker', 'env': {'A': 'b'}}]",
                  "'A' is in env, too" },
                { "'secret_files': {'../x': 'a'}", "'../x' is not a file's name" },
                { "'secret_files': {'..': 'a'}", "'..' is not a file's name" },
                { "'secret_files': {'a/b': 'a'}", "'a/b' is not a file's name" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{'command': ['true'], %s}", cases[i].members);
                g_autoptr(json_t) object = json_loads(g_strdelimit(text, "'", '"'), 0, NULL);
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = spec_parse(object, &error);
                g_autoptr(json_t) shown = spec ? spec_format(spec) : NULL;
                g_autoptr(Spec) again = shown ? spec_parse(shown, NULL) : NULL;
                g_autoptr(json_t) shown_again = again ? spec_format(again) : NULL;

                if (cases[i].says) {
                        g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                g_assert_no_error(error);
                g_assert_true(json_equal(shown, shown_again));
        }
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*run)(Fixture *fixture, gconstpointer unused);
        } tests[] = {
                { "/model/secret/names", test_names },
                { "/model/secret/value", test_value },
                { "/model/secret/limits", test_limits },
                { "/model/secret/go-with-their-user", test_go_with_their_user },
                { "/model/secret/specs", test_specs },
        };

        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        return g_test_run();
}
