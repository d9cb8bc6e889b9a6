/* Archives: accepted ones, and refused ones, which leave nothing behind. The test builds the hostile ones
 * with libarchive. */
#include <archive.h>
#include <archive_entry.h>

#include "package/package.h"
#include "storage/test/scratch.h"

typedef struct {
        const char *name;
        mode_t type;        /* S_IFREG when 0 */
        const char *target; /* of a link */
        const char *data;   /* of a file */
        bool hard;
} Member;

enum { MEMBERS_MAX = 6 };

static void write_member(struct archive *archive, const Member *member)
{
        struct archive_entry *entry = archive_entry_new();
        mode_t type = member->type ? member->type : S_IFREG;
        gsize len = member->data && !member->hard ? strlen(member->data) : 0;

        archive_entry_set_pathname(entry, member->name);
        archive_entry_set_filetype(entry, type);
        archive_entry_set_perm(entry, g_str_has_suffix(member->name, ".sh") ? 0755 : 0644);
        archive_entry_set_size(entry, (la_int64_t)len);
        if (member->hard)
                archive_entry_set_hardlink(entry, member->target);
        else if (member->target)
                archive_entry_set_symlink(entry, member->target);
        g_assert_cmpint(archive_write_header(archive, entry), >=, ARCHIVE_WARN);
        if (len > 0)
                g_assert_cmpint(archive_write_data(archive, member->data, len), ==, len);
        archive_entry_free(entry);
}

static char *make_archive(const char *dir, const Member *members, bool zip)
{
        g_autofree char *path = g_build_filename(dir, "archive", NULL);
        struct archive *archive = archive_write_new();

        if (zip)
                archive_write_set_format_zip(archive);
        else
                archive_write_set_format_gnutar(archive);
        if (!zip)
                archive_write_add_filter_gzip(archive);
        g_assert_cmpint(archive_write_open_filename(archive, path), ==, ARCHIVE_OK);
        for (; members->name; members++)
                write_member(archive, members);
        g_assert_cmpint(archive_write_close(archive), ==, ARCHIVE_OK);
        archive_write_free(archive);
        return g_steal_pointer(&path);
}

static const struct {
        const char *says;
        ErrCode code;
        Member members[MEMBERS_MAX];
} refused[] = {
        { "'/etc/passwd': a path is relative", ERR_INVALID, { { "/etc/passwd", .data = "x" } } },
        { "'../x': '.' and '..'", ERR_INVALID, { { "../x", .data = "x" } } },
        { "'a/../../x'", ERR_INVALID, { { "a/../../x", .data = "x" } } },
        { "link 'l' to '/etc'", ERR_INVALID, { { "l", S_IFLNK, "/etc" } } },
        { "link 'l' to '../x': it points out", ERR_INVALID, { { "l", S_IFLNK, "../x" } } },
        { "link 'a/l' to '../../x'", ERR_INVALID, { { "a/l", S_IFLNK, "../../x" } } },
        { "front of a link",
          ERR_INVALID,
          { { "d/e/f", S_IFLNK, "../.." }, { "l", S_IFLNK, "d/e/f/../.." } } },
        { "'l/x' lies below 'l', which is a link",
          ERR_INVALID,
          { { "l", S_IFLNK, "a" }, { "l/x", .data = "x" } } },
        { "which is a link", ERR_INVALID, { { "l/x", .data = "x" }, { "l", S_IFLNK, "a" } } },
        { "'l' is in the archive twice", ERR_INVALID, { { "l", S_IFLNK, "a" }, { "l", .data = "x" } } },
        { "'l' is in the archive twice", ERR_INVALID, { { "l", S_IFLNK, "a" }, { "./l/", S_IFDIR } } },
        { "'f/x' lies below 'f', which is a file",
          ERR_INVALID,
          { { "f", .data = "x" }, { "f/x", .data = "x" } } },
        { "no such file before it", ERR_INVALID, { { "h", .target = "nothing", .hard = true } } },
        { "a path is relative", ERR_INVALID, { { "h", .target = "/etc/passwd", .hard = true } } },
        { "'.' and '..'", ERR_INVALID, { { "h", .target = "../../etc/passwd", .hard = true } } },
        { "'dev' is a device", ERR_INVALID, { { "dev", S_IFCHR } } },
        { "'blk' is a device", ERR_INVALID, { { "blk", S_IFBLK } } },
        { "'pipe' is a named pipe", ERR_INVALID, { { "pipe", S_IFIFO } } },
        { "control bytes", ERR_INVALID, { { "a\nb", .data = "x" } } },
        { "more than 4 entries",
          ERR_TOO_LARGE,
          { { "1", .data = "" },
            { "2", .data = "" },
            { "3", .data = "" },
            { "4", .data = "" },
            { "5", .data = "" } } },
        { "'2': with it the archive unpacks to more than 20 bytes",
          ERR_TOO_LARGE,
          { { "1", .data = "1234567890" }, { "2", .data = "12345678901" } } },
        { "more than 20 bytes",
          ERR_TOO_LARGE,
          { { "1", .data = "123456789012345" }, { "2", .target = "1", .hard = true } } },
};

