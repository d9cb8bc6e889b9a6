/* A queue of packings. Jobs that wait for a package are told when it is packed. The thread that packs touches
 * nothing but its own Packing. */
#include "runtime/kubernetes/image/packing.h"

#include "runtime/kubernetes/image/aside.h"
#include "runtime/kubernetes/image/package.h"

struct Packings {
        PackingConfig config;
        char *state_dir;
        GHashTable *by_hash; /* -> Packing, which waits or is at work */
        GQueue waiting;      /* of Packing */
        guint active;
};

typedef struct {
        Packings *packings; /* not the thread's */
        char *state_dir, *hash;
        GPtrArray *jobs;
        Aside *aside; /* NULL: it waits */
        GError *error;
} Packing;

static void packing_free(void *arg)
{
        Packing *packing = arg;

        g_free(packing->state_dir);
        g_free(packing->hash);
        g_ptr_array_unref(packing->jobs);
        g_clear_error(&packing->error);
        g_free(packing);
}

static void pack(void *arg)
{
        Packing *packing = arg;

        (void)package_pack(packing->state_dir, packing->hash, &packing->error);
}

static void start_next(Packings *packings);

static void on_packed(void *arg)
{
        Packing *packing = arg;
        Packings *packings = packing->packings;

        g_hash_table_remove(packings->by_hash, packing->hash);
        packings->active--;
        start_next(packings);
        for (guint i = 0; i < packing->jobs->len; i++)
                packings->config.done(packing->jobs->pdata[i],
                                      packing->error ? packing->error->message : NULL, packings->config.arg);
}

static void start_next(Packings *packings)
{
        Packing *packing;

        while (packings->active < PACKINGS_MAX && (packing = g_queue_pop_head(&packings->waiting))) {
                packings->active++;
                packing->aside = aside_run(packings->config.context,
                                           &(AsideWork){ pack, on_packed, packing_free, packing });
        }
}

Packings *packings_new(const PackingConfig *config)
{
        Packings *packings = g_new0(Packings, 1);

        packings->config = *config;
        packings->state_dir = g_strdup(config->state_dir);
        packings->by_hash = g_hash_table_new(g_str_hash, g_str_equal);
        g_queue_init(&packings->waiting);
        return packings;
}

void packings_free(Packings *packings)
{
        GHashTableIter iter;
        gpointer value;

        if (!packings)
                return;
        g_hash_table_iter_init(&iter, packings->by_hash);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Packing *packing = value;

                if (packing->aside)
                        aside_cancel(packing->aside);
                else
                        packing_free(packing);
        }
        g_hash_table_unref(packings->by_hash);
        g_queue_clear(&packings->waiting);
        g_free(packings->state_dir);
        g_free(packings);
}

void packings_want(Packings *packings, const char *hash, const char *job_id)
{
        Packing *packing = g_hash_table_lookup(packings->by_hash, hash);

        if (!packing) {
                packing = g_new0(Packing, 1);
                packing->packings = packings;
                packing->state_dir = g_strdup(packings->state_dir);
                packing->hash = g_strdup(hash);
                packing->jobs = g_ptr_array_new_with_free_func(g_free);
                g_hash_table_insert(packings->by_hash, packing->hash, packing);
                g_queue_push_tail(&packings->waiting, packing);
        }
        g_ptr_array_add(packing->jobs, g_strdup(job_id));
        start_next(packings);
}
