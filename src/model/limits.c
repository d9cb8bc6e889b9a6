/* Limits: amounts of some kinds of resources (see resources.h). They are parsed from JSON with the names of
 * all our interfaces, and from the command line's list. */
#include <string.h>

#include "base/err.h"
#include "model/resources.h"

static int find_kind(const char *what, const char *name, bool intern, GError **error)
{
        int kind = intern ? resource_intern(what, name, error) : resource_find(name);
        g_autofree char *shown = NULL;

        if (kind >= 0 || intern)
                return kind;
        shown = err_shown(name);
        err_set(error, ERR_INVALID,
                "%s: '%.80s' is not a kind of resource here\nKinds are cpu, memory, nvidia.com/gpu, storage, "
                "and what "
                "an administrator declared for machines and queues.",
                what, shown);
        return -1;
}

/* The state of the parser. `seen`: kinds that occurred already; a duplicate is an error. */
typedef struct {
        const char *where;
        bool intern;
        ResourceLimits limits;
        guint32 seen;
} Reading;

/* `text` NULL: removes the limit of this kind. */
static bool set_amount(Reading *reading, const char *what, const char *name, const char *text, GError **error)
{
        int kind = find_kind(what, name, reading->intern && text, error);
        gint64 amount = 0;

        if (kind < 0)
                return false;
        if (reading->seen & (1u << kind))
                return err_set(error, ERR_INVALID, "%s: %s is given twice", what, resource_name(kind));
        if (text && !quantity_parse(what, kind, text, &amount, error))
                return false;
        reading->seen |= 1u << kind;
        reading->limits.amount.amount[kind] = amount;
        if (text)
                reading->limits.said |= 1u << kind;
        else
                reading->limits.said &= ~(1u << kind);
        return true;
}

static bool take_member(Reading *reading, const char *name, const json_t *value, GError **error)
{
        g_autofree char *what = g_strdup_printf("%s.%.80s", reading->where, name);
        g_autofree char *number = json_is_number(value) ? json_format(value) : NULL;

        if (!number && !json_is_string(value) && !json_is_null(value))
                return err_set(error, ERR_INVALID, "%s must be a quantity: text such as \"4Gi\", or a number",
                               what);
        return set_amount(reading, what, name, number ? number : json_string_value(value), error);
}

static bool take_scalars(Reading *reading, const json_t *object, GError **error)
{
        const char *name;
        json_t *value;

        if (!json_is_object(object) && !json_is_null(object))
                return err_set(error, ERR_INVALID, "%s.scalarResources must be an object", reading->where);
        json_object_foreach((json_t *)object, name, value) {
                if (!take_member(reading, name, value, error))
                        return false;
        }
        return true;
}

bool limits_merge(const char *where, const json_t *object, bool intern, ResourceLimits *limits,
                  GError **error)
{
        Reading reading = { .where = where, .intern = intern, .limits = *limits };
        const char *name;
        json_t *value;

        if (object && !json_is_null(object) && !json_is_object(object))
                return err_set(error, ERR_INVALID,
                               "%s must be an object such as {\"cpu\": 8, \"memory\": \"32Gi\"}", where);
        json_object_foreach((json_t *)object, name, value) {
                bool nested = strcmp(name, "scalarResources") == 0;

                if (!(nested ? take_scalars(&reading, value, error)
                             : take_member(&reading, name, value, error)))
                        return false;
        }
        *limits = reading.limits;
        return true;
}

bool limits_parse(const char *where, const json_t *object, bool intern, ResourceLimits *ret, GError **error)
{
        ResourceLimits limits = { 0 };

        if (!limits_merge(where, object, intern, &limits, error))
                return false;
        *ret = limits;
        return true;
}

static bool take_item(Reading *reading, const char *item, GError **error)
{
        const char *what = reading->where;
        const char *equals = strchr(item, '=');
        g_autofree char *name = equals ? g_strndup(item, (gsize)(equals - item)) : NULL;

        if (!equals || equals == item || !equals[1])
                return err_set(error, ERR_INVALID,
                               "%s: '%.80s' is not NAME=AMOUNT such as cpu=64 or memory=256Gi", what, item);
        return set_amount(reading, what, name, equals + 1, error);
}

bool limits_parse_list(const char *what, const char *text, bool intern, ResourceLimits *ret, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);
        Reading reading = { .where = what, .intern = intern };

        for (char **item = items; *item; item++)
                if (!take_item(&reading, *item, error))
                        return false;
        *ret = reading.limits;
        return true;
}

static json_t *amount_format(int kind, gint64 amount)
{
        g_autofree char *text = kind == RESOURCE_CPU ? cpu_format(amount) : memory_format(amount);

        if (kind == RESOURCE_CPU || kind == RESOURCE_MEMORY || kind == RESOURCE_STORAGE)
                return json_string(text);
        return json_integer(amount);
}

json_t *limits_format(const ResourceLimits *limits)
{
        json_t *object = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++)
                if (limits->said & (1u << kind))
                        json_object_set_new(object, resource_name(kind),
                                            amount_format(kind, limits->amount.amount[kind]));
        return object;
}

json_t *resources_format(const Resources *r)
{
        ResourceLimits limits = { .amount = *r };

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (r->amount[kind] > 0)
                        limits.said |= 1u << kind;
        return limits_format(&limits);
}

bool limits_equal(const ResourceLimits *a, const ResourceLimits *b)
{
        return a->said == b->said && resources_equal(&a->amount, &b->amount);
}

Resources limits_flat(const ResourceLimits *limits, gint64 unsaid)
{
        Resources flat = limits->amount;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (!(limits->said & (1u << kind)))
                        flat.amount[kind] = unsaid;
        return flat;
}
