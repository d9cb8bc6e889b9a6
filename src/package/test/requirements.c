/* Requirements of a directory: its files, and the resulting text or error. */
#include "package/requirements.h"

#include <string.h>

#include "base/err.h"

typedef struct {
        const char *path, *text;
} File;

static char *read_file(const char *path, gsize max, void *arg, GError **error)
{
        for (const File *file = arg; file->path; file++) {
                if (strcmp(file->path, path) != 0)
                        continue;
                if (strlen(file->text) > max)
                        err_set(error, ERR_TOO_LARGE, "%s is too large", path);
                return strlen(file->text) > max ? NULL : g_strdup(file->text);
        }
        return NULL;
}

#define PROJECT                                                                                              \
        "[project]\nname = \"my-pkg\"\ndependencies = [\n  \"numpy>=1\", # fast\n  'torch ; "                \
        "sys_platform == \"linux\"',\n]\n[project.optional-dependencies]\nplot = [\"matplotlib\"]\n"

static const struct {
        File files[5];
        const char *text; /* NULL: no requirements, or the error `says` */
        const char *says;
        const char *note;
} cases[] = {
        { { { "train.py", "" } }, NULL, NULL, NULL },
        { { { "requirements.txt", "numpy==1.26 # new\n\n# remark\n  torch  \n" } },
          "numpy==1.26 # new\n\n# remark\n  torch  \n",
          NULL,
          NULL },
        { { { "requirements.txt", "a\n" }, { "uv.lock", "!" }, { "pyproject.toml", "!" } },
          "a\n",
          NULL,
          NULL },
        { { { "requirments.txt", "old\n" } }, "old\n", NULL, NULL },
        { { { "requirements.txt", "a --hash=sha256:1 \\\n  --hash=sha256:2\n" } },
          "a --hash=sha256:1 \\\n  --hash=sha256:2\n",
          NULL,
          NULL },
        { { { "requirements.txt", "--pre\n--only-binary :all:\na[x]>1,<2; python_version<'3'\n" } },
          "--pre\n--only-binary :all:\na[x]>1,<2; python_version<'3'\n",
          NULL,
          NULL },
        { { { "requirements.txt", "a<=1\nb>=1\nc!=1\nd~=1\ne===1\nf [x] == 1\ng @ https://h/?a=1\n" } },
          "a<=1\nb>=1\nc!=1\nd~=1\ne===1\nf [x] == 1\ng @ https://h/?a=1\n",
          NULL,
          NULL },
        { { { "pyproject.toml", "[project]\nname = 'p'\ndependencies = ['six', 'numpy=1.2']\n" } },
          NULL,
          "pyproject.toml: project.dependencies[1]: 'numpy=1.2' has one '=' before the version; it takes "
          "two\nWrite 'numpy==1.2'.",
          NULL },
        { { { "requirements.txt", "a\nnumpy=1.2 # new\n" } },
          NULL,
          "requirements.txt, line 2: 'numpy=1.2' has one '=' before the version; it takes two\nWrite "
          "'numpy==1.2'.",
          NULL },
        { { { "requirements.txt", "a[x] = 1=py39_0" } },
          NULL,
          "requirements.txt, line 1: 'a[x] = 1=py39_0' has one '=' before the version; it takes two\n"
          "Write 'a[x]==1'.",
          NULL },
        /* -r */
        { { { "requirements.txt", "-r req/base.txt\nb\n" },
            { "req/base.txt", "a\n-r more.txt" },
            { "req/more.txt", "c" } },
          "a\nc\nb\n",
          NULL,
          NULL },
        { { { "requirements.txt", "--requirement=x.txt\n--requirement x.txt\n-rx.txt" }, { "x.txt", "a" } },
          "a\na\na\n",
          NULL,
          NULL },
        { { { "requirements.txt", "a\n-r nosuch.txt\n" } },
          NULL,
          "requirements.txt, line 2: '-r nosuch.txt' names a file that is not in the package",
          NULL },
        { { { "requirements.txt", "-r x.txt" }, { "x.txt", "\n-r requirements.txt" } },
          NULL,
          "x.txt, line 2: '-r requirements.txt' names a file that names this one",
          NULL },
        { { { "requirements.txt", "-r ../x.txt" } },
          NULL,
          "requirements.txt, line 1: '-r ../x.txt' names a file outside the package",
          NULL },
        { { { "requirements.txt", "-r /etc/passwd" } }, NULL, "names a file outside the package", NULL },
        { { { "requirements.txt", "-r https://x/y.txt" } },
          NULL,
          "line 1: '-r https://x/y.txt' names an address",
          NULL },
        /* the project itself */
        { { { "requirements.txt", "-e .\nb" }, { "pyproject.toml", PROJECT } },
          "numpy>=1\ntorch ; sys_platform == \"linux\"\nb\n",
          NULL,
          NULL },
        { { { "requirements.txt", "--editable=.[plot]" }, { "pyproject.toml", PROJECT } },
          "numpy>=1\ntorch ; sys_platform == \"linux\"\nmatplotlib\n",
          NULL,
          NULL },
        { { { "requirements.txt", "." }, { "pyproject.toml", PROJECT } },
          "numpy>=1\ntorch ; sys_platform == \"linux\"\n",
          NULL,
          NULL },
        { { { "requirements.txt", ".[nosuch]" }, { "pyproject.toml", PROJECT } },
          NULL,
          "requirements.txt, line 1: '.[nosuch]' names an extra that pyproject.toml has not",
          NULL },
        { { { "requirements.txt", "-e ." } },
          NULL,
          "line 1: '-e .' needs a pyproject.toml with [project]",
          NULL },
        { { { "requirements.txt", "-e ." }, { "pyproject.toml", PROJECT }, { "src/my_pkg/__init__.py", "" } },
          NULL,
          "would install the modules below src/, which is not done\nRemove the line, and submit with --env "
          "PYTHONPATH=src.",
          NULL },
        /* errors */
        { { { "requirements.txt", "\n\n-c limits.txt" } },
          NULL,
          "requirements.txt, line 3: '-c limits.txt' names constraints, which are not supported",
          NULL },
        { { { "requirements.txt", "-e ./sub" } }, NULL, "line 1: '-e ./sub' installs from a path", NULL },
        { { { "requirements.txt", "./x.whl" } }, NULL, "line 1: './x.whl' installs from a path", NULL },
        { { { "requirements.txt", "../lib" } }, NULL, "line 1: '../lib' installs from a path", NULL },
        { { { "requirements.txt", "-e git+https://x/y" } }, NULL, "cannot be installed to be edited", NULL },
        /* pyproject.toml */
        { { { "pyproject.toml", PROJECT } }, "numpy>=1\ntorch ; sys_platform == \"linux\"\n", NULL, NULL },
        { { { "pyproject.toml", "[tool.ruff]\nx=1\n" } }, NULL, NULL, NULL },
        { { { "pyproject.toml", "[project]\nname='x'\n" } }, NULL, NULL, NULL },
        { { { "pyproject.toml", "[project\n" } }, NULL, "pyproject.toml, line 1: ", NULL },
        { { { "pyproject.toml", "[project]\ndependencies = [1]\n" } },
          NULL,
          "pyproject.toml: project.dependencies[0] is not a text",
          NULL },
        /* advice for common mistakes */
        { { { "environment.yml", "name: x\n" } }, NULL, NULL, "environment.yml is ignored" },
        { { { "pyproject.toml", "[tool.poetry.dependencies]\nnumpy = '*'\n" } }, NULL, NULL, "Poetry" },
        { { { "pyproject.toml", "[project]\nname='x'\ndynamic = ['dependencies']\n" } },
          NULL,
          NULL,
          "'dynamic'" },
        { { { "requirements.txt", "a" }, { "environment.yml", "" } }, "a\n", NULL, NULL },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = NULL, *note = NULL;
                g_autoptr(GError) error = NULL;
                bool ok;

                g_test_message("case %zu: %s", i, cases[i].files->text);
                ok = requirements_gather(&(RequirementsFiles){ read_file, (void *)cases[i].files }, &text,
                                         &note, &error);
                g_assert_cmpint(ok, ==, !cases[i].says);
                if (cases[i].says && !strstr(error->message, cases[i].says))
                        g_assert_cmpstr(error->message, ==, cases[i].says);
                if (!cases[i].says)
                        g_assert_cmpstr(text, ==, cases[i].text);
                g_assert_cmpint(note != NULL, ==, cases[i].note != NULL);
                g_assert_true(!note || strstr(note, cases[i].note));
        }
}

