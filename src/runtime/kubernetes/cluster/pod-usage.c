/* Samples of the usage of members (see pod-usage.h). The summary is that of
 * k8s.io/kubelet/pkg/apis/stats/v1alpha1. usage-pace.h decides which node is asked, and when. */
#include "runtime/kubernetes/cluster/pod-usage.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/request.h"
#include "runtime/kubernetes/cluster/usage-pace.h"

enum { TICK_MS = 1000, IDLE_MS = 10000, SUMMARY_MAX = 16 << 20 };

typedef struct {
        char *task, *namespace, *pod, *node;
        bool known;
        TaskUsage usage;
} Sample;

typedef struct {
        Usages *usages;
        char *node;
        KubeCall *call;
        GString *text;
} Question;

struct Usages {
        KubeClient *client;
        GMainContext *context;
        const char *cluster;
        Timer *timer;
        UsagePace *pace;
        GHashTable *asked;  /* set of Question */
        GHashTable *by_pod; /* pod -> Sample, borrowed */

        GMutex lock;
        GHashTable *by_task; /* task -> Sample */
};

static void sample_free(gpointer data)
{
        Sample *sample = data;

        g_free(sample->task);
        g_free(sample->namespace);
        g_free(sample->pod);
        g_free(sample->node);
        g_free(sample);
}

static void question_free(gpointer data)
{
        Question *question = data;

        if (question->call)
                kube_call_cancel(question->call);
        g_string_free(question->text, TRUE);
        g_free(question->node);
        g_free(question);
}

/* ---- what a summary says ---- */

static gint64 number_at(const json_t *object, const char *path)
{
        return MAX(0, kube_get_int(object, path, 0));
}

bool usage_of(const json_t *stats, TaskUsage *ret)
{
        const json_t *list = kube_get(stats, "containers"), *one;
        gint64 cpu_ns = 0;
        gsize i;

        *ret = (TaskUsage){ .processes = number_at(stats, "process_stats.process_count") };
        json_array_foreach(list, i, one) {
                cpu_ns += number_at(one, "cpu.usageCoreNanoSeconds");
                ret->memory += number_at(one, "memory.workingSetBytes");
        }
        ret->cpu_us = cpu_ns / 1000;
        return cpu_ns > 0 || ret->memory > 0;
}

static void take_pod(Usages *usages, const json_t *stats)
{
        const char *pod = kube_get_text(stats, "podRef.name"),
                   *namespace = kube_get_text(stats, "podRef.namespace");
        Sample *sample = pod ? g_hash_table_lookup(usages->by_pod, pod) : NULL;
        TaskUsage usage;

        if (!sample || g_strcmp0(namespace, sample->namespace) != 0 || !usage_of(stats, &usage))
                return;
        g_mutex_lock(&usages->lock);
        usage.memory_peak = MAX(usage.memory, sample->usage.memory_peak);
        usage.cpu_us = MAX(usage.cpu_us, sample->usage.cpu_us); /* it never goes back */
        sample->usage = usage;
        sample->known = true;
        g_mutex_unlock(&usages->lock);
}

static void take_summary(Usages *usages, const GString *text)
{
        g_autoptr(json_t) summary = json_parse(text->str, text->len, NULL);
        const json_t *list = kube_get(summary, "pods"), *one;
        gsize i;

        json_array_foreach(list, i, one) {
                take_pod(usages, one);
        }
}

/* ---- asking ---- */

static void ask_next(Usages *usages);

static bool on_data(const char *data, gsize len, void *arg)
{
        Question *question = arg;

        if (question->text->len + len <= SUMMARY_MAX)
                g_string_append_len(question->text, data, (gssize)len);
        return true;
}

static void on_end(const KubeReply *reply, void *arg)
{
        Question *question = arg;
        Usages *usages = question->usages;

        question->call = NULL;
        if (!reply->error) {
                take_summary(usages, question->text);
                usage_pace_answered(usages->pace, question->node);
        } else if (err_is(reply->error, ERR_DENIED)) {
                log_warning("what members of a cluster use is not known", "cluster", usages->cluster,
                            "reason", reply->error->message, NULL);
                usage_pace_denied(usages->pace);
        } else {
                usage_pace_silent(usages->pace, question->node);
        }
        g_hash_table_remove(usages->asked, question);
        ask_next(usages);
}

