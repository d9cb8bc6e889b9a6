/* Users of the platform as users of the machine (see identity.h).
 *
 *      name of the server's owner ──▶ the server's own uid
 *      uid-N, N an ordinary uid ────▶ N
 *      an ordinary Unix user ───────▶ that one, with its groups
 *      all others ──────────────────▶ first of the pool + sequence number
 *
 * A sequence number is never reused, so a deleted user who is created again gets another uid. */
#include "runtime/local/identity.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum {
        KNOWN_MS = 60 * 1000,
        KNOWN_MAX = 10000,
        GROUPS_MAX = 4096, /* the agent's limit */
        ENTRY_MAX = 1 << 20,
        MAP_MAX = 64 * 1024, /* the kernel permits at most 340 lines */
};

static const gint64 uid_max = (gint64)G_MAXUINT32 - 1; /* the last one means "none" */

/* ---- decisions ---- */

static bool is_ordinary(gint64 uid)
{
        return uid >= UNIX_UID_MIN && uid != UNIX_UID_NOBODY && uid <= uid_max;
}

static bool pool_has(const UidPool *pool, gint64 uid)
{
        return uid >= pool->first && uid <= pool->last;
}

bool uid_pool_parse(const char *option, const char *text, UidPool *ret, GError **error)
{
        const char *dash = strchr(text, '-');
        g_autofree char *left = g_strndup(text, dash ? (gsize)(dash - text) : strlen(text));
        gint64 first, last;

        if (!dash)
                return err_set(error, ERR_INVALID, "%s: '%s' is not FIRST-LAST, such as " JOB_UIDS_DEFAULT,
                               option, text);
        if (!number_parse(option, left, UNIX_UID_MIN, uid_max, &first, error) ||
            !number_parse(option, dash + 1, UNIX_UID_MIN, uid_max, &last, error))
                return false;
        if (first > last || (first <= UNIX_UID_NOBODY && last >= UNIX_UID_NOBODY))
                return err_set(error, ERR_INVALID,
                               "%s: '%s' must ascend and leave out %d, the uid of the user 'nobody'", option,
                               text, UNIX_UID_NOBODY);
        *ret = (UidPool){ (uid_t)first, (uid_t)last };
        return true;
}

/* N of "uid-N"; -1: another name, or not in the server's spelling. */
static gint64 uid_of_name(const char *user)
{
        static const char prefix[] = "uid-";
        gint64 uid;

        if (!g_str_has_prefix(user, prefix) || (user[4] == '0' && user[5]) ||
            !number_parse("uid", user + strlen(prefix), 0, uid_max, &uid, NULL))
                return -1;
        return uid;
}

static bool from_pool(const UidPool *pool, const char *user, gint64 seq, uid_t *ret, GError **error)
{
        if (seq <= 0)
                return err_set(error, ERR_NOT_FOUND, "user '%s' is not known here", user);
        if (seq > (gint64)pool->last - pool->first)
                return err_set(
                        error, ERR_INVALID,
                        "user '%s' has the number %" G_GINT64_FORMAT
                        ", which is beyond the uids %u-%u of --job-uids\nStart the server with a longer "
                        "range that begins at the same uid.",
                        user, seq, pool->first, pool->last);
        *ret = pool->first + (uid_t)seq;
        return true;
}

bool identity_decide(const IdentityRules *rules, const char *user, gint64 seq, gint64 unix_uid, RunsAs *ret,
                     uid_t *ret_uid, GError **error)
{
        gint64 number = uid_of_name(user);

        if (strcmp(user, rules->server) == 0) {
                *ret = RUNS_AS_SERVER;
                return true;
        }
        if (is_ordinary(number)) {
                *ret = RUNS_AS_NUMBER;
                *ret_uid = (uid_t)number;
                return true;
        }
        if (is_ordinary(unix_uid)) {
                if (pool_has(&rules->pool, unix_uid))
                        return err_set(error, ERR_CONFLICT,
                                       "the Unix user '%s' has the uid %" G_GINT64_FORMAT
                                       ", which is one of %u-%u of --job-uids\nStart the server with a range "
                                       "that no Unix user is in.",
                                       user, unix_uid, rules->pool.first, rules->pool.last);
                *ret = RUNS_AS_UNIX;
                *ret_uid = (uid_t)unix_uid;
                return true;
        }
        *ret = RUNS_AS_POOL;
        return from_pool(&rules->pool, user, seq, ret_uid, error);
}

