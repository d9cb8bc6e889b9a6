/* Figures of runs in the engine with a played runtime, which says at once that what it was asked to start has ended:
 *
 *     bench-runs-engine [STEPS [ROUNDS]]      20,000 steps, one round; a JSON object a line
 *
 * A run of STEPS steps in one loop, 20 in flight: nodes a second from ready to final, with their jobs, events and rows
 * committed to the real store. In the middle the engine ends and starts again. The same number of plain jobs as an array,
 * of which 20 run at a time, is the peer of the same round. A step must have been started once, and no more. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "engine/test/help.h"

enum { STEPS = 20 * 1000, IN_FLIGHT = 20, FREED_US = 300 * 1000 };

static void G_GNUC_PRINTF(1, 2) fail(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        fputs("bench-runs-engine: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
        exit(1);
}

/* ---- the played runtime ---- */

/* Ends what was started, as far as `until` tasks; `started` has the names of all. False: a task was started twice. */
static bool end_started(House *house, GHashTable *started, guint until)
{
        while (g_hash_table_size(started) < until) {
                g_autoptr(GPtrArray) lines = NULL;

                script_wait(house->script, "start ", 1);
                lines = script_take(house->script);
                for (guint i = 0; i < lines->len; i++) {
                        const char *line = lines->pdata[i];

                        if (!g_str_has_prefix(line, "start "))
                                continue;
                        if (!g_hash_table_add(started, g_strdup(line + strlen("start "))))
                                return false;
                        script_say_kind(house->script, OBSERVED_STARTED, line + strlen("start "));
                        script_say_exit(house->script, line + strlen("start "), 0, 0, false);
                }
        }
        return true;
}

/* ---- a run ---- */

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t answered;
        gint64 seq;
        char id[ID_LEN + 1];
        char *error;
} Answer;

static void answer(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        Answer *got = arg;

        pthread_mutex_lock(&got->lock);
        if (run) {
                g_strlcpy(got->id, run->id, sizeof got->id);
                got->seq = run->seq;
        } else {
                got->error = g_strdup(error->message);
        }
        pthread_cond_signal(&got->answered);
        pthread_mutex_unlock(&got->lock);
}

static gint64 create(House *house, const char *text, char *ret_id)
{
        Answer got = { .lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER };

        engine_create_run(house->engine, &(EngineRun){ .user = "ann", .text = text, .admin = true }, answer,
                          &got);
        pthread_mutex_lock(&got.lock);
        while (!got.seq && !got.error)
                pthread_cond_wait(&got.answered, &got.lock);
        pthread_mutex_unlock(&got.lock);
        if (got.error)
                fail("%s", got.error);
        g_strlcpy(ret_id, got.id, ID_LEN + 1);
        return got.seq;
}

static char *definition_of(guint steps)
{
        GString *text =
                g_string_new("name: bench\nparallelism: 20\nentry_points:\n  many:\n"
                             "    parameters: {n: 1}\n    command: \"true {{n}} {{PF_LOOP_ARGUMENT}}\"\n"
                             "    loop_argument: ");

        for (guint i = 0; i < steps; i++)
                g_string_append_printf(text, "%s%u", i ? "," : "[", i);
        g_string_append(text, "]\n");
        return g_string_free(text, FALSE);
}

/* Barriers until the last end is applied. */
static void wait_for_end(House *house, const char *id)
{
        for (;;) {
                g_autoptr(GError) error = NULL;
                g_autoptr(RunRecord) run = store_run_by_id(house->store, id, false, &error);

                if (!run)
                        fail("%s", error->message);
                if (run->state == NODE_SUCCEEDED)
                        return;
                if (node_is_final((NodeState)run->state))
                        fail("the run is %s: %s", node_state_name((NodeState)run->state), run->message);
                house_barrier(house);
        }
}

static double seconds_since(gint64 began_us)
{
        return (double)(g_get_monotonic_time() - began_us) / 1e6;
}

static gsize in_use(void)
{
        struct mallinfo2 info = mallinfo2();

        return info.uordblks + info.hblkhd;
}

