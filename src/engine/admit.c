/* Admission: asks the scheduler what follows, and carries out on drafts what it decided: jobs that start get
 * their members, ports and devices, elastic ones grow or shrink, victims are told to go.
 *
 * The pass runs when the scheduler was told something, or the time has come that it named. What it decided it
 * has applied to itself; a batch that fails puts the jobs back (batch.c). */
#include "engine/state.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/array.h"
#include "model/framework.h"

enum {
        PORTS_RETRY_MS =
                1000, /* others on this machine may hold the ports: nobody says when they give them back */
};

/* ---- members ---- */

static bool role_has_port(const Job *job, int role)
{
        const FrameworkRole *row = framework_role(job->spec->framework, job->spec->roles[role].name);

        return row && row->has_port;
}

/* "0,3"; NULL for none. */
static char *devices_format(guint64 devices)
{
        g_autoptr(GString) list = NULL;

        if (!devices)
                return NULL;
        list = g_string_new(NULL);
        for (guint i = 0; i < SCHED_DEVICES_MAX; i++)
                if (devices >> i & 1)
                        g_string_append_printf(list, "%s%u", list->len ? "," : "", i);
        return g_strdup(list->str);
}

static void place(const Engine *engine, Member *member, const SchedTask *task)
{
        g_free(member->node);
        member->node = task->node < 0 ? NULL : g_strdup(slot_node_name(engine, task->node));
        g_free(member->gpus);
        member->gpus = devices_format(task->devices);
}

/* One for each replica, in the order of `tasks`; those without a place are surplus. */
static void make_members(const Engine *engine, Job *job, const SchedTask *tasks, const int *ports)
{
        const Spec *spec = job->spec;
        Member *member;

        job_drop_members(job);
        job->n_members = spec_members(spec);
        job->members = member = g_new0(Member, job->n_members);
        for (int r = 0; r < spec->n_roles; r++) {
                for (int i = 0; i < spec->roles[r].replicas; i++, member++, tasks++) {
                        member->role = (guint8)r;
                        member->index = i;
                        member->exit_code = -1;
                        member->state = tasks->node < 0 ? MEMBER_SURPLUS : MEMBER_WAITING;
                        member->port = role_has_port(job, r) ? (guint16)*ports++ : 0;
                        place(engine, member, tasks);
                }
        }
        job->extra_port = spec->framework->extra_ports ? *ports : 0;
}

static int count_ports(const Job *job)
{
        int n = 0;

        for (int r = 0; r < job->spec->n_roles; r++)
                n += role_has_port(job, r) ? job->spec->roles[r].replicas : 0;
        return n;
}

/* ---- decisions ---- */

/* The scheduler has it running: it goes back to those that wait, and is held until there may be ports. */
static void lacks_ports(Engine *engine, Live *live)
{
        live->portless = true;
        g_array_append_val(engine->portless, live->job->seq);
        engine->ports_at = clock_monotonic_ms() + PORTS_RETRY_MS;
        feed_again(engine, live);
}

/* The scheduler's copy of the job (feed.c). */
static void give_shares(Engine *engine, Job *job)
{
        const Catalog *catalog = engine_catalog_now(engine);
        SpecShare share =
                slot_share(slot_of(engine, job), catalog, catalog_queue(catalog, job->queue), job->spec);

        job->cpu_share = (int)MIN(share.cpu_milli, G_MAXINT32);
        job->memory_share = share.memory;
}

static void start(Engine *engine, Live *live, const Decision *decision, const SchedTask *tasks)
{
        int n = count_ports(live->job), extra = live->job->spec->framework->extra_ports;
        g_autofree int *ports = g_new0(int, n + extra + 1);
        Runtime *runtime = slot_of(engine, live->job)->runtime;
        Life life;

        if (building_leads(live)) {
                building_begin(engine, live, tasks[0].node);
                return;
        }
        if (n + extra > 0 &&
            !(runtime && runtime->ops->lease_ports(runtime, live->job->id, n, extra, ports, NULL))) {
                lacks_ports(engine, live);
                return;
        }
        live->leased = n + extra > 0;
        life = batch_life(engine, live);
        life.job->attempt++;
        give_shares(engine, life.job);
        make_members(engine, life.job, tasks, ports);
        life_admitted(&life);
        if (!life.job->settled) /* else the scheduler does not know yet that its size is fixed */
                feed_known(engine, live);
        batch_end_life(engine, live, &life);
}

static void grow(Engine *engine, Live *live, const Decision *decision, const SchedTask *tasks)
{
        g_autofree bool *comes = g_new0(bool, live->job->n_members + 1);
        Life life = batch_life(engine, live);

        for (int i = 0; i < life.job->n_members && i < decision->n_tasks; i++) {
                comes[i] = tasks[i].node >= 0 && life.job->members[i].state == MEMBER_SURPLUS;
                if (comes[i])
                        place(engine, &life.job->members[i], &tasks[i]);
        }
        life_grown(&life, comes);
        feed_known(engine, live);
        batch_end_life(engine, live, &life);
}

