/* What this face calls the states of jobs, and their ids (doc/reference/paddleflow-api.md, "Ids" and "States
 * of a job").
 *
 *   queued, its environment not ready: init            stopping for a person: terminating, then terminated
 *   queued, suspended, starting:       pending         making room:           preempting, then preempted
 *   a dependency that cannot hold:     cancelled       gone by an attempt's own end: what it was before */
#include <sodium.h>
#include <string.h>

#include "api/paddleflow/internal.h"

#define BIT(state) (1u << (state))

enum { HASH_LEN = ID_LEN };

/* ---- words ---- */

/* Without a person's asking it is cancelled only when what it waits for has ended otherwise. */
static const char *of_cancelled(const Job *job)
{
        return job->after ? "cancelled" : "terminated";
}

static const char *of_stopping(const Job *job)
{
        switch (job->stop_to) {
        case JOB_CANCELLED: return job->after ? "pending" : "terminating";
        case JOB_PREEMPTED: return "preempting";
        case JOB_FAILED: return "running";
        default: return "pending"; /* back into its queue, or held */
        }
}

static const char *of_queued(const Job *job)
{
        return job_preparation_state(job) == PREPARATION_RUNNING ? "init" : "pending";
}

static const struct {
        const char *word; /* NULL: it depends */
        const char *(*of)(const Job *job);
} states[JOB_STATES] = {
        [JOB_SUBMITTED] = { "init" },
        [JOB_QUEUED] = { NULL, of_queued },
        [JOB_SUSPENDED] = { "pending" },
        [JOB_ADMITTED] = { "pending" },
        [JOB_STARTING] = { "pending" },
        [JOB_RUNNING] = { "running" },
        [JOB_PREEMPTING] = { "preempting" },
        [JOB_STOPPING] = { NULL, of_stopping },
        [JOB_SUCCEEDED] = { "succeeded" },
        [JOB_FAILED] = { "failed" },
        [JOB_CANCELLED] = { NULL, of_cancelled },
        [JOB_PREEMPTED] = { "preempted" },
};

static const struct {
        const char *word;
        guint32 states;
} words[] = {
        { "init", BIT(JOB_SUBMITTED) | BIT(JOB_QUEUED) },
        { "pending",
          BIT(JOB_QUEUED) | BIT(JOB_SUSPENDED) | BIT(JOB_ADMITTED) | BIT(JOB_STARTING) | BIT(JOB_STOPPING) },
        { "running", BIT(JOB_RUNNING) | BIT(JOB_STOPPING) },
        { "succeeded", BIT(JOB_SUCCEEDED) },
        { "failed", BIT(JOB_FAILED) },
        { "terminating", BIT(JOB_STOPPING) },
        { "terminated", BIT(JOB_CANCELLED) },
        { "cancelled", BIT(JOB_CANCELLED) },
        { "preempting", BIT(JOB_PREEMPTING) | BIT(JOB_STOPPING) },
        { "preempted", BIT(JOB_PREEMPTED) },
};

const char *job_word(const Job *job)
{
        return states[job->state].of ? states[job->state].of(job) : states[job->state].word;
}

guint32 job_word_states(const char *word)
{
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
                if (strcmp(words[i].word, word) == 0)
                        return words[i].states;
        return 0;
}

/* ---- ids ---- */

/* The engine's id in one that was made here: "job-<id>", or of a step "job-run-000001-train-12-<id>". NULL: there is none. */
static const char *find_own(const char *id)
{
        const char *last = strrchr(id, '-');

        if (g_str_has_prefix(id, "job-") && id_is_valid(id + 4))
                return id + 4;
        return g_str_has_prefix(id, "job-run-") && id_is_valid(last + 1) ? last + 1 : NULL;
}

void job_engine_id(const char *id, char ret[ID_LEN + 1])
{
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
        const char *own = find_own(id);
        guint8 hash[HASH_LEN];

        if (own) {
                g_strlcpy(ret, own, ID_LEN + 1);
                return;
        }
        crypto_generichash(hash, sizeof hash, (const guint8 *)id, strlen(id), NULL, 0);
        for (int i = 0; i < ID_LEN; i++)
                ret[i] = digits[hash[i] & 31];
        ret[ID_LEN] = '\0';
}

char *job_new_id(void)
{
        guint8 random[8];
        char hex[ID_LEN + 1];

        randombytes_buf(random, sizeof random);
        return g_strconcat("job-", sodium_bin2hex(hex, sizeof hex, random, sizeof random), NULL);
}

/* `name` is step_job_name's, which begins with the engine's id of the run. */
char *job_step_id(gint64 run, const char *name, const char *job)
{
        g_autofree char *id = numbered_id_format("run", run);

        return g_strdup_printf("job-%s-%s-%s", id, strlen(name) > ID_LEN ? name + ID_LEN + 1 : name, job);
}

char *job_flow_id(const Job *job)
{
        g_autoptr(json_t) asked = job_asked(job);
        const char *id = json_string_value(json_object_get(asked, "id"));

        return id             ? g_strdup(id)
               : job->run_seq ? job_step_id(job->run_seq, job->name, job->id)
                              : g_strconcat("job-", job->id, NULL);
}

Job *paddleflow_find_job(PaddleFlow *flow, const char *id)
{
        char engine_id[ID_LEN + 1];
        g_autoptr(Job) job = NULL;
        g_autofree char *shown = NULL;

        job_engine_id(id, engine_id);
        job = engine_job(flow->engine, engine_id);
        if (!job)
                job = store_job_by_id(flow->store, engine_id, NULL);
        shown = job ? job_flow_id(job) : NULL;
        return g_strcmp0(shown, id) == 0 ? g_steal_pointer(&job) : NULL;
}

Job *call_job(const Call *call, const char *id, Code denied, GError **error)
{
        g_autoptr(Job) job = paddleflow_find_job(call->flow, id);

        if (!job)
                paddleflow_set(error, CODE_JobNotFound, "there is no job '%.120s'", id);
        else if (!call->root && strcmp(job->user, call->user) != 0) {
                http_request_set_denied(call->request);
                paddleflow_set(error, denied, "job '%s' is not of '%s'", id, call->user);
        } else if (http_request_route(call->request)->verb == VERB_SHOW ||
                   auth_check_queue(http_request_caller(call->request), job->queue, error)) {
                http_request_set_owner(call->request, job->user);
                http_request_set_subject(call->request, job->id);
                return g_steal_pointer(&job);
        }
        return NULL;
}
