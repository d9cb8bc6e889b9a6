/* Runs a program for its output (see process.h). It ends when the program ends (a pidfd), not when its pipes
 * are closed: its background processes may keep these open. */
#include "kube/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

enum { ERR_KEPT = 4096 /* bytes of the end of standard error */ };

enum { PIPE_OUT, PIPE_ERR, PIPES };

struct KubeProcess {
        KubeProcessConfig config;
        char *name;
        GPid pid; /* 0: did not start, or was reaped */
        int pidfd, fds[PIPES];
        GString *texts[PIPES];
        GSource *sources[PIPES], *exit, *timer;
        GError *error;
};

static void drop_source(GSource **source)
{
        if (!*source)
                return;
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
}

static void process_free(KubeProcess *process)
{
        for (int i = 0; i < PIPES; i++) {
                drop_source(&process->sources[i]);
                fd_close_p(&process->fds[i]);
                g_string_free(process->texts[i], TRUE);
        }
        drop_source(&process->exit);
        drop_source(&process->timer);
        fd_close_p(&process->pidfd);
        g_clear_error(&process->error);
        g_free(process->name);
        g_free(process);
}

void kube_process_cancel(KubeProcess *process)
{
        if (!process)
                return;
        if (process->pid) {
                kill(process->pid, SIGKILL);
                while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        process_free(process);
}

static void kill_for(KubeProcess *process, ErrCode code, const char *why)
{
        if (process->error)
                return;
        err_set(&process->error, code, "'%s' %s", process->name, why);
        if (process->pid) /* 0 would be our own group */
                kill(process->pid, SIGKILL);
}

static void keep(KubeProcess *process, int pipe, const char *data, gsize len)
{
        GString *text = process->texts[pipe];

        if (pipe == PIPE_OUT && len > process->config.out_max - text->len) {
                kill_for(process, ERR_TOO_LARGE, "printed too much");
                return;
        }
        g_string_append_len(text, data, (gssize)len);
        if (pipe == PIPE_ERR && text->len > ERR_KEPT)
                g_string_erase(text, 0, (gssize)(text->len - ERR_KEPT));
}

/* Reads all available bytes; false at the end. */
static bool drain(KubeProcess *process, int pipe)
{
        char buffer[4096];

        for (;;) {
                ssize_t got = read(process->fds[pipe], buffer, sizeof buffer);

                if (got > 0)
                        keep(process, pipe, buffer, (gsize)got);
                else if (got == 0 || (errno != EINTR && errno != EAGAIN))
                        return false;
                else if (errno == EAGAIN)
                        return true;
                if (process->error)
                        return false;
        }
}

static gboolean on_pipe(int fd, GIOCondition condition, void *arg)
{
        KubeProcess *process = arg;

        return drain(process, fd == process->fds[PIPE_OUT] ? PIPE_OUT : PIPE_ERR);
}

static void finish(KubeProcess *process, int wait_status)
{
        process->config.done(wait_status, process->texts[PIPE_OUT], process->texts[PIPE_ERR], process->error,
                             process->config.arg);
        process_free(process);
}

static gboolean on_exit_of(int fd, GIOCondition condition, void *arg)
{
        KubeProcess *process = arg;
        int status = 0;

        if (waitpid(process->pid, &status, WNOHANG) == 0)
                return G_SOURCE_CONTINUE;
        process->pid = 0;
        for (int i = 0; i < PIPES && !process->error; i++)
                (void)drain(process, i);
        finish(process, status);
        return G_SOURCE_REMOVE;
}

static gboolean on_late(void *arg)
{
        kill_for(arg, ERR_TIMEOUT, "took too long");
        return G_SOURCE_REMOVE;
}

static gboolean on_failed(void *arg)
{
        finish(arg, 0);
        return G_SOURCE_REMOVE;
}

static GSource *attach(const KubeProcess *process, GSource *source, GSourceFunc func)
{
        g_source_set_callback(source, func, (void *)process, NULL);
        g_source_attach(source, process->config.context);
        return source;
}

static bool spawn(KubeProcess *process)
{
        g_autoptr(GError) failed = NULL;
        GSpawnFlags flags = G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH | G_SPAWN_CLOEXEC_PIPES;

        if (!g_spawn_async_with_pipes(NULL, (char **)process->config.argv, (char **)process->config.envp,
                                      flags, NULL, NULL, &process->pid, NULL, &process->fds[PIPE_OUT],
                                      &process->fds[PIPE_ERR], &failed))
                return err_set(&process->error,
                               failed->code == G_SPAWN_ERROR_NOENT ? ERR_NOT_FOUND : ERR_FAILED,
                               "'%s' does not start: %s", process->name, failed->message);
        process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
        if (process->pidfd < 0) {
                err_set_errno(&process->error, errno, "cannot watch '%s'", process->name);
                kill(process->pid, SIGKILL);
                waitpid(process->pid, NULL, 0);
                process->pid = 0;
                return false;
        }
        return true;
}

KubeProcess *kube_process_start(const KubeProcessConfig *config)
{
        KubeProcess *process = g_new0(KubeProcess, 1);

        process->config = *config;
        process->name = g_strdup(config->argv[0]);
        process->pidfd = -1;
        for (int i = 0; i < PIPES; i++) {
                process->fds[i] = -1;
                process->texts[i] = g_string_new(NULL);
        }
        if (!spawn(process)) {
                process->timer = attach(process, g_idle_source_new(), on_failed);
                return process;
        }
        for (int i = 0; i < PIPES; i++) {
                (void)g_unix_set_fd_nonblocking(process->fds[i], TRUE, NULL);
                process->sources[i] =
                        attach(process, g_unix_fd_source_new(process->fds[i], G_IO_IN | G_IO_HUP),
                               G_SOURCE_FUNC(on_pipe));
        }
        process->exit =
                attach(process, g_unix_fd_source_new(process->pidfd, G_IO_IN), G_SOURCE_FUNC(on_exit_of));
        process->timer = attach(process, g_timeout_source_new((guint)config->timeout_ms), on_late);
        return process;
}
