/* How a picture looks (see picture-box.h): sizes of texts and boxes, colours, signs. All colours are classes with two values,
 * for light and dark; a state has a sign of its own, too, so the picture can be read without colours. */
#include "base/text-cut.h"
#include "pipeline/picture-box.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

enum {
        NAME_SIZE = 13, /* pixels of a font */
        NOTE_SIZE = 11,
        HEADING_SIZE = 16,
        LINE = 15, /* height of a note */
        PAD = 10,  /* inside of a box */
        SIGN = 20, /* width of the sign of a state, with its gap */
        STEP_HEIGHT = 30,
        BAR = 5,         /* height of the bar of a loop */
        FRAME_PAD = 14,  /* around the components in a frame */
        HEAD = 26,       /* height of the title of a frame */
        GRID_GAP = 10,   /* between the boxes of a grid */
        STACK = 4,       /* distance of the boxes of a stack */
        MARGIN = 16,     /* around the picture */
        NAME_CHARS = 44, /* characters */
        NOTE_CHARS = 46,
        HEADING_CHARS = 60,
        ABOUT_CHARS = 110,
        WIDTH_MIN = 84,
        HALO = 4,       /* from a box to its outline of the longest chain */
        LEGEND = 20,    /* height of a line of the legend */
        SAMPLE = 26,    /* width of the sample of a line in it */
        ENTRY_GAP = 16, /* between its entries */
};

#define BOLD 1.12 /* the width of bold letters */

/* ---- boxes ---- */

Box *box_new(BoxKind kind, const char *name)
{
        Box *box = g_new0(Box, 1);

        box->kind = kind;
        box->state = BOX_DEFINITION;
        box->name = g_strdup(name);
        box->notes = g_ptr_array_new_with_free_func(g_free);
        return box;
}

void box_free(Box *box)
{
        if (!box)
                return;
        g_free(box->name);
        g_free(box->title);
        g_ptr_array_unref(box->notes);
        g_clear_pointer(&box->children, g_ptr_array_unref);
        g_clear_pointer(&box->lines, g_array_unref);
        g_clear_pointer(&box->routes, g_ptr_array_unref);
        g_free(box);
}

/* ---- sizes ---- */

/* The width of a character in a wide sans-serif font, as a part of its size: the reader's font is not known. */
static double width_of(gunichar c)
{
        if (c < 0x80) {
                if (strchr("ijl.,:;'|!", (int)c))
                        return 0.34;
                if (strchr("ftrI()[]\" -/", (int)c))
                        return 0.42;
                if (strchr("mwMW@%<>=+~&", (int)c))
                        return 0.95;
                return g_ascii_isupper(c) ? 0.74 : 0.62;
        }
        return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 1.05 : 0.66;
}

static double text_width(const char *text, int size)
{
        double width = 0;

        for (const char *c = text; *c; c = g_utf8_next_char(c))
                width += width_of(g_utf8_get_char(c));
        return width * size;
}

static bool is_several(const Box *box)
{
        return box->loops || box->kind == BOX_STACK;
}

static bool is_frame(const Box *box)
{
        return box->kind == BOX_FRAME || box->kind == BOX_GRID;
}

static bool has_bar(const Box *box)
{
        return is_several(box) && box->state != BOX_DEFINITION && box->count > 0;
}

static double head_width(const Box *box)
{
        g_autofree char *name = text_cut(box->name, NAME_CHARS, "…");
        double width = text_width(name, NAME_SIZE) * BOLD;

        for (guint i = 0; i < box->notes->len; i++) {
                g_autofree char *note = text_cut(box->notes->pdata[i], NOTE_CHARS, "…");

                width = MAX(width, text_width(note, NOTE_SIZE));
        }
        return ceil(MAX(width + 2 * PAD + (box->state == BOX_DEFINITION ? 0 : SIGN) + (box->looks ? PAD : 0),
                        (double)WIDTH_MIN));
}

