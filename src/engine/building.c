/* Builds in the books of queues. While a job waits for its environment to be built, the scheduler is told of
 * the build instead of the job: one task that asks for what a builder may take (RuntimeOps.prepare_wants), in
 * the job's queue, with its user and priority. The runtime is asked for the build when the scheduler starts
 * that task, and it is counted in the queue until the environment is there. Then the job takes its own place.
 *
 *     environment waiting ──the scheduler starts the build──▶ building ──the runtime's answer──▶ ready,
 * failed
 *
 * A held job does not wait: it goes back to "environment waiting", outside of any group, and its build ends
 * unless another job waits for it. When it is released, it is asked for as if it were submitted then.
 *
 * Jobs of one user in one queue with the same requirements and setup wait for one build: a group. One of
 * them, its leader, stands for it in the scheduler; the others are held until then. All follows from the
 * jobs, so that undoing a batch is settling them again. */
#include "engine/state.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "model/catalog.h"
#include "package/package.h"

struct BuildGroup {
        char *key;
        GSequence *jobs; /* Live, by number */
        int building;    /* of them */
        int node;        /* where the scheduler counts the build; -1: not said, after a restart */
        Live *leader;
};

static void group_free(gpointer data)
{
        BuildGroup *group = data;

        g_sequence_free(group->jobs);
        g_free(group->key);
        g_free(group);
}

void building_init(Engine *engine)
{
        engine->build_groups = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, group_free);
}

void building_clear(Engine *engine)
{
        g_hash_table_unref(engine->build_groups);
}

/* A queue that could never give it gives what it has: nobody would be served by a build that never starts. */
static void clamp(const Catalog *catalog, const char *name, Resources *wants)
{
        const Queue *queue = catalog_queue(catalog, name);

        for (; queue; queue = queue->parent ? catalog_queue(catalog, queue->parent) : NULL) {
                Resources max = queue_max(catalog, queue);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        wants->amount[kind] = MIN(wants->amount[kind], max.amount[kind]);
        }
}

bool building_wants(const Catalog *catalog, Runtime *runtime, const Job *job, Resources *ret)
{
        RuntimeAttempt attempt = { .job = job };

        if (!runtime_prepare_wants(runtime, &attempt, ret))
                return false;
        clamp(catalog, job->queue, ret);
        return true;
}

static bool is_counted(Engine *engine, const Job *job, Resources *ret)
{
        return building_wants(engine_catalog_now(engine), slot_of(engine, job)->runtime, job, ret);
}

static bool waits_for_build(const Job *job)
{
        return !job_state_is_final(job->state) && job->state != JOB_SUSPENDED &&
               spec_has_environment(job->spec) &&
               (job->env_state == ENV_WAITING || job->env_state == ENV_BUILDING);
}

/* Where members run in images, each is of a base image and a package, too. */
static char *key_of(Engine *engine, const Job *job)
{
        const Spec *spec = job->spec;
        bool images = slot_of(engine, job)->runtime->ops->uses_images;
        g_autofree char *what =
                g_strjoin("\n", images && spec->image ? spec->image : "",
                          images && spec->package ? spec->package : "",
                          spec->requirements ? spec->requirements : "", spec->setup ? spec->setup : "",
                          spec->setup_files ? spec->setup_files : "", NULL);
        char hash[HASH_LEN + 1];

        hash_bytes(what, strlen(what), hash);
        return g_strconcat(job->queue, "\n", job->user, "\n", hash, NULL);
}

/* ---- the groups ---- */

static void tell(Engine *engine, Live *live)
{
        if (live->unfed)
                return;
        live->unfed = true;
        g_ptr_array_add(engine->unfed, live);
}

static int by_seq(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Live *x = a, *y = b;

        return (x->job->seq > y->job->seq) - (x->job->seq < y->job->seq);
}

static void lead(Engine *engine, BuildGroup *group, Live *live)
{
        Live *was = group->leader;

        group->leader = live;
        if (was)
                tell(engine, was);
        tell(engine, live);
}

/* The first; of those that are built, if any is. */
static Live *first_of(const BuildGroup *group)
{
        GSequenceIter *at = g_sequence_get_begin_iter(group->jobs);

        while (group->building > 0 && !((Live *)g_sequence_get(at))->builds)
                at = g_sequence_iter_next(at);
        return g_sequence_get(at);
}

void building_leave(Engine *engine, Live *live)
{
        BuildGroup *group = live->group;

        if (!group)
                return;
        group->building -= live->builds;
        live->builds = false;
        live->group = NULL;
        g_sequence_remove(live->place);
        if (group->leader == live)
                group->leader = NULL;
        if (g_sequence_is_empty(group->jobs))
                g_hash_table_remove(engine->build_groups, group->key);
        else if (!group->leader)
                lead(engine, group, first_of(group));
}

