/* Checks of the environment that all steps share: in the body of a run as JSON, its key `env`. It is compiled once, as
 * variables of DEFINITION_ROOT. A template in it names a system variable, or a parameter that each step that takes the
 * variable must have (PE-10).
 *
 * Steps times variables may be any number. So a step is asked once for each name of a parameter, and a name is
 * reported once. */
#include "base/err.h"
#include "pipeline/draft.h"

/* The variable has a template with this parameter. */
typedef struct {
        guint32 parameter, variable;
} Use;

/* The uses [first, end) of one parameter. */
typedef struct {
        guint32 parameter;
        guint first, end;
} Need;

static void refuse_two_parts(Draft *draft, guint32 variable, const char *suffix, const Piece *piece)
{
        draft_refuse(
                draft, PE_14, draft_value_node(draft, variable), (guint32)DEFINITION_NONE, suffix,
                "'{{%.64s.%.64s}}' is not possible in env\nGive the steps a parameter with the value, and use that.",
                draft->texts->str + piece->part1, draft->texts->str + piece->name);
}

static void check_value(Draft *draft, guint32 variable, const char *suffix, GArray *uses)
{
        const Text *text = &draft_variable(draft, variable)->text;

        for (guint32 i = text->pieces; i; i++) {
                Piece *piece = &g_array_index(draft->pieces, Piece, i);
                SystemVariable system = system_variable_find(draft->texts->str + piece->name);

                if (piece->kind == PIECE_TEMPLATE && piece->part1) {
                        refuse_two_parts(draft, variable, suffix, piece);
                } else if (piece->kind == PIECE_TEMPLATE && system < SYSTEM_VARIABLES) {
                        piece->kind = PIECE_SYSTEM;
                        piece->component = system;
                } else if (piece->kind == PIECE_TEMPLATE) {
                        Use use = { piece->name, variable };

                        piece->kind = PIECE_PARAMETER;
                        g_array_append_val(uses, use);
                }
                if (piece->last)
                        return;
        }
}

static void check_variable(Draft *draft, guint32 variable, GArray *uses)
{
        const char *name = draft->texts->str + draft_variable(draft, variable)->name;
        g_autofree char *suffix = g_strdup_printf("env.%s", name), *shown = err_shown(name);

        if (!variable_name_is_valid(name))
                draft_refuse(draft, PE_06, draft_variable_node(draft, variable), (guint32)DEFINITION_NONE,
                             suffix, DRAFT_NAME_FAULT, shown);
        check_value(draft, variable, suffix, uses);
}

static int by_parameter(const void *a, const void *b)
{
        const Use *one = a, *two = b;

        if (one->parameter != two->parameter)
                return one->parameter < two->parameter ? -1 : 1;
        return one->variable < two->variable ? -1 : one->variable > two->variable;
}

static GArray *needs_of(const GArray *uses)
{
        GArray *needs = g_array_new(FALSE, FALSE, sizeof(Need));

        for (guint i = 0; i < uses->len; i++) {
                guint32 parameter = g_array_index(uses, Use, i).parameter;
                Need need = { parameter, i, i + 1 };

                if (needs->len && g_array_index(needs, Need, needs->len - 1).parameter == parameter)
                        g_array_index(needs, Need, needs->len - 1).end = i + 1;
                else
                        g_array_append_val(needs, need);
        }
        return needs;
}

/* The first use that reaches the step, or NULL: a variable of its own may have the same name. */
static const Use *find_use(const Draft *draft, guint32 step, const GArray *uses, const Need *need)
{
        for (guint i = need->first; i < need->end; i++) {
                const Use *use = &g_array_index(uses, Use, i);
                guint32 name = draft_variable(draft, use->variable)->name;

                if (component_find(&draft->definition, step, ROLE_ENV, name) == (guint32)DEFINITION_NONE)
                        return use;
        }
        return NULL;
}

static void refuse(Draft *draft, guint32 step, const Use *use)
{
        const char *name = draft->texts->str + use->parameter;
        const char *variable = draft->texts->str + draft_variable(draft, use->variable)->name;
        g_autofree char *suffix = g_strdup_printf("env.%s", variable);
        g_autofree char *hint =
                draft_nearest(draft_nearest_variable(draft, step, 1U << ROLE_PARAMETER, name));

        draft_refuse(draft, PE_10, draft_value_node(draft, use->variable), (guint32)DEFINITION_NONE, suffix,
                     "every step takes this variable, but the step '%s' has no parameter '%.64s'%s",
                     component_name(&draft->definition, step), name, hint);
}

/* True if the step has the parameter, or takes none of the variables. */
static bool is_met(Draft *draft, guint32 step, const GArray *uses, const Need *need)
{
        const Use *use;

        if (component_find(&draft->definition, step, ROLE_PARAMETER, need->parameter) !=
            (guint32)DEFINITION_NONE)
                return true;
        use = find_use(draft, step, uses, need);
        if (use && !draft_is_refused(draft, step, KEY_PARAMETERS))
                refuse(draft, step, use);
        return !use;
}

/* A need that is not met is reported, and removed. */
static void check_step(Draft *draft, guint32 step, const GArray *uses, GArray *needs)
{
        guint kept = 0;

        for (guint i = 0; i < needs->len; i++) {
                Need need = g_array_index(needs, Need, i);

                if (is_met(draft, step, uses, &need))
                        g_array_index(needs, Need, kept++) = need;
        }
        g_array_set_size(needs, kept);
}

static bool takes_environment(const Draft *draft, guint32 i)
{
        const Component *component = draft_component(draft, i);

        return !component->dag && !component->disabled && !draft_keys(draft, i)[KEY_REFERENCE];
}

void check_environment(Draft *draft)
{
        g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(Use)), needs = NULL;

        for (guint32 k = draft_component(draft, DEFINITION_ROOT)->variables;
             k < draft_component(draft, DEFINITION_ROOT + 1)->variables; k++)
                check_variable(draft, k, uses);
        g_array_sort(uses, by_parameter);
        needs = needs_of(uses);
        for (guint32 i = DEFINITION_FIRST; needs->len && i < draft->definition.n_components; i++)
                if (takes_environment(draft, i))
                        check_step(draft, i, uses, needs);
}