static double head_height(const Box *box)
{
        return (box->children ? HEAD : STEP_HEIGHT) + box->notes->len * LINE +
               (has_bar(box) ? BAR + (box->children ? PAD : 4) : 0);
}

/* What is drawn behind a box of a stack, to the right and below. */
static double stack_of(const Box *box)
{
        return is_several(box) ? 2.0 * STACK : 0;
}

static void place_children(Box *box, bool down, double head)
{
        guint n = box->children->len, n_lines = box->lines->len;
        const LayoutGaps gaps = { .gap = down ? 30 : 38, .beside = down ? 18 : 14, .lane = 12 };
        g_autofree LayoutBox *boxes = g_new0(LayoutBox, n + 1);
        g_autofree LayoutEdge *edges = g_new0(LayoutEdge, n_lines + 1);
        g_auto(Layout) layout = { 0 };
        double inside;

        for (guint i = 0; i < n; i++) {
                const Box *child = box->children->pdata[i];
                double width = child->width + stack_of(child), height = child->height + stack_of(child);

                boxes[i] = (LayoutBox){ .length = down ? height : width, .breadth = down ? width : height };
        }
        for (guint i = 0; i < n_lines; i++) {
                const BoxLine *line = &g_array_index(box->lines, BoxLine, i);

                edges[i] = (LayoutEdge){ line->from, line->to };
        }
        layout_run(boxes, n, edges, n_lines, &gaps, &layout);
        inside = down ? layout.breadth : layout.length;
        box->width = MAX(box->width, inside + 2 * FRAME_PAD);
        box->inset = (box->width - inside) / 2;
        for (guint i = 0; i < n; i++) {
                Box *child = box->children->pdata[i];

                child->x = box->inset + (down ? boxes[i].across : boxes[i].along);
                child->y = head + (down ? boxes[i].along : boxes[i].across);
        }
        box->height = head + (down ? layout.length : layout.breadth) + FRAME_PAD;
        box->routes = g_steal_pointer(&layout.routes);
}

/* Rows of boxes of one size, about as wide as a page. */
static void place_grid(Box *box, double head)
{
        guint n = box->children->len, columns, rows;
        double width = 0, height = 0;

        for (guint i = 0; i < n; i++) {
                const Box *child = box->children->pdata[i];

                width = MAX(width, child->width + stack_of(child));
                height = MAX(height, child->height + stack_of(child));
        }
        columns = (guint)CLAMP(round(sqrt(n * 1.4 * (height + GRID_GAP) / (width + GRID_GAP))), 1, n);
        rows = (n + columns - 1) / columns;
        for (guint i = 0; i < n; i++) {
                Box *child = box->children->pdata[i];
                guint row = i / columns;

                child->x = FRAME_PAD + (i % columns) * (width + GRID_GAP);
                child->y = head + row * (height + GRID_GAP);
                child->width = width - stack_of(child);
                child->height = height - stack_of(child);
        }
        box->width = MAX(box->width, 2 * FRAME_PAD + columns * (width + GRID_GAP) - GRID_GAP);
        box->height = head + rows * (height + GRID_GAP) - GRID_GAP + FRAME_PAD;
        box->routes = g_ptr_array_new();
}

/* Steps side by side in a column have one width. */
static void widen_layers(Box *box)
{
        guint n = box->children->len;
        g_autofree LayoutEdge *edges = g_new0(LayoutEdge, box->lines->len + 1);
        g_autofree guint32 *layers = g_new0(guint32, n + 1);
        g_autofree double *widest = g_new0(double, n + 1);

        for (guint i = 0; i < box->lines->len; i++) {
                const BoxLine *line = &g_array_index(box->lines, BoxLine, i);

                edges[i] = (LayoutEdge){ line->from, line->to };
        }
        layout_layers(n, edges, box->lines->len, layers);
        for (int pass = 0; pass < 2; pass++)
                for (guint i = 0; i < n; i++) {
                        Box *child = box->children->pdata[i];
                        double stack = stack_of(child);

                        if (child->children)
                                continue;
                        if (pass == 0)
                                widest[layers[i]] = MAX(widest[layers[i]], child->width + stack);
                        else
                                child->width = widest[layers[i]] - stack;
                }
}

