/* The storage: names and access, links that try to escape, listings, interrupted uploads, a full disk. */
#include "storage/hash.h"
#include "storage/storage.h"

#include "base/clock.h"
#include "storage/test/scratch.h"
#include "storage/test/small-disk.h"

static const StorageAccess ann = { "ann", false, false };
static const StorageAccess root = { "root", true, false };

typedef struct {
        char *dir;
        Storage *storage;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;

        fixture->dir = scratch_new();
        fixture->storage = storage_open(fixture->dir, "local", &error);
        g_assert_no_error(error);
        put(fixture->dir, "local/home/ann/data/a.txt", "hello", -1);
        put(fixture->dir, "local/home/ann/data-b", "x", -1);
        put(fixture->dir, "local/home/ann/data/sub/c", "yz", -1);
        put(fixture->dir, "local/home/bob/secret", "bob's", -1);
        put(fixture->dir, "local/public/mnist", "digits", -1);
}

static void tear_down(Fixture *fixture, gconstpointer unused)
{
        storage_close(fixture->storage);
        scratch_free(fixture->dir);
}

static void test_refused(Fixture *fixture, gconstpointer unused)
{
        static const struct {
                const char *path, *says;
                ErrCode code;
                bool write;
        } cases[] = {
                { "/etc/passwd", "does not begin with /pfs/", ERR_INVALID, false },
                { "", "does not begin with /pfs/", ERR_INVALID, false },
                { "pfs/local/home/ann", "does not begin with /pfs/", ERR_INVALID, false },
                { "/pfs", "neither in a home nor in public", ERR_INVALID, false },
                { "/pfs/local", "neither in a home nor in public", ERR_INVALID, false },
                { "/pfs/local/home", "neither in a home nor in public", ERR_INVALID, false },
                { "/pfs/local/etc/x", "neither in a home nor in public", ERR_INVALID, false },
                { "/pfs/local/.upload/x", "neither in a home nor in public", ERR_INVALID, false },
                { "/pfs/mars/home/ann/x", "there is no datacenter 'mars'; the one of this server is 'local'",
                  ERR_NOT_FOUND, false },
                { "/pfs/local/home/bob/secret", "'/pfs/local/home/bob/secret' belongs to 'bob'", ERR_DENIED,
                  false },
                { "/pfs/local/home/ann/../bob/secret", "'.' and '..'", ERR_INVALID, false },
                { "/pfs/local/home/../public", "'.' and '..'", ERR_INVALID, false },
                { "/pfs/local/home/.upload", "not a user's name", ERR_INVALID, false },
                { "/pfs/local/home/a b/x", "not a user's name", ERR_INVALID, false },
                { "/pfs/local/home/ann/a\nb", "control", ERR_INVALID, false },
                { "/pfs/local/home/ann/\xff", "UTF-8", ERR_INVALID, false },
                { "/pfs/local/public/x", "only be written by administrators", ERR_DENIED, true },
        };
        g_autofree char *longer = g_strnfill(300, 'a'),
                        *path = g_strconcat("/pfs/local/home/ann/", longer, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                StorageAccess access = { "ann", false, cases[i].write };

                assert_refused(storage_resolve(fixture->storage, cases[i].path, &access, false, error_),
                               cases[i].code, cases[i].says);
        }
        assert_refused(storage_resolve(fixture->storage, path, &ann, false, error_), ERR_INVALID, "255");
        assert_refused(storage_open(fixture->dir, "../x", error_), ERR_INVALID, "datacenter");
}

