/* Runs a part of a test on a disk of 2 MB that fills up: `dir/disk`, in a child's own mount namespace. */
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "storage/test/scratch.h"

static inline void on_small_disk(void (*part)(const char *dir))
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *disk = g_build_filename(dir, "disk", NULL);
        int status = -1;
        pid_t pid;

        g_assert_cmpint(mkdir(disk, 0755), ==, 0);
        pid = fork();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                    mount("tmpfs", disk, "tmpfs", 0, "size=2m,nr_inodes=2000") < 0)
                        _exit(77);
                part(dir);
                _exit(0);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                g_test_skip("no mount namespace: needs root");
        else
                g_assert_cmpint(status, ==, 0);
}
