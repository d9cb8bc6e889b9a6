/* TLS of the server's side by GnuTLS (see tls.h). The library's connections come with credentials of their
 * own, which tls_connection_new replaces: so each connection has those that were read last when it began, and
 * keeps them as long as it lives. */
#include "net/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/file.h"

enum {
        FILE_MAX = 1 << 20,
        NAME_MAX_BYTES = 256,
        SUBJECT_MAX = 100, /* bytes of a subject that are told, so that the fingerprint fits beside it */
        N_FILES = 3,
        READ_AHEAD = 4096, /* a handshake, or the usual request */
        HEAD_MAX = 1024,   /* a record with the usual head of a reply */
        PIECES_MAX = 8,    /* GnuTLS sends a record in fewer */
};

const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"
                              "-CIPHER-ALL:+AES-128-GCM:+CHACHA20-POLY1305:+AES-256-GCM:-MAC-ALL:+AEAD:"
                              "%SERVER_PRECEDENCE";

/* The certificate and key of one reading; shared by the connections that began with them. */
typedef struct {
        atomic_int refs;
        gnutls_certificate_credentials_t credentials;
        bool asks; /* for certificates of clients */
        gnutls_x509_crt_t *authorities;
        unsigned n_authorities;
        gint64 expires_ms;
} TlsIdentity;

/* Between GnuTLS and the kernel, to spare calls: GnuTLS reads the head of a record and then the rest, and the
 * HTTP library sends the head of a reply and then its body. */
struct TlsConnection {
        TlsIdentity *identity;
        gnutls_session_t session;
        int fd;
        gsize at, len; /* what was read ahead is between */
        char ahead[READ_AHEAD];
        bool hold; /* the next record, until the one behind it */
        gsize held_len;
        char held[HEAD_MAX];
};

/* Identifies the version of a file. */
typedef struct {
        dev_t dev;
        ino_t ino;
        off_t size;
        struct timespec changed;
} Mark;

struct Tls {
        char *files[N_FILES];  /* certificate, key, authorities or NULL */
        pthread_mutex_t mutex; /* guards what follows */
        TlsIdentity *identity;
        Mark marks[N_FILES];
};

typedef struct {
        char *text;
        gsize len;
} Pem;

