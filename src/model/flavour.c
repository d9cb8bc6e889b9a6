/* Flavours (see flavour.h): their fields and the amounts that they request. */
#include "model/flavour.h"

#include <string.h>

#include "base/err.h"
#include "model/object-row.h"

enum {
        NAME_MAX_BYTES = 60, /* the width of the older interface's column */
        TEXT_MAX = 255,
        QUANTITY_MAX = 64,
};

static bool flavour_name_check(const char *what, const char *name, GError **error)
{
        size_t len = strlen(name);
        g_autofree char *shown = NULL;
        bool good = len >= 1 && len <= NAME_MAX_BYTES && g_utf8_validate(name, -1, NULL);

        for (const char *at = name; good && *at; at++)
                good = !g_ascii_iscntrl(*at) && *at != '/';
        if (good)
                return true;
        shown = err_shown(name);
        return err_set(error, ERR_INVALID,
                       "%s: '%.80s' is not a flavour's name of 1 to %d bytes without '/' and control "
                       "characters",
                       what, shown, NAME_MAX_BYTES);
}

static bool take_scalar(const Flavour *flavour, const char *pair, Resources *ret, GError **error)
{
        const char *value = strchr(pair, '=') + 1;
        g_autofree char *name = g_strndup(pair, (gsize)(value - 1 - pair));
        g_autofree char *what = g_strdup_printf("flavour '%s': %s", flavour->object.name, name);
        int kind = resource_find(name);

        if (kind < 0)
                return err_set(error, ERR_INVALID,
                               "flavour '%s': '%.80s' is not a kind of resource here\nKinds are cpu, memory, "
                               "nvidia.com/gpu, storage, and what an administrator declared for machines and "
                               "queues.",
                               flavour->object.name, name);
        return quantity_parse(what, kind, value, &ret->amount[kind], error);
}

bool flavour_resources(const Flavour *flavour, Resources *ret, GError **error)
{
        g_autofree char *cpu = g_strdup_printf("flavour '%s': cpu", flavour->object.name);
        g_autofree char *memory = g_strdup_printf("flavour '%s': memory", flavour->object.name);
        Resources asked = { 0 };

        if (!cpu_parse(cpu, flavour->cpu, &asked.cpu_milli, error) ||
            !memory_parse(memory, flavour->memory, &asked.memory, error))
                return false;
        for (char **pair = flavour->scalars; pair && *pair; pair++)
                if (!take_scalar(flavour, *pair, &asked, error))
                        return false;
        *ret = asked;
        return true;
}

#define AT(field) offsetof(Flavour, field)

static const ObjectField fields[] = {
        { "cpu", FIELD_TEXT, AT(cpu), .max = QUANTITY_MAX },
        { "memory", FIELD_TEXT, AT(memory), .max = QUANTITY_MAX },
        { "scalars", FIELD_PAIRS, AT(scalars), .max = QUANTITY_MAX },
        { "cluster", FIELD_TEXT, AT(cluster), .max = TEXT_MAX },
        { "creator", FIELD_TEXT, AT(creator), FIELD_FIXED, .max = TEXT_MAX },
        { NULL },
};

const ObjectRow flavour_row = { "flavour", "flavour-", sizeof(Flavour), fields, flavour_name_check };
