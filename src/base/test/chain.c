/* The check of a chained log finds every modification. */
#include "base/chain.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"

enum { LINES = 6 };

typedef char Scratch;
static void scratch_free(Scratch *dir)
{
        (void)file_remove_tree(dir, NULL);
        g_free(dir);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scratch, scratch_free)

static void put(const char *dir, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Two files of three lines. */
static Scratch *make_log(ChainHead *ret)
{
        Scratch *dir = g_dir_make_tmp("chain-XXXXXX", NULL);
        ChainHead head = CHAIN_START;

        for (int file = 0; file < 2; file++) {
                g_autoptr(GString) text = g_string_new(NULL);
                g_autofree char *name = chain_file_name(head.seq + 1);

                for (int i = 0; i < LINES / 2; i++) {
                        g_autofree char *fields = g_strdup_printf("\"what\":\"thing %d\"", (int)head.seq + 1);

                        chain_append(&head, fields, text);
                }
                put(dir, name, text->str);
        }
        g_autofree char *shown = chain_head_format(&head);
        put(dir, CHAIN_HEAD, shown);
        *ret = head;
        return dir;
}

static char *file_of(const char *dir, int which)
{
        g_autofree char *name = chain_file_name(which == 0 ? 1 : LINES / 2 + 1);

        return g_build_filename(dir, name, NULL);
}

static void check(const char *dir, const ChainHead *kept, const char *says)
{
        g_auto(ChainReport) report = { 0 };
        g_autoptr(GError) error = NULL;

        g_assert_true(chain_check(dir, kept, &report, &error));
        g_assert_no_error(error);
        if (!says) {
                if (report.n_problems)
                        g_error("it says: %s", (char *)report.problems->pdata[0]);
                return;
        }
        for (guint i = 0; i < report.problems->len; i++)
                if (strstr(report.problems->pdata[i], says))
                        return;
        g_error("none of %d problems says '%s', the first: %s", (int)report.n_problems, says,
                report.problems->len ? (char *)report.problems->pdata[0] : "-");
}

static void test_good(void)
{
        ChainHead head, third;
        g_autoptr(Scratch) dir = make_log(&head);
        g_auto(ChainReport) report = { 0 };

        g_assert_true(chain_check(dir, &head, &report, NULL));
        g_assert_cmpint(report.n_problems, ==, 0);
        g_assert_cmpint(report.lines, ==, LINES);
        g_assert_cmpint(report.files, ==, 2);
        g_assert_cmpint(report.first, ==, 1);
        g_assert_cmpstr(report.last.hash, ==, head.hash);
        g_autofree char *shown = chain_head_format(&head);
        g_assert_true(chain_head_parse(shown, &third, NULL));
        g_assert_cmpint(third.seq, ==, LINES);
}

/* The modifications of a file of three lines: the line that replaces each; -1: none. */
static const struct {
        const char *name;
        int file, order[4];
        const char *says;
} moves[] = {
        { "removed", 0, { 0, 2, -1 }, "lines 2 to 2 are missing" },
        { "removed at the start", 0, { 1, 2, -1 }, "lines 1 to 1 are missing at the beginning" },
        { "reordered", 0, { 1, 0, 2, -1 }, "comes after line" },
        { "doubled", 1, { 0, 0, 1, 2 }, "line 4 comes after line 4" },
        { "cut at the end", 1, { 0, 1, -1 }, "lines 6 to 6 are missing at the end" },
        { "a file's end", 0, { 0, 1, -1 }, "lines 3 to 3 are missing" },
};

static void test_moves(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(moves); i++) {
                ChainHead head;
                g_autoptr(Scratch) dir = make_log(&head);
                g_autofree char *path = file_of(dir, moves[i].file), *text = NULL;
                g_autoptr(GString) now = g_string_new(NULL);
                g_auto(GStrv) lines = NULL;

                g_test_message("%s", moves[i].name);
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                lines = g_strsplit(text, "\n", -1);
                for (int at = 0; at < 4 && moves[i].order[at] >= 0; at++)
                        g_string_append_printf(now, "%s\n", lines[moves[i].order[at]]);
                g_assert_true(g_file_set_contents(path, now->str, -1, NULL));
                check(dir, NULL, moves[i].says);
        }
}

