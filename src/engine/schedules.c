/* The set of schedules: look-ups, changes, when each is looked at, and the end of a batch (see schedules.h). */
#include "engine/schedules.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "base/log.h"
#include "base/word.h"

/* ---- the set ---- */

static void live_free(gpointer data)
{
        LiveSchedule *live = data;

        schedule_record_free(live->record);
        schedule_record_free(live->was);
        cron_unref(live->cron);
        g_array_unref(live->active);
        g_clear_pointer(&live->plan, run_plan_unref);
        g_free(live->trouble);
        g_free(live->full);
        g_free(live);
}

void schedules_init(Engine *engine)
{
        engine->schedules = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, live_free);
        engine->schedules_of =
                g_hash_table_new_full(keyed_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
        engine->schedule_times = g_sequence_new(NULL);
        user_rates_init(&engine->tick_rates, engine->config.schedule_rate);
}

void schedules_clear(Engine *engine)
{
        g_sequence_free(engine->schedule_times);
        g_hash_table_unref(engine->schedules_of);
        g_hash_table_unref(engine->schedules);
        user_rates_clear(&engine->tick_rates);
}

LiveSchedule *schedules_find(Engine *engine, gint64 seq)
{
        LiveSchedule *live = g_hash_table_lookup(engine->schedules, &seq);

        return live && !live->dropped ? live : NULL;
}

LiveSchedule *schedules_find_name(Engine *engine, const char *user, const char *name)
{
        const GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, user);

        for (guint i = 0; of_user && i < of_user->len; i++) {
                LiveSchedule *live = of_user->pdata[i];

                if (!live->dropped && strcmp(live->record->name, name) == 0)
                        return live;
        }
        return NULL;
}

guint schedules_count_of(Engine *engine, const char *user)
{
        const GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, user);
        guint n = 0;

        for (guint i = 0; of_user && i < of_user->len; i++)
                n += !((const LiveSchedule *)of_user->pdata[i])->dropped;
        return n;
}

bool schedules_is_running(const LiveSchedule *live)
{
        return live->record->state == SCHEDULE_RUNNING && !live->dropped;
}

const char *schedules_use(Engine *engine, gint64 pipeline, int version)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->schedules);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const ScheduleRecord *record = ((LiveSchedule *)value)->record;

                if (schedules_is_running(value) && record->pipeline == pipeline &&
                    (version == 0 || record->version == version))
                        return record->name;
        }
        return NULL;
}

const char *schedules_run_user(const ScheduleRecord *record)
{
        return record->run_user ? record->run_user : record->user;
}

/* Records of servers before this version know the main one only. */
static bool names_fs(const ScheduleRecord *record, const char *fs)
{
        g_auto(GStrv) mounts = record->mounts ? g_strsplit(record->mounts, ",", -1) : NULL;

        return g_strcmp0(record->fs, fs) == 0 || (mounts && g_strv_contains((const char *const *)mounts, fs));
}

char *schedules_use_fs(Engine *engine, const char *user, const char *fs)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->schedules);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const ScheduleRecord *record = ((LiveSchedule *)value)->record;

                if (schedules_is_running(value) && strcmp(schedules_run_user(record), user) == 0 &&
                    names_fs(record, fs))
                        return g_strdup_printf("used by schedule '%s' of '%s', which is running",
                                               record->name, record->user);
        }
        return NULL;
}

/* ---- when it is looked at ---- */

static int by_wake(gconstpointer a, gconstpointer b, gpointer data)
{
        gint64 left = ((const LiveSchedule *)a)->wake, right = ((const LiveSchedule *)b)->wake;

        return (left > right) - (left < right);
}

void schedules_stop_timer(LiveSchedule *live)
{
        if (live->timer)
                g_sequence_remove(live->timer);
        live->timer = NULL;
}

void schedules_wake_at(Engine *engine, LiveSchedule *live, gint64 at)
{
        schedules_stop_timer(live);
        live->wake = at;
        live->timer = g_sequence_insert_sorted(engine->schedule_times, live, by_wake, NULL);
}

