/* Why a job waits, for readers of any thread: from its view, the published catalog and figures. What the engine knows
 * (environment, dependencies, hold, ports) becomes words here; what the scheduler states, from figures
 * (scheduler_explain_figures) or from a clone (scheduler_explain), in reason.c. */
#include "engine/state.h"

#include <string.h>

#include "base/number.h"
#include "engine/reason.h"
#include "engine/task.h"
#include "model/array.h"
#include "model/catalog.h"
#include "model/framework.h"

/* ---- a list of reasons ---- */

/* Written as JSON text at once: every answer about a job that waits has it. */
typedef struct {
        JsonOut *out; /* an array is open in it */
        int n;
        char *first; /* the message of the first; or NULL */
} Reasons;

static void take_message(Reasons *reasons, char *message)
{
        if (reasons->n++ == 0)
                reasons->first = message;
        else
                g_free(message);
}

/* Takes the object. */
static void add_reason(Reasons *reasons, json_t *reason)
{
        take_message(reasons, g_strdup(json_string_value(json_object_get(reason, "message"))));
        json_put_item(reasons->out, reason);
}

/* ---- what the engine knows ---- */

/* "job 'prep' (ID) to succeed, now running", "array 'sw' (ID) to end, 3 of its jobs are open". */
static char *awaited_text(Engine *engine, const char *id, const char *verb)
{
        const char *first = array_id_first(id);
        g_autoptr(Job) other = engine_find(engine, NULL, first ? first : id, NULL);
        g_autofree char *array = first && other ? array_name(other) : NULL;
        int open = 0;

        if (!first) {
                g_autofree char *words = other ? job_words(other) : g_strdup_printf("job '%s'", id);

                return g_strdup_printf("%s to %s, now %s", words, verb,
                                       other ? job_state_name(other->state) : "unknown");
        }
        if (other)
                (void)views_array_open(engine->views, other->array_seq, &open, NULL);
        return g_strdup_printf("array '%s' (%s) to %s, %d of its jobs %s open", array ? array : id, id, verb,
                               open, open == 1 ? "is" : "are");
}

static json_t *dependency_reason(Engine *engine, const Job *job)
{
        static const struct {
                const char *prefix, *verb;
        } conditions[] = { { "ok:", "succeed" }, { "fail:", "fail" }, { "any:", "end" } };
        const char *id = strchr(job->after[0], ':') + 1, *verb = "end";
        guint n = g_strv_length(job->after);
        g_autofree char *more = n > 1 ? g_strdup_printf(" and %u more", n - 1) : g_strdup("");
        g_autofree char *awaited = NULL, *message = NULL;
        json_t *reason;

        for (gsize i = 0; i < G_N_ELEMENTS(conditions); i++)
                if (g_str_has_prefix(job->after[0], conditions[i].prefix))
                        verb = conditions[i].verb;
        awaited = awaited_text(engine, id, verb);
        message = g_strdup_printf("waiting for %s%s", awaited, more);
        reason = reason_new("dependency", message);
        json_object_set_new(reason, "job", json_string(id));
        return reason;
}

static json_t *held_reason(const Job *job)
{
        g_autofree char *array = array_name(job);
        g_autofree char *message =
                g_strdup_printf("is %s; `paddle release %s` lets it go on",
                                job->reason ? job->reason : "held", array ? array : job->name);

        return reason_new("held", message);
}

static json_t *time_reason(const Job *job, gint64 now)
{
        g_autofree char *wait = duration_format(job->not_before - now);
        g_autofree char *message =
                job->attempt > 0 ? g_strdup_printf("attempt %d failed: %s; tried again in %s", job->attempt,
                                                   job->reason ? job->reason : "", wait)
                                 : g_strdup_printf("is not to start before its time, which is in %s", wait);
        json_t *reason = reason_new(job->attempt > 0 ? "retry" : "begin", message);

        reason_add_time(reason, job->not_before);
        return reason;
}

static bool lacks_ports(const Job *job, const ViewState *state)
{
        for (int i = 0; i < VIEW_PORTLESS_MAX; i++)
                if (state->portless[i] == job->seq)
                        return true;
        return false;
}

static json_t *away_reason(const Cluster *cluster, const ClusterView *view, const char *then)
{
        g_autofree char *message =
                cluster && cluster->type != CLUSTER_LOCAL
                        ? g_strdup_printf("cluster '%s' is not connected%s%s; %s", cluster->object.name,
                                          view->why ? ": " : "", view->why ? view->why : "", then)
                        : g_strdup_printf("the runtime is not connected; %s", then);

        return reason_new("runtime", message);
}

