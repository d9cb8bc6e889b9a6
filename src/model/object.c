/* Objects of the catalog (see object.h), based on the tables of their kinds: a table of types says how a
 * field is copied, freed, shown and parsed, for the store's text and for /v1.
 *
 * Invariants: an absent field has its default, and the store's text has no defaults. */
#include "model/object.h"

#include <string.h>

#include "base/err.h"
#include "model/object-row.h"
#include "model/resources.h"
#include "model/spec.h"

enum {
        LIST_MAX = 1000, /* items of a list; labels and pairs have SPEC_LABELS_MAX */
        KEY_MAX = 317    /* bytes, as of a label */
};

static const ObjectRow *const rows[KINDS] = {
        [KIND_USER] = &user_row,       [KIND_CLUSTER] = &cluster_row,       [KIND_QUEUE] = &queue_row,
        [KIND_FLAVOUR] = &flavour_row, [KIND_GRANT] = &grant_row,           [KIND_POOL] = &pool_row,
        [KIND_SECRET] = &secret_row,   [KIND_FILESYSTEM] = &filesystem_row,
};

const ObjectRow *object_row(ObjectKind kind)
{
        return rows[kind];
}

const char *kind_name(ObjectKind kind)
{
        return rows[kind]->name;
}

int word_find(const char *const *words, const char *word)
{
        for (int i = 0; words[i]; i++)
                if (strcmp(words[i], word) == 0)
                        return i;
        return -1;
}

/* ---- types of fields ----
 * `at` is the address of the field in the object; `what` names it in messages ("queue 'q': weight"). The
 * value of `merge` is not null. */

typedef struct {
        void (*reset)(const ObjectField *field, void *at); /* frees, and sets the default */
        void (*copy)(void *at); /* after a bitwise copy: duplicates what the field points to; or NULL */
        bool (*is_default)(const ObjectField *field, const void *at);
        json_t *(*format)(const ObjectField *field, const void *at);
        bool (*merge)(const ObjectField *field, void *at, const json_t *value, const char *what,
                      GError **error);
} FieldOps;

static bool refuse_type(const char *what, const char *rule, GError **error)
{
        return err_set(error, ERR_INVALID, "%s must be %s", what, rule);
}

/* text */

static void text_reset(const ObjectField *field, void *at)
{
        g_free(*(char **)at);
        *(char **)at = g_strdup(field->text);
}

static void text_copy(void *at)
{
        *(char **)at = g_strdup(*(char **)at);
}

static bool text_is_default(const ObjectField *field, const void *at)
{
        return g_strcmp0(*(char *const *)at, field->text) == 0;
}

static json_t *text_format(const ObjectField *field, const void *at)
{
        const char *text = *(char *const *)at;

        if (!text)
                return field->flags & FIELD_BLANK ? json_string("") : json_null();
        return json_string(text);
}

static bool text_check(const ObjectField *field, const json_t *value, const char *what, GError **error)
{
        if (!json_is_string(value))
                return refuse_type(what, "a string", error);
        if (json_string_length(value) > (size_t)field->max)
                return err_set(error, ERR_INVALID, "%s is longer than %" G_GINT64_FORMAT " bytes", what,
                               field->max);
        return !field->check || !*json_string_value(value) ||
               field->check(what, json_string_value(value), error);
}

static bool text_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                       GError **error)
{
        g_autofree char *was = NULL;

        if (!text_check(field, value, what, error))
                return false;
        was = *(char **)at;
        *(char **)at = !json_string_length(value) ? NULL
                       : field->keep              ? field->keep(json_string_value(value), was)
                                                  : g_strdup(json_string_value(value));
        return true;
}

/* yes or no */

static void bool_reset(const ObjectField *field, void *at)
{
        *(bool *)at = false;
}

static bool bool_is_default(const ObjectField *field, const void *at)
{
        return !*(const bool *)at;
}

static json_t *bool_format(const ObjectField *field, const void *at)
{
        return json_boolean(*(const bool *)at != (field->type == FIELD_NOT));
}

static bool bool_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                       GError **error)
{
        if (!json_is_boolean(value))
                return refuse_type(what, "true or false", error);
        *(bool *)at = json_is_true(value) != (field->type == FIELD_NOT);
        return true;
}

/* words */

