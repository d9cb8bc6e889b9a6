/* YAML (see yaml.h): a document (document.h) as JSON values.
 *
 * JSON is YAML 1.2, but libyaml refuses its surrogate pairs ("\ud83d\ude00"). So text that starts like JSON
 * is passed to the JSON parser first.
 *
 * Invariant: the result contains only what JSON can express (no NaN, no NUL, only string keys). */
#include "base/yaml.h"

#include <string.h>

#include "base/document.h"
#include "base/err.h"
#include "base/json-out.h"

enum { YAML_KEY_MAX = 1000 }; /* characters of a key before its ':'; YAML allows 1024 */

static const DocumentLimits limits = {
        .size = 1024 * 1024,
        .depth = JSON_DEPTH_MAX,
        .nodes = G_MAXUINT32,
        .alias_values = 10000,
        .alias_text = 1024 * 1024,
};

/* ---- reading ---- */

static json_t *value_of(const Document *document, guint32 at);

static json_t *list_of(const Document *document, guint32 at)
{
        json_t *list = json_array();

        for (guint32 i = at + 1; i < document->nodes[at].next; i = document->nodes[i].next)
                json_array_append_new(list, value_of(document, i));
        return list;
}

static json_t *map_of(const Document *document, guint32 at)
{
        json_t *map = json_object();

        for (guint32 i = at + 1; i < document->nodes[at].next; i = document->nodes[i + 1].next)
                json_object_set_new_nocheck(map, document_text(document, i), value_of(document, i + 1));
        return map;
}

static json_t *value_of(const Document *document, guint32 at)
{
        const DocumentNode *node = &document->nodes[at];

        switch ((DocumentKind)node->kind) {
        case DOCUMENT_BOOL: return json_boolean(node->yes);
        case DOCUMENT_INT: return json_integer(node->whole);
        case DOCUMENT_FLOAT: return json_real(node->real);
        case DOCUMENT_TEXT: return json_string_nocheck(document_text(document, at));
        case DOCUMENT_LIST: return list_of(document, at);
        case DOCUMENT_MAP: return map_of(document, at);
        default: return json_null();
        }
}

static json_t *parse_json(const char *text, gsize len)
{
        gsize blank = 0;

        while (blank < len && g_ascii_isspace(text[blank]))
                blank++;
        return blank < len && (text[blank] == '{' || text[blank] == '[') ? json_parse(text, len, NULL) : NULL;
}

json_t *yaml_parse(const char *text, gsize len, const char *name, GError **error)
{
        json_t *value = len <= limits.size ? parse_json(text, len) : NULL;
        g_autoptr(Document) document = NULL;
        DocumentPlace at;

        if (value)
                return value;
        document = document_parse_yaml(text, len, &limits, &at, error);
        if (document)
                return value_of(document, 0);
        if (at.line)
                (void)err_prefix(error, "%s: line %u, column %u: ", name, at.line, at.column);
        else
                (void)err_prefix(error, "%s: ", name);
        return NULL;
}

/* ---- writing ---- */

/* Text that every YAML reader reads as the same text without quotes. Readers of YAML 1.1 also see booleans,
 * dates and base 60 numbers where 1.2 sees text. */
static bool is_plain_safe(const char *text)
{
        static const char *const words_of_1_1[] = { "yes", "no", "on", "off", "y", "n", NULL };
        g_autofree char *lower = g_ascii_strdown(text, -1);
        size_t len = strlen(text);

        if (!len || !(g_ascii_isalnum(*text) || *text == '/' || *text == '_') ||
            g_strv_contains(words_of_1_1, lower))
                return false;
        if (len != strspn(text,
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./@%+=,()-:") ||
            text[len - 1] == ' ' || text[len - 1] == ':' || strstr(text, ": "))
                return false;
        if (g_ascii_isdigit(*text) && (strchr(text, ':') || !strpbrk(lower, "abcdefghijklmnopqrstuvwxyz")))
                return false;
        return document_is_plain_text(text);
}

/* Characters that every YAML reader accepts between quotes: no line break of YAML 1.1, and none that a
 * version forbids; and none that controls a terminal or the direction of writing. */
static bool is_printable(gunichar c)
{
        return (c >= 0x20 && c <= 0x7e) ||
               (c >= 0xa0 && !unichar_is_control(c) && c != 0xfeff && c != 0xfffe && c != 0xffff);
}

/* A JSON string is a double-quoted YAML one. */
static void write_quoted(GString *out, const char *text)
{
        g_autoptr(json_t) value = json_string(text);
        g_autofree char *quoted = json_format(value);

        for (const char *at = quoted; *at; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);

                if (is_printable(c))
                        g_string_append_unichar(out, c);
                else
                        g_string_append_printf(out, "\\u%04x", c);
        }
}

