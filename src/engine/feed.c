/* What the scheduler is told: the machine as its one node, the queues of the catalog, and of each live job
 * what it asks for and where it stands. All of it follows from catalog and jobs, so that undoing a batch is
 * telling it again.
 *
 * Every cluster of this machine (type Local) is one cluster of the scheduler, since they share the machine;
 * each other is one of its own, with the nodes that its runtime tells of (slots.c). */
#include "engine/state.h"

#include <string.h>

#include "base/log.h"
#include "model/catalog.h"
#include "model/framework.h"

enum { NODE = 0 };

/* ---- the machine ---- */

void feed_limit(Resources *total)
{
        if (total->gpus <= SCHED_DEVICES_MAX)
                return;
        log_warning("only some of this machine's GPUs can be used: a node has at most 64", NULL);
        total->gpus = SCHED_DEVICES_MAX;
}

/* ---- queues ---- */

static char **node_labels(const Queue *queue)
{
        g_autoptr(GStrvBuilder) labels = g_strv_builder_new();
        bool any = false;

        for (char **at = queue->location; at && *at; at++) {
                if (!queue_label_is_of_nodes(*at))
                        continue;
                g_strv_builder_add(labels, *at);
                any = true;
        }
        return any ? g_strv_builder_end(labels) : NULL;
}

/* All but its labels. */
bool queue_fill(const Engine *engine, const Catalog *catalog, const Queue *queue, SchedQueue *ret)
{
        const Ids *ids = engine->queue_ids;
        g_auto(ClusterView) view = { 0 };
        const Cluster *cluster = queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;
        int id = ids_find(ids, queue->object.name),
            parent = queue->parent ? ids_find(ids, queue->parent) : -1;
        static const ResourceLimits none;
        bool usable, quota = queue_has_quota(catalog, queue);

        cluster_view(engine, cluster, &view);
        usable = (view.connected || !view.known) && !(cluster && cluster->offline);
        *ret = (SchedQueue){ .id = id,
                             .cluster = cluster_id(engine, cluster),
                             .parent = parent,
                             .name = queue->object.name,
                             .state = usable ? queue_state(queue, 1, true) : QUEUE_UNAVAILABLE,
                             .min = limits_flat(quota ? &queue->min : &none, 0),
                             .max = queue_max(catalog, queue),
                             .reserved = limits_flat(quota ? &queue->reserved : &none, 0),
                             .weight = queue->weight,
                             .priority = queue->priority,
                             .reclaimable = !queue->keep,
                             .preemption = queue->preemption,
                             .order = queue->order,
                             .backfill = !queue->traverse,
                             .max_running_per_user = queue->max_running_per_user };
        return id >= 0 && (!queue->parent || parent >= 0);
}

void feed_queue(Engine *engine, const Catalog *catalog, const Queue *queue)
{
        const Queue *parent = queue->parent ? catalog_queue(catalog, queue->parent) : NULL;
        g_auto(GStrv) labels = node_labels(queue);
        SchedQueue put;

        if (parent && ids_find(engine->queue_ids, queue->parent) < 0)
                feed_queue(engine, catalog, parent);
        ids_get(engine->queue_ids, queue->object.name);
        if (queue_fill(engine, catalog, queue, &put)) {
                put.labels = (const char *const *)labels;
                if (!journal_put_queue(engine->journal, &put))
                        log_error("the scheduler does not take a queue", "queue", queue->object.name, NULL);
        }
        engine->pass_due = engine->figures_due = true;
}

/* Children stand behind their parents at some time: as many rounds as the tree is deep. */
static void drop_others(Engine *engine, const Catalog *catalog)
{
        bool again = true;

        while (again) {
                again = false;
                for (int id = 0; id < ids_bound(engine->queue_ids); id++) {
                        const char *name = ids_name(engine->queue_ids, id);

                        if (!name || catalog_queue(catalog, name) || !journal_drop_queue(engine->journal, id))
                                continue;
                        ids_give_back(engine->queue_ids, name);
                        again = true;
                }
        }
}

void feed_queues(Engine *engine, const Catalog *catalog)
{
        const GPtrArray *queues = catalog_list(catalog, KIND_QUEUE);

        for (guint i = 0; i < queues->len; i++)
                feed_queue(engine, catalog, g_ptr_array_index(queues, i));
        drop_others(engine, catalog);
        engine->pass_due = engine->figures_due = true;
}

/* ---- what a job asks for ---- */

static int topology_of(const Spec *spec, char *const *keys)
{
        for (int i = 0; spec->topology && keys && keys[i]; i++)
                if (strcmp(keys[i], spec->topology) == 0)
                        return i;
        return -1;
}

