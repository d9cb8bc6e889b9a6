/* Programs that make definitions: words that name one, the limits of time and of text, ends without a message. What load.py
 * does is tested from outside (t/test_pipeline_programs.py). */
#include "cli/pipeline-program.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"

static void test_words(void)
{
        static const struct {
                const char *word, *file; /* file NULL: no program */
        } cases[] = {
                { "x.py", "x.py" },   { "d/x.py:name", "d/x.py" },
                { "x.yaml", NULL },   { "x.py/y", NULL },
                { "x:y", NULL },      { "-", NULL },
                { "a.py:b/c", NULL }, { "", NULL },
                { ".py:n", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *file = pipeline_program_file(cases[i].word);

                g_assert_cmpint(pipeline_program_is(cases[i].word), ==, cases[i].file != NULL);
                if (cases[i].file)
                        g_assert_cmpstr(file, ==, cases[i].file);
        }
}

/* A stand-in for python3 in PATH, a script for the shell, whose "$3" is the program, "$5" what it is for, and "$6" the directory. */
typedef struct {
        char *dir, *program;
        GError *error;
        char *text;
        gsize len;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer script)
{
        g_autofree char *python = NULL, *body = g_strdup_printf("#!/bin/sh\n%s\n", (const char *)script);

        fixture->dir = g_dir_make_tmp("paddle-program-XXXXXX", NULL);
        fixture->program = g_build_filename(fixture->dir, "x.py", NULL);
        python = g_build_filename(fixture->dir, "python3", NULL);
        g_assert_true(g_file_set_contents(fixture->program, "pipeline", -1, NULL));
        g_assert_true(g_file_set_contents_full(python, body, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
}

static void tear_down(Fixture *fixture, gconstpointer script)
{
        g_clear_error(&fixture->error);
        g_free(fixture->text);
        g_assert_true(file_remove_tree(fixture->dir, NULL));
        g_free(fixture->program);
        g_free(fixture->dir);
}

static bool run(Fixture *fixture, gint64 limit_ms)
{
        g_autofree char *path = g_strconcat(fixture->dir, ":/usr/bin:/bin", NULL),
                        *before = g_strdup(g_getenv("PATH"));
        const Discovery server = { .url = (char *)"http://h:1", .token = (char *)"secret" };
        const PipelineProgram how = { .server = &server, .directory = "d", .limit_ms = limit_ms };
        bool ok;

        g_setenv("PATH", path, TRUE);
        ok = pipeline_program_run(&how, fixture->program, &fixture->text, &fixture->len, &fixture->error);
        g_setenv("PATH", before, TRUE);
        return ok;
}

#define ENOUGH_MS 120000

static void test_text(Fixture *fixture, gconstpointer script)
{
        g_assert_true(run(fixture, ENOUGH_MS));
        g_assert_cmpstr(fixture->text, ==, "send d http://h:1 secret");
}

static void test_late(Fixture *fixture, gconstpointer script)
{
        g_assert_false(run(fixture, 100));
        g_assert_true(err_is(fixture->error, ERR_USAGE));
        g_assert_nonnull(
                strstr(fixture->error->message, "the program did not end within 100 ms, and was killed\n"));
}

static void test_end(void)
{
        static const struct {
                const char *script, *says;
                ErrCode code;
        } cases[] = {
                { "exit 5", "needs the module paddlecloud", ERR_USAGE },
                { "exit 7", "Python ended with status 7 before the pipeline was known", ERR_INVALID },
                { "kill -9 $$", "Python was killed by signal 9", ERR_INVALID },
                { "echo why; exit 2", "why\n", ERR_INVALID },
                { "echo refused; exit 3", "refused\n", ERR_DENIED },
                { "echo away; exit 4", "away\n", ERR_UNREACHABLE },
                { "printf 'broken\\377'; exit 1", "broken", ERR_FAILED },
                { "head -c 16777217 /dev/zero; exec sleep 1000", "its pipeline is longer than 16 MiB",
                  ERR_INVALID },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Fixture one = { 0 };

                set_up(&one, cases[i].script);
                g_assert_false(run(&one, ENOUGH_MS));
                g_assert_true(err_is(one.error, cases[i].code));
                g_assert_nonnull(strstr(one.error->message, cases[i].says));
                tear_down(&one, NULL);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline-program/words", test_words);
        g_test_add("/pipeline-program/text", Fixture, "printf \"$5 $6 $PADDLE_SERVER $PADDLE_TOKEN\"", set_up,
                   test_text, tear_down);
        g_test_add("/pipeline-program/late", Fixture, "exec sleep 1000", set_up, test_late, tear_down);
        g_test_add("/pipeline-program/late-after-output", Fixture, "exec >&-; exec sleep 1000", set_up,
                   test_late, tear_down);
        g_test_add_func("/pipeline-program/end", test_end);
        return g_test_run();
}
