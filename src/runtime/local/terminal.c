/* Commands beside members on this machine (see terminal.h).
 *
 *   pipes:     0 ◀─ input    1 ─▶ output    2 ─▶ errors          terminal: one descriptor for all three
 *
 * A command is over when it has ended (its pidfd says so) and its output was read: up to the end of file, or,
 * if other processes hold the pipe open, what is available. */
#include "runtime/local/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

enum { PIECE = 32 << 10, READS_A_TURN = 8, SIGNALLED = 128, OUTPUTS = 2 };

struct Terminals {
        GMutex mutex; /* protects the start */
        char *spawner;
        GThread *thread;
        GMainContext *context;
        GMainLoop *loop;
        ExecRoom *room;
        GHashTable *counts; /* task -> our processes that have not ended; for the thread only */
};

typedef struct {
        char *pid, *job, *uid, *gid, *groups; /* as arguments of the spawner */
        char *task;
        bool confined, sandboxed;
        Terminals *terminals;
} Target;

/* A process of a started task, and its pidfd. */
typedef struct {
        Terminals *terminals;
        char *task;
        GPid pid;
        int pidfd;
} Process;

typedef struct {
        RuntimeExec *exec;
        GMainContext *context;
        Process *process;     /* NULL: it has ended */
        int in, out[OUTPUTS]; /* ours; -1: closed. A terminal has only out[0]; `in` is a copy of it */
        ExecKind kind;
        bool tty, closing, held, ended;
        int status;
        GString *queued; /* input */
        GSource *reader[OUTPUTS], *writer, *watcher;
} Backend;

static void target_free(gpointer data)
{
        Target *target = data;

        g_free(target->pid);
        g_free(target->job);
        g_free(target->uid);
        g_free(target->gid);
        g_free(target->groups);
        g_free(target->task);
        g_free(target);
}

static void drop(GSource **source)
{
        if (!*source)
                return;
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
}

/* ---- processes per task ---- */

static guint count_of(const Terminals *terminals, const char *task)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(terminals->counts, task));
}

static void set_count(Terminals *terminals, const char *task, guint count)
{
        if (count)
                g_hash_table_insert(terminals->counts, g_strdup(task), GUINT_TO_POINTER(count));
        else
                g_hash_table_remove(terminals->counts, task);
}

static Process *process_new(const Target *target, GPid pid)
{
        Process *process = g_new0(Process, 1);

        *process = (Process){ .terminals = target->terminals,
                              .task = g_strdup(target->task),
                              .pid = pid,
                              .pidfd = pidfd_open(pid, 0) };
        set_count(process->terminals, process->task, count_of(process->terminals, process->task) + 1);
        return process;
}

static void process_free(gpointer data)
{
        Process *process = data;

        set_count(process->terminals, process->task, count_of(process->terminals, process->task) - 1);
        if (process->pidfd >= 0)
                close(process->pidfd);
        g_free(process->task);
        g_free(process);
}

static void shut(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

static GSource *watch(GMainContext *context, int fd, GIOCondition condition, GUnixFDSourceFunc func,
                      void *arg)
{
        GSource *source = g_unix_fd_source_new(fd, condition);

        g_source_set_callback(source, G_SOURCE_FUNC(func), arg, NULL);
        g_source_attach(source, context);
        return source;
}

/* ---- its output and its end ---- */

static void finish(Backend *backend)
{
        int status = backend->status;

        if (backend->ended && backend->out[0] < 0 && backend->out[1] < 0)
                exec_end(backend->exec,
                         WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status), NULL);
}

/* False at the end of the output. */
static bool read_some(Backend *backend, int i)
{
        char buffer[PIECE];

        for (int n = 0; n < READS_A_TURN && !backend->held; n++) {
                ssize_t got = read(backend->out[i], buffer, sizeof buffer);

                if (got < 0 && (errno == EINTR || errno == EAGAIN))
                        return errno == EINTR || !backend->ended; /* no other writer counts */
                if (got <= 0) /* EIO: the other side of a terminal is closed */
                        return false;
                exec_output(backend->exec, i + 1, buffer, (gsize)got);
        }
        return true;
}

static gboolean on_output(int fd, GIOCondition condition, gpointer arg)
{
        Backend *backend = arg;
        int i = fd == backend->out[0] ? 0 : 1;

        if (read_some(backend, i))
                return G_SOURCE_CONTINUE;
        drop(&backend->reader[i]);
        shut(&backend->out[i]);
        if (backend->kind == EXEC_PORT && i == 0)
                exec_output(backend->exec, 1, "", 0);
        finish(backend);
        return G_SOURCE_REMOVE;
}