void box_place(Box *box, bool down)
{
        double head = head_height(box);

        g_clear_pointer(&box->routes, g_ptr_array_unref);
        box->down = down;
        box->width = head_width(box);
        box->height = head;
        if (!box->children)
                return;
        for (guint i = 0; i < box->children->len; i++)
                box_place(box->children->pdata[i], down);
        if (box->kind == BOX_GRID) {
                place_grid(box, head);
                return;
        }
        if (!down)
                widen_layers(box);
        place_children(box, down, head);
}

/* ---- text ---- */

/* Replaces what XML may not contain, and what could rearrange the text. */
static void put_text(GString *out, const char *text)
{
        for (const char *c = text; *c; c = g_utf8_next_char(c)) {
                gunichar letter = g_utf8_get_char(c);

                switch (letter) {
                case '&': g_string_append(out, "&amp;"); break;
                case '<': g_string_append(out, "&lt;"); break;
                case '>': g_string_append(out, "&gt;"); break;
                case '"': g_string_append(out, "&quot;"); break;
                default:
                        if ((unichar_is_control(letter) && letter != '\n' && letter != '\t') ||
                            (letter & 0xfffe) == 0xfffe)
                                g_string_append_c(out, '?');
                        else
                                g_string_append_unichar(out, letter);
                }
        }
}

/* One decimal, without a locale. */
static void put_number(GString *out, double number)
{
        char digits[G_ASCII_DTOSTR_BUF_SIZE];
        double rounded = round(number * 10) / 10;

        g_string_append(out, g_ascii_formatd(digits, sizeof digits, "%.6g", rounded + 0.0));
}

/* Appends `format`, in which each '#' is the next of the numbers. */
static void put_shape(GString *out, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        for (const char *c = format; *c; c++) {
                if (*c == '#')
                        put_number(out, va_arg(args, double));
                else
                        g_string_append_c(out, *c);
        }
        va_end(args);
}

static void put_words(GString *out, const char *class, double x, double y, const char *text)
{
        g_string_append_printf(out, "<text class=\"%s\"", class);
        put_shape(out, " x=\"#\" y=\"#\">", x, y);
        put_text(out, text);
        g_string_append(out, "</text>\n");
}

/* ---- signs of states ---- */

enum { LOOK_PAUSED = NODE_STATES, LOOKS, LOOK_CHAIN = LOOKS, LOOK_CONDITION, ENTRIES };

/* The class of a state, and its sign in a circle of radius 7 around 0, 0. */
static const struct {
        const char *class, *sign;
} looks[LOOKS] = {
        [NODE_NONE] = { "pending", "<circle class=\"paddle-ring\" r=\"6\"/>" },
        [NODE_LOOKING] = { "pending", "<circle class=\"paddle-ring\" r=\"6\"/>" },
        [NODE_STARTING] = { "pending", "<circle class=\"paddle-ring\" r=\"6\"/>" },
        [NODE_RUNNING] = { "running",
                           "<circle class=\"paddle-disc\" r=\"7\"/><path class=\"paddle-mark\" d=\"M-2-3.5L4 0L-2 3.5Z\"/>" },
        [NODE_STOPPING] = { "terminated",
                            "<circle class=\"paddle-ring\" r=\"6\"/><path class=\"paddle-stroke-own\" d=\"M-2.5-2.5h5v5h-5z\"/>" },
        [NODE_SUCCEEDED] = { "succeeded",
                             "<circle class=\"paddle-disc\" r=\"7\"/><path class=\"paddle-stroke\" d=\"M-3.5 0L-1 2.8L3.7-2.6\"/>" },
        [NODE_FAILED] = { "failed",
                          "<path class=\"paddle-disc\" d=\"M-3-7H3L7-3V3L3 7H-3L-7 3V-3Z\"/><path class=\"paddle-stroke\" "
                          "d=\"M-2.8-2.8L2.8 2.8M2.8-2.8L-2.8 2.8\"/>" },
        [NODE_TERMINATED] = { "terminated",
                              "<circle class=\"paddle-disc\" r=\"7\"/><path class=\"paddle-mark\" d=\"M-2.8-2.8h5.6v5.6h-5.6z\"/>" },
        [NODE_CANCELLED] = { "cancelled",
                             "<circle class=\"paddle-ring\" r=\"6\"/><path class=\"paddle-stroke-own\" d=\"M-4 4L4-4\"/>" },
        [NODE_SKIPPED] = { "skipped",
                           "<path class=\"paddle-stroke-own\" d=\"M-6-4L-1 0L-6 4M0-4L5 0L0 4\"/>" },
        [LOOK_PAUSED] = { "paused",
                          "<circle class=\"paddle-ring\" r=\"6\"/><path class=\"paddle-stroke-own\" d=\"M-2-2.5v5M2-2.5v5\"/>" },
};

