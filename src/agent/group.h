/* The cgroups of a member, from outside: those of its slot, and the one for its connections (doc/internals/agent.md,
 * "cgroups"). A part of paddle-spawner; no GLib. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { GROUP_FILE_SIZE = 3 * PATH_MAX };

/* A walk over the cgroups of a member. Groups that the member shares with the agent are skipped. */
typedef struct {
        char *text, *mounts, *save;
        const char *controllers, *path; /* of the group that was found last */
} Groups;

/* `proc`: the directory in /proc of a process of the member. */
void groups_open(Groups *groups, int proc);
bool groups_next(Groups *groups);
/* The path of its cgroup.procs. False: the hierarchy is not mounted. */
bool groups_file(const Groups *groups, char ret[GROUP_FILE_SIZE]);
void groups_close(Groups *groups);

/* The content of a file (at most 4 MiB) below an open directory, followed by a NUL; the caller's. NULL with
 * errno. */
char *group_read(int dir, const char *file, size_t *ret_len);
