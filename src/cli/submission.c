/* Converts flags to a specification (see submission.h; doc/reference/paddle-cloud.md, "Flags of paddle job
 * submit" and "Cases that a client passes"). */
#include "cli/submission.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/sharing-options.h"
#include "model/framework.h"
#include "model/spec.h"

enum { RETRIES_MAX = 1000, MEMORY_MIN = 1024 * 1024 };

#define FIELD(name) offsetof(Submission, name)

/* clang-format off */
#define JOB_OPTIONS                                                                                         \
        { "job-name", 0, OPTION_STRING, FIELD(job_name), "NAME",                                             \
          "name of the job, unique among your open jobs: lower-case letters, digits, '-'; also --name",      \
          .alias = "name" },                                                                                 \
        { "package-path", 0, OPTION_STRING, FIELD(package_path), "DIR",                                      \
          "directory with the program, sent to the server" },                                                \
        { "input", 0, OPTION_STRING, FIELD(input), "PATH", "input directory on the server's storage" },      \
        { "output", 0, OPTION_STRING, FIELD(output), "PATH", "output directory on the server's storage" },   \
        { "base-image", 0, OPTION_STRING, FIELD(base_image), "IMAGE",                                        \
          "image that the job's pods run in, with its package and requirements; unused on one machine" },    \
        { "use-gpu", 0, OPTION_BOOL, FIELD(use_gpu), NULL, "train on GPUs; needs --trainer-gpu-num" },       \
        { "trainer-gpu-num", 0, OPTION_INT, FIELD(trainer_gpu_num), "N",                                     \
          "GPUs of one trainer", .max = 1024 },                                                              \
        { "env", 'e', OPTION_LIST, FIELD(env), "NAME[=VALUE]",                                               \
          "variable for every process; NAME alone uses its value on this machine" }

#define OWN_OPTIONS                                                                                          \
        { "setup", 0, OPTION_STRING, FIELD(setup), "COMMAND",                                                \
          "run once in a copy of the directory before the job, until it or a file it names changes" },       \
        { "env-file", 0, OPTION_LIST, FIELD(env_files), "PATH",                                              \
          "file of NAME=VALUE lines: variables for every process" },                                         \
        { "secret", 0, OPTION_LIST, FIELD(secrets), "[VARIABLE=]SECRET",                                     \
          "variable with the value of a secret (`paddle secret set`)" },                                     \
        { "secret-file", 0, OPTION_LIST, FIELD(secret_files), "[FILE=]SECRET",                               \
          "file in $PADDLE_SECRETS_DIR with one of your secrets" },                                          \
        { "mount", 0, OPTION_LIST, FIELD(mounts), "FS[/DIR]:PATH[:ro]",                                      \
          "directory of a file system at a path in the job; ro: read-only" },                                \
        { "cpu", 0, OPTION_STRING, FIELD(cpu), "N", "cores of one trainer: 2, 500m" },                       \
        { "memory", 0, OPTION_STRING, FIELD(memory), "SIZE", "memory of one trainer: 512Mi, 2Gi" },          \
        { "gpus", 0, OPTION_INT, FIELD(gpus), "N",                                                           \
          "GPUs of one trainer; short for --use-gpu --trainer-gpu-num N", .max = 1024 },                     \
        { "framework", 0, OPTION_STRING, FIELD(framework), "NAME",                                           \
          "paddle-ps, paddle-collective, plain, tensorflow, pytorch, mpi, spark" },                          \
        SHARE_OPTIONS,                                                                                       \
        { "time-limit", 0, OPTION_STRING, FIELD(time_limit), "TIME",                                         \
          "stop the job after this time: 90s, 15m, 2h" },                                                    \
        { "start-timeout", 0, OPTION_STRING, FIELD(start_timeout), "TIME",                                   \
          "fail when the start makes no progress for this long; 0: never (10m)" },                           \
        { "grace", 0, OPTION_STRING, FIELD(grace), "TIME",                                                   \
          "time between TERM and KILL when the job is stopped (30s)" },                                      \
        { "on-lost", 0, OPTION_STRING, FIELD(on_lost), "WHAT",                                               \
          "after a restart of the machine: retry or fail" },                                                 \
        { "network", 0, OPTION_STRING, FIELD(network), "WHAT",                                               \
          "host, or none: processes of the job can reach only each other" },                                 \
        { "file", 'f', OPTION_STRING, FIELD(file), "FILE",                                                   \
          "job file, YAML or JSON ('-': standard input); options override it" },                             \
        { "no-package", 0, OPTION_BOOL, FIELD(no_package), NULL,                                             \
          "send no directory; the command is on the machine already" },                                      \
        { "allow-large", 0, OPTION_BOOL, FIELD(allow_large), NULL,                                           \
          "send a package of more than 2 GiB or 100,000 files" },                                            \
        { "force", 0, OPTION_BOOL, FIELD(force), NULL,                                                       \
          "submit a command whose program is not in the package" },                                          \
        { "plan", 0, OPTION_BOOL, FIELD(plan), NULL,                                                         \
          "show the files, packages, resources and expected start; then ask" },                              \
        { "idempotency-key", 0, OPTION_STRING, FIELD(idempotency_key), "KEY",                                \
          "a repetition with the same key creates no second job" },                                          \
        { "format", 'o', OPTION_STRING, FIELD(format), "FORM",                                               \
          "table, wide, json, yaml or name", .fallback = "table" }
