/* The scheduler's reasons (sched/scheduler.h) in words, and as objects of the API: one function and one row of figures for
 * each cause. */
#include "engine/state.h"

#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "engine/reason.h"
#include "model/array.h"
#include "model/catalog.h"

/* ---- the scheduler's reasons in words ---- */

/* What the words of one reason need. */
typedef struct {
        Engine *engine;
        const Reason *reason;
        gint64 now;
        const char *queue, *other; /* names, or "?" */
        Job *job;                  /* that it names, or NULL; owned */
} Words;

static char *amount(const Words *words, gint64 n)
{
        return words->reason->kind >= 0 ? quantity_text(words->reason->kind, MAX(n, 0)) : g_strdup("?");
}

static char *named(const Words *words, gint64 n)
{
        return words->reason->kind >= 0 ? quantity_named(words->reason->kind, MAX(n, 0)) : g_strdup("more");
}

static char *other_job(const Words *words)
{
        g_autofree char *name = words->job ? element_name(words->job) : NULL;

        return name ? g_strdup_printf("job '%s'", name) : g_strdup("another job");
}

static char *when_words(const Words *words)
{
        gint64 time = words->reason->time;
        g_autofree char *wait = time > words->now ? duration_format(time - words->now) : NULL;

        return wait ? g_strdup_printf(" in %s", wait) : g_strdup("");
}

static char *say_not_before(const Words *words)
{
        g_autofree char *when = when_words(words);

        return g_strdup_printf("is not to start before its time%s%s", *when ? ", which is" : "", when);
}

static char *say_closed(const Words *words)
{
        return g_strdup_printf("queue '%s' starts no jobs: its cluster is offline", words->queue);
}

char *cluster_view_unusable(const Cluster *cluster, const ClusterView *view)
{
        guint n = 0, all = view->nodes ? view->nodes->len : 0;
        const RuntimeNode *first = NULL;

        for (guint i = 0; i < all; i++) {
                const RuntimeNode *node = view->nodes->pdata[i];

                n += !node->usable;
                if (!node->usable && !first)
                        first = node;
        }
        if (all == 0)
                return g_strdup_printf("cluster '%s' has no node", cluster->object.name);
        if (!first)
                return NULL;
        return g_strdup_printf("%u of %u node%s of cluster '%s' cannot be used: node '%s' is %s", n, all,
                               all == 1 ? "" : "s", cluster->object.name, first->name,
                               first->why ? first->why : "away");
}

static char *say_no_nodes(const Words *words)
{
        g_autoptr(Catalog) catalog = engine_catalog(words->engine);
        const Queue *queue = catalog_queue(catalog, words->queue);
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;
        g_auto(ClusterView) view = { 0 };
        g_autofree char *unusable = NULL;

        cluster_view(words->engine, cluster, &view);
        unusable = cluster && view.connected ? cluster_view_unusable(cluster, &view) : NULL;
        if (unusable)
                return g_steal_pointer(&unusable);
        if (!cluster || view.connected)
                return g_strdup("its cluster has no usable node");
        if (view.why)
                return g_strdup_printf("cluster '%s' cannot be reached as it is set up: %s",
                                       cluster->object.name, view.why);
        return g_strdup_printf(
                "cluster '%s' is of type %s and not connected: this server has no runtime for it yet",
                cluster->object.name, cluster_type_name(cluster->type));
}

const char *reason_be(int kind, gint64 amount)
{
        return amount == (kind == RESOURCE_CPU ? 1000 : 1) ? "is" : "are";
}

static char *say_too_large(const Words *words)
{
        g_autofree char *asked = named(words, words->reason->asked),
                        *limit = amount(words, words->reason->limit);

        if (words->reason->queue >= 0)
                return g_strdup_printf("can never start: asks for %s, queue '%s' may use %s", asked,
                                       words->queue, limit);
        return g_strdup_printf("can never start as things are: asks for %s, the cluster has %s", asked,
                               limit);
}

static char *say_no_node_fits(const Words *words)
{
        return g_strdup("no node has the labels or the size that one of its members asks for");
}

static char *say_array_limit(const Words *words)
{
        gint64 limit = words->reason->limit;

        return g_strdup_printf("array limit reached: %" G_GINT64_FORMAT " of at most %" G_GINT64_FORMAT
                               " job%s %s running",
                               limit, limit, limit == 1 ? "" : "s", limit == 1 ? "is" : "are");
}

static char *say_user_limit(const Words *words)
{
        gint64 limit = words->reason->limit;

        return g_strdup_printf("user limit of queue '%s' reached: %" G_GINT64_FORMAT
                               " of at most %" G_GINT64_FORMAT " job%s %s running",
                               words->queue, limit, limit, limit == 1 ? "" : "s", limit == 1 ? "is" : "are");
}

