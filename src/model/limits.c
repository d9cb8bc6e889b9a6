/* Limits: amounts of which some are said (see resources.h). They are read from JSON in the names of all our
 * interfaces, and from the command line's list. */
#include <string.h>

#include "base/err.h"
#include "model/resources.h"

static int find_kind(const char *what, const char *name, bool intern, GError **error)
{
        int kind = intern ? resource_intern(what, name, error) : resource_find(name);
        g_autofree char *shown = NULL;

        if (kind >= 0 || intern)
                return kind;
        shown = g_strescape(name, NULL);
        err_set(error, ERR_INVALID,
                "%s: '%.80s' is not a kind of resource here\nKinds are cpu, memory, nvidia.com/gpu, storage, "
                "and what "
                "an administrator declared for machines and queues.",
                what, shown);
        return -1;
}

static bool set_amount(const char *what, const char *name, const char *text, bool intern,
                       ResourceLimits *limits, GError **error)
{
        int kind = find_kind(what, name, intern, error);

        if (kind < 0)
                return false;
        if (limits->said & (1u << kind))
                return err_set(error, ERR_INVALID, "%s: %s is said twice", what, resource_name(kind));
        if (!quantity_parse(what, kind, text, &limits->amount.amount[kind], error))
                return false;
        limits->said |= 1u << kind;
        return true;
}

static bool take_member(const char *where, const char *name, const json_t *value, bool intern,
                        ResourceLimits *limits, GError **error)
{
        g_autofree char *what = g_strdup_printf("%s.%.80s", where, name);
        g_autofree char *number = json_is_number(value) ? json_format(value) : NULL;

        if (json_is_null(value))
                return true;
        if (!number && !json_is_string(value))
                return err_set(error, ERR_INVALID, "%s must be a quantity: text such as \"4Gi\", or a number",
                               what);
        return set_amount(what, name, number ? number : json_string_value(value), intern, limits, error);
}

static bool take_scalars(const char *where, const json_t *object, bool intern, ResourceLimits *limits,
                         GError **error)
{
        const char *name;
        json_t *value;

        if (json_is_null(object))
                return true;
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "%s.scalarResources must be an object", where);
        json_object_foreach((json_t *)object, name, value)
        {
                if (!take_member(where, name, value, intern, limits, error))
                        return false;
        }
        return true;
}

bool limits_parse(const char *where, const json_t *object, bool intern, ResourceLimits *ret, GError **error)
{
        ResourceLimits limits = { 0 };
        const char *name;
        json_t *value;

        if (object && !json_is_null(object) && !json_is_object(object))
                return err_set(error, ERR_INVALID,
                               "%s must be an object such as {\"cpu\": 8, \"memory\": \"32Gi\"}", where);
        json_object_foreach((json_t *)object, name, value)
        {
                bool nested = strcmp(name, "scalarResources") == 0;

                if (!(nested ? take_scalars(where, value, intern, &limits, error)
                             : take_member(where, name, value, intern, &limits, error)))
                        return false;
        }
        *ret = limits;
        return true;
}

static bool take_item(const char *what, const char *item, bool intern, ResourceLimits *limits, GError **error)
{
        const char *equals = strchr(item, '=');
        g_autofree char *name = equals ? g_strndup(item, (gsize)(equals - item)) : NULL;

        if (!equals || equals == item || !equals[1])
                return err_set(error, ERR_INVALID,
                               "%s: '%.80s' is not NAME=AMOUNT such as cpu=64 or memory=256Gi", what, item);
        return set_amount(what, name, equals + 1, intern, limits, error);
}

bool limits_parse_list(const char *what, const char *text, bool intern, ResourceLimits *ret, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);
        ResourceLimits limits = { 0 };

        for (char **item = items; *item; item++)
                if (!take_item(what, *item, intern, &limits, error))
                        return false;
        *ret = limits;
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

Resources limits_flat(const ResourceLimits *limits, gint64 unsaid)
{
        Resources flat = limits->amount;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (!(limits->said & (1u << kind)))
                        flat.amount[kind] = unsaid;
        return flat;
}
