/* The JSON reader of documents (see document.h), RFC 8259. A number is an int if it has neither fraction
 * nor exponent and fits 64 bits. Nesting is bounded by the limits, which bounds the recursion. */
#include "base/document.h"

#include <math.h>
#include <string.h>

#include "base/document-build.h"
#include "base/err.h"

typedef struct {
        Builder builder;
        const char *at, *end;
        guint32 line;
        const char *counted; /* characters of the line are counted up to here: */
        guint32 column;
        GString *string; /* the last string read */
} Reader;

/* Places are asked for in the order of the text, so that each character is counted once. */
static DocumentPlace place_at(Reader *reader, const char *at)
{
        for (; reader->counted < at; reader->counted++)
                reader->column += ((guchar)*reader->counted & 0xc0) != 0x80;
        return (DocumentPlace){ reader->line, reader->column };
}

static bool refuse_here(Reader *reader, GError **error, const char *what)
{
        return builder_refuse(&reader->builder, place_at(reader, reader->at), error, "%s", what);
}

static void skip_blanks(Reader *reader)
{
        for (; reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at; reader->at++) {
                if (*reader->at != '\n')
                        continue;
                reader->line++;
                reader->column = 1;
                reader->counted = reader->at + 1;
        }
}

static bool is_next(const Reader *reader, char c)
{
        return reader->at < reader->end && *reader->at == c;
}

/* ---- strings ---- */

static bool read_hex(Reader *reader, guint *ret)
{
        guint code = 0;

        if (reader->end - reader->at < 4)
                return false;
        for (int i = 0; i < 4; i++, reader->at++) {
                int digit = g_ascii_xdigit_value(*reader->at);

                if (digit < 0)
                        return false;
                code = code * 16 + (guint)digit;
        }
        *ret = code;
        return true;
}

/* After "\u". */
static bool read_unicode(Reader *reader, GError **error)
{
        guint high = 0, low = 0;

        if (!read_hex(reader, &high))
                return refuse_here(reader, error, "'\\u' needs four hexadecimal digits");
        if (high == 0)
                return refuse_here(reader, error, "text with a NUL");
        if (high >= 0xd800 && high <= 0xdbff) {
                bool pair = reader->end - reader->at >= 6 && reader->at[0] == '\\' && reader->at[1] == 'u';

                reader->at += pair ? 2 : 0;
                if (!pair || !read_hex(reader, &low) || low < 0xdc00 || low > 0xdfff)
                        return refuse_here(reader, error, "half of a surrogate pair");
                high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        } else if (high >= 0xdc00 && high <= 0xdfff) {
                return refuse_here(reader, error, "half of a surrogate pair");
        }
        g_string_append_unichar(reader->string, high);
        return true;
}

static bool read_escape(Reader *reader, GError **error)
{
        static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        const char *letter = reader->at < reader->end && *reader->at ? strchr(letters, *reader->at) : NULL;

        if (is_next(reader, 'u')) {
                reader->at++;
                return read_unicode(reader, error);
        }
        if (!letter)
                return refuse_here(reader, error, "JSON has no such escape");
        g_string_append_c(reader->string, meanings[letter - letters]);
        reader->at++;
        return true;
}

static bool read_string(Reader *reader, GError **error)
{
        g_string_truncate(reader->string, 0);
        for (reader->at++;; reader->at++) {
                const char *from = reader->at;

                while (reader->at < reader->end && (guchar)*reader->at >= 0x20 && *reader->at != '"' &&
                       *reader->at != '\\')
                        reader->at++;
                g_string_append_len(reader->string, from, reader->at - from);
                if (reader->at == reader->end)
                        return refuse_here(reader, error, "the text ends inside of a string");
                if (*reader->at == '"')
                        break;
                if (*reader->at != '\\')
                        return refuse_here(
                                reader, error,
                                "a control character in a string\nWrite it as \\n, \\t or \\u0001.");
                reader->at++;
                if (!read_escape(reader, error))
                        return false;
                reader->at--;
        }
        reader->at++;
        return true;
}

static bool add_string(Reader *reader, bool key, DocumentPlace at, GError **error)
{
        DocumentNode node = { .kind = DOCUMENT_TEXT, .key = key };

        node.text = builder_text(&reader->builder, reader->string->str, reader->string->len);
        return builder_add(&reader->builder, node, at, error);
}

/* ---- numbers and words ---- */

static const char *skip_digits(const char *at, const char *end)
{
        while (at < end && g_ascii_isdigit(*at))
                at++;
        return at;
}

/* -? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][-+]?[0-9]+)?  The end, or NULL. */
static const char *number_end(const char *at, const char *end, bool *ret_whole)
{
        const char *from = at + (at < end && *at == '-'), *part;

        at = skip_digits(from, end);
        if (at == from || (*from == '0' && at > from + 1))
                return NULL;
        *ret_whole = true;
        if (at < end && *at == '.') {
                part = at + 1;
                at = skip_digits(part, end);
                if (at == part)
                        return NULL;
                *ret_whole = false;
        }
        if (at < end && (*at == 'e' || *at == 'E')) {
                part = at + 1 + (at + 1 < end && (at[1] == '-' || at[1] == '+'));
                at = skip_digits(part, end);
                if (at == part)
                        return NULL;
                *ret_whole = false;
        }
        return at;
}