static void pem_clear(Pem *pem)
{
        if (pem->text)
                gnutls_memset(pem->text, 0, pem->len);
        g_free(pem->text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Pem, pem_clear)

static gnutls_datum_t datum_of(const Pem *pem)
{
        return (gnutls_datum_t){ (unsigned char *)pem->text, (unsigned)pem->len };
}

static TlsIdentity *identity_ref(Tls *tls)
{
        pthread_mutex_lock(&tls->mutex);
        TlsIdentity *identity = tls->identity;
        identity->refs++;
        pthread_mutex_unlock(&tls->mutex);
        return identity;
}

static void tls_identity_unref(TlsIdentity *identity)
{
        if (!identity || --identity->refs > 0)
                return;
        gnutls_certificate_free_credentials(identity->credentials);
        for (unsigned i = 0; i < identity->n_authorities; i++)
                gnutls_x509_crt_deinit(identity->authorities[i]);
        gnutls_free(identity->authorities);
        g_free(identity);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TlsIdentity, tls_identity_unref)

static char *hex_of(const unsigned char *bytes, gsize len)
{
        GString *hex = g_string_sized_new(2 * len + 1);

        for (gsize i = 0; i < len; i++)
                g_string_append_printf(hex, "%02x", bytes[i]);
        return g_string_free(hex, FALSE);
}

/* ---- reading ---- */

static bool load_pair(TlsIdentity *identity, const Tls *tls, const Pem *cert, const Pem *key, GError **error)
{
        gnutls_datum_t cert_datum = datum_of(cert), key_datum = datum_of(key);
        int code = gnutls_certificate_set_x509_key_mem2(identity->credentials, &cert_datum, &key_datum,
                                                        GNUTLS_X509_FMT_PEM, NULL, 0);

        if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
                return err_set(error, ERR_INVALID, "the key in '%s' is not that of the certificate in '%s'",
                               tls->files[1], tls->files[0]);
        if (code < 0)
                return err_set(error, ERR_INVALID,
                               "'%s' and '%s' are not a certificate and its key in PEM form: %s",
                               tls->files[0], tls->files[1], gnutls_strerror(code));
        return true;
}

static bool load_expiry(TlsIdentity *identity, const Tls *tls, const Pem *cert, GError **error)
{
        gnutls_datum_t datum = datum_of(cert);
        gnutls_x509_crt_t crt;

        gnutls_x509_crt_init(&crt);
        int code = gnutls_x509_crt_import(crt, &datum, GNUTLS_X509_FMT_PEM);
        if (code >= 0)
                identity->expires_ms = (gint64)gnutls_x509_crt_get_expiration_time(crt) * 1000;
        gnutls_x509_crt_deinit(crt);
        return code >= 0 || err_set(error, ERR_INVALID, "'%s' is no certificate in PEM form: %s",
                                    tls->files[0], gnutls_strerror(code));
}

static bool load_authorities(TlsIdentity *identity, const Tls *tls, const Pem *authorities, GError **error)
{
        gnutls_datum_t datum = datum_of(authorities);
        int count = gnutls_certificate_set_x509_trust_mem(identity->credentials, &datum, GNUTLS_X509_FMT_PEM);

        identity->asks = true;
        if (count > 0)
                count = gnutls_x509_crt_list_import2(&identity->authorities, &identity->n_authorities, &datum,
                                                     GNUTLS_X509_FMT_PEM, 0) < 0
                                ? GNUTLS_E_BASE64_DECODING_ERROR
                                : count;
        return count > 0 ||
               err_set(error, ERR_INVALID, "'%s' holds no certificate of an authority in PEM form%s%s",
                       tls->files[2], count < 0 ? ": " : "", count < 0 ? gnutls_strerror(count) : "");
}

static TlsIdentity *read_identity(const Tls *tls, GError **error)
{
        g_autoptr(TlsIdentity) identity = g_new0(TlsIdentity, 1);
        g_auto(Pem) cert = { 0 };
        g_auto(Pem) key = { 0 };
        g_auto(Pem) authorities = { 0 };

        identity->refs = 1;
        g_assert(gnutls_certificate_allocate_credentials(&identity->credentials) == 0); /* out of memory */
        if (!file_read(tls->files[0], FILE_MAX, &cert.text, &cert.len, error) ||
            !file_read(tls->files[1], FILE_MAX, &key.text, &key.len, error) ||
            (tls->files[2] &&
             !file_read(tls->files[2], FILE_MAX, &authorities.text, &authorities.len, error)) ||
            !load_pair(identity, tls, &cert, &key, error) || !load_expiry(identity, tls, &cert, error) ||
            (tls->files[2] && !load_authorities(identity, tls, &authorities, error)))
                return NULL;
        return g_steal_pointer(&identity);
}

static void read_marks(const Tls *tls, Mark marks[N_FILES])
{
        for (int i = 0; i < N_FILES; i++) {
                struct stat status;

                if (!tls->files[i] || stat(tls->files[i], &status) < 0)
                        status = (struct stat){ 0 };
                marks[i] = (Mark){ status.st_dev, status.st_ino, status.st_size, status.st_ctim };
        }
}

bool tls_reload(Tls *tls, GError **error)
{
        Mark marks[N_FILES];

        read_marks(tls, marks); /* before: what changes meanwhile is seen the next time */
        TlsIdentity *identity = read_identity(tls, error);
        pthread_mutex_lock(&tls->mutex);
        memcpy(tls->marks, marks, sizeof marks);
        TlsIdentity *old = identity ? tls->identity : NULL;
        if (identity)
                tls->identity = identity;
        pthread_mutex_unlock(&tls->mutex);
        tls_identity_unref(old);
        return identity != NULL;
}

bool tls_is_stale(Tls *tls)
{
        Mark marks[N_FILES];

        read_marks(tls, marks);
        pthread_mutex_lock(&tls->mutex);
        bool stale = false;
        for (int i = 0; i < N_FILES; i++)
                stale |= marks[i].dev != tls->marks[i].dev || marks[i].ino != tls->marks[i].ino ||
                         marks[i].size != tls->marks[i].size ||
                         marks[i].changed.tv_sec != tls->marks[i].changed.tv_sec ||
                         marks[i].changed.tv_nsec != tls->marks[i].changed.tv_nsec;
        pthread_mutex_unlock(&tls->mutex);
        return stale;
}

gint64 tls_expires_ms(Tls *tls)
{
        pthread_mutex_lock(&tls->mutex);
        gint64 expires_ms = tls->identity->expires_ms;
        pthread_mutex_unlock(&tls->mutex);
        return expires_ms;
}

static char *key_of(gnutls_x509_crt_t crt)
{
        unsigned char id[32];
        size_t len = sizeof id;

        return gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, id, &len) < 0 ? NULL
                                                                                      : hex_of(id, len);
}

