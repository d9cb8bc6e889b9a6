/* What administrators make and jobs refer to: users, clusters, queues, flavours, grants, resource pools. All
 * of them begin with an Object, are immutable once made and counted, and live in the catalog (catalog.h). The
 * engine stores them as (kind, seq, name, JSON text); rows of a table give each kind its fields, so that
 * copying, packing, formatting and freeing are written once. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

/* These numbers are in databases. */
typedef enum {
        KIND_USER,
        KIND_CLUSTER,
        KIND_QUEUE,
        KIND_FLAVOUR,
        KIND_GRANT,
        KIND_POOL,
        KIND_SECRET,
        KINDS,
} ObjectKind;

/* "user", "cluster", "queue", "flavour", "grant", "resource pool", "secret" */
const char *kind_name(ObjectKind kind);

typedef struct Object {
        gatomicrefcount refs;
        guint8 kind;             /* ObjectKind */
        gint64 seq;              /* the store's key; order of insertion. 0: not stored yet */
        gint64 version;          /* the engine's revision of its last change; 0: not stored yet */
        gint64 created, updated; /* ms */
        char *id;                /* "queue-1a2b3c4d"; a bare UUID for what is seeded */
        char *name;              /* unique inside its kind */
} Object;

/* Of the kind's size, everything at its default, id made. A default may be a text, such as a queue's cluster:
 * whoever sets such a field by hand frees what was there. */
Object *object_new(ObjectKind kind, const char *name);
Object *object_ref(const Object *object);
void object_unref(Object *object); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Object, object_unref)
Object *object_copy(const Object *object); /* deep, one reference: to be changed and put */

/* Everything but kind, seq and name as one JSON text for the store, and back. Values at their default are
 * left out. Unpacking takes what it knows and refuses what is broken (ERR_INVALID). */
char *object_pack(const Object *object);
Object *object_unpack(ObjectKind kind, gint64 seq, const char *name, const char *text, GError **error);

/* The representation of /v1 (doc/guide/rest.md): all members, no secrets. */
json_t *object_format(const Object *object);
/* Sets the members of `patch` on a copy: the body of POST (on a new object) and PATCH in /v1. ERR_INVALID
 * names member, value and rule; unknown and read-only members are refused. What only the catalog can judge
 * (does the parent exist?) is catalog_check's. */
bool object_patch(Object *object, const json_t *patch, GError **error);
