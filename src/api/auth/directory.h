/* Checks passwords with an LDAP directory, by binding as the user. Each check has its own connection and ends
 * within the time limit. A directory that did not answer is not asked for a short time, so that waiting
 * checks are answered. Calls block: only on a ThreadPool of its own. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Directory Directory;

typedef enum {
        DIRECTORY_TLS_AUTO,     /* StartTLS for ldap://, except on the loopback */
        DIRECTORY_TLS_STARTTLS, /* always */
        DIRECTORY_TLS_PLAIN,    /* passwords cross the network unencrypted */
} DirectoryTls;
bool directory_tls_parse(const char *word, DirectoryTls *ret, GError **error); /* ERR_INVALID */

/* Copied. Either a template of the user's DN, or where to search for the user. */
typedef struct {
        const char *url;           /* "ldaps://HOST[:PORT]" or "ldap://..." */
        const char *user_dn;       /* "uid=%s,ou=people,dc=example"; or NULL */
        const char *base, *filter; /* "(uid=%s)" */
        const char *bind_dn,
                *bind_password_file; /* account for the search; NULL: anonymous. The file is read each time */
        const char *ca;              /* authorities of its certificate (PEM); NULL: those of the system */
        DirectoryTls tls;
        gint64 timeout_ms; /* for connecting, and for everything after that */
        bool create_users; /* a user who exists only in the directory is created at the first log-in */
} DirectoryConfig;

/* Does not connect yet. ERR_INVALID names the option of paddled that is wrong or missing. */
Directory *directory_new(const DirectoryConfig *config, GError **error);
void directory_free(Directory *directory); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Directory, directory_free)

const char *directory_url(const Directory *directory);
bool directory_creates_users(const Directory *directory);

/* ERR_UNAUTHENTICATED if the directory refuses. An empty password is always refused: by RFC 4513, 5.1.2 the
 * bind would be anonymous. ERR_UNAVAILABLE if the directory gives no usable answer. Any thread. */
bool directory_check(Directory *directory, const char *user, const char *password, GError **error);

/* `text` escaped for a value of a DN (RFC 4514) or a filter (RFC 4515); the caller's. */
char *directory_escape_dn(const char *text);
char *directory_escape_filter(const char *text);
