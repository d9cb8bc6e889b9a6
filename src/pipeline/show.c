/* Trees of definitions (see show.h). */
#include "pipeline/show.h"

#include <string.h>

#include "base/err.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "pipeline/shown-text.h"

typedef struct {
        const Definition *definition;
        GString *out;
        GString *indent; /* of the lines of the tree that go on below this one */
        int width;       /* of the terminal; 0: no limit */
        int column;      /* where notes begin */
        bool utf8;
} Drawing;

enum {
        SHOWN_MAX = 60,  /* characters of a condition or loop */
        LEVEL = 3,       /* columns of a level of the tree */
        COLUMN_MAX = 40, /* a longer name moves its note, not the column */
        NOTE_MIN = 24,   /* columns that a note needs to be wrapped */
        NAMES_SHOWN = 6, /* dependencies that are named if there are many */
};

/* ---- notes ---- */

static void write_note(GString *notes, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void write_note(GString *notes, const char *format, ...)
{
        va_list args;

        g_string_append(notes, notes->len ? "; " : "");
        va_start(args, format);
        g_string_append_vprintf(notes, format, args);
        va_end(args);
}

static void write_dependencies(const Drawing *drawing, guint32 i, GString *notes)
{
        const Component *component = &drawing->definition->components[i];
        guint32 n = component[1].dependencies - component->dependencies;
        guint32 named = n > NAMES_SHOWN + 2 ? NAMES_SHOWN : n;
        g_autoptr(GString) names = g_string_new(NULL);

        for (guint32 k = component->dependencies; k < component->dependencies + named; k++)
                g_string_append_printf(names, "%s%s", names->len ? ", " : "",
                                       component_name(drawing->definition, drawing->definition->links[k]));
        if (named < n)
                g_string_append_printf(names, " and %u more", n - named);
        if (n)
                write_note(notes, "after %s", names->str);
}

/* One line, at most SHOWN_MAX characters. */
static char *shortened(const char *text)
{
        return g_strdelimit(text_cut(text, SHOWN_MAX, "..."), "\n\r\t", ' ');
}

/* Values of other components as where they come from. */
static char *shown_of(const Drawing *drawing, guint32 component, Text text)
{
        enum { BYTES_MAX = 4096 }; /* more than a line shows */
        g_autofree char *shown = text_shown(drawing->definition, component, text, BYTES_MAX);

        return shortened(shown);
}

static void write_loop(const Drawing *drawing, guint32 i, const Extra *extra, GString *notes)
{
        if (extra->loop.kind == VALUE_LIST) {
                g_autofree char *items = count_format(extra->loop.list.count, "item");

                write_note(notes, "loop over %s", items);
        } else {
                g_autofree char *list = shown_of(drawing, i, extra->loop.text);

                write_note(notes, "loop over %s", list);
        }
}

/* "after a, b; loop over 3 items"; the caller's. */
static char *notes_of(const Drawing *drawing, guint32 i)
{
        const Component *component = &drawing->definition->components[i];
        const Extra *extra = component_extra(drawing->definition, i);
        GString *notes = g_string_new(NULL);

        if (extra->reference)
                write_note(notes, "uses %s", component_name(drawing->definition, extra->reference));
        write_dependencies(drawing, i, notes);
        if (component->loops)
                write_loop(drawing, i, extra, notes);
        if (component->looks) {
                g_autofree char *condition = shown_of(drawing, i, extra->condition);

                write_note(notes, "if %s", condition);
        }
        if (component->disabled)
                write_note(notes, "disabled");
        return g_string_free(notes, FALSE);
}

/* The column behind the longest name of a section, up to COLUMN_MAX; on a narrow terminal half of it is for notes. */
static void find_column(Drawing *drawing, guint32 parent, int depth)
{
        const Component *component = &drawing->definition->components[parent];
        int max = drawing->width ? MIN((int)COLUMN_MAX, drawing->width / 2) : (int)COLUMN_MAX;

        for (guint32 i = component->children; i < component[1].children; i++) {
                int column = depth * LEVEL + (int)strlen(component_name(drawing->definition, i)) + 2;

                if (column <= max)
                        drawing->column = MAX(drawing->column, column);
                find_column(drawing, i, depth + 1);
        }
}

/* ---- lines ---- */

/* The end of the part of a note that fits into `columns`: behind its last blank, or the whole rest. */
static const char *line_end(const char *note, int columns)
{
        const char *end = NULL;
        int at = 0;

        for (const char *c = note; *c; c = g_utf8_next_char(c)) {
                if (*c == ' ' && c > note && (at <= columns || !end))
                        end = c;
                if (at >= columns && end)
                        return end;
                at += unichar_columns(g_utf8_get_char(c));
        }
        return note + strlen(note);
}

static void write_blanks(GString *out, int n)
{
        for (int i = 0; i < n; i++)
                g_string_append_c(out, ' ');
}

/* A new line below a component, as far as `column`; it keeps the lines of the tree. */
static void begin_line(const Drawing *drawing, int column, bool children)
{
        g_string_append_printf(drawing->out, "\n%s%s", drawing->indent->str,
                               !children       ? " "
                               : drawing->utf8 ? "│"
                                               : "|");
        write_blanks(drawing->out, column - text_columns(drawing->indent->str) - 1);
}

/* A note behind `at` columns. On a terminal it goes on in the lines below, and begins there behind a long name. */
static void write_notes(const Drawing *drawing, int at, const char *note, bool children)
{
        int column = MAX(drawing->column, at + 2);
        bool wraps = drawing->width && column + text_columns(note) > drawing->width;

        if (wraps && column > drawing->column) {
                column = MAX(drawing->column, text_columns(drawing->indent->str) + 2);
                begin_line(drawing, column, children);
        } else {
                write_blanks(drawing->out, column - at);
        }
        wraps = wraps && drawing->width - column >= NOTE_MIN;
        while (*note) {
                const char *end = wraps ? line_end(note, drawing->width - column) : note + strlen(note);

                g_string_append_len(drawing->out, note, end - note);
                note = end + (*end == ' ');
                if (*note)
                        begin_line(drawing, column, children);
        }
}

static void write_children(Drawing *drawing, guint32 parent);

static void write_component(Drawing *drawing, guint32 i, bool last)
{
        const Component *component = &drawing->definition->components[i];
        const char *name = component_name(drawing->definition, i);
        gsize indent = drawing->indent->len;
        g_autofree char *notes = notes_of(drawing, i);
        int at;

        g_string_append_printf(drawing->out, "%s%s%s", drawing->indent->str,
                               drawing->utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "), name);
        g_string_append(drawing->indent, last ? "   " : drawing->utf8 ? "│  " : "|  ");
        at = text_columns(drawing->indent->str) + (int)strlen(name);
        if (*notes)
                write_notes(drawing, at, notes, component->children < component[1].children);
        g_string_append_c(drawing->out, '\n');
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
        drawing->column = 0;
        find_column(drawing, root, 1);
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

char *definition_show(const Definition *definition, bool utf8, int width)
{
        Drawing drawing = { .definition = definition,
                            .out = g_string_new(NULL),
                            .indent = g_string_new(NULL),
                            .width = width,
                            .utf8 = utf8 };

        write_section(&drawing, DEFINITION_ROOT, definition_text(definition, definition->name));
        write_section(&drawing, DEFINITION_POST, "post_process");
        write_section(&drawing, DEFINITION_LIBRARY, "components");
        g_string_free(drawing.indent, TRUE);
        return g_string_free(drawing.out, FALSE);
}