/* Which of the looks; of a box with a state. */
static int look_of(const Box *box)
{
        return box->paused ? LOOK_PAUSED : box->queued ? NODE_NONE : box->state;
}

static void put_sign(GString *out, int look, double x, double y)
{
        g_string_append_printf(out, "<g class=\"paddle-s-%s\"", looks[look].class);
        put_shape(out, " transform=\"translate(# #)\">", x, y);
        g_string_append_printf(out, "%s</g>\n", looks[look].sign);
}

/* ---- boxes ---- */

static const char *class_of(const Box *box)
{
        return box->state != BOX_DEFINITION ? looks[look_of(box)].class : box->disabled ? "skipped" : "none";
}

static void put_rectangle(GString *out, const char *class, double x, double y, double width, double height,
                          int radius)
{
        g_string_append_printf(out, "<rect class=\"%s\"", class);
        put_shape(out, " x=\"#\" y=\"#\" width=\"#\" height=\"#\" rx=\"#\"/>\n", x, y, width, height,
                  (double)radius);
}

/* The parts of a bar, in the order of what a reader looks for. */
static const NodeState bar_parts[] = { NODE_SUCCEEDED, NODE_SKIPPED,    NODE_RUNNING,  NODE_STOPPING,
                                       NODE_FAILED,    NODE_TERMINATED, NODE_CANCELLED };

static void put_bar(GString *out, const Box *box, double x, double y, double width)
{
        double at = x;

        put_rectangle(out, "paddle-bar", x, y, width, BAR, 2);
        for (gsize i = 0; i < G_N_ELEMENTS(bar_parts); i++) {
                gint64 count = box->counts[bar_parts[i]];
                double part = width * (double)count / (double)MAX(box->count, 1);

                if (count == 0)
                        continue;
                part = MIN(MAX(part, 2), x + width - at);
                g_string_append_printf(out, "<g class=\"paddle-s-%s\">", looks[bar_parts[i]].class);
                put_rectangle(out, "paddle-disc", at, y, part, BAR, 0);
                g_string_append(out, "</g>\n");
                at += part;
        }
}

/* x, y: its top. */
static void put_diamond(GString *out, double x, double y)
{
        put_shape(out, "<path class=\"paddle-diamond\" d=\"M# #l6 6l-6 6l-6-6z\"/>\n", x, y);
}

