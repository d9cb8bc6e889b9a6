/* Actions on a job: cancel, hold, release, requeue, delete. */
#include "engine/act.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"
#include "model/catalog.h"

/* ---- jobs that are not live ---- */

static Job *read_element(Engine *engine, gint64 array, const char *id, GError **error)
{
        const JobQuery query = { .array_seq = array, .limit = 1 };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(engine->store, &query, &next, error);

        if (jobs && jobs->len > 0)
                return job_ref(jobs->pdata[0]);
        if (jobs)
                err_set(error, ERR_NOT_FOUND, "there is no array '%s'", id);
        return NULL;
}

void job_read_begin(Engine *engine, JobRead *read, const char *id, gint64 array)
{
        read_begin(engine, &read->read);
        read->job = array ? views_job_by_seq(engine->views, array) : views_job(engine->views, id);
        if (!read->job && array)
                read->job = read_element(engine, array, id, &read->error);
        else if (!read->job)
                read->job = store_job_by_id(engine->store, id, &read->error);
}

void job_read_clear(JobRead *read)
{
        read_end(&read->read);
        g_clear_pointer(&read->job, job_unref);
        g_clear_error(&read->error);
}

const Job *job_read_get(const JobRead *read, const char *id, GError **error)
{
        const Job *job = read_update(&read->read, read->job);

        if (!job)
                job = read_ended(&read->read, id);
        if (!job && read->error)
                g_propagate_error(error, g_error_copy(read->error));
        else if (!job)
                err_set(error, ERR_NOT_FOUND, "there is no job '%s'", id);
        return job;
}

void refuse_ended_job(const JobRead *read, const char *id, GError **error)
{
        const Job *job = job_read_get(read, id, error);
        g_autofree char *words = job ? job_words(job) : NULL;

        if (job)
                err_set(error, ERR_CONFLICT, "%s has already ended: %s", words, job_state_name(job->state));
}

static void delete_ended(Engine *engine, Act *act)
{
        const Job *job = job_read_get(&act->read, act->id, &act->command.error);
        g_autofree char *array = job && job->array_seq ? array_name(job) : NULL;

        if (array) /* without its failed jobs an array would have succeeded */
                err_set(&act->command.error, ERR_CONFLICT,
                        "job '%s[%d]' is one of array '%s', which is only deleted as a whole\n`paddle delete "
                        "%s` "
                        "does that.",
                        array, job->array_index, array, array);
        else if (job && job->run_seq)
                err_set(&act->command.error, ERR_CONFLICT,
                        "job '%s' is a step of a run, and is deleted with the run\n`paddle run delete` does that.",
                        job->name);
        else if (job)
                g_ptr_array_add(engine->batch.dropped_jobs, g_memdup2(&job->seq, sizeof job->seq));
}

static bool refuse_open(const Live *live, GError **error)
{
        g_autofree char *words = job_words(live->job);

        return err_set(error, ERR_CONFLICT,
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

/* A requeue checks the job's priority again: the user's right to it may have been revoked since the
 * submission. */
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

/* A user over the disk limit may not release jobs; an administrator may release them. */
static bool may_release(const Engine *engine, const Job *job, Act *act)
{
        return act->action != ACT_RELEASE || act->admin ||
               engine_may_write(engine, job->user, &act->command.error);
}

bool act_on_live(Engine *engine, Live *live, Act *act)
{
        bool held = live->job->state == JOB_SUSPENDED, ok;
        Life life;

        if (!may_release(engine, live->job, act))
                return false;
        life = batch_life(engine, live);
        ok = acts[act->action](&life, act->by, &act->command.error);
        if (ok && !act->admin && (act->action == ACT_REQUEUE || act->action == ACT_RELEASE))
                limit_priority(engine, &life, act->by);
        if (held && live->job->state == JOB_QUEUED)
                preparing_resume(engine, &life); /* another job may have made it ready meanwhile */
        batch_end_life(engine, live, &life);
        return ok;
}

static bool act_on_job(Engine *engine, Command *command)
{
        Act *act = (Act *)command;
        Live *live = live_find(engine, act->id);

        if (act->action == ACT_DELETE && live && job_state_is_final(live->job->state))
                return false; /* its end is part of this batch */
        if (act->action == ACT_DELETE) {
                if (live)
                        (void)refuse_open(live, &command->error);
                else
                        delete_ended(engine, act);
        } else if (!live) {
                refuse_ended_job(&act->read, act->id, &command->error);
        } else if (act_on_live(engine, live, act)) {
                command->live = live;
        }
        return true;
}

/* ---- the command ---- */

void act_free(Command *command)
{
        Act *act = (Act *)command;

        job_read_clear(&act->read);
        g_free(act->by);
        g_free(act->id);
}

static const CommandOps act_ops = {
        .name = "act", .size = sizeof(Act), .apply = act_on_job, .free = act_free
};
static const CommandOps act_array_ops = {
        .name = "act on array", .size = sizeof(Act), .apply = act_on_array, .free = act_free
};

void engine_act_array(Engine *engine, gint64 array_seq, const char *id, JobAction action, const char *by,
                      bool admin, EngineDone done, void *arg)
{
        Act *act = command_new(array_seq ? &act_array_ops : &act_ops, done, arg);

        act->by = g_strdup(by);
        act->admin = admin;
        act->id = g_strdup(id);
        act->array = array_seq;
        act->action = action;
        job_read_begin(engine, &act->read, id, array_seq);
        inbox_put(&engine->inbox, &act->command);
}

void engine_act(Engine *engine, const char *job_id, JobAction action, const char *by, bool admin,
                EngineDone done, void *arg)
{
        engine_act_array(engine, 0, job_id, action, by, admin, done, arg);
}
