/* Manifests: the canonical text of package.h and the rules of a package (see manifest.h).
 *
 * Invariants after manifest_seal: paths are sorted by bytes and unique; no parent of an entry is an entry
 * itself (a file, a link, or an empty directory); the hash is that of manifest_format. A manifest has only
 * one text: manifest_parse formats its result and compares. */
#include "package/manifest.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/number.h"
#include "storage/disk.h"
#include "storage/hash.h"

#define FIRST_LINE "paddle-package 1\n"

Entry *entry_new(EntryKind kind, const char *path)
{
        Entry *entry = g_new0(Entry, 1);

        entry->kind = kind;
        entry->path = g_strdup(path);
        return entry;
}

void entry_free(Entry *entry)
{
        if (!entry)
                return;
        g_free(entry->path);
        g_free(entry->target);
        g_free(entry);
}

Manifest *manifest_new(void)
{
        Manifest *manifest = g_new0(Manifest, 1);

        manifest->entries = g_ptr_array_new_with_free_func((GDestroyNotify)entry_free);
        return manifest;
}

void manifest_free(Manifest *manifest)
{
        if (!manifest)
                return;
        g_ptr_array_unref(manifest->entries);
        g_free(manifest);
}

void manifest_add(Manifest *manifest, Entry *entry)
{
        g_ptr_array_add(manifest->entries, entry);
}

/* The canonical text */

static void append_name(GString *text, const char *name)
{
        for (; *name; name++) {
                if (*name == '\\')
                        g_string_append(text, "\\\\");
                else if (*name == '\n')
                        g_string_append(text, "\\n");
                else
                        g_string_append_c(text, *name);
        }
}

static void append_entry(GString *text, const Entry *entry)
{
        g_autoptr(GString) target = g_string_new(NULL);

        switch (entry->kind) {
        case ENTRY_FILE:
                g_string_append_printf(text, "f %s %" G_GUINT64_FORMAT " %s ",
                                       entry->executable ? "755" : "644", entry->size, entry->hash);
                break;
        case ENTRY_LINK:
                append_name(target, entry->target);
                g_string_append_printf(text, "l %" G_GSIZE_FORMAT " %s ", target->len, target->str);
                break;
        case ENTRY_DIR: g_string_append(text, "d "); break;
        }
        append_name(text, entry->path);
        g_string_append_c(text, '\n');
}

char *manifest_format(const Manifest *manifest)
{
        GString *text = g_string_sized_new(sizeof FIRST_LINE + manifest->entries->len * 128);

        g_string_append(text, FIRST_LINE);
        for (guint i = 0; i < manifest->entries->len; i++)
                append_entry(text, manifest->entries->pdata[i]);
        return g_string_free(text, FALSE);
}

/* Sealing */

static int by_path(gconstpointer a, gconstpointer b)
{
        return strcmp((*(Entry *const *)a)->path, (*(Entry *const *)b)->path);
}

static bool entry_check(const Entry *entry, GError **error)
{
        if (!path_check(entry->path, error))
                return false;
        if (entry->kind == ENTRY_LINK)
                return link_check(entry->path, entry->target, error);
        if (entry->kind == ENTRY_FILE && !hash_is_valid(entry->hash))
                return err_set(error, ERR_INVALID, "'%s': '%s' is not a hash of 64 hex digits", entry->path,
                               entry->hash);
        if (entry->kind == ENTRY_FILE && entry->size > PACKAGE_BYTES_MAX)
                return err_set(error, ERR_TOO_LARGE,
                               "'%s' has %" G_GUINT64_FORMAT
                               " bytes; a package holds at most %" G_GUINT64_FORMAT,
                               entry->path, entry->size, PACKAGE_BYTES_MAX);
        return true;
}

static const char *const kind_words[] = {
        [ENTRY_FILE] = "file", [ENTRY_LINK] = "link", [ENTRY_DIR] = "directory"
};

/* Checks that paths are unique, and that nothing is below a file or a link; collects the directories that
 * have entries below them. */
static bool check_tree(const Manifest *manifest, GHashTable *parents, GError **error)
{
        g_autoptr(GHashTable) by_name = g_hash_table_new(keyed_hash, g_str_equal);
        g_autoptr(GString) above = g_string_new(NULL);

        for (guint i = 0; i < manifest->entries->len; i++) {
                Entry *entry = manifest->entries->pdata[i];

                if (!g_hash_table_insert(by_name, entry->path, entry))
                        return err_set(error, ERR_INVALID, "'%s' occurs twice", entry->path);
        }
        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                for (const char *slash = entry->path; (slash = strchr(slash, '/')); slash++) {
                        const Entry *parent;

                        g_string_truncate(above, 0);
                        g_string_append_len(above, entry->path, slash - entry->path);
                        parent = g_hash_table_lookup(by_name, above->str);
                        if (parent && parent->kind != ENTRY_DIR)
                                return err_set(error, ERR_INVALID, "'%s' lies below '%s', which is a %s",
                                               entry->path, parent->path, kind_words[parent->kind]);
                        if (parent)
                                g_hash_table_add(parents, (gpointer)parent);
                }
        }
        return true;
}

