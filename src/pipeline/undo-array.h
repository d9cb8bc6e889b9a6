/* An array whose items never move, so that a callback may make it grow. New items are zero. It keeps items as they were
 * at the last undo_array_keep, so that they can be put back. Internal to run*.c. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        GPtrArray *chunks;
        gsize item;    /* its size */
        gsize touched; /* the offset of a bool in it: it was kept */
        GArray *kept;  /* guint32: the indices of those, once each */
        GByteArray *old;
} UndoArray;

void undo_array_init(UndoArray *array, gsize item, gsize touched);
void undo_array_clear(UndoArray *array);
/* At least n items. */
void undo_array_reserve(UndoArray *array, guint32 n);
void *undo_array_get(const UndoArray *array, guint32 i);
/* An item that is going to change. */
void *undo_array_touch(UndoArray *array, guint32 i);
void undo_array_keep(UndoArray *array);
/* How the item kept[i] was at the last undo_array_keep. */
const void *undo_array_was(const UndoArray *array, guint i);
void undo_array_undo(UndoArray *array);
gsize undo_array_size(const UndoArray *array); /* bytes */
