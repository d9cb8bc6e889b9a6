/* Secrets of users: values for their jobs that are never shown (doc/guide/jobs.md, "Secrets"). A secret is an
 * object of the catalog named "<user>/<name>"; its value is sealed with the server's key (base/seal.h). */
#pragma once

#include "base/seal.h"
#include "model/object.h"

enum {
        SECRET_VALUE_MAX = 64 * 1024, /* bytes of a value */
        SECRETS_PER_USER = 100,
        SECRETS_USER_BYTES = 1024 * 1024, /* all values of a user together */
        SECRETS_PER_JOB = 20,             /* variables and files together */
        SECRETS_JOB_BYTES = 256 * 1024,   /* the values that one job gets, together */
};

typedef struct {
        Object object;
        char *user;
        char *sealed; /* the encrypted value */
        int bytes;    /* length of the value */
        bool binary;  /* it is not UTF-8 or has a NUL byte, so it can be a file but not a variable */
} Secret;

/* 1..60 letters, digits, '.', '_' and '-' that begin with a letter, a digit or '_'. */
bool secret_name_check(const char *what, const char *name, GError **error);
char *secret_key(const char *user, const char *name); /* "<user>/<name>"; the caller's */
const char *secret_name(const Secret *secret);        /* without its user; borrowed */

/* Sets its value. The key is open. */
void secret_set(Secret *secret, const SealKey *key, const void *value, gsize len);
/* The value, followed by a NUL byte; free it with seal_wipe. ERR_UNAVAILABLE: the server's key does not
 * decrypt it. */
char *secret_value(const Secret *secret, SealKey *key, gsize *ret_len, GError **error);
