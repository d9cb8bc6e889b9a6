/* Flavours of requests (see job-flavour.h). */
#include "jobspec/job-flavour.h"

#include <string.h>

#include "base/err.h"
#include "model/spec.h"

#define CUSTOM_FLAVOUR "customFlavour"

static const char *text_of(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

/* ---- where it comes from ---- */

static json_t *scalars_copy(const json_t *object)
{
        json_t *scalars = json_object_get(object, "scalarResources");

        return scalars ? json_deep_copy(scalars) : json_object();
}

static json_t *inline_flavour(const json_t *said)
{
        bool whole = *text_of(said, "cpu") && *text_of(said, "mem");

        return json_pack("{s:s, s:s, s:s, s:o}", "name", text_of(said, "name"), "cpu",
                         whole ? text_of(said, "cpu") : "1", "mem", whole ? text_of(said, "mem") : "1Gi",
                         "scalarResources", scalars_copy(said));
}

static json_t *named_flavour(const Catalog *catalog, const Queue *queue, const char *name, GError **error)
{
        const Flavour *flavour = catalog_flavour(catalog, name);

        if (!flavour || (flavour->cluster && g_strcmp0(flavour->cluster, queue->cluster) != 0)) {
                err_set(error, ERR_NOT_FOUND, "there is no flavour '%.60s'%s%s\nSee `paddle flavour list`.",
                        name, flavour ? " in cluster " : "", flavour ? queue->cluster : "");
                return NULL;
        }
        return json_pack("{s:s, s:s, s:s, s:o}", "name", name, "cpu", flavour->cpu, "mem", flavour->memory,
                         "scalarResources", labels_format(flavour->scalars));
}

bool job_flavour_is_named(const char *name)
{
        return *name && strcmp(name, CUSTOM_FLAVOUR) != 0;
}

json_t *job_flavour(const Catalog *catalog, const Queue *queue, const json_t *said, GError **error)
{
        const char *name = text_of(said, "name");

        return job_flavour_is_named(name) ? named_flavour(catalog, queue, name, error) : inline_flavour(said);
}

/* ---- amounts ---- */

/* An unknown resource may only be requested with amount 0. */
static bool take_scalars(const json_t *flavour, Resources *ret, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach(json_object_get(flavour, "scalarResources"), name, value) {
                int kind = resource_find(name);
                gint64 amount = 0;
                g_autofree char *what = g_strdup_printf("flavour: scalarResources.%.80s", name);

                if (!quantity_parse(what, kind < 0 ? RESOURCE_GPU : kind, json_string_value(value), &amount,
                                    error))
                        return false;
                if (kind < 0 && amount > 0)
                        return err_set(error, ERR_INVALID, "%s: there is no such resource here", what);
                if (kind >= 0)
                        ret->amount[kind] = amount;
        }
        return true;
}

bool job_flavour_amounts(const json_t *flavour, Resources *ret, GError **error)
{
        *ret = (Resources){ 0 };
        if (!cpu_parse("flavour: cpu", text_of(flavour, "cpu"), &ret->cpu_milli, error) ||
            !memory_parse("flavour: mem", text_of(flavour, "mem"), &ret->memory, error) ||
            !take_scalars(flavour, ret, error))
                return false;
        return (ret->cpu_milli > 0 && ret->memory > 0) ||
               err_set(error, ERR_INVALID, "flavour: cpu and mem must be more than 0");
}

bool job_flavour_check_limit(const Catalog *catalog, const Queue *queue, const char *limit,
                             const Resources *each, GError **error)
{
        g_autoptr(json_t) flavour = NULL;
        Resources most;

        if (!*limit || strcmp(limit, "NONE") == 0)
                return true;
        flavour = named_flavour(catalog, queue, limit, error);
        if (!flavour || !job_flavour_amounts(flavour, &most, error))
                return false;
        for (int kind = 0; kind < resource_kinds(); kind++)
                if (most.amount[kind] > 0 && each->amount[kind] > most.amount[kind])
                        return err_set(error, ERR_INVALID,
                                       "flavour: more %s than the limit of flavour '%s' (" JOB_LIMIT_FLAVOUR
                                       ")",
                                       resource_name(kind), limit);
        return true;
}
