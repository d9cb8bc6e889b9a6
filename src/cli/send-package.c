/* Sends packages to the server (see send-package.h): checks before, messages, and the requests for package_send
 * (storage/upload.h). A package that the server has takes one request; an interrupted upload is resumed. */
#include "cli/send-package.h"

#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "base/word.h"
#include "cli/downloads.h"
#include "cli/listing.h"
#include "cli/measure.h"
#include "cli/own-files.h"
#include "cli/progress.h"
#include "cli/remote.h"
#include "package/ignore.h"
#include "package/package-send.h"
#include "package/package.h"

enum {
        WARN_BYTES = 50 * 1024 * 1024,
        FILES_LIMIT = 100000,
};
#define BYTES_LIMIT (G_GUINT64_CONSTANT(2) << 30)

#define IGNORE_HINT                                                                                          \
        "What does not belong to it goes into .paddleignore (as in .gitignore); data goes to the server by " \
        "`paddle upload`."

/* ---- before the first request ---- */

static bool same_dir(const char *a, const char *b)
{
        struct stat left, right;

        return a && b && stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
               left.st_ino == right.st_ino;
}

static bool refuse_home(const char *dir, GError **error)
{
        g_autofree char *home = file_home();
        bool root = same_dir(dir, "/");

        if (!root && !same_dir(dir, home))
                return true;
        return err_set(
                error, ERR_USAGE,
                "'%s' is %s, which is not sent as a package\n"
                "Go to the program's directory, name it with --package-path, or send none with --no-package.",
                dir, root ? "the root of the file system" : "your home directory");
}

bool pack_check(const Cli *cli, const char *dir, bool allow_large, Measure *ret, GError **error)
{
        g_autoptr(IgnoreRules) rules = ignore_new();
        g_autofree char *text = NULL;
        bool over;

        downloads_leave_out(rules, dir);
        if (!refuse_home(dir, error) || !own_files_leave_out(rules, dir, error) ||
            !measure_directory(dir, rules, allow_large ? PACKAGE_FILES_MAX : FILES_LIMIT, ret, error))
                return false;
        over = ret->cut || ret->bytes > BYTES_LIMIT;
        if (!over && ret->bytes <= WARN_BYTES)
                return true;
        text = measure_format(ret);
        if (over && !allow_large)
                return err_set(error, ERR_USAGE,
                               "the package '%s' is too large: over the limit of 2 GiB or 100,000 files\nIt "
                               "has %s\n" IGNORE_HINT "\n--allow-large sends it anyway.",
                               dir, text);
        cli_warn(cli, "the package is large: %s\n" IGNORE_HINT, text);
        return true;
}

/* ---- requests ---- */

static json_t *offer(void *arg, const char *manifest, gsize len, GError **error)
{
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "POST",
                          .path = "/v1/packages/offer",
                          .type = "text/plain",
                          .body = manifest,
                          .body_len = len,
                          .retries = 1 /* the first request: an unreachable server is reported at once */ };

        return remote_call(arg, &http, &reply, error) ? json_parse(reply.body->str, reply.body->len, error)
                                                      : NULL;
}

static bool blobs(void *arg, const void *data, gsize len, GError **error)
{
        g_auto(HttpReply) reply = { 0 };

        return remote_send(arg, "POST", "/v1/packages/blobs", data, len, &reply, error);
}

static bool piece(void *arg, const char *hash, guint64 offset, const void *data, gsize len, bool last,
                  guint64 *ret_have, GError **error)
{
        g_autofree char *path = g_strdup_printf("/v1/packages/blobs/%s?offset=%" G_GUINT64_FORMAT "&last=%s",
                                                hash, offset, last ? "true" : "false");
        g_auto(HttpReply) reply = { 0 };
        g_autoptr(json_t) refusal = NULL;

        if (remote_send(arg, "PUT", path, data, len, &reply, error))
                return true;
        refusal = reply.body ? json_parse(reply.body->str, reply.body->len, NULL) : NULL;
        if (is_set(refusal, "have"))
                *ret_have = (guint64)MAX(int_of(refusal, "have"), 0);
        return false;
}

static bool commit(void *arg, const char *hash, GError **error)
{
        g_autofree char *path = g_strdup_printf("/v1/packages/%s/commit", hash);
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "POST", .path = path };

        return remote_call(arg, &http, &reply, error);
}