static const char starts_then[] = "the job starts when it is back";

/* Of a job that has members, on another cluster than this machine. */
static void add_away(Engine *engine, const Job *job, Reasons *reasons)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);
        const Queue *queue = catalog_queue(catalog, job->queue);
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;
        g_auto(ClusterView) view = { 0 };

        if (!cluster || cluster->type == CLUSTER_LOCAL)
                return;
        cluster_view(engine, cluster, &view);
        if (view.known && !view.connected)
                add_reason(reasons,
                           away_reason(cluster, &view,
                                       "members that run there run on, all else is done when it is back"));
}

/* The first preparation of the job in this state; NULL: none. */
static const PreparationInfo *preparation_in(const Job *job, PreparationState state)
{
        const Preparation *one = preparations_find(job->preparations, job->n_preparations, state);

        return one ? preparation_info(one->kind) : NULL;
}

static json_t *preparing_reason(const Job *job)
{
        const PreparationInfo *info = preparation_in(job, PREPARATION_RUNNING);
        g_autofree char *see =
                info->log ? g_strdup_printf("; see `paddle logs %s --member %s`", job->name, info->log)
                          : NULL;
        g_autofree char *message = g_strconcat(info->running, see, NULL);

        return reason_new(info->reason, message);
}

/* NULL: it waits for nothing that the engine knows of. */
static json_t *engine_reason(Engine *engine, const Job *job, gint64 now)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);
        const Queue *queue = catalog_queue(catalog, job->queue);
        const Cluster *cluster = queue && queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;
        bool here = !cluster || cluster->type == CLUSTER_LOCAL;
        PreparationState prepared = job_preparation_state(job);
        g_auto(ClusterView) view = { 0 };
        ViewState state;

        cluster_view(engine, cluster, &view);

        if (job->state == JOB_SUSPENDED)
                return held_reason(job);
        if (!here && view.known && !view.connected)
                return away_reason(cluster, &view, starts_then);
        if (prepared == PREPARATION_RUNNING && (here || view.known))
                return preparing_reason(job);
        views_state(engine->views, &state);
        if (prepared == PREPARATION_WAITING)
                return here && !state.connected ? away_reason(cluster, &view, starts_then) : NULL;
        if (job->after)
                return dependency_reason(engine, job);
        if (job->not_before > now)
                return time_reason(job, now);
        if (here && !state.connected)
                return away_reason(cluster, &view, starts_then);
        if (lacks_ports(job, &state))
                return reason_new("ports", "waits for ports: all that may be leased are taken");
        return NULL;
}

/* ---- what the figures say ---- */

typedef struct {
        Engine *engine;
        const Job *job;
        const Catalog *catalog;
        gint64 now;
        const Cluster *cluster; /* NULL: this machine */
        Waiting waiting;
        Reasons *reasons;
} Question;

static const QueueFigures *figures_for(const Question *question, const char *queue)
{
        const SchedulerFigures *figures = question->waiting.figures;
        int id = ids_find(question->engine->queue_ids, queue);

        return id >= 0 && id < figures->n_queues && figures->queues[id].id == id ? &figures->queues[id]
                                                                                 : NULL;
}

static void add(Question *question, const Reason *reason)
{
        if (question->reasons->n < REASONS_MAX)
                take_message(question->reasons, reason_write(question->engine, reason, question->now,
                                                             question->job->user, question->reasons->out));
}

/* True when nothing else matters. */
static bool ask_cluster(Question *question, const Queue *queue)
{
        const Cluster *cluster = queue->cluster ? catalog_cluster(question->catalog, queue->cluster) : NULL;
        g_auto(ClusterView) view = { 0 };
        Reason reason = { .kind = -1,
                          .queue = ids_find(question->engine->queue_ids, question->job->queue),
                          .other = -1 };

        cluster_view(question->engine, cluster, &view);
        if (view.known && !(cluster && cluster->offline))
                return false;
        reason.cause = view.known ? CAUSE_QUEUE_CLOSED : CAUSE_NO_NODES;
        add(question, &reason);
        return true;
}