static char *say_queue_max(const Words *words)
{
        g_autofree char *asked = named(words, words->reason->asked),
                        *used = amount(words, words->reason->used),
                        *limit = amount(words, words->reason->limit);

        return g_strdup_printf("queue '%s' is at its limit: asks for %s, %s of %s %s in use", words->queue,
                               asked, used, limit, reason_be(words->reason->kind, words->reason->used));
}

static char *say_reserved(const Words *words)
{
        g_autofree char *asked = named(words, words->reason->asked),
                        *have = amount(words, words->reason->free), *job = other_job(words),
                        *when = when_words(words);

        return g_strdup_printf("asks for %s; %s %s free, but reserved for %s, which comes first%s%s", asked,
                               have, reason_be(words->reason->kind, words->reason->free), job,
                               *when ? " and is to start" : "", when);
}

static char *say_lent(const Words *words)
{
        g_autofree char *asked = named(words, words->reason->asked),
                        *have = amount(words, words->reason->free),
                        *lent = amount(words, words->reason->lent);

        return g_strdup_printf(
                "asks for %s, %s %s free: %s of what queue '%s' is guaranteed %s lent to queue '%s'", asked,
                have, reason_be(words->reason->kind, words->reason->free), lent, words->queue,
                reason_be(words->reason->kind, words->reason->lent), words->other);
}

static char *say_behind(const Words *words)
{
        int n = words->reason->position;

        return g_strdup_printf("%d job%s ahead of it in queue '%s'", n, n == 1 ? " is" : "s are",
                               words->queue);
}

/* "waits for 1.5 cores: asks for 4, 2.5 of 8 are free" */
static char *say_resources(const Words *words)
{
        const Reason *reason = words->reason;
        g_autofree char *lacks = named(words, reason->asked - reason->free),
                        *asked = amount(words, reason->asked), *have = amount(words, reason->free),
                        *all = amount(words, reason->total), *job = reason->key ? other_job(words) : NULL,
                        *when = when_words(words);

        return g_strdup_printf("waits for %s: asks for %s, %s of %s %s free%s%s%s%s", lacks, asked, have, all,
                               reason_be(reason->kind, reason->free), job ? "; " : "", job ? job : "",
                               job ? " ends first" : "", job ? when : "");
}

static char *say_fragmented(const Words *words)
{
        g_autofree char *asked = named(words, words->reason->asked);

        return g_strdup_printf("asks for %s: enough is free in all, but not together on one node", asked);
}

static char *say_nominated(const Words *words)
{
        g_autofree char *job = other_job(words), *when = when_words(words);

        return g_strdup_printf("capacity is being freed: %s ends%s", job, when);
}

static char *say_topology(const Words *words)
{
        return g_strdup_printf("fits, but not within one value of '%s'",
                               words->reason->label ? words->reason->label : "its topology");
}

static char *say_held(const Words *words)
{
        return g_strdup("is held");
}

static char *(*const say[CAUSES])(const Words *words) = {
        [CAUSE_HELD] = say_held,
        [CAUSE_NOT_BEFORE] = say_not_before,
        [CAUSE_QUEUE_CLOSED] = say_closed,
        [CAUSE_NO_NODES] = say_no_nodes,
        [CAUSE_TOO_LARGE] = say_too_large,
        [CAUSE_NO_NODE_FITS] = say_no_node_fits,
        [CAUSE_ARRAY_LIMIT] = say_array_limit,
        [CAUSE_USER_LIMIT] = say_user_limit,
        [CAUSE_QUEUE_MAX] = say_queue_max,
        [CAUSE_RESERVED] = say_reserved,
        [CAUSE_LENT] = say_lent,
        [CAUSE_BEHIND] = say_behind,
        [CAUSE_RESOURCES] = say_resources,
        [CAUSE_FRAGMENTED] = say_fragmented,
        [CAUSE_NOMINATED] = say_nominated,
        [CAUSE_TOPOLOGY] = say_topology,
};

/* Which figures a cause has: those that scheduler.h names for it. */
enum {
        HAS_ASKED = 1,
        HAS_FREE = 2,
        HAS_USED = 4,
        HAS_LIMIT = 8,
        HAS_LENT = 16,
        HAS_QUEUE = 32,
        HAS_POSITION = 64,
        HAS_START = 128, /* .time is when it may start */
        HAS_COUNT = 256, /* .limit is a number of jobs */
};

