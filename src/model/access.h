/* Authorization: one function and one table. The default is to deny: an action without a row is refused for
 * every caller. Every route of every API names its kind and verb (HttpRoute.kind, .verb) and asks here. A
 * generated test calls all of them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The caller's relation to the object. Several may hold at once. */
typedef enum {
        REL_ANYONE = 1,  /* any caller, also without credentials */
        REL_USER = 2,    /* an authenticated caller */
        REL_OWNER = 4,   /* the caller owns the object, or is the object */
        REL_GRANTED = 8, /* it was granted to the caller */
        REL_ADMIN = 16,
} Relation;

typedef enum {
        ACCESS_NONE,   /* a route without a row: always refused */
        ACCESS_SYSTEM, /* health, version, description of the API */
        ACCESS_METRICS,
        ACCESS_LOGIN,
        ACCESS_USER,
        ACCESS_PASSWORD,
        ACCESS_SECOND_FACTOR,
        ACCESS_TOKEN,
        ACCESS_SECRET, /* of a user, for jobs */
        ACCESS_FILESYSTEM,
        ACCESS_GRANT,
        ACCESS_CLUSTER,
        ACCESS_NODE,
        ACCESS_QUEUE,
        ACCESS_FLAVOUR,
        ACCESS_POOL,
        ACCESS_JOB,
        ACCESS_RUN,      /* of a pipeline */
        ACCESS_PIPELINE, /* a stored one */
        ACCESS_SCHEDULE, /* of a stored pipeline */
        ACCESS_LOG,
        ACCESS_EVENT,
        ACCESS_FILE,
        ACCESS_PACKAGE,
        ACCESS_SCHEDULER, /* journal, what if */
        ACCESS_STATISTICS,
        ACCESS_AUDIT,
        ACCESS_STORAGE, /* disk usage of users, garbage collection */
        ACCESS_KINDS,
} AccessKind;

typedef enum {
        VERB_NONE,
        VERB_LIST, /* shows the objects that the caller may see, and leaves out others */
        VERB_SHOW,
        VERB_CREATE,
        VERB_UPDATE,
        VERB_DELETE,
        VERB_SUBMIT, /* a job to a queue */
        VERBS,
} AccessVerb;

/* Scopes of tokens; each includes the one before. The numbers are stored in databases. */
typedef enum {
        SCOPE_NONE,   /* no token is needed */
        SCOPE_READ,   /* read what its user may see */
        SCOPE_SUBMIT, /* also work with jobs, packages and files; only of one queue, if the token names one */
        SCOPE_ADMIN,  /* all rights of its user */
        SCOPES,
} Scope;

const char *scope_name(Scope scope); /* "read", "submit", "admin" */
/* ERR_INVALID names `what`. */
bool scope_parse(const char *what, const char *name, Scope *ret, GError **error);

const char *access_kind_name(AccessKind kind);
const char *access_verb_name(AccessVerb verb);

/* `relations`: all that hold. REL_ADMIN implies REL_USER, which implies REL_ANYONE; relations_of sets them
 * all. */
bool access_allows(AccessKind kind, AccessVerb verb, guint relations);
guint relations_of(bool known, bool admin, bool owner, bool granted);
/* The relations of which one is enough: for the API description and the generated test. */
guint access_row(AccessKind kind, AccessVerb verb);
/* The least scope that a token needs: SCOPE_NONE if the route is public, SCOPE_ADMIN if there is no row. The
 * rights of an administrator need SCOPE_ADMIN. */
Scope access_scope(AccessKind kind, AccessVerb verb);
