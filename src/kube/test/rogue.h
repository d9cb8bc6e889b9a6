/* A server on loopback that answers as a test says, byte for byte: each request takes the first row that fits
 * it and is not used up. On threads of its own. */
#pragma once

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "kube/client.h"

enum {
        PATIENCE_MS = 90000, /* before a test says that something hangs */
        PIECE = 40,          /* bytes */
};

typedef enum {
        ROGUE_REPLY,    /* the text is a body: 200, application/json */
        ROGUE_RAW,      /* the text is the whole reply; the connection goes on */
        ROGUE_CLOSE,    /* the same, and the connection ends */
        ROGUE_HOLD,     /* the same, and nothing more is said, ever */
        ROGUE_HEAR,     /* the same, and what comes is kept in `heard` until the connection ends */
        ROGUE_BYTEWISE, /* the same, a byte at a time; the connection ends */
        ROGUE_PIECES, /* the same, a few bytes at a time: so few pieces that a client which does not read has
                         room for all, and none is lost when the connection is reset */
} RogueHow;

typedef struct {
        const char *request; /* what the request, with its head and body, must contain; NULL ends the table */
        int times;           /* 0: always */
        RogueHow how;
        const char *text;
        gsize len; /* 0: strlen(text) */
} RogueRow;

#define HEAD(status) "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n"
#define STREAM HEAD("200 OK") "\r\n" /* its end is that of the connection */

enum { ROGUE_CONNECTIONS = 256 };

typedef struct {
        int fd, port;
        pthread_t listener;
        pthread_mutex_t mutex; /* of all that follows */
        const RogueRow *rows;
        int used[64];
        GString *log; /* the request lines */
        GString *heard;
        struct {
                int fd;
                pthread_t thread;
        } connections[ROGUE_CONNECTIONS];
        int count;
} Rogue;

static inline const RogueRow *rogue_match(Rogue *rogue, const char *request)
{
        const RogueRow *found = NULL;

        pthread_mutex_lock(&rogue->mutex);
        g_string_append_len(rogue->log, request, (gssize)strcspn(request, "\r"));
        g_string_append_c(rogue->log, '\n');
        for (int i = 0; !found && rogue->rows[i].request; i++) {
                const RogueRow *row = &rogue->rows[i];

                if (strstr(request, row->request) && (!row->times || rogue->used[i] < row->times)) {
                        rogue->used[i]++;
                        found = row;
                }
        }
        pthread_mutex_unlock(&rogue->mutex);
        return found;
}

static inline bool rogue_say(int fd, const char *text, gsize len, gsize step)
{
        for (gsize at = 0; at < len;) {
                ssize_t part = send(fd, text + at, MIN(step, len - at), MSG_NOSIGNAL);

                if (part <= 0)
                        return false;
                at += (gsize)part;
        }
        return true;
}

/* The text with what a WebSocket's opening asks for in place of @ACCEPT@. */
static inline char *rogue_accept(const char *request, const RogueRow *row, gsize *ret_len)
{
        static const char mark[] = "@ACCEPT@";
        const char *key = strstr(request, "Sec-WebSocket-Key: ");
        gsize len = row->len ? row->len : strlen(row->text);
        const char *at = g_strstr_len(row->text, (gssize)len, mark);
        GString *out = g_string_new_len(row->text, (gssize)len);

        if (at && key) {
                g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
                guint8 digest[20]; /* of SHA-1 */
                gsize digest_len = sizeof digest;

                g_checksum_update(sum, (const guchar *)key + 19, (gssize)strcspn(key + 19, "\r"));
                g_checksum_update(sum, (const guchar *)"258EAFA5-E914-47DA-95CA-C5AB0DC85B11", -1);
                g_checksum_get_digest(sum, digest, &digest_len);
                g_autofree char *accept = g_base64_encode(digest, digest_len);
                g_string_erase(out, at - row->text, (gssize)strlen(mark));
                g_string_insert(out, at - row->text, accept);
        }
        *ret_len = out->len;
        return g_string_free(out, FALSE);
}

/* False when the connection is to end. */
static inline bool rogue_answer(int fd, const char *request, const RogueRow *row)
{
        g_autofree char *whole = NULL, *text = NULL;
        gsize len;

        text = rogue_accept(request, row, &len);

        if (row->how == ROGUE_REPLY) {
                whole = g_strdup_printf(HEAD("200 OK") "Content-Length: %" G_GSIZE_FORMAT "\r\n\r\n%s", len,
                                        text);
                return rogue_say(fd, whole, strlen(whole), G_MAXSIZE);
        }
        return rogue_say(fd, text, len,
                         row->how == ROGUE_BYTEWISE ? 1
                         : row->how == ROGUE_PIECES ? PIECE
                                                    : G_MAXSIZE) &&
               (row->how == ROGUE_RAW || row->how == ROGUE_HOLD);
}

/* One request with its body; NULL at the end. */
static inline char *rogue_read(int fd)
{
        GString *text = g_string_new(NULL);
        gsize want = G_MAXSIZE;
        char c;

        while (text->len < want && recv(fd, &c, 1, 0) == 1) {
                g_string_append_c(text, c);
                if (want == G_MAXSIZE && g_str_has_suffix(text->str, "\r\n\r\n")) {
                        const char *length = strstr(text->str, "Content-Length: ");

                        want = text->len + (length ? (gsize)g_ascii_strtoull(length + 16, NULL, 10) : 0);
                }
        }
        return g_string_free(text, text->len < want);
}

