/* A user's second factor: a secret that generates codes (totp.h), the last used step, and recovery codes. It
 * is stored as one text in User.second_factor. The secret is encrypted with the server's own key, in a file
 * beside the database, and bound to the user's id. Recovery codes are stored as hashes with that key.
 *
 * Wrong codes after a right password are counted per account, from any origin: 5 are free, then there must be
 * 60 s between two tries, doubling to an hour. A right code resets the count. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        RECOVERY_CODES = 10,
        RECOVERY_LEN = 19, /* "abcd-efgh-jkmn-pqrs": 80 bits */
        SECOND_FACTOR_FREE = 5,
        SECOND_FACTOR_DELAY_MS = 60 * 1000,
        SECOND_FACTOR_DELAY_MAX_MS = 3600 * 1000,
};

typedef struct SecondFactors SecondFactors;

/* The file `key_path` is read, or created, when it is first needed. */
SecondFactors *second_factors_new(const char *key_path);
void second_factors_free(SecondFactors *factors); /* NULL is a no-op */

typedef enum {
        CODE_RIGHT,
        CODE_WRONG,
        CODE_TOO_SOON, /* not checked: there were too many wrong codes */
        CODE_BROKEN,   /* the record cannot be read with this server's key */
} CodeAnswer;

/* Checks `code` (six digits, or a recovery code) against this record. Each code is valid once. If it is
 * right, *ret_record is the record without it (the caller's), which must be stored before the caller acts on
 * the result. CODE_TOO_SOON sets *ret_wait_ms. Any thread. */
CodeAnswer second_factor_check(SecondFactors *factors, const char *user, const char *id, const char *record,
                               const char *code, gint64 now_s, gint64 now_ms, char **ret_record,
                               gint64 *ret_wait_ms);

/* Creates a record for a new secret (base 32), if `code` proves that its owner has it, and recovery codes
 * (NULL-terminated). ERR_INVALID if secret or code is wrong, ERR_UNAVAILABLE without a key. */
bool second_factor_make(SecondFactors *factors, const char *id, const char *secret, const char *code,
                        gint64 now_s, char **ret_record, char ***ret_recovery, GError **error);

int second_factor_recovery_left(const char *record);
