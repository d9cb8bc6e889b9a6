/* YAML (see yaml.h): libyaml's events in, JSON values out. The tree is built here, so that this code bounds
 * depth, aliases and duplicate keys, and time is linear in the text. An alias copies the finished value of
 * its anchor; a value that refers to itself is refused, as its anchor is not finished.
 *
 * JSON is YAML 1.2, but libyaml refuses its surrogate pairs ("\ud83d\ude00"). So text that starts like JSON
 * is passed to the JSON parser first.
 *
 * Invariant: the result contains only what JSON can express (no NaN, no NUL, only string keys). */
#include "base/yaml.h"

#include <math.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "base/keyed-hash.h"

enum {
        YAML_SIZE_MAX = 1024 * 1024,
        YAML_DEPTH_MAX = JSON_DEPTH_MAX,
        YAML_ALIAS_NODES_MAX = 10000,
        YAML_ALIAS_TEXT_MAX = 1024 * 1024,
        YAML_TAG_DIRECTIVES_MAX = 100,
        YAML_KEY_MAX = 1000, /* characters of a key before its ':'; YAML allows 1024 */
};

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_event_t, yaml_event_delete)

typedef struct {
        int nodes;
        gsize text; /* bytes of keys and strings */
} Weight;

typedef struct {
        const char *name, *text;
        gsize len;
        yaml_parser_t parser;
        GHashTable *anchors; /* char * -> json_t *, finished values */
        Weight aliases;      /* the size of all aliases so far */
        int depth;
} Reader;

/* ---- errors ---- */

static bool refuse_at(const Reader *reader, const yaml_mark_t *mark, GError **error, const char *format, ...)
        G_GNUC_PRINTF(4, 5);

static bool refuse_at(const Reader *reader, const yaml_mark_t *mark, GError **error, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        return err_set(error, ERR_INVALID, "%s: line %zu, column %zu: %s", reader->name, mark->line + 1,
                       mark->column + 1, text);
}

static yaml_mark_t mark_of(const char *text, const char *at)
{
        yaml_mark_t mark = { 0 };

        for (; text < at; text++) {
                mark.column = *text == '\n' ? 0 : mark.column + 1;
                mark.line += *text == '\n';
        }
        return mark;
}

/* The most frequent mistake; libyaml only reports that a "character cannot start any token". */
static bool is_at_tab(const Reader *reader)
{
        const char *at = g_utf8_offset_to_pointer(reader->text, (glong)reader->parser.problem_mark.index);

        return at < reader->text + reader->len && *at == '\t';
}

static bool refuse_syntax(const Reader *reader, GError **error)
{
        const yaml_parser_t *parser = &reader->parser;
        const yaml_mark_t *from = &parser->context_mark, *at = &parser->problem_mark;

        if (parser->error == YAML_MEMORY_ERROR)
                g_error("out of memory");
        if (parser->error == YAML_READER_ERROR) {
                yaml_mark_t mark = mark_of(reader->text, reader->text + parser->problem_offset);

                return refuse_at(reader, &mark, error, "the character U+%04X is not allowed",
                                 (guint)parser->problem_value);
        }
        if (is_at_tab(reader))
                return refuse_at(reader, at, error, "a tab is not allowed here\nIndent with spaces.");
        if (parser->context && from->index < at->index)
                return refuse_at(reader, at, error, "%s %s from line %zu, column %zu", parser->problem,
                                 parser->context, from->line + 1, from->column + 1);
        return refuse_at(reader, at, error, "%s", parser->problem);
}

/* ---- scalars ---- */

static bool is_word(const char *text, const char *const *words)
{
        return g_strv_contains(words, text);
}

static size_t skip_digits(const char *text)
{
        return strspn(text, "0123456789");
}

