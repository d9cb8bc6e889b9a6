/* Label selectors (see selector.h); the grammar is that of "Labels and Selectors" in the Kubernetes
 * documentation and of k8s.io/apimachinery's pkg/labels. */
#include "kube/selector.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "kube/kind.h"

enum { NAME_PART_MAX = 63, PREFIX_MAX = 253, SHOWN_MAX = 100 };

typedef enum { OP_IN, OP_NOT_IN, OP_EXISTS, OP_ABSENT } Op;

static const struct {
        const char *word;   /* of an object's `operator` */
        const char *format; /* in a text, between the name and "(values)" */
        bool has_values;
} ops[] = {
        [OP_IN] = { "In", "in", true },
        [OP_NOT_IN] = { "NotIn", "notin", true },
        [OP_EXISTS] = { "Exists", NULL, false },
        [OP_ABSENT] = { "DoesNotExist", NULL, false },
};

typedef struct {
        char *name;
        Op op;
        GPtrArray *values; /* of text */
} Requirement;

struct KubeSelector {
        bool nothing;
        GPtrArray *requirements; /* all must hold */
};

static void requirement_free(void *data)
{
        Requirement *requirement = data;

        g_free(requirement->name);
        g_ptr_array_unref(requirement->values);
        g_free(requirement);
}

static KubeSelector *selector_new(void)
{
        KubeSelector *selector = g_new0(KubeSelector, 1);

        selector->requirements = g_ptr_array_new_with_free_func(requirement_free);
        return selector;
}

void kube_selector_free(KubeSelector *selector)
{
        if (!selector)
                return;
        g_ptr_array_unref(selector->requirements);
        g_free(selector);
}

/* ---- Names and values ---- */

/* Letters, digits and what is in `between`, which neither begins nor ends it. */
static bool is_word(const char *text, gsize len, gsize max, const char *between)
{
        if (len == 0 || len > max || !g_ascii_isalnum(text[0]) || !g_ascii_isalnum(text[len - 1]))
                return false;
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_isalnum(text[i]) && !strchr(between, text[i]))
                        return false;
        return true;
}

static bool is_prefix(const char *text, gsize len)
{
        if (len > PREFIX_MAX)
                return false;
        for (gsize i = 0; i < len; i++)
                if (g_ascii_isupper(text[i]))
                        return false;
        for (gsize at = 0; at <= len;) {
                const char *dot = at < len ? memchr(text + at, '.', len - at) : NULL;
                gsize part = dot ? (gsize)(dot - text) - at : len - at;

                if (!is_word(text + at, part, PREFIX_MAX, "-"))
                        return false;
                at += part + 1;
        }
        return true;
}

bool kube_label_name_is_valid(const char *text)
{
        const char *slash = strchr(text, '/');
        const char *name = slash ? slash + 1 : text;

        return (!slash || is_prefix(text, (gsize)(slash - text))) &&
               is_word(name, strlen(name), NAME_PART_MAX, "-_.");
}

bool kube_label_value_is_valid(const char *text)
{
        return !*text || is_word(text, strlen(text), NAME_PART_MAX, "-_.");
}

static bool add(KubeSelector *selector, const char *name, Op op, GPtrArray *values, GError **error)
{
        Requirement *requirement;

        if (!kube_label_name_is_valid(name))
                return err_set(error, ERR_INVALID, "'%.*s' is no label name (such as 'example.org/name')",
                               SHOWN_MAX, name);
        if (ops[op].has_values && !values->len)
                return err_set(error, ERR_INVALID, "label '%s': %s needs at least one value", name,
                               ops[op].word);
        if (!ops[op].has_values && values->len)
                return err_set(error, ERR_INVALID, "label '%s': %s takes no values", name, ops[op].word);
        for (guint i = 0; i < values->len; i++)
                if (!kube_label_value_is_valid(values->pdata[i]))
                        return err_set(
                                error, ERR_INVALID,
                                "label '%s': '%.*s' is no label value (at most %d letters, digits, '-', "
                                "'_' and '.')",
                                name, SHOWN_MAX, (const char *)values->pdata[i], NAME_PART_MAX);
        if (selector->requirements->len >= KUBE_REQUIREMENTS_MAX || values->len > KUBE_VALUES_MAX)
                return err_set(error, ERR_TOO_LARGE, "the label selector has too many parts");
        requirement = g_new0(Requirement, 1);
        requirement->name = g_strdup(name);
        requirement->op = op;
        requirement->values = g_ptr_array_ref(values);
        g_ptr_array_add(selector->requirements, requirement);
        return true;
}

