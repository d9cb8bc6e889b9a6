/* jansson with GLib's manners: cleanup attributes, aborting allocators, bounded parsing, typed getters that
 * name the field they refuse. Paths in messages read like "roles[1].replicas". */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_t, json_decref)
typedef char JsonText;
static inline void json_text_free(JsonText *text)
{
        free(text); /* jansson's own dumps come from malloc */
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonText, json_text_free)

enum { JSON_DEPTH_MAX = 64 };

/* Call once in main(): out of memory aborts, as in all of GLib. */
void json_init(void);

/* Parses one document of `len` bytes; refuses duplicate members, NULs in strings, and trailing bytes.
 * ERR_INVALID with line and column. NULL on failure. */
json_t *json_parse(const char *text, gsize len, GError **error);

/* The same for text that this program has written itself: nested as deeply as jansson takes it (2,048). What was bounded
 * when it came in may lie some levels deeper in what was written. */
json_t *json_parse_own(const char *text, gsize len, GError **error);

/* The levels of objects and arrays: 0 for a number, 1 for {} and []. */
int json_depth(const json_t *value);

/* As json_parse, but the last of duplicate members wins: for older interfaces. */
json_t *json_parse_loose(const char *text, gsize len, GError **error);

/* Compact text, as jansson writes it; the caller's, to be g_free()d. NULL is "null". The tree must not contain
 * itself. json_write appends it. */
char *json_format(const json_t *value);
void json_write(GString *out, const json_t *value);

/* Appends `text` as a JSON string, for output that is written without a tree. Invalid UTF-8 is repaired; NULL
 * becomes "". */
void json_quote(GString *out, const char *text);

/* A time of clock_format; null for 0. */
json_t *json_time(gint64 ms);

/* A new object {"code","message","hint"[,"request_id"]} of an error. */
json_t *json_from_error(const GError *error, const char *request_id);

/* Typed members. Absent or null: true, *ret untouched. Wrong type or out of range: false with ERR_INVALID
 * that names `where` (prefix such as "roles[1]." or "") and `name`. Strings are borrowed from `object` and
 * hold at most `max` bytes. */
bool json_get_string(const json_t *object, const char *where, const char *name, gsize max, const char **ret,
                     GError **error);
bool json_get_int(const json_t *object, const char *where, const char *name, gint64 min, gint64 max,
                  gint64 *ret, GError **error);
bool json_get_bool(const json_t *object, const char *where, const char *name, bool *ret, GError **error);
bool json_get_array(const json_t *object, const char *where, const char *name, gsize max_items, json_t **ret,
                    GError **error);
bool json_get_object(const json_t *object, const char *where, const char *name, gsize max_items, json_t **ret,
                     GError **error);

/* False with ERR_INVALID naming the first member of `object` that is not in the NULL-terminated list `known`.
 */
bool json_only(const json_t *object, const char *where, const char *const *known, GError **error);

/* The known words of an error message: "one of a, b, c" from a NULL-terminated list; the caller's. */
char *json_words(const char *const *words);