static void drop_parents(Manifest *manifest, GHashTable *parents)
{
        for (guint i = manifest->entries->len; i > 0 && g_hash_table_size(parents) > 0; i--)
                if (g_hash_table_contains(parents, manifest->entries->pdata[i - 1]))
                        g_ptr_array_remove_index(manifest->entries, i - 1);
}

static bool check_limits(Manifest *manifest, GError **error)
{
        manifest->bytes = 0;
        if (manifest->entries->len > PACKAGE_FILES_MAX)
                return err_set(
                        error, ERR_TOO_LARGE,
                        "%u files; a package holds at most %d\nLeave some out by .paddleignore, or put data "
                        "into storage with `paddle upload`.",
                        manifest->entries->len, PACKAGE_FILES_MAX);
        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                if (!entry_check(entry, error))
                        return false;
                manifest->bytes += entry->size;
        }
        if (manifest->bytes > PACKAGE_BYTES_MAX)
                return err_set(
                        error, ERR_TOO_LARGE,
                        "%" G_GUINT64_FORMAT " bytes; a package holds at most %" G_GUINT64_FORMAT
                        "\nLeave some out by .paddleignore, or put data into storage with `paddle upload`.",
                        manifest->bytes, PACKAGE_BYTES_MAX);
        return true;
}

bool manifest_seal(Manifest *manifest, GError **error)
{
        g_autoptr(GHashTable) parents = g_hash_table_new(NULL, NULL);
        g_autofree char *text = NULL;

        if (!check_limits(manifest, error) || !check_tree(manifest, parents, error))
                return false;
        drop_parents(manifest, parents);
        g_ptr_array_sort(manifest->entries, by_path);
        text = manifest_format(manifest);
        hash_bytes(text, strlen(text), manifest->hash);
        return true;
}

/* Parsing */

static char *name_from(const char *text, gsize len)
{
        GString *name = g_string_sized_new(len);

        for (gsize i = 0; i < len; i++) {
                if (text[i] != '\\' || i + 1 == len) {
                        g_string_append_c(name, text[i]);
                        continue;
                }
                i++;
                g_string_append_c(name, text[i] == 'n'
                                                ? '\n'
                                                : text[i]); /* any other escape is refused as not canonical */
        }
        return g_string_free(name, FALSE);
}

/* Takes the word up to the next blank of [*at, end), without the blank; NULL if there is no blank. */
static char *take_word(const char **at, const char *end)
{
        const char *blank = memchr(*at, ' ', (gsize)(end - *at));
        char *word;

        if (!blank)
                return NULL;
        word = g_strndup(*at, (gsize)(blank - *at));
        *at = blank + 1;
        return word;
}

static Entry *parse_file(const char *at, const char *end, GError **error)
{
        g_autofree char *mode = take_word(&at, end), *size = mode ? take_word(&at, end) : NULL;
        g_autofree char *hash = size ? take_word(&at, end) : NULL, *path = NULL;
        g_autoptr(Entry) entry = NULL;
        gint64 bytes = 0;

        if (!hash) {
                err_set(error, ERR_INVALID, "not 'f MODE SIZE HASH PATH'");
                return NULL;
        }
        if (strcmp(mode, "644") != 0 && strcmp(mode, "755") != 0) {
                err_set(error, ERR_INVALID, "mode '%s' is neither 644 nor 755", mode);
                return NULL;
        }
        if (!number_parse("size", size, 0, G_MAXINT64, &bytes, error))
                return NULL;
        if (!hash_is_valid(hash)) {
                err_set(error, ERR_INVALID, "'%s' is not a hash of 64 hex digits", hash);
                return NULL;
        }
        path = name_from(at, (gsize)(end - at));
        entry = entry_new(ENTRY_FILE, path);
        entry->executable = mode[0] == '7';
        entry->size = (guint64)bytes;
        g_strlcpy(entry->hash, hash, sizeof entry->hash);
        return g_steal_pointer(&entry);
}

