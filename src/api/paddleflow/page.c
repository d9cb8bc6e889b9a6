/* Lists in pages (doc/reference/paddleflow-api.md, "Lists in pages"). A page ends where the next begins by
 * what its caller may see, so a marker never leads to an empty one. */
#include <stddef.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/number.h"

enum { SCANS_MAX = 64 }; /* reads of the store for one page */

const HttpParameter page_query[] = {
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

static bool take_max(const Call *call, gint64 *ret, GError **error)
{
        return call_query_int(call, "maxKeys", 1, PADDLEFLOW_KEYS_MAX, PADDLEFLOW_KEYS, ret, error);
}

static void refuse_marker(const char *marker, GError **error)
{
        paddleflow_set(error, CODE_InvalidMarker, "marker: '%.80s' is none that this list gave", marker);
}

bool page_take(const Call *call, const char *list, Page *ret, GError **error)
{
        const char *marker = call_query(call, "marker");

        *ret = (Page){ .max = PADDLEFLOW_KEYS };
        if (!take_max(call, &ret->max, error))
                return false;
        if (!*marker || marker_parse(call->flow, list, marker, &ret->after))
                return true;
        refuse_marker(marker, error);
        return false;
}

bool page_take_text(const Call *call, const char *list, gint64 *ret_max, char **ret_after, GError **error)
{
        const char *marker = call_query(call, "marker");

        *ret_after = NULL;
        if (!take_max(call, ret_max, error))
                return false;
        if (*marker && !(*ret_after = marker_parse_text(call->flow, list, marker))) {
                refuse_marker(marker, error);
                return false;
        }
        return true;
}

/* Takes both; `marker` NULL: it was the last page. */
static json_t *format(gint64 max, char *marker, const char *name, json_t *items)
{
        json_t *reply = json_pack("{s:I, s:b}", "maxKeys", (json_int_t)max, "isTruncated", marker != NULL);

        if (marker)
                json_object_set_new(reply, "nextMarker", json_string(marker));
        json_object_set_new(reply, name, items);
        g_free(marker);
        return reply;
}

bool page_has(char *const *list, const char *text)
{
        return !list || g_strv_contains((const char *const *)list, text);
}

/* Adds what is wanted; *last is the last one that was added. True: the page is full. */
static bool add_rows(const Call *call, const PageRows *rows, const void *filter, const GPtrArray *found,
                     gint64 max, json_t *items, gint64 *last)
{
        for (guint i = 0; i < found->len; i++) {
                const void *row = found->pdata[i];

                if (!rows->wanted(filter, row))
                        continue;
                if ((gint64)json_array_size(items) == max)
                        return true;
                json_array_append_new(items, rows->show(call, row));
                *last = G_STRUCT_MEMBER(gint64, row, rows->seq);
        }
        return false;
}

json_t *page_collect(const Call *call, const PageRows *rows, void *filter, const Page *page, gint64 *ret_next,
                     GError **error)
{
        g_autoptr(json_t) items = json_array();
        gint64 after = page->after, last = 0;

        for (int scans = 0; scans < SCANS_MAX; scans++) {
                gint64 next = 0;
                g_autoptr(GPtrArray) found = rows->read(call, filter, after, &next, error);

                if (!found)
                        return NULL;
                if (add_rows(call, rows, filter, found, page->max, items, &last)) {
                        *ret_next = last;
                        return g_steal_pointer(&items);
                }
                after = next;
                if (!next)
                        break;
        }
        *ret_next = after; /* there may be more, far away */
        return g_steal_pointer(&items);
}

json_t *page_format(const Call *call, const char *list, const Page *page, gint64 next, const char *name,
                    json_t *items)
{
        return format(page->max, next ? marker_format(call->flow, list, next) : NULL, name, items);
}

json_t *page_format_text(const Call *call, const char *list, gint64 max, const char *next, json_t *items)
{
        return format(max, next ? marker_format_text(call->flow, list, next) : NULL, list, items);
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
