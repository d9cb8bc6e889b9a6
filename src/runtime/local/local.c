/* The local runtime (see local.h): connects the engine's calls, the link to the agent, the builds, and a few
 * worker threads for slow work (copies of packages, removals, running an interpreter).
 *
 *   engine's thread ── start ──▶ [copy waits for a worker] ──▶ link ──▶ agent
 *                  ◀── observe ── link's thread ◀───────────────┘
 *
 * `copies` has the attempts whose package is being copied, each with its waiting starts; `lock` protects it.
 * Other attempts have their work directory, or have not started; whether the directory exists tells which, so
 * nothing is lost with the process. */
#include "runtime/local/local.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread-pool.h"
#include "model/job.h"
#include "model/results.h"
#include "runtime/last-line.h"
#include "runtime/local/builds.h"
#include "runtime/local/gpu-usage.h"
#include "runtime/local/gpus.h"
#include "runtime/local/inventory.h"
#include "runtime/local/link.h"
#include "runtime/local/measure.h"
#include "runtime/local/message.h"
#include "runtime/local/ports.h"
#include "runtime/local/sdk.h"
#include "runtime/local/search-path.h"
#include "runtime/local/secret-files.h"
#include "runtime/local/sessions.h"
#include "runtime/local/terminal.h"
#include "runtime/local/turns.h"
#include "runtime/local/variables.h"
#include "runtime/local/workdir.h"
#include "storage/storage.h"

/* Copies have separate threads: users decide how long they take, and builds and removals must not wait. */
enum { WORKERS_MAX = 4, COPIERS_MAX = 4, COPIES_OF_USER_MAX = 2 };

typedef struct LocalRuntime LocalRuntime;

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

struct LocalRuntime {
        Runtime runtime;
        char *state_dir, *agent_program, *dc, *uv, *python;
        Identities *identities; /* borrowed; NULL: all members run as the server */
        Projects *projects;     /* borrowed; or NULL */
        Ledger *ledger;         /* the same */
        char **new_privileges;  /* users with this right; or NULL */
        SandboxPolicy policy;
        char *egress;        /* allowed connections of users' members; or NULL */
        char **no_sandbox;   /* users without a sandbox; or NULL */
        char **keep;         /* directories that every sandbox shows */
        char *sdk;           /* contains our Python package, for PYTHONPATH; or NULL */
        char *fallback_path; /* contains `python` if this machine's PATH has only python3; or NULL */
        Resources total;
        GpuDevices gpus;
        GpuMeter *gpu_meter;
        Sessions *sessions;
        gint64 log_limit, max_processes, max_user_processes;
        BuildBounds bounds; /* of builders; `allow` is not stored */
        char **inherited;   /* by members that run as the server's user */
        char **inherited_by_others;
        Storage *storage;
        Ports *ports;
        AgentLink *link;
        Builds *builds;
        ThreadPool *workers, *copiers; /* for blocking work: copies, removals, running an interpreter */
        Spares *spares;
        Terminals *terminals;
        SecretFiles *secrets;
        GHashTable *attempts; /* link's thread: attempts reported before the first sync; then NULL */
        ObserveFunc observe;
        void *observe_arg;

        pthread_mutex_t lock;
        bool closing;
        GHashTable *copies; /* name -> Copy */
        Turns *turns;       /* of copies */
        GHashTable *pids;   /* running task -> its process, as reported */
};

static const Owner *owner_of(const Identity *identity)
{
        return identity ? &identity->owner : NULL;
}

/* A worker's task; owns its memory. */
typedef struct Work Work;
struct Work {
        LocalRuntime *local;
        void (*run)(LocalRuntime *local, Work *work);
        char *text[2];
        char *user, *setup, *setup_files, *package; /* of a build; or NULL */
        gint64 user_seq;                            /* number of that user in the catalog */
        Resources limits;                           /* of a build */
        Identity *identity;                         /* or NULL */
};

static Work *work_new(LocalRuntime *local, void (*run)(LocalRuntime *, Work *), const char *first,
                      const char *second, const Identity *identity)
{
        Work *work = g_new0(Work, 1);

        work->local = local;
        work->run = run;
        work->text[0] = g_strdup(first);
        work->text[1] = g_strdup(second);
        work->identity = identity ? identity_ref(identity) : NULL;
        return work;
}

static void work_free(Work *work)
{
        g_free(work->text[0]);
        g_free(work->text[1]);
        g_free(work->user);
        g_free(work->setup);
        g_free(work->setup_files);
        g_free(work->package);
        identity_unref(work->identity);
        g_free(work);
}

/* What has been asked for is done even if the server is stopping. */
static void work_run(bool stopped, void *arg)
{
        Work *work = arg;

        work->run(work->local, work);
        work_free(work);
}

/* The engine's thread. Takes ownership of the work; after closing it is dropped, and the next server gets the
 * request again. */
static void work_give(LocalRuntime *local, Work *work)
{
        if (local->workers)
                (void)thread_pool_push(local->workers, NULL, work_run, work, NULL); /* any number may wait */
        else
                work_free(work);
}

static void work_push(LocalRuntime *local, void (*run)(LocalRuntime *, Work *), const char *first,
                      const char *second, const Identity *identity)
{
        work_give(local, work_new(local, run, first, second, identity));
}

static Observation *observation_of(ObservationKind kind, const char *task, const char *text)
{
        Observation *observation = g_new0(Observation, 1);

        observation->kind = kind;
        observation->exit_code = -1;
        g_strlcpy(observation->task, task, sizeof observation->task);
        observation->time = clock_now_ms();
        observation->text = g_strdup(text);
        return observation;
}

static void post(LocalRuntime *local, ObservationKind kind, const char *task, const char *text,
                 bool permanent)
{
        Observation *observation = observation_of(kind, task, text);

        observation->permanent = permanent;
        agent_link_post(local->link, observation);
}

