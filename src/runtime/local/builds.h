/* Builds of environments: tasks of the agent named "env.<key>", each awaited by any number of jobs. They
 * outlive the server: one that the agent still knows after a restart is taken up again when a job asks. A
 * failure is not kept: who asks next tries again.
 * Each runs as its jobs do (`identity`; NULL: as the server), and serves only such jobs. It has the limits of
 * BuildBounds, waits for its turn when as many run as may, and ends with the last job that waits for it. */
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
        gint64 user_processes; /* of all members and builders of one user; 0: no limit */
        guint sandbox;         /* SandboxParts of builders that run as users, where they can be had */
        const char *const
                *keep;      /* borrowed: directories that they see, whatever of the machine they do not */
        GpuDevices gpus;    /* which no builder opens */
        bool egress;        /* and they may connect only where members may */
        Projects *projects; /* borrowed; or NULL */
        AgentLink *link;    /* borrowed */
} BuildsConfig;

typedef struct Builds Builds;
Builds *builds_new(const BuildsConfig *config);
void builds_free(Builds *builds);

/* All borrowed for the call. */
typedef struct {
        const char *job_id, *user;
        EnvironmentRecipe recipe; /* its user: number in the catalog */
        const char *package;      /* tree that a setup runs in a copy of; or NULL */
        Resources limits;         /* of the builder; 0: none */
        const Identity *identity;
} BuildWish;

/* Any thread, does not block: builds_prepare() of this job will follow, unless builds_unwant() comes first.
 */
void builds_want(Builds *builds, const char *job_id);
void builds_unwant(Builds *builds, const char *job_id);
/* Any thread but the engine's and the link's (it may ask the interpreter): OBSERVED_PREPARED or
 * OBSERVED_PREPARE_FAILED follows. A job that is not wanted any more is passed over. */
void builds_prepare(Builds *builds, const BuildWish *wish);
/* The same threads, after builds_unwant(): the job does not wait any more, unless it was wanted again since.
 * A build without another one that does is ended. */
void builds_abandon(Builds *builds, const char *job_id);
/* True when there is nothing to do. Does not block; "not known yet" is false. *ret_touch (the caller's, or
 * NULL): the key for which builds_touch() should follow. */
bool builds_is_prepared(Builds *builds, const EnvironmentRecipe *recipe, const Identity *identity,
                        char **ret_touch);
/* The threads of builds_prepare(): notes on disk that this environment was just used. */
void builds_touch(Builds *builds, const char *key);
/* The directory of the environment that a task builds, or NULL: it is another task. The caller's. */
char *builds_dir_of_task(const Builds *builds, const char *task);
/* The link's thread: looks at every observation. True: it was about a build, and nobody else needs it (it is
 * not taken). */
bool builds_observe(Builds *builds, const Observation *observation);