/* True when it waits for nodes that are there and cannot be used. */
static bool ask_unusable(Question *question, const ClusterView *view)
{
        static const Resources nothing = { 0 };
        g_autofree char *why = NULL;

        if (!question->cluster || question->cluster->type == CLUSTER_LOCAL || !view->nodes)
                return false;
        if (!resources_equal(&view->total, &nothing) && resources_fit(&question->waiting.want, &view->total))
                return false;
        why = cluster_view_unusable(question->cluster, view);
        if (why)
                add_reason(question->reasons, reason_new("no_nodes", why));
        return why != NULL;
}

/* The figures are of all clusters together; what a cluster's queues hold is what those hold that have no
 * parent. */
static void find_capacity(Question *question, const ClusterView *view)
{
        const GPtrArray *queues = catalog_list(question->catalog, KIND_QUEUE);

        question->waiting.total = question->waiting.figures->total;
        question->waiting.free = question->waiting.figures->free;
        if (!question->cluster || question->cluster->type == CLUSTER_LOCAL)
                return;
        question->waiting.total = question->waiting.free = view->room;
        for (guint i = 0; i < queues->len; i++) {
                const Queue *queue = queues->pdata[i];
                const QueueFigures *figures = figures_for(question, queue->object.name);

                if (!queue->parent && figures &&
                    g_strcmp0(queue->cluster, question->cluster->object.name) == 0)
                        resources_subtract(&question->waiting.free, &figures->used);
        }
}

/* All of it would do, and no node has enough. */
static void ask_nodes(Question *question)
{
        g_autofree char *message = NULL;

        if (!question->cluster || question->cluster->type == CLUSTER_LOCAL || question->reasons->n > 0)
                return;
        message = g_strdup_printf("no node of cluster '%s' has enough free for it now",
                                  question->cluster->object.name);
        add_reason(question->reasons, reason_new("resources", message));
}

/* What the build waits for first: "1 core, and 0 of 2 are free"; NULL: not for resources. The caller's. */
static char *build_lack(Question *question)
{
        int kind = resources_lacking(&question->waiting.want, &question->waiting.free);
        g_autofree char *asked = NULL, *free = NULL, *total = NULL;

        if (kind < 0)
                return NULL;
        question->waiting.told |= 1u << kind;
        asked = quantity_named(kind, question->waiting.want.amount[kind]);
        free = quantity_text(kind, question->waiting.free.amount[kind]);
        total = quantity_text(kind, question->waiting.total.amount[kind]);
        return g_strdup_printf("%s, which takes %s: %s of %s %s free",
                               preparation_in(question->job, PREPARATION_WAITING)->waiting, asked, free,
                               total, reason_be(kind, question->waiting.free.amount[kind]));
}

static bool waits_to_build(Engine *engine, const Catalog *catalog, const Job *job, Resources *ret_want)
{
        const Preparation *one =
                preparations_find(job->preparations, job->n_preparations, PREPARATION_WAITING);

        return one && cluster_build_wants(engine, catalog, job, one->kind, ret_want);
}

static json_t *build_reason(const Job *job, const Resources *want, const char *lack)
{
        const PreparationInfo *info = preparation_in(job, PREPARATION_WAITING);
        g_autofree char *cpu = quantity_named(RESOURCE_CPU, want->cpu_milli);
        g_autofree char *memory = quantity_named(RESOURCE_MEMORY, want->memory);
        g_autofree char *message =
                lack ? g_strdup(lack)
                     : g_strdup_printf("%s, which takes %s and %s", info->waiting, cpu, memory);

        return reason_new(info->reason, message);
}

json_t *engine_build_reason(Engine *engine, const Job *job)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);
        Resources want;

        return waits_to_build(engine, catalog, job, &want) ? build_reason(job, &want, NULL) : NULL;
}

/* Of its build, while that is what waits. */
static bool find_want(Question *question, const ClusterView *view, const Queue *queue)
{
        const Spec *spec = question->job->spec;
        g_autofree char *lack = NULL;

        if (!waits_to_build(question->engine, question->catalog, question->job, &question->waiting.want))
                return feed_wants(spec, cluster_view_share(view, question->catalog, queue, spec), true,
                                  &question->waiting.want);
        lack = build_lack(question);
        add_reason(question->reasons, build_reason(question->job, &question->waiting.want, lack));
        return true;
}

/* Its queue and those above it; the caller's. */
static GArray *queues_above(const Question *question, const Queue *queue)
{
        GArray *ret = g_array_new(FALSE, FALSE, sizeof(WaitingQueue));

        for (; queue; queue = queue_parent(question->catalog, queue)) {
                WaitingQueue above = { ids_find(question->engine->queue_ids, queue->object.name),
                                       queue->min.amount, queue_max(question->catalog, queue) };

                g_array_append_val(ret, above);
        }
        return ret;
}

