/* Jobs (see job.h): the table of states, and the one function that moves a job through it.
 *
 *  submitted ─▶ queued ─▶ admitted ─▶ starting ─▶ running ─▶ succeeded | failed
 *                 ▲ │                     │           │
 *     suspended ◀─┘ │     ◀── retry ──────┼───────────┤
 *         └─────────┘     queued | preempted ◀─ preempting
 *  every open state ─▶ stopping ─▶ cancelled | failed | queued | suspended | preempted
 *
 * What always holds: `finished` is set exactly in the final states. */
#include "model/job.h"

#include <string.h>

#include "base/err.h"
#include "model/queue.h"

#define BIT(state) (1u << (state))

enum { OPEN = BIT(JOB_STOPPING) }; /* permitted in every open state */

static const struct {
        const char *name;
        unsigned next;
} states[JOB_STATES] = {
        [JOB_SUBMITTED] = { "submitted", OPEN | BIT(JOB_QUEUED) },
        [JOB_QUEUED] = { "queued", OPEN | BIT(JOB_ADMITTED) | BIT(JOB_SUSPENDED) },
        [JOB_SUSPENDED] = { "suspended", OPEN | BIT(JOB_QUEUED) },
        [JOB_ADMITTED] = { "admitted", OPEN | BIT(JOB_STARTING) },
        [JOB_STARTING] = { "starting", OPEN | BIT(JOB_RUNNING) | BIT(JOB_QUEUED) | BIT(JOB_PREEMPTING) },
        [JOB_RUNNING] = { "running", OPEN | BIT(JOB_SUCCEEDED) | BIT(JOB_FAILED) | BIT(JOB_PREEMPTING) |
                                             BIT(JOB_QUEUED) },
        [JOB_PREEMPTING] = { "preempting", OPEN | BIT(JOB_QUEUED) | BIT(JOB_PREEMPTED) },
        [JOB_STOPPING] = { "stopping", BIT(JOB_CANCELLED) | BIT(JOB_FAILED) | BIT(JOB_QUEUED) |
                                               BIT(JOB_SUSPENDED) | BIT(JOB_PREEMPTED) },
        [JOB_SUCCEEDED] = { "succeeded", 0 },
        [JOB_FAILED] = { "failed", 0 },
        [JOB_CANCELLED] = { "cancelled", 0 },
        [JOB_PREEMPTED] = { "preempted", 0 },
};

static const char *const member_states[MEMBER_STATES] = {
        [MEMBER_WAITING] = "waiting", [MEMBER_INTENDED] = "intended", [MEMBER_RUNNING] = "running",
        [MEMBER_READY] = "ready",     [MEMBER_STOPPING] = "stopping", [MEMBER_EXITED] = "exited",
        [MEMBER_LOST] = "lost",       [MEMBER_SURPLUS] = "surplus",
};

const char *job_state_name(JobState state)
{
        return states[state].name;
}

bool job_state_parse(const char *name, JobState *ret)
{
        for (int state = 0; state < JOB_STATES; state++) {
                if (strcmp(states[state].name, name) != 0)
                        continue;
                *ret = state;
                return true;
        }
        return false;
}

bool job_state_is_final(JobState state)
{
        return states[state].next == 0;
}

bool job_state_can(JobState from, JobState to)
{
        return (states[from].next & BIT(to)) != 0;
}

const char *member_state_name(MemberState state)
{
        return member_states[state];
}

bool member_state_parse(const char *name, MemberState *ret)
{
        for (int state = 0; state < MEMBER_STATES; state++) {
                if (strcmp(member_states[state], name) != 0)
                        continue;
                *ret = state;
                return true;
        }
        return false;
}

bool job_move(Job *draft, JobState to, gint64 now, GError **error)
{
        if (!job_state_can(draft->state, to))
                return err_set(error, ERR_CONFLICT, "job '%s' (%s): no way from %s to %s", draft->name,
                               draft->id, states[draft->state].name, states[to].name);
        draft->state = (guint8)to;
        if (to == JOB_ADMITTED)
                draft->admitted = now;
        else if (to == JOB_RUNNING)
                draft->running = now;
        else if (job_state_is_final(to))
                draft->finished = now;
        return true;
}

/* ---- memory ---- */

/* The count is before the job, not in it: readers of the view change it while the job is copied. */
typedef struct {
        gatomicrefcount refs;
        Job job;
} Counted;

static Job *allocate(const Job *from)
{
        Counted *counted = g_new(Counted, 1);

        g_atomic_ref_count_init(&counted->refs);
        counted->job = *from;
        return &counted->job;
}

static Counted *counted_of(Job *job)
{
        return (Counted *)((char *)job - offsetof(Counted, job));
}

Job *job_new(const char *user, const char *name, Spec *spec, gint64 now)
{
        char id[ID_LEN + 1];

        id_new(id);
        return job_new_as(id, user, name, spec, now);
}