static void listen_to(Backend *backend)
{
        for (int i = 0; i < OUTPUTS; i++) {
                drop(&backend->reader[i]);
                if (backend->out[i] >= 0 && !backend->held)
                        backend->reader[i] = watch(backend->context, backend->out[i], G_IO_IN | G_IO_HUP,
                                                   on_output, backend);
        }
}

/* Reads only what is available now. */
static void read_rest(Backend *backend)
{
        for (int i = 0; i < OUTPUTS; i++) {
                if (backend->out[i] < 0)
                        continue;
                while (!backend->held && read_some(backend, i))
                        ;
                if (backend->held)
                        return;
                drop(&backend->reader[i]);
                shut(&backend->out[i]);
        }
        finish(backend);
}

static gboolean on_end(int fd, GIOCondition condition, gpointer arg)
{
        Backend *backend = arg;

        backend->ended = waitpid(backend->process->pid, &backend->status, WNOHANG) == backend->process->pid;
        if (!backend->ended)
                return G_SOURCE_CONTINUE;
        drop(&backend->watcher);
        g_clear_pointer(&backend->process, process_free);
        drop(&backend->writer);
        read_rest(backend);
        return G_SOURCE_REMOVE;
}

/* ---- its input ---- */

static void write_more(Backend *backend);

static gboolean on_room(int fd, GIOCondition condition, gpointer arg)
{
        write_more(arg);
        return G_SOURCE_CONTINUE;
}

static void stop_input(Backend *backend)
{
        gsize left = backend->queued->len;

        drop(&backend->writer);
        shut(&backend->in);
        g_string_truncate(backend->queued, 0);
        if (left)
                exec_taken(backend->exec, left); /* accepted, but read by nothing */
}

static void write_more(Backend *backend)
{
        ssize_t done = 1;
        gsize taken = 0;

        while (taken < backend->queued->len &&
               (done = write(backend->in, backend->queued->str + taken, backend->queued->len - taken)) > 0)
                taken += (gsize)done;
        g_string_erase(backend->queued, 0, (gssize)taken);
        if (taken)
                exec_taken(backend->exec, taken);
        if (done < 0 && errno != EAGAIN && errno != EINTR) {
                stop_input(backend);
        } else if (backend->queued->len == 0) {
                drop(&backend->writer);
                if (backend->closing)
                        stop_input(backend);
        } else if (!backend->writer) {
                backend->writer = watch(backend->context, backend->in, G_IO_OUT | G_IO_HUP | G_IO_ERR,
                                        on_room, backend);
        }
}

static void write_input(RuntimeExec *exec, const char *data, gsize len)
{
        Backend *backend = exec_backend(exec);

        if (backend->in < 0 || backend->ended) {
                exec_taken(exec, len);
                return;
        }
        g_string_append_len(backend->queued, data, (gssize)len);
        write_more(backend);
}

/* The end of a terminal's input is a character. */
static void close_input(RuntimeExec *exec)
{
        Backend *backend = exec_backend(exec);

        if (backend->in < 0)
                return;
        if (backend->tty)
                g_string_append_c(backend->queued, '\x04');
        backend->closing = !backend->tty;
        write_more(backend);
}

static void resize(RuntimeExec *exec, int columns, int rows)
{
        Backend *backend = exec_backend(exec);
        struct winsize size = { .ws_col = (unsigned short)CLAMP(columns, 1, G_MAXUINT16),
                                .ws_row = (unsigned short)CLAMP(rows, 1, G_MAXUINT16) };

        if (backend->tty && backend->out[0] >= 0)
                (void)ioctl(backend->out[0], TIOCSWINSZ, &size); /* on failure it keeps the old size */
}

static void hold(RuntimeExec *exec, bool hold)
{
        Backend *backend = exec_backend(exec);

        backend->held = hold;
        if (backend->ended && !hold)
                read_rest(backend);
        else
                listen_to(backend);
}

/* ---- start and cancellation ---- */

static bool open_pipes(Backend *backend, int ret_theirs[3], GError **error)
{
        int input[2], output[2], errors[2];

        if (!g_unix_open_pipe(input, FD_CLOEXEC, error) || !g_unix_open_pipe(output, FD_CLOEXEC, error) ||
            !g_unix_open_pipe(errors, FD_CLOEXEC, error))
                return err_prefix(error, "no pipes for the command: ");
        backend->in = input[1];
        backend->out[0] = output[0];
        backend->out[1] = errors[0];
        ret_theirs[0] = input[0];
        ret_theirs[1] = output[1];
        ret_theirs[2] = errors[1];
        return true;
}

