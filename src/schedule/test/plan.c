/* The evaluation of a schedule: the conformance cases C130 to C135, R-37, and plans in small parts. */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "schedule/plan.h"

/* Times are seconds behind NOW. Ticks of '* * * * *' lie at -30, -90, ...; the first one of a case is where it says. */
#define NOW 1772359230000 /* 2026-03-01 10:00:30 */

typedef struct {
        const char *name;
        int next, end, expire; /* 0: none */
        int concurrency;
        SchedulePolicy policy;
        guint active;
        const char *ticks; /* "-120e -60r": tick and fate: r runs, e expired, p replaced, s skipped */
        int then;          /* the next tick; 0: there is none, 30: in the future */
        bool waits;
        guint stop;
        bool catchup_off;
        int started;
} Case;

static char *show(const SchedulePlan *plan)
{
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < plan->ticks->len; i++) {
                const PlannedTick *tick = &g_array_index(plan->ticks, PlannedTick, i);

                g_string_append_printf(text, "%s%d%c", i ? " " : "", (int)((tick->at - NOW) / 1000),
                                       "reps"[tick->fate]);
        }
        return g_string_free(text, FALSE);
}

static ScheduleRule rule_of(const Case *one, const Cron *cron)
{
        return (ScheduleRule){ .cron = cron,
                               .next_at = NOW + one->next * (gint64)1000,
                               .end_at = one->end ? NOW + one->end * (gint64)1000 : 0,
                               .expire_ms = one->expire * (gint64)1000,
                               .concurrency = one->concurrency,
                               .policy = one->policy,
                               .catchup = !one->catchup_off,
                               .started = NOW + one->started * (gint64)1000 };
}

static void check(const Case *one)
{
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(Cron) cron = cron_parse("* * * * *", utc, NULL);
        const ScheduleRule rule = rule_of(one, cron);
        g_auto(SchedulePlan) plan = { 0 };
        g_autofree char *ticks = NULL;

        schedule_plan(&rule, one->active, NOW, 100, &plan);
        ticks = show(&plan);
        g_test_message("%s: %s", one->name, ticks);
        g_assert_cmpstr(ticks, ==, one->ticks);
        g_assert_cmpint(plan.next_at ? (plan.next_at - NOW) / 1000 : 0, ==, one->then);
        g_assert_cmpint(plan.waits, ==, one->waits);
        g_assert_cmpuint(plan.stop, ==, one->stop);
        g_assert_false(plan.more);
}