/* [-+]? ( \.[0-9]+ | [0-9]+(\.[0-9]*)? ) ([eE][-+]?[0-9]+)? */
static bool looks_like_number(const char *text, bool *ret_whole)
{
        const char *at = text + (*text == '-' || *text == '+');
        size_t before = skip_digits(at), after = 0;
        bool dot;

        at += before;
        dot = *at == '.';
        if (dot) {
                after = skip_digits(at + 1);
                at += 1 + after;
        }
        if (before + after == 0)
                return false;
        *ret_whole = !dot;
        if (*at == 'e' || *at == 'E') {
                at += 1 + (at[1] == '-' || at[1] == '+');
                if (skip_digits(at) == 0)
                        return false;
                at += skip_digits(at);
                *ret_whole = false;
        }
        return *at == '\0';
}

static json_t *whole_number(const char *digits, int base)
{
        guint64 magnitude = 0;
        bool negative = *digits == '-';
        const char *from = digits + (*digits == '-' || *digits == '+');

        if (!g_ascii_string_to_unsigned(from, (guint)base, 0, (guint64)G_MAXINT64 + negative, &magnitude,
                                        NULL))
                return NULL;
        return json_integer(negative ? (json_int_t)(0 - magnitude) : (json_int_t)magnitude);
}

typedef enum { PLAIN_TEXT, PLAIN_VALUE, PLAIN_REFUSED } Plain;

static Plain plain_number(const char *text, json_t **ret)
{
        bool whole = false;

        if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
                const char *set = text[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567";

                if (!text[2] || text[2 + strspn(text + 2, set)])
                        return PLAIN_TEXT;
                *ret = whole_number(text + 2, text[1] == 'x' ? 16 : 8);
                return *ret ? PLAIN_VALUE : PLAIN_REFUSED;
        }
        if (!looks_like_number(text, &whole))
                return PLAIN_TEXT;
        if (whole)
                *ret = whole_number(text, 10);
        else if (isfinite(g_ascii_strtod(text, NULL)))
                *ret = json_real(g_ascii_strtod(text, NULL));
        return *ret ? PLAIN_VALUE : PLAIN_REFUSED;
}

