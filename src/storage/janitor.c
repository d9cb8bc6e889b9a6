/* The janitor (see janitor.h). It keeps the last survey, so that it can decide about deletions at any time.
 * Only one removal runs at a time, on the janitor's thread or the caller's.
 *
 * A removed thing is first renamed into a directory that nothing reads. So a crash leaves it either complete,
 * or hidden where the next round finds it. */
#include "storage/janitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/background.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/number.h"

enum {
        REST_MIN_MS = 60 * 1000,
        REST_TIMES = 20,
        HURRY_MIN_MS = 50, /* and a multiple of the last one's duration: */
        HURRY_TIMES = 4,
        HURRY_MAX_MS =
                5000,   /* on a busy machine a survey takes longer, but nobody waits for several times that */
        TICK_MS = 1000, /* at most, between two checks of limits and of the kernel's counts */
        ASK_MS = 200,   /* interval at which a waiting thread checks whether its caller has given up */
};

struct Janitor {
        JanitorConfig config;
        char *state_dir, *dc, *ledger_file;
        GThread *thread;
        pthread_mutex_t mutex; /* protects the following fields */
        pthread_cond_t changed;
        bool stopped;
        gint64 begun, ended; /* numbers of surveys */
        gint64 wanted;       /* requested by a waiting thread */
        gint64 collected;    /* when things were last removed; monotonic ms */
        Survey *last;
        pthread_mutex_t removing; /* one at a time */
        GHashTable *open;         /* packages of open jobs during that removal; protected by `removing` */
};

static bool is_stopped(void *arg)
{
        Janitor *janitor = arg;
        bool stopped;

        pthread_mutex_lock(&janitor->mutex);
        stopped = janitor->stopped;
        pthread_mutex_unlock(&janitor->mutex);
        return stopped;
}

/* Passes the survey's questions on, except `stopped`, which the janitor answers itself. */
static SurveyAnswer ask_job(const char *id, SurveyJob *ret, void *arg)
{
        const JanitorConfig *config = &((Janitor *)arg)->config;

        return config->survey.job(id, ret, config->survey.arg);
}

static GHashTable *ask_packages(void *arg)
{
        const JanitorConfig *config = &((Janitor *)arg)->config;

        return config->survey.open_packages(config->survey.arg);
}

static char *ask_uid(uid_t uid, void *arg)
{
        const JanitorConfig *config = &((Janitor *)arg)->config;

        return config->survey.user_of_uid(uid, config->survey.arg);
}

/* ---- removing ---- */

/* Removes everything in it. */
static void sweep_gone(const Janitor *janitor, const char *area)
{
        g_autofree char *path = g_build_filename(janitor->state_dir, area, ".gone", NULL);

        (void)file_remove_tree(path, NULL); /* else the next round retries it */
}

/* Moves it to `area`/.gone with one rename. */
static bool hide(const Janitor *janitor, const char *area, const char *path, GError **error)
{
        char id[ID_LEN + 1];
        g_autofree char *dir = g_build_filename(janitor->state_dir, area, ".gone", NULL);
        g_autofree char *to = (id_new(id), g_build_filename(dir, id, NULL));

        if (!file_mkdirs(dir, 0700, error))
                return false;
        return rename(path, to) == 0 || errno == ENOENT ||
               err_set_errno(error, errno, "cannot move '%s' away", path);
}

/* The parts of an attempt: its logs, or everything else. */
static bool hide_parts(const Janitor *janitor, const char *attempt, bool logs, GError **error)
{
        g_autoptr(GDir) dir = g_dir_open(attempt, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename(attempt, name, NULL);

                if ((strcmp(name, "log") == 0) == logs && !hide(janitor, "jobs", path, error))
                        return false;
        }
        return true;
}

/* First marks the job, so that a reader learns that its logs were deleted. */
static bool hide_logs(const Janitor *janitor, const char *job_dir, GError **error)
{
        g_autofree char *mark = g_build_filename(job_dir, SURVEY_LOGS_GONE, NULL);
        g_autoptr(GDir) dir = g_dir_open(job_dir, 0, NULL);
        const char *name;

        if (!file_replace(mark, "", 0, 0600, false, error))
                return false;
        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *attempt = g_build_filename(job_dir, name, NULL);

                if (g_file_test(attempt, G_FILE_TEST_IS_DIR) &&
                    !g_file_test(attempt, G_FILE_TEST_IS_SYMLINK) &&
                    !hide_parts(janitor, attempt, true, error))
                        return false;
        }
        return true;
}

