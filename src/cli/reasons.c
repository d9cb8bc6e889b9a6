/* Reasons as text and bars (see reasons.h; doc/guide/rest.md, "A reason"). */
#include "cli/reasons.h"

#include <string.h>

#include "base/number.h"
#include "cli/help.h"
#include "cli/listing.h"
#include "cli/table.h"
#include "model/resources.h"

enum { BAR_COLUMNS = 30, PLACES_SHOWN = 12, TEXT_WIDTH_MAX = 100 };

/* The figures of a reason in the order of display, each with its symbol. */
static const struct {
        const char *member, *utf8, *ascii, *paint;
} figures[] = {
        { "asked", "█", "#", "\033[36m" }, { "free", "░", ".", "\033[32m" },
        { "used", "▓", "+", "\033[33m" },  { "lent", "▒", "-", "\033[35m" },
        { "limit", "█", "=", "\033[31m" },
};

/* An amount in a reason: a quantity as text, or a number. */
static bool amount_of(const json_t *reason, const char *member, int kind, gint64 *ret)
{
        const json_t *value = json_object_get(reason, member);

        if (json_is_integer(value)) {
                *ret = json_integer_value(value);
                return true;
        }
        return json_is_string(value) && quantity_parse(member, kind, json_string_value(value), ret, NULL);
}

static int kind_of(const json_t *reason)
{
        int kind = resource_find(text_of(reason, "resource"));

        return kind >= 0 ? kind : RESOURCE_OTHERS;
}

static gint64 largest(const json_t *reason)
{
        gint64 most = 0, amount;

        for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
                if (amount_of(reason, figures[i].member, kind_of(reason), &amount))
                        most = MAX(most, amount);
        return most;
}

static void append_bar(GString *out, gsize figure, gint64 amount, gint64 whole, const Terminal *terminal)
{
        int cells = (int)((double)amount / (double)whole * BAR_COLUMNS + 0.5);

        g_string_append(out, terminal->out_colour ? figures[figure].paint : "");
        for (int i = 0; i < MAX(cells, amount > 0); i++)
                g_string_append(out, terminal->utf8 ? figures[figure].utf8 : figures[figure].ascii);
        g_string_append(out, terminal->out_colour ? "\033[0m" : "");
}

/* A bar is drawn only if there is something to compare. */
static void append_figures(GString *out, const json_t *reason, int indent, const Terminal *terminal)
{
        int kind = kind_of(reason);
        gint64 whole = largest(reason), amount;
        const char *resource = text_of(reason, "resource");

        if (whole <= 0 || !*resource)
                return;
        for (gsize i = 0; i < G_N_ELEMENTS(figures); i++) {
                g_autofree char *text = NULL;

                if (!amount_of(reason, figures[i].member, kind, &amount))
                        continue;
                text = quantity_text(kind, amount);
                g_string_append_printf(out, "%*s%-15s %-5s %9s  ", indent + 3, "", resource,
                                       figures[i].member, text);
                append_bar(out, i, amount, whole, terminal);
                g_string_truncate(out, strlen(g_strchomp(out->str)));
                if (strcmp(figures[i].member, "lent") == 0 && *text_of(reason, "lent_to"))
                        g_string_append_printf(out, "  to queue '%s'", text_of(reason, "lent_to"));
                g_string_append_c(out, '\n');
                resource = "";
        }
}