/* The core schema of YAML 1.2 (10.3.2). */
static Plain plain_value(const char *text, json_t **ret)
{
        static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
        static const char *const trues[] = { "true", "True", "TRUE", NULL };
        static const char *const falses[] = { "false", "False", "FALSE", NULL };
        static const char *const beyond[] = { ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                              "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL };

        if (is_word(text, nulls))
                *ret = json_null();
        else if (is_word(text, trues))
                *ret = json_true();
        else if (is_word(text, falses))
                *ret = json_false();
        else if (is_word(text, beyond))
                return PLAIN_REFUSED;
        else
                return plain_number(text, ret);
        return PLAIN_VALUE;
}

typedef enum { TAG_NONE, TAG_TEXT, TAG_UNKNOWN } Tag;

/* Only the tags of the core schema; "!" and "!!str" turn anything into text. */
static Tag tag_of(const yaml_char_t *name)
{
        static const char *const core[] = { YAML_INT_TAG, YAML_FLOAT_TAG, YAML_BOOL_TAG, YAML_NULL_TAG,
                                            YAML_SEQ_TAG, YAML_MAP_TAG,   NULL };
        const char *tag = (const char *)name;

        if (!tag || is_word(tag, core))
                return TAG_NONE;
        return strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0 ? TAG_TEXT : TAG_UNKNOWN;
}

static bool read_scalar(Reader *reader, const yaml_event_t *event, bool is_key, json_t **ret, GError **error)
{
        const char *text = (const char *)event->data.scalar.value;
        bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        Plain kind = PLAIN_TEXT;

        if (strlen(text) != event->data.scalar.length) /* "\0" in double quotes */
                return refuse_at(reader, &event->start_mark, error, "text with a NUL");
        if (plain && !is_key && tag_of(event->data.scalar.tag) != TAG_TEXT)
                kind = plain_value(text, ret);
        if (kind == PLAIN_REFUSED)
                return refuse_at(reader, &event->start_mark, error,
                                 "'%.40s' is not a number that can be held\nQuote it if it is text.", text);
        if (kind == PLAIN_TEXT)
                *ret = json_string(text);
        if (!*ret)
                return refuse_at(reader, &event->start_mark, error, "text that is not UTF-8");
        return true;
}

/* ---- structure ---- */

static bool read_node(Reader *reader, const yaml_event_t *event, json_t **ret, GError **error);

static bool next_event(Reader *reader, yaml_event_t *ret, GError **error)
{
        return yaml_parser_parse(&reader->parser, ret) ? true : refuse_syntax(reader, error);
}

static bool read_sequence(Reader *reader, json_t **ret, GError **error)
{
        g_autoptr(json_t) array = json_array();

        for (;;) {
                g_auto(yaml_event_t) event = { 0 };
                json_t *item = NULL;

                if (!next_event(reader, &event, error))
                        return false;
                if (event.type == YAML_SEQUENCE_END_EVENT)
                        break;
                if (!read_node(reader, &event, &item, error))
                        return false;
                json_array_append_new(array, item);
        }
        *ret = g_steal_pointer(&array);
        return true;
}

/* An empty key without quotes, as in "&name:", where libyaml ends the anchor's name at the ':'. */
static bool is_absent(const yaml_event_t *event)
{
        return event->data.scalar.length == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool read_key(Reader *reader, const yaml_event_t *event, const json_t *object, json_t **ret,
                     GError **error)
{
        if (event->type != YAML_SCALAR_EVENT || is_absent(event))
                return refuse_at(reader, &event->start_mark, error, "a key must be text");
        if (!read_scalar(reader, event, true, ret, error))
                return false;
        if (json_object_get(object, json_string_value(*ret)))
                return refuse_at(reader, &event->start_mark, error, "the key '%.64s' stands here twice",
                                 json_string_value(*ret));
        return true;
}

static bool read_pair(Reader *reader, const yaml_event_t *key_event, json_t *object, GError **error)
{
        g_auto(yaml_event_t) event = { 0 };
        g_autoptr(json_t) key = NULL;
        json_t *value = NULL;

        if (!read_key(reader, key_event, object, &key, error) || !next_event(reader, &event, error) ||
            !read_node(reader, &event, &value, error))
                return false;
        json_object_set_new(object, json_string_value(key), value);
        return true;
}

static bool read_mapping(Reader *reader, json_t **ret, GError **error)
{
        g_autoptr(json_t) object = json_object();

        for (;;) {
                g_auto(yaml_event_t) event = { 0 };

                if (!next_event(reader, &event, error))
                        return false;
                if (event.type == YAML_MAPPING_END_EVENT)
                        break;
                if (!read_pair(reader, &event, object, error))
                        return false;
        }
        *ret = g_steal_pointer(&object);
        return true;
}

static void weigh(const json_t *value, Weight *weight)
{
        const char *name;
        json_t *item;
        size_t i;

        weight->nodes++;
        weight->text += json_string_length(value);
        json_array_foreach((json_t *)value, i, item)
                weigh(item, weight);
        json_object_foreach((json_t *)value, name, item) {
                weight->text += strlen(name);
                weigh(item, weight);
        }
}

static int depth_of(const json_t *value);

/* A function, because MAX() would evaluate its argument twice at every level. */
static int deeper(int deepest, const json_t *item)
{
        int depth = depth_of(item);

        return MAX(deepest, depth);
}

static int depth_of(const json_t *value)
{
        const char *name;
        json_t *item;
        size_t i;
        int deepest = 0;

        json_array_foreach((json_t *)value, i, item)
                deepest = deeper(deepest, item);
        json_object_foreach((json_t *)value, name, item)
                deepest = deeper(deepest, item);
        return deepest + (json_is_array(value) || json_is_object(value));
}

static bool read_alias(Reader *reader, const yaml_event_t *event, json_t **ret, GError **error)
{
        const char *name = (const char *)event->data.alias.anchor;
        json_t *value = g_hash_table_lookup(reader->anchors, name);

        if (!value)
                return refuse_at(reader, &event->start_mark, error,
                                 "'*%s' names no value that is finished before it", name);
        weigh(value, &reader->aliases);
        if (reader->aliases.nodes > YAML_ALIAS_NODES_MAX)
                return refuse_at(reader, &event->start_mark, error, "aliases stand for more than %d values",
                                 YAML_ALIAS_NODES_MAX);
        if (reader->aliases.text > YAML_ALIAS_TEXT_MAX)
                return refuse_at(reader, &event->start_mark, error,
                                 "aliases stand for more than %d bytes of text", YAML_ALIAS_TEXT_MAX);
        if (reader->depth + depth_of(value) > YAML_DEPTH_MAX)
                return refuse_at(reader, &event->start_mark, error, "nested deeper than %d", YAML_DEPTH_MAX);
        *ret = json_deep_copy(value);
        return true;
}

/* The properties before a node's value. */
typedef struct {
        const char *anchor; /* or NULL */
        Tag tag;
        bool nests;
} Properties;

static Properties properties_of(const yaml_event_t *event)
{
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return (Properties){ (const char *)event->data.scalar.anchor, tag_of(event->data.scalar.tag),
                                     false };
        case YAML_SEQUENCE_START_EVENT:
                return (Properties){ (const char *)event->data.sequence_start.anchor,
                                     tag_of(event->data.sequence_start.tag), true };
        case YAML_MAPPING_START_EVENT:
                return (Properties){ (const char *)event->data.mapping_start.anchor,
                                     tag_of(event->data.mapping_start.tag), true };
        default: /* an alias */ return (Properties){ 0 };
        }
}

/* The value that starts with `event`, without its anchor. */
static bool read_value(Reader *reader, const yaml_event_t *event, json_t **ret, GError **error)
{
        if (event->type == YAML_SCALAR_EVENT)
                return read_scalar(reader, event, false, ret, error);
        if (event->type == YAML_ALIAS_EVENT)
                return read_alias(reader, event, ret, error);
        return event->type == YAML_SEQUENCE_START_EVENT ? read_sequence(reader, ret, error)
                                                        : read_mapping(reader, ret, error);
}

static bool read_node(Reader *reader, const yaml_event_t *event, json_t **ret, GError **error)
{
        Properties node = properties_of(event);
        bool ok;

        if (node.tag == TAG_UNKNOWN)
                return refuse_at(reader, &event->start_mark, error, "a tag that is not known here");
        if (node.nests && reader->depth >= YAML_DEPTH_MAX)
                return refuse_at(reader, &event->start_mark, error, "nested deeper than %d", YAML_DEPTH_MAX);
        reader->depth += node.nests;
        ok = read_value(reader, event, ret, error);
        reader->depth -= node.nests;
        if (ok && node.anchor)
                g_hash_table_insert(reader->anchors, g_strdup(node.anchor), json_incref(*ret));
        return ok;
}

/* Skips events between documents; returns the event after them. */
static bool skip_to_content(Reader *reader, yaml_event_t *ret, GError **error)
{
        for (;;) {
                yaml_event_t event = { 0 };

                if (!next_event(reader, &event, error))
                        return false;
                if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT &&
                    event.type != YAML_DOCUMENT_END_EVENT) {
                        *ret = event;
                        return true;
                }
                yaml_event_delete(&event);
        }
}