static void test_allowed(Fixture *fixture, gconstpointer unused)
{
        static const struct {
                const char *path, *real;
                const StorageAccess access;
                bool make;
        } cases[] = {
                { "/pfs/local/home/ann/data/a.txt",
                  "local/home/ann/data/a.txt",
                  { "ann", false, false },
                  false },
                { "/pfs//local/home/ann//data/", "local/home/ann/data", { "ann", false, false }, false },
                { "/pfs/local/home/ann/not/yet", "local/home/ann/not/yet", { "ann", false, true }, false },
                { "/pfs/local/home/ann/out/x", "local/home/ann/out/x", { "ann", false, true }, true },
                { "/pfs/local/public/mnist", "local/public/mnist", { "ann", false, false }, false },
                { "/pfs/local/public/new", "local/public/new", { "root", true, true }, true },
                { "/pfs/local/home/bob/secret", "local/home/bob/secret", { "root", true, false }, false },
                { "/pfs/local/home/eve@x.org/a",
                  "local/home/eve@x.org/a",
                  { "eve@x.org", false, false },
                  false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *wanted = g_build_filename(fixture->dir, cases[i].real, NULL);
                g_autofree char *real = storage_resolve(fixture->storage, cases[i].path, &cases[i].access,
                                                        cases[i].make, &error);

                g_assert_no_error(error);
                g_assert_cmpstr(real, ==, wanted);
                g_assert_true(!cases[i].make || g_file_test(real, G_FILE_TEST_IS_DIR));
        }
}

/* Links that a job can create in its home. None leads outside, in any operation. */
static void test_escapes(Fixture *fixture, gconstpointer unused)
{
        static const struct {
                const char *target, *rest;
        } cases[] = { { "/etc", "/passwd" },           { "../bob", "/secret" },
                      { "../../public", "" },          { "../../../../../../etc", "/passwd" },
                      { "data/../../bob", "/secret" }, { "/proc/self/root/etc", "/passwd" },
                      { "..", "/bob/secret" } };
        g_autofree char *link = g_build_filename(fixture->dir, "local/home/ann/link", NULL), *secret = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strconcat("/pfs/local/home/ann/link", cases[i].rest, NULL);
                g_autofree char *below = g_strconcat(path, "/new/dir", NULL);
                g_autofree char *chunk = g_build_filename(fixture->dir, "chunk", NULL);
                char hash[HASH_LEN + 1];
                g_autoptr(json_t) chunks = NULL;

                put(fixture->dir, "chunk", "evil", -1);
                hash_bytes("evil", 4, hash);
                chunks = json_pack("[s]", hash);
                g_assert_cmpint(symlink(cases[i].target, link), ==, 0);
                assert_refused(storage_resolve(fixture->storage, path, &ann, false, error_), ERR_DENIED,
                               "leads out");
                assert_refused(storage_resolve(fixture->storage, below, &ann, true, error_), ERR_DENIED,
                               "leads out");
                assert_refused(storage_open_file(fixture->storage, path, &ann, error_) >= 0, ERR_DENIED,
                               "leads out");
                assert_refused(storage_list(fixture->storage, path, &ann, true, 100, error_), ERR_DENIED,
                               "leads out");
                assert_refused(storage_make_dir(fixture->storage, below, &ann, true, error_), ERR_DENIED,
                               "leads out");
                assert_refused(storage_remove(fixture->storage, below, &ann, true, error_), ERR_DENIED,
                               "leads out");
                assert_refused(storage_chunks(fixture->storage, path, &ann, false, error_), ERR_DENIED,
                               "leads out");
                g_assert_true(storage_put_chunk(fixture->storage, below, &ann, 0, hash, chunk, NULL));
                assert_refused(storage_finish(fixture->storage, below, &ann, 4, chunks, error_), ERR_DENIED,
                               "leads out");
                g_assert_true(storage_remove(fixture->storage, "/pfs/local/home/ann/link", &ann, true,
                                             NULL)); /* the link itself */
        }
        secret = get(fixture->dir, "local/home/bob/secret");
        g_assert_cmpstr(secret, ==, "bob's");
}

static char *listed(const Fixture *fixture, const char *path, const StorageAccess *access, bool recursive,
                    int limit)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) entries = storage_list(fixture->storage, path, access, recursive, limit, &error);
        GString *text = g_string_new(NULL);

        g_assert_no_error(error);
        for (guint i = 0; i < entries->len; i++) {
                const StorageEntry *entry = entries->pdata[i];

                g_string_append_printf(text, "%s%s:%" G_GUINT64_FORMAT " ",
                                       entry->path + strlen("/pfs/local/"), entry->is_dir ? "/" : "",
                                       entry->size);
                g_assert_cmpint(entry->mtime, >, 1000000000000);
        }
        return g_string_free(text, FALSE);
}

