/* Asking a registry (see registry.h). */
#include "runtime/kubernetes/registry.h"

#include <string.h>

#include "base/err.h"
#include "net/client.h"

enum {
        TIMEOUT_MS = 15000,
        RETRIES = 3,
        TOKEN_MAX = 64 * 1024, /* bytes of a token's reply */
        DIGEST_LEN = 71,       /* "sha256:" and 64 hex digits */
        STATUS_OK = 200,
        STATUS_UNAUTHORIZED = 401,
        STATUS_FORBIDDEN = 403,
        STATUS_NOT_FOUND = 404,
};

/* All forms, of one platform or many: the digest is that of what would be pulled. */
#define ACCEPT                                                                                               \
        "Accept: application/vnd.oci.image.index.v1+json, "                                                  \
        "application/vnd.docker.distribution.manifest.list.v2+json, "                                        \
        "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"

typedef struct {
        const SettingRegistry *registry; /* of this host; NULL: another */
        const ImageName *name;
        HttpClient *client;
        char *url;
} Question;

static void question_clear(Question *question)
{
        http_client_free(question->client);
        g_free(question->url);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Question, question_clear)

static bool is_of(const SettingRegistry *registry, const char *host)
{
        gsize len = registry && registry->address ? strcspn(registry->address, "/") : 0;

        return len && strlen(host) == len && strncmp(registry->address, host, len) == 0;
}

static char *basic(const SettingRegistry *registry)
{
        g_autofree char *pair = NULL, *coded = NULL;

        if (!registry || !registry->username)
                return NULL;
        pair = g_strconcat(registry->username, ":", registry->password, NULL);
        coded = g_base64_encode((const guchar *)pair, strlen(pair));
        return g_strconcat("Authorization: Basic ", coded, NULL);
}

/* ---- tokens ---- */

/* The value of NAME="VALUE" in a challenge; the caller's. */
static char *parameter(const char *text, const char *name)
{
        g_autofree char *key = g_strconcat(name, "=\"", NULL);
        const char *at = strstr(text, key), *end = at ? strchr(at + strlen(key), '"') : NULL;

        return end ? g_strndup(at + strlen(key), (gsize)(end - at) - strlen(key)) : NULL;
}

static void put_query(GString *path, const char *name, const char *value)
{
        g_autofree char *escaped = value ? url_escape(value) : NULL;

        if (escaped)
                g_string_append_printf(path, "%c%s=%s", strchr(path->str, '?') ? '&' : '?', name, escaped);
}

bool registry_challenge_parse(const char *text, char **ret_origin, char **ret_path, GError **error)
{
        g_autofree char *realm = parameter(text, "realm"), *service = parameter(text, "service"),
                        *scope = parameter(text, "scope");
        const char *host = realm ? strstr(realm, "://") : NULL, *path;
        GString *made;

        if (g_ascii_strncasecmp(text, "Bearer ", strlen("Bearer ")) != 0 || !host || !host[3])
                return err_set(error, ERR_INVALID,
                               "the registry asks for '%.200s', which is no token of a realm", text);
        path = strchr(host + 3, '/');
        made = g_string_new(path ? path : "/");
        put_query(made, "service", service);
        put_query(made, "scope", scope);
        *ret_origin = path ? g_strndup(realm, (gsize)(path - realm)) : g_strdup(realm);
        *ret_path = g_string_free(made, FALSE);
        return true;
}

static char *read_token(const HttpReply *reply, GError **error)
{
        g_autoptr(json_t) body =
                reply->status == STATUS_OK ? json_parse(reply->body->str, reply->body->len, error) : NULL;
        const char *token = json_string_value(json_object_get(body, "token"));

        if (!token)
                token = json_string_value(json_object_get(body, "access_token"));
        if (token)
                return g_strconcat("Authorization: Bearer ", token, NULL);
        if (reply->status != STATUS_OK)
                err_set(error, ERR_DENIED, "no token is given (status %d)", reply->status);
        else if (body)
                err_set(error, ERR_FAILED, "the reply holds no token");
        return NULL;
}