bool tls_has_authority(Tls *tls, const char *authority)
{
        TlsIdentity *identity = identity_ref(tls);
        bool found = false;

        for (unsigned i = 0; i < identity->n_authorities && !found; i++) {
                g_autofree char *key = key_of(identity->authorities[i]);

                found = g_strcmp0(key, authority) == 0;
        }
        tls_identity_unref(identity);
        return found;
}

Tls *tls_new(const TlsFiles *files, GError **error)
{
        g_autoptr(Tls) tls = g_new0(Tls, 1);

        pthread_mutex_init(&tls->mutex, NULL);
        tls->files[0] = g_strdup(files->cert);
        tls->files[1] = g_strdup(files->key);
        tls->files[2] = g_strdup(files->client_ca);
        return tls_reload(tls, error) ? g_steal_pointer(&tls) : NULL;
}

void tls_free(Tls *tls)
{
        if (!tls)
                return;
        tls_identity_unref(tls->identity);
        for (int i = 0; i < N_FILES; i++)
                g_free(tls->files[i]);
        pthread_mutex_destroy(&tls->mutex);
        g_free(tls);
}

/* ---- connections ---- */

/* Both only remember; a session without credentials would end in its handshake. */
static void show(const TlsConnection *connection)
{
        static const char http[] = "http/1.1";
        const gnutls_datum_t protocol = { (unsigned char *)http, sizeof http - 1 };

        (void)gnutls_credentials_set(connection->session, GNUTLS_CRD_CERTIFICATE,
                                     connection->identity->credentials);
        (void)gnutls_alpn_set_protocols(connection->session, &protocol, 1, 0);
        if (connection->identity->asks)
                gnutls_certificate_server_set_request(connection->session, GNUTLS_CERT_REQUEST);
}

/* A gnutls_pull_func. */
static ssize_t pull(gnutls_transport_ptr_t arg, void *data, size_t len)
{
        TlsConnection *connection = arg;

        if (connection->at == connection->len) {
                ssize_t got;

                if (len >= sizeof connection->ahead)
                        return recv(connection->fd, data, len, MSG_DONTWAIT);
                got = recv(connection->fd, connection->ahead, sizeof connection->ahead, MSG_DONTWAIT);
                if (got <= 0)
                        return got;
                connection->at = 0;
                connection->len = (gsize)got;
        }
        len = MIN(len, connection->len - connection->at);
        memcpy(data, connection->ahead + connection->at, len);
        connection->at += len;
        return (ssize_t)len;
}

static bool keep(TlsConnection *connection, const giovec_t *pieces, int n)
{
        gsize len = 0;

        for (int i = 0; i < n; i++)
                len += pieces[i].iov_len;
        if (!connection->hold || len > sizeof connection->held)
                return false;
        for (int i = 0; i < n; i++) {
                memcpy(connection->held + connection->held_len, pieces[i].iov_base, pieces[i].iov_len);
                connection->held_len += pieces[i].iov_len;
        }
        return true;
}

