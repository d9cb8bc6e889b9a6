/* "K=V" lists (see spec.h): labels, annotations, locations. */
#include <string.h>

#include "base/err.h"
#include "model/object-row.h"
#include "model/spec.h"

enum {
        KEY_MAX = 317,          /* as in Kubernetes: a prefix of 253 bytes, '/', a name of 63 */
        VALUE_MAX = 256 * 1024, /* as in Kubernetes for all annotations together */
};

static gsize key_length(const char *pair)
{
        return (gsize)(strchr(pair, '=') - pair);
}

static int compare_keys(const char *a, gsize a_len, const char *b, gsize b_len)
{
        int order = memcmp(a, b, MIN(a_len, b_len));

        return order ? order : (a_len > b_len) - (a_len < b_len);
}

static gint compare_pairs(gconstpointer a, gconstpointer b)
{
        const char *first = *(const char *const *)a, *second = *(const char *const *)b;

        return compare_keys(first, key_length(first), second, key_length(second));
}

static bool key_is_valid(const char *key)
{
        size_t len = strlen(key);

        for (const char *at = key; *at; at++)
                if (!g_ascii_isalnum(*at) && !strchr("-_./", *at))
                        return false;
        return len >= 1 && len <= KEY_MAX;
}

bool label_key_check(const char *where, const char *key, GError **error)
{
        g_autofree char *shown = NULL;

        if (key_is_valid(key))
                return true;
        shown = err_shown(key);
        return err_set(error, ERR_INVALID,
                       "%s: '%.80s' is not a key of 1 to %d letters, digits, '-', '_', '.' and '/'", where,
                       shown, KEY_MAX);
}

static bool check_pair(const char *where, const char *key, const json_t *value, GError **error)
{
        if (!label_key_check(where, key, error))
                return false;
        if (!json_is_string(value))
                return err_set(error, ERR_INVALID, "%s: the value of '%.80s' must be a string", where, key);
        if (json_string_length(value) > VALUE_MAX)
                return err_set(error, ERR_INVALID, "%s: the value of '%.80s' is longer than %d bytes", where,
                               key, VALUE_MAX);
        return true;
}

bool labels_parse(const char *where, const json_t *object, char ***ret, GError **error)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        const char *key;
        json_t *value;

        if (object && !json_is_null(object) && !json_is_object(object))
                return err_set(error, ERR_INVALID, "%s must be an object of strings", where);
        if (json_object_size(object) > SPEC_LABELS_MAX)
                return err_set(error, ERR_INVALID, "%s has %zu members, more than %d", where,
                               json_object_size(object), SPEC_LABELS_MAX);
        json_object_foreach((json_t *)object, key, value) {
                if (!check_pair(where, key, value, error))
                        return false;
                g_ptr_array_add(list, g_strdup_printf("%s=%s", key, json_string_value(value)));
        }
        g_ptr_array_sort(list, compare_pairs);
        if (list->len)
                g_ptr_array_add(list, NULL);
        *ret = list->len ? (char **)g_ptr_array_steal(list, NULL) : NULL;
        return true;
}

json_t *labels_format(char *const *labels)
{
        json_t *object = json_object();

        for (; labels && *labels; labels++) {
                g_autofree char *key = g_strndup(*labels, key_length(*labels));

                json_object_set_new(object, key, json_string(*labels + strlen(key) + 1));
        }
        return object;
}

const char *labels_get(char *const *labels, const char *key)
{
        gsize len = strlen(key);

        for (; labels && *labels; labels++)
                if (strncmp(*labels, key, len) == 0 && (*labels)[len] == '=')
                        return *labels + len + 1;
        return NULL;
}

char **labels_with(char *const *labels, const char *key, const char *value)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        gsize len = strlen(key);

        for (; labels && *labels; labels++)
                if (strncmp(*labels, key, len) != 0 || (*labels)[len] != '=')
                        g_ptr_array_add(list, g_strdup(*labels));
        if (value)
                g_ptr_array_add(list, g_strdup_printf("%s=%s", key, value));
        g_ptr_array_sort(list, compare_pairs);
        if (!list->len)
                return NULL;
        g_ptr_array_add(list, NULL);
        return (char **)g_ptr_array_steal(list, NULL);
}
