/* Inside the storage (storage.h): shared by its parts. Not for other folders. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "storage/storage.h"

enum { DIR_BYTES = 4096 }; /* size of a new directory */

struct Storage {
        char *dir, *dc;
        StorageOwnerOf owner_of; /* NULL: everything belongs to the server */
        void *owner_arg;
        Ledger *ledger;     /* borrowed; NULL: no accounting */
        Projects *projects; /* borrowed; or NULL */
        int root;           /* of the data centre: home/, public/, .upload/ */
        pthread_mutex_t uploads_mutex;
        GHashTable *uploads; /* name -> UploadLock, of uploads in use; guarded by the mutex */
        GHashTable *gone;    /* names of directories that are being removed out of sight; guarded by the
                                mutex */
};

/* A checked path: the open home or public directory, and the path below it ("." for itself). */
typedef struct {
        char *shown; /* the /pfs path, normal form */
        char *root;  /* "home/ann" or "public", below storage->root */
        char *below; /* "a/b" or "." */
        int fd;      /* of `root`; -1: only for reading, and that home does not exist yet */
        Owner owner; /* of `fd` */
        Storage *storage;
        char *payer; /* the user to whom written bytes are counted */
        bool shared; /* other Unix users than the server can write there */
        bool bound;  /* opened with PLACE_TAKE: only what `taker` owns may be removed */
        Owner taker;
} Place;

/* PLACE_TAKE is to remove or to move away. In public a user may take files that their own Unix user owns. */
typedef enum { PLACE_READ, PLACE_WRITE, PLACE_TAKE } PlaceUse;
/* Parses, checks `access` and opens. A missing home is created for writing. */
bool place_open(Place *place, Storage *storage, const char *pfs_path, const StorageAccess *access,
                PlaceUse use, GError **error);
void place_clear(Place *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Place, place_clear)
bool place_is_root(const Place *place);
/* The user whose home it is in, borrowed; NULL: public. */
const char *place_home(const Place *place);

/* Turns the errno of a failed access below a place into a message: a link that leaves the place, a missing
 * file, a full disk. Returns false. */
bool place_error(const Place *place, GError **error, int err, const char *what);

/* Gives a file that was created for a place to the place's owner. False with errno. */
bool place_give(const Place *place, int fd, mode_t mode);

/* False for another name that a user has given to a file of someone else. */
bool place_may_read(const Place *place, const struct stat *st);

/* The number of missing directories on the path to `below`, including itself. */
gint64 place_missing(const Place *place, const char *below);

/* Creates the directory `below` with all directories above it; links inside the place are followed. The
 * descriptor, or -1. */
int place_make_dirs(const Place *place, const char *below, GError **error);

/* Opens the directory that contains the last name of the place; *ret_name is that name, borrowed from the
 * place. -1 on failure. */
int place_parent(const Place *place, bool make, const char **ret_name, GError **error);
/* The same for a name that will be created: the message tells which directory is missing, and what to do. */
int place_parent_of_new(const Place *place, const char **ret_name, GError **error);

/* Call these around the removal of `.upload/<name>`, so that no sweep touches it meanwhile. The name is
 * borrowed. */
void storage_gone_begin(Storage *storage, const char *name);
void storage_gone_end(Storage *storage, const char *name);
