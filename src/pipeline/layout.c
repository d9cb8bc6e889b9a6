/* Layered drawings (see layout.h), after Sugiyama: layers by the longest way, an order by barycentres, places by least
 * squares. An edge that passes layers has a vertex of no length in each of them, which keeps its lane free. */
#include "pipeline/layout.h"

#include <string.h>

enum {
        ORDER_SWEEPS = 16,
        PLACE_SWEEPS = 16,
        GAP_SHARE = 12,      /* a gap grows with the width of the widest curve in it, by this part of it */
        GAP_GROWTH_MAX = 80, /* pixels */
};

typedef struct {
        guint32 layer, at;  /* its place in the order of the layer */
        gint32 box;         /* -1: an edge passes here */
        double breadth;     /* across */
        double middle;      /* across */
        guint32 in, n_in;   /* range in `ins` */
        guint32 out, n_out; /* range in `outs` */
} Vertex;

typedef struct {
        LayoutBox *boxes;
        const LayoutGaps *gaps;
        GArray *vertices; /* Vertex */
        GArray *pairs;    /* LayoutEdge between vertices of neighbouring layers */
        guint32 *firsts;  /* for each edge its first passing vertex; their number is known from the layers */
        guint32 *ins, *outs; /* neighbours of vertices */
        GPtrArray *layers;   /* GArray of guint32, vertices in order */
        double *from, *to;   /* of layers, along */
} Graph;

static Vertex *vertex(const Graph *graph, guint32 i)
{
        return &g_array_index(graph->vertices, Vertex, i);
}

static guint32 member(const GArray *layer, guint i)
{
        return g_array_index(layer, guint32, i);
}

/* ---- layers ---- */

static guint32 *successors_of(guint n, const LayoutEdge *edges, guint n_edges, guint32 *first)
{
        guint32 *all = g_new(guint32, MAX(n_edges, 1));
        g_autofree guint32 *fill = g_new0(guint32, n + 1);

        for (guint e = 0; e < n_edges; e++)
                first[edges[e].from + 1]++;
        for (guint i = 0; i < n; i++)
                first[i + 1] += first[i];
        for (guint e = 0; e < n_edges; e++)
                all[first[edges[e].from] + fill[edges[e].from]++] = edges[e].to;
        return all;
}

void layout_layers(guint n, const LayoutEdge *edges, guint n_edges, guint32 *ret)
{
        g_autofree guint32 *first = g_new0(guint32, n + 1), *open = g_new0(guint32, n + 1);
        g_autofree guint32 *queue = g_new(guint32, n + 1),
                           *successors = successors_of(n, edges, n_edges, first);
        guint head = 0, tail = 0;

        memset(ret, 0, n * sizeof *ret);
        for (guint e = 0; e < n_edges; e++)
                open[edges[e].to]++;
        for (guint i = 0; i < n; i++)
                if (open[i] == 0)
                        queue[tail++] = i;
        while (head < tail) {
                guint32 i = queue[head++];

                for (guint32 k = first[i]; k < first[i + 1]; k++) {
                        guint32 to = successors[k];

                        ret[to] = MAX(ret[to], ret[i] + 1);
                        if (--open[to] == 0)
                                queue[tail++] = to;
                }
        }
}

/* ---- the graph with the vertices that are passed ---- */

static guint32 add_vertex(Graph *graph, guint32 layer, gint32 box, double breadth)
{
        const Vertex new = { .layer = layer, .box = box, .breadth = breadth };

        while (graph->layers->len <= layer)
                g_ptr_array_add(graph->layers, g_array_new(FALSE, FALSE, sizeof(guint32)));
        g_array_append_val(graph->vertices, new);
        return graph->vertices->len - 1;
}

static void add_edge(Graph *graph, const LayoutEdge *edge, guint32 *first)
{
        guint32 from = edge->from;

        *first = graph->vertices->len;
        for (guint32 layer = graph->boxes[edge->from].layer + 1; layer < graph->boxes[edge->to].layer;
             layer++) {
                guint32 passed = add_vertex(graph, layer, -1, 0);

                g_array_append_val(graph->pairs, ((LayoutEdge){ from, passed }));
                from = passed;
        }
        g_array_append_val(graph->pairs, ((LayoutEdge){ from, edge->to }));
}

