/* Port leases (see ports.h). `owners` maps an owner to its ports; `taken` has a bit for every port number.
 * Blocks are locked on demand: if less than half of the ports in the held blocks are free, another block is
 * taken first, so that freed ports rest. */
#include "runtime/local/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

enum {
        RANGE_FIRST = 20000,
        RANGE_LEN = 10000,
        RANGE_LEN_MIN = 2000,
        PORT_MIN = 1024,
        PORT_MAX = 65535,
        BLOCKS_MAX = (PORT_MAX + 1) / PORT_BLOCK,
};

static const char of_root[] = "/run/paddle-ports"; /* only root can create files in /run */

typedef struct {
        int first; /* its first port */
        int fd;    /* holds the lock */
} Block;

struct Ports {
        char *lock_dir;
        int first, blocks;  /* of the range */
        int start;          /* the first block to try */
        GArray *held;       /* Block */
        int cursor;         /* position in the ports of all held blocks */
        int n_taken;        /* of the held blocks' ports */
        GHashTable *owners; /* char * -> GArray of int */
        bool taken[PORT_MAX + 1];
};

/* Below the ephemeral range, otherwise above it. If neither has enough ports, the default; then bind()
 * decides. */
static void choose_range(const char *proc_root, int *ret_first, int *ret_len)
{
        g_autofree char *path =
                g_build_filename(proc_root ? proc_root : "/", "proc/sys/net/ipv4/ip_local_port_range", NULL);
        g_autofree char *text = NULL;
        int low = 32768, high = 60999;

        *ret_first = RANGE_FIRST;
        *ret_len = RANGE_LEN;
        if (file_read(path, 4096, &text, NULL, NULL)) /* else the kernel's defaults */
                (void)sscanf(text, "%d %d", &low, &high);
        if (high < RANGE_FIRST || low >= RANGE_FIRST + RANGE_LEN)
                return;
        if (low - PORT_MIN >= RANGE_LEN_MIN) {
                *ret_first = MAX(PORT_MIN, low - RANGE_LEN);
                *ret_len = low - *ret_first;
        } else if (PORT_MAX - high >= RANGE_LEN_MIN) {
                *ret_first = high + 1;
                *ret_len = MIN(RANGE_LEN, PORT_MAX - high);
        }
}

static bool is_usable_dir(const char *dir)
{
        mode_t mode = strcmp(dir, of_root) == 0 ? 0700 : 01777;
        struct stat st;

        if (mkdir(dir, mode) == 0)
                (void)chmod(dir, mode); /* despite the umask: servers of all users must find each other */
        return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && access(dir, W_OK | X_OK) == 0;
}

/* A server that runs as root uses its own directory: its members, who are other users, must not be able to
 * take all locks. is_free() detects ports of other users' servers. */
static char *choose_lock_dir(void)
{
        const char *runtime = g_getenv("XDG_RUNTIME_DIR");
        g_autofree char *own = runtime && *runtime ? g_build_filename(runtime, "paddle", NULL) : NULL;

        if (geteuid() == 0 && is_usable_dir(of_root))
                return g_strdup(of_root);
        if (is_usable_dir("/run/lock/paddle"))
                return g_strdup("/run/lock/paddle");
        if (own && is_usable_dir(own))
                return g_steal_pointer(&own);
        return g_strdup("/tmp/paddle-ports");
}

static void int_array_free(void *array)
{
        g_array_unref(array);
}

Ports *ports_new(const PortsConfig *config)
{
        Ports *ports = g_new0(Ports, 1);
        int len;

        ports->lock_dir = config->lock_dir ? g_strdup(config->lock_dir) : choose_lock_dir();
        choose_range(config->proc_root, &ports->first, &len);
        ports->blocks = len / PORT_BLOCK;
        ports->start = (int)(config->seed % (guint32)ports->blocks);
        ports->held = g_array_new(FALSE, FALSE, sizeof(Block));
        ports->owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, int_array_free);
        return ports;
}

void ports_free(Ports *ports)
{
        if (!ports)
                return;
        for (guint i = 0; i < ports->held->len; i++)
                close(g_array_index(ports->held, Block, i).fd);
        g_array_unref(ports->held);
        g_hash_table_unref(ports->owners);
        g_free(ports->lock_dir);
        g_free(ports);
}

void ports_range(const Ports *ports, int *ret_first, int *ret_last)
{
        *ret_first = ports->first;
        *ret_last = ports->first + ports->blocks * PORT_BLOCK - 1;
}

/* First without O_CREAT: fs.protected_regular forbids it for files of other users in a directory with the
 * sticky bit. */
static int open_lock(const Ports *ports, int first)
{
        g_autofree char *path = g_strdup_printf("%s/ports-%d", ports->lock_dir, first);
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

        if (fd >= 0 || errno != ENOENT)
                return fd;
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
                (void)fchmod(fd, 0666); /* despite the umask, for servers of other users */
        else if (errno == EEXIST)
                fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        return fd;
}