bool id_map_has(const char *map, guint32 id)
{
        g_auto(GStrv) lines = g_strsplit(map, "\n", -1);

        for (char **line = lines; *line; line++) {
                char *at = *line;
                guint64 first = g_ascii_strtoull(at, &at, 10);
                guint64 outside = g_ascii_strtoull(at, &at, 10);
                guint64 count = g_ascii_strtoull(at, &at, 10);

                (void)outside; /* the name outside does not matter */
                if (id >= first && id - first < count)
                        return true;
        }
        return false;
}

/* ---- an identity ---- */

Identity *identity_ref(const Identity *identity)
{
        Identity *counted = (Identity *)identity;

        g_atomic_ref_count_inc(&counted->refs);
        return counted;
}

void identity_unref(Identity *identity)
{
        if (!identity || !g_atomic_ref_count_dec(&identity->refs))
                return;
        g_free(identity->groups);
        g_free(identity->home);
        g_free(identity);
}

/* ---- look-ups ---- */

typedef struct {
        gint64 seq, until;  /* monotonic ms */
        Identity *identity; /* NULL: the server's own */
} Known;

struct Identities {
        char *server, *uid_map, *gid_map;
        UidPool pool;
        pthread_mutex_t lock;
        GHashTable *known; /* user -> Known */
};

static void known_free(void *arg)
{
        Known *known = arg;

        identity_unref(known->identity);
        g_free(known);
}

/* If the map is unreadable, everything passes: the kernel checks later. */
static char *read_map(const char *path)
{
        static const char everything[] = "0 0 4294967295";
        char *text = NULL;

        return file_read(path, MAP_MAX, &text, NULL, NULL) ? text : g_strdup(everything);
}

/* An entry of the password file, by name or, if that is NULL, by uid. */
typedef struct {
        struct passwd entry;
        char *buffer;
} PasswordEntry;

static void password_entry_clear(PasswordEntry *entry)
{
        g_free(entry->buffer);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PasswordEntry, password_entry_clear)

/* False with ERR_UNAVAILABLE if the look-up failed: then a user must not get another identity. */
static bool password_entry_find(PasswordEntry *ret, const char *name, uid_t uid, bool *ret_found,
                                GError **error)
{
        static const int means_none[] = { 0, ENOENT, ESRCH, EBADF, EPERM }; /* getpwnam(3) */
        struct passwd *found = NULL;
        int err = ERANGE;

        for (gsize size = 1024; err == ERANGE && size <= ENTRY_MAX; size *= 2) {
                ret->buffer = g_realloc(ret->buffer, size);
                err = name ? getpwnam_r(name, &ret->entry, ret->buffer, size, &found)
                           : getpwuid_r(uid, &ret->entry, ret->buffer, size, &found);
        }
        *ret_found = found;
        for (gsize i = 0; i < G_N_ELEMENTS(means_none); i++)
                if (err == means_none[i])
                        return true;
        return err_set(error, ERR_UNAVAILABLE, "this machine cannot look up its Unix users now: %s",
                       g_strerror(err));
}

Identities *identities_new(const UidPool *pool)
{
        Identities *identities = g_new0(Identities, 1);
        g_auto(PasswordEntry) owner = { 0 };
        bool found = false;

        (void)password_entry_find(&owner, NULL, geteuid(), &found,
                                  NULL); /* the error for root, even if look-ups fail */
        identities->server = g_strdup(found ? owner.entry.pw_name : "root");
        identities->uid_map = read_map("/proc/self/uid_map");
        identities->gid_map = read_map("/proc/self/gid_map");
        identities->pool = *pool;
        pthread_mutex_init(&identities->lock, NULL);
        identities->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, known_free);
        return identities;
}

void identities_free(Identities *identities)
{
        if (!identities)
                return;
        g_hash_table_unref(identities->known);
        pthread_mutex_destroy(&identities->lock);
        g_free(identities->server);
        g_free(identities->uid_map);
        g_free(identities->gid_map);
        g_free(identities);
}

static bool check_map(const char *map, const char *what, const char *file, guint32 id, GError **error)
{
        if (id_map_has(map, id))
                return true;
        return err_set(
                error, ERR_DENIED,
                "%s %u does not exist in this container (/proc/self/%s)\nStart the server with a range that does (--job-uids FIRST-LAST), or give the container more of them.",
                what, id, file);
}

