/* Python environments (see environment.h).
 *
 * What always holds: `ready` exists only beside a whole venv/ that has reached the disk, because the builder
 * makes it last, after a sync, under the lock; a venv/ without it is the remains of a builder that died and
 * is wiped by the next. */
#include "runtime/environment/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "fs/package.h"
#include "runtime/environment/settings.h"

#define BANNER "== building"

enum {
        LOG_TAIL = 64 * 1024, /* what a failure is searched in */
        REASON_MAX = 400,     /* of a reason shown in a status */
        KEY_LEN = 32, /* 128 bits of the hash: enough for a name, short enough for paths of interpreters in #!
                         lines */
};

/* $1 directory of the environment, $2 interpreter, $3 uv or empty, $4 "--no-index" or empty. */
static const char build_script[] =
        "set -eu\n"
        "cd \"$1\"\n"
        "exec 9>lock\n"
        "flock -n 9 || { echo 'Another builder has this environment: waiting for it.'; flock 9; }\n"
        "if [ -e ready ]; then echo 'Ready already.'; exit 0; fi\n"
        "echo \"" BANNER " $(date -u +%Y-%m-%dT%H:%M:%SZ)\"\n"
        "rm -rf venv\n"
        "if [ -n \"$3\" ]; then\n"
        "    \"$3\" venv --quiet --python \"$2\" venv 9>&-\n"
        "    \"$3\" pip install --python venv/bin/python $4 -r requirements.txt 9>&-\n"
        "else\n"
        "    \"$2\" -m venv venv 9>&-\n"
        "    venv/bin/python -m pip install --no-input --disable-pip-version-check --progress-bar off $4 -r "
        "requirements.txt 9>&-\n"
        "fi\n"
        "sync -f venv\n"
        ": >ready.new\n"
        "mv ready.new ready\n"
        "sync -f ready\n"
        "echo 'The environment is ready.'\n";

static const char identity_program[] = "import sys, sysconfig\n"
                                       "print(sys.executable)\n"
                                       "print(sys.version.replace('\\n', ' '), sysconfig.get_platform())\n";

/* What an interpreter said of itself, by the name it was asked under: it is asked once in a process. */
static pthread_mutex_t identities_lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *identities;

bool environment_is_needed(const char *requirements)
{
        g_auto(GStrv) lines = g_strsplit(requirements ? requirements : "", "\n", -1);

        for (char **line = lines; *line; line++) {
                g_strstrip(*line);
                if (**line && **line != '#')
                        return true;
        }
        return false;
}

static char *identity_get(const char *python)
{
        char *identity;

        pthread_mutex_lock(&identities_lock);
        identity = identities ? g_strdup(g_hash_table_lookup(identities, python)) : NULL;
        pthread_mutex_unlock(&identities_lock);
        return identity;
}

static void identity_keep(const char *python, const char *identity)
{
        pthread_mutex_lock(&identities_lock);
        if (!identities)
                identities = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_hash_table_insert(identities, g_strdup(python), g_strdup(identity));
        pthread_mutex_unlock(&identities_lock);
}

bool environment_is_known(const EnvironmentConfig *config)
{
        g_autofree char *identity = identity_get(config->python);

        return identity != NULL;
}

/* "<path>\n<version>", from the interpreter itself: a shim's path says nothing about what stands behind it.
 */
static char *ask_interpreter(const char *python, GError **error)
{
        const char *const argv[] = { python, "-I", "-c", identity_program, NULL };
        g_autoptr(GError) failure = NULL;
        g_autofree char *out = NULL, *err = NULL;
        int status;

        if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status,
                          &failure)) {
                err_set(error, ERR_NOT_FOUND,
                        "python interpreter '%s' cannot be run: %s\nInstall python3, or name another "
                        "interpreter to the server.",
                        python, failure->message);
                return NULL;
        }
        if (!g_spawn_check_wait_status(status, &failure) || !strchr(out, '\n')) {
                err_set(error, ERR_FAILED, "python interpreter '%s' does not work: %s", python,
                        failure ? g_strstrip(*err ? err : failure->message) : "it says nothing");
                return NULL;
        }
        return g_strdup(g_strstrip(out));
}

static char *interpreter_identity(const char *python, GError **error)
{
        char *identity = identity_get(python);

        if (identity)
                return identity;
        identity = ask_interpreter(python, error);
        if (identity)
                identity_keep(python, identity);
        return identity;
}

static bool is_option(const char *line, const char *const *options)
{
        for (; *options; options++)
                if (g_str_has_prefix(line, *options))
                        return true;
        return false;
}

