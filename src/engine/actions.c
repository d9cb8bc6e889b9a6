/* Actions for the runtime: the difference between a published view and the one before it. Runs after the
 * commit only, so that every action has a durable reason; all actions may be repeated. Against no view before
 * (after the runtime has connected) it asks for everything that the job wants: that is how engine and runtime
 * converge. */
#include "engine/state.h"

#include <string.h>

#include "engine/mounts.h"
#include "engine/secrets.h"
#include "engine/task.h"
#include "model/array.h"
#include "model/framework.h"
#include "model/sweep.h"

/* ---- a member's start ---- */

/* ports[role][index] and gpus[role][index] for the variables of all members; lives as long as the placement.
 * An elastic job that has fewer members than it asked for tells its members of those that are there. */
typedef struct {
        Placement placement;
        int *present; /* by role; NULL: as many as the specification asks for */
        int **ports;
        char ***gpus;
        char ***hosts;
        const char *topology; /* as of RuntimeAttempt; of the slot's nodes */
        JobSecrets secrets;
        JobMounts mounts;
        GError *refusal; /* why secrets or file systems cannot be used: no member starts then. Else NULL */
} MemberTables;

/* By role; NULL: no member is missing. The caller's. */
static int *count_present(const Job *job)
{
        int *present;

        if (job_count_present(job, -1) == job->n_members)
                return NULL;
        present = g_new(int, job->spec->n_roles);
        for (int r = 0; r < job->spec->n_roles; r++)
                present[r] = job_count_present(job, r);
        return present;
}

static void note_member(MemberTables *tables, const RuntimeSlot *slot, const RuntimeAttempt *attempt,
                        const Spec *spec, const Member *member)
{
        Runtime *runtime = slot->runtime;

        tables->ports[member->role][member->index] = member->port;
        /* elsewhere a member sees its own devices only, whatever their numbers are there */
        tables->gpus[member->role][member->index] = slot_is_local(slot) ? member->gpus : NULL;
        tables->hosts[member->role][member->index] =
                runtime->ops->address(runtime, attempt, spec->roles[member->role].name, member->index);
}

static const char *label_of(const RuntimeNode *node, const char *key)
{
        gsize len = strlen(key);

        for (char **label = node ? node->labels : NULL; label && *label; label++)
                if (strncmp(*label, key, len) == 0 && (*label)[len] == '=')
                        return *label;
        return NULL;
}

/* NULL: there is none for all of them. */
static const char *topology_of(const RuntimeSlot *slot, const Job *job)
{
        const char *key = job->spec->topology, *common = NULL;

        for (int i = 0; key && i < job->n_members; i++) {
                const Member *member = &job->members[i];
                const char *label;

                if (member->state == MEMBER_SURPLUS || !member->node)
                        continue;
                label = label_of(g_hash_table_lookup(slot->nodes, member->node), key);
                if (!label || (common && strcmp(common, label) != 0))
                        return NULL;
                common = label;
        }
        return common;
}

static void tables_init(MemberTables *tables, const Engine *engine, const RuntimeSlot *slot, const Job *job)
{
        const Spec *spec = job->spec;

        *tables = (MemberTables){ .present = count_present(job), .topology = topology_of(slot, job) };
        if (secrets_open(engine, job, &tables->secrets, &tables->refusal))
                (void)mounts_find(engine->catalog, spec, job->user, &tables->mounts, &tables->refusal);
        tables->ports = g_new0(int *, spec->n_roles + 1);
        tables->gpus = g_new0(char **, spec->n_roles + 1);
        tables->hosts = g_new0(char **, spec->n_roles + 1);
        for (int r = 0; r < spec->n_roles; r++) {
                tables->ports[r] = g_new0(int, spec->roles[r].replicas + 1);
                tables->gpus[r] = g_new0(char *, spec->roles[r].replicas + 1);
                tables->hosts[r] = g_new0(char *, spec->roles[r].replicas + 1);
        }
        RuntimeAttempt attempt = attempt_of(engine, job);
        for (int i = 0; i < job->n_members; i++)
                note_member(tables, slot, &attempt, spec, &job->members[i]);
        tables->placement = (Placement){ .spec = spec,
                                         .job_id = job->id,
                                         .job_name = job->name,
                                         .user = job->user,
                                         .dc = engine->dc,
                                         .queue = job->queue,
                                         .namespace = spec->namespace,
                                         .attempt = job->attempt,
                                         .elastic = spec_is_elastic(spec),
                                         .replicas = tables->present,
                                         .hosts = (char *const *const *)tables->hosts,
                                         .ports = (int *const *)tables->ports,
                                         .extra_ports = &job->extra_port,
                                         .gpus = (char *const *const *)tables->gpus };
}

