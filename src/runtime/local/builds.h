/* Builds of environments: tasks of the agent named "env.<key>", each awaited by any number of jobs. They
 * outlive the server: one that the agent still knows after a restart is taken up again when a job asks. A
 * failure is not kept: who asks next tries again.
 * Each runs as its jobs do (`identity`; NULL: as the server), and serves only such jobs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/environment/environment.h"
#include "runtime/local/identity.h"
#include "runtime/local/link.h"

typedef struct {
        EnvironmentConfig environment;
        const char *state_dir;
        gint64 log_limit;
        guint sandbox;   /* SandboxParts of builders that run as users, where they can be had */
        bool egress;     /* and they may connect only where members may */
        AgentLink *link; /* borrowed */
} BuildsConfig;

typedef struct Builds Builds;
Builds *builds_new(const BuildsConfig *config);
void builds_free(Builds *builds);

/* Any thread but the engine's and the link's (it may ask the interpreter): OBSERVED_PREPARED or
 * OBSERVED_PREPARE_FAILED follows. */
void builds_prepare(Builds *builds, const char *job_id, const char *requirements, const Identity *identity);
/* True when there is nothing to do. Does not block; "not known yet" is false. */
bool builds_is_prepared(Builds *builds, const char *requirements, const Identity *identity);
/* The link's thread: looks at every observation. True: it was about a build, and nobody else needs it (it is
 * not taken). */
bool builds_observe(Builds *builds, const Observation *observation);