static void test_list(Fixture *fixture, gconstpointer unused)
{
        static const struct {
                const char *path, *wanted;
                bool recursive;
                int limit;
        } cases[] = {
                { "/pfs/local/home/ann", "home/ann/data/:0 home/ann/data-b:1 home/ann/in/:0 ", false, 100 },
                { "/pfs/local/home/ann/",
                  "home/ann/data/:0 home/ann/data/a.txt:5 home/ann/data/sub/:0 home/ann/data/sub/c:2 "
                  "home/ann/data-b:1 home/ann/in/:0 ",
                  true, 100 },
                { "/pfs/local/home/ann", "home/ann/data/:0 home/ann/data/a.txt:5 ", true, 2 },
                { "/pfs/local/home/ann/data/a.txt", "home/ann/data/a.txt:5 ", false, 100 },
                { "/pfs/local/home/ann/in", "home/ann/in/a.txt:5 home/ann/in/sub/:0 ", false, 100 },
                { "/pfs/local/public", "public/mnist:6 ", true, 100 },
        };
        g_autofree char *inside = g_build_filename(fixture->dir, "local/home/ann/in", NULL);
        g_autofree char *outside = g_build_filename(fixture->dir, "local/home/ann/out", NULL);
        g_autofree char *pipe_path = g_build_filename(fixture->dir, "local/home/ann/pipe", NULL),
                        *none = NULL;
        StorageAccess eve = { "eve", false, false };

        g_assert_cmpint(symlink("data", inside), ==, 0);
        g_assert_cmpint(symlink("/etc/passwd", outside), ==, 0);
        g_assert_cmpint(mkfifo(pipe_path, 0600), ==, 0);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text =
                        listed(fixture, cases[i].path, &ann, cases[i].recursive, cases[i].limit);

                g_assert_cmpstr(text, ==, cases[i].wanted);
        }
        none = listed(fixture, "/pfs/local/home/eve", &eve, true, 100);
        g_assert_cmpstr(none, ==, "");
        assert_refused(storage_list(fixture->storage, "/pfs/local/home/eve/x", &eve, true, 1, error_),
                       ERR_NOT_FOUND, "does not exist");
        assert_refused(storage_open_file(fixture->storage, "/pfs/local/home/ann/pipe", &ann, error_) >= 0,
                       ERR_INVALID, "neither");
}

static void test_dirs(Fixture *fixture, gconstpointer unused)
{
        g_autofree char *secret = NULL;

        g_assert_true(storage_make_dir(fixture->storage, "/pfs/local/home/ann/x/y/z", &ann, true, NULL));
        g_assert_true(storage_make_dir(fixture->storage, "/pfs/local/home/ann/x/y/z", &ann, true, NULL));
        assert_refused(storage_make_dir(fixture->storage, "/pfs/local/home/ann/data-b/x", &ann, true, error_),
                       ERR_CONFLICT, "is a file");
        assert_refused(storage_make_dir(fixture->storage, "/pfs/local/public/x", &ann, true, error_),
                       ERR_DENIED, "administrators");
        g_assert_true(storage_make_dir(fixture->storage, "/pfs/local/public/x", &root, true, NULL));
        assert_refused(storage_remove(fixture->storage, "/pfs/local/home/ann/x", &ann, false, error_),
                       ERR_CONFLICT, "not empty");
        g_assert_true(storage_remove(fixture->storage, "/pfs/local/home/ann/x/y/z", &ann, false, NULL));
        g_assert_true(storage_remove(fixture->storage, "/pfs/local/home/ann/x", &ann, true, NULL));
        assert_refused(storage_remove(fixture->storage, "/pfs/local/home/ann/x", &ann, true, error_),
                       ERR_NOT_FOUND, "does not exist");
        assert_refused(storage_remove(fixture->storage, "/pfs/local/home/ann", &ann, true, error_),
                       ERR_DENIED, "itself");
        assert_refused(storage_remove(fixture->storage, "/pfs/local/home/bob/secret", &ann, true, error_),
                       ERR_DENIED, "'bob'");
        secret = get(fixture->dir, "local/home/bob/secret");
        g_assert_nonnull(secret);
        g_assert_cmpuint(count_names(fixture->dir, "local/.upload"), ==, 0);
}

