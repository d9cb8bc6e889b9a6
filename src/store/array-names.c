/* Numbers of arrays by name (see array-names.h). */
#include "store/array-names.h"

#include "base/keyed-hash.h"

enum { NAMES_MAX = 4096 };

void array_names_init(ArrayNames *names)
{
        *names = (ArrayNames){ .seqs = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free) };
        pthread_mutex_init(&names->lock, NULL);
}

void array_names_clear(ArrayNames *names)
{
        g_hash_table_unref(names->seqs);
        pthread_mutex_destroy(&names->lock);
}

bool array_names_get(ArrayNames *names, const char *user, const char *name, gint64 *ret_seq,
                     guint64 *ret_generation)
{
        g_autofree char *key = g_strconcat(user, "\n", name, NULL);
        const gint64 *seq;

        pthread_mutex_lock(&names->lock);
        seq = g_hash_table_lookup(names->seqs, key);
        *ret_seq = seq ? *seq : 0;
        *ret_generation = names->generation;
        pthread_mutex_unlock(&names->lock);
        return seq != NULL;
}

void array_names_put(ArrayNames *names, const char *user, const char *name, gint64 seq, guint64 generation)
{
        pthread_mutex_lock(&names->lock);
        if (generation == names->generation) {
                if (g_hash_table_size(names->seqs) >= NAMES_MAX)
                        g_hash_table_remove_all(names->seqs);
                g_hash_table_insert(names->seqs, g_strconcat(user, "\n", name, NULL),
                                    g_memdup2(&seq, sizeof seq));
        }
        pthread_mutex_unlock(&names->lock);
}

void array_names_forget(ArrayNames *names)
{
        pthread_mutex_lock(&names->lock);
        names->generation++;
        g_hash_table_remove_all(names->seqs);
        pthread_mutex_unlock(&names->lock);
}
