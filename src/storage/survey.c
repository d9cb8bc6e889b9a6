/* The survey (see survey.h): homes, public, uploads, environments, jobs and sandboxes; packages are in
 * package/package-survey.c.
 *
 * Anything that cannot be read or understood is never offered for deletion. */
#include "storage/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup-id.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "base/number.h"
#include "storage/hash.h"
#include "storage/open-files.h"
#include "storage/storage.h"
#include "storage/weigh.h"

void survey_count(Survey *survey, const char *user, DiskKind kind, gint64 bytes, gint64 files)
{
        DiskUse *use;

        if (!user)
                return;
        use = g_hash_table_lookup(survey->uses, user);
        if (!use) {
                use = g_new0(DiskUse, 1);
                g_hash_table_insert(survey->uses, g_strdup(user), use);
        }
        use->of[kind].bytes += bytes;
        use->of[kind].files += files;
}

GcThing *survey_note(Survey *survey, GcKind kind, const char *name, const char *user)
{
        GcThing *thing = gc_thing_new(kind, name, user);

        g_ptr_array_add(survey->things, thing);
        return thing;
}

static bool is_stopped(const Survey *survey)
{
        return survey->config->stopped && survey->config->stopped(survey->config->arg);
}

/* Labels a tree of a single user. False: stopped. */
static bool label(const Survey *survey, const char *user, const char *path)
{
        const SurveyConfig *config = survey->config;

        return projects_label(config->projects, user, path, config->stopped, config->arg);
}

static bool weigh(const Survey *survey, const char *path, Weight *weight)
{
        const WeighHow how = { .seen = survey->seen,
                               .stopped = survey->config->stopped,
                               .stopped_arg = survey->config->arg };

        return tree_weigh(AT_FDCWD, path, &how, weight);
}

static char *below_state(const Survey *survey, const char *name)
{
        return g_build_filename(survey->config->state_dir, name, NULL);
}

/* Sets the size of a thing, all of which counts to its user. */
static void set_weight(GcThing *thing, const Weight *weight)
{
        thing->bytes = weight->bytes;
        thing->files = weight->files;
        thing->used = MAX(thing->used, weight->used);
}

/* ---- homes and public ---- */

static bool look_at_homes(Survey *survey)
{
        g_autofree char *path =
                g_build_filename(survey->config->state_dir, "storage", survey->config->dc, "home", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *user;

        while (dir && (user = g_dir_read_name(dir))) {
                g_autofree char *home = g_build_filename(path, user, NULL);
                Weight weight = { 0 };

                if (!label(survey, user, home) || !weigh(survey, home, &weight))
                        return false;
                survey_count(survey, user, DISK_HOME, weight.bytes, weight.files);
        }
        return true;
}

typedef struct {
        Survey *survey;
        uid_t uid;  /* of the previous file */
        char *user; /* the user with that uid */
} PublicLook;

static void count_public(const struct stat *st, void *arg)
{
        PublicLook *look = arg;

        if (st->st_uid == geteuid())
                return; /* the server's own files, written by administrators */
        if (st->st_uid != look->uid) {
                g_free(look->user);
                look->uid = st->st_uid;
                look->user = look->survey->config->user_of_uid(st->st_uid, look->survey->config->arg);
        }
        survey_count(look->survey, look->user, DISK_PUBLIC, (gint64)st->st_blocks * 512, 1);
}

static bool look_at_public(Survey *survey)
{
        const SurveyConfig *config = survey->config;
        g_autofree char *path = g_build_filename(config->state_dir, "storage", config->dc, "public", NULL);
        PublicLook look = { survey, geteuid(), NULL };
        const WeighHow how = {
                .func = count_public, .arg = &look, .stopped = config->stopped, .stopped_arg = config->arg
        };
        Weight weight = { 0 };
        bool ok = tree_weigh(AT_FDCWD, path, &how, &weight);

        g_free(look.user);
        return ok;
}

/* ---- uploads of files ---- */

static bool look_at_uploads(Survey *survey)
{
        const SurveyConfig *config = survey->config;
        g_autofree char *below = g_build_filename("storage", config->dc, ".upload", NULL);
        g_autofree char *path = below_state(survey, below);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *here = g_build_filename(path, name, NULL);
                g_autofree char *noted = g_build_filename(below, name, NULL);
                g_autofree char *user = NULL;
                Weight weight = { 0 };

                if (!weigh(survey, here, &weight))
                        return false;
                if (!hash_is_valid(name))
                        continue; /* being removed */
                user = storage_upload_user(here);
                if (!label(survey, user, here))
                        return false;
                survey_count(survey, user, DISK_UPLOADS, weight.bytes, weight.files);
                set_weight(survey_note(survey, GC_UPLOAD, noted, user), &weight);
        }
        return true;
}

/* ---- jobs ---- */

typedef struct {
        GHashTable *environments; /* keys that open jobs have; a set */
        bool unsure;              /* some job could not be read */
} JobsLook;

