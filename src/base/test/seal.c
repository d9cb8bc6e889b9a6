/* Encrypted values: they need their own key and context, and a lost key is not replaced. */
#include "base/seal.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/err.h"

typedef struct {
        char *dir, *path;
        SealKey *key;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
        f->dir = g_dir_make_tmp("seal-XXXXXX", NULL);
        f->path = g_build_filename(f->dir, "key", NULL);
        f->key = seal_key_new(f->path, "tests");
}

static void tear_down(Fixture *f, gconstpointer unused)
{
        seal_key_free(f->key);
        (void)g_unlink(f->path);
        (void)g_rmdir(f->dir);
        g_free(f->path);
        g_free(f->dir);
}

static void assert_opens(const SealKey *key, const char *context, const char *sealed, const char *wanted,
                         gsize wanted_len)
{
        gsize len = 0;
        char *plain = unseal(key, context, sealed, &len);

        g_assert_nonnull(plain);
        g_assert_cmpmem(plain, len, wanted, wanted_len);
        g_assert_cmpint(plain[len], ==, '\0');
        seal_wipe(plain, len);
}

static void assert_shut(const SealKey *key, const char *context, const char *sealed)
{
        gsize len = 7;

        g_assert_null(unseal(key, context, sealed, &len));
        g_assert_cmpuint(len, ==, 7);
}

static void test_round_trip(Fixture *f, gconstpointer unused)
{
        static const char bytes[] = { 'a', '\0', '\xff', 'z' };
        g_autofree char *text = NULL, *again = NULL, *empty = NULL, *binary = NULL;
        g_autoptr(GError) error = NULL;
        GStatBuf about;

        g_assert_true(seal_key_open(f->key, true, &error));
        g_assert_cmpint(g_stat(f->path, &about), ==, 0);
        g_assert_cmpint(about.st_mode & 0777, ==, 0600);
        text = seal(f->key, "one", "hello", 5);
        again = seal(f->key, "one", "hello", 5);
        empty = seal(f->key, "one", "", 0);
        binary = seal(f->key, "one", bytes, sizeof bytes);
        g_assert_cmpstr(text, !=, again);
        assert_opens(f->key, "one", text, "hello", 5);
        assert_opens(f->key, "one", again, "hello", 5);
        assert_opens(f->key, "one", empty, "", 0);
        assert_opens(f->key, "one", binary, bytes, sizeof bytes);
        assert_shut(f->key, "two", text);
        assert_shut(f->key, "one", "");
        assert_shut(f->key, "one", "AAAA");
        for (gsize i = 0; i + 4 < strlen(text); i += 4) { /* each group of four letters is three bytes */
                g_autofree char *other = g_strdup(text);

                other[i] = other[i] == 'A' ? 'B' : 'A';
                assert_shut(f->key, "one", other);
        }
}

static void test_other_key(Fixture *f, gconstpointer unused)
{
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;
        SealKey *second;

        g_assert_true(seal_key_open(f->key, true, &error));
        text = seal(f->key, "one", "hello", 5);
        second = seal_key_new(f->path, "tests");
        g_assert_true(seal_key_open(second, false, &error));
        assert_opens(second, "one", text, "hello", 5);
        seal_key_free(second);
        g_assert_cmpint(g_unlink(f->path), ==, 0);
        second = seal_key_new(f->path, "tests");
        g_assert_true(seal_key_open(second, true, &error));
        assert_shut(second, "one", text);
        seal_key_free(second);
}

static void test_no_key(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) missing = NULL, broken = NULL, nowhere = NULL;
        SealKey *none = seal_key_new(NULL, "tests");

        g_assert_false(seal_key_open(f->key, false, &missing));
        g_assert_true(err_is(missing, ERR_UNAVAILABLE));
        g_assert_nonnull(strstr(missing->message, "the key of tests cannot be read"));
        g_assert_true(g_file_set_contents(f->path, "short", -1, NULL));
        g_assert_false(seal_key_open(f->key, true, &broken)); /* an existing file is not replaced */
        g_assert_true(err_is(broken, ERR_UNAVAILABLE));
        g_assert_nonnull(strstr(broken->message, "has 5 bytes, not 32"));
        g_assert_false(seal_key_open(none, true, &nowhere));
        g_assert_true(err_is(nowhere, ERR_UNAVAILABLE));
        seal_key_free(none);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*run)(Fixture *fixture, gconstpointer unused);
        } tests[] = {
                { "/base/seal/round-trip", test_round_trip },
                { "/base/seal/other-key", test_other_key },
                { "/base/seal/no-key", test_no_key },
        };

        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        return g_test_run();
}
