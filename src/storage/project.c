/* Project quotas (see project.h). The calls of XFS (Q_X...) also work on ext4 and f2fs.
 *
 *      disk-projects           lines "ID USER"; durable before a tree gets the id
 *      trusted.paddle.project  attribute of a tree's top: the whole tree was labelled with this id
 *
 * A tree is labelled from its top down: new entries of a labelled directory inherit the id, and the walk finds
 * the older ones. */
#include "storage/project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <pthread.h>
#include <string.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/project-id.h"
#include "storage/weigh.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif
#define MARK "trusted.paddle.project"

enum { BASIC_BLOCK = 512, ID_TEXT = 16, TABLE_MAX = 64 << 20, MOUNTS_MAX = 16 << 20 };

struct Projects {
        ProjectConfig config;
        char *file, *device;
        int fd; /* the state directory */
        pthread_mutex_t mutex;
        ProjectTable *table; /* protected by the mutex */
        GHashTable *set;     /* id -> DiskAmount: limits that we gave to the kernel; protected by the mutex */
        _Atomic bool live;
        bool told; /* missing ids were reported; protected by the mutex */
};

/* ---- the kernel ---- */

/* Addresses the file system by the open directory; kernels before 5.14 need the device. */
static int quota_call(const Projects *projects, int command, guint32 id, void *data)
{
        int call = QCMD(command, PRJQUOTA);
        int result = (int)syscall(SYS_quotactl_fd, (unsigned)projects->fd, call, id, data);

        if (result < 0 && errno == ENOSYS && projects->device)
                result = (int)syscall(SYS_quotactl, call, projects->device, id, data);
        return result;
}

static bool read_count(const Projects *projects, guint32 id, struct fs_disk_quota *ret)
{
        *ret = (struct fs_disk_quota){ 0 };
        if (quota_call(projects, Q_XGETQUOTA, id, ret) == 0)
                return true;
        return errno == ENOENT; /* no such id yet: all is 0 */
}

/* ProjectIdLook */
static bool look_at_id(guint32 id, bool *ret_used, void *arg, GError **error)
{
        struct fs_disk_quota about;

        if (!read_count(arg, id, &about))
                return err_set_errno(error, errno, "the kernel does not say whether project id %u is used",
                                     id);
        *ret_used = about.d_bcount || about.d_icount || about.d_blk_hardlimit || about.d_blk_softlimit ||
                    about.d_ino_hardlimit || about.d_ino_softlimit;
        return true;
}

static bool write_limit(const Projects *projects, guint32 id, const DiskAmount *limit)
{
        struct fs_disk_quota about = {
                .d_version = FS_DQUOT_VERSION,
                .d_flags = FS_PROJ_QUOTA,
                .d_fieldmask = FS_DQ_BSOFT | FS_DQ_BHARD | FS_DQ_ISOFT | FS_DQ_IHARD,
                .d_id = id,
                .d_blk_hardlimit = (guint64)limit->bytes / BASIC_BLOCK,
                .d_ino_hardlimit = (guint64)limit->files,
        };

        return quota_call(projects, Q_XSETQLIM, id, &about) == 0;
}

static char *find_lack(Projects *projects)
{
        g_auto(MountEntry) mount = { 0 };
        g_autofree char *mounts = NULL;
        struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
        ProjectFacts facts = { .users = projects->config.users };
        struct stat st;

        if (fstat(projects->fd, &st) == 0 &&
            file_read("/proc/self/mountinfo", MOUNTS_MAX, &mounts, NULL, NULL) &&
            mount_find(mounts, major(st.st_dev), minor(st.st_dev), &mount))
                projects->device = g_strdup(mount.source);
        facts.type = mount.type;
        if (quota_call(projects, Q_XGETQSTATV, 0, &state) < 0)
                facts.failure = errno;
        facts.enforced = state.qs_flags & FS_QUOTA_PDQ_ENFD;
        return project_quota_lacks(&facts);
}

/* ---- ids ---- */

static bool load(Projects *projects, GError **error)
{
        g_autofree char *text = NULL;

        if (access(projects->file, F_OK) < 0)
                return true;
        return file_read(projects->file, TABLE_MAX, &text, NULL, error) &&
               (project_table_parse(projects->table, text, error) ||
                err_prefix(error, "'%s': ", projects->file));
}

