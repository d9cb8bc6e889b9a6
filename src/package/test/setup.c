/* The files that a setup command names, and when its fingerprint changes. */
#include "package/setup.h"

#include <string.h>

#include "package/manifest.h"

/* In byte order, as in a manifest. */
static const char *const files[] = { "Makefile",    "a b.txt",          "lib/pyproject.toml",
                                     "lib/src/x.c", "ops-more/other.c", "ops/Makefile",
                                     "ops/op.c",    "setup.py",         "train.py" };

static const struct {
        const char *command, *named;
} cases[] = {
        { "make -C ops", "ops/Makefile ops/op.c" },
        { "make -Cops", "ops/Makefile ops/op.c" },
        { "make --directory=ops", "ops/Makefile ops/op.c" },
        { "make --directory=./ops//", "ops/Makefile ops/op.c" },
        { "cd ops && make", "ops/Makefile ops/op.c" },
        { "cd ops;make", "ops/Makefile ops/op.c" },
        { "(cd ops; make)", "ops/Makefile ops/op.c" },
        { "sh -c 'cd ops && make'", "ops/Makefile ops/op.c" },
        { "make", "" },
        { "make # Makefile ops/op.c", "Makefile ops/op.c" },
        { "make Makefile", "Makefile" },
        { "python setup.py build_ext --inplace", "setup.py" },
        { "SOURCE=setup.py ./build", "setup.py" },
        { "pip install ./lib", "lib/pyproject.toml lib/src/x.c" },
        { "pip install './lib[fast]'", "lib/pyproject.toml lib/src/x.c" },
        { "pip install -e lib", "lib/pyproject.toml lib/src/x.c" },
        { "cc -c lib/src/*.c", "lib/src/x.c" },
        { "cc -c lib/sr?/x.c", "lib/pyproject.toml lib/src/x.c" },
        { "cc <ops/op.c >ops.o", "ops/op.c" },
        { "cat 'a b.txt'", "a b.txt" },
        { "cat a\\ b.txt", "a b.txt" },
        { "cat \"a b.txt\"x", "" },
        { "[ -e x ] || true", "" },
        { "sh ops/../setup.py", "setup.py" },
        { "sh ../ops", "" },
        { "sh /ops ~/ops $HOME/ops `ops`", "" },
        { "X= true -", "" },
        { "cd lib\nmake\n", "lib/pyproject.toml lib/src/x.c" },
        { "cat 'unclosed setup.py", "setup.py" },
        { "", "" },
};

static char *named_by(const char *command)
{
        g_autoptr(GPtrArray) paths = g_ptr_array_new();
        g_autoptr(GArray) named = NULL;
        g_autoptr(GString) text = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
                g_ptr_array_add(paths, (char *)files[i]);
        named = setup_named(command, paths);
        for (guint i = 0; i < named->len; i++)
                g_string_append_printf(text, "%s%s", i ? " " : "", files[g_array_index(named, guint, i)]);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void test_named(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *named = named_by(cases[i].command);

                g_test_message("%s", cases[i].command);
                g_assert_cmpstr(named, ==, cases[i].named);
        }
}

static void test_whole_package(void)
{
        static const char *const commands[] = { "pip install .", "pip install -e .",    "make -C.",
                                                "cc *.c",        "pip install .[fast]", "ls ./" };

        for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
                g_autofree char *named = named_by(commands[i]);

                g_test_message("%s", commands[i]);
                g_assert_true(g_str_has_prefix(named, "Makefile a b.txt lib/pyproject.toml"));
                g_assert_true(g_str_has_suffix(named, "setup.py train.py"));
        }
}

typedef struct {
        const char *op, *train, *link;
        bool executable;
} Content;

static char *fingerprint(const char *command, const Content *content)
{
        g_autoptr(Manifest) manifest = manifest_new();
        const struct {
                const char *path, *text;
        } contents[] = { { "ops/op.c", content->op }, { "train.py", content->train } };
        Entry *link = entry_new(ENTRY_LINK, "ops/link");

        for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
                Entry *entry = entry_new(ENTRY_FILE, contents[i].path);

                entry->size = strlen(contents[i].text);
                entry->executable = content->executable;
                hash_bytes(contents[i].text, entry->size, entry->hash);
                manifest_add(manifest, entry);
        }
        link->target = g_strdup(content->link);
        manifest_add(manifest, link);
        g_assert_true(manifest_seal(manifest, NULL));
        return setup_fingerprint(command, manifest);
}

static void test_fingerprint(void)
{
        const Content was = { "int x;", "print(1)", "op.c", false };
        const struct {
                Content now;
                bool same;
        } changes[] = {
                { { "int x;", "print(1)", "op.c", false }, true },
                { { "int x;", "print(2)", "op.c", false }, true }, /* not named */
                { { "int y;", "print(1)", "op.c", false }, false },
                { { "int x;", "print(1)", "../train.py", false }, false },
                { { "int x;", "print(1)", "op.c", true }, false },
        };
        g_autofree char *first = fingerprint("make -C ops", &was), *none = fingerprint("make", &was);

        g_assert_cmpuint(strlen(first), ==, HASH_LEN);
        g_assert_null(none);
        for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
                g_autofree char *now = fingerprint("make -C ops", &changes[i].now);

                g_assert_cmpint(strcmp(now, first) == 0, ==, changes[i].same);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/setup/named", test_named);
        g_test_add_func("/setup/whole-package", test_whole_package);
        g_test_add_func("/setup/fingerprint", test_fingerprint);
        return g_test_run();
}
