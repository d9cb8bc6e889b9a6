/* Drawing (see top.h). Lines come in three blocks: the cluster, the queues, the jobs. Jobs get the remaining
 * lines, waiting jobs at least half of them, since users look for those. */
#include "cli/top.h"

#include <string.h>

#include "base/number.h"
#include "base/text-cut.h"
#include "cli/listing.h"
#include "cli/quota.h"
#include "cli/table.h"

enum {
        NAME_COLUMNS = 18, /* of a queue */
        COUNT_COLUMNS = 6,
        BAR_COLUMNS = 22,
        BAR_TEXT = 15, /* "12.5/64" after it */
        JOBS_UNLIMITED = 50,
        QUEUES_SHARE = 2, /* queues get at most half of the lines */
        KEYS_HEIGHT = 10, /* a lower terminal has no line for keys */
        NOTE_HEIGHT = 24, /* ... and none that explains "borrowed" */
};

static void append_cut(GString *out, const char *line, const Terminal *terminal)
{
        g_autofree char *cut = text_cut_columns(line, terminal->width - 1, terminal->utf8);

        g_string_append(out, cut);
        g_string_append_c(out, '\n');
}

static void append_head(GString *out, const char *line, const Terminal *terminal)
{
        g_autofree char *cut = text_cut_columns(line, terminal->width - 1, terminal->utf8);

        g_string_append_printf(out, terminal->out_colour ? "\033[1m%s\033[0m\n" : "%s\n", cut);
}

/* ---- the cluster ---- */

static void append_title(GString *out, const TopPicture *picture, const Terminal *terminal)
{
        g_autoptr(GDateTime) now = g_date_time_new_from_unix_local(picture->now / 1000);
        g_autofree char *clock = g_date_time_format(now, "%H:%M:%S");
        g_autofree char *line = g_strdup_printf("paddle top  %s  %s", clock, picture->title);

        append_head(out, line, terminal);
        if (picture->trouble) {
                g_autofree char *visible = text_visible(picture->trouble);

                append_cut(out, visible, terminal);
        }
}

/* The name without its vendor: "gpu". */
static const char *short_name(int kind)
{
        const char *slash = strrchr(resource_name(kind), '/');

        return slash ? slash + 1 : resource_name(kind);
}

/* The present usage of members on all nodes. False: unknown for all. */
static bool sum_usage(const json_t *nodes, gint64 *used)
{
        gint64 measured = 0;
        json_t *node;
        gsize i;

        json_array_foreach(nodes, i, node) {
                const json_t *usage = json_object_get(node, "usage");

                measured += int_of(usage, "measured");
                used[RESOURCE_CPU] +=
                        (gint64)(json_number_value(json_object_get(usage, "cores")) * 1000 + 0.5);
                used[RESOURCE_MEMORY] += int_of(usage, "memory");
        }
        return measured > 0;
}

static void append_room(GString *out, const TopPicture *picture, const Terminal *terminal)
{
        ResourceLimits total = amounts_of(picture->figures, "total"),
                       free = amounts_of(picture->figures, "free");
        g_autoptr(GString) line = g_string_new(NULL);
        gint64 used[RESOURCE_KINDS_MAX] = { 0 };
        gsize usable = 0, i;
        bool measured;
        json_t *node;

        json_array_foreach(picture->nodes, i, node)
                usable += json_is_true(json_object_get(node, "usable"));
        if (picture->nodes)
                g_string_append_printf(line, "%d of %d node%s  ", (int)usable,
                                       (int)json_array_size(picture->nodes),
                                       json_array_size(picture->nodes) == 1 ? "" : "s");
        measured = sum_usage(picture->nodes, used);
        for (int kind = 0; kind < resource_kinds(); kind++) {
                gint64 all = total.amount.amount[kind];
                g_autofree char *asked = quantity_text(kind, MAX(all - free.amount.amount[kind], 0));
                g_autofree char *of = quantity_text(kind, all), *now = quantity_text(kind, used[kind]);

                if (all > 0)
                        g_string_append_printf(line, "%s %s/%s asked", short_name(kind), asked, of);
                if (all > 0 && measured && (kind == RESOURCE_CPU || kind == RESOURCE_MEMORY))
                        g_string_append_printf(line, ", %s used", now);
                if (all > 0)
                        g_string_append(line, "  ");
        }
        append_cut(out, g_strchomp(line->str), terminal);
}

/* ---- queues ---- */

/* The kinds with a bar: GPUs first, if there are any, then as many as fit. */
static int choose_kinds(const ResourceLimits *total, int width, int *ret)
{
        static const int order[] = { RESOURCE_GPU, RESOURCE_CPU, RESOURCE_MEMORY };
        int room = MAX((width - NAME_COLUMNS - 2 * COUNT_COLUMNS) / (BAR_COLUMNS + BAR_TEXT + 2), 1), n = 0;

        for (gsize i = 0; i < G_N_ELEMENTS(order) && n < room; i++)
                if (total->amount.amount[order[i]] > 0)
                        ret[n++] = order[i];
        return n;
}

