/* Listeners from /proc/net/tcp and tcp6, owners from /proc/PID/fd (see ready.h). These files list listening
 * sockets first, so many connections cost no more than few. */
#include "agent/ready.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tree.h"
#include "base/file.h"
#include "base/number.h"

enum { PROCS_MAX = 1 << 20, SESSION_MAX = 4096, TCP_LISTEN = 0x0a };

char *ready_procs_path(const Slot *slot)
{
        static const SlotController order[] = { SLOT_PIDS, SLOT_MEMORY, SLOT_CPUACCT, SLOT_CPU };

        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (slot->dir[order[i]])
                        return g_build_filename(slot->dir[order[i]], "cgroup.procs", NULL);
        return NULL;
}

/* Adds the inodes of listeners to a table port -> GArray of inodes. */
static void read_listeners(const char *proc, const char *name, GHashTable *listeners)
{
        g_autofree char *path = g_build_filename(proc, "net", name, NULL);
        FILE *file = fopen(path, "re");
        char line[512]; /* the kernel pads lines to 150 bytes */

        if (!file)
                return;
        while (fgets(line, sizeof line, file)) {
                unsigned port, state;
                guint64 inode;
                GArray *inodes;

                if (sscanf(line,
                           " %*d: %*[0-9A-Fa-f]:%X %*[0-9A-Fa-f]:%*X %X %*s %*s %*s %*s %*s "
                           "%" G_GUINT64_FORMAT,
                           &port, &state, &inode) != 3)
                        continue; /* the heading */
                if (state != TCP_LISTEN)
                        break;
                inodes = g_hash_table_lookup(listeners, GUINT_TO_POINTER(port));
                if (!inodes) {
                        inodes = g_array_new(FALSE, FALSE, sizeof(guint64));
                        g_hash_table_insert(listeners, GUINT_TO_POINTER(port), inodes);
                }
                g_array_append_val(inodes, inode);
        }
        fclose(file);
}

static bool is_one_of(const char *target, const GArray *inodes)
{
        guint64 inode;

        if (sscanf(target, "socket:[%" G_GUINT64_FORMAT "]", &inode) != 1)
                return false;
        for (guint i = 0; i < inodes->len; i++)
                if (g_array_index(inodes, guint64, i) == inode)
                        return true;
        return false;
}

static bool owns(const char *proc, int pid, const GArray *inodes)
{
        g_autofree char *path = g_strdup_printf("%s/%d/fd", proc, pid);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *link = g_build_filename(path, name, NULL);
                char target[64]; /* "socket:[" and 20 digits; longer ones are files */
                ssize_t got = readlink(link, target, sizeof target - 1);

                if (got <= 0)
                        continue;
                target[got] = '\0';
                if (is_one_of(target, inodes))
                        return true;
        }
        return false;
}

static bool any_of_group_owns(const char *proc, const char *procs, const GArray *inodes)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) pids = NULL;

        if (!file_read(procs, PROCS_MAX, &text, NULL, NULL))
                return false;
        pids = g_strsplit(text, "\n", -1);
        for (char **pid = pids; *pid; pid++) {
                gint64 number;

                if (number_parse("pid", *pid, 1, G_MAXINT, &number, NULL) && owns(proc, (int)number, inodes))
                        return true;
        }
        return false;
}

static bool any_of_session_owns(const char *proc, int session, const GArray *inodes)
{
        int pids[SESSION_MAX];
        size_t n = tree_session(session, pids, SESSION_MAX);

        for (size_t i = 0; i < n; i++)
                if (owns(proc, pids[i], inodes))
                        return true;
        return false;
}

static GHashTable *all_listeners(const char *proc)
{
        GHashTable *listeners = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);

        read_listeners(proc, "tcp", listeners);
        read_listeners(proc, "tcp6", listeners);
        return listeners;
}

/* True if the process is in another network namespace than we are. */
static bool is_elsewhere(const char *proc, int pid)
{
        g_autofree char *path = g_strdup_printf("%s/%d/ns/net", proc, pid);
        g_autofree char *own = g_build_filename(proc, "self/ns/net", NULL);
        struct stat theirs, ours;

        return stat(path, &theirs) == 0 && stat(own, &ours) == 0 && theirs.st_ino != ours.st_ino;
}

static void look(const char *proc, GHashTable *listeners, ReadyPort *port)
{
        const GArray *inodes = g_hash_table_lookup(listeners, GINT_TO_POINTER(port->port));

        if (inodes)
                port->listens = port->procs ? any_of_group_owns(proc, port->procs, inodes)
                                            : any_of_session_owns(proc, port->session, inodes);
}

static void look_elsewhere(const char *proc, ReadyPort *port)
{
        g_autofree char *dir = g_strdup_printf("%s/%d", proc, port->session);
        g_autoptr(GHashTable) listeners = all_listeners(dir);

        look(proc, listeners, port);
}

void ready_ports_find(const char *proc, ReadyPort *ports, gsize n)
{
        g_autoptr(GHashTable) listeners = NULL;

        for (gsize i = 0; i < n; i++) {
                if (ports[i].port <= 0)
                        continue;
                if (is_elsewhere(proc, ports[i].session)) {
                        look_elsewhere(proc, &ports[i]);
                        continue;
                }
                if (!listeners)
                        listeners = all_listeners(proc);
                look(proc, listeners, &ports[i]);
        }
}
