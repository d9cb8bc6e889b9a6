/* Commands in pods (see pod-terminal.h). Input that the connection has not taken yet waits in the client; it
 * counts as taken when nothing waits any more. */
#include "runtime/kubernetes/pod-terminal.h"

#include "base/err.h"
#include "base/timer.h"
#include "kube/exec.h"
#include "runtime/kubernetes/pod/gate.h"

/* A member cannot be told that the client has sent its end or is gone. After a long silence the connection ends
 * with an error, because the member may still have output. */
enum { SILENCE_MS = 10000 };

typedef struct {
        RuntimeExec *exec;
        KubeExec *kube;
        ExecKind kind;
        GMainContext *context;
        Timer *silence; /* of EXEC_PORT */
        bool closing, held;
        gsize written; /* not told as taken */
        bool writing;
} Backend;

TerminalPod *terminal_pod_copy(const TerminalPod *pod)
{
        TerminalPod *copy = g_memdup2(pod, sizeof *pod);

        copy->task = g_strdup(pod->task);
        return copy;
}

void terminal_pod_free(gpointer data)
{
        TerminalPod *pod = data;

        if (!pod)
                return;
        g_free(pod->task);
        g_free(pod);
}

static void on_silence(void *arg);

/* While output is held, silence says nothing. */
static void watch_silence(Backend *backend)
{
        if (backend->closing)
                timer_set(&backend->silence, backend->context, backend->held ? -1 : SILENCE_MS, on_silence,
                          backend);
}

static void hold_kube(Backend *backend, bool hold)
{
        backend->held = hold;
        watch_silence(backend);
        kube_exec_hold(backend->kube, hold);
}

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Backend *backend = arg;

        watch_silence(backend);
        exec_output(backend->exec, fd, data, len);
        if (exec_is_held(backend->exec))
                hold_kube(backend, true);
}

static void tell_taken(Backend *backend)
{
        gsize taken = backend->written;

        backend->written = 0;
        if (taken)
                exec_taken(backend->exec, taken);
}

static void on_drained(void *arg)
{
        Backend *backend = arg;

        if (!backend->writing)
                tell_taken(backend);
}

static void on_done(int status, const GError *error, void *arg)
{
        Backend *backend = arg;

        backend->kube = NULL;
        if (backend->kind == EXEC_PORT && !error)
                exec_output(backend->exec, 1, "", 0);
        exec_end(backend->exec, status, error);
}

static void on_silence(void *arg)
{
        const Backend *backend = arg;

        g_autoptr(GError) error = NULL;

        (void)err_set(&error, ERR_TIMEOUT,
                      "the client has ended its side, and the member has said nothing for %d s; "
                      "a cluster does not tell it that the client has ended",
                      SILENCE_MS / 1000);
        exec_end(backend->exec, -1, error);
}

static bool start(RuntimeExec *exec, const ExecStart *start, void *arg, GError **error)
{
        const TerminalPod *pod = arg;
        Backend *backend;
        KubeExecConfig config = { .argv = start->argv,
                                  .tty = start->tty,
                                  .input = true,
                                  .output = on_output,
                                  .drained = on_drained,
                                  .done = on_done };
        bool on_host;

        if (!pod->find(pod->arg, pod->task, &config.namespace, &config.pod, &config.container, &on_host))
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "the member's pod is not known yet, or was just deleted\nTry again in a moment.");
        if (start->kind == EXEC_PORT && on_host)
                return err_set(error, ERR_DENIED,
                               "the member's pod has its node's network, whose ports are not forwarded");
        if (start->kind == EXEC_TERMINAL)
                config.argv = gate_relay;
        if (start->kind == EXEC_PORT)
                config.port = start->port;
        backend = g_new0(Backend, 1);
        config.arg = backend;
        backend->exec = exec;
        backend->kind = start->kind;
        backend->context = pod->context;
        exec_set_backend(exec, backend);
        backend->kube = kube_exec(pod->client, &config);
        if (start->tty && start->columns > 0 && start->rows > 0)
                kube_exec_resize(backend->kube, start->columns, start->rows);
        return true;
}

static void write_input(RuntimeExec *exec, const char *data, gsize len)
{
        Backend *backend = exec_backend(exec);
        bool taken;

        backend->written += len;
        backend->writing = true;
        taken = kube_exec_write(backend->kube, data, len);
        backend->writing = false;
        if (!taken || kube_exec_unsent(backend->kube) == 0)
                tell_taken(backend); /* a command that reads no more takes all of it */
}

static void close_input(RuntimeExec *exec)
{
        Backend *backend = exec_backend(exec);

        backend->closing = backend->kind == EXEC_PORT;
        watch_silence(backend);
        kube_exec_close_input(backend->kube);
}

static void resize(RuntimeExec *exec, int columns, int rows)
{
        Backend *backend = exec_backend(exec);

        kube_exec_resize(backend->kube, columns, rows);
}

static void hold(RuntimeExec *exec, bool hold)
{
        hold_kube(exec_backend(exec), hold);
}

static void stop(RuntimeExec *exec)
{
        Backend *backend = exec_backend(exec);

        kube_exec_cancel(backend->kube);
        timer_clear(&backend->silence);
        g_free(backend);
}

const ExecOps terminal_pod_ops = { start, write_input, close_input, resize, hold, stop };
