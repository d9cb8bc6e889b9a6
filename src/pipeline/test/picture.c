/* Pictures: boxes do not overlap, lines go around boxes, texts are escaped, large definitions stay small, and the states of a
 * run are in its picture. */
#include "pipeline/picture.h"

#include "base/cancel.h"
#include "base/test/seed.h"
#include "pipeline/layout.h"
#include "pipeline/run-chain.h"
#include "pipeline/run.h"
#include "pipeline/test/parse.h"

/* ---- layout ---- */

static const LayoutGaps gaps = { .gap = 30, .beside = 10, .lane = 6 };

static bool overlaps(double a, double a_size, double b, double b_size)
{
        return a < b + b_size - 0.001 && b < a + a_size - 0.001;
}

/* A line that passes a layer keeps its distance from the boxes there. */
static void check_route(const GArray *route, const LayoutBox *boxes, guint n, const LayoutEdge *edge)
{
        for (guint p = 1; p + 1 < route->len; p += 2) {
                const LayoutPoint *from = &g_array_index(route, LayoutPoint, p - 1), *to = from + 1;

                g_assert_cmpfloat(from->along, <=, to->along);
                g_assert_cmpfloat(from->across, ==, to->across);
                for (guint i = 0; i < n && p > 1; i++)
                        if (overlaps(boxes[i].along, boxes[i].length, from->along, to->along - from->along))
                                g_assert_false(
                                        overlaps(boxes[i].across, boxes[i].breadth, from->across - 1, 2));
        }
        g_assert_cmpfloat(g_array_index(route, LayoutPoint, route->len - 1).along, ==, boxes[edge->to].along);
}

static void check_layout(const LayoutBox *boxes, guint n, const LayoutEdge *edges, guint n_edges,
                         const Layout *layout)
{
        for (guint i = 0; i < n; i++) {
                g_assert_cmpfloat(boxes[i].along, >=, 0);
                g_assert_cmpfloat(boxes[i].across, >=, -0.001);
                g_assert_cmpfloat(boxes[i].along + boxes[i].length, <=, layout->length + 0.001);
                g_assert_cmpfloat(boxes[i].across + boxes[i].breadth, <=, layout->breadth + 0.001);
                for (guint k = 0; k < i; k++)
                        g_assert_false(
                                overlaps(boxes[i].along, boxes[i].length, boxes[k].along, boxes[k].length) &&
                                overlaps(boxes[i].across, boxes[i].breadth, boxes[k].across,
                                         boxes[k].breadth));
        }
        for (guint e = 0; e < n_edges; e++) {
                g_assert_cmpfloat(boxes[edges[e].from].along + boxes[edges[e].from].length + gaps.gap, <=,
                                  boxes[edges[e].to].along + 0.001);
                check_route(layout->routes->pdata[e], boxes, n, &edges[e]);
        }
}

static void test_layout(void)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        for (int round = 0; round < 100; round++) {
                guint n = (guint)g_rand_int_range(rand, 1, 30), n_edges = 0;
                LayoutBox boxes[30] = { 0 };
                LayoutEdge edges[60];
                g_auto(Layout) layout = { 0 };

                for (guint i = 0; i < n; i++) {
                        boxes[i].length = g_rand_int_range(rand, 10, 200);
                        boxes[i].breadth = g_rand_int_range(rand, 10, 200);
                }
                for (guint i = 1; i < n; i++)
                        for (int k = g_rand_int_range(rand, 0, 3); k > 0; k--)
                                edges[n_edges++] =
                                        (LayoutEdge){ (guint32)g_rand_int_range(rand, 0, (gint)i), i };
                layout_run(boxes, n, edges, n_edges, &gaps, &layout);
                check_layout(boxes, n, edges, n_edges, &layout);
        }
}

/* Two chains that are written crosswise are drawn without a crossing: side by side, straight. */
static void test_order(void)
{
        LayoutBox boxes[] = { { 10, 10 }, { 10, 10 }, { 10, 10 }, { 10, 10 } };
        const LayoutEdge edges[] = { { 0, 3 }, { 1, 2 } };
        g_auto(Layout) layout = { 0 };

        layout_run(boxes, 4, edges, 2, &gaps, &layout);
        g_assert_cmpfloat(boxes[0].across, ==, boxes[3].across);
        g_assert_cmpfloat(boxes[1].across, ==, boxes[2].across);
        g_assert_cmpuint(boxes[3].layer, ==, 1);
}

