/* Copies of packages (see local-internal.h): the work directory of an attempt is made by a thread, and the starts of its
 * members wait for it. */
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "runtime/local/local-internal.h"

typedef struct {
        char *task;
        GString *line; /* the request, ready to be sent */
} WaitingStart;

typedef struct {
        LocalRuntime *local;
        char *name; /* "<id>.<attempt>" */
        char *user;
        char *attempt_dir, *package, *package_name;
        char *made;         /* by the setup; or NULL */
        Identity *identity; /* the future owner of the copy; NULL: the server */
        GPtrArray *waiting; /* WaitingStart */
        bool cancelled;     /* the attempt is over: the copy stops and is deleted */
} Copy;

static void waiting_start_free(void *arg)
{
        WaitingStart *start = arg;

        g_free(start->task);
        g_string_free(start->line, TRUE);
        g_free(start);
}

static void copy_free(void *arg)
{
        Copy *copy = arg;

        g_free(copy->name);
        g_free(copy->user);
        g_free(copy->attempt_dir);
        g_free(copy->package);
        g_free(copy->package_name);
        g_free(copy->made);
        identity_unref(copy->identity);
        g_ptr_array_unref(copy->waiting);
        g_free(copy);
}

char *local_package(const LocalRuntime *local, const RuntimeAttempt *attempt)
{
        return attempt->job->spec->package
                       ? g_build_filename(local->state_dir, "packages", attempt->job->spec->package, NULL)
                       : NULL;
}

static Copy *copy_new(LocalRuntime *local, const RuntimeAttempt *attempt, const char *name, const Plan *plan)
{
        Copy *copy = g_new0(Copy, 1);

        copy->local = local;
        copy->name = g_strdup(name);
        copy->user = g_strdup(attempt->job->user ? attempt->job->user : "");
        copy->attempt_dir = g_strdup(plan->attempt_dir);
        copy->package = local_package(local, attempt);
        copy->package_name = g_strdup(attempt->job->spec->package_name);
        copy->made = g_strdup(plan->made);
        copy->identity = plan->identity ? identity_ref(plan->identity) : NULL;
        copy->waiting = g_ptr_array_new_with_free_func(waiting_start_free);
        return copy;
}

static int find_waiting(const Copy *copy, const char *task)
{
        for (guint i = 0; i < copy->waiting->len; i++)
                if (strcmp(((WaitingStart *)copy->waiting->pdata[i])->task, task) == 0)
                        return (int)i;
        return -1;
}

/* Takes ownership of the line. A start that is requested again (after a reconnection) waits only once. */
static void copy_wait(Copy *copy, const char *task, GString *line)
{
        int at = find_waiting(copy, task);
        WaitingStart *start = g_new0(WaitingStart, 1);

        start->task = g_strdup(task);
        start->line = line;
        if (at >= 0)
                g_ptr_array_remove_index(copy->waiting, (guint)at);
        g_ptr_array_add(copy->waiting, start);
}

void local_remove_dir(const char *attempt_dir)
{
        g_autoptr(GError) failure = NULL;

        if (!workdir_remove(attempt_dir, &failure))
                log_warning("work directory not removed", "directory", attempt_dir, "reason",
                            failure->message, NULL);
}

/* Sends or fails the waiting starts. Call it with the lock with which the copy leaves the table: a stop that
 * does not find the start here must reach the agent after it. */
static void hand_on(LocalRuntime *local, const Copy *copy, const GError *failure)
{
        for (guint i = 0; i < copy->waiting->len; i++) {
                WaitingStart *start = copy->waiting->pdata[i];

                if (failure)
                        local_post_failure(local, start->task, failure);
                else
                        (void)agent_link_send(local->link, start->line); /* not synced: the engine retries */
        }
}

/* CancelFunc. Also true when the server ends: the next one copies again. */
static bool copy_is_given_up(void *arg)
{
        Copy *copy = arg;
        bool is;

        pthread_mutex_lock(&copy->local->lock);
        is = copy->local->closing || copy->cancelled;
        pthread_mutex_unlock(&copy->local->lock);
        return is;
}

