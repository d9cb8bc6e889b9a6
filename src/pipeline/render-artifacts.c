/* The paths of artifacts (see render.h): outputs by the instance of the step that writes them, inputs by the outputs that
 * they name. */
#include <string.h>

#include "base/err.h"
#include "pipeline/render-internal.h"

#define DEFAULT_MOUNT "/home/paddleflow/storage/mnt/"

/* ---- names and places ---- */

static void write_runtime(GString *out, const RenderContext *context, const RenderDag *dag)
{
        const Definition *definition = context->definition;

        if (!dag->parent) {
                g_string_append_printf(out, "%s.%s", definition_text(definition, definition->name),
                                       dag->component == DEFINITION_POST ? "post_process" : "entry_points");
                return;
        }
        write_runtime(out, context, dag->parent);
        g_string_append_printf(out, ".%s", component_name(definition, dag->component));
        if (dag->seq)
                g_string_append_printf(out, "-%u", dag->seq);
}

char *render_runtime_name(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq)
{
        GString *out = g_string_new(NULL);

        write_runtime(out, context, dag);
        g_string_append_printf(out, ".%s", component_name(context->definition, component));
        if (seq)
                g_string_append_printf(out, "-%u", seq);
        return g_string_free(out, FALSE);
}

/* The sub path of the main file system without slashes at its end. */
static char *sub_path_of(const RenderContext *context)
{
        char *path = g_strdup(text_at(context, context->definition->main_fs.sub_path));
        gsize len = strlen(path);

        while (len && path[len - 1] == '/')
                path[--len] = '\0';
        return path;
}

char *render_run_directory(const RenderContext *context)
{
        g_autofree char *sub = sub_path_of(context);

        return g_strdup_printf("%s%s.pipeline/%s", sub, *sub ? "/" : "", context->run_id);
}

char *render_output_path(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                         const char *name)
{
        const Definition *definition = context->definition;
        g_autofree char *runtime = render_runtime_name(context, dag, component, seq),
                        *directory = render_run_directory(context);
        g_autofree char *md5 = g_compute_checksum_for_string(G_CHECKSUM_MD5, runtime, -1);

        return g_strdup_printf("%s/%s/%s-%u-%s/%s", directory, definition_text(definition, definition->name),
                               component_name(definition, component), seq, md5, name);
}

static char *output_path(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                         const char *name)
{
        char *other = context->output ? context->output(context, dag, component, seq, name) : NULL;

        return other ? other : render_output_path(context, dag, component, seq, name);
}

static char *mount_path_of(const RenderContext *context)
{
        const StepMount *main_fs = &context->definition->main_fs;

        if (main_fs->mount_path)
                return g_strdup(text_at(context, main_fs->mount_path));
        return g_strdup_printf(DEFAULT_MOUNT "fs-%s-%s", context->user, text_at(context, main_fs->name));
}

char *render_container_paths(const RenderContext *context, const char *paths)
{
        g_autofree char *mount = mount_path_of(context), *sub = sub_path_of(context);
        g_auto(GStrv) parts = g_strsplit(paths, ",", -1);
        gsize len = strlen(sub);
        GString *out = g_string_new(NULL);

        for (int i = 0; parts[i]; i++) {
                const char *path = parts[i];

                g_string_append(out, i ? "," : "");
                if (!*path)
                        continue;
                if (len && g_str_has_prefix(path, sub) && path[len] == '/')
                        path += len + 1;
                g_string_append_printf(out, "%s%s%s", mount, g_str_has_suffix(mount, "/") ? "" : "/", path);
        }
        return g_string_free(out, FALSE);
}

/* ---- outputs and inputs ---- */

/* The items of a component's loop, as far as the definition has them; NULL: it has no loop, or only the run knows. */
static json_t *items_of(const RenderContext *context, const RenderDag *dag, guint32 component)
{
        guint32 target = component_target(context->definition, component);
        g_autoptr(json_t) parameters = NULL;
        const char *input;

        if (!context->definition->components[target].loops)
                return NULL;
        parameters = render_parameters(context, dag, component, NULL);
        return parameters ? render_loop(context, component, parameters, &input, NULL) : NULL;
}

/* Of the paths of all inputs of a component, or of all outputs. */
static bool paths_fit(gsize *len, const GString *paths, GError **error)
{
        return render_all_fit(len, paths->len, "the paths of artifacts", error);
}

static bool write_outputs(GString *out, const RenderContext *context, const RenderDag *dag, guint32 component,
                          guint32 name, GError **error);

