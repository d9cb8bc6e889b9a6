/* The delays of failed log-ins (see throttle.h). A table is a hash of entries with a queue in order of their
 * last use. */
#include "api/auth/throttle.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/keyed-hash.h"

typedef struct {
        GList link; /* in the table's queue; its data is the entry */
        char *name;
        int failures, running;
        gint64 used, not_before;
} Entry;

typedef struct {
        GHashTable *by_name; /* name of the entry -> Entry * */
        GQueue by_use;       /* most lately used first */
} Table;

struct Throttle {
        GMutex lock;
        Table accounts, addresses;
};

static void entry_free(void *arg)
{
        Entry *entry = arg;

        g_free(entry->name);
        g_free(entry);
}

static void table_init(Table *table)
{
        table->by_name = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, entry_free);
        g_queue_init(&table->by_use);
}

Throttle *throttle_new(void)
{
        Throttle *throttle = g_new0(Throttle, 1);

        g_mutex_init(&throttle->lock);
        table_init(&throttle->accounts);
        table_init(&throttle->addresses);
        return throttle;
}

void throttle_free(Throttle *throttle)
{
        if (!throttle)
                return;
        g_hash_table_unref(throttle->accounts.by_name);
        g_hash_table_unref(throttle->addresses.by_name);
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

        if (entry && !entry->running && now - entry->used >= THROTTLE_FORGET_MS) {
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

/* Whom the address stands for: an IPv4 address itself, also when it is written as an IPv6 one, of another
 * IPv6 address its /64. */
static const char *network_of(const char *address, char ret[INET6_ADDRSTRLEN])
{
        struct in6_addr six;

        if (!address || inet_pton(AF_INET6, address, &six) != 1)
                return address;
        if (IN6_IS_ADDR_V4MAPPED(&six))
                return inet_ntop(AF_INET, &six.s6_addr[12], ret, INET6_ADDRSTRLEN);
        memset(&six.s6_addr[NETWORK_BYTES], 0, sizeof six.s6_addr - NETWORK_BYTES);
        return inet_ntop(AF_INET6, &six, ret, INET6_ADDRSTRLEN);
}

/* How long this table wants the attempt to wait. */
static gint64 table_wait(Table *table, const char *name, gint64 now)
{
        const Entry *entry = name ? table_find(table, name, now) : NULL;

        if (!entry || entry->failures < THROTTLE_FREE)
                return 0;
        if (entry->not_before > now)
                return entry->not_before - now;
        return entry->running ? 1000 : 0;
}

bool throttle_begin(Throttle *throttle, const char *account, const char *address, gint64 now,
                    gint64 *ret_wait_ms)
{
        char network[INET6_ADDRSTRLEN];
        gint64 wait;

        address = network_of(address, network);
        g_mutex_lock(&throttle->lock);
        wait = MAX(table_wait(&throttle->accounts, account, now),
                   table_wait(&throttle->addresses, address, now));
        if (!wait) {
                table_use(&throttle->accounts, account, now)->running++;
                if (address)
                        table_use(&throttle->addresses, address, now)->running++;
        }
        g_mutex_unlock(&throttle->lock);
        if (wait)
                *ret_wait_ms = wait;
        return wait == 0;
}

static void table_end(Table *table, const char *name, gint64 now, Attempt how, bool clear)
{
        Entry *entry = table_use(table, name, now); /* a new one when it had to go meanwhile */

        if (entry->running > 0)
                entry->running--;
        if (how == ATTEMPT_SUCCEEDED && clear)
                entry->failures = 0;
        if (how != ATTEMPT_FAILED)
                return;
        entry->failures++;
        if (entry->failures >= THROTTLE_FREE)
                entry->not_before =
                        now + MIN(1000ll << MIN(entry->failures - THROTTLE_FREE, 10), THROTTLE_DELAY_MAX_MS);
}

void throttle_end(Throttle *throttle, const char *account, const char *address, gint64 now, Attempt how)
{
        char network[INET6_ADDRSTRLEN];

        address = network_of(address, network);
        g_mutex_lock(&throttle->lock);
        table_end(&throttle->accounts, account, now, how, true);
        if (address)
                table_end(&throttle->addresses, address, now, how, false);
        g_mutex_unlock(&throttle->lock);
}
