/* Preparations that are counted in queues: builds of environments and images. While a job waits for one, the scheduler
 * gets the build instead of the job: one task that requests what a builder may use (RuntimePreparation.wants), in the
 * job's queue, with its user and priority. The runtime is asked for the build when the scheduler starts that task. The
 * build is counted in the queue until the preparation is ready. Then the job takes its own place. If a job has several
 * preparations that are counted, one is counted at a time.
 *
 *     waiting ── the scheduler starts the build ──▶ running ── the runtime's answer ──▶ ready | failed
 *
 * A held job does not wait: its preparation is waiting again, outside of any group, and its build ends unless another
 * job waits for it. When the job is released, its preparations begin as if it were submitted then.
 *
 * Jobs of one user in one queue with the same recipe wait for one build: a group. One of them, its leader, represents
 * the build in the scheduler; the others are held until then. All of this follows from the jobs, so that undoing a
 * batch is settling them again. */
#include "engine/state.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "model/catalog.h"
#include "package/package.h"

struct BuildGroup {
        char *key;
        PreparationKind kind;
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
        g_clear_pointer(&engine->recipe.spec, spec_unref);
}

/* Reduces the request to what the job's queues have in all, so that a build can always start. */
static void clamp(const Catalog *catalog, const char *name, Resources *wants)
{
        const Queue *queue = catalog_queue(catalog, name);

        for (; queue; queue = queue->parent ? catalog_queue(catalog, queue->parent) : NULL) {
                Resources max = queue_max(catalog, queue);

                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        wants->amount[kind] = MIN(wants->amount[kind], max.amount[kind]);
        }
}

bool building_wants(const Catalog *catalog, Runtime *runtime, const Job *job, PreparationKind kind,
                    Resources *ret)
{
        RuntimeAttempt attempt = { .job = job };

        if (!runtime_prepare_wants(runtime, kind, &attempt, ret))
                return false;
        clamp(catalog, job->queue, ret);
        return true;
}

static bool is_counted(Engine *engine, const Job *job, PreparationKind kind, Resources *ret)
{
        return building_wants(engine_catalog_now(engine), slot_of(engine, job)->runtime, job, kind, ret);
}

static bool is_unready(const Preparation *one)
{
        return one->state == PREPARATION_WAITING || one->state == PREPARATION_RUNNING;
}

/* The first preparation that the job waits for and that is counted; or NULL. */
static const Preparation *counted_of(Engine *engine, const Job *job)
{
        Resources wants;

        if (job_state_is_final(job->state) || job->state == JOB_SUSPENDED)
                return NULL;
        for (int i = 0; i < job->n_preparations; i++) {
                const Preparation *one = &job->preparations[i];

                if (is_unready(one) && is_counted(engine, job, one->kind, &wants))
                        return one;
        }
        return NULL;
}

/* The jobs of an array share their specification and come one after another: it is hashed once. */
static const char *recipe_hash(Engine *engine, Spec *spec, PreparationKind kind)
{
        BuildRecipe *last = &engine->recipe;
        g_autofree char *recipe = NULL;

        if (last->spec == spec && last->kind == kind)
                return last->hash;
        recipe = preparation_info(kind)->recipe(spec);
        hash_bytes(recipe, strlen(recipe), last->hash);
        g_clear_pointer(&last->spec, spec_unref);
        last->spec = spec_ref(spec);
        last->kind = kind;
        return last->hash;
}

