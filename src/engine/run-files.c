/* The file workers of runs (see run-files.h).
 *
 * All queues and counts belong to the engine's thread. A worker thread knows only its request and the post, by which
 * answers reach the engine. The engine closes the post when it ends, and does not wait for a thread that hangs in a call. */
#include "engine/run-files.h"

#include <pthread.h>
#include <string.h>

#include "base/background.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/keyed-hash.h"
#include "engine/runs.h"
#include "fs/tree-sum.h"

enum { CHECK_MS = 1000 };

/* The way back of answers, and what a thread needs of the engine's configuration. */
typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t resolved;
        Engine *engine; /* NULL: the engine ends */
        FileRights rights;
        void *rights_arg;
        int resolving; /* threads that look up rights now */
        int closed;    /* atomic: the same as `engine` NULL */
} Post;

/* Requests that may take long have threads of their own, so that short ones need not wait for them. */
typedef enum { LANE_SHORT, LANE_TIMES, LANE_DIGESTS, LANES } LaneKind;

/* What the requests of a lane share. */
typedef struct {
        guint of_place; /* threads for one file system */
        int of_user;    /* ... for those of one user */
        int all;
} LaneLimits;

typedef struct {
        const LaneLimits *limits;
        GHashTable *places; /* key -> Place, those with requests */
        GHashTable *users;  /* name -> Owner, those with places */
        int threads;        /* of all, without those that were given up */
        gint64 progress;    /* ms: of the last answer, or part of one */
} Lane;

/* The user of places. */
typedef struct {
        Lane *lane;
        char *name;
        int places, threads;
        gint64 progress;
} Owner;

/* The requests of one file system. */
typedef struct {
        char *key;
        Owner *owner;
        GPtrArray *running; /* FileWork: a thread has it, or the pool */
        GQueue waiting;     /* FileWork */
        gint64 progress;
} Place;

struct FilesGroup {
        TreeBudget budget; /* the thread of the request that runs */
        int cancelled;     /* atomic */
        int references;    /* atomic: the thread sanitizer does not see those of GLib */
};

typedef struct {
        Command command;
        FilesTicket ticket;
        FilesKind kind;
        FilesystemPlace at;
        gint64 user_seq;
        json_t *paths;
        gsize max;
        bool unnamed;
        FilesGroup *group; /* or NULL */
        Post *post;
        gint64 asked, begun_at; /* ms; begun_at 0: not seen to have begun */
        Place *place;           /* the engine's thread: NULL once it is counted as answered */
        bool counted;           /* the engine's thread: in Lane.threads */
        int begun;              /* atomic: a thread has it */
        int handed; /* atomic: set before a thread gets it: the thread sanitizer does not see GLib's hand-over */
        int parts; /* atomic: grows while it goes on */
        int seen;  /* the engine's thread: `parts` as it was looked at last */
        int late;  /* atomic: it was answered with an error, nothing more is to be done */
        json_t *values;
        GError *failure;
} FileWork;

struct RunFiles {
        Engine *engine;
        Post *post;
        GThreadPool *pool;
        Lane lanes[LANES];
        gint64 check_at;
};

static const LaneLimits limits_of[LANES] = {
        [LANE_SHORT] = { RUN_FILES_OF_PLACE, RUN_FILES_OF_USER, RUN_FILES_THREADS },
        [LANE_TIMES] = { RUN_TIMES_OF_PLACE, RUN_TIMES_OF_USER, RUN_TIMES_THREADS },
        [LANE_DIGESTS] = { RUN_DIGESTS_OF_USER, RUN_DIGESTS_OF_USER, RUN_DIGESTS_THREADS },
};

static Lane *lane_of(RunFiles *files, FilesKind kind)
{
        LaneKind lane = kind == FILES_TIMES ? LANE_TIMES : kind == FILES_DIGESTS ? LANE_DIGESTS : LANE_SHORT;

        return &files->lanes[lane];
}

static bool has_places(const RunFiles *files)
{
        for (int i = 0; i < LANES; i++)
                if (g_hash_table_size(files->lanes[i].places) > 0)
                        return true;
        return false;
}

/* ---- groups ---- */

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

/* ---- on a worker's thread ---- */

static void clear_post(gpointer post)
{
        pthread_mutex_destroy(&((Post *)post)->lock);
        pthread_cond_destroy(&((Post *)post)->resolved);
}

static void post_unref(Post *post)
{
        g_atomic_rc_box_release_full(post, clear_post);
}

