/* Crontabs: parse, next tick (see cron.h).
 *
 * A search runs over civil times, as seconds since 1970 on a clock without a zone. It jumps over months, days and hours that do
 * not match. The zone gives the moment of a civil time. GLib knows the intervals between a zone's jumps; their offsets are
 * constant. */
#include "schedule/cron.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/number.h"
#include "schedule/zone.h"

enum {
        MINUTE_S = 60,
        HOUR_S = 3600,
        DAY_S = 86400,
        YEAR_DAYS_MAX = 366,
        OFFSET_MAX_S = 27 * HOUR_S, /* more than any zone is away from UTC */
};

typedef enum { FIELD_MINUTE, FIELD_HOUR, FIELD_DAY, FIELD_MONTH, FIELD_WEEKDAY, FIELDS } FieldKind;

static const double ROUNDING_S = 1e-6; /* of sums of fractions, such as 0.1h */

struct Cron {
        gatomicrefcount refs;
        GTimeZone *zone;
        char *zone_name;
        gint64 every_s; /* 0: the sets below */
        bool rounded;   /* every_s is not the duration of the text */
        guint64 sets[FIELDS];
        bool any[FIELDS]; /* '*' or '?' without a step above 1 */
};

/* ---- fields ---- */

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun", "jul",
                                      "aug", "sep", "oct", "nov", "dec", NULL };
static const char *const weekdays[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL };

static const struct {
        const char *name;
        int min, max;
        const char *const *words; /* for min, min + 1, ...; or NULL */
} fields[FIELDS] = {
        [FIELD_MINUTE] = { "minute", 0, 59, NULL },        [FIELD_HOUR] = { "hour", 0, 23, NULL },
        [FIELD_DAY] = { "day of the month", 1, 31, NULL }, [FIELD_MONTH] = { "month", 1, 12, months },
        [FIELD_WEEKDAY] = { "weekday", 0, 6, weekdays },
};

static bool refuse_value(FieldKind kind, const char *text, GError **error)
{
        return err_set(error, ERR_INVALID, "%s: '%.40s' is not a number from %d to %d%s%s", fields[kind].name,
                       text, fields[kind].min, fields[kind].max, fields[kind].words ? " or a name like " : "",
                       fields[kind].words ? fields[kind].words[0] : "");
}

static bool parse_value(FieldKind kind, const char *text, int *ret, GError **error)
{
        const char *const *words = fields[kind].words;
        gint64 number;

        for (int i = 0; words && words[i]; i++)
                if (g_ascii_strcasecmp(words[i], text) == 0) {
                        *ret = fields[kind].min + i;
                        return true;
                }
        if (!number_parse("", text, fields[kind].min, fields[kind].max, &number, NULL))
                return refuse_value(kind, text, error);
        *ret = (int)number;
        return true;
}

static bool is_any(const char *text)
{
        return strcmp(text, "*") == 0 || strcmp(text, "?") == 0;
}

/* "3", "mon-fri"; *ret_single: no end was given. */
static bool parse_range(FieldKind kind, char *text, int *ret_from, int *ret_to, bool *ret_single,
                        GError **error)
{
        char *to = strchr(text, '-');

        *ret_single = !to;
        if (is_any(text)) {
                *ret_from = fields[kind].min;
                *ret_to = fields[kind].max;
                return true;
        }
        if (to)
                *to++ = '\0';
        if (!parse_value(kind, text, ret_from, error) || (to && !parse_value(kind, to, ret_to, error)))
                return false;
        if (!to)
                *ret_to = *ret_from;
        return *ret_from <= *ret_to || err_set(error, ERR_INVALID, "%s: '%.20s-%.20s' ends before it begins",
                                               fields[kind].name, text, to);
}

/* One item of a list: a range and perhaps a step. "5/10" goes on to the end of the field. */
static bool parse_item(Cron *cron, FieldKind kind, char *text, GError **error)
{
        char *step_text = strchr(text, '/');
        gint64 step = 1;
        int from, to;
        bool single;

        if (step_text)
                *step_text++ = '\0';
        if (step_text && !number_parse("", step_text, 1, G_MAXINT32, &step, NULL))
                return err_set(error, ERR_INVALID, "%s: the step '%.20s' is not a number from 1 on",
                               fields[kind].name, step_text);
        if (!parse_range(kind, text, &from, &to, &single, error))
                return false;
        if (step_text && single)
                to = fields[kind].max;
        if (is_any(text) && step == 1)
                cron->any[kind] = true;
        for (gint64 value = from; value <= to; value += step)
                cron->sets[kind] |= (guint64)1 << value;
        return true;
}

