/* How much of the disk a tree holds. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef struct {
        gint64 bytes, files; /* as the file system counts them; files: inodes, the top among them */
        gint64 used;         /* ms: the latest change of anything in it */
} Weight;

/* Called for each inode, once in a walk. */
typedef void (*WeighFunc)(const struct stat *st, void *arg);

/* Called for each name before the directory that it may be is entered. */
typedef void (*WeighVisit)(int dir, const char *name, const struct stat *st, void *arg);

typedef struct {
        bool shared; /* a file of n names counts an (n - 1)th: of trees of links to one store of contents */
        GHashTable
                *seen;  /* inodes of several names, of walks that count each once together (weigh_seen_new) */
        WeighFunc func; /* or NULL */
        void *arg;
        WeighVisit visit; /* or NULL */
        void *visit_arg;
        bool (*stopped)(void *arg); /* asked now and then; or NULL */
        void *stopped_arg;
} WeighHow;

GHashTable *weigh_seen_new(void);

/* Adds what `name` in the directory `parent` (or AT_FDCWD) holds: links are not followed, other file systems
 * are not entered, a file of several names counts once. What cannot be opened counts as far as it can be
 * seen; a name that is not there as nothing. False: stopped. Holds few descriptors, however deep it is. */
bool tree_weigh(int parent, const char *name, const WeighHow *how, Weight *weight);