/* A missing, forbidden or malformed file makes the error permanent; a full disk does not. */
static void post_failure(LocalRuntime *local, const char *task, const GError *failure)
{
        static const int lasting[] = { ERR_INVALID, ERR_NOT_FOUND, ERR_DENIED, ERR_TOO_LARGE };
        bool permanent = false;

        for (size_t i = 0; i < G_N_ELEMENTS(lasting); i++)
                permanent |= err_is(failure, lasting[i]);
        post(local, OBSERVED_START_FAILED, task, failure->message, permanent);
}

/* "<id>.<attempt>" of "<id>.<attempt>.<role>.<index>" */
static char *attempt_of(const char *task)
{
        const char *dot = strchr(task, '.');

        dot = dot ? strchr(dot + 1, '.') : NULL;
        return dot ? g_strndup(task, (gsize)(dot - task)) : g_strdup(task);
}

/* ---- observations, on the link's thread ---- */

static void note_pid(LocalRuntime *local, const Observation *observation)
{
        pthread_mutex_lock(&local->lock);
        if (observation->kind == OBSERVED_STARTED)
                g_hash_table_insert(local->pids, g_strdup(observation->task),
                                    GINT_TO_POINTER(observation->pid));
        else if (observation->kind == OBSERVED_EXITED || observation->kind == OBSERVED_LOST)
                g_hash_table_remove(local->pids, observation->task);
        pthread_mutex_unlock(&local->lock);
}

/* If a write failed, the program may not say so, or only in its own words: note a full disk. */
static void note_full_disk(LocalRuntime *local, Observation *observation)
{
        g_autofree char *job = g_strndup(observation->task, strcspn(observation->task, "."));
        g_autofree char *dir = NULL;

        if (!local->projects || observation->oom || !observation_is_failure(observation))
                return;
        dir = builds_dir_of_task(local->builds, observation->task);
        if (!dir)
                dir = workdir_job(local->state_dir, job);
        observation->note = projects_say_full(local->projects, dir);
}

static char *environment_log(LocalRuntime *local, const char *job_id);

static char *op_log_path(Runtime *runtime, const char *job_id, int attempt, const char *role, int index)
{
        LocalRuntime *local = (LocalRuntime *)runtime;
        g_autofree char *dir = NULL;

        if (strcmp(role, "environment") == 0)
                return environment_log(local, job_id);
        dir = workdir_attempt(local->state_dir, job_id, attempt);
        return g_strdup_printf("%s/log/%s-%d", dir, role, index);
}

/* "<id>.<attempt>.<role>.<index>"; a role has no dot. */
typedef struct {
        char *job, *role; /* the caller's */
        int attempt, index;
} TaskParts;

static bool split_task(const char *task, TaskParts *ret)
{
        g_auto(GStrv) words = g_strsplit(task, ".", 5);

        if (g_strv_length(words) != 4)
                return false;
        *ret = (TaskParts){ .job = g_strdup(words[0]),
                            .role = g_strdup(words[2]),
                            .attempt = (int)g_ascii_strtoll(words[1], NULL, 10),
                            .index = (int)g_ascii_strtoll(words[3], NULL, 10) };
        return true;
}

static char *read_report(const char *log)
{
        g_autofree char *path = g_strconcat(log, ".results", NULL);
        char *text = NULL;
        gsize len;

        /* most members report nothing: the file is missing */
        return file_read(path, RESULTS_TEXT_MAX, &text, &len, NULL) ? text : NULL;
}

/* Adds the member's report to the observation of its end. */
static void note_report(LocalRuntime *local, Observation *observation)
{
        TaskParts parts;
        g_autofree char *log = NULL;

        if (observation->kind != OBSERVED_EXITED || !split_task(observation->task, &parts))
                return;
        log = op_log_path((Runtime *)local, parts.job, parts.attempt, parts.role, parts.index);
        observation_take_report(observation, read_report(log));
        g_free(parts.job);
        g_free(parts.role);
}

static char *op_report(Runtime *runtime, const char *job_id, int attempt, const char *role, int index)
{
        g_autofree char *log = op_log_path(runtime, job_id, attempt, role, index);
        char *report;

        report = read_report(log);
        (void)report_take_hang_up(report);
        return report;
}

/* Deletes files with secrets of attempts that ended while no server ran: those that the agent does not report
 * before its first "synced". The engine starts nothing before, so no start can have created files. */
static void sweep_secrets(LocalRuntime *local, const Observation *observation)
{
        if (!local->attempts)
                return;
        if (observation->kind == OBSERVED_DISCONNECTED)
                g_hash_table_remove_all(local->attempts);
        else if (observation->kind != OBSERVED_SYNCED)
                g_hash_table_add(local->attempts, attempt_of(observation->task));
        else {
                secret_files_sweep(local->secrets, local->attempts);
                g_clear_pointer(&local->attempts, g_hash_table_unref);
        }
}

static void add_last_line(LocalRuntime *local, Observation *observation)
{
        if (observation_is_failure(observation))
                observation->last_line = last_line_of_task(local->state_dir, observation->task);
}

static void deliver(Observation *observation, void *arg)
{
        LocalRuntime *local = arg;

        sweep_secrets(local, observation);
        note_pid(local, observation);
        note_full_disk(local, observation);
        note_report(local, observation);
        if (builds_observe(local->builds, observation)) {
                observation_free(observation);
        } else {
                add_last_line(local, observation);
                local->observe(observation, local->observe_arg);
        }
}

/* ---- plans ---- */

/* The temporary results of a start, so that one place frees them. */
typedef struct {
        char *attempt_dir, *work, *by_name, *environment, *made, *input, *output, *ready_file, *progress,
                *log, *gpus_seen;
        GPtrArray *binds;
        char *secrets; /* directory of the attempt's files with secrets; or NULL */
        char **keep;   /* Sandbox.keep with that directory; NULL: the common list */
        char **env;
        Identity *identity; /* NULL: the server */
        Sandbox sandbox;
} Plan;

