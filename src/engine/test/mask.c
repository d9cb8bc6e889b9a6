/* Secrets in the line of a member's output that a reason quotes. */
#include "engine/mask.h"

#include <string.h>

#define TOKEN "correct-horse-battery-staple"

static const struct {
        const char *line, *value, *says;
} rows[] = {
        { "KeyError: 'lr'", TOKEN, "KeyError: 'lr'" },
        { "token=" TOKEN " was refused", TOKEN, "token=*** was refused" },
        { TOKEN TOKEN, TOKEN, "***" },
        { TOKEN " and " TOKEN, TOKEN, "*** and ***" },
        { "of a file: " TOKEN, TOKEN "\n", "of a file: ***" },
        { "a part: battery-staple", TOKEN, "a part: ***" },
        { "horse", TOKEN, "horse" }, /* too little of it to be one */
        /* a line of 200 characters that was cut within the value */
        { "token=correct-horse-b…", TOKEN, "token=***…" },
        { "token=corr…", TOKEN, "token=***…" },
        /* short ones are found whole */
        { "pin 9071 is wrong", "9071", "pin *** is wrong" },
        { "pin 907 is wrong", "9071", "pin 907 is wrong" },
        { "pin 907 is wrong", "907", "pin 907 is wrong" }, /* shorter than MASK_MIN */
        { "nothing", "", "nothing" },
        { "", TOKEN, "" },
        /* of a value with several lines each */
        { "key MIIEvQIBADANBgkq is bad", "-----BEGIN-----\nMIIEvQIBADANBgkq\n-----END-----\n",
          "key *** is bad" },
        { "user bob, pw pass7", "bob\npass7\n", "user bob, pw ***" },
        /* blanks are one in the line */
        { "is a b c d e f g h", "a  b\tc\n d e f g h", "is ***" },
        /* as others write it: "user:TOKEN" in base 64, at each of its three places; a part of an address */
        { "Basic dXNlcjpjb3JyZWN0LWhvcnNlLWJhdHRlcnktc3RhcGxl", TOKEN, "Basic dXNlcjp***" },
        { "Basic dTpjb3JyZWN0LWhvcnNlLWJhdHRlcnktc3RhcGxl", TOKEN, "Basic dTp***" },
        { "Basic dXM6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ==", TOKEN, "Basic dXM6***Q==" },
        { "GET /?t=a%2Fb%3Dc%2Bd", "a/b=c+d", "GET /?t=***" },
        { "caf\303\251 \345\255\246\344\271\240\347\216\207\345\255\246",
          "\345\255\246\344\271\240\347\216\207\345\255\246", "caf\303\251 ***" },
};

static void test_lines(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                Mask *mask = mask_new(rows[i].line);
                g_autofree char *says = NULL;

                mask_hide(mask, rows[i].value, strlen(rows[i].value));
                says = mask_end(mask);
                g_assert_cmpstr(says, ==, rows[i].says);
        }
}

static void test_many_short_lines(void)
{
        Mask *mask = mask_new("l000, l063, l064");
        g_autoptr(GString) value = g_string_new(NULL);
        g_autofree char *says = NULL;

        for (int i = 0; i < 2 * MASK_LINES_MAX; i++)
                g_string_append_printf(value, "l%03d\n", i);
        mask_hide(mask, value->str, value->len);
        says = mask_end(mask);
        g_assert_cmpstr(says, ==, "***, ***, l064");
}

static void test_several_values(void)
{
        Mask *mask = mask_new("user ann-of-the-lab with " TOKEN);
        g_autofree char *says = NULL;

        mask_hide(mask, TOKEN, strlen(TOKEN));
        mask_hide(mask, "ann-of-the-lab", strlen("ann-of-the-lab"));
        mask_hide(mask, "\0\1\2", 3);
        says = mask_end(mask);
        g_assert_cmpstr(says, ==, "user *** with ***");
}

/* All of a job's values, and a line in which everything is found: a user chooses both. */
static void test_largest(void)
{
        g_autofree char *line = g_strnfill(200, 'a'), *value = g_strnfill(64 * 1024, 'a'), *says = NULL;
        Mask *mask = mask_new(line);

        for (int i = 0; i < 4; i++)
                mask_hide(mask, value, 64 * 1024);
        says = mask_end(mask);
        g_assert_cmpstr(says, ==, "***");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mask/lines", test_lines);
        g_test_add_func("/mask/many-short-lines", test_many_short_lines);
        g_test_add_func("/mask/several-values", test_several_values);
        g_test_add_func("/mask/largest", test_largest);
        return g_test_run();
}
