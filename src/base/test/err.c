/* The table of error codes is complete, and as doc/guide/rest.md and the command line document it. */
#include "base/err.h"

#include <errno.h>

static const struct {
        ErrCode code;
        const char *word;
        int http, exit;
} rows[] = {
        { ERR_FAILED, "failed", 500, 1 },
        { ERR_INVALID, "invalid", 400, 2 },
        { ERR_UNAUTHENTICATED, "unauthenticated", 401, 3 },
        { ERR_DENIED, "denied", 403, 3 },
        { ERR_NOT_FOUND, "not_found", 404, 1 },
        { ERR_EXISTS, "exists", 409, 3 },
        { ERR_CONFLICT, "conflict", 409, 1 },
        { ERR_GONE, "gone", 410, 1 },
        { ERR_TOO_LARGE, "too_large", 413, 1 },
        { ERR_QUOTA, "quota", 429, 3 },
        { ERR_UNAVAILABLE, "unavailable", 503, 1 },
        { ERR_UNREACHABLE, "unreachable", 502, 4 },
        { ERR_STALE, "stale", 412, 1 },
        { ERR_NO_SPACE, "no_space", 507, 1 },
        { ERR_TIMEOUT, "timeout", 504, 1 },
        { ERR_USAGE, "usage", 400, 2 },
        { ERR_METHOD, "method", 405, 2 },
        { ERR_SECOND_FACTOR, "second_factor", 401, 3 },
};

static void test_table(void)
{
        g_assert_cmpint(G_N_ELEMENTS(rows), ==, ERR_CODES);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;
                const ErrRow *row;

                g_assert_false(err_set(&error, rows[i].code, "no"));
                row = err_row(error);
                g_assert_cmpstr(row->word, ==, rows[i].word);
                g_assert_cmpint(row->http, ==, rows[i].http);
                g_assert_cmpint(row->exit, ==, rows[i].exit);
                g_assert_cmpint(row->sys, >, 0);
                g_assert_cmpint(row->grpc, >, 0);
                g_assert_cmpint(err_from_word(rows[i].word), ==, rows[i].code);
                g_assert_true(err_is(error, rows[i].code));
        }
}

/* Copies and prefixes keep the wait; most errors have none. */
static void test_wait(void)
{
        g_autoptr(GError) error = NULL, copy = NULL, plain = NULL;

        g_assert_false(err_set(&error, ERR_QUOTA, "too fast"));
        g_assert_cmpint(err_wait_s(error), ==, 0);
        g_assert_false(err_add_wait(&error, 7));
        g_assert_false(err_prefix(&error, "it is "));
        copy = g_error_copy(error);
        g_assert_cmpint(err_wait_s(copy), ==, 7);
        g_assert_cmpstr(copy->message, ==, "it is too fast");
        plain = g_error_new(G_FILE_ERROR, G_FILE_ERROR_NOENT, "elsewhere");
        g_assert_false(err_add_wait(&plain, 7));
        g_assert_cmpint(err_wait_s(plain), ==, 0);
        g_assert_cmpint(err_wait_s(NULL), ==, 0);
}

static void test_shown(void)
{
        static const struct {
                const char *text, *shown;
        } texts[] = {
                { "Zürich", "Zürich" },
                { "a\n\x01\"b", "a\\n\\001\\\"b" },
                { "\xff", "\\377" },
        };
        g_autoptr(GError) error = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autofree char *shown = err_shown(texts[i].text);

                g_assert_cmpstr(shown, ==, texts[i].shown);
        }
        g_assert_false(err_set(&error, ERR_INVALID, "'%.2s'", "Zü"));
        g_assert_cmpstr(error->message, ==, "'Z\xef\xbf\xbd'");
}

/* Control characters from outside are replaced; the newline before the hint is kept. */
static void test_control_characters(void)
{
        g_autoptr(GError) error = NULL;

        err_set(&error, ERR_INVALID, "name: '%s'\nhint", "a\x1b[2J\t\x7f\xc2\x9b\xc3\xa9");
        g_assert_cmpstr(error->message, ==, "name: 'a?[2J\?\?\?\?\xc3\xa9'\nhint");
}

static void test_foreign(void)
{
        g_autoptr(GError) error = g_error_new(G_FILE_ERROR, G_FILE_ERROR_NOENT, "elsewhere");

        g_assert_cmpstr(err_row(error)->word, ==, "failed");
        g_assert_cmpstr(err_row(NULL)->word, ==, "failed");
        g_assert_cmpint(err_from_word("nonsense"), ==, ERR_FAILED);
        g_assert_cmpint(err_from_word(NULL), ==, ERR_FAILED);
        g_assert_false(err_is(error, (ErrCode)G_FILE_ERROR_NOENT));
}

static void test_errno(void)
{
        static const struct {
                int err;
                ErrCode code;
        } cases[] = {
                { ENOENT, ERR_NOT_FOUND }, { EEXIST, ERR_EXISTS },     { EACCES, ERR_DENIED },
                { ENOSPC, ERR_NO_SPACE },  { EINVAL, ERR_INVALID },    { ECONNREFUSED, ERR_UNREACHABLE },
                { EIO, ERR_FAILED },       { ETIMEDOUT, ERR_TIMEOUT }, { EMFILE, ERR_UNAVAILABLE },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(err_from_errno(cases[i].err), ==, cases[i].code);
}

static void test_text_and_hint(void)
{
        static const struct {
                const char *message, *line;
        } lines[] = {
                { "", "" },
                { "no context 'a'", "no context 'a'" },
                { "no context 'a'\nThere are: b, c.", "no context 'a'. There are: b, c." },
                { "lacking:\n  numpy\n\n  scipy\n", "lacking: numpy. scipy" },
        };
        g_autoptr(GError) error = NULL, bare = NULL;
        g_autofree char *text = NULL;

        err_set_errno(&error, ENOENT, "cannot open '%s'", "/x");
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_cmpstr(error->message, ==, "cannot open '/x': No such file or directory");
        g_assert_null(err_hint(error));

        err_set(&bare, ERR_EXISTS, "job 'a' is taken\nCancel it.");
        g_assert_false(err_prefix(&bare, "job file '%s': ", "j.yaml"));
        text = err_text(bare);
        g_assert_cmpstr(text, ==, "job file 'j.yaml': job 'a' is taken");
        g_assert_cmpstr(err_hint(bare), ==, "Cancel it.");
        g_assert_false(err_set(NULL, ERR_FAILED, "nobody listens"));
        g_assert_false(err_prefix(NULL, "x"));
        g_assert_null(err_text(NULL));
        g_assert_null(err_line(NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_autofree char *line = err_line(lines[i].message);

                g_assert_cmpstr(line, ==, lines[i].line);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/err/table", test_table);
        g_test_add_func("/err/control-characters", test_control_characters);
        g_test_add_func("/err/wait", test_wait);
        g_test_add_func("/err/shown", test_shown);
        g_test_add_func("/err/foreign", test_foreign);
        g_test_add_func("/err/errno", test_errno);
        g_test_add_func("/err/text-and-hint", test_text_and_hint);
        return g_test_run();
}