static void post_answer(FileWork *work)
{
        Post *post = work->post;

        pthread_mutex_lock(&post->lock);
        if (post->engine)
                inbox_put(&post->engine->inbox, &work->command);
        else
                command_free(&work->command);
        pthread_mutex_unlock(&post->lock);
}

/* The rights with which the files are read. Runs on a worker; the server waits for its workers before it frees what is read
 * here. *ret NULL: the server's own rights. */
static bool find_rights(const FileWork *work, UnixRights **ret, GError **error)
{
        Post *post = work->post;
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

static void run_work_of(gpointer data, gpointer arg)
{
        FileWork *work = data;
        Post *post;
        Vfs *vfs;

        (void)g_atomic_int_get(&work->handed);
        post = g_atomic_rc_box_acquire(work->post); /* the work may be freed once it is posted */
        g_atomic_int_set(&work->begun, 1);
        vfs = is_unwanted(work) ? explain_unwanted(&work->failure) : open_place(work, &work->failure);
        if (vfs)
                do_all(work, vfs);
        vfs_close(vfs);
        post_answer(work);
        post_unref(post);
}

static gpointer run_digest(gpointer work)
{
        background_begin();
        run_work_of(work, NULL);
        return NULL;
}

/* ---- answers ---- */

/* An answer for a run may be given again: the run looks whether it still waits. */
static void answer(Engine *engine, FilesTicket *ticket, const json_t *values, const GError *error)
{
        const FilesTicket asked = *ticket;

        if (!asked.answered) {
                runs_answered(engine, ticket, values, error);
                return;
        }
        *ticket = (FilesTicket){ 0 }; /* no run has the number 0 */
        asked.answered(engine, &asked, values, error);
}

static void answer_end(FilesTicket *ticket)
{
        g_autoptr(GError) error = NULL;

        if (!ticket->answered)
                return;
        err_set(&error, ERR_UNAVAILABLE, "the server ends");
        answer(NULL, ticket, NULL, error);
}

static void free_work(Command *command)
{
        FileWork *work = (FileWork *)command;

        if (!g_atomic_int_get(&work->late))
                answer_end(&work->ticket);
        filesystem_place_clear(&work->at);
        json_decref(work->paths);
        json_decref(work->values);
        g_clear_error(&work->failure);
        files_group_unref(work->group);
        post_unref(work->post);
}

/* ---- whose turn it is ---- */

static bool has_thread_for(const Place *place)
{
        const Owner *owner = place->owner;
        const Lane *lane = owner->lane;

        return place->running->len < lane->limits->of_place && owner->threads < lane->limits->of_user &&
               lane->threads < lane->limits->all;
}

/* A digest has a thread of its own, since a background thread stays one. If no thread starts, it waits in the pool. */
static void begin(RunFiles *files, FileWork *work)
{
        GThread *thread = NULL;

        g_atomic_int_set(&work->handed, 1);
        if (work->kind == FILES_DIGESTS)
                thread = g_thread_try_new("digests", run_digest, work, NULL);
        if (thread)
                g_thread_unref(thread);
        else
                g_thread_pool_push(files->pool, work, NULL);
}

static void begin_next(RunFiles *files, Place *place)
{
        FileWork *work = g_queue_pop_head(&place->waiting);

        g_ptr_array_add(place->running, work);
        place->owner->threads++;
        place->owner->lane->threads++;
        work->counted = true;
        begin(files, work);
}

/* The place whose first request waits longest, of those that a thread may serve; or NULL. */
static Place *find_next(Lane *lane)
{
        GHashTableIter iter;
        gpointer value;
        Place *found = NULL;
        gint64 since = G_MAXINT64;

        g_hash_table_iter_init(&iter, lane->places);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Place *place = value;
                const FileWork *work = g_queue_peek_head(&place->waiting);

                if (work && work->asked < since && has_thread_for(place)) {
                        since = work->asked;
                        found = place;
                }
        }
        return found;
}

static void serve(RunFiles *files, Lane *lane)
{
        for (Place *place; (place = find_next(lane));)
                begin_next(files, place);
}

static void note_progress(Place *place, gint64 now)
{
        place->progress = place->owner->progress = place->owner->lane->progress = now;
}

/* A thread that hangs counts for its user, and not against others. */
static void uncount(FileWork *work)
{
        if (work->counted)
                work->place->owner->lane->threads--;
        work->counted = false;
}