static void put_head(GString *out, const Box *box)
{
        bool sign = box->state != BOX_DEFINITION;
        double x = PAD + (sign ? SIGN : 0), y = box->children ? 18 : 20;
        g_autofree char *name = text_cut(box->name, NAME_CHARS, "…");

        if (sign)
                put_sign(out, look_of(box), PAD + 6, y - 4.5);
        put_words(out, is_frame(box) ? "paddle-frame-name" : "paddle-name", x, y, name);
        for (guint i = 0; i < box->notes->len; i++) {
                g_autofree char *note = text_cut(box->notes->pdata[i], NOTE_CHARS, "…");

                put_words(out, "paddle-note", x, y + (i + 1) * LINE, note);
        }
        if (has_bar(box))
                put_bar(out, box, PAD, y + box->notes->len * LINE + 8, box->width - 2 * PAD);
        if (box->looks)
                put_diamond(out, box->width - 12, 4);
}

static const char *rectangle_class(const Box *box)
{
        return is_frame(box) ? "paddle-frame" : box->children ? "paddle-dag" : "paddle-box";
}

static void put_box(GString *out, const Box *box);

static void put_arrow(GString *out, const BoxLine *line, double x, double y, bool down)
{
        double wide = line->chain ? 5.5 : 4;

        g_string_append_printf(out, "<path class=\"paddle-arrow%s\" ", line->chain ? " paddle-chain" : "");
        if (down)
                put_shape(out, "d=\"M# #l# -8h#z\"/>\n", x, y, -wide, 2 * wide);
        else
                put_shape(out, "d=\"M# #l-8 #v#z\"/>\n", x, y, -wide, 2 * wide);
}

/* From the end of a box along its layer, and with a curve from each layer to the next; an arrow at the end. */
static void put_line(GString *out, const Box *box, const GArray *route, double head, const BoxLine *line)
{
        const LayoutPoint *points = (const LayoutPoint *)(const void *)route->data;
        guint n = route->len;
        double end = points[n - 1].along - 7; /* where the arrow begins */

        g_string_append_printf(out, "<path class=\"paddle-line%s%s\" d=\"",
                               line->always ? " paddle-always" : "", line->chain ? " paddle-chain" : "");
        for (guint i = 0; i < n; i++) {
                double along = i + 1 == n ? end : points[i].along;
                double before = i > 0 ? points[i - 1].along : 0, half = (before + along) / 2;
                double x = box->inset + (box->down ? points[i].across : along);
                double y = head + (box->down ? along : points[i].across);

                if (i == 0) {
                        put_shape(out, "M# #", x, y);
                } else if (i % 2 == 1) {
                        put_shape(out, "L# #", x, y);
                } else {
                        double across = points[i - 1].across;

                        if (box->down)
                                put_shape(out, "C# # # # # #", box->inset + across, head + half,
                                          box->inset + points[i].across, head + half, x, y);
                        else
                                put_shape(out, "C# # # # # #", box->inset + half, head + across,
                                          box->inset + half, head + points[i].across, x, y);
                }
        }
        g_string_append(out, "\"/>");
        put_arrow(out, line, box->inset + (box->down ? points[n - 1].across : points[n - 1].along),
                  head + (box->down ? points[n - 1].along : points[n - 1].across), box->down);
}

/* Lines of the longest chain lie above the others. */
static void put_children(GString *out, const Box *box)
{
        double head = head_height(box);

        for (int chain = 0; chain < 2; chain++)
                for (guint i = 0; i < box->routes->len; i++) {
                        const BoxLine *line = &g_array_index(box->lines, BoxLine, i);

                        if (line->chain == (chain == 1))
                                put_line(out, box, box->routes->pdata[i], head, line);
                }
        for (guint i = 0; i < box->children->len; i++)
                put_box(out, box->children->pdata[i]);
}

static void put_box(GString *out, const Box *box)
{
        const char *class = rectangle_class(box);
        int radius = box->children ? 8 : 6;

        g_string_append_printf(out, "<g class=\"paddle-s-%s\"", class_of(box));
        put_shape(out, " transform=\"translate(# #)\">", box->x, box->y);
        if (box->title) {
                g_string_append(out, "<title>");
                put_text(out, box->title);
                g_string_append(out, "</title>");
        }
        g_string_append_c(out, '\n');
        if (box->chain)
                put_rectangle(out, "paddle-halo", -HALO, -HALO, box->width + stack_of(box) + 2 * HALO,
                              box->height + stack_of(box) + 2 * HALO, radius + HALO);
        for (int i = is_several(box) ? 2 : 0; i >= 0; i--)
                put_rectangle(out, class, i * STACK, i * STACK, box->width, box->height, radius);
        put_head(out, box);
        if (box->children)
                put_children(out, box);
        g_string_append(out, "</g>\n");
}