/* A gnutls_vec_push_func. Held bytes count as sent. */
static ssize_t push(gnutls_transport_ptr_t arg, const giovec_t *pieces, int n)
{
        TlsConnection *connection = arg;
        struct iovec all[PIECES_MAX + 1] = { { connection->held, connection->held_len } };
        struct msghdr message = { .msg_iov = all, .msg_iovlen = (gsize)MIN(n, PIECES_MAX) + 1 };
        bool kept = connection->held_len == 0 && keep(connection, pieces, n);

        connection->hold = false;
        if (kept)
                return (ssize_t)connection->held_len;
        memcpy(all + 1, pieces, (message.msg_iovlen - 1) * sizeof *all);
        ssize_t sent = sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
                return sent;
        gsize held = MIN((gsize)sent, connection->held_len);
        connection->held_len -= held;
        memmove(connection->held, connection->held + held, connection->held_len);
        if ((gsize)sent > held)
                return sent - (ssize_t)held;
        errno = EAGAIN;
        return -1;
}

void tls_hold_head(TlsConnection *connection)
{
        connection->hold = connection->held_len == 0;
}

TlsConnection *tls_connection_new(Tls *tls, void *session, int fd)
{
        TlsConnection *connection = g_new(TlsConnection, 1);

        connection->identity = identity_ref(tls);
        connection->session = session;
        connection->fd = fd;
        connection->at = connection->len = connection->held_len = 0;
        connection->hold = false;
        show(connection);
        gnutls_transport_set_ptr(session, connection);
        gnutls_transport_set_pull_function(session, pull);
        gnutls_transport_set_vec_push_function(session, push);
        return connection;
}

void tls_connection_free(TlsConnection *connection)
{
        if (!connection)
                return;
        tls_identity_unref(connection->identity);
        g_free(connection);
}

void tls_say_last(TlsConnection *connection, const char *data, gsize len)
{
        while (len > 0) {
                ssize_t sent = gnutls_record_send(connection->session, data, len);

                if (sent <= 0)
                        return;
                data += sent;
                len -= (gsize)sent;
        }
        (void)gnutls_bye(connection->session, GNUTLS_SHUT_WR); /* does not wait, either */
}

/* ---- certificates of clients ---- */

static char *text_of(const char *data, gsize len)
{
        return len && !memchr(data, '\0', len) ? g_strndup(data, len) : NULL;
}

/* NULL: it has none, or two, of which either may be meant. */
static char *common_name(gnutls_x509_crt_t crt)
{
        char text[NAME_MAX_BYTES];
        size_t len = sizeof text, other = 0;

        if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, text, &len) < 0 ||
            gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 1, 0, NULL, &other) !=
                    GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
                return NULL;
        return text_of(text, len);
}

