/* YAML (see yaml.h): libfyaml's events in, JSON values out, without its document tree: so depth, aliases and
 * duplicate keys are bounded and found here, in time that grows with the text only. An alias copies the
 * finished value of its anchor; a value that refers to itself is refused, as its anchor is not finished yet.
 *
 * What always holds: the result contains nothing that JSON could not say (no NaN, no NUL, string keys only).
 */
#include "base/yaml.h"

#include <libfyaml.h>
#include <math.h>
#include <string.h>

#include "base/err.h"

enum {
        YAML_SIZE_MAX = 1024 * 1024,
        YAML_DEPTH_MAX = JSON_DEPTH_MAX,
        YAML_ALIAS_NODES_MAX = 10000,
};

typedef struct {
        const char *name;
        struct fy_parser *parser;
        struct fy_diag *diag;
        GHashTable *anchors; /* char * -> json_t *, finished values */
        int alias_nodes;     /* made by aliases so far */
        int depth;
} Reader;

/* ---- errors ---- */

static bool refuse_at(const Reader *reader, const struct fy_mark *mark, GError **error, const char *format,
                      ...) G_GNUC_PRINTF(4, 5);

static bool refuse_at(const Reader *reader, const struct fy_mark *mark, GError **error, const char *format,
                      ...)
{
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        return err_set(error, ERR_INVALID, "%s: line %d, column %d: %s", reader->name,
                       mark ? mark->line + 1 : 1, mark ? mark->column + 1 : 1, text);
}

/* The first thing libfyaml had to say. */
static bool refuse_syntax(const Reader *reader, GError **error)
{
        void *iterator = NULL;
        const struct fy_diag_error *at = fy_diag_errors_iterate(reader->diag, &iterator);

        if (!at)
                return err_set(error, ERR_INVALID, "%s: line 1, column 1: not YAML", reader->name);
        return err_set(error, ERR_INVALID, "%s: line %d, column %d: %s", reader->name, at->line, at->column,
                       at->msg);
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

/* Only what the core schema names; "!" and "!!str" make text of anything. */
static Tag tag_of(struct fy_event *event)
{
        static const char *const core[] = { "tag:yaml.org,2002:int",
                                            "tag:yaml.org,2002:float",
                                            "tag:yaml.org,2002:bool",
                                            "tag:yaml.org,2002:null",
                                            "tag:yaml.org,2002:seq",
                                            "tag:yaml.org,2002:map",
                                            NULL };
        struct fy_token *token = fy_event_get_tag_token(event);
        size_t len = 0;
        const char *text = token ? fy_token_get_text(token, &len) : NULL;
        g_autofree char *tag = text ? g_strndup(text, len) : NULL;

        if (!tag || is_word(tag, core))
                return TAG_NONE;
        return strcmp(tag, "tag:yaml.org,2002:str") == 0 || strcmp(tag, "!") == 0 ? TAG_TEXT : TAG_UNKNOWN;
}

static char *scalar_text(struct fy_token *token)
{
        size_t len = 0;
        const char *text = token ? fy_token_get_text(token, &len) : NULL;

        if (!text)
                return g_strdup("");
        return memchr(text, '\0', len) ? NULL : g_strndup(text, len); /* "\0" in double quotes */
}

static bool read_scalar(Reader *reader, struct fy_event *event, bool is_key, json_t **ret, GError **error)
{
        struct fy_token *token = event->scalar.value;
        g_autofree char *text = scalar_text(token);
        bool plain = !token || fy_token_scalar_style(token) == FYSS_PLAIN;
        Plain kind = PLAIN_TEXT;
        Tag tag = tag_of(event);

        if (!text)
                return refuse_at(reader, fy_event_start_mark(event), error, "text with a NUL");
        if (plain && !is_key && tag != TAG_TEXT)
                kind = plain_value(text, ret);
        if (kind == PLAIN_REFUSED)
                return refuse_at(reader, fy_event_start_mark(event), error,
                                 "'%.40s' is not a number that can be held\nQuote it if it is text.", text);
        if (kind == PLAIN_TEXT)
                *ret = json_string(text);
        if (!*ret)
                return refuse_at(reader, fy_event_start_mark(event), error, "text that is not UTF-8");
        return true;
}

/* ---- structure ---- */

static bool read_node(Reader *reader, struct fy_event *event, json_t **ret, GError **error);

static void event_free(Reader *reader, struct fy_event *event)
{
        if (event)
                fy_parser_event_free(reader->parser, event);
}

static bool next_event(Reader *reader, struct fy_event **ret, GError **error)
{
        *ret = fy_parser_parse(reader->parser);
        return *ret ? true : refuse_syntax(reader, error);
}

static bool read_sequence(Reader *reader, json_t **ret, GError **error)
{
        g_autoptr(json_t) array = json_array();

        for (;;) {
                struct fy_event *event = NULL;
                json_t *item = NULL;
                bool ok;

                if (!next_event(reader, &event, error))
                        return false;
                if (event->type == FYET_SEQUENCE_END) {
                        event_free(reader, event);
                        *ret = g_steal_pointer(&array);
                        return true;
                }
                ok = read_node(reader, event, &item, error);
                event_free(reader, event);
                if (!ok)
                        return false;
                json_array_append_new(array, item);
        }
}

static bool read_key(Reader *reader, struct fy_event *event, const json_t *object, json_t **ret,
                     GError **error)
{
        const struct fy_mark *mark = fy_event_start_mark(event);

        if (event->type != FYET_SCALAR)
                return refuse_at(reader, mark, error, "a key must be text");
        if (!read_scalar(reader, event, true, ret, error))
                return false;
        if (json_object_get(object, json_string_value(*ret)))
                return refuse_at(reader, mark, error, "the key '%.64s' stands here twice",
                                 json_string_value(*ret));
        return true;
}

static bool read_pair(Reader *reader, struct fy_event *key_event, json_t *object, GError **error)
{
        g_autoptr(json_t) key = NULL;
        struct fy_event *event = NULL;
        json_t *value = NULL;
        bool ok;

        if (!read_key(reader, key_event, object, &key, error) || !next_event(reader, &event, error))
                return false;
        ok = read_node(reader, event, &value, error);
        event_free(reader, event);
        if (ok)
                json_object_set_new(object, json_string_value(key), value);
        return ok;
}

static bool read_mapping(Reader *reader, json_t **ret, GError **error)
{
        g_autoptr(json_t) object = json_object();

        for (;;) {
                struct fy_event *event = NULL;
                bool end, ok = true;

                if (!next_event(reader, &event, error))
                        return false;
                end = event->type == FYET_MAPPING_END;
                if (!end)
                        ok = read_pair(reader, event, object, error);
                event_free(reader, event);
                if (!ok)
                        return false;
                if (end) {
                        *ret = g_steal_pointer(&object);
                        return true;
                }
        }
}

static int count_nodes(const json_t *value)
{
        const char *name;
        json_t *item;
        size_t i;
        int n = 1;

        json_array_foreach((json_t *)value, i, item) n += count_nodes(item);
        json_object_foreach((json_t *)value, name, item) n += count_nodes(item);
        return n;
}

static int depth_of(const json_t *value);

/* A function, as MAX() evaluates its argument twice, at every level again. */
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

        json_array_foreach((json_t *)value, i, item) deepest = deeper(deepest, item);
        json_object_foreach((json_t *)value, name, item) deepest = deeper(deepest, item);
        return deepest + (json_is_array(value) || json_is_object(value));
}