static void ask(Usages *usages, char *node)
{
        Question *question = g_new0(Question, 1);
        g_autofree char *base = kube_path(&kube_nodes, NULL, node, "proxy");
        g_autofree char *path = g_strconcat(base, "/stats/summary?only_cpu_and_memory=true", NULL);

        *question = (Question){ usages, node, NULL, g_string_new(NULL) };
        g_hash_table_add(usages->asked, question);
        question->call = kube_stream(usages->client, path, IDLE_MS, on_data, on_end, question);
}

static void ask_next(Usages *usages)
{
        char *node;

        while ((node = usage_pace_next(usages->pace)))
                ask(usages, node);
}

static void line_up(Usages *usages)
{
        g_autoptr(GHashTable) nodes = g_hash_table_new(g_str_hash, g_str_equal);
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, usages->by_pod);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Sample *sample = value;

                if (g_hash_table_add(nodes, sample->node))
                        usage_pace_add(usages->pace, sample->node);
        }
}

static void on_tick(void *arg)
{
        Usages *usages = arg;

        timer_set(&usages->timer, usages->context, TICK_MS, on_tick, usages);
        if (usage_pace_tick(usages->pace))
                line_up(usages);
        ask_next(usages);
}

static void start_turns(Usages *usages)
{
        if (!usages->timer)
                timer_set(&usages->timer, usages->context, TICK_MS, on_tick, usages);
}

/* ---- what is asked for ---- */

void usages_add(Usages *usages, const char *task, const char *namespace, const char *pod, const char *node)
{
        Sample *sample;

        if (!node || g_hash_table_contains(usages->by_task, task))
                return;
        sample = g_new0(Sample, 1);
        *sample = (Sample){ .task = g_strdup(task),
                            .namespace = g_strdup(namespace),
                            .pod = g_strdup(pod),
                            .node = g_strdup(node) };
        g_hash_table_replace(usages->by_pod, sample->pod, sample);
        g_mutex_lock(&usages->lock);
        g_hash_table_insert(usages->by_task, sample->task, sample);
        g_mutex_unlock(&usages->lock);
        start_turns(usages);
}

void usages_drop(Usages *usages, const char *task)
{
        Sample *sample = g_hash_table_lookup(usages->by_task, task);

        if (!sample)
                return;
        if (g_hash_table_lookup(usages->by_pod, sample->pod) == sample)
                g_hash_table_remove(usages->by_pod, sample->pod);
        g_mutex_lock(&usages->lock);
        g_hash_table_remove(usages->by_task, task);
        g_mutex_unlock(&usages->lock);
        if (g_hash_table_size(usages->by_pod) == 0)
                timer_clear(&usages->timer);
}

bool usages_get(Usages *usages, const char *task, TaskUsage *ret)
{
        const Sample *sample;
        bool known;

        g_mutex_lock(&usages->lock);
        sample = g_hash_table_lookup(usages->by_task, task);
        known = sample && sample->known;
        if (known)
                *ret = sample->usage;
        g_mutex_unlock(&usages->lock);
        return known;
}

Usages *usages_new(KubeClient *client, GMainContext *context, const char *cluster)
{
        Usages *usages = g_new0(Usages, 1);

        usages->client = client;
        usages->context = context;
        usages->cluster = cluster;
        usages->pace = usage_pace_new();
        usages->asked = g_hash_table_new_full(g_direct_hash, g_direct_equal, question_free, NULL);
        usages->by_pod = g_hash_table_new(g_str_hash, g_str_equal);
        usages->by_task = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, sample_free);
        g_mutex_init(&usages->lock);
        return usages;
}

void usages_stop(Usages *usages)
{
        timer_clear(&usages->timer);
        g_hash_table_remove_all(usages->asked);
        usage_pace_stop(usages->pace);
}

void usages_free(Usages *usages)
{
        if (!usages)
                return;
        usages_stop(usages);
        g_hash_table_unref(usages->asked);
        usage_pace_free(usages->pace);
        g_hash_table_unref(usages->by_pod);
        g_hash_table_unref(usages->by_task);
        g_mutex_clear(&usages->lock);
        g_free(usages);
}