static bool find_word(const ObjectField *field, const json_t *value, const char *what, int *ret,
                      GError **error)
{
        g_autofree char *known = json_words(field->words);
        int i = json_is_string(value) ? word_find(field->words, json_string_value(value)) : -1;
        g_autofree char *shown = NULL;

        if (i >= 0) {
                *ret = i;
                return true;
        }
        if (!json_is_string(value))
                return err_set(error, ERR_INVALID, "%s must be one of %s", what, known);
        shown = err_shown(json_string_value(value));
        return err_set(error, ERR_INVALID, "%s: '%.40s' is not one of %s", what, shown, known);
}

static json_t *either_format(const ObjectField *field, const void *at)
{
        return json_string(field->words[*(const bool *)at]);
}

static bool either_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                         GError **error)
{
        int i = 0;

        if (!find_word(field, value, what, &i, error))
                return false;
        *(bool *)at = i == 1;
        return true;
}

static json_t *word_format(const ObjectField *field, const void *at)
{
        return json_string(field->words[*(const int *)at]);
}

static bool word_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                       GError **error)
{
        return find_word(field, value, what, at, error);
}

/* numbers */

static void int_reset(const ObjectField *field, void *at)
{
        *(int *)at = (int)field->first;
}

static bool int_is_default(const ObjectField *field, const void *at)
{
        return *(const int *)at == field->first;
}

static json_t *int_format(const ObjectField *field, const void *at)
{
        return json_integer(*(const int *)at);
}

static bool int_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                      GError **error)
{
        g_autofree char *shown = NULL;

        if (json_is_integer(value) && json_integer_value(value) >= field->min &&
            json_integer_value(value) <= field->max) {
                *(int *)at = (int)json_integer_value(value);
                return true;
        }
        shown = json_format(value);
        return err_set(error, ERR_INVALID,
                       "%s: '%.40s' is not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                       what, shown, field->min, field->max);
}

static bool priority_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                           GError **error)
{
        int priority;

        if (!priority_parse(what, value, &priority, error))
                return false;
        if (priority < 0)
                return err_set(error, ERR_INVALID,
                               "%s: %d is below normal\nAll users may request normal (0) and less.", what,
                               priority);
        *(int *)at = priority;
        return true;
}

/* resources */

static void limits_reset(const ObjectField *field, void *at)
{
        *(ResourceLimits *)at = (ResourceLimits){ 0 };
}

static bool limits_is_default(const ObjectField *field, const void *at)
{
        return ((const ResourceLimits *)at)->said == 0;
}

static json_t *limits_show(const ObjectField *field, const void *at)
{
        return limits_format(at);
}

static bool limits_take(const ObjectField *field, void *at, const json_t *value, const char *what,
                        GError **error)
{
        return limits_merge(what, value, true, at, error);
}

/* lists of texts */

static void list_reset(const ObjectField *field, void *at)
{
        g_clear_pointer((char ***)at, g_strfreev);
}

static void list_copy(void *at)
{
        *(char ***)at = g_strdupv(*(char ***)at);
}

static bool list_is_default(const ObjectField *field, const void *at)
{
        return !*(char **const *)at;
}

static json_t *list_format(const ObjectField *field, const void *at)
{
        json_t *array = json_array();

        for (char *const *item = *(char **const *)at; item && *item; item++)
                json_array_append_new(array, json_string(*item));
        return array;
}

static void list_replace(void *at, GPtrArray *list /* takes ownership */)
{
        g_strfreev(*(char ***)at);
        if (list->len)
                g_ptr_array_add(list, NULL);
        *(char ***)at = (char **)g_ptr_array_free(list, list->len == 0);
}

static bool list_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                       GError **error)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        const json_t *item;
        size_t i;

        if (!json_is_array(value))
                return refuse_type(what, "a list of strings", error);
        if (json_array_size(value) > LIST_MAX)
                return err_set(error, ERR_INVALID, "%s has more than %d items", what, LIST_MAX);
        json_array_foreach(value, i, item) {
                g_autofree char *where = g_strdup_printf("%s[%zu]", what, i);

                if (!text_check(field, item, where, error))
                        return false;
                if (json_string_length(item) == 0)
                        return err_set(error, ERR_INVALID, "%s is empty", where);
                g_ptr_array_add(list, g_strdup(json_string_value(item)));
        }
        list_replace(at, g_steal_pointer(&list));
        return true;
}

/* pairs */

static json_t *pairs_format(const ObjectField *field, const void *at)
{
        return labels_format(*(char **const *)at);
}

static GPtrArray *pairs_copy(char *const *pairs)
{
        GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

        for (; pairs && *pairs; pairs++)
                g_ptr_array_add(list, g_strdup(*pairs));
        return list;
}

