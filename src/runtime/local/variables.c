/* The environment of a member (see variables.h): an ordered list with an index of names, so that each name
 * occurs once (programs differ in whether the first or the last one counts). */
#include "runtime/local/variables.h"

#include <stdbool.h>
#include <string.h>

#include "base/inherited.h"
#include "base/keyed-hash.h"

/* Variables that members inherit besides those that all programs inherit. */
static const char *const more[] = { "LC_CTYPE", "CUDA_HOME", "CUDA_PATH", "NVIDIA_DRIVER_CAPABILITIES",
                                    NULL };

static const char *const defaults[][2] = {
        { "PATH", "/usr/local/bin:/usr/bin:/bin" },
        { "HOME", "/" },
        { "LANG", "C.UTF-8" },
        { "PYTHONUNBUFFERED", "1" }, /* logs are read while they are written */
};

typedef struct {
        GPtrArray *list;   /* "K=V" */
        GHashTable *index; /* name -> position + 1 */
} Variables;

static void variables_init(Variables *variables)
{
        variables->list = g_ptr_array_new();
        variables->index = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
}

static char **variables_steal(Variables *variables)
{
        g_hash_table_unref(variables->index);
        g_ptr_array_add(variables->list, NULL);
        return (char **)g_ptr_array_free(variables->list, FALSE);
}

/* Takes ownership of both. */
static void put(Variables *variables, char *name, char *entry)
{
        guint at = GPOINTER_TO_UINT(g_hash_table_lookup(variables->index, name));

        if (at) {
                g_free(variables->list->pdata[at - 1]);
                variables->list->pdata[at - 1] = entry;
                g_free(name);
                return;
        }
        g_ptr_array_add(variables->list, entry);
        g_hash_table_insert(variables->index, name, GUINT_TO_POINTER(variables->list->len));
}

static void set(Variables *variables, const char *name, const char *value)
{
        if (value)
                put(variables, g_strdup(name), g_strconcat(name, "=", value, NULL));
}

static void add_all(Variables *variables, char *const *entries)
{
        for (; entries && *entries; entries++) {
                size_t len = strcspn(*entries, "=");

                if (len > 0 && (*entries)[len])
                        put(variables, g_strndup(*entries, len), g_strdup(*entries));
        }
}

static const char *get(const Variables *variables, const char *name)
{
        guint at = GPOINTER_TO_UINT(g_hash_table_lookup(variables->index, name));

        return at ? (const char *)variables->list->pdata[at - 1] + strlen(name) + 1 : NULL;
}

/* A member with another uid cannot use the server's TMPDIR. */
static void add_inherited(Variables *variables, char *const *inherited, bool is_server)
{
        for (; *inherited; inherited++)
                if (is_server || !g_str_has_prefix(*inherited, "TMPDIR="))
                        add_all(variables, (char *const[]){ *inherited, NULL });
}

/* "a", "b", NULL, "c" -> "a:b:c"; drops empty parts, since they would mean the working directory. NULL if
 * nothing is left. */
static char *join_paths(const char *const *parts, size_t n)
{
        g_autoptr(GString) joined = g_string_new(NULL);

        for (size_t i = 0; i < n; i++)
                if (parts[i] && *parts[i])
                        g_string_append_printf(joined, "%s%s", joined->len ? ":" : "", parts[i]);
        return joined->len ? g_string_free(g_steal_pointer(&joined), FALSE) : NULL;
}

static void set_paths(Variables *variables, const MemberPlace *place)
{
        g_autofree char *bin = place->environment ? g_build_filename(place->environment, "bin", NULL) : NULL;
        const char *const path[] = { bin, get(variables, "PATH"), place->fallback_path };
        const char *const modules[] = { place->by_name ? place->work : NULL, place->by_name,
                                        get(variables, "PYTHONPATH"), place->sdk };
        g_autofree char *path_text = join_paths(path, G_N_ELEMENTS(path));
        g_autofree char *modules_text = join_paths(modules, G_N_ELEMENTS(modules));

        set(variables, "PATH", path_text);
        set(variables, "PYTHONPATH", modules_text);
}

static void take(Variables *variables, char *const *environ_list, const char *const *names)
{
        for (; *names; names++) {
                const char *value = g_environ_getenv((char **)environ_list, *names);

                if (value && *value)
                        set(variables, *names, value);
        }
}

char **variables_inherit(char *const *environ_list)
{
        Variables variables;

        variables_init(&variables);
        for (size_t i = 0; i < G_N_ELEMENTS(defaults); i++)
                set(&variables, defaults[i][0], defaults[i][1]);
        take(&variables, environ_list, inherited_variables);
        take(&variables, environ_list, more);
        return variables_steal(&variables);
}

/* A value that differs from the engine's is the user's own choice and is kept. */
static void renumber_gpus(Variables *variables, const MemberPlace *place)
{
        if (place->gpus_seen && g_strcmp0(get(variables, "CUDA_VISIBLE_DEVICES"), place->gpus) == 0)
                set(variables, "CUDA_VISIBLE_DEVICES", place->gpus_seen);
}

char **variables_complete(char *const *inherited, const MemberPlace *place, char *const *task_env)
{
        Variables variables;

        variables_init(&variables);
        add_inherited(&variables, inherited, !place->home);
        set(&variables, "HOME", place->home);
        set(&variables, "USER", place->user);
        set(&variables, "LOGNAME", place->user);
        add_all(&variables, task_env);
        set(&variables, "PADDLE_INPUT", place->input);
        set(&variables, "INPUT", place->input);
        set(&variables, "PADDLE_OUTPUT", place->output);
        set(&variables, "OUTPUT", place->output);
        set(&variables, "TRAINER_PACKAGE", place->work);
        set(&variables, "PF_WORK_DIR", place->work);
        set(&variables, "PWD", place->work);
        set(&variables, "PADDLE_READY_FILE", place->ready_file);
        set(&variables, "PADDLE_PROGRESS_FILE", place->progress);
        set(&variables, "VIRTUAL_ENV", place->environment);
        set_paths(&variables, place);
        renumber_gpus(&variables, place);
        return variables_steal(&variables);
}
