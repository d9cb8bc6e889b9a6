/* paddle pipeline render: what a run of a definition would do, as YAML or JSON. Needs no server.
 *
 * The content of artifacts is known in a run only. Loops over it and conditions with it are shown as unknown. */
#include <string.h>

#include "base/err.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/verbs.h"
#include "pipeline/condition.h"
#include "pipeline/render.h"

enum { LIMIT_MAX = 100000 };

static const Option options[] = {
        PIPELINE_OPTIONS,
        { "run-id", 0, OPTION_STRING, offsetof(PipelineOptions, run_id), "ID", "id of the run",
          .fallback = "run-000001" },
        { "user", 0, OPTION_STRING, offsetof(PipelineOptions, user), "USER",
          "user of the run; default: you" },
        { "limit", 'l', OPTION_INT, offsetof(PipelineOptions, limit), "N",
          "the first N instances of components", .fallback = "100", .min = 1, .max = LIMIT_MAX },
        FORMAT_TEXT_OPTION(offsetof(PipelineOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

typedef struct {
        const RenderContext *context;
        json_t *list; /* of instances */
        gint64 limit;
        bool cut;
        GArray *chain; /* guint32: components from the top level down, as they are written */
} Walk;

/* ---- one instance ---- */

static void set_unless_empty(json_t *object, const char *name, json_t *value)
{
        if (json_object_size(value))
                json_object_set(object, name, value);
}

/* False if the condition says that this instance is skipped. */
static bool add_condition(json_t *object, const Rendered *rendered)
{
        g_autoptr(GError) error = NULL;
        bool value = true;

        if (!rendered->condition)
                return true;
        json_object_set_new(object, "condition", json_string(rendered->condition));
        if (!rendered->condition_known)
                json_object_set_new(object, "condition_value", json_string("known in the run"));
        else if (condition_eval(rendered->condition, &value, &error))
                json_object_set_new(object, "condition_value", json_boolean(value));
        else
                json_object_set_new(object, "condition_value", json_sprintf("RE-01: %s", error->message));
        return value;
}

static json_t *object_of(const Walk *walk, const RenderDag *dag, guint32 component, guint32 seq,
                         const json_t *item)
{
        const Definition *definition = walk->context->definition;
        guint32 target = component_target(definition, component);
        g_autofree char *name = render_runtime_name(walk->context, dag, component, seq);
        json_t *object = json_pack("{s:s, s:s}", "instance",
                                   name + strlen(definition_text(definition, definition->name)) + 1, "type",
                                   definition->components[target].dag ? "dag" : "step");

        if (item)
                json_object_set(object, "loop_item", (json_t *)item);
        return object;
}

static void fill(const Walk *walk, json_t *object, guint32 component, const Rendered *rendered)
{
        const Definition *definition = walk->context->definition;
        const Component *target = &definition->components[component_target(definition, component)];

        set_unless_empty(object, "parameters", rendered->parameters);
        set_unless_empty(object, "inputs", rendered->inputs);
        set_unless_empty(object, "outputs", rendered->outputs);
        if (target->dag)
                return;
        if (target->image)
                json_object_set_new(object, "image", json_string(definition_text(definition, target->image)));
        json_object_set_new(object, "command", json_string(rendered->command));
        json_object_set(object, "env", rendered->env);
}

/* ---- the walk ---- */

static bool walk_children(Walk *walk, const RenderDag *dag, GError **error);

static bool walk_instance(Walk *walk, const RenderDag *dag, guint32 component, guint32 seq,
                          const json_t *item, GError **error)
{
        RenderDag inner = { dag, component, seq, item };
        g_auto(Rendered) rendered = { 0 };
        json_t *object;

        if ((gint64)json_array_size(walk->list) >= walk->limit) {
                walk->cut = true;
                return true;
        }
        object = object_of(walk, dag, component, seq, item);
        json_array_append_new(walk->list, object);
        if (!render_instance(walk->context, dag, component, seq, item, NULL, &rendered, error))
                return err_prefix(error, "%s: ", json_string_value(json_object_get(object, "instance")));
        if (!add_condition(object, &rendered)) {
                json_object_set_new(object, "skipped", json_string("the condition is false"));
                return true;
        }
        fill(walk, object, component, &rendered);
        return walk_children(walk, &inner, error);
}

static void add_note(Walk *walk, const RenderDag *dag, guint32 component, const char *name, const char *text)
{
        json_t *object = object_of(walk, dag, component, 0, NULL);

        json_object_set_new(object, name, json_string(text));
        json_array_append_new(walk->list, object);
}

static bool walk_list(Walk *walk, const RenderDag *dag, guint32 component, const json_t *list, GError **error)
{
        const json_t *item;
        size_t i;

        if (json_array_size(list) == 0)
                add_note(walk, dag, component, "skipped", "the loop has no items");
        json_array_foreach(list, i, item)
                if (!walk->cut && !walk_instance(walk, dag, component, (guint32)i, item, error))
                        return false;
        return true;
}

static bool walk_loop(Walk *walk, const RenderDag *dag, guint32 component, GError **error)
{
        g_autoptr(json_t) parameters = render_parameters(walk->context, dag, component, error), list = NULL;
        g_autoptr(GError) cause = NULL;
        const char *input = NULL;
        g_autofree char *note = NULL;

        if (!parameters)
                return false;
        list = render_loop(walk->context, component, parameters, &input, &cause);
        if (list)
                return walk_list(walk, dag, component, list, error);
        note = cause ? g_strdup(cause->message)
                     : g_strdup_printf("over the content of the artifact '%s'", input);
        add_note(walk, dag, component, cause ? "fails" : "loop", note);
        return true;
}

/* post_process runs once; its loop, which only a reference can give it, is not unfolded. */
static bool walk_post(Walk *walk, const RenderDag *dag, guint32 component, GError **error)
{
        g_autoptr(json_t) parameters = render_parameters(walk->context, dag, component, error), list = NULL;
        const char *input = NULL;

        if (!parameters)
                return false;
        list = render_loop(walk->context, component, parameters, &input, NULL);
        return walk_instance(walk, dag, component, 0, json_array_get(list, 0), error);
}

static bool walk_component(Walk *walk, const RenderDag *dag, guint32 component, GError **error)
{
        const Definition *definition = walk->context->definition;
        bool loops = definition->components[component_target(definition, component)].loops, ok = true;

        g_array_append_val(walk->chain, component);
        if (definition_is_disabled(definition, (const guint32 *)(const void *)walk->chain->data,
                                   walk->chain->len))
                add_note(walk, dag, component, "skipped", "it is disabled");
        else if (loops && dag->component == DEFINITION_POST)
                ok = walk_post(walk, dag, component, error);
        else if (loops)
                ok = walk_loop(walk, dag, component, error);
        else
                ok = walk_instance(walk, dag, component, 0, NULL, error);
        g_array_set_size(walk->chain, walk->chain->len - 1);
        return ok;
}

/* The recursion is bounded by DEFINITION_DEPTH_MAX. */
static bool walk_children(Walk *walk, const RenderDag *dag, GError **error)
{
        const Definition *definition = walk->context->definition;
        const Component *target = &definition->components[component_target(definition, dag->component)];

        for (guint32 i = target->children; i < target[1].children && !walk->cut; i++)
                if (!walk_component(walk, dag, i, error))
                        return false;
        return true;
}

static bool walk_all(Walk *walk, GError **error)
{
        RenderDag root = { .component = DEFINITION_ROOT }, post = { .component = DEFINITION_POST };

        return walk_children(walk, &root, error) && walk_children(walk, &post, error);
}

/* ---- the verb ---- */

/* Both become parts of paths. */
static bool check_word(const char *option, const char *word, GError **error)
{
        return !word || (*word && g_utf8_validate(word, -1, NULL) && !strchr(word, '/') && *word != '.') ||
               err_set(error, ERR_USAGE, "%s: a name is not empty, has no '/' and does not begin with '.'",
                       option);
}

static bool render(Cli *cli, const PipelineOptions *given, const Definition *definition, Format format,
                   GError **error)
{
        RenderContext context = { .definition = definition,
                                  .run_id = given->run_id,
                                  .user = given->user ? given->user : g_get_user_name() };
        g_autoptr(json_t) list = json_array(), value = NULL;
        g_autoptr(GArray) chain = g_array_new(FALSE, FALSE, sizeof(guint32));
        Walk walk = { .context = &context, .list = list, .limit = given->limit, .chain = chain };

        if (!check_word("--run-id", given->run_id, error) || !check_word("--user", given->user, error) ||
            !walk_all(&walk, error))
                return false;
        value = json_pack("{s:s, s:i, s:s, s:O}", "name", definition_text(definition, definition->name),
                          "parallelism", definition->parallelism, "failure_strategy",
                          definition->continues ? "continue" : "fail_fast", "instances", list);
        format_print(value, format, NULL);
        if (walk.cut)
                cli_say(cli, "only the first %" G_GINT64_FORMAT " instances are shown; see --limit",
                        given->limit);
        return true;
}

static bool run_render(Cli *cli, const void *target, char *const *words, GError **error)
{
        const PipelineOptions *given = target;
        g_autoptr(Definition) definition = NULL;
        Format format;

        return format_parse(cli, given->format, &format, error) &&
               pipeline_file_load(given, words[0], &definition, error) &&
               render(cli, given, definition, format, error);
}

const Verb verb_pipeline_render = {
        .name = "pipeline render",
        .args = "FILE",
        .summary = "Show what a run of a pipeline would do: commands, parameters, paths",
        .about =
                "Loops are unfolded and conditions are evaluated, unless they need the content of an artifact, which only "
                "the run has. No server is needed. " PIPELINE_PROGRAM_HELP,
        .examples = "paddle pipeline render pipeline.yaml\n"
                    "paddle pipeline render -p train.epochs=3 -o json pipeline.yaml",
        .options = options,
        .size = sizeof(PipelineOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run_render,
};
