/* The played runtime (see script.h). The engine's thread calls, the test's thread says and asks. */
#include "engine/test/script.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/queue.h"

enum { FIRST_PORT = 20000, WAIT_MS = 60000 };

typedef struct {
        char **env;
        char *ready_file, *wait_for;
        int ready_port, together;
} Started;

struct Script {
        Runtime runtime; /* first: what the engine holds */
        RuntimeOps ops;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        Resources total;
        GPtrArray *nodes; /* RuntimeNode; NULL: it is one machine */
        GPtrArray *lines;
        GHashTable *started; /* task → Started */
        GHashTable *leases;  /* job → count */
        int ports, leased, asked_prepared;
        bool prepared, at_once;
        Resources builder; /* 0: builds are not counted */
        char *address;     /* or NULL */
        ObserveFunc observe;
        void *arg;
};

static Script *of(Runtime *runtime)
{
        return (Script *)runtime;
}

static void G_GNUC_PRINTF(2, 3) add_line(Script *script, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        pthread_mutex_lock(&script->lock);
        g_ptr_array_add(script->lines, g_strdup_vprintf(format, args));
        pthread_cond_broadcast(&script->changed);
        pthread_mutex_unlock(&script->lock);
        va_end(args);
}

/* ---- what the engine calls ---- */

static bool script_open(Runtime *runtime, ObserveFunc observe, void *arg, GError **error)
{
        of(runtime)->observe = observe;
        of(runtime)->arg = arg;
        return true;
}

static void script_close(Runtime *runtime)
{
        of(runtime)->observe = NULL;
}

static void script_inventory(Runtime *runtime, Resources *ret_total)
{
        *ret_total = of(runtime)->total;
}

static void free_node(gpointer node)
{
        runtime_node_free(node);
}

static GPtrArray *script_list_nodes(Runtime *runtime)
{
        Script *script = of(runtime);
        GPtrArray *list = g_ptr_array_new_with_free_func(free_node);

        pthread_mutex_lock(&script->lock);
        for (guint i = 0; i < script->nodes->len; i++)
                g_ptr_array_add(list, runtime_node_copy(script->nodes->pdata[i]));
        pthread_mutex_unlock(&script->lock);
        return list;
}

static char *script_address(Runtime *runtime, const RuntimeAttempt *attempt, const char *role, int index)
{
        return g_strdup(of(runtime)->address ? of(runtime)->address : "127.0.0.1");
}

static void script_prepare(Runtime *runtime, const RuntimeAttempt *attempt)
{
        add_line(of(runtime), "prepare %s", attempt->job->id);
}

static void script_abandon(Runtime *runtime, const char *job_id)
{
        add_line(of(runtime), "abandon %s", job_id);
}

static void script_prepare_image(Runtime *runtime, const RuntimeAttempt *attempt)
{
        add_line(of(runtime), "image %s", attempt->job->id);
}

static void script_abandon_image(Runtime *runtime, const char *job_id)
{
        add_line(of(runtime), "abandon-image %s", job_id);
}

static bool script_is_prepared(Runtime *runtime, const RuntimeAttempt *attempt)
{
        Script *script = of(runtime);
        bool prepared;

        pthread_mutex_lock(&script->lock);
        prepared = script->prepared;
        script->asked_prepared++;
        pthread_mutex_unlock(&script->lock);
        return prepared;
}

static bool script_prepare_wants(Runtime *runtime, const RuntimeAttempt *attempt, Resources *ret_wants)
{
        Script *script = of(runtime);

        pthread_mutex_lock(&script->lock);
        *ret_wants = script->builder;
        pthread_mutex_unlock(&script->lock);
        return attempt->job->spec->requirements && !resources_is_zero(ret_wants);
}

static bool script_lease(Runtime *runtime, const char *job_id, int n, int extra, int *ret_ports,
                         GError **error)
{
        Script *script = of(runtime);
        bool fits;

        n += extra;
        pthread_mutex_lock(&script->lock);
        fits = script->leased + n <= script->ports;
        if (fits) {
                for (int i = 0; i < n; i++)
                        ret_ports[i] = FIRST_PORT + script->leased + i;
                script->leased += n;
                g_hash_table_insert(script->leases, g_strdup(job_id), GINT_TO_POINTER(n));
        }
        pthread_mutex_unlock(&script->lock);
        if (!fits)
                return err_set(error, ERR_UNAVAILABLE, "no ports left");
        add_line(script, "lease %s %d", job_id, n);
        return true;
}

