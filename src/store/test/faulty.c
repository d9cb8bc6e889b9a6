#include "store/test/faulty.h"

#include <errno.h>
#include <glib.h>
#include <sqlite3.h>
#include <unistd.h>

enum { PAGE = 4096 };

typedef struct {
        sqlite3_file base;
        sqlite3_int64 synced;   /* bytes of the file at its last good sync */
        sqlite3_int64 from, to; /* what was written since; from = to: nothing */
        char *path;
        sqlite3_file *real;
} FaultyFile;

static struct {
        pthread_mutex_t lock;
        sqlite3_vfs vfs, *real;
        Fault fault;
        const char *suffix;
        int left, count, last_errno;
        bool lossy;
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

void faulty_set(Fault fault, const char *suffix, int n, bool lossy)
{
        pthread_mutex_lock(&disk.lock);
        disk.fault = fault;
        disk.suffix = suffix;
        disk.left = n;
        disk.count = 0;
        disk.lossy = lossy;
        pthread_mutex_unlock(&disk.lock);
}

int faulty_count(void)
{
        int count;

        pthread_mutex_lock(&disk.lock);
        count = disk.count;
        pthread_mutex_unlock(&disk.lock);
        return count;
}

/* SQLite's code when this operation has to fail, else SQLITE_OK. It counts as `n` operations; *ret_good: how many of
 * them succeed before the one that fails. */
static int fate(const FaultyFile *file, bool is_sync, int n, int *ret_good)
{
        static const struct {
                int code, sys;
        } outcomes[] = {
                [FAULT_SYNC] = { SQLITE_IOERR_FSYNC, EIO },
                [FAULT_WRITE] = { SQLITE_IOERR_WRITE, EIO },
                [FAULT_FULL] = { SQLITE_FULL, ENOSPC },
                [FAULT_QUOTA] = { SQLITE_IOERR_WRITE, EDQUOT },
        };
        int code = SQLITE_OK;

        pthread_mutex_lock(&disk.lock);
        if (disk.fault != FAULT_NONE && (disk.fault == FAULT_SYNC) == is_sync &&
            g_str_has_suffix(file->path, disk.suffix)) {
                *ret_good = MAX(disk.left - 1, 0);
                disk.left -= n;
                if (disk.left <= 0) {
                        code = outcomes[disk.fault].code;
                        disk.last_errno = outcomes[disk.fault].sys;
                        disk.count++;
                }
        }
        pthread_mutex_unlock(&disk.lock);
        return code;
}

#define REAL(file) (((FaultyFile *)(file))->real)
#define FORWARD(file, method, ...) REAL(file)->pMethods->method(REAL(file), ##__VA_ARGS__)

static int faulty_close(sqlite3_file *file)
{
        int code = FORWARD(file, xClose);

        g_free(REAL(file));
        g_free(((FaultyFile *)file)->path);
        return code;
}

static int faulty_read(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
        return FORWARD(file, xRead, data, n, at);
}

static void note_written(FaultyFile *file, sqlite3_int64 from, sqlite3_int64 to)
{
        file->from = file->from == file->to ? from : MIN(file->from, from);
        file->to = MAX(file->to, to);
}

/* What was written since the last good sync does not reach the disk. */
static void lose_written(FaultyFile *file)
{
        for (sqlite3_int64 at = file->from; at < MIN(file->to, file->synced); at++)
                (void)FORWARD(&file->base, xWrite, "", 1, at);
        if (truncate(file->path, file->synced) < 0)
                g_error("cannot truncate '%s'", file->path);
}

/* A long write is several operations, one for each page. */
static int faulty_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
        int good = 0, code = fate((FaultyFile *)file, false, (n + PAGE - 1) / PAGE, &good);
        int written = good * PAGE + MIN(PAGE, n - good * PAGE) / 2;