static bool read_alias(Reader *reader, struct fy_event *event, json_t **ret, GError **error)
{
        const struct fy_mark *mark = fy_event_start_mark(event);
        g_autofree char *name = scalar_text(event->alias.anchor);
        json_t *value = name ? g_hash_table_lookup(reader->anchors, name) : NULL;

        if (!value)
                return refuse_at(reader, mark, error, "'*%s' names no value that is finished before it",
                                 name ? name : "");
        reader->alias_nodes += count_nodes(value);
        if (reader->alias_nodes > YAML_ALIAS_NODES_MAX)
                return refuse_at(reader, mark, error, "aliases stand for more than %d values",
                                 YAML_ALIAS_NODES_MAX);
        if (reader->depth + depth_of(value) > YAML_DEPTH_MAX)
                return refuse_at(reader, mark, error, "nested deeper than %d", YAML_DEPTH_MAX);
        *ret = json_deep_copy(value);
        return true;
}

/* The value that begins with `event`, without its anchor. */
static bool read_value(Reader *reader, struct fy_event *event, json_t **ret, GError **error)
{
        if (event->type == FYET_SCALAR)
                return read_scalar(reader, event, false, ret, error);
        if (event->type == FYET_ALIAS)
                return read_alias(reader, event, ret, error);
        return event->type == FYET_SEQUENCE_START ? read_sequence(reader, ret, error)
                                                  : read_mapping(reader, ret, error);
}

