/* The storage over HTTP: /v1/files/pfs/<dc>/home/<user>/... */
#include "api/v1/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum { LIST_MAX = 100000, FINISH_MAX = 64 * 1024 * 1024, NOTED_MAX = 1000 /* bytes of a path */ };

typedef struct {
        char *path;
        StorageAccess access;
} Target;

/* "pfs/<dc>/home/<user>/...": whose files they are. */
static void note_owner(HttpRequest *request)
{
        g_auto(GStrv) parts = g_strsplit(http_request_param(request, "path"), "/", 5);

        if (g_strv_length(parts) >= 4 && strcmp(parts[2], "home") == 0)
                http_request_set_owner(request, parts[3]);
}

static Target target_of(HttpRequest *request, bool write)
{
        const HttpCaller *caller = http_request_caller(request);

        note_owner(request);
        return (Target){ g_strconcat("/", http_request_param(request, "path"), NULL),
                         { caller->user, caller->admin, write } };
}

static bool query_flag(HttpRequest *request, const char *name, bool *ret, GError **error)
{
        const char *text = http_request_query(request, name);

        *ret = false;
        return !text || boolean_parse(name, text, ret, error);
}

/* Answers with `reply` or, when it is NULL, with `error`. */
static void reply_or_fail(HttpRequest *request, json_t *reply, const GError *error)
{
        if (reply)
                http_reply_json(request, 200, reply);
        else
                http_fail(request, error);
}

static const char *type_of(mode_t mode)
{
        switch (mode & S_IFMT) {
        case S_IFREG: return "file";
        case S_IFDIR: return "directory";
        case S_IFLNK: return "link";
        case S_IFIFO: return "pipe";
        case S_IFSOCK: return "socket";
        default: return "device";
        }
}

static json_t *format_entry(const StorageEntry *entry)
{
        g_autofree char *time = clock_format(entry->mtime);
        g_autofree char *mode = g_strdup_printf("%04o", (guint)(entry->mode & 07777));

        return json_pack("{s:s, s:b, s:s, s:s, s:I, s:s}", "path", entry->path, "dir", entry->is_dir, "type",
                         type_of(entry->mode), "mode", mode, "size", (json_int_t)entry->size, "mtime", time);
}

static json_t *list_directory(Api *api, const Target *target, guint flags, GError **error)
{
        g_autoptr(GPtrArray) entries =
                storage_list(api->storage, target->path, &target->access, flags, LIST_MAX + 1, error);
        json_t *items;

        if (!entries)
                return NULL;
        items = json_array();
        for (guint i = 0; i < MIN(entries->len, LIST_MAX); i++)
                json_array_append_new(items, format_entry(entries->pdata[i]));
        return json_pack("{s:o, s:b}", "items", items, "more", entries->len > LIST_MAX);
}

static json_t *format_count(const StorageCount *count)
{
        return json_pack("{s:s, s:b, s:I, s:I, s:I, s:I}", "path", count->path, "dir", count->is_dir, "bytes",
                         (json_int_t)count->bytes, "size", (json_int_t)count->size, "files",
                         (json_int_t)count->files, "dirs", (json_int_t)count->dirs);
}

static json_t *count_tree(Api *api, const Target *target, bool each, GError **error)
{
        g_autoptr(GPtrArray) parts =
                each ? g_ptr_array_new_with_free_func((GDestroyNotify)storage_count_free) : NULL;
        bool more = false;
        StorageCount *count =
                storage_count_of(api->storage, target->path, &target->access, parts, LIST_MAX, &more, error);
        json_t *items = count ? json_array() : NULL;

        if (!count)
                return NULL;
        for (guint i = 0; parts && i < parts->len; i++)
                json_array_append_new(items, format_count(parts->pdata[i]));
        json_array_append_new(items, format_count(count));
        storage_count_free(count);
        return json_pack("{s:o, s:b}", "items", items, "more", more);
}

static void send_file(Api *api, HttpRequest *request, const Target *target)
{
        g_autoptr(GError) error = NULL;
        fd_auto int fd = storage_open_file(api->storage, target->path, &target->access, &error);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) < 0)
                err_set_errno(&error, errno, "cannot read '%s'", target->path);
        if (error) {
                http_fail(request, error);
        } else if (S_ISDIR(st.st_mode)) {
                g_autoptr(json_t) reply = list_directory(api, target, 0, &error);

                reply_or_fail(request, reply, error);
        } else {
                http_reply_file(request, target->path, fd_steal(&fd), 0, (guint64)st.st_size,
                                "application/octet-stream");
        }
}

