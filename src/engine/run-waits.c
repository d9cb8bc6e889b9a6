/* Why runs do not go on, for readers (see run-waits.h). */
#include "engine/run-waits.h"

#include "engine/state.h"

static void unref_array(gpointer array)
{
        g_array_unref(array);
}

GHashTable *run_waits_new(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, unref_array);
}

void run_waits_publish(Engine *engine, const char *id, GArray *waits)
{
        pthread_mutex_lock(&engine->run_plans_lock);
        if (waits && waits->len > 0)
                g_hash_table_replace(engine->run_waits, g_strdup(id), g_array_ref(waits));
        else
                g_hash_table_remove(engine->run_waits, id);
        pthread_mutex_unlock(&engine->run_plans_lock);
        if (waits)
                g_array_unref(waits);
}

GArray *engine_run_waits(Engine *engine, const char *id)
{
        GArray *waits;

        pthread_mutex_lock(&engine->run_plans_lock);
        waits = g_hash_table_lookup(engine->run_waits, id);
        if (waits)
                g_array_ref(waits);
        pthread_mutex_unlock(&engine->run_plans_lock);
        return waits;
}

char *engine_trouble(Engine *engine)
{
        return views_trouble(engine->views);
}
