/* Disk limits that the kernel enforces, if the file system of the state directory has project quotas. Each
 * user has a project id (project-table.h). The trees that the server keeps for one user carry it, and so does
 * everything created in them. The survey (survey.h) continues to count besides: things that are shared or
 * have lost their id, and all without project quotas. Thread-safe. All functions treat NULL as projects
 * without users. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "storage/ledger.h"
#include "storage/project-table.h"

typedef enum { PROJECT_QUOTA_AUTO, PROJECT_QUOTA_ON, PROJECT_QUOTA_OFF } ProjectPolicy;

typedef struct {
        const char *state_dir;
        ProjectPolicy policy; /* ON: fails if the kernel cannot enforce limits */
        ProjectRange range;
        bool users; /* members run as users */
        Ledger *ledger;
        /* True if the user's members run as another Unix user than the server. May look up the machine's
         * users. */
        bool (*is_bound)(const char *user, void *arg);
        void *arg;
} ProjectConfig;

typedef struct Projects Projects;
/* *ret NULL: only the accounting enforces the limits; the reason is logged, and limits from an earlier start
 * are removed. Borrows what the configuration points to. */
bool projects_open(const ProjectConfig *config, Projects **ret, GError **error);
void projects_free(Projects *projects);

/* Whether the ledger knows the limits; initially false. */
void projects_set_live(Projects *projects, bool live);

/* Gives the user's tree `path` the user's id, unless all of it has it already. Failures are logged; the
 * survey tries again. Cheap if there is nothing to do. False: `stopped` returned true. */
bool projects_label(Projects *projects, const char *user, const char *path, bool (*stopped)(void *arg),
                    void *arg);
/* True if the user has a project id: the kernel enforces their limits. */
bool projects_have(Projects *projects, const char *user);
/* Passes the user's current limit to the kernel, and the kernel's count to the ledger. No I/O except these
 * calls, which use memory of the kernel. */
void projects_refresh(Projects *projects, const char *user);
void projects_refresh_all(Projects *projects);
/* Refreshes the owner of the tree that contains the directory, and reports an exhausted quota, as
 * ledger_say_full does. */
char *projects_say_full(Projects *projects, const char *dir);
