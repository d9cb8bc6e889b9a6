/* Asking a registry (see registry.h). */
#include "runtime/kubernetes/image/registry.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "base/err.h"
#include "net/client.h"
#include "net/url.h"

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

/* All media types, of one platform or several: the digest is that of the image that would be pulled. */
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

/* ---- addresses ---- */

/* Addresses of this machine, of its links, of private networks, and IPv6 forms of IPv4 addresses (RFC
 * 6890). */
static const struct {
        int family;
        guint8 start[16];
        int bits;
} inner[] = {
        { AF_INET, { 0 }, 8 },
        { AF_INET, { 10 }, 8 },
        { AF_INET, { 100, 64 }, 10 },
        { AF_INET, { 127 }, 8 },
        { AF_INET, { 169, 254 }, 16 },
        { AF_INET, { 172, 16 }, 12 },
        { AF_INET, { 192, 0, 0 }, 24 },
        { AF_INET, { 192, 168 }, 16 },
        { AF_INET, { 198, 18 }, 15 },
        { AF_INET, { 224 }, 3 }, /* multicast, and what is reserved */
        { AF_INET6, { 0 }, 8 },  /* ::, ::1, ::ffff:0:0/96 */
        { AF_INET6, { 0, 0x64, 0xff, 0x9b }, 32 },
        { AF_INET6, { 0x20, 0x02 }, 16 },
        { AF_INET6, { 0xfc }, 7 },
        { AF_INET6, { 0xfe, 0x80 }, 9 }, /* of a link, and once of a site */
        { AF_INET6, { 0xff }, 8 },
};

static bool starts_with(const guint8 *bytes, const guint8 *start, int bits)
{
        int whole = bits / 8;
        guint8 mask = (guint8)(0xff00 >> bits % 8);

        return memcmp(bytes, start, (gsize)whole) == 0 && (bytes[whole] & mask) == (start[whole] & mask);
}

static bool is_inner(const struct sockaddr *address)
{
        const guint8 *bytes = address->sa_family == AF_INET
                                      ? (const guint8 *)&((const struct sockaddr_in *)address)->sin_addr
                                      : (const guint8 *)&((const struct sockaddr_in6 *)address)->sin6_addr;

        for (gsize i = 0; i < G_N_ELEMENTS(inner); i++)
                if (inner[i].family == address->sa_family &&
                    starts_with(bytes, inner[i].start, inner[i].bits))
                        return true;
        return address->sa_family != AF_INET && address->sa_family != AF_INET6;
}

bool registry_is_inner(const char *host, bool resolve)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = resolve ? 0 : AI_NUMERICHOST };
        struct addrinfo *list = NULL;
        bool found = false;

        if (!resolve && g_ascii_strcasecmp(host, "localhost") == 0)
                return true;
        if (getaddrinfo(host, NULL, &hints, &list) != 0)
                return false;
        for (const struct addrinfo *at = list; at && !found; at = at->ai_next)
                found = is_inner(at->ai_addr);
        freeaddrinfo(list);
        return found;
}

/* ---- tokens ---- */

/* The value of NAME="VALUE" in a challenge; the caller's. */
static char *parameter(const char *text, const char *name)
{
        g_autofree char *key = g_strconcat(name, "=\"", NULL);
        const char *at = strstr(text, key), *end = at ? strchr(at + strlen(key), '"') : NULL;

        return end ? g_strndup(at + strlen(key), (gsize)(end - at) - strlen(key)) : NULL;
}

typedef struct {
        char *scheme, *user, *host, *path, *query;
        int port;
} Realm;

static void realm_clear(Realm *realm)
{
        g_free(realm->scheme);
        g_free(realm->user);
        g_free(realm->host);
        g_free(realm->path);
        g_free(realm->query);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Realm, realm_clear)

static bool realm_parse(const char *text, Realm *ret)
{
        return text &&
               g_uri_split(text, G_URI_FLAGS_ENCODED, &ret->scheme, &ret->user, &ret->host, &ret->port,
                           &ret->path, &ret->query, NULL, NULL) &&
               ret->scheme && ret->host && *ret->host && !ret->user;
}

/* Without its port. */
static bool is_same_host(const char *name, const char *registry)
{
        g_autofree char *url = g_strconcat("https://", registry, NULL), *host = NULL;

        return g_uri_split(url, G_URI_FLAGS_NONE, NULL, NULL, &host, NULL, NULL, NULL, NULL, NULL) && host &&
               g_ascii_strcasecmp(name, host) == 0;
}

static bool check_realm(const Realm *realm, const SettingRegistry *registry, const char *host, bool resolve,
                        GError **error)
{
        bool plain = registry && registry->insecure && g_ascii_strcasecmp(realm->scheme, "http") == 0;

        if (!plain && g_ascii_strcasecmp(realm->scheme, "https") != 0)
                return err_set(error, ERR_INVALID,
                               "the registry sends us to %.40s://%.200s for a token, which is not https",
                               realm->scheme, realm->host);
        if (registry || is_same_host(realm->host, host) || !registry_is_inner(realm->host, resolve))
                return true;
        return err_set(error, ERR_INVALID,
                       "the registry sends us to '%.200s' for a token, which is of this machine or of a "
                       "private network\n"
                       "Only the registry of the cluster's setting may do that.",
                       realm->host);
}

bool registry_challenge_parse(const char *text, const SettingRegistry *registry, const char *host,
                              char **ret_origin, char **ret_path, GError **error)
{
        g_autofree char *where = parameter(text, "realm"), *service = parameter(text, "service"),
                        *scope = parameter(text, "scope");
        g_auto(Realm) realm = { 0 };
        GString *made;

        if (g_ascii_strncasecmp(text, "Bearer ", strlen("Bearer ")) != 0 || !realm_parse(where, &realm))
                return err_set(error, ERR_INVALID,
                               "the registry requires '%.200s', which is not a token with a realm", text);
        if (!check_realm(&realm, registry, host, false, error))
                return false;
        made = g_string_new(*realm.path ? realm.path : "/");
        if (realm.query)
                g_string_append_printf(made, "?%s", realm.query);
        url_add_query(made, "service", service);
        url_add_query(made, "scope", scope);
        *ret_origin =
                g_uri_join(G_URI_FLAGS_NONE, realm.scheme, NULL, realm.host, realm.port, "", NULL, NULL);
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
                err_set(error, ERR_DENIED, "no token was issued (status %d)", reply->status);
        else if (body)
                err_set(error, ERR_FAILED, "the reply contains no token");
        return NULL;
}

/* Checks again, with the address that the name has. */
static bool check_origin(const Question *question, const char *origin, GError **error)
{
        g_auto(Realm) realm = { 0 };

        return realm_parse(origin, &realm) &&
               check_realm(&realm, question->registry, question->name->host, true, error);
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

        if (!registry_challenge_parse(challenge, question->registry, question->name->host, &origin, &path,
                                      error) ||
            !check_origin(question, origin, error))
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
                        err_set(error, ERR_DENIED, "the registry requires a login (status %d)",
                                reply->status);
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
