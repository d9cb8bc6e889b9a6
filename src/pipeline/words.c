/* The tables of words.h. */
#include "pipeline/words.h"

#include <string.h>

#include "base/document.h"
#include "base/word.h"
#include "model/mount.h"

enum { WORD_MAX = 1024 }; /* bytes of what names something that is looked for: no name is longer */

#define BOOL (1U << DOCUMENT_BOOL)
#define INT (1U << DOCUMENT_INT)
#define FLOAT (1U << DOCUMENT_FLOAT)
#define TEXT (1U << DOCUMENT_TEXT)
#define LIST (1U << DOCUMENT_LIST)
#define MAP (1U << DOCUMENT_MAP)
#define ANY (BOOL | INT | FLOAT | TEXT | LIST | MAP)

/* clang-format off */
const KeyRow key_rows[KEYS] = {
        [KEY_NAME] = { "name", NULL, IN_TOP | IN_STEP | IN_DAG | IN_MOUNT | IN_SCOPE, TEXT, "text" },
        [KEY_DOCKER_ENV] = { "docker_env", "dockerEnv", IN_TOP | IN_STEP, TEXT, "text" },
        [KEY_ENTRY_POINTS] = { "entry_points", "entryPoints", IN_TOP | IN_DAG, MAP, "a map of components" },
        [KEY_COMPONENTS] = { "components", NULL, IN_TOP, MAP, "a map of components" },
        [KEY_CACHE] = { "cache", NULL, IN_TOP | IN_STEP, MAP, "a map" },
        [KEY_PARALLELISM] = { "parallelism", NULL, IN_TOP, INT | FLOAT, "a whole number" },
        [KEY_DISABLED] = { "disabled", NULL, IN_TOP, TEXT, "text" },
        [KEY_FAILURE_OPTIONS] = { "failure_options", "failureOptions", IN_TOP, MAP, "a map" },
        [KEY_POST_PROCESS] = { "post_process", "postProcess", IN_TOP, MAP, "a map with one step" },
        [KEY_FS_OPTIONS] = { "fs_options", "fsOptions", IN_TOP, MAP, "a map" },
        [KEY_COMMAND] = { "command", NULL, IN_STEP, TEXT, "text", PIPELINE_TEXT_MAX },
        [KEY_PARAMETERS] = { "parameters", NULL, IN_STEP | IN_DAG, MAP, "a map" },
        [KEY_ENV] = { "env", NULL, IN_STEP | IN_TOP_JSON, MAP, "a map" },
        [KEY_ARTIFACTS] = { "artifacts", NULL, IN_STEP | IN_DAG, MAP, "a map" },
        [KEY_DEPS] = { "deps", NULL, IN_STEP | IN_DAG, TEXT, "text: names separated by commas" },
        [KEY_CONDITION] = { "condition", NULL, IN_STEP | IN_DAG, TEXT, "text", PIPELINE_TEXT_MAX },
        [KEY_LOOP_ARGUMENT] = { "loop_argument", "loopArgument", IN_STEP | IN_DAG, ANY, "a list or text" },
        [KEY_EXTRA_FS] = { "extra_fs", "extraFS", IN_STEP | IN_FS_OPTIONS, LIST, "a list of maps" },
        [KEY_REFERENCE] = { "reference", NULL, IN_STEP, MAP, "a map: {component: NAME}" },
        [KEY_TYPE] = { "type", NULL, IN_STEP | IN_DAG, TEXT, "text" },
        [KEY_RETRIES] = { "retries", NULL, IN_STEP, INT | FLOAT, "a whole number" },
        [KEY_TIME_LIMIT] = { "time_limit", "timeLimit", IN_STEP, INT | FLOAT | TEXT, "seconds or a duration such as 2h" },
        [KEY_PACKAGE] = { "package", NULL, IN_STEP, TEXT, "text" },
        [KEY_REQUIREMENTS] = { "requirements", NULL, IN_STEP, TEXT | LIST, "text or a list of texts" },
        [KEY_ENABLE] = { "enable", NULL, IN_CACHE, BOOL, "true or false" },
        [KEY_MAX_EXPIRED_TIME] = { "max_expired_time", "maxExpiredTime", IN_CACHE, INT | FLOAT | TEXT, "a whole number of seconds" },
        [KEY_FS_SCOPE] = { "fs_scope", "fsScope", IN_CACHE, LIST, "a list of maps" },
        [KEY_FINGERPRINT] = { "fingerprint", NULL, IN_CACHE, TEXT, "text" },
        [KEY_PATH] = { "path", NULL, IN_SCOPE, TEXT, "text" },
        [KEY_ID] = { "id", NULL, IN_MOUNT | IN_SCOPE, ANY, "text" },
        [KEY_MOUNT_PATH] = { "mount_path", "mountPath", IN_MOUNT, TEXT, "text", MOUNT_PATH_MAX },
        [KEY_SUB_PATH] = { "sub_path", "subPath", IN_MOUNT, TEXT, "text", MOUNT_PATH_MAX },
        [KEY_READ_ONLY] = { "read_only", "readOnly", IN_MOUNT, BOOL, "true or false" },
        [KEY_MAIN_FS] = { "main_fs", "mainFS", IN_FS_OPTIONS, MAP, "a map" },
        [KEY_STRATEGY] = { "strategy", NULL, IN_FAILURE_OPTIONS, TEXT, "text" },
        [KEY_INPUT] = { "input", NULL, IN_ARTIFACTS, MAP, "a map" },
        [KEY_OUTPUT] = { "output", NULL, IN_ARTIFACTS, LIST | MAP, "a list of names" },
        [KEY_COMPONENT] = { "component", NULL, IN_REFERENCE, TEXT, "text" },
        [KEY_QUEUE] = { "queue", NULL, IN_TOP_JSON | IN_STEP_JSON, TEXT, "text", WORD_MAX },
        [KEY_FLAVOUR] = { "flavour", NULL, IN_TOP_JSON | IN_STEP_JSON, TEXT, "text", WORD_MAX },
        [KEY_JOB_TYPE] = { "jobType", "job_type", IN_TOP_JSON | IN_STEP_JSON, TEXT, "text", WORD_MAX },
        [KEY_USERNAME] = { "username", NULL, IN_TOP_JSON, TEXT, "text" },
        [KEY_DESCRIPTION] = { "description", "desc", IN_TOP_JSON, TEXT, "text" },
};
/* clang-format on */