static char *key_of(Engine *engine, const Job *job, PreparationKind kind)
{
        return g_strconcat(job->queue, "\n", job->user, "\n", preparation_info(kind)->name, "\n",
                           recipe_hash(engine, job->spec, kind), NULL);
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

static void join(Engine *engine, Live *live, PreparationKind kind, const char *key)
{
        BuildGroup *group = g_hash_table_lookup(engine->build_groups, key);

        if (!group) {
                group = g_new0(BuildGroup, 1);
                group->key = g_strdup(key);
                group->kind = kind;
                group->jobs = g_sequence_new(NULL);
                group->node = -1;
                g_hash_table_insert(engine->build_groups, group->key, group);
        }
        live->place = g_sequence_insert_sorted(group->jobs, live, by_seq, NULL);
        live->group = group;
}

void building_settle(Engine *engine, Live *live)
{
        const Preparation *one = counted_of(engine, live->job);
        g_autofree char *key = one ? key_of(engine, live->job, one->kind) : NULL;
        bool builds = one && one->state == PREPARATION_RUNNING;

        if (live->group && (!one || strcmp(live->group->key, key) != 0))
                building_leave(engine, live);
        if (!one)
                return;
        if (!live->group)
                join(engine, live, one->kind, key);
        live->group->building += builds - live->builds;
        live->builds = builds;
        if (!live->group->leader || (builds && !live->group->leader->builds))
                lead(engine, live->group, live);
}

bool building_leads(const Live *live)
{
        return live->group && live->group->leader == live;
}

/* The preparation for which it is in its group. */
static PreparationState state_in_group(const Live *live)
{
        const Preparation *one = job_preparation(live->job, live->group->kind);

        return one ? (PreparationState)one->state : PREPARATION_NONE;
}

bool building_runs(const Live *live)
{
        return building_leads(live) && state_in_group(live) == PREPARATION_RUNNING;
}

PreparationState building_first(Engine *engine, const Job *job, PreparationKind kind)
{
        RuntimeAttempt attempt = { .job = job };
        g_autofree char *key = NULL;
        const BuildGroup *group;
        Resources wants;

        if (!is_counted(engine, job, kind, &wants) ||
            runtime_was_prepared(slot_of(engine, job)->runtime, kind, &attempt))
                return PREPARATION_RUNNING;
        key = key_of(engine, job, kind);
        group = g_hash_table_lookup(engine->build_groups, key);
        return group && building_runs(group->leader) ? PREPARATION_RUNNING : PREPARATION_WAITING;
}

static void begin(Engine *engine, Live *live, PreparationKind kind, bool leads)
{
        const Preparation *one = job_preparation(live->job, kind);
        Life life;

        if (!one || one->state != PREPARATION_WAITING)
                return;
        life = batch_life(engine, live);
        life_preparing(&life, kind);
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
        begin(engine, leader, group->kind, true);
        for (at = g_sequence_get_begin_iter(group->jobs); !g_sequence_iter_is_end(at);
             at = g_sequence_iter_next(at))
                begin(engine, g_sequence_get(at), group->kind, false);
}

static void begin_uncounted(Engine *engine, Live *live)
{
        Resources wants;

        for (int i = 0; i < live->job->n_preparations; i++) {
                PreparationKind kind = live->job->preparations[i].kind;

                if (!is_counted(engine, live->job, kind, &wants))
                        begin(engine, live, kind, false);
        }
}

void building_begin_uncounted(Engine *engine, const RuntimeSlot *slot)
{
        g_autoptr(GList) lives = g_hash_table_get_keys(engine->by_id);

        for (GList *at = lives; at; at = at->next) {
                Live *live = at->data;

                if (!job_is_prepared(live->job) && !job_state_is_final(live->job->state) &&
                    live->job->state != JOB_SUSPENDED && slot_of(engine, live->job) == slot)
                        begin_uncounted(engine, live);
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
        bool runs = building_runs(live);

        *task = (SchedTask){ .node = node_of(engine, live) };

        fill->roles[0] = (SchedRole){ .replicas = 1, .min = 1 };
        (void)is_counted(engine, job, live->group->kind,
                         &fill->roles[0].each); /* it has been counted, else it would not lead */
        *put = (SchedJob){ .key = job->seq,
                           .queue = ids_find(engine->queue_ids, job->queue),
                           .user = ids_get(engine->user_ids, job->user),
                           .priority = job->priority,
                           .submitted = job->submitted,
                           .topology = -1,
                           .n_roles = 1,
                           .roles = fill->roles,
                           .state = runs ? SCHED_RUNNING : SCHED_PENDING,
                           .started = runs ? job->submitted : 0,
                           .tasks = runs ? task : NULL };
}
