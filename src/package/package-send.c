/* Sends a package (see upload.h): offer, send missing contents, commit. Small contents share a request body,
 * because a request costs more than their bytes. Large ones are sent in pieces, from the server's position
 * on. Each content is checked against the manifest before it is sent, so that an error names a file that has
 * changed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "package/package-send.h"
#include "storage/disk.h"
#include "storage/hash.h"

enum { ROUNDS = 3 }; /* of offer and commit: contents may be deleted in between */

typedef struct {
        int root;
        const Manifest *manifest;
        const PackageOps *ops;
        void *arg;
        TransferReport report;
        void *report_arg;
        TransferProgress progress;
        GHashTable *by_hash; /* Entry *, borrowed */
        GString *body;
        guint64 body_bytes; /* of contents in it */
        guint body_files;
} Send;

static void report(Send *send, const char *path, guint64 bytes, guint64 sent, guint files)
{
        send->progress.path = path;
        send->progress.bytes_done += bytes;
        send->progress.bytes_sent += sent;
        send->progress.files_done += files;
        if (send->report)
                send->report(&send->progress, send->report_arg);
}

static bool changed(GError **error, const Entry *entry)
{
        return err_set(error, ERR_CONFLICT,
                       "'%s' has changed since it was packed\nSubmit again when nothing writes to it.",
                       entry->path);
}

