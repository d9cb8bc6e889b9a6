/* Deciding of project quotas (project.h): which user has which project id, whether the kernel keeps the
 * limits, and which. Pure, but for what callers hand in. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* ---- ids ---- */

#define PROJECT_IDS_DEFAULT "1879100000-1879999999"

typedef struct {
        guint32 first, last;
} ProjectRange;
/* "FIRST-LAST", from 1 on; ERR_INVALID names the option and the rule. */
bool project_range_parse(const char *option, const char *text, ProjectRange *ret, GError **error);

/* Users and their ids: a user keeps the id for as long as the state directory is there. */
typedef struct ProjectTable ProjectTable;
ProjectTable *project_table_new(void);
void project_table_free(ProjectTable *table); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProjectTable, project_table_free)

/* Lines "ID USER". ERR_INVALID names the line: an id or a user comes once. What is in `table` goes. */
bool project_table_parse(ProjectTable *table, const char *text, GError **error);
char *project_table_format(const ProjectTable *table); /* by id; the caller's */

guint32 project_table_id(const ProjectTable *table, const char *user); /* 0: none */
const char *project_table_user(const ProjectTable *table, guint32 id); /* NULL: nobody's */
GPtrArray *project_table_users(const ProjectTable *table);             /* char *; the caller's */
/* Whether the id is somebody else's on that file system; false with an error: it cannot be known. */
typedef bool (*ProjectIdLook)(guint32 id, bool *ret_used, void *arg, GError **error);
/* Gives `user` the first id of the range that nobody here has and `look` does not know as used. ERR_QUOTA
 * when all are taken; the first error of `look` ends it. */
bool project_table_add(ProjectTable *table, const ProjectRange *range, const char *user, ProjectIdLook look,
                       void *arg, guint32 *ret, GError **error);
void project_table_remove(ProjectTable *table, const char *user); /* who has none: a no-op */

/* ---- the file system ---- */

typedef struct {
        char *type, *source; /* "ext4", "/dev/vda" */
} MountEntry;
void mount_entry_clear(MountEntry *entry);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountEntry, mount_entry_clear)
/* The file system with this device number, in the text of /proc/self/mountinfo. False: it has none. */
bool mount_find(const char *mountinfo, guint major, guint minor, MountEntry *ret);

typedef struct {
        const char *type; /* of the file system; NULL: not known */
        bool users;       /* members run as users: what the server itself writes is not limited on ext4 */
        int failure;      /* errno of asking the kernel for the state of the project quota; 0: it answered */
        bool enforced;    /* what it answered */
} ProjectFacts;
/* NULL: the kernel can keep the limits; else why the accounting alone does. The caller's. */
char *project_quota_lacks(const ProjectFacts *facts);
