/* The `start` line (see request.h). */
#include "agent/request.h"

#include <string.h>

#include "agent/record.h"
#include "base/err.h"

enum {
        WORDS_MAX = 1 << 20, /* a line of 2 MiB holds fewer */
        LINE_MAX_BYTES = 2 << 20,
        BINDS_MAX = 256,
        PROXY_MAX = 16,
        GRACE_MAX_MS = 7 * 24 * 3600 * 1000,
        GROUPS_MAX = 4096,
        GROUP_DIGITS = 11, /* with its comma */
};

static const gint64 user_max = (gint64)G_MAXUINT32 - 1; /* the last one means "none" */

bool task_name_is_valid(const char *name)
{
        gsize len = strlen(name);

        return len > 0 && len < TASK_NAME_SIZE && name[0] != '.' &&
               strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == len;
}

static bool only_strings(const json_t *list, const char *name, GError **error)
{
        gsize i;
        json_t *item;

        json_array_foreach(list, i, item)
                if (!json_is_string(item))
                        return err_set(error, ERR_INVALID, "%s[%" G_GSIZE_FORMAT "] is not a string", name,
                                       i);
        return true;
}

static bool get_strings(const json_t *object, const char *name, gsize max, json_t **ret, GError **error)
{
        return json_get_array(object, "", name, max, ret, error) &&
               (!*ret || only_strings(*ret, name, error));
}

/* The user whose rights the member has: user and group together, or neither. */
static bool get_user(const json_t *object, StartRequest *ret, GError **error)
{
        gsize i;
        json_t *item;

        ret->uid = ret->gid = -1;
        if (!json_get_int(object, "", "uid", 0, user_max, &ret->uid, error) ||
            !json_get_int(object, "", "gid", 0, user_max, &ret->gid, error) ||
            !json_get_array(object, "", "groups", GROUPS_MAX, &ret->groups, error))
                return false;
        if ((ret->uid < 0) != (ret->gid < 0) || (ret->uid < 0 && json_array_size(ret->groups) > 0))
                return err_set(error, ERR_INVALID, "task '%s': uid, gid and groups belong together",
                               ret->task);
        json_array_foreach(ret->groups, i, item) {
                gint64 group = json_is_integer(item) ? json_integer_value(item) : -1;

                if (group < 0 || group > user_max)
                        return err_set(error, ERR_INVALID,
                                       "groups[%" G_GSIZE_FORMAT "] is not a group's number", i);
        }
        return true;
}