static const Case cases[] = {
        { "C130", .next = -120, .expire = 60, .ticks = "-120e -90e -30r", .then = 30 },
        { "C131", .next = -120, .end = -60, .ticks = "-120r -90r", .then = 0 },
        { "C132", .next = -120, .concurrency = 1, .ticks = "-120r", .then = -90, .waits = true },
        { "C133", .next = -120, .concurrency = 10, .ticks = "-120r -90r -30r", .then = 30 },
        { "C134", .next = -120, .concurrency = 1, .policy = SCHEDULE_SKIP, .ticks = "-120r -90s -30s",
          .then = 30 },
        { "C135", .next = -120, .concurrency = 1, .policy = SCHEDULE_REPLACE, .ticks = "-120p -90p -30r",
          .then = 30 },
        { "not due", .next = 30, .ticks = "", .then = 30 },
        { "at the moment", .next = 0, .ticks = "0r", .then = 30 },
        { "late by exactly the interval", .next = -60, .expire = 60, .ticks = "-60r -30r", .then = 30 },
        { "the end counts", .next = -90, .end = -30, .ticks = "-90r -30r", .then = 0 },
        { "after the end", .next = -30, .end = -60, .ticks = "", .then = 0 },
        { "active runs wait", .next = -30, .concurrency = 2, .active = 2, .ticks = "", .then = -30,
          .waits = true },
        { "expired while it waits", .next = -90, .expire = 60, .concurrency = 1, .active = 1, .ticks = "-90e",
          .then = -30, .waits = true },
        { "active runs skip", .next = -90, .concurrency = 2, .active = 1, .policy = SCHEDULE_SKIP,
          .ticks = "-90r -30s", .then = 30 },
        { "the oldest goes", .next = -30, .concurrency = 2, .active = 2, .policy = SCHEDULE_REPLACE,
          .ticks = "-30r", .then = 30, .stop = 1 },
        { "all go", .next = -150, .concurrency = 2, .active = 2, .policy = SCHEDULE_REPLACE,
          .ticks = "-150p -90r -30r", .then = 30, .stop = 2 },
        { "a place is free", .next = -30, .concurrency = 3, .active = 2, .policy = SCHEDULE_REPLACE,
          .ticks = "-30r", .then = 30 },
        { "nothing is due", .next = 30, .concurrency = 1, .active = 1, .policy = SCHEDULE_REPLACE,
          .ticks = "", .then = 30 },
        { "unlimited", .next = -30, .active = 50, .policy = SCHEDULE_REPLACE, .ticks = "-30r", .then = 30 },
        /* */
        { "of before the start", .next = -600, .started = -100, .catchup_off = true, .ticks = "-30r",
          .then = 30 },
        { "all of before the start", .next = -600, .started = -10, .catchup_off = true, .ticks = "",
          .then = 30 },
        { "the newest", .next = -600, .started = -6000, .catchup_off = true, .ticks = "-30r", .then = 30 },
        { "the newest before the end", .next = -600, .end = -100, .started = -6000, .catchup_off = true,
          .ticks = "-150r", .then = 0 },
        { "the newest waits", .next = -600, .started = -6000, .catchup_off = true, .concurrency = 1,
          .active = 1, .ticks = "", .then = -30, .waits = true },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                check(&cases[i]);
}

/* A server that was down for days: the newest 1,000 ticks that have expired get a record. */
static void test_expired(void)
{
        static const struct {
                int end; /* s behind NOW; 0: none */
                guint expired, runs;
        } rows[] = { { 0, 1000, 1 }, { -3600, 1000, 0 } };
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(Cron) cron = cron_parse("* * * * *", utc, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                const Case one = { .next = -3 * 86400 - 30, .expire = 60, .end = rows[i].end };
                ScheduleRule rule = rule_of(&one, cron);
                guint n = 0, runs = 0;
                bool more = true, first = true;

                for (; more; first = false) {
                        g_auto(SchedulePlan) plan = { 0 };

                        schedule_plan(&rule, 0, NOW, 300, &plan);
                        g_assert_cmpint(plan.dropped, ==, first);
                        n += plan.ticks->len;
                        runs += plan.runs;
                        rule.next_at = plan.next_at;
                        more = plan.more;
                }
                g_assert_cmpuint(n, ==, rows[i].expired + rows[i].runs);
                g_assert_cmpuint(runs, ==, rows[i].runs);
                g_assert_cmpint(rule.next_at, ==, one.end ? 0 : NOW + 30 * 1000);
        }
}

/* A clock that was set back: there are ticks before the next one. */
static void test_ahead(void)
{
        static const struct {
                const char *text;
                int next, from; /* s behind NOW */
                bool ahead;
        } rows[] = {
                { "* * * * *", 30, -900, false },     { "* * * * *", 90, -900, true },
                { "* * * * *", -30, -900, false },    { "* * * * *", 930, 900, false }, /* it starts later */
                { "* * * * *", 990, 900, true },      { "@every 10m", 600, -900, false },
                { "@every 10m", 601, -900, true },    { "0 10 * * *", 86370, -900, false },
                { "0 10 * * *", 172770, -900, true },
        };
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(Cron) cron = cron_parse(rows[i].text, utc, NULL);
                const Case one = { .next = rows[i].next };
                const ScheduleRule rule = rule_of(&one, cron);

                g_assert_cmpint(schedule_is_ahead(&rule, NOW + rows[i].from * (gint64)1000, NOW), ==,
                                rows[i].ahead);
        }
}