static void add_neighbours(Graph *graph)
{
        guint32 in = 0, out = 0;

        graph->ins = g_new(guint32, graph->pairs->len + 1);
        graph->outs = g_new(guint32, graph->pairs->len + 1);
        for (guint k = 0; k < graph->pairs->len; k++) {
                const LayoutEdge *pair = &g_array_index(graph->pairs, LayoutEdge, k);

                vertex(graph, pair->from)->n_out++;
                vertex(graph, pair->to)->n_in++;
        }
        for (guint i = 0; i < graph->vertices->len; i++) {
                Vertex *v = vertex(graph, i);

                v->in = in;
                v->out = out;
                in += v->n_in;
                out += v->n_out;
                v->n_in = v->n_out = 0;
        }
        for (guint k = 0; k < graph->pairs->len; k++) {
                const LayoutEdge *pair = &g_array_index(graph->pairs, LayoutEdge, k);
                Vertex *from = vertex(graph, pair->from), *to = vertex(graph, pair->to);

                graph->outs[from->out + from->n_out++] = pair->to;
                graph->ins[to->in + to->n_in++] = pair->from;
        }
}

static void graph_build(Graph *graph, guint n, const LayoutEdge *edges, guint n_edges)
{
        for (guint i = 0; i < n; i++)
                add_vertex(graph, graph->boxes[i].layer, (gint32)i, graph->boxes[i].breadth);
        for (guint e = 0; e < n_edges; e++)
                add_edge(graph, &edges[e], &graph->firsts[e]);
        add_neighbours(graph);
}

/* ---- the order in a layer ---- */

static void put_in_order(Graph *graph, GArray *layer)
{
        for (guint i = 0; i < layer->len; i++)
                vertex(graph, member(layer, i))->at = i;
}

/* Depth first from each box, so that what belongs together begins together. */
static void visit(Graph *graph, guint32 i, guint8 *seen)
{
        g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint32));

        g_array_append_val(stack, i);
        while (stack->len > 0) {
                guint32 at = member(stack, stack->len - 1);
                const Vertex *v = vertex(graph, at);

                g_array_set_size(stack, stack->len - 1);
                if (seen[at])
                        continue;
                seen[at] = 1;
                g_array_append_val((GArray *)graph->layers->pdata[v->layer], at);
                for (guint32 k = v->n_out; k-- > 0;)
                        g_array_append_val(stack, graph->outs[v->out + k]);
        }
}

static void first_order(Graph *graph)
{
        g_autofree guint8 *seen = g_new0(guint8, graph->vertices->len + 1);

        for (guint i = 0; i < graph->vertices->len; i++)
                if (vertex(graph, i)->n_in == 0)
                        visit(graph, i, seen);
        for (guint l = 0; l < graph->layers->len; l++)
                put_in_order(graph, graph->layers->pdata[l]);
}

/* The pairs (i, j) of numbers with i before j and a larger number, with a tree of sums. */
static gint64 count_inversions(const guint32 *numbers, guint n, guint most)
{
        g_autofree guint32 *sums = g_new0(guint32, most + 2);
        gint64 inversions = 0;

        for (guint i = 0; i < n; i++) {
                inversions += i;
                for (guint k = numbers[i] + 1; k > 0; k -= k & (~k + 1))
                        inversions -= sums[k];
                for (guint k = numbers[i] + 1; k <= most + 1; k += k & (~k + 1))
                        sums[k]++;
        }
        return inversions;
}

static int compare_places(const void *a, const void *b)
{
        guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;

        return left < right ? -1 : left > right;
}