static bool get_texts(const json_t *object, StartRequest *ret, GError **error)
{
        const struct {
                const char *name;
                gsize max;
                const char **ret;
        } texts[] = {
                { "dir", RECORD_READY_MAX - 1, &ret->dir },
                { "log", RECORD_READY_MAX - 1, &ret->log },
                { "banner", 4000, &ret->banner },
                { "ready_file", RECORD_READY_MAX - 1, &ret->ready_file },
                { "place", RECORD_READY_MAX - 1, &ret->place },
                { "progress", RECORD_READY_MAX - 1, &ret->progress },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                if (!json_get_string(object, "", texts[i].name, texts[i].max, texts[i].ret, error))
                        return false;
        return true;
}

/* The parts of the sandbox, by name. */
static bool get_sandbox(const json_t *object, StartRequest *ret, GError **error)
{
        json_t *list = NULL, *item;
        gsize i;

        if (!get_strings(object, "sandbox", SANDBOX_PARTS, &list, error) ||
            !get_strings(object, "keep", SANDBOX_KEEP_MAX, &ret->keep, error) ||
            !json_get_int(object, "", "keep_read_only", 0, SANDBOX_KEEP_MAX, &ret->read_only, error) ||
            !json_get_bool(object, "", "egress", &ret->egress, error) ||
            !json_get_bool(object, "", "shared", &ret->shared, error))
                return false;
        json_array_foreach(list, i, item) {
                guint32 part = 0;

                for (int bit = 0; bit < SANDBOX_PARTS; bit++)
                        if (strcmp(json_string_value(item), sandbox_word(bit)) == 0)
                                part = 1u << bit;
                if (!part)
                        return err_set(error, ERR_INVALID,
                                       "sandbox[%" G_GSIZE_FORMAT "]: no part is called '%s'", i,
                                       json_string_value(item));
                ret->sandbox |= part;
        }
        if (ret->shared && (!ret->place || ret->place[0] != '/'))
                return err_set(error, ERR_INVALID, "task '%s': its sandbox has no place", ret->task);
        return true;
}

/* "denied_major": 195, "denied_minors": [0, 2] */
static bool get_denied(const json_t *object, DeviceSet *ret, GError **error)
{
        json_t *list = NULL, *item;
        gint64 major = 0;
        gsize i;

        if (!json_get_int(object, "", "denied_major", 0, G_MAXUINT16, &major, error) ||
            !json_get_array(object, "", "denied_minors", DEVICE_MINORS, &list, error))
                return false;
        ret->major = (guint32)major;
        json_array_foreach(list, i, item) {
                gint64 minor = json_is_integer(item) ? json_integer_value(item) : -1;

                if (minor < 0 || minor >= DEVICE_MINORS)
                        return err_set(error, ERR_INVALID,
                                       "denied_minors[%" G_GSIZE_FORMAT "] is not a number from 0 to %d", i,
                                       DEVICE_MINORS - 1);
                ret->minors |= (guint64)1 << minor;
        }
        return true;
}

static bool get_numbers(const json_t *object, StartRequest *ret, GError **error)
{
        const struct {
                const char *name;
                gint64 max, *ret;
        } numbers[] = {
                { "cpu_milli", 1000000000, &ret->limits.cpu_milli },
                { "cpu_weight_milli", 1000000000, &ret->limits.cpu_weight_milli },
                { "memory", G_MAXINT64 / 2, &ret->limits.memory },
                { "processes", 4194304, &ret->limits.processes },
                { "user", G_MAXINT64, &ret->user },
                { "user_processes", 4194304, &ret->user_processes },
                { "log_bytes", G_MAXINT64 / 2, &ret->log_bytes },
                { "grace_ms", GRACE_MAX_MS, &ret->grace_ms },
                { "hangup_ms", GRACE_MAX_MS, &ret->hangup_ms },
                { "ready_port", 65535, &ret->ready_port },
                { "ready_port_other", 65535, &ret->ready_port_other },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
                if (!json_get_int(object, "", numbers[i].name, 0, numbers[i].max, numbers[i].ret, error))
                        return false;
        return true;
}

static bool get_mounts(const json_t *object, StartRequest *ret, GError **error)
{
        if (!get_strings(object, "mounts", WIRE_MOUNTS_MAX * WIRE_MOUNT_WORDS, &ret->mounts, error))
                return false;
        return json_array_size(ret->mounts) % WIRE_MOUNT_WORDS == 0 ||
               err_set(error, ERR_INVALID, "task '%s': a mount has %d words", ret->task, WIRE_MOUNT_WORDS);
}

bool start_request_parse(const json_t *object, StartRequest *ret, GError **error)
{
        const char *task = NULL;

        *ret = (StartRequest){ 0 };
        if (!json_get_string(object, "", "task", LINE_MAX_BYTES, &task, error))
                return false;
        if (!task)
                return err_set(error, ERR_INVALID, "'start' names no task");
        ret->task = task;
        if (!task_name_is_valid(task))
                return err_set(error, ERR_INVALID,
                               "task '%.200s' is not a name of [a-z0-9.-] with at most %d bytes", task,
                               TASK_NAME_SIZE - 1);
        if (!get_texts(object, ret, error) || !get_numbers(object, ret, error) ||
            !get_user(object, ret, error) || !get_denied(object, &ret->limits.denied, error) ||
            !json_get_bool(object, "", "new_privileges", &ret->new_privileges, error) ||
            !json_get_bool(object, "", "tty", &ret->tty, error) || !get_sandbox(object, ret, error) ||
            !get_strings(object, "argv", WORDS_MAX, &ret->argv, error) ||
            !get_strings(object, "env", WORDS_MAX, &ret->env, error) ||
            !get_strings(object, "binds", BINDS_MAX, &ret->binds, error) ||
            !get_strings(object, "proxy", PROXY_MAX, &ret->proxy, error) || !get_mounts(object, ret, error))
                return false;
        if (json_array_size(ret->argv) == 0 || !*json_string_value(json_array_get(ret->argv, 0)))
                return err_set(error, ERR_INVALID, "task '%s': argv names no program", task);
        if (!ret->dir || !ret->log || ret->dir[0] != '/' || ret->log[0] != '/')
                return err_set(error, ERR_INVALID, "task '%s': dir and log must be absolute paths", task);
        if (json_array_size(ret->binds) % 2 != 0)
                return err_set(error, ERR_INVALID, "task '%s': binds are not pairs of source and target",
                               task);
        return true;
}

static void add_text(GByteArray *message, const char *text)
{
        g_byte_array_append(message, (const guint8 *)(text ? text : ""), text ? (guint)strlen(text) + 1 : 1);
}

static guint32 add_list(GByteArray *message, const json_t *list)
{
        gsize i;
        json_t *item;

        json_array_foreach(list, i, item)
                add_text(message, json_string_value(item));
        return (guint32)json_array_size(list);
}

/* "10,20"; the caller's. */
static char *format_groups(const json_t *groups)
{
        GString *text = g_string_sized_new(json_array_size(groups) * GROUP_DIGITS);
        gsize i;
        json_t *item;

        json_array_foreach(groups, i, item)
                g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i ? "," : "",
                                       (guint64)json_integer_value(item));
        return g_string_free(text, FALSE);
}

GByteArray *start_request_pack(const StartRequest *request, guint64 id, const char *spare, int slot_number,
                               const Slot *slot, const char *sandboxes, const char *egress)
{
        WireSpawn head = {
                .id = id,
                .slot = slot_number,
                .slot_v2 = slot->v2,
                .as_user = request->uid >= 0,
                .uid = (uint32_t)request->uid,
                .gid = (uint32_t)request->gid,
                .confined = !request->new_privileges || request->mounts,
                .sandbox = request->sandbox,
                .shared = request->shared && request->sandbox & SANDBOX_SHARED,
                .ready_ports = { (int32_t)request->ready_port, (int32_t)request->ready_port_other },
                .limits = request->limits,
                .held = slot->held,
                .log_bytes = request->log_bytes,
                .grace_ms = request->grace_ms,
                .tty = request->tty,
                .hangup_ms = request->hangup_ms,
        };
        GByteArray *message = g_byte_array_sized_new(4096);
        g_autofree char *groups = request->groups ? format_groups(request->groups) : NULL;
        const char *const texts[] = { request->task,
                                      request->dir,
                                      request->log,
                                      request->banner,
                                      request->ready_file,
                                      spare,
                                      groups,
                                      request->shared ? request->place : sandboxes,
                                      request->progress,
                                      request->egress ? egress : NULL };

        G_STATIC_ASSERT(G_N_ELEMENTS(texts) == WIRE_SLOT_DIRS);
        g_byte_array_append(message, (const guint8 *)&head, sizeof head);
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                add_text(message, texts[i]);
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                add_text(message, slot->dir[i]);
        head.n_argv = add_list(message, request->argv);
        head.n_env = add_list(message, request->env);
        head.n_binds = add_list(message, request->binds);
        head.n_proxy = add_list(message, request->proxy);
        head.n_keep = add_list(message, request->keep);
        head.n_mounts = add_list(message, request->mounts) / WIRE_MOUNT_WORDS;
        head.n_read_only = (guint32)request->read_only;
        head.payload = message->len - (guint32)sizeof head;
        memcpy(message->data, &head, sizeof head);
        return message;
}