static void plan_clear(Plan *plan)
{
        g_free(plan->attempt_dir);
        g_free(plan->work);
        g_free(plan->by_name);
        g_free(plan->environment);
        g_free(plan->made);
        g_free(plan->input);
        g_free(plan->output);
        g_free(plan->ready_file);
        g_free(plan->progress);
        g_free(plan->log);
        g_free(plan->gpus_seen);
        g_free(plan->secrets);
        g_strfreev(plan->keep);
        g_clear_pointer(&plan->binds, g_ptr_array_unref);
        g_strfreev(plan->env);
        identity_unref(plan->identity);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plan, plan_clear)

/* ---- copies of packages ---- */

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

/* The package's tree; the caller's. NULL: none. */
static char *package_of(const LocalRuntime *local, const RuntimeAttempt *attempt)
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
        copy->package = package_of(local, attempt);
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

static void remove_dir(const char *attempt_dir)
{
        g_autoptr(GError) failure = NULL;

        if (!workdir_remove(attempt_dir, &failure))
                log_warning("work directory not removed", "directory", attempt_dir, "reason",
                            failure->message, NULL);
}

static void remove_attempt(LocalRuntime *local, Work *work)
{
        remove_dir(work->text[0]);
}

/* Sends or fails the waiting starts. Call it with the lock with which the copy leaves the table: a stop that
 * does not find the start here must reach the agent after it. */
