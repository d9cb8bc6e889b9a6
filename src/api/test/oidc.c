/* An issuer whose documents are not to be believed, in this process: what the server makes of them, row by
 * row. */
#include "api/auth/oidc.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

#define DOCUMENT "/.well-known/openid-configuration"
#define KEY                                                                                                  \
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\",\"x\":"                                             \
        "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","                                                   \
        "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"" /* of RFC 7515, A.3 */

typedef struct {
        int listener, port;
        char *document, *keys;
        const char *status;
        int asked; /* for keys */
        pthread_t thread;
} Issuer;

static void answer(Issuer *issuer, int fd)
{
        char request[8192];
        gsize len = 0;
        ssize_t part;

        while (len + 1 < sizeof request && (part = read(fd, request + len, sizeof request - 1 - len)) > 0) {
                len += (gsize)part;
                request[len] = '\0';
                if (strstr(request, "\r\n\r\n"))
                        break;
        }
        bool keys = g_str_has_prefix(request, "GET /keys ");
        const char *body = keys ? issuer->keys : issuer->document;
        g_autofree char *reply = g_strdup_printf(
                "HTTP/1.1 %s\r\nContent-Length: %zu\r\nLocation: /keys\r\nConnection: close\r\n\r\n%s",
                keys ? "200 OK" : issuer->status, strlen(body), body);

        g_atomic_int_add(&issuer->asked, keys);
        for (gsize sent = 0; sent < strlen(reply); sent += (gsize)part)
                if ((part = send(fd, reply + sent, strlen(reply) - sent, MSG_NOSIGNAL)) <= 0)
                        break;
        close(fd);
}

static void *serve(void *arg)
{
        Issuer *issuer = arg;
        int fd;

        while ((fd = accept(issuer->listener, NULL, NULL)) >= 0)
                answer(issuer, fd);
        return NULL;
}

static void issuer_open(Issuer *issuer)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof address;

        issuer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(bind(issuer->listener, (struct sockaddr *)&address, len), ==, 0);
        g_assert_cmpint(listen(issuer->listener, 16), ==, 0);
        g_assert_cmpint(getsockname(issuer->listener, (struct sockaddr *)&address, &len), ==, 0);
        issuer->port = ntohs(address.sin_port);
}

static void issuer_close(Issuer *issuer)
{
        shutdown(issuer->listener, SHUT_RDWR);
        pthread_join(issuer->thread, NULL);
        close(issuer->listener);
        g_free(issuer->document);
        g_free(issuer->keys);
}

/* '@' stands for the issuer's address. */
static char *at_issuer(const Issuer *issuer, const char *text)
{
        g_auto(GStrv) parts = g_strsplit(text, "@", -1);
        g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d", issuer->port);

        return g_strjoinv(url, parts);
}