/* Call it with the mutex. The id is durable before a tree gets it. */
static bool add(Projects *projects, const char *user, guint32 *ret, GError **error)
{
        g_autofree char *text = NULL;

        if (!project_table_add(projects->table, &projects->config.range, user, look_at_id, projects, ret,
                               error))
                return false;
        text = project_table_format(projects->table);
        if (file_replace(projects->file, text, strlen(text), 0600, true, error))
                return true;
        project_table_remove(projects->table, user);
        return false;
}

/* Call it with the mutex. 0: no id is available, which is reported once. */
static guint32 id_new_of(Projects *projects, const char *user)
{
        g_autoptr(GError) failure = NULL;
        guint32 id = project_table_id(projects->table, user);

        if (id || add(projects, user, &id, &failure))
                return id;
        if (!projects->told)
                log_warning("a user has no project id, so the disk limit is enforced by counting alone",
                            "user", user, "error", failure->message, NULL);
        projects->told = true;
        return 0;
}

/* 0: the user has none. */
static guint32 id_of(Projects *projects, const char *user)
{
        guint32 id;

        pthread_mutex_lock(&projects->mutex);
        id = project_table_id(projects->table, user);
        pthread_mutex_unlock(&projects->mutex);
        if (id || !projects->config.is_bound(user, projects->config.arg))
                return id;
        pthread_mutex_lock(&projects->mutex);
        id = id_new_of(projects, user);
        pthread_mutex_unlock(&projects->mutex);
        return id;
}

/* ---- labels ---- */

typedef struct {
        guint32 id;
        uid_t owner; /* of the top directory */
        int err;     /* of the first failure */
} Labels;

/* A file with other names may belong to another user, since those names may be anywhere. Links, sockets and
 * pipes can only inherit an id. */
static void label_one(int dir, const char *name, const struct stat *seen, void *arg)
{
        Labels *labels = arg;
        fd_auto int fd = -1;
        struct stat st;

        if (!S_ISREG(seen->st_mode) && !S_ISDIR(seen->st_mode))
                return;
        fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != seen->st_ino || st.st_dev != seen->st_dev)
                return; /* it was exchanged meanwhile: new entries inherit */
        if (!S_ISDIR(st.st_mode) && st.st_nlink > 1 && st.st_uid != labels->owner)
                return;
        if (!project_id_set(fd, labels->id, S_ISDIR(st.st_mode)) && !labels->err)
                labels->err = errno;
}

static bool is_labelled(int top, const char *mark)
{
        char found[ID_TEXT];
        ssize_t len = fgetxattr(top, MARK, found, sizeof found);
        guint32 id;
        bool inherit;
        gint64 marked;
        g_autofree char *text = len > 0 ? g_strndup(found, (gsize)len) : NULL;

        return text && strcmp(text, mark) == 0 && number_parse("", text, 1, G_MAXUINT32, &marked, NULL) &&
               project_id_get(top, &id, &inherit) && inherit && id == (guint32)marked;
}

bool projects_label(Projects *projects, const char *user, const char *path, bool (*stopped)(void *arg),
                    void *arg)
{
        Labels labels = { 0 };
        const WeighHow how = {
                .visit = label_one, .visit_arg = &labels, .stopped = stopped, .stopped_arg = arg
        };
        fd_auto int top = -1;
        g_autofree char *mark = NULL;
        Weight unused = { 0 };
        struct stat st;

        if (!projects || !user || !(labels.id = id_of(projects, user)))
                return true;
        mark = g_strdup_printf("%u", labels.id);
        top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (top < 0 || fstat(top, &st) < 0 || is_labelled(top, mark))
                return true;
        labels.owner = st.st_uid;
        if (!tree_weigh(AT_FDCWD, path, &how, &unused))
                return false;
        if (!labels.err && fsetxattr(top, MARK, mark, strlen(mark), 0) < 0)
                labels.err = errno;
        if (labels.err)
                log_warning(
                        "some files of a tree lack their user's project id; they are counted, and the next survey retries",
                        "tree", path, "user", user, "error", g_strerror(labels.err), NULL);
        projects_refresh(projects, user);
        return true;
}

/* ---- limits and numbers ---- */

/* Call it with the mutex. */
static void set_limit(Projects *projects, guint32 id, const DiskAmount *limit)
{
        const DiskAmount *was = g_hash_table_lookup(projects->set, GUINT_TO_POINTER(id));

        if (was && was->bytes == limit->bytes && was->files == limit->files)
                return;
        if (write_limit(projects, id, limit))
                g_hash_table_insert(projects->set, GUINT_TO_POINTER(id), g_memdup2(limit, sizeof *limit));
        else if (!was || was->bytes >= 0) {
                const DiskAmount failed = { -1, -1 };

                log_warning("a user's disk limit could not be set in the kernel; retrying", "user",
                            project_table_user(projects->table, id), "error", g_strerror(errno), NULL);
                g_hash_table_insert(projects->set, GUINT_TO_POINTER(id), g_memdup2(&failed, sizeof failed));
        }
}