static bool read_stream(Reader *reader, json_t **ret, GError **error)
{
        g_autoptr(json_t) value = NULL;
        g_auto(yaml_event_t) first = { 0 }, second = { 0 };

        if (!skip_to_content(reader, &first, error))
                return false;
        if (first.type == YAML_STREAM_END_EVENT) {
                *ret = json_null();
                return true;
        }
        if (!read_node(reader, &first, &value, error) || !skip_to_content(reader, &second, error))
                return false;
        if (second.type != YAML_STREAM_END_EVENT)
                return refuse_at(reader, &second.start_mark, error, "a second document; only one is read");
        *ret = g_steal_pointer(&value);
        return true;
}

/* libyaml compares each "%TAG" line with those before it, and each tag with all of them. */
static bool check_directives(const char *text, gsize len, const char *name, GError **error)
{
        static const char directive[] = "%TAG";
        const char *at = text, *end = text + len;
        int n = 0;

        while ((at = memmem(at, (size_t)(end - at), directive, strlen(directive)))) {
                at += strlen(directive);
                if (++n > YAML_TAG_DIRECTIVES_MAX)
                        return err_set(error, ERR_INVALID, "%s: more than %d times '%s'", name,
                                       YAML_TAG_DIRECTIVES_MAX, directive);
        }
        return true;
}