const char *const system_variables[SYSTEM_VARIABLES + 1] = {
        [SYSTEM_RUN_ID] = "PF_RUN_ID",
        [SYSTEM_STEP_NAME] = "PF_STEP_NAME",
        [SYSTEM_USER_NAME] = "PF_USER_NAME",
        [SYSTEM_LOOP_ARGUMENT] = PIPELINE_LOOP_ARGUMENT,
};

Key key_find(const char *name, guint places, bool json)
{
        for (Key key = 0; key < KEYS; key++)
                if ((key_rows[key].places & places) &&
                    (strcmp(key_rows[key].name, name) == 0 ||
                     (json && key_rows[key].json && strcmp(key_rows[key].json, name) == 0)))
                        return key;
        return KEYS;
}

/* ---- wrong keys ---- */

/* Words of other systems (Argo, Kubeflow, Airflow, GitLab, Slurm) for our keys. */
static const struct {
        const char *word;
        Key key;
} foreign_words[] = {
        { "image", KEY_DOCKER_ENV },
        { "container", KEY_DOCKER_ENV },
        { "script", KEY_COMMAND },
        { "run", KEY_COMMAND },
        { "depends", KEY_DEPS },
        { "depends_on", KEY_DEPS },
        { "dependencies", KEY_DEPS },
        { "needs", KEY_DEPS },
        { "after", KEY_DEPS },
        { "when", KEY_CONDITION },
        { "if", KEY_CONDITION },
        { "withItems", KEY_LOOP_ARGUMENT },
        { "withParam", KEY_LOOP_ARGUMENT },
        { "with_items", KEY_LOOP_ARGUMENT },
        { "loop", KEY_LOOP_ARGUMENT },
        { "for_each", KEY_LOOP_ARGUMENT },
        { "foreach", KEY_LOOP_ARGUMENT },
        { "matrix", KEY_LOOP_ARGUMENT },
        { "steps", KEY_ENTRY_POINTS },
        { "tasks", KEY_ENTRY_POINTS },
        { "jobs", KEY_ENTRY_POINTS },
        { "dag", KEY_ENTRY_POINTS },
        { "templates", KEY_COMPONENTS },
        { "template", KEY_REFERENCE },
        { "arguments", KEY_PARAMETERS },
        { "environment", KEY_ENV },
        { "variables", KEY_ENV },
        { "retry", KEY_RETRIES },
        { "retryStrategy", KEY_RETRIES },
        { "max_retries", KEY_RETRIES },
        { "timeout", KEY_TIME_LIMIT },
        { "activeDeadlineSeconds", KEY_TIME_LIMIT },
        { "onExit", KEY_POST_PROCESS },
        { "on_exit", KEY_POST_PROCESS },
        { "finally", KEY_POST_PROCESS },
        { "max_parallel", KEY_PARALLELISM },
        { "memoize", KEY_CACHE },
};