static void tables_clear(MemberTables *tables)
{
        for (int r = 0; r < tables->placement.spec->n_roles; r++) {
                g_free(tables->ports[r]);
                g_free(tables->gpus[r]); /* the lists in it are the members' */
                g_strfreev(tables->hosts[r]);
        }
        g_free(tables->ports);
        g_free(tables->gpus);
        g_free(tables->hosts);
        g_free(tables->present);
        secrets_clear(&tables->secrets);
        mounts_clear(&tables->mounts);
        g_clear_error(&tables->refusal);
}

RuntimeAttempt attempt_of(const Engine *engine, const Job *job)
{
        const User *user = catalog_user(engine->catalog, job->user);
        const Queue *queue = catalog_queue(engine_catalog_now(engine), job->queue);
        const char *namespace = queue ? queue->namespace : NULL;

        return (RuntimeAttempt){ .job = job,
                                 .user_seq = user ? user->object.seq : 0,
                                 .namespace = job->spec->namespace ? job->spec->namespace : namespace,
                                 .location = queue ? queue->location : NULL };
}

static bool declares_itself(const Job *job, const Member *member)
{
        const FrameworkRole *role = framework_role(job->spec->framework, job->spec->roles[member->role].name);

        return role && role->listens && job->spec->ready_declared;
}

static bool listens(const Job *job, const Member *member)
{
        const FrameworkRole *role = framework_role(job->spec->framework, job->spec->roles[member->role].name);

        return role && role->listens && !job->spec->ready_declared;
}

static char **add_variable(char **env, const char *name, const char *value)
{
        guint n = g_strv_length(env);

        env = g_renew(char *, env, n + 2);
        env[n] = g_strdup_printf("%s=%s", name, value);
        env[n + 1] = NULL;
        return env;
}

static char **add_number(char **env, const char *name, gint64 value)
{
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);

        return add_variable(env, name, text);
}

static char **add_array(char **env, Engine *engine, const Job *job)
{
        g_autoptr(GArray) indices = NULL;
        const char *id = live_array_id(engine, job->array_seq);
        int max;

        if (!job->array_seq || !spec_array(job->spec->array, &indices, &max, NULL))
                return env;
        env = add_number(env, "PADDLE_ARRAY_INDEX", job->array_index);
        env = add_number(env, "PADDLE_ARRAY_SIZE", indices->len);
        return add_variable(env, "PADDLE_ARRAY_ID", id ? id : job->id);
}

static char **add_sweep(char **env, const Job *job)
{
        g_auto(GStrv) values = sweep_values(job->spec, job->array_index);

        for (char **pair = values; pair && *pair; pair++) {
                g_autofree char *name = g_strndup(*pair, (gsize)(strchr(*pair, '=') - *pair));

                env = add_variable(env, name, strchr(*pair, '=') + 1);
        }
        return env;
}

/* ---- what it waits for ---- */

static const FrameworkRole *row_of(const Job *job, const Member *member)
{
        return framework_role(job->spec->framework, job->spec->roles[member->role].name);
}

static char *address_of(const Job *job, const Member *member, const Placement *placement)
{
        const char *host = placement->hosts[member->role][member->index];

        if (member->index == 0 && job->extra_port > 0)
                return g_strdup_printf("%s:%d,%d", host, member->port, job->extra_port);
        return g_strdup_printf("%s:%d", host, member->port);
}

/* By role: whether it is of an earlier phase than the member's; the caller's, NULL: none is. */
static bool *roles_before(const Job *job, const Member *member)
{
        const Spec *spec = job->spec;
        g_autofree bool *before = g_new0(bool, spec->n_roles);
        bool any = false;

        for (int r = 0; r < spec->n_roles; r++) {
                before[r] = framework_role(spec->framework, spec->roles[r].name)->phase <
                            row_of(job, member)->phase;
                any = any || before[r];
        }
        return any && framework_phases_listen(spec) ? g_steal_pointer(&before) : NULL;
}

/* The addresses of all members of earlier phases; the caller's, NULL: of none. */
static char **addresses_before(const Job *job, const Member *member, const Placement *placement)
{
        g_autofree bool *before = roles_before(job, member);
        g_autoptr(GStrvBuilder) list = NULL;
        g_auto(GStrv) made = NULL;

        if (!before)
                return NULL;
        list = g_strv_builder_new();
        for (int i = 0; i < job->n_members; i++) {
                const Member *other = &job->members[i];

                if (before[other->role] && other->state != MEMBER_SURPLUS) {
                        g_autofree char *address = address_of(job, other, placement);

                        g_strv_builder_add(list, address);
                }
        }
        made = g_strv_builder_end(list);
        return made[0] ? g_steal_pointer(&made) : NULL;
}

