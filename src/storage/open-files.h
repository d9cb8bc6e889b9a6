/* Files that are open and have no name any more: they hold the disk, and no walk of a tree finds them. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef struct {
        dev_t device;      /* files of this file system alone */
        const char *group; /* processes whose cgroup has this in its path alone; NULL: all */
        uid_t except;      /* processes of this user are not looked at */
        void (*func)(const struct stat *st, void *arg); /* each file once */
        void *arg;
        bool (*stopped)(void *arg); /* asked now and then; or NULL */
        void *stopped_arg;
} OpenFilesLook;

/* By /proc. Processes that may not be looked at, and what one of them holds beyond 65,536 descriptors, are
 * passed over; so are files that are mapped into memory and not open. False: stopped. */
bool open_files_unlinked(const OpenFilesLook *look);
