/* Checks of names and graphs: pipeline and component names (PE-04, PE-05), circles of dependencies (PE-09),
 * the library (PE-23), circles of references (PE-24), and limits that references could get around (PE-35).
 *
 * Both searches keep their own stack, since a chain may be as long as the text. */
#include <string.h>

#include "base/err.h"
#include "pipeline/draft.h"

/* ---- names ---- */

static void check_names(Draft *draft)
{
        const char *name = definition_text(&draft->definition, draft->definition.name);
        g_autofree char *shown = err_shown(name);

        if (!pipeline_name_is_valid(name) &&
            (draft->request->name || !draft_is_refused(draft, DEFINITION_ROOT, KEY_NAME)))
                draft_refuse(
                        draft, PE_04, draft->request->name ? 0 : draft->top[KEY_NAME],
                        (guint32)DEFINITION_NONE,
                        draft->request->name ? draft_request_path(draft, REQUEST_NAME) : "name",
                        *name ? "'%.160s' is not a name of a pipeline\nUse at most 128 letters, digits, '_' and "
                                "'-'; begin with a letter or '_'."
                              : "a pipeline needs a name%.0s",
                        shown);
        for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++) {
                g_autofree char *own = NULL;

                draft_look(draft);
                if (component_name_is_valid(component_name(&draft->definition, i)))
                        continue;
                own = err_shown(component_name(&draft->definition, i));
                draft_refuse(
                        draft, PE_05, draft_component_node(draft, i), i, NULL,
                        "'%.64s' is not a name of a component\nUse at most 30 letters, digits and '-'; begin "
                        "with a letter.",
                        own);
        }
}

/* ---- depth first ---- */

typedef struct {
        guint32 node, edge;
} Step;

enum { WHITE, GREY, BLACK };

typedef struct Search {
        Draft *draft;
        guint8 *colours;
        GArray *stack; /* Step */
        /* The next neighbour at or after *edge, which it moves; DEFINITION_NONE at the end. */
        guint32 (*next)(struct Search *search, guint32 node, guint32 *edge);
        void (*circle)(struct Search *search, guint32 first); /* the stack from `first` on */
        void (*leave)(struct Search *search, guint32 node);   /* or NULL */
        guint32 *depths, *sizes;                              /* of references */
        bool circles;                                         /* of references */
} Search;

static void enter(Search *search, guint32 node)
{
        Step step = { node, 0 };

        search->colours[node] = GREY;
        g_array_append_val(search->stack, step);
}

static void leave(Search *search, guint32 node)
{
        search->colours[node] = BLACK;
        if (search->leave)
                search->leave(search, node);
        g_array_set_size(search->stack, search->stack->len - 1);
}

static void report_circle(Search *search, guint32 node)
{
        guint first = search->stack->len - 1;

        while (g_array_index(search->stack, Step, first).node != node)
                first--;
        search->circle(search, first);
}

static void search_from(Search *search, guint32 from)
{
        enter(search, from);
        while (search->stack->len) {
                Step *step = &g_array_index(search->stack, Step, search->stack->len - 1);
                guint32 node = step->node, next = search->next(search, node, &step->edge);

                if (next == (guint32)DEFINITION_NONE)
                        leave(search, node);
                else if (search->colours[next] == WHITE)
                        enter(search, next);
                else if (search->colours[next] == GREY)
                        report_circle(search, next);
        }
}

static void search_all(Search *search)
{
        guint32 n = search->draft->definition.n_components;

        search->colours = g_new0(guint8, n);
        search->stack = g_array_new(FALSE, FALSE, sizeof(Step));
        for (guint32 i = DEFINITION_FIRST; i < n; i++)
                if (search->colours[i] == WHITE)
                        search_from(search, i);
        g_array_unref(search->stack);
        g_free(search->colours);
}

enum { CIRCLE_SHOWN = 8 }; /* components of a circle that a message names */

/* "'a' needs 'b', 'b' needs 'a'" */
static char *circle_text(const Search *search, guint first, const char *verb)
{
        GString *out = g_string_new(NULL);
        guint n = search->stack->len - first;

        for (guint i = 0; i < n; i++) {
                guint32 from = g_array_index(search->stack, Step, first + i).node;
                guint32 to = g_array_index(search->stack, Step, first + (i + 1) % n).node;

                if (i == CIRCLE_SHOWN && n > CIRCLE_SHOWN + 1) {
                        g_string_append_printf(out, ", and %u more", n - i);
                        break;
                }
                g_string_append_printf(out, "%s'%.40s' %s '%.40s'", i ? ", " : "",
                                       component_name(&search->draft->definition, from), verb,
                                       component_name(&search->draft->definition, to));
        }
        return g_string_free(out, FALSE);
}

/* ---- dependencies ---- */

static guint32 next_dependency(Search *search, guint32 node, guint32 *edge)
{
        const Component *component = draft_component(search->draft, node);
        guint32 at = component->dependencies + (*edge)++;

        return at < component[1].dependencies ? g_array_index(search->draft->links, guint32, at)
                                              : (guint32)DEFINITION_NONE;
}

