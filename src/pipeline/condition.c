/* Conditions (see condition.h): tokens, and a parser that evaluates while it parses. An operand that does
 * not count, as in "false && x", is parsed with `skip` set: it must be well formed, but nothing is computed
 * and no type is checked. So no tree is kept, and only parentheses make the recursion deeper.
 *
 * Whether a '-' is a prefix or an operator depends on what stands before it: tokens are read on demand, and
 * the parser says what it expects. */
#include "pipeline/condition.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "pipeline/condition-time.h"
#include "pipeline/pattern.h"
#include "pipeline/value.h"

typedef enum { IS_NOTHING, IS_NUMBER, IS_TEXT, IS_BOOL, IS_LIST } Kind;

typedef struct {
        Kind kind;
        double number;
        bool yes;
        const char *text; /* kept by the parser */
        GArray *list;     /* of Result; kept by the parser */
} Result;

typedef enum {
        TOKEN_END,
        TOKEN_VALUE,    /* a number or boolean */
        TOKEN_STRING,   /* in quotes */
        TOKEN_WORD,     /* a text without quotes */
        TOKEN_ACCESSOR, /* a word with dots: well formed, but it has no value */
        TOKEN_OPERATOR,
        TOKEN_OPEN,
        TOKEN_CLOSE,
        TOKEN_COMMA,
} TokenKind;

typedef struct {
        const char *at;
        TokenKind token;
        Result value; /* of TOKEN_VALUE, TOKEN_STRING and TOKEN_WORD */
        char name[4]; /* of an operator: up to two characters, or "in" */
        char *fault;  /* the first error */
        int skip, depth;
        bool searches; /* an operator with a regular expression was read */
        bool looking;  /* only for `searches`: no expression is compiled */
        bool advising; /* the text is as its author wrote it: errors have advice */
        guint64 work;  /* of all searches */
        gsize joined;  /* bytes of all texts that '+' made */
        GPtrArray *texts, *lists;
} Parser;

/* ---- errors and results ---- */

