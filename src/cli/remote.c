/* Storage over HTTP (see remote.h; routes in doc/guide/rest.md). Every request may be repeated: place and
 * hash identify a chunk, and the file appears only with `finish`, which checks it all. */
#include "cli/remote.h"

#include <string.h>

#include "base/err.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "model/spec.h"

enum { RETRIES = 6, LONG_MS = 30 * 60 * 1000 };

/* "/v1/files/pfs/..." with each segment encoded; the caller's. */
static char *files_path(const char *remote, const char *query)
{
        g_auto(GStrv) parts = g_strsplit(remote + strspn(remote, "/"), "/", -1);
        g_autoptr(GString) path = g_string_new("/v1/files");

        for (char **part = parts; *part; part++) {
                g_autofree char *escaped = url_escape(*part);

                if (**part)
                        g_string_append_printf(path, "/%s", escaped);
        }
        g_string_append(path, query);
        return g_string_free(g_steal_pointer(&path), FALSE);
}

bool remote_call(Cli *cli, HttpCall *http, HttpReply *reply, GError **error)
{
        static const char *const repeatable[] = { "Idempotency-Key: content-hash", NULL };

        http->headers = repeatable;
        http->retries = http->retries ? http->retries : RETRIES;
        if (!http_call(cli->client, http, reply, error))
                return false;
        return reply->status / 100 == 2 || http_reply_error(reply, error);
}

bool remote_send(Cli *cli, const char *method, const char *path, const void *data, gsize len,
                 HttpReply *reply, GError **error)
{
        HttpCall http = { .method = method,
                          .path = path,
                          .type = "application/octet-stream",
                          .body = data,
                          .body_len = len };

        return remote_call(cli, &http, reply, error);
}

static json_t *get_json(Cli *cli, const char *remote, const char *query, GError **error)
{
        g_autofree char *path = files_path(remote, query);
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "GET", .path = path };

        return remote_call(cli, &http, &reply, error) ? json_parse(reply.body->str, reply.body->len, error)
                                                      : NULL;
}

static json_t *chunks(void *arg, const char *remote, bool upload, GError **error)
{
        return get_json(arg, remote, upload ? "?upload=true" : "?chunks=true", error);
}

/* A partial download would look complete. */
static json_t *list(void *arg, const char *remote, GError **error)
{
        g_autoptr(json_t) reply = remote_get(arg, remote, "?list=true&recursive=true", error);

        if (reply && json_is_true(json_object_get(reply, "more"))) {
                err_set(error, ERR_TOO_LARGE,
                        "'%s' has more entries than the server lists at once\nDownload the directories in it "
                        "one by one.",
                        remote);
                return NULL;
        }
        return g_steal_pointer(&reply);
}

static bool put_chunk(void *arg, const char *remote, guint64 index, const char *hash, const void *data,
                      gsize len, GError **error)
{
        g_autofree char *query = g_strdup_printf("?chunk=%" G_GUINT64_FORMAT "&hash=%s", index, hash);
        g_autofree char *path = files_path(remote, query);
        g_auto(HttpReply) reply = { 0 };

        return remote_send(arg, "PUT", path, data, len, &reply, error);
}

static bool post_json(Cli *cli, const char *remote, json_t *take_body, GError **error)
{
        g_autoptr(json_t) body = take_body;
        g_autofree char *text = json_format(body);
        g_autofree char *path = files_path(remote, "");
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "POST", .path = path, .body = text, .body_len = strlen(text) };

        return remote_call(cli, &http, &reply, error);
}

static bool finish(void *arg, const char *remote, guint64 size, const json_t *hashes, GError **error)
{
        return post_json(arg, remote,
                         json_pack("{s:s, s:I, s:O}", "op", "finish", "size", (json_int_t)size, "chunks",
                                   hashes),
                         error);
}

static bool make_dir(void *arg, const char *remote, GError **error)
{
        return post_json(arg, remote, json_pack("{s:s}", "op", "mkdir"), error);
}