static bool holds(const Ports *ports, int first)
{
        for (guint i = 0; i < ports->held->len; i++)
                if (g_array_index(ports->held, Block, i).first == first)
                        return true;
        return false;
}

static bool lock_block(Ports *ports, int first, int *ret_err)
{
        fd_auto int fd = open_lock(ports, first);
        Block block = { .first = first };

        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (fd < 0)
                        *ret_err = errno;
                return false;
        }
        block.fd = fd_steal(&fd);
        g_array_append_val(ports->held, block);
        for (int port = first; port < first + PORT_BLOCK; port++)
                ports->n_taken += ports->taken[port];
        return true;
}

/* Takes one more block. *ret_err is the errno of a lock file that could not be opened, 0 if other servers
 * have all blocks. */
static bool take_block(Ports *ports, int *ret_err)
{
        *ret_err = 0;
        (void)is_usable_dir(ports->lock_dir); /* it may have been deleted; a failure shows in the open */
        for (int i = 0; i < ports->blocks; i++) {
                int first = ports->first + (ports->start + i) % ports->blocks * PORT_BLOCK;

                if (!holds(ports, first) && lock_block(ports, first, ret_err))
                        return true;
        }
        return false;
}

/* Without SO_REUSEADDR, binding to all addresses fails if any socket has the port on any of them. */
static bool is_free(int port)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((guint16)port) };
        fd_auto int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        return fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

static int capacity(const Ports *ports)
{
        return (int)ports->held->len * PORT_BLOCK;
}

/* The next free port of the held blocks, after at most one round; 0: none. */
static int next_port(Ports *ports)
{
        for (int i = 0; i < capacity(ports); i++) {
                int at = ports->cursor++ % capacity(ports);
                int port = g_array_index(ports->held, Block, at / PORT_BLOCK).first + at % PORT_BLOCK;

                ports->cursor %= capacity(ports);
                if (!ports->taken[port] && is_free(port))
                        return port;
        }
        return 0;
}

static bool is_held(const Ports *ports, int port)
{
        return port >= ports->first && port < ports->first + ports->blocks * PORT_BLOCK &&
               holds(ports, port - (port - ports->first) % PORT_BLOCK);
}

static void set_taken(Ports *ports, int port, bool taken)
{
        if (ports->taken[port] == taken)
                return;
        ports->taken[port] = taken;
        if (is_held(ports, port))
                ports->n_taken += taken ? 1 : -1;
}

void ports_keep(Ports *ports, const char *owner, int n, const int *kept)
{
        GArray *list = g_hash_table_lookup(ports->owners, owner);

        if (!list) {
                list = g_array_new(FALSE, FALSE, sizeof(int));
                g_hash_table_insert(ports->owners, g_strdup(owner), list);
        }
        for (int i = 0; i < n; i++) {
                if (kept[i] <= 0 || kept[i] > PORT_MAX)
                        continue;
                set_taken(ports, kept[i], true);
                g_array_append_val(list, kept[i]);
        }
}

static bool find_ports(Ports *ports, int n, int *ret_ports, GError **error)
{
        int found = 0, err = 0;

        while (found < n) {
                bool roomy = (capacity(ports) - ports->n_taken) * 2 > capacity(ports) + 2 * n;
                bool more = !roomy && take_block(ports, &err);
                int port = next_port(ports);

                if (port) {
                        set_taken(ports, port, true);
                        ret_ports[found++] = port;
                } else if (!more && !take_block(ports, &err)) {
                        break;
                }
        }
        if (found == n)
                return true;
        for (int i = 0; i < found; i++)
                set_taken(ports, ret_ports[i], false);
        if (err && ports->held->len == 0)
                return err_set_errno(error, err, "cannot lock ports in '%s'", ports->lock_dir);
        return err_set(error, ERR_UNAVAILABLE, "%d ports are wanted, and of %d to %d only %d are free", n,
                       ports->first, ports->first + ports->blocks * PORT_BLOCK - 1, found);
}

bool ports_lease(Ports *ports, const char *owner, int n, int *ret_ports, GError **error)
{
        g_autofree int *found = g_new(int, MAX(n, 1));

        if (!find_ports(ports, n, found, error))
                return false;
        ports_keep(ports, owner, n, found);
        memcpy(ret_ports, found, (size_t)n * sizeof *found);
        return true;
}

void ports_release(Ports *ports, const char *owner)
{
        GArray *list = g_hash_table_lookup(ports->owners, owner);

        for (guint i = 0; list && i < list->len; i++)
                set_taken(ports, g_array_index(list, int, i), false);
        g_hash_table_remove(ports->owners, owner);
}
