/* Commands beside members (see exec.h). An order is a source of the room's context; sources of one priority
 * run in the order in which they were attached, so that orders of one caller keep theirs.
 *
 * `room` of a handle is guarded by the handle's mutex and NULL once it is done: what is ordered after that
 * goes nowhere. All else is the context's thread's. */
#include "runtime/exec.h"

#include "base/err.h"
#include "base/id.h"
#include "runtime/runtime.h"
#include "terminal/terminal.h"

struct ExecRoom {
        GMainContext *context;
        GMutex mutex;      /* of what follows; never taken with a handle's held */
        GHashTable *execs; /* set of RuntimeExec, a reference each */
        bool closed;
};

struct RuntimeExec {
        gatomicrefcount refs;
        GMutex mutex;
        ExecRoom *room;
        const ExecOps *ops;
        ExecStart start;
        char **argv;
        void *arg;
        GDestroyNotify free_arg;
        void *backend;
        bool over;
        gint held; /* atomic */
};

static const char closing[] = "the server stops, or the cluster is being reconnected";

typedef struct Order Order;
struct Order {
        RuntimeExec *exec;
        void (*run)(const Order *order);
        char *data;
        gsize len;
        int a, b;
};

/* ---- life ---- */

RuntimeExec *exec_ref(RuntimeExec *exec)
{
        g_atomic_ref_count_inc(&exec->refs);
        return exec;
}

void exec_unref(RuntimeExec *exec)
{
        if (!exec || !g_atomic_ref_count_dec(&exec->refs))
                return;
        if (exec->arg && exec->free_arg)
                exec->free_arg(exec->arg);
        g_strfreev(exec->argv);
        g_mutex_clear(&exec->mutex);
        g_free(exec);
}

void exec_end(RuntimeExec *exec, int status, const GError *error)
{
        ExecRoom *room;

        if (exec->over)
                return;
        exec->over = true;
        exec_ref(exec);
        g_mutex_lock(&exec->mutex);
        room = exec->room;
        exec->room = NULL;
        g_mutex_unlock(&exec->mutex);
        if (exec->backend)
                exec->ops->stop(exec);
        exec->backend = NULL;
        exec->start.done(status, error, exec->start.arg);
        g_mutex_lock(&room->mutex);
        g_hash_table_remove(room->execs, exec);
        g_mutex_unlock(&room->mutex);
        exec_unref(exec);
}

static void end_with(RuntimeExec *exec, ErrCode code, const char *why)
{
        g_autoptr(GError) error = NULL;

        err_set(&error, code, "%s", why);
        exec_end(exec, -1, error);
}

/* ---- orders ---- */

static void order_free(gpointer data)
{
        Order *order = data;

        exec_unref(order->exec);
        g_free(order->data);
        g_free(order);
}

static gboolean run_order(gpointer data)
{
        const Order *order = data;

        if (!order->exec->over)
                order->run(order);
        return G_SOURCE_REMOVE;
}

static void give(RuntimeExec *exec, const Order *order)
{
        Order *own = g_memdup2(order, sizeof *order);
        GSource *source = g_idle_source_new();

        own->exec = exec_ref(exec);
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, run_order, own, order_free);
        g_mutex_lock(&exec->mutex);
        if (exec->room)
                g_source_attach(source, exec->room->context);
        g_mutex_unlock(&exec->mutex);
        g_source_unref(source);
}

static void run_start(const Order *order)
{
        RuntimeExec *exec = order->exec;
        g_autoptr(GError) error = NULL;

        if (!exec->ops->start(exec, &exec->start, exec->arg, &error))
                exec_end(exec, -1, error);
}

static void run_write(const Order *order)
{
        order->exec->ops->write(order->exec, order->data, order->len);
}

static void run_close_input(const Order *order)
{
        order->exec->ops->close_input(order->exec);
}

static void run_resize(const Order *order)
{
        order->exec->ops->resize(order->exec, order->a, order->b);
}