static char *fetch_token(const Question *question, const char *challenge, GError **error)
{
        g_autofree char *origin = NULL, *path = NULL, *login = basic(question->registry);
        const char *headers[] = { login, NULL };
        g_autoptr(HttpClient) client = NULL;
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "GET",
                          .headers = headers,
                          .timeout_ms = TIMEOUT_MS,
                          .retries = RETRIES,
                          .body_max = TOKEN_MAX };

        if (!registry_challenge_parse(challenge, &origin, &path, error))
                return NULL;
        client = http_client_new(origin, NULL, error);
        call.path = path;
        return client && http_call(client, &call, &reply, error) ? read_token(&reply, error) : NULL;
}

/* ---- manifests ---- */

static bool ask(const Question *question, const char *authorization, HttpReply *ret, GError **error)
{
        const ImageName *name = question->name;
        g_autofree char *path =
                g_strdup_printf("/v2/%s/manifests/%s", name->path, name->tag ? name->tag : name->digest);
        const char *headers[] = { ACCEPT, authorization, NULL };

        return http_call(question->client,
                         &(HttpCall){ .method = "HEAD",
                                      .path = path,
                                      .headers = headers,
                                      .timeout_ms = TIMEOUT_MS,
                                      .retries = RETRIES },
                         ret, error);
}

static const char *header(const HttpReply *reply, const char *name)
{
        return reply->headers ? g_hash_table_lookup(reply->headers, name) : NULL;
}

static char *read_digest(const Question *question, const HttpReply *reply, GError **error)
{
        const char *digest = header(reply, "docker-content-digest");
        const SettingRegistry *registry = question->registry;

        switch (reply->status) {
        case STATUS_OK:
                if (digest && strlen(digest) == DIGEST_LEN && g_str_has_prefix(digest, "sha256:"))
                        return g_strdup(digest);
                err_set(error, ERR_FAILED, "it says no digest");
                break;
        case STATUS_NOT_FOUND: err_set(error, ERR_NOT_FOUND, "there is no such image"); break;
        case STATUS_UNAUTHORIZED:
        case STATUS_FORBIDDEN:
                if (registry && registry->username)
                        err_set(error, ERR_DENIED, "the registry refuses user '%s' (status %d)",
                                registry->username, reply->status);
                else
                        err_set(error, ERR_DENIED, "the registry asks who we are (status %d)", reply->status);
                break;
        default: err_set(error, ERR_UNAVAILABLE, "the registry answers with status %d", reply->status);
        }
        return NULL;
}

static char *ask_all(const Question *question, GError **error)
{
        g_autofree char *authorization = basic(question->registry);
        g_auto(HttpReply) reply = { 0 };
        const char *challenge;

        if (!ask(question, authorization, &reply, error))
                return NULL;
        challenge = header(&reply, "www-authenticate");
        if (reply.status == STATUS_UNAUTHORIZED && challenge &&
            g_ascii_strncasecmp(challenge, "Bearer ", strlen("Bearer ")) == 0) {
                g_autofree char *token = fetch_token(question, challenge, error);

                http_reply_clear(&reply);
                if (!token || !ask(question, token, &reply, error))
                        return NULL;
        }
        return read_digest(question, &reply, error);
}

char *registry_digest(const SettingRegistry *registry, const ImageName *name, GError **error)
{
        const SettingRegistry *own = is_of(registry, name->host) ? registry : NULL;
        const char *host = strcmp(name->host, "docker.io") == 0 ? "registry-1.docker.io" : name->host;
        g_auto(Question) question = { .registry = own,
                                      .name = name,
                                      .url = g_strdup_printf("%s://%s",
                                                             own && own->insecure ? "http" : "https", host) };
        char *digest = NULL;

        question.client = http_client_new(question.url, NULL, error);
        if (question.client)
                digest = ask_all(&question, error);
        if (!digest)
                (void)err_prefix(error, "%s/%s%s%s: ", name->host, name->path, name->tag ? ":" : "@",
                                 name->tag ? name->tag : name->digest);
        return digest;
}
