/* The ledger (see ledger.h). For each user: the result of the last survey, bytes and files written since its
 * start, and reservations of current requests.
 *
 *      survey n starts ──▶ walks ──▶ ends: `found` is its result, `since` what was written after its start
 *                          └ `late` collects that
 *
 * Writes during a survey may be counted twice until the next one, but are never missed. */
#include "storage/ledger.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/keyed-hash.h"
#include "base/number.h"

enum { FILE_MAX = 64 * 1024 * 1024 };

enum {
        FULL_BYTES = 64 * 1024, /* less free space counts as full */
        LEAST_BYTES = 4096,     /* for the kernel, where 0 means unlimited */
};

static const char *const kinds[DISK_KINDS] = {
        [DISK_HOME] = "homes",
        [DISK_PUBLIC] = "public",
        [DISK_PACKAGES] = "packages",
        [DISK_UPLOADS] = "uploads",
        [DISK_ENVIRONMENTS] = "environments",
        [DISK_LOGS] = "logs",
        [DISK_WORK] = "work",
        [DISK_UNLISTED] = "unlisted",
};

/* Kinds of trees that belong to one user, so that they can have a project id. Packages have several owners,
 * and public has files of all users. */
static const bool in_kernel[DISK_KINDS] = {
        [DISK_HOME] = true, [DISK_UPLOADS] = true, [DISK_ENVIRONMENTS] = true,
        [DISK_LOGS] = true, [DISK_WORK] = true,    [DISK_UNLISTED] = true,
};

typedef struct {
        DiskUse found, since, late;
        DiskAmount reserved;
        DiskAmount kernel; /* of the trees in in_kernel, as the kernel counts them */
} Account;

struct Ledger {
        LedgerLimitOf limit_of;
        void *arg;
        pthread_mutex_t mutex; /* protects the following fields */
        GHashTable *accounts;  /* user -> Account */
        gint64 surveyed, begun;
        bool refused;
};

const char *disk_kind_name(DiskKind kind)
{
        return kinds[kind];
}

DiskAmount disk_use_sum(const DiskUse *use)
{
        DiskAmount sum = { 0 };

        for (int i = 0; i < DISK_KINDS; i++) {
                sum.bytes += use->of[i].bytes;
                sum.files += use->of[i].files;
        }
        return sum;
}

/* ---- deciding ---- */

