/* What people do to jobs that are there: cancel, hold, release, requeue, change, delete. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"
#include "model/baseline.h"
#include "model/catalog.h"

/* ---- jobs that are not live ---- */

/* It has ended, or never was. */
static void refuse_stored(Engine *engine, Input *input)
{
        g_autoptr(Job) job = store_job_by_id(engine->store, input->text, &input->error);

        g_autofree char *words = job ? job_words(job) : NULL;

        if (job)
                err_set(&input->error, ERR_CONFLICT, "%s has already ended: %s", words,
                        job_state_name(job->state));
}

static void delete_stored(Engine *engine, Input *input)
{
        g_autoptr(Job) job = store_job_by_id(engine->store, input->text, &input->error);
        g_autofree char *array = job && job->array_seq ? array_name(job) : NULL;

        if (array) /* without its failed jobs an array would have succeeded */
                err_set(&input->error, ERR_CONFLICT,
                        "job '%s[%d]' is one of array '%s', which is only deleted as a whole\n`paddle delete "
                        "%s` "
                        "does that.",
                        array, job->array_index, array, array);
        else if (job)
                g_ptr_array_add(engine->batch.dropped_jobs, g_memdup2(&job->seq, sizeof job->seq));
}

static bool refuse_open(Live *live, Input *input)
{
        g_autofree char *words = job_words(live->job);

        return err_set(&input->error, ERR_CONFLICT,
                       "%s is %s: only a job that has ended can be deleted\n"
                       "Cancel it first: `paddle cancel %s`.",
                       words, job_state_name(live->job->state), live->job->id);
}

/* ---- acts ---- */

static bool cancel(Life *life, const char *by, GError **error)
{
        return life_cancel(life, false, by, error);
}

static bool kill_job(Life *life, const char *by, GError **error)
{
        return life_cancel(life, true, by, error);
}

static bool release(Life *life, const char *by, GError **error)
{
        return life_release(life, error);
}

static bool saved(Life *life, const char *by, GError **error)
{
        return life_saved(life, error);
}

static bool (*const acts[ACTIONS])(Life *life, const char *by, GError **error) = {
        [ACT_CANCEL] = cancel,   [ACT_KILL] = kill_job,        [ACT_HOLD] = life_hold,
        [ACT_RELEASE] = release, [ACT_REQUEUE] = life_requeue, [ACT_SAVED] = saved,
};

/* Who sends a job back into its queue asks for its priority anew: a right may have been taken back since. */
static void limit_priority(Engine *engine, Life *life, const char *by)
{
        const Catalog *catalog = engine->batch.catalog;
        const Queue *queue = catalog_queue(catalog, life->job->queue);
        int most = queue ? catalog_max_priority(catalog, queue, catalog_user(catalog, by)) : 0;

        if (life->job->priority <= most)
                return;
        life->job->priority = most;
        life_changed(life, by);
}

/* Nothing was built for it while it was held; another job's build may have made it ready. */
static void ask_for_environment(Engine *engine, Life *life)
{
        EnvState env;

        if (life->job->env_state != ENV_WAITING && life->job->env_state != ENV_BUILDING)
                return;
        env = submit_environment(engine, life->job);
        if (env == ENV_READY)
                life_environment(life, env, NULL);
        else if (env == ENV_BUILDING)
                life_building(life);
        else
                life->job->env_state = (guint8)env;
}

/* A user over the disk limit may not release jobs; an administrator may release them. */
static bool may_release(const Engine *engine, const Job *job, Input *input)
{
        const EngineConfig *config = &engine->config;

        return input->action != ACT_RELEASE || input->admin || !config->may_write ||
               config->may_write(job->user, config->may_write_arg, &input->error);
}

bool act_on_live(Engine *engine, Live *live, Input *input)
{
        bool held = live->job->state == JOB_SUSPENDED, ok;
        Life life;

        if (!may_release(engine, live->job, input))
                return false;
        life = batch_life(engine, live);
        ok = acts[input->action](&life, input->user, &input->error);
        if (ok && !input->admin && (input->action == ACT_REQUEUE || input->action == ACT_RELEASE))
                limit_priority(engine, &life, input->user);
        if (held && live->job->state == JOB_QUEUED)
                ask_for_environment(engine, &life);
        batch_end_life(engine, live, &life);
        return ok;
}

bool apply_act(Engine *engine, Input *input)
{
        Live *live;

        if (input->array)
                return apply_act_array(engine, input);
        live = live_find(engine, input->text);
        if (input->action == ACT_DELETE && live && job_state_is_final(live->job->state))
                return false; /* its end is part of this batch */
        if (input->action == ACT_DELETE) {
                if (live)
                        (void)refuse_open(live, input);
                else
                        delete_stored(engine, input);
        } else if (!live) {
                refuse_stored(engine, input);
        } else if (act_on_live(engine, live, input)) {
                input->live = live;
        }
        return true;
}

