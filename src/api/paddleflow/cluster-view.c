/* What a cluster has and what runs there, seen the same way everywhere: this machine as its engine knows it,
 * other clusters by asking their API server. Answers are read page by page, and a page is forgotten as soon
 * as it is counted.
 */
#include <pthread.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "podspec/census.h"

enum { PODS_MAX = 10000, JOBS_PAGE = 1000, OBJECTS_PAGE = 500 };

/* ---- asking ---- */

/* POSIX's, as the thread sanitizer understands these. */
typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t answered;
        bool done;
        json_t *object;
        GError *error;
} Wait;

static void on_answer(json_t *object, const GError *error, void *arg)
{
        Wait *wait = arg;

        pthread_mutex_lock(&wait->lock);
        wait->object = object ? json_incref(object) : NULL;
        wait->error = error ? g_error_copy(error) : NULL;
        wait->done = true;
        pthread_cond_signal(&wait->answered);
        pthread_mutex_unlock(&wait->lock);
}

static RuntimeAsk *copy_ask(const RuntimeAsk *ask)
{
        RuntimeAsk *copy = g_memdup2(ask, sizeof *ask);

        copy->api_version = g_strdup(ask->api_version);
        copy->kind = g_strdup(ask->kind);
        copy->namespace = g_strdup(ask->namespace);
        copy->name = g_strdup(ask->name);
        copy->resume = g_strdup(ask->resume);
        copy->label_selector = g_strdup(ask->label_selector);
        copy->field_selector = g_strdup(ask->field_selector);
        copy->container = g_strdup(ask->container);
        copy->body = ask->body ? json_incref(ask->body) : NULL;
        return copy;
}

json_t *paddleflow_ask(PaddleFlow *flow, const char *cluster, const RuntimeAsk *ask, GError **error)
{
        Wait wait = { .lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER };
        RuntimeAsk *own = copy_ask(ask);

        own->answer = on_answer;
        own->arg = &wait;
        engine_ask(flow->engine, cluster, own);
        pthread_mutex_lock(&wait.lock);
        while (!wait.done)
                pthread_cond_wait(&wait.answered, &wait.lock);
        pthread_mutex_unlock(&wait.lock);
        pthread_cond_destroy(&wait.answered);
        pthread_mutex_destroy(&wait.lock);
        if (wait.error)
                g_propagate_error(error, wait.error);
        else if (!wait.object) /* an answer without words */
                wait.object = json_object();
        return wait.object;
}

/* ---- other clusters ---- */

static bool ask_page(PaddleFlow *flow, const Cluster *cluster, RuntimeAsk *ask,
                     void (*take)(json_t *nodes, const json_t *item), json_t *nodes, GError **error)
{
        g_autoptr(json_t) page = paddleflow_ask(flow, cluster->object.name, ask, error);
        const json_t *items = json_object_get(page, "items"), *item;
        size_t i;

        if (!page)
                return false;
        json_array_foreach(items, i, item)
                take(nodes, item);
        g_free(ask->resume);
        ask->resume =
                g_strdup(json_string_value(json_object_get(json_object_get(page, "metadata"), "continue")));
        return true;
}

static bool ask_all(PaddleFlow *flow, const Cluster *cluster, const char *kind,
                    void (*take)(json_t *nodes, const json_t *item), json_t *nodes, GError **error)
{
        RuntimeAsk ask = {
                .verb = ASK_LIST, .api_version = (char *)"v1", .kind = (char *)kind, .limit = OBJECTS_PAGE
        };
        bool good;

        do {
                good = ask_page(flow, cluster, &ask, take, nodes, error);
        } while (good && ask.resume && *ask.resume);
        g_free(ask.resume);
        return good;
}

static void take_node(json_t *nodes, const json_t *item)
{
        json_t *node = census_node(item);

        json_object_set_new(nodes, json_string_value(json_object_get(node, "name")), node);
}