/* ---- definitions ---- */

static char *draw(const Definition *definition)
{
        return picture_draw(&(Picture){ .definition = definition });
}

static guint count(const char *text, const char *word)
{
        guint n = 0;

        for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
                n++;
        return n;
}

/* Well-formed, and nothing in it comes from elsewhere or runs. */
static void check_svg(const char *svg)
{
        GMarkupParser none = { 0 };
        GMarkupParseContext *context = g_markup_parse_context_new(&none, 0, NULL, NULL);
        g_autoptr(GError) error = NULL;

        g_markup_parse_context_parse(context, svg, -1, &error);
        g_assert_no_error(error);
        g_markup_parse_context_end_parse(context, &error);
        g_assert_no_error(error);
        g_markup_parse_context_free(context);
        g_assert_cmpuint(count(svg, "http"), ==, 1); /* the name space */
        g_assert_null(strstr(svg, "<script"));
        g_assert_null(strstr(svg, "url("));
        g_assert_null(strstr(svg, " id="));
}

typedef struct {
        const char *name, *text;
        const char *has[6], *lacks[3]; /* NULL ends them */
} Case;

static const Case cases[] = {
        { "a line for each dependency",
          "entry_points:\n  a: {command: x}\n  b: {command: x, deps: a}\n  c: {command: x, deps: 'a,b'}\n",
          { ">a</text>", "after: a, b", "3 steps" },
          { "entry points" } },
        { "a loop and a condition",
          "entry_points:\n  a: {command: x, loop_argument: [1, 2], condition: '1 < 2'}\n",
          { ">loop over 2 items<", ">if 1 &lt; 2<", "paddle-diamond\" d" },
          { NULL } },
        { "a DAG, and what it contains",
          "entry_points:\n  d: {entry_points: {a: {command: x}}}\n",
          { "paddle-dag\" x", ">d</text>", ">a</text>" },
          { NULL } },
        { "a library component is drawn where it is used",
          "entry_points:\n  a: {reference: {component: l}}\ncomponents:\n  l: {entry_points: {inner: {command: x}}}\n",
          { ">uses l<", ">inner</text>" },
          { NULL } },
        { "post_process has a frame",
          "entry_points:\n  a: {command: x}\npost_process:\n  p: {command: x}\n",
          { "paddle-frame\" x", ">post_process<", "paddle-line paddle-always\" d" },
          { NULL } },
        { "a disabled step", "disabled: a\nentry_points:\n  a: {command: x}\n", { ">disabled<" }, { NULL } },
        { "texts are escaped",
          "entry_points:\n  a: {command: \"echo \\\"</title><script>alert(1)</script>&\\\" ]]>\\a\\n'\"}\n",
          { "command: echo &quot;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot; ]]&gt;? '" },
          { "<script", "\a" } },
};

static void test_case(gconstpointer data)
{
        const Case *c = data;
        g_autoptr(Definition) definition = parse_valid(c->text, NULL);
        g_autofree char *svg = draw(definition);

        check_svg(svg);
        for (gsize i = 0; i < G_N_ELEMENTS(c->has) && c->has[i]; i++)
                if (!strstr(svg, c->has[i]))
                        g_error("'%s' is not in %s", c->has[i], svg);
        for (gsize i = 0; i < G_N_ELEMENTS(c->lacks) && c->lacks[i]; i++)
                g_assert_null(strstr(svg, c->lacks[i]));
}

/* ---- large ones ---- */

typedef enum { CHAIN, FAN, FULL, NESTED, FEW } Shape;

static char *text_of(Shape shape, int n)
{
        GString *text = g_string_new("entry_points:\n");
        g_autoptr(GString) all = g_string_new(NULL);

        for (int i = 0; i < n; i++) {
                g_string_append_printf(all, "%sa%d", i ? "," : "", i);
                g_string_append_printf(text, "  a%d: {", i);
                if (shape == CHAIN && i > 0)
                        g_string_append_printf(text, "deps: a%d, ", i - 1);
                g_string_append(text, shape == NESTED
                                              ? "entry_points: {x: {command: x}, y: {command: x, deps: x}}}\n"
                                              : "command: x}\n");
        }
        for (int i = 0; shape == FULL && i < n; i++)
                g_string_append_printf(text, "  b%d: {command: x, deps: '%s'}\n", i, all->str);
        if (shape == FAN || shape == FEW)
                g_string_append_printf(text, "  end: {command: x, deps: '%s'}\n", all->str);
        return g_string_free(text, FALSE);
}

