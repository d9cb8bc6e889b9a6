/* Turns of log-ins (see throttle.h). A table is a hash of entries with a queue in order of their last use. */
#include "api/auth/throttle.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/backoff.h"
#include "base/keyed-hash.h"

typedef struct {
        GList link; /* in the table's queue; its data is the entry */
        char *name;
        int failures, running;
        gint64 used, next; /* when the next turn may be */
} Entry;

typedef struct {
        gint64 forget_ms;    /* what was not used for so long */
        GHashTable *by_name; /* name of the entry -> Entry * */
        GQueue by_use;       /* most lately used first */
} Table;

struct Throttle {
        GMutex lock;
        Table pairs, addresses, accounts;
        Table known; /* pairs that have succeeded; failures do not evict them */
};

static void entry_free(void *arg)
{
        Entry *entry = arg;

        g_free(entry->name);
        g_free(entry);
}

static void table_init(Table *table, gint64 forget_ms)
{
        table->forget_ms = forget_ms;
        table->by_name = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, entry_free);
        g_queue_init(&table->by_use);
}

Throttle *throttle_new(void)
{
        Throttle *throttle = g_new0(Throttle, 1);

        g_mutex_init(&throttle->lock);
        table_init(&throttle->pairs, THROTTLE_FORGET_MS);
        table_init(&throttle->addresses, THROTTLE_FORGET_MS);
        table_init(&throttle->accounts, THROTTLE_FORGET_MS);
        table_init(&throttle->known, THROTTLE_KNOWN_MS);
        return throttle;
}

void throttle_free(Throttle *throttle)
{
        if (!throttle)
                return;
        g_hash_table_unref(throttle->pairs.by_name);
        g_hash_table_unref(throttle->addresses.by_name);
        g_hash_table_unref(throttle->accounts.by_name);
        g_hash_table_unref(throttle->known.by_name);
        g_mutex_clear(&throttle->lock);
        g_free(throttle);
}

static void table_drop(Table *table, Entry *entry)
{
        g_queue_unlink(&table->by_use, &entry->link);
        g_hash_table_remove(table->by_name, entry->name);
}

static Entry *table_find(Table *table, const char *name, gint64 now)
{
        Entry *entry = g_hash_table_lookup(table->by_name, name);

        if (entry && !entry->running && now - entry->used >= table->forget_ms) {
                table_drop(table, entry);
                return NULL;
        }
        return entry;
}

static Entry *table_use(Table *table, const char *name, gint64 now)
{
        Entry *entry = table_find(table, name, now);

        if (entry) {
                g_queue_unlink(&table->by_use, &entry->link);
        } else {
                if (g_hash_table_size(table->by_name) >= THROTTLE_ENTRIES_MAX)
                        table_drop(table, g_queue_peek_tail(&table->by_use));
                entry = g_new0(Entry, 1);
                entry->name = g_strdup(name);
                entry->link.data = entry;
                g_hash_table_insert(table->by_name, entry->name, entry);
        }
        entry->used = now;
        g_queue_push_head_link(&table->by_use, &entry->link);
        return entry;
}

enum { NETWORK_BYTES = 8 }; /* of an IPv6 address: what one customer has */

/* Whom the address stands for: an IPv4 address itself, also when it is written as an IPv6 one; the loopback
 * one machine, whatever of its addresses; of another IPv6 address its /64. */
static const char *network_of(const char *address, char ret[INET6_ADDRSTRLEN])
{
        struct in6_addr six;

        if (inet_pton(AF_INET6, address, &six) == 1) {
                if (IN6_IS_ADDR_V4MAPPED(&six))
                        address = inet_ntop(AF_INET, &six.s6_addr[12], ret, INET6_ADDRSTRLEN);
                else if (!IN6_IS_ADDR_LOOPBACK(&six)) {
                        memset(&six.s6_addr[NETWORK_BYTES], 0, sizeof six.s6_addr - NETWORK_BYTES);
                        return inet_ntop(AF_INET6, &six, ret, INET6_ADDRSTRLEN);
                }
        }
        return g_str_has_prefix(address, "127.") || strcmp(address, "::1") == 0 ? "127.0.0.1" : address;
}

