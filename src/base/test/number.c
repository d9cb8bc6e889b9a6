/* Numbers, durations and yes-or-no: accepted and refused forms, and the errors; also clocks and ids. */
#include "base/number.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"

static void test_number(void)
{
        static const struct {
                const char *text;
                gint64 min, max, value; /* value -1: refused */
        } cases[] = {
                { "0", 0, 10, 0 },
                { "10", 0, 10, 10 },
                { "007", 0, 10, 7 },
                { "9223372036854775807", 0, G_MAXINT64, G_MAXINT64 },
                { "11", 0, 10, -1 },
                { "0", 1, 10, -1 },
                { "", 0, 10, -1 },
                { "-1", 0, 10, -1 },
                { "+1", 0, 10, -1 },
                { " 1", 0, 10, -1 },
                { "1 ", 0, 10, -1 },
                { "1.0", 0, 10, -1 },
                { "0x1", 0, 10, -1 },
                { "1e1", 0, 10, -1 },
                { "9223372036854775808", 0, G_MAXINT64, -1 },
                { "99999999999999999999999999", 0, G_MAXINT64, -1 },
                { "\xd9\xa1", 0, 10, -1 }, /* a digit of another script */
                { NULL, 0, 10, -1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                gint64 value = -7;
                bool ok = number_parse("n", cases[i].text, cases[i].min, cases[i].max, &value, &error);

                g_test_message("case %zu", i);
                g_assert_cmpint(ok, ==, cases[i].value >= 0);
                g_assert_cmpint(value, ==, ok ? cases[i].value : -7);
                g_assert_cmpint(err_is(error, ERR_INVALID), ==, !ok);
        }
}

static void test_number_says(void)
{
        g_autoptr(GError) error = NULL;
        gint64 value;

        g_assert_false(number_parse("--trainers", "-1", 0, 10000, &value, &error));
        g_assert_cmpstr(error->message, ==, "--trainers: '-1' is not a whole number from 0 to 10000");
}

static void test_duration(void)
{
        static const struct {
                const char *text;
                gint64 ms; /* -1: refused */
        } cases[] = {
                { "90", 90000 },
                { "90s", 90000 },
                { "15m", 900000 },
                { "2h", 7200000 },
                { "1d", 86400000 },
                { "250ms", 250 },
                { "1h30m", 5400000 },
                { "1d2h3m4s5ms", 93784005 },
                { "1m0s", 60000 },
                { "1:30:00", 5400000 },
                { "0:00:01", 1000 },
                { "100:00:59", 360059000 },
                { "30m1h", -1 }, /* units must become smaller */
                { "1h1h", -1 },
                { "1h30", -1 },
                { "h", -1 },
                { "1:30", -1 }, /* hours and minutes, or minutes and seconds? */
                { "1:60:00", -1 },
                { "1:00:60", -1 },
                { "1:0:0", -1 },
                { ":00:00", -1 },
                { "1:30:00s", -1 },
                { "9223372036854775s808ms", -1 },
                { "2562047788015:12:56", -1 },
                { "0", 0 },
                { "9223372036854775s", 9223372036854775000 },
                { "", -1 },
                { "s", -1 },
                { "1.5h", -1 },
                { "-1s", -1 },
                { "1w", -1 },
                { "1 s", -1 },
                { "1S", -1 },
                { "9223372036854776s", -1 },
                { "106751991168d", -1 },
                { "99999999999999999999ms", -1 },
                { NULL, -1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                gint64 ms = -7;
                bool ok = duration_parse("time", cases[i].text, &ms, &error);

                g_test_message("case %zu: %s", i, cases[i].text ? cases[i].text : "NULL");
                g_assert_cmpint(ok, ==, cases[i].ms >= 0);
                g_assert_cmpint(ms, ==, ok ? cases[i].ms : -7);
        }
}

static void test_boolean(void)
{
        static const struct {
                const char *text;
                int value; /* -1: refused */
        } cases[] = {
                { "true", 1 },  { "True", 1 }, { "YES", 1 },    { "on", 1 },  { "1", 1 },
                { "false", 0 }, { "no", 0 },   { "Off", 0 },    { "0", 0 },   { "", -1 },
                { "2", -1 },    { "y", -1 },   { "true ", -1 }, { NULL, -1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                bool value = false;
                bool ok = boolean_parse("--use-gpu", cases[i].text, &value, &error);

                g_assert_cmpint(ok, ==, cases[i].value >= 0);
                if (ok)
                        g_assert_cmpint(value, ==, cases[i].value);
        }
}

static void test_shown(void)
{
        static const struct {
                guint64 bytes;
                const char *text;
        } sizes[] = {
                { 0, "0 B" },           { 1023, "1023 B" },          { 1024, "1.0 KiB" },
                { 1468006, "1.4 MiB" }, { G_MAXUINT64, "16.0 EiB" },
        };
        static const struct {
                gint64 ms;
                const char *text;
        } times[] = {
                { -5, "0 ms" },       { 85, "85 ms" },       { 4200, "4.2 s" },
                { 192000, "3m 12s" }, { 3720000, "1h 02m" }, { 360000000, "100h 00m" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                g_autofree char *text = bytes_format(sizes[i].bytes);

                g_assert_cmpstr(text, ==, sizes[i].text);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
                g_autofree char *text = duration_format(times[i].ms);

                g_assert_cmpstr(text, ==, times[i].text);
        }
}

static void test_clock(void)
{
        g_autofree char *epoch = clock_format(0), *leap = clock_format(1709210096007);
        g_autoptr(GError) error = NULL;
        gint64 before = clock_monotonic_ms();
        char boot[37], again[37];

        g_assert_cmpstr(epoch, ==, "1970-01-01T00:00:00.000Z");
        g_assert_cmpstr(leap, ==, "2024-02-29T12:34:56.007Z");
        g_assert_cmpint(clock_monotonic_ms(), >=, before);
        g_assert_true(clock_boot_id(boot, &error) && clock_boot_id(again, &error));
        g_assert_cmpint(strlen(boot), ==, 36);
        g_assert_cmpstr(boot, ==, again);
}

static void test_ids(void)
{
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        static const char *const bad[] = {
                "", "abc", "0123456789abcdeF", "0123456789abcdei", "0123456789abcdef0", "../../etc/passwd"
        };

        for (int i = 0; i < 1000; i++) {
                char id[ID_LEN + 1];

                id_new(id);
                g_assert_true(id_is_valid(id));
                g_assert_true(g_hash_table_add(seen, g_strdup(id)));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_false(id_is_valid(bad[i]));
        g_assert_false(id_is_valid(NULL));
}

static void test_double(void)
{
        static const struct {
                double number;
                const char *text;
        } cases[] = { { 0.1, "0.1" },
                      { 1.0 / 3, "0.3333333333333333" },
                      { 0.1 + 0.2, "0.30000000000000004" },
                      { -2, "-2" },
                      { 1e-5, "1e-05" },
                      { 1e300, "1e+300" },
                      { 0.25, "0.25" },
                      { 123456789, "123456789" } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = double_format(cases[i].number);

                g_assert_cmpstr(text, ==, cases[i].text);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/number/parse", test_number);
        g_test_add_func("/number/says", test_number_says);
        g_test_add_func("/number/duration", test_duration);
        g_test_add_func("/number/boolean", test_boolean);
        g_test_add_func("/number/shown", test_shown);
        g_test_add_func("/number/clock", test_clock);
        g_test_add_func("/number/ids", test_ids);
        g_test_add_func("/number/double", test_double);
        return g_test_run();
}