/* "../../../envs/<key>" */
static void note_environment(const char *job_dir, GHashTable *environments)
{
        g_autofree char *link = g_build_filename(job_dir, "environment", NULL);
        g_autofree char *target = g_file_read_link(link, NULL);
        const char *slash = target ? strrchr(target, '/') : NULL;

        if (slash)
                g_hash_table_add(environments, g_strdup(slash + 1));
}

static bool is_log(const char *name)
{
        return strcmp(name, "log") == 0;
}

/* The contents of an attempt: its logs, and the rest. */
static bool look_at_attempt(Survey *survey, const char *job_dir, const char *below, const char *attempt,
                            const SurveyJob *job, Weight *logs)
{
        g_autofree char *path = g_build_filename(job_dir, attempt, NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        g_autofree char *noted = g_build_filename(below, attempt, NULL);
        Weight work = { 0 };
        gint64 number = 0;
        bool over, has_work = false;
        const char *name;

        if (!number_parse("", attempt, 0, G_MAXINT, &number, NULL))
                return true;
        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *here = g_build_filename(path, name, NULL);

                has_work |= !is_log(name);
                if (!weigh(survey, here, is_log(name) ? logs : &work))
                        return false;
        }
        survey_count(survey, job->user, DISK_WORK, work.bytes, work.files);
        over = !job->open || number < job->attempt;
        if (has_work) {
                GcThing *thing = survey_note(survey, GC_WORK, noted, job->user);

                set_weight(thing, &work);
                thing->used = MAX(thing->used, job->finished);
                thing->held = over ? NULL : "its job is open";
        }
        return true;
}

static bool look_at_known(Survey *survey, const char *job_dir, const char *below, const SurveyJob *job)
{
        g_autoptr(GDir) dir = g_dir_open(job_dir, 0, NULL);
        Weight logs = { 0 };
        GcThing *thing;
        const char *name;

        while (dir && (name = g_dir_read_name(dir)))
                if (!look_at_attempt(survey, job_dir, below, name, job, &logs))
                        return false;
        survey_count(survey, job->user, DISK_LOGS, logs.bytes, logs.files);
        if (logs.files == 0)
                return true;
        thing = survey_note(survey, GC_LOGS, below, job->user);
        set_weight(thing, &logs);
        thing->used = job->open ? logs.used : job->finished;
        thing->held = job->open ? "its job is open" : NULL;
        return true;
}

static bool look_at_job(Survey *survey, JobsLook *look, const char *below, const char *id)
{
        g_autofree char *job_dir = below_state(survey, below);
        SurveyJob job = { 0 };
        Weight weight = { 0 };
        bool ok;

        switch (survey->config->job(id, &job, survey->config->arg)) {
        case JOB_FOUND: break;
        case JOB_UNKNOWN:
                ok = weigh(survey, job_dir, &weight);
                set_weight(survey_note(survey, GC_JOB, below, NULL), &weight);
                return ok;
        case JOB_NO_ANSWER:
        default: look->unsure = true; return true;
        }
        if (job.open)
                note_environment(job_dir, look->environments);
        ok = label(survey, job.user, job_dir) && look_at_known(survey, job_dir, below, &job);
        g_free(job.user);
        return ok;
}

static bool look_at_jobs(Survey *survey, JobsLook *look)
{
        g_autofree char *path = below_state(survey, "jobs");
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *part, *id;

        while (dir && (part = g_dir_read_name(dir))) {
                g_autofree char *parts = g_build_filename(path, part, NULL);
                g_autoptr(GDir) ids = *part == '.' ? NULL : g_dir_open(parts, 0, NULL);

                while (ids && (id = g_dir_read_name(ids))) {
                        g_autofree char *below = g_build_filename("jobs", part, id, NULL);

                        if (is_stopped(survey) || !look_at_job(survey, look, below, id))
                                return false;
                }
        }
        return true;
}

/* ---- sandboxes ---- */

/* The private /tmp of an unshared sandbox is not in the job's directory. Its sandbox removes it. */
static bool look_at_sandboxes(Survey *survey)
{
        g_autofree char *path = g_build_filename(survey->config->state_dir, "agent", "sandboxes", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *tmp = g_build_filename(path, name, "tmp", NULL), *user = NULL;
                Weight weight = { 0 };
                struct stat st;

                if (lstat(tmp, &st) < 0)
                        continue;
                user = survey->config->user_of_uid(st.st_uid, survey->config->arg);
                if (!label(survey, user, tmp) || !weigh(survey, tmp, &weight))
                        return false;
                survey_count(survey, user, DISK_WORK, weight.bytes, weight.files);
        }
        return true;
}

/* ---- environments ---- */

