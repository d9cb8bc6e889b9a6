/* The scheduler over HTTP: its figures, its decisions, its journal, and the nodes it places on. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "engine/life.h"
#include "journal/journal.h"

enum {
        DECISIONS_MAX = 10000,
        LOOKS_MAX = 1000, /* members that are measured for one answer */
};

/* ---- figures ---- */

bool api_find_figures(Api *api, const char *queue, QueueFigures *ret)
{
        SchedulerFigures *figures = engine_figures(api->engine);
        int id = engine_queue_id(api->engine, queue);
        bool found = figures && id >= 0 && id < figures->n_queues && figures->queues[id].id == id;

        if (found)
                *ret = figures->queues[id];
        if (figures)
                scheduler_figures_unref(figures);
        return found;
}

json_t *api_queue_figures(Api *api, const Queue *queue)
{
        QueueFigures f;

        if (!api_find_figures(api, queue->object.name, &f))
                return NULL;
        return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:f}", "used", resources_format(&f.used), "demand",
                         resources_format(&f.demand), "lent", resources_format(&f.lent), "borrowed",
                         resources_format(&f.borrowed), "pending", f.pending, "running", f.running, "share",
                         (double)f.share_ppm / 1e6);
}

static json_t *format_queue(Api *api, const Queue *queue)
{
        json_t *row = json_pack("{s:s, s:s?, s:o, s:o}", "name", queue->object.name, "parent", queue->parent,
                                "min", limits_format(&queue->min), "max", limits_format(&queue->max));
        g_autoptr(json_t) figures = api_queue_figures(api, queue);

        json_object_update(row, figures);
        return row;
}

/* Of each kind that there is, also when nothing of it is free. */
static json_t *format_free(const Resources *total, const Resources *free)
{
        ResourceLimits limits = { .amount = *free };

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (total->amount[kind] > 0)
                        limits.said |= 1u << kind;
        return limits_format(&limits);
}

static void show_figures(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const GPtrArray *queues = catalog_list(catalog, KIND_QUEUE);
        SchedulerFigures *figures = engine_figures(api->engine);
        g_autofree char *now = clock_format(figures ? figures->now : clock_now_ms());
        json_t *rows = json_array();
        g_autoptr(json_t) reply = NULL;
        Resources none = { 0 };

        for (guint i = 0; i < queues->len; i++) {
                const Queue *queue = queues->pdata[i];
                bool granted = auth_is_granted(api->auth, catalog, caller->user, queue);

                if (auth_may(caller, ACCESS_QUEUE, VERB_SHOW, false, granted))
                        json_array_append_new(rows, format_queue(api, queue));
        }
        reply = json_pack("{s:s, s:o, s:o, s:o}", "now", now, "total",
                          resources_format(figures ? &figures->total : &none), "free",
                          format_free(figures ? &figures->total : &none, figures ? &figures->free : &none),
                          "queues", rows);
        if (figures)
                scheduler_figures_unref(figures);
        http_reply_json(request, 200, reply);
}

/* ---- nodes ---- */

const char *api_node_name(const Api *api, int id)
{
        const char *name = engine_node_name(api->engine, id);

        return name ? name : api->node_name ? api->node_name : "local";
}

typedef struct {
        Api *api;
        HttpRequest *request;
        gint64 limit; /* of decisions */
} Question;

static json_t *format_devices(guint64 devices)
{
        json_t *indices = json_array();

        for (int i = 0; i < SCHED_DEVICES_MAX; i++)
                if (devices & 1ull << i)
                        json_array_append_new(indices, json_integer(i));
        return indices;
}

/* ---- what stands on nodes: "CLUSTER\nNODE" -> Load ---- */

typedef struct {
        int jobs, members; /* that have members there, and these */
        int measured;      /* of the members; the figures are of those */
        double cores;
        json_int_t memory;
} Load;

/* How much is looked at for one answer: each look may read files of the machine's or a cluster's cache. */
typedef struct {
        Api *api;
        const Catalog *catalog;
        GHashTable *loads;
        int looks_left;
} LoadSurvey;

