/* A user's second factor: a secret that makes codes (totp.h), the last step that was used, and recovery
 * codes. It is one text of User.second_factor. The secret in it is encrypted with a key of the server's own
 * in a file beside the database, and bound to the user's id; recovery codes are hashes with that key.
 *
 * Wrong codes after a right password are counted for the account alone, from wherever they come: 5 are free,
 * then there are 60 s between two tries, doubling to an hour. A right one clears that. */
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

/* `key_path` is read, or made, when it is first needed. */
SecondFactors *second_factors_new(const char *key_path);
void second_factors_free(SecondFactors *factors); /* NULL is a no-op */

typedef enum {
        CODE_RIGHT,
        CODE_WRONG,
        CODE_TOO_SOON, /* not looked at: too many have been wrong */
        CODE_BROKEN,   /* the record cannot be read with this server's key */
} CodeAnswer;

/* Is `code` (six digits, or a recovery code) good for this record now? Each is good once: when it is right,
 * *ret_record is the record without it (the caller's), which has to be stored before anything follows from
 * it. CODE_TOO_SOON sets *ret_wait_ms. Any thread. */
CodeAnswer second_factor_check(SecondFactors *factors, const char *user, const char *id, const char *record,
                               const char *code, gint64 now_s, gint64 now_ms, char **ret_record,
                               gint64 *ret_wait_ms);

/* A record of a new secret (base 32), once `code` shows that its owner has it, and recovery codes
 * (NULL-terminated). ERR_INVALID when secret or code are wrong, ERR_UNAVAILABLE without a key. */
bool second_factor_make(SecondFactors *factors, const char *id, const char *secret, const char *code,
                        gint64 now_s, char **ret_record, char ***ret_recovery, GError **error);

int second_factor_recovery_left(const char *record);
