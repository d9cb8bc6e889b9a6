/* Access rules of a builder's proxy (see allow.h). */
#include "agent/allow.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, PORT_MAX = 65535 };

/* ---- hosts ---- */

/* Splits "HOST", "HOST:PORT" or "[::1]:PORT" of `len` bytes. Without a port, *ret_port is left unchanged. */
static bool split_host(const char *text, gsize len, char **ret_host, int *ret_port, GError **error)
{
        const char *end = text + len, *host = text, *host_end, *colon;
        gint64 port = *ret_port;

        if (len > 0 && *text == '[') {
                host = text + 1;
                host_end = memchr(host, ']', (gsize)(end - host));
                colon = host_end ? host_end + 1 : NULL;
        } else {
                host_end = colon = memchr(text, ':', len);
                if (!host_end)
                        host_end = colon = end;
        }
        if (!host_end || host_end == host || (colon < end && *colon != ':'))
                return err_set(error, ERR_INVALID, "'%.*s' is not HOST or HOST:PORT", (int)MIN(len, 200),
                               text);
        for (const char *at = host; at < host_end; at++)
                if (!g_ascii_isalnum(*at) && !strchr(".-_:*", *at))
                        return err_set(error, ERR_INVALID, "'%.*s' is not HOST or HOST:PORT",
                                       (int)MIN(len, 200), text);
        if (colon < end) {
                g_autofree char *number = g_strndup(colon + 1, (gsize)(end - colon - 1));

                if (!number_parse("port", number, 1, PORT_MAX, &port, error))
                        return false;
        }
        *ret_host = g_ascii_strdown(host, host_end - host);
        if (g_str_has_suffix(*ret_host, ".") && strlen(*ret_host) > 1)
                (*ret_host)[strlen(*ret_host) - 1] = '\0';
        *ret_port = (int)port;
        return true;
}

static bool host_matches(const char *pattern, const char *host)
{
        if (g_str_has_prefix(pattern, "*."))
                return g_str_has_suffix(host, pattern + 1);
        return strcmp(pattern, host) == 0;
}

bool allow_list_has(const char *list, const char *host, int port)
{
        g_auto(GStrv) entries = g_strsplit_set(list ? list : "", ", ", -1);

        for (char **entry = entries; *entry; entry++) {
                g_autofree char *pattern = NULL;
                int of_entry = 0;

                if (**entry && split_host(*entry, strlen(*entry), &pattern, &of_entry, NULL) &&
                    host_matches(pattern, host) &&
                    (of_entry ? port == of_entry : port == HTTP_PORT || port == HTTPS_PORT))
                        return true;
        }
        return false;
}

bool allow_is_direct(const char *no_proxy, const char *host)
{
        g_auto(GStrv) entries = g_strsplit_set(no_proxy ? no_proxy : "", ", ", -1);

        for (char **entry = entries; *entry; entry++) {
                g_autofree char *name = g_ascii_strdown(*entry, -1), *below = NULL;
                const char *bare = name + strspn(name, "*.");

                if (strcmp(name, "*") == 0)
                        return true;
                if (!*bare)
                        continue;
                below = g_strconcat(".", bare, NULL);
                if (strcmp(bare, host) == 0 || g_str_has_suffix(host, below))
                        return true;
        }
        return false;
}

/* ---- a request ---- */

void allow_ask_clear(AllowAsk *ask)
{
        g_free(ask->host);
        g_free(ask->target);
        g_free(ask->path);
        g_free(ask->method);
        g_free(ask->headers);
        *ask = (AllowAsk){ 0 };
}

/* Control characters are refused: the next proxy may end a line at a bare LF and read the rest as a separate
 * request. */
static bool has_control(const char *text)
{
        for (; *text; text++)
                if (g_ascii_iscntrl(*text))
                        return true;
        return false;
}

/* "http://HOST[:PORT]/path?query" */
static bool parse_target(const char *target, AllowAsk *ret, GError **error)
{
        const char *authority = target + strlen("http://"), *path;
        gsize len;

        if (g_ascii_strncasecmp(target, "http://", strlen("http://")) != 0 || has_control(target))
                return err_set(error, ERR_INVALID, "'%.200s' is not an http:// URL", target);
        len = strcspn(authority, "/?#");
        path = authority + len;
        ret->port = HTTP_PORT;
        if (memchr(authority, '@', len)) /* skip the credentials: the client sends them as a header as well */
                return err_set(error, ERR_INVALID, "a URL with credentials is refused");
        if (!split_host(authority, len, &ret->host, &ret->port, error))
                return false;
        ret->target = g_strdup(target);
        ret->path = *path == '/' ? g_strdup(path) : g_strconcat("/", path, NULL);
        return true;
}

