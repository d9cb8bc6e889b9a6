/* Jobs of steps (see step-job.h).
 *
 *   variables ─▶ type, framework, mode ─▶ members: number, flavour, command of each role ─▶ JobRequest ─▶ Spec
 *
 * Values of variables are data here: none of them is part of a shell command, except those that are commands
 * (PF_JOB_WORKER_COMMAND). */
#include "pipeline/step-job.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "jobspec/job-flavour.h"
#include "jobspec/job-mounts.h"
#include "jobspec/job-request.h"

typedef struct {
        const StepRun *run;
        guint32 target; /* the component with command and image */
        const Rendered *rendered;
        JobRequest request;
        bool distributed;
        GArray *mounts;   /* JobMount: of its file systems, the main one first */
        char *work_dir;   /* where its commands begin; NULL: where the job begins */
        GPtrArray *lines; /* char *: its commands */
} Step;

/* ---- variables ---- */

static const char *variable(const Step *step, const char *name)
{
        const char *text = json_string_value(json_object_get(step->rendered->env, name));

        return text ? text : "";
}

/* PF_JOB_WORKER_REPLICAS and so on. The caller's. */
static char *role_variable(PaddleFlowRole role, const char *what)
{
        g_autofree char *upper = g_ascii_strup(paddleflow_role_name(role), -1);

        return g_strdup_printf("PF_JOB_%s_%s", upper, what);
}

/* Only a distributed job has roles. */
static const char *of_role(const Step *step, PaddleFlowRole role, const char *what)
{
        g_autofree char *name = step->distributed ? role_variable(role, what) : NULL;

        return name ? variable(step, name) : "";
}

static const char *text_of(const Step *step, guint32 text)
{
        return definition_text(step->run->definition, text);
}

static bool is_blank(const char *text)
{
        return !text[strspn(text, " \t\r\n")];
}

/* ---- where it waits ---- */

/* Whether the user may submit there is known to the engine, which asks when the job is submitted. */
static bool take_queue(Step *step, GError **error)
{
        static const User anybody = { .admin = true };
        const char *name = variable(step, "PF_JOB_QUEUE_NAME");
        const char *other = step->run->queue ? step->run->queue : QUEUE_SEEDED;

        step->request.queue = catalog_submit_queue(step->run->catalog, *name ? name : other, &anybody, error);
        return step->request.queue &&
               job_priority_parse(variable(step, "PF_JOB_PRIORITY"), &step->request.priority, error);
}

/* ---- type and framework ---- */

static bool has_mode(const Step *step)
{
        const char *mode = variable(step, "PF_JOB_MODE");

        return strcmp(mode, "PS") == 0 || strcmp(mode, "Collective") == 0;
}

/* "vcjob" is the older name of both types. */
static bool take_type(Step *step, GError **error)
{
        const char *type = variable(step, "PF_JOB_TYPE");
        bool older = strcmp(type, "vcjob") == 0;

        step->distributed = strcmp(type, "distributed") == 0 || (older && has_mode(step));
        return step->distributed || !*type || older || strcmp(type, "single") == 0 ||
               err_set(error, ERR_INVALID, "PF_JOB_TYPE: '%.40s' is neither single nor distributed", type);
}

/* Of a distributed job. Those that cannot run here are refused before their members are looked at. */
static bool take_framework(Step *step, GError **error)
{
        static const int nobody[PADDLEFLOW_ROLES];
        const char *said = variable(step, "PF_JOB_FRAMEWORK"),
                   *name = *said || !has_mode(step) ? said : "paddle";
        g_autofree char *lower = g_ascii_strdown(name, -1), *known = paddleflow_framework_distributed();

        step->request.framework = paddleflow_framework_find(lower);
        if (step->request.framework && strcmp(lower, "standalone") != 0)
                return paddleflow_framework_row(step->request.framework, nobody, error);
        if (!*name)
                return err_set(error, ERR_INVALID,
                               "PF_JOB_FRAMEWORK is missing\nA distributed job has one of %s.", known);
        return err_set(error, ERR_INVALID,
                       "PF_JOB_FRAMEWORK: '%.40s' is not a framework of distributed jobs\n"
                       "Known are %s.",
                       name, known);
}

/* ---- file systems ---- */

/* The run's user, after whom mounts without a path are named. */
static const char *user_of(const Step *step)
{
        return variable(step, system_variables[SYSTEM_USER_NAME]);
}

static void add_mount(const Step *step, const StepMount *mount)
{
        const JobMount made = { text_of(step, mount->name), text_of(step, mount->sub_path),
                                text_of(step, mount->mount_path), mount->read_only };

        g_array_append_val(step->mounts, made);
}

/* The directory that was sent with the run stays the place of its commands. */
static bool begins_in_mount(const Step *step)
{
        const Extra *extra = component_extra(step->run->definition, step->target);

        return step->mounts->len && !step->run->package && !extra->package &&
               job_mount_is_work_dir(variable(step, "PF_MOUNT_PATH"));
}