/* ---- how long between two turns ---- */

static gint64 pair_spacing(const Entry *pair, bool known)
{
        if (pair->failures < THROTTLE_FREE)
                return 0;
        return known ? 1000
                     : backoff_delay(1000, THROTTLE_DELAY_MAX_MS, (guint64)(pair->failures - THROTTLE_FREE));
}

static gint64 account_spacing(const Entry *account)
{
        int over = account->failures - THROTTLE_FREE_OF_ACCOUNT;

        return over < 0 ? 0 : backoff_delay(100, 5000, (guint64)(over / THROTTLE_FREE_OF_ACCOUNT));
}

/* ---- turns ---- */

typedef struct {
        Entry *pair, *address, *account;
        bool known; /* only what the pair did itself counts */
} Asked;

static Asked ask(Throttle *throttle, const char *account, const char *address, gint64 now)
{
        char network[INET6_ADDRSTRLEN];
        const char *from = network_of(address, network);
        g_autofree char *name = g_strconcat(account, "\n", from, NULL);
        Asked asked = { .pair = table_use(&throttle->pairs, name, now),
                        .address = table_use(&throttle->addresses, from, now),
                        .account = table_use(&throttle->accounts, account, now) };

        asked.known = table_find(&throttle->known, name, now) != NULL;
        return asked;
}

static gint64 turn_of(const Asked *asked, gint64 now)
{
        gint64 turn = MAX(now, asked->pair->next);

        return asked->known ? turn : MAX(turn, MAX(asked->address->next, asked->account->next));
}

/* Without a spacing the next attempts do not wait, even if this turn is late for another reason. */
static void take(Entry *entry, gint64 turn, gint64 spacing)
{
        entry->running++;
        if (spacing > 0)
                entry->next = turn + spacing;
}

static void take_turn(Asked *asked, gint64 turn)
{
        take(asked->pair, turn, pair_spacing(asked->pair, asked->known));
        if (asked->known)
                return;
        take(asked->address, turn, asked->address->failures < THROTTLE_FREE_OF_ADDRESS ? 0 : 1000);
        take(asked->account, turn, account_spacing(asked->account));
}

bool throttle_begin(Throttle *throttle, const char *account, const char *address, gint64 now, Turn *ret)
{
        bool taken;
        Asked asked;
        gint64 turn;

        g_mutex_lock(&throttle->lock);
        asked = ask(throttle, account, address, now);
        turn = turn_of(&asked, now);
        taken = turn - now <= THROTTLE_LINE_MS &&
                (asked.known ? asked.pair : asked.address)->running < THROTTLE_SHARE;
        if (taken)
                take_turn(&asked, turn);
        *ret = (Turn){ .wait_ms = taken ? turn - now : MAX(turn - now, 1000), .known = asked.known };
        g_mutex_unlock(&throttle->lock);
        return taken;
}

static void leave(Entry *entry)
{
        if (entry->running > 0) /* else a new one: it had to go meanwhile */
                entry->running--;
}

static void count_failure(Asked *asked, gint64 now)
{
        asked->pair->failures++;
        asked->pair->next = MAX(asked->pair->next, now + pair_spacing(asked->pair, asked->known));
        if (asked->known)
                return;
        asked->address->failures++;
        asked->account->failures++;
}

void throttle_end(Throttle *throttle, const char *account, const char *address, gint64 now, const Turn *turn,
                  Attempt how)
{
        Asked asked;

        g_mutex_lock(&throttle->lock);
        asked = ask(throttle, account, address, now);
        asked.known = turn->known; /* as it began */
        leave(asked.pair);
        if (!asked.known) {
                leave(asked.address);
                leave(asked.account);
        }
        if (how == ATTEMPT_FAILED)
                count_failure(&asked, now);
        if (how == ATTEMPT_SUCCEEDED) {
                asked.pair->failures = 0;
                asked.pair->next = 0;
                (void)table_use(&throttle->known, asked.pair->name, now);
        }
        g_mutex_unlock(&throttle->lock);
}
