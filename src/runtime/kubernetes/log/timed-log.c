/* A log with times, and where it goes on (see timed-log.h).
 *
 *     BEGINS ──(no line is known, or the first one as before)──▶ FLOWS
 *       │ └────(another first line)──▶ SEARCHES ──(the latest)─────▲
 *       │                                  └─(a later one: a gap)──┘
 *       └──────(no time, and none is known)──▶ PLAIN
 *
 * Lines that are older than the latest one known were written before it: two streams of a container may
 * change places by less than STEP_NS, and after a clock was set back by more the next line is the latest. A
 * first line that has the same time means the same log, whatever the clock did meanwhile. */
#include "runtime/kubernetes/log/timed-log.h"

#include <string.h>

#include "kube/kind.h"

#define STEP_NS (1000 * G_GINT64_CONSTANT(1000000))

enum { NS_DIGITS = 9 };

const char timed_log_gap[] =
        "\n[paddle: output may be missing here: the node rotated this log before it was read]\n";

/* ---- times ---- */

static bool may_be_in_time(char c)
{
        return g_ascii_isdigit(c) || (c && strchr("-:T.Z+", c));
}

static gint64 fraction_ns(const char *text)
{
        const char *at = strchr(text, '.');
        gint64 ns = 0;

        for (int i = 0; i < NS_DIGITS; i++) {
                bool is_digit = at && g_ascii_isdigit(at[1]);

                ns = ns * 10 + (is_digit ? *++at - '0' : 0);
        }
        return ns;
}

/* 0: it is none. */
static gint64 time_ns(const char *text)
{
        gint64 ms = kube_time(text);

        return ms > 0 && ms / 1000 < G_MAXINT64 / G_USEC_PER_SEC / 1000 - 1
                       ? ms / 1000 * G_USEC_PER_SEC * 1000 + fraction_ns(text)
                       : 0;
}

/* ---- the place ---- */

void timed_log_begin(TimedLog *log, gint64 start, gint64 size)
{
        LogPlace place = log->place;
        bool plain = log->plain;

        *log = (TimedLog){ .place = place, .plain = plain, .start = start, .size = size, .at = start };
}

static void find_first(TimedLog *log, gint64 ns)
{
        LogPlace *place = &log->place;

        log->state = LOG_FLOWS;
        if (!place->first_ns) {
                log->counted = !log->plain;
                log->at = log->plain ? log->size : log->start;
                *place = (LogPlace){ .first_ns = ns, .first_at = log->at };
        } else if (ns == place->first_ns) {
                log->at = place->first_at;
        } else {
                log->state = LOG_SEARCHES;
                log->found_ns = ns;
        }
}

static void find_last(TimedLog *log, gint64 ns, GString *out)
{
        LogPlace *place = &log->place;

        if (ns < place->last_ns)
                return;
        if (ns > place->last_ns) {
                g_string_append(out, timed_log_gap);
                log->size += (gint64)strlen(timed_log_gap);
        }
        log->at = ns > place->last_ns ? log->size : place->last_at;
        place->first_ns = log->found_ns;
        place->first_at = log->at - log->passed;
        log->state = LOG_FLOWS;
}

static bool is_latest(const TimedLog *log, gint64 ns)
{
        const LogPlace *place = &log->place;

        return !place->last_ns ||
               (log->at > place->last_at && (ns > place->last_ns || ns < place->last_ns - STEP_NS));
}

static void begin_line(TimedLog *log, gint64 ns, GString *out)
{
        if (log->state == LOG_BEGINS)
                find_first(log, ns);
        if (log->state == LOG_SEARCHES)
                find_last(log, ns, out);
        if (log->state == LOG_FLOWS && is_latest(log, ns)) {
                log->place.last_ns = ns;
                log->place.last_at = log->at;
        }
}

/* ---- text ---- */

static void hear(TimedLog *log, const char *data, gsize len)
{
        gsize at = strlen(log->said);

        for (gsize i = 0; i < len && at < sizeof log->said - 1; i++)
                if (data[i] != '\n')
                        log->said[at++] = data[i] ? data[i] : ' ';
        log->said[at] = '\0';
}

static void take_text(TimedLog *log, const char *data, gsize len, GString *out)
{
        gsize known = (gsize)CLAMP(log->size - log->at, 0, (gint64)len);

        if (log->foreign) {
                hear(log, data, len);
        } else if (log->state == LOG_SEARCHES) {
                log->passed += (gint64)len;
        } else {
                log->at += (gint64)len;
                log->plain = log->plain || (log->state == LOG_PLAIN && known < len);
                g_string_append_len(out, data + known, (gssize)(len - known));
        }
}

/* Returns where the next line begins. */
static const char *take_line(TimedLog *log, const char *data, const char *end, GString *out)
{
        const char *newline = memchr(data, '\n', (gsize)(end - data));
        const char *next = newline ? newline + 1 : end;

        take_text(log, data, (gsize)(next - data), out);
        if (newline && log->state != LOG_PLAIN)
                log->inside = log->foreign = false;
        return next;
}

static void begin_without_time(TimedLog *log, GString *out)
{
        if (log->state == LOG_BEGINS && !log->place.first_ns) {
                log->state = LOG_PLAIN;
                log->counted = true;
        }
        log->foreign = log->state != LOG_PLAIN;
        log->inside = true;
        take_text(log, log->held, log->held_len, out);
        log->held_len = 0;
}

/* Returns what comes behind as much of the time as there is. */
static const char *take_time(TimedLog *log, const char *data, GString *out)
{
        gint64 ns;

        if (may_be_in_time(*data) && log->held_len < sizeof log->held - 1) {
                log->held[log->held_len++] = *data;
                return data + 1;
        }
        log->held[log->held_len] = '\0';
        ns = *data == ' ' ? time_ns(log->held) : 0;
        if (!ns) {
                begin_without_time(log, out);
                return data;
        }
        log->held_len = 0;
        log->inside = true;
        begin_line(log, ns, out);
        return data + 1;
}

void timed_log_read(TimedLog *log, const char *data, gsize len, GString *out)
{
        const char *end = data + len;

        while (data < end)
                data = log->inside ? take_line(log, data, end, out) : take_time(log, data, out);
}

bool timed_log_is_short(const TimedLog *log)
{
        return log->counted && log->at > log->start && log->at < log->size;
}
