/* The YAML reader of documents (see document.h): libyaml's events in, nodes out. The array is built here,
 * so that this code bounds depth, aliases and duplicate keys, and time is linear in the text. An alias
 * copies the nodes of its anchor, which must be finished: a value cannot refer to itself. */
#include "base/document.h"

#include <math.h>
#include <string.h>
#include <yaml.h>

#include "base/document-build.h"
#include "base/err.h"
#include "base/keyed-hash.h"

enum { YAML_TAG_DIRECTIVES_MAX = 100 };

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_event_t, yaml_event_delete)

/* A finished value with a name: nodes [first, end), and its levels. */
typedef struct {
        guint32 first, end;
        int depth;
} Anchor;

typedef struct {
        Builder builder;
        const char *text;
        gsize len;
        yaml_parser_t parser;
        GHashTable *anchors;  /* char * -> Anchor * */
        guint32 alias_values; /* of all aliases so far */
        gsize alias_text;
} Reader;

/* ---- errors ---- */

static DocumentPlace place_of(const yaml_mark_t *mark)
{
        return (DocumentPlace){ (guint32)mark->line + 1, (guint32)mark->column + 1 };
}

#define refuse_at(reader, mark, ...) builder_refuse(&(reader)->builder, place_of(mark), __VA_ARGS__)

/* The most frequent mistake; libyaml only reports that a "character cannot start any token". */
static bool is_at_tab(const Reader *reader)
{
        const char *at = g_utf8_offset_to_pointer(reader->text, (glong)reader->parser.problem_mark.index);

        return at < reader->text + reader->len && *at == '\t';
}

/* The sentences of libyaml say what its parser expected; these say what a person may have done. `%s` is where the list,
 * map or text begins. */
static const struct {
        const char *problem, *context; /* NULL: any */
        bool at_context;               /* the mistake is where the context begins */
        const char *says;
} syntax[] = {
        { "mapping values are not allowed in this context", NULL, false,
          "a ':' is not possible here\nPut a value that contains ': ' in quotes, or check the indentation of this line "
          "and the one before it." },
        { "block sequence entries are not allowed in this context", NULL, false,
          "a '-' is not possible here\nBegin a list in the line below its key." },
        { "mapping keys are not allowed in this context", NULL, false, "a '?' is not possible here" },
        { "could not find expected ':'", NULL, true,
          "a key without ':'\nWrite 'key: value', with a blank behind the ':'." },
        { "found unexpected end of stream", "while scanning a quoted scalar", true,
          "the quote that begins here has no end" },
        { "found unexpected document indicator", "while scanning a quoted scalar", true,
          "the quote that begins here has no end" },
        { "found unknown escape character", NULL, false,
          "double quotes have no such escape\nUse single quotes, or write a backslash as two." },
        { "did not find expected key", "while parsing a block mapping", false,
          "expected a key of the map that begins in %s\nCheck the indentation. A value of which a part is in quotes needs "
          "them around the whole." },
        { "did not find expected '-' indicator", NULL, false,
          "expected an item of the list that begins in %s\nCheck the indentation." },
        { "did not find expected ',' or ']'", NULL, false,
          "expected ',' or ']' of the list that begins in %s" },
        { "did not find expected ',' or '}'", NULL, false,
          "expected ',' or '}' of the map that begins in %s" },
        { "did not find expected <document start>", NULL, false,
          "there is text behind the end of the value" },
        { "did not find expected node content", NULL, false, "expected a value" },
};

static bool refuse_as(Reader *reader, size_t row, GError **error)
{
        const yaml_mark_t *from = &reader->parser.context_mark, *at = &reader->parser.problem_mark;
        g_autofree char *begin = g_strdup_printf("line %zu, column %zu", from->line + 1, from->column + 1);
        g_auto(GStrv) parts = g_strsplit(syntax[row].says, "%s", 2);
        g_autofree char *text = g_strjoinv(begin, parts);

        return refuse_at(reader, syntax[row].at_context ? from : at, error, "%s", text);
}

/* "@" and "`" are kept for later versions of YAML, "%" begins a directive. */
static bool refuse_character(Reader *reader, GError **error)
{
        const char *at = g_utf8_offset_to_pointer(reader->text, (glong)reader->parser.problem_mark.index);

        return refuse_at(reader, &reader->parser.problem_mark, error,
                         "a value cannot begin with '%.*s'\nPut it in quotes.",
                         at < reader->text + reader->len ? (int)(g_utf8_next_char(at) - at) : 0, at);
}

