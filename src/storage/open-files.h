/* Open files that no longer have a name: they use the disk, but no walk of a tree finds them. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef struct {
        dev_t device;      /* only files of this file system */
        const char *group; /* only processes with this text in the path of their cgroup; NULL: all */
        uid_t except;      /* processes of this user are skipped */
        void (*func)(const struct stat *st, void *arg); /* each file once */
        void *arg;
        bool (*stopped)(void *arg); /* called from time to time; or NULL */
        void *stopped_arg;
} OpenFilesLook;

/* Uses /proc. Skips processes that it may not inspect, descriptors of a process beyond 65,536, and files that
 * are mapped into memory but not open. False: stopped. */
bool open_files_unlinked(const OpenFilesLook *look);
