/* Who may do what: the one authorisation function and its one table. Deny by default: what has no row is
 * allowed to nobody. Every route of every façade names its kind and verb (HttpRoute.kind, .verb), asks here,
 * and a generated test walks all of them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* How the caller stands to the thing; several may hold at once. */
typedef enum {
        REL_ANYONE = 1,  /* not even known */
        REL_USER = 2,    /* a known caller */
        REL_OWNER = 4,   /* it is the caller's own, or the caller itself */
        REL_GRANTED = 8, /* it was granted to the caller */
        REL_ADMIN = 16,
} Relation;

typedef enum {
        ACCESS_NONE,   /* of a route without a row: nobody */
        ACCESS_SYSTEM, /* health, version, description of the API */
        ACCESS_METRICS,
        ACCESS_LOGIN,
        ACCESS_USER,
        ACCESS_PASSWORD,
        ACCESS_SECOND_FACTOR,
        ACCESS_TOKEN,
        ACCESS_SECRET, /* of a user, for jobs */
        ACCESS_GRANT,
        ACCESS_CLUSTER,
        ACCESS_NODE,
        ACCESS_QUEUE,
        ACCESS_FLAVOUR,
        ACCESS_POOL,
        ACCESS_JOB,
        ACCESS_LOG,
        ACCESS_EVENT,
        ACCESS_FILE,
        ACCESS_PACKAGE,
        ACCESS_SCHEDULER, /* journal, what if */
        ACCESS_STATISTICS,
        ACCESS_AUDIT,
        ACCESS_STORAGE, /* what users hold on the disk; what goes from it */
        ACCESS_KINDS,
} AccessKind;

typedef enum {
        VERB_NONE,
        VERB_LIST, /* shows what the caller may see: never refused to who may list at all */
        VERB_SHOW,
        VERB_CREATE,
        VERB_UPDATE,
        VERB_DELETE,
        VERB_SUBMIT, /* a job to a queue */
        VERBS,
} AccessVerb;

/* How far a token reaches, each further than the one before. Numbers are in databases. */
typedef enum {
        SCOPE_NONE,   /* of a row that asks for no token */
        SCOPE_READ,   /* looks at what its user may see */
        SCOPE_SUBMIT, /* and works with jobs, packages and files; of one queue, where it names one */
        SCOPE_ADMIN,  /* its user's whole right */
        SCOPES,
} Scope;

const char *scope_name(Scope scope); /* "read", "submit", "admin" */
/* ERR_INVALID names `what`. */
bool scope_parse(const char *what, const char *name, Scope *ret, GError **error);

const char *access_kind_name(AccessKind kind);
const char *access_verb_name(AccessVerb verb);

/* `relations`: all that hold (REL_ADMIN implies REL_USER, that REL_ANYONE: say them all with relations_of).
 */
bool access_allows(AccessKind kind, AccessVerb verb, guint relations);
guint relations_of(bool known, bool admin, bool owner, bool granted);
/* The relations that suffice: for the API description and the generated test. */
guint access_row(AccessKind kind, AccessVerb verb);
/* The least scope of a token that suffices: SCOPE_NONE where nobody has to be known, SCOPE_ADMIN for what has
 * no row. An administrator's right comes with SCOPE_ADMIN alone. */
Scope access_scope(AccessKind kind, AccessVerb verb);