static Load *load_at(GHashTable *loads, char *key)
{
        Load *load = g_hash_table_lookup(loads, key);

        if (!load)
                g_hash_table_insert(loads, g_strdup(key), load = g_new0(Load, 1));
        return load;
}

static const char *cluster_of(const Catalog *catalog, const Job *job)
{
        const Queue *queue = catalog_queue(catalog, job->queue);
        const Cluster *cluster = queue ? catalog_cluster(catalog, queue->cluster) : NULL;

        return cluster && cluster->type != CLUSTER_LOCAL ? cluster->object.name : CLUSTER_DEFAULT;
}

static void measure_member(LoadSurvey *survey, const Job *job, const Member *member, Load *load)
{
        g_autoptr(json_t) usage = NULL;

        load->members++;
        if (survey->looks_left == 0)
                return;
        survey->looks_left--;
        usage = usage_of_member(survey->api, job, member);
        if (!json_is_object(usage))
                return;
        load->measured++;
        load->cores += json_number_value(json_object_get(usage, "cores"));
        load->memory += json_integer_value(json_object_get(usage, "memory"));
}

static void count_job(LoadSurvey *survey, const Job *job)
{
        g_autoptr(GHashTable) here = g_hash_table_new(NULL, NULL); /* Load, that count this job already */
        const char *cluster = cluster_of(survey->catalog, job);

        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                const char *node = member->reported_node ? member->reported_node
                                   : member->node        ? member->node
                                                         : "";
                g_autofree char *key = NULL;
                Load *load;

                if (member->state == MEMBER_WAITING || member_is_ended(member))
                        continue;
                key = g_strconcat(cluster, "\n", node, NULL);
                load = load_at(survey->loads, key);
                load->jobs += g_hash_table_add(here, load);
                measure_member(survey, job, member, load);
        }
}

/* Of all jobs that hold something; NULL with *error. */
static GHashTable *survey_jobs(Api *api, const Catalog *catalog, GError **error)
{
        const guint32 active =
                1u << JOB_STARTING | 1u << JOB_RUNNING | 1u << JOB_PREEMPTING | 1u << JOB_STOPPING;
        g_autoptr(GHashTable) loads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        LoadSurvey survey = { api, catalog, loads, LOOKS_MAX };
        JobQuery query = { .states = active, .limit = 1000 };

        do {
                g_autoptr(GPtrArray) jobs = store_jobs(api->store, &query, &query.before_seq, error);

                if (!jobs)
                        return NULL;
                for (guint i = 0; i < jobs->len; i++)
                        count_job(&survey, jobs->pdata[i]);
        } while (query.before_seq);
        return g_steal_pointer(&loads);
}

/* The sources of a node's row. */
typedef struct {
        Api *api;
        const Scheduler *clone;
        GHashTable *loads;
} NodeListing;

static Load load_of(const NodeListing *listing, const char *cluster, const char *node)
{
        g_autofree char *key = g_strconcat(cluster, "\n", node, NULL);
        const Load *load = g_hash_table_lookup(listing->loads, key);

        return load ? *load : (Load){ 0 };
}

/* Never below 0: others may hold more than we know of. */
static json_t *free_of(const RuntimeNode *node, const Resources *used)
{
        Resources left = node->allocatable;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                left.amount[kind] =
                        MAX(left.amount[kind] - used->amount[kind] - node->others.amount[kind], 0);
        return resources_format(&left);
}

static json_t *format_node(const NodeListing *listing, const RuntimeNode *node, const char *cluster, int id,
                           Load load)
{
        Resources used = { 0 };
        guint64 devices = 0;

        if (id >= 0)
                (void)scheduler_node(listing->clone, id, &used,
                                     &devices); /* not known there: it holds nothing */
        return json_pack("{s:s, s:s, s:b, s:b, s:s?, s:o, s:o, s:o, s:o, s:o, s:i, s:{s:i, s:i, s:f, s:I}, "
                         "s:{s:I, s:o}}",
                         "name", node->name, "cluster", cluster, "ready", node->ready, "usable", node->usable,
                         "why", node->why, "labels", labels_format(node->labels), "total",
                         resources_format(&node->allocatable), "used", resources_format(&used), "others",
                         resources_format(&node->others), "free", free_of(node, &used), "jobs", load.jobs,
                         "usage", "members", load.members, "measured", load.measured, "cores", load.cores,
                         "memory", load.memory, "gpus", "total", (json_int_t)node->allocatable.gpus, "used",
                         format_devices(devices));
}

