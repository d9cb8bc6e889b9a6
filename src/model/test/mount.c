/* Mounts in a specification: their form, their limits, and the errors that name what is wrong. */
#include "model/mount.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "model/spec.h"

static json_t *parsed(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        json_t *value = json_parse_own(quoted, strlen(quoted), NULL);

        g_assert_nonnull(value);
        return value;
}

static void test_normal(void)
{
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "[]", NULL },
                { "[{'fs': 'home', 'path': '/data'}]", "[{'fs':'home','path':'/data'}]" },
                { "[{'fs': 'home', 'path': '//data/./x/'}]", "[{'fs':'home','path':'/data/x'}]" },
                { "[{'fs': 'home', 'path': './data//'}]", "[{'fs':'home','path':'data'}]" },
                { "[{'fs': 'data_1-x', 'sub': 'a//b/./', 'path': '/d', 'read_only': true}]",
                  "[{'fs':'data_1-x','path':'/d','sub':'a/b','read_only':true}]" },
                { "[{'fs': 'home', 'sub': '', 'path': '/d', 'read_only': false}]",
                  "[{'fs':'home','path':'/d'}]" },
                { "[{'fs': 'home', 'sub': null, 'path': '/d', 'read_only': null}]",
                  "[{'fs':'home','path':'/d'}]" },
                /* two places of one file system; names that only begin alike */
                { "[{'fs': 'home', 'path': '/d'}, {'fs': 'home', 'path': '/d2'}]",
                  "[{'fs':'home','path':'/d'},{'fs':'home','path':'/d2'}]" },
                { "[{'fs': 'home', 'path': '/home/paddleflow/storage/mnt/fs-ann-d'}]",
                  "[{'fs':'home','path':'/home/paddleflow/storage/mnt/fs-ann-d'}]" },
                { "[{'fs': 'home', 'path': '/tmpx'}]", "[{'fs':'home','path':'/tmpx'}]" },
                /* below the working directory, everything is the job's own */
                { "[{'fs': 'home', 'path': 'etc'}]", "[{'fs':'home','path':'etc'}]" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) in = parsed(cases[i].in), out = NULL, again = NULL;
                g_autoptr(GError) error = NULL;
                g_auto(GStrv) mounts = NULL, twice = NULL;
                bool ok = mounts_parse(in, &mounts, &error);

                g_assert_no_error(error);
                g_assert_true(ok);
                g_assert_true((mounts == NULL) == (cases[i].out == NULL));
                if (!mounts)
                        continue;
                out = mounts_format(mounts);
                again = parsed(cases[i].out);
                g_assert_true(json_equal(out, again));
                g_assert_true(mounts_parse(out, &twice, NULL)); /* the normal form stays as it is */
                g_assert_true(g_strv_equal((const char *const *)mounts, (const char *const *)twice));
        }
}

