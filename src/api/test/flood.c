/* Lines of those who are refused are bounded, and none goes uncounted. */
#include "api/auth/flood.h"

#include <string.h>

typedef struct {
        gint64 lines, count;
        char last[100];
} Seen;

static void counted(const char *who, const char *what, gint64 count, void *arg)
{
        Seen *seen = arg;

        seen->lines++;
        seen->count += count;
        g_snprintf(seen->last, sizeof seen->last, "%s %s %d", who, what, (int)count);
}

static gint64 collect(Flood *flood, gint64 now, bool all, Seen *ret)
{
        *ret = (Seen){ 0 };
        flood_collect(flood, now, all, counted, ret);
        return ret->lines;
}

static void test_one(void)
{
        Flood *flood = flood_new();
        Seen seen;
        int written = 0;

        for (int i = 0; i < 100; i++)
                written += flood_take(flood, "10.0.0.1", "login denied", 0);
        g_assert_cmpint(written, ==, FLOOD_BURST);
        g_assert_true(flood_take(flood, "10.0.0.2", "login denied", 0)); /* another is not concerned */
        g_assert_false(flood_take(flood, "10.0.0.1", "login denied", FLOOD_EVERY_MS - 1));
        g_assert_true(flood_take(flood, "10.0.0.1", "login denied", FLOOD_EVERY_MS));
        g_assert_cmpint(collect(flood, FLOOD_WINDOW_MS - 1, false, &seen), ==, 0);
        g_assert_cmpint(collect(flood, FLOOD_WINDOW_MS, false, &seen), ==, 1);
        g_assert_cmpstr(seen.last, ==, "10.0.0.1 login denied 71");
        g_assert_cmpint(collect(flood, FLOOD_WINDOW_MS, true, &seen), ==, 0);
        flood_free(flood);
}

/* A day of requests from ever new addresses: lines are bounded, and all are counted. */
static void test_many(void)
{
        enum { DAY_MS = 24 * 3600 * 1000, STEP_MS = 500 };
        Flood *flood = flood_new();
        gint64 written = 0, asked = 0, lines = 0, in_counts = 0;
        Seen seen;

        for (gint64 now = 0; now < DAY_MS; now += STEP_MS, asked++) {
                g_autofree char *who = g_strdup_printf("10.%d.%d.%d", (int)(asked >> 16 & 255),
                                                       (int)(asked >> 8 & 255), (int)(asked & 255));

                written += flood_take(flood, who, "login denied", now);
                if (now % 1000 == 0) {
                        lines += collect(flood, now, false, &seen);
                        in_counts += seen.count;
                }
        }
        lines += collect(flood, DAY_MS, true, &seen);
        in_counts += seen.count;
        g_assert_cmpint(written + in_counts, ==, asked);
        g_assert_cmpint(written, <=, FLOOD_BURST_ALL + DAY_MS / FLOOD_EVERY_ALL_MS);
        g_assert_cmpint(lines, <=, (FLOOD_ENTRIES_MAX + 1) * (DAY_MS / FLOOD_WINDOW_MS + 1));
        flood_free(flood);
}

static void test_repeated(void)
{
        Flood *flood = flood_new();
        Seen seen;

        g_assert_true(flood_take_repeated(flood, "root", "log show x", 0));
        for (int i = 0; i < 5; i++)
                g_assert_false(flood_take_repeated(flood, "root", "log show x", 1000));
        g_assert_true(flood_take_repeated(flood, "root", "log show y", 1000));
        g_assert_cmpint(collect(flood, FLOOD_WINDOW_MS, false, &seen), ==, 1);
        g_assert_cmpstr(seen.last, ==, "root log show x 5");
        g_assert_true(flood_take_repeated(flood, "root", "log show x", FLOOD_WINDOW_MS)); /* a new window */
        flood_free(flood);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/flood/one", test_one);
        g_test_add_func("/flood/many", test_many);
        g_test_add_func("/flood/repeated", test_repeated);
        return g_test_run();
}