static void nothing_left(const char *dir)
{
        guint blobs = 0;

        for (int i = 0; i < 256; i++) {
                g_autofree char *name = g_strdup_printf("store/blobs/%02x", (unsigned)i);

                blobs += count_names(dir, name);
        }
        g_assert_cmpuint(blobs, ==, 0);
        g_assert_cmpuint(count_names(dir, "store/upload"), ==, 0);
        g_assert_cmpuint(count_names(dir, "store/manifests"), ==, 0);
        g_assert_cmpuint(count_names(dir, "store"), ==, 4);
}

static PackageStore *open_store(const char *dir)
{
        g_autofree char *path = g_build_filename(dir, "store", NULL);
        g_autoptr(GError) error = NULL;
        PackageStore *store = package_store_open(path, &error);

        g_assert_no_error(error);
        return store;
}

static void test_refused(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
                g_autoptr(Scratch) dir = scratch_new();
                g_autoptr(PackageStore) store = open_store(dir);
                g_autofree char *archive = make_archive(dir, refused[i].members, false);
                char hash[HASH_LEN + 1];

                package_store_limit(store, 4, 20);
                assert_refused(package_store_unpack(store, "ann", archive, hash, error_), refused[i].code,
                               refused[i].says);
                nothing_left(dir);
        }
}

static void test_zip_refused(void)
{
        static const Member members[] = { { "ok", .data = "x" }, { "../../evil", .data = "x" }, { NULL } };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(PackageStore) store = open_store(dir);
        g_autofree char *archive = make_archive(dir, members, true);
        char hash[HASH_LEN + 1];

        assert_refused(package_store_unpack(store, "ann", archive, hash, error_), ERR_INVALID,
                       "'../../evil'");
        nothing_left(dir);
}

static void test_not_archives(void)
{
        static const char *const texts[] = { "", "hello", "PK\x03\x04 broken", "\x1f\x8b\x08 broken" };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(Scratch) dir = scratch_new();
                g_autoptr(PackageStore) store = open_store(dir);
                g_autofree char *path = g_build_filename(dir, "archive", NULL);
                char hash[HASH_LEN + 1];

                put(dir, "archive", texts[i], -1);
                assert_refused(package_store_unpack(store, "ann", path, hash, error_), ERR_INVALID,
                               "archive: ");
                nothing_left(dir);
        }
}

static void test_cut_off(void)
{
        static const Member members[] = { { "a", .data = "some text that is long enough to be cut" },
                                          { NULL } };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(PackageStore) store = open_store(dir);
        g_autofree char *archive = make_archive(dir, members, false);
        char hash[HASH_LEN + 1];

        g_assert_cmpint(truncate(archive, 60), ==, 0);
        assert_refused(package_store_unpack(store, "ann", archive, hash, error_), ERR_INVALID, "archive: ");
        nothing_left(dir);
}

