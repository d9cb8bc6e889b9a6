/* The runtimes of the engine (see slots.h).
 *
 * Every cluster that is not of type Local is a cluster of the scheduler, with or without a runtime: its
 * number never changes while it is there. A cluster that is away keeps its nodes; its queues start nothing
 * until it is back, which costs the scheduler one word a queue, however many jobs wait there. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "engine/share.h"
#include "engine/task.h"

enum { HERE = 0 };

static const char NOT_KNOWN[] = "(not known)"; /* no node is called so */
static const char LOCAL_NODE[] = ""; /* its key among the nodes: those of others are "cluster/node" */

/* ---- what readers know ---- */

static void view_free(gpointer data)
{
        cluster_view_clear(data);
        g_free(data);
}

static const char *key_of(const Cluster *cluster)
{
        return cluster && cluster->type != CLUSTER_LOCAL ? cluster->object.name : "";
}

void cluster_view(const Engine *engine, const Cluster *cluster, ClusterView *ret)
{
        const ClusterView *view;
        GMutex *lock = &((Engine *)engine)->clusters_lock;

        *ret = (ClusterView){ 0 };
        g_mutex_lock(lock);
        view = g_hash_table_lookup(engine->clusters, key_of(cluster));
        if (view) {
                *ret = *view;
                ret->why = g_strdup(view->why);
                if (ret->nodes)
                        g_ptr_array_ref(ret->nodes);
        }
        g_mutex_unlock(lock);
}

void cluster_view_clear(ClusterView *view)
{
        g_clear_pointer(&view->why, g_free);
        g_clear_pointer(&view->nodes, g_ptr_array_unref);
}

bool engine_cluster(Engine *engine, const Cluster *cluster, Resources *ret_total, char **ret_why)
{
        g_auto(ClusterView) view = { 0 };

        cluster_view(engine, cluster, &view);
        if (ret_total)
                *ret_total = view.total;
        if (ret_why)
                *ret_why = g_steal_pointer(&view.why);
        return view.connected;
}

int engine_node_id(Engine *engine, const Cluster *cluster, const char *node)
{
        g_autofree char *key = g_strdup_printf("%s/%s", key_of(cluster), node);

        return ids_find(engine->node_ids, key);
}

GPtrArray *engine_nodes(Engine *engine, const Cluster *cluster)
{
        g_auto(ClusterView) view = { 0 };

        cluster_view(engine, cluster, &view);
        return g_steal_pointer(&view.nodes);
}

const char *engine_node_name(Engine *engine, int id)
{
        return slot_node_name(engine, id);
}

int cluster_id(const Engine *engine, const Cluster *cluster)
{
        return ids_get(engine->cluster_ids, key_of(cluster));
}

static void publish(Engine *engine, const RuntimeSlot *slot, bool connected, const char *why)
{
        ClusterView *view = g_new0(ClusterView, 1);

        *view = (ClusterView){ .known = slot->runtime != NULL,
                               .runtime = slot->runtime,
                               .connected = connected,
                               .total = slot->total,
                               .room = slot->room,
                               .most = slot->most,
                               .nodes = slot->list ? g_ptr_array_ref(slot->list) : NULL,
                               .why = err_line(why) };
        g_mutex_lock(&engine->clusters_lock);
        g_hash_table_insert(engine->clusters, g_strdup(slot->name), view);
        g_mutex_unlock(&engine->clusters_lock);
}

/* Nobody calls it any more when this returns. */
static void withdraw(Engine *engine, const RuntimeSlot *slot)
{
        ClusterView *view;

        g_mutex_lock(&engine->clusters_lock);
        view = g_hash_table_lookup(engine->clusters, slot->name);
        if (view)
                view->runtime = NULL;
        g_mutex_unlock(&engine->clusters_lock);
}

/* ---- what readers ask a runtime, under the lock that withdraw() takes ---- */

