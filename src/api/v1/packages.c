/* Packages over HTTP: the client's manifest and contents, or a whole archive as PaddlePaddle Cloud's clients send it.
 */
#include "api/v1/internal.h"
#include "api/v1/multipart.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

#define MANIFEST_MAX (64ull << 20)
#define BLOBS_MAX (16ull << 20)
#define ARCHIVE_MAX (8ull << 30)

enum { COMPARED_MAX = 1000 }; /* files in an answer */

static bool check_hash(const char *hash, GError **error)
{
        if (strlen(hash) == HASH_LEN && strspn(hash, "0123456789abcdef") == HASH_LEN)
                return true;
        return err_set(error, ERR_INVALID, "'%.80s' is not a content hash of %d hexadecimal digits", hash,
                       HASH_LEN);
}

static void offer(HttpRequest *request, void *arg)
{
        Api *api = arg;
        gsize len;
        const char *text = http_request_body(request, &len);
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = manifest_parse(text, len, &error);
        g_autoptr(GPtrArray) missing = NULL;
        g_autoptr(json_t) items = json_array();
        g_autoptr(json_t) reply = NULL;
        bool ready = manifest &&
                     package_store_use(api->packages, http_request_caller(request)->user, manifest->hash);

        if (!manifest || (!ready && !package_store_offer(api->packages, http_request_caller(request)->user,
                                                         manifest, &missing, &error))) {
                http_fail(request, error);
                return;
        }
        for (guint i = 0; missing && i < missing->len; i++)
                json_array_append_new(items,
                                      json_pack("{s:s, s:I}", "hash", missing->pdata[i], "have",
                                                (json_int_t)package_store_upload_size(
                                                        api->packages, http_request_caller(request)->user,
                                                        missing->pdata[i])));
        reply = json_pack("{s:s, s:O, s:b}", "package", manifest->hash, "missing", items, "ready", ready);
        http_reply_json(request, 200, reply);
}

static bool has_body(HttpRequest *request, GError **error)
{
        struct stat about;

        return (stat(http_request_body_file(request), &about) == 0 && about.st_size > 0) ||
               err_set(error, ERR_INVALID, "the body is empty: contents are needed");
}

static void put_blobs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;

        if (has_body(request, &error) &&
            package_store_blobs_write(api->packages, http_request_caller(request)->user,
                                      http_request_body_file(request), &error))
                http_reply(request, 204, NULL, NULL, 0);
        else
                http_fail(request, error);
}

/* A wrong offset is answered with the right one, so that the client goes on from there. */
static void reply_offset(Api *api, HttpRequest *request, const char *hash, const GError *error)
{
        g_autoptr(json_t) body = json_from_error(error, http_request_id(request));

        json_object_set_new(body, "have",
                            json_integer((json_int_t)package_store_blob_size(
                                    api->packages, http_request_caller(request)->user, hash)));
        http_reply_json(request, err_row(error)->http, body);
}

static void put_blob(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *hash = http_request_param(request, "hash"),
                   *last_text = http_request_query(request, "last");
        g_autoptr(GError) error = NULL;
        gint64 offset;
        bool last = false;

        if (!http_request_query_int(request, "offset", 0, (gint64)PACKAGE_BYTES_MAX, 0, &offset))
                return;
        if (!check_hash(hash, &error) || (last_text && !boolean_parse("last", last_text, &last, &error)))
                http_fail(request, error);
        else if (package_store_blob_write(api->packages, http_request_caller(request)->user, hash,
                                          (guint64)offset, http_request_body_file(request), last, &error))
                http_reply(request, 204, NULL, NULL, 0);
        else if (err_is(error, ERR_CONFLICT))
                reply_offset(api, request, hash, error);
        else
                http_fail(request, error);
}

static void commit(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *hash = http_request_param(request, "hash");
        g_autoptr(GError) error = NULL;
        g_autofree char *requirements = NULL;
        g_autoptr(json_t) reply = NULL;

        if (!check_hash(hash, &error) ||
            !package_store_commit(api->packages, http_request_caller(request)->user, hash, &error)) {
                http_fail(request, error);
                return;
        }
        requirements = package_store_requirements(api->packages, hash,
                                                  NULL); /* an unreadable one is told at submit */
        reply = json_pack("{s:s, s:b}", "package", hash, "requirements", requirements != NULL);
        http_reply_json(request, 200, reply);
}

/* ---- archives ---- */

/* The archive of a multipart body as a file of its own beside it; the caller's to unlink and free. */
static char *extract_part(const char *path, const char *type, GError **error)
{
        g_autofree char *boundary = multipart_boundary(type, error);
        g_autofree char *archive = g_strconcat(path, ".archive", NULL);
        g_autoptr(GError) unmapped = NULL;
        g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, &unmapped);
        const char *part;
        gsize len;

        if (!boundary)
                return NULL;
        if (!map) {
                err_set(error, ERR_FAILED, "the body cannot be read: %s", unmapped->message);
                return NULL;
        }
        if (!multipart_find(g_mapped_file_get_contents(map), g_mapped_file_get_length(map), boundary, &part,
                            &len, error) ||
            !file_replace(archive, part, len, 0600, false, error))
                return NULL;
        return g_steal_pointer(&archive);
}

