/* Which Unix user a user of the platform is: the table of doc/guide/people.md, decision 10. */
#include "runtime/local/identity.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"

static const IdentityRules rules = { "root", { 100000, 100010 } };

static void test_decide(void)
{
        enum { NONE = -1 };
        static const struct {
                const char *user;
                gint64 seq, unix_uid;
                int as; /* -1: refused */
                uid_t uid;
                const char *says;
        } cases[] = {
                { "root", 1, 0, RUNS_AS_SERVER, 0, NULL },
                { "root", 1, NONE, RUNS_AS_SERVER, 0, NULL },
                { "ann", 3, 1000, RUNS_AS_UNIX, 1000, NULL },
                { "ann", 0, 1000, RUNS_AS_UNIX, 1000, NULL }, /* who is no user yet is one of the machine */
                { "ann", 3, 65533, RUNS_AS_UNIX, 65533, NULL },
                { "ann", 3, NONE, RUNS_AS_POOL, 100003, NULL },
                { "ann", 10, NONE, RUNS_AS_POOL, 100010, NULL },
                { "ann", 11, NONE, -1, 0, "100000-100010 of --job-uids" },
                { "ann", G_MAXINT64, NONE, -1, 0, "--job-uids" },
                { "ann", 0, NONE, -1, 0, "'ann' is not known" },
                { "www-data", 4, 33, RUNS_AS_POOL, 100004, NULL }, /* the system's own account */
                { "toor", 4, 0, RUNS_AS_POOL, 100004, NULL },      /* another name of root's */
                { "systemd", 4, 999, RUNS_AS_POOL, 100004, NULL },
                { "nobody", 4, 65534, RUNS_AS_POOL, 100004, NULL },
                { "ann", 3, 100003, -1, 0, "100000-100010 of --job-uids" },
                { "ann", 3, 100011, RUNS_AS_UNIX, 100011, NULL },
                { "uid-1234", 5, NONE, RUNS_AS_NUMBER, 1234, NULL },
                { "uid-1234", 0, NONE, RUNS_AS_NUMBER, 1234, NULL },
                { "uid-4294967294", 5, NONE, RUNS_AS_NUMBER, 4294967294u, NULL },
                { "uid-4294967295", 5, NONE, RUNS_AS_POOL, 100005, NULL }, /* means "none" to the kernel */
                { "uid-0", 5, NONE, RUNS_AS_POOL, 100005, NULL },
                { "uid-999", 5, NONE, RUNS_AS_POOL, 100005, NULL },
                { "uid-65534", 5, NONE, RUNS_AS_POOL, 100005, NULL },
                { "uid-01234", 5, NONE, RUNS_AS_POOL, 100005, NULL },
                { "uid-", 5, NONE, RUNS_AS_POOL, 100005, NULL },
                { "uid-12x", 5, NONE, RUNS_AS_POOL, 100005, NULL },
                { "uid--1", 5, NONE, RUNS_AS_POOL, 100005, NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                RunsAs as = RUNS_AS_SERVER;
                uid_t uid = 0;
                bool ok = identity_decide(&rules, cases[i].user, cases[i].seq, cases[i].unix_uid, &as, &uid,
                                          &error);

                g_test_message("%s %d %d", cases[i].user, (int)cases[i].seq, (int)cases[i].unix_uid);
                g_assert_cmpint(ok ? (int)as : -1, ==, cases[i].as);
                if (ok)
                        g_assert_cmpint(uid, ==, cases[i].uid);
                else if (!strstr(error->message, cases[i].says))
                        g_error("'%s' does not say '%s'", error->message, cases[i].says);
        }
}

static void test_pool(void)
{
        static const struct {
                const char *text;
                bool ok;
        } cases[] = {
                { JOB_UIDS_DEFAULT, true },
                { "1000-1000", true },
                { "70000-70001", true },
                { "1000-4294967294", false }, /* nobody is in it */
                { "65534-65534", false },
                { "2000-1999", false },
                { "999-2000", false },
                { "0-2000", false },
                { "70000-4294967295", false },
                { "70000", false },
                { "70000-", false },
                { "-70000", false },
                { "70000-80000-90000", false },
                { "", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                UidPool pool;

                g_test_message("%s", cases[i].text);
                g_assert_true(uid_pool_parse("--job-uids", cases[i].text, &pool, &error) == cases[i].ok);
                if (!cases[i].ok)
                        g_assert_nonnull(strstr(error->message, "--job-uids"));
        }
}

static void test_map(void)
{
        static const char whole[] = "         0          0 4294967295\n";
        static const char part[] = "         0     100000       1000\n      5000       1000         10\n";
        static const struct {
                const char *map;
                guint32 id;
                bool has;
        } cases[] = {
                { whole, 0, true },
                { whole, 1879100001, true },
                { whole, 4294967295u, false },
                { part, 0, true },
                { part, 999, true },
                { part, 1000, false },
                { part, 4999, false },
                { part, 5009, true },
                { part, 5010, false },
                { part, 100000, false },
                { "", 0, false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(id_map_has(cases[i].map, cases[i].id) == cases[i].has);
}

/* What is looked up on this machine. */
static void test_find(void)
{
        const UidPool pool = { 1879100000, 1879999999 };
        g_autoptr(Identities) identities = identities_new(&pool);
        g_autoptr(Identity) own = NULL, first = NULL, second = NULL, again = NULL, number = NULL;
        g_autoptr(GError) error = NULL;

        g_assert_true(identity_find(identities, g_get_user_name(), 7, &own, &error));
        g_assert_null(own);
        g_assert_true(identity_find(identities, "nobody-has-this-name", 7, &first, &error));
        g_assert_cmpint(first->owner.uid, ==, 1879100007);
        g_assert_cmpint(first->owner.gid, ==, 1879100007);
        g_assert_cmpint(first->n_groups, ==, 0);
        g_assert_null(first->home);
        g_assert_true(identity_find(identities, "nobody-has-this-name", 7, &again, &error));
        g_assert_true(again == first); /* remembered */
        g_assert_true(identity_find(identities, "nobody-has-this-name", 8, &second, &error));
        g_assert_cmpint(second->owner.uid, ==, 1879100008); /* made again: somebody else */
        g_assert_true(identity_find(identities, "uid-1879200000", 9, &number, &error));
        g_assert_cmpint(number->owner.uid, ==, 1879200000);
        g_clear_pointer(&number, identity_unref);
        g_assert_false(identity_find(identities, "unheard-of", 0, &number, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_null(number);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/runtime/identity/decide", test_decide);
        g_test_add_func("/runtime/identity/pool", test_pool);
        g_test_add_func("/runtime/identity/map", test_map);
        g_test_add_func("/runtime/identity/find", test_find);
        return g_test_run();
}
