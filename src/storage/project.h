/* Limits of the disk that the kernel keeps, where the file system of the state directory has project quotas:
 * each user has a project id (project-table.h), what the server keeps for the user alone carries it, and so
 * does all that is made in it. The survey (survey.h) counts on beside it: of what is shared or has lost its
 * id, and where there are no project quotas. Thread-safe. All functions take NULL as projects that nobody
 * has. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "storage/ledger.h"
#include "storage/project-table.h"

typedef enum { PROJECT_QUOTA_AUTO, PROJECT_QUOTA_ON, PROJECT_QUOTA_OFF } ProjectPolicy;

typedef struct {
        const char *state_dir;
        ProjectPolicy policy; /* ON: fails where the kernel cannot */
        ProjectRange range;
        bool users; /* members run as users */
        Ledger *ledger;
        /* Whose members run as another than the server. May look at the machine's users. */
        bool (*is_bound)(const char *user, void *arg);
        void *arg;
} ProjectConfig;

typedef struct Projects Projects;
/* *ret NULL: the accounting alone keeps the limits, which the log says with the reason; what an earlier start
 * has set is lifted. Borrows what the configuration points to. */
bool projects_open(const ProjectConfig *config, Projects **ret, GError **error);
void projects_free(Projects *projects);

/* The ledger knows the limits; not yet at first. */
void projects_set_live(Projects *projects, bool live);

/* The tree `path` is the user's: it gets their id, unless all of it had it before. Whatever goes wrong is
 * logged; the survey tries again. Cheap when there is nothing to do. False: `stopped` said so. */
bool projects_label(Projects *projects, const char *user, const char *path, bool (*stopped)(void *arg),
                    void *arg);
/* The user has a project id: the kernel keeps their limits. */
bool projects_have(Projects *projects, const char *user);
/* The user's limit as it is now goes to the kernel, and what the kernel has counted to the ledger. No I/O but
 * these calls, which look at memory of the kernel. */
void projects_refresh(Projects *projects, const char *user);
void projects_refresh_all(Projects *projects);
/* Refreshes whose tree the directory is in, and says that their quota is used up, as ledger_say_full does. */
char *projects_say_full(Projects *projects, const char *dir);
