/* Archives as packages (package_store_unpack in package.h), with libarchive. Only this file and tar.c use it,
 * so that the command line does not load it.
 *
 * Names of an archive never reach the disk: contents are written under numbers while they are hashed, names
 * and links become entries of a manifest, and only a valid manifest becomes a tree. So "..", absolute names,
 * links and writing through links have no effect; they are refused here so that the error names the entry and
 * the rule. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "package/internal.h"
#include "package/manifest.h"
#include "package/package-owner.h"
#include "storage/hash.h"

typedef struct archive Archive;
static void archive_end(Archive *archive)
{
        archive_read_free(archive);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Archive, archive_end)

enum {
        BLOCK = 64 * 1024,
        RESERVED = 4 * 1024 * 1024,    /* of the quota in one step */
        RATIO_MAX = 1000,              /* deflate reaches at most 1032:1; programs stay far below */
        RATIO_FROM = 64 * 1024 * 1024, /* bytes; a smaller result is harmless */
};

typedef struct {
        PackageStore *store;
        const char *user;
        Archive *archive;
        Staging staging;
        Manifest *manifest;
        GHashTable *by_path; /* Entry *, borrowed from manifest */
        guint headers;
        guint64 bytes;
        guint64 reserved; /* reserved from the user's quota for unpacked bytes */
        char *buffer;
} Unpack;

static bool archive_fault(Unpack *unpack, GError **error)
{
        const char *text = archive_error_string(unpack->archive);

        return err_set(error, ERR_INVALID, "it cannot be read as tar, tar.gz, tar.xz or zip: %s",
                       text ? text : "unknown form");
}

/* "./a//b/" becomes "a/b"; the root becomes "". path_check refuses other problems. */
static char *name_normal(const char *name)
{
        GString *normal = g_string_new(*name == '/' ? "/" : "");
        gsize start = normal->len;

        while (*name) {
                gsize len = strcspn(name, "/");

                if (len > 0 && !(len == 1 && *name == '.')) {
                        if (normal->len > start)
                                g_string_append_c(normal, '/');
                        g_string_append_len(normal, name, (gssize)len);
                }
                name += len + (name[len] == '/');
        }
        return g_string_free(normal, FALSE);
}

/* *ret is "" for the root itself. */
static bool take_name(const char *raw, char **ret, GError **error)
{
        g_autofree char *name = raw ? name_normal(raw) : NULL;

        if (!name)
                return err_set(error, ERR_INVALID, "an entry has no name, or one that is not UTF-8");
        if (*name && !path_check(name, error))
                return false;
        *ret = g_steal_pointer(&name);
        return true;
}

static bool check_growth(Unpack *unpack, const char *name, GError **error)
{
        guint64 in = (guint64)MAX(archive_filter_bytes(unpack->archive, -1), 1);

        while (unpack->bytes > unpack->reserved) {
                if (!ledger_reserve(unpack->store->ledger, unpack->user, RESERVED, 0, error))
                        return false;
                unpack->reserved += RESERVED;
        }
        if (unpack->bytes > unpack->store->bytes_max)
                return err_set(error, ERR_TOO_LARGE,
                               "'%s': with it the archive unpacks to more than %" G_GUINT64_FORMAT " bytes",
                               name, unpack->store->bytes_max);
        if (unpack->bytes > RATIO_FROM && unpack->bytes / in > RATIO_MAX)
                return err_set(error, ERR_TOO_LARGE,
                               "'%s': %" G_GUINT64_FORMAT " bytes from %" G_GUINT64_FORMAT
                               " of the archive; more than %d:1 is refused",
                               name, unpack->bytes, in, RATIO_MAX);
        return true;
}

/* archive_read_data also returns the holes of sparse entries, so the apparent size is counted. */
static bool write_content(Unpack *unpack, int fd, Entry *entry, GError **error)
{
        HashState state;

        hash_init(&state);
        for (;;) {
                la_ssize_t got = archive_read_data(unpack->archive, unpack->buffer, BLOCK);

                if (!cancel_check())
                        return disk_error(error, errno, "unpack", entry->path);
                if (got == ARCHIVE_RETRY)
                        continue;
                if (got < 0)
                        return archive_fault(unpack, error) || err_prefix(error, "'%s': ", entry->path);
                if (got == 0)
                        break;
                unpack->bytes += (guint64)got;
                if (!check_growth(unpack, entry->path, error))
                        return false;
                hash_update(&state, unpack->buffer, (gsize)got);
                if (!write_at(fd, unpack->buffer, (gsize)got, entry->size))
                        return disk_error(error, errno, "unpack", entry->path);
                entry->size += (guint64)got;
        }
        hash_final(&state, entry->hash);
        return true;
}

