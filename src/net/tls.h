/* TLS of a server: its certificate and key, and an authority for certificates of clients, from PEM files that
 * may change. New connections use the files as last read; open ones keep what they began with. TLS 1.2 and
 * 1.3, only forward secrecy and authenticated encryption. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Tls Tls;

typedef struct {
        const char *cert, *key; /* PEM: the server's certificate, with the intermediate ones up to its
                                   authority, and its key */
        const char *client_ca;  /* PEM: authorities; NULL: clients are not asked for a certificate */
} TlsFiles;

/* Reads the files. ERR_INVALID names the file that is wrong and why. */
Tls *tls_new(const TlsFiles *files, GError **error);
void tls_free(Tls *tls); /* call it after all its connections are freed; NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tls, tls_free)

/* Reads the files again. On failure the old ones stay in use. */
bool tls_reload(Tls *tls, GError **error);
/* True if the files have changed since the last attempt to read them, successful or not. */
bool tls_is_stale(Tls *tls);
gint64 tls_expires_ms(Tls *tls); /* end of the certificate's validity */
/* True if this TlsClient.authority is among the authorities as last read. An authority whose certificate is
 * renewed with the same key keeps its identity. */
bool tls_has_authority(Tls *tls, const char *authority);

/* ---- for the server; `session` is a gnutls_session_t ---- */

typedef struct TlsConnection TlsConnection;

extern const char tls_priorities[]; /* in the syntax of GnuTLS */

/* Sets up a new connection on the socket `fd`, before its handshake. It outlives the session. */
TlsConnection *tls_connection_new(Tls *tls, void *session, int fd);
void tls_connection_free(TlsConnection *connection); /* call it after the session's end; NULL is a no-op */
/* The next record is the head of a reply: it is held and sent together with the record that follows at once.
 * Call it only if there is a following record. */
void tls_hold_head(TlsConnection *connection);
/* Sends as much as possible without waiting, then ends the sending direction. */
void tls_say_last(TlsConnection *connection, const char *data, gsize len);

/* The content of a client's certificate, and its authority. */
typedef struct {
        char *name; /* the user: the SAN "URI:paddle:user:NAME", else the subject's CN; NULL: no certificate
                       was presented */
        gint64 until_ms; /* end of its validity */
        char *authority; /* the authority whose key signed it, or signed the certificates that lead to it: hex
                            of the key's SHA-256 */
        char *words;     /* description for people: "CN=ann sha256:" and hex of its SHA-256 */
} TlsClient;
void tls_client_clear(TlsClient *client);

/* False with ERR_UNAUTHENTICATED if the certificate is not from the authority, has expired, is not for
 * clients or names no user. Call it after the handshake. */
bool tls_client(TlsConnection *connection, TlsClient *ret, GError **error);