/* An attempt is over when its job has ended, or has started a later attempt. */
static bool is_over(const GcThing *thing, const SurveyJob *job, char *const *parts)
{
        gint64 attempt;

        return !job->open ||
               (thing->kind == GC_WORK && number_parse("attempt", parts[3], 0, G_MAXINT, &attempt, NULL) &&
                attempt < job->attempt);
}

/* Things of a job: its present state decides, not the state that the survey saw. */
static bool drop_of_job(Janitor *janitor, const GcThing *thing, bool *ret_gone, GError **error)
{
        g_auto(GStrv) parts = g_strsplit(thing->name, "/", -1); /* jobs, xx, id, attempt */
        g_autofree char *path = g_build_filename(janitor->state_dir, thing->name, NULL);
        SurveyJob job = { 0 };
        SurveyAnswer answer = ask_job(parts[2], &job, janitor);

        g_free(job.user);
        if (answer != (thing->kind == GC_JOB ? JOB_UNKNOWN : JOB_FOUND) || !is_over(thing, &job, parts))
                return true;
        *ret_gone = true;
        return thing->kind == GC_JOB    ? hide(janitor, "jobs", path, error)
               : thing->kind == GC_LOGS ? hide_logs(janitor, path, error)
                                        : hide_parts(janitor, path, false, error);
}

static bool drop_package_thing(Janitor *janitor, const GcThing *thing, bool *ret_gone, GError **error)
{
        const Surveyed *packages = &janitor->config.survey.packages;

        if (thing->kind == GC_PACKAGE &&
            (!janitor->open || g_hash_table_contains(janitor->open, strrchr(thing->name, '/') + 1)))
                return true;
        return packages->ops->drop(packages->store, thing->kind, thing->name, thing->used, ret_gone, error);
}

static void sweep_packages(const Janitor *janitor)
{
        const Surveyed *packages = &janitor->config.survey.packages;

        if (packages->ops)
                packages->ops->sweep(packages->store);
}

static bool drop_upload(Janitor *janitor, const GcThing *thing, bool *ret_gone, GError **error)
{
        return storage_drop_upload(janitor->config.storage, strrchr(thing->name, '/') + 1, thing->used,
                                   ret_gone, error);
}

static bool drop_environment(Janitor *janitor, const GcThing *thing, bool *ret_gone, GError **error)
{
        return janitor->config.drop_environment(strrchr(thing->name, '/') + 1, thing->used, ret_gone,
                                                janitor->config.survey.arg, error);
}

static bool (*const drops[GC_KINDS])(Janitor *, const GcThing *, bool *, GError **) = {
        [GC_UPLOAD] = drop_upload,         [GC_PIECE] = drop_package_thing,
        [GC_OFFER] = drop_package_thing,   [GC_CONTENT] = drop_package_thing,
        [GC_PACKAGE] = drop_package_thing, [GC_ENVIRONMENT] = drop_environment,
        [GC_DOWNLOADS] = drop_environment, [GC_LOGS] = drop_of_job,
        [GC_WORK] = drop_of_job,           [GC_JOB] = drop_of_job,
};

static JanitorRemoval *removal_new(const GcVerdict *verdict)
{
        const GcThing *thing = verdict->thing;
        JanitorRemoval *removal = g_new(JanitorRemoval, 1);

        *removal = (JanitorRemoval){ thing->kind,           g_strdup(thing->name),
                                     g_strdup(thing->user), g_strdup(verdict->why),
                                     thing->bytes,          thing->files,
                                     thing->used,           false };
        return removal;
}

void janitor_removal_free(JanitorRemoval *removal)
{
        if (!removal)
                return;
        g_free(removal->name);
        g_free(removal->user);
        g_free(removal->why);
        g_free(removal);
}

static void remove_one(Janitor *janitor, const GcThing *thing, JanitorRemoval *removal)
{
        g_autoptr(GError) failure = NULL;

        if (!drops[thing->kind](janitor, thing, &removal->gone, &failure))
                log_warning("unused files could not be removed; retrying in the next round", "what",
                            thing->name, "error", failure->message, NULL);
}