static void hand_on(LocalRuntime *local, const Copy *copy, const GError *failure)
{
        for (guint i = 0; i < copy->waiting->len; i++) {
                WaitingStart *start = copy->waiting->pdata[i];

                if (failure)
                        post_failure(local, start->task, failure);
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
        ok = workdir_make_copy(copy->attempt_dir, &source, owner_of(copy->identity), error);
        cancel_end();
        return ok;
}

static void make_copy(LocalRuntime *local, Work *work);

/* Call it with the lock. */
static void begin_copy(LocalRuntime *local, const Copy *copy)
{
        Work *work = work_new(local, make_copy, copy->name, NULL, NULL);

        (void)thread_pool_push(local->copiers, NULL, work_run, work,
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
                remove_dir(copy->attempt_dir);
        copy_free(copy);
}

/* Takes ownership of the line: sends it, or lets it wait for the copy of the package. */
static void start_with_package(LocalRuntime *local, const RuntimeAttempt *attempt, const Plan *plan,
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

/* True if the start of `task` was waiting here; it is removed. */
static bool withdraw(LocalRuntime *local, const char *task)
{
        g_autofree char *name = attempt_of(task);
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

/* ---- start ---- */

static EnvironmentRecipe recipe_of(const RuntimeAttempt *attempt)
{
        return (EnvironmentRecipe){ .requirements = attempt->job->spec->requirements,
                                    .setup = attempt->job->spec->setup,
                                    .setup_files = attempt->job->spec->setup_files,
                                    .user = attempt->user_seq };
}

static bool plan_environment(LocalRuntime *local, const RuntimeAttempt *attempt, Plan *plan, GError **error)
{
        g_autofree char *envs_dir = g_build_filename(local->state_dir, "envs", NULL);
        EnvironmentConfig config = { envs_dir, local->uv, local->python, local->bounds.urls };
        const Owner *owner = owner_of(plan->identity);
        const EnvironmentRecipe recipe = recipe_of(attempt);
        g_autofree char *key = NULL;

        if (!environment_is_wanted(&recipe))
                return true;
        key = workdir_environment(local->state_dir, attempt->job->id);
        if (!key || !environment_is_for(key, owner)) {
                g_free(key);
                key = environment_key(&config, owner, &recipe, error);
                if (!key || !workdir_link_environment(local->state_dir, attempt->job->id, key, error))
                        return false;
        }
        if (!environment_is_ready(&config, key))
                return err_set(
                        error, ERR_NOT_FOUND,
                        "the Python environment 'envs/%s' no longer exists\nSubmit the job again to have it built.",
                        key);
        plan->environment = environment_path(&config, key);
        if (attempt->job->spec->setup)
                plan->made = environment_made_path(&config, key);
        return true;
}

/* Binds a directory of the storage to its public path. */
static bool add_bind(LocalRuntime *local, Plan *plan, const char *below, GError **error)
{
        g_autofree char *source = g_build_filename(local->state_dir, "storage", local->dc, below, NULL);

        if (!file_mkdirs(source, 0755, error))
                return false;
        g_ptr_array_add(plan->binds, g_steal_pointer(&source));
        g_ptr_array_add(plan->binds, g_build_filename("/pfs", local->dc, below, NULL));
        return true;
}

static bool plan_storage(LocalRuntime *local, const RuntimeAttempt *attempt, Plan *plan, GError **error)
{
        StorageAccess reading = { .user = attempt->job->user },
                      writing = { .user = attempt->job->user, .write = true };
        g_autofree char *home = g_build_filename("home", attempt->job->user, NULL);

        if (!attempt->job->spec->input && !attempt->job->spec->output)
                return true;
        plan->binds = g_ptr_array_new_with_free_func(g_free);
        if (plan->identity &&
            !storage_make_home(local->storage, attempt->job->user, &plan->identity->owner, error))
                return false;
        if (!add_bind(local, plan, home, error) || !add_bind(local, plan, "public", error))
                return false;
        g_ptr_array_add(plan->binds, NULL);
        if (attempt->job->spec->input &&
            !(plan->input =
                      storage_resolve(local->storage, attempt->job->spec->input, &reading, false, error)))
                return err_prefix(error, "input: ");
        if (attempt->job->spec->output &&
            !(plan->output =
                      storage_resolve(local->storage, attempt->job->spec->output, &writing, true, error)))
                return err_prefix(error, "output: ");
        return true;
}

/* "<id>.<attempt>.<role>.<index>" -> "log/<role>-<index>" */
static char *log_of_task(const char *attempt_dir, const char *attempt_name, const char *task)
{
        const char *member = g_str_has_prefix(task, attempt_name) ? task + strlen(attempt_name) : task;
        const char *index;

        member += *member == '.';
        index = strrchr(member, '.');
        if (!index)
                return g_strdup_printf("%s/log/%s", attempt_dir, member);
        return g_strdup_printf("%s/log/%.*s-%s", attempt_dir, (int)(index - member), member, index + 1);
}

/* A file of this attempt. A member with another uid cannot reach the directory of its log. */
static char *progress_of(const Plan *plan)
{
        g_autofree char *name = g_path_get_basename(plan->log);

        if (!plan->identity)
                return g_strconcat(plan->log, ".progress", NULL);
        return g_strdup_printf("%s/ready/%s.progress", plan->attempt_dir, name);
}

/* A member with another uid cannot create files beside its log. */
static char *ready_of_other(const Plan *plan, const char *ready_file)
{
        g_autofree char *name = g_path_get_basename(ready_file);

        return g_build_filename(plan->attempt_dir, "ready", name, NULL);
}

static void plan_paths(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task, Plan *plan)
{
        g_autofree char *name = g_strdup_printf("%s.%d", attempt->job->id, attempt->job->attempt);

        plan->attempt_dir = workdir_attempt(local->state_dir, attempt->job->id, attempt->job->attempt);
        plan->work = g_strconcat(plan->attempt_dir, "/work", NULL);
        plan->log = log_of_task(plan->attempt_dir, name, task->task);
        plan->progress = progress_of(plan);
        if (attempt->job->spec->package)
                plan->by_name = g_strconcat(plan->attempt_dir, "/path", NULL);
        if (task->ready_file)
                plan->ready_file = plan->identity ? ready_of_other(plan, task->ready_file)
                                   : g_path_is_absolute(task->ready_file)
                                           ? g_strdup(task->ready_file)
                                           : g_build_filename(plan->attempt_dir, task->ready_file, NULL);
}

/* A copy of the list with one more entry; the caller's. */
static char **list_with(char *const *list, const char *one)
{
        g_autoptr(GStrvBuilder) longer = g_strv_builder_new();

        g_strv_builder_add(longer, one);
        if (list)
                g_strv_builder_addv(longer, (const char **)list);
        return g_strv_builder_end(longer);
}

/* Shows the directory of the secrets in the sandbox. It belongs to the attempt, so no other job gets it. It
 * is read-only: otherwise members, who own the files, could fill the machine's memory. */
static bool plan_secret_files(LocalRuntime *local, const TaskStart *task, Plan *plan, GError **error)
{
        g_autofree char *attempt = attempt_of(task->task);

        if (!secret_files_wanted(task->secrets, task->n_secrets))
                return true;
        plan->secrets = secret_files_put(local->secrets, attempt, task->secrets, task->n_secrets,
                                         owner_of(plan->identity), error);
        if (!plan->secrets)
                return false;
        plan->keep = list_with(local->keep, plan->secrets);
        plan->sandbox.keep = (const char *const *)plan->keep; /* the directory is the first */
        plan->sandbox.keep_read_only = 1;
        plan->sandbox.shared = true;
        return true;
}

/* The engine's variables, the secrets, then ours (the later value wins); the caller's. */
static char **with_secrets(const TaskStart *task, const Plan *plan)
{
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();

        if (task->env)
                g_strv_builder_addv(list, (const char **)task->env);
        for (int i = 0; i < task->n_secrets; i++) {
                const TaskSecret *secret = &task->secrets[i];
                g_autofree char *entry =
                        secret->variable ? g_strconcat(secret->variable, "=", secret->value, NULL) : NULL;

                if (entry)
                        g_strv_builder_add(list, entry);
        }
        if (plan->secrets) {
                g_autofree char *entry = g_strconcat("PADDLE_SECRETS_DIR=", plan->secrets, NULL);

                g_strv_builder_add(list, entry);
        }
        if (task->tty) {
                g_autofree char *entry = exec_terminal_variable();

                g_strv_builder_add(list, entry);
        }
        return g_strv_builder_end(list);
}

static void plan_variables(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task,
                           Plan *plan)
{
        const Identity *identity = plan->identity;
        MemberPlace place = { .user = attempt->job->user,
                              .home = !identity        ? NULL
                                      : identity->home ? identity->home
                                                       : plan->work,
                              .work = plan->work,
                              .by_name = plan->by_name,
                              .environment = plan->environment,
                              .input = plan->input,
                              .output = plan->output,
                              .ready_file = plan->ready_file,
                              .progress = plan->progress,
                              .gpus = task->gpus,
                              .gpus_seen = plan->gpus_seen,
                              .fallback_path = local->fallback_path,
                              .sdk = local->sdk };
        g_auto(GStrv) env = with_secrets(task, plan);

        plan->env =
                variables_complete(place.home ? local->inherited_by_others : local->inherited, &place, env);
}

static bool names(char *const *users, const char *user)
{
        return users && g_strv_contains((const char *const *)users, user);
}

static bool has_new_privileges(const LocalRuntime *local, const char *user)
{
        return names(local->new_privileges, user);
}

/* The sandbox parts for a member of `user`; `is_server`: it runs as the server itself. */
static guint wanted_parts(const LocalRuntime *local, const char *user, bool is_server)
{
        if (is_server || local->policy == SANDBOX_OFF || names(local->no_sandbox, user))
                return 0;
        return PART_PIDS | PART_IPC | PART_FILES |
               (has_new_privileges(local, user) ? 0 : PART_CALLS | PART_RIGHTS);
}

static bool plan_sandbox(LocalRuntime *local, const RuntimeAttempt *attempt, Plan *plan, GError **error)
{
        guint wanted = wanted_parts(local, attempt->job->user, !plan->identity),
              has = agent_link_sandbox(local->link);
        const Spec *spec = attempt->job ? attempt->job->spec : NULL;
        g_autofree char *lacking = sandbox_words(wanted & ~has);

        if (local->policy == SANDBOX_ON && *lacking)
                return err_set(error, ERR_CONFLICT,
                               "this machine cannot give the job all of its sandbox (it lacks %s), and the "
                               "server runs with --sandbox on\nAsk an administrator.",
                               lacking);
        if (spec && spec->network_none) {
                wanted |= PART_NETWORK;
                if (!(has & PART_NETWORK))
                        return err_set(
                                error, ERR_CONFLICT,
                                "network: none: this machine cannot give the job a network of its own: "
                                "the server has to run as root, and the kernel has to have network "
                                "namespaces\nSubmit it with `--network host`.");
        }
        if (plan->identity && local->egress && !agent_link_check_egress(local->link, error))
                return false;
        plan->sandbox = (Sandbox){
                .parts = wanted & has,
                .egress = plan->identity && local->egress,
                .shared = spec && spec_members(spec) > 1,
                .place = plan->attempt_dir,
                .keep = (const char *const *)local->keep,
        };
        return true;
}

/* A member can open only its own GPUs, if the agent can enforce that. */
static void plan_gpus(LocalRuntime *local, const TaskStart *task, Plan *plan)
{
        if (local->gpus.n == 0 || !agent_link_denies_devices(local->link))
                return;
        plan->sandbox.denied_major = local->gpus.major;
        plan->sandbox.denied_minors = gpus_denied(&local->gpus, task->gpus);
        if (task->gpus)
                plan->gpus_seen = gpus_renumbered(task->gpus);
}

static GString *plan_line(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task,
                          const Plan *plan)
{
        GString *line = g_string_sized_new(4096); /* most are smaller */
        TaskStart complete = *task;

        complete.env = plan->env;
        complete.dir = plan->work;
        complete.log = plan->log;
        complete.ready_file = plan->ready_file;
        complete.progress = plan->progress;
        complete.new_privileges = has_new_privileges(local, attempt->job->user);
        complete.binds = plan->binds ? (const char *const *)plan->binds->pdata : NULL;
        if (!complete.log_limit)
                complete.log_limit = local->log_limit;
        if (!complete.max_processes)
                complete.max_processes = local->max_processes;
        complete.user = attempt->user_seq;
        complete.user_processes = local->max_user_processes;
        message_start(line, &complete, plan->identity, &plan->sandbox);
        return line;
}

/* The identity of a user's members; *ret NULL: the server. */
static bool find_identity(LocalRuntime *local, const char *user, gint64 seq, Identity **ret, GError **error)
{
        *ret = NULL;
        return !local->identities || identity_find(local->identities, user, seq, ret, error);
}

/* Labels a job's directory, so that the kernel counts it to its user. */
static bool own_directory(LocalRuntime *local, const RuntimeAttempt *attempt, const char *attempt_dir,
                          GError **error)
{
        g_autofree char *dir = workdir_job(local->state_dir, attempt->job->id);

        if (!local->projects)
                return true;
        if (!workdir_make_attempt(attempt_dir, error))
                return false;
        (void)projects_label(local->projects, attempt->job->user, dir, NULL, NULL);
        return true;
}

/* True if the work directory is a copy of a package. */
static bool is_copied(const RuntimeAttempt *attempt)
{
        return attempt->job->spec->package || attempt->job->spec->setup;
}

/* Creates a member's directories, except copies of a package. */
static bool make_directories(LocalRuntime *local, const RuntimeAttempt *attempt, const Plan *plan,
                             GError **error)
{
        const Owner *owner = owner_of(plan->identity);

        if (owner && !own_directory(local, attempt, plan->attempt_dir, error))
                return false;
        if (owner && !workdir_make_ready(plan->attempt_dir, owner, error))
                return false;
        return is_copied(attempt) || workdir_make_empty(plan->attempt_dir, local->spares, owner, error);
}

static bool try_start(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task,
                      GError **error)
{
        g_auto(Plan) plan = { 0 };
        GString *line;

        if (!find_identity(local, attempt->job->user, attempt->user_seq, &plan.identity, error) ||
            (plan.identity && !agent_link_check_users(local->link, error)))
                return false;
        plan_paths(local, attempt, task, &plan);
        if (!plan_sandbox(local, attempt, &plan, error) || !plan_environment(local, attempt, &plan, error) ||
            !plan_storage(local, attempt, &plan, error) || !make_directories(local, attempt, &plan, error) ||
            !plan_secret_files(local, task, &plan, error))
                return false;
        plan_gpus(local, task, &plan);
        plan_variables(local, attempt, task, &plan);
        line = plan_line(local, attempt, task, &plan);
        if (line->len > MESSAGE_MAX) {
                err_set(error, ERR_TOO_LARGE,
                        "command and environment of %" G_GSIZE_FORMAT " bytes: the limit is %d", line->len,
                        MESSAGE_MAX);
                g_string_free(line, TRUE);
                return false;
        }
        if (is_copied(attempt)) {
                start_with_package(local, attempt, &plan, task->task, line);
                return true;
        }
        (void)agent_link_send(local->link, line); /* not synced: the engine retries */
        g_string_free(line, TRUE);
        return true;
}

/* ---- the operations ---- */

static void op_start(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        for (int i = 0; i < n; i++) {
                g_autoptr(GError) failure = NULL;

                if (!try_start(local, attempt, &members[i], &failure))
                        post_failure(local, members[i].task, failure);
        }
}

static void stop_task(LocalRuntime *local, const char *task, gint64 grace_ms)
{
        g_autoptr(GString) line = g_string_new(NULL);

        if (withdraw(local, task)) {
                post(local, OBSERVED_LOST, task, "stopped before it was started", false);
                return;
        }
        message_stop(line, task, grace_ms);
        (void)agent_link_send(local->link, line); /* not synced: the engine retries */
}

static void op_stop(Runtime *runtime, const char *const *tasks, int n, gint64 grace_ms)
{
        for (int i = 0; i < n; i++)
                stop_task((LocalRuntime *)runtime, tasks[i], grace_ms);
}

static void op_signal(Runtime *runtime, const char *task, int signo)
{
        g_autoptr(GString) line = g_string_new(NULL);

        message_signal(line, task, signo);
        (void)agent_link_send(((LocalRuntime *)runtime)->link, line); /* not synced: the engine retries */
}

static bool op_usage(Runtime *runtime, const char *task, TaskUsage *ret)
{
        LocalRuntime *local = (LocalRuntime *)runtime;
        int pid;

        pthread_mutex_lock(&local->lock);
        pid = GPOINTER_TO_INT(g_hash_table_lookup(local->pids, task));
        pthread_mutex_unlock(&local->lock);
        return pid > 0 && (measure_process("/proc", pid, ret) ||
                           sessions_usage(local->sessions, pid, clock_monotonic_ms(), ret));
}

static bool op_gpu_usage(Runtime *runtime, int gpu, GpuUsage *ret)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        return gpu >= 0 && (guint)gpu < local->gpus.n &&
               gpu_meter_get(local->gpu_meter, local->gpus.minors[gpu], clock_monotonic_ms(), ret);
}

static RuntimeExec *op_exec(Runtime *runtime, const char *task, const ExecStart *start)
{
        LocalRuntime *local = (LocalRuntime *)runtime;
        g_autofree char *job = g_strndup(task, strcspn(task, "."));
        g_autoptr(Identity) identity = NULL;
        TerminalTarget target = { .task = task,
                                  .job = job,
                                  .confined = !has_new_privileges(local, start->user) };
        guint parts = PART_CALLS | PART_RIGHTS;

        pthread_mutex_lock(&local->lock);
        target.pid = GPOINTER_TO_INT(g_hash_table_lookup(local->pids, task));
        pthread_mutex_unlock(&local->lock);
        if (target.pid <= 0 || !find_identity(local, start->user, start->user_seq, &identity, NULL))
                return NULL;
        target.identity = identity;
        target.sandboxed = (wanted_parts(local, start->user, !identity) & parts) == parts &&
                           (agent_link_sandbox(local->link) & parts) == parts;
        return terminals_exec(local->terminals, &target, start);
}

static void op_forget(Runtime *runtime, const char *task)
{
        agent_link_forget(((LocalRuntime *)runtime)->link, task);
}

static void op_clean(Runtime *runtime, const char *job_id, int attempt, gint64 expires)
{
        LocalRuntime *local = (LocalRuntime *)runtime;
        g_autofree char *name = g_strdup_printf("%s.%d", job_id, attempt);
        g_autofree char *dir = workdir_attempt(local->state_dir, job_id, attempt);
        Copy *copy;

        pthread_mutex_lock(&local->lock);
        copy = g_hash_table_lookup(local->copies, name);
        if (copy) {
                copy->cancelled = true;
                g_ptr_array_set_size(copy->waiting, 0);
        }
        pthread_mutex_unlock(&local->lock);
        secret_files_drop(local->secrets, name);
        if (!copy && !workdir_remove_empty(dir, local->spares))
                work_push(local, remove_attempt, dir, NULL, NULL);
}

static void prepare(LocalRuntime *local, Work *work)
{
        builds_prepare(local->builds, &(BuildWish){ .job_id = work->text[0],
                                                    .user = work->user,
                                                    .recipe = { .requirements = work->text[1],
                                                                .setup = work->setup,
                                                                .setup_files = work->setup_files,
                                                                .user = work->user_seq },
                                                    .package = work->package,
                                                    .limits = work->limits,
                                                    .identity = work->identity });
}

static void abandon(LocalRuntime *local, Work *work)
{
        builds_abandon(local->builds, work->text[0]);
}

/* At most half of the machine, so that a build fits beside jobs that use the other half. */
static bool op_prepare_wants(Runtime *runtime, const RuntimeAttempt *attempt, Resources *ret_wants)
{
        const LocalRuntime *local = (const LocalRuntime *)runtime;
        const EnvironmentRecipe recipe = recipe_of(attempt);

        if (!environment_is_wanted(&recipe))
                return false;
        *ret_wants =
                (Resources){ .cpu_milli = MIN(local->bounds.each.cpu_milli, (local->total.cpu_milli + 1) / 2),
                             .memory = MIN(local->bounds.each.memory, (local->total.memory + 1) / 2) };
        return !resources_is_zero(ret_wants);
}

/* A kind that its queue does not count has a limit as well. */
static Resources limits_of(const LocalRuntime *local, const RuntimeAttempt *attempt)
{
        const Resources *each = &local->bounds.each, *given = &attempt->builder;

        return (Resources){ .cpu_milli = given->cpu_milli ? given->cpu_milli : each->cpu_milli,
                            .memory = given->memory ? given->memory : each->memory };
}

/* `problem` NULL: its environment is ready. */
static void post_prepared(LocalRuntime *local, const char *job_id, const char *problem)
{
        Observation *observation =
                observation_of(problem ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED, job_id, problem);

        observation->preparation = PREPARE_ENVIRONMENT;
        agent_link_post(local->link, observation);
}

static void op_prepare(Runtime *runtime, const RuntimeAttempt *attempt)
{
        LocalRuntime *local = (LocalRuntime *)runtime;
        g_autoptr(GError) failure = NULL;
        g_autoptr(Identity) identity = NULL;
        const EnvironmentRecipe recipe = recipe_of(attempt);

        if (!environment_is_wanted(&recipe)) {
                post_prepared(local, attempt->job->id, NULL);
        } else if (find_identity(local, attempt->job->user, attempt->user_seq, &identity, &failure)) {
                Work *work = work_new(local, prepare, attempt->job->id, attempt->job->spec->requirements,
                                      identity);

                work->user = g_strdup(attempt->job->user);
                work->user_seq = attempt->user_seq;
                work->setup = g_strdup(attempt->job->spec->setup);
                work->setup_files = g_strdup(attempt->job->spec->setup_files);
                work->package = package_of(local, attempt);
                work->limits = limits_of(local, attempt);
                builds_want(local->builds, attempt->job->id);
                work_give(local, work);
        } else {
                post_prepared(local, attempt->job->id, failure->message);
        }
}

static void op_abandon(Runtime *runtime, const char *job_id)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        builds_unwant(local->builds, job_id);
        work_push(local, abandon, job_id, NULL, NULL);
}

static void touch(LocalRuntime *local, Work *work)
{
        builds_touch(local->builds, work->text[0]);
}

static bool op_is_prepared(Runtime *runtime, const RuntimeAttempt *attempt)
{
        LocalRuntime *local = (LocalRuntime *)runtime;
        g_autoptr(Identity) identity = NULL;
        g_autofree char *used = NULL;
        const EnvironmentRecipe recipe = recipe_of(attempt);
        bool prepared;

        if (!environment_is_wanted(&recipe))
                return true;
        prepared = find_identity(local, attempt->job->user, attempt->user_seq, &identity,
                                 NULL) && /* prepare() reports the error */
                   builds_is_prepared(local->builds, &recipe, identity, &used);
        if (used)
                work_push(local, touch, used, NULL, NULL);
        return prepared;
}

static bool op_lease_ports(Runtime *runtime, const char *job_id, int n, int extra, int *ret_ports,
                           GError **error)
{
        return ports_lease(((LocalRuntime *)runtime)->ports, job_id, n + extra, ret_ports, error);
}

static void op_keep_ports(Runtime *runtime, const char *job_id, int n, const int *ports)
{
        ports_keep(((LocalRuntime *)runtime)->ports, job_id, n, ports);
}

static void op_release_ports(Runtime *runtime, const char *job_id)
{
        ports_release(((LocalRuntime *)runtime)->ports, job_id);
}

static void op_inventory(Runtime *runtime, Resources *ret_total)
{
        *ret_total = ((LocalRuntime *)runtime)->total;
}

static char *op_address(Runtime *runtime, const RuntimeAttempt *attempt, const char *role, int index)
{
        return g_strdup("127.0.0.1");
}

/* If the job has its environment already, the path has no link in it. */
static char *environment_log(LocalRuntime *local, const char *job_id)
{
        g_autofree char *key = workdir_environment(local->state_dir, job_id);
        g_autofree char *dir = workdir_job(local->state_dir, job_id);

        if (key)
                return g_build_filename(local->state_dir, "envs", key, "build.log", NULL);
        return g_strconcat(dir, "/environment/build.log", NULL);
}

static bool op_open(Runtime *runtime, ObserveFunc observe, void *arg, GError **error)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        if (access(local->agent_program, X_OK) < 0)
                return err_set_errno(error, errno, "the agent '%s' cannot be run", local->agent_program);
        local->observe = observe;
        local->observe_arg = arg;
        return agent_link_open(local->link, error);
}

static void op_close(Runtime *runtime)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        pthread_mutex_lock(&local->lock);
        local->closing = true; /* the next server copies again */
        pthread_mutex_unlock(&local->lock);
        thread_pool_free(g_steal_pointer(&local->copiers));
        thread_pool_free(g_steal_pointer(&local->workers));
        agent_link_close(local->link);
}