static bool read_node(Reader *reader, struct fy_event *event, json_t **ret, GError **error)
{
        struct fy_token *anchor = event->type == FYET_ALIAS ? NULL : fy_event_get_anchor_token(event);
        bool nests = event->type == FYET_SEQUENCE_START || event->type == FYET_MAPPING_START;
        bool ok;

        if (tag_of(event) == TAG_UNKNOWN)
                return refuse_at(reader, fy_event_start_mark(event), error, "a tag that is not known here");
        if (nests && reader->depth >= YAML_DEPTH_MAX)
                return refuse_at(reader, fy_event_start_mark(event), error, "nested deeper than %d",
                                 YAML_DEPTH_MAX);
        reader->depth += nests;
        ok = read_value(reader, event, ret, error);
        reader->depth -= nests;
        if (ok && anchor)
                g_hash_table_insert(reader->anchors, scalar_text(anchor), json_incref(*ret));
        return ok;
}

/* Between the documents of a stream: true with *ret_event at the event that ends the wait. */
static bool skip_to_content(Reader *reader, struct fy_event **ret_event, GError **error)
{
        for (;;) {
                struct fy_event *event = NULL;

                if (!next_event(reader, &event, error))
                        return false;
                if (event->type != FYET_STREAM_START && event->type != FYET_DOCUMENT_START &&
                    event->type != FYET_DOCUMENT_END) {
                        *ret_event = event;
                        return true;
                }
                event_free(reader, event);
        }
}

static bool read_stream(Reader *reader, json_t **ret, GError **error)
{
        g_autoptr(json_t) value = NULL;
        struct fy_event *event = NULL;
        bool ok = true, ended;

        if (!skip_to_content(reader, &event, error))
                return false;
        ended = event->type == FYET_STREAM_END;
        if (ended)
                value = json_null();
        else
                ok = read_node(reader, event, &value, error);
        event_free(reader, event);
        if (!ok)
                return false;
        if (!ended) {
                if (!skip_to_content(reader, &event, error))
                        return false;
                ended = event->type == FYET_STREAM_END;
                if (!ended)
                        refuse_at(reader, fy_event_start_mark(event), error,
                                  "a second document; only one is read");
                event_free(reader, event);
        }
        if (ended)
                *ret = g_steal_pointer(&value);
        return ended;
}

static bool check_bytes(const char *text, gsize len, const char *name, GError **error)
{
        const char *end;

        if (len > YAML_SIZE_MAX)
                return err_set(error, ERR_TOO_LARGE, "%s: larger than %d bytes", name, YAML_SIZE_MAX);
        if (!g_utf8_validate(text, (gssize)len, &end)) {
                const char *line_start = g_strrstr_len(text, end - text, "\n");
                int line = 1;

                for (const char *at = text; at < end; at++)
                        line += *at == '\n';
                return err_set(error, ERR_INVALID, "%s: line %d, column %d: not UTF-8 text", name, line,
                               (int)(end - (line_start ? line_start + 1 : text)) + 1);
        }
        return true;
}

json_t *yaml_parse(const char *text, gsize len, const char *name, GError **error)
{
        struct fy_diag_cfg quiet;
        struct fy_parse_cfg config = { .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 };
        Reader reader = { .name = name };
        json_t *value = NULL;

        if (!check_bytes(text, len, name, error))
                return NULL;
        fy_diag_cfg_default(&quiet);
        quiet.fp = NULL;
        reader.diag = config.diag = fy_diag_create(&quiet);
        fy_diag_set_collect_errors(reader.diag, true);
        reader.parser = fy_parser_create(&config);
        reader.anchors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
        fy_parser_set_string(reader.parser, text, len);
        if (!read_stream(&reader, &value, error))
                value = NULL;
        g_hash_table_unref(reader.anchors);
        fy_parser_destroy(reader.parser);
        fy_diag_destroy(reader.diag);
        return value;
}

/* ---- writing ---- */

/* Text that every YAML reader takes for the same text without quotes; readers of YAML 1.1 also see booleans,
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

static void write_text(GString *out, const char *text)
{
        g_autoptr(json_t) value = NULL;
        g_autofree char *quoted = NULL;

        if (is_plain_safe(text)) {
                g_string_append(out, text);
                return;
        }
        value = json_string(text);
        quoted = json_format(value); /* a JSON string is a double-quoted YAML one */
        g_string_append(out, quoted);
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

/* The first line of a block in a list stands behind its dash, so it is not indented. */
static void write_indent(GString *out, int indent)
{
        if (out->len && out->str[out->len - 1] == '\n')
                g_string_append_printf(out, "%*s", indent, "");
}

static void write_block(GString *out, const json_t *value, int indent)
{
        const char *name;
        json_t *item;
        size_t i;

        json_array_foreach((json_t *)value, i, item)
        {
                write_indent(out, indent);
                g_string_append_c(out, '-');
                write_after(out, item, indent, true);
        }
        json_object_foreach((json_t *)value, name, item)
        {
                write_indent(out, indent);
                write_text(out, name);
                g_string_append_c(out, ':');
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