/* The form of the answer about a path; if all are false: the file's bytes. */
typedef struct {
        bool list, recursive, all, stat, count, each, chunks, upload;
} Asked;

static bool parse_asked(HttpRequest *request, Asked *ret, GError **error)
{
        return query_flag(request, "list", &ret->list, error) &&
               query_flag(request, "recursive", &ret->recursive, error) &&
               query_flag(request, "all", &ret->all, error) &&
               query_flag(request, "stat", &ret->stat, error) &&
               query_flag(request, "count", &ret->count, error) &&
               query_flag(request, "each", &ret->each, error) &&
               query_flag(request, "chunks", &ret->chunks, error) &&
               query_flag(request, "upload", &ret->upload, error);
}

static void get_file(HttpRequest *request, void *arg)
{
        Api *api = arg;
        Target target = target_of(request, false);
        g_autofree char *path = target.path;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;
        Asked asked;

        if (!parse_asked(request, &asked, &error)) {
                http_fail(request, error);
        } else if (asked.count) {
                reply = count_tree(api, &target, asked.each, &error);
                reply_or_fail(request, reply, error);
        } else if (asked.list || asked.recursive || asked.stat) {
                guint flags = (asked.recursive ? STORAGE_LIST_RECURSIVE : 0) |
                              (asked.all ? STORAGE_LIST_ALL : 0) | (asked.stat ? STORAGE_LIST_SELF : 0);

                reply = list_directory(api, &target, flags, &error);
                reply_or_fail(request, reply, error);
        } else if (asked.chunks || asked.upload) {
                target.access.write = asked.upload;
                reply = storage_chunks(api->storage, path, &target.access, asked.upload, &error);
                reply_or_fail(request, reply, error);
        } else {
                send_file(api, request, &target);
        }
}

static void put_chunk(HttpRequest *request, void *arg)
{
        Api *api = arg;
        Target target = target_of(request, true);
        g_autofree char *path = target.path;
        const char *hash = http_request_query(request, "hash");
        g_autoptr(GError) error = NULL;
        gint64 index;

        if (!http_request_query_int(request, "chunk", 0, G_MAXINT32, 0, &index))
                return;
        if (!hash)
                err_set(&error, ERR_INVALID, "hash: the chunk's BLAKE2b-256 in hexadecimal is needed");
        if (hash && storage_put_chunk(api->storage, path, &target.access, (guint64)index, hash,
                                      http_request_body_file(request), &error))
                http_reply(request, 204, NULL, NULL, 0);
        else
                http_fail(request, error);
}

static bool do_finish(Api *api, const Target *target, const json_t *body, GError **error)
{
        static const char *const known[] = { "op", "size", "chunks", NULL };
        json_t *chunks = NULL;
        gint64 size = -1;

        if (!json_only(body, "", known, error) ||
            !json_get_int(body, "", "size", 0, G_MAXINT64, &size, error) ||
            !json_get_array(body, "", "chunks", G_MAXINT32, &chunks, error))
                return false;
        if (size < 0 || !chunks)
                return err_set(error, ERR_INVALID, "finish needs 'size' and 'chunks'");
        return storage_finish(api->storage, target->path, &target->access, (guint64)size, chunks, error);
}

static bool do_mkdir(Api *api, const Target *target, const json_t *body, GError **error)
{
        static const char *const known[] = { "op", "parents", NULL };
        bool parents = true;

        return json_only(body, "", known, error) && json_get_bool(body, "", "parents", &parents, error) &&
               storage_make_dir(api->storage, target->path, &target->access, parents, error);
}

static bool do_move(Api *api, const Target *target, const json_t *body, GError **error)
{
        static const char *const known[] = { "op", "to", "replace", NULL };
        const char *to = NULL;
        bool replace = false;

        if (!json_only(body, "", known, error) || !json_get_string(body, "", "to", G_MAXINT32, &to, error) ||
            !json_get_bool(body, "", "replace", &replace, error))
                return false;
        if (!to)
                return err_set(error, ERR_INVALID, "move needs 'to', the new path");
        return storage_move(api->storage, target->path, to, &target->access, replace, error);
}