static bool add_file(Unpack *unpack, struct archive_entry *raw, Entry *entry, GError **error)
{
        fd_auto int fd = staging_next(&unpack->staging, error);

        entry->executable = (archive_entry_perm(raw) & S_IXUSR) != 0;
        if (fd < 0 || !write_content(unpack, fd, entry, error))
                return false;
        staging_keep(&unpack->staging, &fd, entry->hash);
        return true;
}

static bool add_link(Unpack *unpack, struct archive_entry *raw, Entry *entry, GError **error)
{
        const char *target = archive_entry_symlink(raw);

        if (!target)
                return err_set(error, ERR_INVALID, "link '%s': its target is not UTF-8", entry->path);
        entry->target = g_strdup(target);
        return link_check(entry->path, target, error);
}

/* A hard link is another name of an earlier file in the same archive. */
static bool add_hard_link(Unpack *unpack, const char *raw_target, Entry *entry, GError **error)
{
        g_autofree char *target = NULL;
        const Entry *original;

        if (!take_name(raw_target, &target, error))
                return err_prefix(error, "hard link '%s': ", entry->path);
        original = g_hash_table_lookup(unpack->by_path, target);
        if (!original || original->kind != ENTRY_FILE)
                return err_set(error, ERR_INVALID,
                               "hard link '%s' to '%s': there is no such file before it in the archive",
                               entry->path, target);
        entry->executable = original->executable;
        entry->size = original->size;
        memcpy(entry->hash, original->hash, sizeof entry->hash);
        unpack->bytes += entry->size;
        return check_growth(unpack, entry->path, error);
}

static bool kind_of(struct archive_entry *raw, const char *path, EntryKind *ret, GError **error)
{
        static const struct {
                mode_t type;
                const char *word;
        } refused[] = { { S_IFCHR, "device" },
                        { S_IFBLK, "device" },
                        { S_IFIFO, "named pipe" },
                        { S_IFSOCK, "socket" } };
        mode_t type = archive_entry_filetype(raw);

        if (archive_entry_hardlink(raw) || type == S_IFREG)
                *ret = ENTRY_FILE;
        else if (type == S_IFLNK)
                *ret = ENTRY_LINK;
        else if (type == S_IFDIR)
                *ret = ENTRY_DIR;
        else {
                for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
                        if (refused[i].type == type)
                                return err_set(error, ERR_INVALID,
                                               "'%s' is a %s; a package holds files, links and directories",
                                               path, refused[i].word);
                return err_set(error, ERR_INVALID, "'%s' is neither file, link nor directory", path);
        }
        return true;
}

static bool read_entry(Unpack *unpack, struct archive_entry *raw, Entry *entry, GError **error)
{
        switch (entry->kind) {
        case ENTRY_FILE:
                return archive_entry_hardlink(raw)
                               ? add_hard_link(unpack, archive_entry_hardlink(raw), entry, error)
                               : add_file(unpack, raw, entry, error);
        case ENTRY_LINK: return add_link(unpack, raw, entry, error);
        default: return true;
        }
}

/* Nothing can be below a link or a file; checked early, so that the error comes before the work. */
static bool check_above(const Unpack *unpack, const char *path, GError **error)
{
        g_autofree char *above = g_strdup(path);

        for (char *slash; (slash = strrchr(above, '/'));) {
                const Entry *entry;

                *slash = '\0';
                entry = g_hash_table_lookup(unpack->by_path, above);
                if (entry && entry->kind != ENTRY_DIR)
                        return err_set(error, ERR_INVALID, "'%s' lies below '%s', which is a %s", path, above,
                                       entry->kind == ENTRY_LINK ? "link" : "file");
        }
        return true;
}

static bool take_entry(Unpack *unpack, struct archive_entry *raw, GError **error)
{
        g_autofree char *path = NULL;
        g_autoptr(Entry) entry = NULL;
        const Entry *before;
        EntryKind kind;

        if (++unpack->headers > unpack->store->files_max)
                return err_set(error, ERR_TOO_LARGE, "it has more than %u entries", unpack->store->files_max);
        if (!take_name(archive_entry_pathname(raw), &path, error) || !kind_of(raw, path, &kind, error))
                return false;
        if (!*path)
                return kind == ENTRY_DIR
                               ? true
                               : err_set(error, ERR_INVALID, "an entry that is no directory is named '.'");
        before = g_hash_table_lookup(unpack->by_path, path);
        if (before && before->kind == ENTRY_DIR && kind == ENTRY_DIR)
                return true;
        if (before)
                return err_set(error, ERR_INVALID, "'%s' is in the archive twice", path);
        if (!check_above(unpack, path, error))
                return false;
        entry = entry_new(kind, path);
        if (!read_entry(unpack, raw, entry, error))
                return false;
        g_hash_table_insert(unpack->by_path, entry->path, entry);
        manifest_add(unpack->manifest, g_steal_pointer(&entry));
        return true;
}