static bool parse_field(Cron *cron, FieldKind kind, const char *text, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);

        for (char **item = items; *item; item++)
                if (**item && !parse_item(cron, kind, *item, error))
                        return false;
        return true;
}

static bool parse_fields(Cron *cron, const char *text, GError **error)
{
        g_auto(GStrv) words = g_strsplit_set(text, " \t", -1);
        int n = 0;

        for (char **word = words; *word; word++) {
                if (!**word)
                        continue;
                if (n < FIELDS && !parse_field(cron, (FieldKind)n, *word, error))
                        return false;
                n++;
        }
        return n == FIELDS || err_set(error, ERR_INVALID, "it has %d fields, and needs five", n);
}

/* ---- descriptors ---- */

/* "1h30m", "1.5h", "90s" in whole seconds. */
static bool parse_duration(const char *text, gint64 *ret_s, bool *ret_rounded)
{
        static const struct {
                const char *name;
                double s;
        } units[] = { { "ms", 1e-3 },  { "us", 1e-6 },    { "µs", 1e-6 }, { "ns", 1e-9 },
                      { "h", HOUR_S }, { "m", MINUTE_S }, { "s", 1 } };
        double total = 0;

        if (!*text)
                return false;
        while (*text) {
                gsize len = strspn(text, "0123456789."), unit = 0;
                char *end = NULL;
                double value = len > 0 ? g_ascii_strtod(text, &end) : 0;

                if (end != text + len)
                        return false;
                while (unit < G_N_ELEMENTS(units) && !g_str_has_prefix(end, units[unit].name))
                        unit++;
                if (unit == G_N_ELEMENTS(units))
                        return false;
                total += value * units[unit].s;
                text = end + strlen(units[unit].name);
        }
        if (total > (double)CRON_YEARS * YEAR_DAYS_MAX * DAY_S)
                return false;
        *ret_s = MAX((gint64)total, 1);
        *ret_rounded = fabs(total - (double)*ret_s) > ROUNDING_S;
        return true;
}

