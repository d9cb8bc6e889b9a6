/* Sessions of /proc (see sessions.h; proc(5) for the fields of `stat`). */
#include "runtime/local/sessions.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { STAT_MAX = 4096 };

struct Sessions {
        char *proc;
        GMutex lock;
        GHashTable *by_session, *by_pid; /* session -> TaskUsage; process -> session */
        gint64 until;                    /* they are valid until then */
};

Sessions *sessions_new(const char *proc)
{
        Sessions *sessions = g_new0(Sessions, 1);

        sessions->proc = g_strdup(proc);
        g_mutex_init(&sessions->lock);
        sessions->by_session = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        sessions->by_pid = g_hash_table_new(g_direct_hash, g_direct_equal);
        return sessions;
}

void sessions_free(Sessions *sessions)
{
        if (!sessions)
                return;
        g_hash_table_unref(sessions->by_session);
        g_hash_table_unref(sessions->by_pid);
        g_mutex_clear(&sessions->lock);
        g_free(sessions->proc);
        g_free(sessions);
}

/* ---- one process ---- */

typedef struct {
        long long session, ticks, pages;
} ProcStat;

/* The name, in parentheses, may contain any byte. Ticks: its own, and those of reaped children. */
static bool parse_stat(const char *text, ProcStat *ret)
{
        const char *rest = strrchr(text, ')');
        long long user, system, child_user, child_system;

        if (!rest ||
            sscanf(rest + 1,
                   " %*c %*d %*d %lld %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld %*d %*d %*d %*d "
                   "%*u %*u %lld",
                   &ret->session, &user, &system, &child_user, &child_system, &ret->pages) != 6)
                return false;
        ret->ticks = user + system + child_user + child_system;
        return true;
}

static void add(Sessions *sessions, int pid, const ProcStat *stat)
{
        gpointer key = GINT_TO_POINTER((int)stat->session);
        TaskUsage *usage = g_hash_table_lookup(sessions->by_session, key);

        if (!usage) {
                usage = g_new0(TaskUsage, 1);
                g_hash_table_insert(sessions->by_session, key, usage);
        }
        usage->cpu_us += stat->ticks * 1000000 / MAX(sysconf(_SC_CLK_TCK), 1);
        usage->memory += stat->pages * sysconf(_SC_PAGESIZE);
        usage->processes++;
        g_hash_table_insert(sessions->by_pid, GINT_TO_POINTER(pid), key);
}

static void look(Sessions *sessions)
{
        g_autoptr(GDir) dir = g_dir_open(sessions->proc, 0, NULL);

        g_hash_table_remove_all(sessions->by_session);
        g_hash_table_remove_all(sessions->by_pid);
        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *path = NULL, *text = NULL;
                ProcStat stat;

                if (!g_ascii_isdigit(*name))
                        continue;
                path = g_build_filename(sessions->proc, name, "stat", NULL);
                if (file_read(path, STAT_MAX, &text, NULL, NULL) && parse_stat(text, &stat))
                        add(sessions, (int)g_ascii_strtoll(name, NULL, 10), &stat);
        }
}

bool sessions_usage(Sessions *sessions, int pid, gint64 now, TaskUsage *ret)
{
        const TaskUsage *usage = NULL;
        gpointer session;

        g_mutex_lock(&sessions->lock);
        if (now >= sessions->until) {
                look(sessions);
                sessions->until = now + SESSIONS_MS;
        }
        if (g_hash_table_lookup_extended(sessions->by_pid, GINT_TO_POINTER(pid), NULL, &session))
                usage = g_hash_table_lookup(sessions->by_session, session);
        if (usage)
                *ret = *usage;
        g_mutex_unlock(&sessions->lock);
        return usage != NULL;
}
