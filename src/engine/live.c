/* Live jobs and their indices (see state.h). Everything here follows from the jobs: after a failed commit the
 * old views are put back and settled again, and the indices stand as before. */
#include "engine/state.h"

#include <string.h>

#include "base/number.h"

/* ---- keys ---- */

static guint id_hash(gconstpointer live)
{
        return g_str_hash(((const Live *)live)->job->id);
}

static gboolean id_equal(gconstpointer a, gconstpointer b)
{
        return strcmp(((const Live *)a)->job->id, ((const Live *)b)->job->id) == 0;
}

static guint name_hash(gconstpointer live)
{
        const Job *job = ((const Live *)live)->job;

        return g_str_hash(job->name) * 31 + g_str_hash(job->user);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
        const Job *x = ((const Live *)a)->job, *y = ((const Live *)b)->job;

        return strcmp(x->name, y->name) == 0 && strcmp(x->user, y->user) == 0;
}

static guint key_hash(gconstpointer live)
{
        const Job *job = ((const Live *)live)->job;

        return g_str_hash(job->idempotency_key) * 31 + g_str_hash(job->user);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
        const Job *x = ((const Live *)a)->job, *y = ((const Live *)b)->job;

        return strcmp(x->idempotency_key, y->idempotency_key) == 0 && strcmp(x->user, y->user) == 0;
}

static int by_seq(gconstpointer a, gconstpointer b, gpointer unused)
{
        gint64 x = ((const Live *)a)->job->seq, y = ((const Live *)b)->job->seq;

        return (x > y) - (x < y);
}

static int by_due(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Live *x = a, *y = b;

        return x->due != y->due ? (x->due > y->due) - (x->due < y->due) : by_seq(a, b, NULL);
}

/* ---- the set ---- */

void live_init(Engine *engine)
{
        engine->by_id = g_hash_table_new(id_hash, id_equal);
        engine->by_name = g_hash_table_new(name_hash, name_equal);
        engine->by_key = g_hash_table_new(key_hash, key_equal);
        engine->eligible = g_sequence_new(NULL);
        engine->timers = g_sequence_new(NULL);
        engine->gpus = g_byte_array_new();
}

void live_clear(Engine *engine)
{
        GHashTableIter iter;
        gpointer live;

        g_hash_table_unref(engine->by_name);
        g_hash_table_unref(engine->by_key);
        g_sequence_free(engine->eligible);
        g_sequence_free(engine->timers);
        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &live, NULL))
                g_free(live);
        g_hash_table_unref(engine->by_id);
        g_byte_array_unref(engine->gpus);
}

Live *live_add(Engine *engine, Job *job)
{
        Live *live = g_new0(Live, 1);

        live->job = job;
        if (!spec_wants(job->spec, &engine->total, &live->want))
                live->want =
                        (Resources){ { G_MAXINT64, G_MAXINT64, G_MAXINT64 } }; /* more than any machine has */
        g_hash_table_add(engine->by_id, live);
        g_hash_table_add(engine->by_name, live);
        if (job->idempotency_key)
                g_hash_table_add(engine->by_key, live);
        return live;
}

static Live *find(GHashTable *table, Job *like)
{
        const Live key = { .job = like };

        return g_hash_table_lookup(table, &key);
}

Live *live_find(Engine *engine, const char *id)
{
        Job like = { 0 };

        g_strlcpy(like.id, id, sizeof like.id);
        return strlen(id) == ID_LEN ? find(engine->by_id, &like) : NULL;
}

Live *live_by_name(Engine *engine, const char *user, const char *name)
{
        return find(engine->by_name, &(Job){ .user = (char *)user, .name = (char *)name });
}

Live *live_by_key(Engine *engine, const char *user, const char *key)
{
        return find(engine->by_key, &(Job){ .user = (char *)user, .idempotency_key = (char *)key });
}

static void drop_place(Engine *engine, Live *live)
{
        if (!live->place)
                return;
        g_clear_pointer(&live->place, g_sequence_remove);
        if (live->job->seq == engine->blocked_seq) {
                engine->blocked_seq = 0;
                engine->pass_due = true;
        }
}

void live_remove(Engine *engine, Live *live)
{
        drop_place(engine, live);
        g_clear_pointer(&live->timer, g_sequence_remove);
        live_release(engine, live, live->job);
        if (g_hash_table_lookup(engine->by_name, live) == live)
                g_hash_table_remove(engine->by_name, live);
        if (live->job->idempotency_key)
                g_hash_table_remove(engine->by_key, live);
        g_hash_table_remove(engine->by_id, live);
        g_free(live);
}

