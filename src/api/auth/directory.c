/* LDAP (see directory.h), by OpenLDAP's libldap. All that decides about safety is set for each connection, so
 * that what the machine's ldap.conf says does not weaken it. Referrals are not followed: a password goes to
 * the server that the option names, and to no other. */
#include "api/auth/directory.h"

#include <ldap.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

#include "api/auth/auth.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread-pool.h"

enum {
        AWAY_MS = 3000, /* so long a directory that did not answer is not asked */
        PASSWORD_FILE_MAX = 4096,
        ENTRIES_MAX = 2,   /* more than one is too many already */
        NOT_ASKED = -1000, /* a status beside libldap's: the fault is here, and logged */
};

struct Directory {
        char *url, *user_dn, *base, *filter, *bind_dn, *bind_password_file, *ca;
        bool starttls, create_users;
        gint64 timeout_ms;
        ThreadPool *timeouts;
        GMutex lock;
        gint64 away_until; /* monotonic ms */
};

bool directory_tls_parse(const char *word, DirectoryTls *ret, GError **error)
{
        static const char *const words[] = { "auto", "starttls", "plain" };

        for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
                if (strcmp(words[i], word) != 0)
                        continue;
                *ret = (DirectoryTls)i;
                return true;
        }
        return err_set(error, ERR_INVALID, "--ldap-tls: '%.40s' is not auto, starttls or plain", word);
}

/* ---- texts ---- */

char *directory_escape_dn(const char *text)
{
        GString *out = g_string_new(NULL);

        for (const char *at = text; *at; at++) {
                bool edge = (at == text && (*at == ' ' || *at == '#')) || (!at[1] && *at == ' ');

                if (edge || strchr(",+\"\\<>;=", *at) || g_ascii_iscntrl(*at))
                        g_string_append_printf(out, "\\%02x", (guchar)*at);
                else
                        g_string_append_c(out, *at);
        }
        return g_string_free(out, FALSE);
}

char *directory_escape_filter(const char *text)
{
        GString *out = g_string_new(NULL);

        for (const char *at = text; *at; at++)
                if (strchr("*()\\", *at) || g_ascii_iscntrl(*at) || (guchar)*at >= 0x80)
                        g_string_append_printf(out, "\\%02x", (guchar)*at);
                else
                        g_string_append_c(out, *at);
        return g_string_free(out, FALSE);
}

/* "%s" once. */
static char *fill(const char *template, const char *escaped)
{
        const char *at = strstr(template, "%s");

        return g_strdup_printf("%.*s%s%s", (int)(at - template), template, escaped, at + 2);
}

static bool check_template(const char *option, const char *text, GError **error)
{
        const char *at = strchr(text, '%');

        return (at && at[1] == 's' && !strchr(at + 1, '%')) ||
               err_set(error, ERR_INVALID, "%s: '%.200s' does not have one %%s, where the user's name goes",
                       option, text);
}

/* ---- options ---- */

static bool read_url(const char *url, DirectoryTls tls, bool *ret_starttls, GError **error)
{
        LDAPURLDesc *parts = NULL;
        bool good = ldap_url_parse(url, &parts) == LDAP_SUCCESS && parts->lud_host && *parts->lud_host &&
                    !(parts->lud_dn && *parts->lud_dn) && !parts->lud_filter && !parts->lud_attrs;
        bool tls_url = good && strcmp(parts->lud_scheme, "ldaps") == 0;
        bool plain_url = good && strcmp(parts->lud_scheme, "ldap") == 0;
        bool local = good && address_is_local(parts->lud_host) && strcmp(parts->lud_host, "unix") != 0;

        if (parts)
                ldap_free_urldesc(parts);
        if (!tls_url && !plain_url)
                return err_set(
                        error, ERR_INVALID,
                        "--ldap-url: '%.200s' is not of the form ldaps://HOST[:PORT] or ldap://HOST[:PORT]",
                        url);
        *ret_starttls = plain_url && (tls == DIRECTORY_TLS_STARTTLS || (tls == DIRECTORY_TLS_AUTO && !local));
        return true;
}

/* As the library will read it for a user. */
static bool check_filter(const char *template, GError **error)
{
        g_autofree char *filter = fill(template, "a");
        BerElement *ber = ber_alloc_t(LBER_USE_DER);
        bool ok = ber && ldap_put_vrFilter(ber, filter) == 0;

        ber_free(ber, 1);
        return ok || err_set(error, ERR_INVALID,
                             "--ldap-filter: '%.200s' is not a search filter (RFC 4515), such as (uid=%%s)",
                             template);
}

