/* Crontabs: what is refused, next ticks, days on which clocks jump. */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "schedule/cron.h"

/* "2026-03-29 02:30:00 +0100" */
static gint64 moment(const char *text)
{
        g_autofree char *iso = g_strdup_printf("%.10sT%.8s%s", text, text + 11, text + 20);
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(iso, NULL);

        g_assert_nonnull(time);
        return g_date_time_to_unix(time) * 1000;
}

static Cron *parse(const char *text)
{
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GError) error = NULL;
        Cron *cron = cron_parse(text, utc, &error);

        g_assert_no_error(error);
        return cron;
}

static void test_refused(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "* * * sdf asd", "month: 'sdf' is not a number from 1 to 12" }, /* C128 */
                { "", "0 fields" },
                { "* * * *", "4 fields" },
                { "* * * * * *", "6 fields" },
                { "60 * * * *", "minute: '60'" },
                { "* 24 * * *", "hour: '24'" },
                { "* * 0 * *", "day of the month: '0'" },
                { "* * * 13 *", "month: '13'" },
                { "* * * * 7", "weekday: '7' is not a number from 0 to 6" },
                { "*/0 * * * *", "step '0'" },
                { "*/x * * * *", "step 'x'" },
                { "5-3 * * * *", "'5-3' ends before it begins" },
                { "*-5 * * * *", "'*'" },
                { "1-2-3 * * * *", "'2-3'" },
                { "-1 * * * *", "minute: ''" },
                { "@fortnightly", "@fortnightly" },
                { "@every", "@every" },
                { "@every 5", "'5' is not a duration" },
                { "@every -5s", "not a duration" },
                { "@every 1.5.2h", "not a duration" },
                { "@every 60000h", "at most 5 years" },
                { "TZ=Mars/Phobos * * * * *", "'Mars/Phobos' is not a time zone" },
                { "TZ= * * * * *", "not a time zone" },
                { "TZ=../../../etc/passwd * * * * *", "not a time zone" },
                { "TZ=/dev/zero * * * * *", "not a time zone" },
                { "TZ=CET+1 0 9 * * *",
                  "'CET+1' is not a time zone: name a place" }, /* POSIX has the opposite sign */
                { "TZ=GMT-5 0 9 * * *", "'GMT-5' is not a time zone: name a place" },
                { "TZ=UTC+2 0 9 * * *", "'UTC+2' is not a time zone: name a place" },
                { "TZ=CEST 0 9 * * *", "'CEST' is not a time zone" },
                { "TZ=CET-1CEST 0 9 * * *", "'CET-1CEST' is not a time zone" },
                { "TZ=zone.tab 0 9 * * *", "'zone.tab' is not a time zone" },
                { "TZ=Europe 0 9 * * *", "'Europe' is not a time zone" },
                { "TZ=Europe/berlin 0 9 * * *", "did you mean 'Europe/Berlin'?" },
                { "TZ=Europ/Berlim 0 9 * * *", "did you mean 'Europe/Berlin'?" },
                { "tz=Europe/Berlin 0 9 * * *", "write 'TZ=Europe/Berlin 0 9 * * *'" },
                { "Europe/berlin 0 9 * * *", "write 'TZ=Europe/Berlin 0 9 * * *'" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Cron) cron = cron_parse(cases[i].text, NULL, &error);

                g_assert_null(cron);
                g_assert_true(err_is(error, ERR_INVALID));
                if (!strstr(error->message, cases[i].says))
                        g_error("'%s': %s", cases[i].text, error->message);
        }
}

/* accepted, and never due. */
static void test_never(void)
{
        static const char *const texts[] = { "0 0 31 2 *", ", * * * *", "* , * * *", "* * * , *",
                                             "0 0 31 4,6,9,11 *" };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(Cron) cron = parse(texts[i]);
                gint64 ret;

                g_assert_false(cron_next(cron, moment("2026-03-01 10:00:00 Z"), &ret));
        }
}