typedef struct {
        Rogue *rogue;
        int fd;
} RogueOne;

static inline void rogue_hear(Rogue *rogue, int fd)
{
        char buffer[4096];

        for (ssize_t got; (got = recv(fd, buffer, sizeof buffer, 0)) > 0;) {
                pthread_mutex_lock(&rogue->mutex);
                g_string_append_len(rogue->heard, buffer, got);
                pthread_mutex_unlock(&rogue->mutex);
        }
}

static inline void *rogue_serve(void *arg)
{
        RogueOne *me = arg;
        Rogue *rogue = me->rogue;
        int fd = me->fd;
        bool more = true;

        g_free(me);
        while (more) {
                g_autofree char *request = rogue_read(fd);
                const RogueRow *row = request ? rogue_match(rogue, request) : NULL;

                more = row && rogue_answer(fd, request, row);
                if (row && row->how == ROGUE_HEAR)
                        rogue_hear(rogue, fd);
        }
        shutdown(fd, SHUT_RDWR);
        return NULL;
}

static inline void *rogue_listen(void *arg)
{
        Rogue *rogue = arg;
        int fd, one = 1;

        while ((fd = accept(rogue->fd, NULL, NULL)) >= 0) {
                RogueOne *me = g_new(RogueOne, 1);

                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                pthread_mutex_lock(&rogue->mutex);
                g_assert_cmpint(rogue->count, <, ROGUE_CONNECTIONS);
                me->rogue = rogue;
                me->fd = fd;
                rogue->connections[rogue->count].fd = fd;
                pthread_create(&rogue->connections[rogue->count].thread, NULL, rogue_serve, me);
                rogue->count++;
                pthread_mutex_unlock(&rogue->mutex);
        }
        return NULL;
}

static inline void rogue_start(Rogue *rogue, const RogueRow *rows)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof address;

        memset(rogue, 0, sizeof *rogue);
        rogue->rows = rows;
        rogue->log = g_string_new(NULL);
        rogue->heard = g_string_new(NULL);
        pthread_mutex_init(&rogue->mutex, NULL);
        rogue->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(bind(rogue->fd, (struct sockaddr *)&address, len), ==, 0);
        g_assert_cmpint(listen(rogue->fd, 128), ==, 0);
        getsockname(rogue->fd, (struct sockaddr *)&address, &len);
        rogue->port = ntohs(address.sin_port);
        pthread_create(&rogue->listener, NULL, rogue_listen, rogue);
}

static inline void rogue_stop(Rogue *rogue)
{
        shutdown(rogue->fd, SHUT_RDWR);
        pthread_join(rogue->listener, NULL);
        for (int i = 0; i < rogue->count; i++) {
                shutdown(rogue->connections[i].fd, SHUT_RDWR);
                pthread_join(rogue->connections[i].thread, NULL);
                close(rogue->connections[i].fd);
        }
        close(rogue->fd);
        g_string_free(rogue->log, TRUE);
        g_string_free(rogue->heard, TRUE);
        pthread_mutex_destroy(&rogue->mutex);
}

/* How many requests had this in their first line. */
static inline int rogue_count(Rogue *rogue, const char *text)
{
        int count = 0;

        pthread_mutex_lock(&rogue->mutex);
        for (const char *at = rogue->log->str; (at = strstr(at, text)); at += strlen(text))
                count++;
        pthread_mutex_unlock(&rogue->mutex);
        return count;
}

/* Waits until so many had it: who gave up on a reply may have done so before the request was read. */
static inline void rogue_wait(Rogue *rogue, const char *text, int count)
{
        gint64 until = g_get_monotonic_time() + PATIENCE_MS * G_GINT64_CONSTANT(1000);

        while (rogue_count(rogue, text) < count) {
                g_assert_cmpint(g_get_monotonic_time(), <, until);
                g_usleep(1000);
        }
}

static inline KubeClient *rogue_client(const Rogue *rogue, const char *user, const KubeClientOptions *options)
{
        g_autofree char *text =
                g_strdup_printf("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%d'}}]\nusers: "
                                "[{name: u, user: {%s}}]\n",
                                rogue->port, user);
        g_autoptr(GError) error = NULL;
        g_autoptr(KubeConfig) config = kube_config_parse(text, strlen(text), "/", NULL, &error);

        g_assert_no_error(error);
        KubeClient *client = kube_client_new(config, options, &error);
        g_assert_no_error(error);
        return client;
}

static inline gboolean rogue_hangs(void *arg)
{
        g_error("it hangs");
        return G_SOURCE_REMOVE;
}

/* Runs the loop until the condition holds. */
#define run_until(condition)                                                                                 \
        do {                                                                                                 \
                guint patience_ = g_timeout_add(PATIENCE_MS, rogue_hangs, NULL);                             \
                while (!(condition))                                                                         \
                        g_main_context_iteration(NULL, TRUE);                                                \
                g_source_remove(patience_);                                                                  \
        } while (0)
