/* Options that become fields of an object: every type, every error. */
#include "cli/field.h"

#include <string.h>

#include "base/err.h"

#define FIELDS(ROW)                                                                                          \
        ROW(0, "text", TEXT, "a_text", "TEXT", "x")                                                          \
        ROW(1, "number", NUMBER, "a_number", "N", "x")                                                       \
        ROW(2, "flag", SWITCH, "a_flag", NULL, "x")                                                          \
        ROW(3, "amounts", AMOUNTS, "amounts", "LIST", "x")                                                   \
        ROW(4, "label", LABELS, "labels", "K=V", "x")                                                        \
        ROW(5, "words", WORDS, "words", "LIST", "x")                                                         \
        ROW(6, "secret", SECRET, "secret", "TEXT", "x")

static const Field fields[] = { FIELDS(FIELD_ROW){ 0 } };
static const Option options[] = { FIELDS(FIELD_OPTION) COMMON_OPTIONS, { 0 } };

static const struct {
        const char *line;
        const char *body; /* NULL: refused */
        const char *says;
} cases[] = {
        { "", "{}", NULL },
        { "--text a", "{\"a_text\":\"a\"}", NULL },
        { "--text=", "{\"a_text\":null}", NULL },
        { "--number 0", "{\"a_number\":0}", NULL },
        { "--number -7", "{\"a_number\":-7}", NULL },
        { "--number=", "{\"a_number\":null}", NULL },
        { "--number 1.5", NULL, "--number: '1.5' is not a whole number" },
        { "--number 99999999999", NULL, "--number: '99999999999' is not a whole number" },
        { "--flag", "{\"a_flag\":true}", NULL },
        { "--no-flag", "{\"a_flag\":false}", NULL },
        { "--flag=false", "{\"a_flag\":false}", NULL },
        { "--amounts cpu=64,memory=256Gi,gpu=8",
          "{\"amounts\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"nvidia.com/gpu\":\"8\"}}", NULL },
        { "--amounts cpu=500m,rdma/hca=1", "{\"amounts\":{\"cpu\":\"500m\",\"rdma/hca\":\"1\"}}", NULL },
        { "--amounts cpu=", "{\"amounts\":{\"cpu\":null}}", NULL },
        { "--amounts=", "{\"amounts\":null}", NULL },
        { "--amounts cpu", NULL, "--amounts: 'cpu' is not NAME=AMOUNT" },
        { "--amounts cpu=1,", NULL, "--amounts: '' is not NAME=AMOUNT" },
        { "--amounts cpu=1,cpu=2", NULL, "--amounts: 'cpu' is given twice" },
        { "--amounts gpu=1,nvidia.com/gpu=2", NULL, "is given twice" },
        { "--amounts cpu=-1", NULL, "--amounts: cpu: '-1'" },
        { "--amounts memory=9999999Ei", NULL, "--amounts: memory: '9999999Ei'" },
        { "--label a=b --label c=", "{\"labels\":{\"a\":\"b\",\"c\":\"\"}}", NULL },
        { "--label=", "{\"labels\":null}", NULL },
        { "--label a", NULL, "--label: 'a' is not KEY=VALUE" },
        { "--label =b", NULL, "--label: '=b' is not KEY=VALUE" },
        { "--words a,b", "{\"words\":[\"a\",\"b\"]}", NULL },
        { "--words=", "{\"words\":null}", NULL },
        { "--secret abc", "{\"secret\":\"YWJj\"}", NULL },
        { "--secret @/nonexistent", NULL, "--secret: " },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) argv = g_strsplit(cases[i].line, " ", -1), rest = NULL;
                g_autoptr(json_t) body = json_object(), wanted = NULL;
                g_autoptr(GError) error = NULL;
                FieldTarget target = { 0 };
                bool any = false, ok;

                g_test_message("%s", cases[i].line);
                ok = options_parse(options, &target, (int)g_strv_length(argv) - !*cases[i].line, argv, false,
                                   &rest, &error) &&
                     fields_put(fields, &target, body, &any, &error);
                options_clear(options, &target);
                if (!cases[i].body) {
                        g_assert_false(ok);
                        g_assert_true(err_is(error, ERR_USAGE));
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                g_assert_no_error(error);
                wanted = json_parse(cases[i].body, strlen(cases[i].body), NULL);
                g_assert_true(json_equal(body, wanted));
                g_assert_cmpint(any, ==, *cases[i].line != 0);
        }
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/field/cases", test_cases);
        return g_test_run();
}