/* ---- styles ---- */

/* Names of classes begin with paddle-, since a page may contain several pictures and its own styles. */
static const char style[] =
        "<style>\n"
        ".paddle-picture{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',sans-serif;"
        "--c-back:#fff;--c-text:#1f2328;--c-soft:#59636e;--c-line:#8c959f;--c-dag:#f6f8fa;--c-mark:#fff}\n"
        ".paddle-picture text{fill:#1f2328;fill:var(--c-text);font-size:13px}\n"
        ".paddle-picture .paddle-heading{font-size:16px;font-weight:600}\n"
        ".paddle-picture .paddle-name{font-weight:600}\n"
        ".paddle-picture .paddle-note,.paddle-picture .paddle-frame-name{font-size:11px;fill:#59636e;fill:var(--c-soft)}\n"
        ".paddle-picture .paddle-back{fill:#fff;fill:var(--c-back)}\n"
        ".paddle-picture .paddle-line{fill:none;stroke:#8c959f;stroke:var(--c-line);stroke-width:1.4}\n"
        ".paddle-picture .paddle-always{stroke-dasharray:5 4}\n"
        ".paddle-picture .paddle-arrow{fill:#8c959f;fill:var(--c-line)}\n"
        ".paddle-picture .paddle-line.paddle-chain{stroke:#1f2328;stroke:var(--c-text);stroke-width:3}\n"
        ".paddle-picture .paddle-arrow.paddle-chain{fill:#1f2328;fill:var(--c-text)}\n"
        ".paddle-picture .paddle-halo{fill:none;stroke:#1f2328;stroke:var(--c-text);stroke-width:2}\n"
        ".paddle-picture .paddle-box{fill:#fff;fill:var(--c-back);stroke:currentColor;stroke-width:1.4}\n"
        ".paddle-picture .paddle-dag{fill:#f6f8fa;fill:var(--c-dag);stroke:currentColor;stroke-width:1.2}\n"
        ".paddle-picture .paddle-frame{fill:none;stroke:#8c959f;stroke:var(--c-line);stroke-width:1;stroke-dasharray:2 4}\n"
        ".paddle-picture .paddle-bar{fill:#8c959f;fill:var(--c-line);opacity:.35}\n"
        ".paddle-picture .paddle-disc{fill:currentColor}\n"
        ".paddle-picture .paddle-ring{fill:none;stroke:currentColor;stroke-width:1.6}\n"
        ".paddle-picture .paddle-mark{fill:#fff;fill:var(--c-mark)}\n"
        ".paddle-picture .paddle-stroke{fill:none;stroke:#fff;stroke:var(--c-mark);stroke-width:2;stroke-linecap:round}\n"
        ".paddle-picture .paddle-stroke-own{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linecap:round}\n"
        ".paddle-picture .paddle-diamond{fill:#fff;fill:var(--c-back);stroke:#59636e;stroke:var(--c-soft);stroke-width:1.4}\n"
        ".paddle-picture .paddle-s-none{color:#6e7781}\n"
        ".paddle-picture .paddle-s-pending{color:#8c959f}\n"
        ".paddle-picture .paddle-s-running{color:#0969da}\n"
        ".paddle-picture .paddle-s-succeeded{color:#1a7f37}\n"
        ".paddle-picture .paddle-s-failed{color:#cf222e}\n"
        ".paddle-picture .paddle-s-terminated{color:#bc4c00}\n"
        ".paddle-picture .paddle-s-paused{color:#8250df}\n"
        ".paddle-picture .paddle-s-cancelled,.paddle-picture .paddle-s-skipped{color:#8c959f}\n"
        ".paddle-picture .paddle-s-pending>.paddle-box,.paddle-picture .paddle-s-cancelled>.paddle-box,"
        ".paddle-picture .paddle-s-skipped>.paddle-box,.paddle-picture .paddle-s-pending>.paddle-dag,"
        ".paddle-picture .paddle-s-cancelled>.paddle-dag,.paddle-picture .paddle-s-skipped>.paddle-dag{stroke-dasharray:4 3}\n"
        ".paddle-picture .paddle-s-failed>.paddle-box,.paddle-picture .paddle-s-running>.paddle-box{stroke-width:2.4}\n"
        "@media (prefers-color-scheme:dark){\n"
        ".paddle-picture{--c-back:#0d1117;--c-text:#e6edf3;--c-soft:#9198a1;--c-line:#656c76;--c-dag:#151b23;--c-mark:#0d1117}\n"
        ".paddle-picture .paddle-s-none,.paddle-picture .paddle-s-pending,.paddle-picture .paddle-s-cancelled,"
        ".paddle-picture .paddle-s-skipped{color:#7d8590}\n"
        ".paddle-picture .paddle-s-running{color:#4493f8}\n"
        ".paddle-picture .paddle-s-succeeded{color:#3fb950}\n"
        ".paddle-picture .paddle-s-failed{color:#f85149}\n"
        ".paddle-picture .paddle-s-terminated{color:#db6d28}\n"
        ".paddle-picture .paddle-s-paused{color:#ab7df8}\n"
        "}\n"
        "</style>\n";