/* Leaves `survey` unchanged. */
static GPtrArray *collect(Janitor *janitor, const Survey *survey, bool dry)
{
        g_autoptr(GPtrArray) verdicts = gc_decide(survey->things, &janitor->config.policy, clock_now_ms());
        GPtrArray *removals = g_ptr_array_new_with_free_func((GDestroyNotify)janitor_removal_free);

        /* A job submitted later has just used its package, and the store knows that. */
        janitor->open = dry || verdicts->len == 0 ? NULL : ask_packages(janitor);
        for (guint i = 0; i < verdicts->len && !is_stopped(janitor) && cancel_check(); i++) {
                const GcVerdict *verdict = verdicts->pdata[i];
                JanitorRemoval *removal = removal_new(verdict);

                g_ptr_array_add(removals, removal);
                if (!dry)
                        remove_one(janitor, verdict->thing, removal);
        }
        g_clear_pointer(&janitor->open, g_hash_table_unref);
        if (!dry) {
                sweep_gone(janitor, "jobs");
                sweep_gone(janitor, "envs");
                sweep_packages(janitor);
        }
        return removals;
}

static void tell_removed(const GPtrArray *removals)
{
        gint64 bytes = 0;
        guint gone = 0;
        g_autofree char *count = NULL, *shown = NULL;

        for (guint i = 0; i < removals->len; i++) {
                const JanitorRemoval *removal = removals->pdata[i];

                gone += removal->gone;
                bytes += removal->gone ? removal->bytes : 0;
        }
        if (gone == 0)
                return;
        count = g_strdup_printf("%u", gone);
        shown = bytes_format((guint64)bytes);
        log_info("removed unused files", "things", count, "size", shown, NULL);
}

/* ---- surveys ---- */

/* The caller's; NULL: stopped. */
static Survey *survey_now(Janitor *janitor)
{
        SurveyConfig config = janitor->config.survey;
        Survey *survey;

        config.job = ask_job;
        config.open_packages = ask_packages;
        config.user_of_uid = ask_uid;
        config.stopped = is_stopped;
        config.arg = janitor;
        cancel_begin(is_stopped, janitor);
        storage_sweep(janitor->config.storage);
        cancel_end();
        ledger_survey_begin(janitor->config.ledger);
        survey = survey_make(&config);
        ledger_survey_end(janitor->config.ledger, survey ? survey->uses : NULL);
        if (survey)
                survey->config = NULL; /* it was on this stack */
        return survey;
}

static void publish(Janitor *janitor, Survey *survey)
{
        g_autoptr(GError) failure = NULL;

        if (survey && !ledger_save(janitor->config.ledger, janitor->ledger_file, &failure))
                log_warning(
                        "the disk usage of users could not be stored; it is counted again at the next start",
                        "error", failure->message, NULL);
        pthread_mutex_lock(&janitor->mutex);
        survey_free(janitor->last);
        janitor->last = survey;
        janitor->ended = janitor->begun;
        pthread_cond_broadcast(&janitor->changed);
        pthread_mutex_unlock(&janitor->mutex);
}

/* Takes the last survey, which is used only once, since removals make it stale. */
static Survey *take_last(Janitor *janitor)
{
        Survey *survey;

        pthread_mutex_lock(&janitor->mutex);
        survey = g_steal_pointer(&janitor->last);
        pthread_mutex_unlock(&janitor->mutex);
        return survey;
}

static void give_last(Janitor *janitor, Survey *survey)
{
        pthread_mutex_lock(&janitor->mutex);
        if (janitor->last)
                survey_free(survey);
        else
                janitor->last = survey;
        pthread_mutex_unlock(&janitor->mutex);
}

/* The janitor's thread. */
static bool is_due(Janitor *janitor)
{
        gint64 now = clock_monotonic_ms();

        if (janitor->config.collect_ms <= 0 || now - janitor->collected < janitor->config.collect_ms)
                return false;
        janitor->collected = now;
        return true;
}

static GPtrArray *collect_until_stopped(Janitor *janitor, const Survey *survey)
{
        GPtrArray *removals;

        cancel_begin(is_stopped, janitor);
        removals = collect(janitor, survey, false);
        cancel_end();
        return removals;
}

static void round_of(Janitor *janitor)
{
        Survey *survey;

        pthread_mutex_lock(&janitor->mutex);
        janitor->begun++;
        pthread_mutex_unlock(&janitor->mutex);
        publish(janitor, survey_now(janitor));
        if (is_stopped(janitor))
                return;
        if (janitor->config.surveyed)
                janitor->config.surveyed(janitor->config.survey.arg);
        if (!is_due(janitor))
                return;
        pthread_mutex_lock(&janitor->removing);
        survey = take_last(janitor);
        if (survey) {
                g_autoptr(GPtrArray) removals = collect_until_stopped(janitor, survey);

                tell_removed(removals);
                give_last(janitor, survey);
        }
        pthread_mutex_unlock(&janitor->removing);
}

