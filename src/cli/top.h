/* The picture of `paddle top`: cluster, queues and jobs, drawn for a width and a height. Pure: from the
 * server's replies to lines. */
#pragma once

#include "cli/cli.h"

typedef struct {
        json_t *figures;           /* GET /v1/scheduler */
        json_t *running, *waiting; /* arrays of jobs; may be NULL */
        json_t *nodes;             /* GET /v1/nodes; NULL: the user may not see them */
        const char *title;         /* the server's owner */
        const char *trouble;       /* why the picture is stale; NULL: it is current */
        gint64 now;                /* ms */
} TopPicture;

/* At most `height` lines (0: all), none wider than the terminal, each ended by a newline; the caller's. */
char *top_draw(const TopPicture *picture, const Terminal *terminal, int height);
