/* The summary of a job (see summary.h). */
#include "cli/summary.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/table.h"
#include "model/job.h"

enum { BAR_COLUMNS = 30, END_COLUMNS = 60 };

static const struct {
        const char *name, *member;
} stages[] = {
        { "queued", "queued_ms" },
        { "environment", "environment_ms" },
        { "starting", "starting_ms" },
        { "running", "running_ms" },
};

bool job_is_final(const json_t *job)
{
        JobState state;

        return job_state_parse(text_of(job, "state"), &state) && job_state_is_final(state);
}

bool job_succeeded(const json_t *job)
{
        return strcmp(text_of(job, "state"), job_state_name(JOB_SUCCEEDED)) == 0;
}

/* A bar in eighths of a column with block characters, in whole columns without them. */
static void append_bar(GString *out, gint64 part, gint64 whole, bool utf8)
{
        static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
        double columns = whole > 0 ? (double)part / (double)whole * BAR_COLUMNS : 0;
        int eighth = MAX((int)(columns * 8 + 0.5), part > 0 ? 1 : 0);
        int full = utf8 ? eighth / 8 : (int)(columns + 0.5);

        for (int i = 0; i < full; i++)
                g_string_append(out, utf8 ? "█" : "#");
        if (utf8)
                g_string_append(out, eighths[eighth % 8]);
}

static void append_cpu(GString *out, const json_t *usage)
{
        g_autofree char *time = duration_format(int_of(usage, "cpu_ms"));

        g_string_append_printf(out, "  %-11s  %9s", "CPU", time);
        if (is_set(usage, "cpu_efficiency"))
                g_string_append_printf(out, "  %.0f %% of the cores asked for",
                                       json_number_value(json_object_get(usage, "cpu_efficiency")) * 100);
        g_string_append_c(out, '\n');
}

static void append_memory(GString *out, const json_t *usage)
{
        g_autofree char *peak = bytes_format((guint64)MAX(int_of(usage, "peak_memory"), 0));

        if (int_of(usage, "peak_memory") <= 0)
                return;
        g_string_append_printf(out, "  %-11s  %9s", "peak memory", peak);
        if (is_set(usage, "memory_efficiency"))
                g_string_append_printf(out, "  %.0f %% of the memory asked for",
                                       json_number_value(json_object_get(usage, "memory_efficiency")) * 100);
        g_string_append_c(out, '\n');
}

/* The environment is prepared while the job is queued: its time is subtracted from the queue's, so that the
 * parts add up. */
static gint64 stage_ms(const json_t *times, gsize stage)
{
        gint64 ms = int_of(times, stages[stage].member);

        if (strcmp(stages[stage].name, "queued") == 0)
                ms -= MAX(int_of(times, "environment_ms"), 0);
        return MAX(ms, 0);
}

