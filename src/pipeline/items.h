/* The items of a loop. A list of the definition is shared. Of a text in JSON only the places of its items are kept, four
 * bytes each, since a tree of JSON would take many times the text. Immutable and counted: any thread. */
#pragma once

#include <glib.h>

#include "base/json.h"

typedef struct Items Items;

enum { ITEM_MAX = 1024 * 1024 }; /* bytes of an item of a text */

/* Of an array, or of a text that is an array in JSON, of at most `max` items. NULL with ERR_INVALID ("RE-02: ...") if it is
 * neither, or an item is too long; ERR_QUOTA if it has more items. The time is in proportion to the text. Shares
 * `value`. */
Items *items_new(const json_t *value, guint32 max, GError **error);
/* False with ERR_INVALID: the value is not a list; the message has its begin. */
bool items_refuse(const json_t *value, GError **error);
Items *items_ref(Items *items);
void items_unref(Items *items);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Items, items_unref)

guint32 items_count(const Items *items);
/* The text that they are in, borrowed; NULL: an array. */
const char *items_text(const Items *items);
/* A new reference; NULL behind the last one. */
json_t *items_get(const Items *items, guint32 i);