static bool move(const Fixture *fixture, const char *from, const char *to, bool replace, GError **error)
{
        g_autofree char *source = g_strconcat("/pfs/local/home/", from, NULL);
        g_autofree char *target = g_strconcat("/pfs/local/home/", to, NULL);

        return storage_move(fixture->storage, source, target, &ann, replace, error);
}

static void test_move(Fixture *fixture, gconstpointer unused)
{
        static const struct {
                const char *from, *to;
                bool replace;
                ErrCode code; /* 0: success */
                const char *says;
        } cases[] = {
                { "ann/data/a.txt", "ann/a", false, 0, NULL },
                { "ann/a", "ann/data-b", false, ERR_EXISTS, "'/pfs/local/home/ann/data-b' exists already" },
                { "ann/a", "ann/data", true, ERR_CONFLICT, "is a directory" },
                { "ann/data", "ann/a", true, ERR_CONFLICT, "is a file" },
                { "ann/a", "ann/data-b", true, 0, NULL },
                { "ann/data/sub", "ann/new/sub", false, ERR_NOT_FOUND,
                  "no directory '/pfs/local/home/ann/new'" },
                { "ann/data", "ann/data/sub/x", false, ERR_INVALID, "into itself" },
                { "ann/data", "ann/data/sub/x", true, ERR_INVALID, "into itself" },
                { "ann/none", "ann/x", false, ERR_NOT_FOUND, "'/pfs/local/home/ann/none' does not exist" },
                { "ann/data/sub", "ann/sub", false, 0, NULL },
                { "ann/sub", "ann/full", false, 0, NULL },
                { "ann/full/c", "ann/data/c", false, 0, NULL },
                { "ann/data", "ann/full", true, 0, NULL }, /* an empty directory is replaced */
                { "ann/full/link", "ann/link", false, 0, NULL },
                { "ann/link", "ann/full/link", false, 0, NULL },
                { "ann", "ann/x", false, ERR_DENIED, "itself" },
                { "ann/full", "ann", false, ERR_EXISTS, "exists already" },
                { "ann/full", "bob/full", false, ERR_DENIED, "belongs to 'bob'" },
                { "bob/secret", "ann/secret", false, ERR_DENIED, "belongs to 'bob'" },
                { "ann/full/link/x", "ann/x", false, ERR_DENIED, "leads out" },
                { "ann/full/c", "ann/full/link/x", false, ERR_DENIED, "leads out" },
        };
        g_autofree char *link = g_build_filename(fixture->dir, "local/home/ann/data/link", NULL);
        g_autofree char *text = NULL, *moved = NULL;

        g_assert_cmpint(symlink("../../bob", link), ==, 0);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                if (cases[i].code) {
                        assert_refused(move(fixture, cases[i].from, cases[i].to, cases[i].replace, error_),
                                       cases[i].code, cases[i].says);
                        continue;
                }
                move(fixture, cases[i].from, cases[i].to, cases[i].replace, &error);
                g_assert_no_error(error);
        }
        text = listed(fixture, "/pfs/local/home/ann", &ann, true, 100);
        g_assert_cmpstr(text, ==, "home/ann/data-b:5 home/ann/full/:0 home/ann/full/c:2 ");
        moved = get(fixture->dir, "local/home/ann/data-b");
        g_assert_cmpstr(moved, ==, "hello");
        assert_refused(storage_move(fixture->storage, "/pfs/local/home/ann/data-b", "/pfs/local/public/x",
                                    &ann, false, error_),
                       ERR_DENIED, "administrators");
        assert_refused(storage_move(fixture->storage, "/pfs/local/public/mnist", "/pfs/local/home/ann/x",
                                    &ann, false, error_),
                       ERR_DENIED, "administrators");
        g_assert_true(storage_move(fixture->storage, "/pfs/local/public/mnist", "/pfs/local/home/ann/x",
                                   &root, false, NULL));
}

