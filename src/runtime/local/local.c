/* The local runtime (see local.h): connects the engine's calls, the link to the agent, the builds, and a few
 * worker threads for slow work (copies of packages, removals, running an interpreter).
 *
 *   engine's thread ── start ──▶ [copy waits for a worker] ──▶ link ──▶ agent
 *                  ◀── observe ── link's thread ◀───────────────┘
 *
 * `copies` has the attempts whose package is being copied, each with its waiting starts; `lock` protects it.
 * Other attempts have their work directory, or have not started; whether the directory exists tells which, so
 * nothing is lost with the process. */
#include "runtime/local/local-internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "model/results.h"
#include "runtime/last-line.h"
#include "runtime/local/inventory.h"
#include "runtime/local/measure.h"
#include "runtime/local/sdk.h"
#include "runtime/local/search-path.h"
#include "runtime/local/variables.h"

/* Copies have separate threads: users decide how long they take, and builds and removals must not wait. */
enum { WORKERS_MAX = 4, COPIERS_MAX = 4, COPIES_OF_USER_MAX = 2 };

Work *local_work_new(LocalRuntime *local, void (*run)(LocalRuntime *, Work *), const char *first,
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
void local_work_run(bool stopped, void *arg)
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
                (void)thread_pool_push(local->workers, NULL, local_work_run, work,
                                       NULL); /* any number may wait */
        else
                work_free(work);
}

static void work_push(LocalRuntime *local, void (*run)(LocalRuntime *, Work *), const char *first,
                      const char *second, const Identity *identity)
{
        work_give(local, local_work_new(local, run, first, second, identity));
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

/* A full disk is no fault of the job: the attempt is repeated, like one that a restart ended. */
void local_post_failure(LocalRuntime *local, const char *task, const GError *failure)
{
        static const int lasting[] = { ERR_INVALID, ERR_NOT_FOUND, ERR_DENIED, ERR_TOO_LARGE };
        bool no_space = err_is(failure, ERR_NO_SPACE);
        Observation *observation =
                observation_of(no_space ? OBSERVED_LOST : OBSERVED_START_FAILED, task, failure->message);

        observation->no_space = no_space;
        for (size_t i = 0; i < G_N_ELEMENTS(lasting); i++)
                observation->permanent |= err_is(failure, lasting[i]);
        agent_link_post(local->link, observation);
}

char *local_attempt_of(const char *task)
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
                g_hash_table_add(local->attempts, local_attempt_of(observation->task));
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

/* ---- the operations ---- */

static void remove_attempt(LocalRuntime *local, Work *work)
{
        local_remove_dir(work->text[0]);
}

static void op_start(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n)
{
        LocalRuntime *local = (LocalRuntime *)runtime;

        for (int i = 0; i < n; i++) {
                g_autoptr(GError) failure = NULL;

                if (!local_start(local, attempt, &members[i], &failure))
                        local_post_failure(local, members[i].task, failure);
        }
}

static void stop_task(LocalRuntime *local, const char *task, gint64 grace_ms)
{
        g_autoptr(GString) line = g_string_new(NULL);

        if (local_withdraw(local, task)) {
                agent_link_post(local->link,
                                observation_of(OBSERVED_LOST, task, "stopped before it was started"));
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
                                  .confined = !local_has_new_privileges(local, start->user) };
        guint parts = PART_CALLS | PART_RIGHTS;

        pthread_mutex_lock(&local->lock);
        target.pid = GPOINTER_TO_INT(g_hash_table_lookup(local->pids, task));
        pthread_mutex_unlock(&local->lock);
        if (target.pid <= 0 || !local_find_identity(local, start->user, start->user_seq, &identity, NULL))
                return NULL;
        target.identity = identity;
        target.sandboxed = (local_wanted_parts(local, start->user, !identity) & parts) == parts &&
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
        bool copying = local_cancel_copy(local, name);

        secret_files_drop(local->secrets, name);
        if (!copying && !workdir_remove_empty(dir, local->spares))
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
        const EnvironmentRecipe recipe = local_recipe(attempt);

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
        const EnvironmentRecipe recipe = local_recipe(attempt);

        if (!environment_is_wanted(&recipe)) {
                post_prepared(local, attempt->job->id, NULL);
        } else if (local_find_identity(local, attempt->job->user, attempt->user_seq, &identity, &failure)) {
                Work *work = local_work_new(local, prepare, attempt->job->id,
                                            attempt->job->spec->requirements, identity);

                work->user = g_strdup(attempt->job->user);
                work->user_seq = attempt->user_seq;
                work->setup = g_strdup(attempt->job->spec->setup);
                work->setup_files = g_strdup(attempt->job->spec->setup_files);
                work->package = local_package(local, attempt);
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
        const EnvironmentRecipe recipe = local_recipe(attempt);
        bool prepared;

        if (!environment_is_wanted(&recipe))
                return true;
        prepared = local_find_identity(local, attempt->job->user, attempt->user_seq, &identity,
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
        local->keep = local_list_with(config->sandbox_keep, local->state_dir); /* members work in it */
        local->inherited = variables_inherit(environ_list);
        local->inherited_by_others = search_path_for_others(local->inherited);
        inventory_get(&config->inventory, &local->total);
        gpus_find("/", &local->gpus);
        local->gpu_meter = gpu_meter_new();
        local->sessions = sessions_new("/proc");
        pthread_mutex_init(&local->lock, NULL);
        local->copies = local_copies_new();
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
                            .sandbox = local_wanted_parts(local, "", !local->identities),
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
                                .sandbox = local_wanted_parts(local, "", !local->identities),
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