/* "home 1.2 GiB, packages 3.4 MiB": the largest first. */
static char *say_parts(const DiskUse *use, bool bytes)
{
        g_autoptr(GString) text = g_string_new(NULL);
        bool said[DISK_KINDS] = { false };

        for (int n = 0; n < 3; n++) {
                int most = -1;
                gint64 amount = 0;
                g_autofree char *shown = NULL;

                for (int i = 0; i < DISK_KINDS; i++) {
                        gint64 here = bytes ? use->of[i].bytes : use->of[i].files;

                        if (!said[i] && here > amount) {
                                most = i;
                                amount = here;
                        }
                }
                if (most < 0)
                        break;
                said[most] = true;
                shown = bytes ? bytes_format((guint64)amount) : g_strdup_printf("%" G_GINT64_FORMAT, amount);
                g_string_append_printf(text, "%s%s %s", text->len ? ", " : "", kinds[most], shown);
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool refuse(const char *user, const DiskUse *use, gint64 limit, gint64 more, bool bytes,
                   GError **error)
{
        DiskAmount sum = disk_use_sum(use);
        gint64 held = bytes ? sum.bytes : sum.files;
        g_autofree char *parts = say_parts(use, bytes);
        g_autofree char *holds =
                bytes ? bytes_format((guint64)MAX(held, 0)) : g_strdup_printf("%" G_GINT64_FORMAT, held);
        g_autofree char *most =
                bytes ? bytes_format((guint64)limit) : g_strdup_printf("%" G_GINT64_FORMAT, limit);
        g_autofree char *wants =
                bytes ? bytes_format((guint64)more) : g_strdup_printf("%" G_GINT64_FORMAT, more);

        return err_set(error, ERR_QUOTA,
                       "disk quota: '%s' holds %s%s of at most %s%s%s%s%s%s%s\n"
                       "`paddle storage usage` and `paddle storage du` show what it is; `paddle storage rm` "
                       "removes what is not needed. Or ask an administrator "
                       "(paddle user set %s --%s).",
                       user, holds, bytes ? "" : " files", most, *parts ? " (" : "", parts, *parts ? ")" : "",
                       more > 0 ? ", and this would be " : "", more > 0 ? wants : "",
                       more > 0 ? (bytes ? " more" : " files more") : "", user,
                       bytes ? "disk SIZE" : "files N");
}

/* `any`: nothing is added now, but an activity that will write starts, such as a job: it is refused if the
 * limit is reached. */
static bool fits(gint64 held, gint64 more, gint64 limit, bool any)
{
        return limit <= 0 || (any ? held < limit : more <= 0 || more <= limit - held);
}

bool disk_check(const char *user, const DiskUse *use, const DiskAmount *limit, const DiskAmount *more,
                GError **error)
{
        DiskAmount sum = disk_use_sum(use);
        bool any = more->bytes == 0 && more->files == 0;

        if (!fits(sum.bytes, more->bytes, limit->bytes, any))
                return refuse(user, use, limit->bytes, more->bytes, true, error);
        if (!fits(sum.files, more->files, limit->files, any))
                return refuse(user, use, limit->files, more->files, false, error);
        return true;
}

static bool is_far_over(gint64 held, gint64 limit)
{
        return limit > 0 && held >= limit && held - limit >= limit / 10;
}

bool disk_is_far_over(const DiskUse *use, const DiskAmount *limit)
{
        DiskAmount sum = disk_use_sum(use);

        return is_far_over(sum.bytes, limit->bytes) || is_far_over(sum.files, limit->files);
}

/* ---- accounts ---- */

Ledger *ledger_new(LedgerLimitOf limit_of, void *arg)
{
        Ledger *ledger = g_new0(Ledger, 1);

        ledger->limit_of = limit_of;
        ledger->arg = arg;
        pthread_mutex_init(&ledger->mutex, NULL);
        ledger->accounts = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        return ledger;
}

void ledger_free(Ledger *ledger)
{
        if (!ledger)
                return;
        g_hash_table_unref(ledger->accounts);
        pthread_mutex_destroy(&ledger->mutex);
        g_free(ledger);
}

/* Call it with the mutex. */
static Account *account_of(Ledger *ledger, const char *user)
{
        Account *account = g_hash_table_lookup(ledger->accounts, user);

        if (!account) {
                account = g_new0(Account, 1);
                g_hash_table_insert(ledger->accounts, g_strdup(user), account);
        }
        return account;
}

static DiskAmount sum_in_kernel(const DiskUse *use)
{
        DiskAmount sum = { 0 };

        for (int i = 0; i < DISK_KINDS; i++) {
                sum.bytes += in_kernel[i] ? use->of[i].bytes : 0;
                sum.files += in_kernel[i] ? use->of[i].files : 0;
        }
        return sum;
}

DiskAmount disk_kernel_limit(const DiskUse *use, const DiskAmount *limit)
{
        const DiskAmount all = disk_use_sum(use), own = sum_in_kernel(use);

        return (DiskAmount){ limit->bytes > 0 ? MAX(limit->bytes - (all.bytes - own.bytes), LEAST_BYTES) : 0,
                             limit->files > 0 ? MAX(limit->files - (all.files - own.files), 1) : 0 };
}

static DiskUse use_of(const Account *account)
{
        DiskUse use = account->found;
        DiskAmount own;

        for (int i = 0; i < DISK_KINDS; i++) {
                use.of[i].bytes = MAX(use.of[i].bytes + account->since.of[i].bytes, 0);
                use.of[i].files = MAX(use.of[i].files + account->since.of[i].files, 0);
        }
        own = sum_in_kernel(&use);
        use.of[DISK_UNLISTED].bytes += MAX(account->kernel.bytes - own.bytes, 0);
        use.of[DISK_UNLISTED].files += MAX(account->kernel.files - own.files, 0);
        return use;
}

static DiskUse use_and_reserved(const Account *account)
{
        DiskUse use = use_of(account);

        use.of[DISK_UPLOADS].bytes += account->reserved.bytes;
        use.of[DISK_UPLOADS].files += account->reserved.files;
        return use;
}

static bool check_and_keep(Ledger *ledger, const char *user, gint64 bytes, gint64 files, bool keep,
                           GError **error)
{
        const DiskAmount more = { bytes, files };
        DiskAmount limit = { 0 };
        Account *account;
        DiskUse use;
        bool ok;

        if (!ledger || !user)
                return true;
        ledger->limit_of(user, &limit, ledger->arg);
        pthread_mutex_lock(&ledger->mutex);
        account = account_of(ledger, user);
        use = use_and_reserved(account);
        ok = disk_check(user, &use, &limit, &more, error);
        if (ok && keep) {
                account->reserved.bytes += bytes;
                account->reserved.files += files;
        }
        ledger->refused |= !ok;
        pthread_mutex_unlock(&ledger->mutex);
        return ok;
}

bool ledger_check(Ledger *ledger, const char *user, gint64 bytes, gint64 files, GError **error)
{
        return check_and_keep(ledger, user, bytes, files, false, error);
}

bool ledger_reserve(Ledger *ledger, const char *user, gint64 bytes, gint64 files, GError **error)
{
        return check_and_keep(ledger, user, bytes, files, true, error);
}

void ledger_release(Ledger *ledger, const char *user, gint64 bytes, gint64 files)
{
        Account *account;

        if (!ledger || !user)
                return;
        pthread_mutex_lock(&ledger->mutex);
        account = account_of(ledger, user);
        account->reserved.bytes -= bytes;
        account->reserved.files -= files;
        pthread_mutex_unlock(&ledger->mutex);
}

static void amount_add(DiskAmount *amount, gint64 bytes, gint64 files)
{
        amount->bytes += bytes;
        amount->files += files;
}

void ledger_add(Ledger *ledger, const char *user, DiskKind kind, gint64 bytes, gint64 files)
{
        Account *account;

        if (!ledger || !user)
                return;
        pthread_mutex_lock(&ledger->mutex);
        account = account_of(ledger, user);
        amount_add(&account->since.of[kind], bytes, files);
        if (ledger->begun)
                amount_add(&account->late.of[kind], bytes, files);
        pthread_mutex_unlock(&ledger->mutex);
}

void ledger_set_kernel(Ledger *ledger, const char *user, const DiskAmount *held)
{
        pthread_mutex_lock(&ledger->mutex);
        account_of(ledger, user)->kernel = *held;
        pthread_mutex_unlock(&ledger->mutex);
}

void ledger_kernel_limit(Ledger *ledger, const char *user, DiskAmount *ret)
{
        DiskAmount limit;
        DiskUse use;

        ledger_use(ledger, user, &use, &limit);
        *ret = disk_kernel_limit(&use, &limit);
}

/* *ret_bytes tells which of the two limits is reached, or nearly. */
static bool is_full(const DiskUse *use, const DiskAmount *limit, bool *ret_bytes)
{
        const DiskAmount sum = disk_use_sum(use);

        *ret_bytes = limit->bytes > 0 && sum.bytes > limit->bytes - MIN(FULL_BYTES, limit->bytes / 16);
        return *ret_bytes || (limit->files > 0 && sum.files >= limit->files);
}

char *ledger_say_full(Ledger *ledger, const char *user)
{
        g_autoptr(GError) error = NULL;
        DiskAmount limit;
        DiskUse use;
        bool bytes;

        if (!ledger || !user)
                return NULL;
        ledger_use(ledger, user, &use, &limit);
        if (!is_full(&use, &limit, &bytes))
                return NULL;
        refuse(user, &use, bytes ? limit.bytes : limit.files, 0, bytes, &error);
        *strchrnul(error->message, '\n') = '\0';
        return g_strdup(error->message);
}

bool ledger_refuse(Ledger *ledger, const char *user, GError **error)
{
        DiskAmount limit;
        DiskUse use;
        bool bytes;

        ledger_use(ledger, user, &use, &limit);
        if (!is_full(&use, &limit, &bytes))
                bytes = limit.bytes > 0 || limit.files <= 0;
        return refuse(user, &use, bytes ? limit.bytes : limit.files, 0, bytes, error);
}

void ledger_use(Ledger *ledger, const char *user, DiskUse *ret, DiskAmount *ret_limit)
{
        const Account *account;

        *ret_limit = (DiskAmount){ 0 };
        ledger->limit_of(user, ret_limit, ledger->arg);
        pthread_mutex_lock(&ledger->mutex);
        account = g_hash_table_lookup(ledger->accounts, user);
        *ret = account ? use_of(account) : (DiskUse){ 0 };
        pthread_mutex_unlock(&ledger->mutex);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *ledger_users(Ledger *ledger)
{
        GPtrArray *users = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        gpointer name, value;

        pthread_mutex_lock(&ledger->mutex);
        g_hash_table_iter_init(&iter, ledger->accounts);
        while (g_hash_table_iter_next(&iter, &name, &value)) {
                const DiskUse use = use_of(value);
                const DiskAmount sum = disk_use_sum(&use);

                if (sum.bytes > 0 || sum.files > 0)
                        g_ptr_array_add(users, g_strdup(name));
        }
        pthread_mutex_unlock(&ledger->mutex);
        g_ptr_array_sort(users, by_name);
        return users;
}

gint64 ledger_surveyed(Ledger *ledger)
{
        gint64 time;

        pthread_mutex_lock(&ledger->mutex);
        time = ledger->surveyed;
        pthread_mutex_unlock(&ledger->mutex);
        return time;
}

bool ledger_take_refused(Ledger *ledger)
{
        bool refused;

        pthread_mutex_lock(&ledger->mutex);
        refused = ledger->refused;
        ledger->refused = false;
        pthread_mutex_unlock(&ledger->mutex);
        return refused;
}

/* ---- surveys ---- */

void ledger_survey_begin(Ledger *ledger)
{
        pthread_mutex_lock(&ledger->mutex);
        ledger->begun = clock_now_ms();
        ledger->refused = false;
        pthread_mutex_unlock(&ledger->mutex);
}

/* Call it with the mutex. Users who are not in `uses` have nothing. */
static void settle(Ledger *ledger, GHashTable *uses)
{
        GHashTableIter iter;
        gpointer name, value;

        g_hash_table_iter_init(&iter, uses);
        while (g_hash_table_iter_next(&iter, &name, NULL))
                (void)account_of(ledger, name);
        g_hash_table_iter_init(&iter, ledger->accounts);
        while (g_hash_table_iter_next(&iter, &name, &value)) {
                Account *account = value;
                const DiskUse *use = g_hash_table_lookup(uses, name);

                account->found = use ? *use : (DiskUse){ 0 };
                account->since = account->late;
        }
        ledger->surveyed = ledger->begun;
}

void ledger_survey_end(Ledger *ledger, GHashTable *uses)
{
        GHashTableIter iter;
        gpointer value;

        pthread_mutex_lock(&ledger->mutex);
        if (uses)
                settle(ledger, uses);
        g_hash_table_iter_init(&iter, ledger->accounts);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                ((Account *)value)->late = (DiskUse){ 0 };
        ledger->begun = 0;
        pthread_mutex_unlock(&ledger->mutex);
}

/* ---- the file ---- */

/* {"surveyed": ms, "users": {"ann": {"homes": [bytes, files], ...}}} */
void ledger_load(Ledger *ledger, const char *path)
{
        g_autofree char *text = NULL;
        g_autoptr(json_t) file = NULL;
        const char *user;
        json_t *of;

        if (file_read(path, FILE_MAX, &text, NULL, NULL))
                file = json_parse(text, strlen(text), NULL);
        pthread_mutex_lock(&ledger->mutex);
        ledger->surveyed = json_integer_value(json_object_get(file, "surveyed"));
        json_object_foreach(json_object_get(file, "users"), user, of) {
                Account *account = account_of(ledger, user);

                for (int i = 0; i < DISK_KINDS; i++) {
                        const json_t *pair = json_object_get(of, kinds[i]);

                        account->found.of[i] =
                                (DiskAmount){ MAX(json_integer_value(json_array_get(pair, 0)), 0),
                                              MAX(json_integer_value(json_array_get(pair, 1)), 0) };
                }
        }
        pthread_mutex_unlock(&ledger->mutex);
}

static json_t *format_use(const DiskUse *use)
{
        json_t *of = json_object();

        for (int i = 0; i < DISK_KINDS; i++)
                if (use->of[i].bytes || use->of[i].files)
                        json_object_set_new(of, kinds[i],
                                            json_pack("[I, I]", (json_int_t)use->of[i].bytes,
                                                      (json_int_t)use->of[i].files));
        return of;
}

bool ledger_save(Ledger *ledger, const char *path, GError **error)
{
        g_autoptr(json_t) file = json_object();
        json_t *users = json_object();
        g_autofree char *text = NULL;
        GHashTableIter iter;
        gpointer name, value;

        pthread_mutex_lock(&ledger->mutex);
        json_object_set_new(file, "surveyed", json_integer(ledger->surveyed));
        json_object_set_new(file, "users", users);
        g_hash_table_iter_init(&iter, ledger->accounts);
        while (g_hash_table_iter_next(&iter, &name, &value)) {
                const DiskUse use = use_of(value);

                json_object_set_new(users, name, format_use(&use));
        }
        pthread_mutex_unlock(&ledger->mutex);
        text = json_format(file);
        return file_replace(path, text, strlen(text), 0600, false, error);
}
