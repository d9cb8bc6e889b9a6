/* What goes by itself from the cache of steps: entries that have expired, and the oldest ones of a user with too many. */
#include "engine/test/play.h"

#include <string.h>

#include "engine/runs-cache.h"

enum { FEW = 3 };

#define HOUR_MS (3600 * 1000LL)

static gint64 swept; /* atomic: the time, ms, of the last sweep with the limit that users have */

/* As the store does it, but for a smaller limit. */
static GArray *few_expired(Store *store, gint64 now, gint64 of_user_max, int limit, GError **error)
{
        if (of_user_max == 100 * 1000) /* what the reference says */
                __atomic_store_n(&swept, now, __ATOMIC_SEQ_CST);
        return store_sqlite.cache_expired(store, now, FEW, limit, error);
}

/* Passes so much, and a little more until a sweep has looked. */
static void pass_and_sweep(House *house, gint64 ms)
{
        gint64 from = __atomic_load_n(&house->clock_ms, __ATOMIC_SEQ_CST) + ms;

        house_pass(house, ms);
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             __atomic_load_n(&swept, __ATOMIC_SEQ_CST) < from && g_get_monotonic_time() < end;) {
                g_usleep(1000);
                house_pass(house, 10 * 1000);
        }
        g_assert_cmpint(__atomic_load_n(&swept, __ATOMIC_SEQ_CST), >=, from);
}

static House *house_of_few(void)
{
        static StoreOps ops;
        House *house = house_new_cold();

        ops = store_sqlite;
        ops.cache_expired = few_expired;
        house->store_ops = &ops;
        __atomic_store_n(&swept, 0, __ATOMIC_SEQ_CST);
        house_open(house);
        house_sync(house);
        pass_and_sweep(house, 0); /* that of the start */
        return house;
}

static void begin(House *house, const char *user, const char *text)
{
        RunAnswer answer = { .done = 0 };

        engine_create_run(house->engine, &(EngineRun){ .user = user, .text = text }, play_note_answer,
                          &answer);
        house_barrier(house);
        g_assert_no_error(answer.error);
        run_record_free(answer.run);
}

/* "a c b": the steps of the user that have entries, oldest first; the caller's. */
static char *entries_of(House *house, const char *user)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) entries =
                store_cache_entries(house->store, &(CacheQuery){ .user = user, .limit = 1000 }, &next,
                                    &error);
        GString *text = g_string_new(NULL);

        g_assert_no_error(error);
        for (guint i = 0; i < entries->len; i++)
                g_string_append_printf(text, "%s%s", i ? " " : "",
                                       ((const CacheEntry *)entries->pdata[i])->step);
        return g_string_free(text, FALSE);
}

static void assert_entries(House *house, const char *user, const char *want)
{
        g_autofree char *found = entries_of(house, user);

        g_assert_cmpstr(found, ==, want);
}

/* Passes so much, again and again, until it is so. */
static void await_entries(House *house, const char *user, const char *want, gint64 each_ms)
{
        g_autofree char *found = entries_of(house, user);

        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             strcmp(found, want) != 0 && g_get_monotonic_time() < end;) {
                g_free(found);
                house_pass(house, each_ms);
                found = entries_of(house, user);
        }
        g_assert_cmpstr(found, ==, want);
}

/* An entry goes when it has expired, and not before; one without end stays. */
static void test_expired(void)
{
        House *house = house_of_few();

        begin(house, "ann",
              "name: p\ncache: {enable: true, max_expired_time: 3600000}\nentry_points:\n  a: {command: c}\n");
        await_entries(house, "ann", "a", 0);
        begin(house, "ann", "name: p\ncache: {enable: true}\nentry_points:\n  b: {command: d}\n");
        await_entries(house, "ann", "a b", 0);
        pass_and_sweep(house, 900 * HOUR_MS); /* of 1000 */
        assert_entries(house, "ann", "a b");
        house_pass(house, 99 * HOUR_MS);
        await_entries(house, "ann", "b", HOUR_MS);
        pass_and_sweep(house, 1000 * HOUR_MS);
        assert_entries(house, "ann", "b");
        house_free(house);
}

/* A run of so many steps; "a c b", the order of their entries; the caller's. */
static char *fill(House *house, const char *user, int n)
{
        g_autoptr(GString) text = g_string_new("name: p\ncache: {enable: true}\nentry_points:\n");
        char *entries = NULL;

        for (char name = 'a'; name < 'a' + n; name++)
                g_string_append_printf(text, "  %c: {command: c}\n", name);
        begin(house, user, text->str);
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             (!entries || (int)strlen(entries) < 2 * n - 1) && g_get_monotonic_time() < end;) {
                g_free(entries);
                house_barrier(house);
                entries = entries_of(house, user);
        }
        g_assert_cmpuint(strlen(entries), ==, 2 * n - 1);
        return entries;
}

/* The oldest entries of users with too many go, one user after the other, and none of the rest. */
static void test_too_many(void)
{
        House *house = house_of_few();
        g_autofree char *five = fill(house, "ann", 5), *three = fill(house, "eve", 3),
                        *four = fill(house, "bob", 4);

        await_entries(house, "ann", five + strlen("a b "), HOUR_MS);
        await_entries(house, "bob", four + strlen("a "), HOUR_MS);
        pass_and_sweep(house, HOUR_MS);
        assert_entries(house, "ann", five + strlen("a b "));
        assert_entries(house, "bob", four + strlen("a "));
        assert_entries(house, "eve", three);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/retain/cache/expired", test_expired);
        g_test_add_func("/engine/retain/cache/too-many", test_too_many);
        return g_test_run();
}
