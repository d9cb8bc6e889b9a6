/* The delays after failed log-ins, with a clock of the test's own. Expected values: doc/people.md 5. */
#include "api/auth/throttle.h"

static bool attempt(Throttle *throttle, const char *account, const char *address, gint64 now, bool success,
                    gint64 *ret_wait)
{
        *ret_wait = 0;
        if (!throttle_begin(throttle, account, address, now, ret_wait))
                return false;
        throttle_end(throttle, account, address, now, success ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED);
        return true;
}

static void fail_times(Throttle *throttle, const char *account, const char *address, gint64 now, int n)
{
        gint64 wait;

        for (int i = 0; i < n; i++)
                g_assert_true(attempt(throttle, account, address, now, false, &wait));
}

static void test_delays_double(void)
{
        static const gint64 delays[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
        Throttle *throttle = throttle_new();
        gint64 now = 1000000, wait;

        fail_times(throttle, "ann", "10.0.0.1", now, 5);
        for (gsize i = 0; i < G_N_ELEMENTS(delays); i++) {
                g_assert_false(attempt(throttle, "ann", NULL, now, true, &wait));
                g_assert_cmpint(wait, ==, delays[i]);
                g_assert_false(attempt(throttle, "ann", NULL, now + delays[i] - 1, true, &wait));
                g_assert_cmpint(wait, ==, 1);
                now += delays[i];
                g_assert_true(attempt(throttle, "ann", NULL, now, false, &wait));
        }
        throttle_free(throttle);
}

static void test_success_clears_the_account(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = 5000, wait;

        fail_times(throttle, "ann", NULL, now, 5);
        now += 1000;
        g_assert_true(attempt(throttle, "ann", NULL, now, true, &wait));
        fail_times(throttle, "ann", NULL, now, 5);
        g_assert_false(attempt(throttle, "ann", NULL, now, true, &wait));
        throttle_free(throttle);
}

static void test_address_is_slowed_over_accounts(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = 5000, wait;

        for (int i = 0; i < 5; i++) {
                g_autofree char *account = g_strdup_printf("user%d", i);

                fail_times(throttle, account, "10.0.0.1", now, 1);
        }
        g_assert_false(attempt(throttle, "bob", "10.0.0.1", now, true, &wait));
        g_assert_cmpint(wait, ==, 1000);
        g_assert_true(attempt(throttle, "bob", "10.0.0.2", now, true, &wait));
        /* a success of some account does not free the address */
        now += 1000;
        g_assert_true(attempt(throttle, "bob", "10.0.0.1", now, true, &wait));
        fail_times(throttle, "carl", "10.0.0.1", now, 1);
        g_assert_false(attempt(throttle, "bob", "10.0.0.1", now, true, &wait));
        g_assert_cmpint(wait, ==, 2000);
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
                { "::1", "127.0.0.1", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Throttle *throttle = throttle_new();
                gint64 wait = 0;

                g_test_message("%s, then %s", cases[i].failed, cases[i].then);
                for (int n = 0; n < 5; n++) {
                        g_autofree char *account = g_strdup_printf("user%d", n);

                        fail_times(throttle, account, cases[i].failed, 5000, 1);
                }
                g_assert_cmpint(attempt(throttle, "ann", cases[i].then, 5000, true, &wait), ==,
                                !cases[i].slowed);
                throttle_free(throttle);
        }
}

static void test_one_at_a_time_once_it_failed(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = 5000, wait = 0;

        for (int i = 0; i < 20; i++) /* nothing failed yet */
                g_assert_true(throttle_begin(throttle, "ann", NULL, now, &wait));
        for (int i = 0; i < 20; i++)
                throttle_end(throttle, "ann", NULL, now, ATTEMPT_FAILED);
        now += 60000;
        g_assert_true(throttle_begin(throttle, "ann", NULL, now, &wait));
        g_assert_false(throttle_begin(throttle, "ann", NULL, now, &wait));
        g_assert_cmpint(wait, ==, 1000);
        throttle_end(throttle, "ann", NULL, now, ATTEMPT_DROPPED);
        g_assert_true(throttle_begin(throttle, "ann", NULL, now, &wait));
        g_assert_false(throttle_begin(throttle, "ann", NULL, now, &wait));
        throttle_end(throttle, "ann", NULL, now, ATTEMPT_SUCCEEDED);
        g_assert_true(throttle_begin(throttle, "ann", NULL, now, &wait));
        g_assert_true(throttle_begin(throttle, "ann", NULL, now, &wait));
        throttle_free(throttle);
}

static void test_it_forgets(void)
{
        Throttle *throttle = throttle_new();
        gint64 now = 5000, wait;

        fail_times(throttle, "ann", NULL, now, 5);
        now += THROTTLE_FORGET_MS;
        fail_times(throttle, "ann", NULL, now, 5);
        g_assert_false(attempt(throttle, "ann", NULL, now, true, &wait));
        for (int i = 0; i < THROTTLE_ENTRIES_MAX; i++) {
                g_autofree char *account = g_strdup_printf("user%d", i);

                fail_times(throttle, account, NULL, now, 1);
        }
        g_assert_true(attempt(throttle, "ann", NULL, now, true, &wait)); /* made room for the others */
        throttle_free(throttle);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/throttle/delays-double", test_delays_double);
        g_test_add_func("/throttle/success-clears-the-account", test_success_clears_the_account);
        g_test_add_func("/throttle/address-is-slowed-over-accounts", test_address_is_slowed_over_accounts);
        g_test_add_func("/throttle/addresses-of-one-network", test_addresses_of_one_network);
        g_test_add_func("/throttle/one-at-a-time-once-it-failed", test_one_at_a_time_once_it_failed);
        g_test_add_func("/throttle/it-forgets", test_it_forgets);
        return g_test_run();
}