/* What the scheduler's figures say of the job, in words. */
static void ask_scheduler(Question *question, const Queue *queue)
{
        const Job *job = question->job;
        Views *views = question->engine->views;
        g_autoptr(GArray) queues = queues_above(question, queue);
        Waiting *waiting = &question->waiting;
        Reason reasons[REASONS_MAX];
        int n;

        waiting->key = job->seq;
        waiting->queues = (const WaitingQueue *)(const void *)queues->data;
        waiting->n_queues = (int)queues->len;
        waiting->array_max = job->array_max;
        waiting->array_running = job->array_max > 0 ? views_array_runs(views, job->array_seq) : 0;
        waiting->user_max = queue->max_running_per_user;
        waiting->user_running = waiting->user_max > 0 ? views_user_runs(views, job->queue, job->user) : 0;
        n = scheduler_explain_figures(waiting, reasons);
        for (int i = 0; i < n; i++)
                add(question, &reasons[i]);
        waiting->queues = NULL;
}

static void ask_figures(Engine *engine, const Job *job, gint64 now, Reasons *reasons)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);
        g_autoptr(SchedulerFigures) figures = views_figures(engine->views);
        const Queue *queue = catalog_queue(catalog, job->queue);
        Question question = { .engine = engine,
                              .job = job,
                              .catalog = catalog,
                              .now = now,
                              .waiting = { .figures = figures,
                                           .ahead = views_ahead(engine->views, job, now) },
                              .reasons = reasons };
        g_auto(ClusterView) view = { 0 };

        if (!queue || ask_cluster(&question, queue))
                return;
        question.cluster = queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL;
        cluster_view(engine, question.cluster, &view);
        question.waiting.most = view.most;
        find_capacity(&question, &view);
        if (!find_want(&question, &view, queue) || ask_unusable(&question, &view))
                return;
        ask_scheduler(&question, queue);
        ask_nodes(&question);
}

/* ---- what its members wait for ---- */

static int count_placed(const Job *job)
{
        int n = 0;

        for (int i = 0; i < job->n_members; i++)
                n += job->members[i].state != MEMBER_SURPLUS;
        return n;
}

typedef struct {
        const char *why; /* borrowed */
        int n;           /* members that wait for it */
} Wait;

static int compare_waits(const void *a, const void *b)
{
        return ((const Wait *)b)->n - ((const Wait *)a)->n;
}

/* Why members wait to be started, in the order in which they come. */
static GArray *waits_of(const Job *job)
{
        g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal); /* -> place + 1 */
        GArray *waits = g_array_new(FALSE, FALSE, sizeof(Wait));

        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                guint place;

                if (member->state != MEMBER_INTENDED || !member->error)
                        continue;
                place = GPOINTER_TO_UINT(g_hash_table_lookup(places, member->error));
                if (place) {
                        g_array_index(waits, Wait, place - 1).n++;
                        continue;
                }
                g_array_append_val(waits, ((Wait){ member->error, 1 }));
                g_hash_table_insert(places, member->error, GUINT_TO_POINTER(waits->len));
        }
        return waits;
}

/* Members that their cluster has no place for yet, or does not bring up: the most common reason first. */
static void add_members(const Job *job, Reasons *reasons)
{
        int placed = count_placed(job);
        g_autoptr(GArray) waits = waits_of(job);

        g_array_sort(waits, compare_waits); /* it is stable */
        for (guint i = 0; i < waits->len && reasons->n < REASONS_MAX; i++) {
                const Wait *wait = &g_array_index(waits, Wait, i);
                g_autofree char *message =
                        g_strdup_printf("admitted; %d of %d member%s wait%s: %s", wait->n, placed,
                                        placed == 1 ? "" : "s", wait->n == 1 ? "s" : "", wait->why);

                add_reason(reasons, reason_new("members", message));
        }
}

enum { LATE_MS = 60 * 1000 }; /* after others have ended well */

typedef struct {
        const Member *first;
        int n;
} Crowd;

static void crowd_add(Crowd *crowd, const Member *member)
{
        if (!crowd->first)
                crowd->first = member;
        crowd->n++;
}

/* "trainer-0", "trainer-0 and 2 more"; the caller's. */
static char *crowd_format(const Job *job, const Crowd *crowd)
{
        g_autofree char *name = member_name(job, crowd->first);

        return crowd->n > 1 ? g_strdup_printf("%s and %d more", name, crowd->n - 1) : g_steal_pointer(&name);
}