static bool check_config(const DirectoryConfig *config, GError **error)
{
        if (config->user_dn && config->base)
                return err_set(
                        error, ERR_INVALID,
                        "--ldap-user-dn cannot be combined with --ldap-base: say where users are, or where "
                        "to look for them");
        if (!config->user_dn && !config->base)
                return err_set(error, ERR_INVALID, "--ldap-url needs --ldap-user-dn, or --ldap-base");
        if (config->bind_dn && !config->bind_password_file)
                return err_set(error, ERR_INVALID, "--ldap-bind-dn needs --ldap-bind-password-file");
        if (!config->bind_dn && config->bind_password_file)
                return err_set(error, ERR_INVALID, "--ldap-bind-password-file needs --ldap-bind-dn");
        return config->user_dn ? check_template("--ldap-user-dn", config->user_dn, error)
                               : check_template("--ldap-filter", config->filter, error) &&
                                         check_filter(config->filter, error);
}

static char *read_password(const Directory *directory, GError **error)
{
        char *text = NULL;

        if (!file_read(directory->bind_password_file, PASSWORD_FILE_MAX, &text, NULL, error)) {
                err_prefix(error, "--ldap-bind-password-file: ");
                return NULL;
        }
        g_strchomp(text);
        if (*text)
                return text;
        g_free(text);
        err_set(error, ERR_INVALID, "--ldap-bind-password-file: '%s' is empty",
                directory->bind_password_file);
        return NULL;
}

Directory *directory_new(const DirectoryConfig *config, GError **error)
{
        g_autoptr(Directory) directory = g_new0(Directory, 1);

        *directory = (Directory){ .url = g_strdup(config->url),
                                  .user_dn = g_strdup(config->user_dn),
                                  .base = g_strdup(config->base),
                                  .filter = g_strdup(config->filter),
                                  .bind_dn = g_strdup(config->bind_dn),
                                  .bind_password_file = g_strdup(config->bind_password_file),
                                  .ca = g_strdup(config->ca),
                                  .create_users = config->create_users,
                                  .timeout_ms = config->timeout_ms };
        directory->timeouts =
                thread_pool_new(&(ThreadPoolConfig){ .name = "directory timeouts", .threads = 1 });
        g_mutex_init(&directory->lock);
        if (!read_url(config->url, config->tls, &directory->starttls, error) || !check_config(config, error))
                return NULL;
        if (config->ca && !g_file_test(config->ca, G_FILE_TEST_IS_REGULAR)) {
                err_set(error, ERR_NOT_FOUND, "--ldap-ca: there is no file '%s'", config->ca);
                return NULL;
        }
        if (config->bind_dn) {
                g_autofree char *password = read_password(directory, error);

                if (!password)
                        return NULL;
        }
        return g_steal_pointer(&directory);
}

void directory_free(Directory *directory)
{
        if (!directory)
                return;
        thread_pool_free(directory->timeouts);
        g_free(directory->url);
        g_free(directory->user_dn);
        g_free(directory->base);
        g_free(directory->filter);
        g_free(directory->bind_dn);
        g_free(directory->bind_password_file);
        g_free(directory->ca);
        g_mutex_clear(&directory->lock);
        g_free(directory);
}

const char *directory_url(const Directory *directory)
{
        return directory->url;
}

bool directory_creates_users(const Directory *directory)
{
        return directory->create_users;
}

/* ---- a connection ---- */

static struct timeval limit_of(const Directory *directory)
{
        return (struct timeval){ .tv_sec = directory->timeout_ms / 1000,
                                 .tv_usec = directory->timeout_ms % 1000 * 1000 };
}

/* libldap bounds connecting and replies, but not the handshake of TLS: a connection is cut when its time is
 * over. */
typedef struct {
        gatomicrefcount refs;
        GMutex lock;
        int fd;    /* -1: not open (any more) */
        bool over; /* the time is */
} Watched;

static void watched_unref(Watched *watched)
{
        if (!g_atomic_ref_count_dec(&watched->refs))
                return;
        g_mutex_clear(&watched->lock);
        g_free(watched);
}

static void cut(bool stopped, void *arg)
{
        Watched *watched = arg;

        g_mutex_lock(&watched->lock);
        watched->over = true;
        if (watched->fd >= 0)
                (void)shutdown(watched->fd, SHUT_RDWR);
        g_mutex_unlock(&watched->lock);
        watched_unref(watched);
}

static void watch(Watched *watched, int fd)
{
        g_mutex_lock(&watched->lock);
        watched->fd = fd;
        if (watched->over && fd >= 0) /* the next address of the host */
                (void)shutdown(fd, SHUT_RDWR);
        g_mutex_unlock(&watched->lock);
}