/* ---- the legend ---- */

typedef struct {
        int look; /* index of looks, LOOK_CHAIN: the longest chain, or LOOK_CONDITION: the sign of a condition */
        const char *words;
        double x, y; /* set by place_legend: the corner of its line */
} Entry;

/* The looks of the boxes that are drawn, and of their bars. */
static void find_looks(const Box *box, bool found[ENTRIES])
{
        if (box->state != BOX_DEFINITION)
                found[look_of(box)] = true;
        for (gsize i = 0; has_bar(box) && i < G_N_ELEMENTS(bar_parts); i++)
                found[bar_parts[i]] |= box->counts[bar_parts[i]] > 0;
        found[LOOK_CONDITION] |= box->looks;
        for (guint i = 0; box->children && i < box->children->len; i++)
                find_looks(box->children->pdata[i], found);
}

static double entry_width(const Entry *entry)
{
        return (entry->look == LOOK_CHAIN ? SAMPLE + 8 : SIGN) + text_width(entry->words, NOTE_SIZE);
}

/* The entries, each sign once. */
static guint list_entries(const Box *box, const BoxPage *page, Entry ret[ENTRIES])
{
        bool found[ENTRIES] = { false };
        guint n = 0;

        find_looks(box, found);
        if (page->chain)
                ret[n++] = (Entry){ .look = LOOK_CHAIN, .words = page->chain };
        for (int look = 0; look < LOOKS; look++)
                if (found[look] && look != NODE_LOOKING && look != NODE_STARTING)
                        ret[n++] = (Entry){ .look = look,
                                            .words = look == LOOK_PAUSED     ? "paused"
                                                     : look == NODE_NONE     ? "waits"
                                                     : look == NODE_STOPPING ? "stopping"
                                                                             : looks[look].class };
        if (found[LOOK_CONDITION])
                ret[n++] = (Entry){ .look = LOOK_CONDITION, .words = "has a condition" };
        return n;
}

/* In lines of this width, from 0, 0. Returns their height. */
static double place_legend(Entry *entries, guint n, double width)
{
        double x = 0, y = 0;

        for (guint i = 0; i < n; i++) {
                double wide = entry_width(&entries[i]);

                if (x > 0 && x + wide > width) {
                        x = 0;
                        y += LEGEND;
                }
                entries[i].x = x;
                entries[i].y = y;
                x += wide + ENTRY_GAP;
        }
        return n > 0 ? y + LEGEND : 0;
}

