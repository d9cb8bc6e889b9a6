/* The access rules (see access.h): the table of doc/guide/people.md. */
#include "model/access.h"

#include <string.h>

#include "base/err.h"

enum {
        ANYONE = REL_ANYONE,
        USER = REL_USER,
        ADMIN = REL_ADMIN,
        OWN = REL_OWNER | REL_ADMIN,
        GRANTED = REL_GRANTED | REL_ADMIN,
        /* Besides the relations: tokens with this scope suffice. A cell without a scope needs the user's full
         * rights. */
        READ = 32,
        SUBMIT = 64,
        RELATIONS = 31,
};
G_STATIC_ASSERT(SCOPE_READ == 1 && SCOPE_SUBMIT == 2 && SCOPE_ADMIN == 3);

/* One of the relations suffices, with a token of the scope; 0: no access. A list contains only what the
 * caller may see. */
static const struct {
        const char *name;
        guint8 needs[VERBS];
} table[ACCESS_KINDS] = {
        [ACCESS_NONE] = { "nothing", { 0 } },
        [ACCESS_SYSTEM] = { "system", { [VERB_LIST] = ANYONE, [VERB_SHOW] = ANYONE } },
        [ACCESS_METRICS] = { "metrics",
                             { [VERB_SHOW] =
                                       USER | READ } }, /* the route permits anyone on loopback and socket */
        [ACCESS_LOGIN] = { "login", { [VERB_CREATE] = ANYONE } },
        [ACCESS_USER] = { "user",
                          { [VERB_LIST] = ADMIN | READ,
                            [VERB_SHOW] = OWN | READ,
                            [VERB_CREATE] = ADMIN,
                            [VERB_UPDATE] = ADMIN,
                            [VERB_DELETE] = ADMIN } },
        [ACCESS_PASSWORD] = { "password", { [VERB_UPDATE] = OWN } },
        [ACCESS_SECOND_FACTOR] = { "second factor",
                                   { [VERB_CREATE] = USER, [VERB_UPDATE] = USER, [VERB_DELETE] = OWN } },
        [ACCESS_TOKEN] = { "token",
                           { [VERB_LIST] = USER | READ,
                             [VERB_SHOW] = REL_OWNER | READ,
                             [VERB_CREATE] = USER | READ,
                             [VERB_DELETE] = OWN } },
        [ACCESS_SECRET] = { "secret",
                            { [VERB_LIST] = USER | READ, [VERB_UPDATE] = USER, [VERB_DELETE] = OWN } },
        [ACCESS_FILESYSTEM] = { "file system",
                                { [VERB_LIST] = USER | READ,
                                  [VERB_SHOW] = OWN | READ,
                                  [VERB_CREATE] = USER,
                                  [VERB_UPDATE] = OWN,
                                  [VERB_DELETE] = OWN } },
        [ACCESS_GRANT] = { "grant",
                           { [VERB_LIST] = USER | READ,
                             [VERB_SHOW] = OWN | READ,
                             [VERB_CREATE] = ADMIN,
                             [VERB_UPDATE] = ADMIN,
                             [VERB_DELETE] = ADMIN } },
        [ACCESS_CLUSTER] = { "cluster",
                             { [VERB_LIST] = USER | READ,
                               [VERB_SHOW] = USER | READ,
                               [VERB_CREATE] = ADMIN,
                               [VERB_UPDATE] = ADMIN,
                               [VERB_DELETE] = ADMIN } },
        [ACCESS_NODE] = { "node", { [VERB_LIST] = USER | READ, [VERB_SHOW] = USER | READ } },
        [ACCESS_QUEUE] = { "queue",
                           { [VERB_LIST] = USER | READ,
                             [VERB_SHOW] = GRANTED | READ,
                             [VERB_CREATE] = ADMIN,
                             [VERB_UPDATE] = ADMIN,
                             [VERB_DELETE] = ADMIN,
                             [VERB_SUBMIT] = GRANTED | SUBMIT } },
        [ACCESS_FLAVOUR] = { "flavour",
                             { [VERB_LIST] = USER | READ,
                               [VERB_SHOW] = USER | READ,
                               [VERB_CREATE] = USER,
                               [VERB_UPDATE] = OWN,
                               [VERB_DELETE] = OWN } },
        [ACCESS_POOL] = { "resource pool",
                          { [VERB_LIST] = USER | READ,
                            [VERB_SHOW] = ADMIN | READ,
                            [VERB_CREATE] = ADMIN,
                            [VERB_UPDATE] = ADMIN,
                            [VERB_DELETE] = ADMIN } },
        [ACCESS_JOB] = { "job",
                         { [VERB_LIST] = USER | READ,
                           [VERB_SHOW] = OWN | READ,
                           [VERB_CREATE] = USER | SUBMIT,
                           [VERB_UPDATE] = OWN | SUBMIT,
                           [VERB_DELETE] = OWN | SUBMIT } },
        [ACCESS_RUN] = { "run",
                         { [VERB_LIST] = USER | READ,
                           [VERB_SHOW] = OWN | READ,
                           [VERB_CREATE] = USER | SUBMIT,
                           [VERB_UPDATE] = OWN | SUBMIT,
                           [VERB_DELETE] = OWN | SUBMIT } },
        [ACCESS_PIPELINE] = { "pipeline",
                              { [VERB_LIST] = USER | READ,
                                [VERB_SHOW] = OWN | READ,
                                [VERB_CREATE] = USER | SUBMIT,
                                [VERB_UPDATE] = OWN | SUBMIT,
                                [VERB_DELETE] = OWN | SUBMIT } },
        [ACCESS_SCHEDULE] = { "schedule",
                              { [VERB_LIST] = USER | READ,
                                [VERB_SHOW] = OWN | READ,
                                [VERB_CREATE] = USER | SUBMIT,
                                [VERB_UPDATE] = OWN | SUBMIT,
                                [VERB_DELETE] = OWN | SUBMIT } },
        [ACCESS_LOG] = { "log", { [VERB_LIST] = USER | READ, [VERB_SHOW] = OWN | READ } },
        [ACCESS_EVENT] = { "event", { [VERB_LIST] = USER | READ, [VERB_SHOW] = OWN | READ } },
        [ACCESS_FILE] = { "file",
                          { [VERB_LIST] = USER | READ,
                            [VERB_SHOW] = USER | READ,
                            [VERB_CREATE] = USER | SUBMIT,
                            [VERB_UPDATE] = OWN | SUBMIT,
                            [VERB_DELETE] = OWN | SUBMIT } },
        [ACCESS_PACKAGE] = { "package",
                             { [VERB_LIST] = USER | READ,
                               [VERB_SHOW] = OWN | READ,
                               [VERB_CREATE] = USER | SUBMIT,
                               [VERB_UPDATE] = OWN | SUBMIT,
                               [VERB_DELETE] = OWN | SUBMIT } },
        [ACCESS_SCHEDULER] = { "scheduler", { [VERB_LIST] = ADMIN | READ, [VERB_SHOW] = ADMIN | READ } },
        [ACCESS_AUDIT] = { "audit", { [VERB_LIST] = ADMIN, [VERB_SHOW] = ADMIN } },
        [ACCESS_STATISTICS] = { "statistics", { [VERB_LIST] = USER | READ, [VERB_SHOW] = OWN | READ } },
        [ACCESS_STORAGE] = { "storage",
                             { [VERB_LIST] = USER | READ, [VERB_SHOW] = OWN | READ, [VERB_DELETE] = ADMIN } },
};