static Runtime *hold_runtime(Engine *engine, const Job *job)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);
        const Queue *queue = catalog_queue(catalog, job->queue);
        const ClusterView *view;

        g_mutex_lock(&engine->clusters_lock);
        view = g_hash_table_lookup(engine->clusters,
                                   key_of(queue && queue->cluster ? catalog_cluster(catalog, queue->cluster)
                                                                  : NULL));
        return view ? view->runtime : NULL;
}

static void release_runtime(Engine *engine)
{
        g_mutex_unlock(&engine->clusters_lock);
}

/* The runtime of this machine, which outlives the engine, is asked without the lock: it reads files, and the
 * engine's thread must not wait for that. */
static bool is_own(Engine *engine, const Runtime *runtime)
{
        return runtime && runtime == engine->config.runtime;
}

bool cluster_build_wants(Engine *engine, const Catalog *catalog, const Job *job, PreparationKind kind,
                         Resources *ret)
{
        Runtime *runtime = hold_runtime(engine, job);
        bool wants = building_wants(catalog, runtime, job, kind, ret);

        release_runtime(engine);
        return wants;
}

bool engine_usage(Engine *engine, const Job *job, const Member *member, TaskUsage *ret)
{
        g_autofree char *task = task_format(job, member);
        Runtime *runtime = hold_runtime(engine, job);
        bool own = is_own(engine, runtime), known = false;

        if (!own)
                known = runtime_usage(runtime, task, ret);
        release_runtime(engine);
        return own ? runtime_usage(runtime, task, ret) : known;
}

bool engine_gpu_usage(Engine *engine, const Job *job, int gpu, GpuUsage *ret)
{
        Runtime *runtime = hold_runtime(engine, job);

        release_runtime(engine);
        return is_own(engine, runtime) && runtime_gpu_usage(runtime, gpu, ret);
}

char *engine_report(Engine *engine, const Job *job, const Member *member)
{
        Runtime *runtime = hold_runtime(engine, job);
        const char *role = job->spec->roles[member->role].name;
        bool own = is_own(engine, runtime);
        char *text = NULL;

        if (!own)
                text = runtime_report(runtime, job->id, job->attempt, role, member->index);
        release_runtime(engine);
        return own ? runtime_report(runtime, job->id, job->attempt, role, member->index) : text;
}

RuntimeExec *engine_exec(Engine *engine, const Job *job, const Member *member, const ExecStart *start,
                         GError **error)
{
        g_autofree char *task = task_format(job, member);
        g_autoptr(Catalog) catalog = engine_catalog(engine);
        const User *user = catalog_user(catalog, job->user);
        ExecStart whose = *start;
        Runtime *runtime;
        RuntimeExec *exec;

        whose.user = job->user;
        whose.user_seq = user ? user->object.seq : 0;
        runtime = hold_runtime(engine, job);
        exec = runtime_exec(runtime, task, &whose);
        release_runtime(engine);
        if (!exec)
                err_set(error, ERR_UNAVAILABLE,
                        "member '%s-%d' of job '%s' does not answer: the server has just started, or the "
                        "cluster is away\nTry again in a moment.",
                        job->spec->roles[member->role].name, member->index, job->name);
        return exec;
}

/* ---- finding ---- */

RuntimeSlot *slot_local(const Engine *engine)
{
        return engine->slots->pdata[0];
}

bool slot_is_local(const RuntimeSlot *slot)
{
        return slot->id == HERE;
}

static void node_free(gpointer node)
{
        runtime_node_free(node);
}

static RuntimeSlot *make_slot(Engine *engine, const char *name)
{
        RuntimeSlot *slot = g_new0(RuntimeSlot, 1);

        slot->id = ids_get(engine->cluster_ids, name);
        slot->name = g_strdup(name);
        slot->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, node_free);
        slot->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_ptr_array_add(engine->slots, slot);
        return slot;
}

