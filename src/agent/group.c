/* A member's cgroups (see group.h): /proc/PID/cgroup names them, /proc/self/mountinfo says where they are
 * mounted. */
#include "agent/group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 4 << 20 };

char *group_read(int dir, const char *file, size_t *ret_len)
{
        int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
        char *text = fd >= 0 ? malloc(TEXT_MAX + 1) : NULL;
        ssize_t got = 0;

        *ret_len = 0;
        while (text && *ret_len < TEXT_MAX && (got = read(fd, text + *ret_len, TEXT_MAX - *ret_len)) > 0)
                *ret_len += (size_t)got;
        if (fd >= 0)
                close(fd);
        if (text)
                text[*ret_len] = '\0';
        return text;
}

void groups_open(Groups *groups, int proc)
{
        size_t len;

        *groups = (Groups){ .text = group_read(proc, "cgroup", &len),
                            .mounts = group_read(AT_FDCWD, "/proc/self/mountinfo", &len) };
}

/* "7:pids:/paddle/x/slot-1", "0::/paddle/x/slot-1" */
bool groups_next(Groups *groups)
{
        char *line;

        if (!groups->text || !groups->mounts)
                return false;
        while ((line = strtok_r(groups->save ? NULL : groups->text, "\n", &groups->save))) {
                char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;

                if (!second || (!strstr(second, "/slot-") && !strstr(second, "/egress")))
                        continue;
                *second = '\0';
                groups->controllers = first + 1;
                groups->path = second + 1;
                return true;
        }
        return false;
}

static bool lists(const char *options, const char *controllers, size_t len)
{
        for (const char *at = options; (at = strstr(at, controllers)); at++)
                if (strncmp(at, controllers, len) == 0 && (at == options || at[-1] == ',') &&
                    (at[len] == ',' || at[len] == '\0' || at[len] == '\n'))
                        return true;
        return false;
}

/* True if this line of mountinfo is the hierarchy with these controllers ("": version 2). */
static bool is_mount_of(const char *line, const char *controllers, char root[PATH_MAX], char point[PATH_MAX])
{
        char type[64], options[1024]; /* in longer lists the cut-off option names no controller */
        const char *rest = strstr(line, " - ");

        return rest && sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2 &&
               sscanf(rest, " - %63s %*s %1023s", type, options) == 2 &&
               strcmp(type, *controllers ? "cgroup" : "cgroup2") == 0 &&
               (!*controllers || lists(options, controllers, strlen(controllers)));
}

bool groups_file(const Groups *groups, char ret[GROUP_FILE_SIZE])
{
        char *copy = strdup(groups->mounts), *save = NULL;
        bool found = false;

        for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line && !found;
             line = strtok_r(NULL, "\n", &save)) {
                char root[PATH_MAX], point[PATH_MAX];
                const char *below = groups->path;

                if (!is_mount_of(line, groups->controllers, root, point))
                        continue;
                if (strcmp(root, "/") != 0 && strncmp(below, root, strlen(root)) == 0)
                        below += strlen(root);
                (void)snprintf(ret, GROUP_FILE_SIZE, "%s%s/cgroup.procs", point, below);
                found = access(ret, F_OK) == 0;
        }
        free(copy);
        return found;
}

void groups_close(Groups *groups)
{
        free(groups->text);
        free(groups->mounts);
        *groups = (Groups){ 0 };
}