/* clang-format on */

/* Options that `paddle shell` does not have: its job is one process with a terminal. */
/* clang-format off */
#define MEMBER_OPTIONS                                                                                        \
        { "entry-point", 0, OPTION_STRING, FIELD(entry_point), "COMMAND",                                    \
          "how a process is started, as one text for the shell" },                                           \
        { "ps-cpu", 0, OPTION_STRING, FIELD(ps_cpu), "N", "cores of one parameter server" },                 \
        { "ps-memory", 0, OPTION_STRING, FIELD(ps_memory), "SIZE", "memory of one parameter server" },       \
        { "retries", 0, OPTION_STRING, FIELD(retries), "N", "further attempts after a failure" },            \
        { "no-file", 0, OPTION_BOOL, FIELD(no_file), NULL, "ignore the directory's paddle.yaml" },           \
        { "follow", 0, OPTION_BOOL, FIELD(follow), NULL,                                                     \
          "show stages and logs until the job ends; its success is the exit status" },                       \
        { "array", 0, OPTION_STRING, FIELD(array), "INDICES",                                                \
          "one job per index; %N limits how many run at once: 0-999%50, 1,3,5-7, 0-90:10" },                 \
        { "sweep", 0, OPTION_LIST, FIELD(sweep), "NAME=V1,V2",                                               \
          "one job per value, or per combination of several sweeps; the value is a variable" },              \
        { "sweep-parallel", 0, OPTION_STRING, FIELD(sweep_parallel), "N",                                    \
          "at most N jobs of the sweep at once" },                                                           \
        { "min-trainers", 0, OPTION_INT, FIELD(min_trainers), "N",                                           \
          "start with N trainers; the others join when there is capacity",                                   \
          .min = 1, .max = SPEC_REPLICAS_MAX, .alias = "min" }
/* clang-format on */

const Option submission_options[] = {
        JOB_OPTIONS,
        { "trainers", 'n', OPTION_INT, FIELD(trainers), "N", "number of trainers", .min = 1,
          .max = SPEC_REPLICAS_MAX },
        { "pservers", 0, OPTION_STRING, FIELD(pservers), "N", "number of parameter servers",
          .alias = "pserver" },
        OWN_OPTIONS,
        MEMBER_OPTIONS,
        COMMON_OPTIONS,
        { 0 },
};

const Option submission_short_options[] = {
        { "trainers", 'n', OPTION_INT, FIELD(trainers), "N", "number of trainers", .min = 1,
          .max = SPEC_REPLICAS_MAX },
        { "ps", 0, OPTION_STRING, FIELD(pservers), "N", "number of parameter servers; also --pservers",
          .alias = "pservers" },
        { "pserver", 0, OPTION_STRING, FIELD(pservers), "N" },
        JOB_OPTIONS,
        OWN_OPTIONS,
        MEMBER_OPTIONS,
        COMMON_OPTIONS,
        { 0 },
};

