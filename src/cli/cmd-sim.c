/* paddle sim: runs a trace of jobs through the scheduler on a described cluster. Needs no server. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/series.h"
#include "cli/verbs.h"
#include "sim/simulate.h"

enum {
        TRACE_MAX = 1024 * 1024 * 1024,
        ROOM_MAX = 16 * 1024 * 1024,
        DRAW_COLUMNS = 72,
        DRAW_ROWS = 6,
};

typedef struct {
        Common common;
        char *room, *format;
        gint64 max_passes;
} Sim;

static const Option options[] = {
        { "room", 'r', OPTION_STRING, offsetof(Sim, room), "FILE", "nodes and queues, YAML or JSON" },
        { "max-passes", 0, OPTION_INT, offsetof(Sim, max_passes), "N", "end after N passes of the scheduler",
          .min = 1 },
        FORMAT_REPORT_OPTION(offsetof(Sim, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- simulating ---- */

typedef struct {
        const Room *room;
        Series series[RESOURCE_KINDS_MAX];
} Watch;

static void watch_held(gint64 from, gint64 to, const Resources *held, const Resources *total, void *arg)
{
        Watch *watch = arg;

        for (int kind = 0; kind < resource_kinds(); kind++)
                if (total->amount[kind] > 0)
                        series_add(&watch->series[kind], from, to,
                                   (double)held->amount[kind] / (double)total->amount[kind]);
}

static bool load(const char *path, gsize max, char **ret, gsize *ret_len, GError **error)
{
        bool is_stdin = strcmp(path, "-") == 0;
        g_autoptr(GError) cause = NULL;

        if (file_read(is_stdin ? "/dev/stdin" : path, max, ret, ret_len, &cause))
                return true;
        return err_set(error, ERR_USAGE, "%s", cause->message);
}

static const char *shown_name(const char *path)
{
        return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* An invalid file is a usage error: nothing was done. */
static bool usage(GError *cause, GError **error)
{
        g_autoptr(GError) own = cause;
        g_autofree char *text = err_text(own);

        return err_set(error, ERR_USAGE, "%s%s%s", text, err_hint(own) ? "\n" : "",
                       err_hint(own) ? err_hint(own) : "");
}

static bool play(const Sim *sim, const char *trace_path, Watch *watch, gint64 *ret_left_out, Room **ret_room,
                 Simulation *ret, GError **error)
{
        SimulateOptions about = { .max_passes = sim->max_passes, .held = watch_held, .arg = watch };
        g_autofree char *room_text = NULL, *trace_text = NULL;
        g_autoptr(Room) room = NULL;
        g_autoptr(Trace) trace = NULL;
        gint64 began = clock_monotonic_ms();
        GError *cause = NULL;
        gsize len;

        if (!load(sim->room, ROOM_MAX, &room_text, &len, error))
                return false;
        room = room_parse(room_text, len, shown_name(sim->room), &cause);
        if (!room)
                return usage(cause, error);
        if (!load(trace_path, TRACE_MAX, &trace_text, &len, error))
                return false;
        trace = trace_parse(trace_text, len, shown_name(trace_path), room, &cause);
        if (!trace)
                return usage(cause, error);
        if (!simulate(room, trace, &about, ret, error))
                return false;
        ret->wall_s = (double)(clock_monotonic_ms() - began) / 1000;
        *ret_left_out = trace_left_out(trace);
        *ret_room = g_steal_pointer(&room); /* names in the result refer to it */
        return true;
}

/* ---- the tables ---- */

static char *percent(double part)
{
        return part < 0 ? NULL : g_strdup_printf("%.1f %%", part * 100);
}

static void print_summary(const Simulation *simulation, gint64 left_out)
{
        g_autofree char *span = duration_format(simulation->end - simulation->start);
        g_autofree char *jobs = count_format(simulation->wait.started + simulation->unstarted, "job");
        g_autofree char *passes = count_format(simulation->passes, "pass");

        printf("%s in %s; %" G_GINT64_FORMAT " started, %" G_GINT64_FORMAT
               " ended; %s in %.1f s of real time\n",
               jobs, span, simulation->wait.started, simulation->wait.ended, passes, simulation->wall_s);
        if (simulation->unstarted > 0)
                printf("%" G_GINT64_FORMAT " never started: too large for the cluster, or behind such a "
                       "job\n",
                       simulation->unstarted);
        if (left_out > 0)
                printf("%" G_GINT64_FORMAT
                       " lines of the trace have no run time or no processors, and were left out\n",
                       left_out);
}

static void print_waits(const Simulation *simulation)
{
        static const char *const heads[] = { "QUEUE", ">JOBS",      ">WAIT MEAN", ">P50",        ">P95",
                                             ">MAX",  ">EVICTIONS", ">SHARE",     ">OF ITS DUE", NULL };
        g_autoptr(Table) table = table_new(heads);
        double service = 0;

        for (int i = 0; i < simulation->n_queues; i++)
                service += simulation->queues[i].service;
        for (int i = 0; i <= simulation->n_queues; i++) {
                const SimulatedQueue *queue = i < simulation->n_queues ? &simulation->queues[i] : NULL;
                const SimulatedWait *wait = queue ? &queue->wait : &simulation->wait;
                g_autofree char *jobs = g_strdup_printf("%" G_GINT64_FORMAT, wait->jobs);
                g_autofree char *mean = duration_format(wait->mean), *p50 = duration_format(wait->p50),
                                *p95 = duration_format(wait->p95), *most = duration_format(wait->max);
                g_autofree char *evictions =
                        queue ? g_strdup_printf("%" G_GINT64_FORMAT, queue->evictions) : NULL;
                g_autofree char *share = queue && service > 0 ? percent(queue->service / service) : NULL;
                g_autofree char *due = queue && queue->contended_s > 0 ? percent(queue->contended) : NULL;

                table_row(table, (const char *const[]){ queue ? queue->name : "all", jobs, mean, p50, p95,
                                                        most, evictions, share, due });
        }
        table_print(table, 0, stdout);
}

static void print_utilisation(const Simulation *simulation)
{
        static const char *const heads[] = { "RESOURCE", ">IN USE", ">USEFUL", ">AT BEST", NULL };
        g_autoptr(Table) table = table_new(heads);

        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *used = percent(simulation->utilisation[kind]),
                                *useful = percent(simulation->useful[kind]),
                                *bound = percent(simulation->bound[kind]);

                if (used)
                        table_row(table, (const char *const[]){ resource_name(kind), used, useful, bound });
        }
        table_print(table, 0, stdout);
}

