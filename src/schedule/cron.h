/* A crontab: when something is due (doc/reference/pipelines.md, "Schedules").
 *
 *   "0 3 * * mon"   "TZ=Europe/Berlin 30 2 * * *"   "@daily"   "@every 90s"
 *
 * Local times follow the zone's clock. A tick at fixed hours is due once a day, also on days when the clock jumps: a time
 * that is left out is due at the end of the jump, a time that occurs twice the first time. With '*' as the hour, ticks
 * follow real hours. All times are ms since 1970; ticks are whole seconds. A Cron is
 * counted and never changes; any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        CRON_TEXT_MAX = 256, /* bytes */
        CRON_YEARS = 5,      /* in which the next tick is looked for */
};

typedef struct Cron Cron;

/* `local`: of a crontab that names no zone; NULL: the server's. ERR_INVALID with the field that is wrong. Reads files of
 * the system's zones. A crontab that is never due is no error here: cron_next finds no tick. */
Cron *cron_parse(const char *text, GTimeZone *local, GError **error);
Cron *cron_ref(Cron *cron);
void cron_unref(Cron *cron); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cron, cron_unref)

/* The first tick later than `after`. False: there is none in CRON_YEARS. */
bool cron_next(const Cron *cron, gint64 after, gint64 *ret);
/* No two ticks are closer, in ms. */
gint64 cron_step(const Cron *cron);
/* In the series of ticks that begins with `tick`: the first one at `from` or later. */
bool cron_from(const Cron *cron, gint64 tick, gint64 from, gint64 *ret);
/* ... the last one at `until` or earlier; `tick` <= `until`. */
gint64 cron_last(const Cron *cron, gint64 tick, gint64 until);

/* It is '@every DURATION' with fractions of a second, or less than a second, and is rounded. */
bool cron_is_rounded(const Cron *cron);

/* "Europe/Berlin"; of a crontab that names no zone, that of the server, or "local" if it has no name. Borrowed. */
const char *cron_zone_name(const Cron *cron);
/* "2026-03-29 03:00:00 +0200" in its zone; the caller's. */
char *cron_format_local(const Cron *cron, gint64 ms);
