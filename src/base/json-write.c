/* JSON as compact text, from trees (see json.h) and member by member (see json-out.h): the bytes of jansson's
 * json_dumps(JSON_COMPACT), without its search for loops, which formats the address of each object, and without its
 * copies. A tree that a server builds has no loop. */
#include "base/json-out.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

static void write_value(GString *out, const json_t *value);

/* As g_string_append_len, without a call while there is space: a text of a job is some 300 pieces. */
static inline void append(GString *out, const char *text, gsize len)
{
        if (out->len + len >= out->allocated_len) {
                g_string_append_len(out, text, (gssize)len);
                return;
        }
        memcpy(out->str + out->len, text, len);
        out->len += len;
        out->str[out->len] = '\0';
}

static inline void append_text(GString *out, const char *text)
{
        append(out, text, strlen(text));
}

/* Two characters for the escapes that have a name, otherwise \uXXXX as jansson writes it. */
static void write_escape(GString *out, char c)
{
        static const char named[] = { ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                      ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't' };

        if (named[(guchar)c])
                g_string_append_printf(out, "\\%c", named[(guchar)c]);
        else
                g_string_append_printf(out, "\\u%04X", (guchar)c);
}

static bool is_plain(char c)
{
        return (guchar)c >= 0x20 && c != '"' && c != '\\';
}

/* jansson's strings are valid UTF-8. */
static void write_string(GString *out, const char *text, gsize len)
{
        g_string_append_c(out, '"');
        for (gsize at = 0; at < len; at++) {
                gsize plain = at;

                while (plain < len && is_plain(text[plain]))
                        plain++;
                append(out, text + at, plain - at);
                at = plain;
                if (at < len)
                        write_escape(out, text[at]);
        }
        g_string_append_c(out, '"');
}

static void write_integer(GString *out, json_int_t number)
{
        char digits[24], *at = digits + sizeof digits;
        guint64 left = number < 0 ? -(guint64)number : (guint64)number;

        do {
                *--at = (char)('0' + left % 10);
                left /= 10;
        } while (left);
        if (number < 0)
                *--at = '-';
        append(out, at, (gsize)(digits + sizeof digits - at));
}

void json_write_real(GString *out, double number)
{
        char text[40]; /* 17 digits, a sign, a dot and an exponent */

        for (int precision = 15; precision <= 17; precision++) {
                char format[8];

                g_snprintf(format, sizeof(format), "%%.%dg", precision);
                if (g_ascii_strtod(g_ascii_formatd(text, sizeof(text), format, number), NULL) == number)
                        break;
        }
        g_string_append(out, text);
        if (!strpbrk(text, ".en")) /* also not "nan" and "inf" */
                g_string_append(out, ".0");
}

static void write_real(GString *out, const json_t *value)
{
        g_autoptr(JsonText) text = json_dumps(value, JSON_ENCODE_ANY);

        g_string_append(out, text ? text : "null");
}

static void write_array(GString *out, const json_t *array)
{
        gsize n = json_array_size(array);

        g_string_append_c(out, '[');
        for (gsize i = 0; i < n; i++) {
                if (i)
                        g_string_append_c(out, ',');
                write_value(out, json_array_get(array, i));
        }
        g_string_append_c(out, ']');
}

static void write_object(GString *out, json_t *object)
{
        const char *separator = "{";

        if (json_object_size(object) == 0)
                g_string_append_c(out, '{');
        for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
                const char *name = json_object_iter_key(at);

                append_text(out, separator);
                write_string(out, name, strlen(name));
                g_string_append_c(out, ':');
                write_value(out, json_object_iter_value(at));
                separator = ",";
        }
        g_string_append_c(out, '}');
}

static void write_value(GString *out, const json_t *value)
{
        switch (value ? json_typeof(value) : JSON_NULL) {
        case JSON_OBJECT: write_object(out, (json_t *)value); return;
        case JSON_ARRAY: write_array(out, value); return;
        case JSON_STRING: write_string(out, json_string_value(value), json_string_length(value)); return;
        case JSON_INTEGER: write_integer(out, json_integer_value(value)); return;
        case JSON_REAL: write_real(out, value); return;
        case JSON_TRUE:
        case JSON_FALSE: append_text(out, json_is_true(value) ? "true" : "false"); return;
        case JSON_NULL: append_text(out, "null"); return;
        }
}

void json_write(GString *out, const json_t *value)
{
        write_value(out, value);
}

/* ---- for people ---- */

static void write_lines(GString *out, const json_t *value, int level);

static void new_line(GString *out, int level)
{
        g_string_append_c(out, '\n');
        for (int i = 0; i < level; i++)
                g_string_append(out, "  ");
}

static void write_items(GString *out, const json_t *array, int level)
{
        const json_t *item;
        size_t i;

        json_array_foreach(array, i, item) {
                g_string_append(out, i ? "," : "");
                new_line(out, level + 1);
                write_lines(out, item, level + 1);
        }
}

