/* Turns of log-ins, with a clock of the test's own. Expected values: doc/guide/people.md, 5. */
#include "api/auth/throttle.h"

enum { START = 1000000 };

/* The wait for a turn, which is taken and ends so; -1: there was none. */
static gint64 attempt(Throttle *throttle, const char *account, const char *address, gint64 now, Attempt how)
{
        Turn turn;

        if (!throttle_begin(throttle, account, address, now, &turn))
                return -1;
        throttle_end(throttle, account, address, now + turn.wait_ms, &turn, how);
        return turn.wait_ms;
}

static void fail_times(Throttle *throttle, const char *account, const char *address, gint64 now, int n)
{
        for (int i = 0; i < n; i++)
                g_assert_cmpint(attempt(throttle, account, address, now, ATTEMPT_FAILED), ==, 0);
}

/* A wrong password from one address: five are free, then each waits twice as long as the one before. */
static void test_delays_double(void)
{
        static const gint64 delays[] = { 1000, 2000, 4000, 8000, 16000 };
        Throttle *throttle = throttle_new();
        gint64 now = START;
        Turn turn;

        fail_times(throttle, "ann", "10.0.0.1", now, 5);
        for (gsize i = 0; i < G_N_ELEMENTS(delays); i++) {
                g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", now, ATTEMPT_FAILED), ==, delays[i]);
                now += delays[i];
        }
        g_assert_false(
                throttle_begin(throttle, "ann", "10.0.0.1", now, &turn)); /* 32 s are beyond the line */
        g_assert_cmpint(turn.wait_ms, ==, 32000);
        throttle_free(throttle);
}

/* However often one fails, from one place or many: who has logged in from elsewhere before has a turn at
 * once. */
static void test_nobody_shuts_others_out(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = START;

        g_assert_cmpint(attempt(throttle, "root", "10.9.9.9", now, ATTEMPT_SUCCEEDED), ==, 0);
        for (int i = 0; i < 10000; i++) {
                g_autofree char *address = g_strdup_printf("10.1.%d.%d", i / 250, i % 250);

                now += 10;
                (void)attempt(throttle, "root", "10.0.0.1", now, ATTEMPT_FAILED);
                (void)attempt(throttle, "root", address, now, ATTEMPT_FAILED);
        }
        g_assert_cmpint(attempt(throttle, "root", "10.9.9.9", now, ATTEMPT_SUCCEEDED), ==, 0);
        g_assert_cmpint(attempt(throttle, "ann", "10.2.0.1", now, ATTEMPT_SUCCEEDED), ==, 0);
        throttle_free(throttle);
}

/* Failures of made-up names from an address, behind which there are many: who is known there is not
 * concerned, strangers take turns. */
static void test_an_address_with_many_behind_it(void)
{
        Throttle *throttle = throttle_new();

        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_SUCCEEDED), ==, 0);
        for (int i = 0; i < THROTTLE_FREE_OF_ADDRESS; i++) {
                g_autofree char *account = g_strdup_printf("guess%d", i);

                fail_times(throttle, account, "10.0.0.1", START, 1);
        }
        g_assert_cmpint(attempt(throttle, "bob", "10.0.0.1", START, ATTEMPT_DROPPED), ==, 0);
        g_assert_cmpint(attempt(throttle, "carl", "10.0.0.1", START, ATTEMPT_DROPPED), ==, 1000);
        g_assert_cmpint(attempt(throttle, "dora", "10.0.0.1", START, ATTEMPT_DROPPED), ==, 2000);
        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_SUCCEEDED), ==, 0);
        g_assert_cmpint(attempt(throttle, "carl", "10.0.0.2", START, ATTEMPT_SUCCEEDED), ==, 0);
        throttle_free(throttle);
}

/* Who waits for another reason makes nobody wait who has none. */
static void test_waits_are_not_catching(void)
{
        Throttle *throttle = throttle_new();

        fail_times(throttle, "ann", "10.0.0.1", START, 5);
        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_FAILED), ==, 1000);
        g_assert_cmpint(attempt(throttle, "bob", "10.0.0.1", START, ATTEMPT_FAILED), ==, 0);
        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.2", START, ATTEMPT_FAILED), ==, 0);
        throttle_free(throttle);
}

/* Guesses at one account from ever new addresses take turns, at longer and longer distances. */
static void test_an_account_that_many_guess_at(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = START, last = 0;

        for (int i = 0; i < 1000; i++) {
                g_autofree char *address = g_strdup_printf("10.1.%d.%d", i / 250, i % 250);
                gint64 wait = attempt(throttle, "root", address, now, ATTEMPT_FAILED);

                g_assert_cmpint(wait, >=, 0);
                if (i < THROTTLE_FREE_OF_ACCOUNT)
                        g_assert_cmpint(wait, ==, 0);
                now += wait;
                last = wait;
        }
        g_assert_cmpint(last, >=, 3200);
        g_assert_cmpint(last, <=, 5000);
        throttle_free(throttle);
}

/* One who is known and mistypes, or shares the address with who guesses: a second at most from turn to turn.
 */
static void test_known_ones_wait_a_second(void)
{
        Throttle *throttle = throttle_new();

        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_SUCCEEDED), ==, 0);
        fail_times(throttle, "ann", "10.0.0.1", START, 5);
        for (int i = 1; i <= 10; i++)
                g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_FAILED), ==, i * 1000);
        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START + 20000, ATTEMPT_SUCCEEDED), ==, 0);
        fail_times(throttle, "ann", "10.0.0.1", START + 20000, 5); /* a success has cleared it */
        throttle_free(throttle);
}