void feed_spec(const Spec *spec, SpecShare share, char *const *topology, SchedJobFill *fill, SchedJob *ret)
{
        for (int r = 0; r < spec->n_roles; r++) {
                fill->roles[r] =
                        (SchedRole){ .replicas = spec->roles[r].replicas, .min = spec->roles[r].min };
                spec_member_wants(spec, r, share, &fill->roles[r].each);
        }
        ret->time_limit_ms = spec->time_limit_ms;
        ret->grace_ms = life_room_grace_ms(spec);
        ret->preemptable = !spec->rigid;
        ret->topology = topology_of(spec, topology);
        ret->topology_required = spec->topology_required && ret->topology >= 0;
        ret->labels = (const char *const *)spec->node_labels;
        ret->n_roles = spec->n_roles;
        ret->roles = fill->roles;
}

bool feed_wants(const Spec *spec, SpecShare share, bool least, Resources *ret)
{
        *ret = (Resources){ 0 };
        for (int r = 0; r < spec->n_roles; r++) {
                Resources each;

                spec_member_wants(spec, r, share, &each);
                if (!resources_add(ret, &each, least ? spec->roles[r].min : spec->roles[r].replicas))
                        return false;
        }
        return true;
}

/* ---- jobs ---- */

/* Its attempt ends with this batch: what belongs to it (ports, directory, names of tasks) is given back after
 * the commit, and the next one must not begin before. */
static bool ends_now(const Live *live)
{
        return live->was && !life_is_at_rest(live->was) && life_is_at_rest(live->job);
}

static bool is_held(const Live *live)
{
        const Job *job = live->job;

        if (!life_is_at_rest(job))
                return job->settled;
        return ends_now(live) || job->state == JOB_SUSPENDED || !job_is_prepared(job) || job->after ||
               live->portless;
}

static SchedJobState state_of(const Job *job)
{
        if (life_is_at_rest(job))
                return SCHED_PENDING;
        if (job->state == JOB_STOPPING || job->state == JOB_PREEMPTING || life_is_done(job))
                return SCHED_ENDING;
        return SCHED_RUNNING;
}

static guint64 devices_of(const Member *member)
{
        guint64 set = 0;

        for (const char *at = member->gpus; at && *at;) {
                char *end;
                guint64 device = g_ascii_strtoull(at, &end, 10); /* our own text */

                if (device < SCHED_DEVICES_MAX)
                        set |= G_GUINT64_CONSTANT(1) << device;
                at = *end == ',' ? end + 1 : "";
        }
        return set;
}

static SchedTask *tasks_of(Engine *engine, const Job *job)
{
        RuntimeSlot *slot = slot_of(engine, job);
        SchedTask *tasks = g_new(SchedTask, job->n_members + 1);

        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                bool placed = member->state != MEMBER_SURPLUS;
                int node = placed && member->node ? slot_node(engine, slot, member->node) : NODE;

                tasks[i] = (SchedTask){ placed ? node : -1, placed ? devices_of(member) : 0 };
        }
        return tasks;
}

/* The shares of undeclared members. They do not change during an attempt. */
static SpecShare share_of(Engine *engine, const Job *job)
{
        const Catalog *catalog = engine_catalog_now(engine);

        if (!life_is_at_rest(job) && job->cpu_share >= 0)
                return job_share(job);
        return slot_share(slot_of(engine, job), catalog, catalog_queue(catalog, job->queue), job->spec);
}

/* Of a job whose members agreed on their number none leaves either. */
static void need_present(const Job *job, SchedRole *roles)
{
        for (int r = 0; r < job->spec->n_roles; r++)
                roles[r].min = 0;
        for (int i = 0; i < job->n_members; i++)
                roles[job->members[i].role].min += job->members[i].state != MEMBER_SURPLUS;
}

/* What `put` holds is borrowed from the job and from `tasks`. */
static void fill_job(Engine *engine, const Live *live, const SchedTask *tasks, SchedJobFill *fill,
                     SchedJob *put)
{
        const Job *job = live->job;

        *put = (SchedJob){ .key = job->seq,
                           .queue = ids_find(engine->queue_ids, job->queue),
                           .user = ids_get(engine->user_ids, job->user),
                           .priority = job->priority,
                           .submitted = job->submitted,
                           .not_before = job->not_before,
                           .held = is_held(live),
                           .array = (int)(job->array_seq & G_MAXINT),
                           .array_max = job->array_max,
                           .state = (guint8)state_of(job),
                           .started = job->admitted,
                           .saved = job->saved,
                           .tasks = tasks };
        feed_spec(job->spec, share_of(engine, job), engine->topology, fill, put);
        if (!life_is_at_rest(job) && job->settled && job->spec->framework->fixed)
                need_present(job, fill->roles);
}

static void mix(guint64 *digest, guint64 value)
{
        *digest = (*digest ^ value) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
        *digest ^= *digest >> 29;
}

/* Of all that may change about a job. */
static guint64 digest_of(const SchedJob *put, bool builds, int n_tasks)
{
        guint64 digest = 1;

        for (int r = 0; r < put->n_roles; r++) {
                mix(&digest, (guint64)put->roles[r].each.cpu_milli);
                mix(&digest, (guint64)put->roles[r].each.memory);
                mix(&digest, (guint64)put->roles[r].min);
        }

        mix(&digest, (guint64)put->queue << 32 | (guint32)put->priority);
        mix(&digest, (guint64)put->not_before);
        mix(&digest, (guint64)put->state << 2 | (guint64)builds << 1 | put->held);
        if (put->state != SCHED_PENDING) {
                mix(&digest, (guint64)put->started);
                mix(&digest, (guint64)put->saved);
                for (int i = 0; i < n_tasks; i++)
                        mix(&digest, put->tasks[i].devices ^ (guint64)(put->tasks[i].node + 1) << 40);
        }
        return digest ? digest : 1;
}

