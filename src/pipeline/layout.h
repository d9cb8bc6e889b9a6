/* A layered drawing of a graph without circles: each box has a layer behind those of its predecessors, boxes of a layer are
 * ordered so that few lines cross, and lines are nearly straight. Pure: sizes in, places out. Lengths are in pixels.
 *
 * The layers follow each other along the drawing; the boxes of one lie side by side across it. The caller chooses whether
 * along is to the right or down. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        double length, breadth; /* along and across the drawing */
        double along, across;   /* set by layout_run: its corner */
        guint32 layer;          /* set by layout_run, from 0 */
} LayoutBox;

typedef struct {
        guint32 from, to; /* boxes */
} LayoutEdge;

typedef struct {
        double along, across;
} LayoutPoint;

typedef struct {
        double gap;    /* between two layers, at least */
        double beside; /* between two boxes of a layer */
        double lane;   /* between a line that passes a layer and its neighbour */
} LayoutGaps;

typedef struct {
        double length, breadth; /* of the whole drawing */
        /* A GArray of LayoutPoint for each edge, in their order: the end of a box, the end of its layer, the beginning of
         * the next one, its end, ..., the beginning of the other box. */
        GPtrArray *routes;
} Layout;
void layout_clear(Layout *layout);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Layout, layout_clear)

/* The layer of each box: the number of boxes on the longest way to it. `ret` has n of them. The edges have no circle. */
void layout_layers(guint n, const LayoutEdge *edges, guint n_edges, guint32 *ret);

/* Places the boxes. Time grows with the number of edges times the layers that they pass; the caller bounds both. */
void layout_run(LayoutBox *boxes, guint n, const LayoutEdge *edges, guint n_edges, const LayoutGaps *gaps,
                Layout *ret);
