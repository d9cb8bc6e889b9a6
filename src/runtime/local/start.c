/* Starts of members (see local-internal.h): directories, environment, variables, sandbox and devices of a process, and the
 * request to the agent. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "runtime/local/local-internal.h"
#include "runtime/local/variables.h"

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
        g_free(plan->home);
        g_free(plan->mounts);
        g_clear_pointer(&plan->binds, g_ptr_array_unref);
        g_strfreev(plan->env);
        identity_unref(plan->identity);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plan, plan_clear)

EnvironmentRecipe local_recipe(const RuntimeAttempt *attempt)
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
        const Owner *owner = local_owner(plan->identity);
        const EnvironmentRecipe recipe = local_recipe(attempt);
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

/* The agent opens the directories, with the user's rights. Only a home is created here, as for input and output. */
static bool plan_mounts(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task, Plan *plan,
                        GError **error)
{
        const char *user = attempt->job->user;

        if (task->n_mounts == 0)
                return true;
        plan->home = g_build_filename(local->state_dir, "storage", local->dc, "home", user, NULL);
        plan->mounts = g_memdup2(task->mounts, sizeof *task->mounts * (gsize)task->n_mounts);
        for (int i = 0; i < task->n_mounts; i++)
                if (!plan->mounts[i].root)
                        plan->mounts[i].root = plan->home;
        return plan->identity ? storage_make_home(local->storage, user, &plan->identity->owner, error)
                              : file_mkdirs(plan->home, 0755, error);
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

char **local_list_with(char *const *list, const char *one)
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
        g_autofree char *attempt = local_attempt_of(task->task);

        if (!secret_files_wanted(task->secrets, task->n_secrets))
                return true;
        plan->secrets = secret_files_put(local->secrets, attempt, task->secrets, task->n_secrets,
                                         local_owner(plan->identity), error);
        if (!plan->secrets)
                return false;
        plan->keep = local_list_with(local->keep, plan->secrets);
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

bool local_has_new_privileges(const LocalRuntime *local, const char *user)
{
        return names(local->new_privileges, user);
}

guint local_wanted_parts(const LocalRuntime *local, const char *user, bool is_server)
{
        if (is_server || local->policy == SANDBOX_OFF || names(local->no_sandbox, user))
                return 0;
        return PART_PIDS | PART_IPC | PART_FILES |
               (local_has_new_privileges(local, user) ? 0 : PART_CALLS | PART_RIGHTS);
}

static bool plan_sandbox(LocalRuntime *local, const RuntimeAttempt *attempt, Plan *plan, GError **error)
{
        guint wanted = local_wanted_parts(local, attempt->job->user, !plan->identity),
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
        complete.new_privileges = task->n_mounts == 0 && local_has_new_privileges(local, attempt->job->user);
        complete.mounts = plan->mounts;
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

bool local_find_identity(LocalRuntime *local, const char *user, gint64 seq, Identity **ret, GError **error)
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
        const Owner *owner = local_owner(plan->identity);

        if (owner && !own_directory(local, attempt, plan->attempt_dir, error))
                return false;
        if (owner && !workdir_make_ready(plan->attempt_dir, owner, error))
                return false;
        return is_copied(attempt) || workdir_make_empty(plan->attempt_dir, local->spares, owner, error);
}

bool local_start(LocalRuntime *local, const RuntimeAttempt *attempt, const TaskStart *task, GError **error)
{
        g_auto(Plan) plan = { 0 };
        GString *line;

        if (!local_find_identity(local, attempt->job->user, attempt->user_seq, &plan.identity, error) ||
            (plan.identity && !agent_link_check_users(local->link, error)))
                return false;
        plan_paths(local, attempt, task, &plan);
        if (!plan_sandbox(local, attempt, &plan, error) || !plan_environment(local, attempt, &plan, error) ||
            !plan_storage(local, attempt, &plan, error) || !plan_mounts(local, attempt, task, &plan, error) ||
            !make_directories(local, attempt, &plan, error) || !plan_secret_files(local, task, &plan, error))
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
                local_start_with_package(local, attempt, &plan, task->task, line);
                return true;
        }
        (void)agent_link_send(local->link, line); /* not synced: the engine retries */
        g_string_free(line, TRUE);
        return true;
}