static int open_entry(const Send *send, const Entry *entry, GError **error)
{
        fd_auto int fd = openat(send->root, entry->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                err_set_errno(error, errno, "cannot read '%s'", entry->path);
        else if (!S_ISREG(st.st_mode) || (guint64)st.st_size != entry->size)
                changed(error, entry);
        else
                return fd_steal(&fd);
        return -1;
}

/* Small contents */

static bool flush_body(Send *send, GError **error)
{
        if (send->body_files == 0)
                return true;
        if (!send->ops->blobs(send->arg, send->body->str, send->body->len, error))
                return false;
        report(send, NULL, send->body_bytes, send->body_bytes, send->body_files);
        g_string_truncate(send->body, 0);
        send->body_bytes = 0;
        send->body_files = 0;
        return true;
}

static bool send_small(Send *send, const Entry *entry, GError **error)
{
        gsize line = HASH_LEN + 24, start; /* hash, blank, digits of the size, newline */
        fd_auto int fd = open_entry(send, entry, error);
        char found[HASH_LEN + 1];
        gssize got;

        if (fd < 0)
                return false;
        if (send->body->len + line + entry->size > SEND_BODY && !flush_body(send, error))
                return false;
        g_string_append_printf(send->body, "%s %" G_GUINT64_FORMAT "\n", entry->hash, entry->size);
        start = send->body->len;
        g_string_set_size(send->body, start + (gsize)entry->size);
        got = read_at(fd, send->body->str + start, (gsize)entry->size, 0);
        if (got < 0)
                return err_set_errno(error, errno, "cannot read '%s'", entry->path);
        hash_bytes(send->body->str + start, (gsize)got, found);
        if (strcmp(found, entry->hash) != 0)
                return changed(error, entry);
        send->body_bytes += entry->size;
        send->body_files++;
        return true;
}

/* Large contents */

static bool check_large(int fd, const Entry *entry, GError **error)
{
        char found[HASH_LEN + 1];

        if (lseek(fd, 0, SEEK_SET) < 0 || !hash_fd(fd, found, NULL))
                return err_set_errno(error, errno, "cannot read '%s'", entry->path);
        return strcmp(found, entry->hash) == 0 ? true : changed(error, entry);
}

/* Sends the piece at *at, and moves *at to the next one. After a conflict that is the server's position,
 * since another client sends the same content. */
static bool send_piece(Send *send, const Entry *entry, int fd, char *buffer, guint64 *at, GError **error)
{
        gsize len = (gsize)MIN(entry->size - *at, (guint64)SEND_BODY);
        gssize got = read_at(fd, buffer, len, *at);
        g_autoptr(GError) failure = NULL;
        guint64 have = *at;

        if (got < 0)
                return err_set_errno(error, errno, "cannot read '%s'", entry->path);
        if ((gsize)got != len)
                return changed(error, entry);
        if (send->ops->piece(send->arg, entry->hash, *at, buffer, len, *at + len == entry->size, &have,
                             &failure)) {
                *at += len;
                report(send, entry->path, len, len, 0);
                return true;
        }
        if (!err_is(failure, ERR_CONFLICT) || have == *at || have > entry->size) {
                g_propagate_error(error, g_steal_pointer(&failure));
                return false;
        }
        report(send, entry->path, have - *at, 0, 0); /* may be negative, which wraps to the right sum */
        *at = have;
        return true;
}

/* Sends from `at` to the end. If the server has all bytes but has not confirmed them, an empty last piece
 * asks for that. */
static bool send_rest(Send *send, const Entry *entry, int fd, char *buffer, guint64 at, GError **error)
{
        report(send, entry->path, at, 0, 0);
        do {
                if (!send_piece(send, entry, fd, buffer, &at, error))
                        return false;
        } while (at < entry->size);
        report(send, entry->path, 0, 0, 1);
        return true;
}

/* The server's part may be wrong (other clients can send any bytes under a hash). The server finds that out
 * with the last piece and drops all; then send once more from 0. */
static bool send_large(Send *send, const Entry *entry, guint64 have, GError **error)
{
        fd_auto int fd = open_entry(send, entry, error);
        g_autofree char *buffer = NULL;
        g_autoptr(GError) failure = NULL;
        guint64 done = send->progress.bytes_done;

        if (fd < 0 || !check_large(fd, entry, error))
                return false;
        buffer = g_malloc(SEND_BODY);
        if (have > entry->size)
                (void)send->ops->piece(send->arg, entry->hash, have, "", 0, true, &have,
                                       NULL); /* refused, and dropped */
        else if (send_rest(send, entry, fd, buffer, have, &failure))
                return true;
        else if (have == 0 || !err_is(failure, ERR_INVALID)) {
                g_propagate_error(error, g_steal_pointer(&failure));
                return false;
        }
        send->progress.bytes_done = done;
        return send_rest(send, entry, fd, buffer, 0, error);
}

static bool send_item(Send *send, const json_t *item, GError **error)
{
        const char *hash = NULL;
        gint64 have = 0;
        const Entry *entry;

        if (!json_get_string(item, "missing[].", "hash", HASH_LEN, &hash, error) ||
            !json_get_int(item, "missing[].", "have", 0, G_MAXINT64, &have, error))
                return false;
        entry = hash ? g_hash_table_lookup(send->by_hash, hash) : NULL;
        if (!entry)
                return err_set(error, ERR_FAILED,
                               "the server asks for a content that is not in the package: '%s'",
                               hash ? hash : "");
        return entry->size < SEND_SMALL ? send_small(send, entry, error)
                                        : send_large(send, entry, (guint64)have, error);
}

/* The total is all missing contents: the others count as done from the start. */
static void count_missing(Send *send, const json_t *missing)
{
        gsize i;
        json_t *item;

        send->progress = (TransferProgress){ 0 };
        json_array_foreach(missing, i, item) {
                const char *hash = json_string_value(json_object_get(item, "hash"));
                const Entry *entry = hash ? g_hash_table_lookup(send->by_hash, hash) : NULL;

                send->progress.bytes += entry ? entry->size : 0;
                send->progress.files++;
        }
}

static bool send_missing(Send *send, const json_t *missing, GError **error)
{
        gsize i;
        json_t *item;

        count_missing(send, missing);
        json_array_foreach(missing, i, item)
                if (!send_item(send, item, error))
                        return false;
        return flush_body(send, error);
}

static bool send_round(Send *send, const char *text, GError **error)
{
        g_autoptr(json_t) reply = send->ops->offer(send->arg, text, strlen(text), error);
        json_t *missing = NULL;
        bool ready = false;

        if (!reply || !json_get_bool(reply, "", "ready", &ready, error) ||
            !json_get_array(reply, "", "missing", PACKAGE_FILES_MAX, &missing, error))
                return false;
        if (ready)
                return true;
        return send_missing(send, missing, error) &&
               send->ops->commit(send->arg, send->manifest->hash, error);
}

static bool send_rounds(Send *send, GError **error)
{
        g_autofree char *text = manifest_format(send->manifest);
        g_autoptr(GError) failure = NULL;

        for (guint i = 0; i < send->manifest->entries->len; i++) {
                Entry *entry = send->manifest->entries->pdata[i];

                if (entry->kind == ENTRY_FILE)
                        g_hash_table_insert(send->by_hash, entry->hash, entry);
        }
        for (int round = 0; round < ROUNDS; round++) {
                g_clear_error(&failure);
                g_string_truncate(send->body, 0);
                send->body_bytes = 0;
                send->body_files = 0;
                if (send_round(send, text, &failure))
                        return true;
                if (!err_is(failure, ERR_CONFLICT) && !err_is(failure, ERR_NOT_FOUND))
                        break;
        }
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
}

bool package_send(const char *dir, const Manifest *manifest, const PackageOps *ops, void *arg,
                  TransferReport report_func, void *report_arg, GError **error)
{
        fd_auto int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(GHashTable) by_hash = g_hash_table_new(keyed_hash, g_str_equal);
        g_autoptr(GString) body = g_string_new(NULL);
        Send send = {
                .root = root,
                .manifest = manifest,
                .ops = ops,
                .arg = arg,
                .report = report_func,
                .report_arg = report_arg,
                .by_hash = by_hash,
                .body = body,
        };

        if (root < 0)
                return err_set_errno(error, errno, "cannot open directory '%s'", dir);
        return send_rounds(&send, error);
}
