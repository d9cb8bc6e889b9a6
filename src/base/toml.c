/* TOML 1.0 (see toml.h; https://toml.io/en/v1.0.0). One pass of recursive descent: a line is the header of a
 * table, or a dotted key with a value.
 *
 * Two sets of objects record what may be extended: `headed` tables have had their header, which may occur
 * once; `closed` are inline tables and arrays, which are complete. */
#include "base/toml.h"

#include <string.h>

#include "base/err.h"

enum {
        TOML_MAX = 16 * 1024 * 1024,
        DEPTH_MAX = 64,
        KEYS_MAX = 64, /* parts of a dotted key */
};

typedef struct {
        const char *at, *end; /* `end` points at a NUL */
        const char *name;
        int line, depth;
        json_t *root;
        GHashTable *headed, *closed;
        GError **error;
} Parser;

static bool fail(Parser *parser, const char *what)
{
        return err_set(parser->error, ERR_INVALID, "%s, line %d: %s", parser->name, parser->line, what);
}

/* ---- blanks ---- */

static void skip_blanks(Parser *parser)
{
        while (*parser->at == ' ' || *parser->at == '\t')
                parser->at++;
}

static void skip_comment(Parser *parser)
{
        skip_blanks(parser);
        if (*parser->at == '#')
                parser->at += strcspn(parser->at, "\n");
}

/* "\n" or "\r\n". */
static bool take_newline(Parser *parser)
{
        const char *at = parser->at + (*parser->at == '\r');

        if (*at != '\n')
                return false;
        parser->at = at + 1;
        parser->line++;
        return true;
}

static void skip_lines(Parser *parser)
{
        do
                skip_comment(parser);
        while (take_newline(parser));
}

static bool take(Parser *parser, const char *word)
{
        if (!g_str_has_prefix(parser->at, word))
                return false;
        parser->at += strlen(word);
        return true;
}

static bool end_line(Parser *parser)
{
        skip_comment(parser);
        return parser->at == parser->end || take_newline(parser) ||
               fail(parser, "more text after the end of a value");
}

/* ---- strings ---- */

static bool read_unicode(Parser *parser, int digits, GString *out)
{
        gunichar c = 0;

        for (; digits > 0; digits--, parser->at++) {
                if (!g_ascii_isxdigit(*parser->at))
                        return fail(parser, "\\u needs 4 hexadecimal digits, \\U needs 8");
                c = c << 4 | (gunichar)g_ascii_xdigit_value(*parser->at);
        }
        if (c == 0 || !g_unichar_validate(c))
                return fail(parser, "an escape names no character");
        g_string_append_unichar(out, c);
        return true;
}

/* A backslash at the end of a line removes all blanks up to the next text. */
static bool join_lines(Parser *parser)
{
        skip_blanks(parser);
        if (!take_newline(parser))
                return fail(parser, "an unknown escape in a string");
        do
                skip_blanks(parser);
        while (take_newline(parser));
        return true;
}

static bool read_escape(Parser *parser, bool lines, GString *out)
{
        static const char letters[] = "btnfr\"\\", bytes[] = "\b\t\n\f\r\"\\";
        const char *letter = *parser->at ? strchr(letters, *parser->at) : NULL;

        if (letter) {
                g_string_append_c(out, bytes[letter - letters]);
                parser->at++;
                return true;
        }
        if (take(parser, "u"))
                return read_unicode(parser, 4, out);
        if (take(parser, "U"))
                return read_unicode(parser, 8, out);
        return lines ? join_lines(parser) : fail(parser, "an unknown escape in a string");
}

/* Three quotes end the text; one or two before them belong to it. */
static bool ends_here(Parser *parser, char quote, bool lines, GString *out)
{
        const char three[] = { quote, quote, quote, '\0' };

        if (!lines) {
                parser->at++;
                return true;
        }
        if (!g_str_has_prefix(parser->at, three))
                return false;
        for (int more = 0; more < 2 && parser->at[3] == quote; more++, parser->at++)
                g_string_append_c(out, quote);
        parser->at += 3;
        return true;
}

/* Starts after the opening quotes. */
static bool read_text(Parser *parser, char quote, bool lines, GString *out)
{
        if (lines)
                (void)take_newline(parser); /* a newline right after the quotes is ignored */
        while (parser->at < parser->end) {
                if (*parser->at == quote && ends_here(parser, quote, lines, out))
                        return true;
                if (lines && take_newline(parser)) {
                        g_string_append_c(out, '\n');
                        continue;
                }
                if (*parser->at == '\\' && quote == '"') {
                        parser->at++;
                        if (!read_escape(parser, lines, out))
                                return false;
                        continue;
                }
                if (g_ascii_iscntrl(*parser->at) && *parser->at != '\t')
                        return fail(parser, "a string has a control character, or does not end");
                g_string_append_c(out, *parser->at++);
        }
        return fail(parser, "a string does not end");
}