typedef struct {
        const char *text, *after, *next;
} NextCase;

static void check_next(const NextCase *cases, gsize n)
{
        for (gsize i = 0; i < n; i++) {
                g_autoptr(Cron) cron = parse(cases[i].text);
                gint64 ret = 0;
                g_autofree char *is = NULL, *want = NULL;

                g_assert_true(cron_next(cron, moment(cases[i].after), &ret));
                is = cron_format_local(cron, ret);
                want = cron_format_local(cron, moment(cases[i].next));
                if (strcmp(is, want) != 0)
                        g_error("'%s' after %s: %s, not %s", cases[i].text, cases[i].after, is, want);
        }
}

static void test_next(void)
{
        static const NextCase cases[] = {
                { "* */3 * * *", "2026-03-01 10:00:30 Z", "2026-03-01 12:00:00 Z" }, /* C129 */
                { "* */3 * * *", "2026-03-01 12:00:00 Z", "2026-03-01 12:01:00 Z" },
                { "*/15 * * * *", "2026-03-01 10:00:00 Z", "2026-03-01 10:15:00 Z" },
                { "*/15 * * * *", "2026-03-01 10:45:59 Z", "2026-03-01 11:00:00 Z" },
                { "20-35/15 * * * *", "2026-03-01 10:20:00 Z", "2026-03-01 10:35:00 Z" },
                { "50/4 * * * *", "2026-03-01 10:54:00 Z", "2026-03-01 10:58:00 Z" },
                { "50/4 * * * *", "2026-03-01 10:58:00 Z", "2026-03-01 11:50:00 Z" },
                { "0 0 * Feb mon", "2026-03-01 10:00:00 Z", "2027-02-01 00:00:00 Z" },
                { "0 0 * feb-MAR ?", "2026-03-31 10:00:00 Z", "2027-02-01 00:00:00 Z" },
                { "0 0 29 2 *", "2026-03-01 10:00:00 Z", "2028-02-29 00:00:00 Z" },
                { "5,,10 * * * *", "2026-03-01 10:05:00 Z", "2026-03-01 10:10:00 Z" },
                /* both restricted: either */
                { "0 0 13 * fri", "2026-03-01 10:00:00 Z", "2026-03-06 00:00:00 Z" },
                { "0 0 13 * fri", "2026-04-11 10:00:00 Z", "2026-04-13 00:00:00 Z" },
                /* one of them is any: both */
                { "0 0 * * fri", "2026-03-01 10:00:00 Z", "2026-03-06 00:00:00 Z" },
                { "0 0 13 * *", "2026-03-01 10:00:00 Z", "2026-03-13 00:00:00 Z" },
                { "0 0 13 * ?", "2026-03-01 10:00:00 Z", "2026-03-13 00:00:00 Z" },
                /* any with a step is restricted */
                { "0 0 */2 * mon", "2026-03-01 10:00:00 Z", "2026-03-02 00:00:00 Z" },
                { "@yearly", "2026-03-01 10:00:00 Z", "2027-01-01 00:00:00 Z" },
                { "@annually", "2026-03-01 10:00:00 Z", "2027-01-01 00:00:00 Z" },
                { "@monthly", "2026-03-01 10:00:00 Z", "2026-04-01 00:00:00 Z" },
                { "@weekly", "2026-03-02 10:00:00 Z", "2026-03-08 00:00:00 Z" },
                { "@daily", "2026-03-01 10:00:00 Z", "2026-03-02 00:00:00 Z" },
                { "@midnight", "2026-03-01 10:00:00 Z", "2026-03-02 00:00:00 Z" },
                { "@hourly", "2026-03-01 10:00:00 Z", "2026-03-01 11:00:00 Z" },
                { "@every 1h30m", "2026-03-01 10:00:05 Z", "2026-03-01 11:30:05 Z" },
                { "@every 1.5s", "2026-03-01 10:00:05 Z", "2026-03-01 10:00:06 Z" },
                { "@every 1ms", "2026-03-01 10:00:05 Z", "2026-03-01 10:00:06 Z" },
                { "TZ=Asia/Tokyo 0 5 * * *", "2026-03-01 10:00:00 Z", "2026-03-01 20:00:00 Z" },
                { "CRON_TZ=Asia/Tokyo @daily", "2026-03-01 10:00:00 Z", "2026-03-01 15:00:00 Z" },
                { "TZ=Etc/GMT-2 0 9 * * *", "2026-03-01 10:00:00 Z", "2026-03-02 07:00:00 Z" },
                { "TZ=Asia/Kathmandu 0 * * * *", "2026-03-01 10:00:00 Z", "2026-03-01 10:15:00 Z" },
        };

        check_next(cases, G_N_ELEMENTS(cases));
}

