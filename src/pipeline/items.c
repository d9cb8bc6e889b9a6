/* The items of a loop (see items.h). */
#include "pipeline/items.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/text-cut.h"

enum { SHOWN_MAX = 80 }; /* bytes of a value in a message */

struct Items {
        gatomicrefcount refs;
        json_t *value; /* an array, or a text */
        GArray *begins; /* guint32, of a text: where each item begins, and one behind the last; NULL: an array */
};

static bool no_list(const char *text, GError **error)
{
        g_autofree char *begin = text_cut_bytes(text, SHOWN_MAX);

        return err_set(error, ERR_INVALID,
                       "RE-02: the value of loop_argument is '%s', which is not a list, such as [1, 2]",
                       begin);
}

bool items_refuse(const json_t *value, GError **error)
{
        g_autofree char *whole = json_is_string(value) ? NULL : json_format(value);

        return no_list(whole ? whole : json_string_value(value), error);
}

static bool too_long(GError **error)
{
        return err_set(error, ERR_INVALID, "RE-02: an item of loop_argument is longer than %d bytes",
                       ITEM_MAX);
}

static bool too_many(guint32 max, GError **error)
{
        return err_set(error, ERR_QUOTA, "its loop has more than %u items", max);
}

/* The quote that ends the text in which `at` is; `len`: there is none. */
static gsize quote_end(const char *text, gsize len, gsize at)
{
        while (at < len && text[at] != '"')
                at += text[at] == '\\' ? 2 : 1;
        return MIN(at, len);
}

/* Behind the item that begins at `at`: its comma or bracket; `len`: there is none. */
static gsize item_end(const char *text, gsize len, gsize at)
{
        gsize depth = 0;

        for (; at < len; at++) {
                switch (text[at]) {
                case '"': at = quote_end(text, len, at + 1); break;
                case '[':
                case '{': depth++; break;
                case ']':
                case '}':
                        if (depth-- == 0)
                                return at;
                        break;
                case ',':
                        if (depth == 0)
                                return at;
                        break;
                }
        }
        return len;
}

static gsize skip_blanks(const char *text, gsize len, gsize at)
{
        while (at < len && strchr(" \t\r\n", text[at]))
                at++;
        return at;
}

static bool is_value(const char *text, gsize len)
{
        g_autoptr(json_t) item = json_parse(text, len, NULL);

        return item != NULL;
}

/* `at` is behind the opening bracket. *ret_end is the closing one. */
static bool find_items(const char *text, gsize len, gsize at, guint32 max, GArray *begins, gsize *ret_end,
                       GError **error)
{
        for (;;) {
                guint32 begin = (guint32)at;
                gsize end = item_end(text, len, at);

                if (end - at > ITEM_MAX)
                        return too_long(error);
                if (end == len || text[end] == '}' || !is_value(text + at, end - at))
                        return no_list(text, error);
                if (begins->len == max)
                        return too_many(max, error);
                g_array_append_val(begins, begin);
                at = end + 1;
                if (text[end] == ']') {
                        begin = (guint32)at;
                        g_array_append_val(begins, begin);
                        *ret_end = end;
                        return true;
                }
        }
}

static bool read_text(const char *text, gsize len, guint32 max, GArray *begins, GError **error)
{
        gsize at = skip_blanks(text, len, 0), end;
        guint32 none = 0;

        if (at == len || text[at] != '[' || len >= G_MAXUINT32)
                return no_list(text, error);
        at++;
        end = skip_blanks(text, len, at);
        if (end < len && text[end] == ']')
                g_array_append_val(begins, none);
        else if (!find_items(text, len, at, max, begins, &end, error))
                return false;
        return skip_blanks(text, len, end + 1) == len || no_list(text, error);
}

Items *items_new(const json_t *value, guint32 max, GError **error)
{
        g_autoptr(GArray) begins = json_is_string(value) ? g_array_new(FALSE, FALSE, sizeof(guint32)) : NULL;
        Items *items;

        if (!begins && !json_is_array(value)) {
                (void)items_refuse(value, error);
                return NULL;
        }
        if (!begins && json_array_size(value) > max) {
                (void)too_many(max, error);
                return NULL;
        }
        if (begins && !read_text(json_string_value(value), json_string_length(value), max, begins, error))
                return NULL;
        items = g_new0(Items, 1);
        g_atomic_ref_count_init(&items->refs);
        items->value = json_incref((json_t *)value);
        items->begins = g_steal_pointer(&begins);
        return items;
}

Items *items_ref(Items *items)
{
        g_atomic_ref_count_inc(&items->refs);
        return items;
}

void items_unref(Items *items)
{
        if (!g_atomic_ref_count_dec(&items->refs))
                return;
        json_decref(items->value);
        g_clear_pointer(&items->begins, g_array_unref);
        g_free(items);
}

guint32 items_count(const Items *items)
{
        return items->begins ? items->begins->len - 1 : (guint32)json_array_size(items->value);
}

const char *items_text(const Items *items)
{
        return json_string_value(items->value);
}

json_t *items_get(const Items *items, guint32 i)
{
        guint32 begin;

        if (i >= items_count(items))
                return NULL;
        if (!items->begins)
                return json_incref(json_array_get(items->value, i));
        begin = g_array_index(items->begins, guint32, i);
        return json_parse(json_string_value(items->value) + begin,
                          g_array_index(items->begins, guint32, i + 1) - 1 - begin, NULL);
}