static const struct {
        const char *name, *status, *document, *keys;
        const char *says; /* of the refusal; NULL: the keys are known, and the token is what does not hold */
} rows[] = {
        { "good", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}", "{\"keys\":[" KEY "}]}", NULL },
        { "a key beside one of no use", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}",
          "{\"keys\":[7,{},{\"kty\":\"OKP\"}," KEY "}]}", NULL },
        { "redirected", "302 Found", "", "", "redirection" },
        { "an error", "500 Oh", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}", "", "answers 500" },
        { "no JSON", "200 OK", "<html>", "", "line 1" },
        { "no document", "200 OK", "[]", "", "another issuer" },
        { "another issuer", "200 OK", "{\"issuer\":\"https://b.example.com\",\"jwks_uri\":\"@/keys\"}", "",
          "another issuer" },
        { "a slash more", "200 OK", "{\"issuer\":\"@/\",\"jwks_uri\":\"@/keys\"}", "", "another issuer" },
        { "no issuer", "200 OK", "{\"jwks_uri\":\"@/keys\"}", "", "another issuer" },
        { "no keys", "200 OK", "{\"issuer\":\"@\"}", "", "no 'jwks_uri'" },
        { "keys without TLS", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"http://192.0.2.1/keys\"}", "",
          "is not https://" },
        { "a name like the loopback", "200 OK",
          "{\"issuer\":\"@\",\"jwks_uri\":\"http://127.0.0.1.example.com/keys\"}", "", "is not https://" },
        { "keys in a file", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"file:///etc/passwd\"}", "",
          "is no address" },
        { "keys at a socket", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"unix:/run/x.sock\"}", "",
          "is no address" },
        { "no host", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"https:///keys\"}", "", "is no address" },
        { "a line end", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"https://x/\\r\\nA: b\"}", "",
          "is no address" },
        { "a number", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":7}", "", "jwks_uri" },
        { "a device endpoint without TLS", "200 OK",
          "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\",\"device_authorization_endpoint\":\"http://192.0.2.1/"
          "\"}",
          "", "device_authorization_endpoint" },
        { "no set", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}", "{}", "no key for" },
        { "an empty set", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}", "{\"keys\":[]}",
          "no key for" },
        { "keys that are no list", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}", "{\"keys\":{}}",
          "keys" },
        { "for encryption", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}",
          "{\"keys\":[" KEY ",\"use\":\"enc\"}]}", "no key for" },
        { "for signing only", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}",
          "{\"keys\":[" KEY ",\"key_ops\":[\"sign\"]}]}", "no key for" },
        { "a shared secret", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}",
          "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}]}", "no key for" },
        { "RSA of 512 bits", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}",
          "{\"keys\":[{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":"
          "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxA\"}]}",
          "no key for" },
        { "on no curve", "200 OK", "{\"issuer\":\"@\",\"jwks_uri\":\"@/keys\"}",
          "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}]}", "no key for" },
};

/* A token in form, signed by nobody. */
#define TOKEN                                                                                                \
        "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.e30."                                                            \
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void test_row(const void *arg)
{
        gsize i = GPOINTER_TO_SIZE(arg);
        Issuer issuer = { .status = rows[i].status };
        g_autofree char *url = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) claims = NULL;
        Oidc *oidc;

        issuer_open(&issuer);
        issuer.document = at_issuer(&issuer, rows[i].document);
        issuer.keys = g_strdup(rows[i].keys);
        g_assert_cmpint(pthread_create(&issuer.thread, NULL, serve, &issuer), ==, 0);
        url = at_issuer(&issuer, "@");
        oidc = oidc_new(&(OidcConfig){ .issuer = url, .client = "paddle" }, &error);
        g_assert_no_error(error);
        claims = oidc_verify(oidc, TOKEN, NULL, &error);
        g_assert_null(claims);
        g_assert_true(err_is(error, rows[i].says ? ERR_UNAVAILABLE : ERR_UNAUTHENTICATED));
        if (!strstr(error->message, rows[i].says ? rows[i].says : "its signature is not the issuer's"))
                g_error("it says: %s", error->message);
        if (g_str_has_prefix(rows[i].status, "302"))
                g_assert_cmpint(issuer.asked, ==, 0);
        oidc_free(oidc);
        issuer_close(&issuer);
}

static void test_issuers(void)
{
        static const struct {
                const char *url;
                bool good;
        } urls[] = {
                { "https://issuer.example.com", true },
                { "https://issuer.example.com/realms/a", true },
                { "https://issuer.example.com:8443/", true },
                { "http://localhost:5556/dex", true },
                { "http://[::1]:5556", true },
                { "http://issuer.example.com", false },
                { "http://127.0.0.1.example.com", false },
                { "http://localhost@example.com", false },
                { "https://", false },
                { "https://a b", false },
                { "https://a#b", false },
                { "https://a?b", false },
                { "issuer.example.com", false },
                { "", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(urls); i++) {
                g_autoptr(GError) error = NULL;

                if (oidc_check_issuer(urls[i].url, &error) != urls[i].good)
                        g_error("%s: %s", urls[i].url, error ? error->message : "taken");
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/oidc/issuers", test_issuers);
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *path = g_strconcat("/oidc/documents/", rows[i].name, NULL);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_row);
        }
        return g_test_run();
}