/* What a step says with a variable. */
static const char *const job_words[][2] = {
        { "queue", "PF_JOB_QUEUE_NAME" },    { "partition", "PF_JOB_QUEUE_NAME" },
        { "flavour", "PF_JOB_FLAVOUR" },     { "flavor", "PF_JOB_FLAVOUR" },
        { "resources", "PF_JOB_FLAVOUR" },   { "cpu", "PF_JOB_FLAVOUR" },
        { "memory", "PF_JOB_FLAVOUR" },      { "gpu", "PF_JOB_FLAVOUR" },
        { "gpus", "PF_JOB_FLAVOUR" },        { "priority", "PF_JOB_PRIORITY" },
        { "framework", "PF_JOB_FRAMEWORK" }, { "replicas", "PF_JOB_WORKER_REPLICAS" },
};

static const struct {
        KeyPlace place;
        const char *words;
} place_words[] = {
        { IN_TOP, "the top level" },
        { IN_STEP, "a step" },
        { IN_DAG, "a component with entry_points" },
        { IN_CACHE, "cache" },
        { IN_MOUNT, "main_fs and of an item of extra_fs" },
        { IN_SCOPE, "an item of fs_scope" },
        { IN_FS_OPTIONS, "fs_options" },
        { IN_FAILURE_OPTIONS, "failure_options" },
        { IN_ARTIFACTS, "artifacts" },
        { IN_REFERENCE, "reference" },
};

static const char *job_variable(const char *name, guint places)
{
        for (gsize i = 0; (places & IN_STEP) && i < G_N_ELEMENTS(job_words); i++)
                if (strcmp(name, job_words[i][0]) == 0)
                        return job_words[i][1];
        return NULL;
}

Key key_nearest(const char *name, guint places)
{
        guint wide = places | (places & IN_STEP ? IN_DAG : 0); /* a step with entry_points is a DAG */
        const char *names[KEYS + 1], *nearest;
        int n = 0;

        if (job_variable(name, places))
                return KEYS;
        for (gsize i = 0; i < G_N_ELEMENTS(foreign_words); i++)
                if (strcmp(name, foreign_words[i].word) == 0 &&
                    (key_rows[foreign_words[i].key].places & wide))
                        return foreign_words[i].key;
        for (Key key = 0; key < KEYS; key++)
                if (key_rows[key].places & places)
                        names[n++] = key_rows[key].name;
        names[n] = NULL;
        nearest = word_nearest(name, names);
        return nearest ? key_find(nearest, places, false) : KEYS;
}

/* Where a key of this name belongs, or NULL. */
static const char *place_of(const char *name)
{
        for (gsize i = 0; i < G_N_ELEMENTS(place_words); i++)
                if (key_find(name, place_words[i].place, false) < KEYS)
                        return place_words[i].words;
        return NULL;
}

static char *possible_keys(guint places)
{
        GString *out = g_string_new("Possible keys:");

        for (Key key = 0; key < KEYS; key++)
                if (key_rows[key].places & places)
                        g_string_append_printf(out, "%s%s", out->str[out->len - 1] == ':' ? " " : ", ",
                                               key_rows[key].name);
        g_string_append_c(out, '.');
        return g_string_free(out, FALSE);
}

char *key_advice(const char *name, guint places, Key meant)
{
        const char *variable = job_variable(name, places), *place = place_of(name);

        if (meant < KEYS)
                return g_strdup_printf("Did you mean '%s'?", key_rows[meant].name);
        if (variable)
                return g_strdup_printf("Set %s in the step's env.", variable);
        return place ? g_strdup_printf("'%s' is a key of %s.", name, place) : possible_keys(places);
}

SystemVariable system_variable_find(const char *name)
{
        for (SystemVariable i = 0; i < SYSTEM_VARIABLES; i++)
                if (strcmp(system_variables[i], name) == 0)
                        return i;
        return SYSTEM_VARIABLES;
}

/* A first character of letters (and '_' if `underscore`), then characters of `set`, at most `max` in all. */
static bool is_name(const char *name, bool underscore, const char *set, size_t max)
{
        size_t len = strlen(name);

        if (!g_ascii_isalpha(*name) && !(underscore && *name == '_'))
                return false;
        return len <= max && strspn(name, set) == len;
}

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

bool pipeline_name_is_valid(const char *name)
{
        return is_name(name, true, LETTERS_DIGITS "_-", 128);
}

bool component_name_is_valid(const char *name)
{
        return is_name(name, false, LETTERS_DIGITS "-", 30);
}

bool variable_name_is_valid(const char *name)
{
        return is_name(name, true, LETTERS_DIGITS "_", 50);
}
