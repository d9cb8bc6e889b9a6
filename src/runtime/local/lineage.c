/* The owner of a process (see lineage.h), from /proc alone. */
#include "runtime/local/lineage.h"

#include <arpa/inet.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { TEXT_MAX = 1 << 20, TABLE_MAX = 64 << 20, GENERATIONS_MAX = 1000 };

/* The contents of a file of a process; NULL: the process is gone, or the file is unreadable. */
static char *read_of(pid_t pid, const char *file)
{
        g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, file);
        char *text = NULL;

        return file_read(path, TEXT_MAX, &text, NULL, NULL) ? text : NULL;
}

static bool is_keeper(const char *status)
{
        return g_str_has_prefix(status, "Name:\tpaddle-spawner\n") ||
               g_str_has_prefix(status, "Name:\tpaddle-keeper\n") ||
               g_str_has_prefix(status, "Name:\tpaddle-holder\n");
}

static pid_t parent_of(const char *status)
{
        const char *line = strstr(status, "\nPPid:\t");

        return line ? (pid_t)g_ascii_strtoll(line + strlen("\nPPid:\t"), NULL, 10) : 0;
}

bool lineage_is_member(pid_t pid)
{
        g_autofree char *groups = read_of(pid, "cgroup");

        if (!groups || strstr(groups, "/slot-"))
                return true;
        for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
                g_autofree char *status = read_of(pid, "status");

                if (!status || is_keeper(status) || pid == getpid())
                        return true;
                pid = parent_of(status);
        }
        return pid > 1;
}

/* ---- connections ---- */

typedef struct {
        const char *table;
        char end[48];
} Entry;

/* The form of an address in /proc/net: its words in the machine's byte order and the port, in upper-case
 * hexadecimal. */
static void write_entry(Entry *entry, const char *table, const guint32 *words, int n, int port)
{
        gsize len = 0;

        entry->table = table;
        for (int i = 0; i < n; i++)
                len += (gsize)g_snprintf(entry->end + len, sizeof entry->end - len, "%08X", words[i]);
        g_snprintf(entry->end + len, sizeof entry->end - len, ":%04X", port);
}

/* The forms in which the other end of a connection may be listed; returns their number. An IPv6 socket may
 * use IPv4 with a mapped address (RFC 4291, 2.5.5.2). */
static int list_entries(const char *address, int port, Entry ret[2])
{
        guint32 words[4] = { 0, 0, htonl(0xffff), 0 };

        if (g_ascii_strncasecmp(address, "::ffff:", strlen("::ffff:")) == 0)
                address += strlen("::ffff:");
        if (inet_pton(AF_INET, address, &words[3]) == 1) {
                write_entry(&ret[0], "/proc/net/tcp", &words[3], 1, port);
                write_entry(&ret[1], "/proc/net/tcp6", words, 4, port);
                return 2;
        }
        if (inet_pton(AF_INET6, address, words) != 1)
                return 0;
        write_entry(&ret[0], "/proc/net/tcp6", words, 4, port);
        return 1;
}

typedef struct {
        guint64 inode;
        uid_t uid; /* of its creator */
} Socket;

/* Appends the sockets with this address. There may be several: connections to different addresses share
 * one. */
static void find_sockets(const Entry *entry, GArray *ret)
{
        g_autofree char *table = NULL;

        if (!file_read(entry->table, TABLE_MAX, &table, NULL, NULL))
                return;
        g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
        for (char **line = lines; *line; line++) {
                char local[64], uid[32], inode[32];
                Socket socket;

                /* sl local remote st queues timer retransmits uid timeout inode */
                if (sscanf(*line, " %*s %63s %*s %*s %*s %*s %*s %31s %*s %31s", local, uid, inode) != 3 ||
                    strcmp(local, entry->end) != 0)
                        continue;
                socket = (Socket){ .inode = g_ascii_strtoull(inode, NULL, 10),
                                   .uid = (uid_t)g_ascii_strtoull(uid, NULL, 10) };
                if (socket.inode) /* else it is closed, in TIME_WAIT */
                        g_array_append_val(ret, socket);
        }
}

static bool has_descriptor(const char *dir_path, const char *socket)
{
        g_autoptr(GDir) dir = g_dir_open(dir_path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *file = g_build_filename(dir_path, name, NULL);
                char target[64];
                ssize_t len = readlink(file, target, sizeof target - 1);

                target[MAX(len, 0)] = '\0';
                if (strcmp(target, socket) == 0)
                        return true;
        }
        return false;
}

/* Each thread may have its own descriptors (unshare(CLONE_FILES)). */
static bool holds(pid_t pid, const char *socket)
{
        g_autofree char *tasks = g_strdup_printf("/proc/%d/task", (int)pid);
        g_autoptr(GDir) dir = g_dir_open(tasks, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *descriptors = g_build_filename(tasks, name, "fd", NULL);

                if (has_descriptor(descriptors, socket))
                        return true;
        }
        return false;
}

static bool runs_as(pid_t pid, uid_t uid)
{
        g_autofree char *status = read_of(pid, "status");
        const char *line = status ? strstr(status, "\nUid:\t") : NULL;
        unsigned effective;

        return line && sscanf(line, "\nUid:\t%*u\t%u", &effective) == 1 && effective == uid;
}

/* True if a member holds the socket, if no holder is found, or if a holder's uid is not the creator's: then
 * the socket was passed on, and the creator's own descriptor may be in transit. */
static bool is_held_by_member(const Socket *socket)
{
        g_autofree char *link = g_strdup_printf("socket:[%" G_GUINT64_FORMAT "]", socket->inode);
        g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
        const char *name;
        bool found = false;

        while (proc && (name = g_dir_read_name(proc))) {
                pid_t pid = (pid_t)g_ascii_strtoll(name, NULL, 10);

                if (pid <= 0 || !holds(pid, link))
                        continue;
                found = true;
                if (!runs_as(pid, socket->uid) || lineage_is_member(pid))
                        return true;
        }
        return !found;
}

static bool is_loopback(const char *address)
{
        return g_str_has_prefix(address, "127.") || strcmp(address, "::1") == 0 ||
               g_str_has_prefix(address, "::ffff:127.");
}

bool lineage_has_connection(const char *address, int port, pid_t pid)
{
        g_autoptr(GArray) sockets = g_array_new(FALSE, FALSE, sizeof(Socket));
        Entry entries[2];
        int n;

        if (port == 0)
                return pid <= 0 || lineage_is_member(pid);
        n = list_entries(address, port, entries);
        for (int i = 0; i < n; i++)
                find_sockets(&entries[i], sockets);
        for (guint i = 0; i < sockets->len; i++)
                if (is_held_by_member(&g_array_index(sockets, Socket, i)))
                        return true;
        return sockets->len == 0 && (n == 0 || is_loopback(address));
}
