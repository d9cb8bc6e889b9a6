/* The resources that a job would request (see asks.h). */
#include "cli/asks.h"

#include "base/word.h"
#include "cli/listing.h"

char *amounts_text(const Resources *amounts)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                g_autofree char *amount = NULL;

                if (amounts->amount[kind] <= 0)
                        continue;
                amount = quantity_named(kind, amounts->amount[kind]);
                g_string_append_printf(text, "%s%s", text->len ? ", " : "", amount);
        }
        return text->len ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

Resources asks_each(const json_t *reply, int role)
{
        const json_t *asks = json_array_get(json_object_get(reply, "asks"), (gsize)role);
        ResourceLimits each = { 0 };

        if (!asks || !limits_parse("asks", json_object_get(asks, "each"), true, &each, NULL))
                return (Resources){ 0 };
        return limits_flat(&each, 0);
}

bool asks_total(const json_t *reply, gint64 jobs, Resources *ret)
{
        const json_t *asks = json_object_get(reply, "asks"), *role;
        Resources one = { 0 };
        gsize i;

        json_array_foreach(asks, i, role) {
                Resources each = asks_each(reply, (int)i);

                if (!resources_add(&one, &each, int_of(role, "replicas")))
                        return false;
        }
        *ret = (Resources){ 0 };
        return !resources_is_zero(&one) && resources_add(ret, &one, jobs);
}

static char *with_total(const json_t *reply, gint64 jobs)
{
        Resources total;
        g_autofree char *amounts = asks_total(reply, jobs, &total) ? amounts_text(&total) : NULL;

        return amounts ? g_strconcat(" with ", amounts, NULL) : g_strdup("");
}

char *asks_array_text(const json_t *reply)
{
        gint64 jobs = int_of(reply, "jobs"), parallel = int_of(reply, "parallel");
        g_autofree char *count = count_format(jobs, "job"), *all = with_total(reply, jobs);
        g_autofree char *some = with_total(reply, MIN(parallel, jobs));

        if (jobs <= 1)
                return NULL;
        if (parallel <= 0 || parallel >= jobs)
                return g_strdup_printf("%s%s in all", count, all);
        return g_strdup_printf("%s%s in all; at most %d at once%s%s", count, all, (int)parallel,
                               *some ? "," : "", some);
}