static bool parse_descriptor(Cron *cron, const char *text, GError **error)
{
        static const struct {
                const char *name, *fields;
        } known[] = { { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
                      { "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
                      { "@hourly", "0 * * * *" } };

        for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
                if (strcmp(known[i].name, text) == 0)
                        return parse_fields(cron, known[i].fields, error);
        if (!g_str_has_prefix(text, "@every "))
                return err_set(
                        error, ERR_INVALID,
                        "'%.40s' is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and "
                        "@every DURATION",
                        text);
        return parse_duration(text + strlen("@every "), &cron->every_s, &cron->rounded) ||
               err_set(error, ERR_INVALID,
                       "'%.40s' is not a duration of at most %d years, such as 90s, 1h30m or 24h",
                       text + strlen("@every "), CRON_YEARS);
}

/* ---- zones ---- */

/* "tz=Europe/Berlin 0 9 * * *", "Europe/Berlin 0 9 * * *": what it should be. */
static bool refuse_bare_zone(const char *text, GError **error)
{
        gsize len = strcspn(text, " \t"), mark = strcspn(text, "=");
        g_autofree char *word =
                mark < len ? g_strndup(text + mark + 1, len - mark - 1) : g_strndup(text, len);
        g_autofree char *zone = zone_find(word);

        return !zone || err_set(error, ERR_INVALID, "'%.*s' does not begin with TZ=: write 'TZ=%s%.100s'",
                                (int)MIN(len, 80), text, zone, text + len);
}

/* Skips "TZ=zone " in *text. */
static bool take_zone(Cron *cron, const char **text, GTimeZone *local, GError **error)
{
        const char *name = g_str_has_prefix(*text, "TZ=")        ? *text + strlen("TZ=")
                           : g_str_has_prefix(*text, "CRON_TZ=") ? *text + strlen("CRON_TZ=")
                                                                 : NULL;
        gsize len = name ? strcspn(name, " \t") : 0;

        if (!name && !refuse_bare_zone(*text, error))
                return false;
        if (name) {
                cron->zone_name = g_strndup(name, len);
                *text = name + len + strspn(name + len, " \t");
        }
        if (name && strcmp(cron->zone_name, "Local") != 0) {
                cron->zone = zone_new(cron->zone_name, error);
                return cron->zone;
        }
        cron->zone = local ? g_time_zone_ref(local) : g_time_zone_new_local();
        g_free(cron->zone_name);
        cron->zone_name = g_strdup(g_time_zone_get_identifier(cron->zone));
        return true;
}

/* ---- parse ---- */

static Cron *cron_new(void)
{
        Cron *cron = g_new0(Cron, 1);

        g_atomic_ref_count_init(&cron->refs);
        return cron;
}

Cron *cron_ref(Cron *cron)
{
        g_atomic_ref_count_inc(&cron->refs);
        return cron;
}

void cron_unref(Cron *cron)
{
        if (!cron || !g_atomic_ref_count_dec(&cron->refs))
                return;
        g_clear_pointer(&cron->zone, g_time_zone_unref);
        g_free(cron->zone_name);
        g_free(cron);
}

static bool parse(Cron *cron, const char *text, GTimeZone *local, GError **error)
{
        text += strspn(text, " \t");
        return take_zone(cron, &text, local, error) &&
               (*text == '@' ? parse_descriptor(cron, text, error) : parse_fields(cron, text, error));
}

Cron *cron_parse(const char *text, GTimeZone *local, GError **error)
{
        g_autoptr(Cron) cron = cron_new();
        g_autoptr(GError) cause = NULL;
        g_autofree char *shown = g_strndup(text, CRON_TEXT_MAX), *stripped = NULL;

        if (strlen(text) > CRON_TEXT_MAX) {
                err_set(error, ERR_INVALID, "the crontab has %zu bytes, and may have at most %d",
                        strlen(text), CRON_TEXT_MAX);
                return NULL;
        }
        stripped = g_strstrip(g_strdup(text));
        if (parse(cron, stripped, local, &cause))
                return g_steal_pointer(&cron);
        if (g_str_has_prefix(stripped, "every "))
                err_set(error, ERR_INVALID, "crontab '%s': %s\nDid you mean '@%.100s'?", shown,
                        cause->message, stripped);
        else
                err_set(error, ERR_INVALID,
                        "crontab '%s': %s\n"
                        "A crontab is MINUTE HOUR DAY MONTH WEEKDAY, such as '30 2 * * mon', or '@every 90s'.",
                        shown, cause->message);
        return NULL;
}

/* ---- civil times ---- */

static struct tm civil_of(gint64 s)
{
        const time_t time = s;
        struct tm ret;

        gmtime_r(&time, &ret);
        return ret;
}

static bool has(const Cron *cron, FieldKind kind, int value)
{
        return (cron->sets[kind] >> value & 1) != 0;
}

static bool day_matches(const Cron *cron, const struct tm *tm)
{
        bool day = has(cron, FIELD_DAY, tm->tm_mday), weekday = has(cron, FIELD_WEEKDAY, tm->tm_wday);

        return cron->any[FIELD_DAY] || cron->any[FIELD_WEEKDAY] ? day && weekday : day || weekday;
}

static gint64 next_month(const struct tm *tm)
{
        struct tm first = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon + 1, .tm_mday = 1 };

        return timegm(&first);
}

/* The first civil time later than `after` that matches, up to the end of the year `last`. False: there is none. */
static bool next_civil(const Cron *cron, gint64 after, int last, gint64 *ret)
{
        gint64 at = (after / MINUTE_S + 1) * MINUTE_S;

        for (;;) {
                const struct tm tm = civil_of(at);

                if (tm.tm_year > last)
                        return false;
                if (!has(cron, FIELD_MONTH, tm.tm_mon + 1))
                        at = next_month(&tm);
                else if (!day_matches(cron, &tm))
                        at = (at / DAY_S + 1) * DAY_S;
                else if (!has(cron, FIELD_HOUR, tm.tm_hour))
                        at = (at / HOUR_S + 1) * HOUR_S;
                else if (!has(cron, FIELD_MINUTE, tm.tm_min))
                        at += MINUTE_S;
                else
                        break;
        }
        *ret = at;
        return true;
}

/* ---- moments ---- */

static int interval_at(const Cron *cron, gint64 s)
{
        return g_time_zone_find_interval(cron->zone, G_TIME_TYPE_UNIVERSAL, s);
}

static gint64 offset_at(const Cron *cron, gint64 s)
{
        return g_time_zone_get_offset(cron->zone, interval_at(cron, s));
}

/* The first moment after `from` with another interval of the zone; there is one at or before `to`. */
static gint64 next_jump(const Cron *cron, gint64 from, gint64 to)
{
        int interval = interval_at(cron, from);

        while (to - from > 1) {
                gint64 middle = from + (to - from) / 2;

                if (interval_at(cron, middle) == interval)
                        from = middle;
                else
                        to = middle;
        }
        return to;
}

/* The first moment at which the zone's clock shows `civil`, or a later time because it jumps over `civil`. */
static gint64 moment_of(const Cron *cron, gint64 civil)
{
        gint64 from = civil - OFFSET_MAX_S;

        for (;;) {
                gint64 at = MAX(civil - offset_at(cron, from), from);

                if (interval_at(cron, at) == interval_at(cron, from))
                        return at;
                from = next_jump(cron, from, at);
        }
}

/* At fixed hours: each civil time has one moment. */
static bool next_fixed(const Cron *cron, gint64 after, gint64 *ret)
{
        gint64 civil = after + offset_at(cron, after);
        int last = civil_of(civil).tm_year + CRON_YEARS;

        do {
                if (!next_civil(cron, civil, last, &civil))
                        return false;
                *ret = moment_of(cron, civil);
        } while (*ret <= after);
        return true;
}

/* At any hour: each moment has one civil time, and those at which it matches are ticks. Looks at one interval after the
 * other. */
static bool next_hourly(const Cron *cron, gint64 after, gint64 *ret)
{
        int last = civil_of(after).tm_year + CRON_YEARS;
        gint64 interval = after, civil;

        for (;;) {
                gint64 offset = offset_at(cron, interval);

                if (!next_civil(cron, after + offset, last, &civil))
                        return false;
                *ret = civil - offset;
                if (interval_at(cron, *ret) == interval_at(cron, interval))
                        return true;
                interval = next_jump(cron, interval, *ret);
                after = interval - 1;
        }
}

/* ", * * * *" */
static bool is_empty(const Cron *cron)
{
        return !cron->sets[FIELD_MINUTE] || !cron->sets[FIELD_HOUR] || !cron->sets[FIELD_MONTH];
}

static bool next_s(const Cron *cron, gint64 after, gint64 *ret)
{
        if (cron->every_s) {
                *ret = after + cron->every_s;
                return true;
        }
        return !is_empty(cron) && (cron->any[FIELD_HOUR] ? next_hourly : next_fixed)(cron, after, ret);
}

static gint64 seconds(gint64 ms)
{
        return ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000);
}