static void test_entries(Fixture *fixture, gconstpointer unused)
{
        g_autofree char *lost = g_build_filename(fixture->dir, "local/home/ann/lost", NULL);
        g_autofree char *near = g_build_filename(fixture->dir, "local/home/ann/near", NULL);
        g_autoptr(GPtrArray) all = NULL, self = NULL, link = NULL, none = NULL;
        const StorageAccess eve = { "eve", false, false };
        const StorageEntry *entry;

        g_assert_cmpint(symlink("/nowhere", lost), ==, 0);
        g_assert_cmpint(symlink("data", near), ==, 0);
        all = storage_list(fixture->storage, "/pfs/local/home/ann", &ann, STORAGE_LIST_ALL, 100, NULL);
        g_assert_cmpuint(all->len, ==, 4); /* data, data-b, lost, near */
        entry = all->pdata[2];
        g_assert_true(S_ISLNK(entry->mode) && !entry->is_dir && entry->size == 0);
        entry = all->pdata[3];
        g_assert_true(S_ISLNK(entry->mode) && entry->is_dir);
        self = storage_list(fixture->storage, "/pfs/local/home/ann/data", &ann, STORAGE_LIST_SELF, 100, NULL);
        g_assert_cmpuint(self->len, ==, 1);
        entry = self->pdata[0];
        g_assert_true(S_ISDIR(entry->mode) && entry->is_dir);
        g_assert_cmpstr(entry->path, ==, "/pfs/local/home/ann/data");
        link = storage_list(fixture->storage, "/pfs/local/home/ann/lost", &ann, STORAGE_LIST_SELF, 100, NULL);
        g_assert_cmpuint(link->len, ==, 1);
        none = storage_list(fixture->storage, "/pfs/local/home/eve", &eve, STORAGE_LIST_SELF, 100, NULL);
        g_assert_cmpuint(none->len, ==, 1);
        assert_refused(storage_list(fixture->storage, "/pfs/local/home/ann/none", &ann, STORAGE_LIST_SELF, 1,
                                    error_),
                       ERR_NOT_FOUND, "does not exist");
}

static void test_count(Fixture *fixture, gconstpointer unused)
{
        g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)storage_count_free);
        g_autofree char *link = g_build_filename(fixture->dir, "local/home/ann/link", NULL);
        StorageCount *count, *sub;
        bool more;

        g_assert_cmpint(symlink("data", link), ==, 0);
        count = storage_count_of(fixture->storage, "/pfs/local/home/ann", &ann, parts, 100, &more, NULL);
        g_assert_cmpint(count->size, ==, 8); /* hello, x, yz */
        g_assert_cmpint(count->files, ==, 4);
        g_assert_cmpint(count->dirs, ==, 3);
        g_assert_false(more);
        g_assert_cmpuint(parts->len, ==, 1);
        sub = parts->pdata[0];
        g_assert_cmpstr(sub->path, ==, "/pfs/local/home/ann/data");
        g_assert_cmpint(sub->size, ==, 7);
        g_assert_cmpint(sub->files + sub->dirs, ==, 4);
        storage_count_free(count);
        count = storage_count_of(fixture->storage, "/pfs/local/home/ann/link", &ann, NULL, 0, &more, NULL);
        g_assert_true(count->is_dir && count->size == 7); /* its target, inside the home */
        storage_count_free(count);
        g_ptr_array_set_size(parts, 0);
        count = storage_count_of(fixture->storage, "/pfs/local/home/ann", &ann, parts, 0, &more, NULL);
        g_assert_true(more);
        storage_count_free(count);
        assert_refused(storage_count_of(fixture->storage, "/pfs/local/home/bob", &ann, NULL, 0, &more,
                                        error_),
                       ERR_DENIED, "'bob'");
        assert_refused(storage_count_of(fixture->storage, "/pfs/local/home/ann/none", &ann, NULL, 0, &more,
                                        error_),
                       ERR_NOT_FOUND, "does not exist");
}

static void limit_of(const char *user, DiskAmount *ret, void *arg)
{
        *ret = (DiskAmount){ 0 };
}

static void test_removed_counts(Fixture *fixture, gconstpointer unused)
{
        g_autoptr(Ledger) ledger = ledger_new(limit_of, NULL);
        StorageCount *count;
        DiskUse use;
        DiskAmount limit;
        bool more;

        storage_count(fixture->storage, ledger);
        count = storage_count_of(fixture->storage, "/pfs/local/home/ann/data", &ann, NULL, 0, &more, NULL);
        ledger_add(ledger, "ann", DISK_HOME, count->bytes + 4096, count->files + count->dirs + 1);
        g_assert_true(storage_remove(fixture->storage, "/pfs/local/home/ann/data", &ann, true, NULL));
        ledger_use(ledger, "ann", &use, &limit);
        g_assert_cmpint(use.of[DISK_HOME].bytes, ==, 4096);
        g_assert_cmpint(use.of[DISK_HOME].files, ==, 1);
        storage_count_free(count);
}

