/* The table of doc/guide/people.md, row by row, for every caller. */
#include "model/access.h"

#include <string.h>

/* Callers: - anonymous, u a user, o the owner, g a grantee, a an administrator. A cell has the permitted
 * ones; "": none. */
static const struct {
        AccessKind kind;
        const char *name, *list, *show, *create, *update, *drop, *submit;
} rows[] = {
        { ACCESS_NONE, "nothing", "", "", "", "", "", "" },
        { ACCESS_SYSTEM, "system", "-uoga", "-uoga", "", "", "", "" },
        { ACCESS_LOGIN, "login", "", "", "-uoga", "", "", "" },
        { ACCESS_METRICS, "metrics", "", "uoga", "", "", "", "" },
        { ACCESS_USER, "user", "a", "oa", "a", "a", "a", "" },
        { ACCESS_PASSWORD, "password", "", "", "", "oa", "", "" },
        { ACCESS_SECOND_FACTOR, "second factor", "", "", "uoga", "uoga", "oa", "" },
        { ACCESS_TOKEN, "token", "uoga", "o", "uoga", "", "oa", "" },
        { ACCESS_SECRET, "secret", "uoga", "", "", "uoga", "oa", "" },
        { ACCESS_FILESYSTEM, "file system", "uoga", "oa", "uoga", "oa", "oa", "" },
        { ACCESS_GRANT, "grant", "uoga", "oa", "a", "a", "a", "" },
        { ACCESS_CLUSTER, "cluster", "uoga", "uoga", "a", "a", "a", "" },
        { ACCESS_NODE, "node", "uoga", "uoga", "", "", "", "" },
        { ACCESS_QUEUE, "queue", "uoga", "ga", "a", "a", "a", "ga" },
        { ACCESS_FLAVOUR, "flavour", "uoga", "uoga", "uoga", "oa", "oa", "" },
        { ACCESS_POOL, "resource pool", "uoga", "a", "a", "a", "a", "" },
        { ACCESS_JOB, "job", "uoga", "oa", "uoga", "oa", "oa", "" },
        { ACCESS_RUN, "run", "uoga", "oa", "uoga", "oa", "oa", "" },
        { ACCESS_PIPELINE, "pipeline", "uoga", "oa", "uoga", "oa", "oa", "" },
        { ACCESS_SCHEDULE, "schedule", "uoga", "oa", "uoga", "oa", "oa", "" },
        { ACCESS_LOG, "log", "uoga", "oa", "", "", "", "" },
        { ACCESS_EVENT, "event", "uoga", "oa", "", "", "", "" },
        { ACCESS_FILE, "file", "uoga", "uoga", "uoga", "oa", "oa", "" },
        { ACCESS_PACKAGE, "package", "uoga", "oa", "uoga", "oa", "oa", "" },
        { ACCESS_SCHEDULER, "scheduler", "a", "a", "", "", "", "" },
        { ACCESS_STATISTICS, "statistics", "uoga", "oa", "", "", "", "" },
        { ACCESS_AUDIT, "audit", "a", "a", "", "", "", "" },
        { ACCESS_STORAGE, "storage", "uoga", "oa", "", "", "a", "" },
};
G_STATIC_ASSERT(G_N_ELEMENTS(rows) == ACCESS_KINDS);

static guint relations_of_letter(char letter)
{
        return relations_of(letter != '-', letter == 'a', letter == 'o', letter == 'g');
}

static void check_cell(AccessKind kind, AccessVerb verb, const char *allowed)
{
        for (const char *caller = "-uoga"; *caller; caller++) {
                g_test_message("%s %s %c", access_kind_name(kind), access_verb_name(verb), *caller);
                g_assert_cmpint(access_allows(kind, verb, relations_of_letter(*caller)), ==,
                                strchr(allowed, *caller) != NULL);
        }
        g_assert_false(access_allows(kind, verb, 0));
        g_assert_cmpint(access_row(kind, verb) != 0, ==, *allowed != '\0');
}

static void test_table(void)
{
        guint seen = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                seen |= 1u << rows[i].kind;
                g_assert_cmpstr(access_kind_name(rows[i].kind), ==, rows[i].name);
                check_cell(rows[i].kind, VERB_NONE, "");
                check_cell(rows[i].kind, VERB_LIST, rows[i].list);
                check_cell(rows[i].kind, VERB_SHOW, rows[i].show);
                check_cell(rows[i].kind, VERB_CREATE, rows[i].create);
                check_cell(rows[i].kind, VERB_UPDATE, rows[i].update);
                check_cell(rows[i].kind, VERB_DELETE, rows[i].drop);
                check_cell(rows[i].kind, VERB_SUBMIT, rows[i].submit);
        }
        g_assert_cmpuint(seen, ==, (1u << ACCESS_KINDS) - 1);
}