/* Call it with the mutex. */
static void wait_ms(Janitor *janitor, gint64 ms)
{
        (void)cond_wait_until(&janitor->changed, &janitor->mutex, clock_monotonic_ms() + ms);
}

static void rest(Janitor *janitor, gint64 took_ms)
{
        gint64 began = clock_monotonic_ms(), least = CLAMP(HURRY_TIMES * took_ms, HURRY_MIN_MS, HURRY_MAX_MS),
               most = MAX(REST_MIN_MS, REST_TIMES * took_ms);
        Projects *projects = janitor->config.survey.projects;
        bool hurry = false;

        pthread_mutex_lock(&janitor->mutex);
        for (;;) {
                gint64 rested = clock_monotonic_ms() - began;

                hurry = hurry || janitor->wanted > janitor->begun ||
                        ledger_take_refused(janitor->config.ledger);
                if (janitor->stopped || rested >= (hurry ? least : most))
                        break;
                wait_ms(janitor, MIN((hurry ? least : most) - rested, TICK_MS));
                if (projects) {
                        pthread_mutex_unlock(&janitor->mutex);
                        projects_refresh_all(projects);
                        pthread_mutex_lock(&janitor->mutex);
                }
        }
        pthread_mutex_unlock(&janitor->mutex);
}

static void *run(void *arg)
{
        Janitor *janitor = arg;

        background_begin();
        cancel_begin(is_stopped, janitor);
        sweep_gone(janitor, "jobs");
        sweep_gone(janitor, "envs");
        cancel_end();
        while (!is_stopped(janitor)) {
                gint64 began = clock_monotonic_ms();

                round_of(janitor);
                rest(janitor, clock_monotonic_ms() - began);
        }
        return NULL;
}

/* ---- interface ---- */

Janitor *janitor_new(const JanitorConfig *config)
{
        Janitor *janitor = g_new0(Janitor, 1);

        janitor->config = *config;
        janitor->state_dir = g_strdup(config->survey.state_dir);
        janitor->dc = g_strdup(config->survey.dc);
        janitor->ledger_file = g_strdup(config->ledger_file);
        janitor->config.survey.state_dir = janitor->state_dir;
        janitor->config.survey.dc = janitor->dc;
        pthread_mutex_init(&janitor->mutex, NULL);
        pthread_mutex_init(&janitor->removing, NULL);
        cond_init(&janitor->changed);
        janitor->collected = clock_monotonic_ms();
        ledger_load(config->ledger, janitor->ledger_file);
        janitor->thread = g_thread_new("janitor", run, janitor);
        return janitor;
}

void janitor_stop(Janitor *janitor)
{
        if (!janitor || !janitor->thread)
                return;
        pthread_mutex_lock(&janitor->mutex);
        janitor->stopped = true;
        pthread_cond_broadcast(&janitor->changed);
        pthread_mutex_unlock(&janitor->mutex);
        g_thread_join(g_steal_pointer(&janitor->thread));
}

void janitor_free(Janitor *janitor)
{
        if (!janitor)
                return;
        janitor_stop(janitor);
        survey_free(janitor->last);
        pthread_cond_destroy(&janitor->changed);
        pthread_mutex_destroy(&janitor->mutex);
        pthread_mutex_destroy(&janitor->removing);
        g_free(janitor->state_dir);
        g_free(janitor->dc);
        g_free(janitor->ledger_file);
        g_free(janitor);
}

bool janitor_survey(Janitor *janitor, GError **error)
{
        gint64 number;
        bool waits = true, over;

        pthread_mutex_lock(&janitor->mutex);
        number = janitor->begun + 1;
        janitor->wanted = MAX(janitor->wanted, number);
        pthread_cond_broadcast(&janitor->changed);
        while (waits && !janitor->stopped && janitor->ended < number) {
                wait_ms(janitor, ASK_MS);
                pthread_mutex_unlock(&janitor->mutex);
                waits = cancel_check();
                pthread_mutex_lock(&janitor->mutex);
        }
        over = janitor->ended >= number && !janitor->stopped;
        pthread_mutex_unlock(&janitor->mutex);
        return over || err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
}

GPtrArray *janitor_collect(Janitor *janitor, bool dry, GError **error)
{
        GPtrArray *removals = NULL;

        while (!removals) {
                Survey *survey;

                if (!janitor_survey(janitor, error))
                        return NULL;
                pthread_mutex_lock(&janitor->removing);
                survey = take_last(janitor);
                if (survey) { /* else another survey is running */
                        removals = collect(janitor, survey, dry);
                        give_last(janitor, survey);
                }
                pthread_mutex_unlock(&janitor->removing);
        }
        return removals;
}