/* ---- Text ---- */

typedef struct {
        const char *at;
} Reader;

static void skip_blanks(Reader *reader)
{
        while (*reader->at && strchr(" \t\r\n", *reader->at))
                reader->at++;
}

static bool skip(Reader *reader, const char *text)
{
        skip_blanks(reader);
        if (!g_str_has_prefix(reader->at, text))
                return false;
        reader->at += strlen(text);
        skip_blanks(reader);
        return true;
}

/* Up to a blank or a sign; may be empty. The caller's. */
static char *read_word(Reader *reader)
{
        skip_blanks(reader);
        gsize len = strcspn(reader->at, " \t\r\n,=!()<>");
        char *word = g_strndup(reader->at, len);
        reader->at += len;
        skip_blanks(reader);
        return word;
}

static bool read_values(Reader *reader, const char *name, GPtrArray *values, GError **error)
{
        if (!skip(reader, "("))
                return err_set(error, ERR_INVALID, "label '%.*s': '(' is missing before '%.*s'", SHOWN_MAX,
                               name, SHOWN_MAX, reader->at);
        do
                g_ptr_array_add(values, read_word(reader));
        while (values->len <= KUBE_VALUES_MAX && skip(reader, ","));
        if (!skip(reader, ")"))
                return err_set(error, ERR_INVALID, "label '%.*s': ')' is missing before '%.*s'", SHOWN_MAX,
                               name, SHOWN_MAX, reader->at);
        return true;
}

/* The operator and values after a name. */
static bool read_op(Reader *reader, const char *name, Op *ret_op, GPtrArray *values, GError **error)
{
        static const struct {
                const char *sign;
                Op op;
        } signs[] = { { "!=", OP_NOT_IN }, { "==", OP_IN }, { "=", OP_IN } };
        g_autofree char *word = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(signs); i++)
                if (skip(reader, signs[i].sign)) {
                        *ret_op = signs[i].op;
                        g_ptr_array_add(values, read_word(reader));
                        return true;
                }
        if (!*reader->at || *reader->at == ',') {
                *ret_op = OP_EXISTS;
                return true;
        }
        word = read_word(reader);
        for (Op op = OP_IN; op <= OP_NOT_IN; op++)
                if (strcmp(word, ops[op].format) == 0) {
                        *ret_op = op;
                        return read_values(reader, name, values, error);
                }
        return err_set(error, ERR_INVALID, "label '%.*s': '%.*s' is none of =, ==, !=, in, notin", SHOWN_MAX,
                       name, SHOWN_MAX, *word ? word : reader->at);
}

static bool read_requirement(Reader *reader, KubeSelector *selector, GError **error)
{
        g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
        bool absent = skip(reader, "!");
        g_autofree char *name = read_word(reader);
        Op op = OP_ABSENT;

        if (!absent && !read_op(reader, name, &op, values, error))
                return false;
        return add(selector, name, op, values, error);
}

KubeSelector *kube_selector_parse(const char *text, GError **error)
{
        g_autoptr(KubeSelector) selector = selector_new();
        Reader reader = { text };

        if (strlen(text) > KUBE_SELECTOR_MAX) {
                err_set(error, ERR_TOO_LARGE, "the label selector is longer than %d bytes",
                        KUBE_SELECTOR_MAX);
                return NULL;
        }
        skip_blanks(&reader);
        if (!*reader.at)
                return g_steal_pointer(&selector);
        do {
                if (!read_requirement(&reader, selector, error))
                        return NULL;
        } while (skip(&reader, ","));
        if (*reader.at) {
                err_set(error, ERR_INVALID, "the label selector has '%.*s' where ',' is expected", SHOWN_MAX,
                        reader.at);
                return NULL;
        }
        return g_steal_pointer(&selector);
}

/* ---- Objects ---- */