RuntimeSlot *slot_of_cluster(Engine *engine, const Cluster *cluster)
{
        const char *name = key_of(cluster);

        for (guint i = 0; i < engine->slots->len; i++) {
                RuntimeSlot *slot = engine->slots->pdata[i];

                if (strcmp(slot->name, name) == 0)
                        return slot;
        }
        return make_slot(engine, name);
}

RuntimeSlot *slot_of_queue(Engine *engine, const char *queue_name)
{
        const Catalog *catalog = engine_catalog_now(engine);
        const Queue *queue = catalog_queue(catalog, queue_name);

        return slot_of_cluster(engine,
                               queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL);
}

RuntimeSlot *slot_of(Engine *engine, const Job *job)
{
        return slot_of_queue(engine, job->queue);
}

bool slots_any_connected(const Engine *engine)
{
        for (guint i = 0; i < engine->slots->len; i++) {
                const RuntimeSlot *slot = engine->slots->pdata[i];

                if (slot->connected || slot->synced)
                        return true;
        }
        return false;
}

/* ---- nodes ---- */

static char *node_key(const RuntimeSlot *slot, const char *name)
{
        return slot_is_local(slot) ? g_strdup(LOCAL_NODE) : g_strdup_printf("%s/%s", slot->name, name);
}

/* The node's capacity, minus what other tenants hold. */
static Resources room_of(const RuntimeNode *node)
{
        Resources room = node->allocatable;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                room.amount[kind] = MAX(0, room.amount[kind] - node->others.amount[kind]);
        feed_limit(&room);
        return room;
}

/* Nothing is said of one that is as it was: a cluster tells of all its nodes when one has changed. */
static void put_node(Engine *engine, RuntimeSlot *slot, const RuntimeNode *node)
{
        g_autofree char *key = node_key(slot, node->name);
        const RuntimeNode *was = g_hash_table_lookup(slot->nodes, node->name);
        SchedNode put = { .id = ids_get(engine->node_ids, key),
                          .cluster = slot->id,
                          .name = node->name,
                          .total = room_of(node),
                          .usable = node->usable,
                          .labels = (const char *const *)node->labels };
        RuntimeNode *copy;

        if (was && runtime_node_equal(was, node))
                return;
        engine->pass_due = engine->figures_due = true;
        if (!journal_put_node(engine->journal, &put)) {
                log_error("the scheduler does not take a node", "cluster", slot->name, "node", node->name,
                          NULL);
                return;
        }
        copy = runtime_node_copy(node);
        g_hash_table_replace(slot->nodes, copy->name, copy);
}

int slot_node(Engine *engine, RuntimeSlot *slot, const char *name)
{
        g_autofree char *key = node_key(slot, name);
        int id = ids_find(engine->node_ids, key);

        if (id >= 0)
                return id;
        put_node(engine, slot, &(RuntimeNode){ .name = (char *)name });
        return ids_find(engine->node_ids, key);
}

static bool stands_before(const RuntimeNode *node, const RuntimeNode *other)
{
        if (!other || node->usable != other->usable)
                return !other || node->usable;
        return strcmp(node->name, other->name) < 0;
}

int slot_any_node(Engine *engine, RuntimeSlot *slot)
{
        const RuntimeNode *first = NULL;
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, slot->nodes);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                if (stands_before(value, first))
                        first = value;
        }
        return slot_node(engine, slot, first ? first->name : NOT_KNOWN);
}

const char *slot_node_name(const Engine *engine, int id)
{
        const char *key = ids_name(engine->node_ids, id);
        const char *slash = key ? strchr(key, '/') : NULL;

        return slash ? slash + 1 : NULL;
}

/* One that is not there any more goes; where members still stand it stays, and gets nothing new. */
static void drop_node(Engine *engine, RuntimeSlot *slot, const char *name)
{
        g_autofree char *key = node_key(slot, name);
        g_autofree char *own = g_strdup(name);

        if (journal_drop_node(engine->journal, ids_find(engine->node_ids, key))) {
                ids_give_back(engine->node_ids, key);
                g_hash_table_remove(slot->nodes, own);
        } else {
                put_node(engine, slot, &(RuntimeNode){ .name = own });
        }
}