const Option submission_shell_options[] = {
        { "detach", 'd', OPTION_BOOL, FIELD(detach), NULL,
          "start the job and print its name; `paddle attach` connects to it" },
        { "hangup-after", 0, OPTION_STRING, FIELD(hangup_after), "TIME",
          "how long the job continues after its terminal was closed; default: 60s" },
        JOB_OPTIONS,
        OWN_OPTIONS,
        /* hidden; they have their own error message */
        { "follow", 0, OPTION_BOOL, FIELD(follow), NULL },
        { "no-file", 0, OPTION_BOOL, FIELD(no_file), NULL },
        { "entry-point", 0, OPTION_STRING, FIELD(entry_point), "COMMAND" },
        { "ps-cpu", 0, OPTION_STRING, FIELD(ps_cpu), "N" },
        { "ps-memory", 0, OPTION_STRING, FIELD(ps_memory), "SIZE" },
        { "retries", 0, OPTION_STRING, FIELD(retries), "N" },
        { "array", 0, OPTION_STRING, FIELD(array), "INDICES" },
        { "sweep", 0, OPTION_LIST, FIELD(sweep), "NAME=V1,V2" },
        { "sweep-parallel", 0, OPTION_STRING, FIELD(sweep_parallel), "N" },
        COMMON_OPTIONS,
        { 0 },
};

/* ---- checks ---- */

static bool check_gpus(const Submission *s, GError **error)
{
        if (s->gpus > 0 && s->trainer_gpu_num > 0 && s->gpus != s->trainer_gpu_num)
                return err_set(error, ERR_USAGE, "--gpus=%d cannot be combined with --trainer-gpu-num=%d",
                               (int)s->gpus, (int)s->trainer_gpu_num);
        if (s->use_gpu && s->trainer_gpu_num == 0 && s->gpus == 0)
                return err_set(
                        error, ERR_USAGE,
                        "--use-gpu=true needs --trainer-gpu-num\nSet the number of GPUs of a trainer: --trainer-gpu-num=1");
        if (!s->use_gpu && s->trainer_gpu_num > 0)
                return err_set(error, ERR_USAGE, "--trainer-gpu-num=%d needs --use-gpu=true",
                               (int)s->trainer_gpu_num);
        return true;
}

static bool retries_parse(const char *what, const char *text, gint64 *ret, GError **error)
{
        return number_parse(what, text, 0, RETRIES_MAX, ret, error);
}

/* Refuses a few bytes: the user forgot the unit. */
static bool check_memory(const Spec *spec, GError **error)
{
        for (int r = 0; r < spec->n_roles; r++) {
                gint64 memory = spec->roles[r].each.memory;

                if (memory > 0 && memory < MEMORY_MIN)
                        return err_set(
                                error, ERR_USAGE,
                                "memory: %" G_GINT64_FORMAT
                                " bytes for each %s are too little for a program\nAdd a unit: 4Gi for 4 gigabytes, 512Mi for 512 megabytes.",
                                memory, spec->roles[r].name);
        }
        return true;
}

static bool check_quantities(const Submission *s, GError **error)
{
        const struct {
                const char *what, *text;
                bool (*parse)(const char *what, const char *text, gint64 *ret, GError **error);
        } rows[] = {
                { "--cpu", s->cpu, cpu_parse },
                { "--memory", s->memory, memory_parse },
                { "--ps-cpu", s->ps_cpu, cpu_parse },
                { "--ps-memory", s->ps_memory, memory_parse },
                { "--time-limit", s->time_limit, duration_parse_unit },
                { "--start-timeout", s->start_timeout, duration_parse_unit },
                { "--grace", s->grace, duration_parse_unit },
                { "--hangup-after", s->hangup_after, duration_parse_unit },
                { "--retries", s->retries, retries_parse },
        };
        gint64 value;

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (rows[i].text && !rows[i].parse(rows[i].what, rows[i].text, &value, error))
                        return false;
        return true;
}

/* True if the job file has a value for the field `name`. */
static bool in_file(const json_t *file, const char *name)
{
        return is_set(file, name);
}

static bool check_needed(const Submission *s, const json_t *file, GError **error)
{
        if (!s->job_name && !in_file(file, "name") && !in_file(file, "job_name"))
                return err_set(error, ERR_USAGE,
                               "--job-name is missing\n`paddle submit` makes a name by itself.");
        if (!s->entry_point && !in_file(file, "command") && !in_file(file, "entry_point"))
                return err_set(
                        error, ERR_USAGE,
                        "--entry-point is missing\nSet the command of a trainer: --entry-point=\"python train.py\"");
        if (!s->package_path && !s->no_package && !in_file(file, "package_path") && !in_file(file, "package"))
                return err_set(error, ERR_USAGE,
                               "--package-path is missing\nName the directory of the program "
                               "(--package-path=.), or use --no-package.");
        return true;
}

/* A framework with a program for each of its roles, such as Spark, needs no command. */
static bool brings_programs(const char *name)
{
        const Framework *framework = name ? framework_find(name) : NULL;

        for (int i = 0; framework && framework->roles[i].name; i++)
                if (!framework->roles[i].program)
                        return false;
        return framework != NULL;
}

