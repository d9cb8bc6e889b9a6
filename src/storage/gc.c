/* Decides what to delete (see gc.h). The table of kinds is that of doc/guide/storage.md. */
#include "storage/gc.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "model/resources.h"

#define HOUR (G_GINT64_CONSTANT(3600) * 1000)
#define DAY (24 * HOUR)

static const struct {
        const char *name;
        gint64 age_ms, older_age_ms; /* defaults of a new installation and of an older one */
        int percent;                 /* of the disk; 0: unlimited */
} kinds[GC_KINDS] = {
        [GC_UPLOAD] = { "uploads", 7 * DAY, 7 * DAY, 10 },
        [GC_PIECE] = { "pieces", DAY, DAY, 10 },
        [GC_OFFER] = { "offers", DAY, DAY, 1 },
        [GC_CONTENT] = { "contents", DAY, DAY, 10 },
        [GC_PACKAGE] = { "packages", 30 * DAY, 30 * DAY, 20 },
        [GC_ENVIRONMENT] = { "environments", 30 * DAY, 30 * DAY, 20 },
        [GC_DOWNLOADS] = { "downloads", 30 * DAY, 30 * DAY, 10 },
        [GC_LOGS] = { "logs", 90 * DAY, 0, 0 },
        [GC_WORK] = { "work", DAY, DAY, 0 },
        [GC_JOB] = { "jobs", DAY, DAY, 0 },
};

const char *gc_kind_name(GcKind kind)
{
        return kinds[kind].name;
}

GcThing *gc_thing_new(GcKind kind, const char *name, const char *user)
{
        GcThing *thing = g_new0(GcThing, 1);

        *thing = (GcThing){ .kind = kind, .name = g_strdup(name), .user = g_strdup(user) };
        return thing;
}

void gc_thing_free(GcThing *thing)
{
        if (!thing)
                return;
        g_free(thing->name);
        g_free(thing->user);
        g_free(thing);
}

void gc_verdict_free(GcVerdict *verdict)
{
        if (!verdict)
                return;
        g_free(verdict->why);
        g_free(verdict);
}

/* ---- policy ---- */

GcPolicy gc_policy_default(bool fresh, gint64 disk)
{
        GcPolicy policy = { 0 };

        for (int i = 0; i < GC_KINDS; i++)
                policy.of[i] = (GcRule){ fresh ? kinds[i].age_ms : kinds[i].older_age_ms,
                                         disk / 100 * kinds[i].percent };
        return policy;
}

static int find_kind(const char *name)
{
        for (int i = 0; i < GC_KINDS; i++)
                if (strcmp(kinds[i].name, name) == 0)
                        return i;
        return -1;
}

static bool refuse_kind(const char *what, const char *text, GError **error)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (int i = 0; i < GC_KINDS; i++)
                g_string_append_printf(names, "%s%s", i ? ", " : "", kinds[i].name);
        return err_set(error, ERR_USAGE, "%s: '%s' is not KIND=AGE[,SIZE]; kinds are %s", what, text,
                       names->str);
}

bool gc_policy_set(GcPolicy *policy, const char *what, const char *text, GError **error)
{
        const char *equals = strchr(text, '=');
        g_autofree char *name = equals ? g_strndup(text, (gsize)(equals - text)) : NULL;
        g_auto(GStrv) parts = equals ? g_strsplit(equals + 1, ",", -1) : NULL;
        int kind = name ? find_kind(name) : -1;
        guint n = parts ? g_strv_length(parts) : 0;
        GcRule rule;

        if (kind < 0 || n < 1 || n > 2)
                return refuse_kind(what, text, error);
        rule = policy->of[kind];
        if (!duration_parse(what, parts[0], &rule.age_ms, error) ||
            (n == 2 && !memory_parse(what, parts[1], &rule.bytes, error)))
                return false;
        policy->of[kind] = rule;
        return true;
}

/* ---- deciding ---- */

static gint least_recent_first(gconstpointer a, gconstpointer b)
{
        const GcThing *one = *(GcThing *const *)a, *two = *(GcThing *const *)b;

        if (one->kind != two->kind)
                return one->kind < two->kind ? -1 : 1;
        if (one->used != two->used)
                return one->used < two->used ? -1 : 1;
        return strcmp(one->name, two->name);
}

/* Users think of ages in days. */
static char *say_age(gint64 ms)
{
        return ms < 2 * DAY ? duration_format(ms) : g_strdup_printf("%" G_GINT64_FORMAT " days", ms / DAY);
}

/* The reason for deletion; NULL: keep it. `sum`: the remaining bytes of the kind. */
static char *judge(const GcThing *thing, const GcRule *rule, gint64 sum, gint64 now)
{
        gint64 unused = now - thing->used;
        g_autofree char *a = NULL, *b = NULL;

        if (thing->held || unused < GC_FRESH_MS)
                return NULL;
        if (rule->age_ms > 0 && unused > rule->age_ms) {
                a = say_age(unused);
                b = say_age(rule->age_ms);
                return g_strdup_printf("unused for %s, longer than %s", a, b);
        }
        if (rule->bytes <= 0 || sum <= rule->bytes)
                return NULL;
        a = bytes_format((guint64)sum);
        b = bytes_format((guint64)rule->bytes);
        return g_strdup_printf("%s hold %s, more than %s, and this is the least recently used",
                               kinds[thing->kind].name, a, b);
}

GPtrArray *gc_decide(const GPtrArray *things, const GcPolicy *policy, gint64 now)
{
        g_autoptr(GPtrArray) sorted = g_ptr_array_new();
        GPtrArray *verdicts = g_ptr_array_new_with_free_func((GDestroyNotify)gc_verdict_free);
        gint64 sums[GC_KINDS] = { 0 };

        for (guint i = 0; i < things->len; i++) {
                GcThing *thing = things->pdata[i];

                sums[thing->kind] += thing->bytes;
                g_ptr_array_add(sorted, thing);
        }
        g_ptr_array_sort(sorted, least_recent_first);
        for (guint i = 0; i < sorted->len; i++) {
                const GcThing *thing = sorted->pdata[i];
                char *why = judge(thing, &policy->of[thing->kind], sums[thing->kind], now);
                GcVerdict *verdict;

                if (!why)
                        continue;
                sums[thing->kind] -= thing->bytes;
                verdict = g_new(GcVerdict, 1);
                *verdict = (GcVerdict){ thing, why };
                g_ptr_array_add(verdicts, verdict);
        }
        return verdicts;
}