static const RuntimePreparation environment_preparation = {
        .prepare = op_prepare, .is_prepared = op_is_prepared, .wants = op_prepare_wants, .abandon = op_abandon
};

static const RuntimeOps local_ops = {
        .name = "local",
        .open = op_open,
        .close = op_close,
        .inventory = op_inventory,
        .address = op_address,
        .preparations = { [PREPARE_ENVIRONMENT] = &environment_preparation },
        .lease_ports = op_lease_ports,
        .keep_ports = op_keep_ports,
        .release_ports = op_release_ports,
        .start = op_start,
        .stop = op_stop,
        .signal = op_signal,
        .usage = op_usage,
        .report = op_report,
        .gpu_usage = op_gpu_usage,
        .exec = op_exec,
        .forget = op_forget,
        .clean = op_clean,
        .log_path = op_log_path,
};

/* ---- creation ---- */

static bool make_dirs(LocalRuntime *local, GError **error)
{
        static const char *const names[] = { "jobs", "envs", "packages", "storage" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *dir = g_build_filename(local->state_dir, names[i], NULL);

                if (!file_mkdirs(dir, 0755, error))
                        return false;
        }
        return true;
}

/* Members with other uids pass through these directories and see only their own. */
static bool open_dirs(LocalRuntime *local, GError **error)
{
        static const char *const names[] = { "jobs", "envs" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *dir = g_build_filename(local->state_dir, names[i], NULL);

                if (chmod(dir, 0711) < 0)
                        return err_set_errno(error, errno, "cannot change the mode of '%s'", dir);
        }
        return storage_share(local->storage, error);
}