/* An existing key keeps its position; `value` NULL removes it. */
static void pairs_set(GPtrArray *list, const char *key, const char *value)
{
        gsize len = strlen(key);
        guint i = 0;

        while (i < list->len &&
               (strncmp(list->pdata[i], key, len) != 0 || ((char *)list->pdata[i])[len] != '='))
                i++;
        if (!value && i < list->len)
                g_ptr_array_remove_index(list, i);
        if (!value)
                return;
        if (i == list->len)
                g_ptr_array_add(list, NULL);
        g_free(list->pdata[i]);
        list->pdata[i] = g_strdup_printf("%s=%s", key, value);
}

/* Keys of pairs: names of resources, which older interfaces do not check. */
static bool pair_key_check(const char *where, const char *key, GError **error)
{
        size_t len = strlen(key);
        g_autofree char *shown = NULL;

        for (const char *at = key; *at; at++)
                if (g_ascii_iscntrl(*at) || *at == '=')
                        len = 0;
        if (len >= 1 && len <= KEY_MAX)
                return true;
        shown = err_shown(key);
        return err_set(error, ERR_INVALID,
                       "%s: '%.80s' is not a name of 1 to %d bytes without '=' and control "
                       "characters",
                       where, shown, KEY_MAX);
}

static bool is_hidden(const ObjectField *field, const char *key, const json_t *value)
{
        return field->is_secret && field->is_secret(key) &&
               g_strcmp0(json_string_value(value), OBJECT_HIDDEN) == 0;
}

static bool pairs_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                        GError **error)
{
        g_autoptr(GPtrArray) list = pairs_copy(*(char **const *)at);
        const char *key;
        json_t *item;

        if (!json_is_object(value))
                return refuse_type(what, "an object of strings", error);
        json_object_foreach((json_t *)value, key, item) {
                g_autofree char *where = g_strdup_printf("%s.%.80s", what, key);

                if (is_hidden(field, key, item) && labels_get(*(char **const *)at, key))
                        continue;
                if (!(field->type == FIELD_PAIRS ? pair_key_check : label_key_check)(what, key, error) ||
                    (!json_is_null(item) && !text_check(field, item, where, error)))
                        return false;
                pairs_set(list, key, json_string_value(item));
                if (list->len > SPEC_LABELS_MAX)
                        return err_set(error, ERR_INVALID, "%s has more than %d members", what,
                                       SPEC_LABELS_MAX);
        }
        list_replace(at, g_steal_pointer(&list));
        return true;
}

static bool labels_merge(const ObjectField *field, void *at, const json_t *value, const char *what,
                         GError **error)
{
        char **pairs = *(char ***)at, **sorted;
        g_autoptr(json_t) object = NULL;

        if (!pairs_merge(field, &pairs, value, what, error)) /* frees the old ones only on success */
                return false;
        *(char ***)at = pairs;
        object = labels_format(pairs);
        if (!labels_parse(what, object, &sorted, error))
                return false;
        g_strfreev(pairs);
        *(char ***)at = sorted;
        return true;
}

static const FieldOps types[] = {
        [FIELD_TEXT] = { text_reset, text_copy, text_is_default, text_format, text_merge },
        [FIELD_BOOL] = { bool_reset, NULL, bool_is_default, bool_format, bool_merge },
        [FIELD_NOT] = { bool_reset, NULL, bool_is_default, bool_format, bool_merge },
        [FIELD_EITHER] = { bool_reset, NULL, bool_is_default, either_format, either_merge },
        [FIELD_INT] = { int_reset, NULL, int_is_default, int_format, int_merge },
        [FIELD_PRIORITY] = { int_reset, NULL, int_is_default, int_format, priority_merge },
        [FIELD_WORD] = { int_reset, NULL, int_is_default, word_format, word_merge },
        [FIELD_LIMITS] = { limits_reset, NULL, limits_is_default, limits_show, limits_take },
        [FIELD_LABELS] = { list_reset, list_copy, list_is_default, pairs_format, labels_merge },
        [FIELD_PAIRS] = { list_reset, list_copy, list_is_default, pairs_format, pairs_merge },
        [FIELD_LIST] = { list_reset, list_copy, list_is_default, list_format, list_merge },
};

static void *place(const Object *object, const ObjectField *field)
{
        return (char *)object + field->offset;
}

/* ---- memory ---- */

/* The count is before the object, not in it: other threads change it while the object is copied. */
typedef struct {
        gatomicrefcount refs;
        Object object;
} Counted;

static Object *allocate(const ObjectRow *row)
{
        Counted *counted = g_malloc0(offsetof(Counted, object) + row->size);

        g_atomic_ref_count_init(&counted->refs);
        return &counted->object;
}