/* ---- uv.lock ---- */

#define REGISTRY "source = { registry = \"https://pypi.org/simple\" }\n"
#define HEAD "version = 1\nrevision = 2\nrequires-python = \">=3.11\"\n"

static const struct {
        const char *lock, *text, *says;
} locks[] = {
        { HEAD "[[package]]\nname = \"demo\"\nversion = \"0.1\"\nsource = { virtual = \".\" }\n"
               "dependencies = [\n  { name = \"b\" },\n  { name = \"w\", marker = \"sys_platform == "
               "'win32'\" },\n]\n"
               "[package.dev-dependencies]\ndev = [{ name = \"pytest\" }]\n"
               "[[package]]\nname = \"a\"\nversion = \"1.0\"\n" REGISTRY
               "[[package]]\nname = \"b\"\nversion = \"2.0\"\n" REGISTRY
               "dependencies = [{ name = \"a\", marker = \"python_full_version < '3.12'\" }]\n"
               "wheels = [\n  { url = \"https://x/b.whl\", hash = \"sha256:1\", size = 3 },\n]\n"
               "[[package]]\nname = \"w\"\nversion = \"3.0\"\n" REGISTRY
               "dependencies = [{ name = \"a\", marker = \"os_name == 'nt'\" }, { name = \"wdep\" }]\n"
               "[[package]]\nname = \"wdep\"\nversion = \"4.0\"\n" REGISTRY
               "[[package]]\nname = \"pytest\"\nversion = \"8.0\"\n" REGISTRY,
          "a==1.0 ; (python_full_version < '3.12') or (sys_platform == 'win32') and (os_name == 'nt')\n"
          "b==2.0\n"
          "w==3.0 ; (sys_platform == 'win32')\n"
          "wdep==4.0 ; (sys_platform == 'win32')\n",
          NULL },
        /* a package needed on two paths, a cycle, an extra, two versions */
        { HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\nsource = { editable = \".\" }\n"
               "dependencies = [{ name = \"a\", extra = [\"x\"] }, { name = \"n\", version = \"1\", marker = "
               "\"m1\" }, "
               "{ name = \"n\", version = \"2\", marker = \"m2\" }]\n"
               "[package.optional-dependencies]\nplot = [{ name = \"unused\" }]\n"
               "[[package]]\nname = \"a\"\nversion = \"1\"\n" REGISTRY
               "dependencies = [{ name = \"b\", marker = \"m1\" }]\n"
               "[package.optional-dependencies]\nx = [{ name = \"b\" }]\n"
               "[[package]]\nname = \"b\"\nversion = \"1\"\n" REGISTRY "dependencies = [{ name = \"a\" }]\n"
               "[[package]]\nname = \"n\"\nversion = \"1\"\n" REGISTRY
               "[[package]]\nname = \"n\"\nversion = \"2\"\n" REGISTRY
               "[[package]]\nname = \"unused\"\nversion = \"2\"\n" REGISTRY,
          "a==1\nb==1\nn==1 ; (m1)\nn==2 ; (m2)\n", NULL },
        { HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\nsource = { virtual = \".\" }\n"
               "dependencies = [{ name = \"g\" }, { name = \"u\" }]\n"
               "[[package]]\nname = \"g\"\nversion = \"1\"\nsource = { git = \"https://h/g?rev=v1#abc\" }\n"
               "[[package]]\nname = \"u\"\nversion = \"1\"\nsource = { url = \"https://h/u.whl\" }\n",
          "g @ git+https://h/g@abc\nu @ https://h/u.whl\n", NULL },
        { HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\nsource = { virtual = \".\" }\n", "", NULL },
        { HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\nsource = { virtual = \".\" }\n"
               "dependencies = [{ name = \"lib\" }]\n"
               "[[package]]\nname = \"lib\"\nversion = \"0\"\nsource = { editable = \"libs/lib\" }\n",
          NULL, "uv.lock: package 'lib' is the directory 'libs/lib', which is not installed" },
        { HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\nsource = { virtual = \".\" }\n"
               "dependencies = [{ name = \"gone\" }]\n",
          NULL, "uv.lock: it has no package 'gone'" },
        { HEAD "[[package]]\nname = \"a\"\nversion = \"1\"\n" REGISTRY, NULL,
          "no package of this directory" },
        { "version = 2\n", NULL, "its version is 2, and only 1 is supported" },
        { "version = \n", NULL, "uv.lock, line 1: " },
        { HEAD "[[package]]\nname = \"demo\"\nsource = { virtual = \".\" }\n[[package]]\nname = 5\n", NULL,
          "package[1] has no name" },
};

static void test_locks(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(locks); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *text = uv_lock_requirements(locks[i].lock, &error);

                g_test_message("lock %zu", i);
                if (!locks[i].says)
                        g_assert_no_error(error);
                g_assert_cmpstr(text, ==, locks[i].text);
                if (locks[i].says && !strstr(error->message, locks[i].says))
                        g_assert_cmpstr(error->message, ==, locks[i].says);
        }
}

/* In this lock the number of paths doubles with each package; the work does not. */
static void test_many_ways(void)
{
        enum { LAYERS = 60 };
        g_autoptr(GString) lock =
                g_string_new(HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\n"
                                  "source = { virtual = \".\" }\ndependencies = [{ name = \"p0\" }]\n");
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        for (int i = 0; i < LAYERS; i++)
                g_string_append_printf(lock,
                                       "[[package]]\nname = \"p%d\"\nversion = \"1\"\n" REGISTRY
                                       "dependencies = [{ name = \"p%d\", marker = \"a%d\" }, "
                                       "{ name = \"p%d\", marker = \"b%d\" }]\n",
                                       i, i + 1, i, i + 1, i);
        g_string_append(lock, "[[package]]\nname = \"p60\"\nversion = \"1\"\n" REGISTRY);
        text = uv_lock_requirements(lock->str, &error);
        g_assert_no_error(error);
        g_assert_nonnull(strstr(text, "p60==1"));
        g_assert_cmpuint(strlen(text), <, 128 * 1024);
}

/* "q" has 66 paths, two of them with 12 markers each: more than are stored, so it is always needed, and so is
 * its dependency "r". */
static void test_ways_beyond_those_kept(void)
{
        enum { MARKERS = 12 };
        g_autoptr(GString) project = g_string_new(NULL), packages = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_autofree char *lock = NULL, *text = NULL;

        for (int i = 0; i < MARKERS; i++) {
                g_string_append_printf(project, "{ name = \"p%d\", marker = \"m%d\" }, ", i, i);
                g_string_append_printf(packages,
                                       "[[package]]\nname = \"p%d\"\nversion = \"1\"\n" REGISTRY
                                       "dependencies = [%s",
                                       i, i == 0 ? "{ name = \"r\" }, " : "");
                for (int other = 0; other < MARKERS; other++)
                        if (other != i)
                                g_string_append_printf(packages, "{ name = \"q\", marker = \"m%d\" }, ",
                                                       other);
                g_string_append(packages, "]\n");
        }
        lock = g_strdup_printf(HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\n"
                                    "source = { virtual = \".\" }\ndependencies = [%s]\n%s"
                                    "[[package]]\nname = \"q\"\nversion = \"1\"\n" REGISTRY
                                    "dependencies = [{ name = \"r\" }]\n"
                                    "[[package]]\nname = \"r\"\nversion = \"1\"\n" REGISTRY,
                               project->str, packages->str);
        text = uv_lock_requirements(lock, &error);
        g_assert_no_error(error);
        g_assert_true(g_str_has_suffix(text, "\nq==1\nr==1\n"));
}

static void refused_as_too_large(const char *lock)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *text = uv_lock_requirements(lock, &error);

        g_assert_null(text);
        g_assert_true(err_is(error, ERR_TOO_LARGE));
}

/* A hostile lock cannot keep the server busy. */
static void test_hostile_locks(void)
{
        enum { VERSIONS = 2000 };
        g_autoptr(GString) many = g_string_new(HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\n"
                                                    "source = { virtual = \".\" }\ndependencies = [\n");
        g_autoptr(GString) wide = g_string_new(HEAD "[[package]]\nname = \"demo\"\nversion = \"0\"\n"
                                                    "source = { virtual = \".\" }\ndependencies = [\n");
        g_autofree char *marker = g_strnfill(1025, 'm');

        for (int i = 0; i < VERSIONS; i++)
                g_string_append_printf(many, "{ name = \"a\", version = \"%d\" },\n", i);
        g_string_append(many, "]\n");
        for (int i = 0; i < VERSIONS; i++)
                g_string_append_printf(many, "[[package]]\nname = \"a\"\nversion = \"%d\"\n" REGISTRY, i);
        refused_as_too_large(many->str);
        g_string_append_printf(wide, "{ name = \"b\", marker = \"%s\" }]\n", marker);
        g_string_append(wide, "[[package]]\nname = \"b\"\nversion = \"1\"\n" REGISTRY);
        refused_as_too_large(wide->str);
}

/* A line may name an extra, or the package itself, any number of times. */
static void test_hostile_extras(void)
{
        g_autofree char *large = g_strnfill(100000, 'x');
        g_autofree char *pyproject = g_strdup_printf("[project]\nname = \"p\"\n"
                                                     "[project.optional-dependencies]\na = [\"%s\"]\n",
                                                     large);
        const File twice[] = { { "requirements.txt", ".[a,a,a,a]\n" },
                               { "pyproject.toml", pyproject },
                               { 0 } };
        const File again[] = { { "requirements.txt", ".\n.\n" }, { "pyproject.toml", PROJECT }, { 0 } };
        const RequirementsFiles files[] = { { read_file, (void *)twice }, { read_file, (void *)again } };
        static const char *const says[] = { "larger than 128 KiB together", "a second time" };

        for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *text = NULL;
                g_autofree char *note = NULL;

                g_assert_false(requirements_gather(&files[i], &text, &note, &error));
                g_assert_nonnull(strstr(error->message, says[i]));
        }
}

/* The text fits a specification, whichever file it is from. */
static void test_too_large(void)
{
        g_autoptr(GString) pyproject = g_string_new("[project]\nname = 'p'\ndependencies = [\n"),
                           lock = g_string_new("version = 1\n[[package]]\nname = 'p'\nversion = '1'\n"
                                               "source = { virtual = '.' }\ndependencies = [\n");
        const File files[] = { { "pyproject.toml", NULL }, { "uv.lock", NULL } };

        for (int i = 0; i < 3000; i++) {
                g_string_append_printf(pyproject, "'a-package-whose-name-is-forty-letters-%05d',\n", i);
                g_string_append_printf(lock, "{ name = 'a-package-whose-name-is-forty-letters-%05d' },\n", i);
        }
        g_string_append(pyproject, "]\n");
        g_string_append(lock, "]\n");
        for (int i = 0; i < 3000; i++)
                g_string_append_printf(lock,
                                       "[[package]]\nname = 'a-package-whose-name-is-forty-letters-%05d'\n"
                                       "version = '1.0'\nsource = { registry = 'https://h' }\n",
                                       i);
        for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
                File package[] = { { files[i].path, i == 0 ? pyproject->str : lock->str }, { NULL, NULL } };
                RequirementsFiles read = { read_file, package };
                g_autofree char *text = NULL;
                g_autoptr(GError) error = NULL;

                g_assert_false(requirements_gather(&read, &text, NULL, &error));
                g_assert_true(err_is(error, ERR_TOO_LARGE));
                g_assert_true(g_str_has_prefix(error->message, files[i].path));
                g_assert_null(text);
        }
}

static void test_check(void)
{
        static const struct {
                const char *text, *says; /* NULL: valid */
        } rows[] = {
                { "six\nnumpy==1.2\n# a=1\ntorch>=1,<2\n--index-url=https://h\n", NULL },
                { "six\n\n  numpy = 1.2 ; python_version>'3'\n",
                  "p.yaml, line 3: 'numpy = 1.2 ; python_version>'3'' has one '=' before the version; it "
                  "takes two\nWrite 'numpy==1.2'." },
                { "a==1 \\\n  b=2\n", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_true(requirements_check("p.yaml", rows[i].text, &error) == !rows[i].says);
                g_assert_cmpstr(error ? error->message : NULL, ==, rows[i].says);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/requirements/cases", test_cases);
        g_test_add_func("/requirements/too-large", test_too_large);
        g_test_add_func("/requirements/check", test_check);
        g_test_add_func("/requirements/locks", test_locks);
        g_test_add_func("/requirements/many-ways", test_many_ways);
        g_test_add_func("/requirements/ways-beyond-those-kept", test_ways_beyond_those_kept);
        g_test_add_func("/requirements/hostile-locks", test_hostile_locks);
        g_test_add_func("/requirements/hostile-extras", test_hostile_extras);
        return g_test_run();
}