/* Runs by number of their tick, as a plan leaves them. */
typedef struct {
        GArray *active; /* gint64: moments of the ticks */
        GString *fates;
} World;

static void apply(World *world, const SchedulePlan *plan)
{
        for (guint i = 0; i < plan->ticks->len; i++) {
                const PlannedTick *tick = &g_array_index(plan->ticks, PlannedTick, i);

                g_string_append_printf(world->fates, "%d%c ", (int)((tick->at - NOW) / 1000),
                                       "reps"[tick->fate]);
        }
}

/* Which runs were stopped, and which ticks became what; in parts of `max` ticks. Runs that are stopped still count. */
static char *play(ScheduleRule rule, guint active, guint max)
{
        World world = { .fates = g_string_new(NULL) };
        guint stopped = 0;
        bool more = true;

        while (more) {
                g_auto(SchedulePlan) plan = { 0 };

                schedule_plan(&rule, active, NOW, max, &plan);
                apply(&world, &plan);
                stopped = MAX(stopped, plan.stop);
                active += plan.runs;
                rule.next_at = plan.next_at;
                more = plan.more;
        }
        g_string_append_printf(world.fates, "stopped %u, next %" G_GINT64_FORMAT, stopped, rule.next_at);
        return g_string_free(world.fates, FALSE);
}

static void test_parts(void)
{
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(Cron) cron = cron_parse("* * * * *", utc, NULL);

        for (int policy = 0; policy < SCHEDULE_POLICIES; policy++)
                for (int concurrency = 0; concurrency < 14; concurrency++)
                        for (guint active = 0; active <= (guint)concurrency; active++) {
                                const Case one = { .next = -10 * 60 - 30,
                                                   .expire = 290,
                                                   .policy = (SchedulePolicy)policy,
                                                   .concurrency = concurrency };
                                const ScheduleRule rule = rule_of(&one, cron);
                                g_autofree char *whole = play(rule, active, 1000);

                                for (guint max = 1; max < 12; max++) {
                                        g_autofree char *parts = play(rule, active, max);

                                        g_assert_cmpstr(parts, ==, whole);
                                }
                        }
}

/* A long backlog with 'replace': the first tick costs no look at later ones, and a plan says how many it counted. */
static void test_looks(void)
{
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(Cron) cron = cron_parse("* * * * *", utc, NULL);
        const Case one = { .next = -100 * 60 - 30, .policy = SCHEDULE_REPLACE, .concurrency = 50 },
                   expired = { .next = -100 * 60 - 30,
                               .expire = 1800,
                               .policy = SCHEDULE_REPLACE,
                               .concurrency = 50 };
        ScheduleRule rule = rule_of(&one, cron);
        g_auto(SchedulePlan) first = { 0 }, plan = { 0 }, late = { 0 };

        schedule_plan_first(&rule, 0, NOW, &first);
        g_assert_cmpuint(first.ticks->len, ==, 1);
        g_assert_cmpint(g_array_index(first.ticks, PlannedTick, 0).at, ==, rule.next_at);
        g_assert_cmpint(g_array_index(first.ticks, PlannedTick, 0).fate, ==, TICK_RUN);
        g_assert_cmpuint(first.looked, ==, 0);
        schedule_plan(&rule, 0, NOW, 10, &plan);
        g_assert_cmpint(g_array_index(plan.ticks, PlannedTick, 0).fate, ==, TICK_REPLACED);
        g_assert_cmpuint(plan.looked, ==, 50);
        rule = rule_of(&expired, cron);
        schedule_plan(&rule, 0, NOW, 10, &late); /* they have expired, whatever is later */
        g_assert_cmpuint(late.looked, ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/schedule/plan/cases", test_cases);
        g_test_add_func("/schedule/plan/expired", test_expired);
        g_test_add_func("/schedule/plan/ahead", test_ahead);
        g_test_add_func("/schedule/plan/parts", test_parts);
        g_test_add_func("/schedule/plan/looks", test_looks);
        return g_test_run();
}