static void print_fairness(const Simulation *simulation)
{
        if (simulation->fairness_queues >= 0)
                printf("fairness between queues %.3f (Jain's index of what each got of its due; 1: all "
                       "alike)\n",
                       simulation->fairness_queues);
        if (simulation->fairness_users >= 0)
                printf("fairness between users  %.3f\n", simulation->fairness_users);
}

static void print_decisions(const Simulation *simulation)
{
        printf("decisions:");
        for (int kind = 0; kind < DECIDE_KINDS; kind++)
                printf("%s %" G_GINT64_FORMAT " %s", kind > 0 ? "," : "", simulation->decisions[kind],
                       decision_kind_name((DecisionKind)kind));
        printf("; by rule:");
        for (int rule = 0; rule < RULES; rule++)
                printf("%s %" G_GINT64_FORMAT " %s", rule > 0 ? "," : "", simulation->rules[rule],
                       decision_rule_name((DecisionRule)rule));
        putchar('\n');
}

/* GPUs if there are any: they are the scarce resource. */
static void draw_use(const Cli *cli, const Simulation *simulation, const Watch *watch)
{
        int kind = simulation->utilisation[RESOURCE_GPU] >= 0 ? RESOURCE_GPU : RESOURCE_CPU;
        g_autoptr(GString) out = g_string_new(NULL);

        series_draw(out, &watch->series[kind], simulation->end, MIN(cli->terminal.width - 1, DRAW_COLUMNS),
                    DRAW_ROWS, cli->terminal.utf8);
        if (out->len > 0)
                printf("\n%s in use\n%s", resource_name(kind), out->str);
}

static void print_all(const Cli *cli, const Simulation *simulation, const Watch *watch, gint64 left_out)
{
        print_summary(simulation, left_out);
        putchar('\n');
        print_waits(simulation);
        putchar('\n');
        print_utilisation(simulation);
        draw_use(cli, simulation, watch);
        putchar('\n');
        print_fairness(simulation);
        print_decisions(simulation);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Sim *sim = target;
        g_autofree Watch *watch = g_new0(Watch, 1);
        g_autoptr(Room) room = NULL;
        g_autoptr(json_t) json = NULL;
        Simulation simulation = { 0 };
        gint64 left_out = 0;
        Format format;

        if (!format_parse(cli, sim->format, &format, error))
                return false;
        if (!sim->room)
                return err_set(error, ERR_USAGE,
                               "--room is missing\nGive a file with nodes and queues: --room room.yaml "
                               "(example in doc/guide/cli.md).");
        if (!play(sim, words[0], watch, &left_out, &room, &simulation, error))
                return false;
        if (format == FORMAT_JSON || format == FORMAT_YAML) {
                json = simulation_format(&simulation);
                format_print(json, format, NULL);
        } else {
                print_all(cli, &simulation, watch, left_out);
        }
        simulation_clear(&simulation);
        return true;
}

const Verb verb_sim = {
        .name = "sim",
        .args = "TRACE",
        .summary = "Simulate a trace of jobs in the scheduler: waiting times, utilization, fairness",
        .about = "No job runs: the clock jumps from event to event, so a day of a large cluster takes "
                 "seconds. The room is a file of nodes and queues; the trace has a line of JSON for each "
                 "job, or is in the Standard Workload Format. doc/guide/cli.md shows both.\n\nIN USE is the "
                 "part of the nodes' capacity that jobs held, USEFUL is the same without work lost by "
                 "evictions, AT BEST is an upper bound for any scheduler. OF ITS DUE is a queue's usage "
                 "while other queues had waiting jobs, divided by its entitlement from min and weight.",
        .examples = "paddle sim trace.jsonl --room room.yaml\n"
                    "paddle sim trace.swf --room room.yaml -o json\tthe figures, for programs",
        .options = options,
        .size = sizeof(Sim),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run,
};
