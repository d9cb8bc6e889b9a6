/* Entries of the cache of steps (see cache-record.h). */
#include "model/cache-record.h"

void cache_entry_free(CacheEntry *entry)
{
        if (!entry)
                return;
        g_free(entry->key);
        g_free(entry->first);
        g_free(entry->second);
        g_free(entry->user);
        g_free(entry->fs);
        g_free(entry->source);
        g_free(entry->step);
        g_free(entry->body);
        g_free(entry->run_id);
        g_free(entry->job_id);
        g_free(entry);
}

CacheEntry *cache_entry_copy(const CacheEntry *entry)
{
        CacheEntry *copy = g_memdup2(entry, sizeof *entry);

        copy->key = g_strdup(entry->key);
        copy->first = g_strdup(entry->first);
        copy->second = g_strdup(entry->second);
        copy->user = g_strdup(entry->user);
        copy->fs = g_strdup(entry->fs);
        copy->source = g_strdup(entry->source);
        copy->step = g_strdup(entry->step);
        copy->body = g_strdup(entry->body);
        copy->run_id = g_strdup(entry->run_id);
        copy->job_id = g_strdup(entry->job_id);
        return copy;
}

bool cache_entry_is_alive(const CacheEntry *entry, gint64 now)
{
        return entry->expiry_s == CACHE_NEVER_EXPIRES || now < entry->created + entry->expiry_s * 1000;
}