static void join(Engine *engine, Live *live, const char *key)
{
        BuildGroup *group = g_hash_table_lookup(engine->build_groups, key);

        if (!group) {
                group = g_new0(BuildGroup, 1);
                group->key = g_strdup(key);
                group->jobs = g_sequence_new(NULL);
                group->node = -1;
                g_hash_table_insert(engine->build_groups, group->key, group);
        }
        live->place = g_sequence_insert_sorted(group->jobs, live, by_seq, NULL);
        live->group = group;
}

void building_settle(Engine *engine, Live *live)
{
        Resources wants;
        bool waits = waits_for_build(live->job) && is_counted(engine, live->job, &wants);
        g_autofree char *key = waits ? key_of(engine, live->job) : NULL;
        bool builds = live->job->env_state == ENV_BUILDING;

        if (live->group && (!waits || strcmp(live->group->key, key) != 0))
                building_leave(engine, live);
        if (!waits)
                return;
        if (!live->group)
                join(engine, live, key);
        live->group->building += builds - live->builds;
        live->builds = builds;
        if (!live->group->leader || (builds && !live->group->leader->builds))
                lead(engine, live->group, live);
}

bool building_leads(const Live *live)
{
        return live->group && live->group->leader == live;
}

static bool was_prepared(Engine *engine, const Job *job)
{
        Runtime *runtime = slot_of(engine, job)->runtime;
        RuntimeAttempt attempt = { .job = job };

        return runtime_was_prepared(runtime, &attempt);
}

EnvState building_first(Engine *engine, const Job *job)
{
        g_autofree char *key = NULL;
        const BuildGroup *group;
        Resources wants;

        if (!spec_has_environment(job->spec) || !is_counted(engine, job, &wants) || was_prepared(engine, job))
                return ENV_BUILDING;
        key = key_of(engine, job);
        group = g_hash_table_lookup(engine->build_groups, key);
        return group && group->leader->job->env_state == ENV_BUILDING ? ENV_BUILDING : ENV_WAITING;
}

static void begin(Engine *engine, Live *live, bool leads)
{
        Life life;

        if (live->job->env_state != ENV_WAITING)
                return;
        life = batch_life(engine, live);
        life_building(&life);
        if (leads)
                feed_known(engine, live);
        batch_end_life(engine, live, &life);
}

/* The leader first, so that it stays the one. */
void building_begin(Engine *engine, Live *leader, int node)
{
        BuildGroup *group = leader->group;
        GSequenceIter *at;

        group->node = node;
        begin(engine, leader, true);
        for (at = g_sequence_get_begin_iter(group->jobs); !g_sequence_iter_is_end(at);
             at = g_sequence_iter_next(at))
                begin(engine, g_sequence_get(at), false);
}

void building_begin_uncounted(Engine *engine, const RuntimeSlot *slot)
{
        g_autoptr(GList) lives = g_hash_table_get_keys(engine->by_id);

        for (GList *at = lives; at; at = at->next) {
                Live *live = at->data;

                if (!live->group && waits_for_build(live->job) && slot_of(engine, live->job) == slot)
                        begin(engine, live, false);
        }
}

/* The cluster places the pod of an image's build, and does not tell us: any node of it stands for that one.
 */
static int node_of(Engine *engine, const Live *live)
{
        RuntimeSlot *slot = slot_of(engine, live->job);

        return live->group->node >= 0 ? live->group->node : slot_any_node(engine, slot);
}

void building_fill(Engine *engine, const Live *live, SchedTask *task, SchedJobFill *fill, SchedJob *put)
{
        const Job *job = live->job;

        *task = (SchedTask){ .node = node_of(engine, live) };

        fill->roles[0] = (SchedRole){ .replicas = 1, .min = 1 };
        (void)is_counted(engine, job, &fill->roles[0].each); /* it has been counted, else it would not lead */
        *put = (SchedJob){ .key = job->seq,
                           .queue = ids_find(engine->queue_ids, job->queue),
                           .user = ids_get(engine->user_ids, job->user),
                           .priority = job->priority,
                           .submitted = job->submitted,
                           .topology = -1,
                           .n_roles = 1,
                           .roles = fill->roles,
                           .state = job->env_state == ENV_BUILDING ? SCHED_RUNNING : SCHED_PENDING,
                           .started = job->env_state == ENV_BUILDING ? job->submitted : 0,
                           .tasks = job->env_state == ENV_BUILDING ? task : NULL };
}
