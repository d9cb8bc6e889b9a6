/* Names of members and of their tasks: "trainer-0" for people, "<job id>.<attempt>.<role>.<index>" for the
 * runtime. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/job.h"
#include "runtime/runtime.h"

typedef struct {
        char job_id[ID_LEN + 1];
        int attempt;
        char role[TASK_NAME_MAX + 1];
        int index;
} TaskName;

/* The caller's. */
char *task_format(const Job *job, const Member *member);

/* False if `task` is not a member's name ("env.<hash>"). */
bool task_parse(const char *task, TaskName *ret);

/* The index of the member of `job` that a task names, or -1: it is of another attempt, or unknown. */
int task_member(const Job *job, const TaskName *name);

/* "trainer-0"; the caller's. */
char *member_name(const Job *job, const Member *member);
