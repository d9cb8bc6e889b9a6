/* Users and what they are granted. */
#pragma once

#include "model/object.h"

typedef struct {
        Object object;
        bool admin;     /* sees and does everything */
        char *password; /* argon2id as libsodium writes it; USER_PASSWORD_SEEDED; NULL: no log-in by password
                         */
        bool disabled;  /* cannot log in, and no token of theirs is good; jobs stay as they are */
        char *disk, *files; /* what they may hold on the server's disk: bytes, inodes, as quantities ("200Gi",
                               "2M"); "0": no limit; NULL: the server's default */
        /* Whom single sign-on opens the account to: a subject of an issuer (`sub`, `iss`); both or neither.
         */
        char *oidc_subject, *oidc_issuer;
        bool ldap;           /* the password is known by a directory (LDAP), not here */
        char *second_factor; /* a record of api/auth/second-factor.h; NULL: none */
        bool unix_user;      /* came by the Unix socket: the machine vouches for it */
} User;

#define SEEDED_USER "root"
/* Stands for the published password of the seeded account (api/auth/published.h). */
#define USER_PASSWORD_SEEDED "!seeded"

/* *ret: 0 for no limit. False: the text is NULL, the server's default counts. */
bool user_limit(const char *text, gint64 *ret);

/* /v1: 1..60 bytes of [A-Za-z0-9._-], not beginning with '-' or '.'. The older rule is the façade's. */
bool user_name_check(const char *what, const char *name, GError **error);

typedef enum { GRANT_QUEUE, GRANT_FS, GRANT_USER, GRANT_TYPES } GrantType;
const char *grant_type_name(GrantType type); /* "queue", "fs", "user" */
bool grant_type_parse(const char *name, GrantType *ret);

/* Its name is "<user>/<type>/<resource>". */
typedef struct {
        Object object;
        char *user;
        GrantType type;
        char *resource;   /* name of a queue, id of a file system */
        int max_priority; /* of the user's jobs in the queue, 0..1000; 0: normal. Those made before there was
                             such a right have none */
} Grant;

char *grant_key(const char *user, GrantType type, const char *resource); /* the name; the caller's */
