/* A definition, or a run of it, as a picture: an SVG that stands alone. Pure.
 *
 * Steps are boxes, DAGs are frames around what they contain, lines go from a component to those that wait for it. A loop is a
 * stack of boxes. A component with a condition has a diamond, post_process a frame of its own. In the picture of a run each
 * box has the sign and the colour of its state, its duration, and in a loop the number of items in each state; boxes and lines of
 * the longest chain have a second, thick outline. A legend explains the signs that occur. Each box has a <title> with its
 * details. There are no scripts and no references to other files; colours follow the reader's choice of
 * light or dark.
 *
 * A large definition is drawn in less detail: of DAGs that are too many only the box is drawn, steps with the same
 * dependencies and dependants are one stack, and a DAG with too many different components is drawn as a row of stacks. The line
 * below the heading says so. Of a value, such as a command, only the beginning is read and shown. */
#pragma once

#include "model/run-record.h"
#include "pipeline/definition.h"
#include "pipeline/run-parts.h"

enum {
        PICTURE_BOXES_MAX = 400, /* that are drawn */
        PICTURE_LINES_MAX = 1500,
        PICTURE_BYTES_MAX = 8 * 1000 * 1000, /* of its text */
};

typedef struct {
        const Definition *definition;
        const RunParts *parts; /* of a run; NULL: a definition is drawn */
        const RunRecord *run;  /* with `parts` */
        const GArray *chain;   /* RunChainStep, of run_chain_find; or NULL */
        gint64 now;            /* ms, for what runs */
} Picture;

/* The text of the SVG, UTF-8, at most PICTURE_BYTES_MAX; the caller's. NULL: the work was cancelled (base/cancel.h). */
char *picture_draw(const Picture *picture);