static Entry *parse_link(const char *at, const char *end, GError **error)
{
        g_autofree char *length = take_word(&at, end), *path = NULL;
        g_autoptr(Entry) entry = NULL;
        gint64 len = 0;

        if (!length) {
                err_set(error, ERR_INVALID, "not 'l LENGTH TARGET PATH'");
                return NULL;
        }
        if (!number_parse("target length", length, 0, 2 * PACKAGE_PATH_MAX, &len, error))
                return NULL;
        if (len >= end - at || at[len] != ' ') {
                err_set(error, ERR_INVALID, "no target of %s bytes and a path after it", length);
                return NULL;
        }
        path = name_from(at + len + 1, (gsize)(end - at - len - 1));
        entry = entry_new(ENTRY_LINK, path);
        entry->target = name_from(at, (gsize)len);
        return g_steal_pointer(&entry);
}

static Entry *parse_dir(const char *at, const char *end, GError **error)
{
        g_autofree char *path = name_from(at, (gsize)(end - at));

        return entry_new(ENTRY_DIR, path);
}

static Entry *parse_line(const char *at, const char *end, GError **error)
{
        static const struct {
                char letter;
                Entry *(*parse)(const char *at, const char *end, GError **error);
        } kinds[] = { { 'f', parse_file }, { 'l', parse_link }, { 'd', parse_dir } };

        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (end - at > 2 && at[0] == kinds[i].letter && at[1] == ' ')
                        return kinds[i].parse(at + 2, end, error);
        err_set(error, ERR_INVALID, "a line begins with 'f ', 'l ' or 'd '");
        return NULL;
}

static bool parse_lines(Manifest *manifest, const char *at, const char *end, GError **error)
{
        for (guint line = 2; at < end; line++) {
                const char *newline = memchr(at, '\n', (gsize)(end - at));
                Entry *entry;

                if (line - 2 >= PACKAGE_FILES_MAX)
                        return err_set(error, ERR_TOO_LARGE, "more than %d files", PACKAGE_FILES_MAX);
                if (!newline)
                        return err_set(error, ERR_INVALID, "line %u: its end is missing", line);
                entry = parse_line(at, newline, error);
                if (!entry)
                        return err_prefix(error, "line %u: ", line);
                manifest_add(manifest, entry);
                at = newline + 1;
        }
        return true;
}

static bool parse_text(Manifest *manifest, const char *text, gsize len, GError **error)
{
        g_autofree char *canonical = NULL;
        gsize first = strlen(FIRST_LINE);

        if (len > MANIFEST_TEXT_MAX)
                return err_set(error, ERR_TOO_LARGE, "%" G_GSIZE_FORMAT " bytes; at most %d", len,
                               MANIFEST_TEXT_MAX);
        if (len < first || memcmp(text, FIRST_LINE, first) != 0)
                return err_set(error, ERR_INVALID, "its first line is not 'paddle-package 1'");
        if (memchr(text, 0, len))
                return err_set(error, ERR_INVALID, "it holds a NUL byte");
        if (!parse_lines(manifest, text + first, text + len, error) || !manifest_seal(manifest, error))
                return false;
        canonical = manifest_format(manifest);
        if (strlen(canonical) != len || memcmp(canonical, text, len) != 0)
                return err_set(
                        error, ERR_INVALID,
                        "it is not in canonical form: paths ascend by bytes, only empty directories are listed, numbers have no leading zeros, only newlines and backslashes "
                        "are escaped");
        return true;
}

Manifest *manifest_parse(const char *text, gsize len, GError **error)
{
        g_autoptr(Manifest) manifest = manifest_new();

        if (!parse_text(manifest, text, len, error)) {
                err_prefix(error, "manifest: ");
                return NULL;
        }
        return g_steal_pointer(&manifest);
}

/* The number of parent directories of `path` that are not parents of `before`, the preceding path. Sorted
 * paths below one directory are adjacent. */
static gint64 new_dirs(const char *before, const char *path)
{
        gsize same = 0;
        gint64 dirs = 0;

        while (before[same] && before[same] == path[same])
                same++;
        for (const char *slash = strchr(path + same, '/'); slash; slash = strchr(slash + 1, '/'))
                dirs++;
        return dirs;
}

ManifestCost manifest_cost(const Manifest *manifest)
{
        enum { BLOCK = 4096 };
        ManifestCost cost = { BLOCK, 1 };
        const char *before = "";

        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];
                gint64 dirs = new_dirs(before, entry->path) + (entry->kind == ENTRY_DIR);

                cost.tree_files += dirs + (entry->kind == ENTRY_LINK);
                cost.tree_bytes += dirs * BLOCK;
                if (entry->kind == ENTRY_FILE && entry->executable) {
                        cost.tree_files++;
                        cost.tree_bytes += (gint64)((entry->size + BLOCK - 1) / BLOCK * BLOCK);
                }
                before = entry->path;
        }
        return cost;
}
