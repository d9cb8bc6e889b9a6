/* Contents that clients send (see package.h and package-store.c): one in pieces, or many in one body. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "package/internal.h"
#include "package/manifest.h"
#include "package/package-owner.h"
#include "storage/hash.h"

enum { BLOB_LINE_MAX = HASH_LEN + 1 + 20 + 1 }; /* hash, blank, digits of 2^64, newline */

/* One content in pieces */

static char *upload_name(const char *user, const char *hash)
{
        return g_build_filename("upload", user, hash, NULL);
}

/* For a single content; owner_contents is for many. */
static bool has_own_blob(PackageStore *store, const char *user, const char *hash)
{
        g_autoptr(GHashTable) own = NULL;

        if (!packages_have_blob(store, hash))
                return false;
        if (owner_has(store, user, OWNED_SENT, hash))
                return true;
        own = owner_contents(store, user);
        return g_hash_table_contains(own, hash);
}

guint64 package_store_upload_size(PackageStore *store, const char *user, const char *hash)
{
        g_autofree char *upload = NULL;
        struct stat st;

        if (!hash_is_valid(hash) || !owner_check(user, NULL))
                return 0;
        upload = upload_name(user, hash);
        return fstatat(store->root, upload, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (guint64)st.st_size : 0;
}

guint64 package_store_blob_size(PackageStore *store, const char *user, const char *hash)
{
        g_autofree char *blob = NULL;
        struct stat st;

        if (!hash_is_valid(hash) || !owner_check(user, NULL))
                return 0;
        blob = blob_name(hash);
        if (has_own_blob(store, user, hash) && fstatat(store->root, blob, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return (guint64)st.st_size;
        return package_store_upload_size(store, user, hash);
}

static bool keep_blob(PackageStore *store, int fd, const char *hash, const char *upload, GError **error)
{
        g_autofree char *blob = blob_name(hash);
        char found[HASH_LEN + 1];

        if (lseek(fd, 0, SEEK_SET) < 0 || !hash_fd(fd, found, NULL))
                return disk_error(error, errno, "read content", hash);
        if (strcmp(found, hash) != 0) {
                (void)unlinkat(store->root, upload, 0); /* the mismatch is reported */
                return err_set(
                        error, ERR_INVALID,
                        "content '%s': the received bytes have the hash %s and are discarded\nSend it again.",
                        hash, found);
        }
        if (fchmod(fd, 0444) < 0 || fsync(fd) < 0 || renameat(store->root, upload, store->root, blob) < 0)
                return disk_error(error, errno, "keep content", hash);
        return true;
}

static int open_upload(PackageStore *store, const char *user, const char *upload)
{
        g_autofree char *dir = g_build_filename("upload", user, NULL);
        int fd = openat(store->root, upload, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd >= 0 || errno != ENOENT || (mkdirat(store->root, dir, 0700) < 0 && errno != EEXIST))
                return fd;
        return openat(store->root, upload, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static bool append_piece(PackageStore *store, const char *user, const char *hash, guint64 offset, int piece,
                         bool last, GError **error)
{
        g_autofree char *upload = upload_name(user, hash);
        fd_auto int fd = open_upload(store, user, upload);
        struct stat st, more;

        if (fd < 0 || fstat(fd, &st) < 0 || fstat(piece, &more) < 0)
                return disk_error(error, errno, "write", upload);
        if ((guint64)st.st_size != offset)
                return err_set(error, ERR_CONFLICT,
                               "content '%s': %" G_GUINT64_FORMAT
                               " bytes were received, so a piece at %" G_GUINT64_FORMAT " does not fit",
                               hash, (guint64)st.st_size, offset);
        if (offset > store->bytes_max || (guint64)more.st_size > store->bytes_max - offset)
                return err_set(error, ERR_TOO_LARGE, "content '%s' has more than %" G_GUINT64_FORMAT " bytes",
                               hash, store->bytes_max);
        if (lseek(fd, (off_t)offset, SEEK_SET) < 0 || copy_bytes(piece, fd, -1) < 0) {
                int err = errno;

                (void)ftruncate(fd, (off_t)offset); /* back to complete pieces; if this fails, the hash at the
                                                       end finds it */
                return disk_error(error, err, "write", upload);
        }
        ledger_add(store->ledger, user, DISK_UPLOADS, more.st_size, offset == 0);
        return !last ||
               (keep_blob(store, fd, hash, upload, error) && owner_add(store, user, OWNED_SENT, hash, error));
}

bool package_store_blob_write(PackageStore *store, const char *user, const char *hash, guint64 offset,
                              const char *file, bool last, GError **error)
{
        fd_auto int piece = -1;
        GMutex *lock;
        bool ok;

        if (!owner_check(user, error) || !store_check_hash(hash, error))
                return false;
        piece = open(file, O_RDONLY | O_CLOEXEC);
        if (piece < 0)
                return err_set_errno(error, errno, "cannot open '%s'", file);
        lock = packages_lock(store, hash);
        g_rw_lock_reader_lock(&store->removal);
        g_mutex_lock(lock);
        ok = has_own_blob(store, user, hash) || append_piece(store, user, hash, offset, piece, last, error);
        g_mutex_unlock(lock);
        g_rw_lock_reader_unlock(&store->removal);
        return ok;
}

/* Many small contents in one request body */

static bool parse_blob_line(const char *line, char ret_hash[HASH_LEN + 1], guint64 *ret_size)
{
        guint64 size = 0;
        const char *at = line + HASH_LEN + 1;

        if (strlen(line) < HASH_LEN + 3 || line[HASH_LEN] != ' ')
                return false;
        for (; g_ascii_isdigit(*at); at++)
                if (__builtin_mul_overflow(size, 10, &size) ||
                    __builtin_add_overflow(size, (guint64)(*at - '0'), &size))
                        return false;
        g_strlcpy(ret_hash, line, HASH_LEN + 1);
        *ret_size = size;
        return strcmp(at, "\n") == 0 && at > line + HASH_LEN + 1 && hash_is_valid(ret_hash);
}

static bool copy_checked(FILE *in, int fd, guint64 size, const char *hash, GError **error)
{
        char buffer[65536]; /* most small contents fit */
        char found[HASH_LEN + 1];
        HashState state;

        hash_init(&state);
        for (guint64 done = 0; done < size;) {
                gsize got = fread(buffer, 1, (gsize)MIN(size - done, sizeof buffer), in);

                if (got == 0)
                        return err_set(error, ERR_INVALID,
                                       "content '%s': the body ends after %" G_GUINT64_FORMAT
                                       " of %" G_GUINT64_FORMAT " bytes",
                                       hash, done, size);
                hash_update(&state, buffer, got);
                if (!write_at(fd, buffer, got, done))
                        return disk_error(error, errno, "write content", hash);
                done += got;
        }
        hash_final(&state, found);
        if (strcmp(found, hash) != 0)
                return err_set(error, ERR_INVALID,
                               "content '%s': the received bytes have the hash %s\nSend it again.", hash,
                               found);
        return true;
}

/* Marks the received contents as the user's. */
static bool own_blobs(const Staging *staging, const char *user, GError **error)
{
        for (guint i = 0; i < staging->hashes->len; i++)
                if (!owner_add(staging->store, user, OWNED_SENT, staging->hashes->pdata[i], error))
                        return false;
        return true;
}

static bool read_blobs(Staging *staging, const char *user, FILE *in, GError **error)
{
        char line[BLOB_LINE_MAX + 1], hash[HASH_LEN + 1];
        guint64 size;

        while (fgets(line, sizeof line, in)) {
                fd_auto int fd = -1;

                if (!parse_blob_line(line, hash, &size))
                        return err_set(error, ERR_INVALID,
                                       "content %u: '%.90s' is not '<64 hex digits> <size>'",
                                       staging->hashes->len, g_strchomp(line));
                if (size > staging->store->bytes_max)
                        return err_set(error, ERR_TOO_LARGE,
                                       "content '%s': %" G_GUINT64_FORMAT " bytes are too many", hash, size);
                if (staging->hashes->len >= PACKAGE_FILES_MAX)
                        return err_set(error, ERR_TOO_LARGE, "more than %d contents", PACKAGE_FILES_MAX);
                fd = staging_next(staging, error);
                if (fd < 0 || !copy_checked(in, fd, size, hash, error))
                        return false;
                staging_keep(staging, &fd, hash);
        }
        if (ferror(in))
                return err_set(error, ERR_FAILED, "cannot read the contents");
        if (!ledger_check(staging->store->ledger, user, 0, staging->hashes->len, error) ||
            !staging_finish(staging, error) || !own_blobs(staging, user, error))
                return false;
        ledger_add(staging->store->ledger, user, DISK_UPLOADS, staging_bytes(staging), staging->hashes->len);
        return true;
}

bool package_store_blobs_write(PackageStore *store, const char *user, const char *file, GError **error)
{
        g_auto(Staging) staging = { 0 };
        FILE *in;
        bool ok;

        if (!owner_check(user, error))
                return false;
        in = fopen(file, "re");
        if (!in)
                return err_set_errno(error, errno, "cannot open '%s'", file);
        g_rw_lock_reader_lock(&store->removal);
        ok = staging_open(&staging, store, error) && read_blobs(&staging, user, in, error);
        g_rw_lock_reader_unlock(&store->removal);
        (void)fclose(in); /* the file was only read */
        return ok;
}
