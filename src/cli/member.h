/* Which member of a job a verb is about when none is named. */
#pragma once

#include "cli/cli.h"

/* The name of the first trainer or worker that runs, else of the first member that runs; the caller's.
 * ERR_CONFLICT: none runs; the message calls the job `shown`, as the person does. */
bool member_choose(Cli *cli, const char *job, const char *shown, char **ret, GError **error);

/* The id of a job, by which a later one of its name does not slip in; and a member of it, chosen when
 * *member is NULL. The caller's. */
bool member_resolve(Cli *cli, const char *job, char **ret_id, char **member, GError **error);

/* "JOB/MEMBER" in its parts, the caller's; *ret_member NULL: none is named. */
void member_split(const char *word, char **ret_job, char **ret_member);
