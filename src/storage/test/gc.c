/* Deletion (storage/gc.h): each row has the things of one kind, and the names of those that are deleted. */
#include "storage/gc.h"

#include "base/err.h"

#define MIN_MS (G_GINT64_CONSTANT(60) * 1000)
#define DAY_MS (24 * 60 * MIN_MS)
#define NOW (1000 * DAY_MS)

typedef struct {
        const char *name;
        gint64 unused_ms, bytes;
        const char *held;
        GcKind kind;
} Row;

static char *decide(const Row *rows, const GcPolicy *policy, char **ret_why)
{
        g_autoptr(GPtrArray) things = g_ptr_array_new_with_free_func((GDestroyNotify)gc_thing_free);
        g_autoptr(GPtrArray) verdicts = NULL;
        GString *names = g_string_new(NULL);

        for (const Row *row = rows; row->name; row++) {
                GcThing *thing = gc_thing_new(row->kind, row->name, NULL);

                thing->used = NOW - row->unused_ms;
                thing->bytes = row->bytes;
                thing->held = row->held;
                g_ptr_array_add(things, thing);
        }
        verdicts = gc_decide(things, policy, NOW);
        for (guint i = 0; i < verdicts->len; i++) {
                const GcVerdict *verdict = verdicts->pdata[i];

                g_string_append_printf(names, "%s%s", i ? " " : "", verdict->thing->name);
                if (ret_why && !*ret_why)
                        *ret_why = g_strdup(verdict->why);
        }
        return g_string_free(names, FALSE);
}

static void goes(void)
{
        static const struct {
                const char *what;
                GcRule rule;
                Row rows[5];
                const char *gone;
        } cases[] = {
                { "nothing is there", { DAY_MS, 10 }, { { 0 } }, "" },
                { "age", { DAY_MS, 0 }, { { "old", DAY_MS + 1, 1 }, { "new", DAY_MS, 1 } }, "old" },
                { "age 0 is no reason", { 0, 0 }, { { "old", 900 * DAY_MS, 1 } }, "" },
                { "what is held stays, however old",
                  { DAY_MS, 1 },
                  { { "held", 9 * DAY_MS, 100, "an open job has it" } },
                  "" },
                { "bytes: the least recently used first, and no more than needed",
                  { 0, 25 },
                  { { "b", 2 * DAY_MS, 10 }, { "c", 3 * DAY_MS, 10 }, { "a", DAY_MS, 10 } },
                  "c" },
                { "what is held counts, and others go for it",
                  { 0, 15 },
                  { { "held", 9 * DAY_MS, 10, "held" }, { "b", 2 * DAY_MS, 10 }, { "a", DAY_MS, 5 } },
                  "b" },
                { "just as much is not more", { 0, 20 }, { { "b", DAY_MS, 10 }, { "a", DAY_MS, 10 } }, "" },
                { "nothing that is fresh goes",
                  { 30 * MIN_MS, 1 },
                  { { "fresh", 60 * MIN_MS - 1, 100 }, { "older", 60 * MIN_MS, 100 } },
                  "older" },
                { "a time to come is fresh", { DAY_MS, 1 }, { { "b", -DAY_MS, 100 } }, "" },
                { "what went by age counts no more",
                  { 5 * DAY_MS, 10 },
                  { { "old", 6 * DAY_MS, 10 }, { "a", DAY_MS, 10 } },
                  "old" },
                { "at one time, by name", { 0, 10 }, { { "b", DAY_MS, 10 }, { "a", DAY_MS, 10 } }, "a" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                GcPolicy policy = { 0 };
                g_autofree char *gone = NULL;

                policy.of[GC_UPLOAD] = cases[i].rule;
                gone = decide(cases[i].rows, &policy, NULL);
                g_test_message("%s", cases[i].what);
                g_assert_cmpstr(gone, ==, cases[i].gone);
        }
}

static void kinds_are_apart(void)
{
        static const Row rows[] = { { "package", 2 * DAY_MS, 50, NULL, GC_PACKAGE },
                                    { "upload", 2 * DAY_MS, 50, NULL, GC_UPLOAD },
                                    { 0 } };
        GcPolicy policy = { 0 };
        g_autofree char *gone = NULL, *why = NULL;

        policy.of[GC_PACKAGE] = (GcRule){ 0, 60 };
        policy.of[GC_UPLOAD] = (GcRule){ DAY_MS, 0 };
        gone = decide(rows, &policy, &why);
        g_assert_cmpstr(gone, ==, "upload");
        g_assert_cmpstr(why, ==, "unused for 2 days, longer than 24h 00m");
}

static void policy_is_read(void)
{
        static const struct {
                const char *text;
                bool ok;
                GcKind kind;
                gint64 age_ms, bytes;
                const char *says;
        } cases[] = {
                { "packages=2d", true, GC_PACKAGE, 2 * DAY_MS, 200, NULL },
                { "logs=0", true, GC_LOGS, 0, 0, NULL },
                { "uploads=1h,1Ki", true, GC_UPLOAD, 60 * MIN_MS, 1024, NULL },
                { "uploads=1h,0", true, GC_UPLOAD, 60 * MIN_MS, 0, NULL },
                { "homes=1d", false, 0, 0, 0, "'homes=1d' is not KIND=AGE[,SIZE]; kinds are uploads, " },
                { "uploads", false, 0, 0, 0, "'uploads' is not KIND=AGE" },
                { "uploads=1d,2,3", false, 0, 0, 0, "is not KIND=AGE" },
                { "uploads=soon", false, 0, 0, 0, "'soon'" },
                { "uploads=1d,much", false, 0, 0, 0, "much" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                GcPolicy policy = gc_policy_default(true, 1000);
                g_autoptr(GError) error = NULL;
                bool ok = gc_policy_set(&policy, "--gc", cases[i].text, &error);

                g_assert_cmpint(ok, ==, cases[i].ok);
                if (ok) {
                        g_assert_cmpint(policy.of[cases[i].kind].age_ms, ==, cases[i].age_ms);
                        g_assert_cmpint(policy.of[cases[i].kind].bytes, ==, cases[i].bytes);
                } else {
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        g_assert_nonnull(strstr(error->message, "--gc"));
                }
        }
}

static void older_installations_keep_logs(void)
{
        const GcPolicy fresh = gc_policy_default(true, 1000), older = gc_policy_default(false, 1000);

        g_assert_cmpint(fresh.of[GC_LOGS].age_ms, ==, 90 * DAY_MS);
        g_assert_cmpint(older.of[GC_LOGS].age_ms, ==, 0);
        g_assert_cmpint(older.of[GC_PACKAGE].age_ms, ==, fresh.of[GC_PACKAGE].age_ms);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/gc/goes", goes);
        g_test_add_func("/gc/kinds-are-apart", kinds_are_apart);
        g_test_add_func("/gc/policy-is-read", policy_is_read);
        g_test_add_func("/gc/older-installations-keep-logs", older_installations_keep_logs);
        return g_test_run();
}