/* Members that go hold their place until they have gone: the scheduler knows, and must not be told that they
 * are to stay. */
static bool has_leaving(const Job *job)
{
        for (int i = 0; i < job->n_members; i++)
                if (member_is_leaving(job, &job->members[i]))
                        return true;
        return false;
}

/* The same holds for the last that left: its name may be used again after the commit. */
static bool left_now(const Live *live)
{
        return live->was && has_leaving(live->was) && state_of(live->job) == SCHED_RUNNING;
}

bool feed_later(const Live *live)
{
        return ends_now(live) || left_now(live);
}

static void put(Engine *engine, Live *live, bool tell)
{
        SchedTask builder;
        bool builds = building_leads(live);
        SchedTask *tasks = life_is_at_rest(live->job) ? NULL : tasks_of(engine, live->job);
        SchedJobFill fill;
        SchedJob job;
        guint64 digest;

        if (builds)
                building_fill(engine, live, &builder, &fill, &job);
        else
                fill_job(engine, live, tasks, &fill, &job);
        digest = digest_of(&job, builds, builds ? 1 : live->job->n_members);
        if (tell && (!live->fed || digest != live->told)) {
                live->fed = journal_put_job(engine->journal, &job);
                engine->pass_due = engine->figures_due = true;
                if (!live->fed)
                        log_error("the scheduler does not take a job", "job", live->job->id, "queue",
                                  live->job->queue, NULL);
        }
        live->told = digest;
        g_free(tasks);
}

void feed_drop(Engine *engine, Live *live)
{
        if (!live->fed)
                return;
        journal_drop_job(engine->journal, live->job->seq);
        live->fed = false;
        live->told = 0;
        engine->pass_due = engine->figures_due = true;
}

static void feed(Engine *engine, Live *live)
{
        if (job_state_is_final(live->job->state))
                feed_drop(engine, live);
        else if (!live->fed || (!has_leaving(live->job) && !left_now(live)))
                put(engine, live, true);
}

void feed_jobs(Engine *engine)
{
        if (engine->unfed->len > 0 && engine->fed_at != engine->pass_time)
                journal_clock(engine->journal, engine->fed_at = engine->pass_time);
        for (guint i = 0; i < engine->unfed->len; i++) {
                Live *live = g_ptr_array_index(engine->unfed, i);

                live->unfed = false;
                feed(engine, live);
        }
        g_ptr_array_set_size(engine->unfed, 0);
}

void feed_known(Engine *engine, Live *live)
{
        put(engine, live, false);
        engine->figures_due = true;
}

static bool declares_all(const Spec *spec)
{
        for (int r = 0; r < spec->n_roles; r++)
                if (spec->roles[r].each.cpu_milli < 0 || spec->roles[r].each.memory == 0)
                        return false;
        return true;
}

/* True if a change of the queues' shares changes the job's request. The request of an attempt or a build is fixed. */
static bool depends_on_shares(const Live *live)
{
        if (building_leads(live))
                return !building_runs(live);
        return life_is_at_rest(live->job) && !declares_all(live->job->spec);
}

void feed_shares(Engine *engine)
{
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                Live *live = key;

                if (live->fed && depends_on_shares(live))
                        feed(engine, live);
        }
}

void feed_again(Engine *engine, Live *live)
{
        live->told = 0;
        feed(engine, live);
}

/* ---- usage ---- */

void feed_usage(Engine *engine, const GPtrArray *usage)
{
        for (guint i = 0; i < usage->len; i++) {
                const Usage *one = g_ptr_array_index(usage, i);
                int queue = ids_find(engine->queue_ids, one->queue);

                if (queue >= 0)
                        journal_put_usage(engine->journal, queue, ids_get(engine->user_ids, one->user),
                                          one->usage, one->at);
        }
}

typedef struct {
        const Engine *engine;
        GPtrArray *list;
} UsageList;

static void note_usage(int queue, int user, gint64 usage, gint64 at, void *arg)
{
        UsageList *to = arg;
        const char *queue_name = ids_name(to->engine->queue_ids, queue);
        const char *user_name = ids_name(to->engine->user_ids, user);
        Usage *one;

        if (!queue_name || !user_name)
                return;
        one = g_new(Usage, 1);
        *one = (Usage){ g_strdup(queue_name), g_strdup(user_name), usage, at };
        g_ptr_array_add(to->list, one);
}

void feed_take_usage(Engine *engine, GPtrArray *ret)
{
        UsageList to = { engine, ret };

        scheduler_foreach_usage(engine->scheduler, note_usage, &to);
}
