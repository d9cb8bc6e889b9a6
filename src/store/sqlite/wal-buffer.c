/* A layer over the methods of the log's file (see wal-buffer.h). SQLite calls a file by its table of methods only, and
 * hands the file of the log out (SQLITE_FCNTL_JOURNAL_POINTER); the table is replaced by a copy with six methods of
 * our own. A failure of a gathered write is returned by the call that needed it written, for a commit its sync: with
 * the code of the write, before SQLite counts the transaction as committed. */
#include "store/sqlite/wal-buffer.h"

#include <string.h>

#include "base/err.h"
#include "store/sqlite/wal.h"

enum {
        SIZE = 30 * WAL_FRAME, /* SQLite's file layer writes at most 128 KB - 1 in one piece */
        AHEAD = 256 * 1024,    /* the file's length is a multiple of this */
        ZEROS = 32 * 1024,     /* written at once */
};
G_STATIC_ASSERT(SIZE < 128 * 1024 && AHEAD % ZEROS == 0);

typedef struct {
        sqlite3_io_methods methods; /* first: file->pMethods points at it */
        const sqlite3_io_methods *real;
        sqlite3_int64 length; /* up to here the file has been written */
        sqlite3_int64 at;     /* where in the file the buffer begins */
        int n;                /* bytes in it */
        guint8 bytes[SIZE];
} WalBuffer;

static WalBuffer *buffer_of(sqlite3_file *file)
{
        return (WalBuffer *)file->pMethods;
}

/* Writes zeros behind what was written, which SQLite does not take for pages. If that fails the disk is full: what
 * follows decides for itself whether it finds space. */
static void lengthen(sqlite3_file *file, sqlite3_int64 end)
{
        static const guint8 zeros[ZEROS];
        WalBuffer *buffer = buffer_of(file);
        sqlite3_int64 to = (end / AHEAD + 1) * AHEAD;

        if (end <= buffer->length)
                return;
        for (buffer->length = end; buffer->length < to;) {
                int n = (int)MIN(to - buffer->length, ZEROS);

                if (buffer->real->xWrite(file, zeros, n, buffer->length) != SQLITE_OK)
                        return;
                buffer->length += n;
        }
}

static int write_out(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
        int code = buffer_of(file)->real->xWrite(file, data, n, at);

        if (code == SQLITE_OK)
                lengthen(file, at + n);
        return code;
}

/* After a failure the transaction is rolled back, and its pages are written again by the next one. */
static int flush(sqlite3_file *file)
{
        WalBuffer *buffer = buffer_of(file);
        int n = buffer->n;

        buffer->n = 0;
        return n > 0 ? write_out(file, buffer->bytes, n, buffer->at) : SQLITE_OK;
}

static int gather(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
        WalBuffer *buffer = buffer_of(file);
        int code = SQLITE_OK;

        if (at != buffer->at + buffer->n || buffer->n + n > SIZE)
                code = flush(file);
        if (code != SQLITE_OK)
                return code;
        if (n > SIZE)
                return write_out(file, data, n, at);
        if (buffer->n == 0)
                buffer->at = at;
        memcpy(buffer->bytes + buffer->n, data, (gsize)n);
        buffer->n += n;
        return SQLITE_OK;
}

static int flush_and_read(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
        int code = flush(file);

        return code == SQLITE_OK ? buffer_of(file)->real->xRead(file, data, n, at) : code;
}

static int flush_and_sync(sqlite3_file *file, int flags)
{
        int code = flush(file);

        return code == SQLITE_OK ? buffer_of(file)->real->xSync(file, flags) : code;
}

static int flush_and_truncate(sqlite3_file *file, sqlite3_int64 size)
{
        int code = flush(file);

        if (code == SQLITE_OK)
                code = buffer_of(file)->real->xTruncate(file, size);
        if (code == SQLITE_OK)
                buffer_of(file)->length = size;
        return code;
}

static int flush_and_measure(sqlite3_file *file, sqlite3_int64 *ret)
{
        int code = flush(file);

        return code == SQLITE_OK ? buffer_of(file)->real->xFileSize(file, ret) : code;
}

/* What is left in the buffer belongs to no commit. */
static int close_file(sqlite3_file *file)
{
        WalBuffer *buffer = buffer_of(file);

        file->pMethods = buffer->real;
        g_free(buffer);
        return file->pMethods->xClose(file);
}

bool wal_buffer_install(Conn *writer, GError **error)
{
        sqlite3_file *file = NULL;
        WalBuffer *buffer;

        if (sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK ||
            !file || !file->pMethods)
                return err_set(error, ERR_FAILED, "database '%s': its log is not open",
                               sqlite3_db_filename(writer->db, "main"));
        buffer = g_malloc(sizeof *buffer); /* its pages are used only as far as batches are long */
        buffer->real = file->pMethods;
        buffer->at = buffer->n = 0;
        if (buffer->real->xFileSize(file, &buffer->length) != SQLITE_OK)
                buffer->length = 0; /* it is written again */
        buffer->methods = *file->pMethods;
        buffer->methods.xWrite = gather;
        buffer->methods.xRead = flush_and_read;
        buffer->methods.xSync = flush_and_sync;
        buffer->methods.xTruncate = flush_and_truncate;
        buffer->methods.xFileSize = flush_and_measure;
        buffer->methods.xClose = close_file;
        file->pMethods = &buffer->methods;
        return true;
}