/* A byte of each line, also of the last one; also with the sequence number corrected. */
static void test_changed(void)
{
        static const char *const says[LINES] = { "line 2 does not follow", "line 3 does not follow",
                                                 "line 4 does not follow", "line 5 does not follow",
                                                 "line 6 does not follow", "line 6 is not the one" };

        for (int line = 0; line < LINES; line++) {
                ChainHead head;
                g_autoptr(Scratch) dir = make_log(&head);
                g_autofree char *path = file_of(dir, line / (LINES / 2)), *text = NULL;
                g_autofree char *mark = g_strdup_printf("thing %d", line + 1);

                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                *strstr(text, mark) = 'T';
                g_assert_true(g_file_set_contents(path, text, -1, NULL));
                check(dir, NULL, says[line]);
        }
}

static void test_inserted(void)
{
        ChainHead head, at = CHAIN_START;
        g_autoptr(Scratch) dir = make_log(&head);
        g_autofree char *path = file_of(dir, 0), *text = NULL;
        g_autoptr(GString) now = g_string_new(NULL);
        gsize first;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        first = strcspn(text, "\n");
        g_assert_true(chain_read_line(text, first, NULL, NULL, &at));
        g_string_append_len(now, text, (gssize)first + 1);
        chain_append(&at, "\"what\":\"forged\"", now); /* a valid continuation */
        g_string_append(now, text + first + 1);
        g_assert_true(g_file_set_contents(path, now->str, -1, NULL));
        check(dir, NULL, "line 2 comes after line 2");
}

static void test_truncated(void)
{
        ChainHead head;
        g_autoptr(Scratch) dir = make_log(&head);
        g_autofree char *path = file_of(dir, 1), *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        text[strlen(text) - 9] = '\0';
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        check(dir, NULL, "ends in the middle of a line");
        check(dir, NULL, "lines 6 to 6 are missing at the end");
}

/* After the head a server may be writing. */
static void test_being_written(void)
{
        ChainHead head;
        g_autoptr(Scratch) dir = make_log(&head);
        g_autofree char *path = file_of(dir, 1), *text = NULL, *more = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        more = g_strconcat(text, "{\"seq\":7,\"prev\"", NULL);
        g_assert_true(g_file_set_contents(path, more, -1, NULL));
        check(dir, NULL, NULL);
}

/* A complete rewrite is found only with a copy of the head that was stored elsewhere. */
static void test_rewritten(void)
{
        ChainHead head, other = CHAIN_START;
        g_autoptr(Scratch) dir = make_log(&head);
        g_autofree char *first = file_of(dir, 0), *second = file_of(dir, 1), *shown = NULL;
        g_autoptr(GString) text = g_string_new(NULL);

        for (int i = 0; i < LINES; i++)
                chain_append(&other, "\"what\":\"another story\"", text);
        g_unlink(second);
        g_assert_true(g_file_set_contents(first, text->str, -1, NULL));
        shown = chain_head_format(&other);
        put(dir, CHAIN_HEAD, shown);
        check(dir, NULL, NULL);
        check(dir, &head, "is not the one that the head that was kept names");
        head.seq = LINES + 1;
        check(dir, &head, "is missing at the end");
}

static void test_dropped(void)
{
        ChainHead head;
        g_autoptr(Scratch) dir = make_log(&head);
        g_autofree char *first = file_of(dir, 0), *second = file_of(dir, 1), *text = NULL, *shown = NULL;
        g_autoptr(GString) more = NULL;

        g_unlink(first);
        check(dir, NULL, "lines 1 to 3 are missing at the beginning");
        g_assert_true(g_file_get_contents(second, &text, NULL, NULL));
        more = g_string_new(text);
        chain_append(&head, "\"dropped_through\":3", more);
        g_assert_true(g_file_set_contents(second, more->str, -1, NULL));
        shown = chain_head_format(&head);
        put(dir, CHAIN_HEAD, shown);
        check(dir, NULL, NULL);
}

static void test_heads(void)
{
        static const char *const wrong[] = { "", "1", "1:", "x:00", "-1:0000", "1:zz", ":" };
        ChainHead head;

        for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_false(chain_head_parse(wrong[i], &head, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/chain/good", test_good);
        g_test_add_func("/chain/moves", test_moves);
        g_test_add_func("/chain/changed", test_changed);
        g_test_add_func("/chain/inserted", test_inserted);
        g_test_add_func("/chain/truncated", test_truncated);
        g_test_add_func("/chain/being-written", test_being_written);
        g_test_add_func("/chain/rewritten", test_rewritten);
        g_test_add_func("/chain/dropped", test_dropped);
        g_test_add_func("/chain/heads", test_heads);
        return g_test_run();
}
