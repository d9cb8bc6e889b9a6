/* The directory's side that asks nobody: escapes, options. */
#include "api/auth/directory.h"

#include "base/err.h"
#include "base/json.h"

static void test_escapes(void)
{
        static const struct {
                const char *text, *dn, *filter;
        } cases[] = {
                { "ann", "ann", "ann" },
                { "a.b_c-d9", "a.b_c-d9", "a.b_c-d9" },
                { "*", "*", "\\2a" },
                { "ann)(uid=*", "ann)(uid\\3d*", "ann\\29\\28uid=\\2a" },
                { "ann,ou=admins", "ann\\2cou\\3dadmins", "ann,ou=admins" },
                { "a+cn=x", "a\\2bcn\\3dx", "a+cn=x" },
                { "a\\,b", "a\\5c\\2cb", "a\\5c,b" },
                { "\"a\"<b>;c", "\\22a\\22\\3cb\\3e\\3bc", "\"a\"<b>;c" },
                { " a ", "\\20a\\20", " a " },
                { "#a#", "\\23a#", "#a#" },
                { "a\nb\x7f", "a\\0ab\\7f", "a\\0ab\\7f" },
                { "\xc3\xa4", "\xc3\xa4", "\\c3\\a4" },
                { "", "", "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *dn = directory_escape_dn(cases[i].text);
                g_autofree char *filter = directory_escape_filter(cases[i].text);

                g_assert_cmpstr(dn, ==, cases[i].dn);
                g_assert_cmpstr(filter, ==, cases[i].filter);
        }
}

static void test_options(void)
{
#define DN "uid=%s,dc=x"
        static const struct {
                DirectoryConfig config;
                const char *says; /* NULL: well */
        } cases[] = {
                { { .url = "ldaps://ldap.lab", .user_dn = DN }, NULL },
                { { .url = "ldap://ldap.lab:3890", .user_dn = DN }, NULL },
                { { .url = "ldap://ldap.lab", .base = "dc=x", .filter = "(uid=%s)" }, NULL },
                { { .url = "http://ldap.lab", .user_dn = DN }, "--ldap-url: 'http://ldap.lab' is not" },
                { { .url = "ldapi:///", .user_dn = DN }, "--ldap-url: 'ldapi:///' is not" },
                { { .url = "ldaps:///", .user_dn = DN }, "--ldap-url: 'ldaps:///' is not" },
                { { .url = "ldaps://a/dc=x", .user_dn = DN }, "--ldap-url: 'ldaps://a/dc=x' is not" },
                { { .url = "ldaps://a ldaps://b", .user_dn = DN },
                  "--ldap-url: 'ldaps://a ldaps://b' is not" },
                { { .url = "ldaps://a" }, "--ldap-url needs --ldap-user-dn, or --ldap-base" },
                { { .url = "ldaps://a", .user_dn = DN, .base = "dc=x" },
                  "--ldap-user-dn cannot be combined" },
                { { .url = "ldaps://a", .user_dn = "uid=ann" },
                  "--ldap-user-dn: 'uid=ann' does not have one %s" },
                { { .url = "ldaps://a", .user_dn = "uid=%s,ou=%s" },
                  "--ldap-user-dn: 'uid=%s,ou=%s' does not" },
                { { .url = "ldaps://a", .user_dn = "uid=%n" }, "--ldap-user-dn: 'uid=%n' does not" },
                { { .url = "ldaps://a", .base = "dc=x", .filter = "(uid=*)" },
                  "--ldap-filter: '(uid=*)' does not" },
                { { .url = "ldaps://a", .base = "dc=x", .filter = "(uid=%s)", .bind_dn = "cn=x" },
                  "--ldap-bind-dn needs" },
                { { .url = "ldaps://a",
                    .base = "dc=x",
                    .filter = "(uid=%s)",
                    .bind_dn = "cn=x",
                    .bind_password_file = "/none" },
                  "--ldap-bind-password-file: " },
                { { .url = "ldaps://a", .user_dn = DN, .ca = "/none" },
                  "--ldap-ca: there is no file '/none'" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Directory) directory = directory_new(&cases[i].config, &error);

                g_test_message("%s", cases[i].config.url);
                g_assert_cmpint(directory != NULL, ==, cases[i].says == NULL);
                if (cases[i].says)
                        g_assert_true(g_str_has_prefix(error->message, cases[i].says));
        }
}

static void test_nothing_is_no_password(void)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Directory) directory =
                directory_new(&(DirectoryConfig){ .url = "ldap://127.0.0.1:1", .user_dn = "uid=%s" }, &error);

        g_assert_no_error(error);
        g_assert_false(directory_check(directory, "ann", "", &error));
        g_assert_true(err_is(error, ERR_UNAUTHENTICATED));
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/directory/escapes", test_escapes);
        g_test_add_func("/directory/options", test_options);
        g_test_add_func("/directory/nothing-is-no-password", test_nothing_is_no_password);
        return g_test_run();
}
