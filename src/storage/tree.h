/* Giving trees to another Unix user: the server is root and its members are not. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct {
        uid_t uid;
        gid_t gid;
} Owner;

/* Gives away the tree `name` of the directory `parent` (or AT_FDCWD), the directory itself last, closed to
 * all others (0700). Links are given, not followed. A file that has another name, too, is left unchanged,
 * because that name may be anywhere. */
bool tree_give(int parent, const char *name, const Owner *owner, GError **error);

/* The same for any type of file; permissions stay unchanged. Processes of users may run in the tree. */
bool tree_hand_over(int parent, const char *name, const Owner *owner, GError **error);
