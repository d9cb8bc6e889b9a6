/* The boxes of a picture, between what they mean (picture.c) and how they look (picture-svg.c). Internal. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/run-record.h"
#include "pipeline/layout.h"

enum { BOX_DEFINITION = -1 }; /* as a state: of a definition */

typedef enum {
        BOX_STEP,
        BOX_DAG,   /* what it contains is drawn, or only its box */
        BOX_FRAME, /* the entry points or post_process: a frame without a state */
        BOX_GRID,  /* a frame with steps that have the same neighbours, in rows */
        BOX_STACK, /* several components that are drawn as one */
} BoxKind;

typedef struct {
        guint32 from, to;
        bool always; /* also after a failure */
        bool chain;  /* of the longest chain */
} BoxLine;

typedef struct Box Box;
struct Box {
        BoxKind kind;
        int state; /* NodeState or BOX_DEFINITION */
        bool loops, looks, disabled;
        bool paused; /* it waits at a pause, whatever its state */
        bool queued; /* it runs, and all its jobs wait */
        bool chain;  /* it, or something in it, is on the longest chain */
        char *name;
        GPtrArray *notes;           /* lines below the name */
        char *title;                /* of <title> */
        gint64 counts[NODE_STATES]; /* of what is several, in a run */
        gint64 waits;               /* ... whose jobs wait: they are not in `counts` */
        gint64 count;               /* of what is several; 0: not known */
        /* what it contains */
        GPtrArray *children; /* Box, owned; NULL: none are drawn */
        GArray *lines;       /* BoxLine between them */
        /* set by box_place: pixels, relative to the box around it */
        double x, y, width, height;
        GPtrArray *routes; /* as in Layout, of `lines`; relative to this box */
        double inset;      /* of what it contains, from its left side */
        bool down;         /* layers follow each other downwards */
        /* of its build */
        guint32 component, part;
};

Box *box_new(BoxKind kind, const char *name);
void box_free(Box *box);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Box, box_free)

/* Sizes and places of a box and of all in it, with layers that follow each other downwards or to the right. */
void box_place(Box *box, bool down);
typedef struct {
        const char *heading;
        const char *about[3]; /* lines below it; NULL ends them */
        const char *chain;    /* what the longest chain is, for the legend; or NULL */
} BoxPage;

/* The SVG of a box that was placed, with lines above it, and with a legend of the signs in it below. The caller's. */
char *box_draw(const Box *box, const BoxPage *page);
