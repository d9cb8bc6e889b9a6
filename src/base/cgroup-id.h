/* Whose a cgroup of a member is. */
#pragma once

/* The <id> of the groups <mount>/paddle/<id> of the agent of directory `dir` (STATE/agent): the same at each
 * start, different for others. The caller's. */
char *cgroup_id_of(const char *dir);