static bool read_archive(Unpack *unpack, GError **error)
{
        for (;;) {
                struct archive_entry *raw;
                int rc = archive_read_next_header(unpack->archive, &raw);

                if (rc == ARCHIVE_EOF)
                        break;
                if (!cancel_check())
                        return err_set_errno(error, errno, "not unpacked");
                if (rc == ARCHIVE_RETRY)
                        continue;
                if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
                        return archive_fault(unpack, error);
                if (archive_entry_is_encrypted(raw))
                        return err_set(error, ERR_INVALID, "it is encrypted");
                if (!take_entry(unpack, raw, error))
                        return false;
        }
        if (unpack->headers == 0)
                return err_set(error, ERR_INVALID, "it is empty");
        return manifest_seal(unpack->manifest, error);
}

static bool own_contents(const Unpack *unpack, GError **error)
{
        for (guint i = 0; i < unpack->staging.hashes->len; i++)
                if (!owner_add(unpack->store, unpack->user, OWNED_SENT, unpack->staging.hashes->pdata[i],
                               error))
                        return false;
        return true;
}

static bool keep_package(Unpack *unpack, GError **error)
{
        g_autoptr(GPtrArray) missing = NULL;
        Ledger *ledger = unpack->store->ledger;

        if (!ledger_check(ledger, unpack->user, 0, unpack->staging.hashes->len, error) ||
            !staging_finish(&unpack->staging, error) || !own_contents(unpack, error))
                return false;
        ledger_add(ledger, unpack->user, DISK_UPLOADS, staging_bytes(&unpack->staging),
                   unpack->staging.hashes->len);
        return package_store_offer(unpack->store, unpack->user, unpack->manifest, &missing, error) &&
               packages_commit(unpack->store, unpack->user, unpack->manifest->hash, error);
}

static Archive *archive_open(const char *path, GError **error)
{
        g_autoptr(Archive) archive = archive_read_new();

        archive_read_support_format_tar(archive);
        archive_read_support_format_zip(archive);
        archive_read_support_filter_gzip(archive);
        archive_read_support_filter_xz(archive);
        archive_read_support_filter_bzip2(archive);
        if (archive_read_open_filename(archive, path, BLOCK) != ARCHIVE_OK) {
                const char *text = archive_error_string(archive);

                err_set(error, ERR_INVALID, "it cannot be read as tar, tar.gz, tar.xz or zip: %s",
                        text ? text : "unknown form");
                return NULL;
        }
        return g_steal_pointer(&archive);
}

static bool unpack_all(PackageStore *store, const char *user, const char *path, char *ret_hash,
                       GError **error)
{
        g_autoptr(Archive) archive = archive_open(path, error);
        g_autoptr(Manifest) manifest = manifest_new();
        g_autoptr(GHashTable) by_path = g_hash_table_new(keyed_hash, g_str_equal);
        g_autofree char *buffer = g_malloc(BLOCK);
        Unpack unpack = {
                .store = store,
                .user = user,
                .archive = archive,
                .manifest = manifest,
                .by_path = by_path,
                .buffer = buffer,
        };
        bool ok;

        if (!archive)
                return false;
        ok = staging_open(&unpack.staging, store, error) && read_archive(&unpack, error) &&
             keep_package(&unpack, error);
        staging_clear(&unpack.staging);
        ledger_release(store->ledger, user, (gint64)unpack.reserved, 0);
        if (ok)
                g_strlcpy(ret_hash, manifest->hash, HASH_LEN + 1);
        return ok;
}

bool package_store_unpack(PackageStore *store, const char *user, const char *archive, char *ret_hash,
                          GError **error)
{
        /* libarchive converts names to the locale's character set: make it UTF-8 for this thread. */
        locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
        bool ok = owner_check(user, error);

        g_rw_lock_reader_lock(&store->removal);
        ok = ok && unpack_all(store, user, archive, ret_hash, error);
        g_rw_lock_reader_unlock(&store->removal);
        if (utf8) {
                uselocale(before);
                freelocale(utf8);
        }
        return ok ? true : err_prefix(error, "archive: ");
}