static void script_keep(Runtime *runtime, const char *job_id, int n, const int *ports)
{
        add_line(of(runtime), "keep %s %d", job_id, n);
}

static void script_release(Runtime *runtime, const char *job_id)
{
        Script *script = of(runtime);

        pthread_mutex_lock(&script->lock);
        script->leased -= GPOINTER_TO_INT(g_hash_table_lookup(script->leases, job_id));
        g_hash_table_remove(script->leases, job_id);
        pthread_mutex_unlock(&script->lock);
        add_line(script, "release %s", job_id);
}

static void started_free(gpointer data)
{
        Started *started = data;

        g_strfreev(started->env);
        g_free(started->ready_file);
        g_free(started->wait_for);
        g_free(started);
}

/* How many of these, which are sorted by role, are of the role of the first. */
static int count_role(const TaskStart *members, int n)
{
        gsize len = (gsize)(strrchr(members[0].task, '.') - members[0].task) + 1;
        int count = 1;

        while (count < n && strncmp(members[count].task, members[0].task, len) == 0)
                count++;
        return count;
}

static void start_member(Script *script, const TaskStart *task, int together)
{
        Started *started = g_new0(Started, 1);

        started->env = g_strdupv((char **)task->env);
        started->ready_file = g_strdup(task->ready_file);
        started->ready_port = task->ready_port;
        started->wait_for = task->wait_for ? g_strjoinv(" ", (char **)task->wait_for) : g_strdup("");
        started->together = together;
        pthread_mutex_lock(&script->lock);
        g_hash_table_insert(script->started, g_strdup(task->task), started);
        pthread_mutex_unlock(&script->lock);
        add_line(script, "start %s", task->task);
        if (script->at_once)
                script_say_kind(script, OBSERVED_STARTED, task->task);
}

static void script_start(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n)
{
        while (n > 0) {
                int together = count_role(members, n);

                for (int i = 0; i < together; i++)
                        start_member(of(runtime), &members[i], together);
                members += together;
                n -= together;
        }
}

static void script_stop(Runtime *runtime, const char *const *tasks, int n, gint64 grace_ms)
{
        for (int i = 0; i < n; i++)
                add_line(of(runtime), "stop %s %" G_GINT64_FORMAT, tasks[i], grace_ms);
}

static void script_signal(Runtime *runtime, const char *task, int signo)
{
        add_line(of(runtime), "signal %s %d", task, signo);
}

static bool script_usage(Runtime *runtime, const char *task, TaskUsage *ret)
{
        return false;
}

static void script_forget(Runtime *runtime, const char *task)
{
        add_line(of(runtime), "forget %s", task);
}

static void script_clean(Runtime *runtime, const char *job_id, int attempt, gint64 expires)
{
        if (expires)
                add_line(of(runtime), "clean %s %d at %" G_GINT64_FORMAT, job_id, attempt, expires);
        else
                add_line(of(runtime), "clean %s %d", job_id, attempt);
}

static char *script_log_path(Runtime *runtime, const char *job_id, int attempt, const char *role, int index)
{
        return g_strdup_printf("/logs/%s/%d/%s-%d", job_id, attempt, role, index);
}

/* Answers with what it was asked for. */
static void script_ask(Runtime *runtime, RuntimeAsk *ask)
{
        g_autoptr(json_t) object = json_pack("{s:s, s:s}", "kind", ask->kind, "name", ask->name);

        add_line(of(runtime), "ask %s %s", ask->kind, ask->name);
        runtime_ask_answer(ask, object, NULL);
}

static void script_queues(Runtime *runtime, const GPtrArray *queues)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (guint i = 0; i < queues->len; i++)
                g_string_append_printf(names, " %s", ((const Queue *)queues->pdata[i])->object.name);
        add_line(of(runtime), "queues%s", names->str);
}

static const RuntimePreparation script_environment = { .prepare = script_prepare,
                                                       .wants = script_prepare_wants,
                                                       .abandon = script_abandon,
                                                       .is_prepared = script_is_prepared };
static const RuntimePreparation script_image = { .prepare = script_prepare_image,
                                                 .abandon = script_abandon_image,
                                                 .is_prepared = script_is_prepared };

