/* The parts of a fingerprint (see fingerprint.h). */
#include "pipeline/fingerprint.h"

#include <string.h>

#include "base/keyed-hash.h"
#include "pipeline/words.h"

enum { SHORT = 16 };

void fingerprint_add(json_t *parts, const char *name, const char *value)
{
        g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, value, -1);

        json_object_set_new(parts, name, json_string(digest));
}

static void add_named(json_t *parts, const char *kind, const char *name, const char *value)
{
        g_autofree char *full = g_strconcat(kind, " ", name, NULL);

        fingerprint_add(parts, full, value);
}

/* ---- what a step is given ---- */

static void add_parameters(json_t *parts, const json_t *parameters)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)parameters, name, value) {
                g_autofree char *text = render_text(value);

                add_named(parts, "parameter", name, text);
        }
}

static bool is_system(const char *name)
{
        for (SystemVariable i = 0; i < SYSTEM_VARIABLES; i++)
                if (strcmp(system_variables[i], name) == 0)
                        return true;
        return false;
}

/* The variables that hold the paths of artifacts, as the renderer names them. */
static void add_variables(GHashTable *variables, const char *prefix, const json_t *paths)
{
        const char *artifact;
        json_t *path;

        json_object_foreach((json_t *)paths, artifact, path) {
                g_autofree char *upper = g_ascii_strup(artifact, -1);

                g_hash_table_add(variables, g_strconcat(prefix, upper, NULL));
        }
}

static void add_env(json_t *parts, const Rendered *rendered)
{
        g_autoptr(GHashTable) variables = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        const char *name;
        json_t *value;

        add_variables(variables, RENDER_INPUT_PREFIX, rendered->inputs);
        add_variables(variables, RENDER_OUTPUT_PREFIX, rendered->outputs);
        json_object_foreach(rendered->env, name, value)
                if (!is_system(name) && !g_hash_table_contains(variables, name))
                        add_named(parts, "env", name, json_string_value(value));
}

static void add_artifacts(json_t *parts, const FingerprintStep *step)
{
        const char *name;
        json_t *path;

        json_object_foreach(step->rendered->inputs, name, path)
                add_named(parts, "input", name, step->content ? "" : json_string_value(path));
        json_object_foreach(step->rendered->outputs, name, path)
                add_named(parts, "output", name, "");
}

/* ---- mounts ---- */

/* No character of one field can be taken for the end of another. */
static void add_mount(json_t *parts, const FingerprintStep *step, const char *part, const StepMount *mount)
{
        const char *name = definition_text(step->definition, mount->name);
        const char *path = definition_text(step->definition, mount->mount_path);
        const char *sub = definition_text(step->definition, mount->sub_path);
        g_autofree char *value =
                g_strdup_printf("%zu:%s %zu:%s %zu:%s %zu:%s %d", strlen(step->user), step->user,
                                strlen(name), name, strlen(path), path, strlen(sub), sub, mount->read_only);

        fingerprint_add(parts, part, value);
}

static void add_mounts(json_t *parts, const FingerprintStep *step)
{
        const Definition *definition = step->definition;
        guint32 target = component_target(definition, step->component), number = 0;
        const Extra *extra = component_extra(definition, target);

        if (definition->has_main_fs)
                add_mount(parts, step, "mount main_fs", &definition->main_fs);
        for (guint32 k = 0; k < extra->n_mounts + definition->n_extra_mounts; k++) {
                guint32 at = k < extra->n_mounts ? extra->mounts + k
                                                 : definition->extra_mounts + k - extra->n_mounts;
                g_autofree char *part = g_strdup_printf("mount extra_fs %u", ++number);

                add_mount(parts, step, part, &definition->mounts[at]);
        }
}

json_t *fingerprint_parts(const FingerprintStep *step)
{
        const Definition *definition = step->definition;
        const Rendered *rendered = step->rendered;
        guint32 target = component_target(definition, step->component);
        const char *item =
                json_string_value(json_object_get(rendered->env, system_variables[SYSTEM_LOOP_ARGUMENT]));
        json_t *parts = json_object();

        fingerprint_add(parts, "image", definition_text(definition, definition->components[target].image));
        fingerprint_add(parts, "command", rendered->command);
        add_parameters(parts, rendered->parameters);
        add_env(parts, rendered);
        add_artifacts(parts, step);
        add_mounts(parts, step);
        if (definition->components[target].loops)
                fingerprint_add(parts, "loop item", item ? item : "");
        if (step->package)
                fingerprint_add(parts, "package", step->package);
        if (step->requirements)
                fingerprint_add(parts, "requirements", step->requirements);
        if (step->content)
                fingerprint_add(parts, "fingerprint", "content");
        return parts;
}

/* ---- digests ---- */

static gint compare_names(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Borrowed names, sorted. */
static GPtrArray *names_of(const json_t *parts)
{
        GPtrArray *names = g_ptr_array_new();
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)parts, name, value)
                g_ptr_array_add(names, (char *)name);
        g_ptr_array_sort(names, compare_names);
        return names;
}

char *fingerprint_sum(const json_t *parts)
{
        g_autoptr(GPtrArray) names = names_of(parts);
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

        for (guint i = 0; i < names->len; i++) {
                const char *name = names->pdata[i], *value = json_string_value(json_object_get(parts, name));

                g_checksum_update(sum, (const guchar *)name, (gssize)strlen(name) + 1);
                g_checksum_update(sum, (const guchar *)value, (gssize)strlen(value) + 1);
        }
        return g_strdup(g_checksum_get_string(sum));
}

/* "parameter lr" -> "parameter"; the caller's. */
static char *kind_of(const char *name)
{
        const char *blank = strchr(name, ' ');

        return blank ? g_strndup(name, (gsize)(blank - name)) : g_strdup(name);
}

static json_t *by_kind(const json_t *parts)
{
        g_autoptr(GPtrArray) names = names_of(parts);
        g_autoptr(json_t) kinds = json_object();
        json_t *sums = json_object(), *of_kind;
        const char *kind;

        for (guint i = 0; i < names->len; i++) {
                g_autofree char *key = kind_of(names->pdata[i]);

                if (!json_object_get(kinds, key))
                        json_object_set_new(kinds, key, json_object());
                json_object_set(json_object_get(kinds, key), names->pdata[i],
                                json_object_get(parts, names->pdata[i]));
        }
        json_object_foreach(kinds, kind, of_kind) {
                g_autofree char *sum = fingerprint_sum(of_kind);

                json_object_set_new(sums, kind, json_string(sum));
        }
        return sums;
}

static bool is_long(const json_t *parts)
{
        const char *name;
        json_t *value;
        gsize bytes = 0;

        json_object_foreach((json_t *)parts, name, value)
                bytes += strlen(name);
        return json_object_size(parts) > FINGERPRINT_SHOWN_MAX || bytes > FINGERPRINT_NAMES_MAX;
}

json_t *fingerprint_short(const json_t *parts)
{
        g_autoptr(json_t) kinds = is_long(parts) ? by_kind(parts) : NULL;
        json_t *shown = json_object(), *value;
        const char *name;

        json_object_foreach(kinds ? kinds : (json_t *)parts, name, value)
                json_object_set_new(shown, name, json_stringn(json_string_value(value), SHORT));
        return shown;
}
