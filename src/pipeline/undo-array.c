/* Arrays that can be undone (see undo-array.h). */
#include "pipeline/undo-array.h"

#include <string.h>

enum { CHUNK = 1024 }; /* items allocated together */

void undo_array_init(UndoArray *array, gsize item, gsize touched)
{
        *array = (UndoArray){ .chunks = g_ptr_array_new_with_free_func(g_free),
                              .item = item,
                              .touched = touched,
                              .kept = g_array_new(FALSE, FALSE, sizeof(guint32)),
                              .old = g_byte_array_new() };
}

void undo_array_clear(UndoArray *array)
{
        g_ptr_array_unref(array->chunks);
        g_array_unref(array->kept);
        g_byte_array_unref(array->old);
}

void undo_array_reserve(UndoArray *array, guint32 n)
{
        while ((gsize)array->chunks->len * CHUNK < n)
                g_ptr_array_add(array->chunks, g_malloc0_n(CHUNK, array->item));
}

void *undo_array_get(const UndoArray *array, guint32 i)
{
        return (char *)array->chunks->pdata[i / CHUNK] + (gsize)(i % CHUNK) * array->item;
}

void *undo_array_touch(UndoArray *array, guint32 i)
{
        char *item = undo_array_get(array, i);
        bool *touched = (bool *)(item + array->touched);

        if (!*touched) {
                g_array_append_val(array->kept, i);
                g_byte_array_append(array->old, (const guint8 *)item, (guint)array->item);
                *touched = true;
        }
        return item;
}

const void *undo_array_was(const UndoArray *array, guint i)
{
        return array->old->data + i * array->item;
}

void undo_array_keep(UndoArray *array)
{
        for (guint i = 0; i < array->kept->len; i++)
                *((bool *)((char *)undo_array_get(array, g_array_index(array->kept, guint32, i)) +
                           array->touched)) = false;
        g_array_set_size(array->kept, 0);
        g_byte_array_set_size(array->old, 0);
}

void undo_array_undo(UndoArray *array)
{
        for (guint i = 0; i < array->kept->len; i++)
                memcpy(undo_array_get(array, g_array_index(array->kept, guint32, i)),
                       array->old->data + i * array->item, array->item);
        g_array_set_size(array->kept, 0);
        g_byte_array_set_size(array->old, 0);
}

gsize undo_array_size(const UndoArray *array)
{
        return array->chunks->len * (CHUNK * array->item + sizeof(void *));
}