static const PackageOps package_ops = { .offer = offer, .blobs = blobs, .piece = piece, .commit = commit };

/* ---- sending ---- */

typedef struct {
        Progress bar;
        guint64 bytes_sent;
        guint files_sent;
} Sent;

static void on_packed(guint64 files, guint64 bytes, void *arg)
{
        progress_set(arg, bytes);
}

static void on_sent(const TransferProgress *progress, void *arg)
{
        Sent *sent = arg;

        sent->bar.total = progress->bytes;
        sent->bytes_sent = progress->bytes_sent;
        sent->files_sent = progress->files_done;
        progress_set(&sent->bar, progress->bytes_done);
}

static Manifest *make_manifest(Cli *cli, const char *dir, GError **error)
{
        g_autoptr(IgnoreRules) rules = ignore_new();
        g_autoptr(GError) cause = NULL;
        Progress packing;
        Manifest *manifest;

        if (!own_files_leave_out(rules, dir, error))
                return NULL;
        downloads_leave_out(rules, dir);
        progress_begin(&packing, cli, "packing", 0, 0);
        manifest = manifest_of_rules(dir, rules, on_packed, &packing, &cause);
        progress_end(&packing);
        if (!manifest) /* the directory is not a valid package: nothing was sent */
                err_set(error, ERR_USAGE, "%s", cause->message);
        return manifest;
}

/* "; 3 new, 2.0 KiB sent", "; the server has them". */
static char *sent_text(const Sent *sent, guint files)
{
        g_autofree char *new = bytes_format(sent->bytes_sent);

        return sent->files_sent > 0 ? g_strdup_printf("; %u new, %s sent", sent->files_sent, new)
                                    : g_strdup_printf("; the server has %s", files == 1 ? "it" : "them");
}

static char *left_out_text(const Measure *measure)
{
        g_autofree char *files = count_format((gint64)measure->foreign_files, "downloaded file");
        g_autofree char *size = bytes_format(measure->foreign_bytes);
        g_autofree char *secret = measure->secret ? err_shown(measure->secret) : NULL;
        GString *out = g_string_new(NULL);

        if (measure->foreign_files > 0)
                g_string_append_printf(out, "; left out %s, %s", files, size);
        if (secret)
                g_string_append_printf(out, "; left out '%s', which is never sent: it holds tokens of paddle",
                                       secret);
        return g_string_free(out, FALSE);
}

static void say_packed(const Cli *cli, const Manifest *manifest, const Measure *measure, const Sent *sent)
{
        g_autofree char *all = bytes_format(manifest->bytes), *count = NULL, *how = NULL, *less = NULL;
        guint files = 0;

        for (guint i = 0; i < manifest->entries->len; i++)
                files += ((const Entry *)manifest->entries->pdata[i])->kind == ENTRY_FILE;
        count = count_format(files, "file");
        how = sent_text(sent, files);
        less = left_out_text(measure);
        cli_say(cli, "packed %s, %s%s%s", count, all, how, less);
}

/* The name of the directory, if it is valid in PYTHONPATH and in JSON. */
static void name_package(const char *dir, json_t *spec)
{
        g_autofree char *whole = g_canonicalize_filename(dir, NULL);
        g_autofree char *base = g_path_get_basename(whole);
        g_autofree char *name = g_utf8_make_valid(base, -1);

        for (char *at = name; *at; at++)
                if (g_ascii_iscntrl(*at) || *at == ':' || *at == '/')
                        *at = '_';
        json_object_set_new(spec, "package_name", json_string(name));
}

bool pack_send(Cli *cli, const char *dir, const Measure *measure, json_t *spec, GError **error)
{
        g_autoptr(Manifest) manifest = make_manifest(cli, dir, error);
        Sent sent = { 0 };
        bool ok;

        if (!manifest)
                return false;
        progress_begin(&sent.bar, cli, "sending", 0, 0);
        ok = package_send(dir, manifest, &package_ops, cli, on_sent, &sent, error);
        progress_end(&sent.bar);
        if (!ok)
                return false;
        say_packed(cli, manifest, measure, &sent);
        json_object_set_new(spec, "package", json_string(manifest->hash));
        name_package(dir, spec);
        return true;
}