static bool check_words(const Submission *s, SubmitForm form, char *const *words, const json_t *file,
                        GError **error)
{
        if (form == SUBMIT_FLAGS && words[0])
                return err_set(error, ERR_USAGE,
                               "'%s' is not expected here\nThe command goes into --entry-point=\"...\"",
                               words[0]);
        if (words[0] && s->entry_point)
                return err_set(error, ERR_USAGE,
                               "the command '%s ...' cannot be combined with --entry-point='%s'", words[0],
                               s->entry_point);
        if (s->file && in_file(file, "entry_points"))
                return err_set(error, ERR_USAGE,
                               "'%s' is a pipeline, not a job file\n`paddle run create -f %s` runs it.",
                               s->file, s->file);
        if (form == SUBMIT_WORDS && !words[0] && !s->entry_point && !in_file(file, "command") &&
            !in_file(file, "entry_point") && !brings_programs(s->framework))
                return s->file ? err_set(error, ERR_USAGE,
                                         "'%s' has no command\nIt needs a line such as "
                                         "`command: [python, train.py]`.",
                                         s->file)
                               : err_set(error, ERR_USAGE,
                                         "a command is missing\nName the command: paddle submit -- python "
                                         "train.py\n`paddle init` "
                                         "writes a job file, paddle.yaml, which `paddle submit` uses.");
        if (form == SUBMIT_WORDS && words[0] && !*words[0])
                return err_set(error, ERR_USAGE, "the command is an empty word");
        return form == SUBMIT_WORDS || check_needed(s, file, error);
}

/* The command is for roles that have none of their own. */
static bool check_roles(const Submission *s, char *const *words, const json_t *spec, GError **error)
{
        const json_t *roles = json_object_get(spec, "roles"), *role;
        gsize i;

        if (!s->file || (!words[0] && !s->entry_point) || json_array_size(roles) == 0)
                return true;
        json_array_foreach(roles, i, role) {
                if (!is_set(role, "command"))
                        return true;
        }
        return err_set(error, ERR_USAGE,
                       "each role in '%s' has a command of its own, so the given command would not run\n"
                       "Take a role's command out of the file, or submit without the file (--no-file).",
                       s->file);
}

static bool check_elastic(const Submission *s, const json_t *file, GError **error)
{
        gint64 trainers = MAX(s->trainers, 1);

        if (s->min_trainers <= trainers || (!s->trainers && in_file(file, "roles")))
                return true;
        return err_set(error, ERR_USAGE, "--min-trainers=%d is more than --trainers=%d", (int)s->min_trainers,
                       (int)trainers);
}

static bool check_package(const Submission *s, const json_t *file, GError **error)
{
        struct stat info;

        if (is_set(file, "package_path") && !*text_of(file, "package_path")) {
                g_autofree char *shown = json_format(json_object_get(file, "package_path"));

                return err_set(error, ERR_USAGE, "package_path: '%.40s' is not the name of a directory",
                               shown);
        }
        if (s->no_package && s->package_path)
                return err_set(error, ERR_USAGE, "--no-package cannot be combined with --package-path='%s'",
                               s->package_path);
        if (!s->package_path)
                return true;
        if (!*s->package_path || stat(s->package_path, &info) < 0)
                return err_set(error, ERR_USAGE, "--package-path: '%s' does not exist", s->package_path);
        if (!S_ISDIR(info.st_mode))
                return err_set(error, ERR_USAGE, "--package-path: '%s' is not a directory", s->package_path);
        return true;
}

static bool check_servers(const Submission *s, const json_t *file, GError **error)
{
        gint64 servers = 0;

        if (s->pservers && !number_parse("--pservers", s->pservers, 0, SPEC_REPLICAS_MAX, &servers, error))
                return false;
        if (servers == 0 && !in_file(file, "roles") && !in_file(file, "pservers") &&
            (s->ps_cpu || s->ps_memory))
                return err_set(error, ERR_USAGE, "%s needs --pservers of 1 or more",
                               s->ps_cpu ? "--ps-cpu" : "--ps-memory");
        if (s->framework && !framework_find(s->framework)) {
                g_autofree char *names = framework_names();

                return err_set(error, ERR_USAGE, "--framework: '%s' is not known; it is one of %s",
                               s->framework, names);
        }
        if (servers > 0 && s->framework && !framework_role(framework_find(s->framework), "pserver"))
                return err_set(
                        error, ERR_USAGE,
                        "--pservers=%d cannot be combined with --framework=%s: it has no parameter servers",
                        (int)servers, s->framework);
        return true;
}

