/* Inside the storage (storage.h): what its parts share. Not for other rooms. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "storage/storage.h"

enum { DIR_BYTES = 4096 }; /* what a new directory takes */

struct Storage {
        char *dir, *dc;
        StorageOwnerOf owner_of; /* NULL: all of it is the server's */
        void *owner_arg;
        Ledger *ledger;     /* borrowed; NULL: nothing is counted */
        Projects *projects; /* borrowed; or NULL */
        int root;           /* of the data centre: home/, public/, .upload/ */
        pthread_mutex_t uploads_mutex;
        GHashTable *uploads; /* name -> UploadLock, of those that somebody works on; with the mutex */
        GHashTable *gone;    /* names of directories that are being removed out of sight; with the mutex */
};

/* A checked path: the open home or public directory, and the way below it ("." for itself). */
typedef struct {
        char *shown; /* the /pfs path, normal form */
        char *root;  /* "home/ann" or "public", below storage->root */
        char *below; /* "a/b" or "." */
        int fd;      /* of `root`; -1 when that home has not been made yet and is only read */
        Owner owner; /* of `fd` */
        Storage *storage;
        char *payer; /* to whom counts what is written */
        bool shared; /* others than the server can write there */
        bool bound;  /* opened to take: only what belongs to `taker` may go */
        Owner taker;
} Place;

/* To take is to remove or to move away: in public a user may take what their own Unix user owns there. */
typedef enum { PLACE_READ, PLACE_WRITE, PLACE_TAKE } PlaceUse;
/* Parses, checks `access` and opens. A home that is written to is made. */
bool place_open(Place *place, Storage *storage, const char *pfs_path, const StorageAccess *access,
                PlaceUse use, GError **error);
void place_clear(Place *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Place, place_clear)
bool place_is_root(const Place *place);
/* Whose home it is in, borrowed; NULL: public. */
const char *place_home(const Place *place);

/* The errno of a failed access below a place as a message: a link that leaves the place, a missing file, a
 * full disk. Returns false. */
bool place_error(const Place *place, GError **error, int err, const char *what);

/* What was made for a place becomes its owner's. False with errno. */
bool place_give(const Place *place, int fd, mode_t mode);

/* False for a second name that somebody has given to a file that is not theirs. */
bool place_may_read(const Place *place, const struct stat *st);

/* How many directories of the way to `below`, itself one, are missing. */
gint64 place_missing(const Place *place, const char *below);

/* Makes the directory `below` with all above it; links inside the place are followed. The descriptor, or -1.
 */
int place_make_dirs(const Place *place, const char *below, GError **error);

/* Opens the directory that holds the last name of the place; *ret_name is that name, borrowed from the place.
 * -1 on failure. */
int place_parent(const Place *place, bool make, const char **ret_name, GError **error);
/* The same for a name that is to be made: the message says which directory is missing, and what to do. */
int place_parent_of_new(const Place *place, const char **ret_name, GError **error);

/* Around the removal of `.upload/<name>`, which no sweep touches meanwhile. The name is borrowed. */
void storage_gone_begin(Storage *storage, const char *name);
void storage_gone_end(Storage *storage, const char *name);