static void test_addresses_of_one_network(void)
{
        static const struct {
                const char *failed, *then;
                bool slowed;
        } cases[] = {
                { "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true },
                { "2001:db8:1:2::1", "2001:db8:1:2::1", true },
                { "2001:db8:1:2::1", "2001:db8:1:3::1", false },
                { "::ffff:10.0.0.1", "10.0.0.1", true },
                { "10.0.0.1", "::ffff:10.0.0.1", true },
                { "::ffff:10.0.0.1", "::ffff:10.0.0.2", false },
                { "10.0.0.1", "10.0.0.2", false },
                { "127.0.0.1", "127.9.9.9", true },
                { "::1", "127.0.0.1", true },
                { "127.0.0.1", "unix", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Throttle *throttle = throttle_new();

                g_test_message("%s, then %s", cases[i].failed, cases[i].then);
                fail_times(throttle, "ann", cases[i].failed, START, 5);
                g_assert_cmpint(attempt(throttle, "ann", cases[i].then, START, ATTEMPT_DROPPED), ==,
                                cases[i].slowed ? 1000 : 0);
                throttle_free(throttle);
        }
}

/* So many of an address wait or run, and of each known account there. */
static void test_shares(void)
{
        Throttle *throttle = throttle_new();
        Turn turns[THROTTLE_SHARE], turn;

        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_SUCCEEDED), ==, 0);
        for (int i = 0; i < THROTTLE_SHARE; i++) {
                g_autofree char *account = g_strdup_printf("guess%d", i);

                g_assert_true(throttle_begin(throttle, account, "10.0.0.1", START, &turns[i]));
        }
        g_assert_false(throttle_begin(throttle, "bob", "10.0.0.1", START, &turn));
        g_assert_cmpint(turn.wait_ms, ==, 1000);
        g_assert_true(throttle_begin(throttle, "bob", "10.0.0.2", START, &turn));
        for (int i = 0; i < THROTTLE_SHARE; i++)
                g_assert_true(throttle_begin(throttle, "ann", "10.0.0.1", START, &turn));
        g_assert_false(throttle_begin(throttle, "ann", "10.0.0.1", START, &turn));
        throttle_end(throttle, "guess0", "10.0.0.1", START, &turns[0], ATTEMPT_DROPPED);
        g_assert_true(throttle_begin(throttle, "bob", "10.0.0.1", START, &turn));
        throttle_free(throttle);
}

static void test_it_forgets(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = START;

        fail_times(throttle, "ann", "10.0.0.1", now, 5);
        now += THROTTLE_FORGET_MS;
        fail_times(throttle, "ann", "10.0.0.1", now, 5);
        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", now, ATTEMPT_FAILED), ==, 1000);
        for (int i = 0; i < THROTTLE_ENTRIES_MAX; i++) {
                g_autofree char *account = g_strdup_printf("user%d", i);
                g_autofree char *address = g_strdup_printf("10.1.%d.%d", i / 250, i % 250);

                fail_times(throttle, account, address, now, 1);
        }
        fail_times(throttle, "ann", "10.0.0.1", now, 5); /* made room for the others */
        throttle_free(throttle);
}

/* Nobody makes a known one a stranger by failing often. */
static void test_it_remembers_who_is_known(void)
{
        Throttle *throttle = throttle_new();
        Turn turn;

        g_assert_cmpint(attempt(throttle, "ann", "10.0.0.1", START, ATTEMPT_SUCCEEDED), ==, 0);
        for (int i = 0; i < 2 * THROTTLE_ENTRIES_MAX; i++) {
                g_autofree char *account = g_strdup_printf("user%d", i);
                g_autofree char *address = g_strdup_printf("10.1.%d.%d", i / 250, i % 250);

                fail_times(throttle, account, address, START, 1);
        }
        g_assert_true(throttle_begin(throttle, "ann", "10.0.0.1", START + THROTTLE_KNOWN_MS - 1, &turn));
        g_assert_true(turn.known);
        throttle_end(throttle, "ann", "10.0.0.1", START, &turn, ATTEMPT_DROPPED);
        g_assert_true(throttle_begin(throttle, "ann", "10.0.0.1", START + THROTTLE_KNOWN_MS, &turn));
        g_assert_false(turn.known);
        throttle_free(throttle);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/throttle/delays-double", test_delays_double);
        g_test_add_func("/throttle/nobody-shuts-others-out", test_nobody_shuts_others_out);
        g_test_add_func("/throttle/address-with-many-behind-it", test_an_address_with_many_behind_it);
        g_test_add_func("/throttle/waits-are-not-catching", test_waits_are_not_catching);
        g_test_add_func("/throttle/account-that-many-guess-at", test_an_account_that_many_guess_at);
        g_test_add_func("/throttle/known-ones-wait-a-second", test_known_ones_wait_a_second);
        g_test_add_func("/throttle/addresses-of-one-network", test_addresses_of_one_network);
        g_test_add_func("/throttle/shares", test_shares);
        g_test_add_func("/throttle/it-forgets", test_it_forgets);
        g_test_add_func("/throttle/it-remembers-who-is-known", test_it_remembers_who_is_known);
        return g_test_run();
}