/* ---- changes ---- */

/* It was admitted, and waits in a cluster that has an order of its own. */
static bool waits_there(Engine *engine, const Job *job)
{
        Runtime *runtime = slot_of(engine, job)->runtime;

        if (job->state != JOB_STARTING)
                return false;
        RuntimeAttempt attempt = attempt_of(engine, job);
        return runtime_takes_priority(runtime, &attempt);
}

static bool check_waiting(Engine *engine, const Job *job, Input *input)
{
        g_autofree char *words = job_words(job);

        if (job->state == JOB_QUEUED || job->state == JOB_SUSPENDED ||
            (!input->queue && waits_there(engine, job)))
                return true;
        return err_set(&input->error, ERR_CONFLICT, "%s is %s: priority and queue change only while it waits",
                       words, job_state_name(job->state));
}

/* They were looked at for the place that the job was to have. */
static bool check_templates(const Engine *engine, const Queue *queue, const Spec *spec, bool admin,
                            GError **error)
{
        const BaselinePlace place = baseline_place(engine->batch.catalog, queue, spec->namespace);
        g_autoptr(json_t) origin = spec->origin ? json_parse(spec->origin, strlen(spec->origin), NULL) : NULL;

        return admin || baseline_check_origin(origin, &place, error);
}

static const Queue *new_queue(Engine *engine, const Job *job, Input *input)
{
        const Queue *queue = submit_queue(engine, input->queue, job->user, input->admin, &input->error);

        if (!queue || !check_fit(engine, engine->batch.catalog, queue, job->spec, &input->error) ||
            !check_namespace(engine, queue, job->spec, input->admin, &input->error) ||
            !check_words(engine, queue, job_labels(job), job_annotations(job), input->admin, &input->error) ||
            !check_templates(engine, queue, job->spec, input->admin, &input->error))
                return NULL;
        if (strcmp(job->queue, queue->object.name) != 0 &&
            !check_queue_count(engine, queue, job->user, 1, &input->error))
                return NULL;
        return queue;
}

/* What a job has already it may keep in its queue: an administrator may have given it. */
static bool check_new_priority(Engine *engine, const Job *job, const Queue *queue, Input *input)
{
        const Queue *at = queue ? queue : catalog_queue(engine->batch.catalog, job->queue);
        int priority = input->sets_priority ? input->priority : job->priority;
        bool has = strcmp(at ? at->object.name : "", job->queue) == 0 && priority <= job->priority;

        return has || !at || check_priority(engine, at, job->user, input->admin, priority, &input->error);
}

static void take_list(char ***at, char ***list)
{
        if (!*list)
                return;
        g_strfreev(*at);
        *at = g_strdupv(*list);
}

/* What another cluster's runtime has prepared is of no use. */
static void move(Engine *engine, Job *job, const Queue *queue)
{
        const RuntimeSlot *was = slot_of(engine, job), *slot;

        job->queue = g_intern_string(queue->object.name);
        slot = slot_of(engine, job);
        if (slot == was)
                return;
        job->env_state = submit_environment(engine, job);
        if (job->state == JOB_SUSPENDED && job->env_state == ENV_BUILDING)
                job->env_state = ENV_WAITING; /* nothing is built for a held job */
}

void change_live(Engine *engine, Live *live, const Queue *queue, Input *input)
{
        Life life = batch_life(engine, live);
        Job *job = live->job;

        if (queue)
                move(engine, job, queue);
        if (input->sets_priority)
                job->priority = input->priority;
        take_list(&job->labels, &input->labels);
        take_list(&job->annotations, &input->annotations);
        life_changed(&life, input->user);
        batch_end_life(engine, live, &life);
}

bool check_change(Engine *engine, const Job *job, Input *input, const Queue **ret_queue)
{
        bool moves = input->queue || input->sets_priority;
        const Queue *queue = NULL;

        if (moves && !check_waiting(engine, job, input))
                return false;
        if (input->queue && !(queue = new_queue(engine, job, input)))
                return false;
        if (!check_words(engine, queue ? queue : catalog_queue(engine->batch.catalog, job->queue),
                         input->labels, input->annotations, input->admin, &input->error) ||
            (moves && !check_new_priority(engine, job, queue, input)))
                return false;
        *ret_queue = queue;
        return true;
}

bool apply_change(Engine *engine, Input *input)
{
        const Queue *queue;
        Live *live;

        if (input->array)
                return apply_change_array(engine, input);
        live = live_find(engine, input->text);
        if (live && job_state_is_final(live->job->state))
                return false;
        if (!live) {
                refuse_stored(engine, input);
        } else if (check_change(engine, live->job, input, &queue)) {
                change_live(engine, live, queue, input);
                input->live = live;
        }
        return true;
}