/* Some members have ended well a while ago, and others that have to end as well go on: they may never end. */
static void add_late(const Job *job, gint64 now, Reasons *reasons)
{
        g_autofree char *ended_text = NULL, *late_text = NULL, *first = NULL, *message = NULL;
        Crowd ended = { 0 }, late = { 0 };
        gint64 last = 0;

        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];

                if (framework_role_end(job->spec, member->role) != ENDS_WITH_ALL ||
                    member->state == MEMBER_SURPLUS)
                        continue;
                crowd_add(member->state == MEMBER_EXITED ? &ended : &late, member);
                last = member->state == MEMBER_EXITED ? MAX(last, member->finished) : last;
        }
        if (ended.n == 0 || late.n == 0 || now - last < LATE_MS)
                return;
        ended_text = crowd_format(job, &ended);
        late_text = crowd_format(job, &late);
        first = member_name(job, late.first);
        message = g_strdup_printf("%s ended more than a minute ago, %s still run%s; see `paddle logs %s "
                                  "--member %s`",
                                  ended_text, late_text, late.n == 1 ? "s" : "", job->name, first);
        add_reason(reasons, reason_new("members", message));
}

static void add_all(Engine *engine, const Job *job, Reasons *reasons)
{
        gint64 now = engine_now(engine);
        json_t *own;

        if (!life_is_at_rest(job))
                add_away(engine, job, reasons);
        if (job->state == JOB_STARTING || job->state == JOB_RUNNING)
                add_members(job, reasons);
        if (job->state == JOB_RUNNING)
                add_late(job, now, reasons);
        if (job->state != JOB_QUEUED && job->state != JOB_SUSPENDED)
                return;
        own = engine_reason(engine, job, now);
        if (own)
                add_reason(reasons, own);
        else
                ask_figures(engine, job, now, reasons);
}

char *engine_write_reasons(Engine *engine, const Job *job, JsonOut *out)
{
        Reasons reasons = { .out = out };

        json_open_member(out, "reasons", '[');
        add_all(engine, job, &reasons);
        json_close(out, ']');
        return reasons.first;
}

json_t *engine_reasons(Engine *engine, const Job *job)
{
        JsonOut out = json_out_begin(512);
        g_autofree char *text = NULL;
        g_autoptr(json_t) object = NULL;

        json_open(&out, '{');
        g_free(engine_write_reasons(engine, job, &out));
        json_close(&out, '}');
        text = json_out_end(&out);
        object = json_parse_own(text, strlen(text), NULL);
        return json_incref(json_object_get(object, "reasons"));
}

/* ---- in one sentence ---- */

/* The first member that runs and is not ready, and how many more there are. */
static char *explain_start(const Job *job)
{
        const Member *first = NULL;
        g_autofree char *name = NULL;
        int others = -1;

        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                const FrameworkRole *role =
                        framework_role(job->spec->framework, job->spec->roles[member->role].name);

                if (member->state != MEMBER_RUNNING || !role || !role->listens)
                        continue;
                others++;
                if (!first)
                        first = member;
        }
        if (!first)
                return NULL;
        name = member_name(job, first);
        if (others > 0)
                return g_strdup_printf("waits until %s and %d more %s", name, others,
                                       job->spec->ready_declared ? "have made their PADDLE_READY_FILE"
                                                                 : "listen on their ports");
        return g_strdup_printf("waits until %s %s", name,
                               job->spec->ready_declared ? "has made its PADDLE_READY_FILE"
                                                         : "listens on its port");
}

static void add_message(GString *text, const json_t *reason)
{
        g_string_append_printf(text, "%s%s", text->len ? "; " : "",
                               json_string_value(json_object_get(reason, "message")));
}

char *engine_explain(Engine *engine, const Job *job)
{
        g_autoptr(json_t) reasons = NULL;
        g_autoptr(GString) text = NULL;
        const json_t *reason;
        size_t i;

        reasons = engine_reasons(engine, job);
        if (job->state == JOB_STARTING && json_array_size(reasons) == 0)
                return explain_start(job);
        if (job->state != JOB_QUEUED && job->state != JOB_SUSPENDED && json_array_size(reasons) == 0)
                return NULL;
        text = g_string_new(NULL);
        json_array_foreach(reasons, i, reason) {
                add_message(text, reason);
        }
        return g_strdup(text->len ? text->str : "is about to start");
}