/* MiB of the process in memory. */
static double resident(void)
{
        g_autofree char *text = NULL;
        long pages = 0;

        if (!g_file_get_contents("/proc/self/statm", &text, NULL, NULL) ||
            sscanf(text, "%*d %ld", &pages) != 1) /* NOLINT(cert-err34-c): the kernel's own number */
                fail("/proc/self/statm cannot be read");
        return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* Until all free slots have tasks. */
static void let_settle(House *house)
{
        for (int i = 0; i < 10; i++)
                house_barrier(house);
}

/* The tasks live on, and end while there is no engine. */
static double restart(House *house, GHashTable *started)
{
        g_autoptr(GPtrArray) lines = NULL;
        gint64 began;

        let_settle(house);
        lines = script_lines(house->script, "start ");
        began = g_get_monotonic_time();
        house_close(house);
        house_open(house);
        for (guint i = 0; i < lines->len; i++) {
                const char *task = (const char *)lines->pdata[i] + strlen("start ");

                if (!g_hash_table_add(started, g_strdup(task)))
                        fail("'%s' was started twice", task);
                script_say_kind(house->script, OBSERVED_STARTED, task);
                script_say_exit(house->script, task, 0, 0, false);
        }
        house_sync(house);
        return seconds_since(began);
}

static void check_nodes(House *house, gint64 seq, guint steps)
{
        gint64 counts[NODE_STATES];
        g_autoptr(GError) error = NULL;

        if (!store_run_counts(house->store, seq, counts, &error))
                fail("%s", error->message);
        if (counts[NODE_SUCCEEDED] != steps)
                fail("%" G_GINT64_FORMAT " of %u steps have succeeded", counts[NODE_SUCCEEDED], steps);
}

typedef struct {
        double nodes_per_s, restart_s, bytes;
        double resident_before, resident_after; /* MiB; a worker frees the run some time after its end */
} Figures;

static Figures measure_run(House *house, guint steps)
{
        g_autofree char *text = definition_of(steps);
        g_autoptr(GHashTable) started = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        gsize before = in_use();
        char id[ID_LEN + 1];
        gint64 began = g_get_monotonic_time(), seq = create(house, text, id);
        Figures ret = { .resident_before = resident() };
        double half;

        ret.bytes = ((double)in_use() - (double)before) / steps;
        if (!end_started(house, started, steps / 2))
                fail("a step was started twice");
        half = seconds_since(began);
        ret.restart_s = restart(house, started);
        began = g_get_monotonic_time();
        if (!end_started(house, started, steps))
                fail("a step was started twice");
        wait_for_end(house, id);
        ret.nodes_per_s = steps / (half + seconds_since(began));
        check_nodes(house, seq, steps);
        g_usleep(FREED_US);
        ret.resident_after = resident();
        return ret;
}

static double measure_jobs(House *house, guint jobs)
{
        g_autofree char *spec =
                g_strdup_printf("{'command':['sh','-c','true'],'array':'0-%u%%%d',"
                                "'roles':[{'name':'worker','replicas':1,'cpu':'1','memory':'1Gi'}]}",
                                jobs - 1, IN_FLIGHT);
        g_autoptr(GHashTable) started = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GError) error = NULL;
        gint64 began = g_get_monotonic_time();
        g_autofree char *id = house_submit(house, "bob", spec, NULL, &error);

        if (!id)
                fail("%s", error->message);
        if (!end_started(house, started, jobs))
                fail("a job was started twice");
        house_barrier(house);
        return jobs / seconds_since(began);
}

static void measure(guint steps)
{
        House *house = house_new_cold();
        Figures run;
        double jobs;

        script_total(house->script, &(Resources){ { 1000 * 1000, 1ll << 45, 4 } });
        house->config.max_open_jobs = house->config.max_open_per_user = 10 * 1000 * 1000;
        house_open(house);
        house_sync(house);
        jobs = measure_jobs(house, MIN(steps, 10 * 1000));
        run = measure_run(house, steps);
        printf("{\"bench\": \"engine\", \"steps\": %u, \"nodes_per_s\": %.0f, \"jobs_per_s\": %.0f, \"restart_s\": %.3f,"
               " \"bytes_per_node\": %.1f, \"resident_mib_before\": %.1f, \"resident_mib_after\": %.1f}\n",
               steps, run.nodes_per_s, jobs, run.restart_s, run.bytes, run.resident_before,
               run.resident_after);
        fflush(stdout);
        house_free(house);
}

int main(int argc, char **argv)
{
        gint64 steps = STEPS, rounds = 1;

        if ((argc > 1 && !number_parse("STEPS", argv[1], 100, 1000 * 1000, &steps, NULL)) ||
            (argc > 2 && !number_parse("ROUNDS", argv[2], 1, 100, &rounds, NULL))) {
                fputs("usage: bench-runs-engine [STEPS [ROUNDS]]\n", stderr);
                return 2;
        }
        for (gint64 i = 0; i < rounds; i++)
                measure((guint)steps);
        return 0;
}
