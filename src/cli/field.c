/* Fields (see field.h). Quantities are checked here, so that mistakes are found without a server; the server
 * checks names of resources. */
#include "cli/field.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "model/resources.h"

enum { SECRET_MAX = 1024 * 1024 };

static bool check_utf8(const char *what, const char *text, GError **error)
{
        g_autofree char *shown = NULL;

        if (g_utf8_validate(text, -1, NULL))
                return true;
        shown = g_utf8_make_valid(text, -1);
        return err_set(error, ERR_USAGE, "%s: '%.200s' is not UTF-8", what, shown);
}

static bool put_amount(json_t *object, const char *what, const char *item, GError **error)
{
        const char *equals = strchr(item, '=');
        g_autofree char *name = equals ? g_strndup(item, (gsize)(equals - item)) : NULL;
        int kind = name ? resource_find(name) : -1;
        g_autoptr(GError) cause = NULL;
        gint64 amount;

        if (!equals || equals == item)
                return err_set(error, ERR_USAGE, "%s: '%s' is not NAME=AMOUNT, such as cpu=4 or memory=8Gi",
                               what, item);
        if (kind >= 0) {
                g_free(name);
                name = g_strdup(resource_name(kind));
        }
        if (json_object_get(object, name))
                return err_set(error, ERR_USAGE, "%s: '%s' is given twice", what, name);
        if (!equals[1]) {
                json_object_set_new(object, name, json_null());
                return true;
        }
        if (!quantity_parse(name, kind >= 0 ? kind : RESOURCE_OTHERS, equals + 1, &amount, &cause))
                return err_set(error, ERR_USAGE, "%s: %s", what, cause->message);
        json_object_set_new(object, name, json_string(equals + 1));
        return true;
}

json_t *amounts_parse(const char *what, const char *text, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);
        g_autoptr(json_t) object = json_object();

        if (!check_utf8(what, text, error))
                return NULL;
        for (char **item = items; *item; item++)
                if (!put_amount(object, what, g_strstrip(*item), error))
                        return NULL;
        return g_steal_pointer(&object);
}

bool label_put(json_t *object, const char *what, const char *text, GError **error)
{
        const char *equals = strchr(text, '=');
        g_autofree char *key = equals ? g_strndup(text, (gsize)(equals - text)) : NULL;

        if (!check_utf8(what, text, error))
                return false;
        if (!equals || equals == text)
                return err_set(error, ERR_USAGE, "%s: '%s' is not KEY=VALUE", what, text);
        json_object_set_new(object, key, json_string(equals + 1));
        return true;
}

/* ---- values, one function per type ---- */

typedef json_t *Convert(const char *what, const FieldSlot *slot, GError **error);

static json_t *from_text(const char *what, const FieldSlot *slot, GError **error)
{
        if (!check_utf8(what, slot->text, error))
                return NULL;
        return *slot->text ? json_string(slot->text) : json_null();
}

static json_t *from_number(const char *what, const FieldSlot *slot, GError **error)
{
        gint64 number;
        g_autoptr(GError) cause = NULL;

        if (!*slot->text)
                return json_null();
        if (!g_ascii_string_to_signed(slot->text, 10, G_MININT32, G_MAXINT32, &number, &cause)) {
                err_set(error, ERR_USAGE, "%s: '%s' is not a whole number", what, slot->text);
                return NULL;
        }
        return json_integer(number);
}

static json_t *from_switch(const char *what, const FieldSlot *slot, GError **error)
{
        return json_boolean(slot->flag > 0);
}

static json_t *from_amounts(const char *what, const FieldSlot *slot, GError **error)
{
        return *slot->text ? amounts_parse(what, slot->text, error) : json_null();
}

static json_t *from_labels(const char *what, const FieldSlot *slot, GError **error)
{
        g_autoptr(json_t) object = json_object();

        if (slot->list->len == 1 && !*(const char *)slot->list->pdata[0])
                return json_null();
        for (guint i = 0; i < slot->list->len; i++)
                if (!label_put(object, what, slot->list->pdata[i], error))
                        return NULL;
        return g_steal_pointer(&object);
}

static json_t *from_words(const char *what, const FieldSlot *slot, GError **error)
{
        g_auto(GStrv) words = g_strsplit(slot->text, ",", -1);
        g_autoptr(json_t) array = json_array();

        if (!*slot->text)
                return json_null();
        if (!check_utf8(what, slot->text, error))
                return NULL;
        for (char **word = words; *word; word++)
                json_array_append_new(array, json_string(g_strstrip(*word)));
        return g_steal_pointer(&array);
}

static json_t *coded(const char *text, gsize len)
{
        g_autofree char *base64 = g_base64_encode((const guchar *)text, len);

        return json_string(base64);
}

static json_t *coded_file(const char *what, const char *path, GError **error)
{
        g_autofree char *text = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len;

        if (file_read(path, SECRET_MAX, &text, &len, &cause))
                return coded(text, len);
        err_set(error, ERR_USAGE, "%s: %s", what, cause->message);
        return NULL;
}

static json_t *from_file(const char *what, const FieldSlot *slot, GError **error)
{
        return *slot->text ? coded_file(what, slot->text, error) : json_null();
}

static json_t *from_secret(const char *what, const FieldSlot *slot, GError **error)
{
        if (slot->text[0] == '@')
                return coded_file(what, slot->text + 1, error);
        return *slot->text ? coded(slot->text, strlen(slot->text)) : json_null();
}

static Convert *const converts[FIELD_TYPES] = {
        [FIELD_TEXT] = from_text,       [FIELD_NUMBER] = from_number, [FIELD_SWITCH] = from_switch,
        [FIELD_AMOUNTS] = from_amounts, [FIELD_LABELS] = from_labels, [FIELD_WORDS] = from_words,
        [FIELD_SECRET] = from_secret,   [FIELD_FILE] = from_file,
};

/* All slots are pointers except a switch, which is also absent if it is all zeros. */
static bool is_said(FieldType type, const FieldSlot *slot)
{
        return type == FIELD_SWITCH ? slot->flag != 0 : slot->text != NULL;
}

bool fields_put(const Field *fields, const FieldTarget *target, json_t *body, bool *ret_any, GError **error)
{
        bool any = false;

        for (const Field *field = fields; field->option; field++) {
                const FieldSlot *slot = &target->slot[field - fields];
                g_autofree char *what = g_strconcat("--", field->option, NULL);
                json_t *value;

                if (!is_said(field->type, slot))
                        continue;
                value = converts[field->type](what, slot, error);
                if (!value)
                        return false;
                json_object_set_new(body, field->member, value);
                any = true;
        }
        *ret_any = any;
        return true;
}
