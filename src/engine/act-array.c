/* Actions on a whole array, and changes of it: of each element that is open, in one transaction. The elements have
 * consecutive numbers. */
#include "engine/act.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"

/* One of its elements that exist: their specification is the same. */
static const Job *one_element(const JobRead *read, const char *id, GError **error)
{
        const Job *job = read_update(&read->read, read->job);

        if (!job && read->error)
                g_propagate_error(error, g_error_copy(read->error));
        else if (!job)
                err_set(error, ERR_NOT_FOUND, "there is no array '%s'", id);
        return job;
}

/* Its open elements: Live, borrowed. *ret_ending: some end in this batch. */
static GPtrArray *open_elements(Engine *engine, gint64 array, const Job *one, bool *ret_ending)
{
        GPtrArray *open = g_ptr_array_new();
        int size = array_size(one->spec);

        *ret_ending = false;
        for (int i = 0; i < size; i++) {
                Live *live = live_by_seq(engine, array + i);

                if (live && job_state_is_final(live->job->state))
                        *ret_ending = true;
                else if (live)
                        g_ptr_array_add(open, live);
        }
        return open;
}

static void refuse_ended(const char *id, const Job *one, GError **error)
{
        g_autofree char *name = array_name(one);

        err_set(error, ERR_CONFLICT, "array '%s' (%s) has already ended", name, id);
}

static void delete_all(Engine *engine, Act *act, const Job *one, guint open)
{
        g_autofree char *name = array_name(one);
        int size = array_size(one->spec);

        if (open > 0) {
                err_set(&act->command.error, ERR_CONFLICT,
                        "%u %s of array '%s' %s open: only what has ended can be deleted\n"
                        "Cancel it first: `paddle cancel %s`.",
                        open, open == 1 ? "job" : "jobs", name, open == 1 ? "is" : "are", name);
                return;
        }
        for (int i = 0; i < size; i++) {
                const gint64 seq = act->array + i;

                g_ptr_array_add(engine->batch.dropped_jobs, g_memdup2(&seq, sizeof seq));
        }
}

/* Done when it is done to any of them: one that is stopping can be held no more, and the others can. */
static void act_on_all(Engine *engine, Act *act, const GPtrArray *open)
{
        g_autoptr(GError) refused = NULL;
        bool any = false;

        for (guint i = 0; i < open->len; i++) {
                any |= act_on_live(engine, open->pdata[i], act);
                if (act->command.error && !refused)
                        refused = g_steal_pointer(&act->command.error);
                g_clear_error(&act->command.error);
        }
        if (!any)
                act->command.error = g_steal_pointer(&refused);
}

bool act_on_array(Engine *engine, Command *command)
{
        Act *act = (Act *)command;
        const Job *one = one_element(&act->read, act->id, &command->error);
        g_autoptr(GPtrArray) open = NULL;
        bool ending;

        if (!one)
                return true;
        open = open_elements(engine, act->array, one, &ending);
        if (open->len == 0 && ending)
                return false;
        if (act->action == ACT_DELETE)
                delete_all(engine, act, one, open->len);
        else if (open->len == 0)
                refuse_ended(act->id, one, &command->error);
        else
                act_on_all(engine, act, open);
        return true;
}

/* Queue and priority are those of elements that wait; the others keep theirs. */
static GPtrArray *changing(const Change *change, const GPtrArray *open)
{
        bool moves = change->queue || change->sets_priority;
        GPtrArray *some = g_ptr_array_new();

        for (guint i = 0; i < open->len; i++) {
                const Job *job = ((Live *)open->pdata[i])->job;

                if (!moves || job->state == JOB_QUEUED || job->state == JOB_SUSPENDED)
                        g_ptr_array_add(some, open->pdata[i]);
        }
        return some;
}

/* All are looked at before the first is changed. */
static bool check_all(Engine *engine, Change *change, const GPtrArray *lives, const Queue **ret_queue)
{
        gint64 enter = 0;
        const Job *job = NULL;

        for (guint i = 0; i < lives->len; i++) {
                job = ((Live *)lives->pdata[i])->job;
                if (!change_check(engine, job, change, ret_queue))
                        return false;
                enter += *ret_queue && strcmp((*ret_queue)->object.name, job->queue) != 0;
        }
        return enter == 0 || check_queue_count(engine, *ret_queue, job->user, enter, &change->command.error);
}

bool change_array(Engine *engine, Command *command)
{
        Change *change = (Change *)command;
        const Job *one = one_element(&change->read, change->id, &command->error);
        g_autoptr(GPtrArray) open = NULL, lives = NULL;
        const Queue *queue = NULL;
        bool ending;

        if (!one)
                return true;
        open = open_elements(engine, change->array, one, &ending);
        if (open->len == 0 && ending)
                return false;
        lives = changing(change, open);
        if (open->len == 0)
                refuse_ended(change->id, one, &command->error);
        else if (lives->len == 0)
                err_set(&command->error, ERR_CONFLICT,
                        "no job of the array waits: priority and queue change only while a job waits");
        else if (check_all(engine, change, lives, &queue))
                for (guint i = 0; i < lives->len; i++)
                        change_live(engine, lives->pdata[i], queue, change);
        return true;
}