static const struct {
        const char *name;
        Shape shape;
        int n;
        guint boxes; /* that are drawn */
        const char *has;
} large[] = {
        { "few alike are a grid", FEW, 60, 61, ">60 steps<" },
        { "many alike are a stack", FAN, 5000, 2, ">5000 components<" },
        { "all of one layer before all of another", FULL, 100, 200, ">100 steps<" },
        { "a long chain is a row of stacks", CHAIN, 20000, 40, ">500 components<" },
        { "too many DAGs are drawn as boxes", NESTED, 300, 300, ">2 components<" },
};

static void test_large(gconstpointer data)
{
        gsize i = GPOINTER_TO_SIZE(data);
        g_autofree char *text = text_of(large[i].shape, large[i].n);
        g_autoptr(Definition) definition = parse_valid(text, NULL);
        g_autofree char *svg = draw(definition);
        guint boxes = count(svg, "<title>") - 1;

        check_svg(svg);
        g_assert_cmpuint(boxes, ==, large[i].boxes);
        g_assert_nonnull(strstr(svg, large[i].has));
        g_assert_cmpuint(strlen(svg), <, 300 * 1000);
}

/* As many boxes as are drawn, each with as much text as is shown: of commands, conditions and loops only the beginning. */
static void test_long_texts(void)
{
        g_autofree char *quotes = g_strnfill(200 * 1000, '"');
        g_autoptr(GString) text = g_string_new("entry_points:\n");
        g_autoptr(Definition) definition = NULL;
        g_autofree char *svg = NULL;

        for (int i = 0; i < PICTURE_BOXES_MAX; i++)
                g_string_append_printf(text, "  a%d: {reference: {component: l}, deps: '%s'}\n", i,
                                       i ? "a0" : "");
        g_string_append_printf(text, "components:\n  l: {command: '%s', docker_env: '%.255s'}\n", quotes,
                               quotes);
        definition = parse_valid(text->str, NULL);
        svg = draw(definition);
        check_svg(svg);
        g_assert_cmpuint(strlen(svg), <, PICTURE_BYTES_MAX);
        g_assert_nonnull(strstr(svg, "&quot;…"));
}

static bool is_over(void *arg)
{
        return true;
}

static void test_cancelled(void)
{
        g_autofree char *text = text_of(FAN, 100);
        g_autoptr(Definition) definition = parse_valid(text, NULL);
        g_autofree char *svg = NULL;

        cancel_begin(is_over, NULL);
        svg = draw(definition);
        cancel_end();
        g_assert_null(svg);
}

/* ---- runs ---- */

#define NOW 1772359200000 /* 2026-03-01T10:00:00Z */
#define RUN_TEXT                                                                                                                            \
        "entry_points:\n  a: {command: x}\n  many: {command: x, deps: a, loop_argument: [1, 2, 3, 4]}\n"                                    \
        "  d: {deps: a, loop_argument: [1, 2], entry_points: {x: {command: x}, y: {command: x, deps: x}}}\n  e: {command: x, deps: many}\n" \
        "post_process:\n  p: {command: x}\n"

static void add(RunParts *parts, guint32 node, guint32 dag, guint32 component, guint32 number,
                NodeState state, gint64 seconds)
{
        run_parts_add(parts,
                      &(RunNodeRecord){ .node = node,
                                        .dag = dag,
                                        .component = component,
                                        .number = number,
                                        .state = state,
                                        .started = NOW - 10000,
                                        .finished = node_is_final(state) ? NOW - 10000 + seconds * 1000 : 0,
                                        .inner = component == 5,
                                        .message = state == NODE_FAILED ? "exit <3>" : NULL });
}