        if (code != SQLITE_OK && written > 0) /* a short write: half of the page that fails is there */
                (void)FORWARD(file, xWrite, data, written, at);
        note_written((FaultyFile *)file, at, at + n);
        if (code == SQLITE_OK)
                return FORWARD(file, xWrite, data, n, at);
        errno = disk.last_errno;
        return code;
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
        return FORWARD(file, xTruncate, size);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
        FaultyFile *faulty = (FaultyFile *)file;
        int good, code = fate(faulty, true, 1, &good);

        if (code == SQLITE_OK) {
                (void)FORWARD(file, xFileSize, &faulty->synced);
                faulty->from = faulty->to = 0;
                return FORWARD(file, xSync, flags);
        }
        if (disk.lossy)
                lose_written(faulty);
        return code;
}

static int faulty_size(sqlite3_file *file, sqlite3_int64 *size)
{
        return FORWARD(file, xFileSize, size);
}

static int faulty_lock(sqlite3_file *file, int level)
{
        return FORWARD(file, xLock, level);
}

static int faulty_unlock(sqlite3_file *file, int level)
{
        return FORWARD(file, xUnlock, level);
}

static int faulty_reserved(sqlite3_file *file, int *ret)
{
        return FORWARD(file, xCheckReservedLock, ret);
}

static int faulty_control(sqlite3_file *file, int op, void *arg)
{
        return FORWARD(file, xFileControl, op, arg);
}

static int faulty_sector(sqlite3_file *file)
{
        return FORWARD(file, xSectorSize);
}

static int faulty_device(sqlite3_file *file)
{
        return FORWARD(file, xDeviceCharacteristics);
}

static int faulty_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
        return FORWARD(file, xShmMap, page, size, extend, ret);
}

static int faulty_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
        return FORWARD(file, xShmLock, offset, n, flags);
}

static void faulty_shm_barrier(sqlite3_file *file)
{
        FORWARD(file, xShmBarrier);
}

static int faulty_shm_unmap(sqlite3_file *file, int remove)
{
        return FORWARD(file, xShmUnmap, remove);
}

static const sqlite3_io_methods methods = {
        .iVersion = 2,
        .xClose = faulty_close,
        .xRead = faulty_read,
        .xWrite = faulty_write,
        .xTruncate = faulty_truncate,
        .xSync = faulty_sync,
        .xFileSize = faulty_size,
        .xLock = faulty_lock,
        .xUnlock = faulty_unlock,
        .xCheckReservedLock = faulty_reserved,
        .xFileControl = faulty_control,
        .xSectorSize = faulty_sector,
        .xDeviceCharacteristics = faulty_device,
        .xShmMap = faulty_shm_map,
        .xShmLock = faulty_shm_lock,
        .xShmBarrier = faulty_shm_barrier,
        .xShmUnmap = faulty_shm_unmap,
};

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
        FaultyFile *faulty = (FaultyFile *)file;
        int code;

        *faulty = (FaultyFile){ .real = g_malloc0(disk.real->szOsFile), .path = g_strdup(name ? name : "") };
        code = disk.real->xOpen(disk.real, name, faulty->real, flags, ret_flags);
        if (code == SQLITE_OK) {
                (void)faulty_size(file, &faulty->synced);
                faulty->base.pMethods = &methods;
        } else {
                g_free(faulty->real);
                g_free(faulty->path);
        }
        return code;
}

static int faulty_last_error(sqlite3_vfs *vfs, int n, char *text)
{
        return disk.last_errno;
}

void faulty_install(void)
{
        disk.real = sqlite3_vfs_find(NULL);
        disk.vfs = *disk.real;
        disk.vfs.zName = "faulty";
        disk.vfs.pNext = NULL;
        disk.vfs.szOsFile = sizeof(FaultyFile);
        disk.vfs.xOpen = faulty_open;
        disk.vfs.xGetLastError = faulty_last_error;
        faulty_set(FAULT_NONE, "", 0, false);
        g_assert_cmpint(sqlite3_vfs_register(&disk.vfs, 1), ==, SQLITE_OK);
}

void faulty_remove(void)
{
        (void)sqlite3_vfs_unregister(&disk.vfs);
        (void)sqlite3_vfs_register(disk.real, 1); /* it was the default before */
}
