/* What a server shows of itself by TLS, and whom of its clients it knows by theirs: a certificate, its key,
 * and an authority for certificates of clients, from PEM files that may change. New connections get what was
 * read last; open ones keep what they began with. TLS 1.2 and 1.3, forward secrecy and authenticated
 * encryption only. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Tls Tls;

typedef struct {
        const char *cert, *key; /* PEM: the server's certificate and what leads from it to its authority */
        const char *client_ca;  /* PEM: authorities; NULL: certificates of clients are not asked for */
} TlsFiles;

/* Reads the files. ERR_INVALID names the file that is wrong and why. */
Tls *tls_new(const TlsFiles *files, GError **error);
void tls_free(Tls *tls); /* after all its connections; NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tls, tls_free)

/* Reads them again. When that fails all stays as it was. */
bool tls_reload(Tls *tls, GError **error);
/* Have the files changed since they were last read, well or not? */
bool tls_is_stale(Tls *tls);
gint64 tls_expires_ms(Tls *tls); /* until when the certificate is valid */
/* Is this TlsClient.authority one of the authorities as they were read last? An authority whose certificate
 * is renewed with the same key stays the same one. */
bool tls_has_authority(Tls *tls, const char *authority);

/* ---- for the server; `session` is a gnutls_session_t ---- */

typedef struct TlsConnection TlsConnection;

extern const char tls_priorities[]; /* as GnuTLS writes them */

/* What a new connection by the socket `fd` shows and how it reads; before its handshake. It outlives the
 * session. */
TlsConnection *tls_connection_new(Tls *tls, void *session, int fd);
void tls_connection_free(TlsConnection *connection); /* after the session's end; NULL is a no-op */
/* The next record is the head of a reply, and the one behind it comes at once: both go out together. Only
 * where there is one behind it. */
void tls_hold_head(TlsConnection *connection);
/* Sends as much as goes without waiting, and the end of what is sent. */
void tls_say_last(TlsConnection *connection, const char *data, gsize len);

/* What the certificate of a client says, and who vouches for it. */
typedef struct {
        char *name; /* of the user: the SAN "URI:paddle:user:NAME", else the subject's CN; NULL: it showed
                       none */
        gint64 until_ms; /* it is valid until then */
        char *authority; /* whose key has signed it, or what leads to it: hex of the key's SHA-256 */
        char *words;     /* which one it is, for people: "CN=ann sha256:" and hex of its SHA-256 */
} TlsClient;
void tls_client_clear(TlsClient *client);

/* False with ERR_UNAUTHENTICATED for one that is not of the authority, has expired, is not for clients or
 * names nobody. After the handshake. */
bool tls_client(TlsConnection *connection, TlsClient *ret, GError **error);
