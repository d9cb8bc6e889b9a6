/* Uploads into the storage, chunk by chunk (see storage.h).
 *
 *      <dc>/.upload/<hash of the /pfs path>/data     the new file, each chunk at its final offset
 *                                         /chunks   for each chunk a record of fixed length:
 *                                                   "<hash> <length, 8 digits>\n"
 *
 * A chunk is synced before its record is written, so records are true after any crash; chunks without one are
 * sent again. Each record has its own offset, so chunks may arrive in any order, also concurrently. Finishing
 * is one rename. The directory is beside the homes and not in them: jobs and listings do not see it, and no
 * link of a job can redirect it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/number.h"
#include "base/project-id.h"
#include "storage/disk.h"
#include "storage/hash.h"
#include "storage/internal.h"

enum {
        USER_MAX = 255,
        RECORD = HASH_LEN + 1 + 8 + 1,
        CHUNKS_MAX = 4 * 1024 * 1024 - 1, /* of 4 MiB: 16 TiB, the largest file of ext4 */
        SHOWN_MAX = 256 * 1024,           /* of chunks, 1 TiB: the maximum of hashes in an answer */
};

/* The chunks of an upload share the lock; finishing it is exclusive. Uploads do not wait for each other. */
typedef struct {
        char name[HASH_LEN + 1];
        guint users;
        GRWLock lock;
} UploadLock;

typedef struct {
        Storage *storage;
        char *path; /* below storage->root */
        int dir, data, chunks;
        UploadLock *held;
        GRWLock *lock; /* owned by `held` */
} Upload;

static UploadLock *upload_lock_get(Storage *storage, const char *name)
{
        UploadLock *found;

        pthread_mutex_lock(&storage->uploads_mutex);
        found = g_hash_table_lookup(storage->uploads, name);
        if (!found) {
                found = g_new0(UploadLock, 1);
                g_strlcpy(found->name, name, sizeof found->name);
                g_rw_lock_init(&found->lock);
                g_hash_table_insert(storage->uploads, found->name, found);
        }
        found->users++;
        pthread_mutex_unlock(&storage->uploads_mutex);
        return found;
}

static void upload_lock_put(Storage *storage, UploadLock *held)
{
        pthread_mutex_lock(&storage->uploads_mutex);
        if (--held->users == 0) {
                g_hash_table_remove(storage->uploads, held->name);
                g_rw_lock_clear(&held->lock);
                g_free(held);
        }
        pthread_mutex_unlock(&storage->uploads_mutex);
}