static bool read_range(void *arg, const char *remote, guint64 offset, gsize len, void *data, GError **error)
{
        g_autofree char *path = files_path(remote, "");
        g_autofree char *range = g_strdup_printf("Range: bytes=%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT,
                                                 offset, offset + len - 1);
        const char *headers[] = { range, NULL };
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "GET", .path = path, .headers = headers, .retries = RETRIES };
        Cli *cli = arg;

        if (len == 0)
                return true;
        if (!http_call(cli->client, &http, &reply, error))
                return false;
        if (reply.status / 100 != 2)
                return http_reply_error(&reply, error);
        if (reply.body->len != len)
                return err_set(error, ERR_CONFLICT, "'%s' has changed on the server while it was fetched",
                               remote);
        memcpy(data, reply.body->str, len);
        return true;
}

const TransferOps remote_ops = { .chunks = chunks,
                                 .put_chunk = put_chunk,
                                 .finish = finish,
                                 .make_dir = make_dir,
                                 .list = list,
                                 .read = read_range };

/* The caller's home is "/pfs/<dc>/home/<user>". The names are always requested, without retries, so that an
 * unreachable server is reported at once. */
bool remote_names_ask(Cli *cli, RemoteNames *ret, GError **error)
{
        g_autoptr(json_t) info = NULL, who = NULL;

        if (!http_call_json(cli->client, "GET", "/v1/info", NULL, &info, error) ||
            !http_call_json(cli->client, "GET", "/v1/whoami", NULL, &who, error))
                return false;
        *ret = (RemoteNames){ g_strdup(text_of(info, "datacenter")), g_strdup(text_of(who, "user")) };
        return true;
}

void remote_names_clear(RemoteNames *names)
{
        g_clear_pointer(&names->dc, g_free);
        g_clear_pointer(&names->user, g_free);
}

char *remote_path_of(const RemoteNames *names, const char *text, GError **error)
{
        g_autofree char *path = pfs_path_normal(text, names->dc, names->user, error);

        if (!path)
                return NULL;
        return g_str_has_suffix(text, "/") ? g_strconcat(path, "/", NULL) : g_steal_pointer(&path);
}

char *remote_path(Cli *cli, const char *text, GError **error)
{
        g_auto(RemoteNames) names = { 0 };

        return remote_names_ask(cli, &names, error) ? remote_path_of(&names, text, error) : NULL;
}

static bool call_long(Cli *cli, HttpCall *http, HttpReply *reply, GError **error)
{
        http->timeout_ms = LONG_MS;
        return http_call(cli->client, http, reply, error) &&
               (reply->status / 100 == 2 || http_reply_error(reply, error));
}

json_t *remote_ask(Cli *cli, const char *method, const char *path, GError **error)
{
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = method, .path = path, .retries = RETRIES };

        return call_long(cli, &http, &reply, error) ? json_parse(reply.body->str, reply.body->len, error)
                                                    : NULL;
}

json_t *remote_get(Cli *cli, const char *remote, const char *query, GError **error)
{
        g_autofree char *path = files_path(remote, query);

        return remote_ask(cli, "GET", path, error);
}

bool remote_post(Cli *cli, const char *remote, json_t *take_body, GError **error)
{
        g_autoptr(json_t) body = take_body;
        g_autofree char *text = json_format(body);
        g_autofree char *path = files_path(remote, "");
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "POST", .path = path, .body = text, .body_len = strlen(text) };

        return call_long(cli, &http, &reply, error);
}

bool remote_delete(Cli *cli, const char *remote, bool recursive, GError **error)
{
        g_autofree char *path = files_path(remote, recursive ? "?recursive=true" : "");
        g_auto(HttpReply) reply = { 0 };
        HttpCall http = { .method = "DELETE", .path = path };

        return call_long(cli, &http, &reply, error);
}

void remote_report(const TransferProgress *transfer, void *arg)
{
        Progress *bar = arg;

        bar->total = transfer->bytes;
        progress_set(bar, transfer->bytes_done);
}

bool remote_hint(GError **error)
{
        if (err_is(*error, ERR_NOT_FOUND) && !strchr((*error)->message, '\n')) {
                char *text =
                        g_strconcat((*error)->message, "\n`paddle storage ls` shows what is there.", NULL);

                g_free((*error)->message);
                (*error)->message = text;
        }
        return false;
}
