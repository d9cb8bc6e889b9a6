/* Passwords: the rule for new ones, argon2id hashes, and comparing. Hashing and comparing take some 60 ms and
 * 64 MiB: on a Crew only. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { PASSWORD_MIN = 8, PASSWORD_MAX = 256 }; /* characters */

enum { PASSWORD_RANDOM_LEN = 32 }; /* hexadecimal digits: 128 bits */

/* What older clients have built in for the seeded account (doc/guide/people.md, 6). */
#define PASSWORD_PUBLISHED "paddleflow"

/* Would it do as a new one in /v1? ERR_INVALID without the password itself. */
bool password_check(const char *what, const char *password, GError **error);

/* argon2id as libsodium writes it; the caller's. NULL: no memory for it, ERR_UNAVAILABLE. */
char *password_hash(const char *password, GError **error);

/* One that nobody guesses, and its hash (the caller's). ERR_UNAVAILABLE as above. */
bool password_make_random(char ret[PASSWORD_RANDOM_LEN + 1], char **ret_hash, GError **error);

/* Is it the password that User.password stands for? NULL, of an account that is not there or has none, is
 * false and takes as long as any other answer. */
bool password_verify(const char *stored, const char *password);
