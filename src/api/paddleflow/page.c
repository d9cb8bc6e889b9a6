/* Lists in pages (doc/reference/paddleflow-api.md, "Lists in pages"). A page ends where the next begins by
 * what its caller may see, so a marker never leads to an empty one. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/number.h"

const HttpParameter page_query[] = {
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

bool page_take(const Call *call, const char *list, Page *ret, GError **error)
{
        const char *marker = call_query(call, "marker");

        *ret = (Page){ .max = PADDLEFLOW_KEYS };
        if (!call_query_int(call, "maxKeys", 1, PADDLEFLOW_KEYS_MAX, PADDLEFLOW_KEYS, &ret->max, error))
                return false;
        return !*marker || marker_parse(call->flow, list, marker, &ret->after) ||
               paddleflow_set(error, CODE_InvalidMarker, "marker: '%.80s' is none that this list gave",
                              marker);
}

json_t *page_format(const Call *call, const char *list, const Page *page, gint64 next, const char *name,
                    json_t *items)
{
        json_t *reply = json_pack("{s:I, s:b}", "maxKeys", (json_int_t)page->max, "isTruncated", next != 0);

        if (next) {
                g_autofree char *marker = marker_format(call->flow, list, next);

                json_object_set_new(reply, "nextMarker", json_string(marker));
        }
        json_object_set_new(reply, name, items);
        return reply;
}

void page_reply(const Call *call, ObjectKind kind, const char *name, PageKeep keep, void *arg, PageShow show)
{
        const GPtrArray *all = catalog_list(call->catalog, kind);
        json_t *items, *reply;
        gint64 last = 0, next = 0;
        GError *error = NULL;
        Page page;

        if (!page_take(call, name, &page, &error)) {
                call_fail(call, error);
                return;
        }
        items = json_array();
        for (guint i = 0; i < all->len && !next; i++) {
                const Object *object = all->pdata[i];

                if (object->seq <= page.after || (keep && !keep(call, object, arg)))
                        continue;
                if ((gint64)json_array_size(items) == page.max) {
                        next = last;
                } else {
                        json_array_append_new(items, show(call->flow, call->catalog, object));
                        last = object->seq;
                }
        }
        reply = page_format(call, name, &page, next, name, items);
        if (kind == KIND_USER) /* 1.8: its own habit */
                json_object_set_new(reply, "maxKeys", json_integer(0));
        call_reply(call, reply);
}