void schedules_wake_next(Engine *engine, LiveSchedule *live)
{
        live->waits = false;
        if (schedules_is_running(live) && !live->asked)
                schedules_wake_at(engine, live, live->clock_back ? 0 : live->record->next_at);
        else
                schedules_stop_timer(live);
}

gint64 schedules_due(const Engine *engine)
{
        GSequenceIter *first = g_sequence_get_begin_iter(engine->schedule_times);

        return g_sequence_iter_is_end(first) ? 0 : MAX(((LiveSchedule *)g_sequence_get(first))->wake, 1);
}

void schedules_run_entered(Engine *engine, const RunRecord *run)
{
        LiveSchedule *live = run->schedule ? g_hash_table_lookup(engine->schedules, &run->schedule) : NULL;

        if (live)
                g_array_append_val(live->active, run->seq);
}

void schedules_run_left(Engine *engine, const RunRecord *run)
{
        LiveSchedule *live = run->schedule ? g_hash_table_lookup(engine->schedules, &run->schedule) : NULL;

        for (guint i = 0; live && i < live->active->len; i++)
                if (g_array_index(live->active, gint64, i) == run->seq) {
                        g_array_remove_index(live->active, i);
                        break;
                }
        if (live && live->waits)
                schedules_wake_next(engine, live);
}

/* ---- changes ---- */

static LiveSchedule *enter(Engine *engine, ScheduleRecord *record, Cron *cron)
{
        LiveSchedule *live = g_new0(LiveSchedule, 1);
        GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, record->user);

        live->record = record;
        live->cron = cron;
        live->active = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_hash_table_insert(engine->schedules, &record->seq, live);
        if (!of_user) {
                of_user = g_ptr_array_new();
                g_hash_table_insert(engine->schedules_of, g_strdup(record->user), of_user);
        }
        g_ptr_array_add(of_user, live);
        return live;
}

static void leave(Engine *engine, LiveSchedule *live)
{
        GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, live->record->user);

        g_ptr_array_remove_fast(of_user, live);
        if (of_user->len == 0)
                g_hash_table_remove(engine->schedules_of, live->record->user);
        g_hash_table_remove(engine->schedules, &live->record->seq);
}

/* Ticks that were missed are due at once. A record that was changed in the future says that the clock was set back. */
void schedules_load(Engine *engine, const StoreState *state)
{
        const GPtrArray *schedules = state->loaded[RECORD_SCHEDULE];

        engine->schedule_seq = state->last_schedule_seq;
        engine->started = engine->schedules_at = engine_now(engine);
        for (guint i = 0; schedules && i < schedules->len; i++) {
                const ScheduleRecord *stored = schedules->pdata[i];
                bool runs = stored->state == SCHEDULE_RUNNING;
                g_autoptr(GError) error = NULL;
                Cron *cron = runs ? cron_parse(stored->crontab, NULL, &error) : NULL;
                LiveSchedule *live = enter(engine, schedule_record_copy(stored), cron);

                engine->metrics.running_schedules += runs;
                if (error)
                        log_warning("a schedule cannot go on", "schedule", stored->name, "reason",
                                    error->message, NULL);
                live->clock_back = stored->updated > engine->started + SCHEDULE_BACK_MS;
                schedules_wake_next(engine, live);
        }
}

LiveSchedule *schedules_add(Engine *engine, ScheduleRecord *record, Cron *cron)
{
        LiveSchedule *live = enter(engine, record, cron);

        live->dirty = true;
        g_ptr_array_add(engine->batch.schedules, live);
        schedules_wake_next(engine, live);
        return live;
}

void schedules_touch(Engine *engine, LiveSchedule *live)
{
        if (live->dirty)
                return;
        live->dirty = true;
        live->was = schedule_record_copy(live->record);
        g_ptr_array_add(engine->batch.schedules, live);
}

void schedules_note(Engine *engine, LiveSchedule *live, const char *kind, json_t *data)
{
        g_autofree char *id = numbered_id_format("schedule", live->record->seq);

        json_object_set_new(data, "name", json_string(live->record->name));
        live->record->revision = batch_note_subject(engine,
                                                    (Subject){ SUBJECT_SCHEDULE, live->record->seq,
                                                               .owner = g_strdup(live->record->user) },
                                                    id, kind, data);
}