/* The next sweep deletes the rest of an interrupted removal; uploads are kept. */
static void test_sweep(Fixture *fixture, gconstpointer unused)
{
        put(fixture->dir, "local/.upload/gone.x/tree/a", "x", -1);
        put(fixture->dir, "local/.upload/kept/data", "x", -1);
        storage_sweep(fixture->storage);
        g_assert_cmpuint(count_names(fixture->dir, "local/.upload"), ==, 1);
}

/* Uploads */

static bool put_chunk(const Fixture *fixture, const char *path, guint64 index, const char *data, gsize len,
                      const char *hash, GError **error)
{
        g_autofree char *name = g_strdup_printf("chunk.%p.%d", (void *)data, (int)index);
        g_autofree char *file = g_build_filename(fixture->dir, name, NULL);
        char own[HASH_LEN + 1];

        put(fixture->dir, name, data, (gssize)len);
        hash_bytes(data, len, own);
        return storage_put_chunk(fixture->storage, path, &ann, index, hash ? hash : own, file, error);
}

static json_t *hashes_of(const char *data, gsize len)
{
        json_t *chunks = json_array();

        for (gsize at = 0; at < len; at += STORAGE_CHUNK) {
                char hash[HASH_LEN + 1];

                hash_bytes(data + at, MIN(len - at, (gsize)STORAGE_CHUNK), hash);
                json_array_append_new(chunks, json_string(hash));
        }
        return chunks;
}

static void test_upload(Fixture *fixture, gconstpointer unused)
{
        const char *path = "/pfs/local/home/ann/new/big";
        gsize len = 2 * STORAGE_CHUNK + 100;
        g_autofree char *data = g_strnfill(len, 'a'), *old = NULL, *before = NULL;
        g_autoptr(json_t) chunks = NULL, state = NULL, done = NULL, none = NULL, short_list = json_array();
        g_autoptr(GError) error = NULL;

        memset(data + STORAGE_CHUNK, 'b', STORAGE_CHUNK);
        chunks = hashes_of(data, len);
        put(fixture->dir, "local/home/ann/new/big", "old", -1);
        g_assert_true(
                put_chunk(fixture, path, 2, data + 2 * STORAGE_CHUNK, 100, NULL, &error)); /* in any order */
        g_assert_true(put_chunk(fixture, path, 0, data, STORAGE_CHUNK, NULL, &error));
        before = listed(fixture, "/pfs/local/home/ann/new", &ann, true, 100);
        g_assert_cmpstr(before, ==, "home/ann/new/big:3 "); /* the old file is kept until the end */
        storage_close(fixture->storage);
        fixture->storage = storage_open(fixture->dir, "local", &error); /* a restart loses nothing */
        state = storage_chunks(fixture->storage, path, &ann, true, &error);
        g_assert_cmpint(json_integer_value(json_object_get(state, "size")), ==, STORAGE_CHUNK + 100);
        g_assert_true(
                json_equal(json_array_get(json_object_get(state, "chunks"), 0), json_array_get(chunks, 0)));
        g_assert_true(json_is_null(json_array_get(json_object_get(state, "chunks"), 1)));
        assert_refused(storage_finish(fixture->storage, path, &ann, len, chunks, error_), ERR_CONFLICT,
                       "chunk 1 of 3 has not arrived");
        g_assert_true(put_chunk(fixture, path, 1, data + STORAGE_CHUNK, STORAGE_CHUNK, NULL, &error));
        assert_refused(storage_finish(fixture->storage, path, &ann, len, short_list, error_), ERR_INVALID,
                       "have 3 chunks");
        assert_refused(storage_finish(fixture->storage, path, &ann, len + 1, chunks, error_), ERR_CONFLICT,
                       "100 bytes, but its place has 101");
        old = get(fixture->dir, "local/home/ann/new/big");
        g_assert_cmpstr(old, ==, "old");
        g_assert_true(storage_finish(fixture->storage, path, &ann, len, chunks, &error));
        done = storage_chunks(fixture->storage, path, &ann, false, &error);
        g_assert_true(json_equal(json_object_get(done, "chunks"), chunks));
        g_assert_cmpint(json_integer_value(json_object_get(done, "size")), ==, len);
        none = storage_chunks(fixture->storage, path, &ann, true, &error);
        g_assert_cmpint(json_integer_value(json_object_get(none, "size")), ==, 0);
        g_assert_cmpuint(count_names(fixture->dir, "local/.upload"), ==, 0);
}

