/* Passwords that an LDAP directory knows: a bind as the user says whether one is right. Each question has a
 * connection of its own and ends within the time limit; a directory that did not answer is left alone for a
 * moment, so that what waits for it is answered. Calls block: on a Crew of its own only. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Directory Directory;

typedef enum {
        DIRECTORY_TLS_AUTO,     /* StartTLS for ldap://, but on the loopback */
        DIRECTORY_TLS_STARTTLS, /* always */
        DIRECTORY_TLS_PLAIN,    /* passwords cross the network for everybody to read */
} DirectoryTls;
bool directory_tls_parse(const char *word, DirectoryTls *ret, GError **error); /* ERR_INVALID */

/* Copied. Either a template of the user's DN, or where to look for the user. */
typedef struct {
        const char *url;           /* "ldaps://HOST[:PORT]" or "ldap://..." */
        const char *user_dn;       /* "uid=%s,ou=people,dc=example"; or NULL */
        const char *base, *filter; /* "(uid=%s)" */
        const char *bind_dn,
                *bind_password_file; /* who looks; NULL: nobody in particular. The file is read each time */
        const char *ca;              /* authorities of its certificate (PEM); NULL: those of the system */
        DirectoryTls tls;
        gint64 timeout_ms; /* of connecting, and of all that follows */
        bool create_users; /* who is known there alone becomes a user at the first log-in */
} DirectoryConfig;

/* Asks nothing yet. ERR_INVALID names the option of paddled that is wrong or missing. */
Directory *directory_new(const DirectoryConfig *config, GError **error);
void directory_free(Directory *directory); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Directory, directory_free)

const char *directory_url(const Directory *directory);
bool directory_creates_users(const Directory *directory);

/* ERR_UNAUTHENTICATED when the directory says no (an empty password always: RFC 4513, 5.1.2, would take it
 * for anonymous), ERR_UNAVAILABLE when it says nothing that helps. Any thread. */
bool directory_check(Directory *directory, const char *user, const char *password, GError **error);

/* `text` inside a value of a DN (RFC 4514) or a filter (RFC 4515); the caller's. */
char *directory_escape_dn(const char *text);
char *directory_escape_filter(const char *text);
