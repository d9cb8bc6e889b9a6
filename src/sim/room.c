/* A machine room for the simulator (see simulate.h): YAML or JSON into nodes and queues. The rules of quotas
 * are those of doc/guide/scheduling.md 3. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/yaml.h"
#include "sim/internal.h"

enum { NAME_MAX_BYTES = 253, LABELS_MAX = 64, TOPOLOGY_MAX = 8 };
static const gint64 DURATION_MAX_MS = 100LL * 365 * 86400 * 1000;

bool input_labels(const json_t *object, const char *where, GStringChunk *strings, GPtrArray *lists,
                  const char *const **ret, GError **error)
{
        json_t *labels = NULL, *value;
        const char *key, **list;
        int n = 0;

        if (!json_get_object(object, where, "labels", LABELS_MAX, &labels, error))
                return false;
        if (!labels || json_object_size(labels) == 0)
                return true;
        list = g_new0(const char *, json_object_size(labels) + 1);
        g_ptr_array_add(lists, list);
        json_object_foreach(labels, key, value) {
                g_autofree char *label = g_strdup_printf("%s=%s", key, json_string_value(value));

                if (!json_is_string(value))
                        return err_set(error, ERR_INVALID, "%slabels.%s must be a string", where, key);
                list[n++] = g_string_chunk_insert(strings, label);
        }
        *ret = list;
        return true;
}

bool input_duration(const json_t *object, const char *where, const char *name, gint64 *ret_ms, GError **error)
{
        const json_t *value = json_object_get(object, name);
        g_autofree char *what = g_strconcat(where, name, NULL);

        if (!value || json_is_null(value))
                return true;
        if (json_is_string(value)) {
                if (!duration_parse(what, json_string_value(value), ret_ms, error))
                        return false;
        } else if (json_is_number(value) && json_number_value(value) >= 0 &&
                   json_number_value(value) * 1000 <= (double)DURATION_MAX_MS) {
                *ret_ms = (gint64)floor(json_number_value(value) * 1000 + 0.5);
        } else {
                return err_set(error, ERR_INVALID, "%s must be a duration such as \"90s\", or seconds", what);
        }
        if (*ret_ms > DURATION_MAX_MS)
                return err_set(error, ERR_INVALID, "%s is more than 100 years", what);
        return true;
}

static bool get_name(const json_t *object, const char *where, const char **ret, GError **error)
{
        if (!json_get_string(object, where, "name", NAME_MAX_BYTES, ret, error))
                return false;
        if (!*ret || !**ret)
                return err_set(error, ERR_INVALID, "%sname is missing", where);
        return true;
}

static bool get_limits(const json_t *object, const char *where, const char *name, gint64 unsaid,
                       Resources *ret, GError **error)
{
        g_autofree char *path = g_strconcat(where, name, NULL);
        ResourceLimits limits;

        if (!limits_parse(path, json_object_get(object, name), true, &limits, error))
                return false;
        *ret = limits_flat(&limits, unsaid);
        return true;
}

/* The id of a cluster's name, new ones in order; "default" is the first. */
static bool get_cluster(Room *room, const json_t *object, const char *where, int *ret, GError **error)
{
        const char *name = "default";

        if (!json_get_string(object, where, "cluster", NAME_MAX_BYTES, &name, error))
                return false;
        for (*ret = 0; *ret < (int)room->clusters->len; (*ret)++)
                if (strcmp(room->clusters->pdata[*ret], name) == 0)
                        return true;
        g_ptr_array_add(room->clusters, g_string_chunk_insert(room->strings, name));
        return true;
}