static const char *const verbs[VERBS] = {
        [VERB_NONE] = "nothing",  [VERB_LIST] = "list",     [VERB_SHOW] = "show",
        [VERB_CREATE] = "create", [VERB_UPDATE] = "update", [VERB_DELETE] = "delete",
        [VERB_SUBMIT] = "submit",
};

const char *access_kind_name(AccessKind kind)
{
        return table[kind].name;
}

const char *access_verb_name(AccessVerb verb)
{
        return verbs[verb];
}

guint access_row(AccessKind kind, AccessVerb verb)
{
        return (guint)kind < ACCESS_KINDS && (guint)verb < VERBS ? table[kind].needs[verb] & RELATIONS : 0;
}

bool access_allows(AccessKind kind, AccessVerb verb, guint relations)
{
        return (access_row(kind, verb) & relations) != 0;
}

static const char *const scopes[SCOPES] = {
        [SCOPE_NONE] = "none",
        [SCOPE_READ] = "read",
        [SCOPE_SUBMIT] = "submit",
        [SCOPE_ADMIN] = "admin",
};

const char *scope_name(Scope scope)
{
        return scopes[scope];
}

bool scope_parse(const char *what, const char *name, Scope *ret, GError **error)
{
        for (Scope scope = SCOPE_READ; scope < SCOPES; scope++) {
                if (strcmp(scopes[scope], name) != 0)
                        continue;
                *ret = scope;
                return true;
        }
        return err_set(error, ERR_INVALID, "%s: '%.40s' is not read, submit or admin", what, name);
}

Scope access_scope(AccessKind kind, AccessVerb verb)
{
        guint cell = (guint)kind < ACCESS_KINDS && (guint)verb < VERBS ? table[kind].needs[verb] : 0;

        if (cell & REL_ANYONE)
                return SCOPE_NONE;
        return cell & READ ? SCOPE_READ : cell & SUBMIT ? SCOPE_SUBMIT : SCOPE_ADMIN;
}

guint relations_of(bool known, bool admin, bool owner, bool granted)
{
        if (!known)
                return REL_ANYONE;
        return REL_ANYONE | REL_USER | (admin ? REL_ADMIN : 0) | (owner ? REL_OWNER : 0) |
               (granted ? REL_GRANTED : 0);
}
