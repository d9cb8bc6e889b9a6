/* Manifests: the canonical form, and every deviation from it. */
#include "package/manifest.h"

#include <string.h>

#include "base/err.h"

#define H0 "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8" /* BLAKE2b-256 of no bytes */
#define HEAD "paddle-package 1\n"

static void test_hash(void)
{
        char hash[HASH_LEN + 1];

        hash_bytes("", 0, hash);
        g_assert_cmpstr(hash, ==, H0);
        hash_bytes("abc", 3, hash); /* b2sum -l 256 */
        g_assert_cmpstr(hash, ==, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static void test_refused(void)
{
        static const struct {
                const char *text, *says;
                ErrCode code;
        } cases[] = {
                { "", "first line", ERR_INVALID },
                { "paddle-package 2\n", "first line", ERR_INVALID },
                { HEAD "x y\n", "begins with", ERR_INVALID },
                { HEAD "d a", "its end is missing", ERR_INVALID },
                { HEAD "\n", "begins with", ERR_INVALID },
                { HEAD "f 777 0 " H0 " a\n", "'777'", ERR_INVALID },
                { HEAD "f 644 -1 " H0 " a\n", "'-1'", ERR_INVALID },
                { HEAD "f 644 00 " H0 " a\n", "canonical", ERR_INVALID },
                { HEAD "f 644 99999999999999999999 " H0 " a\n", "whole number", ERR_INVALID },
                { HEAD "f 644 17179869185 " H0 " a\n", "at most", ERR_TOO_LARGE },
                { HEAD "f 644 17179869184 " H0 " a\nf 644 1 " H0 " b\n", "at most", ERR_TOO_LARGE },
                { HEAD "f 644 0 abc a\n", "64 hex", ERR_INVALID },
                { HEAD "f 644 0 a\n", "MODE SIZE HASH PATH", ERR_INVALID },
                { HEAD "f 644 0 " H0 " \n", "empty parts", ERR_INVALID },
                { HEAD "f 644 0 " H0 " /etc/passwd\n", "relative", ERR_INVALID },
                { HEAD "f 644 0 " H0 " ../a\n", "'.' and '..'", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a/../b\n", "'.' and '..'", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a/./b\n", "'.' and '..'", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a//b\n", "empty parts", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a/\n", "empty parts", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a\x01\n", "control", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a\\nb\n", "control", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a\xff\n", "UTF-8", ERR_INVALID },
                { HEAD "f 644 0 " H0 " b\nf 644 0 " H0 " a\n", "canonical", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a\nf 644 0 " H0 " a\n", "twice", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a\nf 644 0 " H0 " a/b\n", "which is a file", ERR_INVALID },
                { HEAD "l 1 x a\nf 644 0 " H0 " a/b\n", "which is a link", ERR_INVALID },
                { HEAD "d a\nf 644 0 " H0 " a/b\n", "canonical", ERR_INVALID },
                { HEAD "f 644 0 " H0 " a\\x\n", "canonical", ERR_INVALID },
                { HEAD "l 3 x a\n", "no target of 3", ERR_INVALID },
                { HEAD "l 0  a\n", "empty", ERR_INVALID },
                { HEAD "l 4 /etc a\n", "absolute", ERR_INVALID },
                { HEAD "l 2 .. a\n", "points out", ERR_INVALID },
                { HEAD "l 5 ../.. a/b\n", "points out", ERR_INVALID },
                { HEAD "l 6 x/../y a\n", "front", ERR_INVALID },
                { HEAD "l 9999999 x a\n", "target length", ERR_INVALID },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Manifest) manifest = manifest_parse(cases[i].text, strlen(cases[i].text), &error);

                if (manifest || !strstr(error->message, cases[i].says) || error->code != (int)cases[i].code)
                        g_error("case %" G_GSIZE_FORMAT ": wanted '%s', got '%s'", i, cases[i].says,
                                error ? error->message : "no error");
        }
}

static void test_nul(void)
{
        static const char text[] = HEAD "d a\0b\n";
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = manifest_parse(text, sizeof text - 1, &error);

        g_assert_null(manifest);
        g_assert_nonnull(strstr(error->message, "NUL"));
}

static void test_long_names(void)
{
        g_autofree char *part = g_strnfill(255, 'a'), *longer = g_strnfill(256, 'a');
        g_autoptr(GString) deep = g_string_new(part);
        g_autoptr(GError) error = NULL;

        g_assert_true(path_check(part, NULL));
        g_assert_false(path_check(longer, &error));
        g_assert_nonnull(strstr(error->message, "255"));
        while (deep->len + 256 < PACKAGE_PATH_MAX)
                g_string_append_printf(deep, "/%s", part);
        g_assert_true(path_check(deep->str, NULL));
        g_string_append_printf(deep, "/%s", part);
        g_assert_false(path_check(deep->str, NULL));
}

static void test_round_trip(void)
{
        static const char text[] = HEAD "d a/empty\n"
                                        "f 644 3 " H0 " a/with blank \\\\ and backslash\n"
                                        "l 6 ../b c a/z\n"
                                        "f 755 4 " H0 " b c\n"
                                        "f 644 0 " H0 " \xc3\xa4\n";
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = manifest_parse(text, strlen(text), &error);
        g_autofree char *back = NULL;
        char hash[HASH_LEN + 1];
        const Entry *link;

        g_assert_no_error(error);
        back = manifest_format(manifest);
        g_assert_cmpstr(back, ==, text);
        hash_bytes(text, strlen(text), hash);
        g_assert_cmpstr(manifest->hash, ==, hash);
        g_assert_cmpuint(manifest->bytes, ==, 7);
        link = manifest->entries->pdata[2];
        g_assert_cmpstr(link->target, ==, "../b c");
        g_assert_cmpstr(link->path, ==, "a/z");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/package/manifest/hash", test_hash);
        g_test_add_func("/package/manifest/refused", test_refused);
        g_test_add_func("/package/manifest/nul", test_nul);
        g_test_add_func("/package/manifest/long-names", test_long_names);
        g_test_add_func("/package/manifest/round-trip", test_round_trip);
        return g_test_run();
}