static bool parse_nodes(Room *room, const json_t *group, const char *where, GError **error)
{
        static const char *const known[] = { "name", "count", "resources", "labels", "cluster", NULL };
        SchedNode node = { .usable = true };
        gint64 count = 1;

        if (!json_only(group, where, known, error) || !get_name(group, where, &node.name, error) ||
            !json_get_int(group, where, "count", 1, ROOM_NODES_MAX, &count, error) ||
            !get_limits(group, where, "resources", 0, &node.total, error) ||
            !get_cluster(room, group, where, &node.cluster, error) ||
            !input_labels(group, where, room->strings, room->lists, &node.labels, error))
                return false;
        if (node.total.gpus > SCHED_DEVICES_MAX)
                return err_set(error, ERR_INVALID, "%sresources: a node has at most %d GPUs", where,
                               SCHED_DEVICES_MAX);
        if (room->nodes->len + count > ROOM_NODES_MAX)
                return err_set(error, ERR_INVALID, "%scount: a room has at most %d nodes", where,
                               ROOM_NODES_MAX);
        if (!resources_add(&room->total, &node.total, count))
                return err_set(error, ERR_INVALID, "%sresources: all nodes together have too much", where);
        for (gint64 i = 0; i < count; i++) {
                g_autofree char *name = count == 1 ? g_strdup(node.name)
                                                   : g_strdup_printf("%s-%" G_GINT64_FORMAT, node.name, i);
                SchedNode one = node;

                one.id = (int)room->nodes->len;
                one.name = g_string_chunk_insert(room->strings, name);
                g_array_append_val(room->nodes, one);
        }
        return true;
}

/* A word of a table that an enum's names make. */
static bool get_word(const json_t *object, const char *where, const char *name, const char *(*word)(int),
                     int words, int *ret, GError **error)
{
        const char *text = NULL;
        g_autoptr(GString) known = g_string_new(NULL);

        if (!json_get_string(object, where, name, NAME_MAX_BYTES, &text, error))
                return false;
        if (!text)
                return true;
        for (int i = 0; i < words; i++) {
                if (strcmp(text, word(i)) == 0) {
                        *ret = i;
                        return true;
                }
                g_string_append_printf(known, "%s%s", i ? ", " : "", word(i));
        }
        return err_set(error, ERR_INVALID, "%s%s: '%s' is not one of %s", where, name, text, known->str);
}

static const char *preemption_word(int i)
{
        return queue_preemption_name((QueuePreemption)i);
}

static const char *order_word(int i)
{
        return queue_order_name((QueueOrder)i);
}

static bool get_policies(const json_t *object, const char *where, SchedQueue *queue, GError **error)
{
        int preemption = PREEMPT_LOWER_PRIORITY, order = QUEUE_ORDER_PRIORITY;
        gint64 weight = 1, priority = 0, per_user = 0;

        if (!json_get_int(object, where, "weight", 1, 65535, &weight, error) ||
            !json_get_int(object, where, "priority", -SCHED_PRIORITY_MAX, SCHED_PRIORITY_MAX, &priority,
                          error) ||
            !json_get_int(object, where, "max-running-per-user", 0, G_MAXINT, &per_user, error) ||
            !json_get_bool(object, where, "reclaimable", &queue->reclaimable, error) ||
            !json_get_bool(object, where, "backfill", &queue->backfill, error) ||
            !get_word(object, where, "preemption", preemption_word, QUEUE_PREEMPTIONS, &preemption, error) ||
            !get_word(object, where, "order", order_word, QUEUE_ORDERS, &order, error))
                return false;
        queue->weight = (int)weight;
        queue->priority = (int)priority;
        queue->max_running_per_user = (int)per_user;
        queue->preemption = (QueuePreemption)preemption;
        queue->order = (QueueOrder)order;
        return true;
}