static void refresh(Projects *projects, const char *user, guint32 id)
{
        struct fs_disk_quota about;
        DiskAmount limit, held;

        if (!read_count(projects, id, &about))
                return;
        held = (DiskAmount){ (gint64)about.d_bcount * BASIC_BLOCK, (gint64)about.d_icount };
        ledger_set_kernel(projects->config.ledger, user, &held);
        ledger_kernel_limit(projects->config.ledger, user, &limit);
        pthread_mutex_lock(&projects->mutex);
        set_limit(projects, id, &limit);
        pthread_mutex_unlock(&projects->mutex);
}

void projects_set_live(Projects *projects, bool live)
{
        if (projects)
                projects->live = live;
}

static guint32 known_id(Projects *projects, const char *user)
{
        guint32 id;

        pthread_mutex_lock(&projects->mutex);
        id = project_table_id(projects->table, user);
        pthread_mutex_unlock(&projects->mutex);
        return id;
}

bool projects_have(Projects *projects, const char *user)
{
        return projects && known_id(projects, user);
}

void projects_refresh(Projects *projects, const char *user)
{
        guint32 id = projects && projects->live && user ? known_id(projects, user) : 0;

        if (id)
                refresh(projects, user, id);
}

void projects_refresh_all(Projects *projects)
{
        g_autoptr(GPtrArray) users = NULL;

        if (!projects)
                return;
        pthread_mutex_lock(&projects->mutex);
        users = project_table_users(projects->table);
        pthread_mutex_unlock(&projects->mutex);
        for (guint i = 0; i < users->len; i++)
                projects_refresh(projects, users->pdata[i]);
}

char *projects_say_full(Projects *projects, const char *dir)
{
        fd_auto int fd = projects ? open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        g_autofree char *user = NULL;
        guint32 id;
        bool inherit;

        if (fd < 0 || !project_id_get(fd, &id, &inherit))
                return NULL;
        pthread_mutex_lock(&projects->mutex);
        user = g_strdup(project_table_user(projects->table, id));
        pthread_mutex_unlock(&projects->mutex);
        projects_refresh(projects, user);
        return ledger_say_full(projects->config.ledger, user);
}

/* Otherwise the kernel would keep the limits of an earlier start. */

/* The kernel would go on to hold limits of an earlier start. */
static void lift_limits(Projects *projects)
{
        g_autoptr(GPtrArray) users = project_table_users(projects->table);
        const DiskAmount none = { 0 };

        for (guint i = 0; i < users->len; i++)
                (void)write_limit(projects, project_table_id(projects->table, users->pdata[i]),
                                  &none); /* without quotas there are no limits either */
}

bool projects_open(const ProjectConfig *config, Projects **ret, GError **error)
{
        Projects *projects = g_new0(Projects, 1);
        g_autofree char *lacks = NULL;

        *ret = NULL;
        projects->config = *config;
        projects->file = g_build_filename(config->state_dir, "disk-projects", NULL);
        projects->table = project_table_new();
        projects->set = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        pthread_mutex_init(&projects->mutex, NULL);
        projects->fd = open(config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (projects->fd < 0 || !load(projects, error)) {
                if (projects->fd < 0)
                        err_set_errno(error, errno, "cannot open '%s'", config->state_dir);
                projects_free(projects);
                return false;
        }
        lacks = find_lack(projects);
        if (!lacks && config->policy != PROJECT_QUOTA_OFF) {
                log_info("the file system enforces the disk limits of users", "by", "project quota", NULL);
                *ret = projects;
                return true;
        }
        lift_limits(projects);
        projects_free(projects);
        if (config->policy == PROJECT_QUOTA_ON)
                return err_set(error, ERR_USAGE, "--project-quota on: %s", lacks);
        log_info("the disk limits of users are enforced by counting", "why",
                 lacks ? lacks : "--project-quota off", NULL);
        return true;
}

void projects_free(Projects *projects)
{
        if (!projects)
                return;
        fd_close_p(&projects->fd);
        pthread_mutex_destroy(&projects->mutex);
        project_table_free(projects->table);
        g_hash_table_unref(projects->set);
        g_free(projects->device);
        g_free(projects->file);
        g_free(projects);
}