static gint64 crossings_behind(const Graph *graph, const GArray *layer)
{
        g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(guint32));
        guint32 most = 0;

        for (guint i = 0; i < layer->len; i++) {
                const Vertex *v = vertex(graph, member(layer, i));
                guint begin = ends->len;

                for (guint32 k = 0; k < v->n_out; k++) {
                        guint32 at = vertex(graph, graph->outs[v->out + k])->at;

                        most = MAX(most, at);
                        g_array_append_val(ends, at);
                }
                if (ends->len > begin)
                        qsort(&g_array_index(ends, guint32, begin), ends->len - begin, sizeof(guint32),
                              compare_places);
        }
        return ends->len > 0 ? count_inversions((const guint32 *)(const void *)ends->data, ends->len, most)
                             : 0;
}

static gint64 count_crossings(const Graph *graph)
{
        gint64 sum = 0;

        for (guint l = 0; l + 1 < graph->layers->len; l++)
                sum += crossings_behind(graph, graph->layers->pdata[l]);
        return sum;
}

typedef struct {
        double key;
        guint32 at, vertex;
} Ranked;

static int compare_ranked(const void *a, const void *b)
{
        const Ranked *left = a, *right = b;

        if (left->key != right->key)
                return left->key < right->key ? -1 : 1;
        return left->at < right->at ? -1 : left->at > right->at;
}

static double barycentre(const Graph *graph, const Vertex *v, bool forward)
{
        const guint32 *all = forward ? graph->ins + v->in : graph->outs + v->out;
        guint32 n = forward ? v->n_in : v->n_out;
        double sum = 0;

        for (guint32 k = 0; k < n; k++)
                sum += vertex(graph, all[k])->at;
        return n ? sum / n : v->at;
}

/* Vertices without a neighbour keep their place. */
static void order_layer(Graph *graph, GArray *layer, bool forward)
{
        g_autofree Ranked *ranked = g_new(Ranked, layer->len + 1);

        for (guint i = 0; i < layer->len; i++)
                ranked[i] = (Ranked){ barycentre(graph, vertex(graph, member(layer, i)), forward), i,
                                      member(layer, i) };
        qsort(ranked, layer->len, sizeof *ranked, compare_ranked);
        for (guint i = 0; i < layer->len; i++)
                g_array_index(layer, guint32, i) = ranked[i].vertex;
        put_in_order(graph, layer);
}

static guint32 *copy_places(const Graph *graph)
{
        guint32 *places = g_new(guint32, graph->vertices->len + 1);

        for (guint i = 0; i < graph->vertices->len; i++)
                places[i] = vertex(graph, i)->at;
        return places;
}

static void restore_places(Graph *graph, const guint32 *places)
{
        for (guint i = 0; i < graph->vertices->len; i++) {
                Vertex *v = vertex(graph, i);
                GArray *layer = graph->layers->pdata[v->layer];

                v->at = places[i];
                g_array_index(layer, guint32, v->at) = i;
        }
}

/* The best of some sweeps; the order of the definition wins among equals. */
static void order_layers(Graph *graph)
{
        guint n = graph->layers->len;
        g_autofree guint32 *best = NULL;
        gint64 least;

        first_order(graph);
        best = copy_places(graph);
        least = count_crossings(graph);
        for (int sweep = 0; sweep < ORDER_SWEEPS && least > 0; sweep++) {
                bool forward = sweep % 2 == 0;
                gint64 crossings;

                for (guint k = 1; k < n; k++)
                        order_layer(graph, graph->layers->pdata[forward ? k : n - 1 - k], forward);
                crossings = count_crossings(graph);
                if (crossings >= least)
                        continue;
                least = crossings;
                g_free(best);
                best = copy_places(graph);
        }
        restore_places(graph, best);
}

/* ---- places across ---- */

static double separation(const Graph *graph, const Vertex *a, const Vertex *b)
{
        double gap = a->box >= 0 && b->box >= 0 ? graph->gaps->beside : graph->gaps->lane;

        return (a->breadth + b->breadth) / 2 + gap;
}

typedef struct {
        double sum, weight;
        guint n;
} Block;

/* The places nearest to those wished, by squares with weights, with the given separations: a regression of growing numbers,
 * by joining neighbours that violate the order. */