static RunParts *parts_of(const Definition *definition)
{
        RunParts *parts = run_parts_new(definition, NOW - 10000);
        guint32 a = component_named(definition, "a"), many = component_named(definition, "many");
        guint32 d = component_named(definition, "d"), x = component_named(definition, "d.x");

        g_assert_cmpuint(d, ==, 5);
        add(parts, 2, RUN_ROOT, a, 0, NODE_SUCCEEDED, 1);
        add(parts, 3, RUN_ROOT, many, 0, NODE_SUCCEEDED, 2);
        add(parts, 4, RUN_ROOT, many, 1, NODE_FAILED, 3);
        add(parts, 5, RUN_ROOT, many, 2, NODE_RUNNING, 0);
        add(parts, 7, RUN_ROOT, d, 0, NODE_SUCCEEDED, 4);
        add(parts, 8, RUN_ROOT, d, 1, NODE_SUCCEEDED, 5);
        add(parts, 9, 7, x, 0, NODE_SUCCEEDED, 1);
        add(parts, 10, 8, x, 0, NODE_SUCCEEDED, 2);
        run_parts_add_child(parts,
                            &(RunChildRecord){ .dag = RUN_ROOT, .component = many, .first = 3, .count = 4 });
        run_parts_add_child(parts,
                            &(RunChildRecord){ .dag = RUN_ROOT, .component = d, .first = 7, .count = 2 });
        run_parts_add_child(parts, &(RunChildRecord){ .dag = 7, .component = x + 1, .rest = NODE_CANCELLED });
        run_parts_add_child(parts, &(RunChildRecord){ .dag = 8, .component = x + 1, .rest = NODE_CANCELLED });
        run_parts_finish(parts);
        return parts;
}

/* "path state items counts", of each part. */
static char *format_parts(const RunParts *parts)
{
        GString *text = g_string_new(NULL);

        for (guint32 i = RUN_PART_POST + 1; i < run_parts_count(parts); i++) {
                const RunPart *part = run_part(parts, i);
                g_autofree char *path = run_part_path(parts, i);

                g_string_append_printf(text, "%s%s %s %d", text->len ? ", " : "", path,
                                       node_state_name(run_part_state(part, NODE_RUNNING)), (int)part->items);
                if (part->started)
                        g_string_append_printf(text, " %d-%d/%d", (int)(part->started - NOW + 10000),
                                               part->finished ? (int)(part->finished - NOW + 10000) : -1,
                                               (int)part->busy_ms);
        }
        return g_string_free(text, FALSE);
}

static void test_parts(void)
{
        g_autoptr(Definition) definition = parse_valid(RUN_TEXT, NULL);
        g_autoptr(RunParts) parts = parts_of(definition);
        g_autofree char *text = format_parts(parts);

        g_assert_cmpstr(text, ==,
                        "a succeeded 1 0-1000/1000, many running 4 0--1/5000, d succeeded 2 0-5000/9000, "
                        "d.x succeeded 2 0-2000/3000, d.y cancelled 2");
        g_assert_cmpint(run_part_absent(NODE_RUNNING), ==, NODE_NONE);
        g_assert_cmpint(run_part_absent(NODE_FAILED), ==, NODE_CANCELLED);
        g_assert_cmpint(run_part_absent(NODE_SKIPPED), ==, NODE_SKIPPED);
}

static void test_run(void)
{
        g_autoptr(Definition) definition = parse_valid(RUN_TEXT, NULL);
        g_autoptr(RunParts) parts = parts_of(definition);
        RunRecord run = { .id = "6rpyr77cvstaad5v",
                          .name = (char *)"demo",
                          .state = NODE_RUNNING,
                          .created = NOW - 10000 };
        g_autofree char *svg =
                picture_draw(&(Picture){ .definition = definition, .parts = parts, .run = &run, .now = NOW });

        check_svg(svg);
        g_assert_nonnull(strstr(svg, ">demo (6rpyr77cvstaad5v): running, 10.0 s<"));
        g_assert_nonnull(strstr(svg, "<title>a: succeeded, 1.0 s\n"));
        g_assert_nonnull(strstr(
                svg, "<title>many: running, 10.0 s\n1 of 4, 1 running, 1 failed\nexit &lt;3&gt;\nafter: a"));
        g_assert_nonnull(strstr(svg, "<title>d: succeeded, 5.0 s\n2 of 2\n"));
        g_assert_nonnull(strstr(svg, "<title>y: cancelled\n0 of 2, 2 cancelled\n"));
        g_assert_nonnull(strstr(svg, "<title>e: waits\n"));
        g_assert_nonnull(strstr(svg, "<title>p: waits\n"));
        g_assert_nonnull(strstr(svg, "<g class=\"paddle-s-running\" transform"));
}

