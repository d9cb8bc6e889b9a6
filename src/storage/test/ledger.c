/* Disk usage of users and their limits (storage/ledger.h). */
#include "storage/ledger.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "storage/test/scratch.h"

enum { MI = 1024 * 1024 };

static void may(void)
{
        static const struct {
                gint64 home, packages, files, most, most_files, more, more_files;
                const char *says; /* NULL: allowed */
        } cases[] = {
                { 5 * MI, 0, 1, 0, 0, G_MAXINT64, G_MAXINT64, NULL },
                { 5 * MI, 0, 1, 10 * MI, 0, 5 * MI, 1, NULL },
                { 5 * MI, 0, 1, 10 * MI, 0, 5 * MI + 1, 1,
                  "disk quota: 'ann' holds 5.0 MiB of at most 10.0 MiB (homes 5.0 MiB), and this would be "
                  "5.0 "
                  "MiB more\n" },
                { 4 * MI, 8 * MI, 1, 10 * MI, 0, 1, 0,
                  "'ann' holds 12.0 MiB of at most 10.0 MiB (packages 8.0 MiB, homes 4.0 MiB), and this "
                  "would" },
                { 10 * MI, 0, 1, 10 * MI, 0, 0, 1, NULL }, /* no bytes requested */
                { 10 * MI, 0, 1, 10 * MI, 0, 0, 0, "holds 10.0 MiB of at most 10.0 MiB (homes 10.0 MiB)\n" },
                { 10 * MI - 1, 0, 1, 10 * MI, 0, 0, 0, NULL },
                { 1, 0, 7, 0, 10, 0, 3, NULL },
                { 1, 0, 7, 0, 10, MI, 4,
                  "holds 7 files of at most 10 (homes 7), and this would be 4 files more\n" },
                { 1, 0, 10, 0, 10, 0, 0, "holds 10 files of at most 10" },
                { 1, 0, 10, 0, 10, 5, 0, NULL },
                { 5 * MI, 0, 1, 10 * MI, 0, G_MAXINT64, 0, "8.0 EiB more" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                DiskUse use = { 0 };
                const DiskAmount limit = { cases[i].most, cases[i].most_files },
                                 more = { cases[i].more, cases[i].more_files };
                g_autoptr(GError) error = NULL;
                bool ok;

                use.of[DISK_HOME] = (DiskAmount){ cases[i].home, cases[i].files };
                use.of[DISK_PACKAGES].bytes = cases[i].packages;
                ok = disk_check("ann", &use, &limit, &more, &error);
                g_assert_cmpint(ok, ==, !cases[i].says);
                if (!ok) {
                        g_test_message("%s", error->message);
                        g_assert_true(err_is(error, ERR_QUOTA));
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        g_assert_nonnull(strstr(error->message, "paddle user set ann --"));
                }
        }
}

static void far_over(void)
{
        static const struct {
                gint64 held, most, files, most_files;
                bool is;
        } cases[] = {
                { 109, 100, 0, 0, false },     { 110, 100, 0, 0, true },     { 1000, 0, 1000, 0, false },
                { 0, 100, 1099, 1000, false }, { 0, 100, 1100, 1000, true }, { 10, 100, 0, 0, false },
                { G_MAXINT64, 1, 0, 0, true }, { 5, 5, 0, 0, true }, /* a tenth of 5 is 0 */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                const DiskAmount limit = { cases[i].most, cases[i].most_files };
                DiskUse use = { 0 };

                use.of[DISK_WORK] = (DiskAmount){ cases[i].held, cases[i].files };
                g_assert_cmpint(disk_is_far_over(&use, &limit), ==, cases[i].is);
        }
}

static void limit_of(const char *user, DiskAmount *ret, void *arg)
{
        *ret = strcmp(user, "root") == 0 ? (DiskAmount){ 0 } : (DiskAmount){ 100, 10 };
}

static gint64 held(Ledger *ledger, const char *user, DiskKind kind)
{
        DiskAmount limit;
        DiskUse use;

        ledger_use(ledger, user, &use, &limit);
        return use.of[kind].bytes;
}

static GHashTable *found(const char *user, gint64 bytes)
{
        GHashTable *uses = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        DiskUse *use = g_new0(DiskUse, 1);

        use->of[DISK_HOME] = (DiskAmount){ bytes, 1 };
        g_hash_table_insert(uses, g_strdup(user), use);
        return uses;
}

static void many_at_once_pass_as_one(void)
{
        g_autoptr(Ledger) ledger = ledger_new(limit_of, NULL);

        g_assert_true(ledger_reserve(ledger, "ann", 60, 1, NULL));
        g_assert_false(ledger_reserve(ledger, "ann", 60, 1, NULL));
        g_assert_true(ledger_take_refused(ledger));
        g_assert_false(ledger_take_refused(ledger));
        g_assert_true(ledger_reserve(ledger, "bob", 60, 1, NULL));
        g_assert_true(ledger_reserve(ledger, "root", 6000, 1, NULL));
        g_assert_cmpint(held(ledger, "ann", DISK_UPLOADS), ==, 0); /* it does not count yet */
        ledger_release(ledger, "ann", 60, 1);
        ledger_add(ledger, "ann", DISK_UPLOADS, 60, 1);
        g_assert_false(ledger_check(ledger, "ann", 41, 1, NULL));
        g_assert_true(ledger_check(ledger, "ann", 40, 1, NULL));
}

static void a_survey_corrects(void)
{
        g_autoptr(Ledger) ledger = ledger_new(limit_of, NULL);
        g_autoptr(GHashTable) uses = found("ann", 30);
        g_autoptr(GPtrArray) users = NULL;

        ledger_add(ledger, "ann", DISK_HOME, 50, 1);
        ledger_add(ledger, "bob", DISK_HOME, 50, 1);
        ledger_survey_begin(ledger);
        ledger_add(ledger, "ann", DISK_HOME, 7, 1); /* the survey may or may not have seen it */
        g_assert_cmpint(held(ledger, "ann", DISK_HOME), ==, 57);
        ledger_survey_end(ledger, uses);
        g_assert_cmpint(held(ledger, "ann", DISK_HOME), ==, 37);
        g_assert_cmpint(held(ledger, "bob", DISK_HOME), ==, 0);
        ledger_survey_begin(ledger);
        ledger_survey_end(ledger, NULL); /* interrupted */
        g_assert_cmpint(held(ledger, "ann", DISK_HOME), ==, 37);
        ledger_add(ledger, "ann", DISK_HOME, -50, -1);
        g_assert_cmpint(held(ledger, "ann", DISK_HOME), ==, 0);
        users = ledger_users(ledger);
        g_assert_cmpuint(users->len, ==, 1); /* one file remains in the ledger */
}

/* Packages, the left columns, have no project id. */
static void the_kernel_gets_what_other_trees_leave(void)
{
        static const struct {
                gint64 packages, home, most, limit;
        } cases[] = {
                { 0, 0, 0, 0 },
                { 0, 5 * MI, 10 * MI, 10 * MI },
                { 3 * MI, 5 * MI, 10 * MI, 7 * MI },
                { 3 * MI, 50 * MI, 10 * MI, 7 * MI },
                { 10 * MI, 0, 10 * MI, 4096 }, /* not 0, which means unlimited */
                { 12 * MI, 0, 10 * MI, 4096 },
                { 12 * MI, 0, 0, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                const DiskAmount limit = { cases[i].most, 7 };
                DiskUse use = { 0 };
                DiskAmount kernel;

                use.of[DISK_PACKAGES] = (DiskAmount){ cases[i].packages, 3 };
                use.of[DISK_HOME] = (DiskAmount){ cases[i].home, 2 };
                kernel = disk_kernel_limit(&use, &limit);
                g_assert_cmpint(kernel.bytes, ==, cases[i].limit);
                g_assert_cmpint(kernel.files, ==, 4);
        }
}

static void the_kernel_counts_what_no_survey_sees(void)
{
        static const struct {
                gint64 kernel, unlisted;
                bool full;
        } cases[] = {
                { 0, 0, false },  /* it counts nothing: no project quotas */
                { 30, 0, false }, /* less than the survey: part of it is not labelled */
                { 50, 0, false }, { 70, 20, false }, { 90, 40, false }, { 95, 45, true }, { 100, 50, true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Ledger) ledger = ledger_new(limit_of, NULL);
                g_autoptr(GError) error = NULL;
                const DiskAmount kernel = { cases[i].kernel, 1 };
                g_autofree char *full = NULL;

                ledger_add(ledger, "ann", DISK_HOME, 50, 1);
                ledger_set_kernel(ledger, "ann", &kernel);
                g_assert_cmpint(held(ledger, "ann", DISK_UNLISTED), ==, cases[i].unlisted);
                full = ledger_say_full(ledger, "ann");
                g_assert_cmpint(full != NULL, ==, cases[i].full);
                if (full) {
                        g_assert_nonnull(strstr(full, "disk quota: 'ann' holds"));
                        g_assert_null(strchr(full, '\n'));
                }
                g_assert_false(ledger_refuse(ledger, "ann", &error));
                g_assert_true(err_is(error, ERR_QUOTA));
                g_assert_nonnull(strstr(error->message, "'ann' holds"));
        }
}

static void it_is_kept(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "usage", NULL);
        g_autoptr(Ledger) one = ledger_new(limit_of, NULL), other = ledger_new(limit_of, NULL);
        g_autoptr(GHashTable) uses = found("ann", 30);
        g_autoptr(GError) error = NULL;

        ledger_load(other, path); /* no file */
        ledger_survey_begin(one);
        ledger_survey_end(one, uses);
        ledger_save(one, path, &error);
        g_assert_no_error(error);
        ledger_load(other, path);
        g_assert_cmpint(held(other, "ann", DISK_HOME), ==, 30);
        g_assert_cmpint(ledger_surveyed(other), ==, ledger_surveyed(one));
        g_assert_true(g_file_set_contents(path, "{\"users\": [7], \"surveyed\": ", -1, NULL));
        ledger_load(other, path); /* invalid: as if absent */
}

static void no_ledger_has_no_limits(void)
{
        g_assert_true(ledger_reserve(NULL, "ann", G_MAXINT64, 1, NULL));
        ledger_release(NULL, "ann", G_MAXINT64, 1);
        ledger_add(NULL, "ann", DISK_HOME, 1, 1);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger/may", may);
        g_test_add_func("/ledger/far-over", far_over);
        g_test_add_func("/ledger/many-at-once-pass-as-one", many_at_once_pass_as_one);
        g_test_add_func("/ledger/a-survey-corrects", a_survey_corrects);
        g_test_add_func("/ledger/kernel-limit", the_kernel_gets_what_other_trees_leave);
        g_test_add_func("/ledger/kernel-count", the_kernel_counts_what_no_survey_sees);
        g_test_add_func("/ledger/it-is-kept", it_is_kept);
        g_test_add_func("/ledger/no-ledger-has-no-limits", no_ledger_has_no_limits);
        return g_test_run();
}
