/* Descendants and sessions from /proc (see tree.h). There is no heap, so the list of processes has its own
 * mapping. */
#include "agent/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
        int pid, parent, group, session;
        bool ours;
} Process;

typedef struct {
        Process *at;
        size_t n, capacity;
} Table;

static int number(const char **text)
{
        int value = 0;

        while (**text == ' ')
                (*text)++;
        for (; **text >= '0' && **text <= '9'; (*text)++)
                value = value * 10 + (**text - '0');
        return value;
}

/* "pid (any bytes) S parent group session ..." */
static bool read_process(int proc, const char *name, Process *ret)
{
        char path[32], text[512]; /* the name has at most 16 bytes, so the first six fields fit */
        const char *at = name;
        ssize_t got;
        int fd;

        (void)snprintf(path, sizeof path, "%.20s/stat", name);
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        got = read(fd, text, sizeof text - 1);
        close(fd);
        if (got <= 0)
                return false;
        text[got] = '\0';
        ret->pid = number(&at);
        at = strrchr(text, ')');
        if (!at || strlen(at) < 4)
                return false;
        at += 3; /* ") S" */
        ret->parent = number(&at);
        ret->group = number(&at);
        ret->session = number(&at);
        ret->ours = false;
        return ret->pid > 1;
}

static bool list(int proc, Table *table)
{
        char entries[4096];
        ssize_t got;

        if (proc < 0)
                return false;
        table->capacity = 1 << 17;
        table->at = mmap(NULL, table->capacity * sizeof *table->at, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (table->at == MAP_FAILED || lseek(proc, 0, SEEK_SET) < 0)
                return false;
        while ((got = getdents64(proc, entries, sizeof entries)) > 0) {
                for (ssize_t i = 0; i < got;) {
                        struct dirent64 *entry = (struct dirent64 *)(entries + i);

                        i += entry->d_reclen;
                        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || table->n == table->capacity)
                                continue;
                        table->n += read_process(proc, entry->d_name, &table->at[table->n]);
                }
        }
        return true;
}

static bool is_ours(const Table *table, pid_t root, int pid)
{
        if (pid == root)
                return true;
        for (size_t i = 0; i < table->n; i++)
                if (table->at[i].pid == pid)
                        return table->at[i].ours;
        return false;
}

static void mark_descendants(Table *table, pid_t root)
{
        bool more = true;

        while (more) {
                more = false;
                for (size_t i = 0; i < table->n; i++) {
                        Process *process = &table->at[i];

                        if (process->ours || !is_ours(table, root, process->parent))
                                continue;
                        process->ours = true;
                        more = true;
                }
        }
}

void tree_signal(int proc, pid_t root, int signal, pid_t except)
{
        Table table = { 0 };

        if (!list(proc, &table))
                return;
        mark_descendants(&table, root);
        for (size_t i = 0; i < table.n; i++)
                if (table.at[i].ours && (except < 0 || table.at[i].group != except))
                        (void)kill(table.at[i].pid, signal); /* it may be gone already */
        (void)munmap(table.at, table.capacity * sizeof *table.at);
}

size_t tree_session(pid_t session, int *ret, size_t max)
{
        Table table = { 0 };
        size_t n = 0;
        int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool ok = list(proc, &table);

        if (proc >= 0)
                close(proc);
        if (!ok)
                return 0;
        for (size_t i = 0; i < table.n && n < max; i++)
                if (table.at[i].session == session)
                        ret[n++] = table.at[i].pid;
        (void)munmap(table.at, table.capacity * sizeof *table.at);
        return n;
}

void tree_signal_session(pid_t session, int signal)
{
        int pids[1024]; /* the caller's next pass handles the rest of a larger session */
        size_t n = tree_session(session, pids, sizeof pids / sizeof *pids);

        for (size_t i = 0; i < n; i++)
                (void)kill(pids[i], signal); /* it may be gone already */
}
