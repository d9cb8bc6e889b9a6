/* The server's disk (see disk.h): answers of the store and the catalog to the questions of storage/. */
#include "engine/disk.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "base/log.h"
#include "base/number.h"
#include "package/package-survey.h"
#include "runtime/environment/environment.h"

enum {
        JOBS_PAGE = 500,
        DEFAULT_PERCENT = 25,
        NOTE_MAX = 4096,
        BY_UID_MS = 60 * 1000,  /* for as long as identity.h remembers */
        BY_UID_AGAIN_MS = 1000, /* before an unknown one is asked for again: it may be a new user's */
        HELD_MAX = 5000,        /* jobs of one user that are held after one survey */
};

/* "200Gi" or "25%". */
typedef struct {
        gint64 amount;
        int percent; /* > 0: of the disk */
} Limit;

struct Disk {
        char *state, *envs, *usage_file;
        DiskConfig config;
        bool fresh;         /* the state directory was made by a version that has limits */
        gint64 since;       /* ms: of an older one, when such a version first served it; else 0 */
        GHashTable *by_uid; /* uid -> name, of the janitor's thread; as of `by_uid_at` */
        gint64 by_uid_at;
        Limit bytes, files;
        gint64 disk_bytes, disk_files; /* of the file system */
        Ledger *ledger;
        DiskParts parts;
        Projects *projects;       /* NULL: the accounting alone keeps the limits */
        _Atomic(Engine *) engine; /* of parts; NULL: limits do not apply yet */
        Janitor *janitor;
};

/* ---- limits ---- */

static bool read_limit(const char *option, const char *text, bool fresh, Limit *ret, GError **error)
{
        gsize len = text ? strlen(text) : 0;
        gint64 percent;
        g_autofree char *digits = NULL;

        *ret = (Limit){ 0, fresh ? DEFAULT_PERCENT : 0 };
        if (!text)
                return true;
        *ret = (Limit){ 0 };
        if (len == 0 || text[len - 1] != '%')
                return memory_parse(option, text, &ret->amount, error);
        digits = g_strndup(text, len - 1);
        if (!number_parse(option, digits, 1, 100, &percent, error))
                return false;
        ret->percent = (int)percent;
        return true;
}

static gint64 limit_amount(const Limit *limit, gint64 whole)
{
        return limit->percent > 0 ? whole / 100 * limit->percent : limit->amount;
}

/* LedgerLimitOf. Administrators have a limit only where they were given one. */
static void limit_of(const char *name, DiskAmount *ret, void *arg)
{
        Disk *disk = arg;
        Engine *engine = disk->engine;
        g_autoptr(Catalog) catalog = engine ? engine_catalog(engine) : NULL;
        const User *user = catalog ? catalog_user(catalog, name) : NULL;

        *ret = (DiskAmount){ 0 };
        if (!user)
                return;
        if (!user_limit(user->disk, &ret->bytes) && !user->admin)
                ret->bytes = limit_amount(&disk->bytes, disk->disk_bytes);
        if (!user_limit(user->files, &ret->files) && !user->admin)
                ret->files = limit_amount(&disk->files, disk->disk_files);
}

bool disk_may_write(const char *user, void *arg, GError **error)
{
        return ledger_check(((Disk *)arg)->ledger, user, 0, 0, error);
}

bool disk_hold(const char *user, gint64 bytes, int files, void *arg, GError **error)
{
        return ledger_reserve(((Disk *)arg)->ledger, user, bytes, files, error);
}

void disk_release(const char *user, gint64 bytes, int files, void *arg)
{
        ledger_release(((Disk *)arg)->ledger, user, bytes, files);
}

Ledger *disk_ledger(Disk *disk)
{
        return disk->ledger;
}

Projects *disk_projects(Disk *disk)
{
        return disk->projects;
}

Janitor *disk_janitor(Disk *disk)
{
        return disk->janitor;
}

/* ---- a new one ---- */

#define FRESH_NOTE "new: users have limits by default (paddled --user-disk, --user-files)\n"
#define OLDER_NOTE "older: users have limits where they were given some (paddled --user-disk, --user-files)\n"

/* Noted when such a version first serves the state directory: an older one has a store by then. */
static bool find_age(Disk *disk, GError **error)
{
        g_autofree char *mark = g_build_filename(disk->state, "disk-limits", NULL);
        g_autofree char *store = g_build_filename(disk->state, "paddle.db", NULL);
        g_autofree char *text = NULL;
        const char *note;
        struct stat st;

        if (access(mark, F_OK) < 0) {
                note = access(store, F_OK) == 0 ? OLDER_NOTE : FRESH_NOTE;
                if (!file_replace(mark, note, strlen(note), 0644, true, error))
                        return false;
        }
        if (!file_read(mark, NOTE_MAX, &text, NULL, error))
                return false;
        disk->fresh = !g_str_has_prefix(text, "older");
        if (!disk->fresh && stat(mark, &st) == 0)
                disk->since = file_mtime_ms(&st);
        return true;
}