/* ---- where a job stands ---- */

static bool is_eligible(const Engine *engine, const Job *job, const Resources *want, gint64 now)
{
        return job->state == JOB_QUEUED && job->env_state != ENV_BUILDING && job->env_state != ENV_FAILED &&
               job->not_before <= now && resources_fit(want, &engine->total);
}

static void place(Engine *engine, Live *live)
{
        gint64 seq = live->job->seq;

        if (live->place)
                return;
        live->place = g_sequence_insert_sorted(engine->eligible, live, by_seq, NULL);
        if (!engine->blocked_seq || seq < engine->blocked_seq)
                engine->pass_due = true;
}

static void set_timer(Engine *engine, Live *live, gint64 due)
{
        if (live->due == due && (due == 0) == (live->timer == NULL))
                return;
        g_clear_pointer(&live->timer, g_sequence_remove);
        live->due = due;
        if (due)
                live->timer = g_sequence_insert_sorted(engine->timers, live, by_due, NULL);
}

void live_settle(Engine *engine, Live *live, gint64 now)
{
        gint64 due = life_due(live->job);

        if (is_eligible(engine, live->job, &live->want, now))
                place(engine, live);
        else
                drop_place(engine, live);
        set_timer(engine, live, live->job->state == JOB_QUEUED && due <= now ? 0 : due);
        if (live->holds && life_is_at_rest(live->job))
                live_release(engine, live, live->job);
}

/* ---- resources ---- */

/* Writes `taken` to each device of a list such as "0,1". */
static void mark_gpus(Engine *engine, const char *list, guint8 taken)
{
        for (const char *at = list; at && *at;) {
                char *end;
                guint64 device = g_ascii_strtoull(at, &end, 10); /* our own text */

                if (device < engine->gpus->len)
                        engine->gpus->data[device] = taken;
                at = *end == ',' ? end + 1 : "";
        }
}

static void mark_members(Engine *engine, const Job *job, guint8 taken)
{
        for (int i = 0; i < job->n_members; i++)
                mark_gpus(engine, job->members[i].gpus, taken);
}

void live_hold(Engine *engine, Live *live, const Job *job)
{
        if (live->holds)
                return;
        live->holds = true;
        resources_add(&engine->used, &live->want, 1);
        mark_members(engine, job, 1);
}

void live_release(Engine *engine, Live *live, const Job *job)
{
        if (!live->holds)
                return;
        live->holds = false;
        resources_subtract(&engine->used, &live->want);
        mark_members(engine, job, 0);
        engine->blocked_seq = 0;
        engine->pass_due = true;
}

static gint64 count_free_gpus(const Engine *engine)
{
        gint64 n = 0;

        for (guint i = 0; i < engine->gpus->len; i++)
                n += !engine->gpus->data[i];
        return n;
}

char *gpus_take(Engine *engine, gint64 n)
{
        g_autoptr(GString) list = g_string_new(NULL);

        if (n == 0 || count_free_gpus(engine) < n)
                return NULL;
        for (guint i = 0; i < engine->gpus->len && n > 0; i++) {
                if (engine->gpus->data[i])
                        continue;
                engine->gpus->data[i] = 1;
                n--;
                g_string_append_printf(list, "%s%u", list->len ? "," : "", i);
        }
        return g_strdup(list->str);
}

static void recount(Engine *engine, Live *live, gint64 now)
{
        bool held = live->holds;

        live_release(engine, live, live->job);
        if (!spec_wants(live->job->spec, &engine->total, &live->want))
                live->want = (Resources){ { G_MAXINT64, G_MAXINT64, G_MAXINT64 } };
        if (held)
                live_hold(engine, live, live->job);
        live_settle(engine, live, now);
}

static void count_gpus(Engine *engine)
{
        g_byte_array_set_size(engine->gpus, (guint)CLAMP(engine->total.gpus, 0, GPUS_MAX));
        for (guint i = 0; i < engine->gpus->len; i++)
                engine->gpus->data[i] = 0;
}

void live_inventory(Engine *engine, const Resources *total, gint64 now)
{
        GHashTableIter iter;
        gpointer live;

        if (memcmp(&engine->total, total, sizeof *total) == 0)
                return;
        engine->total = *total;
        count_gpus(engine);
        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &live, NULL))
                recount(engine, live, now);
        engine->blocked_seq = 0;
        engine->pass_due = true;
}