static void test_refused(void)
{
        static const struct {
                const char *in, *says;
        } cases[] = {
                { "{}", "mounts must be a list" },
                { "['home:/data']", "mounts[0] must be an object" },
                { "[{'path': '/d'}]", "mounts[0].fs is missing" },
                { "[{'fs': 'home'}]", "mounts[0].path is missing" },
                { "[{'fs': 'home', 'path': 7}]", "mounts[0].path" },
                { "[{'fs': 'home', 'path': '/d', 'read_only': 'yes'}]", "mounts[0].read_only" },
                { "[{'fs': 'home', 'path': '/d', 'readOnly': true}]", "readOnly" },
                { "[{'fs': '', 'path': '/d'}]", "mounts[0].fs: ''" },
                { "[{'fs': '.', 'path': '/d'}]", "'.' is not the name" },
                { "[{'fs': 'a/b', 'path': '/d'}]", "'a/b' is not the name" },
                { "[{'fs': 'a:b', 'path': '/d'}]", "'a:b' is not the name" },
                { "[{'fs': 'home', 'path': ''}]", "cannot be mounted on" },
                { "[{'fs': 'home', 'path': '/'}]", "cannot be mounted on" },
                { "[{'fs': 'home', 'path': './'}]", "cannot be mounted on" },
                { "[{'fs': 'home', 'path': '/a/../b'}]", "contains '..'" },
                { "[{'fs': 'home', 'path': '..'}]", "contains '..'" },
                { "[{'fs': 'home', 'path': '/d:ro'}]", "contains ':'" },
                { "[{'fs': 'home', 'path': '/a\\nb'}]", "control character" },
                { "[{'fs': 'home', 'sub': '/a', 'path': '/d'}]", "begins with '/'" },
                { "[{'fs': 'home', 'sub': 'a/../../b', 'path': '/d'}]", "contains '..'" },
                { "[{'fs': 'home', 'sub': 'a:b', 'path': '/d'}]", "contains ':'" },
                { "[{'fs': 'home', 'path': '/etc'}]", "nothing can be mounted in '/etc'" },
                { "[{'fs': 'home', 'path': '/usr/lib/x'}]", "nothing can be mounted in '/usr'" },
                { "[{'fs': 'home', 'path': '//usr'}]", "nothing can be mounted in '/usr'" },
                { "[{'fs': 'home', 'path': '/proc/self'}]", "nothing can be mounted in '/proc'" },
                { "[{'fs': 'home', 'path': '/tmp/x'}]", "nothing can be mounted in '/tmp'" },
                { "[{'fs': 'home', 'path': '/dev/shm'}]", "nothing can be mounted in '/dev'" },
                { "[{'fs': 'a', 'path': '/d'}, {'fs': 'b', 'path': '/d/'}]", "the path of mounts[0], too" },
                { "[{'fs': 'a', 'path': '/d'}, {'fs': 'b', 'path': '/d/x'}]", "one below the other" },
                { "[{'fs': 'a', 'path': 'd/x'}, {'fs': 'b', 'path': 'd'}]", "one below the other" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) in = parsed(cases[i].in);
                g_autoptr(GError) error = NULL;
                g_auto(GStrv) mounts = NULL;

                g_assert_false(mounts_parse(in, &mounts, &error));
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

/* 32 are allowed, 33 are not; and a thousand are refused before one is read. */
static void test_number(void)
{
        static const int numbers[] = { 32, 33, 1000 };

        for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
                g_autoptr(json_t) list = json_array();
                g_autoptr(GError) error = NULL;
                g_auto(GStrv) mounts = NULL;

                for (int n = 0; n < numbers[i]; n++) {
                        g_autofree char *path = g_strdup_printf("/d%d", n);

                        json_array_append_new(list, json_pack("{s:s, s:s}", "fs", "home", "path", path));
                }
                g_assert_true(mounts_parse(list, &mounts, &error) == (numbers[i] == 32));
                if (numbers[i] == 32)
                        g_assert_cmpuint(g_strv_length(mounts), ==, 32);
                else
                        g_assert_nonnull(strstr(error->message, "a job can have 32 mounts"));
        }
}

static void test_length(void)
{
        g_autofree char *longest = g_strnfill(1023, 'x'), *name = g_strnfill(64, 'n');
        g_autofree char *path = g_strconcat("/", longest, NULL), *over = g_strconcat(path, "x", NULL);
        const char *const good[] = { "home", path }, *const bad[][2] = { { "home", over }, { name, "/d" } };
        g_autoptr(json_t) list = json_pack("[{s:s, s:s}]", "fs", good[0], "path", good[1]);
        g_auto(GStrv) mounts = NULL;

        g_assert_true(mounts_parse(list, &mounts, NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(json_t) wrong = json_pack("[{s:s, s:s}]", "fs", bad[i][0], "path", bad[i][1]);
                g_autoptr(GError) error = NULL;
                g_auto(GStrv) none = NULL;

                g_assert_false(mounts_parse(wrong, &none, &error));
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
        }
}

/* A specification keeps them, and without mounts it is as it was. */
static void test_spec(void)
{
        g_autoptr(json_t) object = parsed("{'command': ['true'], 'mounts': [{'fs': 'home', 'sub': 'in', "
                                          "'path': '/data/', 'read_only': true}]}");
        g_autoptr(json_t) plain = parsed("{'command': ['true'], 'mounts': []}"), shown = NULL, none = NULL;
        g_autoptr(json_t) expected =
                parsed("[{'fs': 'home', 'sub': 'in', 'path': '/data', 'read_only': true}]");
        g_autoptr(Spec) spec = spec_parse(object, NULL), without = spec_parse(plain, NULL), again = NULL;
        g_auto(Mount) mount = { 0 };

        g_assert_nonnull(spec);
        mount_split(spec->mounts[0], &mount);
        g_assert_cmpstr(mount.fs, ==, "home");
        g_assert_cmpstr(mount.sub, ==, "in");
        g_assert_cmpstr(mount.path, ==, "/data");
        g_assert_true(mount.read_only);
        shown = spec_format(spec);
        g_assert_true(json_equal(json_object_get(shown, "mounts"), expected));
        again = spec_unpack(shown, NULL);
        g_assert_cmpstr(again->mounts[0], ==, spec->mounts[0]);
        none = spec_format(without);
        g_assert_null(without->mounts);
        g_assert_null(json_object_get(none, "mounts"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mount/normal", test_normal);
        g_test_add_func("/mount/refused", test_refused);
        g_test_add_func("/mount/number", test_number);
        g_test_add_func("/mount/length", test_length);
        g_test_add_func("/mount/spec", test_spec);
        return g_test_run();
}
