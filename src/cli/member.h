/* Chooses the member of a job for a verb when none is named. */
#pragma once

#include "cli/cli.h"

/* The name of the first running trainer or worker, else of the first running member; the caller's.
 * ERR_CONFLICT: none is running; the message uses the name `shown` for the job. */
bool member_choose(Cli *cli, const char *job, const char *shown, char **ret, GError **error);

/* The id of a job, so that a later job of the same name is not used by mistake; and a member of it, chosen if
 * *member is NULL. The caller's. */
bool member_resolve(Cli *cli, const char *job, char **ret_id, char **member, GError **error);

/* Splits "JOB/MEMBER"; the parts are the caller's; *ret_member NULL: none is named. */
void member_split(const char *word, char **ret_job, char **ret_member);