static bool fill_work(LocalRuntime *local, Copy *copy, GError **error)
{
        const WorkdirSource source = { .package = copy->package,
                                       .name = copy->package_name,
                                       .made = copy->made,
                                       .ledger = local->ledger,
                                       .user = copy->user };
        bool ok;

        cancel_begin(copy_is_given_up, copy);
        ok = workdir_make_copy(copy->attempt_dir, &source, local_owner(copy->identity), error);
        cancel_end();
        return ok;
}

static void make_copy(LocalRuntime *local, Work *work);

/* Call it with the lock. */
static void begin_copy(LocalRuntime *local, const Copy *copy)
{
        Work *work = local_work_new(local, make_copy, copy->name, NULL, NULL);

        (void)thread_pool_push(local->copiers, NULL, local_work_run, work,
                               NULL); /* it stops after the last copy began */
}

/* Call it with the lock. The user's next copy gets the turn; when the server ends, none starts. */
static void end_copy(LocalRuntime *local, Copy *copy, const GError *failure)
{
        Copy *next = turns_give(local->turns, copy->user);

        g_hash_table_steal(local->copies, copy->name);
        if (local->closing)
                return;
        if (next)
                begin_copy(local, next);
        if (!copy->cancelled)
                hand_on(local, copy, failure);
}

static void make_copy(LocalRuntime *local, Work *work)
{
        g_autoptr(GError) failure = NULL;
        Copy *copy;

        pthread_mutex_lock(&local->lock);
        copy = g_hash_table_lookup(local->copies, work->text[0]); /* only this worker removes it */
        pthread_mutex_unlock(&local->lock);

        if (!copy_is_given_up(copy))
                (void)fill_work(local, copy, &failure);

        pthread_mutex_lock(&local->lock);
        end_copy(local, copy, failure);
        pthread_mutex_unlock(&local->lock);
        if (copy->cancelled)
                local_remove_dir(copy->attempt_dir);
        copy_free(copy);
}

void local_start_with_package(LocalRuntime *local, const RuntimeAttempt *attempt, const Plan *plan,
                              const char *task, GString *line)
{
        g_autofree char *name = g_strdup_printf("%s.%d", attempt->job->id, attempt->job->attempt);
        Copy *copy;

        pthread_mutex_lock(&local->lock);
        copy = g_hash_table_lookup(local->copies, name);
        if (!copy && !workdir_exists(plan->attempt_dir) && !local->closing) {
                copy = copy_new(local, attempt, name, plan);
                g_hash_table_insert(local->copies, copy->name, copy);
                if (turns_take(local->turns, copy->user, copy))
                        begin_copy(local, copy);
        }
        if (copy)
                copy_wait(copy, task, g_steal_pointer(&line));
        pthread_mutex_unlock(&local->lock);
        if (line) {
                (void)agent_link_send(local->link, line); /* not synced: the engine retries */
                g_string_free(line, TRUE);
        }
}

bool local_withdraw(LocalRuntime *local, const char *task)
{
        g_autofree char *name = local_attempt_of(task);
        Copy *copy;
        int at = -1;

        pthread_mutex_lock(&local->lock);
        copy = g_hash_table_lookup(local->copies, name);
        if (copy)
                at = find_waiting(copy, task);
        if (at >= 0)
                g_ptr_array_remove_index(copy->waiting, (guint)at);
        pthread_mutex_unlock(&local->lock);
        return at >= 0;
}

bool local_cancel_copy(LocalRuntime *local, const char *name)
{
        Copy *copy;

        pthread_mutex_lock(&local->lock);
        copy = g_hash_table_lookup(local->copies, name);
        if (copy) {
                copy->cancelled = true;
                g_ptr_array_set_size(copy->waiting, 0);
        }
        pthread_mutex_unlock(&local->lock);
        return copy != NULL;
}

GHashTable *local_copies_new(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, NULL, copy_free);
}
