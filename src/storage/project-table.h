/* Decisions for project quotas (project.h): the project id of each user, whether the kernel can enforce
 * limits, and which. Pure, except for functions that callers pass in. */
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

/* Users and their ids: a user keeps the id as long as the state directory exists. */
typedef struct ProjectTable ProjectTable;
ProjectTable *project_table_new(void);
void project_table_free(ProjectTable *table); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProjectTable, project_table_free)

/* Lines "ID USER". ERR_INVALID names the line; each id and user may occur once. Replaces the contents of
 * `table`. */
bool project_table_parse(ProjectTable *table, const char *text, GError **error);
char *project_table_format(const ProjectTable *table); /* by id; the caller's */

guint32 project_table_id(const ProjectTable *table, const char *user); /* 0: none */
const char *project_table_user(const ProjectTable *table, guint32 id); /* NULL: unused */
GPtrArray *project_table_users(const ProjectTable *table);             /* char *; the caller's */
/* *ret_used: whether the id is used by others on that file system; false with an error: it cannot be
 * determined. */
typedef bool (*ProjectIdLook)(guint32 id, bool *ret_used, void *arg, GError **error);
/* Gives `user` the first id of the range that no user here has and that `look` does not report as used.
 * ERR_QUOTA if all are used; the first error of `look` is returned. */
bool project_table_add(ProjectTable *table, const ProjectRange *range, const char *user, ProjectIdLook look,
                       void *arg, guint32 *ret, GError **error);
void project_table_remove(ProjectTable *table, const char *user); /* a user without an id: a no-op */

/* ---- the file system ---- */

typedef struct {
        char *type, *source; /* "ext4", "/dev/vda" */
} MountEntry;
void mount_entry_clear(MountEntry *entry);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountEntry, mount_entry_clear)
/* The file system with this device number, in the text of /proc/self/mountinfo. False: not found. */
bool mount_find(const char *mountinfo, guint major, guint minor, MountEntry *ret);

typedef struct {
        const char *type; /* of the file system; NULL: unknown */
        bool users;       /* members run as users: ext4 does not limit the server's own writes */
        int failure;      /* errno of querying the kernel for the state of the project quota; 0: success */
        bool enforced;    /* the result of the query */
} ProjectFacts;
/* NULL: the kernel can enforce the limits; else why only the accounting does. The caller's. */
char *project_quota_lacks(const ProjectFacts *facts);