static bool fail(Parser *parser, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool fail(Parser *parser, const char *format, ...)
{
        va_list args;

        if (!parser->fault) {
                va_start(args, format);
                parser->fault = g_strdup_vprintf(format, args);
                va_end(args);
        }
        parser->token = TOKEN_END;
        return false;
}

static const char *keep(Parser *parser, char *text)
{
        g_ptr_array_add(parser->texts, text);
        return text;
}

static Result of_number(double number)
{
        return (Result){ .kind = IS_NUMBER, .number = number };
}

static Result of_bool(bool yes)
{
        return (Result){ .kind = IS_BOOL, .yes = yes };
}

static Result of_text(const char *text)
{
        return (Result){ .kind = IS_TEXT, .text = text };
}

/* ---- tokens ---- */

static bool is_quote(gunichar c)
{
        return c == '\'' || c == '"';
}

static bool is_operator(gunichar c)
{
        return c && !g_unichar_isalpha(c) && !g_unichar_isdigit(c) &&
               !strchr("()[]", (int)(c < 128 ? c : 'x')) && !is_quote(c) && !g_unichar_isspace(c);
}

static bool is_in_number(gunichar c)
{
        return g_unichar_isdigit(c) || c == '.';
}

static bool is_in_hex(gunichar c)
{
        return c < 128 && g_ascii_isxdigit((char)c);
}

static bool is_in_word(gunichar c)
{
        return g_unichar_isalpha(c) || g_unichar_isdigit(c) || c == '_' || c == '.';
}

static bool is_in_brackets(gunichar c)
{
        return c != ']';
}

static bool is_in_string(gunichar c)
{
        return !is_quote(c);
}

/* The longest run of these characters; a backslash takes the character behind it as it is. */
static const char *read_run(Parser *parser, bool (*is_in)(gunichar))
{
        GString *out = g_string_new(NULL);

        for (;;) {
                gunichar c = g_utf8_get_char(parser->at);

                if (c == '\\' && parser->at[1]) {
                        parser->at++;
                        c = g_utf8_get_char(parser->at);
                } else if (!c || !is_in(c)) {
                        break;
                }
                g_string_append_unichar(out, c);
                parser->at = g_utf8_next_char(parser->at);
        }
        return keep(parser, g_string_free(out, FALSE));
}

static void read_hex(Parser *parser)
{
        const char *digits;
        guint64 number = 0;

        parser->at += 2;
        digits = read_run(parser, is_in_hex);
        parser->token = TOKEN_VALUE;
        if (!g_ascii_string_to_unsigned(digits, 16, 0, G_MAXUINT64, &number, NULL))
                fail(parser, "'0x%.40s' is not a hexadecimal number", digits);
        parser->value = of_number((double)number);
}

static void read_number(Parser *parser)
{
        const char *text = read_run(parser, is_in_number), *dot = strchr(text, '.');
        char *end = NULL;

        parser->token = TOKEN_VALUE;
        parser->value = of_number(g_ascii_strtod(text, &end));
        if (*end || end == text || (dot && strchr(dot + 1, '.')) || text[strspn(text, "0123456789.")])
                fail(parser, "'%.40s' is not a number", text);
}

static void read_string(Parser *parser)
{
        double seconds;
        const char *text;

        parser->at++;
        text = read_run(parser, is_in_string);
        if (!*parser->at) {
                fail(parser, "a text in quotes has no end");
                return;
        }
        parser->at++;
        parser->token = TOKEN_STRING;
        parser->value = condition_time(text, &seconds) ? of_number(seconds) : of_text(text);
}

static void read_brackets(Parser *parser)
{
        const char *text;

        parser->at++;
        text = read_run(parser, is_in_brackets);
        if (*parser->at)
                parser->at++;
        else
                fail(parser, "'[' has no ']'");
        if (parser->fault)
                return;
        parser->token = TOKEN_WORD;
        parser->value = of_text(text);
}

/* The parts behind dots begin with a capital letter; no part is missing at the end. */
static void check_accessor(Parser *parser, const char *word)
{
        parser->token = TOKEN_ACCESSOR;
        if (g_str_has_suffix(word, ".")) {
                fail(parser, "the word '%.40s' ends with a dot", word);
                return;
        }
        for (const char *dot = strchr(word, '.'); dot; dot = strchr(dot + 1, '.'))
                if (g_unichar_islower(g_utf8_get_char(dot + 1))) {
                        fail(parser, "a word cannot have a dot: '%.40s'\nPut it in quotes if it is text.",
                             word);
                        return;
                }
}

static void read_word(Parser *parser)
{
        const char *word = read_run(parser, is_in_word);

        parser->token = TOKEN_WORD;
        parser->value = of_text(word);
        if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
                parser->token = TOKEN_VALUE;
                parser->value = of_bool(*word == 't');
        } else if (strcmp(word, "in") == 0 || strcmp(word, "IN") == 0) {
                parser->token = TOKEN_OPERATOR;
                g_strlcpy(parser->name, "in", sizeof(parser->name));
        } else if (strchr(word, '.')) {
                check_accessor(parser, word);
        }
}

