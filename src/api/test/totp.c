/* One-time codes against the vectors of RFC 4226, appendix D, and RFC 6238, appendix B (its last six digits).
 */
#include "api/auth/totp.h"

#include <string.h>

#include "base/json.h"

static const guint8 secret[] = "12345678901234567890"; /* of both RFCs */
enum { LEN = sizeof secret - 1 };

static void test_vectors(void)
{
        static const struct {
                guint64 step;
                const char *code;
        } cases[] = {
                { 0, "755224" },
                { 1, "287082" },
                { 2, "359152" },
                { 3, "969429" },
                { 4, "338314" },
                { 5, "254676" },
                { 6, "287922" },
                { 7, "162583" },
                { 8, "399871" },
                { 9, "520489" },
                { 59 / 30, "287082" },
                { 1111111109 / 30, "081804" },
                { 1111111111 / 30, "050471" },
                { 1234567890 / 30, "005924" },
                { 2000000000 / 30, "279037" },
                { G_GUINT64_CONSTANT(20000000000) / 30, "353130" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                char code[TOTP_DIGITS + 1];

                totp_code(secret, LEN, cases[i].step, code);
                g_assert_cmpstr(code, ==, cases[i].code);
        }
}

static void test_window(void)
{
        static const struct {
                const char *code;
                gint64 now_s;
                guint64 last, step;
        } cases[] = {
                { "005924", 1234567890, 0, 41152263 },
                { "005924", 1234567890 + 30, 0, 41152263 }, /* a step late */
                { "005924", 1234567890 - 30, 0, 41152263 }, /* a step early */
                { "005924", 1234567890 + 60, 0, 0 },
                { "005924", 1234567890 - 60, 0, 0 },
                { "005924", 1234567890, 41152262, 41152263 },
                { "005924", 1234567890, 41152263, 0 }, /* used */
                { "005924", 1234567890, 41152264, 0 }, /* a later one was used */
                { "005925", 1234567890, 0, 0 },
                { "05924", 1234567890, 0, 0 },
                { "0005924", 1234567890, 0, 0 },
                { " 05924", 1234567890, 0, 0 },
                { "", 1234567890, 0, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpuint(totp_find_step(secret, LEN, cases[i].code, cases[i].now_s, cases[i].last),
                                 ==, cases[i].step);
}

static void test_text(void)
{
        static const struct {
                const char *text;
                bool good;
        } cases[] = {
                { "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", true },
                { "gezd gnbv gy3t qojq gezd gnbv gy3t qojq", true },
                { "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ", false },
                { "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQA", false },
                { "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1", false },
                { "", false },
        };
        char text[TOTP_TEXT_LEN + 1];

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                guint8 got[TOTP_SECRET_LEN];

                g_assert_cmpint(totp_secret_parse(cases[i].text, got), ==, cases[i].good);
                if (cases[i].good)
                        g_assert_cmpmem(got, sizeof got, secret, LEN);
        }
        totp_secret_format(secret, text);
        g_assert_cmpstr(text, ==, cases[0].text);
}

static void test_uri(void)
{
        g_autofree char *uri = totp_uri("paddle", "uid-1", "ABC");

        g_assert_cmpstr(
                uri, ==,
                "otpauth://totp/paddle:uid-1?secret=ABC&issuer=paddle&algorithm=SHA1&digits=6&period=30");
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/totp/vectors", test_vectors);
        g_test_add_func("/totp/window", test_window);
        g_test_add_func("/totp/text", test_text);
        g_test_add_func("/totp/uri", test_uri);
        return g_test_run();
}
