/* Changes of an open job: its queue, priority, labels and annotations. */
#include "engine/act.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"
#include "model/baseline.h"
#include "model/catalog.h"

/* It was admitted, and waits in a cluster that has an order of its own. */
static bool waits_there(Engine *engine, const Job *job)
{
        Runtime *runtime = slot_of(engine, job)->runtime;

        if (job->state != JOB_STARTING)
                return false;
        RuntimeAttempt attempt = attempt_of(engine, job);
        return runtime_takes_priority(runtime, &attempt);
}

static bool check_waiting(Engine *engine, const Job *job, Change *change)
{
        g_autofree char *words = job_words(job);

        if (job->state == JOB_QUEUED || job->state == JOB_SUSPENDED ||
            (!change->queue && waits_there(engine, job)))
                return true;
        return err_set(&change->command.error, ERR_CONFLICT,
                       "%s is %s: priority and queue change only while it waits", words,
                       job_state_name(job->state));
}

/* They were looked at for the place that the job was to have. */
static bool check_templates(const Engine *engine, const Queue *queue, const Spec *spec, bool admin,
                            GError **error)
{
        const BaselinePlace place = baseline_place(engine->batch.catalog, queue, spec->namespace);
        g_autoptr(json_t) origin =
                spec->origin ? json_parse_own(spec->origin, strlen(spec->origin), NULL) : NULL;

        return admin || baseline_check_origin(origin, &place, error);
}

static const Queue *new_queue(Engine *engine, const Job *job, Change *change)
{
        const Queue *queue =
                submit_queue(engine, change->queue, job->user, change->admin, &change->command.error);

        if (!queue || !check_fit(engine, engine->batch.catalog, queue, job->spec, &change->command.error) ||
            !check_namespace(engine, queue, job->spec, change->admin, &change->command.error) ||
            !check_words(engine, queue, job_labels(job), job_annotations(job), change->admin,
                         &change->command.error) ||
            !check_templates(engine, queue, job->spec, change->admin, &change->command.error))
                return NULL;
        if (strcmp(job->queue, queue->object.name) != 0 &&
            !check_queue_count(engine, queue, job->user, 1, &change->command.error))
                return NULL;
        return queue;
}

/* A job keeps the priority that it has in its queue: an administrator may have set it. */
static bool check_new_priority(Engine *engine, const Job *job, const Queue *queue, Change *change)
{
        const Queue *at = queue ? queue : catalog_queue(engine->batch.catalog, job->queue);
        int priority = change->sets_priority ? change->priority : job->priority;
        bool has = strcmp(at ? at->object.name : "", job->queue) == 0 && priority <= job->priority;

        return has || !at ||
               check_priority(engine, at, job->user, change->admin, priority, &change->command.error);
}

static void take_list(char ***at, char ***list)
{
        if (!*list)
                return;
        g_strfreev(*at);
        *at = g_strdupv(*list);
}

/* Moves the job. An environment that the runtime of another cluster has built cannot be used. */
static void move(Engine *engine, Job *job, const Queue *queue)
{
        const RuntimeSlot *was = slot_of(engine, job), *slot;

        job->queue = g_intern_string(queue->object.name);
        slot = slot_of(engine, job);
        if (slot != was)
                preparing_move(engine, job);
}

void change_live(Engine *engine, Live *live, const Queue *queue, Change *change)
{
        Life life = batch_life(engine, live);
        Job *job = live->job;

        if (queue)
                move(engine, job, queue);
        if (change->sets_priority)
                job->priority = change->priority;
        take_list(&job->labels, &change->labels);
        take_list(&job->annotations, &change->annotations);
        life_changed(&life, change->by);
        batch_end_life(engine, live, &life);
}

bool change_check(Engine *engine, const Job *job, Change *change, const Queue **ret_queue)
{
        bool moves = change->queue || change->sets_priority;
        const Queue *queue = NULL;

        if (moves && !check_waiting(engine, job, change))
                return false;
        if (change->queue && !(queue = new_queue(engine, job, change)))
                return false;
        if (!check_words(engine, queue ? queue : catalog_queue(engine->batch.catalog, job->queue),
                         change->labels, change->annotations, change->admin, &change->command.error) ||
            (moves && !check_new_priority(engine, job, queue, change)))
                return false;
        *ret_queue = queue;
        return true;
}

static bool change_job(Engine *engine, Command *command)
{
        Change *change = (Change *)command;
        Live *live = live_find(engine, change->id);
        const Queue *queue;

        if (live && job_state_is_final(live->job->state))
                return false;
        if (!live) {
                refuse_ended_job(&change->read, change->id, &command->error);
        } else if (change_check(engine, live->job, change, &queue)) {
                change_live(engine, live, queue, change);
                command->live = live;
        }
        return true;
}

/* ---- the command ---- */

void change_free(Command *command)
{
        Change *change = (Change *)command;

        job_read_clear(&change->read);
        g_free(change->by);
        g_free(change->id);
        g_free(change->queue);
        g_strfreev(change->labels);
        g_strfreev(change->annotations);
}

static const CommandOps change_ops = {
        .name = "change", .size = sizeof(Change), .apply = change_job, .free = change_free
};
static const CommandOps change_array_ops = {
        .name = "change array", .size = sizeof(Change), .apply = change_array, .free = change_free
};

void engine_change_array(Engine *engine, gint64 array_seq, const char *id, const JobChange *wanted,
                         EngineDone done, void *arg)
{
        Change *change = command_new(array_seq ? &change_array_ops : &change_ops, done, arg);

        change->by = g_strdup(wanted->by);
        change->admin = wanted->admin;
        change->id = g_strdup(id);
        change->array = array_seq;
        change->queue = g_strdup(wanted->queue);
        change->sets_priority = wanted->priority != NULL;
        change->priority = wanted->priority ? *wanted->priority : 0;
        change->labels = g_strdupv((char **)wanted->labels);
        change->annotations = g_strdupv((char **)wanted->annotations);
        job_read_begin(engine, &change->read, id, array_seq);
        inbox_put(&engine->inbox, &change->command);
}

void engine_change_job(Engine *engine, const char *job_id, const JobChange *change, EngineDone done,
                       void *arg)
{
        engine_change_array(engine, 0, job_id, change, done, arg);
}
