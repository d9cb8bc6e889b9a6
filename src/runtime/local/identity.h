/* The Unix users as which the members of platform users run (doc/guide/people.md, decision 10). Decisions are
 * pure; Identities looks up the facts and caches them for a while. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "storage/tree.h"

/* ---- decisions ---- */

enum { UNIX_UID_MIN = 1000, UNIX_UID_NOBODY = 65534 }; /* lower ones belong to the system */
#define JOB_UIDS_DEFAULT "1879100000-1879999999"

/* Uids that only the platform uses: first + sequence number of the user in the catalog. */
typedef struct {
        uid_t first, last;
} UidPool;
/* "FIRST-LAST"; ERR_INVALID names the option and the rule. */
bool uid_pool_parse(const char *option, const char *text, UidPool *ret, GError **error);

typedef enum {
        RUNS_AS_SERVER, /* the machine's owner */
        RUNS_AS_UNIX,   /* the Unix user of that name */
        RUNS_AS_NUMBER, /* uid-N */
        RUNS_AS_POOL,
} RunsAs;

typedef struct {
        const char *server; /* name of the server's Unix user */
        UidPool pool;
} IdentityRules;

/* Decides as which Unix user a user runs, and the uid (unset for RUNS_AS_SERVER). `unix_uid`: of the Unix
 * user of that name, -1: none. `seq`: the user's sequence number, 0: not in the catalog. ERR_NOT_FOUND,
 * ERR_INVALID (beyond the pool), ERR_CONFLICT (a Unix user has a uid of the pool). */
bool identity_decide(const IdentityRules *rules, const char *user, gint64 seq, gint64 unix_uid, RunsAs *ret,
                     uid_t *ret_uid, GError **error);

/* True if /proc/self/uid_map (or gid_map), given as text, contains the number. */
bool id_map_has(const char *map, guint32 id);

/* ---- look-ups ---- */

typedef struct {
        gatomicrefcount refs;
        Owner owner;
        gid_t *groups; /* supplementary ones */
        guint n_groups;
        char *home; /* of the password file; NULL: none */
} Identity;
Identity *identity_ref(const Identity *identity);
void identity_unref(Identity *identity); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Identity, identity_unref)

typedef struct Identities Identities; /* thread-safe */
Identities *identities_new(const UidPool *pool);
void identities_free(Identities *identities); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Identities, identities_free)

/* *ret is NULL for the server's own, otherwise the caller's. Facts about a user are looked up again after a
 * minute, which may block if they come from a directory server. Errors as above; ERR_DENIED: the kernel does
 * not have this uid here. */
bool identity_find(Identities *identities, const char *user, gint64 seq, Identity **ret, GError **error);