static Watched *watched_new(const Directory *directory)
{
        Watched *watched = g_new0(Watched, 1);

        g_atomic_ref_count_init(&watched->refs);
        g_mutex_init(&watched->lock);
        watched->fd = -1;
        g_atomic_ref_count_inc(&watched->refs);
        if (!thread_pool_push_after(directory->timeouts, directory->timeout_ms, cut, watched))
                cut(true, watched);
        return watched;
}

static int on_connect(LDAP *ldap, Sockbuf *socket, LDAPURLDesc *url, struct sockaddr *address,
                      struct ldap_conncb *callback)
{
        ber_socket_t fd = -1;

        if (ber_sockbuf_ctrl(socket, LBER_SB_OPT_GET_FD, &fd) == 1)
                watch(callback->lc_arg, fd);
        return LDAP_SUCCESS;
}

static void on_disconnect(LDAP *ldap, Sockbuf *socket, struct ldap_conncb *callback)
{
        watch(callback->lc_arg, -1);
}

static int set_options(const Directory *directory, LDAP *ldap, struct ldap_conncb *callback)
{
        struct timeval limit = limit_of(directory);
        int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, never = LDAP_DEREF_NEVER, client = 0,
            bounded = ENTRIES_MAX;
        int tls12 = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2;
        const struct {
                int option;
                const void *value;
        } options[] = {
                { LDAP_OPT_PROTOCOL_VERSION, &version },
                { LDAP_OPT_REFERRALS, LDAP_OPT_OFF },
                { LDAP_OPT_DEREF, &never },
                { LDAP_OPT_SIZELIMIT, &bounded },
                { LDAP_OPT_NETWORK_TIMEOUT, &limit },
                { LDAP_OPT_TIMEOUT, &limit },
                { LDAP_OPT_CONNECT_CB, callback },
                { LDAP_OPT_X_TLS_REQUIRE_CERT, &demand },
                { LDAP_OPT_X_TLS_PROTOCOL_MIN, &tls12 },
        };
        int status = LDAP_SUCCESS;

        for (gsize i = 0; i < G_N_ELEMENTS(options) && status == LDAP_SUCCESS; i++)
                status = ldap_set_option(ldap, options[i].option, options[i].value);
        if (status == LDAP_SUCCESS && directory->ca)
                status = ldap_set_option(ldap, LDAP_OPT_X_TLS_CACERTFILE, directory->ca);
        return status == LDAP_SUCCESS ? ldap_set_option(ldap, LDAP_OPT_X_TLS_NEWCTX, &client) : status;
}

/* The name and password of a simple bind (RFC 4513, 5.1.3): neither may be empty. */
static int bind_as(LDAP *ldap, const char *dn, const char *password)
{
        struct berval secret = { .bv_len = strlen(password), .bv_val = (char *)password };

        if (!*dn || !*password)
                return LDAP_INVALID_CREDENTIALS;
        return ldap_sasl_bind_s(ldap, dn, LDAP_SASL_SIMPLE, &secret, NULL, NULL, NULL);
}

/* LDAP_NO_SUCH_OBJECT: no user, or more than one. */
static int find_dn(const Directory *directory, LDAP *ldap, const char *user, char **ret_dn)
{
        static char *no_attributes[] = { (char *)LDAP_NO_ATTRS, NULL };
        g_autofree char *escaped = directory_escape_filter(user);
        g_autofree char *filter = fill(directory->filter, escaped);
        struct timeval limit = limit_of(directory);
        LDAPMessage *found = NULL;
        int status = ldap_search_ext_s(ldap, directory->base, LDAP_SCOPE_SUBTREE, filter, no_attributes, 1,
                                       NULL, NULL, &limit, ENTRIES_MAX, &found);
        int n = found ? ldap_count_entries(ldap, found) : 0;

        if (status == LDAP_SIZELIMIT_EXCEEDED || n > 1) {
                log_warning("several entries of the directory have this name; none is taken", "user", user,
                            "filter", filter, NULL);
                status = LDAP_NO_SUCH_OBJECT;
        } else if (status == LDAP_SUCCESS && n == 1) {
                char *dn = ldap_get_dn(ldap, ldap_first_entry(ldap, found));

                *ret_dn = g_strdup(dn ? dn : "");
                ldap_memfree(dn);
        } else if (status == LDAP_SUCCESS) {
                status = LDAP_NO_SUCH_OBJECT;
        }
        (void)ldap_msgfree(found);
        return status;
}