static const struct {
        const char *op;
        bool (*run)(Api *api, const Target *target, const json_t *body, GError **error);
} file_ops[] = {
        { "finish", do_finish },
        { "mkdir", do_mkdir },
        { "move", do_move },
};

static bool run_op(Api *api, const Target *target, const json_t *body, GError **error)
{
        const char *op = "";

        if (!json_get_string(body, "", "op", 32, &op, error))
                return false;
        for (gsize i = 0; i < G_N_ELEMENTS(file_ops); i++)
                if (strcmp(op, file_ops[i].op) == 0)
                        return file_ops[i].run(api, target, body, error);
        return err_set(error, ERR_INVALID, "op: '%s' is none of 'finish', 'mkdir' and 'move'", op);
}

/* For the audit log: what a move is about has two ends. */
static void note_move(HttpRequest *request, const Target *target, const json_t *body)
{
        const char *op = json_string_value(json_object_get(body, "op")),
                   *to = json_string_value(json_object_get(body, "to"));
        g_autofree char *subject = NULL;

        if (g_strcmp0(op, "move") != 0 || !to)
                return;
        subject = g_strdup_printf("%.*s -> %.*s", NOTED_MAX, target->path + 1, NOTED_MAX, to);
        http_request_set_subject(request, subject);
}

static void post_file(HttpRequest *request, void *arg)
{
        Target target = target_of(request, true);
        g_autofree char *path = target.path;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        g_autoptr(json_t) reply = NULL;

        if (body)
                note_move(request, &target, body);
        if (body && run_op(arg, &target, body, &error))
                reply = json_pack("{s:s}", "path", path);
        reply_or_fail(request, reply, error);
}

static void delete_file(HttpRequest *request, void *arg)
{
        Api *api = arg;
        Target target = target_of(request, true);
        g_autofree char *path = target.path;
        g_autoptr(GError) error = NULL;
        bool recursive;

        if (query_flag(request, "recursive", &recursive, &error) &&
            storage_remove(api->storage, path, &target.access, recursive, &error))
                http_reply(request, 204, NULL, NULL, 0);
        else
                http_fail(request, error);
}

static const HttpParameter get_file_query[] = {
        { "list", HTTP_BOOLEAN, "List instead of sending bytes." },
        { "recursive", HTTP_BOOLEAN, "List all that is below." },
        { "all", HTTP_BOOLEAN, "With links that lead nowhere, pipes and sockets." },
        { "stat", HTTP_BOOLEAN, "The entry itself instead of what is in it." },
        { "count", HTTP_BOOLEAN, "How much of the disk it holds with all that is below." },
        { "each", HTTP_BOOLEAN, "With count: each directory right below, too." },
        { "chunks", HTTP_BOOLEAN, "The hashes of its chunks." },
        { "upload", HTTP_BOOLEAN, "The hashes of what an unfinished upload has sent." },
        { 0 },
};

static const HttpParameter put_chunk_query[] = {
        { "chunk", HTTP_INTEGER, "Its number, from 0." },
        { "hash", HTTP_STRING, "Its BLAKE2b-256 in hexadecimal." },
        { 0 },
};

static const HttpParameter delete_file_query[] = {
        { "recursive", HTTP_BOOLEAN, "With all that is below." },
        { 0 },
};

const HttpRoute file_routes[] = {
        { "GET", "/v1/files/{path...}", ACCESS_FILE, VERB_SHOW, get_file,
          "A file's bytes (takes Range), a directory's entries, how much it holds, or a file's chunks.",
          .query = get_file_query, .reply = "FileInfo", .reply_type = "application/octet-stream",
          .on_pool = true },
        { "PUT", "/v1/files/{path...}", ACCESS_FILE, VERB_CREATE, put_chunk, "Send one chunk of an upload.",
          .query = put_chunk_query, .body = HTTP_BODY_FILE, .body_max = STORAGE_CHUNK, .request = "Bytes",
          .reply_status = 204, .on_pool = true },
        { "POST", "/v1/files/{path...}", ACCESS_FILE, VERB_CREATE, post_file,
          "Finish an upload, make a directory, or move a file or directory to another path.",
          .body_max = FINISH_MAX, .request = "FileOp", .reply = "FilePath", .on_pool = true },
        { "DELETE", "/v1/files/{path...}", ACCESS_FILE, VERB_DELETE, delete_file,
          "Remove a file or directory.", .query = delete_file_query, .reply_status = 204, .on_pool = true },
        { 0 },
};
