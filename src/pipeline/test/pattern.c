/* Regular expressions of conditions: which are taken, what they find, and that their work is bounded. The syntax is that
 * of RE2. */
#include "pipeline/pattern.h"

#include <string.h>

#include "base/err.h"

static void test_syntax(void)
{
        static const struct {
                const char *pattern, *fault; /* NULL: it is taken */
        } cases[] = {
                { "", NULL },
                { "a|b*c+?d{2}e{2,}f{1,3}?g{,2}h{x}", NULL },
                { "(a)(?:b)(?i:c)(?i)(?s-m:d)(?P<n>e)(?<n2>f)", NULL },
                { "[]a][^]a][a\\]b][[:alpha:]_]\\p{Greek}\\pN\\x{10ffff}", NULL },
                { "\\Qa(b\\E(c)\\Qd(", NULL },
                { "\\d\\D\\s\\S\\w\\W\\b\\B\\A\\z\\.\\n\\t", NULL },
                { "(a)\\1", "has a reference to a group" },
                { "(?P<n>a)\\k<n>", "has a reference to a group" },
                { "(a)\\g1", "has a reference to a group" },
                { "(?=a)", "looks ahead or back, or calls itself" },
                { "(?!a)", "looks ahead or back, or calls itself" },
                { "(?<=a)", "looks ahead or back, or calls itself" },
                { "(?<!a)", "looks ahead or back, or calls itself" },
                { "(?>a)", "looks ahead or back, or calls itself" },
                { "(a)(?1)", "looks ahead or back, or calls itself" },
                { "(a(?+1))(b)", "looks ahead or back, or calls itself" },
                { "(?R)?", "looks ahead or back, or calls itself" },
                { "(?P>n)(?P<n>a)", "looks ahead or back, or calls itself" },
                { "(?P<n>a)(?P=n)", "looks ahead or back, or calls itself" },
                { "(?<n>a)(?&n)", "looks ahead or back, or calls itself" },
                { "(a)(?(1)b)", "looks ahead or back, or calls itself" },
                { "(?|(a)|(b))", "looks ahead or back, or calls itself" },
                { "(?C1)a", "looks ahead or back, or calls itself" },
                { "(?#text)a", "looks ahead or back, or calls itself" },
                { "(?x) a", "looks ahead or back, or calls itself" },
                { "(*LIMIT_MATCH=1)a", "has '(*'" },
                { "(*positive_lookahead:a)", "has '(*'" },
                { "a\\Kb", "has an escape that is not part of the language" },
                { "\\C", "has an escape that is not part of the language" },
                { "a*+", "has a repeat of a repeat" },
                { "a**", "has a repeat of a repeat" },
                { "a{2}{3}", "has a repeat of a repeat" },
                { "a{1001}", "repeats something more than 1000 times" },
                { "((a{100}){100}){100}", "has too many repeats" },
                { "(a", "has '(' without ')'" },
                { "a)", "has ')' without '('" },
                { "a)|(b", "has ')' without '('" },
                { "[a", "is not a regular expression" },
                { "*a", "is not a regular expression" },
                { "a\\", "is not a regular expression" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                bool found, ok = pattern_search(cases[i].pattern, "", &found, &error);

                g_test_message("%s: %s", cases[i].pattern, error ? error->message : "taken");
                g_assert_cmpint(ok, ==, cases[i].fault == NULL);
                if (!ok)
                        g_assert_cmpstr(error->message, ==, cases[i].fault);
        }
}

static void test_search(void)
{
        static const struct {
                const char *pattern, *text;
                bool found;
        } cases[] = {
                { "", "", true },
                { "b", "abc", true },
                { "^b", "abc", false },
                { "c$", "abc", true },
                { "c$", "abc\n", false },
                { "(?m)^b$", "a\nb\nc", true },
                { "a.c", "a\nc", false },
                { "(?s)a.c", "a\nc", true },
                { "a|b$", "xb", true },
                { "B", "abc", false },
                { "(?i)B", "abc", true },
                { "gr.n$", "grün", true },
                { "x{3}", "axxb", false },
                { "x{3}", "axxxb", true },
                { "\\bb\\b", "a b c", true },
                { "^$", "a", false },
                { "\\Qa.c\\E", "abc", false },
                { "\\Qa.c", "xa.cx", true },
                { "^[^b]*$", "abc", false },
                { "^é+$", "éé", true },
                { "^\\Qa.\\E+$", "a..", true },
                { "^(?m:a$)", "a\nb", true },
                { "(?m:^b)$", "a\nb\n", false },
                { "\\x{e9}{2}", "éé", true },
                { "\\pL+1", "é1", true },
                { "[a\\]]+b", "]b", true },
                { "(a|b)+?c", "abc", true },
                { "a{2,}b", "ab", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                bool found = !cases[i].found;

                g_test_message("%s in %s", cases[i].pattern, cases[i].text);
                g_assert_true(pattern_search(cases[i].pattern, cases[i].text, &found, &error));
                g_assert_no_error(error);
                g_assert_cmpint(found, ==, cases[i].found);
        }
}

/* Each repeat is written out, and a text costs the square of the places for each of its bytes. */
static void test_work(void)
{
        g_assert_cmpuint(pattern_places("a{100}", NULL), >=, 100);
        g_assert_cmpuint(pattern_places("(ab){100}", NULL), >=, 200);
        g_assert_cmpuint(pattern_places("((a{10}){10}){10}", NULL), >=, 1000);
        g_assert_cmpuint(pattern_places("abc", NULL), <, 30);
        g_assert_cmpuint(pattern_work(100, 1000), >=, 100 * 100 * 1000);
}

/* The time is in proportion to the text, also where going back would take forever. Minutes if it were not. */
static void test_time(void)
{
        static const char *const patterns[] = { "^(a+)+$",       "(a|aa)+[bc]$", "(a*)*b",
                                                "(a+){1,20}b",   ".*a.*a.*a.*b", "a{1,50}b",
                                                "([ab]+|a?b)+c", "(?:a+a+)+b" };
        g_autofree char *text = g_strnfill(40000, 'a');
        bool found;

        text[39999] = '!';
        for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
                gint64 began = g_get_monotonic_time();

                g_assert_true(pattern_search(patterns[i], text, &found, NULL));
                g_assert_false(found);
                g_test_message("%s: %d ms, at most %d allowed", patterns[i],
                               (int)((g_get_monotonic_time() - began) / 1000),
                               (int)(pattern_work(pattern_places(patterns[i], NULL), 40000) / 1000000));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pattern/syntax", test_syntax);
        g_test_add_func("/pattern/search", test_search);
        g_test_add_func("/pattern/work", test_work);
        g_test_add_func("/pattern/time", test_time);
        return g_test_run();
}