/* The thread is free. */
static void leave(RunFiles *files, FileWork *work, gint64 now)
{
        Place *place = work->place;
        Lane *lane;

        if (!place)
                return;
        lane = place->owner->lane;
        uncount(work);
        work->place = NULL;
        g_ptr_array_remove_fast(place->running, work);
        place->owner->threads--;
        note_progress(place, now);
        if (place->running->len == 0 && place->waiting.length == 0)
                g_hash_table_remove(lane->places, place->key);
        serve(files, lane);
        if (!has_places(files))
                files->check_at = 0;
}

static bool apply_work(Engine *engine, Command *command)
{
        FileWork *work = (FileWork *)command;

        if (!work->ticket.answered && !runs_take_answer(engine))
                return false;
        leave(engine->files, work, engine->batch.now);
        if (!g_atomic_int_get(&work->late))
                answer(engine, &work->ticket, work->values, work->failure);
        return true;
}

static const CommandOps work_ops = { .name = "file of a run",
                                     .size = sizeof(FileWork),
                                     .is_observation = true,
                                     .apply = apply_work,
                                     .free = free_work };

/* ---- deadlines ---- */

/* A request that is given up. The thread that has it keeps it. */
typedef struct {
        Command command;
        FilesTicket ticket;
        GError *failure;
} LateWork;

static bool apply_late(Engine *engine, Command *command)
{
        LateWork *late = (LateWork *)command;

        if (!late->ticket.answered && !runs_take_answer(engine))
                return false;
        answer(engine, &late->ticket, NULL, late->failure);
        return true;
}

static void free_late(Command *command)
{
        answer_end(&((LateWork *)command)->ticket);
        g_clear_error(&((LateWork *)command)->failure);
}

static const CommandOps late_ops = { .name = "late file of a run",
                                     .size = sizeof(LateWork),
                                     .is_observation = true,
                                     .apply = apply_late,
                                     .free = free_late };

/* The same for a request that was never made. */
void run_files_refuse(RunFiles *files, const FilesTicket *ticket, const GError *error)
{
        LateWork *late = command_new(&late_ops, NULL, NULL);

        late->ticket = *ticket;
        late->failure = g_error_copy(error);
        inbox_put(&files->engine->inbox, &late->command);
}

static void give_up(RunFiles *files, FileWork *work)
{
        g_autoptr(GError) error = NULL;

        if (g_atomic_int_get(&work->late))
                return;
        g_atomic_int_set(&work->late, 1);
        err_set(&error, ERR_UNAVAILABLE,
                "file system '%s' has not answered for %d s\n"
                "Check the directory '%.300s' on the server's machine, then try again.",
                work->at.name, RUN_FILES_DEADLINE_MS / 1000, work->at.root);
        run_files_refuse(files, &work->ticket, error);
}

/* A work of many files, or long ones, has as long as it goes on. */
static void note_parts(Place *place, FileWork *work, gint64 now)
{
        int parts = g_atomic_int_get(&work->parts);

        if (parts == work->seen)
                return;
        work->seen = parts;
        work->begun_at = now;
        note_progress(place, now);
}

static void expire_running(RunFiles *files, Place *place, gint64 now)
{
        for (guint i = 0; i < place->running->len; i++) {
                FileWork *work = place->running->pdata[i];

                note_parts(place, work, now);
                if (!work->begun_at && g_atomic_int_get(&work->begun))
                        work->begun_at = now;
                if (work->begun_at ? now - work->begun_at >= RUN_FILES_DEADLINE_MS
                                   : now - MAX(work->asked, place->progress) >= RUN_FILES_DEADLINE_MS) {
                        give_up(files, work);
                        uncount(work);
                }
        }
}

/* Of what a waiting request waits for: its file system, others of its user, or those of others. */
static gint64 progress_of(const Place *place)
{
        return place->running->len > 0     ? place->progress
               : place->owner->threads > 0 ? place->owner->progress
                                           : place->owner->lane->progress;
}

/* A request waits as long as others are answered for which it waits. */
static void expire_waiting(RunFiles *files, Place *place, gint64 now)
{
        FileWork *work;

        while ((work = g_queue_peek_head(&place->waiting)) &&
               now - MAX(work->asked, progress_of(place)) >= RUN_FILES_DEADLINE_MS) {
                give_up(files, g_queue_pop_head(&place->waiting));
                command_free(&work->command);
        }
}

