/* The kept pods of attempts (see kept.h): by name; those with a known end also by time. */
#include "runtime/kubernetes/object/kept.h"

#include <string.h>

typedef struct {
        KeptAttempt about;
        gint64 until;        /* 0: the attempt is not over */
        GSequenceIter *turn; /* NULL while `until` is 0 */
} Entry;

struct Kept {
        GHashTable *entries; /* service -> Entry */
        GSequence *turns;    /* Entry, by `until` */
};

void kept_attempt_free(KeptAttempt *attempt)
{
        if (!attempt)
                return;
        g_free(attempt->service);
        g_free(attempt->namespace);
        g_ptr_array_unref(attempt->tasks);
        g_free(attempt);
}

static void entry_free(void *entry)
{
        kept_attempt_free(entry); /* which it begins with */
}

Kept *kept_new(void)
{
        Kept *kept = g_new0(Kept, 1);

        kept->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, entry_free);
        kept->turns = g_sequence_new(NULL);
        return kept;
}

void kept_free(Kept *kept)
{
        if (!kept)
                return;
        g_sequence_free(kept->turns);
        g_hash_table_unref(kept->entries);
        g_free(kept);
}

void kept_add(Kept *kept, const char *service, const char *namespace, const char *task)
{
        Entry *entry = g_hash_table_lookup(kept->entries, service);

        if (!entry) {
                entry = g_new0(Entry, 1);
                entry->about.service = g_strdup(service);
                entry->about.namespace = g_strdup(namespace);
                entry->about.tasks = g_ptr_array_new_with_free_func(g_free);
                g_hash_table_insert(kept->entries, entry->about.service, entry);
        }
        if (!g_ptr_array_find_with_equal_func(entry->about.tasks, task, g_str_equal, NULL))
                g_ptr_array_add(entry->about.tasks, g_strdup(task));
}

static int by_time(gconstpointer a, gconstpointer b, gpointer arg)
{
        gint64 x = ((const Entry *)a)->until, y = ((const Entry *)b)->until;

        return (x > y) - (x < y);
}

static void drop_turn(Entry *entry)
{
        if (entry->turn)
                g_sequence_remove(entry->turn);
        entry->turn = NULL;
}

bool kept_set(Kept *kept, const char *service, gint64 until)
{
        Entry *entry = g_hash_table_lookup(kept->entries, service);

        if (!entry)
                return false;
        drop_turn(entry);
        entry->until = until;
        if (until == G_MAXINT64)
                g_hash_table_remove(kept->entries, service);
        else
                entry->turn = g_sequence_insert_sorted(kept->turns, entry, by_time, NULL);
        return true;
}

static Entry *first_of(const Kept *kept)
{
        GSequenceIter *first = g_sequence_get_begin_iter(kept->turns);

        return g_sequence_iter_is_end(first) ? NULL : g_sequence_get(first);
}

KeptAttempt *kept_take(Kept *kept, gint64 now)
{
        Entry *entry = first_of(kept);

        if (!entry || entry->until > now)
                return NULL;
        drop_turn(entry);
        g_hash_table_steal(kept->entries, entry->about.service);
        return &entry->about;
}

gint64 kept_next(const Kept *kept)
{
        const Entry *entry = first_of(kept);

        return entry ? entry->until : 0;
}