static void drop_others(Engine *engine, RuntimeSlot *slot, GHashTable *present)
{
        g_autoptr(GList) names = g_hash_table_get_keys(slot->nodes);

        for (GList *at = names; at; at = at->next)
                if (!g_hash_table_contains(present, at->data))
                        drop_node(engine, slot, at->data);
}

static void add_up(Resources *sum, const RuntimeNode *node, const Resources *part)
{
        if (!resources_add(sum, part, 1))
                log_error("a node is larger than can be counted", "node", node->name, NULL);
}

static void take_list(Engine *engine, RuntimeSlot *slot, GPtrArray *list /* taken */, Resources *ret_total)
{
        g_autoptr(GHashTable) present = g_hash_table_new(g_str_hash, g_str_equal);

        *ret_total = slot->room = slot->system = slot->most = (Resources){ 0 };
        for (guint i = 0; i < list->len; i++) {
                const RuntimeNode *node = list->pdata[i];

                g_hash_table_add(present, node->name);
                put_node(engine, slot, node);
                add_up(&slot->most, node, &node->allocatable);
                if (!node->usable)
                        continue;
                add_up(ret_total, node, &node->allocatable);
                const Resources room = room_of(node);
                add_up(&slot->room, node, &room);
                add_up(&slot->system, node, &node->system);
        }
        drop_others(engine, slot, present);
        g_clear_pointer(&slot->list, g_ptr_array_unref);
        slot->list = list;
}

/* The machine is its one node. */
static void take_machine(Engine *engine, RuntimeSlot *slot, Resources *ret_total)
{
        RuntimeNode node = { .name = slot_is_local(slot) ? engine->node_name : slot->name,
                             .ready = true,
                             .usable = true };

        *ret_total = slot->total;
        slot->runtime->ops->inventory(slot->runtime, ret_total);
        feed_limit(ret_total);
        slot->most = *ret_total;
        if (g_hash_table_size(slot->nodes) > 0 && resources_equal(ret_total, &slot->total))
                return;
        node.allocatable = *ret_total;
        node.labels = slot_is_local(slot) ? engine->node_labels : NULL;
        put_node(engine, slot, &node);
}

bool slot_take_nodes(Engine *engine, RuntimeSlot *slot)
{
        Resources total, system = slot->system;
        GPtrArray *list = runtime_nodes(slot->runtime);
        bool changed;

        if (list)
                take_list(engine, slot, list, &total);
        else
                take_machine(engine, slot, &total);
        changed = !resources_equal(&slot->total, &total) || !resources_equal(&slot->system, &system);
        slot->total = total;
        if (changed || slot->list)
                publish(engine, slot, slot->connected || slot->synced, NULL);
        return changed;
}

static SharePlace place_of(const RuntimeSlot *slot, const Catalog *catalog, const Queue *queue)
{
        return (SharePlace){ catalog, queue, slot->list, &slot->total };
}

SpecShare slot_share(const RuntimeSlot *slot, const Catalog *catalog, const Queue *queue, const Spec *spec)
{
        const SharePlace place = place_of(slot, catalog, queue);

        return share_on(&place, spec);
}

void slot_hold(Engine *engine, const Job *job, int role, Resources *ret)
{
        const Catalog *catalog = engine_catalog_now(engine);
        const SharePlace place = place_of(slot_of(engine, job), catalog, catalog_queue(catalog, job->queue));

        share_hold(&place, job->spec, role, job_share(job), ret);
}

SpecShare cluster_view_share(const ClusterView *view, const Catalog *catalog, const Queue *queue,
                             const Spec *spec)
{
        const SharePlace place = { catalog, queue, view->nodes, &view->total };

        return share_on(&place, spec);
}

/* ---- there and away ---- */