static bool get_parent(const Room *room, const json_t *object, const char *where, SchedQueue *queue,
                       GError **error)
{
        const char *parent = NULL;

        queue->parent = -1;
        if (!json_get_string(object, where, "parent", NAME_MAX_BYTES, &parent, error))
                return false;
        if (!parent)
                return true;
        queue->parent = GPOINTER_TO_INT(g_hash_table_lookup(room->queue_ids, parent)) - 1;
        if (queue->parent < 0)
                return err_set(error, ERR_INVALID,
                               "%sparent: there is no queue '%s' above this one\nA parent stands before its "
                               "children.",
                               where, parent);
        if (g_array_index(room->queues, SchedQueue, queue->parent).cluster != queue->cluster)
                return err_set(error, ERR_INVALID, "%sparent: '%s' is of another cluster", where, parent);
        return true;
}

static bool parse_queue(Room *room, const json_t *object, const char *where, GError **error)
{
        static const char *const known[] = { "name",     "min",
                                             "max",      "reserved",
                                             "parent",   "weight",
                                             "priority", "preemption",
                                             "order",    "backfill",
                                             "labels",   "reclaimable",
                                             "cluster",  "max-running-per-user",
                                             NULL };
        SchedQueue queue = { .state = QUEUE_OPEN, .reclaimable = true, .backfill = true };
        const char *name = NULL;

        if (!json_only(object, where, known, error) || !get_name(object, where, &name, error) ||
            !get_limits(object, where, "min", 0, &queue.min, error) ||
            !get_limits(object, where, "max", RESOURCE_UNLIMITED, &queue.max, error) ||
            !get_limits(object, where, "reserved", 0, &queue.reserved, error) ||
            !get_cluster(room, object, where, &queue.cluster, error) ||
            !get_policies(object, where, &queue, error) || !get_parent(room, object, where, &queue, error) ||
            !input_labels(object, where, room->strings, room->lists, &queue.labels, error))
                return false;
        if (g_hash_table_contains(room->queue_ids, name))
                return err_set(error, ERR_INVALID, "%sname: there are two queues '%s'", where, name);
        queue.id = (int)room->queues->len;
        queue.name = g_string_chunk_insert(room->strings, name);
        g_array_append_val(room->queues, queue);
        g_hash_table_insert(room->queue_ids, (char *)queue.name, GINT_TO_POINTER(queue.id + 1));
        return true;
}

static bool above(const SchedQueue *queue, const Resources *amount, const char *what, const Resources *limit,
                  const char *of, GError **error)
{
        int kind = resources_lacking(amount, limit);
        g_autofree char *has = NULL, *may = NULL;

        if (kind < 0)
                return true;
        has = quantity_named(kind, amount->amount[kind]);
        may = quantity_named(kind, limit->amount[kind]);
        return err_set(error, ERR_INVALID, "queue '%s': %s is %s, above %s, which is %s", queue->name, what,
                       has, of, may);
}

/* reserved <= min <= max; the minima of children fit their parent's, those at the top the nodes. */
static bool check_quotas(const Room *room, GError **error)
{
        guint n = room->queues->len;
        g_autofree Resources *sums = g_new0(Resources, n + 1);

        for (guint i = 0; i < n; i++) {
                const SchedQueue *queue = &g_array_index(room->queues, SchedQueue, i);
                const SchedQueue *parent =
                        queue->parent < 0 ? NULL : &g_array_index(room->queues, SchedQueue, queue->parent);

                if (!above(queue, &queue->reserved, "reserved", &queue->min, "its min", error) ||
                    !above(queue, &queue->min, "min", &queue->max, "its max", error))
                        return false;
                if (!resources_add(&sums[parent ? parent->id : (int)n], &queue->min, 1))
                        return err_set(error, ERR_INVALID, "queue '%s': the minima are too large",
                                       queue->name);
                if (!above(queue, &sums[parent ? parent->id : (int)n],
                           "the sum of min of the queues beside it", parent ? &parent->min : &room->total,
                           parent ? "its parent's min" : "what the nodes have", error))
                        return false;
        }
        return true;
}

