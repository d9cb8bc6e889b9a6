/* The files of TLS: what is read, what is refused and why, and that a reload which fails changes nothing. The
 * pairs are made here; connections are tested from outside (t/security/test_tls.py). */
#include "net/tls.h"

#include <glib/gstdio.h>
#include <gnutls/x509.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"

enum { DAYS = 10, TEXT_MAX = 8192 };

typedef struct {
        char *dir;
        time_t now;
} Folder;

static char *path_in(const Folder *folder, const char *name)
{
        return g_build_filename(folder->dir, name, NULL);
}

static void write_text(const Folder *folder, const char *name, const char *text)
{
        g_autofree char *path = path_in(folder, name);
        g_autoptr(GError) error = NULL;

        (void)file_replace(path, text, strlen(text), 0600, false, &error);
        g_assert_no_error(error);
}

/* NAME.crt and NAME.key, signed by itself. */
static void make_pair(const Folder *folder, const char *name)
{
        g_autofree char *crt_name = g_strconcat(name, ".crt", NULL),
                        *key_name = g_strconcat(name, ".key", NULL);
        static const unsigned char serial[] = { 1 };
        char text[TEXT_MAX];
        gnutls_x509_privkey_t key;
        gnutls_x509_crt_t crt;
        size_t len;

        gnutls_x509_privkey_init(&key);
        g_assert_cmpint(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                                     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
                        ==, 0);
        gnutls_x509_crt_init(&crt);
        g_assert_cmpint(gnutls_x509_crt_set_version(crt, 3), ==, 0);
        g_assert_cmpint(gnutls_x509_crt_set_serial(crt, serial, sizeof serial), ==, 0);
        g_assert_cmpint(gnutls_x509_crt_set_activation_time(crt, folder->now), ==, 0);
        g_assert_cmpint(gnutls_x509_crt_set_expiration_time(crt, folder->now + DAYS * 24 * 3600), ==, 0);
        g_assert_cmpint(gnutls_x509_crt_set_key(crt, key), ==, 0);
        g_assert_cmpint(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), ==, 0);
        len = sizeof text - 1;
        g_assert_cmpint(gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, text, &len), ==, 0);
        text[len] = '\0';
        write_text(folder, crt_name, text);
        len = sizeof text - 1;
        g_assert_cmpint(gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, text, &len), ==, 0);
        text[len] = '\0';
        write_text(folder, key_name, text);
        gnutls_x509_crt_deinit(crt);
        gnutls_x509_privkey_deinit(key);
}

static void set_up(Folder *folder)
{
        folder->dir = g_dir_make_tmp("tls-XXXXXX", NULL);
        folder->now = time(NULL);
        make_pair(folder, "a");
        make_pair(folder, "b");
        write_text(folder, "text", "no certificate");
        write_text(folder, "empty", "");
}

static void tear_down(Folder *folder)
{
        (void)file_remove_tree(folder->dir, NULL);
        g_free(folder->dir);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Folder, tear_down)

static Tls *open_files(const Folder *folder, const char *cert, const char *key, const char *ca,
                       GError **error)
{
        g_autofree char *cert_path = path_in(folder, cert), *key_path = path_in(folder, key),
                        *ca_path = ca ? path_in(folder, ca) : NULL;

        return tls_new(&(TlsFiles){ cert_path, key_path, ca_path }, error);
}

static void test_files(void)
{
        static const struct {
                const char *cert, *key, *ca;
                ErrCode code;
                const char *says; /* NULL: they are good */
        } cases[] = {
                { "a.crt", "a.key", NULL, 0, NULL },
                { "a.crt", "a.key", "b.crt", 0, NULL },
                { "a.crt", "b.key", NULL, ERR_INVALID, "b.key' is not that of the certificate in" },
                { "text", "a.key", NULL, ERR_INVALID, "are not a certificate and its key" },
                { "a.crt", "text", NULL, ERR_INVALID, "are not a certificate and its key" },
                { "empty", "empty", NULL, ERR_INVALID, "are not a certificate and its key" },
                { "none", "a.key", NULL, ERR_NOT_FOUND, "none" },
                { "a.crt", "none", NULL, ERR_NOT_FOUND, "none" },
                { "a.crt", "a.key", "text", ERR_INVALID, "holds no certificate of an authority" },
                { "a.crt", "a.key", "empty", ERR_INVALID, "holds no certificate of an authority" },
                { "a.crt", "a.key", "none", ERR_NOT_FOUND, "none" },
        };
        g_auto(Folder) folder = { 0 };

        set_up(&folder);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Tls) tls = open_files(&folder, cases[i].cert, cases[i].key, cases[i].ca, &error);

                if (cases[i].says) {
                        g_assert_null(tls);
                        g_assert_true(err_is(error, cases[i].code));
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                g_assert_no_error(error);
                g_assert_cmpint(tls_expires_ms(tls), ==, ((gint64)folder.now + DAYS * 24 * 3600) * 1000);
                g_assert_false(tls_is_stale(tls));
        }
}

/* Half of a new pair is refused once, and looked at again when the other half comes. */
static void test_reload(void)
{
        g_auto(Folder) folder = { 0 };
        g_autoptr(GError) error = NULL, half = NULL;
        g_autoptr(Tls) tls = NULL;

        set_up(&folder);
        g_autofree char *own = path_in(&folder, "a.crt"), *own_key = path_in(&folder, "a.key"),
                        *new = path_in(&folder, "b.crt"), *new_key = path_in(&folder, "b.key");
        tls = open_files(&folder, "a.crt", "a.key", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(g_rename(new, own), ==, 0);
        g_assert_true(tls_is_stale(tls));
        g_assert_false(tls_reload(tls, &half));
        g_assert_true(err_is(half, ERR_INVALID));
        g_assert_false(tls_is_stale(tls));
        g_assert_cmpint(tls_expires_ms(tls), >, 0);
        g_assert_cmpint(g_rename(new_key, own_key), ==, 0);
        g_assert_true(tls_is_stale(tls));
        g_assert_true(tls_reload(tls, &error));
        g_assert_no_error(error);
        g_assert_false(tls_is_stale(tls));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/tls/files", test_files);
        g_test_add_func("/net/tls/reload", test_reload);
        return g_test_run();
}