static bool refuse_known(Reader *reader, GError **error, bool *ret_known)
{
        const yaml_parser_t *parser = &reader->parser;

        *ret_known = true;
        if (strcmp(parser->problem, "found character that cannot start any token") == 0)
                return refuse_character(reader, error);
        for (size_t i = 0; i < G_N_ELEMENTS(syntax); i++)
                if (strcmp(syntax[i].problem, parser->problem) == 0 &&
                    (!syntax[i].context || g_strcmp0(syntax[i].context, parser->context) == 0))
                        return refuse_as(reader, i, error);
        *ret_known = false;
        return false;
}

static bool refuse_syntax(Reader *reader, GError **error)
{
        const yaml_parser_t *parser = &reader->parser;
        const yaml_mark_t *from = &parser->context_mark, *at = &parser->problem_mark;
        bool known;

        if (parser->error == YAML_MEMORY_ERROR)
                g_error("out of memory");
        if (parser->error == YAML_READER_ERROR)
                return builder_refuse(&reader->builder,
                                      document_place_of(reader->text, reader->text + parser->problem_offset),
                                      error, "the character U+%04X is not allowed",
                                      (guint)parser->problem_value);
        if (is_at_tab(reader))
                return refuse_at(reader, at, error, "a tab is not allowed here\nIndent with spaces.");
        if (refuse_known(reader, error, &known) || known)
                return false;
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

/* DOCUMENT_NULL: it does not fit. */
static DocumentKind whole_number(const char *digits, guint base, gint64 *ret)
{
        guint64 magnitude = 0;
        bool negative = *digits == '-';
        const char *from = digits + (*digits == '-' || *digits == '+');

        if (!g_ascii_string_to_unsigned(from, base, 0, (guint64)G_MAXINT64 + negative, &magnitude, NULL))
                return DOCUMENT_NULL;
        *ret = negative ? (gint64)(0 - magnitude) : (gint64)magnitude;
        return DOCUMENT_INT;
}

typedef enum { PLAIN_TEXT, PLAIN_VALUE, PLAIN_REFUSED } Plain;

static Plain plain_real(const char *text, DocumentNode *ret)
{
        ret->kind = DOCUMENT_FLOAT;
        ret->real = g_ascii_strtod(text, NULL);
        return isfinite(ret->real) ? PLAIN_VALUE : PLAIN_REFUSED;
}

static Plain plain_prefixed(const char *text, DocumentNode *ret)
{
        const char *set = text[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567";

        if (!text[2] || text[2 + strspn(text + 2, set)])
                return PLAIN_TEXT;
        ret->kind = whole_number(text + 2, text[1] == 'x' ? 16 : 8, &ret->whole);
        return ret->kind == DOCUMENT_INT ? PLAIN_VALUE : PLAIN_REFUSED;
}

static Plain plain_number(const char *text, bool large, DocumentNode *ret)
{
        bool whole = false;

        if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o'))
                return plain_prefixed(text, ret);
        if (!looks_like_number(text, &whole))
                return PLAIN_TEXT;
        if (!whole)
                return plain_real(text, ret);
        ret->kind = whole_number(text, 10, &ret->whole);
        if (ret->kind == DOCUMENT_INT)
                return PLAIN_VALUE;
        return large ? plain_real(text, ret) : PLAIN_REFUSED;
}

/* The core schema of YAML 1.2 (10.3.2). */
static Plain plain_value(const char *text, bool large, DocumentNode *ret)
{
        static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
        static const char *const trues[] = { "true", "True", "TRUE", NULL };
        static const char *const falses[] = { "false", "False", "FALSE", NULL };
        static const char *const beyond[] = { ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                              "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL };

        if (is_word(text, beyond))
                return PLAIN_REFUSED;
        if (is_word(text, nulls))
                ret->kind = DOCUMENT_NULL;
        else if (is_word(text, trues) || is_word(text, falses))
                *ret = (DocumentNode){ .kind = DOCUMENT_BOOL, .yes = is_word(text, trues) };
        else
                return plain_number(text, large, ret);
        return PLAIN_VALUE;
}

bool document_is_plain_text(const char *text)
{
        DocumentNode node = { 0 };

        return plain_value(text, false, &node) == PLAIN_TEXT;
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

static bool read_scalar(Reader *reader, const yaml_event_t *event, bool is_key, GError **error)
{
        const char *text = (const char *)event->data.scalar.value;
        gsize len = event->data.scalar.length;
        bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        DocumentNode node = { .kind = DOCUMENT_TEXT };
        Plain kind = PLAIN_TEXT;

        if (strlen(text) != len) /* "\0" in double quotes */
                return refuse_at(reader, &event->start_mark, error, "text with a NUL");
        if (!g_utf8_validate(text, (gssize)len, NULL))
                return refuse_at(reader, &event->start_mark, error, "text that is not UTF-8");
        if (plain && !is_key && tag_of(event->data.scalar.tag) != TAG_TEXT)
                kind = plain_value(text, reader->builder.limits->large_numbers, &node);
        if (kind == PLAIN_REFUSED)
                return refuse_at(reader, &event->start_mark, error,
                                 "'%.40s' is not a number that can be held\nQuote it if it is text.", text);
        if (kind == PLAIN_TEXT)
                node = (DocumentNode){ .kind = DOCUMENT_TEXT,
                                       .text = builder_text(&reader->builder, text, len) };
        node.plain = plain;
        node.key = is_key;
        return builder_add(&reader->builder, node, place_of(&event->start_mark), error);
}

/* ---- structure ---- */

static bool read_node(Reader *reader, const yaml_event_t *event, GError **error);

static bool next_event(Reader *reader, yaml_event_t *ret, GError **error)
{
        return yaml_parser_parse(&reader->parser, ret) ? true : refuse_syntax(reader, error);
}

static bool read_sequence(Reader *reader, const yaml_event_t *start, GError **error)
{
        guint32 list, count = 0;

        if (!builder_open(&reader->builder, DOCUMENT_LIST, place_of(&start->start_mark), &list, error))
                return false;
        for (;; count++) {
                g_auto(yaml_event_t) event = { 0 };

                if (!next_event(reader, &event, error))
                        return false;
                if (event.type == YAML_SEQUENCE_END_EVENT)
                        break;
                if (!read_node(reader, &event, error))
                        return false;
        }
        builder_close(&reader->builder, list, count);
        return true;
}

/* An empty key without quotes, as in "&name:", where libyaml ends the anchor's name at the ':'. */
static bool is_absent(const yaml_event_t *event)
{
        return event->data.scalar.length == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool read_pair(Reader *reader, const yaml_event_t *key, Keys *keys, GError **error)
{
        g_auto(yaml_event_t) event = { 0 };

        if (key->type == YAML_MAPPING_START_EVENT) /* mostly a: {{b}} */
                return refuse_at(
                        reader, &key->start_mark, error,
                        "a key must be text, not a map\nPut a value with braces in quotes: \"{{...}}\".");
        if (key->type != YAML_SCALAR_EVENT || is_absent(key))
                return refuse_at(reader, &key->start_mark, error, "a key must be text");
        return keys_add(keys, &reader->builder, (const char *)key->data.scalar.value,
                        place_of(&key->start_mark), error) &&
               read_scalar(reader, key, true, error) && next_event(reader, &event, error) &&
               read_node(reader, &event, error);
}

static bool read_mapping(Reader *reader, const yaml_event_t *start, GError **error)
{
        g_auto(Keys) keys = { 0 };

        if (!builder_open(&reader->builder, DOCUMENT_MAP, place_of(&start->start_mark), &keys.map, error))
                return false;
        for (;;) {
                g_auto(yaml_event_t) event = { 0 };

                if (!next_event(reader, &event, error))
                        return false;
                if (event.type == YAML_MAPPING_END_EVENT)
                        break;
                if (!read_pair(reader, &event, &keys, error))
                        return false;
        }
        builder_close(&reader->builder, keys.map, keys.n);
        return true;
}

/* ---- aliases ---- */

static void weigh(Reader *reader, const Anchor *anchor)
{
        const DocumentNode *nodes = (const DocumentNode *)(const void *)reader->builder.nodes->data;

        for (guint32 i = anchor->first; i < anchor->end; i++) {
                reader->alias_values += !nodes[i].key;
                if (nodes[i].kind == DOCUMENT_TEXT)
                        reader->alias_text += strlen(reader->builder.texts->str + nodes[i].text);
        }
}

static void copy_nodes(Builder *builder, const Anchor *anchor)
{
        guint32 at = builder->nodes->len, n = anchor->end - anchor->first;
        DocumentNode *nodes;

        g_array_set_size(builder->nodes, at + n);
        nodes = (DocumentNode *)(void *)builder->nodes->data;
        memcpy(nodes + at, nodes + anchor->first, n * sizeof(*nodes));
        for (guint32 i = at; i < at + n; i++)
                nodes[i].next += at - anchor->first;
}

static bool read_alias(Reader *reader, const yaml_event_t *event, GError **error)
{
        const char *name = (const char *)event->data.alias.anchor;
        const Anchor *anchor = g_hash_table_lookup(reader->anchors, name);
        const DocumentLimits *limits = reader->builder.limits;
        Builder *builder = &reader->builder;

        if (!anchor)
                return refuse_at(reader, &event->start_mark, error,
                                 "'*%s' names no value that is finished before it", name);
        if (anchor->end - anchor->first > limits->nodes - builder->nodes->len)
                return refuse_at(reader, &event->start_mark, error, "more than %u values and keys",
                                 limits->nodes);
        weigh(reader, anchor);
        if (reader->alias_values > limits->alias_values)
                return refuse_at(reader, &event->start_mark, error, "aliases stand for more than %u values",
                                 limits->alias_values);
        if (reader->alias_text > limits->alias_text)
                return refuse_at(reader, &event->start_mark, error,
                                 "aliases stand for more than %" G_GSIZE_FORMAT " bytes of text",
                                 limits->alias_text);
        if (builder->depth + anchor->depth > limits->depth)
                return refuse_at(reader, &event->start_mark, error, "nested deeper than %d", limits->depth);
        builder->deepest = MAX(builder->deepest, builder->depth + anchor->depth);
        copy_nodes(builder, anchor);
        return true;
}

/* The properties before a node's value. */
typedef struct {
        const char *anchor; /* or NULL */
        Tag tag;
} Properties;

static Properties properties_of(const yaml_event_t *event)
{
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return (Properties){ (const char *)event->data.scalar.anchor,
                                     tag_of(event->data.scalar.tag) };
        case YAML_SEQUENCE_START_EVENT:
                return (Properties){ (const char *)event->data.sequence_start.anchor,
                                     tag_of(event->data.sequence_start.tag) };
        case YAML_MAPPING_START_EVENT:
                return (Properties){ (const char *)event->data.mapping_start.anchor,
                                     tag_of(event->data.mapping_start.tag) };
        default: /* an alias */ return (Properties){ 0 };
        }
}

/* The value that starts with `event`, without its anchor. */
static bool read_value(Reader *reader, const yaml_event_t *event, GError **error)
{
        if (event->type == YAML_SCALAR_EVENT)
                return read_scalar(reader, event, false, error);
        if (event->type == YAML_ALIAS_EVENT)
                return read_alias(reader, event, error);
        return event->type == YAML_SEQUENCE_START_EVENT ? read_sequence(reader, event, error)
                                                        : read_mapping(reader, event, error);
}

static bool read_anchored(Reader *reader, const yaml_event_t *event, const char *name, GError **error)
{
        Builder *builder = &reader->builder;
        int outer = builder->deepest;
        Anchor anchor = { .first = builder->nodes->len };

        builder->deepest = builder->depth;
        if (!read_value(reader, event, error))
                return false;
        anchor.end = builder->nodes->len;
        anchor.depth = builder->deepest - builder->depth;
        builder->deepest = MAX(outer, builder->deepest);
        g_hash_table_insert(reader->anchors, g_strdup(name), g_memdup2(&anchor, sizeof(anchor)));
        return true;
}

static bool read_node(Reader *reader, const yaml_event_t *event, GError **error)
{
        Properties node = properties_of(event);

        if (node.tag == TAG_UNKNOWN)
                return refuse_at(reader, &event->start_mark, error, "a tag that is not known here");
        return node.anchor ? read_anchored(reader, event, node.anchor, error)
                           : read_value(reader, event, error);
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

static bool read_stream(Reader *reader, GError **error)
{
        g_auto(yaml_event_t) first = { 0 }, second = { 0 };

        if (!skip_to_content(reader, &first, error))
                return false;
        if (first.type == YAML_STREAM_END_EVENT)
                return builder_add(&reader->builder, (DocumentNode){ 0 }, (DocumentPlace){ 1, 1 }, error);
        if (!read_node(reader, &first, error))
                return false;
        if (reader->builder.limits->first_document)
                return true;
        if (!skip_to_content(reader, &second, error))
                return false;
        if (second.type != YAML_STREAM_END_EVENT)
                return refuse_at(reader, &second.start_mark, error, "a second document; only one is read");
        return true;
}

/* libyaml compares each "%TAG" line with those before it, and each tag with all of them. */
static bool check_directives(const char *text, gsize len, GError **error)
{
        static const char directive[] = "%TAG";
        const char *at = text, *end = text + len;
        int n = 0;

        while ((at = memmem(at, (size_t)(end - at), directive, strlen(directive)))) {
                at += strlen(directive);
                if (++n > YAML_TAG_DIRECTIVES_MAX)
                        return err_set(error, ERR_INVALID, "more than %d times '%s'", YAML_TAG_DIRECTIVES_MAX,
                                       directive);
        }
        return true;
}

Document *document_parse_yaml(const char *text, gsize len, const DocumentLimits *limits,
                              DocumentPlace *ret_place, GError **error)
{
        Reader reader = { .builder = { .limits = limits, .place = ret_place }, .text = text, .len = len };
        bool ok;

        if (!builder_begin(&reader.builder, text, len, error))
                return NULL;
        if (!check_directives(text, len, error))
                return builder_end(&reader.builder, false);
        if (!yaml_parser_initialize(&reader.parser))
                g_error("out of memory");
        reader.anchors = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        yaml_parser_set_input_string(&reader.parser, (const guchar *)text, len);
        ok = read_stream(&reader, error);
        g_hash_table_unref(reader.anchors);
        yaml_parser_delete(&reader.parser);
        return builder_end(&reader.builder, ok);
}