static const RuntimeOps script_ops = {
        .name = "script",
        .open = script_open,
        .close = script_close,
        .inventory = script_inventory,
        .address = script_address,
        .preparations = { [PREPARE_ENVIRONMENT] = &script_environment },
        .lease_ports = script_lease,
        .keep_ports = script_keep,
        .release_ports = script_release,
        .start = script_start,
        .stop = script_stop,
        .signal = script_signal,
        .usage = script_usage,
        .forget = script_forget,
        .clean = script_clean,
        .log_path = script_log_path,
        .ask = script_ask,
        .queues = script_queues,
};

/* ---- what the test says and asks ---- */

void script_say(Script *script, const Observation *said)
{
        Observation *observation = g_memdup2(said, sizeof *said);

        observation->text = g_strdup(said->text);
        observation->note = g_strdup(said->note);
        observation->last_line = g_strdup(said->last_line);
        script->observe(observation, script->arg);
}

void script_say_kind(Script *script, ObservationKind kind, const char *task)
{
        Observation said = { .kind = kind, .exit_code = -1, .pid = 7 };

        g_strlcpy(said.task, task ? task : "", sizeof said.task);
        script_say(script, &said);
}

void script_say_exit(Script *script, const char *task, int exit_code, int signal, bool oom)
{
        Observation said = { .kind = OBSERVED_EXITED,
                             .exit_code = exit_code,
                             .signal = signal,
                             .oom = oom,
                             .cpu_us = 1000,
                             .peak_memory = 4096 };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(script, &said);
}

int script_asked_prepared(Script *script)
{
        int n;

        pthread_mutex_lock(&script->lock);
        n = script->asked_prepared;
        pthread_mutex_unlock(&script->lock);
        return n;
}

/* Of the lines from number `from` on. */
static int count(const Script *script, const char *prefix, guint from)
{
        int n = 0;

        for (guint i = from; i < script->lines->len; i++)
                n += g_str_has_prefix(g_ptr_array_index(script->lines, i), prefix);
        return n;
}

int script_count(Script *script, const char *prefix)
{
        int n;

        pthread_mutex_lock(&script->lock);
        n = count(script, prefix, 0);
        pthread_mutex_unlock(&script->lock);
        return n;
}

static void complain(const Script *script, const char *prefix)
{
        for (guint i = 0; i < script->lines->len; i++)
                g_printerr("# %s\n", (const char *)g_ptr_array_index(script->lines, i));
        g_error("waited in vain for '%s'", prefix);
}

void script_wait(Script *script, const char *prefix, int n)
{
        gint64 until_ms = clock_monotonic_ms() + WAIT_MS;
        struct timespec until = { .tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000 };
        guint looked_at;

        pthread_mutex_lock(&script->lock);
        for (n -= count(script, prefix, 0); n > 0; n -= count(script, prefix, looked_at)) {
                looked_at = script->lines->len;
                if (pthread_cond_timedwait(&script->changed, &script->lock, &until) != 0)
                        complain(script, prefix);
        }
        pthread_mutex_unlock(&script->lock);
}

GPtrArray *script_lines(Script *script, const char *prefix)
{
        GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

        pthread_mutex_lock(&script->lock);
        for (guint i = 0; i < script->lines->len; i++)
                if (g_str_has_prefix(g_ptr_array_index(script->lines, i), prefix))
                        g_ptr_array_add(lines, g_strdup(g_ptr_array_index(script->lines, i)));
        pthread_mutex_unlock(&script->lock);
        return lines;
}

GPtrArray *script_take(Script *script)
{
        GPtrArray *lines;

        pthread_mutex_lock(&script->lock);
        lines = script->lines;
        script->lines = g_ptr_array_new_with_free_func(g_free);
        pthread_mutex_unlock(&script->lock);
        return lines;
}

void script_reset(Script *script)
{
        pthread_mutex_lock(&script->lock);
        g_ptr_array_set_size(script->lines, 0);
        pthread_mutex_unlock(&script->lock);
}

void script_total(Script *script, const Resources *total)
{
        script->total = *total;
}

