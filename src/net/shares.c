/* Shares of something that is bounded (see shares.h). A holder that has nothing is not remembered, so the
 * table is as long as there are holders. Their names may be chosen by others, so the hash has a key. */
#include "net/shares.h"

#include "base/keyed-hash.h"

struct Shares {
        GHashTable *held; /* char * -> gint64 * */
        gint64 all;
};

Shares *shares_new(void)
{
        Shares *shares = g_new0(Shares, 1);

        shares->held = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        return shares;
}

void shares_free(Shares *shares)
{
        if (!shares)
                return;
        g_hash_table_unref(shares->held);
        g_free(shares);
}

SharesVerdict shares_take(Shares *shares, const char *holder, gint64 amount, gint64 own_max, gint64 all_max)
{
        gint64 *own = g_hash_table_lookup(shares->held, holder);

        if (amount > own_max - (own ? *own : 0))
                return SHARES_OWN_FULL;
        if (amount > all_max - shares->all)
                return SHARES_ALL_FULL;
        if (!own) {
                own = g_new0(gint64, 1);
                g_hash_table_insert(shares->held, g_strdup(holder), own);
        }
        *own += amount;
        shares->all += amount;
        return SHARES_TAKEN;
}

void shares_give(Shares *shares, const char *holder, gint64 amount)
{
        gint64 *own = g_hash_table_lookup(shares->held, holder);

        if (amount == 0)
                return;
        g_assert(own && *own >= amount);
        *own -= amount;
        shares->all -= amount;
        if (*own == 0)
                g_hash_table_remove(shares->held, holder);
}

gint64 shares_of(const Shares *shares, const char *holder)
{
        const gint64 *own = g_hash_table_lookup(shares->held, holder);

        return own ? *own : 0;
}

gint64 shares_all(const Shares *shares)
{
        return shares->all;
}

const char *shares_largest(const Shares *shares)
{
        const char *largest = NULL;
        GHashTableIter iter;
        gpointer name, own;
        gint64 most = 0;

        g_hash_table_iter_init(&iter, shares->held);
        while (g_hash_table_iter_next(&iter, &name, &own)) {
                if (*(gint64 *)own <= most)
                        continue;
                most = *(gint64 *)own;
                largest = name;
        }
        return largest;
}