void schedules_set_message(LiveSchedule *live, char *message)
{
        g_free(live->record->message);
        live->record->message = message;
}

void schedules_end(Engine *engine, LiveSchedule *live, ScheduleState state, const char *event, char *message)
{
        schedules_touch(engine, live);
        live->record->state = (guint8)state;
        live->record->updated = engine->batch.now;
        schedules_set_message(live, message);
        schedules_note(engine, live, event, json_pack("{s:s?}", "reason", message));
        schedules_wake_next(engine, live);
}

void schedules_drop(Engine *engine, LiveSchedule *live, const char *by)
{
        schedules_touch(engine, live);
        schedules_note(engine, live, "schedule.deleted", json_pack("{s:s}", "by", by));
        live->dropped = true;
        schedules_stop_timer(live);
        g_ptr_array_add(engine->batch.dropped_schedules,
                        g_memdup2(&live->record->seq, sizeof live->record->seq));
}

GPtrArray *schedules_all(Engine *engine)
{
        GPtrArray *all = g_ptr_array_new();
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->schedules);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (!((LiveSchedule *)value)->dropped)
                        g_ptr_array_add(all, value);
        return all;
}

void schedules_drop_of(Engine *engine, const char *user)
{
        g_autoptr(GPtrArray) all = schedules_all(engine);

        for (guint i = 0; i < all->len; i++) {
                LiveSchedule *live = all->pdata[i];

                if (strcmp(live->record->user, user) == 0 ||
                    strcmp(schedules_run_user(live->record), user) == 0)
                        schedules_drop(engine, live, "the deletion of its user");
        }
}

void schedules_fail_of(Engine *engine, gint64 pipeline)
{
        g_autoptr(GPtrArray) all = schedules_all(engine);

        for (guint i = 0; i < all->len; i++) {
                LiveSchedule *live = all->pdata[i];

                if (schedules_is_running(live) && live->record->pipeline == pipeline)
                        schedules_end(engine, live, SCHEDULE_FAILED, "schedule.failed",
                                      g_strdup("its pipeline was deleted with its user"));
        }
}

/* ---- the end of a batch ---- */

void schedules_store(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                const LiveSchedule *live = engine->batch.schedules->pdata[i];

                if (!live->dropped)
                        g_ptr_array_add(engine->batch.schedule_puts, live->record);
        }
}

void schedules_count(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                const LiveSchedule *live = engine->batch.schedules->pdata[i];

                engine->metrics.running_schedules +=
                        schedules_is_running(live) - (live->was && live->was->state == SCHEDULE_RUNNING);
        }
}

void schedules_settle(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                LiveSchedule *live = engine->batch.schedules->pdata[i];

                live->dirty = false;
                g_clear_pointer(&live->was, schedule_record_free);
                if (live->dropped)
                        leave(engine, live);
                else if (!live->timer || live->wake > engine->batch.now)
                        schedules_forget_text(live);
        }
        g_ptr_array_set_size(engine->batch.schedules, 0);
}

/* The record keeps its place, to which the table points. */
static void restore(Engine *engine, LiveSchedule *live)
{
        ScheduleRecord *now = live->record, *was = g_steal_pointer(&live->was);

        now->state = was->state;
        now->revision = was->revision;
        now->updated = was->updated;
        now->next_at = was->next_at;
        schedules_set_message(live, g_steal_pointer(&was->message));
        schedule_record_free(was);
        live->dropped = false;
        live->clock_back = true; /* what it said of the clock is lost */
        schedules_wake_next(engine, live);
}

void schedules_restore(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                LiveSchedule *live = engine->batch.schedules->pdata[i];

                live->dirty = false;
                if (live->was) {
                        restore(engine, live);
                        continue;
                }
                schedules_stop_timer(live);
                leave(engine, live);
        }
        g_ptr_array_set_size(engine->batch.schedules, 0);
}
