/* Environments: keys, builds by real uv and pip from a wheel made here (no index), two builders at once,
 * broken-off builds, reasons. */
#include "runtime/environment/environment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "runtime/test/wheel.h"

static char *scratch, *envs, *links;

static void write_file(const char *path, const char *text)
{
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static EnvironmentConfig config_of(const char *uv)
{
        return (EnvironmentConfig){ .envs_dir = envs, .uv = uv, .python = "python3" };
}

/* Jobs may not write into an environment: what is not compiled there is compiled by each of their processes.
 */
static void check_compiled(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *path = environment_path(config, key);
        g_autofree char *python = g_build_filename(path, "bin/python", NULL);
        const char *const argv[] = {
                python, "-B", "-c",
                "import importlib.util, os, tinything\n"
                "print(os.path.exists(importlib.util.cache_from_source(tinything.__file__)))",
                NULL
        };
        g_autofree char *out = NULL;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, &out, NULL, NULL, NULL));
        g_assert_cmpstr(out, ==, "True\n");
}

/* Starts a build as the agent would: its variables, its log. */
static GPid begin_build(const EnvironmentConfig *config, const char *key, const char *requirements)
{
        g_autoptr(GError) error = NULL;
        const EnvironmentRecipe recipe = { .requirements = requirements };
        g_auto(GStrv) argv = environment_build_command(config, key, NULL, &recipe, NULL, &error);
        g_auto(GStrv) env = environment_build_variables(config, key, NULL, &error);
        g_autofree char *log = environment_log_path(config, key);
        fd_auto int out = -1;
        GPid pid = 0;

        g_assert_no_error(error);
        out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        g_assert_cmpint(out, >=, 0);
        g_spawn_async_with_fds(NULL, argv, env, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, -1, out, out,
                               &error);
        g_assert_no_error(error);
        return pid;
}

static int end_build(GPid pid)
{
        int status = -1;

        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        return status;
}

static char *key_of(const EnvironmentConfig *config, const char *requirements)
{
        g_autoptr(GError) error = NULL;
        const EnvironmentRecipe recipe = { .requirements = requirements };
        char *key = environment_key(config, NULL, &recipe, &error);

        g_assert_no_error(error);
        return key;
}

static char *read_log(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *path = environment_log_path(config, key);
        char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return text;
}

static void check_module(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *path = environment_path(config, key);
        g_autofree char *python = g_build_filename(path, "bin/python", NULL);
        const char *const argv[] = { python, "-c",
                                     "import tinything, sys; print(tinything.VALUE, sys.prefix)", NULL };
        g_autofree char *out = NULL;
        g_autofree char *want = g_strdup_printf("42 %s\n", path);
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, &out, NULL, &status, NULL));
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpstr(out, ==, want);
}

static void build_with(const char *uv)
{
        EnvironmentConfig config = config_of(uv);
        g_autofree char *key = key_of(&config, "tinything==1.0\n");
        g_autofree char *log = NULL;

        g_assert_false(environment_is_ready(&config, key));
        g_assert_cmpint(end_build(begin_build(&config, key, "tinything==1.0\n")), ==, 0);
        g_assert_true(environment_is_ready(&config, key));
        check_compiled(&config, key);
        check_module(&config, key);
        log = read_log(&config, key);
        g_assert_nonnull(strstr(log, "tinything"));
}

static void test_build_uv(void)
{
        g_autofree char *uv = g_find_program_in_path("uv");

        if (uv)
                build_with(uv);
        else
                g_test_skip("uv is not on the path");
}

static void test_build_pip(void)
{
        build_with(NULL);
}

