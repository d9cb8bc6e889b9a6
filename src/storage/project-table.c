/* Decisions about project quotas (see project-table.h). */
#include "storage/project-table.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/number.h"

struct ProjectTable {
        GHashTable *ids;   /* user -> id */
        GHashTable *users; /* id -> user; owned by `ids` */
};

/* ---- ids ---- */

bool project_range_parse(const char *option, const char *text, ProjectRange *ret, GError **error)
{
        const char *dash = strchr(text, '-');
        g_autofree char *left = g_strndup(text, dash ? (gsize)(dash - text) : strlen(text));
        gint64 first, last;

        if (!dash)
                return err_set(error, ERR_INVALID, "%s: '%s' is not FIRST-LAST, such as " PROJECT_IDS_DEFAULT,
                               option, text);
        if (!number_parse(option, left, 1, G_MAXUINT32 - 1, &first, error) ||
            !number_parse(option, dash + 1, 1, G_MAXUINT32 - 1, &last, error))
                return false;
        if (first > last)
                return err_set(error, ERR_INVALID, "%s: '%s' must ascend", option, text);
        *ret = (ProjectRange){ (guint32)first, (guint32)last };
        return true;
}

ProjectTable *project_table_new(void)
{
        ProjectTable *table = g_new(ProjectTable, 1);

        table->ids = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        table->users = g_hash_table_new(NULL, NULL);
        return table;
}

void project_table_free(ProjectTable *table)
{
        if (!table)
                return;
        g_hash_table_unref(table->users);
        g_hash_table_unref(table->ids);
        g_free(table);
}

static void put(ProjectTable *table, guint32 id, const char *user)
{
        char *own = g_strdup(user);

        g_hash_table_insert(table->ids, own, GUINT_TO_POINTER(id));
        g_hash_table_insert(table->users, GUINT_TO_POINTER(id), own);
}

static bool parse_line(ProjectTable *table, const char *line, GError **error)
{
        const char *space = strchr(line, ' ');
        g_autofree char *digits = g_strndup(line, space ? (gsize)(space - line) : 0);
        gint64 id;

        if (!space || !space[1])
                return err_set(error, ERR_INVALID, "'%s' is not ID USER", line);
        if (!number_parse("project id", digits, 1, G_MAXUINT32 - 1, &id, error))
                return false;
        if (project_table_user(table, (guint32)id) || project_table_id(table, space + 1))
                return err_set(error, ERR_INVALID, "'%s': this id or user occurs twice", line);
        put(table, (guint32)id, space + 1);
        return true;
}

bool project_table_parse(ProjectTable *table, const char *text, GError **error)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        g_hash_table_remove_all(table->users);
        g_hash_table_remove_all(table->ids);
        for (char **line = lines; *line; line++)
                if (**line && !parse_line(table, *line, error))
                        return false;
        return true;
}

static gint by_id(gconstpointer a, gconstpointer b, gpointer data)
{
        const ProjectTable *table = data;
        guint32 one = project_table_id(table, *(char *const *)a),
                other = project_table_id(table, *(char *const *)b);

        return (one > other) - (one < other);
}

char *project_table_format(const ProjectTable *table)
{
        g_autoptr(GPtrArray) users = project_table_users(table);
        GString *text = g_string_new(NULL);

        g_ptr_array_sort_with_data(users, by_id, (gpointer)table);
        for (guint i = 0; i < users->len; i++) {
                const char *user = users->pdata[i];

                g_string_append_printf(text, "%u %s\n", project_table_id(table, user), user);
        }
        return g_string_free(text, FALSE);
}

guint32 project_table_id(const ProjectTable *table, const char *user)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(table->ids, user));
}

const char *project_table_user(const ProjectTable *table, guint32 id)
{
        return g_hash_table_lookup(table->users, GUINT_TO_POINTER(id));
}

GPtrArray *project_table_users(const ProjectTable *table)
{
        GPtrArray *users = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        gpointer user;

        g_hash_table_iter_init(&iter, table->ids);
        while (g_hash_table_iter_next(&iter, &user, NULL))
                g_ptr_array_add(users, g_strdup(user));
        return users;
}

bool project_table_add(ProjectTable *table, const ProjectRange *range, const char *user, ProjectIdLook look,
                       void *arg, guint32 *ret, GError **error)
{
        for (guint64 id = range->first; id <= range->last; id++) {
                bool used = project_table_user(table, (guint32)id) != NULL;

                if (!used && !look((guint32)id, &used, arg, error))
                        return false;
                if (used)
                        continue;
                put(table, (guint32)id, user);
                *ret = (guint32)id;
                return true;
        }
        return err_set(error, ERR_QUOTA,
                       "no project id is free for '%s': all of %u-%u are taken on this file system\nStart "
                       "paddled with a longer range (--project-ids).",
                       user, range->first, range->last);
}

void project_table_remove(ProjectTable *table, const char *user)
{
        g_hash_table_remove(table->users, GUINT_TO_POINTER(project_table_id(table, user)));
        g_hash_table_remove(table->ids, user);
}

/* ---- the file system ---- */

void mount_entry_clear(MountEntry *entry)
{
        g_clear_pointer(&entry->type, g_free);
        g_clear_pointer(&entry->source, g_free);
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": the optional fields end with "-". Blanks
 * in the source are octal. */
bool mount_find(const char *mountinfo, guint major, guint minor, MountEntry *ret)
{
        g_auto(GStrv) lines = g_strsplit(mountinfo, "\n", -1);
        g_autofree char *device = g_strdup_printf("%u:%u", major, minor);

        for (char **line = lines; *line; line++) {
                g_auto(GStrv) fields = g_strsplit(*line, " ", -1);
                guint count = g_strv_length(fields), dash = 6;

                while (dash < count && strcmp(fields[dash], "-") != 0)
                        dash++;
                if (dash + 2 >= count || strcmp(fields[2], device) != 0)
                        continue;
                *ret = (MountEntry){ g_strdup(fields[dash + 1]), g_strcompress(fields[dash + 2]) };
                return true;
        }
        return false;
}

/* How to enable the project quota of a file system. */
static const struct {
        const char *type, *how;
} able[] = {
        { "ext4",
          "tune2fs -O project,quota -Q prjquota on the unmounted device, then mount it with prjquota" },
        { "xfs", "mount it with prjquota" },
        { "f2fs", "make it with -O extra_attr,project_quota,quota" },
};

char *project_quota_lacks(const ProjectFacts *facts)
{
        const char *how = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(able); i++)
                if (g_strcmp0(facts->type, able[i].type) == 0)
                        how = able[i].how;
        if (!facts->users)
                return g_strdup("members run as the server, whom the kernel does not limit");
        if (!how)
                return g_strdup_printf("a file system of type %s has no project quota",
                                       facts->type ? facts->type : "unknown");
        if (facts->failure == EPERM)
                return g_strdup("the server may not set quotas (it lacks CAP_SYS_ADMIN)");
        if (facts->failure || !facts->enforced)
                return g_strdup_printf("the project quota of this %s file system is off (%s)", facts->type,
                                       how);
        return NULL;
}