static void take_mounts(Step *step)
{
        const Definition *definition = step->run->definition;
        const Extra *extra = component_extra(definition, step->target);
        const JobMount *first;

        if (definition->has_main_fs)
                add_mount(step, &definition->main_fs);
        for (guint32 i = 0; i < extra->n_mounts; i++)
                add_mount(step, &definition->mounts[extra->mounts + i]);
        for (guint32 i = 0; i < definition->n_extra_mounts; i++)
                add_mount(step, &definition->mounts[definition->extra_mounts + i]);
        if (!begins_in_mount(step))
                return;
        first = &g_array_index(step->mounts, JobMount, 0);
        step->work_dir = *first->path ? g_strdup(first->path) : job_mount_path(user_of(step), first->fs);
}

/* ---- members ---- */

/* The command line of a role, kept for as long as the step. */
static const char *line_of(const Step *step, const char *command)
{
        char *line = step_command(command);

        if (step->work_dir && !is_blank(line)) {
                g_autofree char *alone = line;

                line = job_command_in(step->work_dir, alone);
        }
        g_ptr_array_add(step->lines, line);
        return line;
}

static bool take_flavour(const Step *step, JobMember *member, GError **error)
{
        const StepRun *run = step->run;
        const char *own = of_role(step, member->role, "FLAVOUR");
        g_autoptr(json_t) said = NULL, flavour = NULL;

        member->flavour = *own ? own : variable(step, "PF_JOB_FLAVOUR");
        said = json_pack("{s:s}", "name", member->flavour);
        flavour = job_flavour(run->catalog, step->request.queue, said, error);
        return flavour && job_flavour_amounts(flavour, &member->each, error) &&
               job_flavour_check_limit(run->catalog, step->request.queue, variable(step, JOB_LIMIT_FLAVOUR),
                                       &member->each, error);
}

static bool take_member(Step *step, PaddleFlowRole role, int replicas, GError **error)
{
        JobMember *member = job_request_add(&step->request);
        const char *own = of_role(step, role, "COMMAND");

        member->role = role;
        member->replicas = replicas;
        member->command = line_of(step, *own ? own : step->rendered->command);
        member->image = text_of(step, step->run->definition->components[step->target].image);
        return take_flavour(step, member, error);
}

/* ---- members of a distributed job ---- */

static bool is_said(const Step *step, PaddleFlowRole role)
{
        return *of_role(step, role, "REPLICAS") || *of_role(step, role, "FLAVOUR") ||
               *of_role(step, role, "COMMAND");
}

/* Roles without which there is no job of this framework and mode: one member of them is understood. */
static bool is_implied(const Step *step, PaddleFlowRole role)
{
        static const struct {
                const char *framework, *mode; /* mode NULL: any */
                PaddleFlowRole role;
        } rows[] = {
                { "paddle", "PS", PADDLEFLOW_PSERVER },     { "paddle", NULL, PADDLEFLOW_WORKER },
                { "tensorflow", "PS", PADDLEFLOW_PSERVER }, { "tensorflow", NULL, PADDLEFLOW_WORKER },
                { "pytorch", "PS", PADDLEFLOW_MASTER },     { "pytorch", NULL, PADDLEFLOW_WORKER },
                { "mpi", NULL, PADDLEFLOW_MASTER },         { "mpi", NULL, PADDLEFLOW_WORKER },
                { "spark", NULL, PADDLEFLOW_DRIVER },       { "spark", NULL, PADDLEFLOW_EXECUTOR },
        };
        const char *framework = paddleflow_framework_name(step->request.framework),
                   *mode = variable(step, "PF_JOB_MODE");

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (strcmp(rows[i].framework, framework) == 0 && rows[i].role == role &&
                    (!rows[i].mode || strcmp(rows[i].mode, mode) == 0))
                        return true;
        return false;
}

static bool take_role(Step *step, PaddleFlowRole role, GError **error)
{
        g_autofree char *name = role_variable(role, "REPLICAS");
        const char *text = variable(step, name);
        gint64 replicas = 1;
        PaddleFlowRole same;

        if (!is_said(step, role) && !is_implied(step, role))
                return true;
        if (*text && !number_parse(name, text, 1, SPEC_REPLICAS_MAX, &replicas, error))
                return false;
        return paddleflow_role_parse(step->request.framework, paddleflow_role_name(role), &same, error) &&
               take_member(step, role, (int)replicas, error);
}

static bool check_mode(const Step *step, GError **error)
{
        const char *said = variable(step, "PF_JOB_MODE");

        if (!*said || strcmp(said, step->request.mode) == 0)
                return true;
        if (!*step->request.mode)
                return err_set(error, ERR_INVALID, "PF_JOB_MODE: '%.40s', but jobs of %s have no mode", said,
                               paddleflow_framework_name(step->request.framework));
        return err_set(error, ERR_INVALID,
                       "PF_JOB_MODE: '%.40s', but its members make it a job of the mode %s\n"
                       "A job with members of the role pserver or master has the mode PS.",
                       said, step->request.mode);
}

