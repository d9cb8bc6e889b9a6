/* Words in messages. */
#include "base/word.h"

static void test_distance(void)
{
        static const struct {
                const char *a, *b;
                int far;
        } rows[] = {
                { "", "", 0 },           { "a", "", 1 },          { "", "abc", 3 },
                { "train", "train", 0 }, { "train", "trin", 1 },  { "train", "trains", 1 },
                { "train", "brain", 1 }, { "trian", "train", 1 }, { "lsit", "init", 2 },
                { "lsit", "list", 1 },   { "ab", "ba", 1 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                g_assert_cmpint(word_distance(rows[i].a, rows[i].b), ==, rows[i].far);
}

static void test_nearest(void)
{
        static const char *const files[] = { "data.py", "train.py", "trains.py", NULL };
        static const struct {
                const char *word, *near;
        } rows[] = {
                { "trian.py", "train.py" }, { "train.py", "train.py" },
                { "dta.py", "data.py" },    { "x", NULL },
                { "something else", NULL }, { "", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                g_assert_cmpstr(word_nearest(rows[i].word, files), ==, rows[i].near);
}

static void test_count(void)
{
        static const struct {
                gint64 n;
                const char *noun, *text;
        } rows[] = {
                { 0, "job", "0 jobs" },
                { 1, "job", "1 job" },
                { 2, "job", "2 jobs" },
                { 1, "GPU", "1 GPU" },
                { 8, "GPU", "8 GPUs" },
                { 1, "directory", "1 directory" },
                { 3, "directory", "3 directories" },
                { 2, "day", "2 days" },
                { 2, "process", "2 processes" },
                { 2, "parameter server", "2 parameter servers" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = count_format(rows[i].n, rows[i].noun);

                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/word/distance", test_distance);
        g_test_add_func("/word/nearest", test_nearest);
        g_test_add_func("/word/count", test_count);
        return g_test_run();
}