static void upload_clear(Upload *upload)
{
        if (upload->held)
                upload_lock_put(upload->storage, upload->held);
        fd_close_p(&upload->dir);
        fd_close_p(&upload->data);
        fd_close_p(&upload->chunks);
        g_clear_pointer(&upload->path, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Upload, upload_clear)

static void upload_of(Upload *upload, Storage *storage, const char *hash)
{
        *upload = (Upload){ .storage = storage,
                            .path = g_strconcat(".upload/", hash, NULL),
                            .dir = -1,
                            .data = -1,
                            .chunks = -1,
                            .held = upload_lock_get(storage, hash) };
        upload->lock = &upload->held->lock;
}

static void upload_name(Upload *upload, Storage *storage, const Place *place)
{
        char hash[HASH_LEN + 1];

        hash_bytes(place->shown, strlen(place->shown), hash);
        upload_of(upload, storage, hash);
}

/* A file beside the chunks, for the survey. */
static bool note_user(const Upload *upload, const char *user)
{
        fd_auto int fd =
                openat(upload->dir, "user", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
                return errno == EEXIST;
        return write_at(fd, user, strlen(user), 0);
}

char *storage_upload_user(const char *dir)
{
        g_autofree char *path = g_build_filename(dir, "user", NULL);
        char *user = NULL;

        if (file_read(path, USER_MAX, &user, NULL, NULL) && !*user)
                g_clear_pointer(&user, g_free); /* a crash between the two steps */
        return user;
}

/* False with errno; ENOENT if nothing was sent and `make`, the user to whom it counts, is NULL. */
static bool upload_open(Upload *upload, const Storage *storage, const char *make)
{
        int create = make ? O_CREAT : 0;

        if (make && mkdirat(storage->root, upload->path, 0700) < 0) {
                if (errno != EEXIST)
                        return false;
        } else if (make) {
                g_autofree char *path = g_build_filename(storage->dir, storage->dc, upload->path, NULL);

                (void)projects_label(storage->projects, make, path, NULL, NULL);
        }
        upload->dir = openat(storage->root, upload->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (upload->dir < 0)
                return false;
        if (make && !note_user(upload, make))
                return false;
        upload->data = openat(upload->dir, "data", O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0644);
        if (upload->data < 0)
                return false;
        upload->chunks = openat(upload->dir, "chunks", O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0600);
        return upload->chunks >= 0;
}

/* Chunks of a finished file */

static json_t *chunks_reply(guint64 size, json_t *chunks)
{
        return json_pack("{s:I, s:i, s:o}", "size", (json_int_t)size, "chunk_size", (int)STORAGE_CHUNK,
                         "chunks", chunks);
}

/* True if the whole chunk at `offset` was never written: it reads as zeros. */
static bool is_hole(int fd, guint64 offset, guint64 size)
{
        off_t data;

        if (offset + STORAGE_CHUNK > size)
                return false;
        data = lseek(fd, (off_t)offset, SEEK_DATA);
        return data < 0 ? errno == ENXIO : (guint64)data >= offset + STORAGE_CHUNK;
}

static const char *hash_of_zeros(void)
{
        static char *hash;

        if (g_once_init_enter(&hash)) {
                g_autofree char *zeros = g_malloc0(STORAGE_CHUNK);
                char *made = g_malloc(HASH_LEN + 1);

                hash_bytes(zeros, STORAGE_CHUNK, made);
                g_once_init_leave(&hash, made);
        }
        return hash;
}

/* The length of the chunk at `offset` of a file of `size` bytes, which may change meanwhile: 0 at its end, -1
 * with errno. */
static gssize hash_chunk(int fd, guint64 offset, guint64 size, char *buffer, char ret[HASH_LEN + 1])
{
        gssize got;

        if (!cancel_check())
                return -1;
        if (is_hole(fd, offset, size)) {
                g_strlcpy(ret, hash_of_zeros(), HASH_LEN + 1);
                return STORAGE_CHUNK;
        }
        got = read_at(fd, buffer, STORAGE_CHUNK, offset);
        if (got > 0)
                hash_bytes(buffer, (gsize)got, ret);
        return got;
}

static json_t *file_chunks(const Place *place, GError **error)
{
        fd_auto int fd = open_beneath(place->fd, place->below, O_RDONLY | O_NONBLOCK, 0);
        g_autoptr(json_t) chunks = json_array();
        g_autofree char *buffer = NULL;
        guint64 size = 0;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0) {
                place_error(place, error, errno, "open");
                return NULL;
        }
        if (!S_ISREG(st.st_mode)) {
                err_set(error, ERR_CONFLICT, "'%s' is not a file", place->shown);
                return NULL;
        }
        if (!place_may_read(place, &st)) {
                place_error(place, error, EXDEV, "open");
                return NULL;
        }
        if (st.st_size / STORAGE_CHUNK >= SHOWN_MAX) {
                err_set(error, ERR_TOO_LARGE,
                        "'%s' has more than %d chunks, the most that one request can hash", place->shown,
                        SHOWN_MAX);
                return NULL;
        }
        buffer = g_malloc(STORAGE_CHUNK);
        for (;;) {
                char hash[HASH_LEN + 1];
                gssize got = hash_chunk(fd, size, (guint64)st.st_size, buffer, hash);

                if (got < 0) {
                        place_error(place, error, errno, "read");
                        return NULL;
                }
                if (got == 0)
                        break;
                json_array_append_new(chunks, json_string(hash));
                size += (guint64)got;
                if (got < STORAGE_CHUNK)
                        break;
        }
        return chunks_reply(size, g_steal_pointer(&chunks));
}

/* Records */

/* False if chunk `index` has not arrived. */
static bool record_read(const Upload *upload, guint64 index, char ret_hash[HASH_LEN + 1], gint64 *ret_len)
{
        char record[RECORD + 1] = "";

        if (read_at(upload->chunks, record, RECORD, index * RECORD) != RECORD || record[HASH_LEN] != ' ' ||
            record[RECORD - 1] != '\n')
                return false;
        record[RECORD - 1] = '\0';
        g_strlcpy(ret_hash, record, HASH_LEN + 1);
        return hash_is_valid(ret_hash) &&
               number_parse("length", record + HASH_LEN + 1, 1, STORAGE_CHUNK, ret_len, NULL);
}

static bool record_write(const Upload *upload, guint64 index, const char *hash, gsize len)
{
        char record[RECORD + 1];

        g_snprintf(record, sizeof record, "%s %08" G_GSIZE_FORMAT "\n", hash, len);
        return write_at(upload->chunks, record, RECORD, index * RECORD);
}

static json_t *uploaded_chunks(const Upload *upload)
{
        json_t *chunks = json_array();
        guint64 size = 0;
        struct stat st;
        guint64 count = fstat(upload->chunks, &st) == 0 ? (guint64)st.st_size / RECORD : 0;

        for (guint64 i = 0; i < MIN(count, (guint64)CHUNKS_MAX); i++) {
                char hash[HASH_LEN + 1];
                gint64 len;
                bool there = record_read(upload, i, hash, &len);

                json_array_append_new(chunks, there ? json_string(hash) : json_null());
                size += there ? (guint64)len : 0;
        }
        return chunks_reply(size, chunks);
}

json_t *storage_chunks(Storage *storage, const char *pfs_path, const StorageAccess *access, bool upload,
                       GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        g_auto(Upload) unfinished = { .dir = -1, .data = -1, .chunks = -1 };
        json_t *reply;

        if (!place_open(&place, storage, pfs_path, access, upload && access->write ? PLACE_WRITE : PLACE_READ,
                        error))
                return NULL;
        if (!upload)
                return file_chunks(&place, error);
        upload_name(&unfinished, storage, &place);
        g_rw_lock_reader_lock(unfinished.lock);
        reply = upload_open(&unfinished, storage, NULL) ? uploaded_chunks(&unfinished)
                                                        : chunks_reply(0, json_array());
        g_rw_lock_reader_unlock(unfinished.lock);
        return reply;
}

/* Receiving */

static bool read_chunk(const char *file, const char *hash, char *buffer, gsize *ret_len, GError **error)
{
        fd_auto int fd = open(file, O_RDONLY | O_CLOEXEC);
        gssize got = fd < 0 ? -1 : read_at(fd, buffer, STORAGE_CHUNK + 1, 0);
        char found[HASH_LEN + 1];

        if (got < 0)
                return err_set_errno(error, errno, "cannot read '%s'", file);
        if (got == 0 || got > STORAGE_CHUNK)
                return err_set(error, got ? ERR_TOO_LARGE : ERR_INVALID, "a chunk has 1 to %d bytes",
                               STORAGE_CHUNK);
        hash_bytes(buffer, (gsize)got, found);
        if (strcmp(found, hash) != 0)
                return err_set(error, ERR_INVALID,
                               "the received bytes have the hash %s, not '%.80s'\nSend it again.", found,
                               hash);
        *ret_len = (gsize)got;
        return true;
}

/* The disk space that `fd` uses. */
static gint64 allocated(int fd)
{
        struct stat st;

        return fd >= 0 && fstat(fd, &st) == 0 ? (gint64)st.st_blocks * 512 : 0;
}

static gint64 upload_bytes(const Upload *upload)
{
        return allocated(upload->dir) + allocated(upload->data) + allocated(upload->chunks) + DIR_BYTES;
}

enum { UPLOAD_FILES = 4 }; /* the directory, data, chunks, user */

/* A new upload counts immediately; the bytes of a chunk were reserved with its request. */
static bool upload_make(Upload *upload, Storage *storage, const Place *place, GError **error)
{
        bool fresh = faccessat(storage->root, upload->path, F_OK, AT_SYMLINK_NOFOLLOW) < 0;

        if (fresh && !ledger_check(storage->ledger, place->payer, 0, UPLOAD_FILES, error))
                return false;
        if (!upload_open(upload, storage, place->payer))
                return place_error(place, error, errno, "write");
        if (fresh)
                ledger_add(storage->ledger, place->payer, DISK_UPLOADS, upload_bytes(upload), UPLOAD_FILES);
        return true;
}

static bool store_chunk(Storage *storage, const Place *place, Upload *upload, guint64 index, const char *hash,
                        const char *buffer, gsize len, GError **error)
{
        gint64 before;
        bool ok;

        if (!upload_make(upload, storage, place, error))
                return false;
        before = upload_bytes(upload);
        ok = write_at(upload->data, buffer, len, index * STORAGE_CHUNK) && fdatasync(upload->data) == 0 &&
             record_write(upload, index, hash, len);
        if (!ok)
                place_error(place, error, errno, "write");
        ledger_add(storage->ledger, place->payer, DISK_UPLOADS, upload_bytes(upload) - before, 0);
        return ok;
}

bool storage_put_chunk(Storage *storage, const char *pfs_path, const StorageAccess *access, guint64 index,
                       const char *hash, const char *file, GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        g_auto(Upload) upload = { .dir = -1, .data = -1, .chunks = -1 };
        g_autofree char *buffer = NULL;
        gsize len;
        bool ok;

        if (!place_open(&place, storage, pfs_path, access, PLACE_WRITE, error))
                return false;
        if (place_is_root(&place))
                return err_set(error, ERR_CONFLICT, "'%s' is a directory", place.shown);
        if (index >= CHUNKS_MAX)
                return err_set(error, ERR_TOO_LARGE,
                               "'%s': chunk %" G_GUINT64_FORMAT " is beyond the last possible one, %d",
                               place.shown, index, CHUNKS_MAX - 1);
        buffer = g_malloc(STORAGE_CHUNK + 1);
        if (!read_chunk(file, hash, buffer, &len, error))
                return err_prefix(error, "'%s', chunk %" G_GUINT64_FORMAT ": ", place.shown, index);
        upload_name(&upload, storage, &place);
        g_rw_lock_reader_lock(upload.lock);
        ok = store_chunk(storage, &place, &upload, index, hash, buffer, len, error);
        g_rw_lock_reader_unlock(upload.lock);
        return ok;
}

/* Finishing */

static bool check_chunk(const Upload *upload, guint64 index, guint64 count, guint64 size, const char *wanted,
                        GError **error)
{
        char hash[HASH_LEN + 1];
        guint64 due = index + 1 < count ? STORAGE_CHUNK : size - index * STORAGE_CHUNK;
        gint64 len;

        if (!hash_is_valid(wanted))
                return err_set(error, ERR_INVALID,
                               "chunks[%" G_GUINT64_FORMAT "] is not a hash of 64 hex digits", index);
        if (!record_read(upload, index, hash, &len))
                return err_set(error, ERR_CONFLICT,
                               "chunk %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                               " has not arrived\nSend it, then finish again.",
                               index, count);
        if (strcmp(hash, wanted) != 0)
                return err_set(error, ERR_CONFLICT,
                               "chunk %" G_GUINT64_FORMAT
                               " arrived with the hash %s, not '%s'\nSend it again.",
                               index, hash, wanted);
        if ((guint64)len != due)
                return err_set(error, ERR_CONFLICT,
                               "chunk %" G_GUINT64_FORMAT " has %" G_GINT64_FORMAT
                               " bytes, but its place has %" G_GUINT64_FORMAT,
                               index, len, due);
        return true;
}

static bool check_count(const Place *place, guint64 size, const json_t *chunks, GError **error)
{
        guint64 count = size / STORAGE_CHUNK + (size % STORAGE_CHUNK != 0);

        if (json_is_array(chunks) && json_array_size(chunks) == count)
                return true;
        return err_set(error, ERR_INVALID,
                       "'%s': %" G_GUINT64_FORMAT " bytes have %" G_GUINT64_FORMAT
                       " chunks of %d, not %" G_GSIZE_FORMAT,
                       place->shown, size, count, STORAGE_CHUNK, json_array_size(chunks));
}

/* Makes a chunk of zeros without reading or writing; false if that is impossible. */
static bool make_hole(const Upload *upload, guint64 index)
{
        off_t offset = (off_t)(index * STORAGE_CHUNK);

        return fallocate(upload->data, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, STORAGE_CHUNK) ==
               0;
}

/* Copies one chunk from the existing file of `size` bytes; returns its length, 0 if the chunk differs there,
 * -1 with errno. */
static gssize copy_chunk(const Upload *upload, int present, guint64 size, guint64 index, const char *wanted,
                         char *buffer)
{
        guint64 offset = index * STORAGE_CHUNK;
        char hash[HASH_LEN + 1];
        gssize got;

        if (is_hole(present, offset, size) &&
            (strcmp(hash_of_zeros(), wanted) != 0 || make_hole(upload, index)))
                return strcmp(hash_of_zeros(), wanted) == 0 ? STORAGE_CHUNK : 0;
        got = read_at(present, buffer, STORAGE_CHUNK, offset);
        if (got <= 0)
                return got;
        hash_bytes(buffer, (gsize)got, hash);
        if (strcmp(hash, wanted) != 0)
                return 0;
        return write_at(upload->data, buffer, (gsize)got, offset) ? got : -1;
}

/* The number of bytes that may be copied from the existing file: those not sent, at most its size. */
static gint64 lacking_bytes(const Upload *upload, const json_t *chunks, const struct stat *present)
{
        gint64 lacking = 0;
        json_t *item;
        gsize i;

        json_array_foreach(chunks, i, item) {
                char hash[HASH_LEN + 1];
                gint64 len;

                if (!record_read(upload, i, hash, &len))
                        lacking += STORAGE_CHUNK;
        }
        return MIN(lacking, (gint64)present->st_blocks * 512);
}

/* Chunks that the existing file has at the same position were not sent: copies them from there. */
static bool copy_present(const Storage *storage, const Upload *upload, const Place *place,
                         const json_t *chunks, GError **error)
{
        fd_auto int present = open_beneath(place->fd, place->below, O_RDONLY | O_NONBLOCK, 0);
        g_autofree char *buffer = present < 0 ? NULL : g_malloc(STORAGE_CHUNK);
        g_autoptr(GArray) lengths = g_array_new(FALSE, FALSE, sizeof(gssize));
        gint64 lacking;
        struct stat st;
        json_t *item;
        gsize i;

        if (present < 0 || fstat(present, &st) < 0 || !S_ISREG(st.st_mode) || !place_may_read(place, &st))
                return true;
        lacking = lacking_bytes(upload, chunks, &st);
        if (lacking > 0 && !ledger_check(storage->ledger, place->payer, lacking, 0, error))
                return false;
        json_array_foreach(chunks, i, item) {
                const char *wanted = json_string_value(item);
                char hash[HASH_LEN + 1];
                gssize copied = 0;
                gint64 len;

                if (!cancel_check())
                        copied = -1;
                else if (wanted && !(record_read(upload, i, hash, &len) && strcmp(hash, wanted) == 0))
                        copied = copy_chunk(upload, present, (guint64)st.st_size, i, wanted, buffer);
                if (copied < 0)
                        return place_error(place, error, errno, "write");
                g_array_append_val(lengths, copied);
        }
        if (fdatasync(upload->data) < 0) /* before the records, which must be true */
                return place_error(place, error, errno, "write");
        json_array_foreach(chunks, i, item) {
                gssize copied = g_array_index(lengths, gssize, i);

                if (copied > 0 && !record_write(upload, i, json_string_value(item), (gsize)copied))
                        return place_error(place, error, errno, "write");
        }
        return true;
}

static bool check_all(const Upload *upload, const Place *place, guint64 size, const json_t *chunks,
                      GError **error)
{
        guint64 count = json_array_size(chunks);

        for (guint64 i = 0; i < count; i++)
                if (!check_chunk(upload, i, count, size, json_string_value(json_array_get(chunks, i)), error))
                        return err_prefix(error, "'%s': ", place->shown);
        return true;
}

/* The number of parent directories to create. */
static gint64 missing_above(const Place *place)
{
        const char *slash = strrchr(place->below, '/');
        g_autofree char *above = slash ? g_strndup(place->below, (gsize)(slash - place->below)) : NULL;

        return above ? place_missing(place, above) : 0;
}

static bool check_dirs(const Storage *storage, const Place *place, GError **error)
{
        gint64 dirs = missing_above(place);

        return dirs == 0 || ledger_check(storage->ledger, place->payer, dirs * DIR_BYTES, dirs, error);
}

/* Replaces a file or link of that name, but not a directory. */
static bool take_place(const Storage *storage, const Place *place, const Upload *upload, guint64 size,
                       GError **error)
{
        const char *name;
        gint64 dirs = missing_above(place);
        gint64 uploaded = upload_bytes(upload), replaced = 0;
        struct stat st;
        fd_auto int parent = place_parent(place, true, &name, error);
        g_autofree char *path = g_build_filename(storage->dir, storage->dc, upload->path, NULL);

        if (parent < 0)
                return false;
        if (!place_give(place, upload->data, 0644) || ftruncate(upload->data, (off_t)size) < 0 ||
            fsync(upload->data) < 0)
                return place_error(place, error, errno, "write");
        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
                replaced = (gint64)st.st_blocks * 512;
        if (!project_id_follow(upload->data, parent) || renameat(upload->dir, "data", parent, name) < 0)
                return errno == EISDIR ? err_set(error, ERR_CONFLICT, "'%s' is a directory", place->shown)
                                       : place_error(place, error, errno, "write");
        if (fsync(parent) < 0)
                return place_error(place, error, errno, "write");
        (void)file_remove_tree(path, NULL); /* the file is in place; without `data` the rest is no upload */
        ledger_add(storage->ledger, place->payer, DISK_UPLOADS, -uploaded, -UPLOAD_FILES);
        ledger_add(storage->ledger, place->payer, DISK_HOME,
                   allocated(upload->data) - replaced + dirs * DIR_BYTES, dirs + (replaced == 0));
        return true;
}

bool storage_finish(Storage *storage, const char *pfs_path, const StorageAccess *access, guint64 size,
                    const json_t *chunks, GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        g_auto(Upload) upload = { .dir = -1, .data = -1, .chunks = -1 };
        bool opened, ok;

        if (!place_open(&place, storage, pfs_path, access, PLACE_WRITE, error))
                return false;
        if (place_is_root(&place))
                return err_set(error, ERR_CONFLICT, "'%s' is a directory", place.shown);
        upload_name(&upload, storage, &place);
        g_rw_lock_writer_lock(upload.lock);
        opened = size == 0 ? upload_make(&upload, storage, &place, error)
                           : upload_open(&upload, storage, NULL);
        if (!opened && size == 0)
                ok = false;
        else if (!opened && errno == ENOENT)
                ok = err_set(error, ERR_CONFLICT,
                             "'%s': nothing of it has arrived\nSend its chunks, then finish.", place.shown);
        else if (!opened)
                ok = place_error(&place, error, errno, "write");
        else
                ok = check_dirs(storage, &place, error) && check_count(&place, size, chunks, error) &&
                     copy_present(storage, &upload, &place, chunks, error) &&
                     check_all(&upload, &place, size, chunks, error) &&
                     take_place(storage, &place, &upload, size, error);
        g_rw_lock_writer_unlock(upload.lock);
        return ok;
}

/* Deleting */

static gint64 last_piece(const Upload *upload)
{
        const int fds[] = { upload->dir, upload->data, upload->chunks };
        gint64 latest = 0;

        for (gsize i = 0; i < G_N_ELEMENTS(fds); i++) {
                struct stat st;

                if (fds[i] >= 0 && fstat(fds[i], &st) == 0)
                        latest = MAX(latest, file_mtime_ms(&st));
        }
        return latest;
}

bool storage_drop_upload(Storage *storage, const char *name, gint64 since, bool *ret_gone, GError **error)
{
        char id[ID_LEN + 1];
        g_autofree char *gone = (id_new(id), g_strconcat(".upload/gone.", id, NULL));
        g_autofree char *path = g_build_filename(storage->dir, storage->dc, gone, NULL);
        const char *name_gone = strrchr(gone, '/') + 1;
        g_auto(Upload) upload = { .dir = -1, .data = -1, .chunks = -1 };
        bool ok = true;

        *ret_gone = false;
        storage_gone_begin(storage, name_gone);
        upload_of(&upload, storage, name);
        g_rw_lock_writer_lock(upload.lock);
        (void)upload_open(&upload, storage, NULL); /* missing, or half created: its directory tells the age */
        if (upload.dir >= 0 && last_piece(&upload) <= since) {
                *ret_gone = renameat(storage->root, upload.path, storage->root, gone) == 0;
                ok = *ret_gone || disk_error(error, errno, "remove upload", name);
        }
        g_rw_lock_writer_unlock(upload.lock);
        ok = ok && (!*ret_gone || file_remove_tree(path, error));
        storage_gone_end(storage, name_gone);
        return ok;
}
