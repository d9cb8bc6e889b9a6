/* Task names (see task.h). Roles may hold dashes, never dots, so that the name splits at its dots. */
#include "engine/task.h"

#include <string.h>

#include "base/number.h"

char *task_format(const Job *job, const Member *member)
{
        return g_strdup_printf("%s.%d.%s.%d", job->id, job->attempt, job->spec->roles[member->role].name,
                               member->index);
}

static bool parse_part(const char *text, int *ret)
{
        gint64 value;

        if (!number_parse("task", text, 0, G_MAXINT, &value, NULL))
                return false;
        *ret = (int)value;
        return true;
}

bool task_parse(const char *task, TaskName *ret)
{
        g_auto(GStrv) parts = g_strsplit(task, ".", 5);

        if (g_strv_length(parts) != 4 || !id_is_valid(parts[0]))
                return false;
        if (!parse_part(parts[1], &ret->attempt) || !parse_part(parts[3], &ret->index))
                return false;
        g_strlcpy(ret->job_id, parts[0], sizeof ret->job_id);
        g_strlcpy(ret->role, parts[2], sizeof ret->role);
        return true;
}

int task_member(const Job *job, const TaskName *name)
{
        int first = 0;

        if (name->attempt != job->attempt || strcmp(name->job_id, job->id) != 0)
                return -1;
        for (int r = 0; r < job->spec->n_roles; r++) {
                const Role *role = &job->spec->roles[r];

                if (strcmp(role->name, name->role) == 0)
                        return name->index < role->replicas && first + name->index < job->n_members
                                       ? first + name->index
                                       : -1;
                first += role->replicas;
        }
        return -1;
}

char *member_name(const Job *job, const Member *member)
{
        return g_strdup_printf("%s-%d", job->spec->roles[member->role].name, member->index);
}