static void append_padded(GString *out, const char *text, int columns, bool utf8)
{
        g_autofree char *cut = text_cut_columns(text, columns, utf8);

        g_string_append_printf(out, "%s%*s", cut, columns - text_columns(cut), "");
}

/* The width of a bar beside the numbers on a narrow terminal; 0: none. */
static int bar_columns(int width)
{
        enum { BAR_LEAST = 6 };
        int room = width - NAME_COLUMNS - 2 * COUNT_COLUMNS - BAR_TEXT - 2;

        return room < BAR_LEAST ? 0 : MIN(room, BAR_COLUMNS);
}

static void append_queue(GString *out, const json_t *queue, const int *kinds, int n,
                         const ResourceLimits *total, const Terminal *terminal)
{
        g_autofree char *name = text_visible(text_of(queue, "name"));

        append_padded(out, name, NAME_COLUMNS - 1, terminal->utf8);
        if (terminal->width <= NAME_COLUMNS + 2 * COUNT_COLUMNS + BAR_TEXT + 2)
                n = 0;
        g_string_append_printf(out, "%*d%*d", COUNT_COLUMNS, (int)int_of(queue, "running"), COUNT_COLUMNS,
                               (int)int_of(queue, "pending"));
        for (int i = 0; i < n && bar_columns(terminal->width) > 0; i++) {
                Quota quota = quota_of(queue, kinds[i], total);
                g_autofree char *used = quantity_text(kinds[i], quota.used);
                g_autofree char *of = quantity_text(kinds[i], quota.whole);
                g_autofree char *text = g_strdup_printf(" %s/%s", used, of);

                g_string_append(out, "  ");
                quota_bar(out, &quota, bar_columns(terminal->width), terminal->utf8, terminal->out_colour);
                append_padded(out, text, i + 1 < n ? BAR_TEXT : MIN(text_columns(text), BAR_TEXT),
                              terminal->utf8);
        }
        g_string_append_c(out, '\n');
}

/* Queues with jobs first, otherwise in the server's order: those are shown if not all fit. */
static json_t *busy_first(const json_t *queues)
{
        json_t *busy = json_array(), *idle = json_array(), *queue;
        gsize i;

        json_array_foreach(queues, i, queue)
                json_array_append(int_of(queue, "running") + int_of(queue, "pending") > 0 ? busy : idle,
                                  queue);
        json_array_extend(busy, idle);
        json_decref(idle);
        return busy;
}

static void append_queues(GString *out, const TopPicture *picture, const Terminal *terminal, int lines,
                          bool note)
{
        g_autoptr(json_t) busy = busy_first(json_object_get(picture->figures, "queues"));
        ResourceLimits total = amounts_of(picture->figures, "total");
        int kinds[RESOURCE_KINDS_MAX], n = choose_kinds(&total, terminal->width, kinds);
        g_autoptr(GString) head = g_string_new(NULL);
        gsize i;
        json_t *queue;

        g_string_append_printf(head, "%-*s%*s%*s", NAME_COLUMNS - 1, "QUEUE", COUNT_COLUMNS, "RUN",
                               COUNT_COLUMNS, "WAIT");
        for (int k = 0; k < n && bar_columns(terminal->width) > 0; k++)
                g_string_append_printf(head, "  %-*s", BAR_COLUMNS + (k + 1 < n ? BAR_TEXT : 0),
                                       short_name(kinds[k]));
        g_string_append_c(out, '\n');
        append_head(out, g_strchomp(head->str), terminal);
        json_array_foreach(busy, i, queue) {
                if (lines > 0 && (int)i + 1 == lines && json_array_size(busy) > i + 1) {
                        g_string_append_printf(out, "... %d more\n", (int)(json_array_size(busy) - i));
                        break;
                }
                append_queue(out, queue, kinds, n, &total, terminal);
        }
        append_cut(out, quota_legend(terminal->utf8), terminal);
        if (note)
                append_cut(out, quota_note(), terminal);
}

/* ---- jobs ---- */

/* How long it has run or waited: "42s", "17m", "3h", "12d". */
static char *job_time(const json_t *job, gint64 now)
{
        static const struct {
                gint64 s;
                char unit;
        } units[] = { { 2 * 86400, 'd' }, { 2 * 3600, 'h' }, { 120, 'm' }, { 0, 's' } };
        static const gint64 sizes[] = { 86400, 3600, 60, 1 };
        gint64 since = time_of(job, "running_at"), seconds;
        gsize i = 0;

        if (since == 0)
                since = time_of(job, "submitted_at");
        seconds = MAX(now - since, 0) / 1000;
        while (seconds < units[i].s)
                i++;
        return since > 0 ? g_strdup_printf("%d%c", (int)(seconds / sizes[i]), units[i].unit) : g_strdup("-");
}

/* Widths of the columns before the reason; smaller on a narrow terminal. */
typedef struct {
        int name, user, queue, state;
} JobWidths;

