/* Trees of definitions (see show.h). */
#include "pipeline/show.h"

#include <string.h>

#include "base/err.h"
#include "base/word.h"

typedef struct {
        const Definition *definition;
        GString *out;
        GString *indent;
        bool utf8;
} Drawing;

enum { SHOWN_MAX = 60 }; /* characters of a condition or loop */

static const char *text_of(const Drawing *drawing, guint32 text)
{
        return definition_text(drawing->definition, text);
}

static void write_note(Drawing *drawing, bool *begun, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void write_note(Drawing *drawing, bool *begun, const char *format, ...)
{
        va_list args;

        g_string_append(drawing->out, *begun ? "; " : "  ");
        *begun = true;
        va_start(args, format);
        g_string_append_vprintf(drawing->out, format, args);
        va_end(args);
}

static void write_dependencies(Drawing *drawing, guint32 i, bool *begun)
{
        const Component *component = &drawing->definition->components[i];
        g_autoptr(GString) names = g_string_new(NULL);

        for (guint32 k = component->dependencies; k < component[1].dependencies; k++)
                g_string_append_printf(names, "%s%s", names->len ? ", " : "",
                                       component_name(drawing->definition, drawing->definition->links[k]));
        if (names->len)
                write_note(drawing, begun, "after %s", names->str);
}

/* One line, at most SHOWN_MAX characters. */
static char *shortened(const char *text)
{
        g_autofree char *line = g_strdup(text), *cut = NULL;

        g_strdelimit(line, "\n\r\t", ' ');
        if (g_utf8_strlen(line, -1) <= SHOWN_MAX)
                return g_steal_pointer(&line);
        cut = g_utf8_substring(line, 0, SHOWN_MAX - 3);
        return g_strconcat(cut, "...", NULL);
}

static void write_loop(Drawing *drawing, const Extra *extra, bool *begun)
{
        if (extra->loop.kind == VALUE_LIST) {
                g_autofree char *items = count_format(extra->loop.list.count, "item");

                write_note(drawing, begun, "loop over %s", items);
        } else {
                write_note(drawing, begun, "loop over %s", text_of(drawing, extra->loop.text.text));
        }
}

static void write_notes(Drawing *drawing, guint32 i)
{
        const Component *component = &drawing->definition->components[i];
        const Extra *extra = component_extra(drawing->definition, i);
        bool begun = false;

        if (extra->reference)
                write_note(drawing, &begun, "uses %s", component_name(drawing->definition, extra->reference));
        write_dependencies(drawing, i, &begun);
        if (component->loops)
                write_loop(drawing, extra, &begun);
        if (component->looks) {
                g_autofree char *condition = shortened(text_of(drawing, extra->condition.text));

                write_note(drawing, &begun, "if %s", condition);
        }
        if (component->disabled)
                write_note(drawing, &begun, "disabled");
}

static void write_children(Drawing *drawing, guint32 parent);

static void write_component(Drawing *drawing, guint32 i, bool last)
{
        gsize indent = drawing->indent->len;

        g_string_append_printf(drawing->out, "%s%s%s", drawing->indent->str,
                               drawing->utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "),
                               component_name(drawing->definition, i));
        write_notes(drawing, i);
        g_string_append_c(drawing->out, '\n');
        g_string_append(drawing->indent, last ? "   " : drawing->utf8 ? "│  " : "|  ");
        write_children(drawing, i);
        g_string_truncate(drawing->indent, indent);
}

/* The recursion is bounded by DEFINITION_DEPTH_MAX. */
static void write_children(Drawing *drawing, guint32 parent)
{
        const Component *component = &drawing->definition->components[parent];

        for (guint32 i = component->children; i < component[1].children; i++)
                write_component(drawing, i, i + 1 == component[1].children);
}

static void write_section(Drawing *drawing, guint32 root, const char *title)
{
        const Component *component = &drawing->definition->components[root];

        if (component->children == component[1].children)
                return;
        g_string_append_printf(drawing->out, "%s\n", title);
        write_children(drawing, root);
}

char *definition_count(const Definition *definition)
{
        g_autofree char *steps = NULL, *dags = NULL;
        int n_dags = 0;

        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++)
                n_dags += definition->components[i].dag;
        steps = count_format((gint64)definition->n_components - DEFINITION_FIRST - n_dags, "step");
        dags = n_dags ? count_format(n_dags, "DAG") : NULL;
        return dags ? g_strdup_printf("%s, %s", steps, dags) : g_steal_pointer(&steps);
}

char *definition_show(const Definition *definition, bool utf8)
{
        Drawing drawing = { .definition = definition,
                            .out = g_string_new(NULL),
                            .indent = g_string_new(NULL),
                            .utf8 = utf8 };

        write_section(&drawing, DEFINITION_ROOT, definition_text(definition, definition->name));
        write_section(&drawing, DEFINITION_POST, "post_process");
        write_section(&drawing, DEFINITION_LIBRARY, "components");
        g_string_free(drawing.indent, TRUE);
        return g_string_free(drawing.out, FALSE);
}