/* 100 MB of zeros in some 100 kB, packed twice so that the ratio is far beyond 1000:1. */
static void test_bomb(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(PackageStore) store = open_store(dir);
        g_autofree char *path = g_build_filename(dir, "bomb", NULL), *zeros = g_malloc0(1 << 20);
        struct archive *archive = archive_write_new();
        struct archive_entry *entry = archive_entry_new();
        char hash[HASH_LEN + 1];

        archive_write_set_format_gnutar(archive);
        archive_write_add_filter_gzip(archive);
        archive_write_add_filter_gzip(archive);
        g_assert_cmpint(archive_write_open_filename(archive, path), ==, ARCHIVE_OK);
        archive_entry_set_pathname(entry, "zeros");
        archive_entry_set_filetype(entry, S_IFREG);
        archive_entry_set_size(entry, 100 << 20);
        g_assert_cmpint(archive_write_header(archive, entry), ==, ARCHIVE_OK);
        for (int i = 0; i < 100; i++)
                g_assert_cmpint(archive_write_data(archive, zeros, 1 << 20), ==, 1 << 20);
        archive_entry_free(entry);
        archive_write_free(archive);
        assert_refused(package_store_unpack(store, "ann", path, hash, error_), ERR_TOO_LARGE,
                       "more than 1000:1");
        nothing_left(dir);
}

static void test_tar(void)
{
        static const Member members[] = { { "./", S_IFDIR },
                                          { "./gr\xc3\xbc\xc3\x9f/", S_IFDIR },
                                          { "./gr\xc3\xbc\xc3\x9f/a.py", .data = "print(1)\n" },
                                          { "run.sh", .data = "#!/bin/sh\n" },
                                          { "link", S_IFLNK, "gr\xc3\xbc\xc3\x9f/a.py" },
                                          { "empty/", S_IFDIR },
                                          { "again", .target = "run.sh", .hard = true },
                                          { NULL } };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(PackageStore) store = open_store(dir);
        g_autofree char *archive = make_archive(dir, members, false);
        g_autofree char *tree = NULL, *text = NULL, *target = NULL, *run = NULL, *link = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = NULL;
        char hash[HASH_LEN + 1] = "", second[HASH_LEN + 1];
        struct stat st;

        package_store_unpack(store, "ann", archive, hash, &error);
        g_assert_no_error(error);
        tree = package_store_path(store, hash);
        text = get(tree, "gr\xc3\xbc\xc3\x9f/a.py");
        g_assert_cmpstr(text, ==, "print(1)\n");
        link = g_build_filename(tree, "link", NULL);
        target = g_file_read_link(link, NULL);
        g_assert_cmpstr(target, ==, "gr\xc3\xbc\xc3\x9f/a.py");
        run = g_build_filename(tree, "run.sh", NULL);
        g_assert_cmpint(stat(run, &st), ==, 0);
        g_assert_true((st.st_mode & 0777) == 0555);
        manifest = manifest_of_directory(tree, NULL, NULL, &error);
        g_assert_cmpstr(manifest->hash, ==, hash); /* the archive does not change the hash */
        g_assert_cmpuint(manifest->entries->len, ==, 5);
        g_assert_true(package_store_unpack(store, "ann", archive, second, &error));
        g_assert_cmpstr(second, ==, hash);
        g_assert_cmpuint(count_names(dir, "store/upload"), ==, 0);
}

static void test_zip(void)
{
        static const Member members[] = {
                { "d/", S_IFDIR }, { "d/a.py", .data = "print(1)\n" }, { "run.sh", .data = "x" }, { NULL }
        };
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(PackageStore) store = open_store(dir);
        g_autofree char *archive = make_archive(dir, members, true), *tree = NULL, *text = NULL;
        g_autoptr(GError) error = NULL;
        char hash[HASH_LEN + 1] = "";

        package_store_unpack(store, "ann", archive, hash, &error);
        g_assert_no_error(error);
        tree = package_store_path(store, hash);
        text = get(tree, "d/a.py");
        g_assert_cmpstr(text, ==, "print(1)\n");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/package/unpack/refused", test_refused);
        g_test_add_func("/package/unpack/zip-refused", test_zip_refused);
        g_test_add_func("/package/unpack/not-archives", test_not_archives);
        g_test_add_func("/package/unpack/cut-off", test_cut_off);
        g_test_add_func("/package/unpack/bomb", test_bomb);
        g_test_add_func("/package/unpack/tar", test_tar);
        g_test_add_func("/package/unpack/zip", test_zip);
        return g_test_run();
}
