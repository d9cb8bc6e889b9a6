/* Upload and download with a storage in this process, a connection that breaks, and a server that lies. */
#include "storage/hash.h"
#include "storage/upload.h"

#include "storage/test/scratch.h"

typedef struct {
        char *dir, *local;
        Storage *storage;
        guint puts, reads, lists;
        int breaks_after; /* requests until the connection breaks; -1: never */
        const char *lie;  /* a wrong path for the listing */
        TransferProgress last;
} Wire;

static const StorageAccess ann = { "ann", false, false };

static bool cut(Wire *wire, GError **error)
{
        if (wire->breaks_after == 0)
                return !err_set(error, ERR_UNAVAILABLE, "the line is cut");
        wire->breaks_after--;
        return false;
}

static json_t *wire_chunks(void *arg, const char *remote, bool upload, GError **error)
{
        return storage_chunks(((Wire *)arg)->storage, remote, &ann, upload, error);
}

static bool wire_put(void *arg, const char *remote, guint64 index, const char *hash, const void *data,
                     gsize len, GError **error)
{
        Wire *wire = arg;
        g_autofree char *file = g_build_filename(wire->dir, "spool", NULL);

        if (cut(wire, error))
                return false;
        wire->puts++;
        put(wire->dir, "spool", data, (gssize)len);
        return storage_put_chunk(wire->storage, remote, &ann, index, hash, file, error);
}

static bool wire_finish(void *arg, const char *remote, guint64 size, const json_t *chunks, GError **error)
{
        return storage_finish(((Wire *)arg)->storage, remote, &ann, size, chunks, error);
}

static bool wire_make_dir(void *arg, const char *remote, GError **error)
{
        return storage_make_dir(((Wire *)arg)->storage, remote, &ann, true, error);
}

static json_t *wire_list(void *arg, const char *remote, GError **error)
{
        Wire *wire = arg;
        g_autoptr(GPtrArray) entries = storage_list(wire->storage, remote, &ann, true, 1000, error);
        json_t *items = json_array();

        wire->lists++;
        for (guint i = 0; entries && i < entries->len; i++) {
                const StorageEntry *entry = entries->pdata[i];

                json_array_append_new(items, json_pack("{s:s, s:b, s:I}", "path",
                                                       wire->lie ? wire->lie : entry->path, "dir",
                                                       entry->is_dir, "size", (json_int_t)entry->size));
        }
        if (entries)
                return json_pack("{s:o}", "items", items);
        json_decref(items);
        return NULL;
}

static bool wire_read(void *arg, const char *remote, guint64 offset, gsize len, void *data, GError **error)
{
        Wire *wire = arg;
        fd_auto int fd = -1;

        if (cut(wire, error))
                return false;
        wire->reads++;
        fd = storage_open_file(wire->storage, remote, &ann, error);
        return fd >= 0 && pread(fd, data, len, (off_t)offset) == (gssize)len;
}

static const TransferOps ops = { wire_chunks, wire_put, wire_finish, wire_make_dir, wire_list, wire_read };

static void see(const TransferProgress *progress, void *arg)
{
        Wire *wire = arg;

        g_assert_cmpuint(progress->bytes_done, <=, progress->bytes);
        wire->last = *progress;
}

static void set_up(Wire *wire, gconstpointer unused)
{
        wire->dir = scratch_new();
        wire->local = g_build_filename(wire->dir, "local-files", NULL);
        wire->storage = storage_open(wire->dir, "local", NULL);
        wire->breaks_after = -1;
        g_assert_nonnull(wire->storage);
}

static void tear_down(Wire *wire, gconstpointer unused)
{
        storage_close(wire->storage);
        g_free(wire->local);
        scratch_free(wire->dir);
}

static bool up(Wire *wire, const char *local, const char *remote, GError **error)
{
        g_autofree char *path = g_build_filename(wire->local, local, NULL);

        wire->puts = 0;
        return upload_path(path, remote, &ops, wire, see, wire, error);
}

static bool down(Wire *wire, const char *remote, const char *local, GError **error)
{
        g_autofree char *path = g_strconcat(wire->local, "/", local, NULL);

        wire->reads = 0;
        return download_path(remote, path, &ops, wire, see, wire, error);
}

