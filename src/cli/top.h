/* The picture of `paddle top`: the room, its queues, its jobs, drawn for a width and a height. Pure: from
 * what the server said to lines. */
#pragma once

#include "cli/cli.h"

typedef struct {
        json_t *figures;           /* GET /v1/scheduler */
        json_t *running, *waiting; /* arrays of jobs; may be NULL */
        json_t *nodes;             /* GET /v1/nodes; NULL: not for this user */
        const char *title;         /* whose server this is */
        const char *trouble;       /* why the picture is old; NULL: it is not */
        gint64 now;                /* ms */
} TopPicture;

/* At most `height` lines (0: as many as there are), none wider than the terminal, each ended by a newline;
 * the caller's. */
char *top_draw(const TopPicture *picture, const Terminal *terminal, int height);
