/* Percent-encoding (RFC 3986, section 2.1) of paths and queries; see url.h. */
#include "net/url.h"

#include <string.h>

#include "base/err.h"
#include "net/client.h"

/* Appends `len` bytes, decoded. `plus`: '+' means a blank, as forms write it. */
static bool decode(const char *raw, gsize len, bool plus, GString *out, GError **error)
{
        gsize start = out->len;

        for (gsize i = 0; i < len; i++) {
                char c = raw[i];

                if (c == '%') {
                        if (len - i < 3 || !g_ascii_isxdigit(raw[i + 1]) || !g_ascii_isxdigit(raw[i + 2]))
                                return err_set(error, ERR_INVALID,
                                               "the URL has a '%%' without two hexadecimal digits");
                        c = (char)(g_ascii_xdigit_value(raw[i + 1]) * 16 + g_ascii_xdigit_value(raw[i + 2]));
                        i += 2;
                } else if (plus && c == '+') {
                        c = ' ';
                }
                g_string_append_c(out, c);
        }
        if (!g_utf8_validate(out->str + start, (gssize)(out->len - start), NULL))
                return err_set(error, ERR_INVALID, "the URL holds a NUL or bytes that are not UTF-8");
        return true;
}

void url_path_clear(UrlPath *path)
{
        if (path->text)
                g_string_free(path->text, TRUE);
        *path = (UrlPath){ 0 };
}

/* True if `text` has '.' or '..' between slashes: an escaped slash may have brought them in. */
static bool has_dots(const char *text, gsize len)
{
        for (gsize i = 0; i < len;) {
                const char *slash = memchr(text + i, '/', len - i);
                gsize part = slash ? (gsize)(slash - (text + i)) : len - i;

                if ((part == 1 && text[i] == '.') || (part == 2 && text[i] == '.' && text[i + 1] == '.'))
                        return true;
                i += part + 1;
        }
        return false;
}

static bool add_segment(UrlPath *path, const char *raw, gsize len, GError **error)
{
        gsize at = path->text->len + 1;

        if (path->count == PATH_SEGMENTS_MAX)
                return err_set(error, ERR_INVALID, "the path has more than %d segments", PATH_SEGMENTS_MAX);
        g_string_append_c(path->text, '/');
        if (!decode(raw, len, false, path->text, error))
                return false;
        if (has_dots(path->text->str + at, path->text->len - at))
                return err_set(error, ERR_INVALID, "the path has a segment '.' or '..'");
        path->segments[path->count].at = at;
        path->segments[path->count++].len = path->text->len - at;
        return true;
}

bool url_path_parse(const char *raw, gsize len, UrlPath *ret, GError **error)
{
        g_auto(UrlPath) path = { .text = g_string_sized_new(len + 1) };

        if (len == 0 || raw[0] != '/')
                return err_set(error, ERR_INVALID, "the path does not begin with '/'");
        for (gsize i = 1; i < len;) {
                const char *slash = memchr(raw + i, '/', len - i);
                gsize part = slash ? (gsize)(slash - (raw + i)) : len - i;

                if (part && !add_segment(&path, raw + i, part, error))
                        return false;
                i += part + 1;
        }
        if (path.count == 0)
                g_string_append_c(path.text, '/');
        *ret = path;
        path.text = NULL;
        return true;
}

/* Appends what was sent, or its decoded form when that would be escaped the same way. */
static bool decode_canonical(const char *raw, gsize len, GString *out, GError **error)
{
        g_autoptr(GString) text = g_string_sized_new(len + 1);
        g_autofree char *sent = g_strndup(raw, len), *again = NULL;

        if (!decode(raw, len, false, text, NULL) || !g_utf8_validate(raw, (gssize)len, NULL))
                return err_set(error, ERR_INVALID,
                               "the URL has a broken escape, a NUL, or bytes that are not UTF-8");
        again = g_uri_escape_string(text->str, "$&+,/:;=@", FALSE);
        g_string_append(out, strcmp(again, sent) == 0 ? text->str : sent);
        return true;
}

