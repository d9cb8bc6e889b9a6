/* Python environments (see environment.h).
 *
 * Invariant: `ready` exists only beside a complete, synced venv/, because the builder creates it last, with
 * the lock. A venv/ without it was left by a builder that died; the next one deletes it. */
#include "runtime/environment/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/text-cut.h"
#include "package/overlay.h"
#include "package/package.h"
#include "runtime/environment/settings.h"

/* Marks in the output of build.sh. */
#define BANNER "== building"
#define SETUP_BEGINS "== setup: "
#define SETUP_ENDED "== setup ended: "       /* followed by the status and the first line of the command */
#define SETUP_NOT_KEPT "== setup not kept: " /* keep.py */

extern const char build_script[], keep_program[]; /* build.sh, keep.py */

enum {
        UV_CONFIG_MAX = 256 * 1024,
        LOG_TAIL = 64 * 1024, /* the end of a log that is searched for the failure */
        REASON_MAX = 400,     /* of a reason in a status, without its "…" */
        SETUP_SHOWN = 120,    /* bytes of the command in a reason */
        SIGNALLED = 128,      /* plus the number of the signal that ended the shell's command */
        KEY_LEN = 32, /* 128 bits of the hash: enough for a name, short enough for paths of interpreters in #!
                         lines */
};

static const char identity_program[] = "import sys, sysconfig\n"
                                       "print(sys.executable)\n"
                                       "print(sys.version.replace('\\n', ' '), sysconfig.get_platform())\n";

/* The answers of interpreters, by the name under which they were run: each is run once per process. */
static pthread_mutex_t identities_lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *identities;

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

/* "<path>\n<version>", from the interpreter itself: the path of a shim does not tell which one it runs. */
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
                        failure ? g_strstrip(*err ? err : failure->message) : "it prints nothing");
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

/* "u<uid>-"; "" for the server's own. */
static void format_prefix(char ret[16], const Owner *owner)
{
        if (owner)
                g_snprintf(ret, 16, "u%u-", owner->uid);
        else
                ret[0] = '\0';
}

static bool is_somebodys(const char *key)
{
        return key[0] == 'u'; /* not a hexadecimal digit */
}

bool environment_is_for(const char *key, const Owner *owner)
{
        char prefix[16];

        format_prefix(prefix, owner);
        return is_somebodys(key) == (owner != NULL) && g_str_has_prefix(key, prefix);
}

bool environment_is_wanted(const EnvironmentRecipe *recipe)
{
        return recipe->setup || environment_is_needed(recipe->requirements);
}

/* The setup's part of the text whose hash is the key; the caller's. */
static char *setup_text(const EnvironmentRecipe *recipe)
{
        if (!recipe->setup)
                return g_strdup("");
        return g_strdup_printf("setup 1\n%" G_GINT64_FORMAT "\n%zu\n%s\n%s\n", recipe->user,
                               strlen(recipe->setup), recipe->setup,
                               recipe->setup_files ? recipe->setup_files : "");
}

char *environment_key(const EnvironmentConfig *config, const Owner *owner, const EnvironmentRecipe *recipe,
                      GError **error)
{
        const char *requirements = recipe->requirements ? recipe->requirements : "";
        g_autofree char *identity = NULL, *packages = NULL, *index = NULL, *setup = NULL, *all = NULL;
        g_auto(GStrv) env = g_get_environ();
        char hash[HASH_LEN + 1], prefix[16];

        if (strlen(requirements) > REQUIREMENTS_MAX) {
                err_set(error, ERR_TOO_LARGE, "requirements of %zu bytes: the limit is %d",
                        strlen(requirements), REQUIREMENTS_MAX);
                return NULL;
        }
        packages = environment_normal(requirements, config->urls, error);
        if (!packages)
                return NULL;
        identity = interpreter_identity(config->python, error);
        if (!identity)
                return NULL;
        index = settings_fingerprint(env);
        setup = setup_text(recipe);
        all = g_strdup_printf("environment 1\n%s\n%s\n%zu\n%s%s%s", config->uv ? "uv" : "pip", identity,
                              strlen(packages), packages, index, setup);
        hash_bytes(all, strlen(all), hash);
        format_prefix(prefix, owner);
        return g_strdup_printf("%s%.*s", prefix, KEY_LEN, hash);
}

static char *inside(const EnvironmentConfig *config, const char *key, const char *name)
{
        return g_build_filename(config->envs_dir, key, name, NULL);
}