static void place_layer(const Graph *graph, const GArray *layer, const double *wished, const double *weights)
{
        g_autofree Block *blocks = g_new(Block, layer->len + 1);
        g_autofree double *offsets = g_new0(double, layer->len + 1);
        guint n = 0, i = 0;

        for (guint k = 0; k < layer->len; k++) {
                if (k > 0)
                        offsets[k] = offsets[k - 1] + separation(graph, vertex(graph, member(layer, k - 1)),
                                                                 vertex(graph, member(layer, k)));
                blocks[n++] = (Block){ (wished[k] - offsets[k]) * weights[k], weights[k], 1 };
                for (; n > 1 &&
                       blocks[n - 2].sum / blocks[n - 2].weight > blocks[n - 1].sum / blocks[n - 1].weight;
                     n--) {
                        blocks[n - 2].sum += blocks[n - 1].sum;
                        blocks[n - 2].weight += blocks[n - 1].weight;
                        blocks[n - 2].n += blocks[n - 1].n;
                }
        }
        for (guint b = 0; b < n; b++)
                for (guint k = 0; k < blocks[b].n; k++, i++)
                        vertex(graph, member(layer, i))->middle =
                                blocks[b].sum / blocks[b].weight + offsets[i];
}

/* A long edge is to be straight, above all. */
static double weight_of(const Vertex *a, const Vertex *b)
{
        return a->box < 0 && b->box < 0 ? 8 : a->box < 0 || b->box < 0 ? 2 : 1;
}

static void wish(const Graph *graph, const Vertex *v, const guint32 *all, guint32 n, double *sum,
                 double *weight)
{
        for (guint32 k = 0; k < n; k++) {
                const Vertex *other = vertex(graph, all[k]);
                double w = weight_of(v, other);

                *sum += other->middle * w;
                *weight += w;
        }
}

static void sweep_layer(const Graph *graph, const GArray *layer, bool ins, bool outs)
{
        g_autofree double *wished = g_new(double, layer->len + 1), *weights = g_new(double, layer->len + 1);

        for (guint i = 0; i < layer->len; i++) {
                const Vertex *v = vertex(graph, member(layer, i));
                double sum = 0, weight = 0;

                if (ins)
                        wish(graph, v, graph->ins + v->in, v->n_in, &sum, &weight);
                if (outs)
                        wish(graph, v, graph->outs + v->out, v->n_out, &sum, &weight);
                wished[i] = weight > 0 ? sum / weight : v->middle;
                weights[i] = weight > 0 ? weight : 0.1;
        }
        place_layer(graph, layer, wished, weights);
}

static void place_across(Graph *graph)
{
        guint n = graph->layers->len;
        double least = G_MAXDOUBLE;

        for (guint l = 0; l < n; l++) {
                const GArray *layer = graph->layers->pdata[l];
                double at = 0;

                for (guint i = 0; i < layer->len; i++) {
                        Vertex *v = vertex(graph, member(layer, i));

                        at += i > 0 ? separation(graph, vertex(graph, member(layer, i - 1)), v) : 0;
                        v->middle = at;
                }
        }
        for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++)
                for (guint k = 0; k < n; k++) {
                        bool forward = sweep % 2 == 0, late = sweep >= PLACE_SWEEPS / 2;

                        sweep_layer(graph, graph->layers->pdata[forward ? k : n - 1 - k], forward || late,
                                    !forward || late);
                }
        for (guint i = 0; i < graph->vertices->len; i++)
                least = MIN(least, vertex(graph, i)->middle - vertex(graph, i)->breadth / 2);
        for (guint i = 0; i < graph->vertices->len; i++)
                vertex(graph, i)->middle -= least;
}

/* ---- places along ---- */

/* A steep curve needs a longer gap. */
static double gap_behind(const Graph *graph, guint l)
{
        const GArray *layer = graph->layers->pdata[l];
        double widest = 0;

        for (guint i = 0; i < layer->len; i++) {
                const Vertex *v = vertex(graph, member(layer, i));

                for (guint32 k = 0; k < v->n_out; k++)
                        widest = MAX(widest, ABS(vertex(graph, graph->outs[v->out + k])->middle - v->middle));
        }
        return graph->gaps->gap + MIN(widest / GAP_SHARE, GAP_GROWTH_MAX);
}