/* The operator that another language writes so, or NULL. */
static const char *operator_of(const char *text)
{
        static const char *const rows[][2] = {
                { "and", "&&" }, { "AND", "&&" }, { "or", "||" }, { "OR", "||" }, { "not", "!" },
                { "NOT", "!" },  { "is", "==" },  { "eq", "==" }, { "=", "==" },  { "===", "==" },
                { "<>", "!=" },  { "!==", "!=" }, { "=>", ">=" }, { "=<", "<=" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (strcmp(text, rows[i][0]) == 0)
                        return rows[i][1];
        return NULL;
}

static void read_operator(Parser *parser)
{
        static const char *const known[] = { "+",  "-",  "*",  "/",  "%",  "**", "&", "|", "^",
                                             "<<", ">>", "&&", "||", "==", "!=", ">", "<", ">=",
                                             "<=", "=~", "!~", "?",  ":",  "??", "!", "~", NULL };
        const char *from = parser->at;
        g_autofree char *text = NULL;

        while (is_operator(g_utf8_get_char(parser->at)))
                parser->at = g_utf8_next_char(parser->at);
        text = g_strndup(from, (gsize)(parser->at - from));
        parser->token = TOKEN_OPERATOR;
        if (g_strv_contains(known, text))
                g_strlcpy(parser->name, text, sizeof(parser->name));
        else if (operator_of(text))
                fail(parser, "'%s' is not an operator\nWrite '%s'.", text, operator_of(text));
        else
                fail(parser, "'%.40s' is not an operator\nSeparate operators with blanks.", text);
}

static void read_sign(Parser *parser, TokenKind kind)
{
        parser->at++;
        parser->token = kind;
}

static void next(Parser *parser)
{
        gunichar c;

        if (parser->fault)
                return;
        while (g_unichar_isspace(g_utf8_get_char(parser->at)))
                parser->at = g_utf8_next_char(parser->at);
        c = g_utf8_get_char(parser->at);
        if (!c)
                parser->token = TOKEN_END;
        else if (c == '0' && parser->at[1] == 'x')
                read_hex(parser);
        else if (is_in_number(c))
                read_number(parser);
        else if (c == ',')
                read_sign(parser, TOKEN_COMMA);
        else if (c == '(' || c == ')')
                read_sign(parser, c == '(' ? TOKEN_OPEN : TOKEN_CLOSE);
        else if (is_quote(c))
                read_string(parser);
        else if (c == '[')
                read_brackets(parser);
        else if (g_unichar_isalpha(c))
                read_word(parser);
        else if (c == ']')
                fail(parser, "']' has no '['");
        else
                read_operator(parser);
}

static bool is_next(const Parser *parser, const char *operator)
{
        return parser->token == TOKEN_OPERATOR && strcmp(parser->name, operator) == 0;
}

/* ---- regular expressions ---- */

/* Adds to the work of this condition. False if it would be too much. */
static bool pays(Parser *parser, const char *pattern, guint places, gsize len)
{
        parser->work += pattern_work(places, len);
        return parser->work <= CONDITION_WORK_MAX ||
               fail(parser,
                    "the regular expression '%.40s' takes too long on a text of %" G_GSIZE_FORMAT
                    " bytes\nMake the expression, its repeats or the text shorter.",
                    pattern, len);
}

/* True if the expression is well formed, and its search in a text of `len` bytes is short enough. */
static bool admit_pattern(Parser *parser, const char *pattern, gsize len)
{
        g_autoptr(GError) error = NULL;
        guint places = pattern_places(pattern, &error);
        bool found;

        if (!places)
                return fail(parser, "the regular expression '%.40s' %s", pattern, error->message);
        if (!pays(parser, pattern, places, len))
                return false;
        return len || pattern_search(pattern, "", &found, &error) ||
               fail(parser, "the regular expression '%.40s' %s", pattern, error->message);
}

static Result search(Parser *parser, const char *text, const char *pattern)
{
        g_autoptr(GError) error = NULL;
        bool found = false;

        if (admit_pattern(parser, pattern, strlen(text)) && !pattern_search(pattern, text, &found, &error))
                fail(parser, "the regular expression '%.40s' %s", pattern, error->message);
        return of_bool(found);
}

/* ---- operators ---- */

static bool equals(const Result *left, const Result *right)
{
        if (left->kind != right->kind)
                return false;
        switch (left->kind) {
        case IS_NUMBER: return left->number == right->number;
        case IS_BOOL: return left->yes == right->yes;
        case IS_TEXT: return strcmp(left->text, right->text) == 0;
        case IS_LIST:
                if (left->list->len != right->list->len)
                        return false;
                for (guint i = 0; i < left->list->len; i++)
                        if (!equals(&g_array_index(left->list, Result, i),
                                    &g_array_index(right->list, Result, i)))
                                return false;
                return true;
        default: return true;
        }
}

static const char *shown(Parser *parser, const Result *result)
{
        GString *out;

        if (result->kind == IS_TEXT)
                return result->text;
        out = g_string_new(NULL);
        if (result->kind == IS_NUMBER)
                value_write_real(out, result->number);
        else if (result->kind == IS_BOOL)
                g_string_append(out, result->yes ? "true" : "false");
        return keep(parser, g_string_free(out, FALSE));
}

static Result wrong_types(Parser *parser, const char *name, const char *wanted)
{
        fail(parser, "'%s' needs %s", name, wanted);
        return (Result){ 0 };
}

static Result order(Parser *parser, const char *name, const Result *left, const Result *right)
{
        int sign;

        if (left->kind == IS_NUMBER && right->kind == IS_NUMBER) {
                if (isnan(left->number) || isnan(right->number))
                        return of_bool(false);
                sign = (left->number > right->number) - (left->number < right->number);
        } else if (left->kind == IS_TEXT && right->kind == IS_TEXT) {
                sign = strcmp(left->text, right->text);
        } else {
                return wrong_types(parser, name, "two numbers or two texts");
        }
        if (sign == 0)
                return of_bool(name[1] == '=');
        return of_bool((sign > 0) == (*name == '>'));
}

static Result add(Parser *parser, const Result *left, const Result *right)
{
        if (left->kind == IS_NUMBER && right->kind == IS_NUMBER)
                return of_number(left->number + right->number);
        if (left->kind != IS_TEXT && right->kind != IS_TEXT)
                return wrong_types(parser, "+", "two numbers, or a text");
        if (left->kind == IS_LIST || right->kind == IS_LIST || left->kind == IS_NOTHING ||
            right->kind == IS_NOTHING)
                return wrong_types(parser, "+", "two numbers, or a text");
        parser->joined += strlen(shown(parser, left)) + strlen(shown(parser, right));
        if (parser->joined > CONDITION_JOINED_MAX) {
                fail(parser, "'+' makes texts of more than %d bytes", CONDITION_JOINED_MAX);
                return (Result){ 0 };
        }
        return of_text(keep(parser, g_strconcat(shown(parser, left), shown(parser, right), NULL)));
}

/* As a 64-bit integer; a number beyond that is the smallest one. */
static gint64 bits(double number)
{
        return number >= -9223372036854775808.0 && number < 9223372036854775808.0 ? (gint64)number
                                                                                  : G_MININT64;
}

static double shift(const char *name, double left, double right)
{
        guint64 value = (guint64)bits(left), by = (guint64)bits(right);

        if (by >= 64)
                return 0;
        return (double)(*name == '<' ? value << by : value >> by);
}

static double compute(const char *name, double left, double right)
{
        switch (*name) {
        case '-': return left - right;
        case '*': return name[1] ? pow(left, right) : left * right;
        case '/': return left / right;
        case '%': return fmod(left, right);
        case '&': return (double)(bits(left) & bits(right));
        case '|': return (double)(bits(left) | bits(right));
        case '^': return (double)(bits(left) ^ bits(right));
        default: return shift(name, left, right);
        }
}

static Result contains(Parser *parser, const Result *item, const Result *list)
{
        if (list->kind != IS_LIST)
                return wrong_types(parser, "in", "a list of at least two items: x in (a, b)");
        for (guint i = 0; i < list->list->len; i++)
                if (equals(item, &g_array_index(list->list, Result, i)))
                        return of_bool(true);
        return of_bool(false);
}

static Result match(Parser *parser, const char *name, const Result *left, const Result *right)
{
        Result found;

        if (left->kind != IS_TEXT || right->kind != IS_TEXT)
                return wrong_types(parser, name, "two texts");
        found = search(parser, left->text, right->text);
        return *name == '!' ? of_bool(!found.yes) : found;
}

static Result apply(Parser *parser, const char *name, const Result *left, const Result *right)
{
        if (strcmp(name, "==") == 0 || strcmp(name, "!=") == 0)
                return of_bool(equals(left, right) == (*name == '='));
        if (strcmp(name, "=~") == 0 || strcmp(name, "!~") == 0)
                return match(parser, name, left, right);
        if (strcmp(name, "in") == 0)
                return contains(parser, left, right);
        if ((*name == '<' || *name == '>') && name[1] != *name)
                return order(parser, name, left, right);
        if (strcmp(name, "&&") == 0 || strcmp(name, "||") == 0) {
                if (left->kind != IS_BOOL || right->kind != IS_BOOL)
                        return wrong_types(parser, name, "true or false on both sides");
                return of_bool(right->yes); /* the left side has not decided */
        }
        if (*name == '+')
                return add(parser, left, right);
        if (left->kind != IS_NUMBER || right->kind != IS_NUMBER)
                return wrong_types(parser, name, "two numbers");
        return of_number(compute(name, left->number, right->number));
}

/* ---- the grammar ---- */

static Result read_list(Parser *parser);

static bool is_computing(const Parser *parser)
{
        return !parser->skip && !parser->fault;
}

static Result read_parentheses(Parser *parser)
{
        Result value;

        if (++parser->depth > CONDITION_DEPTH_MAX) {
                fail(parser, "more than %d parentheses in one another", CONDITION_DEPTH_MAX);
                return (Result){ 0 };
        }
        next(parser);
        value = read_list(parser);
        if (!parser->fault && parser->token != TOKEN_CLOSE)
                fail(parser, "'(' has no ')'");
        parser->depth--;
        next(parser);
        return value;
}

static Result read_operand(Parser *parser)
{
        TokenKind token = parser->token;
        Result value = parser->value;

        if (parser->fault)
                return (Result){ 0 };
        switch (token) {
        case TOKEN_OPEN: return read_parentheses(parser);
        case TOKEN_VALUE:
        case TOKEN_STRING:
        case TOKEN_WORD: next(parser); return value;
        case TOKEN_ACCESSOR:
                if (is_computing(parser))
                        fail(parser, "a word with a dot has no value\nPut it in quotes if it is text.");
                next(parser);
                return (Result){ 0 };
        case TOKEN_END: fail(parser, "the condition ends where a value should be"); return (Result){ 0 };
        default:
                fail(parser, "'%s' stands where a value should be",
                     token == TOKEN_OPERATOR ? parser->name
                     : token == TOKEN_COMMA  ? ","
                                             : ")");
                return (Result){ 0 };
        }
}

static Result apply_prefix(Parser *parser, char name, const Result *value)
{
        if (name == '!' && value->kind == IS_BOOL)
                return of_bool(!value->yes);
        if (name == '-' && value->kind == IS_NUMBER)
                return of_number(-value->number);
        if (name == '~' && value->kind == IS_NUMBER)
                return of_number((double)~bits(value->number));
        fail(parser, "'%c' needs %s", name, name == '!' ? "true or false" : "a number");
        return (Result){ 0 };
}

static Result read_prefix(Parser *parser)
{
        char name;
        Result value;

        if (!is_next(parser, "!") && !is_next(parser, "-") && !is_next(parser, "~"))
                return read_operand(parser);
        name = parser->name[0];
        next(parser);
        if (!parser->fault && parser->token != TOKEN_VALUE && parser->token != TOKEN_OPEN)
                fail(parser, "'%c' must stand before a number, true, false or '('", name);
        value = read_operand(parser);
        return is_computing(parser) ? apply_prefix(parser, name, &value) : value;
}

/* From loose to tight; all of them are read from left to right. */
static const char *const levels[][10] = {
        { "||" },          { "&&" },       { "==", "!=", ">", "<", ">=", "<=", "=~", "!~", "in" },
        { "&", "|", "^" }, { "<<", ">>" }, { "+", "-" },
        { "*", "/", "%" }, { "**" },
};

static bool is_of_level(const Parser *parser, guint level)
{
        for (int i = 0; levels[level][i]; i++)
                if (is_next(parser, levels[level][i]))
                        return true;
        return false;
}

/* True if the left side of && or || already decides. */
static bool is_decided(const char *name, const Result *left)
{
        return left->kind == IS_BOOL &&
               ((strcmp(name, "&&") == 0 && !left->yes) || (strcmp(name, "||") == 0 && left->yes));
}

/* A literal pattern is checked before anything is evaluated. */
static void check_pattern(Parser *parser, const char *name)
{
        if (name[1] != '~')
                return;
        parser->searches = true;
        if (!parser->looking && parser->token == TOKEN_STRING && parser->value.kind == IS_TEXT)
                (void)admit_pattern(parser, parser->value.text, 0);
}

static Result read_level(Parser *parser, guint level)
{
        Result left, right;

        if (level == G_N_ELEMENTS(levels))
                return read_prefix(parser);
        left = read_level(parser, level + 1);
        while (is_of_level(parser, level)) {
                char name[sizeof(parser->name)];
                bool decided;

                g_strlcpy(name, parser->name, sizeof(name));
                decided = is_computing(parser) && is_decided(name, &left);
                next(parser);
                check_pattern(parser, name);
                parser->skip += decided;
                right = read_level(parser, level + 1);
                parser->skip -= decided;
                if (!decided && is_computing(parser))
                        left = apply(parser, name, &left, &right);
        }
        return left;
}

/* One of "a ? b", "a : b" and "a ?? b", with `left` read. */
static Result read_choice(Parser *parser, Result left)
{
        bool question = is_next(parser, "?"), unused;
        Result right;

        if (question && is_computing(parser) && left.kind != IS_BOOL)
                fail(parser, "'?' needs true or false before it");
        unused = is_computing(parser) && (question ? !left.yes : left.kind != IS_NOTHING);
        next(parser);
        parser->skip += unused;
        right = read_level(parser, 0);
        parser->skip -= unused;
        if (!is_computing(parser))
                return (Result){ 0 };
        if (question)
                return left.yes ? right : (Result){ 0 };
        return unused ? left : right;
}

static Result read_ternary(Parser *parser)
{
        Result left = read_level(parser, 0);

        while (is_next(parser, "?") || is_next(parser, ":") || is_next(parser, "??"))
                left = read_choice(parser, left);
        return left;
}

static Result list_new(Parser *parser, Result first)
{
        GArray *list = g_array_new(FALSE, TRUE, sizeof(Result));

        g_ptr_array_add(parser->lists, list);
        g_array_append_val(list, first);
        return (Result){ .kind = IS_LIST, .list = list };
}

/* Two values side by side: one of them may be a word that another language has as an operator. */
static void refuse_pair(Parser *parser, const Result *left)
{
        const char *after = parser->token == TOKEN_WORD ? parser->value.text : NULL;
        const char *before = left->kind == IS_TEXT ? left->text : NULL;
        const char *word = after && operator_of(after) ? after : before;

        if (parser->advising && word && operator_of(word))
                fail(parser, "'%s' is not an operator\nWrite '%s'.", word, operator_of(word));
        else
                fail(parser, "an operator is missing between two values");
}

/* "a" or "a, b, c". */
static Result read_list(Parser *parser)
{
        Result value = read_ternary(parser);

        if (parser->token == TOKEN_COMMA && value.kind != IS_LIST)
                value = list_new(parser, value);
        while (parser->token == TOKEN_COMMA) {
                Result item;

                next(parser);
                item = read_ternary(parser);
                g_array_append_val(value.list, item);
        }
        if (!parser->fault && parser->token != TOKEN_CLOSE && parser->token != TOKEN_END)
                refuse_pair(parser, &value);
        return value;
}

static Result read_all(Parser *parser)
{
        Result value;

        next(parser);
        value = read_list(parser);
        if (!parser->fault && parser->token == TOKEN_CLOSE)
                fail(parser, "')' has no '('");
        return value;
}

/* ---- public ---- */

static void parser_init(Parser *parser, const char *text)
{
        *parser = (Parser){ .at = text,
                            .texts = g_ptr_array_new_with_free_func(g_free),
                            .lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref) };
        if (strlen(text) > CONDITION_MAX)
                fail(parser, "a condition has at most %d bytes", CONDITION_MAX);
        else if (!g_utf8_validate(text, -1, NULL))
                fail(parser, "the condition is not UTF-8 text");
}

static void parser_clear(Parser *parser)
{
        g_ptr_array_unref(parser->texts);
        g_ptr_array_unref(parser->lists);
        g_free(parser->fault);
}

static char *without_braces(const char *text)
{
        GString *out = g_string_new(NULL);

        for (const char *at = text; *at; at++) {
                if ((at[0] == '{' && at[1] == '{') || (at[0] == '}' && at[1] == '}'))
                        at++;
                else
                        g_string_append_c(out, *at);
        }
        return g_string_free(out, FALSE);
}

/* Parses without computing. */
static void parse(Parser *parser, const char *text, bool looking)
{
        parser_init(parser, text);
        parser->skip = 1;
        parser->looking = looking;
        parser->advising = true;
        (void)read_all(parser);
}

char *condition_fault(const char *text)
{
        g_autofree char *plain = without_braces(text);
        Parser parser;
        char *fault;

        parse(&parser, plain, false);
        fault = g_steal_pointer(&parser.fault);
        parser_clear(&parser);
        return fault;
}

bool condition_searches(const char *text)
{
        Parser parser;
        bool ret;

        if (!strstr(text, "=~") && !strstr(text, "!~"))
                return false;
        parse(&parser, text, true);
        ret = parser.searches;
        parser_clear(&parser);
        return ret;
}

bool condition_eval(const char *text, bool *ret, GError **error)
{
        Parser parser;
        Result value;
        bool ok;

        if (!*text) {
                *ret = true;
                return true;
        }
        parser_init(&parser, text);
        value = read_all(&parser);
        if (parser.fault)
                ok = err_set(error, ERR_INVALID, "%s", parser.fault);
        else if (value.kind != IS_BOOL)
                ok = err_set(error, ERR_INVALID, "the condition is neither true nor false");
        else
                ok = true;
        if (ok)
                *ret = value.yes;
        parser_clear(&parser);
        return ok;
}
