/* Trees that go from one Unix user to another: the server is root and its members are not. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct {
        uid_t uid;
        gid_t gid;
} Owner;

/* Gives the tree `name` of the directory `parent` (or AT_FDCWD) away, the directory itself last, shut for
 * everybody else (0700). Links are given, not followed; a file that has another name, too, is left as it is,
 * since that name may be anywhere. */
bool tree_give(int parent, const char *name, const Owner *owner, GError **error);

/* The same of whatever the name is, a file as well; rights stay as they are. Users may have processes in the
 * tree. */
bool tree_hand_over(int parent, const char *name, const Owner *owner, GError **error);
