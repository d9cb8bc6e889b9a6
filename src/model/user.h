/* Users and their grants. */
#pragma once

#include "model/object.h"

typedef struct {
        Object object;
        bool admin;     /* may see and do everything */
        char *password; /* argon2id as libsodium writes it; USER_PASSWORD_SEEDED; NULL: the user cannot log in
                           with a password */
        bool disabled;  /* cannot log in, and their tokens are refused; their jobs and runs go on */
        char *disk, *files; /* limits on the server's disk: bytes, inodes, as quantities ("200Gi", "2M"); "0":
                               no limit; NULL: the server's default */
        /* The single sign-on identity that may use the account: subject and issuer (`sub`, `iss`). Both are
         * set or neither. */
        char *oidc_subject, *oidc_issuer;
        bool ldap;           /* the password is checked by a directory (LDAP), not here */
        char *second_factor; /* a record of api/auth/second-factor.h; NULL: none */
        bool unix_user;      /* created by a connection to the Unix socket: the machine vouches for the
                                user */
} User;

#define SEEDED_USER "root"
/* Represents the published password of the seeded account (api/auth/published.h). */
#define USER_PASSWORD_SEEDED "!seeded"

/* *ret: 0 for no limit. False: the text is NULL, so the server's default applies. */
bool user_limit(const char *text, gint64 *ret);

/* /v1: 1..60 bytes of [A-Za-z0-9._-], not beginning with '-' or '.'. The API of PaddleFlow has its own
 * rule. */
bool user_name_check(const char *what, const char *name, GError **error);

typedef enum { GRANT_QUEUE, GRANT_FS, GRANT_USER, GRANT_TYPES } GrantType;
const char *grant_type_name(GrantType type); /* "queue", "fs", "user" */
bool grant_type_parse(const char *name, GrantType *ret);

/* A grant's name is "<user>/<type>/<resource>". */
typedef struct {
        Object object;
        char *user;
        GrantType type;
        char *resource;   /* name of a queue, id of a file system */
        int max_priority; /* highest priority of the user's jobs in the queue, 0..1000; 0: normal. Grants from
                             before this field existed have 0 */
} Grant;

char *grant_key(const char *user, GrantType type, const char *resource); /* the name; the caller's */
