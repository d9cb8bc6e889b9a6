/* Figures of a run's state machine and of definitions, a JSON object a line:
 *
 *     bench-runs SHAPE [STEPS [ROUNDS]]      machine wide|deep|random|nested, or `all`
 *
 * A definition of about STEPS steps (100,000), each with its own parameters and an output, is compiled and run, 20 steps
 * at a time, whose ends come in a random order. Each event is followed by run_work and run_keep, as a batch of the engine
 * does it.
 *
 * Now and then, when the run has nothing more to do, all instances are looked at: which ones may start follows from the
 * ends that were told and from the definition alone, without the counts of the run. A difference ends the program. The
 * time of these looks is not counted; neither is that of rendering, which is a figure of its own: the parameters, the
 * environment and the paths of one in so many instances.
 *
 * Times are of the processor. A node of more than 300 bytes, or a definition of more than three times its text, ends the
 * program, too. A text below 16 KiB may be more: what every definition has counts there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/number.h"
#include "pipeline/render.h"
#include "pipeline/run.h"

enum {
        STEPS = 100 * 1000,
        IN_FLIGHT = 20,
        BUDGET = 256, /* as the engine gives one run in a batch */
        LOOKS = 50,   /* at all instances, in one run */
        RENDERED = 20 * 1000,
        NODES_MAX = 1000 * 1000,
        NODE_BYTES = 300, /* the bars of memory: */
        OF_TEXT = 3,
        LARGE_TEXT = 16 * 1024,
};

#define HEAD                                                                                                 \
        "name: bench\nparallelism: 20\nfs_options: {main_fs: {name: home, sub_path: runs}}\nentry_points:\n"

