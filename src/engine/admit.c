/* Admission: asks sched/ which of the eligible jobs start now, and gives them members, ports and devices.
 *
 * The pass looks at windows from the front and stops at the first job that does not fit. It is skipped when
 * nothing changed that could let a job start: a job that enters behind a blocked one costs nothing but its
 * place in the line. */
#include "engine/state.h"

#include "base/clock.h"
#include "model/framework.h"
#include "sched/sched.h"

enum {
        WINDOW = 64, /* jobs shown to the scheduler at once */
        PORTS_RETRY_MS =
                1000, /* others on this machine may hold the ports: nobody says when they give them back */
};

/* ---- members ---- */

static void clear_members(Job *job)
{
        for (int i = 0; i < job->n_members; i++) {
                g_free(job->members[i].gpus);
                g_free(job->members[i].error);
        }
        g_clear_pointer(&job->members, g_free);
        job->n_members = 0;
}

static bool role_has_port(const Job *job, int role)
{
        const FrameworkRole *row = framework_role(job->spec->framework, job->spec->roles[role].name);

        return row && row->has_port;
}

static void make_members(Engine *engine, Job *job, const int *ports)
{
        const Spec *spec = job->spec;
        Member *member;

        clear_members(job);
        job->n_members = spec_members(spec);
        job->members = member = g_new0(Member, job->n_members);
        for (int r = 0; r < spec->n_roles; r++) {
                for (int i = 0; i < spec->roles[r].replicas; i++, member++) {
                        member->role = (guint8)r;
                        member->index = i;
                        member->exit_code = -1;
                        member->gpus = gpus_take(engine, spec->roles[r].each.gpus);
                        member->port = role_has_port(job, r) ? (guint16)*ports++ : 0;
                }
        }
        job->extra_port = spec->framework->extra_ports ? *ports : 0;
}

static int count_ports(const Job *job)
{
        int n = job->spec->framework->extra_ports;

        for (int r = 0; r < job->spec->n_roles; r++)
                n += role_has_port(job, r) ? job->spec->roles[r].replicas : 0;
        return n;
}

/* False when the runtime has no ports left: the job waits like one that does not fit. */
static bool admit(Engine *engine, Live *live)
{
        int n = count_ports(live->job);
        g_autofree int *ports = g_new0(int, n + 1);
        Life life;

        if (n > 0 && !engine->runtime->ops->lease_ports(engine->runtime, live->job->id, n, ports, NULL))
                return false;
        live->leased = n > 0;
        life = batch_life(engine, live);
        life.job->attempt++;
        make_members(engine, life.job, ports);
        live_hold(engine, live, life.job);
        life_admitted(&life);
        batch_end_life(engine, live, &life);
        return true;
}

/* ---- the pass ---- */

static int fill_window(Engine *engine, Live *lives[WINDOW], SchedJob jobs[WINDOW])
{
        GSequenceIter *at = g_sequence_get_begin_iter(engine->eligible);
        int n = 0;

        for (; n < WINDOW && !g_sequence_iter_is_end(at); at = g_sequence_iter_next(at), n++) {
                lives[n] = g_sequence_get(at);
                jobs[n] = (SchedJob){ .seq = lives[n]->job->seq, .want = lives[n]->want, .ready = true };
        }
        return n;
}

/* True when there may be more to admit. */
static bool admit_window(Engine *engine)
{
        Live *lives[WINDOW];
        SchedJob jobs[WINDOW];
        SchedSnapshot snapshot = {
                .total = engine->total, .free = engine->total, .now = engine->batch.now, .jobs = jobs
        };
        g_autoptr(GArray) admitted = g_array_new(FALSE, FALSE, sizeof(int));
        int head = -1;

        resources_subtract(&snapshot.free, &engine->used);
        snapshot.n_jobs = fill_window(engine, lives, jobs);
        sched_pass(&snapshot, admitted, &head);
        if (head >= 0)
                engine->blocked_seq = jobs[head].seq;
        for (guint i = 0; i < admitted->len; i++) {
                Live *live = lives[g_array_index(admitted, int, i)];

                if (!admit(engine, live)) {
                        engine->blocked_seq = live->job->seq;
                        engine->ports_at = clock_monotonic_ms() + PORTS_RETRY_MS;
                        return false;
                }
        }
        return head < 0 && admitted->len > 0;
}

void admit_pass(Engine *engine)
{
        bool connected = engine->connected || engine->batch.synced;

        if (engine->ports_at && engine->ports_at <= clock_monotonic_ms())
                engine->pass_due = true;
        if (!engine->pass_due || !connected)
                return;
        engine->pass_due = false;
        engine->blocked_seq = 0;
        engine->ports_at = 0;
        while (g_sequence_get_length(engine->eligible) > 0 && admit_window(engine))
                ;
        engine->pass_due = false; /* leaving the line is no reason to look again */
}
