/* Second factors (see second-factor.h). A record is "1:SEALED:STEP:HASH,HASH,...": SEALED is the secret,
 * sealed (base/seal.h). */
#include "api/auth/second-factor.h"

#include <sodium.h>
#include <string.h>

#include "api/auth/totp.h"
#include "base/backoff.h"
#include "base/err.h"
#include "base/log.h"
#include "base/seal.h"

enum {
        HASH_BYTES = 16,
        RECOVERY_BYTES = 16, /* letters of a code without its dashes */
        PARTS = 4,
};

typedef struct {
        int failures;
        gint64 next; /* monotonic ms */
} Guard;

struct SecondFactors {
        GMutex lock; /* of what follows */
        SealKey *key;
        GHashTable *guards; /* name of a user -> Guard *: only of accounts with a factor and a password that
                               was right */
};

SecondFactors *second_factors_new(const char *key_path)
{
        SecondFactors *factors = g_new0(SecondFactors, 1);

        g_mutex_init(&factors->lock);
        factors->key = seal_key_new(key_path, "second factors");
        factors->guards = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return factors;
}

void second_factors_free(SecondFactors *factors)
{
        if (!factors)
                return;
        g_hash_table_unref(factors->guards);
        seal_key_free(factors->key);
        g_mutex_clear(&factors->lock);
        g_free(factors);
}

/* ---- records ---- */

typedef struct {
        guint8 secret[TOTP_SECRET_LEN];
        guint64 step;
        char **hashes;
} Record;

