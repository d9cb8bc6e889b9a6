/* The catalog: all users, clusters, queues, flavours, grants, pools, secrets and file systems at one moment. Immutable and
 * counted. A change makes a new catalog that shares all unchanged objects. The engine owns the current one
 * and publishes it after each commit. Readers of any thread take a reference. */
#pragma once

#include "model/cluster.h"
#include "model/filesystem.h"
#include "model/flavour.h"
#include "model/object.h"
#include "model/queue.h"
#include "model/secret.h"
#include "model/user.h"

typedef struct Catalog Catalog;

Catalog *catalog_new(void); /* empty */
Catalog *catalog_ref(Catalog *catalog);
void catalog_unref(Catalog *catalog); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Catalog, catalog_unref)

/* Borrowed from the catalog; NULL: not found. */
const Object *catalog_find(const Catalog *catalog, ObjectKind kind, const char *name);
const User *catalog_user(const Catalog *catalog, const char *name);
/* The user to whom this single sign-on identity belongs. Searches all users. */
const User *catalog_user_by_subject(const Catalog *catalog, const char *issuer, const char *subject);
const Cluster *catalog_cluster(const Catalog *catalog, const char *name);
const Queue *catalog_queue(const Catalog *catalog, const char *name);
const Flavour *catalog_flavour(const Catalog *catalog, const char *name);
const Grant *catalog_grant(const Catalog *catalog, const char *user, GrantType type, const char *resource);
const Secret *catalog_secret(const Catalog *catalog, const char *user, const char *name);
const Filesystem *catalog_filesystem(const Catalog *catalog, const char *user, const char *name);
/* By "fs-<user>-<name>". Searches all file systems. */
const Filesystem *catalog_filesystem_by_id(const Catalog *catalog, const char *id);
/* All objects of a kind in order of seq; const Object *, borrowed from the catalog. */
const GPtrArray *catalog_list(const Catalog *catalog, ObjectKind kind);
guint catalog_count(const Catalog *catalog, ObjectKind kind);

/* A new catalog with `object` added or replaced (its reference is added), or without it. catalog_load takes
 * many objects at once. */
Catalog *catalog_with(const Catalog *catalog, Object *object);
Catalog *catalog_without(const Catalog *catalog, ObjectKind kind, const char *name);
Catalog *catalog_load(GPtrArray *objects /* Object * */);

/* ---- the tree of queues ---- */

bool queue_is_leaf(const Catalog *catalog, const Queue *queue);
const Queue *queue_parent(const Catalog *catalog, const Queue *queue); /* NULL: directly under the cluster */
/* False in a cluster of type K3S: its queues limit no job (doc/reference/scheduling.md, "Clusters of type
 * K3S"). */
bool queue_has_quota(const Catalog *catalog, const Queue *queue);
/* The limit for the queue's jobs; kinds without a limit are RESOURCE_UNLIMITED. */
Resources queue_max(const Catalog *catalog, const Queue *queue);
/* True if the queue or one above it limits the kind. */
bool queue_is_limited(const Catalog *catalog, const Queue *queue, int kind);
/* The default of a kind for members that do not declare it: of the nearest queue, from this one upwards, that
 * sets one, else of the cluster. False: there is no default. */
bool queue_default(const Catalog *catalog, const Queue *queue, int kind, gint64 *ret);
/* The queue for a submission by `user` to `name` (NULL: QUEUE_DEFAULT). It exists, is a leaf and is open. It
 * is granted to the user or open to everyone, or the user is an administrator. ERR_NOT_FOUND, ERR_CONFLICT,
 * ERR_DENIED, each with what to do. */
const Queue *catalog_submit_queue(const Catalog *catalog, const char *name, const User *user, GError **error);

/* The highest priority that is granted to `user` in the queue, else normal. A caller who acts with the rights
 * of an administrator needs no grant; check that separately, because an administrator's account is not
 * treated specially here. `user` may be NULL: normal. */
int catalog_max_priority(const Catalog *catalog, const Queue *queue, const User *user);

/* ---- file systems ---- */

/* Finds the file system `name` of a user: the place that a mount or a run uses. `homes` is the directory of users' homes
 * in the storage, STATE/storage/<dc>/home; NULL: `home` is not known, as in PaddleFlow's interface. The root may not
 * exist; only who opens it with the rights of the user's Unix user finds out (fs/vfs.h). Whether the caller may act for
 * the user is checked before. ERR_NOT_FOUND, ERR_CONFLICT (its kind cannot be used), each with what to do. */
bool catalog_filesystem_place(const Catalog *catalog, const char *homes, const char *user, const char *name,
                              FilesystemPlace *ret, GError **error);

/* ---- changes ---- */

/* Facts that the catalog itself does not have. A function that is NULL counts as "none" or "unknown". */
typedef struct {
        gint64 (*open_jobs)(const char *queue, void *arg); /* open jobs of the queue itself */
        gint64 (*user_jobs)(const char *user, void *arg);  /* open jobs of the user */
        Resources (*used)(const char *queue, void *arg);   /* usage of the queue and its children */
        bool (*room)(const char *cluster, Resources *ret,
                     void *arg); /* capacity: the sum of its nodes; false: not connected, unknown */
        /* True if the credentials of the two lead to different servers. The outputs describe these in words;
         * the caller's. */
        bool (*elsewhere)(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now, void *arg);
        /* What uses a file system, as words that follow "it is": "mounted by 2 open jobs"; the caller's. NULL:
         * nothing. */
        char *(*filesystem_use)(const Filesystem *filesystem, void *arg);
        void *arg;
} CatalogFacts;

/* May `object` be put (`was`: what it replaces, NULL: it is new), or dropped? The rules of doc/guide/scheduling.md
 * 7: names, references, no cycles, min <= max, sums of mins, max under the parent's, used objects stay.
 * ERR_EXISTS, ERR_NOT_FOUND, ERR_INVALID, ERR_CONFLICT name object, field, value and rule. */
bool catalog_check_put(const Catalog *catalog, const Object *was, const Object *object,
                       const CatalogFacts *facts, GError **error);
bool catalog_check_drop(const Catalog *catalog, const Object *object, const CatalogFacts *facts,
                        GError **error);
/* Warnings about a put that is allowed: sentences such as "queue 'q' uses 8 cores, ..."; NULL: none. The
 * caller's g_strfreev. */
char **catalog_warnings(const Object *object, const CatalogFacts *facts);
/* The objects that are deleted together with this one, each once: grants, secrets and file systems of a
 * user, grants of a queue or file system, and the queues (with their grants), flavours and pools of a cluster. Object *, borrowed. */
GPtrArray *catalog_followers(const Catalog *catalog, const Object *object);

/* The objects of a new server: user root, the default cluster (of `type`), queues `default` and
 * `default-queue`, the three flavours (doc/reference/paddleflow-api.md, "What a new server begins with").
 * Object *, owned. */
GPtrArray *catalog_seed(ClusterType type, gint64 now);