static bool parse_topology(Room *room, const json_t *object, GError **error)
{
        g_autoptr(GString) list = g_string_new(NULL);
        json_t *keys = NULL, *key;
        size_t i;

        if (!json_get_array(object, "", "topology", TOPOLOGY_MAX, &keys, error))
                return false;
        json_array_foreach(keys, i, key) {
                if (!json_is_string(key) || !*json_string_value(key) || strchr(json_string_value(key), ','))
                        return err_set(error, ERR_INVALID, "topology[%zu] must be the key of a label", i);
                g_ptr_array_add(room->topology, g_string_chunk_insert(room->strings, json_string_value(key)));
                g_string_append_printf(list, "%s%s", i ? "," : "", json_string_value(key));
        }
        if (list->len > 0)
                room->config.topology = room->topology_list = g_string_free(g_steal_pointer(&list), FALSE);
        return true;
}

typedef bool (*ParsePart)(Room *room, const json_t *part, const char *where, GError **error);

static bool parse_parts(Room *room, const json_t *object, const char *name, gsize max, ParsePart parse,
                        GError **error)
{
        json_t *parts = NULL, *part;
        size_t i;

        if (!json_get_array(object, "", name, max, &parts, error))
                return false;
        json_array_foreach(parts, i, part) {
                g_autofree char *where = g_strdup_printf("%s[%zu].", name, i);

                if (!json_is_object(part))
                        return err_set(error, ERR_INVALID, "%s[%zu] must be an object", name, i);
                if (!parse(room, part, where, error))
                        return false;
        }
        return true;
}

static bool parse_room(Room *room, const json_t *object, GError **error)
{
        static const char *const known[] = { "nodes",    "queues",    "topology", "half-life",
                                             "cooldown", "nominated", NULL };

        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a room is an object with `nodes` and `queues`");
        if (!json_only(object, "", known, error) ||
            !parse_parts(room, object, "nodes", ROOM_NODES_MAX, parse_nodes, error) ||
            !parse_parts(room, object, "queues", ROOM_QUEUES_MAX, parse_queue, error) ||
            !parse_topology(room, object, error) ||
            !input_duration(object, "", "half-life", &room->config.half_life_ms, error) ||
            !input_duration(object, "", "cooldown", &room->config.cooldown_ms, error) ||
            !input_duration(object, "", "nominated", &room->config.nominated_ms, error))
                return false;
        if (room->nodes->len == 0)
                return err_set(error, ERR_INVALID, "nodes: a room needs at least one");
        if (room->queues->len == 0) {
                g_autoptr(json_t) queue = json_pack("{s:s}", "name", "default");

                return parse_queue(room, queue, "", error);
        }
        return check_quotas(room, error);
}

Room *room_parse(const char *text, gsize len, const char *name, GError **error)
{
        g_autoptr(json_t) object = yaml_parse(text, len, name, error);
        g_autoptr(Room) room = NULL;

        if (!object)
                return NULL;
        room = g_new0(Room, 1);
        room->nodes = g_array_new(false, true, sizeof(SchedNode));
        room->queues = g_array_new(false, true, sizeof(SchedQueue));
        room->queue_ids = g_hash_table_new(g_str_hash, g_str_equal);
        room->topology = g_ptr_array_new();
        room->clusters = g_ptr_array_new();
        room->strings = g_string_chunk_new(4096);
        room->lists = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(room->clusters, g_string_chunk_insert(room->strings, "default"));
        if (!parse_room(room, object, error)) {
                err_prefix(error, "%s: ", name);
                return NULL;
        }
        return g_steal_pointer(&room);
}

void room_free(Room *room)
{
        if (!room)
                return;
        g_array_unref(room->nodes);
        g_array_unref(room->queues);
        g_hash_table_unref(room->queue_ids);
        g_ptr_array_unref(room->topology);
        g_ptr_array_unref(room->clusters);
        g_ptr_array_unref(room->lists);
        g_string_chunk_free(room->strings);
        g_free(room->topology_list);
        g_free(room);
}