/* NULL: it has no name, or two. */
static char *name_of(gnutls_x509_crt_t crt)
{
        g_autofree char *name = NULL;
        static const char prefix[] = "paddle:user:";
        char text[NAME_MAX_BYTES];
        size_t len = sizeof text;
        unsigned type;
        int code;

        for (unsigned i = 0;; i++) {
                len = sizeof text;
                code = gnutls_x509_crt_get_subject_alt_name2(crt, i, text, &len, &type, NULL);
                if (code == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
                        break;
                if (code >= 0 && type == GNUTLS_SAN_URI && len >= sizeof prefix &&
                    memcmp(text, prefix, sizeof prefix - 1) == 0) {
                        if (name)
                                return NULL;
                        name = text_of(text + sizeof prefix - 1, len - (sizeof prefix - 1));
                        if (!name)
                                return NULL;
                }
                if (code < 0 && code != GNUTLS_E_SHORT_MEMORY_BUFFER)
                        return NULL;
        }
        return name ? g_steal_pointer(&name) : common_name(crt);
}

static bool verify(gnutls_session_t session, GError **error)
{
        gnutls_typed_vdata_st purpose = { GNUTLS_DT_KEY_PURPOSE_OID,
                                          (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0 };
        gnutls_datum_t words = { 0 };
        unsigned status = 0;
        int code = gnutls_certificate_verify_peers(session, &purpose, 1, &status);

        if (code < 0)
                return err_set(error, ERR_UNAUTHENTICATED, "the client's certificate cannot be checked: %s",
                               gnutls_strerror(code));
        if (status == 0)
                return true;
        (void)gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
        err_set(error, ERR_UNAUTHENTICATED,
                "the client's certificate does not hold here: %s\nUse one of the server's --tls-client-ca, "
                "or a "
                "token.",
                words.data ? g_strchomp((char *)words.data) : "it is not valid");
        gnutls_free(words.data);
        return false;
}

/* The authority that is `crt`, or has signed it. By the signature, as two of them may have one name. NULL: it
 * is further up. */
static gnutls_x509_crt_t voucher_of(const TlsIdentity *identity, gnutls_x509_crt_t crt)
{
        for (unsigned i = 0; i < identity->n_authorities; i++) {
                gnutls_x509_crt_t authority = identity->authorities[i];
                unsigned status = 0;

                if (gnutls_x509_crt_equals(authority, crt) ||
                    (gnutls_x509_crt_verify(crt, &authority, 1, 0, &status) >= 0 && status == 0))
                        return authority;
        }
        return NULL;
}

/* Of a chain that holds: it ends with the first that has one. */
static char *find_authority(const TlsIdentity *identity, const gnutls_datum_t *chain, unsigned count)
{
        gnutls_x509_crt_t found = NULL;

        for (unsigned i = 0; i < count && !found; i++) {
                gnutls_x509_crt_t crt;

                gnutls_x509_crt_init(&crt);
                if (gnutls_x509_crt_import(crt, &chain[i], GNUTLS_X509_FMT_DER) >= 0)
                        found = voucher_of(identity, crt);
                gnutls_x509_crt_deinit(crt);
        }
        return found ? key_of(found) : NULL;
}

static char *words_of(gnutls_x509_crt_t crt)
{
        unsigned char print[32];
        size_t len = sizeof print;
        gnutls_datum_t subject = { 0 };
        g_autofree char *hex = NULL, *words = NULL;

        if (gnutls_x509_crt_get_fingerprint(crt, GNUTLS_DIG_SHA256, print, &len) < 0)
                return NULL;
        hex = hex_of(print, len);
        if (gnutls_x509_crt_get_dn2(crt, &subject) < 0)
                return g_strconcat("sha256:", hex, NULL);
        words = g_strdup_printf("%.*s sha256:%s", SUBJECT_MAX, (char *)subject.data, hex);
        gnutls_free(subject.data);
        return g_utf8_make_valid(words, -1);
}

static bool read_client(gnutls_x509_crt_t crt, TlsClient *ret, GError **error)
{
        ret->name = name_of(crt);
        ret->until_ms = (gint64)gnutls_x509_crt_get_expiration_time(crt) * 1000;
        ret->words = words_of(crt);
        return ret->name || err_set(error, ERR_UNAUTHENTICATED,
                                    "the client's certificate names no user, or more than one\nIts subject "
                                    "needs a CN, or it a "
                                    "SAN 'URI:paddle:user:NAME'.");
}

void tls_client_clear(TlsClient *client)
{
        g_free(client->name);
        g_free(client->authority);
        g_free(client->words);
        *client = (TlsClient){ 0 };
}

bool tls_client(TlsConnection *connection, TlsClient *ret, GError **error)
{
        const TlsIdentity *identity = connection->identity;
        unsigned count = 0;
        const gnutls_datum_t *chain =
                identity->asks ? gnutls_certificate_get_peers(connection->session, &count) : NULL;
        gnutls_x509_crt_t crt;
        bool ok;

        *ret = (TlsClient){ 0 };
        if (!chain || count == 0)
                return true;
        if (!verify(connection->session, error))
                return false;
        gnutls_x509_crt_init(&crt);
        ok = (gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER) >= 0 ||
              err_set(error, ERR_UNAUTHENTICATED, "the client's certificate cannot be read")) &&
             read_client(crt, ret, error);
        gnutls_x509_crt_deinit(crt);
        if (ok && !(ret->authority = find_authority(identity, chain, count)))
                ok = err_set(error, ERR_UNAUTHENTICATED,
                             "the authority of the client's certificate cannot be told\nSend the "
                             "certificates between the two, or use a token.");
        if (!ok)
                tls_client_clear(ret);
        return ok;
}
