/* File systems by name (doc/internals/filesystems.md): where jobs mount data from, and where runs find their files. A
 * file system belongs to a user. It is an object of the catalog named "<user>/<name>". Every user also has the file
 * system `home`, which is built in and not stored: the user's home in the storage (storage/storage.h).
 *
 * Kinds and their URLs are those of PaddleFlow (doc/reference/paddleflow-api.md, "File systems"). All kinds are parsed
 * and checked; `local` and `mock` can be used. Pure: no I/O. */
#pragma once

#include "model/object.h"

enum {
        FILESYSTEM_NAME_MAX = 63,
        FILESYSTEM_NAMES_MAX =
                59, /* bytes of the user's and the file system's name together: an id is part of names
                                      of a cluster's objects */
        FILESYSTEM_URL_MAX = 1024,
        FILESYSTEM_PROPERTIES_BYTES = 16 * 1024, /* all of a file system, with their names */
        FILESYSTEMS_PER_USER = 100,
};

#define FILESYSTEM_HOME "home" /* the name of the built-in one */

typedef enum {
        FILESYSTEM_LOCAL, /* a directory of the machine */
        FILESYSTEM_MOCK,  /* the same; pods reach it by a claim (PersistentVolumeClaim) */
        FILESYSTEM_HDFS,
        FILESYSTEM_HDFS_KERBEROS,
        FILESYSTEM_SFTP,
        FILESYSTEM_S3,
        FILESYSTEM_BOS,
        FILESYSTEM_CFS,
        FILESYSTEM_GLUSTERFS,
        FILESYSTEM_AFS,
        FILESYSTEM_HOMES, /* `home` */
        FILESYSTEM_TYPES,
} FilesystemType;
const char *filesystem_type_name(FilesystemType type); /* "local", "hdfsWithKerberos", "home" */

typedef struct {
        Object object;
        char *user;             /* the owner */
        char *url;              /* "local://data/sets" */
        char **properties;      /* "K=V" list; NULL: none */
        bool read_only;         /* the server and jobs may only read it */
        bool independent_mount; /* of the older interface: stored and shown, without effect */
} Filesystem;

/* A new object with its id, "fs-<user>-<name>". */
Filesystem *filesystem_new(const char *user, const char *name);
const char *filesystem_name(const Filesystem *filesystem); /* without its user; borrowed */
char *filesystem_key(const char *user, const char *name);  /* "<user>/<name>"; the caller's */
char *filesystem_id(const char *user, const char *name);   /* "fs-<user>-<name>"; the caller's */
const char *filesystem_property(char *const *properties, const char *key); /* borrowed; NULL: not set */

/* Whether the value of this property is never shown: passwords, secret keys, tokens, keytabs, by the name of the key. */
bool filesystem_property_is_secret(const char *key);

/* ---- checks, each with ERR_INVALID that names the field, its value and the rule ---- */

/* 1 to 63 letters, digits, '-' and '_'; with the user's name at most 59 bytes; not `home`. */
bool filesystem_name_check(const char *user, const char *name, GError **error);

/* The parts of a URL. */
typedef struct {
        FilesystemType type;
        char *server; /* "host:9000,other:9000", "afs://host", an endpoint; "" for local and mock */
        char *path;   /* absolute and without "." or ".."; the volume's name for glusterfs */
} FilesystemAddress;
void filesystem_address_clear(FilesystemAddress *address);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FilesystemAddress, filesystem_address_clear)
bool filesystem_address_parse(const char *url, char *const *properties, FilesystemAddress *ret,
                              GError **error);
/* The properties that the kind needs, and the rules of those that have one. */
bool filesystem_properties_check(FilesystemType type, char *const *properties, GError **error);
/* ERR_CONFLICT: the kind needs a connection, for which there is no driver yet. */
bool filesystem_type_check(FilesystemType type, GError **error);
/* All of these but the name. */
bool filesystem_check(const Filesystem *filesystem, GError **error);

/* ---- looking one up ---- */

/* A file system that can be used, for a mount or for the server's own access (fs/vfs.h). */
typedef struct {
        FilesystemType type; /* local, mock or home */
        char *id, *user, *name;
        char *root; /* absolute path of its directory on this machine */
        bool read_only;
        char *claim, *namespace; /* of mock: the claim by which pods reach it; else NULL */
} FilesystemPlace;
void filesystem_place_clear(FilesystemPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FilesystemPlace, filesystem_place_clear)
/* catalog_filesystem_place (catalog.h) finds it. */
