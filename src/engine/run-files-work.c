/* The work of a file worker's thread: it answers a request for files with the rights of the run's user (see
 * run-files-internal.h). */
#include <pthread.h>
#include <string.h>

#include "base/background.h"
#include "base/cancel.h"
#include "base/err.h"
#include "engine/run-files-internal.h"
#include "fs/tree-sum.h"

/* ---- groups ---- */

struct FilesGroup {
        TreeBudget budget; /* the thread of the request that runs */
        int cancelled;     /* atomic */
        int references;    /* atomic: the thread sanitizer does not see those of GLib */
};

FilesGroup *files_group_new(void)
{
        FilesGroup *group = g_new0(FilesGroup, 1);

        group->references = 1;
        group->budget = (TreeBudget)TREE_BUDGET;
        return group;
}

FilesGroup *files_group_ref(FilesGroup *group)
{
        g_atomic_int_inc(&group->references);
        return group;
}

void files_group_unref(FilesGroup *group)
{
        if (group && g_atomic_int_dec_and_test(&group->references))
                g_free(group);
}

void files_group_cancel(FilesGroup *group)
{
        if (group)
                g_atomic_int_set(&group->cancelled, 1);
}

/* ---- the post ---- */

FilesPost *files_post_new(Engine *engine)
{
        FilesPost *post = g_new0(FilesPost, 1);

        g_atomic_ref_count_init(&post->refs);
        pthread_mutex_init(&post->lock, NULL);
        pthread_cond_init(&post->resolved, NULL);
        post->engine = engine;
        post->rights = engine->config.file_rights;
        post->rights_arg = engine->config.file_rights_arg;
        return post;
}

FilesPost *files_post_ref(FilesPost *post)
{
        g_atomic_ref_count_inc(&post->refs);
        return post;
}

void files_post_unref(FilesPost *post)
{
        if (!g_atomic_ref_count_dec(&post->refs))
                return;
        pthread_mutex_destroy(&post->lock);
        pthread_cond_destroy(&post->resolved);
        g_free(post);
}

void files_post_close(FilesPost *post)
{
        pthread_mutex_lock(&post->lock);
        post->engine = NULL;
        g_atomic_int_set(&post->closed, 1);
        while (post->resolving > 0)
                pthread_cond_wait(&post->resolved, &post->lock);
        pthread_mutex_unlock(&post->lock);
}

static void post_answer(FileWork *work)
{
        FilesPost *post = work->post;

        pthread_mutex_lock(&post->lock);
        if (post->engine)
                inbox_put(&post->engine->inbox, &work->command);
        else
                command_free(&work->command);
        pthread_mutex_unlock(&post->lock);
}

/* ---- the request ---- */

/* The rights with which the files are read. Runs on a worker; the server waits for its workers before it frees what is read
 * here. *ret NULL: the server's own rights. */
static bool find_rights(const FileWork *work, UnixRights **ret, GError **error)
{
        FilesPost *post = work->post;
        bool home = work->at.type == FILESYSTEM_HOMES &&
                    work->kind != FILES_REMOVE; /* nothing is made for that */
        bool ends, ok = true;

        pthread_mutex_lock(&post->lock);
        ends = !post->engine;
        post->resolving += !ends;
        pthread_mutex_unlock(&post->lock);
        if (ends)
                return err_set(error, ERR_UNAVAILABLE, "the server ends");
        if (post->rights)
                ok = post->rights(work->at.user, work->user_seq, home, ret, post->rights_arg, error);
        pthread_mutex_lock(&post->lock);
        if (--post->resolving == 0)
                pthread_cond_broadcast(&post->resolved);
        pthread_mutex_unlock(&post->lock);
        return ok;
}

static Vfs *open_place(const FileWork *work, GError **error)
{
        g_autofree UnixRights *rights = NULL;
        Vfs *vfs;

        if (!find_rights(work, &rights, error))
                return NULL;
        vfs = vfs_open(&work->at, rights, error);
        if (rights)
                unix_rights_clear(rights);
        return vfs;
}