static void run_hold(const Order *order)
{
        order->exec->ops->hold(order->exec, order->a);
}

static void run_cancel(const Order *order)
{
        end_with(order->exec, ERR_UNAVAILABLE, "it was given up");
}

void exec_write(RuntimeExec *exec, const char *data, gsize len)
{
        give(exec, &(Order){ .run = run_write, .data = g_memdup2(data, len), .len = len });
}

void exec_close_input(RuntimeExec *exec)
{
        give(exec, &(Order){ .run = run_close_input });
}

void exec_resize(RuntimeExec *exec, int columns, int rows)
{
        give(exec, &(Order){ .run = run_resize, .a = columns, .b = rows });
}

void exec_hold(RuntimeExec *exec, bool hold)
{
        g_atomic_int_set(&exec->held, hold);
        give(exec, &(Order){ .run = run_hold, .a = hold });
}

void exec_cancel(RuntimeExec *exec)
{
        give(exec, &(Order){ .run = run_cancel });
}

/* False: nobody will run it. */
static bool enter(ExecRoom *room, RuntimeExec *exec)
{
        g_mutex_lock(&room->mutex);
        g_hash_table_add(room->execs, exec_ref(exec));
        bool open = !room->closed;
        g_mutex_unlock(&room->mutex);
        return open;
}

RuntimeExec *exec_new(ExecRoom *room, const ExecOps *ops, const ExecStart *start, void *arg,
                      GDestroyNotify free_arg)
{
        RuntimeExec *exec = g_new0(RuntimeExec, 1);

        g_atomic_ref_count_init(&exec->refs);
        g_mutex_init(&exec->mutex);
        exec->room = room;
        exec->ops = ops;
        exec->start = *start;
        exec->argv = g_strdupv((char **)start->argv); /* NULL of NULL */
        exec->start.argv = (const char *const *)exec->argv;
        exec->arg = arg;
        exec->free_arg = free_arg;
        if (enter(room, exec))
                give(exec, &(Order){ .run = run_start });
        else
                end_with(exec, ERR_UNAVAILABLE, closing);
        return exec;
}

char *exec_terminal_variable(void)
{
        char word[ID_LEN + 1];

        id_new(word);
        return g_strconcat(TERMINAL_VARIABLE "=", word, NULL);
}

/* ---- for drivers ---- */

void exec_set_backend(RuntimeExec *exec, void *backend)
{
        exec->backend = backend;
}

void *exec_backend(const RuntimeExec *exec)
{
        return exec->backend;
}

void exec_output(RuntimeExec *exec, int fd, const char *data, gsize len)
{
        if (!exec->over)
                exec->start.output(fd, data, len, exec->start.arg);
}

bool exec_is_held(const RuntimeExec *exec)
{
        return g_atomic_int_get(&exec->held);
}

void exec_taken(RuntimeExec *exec, gsize len)
{
        if (!exec->over)
                exec->start.taken(len, exec->start.arg);
}

/* ---- rooms ---- */

ExecRoom *exec_room_new(GMainContext *context)
{
        ExecRoom *room = g_new0(ExecRoom, 1);

        room->context = g_main_context_ref(context);
        g_mutex_init(&room->mutex);
        room->execs = g_hash_table_new_full(g_direct_hash, g_direct_equal, (GDestroyNotify)exec_unref, NULL);
        return room;
}

void exec_room_close(ExecRoom *room)
{
        g_autoptr(GList) list = NULL;

        g_mutex_lock(&room->mutex);
        room->closed = true;
        list = g_hash_table_get_keys(room->execs);
        g_mutex_unlock(&room->mutex);
        for (GList *at = list; at; at = at->next)
                end_with(at->data, ERR_UNAVAILABLE, closing);
}

void exec_room_free(ExecRoom *room)
{
        if (!room)
                return;
        g_hash_table_unref(room->execs);
        g_mutex_clear(&room->mutex);
        g_main_context_unref(room->context);
        g_free(room);
}