static void test_rounded(void)
{
        static const struct {
                const char *text;
                bool rounded;
        } cases[] = {
                { "@every 1s", false },     { "@every 1h30m", false }, { "@every 0.1h", false },
                { "@every 1000ms", false }, { "@every 0.5s", true },   { "@every 0s", true },
                { "@every 500ms", true },   { "@every 1.5s", true },   { "@every 1s1ms", true },
                { "@daily", false },        { "* * * * *", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Cron) cron = parse(cases[i].text);

                g_assert_cmpint(cron_is_rounded(cron), ==, cases[i].rounded);
        }
}

/* Berlin: 02:00 to 03:00 is left out on 2026-03-29, and occurs twice on 2026-10-25. */
static void test_jumps(void)
{
        static const NextCase cases[] = {
                { "TZ=Europe/Berlin 30 2 * * *", "2026-03-28 12:00:00 Z", "2026-03-29 03:00:00 +02:00" },
                { "TZ=Europe/Berlin 30 2 * * *", "2026-03-29 03:00:00 +02:00", "2026-03-30 02:30:00 +02:00" },
                { "TZ=Europe/Berlin */20 2 * * *", "2026-03-28 12:00:00 Z", "2026-03-29 03:00:00 +02:00" },
                { "TZ=Europe/Berlin */20 2 * * *", "2026-03-29 03:00:00 +02:00",
                  "2026-03-30 02:00:00 +02:00" },
                { "TZ=Europe/Berlin 30 2 * * *", "2026-10-24 12:00:00 Z", "2026-10-25 02:30:00 +02:00" },
                { "TZ=Europe/Berlin 30 2 * * *", "2026-10-25 02:30:00 +02:00", "2026-10-26 02:30:00 +01:00" },
                { "TZ=Europe/Berlin 30 2 * * *", "2026-10-25 02:10:00 +01:00", "2026-10-26 02:30:00 +01:00" },
                /* each real hour */
                { "TZ=Europe/Berlin 30 * * * *", "2026-03-29 01:30:00 +01:00", "2026-03-29 03:30:00 +02:00" },
                { "TZ=Europe/Berlin 30 * * * *", "2026-10-25 02:30:00 +02:00", "2026-10-25 02:30:00 +01:00" },
                { "TZ=Europe/Berlin 30 * * * *", "2026-10-25 02:30:00 +01:00", "2026-10-25 03:30:00 +01:00" },
                { "TZ=Europe/Berlin @hourly", "2026-10-25 02:00:00 +02:00", "2026-10-25 02:00:00 +01:00" },
                /* half an hour */
                { "TZ=Australia/Lord_Howe 15 * * * *", "2026-04-05 01:15:00 +11:00",
                  "2026-04-05 02:15:00 +10:30" },
                { "TZ=Australia/Lord_Howe 45 * * * *", "2026-04-05 01:45:00 +11:00",
                  "2026-04-05 01:45:00 +10:30" },
                /* at midnight, which is left out */
                { "TZ=Africa/Cairo @daily", "2026-04-23 12:00:00 Z", "2026-04-24 01:00:00 +03:00" },
                /* a day that is left out */
                { "TZ=Pacific/Apia 0 12 * * *", "2011-12-29 12:00:00 -10:00", "2011-12-31 00:00:00 +14:00" },
                { "TZ=Pacific/Apia 0 12 * * *", "2011-12-31 00:00:00 +14:00", "2011-12-31 12:00:00 +14:00" },
        };

        check_next(cases, G_N_ELEMENTS(cases));
}