bool url_path_parse_exact(const char *raw, gsize len, UrlPath *ret, GError **error)
{
        g_auto(UrlPath) path = { .text = g_string_sized_new(len + 1) };

        if (len == 0 || raw[0] != '/')
                return err_set(error, ERR_INVALID, "the path does not begin with '/'");
        if (!decode_canonical(raw, len, path.text, error))
                return false;
        for (const char *slash = path.text->str; slash; slash = strchr(slash + 1, '/')) {
                gsize part = strcspn(slash + 1, "/");

                if (part == 0 || path.count == PATH_SEGMENTS_MAX)
                        return err_set(error, ERR_NOT_FOUND, "no such route: '%s'", path.text->str);
                path.segments[path.count].at = (gsize)(slash + 1 - path.text->str);
                path.segments[path.count++].len = part;
        }
        *ret = path;
        path.text = NULL;
        return true;
}

static void pair_clear(void *data)
{
        UrlPair *pair = data;

        g_free(pair->name);
        g_free(pair->value);
}

static bool add_pair(GArray *query, const char *raw, gsize len, GError **error)
{
        const char *equals = memchr(raw, '=', len);
        gsize name_len = equals ? (gsize)(equals - raw) : len;
        g_autoptr(GString) name = g_string_sized_new(name_len + 1),
                           value = g_string_sized_new(len - name_len + 1);
        UrlPair pair;

        if (query->len == QUERY_PAIRS_MAX)
                return err_set(error, ERR_INVALID, "the query has more than %d parameters", QUERY_PAIRS_MAX);
        if (!decode(raw, name_len, true, name, error) ||
            (equals && !decode(equals + 1, len - name_len - 1, true, value, error)))
                return false;
        pair.name = g_string_free(g_steal_pointer(&name), FALSE);
        pair.value = g_string_free(g_steal_pointer(&value), FALSE);
        g_array_append_val(query, pair);
        return true;
}

GArray *url_query_parse(const char *raw, GError **error)
{
        g_autoptr(GArray) query = g_array_new(FALSE, FALSE, sizeof(UrlPair));

        g_array_set_clear_func(query, pair_clear);
        for (;;) {
                gsize len = strcspn(raw, "&");

                if (len && !add_pair(query, raw, len, error))
                        return NULL;
                if (!raw[len])
                        return g_steal_pointer(&query);
                raw += len + 1;
        }
}

static void add_valid(GString *out, const char *raw, gsize len)
{
        for (gsize i = 0; i < len; i++) {
                bool escape = raw[i] == '%'; /* followed by two digits: looked at before */

                g_string_append_c(out, escape ? (char)(g_ascii_xdigit_value(raw[i + 1]) * 16 +
                                                       g_ascii_xdigit_value(raw[i + 2]))
                                              : (raw[i] == '+' ? ' ' : raw[i]));
                i += escape ? 2 : 0;
        }
}

static bool pair_is_sound(const char *raw, gsize len)
{
        for (gsize i = 0; i < len; i++)
                if (raw[i] == ';' || (raw[i] == '%' && (len - i < 3 || !g_ascii_isxdigit(raw[i + 1]) ||
                                                        !g_ascii_isxdigit(raw[i + 2]))))
                        return false;
        return true;
}

static char *valid_text(const char *raw, gsize len)
{
        g_autoptr(GString) text = g_string_sized_new(len + 1);

        add_valid(text, raw, len);
        return g_utf8_make_valid(text->str, (gssize)text->len);
}

GArray *url_query_parse_exact(const char *raw)
{
        GArray *query = g_array_new(FALSE, FALSE, sizeof(UrlPair));

        g_array_set_clear_func(query, pair_clear);
        for (;;) {
                gsize len = strcspn(raw, "&"), name_len = MIN(len, strcspn(raw, "="));

                if (len && pair_is_sound(raw, len) && query->len < QUERY_PAIRS_MAX) {
                        const char *value = raw + MIN(len, name_len + 1);
                        UrlPair pair = { valid_text(raw, name_len),
                                         valid_text(value, (gsize)(raw + len - value)) };

                        g_array_append_val(query, pair);
                }
                if (!raw[len])
                        return query;
                raw += len + 1;
        }
}

const char *url_query_get(const GArray *query, const char *name)
{
        for (guint i = 0; query && i < query->len; i++) {
                const UrlPair *pair = &g_array_index(query, UrlPair, i);

                if (strcmp(pair->name, name) == 0)
                        return pair->value;
        }
        return NULL;
}

char *url_escape(const char *text)
{
        return g_uri_escape_string(text, NULL, FALSE);
}

void url_add_query(GString *path, const char *name, const char *value)
{
        g_autofree char *escaped = value ? url_escape(value) : NULL;

        if (value)
                g_string_append_printf(path, "%c%s=%s", strchr(path->str, '?') ? '&' : '?', name, escaped);
}