static bool measure_disk(Disk *disk, GError **error)
{
        struct statvfs about;

        if (statvfs(disk->state, &about) < 0)
                return err_set_errno(error, errno, "the size of the disk of '%s' cannot be read",
                                     disk->state);
        disk->disk_bytes = (gint64)(about.f_blocks * about.f_frsize);
        disk->disk_files = (gint64)about.f_files; /* 0 where inodes are made as needed: then N% is no limit */
        return true;
}

static bool configure(Disk *disk, GError **error)
{
        const DiskConfig *config = &disk->config;

        return find_age(disk, error) && measure_disk(disk, error) &&
               read_limit("--user-disk", config->user_disk, disk->fresh, &disk->bytes, error) &&
               read_limit("--user-files", config->user_files, disk->fresh, &disk->files, error);
}

static bool read_policy(const Disk *disk, GcPolicy *ret, GError **error)
{
        const GPtrArray *said = disk->config.gc;

        *ret = gc_policy_default(disk->fresh, disk->disk_bytes);
        for (guint i = 0; said && i < said->len; i++)
                if (!gc_policy_set(ret, "--gc", said->pdata[i], error))
                        return false;
        return true;
}

/* ProjectConfig.is_bound */
static bool is_bound(const char *name, void *arg)
{
        Disk *disk = arg;
        Engine *engine = disk->engine;
        g_autoptr(Catalog) catalog = engine ? engine_catalog(engine) : NULL;
        const User *user = catalog ? catalog_user(catalog, name) : NULL;
        g_autoptr(Identity) identity = NULL;

        return user && identity_find(disk->config.identities, name, user->object.seq, &identity, NULL) &&
               identity;
}

static bool open_projects(Disk *disk, GError **error)
{
        static const char *const words[] = {
                [PROJECT_QUOTA_AUTO] = "auto", [PROJECT_QUOTA_ON] = "on", [PROJECT_QUOTA_OFF] = "off"
        };
        const DiskConfig *config = &disk->config;
        ProjectConfig projects = { .state_dir = disk->state,
                                   .users = disk->config.identities,
                                   .ledger = disk->ledger,
                                   .is_bound = is_bound,
                                   .arg = disk };
        gsize policy = 0;

        while (policy < G_N_ELEMENTS(words) && strcmp(config->project_quota, words[policy]) != 0)
                policy++;
        if (policy == G_N_ELEMENTS(words))
                return err_set(error, ERR_USAGE, "--project-quota: '%s' is none of auto, on, off",
                               config->project_quota);
        projects.policy = (ProjectPolicy)policy;
        return project_range_parse("--project-ids", config->project_ids, &projects.range, error) &&
               projects_open(&projects, &disk->projects, error);
}

Disk *disk_new(const DiskConfig *config, GError **error)
{
        Disk *disk = g_new0(Disk, 1);
        GcPolicy unused;

        disk->config = *config;
        disk->by_uid = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        disk->state = g_strdup(config->state_dir);
        disk->envs = g_build_filename(config->state_dir, "envs", NULL);
        disk->usage_file = g_build_filename(config->state_dir, "disk-usage", NULL);
        disk->ledger = ledger_new(limit_of, disk);
        if (!configure(disk, error) || !read_policy(disk, &unused, error) || !open_projects(disk, error)) {
                disk_free(disk);
                return NULL;
        }
        return disk;
}

void disk_free(Disk *disk)
{
        if (!disk)
                return;
        disk_stop(disk);
        janitor_free(disk->janitor);
        projects_free(disk->projects);
        ledger_free(disk->ledger);
        g_hash_table_unref(disk->by_uid);
        g_free(disk->state);
        g_free(disk->envs);
        g_free(disk->usage_file);
        g_free(disk);
}

/* ---- what the janitor asks ---- */

static SurveyAnswer find_job(const char *id, SurveyJob *ret, void *arg)
{
        Disk *disk = arg;
        g_autoptr(GError) error = NULL;
        Job *job = store_job_by_id(disk->parts.store, id, &error);

        if (!job)
                return err_is(error, ERR_NOT_FOUND) ? JOB_UNKNOWN : JOB_NO_ANSWER;
        *ret = (SurveyJob){ g_strdup(job->user), !job_state_is_final(job->state), job->attempt,
                            job->finished };
        job_unref(job);
        return JOB_FOUND;
}

static GHashTable *open_packages(void *arg)
{
        return engine_open_packages(((Disk *)arg)->parts.engine);
}

