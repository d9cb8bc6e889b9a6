/* JSON (see json.h), on jansson. */
#include "base/json.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/word.h"

void json_init(void)
{
        /* GLib's allocator is malloc, so memory from jansson may be freed with either function. */
        json_set_alloc_funcs((json_malloc_t)g_malloc, (json_free_t)g_free);
}

static bool depth_fits(const char *text, gsize len)
{
        int depth = 0;
        bool in_string = false;

        for (gsize i = 0; i < len; i++) {
                char c = text[i];

                if (in_string) {
                        if (c == '\\')
                                i++;
                        else if (c == '"')
                                in_string = false;
                } else if (c == '"') {
                        in_string = true;
                } else if ((c == '{' || c == '[') && ++depth > JSON_DEPTH_MAX) {
                        return false;
                } else if (c == '}' || c == ']') {
                        depth--;
                }
        }
        return true;
}

static json_t *load(const char *text, gsize len, size_t flags, GError **error)
{
        json_error_t at;
        json_t *value;
        char *near;

        value = json_loadb(text, len, flags | JSON_DECODE_ANY, &at);
        if (value)
                return value;
        /* Drop the quoted piece of text, which may contain a password or a secret; keep the name of a
         * duplicate key. */
        near = strstr(at.text, " near '");
        if (near && !g_str_has_prefix(at.text, "duplicate object key"))
                *near = '\0';
        err_set(error, ERR_INVALID, "not valid JSON at line %d, column %d: %s", at.line, at.column, at.text);
        return NULL;
}

static json_t *parse(const char *text, gsize len, size_t flags, GError **error)
{
        if (depth_fits(text, len))
                return load(text, len, flags, error);
        err_set(error, ERR_INVALID, "JSON is nested deeper than %d", JSON_DEPTH_MAX);
        return NULL;
}

json_t *json_parse_own(const char *text, gsize len, GError **error)
{
        return load(text, len, JSON_REJECT_DUPLICATES, error);
}

static int deeper(int deepest, const json_t *item)
{
        int depth = json_depth(item);

        return MAX(deepest, depth);
}

int json_depth(const json_t *value)
{
        int deepest = 0;
        const char *name;
        const json_t *item;
        size_t i;

        if (!json_is_object(value) && !json_is_array(value))
                return 0;
        json_object_foreach((json_t *)value, name, item) {
                deepest = deeper(deepest, item);
        }
        json_array_foreach(value, i, item) {
                deepest = deeper(deepest, item);
        }
        return deepest + 1;
}

json_t *json_parse(const char *text, gsize len, GError **error)
{
        return parse(text, len, JSON_REJECT_DUPLICATES, error);
}

json_t *json_parse_loose(const char *text, gsize len, GError **error)
{
        return parse(text, len, 0, error);
}

void json_quote(GString *out, const char *text)
{
        /* Bytes that are not UTF-8 (an old file name) would make the whole line unreadable. */
        g_autofree char *valid =
                !text || g_utf8_validate(text, -1, NULL) ? NULL : g_utf8_make_valid(text, -1);

        g_string_append_c(out, '"');
        for (const char *at = valid ? valid : text ? text : ""; *at; at++) {
                size_t plain = 0;

                while ((guchar)at[plain] >= 0x20 && at[plain] != '"' && at[plain] != '\\')
                        plain++;
                g_string_append_len(out, at, (gssize)plain);
                at += plain;
                if (!*at)
                        break;
                if (*at == '"' || *at == '\\')
                        g_string_append_printf(out, "\\%c", *at);
                else
                        g_string_append_printf(out, "\\u%04x", (guchar)*at);
        }
        g_string_append_c(out, '"');
}

json_t *json_time(gint64 ms)
{
        g_autofree char *text = ms ? clock_format(ms) : NULL;

        return text ? json_string(text) : json_null();
}

json_t *json_from_error(const GError *error, const char *request_id)
{
        g_autofree char *text = err_text(error);
        json_t *object = json_pack("{s:s, s:s+}", "code", err_row(error)->word, "message", text, "");

        if (!object) /* the message is not UTF-8 */
                object = json_pack("{s:s, s:s}", "code", err_row(error)->word, "message",
                                   "not shown: not UTF-8");
        json_object_set_new(object, "hint", json_string(err_hint(error) ? err_hint(error) : ""));
        if (request_id)
                json_object_set_new(object, "request_id", json_string(request_id));
        return object;
}

static const json_t *member(const json_t *object, const char *name)
{
        const json_t *value = json_object_get(object, name);

        return json_is_null(value) ? NULL : value;
}

bool json_get_string(const json_t *object, const char *where, const char *name, gsize max, const char **ret,
                     GError **error)
{
        const json_t *value = member(object, name);

        if (!value)
                return true;
        if (!json_is_string(value))
                return err_set(error, ERR_INVALID, "%s%s must be a string", where, name);
        if (json_string_length(value) > max)
                return err_set(error, ERR_INVALID, "%s%s is longer than %" G_GSIZE_FORMAT " bytes", where,
                               name, max);
        *ret = json_string_value(value);
        return true;
}

bool json_get_int(const json_t *object, const char *where, const char *name, gint64 min, gint64 max,
                  gint64 *ret, GError **error)
{
        const json_t *value = member(object, name);
        g_autofree char *shown = NULL;

        if (!value)
                return true;
        if (json_is_integer(value) && json_integer_value(value) >= min && json_integer_value(value) <= max) {
                *ret = json_integer_value(value);
                return true;
        }
        shown = json_format(value);
        return err_set(error, ERR_INVALID,
                       "%s%s: '%.40s' is not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                       where, name, shown, min, max);
}

bool json_get_bool(const json_t *object, const char *where, const char *name, bool *ret, GError **error)
{
        const json_t *value = member(object, name);

        if (!value)
                return true;
        if (!json_is_boolean(value))
                return err_set(error, ERR_INVALID, "%s%s must be true or false", where, name);
        *ret = json_is_true(value);
        return true;
}

bool json_get_array(const json_t *object, const char *where, const char *name, gsize max_items, json_t **ret,
                    GError **error)
{
        json_t *value = (json_t *)member(object, name);

        if (!value)
                return true;
        if (!json_is_array(value))
                return err_set(error, ERR_INVALID, "%s%s must be a list", where, name);
        if (json_array_size(value) > max_items)
                return err_set(error, ERR_INVALID, "%s%s has more than %" G_GSIZE_FORMAT " items", where,
                               name, max_items);
        *ret = value;
        return true;
}

bool json_get_object(const json_t *object, const char *where, const char *name, gsize max_items, json_t **ret,
                     GError **error)
{
        json_t *value = (json_t *)member(object, name);

        if (!value)
                return true;
        if (!json_is_object(value))
                return err_set(error, ERR_INVALID, "%s%s must be an object", where, name);
        if (json_object_size(value) > max_items)
                return err_set(error, ERR_INVALID, "%s%s has more than %" G_GSIZE_FORMAT " members", where,
                               name, max_items);
        *ret = value;
        return true;
}

bool json_only(const json_t *object, const char *where, const char *const *known, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)object, name, value) {
                g_autofree char *words = NULL;
                const char *near;

                if (g_strv_contains(known, name))
                        continue;
                words = json_words(known);
                near = word_nearest(name, known);
                return err_set(error, ERR_INVALID, "%s'%.64s' is not a known field\n%s%s%sThe fields are %s.",
                               where, name, near ? "Did you mean '" : "", near ? near : "", near ? "'? " : "",
                               words);
        }
        return true;
}

char *json_words(const char *const *words)
{
        return g_strjoinv(", ", (char **)words);
}
