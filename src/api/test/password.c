/* Passwords: the rule, hashing and comparing. */
#include "api/auth/password.h"

#include <string.h>

#include "base/err.h"
#include "model/user.h"

static void test_rule(void)
{
        static const struct {
                const char *password, *says;
        } cases[] = {
                { "12345678", NULL },
                { "1234567", "it has 7 characters, and a password has 8 to 256" },
                { "", "it has 0 characters" },
                { "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", "it has 4 characters" },
                { "paddleflow", "published" },
                { "with blanks and \xc3\xa4", NULL },
        };
        g_autofree char *longest = g_strnfill(256, 'x'), *too_long = g_strnfill(257, 'x');

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_cmpint(password_check("password", cases[i].password, &error), ==, !cases[i].says);
                if (cases[i].says) {
                        g_assert_true(err_is(error, ERR_INVALID));
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                }
        }
        g_assert_true(password_check("password", longest, NULL));
        g_assert_false(password_check("password", too_long, NULL));
}

static void test_hash(void)
{
        g_autofree char *one = password_hash("correct horse", NULL),
                        *two = password_hash("correct horse", NULL);

        g_assert_true(g_str_has_prefix(one, "$argon2id$"));
        g_assert_cmpstr(one, !=, two); /* salted */
        g_assert_true(password_verify(one, "correct horse"));
        g_assert_true(password_verify(two, "correct horse"));
        g_assert_false(password_verify(one, "correct horse "));
        g_assert_false(password_verify(one, ""));
}

static void test_accounts_without(void)
{
        static const struct {
                const char *stored, *password;
                bool same;
        } cases[] = {
                { NULL, "", false },
                { NULL, "paddleflow", false },
                { NULL, USER_PASSWORD_SEEDED, false },
                { USER_PASSWORD_SEEDED, "paddleflow", true },
                { USER_PASSWORD_SEEDED, "paddleflow1", false },
                { USER_PASSWORD_SEEDED, "Paddleflow", false },
                { USER_PASSWORD_SEEDED, USER_PASSWORD_SEEDED, false },
                { "not a hash", "not a hash", false },
                { "", "", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(password_verify(cases[i].stored, cases[i].password), ==, cases[i].same);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/password/rule", test_rule);
        g_test_add_func("/password/hash", test_hash);
        g_test_add_func("/password/accounts-without", test_accounts_without);
        return g_test_run();
}
