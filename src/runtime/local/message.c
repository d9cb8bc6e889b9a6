/* The lines between server and agent (see message.h). They are written directly into a GString, since there
 * may be a thousand starts a second; jansson parses them, since the other side is not trusted. */
#include "runtime/local/message.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"

enum { SANDBOX_WORDS_MAX = 100 };

static void add_string(GString *out, const char *name, const char *value)
{
        g_string_append_printf(out, ",\"%s\":", name);
        if (value)
                json_quote(out, value);
        else
                g_string_append(out, "null");
}

static void add_list(GString *out, const char *name, const char *const *values)
{
        g_string_append_printf(out, ",\"%s\":[", name);
        for (const char *const *value = values; value && *value; value++) {
                if (value != values)
                        g_string_append_c(out, ',');
                json_quote(out, *value);
        }
        g_string_append_c(out, ']');
}

static void add_number(GString *out, const char *name, gint64 value)
{
        g_string_append_printf(out, ",\"%s\":%" G_GINT64_FORMAT, name, value);
}

static void begin(GString *out, const char *op)
{
        g_string_append_printf(out, "{\"op\":\"%s\"", op);
}

static void end(GString *out)
{
        g_string_append(out, "}\n");
}

void message_hello(GString *out, gint64 epoch, const char *egress)
{
        begin(out, "hello");
        add_number(out, "epoch", epoch);
        if (egress)
                g_string_append_printf(out, ",\"egress\":%s", egress);
        end(out);
}

static void add_identity(GString *out, const Identity *identity)
{
        add_number(out, "uid", identity->owner.uid);
        add_number(out, "gid", identity->owner.gid);
        g_string_append(out, ",\"groups\":[");
        for (guint i = 0; i < identity->n_groups; i++)
                g_string_append_printf(out, "%s%u", i ? "," : "", identity->groups[i]);
        g_string_append_c(out, ']');
}

static const struct {
        SandboxParts part;
        const char *word;
} parts[] = {
        { PART_PIDS, "pids" },       { PART_IPC, "ipc" },     { PART_FILES, "files" },
        { PART_NETWORK, "network" }, { PART_CALLS, "calls" }, { PART_RIGHTS, "rights" },
};

char *sandbox_words(guint wanted)
{
        GString *text = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (wanted & parts[i].part)
                        g_string_append_printf(text, "%s%s", text->len ? ", " : "", parts[i].word);
        return g_string_free(text, FALSE);
}

static void add_sandbox(GString *out, const Sandbox *sandbox)
{
        const char *words[G_N_ELEMENTS(parts) + 1];
        gsize n = 0;

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (sandbox->parts & parts[i].part)
                        words[n++] = parts[i].word;
        words[n] = NULL;
        add_list(out, "sandbox", words);
        if (sandbox->place)
                add_string(out, "place", sandbox->place);
        if (sandbox->keep)
                add_list(out, "keep", sandbox->keep);
        if (sandbox->keep_read_only)
                add_number(out, "keep_read_only", sandbox->keep_read_only);
        if (sandbox->egress)
                g_string_append(out, ",\"egress\":true");
        if (sandbox->shared)
                g_string_append(out, ",\"shared\":true");
}

/* The file system, its root, the directory in it, the path, and "ro" or "rw", of each. */
static void add_mounts(GString *out, const TaskMount *mounts, int n)
{
        g_string_append(out, ",\"mounts\":[");
        for (int i = 0; i < n; i++) {
                const char *const words[] = { mounts[i].fs, mounts[i].root, mounts[i].sub, mounts[i].path,
                                              mounts[i].read_only ? "ro" : "rw" };

                for (gsize word = 0; word < G_N_ELEMENTS(words); word++) {
                        if (i > 0 || word > 0)
                                g_string_append_c(out, ',');
                        json_quote(out, words[word]);
                }
        }
        g_string_append_c(out, ']');
}

static void add_denied(GString *out, const Sandbox *sandbox)
{
        const char *separator = "";

        add_number(out, "denied_major", sandbox->denied_major);
        g_string_append(out, ",\"denied_minors\":[");
        for (guint minor = 0; minor < 64; minor++) {
                if (!(sandbox->denied_minors >> minor & 1))
                        continue;
                g_string_append_printf(out, "%s%u", separator, minor);
                separator = ",";
        }
        g_string_append_c(out, ']');
}

void message_start(GString *out, const TaskStart *task, const Identity *identity, const Sandbox *sandbox)
{
        begin(out, "start");
        add_string(out, "task", task->task);
        add_list(out, "argv", (const char *const *)task->argv);
        add_list(out, "env", (const char *const *)task->env);
        add_string(out, "dir", task->dir);
        add_string(out, "log", task->log);
        add_string(out, "banner", task->log_banner);
        add_number(out, "cpu_milli", task->limits.cpu_milli);
        add_number(out, "cpu_weight_milli", task->cpu_weight_milli);
        add_number(out, "memory", task->limits.memory);
        add_number(out, "processes", task->max_processes);
        if (task->user > 0) {
                add_number(out, "user", task->user);
                add_number(out, "user_processes", task->user_processes);
        }
        add_number(out, "log_bytes", task->log_limit);
        add_number(out, "grace_ms", task->grace_ms);
        add_number(out, "ready_port", task->ready_port);
        add_number(out, "ready_port_other", task->ready_port_other);
        add_string(out, "ready_file", task->ready_file);
        if (task->progress)
                add_string(out, "progress", task->progress);
        add_list(out, "binds", task->binds);
        if (task->proxy)
                add_list(out, "proxy", task->proxy);
        if (task->n_mounts > 0)
                add_mounts(out, task->mounts, task->n_mounts);
        if (task->tty) {
                g_string_append(out, ",\"tty\":true");
                add_number(out, "hangup_ms", task->hangup_ms);
        }
        if (task->new_privileges)
                g_string_append(out, ",\"new_privileges\":true");
        if (sandbox && (sandbox->parts || sandbox->egress))
                add_sandbox(out, sandbox);
        if (sandbox && sandbox->denied_minors)
                add_denied(out, sandbox);
        if (identity)
                add_identity(out, identity);
        end(out);
}