char *reasons_text(const json_t *reasons, int indent, const Terminal *terminal)
{
        g_autoptr(GString) out = g_string_new(NULL);
        int width = MIN(terminal->width, TEXT_WIDTH_MAX);
        gsize i;
        json_t *reason;

        json_array_foreach(reasons, i, reason) {
                const char *message = text_of(reason, "message");
                g_autofree char *said = text_visible(*message ? message : text_of(reason, "cause"));
                g_autofree char *wrapped = text_wrap(said, indent + 3, width);
                g_autofree char *number = g_strdup_printf("%d.", (int)i + 1);

                memcpy(wrapped + indent, number, MIN(strlen(number), 3));
                g_string_append(out, wrapped);
                append_figures(out, reason, indent, terminal);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *start_text(const json_t *value, gint64 now)
{
        g_autoptr(GTimeZone) zone = g_time_zone_new_local();
        g_autoptr(GDateTime) time =
                json_is_string(value) ? g_date_time_new_from_iso8601(json_string_value(value), zone) : NULL;
        g_autoptr(GDateTime) local = time ? g_date_time_to_local(time) : NULL;
        g_autoptr(GDateTime) utc_now = g_date_time_new_from_unix_utc(now / 1000);
        g_autoptr(GDateTime) today = g_date_time_to_local(utc_now);
        g_autofree char *clock = NULL, *wait = NULL;
        gint64 ms;

        if (!local)
                return g_strdup("not known");
        ms = g_date_time_to_unix(local) * 1000 + g_date_time_get_microsecond(local) / 1000 - now;
        if (ms <= 0)
                return g_strdup("any moment");
        clock = g_date_time_format(local,
                                   g_date_time_get_day_of_year(local) == g_date_time_get_day_of_year(today) &&
                                                   ms < 86400000
                                           ? "%H:%M:%S %Z"
                                           : "%Y-%m-%d %H:%M:%S %Z");
        wait = duration_format(ms);
        return g_strdup_printf("at %s, in %s", clock, wait);
}

static bool is_cause(const json_t *reasons, const char *cause)
{
        return strcmp(text_of(json_array_get(reasons, 0), "cause"), cause) == 0;
}

/* A job that waits for something of its own has no position in the queue. */
static bool stands_in_line(const json_t *answer)
{
        static const char *const own[] = {
                "held", "not_before", "begin", "dependency", "environment", "retry"
        };

        for (gsize i = 0; i < G_N_ELEMENTS(own); i++)
                if (is_cause(json_object_get(answer, "reasons"), own[i]))
                        return false;
        return is_set(answer, "position");
}

static void append_position(GString *out, const json_t *answer)
{
        gint64 before = int_of(answer, "position");

        if (!stands_in_line(answer))
                return;
        if (before <= 0)
                g_string_append(out, ", first in line");
        else
                g_string_append_printf(out, ", behind %d job%s", (int)before, before == 1 ? "" : "s");
}

static const char *state_clause(const char *state)
{
        static const struct {
                const char *state, *clause;
        } rows[] = {
                { "succeeded", "has succeeded" }, { "failed", "has failed" },
                { "cancelled", "was cancelled" }, { "preempted", "was preempted" },
                { "running", "is running" },      { "starting", "is starting" },
                { "admitted", "is admitted" },    { "suspended", "is suspended" },
                { "stopping", "is stopping" },    { "preempting", "is being preempted" },
                { "submitted", "is submitted" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (strcmp(rows[i].state, state) == 0)
                        return rows[i].clause;
        return "has another state";
}

char *explain_text(const json_t *job, const json_t *answer, gint64 now, const Terminal *terminal)
{
        const json_t *reasons = json_object_get(answer, "reasons");
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *name = text_visible(text_of(job, "name"));
        g_autofree char *start = start_text(json_object_get(answer, "expected_start"), now);
        g_autofree char *said = NULL;

        if (strcmp(text_of(answer, "state"), "queued") == 0)
                g_string_append_printf(out, "%s (%s) waits", name, text_of(job, "id"));
        else
                g_string_append_printf(out, "%s (%s) %s", name, text_of(job, "id"),
                                       state_clause(text_of(answer, "state")));
        if (*text_of(job, "queue"))
                g_string_append_printf(out, " in queue '%s'", text_of(job, "queue"));
        if (json_array_size(reasons) == 0) {
                said = text_visible(text_of(job, "reason"));
                g_string_append_printf(out, "; it is not waiting for anything%s%s\n", *said ? ": " : "",
                                       said);
                return g_string_free(g_steal_pointer(&out), FALSE);
        }
        append_position(out, answer);
        if (is_set(answer, "position")) /* otherwise it has its resources, or no position */
                g_string_append_printf(out, "\nexpected start: %s", start);
        g_string_append(out, "\n\n");
        said = reasons_text(reasons, 0, terminal);
        g_string_append(out, said);
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- dry run ---- */

/* "trainer-0, trainer-1 on gpu-1 (GPUs 0,1)": members with the same placement share a line. */
static void append_places(GString *out, const json_t *placement)
{
        gsize i, lines = 0;
        json_t *place;

        json_array_foreach(placement, i, place) {
                g_autofree char *gpus = value_text(json_object_get(place, "gpus"));
                g_autofree char *node = text_visible(text_of(place, "node"));

                if (lines++ == PLACES_SHOWN && json_array_size(placement) > PLACES_SHOWN + 1) {
                        g_string_append_printf(out, "  ... and %d more\n",
                                               (int)(json_array_size(placement) - i));
                        return;
                }
                g_string_append_printf(out, "  %s-%d on %s%s%s%s\n", text_of(place, "role"),
                                       (int)int_of(place, "index"), node, gpus ? " (GPU " : "",
                                       gpus ? gpus : "", gpus ? ")" : "");
        }
}

static void append_victims(GString *out, const json_t *evicts)
{
        gsize i;
        json_t *victim;

        if (json_array_size(evicts) > 0)
                g_string_append(out, "It would preempt or shrink:\n");
        json_array_foreach(evicts, i, victim) {
                g_autofree char *name = text_visible(text_of(victim, "name"));
                g_autofree char *whose = g_strdup_printf("%s (%s) of %s", name, text_of(victim, "job"),
                                                         text_of(victim, "user"));

                g_string_append_printf(out, "  %s %s\n", *name ? whose : "a job of another user",
                                       json_is_true(json_object_get(victim, "shrinks"))
                                               ? "gets fewer processes"
                                               : "goes back to its queue");
        }
}

static char *refusal_text(const json_t *reply, const Terminal *terminal)
{
        const json_t *error = json_object_get(reply, "error");
        const char *said = json_is_string(error) ? json_string_value(error) : text_of(error, "message"),
                   *hint = json_is_object(error) ? text_of(error, "hint") : "";
        g_autofree char *message = text_visible(said ? said : "");
        g_autofree char *more = text_visible(hint);
        g_autofree char *reasons = reasons_text(json_object_get(reply, "reasons"), 0, terminal);

        return g_strdup_printf("It would be refused%s%s\n%s%s%s", *message ? ": " : "", message, more,
                               *more ? "\n" : "", *message ? "" : reasons);
}

char *dry_run_text(const json_t *reply, gint64 now, const Terminal *terminal)
{
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *start = start_text(json_object_get(reply, "start"), now);
        g_autofree char *reasons = NULL;
        bool waits = strcmp(text_of(reply, "state"), "would wait") == 0;
        bool never = is_cause(json_object_get(reply, "reasons"), "too_large");

        if (strcmp(text_of(reply, "state"), "refused") == 0)
                return refusal_text(reply, terminal);
        g_string_append_printf(out, "%s would %s in queue '%s'",
                               int_of(reply, "jobs") > 1 ? "Its first job" : "It",
                               never   ? "wait for ever"
                               : waits ? "wait"
                                       : "start at once",
                               text_of(reply, "queue"));
        if (waits && !never)
                g_string_append_printf(out, "; expected start: %s", start);
        g_string_append_c(out, '\n');
        append_places(out, json_object_get(reply, "placement"));
        append_victims(out, json_object_get(reply, "evicts"));
        reasons = reasons_text(json_object_get(reply, "reasons"), 0, terminal);
        if (waits && *reasons)
                g_string_append_printf(out, "\n%s", reasons);
        return g_string_free(g_steal_pointer(&out), FALSE);
}