/* Paths of a DAG's output: those of the child that it names, in one instance of the DAG. */
static bool write_child(GString *out, const RenderContext *context, const RenderDag *dag, guint32 target,
                        guint32 name, GError **error)
{
        const Definition *definition = context->definition;
        guint32 at = component_find(definition, target, ROLE_OUTPUT, name);
        const Piece *piece;

        if (at == (guint32)DEFINITION_NONE)
                return err_set(error, ERR_INVALID, "RE-03: '%s' has no output '%s'",
                               component_name(definition, target), definition_text(definition, name));
        piece = &definition->pieces[definition->variables[at].text.pieces];
        return write_outputs(out, context, dag, piece->component, piece->name, error);
}

static void write_output(GString *out, const RenderContext *context, const RenderDag *dag, guint32 component,
                         guint32 seq, const char *name)
{
        g_autofree char *path = output_path(context, dag, component, seq, name);

        g_string_append(out, path);
        render_count_work(context, strlen(path));
}

/* All instances of a component, in the order of their numbers. */
static bool write_outputs(GString *out, const RenderContext *context, const RenderDag *dag, guint32 component,
                          guint32 name, GError **error)
{
        g_autoptr(json_t) items = context->instances ? NULL : items_of(context, dag, component);
        guint32 n = items ? (guint32)json_array_size(items) : 1;
        guint32 target = component_target(context->definition, component);

        if (context->instances)
                n = context->instances(context, dag, component);
        for (guint32 seq = 0; seq < n; seq++) {
                RenderDag inner = { dag, component, seq, json_array_get(items, seq) };

                render_count_work(context, RENDER_VALUE); /* also if it has no path, or the text is refused */
                g_string_append(out, seq ? "," : "");
                if (!context->definition->components[target].dag)
                        write_output(out, context, dag, component, seq, text_at(context, name));
                else if (!write_child(out, context, &inner, target, name, error))
                        return false;
                if (!render_fits(out, error))
                        return false;
        }
        return true;
}

/* The input `name` of a component; that of the nearest reference counts. */
static bool write_input(GString *out, const RenderContext *context, const RenderDag *dag, guint32 component,
                        guint32 name, GError **error)
{
        const Definition *definition = context->definition;
        guint32 at = component_find(definition, component, ROLE_INPUT, name);
        const Piece *piece;

        if (at == (guint32)DEFINITION_NONE || !definition->variables[at].text.pieces)
                return true; /* an input of the library that nobody gives */
        piece = &definition->pieces[definition->variables[at].text.pieces];
        if (piece->kind == PIECE_PARENT_INPUT)
                return write_input(out, context, dag->parent, dag->component, piece->name, error);
        return write_outputs(out, context, dag, piece->component, piece->name, error);
}

json_t *render_inputs(const RenderContext *context, const RenderDag *dag, guint32 component, GError **error)
{
        const Definition *definition = context->definition;
        g_autoptr(json_t) inputs = json_object();
        gsize len = 0;

        for (guint32 k = definition->components[component].variables;
             k < definition->components[component + 1].variables; k++) {
                g_autoptr(GString) paths = g_string_new(NULL);

                if (definition->variables[k].role != ROLE_INPUT)
                        continue;
                if (!write_input(paths, context, dag, component, definition->variables[k].name, error) ||
                    !paths_fit(&len, paths, error))
                        return NULL;
                json_object_set_new(inputs, definition_text(definition, definition->variables[k].name),
                                    json_string(paths->str));
        }
        return g_steal_pointer(&inputs);
}

json_t *render_outputs(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                       GError **error)
{
        const Definition *definition = context->definition;
        guint32 target = component_target(definition, component);
        g_autoptr(json_t) outputs = json_object();
        gsize len = 0;

        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++) {
                RenderDag inner = { dag, component, seq, NULL };
                guint32 name = definition->variables[k].name;
                g_autoptr(GString) paths = g_string_new(NULL);

                if (definition->variables[k].role != ROLE_OUTPUT)
                        continue;
                render_count_work(context, RENDER_VALUE);
                if (!definition->components[target].dag)
                        write_output(paths, context, dag, component, seq, definition_text(definition, name));
                else if (!write_child(paths, context, &inner, target, name, error))
                        return NULL;
                if (!paths_fit(&len, paths, error))
                        return NULL;
                json_object_set_new(outputs, definition_text(definition, name), json_string(paths->str));
        }
        return g_steal_pointer(&outputs);
}