static bool read_number(Reader *reader, GError **error)
{
        bool whole = false, fits = false;
        const char *end = number_end(reader->at, reader->end, &whole);
        DocumentPlace at = place_at(reader, reader->at);
        DocumentNode node = { .kind = DOCUMENT_INT };
        g_autofree char *text = end ? g_strndup(reader->at, (gsize)(end - reader->at)) : NULL;

        if (!end)
                return refuse_here(reader, error, "not a number of JSON");
        if (whole)
                fits = g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &node.whole, NULL);
        if (!fits && (!whole || reader->builder.limits->large_numbers)) {
                node.kind = DOCUMENT_FLOAT;
                node.real = g_ascii_strtod(text, NULL);
                fits = isfinite(node.real);
        }
        if (!fits)
                return builder_refuse(&reader->builder, at, error, "'%.40s' is not a number that can be held",
                                      text);
        reader->at = end;
        return builder_add(&reader->builder, node, at, error);
}

static bool read_word(Reader *reader, GError **error)
{
        static const struct {
                const char *word;
                DocumentNode node;
        } words[] = {
                { "null", { .kind = DOCUMENT_NULL } },
                { "true", { .kind = DOCUMENT_BOOL, .yes = true } },
                { "false", { .kind = DOCUMENT_BOOL } },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
                gsize len = strlen(words[i].word);

                if ((gsize)(reader->end - reader->at) < len || memcmp(reader->at, words[i].word, len) != 0)
                        continue;
                if (!builder_add(&reader->builder, words[i].node, place_at(reader, reader->at), error))
                        return false;
                reader->at += len;
                return true;
        }
        return refuse_here(reader, error, "expected a value");
}

/* ---- structure ---- */

static bool read_value(Reader *reader, GError **error);

/* After an item: true at a comma, which is taken, or at the end, which is taken too and sets *ret_end. */
static bool read_separator(Reader *reader, char end, bool *ret_end, GError **error)
{
        skip_blanks(reader);
        *ret_end = is_next(reader, end);
        if (*ret_end || is_next(reader, ',')) {
                reader->at++;
                return true;
        }
        return refuse_here(reader, error, end == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

/* True if the list or map ends before its first item. */
static bool is_empty(Reader *reader, char end)
{
        reader->at++;
        skip_blanks(reader);
        if (!is_next(reader, end))
                return false;
        reader->at++;
        return true;
}

static bool read_list(Reader *reader, GError **error)
{
        guint32 list, count = 0;
        bool end;

        if (!builder_open(&reader->builder, DOCUMENT_LIST, place_at(reader, reader->at), &list, error))
                return false;
        for (end = is_empty(reader, ']'); !end; count++)
                if (!read_value(reader, error) || !read_separator(reader, ']', &end, error))
                        return false;
        builder_close(&reader->builder, list, count);
        return true;
}

static bool read_pair(Reader *reader, Keys *keys, GError **error)
{
        DocumentPlace at;

        skip_blanks(reader);
        at = place_at(reader, reader->at);
        if (!is_next(reader, '"'))
                return refuse_here(reader, error, "expected a key in double quotes");
        if (!read_string(reader, error) ||
            !keys_add(keys, &reader->builder, reader->string->str, at, error) ||
            !add_string(reader, true, at, error))
                return false;
        skip_blanks(reader);
        if (!is_next(reader, ':'))
                return refuse_here(reader, error, "expected ':'");
        reader->at++;
        return read_value(reader, error);
}

static bool read_map(Reader *reader, GError **error)
{
        g_auto(Keys) keys = { 0 };
        bool end;

        if (!builder_open(&reader->builder, DOCUMENT_MAP, place_at(reader, reader->at), &keys.map, error))
                return false;
        for (end = is_empty(reader, '}'); !end;)
                if (!read_pair(reader, &keys, error) || !read_separator(reader, '}', &end, error))
                        return false;
        builder_close(&reader->builder, keys.map, keys.n);
        return true;
}

static bool read_value(Reader *reader, GError **error)
{
        DocumentPlace at;

        skip_blanks(reader);
        if (reader->at == reader->end)
                return refuse_here(reader, error, "the text ends where a value should be");
        at = place_at(reader, reader->at);
        switch (*reader->at) {
        case '{': return read_map(reader, error);
        case '[': return read_list(reader, error);
        case '"': return read_string(reader, error) && add_string(reader, false, at, error);
        default:
                return *reader->at == '-' || g_ascii_isdigit(*reader->at) ? read_number(reader, error)
                                                                          : read_word(reader, error);
        }
}

static bool read_text(Reader *reader, GError **error)
{
        if (!read_value(reader, error))
                return false;
        skip_blanks(reader);
        return reader->at == reader->end ||
               refuse_here(reader, error, "text behind the end of the JSON value");
}

Document *document_parse_json(const char *text, gsize len, const DocumentLimits *limits,
                              DocumentPlace *ret_place, GError **error)
{
        Reader reader = { .builder = { .limits = limits, .place = ret_place },
                          .at = text,
                          .end = text + len,
                          .counted = text,
                          .line = 1,
                          .column = 1 };
        bool ok;

        if (!builder_begin(&reader.builder, text, len, error))
                return NULL;
        reader.string = g_string_new(NULL);
        ok = read_text(&reader, error);
        g_string_free(reader.string, TRUE);
        return builder_end(&reader.builder, ok);
}
