/* Times on a command line (see when.h). */
#include "cli/when.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"

static bool is_clock(const char *text)
{
        return g_ascii_isdigit(text[0]) && strchr(text, ':') && !strchr(text, 'T') && !strchr(text, ' ') &&
               strlen(text) <= 8;
}

/* "22:30": the next time that a clock shows it, or the last. */
static GDateTime *at_clock(const char *text, gint64 now, bool next)
{
        g_autoptr(GTimeZone) zone = g_time_zone_new_local();
        g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(now / 1000);
        g_autoptr(GDateTime) local = g_date_time_to_timezone(utc, zone);
        g_autofree char *day = g_date_time_format(local, "%Y-%m-%d");
        g_autofree char *full = g_strdup_printf("%sT%s%s%s", day, text[1] == ':' ? "0" : "", text,
                                                strchr(strchr(text, ':') + 1, ':') ? "" : ":00");
        g_autoptr(GDateTime) today = g_date_time_new_from_iso8601(full, zone);

        if (!today)
                return NULL;
        if (g_date_time_compare(today, local) > 0)
                return next ? g_steal_pointer(&today) : g_date_time_add_days(today, -1);
        return next ? g_date_time_add_days(today, 1) : g_steal_pointer(&today);
}

/* GLib accepts "2026-03-01T10:00" only with seconds. */
static GDateTime *from_iso(const char *text)
{
        enum { MINUTES_LEN = 16 }; /* of 2026-03-01T10:00 */
        g_autoptr(GTimeZone) zone = g_time_zone_new_local();
        g_autofree char *full = strlen(text) == MINUTES_LEN ? g_strconcat(text, ":00", NULL) : g_strdup(text);

        if (strlen(full) > MINUTES_LEN / 2 + 2 && full[10] == ' ')
                full[10] = 'T';
        return g_date_time_new_from_iso8601(full, zone);
}

static char *format_time(GDateTime *time)
{
        return clock_format(g_date_time_to_unix(time) * 1000 + g_date_time_get_microsecond(time) / 1000);
}

char *begin_parse(const char *what, const char *text, gint64 now, GError **error)
{
        g_autoptr(GDateTime) time = NULL;
        gint64 wait_ms;

        if (!is_clock(text) && duration_parse(what, text + (text[0] == '+'), &wait_ms, NULL) &&
            wait_ms <= G_MAXINT64 - now)
                return clock_format(now + wait_ms);
        time = is_clock(text) ? at_clock(text, now, true) : from_iso(text);
        if (time)
                return format_time(time);
        err_set(error, ERR_USAGE,
                "%s: '%s' is not a time\nTimes are 2026-03-01T22:00 (with Z for UTC), 22:00 or 2h "
                "from now.",
                what, text);
        return NULL;
}

char *since_parse(const char *what, const char *text, gint64 now, GError **error)
{
        g_autoptr(GDateTime) time = NULL;
        gint64 ago_ms;

        if (!is_clock(text) && duration_parse(what, text, &ago_ms, NULL) && ago_ms < now)
                return g_strdup(text);
        time = is_clock(text) ? at_clock(text, now, false) : from_iso(text);
        if (time)
                return format_time(time);
        err_set(error, ERR_USAGE,
                "%s: '%s' is not a time\nTimes are 10m (ago), 22:00, or 2026-03-01T22:00 (with Z for UTC).",
                what, text);
        return NULL;
}
