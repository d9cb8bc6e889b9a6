/* Who may do what (see access.h): the table of doc/people.md. */
#include "model/access.h"

enum {
        ANYONE = REL_ANYONE,
        USER = REL_USER,
        ADMIN = REL_ADMIN,
        OWN = REL_OWNER | REL_ADMIN,
        GRANTED = REL_GRANTED | REL_ADMIN,
};

/* Any one of the relations suffices; 0: nobody. A list shows its caller only what the caller may see. */
static const struct {
        const char *name;
        guint8 needs[VERBS];
} table[ACCESS_KINDS] = {
        [ACCESS_NONE] = { "nothing", { 0 } },
        [ACCESS_SYSTEM] = { "system", { [VERB_LIST] = ANYONE, [VERB_SHOW] = ANYONE } },
        [ACCESS_METRICS] = { "metrics",
                             { [VERB_SHOW] = USER } }, /* by loopback and socket: anyone, says the route */
        [ACCESS_LOGIN] = { "login", { [VERB_CREATE] = ANYONE } },
        [ACCESS_USER] = { "user",
                          { [VERB_LIST] = ADMIN,
                            [VERB_SHOW] = OWN,
                            [VERB_CREATE] = ADMIN,
                            [VERB_UPDATE] = ADMIN,
                            [VERB_DELETE] = ADMIN } },
        [ACCESS_PASSWORD] = { "password", { [VERB_UPDATE] = OWN } },
        [ACCESS_TOKEN] = { "token",
                           { [VERB_LIST] = USER,
                             [VERB_SHOW] = REL_OWNER,
                             [VERB_CREATE] = USER,
                             [VERB_DELETE] = OWN } },
        [ACCESS_GRANT] = { "grant",
                           { [VERB_LIST] = USER,
                             [VERB_SHOW] = OWN,
                             [VERB_CREATE] = ADMIN,
                             [VERB_UPDATE] = ADMIN,
                             [VERB_DELETE] = ADMIN } },
        [ACCESS_CLUSTER] = { "cluster",
                             { [VERB_LIST] = USER,
                               [VERB_SHOW] = USER,
                               [VERB_CREATE] = ADMIN,
                               [VERB_UPDATE] = ADMIN,
                               [VERB_DELETE] = ADMIN } },
        [ACCESS_NODE] = { "node", { [VERB_LIST] = ADMIN, [VERB_SHOW] = ADMIN } },
        [ACCESS_QUEUE] = { "queue",
                           { [VERB_LIST] = USER,
                             [VERB_SHOW] = GRANTED,
                             [VERB_CREATE] = ADMIN,
                             [VERB_UPDATE] = ADMIN,
                             [VERB_DELETE] = ADMIN,
                             [VERB_SUBMIT] = GRANTED } },
        [ACCESS_FLAVOUR] = { "flavour",
                             { [VERB_LIST] = USER,
                               [VERB_SHOW] = USER,
                               [VERB_CREATE] = USER,
                               [VERB_UPDATE] = OWN,
                               [VERB_DELETE] = OWN } },
        [ACCESS_POOL] = { "resource pool",
                          { [VERB_LIST] = USER,
                            [VERB_SHOW] = ADMIN,
                            [VERB_CREATE] = ADMIN,
                            [VERB_UPDATE] = ADMIN,
                            [VERB_DELETE] = ADMIN } },
        [ACCESS_JOB] = { "job",
                         { [VERB_LIST] = USER,
                           [VERB_SHOW] = OWN,
                           [VERB_CREATE] = USER,
                           [VERB_UPDATE] = OWN,
                           [VERB_DELETE] = OWN } },
        [ACCESS_LOG] = { "log", { [VERB_LIST] = USER, [VERB_SHOW] = OWN } },
        [ACCESS_EVENT] = { "event", { [VERB_LIST] = USER, [VERB_SHOW] = OWN } },
        [ACCESS_FILE] = { "file",
                          { [VERB_LIST] = USER,
                            [VERB_SHOW] = USER,
                            [VERB_CREATE] = USER,
                            [VERB_UPDATE] = OWN,
                            [VERB_DELETE] = OWN } },
        [ACCESS_PACKAGE] = { "package",
                             { [VERB_LIST] = USER,
                               [VERB_SHOW] = USER,
                               [VERB_CREATE] = USER,
                               [VERB_UPDATE] = OWN,
                               [VERB_DELETE] = OWN } },
        [ACCESS_SCHEDULER] = { "scheduler", { [VERB_LIST] = ADMIN, [VERB_SHOW] = ADMIN } },
        [ACCESS_STATISTICS] = { "statistics", { [VERB_LIST] = USER, [VERB_SHOW] = OWN } },
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
        return (guint)kind < ACCESS_KINDS && (guint)verb < VERBS ? table[kind].needs[verb] : 0;
}

bool access_allows(AccessKind kind, AccessVerb verb, guint relations)
{
        return (access_row(kind, verb) & relations) != 0;
}

guint relations_of(bool known, bool admin, bool owner, bool granted)
{
        if (!known)
                return REL_ANYONE;
        return REL_ANYONE | REL_USER | (admin ? REL_ADMIN : 0) | (owner ? REL_OWNER : 0) |
               (granted ? REL_GRANTED : 0);
}