/* An unfinished upload is deleted, unless a chunk arrived since the survey. */
static void test_drop_upload(Fixture *fixture, gconstpointer unused)
{
        const char *path = "/pfs/local/home/ann/never";
        gint64 before = clock_now_ms() - 1000, after = clock_now_ms() + 60 * 1000;
        g_autoptr(json_t) state = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *dir = NULL, *user = NULL;
        char name[HASH_LEN + 1];
        bool gone;

        hash_bytes(path, strlen(path), name);
        dir = g_build_filename(fixture->dir, "local/.upload", name, NULL);
        g_assert_true(put_chunk(fixture, path, 0, "x", 1, NULL, &error));
        user = storage_upload_user(dir);
        g_assert_cmpstr(user, ==, "ann");
        g_assert_true(storage_drop_upload(fixture->storage, name, before, &gone, &error));
        g_assert_false(gone);
        g_assert_true(storage_drop_upload(fixture->storage, name, after, &gone, &error));
        g_assert_true(gone);
        g_assert_cmpuint(count_names(fixture->dir, "local/.upload"), ==, 0);
        g_assert_null(storage_upload_user(dir));
        state = storage_chunks(fixture->storage, path, &ann, true, &error);
        g_assert_cmpint(json_integer_value(json_object_get(state, "size")), ==, 0);
        g_assert_true(storage_drop_upload(fixture->storage, name, after, &gone, &error));
        g_assert_false(gone); /* already */
        g_assert_true(put_chunk(fixture, path, 0, "x", 1, NULL, &error));
}

static void test_upload_refused(Fixture *fixture, gconstpointer unused)
{
        const char *path = "/pfs/local/home/ann/f";
        g_autofree char *large = g_strnfill(STORAGE_CHUNK + 1, 'x');
        g_autoptr(json_t) chunks = hashes_of("abc", 3), other = hashes_of("abd", 3),
                          wrong = json_pack("[s]", "zz"), empty = json_array();
        char hash[HASH_LEN + 1];

        hash_bytes("other", 5, hash);
        assert_refused(put_chunk(fixture, path, 0, "abc", 3, hash, error_), ERR_INVALID,
                       "the received bytes have the hash");
        assert_refused(put_chunk(fixture, path, 0, "abc", 0, NULL, error_), ERR_INVALID, "1 to");
        assert_refused(put_chunk(fixture, path, 0, large, STORAGE_CHUNK + 1, NULL, error_), ERR_TOO_LARGE,
                       "1 to");
        assert_refused(put_chunk(fixture, path, 1 << 30, "abc", 3, NULL, error_), ERR_TOO_LARGE, "beyond");
        assert_refused(put_chunk(fixture, "/pfs/local/public/f", 0, "abc", 3, NULL, error_), ERR_DENIED,
                       "administrators");
        assert_refused(put_chunk(fixture, "/pfs/local/home/ann", 0, "abc", 3, NULL, error_), ERR_CONFLICT,
                       "is a directory");
        assert_refused(storage_finish(fixture->storage, path, &ann, 3, chunks, error_), ERR_CONFLICT,
                       "nothing of it has arrived");
        g_assert_true(put_chunk(fixture, path, 0, "abc", 3, NULL, NULL));
        assert_refused(storage_finish(fixture->storage, path, &ann, 3, other, error_), ERR_CONFLICT,
                       "arrived with the hash");
        assert_refused(storage_finish(fixture->storage, path, &ann, 3, wrong, error_), ERR_INVALID,
                       "chunks[0]");
        assert_refused(storage_chunks(fixture->storage, path, &ann, false, error_), ERR_NOT_FOUND,
                       "does not exist");
        g_assert_true(storage_finish(fixture->storage, path, &ann, 3, chunks, NULL));
        g_assert_true(storage_finish(fixture->storage, "/pfs/local/home/ann/nil", &ann, 0, empty, NULL));
        g_assert_true(put_chunk(fixture, "/pfs/local/home/ann/data", 0, "abc", 3, NULL, NULL));
        assert_refused(storage_finish(fixture->storage, "/pfs/local/home/ann/data", &ann, 3, chunks, error_),
                       ERR_CONFLICT, "is a directory");
        g_assert_true(put_chunk(fixture, "/pfs/local/home/ann/f/x", 0, "abc", 3, NULL, NULL));
        assert_refused(storage_finish(fixture->storage, "/pfs/local/home/ann/f/x", &ann, 3, chunks, error_),
                       ERR_CONFLICT, "is a file");
}