bool cron_next(const Cron *cron, gint64 after, gint64 *ret)
{
        gint64 found;

        if (!next_s(cron, seconds(after), &found))
                return false;
        *ret = found * 1000;
        return true;
}

gint64 cron_step(const Cron *cron)
{
        return (cron->every_s ? cron->every_s : MINUTE_S) * 1000;
}

bool cron_from(const Cron *cron, gint64 tick, gint64 from, gint64 *ret)
{
        gint64 every = cron->every_s * 1000;

        if (tick >= from) {
                *ret = tick;
                return true;
        }
        if (!every)
                return cron_next(cron, from - 1, ret);
        *ret = tick + (from - tick + every - 1) / every * every;
        return true;
}

gint64 cron_last(const Cron *cron, gint64 tick, gint64 until)
{
        while (tick < until) {
                gint64 middle = tick + (until - tick + 1) / 2, found;

                if (cron_from(cron, tick, middle, &found) && found <= until)
                        tick = found;
                else
                        until = middle - 1;
        }
        return tick;
}

/* ---- for people ---- */

bool cron_is_rounded(const Cron *cron)
{
        return cron->rounded;
}

const char *cron_zone_name(const Cron *cron)
{
        return cron->zone_name ? cron->zone_name : "local";
}

char *cron_format_local(const Cron *cron, gint64 ms)
{
        g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(seconds(ms));
        g_autoptr(GDateTime) local = g_date_time_to_timezone(utc, cron->zone);

        return g_date_time_format(local, "%Y-%m-%d %H:%M:%S %z");
}