/* A member that starts: what TaskStart borrows from it. */
typedef struct {
        char **argv; /* its texts are the specification's */
        char *task, *ready;
        char **env, **wait_for;
} Starting;

static void starting_clear(gpointer data)
{
        Starting *starting = data;

        g_free(starting->argv);
        g_free(starting->task);
        g_free(starting->ready);
        g_strfreev(starting->env);
        g_strfreev(starting->wait_for);
}

static Starting starting_of(Engine *engine, const RuntimeSlot *slot, const Job *job, const Member *member,
                            const MemberTables *tables)
{
        const RuntimeOps *ops = slot->runtime->ops;
        const char *role = job->spec->roles[member->role].name;
        Starting starting = {
                .argv = framework_argv(job->spec, member->role),
                .task = task_format(job, member),
                .env = framework_environment(&tables->placement, member->role, member->index),
                .wait_for = ops->gates ? addresses_before(job, member, &tables->placement) : NULL,
        };

        if (declares_itself(job, member)) {
                g_autofree char *log =
                        ops->log_path(slot->runtime, job->id, job->attempt, role, member->index);

                starting.ready = g_strdup_printf("%s.ready", log);
                starting.env = add_variable(starting.env, "PADDLE_READY_FILE", starting.ready);
        }
        starting.env = add_array(starting.env, engine, job);
        starting.env = add_sweep(starting.env, job);
        if (ops->progress_file)
                starting.env = add_variable(starting.env, "PADDLE_PROGRESS_FILE", ops->progress_file);
        return starting;
}

static TaskStart task_start_of(Engine *engine, const Job *job, const Member *member,
                               const MemberTables *tables, const Starting *starting)
{
        const Spec *spec = job->spec;
        int port = listens(job, member) ? member->port : 0;
        Resources weight, limits;

        spec_member_wants(spec, member->role, job_share(job), &weight);
        slot_hold(engine, job, member->role, &limits);
        return (TaskStart){ .task = starting->task,
                            .argv = starting->argv,
                            .tty = spec->tty,
                            .hangup_ms = spec->detach ? 0 : spec->hangup_ms,
                            .env = starting->env,
                            .secrets = tables->secrets.list,
                            .n_secrets = tables->secrets.n,
                            .mounts = tables->mounts.list,
                            .n_mounts = tables->mounts.n,
                            .limits = limits,
                            .gpus = member->gpus,
                            .cpu_weight_milli = weight.cpu_milli,
                            .grace_ms = spec->grace_ms,
                            .ready_port = port,
                            .ready_port_other = port && member->index == 0 ? job->extra_port : 0,
                            .ready_file = starting->ready,
                            .wait_for = (const char *const *)starting->wait_for };
}

/* ---- the difference ---- */

static MemberState state_before(const Job *was, const Job *now, int i)
{
        return was && was->attempt == now->attempt && i < was->n_members ? was->members[i].state
                                                                         : MEMBER_WAITING;
}

static bool starts(const Job *was, const Job *now, int i)
{
        return now->members[i].state == MEMBER_INTENDED && state_before(was, now, i) != MEMBER_INTENDED;
}

/* Of those that start now. */
static void refuse_starts(const RuntimeSlot *slot, const Job *was, const Job *now, gint64 time,
                          const GError *why)
{
        for (int i = 0; i < now->n_members; i++) {
                g_autofree char *task = starts(was, now, i) ? task_format(now, &now->members[i]) : NULL;

                if (task)
                        slot_fail_start(slot, task, time, why);
        }
}

static void start_members(Engine *engine, const RuntimeSlot *slot, const Job *was, const Job *now)
{
        g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Starting));
        g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(TaskStart));
        MemberTables tables;
        int first = 0;

        while (first < now->n_members && !starts(was, now, first))
                first++;
        if (first == now->n_members)
                return;
        g_array_set_clear_func(all, starting_clear);
        tables_init(&tables, engine, slot, now);
        if (tables.refusal) {
                refuse_starts(slot, was, now, engine_now(engine), tables.refusal);
                tables_clear(&tables);
                return;
        }
        for (int i = first; i < now->n_members; i++) {
                if (starts(was, now, i)) {
                        Starting starting = starting_of(engine, slot, now, &now->members[i], &tables);
                        TaskStart member = task_start_of(engine, now, &now->members[i], &tables, &starting);

                        g_array_append_val(all, starting);
                        g_array_append_val(members, member);
                }
        }
        RuntimeAttempt attempt = attempt_of(engine, now);
        attempt.topology = tables.topology;
        slot->runtime->ops->start(slot->runtime, &attempt, (const TaskStart *)(gpointer)members->data,
                                  (int)members->len);
        tables_clear(&tables);
}