/* Jobs that wait do not run, and a step may wait for another run. The bar of a loop is part of what the legend explains. */
static void test_waits(void)
{
        g_autoptr(Definition) definition = parse_valid(RUN_TEXT, NULL);
        g_autoptr(RunParts) parts = parts_of(definition);
        RunRecord run = { .id = "6rpyr77cvstaad5v",
                          .name = (char *)"a-name-that-is-longer-than-a-heading-has-place",
                          .state = NODE_RUNNING,
                          .paused = 1,
                          .created = NOW - 10000 };
        g_autofree char *svg = NULL;

        run_parts_add_wait(parts, RUN_ROOT, component_named(definition, "many"), true, "waits for 2 cores");
        run_parts_add_wait(parts, RUN_ROOT, component_named(definition, "e"), false,
                           "waits for step 'e' of run r");
        svg = picture_draw(&(Picture){ .definition = definition, .parts = parts, .run = &run, .now = NOW });
        check_svg(svg);
        g_assert_nonnull(strstr(svg, ">a-name-that-is-longer-than-a-he…"));
        g_assert_nonnull(strstr(svg, " (6rpyr77cvstaad5v): paused, 10.0 s<"));
        g_assert_nonnull(strstr(svg, "<title>many: queued, 10.0 s\n1 of 4, 1 failed, 1 queued\n"));
        g_assert_nonnull(strstr(svg, "waits for 2 cores"));
        g_assert_nonnull(strstr(svg, ">waits for another run<"));
        g_assert_nonnull(strstr(svg, " of run r"));
        g_assert_nonnull(strstr(svg, ">failed<")); /* in the legend: an item of `many` */
        g_assert_null(strstr(svg, ">running<"));
}

/* ---- the longest chain, pauses, results of the cache ---- */

#define CHAIN_TEXT                                                                                                            \
        "entry_points:\n  a: {command: x}\n  b: {command: x, deps: a}\n  c: {command: x, deps: 'a,b'}\n"                      \
        "  d: {deps: c, loop_argument: [1, 2], entry_points: {x: {command: x}, y: {command: x, deps: x}, z: {command: x}}}\n" \
        "  e: {command: x, deps: d}\n  f: {command: x, deps: a}\npost_process:\n  p: {command: x}\n"

typedef struct {
        const char *step; /* its path in the definition */
        guint32 node, in, number;
        int from, to; /* seconds behind the begin */
} ChainRow;

/* The chain is a, b, c, d-1.x, d-1.y, e, p. */
static const ChainRow chain_rows[] = {
        { "a", 2, RUN_ROOT, 0, 0, 1 }, { "b", 3, RUN_ROOT, 0, 1, 2 },  { "c", 4, RUN_ROOT, 0, 2, 3 },
        { "d", 5, RUN_ROOT, 0, 3, 4 }, { "d", 6, RUN_ROOT, 1, 3, 6 },  { "f", 7, RUN_ROOT, 0, 1, 2 },
        { "d.x", 8, 5, 0, 3, 4 },      { "d.x", 9, 6, 0, 3, 4 },       { "d.y", 10, 6, 0, 4, 6 },
        { "d.z", 11, 6, 0, 3, 4 },     { "e", 12, RUN_ROOT, 0, 6, 8 }, { "p", 13, RUN_POST, 0, 8, 9 },
};

static void add_chain_row(const ChainRow *row, const Definition *definition, RunParts *parts, RunChain *chain)
{
        bool cached = strcmp(row->step, "b") == 0;
        const RunNodeRecord node = { .node = row->node,
                                     .dag = row->in,
                                     .component = strcmp(row->step, "p") == 0
                                                          ? definition->components[DEFINITION_POST].children
                                                          : component_named(definition, row->step),
                                     .number = row->number,
                                     .state = NODE_SUCCEEDED,
                                     .inner = strcmp(row->step, "d") == 0,
                                     .made_by = cached ? 7 : 0,
                                     .reuse = cached ? (char *)"{}" : NULL,
                                     .started = NOW + 1000 * row->from,
                                     .finished = NOW + 1000 * row->to };

        run_parts_add(parts, &node);
        run_chain_add(chain, &node);
}

