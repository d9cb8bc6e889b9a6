/* Observations: applies the reports of a runtime to the jobs. Each is applied once: an end that is already
 * recorded is only confirmed again. When the runtime has reported all its members, those that it does not
 * know are lost. */
#include "engine/state.h"

#include "base/log.h"
#include "engine/secrets.h"
#include "engine/task.h"

/* ---- tasks ---- */

static bool is_end(ObservationKind kind)
{
        return kind == OBSERVED_EXITED || kind == OBSERVED_LOST || kind == OBSERVED_START_FAILED;
}

static void stray(Engine *engine, RuntimeSlot *slot, const Observation *observed)
{
        GPtrArray *list = is_end(observed->kind) ? engine->batch.strays : engine->batch.unwanted;
        Stray *one = g_new(Stray, 1);

        *one = (Stray){ slot, g_strdup(observed->task) };
        g_ptr_array_add(list, one);
}

/* The machine's restart is that of members that stand on it. */
static bool is_rebooted(const Engine *engine, const RuntimeSlot *slot)
{
        return engine->rebooted && slot_is_local(slot);
}

static MemberEnd end_of(const Engine *engine, const RuntimeSlot *slot, const Observation *observed)
{
        return (MemberEnd){ .kind = observed->kind == OBSERVED_EXITED         ? END_EXITED
                                    : observed->kind == OBSERVED_START_FAILED ? END_START_FAILED
                                                                              : END_LOST,
                            .exit_code = observed->exit_code,
                            .signal = observed->signal,
                            .oom = observed->oom,
                            .hung_up = observed->hung_up,
                            .time = observed->time,
                            .peak_memory = observed->peak_memory,
                            .cpu_us = observed->cpu_us,
                            .text = observed->text,
                            .note = observed->note,
                            .permanent = observed->permanent,
                            .no_space = observed->no_space,
                            .rebooted = is_rebooted(engine, slot) };
}

/* Of a failure of the attempt, without secrets: it comes into reasons, events and the database. The caller's.
 */
static char *last_line(const Engine *engine, const Job *job, const Observation *observed)
{
        bool tells = job->state == JOB_STARTING || job->state == JOB_RUNNING;

        return observed->last_line && tells ? secrets_mask(engine, job, observed->last_line) : NULL;
}