static bool take_roles(Step *step, GError **error)
{
        for (int role = 0; role < PADDLEFLOW_ROLES; role++)
                if (!take_role(step, (PaddleFlowRole)role, error))
                        return false;
        return job_request_check_counts(&step->request, error) && check_mode(step, error);
}

/* ---- members of any job ---- */

static bool take_single(Step *step, GError **error)
{
        step->request.framework = paddleflow_framework_find("standalone");
        return take_member(step, PADDLEFLOW_WORKER, 1, error) &&
               job_request_check_counts(&step->request, error);
}

static bool check_image(const Step *step, GError **error)
{
        return step->run->image_optional || step->run->definition->components[step->target].image ||
               err_set(error, ERR_INVALID,
                       "the step has no image\nSet docker_env here, for the whole pipeline, or in the request.");
}

/* The program that an image begins with is not run. */
static bool check_command(const Step *step, GError **error)
{
        return !is_blank(step->rendered->command) ||
               err_set(error, ERR_INVALID,
                       "the step has no command\n"
                       "Give it one: the program that its image begins with is not run.");
}

static bool take_members(Step *step, GError **error)
{
        if (!check_image(step, error) || !take_type(step, error))
                return false;
        if (step->distributed ? !take_framework(step, error) || !take_roles(step, error)
                              : !check_command(step, error) || !take_single(step, error))
                return false;
        return job_request_check_sum(step->run->catalog, &step->request, error);
}

/* ---- the specification ---- */

static void put_text(json_t *spec, const char *name, const char *text)
{
        if (text && *text)
                json_object_set_new(spec, name, json_string(text));
}

/* Its own keys go before what was sent with the run. */
static void put_package(const Step *step, const Extra *extra, json_t *spec)
{
        const StepRun *run = step->run;
        const char *own = text_of(step, extra->package), *lines = text_of(step, extra->requirements);

        put_text(spec, "package", *own ? own : run->package);
        if (!*own)
                put_text(spec, "package_name", run->package_name);
        put_text(spec, "requirements", *lines || *own ? lines : run->requirements);
}

static void put_rest(const Step *step, json_t *spec)
{
        const Extra *extra = component_extra(step->run->definition, step->target);
        int retries = job_restart_retries(variable(step, "PF_JOB_RESTART_POLICY"));

        put_package(step, extra, spec);
        if (step->mounts->len)
                json_object_set_new(spec, "mounts",
                                    job_mounts_format(user_of(step), (const JobMount *)step->mounts->data,
                                                      step->mounts->len));
        json_object_set(spec, "env", step->rendered->env);
        if (extra->retries || retries)
                json_object_set_new(spec, "retries", json_integer(extra->retries ? extra->retries : retries));
        if (extra->time_limit_ms)
                json_object_set_new(spec, "time_limit",
                                    json_sprintf("%" G_GINT64_FORMAT "ms", extra->time_limit_ms));
}

static Spec *make(Step *step, const char *name, GError **error)
{
        g_autoptr(json_t) spec = NULL;

        take_mounts(step);
        if (!take_queue(step, error) || !take_members(step, error))
                return NULL;
        spec = job_request_format(&step->request, error);
        if (!spec)
                return NULL;
        job_request_put_place(&step->request, name, spec);
        put_rest(step, spec);
        return spec_parse(spec, error);
}

static void step_init(Step *step)
{
        job_request_init(&step->request);
        step->mounts = g_array_new(FALSE, FALSE, sizeof(JobMount));
        step->lines = g_ptr_array_new_with_free_func(g_free);
}

static void step_clear(Step *step)
{
        job_request_clear(&step->request);
        g_array_unref(step->mounts);
        g_ptr_array_unref(step->lines);
        g_free(step->work_dir);
}

Spec *step_job(const StepRun *run, guint32 component, const char *name, const Rendered *rendered,
               GError **error)
{
        Step step = { .run = run,
                      .target = component_target(run->definition, component),
                      .rendered = rendered };
        g_autoptr(GError) why = NULL;
        Spec *spec;

        step_init(&step);
        spec = make(&step, name, &why);
        if (!spec) {
                g_autofree char *line = err_line(why->message);

                err_set(error, ERR_INVALID, "RE-05: %s", line);
        }
        step_clear(&step);
        return spec;
}

/* ---- names and commands ---- */

char *step_job_name(const char *run_id, const char *step, guint32 node)
{
        g_autofree char *lower = g_ascii_strdown(step, -1);

        return g_strdup_printf("%s-%s-%u", run_id, lower, node);
}

char *step_command(const char *command)
{
        static const char *const shells[] = { "bash -c", "sh -c" };
        const char *text = command + strspn(command, " \t\r\n");

        for (gsize i = 0; i < G_N_ELEMENTS(shells); i++) {
                const char *rest = text + strlen(shells[i]);

                if (!g_str_has_prefix(text, shells[i]) || !*rest || !strchr(" \t\r\n", *rest))
                        continue;
                rest += strspn(rest, " \t\r\n");
                return g_strdup(*rest == '\'' || *rest == '"' ? command : rest);
        }
        return g_strdup(command);
}
