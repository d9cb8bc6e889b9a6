/* paddle storage usage, paddle gc: the server's disk. */
#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/remote.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *user, *format;
        bool all, count, dry_run;
} StorageOptions;

static const Option usage_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(StorageOptions, user), "NAME",
          "usage of this user (administrators)" },
        { "all", 'a', OPTION_BOOL, offsetof(StorageOptions, all), NULL,
          "what everybody holds (administrators)" },
        { "count", 0, OPTION_BOOL, offsetof(StorageOptions, count), NULL,
          "have the server measure again first, which may take a while" },
        FORMAT_OPTION(offsetof(StorageOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option gc_options[] = {
        { "dry-run", 0, OPTION_BOOL, offsetof(StorageOptions, dry_run), NULL,
          "remove nothing: list the files that would be deleted, and why" },
        FORMAT_OPTION(offsetof(StorageOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- cells ---- */

static char *bytes_cell(const json_t *item, const char *name)
{
        return is_set(item, name) ? bytes_format((guint64)int_of(item, name)) : NULL;
}

static char *cell_bytes(const json_t *item, const Terminal *terminal)
{
        return bytes_cell(item, "bytes");
}

static char *cell_limit(const json_t *item, const Terminal *terminal)
{
        return bytes_cell(item, "limit_bytes");
}

static char *cell_largest(const json_t *item, const Terminal *terminal)
{
        const char *name, *most = NULL;
        gint64 amount = 0;
        json_t *kind;
        g_autofree char *shown = NULL;

        json_object_foreach(json_object_get(item, "kinds"), name, kind) {
                if (int_of(kind, "bytes") > amount) {
                        most = name;
                        amount = int_of(kind, "bytes");
                }
        }
        if (!most)
                return NULL;
        shown = bytes_format((guint64)amount);
        return g_strdup_printf("%s %s", most, shown);
}

static char *kind_bytes(const json_t *item, const char *kind)
{
        return bytes_cell(json_object_get(json_object_get(item, "kinds"), kind), "bytes");
}

#define KIND_CELL(kind)                                                                                      \
        static char *cell_##kind(const json_t *item, const Terminal *terminal)                               \
        {                                                                                                    \
                return kind_bytes(item, #kind);                                                              \
        }
KIND_CELL(homes)
KIND_CELL(public)
KIND_CELL(packages)
KIND_CELL(uploads)
KIND_CELL(environments)
KIND_CELL(logs)
KIND_CELL(work)
KIND_CELL(unlisted)

static const Column usage_columns[] = {
        { "USER", .member = "user" },
        { ">HELD", false, cell_bytes },
        { ">LIMIT", false, cell_limit },
        { ">FILES", .member = "files", .fit = { 1 } },
        { ">FILE LIMIT", .member = "limit_files", .fit = { 2 } },
        { "MOST OF IT", false, cell_largest, .fit = { 3, 20 } },
        { ">HOMES", true, cell_homes },
        { ">PUBLIC", true, cell_public },
        { ">PACKAGES", true, cell_packages },
        { ">UPLOADS", true, cell_uploads },
        { ">ENVIRONMENTS", true, cell_environments },
        { ">LOGS", true, cell_logs },
        { ">WORK", true, cell_work },
        { ">UNLISTED", true, cell_unlisted },
        { "BY", true, .member = "enforced_by" },
        { 0 },
};

static const Column gc_columns[] = {
        { "KIND", .member = "kind" },
        { "NAME", .member = "name", .fit = { 2, 16 } },
        { "USER", .member = "user", .fit = { 3 } },
        { ">SIZE", false, cell_bytes },
        { "WHY", .member = "why", .fit = { 1, 20 } },
        { ">FILES", true, .member = "files" },
        { 0 },
};

/* ---- usage ---- */

static char *usage_path(const StorageOptions *storage)
{
        g_autofree char *user = storage->user ? url_escape(storage->user) : NULL;

        return g_strconcat("/v1/storage/usage?count=", storage->count ? "true" : "false",
                           storage->all ? "&all=true" : "", user ? "&user=" : "", user, NULL);
}

static bool run_usage(Cli *cli, const void *target, char *const *words, GError **error)
{
        const StorageOptions *storage = target;
        g_autofree char *path = usage_path(storage);
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        Format format;
        gsize i;
        json_t *item;

        if (storage->user && storage->all)
                return err_set(error, ERR_USAGE, "--user cannot be combined with --all");
        if (!format_parse(cli, storage->format, &format, error) || !cli_client(cli, error) ||
            !(reply = remote_ask(cli, "GET", path, error)))
                return false;
        listing = listing_new(cli, format, usage_columns, "user");
        json_array_foreach(json_object_get(reply, "items"), i, item)
                listing_add(listing, item);
        listing_end(listing);
        if (json_array_size(json_object_get(reply, "items")) == 0)
                cli_say(cli, "no user has anything on the server's disk yet");
        if (!is_set(reply, "counted_at"))
                cli_say(cli,
                        "the server has not counted yet: these figures have only files that it wrote itself");
        return true;
}

/* ---- gc ---- */

static bool run_gc(Cli *cli, const void *target, char *const *words, GError **error)
{
        const StorageOptions *storage = target;
        g_autofree char *path =
                g_strconcat("/v1/storage/gc?dry_run=", storage->dry_run ? "true" : "false", NULL);
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        g_autofree char *size = NULL;
        guint things = 0;
        Format format;
        gsize i;
        json_t *item;

        if (!format_parse(cli, storage->format, &format, error) || !cli_client(cli, error) ||
            !(reply = remote_ask(cli, "POST", path, error)))
                return false;
        listing = listing_new(cli, format, gc_columns, "name");
        json_array_foreach(json_object_get(reply, "items"), i, item) {
                if (storage->dry_run || json_is_true(json_object_get(item, "gone"))) {
                        listing_add(listing, item);
                        things++;
                }
        }
        listing_end(listing);
        size = bytes_format((guint64)int_of(reply, "bytes"));
        cli_say(cli, storage->dry_run ? "%u items would be deleted, %s" : "%u items deleted, %s", things,
                size);
        return true;
}

const Verb verb_storage_usage = {
        .name = "storage usage",
        .args = "",
        .summary = "Show your disk usage on the server, and your limit",
        .about = "Files that the server writes or removes for you count at once. Files that jobs write count "
                 "when the server measures the disk, every few minutes or now with --count. -o wide shows "
                 "all kinds. `paddle storage du` shows the largest directories, and `paddle storage rm` "
                 "removes files.",
        .examples = "paddle storage usage --count -o wide\n"
                    "paddle storage usage --all\tan administrator, for everybody",
        .options = usage_options,
        .size = sizeof(StorageOptions),
        .run = run_usage,
};

const Verb verb_gc = {
        .name = "gc",
        .args = "",
        .summary = "Remove unneeded files from the server's disk",
        .about = "Removes abandoned uploads, and packages, environments and logs that no open job needs, by "
                 "age and bytes, the least recently used first. The server does this every hour (paddled "
                 "--gc-every), by the rules of its --gc options. Administrators only.",
        .examples = "paddle gc --dry-run\tthe files that would be deleted, and why",
        .options = gc_options,
        .size = sizeof(StorageOptions),
        .run = run_gc,
};
