/* Records of second factors: codes once, recovery codes once, guesses slowed down, the key. */
#include "api/auth/second-factor.h"

#include <glib/gstdio.h>
#include <sodium.h>
#include <string.h>

#include "api/auth/totp.h"
#include "base/err.h"
#include "base/json.h"

#define SECRET "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
enum { NOW_S = 1234567890, LATER_S = NOW_S + 3600 };

typedef struct {
        char *dir, *path, *record;
        SecondFactors *factors;
        char **recovery;
        gint64 now_ms, wait_ms;
} Fixture;

static const char *code_at(gint64 now_s)
{
        static char code[TOTP_DIGITS + 1];
        guint8 secret[TOTP_SECRET_LEN];

        g_assert_true(totp_secret_parse(SECRET, secret));
        totp_code(secret, sizeof secret, (guint64)now_s / TOTP_STEP_S, code);
        return code;
}

static void set_up(Fixture *f)
{
        g_autoptr(GError) error = NULL;

        *f = (Fixture){ .dir = g_dir_make_tmp("factor-XXXXXX", NULL) };
        f->path = g_build_filename(f->dir, "key", NULL);
        f->factors = second_factors_new(f->path);
        g_assert_true(second_factor_make(f->factors, "user-1", SECRET, code_at(NOW_S), NOW_S, &f->record,
                                         &f->recovery, &error));
        g_assert_cmpint(g_strv_length(f->recovery), ==, RECOVERY_CODES);
        g_assert_cmpint(second_factor_recovery_left(f->record), ==, RECOVERY_CODES);
}

static void tear_down(Fixture *f)
{
        second_factors_free(f->factors);
        (void)g_unlink(f->path);
        (void)g_rmdir(f->dir);
        g_strfreev(f->recovery);
        g_free(f->record);
        g_free(f->path);
        g_free(f->dir);
}

/* What is right becomes the record. */
static CodeAnswer try(Fixture *f, const char *code, gint64 now_s)
{
        char *record = NULL;
        CodeAnswer answer = second_factor_check(f->factors, "ann", "user-1", f->record, code, now_s,
                                                f->now_ms, &record, &f->wait_ms);

        if (answer != CODE_RIGHT)
                return answer;
        g_free(f->record);
        f->record = record;
        return answer;
}

static void test_codes_are_good_once(void)
{
        Fixture f;

        set_up(&f);
        g_assert_cmpint(try(&f, code_at(NOW_S), NOW_S), ==, CODE_WRONG); /* it was confirmed with this one */
        g_assert_cmpint(try(&f, code_at(LATER_S), LATER_S), ==, CODE_RIGHT);
        g_assert_cmpint(try(&f, code_at(LATER_S), LATER_S), ==, CODE_WRONG);
        g_assert_cmpint(try(&f, code_at(LATER_S - TOTP_STEP_S), LATER_S), ==, CODE_WRONG);
        g_assert_cmpint(try(&f, code_at(LATER_S + TOTP_STEP_S), LATER_S), ==, CODE_RIGHT);
        second_factors_free(f.factors); /* as a server that is started again */
        f.factors = second_factors_new(f.path);
        g_assert_cmpint(try(&f, code_at(LATER_S + TOTP_STEP_S), LATER_S), ==, CODE_WRONG);
        tear_down(&f);
}

static void test_recovery_codes_are_good_once(void)
{
        Fixture f;
        g_autofree char *upper = NULL;

        set_up(&f);
        upper = g_ascii_strup(f.recovery[1], -1);
        for (int i = 0; f.recovery[i]; i++)
                g_assert_null(strstr(f.record, f.recovery[i]));
        g_assert_cmpint(try(&f, f.recovery[0], NOW_S), ==, CODE_RIGHT);
        g_assert_cmpint(try(&f, f.recovery[0], NOW_S), ==, CODE_WRONG);
        g_assert_cmpint(try(&f, upper, NOW_S), ==, CODE_RIGHT);
        g_assert_cmpint(try(&f, "abcd-efgh-jkmn-pqrs", NOW_S), ==, CODE_WRONG);
        g_assert_cmpint(try(&f, "", NOW_S), ==, CODE_WRONG);
        g_assert_cmpint(second_factor_recovery_left(f.record), ==, RECOVERY_CODES - 2);
        for (int i = 2; f.recovery[i]; i++)
                g_assert_cmpint(try(&f, f.recovery[i], NOW_S), ==, CODE_RIGHT);
        g_assert_cmpint(second_factor_recovery_left(f.record), ==, 0);
        g_assert_cmpint(try(&f, code_at(LATER_S), LATER_S), ==, CODE_RIGHT);
        tear_down(&f);
}