static Counted *counted_of(const Object *object)
{
        return (Counted *)((char *)object - offsetof(Counted, object));
}

Object *object_new(ObjectKind kind, const char *name)
{
        const ObjectRow *row = rows[kind];
        g_autofree char *uuid = g_uuid_string_random();
        Object *object = allocate(row);

        object->kind = (guint8)kind;
        object->name = g_strdup(name);
        object->id = g_strdup_printf("%s%.8s", row->prefix, uuid);
        for (const ObjectField *field = row->fields; field->name; field++)
                types[field->type].reset(field, place(object, field));
        return object;
}

Object *object_ref(const Object *object)
{
        g_atomic_ref_count_inc(&counted_of(object)->refs);
        return (Object *)object;
}

static void free_text(const ObjectField *field, void *at)
{
        static const ObjectField none = { NULL };

        types[field->type].reset(field->type == FIELD_TEXT ? &none : field, at);
}

void object_unref(Object *object)
{
        if (!object || !g_atomic_ref_count_dec(&counted_of(object)->refs))
                return;
        for (const ObjectField *field = rows[object->kind]->fields; field->name; field++)
                free_text(field, place(object, field));
        g_free(object->id);
        g_free(object->name);
        g_free(counted_of(object));
}

Object *object_copy(const Object *object)
{
        const ObjectRow *row = rows[object->kind];
        Object *copy = allocate(row);

        memcpy(copy, object, row->size);
        copy->id = g_strdup(object->id);
        copy->name = g_strdup(object->name);
        for (const ObjectField *field = row->fields; field->name; field++)
                if (types[field->type].copy)
                        types[field->type].copy(place(copy, field));
        return copy;
}

/* ---- the store's text ---- */

static const struct {
        const char *name;
        size_t offset;
} numbers[] = {
        { "revision", offsetof(Object, version) }, /* "version" is a field of clusters */
        { "created", offsetof(Object, created) },
        { "updated", offsetof(Object, updated) },
};

char *object_pack(const Object *object)
{
        g_autoptr(json_t) packed = json_object();

        json_object_set_new(packed, "id", json_string(object->id));
        for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
                gint64 value = *(const gint64 *)((const char *)object + numbers[i].offset);

                if (value)
                        json_object_set_new(packed, numbers[i].name, json_integer(value));
        }
        for (const ObjectField *field = rows[object->kind]->fields; field->name; field++) {
                const FieldOps *type = &types[field->type];
                const void *at = place(object, field);

                if (!type->is_default(field, at))
                        json_object_set_new(packed, field->name, type->format(field, at));
        }
        return json_format(packed);
}

static bool unpack_field(Object *object, const ObjectField *field, const json_t *packed, GError **error)
{
        const json_t *value = json_object_get(packed, field->name);
        const FieldOps *type = &types[field->type];

        if (!value)
                return true;
        if (!json_is_null(value))
                return type->merge(field, place(object, field), value, field->name, error);
        free_text(field, place(object, field)); /* a text without a default */
        return true;
}

static bool unpack(Object *object, const json_t *packed, GError **error)
{
        const char *id = NULL;

        if (!json_is_object(packed))
                return err_set(error, ERR_INVALID, "the text is not an object");
        if (!json_get_string(packed, "", "id", 64, &id, error))
                return false;
        if (!id)
                return err_set(error, ERR_INVALID, "id is missing");
        g_free(object->id);
        object->id = g_strdup(id);
        for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
                if (!json_get_int(packed, "", numbers[i].name, 0, G_MAXINT64,
                                  (gint64 *)((char *)object + numbers[i].offset), error))
                        return false;
        for (const ObjectField *field = rows[object->kind]->fields; field->name; field++)
                if (!unpack_field(object, field, packed, error))
                        return false;
        return true;
}

Object *object_unpack(ObjectKind kind, gint64 seq, const char *name, const char *text, GError **error)
{
        g_autoptr(Object) object = object_new(kind, name);
        g_autoptr(json_t) packed = json_parse(text, strlen(text), error);

        object->seq = seq;
        if (packed && unpack(object, packed, error))
                return g_steal_pointer(&object);
        err_prefix(error, "%s '%s' of the store: ", rows[kind]->name, name);
        return NULL;
}

/* ---- /v1 ---- */

static void hide_secrets(const ObjectField *field, json_t *pairs)
{
        const char *key;
        json_t *value;

        json_object_foreach(pairs, key, value)
                if (field->is_secret(key))
                        json_string_set(value, OBJECT_HIDDEN);
}

