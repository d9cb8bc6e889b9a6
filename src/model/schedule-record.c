/* Schedules as the store keeps them (see schedule-record.h). */
#include "model/schedule-record.h"

#include <string.h>

#include "base/err.h"

static const char *const states[] = {
        [SCHEDULE_RUNNING] = "running",
        [SCHEDULE_SUCCESS] = "success",
        [SCHEDULE_TERMINATED] = "terminated",
        [SCHEDULE_FAILED] = "failed",
};
G_STATIC_ASSERT(G_N_ELEMENTS(states) == SCHEDULE_STATES);

static const char *const policies[] = {
        [SCHEDULE_SUSPEND] = "suspend",
        [SCHEDULE_REPLACE] = "replace",
        [SCHEDULE_SKIP] = "skip",
};
G_STATIC_ASSERT(G_N_ELEMENTS(policies) == SCHEDULE_POLICIES);

const char *schedule_state_name(ScheduleState state)
{
        return states[state];
}

bool schedule_state_parse(const char *name, ScheduleState *ret)
{
        for (int i = 0; i < SCHEDULE_STATES; i++)
                if (strcmp(states[i], name) == 0) {
                        *ret = (ScheduleState)i;
                        return true;
                }
        return false;
}

const char *schedule_policy_name(SchedulePolicy policy)
{
        return policies[policy];
}

bool schedule_policy_parse(const char *name, SchedulePolicy *ret, GError **error)
{
        for (int i = 0; i < SCHEDULE_POLICIES; i++)
                if (strcmp(policies[i], *name ? name : "suspend") == 0) {
                        *ret = (SchedulePolicy)i;
                        return true;
                }
        return err_set(error, ERR_INVALID, "concurrency policy '%.40s' is not suspend, replace or skip",
                       name);
}

void schedule_record_free(ScheduleRecord *record)
{
        if (!record)
                return;
        g_free(record->user);
        g_free(record->name);
        g_free(record->note);
        g_free(record->run_user);
        g_free(record->pipeline_name);
        g_free(record->fs);
        g_free(record->mounts);
        g_free(record->queue);
        g_free(record->crontab);
        g_free(record->message);
        g_free(record);
}

ScheduleRecord *schedule_record_copy(const ScheduleRecord *record)
{
        ScheduleRecord *copy = g_memdup2(record, sizeof *record);

        copy->user = g_strdup(record->user);
        copy->name = g_strdup(record->name);
        copy->note = g_strdup(record->note);
        copy->run_user = g_strdup(record->run_user);
        copy->pipeline_name = g_strdup(record->pipeline_name);
        copy->fs = g_strdup(record->fs);
        copy->mounts = g_strdup(record->mounts);
        copy->queue = g_strdup(record->queue);
        copy->crontab = g_strdup(record->crontab);
        copy->message = g_strdup(record->message);
        return copy;
}

bool schedule_name_is_valid(const char *name)
{
        gsize len = strlen(name);

        return len >= 2 && len <= SCHEDULE_NAME_MAX && (g_ascii_isalpha(*name) || *name == '_') &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

char *schedule_name_advice(const char *name)
{
        g_autofree char *other = g_strdelimit(g_strdup(name), "-", '_');

        return strcmp(other, name) == 0 || !schedule_name_is_valid(other)
                       ? g_strdup("")
                       : g_strdup_printf("\nA schedule's name has no '-', as in PaddleFlow: '%s'.", other);
}
