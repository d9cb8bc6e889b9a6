/* Label selectors: what they select, what is refused, that what is written is read. */
#include "kube/selector.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"

static json_t *labelled(const char *labels)
{
        g_autofree char *text = g_strdup_printf("{\"metadata\":{\"labels\":{%s}}}", labels);
        json_t *object = json_parse(text, strlen(text), NULL);

        g_assert_nonnull(object);
        return object;
}

#define AB "\"a\":\"b\""

static void test_matches(void)
{
        static const struct {
                const char *text, *labels;
                bool fits;
        } cases[] = {
                { "", AB, true },
                { " ", "", true },
                { "a=b", AB, true },
                { "a==b", AB, true },
                { " a = b ", AB, true },
                { "a=c", AB, false },
                { "a=", AB, false },
                { "a=", "\"a\":\"\"", true },
                { "a!=b", AB, false },
                { "a!=c", AB, true },
                { "x!=c", AB, true },
                { "a", AB, true },
                { "x", AB, false },
                { "!a", AB, false },
                { "! x", AB, true },
                { "a in (x, b)", AB, true },
                { "a in(b)", AB, true },
                { "a in (x)", AB, false },
                { "a in (,x)", "\"a\":\"\"", true },
                { "x in (b)", AB, false },
                { "a notin (x,y)", AB, true },
                { "a notin (b)", AB, false },
                { "x notin (b)", AB, true },
                { "a=b,c", AB, false },
                { "a=b,c", AB ",\"c\":\"\"", true },
                { "a in (b,c),!x,y!=z", AB, true },
                { "in=in", "\"in\":\"in\"", true },
                { "example.org/a=b", "\"example.org/a\":\"b\"", true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(KubeSelector) selector = kube_selector_parse(cases[i].text, &error);
                g_autoptr(json_t) object = labelled(cases[i].labels);

                g_assert_no_error(error);
                g_autofree char *text = kube_selector_format(selector);
                g_autoptr(KubeSelector) again = kube_selector_parse(text, &error);
                g_assert_no_error(error);
                g_assert_cmpint(kube_selector_matches(selector, object), ==, cases[i].fits);
                g_assert_cmpint(kube_selector_matches(again, object), ==, cases[i].fits);
        }
}

static void test_refused(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { ",", "'' is no label name" },
                { "a,", "'' is no label name" },
                { "=b", "'' is no label name" },
                { "-a=b", "'-a' is no label name" },
                { "A.org/a=b", "'A.org/a' is no label name" },
                { "a/b/c", "'a/b/c' is no label name" },
                { "/a", "'/a' is no label name" },
                { "a=b c", "has 'c' where ',' is expected" },
                { "a=b=c", "has '=c' where ',' is expected" },
                { "a=-", "'-' is no label value" },
                { "a in b", "'(' is missing before 'b'" },
                { "a in (b", "')' is missing before ''" },
                { "a in (b c)", "')' is missing before 'c)'" },
                { "a near (b)", "'near' is none of" },
                { "a>5", "'>5' is none of" },
                { "!a=b", "has '=b' where ',' is expected" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                KubeSelector *selector = kube_selector_parse(cases[i].text, &error);

                g_assert_null(selector);
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                if (!strstr(error->message, cases[i].says))
                        g_error("'%s' is not in '%s'", cases[i].says, error->message);
        }
        g_autofree char *long_name = g_strnfill(64, 'a'), *long_text = g_strnfill(KUBE_SELECTOR_MAX + 1, 'a');
        g_assert_false(kube_label_name_is_valid(long_name));
        g_assert_false(kube_label_value_is_valid(long_name));
        g_assert_true(kube_label_value_is_valid(long_name + 1));
        g_assert_null(kube_selector_parse(long_text, NULL));
}

static void test_objects(void)
{
        static const struct {
                const char *object, *text; /* text NULL: refused, "nothing": it selects nothing */
        } cases[] = {
                { "{}", "" },
                { "{\"matchLabels\":{\"a\":\"b\",\"c\":\"\"}}", "a=b,c=" },
                { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\",\"c\"]},{"
                  "\"key\":\"d\","
                  "\"operator\":\"NotIn\",\"values\":[\"e\"]},{\"key\":\"f\",\"operator\":\"Exists\"},{"
                  "\"key\":\"g\","
                  "\"operator\":\"DoesNotExist\",\"values\":[]}]}",
                  "a in (b,c),d notin (e),f,!g" },
                { "null", "nothing" },
                { "[]", NULL },
                { "{\"matchLabels\":{\"a\":1}}", NULL },
                { "{\"matchLabels\":{\"-\":\"\"}}", NULL },
                { "{\"matchExpressions\":[1]}", NULL },
                { "{\"matchExpressions\":[{\"key\":\"a\"}]}", NULL },
                { "{\"matchExpressions\":[{\"operator\":\"Exists\"}]}", NULL },
                { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}", NULL },
                { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[1]}]}", NULL },
                { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"x\"]}]}",
                  NULL },
        };
        g_autoptr(json_t) any = labelled(AB);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) object = json_parse(cases[i].object, strlen(cases[i].object), NULL);
                g_autoptr(KubeSelector) selector = kube_selector_from_object(object, &error);

                g_assert_cmpint(selector != NULL, ==, cases[i].text != NULL);
                if (!selector) {
                        g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                        continue;
                }
                g_autofree char *text = kube_selector_format(selector);
                g_assert_cmpstr(text ? text : "nothing", ==, cases[i].text);
                if (!text)
                        g_assert_false(kube_selector_matches(selector, any));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/selector/matches", test_matches);
        g_test_add_func("/kube/selector/refused", test_refused);
        g_test_add_func("/kube/selector/objects", test_objects);
        return g_test_run();
}