static char *read_string(Parser *parser, bool may_have_lines)
{
        g_autoptr(GString) out = g_string_new(NULL);
        const char quote = *parser->at;
        const char three[] = { quote, quote, quote, '\0' };
        bool lines = may_have_lines && g_str_has_prefix(parser->at, three);

        parser->at += lines ? 3 : 1;
        return read_text(parser, quote, lines, out) ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

/* ---- keys ---- */

static bool is_bare(char c)
{
        return g_ascii_isalnum(c) || c == '_' || c == '-';
}

static char *read_key(Parser *parser)
{
        const char *start = parser->at;

        if (*start == '"' || *start == '\'')
                return read_string(parser, false);
        while (is_bare(*parser->at))
                parser->at++;
        if (parser->at > start)
                return g_strndup(start, (gsize)(parser->at - start));
        fail(parser, "a key is missing");
        return NULL;
}

/* "a.b.'c d'"; at least one. */
static GPtrArray *read_keys(Parser *parser)
{
        g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);

        do {
                char *key;

                skip_blanks(parser);
                key = read_key(parser);
                if (!key)
                        return NULL;
                g_ptr_array_add(keys, key);
                if (keys->len > KEYS_MAX) {
                        fail(parser, "a key has too many parts");
                        return NULL;
                }
                skip_blanks(parser);
        } while (take(parser, "."));
        return g_steal_pointer(&keys);
}

/* The object of this name in `table`, created if missing; of a list of tables the last one. */
static json_t *descend(Parser *parser, json_t *table, const char *key)
{
        json_t *value = json_object_get(table, key);

        if (!value) {
                value = json_object();
                json_object_set_new(table, key, value);
                return value;
        }
        if (json_is_array(value) && json_array_size(value) > 0 &&
            !g_hash_table_contains(parser->closed, value))
                value = json_array_get(value, json_array_size(value) - 1);
        if (json_is_object(value) && !g_hash_table_contains(parser->closed, value))
                return value;
        fail(parser, "a key has a value already");
        return NULL;
}

static json_t *descend_all(Parser *parser, json_t *table, const GPtrArray *keys, guint n)
{
        for (guint i = 0; table && i < n; i++)
                table = descend(parser, table, keys->pdata[i]);
        return table;
}

/* ---- values ---- */

static json_t *read_value(Parser *parser);

static json_t *read_list(Parser *parser)
{
        g_autoptr(json_t) list = json_array();

        parser->at++;
        for (skip_lines(parser); !take(parser, "]"); skip_lines(parser)) {
                json_t *item = read_value(parser);

                if (!item)
                        return NULL;
                json_array_append_new(list, item);
                skip_lines(parser);
                if (!take(parser, ",") && *parser->at != ']') {
                        fail(parser, "a list needs ',' between its values and ']' at its end");
                        return NULL;
                }
        }
        return g_steal_pointer(&list);
}

static bool read_pair(Parser *parser, json_t *table)
{
        g_autoptr(GPtrArray) keys = read_keys(parser);
        const char *last;
        json_t *value;

        if (!keys)
                return false;
        if (!take(parser, "="))
                return fail(parser, "a key needs '=' and a value");
        skip_blanks(parser);
        table = descend_all(parser, table, keys, keys->len - 1);
        if (!table)
                return false;
        last = keys->pdata[keys->len - 1];
        if (json_object_get(table, last))
                return fail(parser, "a key has a value already");
        value = read_value(parser);
        if (!value)
                return false;
        json_object_set_new(table, last, value);
        return true;
}

static json_t *read_inline(Parser *parser)
{
        g_autoptr(json_t) table = json_object();

        parser->at++;
        skip_blanks(parser);
        while (!take(parser, "}")) {
                if (!read_pair(parser, table))
                        return NULL;
                skip_blanks(parser);
                if (take(parser, ","))
                        skip_blanks(parser);
                else if (*parser->at != '}') {
                        fail(parser, "a table needs ',' between its pairs and '}' at its end");
                        return NULL;
                }
        }
        return g_steal_pointer(&table);
}

/* "0x1f", "0o17", "0b1"; NULL if it is none of these. */
static json_t *based_number(const char *word)
{
        static const struct {
                const char *prefix;
                guint base;
        } rows[] = { { "0x", 16 }, { "0o", 8 }, { "0b", 2 } };
        gint64 value;

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (g_str_has_prefix(word, rows[i].prefix) && g_ascii_isxdigit(word[2]) &&
                    g_ascii_string_to_signed(word + 2, rows[i].base, 0, G_MAXINT64, &value, NULL))
                        return json_integer(value);
        return NULL;
}

static json_t *decimal_number(const char *word)
{
        const char *digits = word + (*word == '+' || *word == '-');
        char *end = NULL;
        gint64 value;
        double real;

        if (!g_ascii_isdigit(*digits) || strpbrk(digits, ":xX") ||
            (strchr(digits, '-') && !strpbrk(digits, "eE")))
                return NULL;
        if (g_ascii_string_to_signed(word + (*word == '+'), 10, G_MININT64, G_MAXINT64, &value, NULL))
                return json_integer(value);
        real = g_ascii_strtod(word, &end);
        return *end ? NULL : json_real(real); /* also NULL if it is infinite */
}