/* Debian has `python3` but no `python`, which users write: a directory with that name, searched last. */
static void make_fallback_path(LocalRuntime *local)
{
        g_autofree char *there = g_find_program_in_path("python");
        g_autofree char *python = there ? NULL : g_find_program_in_path(local->python);
        g_autofree char *dir = g_build_filename(local->state_dir, "bin", NULL);
        g_autofree char *link = g_build_filename(dir, "python", NULL);

        if (!python || !file_mkdirs(dir, 0755, NULL) || (local->identities && chmod(dir, 0755) < 0))
                return;
        if (symlink(python, link) == 0 || errno == EEXIST)
                local->fallback_path = g_steal_pointer(&dir);
}

static char *choose_uv(const char *configured)
{
        if (configured)
                return *configured ? g_strdup(configured) : NULL;
        return g_find_program_in_path("uv");
}

static void configure(LocalRuntime *local, const LocalConfig *config)
{
        g_auto(GStrv) environ_list = g_get_environ();

        local->runtime.ops = &local_ops;
        local->state_dir = g_canonicalize_filename(config->state_dir, NULL);
        local->agent_program = g_strdup(config->agent_program);
        local->dc = g_strdup(config->dc);
        local->identities = config->identities;
        local->projects = config->projects;
        local->ledger = config->ledger;
        local->uv = choose_uv(config->uv);
        local->python = g_strdup(config->python ? config->python : "python3");
        local->log_limit = config->log_limit;
        local->max_processes = config->max_processes;
        local->bounds = config->builds;
        local->bounds.allow = NULL;
        local->max_user_processes =
                config->max_user_processes > 0 ? config->max_user_processes : inventory_processes("/") / 4;
        local->new_privileges = g_strdupv((char **)config->new_privileges);
        local->policy = config->sandbox;
        local->egress = g_strdup(config->egress);
        local->no_sandbox = g_strdupv((char **)config->no_sandbox);
        local->keep = list_with(config->sandbox_keep, local->state_dir); /* members work in it */
        local->inherited = variables_inherit(environ_list);
        local->inherited_by_others = search_path_for_others(local->inherited);
        inventory_get(&config->inventory, &local->total);
        gpus_find("/", &local->gpus);
        local->gpu_meter = gpu_meter_new();
        local->sessions = sessions_new("/proc");
        pthread_mutex_init(&local->lock, NULL);
        local->copies = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, copy_free);
        local->turns = turns_new(COPIES_OF_USER_MAX);
        local->pids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        local->terminals = terminals_new(local->agent_program);
        local->secrets = secret_files_new(local->state_dir, "/dev/shm");
        local->attempts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void connect_parts(LocalRuntime *local, const LocalConfig *config)
{
        g_autofree char *envs_dir = g_build_filename(local->state_dir, "envs", NULL);
        LinkConfig link = { .program = local->agent_program,
                            .state_dir = local->state_dir,
                            .epoch = config->epoch,
                            .sandbox = wanted_parts(local, "", !local->identities),
                            .egress = local->egress,
                            .gpus = local->gpus.n > 0,
                            .deliver = deliver,
                            .arg = local };
        PortsConfig ports = { .seed = g_str_hash(local->state_dir) };
        BuildsConfig builds = { .environment = { envs_dir, local->uv, local->python },
                                .state_dir = local->state_dir,
                                .proxy_program = local->agent_program,
                                .bounds = config->builds,
                                .user_processes = local->max_user_processes,
                                .log_limit = local->log_limit,
                                .sandbox = wanted_parts(local, "", !local->identities),
                                .keep = (const char *const *)local->keep,
                                .egress = local->egress,
                                .gpus = local->gpus,
                                .projects = local->projects };

        local->ports = ports_new(&ports);
        local->link = agent_link_new(&link);
        builds.link = local->link;
        local->builds = builds_new(&builds);
        local->workers = thread_pool_new(&(ThreadPoolConfig){ .name = "workers", .threads = WORKERS_MAX });
        local->copiers = thread_pool_new(&(ThreadPoolConfig){ .name = "copiers", .threads = COPIERS_MAX });
}