static json_t *read_text(Vfs *vfs, const FileWork *work, const char *path, GError **error)
{
        gsize len;
        g_autofree char *text = vfs_read(vfs, path, work->max, &len, error);
        json_t *value;

        if (!text)
                return NULL;
        value = memchr(text, '\0', len) ? NULL : json_stringn(text, len);
        if (!value)
                (void)err_set(error, ERR_INVALID, "file system '%s': '%.300s' is not UTF-8 text",
                              work->at.name, path);
        return value;
}

static json_t *look_at(Vfs *vfs, const char *path, GError **error)
{
        VfsStat stat = { 0 };
        GError *why = NULL;
        bool exists = vfs_stat(vfs, path, &stat, &why);

        if (why && !err_is(why, ERR_NOT_FOUND)) {
                g_propagate_error(error, why);
                return NULL;
        }
        g_clear_error(&why);
        return json_pack("{s:b, s:b, s:I}", "exists", exists, "is_dir", stat.is_dir, "mtime",
                         (json_int_t)stat.mtime);
}

/* A CancelFunc: the request that wanted it has gone. */
static bool is_unwanted(void *arg)
{
        FileWork *work = arg;

        g_atomic_int_inc(&work->parts);
        return g_atomic_int_get(&work->late) || g_atomic_int_get(&work->post->closed) ||
               (work->group && g_atomic_int_get(&work->group->cancelled));
}

/* A text, or {"unknown": why}. */
static json_t *sum_up(Vfs *vfs, FileWork *work, const char *paths, GError **error)
{
        TreeBudget budget = TREE_BUDGET;
        const TreeSum sum = { .vfs = vfs,
                              .content = work->kind == FILES_DIGESTS,
                              .budget = work->group ? &work->group->budget : &budget };
        g_autofree char *why = NULL, *text = NULL;

        cancel_begin(is_unwanted, work);
        text = tree_sum(&sum, paths, &why, error);
        cancel_end();
        return text ? json_string(text) : why ? json_pack("{s:s}", "unknown", why) : NULL;
}

/* The value of one path; NULL with an error. */
static json_t *do_one(Vfs *vfs, FileWork *work, const char *path, GError **error)
{
        switch (work->kind) {
        case FILES_TIMES:
        case FILES_DIGESTS: return sum_up(vfs, work, path, error);
        case FILES_READ: return read_text(vfs, work, path, error);
        case FILES_STAT: return look_at(vfs, path, error);
        case FILES_REMOVE: return vfs_remove(vfs, path, error) ? json_null() : NULL;
        default:
                return vfs_remove(vfs, path, error) && vfs_make_parents(vfs, path, error) ? json_null()
                                                                                          : NULL;
        }
}

static void do_all(FileWork *work, Vfs *vfs)
{
        const char *name;
        json_t *path;

        work->values = json_object();
        json_object_foreach(work->paths, name, path) {
                json_t *value;

                if (g_atomic_int_get(&work->late))
                        return;
                value = do_one(vfs, work, json_string_value(path), &work->failure);
                if (!value) {
                        if (!work->unnamed)
                                (void)err_prefix(&work->failure, "artifact '%s': ", name);
                        g_clear_pointer(&work->values, json_decref);
                        return;
                }
                json_object_set_new(work->values, name, value);
                if (json_is_object(value) && work->kind != FILES_STAT)
                        return; /* the others do not count any more */
        }
}

static Vfs *explain_unwanted(GError **error)
{
        err_set(error, ERR_UNAVAILABLE, "the request has been cancelled");
        return NULL;
}

void file_work_run(gpointer data, gpointer arg)
{
        FileWork *work = data;
        FilesPost *post;
        Vfs *vfs;

        (void)g_atomic_int_get(&work->handed);
        post = files_post_ref(work->post); /* the work may be freed once it is posted */
        g_atomic_int_set(&work->begun, 1);
        vfs = is_unwanted(work) ? explain_unwanted(&work->failure) : open_place(work, &work->failure);
        if (vfs)
                do_all(work, vfs);
        vfs_close(vfs);
        post_answer(work);
        files_post_unref(post);
}

gpointer file_work_run_background(gpointer work)
{
        background_begin();
        file_work_run(work, NULL);
        return NULL;
}
