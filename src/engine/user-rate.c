/* Rates of users (see user-rate.h). */
#include "engine/user-rate.h"

enum {
        MINUTE_MS = 60000,
        TOKEN = 60000, /* what one costs, so that each ms adds a whole number */
};

typedef struct {
        gint64 tokens, at;
} Allowance;

void user_rates_init(UserRates *rates, gint64 per_minute)
{
        rates->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        rates->per_minute = per_minute;
}

void user_rates_clear(UserRates *rates)
{
        g_hash_table_unref(rates->users);
}

static Allowance *allowance_of(UserRates *rates, const char *user, gint64 now)
{
        const char *name = g_intern_string(user);
        Allowance *allowance = g_hash_table_lookup(rates->users, name);
        gint64 most = rates->per_minute * TOKEN;

        if (!allowance) {
                allowance = g_new0(Allowance, 1);
                *allowance = (Allowance){ most, now };
                g_hash_table_insert(rates->users, (gpointer)name, allowance);
        }
        allowance->tokens =
                MIN(most, allowance->tokens + CLAMP(now - allowance->at, 0, MINUTE_MS) * rates->per_minute);
        allowance->at = now;
        return allowance;
}

bool user_rates_take(UserRates *rates, const char *user, gint64 n, gint64 now, bool only_check,
                     UserRateLack *ret)
{
        gint64 cost = n * TOKEN, lack;
        Allowance *allowance;

        if (rates->per_minute <= 0)
                return true;
        allowance = allowance_of(rates, user, now);
        if (allowance->tokens >= cost) {
                allowance->tokens -= only_check ? 0 : cost;
                return true;
        }
        lack = cost - allowance->tokens;
        if (ret)
                *ret = (UserRateLack){ .lack = (lack + TOKEN - 1) / TOKEN,
                                       .wait_s = (lack / rates->per_minute + 999) / 1000 };
        return false;
}