void message_stop(GString *out, const char *task, gint64 grace_ms)
{
        begin(out, "stop");
        add_string(out, "task", task);
        add_number(out, "grace_ms", grace_ms);
        end(out);
}

void message_signal(GString *out, const char *task, int signo)
{
        begin(out, "signal");
        add_string(out, "task", task);
        add_number(out, "signal", signo);
        end(out);
}

void message_forget(GString *out, const char *task)
{
        begin(out, "forget");
        add_string(out, "task", task);
        end(out);
}

static const struct {
        const char *op;
        MessageKind kind;
        ObservationKind observed;
        bool names_task;
} words[] = {
        { "hello", MESSAGE_HELLO, 0, false },
        { "refused", MESSAGE_REFUSED, 0, false },
        { "started", MESSAGE_OBSERVATION, OBSERVED_STARTED, true },
        { "ready", MESSAGE_OBSERVATION, OBSERVED_READY, true },
        { "exited", MESSAGE_OBSERVATION, OBSERVED_EXITED, true },
        { "failed", MESSAGE_OBSERVATION, OBSERVED_START_FAILED, true },
        { "lost", MESSAGE_OBSERVATION, OBSERVED_LOST, true },
        { "synced", MESSAGE_OBSERVATION, OBSERVED_SYNCED, false },
};

static bool read_task(const json_t *object, Observation *observation, GError **error)
{
        const char *task = NULL;

        if (!json_get_string(object, "", "task", TASK_NAME_MAX, &task, error))
                return false;
        if (!task)
                return err_set(error, ERR_INVALID, "the report names no task");
        g_strlcpy(observation->task, task, sizeof observation->task);
        return true;
}

static bool read_observation(const json_t *object, Observation *observation, GError **error)
{
        gint64 pid = 0, exit_code = -1, signal = 0;
        const char *text = NULL;

        if (!json_get_int(object, "", "pid", 0, G_MAXINT, &pid, error) ||
            !json_get_int(object, "", "exit_code", -1, 255, &exit_code, error) ||
            !json_get_int(object, "", "signal", 0, 128, &signal, error) ||
            !json_get_bool(object, "", "oom", &observation->oom, error) ||
            !json_get_bool(object, "", "permanent", &observation->permanent, error) ||
            !json_get_bool(object, "", "no_space", &observation->no_space, error) ||
            !json_get_int(object, "", "time", 0, G_MAXINT64, &observation->time, error) ||
            !json_get_int(object, "", "peak_memory", 0, G_MAXINT64, &observation->peak_memory, error) ||
            !json_get_int(object, "", "cpu_us", 0, G_MAXINT64, &observation->cpu_us, error) ||
            !json_get_string(object, "", "text", MESSAGE_MAX, &text, error))
                return false;
        observation->pid = (int)pid;
        observation->exit_code = (int)exit_code;
        observation->signal = (int)signal;
        observation->text = g_strdup(text);
        return true;
}

/* Unknown words of a newer agent are skipped. */
static bool read_sandbox(const json_t *object, guint *ret, GError **error)
{
        json_t *list = NULL, *item;
        gsize i;

        if (!json_get_array(object, "", "sandbox", SANDBOX_WORDS_MAX, &list, error))
                return false;
        json_array_foreach(list, i, item) {
                for (gsize at = 0; at < G_N_ELEMENTS(parts); at++)
                        if (g_strcmp0(json_string_value(item), parts[at].word) == 0)
                                *ret |= parts[at].part;
        }
        return true;
}

bool message_parse(const char *line, gsize len, Message *ret, GError **error)
{
        g_autoptr(json_t) object = json_parse(line, len, error);
        Message message = { .kind = MESSAGE_OTHER };
        const char *op = NULL, *egress = NULL;

        if (!object)
                return false;
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "the line is not a JSON object");
        if (!json_get_string(object, "", "op", 64, &op, error) ||
            !json_get_int(object, "", "epoch", 0, G_MAXINT64, &message.epoch, error) ||
            !json_get_bool(object, "", "users", &message.users, error) ||
            !json_get_bool(object, "", "devices", &message.devices, error) ||
            !read_sandbox(object, &message.sandbox, error) ||
            !json_get_string(object, "", "egress", MESSAGE_MAX, &egress, error))
                return false;
        if (!op)
                return err_set(error, ERR_INVALID, "the line has no 'op'");
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
                if (strcmp(words[i].op, op) != 0)
                        continue;
                message.kind = words[i].kind;
                if (message.kind != MESSAGE_OBSERVATION)
                        break;
                message.observation = g_new0(Observation, 1);
                message.observation->kind = words[i].observed;
                if ((words[i].names_task && !read_task(object, message.observation, error)) ||
                    !read_observation(object, message.observation, error)) {
                        observation_free(message.observation);
                        return false;
                }
        }
        message.egress = g_strdup(egress);
        *ret = message;
        return true;
}