/* An interpreter whose pip, if it has one, cannot install elsewhere: the environment gets its own. */
static void test_build_own_pip(void)
{
        g_autofree char *python = g_build_filename(scratch, "python-old", NULL);
        EnvironmentConfig config = { .envs_dir = envs, .python = python };
        g_autofree char *key = NULL, *path = NULL, *pip = NULL;

        write_file(python, "#!/bin/sh\n"
                           "case \"$*\" in\n"
                           "*sys.executable*) echo \"$0\"; echo 3.old; exit 0 ;;\n"
                           "*'import pip'*) exit 1 ;;\n"
                           "esac\n"
                           "exec python3 \"$@\"\n");
        g_assert_cmpint(chmod(python, 0755), ==, 0);
        key = key_of(&config, "tinything==1.0\n");
        g_assert_cmpint(end_build(begin_build(&config, key, "tinything==1.0\n")), ==, 0);
        check_module(&config, key);
        path = environment_path(&config, key);
        pip = g_build_filename(path, "bin/pip", NULL);
        g_assert_true(g_file_test(pip, G_FILE_TEST_EXISTS));
}

/* Both wait for one lock: one builds, the other finds it ready. */
static void test_two_builders(void)
{
        EnvironmentConfig config = config_of(NULL);
        g_autofree char *key = key_of(&config, "tinything # twice\n");
        g_autofree char *log = NULL;
        GPid one = begin_build(&config, key, "tinything\n");
        GPid two = begin_build(&config, key, "tinything\n");

        g_assert_cmpint(end_build(one), ==, 0);
        g_assert_cmpint(end_build(two), ==, 0);
        check_module(&config, key);
        log = read_log(&config, key);
        g_assert_nonnull(strstr(log, "Ready already."));
        g_assert_true(strstr(log, "== building") == g_strrstr(log, "== building")); /* once */
}

/* What a killed builder left is no environment, and the next one wipes it. */
static void test_remains(void)
{
        EnvironmentConfig config = config_of(NULL);
        g_autofree char *key = key_of(&config, "tinything>=1\n");
        g_autofree char *path = environment_path(&config, key);
        g_autofree char *junk = g_build_filename(path, "lib", "junk", NULL);
        g_autofree char *dir = g_path_get_dirname(junk);

        g_assert_true(file_mkdirs(dir, 0755, NULL));
        write_file(junk, "half");
        g_assert_false(environment_is_ready(&config, key));
        g_assert_cmpint(end_build(begin_build(&config, key, "tinything>=1\n")), ==, 0);
        g_assert_false(g_file_test(junk, G_FILE_TEST_EXISTS));
        check_module(&config, key);
}

static void failing_build(const char *uv, const char *requirements, const char *says)
{
        EnvironmentConfig config = config_of(uv);
        g_autofree char *key = key_of(&config, requirements);
        g_autofree char *log = environment_log_path(&config, key), *reason = NULL;

        g_assert_cmpint(end_build(begin_build(&config, key, requirements)), !=, 0);
        g_assert_false(environment_is_ready(&config, key));
        reason = environment_failure(log);
        g_test_message("%s", reason);
        g_assert_nonnull(strstr(reason, says));
        g_assert_null(strchr(reason, '\n'));
}

static void test_build_fails(void)
{
        g_autofree char *uv = g_find_program_in_path("uv");

        failing_build(NULL, "nosuchthing==1\n", "No matching distribution found for nosuchthing==1");
        failing_build(NULL, "tinything==1.0\ntinything==2.0\n", "tinything==2.0");
        if (!uv)
                return;
        failing_build(uv, "nosuchthing==1\n", "nosuchthing was not found");
        failing_build(uv, "tinything==1.0\ntinything==2.0\n", "tinything==2.0");
}