char *summary_stages(const json_t *job, const Terminal *terminal, bool colour)
{
        const json_t *times = json_object_get(job, "stages"), *usage = json_object_get(job, "usage");
        g_autoptr(GString) out = g_string_new(NULL);
        gint64 whole = 0;

        for (gsize i = 0; i < G_N_ELEMENTS(stages); i++)
                whole += stage_ms(times, i);
        for (gsize i = 0; i < G_N_ELEMENTS(stages); i++) {
                gint64 ms = stage_ms(times, i);
                g_autofree char *time = duration_format(ms);

                g_string_append_printf(out, "  %-11s  %9s  %s", stages[i].name, time,
                                       colour ? "\033[36m" : "");
                append_bar(out, ms, whole, terminal->utf8);
                g_string_append(out, colour ? "\033[0m\n" : "\n");
        }
        if (json_is_object(usage)) {
                append_cpu(out, usage);
                append_memory(out, usage);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *summary_line(const json_t *job, bool colour)
{
        bool good = job_succeeded(job);
        gint64 from = time_of(job, "submitted_at"), to = time_of(job, "finished_at");
        g_autofree char *time = to >= from && from > 0 ? duration_format(to - from) : NULL;
        g_autofree char *name = text_visible(text_of(job, "name"));
        g_autofree char *reason = text_visible(text_of(job, "reason"));
        g_autofree char *state = state_text(text_of(job, "state"), colour);

        return g_strdup_printf("%s %s%s%s%s%s", name, state, time ? " after " : "", time ? time : "",
                               !good && *reason ? ": " : "", good ? "" : reason);
}

char *summary_elements(const json_t *array)
{
        const json_t *elements = json_object_get(array, "elements");
        g_autoptr(GString) out = g_string_new(NULL);

        for (int state = JOB_STATES - 1; state >= 0; state--) {
                const char *name = job_state_name((JobState)state);

                if (int_of(elements, name) > 0)
                        g_string_append_printf(out, "%s%d %s", out->len ? ", " : "",
                                               (int)int_of(elements, name), name);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *summary_failed(const json_t *array)
{
        const json_t *elements = json_object_get(array, "elements"), *job;
        int failed = (int)(int_of(elements, "failed") + int_of(elements, "preempted")), shown = 0;
        g_autoptr(GString) out = g_string_new(NULL);
        gsize i;

        json_array_foreach(json_object_get(array, "failed"), i, job) {
                g_autofree char *reason = text_visible(text_of(job, "reason"));

                g_string_append_printf(out, "%s  %s %s: %s", out->len ? "\n" : "", text_of(job, "name"),
                                       text_of(job, "state"), reason);
                shown++;
        }
        if (failed > shown)
                g_string_append_printf(out, "\n  and %d more: `paddle list --array %s --state failed`",
                                       failed - shown, text_of(array, "name"));
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *signal_text(int number)
{
        const char *name = sigabbrev_np(number);

        return name ? g_strdup_printf("signal %d (%s)", number, name) : g_strdup_printf("signal %d", number);
}

char *member_end(const json_t *member)
{
        bool oom = json_is_true(json_object_get(member, "oom"));
        g_autofree char *text = NULL;

        if (is_set(member, "error") && *text_of(member, "error")) {
                g_autofree char *why = text_visible(text_of(member, "error"));

                return g_strdup_printf("not started: %s", why);
        }
        if (int_of(member, "signal") > 0)
                text = signal_text((int)int_of(member, "signal"));
        else if (is_set(member, "exit_code") && int_of(member, "exit_code") >= 0)
                text = g_strdup_printf("exit %d", (int)int_of(member, "exit_code"));
        else
                return g_strdup(text_of(member, "state"));
        return g_strdup_printf("%s%s", text, oom ? ", out of memory" : "");
}

static char *member_time(const json_t *member)
{
        gint64 from = time_of(member, "started_at"), to = time_of(member, "finished_at");

        if (from > 0 && to == 0)
                to = clock_now_ms();
        return from > 0 && to >= from ? duration_format(to - from) : NULL;
}

/* Members on this machine have no node. */
static bool any_has_node(const json_t *members)
{
        const json_t *member;
        gsize i;

        json_array_foreach(members, i, member)
                if (is_set(member, "node"))
                        return true;
        return false;
}

/* ---- present usage ---- */

static bool runs(const json_t *member)
{
        return is_set(member, "started_at") && !is_set(member, "finished_at");
}

/* True if the reply has the present usage of a running member. */
static bool any_is_live(const json_t *members)
{
        const json_t *member;
        gsize i;

        json_array_foreach(members, i, member)
                if (runs(member) && json_object_get(member, "usage"))
                        return true;
        return false;
}

/* Its present usage; NULL: it does not run. */
static char *live_text(const json_t *member, char *(*format)(const json_t *usage))
{
        const json_t *usage = json_object_get(member, "usage");

        if (!runs(member) || !usage)
                return NULL;
        return json_is_object(usage) ? format(usage) : g_strdup("not measured");
}

static char *cores_text(const json_t *usage)
{
        return g_strdup_printf("%.2f", json_number_value(json_object_get(usage, "cores")));
}

static char *memory_text(const json_t *usage)
{
        return bytes_format((guint64)MAX(int_of(usage, "memory"), 0));
}

/* "87 % 40.0 GiB" for each; "-" without any. */
static char *gpus_text(const json_t *usage)
{
        const json_t *gpus = json_object_get(usage, "gpus"), *gpu;
        g_autoptr(GString) out = g_string_new(NULL);
        gsize i;

        json_array_foreach(gpus, i, gpu) {
                g_autofree char *memory = bytes_format((guint64)MAX(int_of(gpu, "memory"), 0));

                g_string_append(out, out->len ? ", " : "");
                if (is_set(gpu, "percent"))
                        g_string_append_printf(out, "%d %% ", (int)int_of(gpu, "percent"));
                g_string_append(out, memory);
        }
        return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

/* The measured usage of a running member, otherwise the total at its end. */
static gint64 used_of(const json_t *member, const char *name)
{
        const json_t *usage = json_object_get(member, "usage");

        return int_of(json_is_object(usage) ? usage : member, name);
}

gint64 summary_cpu_ms(const json_t *members)
{
        const json_t *member;
        gint64 sum = 0;
        gsize i;

        json_array_foreach(members, i, member)
                sum += used_of(member, "cpu_ms");
        return sum;
}

static void member_row(Table *table, const json_t *member, bool live)
{
        gint64 cpu_ms = used_of(member, "cpu_ms"), peak_bytes = used_of(member, "peak_memory");
        g_autofree char *why = member_end(member); /* the job's reason has the full text */
        g_autofree char *end = text_cut_columns(why, END_COLUMNS, true), *time = member_time(member);
        g_autofree char *cpu = cpu_ms > 0 ? duration_format(cpu_ms) : NULL;
        g_autofree char *peak = peak_bytes > 0 ? bytes_format((guint64)peak_bytes) : NULL;
        g_autofree char *cores = live_text(member, cores_text), *memory = live_text(member, memory_text),
                        *gpus = live_text(member, gpus_text);
        const char *node = text_of(member, "node"), *name = text_of(member, "name");

        if (live)
                table_row(table,
                          (const char *const[]){ name, end, time, cores, memory, gpus, cpu, peak, node });
        else
                table_row(table, (const char *const[]){ name, end, time, cpu, peak, node });
}

void summary_members(const json_t *members, int indent, FILE *to)
{
        const char *node = any_has_node(members) ? "NODE" : NULL;
        const char *const ended[] = { "MEMBER", "END", ">TIME", ">CPU", ">PEAK MEMORY", node, NULL };
        const char *const running[] = { "MEMBER", "STATE", ">TIME",        ">CORES", ">MEMORY",
                                        ">GPU",   ">CPU",  ">PEAK MEMORY", node,     NULL };
        bool live = any_is_live(members);
        g_autoptr(Table) table = table_new(live ? running : ended);
        gsize i;
        json_t *member;

        json_array_foreach(members, i, member)
                member_row(table, member, live);
        table_print(table, indent, to);
}