static json_t *see_others(PaddleFlow *flow, const Cluster *cluster, GError **error)
{
        g_autoptr(json_t) nodes = json_object();

        if (!ask_all(flow, cluster, "Node", take_node, nodes, error) ||
            !ask_all(flow, cluster, "Pod", census_add_pod, nodes, error))
                return NULL;
        return g_steal_pointer(&nodes);
}

/* ---- this machine ---- */

static json_t *raw_amounts(const Resources *amounts)
{
        json_t *object = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++)
                if (amounts->amount[kind] > 0 || kind == RESOURCE_CPU || kind == RESOURCE_MEMORY)
                        json_object_set_new(object, resource_name(kind), json_integer(amounts->amount[kind]));
        return object;
}

/* The status of a pod that corresponds to the member's state. */
static CensusStatus pod_status(const Member *member)
{
        switch (member->state) {
        case MEMBER_RUNNING:
        case MEMBER_READY: return CENSUS_RUNNING;
        case MEMBER_STOPPING: return CENSUS_TERMINATING;
        case MEMBER_EXITED:
        case MEMBER_LOST:
        case MEMBER_SURPLUS: return CENSUS_DELETED;
        default: return CENSUS_CREATING;
        }
}

static void add_pods(const Job *job, Resources *used, json_t *pods)
{
        for (int i = 0; i < job->n_members && json_array_size(pods) < PODS_MAX; i++) {
                CensusStatus status = pod_status(&job->members[i]);
                g_autofree char *name = job_task_name(job, i);
                Resources asked;

                if (status == CENSUS_DELETED)
                        continue;
                spec_member_wants(job->spec, job->members[i].role, job_share(job), &asked);
                (void)resources_add(used, &asked, 1);
                json_array_append_new(pods, json_pack("{s:s, s:i, s:o, s:o}", "name", name, "status",
                                                      (int)status, "labels", labels_format(job_labels(job)),
                                                      "asks", raw_amounts(&asked)));
        }
}

static bool is_here(const Catalog *catalog, const Job *job)
{
        const Queue *queue = catalog_queue(catalog, job->queue);
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;

        return !cluster || cluster->type == CLUSTER_LOCAL;
}

static json_t *running_pods(PaddleFlow *flow, Resources *used)
{
        JobQuery query = { .states = 1u << JOB_STARTING | 1u << JOB_RUNNING | 1u << JOB_STOPPING |
                                     1u << JOB_PREEMPTING,
                           .limit = JOBS_PAGE };
        g_autoptr(Catalog) catalog = engine_catalog(flow->engine);
        json_t *pods = json_array();

        do {
                g_autoptr(GPtrArray) jobs = store_jobs(flow->store, &query, &query.before_seq, NULL);

                if (!jobs)
                        break;
                for (guint i = 0; i < jobs->len; i++)
                        if (is_here(catalog, jobs->pdata[i]))
                                add_pods(jobs->pdata[i], used, pods);
        } while (query.before_seq && json_array_size(pods) < PODS_MAX);
        return pods;
}

static json_t *see_here(PaddleFlow *flow, bool pods)
{
        EngineMetrics metrics;
        Resources used;
        json_t *running = NULL;
        bool ready = engine_is_ready(flow->engine);

        engine_metrics(flow->engine, &metrics);
        used = metrics.total;
        resources_subtract(&used, &metrics.free);
        if (pods) {
                used = (Resources){ 0 };
                running = running_pods(flow, &used);
        }
        return json_pack("{s:{s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o}}", flow->node_name, "name",
                         flow->node_name, "ip", "127.0.0.1", "ready", ready, "schedulable", ready, "labels",
                         labels_format(flow->node_labels), "capacity", raw_amounts(&metrics.total),
                         "allocatable", raw_amounts(&metrics.total), "used", raw_amounts(&used), "pods",
                         running ? running : json_array());
}

json_t *cluster_node_list(PaddleFlow *flow, const Cluster *cluster, bool pods, GError **error)
{
        return cluster->type == CLUSTER_LOCAL ? see_here(flow, pods) : see_others(flow, cluster, error);
}