/* Eight threads put the chunks of one file. */

enum { PARTS = 8 };
typedef struct {
        const Fixture *fixture;
        const char *data;
        guint64 index;
} Part;

static gpointer put_part(gpointer arg)
{
        const Part *part = arg;
        g_autoptr(GError) error = NULL;

        if (!put_chunk(part->fixture, "/pfs/local/home/ann/par", part->index,
                       part->data + part->index * STORAGE_CHUNK, STORAGE_CHUNK, NULL, &error))
                g_error("%s", error->message);
        return NULL;
}

static void test_parallel(Fixture *fixture, gconstpointer unused)
{
        gsize len = PARTS * (gsize)STORAGE_CHUNK;
        g_autofree char *data = g_malloc(len);
        g_autoptr(json_t) chunks = NULL, done = NULL;
        g_autoptr(GError) error = NULL;
        GThread *threads[PARTS];
        Part parts[PARTS];

        for (guint64 i = 0; i < PARTS; i++) {
                memset(data + i * STORAGE_CHUNK, 'a' + (int)i, STORAGE_CHUNK);
                parts[i] = (Part){ fixture, data, i };
        }
        chunks = hashes_of(data, len);
        for (int i = 0; i < PARTS; i++)
                threads[i] = g_thread_new("part", put_part, &parts[i]);
        for (int i = 0; i < PARTS; i++)
                g_thread_join(threads[i]);
        g_assert_true(storage_finish(fixture->storage, "/pfs/local/home/ann/par", &ann, len, chunks, &error));
        done = storage_chunks(fixture->storage, "/pfs/local/home/ann/par", &ann, false, &error);
        g_assert_true(json_equal(json_object_get(done, "chunks"), chunks));
}

static void fill_disk(const char *dir)
{
        Fixture fixture = { .dir = (char *)dir };
        g_autofree char *local = g_build_filename(dir, "disk", NULL), *large = g_strnfill(2 << 20, 'x');
        g_autoptr(GError) error = NULL;

        fixture.storage = storage_open(local, "local", &error);
        g_assert_no_error(error);
        assert_refused(put_chunk(&fixture, "/pfs/local/home/ann/f", 0, large, 2 << 20, NULL, error_),
                       ERR_NO_SPACE, "Free some space");
        g_assert_cmpuint(count_names(local, "local/home/ann"), ==, 0);
        storage_close(fixture.storage);
}

static void test_full_disk(void)
{
        on_small_disk(fill_disk);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*run)(Fixture *fixture, gconstpointer unused);
        } tests[] = {
                { "/storage/storage/refused", test_refused },
                { "/storage/storage/allowed", test_allowed },
                { "/storage/storage/escapes", test_escapes },
                { "/storage/storage/list", test_list },
                { "/storage/storage/dirs", test_dirs },
                { "/storage/storage/move", test_move },
                { "/storage/storage/entries", test_entries },
                { "/storage/storage/count", test_count },
                { "/storage/storage/removed-counts", test_removed_counts },
                { "/storage/storage/sweep", test_sweep },
                { "/storage/storage/upload", test_upload },
                { "/storage/storage/drop-upload", test_drop_upload },
                { "/storage/storage/upload-refused", test_upload_refused },
                { "/storage/storage/parallel", test_parallel },
        };

        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        g_test_add_func("/storage/storage/full-disk", test_full_disk);
        return g_test_run();
}
