/* Times and amounts as this face writes them (doc/reference/paddleflow-api.md, "Times" and "Amounts of
 * resources"), and what queues hold. */
#include <string.h>

#include "api/paddleflow/internal.h"

enum { AMOUNT_MAX = 64 }; /* bytes of one quantity */

/* ---- times ---- */

char *time_text(gint64 ms)
{
        g_autoptr(GDateTime) utc = ms > 0 ? g_date_time_new_from_unix_utc(ms / 1000) : NULL;
        g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;

        return local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S") : g_strdup("");
}

char *time_rfc3339(gint64 ms)
{
        g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(ms / 1000);
        g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;
        g_autofree char *day = local ? g_date_time_format(local, "%Y-%m-%dT%H:%M:%S") : NULL;
        g_autofree char *zone = local ? g_date_time_format(local, "%:z") : NULL;

        return g_strdup_printf("%s.%03d%s", day ? day : "1970-01-01T00:00:00", (int)(ms % 1000),
                               !zone || strcmp(zone, "+00:00") == 0 ? "Z" : zone);
}

static bool take_digits(const char *text, int len, int *ret)
{
        *ret = 0;
        for (int i = 0; i < len; i++) {
                if (!g_ascii_isdigit(text[i]))
                        return false;
                *ret = *ret * 10 + (text[i] - '0');
        }
        return true;
}

bool time_take(const char *text, gint64 *ret_ms)
{
        static const struct {
                int at, len;
        } parts[] = { { 0, 4 }, { 5, 2 }, { 8, 2 }, { 11, 2 }, { 14, 2 }, { 17, 2 } };
        g_autoptr(GDateTime) time = NULL;
        int n[G_N_ELEMENTS(parts)];

        if (strlen(text) != 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' ||
            text[16] != ':')
                return false;
        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (!take_digits(text + parts[i].at, parts[i].len, &n[i]))
                        return false;
        if (n[0] < 1)
                return false;
        time = g_date_time_new_local(n[0], n[1], n[2], n[3], n[4], n[5]);
        if (time)
                *ret_ms = g_date_time_to_unix(time) * 1000;
        return time != NULL;
}

/* ---- members ---- */

json_t *text_or_null(const char *text)
{
        return text ? json_string(text) : json_null();
}

json_t *text_or_blank(const char *text)
{
        return json_string(text ? text : "");
}

void set_text(char **field, const char *text)
{
        char *copy = text && *text ? g_strdup(text) : NULL;

        g_free(*field);
        *field = copy;
}

static gint compare_texts(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **map_to_labels(const json_t *map)
{
        g_autoptr(GPtrArray) keys = g_ptr_array_new();
        GPtrArray *pairs;
        const char *key;
        json_t *value;

        if (json_object_size(map) == 0)
                return NULL;
        json_object_foreach((json_t *)map, key, value)
                g_ptr_array_add(keys, (char *)key);
        g_ptr_array_sort(keys, compare_texts);
        pairs = g_ptr_array_new();
        for (guint i = 0; i < keys->len; i++)
                g_ptr_array_add(pairs, g_strdup_printf("%s=%s", (char *)keys->pdata[i],
                                                       go_text(map, keys->pdata[i])));
        g_ptr_array_add(pairs, NULL);
        return (char **)g_ptr_array_free(pairs, FALSE);
}

/* ---- amounts ---- */

static bool take_amount(const char *what, int kind, const char *text, ResourceLimits *limits, GError **error)
{
        if (strlen(text) > AMOUNT_MAX)
                return err_set(error, ERR_INVALID, "%s: '%.40s...' is too long for a quantity", what, text);
        limits->said |= 1u << kind;
        return quantity_parse(what, kind, text, &limits->amount.amount[kind], error);
}

static bool take_named(const char *what, const json_t *object, const char *const *names, int kind, bool merge,
                       ResourceLimits *limits, GError **error)
{
        for (; *names; names++) {
                const char *text = json_string_value(json_object_get(object, *names));
                g_autofree char *where = g_strdup_printf("%s.%s", what, *names);

                if (text && (*text || !merge))
                        return take_amount(where, kind, text, limits, error);
        }
        return true;
}

static bool take_scalar(const char *what, const char *name, const char *text, bool merge,
                        ResourceLimits *limits, GError **error)
{
        g_autofree char *where = g_strdup_printf("%s.scalarResources.%.80s", what, name);
        int kind = resource_name_check(where, name, error) ? resource_intern(where, name, error) : -1;

        if (kind < 0)
                return false;
        if (*text || !merge)
                return take_amount(where, kind, text, limits, error);
        limits->said &= ~(1u << kind);
        limits->amount.amount[kind] = 0;
        return true;
}

bool amounts_take(const char *what, const json_t *object, bool merge, ResourceLimits *limits, GError **error)
{
        static const char *const cpu[] = { "cpu", NULL }, *const memory[] = { "mem", "memory", NULL },
                                 *const storage[] = { "storage", NULL };
        ResourceLimits taken = *limits;
        const char *name;
        json_t *value;

        if (!take_named(what, object, cpu, RESOURCE_CPU, merge, &taken, error) ||
            !take_named(what, object, memory, RESOURCE_MEMORY, merge, &taken, error) ||
            !take_named(what, object, storage, RESOURCE_STORAGE, true, &taken, error))
                return false;
        json_object_foreach(json_object_get(object, "scalarResources"), name, value) {
                if (!take_scalar(what, name, json_string_value(value), merge, &taken, error))
                        return false;
        }
        *limits = taken;
        return true;
}

static void set_amount(json_t *object, const char *name, int kind, const Resources *amounts)
{
        g_autofree char *text = quantity_format(kind, amounts->amount[kind]);

        json_object_set_new(object, name, json_string(text));
}

json_t *amounts_format(const Resources *amounts, guint32 kinds)
{
        json_t *object = json_object(), *scalars = json_object();

        set_amount(object, "cpu", RESOURCE_CPU, amounts);
        set_amount(object, "memory", RESOURCE_MEMORY, amounts);
        if (kinds & 1u << RESOURCE_STORAGE && amounts->storage)
                set_amount(object, "storage", RESOURCE_STORAGE, amounts);
        for (int kind = 0; kind < resource_kinds(); kind++)
                if (kinds & 1u << kind && kind != RESOURCE_CPU && kind != RESOURCE_MEMORY &&
                    kind != RESOURCE_STORAGE)
                        set_amount(scalars, resource_name(kind), kind, amounts);
        if (json_object_size(scalars) > 0)
                json_object_set(object, "scalarResources", scalars);
        json_decref(scalars);
        return object;
}

guint32 amounts_kinds(const Resources *amounts)
{
        guint32 kinds = 0;

        for (int kind = 0; kind < resource_kinds(); kind++)
                if (amounts->amount[kind] > 0)
                        kinds |= 1u << kind;
        return kinds;
}

/* ---- queues and clusters ---- */

Resources queue_used(PaddleFlow *flow, const char *queue)
{
        SchedulerFigures *figures = engine_figures(flow->engine);
        int id = engine_queue_id(flow->engine, queue);
        Resources used = { 0 };

        if (figures && id >= 0 && id < figures->n_queues && figures->queues[id].id == id)
                used = figures->queues[id].used;
        if (figures)
                scheduler_figures_unref(figures);
        return used;
}

bool queue_is_granted(const Call *call, const Queue *queue)
{
        return call->root || auth_is_granted(call->flow->auth, call->catalog, call->user, queue);
}