static void test_tree(Wire *wire, gconstpointer unused)
{
        g_autofree char *link = g_build_filename(wire->local, "data/link", NULL),
                        *empty = g_build_filename(wire->local, "data/empty", NULL);
        g_autofree char *text = NULL, *linked = NULL, *into = NULL,
                        *gone = g_build_filename(wire->local, "back/empty", NULL), *nil = NULL;
        g_autoptr(GError) error = NULL;

        put(wire->local, "data/a", "hello", -1);
        put(wire->local, "data/sub/\xc3\xa4", "xyz", -1);
        put(wire->local, "data/nil", "", 0);
        g_assert_cmpint(symlink("a", link), ==, 0);
        g_assert_cmpint(mkdir(empty, 0755), ==, 0);
        g_assert_true(up(wire, "data", "/pfs/local/home/ann/d", &error));
        g_assert_cmpuint(wire->puts, ==, 3);
        g_assert_cmpuint(wire->last.files_done, ==, 4);
        g_assert_cmpuint(wire->last.bytes_done, ==, 13);
        g_assert_true(up(wire, "data", "/pfs/local/home/ann/d/", &error)); /* into it */
        g_assert_true(up(wire, "data", "/pfs/local/home/ann/d", &error));
        g_assert_cmpuint(wire->puts, ==, 0); /* all equal */
        g_assert_cmpuint(wire->last.bytes_sent, ==, 0);
        g_assert_true(down(wire, "/pfs/local/home/ann/d", "back", &error));
        text = get(wire->local, "back/sub/\xc3\xa4");
        g_assert_cmpstr(text, ==, "xyz");
        linked = get(wire->local, "back/link");
        g_assert_cmpstr(linked, ==, "hello");
        into = get(wire->local, "back/data/a");
        g_assert_cmpstr(into, ==, "hello");
        nil = get(wire->local, "back/nil");
        g_assert_cmpstr(nil, ==, "");
        g_assert_true(g_file_test(gone, G_FILE_TEST_IS_DIR));
        g_assert_true(down(wire, "/pfs/local/home/ann/d", "back", &error));
        g_assert_cmpuint(wire->reads, ==, 0);
}

static void test_resume(Wire *wire, gconstpointer unused)
{
        gsize len = 3 * (gsize)STORAGE_CHUNK + 17;
        g_autofree char *data = g_malloc(len), *old = NULL, *back = NULL, *part = NULL;
        g_autoptr(GError) error = NULL;

        for (gsize i = 0; i < len; i++)
                data[i] = (char)('a' + i / STORAGE_CHUNK + i % 13);
        put(wire->local, "big", data, (gssize)len);
        wire->breaks_after = 2;
        assert_refused(up(wire, "big", "/pfs/local/home/ann/big", error_), ERR_UNAVAILABLE,
                       "the line is cut");
        wire->breaks_after = -1;
        g_assert_true(up(wire, "big", "/pfs/local/home/ann/big", &error));
        g_assert_cmpuint(wire->puts, ==, 2);
        g_assert_cmpuint(wire->last.bytes_done, ==, len);
        put(wire->local, "got", "old", -1);
        wire->breaks_after = 1;
        assert_refused(down(wire, "/pfs/local/home/ann/big", "got", error_), ERR_UNAVAILABLE,
                       "the line is cut");
        old = get(wire->local, "got");
        g_assert_cmpstr(old, ==, "old");
        wire->breaks_after = -1;
        g_assert_true(down(wire, "/pfs/local/home/ann/big", "got", &error));
        g_assert_cmpuint(wire->reads, ==, 3);
        back = get(wire->local, "got");
        g_assert_true(memcmp(back, data, len) == 0);
        part = get(wire->local, "got.part");
        g_assert_null(part);
        data[STORAGE_CHUNK] = '!';
        put(wire->local, "big", data, (gssize)len);
        g_assert_true(up(wire, "big", "/pfs/local/home/ann/big", &error)); /* same size, other content */
        g_assert_true(down(wire, "/pfs/local/home/ann/big", "into/", &error));
        g_clear_pointer(&back, g_free);
        back = get(wire->local, "into/big");
        g_assert_true(memcmp(back, data, len) == 0);
}

static void test_refused(Wire *wire, gconstpointer unused)
{
        static const char *const lies[] = { "/pfs/local/home/ann/d/../../x", "/etc/passwd",
                                            "/pfs/local/home/ann/dx", "/pfs/local/home/ann/d//x" };
        g_autofree char *loop = g_build_filename(wire->local, "data/loop", NULL),
                        *pipe_path = g_build_filename(wire->local, "pipes/p", NULL);

        put(wire->local, "data/a", "hello", -1);
        put(wire->local, "pipes/a", "hello", -1);
        g_assert_true(up(wire, "data", "/pfs/local/home/ann/d", NULL));
        g_assert_cmpint(symlink(".", loop), ==, 0);
        g_assert_cmpint(mkfifo(pipe_path, 0600), ==, 0);
        assert_refused(up(wire, "data", "/pfs/local/home/ann/e", error_), ERR_INVALID, "link to a directory");
        assert_refused(up(wire, "pipes", "/pfs/local/home/ann/e", error_), ERR_INVALID,
                       "neither file nor directory");
        assert_refused(up(wire, "absent", "/pfs/local/home/ann/e", error_), ERR_NOT_FOUND, "absent");
        assert_refused(up(wire, "data/a", "/pfs/local/home/bob/e", error_), ERR_DENIED, "belongs to 'bob'");
        assert_refused(down(wire, "/pfs/local/home/ann/absent", "x", error_), ERR_NOT_FOUND,
                       "does not exist");
        for (gsize i = 0; i < G_N_ELEMENTS(lies); i++) {
                wire->lie = lies[i];
                if (down(wire, "/pfs/local/home/ann/d", "x", NULL))
                        g_error("'%s' was believed", lies[i]);
        }
        g_assert_cmpuint(count_names(wire->local, "x"), ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add("/storage/upload/tree", Wire, NULL, set_up, test_tree, tear_down);
        g_test_add("/storage/upload/resume", Wire, NULL, set_up, test_resume, tear_down);
        g_test_add("/storage/upload/refused", Wire, NULL, set_up, test_refused, tear_down);
        return g_test_run();
}