static void expire_lane(RunFiles *files, Lane *lane, gint64 now)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, lane->places);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                expire_running(files, value, now);
        g_hash_table_iter_init(&iter, lane->places);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                expire_waiting(files, value, now);
                if (((Place *)value)->running->len == 0 && ((Place *)value)->waiting.length == 0)
                        g_hash_table_iter_remove(&iter);
        }
        serve(files, lane);
}

void run_files_expire(RunFiles *files, gint64 now)
{
        if (!files->check_at || files->check_at > now)
                return;
        for (int i = 0; i < LANES; i++)
                expire_lane(files, &files->lanes[i], now);
        files->check_at = has_places(files) ? now + CHECK_MS : 0;
}

gint64 run_files_due(const RunFiles *files)
{
        return files->check_at;
}

/* ---- requests ---- */

static Owner *owner_of(Lane *lane, const char *name)
{
        Owner *owner = g_hash_table_lookup(lane->users, name);

        if (owner)
                return owner;
        owner = g_new0(Owner, 1);
        owner->lane = lane;
        owner->name = g_strdup(name);
        g_hash_table_insert(lane->users, owner->name, owner);
        return owner;
}

static void free_owner(gpointer data)
{
        Owner *owner = data;

        g_free(owner->name);
        g_free(owner);
}

static Place *place_of(Lane *lane, const char *user, const char *fs)
{
        g_autofree char *key = filesystem_key(user, fs);
        Place *place = g_hash_table_lookup(lane->places, key);

        if (place)
                return place;
        place = g_new0(Place, 1);
        place->key = g_steal_pointer(&key);
        place->owner = owner_of(lane, user);
        place->owner->places++;
        place->running = g_ptr_array_new();
        g_queue_init(&place->waiting);
        g_hash_table_insert(lane->places, place->key, place);
        return place;
}

/* Not freed: what waits belongs to a queue, what runs to its thread. */
static void free_place(gpointer data)
{
        Place *place = data;
        FileWork *work;

        while ((work = g_queue_pop_head(&place->waiting)))
                command_free(&work->command);
        g_ptr_array_unref(place->running);
        if (--place->owner->places == 0)
                g_hash_table_remove(place->owner->lane->users, place->owner->name);
        g_free(place->key);
        g_free(place);
}

static void init_lane(Lane *lane, const LaneLimits *limits)
{
        lane->limits = limits;
        lane->places = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, free_place);
        lane->users = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, free_owner);
}

static void clear_lane(Lane *lane)
{
        g_hash_table_unref(lane->places);
        g_hash_table_unref(lane->users);
}

static bool find_place(const RunFiles *files, const FilesRequest *request, FilesystemPlace *ret,
                       GError **error)
{
        if (!request->root)
                return catalog_filesystem_place(files->engine->catalog, files->engine->config.homes,
                                                request->user, request->fs, ret, error);
        *ret = (FilesystemPlace){ .type = FILESYSTEM_LOCAL,
                                  .user = g_strdup(request->user),
                                  .name = g_strdup(request->fs),
                                  .root = g_strdup(request->root) };
        return true;
}

void run_files_ask(RunFiles *files, const FilesRequest *request)
{
        FileWork *work = command_new(&work_ops, NULL, NULL);
        const User *user;

        work->ticket = request->ticket;
        work->kind = request->kind;
        work->paths = request->paths;
        work->max = request->max;
        work->unnamed = request->unnamed;
        work->group = request->group;
        work->post = g_atomic_rc_box_acquire(files->post);
        if (!find_place(files, request, &work->at, &work->failure)) {
                inbox_put(&files->engine->inbox, &work->command);
                return;
        }
        user = catalog_user(files->engine->catalog, request->user);
        work->user_seq = user ? user->object.seq : 0;
        work->asked = engine_now(files->engine);
        work->place = place_of(lane_of(files, work->kind), request->user, request->fs);
        g_queue_push_tail(&work->place->waiting, work);
        if (!files->check_at)
                files->check_at = work->asked + CHECK_MS;
        if (has_thread_for(work->place))
                begin_next(files, work->place);
}

typedef struct {
        Command command;
        FilesRequest request; /* `paths` NULL: it was passed on */
        char *user, *fs, *root;
} AskFiles;

static bool apply_ask(Engine *engine, Command *command)
{
        AskFiles *ask = (AskFiles *)command;

        if (ask->request.paths) /* else it is applied again */
                run_files_ask(engine->files, &ask->request);
        ask->request.paths = NULL;
        return true;
}