static void test_key(void)
{
        EnvironmentConfig pip = config_of(NULL), uv = config_of("/usr/bin/uv");
        static const struct {
                const char *text;
                bool same;
        } cases[] = {
                { "a==1\nb\n", true },      { "  a==1  \n\n# words\nb # more", true },
                { "a==1\r\nb\r\n", true },  { "a==2\nb\n", false },
                { "b\na==1\n", false },     { "a==1\n", false },
                { "a==1\nb#egg\n", false },
        };
        g_autofree char *first = key_of(&pip, "a==1\nb\n");
        g_autofree char *by_uv = key_of(&uv, "a==1\nb\n"), *other_index = NULL;

        g_assert_cmpuint(strlen(first), ==, 32);
        g_assert_cmpstr(first, !=, by_uv);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *key = key_of(&pip, cases[i].text);

                g_test_message("%s", cases[i].text);
                g_assert_true((strcmp(key, first) == 0) == cases[i].same);
        }
        g_setenv("PIP_EXTRA_INDEX_URL", "http://127.0.0.1:1/simple", TRUE);
        other_index = key_of(&pip, "a==1\nb\n");
        g_unsetenv("PIP_EXTRA_INDEX_URL");
        g_assert_cmpstr(first, !=, other_index);
}

/* Another interpreter, by what it says of itself, is another environment. */
static void test_interpreter(void)
{
        g_autofree char *fake = g_build_filename(scratch, "python-fake", NULL),
                        *missing = g_build_filename(scratch, "none", NULL);
        EnvironmentConfig real = config_of(NULL), faked = { envs, NULL, fake },
                          none = { envs, NULL, missing };
        g_autoptr(GError) error = NULL;

        write_file(fake, "#!/bin/sh\necho /opt/python\necho 3.99\n");
        g_assert_cmpint(chmod(fake, 0755), ==, 0);
        g_assert_false(environment_is_known(&faked));
        g_autofree char *with_fake = key_of(&faked, "a\n");
        g_autofree char *with_real = key_of(&real, "a\n");
        g_assert_true(environment_is_known(&faked));
        g_assert_cmpstr(with_fake, !=, with_real);
        g_assert_null(environment_key(&none, NULL, &(EnvironmentRecipe){ .requirements = "a\n" }, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_nonnull(strstr(error->message, missing));
        g_assert_nonnull(err_hint(error));
}

static void test_refused(void)
{
        static const char *const texts[] = { "-r other.txt", "a\n --requirement=x", "-c c.txt",
                                             "-e .",         "--editable x",        "./local",
                                             "../up",        "--pre -r x",          "--pre\t-cx" };
        EnvironmentConfig config = config_of(NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(environment_key(&config, NULL, &(EnvironmentRecipe){ .requirements = texts[i] },
                                              &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
        g_autofree char *long_text = g_strnfill(REQUIREMENTS_MAX + 1, 'a');
        g_autoptr(GError) error = NULL;
        g_assert_null(
                environment_key(&config, NULL, &(EnvironmentRecipe){ .requirements = long_text }, &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
}

static void test_setup_key(void)
{
        EnvironmentConfig config = config_of(NULL);
        const EnvironmentRecipe first = { "a", "make -C ops", "f1", 7 };
        const struct {
                EnvironmentRecipe recipe;
                bool same;
        } others[] = {
                { { "a # remark", "make -C ops", "f1", 7 }, true },
                { { "b", "make -C ops", "f1", 7 }, false },
                { { "a", "make -C ops ", "f1", 7 }, false },
                { { "a", "make -C ops", "f2", 7 }, false },
                { { "a", "make -C ops", NULL, 7 }, false },
                { { "a", "make -C ops", "f1", 8 }, false },
                { { "a", NULL, NULL, 7 }, false },
                { { NULL, "make -C ops", "f1", 7 }, false },
        };
        g_autofree char *key = environment_key(&config, NULL, &first, NULL);
        const EnvironmentRecipe seven = { "a", NULL, NULL, 7 }, eight = { "a", NULL, NULL, 8 };
        g_autofree char *of_seven = environment_key(&config, NULL, &seven, NULL);
        g_autofree char *of_eight = environment_key(&config, NULL, &eight, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
                g_autofree char *other = environment_key(&config, NULL, &others[i].recipe, NULL);

                g_test_message("%zu", i);
                g_assert_cmpint(strcmp(key, other) == 0, ==, others[i].same);
        }
        g_assert_cmpstr(of_seven, ==, of_eight); /* packages alone are shared by all */
        g_assert_true(environment_is_wanted(&first));
        g_assert_true(environment_is_wanted(&others[7].recipe));
        g_assert_false(environment_is_wanted(&(EnvironmentRecipe){ .requirements = "# none" }));
}

static bool drop(const char *key, gint64 since)
{
        g_autoptr(GError) error = NULL;
        bool gone;

        g_assert_true(environment_drop(envs, key, since, &gone, &error));
        g_assert_no_error(error);
        return gone;
}

/* An environment goes unless it was used since it was looked at, or is being built. */
static void test_drop(void)
{
        static const char key[] = "00112233445566778899aabbccddeeff";
        const EnvironmentConfig config = config_of(NULL);
        gint64 before = clock_now_ms() - 1000, after = clock_now_ms() + 60 * 1000;
        g_autofree char *dir = g_build_filename(envs, key, NULL), *venv = g_build_filename(dir, "venv", NULL),
                        *ready = g_build_filename(dir, "ready", NULL),
                        *lock = g_build_filename(dir, "lock", NULL);
        int fd;

        g_assert_false(environment_use(&config, key)); /* it is nowhere, and stays so */
        g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
        g_assert_true(file_mkdirs(venv, 0755, NULL));
        write_file(ready, "");
        write_file(lock, "");
        g_assert_true(environment_use(&config, key));
        g_assert_false(drop(key, before));
        fd = open(lock, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(flock(fd, LOCK_EX), ==, 0);
        g_assert_false(drop(key, after));
        close(fd);
        g_assert_true(drop(key, after));
        g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
        g_assert_false(environment_use(&config, key));
        g_assert_false(drop(key, after)); /* already */
}

/* A look writes nothing, and keeps what it found as a use does. */
static void test_look(void)
{
        static const char key[] = "ffeeddccbbaa99887766554433221100";
        const EnvironmentConfig config = config_of(NULL);
        gint64 before = clock_now_ms() - 1000, after = clock_now_ms() + 10 * 60 * 1000;
        g_autofree char *dir = g_build_filename(envs, key, NULL), *venv = g_build_filename(dir, "venv", NULL),
                        *ready = g_build_filename(dir, "ready", NULL),
                        *used = g_build_filename(dir, "used", NULL);
        bool touch = true;

        g_assert_false(environment_look(&config, key, &touch));
        g_assert_true(file_mkdirs(venv, 0755, NULL));
        write_file(ready, "");
        g_assert_true(environment_look(&config, key, &touch));
        g_assert_true(touch);
        g_assert_false(g_file_test(used, G_FILE_TEST_EXISTS));
        g_assert_true(environment_look(&config, key, &touch));
        g_assert_false(touch); /* only a moment later */
        g_assert_false(drop(key, before));
        g_assert_true(environment_look(&config, key, &touch));
        g_assert_true(drop(key, after));
        g_assert_false(environment_look(&config, key, &touch));
        g_assert_true(file_mkdirs(venv, 0755, NULL)); /* built again */
        write_file(ready, "");
        g_assert_true(environment_look(&config, key, &touch));
        g_assert_true(touch);
        g_assert_true(drop(key, after));
}

static void test_places(void)
{
        static const struct {
                const char *text;
                bool taken;
        } cases[] = {
                { "a==1\nb[x,y]>=2,<3 ; python_version >= \"3.8\" and sys_platform == 'linux'\n", true },
                { "a==1 --hash=sha256:0123abcd \\\n    --hash=sha256:4567\n", true },
                { "--no-binary :all:\n--only-binary=a,b\n--pre\n--prefer-binary\n--no-index\na", true },
                { "a~=1.0 # https://example.com/why", true },
                { "a @ http://h/a.tar.gz", false },
                { "a@http://h/a.tar.gz", false },
                { "a @ \\\nhttp://h/a", false },
                { "a \\\n@ file:a", false },
                { "http://h/a.whl", false },
                { "git+https://h/a", false },
                { "/a/b", false },
                { "a/b", false },
                { "a-1.0.tar.gz", false },
                { "a-1.0-py3-none-any.WHL", false },
                { "${INDEX}", false },
                { "-i http://h", false },
                { "-ihttp://h", false },
                { "--index-url=http://h", false },
                { "--index-\\\nurl=http://h", false },
                { "--extra-index-url http://h", false },
                { "-f h", false },
                { "--find-links=h", false },
                { "--trusted-host h", false },
                { "--pre --proxy p", false },
                { "a --config-settings x=/y", false },
                { "a --no-index=/x", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *strict = environment_normal(cases[i].text, false, &error);
                g_autofree char *free = environment_normal(cases[i].text, true, NULL);

                g_test_message("%s", cases[i].text);
                g_assert_true((strict != NULL) == cases[i].taken);
                g_assert_true(cases[i].taken || err_is(error, ERR_INVALID));
                g_assert_nonnull(free);
        }
}

static void test_needed(void)
{
        g_assert_false(environment_is_needed(NULL));
        g_assert_false(environment_is_needed(""));
        g_assert_false(environment_is_needed("# only words\n\n  \n   # more\n"));
        g_assert_true(environment_is_needed("# words\na\n"));
}

/* Logs as uv and pip write them. */
static const struct {
        const char *log, *says;
} failures[] = {
        { "ERROR: Could not find a version that satisfies the requirement nosuch==1 (from versions: none)\n"
          "ERROR: No matching distribution found for nosuch==1\n",
          "No matching distribution found for nosuch==1" },
        { "error: No solution found when resolving dependencies\n"
          "  cause: Because nosuch was not found in the package registry and you require nosuch==1, we can "
          "conclude that it fails.\n",
          "No solution found when resolving dependencies: Because nosuch was not found in the package "
          "registry and you require nosuch==1, we "
          "can conclude that it fails" },
        { "  × No solution found when resolving dependencies:\n  ╰─▶ Because a was not found in the package "
          "registry and you require\n"
          "      a==1, we can conclude that\n\nhint: something\n",
          "No solution found when resolving dependencies: Because a was not found in the package registry "
          "and you require a==1, we can conclude "
          "that" },
        { "error: Request failed after 3 retries in 8.2s\n  cause: Failed to fetch: http://h/simple/a/\n  "
          "cause: Connection refused (os error "
          "111)\n",
          "Request failed after 3 retries in 8.2s: Failed to fetch: http://h/simple/a/: Connection refused "
          "(os error 111)" },
        { "error: Failed to build `bad==1.0`\n  cause: The build backend returned an error\n\n  [stderr]\n  "
          "ModuleNotFoundError: No module\n",
          "Failed to build `bad==1.0`: The build backend returned an error" },
        { "The conflict is caused by:\n    The user requested a==1\nERROR: Cannot install a==1 and a==2 "
          "because these package versions have "
          "conflicting dependencies.\nERROR: ResolutionImpossible: for help visit a page\n",
          "Cannot install a==1 and a==2 because these package versions have conflicting dependencies" },
        { "paddle: a connection to 'cdn:443' was refused: a build\nerror: Request failed after 3 retries\n",
          "paddle: a connection to 'cdn:443' was refused: a build" },
        { "paddle: no way to 'pypi.lab:443': cannot connect to '192.0.2.1:443'\nERROR: No matching "
          "distribution found for "
          "a\n",
          "paddle: no way to 'pypi.lab:443': cannot connect to '192.0.2.1:443'" },
        { "ERROR: Invalid requirement: 'this is not' (from line 1 of w.txt)\n",
          "Invalid requirement: 'this is not' (from line 1 of w.txt)" },
        { "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\nERROR: "
          "other\n",
          "Could not install packages due to an OSError: [Errno 28] No space left on device" },
        { "== building 2026\nERROR: No matching distribution found for old==1\n== building 2027\nerror: "
          "Failed to fetch: x\n",
          "Failed to fetch: x" },
        { "something\nodd at last\n\n", "odd at last" },
        { "sh: 1: flock: not found\n", "sh: 1: flock: not found" },
        { "", "the environment could not be built, and the builder's log is empty" },
        { "error: of pip\n== setup: make -C ops\ncc op.c\nmake: *** [all] Error 1\n\n== setup ended: 2 make "
          "-C ops\n",
          "the setup command `make -C ops` ended with exit status 2: make: *** [all] Error 1" },
        { "== setup: sleep 9\n\n== setup ended: 137 sleep 9\n",
          "the setup command `sleep 9` was ended by signal 9" },
        { "== setup: false\n\n== setup ended: 1 false\n",
          "the setup command `false` ended with exit status 1" },
        { "== setup: x\nerror: shown\n== setup not kept: 'p' is neither a file, a link nor a directory\n",
          "the files of the setup cannot be kept: 'p' is neither a file, a link nor a directory" },
        { "bad \xff byte\n", "bad \xef\xbf\xbd byte" },
};

static void test_failure(void)
{
        g_autofree char *path = g_build_filename(scratch, "failure.log", NULL),
                        *none = g_build_filename(scratch, "no.log", NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(failures); i++) {
                g_autofree char *got = NULL;

                write_file(path, failures[i].log);
                got = environment_failure(path);
                g_assert_cmpstr(got, ==, failures[i].says);
        }
        g_autofree char *without = environment_failure(none);
        g_assert_cmpstr(without, ==, "the environment could not be built, and the builder's log is empty");

        g_autofree char *much = g_strnfill(200000, 'x');
        write_file(path, much);
        g_autofree char *shortened = environment_failure(path);
        g_assert_cmpint(g_utf8_strlen(shortened, -1), ==, 401); /* and an ellipsis */
}

int main(int argc, char **argv)
{
        int status;

        g_test_init(&argc, &argv, NULL);
        scratch = g_dir_make_tmp("test-environment-XXXXXX", NULL);
        envs = g_build_filename(scratch, "envs", NULL);
        links = g_build_filename(scratch, "links", NULL);
        g_assert_true(file_mkdirs(links, 0755, NULL) && file_mkdirs(envs, 0755, NULL));
        write_wheel(links);
        g_setenv("PIP_CONFIG_FILE", "/dev/null", TRUE);
        g_setenv("PIP_NO_INDEX", "1", TRUE);
        g_setenv("PIP_FIND_LINKS", links, TRUE); /* uv reads it only because we translate it */
        g_test_add_func("/environment/needed", test_needed);
        g_test_add_func("/environment/interpreter", test_interpreter);
        g_test_add_func("/environment/key", test_key);
        g_test_add_func("/environment/setup-key", test_setup_key);
        g_test_add_func("/environment/drop", test_drop);
        g_test_add_func("/environment/look", test_look);
        g_test_add_func("/environment/refused", test_refused);
        g_test_add_func("/environment/places", test_places);
        g_test_add_func("/environment/failure", test_failure);
        g_test_add_func("/environment/build-uv", test_build_uv);
        g_test_add_func("/environment/build-pip", test_build_pip);
        g_test_add_func("/environment/build-own-pip", test_build_own_pip);
        g_test_add_func("/environment/build-fails", test_build_fails);
        g_test_add_func("/environment/two-builders", test_two_builders);
        g_test_add_func("/environment/remains", test_remains);
        status = g_test_run();
        g_assert_true(file_remove_tree(scratch, NULL));
        g_free(scratch);
        g_free(envs);
        g_free(links);
        return status;
}