static void read_uids(Disk *disk)
{
        g_autoptr(Catalog) catalog = engine_catalog(disk->parts.engine);
        const GPtrArray *users = catalog_list(catalog, KIND_USER);

        g_hash_table_remove_all(disk->by_uid);
        for (guint i = 0; disk->config.identities && i < users->len; i++) {
                const User *user = users->pdata[i];
                g_autoptr(Identity) identity = NULL;

                if (identity_find(disk->config.identities, user->object.name, user->object.seq, &identity,
                                  NULL) &&
                    identity)
                        g_hash_table_insert(disk->by_uid, GUINT_TO_POINTER(identity->owner.uid),
                                            g_strdup(user->object.name));
        }
        disk->by_uid_at = clock_monotonic_ms();
}

static char *user_of_uid(uid_t uid, void *arg)
{
        Disk *disk = arg;
        gint64 age = clock_monotonic_ms() - disk->by_uid_at;
        bool known = g_hash_table_contains(disk->by_uid, GUINT_TO_POINTER(uid));

        if (!disk->by_uid_at || age > (known ? BY_UID_MS : BY_UID_AGAIN_MS))
                read_uids(disk);
        return g_strdup(g_hash_table_lookup(disk->by_uid, GUINT_TO_POINTER(uid)));
}

static bool drop_environment(const char *key, gint64 since, bool *ret_gone, void *arg, GError **error)
{
        return environment_drop(((Disk *)arg)->envs, key, since, ret_gone, error);
}

/* ---- who is far over ---- */

static void held_done(Job *job, bool repeated, const GError *error, void *arg)
{
        if (job)
                log_info("held a job: its user is far over the disk quota", "job", job->id, "user", job->user,
                         NULL);
}

/* Why, as what follows "held by". */
static char *say_quota(const DiskUse *use, const DiskAmount *limit)
{
        DiskAmount sum = disk_use_sum(use);
        g_autofree char *held = bytes_format((guint64)sum.bytes);
        g_autofree char *most = bytes_format((guint64)limit->bytes);

        if (limit->bytes > 0 && sum.bytes >= limit->bytes)
                return g_strdup_printf("the disk quota: its user holds %s of at most %s", held, most);
        return g_strdup_printf("the disk quota: its user holds %" G_GINT64_FORMAT
                               " files of at most %" G_GINT64_FORMAT,
                               sum.files, limit->files);
}

/* Jobs that run are stopped, with their grace, and those that wait do not start: `paddle release` lets them
 * go on when there is room. */
static void hold_jobs(const Disk *disk, const char *user, const char *by)
{
        JobQuery query = { .user = user,
                           .states = 1u << JOB_QUEUED | 1u << JOB_ADMITTED | 1u << JOB_STARTING |
                                     1u << JOB_RUNNING,
                           .limit = JOBS_PAGE };
        guint held = 0;

        do {
                g_autoptr(GPtrArray) page = store_jobs(disk->parts.store, &query, &query.before_seq, NULL);

                for (guint i = 0; page && i < page->len; i++, held++)
                        engine_act(disk->parts.engine, ((const Job *)page->pdata[i])->id, ACT_HOLD, by, true,
                                   held_done, NULL);
                if (!page)
                        return; /* the next survey tries again */
        } while (query.before_seq > 0 && held < HELD_MAX);
}

static void surveyed(void *arg)
{
        Disk *disk = arg;
        g_autoptr(GPtrArray) users = ledger_users(disk->ledger);

        for (guint i = 0; i < users->len; i++) {
                g_autofree char *by = NULL;
                DiskAmount limit;
                DiskUse use;

                ledger_use(disk->ledger, users->pdata[i], &use, &limit);
                if (!disk_is_far_over(&use, &limit))
                        continue;
                by = say_quota(&use, &limit);
                hold_jobs(disk, users->pdata[i], by);
        }
}

/* ---- its life ---- */

void disk_start(Disk *disk, const DiskParts *parts)
{
        JanitorConfig config = {
                .survey = { .state_dir = disk->state,
                            .dc = disk->config.dc,
                            .since = disk->since,
                            .packages = package_store_surveyed(parts->packages),
                            .job = find_job,
                            .open_packages = open_packages,
                            .user_of_uid = user_of_uid,
                            .projects = disk->projects,
                            .arg = disk },
                .storage = parts->storage,
                .ledger = disk->ledger,
                .ledger_file = disk->usage_file,
                .collect_ms = disk->config.gc_every_ms,
                .drop_environment = drop_environment,
                .surveyed = surveyed,
        };

        (void)read_policy(disk, &config.policy, NULL); /* disk_new has read it */
        disk->parts = *parts;
        disk->engine = parts->engine;
        projects_set_live(disk->projects, true);
        disk->janitor = janitor_new(&config);
}

void disk_quiesce(Disk *disk)
{
        if (disk)
                janitor_stop(disk->janitor);
}

void disk_stop(Disk *disk)
{
        if (!disk)
                return;
        disk_quiesce(disk);
        projects_set_live(disk->projects, false);
        disk->engine = NULL;
}