/* Each matching minute of a year of real time is a tick once, in order. */
static void test_year(void)
{
        static const char *const texts[] = { "TZ=Europe/Berlin 7 * * * *", "TZ=America/New_York 7 * * * *",
                                             "TZ=Australia/Lord_Howe 7 * * * *" };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(Cron) cron = parse(texts[i]);
                gint64 end = moment("2027-01-01 00:00:00 Z"), at = moment("2026-01-01 00:00:00 Z");
                int n = 0;

                for (gint64 was = at; cron_next(cron, at, &at) && at < end; was = at, n++) {
                        g_autofree char *local = cron_format_local(cron, at);

                        g_assert_cmpint(at, >, was);
                        g_assert_true(strncmp(local + 14, "07:00", 5) == 0);
                }
                /* Lord Howe's jumps of half an hour make two of the hours between minutes 7 longer by half. */
                g_assert_cmpint(n, ==, 365 * 24 - (i == 2));
        }
}

static void test_series(void)
{
        static const struct {
                const char *text, *tick, *from, *first, *until, *last;
        } cases[] = {
                { "*/5 * * * *", "2026-03-01 10:00:00 Z", "2026-03-01 10:07:00 Z", "2026-03-01 10:10:00 Z",
                  "2026-03-02 00:04:59 Z", "2026-03-02 00:00:00 Z" },
                { "*/5 * * * *", "2026-03-01 10:00:00 Z", "2026-03-01 09:00:00 Z", "2026-03-01 10:00:00 Z",
                  "2026-03-01 10:00:00 Z", "2026-03-01 10:00:00 Z" },
                { "* 3 1 1 *", "2026-01-01 03:00:00 Z", "2026-01-01 03:30:00 Z", "2026-01-01 03:30:00 Z",
                  "2026-11-02 00:00:00 Z", "2026-01-01 03:59:00 Z" },
                { "@every 7s", "2026-03-01 10:00:03 Z", "2026-03-01 10:00:11 Z", "2026-03-01 10:00:17 Z",
                  "2026-03-01 10:01:05 Z", "2026-03-01 10:00:59 Z" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Cron) cron = parse(cases[i].text);
                gint64 tick = moment(cases[i].tick), first;

                g_assert_true(cron_from(cron, tick, moment(cases[i].from), &first));
                g_assert_cmpint(first, ==, moment(cases[i].first));
                g_assert_cmpint(cron_last(cron, tick, moment(cases[i].until)), ==, moment(cases[i].last));
        }
}

static void test_zone(void)
{
        g_autoptr(Cron) cron = parse("TZ=Europe/Berlin @daily"), local = parse("TZ=Local @daily");
        g_autofree char *text = cron_format_local(cron, moment("2026-07-01 10:00:00 Z"));

        g_assert_cmpstr(cron_zone_name(cron), ==, "Europe/Berlin");
        g_assert_cmpstr(cron_zone_name(local), ==, "UTC");
        g_assert_cmpstr(text, ==, "2026-07-01 12:00:00 +0200");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/schedule/cron/refused", test_refused);
        g_test_add_func("/schedule/cron/never", test_never);
        g_test_add_func("/schedule/cron/next", test_next);
        g_test_add_func("/schedule/cron/rounded", test_rounded);
        g_test_add_func("/schedule/cron/jumps", test_jumps);
        g_test_add_func("/schedule/cron/year", test_year);
        g_test_add_func("/schedule/cron/series", test_series);
        g_test_add_func("/schedule/cron/zone", test_zone);
        return g_test_run();
}