static const int figures_of[CAUSES] = {
        [CAUSE_NOT_BEFORE] = HAS_START,
        [CAUSE_QUEUE_CLOSED] = HAS_QUEUE,
        [CAUSE_NO_NODES] = HAS_QUEUE,
        [CAUSE_TOO_LARGE] = HAS_ASKED | HAS_LIMIT | HAS_QUEUE,
        [CAUSE_ARRAY_LIMIT] = HAS_COUNT,
        [CAUSE_USER_LIMIT] = HAS_COUNT | HAS_QUEUE,
        [CAUSE_QUEUE_MAX] = HAS_ASKED | HAS_USED | HAS_LIMIT | HAS_QUEUE,
        [CAUSE_RESERVED] = HAS_ASKED | HAS_FREE | HAS_START,
        [CAUSE_LENT] = HAS_ASKED | HAS_FREE | HAS_LENT | HAS_QUEUE,
        [CAUSE_BEHIND] = HAS_POSITION | HAS_QUEUE,
        [CAUSE_RESOURCES] = HAS_ASKED | HAS_FREE | HAS_START,
        [CAUSE_FRAGMENTED] = HAS_ASKED | HAS_FREE,
        [CAUSE_NOMINATED] = HAS_START,
};

/* As objects give it; the sentence has it as people say it. */
static char *exact_amount(int kind, gint64 amount)
{
        if (amount == RESOURCE_UNLIMITED)
                return quantity_text(kind, amount);
        if (kind == RESOURCE_CPU)
                return cpu_format(amount);
        return kind == RESOURCE_MEMORY || kind == RESOURCE_STORAGE
                       ? memory_format(amount)
                       : g_strdup_printf("%" G_GINT64_FORMAT, amount);
}

static void put_amount(JsonOut *out, const Reason *reason, bool has, const char *name, gint64 n)
{
        g_autofree char *text = has && reason->kind >= 0 ? exact_amount(reason->kind, MAX(n, 0)) : NULL;

        if (text)
                json_out_text(out, name, text);
}

void reason_add_time(json_t *reason, gint64 ms)
{
        g_autofree char *text = clock_format(ms);

        json_object_set_new(reason, "expected_start", json_string(text));
}

static void put_figures(JsonOut *out, const Words *words)
{
        const Reason *reason = words->reason;
        int has = figures_of[reason->cause];

        if (reason->kind >= 0 && has & (HAS_ASKED | HAS_LIMIT))
                json_put_text(out, "resource", resource_name(reason->kind));
        put_amount(out, reason, has & HAS_ASKED, JSON_NAME("asked"), reason->asked);
        put_amount(out, reason, has & HAS_FREE, JSON_NAME("free"), reason->free);
        put_amount(out, reason, has & HAS_USED, JSON_NAME("used"), reason->used);
        put_amount(out, reason, has & HAS_LIMIT, JSON_NAME("limit"), reason->limit);
        put_amount(out, reason, has & HAS_LENT, JSON_NAME("lent"), reason->lent);
        if (has & HAS_COUNT)
                json_put_int(out, "limit", reason->limit);
        if (has & HAS_LENT && reason->other >= 0)
                json_put_text(out, "lent_to", words->other);
        if (has & HAS_QUEUE && reason->queue >= 0)
                json_put_text(out, "queue", words->queue);
        if (has & HAS_POSITION)
                json_put_int(out, "position", reason->position);
        if (words->job)
                json_put_text(out, "job", words->job->id);
        if (has & HAS_START && reason->time > 0)
                json_put_time(out, "expected_start", reason->time);
}

static const char *queue_name(Engine *engine, int id)
{
        const char *name = ids_name(engine->queue_ids, id);

        return name ? name : "?";
}

/* The job that a reason is about, if the user may know of it: whose others' jobs are is not told. */
static Job *job_of(Engine *engine, const Reason *reason, const char *user)
{
        g_autoptr(Job) job = reason->key ? views_job_by_seq(engine->views, reason->key) : NULL;

        return job && (!user || strcmp(job->user, user) == 0) ? g_steal_pointer(&job) : NULL;
}

json_t *reason_new(const char *cause, const char *message)
{
        json_t *object = json_object();

        json_object_set_new(object, "cause", json_string(cause));
        json_object_set_new(object, "message", json_string(message));
        return object;
}

char *reason_write(Engine *engine, const Reason *reason, gint64 now, const char *user, JsonOut *out)
{
        const Words words = { .engine = engine,
                              .reason = reason,
                              .now = now,
                              .queue = queue_name(engine, reason->queue),
                              .other = queue_name(engine, reason->other),
                              .job = job_of(engine, reason, user) };
        char *message = say[reason->cause] ? say[reason->cause](&words) : g_strdup("is about to start");

        json_open(out, '{');
        json_put_text(out, "cause", cause_name(reason->cause));
        json_put_text(out, "message", message);
        put_figures(out, &words);
        json_close(out, '}');
        if (words.job)
                job_unref(words.job);
        return message;
}

json_t *engine_reason_format(Engine *engine, const Reason *reason, gint64 now, const char *user)
{
        JsonOut out = json_out_begin(256);
        g_autofree char *text = NULL;

        g_free(reason_write(engine, reason, now, user, &out));
        text = json_out_end(&out);
        return json_parse_own(text, strlen(text), NULL);
}