/* As the account that looks for users, or anonymously. */
static int look_up(const Directory *directory, LDAP *ldap, const char *user, char **ret_dn,
                   const char **ret_doing)
{
        int status = LDAP_SUCCESS;

        if (directory->bind_dn) {
                g_autoptr(GError) error = NULL;
                g_autofree char *password = read_password(directory, &error);

                *ret_doing = "log in as --ldap-bind-dn";
                if (!password) {
                        log_warning("the directory cannot be asked; this log-in fails", "error",
                                    error->message, NULL);
                        return NOT_ASKED;
                }
                status = bind_as(ldap, directory->bind_dn, password);
                sodium_memzero(password, strlen(password));
        }
        if (status != LDAP_SUCCESS) /* a refusal here is none of the user's */
                return status == LDAP_INVALID_CREDENTIALS ? LDAP_OTHER : status;
        *ret_doing = "look for the user";
        status = find_dn(directory, ldap, user, ret_dn);
        return status == LDAP_INVALID_CREDENTIALS ? LDAP_OTHER : status;
}

static int talk(const Directory *directory, LDAP *ldap, const char *user, const char *password,
                const char **ret_doing)
{
        g_autofree char *dn = NULL;
        int status = directory->starttls ? ldap_start_tls_s(ldap, NULL, NULL) : LDAP_SUCCESS;

        if (status != LDAP_SUCCESS)
                return status;
        if (directory->user_dn) {
                g_autofree char *escaped = directory_escape_dn(user);

                dn = fill(directory->user_dn, escaped);
        } else if ((status = look_up(directory, ldap, user, &dn, ret_doing)) != LDAP_SUCCESS) {
                return status;
        }
        *ret_doing = "log in as the user";
        return bind_as(ldap, dn, password);
}

static int ask(const Directory *directory, const char *user, const char *password, const char **ret_doing)
{
        Watched *watched = watched_new(directory);
        struct ldap_conncb callback = { .lc_add = on_connect, .lc_del = on_disconnect, .lc_arg = watched };
        LDAP *ldap = NULL;
        int status = ldap_initialize(&ldap, directory->url);

        if (status == LDAP_SUCCESS)
                status = set_options(directory, ldap, &callback);
        if (status == LDAP_SUCCESS)
                status = talk(directory, ldap, user, password, ret_doing);
        watch(watched, -1); /* its number may soon be another's */
        if (ldap)
                (void)ldap_unbind_ext(ldap, NULL, NULL);
        watched_unref(watched);
        return status;
}

/* ---- answers ---- */

static bool is_away(Directory *directory)
{
        bool away;

        g_mutex_lock(&directory->lock);
        away = clock_monotonic_ms() < directory->away_until;
        g_mutex_unlock(&directory->lock);
        return away;
}

static void note_away(Directory *directory)
{
        g_mutex_lock(&directory->lock);
        directory->away_until = clock_monotonic_ms() + AWAY_MS;
        g_mutex_unlock(&directory->lock);
}

static bool is_no(int status)
{
        static const int answers[] = { LDAP_INVALID_CREDENTIALS,  LDAP_NO_SUCH_OBJECT,
                                       LDAP_INVALID_DN_SYNTAX,    LDAP_INAPPROPRIATE_AUTH,
                                       LDAP_UNWILLING_TO_PERFORM, LDAP_CONSTRAINT_VIOLATION,
                                       LDAP_INSUFFICIENT_ACCESS };

        for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
                if (status == answers[i])
                        return true;
        return false;
}

bool directory_check(Directory *directory, const char *user, const char *password, GError **error)
{
        const char *doing = "connect";
        int status;

        if (!*password || !*user)
                return err_set(error, ERR_UNAUTHENTICATED, "an empty password is none");
        status = is_away(directory) ? LDAP_SERVER_DOWN : ask(directory, user, password, &doing);
        if (status == LDAP_SUCCESS)
                return true;
        if (is_no(status))
                return err_set(error, ERR_UNAUTHENTICATED, "the directory refuses this name and password");
        if (status < 0 && status != NOT_ASKED &&
            !is_away(directory)) { /* libldap's own: nothing came from the server */
                note_away(directory);
                log_warning("the directory does not answer; log-ins of its users fail meanwhile", "url",
                            directory->url, "step", doing, "error", ldap_err2string(status), NULL);
        } else if (status >= 0) {
                log_warning("the directory answers with an error; this log-in fails", "url", directory->url,
                            "step", doing, "error", ldap_err2string(status), NULL);
        }
        return err_set(error, ERR_UNAVAILABLE,
                       "the directory (LDAP) that knows passwords cannot be asked now\nTry again in a "
                       "moment; the server's log "
                       "says what is wrong.");
}