/* ---- building ---- */

json_t *submission_text(const char *what, const char *text, GError **error)
{
        json_t *value = json_string(text);
        g_autofree char *shown = value ? NULL : g_utf8_make_valid(text, -1);

        if (!value)
                err_set(error, ERR_USAGE,
                        "%s: '%.200s' is not UTF-8\nA program can read such bytes from a file of its "
                        "package.",
                        what, shown);
        return value;
}

bool submission_put_texts(json_t *object, const SubmissionText *texts, gsize n, GError **error)
{
        for (gsize i = 0; i < n; i++) {
                json_t *value = texts[i].text ? submission_text(texts[i].option, texts[i].text, error) : NULL;

                if (!texts[i].text)
                        continue;
                if (!value)
                        return false;
                json_object_set_new(object, texts[i].member, value);
        }
        return true;
}

static bool has_role(const json_t *spec, const char *name)
{
        gsize i;
        const json_t *role;

        json_array_foreach(json_object_get(spec, "roles"), i, role) {
                if (strcmp(text_of(role, "name"), name) == 0)
                        return true;
        }
        return false;
}

/* The role of this name in the object's list, created if missing. For the trainers, the only other role of a
 * list. */
static json_t *role_of(json_t *spec, const char *name)
{
        json_t *roles = json_object_get(spec, "roles"), *role;
        gsize i;

        if (!json_is_array(roles)) {
                roles = json_array();
                json_object_set_new(spec, "roles", roles);
        }
        json_array_foreach(roles, i, role)
                if (strcmp(text_of(role, "name"), name) == 0)
                        return role;
        if (json_array_size(roles) == 1 && strcmp(name, "trainer") == 0 &&
            strcmp(text_of(json_array_get(roles, 0), "name"), "pserver") != 0)
                return json_array_get(roles, 0);
        role = json_pack("{s:s, s:i}", "name", name, "replicas", 1);
        json_array_append_new(roles, role);
        return role;
}

static void put_int(json_t *object, const char *name, gint64 value)
{
        if (value > 0)
                json_object_set_new(object, name, json_integer(value));
}

/* The framework's name of the processes that --trainers counts. */
static const char *trainer_role(const Submission *s)
{
        const Framework *framework = s->framework ? framework_find(s->framework) : NULL;

        return framework ? framework->main_role : "trainer";
}

static bool put_roles(json_t *spec, const Submission *s, GError **error)
{
        gint64 gpus = MAX(s->gpus, s->trainer_gpu_num), servers = 0;
        json_t *role;

        if (s->pservers && !number_parse("--pservers", s->pservers, 0, SPEC_REPLICAS_MAX, &servers, error))
                return false;
        /* 0 servers matter only if a job file has some */
        if (servers > 0 || (s->pservers && has_role(spec, "pserver")) || s->ps_cpu || s->ps_memory) {
                role = role_of(spec, "pserver");
                if (s->pservers)
                        json_object_set_new(role, "replicas", json_integer(servers));
                if (!PUT_TEXTS(role, error, { "cpu", "--ps-cpu", s->ps_cpu },
                               { "memory", "--ps-memory", s->ps_memory }))
                        return false;
        }
        if (s->trainers || s->pservers || s->cpu || s->memory || gpus || submission_speaks_of_role(s)) {
                role = role_of(spec, trainer_role(s));
                put_int(role, "replicas", s->trainers);
                put_int(role, "gpus", gpus);
                if (!PUT_TEXTS(role, error, { "cpu", "--cpu", s->cpu },
                               { "memory", "--memory", s->memory }) ||
                    !submission_put_role(s, role, error))
                        return false;
        }
        return true;
}

/* One word with blanks is a shell line, like --entry-point; several words are a program and its arguments. */
static bool put_command(json_t *spec, const Submission *s, char *const *words, GError **error)
{
        bool is_line = words[0] && !words[1] && strpbrk(words[0], " \t\n");
        g_autoptr(json_t) list = NULL;

        if (!words[0] || is_line)
                return PUT_TEXTS(spec, error,
                                 { "command", is_line ? "word 1 of the command" : "--entry-point",
                                   is_line ? words[0] : s->entry_point });
        list = json_array();
        for (int i = 0; words[i]; i++) {
                g_autofree char *what = g_strdup_printf("word %d of the command", i + 1);
                json_t *word = submission_text(what, words[i], error);

                if (!word)
                        return false;
                json_array_append_new(list, word);
        }
        json_object_set(spec, "command", list);
        return true;
}