/* "u<uid>-<hash>" and "u<uid>" (downloads of builds) belong to a user, "<hash>" to the server. */
static char *user_of_key(const Survey *survey, const char *key, bool *ret_downloads)
{
        g_autofree char *number = NULL;
        const char *dash = strchr(key, '-');
        gint64 uid;

        *ret_downloads = key[0] == 'u' && !dash;
        if (key[0] != 'u')
                return NULL;
        number = g_strndup(key + 1, dash ? (gsize)(dash - key - 1) : strlen(key + 1));
        return number_parse("", number, 0, G_MAXUINT32 - 1, &uid, NULL)
                       ? survey->config->user_of_uid((uid_t)uid, survey->config->arg)
                       : NULL;
}

/* Downloads are needed if their user may have a running build. */
static bool is_needed(const JobsLook *look, const char *key, bool downloads)
{
        g_autofree char *prefix = g_strconcat(key, "-", NULL);
        GHashTableIter iter;
        gpointer open;

        if (look->unsure || g_hash_table_contains(look->environments, key))
                return true;
        g_hash_table_iter_init(&iter, look->environments);
        while (downloads && g_hash_table_iter_next(&iter, &open, NULL))
                if (g_str_has_prefix(open, prefix))
                        return true;
        return false;
}

static bool look_at_environments(Survey *survey, const JobsLook *look)
{
        g_autofree char *path = below_state(survey, "envs");
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *key;

        while (dir && (key = g_dir_read_name(dir))) {
                g_autofree char *here = g_build_filename(path, key, NULL);
                g_autofree char *mark = g_build_filename(here, "used", NULL);
                g_autofree char *below = g_build_filename("envs", key, NULL), *user = NULL;
                bool downloads;
                Weight weight = { 0 };
                struct stat st;
                GcThing *thing;

                if (*key == '.')
                        continue;
                user = user_of_key(survey, key, &downloads);
                if (!label(survey, user, here) || !weigh(survey, here, &weight))
                        return false;
                survey_count(survey, user, DISK_ENVIRONMENTS, weight.bytes, weight.files);
                thing = survey_note(survey, downloads ? GC_DOWNLOADS : GC_ENVIRONMENT, below, user);
                set_weight(thing, &weight);
                if (!downloads && lstat(mark, &st) == 0) /* its files have the packages' times */
                        thing->used = file_mtime_ms(&st);
                thing->used = MAX(thing->used, survey->config->since);
                if (is_needed(look, key, downloads))
                        thing->held = "an open job has it";
        }
        return true;
}

/* ---- files without a name ---- */

static void count_unlinked(const struct stat *st, void *arg)
{
        Survey *survey = arg;
        g_autofree char *user = survey->config->user_of_uid(st->st_uid, survey->config->arg);

        survey_count(survey, user, DISK_UNLISTED, (gint64)st->st_blocks * 512, 1);
}

/* A job may hold open files that it has removed. A file's uid tells its user if members run as other users
 * than the server. Processes of the server's user do not count, nor processes outside our members' cgroups:
 * those belong to another server, or to a login of the user on the machine. */
static bool look_at_unlinked(Survey *survey)
{
        const SurveyConfig *config = survey->config;
        g_autofree char *agent = g_build_filename(config->state_dir, "agent", NULL);
        g_autofree char *id = cgroup_id_of(agent), *group = g_strdup_printf("/paddle/%s/", id);
        OpenFilesLook look = { .group = group,
                               .except = geteuid(),
                               .func = count_unlinked,
                               .arg = survey,
                               .stopped = config->stopped,
                               .stopped_arg = config->arg };
        struct stat st;

        if (geteuid() != 0 || stat(config->state_dir, &st) < 0)
                return true;
        look.device = st.st_dev;
        return open_files_unlinked(&look);
}

/* ---- all of it ---- */

static bool look_at_packages(Survey *survey)
{
        const Surveyed *packages = &survey->config->packages;

        return !packages->ops || packages->ops->look(packages->store, survey);
}

static bool look(Survey *survey)
{
        JobsLook jobs = { g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL), false };
        bool ok = look_at_homes(survey) && look_at_public(survey) && look_at_uploads(survey) &&
                  look_at_packages(survey) && look_at_jobs(survey, &jobs) && look_at_sandboxes(survey) &&
                  look_at_environments(survey, &jobs) && look_at_unlinked(survey);

        g_hash_table_unref(jobs.environments);
        return ok;
}

Survey *survey_make(const SurveyConfig *config)
{
        g_autoptr(Survey) survey = g_new0(Survey, 1);

        survey->config = config;
        survey->uses = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        survey->things = g_ptr_array_new_with_free_func((GDestroyNotify)gc_thing_free);
        survey->packages = config->open_packages(config->arg);
        survey->seen = weigh_seen_new();
        return look(survey) ? g_steal_pointer(&survey) : NULL;
}

void survey_free(Survey *survey)
{
        if (!survey)
                return;
        g_hash_table_unref(survey->uses);
        g_ptr_array_unref(survey->things);
        g_hash_table_unref(survey->seen);
        if (survey->packages)
                g_hash_table_unref(survey->packages);
        g_free(survey);
}
