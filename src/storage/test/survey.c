/* Owners of the contents of a state directory (storage/survey.h). */
#include "storage/survey.h"

#include "storage/test/scratch.h"

enum { KI = 1024 };

/* "1": ann's, open, in its second attempt. */
static SurveyAnswer find_job(const char *id, SurveyJob *ret, void *arg)
{
        if (strcmp(id, "1") != 0)
                return JOB_UNKNOWN;
        *ret = (SurveyJob){ .user = g_strdup("ann"), .open = true, .attempt = 2 };
        return JOB_FOUND;
}

static GHashTable *open_packages(void *arg)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static char *user_of_uid(uid_t uid, void *arg)
{
        return uid == getuid() ? g_strdup("ann") : NULL;
}

static Survey *look_at(const char *dir)
{
        const SurveyConfig config = { .state_dir = dir,
                                      .dc = "dc",
                                      .job = find_job,
                                      .open_packages = open_packages,
                                      .user_of_uid = user_of_uid };
        Survey *survey = survey_make(&config);

        g_assert_nonnull(survey);
        survey->config = NULL; /* it was on this stack */
        return survey;
}

/* A file of 64 KiB in each place of the state directory counts for ann, with its kind. */
static void kinds(void)
{
        static const struct {
                const char *file;
                DiskKind kind;
        } cases[] = {
                { "storage/dc/home/ann/a", DISK_HOME },
                { "jobs/01/1/2/log/worker-0", DISK_LOGS },
                { "jobs/01/1/2/work/a", DISK_WORK },
                { "jobs/01/1/2/tmp/a", DISK_WORK },          /* of a job of several members */
                { "agent/sandboxes/77-1/tmp/a", DISK_WORK }, /* of a job of one */
        };
        g_autofree char *data = g_strnfill(64 * KI, 'x');

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Scratch) dir = scratch_new();
                g_autoptr(Survey) survey = NULL;
                const DiskUse *use;

                g_test_message("%s", cases[i].file);
                put(dir, cases[i].file, data, 64 * KI);
                survey = look_at(dir);
                use = g_hash_table_lookup(survey->uses, "ann");
                g_assert_nonnull(use);
                for (int kind = 0; kind < DISK_KINDS; kind++) {
                        gint64 bytes = use->of[kind].bytes;

                        g_assert_true(kind == (int)cases[i].kind ? bytes >= 64 * KI : bytes < 64 * KI);
                }
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/survey/kinds", kinds);
        return g_test_run();
}