static void feed_its_queues(Engine *engine, const RuntimeSlot *slot)
{
        const Catalog *catalog = engine_catalog_now(engine);
        const GPtrArray *queues = catalog_list(catalog, KIND_QUEUE);

        for (guint i = 0; i < queues->len; i++) {
                const Queue *queue = queues->pdata[i];

                if (slot_of_queue(engine, queue->object.name) == slot)
                        feed_queue(engine, catalog, queue);
        }
}

void slot_up(Engine *engine, RuntimeSlot *slot)
{
        if (slot->connected || slot->synced)
                return;
        publish(engine, slot, true, NULL);
        feed_its_queues(engine, slot);
}

void slot_down(Engine *engine, RuntimeSlot *slot, const char *why)
{
        bool was = slot->connected || slot->synced;

        slot->connected = slot->synced = false;
        g_hash_table_remove_all(slot->seen);
        publish(engine, slot, false, why);
        if (was)
                feed_its_queues(engine, slot);
}

bool slots_mark_synced(Engine *engine, bool connected)
{
        bool any = false;

        for (guint i = 0; i < engine->slots->len; i++) {
                RuntimeSlot *slot = engine->slots->pdata[i];

                if (!slot->synced)
                        continue;
                any = true;
                slot->connected = connected;
                g_hash_table_remove_all(slot->seen);
        }
        return any;
}

/* ---- opening and closing ---- */

void slot_fail_start(const RuntimeSlot *slot, const char *task, gint64 now, const GError *why)
{
        Observation *observation = g_new0(Observation, 1);

        observation->kind = OBSERVED_START_FAILED;
        observation->exit_code = -1;
        g_strlcpy(observation->task, task, sizeof observation->task);
        observation->time = now;
        observation->text = g_strdup(why->message);
        observation->permanent = true;
        observe(observation, slot->source);
}

static bool open_runtime(Engine *engine, RuntimeSlot *slot, GError **error)
{
        slot->source = g_new0(Source, 1);
        *slot->source = (Source){ engine, slot };
        g_ptr_array_add(engine->sources, slot->source);
        return slot->runtime->ops->open(slot->runtime, observe, slot->source, error);
}

static void end_runtime(RuntimeSlot *slot)
{
        Runtime *runtime = g_steal_pointer(&slot->runtime);

        slot->source = NULL; /* drops its observations in the inbox */
        runtime_free(runtime);
}

static void close_slot(Engine *engine, RuntimeSlot *slot, const char *why)
{
        withdraw(engine, slot);
        if (slot->runtime)
                slot->runtime->ops->close(slot->runtime);
        end_runtime(slot);
        object_unref((Object *)g_steal_pointer(&slot->cluster));
        slot_down(engine, slot, why);
}

static void open_slot(Engine *engine, RuntimeSlot *slot, const Cluster *cluster)
{
        g_autoptr(GError) error = NULL;
        const EngineConfig *config = &engine->config;

        slot->cluster = (Cluster *)object_ref((Object *)cluster);
        slot->runtime = config->driver ? config->driver(cluster, config->driver_arg, &error) : NULL;
        if (slot->runtime && !open_runtime(engine, slot, &error))
                end_runtime(slot);
        if (error)
                log_warning("a cluster cannot be reached as it is set up", "cluster", slot->name, "reason",
                            error->message, NULL);
        publish(engine, slot, false, error ? error->message : NULL);
}

static bool same_words(const char *const *a, const char *const *b)
{
        return a && b ? g_strv_equal(a, b) : a == b;
}

/* True if a runtime that was opened for `a` also serves `b`. */
static bool is_same(const Cluster *a, const Cluster *b)
{
        return a->type == b->type && g_strcmp0(a->credential, b->credential) == 0 &&
               g_strcmp0(a->endpoint, b->endpoint) == 0 && g_strcmp0(a->setting, b->setting) == 0 &&
               same_words((const char *const *)a->namespaces, (const char *const *)b->namespaces);
}