static char *draw_chain(const Definition *definition, const RunChildRecord *pause)
{
        g_autoptr(RunParts) parts = run_parts_new(definition, NOW);
        g_autoptr(RunChain) chain = run_chain_new(definition, NOW);
        RunRecord run = { .id = "6rpyr77cvstaad5v",
                          .name = (char *)"demo",
                          .state = NODE_SUCCEEDED,
                          .created = NOW,
                          .finished = NOW + 9000 };
        g_autoptr(GArray) steps = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(chain_rows); i++)
                if (!pause || chain_rows[i].node < 5)
                        add_chain_row(&chain_rows[i], definition, parts, chain);
        if (pause) {
                run_parts_add_pause(parts, pause);
                run.state = NODE_RUNNING;
                run.finished = 0;
        }
        run_parts_finish(parts);
        steps = run_chain_find(chain, NOW + 9000);
        return picture_draw(&(Picture){
                .definition = definition, .parts = parts, .run = &run, .chain = steps, .now = NOW + 9000 });
}

/* The box of this name has the second outline. */
static bool is_outlined(const char *svg, const char *name)
{
        g_autofree char *title = g_strdup_printf("<title>%s: ", name);
        const char *box = strstr(svg, title), *outline = box ? strstr(box, "paddle-halo\"") : NULL;
        const char *name_of_box = box ? strstr(box, "<text") : NULL;

        g_assert_nonnull(name_of_box);
        return outline && outline < name_of_box;
}

/* Boxes and lines of the chain, and no others: a is also before c and f, and x and z are side by side. */
static void test_chain(void)
{
        static const char *const names[] = { "a", "b", "c", "d", "x", "y", "z", "e", "f", "p" };
        g_autoptr(Definition) definition = parse_valid(CHAIN_TEXT, NULL);
        g_autofree char *svg = draw_chain(definition, NULL);

        check_svg(svg);
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                g_assert_cmpint(is_outlined(svg, names[i]), ==, !strchr("zf", names[i][0]));
        g_assert_cmpuint(count(svg, "<path class=\"paddle-line paddle-chain\" d"), ==,
                         4 + 1 + 1); /* a-b-c-d-e, x-y, and of the legend */
        g_assert_cmpuint(count(svg, "<path class=\"paddle-line paddle-always paddle-chain\" d"), ==, 1);
        g_assert_cmpuint(count(svg, "<path class=\"paddle-line\" d"), ==, 2); /* a-c, a-f */
        g_assert_nonnull(strstr(svg, ">longest chain: 9.0 s in 7 steps<"));
        g_assert_nonnull(strstr(svg, "<title>y: succeeded, 2.0 s\non the longest chain\n"));
        g_assert_cmpuint(count(svg, ">from the cache<"), ==, 1);
        g_assert_cmpuint(count(svg, ">succeeded<"), ==, 1); /* in the legend */
        g_assert_null(strstr(svg, ">failed<"));
}

static void test_paused(void)
{
        g_autoptr(Definition) definition = parse_valid(CHAIN_TEXT, NULL);
        const RunChildRecord before = { .dag = RUN_ROOT,
                                        .component = component_named(definition, "d"),
                                        .pause = RUN_PAUSE_BEFORE };
        const RunChildRecord after = { .dag = RUN_ROOT,
                                       .component = component_named(definition, "c"),
                                       .pause = RUN_PAUSE_AFTER };
        g_autofree char *one = draw_chain(definition, &before), *two = draw_chain(definition, &after);

        g_assert_nonnull(strstr(one, "<title>d: paused\n"));
        g_assert_nonnull(strstr(one, ">paused before it<"));
        g_assert_nonnull(strstr(one, ">paused</text>")); /* in the legend */
        g_assert_nonnull(strstr(two, "<title>c: succeeded, 1.0 s\n"));
        g_assert_nonnull(strstr(two, ">paused after it<"));
        g_assert_null(strstr(two, ">paused</text>"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/picture/layout", test_layout);
        g_test_add_func("/picture/order", test_order);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/picture/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(large); i++) {
                g_autofree char *path = g_strdup_printf("/picture/%s", large[i].name);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_large);
        }
        g_test_add_func("/picture/long texts", test_long_texts);
        g_test_add_func("/picture/cancelled", test_cancelled);
        g_test_add_func("/picture/parts", test_parts);
        g_test_add_func("/picture/run", test_run);
        g_test_add_func("/picture/chain", test_chain);
        g_test_add_func("/picture/paused", test_paused);
        g_test_add_func("/picture/waits", test_waits);
        return g_test_run();
}