/* The field that marks a file of the older form; NULL: it is not one. */
static const char *cloud_member(const json_t *file)
{
        static const char *const names[] = { "job_name", "entry_point", "trainers",
                                             "pservers", "base_image",  "trainer_gpu_num" };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                if (json_object_get(file, names[i]))
                        return names[i];
        return NULL;
}

/* "trainers: 4" together with "command". */
static void refuse_mixture(const json_t *file, GError **error)
{
        bool has_command = is_set(file, "command");

        err_set(error, ERR_USAGE,
                "%s: it cannot be combined with '%s', which is of the newer form of job files\nSet the "
                "number of processes with `roles: [{name: trainer, replicas: 4}]`, or with -n 4.",
                cloud_member(file), has_command ? "command" : "roles");
}

/* The job file as a specification object, without package_path, which only the client uses. */
static json_t *base_object(const json_t *file, GError **error)
{
        g_autoptr(json_t) copy = file ? json_deep_copy(file) : json_object();

        if (!json_is_object(copy)) {
                err_set(error, ERR_USAGE, "the job file is not a list of 'field: value' lines");
                return NULL;
        }
        json_object_del(copy, "package_path");
        if (cloud_member(copy) && (is_set(copy, "command") || is_set(copy, "roles"))) {
                refuse_mixture(copy, error);
                return NULL;
        }
        return cloud_member(copy) ? spec_from_cloud_job(copy, error) : g_steal_pointer(&copy);
}

static bool put_flags(json_t *spec, const Submission *s, GError **error)
{
        if (s->retries) /* checked before; 0 is a value as well */
                json_object_set_new(spec, "retries", json_integer(g_ascii_strtoll(s->retries, NULL, 10)));
        if (s->use_gpu || s->gpus)
                json_object_set_new(spec, "use_gpu", json_true());
        return PUT_TEXTS(spec, error, { "name", "--job-name", s->job_name },
                         { "framework", "--framework", s->framework }, { "setup", "--setup", s->setup },
                         { "image", "--base-image", s->base_image }, { "input", "--input", s->input },
                         { "output", "--output", s->output }, { "on_lost", "--on-lost", s->on_lost },
                         { "network", "--network", s->network },
                         { "time_limit", "--time-limit", s->time_limit },
                         { "start_timeout", "--start-timeout", s->start_timeout },
                         { "grace", "--grace", s->grace });
}

static char *package_of(const Submission *s, SubmitForm form, const json_t *file)
{
        if (s->no_package)
                return NULL;
        if (s->package_path)
                return g_strdup(s->package_path);
        if (is_set(file, "package_path"))
                return g_strdup(text_of(file, "package_path"));
        return form == SUBMIT_WORDS && !is_set(file, "package") ? g_strdup(".") : NULL;
}

static bool build(const Submission *s, SubmitForm form, char *const *words, const json_t *file,
                  json_t **ret_spec, GError **error)
{
        g_autoptr(json_t) spec = NULL;
        g_autoptr(Spec) checked = NULL;

        if (!check_words(s, form, words, file, error) || !check_gpus(s, error) ||
            !check_quantities(s, error) || !check_servers(s, file, error) || !check_elastic(s, file, error) ||
            !check_package(s, file, error))
                return false;
        spec = base_object(file, error);
        if (!spec || !check_roles(s, words, spec, error))
                return false;
        if (!put_flags(spec, s, error) || !put_command(spec, s, words, error) ||
            !submission_put_env(s, spec, error) || !submission_put_mounts(s, spec, error) ||
            !put_roles(spec, s, error) || !submission_put_sharing(s, spec, clock_now_ms(), error))
                return false;
        checked = spec_parse(spec, error);
        if (!checked || !check_memory(checked, error))
                return false;
        *ret_spec = g_steal_pointer(&spec);
        return true;
}

bool submission_spec(const Submission *submission, SubmitForm form, char *const *words, const json_t *file,
                     json_t **ret_spec, char **ret_package, GError **error)
{
        g_autoptr(GError) cause = NULL;

        if (!build(submission, form, words, file, ret_spec, &cause)) {
                if (submission->file)
                        submission_place_fault(submission->file, &cause);
                return err_set(error, ERR_USAGE, "%s", cause->message);
        }
        *ret_package = package_of(submission, form, file);
        return true;
}