static void put_entry(GString *out, const Entry *entry, double x, double y)
{
        double middle = y + LEGEND / 2.0;

        if (entry->look != LOOK_CHAIN) {
                if (entry->look == LOOK_CONDITION)
                        put_diamond(out, x + 7, middle - 6);
                else
                        put_sign(out, entry->look, x + 7, middle);
                put_words(out, "paddle-note", x + SIGN, middle + 4, entry->words);
                return;
        }
        put_shape(out, "<path class=\"paddle-line paddle-chain\" d=\"M# #h#\"/>\n", x, middle,
                  (double)SAMPLE);
        put_words(out, "paddle-note", x + SAMPLE + 8, middle + 4, entry->words);
}

/* ---- the page ---- */

/* The lines above a picture, and the size that it needs. */
typedef struct {
        char *heading, *about[G_N_ELEMENTS(((BoxPage *)NULL)->about)];
        double width, height; /* of them */
} Top;

static void top_clear(Top *top)
{
        g_free(top->heading);
        for (gsize i = 0; i < G_N_ELEMENTS(top->about); i++)
                g_free(top->about[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Top, top_clear)

static void measure_top(const BoxPage *page, Top *ret)
{
        ret->heading = text_cut(page->heading, HEADING_CHARS, "…");
        ret->width = text_width(ret->heading, HEADING_SIZE) * BOLD;
        ret->height = MARGIN + HEADING_SIZE + PAD + (page->chain ? HALO : 0);
        for (gsize i = 0; i < G_N_ELEMENTS(page->about) && page->about[i]; i++) {
                ret->about[i] = text_cut(page->about[i], ABOUT_CHARS, "…");
                ret->width = MAX(ret->width, text_width(ret->about[i], NOTE_SIZE));
                ret->height += LINE;
        }
}

static void put_top(GString *out, const Top *top)
{
        put_words(out, "paddle-heading", MARGIN, MARGIN + HEADING_SIZE - 3, top->heading);
        for (gsize i = 0; i < G_N_ELEMENTS(top->about) && top->about[i]; i++)
                put_words(out, "paddle-note", MARGIN, MARGIN + HEADING_SIZE + (i + 1.0) * LINE,
                          top->about[i]);
}

char *box_draw(const Box *box, const BoxPage *page)
{
        GString *out = g_string_new(NULL);
        g_auto(Top) top = { 0 };
        Entry entries[ENTRIES];
        guint n = list_entries(box, page, entries);
        double head = head_height(box), width, height, legend, below;

        measure_top(page, &top);
        width = ceil(MAX(box->width - 2 * FRAME_PAD, top.width) + 2 * MARGIN);
        legend = place_legend(entries, n, width - 2 * MARGIN);
        below = top.height + box->height - head - FRAME_PAD + (legend > 0 ? PAD : 0);
        height = ceil(below + legend + MARGIN);
        put_shape(
                out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"paddle-picture\" role=\"img\" width=\"#\" "
                "height=\"#\" viewBox=\"0 0 # #\" style=\"max-width:100%;height:auto\">\n<title>",
                width, height, width, height);
        put_text(out, page->heading);
        g_string_append(out, "</title>\n");
        g_string_append(out, style);
        put_rectangle(out, "paddle-back", 0, 0, width, height, 8);
        put_top(out, &top);
        put_shape(out, "<g transform=\"translate(# #)\">\n", (double)MARGIN - box->inset, top.height - head);
        put_children(out, box);
        g_string_append(out, "</g>\n");
        for (guint i = 0; i < n; i++)
                put_entry(out, &entries[i], MARGIN + entries[i].x, below + entries[i].y);
        g_string_append(out, "</svg>\n");
        return g_string_free(out, FALSE);
}
