/* Passwords: the rule for new ones, argon2id hashes, and comparing. Hashing and comparing take about 60 ms
 * and 64 MiB: only on a ThreadPool. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { PASSWORD_MIN = 8, PASSWORD_MAX = 256 }; /* characters */

enum { PASSWORD_RANDOM_LEN = 32 }; /* hexadecimal digits: 128 bits */

/* What older clients have built in for the seeded account (doc/guide/people.md, 6). */
#define PASSWORD_PUBLISHED "paddleflow"

/* Checks a new password for /v1. ERR_INVALID; the message does not contain the password. */
bool password_check(const char *what, const char *password, GError **error);

/* argon2id as libsodium writes it; the caller's. NULL with ERR_UNAVAILABLE: not enough memory. */
char *password_hash(const char *password, GError **error);

/* A random password, and its hash (the caller's). ERR_UNAVAILABLE as above. */
bool password_make_random(char ret[PASSWORD_RANDOM_LEN + 1], char **ret_hash, GError **error);

/* True if `password` matches User.password. NULL (no account, or no password) is false and takes as long as
 * any other answer. */
bool password_verify(const char *stored, const char *password);
