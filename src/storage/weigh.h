/* The disk usage of a tree. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef struct {
        gint64 bytes, files; /* as the file system counts them; files: inodes, including the top */
        gint64 used;         /* ms: the latest change of anything in it */
} Weight;

/* Called for each inode, once in a walk. */
typedef void (*WeighFunc)(const struct stat *st, void *arg);

/* Called for each name. If it is a directory, before that is entered. */
typedef void (*WeighVisit)(int dir, const char *name, const struct stat *st, void *arg);

typedef struct {
        bool shared;      /* a file with n names counts 1/(n - 1) of its size: for trees of links to one
                        store of contents */
        GHashTable *seen; /* inodes with several names, shared by walks that together count each once
                           (weigh_seen_new) */
        WeighFunc func;   /* or NULL */
        void *arg;
        WeighVisit visit; /* or NULL */
        void *visit_arg;
        bool (*stopped)(void *arg); /* called from time to time; or NULL */
        void *stopped_arg;
} WeighHow;

GHashTable *weigh_seen_new(void);

/* Adds the usage of `name` in the directory `parent` (or AT_FDCWD). Links are not followed, other file
 * systems are not entered, a file with several names counts once. Directories that cannot be opened count as
 * far as they are visible; a missing name counts as nothing. False: stopped. Uses few descriptors, however
 * deep the tree is. */
bool tree_weigh(int parent, const char *name, const WeighHow *how, Weight *weight);