static void test_outside(void)
{
        g_assert_false(access_allows(ACCESS_KINDS, VERB_SHOW, ~0u));
        g_assert_false(access_allows(ACCESS_JOB, VERBS, ~0u));
        g_assert_false(access_allows((AccessKind)-1, VERB_SHOW, ~0u));
}

/* The second table of doc/guide/people.md: the least scope, by its first letter; - if anonymous callers
 * may. */
static const struct {
        AccessKind kind;
        const char *scopes; /* of list, show, create, update, delete, submit */
} reaches[] = {
        { ACCESS_NONE, "aaaaaa" },     { ACCESS_SYSTEM, "--aaaa" },     { ACCESS_METRICS, "araaaa" },
        { ACCESS_LOGIN, "aa-aaa" },    { ACCESS_USER, "rraaaa" },       { ACCESS_PASSWORD, "aaaaaa" },
        { ACCESS_TOKEN, "rrraaa" },    { ACCESS_GRANT, "rraaaa" },      { ACCESS_CLUSTER, "rraaaa" },
        { ACCESS_NODE, "rraaaa" },     { ACCESS_QUEUE, "rraaas" },      { ACCESS_FLAVOUR, "rraaaa" },
        { ACCESS_POOL, "rraaaa" },     { ACCESS_JOB, "rrsssa" },        { ACCESS_RUN, "rrsssa" },
        { ACCESS_LOG, "rraaaa" },      { ACCESS_EVENT, "rraaaa" },      { ACCESS_FILE, "rrsssa" },
        { ACCESS_PACKAGE, "rrsssa" },  { ACCESS_SCHEDULER, "rraaaa" },  { ACCESS_STATISTICS, "rraaaa" },
        { ACCESS_AUDIT, "aaaaaa" },    { ACCESS_STORAGE, "rraaaa" },    { ACCESS_SECOND_FACTOR, "aaaaaa" },
        { ACCESS_SECRET, "raaaaa" },   { ACCESS_FILESYSTEM, "rraaaa" }, { ACCESS_PIPELINE, "rrsssa" },
        { ACCESS_SCHEDULE, "rrsssa" },
};
G_STATIC_ASSERT(G_N_ELEMENTS(reaches) == ACCESS_KINDS);

static void test_scopes(void)
{
        static const AccessVerb verbs[] = { VERB_LIST,   VERB_SHOW,   VERB_CREATE,
                                            VERB_UPDATE, VERB_DELETE, VERB_SUBMIT };
        static const char letters[SCOPES] = { '-', 'r', 's', 'a' };

        for (size_t i = 0; i < G_N_ELEMENTS(reaches); i++)
                for (size_t j = 0; j < G_N_ELEMENTS(verbs); j++) {
                        g_test_message("%s %s", access_kind_name(reaches[i].kind),
                                       access_verb_name(verbs[j]));
                        g_assert_cmpint(letters[access_scope(reaches[i].kind, verbs[j])], ==,
                                        reaches[i].scopes[j]);
                }
        g_assert_cmpint(access_scope(ACCESS_KINDS, VERB_SHOW), ==, SCOPE_ADMIN);
        g_assert_cmpint(access_scope(ACCESS_JOB, VERB_NONE), ==, SCOPE_ADMIN);
        g_assert_cmpint(access_scope((AccessKind)-1, VERBS), ==, SCOPE_ADMIN);
}

static void test_scope_names(void)
{
        static const char *const wrong[] = { "", "none", "Read", "admin ", "write" };
        Scope scope;

        for (Scope at = SCOPE_READ; at < SCOPES; at++) {
                g_assert_true(scope_parse("scope", scope_name(at), &scope, NULL));
                g_assert_cmpint(scope, ==, at);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_false(scope_parse("scope", wrong[i], &scope, NULL));
}

/* An anonymous caller owns nothing, whatever the other arguments are. */
static void test_relations(void)
{
        g_assert_cmpuint(relations_of(false, true, true, true), ==, REL_ANYONE);
        g_assert_cmpuint(relations_of(true, false, false, false), ==, REL_ANYONE | REL_USER);
        g_assert_cmpuint(relations_of(true, true, true, true), ==,
                         REL_ANYONE | REL_USER | REL_OWNER | REL_GRANTED | REL_ADMIN);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/access/table", test_table);
        g_test_add_func("/access/outside", test_outside);
        g_test_add_func("/access/relations", test_relations);
        g_test_add_func("/access/scopes", test_scopes);
        g_test_add_func("/access/scope-names", test_scope_names);
        return g_test_run();
}