void script_nodes(Script *script, const RuntimeNode *nodes, int n)
{
        GPtrArray *list = g_ptr_array_new_with_free_func(free_node);

        for (int i = 0; i < n; i++)
                g_ptr_array_add(list, runtime_node_copy(&nodes[i]));
        pthread_mutex_lock(&script->lock);
        g_clear_pointer(&script->nodes, g_ptr_array_unref);
        script->nodes = list;
        script->ops.nodes = script_list_nodes;
        pthread_mutex_unlock(&script->lock);
}

void script_address_is(Script *script, const char *address)
{
        script->address = g_strdup(address);
}

void script_prepared(Script *script, bool prepared)
{
        pthread_mutex_lock(&script->lock);
        script->prepared = prepared;
        pthread_mutex_unlock(&script->lock);
}

void script_makes(Script *script, bool environment, bool image)
{
        script->ops.preparations[PREPARE_ENVIRONMENT] = environment ? &script_environment : NULL;
        script->ops.preparations[PREPARE_IMAGE] = image ? &script_image : NULL;
}

void script_builder(Script *script, const Resources *wants)
{
        pthread_mutex_lock(&script->lock);
        script->builder = *wants;
        pthread_mutex_unlock(&script->lock);
}

void script_ports(Script *script, int n)
{
        pthread_mutex_lock(&script->lock);
        script->ports = n;
        pthread_mutex_unlock(&script->lock);
}

void script_gates(Script *script, bool gates)
{
        script->ops.gates = gates;
}

static bool yes(Runtime *runtime, const RuntimeAttempt *attempt)
{
        return true;
}

void script_orders(Script *script, bool orders)
{
        script->ops.orders = orders ? yes : NULL;
}

void script_starts_at_once(Script *script, bool at_once)
{
        script->at_once = at_once;
}

char *script_variable(Script *script, const char *task, const char *name)
{
        const Started *started;
        char *value = NULL;

        pthread_mutex_lock(&script->lock);
        started = g_hash_table_lookup(script->started, task);
        if (started)
                value = g_strdup(g_environ_getenv(started->env, name));
        pthread_mutex_unlock(&script->lock);
        return value;
}

int script_ready_port(Script *script, const char *task)
{
        const Started *started;
        int port;

        pthread_mutex_lock(&script->lock);
        started = g_hash_table_lookup(script->started, task);
        port = started ? started->ready_port : -1;
        pthread_mutex_unlock(&script->lock);
        return port;
}

char *script_ready_file(Script *script, const char *task)
{
        const Started *started;
        char *file;

        pthread_mutex_lock(&script->lock);
        started = g_hash_table_lookup(script->started, task);
        file = started ? g_strdup(started->ready_file) : NULL;
        pthread_mutex_unlock(&script->lock);
        return file;
}

char *script_waits_for(Script *script, const char *task)
{
        const Started *started;
        char *addresses;

        pthread_mutex_lock(&script->lock);
        started = g_hash_table_lookup(script->started, task);
        addresses = started ? g_strdup(started->wait_for) : NULL;
        pthread_mutex_unlock(&script->lock);
        return addresses;
}

int script_together(Script *script, const char *task)
{
        const Started *started;
        int together;

        pthread_mutex_lock(&script->lock);
        started = g_hash_table_lookup(script->started, task);
        together = started ? started->together : -1;
        pthread_mutex_unlock(&script->lock);
        return together;
}

int script_leased(Script *script)
{
        int leased;

        pthread_mutex_lock(&script->lock);
        leased = script->leased;
        pthread_mutex_unlock(&script->lock);
        return leased;
}

Script *script_new(const Resources *total)
{
        Script *script = g_new0(Script, 1);
        pthread_condattr_t attr;

        script->ops = script_ops;
        script->runtime.ops = &script->ops;
        pthread_mutex_init(&script->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&script->changed, &attr);
        pthread_condattr_destroy(&attr);
        script->total = *total;
        script->lines = g_ptr_array_new_with_free_func(g_free);
        script->started = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, started_free);
        script->leases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        script->ports = 1000;
        script->prepared = true;
        return script;
}

void script_free(Script *script)
{
        g_clear_pointer(&script->nodes, g_ptr_array_unref);
        g_ptr_array_unref(script->lines);
        g_hash_table_unref(script->started);
        g_hash_table_unref(script->leases);
        g_free(script->address);
        pthread_cond_destroy(&script->changed);
        pthread_mutex_destroy(&script->lock);
        g_free(script);
}

Runtime *script_runtime(Script *script)
{
        return &script->runtime;
}
