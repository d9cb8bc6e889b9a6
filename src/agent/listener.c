/* A member's listeners (see listener.h). The sockets come from /proc/PID/net/tcp and tcp6, which list
 * listening sockets first; their owners come from /proc/PID/fd.
 *
 * Between the search and the connection another process may take the port. That is harmless: the caller may
 * run a command in the member as well, which could connect to the same port. */
#include "agent/listener.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/group.h"
#include "terminal/terminal.h"

enum { FOUND_MAX = 64, TCP_LISTEN = 0x0a, ANCESTORS_MAX = 1000 };

typedef struct {
        unsigned long inode;
        Listener listener;
} Found;

typedef struct {
        Found at[FOUND_MAX];
        size_t n;
} Table;

/* ---- what listens on the port ---- */

/* A socket that listens on all addresses is reached by loopback. */
static void set_four(Listener *listener, const unsigned *words, uint16_t port)
{
        struct sockaddr_in *address = (struct sockaddr_in *)&listener->address;

        *address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
        address->sin_addr.s_addr = words[0] ? words[0] : htonl(INADDR_LOOPBACK);
        listener->size = sizeof *address;
}

static void set_six(Listener *listener, const unsigned *words, uint16_t port)
{
        struct sockaddr_in6 *address = (struct sockaddr_in6 *)&listener->address;

        *address = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
        memcpy(&address->sin6_addr, words, sizeof address->sin6_addr);
        if (IN6_IS_ADDR_UNSPECIFIED(&address->sin6_addr))
                address->sin6_addr = in6addr_loopback;
        listener->size = sizeof *address;
}

/* "  0: 0100007F:1F90 00000000:0000 0A ...": the words of the address are in memory order. False after the
 * last listening socket. */
static bool take_line(const char *line, uint16_t port, Table *table)
{
        unsigned words[4] = { 0 }, local, state;
        unsigned long inode;
        char text[33];
        Found *found = &table->at[table->n];

        if (sscanf(line, " %*d: %32[0-9A-Fa-f]:%X %*[0-9A-Fa-f]:%*X %X %*s %*s %*s %*s %*s %lu", text, &local,
                   &state, &inode) != 4)
                return true; /* the heading */
        if (state != TCP_LISTEN)
                return false;
        if (local != port || table->n == FOUND_MAX)
                return true;
        found->inode = inode;
        if (sscanf(text, "%8X%8X%8X%8X", &words[0], &words[1], &words[2], &words[3]) == 4)
                set_six(&found->listener, words, port);
        else
                set_four(&found->listener, words, port);
        table->n++;
        return true;
}

static void read_table(int proc, const char *name, uint16_t port, Table *table)
{
        int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
        FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
        char line[512]; /* the kernel pads lines to 150 bytes */

        while (file && fgets(line, sizeof line, file) && take_line(line, port, table))
                ;
        if (file)
                (void)fclose(file);
}

/* ---- its owner ---- */

static const Found *find_inode(const Table *table, const char *link)
{
        unsigned long inode;

        if (sscanf(link, "socket:[%lu]", &inode) != 1)
                return NULL;
        for (size_t i = 0; i < table->n; i++)
                if (table->at[i].inode == inode)
                        return &table->at[i];
        return NULL;
}

static const Found *find_in(const char *pid, const Table *table)
{
        char path[64], link[64]; /* "socket:[" and 20 digits; longer ones are files */
        const struct dirent *entry;
        const Found *found = NULL;
        DIR *dir;

        (void)snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
        dir = opendir(path);
        while (dir && !found && (entry = readdir(dir))) {
                ssize_t got = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);

                if (got <= 0)
                        continue;
                link[got] = '\0';
                found = find_inode(table, link);
        }
        if (dir)
                (void)closedir(dir);
        return found;
}

/* `file` lists process numbers. */
static const Found *find_in_group(const char *file, const Table *table)
{
        size_t len;
        char *text = group_read(AT_FDCWD, file, &len), *save = NULL;
        const Found *found = NULL;

        for (char *pid = text ? strtok_r(text, "\n", &save) : NULL; pid && !found;
             pid = strtok_r(NULL, "\n", &save))
                found = find_in(pid, table);
        free(text);
        return found;
}

/* Reads /proc/PID/stat, after the name, which may contain any byte; 0: no such process. */
static int parent_of(const char *pid)
{
        char path[64], text[512]; /* the name has at most 16 bytes */
        const char *at;
        ssize_t got;
        int fd, parent = 0;

        (void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
        if (fd >= 0)
                (void)close(fd);
        text[got > 0 ? got : 0] = '\0';
        at = strrchr(text, ')');
        return at && sscanf(at, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool descends(const char *pid, int root)
{
        char text[24];
        int parent = parent_of(pid);

        for (int i = 0; i < ANCESTORS_MAX && parent > 1 && parent != root; i++) {
                (void)snprintf(text, sizeof text, "%d", parent);
                parent = parent_of(text);
        }
        return parent == root;
}

/* Without cgroups: searches all descendants of the member's keeper, which also adopts its orphans. */
static const Found *find_below(int keeper, const Table *table)
{
        DIR *dir = keeper > 1 ? opendir("/proc") : NULL;
        const struct dirent *entry;
        const Found *found = NULL;

        while (dir && !found && (entry = readdir(dir)))
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && descends(entry->d_name, keeper))
                        found = find_in(entry->d_name, table);
        if (dir)
                (void)closedir(dir);
        return found;
}

static int keeper_of(int proc)
{
        size_t len;
        char *status = group_read(proc, "status", &len);
        const char *at = status ? strstr(status, "\nPPid:") : NULL;
        int parent = 0;

        if (at)
                (void)sscanf(at, "\nPPid: %d", &parent);
        free(status);
        return parent;
}

bool listener_find(int proc, uint16_t port, Listener *ret)
{
        static Table table; /* too large for a stack */
        const Found *found = NULL;
        char file[GROUP_FILE_SIZE];
        bool grouped = false;
        Groups groups;

        table.n = 0;
        read_table(proc, "net/tcp", port, &table);
        read_table(proc, "net/tcp6", port, &table);
        groups_open(&groups, proc);
        while (table.n && !grouped && groups_next(&groups)) {
                if (!strstr(groups.path, "/slot-") || !groups_file(&groups, file))
                        continue;
                grouped = true;
                found = find_in_group(file, &table);
        }
        if (table.n && !grouped)
                found = find_below(keeper_of(proc), &table);
        groups_close(&groups);
        if (found)
                *ret = found->listener;
        return found;
}

/* ---- the connection ---- */

int listener_relay(const Listener *listener)
{
        int fd = socket(listener->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)&listener->address, listener->size) < 0) {
                (void)fprintf(stderr, "the connection was not taken: %s\n", strerror(errno));
                return LISTENER_REFUSED;
        }
        if (terminal_copy(STDIN_FILENO, STDOUT_FILENO, fd, false))
                return 0;
        (void)fputs("the connection broke\n", stderr);
        return LISTENER_BROKEN;
}