static void free_ask(Command *command)
{
        AskFiles *ask = (AskFiles *)command;

        if (ask->request.paths) {
                answer_end(&ask->request.ticket);
                files_group_unref(ask->request.group);
        }
        json_decref(ask->request.paths);
        g_free(ask->user);
        g_free(ask->fs);
        g_free(ask->root);
}

static const CommandOps ask_ops = {
        .name = "question to a file system", .size = sizeof(AskFiles), .apply = apply_ask, .free = free_ask
};

void run_files_post(Engine *engine, const FilesRequest *request)
{
        AskFiles *ask = command_new(&ask_ops, NULL, NULL);

        ask->user = g_strdup(request->user);
        ask->fs = g_strdup(request->fs);
        ask->root = g_strdup(request->root);
        ask->request = *request;
        ask->request.user = ask->user;
        ask->request.fs = ask->fs;
        ask->request.root = ask->root;
        inbox_put(&engine->inbox, &ask->command);
}

/* ---- texts ---- */

typedef struct {
        EngineTextDone done;
        void *arg;
} Reader;

static void note_text(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        g_autofree Reader *reader = ticket->arg;

        reader->done(json_string_value(json_object_get(values, "text")), error, reader->arg);
}

void engine_read_file(Engine *engine, const char *user, const char *fs, const char *path, gsize max,
                      EngineTextDone done, void *arg)
{
        Reader *reader = g_new0(Reader, 1);

        *reader = (Reader){ done, arg };
        run_files_post(engine, &(FilesRequest){ .ticket = { .answered = note_text, .arg = reader },
                                                .kind = FILES_READ,
                                                .user = user,
                                                .fs = fs,
                                                .paths = json_pack("{s:s}", "text", path),
                                                .max = max,
                                                .unnamed = true });
}

/* ---- directories ---- */

typedef struct {
        EngineDirectoryDone done;
        void *arg;
} Finder;

static void note_directory(Engine *engine, const FilesTicket *ticket, const json_t *values,
                           const GError *error)
{
        g_autofree Finder *finder = ticket->arg;

        finder->done(error, finder->arg);
}

void engine_find_directory(Engine *engine, const char *user, const char *name, const char *path,
                           EngineDirectoryDone done, void *arg)
{
        Finder *finder = g_new0(Finder, 1);

        *finder = (Finder){ done, arg };
        run_files_post(engine, &(FilesRequest){ .ticket = { .answered = note_directory, .arg = finder },
                                                .kind = FILES_STAT,
                                                .user = user,
                                                .fs = name,
                                                .root = path,
                                                .paths = json_pack("{s:s}", "directory", ""),
                                                .unnamed = true });
}

/* ---- begin and end ---- */

static void drop_work(gpointer data)
{
        command_free(&((FileWork *)data)->command);
}

RunFiles *run_files_new(Engine *engine)
{
        RunFiles *files = g_new0(RunFiles, 1);

        files->engine = engine;
        files->post = g_atomic_rc_box_new0(Post);
        pthread_mutex_init(&files->post->lock, NULL);
        pthread_cond_init(&files->post->resolved, NULL);
        files->post->engine = engine;
        files->post->rights = engine->config.file_rights;
        files->post->rights_arg = engine->config.file_rights_arg;
        files->pool = g_thread_pool_new_full(run_work_of, NULL, drop_work,
                                             RUN_FILES_THREADS + RUN_TIMES_THREADS, FALSE, NULL);
        for (int i = 0; i < LANES; i++)
                init_lane(&files->lanes[i], &limits_of[i]);
        return files;
}

void run_files_stop(RunFiles *files)
{
        pthread_mutex_lock(&files->post->lock);
        files->post->engine = NULL;
        g_atomic_int_set(&files->post->closed, 1);
        while (files->post->resolving > 0)
                pthread_cond_wait(&files->post->resolved, &files->post->lock);
        pthread_mutex_unlock(&files->post->lock);
}

void run_files_free(RunFiles *files)
{
        if (!files)
                return;
        for (int i = 0; i < LANES; i++)
                clear_lane(&files->lanes[i]);
        /* Its threads still take what is left, and free it, since the post is closed. If the pool is freed at once, GLib
         * loses a work that a thread is about to take. */
        g_thread_pool_free(files->pool, FALSE, FALSE);
        post_unref(files->post);
        g_free(files);
}
