/* Conditions: doc/reference/pipelines.md, "Conditions". */
#include "pipeline/condition.h"

#include <string.h>

#include "base/err.h"
#include "base/test/cpu-time.h"

enum { NO, YES, ERROR, BAD }; /* BAD: refused before it is evaluated, too */

static void test_values(void)
{
        static const struct {
                const char *text;
                int value;
        } cases[] = {
                { "", YES },
                { "10 > 0", YES }, /* C079 */
                { "10 < 0", NO },
                { "10 > 11", NO }, /* C080 */
                { "abc > def", NO },
                { "abc < def", YES },
                { "9 < 10", YES },
                { "'9' > '10'", YES },
                { "b[10,12,13,14]_1 == 10", BAD }, /* C082 */
                { "1 >", BAD },
                { "1>-5", BAD },
                { "1 > -5", YES },
                { "true", YES },
                { "!true", NO },
                { "True", ERROR }, /* a text */
                { "True == 'True'", YES },
                { "'10' == 10", NO },
                { "true == 'true'", NO },
                { "'10' != 10", YES },
                { "2 ** 3 ** 2 == 64", YES },
                { "-2 ** 2 == 4", YES },
                { "1 + 2 * 3 == 7", YES },
                { "(1 + 2) * 3 == 9", YES },
                { "7 % 4 == 3", YES },
                { "1 / 0 > 1000", YES },
                { "6 & 3 == 2", YES }, /* bits bind tighter than comparisons */
                { "6 | 3 == 7", YES },
                { "6 ^ 3 == 5", YES },
                { "1 << 4 == 16", YES },
                { "256 >> 4 == 16", YES },
                { "1 << 64 == 0", YES },
                { "~0 == -1", YES },
                { "0x1f == 31", YES },
                { "0x == 1", BAD },
                { ".5 + 1. == 1.5", YES },
                { "1.2.3 == 1", BAD },
                { "1e3 == 1000", BAD },
                { "'a' + 1 == 'a1'", YES },
                { "'a' + 1000000.5 == 'a1000000.5'", YES },
                { "true + 1 == 2", ERROR },
                { "1 + true == 2", ERROR },
                { "a < 1", ERROR },
                { "true && 1", ERROR },
                { "false && 1", NO },
                { "true || 1", YES },
                { "1 && true", ERROR },
                { "true && true || false", YES },
                { "true || false && false", YES },
                { "'x y' == 'x y'", YES },
                { "'x\\'y' == \"x\\'y\"", YES },
                { "'mixed\" == mixed", YES }, /* either quote ends a text */
                { "'open", BAD },
                { "[any text] == 'any text'", YES },
                { "[open", BAD },
                { "a]", BAD },
                { "größe == 'größe'", YES },
                { "a.B == 1", ERROR },
                { "a.b == 1", BAD },
                { "a. == 1", BAD },
                { "2 in (1, 2, 3)", YES },
                { "2 IN (1, 3)", NO },
                { "'b' in ('a', 'b')", YES },
                { "2 in (2)", ERROR },
                { "2 in 2", ERROR },
                { "1, 2", ERROR },
                { "(1, 2) == (1, 2)", YES },
                { "true ? false : true", NO },
                { "false ? 1 : true", YES },
                { "true ? true", YES },
                { "false ? true", ERROR }, /* nothing */
                { "1 ? true : false", ERROR },
                { "(false ? true) ?? true", YES },
                { "true ?? false", YES },
                { "false ? (1 > a) : true", YES }, /* the unused side has no types */
                { "'abc' =~ 'b.$'", YES },
                { "'abc' !~ '^b'", YES },
                { "'abc' =~ '('", BAD },
                { "'abc' =~ '(a)\\\\1'", BAD },
                { "'abc' =~ 'a(?=b)'", BAD },
                { "1 =~ 'a'", ERROR },
                { "'grün' =~ '^gr.n$'", YES },
                { "= 1", BAD },
                { "1 = 1", BAD },
                { "1 <> 1", BAD },
                { "!!true", BAD },
                { "! !true", BAD },
                { "true &&!false", BAD },
                { "true && !false", YES },
                { "-'a' == 1", BAD },
                { "!a", BAD },
                { "-(1) == -1", YES },
                { "!(1 > 2)", YES },
                { "-true == 1", ERROR },
                { "1 - -1 == 2", YES },
                { "1 2", BAD },
                { "a b", BAD },
                { "1 (2)", BAD },
                { "(1", BAD },
                { "1)", BAD },
                { "()", BAD },
                { "1 == (1,)", BAD },
                { "   ", BAD },
                { "in (1, 2)", BAD },
                { "a\\ b == 'a b'", YES },
                { "'2020-01-02' == '2020-01-02 00:00'", YES },
                { "'2020-01-02T00:00:00Z' == 1577923200", YES },
                { "'2020-01-02T01:00:00+01:00' == 1577923200", YES },
                { "'2020-01-02T00:00:00.5Z' == 1577923200", YES },
                { "'Thu Jan  2 00:00:00 UTC 2020' == 1577923200", YES },
                { "'Thu Jan 02 02:00:00 +0200 2020' == 1577923200", YES },
                { "'2020-01-02T00Z' == 1577923200", YES },
                { "'2019-02-29' == '2019-02-29'", YES }, /* no date, but equal texts */
                { "'2019-02-29' < 5", ERROR },
                { "'2020-02-29' > 5", YES },
                { "'3:04PM' > '3:04AM'", YES },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *fault = *cases[i].text ? condition_fault(cases[i].text) : NULL;
                bool value = false, ok = condition_eval(cases[i].text, &value, &error);

                g_test_message("%s: %s", cases[i].text, error ? error->message : value ? "true" : "false");
                g_assert_cmpint(fault != NULL, ==, cases[i].value == BAD);
                g_assert_cmpint(ok, ==, cases[i].value < ERROR);
                if (ok)
                        g_assert_cmpint(value, ==, cases[i].value);
                else
                        g_assert_true(err_is(error, ERR_INVALID));
        }
}