/* If a directory server is down, the user has fewer groups, which is safe. */
static void add_groups(Identity *identity, const struct passwd *entry)
{
        int n = 64;

        identity->groups = g_new(gid_t, n);
        if (getgrouplist(entry->pw_name, entry->pw_gid, identity->groups, &n) < 0) {
                n = MIN(n, GROUPS_MAX);
                identity->groups = g_renew(gid_t, identity->groups, n);
                (void)getgrouplist(entry->pw_name, entry->pw_gid, identity->groups, &n);
                n = MIN(n, GROUPS_MAX); /* in the unlikely case of more, the first ones */
        }
        identity->n_groups = (guint)MAX(n, 0);
}

static Identity *identity_make(uid_t uid, const struct passwd *entry)
{
        Identity *identity = g_new0(Identity, 1);

        g_atomic_ref_count_init(&identity->refs);
        identity->owner = (Owner){ uid, entry ? entry->pw_gid : uid };
        if (entry) {
                add_groups(identity, entry);
                identity->home = g_strdup(entry->pw_dir);
        }
        return identity;
}

/* Completes an identity other than the server's: uid, gid and groups. */
static bool complete(const Identities *identities, const char *user, RunsAs as, uid_t uid,
                     const struct passwd *by_name, Identity **ret, GError **error)
{
        g_auto(PasswordEntry) by_uid = { 0 };
        bool has_uid = false;

        if (as != RUNS_AS_UNIX && !password_entry_find(&by_uid, NULL, uid, &has_uid, error))
                return false;
        if (as == RUNS_AS_POOL && has_uid)
                return err_set(
                        error, ERR_CONFLICT,
                        "uid %u, which --job-uids gives to user '%s', is the Unix user's '%s'\nStart the "
                        "server with a range that no Unix user is in.",
                        uid, user, by_uid.entry.pw_name);
        *ret = identity_make(uid, as == RUNS_AS_UNIX ? by_name : has_uid ? &by_uid.entry : NULL);
        if (check_map(identities->uid_map, "uid", "uid_map", (*ret)->owner.uid, error) &&
            check_map(identities->gid_map, "gid", "gid_map", (*ret)->owner.gid, error))
                return true;
        g_clear_pointer(ret, identity_unref);
        return false;
}

static bool look_up(const Identities *identities, const char *user, gint64 seq, Identity **ret,
                    GError **error)
{
        const IdentityRules rules = { identities->server, identities->pool };
        g_auto(PasswordEntry) by_name = { 0 };
        bool is_unix;
        RunsAs as;
        uid_t uid;

        *ret = NULL;
        return password_entry_find(&by_name, user, 0, &is_unix, error) &&
               identity_decide(&rules, user, seq, is_unix ? (gint64)by_name.entry.pw_uid : -1, &as, &uid,
                               error) &&
               (as == RUNS_AS_SERVER || complete(identities, user, as, uid, &by_name.entry, ret, error));
}

static bool find_known(Identities *identities, const char *user, gint64 seq, Identity **ret)
{
        const Known *known;
        bool found;

        pthread_mutex_lock(&identities->lock);
        known = g_hash_table_lookup(identities->known, user);
        found = known && known->seq == seq && clock_monotonic_ms() < known->until;
        if (found)
                *ret = known->identity ? identity_ref(known->identity) : NULL;
        pthread_mutex_unlock(&identities->lock);
        return found;
}

static void keep_known(Identities *identities, const char *user, gint64 seq, const Identity *identity)
{
        Known *known = g_new0(Known, 1);

        *known = (Known){ seq, clock_monotonic_ms() + KNOWN_MS, identity ? identity_ref(identity) : NULL };
        pthread_mutex_lock(&identities->lock);
        if (g_hash_table_size(identities->known) >= KNOWN_MAX)
                g_hash_table_remove_all(identities->known);
        g_hash_table_replace(identities->known, g_strdup(user), known);
        pthread_mutex_unlock(&identities->lock);
}

bool identity_find(Identities *identities, const char *user, gint64 seq, Identity **ret, GError **error)
{
        if (strcmp(user, identities->server) == 0) { /* no look-up needed */
                *ret = NULL;
                return true;
        }
        if (find_known(identities, user, seq, ret))
                return true;
        if (!look_up(identities, user, seq, ret, error))
                return err_prefix(error, "user '%s' cannot run anything here: ", user);
        keep_known(identities, user, seq, *ret);
        return true;
}
