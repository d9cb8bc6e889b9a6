/* Observations: what the runtime tells, matched with what the jobs say. Each is applied once: an end that is
 * recorded already is only confirmed again. What the runtime should know and does not, once it has told all,
 * is lost. */
#include "engine/state.h"

#include "base/log.h"
#include "engine/task.h"

/* ---- tasks ---- */

static bool is_end(ObservationKind kind)
{
        return kind == OBSERVED_EXITED || kind == OBSERVED_LOST || kind == OBSERVED_START_FAILED;
}

static void stray(Engine *engine, const Observation *observed)
{
        GPtrArray *list = is_end(observed->kind) ? engine->batch.strays : engine->batch.unwanted;

        g_ptr_array_add(list, g_strdup(observed->task));
}

static MemberEnd end_of(const Engine *engine, const Observation *observed)
{
        return (MemberEnd){ .kind = observed->kind == OBSERVED_EXITED         ? END_EXITED
                                    : observed->kind == OBSERVED_START_FAILED ? END_START_FAILED
                                                                              : END_LOST,
                            .exit_code = observed->exit_code,
                            .signal = observed->signal,
                            .oom = observed->oom,
                            .time = observed->time,
                            .peak_memory = observed->peak_memory,
                            .cpu_us = observed->cpu_us,
                            .text = observed->text,
                            .permanent = observed->permanent,
                            .rebooted = engine->rebooted };
}

/* False when the member's state has nothing to learn from it. */
static bool is_news(const Member *member, ObservationKind kind)
{
        switch (kind) {
        case OBSERVED_STARTED: return member->state == MEMBER_INTENDED || !member->started;
        case OBSERVED_READY: return member->state == MEMBER_INTENDED || member->state == MEMBER_RUNNING;
        default: return true;
        }
}

/* Told of the earlier stay of a member that had to leave and came back under the same name (life.c). */
static bool is_earlier(const Member *member, const Observation *observed)
{
        return member->state == MEMBER_INTENDED && member->finished > 0 && observed->time > 0 &&
               observed->time <= member->finished;
}

static void member_observed(Engine *engine, Live *live, int index, const Observation *observed)
{
        Life life;

        if (!is_news(&live->job->members[index], observed->kind))
                return;
        life = batch_life(engine, live);
        if (observed->kind == OBSERVED_STARTED) {
                life_member_started(&life, index, observed->pid, observed->time);
        } else if (observed->kind == OBSERVED_READY) {
                life_member_ready(&life, index, observed->time);
        } else {
                MemberEnd end = end_of(engine, observed);

                life_member_ended(&life, index, &end);
        }
        batch_end_life(engine, live, &life);
}

static void task_observed(Engine *engine, const Observation *observed)
{
        TaskName name;
        Live *live;
        int index;

        if (!task_parse(observed->task, &name))
                return;
        if (!engine->connected)
                g_hash_table_add(engine->seen, g_strdup(observed->task));
        live = live_find(engine, name.job_id);
        index = live ? task_member(live->job, &name) : -1;
        if (index < 0 || live->job->members[index].state == MEMBER_WAITING) {
                stray(engine, observed);
        } else if (is_earlier(&live->job->members[index], observed)) {
                if (is_end(observed->kind))
                        stray(engine, observed);
        } else if (!member_is_ended(&live->job->members[index])) {
                member_observed(engine, live, index, observed);
        } else if (is_end(observed->kind) || live->job->members[index].state != MEMBER_EXITED) {
                stray(engine, observed); /* told before; or given up, and it runs after all */
        }
}

/* ---- the connection ---- */

static bool should_run(const Member *member)
{
        return member->state == MEMBER_RUNNING || member->state == MEMBER_READY ||
               member->state == MEMBER_STOPPING;
}

/* What was intended and is not known never ran: it is asked for again. What was confirmed and is not known is
 * lost. */
static void lose_unseen(Engine *engine, Live *live)
{
        for (int i = 0; i < live->job->n_members; i++) {
                g_autofree char *task = NULL;
                const MemberEnd end = { .kind = END_LOST, .exit_code = -1, .rebooted = engine->rebooted };
                Life life;

                if (!should_run(&live->job->members[i]))
                        continue;
                task = task_format(live->job, &live->job->members[i]);
                if (g_hash_table_contains(engine->seen, task))
                        continue;
                life = batch_life(engine, live);
                life_member_ended(&life, i, &end);
                batch_end_life(engine, live, &life);
        }
}

/* Another machine than the one before: what jobs ask for may depend on its size. */
static void take_inventory(Engine *engine)
{
        Resources total = engine->total;
        GHashTableIter iter;
        gpointer live;

        engine->runtime->ops->inventory(engine->runtime, &total);
        feed_limit(&total);
        if (resources_equal(&engine->total, &total))
                return;
        engine->total = total;
        feed_node(engine);
        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &live, NULL))
                if (((Live *)live)->fed)
                        feed_again(engine, live);
}

static void synced(Engine *engine)
{
        g_autoptr(GList) lives = g_hash_table_get_keys(engine->by_id);

        take_inventory(engine);
        for (GList *at = engine->connected ? NULL : lives; at; at = at->next) {
                Live *live = at->data;

                if (!life_is_at_rest(live->job))
                        lose_unseen(engine, live);
        }
        engine->batch.synced = true;
        engine->pass_due = true;
}

static void disconnected(Engine *engine, const char *why)
{
        log_warning("the runtime is not connected; members run on, nothing is started until it is back",
                    "reason", why ? why : "", NULL);
        engine->connected = engine->batch.synced = false;
        g_hash_table_remove_all(engine->seen);
}

/* ---- environments ---- */

static void environment_observed(Engine *engine, const Observation *observed)
{
        Live *live = live_find(engine, observed->task);
        bool ready = observed->kind == OBSERVED_PREPARED;
        Life life;

        if (!live || live->job->env_state != ENV_BUILDING ||
            (live->job->state != JOB_QUEUED && live->job->state != JOB_SUSPENDED))
                return;
        life = batch_life(engine, live);
        life_environment(&life, ready ? ENV_READY : ENV_FAILED, observed->text);
        batch_end_life(engine, live, &life);
}

bool apply_observation(Engine *engine, Input *input)
{
        const Observation *observed = input->observation;

        switch (observed->kind) {
        case OBSERVED_SYNCED: synced(engine); break;
        case OBSERVED_DISCONNECTED: disconnected(engine, observed->text); break;
        case OBSERVED_PREPARED:
        case OBSERVED_PREPARE_FAILED: environment_observed(engine, observed); break;
        default: task_observed(engine, observed);
        }
        return true;
}