static json_t *format_machine(const NodeListing *listing)
{
        Api *api = listing->api;
        bool ready = engine_is_ready(api->engine);
        RuntimeNode node = { .name = (char *)api_node_name(api, 0),
                             .labels = api->node_labels,
                             .ready = ready,
                             .usable = ready,
                             .why = ready ? NULL : (char *)"its agent is not connected" };

        (void)engine_cluster(api->engine, NULL, &node.allocatable, NULL);
        return format_node(listing, &node, CLUSTER_DEFAULT, 0, load_of(listing, CLUSTER_DEFAULT, ""));
}

static void add_nodes(const NodeListing *listing, const Cluster *cluster, json_t *items)
{
        Api *api = listing->api;
        g_autoptr(GPtrArray) nodes = engine_nodes(api->engine, cluster);
        bool connected = engine_cluster(api->engine, cluster, NULL, NULL);

        for (guint i = 0; nodes && i < nodes->len; i++) {
                RuntimeNode node = *(const RuntimeNode *)nodes->pdata[i];

                if (!connected && node.usable) {
                        node.usable = false;
                        node.why = (char *)"the cluster is not connected";
                }
                json_array_append_new(items, format_node(listing, &node, cluster->object.name,
                                                         engine_node_id(api->engine, cluster, node.name),
                                                         load_of(listing, cluster->object.name, node.name)));
        }
}

static json_t *format_nodes(Api *api, const char *cluster, const Scheduler *clone, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const GPtrArray *clusters = catalog_list(catalog, KIND_CLUSTER);
        g_autoptr(GHashTable) loads = survey_jobs(api, catalog, error);
        const NodeListing listing = { api, clone, loads };
        json_t *items;

        if (!loads)
                return NULL;
        items = json_array();
        if (!cluster || strcmp(cluster, CLUSTER_DEFAULT) == 0)
                json_array_append_new(items, format_machine(&listing));
        for (guint i = 0; i < clusters->len; i++) {
                const Cluster *at = clusters->pdata[i];

                if (at->type != CLUSTER_LOCAL && (!cluster || strcmp(cluster, at->object.name) == 0))
                        add_nodes(&listing, at, items);
        }
        return json_pack("{s:o}", "items", items);
}

static void run_nodes(bool stopped, void *arg)
{
        g_autofree Question *question = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(Scheduler) clone = NULL;
        g_autoptr(json_t) reply = NULL;
        gint64 now;

        if (stopped)
                err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        else
                clone = api_clone(question->api, &now, &error);
        if (clone)
                reply = format_nodes(question->api, http_request_query(question->request, "cluster"), clone,
                                     &error);
        if (reply)
                http_reply_json(question->request, 200, reply);
        else
                http_fail(question->request, error);
        http_request_unref(question->request);
}

static void ask_pool(Api *api, HttpRequest *request, ThreadPoolFunc func, gint64 limit)
{
        g_autoptr(GError) error = NULL;
        Question *question = g_new0(Question, 1);

        *question = (Question){ api, http_request_ref(request), limit };
        if (thread_pool_push(api->threads, http_request_caller(request)->user, func, question, &error))
                return;
        http_fail(request, error);
        http_request_unref(request);
        g_free(question);
}

static void list_nodes(HttpRequest *request, void *arg)
{
        ask_pool(arg, request, run_nodes, 0);
}

/* ---- the journal ---- */

typedef struct {
        Api *api;
        json_t *items;
} Listing;

static void add_for(Api *api, json_t *item, gint64 key)
{
        g_autofree char *id = key ? api_job_id(api, key) : NULL;

        if (id)
                json_object_set_new(item, "for", json_string(id));
}