static void refuse_dependencies(Search *search, guint first)
{
        guint32 node = g_array_index(search->stack, Step, first).node;
        g_autofree char *text = circle_text(search, first, "needs");

        draft_refuse(search->draft, PE_09, draft_keys(search->draft, node)[KEY_DEPS], node, "deps",
                     "the dependencies form a circle: %s", text);
}

static void check_dependencies(Draft *draft)
{
        Search search = { .draft = draft, .next = next_dependency, .circle = refuse_dependencies };

        search_all(&search);
}

static void check_library(Draft *draft)
{
        for (guint32 i = draft_component(draft, DEFINITION_LIBRARY)->children;
             i < draft_component(draft, DEFINITION_LIBRARY + 1)->children; i++) {
                const Component *component = draft_component(draft, i);

                if (component->dependencies < component[1].dependencies)
                        draft_refuse(draft, PE_23, draft_keys(draft, i)[KEY_DEPS], i, "deps",
                                     "a component of the library has no dependencies\nPut 'deps' where the "
                                     "component is used.");
        }
}

/* ---- references ---- */

static guint32 next_used(Search *search, guint32 node, guint32 *edge)
{
        const Component *component = draft_component(search->draft, node);
        guint32 reference = component_extra(&search->draft->definition, node)->reference, at;

        if (reference)
                return (*edge)++ ? (guint32)DEFINITION_NONE : reference;
        at = component->children + (*edge)++;
        return at < component[1].children ? at : (guint32)DEFINITION_NONE;
}

static void refuse_references(Search *search, guint first)
{
        guint32 node = g_array_index(search->stack, Step, first).node;
        g_autofree char *text = circle_text(search, first, "uses");

        search->circles = true;
        draft_refuse(search->draft, PE_24, draft_component_node(search->draft, node), node, NULL,
                     "the references form a circle: %s", text);
}

/* All that this component uses is known. */
static void measure(Search *search, guint32 node)
{
        bool reference = component_extra(&search->draft->definition, node)->reference != 0;
        guint32 depth = 0, size = 1, edge = 0, next;

        while ((next = next_used(search, node, &edge)) != (guint32)DEFINITION_NONE) {
                depth = MAX(depth, search->depths[next]);
                size = MIN((guint32)DEFINITION_INSTANCES_MAX + 1, size + search->sizes[next]);
        }
        search->depths[node] = depth + (!reference && draft_component(search->draft, node)->dag);
        search->sizes[node] = size;
}

static void check_size(const Search *search)
{
        Draft *draft = search->draft;
        guint32 depth = 0, size = 0;

        for (guint32 i = draft_component(draft, DEFINITION_ROOT)->children;
             i < draft_component(draft, DEFINITION_ROOT + 1)->children; i++) {
                depth = MAX(depth, search->depths[i]);
                size = MIN((guint32)DEFINITION_INSTANCES_MAX + 1, size + search->sizes[i]);
        }
        if (depth > DEFINITION_DEPTH_MAX)
                draft_refuse(draft, PE_35, draft->top[KEY_ENTRY_POINTS], (guint32)DEFINITION_NONE,
                             "entry_points", "with all references, more than %d DAGs are in one another",
                             DEFINITION_DEPTH_MAX);
        if (size > DEFINITION_INSTANCES_MAX)
                draft_refuse(draft, PE_35, draft->top[KEY_ENTRY_POINTS], (guint32)DEFINITION_NONE,
                             "entry_points", "with all references, a run would have more than %d components",
                             DEFINITION_INSTANCES_MAX);
}

/* The component at the end of the chain of references; false if the chain is too long. */
static bool find_target(const Draft *draft, guint32 component, guint32 *ret)
{
        for (int i = 0; i <= DEFINITION_REFERENCES_MAX; i++) {
                guint32 reference = component_extra(&draft->definition, component)->reference;

                *ret = component;
                if (!reference)
                        return true;
                component = reference;
        }
        return false;
}

/* A circle has no target: its components stand for themselves. */
static void set_targets(Draft *draft, bool circles)
{
        for (guint32 i = DEFINITION_FIRST; i < draft->definition.n_components; i++) {
                guint32 extra = draft_component(draft, i)->extra, target;

                if (!extra || !g_array_index(draft->extras, Extra, extra).reference)
                        continue;
                if (find_target(draft, i, &target)) {
                        g_array_index(draft->extras, Extra, extra).target = target;
                } else if (!circles) {
                        draft_refuse(draft, PE_35, draft_component_node(draft, i), i, "reference",
                                     "a chain of more than %d references", DEFINITION_REFERENCES_MAX);
                        return;
                }
        }
}

static void check_uses(Draft *draft)
{
        guint32 n = draft->definition.n_components;
        g_autofree guint32 *depths = g_new0(guint32, n), *sizes = g_new0(guint32, n);
        Search search = { .draft = draft,
                          .next = next_used,
                          .circle = refuse_references,
                          .leave = measure,
                          .depths = depths,
                          .sizes = sizes };

        search_all(&search);
        check_size(&search);
        set_targets(draft, search.circles);
}

void check_graph(Draft *draft)
{
        check_names(draft);
        check_dependencies(draft);
        check_library(draft);
        check_uses(draft);
}