/* How many guesses a day somebody has who knows the password. */
static void test_guesses_are_slowed_down(void)
{
        static const gint64 waits[] = { 60, 120, 240, 480, 960, 1920, 3600, 3600 }; /* s */
        Fixture f;
        int guesses = 0;

        set_up(&f);
        for (int i = 0; i < SECOND_FACTOR_FREE; i++)
                g_assert_cmpint(try(&f, "000000", NOW_S), ==, CODE_WRONG);
        for (gsize i = 0; i < G_N_ELEMENTS(waits); i++) {
                g_assert_cmpint(try(&f, code_at(LATER_S), LATER_S), ==,
                                CODE_TOO_SOON); /* even the right one */
                g_assert_cmpint(f.wait_ms, ==, waits[i] * 1000);
                f.now_ms += f.wait_ms;
                g_assert_cmpint(try(&f, "000000", NOW_S), ==, CODE_WRONG);
        }
        for (gint64 end = f.now_ms + G_GINT64_CONSTANT(24) * 3600 * 1000; f.now_ms < end; f.now_ms += 1000)
                guesses += try(&f, "000000", NOW_S) == CODE_WRONG;
        g_assert_cmpint(guesses, <=, 24);
        f.now_ms += SECOND_FACTOR_DELAY_MAX_MS;
        g_assert_cmpint(try(&f, code_at(LATER_S), LATER_S), ==, CODE_RIGHT);
        g_assert_cmpint(try(&f, "000000", NOW_S), ==, CODE_WRONG);
        g_assert_cmpint(try(&f, f.recovery[0], NOW_S), ==, CODE_RIGHT);
        tear_down(&f);
}

static void test_the_key_and_the_user_belong_to_it(void)
{
        g_autofree guint8 *secret = (guint8 *)g_strdup("12345678901234567890");
        g_autofree char *base = g_base64_encode(secret, 20);
        Fixture f;
        char *none = NULL;

        set_up(&f);
        g_assert_null(strstr(f.record, SECRET));
        g_assert_null(strstr(f.record, base));
        g_assert_cmpint(second_factor_check(f.factors, "bob", "user-2", f.record, code_at(LATER_S), LATER_S,
                                            0, &none, &f.wait_ms),
                        ==, CODE_BROKEN);
        second_factors_free(f.factors);
        (void)g_unlink(f.path);
        f.factors = second_factors_new(f.path);
        g_assert_cmpint(try(&f, code_at(LATER_S), LATER_S), ==, CODE_BROKEN);
        g_assert_false(g_file_test(f.path, G_FILE_TEST_EXISTS)); /* a lost key is not replaced in silence */
        tear_down(&f);
}

static void test_what_is_no_record(void)
{
        static const char *const texts[] = { "", "1", "1:::", "2:a:1:b", "1:AAAA:1:", "1:a:b:c:d" };
        Fixture f;

        set_up(&f);
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                char *none = NULL;

                g_assert_cmpint(second_factor_check(f.factors, "ann", "user-1", texts[i], "000000", NOW_S, 0,
                                                    &none, &f.wait_ms),
                                ==, CODE_BROKEN);
        }
        tear_down(&f);
}

static void test_confirming(void)
{
        static const struct {
                const char *secret, *code, *says;
        } cases[] = {
                { SECRET, "000000", "code: it is not the code of this secret now" },
                { SECRET, "", "code: it is not the code of this secret now" },
                { "AAAA", "005924", "secret: it is not 32 characters of base 32 (A-Z, 2-7)" },
        };
        Fixture f;

        set_up(&f);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *text = NULL;
                char *record = NULL, **recovery = NULL;

                g_assert_false(second_factor_make(f.factors, "user-1", cases[i].secret, cases[i].code, NOW_S,
                                                  &record, &recovery, &error));
                text = err_text(error);
                g_assert_cmpstr(text, ==, cases[i].says);
        }
        tear_down(&f);
}

int main(int argc, char **argv)
{
        json_init();
        g_assert(sodium_init() >= 0);
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/second-factor/codes-are-good-once", test_codes_are_good_once);
        g_test_add_func("/second-factor/recovery-codes-are-good-once", test_recovery_codes_are_good_once);
        g_test_add_func("/second-factor/guesses-are-slowed-down", test_guesses_are_slowed_down);
        g_test_add_func("/second-factor/the-key-and-the-user-belong-to-it",
                        test_the_key_and_the_user_belong_to_it);
        g_test_add_func("/second-factor/what-is-no-record", test_what_is_no_record);
        g_test_add_func("/second-factor/confirming", test_confirming);
        return g_test_run();
}