static JobWidths job_widths(const Terminal *terminal)
{
        enum { NARROW = 110 };

        return terminal->width < NARROW ? (JobWidths){ 14, 8, 9, 8 } : (JobWidths){ 24, 12, 18, 10 };
}

/* "1.9 cores  3.2 GiB  GPU 87 % 40.0 GiB": the present usage of a job. */
static char *job_usage(const json_t *usage)
{
        g_autofree char *memory = bytes_format((guint64)MAX(int_of(usage, "memory"), 0));
        g_autofree char *gpu_memory = bytes_format((guint64)MAX(int_of(usage, "gpu_memory"), 0));
        g_autoptr(GString) out = g_string_new(NULL);

        g_string_append_printf(out, "%.1f cores  %s", json_number_value(json_object_get(usage, "cores")),
                               memory);
        if (is_set(usage, "gpu_percent"))
                g_string_append_printf(out, "  GPU %.0f %% %s",
                                       json_number_value(json_object_get(usage, "gpu_percent")), gpu_memory);
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* The first reason, also of a running job; without one, its usage. The caller's. */
static char *job_remark(const json_t *job)
{
        const char *reason = text_of(job, "reason");
        const json_t *usage = json_object_get(job, "usage_now");

        if (!*reason)
                reason = text_of(json_array_get(json_object_get(job, "reasons"), 0), "message");
        if (!*reason && usage && strcmp(text_of(job, "state"), "running") == 0)
                return json_is_object(usage) ? job_usage(usage) : g_strdup("not measured");
        return text_visible(reason);
}

static void append_job(GString *out, const json_t *job, gint64 now, const Terminal *terminal)
{
        JobWidths widths = job_widths(terminal);
        g_autofree char *name = text_visible(text_of(job, "name")), *time = job_time(job, now),
                        *user = text_visible(text_of(job, "user"));
        g_autofree char *reason = job_remark(job), *queue = text_visible(text_of(job, "queue"));
        const struct {
                const char *text;
                int columns;
        } cells[] = { { name, widths.name },
                      { user, widths.user },
                      { queue, widths.queue },
                      { text_of(job, "state"), widths.state } };
        g_autoptr(GString) line = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cells); i++) {
                append_padded(line, cells[i].text, cells[i].columns, terminal->utf8);
                g_string_append_c(line, ' ');
        }
        g_string_append_printf(line, "%4s  %s", time, reason);
        append_cut(out, g_strchomp(line->str), terminal);
}

static void append_jobs(GString *out, const json_t *jobs, gsize most, const TopPicture *picture,
                        const Terminal *terminal)
{
        gsize i;
        json_t *job;

        json_array_foreach(jobs, i, job) {
                if (i >= most)
                        break;
                append_job(out, job, picture->now, terminal);
        }
}

static int count_lines(const GString *out)
{
        int lines = 0;

        for (const char *c = out->str; *c; c++)
                lines += *c == '\n';
        return lines;
}

static void append_all_jobs(GString *out, const TopPicture *picture, const Terminal *terminal, int left)
{
        g_autoptr(GString) head = g_string_new(NULL);
        JobWidths widths = job_widths(terminal);
        int running = (int)json_array_size(picture->running),
            waiting = (int)json_array_size(picture->waiting), most;

        if (left < 3)
                return;
        left -= 2;
        most = waiting > left / 2 ? MAX(left - running, left / 2) : waiting;
        g_string_append_printf(head, "%-*s %-*s %-*s %-*s TIME  USES, WHY", widths.name, "JOB", widths.user,
                               "USER", widths.queue, "QUEUE", widths.state, "STATE");
        g_string_append_c(out, '\n');
        append_head(out, running + waiting > 0 ? head->str : "no open jobs", terminal);
        append_jobs(out, picture->running, (gsize)MAX(left - most, 0), picture, terminal);
        append_jobs(out, picture->waiting, (gsize)most, picture, terminal);
}

static void append_keys(GString *out, const Terminal *terminal)
{
        g_autofree char *cut = text_cut_columns("q quits", terminal->width - 1, terminal->utf8);

        g_string_append_printf(out, terminal->out_colour ? "\033[2m%s\033[0m\n" : "%s\n", cut);
}

char *top_draw(const TopPicture *picture, const Terminal *terminal, int height)
{
        g_autoptr(GString) out = g_string_new(NULL);
        int keys = height >= KEYS_HEIGHT; /* lines at the bottom */

        append_title(out, picture, terminal);
        append_room(out, picture, terminal);
        append_queues(out, picture, terminal, height > 0 ? MAX(height / QUEUES_SHARE - 4, 1) : 0,
                      height == 0 || height >= NOTE_HEIGHT);
        append_all_jobs(out, picture, terminal,
                        height > 0 ? height - keys - count_lines(out) : 2 * JOBS_UNLIMITED);
        for (int i = count_lines(out); keys && i < height - 1; i++)
                g_string_append_c(out, '\n');
        if (keys)
                append_keys(out, terminal);
        return g_string_free(g_steal_pointer(&out), FALSE);
}