static void test_templates(void)
{
        static const struct {
                const char *text;
                bool ok;
        } cases[] = { { "{{num}} > 0", true },
                      { "'{{p}}' == 'x y'", true },
                      { "{{_p}} > 0", false },
                      { "{{p}}>-5", false },
                      { "{{a.b}} > 0", false } };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *fault = condition_fault(cases[i].text);

                g_assert_cmpint(fault == NULL, ==, cases[i].ok);
        }
}

static bool value_of(const char *text)
{
        g_autoptr(GError) error = NULL;
        bool value = false;

        (void)condition_eval(text, &value, &error);
        g_assert_no_error(error);
        return value;
}

static void assert_refused(const char *text)
{
        g_autoptr(GError) error = NULL;
        bool value;

        g_assert_false(condition_eval(text, &value, &error));
        g_test_message("%s", error->message);
}

/* Every text ends in a bounded time and memory. */
static void test_bounds(void)
{
        g_autofree char *open = g_strnfill(100000, '('), *a = g_strnfill(40000, 'a');
        g_autofree char *hang = g_strdup_printf("'%s' =~ '^(a+)+$b'", a);
        g_autofree char *nested = g_strdup_printf("'%s' =~ '(a|aa)+[bc]$'", a);
        g_autofree char *wide = g_strdup_printf("'%s' =~ '(a{1,30}b|a{1,40}c)+d'", a);
        g_autoptr(GString) chain = g_string_new("1"), joined = g_string_new("'"), many = g_string_new("true");

        for (int i = 0; i < 100000; i++)
                g_string_append(chain, " + 1");
        g_string_append(chain, " == 100001");
        g_assert_true(value_of(chain->str));
        g_string_append(joined, a);
        g_string_append(joined, "'");
        for (int i = 0; i < 20000; i++) {
                g_string_append(joined, " + 'a'");
                g_string_append(many, " && x =~ 'x'");
        }
        assert_refused(open);
        assert_refused(joined->str);
        g_assert_false(value_of(hang));
        g_assert_false(value_of(nested));
        assert_refused(wide);
        assert_refused(many->str);
}

/* The pattern of 900 bytes and the text of 8,000 characters took 9 seconds. */
static void test_work(void)
{
        g_autoptr(GString) text = g_string_new("'");
        gint64 began = thread_cpu_us();
        g_autoptr(GError) error = NULL;
        bool value;

        for (int i = 0; i < 8000; i++)
                g_string_append_c(text, 'a');
        g_string_append(text, "' =~ '");
        for (int i = 0; i < 225; i++)
                g_string_append(text, i ? "|a*b" : "a*b");
        g_string_append(text, "'");
        g_assert_false(condition_eval(text->str, &value, &error));
        g_assert_nonnull(strstr(error->message, "takes too long"));
        g_assert_cmpint(thread_cpu_us() - began, <, 5 * G_USEC_PER_SEC);
}

/* What a worker has to evaluate. */
static void test_searches(void)
{
        static const struct {
                const char *text;
                bool searches;
        } cases[] = { { "", false },          { "1 > 0", false },
                      { "a =~ b", true },     { "a !~ 'b'", true },
                      { "'=~' == x", false }, { "false && a =~ b", true },
                      { "a =~ '('", true },   { "(1 > 0) && (a =~ b)", true } };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(condition_searches(cases[i].text), ==, cases[i].searches);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/condition/values", test_values);
        g_test_add_func("/condition/templates", test_templates);
        g_test_add_func("/condition/bounds", test_bounds);
        g_test_add_func("/condition/work", test_work);
        g_test_add_func("/condition/searches", test_searches);
        return g_test_run();
}