/* The archive in a form is a second file for a while, which the user must be allowed as well. */
static bool unpack_form(Api *api, HttpRequest *request, const char *type, char *ret_hash, GError **error)
{
        const char *user = http_request_caller(request)->user, *file = http_request_body_file(request);
        g_autofree char *part = NULL;
        struct stat about;
        bool ok;

        if (stat(file, &about) < 0)
                return err_set_errno(error, errno, "the body cannot be read");
        if (!ledger_reserve(api->ledger, user, about.st_size, 1, error))
                return false;
        part = extract_part(file, type, error);
        ok = part && package_store_unpack(api->packages, user, part, ret_hash, error);
        if (part)
                (void)unlink(part); /* a temporary file: the directory is swept at the next start */
        ledger_release(api->ledger, user, about.st_size, 1);
        return ok;
}

static void post_archive(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *type = http_request_header(request, "Content-Type");
        g_autofree char *tree = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;
        char hash[HASH_LEN + 1];
        bool ok = multipart_is_form(type)
                          ? unpack_form(api, request, type, hash, &error)
                          : package_store_unpack(api->packages, http_request_caller(request)->user,
                                                 http_request_body_file(request), hash, &error);

        if (!ok) {
                http_fail(request, error);
                return;
        }
        tree = http_request_caller(request)->admin /* to others, where the state directory is, is not told */
                       ? package_store_path(api->packages, hash)
                       : g_strconcat("packages/", hash, NULL);
        reply = json_pack("{s:i, s:s, s:s, s:s, s:s}", "code", 200, "msg", "", "job_id", hash, "path", tree,
                          "package", hash);
        http_reply_json(request, 200, reply);
}

/* ---- two packages ---- */

/* Whose packages the caller may compare; NULL: everyone's. */
static const char *owner_of_compared(HttpRequest *request)
{
        const HttpCaller *caller = http_request_caller(request);
        const HttpRoute *route = http_request_route(request);

        return auth_may(caller, (AccessKind)route->kind, (AccessVerb)route->verb, false, false)
                       ? NULL
                       : caller->user;
}

static void compare(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *was = http_request_param(request, "hash"), *now = http_request_query(request, "with");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;
        json_t *items;
        guint total = 0;
        gint64 limit;

        if (!http_request_query_int(request, "limit", 1, COMPARED_MAX, 100, &limit))
                return;
        if (!now)
                err_set(&error, ERR_INVALID, "with: the hash of the other package is missing");
        if (!now || !check_hash(was, &error) || !check_hash(now, &error)) {
                http_fail(request, error);
                return;
        }
        items = package_store_compare(api->packages, owner_of_compared(request), was, now, (guint)limit,
                                      &total, &error);
        if (!items) {
                if (err_is(error, ERR_NOT_FOUND))
                        http_request_set_denied(request);
                http_fail(request, error);
                return;
        }
        reply = json_pack("{s:s, s:s, s:o, s:I}", "package", was, "with", now, "items", items, "total",
                          (json_int_t)total);
        http_reply_json(request, 200, reply);
}

#define ARCHIVE_SUMMARY                                                                                      \
        "Receive a package as an archive (tar, tar.gz, tar.xz, zip), plain or as field 'package' of a form."

static const HttpParameter put_blob_query[] = {
        { "offset", HTTP_INTEGER, "Where the piece begins, after what has arrived." },
        { "last", HTTP_BOOLEAN, "It is the last piece." },
        { 0 },
};

static const HttpParameter compare_query[] = {
        { "with", HTTP_STRING, "The hash of the other package." },
        { "limit", HTTP_INTEGER, "At most this many files, 1 to 1000; 100 without it." },
        { 0 },
};

const HttpRoute package_routes[] = {
        { "POST", "/v1/packages", ACCESS_PACKAGE, VERB_CREATE, post_archive, ARCHIVE_SUMMARY,
          .body = HTTP_BODY_FILE, .body_max = ARCHIVE_MAX, .request = "Archive", .reply = "Package",
          .on_pool = true },
        { "POST", "/v1/package", ACCESS_PACKAGE, VERB_CREATE, post_archive, ARCHIVE_SUMMARY,
          .body = HTTP_BODY_FILE, .body_max = ARCHIVE_MAX, .request = "Archive", .reply = "Package",
          .on_pool = true },
        { "POST", "/v1/packages/offer", ACCESS_PACKAGE, VERB_CREATE, offer,
          "Offer a manifest; the reply lists the contents that are not here yet.", .body_max = MANIFEST_MAX,
          .request = "Manifest", .reply = "Offer", .on_pool = true },
        { "POST", "/v1/packages/blobs", ACCESS_PACKAGE, VERB_CREATE, put_blobs,
          "Send many small contents in one body.", .body = HTTP_BODY_FILE, .body_max = BLOBS_MAX,
          .request = "Bytes", .reply_status = 204, .on_pool = true },
        { "PUT", "/v1/packages/blobs/{hash}", ACCESS_PACKAGE, VERB_CREATE, put_blob,
          "Send a piece of one content.", .query = put_blob_query, .body = HTTP_BODY_FILE,
          .body_max = BLOBS_MAX, .request = "Bytes", .reply_status = 204, .on_pool = true },
        { "POST", "/v1/packages/{hash}/commit", ACCESS_PACKAGE, VERB_CREATE, commit,
          "Make the package whose contents are all here.", .reply = "PackageReady", .on_pool = true },
        { "GET", "/v1/packages/{hash}/compare", ACCESS_PACKAGE, VERB_SHOW, compare,
          "Compare two packages that the caller has sent: which files are new, gone or differ.",
          .query = compare_query, .reply = "PackageComparison", .on_pool = true },
        { 0 },
};