static bool is_time(const char *word)
{
        return g_ascii_isdigit(*word) && strspn(word, "0123456789-:.+TtZz ") == strlen(word) &&
               strpbrk(word, "-:");
}

/* A word without quotes: a number, a date (with a blank before its time), true, false. */
static json_t *read_word(Parser *parser)
{
        gsize len = strcspn(parser->at, " \t\r\n,]}#");
        g_autofree char *word = g_strndup(parser->at, len), *plain = NULL;
        g_auto(GStrv) parts = NULL;
        json_t *value = NULL;

        if (strlen(word) == 10 && is_time(word) && parser->at[len] == ' ' &&
            g_ascii_isdigit(parser->at[len + 1])) {
                len += 1 + strcspn(parser->at + len + 1, " \t\r\n,]}#");
                g_free(word);
                word = g_strndup(parser->at, len);
        }
        parts = g_strsplit(word, "_", -1);
        plain = g_strjoinv("", parts);
        if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
                value = json_boolean(word[0] == 't');
        else if (g_str_has_suffix(word, "inf") || g_str_has_suffix(word, "nan"))
                value = json_string(word);
        else
                value = based_number(plain);
        if (!value)
                value = decimal_number(plain);
        if (!value && is_time(word))
                value = json_string(word);
        if (!value)
                fail(parser, "a value is missing, or is none of TOML's");
        parser->at += len;
        return value;
}

static json_t *read_nested(Parser *parser)
{
        json_t *value;

        if (++parser->depth > DEPTH_MAX) {
                fail(parser, "values are nested too deep");
                return NULL;
        }
        value = *parser->at == '[' ? read_list(parser) : read_inline(parser);
        parser->depth--;
        if (value)
                g_hash_table_add(parser->closed, value);
        return value;
}

static json_t *read_value(Parser *parser)
{
        g_autofree char *text = NULL;

        switch (*parser->at) {
        case '[':
        case '{': return read_nested(parser);
        case '"':
        case '\'': text = read_string(parser, true); return text ? json_string(text) : NULL;
        default: return read_word(parser);
        }
}

/* ---- lines ---- */

/* "[[name]]": one more table of a list. */
static json_t *append_table(Parser *parser, json_t *above, const char *key)
{
        json_t *list = json_object_get(above, key), *table = json_object();

        if (!list) {
                list = json_array();
                json_object_set_new(above, key, list);
        }
        if (!json_is_array(list) || g_hash_table_contains(parser->closed, list)) {
                json_decref(table);
                fail(parser, "a key has a value already");
                return NULL;
        }
        json_array_append_new(list, table);
        return table;
}

static json_t *open_table(Parser *parser, json_t *above, const char *key)
{
        json_t *table = descend(parser, above, key);

        if (table && !g_hash_table_add(parser->headed, table)) {
                fail(parser, "a table has its header twice");
                return NULL;
        }
        return table;
}

/* Starts after the first '['; returns the table of the following pairs. */
static json_t *read_header(Parser *parser)
{
        bool list = take(parser, "[");
        g_autoptr(GPtrArray) keys = read_keys(parser);
        json_t *above;

        if (!keys)
                return NULL;
        if (!take(parser, list ? "]]" : "]")) {
                fail(parser, "a header does not end in ']'");
                return NULL;
        }
        above = descend_all(parser, parser->root, keys, keys->len - 1);
        if (!above)
                return NULL;
        return list ? append_table(parser, above, keys->pdata[keys->len - 1])
                    : open_table(parser, above, keys->pdata[keys->len - 1]);
}

static bool read_document(Parser *parser)
{
        json_t *table = parser->root;

        for (skip_lines(parser); parser->at < parser->end; skip_lines(parser)) {
                if (take(parser, "[")) {
                        table = read_header(parser);
                        if (!table)
                                return false;
                } else if (!read_pair(parser, table)) {
                        return false;
                }
                if (!end_line(parser))
                        return false;
        }
        return true;
}

static json_t *parse(const char *text, gsize len, const char *name, GError **error)
{
        g_autoptr(json_t) root = json_object();
        g_autoptr(GHashTable) headed = g_hash_table_new(NULL, NULL), closed = g_hash_table_new(NULL, NULL);
        Parser parser = { text, text + len, name, 1, 0, root, headed, closed, error };

        if (g_str_has_prefix(text, "\xef\xbb\xbf"))
                parser.at += 3; /* a byte order mark */
        return read_document(&parser) ? g_steal_pointer(&root) : NULL;
}

json_t *toml_parse(const char *text, gsize len, const char *name, GError **error)
{
        g_autofree char *copy = NULL;

        if (len > TOML_MAX) {
                err_set(error, ERR_TOO_LARGE, "%s is larger than 16 MiB", name);
                return NULL;
        }
        if (memchr(text, '\0', len) || !g_utf8_validate(text, (gssize)len, NULL)) {
                err_set(error, ERR_INVALID, "%s is not UTF-8 text", name);
                return NULL;
        }
        copy = g_strndup(text, len);
        return parse(copy, len, name, error);
}
