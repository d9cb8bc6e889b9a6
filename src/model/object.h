/* Objects that administrators create and jobs refer to: users, clusters, queues, flavours, grants, resource
 * pools, secrets, file systems. Each begins with an Object, is immutable once made and counted, and lives in the catalog
 * (catalog.h). The engine stores it as (kind, seq, name, JSON text). Rows of a table describe the fields of
 * each kind, so that copying, packing, formatting and freeing are written once. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

/* The numbers are stored in databases. */
typedef enum {
        KIND_USER,
        KIND_CLUSTER,
        KIND_QUEUE,
        KIND_FLAVOUR,
        KIND_GRANT,
        KIND_POOL,
        KIND_SECRET,
        KIND_FILESYSTEM,
        KINDS,
} ObjectKind;

/* "user", "cluster", "queue", "flavour", "grant", "resource pool", "secret", "file system" */
const char *kind_name(ObjectKind kind);

/* object_ref takes only objects of object_new and object_copy: their reference count is before them. */
typedef struct Object {
        guint8 kind;             /* ObjectKind */
        gint64 seq;              /* the store's key, in order of insertion; 0: not stored yet */
        gint64 version;          /* the engine's revision of the last change; 0: not stored yet */
        gint64 created, updated; /* ms */
        char *id;                /* "queue-1a2b3c4d"; a bare UUID for seeded objects */
        char *name;              /* unique within its kind */
} Object;

/* An object of the kind's size with all fields at their defaults and a new id. A default may be a text, such
 * as a queue's cluster. Code that sets such a field directly frees the old value first. */
Object *object_new(ObjectKind kind, const char *name);
Object *object_ref(const Object *object);
void object_unref(Object *object); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Object, object_unref)
Object *object_copy(const Object *object); /* a deep copy with one reference, to be changed and put */

/* object_pack writes everything but kind, seq and name as one JSON text for the store, and leaves out values
 * at their defaults. object_unpack reads it: it ignores unknown members and refuses malformed ones
 * (ERR_INVALID). */
char *object_pack(const Object *object);
Object *object_unpack(ObjectKind kind, gint64 seq, const char *name, const char *text, GError **error);

#define OBJECT_HIDDEN "***" /* is shown instead of a secret */

/* The representation of /v1 (doc/guide/rest.md): all members, no secrets. */
json_t *object_format(const Object *object);
/* Sets the members of `patch` on a copy: the body of POST (on a new object) and PATCH in /v1. ERR_INVALID
 * names member, value and rule. Unknown and read-only members are refused. catalog_check_put checks what
 * needs the catalog, such as whether the parent exists. */
bool object_patch(Object *object, const json_t *patch, GError **error);