/* Of a job that is evicted a warning has used up the grace already. */
static gint64 grace_of(const Job *job)
{
        if (job->state == JOB_STOPPING)
                return job->kill_at ? 0 : job->spec->grace_ms;
        return job->state == JOB_PREEMPTING && job->spec->warn_signal ? 0 : life_room_grace_ms(job->spec);
}

static bool is_killed(const Job *job)
{
        return job->state == JOB_STOPPING && job->kill_at;
}

static void stop_members(Runtime *runtime, const Job *was, const Job *now)
{
        bool sooner = is_killed(now) && was && !is_killed(was);
        g_autoptr(GPtrArray) tasks = g_ptr_array_new_with_free_func(g_free);

        for (int i = 0; i < now->n_members; i++)
                if (now->members[i].state == MEMBER_STOPPING &&
                    (state_before(was, now, i) != MEMBER_STOPPING || sooner))
                        g_ptr_array_add(tasks, task_format(now, &now->members[i]));
        if (tasks->len > 0)
                runtime->ops->stop(runtime, (const char *const *)tasks->pdata, (int)tasks->len,
                                   grace_of(now));
}

/* The signal before the time limit, and the one that an eviction begins with. It is sent again to a runtime
 * that was away: it may not have come through. */
static bool is_warned(const Job *job)
{
        return job->spec->warn_signal &&
               ((job->state == JOB_PREEMPTING && job->kill_at) || (job->state == JOB_RUNNING && job->warned));
}

static void warn_members(Runtime *runtime, const Job *was, const Job *now)
{
        if (!is_warned(now) || (was && was->state == now->state && is_warned(was)))
                return;
        for (int i = 0; i < now->n_members; i++) {
                g_autofree char *task = NULL;

                if (now->members[i].state != MEMBER_RUNNING && now->members[i].state != MEMBER_READY)
                        continue;
                task = task_format(now, &now->members[i]);
                runtime->ops->signal(runtime, task, now->spec->warn_signal);
        }
}

/* For those who look at them in their cluster. */
static void mark_members(Runtime *runtime, const Job *was, const Job *now)
{
        if (now->state != JOB_PREEMPTING || (was && was->state == JOB_PREEMPTING))
                return;
        for (int i = 0; i < now->n_members; i++) {
                g_autofree char *task = NULL;

                if (member_is_ended(&now->members[i]) || now->members[i].state == MEMBER_WAITING)
                        continue;
                task = task_format(now, &now->members[i]);
                runtime_mark_preempting(runtime, task, now->reason);
        }
}

/* Tells a cluster that orders waiting jobs itself (Volcano) about a changed priority. Members that start now
 * got it with their start. */
static void reprioritize(const Engine *engine, const RuntimeSlot *slot, const Job *was, const Job *now)
{

        if (!was || was->priority == now->priority || was->attempt != now->attempt ||
            now->state != JOB_STARTING)
                return;
        RuntimeAttempt attempt = attempt_of(engine, now);
        runtime_reprioritize(slot->runtime, &attempt);
}

/* A task whose end is durable now. */
static void forget_members(Runtime *runtime, const Job *was, const Job *now)
{
        for (int i = 0; i < now->n_members; i++) {
                g_autofree char *task = NULL;

                if (!member_is_ended(&now->members[i]) || !was || was->attempt != now->attempt ||
                    member_is_ended(&was->members[i]))
                        continue;
                task = task_format(now, &now->members[i]);
                runtime->ops->forget(runtime, task);
        }
}

void actions_run(Engine *engine, const Job *was, const Job *now)
{
        const RuntimeSlot *slot = slot_of(engine, now);
        Runtime *runtime = slot->runtime;

        preparing_abandon(engine, slot, was, now);
        if (slot->connected) { /* else all of it is asked for when the runtime is synced */
                preparing_request(engine, slot, was, now);
                start_members(engine, slot, was, now);
                reprioritize(engine, slot, was, now);
                mark_members(runtime, was, now);
                warn_members(runtime, was, now);
                stop_members(runtime, was, now);
        }
        if (!runtime)
                return;
        forget_members(runtime, was, now);
        if (was && !life_is_at_rest(was) && life_is_at_rest(now)) {
                runtime->ops->release_ports(runtime, now->id);
                if (engine->ports_at)
                        engine->ports_at = 1; /* there may be ports at once */
                runtime->ops->clean(runtime, now->id, now->attempt,
                                    ttl_expires(&engine->config.ttl, now, now->attempt));
        }
}