Job *job_new_as(const char *id, const char *user, const char *name, Spec *spec, gint64 now)
{
        static const Job none;
        Job *job = allocate(&none);

        g_strlcpy(job->id, id, sizeof job->id);
        job->state = JOB_SUBMITTED;
        job->name = g_strdup(name);
        job->user = g_strdup(user);
        job->spec = spec_ref(spec);
        job->queue = g_intern_string(spec->queue ? spec->queue : QUEUE_DEFAULT);
        job->priority = spec->priority;
        job->array_index = job->cpu_share = -1;
        job->memory_share = -1;
        job->submitted = now;
        return job;
}

Job *job_ref(Job *job)
{
        g_atomic_ref_count_inc(&counted_of(job)->refs);
        return job;
}

void job_drop_members(Job *draft)
{
        for (int i = 0; i < draft->n_members; i++) {
                g_free(draft->members[i].gpus);
                g_free(draft->members[i].node);
                g_free(draft->members[i].reported_node);
                g_free(draft->members[i].error);
        }
        g_clear_pointer(&draft->members, g_free);
        draft->n_members = 0;
}

void job_unref(Job *job)
{
        if (!job || !g_atomic_ref_count_dec(&counted_of(job)->refs))
                return;
        job_drop_members(job);
        job_drop_preparations(job);
        g_free(job->name);
        g_free(job->user);
        g_free(job->idempotency_key);
        g_free(job->reason);
        g_strfreev(job->labels);
        g_strfreev(job->results);
        g_strfreev(job->annotations);
        g_strfreev(job->after);
        g_free(job->evicted_for);
        spec_unref(job->spec);
        g_free(counted_of(job));
}

static Member *copy_members(const Member *members, int n)
{
        Member *copy = g_memdup2(members, (gsize)n * sizeof *members);

        for (int i = 0; i < n; i++) {
                copy[i].gpus = g_strdup(members[i].gpus);
                copy[i].node = g_strdup(members[i].node);
                copy[i].reported_node = g_strdup(members[i].reported_node);
                copy[i].error = g_strdup(members[i].error);
        }
        return copy;
}

static Preparation *copy_preparations(const Job *job)
{
        return g_memdup2(job->preparations, job->n_preparations * sizeof *job->preparations);
}

Job *job_draft(const Job *job)
{
        Job *draft = allocate(job);

        draft->name = g_strdup(job->name);
        draft->user = g_strdup(job->user);
        draft->idempotency_key = g_strdup(job->idempotency_key);
        draft->reason = g_strdup(job->reason);
        draft->labels = g_strdupv(job->labels);
        draft->results = g_strdupv(job->results);
        draft->annotations = g_strdupv(job->annotations);
        draft->after = g_strdupv(job->after);
        draft->evicted_for = g_strdup(job->evicted_for);
        draft->spec = spec_ref(job->spec);
        draft->members = copy_members(job->members, job->n_members);
        draft->preparations = copy_preparations(job);
        return draft;
}

/* ---- preparations ---- */

Preparation *job_preparation(const Job *job, PreparationKind kind)
{
        for (int i = 0; i < job->n_preparations; i++)
                if (job->preparations[i].kind == kind)
                        return &job->preparations[i];
        return NULL;
}

Preparation *job_add_preparation(Job *draft, PreparationKind kind, PreparationState state)
{
        int n = draft->n_preparations++;

        draft->preparations = g_renew(Preparation, draft->preparations, draft->n_preparations);
        draft->preparations[n] = (Preparation){ .kind = (guint8)kind, .state = (guint8)state };
        return &draft->preparations[n];
}

void job_drop_preparations(Job *draft)
{
        g_clear_pointer(&draft->preparations, g_free);
        draft->n_preparations = 0;
}

void job_copy_preparations(Job *draft, const Job *from)
{
        g_free(draft->preparations);
        draft->preparations = copy_preparations(from);
        draft->n_preparations = from->n_preparations;
}

PreparationState job_preparation_state(const Job *job)
{
        return preparations_state(job->preparations, job->n_preparations);
}

bool job_is_prepared(const Job *job)
{
        return preparations_are_ready(job->preparations, job->n_preparations);
}

PreparationState job_environment(const Job *job)
{
        Preparation shown[PREPARE_KINDS];
        int n = 0;

        for (int i = 0; i < job->n_preparations; i++)
                if (preparation_info(job->preparations[i].kind)->is_environment)
                        shown[n++] = job->preparations[i];
        return preparations_state(shown, n);
}

/* ---- members ---- */

int job_count_present(const Job *job, int role)
{
        int n = 0;

        for (int i = 0; i < job->n_members; i++)
                n += (role < 0 || job->members[i].role == role) && job->members[i].state != MEMBER_SURPLUS;
        return n;
}

SpecShare job_share(const Job *job)
{
        return (SpecShare){ .cpu_milli = job->cpu_share, .memory = MAX(job->memory_share, 0) };
}

/* ---- labels ---- */

char *const *job_labels(const Job *job)
{
        return job->labels ? job->labels : job->spec->labels;
}

char *const *job_annotations(const Job *job)
{
        return job->annotations ? job->annotations : job->spec->annotations;
}