static json_t *show_field(const ObjectField *field, const void *at)
{
        const char *text = field->show ? *(char *const *)at : NULL;
        g_autofree char *shown = text ? field->show(text) : NULL;

        json_t *ret = shown ? json_string(shown) : types[field->type].format(field, at);

        if (field->is_secret)
                hide_secrets(field, ret);
        return ret;
}

json_t *object_format(const Object *object)
{
        json_t *shown = json_object();

        json_object_set_new(shown, "name", json_string(object->name));
        for (const ObjectField *field = rows[object->kind]->fields; field->name; field++) {
                const void *at = place(object, field);
                g_autofree char *has = g_strconcat("has_", field->name, NULL);

                if (field->flags & FIELD_SECRET)
                        json_object_set_new(shown, has, json_boolean(*(char *const *)at != NULL));
                else
                        json_object_set_new(shown, field->name, show_field(field, at));
        }
        json_object_set_new(shown, "id", json_string(object->id));
        if (!json_object_get(shown, "version")) /* a cluster's "version" is that of its software */
                json_object_set_new(shown, "version", json_integer(object->version));
        json_object_set_new(shown, "created", json_time(object->created));
        json_object_set_new(shown, "updated", json_time(object->updated));
        return shown;
}

static const ObjectField *find_field(const ObjectRow *row, const char *name)
{
        for (const ObjectField *field = row->fields; field->name; field++)
                if (strcmp(field->name, name) == 0)
                        return field;
        return NULL;
}

/* The names of the fields that a user may set, for the error about an unknown field. */
static char *settable(const ObjectRow *row)
{
        g_autoptr(GString) words = g_string_new("name");

        for (const ObjectField *field = row->fields; field->name; field++)
                if (!(field->flags & FIELD_FIXED))
                        g_string_append_printf(words, ", %s", field->name);
        return g_string_free(g_steal_pointer(&words), FALSE);
}

static bool refuse_member(const ObjectRow *row, const char *name, GError **error)
{
        g_autofree char *known = settable(row), *shown = err_shown(name);

        return err_set(error, ERR_INVALID, "'%.64s' is not a field that can be set\nThe fields are %s.",
                       shown, known);
}

static bool patch_name(const Object *object, const json_t *value, GError **error)
{
        if (json_is_string(value) && strcmp(json_string_value(value), object->name) == 0)
                return true;
        return err_set(error, ERR_INVALID, "name cannot be changed\nMake a new %s, and drop this one.",
                       rows[object->kind]->name);
}

/* True if the patch has the current value: a read-only field may be repeated unchanged. */
static bool says_the_same(const Object *object, const ObjectField *field, const json_t *value)
{
        g_autoptr(json_t) now = types[field->type].format(field, place(object, field));

        return json_equal(now, value);
}

/* Checks names of resources in a request; stored ones were checked before. */
static bool check_resources(const json_t *amounts, const char *what, GError **error)
{
        const char *name;
        json_t *amount;

        json_object_foreach((json_t *)amounts, name, amount) {
                if (strcmp(name, "scalarResources") == 0 ? !check_resources(amount, what, error)
                                                         : !resource_name_check(what, name, error))
                        return false;
        }
        return true;
}

static bool patch_member(Object *object, const char *name, const json_t *value, GError **error)
{
        const ObjectField *field = find_field(rows[object->kind], name);

        if (strcmp(name, "name") == 0)
                return patch_name(object, value, error);
        if (!field || field->flags & FIELD_FIXED)
                return refuse_member(rows[object->kind], name, error);
        if (field->flags & FIELD_ONCE && object->seq != 0) {
                if (says_the_same(object, field, value))
                        return true;
                return err_set(error, ERR_INVALID, "%s cannot be changed\nMake a new %s.", name,
                               rows[object->kind]->name);
        }
        if (json_is_null(value)) {
                types[field->type].reset(field, place(object, field));
                return true;
        }
        if (field->type == FIELD_LIMITS && !check_resources(value, name, error))
                return false;
        return types[field->type].merge(field, place(object, field), value, name, error);
}

bool object_patch(Object *object, const json_t *patch, GError **error)
{
        const char *name;
        json_t *value;

        if (!json_is_object(patch))
                return err_set(error, ERR_INVALID, "%s '%.80s': a JSON object is needed",
                               rows[object->kind]->name, object->name);
        json_object_foreach((json_t *)patch, name, value) {
                if (!patch_member(object, name, value, error))
                        return err_prefix(error, "%s '%.80s': ", rows[object->kind]->name, object->name);
        }
        return true;
}