/* False when the member's state has nothing to learn from it. */
static bool is_news(const Member *member, const Observation *observed)
{
        switch (observed->kind) {
        case OBSERVED_PLACED: return observed->text && g_strcmp0(member->reported_node, observed->text) != 0;
        case OBSERVED_STARTED: return member->state == MEMBER_INTENDED || !member->started;
        case OBSERVED_WAITS: return member->state == MEMBER_INTENDED;
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

static void member_observed(Engine *engine, RuntimeSlot *slot, Live *live, int index,
                            const Observation *observed)
{
        Life life;

        if (!is_news(&live->job->members[index], observed))
                return;
        life = batch_life(engine, live);
        if (observed->kind == OBSERVED_STARTED) {
                life_member_started(&life, index, observed->pid, observed->time);
        } else if (observed->kind == OBSERVED_READY) {
                life_member_ready(&life, index, observed->time);
        } else if (observed->kind == OBSERVED_PLACED) {
                life_member_placed(&life, index, observed->text);
        } else if (observed->kind == OBSERVED_WAITS) {
                life_member_waits(&life, index, observed->text);
        } else {
                MemberEnd end = end_of(engine, slot, observed);
                g_autofree char *line = last_line(engine, live->job, observed);

                end.last_line = line;
                if (observed->report)
                        life_member_reported(&life, index, observed->report);
                life_member_ended(&life, index, &end);
        }
        batch_end_life(engine, live, &life);
}

/* The job of the task, in its present attempt; or NULL. */
static Live *live_of(Engine *engine, const RuntimeSlot *slot, const Observation *observed)
{
        TaskName name;
        Live *live = task_parse(observed->task, &name) ? live_find(engine, name.job_id) : NULL;

        return live && slot_of(engine, live->job) == slot && task_member(live->job, &name) >= 0 ? live : NULL;
}

/* A job that has begun waits for members to join without end. */
static void stuck_observed(Engine *engine, RuntimeSlot *slot, const Observation *observed)
{
        Live *live = live_of(engine, slot, observed);
        Life life;

        if (!live || live->job->state != JOB_STARTING)
                return;
        life = batch_life(engine, live);
        life_given_up(&life, g_strdup(observed->text));
        batch_end_life(engine, live, &life);
}

/* Its job goes as if our own scheduler had said so. */
static void taken_observed(Engine *engine, RuntimeSlot *slot, const Observation *observed)
{
        g_autofree char *whom = g_strdup_printf("others in its cluster: %s", observed->text);
        Live *live = live_of(engine, slot, observed);
        Life life;

        if (!live || (live->job->state != JOB_STARTING && live->job->state != JOB_RUNNING) ||
            life_is_done(live->job))
                return;
        life = batch_life(engine, live);
        life_evicted(&life, whom, NULL);
        batch_end_life(engine, live, &life);
}

static void task_observed(Engine *engine, RuntimeSlot *slot, const Observation *observed)
{
        TaskName name;
        Live *live;
        int index;

        if (!task_parse(observed->task, &name))
                return;
        if (!slot->connected)
                g_hash_table_add(slot->seen, g_strdup(observed->task));
        live = live_find(engine, name.job_id);
        index = live && slot_of(engine, live->job) == slot ? task_member(live->job, &name) : -1;
        if (index < 0 || live->job->members[index].state == MEMBER_WAITING) {
                stray(engine, slot, observed);
        } else if (is_earlier(&live->job->members[index], observed)) {
                if (is_end(observed->kind))
                        stray(engine, slot, observed);
        } else if (!member_is_ended(&live->job->members[index])) {
                member_observed(engine, slot, live, index, observed);
        } else if (is_end(observed->kind) || live->job->members[index].state != MEMBER_EXITED) {
                stray(engine, slot, observed); /* told before; or given up, and it runs after all */
        }
}

/* ---- the connection ---- */

static bool should_run(const Member *member)
{
        return member->state == MEMBER_RUNNING || member->state == MEMBER_READY ||
               member->state == MEMBER_STOPPING;
}

/* Handles the members that the runtime did not report. One whose start was only intended never ran, and is
 * started again. One whose start was confirmed is lost. */
static void lose_unseen(Engine *engine, RuntimeSlot *slot, Live *live)
{
        for (int i = 0; i < live->job->n_members; i++) {
                g_autofree char *task = NULL;
                const MemberEnd end = { .kind = END_LOST,
                                        .exit_code = -1,
                                        .rebooted = is_rebooted(engine, slot) };
                Life life;

                if (!should_run(&live->job->members[i]))
                        continue;
                task = task_format(live->job, &live->job->members[i]);
                if (g_hash_table_contains(slot->seen, task))
                        continue;
                life = batch_life(engine, live);
                life_member_ended(&life, i, &end);
                batch_end_life(engine, live, &life);
        }
}

/* Other machines than before: what jobs ask for may depend on their size. */
static void take_inventory(Engine *engine, RuntimeSlot *slot)
{
        GHashTableIter iter;
        gpointer key;

        if (!slot_take_nodes(engine, slot))
                return;
        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                Live *live = key;

                if (live->fed && slot_of(engine, live->job) == slot)
                        feed_again(engine, live);
        }
}

static void synced(Engine *engine, RuntimeSlot *slot)
{
        g_autoptr(GList) lives = g_hash_table_get_keys(engine->by_id);

        take_inventory(engine, slot);
        for (GList *at = slot->connected ? NULL : lives; at; at = at->next) {
                Live *live = at->data;

                if (!life_is_at_rest(live->job) && slot_of(engine, live->job) == slot)
                        lose_unseen(engine, slot, live);
        }
        preparing_synced(engine, slot);
        building_begin_uncounted(engine, slot);
        slot_up(engine, slot);
        slot->synced = true;
        engine->pass_due = true;
}

static void disconnected(Engine *engine, RuntimeSlot *slot, const char *why)
{
        log_warning("the runtime is not connected; members run on, nothing is started until it is back",
                    "cluster", slot_is_local(slot) ? "this machine" : slot->name, "reason", why ? why : "",
                    NULL);
        slot_down(engine, slot, why);
}

/* ---- the command ---- */

typedef struct {
        Command command;
        Observation *observation;
        Source *source;
} Observed;

static bool apply_observation(Engine *engine, Command *command)
{
        const Observation *observed = ((Observed *)command)->observation;
        const Source *source = ((Observed *)command)->source;
        RuntimeSlot *slot = source->slot;

        if (slot->source != source) /* of a runtime that was closed meanwhile */
                return true;
        switch (observed->kind) {
        case OBSERVED_SYNCED: synced(engine, slot); break;
        case OBSERVED_DISCONNECTED: disconnected(engine, slot, observed->text); break;
        case OBSERVED_NODES: take_inventory(engine, slot); break;
        case OBSERVED_STUCK: stuck_observed(engine, slot, observed); break;
        case OBSERVED_TAKEN: taken_observed(engine, slot, observed); break;
        case OBSERVED_PREPARED:
        case OBSERVED_PREPARE_FAILED: preparing_observed(engine, slot, observed); break;
        default: task_observed(engine, slot, observed);
        }
        return true;
}

static void free_observation(Command *command)
{
        observation_free(((Observed *)command)->observation);
}

static const CommandOps observation_ops = { .name = "observation",
                                            .size = sizeof(Observed),
                                            .is_observation = true,
                                            .apply = apply_observation,
                                            .free = free_observation };

void observe(Observation *observation, void *source)
{
        Observed *observed = command_new(&observation_ops, NULL, NULL);

        observed->observation = observation;
        observed->source = source;
        inbox_put(&observed->source->engine->inbox, &observed->command);
}