static void settle_slot(Engine *engine, const Cluster *cluster)
{
        RuntimeSlot *slot = slot_of_cluster(engine, cluster);

        if (slot->cluster && is_same(slot->cluster, cluster))
                return;
        if (slot->cluster)
                close_slot(engine, slot, NULL);
        open_slot(engine, slot, cluster);
}

static bool is_gone(const Engine *engine, const RuntimeSlot *slot)
{
        const Cluster *cluster = catalog_cluster(engine->catalog, slot->name);

        return !cluster || cluster->type == CLUSTER_LOCAL;
}

static void forget_nodes(Engine *engine, RuntimeSlot *slot)
{
        g_autoptr(GHashTable) none = g_hash_table_new(g_str_hash, g_str_equal);

        drop_others(engine, slot, none);
        g_clear_pointer(&slot->list, g_ptr_array_unref);
        slot->total = slot->most = (Resources){ 0 };
}

static void tell_queues(const Engine *engine, const RuntimeSlot *slot)
{
        const GPtrArray *all = catalog_list(engine->catalog, KIND_QUEUE);
        g_autoptr(GPtrArray) own = g_ptr_array_new();

        if (!slot->runtime)
                return;
        for (guint i = 0; i < all->len; i++)
                if (g_strcmp0(((const Queue *)all->pdata[i])->cluster, slot->name) == 0)
                        g_ptr_array_add(own, all->pdata[i]);
        runtime_queues(slot->runtime, own);
}

void slots_settle(Engine *engine)
{
        const GPtrArray *clusters = catalog_list(engine->catalog, KIND_CLUSTER);

        for (guint i = 1; i < engine->slots->len; i++) {
                RuntimeSlot *slot = engine->slots->pdata[i];

                if (!slot->cluster || !is_gone(engine, slot))
                        continue;
                forget_nodes(engine, slot);
                close_slot(engine, slot, NULL);
        }
        for (guint i = 0; i < clusters->len; i++) {
                const Cluster *cluster = clusters->pdata[i];

                if (cluster->type != CLUSTER_LOCAL)
                        settle_slot(engine, cluster);
        }
        for (guint i = 1; i < engine->slots->len; i++)
                tell_queues(engine, engine->slots->pdata[i]);
}

bool slots_open(Engine *engine, GError **error)
{
        RuntimeSlot *local = slot_of_cluster(engine, NULL);

        (void)ids_get(engine->node_ids, LOCAL_NODE); /* its node is the first */
        local->runtime = engine->config.runtime;
        if (!open_runtime(engine, local, error)) {
                local->runtime = NULL;
                return false;
        }
        (void)slot_take_nodes(engine, local);
        publish(engine, local, false, NULL);
        slots_settle(engine);
        return true;
}

void slots_close(Engine *engine)
{
        for (guint i = 0; i < engine->slots->len; i++) {
                RuntimeSlot *slot = engine->slots->pdata[i];

                withdraw(engine, slot);
                if (slot->runtime)
                        slot->runtime->ops->close(slot->runtime);
                end_runtime(slot);
        }
}

void slots_free(Engine *engine)
{
        for (guint i = 0; i < engine->slots->len; i++) {
                RuntimeSlot *slot = engine->slots->pdata[i];

                object_unref((Object *)slot->cluster);
                g_clear_pointer(&slot->list, g_ptr_array_unref);
                g_hash_table_unref(slot->nodes);
                g_hash_table_unref(slot->seen);
                g_free(slot->name);
                g_free(slot);
        }
        g_ptr_array_unref(engine->slots);
        g_ptr_array_unref(engine->sources);
        g_hash_table_unref(engine->clusters);
        g_mutex_clear(&engine->clusters_lock);
        ids_free(engine->cluster_ids);
        ids_free(engine->node_ids);
}

void slots_init(Engine *engine)
{
        engine->slots = g_ptr_array_new();
        engine->sources = g_ptr_array_new_with_free_func(g_free);
        engine->clusters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, view_free);
        g_mutex_init(&engine->clusters_lock);
        engine->cluster_ids = ids_new();
        engine->node_ids = ids_new();
}
