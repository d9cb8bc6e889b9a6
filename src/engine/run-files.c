/* The queues of requests for files: whose turn it is, and what has waited too long (see run-files.h). All of it belongs to the
 * engine's thread. */
#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "engine/run-files-internal.h"
#include "engine/runs.h"

enum { CHECK_MS = 1000 };

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
        GHashTable *places; /* key -> FilesPlace, those with requests */
        GHashTable *users;  /* name -> FilesOwner, those with places */
        int threads;        /* of all, without those that were given up */
        gint64 progress;    /* ms: of the last answer, or part of one */
} Lane;

/* The user of places. */
typedef struct {
        Lane *lane;
        char *name;
        int places, threads;
        gint64 progress;
} FilesOwner;

/* The requests of one file system. */
struct FilesPlace {
        char *key;
        FilesOwner *owner;
        GPtrArray *running; /* FileWork: a thread has it, or the pool */
        GQueue waiting;     /* FileWork */
        gint64 progress;
};

struct RunFiles {
        Engine *engine;
        FilesPost *post;
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

/* ---- a request ends ---- */

static void free_work(Command *command)
{
        FileWork *work = (FileWork *)command;

        if (!g_atomic_int_get(&work->late))
                files_answer_end(&work->ticket);
        filesystem_place_clear(&work->at);
        json_decref(work->paths);
        json_decref(work->values);
        g_clear_error(&work->failure);
        files_group_unref(work->group);
        files_post_unref(work->post);
}

/* ---- whose turn it is ---- */

static bool has_thread_for(const FilesPlace *place)
{
        const FilesOwner *owner = place->owner;
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
                thread = g_thread_try_new("digests", file_work_run_background, work, NULL);
        if (thread)
                g_thread_unref(thread);
        else
                g_thread_pool_push(files->pool, work, NULL);
}

static void begin_next(RunFiles *files, FilesPlace *place)
{
        FileWork *work = g_queue_pop_head(&place->waiting);

        g_ptr_array_add(place->running, work);
        place->owner->threads++;
        place->owner->lane->threads++;
        work->counted = true;
        begin(files, work);
}

/* The place whose first request waits longest, of those that a thread may serve; or NULL. */
static FilesPlace *find_next(Lane *lane)
{
        GHashTableIter iter;
        gpointer value;
        FilesPlace *found = NULL;
        gint64 since = G_MAXINT64;

        g_hash_table_iter_init(&iter, lane->places);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                FilesPlace *place = value;
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
        for (FilesPlace *place; (place = find_next(lane));)
                begin_next(files, place);
}

static void note_progress(FilesPlace *place, gint64 now)
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
        FilesPlace *place = work->place;
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
                files_answer(engine, &work->ticket, work->values, work->failure);
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
        files_answer(engine, &late->ticket, NULL, late->failure);
        return true;
}

static void free_late(Command *command)
{
        files_answer_end(&((LateWork *)command)->ticket);
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
static void note_parts(FilesPlace *place, FileWork *work, gint64 now)
{
        int parts = g_atomic_int_get(&work->parts);

        if (parts == work->seen)
                return;
        work->seen = parts;
        work->begun_at = now;
        note_progress(place, now);
}

static void expire_running(RunFiles *files, FilesPlace *place, gint64 now)
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
static gint64 progress_of(const FilesPlace *place)
{
        return place->running->len > 0     ? place->progress
               : place->owner->threads > 0 ? place->owner->progress
                                           : place->owner->lane->progress;
}

/* A request waits as long as others are answered for which it waits. */
static void expire_waiting(RunFiles *files, FilesPlace *place, gint64 now)
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
                if (((FilesPlace *)value)->running->len == 0 && ((FilesPlace *)value)->waiting.length == 0)
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

static FilesOwner *owner_of(Lane *lane, const char *name)
{
        FilesOwner *owner = g_hash_table_lookup(lane->users, name);

        if (owner)
                return owner;
        owner = g_new0(FilesOwner, 1);
        owner->lane = lane;
        owner->name = g_strdup(name);
        g_hash_table_insert(lane->users, owner->name, owner);
        return owner;
}

static void free_owner(gpointer data)
{
        FilesOwner *owner = data;

        g_free(owner->name);
        g_free(owner);
}

static FilesPlace *place_of(Lane *lane, const char *user, const char *fs)
{
        g_autofree char *key = filesystem_key(user, fs);
        FilesPlace *place = g_hash_table_lookup(lane->places, key);

        if (place)
                return place;
        place = g_new0(FilesPlace, 1);
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
        FilesPlace *place = data;
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
        work->post = files_post_ref(files->post);
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

/* ---- begin and end ---- */

static void drop_work(gpointer data)
{
        command_free(&((FileWork *)data)->command);
}

RunFiles *run_files_new(Engine *engine)
{
        RunFiles *files = g_new0(RunFiles, 1);

        files->engine = engine;
        files->post = files_post_new(engine);
        files->pool = g_thread_pool_new_full(file_work_run, NULL, drop_work,
                                             RUN_FILES_THREADS + RUN_TIMES_THREADS, FALSE, NULL);
        for (int i = 0; i < LANES; i++)
                init_lane(&files->lanes[i], &limits_of[i]);
        return files;
}

void run_files_stop(RunFiles *files)
{
        files_post_close(files->post);
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
        files_post_unref(files->post);
        g_free(files);
}