Runtime *local_runtime_new(const LocalConfig *config, GError **error)
{
        LocalRuntime *local = g_new0(LocalRuntime, 1);
        g_autofree char *storage_dir = NULL, *spares_dir = NULL;

        configure(local, config);
        storage_dir = g_build_filename(local->state_dir, "storage", NULL);
        spares_dir = g_build_filename(local->state_dir, "jobs", ".spare", NULL);
        if (!make_dirs(local, error) || !(local->storage = storage_open(storage_dir, local->dc, error)) ||
            (local->identities && !open_dirs(local, error)) ||
            !(local->spares = spares_open(spares_dir, error))) {
                local_runtime_free(&local->runtime);
                return NULL;
        }
        storage_set_projects(local->storage, local->projects);
        make_fallback_path(local);
        local->sdk = sdk_write(local->state_dir);
        connect_parts(local, config);
        return &local->runtime;
}

void local_runtime_free(Runtime *runtime)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        if (!local)
                return;
        if (local->link)
                op_close(runtime);
        builds_free(local->builds); /* its clock uses the link */
        agent_link_free(local->link);
        ports_free(local->ports);
        spares_close(local->spares);
        storage_close(local->storage);
        g_hash_table_unref(local->copies);
        turns_free(local->turns);
        terminals_free(local->terminals);
        secret_files_free(local->secrets);
        g_clear_pointer(&local->attempts, g_hash_table_unref);
        g_hash_table_unref(local->pids);
        gpu_meter_free(local->gpu_meter);
        sessions_free(local->sessions);
        pthread_mutex_destroy(&local->lock);
        g_strfreev(local->inherited);
        g_strfreev(local->inherited_by_others);
        g_strfreev(local->new_privileges);
        g_strfreev(local->no_sandbox);
        g_free(local->egress);
        g_strfreev(local->keep);
        g_free(local->fallback_path);
        g_free(local->sdk);
        g_free(local->state_dir);
        g_free(local->agent_program);
        g_free(local->dc);
        g_free(local->uv);
        g_free(local->python);
        g_free(local);
}