/* For whom `victim` goes; the caller's. Its owner is not told which jobs others have: an administrator finds
 * them in the scheduler's decisions. */
static char *describe(Engine *engine, const Live *victim, gint64 key, const char **ret_id)
{
        const Live *live = key ? live_by_seq(engine, key) : NULL;
        bool told = live && strcmp(live->job->user, victim->job->user) == 0;

        *ret_id = told ? live->job->id : NULL;
        return told ? job_words(live->job) : g_strdup("another job");
}

static void shrink(Engine *engine, Live *live, const Decision *decision, const SchedTask *tasks)
{
        g_autofree bool *stays = g_new0(bool, live->job->n_members + 1);
        const char *for_id;
        g_autofree char *for_text = describe(engine, live, decision->for_key, &for_id);
        Life life = batch_life(engine, live);

        for (int i = 0; i < life.job->n_members; i++)
                stays[i] = i < decision->n_tasks && tasks[i].node >= 0;
        life_shrunk(&life, stays, for_text, for_id);
        engine->metrics.shrinks++;
        batch_end_life(engine, live, &life);
}

static void evict(Engine *engine, Live *live, const Decision *decision, const SchedTask *tasks)
{
        const char *for_id;
        g_autofree char *for_text = describe(engine, live, decision->for_key, &for_id);
        Life life = batch_life(engine, live);

        life_evicted(&life, for_text, for_id);
        if (!life_is_at_rest(life.job))
                feed_known(engine, live);
        batch_end_life(engine, live, &life);
}

static void (*const carry_out[DECIDE_KINDS])(Engine *, Live *, const Decision *, const SchedTask *) = {
        [DECIDE_START] = start,
        [DECIDE_GROW] = grow,
        [DECIDE_SHRINK] = shrink,
        [DECIDE_EVICT] = evict,
};

static void decide(Engine *engine)
{
        const Decisions *decisions = &engine->decisions;

        for (guint i = 0; i < decisions->decisions->len; i++) {
                const Decision *decision = &g_array_index(decisions->decisions, Decision, i);
                Live *live = live_by_seq(engine, decision->key);

                if (!live)
                        log_error("the scheduler decided about a job that is not there", NULL);
                else if (decision->kind != DECIDE_START && life_is_at_rest(live->job))
                        feed_again(engine, live); /* it was to start in this pass, and could not */
                else
                        carry_out[decision->kind](engine, live, decision,
                                                  &g_array_index(decisions->tasks, SchedTask,
                                                                 decision->first_task));
        }
}

/* ---- the pass ---- */

static void retry_ports(Engine *engine)
{
        if (!engine->ports_at || engine->ports_at > clock_monotonic_ms())
                return;
        engine->ports_at = 0;
        for (guint i = 0; i < engine->portless->len; i++) {
                Live *live = live_by_seq(engine, g_array_index(engine->portless, gint64, i));

                if (!live)
                        continue;
                live->portless = false;
                live_settle(engine, live);
        }
        g_array_set_size(engine->portless, 0);
}

static void count_pass(Engine *engine, gint64 started_us)
{
        EngineMetrics *metrics = &engine->metrics;

        metrics->passes++;
        metrics->pass_us_last = g_get_monotonic_time() - started_us;
        metrics->pass_us_max = MAX(metrics->pass_us_max, metrics->pass_us_last);
}

void admit_pass(Engine *engine)
{
        gint64 due, started;

        retry_ports(engine);
        feed_jobs(engine);
        due = scheduler_due(engine->scheduler);
        if (!slots_any_connected(engine) || !(engine->pass_due || (due && due <= engine->pass_time)))
                return;
        engine->pass_due = false;
        started = g_get_monotonic_time();
        journal_pass(engine->journal, engine->pass_time, &engine->decisions);
        count_pass(engine, started);
        engine->figures_due = true;
        decide(engine);
        depend_run(engine);
        feed_jobs(engine); /* of jobs that ended at once, and of what the decisions changed besides */
}

gint64 admit_due(const Engine *engine)
{
        gint64 now = engine_now(engine), monotonic = clock_monotonic_ms(),
               due = scheduler_due(engine->scheduler), until = -1;

        if (!slots_any_connected(engine))
                return -1;
        if (engine->pass_due || engine->unfed->len > 0)
                return 0;
        if (engine->ports_at)
                until = engine->ports_at;
        if (due) {
                gint64 at = monotonic + MAX(due - now, 0);

                until = until < 0 ? at : MIN(until, at);
        }
        return until;
}