static bool open_terminal(Backend *backend, int ret_theirs[3], GError **error)
{
        char name[64]; /* /dev/pts/N */

        backend->out[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (backend->out[0] < 0 || grantpt(backend->out[0]) < 0 || unlockpt(backend->out[0]) < 0 ||
            ptsname_r(backend->out[0], name, sizeof name) != 0 ||
            (ret_theirs[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
                return err_set_errno(error, errno, "no terminal for the command");
        backend->in = fcntl(backend->out[0], F_DUPFD_CLOEXEC, 3);
        ret_theirs[1] = fcntl(ret_theirs[0], F_DUPFD_CLOEXEC, 3);
        ret_theirs[2] = fcntl(ret_theirs[0], F_DUPFD_CLOEXEC, 3);
        return true;
}

static void set_nonblocking(Backend *backend)
{
        const int fds[] = { backend->in, backend->out[0], backend->out[1] };

        for (gsize i = 0; i < G_N_ELEMENTS(fds); i++)
                if (fds[i] >= 0)
                        (void)g_unix_set_fd_nonblocking(fds[i], TRUE, NULL);
}

static bool spawn(Backend *backend, const Target *target, const ExecStart *start, const int theirs[3],
                  GError **error)
{
        static const char *const stream_words[][2] = { [EXEC_COMMAND] = { "pipe", "tty" },
                                                       [EXEC_TERMINAL] = { "relay", "relay" },
                                                       [EXEC_PORT] = { "relay", "relay" } };
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_autofree char *port = g_strdup_printf("%d", start->port);
        g_autofree char *parent = g_strdup_printf("%d", (int)getpid());
        GPid pid;
        const char *const head[] = { target->terminals->spawner,
                                     "enter",
                                     parent,
                                     target->pid,
                                     target->job,
                                     target->uid,
                                     target->gid,
                                     target->groups,
                                     target->sandboxed  ? "sandboxed"
                                     : target->confined ? "confined"
                                                        : "free",
                                     stream_words[start->kind][start->tty] };

        for (gsize i = 0; i < G_N_ELEMENTS(head); i++)
                g_ptr_array_add(argv, (char *)head[i]);
        if (start->kind == EXEC_TERMINAL)
                g_ptr_array_add(argv, "terminal");
        else if (start->kind == EXEC_PORT)
                g_ptr_array_add(argv, port);
        for (const char *const *word = start->argv; word && *word; word++)
                g_ptr_array_add(argv, (char *)*word);
        g_ptr_array_add(argv, NULL);
        if (!g_spawn_async_with_pipes_and_fds(NULL, (const char *const *)argv->pdata, NULL,
                                              G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, theirs[0], theirs[1],
                                              theirs[2], NULL, NULL, 0, &pid, NULL, NULL, NULL, error))
                return err_prefix(error, "the command does not start: ");
        backend->process = process_new(target, pid);
        return true;
}

static void backend_free(Backend *backend)
{
        for (int i = 0; i < OUTPUTS; i++) {
                drop(&backend->reader[i]);
                shut(&backend->out[i]);
        }
        drop(&backend->writer);
        drop(&backend->watcher);
        shut(&backend->in);
        g_clear_pointer(&backend->process, process_free);
        g_string_free(backend->queued, TRUE);
        g_free(backend);
}

static bool check_count(const Target *target, GError **error)
{
        if (count_of(target->terminals, target->task) < TERMINALS_MEMBER_MAX)
                return true;
        return err_set(error, ERR_UNAVAILABLE,
                       "the member has %d commands and connections beside it, which is the maximum\nEnd one "
                       "of them, or try again in some seconds if they have just ended.",
                       TERMINALS_MEMBER_MAX);
}

static bool start(RuntimeExec *exec, const ExecStart *start, void *arg, GError **error)
{
        const Target *target = arg;
        Backend *backend;
        int theirs[3] = { -1, -1, -1 };
        bool ok;

        if (!check_count(target, error))
                return false;
        backend = g_new0(Backend, 1);
        *backend = (Backend){ .exec = exec,
                              .context = target->terminals->context,
                              .in = -1,
                              .out = { -1, -1 },
                              .kind = start->kind,
                              .tty = start->tty,
                              .queued = g_string_new(NULL) };
        ok = (start->tty ? open_terminal(backend, theirs, error) : open_pipes(backend, theirs, error)) &&
             spawn(backend, target, start, theirs, error);
        for (gsize i = 0; i < G_N_ELEMENTS(theirs); i++)
                shut(&theirs[i]);
        if (!ok) {
                backend_free(backend);
                return false;
        }
        exec_set_backend(exec, backend);
        set_nonblocking(backend);
        if (start->columns > 0 && start->rows > 0)
                resize(exec, start->columns, start->rows);
        backend->watcher = watch(backend->context, backend->process->pidfd, G_IO_IN, on_end, backend);
        listen_to(backend);
        return true;
}

static gboolean reap(int fd, GIOCondition condition, gpointer arg)
{
        const Process *process = arg;

        return waitpid(process->pid, NULL, WNOHANG) == process->pid ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

/* The session is hung up, and killed some seconds later (agent/enter.h). */
static void stop(RuntimeExec *exec)
{
        Backend *backend = exec_backend(exec);
        Process *process = g_steal_pointer(&backend->process);
        GSource *source;

        if (process) {
                (void)kill(-process->pid, SIGHUP);
                source = g_unix_fd_source_new(process->pidfd, G_IO_IN);
                g_source_set_callback(source, G_SOURCE_FUNC(reap), process, process_free);
                g_source_attach(source, backend->context);
                g_source_unref(source);
        }
        backend_free(backend);
}

static const ExecOps ops = { start, write_input, close_input, resize, hold, stop };

/* ---- the thread ---- */

static void *run(void *arg)
{
        Terminals *terminals = arg;

        g_main_context_push_thread_default(terminals->context);
        g_main_loop_run(terminals->loop);
        exec_room_close(terminals->room);
        g_main_context_pop_thread_default(terminals->context);
        return NULL;
}

Terminals *terminals_new(const char *agent)
{
        Terminals *terminals = g_new0(Terminals, 1);
        g_autofree char *dir = g_path_get_dirname(agent ? agent : "");

        terminals->spawner = g_build_filename(dir, "paddle-spawner", NULL);
        terminals->counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        terminals->context = g_main_context_new();
        terminals->loop = g_main_loop_new(terminals->context, FALSE);
        terminals->room = exec_room_new(terminals->context);
        g_mutex_init(&terminals->mutex);
        return terminals;
}

static void start_thread(Terminals *terminals)
{
        sigset_t all, before;

        g_mutex_lock(&terminals->mutex);
        if (!terminals->thread) {
                sigfillset(&all); /* the main loop handles signals */
                pthread_sigmask(SIG_SETMASK, &all, &before);
                terminals->thread = g_thread_new("terminals", run, terminals);
                pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
        g_mutex_unlock(&terminals->mutex);
}

/* "10,20"; "=": those of the server */
static char *format_groups(const Identity *identity)
{
        GString *text = g_string_new(identity ? NULL : "=");

        for (guint i = 0; identity && i < identity->n_groups; i++)
                g_string_append_printf(text, "%s%u", i ? "," : "", identity->groups[i]);
        return g_string_free(text, FALSE);
}

RuntimeExec *terminals_exec(Terminals *terminals, const TerminalTarget *about, const ExecStart *start)
{
        const Owner owner = about->identity ? about->identity->owner : (Owner){ geteuid(), getegid() };
        Target *target = g_new0(Target, 1);

        *target = (Target){ .pid = g_strdup_printf("%d", about->pid),
                            .job = g_strdup(about->job),
                            .uid = g_strdup_printf("%u", owner.uid),
                            .gid = g_strdup_printf("%u", owner.gid),
                            .groups = format_groups(about->identity),
                            .task = g_strdup(about->task),
                            .confined = about->confined,
                            .sandboxed = about->sandboxed,
                            .terminals = terminals };
        start_thread(terminals);
        return exec_new(terminals->room, &ops, start, target, target_free);
}

static gboolean quit(gpointer arg)
{
        g_main_loop_quit(arg);
        return G_SOURCE_REMOVE;
}

void terminals_free(Terminals *terminals)
{
        if (!terminals)
                return;
        if (terminals->thread) {
                GSource *source = g_idle_source_new(); /* runs in the loop */

                g_source_set_callback(source, quit, terminals->loop, NULL);
                g_source_attach(source, terminals->context);
                g_source_unref(source);
                g_thread_join(terminals->thread);
        }
        exec_room_free(terminals->room);
        g_main_loop_unref(terminals->loop);
        g_main_context_unref(terminals->context); /* frees the remaining processes */
        g_hash_table_unref(terminals->counts);
        g_mutex_clear(&terminals->mutex);
        g_free(terminals->spawner);
        g_free(terminals);
}