static bool add_expression(KubeSelector *selector, const json_t *item, GError **error)
{
        g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
        const char *name = NULL, *word = NULL;
        json_t *list = NULL, *value;
        size_t i;

        if (!json_is_object(item))
                return err_set(error, ERR_INVALID, "an entry of matchExpressions is not an object");
        if (!json_get_string(item, "matchExpressions.", "key", KUBE_SELECTOR_MAX, &name, error) ||
            !json_get_string(item, "matchExpressions.", "operator", KUBE_SELECTOR_MAX, &word, error) ||
            !json_get_array(item, "matchExpressions.", "values", KUBE_VALUES_MAX, &list, error))
                return false;
        json_array_foreach(list, i, value) {
                if (!json_is_string(value))
                        return err_set(error, ERR_INVALID, "matchExpressions.values must be strings");
                g_ptr_array_add(values, g_strdup(json_string_value(value)));
        }
        for (Op op = OP_IN; op <= OP_ABSENT; op++)
                if (word && strcmp(word, ops[op].word) == 0)
                        return add(selector, name ? name : "", op, values, error);
        return err_set(error, ERR_INVALID,
                       "matchExpressions.operator: '%.*s' is none of In, NotIn, Exists, DoesNotExist",
                       SHOWN_MAX, word ? word : "");
}

static bool add_labels(KubeSelector *selector, json_t *labels, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach(labels, name, value) {
                g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);

                if (!json_is_string(value))
                        return err_set(error, ERR_INVALID, "matchLabels: '%.*s' must be a string", SHOWN_MAX,
                                       name);
                g_ptr_array_add(values, g_strdup(json_string_value(value)));
                if (!add(selector, name, OP_IN, values, error))
                        return false;
        }
        return true;
}

KubeSelector *kube_selector_from_object(const json_t *object, GError **error)
{
        g_autoptr(KubeSelector) selector = selector_new();
        json_t *labels = NULL, *expressions = NULL, *item;
        size_t i;

        if (!object || json_is_null(object)) {
                selector->nothing = true;
                return g_steal_pointer(&selector);
        }
        if (!json_is_object(object)) {
                err_set(error, ERR_INVALID, "the label selector must be an object");
                return NULL;
        }
        if (!json_get_object(object, "", "matchLabels", KUBE_REQUIREMENTS_MAX, &labels, error) ||
            !json_get_array(object, "", "matchExpressions", KUBE_REQUIREMENTS_MAX, &expressions, error) ||
            !add_labels(selector, labels, error))
                return NULL;
        json_array_foreach(expressions, i, item) {
                if (!add_expression(selector, item, error))
                        return NULL;
        }
        return g_steal_pointer(&selector);
}

/* ---- Use ---- */

static bool holds(const Requirement *requirement, const char *value)
{
        bool found = false;

        for (guint i = 0; value && !found && i < requirement->values->len; i++)
                found = strcmp(value, requirement->values->pdata[i]) == 0;
        switch (requirement->op) {
        case OP_IN: return found;
        case OP_NOT_IN: return !found;
        case OP_EXISTS: return value != NULL;
        default: return value == NULL;
        }
}

bool kube_selector_matches(const KubeSelector *selector, const json_t *object)
{
        for (guint i = 0; i < selector->requirements->len; i++) {
                const Requirement *requirement = selector->requirements->pdata[i];

                if (!holds(requirement, kube_label(object, requirement->name)))
                        return false;
        }
        return !selector->nothing;
}

static void append_values(GString *out, const GPtrArray *values)
{
        for (guint i = 0; i < values->len; i++)
                g_string_append_printf(out, "%s%s", i ? "," : "", (const char *)values->pdata[i]);
}

char *kube_selector_format(const KubeSelector *selector)
{
        GString *out = g_string_new(NULL);

        for (guint i = 0; i < selector->requirements->len; i++) {
                const Requirement *requirement = selector->requirements->pdata[i];

                g_string_append_printf(out, "%s%s%s", i ? "," : "", requirement->op == OP_ABSENT ? "!" : "",
                                       requirement->name);
                if (requirement->op == OP_IN && requirement->values->len == 1) {
                        g_string_append_printf(out, "=%s", (const char *)requirement->values->pdata[0]);
                } else if (ops[requirement->op].has_values) {
                        g_string_append_printf(out, " %s (", ops[requirement->op].format);
                        append_values(out, requirement->values);
                        g_string_append_c(out, ')');
                }
        }
        return g_string_free(out, selector->nothing);
}