/* Headers that are not forwarded: those between the client and this proxy, and Host, which is written
 * once. */
static bool stays_here(const char *line)
{
        static const char *const names[] = { "Connection:", "Proxy-",   "Keep-Alive:", "TE:",
                                             "Trailer:",    "Upgrade:", "Host:" };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                if (g_ascii_strncasecmp(line, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

static bool has_body(const char *line)
{
        static const char length[] = "Content-Length:", coding[] = "Transfer-Encoding:";
        g_autofree char *value = g_ascii_strncasecmp(line, length, sizeof length - 1) == 0
                                         ? g_strdup(line + sizeof length - 1)
                                         : NULL;

        return g_ascii_strncasecmp(line, coding, sizeof coding - 1) == 0 ||
               (value && strcmp(g_strstrip(value), "0") != 0);
}

/* A name directly followed by a colon. "Host : other" would pass the tables above, and some servers still
 * read it as a Host header. */
static bool is_header(const char *line)
{
        gsize len = strcspn(line, ": \t");

        return len > 0 && line[len] == ':';
}

static bool parse_headers(char **lines, AllowAsk *ret, GError **error)
{
        g_autoptr(GString) headers = g_string_new(NULL);

        for (char **line = lines; *line && **line; line++) {
                if (strpbrk(*line, "\r\n") || !is_header(*line))
                        return err_set(error, ERR_INVALID, "a header of the request cannot be read");
                if (!ret->tunnel && has_body(*line))
                        return err_set(error, ERR_DENIED,
                                       "only requests without a body are allowed over http://");
                if (!stays_here(*line))
                        g_string_append_printf(headers, "%s\r\n", *line);
        }
        ret->headers = g_string_free(g_steal_pointer(&headers), FALSE);
        return true;
}

bool allow_ask_parse(const char *head, gsize len, AllowAsk *ret, GError **error)
{
        g_autofree char *text = g_strndup(head, len);
        g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);
        g_auto(GStrv) words = g_strsplit(lines[0] ? lines[0] : "", " ", 4);
        g_auto(AllowAsk) ask = { 0 };

        if (memchr(head, '\0', len) || g_strv_length(words) != 3 || !g_str_has_prefix(words[2], "HTTP/1."))
                return err_set(error, ERR_INVALID, "the request is not one of HTTP/1");
        ask.method = g_strdup(words[0]);
        ask.tunnel = strcmp(words[0], "CONNECT") == 0;
        if (ask.tunnel) {
                if (!split_host(words[1], strlen(words[1]), &ask.host, &ask.port, error))
                        return false;
                if (!ask.port)
                        return err_set(error, ERR_INVALID, "'%.200s' has no port", words[1]);
        } else if (strcmp(words[0], "GET") != 0 && strcmp(words[0], "HEAD") != 0) {
                return err_set(error, ERR_DENIED, "only GET and HEAD are allowed over http://");
        } else if (!parse_target(words[1], &ask, error)) {
                return false;
        }
        if (!parse_headers(lines + 1, &ask, error))
                return false;
        *ret = ask;
        ask = (AllowAsk){ 0 };
        return true;
}

/* ---- the next proxy ---- */

void allow_proxy_clear(AllowProxy *proxy)
{
        g_free(proxy->host);
        g_free(proxy->authorization);
        *proxy = (AllowProxy){ 0 };
}

static char *basic(const char *text, gsize len)
{
        g_autofree char *raw = g_uri_unescape_segment(text, text + len, NULL), *coded = NULL;

        if (!raw)
                return NULL;
        coded = g_base64_encode((const guchar *)raw, strlen(raw));
        return g_strconcat("Basic ", coded, NULL);
}

bool allow_proxy_parse(const char *url, AllowProxy *ret, GError **error)
{
        const char *scheme = strstr(url, "://"), *authority = scheme ? scheme + 3 : url;
        gsize len = strcspn(authority, "/?#");
        const char *at = g_strrstr_len(authority, (gssize)len, "@");
        const char *host = at ? at + 1 : authority;
        AllowProxy proxy = { .port = HTTP_PORT };

        if (scheme && g_ascii_strncasecmp(url, "http://", strlen("http://")) != 0)
                return err_set(error, ERR_INVALID, "a proxy must have http://, not '%.*s'",
                               (int)(scheme - url), url);
        if (!split_host(host, len - (gsize)(host - authority), &proxy.host, &proxy.port, error))
                return false;
        if (at)
                proxy.authorization = basic(authority, (gsize)(at - authority));
        *ret = proxy;
        return true;
}