static void place_along(Graph *graph)
{
        double at = 0;

        for (guint l = 0; l < graph->layers->len; l++) {
                const GArray *layer = graph->layers->pdata[l];
                double length = 0;

                for (guint i = 0; i < layer->len; i++) {
                        const Vertex *v = vertex(graph, member(layer, i));

                        if (v->box >= 0)
                                length = MAX(length, graph->boxes[v->box].length);
                }
                graph->from[l] = at;
                graph->to[l] = at + length;
                at += length + gap_behind(graph, l);
        }
}

/* ---- the result ---- */

static void put_point(GArray *route, double along, double across)
{
        const LayoutPoint point = { along, across };

        g_array_append_val(route, point);
}

static GArray *route_of(const Graph *graph, const LayoutEdge *edge, guint32 passed)
{
        GArray *route = g_array_new(FALSE, FALSE, sizeof(LayoutPoint));
        const LayoutBox *from = &graph->boxes[edge->from], *to = &graph->boxes[edge->to];
        double across = from->across + from->breadth / 2;

        put_point(route, from->along + from->length, across);
        put_point(route, graph->to[from->layer], across);
        for (guint32 layer = from->layer + 1; layer < to->layer; layer++, passed++) {
                put_point(route, graph->from[layer], vertex(graph, passed)->middle);
                put_point(route, graph->to[layer], vertex(graph, passed)->middle);
        }
        put_point(route, to->along, to->across + to->breadth / 2);
        return route;
}

static void array_unref(gpointer array)
{
        g_array_unref(array);
}

static void graph_finish(const Graph *graph, const LayoutEdge *edges, guint n_edges, Layout *ret)
{
        *ret = (Layout){ .routes = g_ptr_array_new_with_free_func(array_unref) };
        for (guint i = 0; i < graph->vertices->len; i++) {
                const Vertex *v = vertex(graph, i);

                ret->breadth = MAX(ret->breadth, v->middle + v->breadth / 2);
                if (v->box < 0)
                        continue;
                graph->boxes[v->box].along = graph->from[v->layer];
                graph->boxes[v->box].across = v->middle - v->breadth / 2;
        }
        for (guint l = 0; l < graph->layers->len; l++)
                ret->length = MAX(ret->length, graph->to[l]);
        for (guint e = 0; e < n_edges; e++)
                g_ptr_array_add(ret->routes, route_of(graph, &edges[e], graph->firsts[e]));
}

static void graph_clear(Graph *graph)
{
        g_array_unref(graph->vertices);
        g_array_unref(graph->pairs);
        g_ptr_array_unref(graph->layers);
        g_free(graph->firsts);
        g_free(graph->ins);
        g_free(graph->outs);
        g_free(graph->from);
        g_free(graph->to);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Graph, graph_clear)

void layout_clear(Layout *layout)
{
        g_clear_pointer(&layout->routes, g_ptr_array_unref);
}

void layout_run(LayoutBox *boxes, guint n, const LayoutEdge *edges, guint n_edges, const LayoutGaps *gaps,
                Layout *ret)
{
        g_autofree guint32 *layers = g_new(guint32, n + 1);
        g_auto(Graph) graph = { .boxes = boxes,
                                .gaps = gaps,
                                .vertices = g_array_new(FALSE, FALSE, sizeof(Vertex)),
                                .pairs = g_array_new(FALSE, FALSE, sizeof(LayoutEdge)),
                                .layers = g_ptr_array_new_with_free_func(array_unref),
                                .firsts = g_new0(guint32, n_edges + 1),
                                .from = g_new0(double, n + 1),
                                .to = g_new0(double, n + 1) };

        layout_layers(n, edges, n_edges, layers);
        for (guint i = 0; i < n; i++)
                boxes[i].layer = layers[i];
        graph_build(&graph, n, edges, n_edges);
        order_layers(&graph);
        place_across(&graph);
        place_along(&graph);
        graph_finish(&graph, edges, n_edges, ret);
}
