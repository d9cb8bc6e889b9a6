/* See flood.h. Buckets fill with time, one line takes one from two of them: its own and that of all. */
#include "api/auth/flood.h"

#include <string.h>

#define EVERYBODY "*"
enum { BUCKETS_MAX = 1024 };

typedef struct {
        gint64 level, at; /* in ms: one line costs what it takes to fill */
} Bucket;

typedef struct {
        char *who, *what;
        gint64 count, since;
        bool written; /* the first of them was */
} Count;

struct Flood {
        Bucket all;
        GHashTable *buckets;       /* who -> Bucket * */
        GHashTable *counts, *seen; /* "who\nwhat" -> Count * */
};

static void count_free(void *arg)
{
        Count *count = arg;

        g_free(count->who);
        g_free(count->what);
        g_free(count);
}

Flood *flood_new(void)
{
        Flood *flood = g_new0(Flood, 1);

        flood->buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        flood->counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, count_free);
        flood->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, count_free);
        flood->all.level = (gint64)FLOOD_BURST_ALL * FLOOD_EVERY_ALL_MS;
        flood->all.at = -1;
        return flood;
}

void flood_free(Flood *flood)
{
        if (!flood)
                return;
        g_hash_table_unref(flood->buckets);
        g_hash_table_unref(flood->counts);
        g_hash_table_unref(flood->seen);
        g_free(flood);
}

static void fill(Bucket *bucket, gint64 now, gint64 most)
{
        if (bucket->at >= 0)
                bucket->level = MIN(most, bucket->level + MAX(now - bucket->at, 0));
        bucket->at = now;
}

static Bucket *bucket_of(Flood *flood, const char *who)
{
        Bucket *bucket = g_hash_table_lookup(flood->buckets, who);

        if (bucket)
                return bucket;
        if (g_hash_table_size(flood->buckets) >= BUCKETS_MAX) /* the bucket of all bounds them meanwhile */
                g_hash_table_remove_all(flood->buckets);
        bucket = g_new0(Bucket, 1);
        *bucket = (Bucket){ (gint64)FLOOD_BURST * FLOOD_EVERY_MS, -1 };
        g_hash_table_insert(flood->buckets, g_strdup(who), bucket);
        return bucket;
}

static Count *count_of(GHashTable *table, const char *who, const char *what, guint max, gint64 now)
{
        g_autofree char *key = g_strconcat(who, "\n", what, NULL);
        Count *count = g_hash_table_lookup(table, key);

        if (count || g_hash_table_size(table) >= max)
                return count;
        count = g_new0(Count, 1);
        *count = (Count){ g_strdup(who), g_strdup(what), 0, now, false };
        g_hash_table_insert(table, g_steal_pointer(&key), count);
        return count;
}

bool flood_take(Flood *flood, const char *who, const char *what, gint64 now)
{
        Bucket *own = bucket_of(flood, who);
        Count *count;

        fill(own, now, (gint64)FLOOD_BURST * FLOOD_EVERY_MS);
        fill(&flood->all, now, (gint64)FLOOD_BURST_ALL * FLOOD_EVERY_ALL_MS);
        if (own->level >= FLOOD_EVERY_MS && flood->all.level >= FLOOD_EVERY_ALL_MS) {
                own->level -= FLOOD_EVERY_MS;
                flood->all.level -= FLOOD_EVERY_ALL_MS;
                return true;
        }
        count = count_of(flood->counts, who, what, FLOOD_ENTRIES_MAX, now);
        if (!count) /* `what` is one of few */
                count = count_of(flood->counts, EVERYBODY, what, G_MAXUINT, now);
        count->count++;
        return false;
}

bool flood_take_repeated(Flood *flood, const char *who, const char *what, gint64 now)
{
        Count *count = count_of(flood->seen, who, what, FLOOD_SEEN_MAX, now);

        if (!count || !count->written) {
                if (count)
                        count->written = true;
                return true;
        }
        count->count++;
        return false;
}

static void collect(GHashTable *table, gint64 now, bool all, FloodCounted counted, void *arg)
{
        GHashTableIter iter;
        Count *count;

        g_hash_table_iter_init(&iter, table);
        while (g_hash_table_iter_next(&iter, NULL, (void **)&count)) {
                if (!all && now - count->since < FLOOD_WINDOW_MS)
                        continue;
                if (count->count)
                        counted(count->who, count->what, count->count, arg);
                g_hash_table_iter_remove(&iter);
        }
}

void flood_collect(Flood *flood, gint64 now, bool all, FloodCounted counted, void *arg)
{
        collect(flood->counts, now, all, counted, arg);
        collect(flood->seen, now, all, counted, arg);
}