static bool check_bytes(const char *text, gsize len, const char *name, GError **error)
{
        const char *end;
        yaml_mark_t mark;

        if (len > YAML_SIZE_MAX)
                return err_set(error, ERR_TOO_LARGE, "%s: larger than %d bytes", name, YAML_SIZE_MAX);
        if (g_utf8_validate(text, (gssize)len, &end))
                return true;
        mark = mark_of(text, end);
        return err_set(error, ERR_INVALID, "%s: line %zu, column %zu: not UTF-8 text", name, mark.line + 1,
                       mark.column + 1);
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
        Reader reader = { .name = name, .text = text, .len = len };
        json_t *value;

        if (!check_bytes(text, len, name, error))
                return NULL;
        value = parse_json(text, len);
        if (value)
                return value;
        if (!check_directives(text, len, name, error))
                return NULL;
        if (!yaml_parser_initialize(&reader.parser))
                g_error("out of memory");
        reader.anchors = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
        yaml_parser_set_input_string(&reader.parser, (const guchar *)text, len);
        if (!read_stream(&reader, &value, error))
                value = NULL;
        g_hash_table_unref(reader.anchors);
        yaml_parser_delete(&reader.parser);
        return value;
}

/* ---- writing ---- */

/* Text that every YAML reader reads as the same text without quotes. Readers of YAML 1.1 also see booleans,
 * dates and base 60 numbers where 1.2 sees text. */
static bool is_plain_safe(const char *text)
{
        static const char *const words_of_1_1[] = { "yes", "no", "on", "off", "y", "n", NULL };
        g_autofree char *lower = g_ascii_strdown(text, -1);
        g_autoptr(json_t) value = NULL;
        size_t len = strlen(text);

        if (!len || !(g_ascii_isalnum(*text) || *text == '/' || *text == '_') || is_word(lower, words_of_1_1))
                return false;
        if (len != strspn(text,
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./@%+=,()-:") ||
            text[len - 1] == ' ' || text[len - 1] == ':' || strstr(text, ": "))
                return false;
        if (g_ascii_isdigit(*text) && (strchr(text, ':') || !strpbrk(lower, "abcdefghijklmnopqrstuvwxyz")))
                return false;
        return plain_value(text, &value) == PLAIN_TEXT;
}

/* Characters that every YAML reader accepts between quotes: no line break of YAML 1.1, and none that a
 * version forbids. */
static bool is_printable(gunichar c)
{
        return (c >= 0x20 && c <= 0x7e) ||
               (c >= 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff);
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
        text = json_format(value);
        g_string_append(out, text);
}

static void write_block(GString *out, const json_t *value, int indent);

/* After "key:" or "-": a scalar on the same line, a block on lines of its own, an empty one as [] or {}. */
static void write_after(GString *out, const json_t *value, int indent, bool in_list)
{
        bool nests = json_is_array(value) ? json_array_size(value) > 0 : json_object_size(value) > 0;

        g_string_append_c(out, nests && !in_list ? '\n' : ' ');
        if (nests) {
                write_block(out, value, indent + 2);
        } else {
                write_scalar(out, value);
                g_string_append_c(out, '\n');
        }
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