static void record_clear(Record *record)
{
        sodium_memzero(record->secret, sizeof record->secret);
        g_strfreev(record->hashes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Record, record_clear)

static bool open_secret(const SecondFactors *factors, const char *id, const char *text,
                        guint8 ret[TOTP_SECRET_LEN])
{
        gsize len = 0;
        char *secret = unseal(factors->key, id, text, &len);
        bool whole = secret && len == TOTP_SECRET_LEN;

        if (whole)
                memcpy(ret, secret, TOTP_SECRET_LEN);
        seal_wipe(secret, len);
        return whole;
}

static char *record_format(const SecondFactors *factors, const char *id, const Record *record)
{
        g_autofree char *sealed = seal(factors->key, id, record->secret, sizeof record->secret);
        g_autofree char *hashes = g_strjoinv(",", record->hashes);

        return g_strdup_printf("1:%s:%" G_GUINT64_FORMAT ":%s", sealed, record->step, hashes);
}

static bool record_parse(const SecondFactors *factors, const char *id, const char *text, Record *ret)
{
        g_auto(GStrv) parts = g_strsplit(text, ":", PARTS);

        if (g_strv_length(parts) != PARTS || strcmp(parts[0], "1") != 0 ||
            !open_secret(factors, id, parts[1], ret->secret))
                return false;
        ret->step = g_ascii_strtoull(parts[2], NULL, 10);
        ret->hashes = g_strsplit(parts[3], ",", RECOVERY_CODES);
        return true;
}

int second_factor_recovery_left(const char *record)
{
        const char *hashes = record ? strrchr(record, ':') : NULL;
        int n = 0;

        for (const char *at = hashes ? hashes + 1 : ""; *at; at++)
                n += at[-1] == ':' || *at == ',';
        return n;
}

/* ---- recovery codes ---- */

static const char recovery_letters[] = "abcdefghjkmnpqrstuvwxyz023456789"; /* none that looks like another */
G_STATIC_ASSERT(sizeof recovery_letters == 33);

static void recovery_new(char ret[RECOVERY_LEN + 1])
{
        guint8 random[RECOVERY_BYTES];

        randombytes_buf(random, sizeof random);
        for (int i = 0; i < RECOVERY_BYTES; i++) {
                if (i && i % 4 == 0)
                        *ret++ = '-';
                *ret++ = recovery_letters[random[i] & 31];
        }
        *ret = '\0';
}

/* NULL: it is no such code. The caller's. */
static char *recovery_hash(const SecondFactors *factors, const char *id, const char *code)
{
        char plain[RECOVERY_BYTES + 1];
        guint8 hash[HASH_BYTES];
        crypto_generichash_state state;
        int n = 0;

        for (; *code; code++) {
                if (*code == '-' || *code == ' ')
                        continue;
                if (n == RECOVERY_BYTES)
                        return NULL;
                plain[n++] = g_ascii_tolower(*code);
        }
        if (n != RECOVERY_BYTES)
                return NULL;
        crypto_generichash_init(&state, seal_key_bytes(factors->key), SEAL_KEY_LEN, sizeof hash);
        crypto_generichash_update(&state, (const guint8 *)id, strlen(id) + 1);
        crypto_generichash_update(&state, (const guint8 *)plain, RECOVERY_BYTES);
        crypto_generichash_final(&state, hash, sizeof hash);
        sodium_memzero(plain, sizeof plain);
        return sodium_bin2hex(g_malloc(2 * sizeof hash + 1), 2 * sizeof hash + 1, hash, sizeof hash);
}

static bool take_recovery(const SecondFactors *factors, const char *id, Record *record, const char *code)
{
        g_autofree char *hash = recovery_hash(factors, id, code);
        g_autoptr(GStrvBuilder) left = g_strv_builder_new();
        bool found = false;

        for (char **at = record->hashes; hash && *at; at++) {
                bool same = strlen(*at) == strlen(hash) && sodium_memcmp(*at, hash, strlen(hash)) == 0;

                found |= same;
                if (!same)
                        g_strv_builder_add(left, *at);
        }
        if (!found)
                return false;
        g_strfreev(record->hashes);
        record->hashes = g_strv_builder_end(left);
        return true;
}

/* ---- checking ---- */

static Guard *guard_of(SecondFactors *factors, const char *user)
{
        Guard *guard = g_hash_table_lookup(factors->guards, user);

        if (!guard) {
                guard = g_new0(Guard, 1);
                g_hash_table_insert(factors->guards, g_strdup(user), guard);
        }
        return guard;
}

static void count_wrong(Guard *guard, gint64 now_ms)
{
        int over = ++guard->failures - SECOND_FACTOR_FREE;

        if (over >= 0)
                guard->next = now_ms + backoff_delay(SECOND_FACTOR_DELAY_MS, SECOND_FACTOR_DELAY_MAX_MS,
                                                     (guint64)over);
}

static bool take_code(const SecondFactors *factors, const char *id, Record *record, const char *code,
                      gint64 now_s)
{
        guint64 step;

        if (!totp_is_code(code))
                return take_recovery(factors, id, record, code);
        step = totp_find_step(record->secret, sizeof record->secret, code, now_s, record->step);
        record->step = MAX(record->step, step);
        return step > 0;
}

/* With the lock: a guess counts before the next one is looked at. */
static CodeAnswer check(SecondFactors *factors, const char *user, const char *id, const char *text,
                        const char *code, gint64 now_s, gint64 now_ms, char **ret_record, gint64 *ret_wait_ms)
{
        g_auto(Record) record = { 0 };
        g_autoptr(GError) why = NULL;
        Guard *guard = guard_of(factors, user);

        if (guard->next > now_ms) {
                *ret_wait_ms = guard->next - now_ms;
                return CODE_TOO_SOON;
        }
        if (!seal_key_open(factors->key, false, &why) || !record_parse(factors, id, text, &record)) {
                log_error("the second factor of a user cannot be read; an administrator can take it away",
                          "user", user, "error", why ? why->message : "it is of another key", NULL);
                return CODE_BROKEN;
        }
        if (!take_code(factors, id, &record, code, now_s)) {
                count_wrong(guard, now_ms);
                return CODE_WRONG;
        }
        *guard = (Guard){ 0 };
        *ret_record = record_format(factors, id, &record);
        return CODE_RIGHT;
}

CodeAnswer second_factor_check(SecondFactors *factors, const char *user, const char *id, const char *record,
                               const char *code, gint64 now_s, gint64 now_ms, char **ret_record,
                               gint64 *ret_wait_ms)
{
        CodeAnswer answer;

        g_mutex_lock(&factors->lock);
        answer = check(factors, user, id, record, code, now_s, now_ms, ret_record, ret_wait_ms);
        g_mutex_unlock(&factors->lock);
        return answer;
}

/* ---- a new one ---- */

static void add_recovery(const SecondFactors *factors, const char *id, Record *record, char **recovery)
{
        record->hashes = g_new0(char *, RECOVERY_CODES + 1);
        for (int i = 0; i < RECOVERY_CODES; i++) {
                recovery[i] = g_malloc(RECOVERY_LEN + 1);
                recovery_new(recovery[i]);
                record->hashes[i] = recovery_hash(factors, id, recovery[i]);
        }
}

bool second_factor_make(SecondFactors *factors, const char *id, const char *secret, const char *code,
                        gint64 now_s, char **ret_record, char ***ret_recovery, GError **error)
{
        g_auto(Record) record = { 0 };
        g_auto(GStrv) recovery = g_new0(char *, RECOVERY_CODES + 1);
        bool opened;

        if (!totp_secret_parse(secret, record.secret))
                return err_set(error, ERR_INVALID, "secret: it is not %d characters of base 32 (A-Z, 2-7)",
                               TOTP_TEXT_LEN);
        record.step = totp_find_step(record.secret, sizeof record.secret, code, now_s, 0);
        if (!record.step)
                return err_set(error, ERR_INVALID,
                               "code: it is not the code of this secret now\nCheck the clock of the device "
                               "that shows "
                               "it, and take the code that it shows at this moment.");
        g_mutex_lock(&factors->lock);
        opened = seal_key_open(factors->key, true, error);
        if (opened) {
                add_recovery(factors, id, &record, recovery);
                *ret_record = record_format(factors, id, &record);
        }
        g_mutex_unlock(&factors->lock);
        if (opened)
                *ret_recovery = g_steal_pointer(&recovery);
        return opened;
}