/* Where the first task stands; all of them when there are several nodes. */
static void add_node(Api *api, json_t *item, const JournalEntry *entry)
{
        for (int i = 0; i < entry->decision.n_tasks; i++) {
                if (entry->tasks[i].node < 0)
                        continue;
                json_object_set_new(item, "node", json_string(api_node_name(api, entry->tasks[i].node)));
                return;
        }
}

static void add_decision(const JournalEntry *entry, void *arg)
{
        Listing *listing = arg;
        g_autofree char *time = clock_format(entry->now);
        g_autoptr(Job) job = api_job_by_seq(listing->api, entry->decision.key);
        json_t *item = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s}", "pass", (json_int_t)entry->pass, "time",
                                 time, "kind", decision_kind_name(entry->decision.kind), "rule",
                                 decision_rule_name(entry->decision.rule), "job", job ? job->id : "", "name",
                                 job ? job->name : "");

        add_for(listing->api, item, entry->decision.for_key);
        add_node(listing->api, item, entry);
        json_array_append_new(listing->items, item);
}

static bool read_journal(const Question *question, bool stopped, char **ret, gsize *ret_len, GError **error)
{
        if (stopped)
                return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        if (!question->api->journal_dir)
                return err_set(error, ERR_NOT_FOUND, "this server keeps no journal of its scheduler");
        return api_flush_journal(question->api, error) &&
               journal_read(question->api->journal_dir, ret, ret_len, error);
}

static void run_decisions(bool stopped, void *arg)
{
        g_autofree Question *question = arg;
        Listing listing = { question->api, json_array() };
        g_autoptr(json_t) reply = json_pack("{s:o}", "items", listing.items);
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;
        gsize len = 0;

        if (read_journal(question, stopped, &text, &len, &error) &&
            journal_list(text, len, (int)question->limit, add_decision, &listing, &error))
                http_reply_json(question->request, 200, reply);
        else
                http_fail(question->request, error);
        http_request_unref(question->request);
}

static void list_decisions(HttpRequest *request, void *arg)
{
        gint64 limit;

        if (http_request_query_int(request, "limit", 1, DECISIONS_MAX, 100, &limit))
                ask_pool(arg, request, run_decisions, limit);
}

static void run_journal(bool stopped, void *arg)
{
        g_autofree Question *question = arg;
        g_autoptr(GError) error = NULL;
        char *text = NULL;
        gsize len = 0;

        if (read_journal(question, stopped, &text, &len, &error))
                http_reply_take(question->request, 200, "text/plain", text, len);
        else
                http_fail(question->request, error);
        http_request_unref(question->request);
}

static void show_journal(HttpRequest *request, void *arg)
{
        ask_pool(arg, request, run_journal, 0);
}

static const HttpParameter list_decisions_query[] = {
        { "limit", HTTP_INTEGER, "At most this many, 1 to 10000." },
        { 0 },
};

static const HttpParameter list_nodes_query[] = {
        { "cluster", HTTP_STRING, "Only those of this cluster." },
        { 0 },
};

const HttpRoute scheduler_routes[] = {
        { "GET", "/v1/scheduler", ACCESS_STATISTICS, VERB_LIST, show_figures,
          "What there is, what is free, and what the queues that the caller may use hold of it.",
          .reply = "Figures" },
        { "GET", "/v1/scheduler/decisions", ACCESS_SCHEDULER, VERB_LIST, list_decisions,
          "The last decisions of the scheduler, newest last.", .query = list_decisions_query,
          .reply = "DecisionList" },
        { "GET", "/v1/scheduler/journal", ACCESS_SCHEDULER, VERB_SHOW, show_journal,
          "The scheduler's journal as text, to be replayed.", .reply_type = "text/plain" },
        { "GET", "/v1/nodes", ACCESS_NODE, VERB_LIST, list_nodes, "The machines that jobs are placed on.",
          .query = list_nodes_query, .reply = "NodeList" },
        { 0 },
};
