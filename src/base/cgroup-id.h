/* The owner of a member's cgroup. */
#pragma once

/* The <id> in <mount>/paddle/<id>, the cgroups of the agent whose directory is `dir` (STATE/agent). It is the
 * same at each start and differs between agents. The caller frees it. */
char *cgroup_id_of(const char *dir);
