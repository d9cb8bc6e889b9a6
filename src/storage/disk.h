/* Disk operations for all parts of storage/: opening below a root, copying bytes, making a set of files
 * durable, and reporting a full disk. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* As openat, but never leaves `root`: "..", absolute links, links that lead outside and /proc's magic links
 * give -1 with EXDEV or ELOOP, even if another process exchanges links meanwhile (openat2). Kernels without
 * openat2 get a walk that follows no link at all. */
int open_beneath(int root, const char *path, int flags, mode_t mode);

/* Copies `len` bytes (-1: to the end) of `from` into `to`, both from their current offsets, in the kernel if
 * possible. Returns the bytes copied, or -1 with errno. */
gint64 copy_bytes(int from, int to, gint64 len);

/* pread/pwrite of everything. read_at returns the bytes read (fewer at the end of the file) or -1, write_at
 * true or false; errno is set. */
gssize read_at(int fd, void *data, gsize len, guint64 offset);
bool write_at(int fd, const void *data, gsize len, guint64 offset);

/* Files and directories that must be on disk before an answer. A few are fsync()ed one by one. With many,
 * each fsync would be a separate flush of the disk (1,000 of them: seconds on a spinning disk), so the file
 * system is synced once. That also writes dirty data of others, which is why it is not done for a few. */
enum { SYNC_FEW = 16 };
typedef struct {
        int fds[SYNC_FEW];
        guint n;
} SyncSet;
void sync_set_add(SyncSet *set, int *fd); /* takes the descriptor and sets it to -1 */
bool sync_set_flush(SyncSet *set,
                    int any_fd); /* `any_fd` is on the same file system. False with errno; empties the set */
void sync_set_clear(SyncSet *set);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SyncSet, sync_set_clear)

/* "cannot <what> '<name>': <reason>"; if the disk is full, with a hint on what to do. Returns false. */
bool disk_error(GError **error, int err, const char *what, const char *name);

/* The text in printable form: bytes that are not UTF-8 and control bytes as \xNN. The caller's. */
char *text_show(const char *text);