/* Comments, blanks around lines and empty lines do not count; the order of lines does (it decides between
 * index options). */
static char *normalise(const char *requirements, GError **error)
{
        static const char *const outside[] = { "-r", "--requirement", "-c", "--constraint",
                                               "-e", "--editable",    "./", "../",
                                               NULL };
        g_auto(GStrv) lines = g_strsplit(requirements, "\n", -1);
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint n = 0; lines[n]; n++) {
                char *comment = lines[n][0] == '#' ? lines[n] : strstr(lines[n], " #");

                if (comment)
                        *comment = '\0';
                g_strstrip(lines[n]);
                if (is_option(lines[n], outside)) {
                        err_set(error, ERR_INVALID,
                                "requirements, line %u: '%s' refers to another file, but an environment is "
                                "made from this text alone\n"
                                "Write the packages themselves; the job's own package is on PYTHONPATH "
                                "anyway.",
                                n + 1, lines[n]);
                        return NULL;
                }
                if (*lines[n])
                        g_string_append_printf(text, "%s\n", lines[n]);
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

char *environment_key(const EnvironmentConfig *config, const char *requirements, GError **error)
{
        g_autofree char *identity = NULL, *packages = NULL, *index = NULL, *all = NULL;
        g_auto(GStrv) env = g_get_environ();
        char hash[HASH_LEN + 1];

        if (strlen(requirements) > REQUIREMENTS_MAX) {
                err_set(error, ERR_TOO_LARGE, "requirements of %zu bytes: the limit is %d",
                        strlen(requirements), REQUIREMENTS_MAX);
                return NULL;
        }
        packages = normalise(requirements, error);
        if (!packages)
                return NULL;
        identity = interpreter_identity(config->python, error);
        if (!identity)
                return NULL;
        index = settings_fingerprint(env);
        all = g_strdup_printf("environment 1\n%s\n%s\n%zu\n%s%s", config->uv ? "uv" : "pip", identity,
                              strlen(packages), packages, index);
        hash_bytes(all, strlen(all), hash);
        return g_strndup(hash, KEY_LEN);
}

static char *inside(const EnvironmentConfig *config, const char *key, const char *name)
{
        return g_build_filename(config->envs_dir, key, name, NULL);
}

bool environment_is_ready(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *ready = inside(config, key, "ready");

        return access(ready, F_OK) == 0;
}

char *environment_path(const EnvironmentConfig *config, const char *key)
{
        return inside(config, key, "venv");
}

char *environment_log_path(const EnvironmentConfig *config, const char *key)
{
        return inside(config, key, "build.log");
}

/* uv has no variable for this setting of pip. */
static const char *no_index_option(void)
{
        g_auto(GStrv) env = g_get_environ();
        g_autoptr(GHashTable) settings = settings_read_pip(env);
        const char *value = g_hash_table_lookup(settings, "no-index");
        static const char *const yes[] = { "1", "true", "yes", "on", "y", "t", NULL };
        g_autofree char *lower = g_ascii_strdown(value ? value : "", -1);

        return g_strv_contains(yes, lower) ? "--no-index" : "";
}

char **environment_build_command(const EnvironmentConfig *config, const char *key, const char *requirements,
                                 GError **error)
{
        g_autofree char *dir = inside(config, key, NULL), *file = inside(config, key, "requirements.txt");
        g_autofree char *identity = interpreter_identity(config->python, error);
        char **argv;

        if (!identity || !file_mkdirs(dir, 0755, error) ||
            !file_replace(file, requirements, strlen(requirements), 0644, false, error))
                return NULL;
        *strchrnul(identity, '\n') = '\0'; /* the path alone */
        argv = g_new0(char *, 9);
        argv[0] = g_strdup("/bin/sh");
        argv[1] = g_strdup("-c");
        argv[2] = g_strdup(build_script);
        argv[3] = g_strdup("paddle-environment");
        argv[4] = g_steal_pointer(&dir);
        argv[5] = g_strdup(identity);
        argv[6] = g_strdup(config->uv ? config->uv : "");
        argv[7] = g_strdup(no_index_option());
        return argv;
}

char **environment_build_variables(void)
{
        g_auto(GStrv) env = g_get_environ();

        return settings_variables(env);
}

/* ---- why a build failed ---- */

/* Lines that say it, the most telling first. The line found last counts, but for FIRST: there the earliest is
 * the cause of the rest. */
static const struct {
        const char *has;
        bool first;
} telling[] = {
        { "No space left on device", true },
        { "Disk quota exceeded", true },
        { "No matching distribution found", false },
        { "conflicting dependencies", false },
        { "Invalid requirement", false },
        { "Couldn't parse requirement", false },
        { "No solution found", false },
        { "Request failed", false },
        { "Failed to fetch", false },
        { "Could not connect", false },
        { "Failed to establish a new connection", false },
        { "THESE PACKAGES DO NOT MATCH THE HASHES", false },
        { "Failed to build", false },
        { "Failed to download", false },
        { "Preparing metadata (pyproject.toml) did not run successfully", false },
        { "metadata-generation-failed", false },
        { "Permission denied", false },
        { "not found", false },
        { "error: ", false },
        { "ERROR: ", false },
};

static char *read_tail(const char *path)
{
        fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        char *text;
        ssize_t got;

        if (fd < 0 || fstat(fd, &st) < 0)
                return NULL;
        text = g_malloc(LOG_TAIL + 1);
        got = pread(fd, text, LOG_TAIL, MAX(0, st.st_size - LOG_TAIL));
        text[MAX(got, 0)] = '\0';
        return text;
}

static const char *last_build(const char *text)
{
        const char *at = text;

        for (const char *found; (found = strstr(at, BANNER)); at = found + strlen(BANNER))
                text = found;
        return text;
}

/* Without the signs that programs draw before what they say. */
static const char *undecorated(const char *line)
{
        static const char *const signs[] = { " ",       "\t",          "\r", "ERROR: ", "error: ",
                                             "cause: ", "Caused by: ", "×",  "╰─▶",     "╰─>",
                                             "├─▶",     "│",           NULL };

        for (const char *const *sign = signs; *sign;) {
                if (g_str_has_prefix(line, *sign)) {
                        line += strlen(*sign);
                        sign = signs;
                } else {
                        sign++;
                }
        }
        return line;
}

static int find_line(char **lines, int n, const char *has, bool first)
{
        int found = -1;

        for (int i = 0; i < n; i++)
                if (strstr(lines[i], has)) {
                        found = i;
                        if (first)
                                break;
                }
        return found;
}

static bool is_cause(const char *line)
{
        const char *body = line + strspn(line, " ");

        return g_str_has_prefix(body, "cause: ") || g_str_has_prefix(body, "Caused by: ") ||
               g_str_has_prefix(body, "╰─▶") || g_str_has_prefix(body, "├─▶");
}

/* The line and, in uv's way of telling, the causes that follow it, with their continuation. */
static char *gather(char **lines, int n, int at)
{
        GString *text = g_string_new(undecorated(lines[at]));
        bool in_cause = false;

        for (int i = at + 1; i < n && *lines[i] && text->len < REASON_MAX; i++) {
                bool cause = is_cause(lines[i]);

                if (!cause && !(in_cause && g_str_has_prefix(lines[i], "      ")))
                        break;
                g_strchomp(text->str);
                text->len = strlen(text->str);
                if (text->len && text->str[text->len - 1] == ':')
                        g_string_truncate(text, text->len - 1);
                g_string_append_printf(text, "%s%s", cause ? ": " : " ", undecorated(lines[i]));
                in_cause = true;
        }
        return g_string_free(text, FALSE);
}

/* A part of a sentence: bounded, and without a full stop. */
static char *shorten(char *text)
{
        char *valid = g_utf8_make_valid(g_strstrip(text), -1);

        g_free(text);
        if (g_str_has_suffix(valid, "."))
                valid[strlen(valid) - 1] = '\0';
        if (g_utf8_strlen(valid, -1) > REASON_MAX) {
                *g_utf8_offset_to_pointer(valid, REASON_MAX) = '\0';
                valid = g_realloc(valid, strlen(valid) + sizeof "…");
                g_strlcat(valid, "…", strlen(valid) + sizeof "…");
        }
        return valid;
}

char *environment_failure(const char *log_path)
{
        g_autofree char *text = read_tail(log_path);
        g_auto(GStrv) lines = g_strsplit(text ? last_build(text) : "", "\n", -1);
        int n = (int)g_strv_length(lines);

        for (size_t i = 0; i < G_N_ELEMENTS(telling); i++) {
                int at = find_line(lines, n, telling[i].has, telling[i].first);

                if (at >= 0)
                        return shorten(gather(lines, n, at));
        }
        while (n > 0 && !*g_strstrip(lines[n - 1]))
                n--;
        if (n == 0 || g_str_has_prefix(lines[n - 1], BANNER))
                return g_strdup("the environment could not be built, and the builder's log is empty");
        return shorten(g_strdup(undecorated(lines[n - 1])));
}