static void write_text(GString *out, const char *text)
{
        if (is_plain_safe(text))
                g_string_append(out, text);
        else
                write_quoted(out, text);
}

static void write_scalar(GString *out, const json_t *value)
{
        g_autofree char *text = NULL;

        if (json_is_string(value)) {
                write_text(out, json_string_value(value));
                return;
        }
        if (json_is_real(value)) {
                json_write_real(out, json_real_value(value));
                return;
        }
        text = json_format(value);
        g_string_append(out, text);
}

/* Text of several lines that every YAML reader reads as the same text in a literal block: its first line is not blank, no
 * line begins with a tab or ends with a blank, and there is at most one line break at its end. */
static bool is_literal_safe(const char *text)
{
        size_t len = strlen(text);

        if (!strchr(text, '\n') || strchr("\n ", *text) || g_str_has_suffix(text, "\n\n"))
                return false;
        for (const char *at = text; *at; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);
                bool begins = at == text || at[-1] == '\n', ends = !at[1] || at[1] == '\n';

                if (c == '\t' || c == ' ' ? (c == '\t' && begins) || ends : c != '\n' && !is_printable(c))
                        return false;
        }
        return len > 1;
}

/* "|" keeps one line break at the end, "|-" none. */
static void write_literal(GString *out, const char *text, int indent)
{
        bool ended = g_str_has_suffix(text, "\n");
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        guint n = g_strv_length(lines) - ended;

        g_string_append(out, ended ? "|" : "|-");
        for (guint i = 0; i < n; i++)
                g_string_append_printf(out, "\n%*s%s", *lines[i] ? indent : 0, "", lines[i]);
}

static void write_block(GString *out, const json_t *value, int indent);

/* After "key:" or "-": a scalar on the same line, a block on lines of its own, an empty one as [] or {}. */
static void write_after(GString *out, const json_t *value, int indent, bool in_list)
{
        bool nests = json_is_array(value) ? json_array_size(value) > 0 : json_object_size(value) > 0;

        g_string_append_c(out, nests && !in_list ? '\n' : ' ');
        if (nests) {
                write_block(out, value, indent + 2);
                return;
        }
        if (json_is_string(value) && is_literal_safe(json_string_value(value)))
                write_literal(out, json_string_value(value), indent + 2);
        else
                write_scalar(out, value);
        g_string_append_c(out, '\n');
}

/* The first line of a block in a list follows its dash, so it is not indented. */
static void write_indent(GString *out, int indent)
{
        if (out->len && out->str[out->len - 1] == '\n')
                g_string_append_printf(out, "%*s", indent, "");
}

/* A key that is too long for "KEY:" has its own line: "? KEY". */
static void write_key(GString *out, const char *name, int indent)
{
        gsize start = out->len;

        write_text(out, name);
        if (out->len - start > YAML_KEY_MAX) {
                g_string_insert(out, (gssize)start, "? ");
                g_string_append_printf(out, "\n%*s", indent, "");
        }
        g_string_append_c(out, ':');
}

static void write_block(GString *out, const json_t *value, int indent)
{
        const char *name;
        json_t *item;
        size_t i;

        json_array_foreach((json_t *)value, i, item) {
                write_indent(out, indent);
                g_string_append_c(out, '-');
                write_after(out, item, indent, true);
        }
        json_object_foreach((json_t *)value, name, item) {
                write_indent(out, indent);
                write_key(out, name, indent);
                write_after(out, item, indent, false);
        }
}

char *yaml_format(const json_t *value)
{
        GString *out = g_string_new(NULL);

        if (json_array_size(value) > 0 || json_object_size(value) > 0) {
                write_block(out, value, 0);
        } else {
                write_scalar(out, value);
                g_string_append_c(out, '\n');
        }
        return g_string_free(out, FALSE);
}
