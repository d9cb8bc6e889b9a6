/* Builds of environments: tasks of the agent named "env.<key>"; any number of jobs wait for each. They
 * survive the server: after a restart, a job that needs a running build waits for it again. Failures are not
 * stored: the next request retries.
 *
 * A build runs with the `identity` of its jobs (NULL: the server's), and serves only such jobs. It has the
 * limits of BuildBounds, waits for its turn, and ends when no job waits for it any more. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/environment/bounds.h"
#include "runtime/environment/environment.h"
#include "runtime/local/gpus.h"
#include "runtime/local/identity.h"
#include "runtime/local/link.h"
#include "storage/project.h"

typedef struct {
        EnvironmentConfig environment;
        const char *state_dir;
        const char *proxy_program; /* paddle-agent: the proxy of a builder (agent/proxied.h) */
        gint64 log_limit;
        BuildBounds bounds;
        gint64 user_processes;   /* of all members and builders of one user; 0: unlimited */
        guint sandbox;           /* SandboxParts of builders that run as users, if available */
        const char *const *keep; /* borrowed: directories that they see despite the sandbox */
        GpuDevices gpus;         /* which builders cannot open */
        bool egress;             /* they have the connection limits of members */
        Projects *projects;      /* borrowed; or NULL */
        AgentLink *link;         /* borrowed */
} BuildsConfig;

typedef struct Builds Builds;
Builds *builds_new(const BuildsConfig *config);
void builds_free(Builds *builds);

/* All borrowed for the call. */
typedef struct {
        const char *job_id, *user;
        EnvironmentRecipe recipe; /* its user: number in the catalog */
        const char *package;      /* the tree for the setup, which runs in a copy of it; or NULL */
        Resources limits;         /* of the builder; 0: none */
        const Identity *identity;
} BuildWish;

/* Any thread, does not block: builds_prepare() of this job will follow, unless builds_unwant() is called
 * first. */
void builds_want(Builds *builds, const char *job_id);
void builds_unwant(Builds *builds, const char *job_id);
/* Any thread except the engine's and the link's (it may run the interpreter): OBSERVED_PREPARED or
 * OBSERVED_PREPARE_FAILED follows. Ignores a job after builds_unwant(). */
void builds_prepare(Builds *builds, const BuildWish *wish);
/* The same threads, after builds_unwant(): the job no longer waits, unless builds_want() was called since. A
 * build for which no job waits is ended. */
void builds_abandon(Builds *builds, const char *job_id);
/* True if there is nothing to do. Does not block; "unknown" is false. *ret_touch (the caller's, or NULL): the
 * key for builds_touch(), to be called next. */
bool builds_is_prepared(Builds *builds, const EnvironmentRecipe *recipe, const Identity *identity,
                        char **ret_touch);
/* The threads of builds_prepare(): records on disk that this environment was just used. */
void builds_touch(Builds *builds, const char *key);
/* The directory of the environment that a task builds, or NULL if it is another task. The caller's. */
char *builds_dir_of_task(const Builds *builds, const char *task);
/* The link's thread passes every observation. True: it was about a build, and has no other use. It is not
 * taken. */
bool builds_observe(Builds *builds, const Observation *observation);
