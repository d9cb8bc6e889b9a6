/* Python environments for jobs: envs/<key>/venv, where the key covers the interpreter, the requirements text,
 * the setup and the index settings. Built once, by a task of the agent (so that it survives the server),
 * while the job waits. It says what to run and runs nothing itself, but for asking an interpreter once what
 * it is. Thread-safe.
 *
 *     envs/<key>/requirements.txt   what was asked for
 *     envs/<key>/build.log          what the builder said; several attempts follow each other
 *     envs/<key>/lock               flock of the builder
 *     envs/<key>/venv/              the environment, built in place (it cannot be moved)
 *     envs/<key>/package.<id>/      for the time of the build: the package that a setup runs in a copy of
 *     envs/<key>/work/              ... that copy
 *     envs/<key>/made/              what a setup has made or changed in it, for the members
 *     envs/<key>/ready              made last
 *     envs/<key>/used               empty; its time is that of the last use
 *
 * What builds runs code of packages. For jobs that run as somebody else than the server it does so as they
 * do, and the environment is theirs alone: the key is u<uid>-<hash>; lock, venv, ready and
 * what a setup makes are in envs/<key>/own/, which is theirs, and what is downloaded is kept in envs/u<uid>/.
 * `owner` NULL: the server's own. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/environment/requirements.h"
#include "storage/tree.h"

typedef struct {
        const char *envs_dir;
        const char *uv;     /* program or NULL: pip */
        const char *python; /* interpreter: a path, or a name looked up in PATH */
        bool urls;          /* requirements may say where packages come from */
} EnvironmentConfig;

enum { REQUIREMENTS_MAX = 1024 * 1024 };

/* What an environment is made of. Borrowed. */
typedef struct {
        const char *requirements;        /* text; or NULL */
        const char *setup, *setup_files; /* as in a specification; or NULL */
        gint64 user; /* number of who asks in the catalog: a setup's results are shared with nobody else */
} EnvironmentRecipe;

/* Something is to be installed or to be run. */
bool environment_is_wanted(const EnvironmentRecipe *recipe);
/* True when environment_key() would not have to ask the interpreter first (some 20 ms, once in a process). */
bool environment_is_known(const EnvironmentConfig *config);
/* The key of an environment: hex; the caller's. Index settings are read from the process's environment
 * (PIP_*, UV_*) and the configuration files of pip and uv. ERR_NOT_FOUND when the interpreter is missing;
 * ERR_INVALID for a line that environment_normal() refuses. */
char *environment_key(const EnvironmentConfig *config, const Owner *owner, const EnvironmentRecipe *recipe,
                      GError **error);
bool environment_is_for(const char *key, const Owner *owner);
bool environment_is_ready(const EnvironmentConfig *config, const char *key);
/* The same, and from now on it counts as just used (envs/<key>/used): it is not dropped for an hour at least.
 * Waits for the disk, and for environment_drop(). */
bool environment_use(const EnvironmentConfig *config, const char *key);
/* The same for a thread that must not wait: asks the disk only whether it is there, and remembers the use in
 * memory for this process's environment_drop(). *ret_touch: environment_use() should follow from another
 * thread, so that the use is on disk, too. One that is being dropped is not ready. */
bool environment_look(const EnvironmentConfig *config, const char *key, bool *ret_touch);
/* Removes an environment, or u<uid>/, unless it was used after `since` (ms) or is being built: true and
 * *ret_gone false. Whole: it leaves its place by one rename, into envs/.gone/. */
bool environment_drop(const char *envs_dir, const char *key, gint64 since, bool *ret_gone, GError **error);
char *environment_path(const EnvironmentConfig *config, const char *key); /* what holds bin/; the caller's */
char *environment_made_path(const EnvironmentConfig *config,
                            const char *key); /* what a setup made; the caller's */
/* What a setup made, found at `made` (of environment_made_path), is not what it was: the environment is not
 * ready any more, so that the next job has it built anew. */
void environment_spoil(const char *made);
char *environment_log_path(const EnvironmentConfig *config, const char *key); /* of its build; the caller's */
/* For the build of a setup: a copy of the tree `package`, the owner's. *ret: the name of the copy in the
 * directory of the build; the caller's. The build removes it. May take long. */
bool environment_stage(const EnvironmentConfig *config, const char *key, const Owner *owner,
                       const char *package, char **ret, GError **error);
void environment_unstage(const EnvironmentConfig *config, const char *key, const char *staged);
/* What builds it: writes the requirements file and returns argv for a task whose exit 0 means ready. It takes
 * a lock on the environment, so that two builders (two servers) do not disturb each other, and leaves nothing
 * half made. `staged`: of environment_stage(), or NULL: a setup runs in an empty directory. */
char **environment_build_command(const EnvironmentConfig *config, const char *key, const Owner *owner,
                                 const EnvironmentRecipe *recipe, const char *staged, GError **error);
/* The variables of that task: a small part of the process's own environment, PIP_* and UV_*, and pip's
 * settings under the names uv reads; of somebody else's also a copy of uv's settings that they can read. The
 * caller's g_strfreev. */
char **environment_build_variables(const EnvironmentConfig *config, const char *key, const Owner *owner,
                                   GError **error);
char *environment_build_dir(const EnvironmentConfig *config,
                            const char *key); /* where it runs; the caller's */
/* Why a build failed, from the end of its log: the line that says it, e.g. "No matching distribution found
 * for nosuch==1". The caller's. */
char *environment_failure(const char *log_path);
