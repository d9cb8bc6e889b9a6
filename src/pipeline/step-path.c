/* Paths of components (see step-path.h). */
#include "pipeline/step-path.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/word.h"

static const Component *body_of(const Definition *definition, guint32 component)
{
        return &definition->components[component_target(definition, component)];
}

/* ---- mistakes ---- */

enum { NAMES_MAX = 2000 }; /* that are compared with a wrong one */

/* The name of the components [from, end) that is near; NULL: none is. Borrowed. */
static const char *nearest(const Definition *definition, guint32 from, guint32 end, const char *name)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint32 i = from; i < MIN(end, from + NAMES_MAX); i++)
                g_ptr_array_add(names, (gpointer)component_name(definition, i));
        g_ptr_array_add(names, NULL);
        return strlen(name) > 1 ? word_nearest(name, (const char *const *)names->pdata) : NULL;
}

/* The path of a component of this name inside the entry points; NULL: there is none. The caller's. */
static char *deeper(const Definition *definition, const char *name)
{
        static const char root[] = "entry_points.";

        for (guint32 i = DEFINITION_FIRST; name && i < definition->n_components; i++) {
                g_autofree char *path = strcmp(component_name(definition, i), name) == 0
                                                ? component_path(definition, i)
                                                : NULL;

                if (path && g_str_has_prefix(path, root))
                        return g_strdup(path + strlen(root));
        }
        return NULL;
}

/* The path or name that is meant: of this name in a DAG, near it beside, or near it in a DAG. The caller's, or NULL. */
static char *meant(const Definition *definition, guint32 dag, const char *name)
{
        const Component *body = body_of(definition, dag);
        char *path = dag == DEFINITION_ROOT ? deeper(definition, name) : NULL;
        const char *near = path ? NULL : nearest(definition, body->children, body[1].children, name);

        if (path || near || dag != DEFINITION_ROOT)
                return path ? path : g_strdup(near);
        return deeper(definition, nearest(definition, DEFINITION_FIRST, definition->n_components, name));
}

static char *advice(const Definition *definition, guint32 dag, const char *name)
{
        g_autofree char *path = meant(definition, dag, name);

        return path ? g_strdup_printf("Did you mean '%s'?", path)
                    : g_strdup("A component inside a DAG is named with it: DAG.STEP. An item of a loop: "
                               "STEP-3.");
}

static bool no_part(const Definition *definition, const char *text, const char *word, guint32 dag,
                    GError **error)
{
        g_autofree char *shown = err_shown(text), *part = err_shown(word), *more = NULL;
        bool top = dag == DEFINITION_ROOT;

        if (!top && !body_of(definition, dag)->dag)
                return err_set(error, ERR_INVALID, "step '%.200s': '%s' is a step, and has no components",
                               shown, component_name(definition, dag));
        more = advice(definition, dag, word);
        return err_set(error, ERR_INVALID, "step '%.200s': there is no component '%.80s' in %s%s%s\n%s",
                       shown, part, top ? "entry_points" : "'", top ? "" : component_name(definition, dag),
                       top ? "" : "'", more);
}

/* ---- the parts ---- */

/* "train-3": the loop `train`, and 3. False: it is no such word, or there is no such loop. */
static bool item_named(const Definition *definition, guint32 dag, const char *word, StepPart *ret)
{
        const char *dash = strrchr(word, '-');
        g_autofree char *name = dash ? g_strndup(word, (gsize)(dash - word)) : NULL;
        gint64 number;

        if (!dash || !number_parse("number", dash + 1, 0, G_MAXINT32, &number, NULL))
                return false;
        ret->component = component_child(definition, dag, name);
        ret->number = (guint32)number;
        return ret->component && body_of(definition, ret->component)->loops && dag != DEFINITION_POST;
}

static bool find_part(const Definition *definition, guint32 dag, const char *word, StepPart *ret)
{
        ret->component = component_child(definition, dag, word);
        ret->number = (guint32)STEP_ANY;
        return ret->component || item_named(definition, dag, word, ret);
}

bool step_path_parse(const Definition *definition, const char *text, StepPath *ret, GError **error)
{
        g_auto(GStrv) words = NULL;
        guint32 dag = DEFINITION_ROOT;

        ret->n = 0;
        if (!*text)
                return err_set(error, ERR_INVALID, "the name of a step is missing");
        if (strlen(text) > STEP_TEXT_MAX)
                return err_set(error, ERR_INVALID, "the name of a step has at most %d bytes", STEP_TEXT_MAX);
        words = g_strsplit(text, ".", G_N_ELEMENTS(ret->parts) + 1);
        ret->post = !words[1] && component_child(definition, DEFINITION_POST, *words);
        if (ret->post)
                dag = DEFINITION_POST;
        for (char **word = words; *word; word++) {
                StepPart part;

                if (!find_part(definition, dag, *word, &part))
                        return no_part(definition, text, *word, dag, error);
                if (ret->n == G_N_ELEMENTS(ret->parts))
                        return err_set(error, ERR_INVALID, "step '%.200s' has too many parts", text);
                ret->parts[ret->n++] = part;
                dag = part.component;
        }
        return true;
}

char *step_path_names(const Definition *definition, const StepPath *path)
{
        GString *names = g_string_new(NULL);

        for (gsize i = 0; i < path->n; i++)
                g_string_append_printf(names, "%s%s", i ? "." : "",
                                       component_name(definition, path->parts[i].component));
        return g_string_free(names, FALSE);
}