static void write_members(GString *out, json_t *object, int level)
{
        const char *name, *separator = "";
        json_t *value;

        json_object_foreach(object, name, value) {
                g_string_append(out, separator);
                new_line(out, level + 1);
                write_string(out, name, strlen(name));
                g_string_append(out, ": ");
                write_lines(out, value, level + 1);
                separator = ",";
        }
}

static void write_lines(GString *out, const json_t *value, int level)
{
        bool array = json_is_array(value), empty = !json_array_size(value) && !json_object_size(value);

        if (json_is_real(value)) {
                json_write_real(out, json_real_value(value));
        } else if (!value || empty) {
                write_value(out, value);
        } else {
                g_string_append_c(out, array ? '[' : '{');
                if (array)
                        write_items(out, value, level);
                else
                        write_members(out, (json_t *)value, level);
                new_line(out, level);
                g_string_append_c(out, array ? ']' : '}');
        }
}

/* Takes `text`. All such characters have four hexadecimal digits, and stand in strings. */
static char *escape_controls(char *text)
{
        g_autofree char *whole = text;
        GString *out;
        const char *at = text;

        while (*at && (*at == '\n' || !unichar_is_control(g_utf8_get_char(at))))
                at = g_utf8_next_char(at);
        if (!*at)
                return g_steal_pointer(&whole);
        out = g_string_new_len(text, at - text);
        for (; *at; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);

                if (c != '\n' && unichar_is_control(c))
                        g_string_append_printf(out, "\\u%04X", c);
                else
                        g_string_append_unichar(out, c);
        }
        return g_string_free(out, FALSE);
}

char *json_format_lines(const json_t *value)
{
        GString *out = g_string_sized_new(256);

        write_lines(out, value, 0);
        return escape_controls(g_string_free(out, FALSE));
}

char *json_format(const json_t *value)
{
        GString *out = g_string_sized_new(256);

        write_value(out, value);
        return g_string_free(out, FALSE);
}

/* ---- member by member ---- */

JsonOut json_out_begin(gsize size)
{
        return (JsonOut){ g_string_sized_new(size), false };
}

static void drop_comma(GString *text)
{
        if (text->len > 0 && text->str[text->len - 1] == ',')
                g_string_truncate(text, text->len - 1);
}

char *json_out_end(JsonOut *out)
{
        drop_comma(out->text);
        return g_string_free(g_steal_pointer(&out->text), FALSE);
}

void json_open(JsonOut *out, char bracket)
{
        g_string_append_c(out->text, bracket);
}

void json_out_open(JsonOut *out, const char *name, char bracket)
{
        append_text(out->text, name);
        g_string_append_c(out->text, bracket);
}

void json_close(JsonOut *out, char bracket)
{
        drop_comma(out->text);
        g_string_append_c(out->text, bracket);
        g_string_append_c(out->text, ',');
}

void json_out_raw(JsonOut *out, const char *name, const char *json)
{
        if (!json && out->brief)
                return;
        append_text(out->text, name);
        append_text(out->text, json ? json : "null");
        g_string_append_c(out->text, ',');
}

void json_out_text(JsonOut *out, const char *name, const char *text)
{
        gsize len = text ? strlen(text) : 0;
        g_autofree char *valid = !text || g_utf8_validate(text, (gssize)len, NULL)
                                         ? NULL
                                         : g_utf8_make_valid(text, (gssize)len);

        if (!text) {
                json_out_raw(out, name, NULL);
                return;
        }
        append_text(out->text, name);
        write_string(out->text, valid ? valid : text, valid ? strlen(valid) : len);
        g_string_append_c(out->text, ',');
}

void json_out_int(JsonOut *out, const char *name, gint64 number)
{
        append_text(out->text, name);
        write_integer(out->text, number);
        g_string_append_c(out->text, ',');
}

void json_out_time(JsonOut *out, const char *name, gint64 ms)
{
        g_autofree char *text = ms ? clock_format(ms) : NULL;

        json_out_text(out, name, text);
}

static bool says_nothing(const json_t *value)
{
        return json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0);
}

static void put_value(JsonOut *out, const json_t *value)
{
        write_value(out->text, value);
        g_string_append_c(out->text, ',');
}

void json_out_value(JsonOut *out, const char *name, json_t *value)
{
        if (!value) {
                json_out_raw(out, name, out->brief ? NULL : "{}");
        } else if (!out->brief || !says_nothing(value)) {
                append_text(out->text, name);
                put_value(out, value);
        }
        json_decref(value);
}

void json_put_members(JsonOut *out, json_t *object)
{
        for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
                const char *name = json_object_iter_key(at);

                if (out->brief && says_nothing(json_object_iter_value(at)))
                        continue;
                write_string(out->text, name, strlen(name));
                g_string_append_c(out->text, ':');
                put_value(out, json_object_iter_value(at));
        }
        json_decref(object);
}

void json_put_written(JsonOut *out, const char *members, gsize len)
{
        append(out->text, members, len);
        g_string_append_c(out->text, ',');
}