/* A file that the builder creates: in the owner's directory, if there is an owner. */
static char *made(const EnvironmentConfig *config, const char *key, const char *name)
{
        if (is_somebodys(key))
                return g_build_filename(config->envs_dir, key, "own", name, NULL);
        return inside(config, key, name);
}

bool environment_is_ready(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *ready = made(config, key, "ready");

        return faccessat(AT_FDCWD, ready, F_OK, AT_SYMLINK_NOFOLLOW) == 0; /* may be a link */
}

void environment_spoil(const char *made)
{
        g_autofree char *dir = g_path_get_dirname(made), *ready = g_build_filename(dir, "ready", NULL);

        (void)unlink(ready); /* missing: it is being rebuilt already */
}

/* ---- use ----
 *
 * environment_drop() moves an environment away unless it was used lately. Two locks protect one that was just
 * found. `uses_lock` is held during disk access, so only threads that may block take it. The engine's thread
 * records its look in memory instead, and gets "not ready" for an environment that is being moved. */
static pthread_mutex_t uses_lock = PTHREAD_MUTEX_INITIALIZER;

enum { TOUCH_MS = 60 * 1000 }; /* `used` is updated at most this often */

static struct {
        pthread_mutex_t lock; /* never held during a call that may block */
        GHashTable *seen;     /* directory of a ready environment -> gint64 ms of the last look */
        GHashTable *going;    /* directories that are being moved */
} looks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void looks_init(void)
{
        if (looks.seen)
                return;
        looks.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        looks.going = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

/* False: it is being moved. *ret_touch: `used` was not updated lately. */
static bool note_look(const char *dir, bool *ret_touch)
{
        gint64 now = clock_now_ms(), *last;
        bool going;

        pthread_mutex_lock(&looks.lock);
        looks_init();
        going = g_hash_table_contains(looks.going, dir);
        last = g_hash_table_lookup(looks.seen, dir);
        *ret_touch = !last || now - *last > TOUCH_MS || now < *last;
        if (!going && *ret_touch)
                g_hash_table_insert(looks.seen, g_strdup(dir), g_memdup2(&now, sizeof now));
        pthread_mutex_unlock(&looks.lock);
        return !going;
}

static void forget_look(const char *dir)
{
        pthread_mutex_lock(&looks.lock);
        looks_init();
        g_hash_table_remove(looks.seen, dir);
        g_hash_table_remove(looks.going, dir);
        pthread_mutex_unlock(&looks.lock);
}

/* From here until end_going(), looks report that it is being moved. False: it was looked at after `since`. */
static bool begin_going(const char *dir, gint64 since)
{
        const gint64 *last;
        bool used;

        pthread_mutex_lock(&looks.lock);
        looks_init();
        last = g_hash_table_lookup(looks.seen, dir);
        used = last && *last + TOUCH_MS > since;
        if (!used)
                g_hash_table_add(looks.going, g_strdup(dir));
        pthread_mutex_unlock(&looks.lock);
        return !used;
}

static void end_going(const char *dir, bool gone)
{
        if (gone) {
                forget_look(dir);
                return;
        }
        pthread_mutex_lock(&looks.lock);
        g_hash_table_remove(looks.going, dir);
        pthread_mutex_unlock(&looks.lock);
}

bool environment_look(const EnvironmentConfig *config, const char *key, bool *ret_touch)
{
        g_autofree char *dir = inside(config, key, NULL);

        *ret_touch = false;
        if (!note_look(dir, ret_touch))
                return false;
        if (environment_is_ready(config, key))
                return true;
        forget_look(dir); /* requests for missing ones must not fill the table */
        return false;
}

bool environment_use(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *mark = inside(config, key, "used");
        fd_auto int fd = -1;
        bool ready;

        pthread_mutex_lock(&uses_lock);
        fd = open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
                (void)futimens(fd, NULL); /* on failure it is deleted earlier */
        ready = environment_is_ready(config, key);
        pthread_mutex_unlock(&uses_lock);
        return ready;
}

/* True if a builder holds its lock. */
static bool is_being_built(const EnvironmentConfig *config, const char *key)
{
        g_autofree char *path = made(config, key, "lock");
        fd_auto int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static bool hide(const EnvironmentConfig *config, const char *key, const char *gone, gint64 since,
                 bool *ret_gone, GError **error)
{
        g_autofree char *mark = inside(config, key, "used"), *path = inside(config, key, NULL);
        struct stat st;
        bool ok;

        if ((lstat(mark, &st) == 0 && file_mtime_ms(&st) > since) || is_being_built(config, key) ||
            !begin_going(path, since))
                return true;
        *ret_gone = rename(path, gone) == 0;
        ok = *ret_gone || errno == ENOENT || err_set_errno(error, errno, "cannot move '%s' away", path);
        end_going(path, ok);
        return ok;
}

bool environment_drop(const char *envs_dir, const char *key, gint64 since, bool *ret_gone, GError **error)
{
        const EnvironmentConfig config = { .envs_dir = envs_dir };
        char id[ID_LEN + 1];
        g_autofree char *dir = g_build_filename(envs_dir, ".gone", NULL);
        g_autofree char *gone = (id_new(id), g_build_filename(dir, id, NULL));
        bool ok;

        *ret_gone = false;
        if (!file_mkdirs(dir, 0700, error))
                return false;
        pthread_mutex_lock(&uses_lock);
        ok = hide(&config, key, gone, since, ret_gone, error);
        pthread_mutex_unlock(&uses_lock);
        return ok && (!*ret_gone || file_remove_tree(gone, error));
}

char *environment_path(const EnvironmentConfig *config, const char *key)
{
        return made(config, key, "venv");
}

char *environment_made_path(const EnvironmentConfig *config, const char *key)
{
        return made(config, key, "made");
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

char *environment_build_dir(const EnvironmentConfig *config, const char *key)
{
        return made(config, key, NULL);
}

/* Creates a directory for the owner inside one of the server's, where the owner cannot exchange it. */
static bool make_given(const char *dir, const Owner *owner, GError **error)
{
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
                return err_set_errno(error, errno, "cannot make directory '%s'", dir);
        if (lchown(dir, owner->uid, owner->gid) < 0)
                return err_set_errno(error, errno, "cannot give '%s' to uid %u", dir, owner->uid);
        return true;
}

/* Writes a file that the owner can read. */
static bool write_given(const char *path, const char *text, const Owner *owner, GError **error)
{
        if (!file_replace(path, text, strlen(text), 0644, false, error))
                return false;
        if (owner && lchown(path, owner->uid, owner->gid) < 0)
                return err_set_errno(error, errno, "cannot give '%s' to uid %u", path, owner->uid);
        return true;
}

/* The download cache of uv and pip for an owner. */
static char *home_of(const EnvironmentConfig *config, const Owner *owner)
{
        return g_strdup_printf("%s/u%u", config->envs_dir, owner->uid);
}

static bool make_dirs(const EnvironmentConfig *config, const char *key, const Owner *owner, GError **error)
{
        g_autofree char *dir = inside(config, key, NULL), *own = made(config, key, NULL), *home = NULL;

        if (!file_mkdirs(dir, 0755, error))
                return false;
        if (!owner)
                return true;
        home = home_of(config, owner);
        if (chmod(dir, 0711) < 0)
                return err_set_errno(error, errno, "cannot change the mode of '%s'", dir);
        return make_given(home, owner, error) && make_given(own, owner, error);
}

/* True if the owner may enter it. Group permissions count, except for root's group, which the owner is not
 * in. */
static bool may_enter(const char *dir, const Owner *owner)
{
        struct stat st;

        if (stat(dir, &st) < 0)
                return true; /* running it will report the reason */
        return (st.st_mode & S_IXOTH) || (st.st_uid == owner->uid && (st.st_mode & S_IXUSR)) ||
               (st.st_gid != 0 && (st.st_mode & S_IXGRP));
}

/* The highest directory on `path` that the owner cannot enter; NULL: none. The caller's. */
static char *closed_directory(const char *path, const Owner *owner)
{
        g_autofree char *dir = g_path_get_dirname(path);
        char *closed = NULL;

        while (strcmp(dir, "/") != 0 && strcmp(dir, ".") != 0) {
                char *parent = g_path_get_dirname(dir);

                if (!may_enter(dir, owner)) {
                        g_free(closed);
                        closed = g_steal_pointer(&dir);
                }
                g_free(dir);
                dir = parent;
        }
        return closed;
}

/* A server that runs as root may find programs in root's PATH that others cannot reach, such as those of
 * pyenv in /root. */
static bool check_reach(const char *option, const char *what, const char *program, const Owner *owner,
                        GError **error)
{
        g_autofree char *real = program ? realpath(program, NULL) : NULL;
        g_autofree char *closed = program ? closed_directory(program, owner) : NULL;

        if (!closed && real)
                closed = closed_directory(real, owner);
        return !closed ||
               err_set(error, ERR_DENIED,
                       "the server's %s '%s' is in '%s', which this user may not enter\n"
                       "Ask an administrator to start the server with one that all users can run: paddled %s.",
                       what, program, closed, option);
}

/* The copy belongs to the owner before it is moved to where the owner's builds run. */
bool environment_stage(const EnvironmentConfig *config, const char *key, const Owner *owner,
                       const char *package, char **ret, GError **error)
{
        char id[ID_LEN + 1];
        g_autofree char *name = (id_new(id), g_strconcat("package.", id, NULL));
        g_autofree char *fresh_name = g_strconcat("new.", id, NULL);
        g_autofree char *fresh = inside(config, key, fresh_name), *place = made(config, key, name);

        if (!make_dirs(config, key, owner, error) || !package_copy(package, fresh, error))
                return false;
        if ((!owner || tree_give(AT_FDCWD, fresh, owner, error)) && rename(fresh, place) == 0) {
                *ret = g_steal_pointer(&name);
                return true;
        }
        if (error && !*error)
                err_set_errno(error, errno, "cannot rename '%s' to '%s'", fresh, place);
        (void)file_remove_tree(fresh, NULL); /* the failure is reported */
        return false;
}

void environment_unstage(const EnvironmentConfig *config, const char *key, const char *staged)
{
        g_autofree char *place = made(config, key, staged);

        (void)file_remove_tree(place, NULL); /* else it is deleted with the environment */
}

char **environment_build_command(const EnvironmentConfig *config, const char *key, const Owner *owner,
                                 const EnvironmentRecipe *recipe, const char *staged, GError **error)
{
        const char *requirements = recipe->requirements ? recipe->requirements : "";
        bool installs = environment_is_needed(requirements);
        g_autofree char *file = inside(config, key, "requirements.txt");
        g_autofree char *identity = interpreter_identity(config->python, error);
        char **argv;

        if (!identity)
                return NULL;
        *strchrnul(identity, '\n') = '\0'; /* only the path */
        if ((owner && (!check_reach("--python /usr/bin/python3", "Python", identity, owner, error) ||
                       !check_reach("--uv PROGRAM", "uv", config->uv, owner, error))) ||
            !make_dirs(config, key, owner, error) || !write_given(file, requirements, owner, error))
                return NULL;
        argv = g_new0(char *, 16);
        argv[0] = g_strdup("/bin/sh");
        argv[1] = g_strdup("-c");
        argv[2] = g_strdup(build_script);
        argv[3] = g_strdup("paddle-environment");
        argv[4] = environment_build_dir(config, key);
        argv[5] = g_strdup(identity);
        argv[6] = g_strdup(config->uv ? config->uv : "");
        argv[7] = g_strdup(no_index_option());
        argv[8] = g_strdup(!installs ? "" : owner ? "../requirements.txt" : "requirements.txt");
        argv[9] = g_strdup(recipe->setup ? recipe->setup : "");
        argv[10] = g_strdup(staged ? staged : "");
        argv[11] = g_strdup(keep_program);
        argv[12] = g_strdup_printf("%d", OVERLAY_FILES_MAX);
        argv[13] = g_strdup_printf("%" G_GINT64_FORMAT, OVERLAY_BYTES_MAX);
        argv[14] = g_strdup_printf("%d", OVERLAY_DEPTH_MAX);
        return argv;
}

/* uv's settings may be in a home that only the server can read. */
static bool copy_uv_config(char ***env, const char *copy, const Owner *owner, GError **error)
{
        const char *path = g_environ_getenv(*env, "UV_CONFIG_FILE");
        g_autofree char *text = NULL;

        if (!path)
                return true;
        if (!file_read(path, UV_CONFIG_MAX, &text, NULL, error) || !write_given(copy, text, owner, error))
                return err_prefix(error, "the settings of uv: ");
        *env = g_environ_setenv(*env, "UV_CONFIG_FILE", copy, TRUE);
        return true;
}

/* The same for pip's files, as variables. */
static char **set_pip_settings(char **env)
{
        g_autoptr(GHashTable) settings = settings_read_pip(env);
        GHashTableIter iter;
        void *key, *value;

        g_hash_table_iter_init(&iter, settings);
        while (g_hash_table_iter_next(&iter, &key, &value)) {
                g_autofree char *upper = g_ascii_strup(key, -1), *name = g_strconcat("PIP_", upper, NULL);

                g_strdelimit(name, "-", '_');
                env = g_environ_setenv(env, name, value, TRUE);
        }
        return g_environ_setenv(env, "PIP_CONFIG_FILE", "/dev/null", TRUE);
}

char **environment_build_variables(const EnvironmentConfig *config, const char *key, const Owner *owner,
                                   GError **error)
{
        static const char *const of_server[] = { "TMPDIR",         "USER",
                                                 "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                                 "XDG_DATA_HOME",  "UV_CACHE_DIR",
                                                 "PIP_CACHE_DIR",  NULL };
        g_auto(GStrv) here = g_get_environ();
        g_auto(GStrv) env = settings_variables(here);
        g_autofree char *home = NULL, *copy = NULL;

        if (!owner)
                return g_steal_pointer(&env);
        home = home_of(config, owner);
        copy = inside(config, key, "uv.toml");
        env = set_pip_settings(env);
        for (const char *const *name = of_server; *name; name++)
                env = g_environ_unsetenv(env, *name);
        env = g_environ_setenv(env, "HOME", home, TRUE);
        return copy_uv_config(&env, copy, owner, error) ? g_steal_pointer(&env) : NULL;
}

/* ---- why a build failed ---- */

/* Log lines that tell the reason, the most specific first. The last such line counts, except for FIRST: there
 * the first one is the cause of the others. */
static const struct {
        const char *has;
        bool first;
} telling[] = {
        { "No space left on device", true },
        { "Disk quota exceeded", true },
        { "paddle: no way to ", true }, /* agent/proxy.c: pip continues, and finds nothing */
        { "No matching distribution found", false },
        { "conflicting dependencies", false },
        { "Invalid requirement", false },
        { "Couldn't parse requirement", false },
        { "No solution found", false },
        { "paddle: a connection to ", true }, /* agent/proxy.c */
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
        fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
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

/* Without the symbols that programs print before a message. */
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

/* The line and, in uv's format, the causes after it, with continuation lines. */
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

/* Makes it part of a sentence: bounded, without a full stop. */
static char *shorten(char *text)
{
        g_autofree char *valid = g_utf8_make_valid(g_strstrip(text), -1);

        g_free(text);
        if (g_str_has_suffix(valid, "."))
                valid[strlen(valid) - 1] = '\0';
        return text_cut(valid, REASON_MAX + 1, "…");
}

static int skip_empty(char **lines, int n)
{
        while (n > 0 && !*g_strstrip(lines[n - 1]))
                n--;
        return n;
}

/* "STATUS COMMAND" and the last line of its output. */
static char *setup_ended(const char *what, const char *last)
{
        char *end;
        gint64 status = g_ascii_strtoll(what, &end, 10);
        g_autofree char *command = shorten(g_strndup(end, MIN(strlen(end), SETUP_SHOWN)));
        const char *of_setup = last && !g_str_has_prefix(last, SETUP_BEGINS) ? undecorated(last) : NULL;
        bool killed = status > SIGNALLED && status <= SIGNALLED + 64;

        return g_strdup_printf("the setup command `%s` %s %d%s%s", command,
                               killed ? "was ended by signal" : "ended with exit status",
                               (int)(killed ? status - SIGNALLED : status), of_setup ? ": " : "",
                               of_setup ? of_setup : "");
}

/* The reason if the setup failed, otherwise NULL. */
static char *setup_failure(char **lines, int n)
{
        const char *line = n > 0 ? lines[n - 1] : "";

        if (g_str_has_prefix(line, SETUP_NOT_KEPT))
                return g_strconcat("the files of the setup cannot be kept: ", line + strlen(SETUP_NOT_KEPT),
                                   NULL);
        if (!g_str_has_prefix(line, SETUP_ENDED))
                return NULL;
        n = skip_empty(lines, n - 1);
        return setup_ended(line + strlen(SETUP_ENDED), n > 0 ? lines[n - 1] : NULL);
}

char *environment_failure(const char *log_path)
{
        g_autofree char *text = read_tail(log_path);
        g_auto(GStrv) lines = g_strsplit(text ? last_build(text) : "", "\n", -1);
        int n = skip_empty(lines, (int)g_strv_length(lines));
        char *setup = setup_failure(lines, n);

        if (setup)
                return shorten(setup);
        for (size_t i = 0; i < G_N_ELEMENTS(telling); i++) {
                int at = find_line(lines, n, telling[i].has, telling[i].first);

                if (at >= 0)
                        return shorten(gather(lines, n, at));
        }
        if (n == 0 || g_str_has_prefix(lines[n - 1], BANNER))
                return g_strdup("the environment could not be built, and the builder's log is empty");
        return shorten(g_strdup(undecorated(lines[n - 1])));
}