static double now_s(void)
{
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static guint draw(guint64 *random, guint n)
{
        guint64 x = *random += 0x9e3779b97f4a7c15;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return (guint)((x ^ x >> 31) % n);
}

/* ---- the definitions ---- */

/* One step that all others need, and one that needs all others. */
static void write_wide(GString *out, guint steps)
{
        g_string_append(out, "  z: {command: \"c {{n}}\", parameters: {n: 0}, artifacts: {output: [o]}}\n");
        for (guint i = 2; i < steps; i++)
                g_string_append_printf(
                        out,
                        "  s%u: {command: \"c {{n}}\", deps: z, parameters: {n: %u, p: \"{{z.n}}\"},"
                        " artifacts: {output: [o]}}\n",
                        i, i);
        g_string_append(out, "  end: {command: c, deps: \"z");
        for (guint i = 2; i < steps; i++)
                g_string_append_printf(out, ",s%u", i);
        g_string_append(out, "\"}\n");
}

/* A chain, through which a parameter goes, and the output of each step to the next. */
static void write_deep(GString *out, guint steps)
{
        g_string_append(out, "  s0: {command: c, parameters: {p: 7}, artifacts: {output: [o]}}\n");
        for (guint i = 1; i < steps; i++)
                g_string_append_printf(
                        out,
                        "  s%u: {command: \"c {{p}}\", deps: s%u, parameters: {p: \"{{s%u.p}}\"},"
                        " artifacts: {input: {i: \"{{s%u.o}}\"}, output: [o]}}\n",
                        i, i - 1, i - 1, i - 1);
}

/* Each needs up to three of the thousand before it, nearer ones first. */
static void write_random(GString *out, guint steps)
{
        guint64 random = 1;

        for (guint i = 0; i < steps; i++) {
                guint n = draw(&random, 4), at = i;

                g_string_append_printf(out, "  s%u: {command: \"c {{n}}\", deps: \"", i);
                for (guint k = 0; k < n && at > 0; k++) {
                        at -= 1 + draw(&random, MIN(at, 333));
                        g_string_append_printf(out, "%ss%u", k ? "," : "", at);
                }
                g_string_append_printf(out, "\", parameters: {n: %u", i);
                if (at < i)
                        g_string_append_printf(out, ", p: \"{{s%u.n}}\"", at);
                g_string_append(out, "}, artifacts: {output: [o]}}\n");
        }
}

static void write_list(GString *out, guint n)
{
        for (guint i = 0; i < n; i++)
                g_string_append_printf(out, "%s%u", i ? "," : "[", i);
        g_string_append(out, "]");
}

/* 20 times 20 DAGs, each with a loop of steps. */
static void write_nested(GString *out, guint steps)
{
        g_string_append(out, "  outer:\n    loop_argument: ");
        write_list(out, 20);
        g_string_append(
                out,
                "\n    entry_points:\n      first: {command: \"c {{n}}\", parameters: {n: 1},"
                " artifacts: {output: [o]}}\n      inner:\n        deps: first\n        loop_argument: ");
        write_list(out, 20);
        g_string_append(out, "\n        entry_points:\n          many:\n            loop_argument: ");
        write_list(out, MAX(steps / 400, 3) - 2);
        g_string_append(
                out,
                "\n            command: \"c {{n}} {{PF_LOOP_ARGUMENT}}\"\n            parameters: {n: 2}\n"
                "            artifacts: {output: [o]}\n"
                "          last: {command: \"c {{n}}\", deps: many, parameters: {n: \"{{many.n}}\"},"
                " artifacts: {output: [o]}}\n");
}

static const struct {
        const char *name;
        void (*write)(GString *out, guint steps);
} shapes[] = {
        { "wide", write_wide }, { "deep", write_deep }, { "random", write_random }, { "nested", write_nested }
};

/* ---- a run ---- */

typedef struct {
        Definition *definition;
        Run *run;
        GArray *running; /* guint32: nodes of steps that have no end yet */
        GArray *ends;    /* guint8, by node: 1 if its end was told */
        guint64 random, started, transitions;
        guint expanded;
        bool ended;
        double apart_s; /* time of looks and of rendering */
} Bench;

static void G_GNUC_PRINTF(1, 2) fail(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        fputs("bench-runs: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
        exit(1);
}

static void expand(Bench *bench, guint32 child)
{
        guint32 component = component_target(bench->definition, run_child_component(bench->run, child));
        const Value *loop = &component_extra(bench->definition, component)->loop;

        if (!run_expanded(bench->run, child, loop->list.count, false))
                fail("the run is too large");
}

static void act(void *arg, RunActionKind kind, guint32 index)
{
        Bench *bench = arg;

        switch (kind) {
        case ACTION_EXPAND: expand(bench, index); break;
        case ACTION_START:
                run_started(bench->run, index, index);
                g_array_append_val(bench->running, index);
                bench->started++;
                bench->transitions += 2; /* STARTING, RUNNING */
                break;
        case ACTION_PAUSE: break;
        case ACTION_END: bench->ended = true; break;
        default: fail("a run without conditions and failures asked for action %d", kind);
        }
}

/* ---- the naive model: which instances may start, by the ends alone ---- */

static bool is_done(const Bench *bench, const bool *dag_done, guint32 child)
{
        const RunChild *at = run_child(bench->run, child);

        if (at->first == (guint32)RUN_NONE)
                return false;
        for (guint32 node = at->first; node < at->first + at->count; node++) {
                const RunNode *made = run_node(bench->run, node);

                if (made->state == NODE_NONE)
                        return false;
                if (made->inner != (guint32)RUN_NONE ? !dag_done[made->inner]
                                                     : !g_array_index(bench->ends, guint8, node))
                        return false;
        }
        return true;
}

static bool may_start(const Bench *bench, const bool *child_done, guint32 dag, guint32 child)
{
        const Definition *definition = bench->definition;
        const Component *component = &definition->components[run_child_component(bench->run, child)];

        for (guint32 link = component->dependencies; link < component[1].dependencies; link++)
                if (!child_done[run_child_of(bench->run, dag, definition->links[link])])
                        return false;
        return true;
}

static void check_dag(const Bench *bench, const bool *child_done, guint32 dag)
{
        const RunDag *at = run_dag(bench->run, dag);

        for (guint32 child = at->children; child < at->children + at->n_children; child++) {
                const RunChild *is = run_child(bench->run, child);
                bool begun = is->ready || is->started;

                if (begun != may_start(bench, child_done, dag, child))
                        fail("'%s' in DAG %u %s, but its dependencies say otherwise",
                             component_name(bench->definition, run_child_component(bench->run, child)), dag,
                             begun ? "may start" : "waits");
                if (is->ready && run_slots_used(bench->run) < IN_FLIGHT)
                        fail("a step is ready, and only %u of %d run", run_slots_used(bench->run), IN_FLIGHT);
        }
}

/* DAGs come after those around them. */
static void look_at_all(Bench *bench)
{
        double began = now_s();
        guint32 dags = run_dags(bench->run), n_children = 0;
        g_autofree bool *dag_done = g_new0(bool, dags);
        g_autofree bool *child_done = NULL;

        for (guint32 d = 0; d < dags; d++)
                n_children += run_dag(bench->run, d)->n_children;
        child_done = g_new0(bool, n_children + 1);
        g_array_set_size(bench->ends, run_nodes(bench->run));
        for (guint32 d = dags; d-- > 0;) {
                const RunDag *dag = run_dag(bench->run, d);

                dag_done[d] = true;
                for (guint32 child = dag->children; child < dag->children + dag->n_children; child++) {
                        child_done[child] = is_done(bench, dag_done, child);
                        dag_done[d] &= child_done[child];
                }
        }
        for (guint32 d = 0; d < dags; d++)
                check_dag(bench, child_done, d);
        if (run_slots_used(bench->run) != bench->running->len)
                fail("%u slots are used by %u steps", run_slots_used(bench->run), bench->running->len);
        bench->apart_s += now_s() - began;
}

/* ---- rendering ---- */

/* The DAGs around an instance, the innermost one last. */
static guint chain_of(const Bench *bench, guint32 dag, RenderDag *ret)
{
        guint32 node = run_dag(bench->run, dag)->node;
        const RunNode *at = run_node(bench->run, node);
        guint n;

        if (node == RUN_ROOT || node == RUN_POST) {
                ret[0] = (RenderDag){ .component = node == RUN_ROOT ? DEFINITION_ROOT : DEFINITION_POST,
                                      .id = dag + 1 };
                return 1;
        }
        n = chain_of(bench, at->dag, ret);
        ret[n] = (RenderDag){ &ret[n - 1], at->component, at->number, NULL, dag + 1 };
        return n + 1;
}

static void render(const Bench *bench, const RenderContext *context, guint32 node)
{
        const RunNode *at = run_node(bench->run, node);
        RenderDag dags[DEFINITION_DEPTH_MAX + 2];
        guint n = chain_of(bench, at->dag, dags);
        g_autoptr(GError) error = NULL;
        g_auto(Rendered) rendered = { 0 };

        if (!render_instance(context, &dags[n - 1], at->component, at->number, NULL, NULL, &rendered, &error))
                fail("%s", error->message);
}

/* Microseconds of one, in the order in which they started. */
static double measure_rendering(const Bench *bench)
{
        g_autoptr(GHashTable) lists = render_lists(bench->definition);
        g_auto(RenderMemo) memo = { 0 };
        const RenderContext context = { .definition = bench->definition,
                                        .run_id = "0123456789abcdef",
                                        .user = "ann",
                                        .lists = lists,
                                        .memo = &memo };
        guint32 step = MAX(run_nodes(bench->run) / RENDERED, 1);
        double began = now_s();
        guint n = 0;

        for (guint32 node = RUN_POST + 1; node < run_nodes(bench->run); node += step, n++)
                if (run_node(bench->run, node)->inner == (guint32)RUN_NONE)
                        render(bench, &context, node);
        return (now_s() - began) * 1e6 / n;
}

/* ---- figures ---- */

static void work(Bench *bench)
{
        guint budget;

        do {
                budget = BUDGET;
        } while (run_work(bench->run, &budget, act, bench));
        run_keep(bench->run);
}

static void end_one(Bench *bench)
{
        guint at = draw(&bench->random, bench->running->len);
        guint32 node = g_array_index(bench->running, guint32, at);

        g_array_remove_index_fast(bench->running, at);
        g_array_set_size(bench->ends, MAX(bench->ends->len, node + 1));
        g_array_index(bench->ends, guint8, node) = 1;
        run_ended(bench->run, node, NODE_SUCCEEDED);
        bench->transitions++;
}

/* Seconds of the state machine. */
static double play(Bench *bench, guint steps)
{
        double began = now_s();
        guint64 every = MAX(steps / LOOKS, 1), ends = 0;

        run_begin(bench->run);
        work(bench);
        while (!bench->ended) {
                if (bench->running->len == 0)
                        fail("nothing runs, and the run has not ended");
                if (ends++ % every == 0)
                        look_at_all(bench);
                end_one(bench);
                work(bench);
        }
        look_at_all(bench);
        bench->transitions += 2ull * run_dags(bench->run); /* RUNNING and SUCCEEDED of each */
        return now_s() - began - bench->apart_s;
}

static void measure_run(const char *shape, Definition *definition, guint steps, guint seed)
{
        Bench bench = { .definition = definition,
                        .run = run_new(definition, NODES_MAX),
                        .running = g_array_new(FALSE, FALSE, sizeof(guint32)),
                        .ends = g_array_new(FALSE, TRUE, 1),
                        .random = seed };
        double seconds;

        seconds = play(&bench, steps);
        if (run_state(bench.run) != NODE_SUCCEEDED || bench.running->len > 0)
                fail("the run is %s", node_state_name(run_state(bench.run)));
        printf("{\"bench\": \"machine\", \"shape\": \"%s\", \"steps\": %" G_GUINT64_FORMAT
               ", \"nodes\": %u, \"seconds\": %.4f, \"transitions_per_s\": %.0f, \"bytes_per_node\": %.1f,"
               " \"looks\": %d, \"render_us\": %.2f}\n",
               shape, bench.started, run_nodes(bench.run), seconds, (double)bench.transitions / seconds,
               (double)run_size(bench.run) / run_nodes(bench.run), LOOKS, measure_rendering(&bench));
        fflush(stdout);
        if (run_size(bench.run) > (gsize)NODE_BYTES * run_nodes(bench.run))
                fail("%s: a node takes more than %d bytes", shape, NODE_BYTES);
        run_free(bench.run);
        g_array_unref(bench.running);
        g_array_unref(bench.ends);
}

static Definition *compile(const char *shape, const GString *text)
{
        g_auto(Problems) problems = { 0 };
        double began = now_s();
        Definition *ret;

        problems_init(&problems);
        ret = definition_parse(text->str, text->len, &(DefinitionRequest){ .image_optional = true },
                               &problems);
        if (!ret) {
                g_autofree char *problem = problem_format(problems_first(&problems));

                fail("%s: %s", shape, problem);
        }
        printf("{\"bench\": \"compile\", \"shape\": \"%s\", \"ms\": %.1f, \"text\": %zu, \"compiled\": %zu,"
               " \"of_text\": %.3f}\n",
               shape, (now_s() - began) * 1000, text->len, ret->size, (double)ret->size / (double)text->len);
        if (text->len >= LARGE_TEXT && ret->size > OF_TEXT * text->len)
                fail("%s: the definition takes more than %d times its text", shape, OF_TEXT);
        return ret;
}

static void measure(gsize shape, guint steps, guint rounds)
{
        g_autoptr(GString) text = g_string_new(HEAD);
        Definition *definition;

        shapes[shape].write(text, steps);
        definition = compile(shapes[shape].name, text);
        for (guint i = 0; i < rounds; i++)
                measure_run(shapes[shape].name, definition, steps, i + 1);
        definition_free(definition);
}

int main(int argc, char **argv)
{
        gint64 steps = STEPS, rounds = 1;
        bool any = false;

        json_init();
        if ((argc > 2 && !number_parse("STEPS", argv[2], 10, DEFINITION_COMPONENTS_MAX, &steps, NULL)) ||
            (argc > 3 && !number_parse("ROUNDS", argv[3], 0, 100, &rounds, NULL)))
                argc = 1;
        for (gsize i = 0; argc > 1 && i < G_N_ELEMENTS(shapes); i++)
                if (strcmp(argv[1], "all") == 0 || strcmp(argv[1], shapes[i].name) == 0) {
                        measure(i, (guint)steps, (guint)rounds);
                        any = true;
                }
        if (!any)
                fputs("usage: bench-runs all|wide|deep|random|nested [STEPS [ROUNDS]]\n", stderr);
        return any ? 0 : 2;
}
