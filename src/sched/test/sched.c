/* The scheduler: cases by hand, the sentences, and random traces against what must hold of every pass. */
#include "sched/sched.h"

#include <string.h>

#define CORES(n)                                                                                             \
        {                                                                                                    \
                .cpu_milli = (n)*1000                                                                        \
        }
enum { NOW = 1000 };

typedef struct {
        const char *name;
        Resources total, free;
        SchedJob jobs[6];
        const char *admitted; /* "0 2" */
        int head;
} Case;

static const Case cases[] = {
        { "nothing waits", CORES(8), CORES(8), { { 0 } }, "", -1 },
        { "all fit", CORES(8), CORES(8), { { 1, CORES(4), 0, true }, { 2, CORES(4), 0, true } }, "0 1", -1 },
        { "a job starts whole or not at all", CORES(8), CORES(3), { { 1, CORES(4), 0, true } }, "", 0 },
        { "the head holds up what would fit",
          CORES(8),
          CORES(3),
          { { 1, CORES(4), 0, true }, { 2, CORES(1), 0, true } },
          "",
          0 },
        { "the head is the first that does not fit",
          CORES(8),
          CORES(4),
          { { 1, CORES(2), 0, true }, { 2, CORES(3), 0, true }, { 3, CORES(1), 0, true } },
          "0",
          1 },
        { "what is not ready holds up nobody",
          CORES(8),
          CORES(2),
          { { 1, CORES(8), 0, false }, { 2, CORES(2), 0, true } },
          "1",
          -1 },
        { "what is not due holds up nobody",
          CORES(8),
          CORES(2),
          { { 1, CORES(8), NOW + 1, true }, { 2, CORES(2), 0, true } },
          "1",
          -1 },
        { "due exactly now", CORES(8), CORES(8), { { 1, CORES(8), NOW, true } }, "0", -1 },
        { "what can never fit is skipped",
          CORES(8),
          CORES(8),
          { { 1, CORES(9), 0, true }, { 2, CORES(8), 0, true } },
          "1",
          -1 },
        { "memory counts",
          { { 8000, 100, 0 } },
          { { 8000, 50, 0 } },
          { { 1, { { 1000, 51, 0 } }, 0, true } },
          "",
          0 },
        { "GPUs count",
          { { 8000, 0, 2 } },
          { { 8000, 0, 1 } },
          { { 1, { { 0, 0, 1 } }, 0, true }, { 2, { { 0, 0, 1 } }, 0, true } },
          "0",
          1 },
        { "a job that asks for nothing", CORES(1), { { 0 } }, { { 1, { { 0 } }, 0, true } }, "0", -1 },
        { "more is taken than there is", CORES(4), { { -2000, 0, 0 } }, { { 1, CORES(1), 0, true } }, "", 0 },
};

static int count_jobs(const Case *c)
{
        int n = 0;

        while (n < (int)G_N_ELEMENTS(c->jobs) && c->jobs[n].seq)
                n++;
        return n;
}

static void test_cases(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const Case *c = &cases[i];
                SchedSnapshot snapshot = { c->total, c->free, NOW, c->jobs, count_jobs(c) };
                g_autoptr(GArray) admitted = g_array_new(FALSE, FALSE, sizeof(int));
                g_autoptr(GString) shown = g_string_new(NULL);
                int head = -7;

                g_test_message("%s", c->name);
                sched_pass(&snapshot, admitted, &head);
                for (guint k = 0; k < admitted->len; k++)
                        g_string_append_printf(shown, "%s%d", k ? " " : "", g_array_index(admitted, int, k));
                g_assert_cmpstr(shown->str, ==, c->admitted);
                g_assert_cmpint(head, ==, c->head);
        }
}

static void test_explain(void)
{
        static const gint64 gi = 1024 * 1024 * 1024;
        const struct {
                SchedJob job;
                Resources total, free;
                int ahead;
                const char *says;
        } sentences[] = {
                { { 1, CORES(4), 0, true },
                  CORES(8),
                  CORES(2),
                  3,
                  "waits for 2 cores: asks for 4, 2 of 8 are free; 3 jobs are ahead of it" },
                { { 1, { { 1500, 0, 0 } }, 0, true },
                  CORES(8),
                  { { 500, 0, 0 } },
                  0,
                  "waits for 1 core: asks for 1.5, 0.5 of 8 are free" },
                { { 1, { { 1250, 0, 0 } }, 0, true },
                  CORES(2),
                  CORES(1),
                  1,
                  "waits for 0.250 cores: asks for 1.250, 1 of 2 are free; 1 job is ahead of it" },
                { { 1, { { 0, 0, 2 } }, 0, true },
                  { { 8000, 0, 2 } },
                  { { 8000, 0, 1 } },
                  0,
                  "waits for 1 GPU: asks for 2, 1 of 2 are free" },
                { { 1, { { 0, 4 * gi, 0 } }, 0, true },
                  { { 8000, 8 * gi, 0 } },
                  { { 8000, 1 * gi, 0 } },
                  0,
                  "waits for 3Gi of memory: asks for 4Gi, 1Gi of 8Gi is free" },
                { { 1, { { 2000, 0, 1 } }, 0, true },
                  { { 8000, 0, 1 } },
                  { { 0, 0, 0 } },
                  0,
                  "waits for 2 cores: asks for 2, 0 of 8 are free; and for 1 GPU: asks for 1, 0 of 1 are "
                  "free" },
                { { 1, CORES(1), 0, true },
                  CORES(8),
                  CORES(8),
                  2,
                  "waits for its turn; 2 jobs are ahead of it" },
                { { 1, CORES(1), 0, true }, CORES(8), CORES(8), 0, "is about to start" },
                { { 1, CORES(1), 0, false },
                  CORES(8),
                  CORES(8),
                  0,
                  "waits for its environment, which is being built" },
                { { 1, CORES(1), NOW + 2500, true },
                  CORES(8),
                  CORES(8),
                  0,
                  "waits 2.5 s before its next attempt" },
                { { 1, CORES(9), 0, true },
                  CORES(8),
                  CORES(8),
                  4,
                  "can never start: asks for 9 cores, this machine has 8" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(sentences); i++) {
                g_autofree char *says = sched_explain(&sentences[i].job, &sentences[i].total,
                                                      &sentences[i].free, sentences[i].ahead, NOW);

                g_assert_cmpstr(says, ==, sentences[i].says);
        }
}

/* ---- random traces ---- */

enum { TRACES = 2000, STEPS = 20, WAITING_MAX = 12 };

static Resources random_want(void)
{
        return (Resources){ { g_test_rand_int_range(0, 6) * 500, g_test_rand_int_range(0, 5),
                              g_test_rand_int_range(0, 3) } };
}

static bool is_admitted(const GArray *admitted, int i)
{
        for (guint k = 0; k < admitted->len; k++)
                if (g_array_index(admitted, int, k) == i)
                        return true;
        return false;
}

/* What must hold of one pass, said without the pass's own loop. */
static void check_pass(const SchedSnapshot *s, const GArray *admitted, int head)
{
        Resources sum = { 0 };
        int last = -1;

        for (guint k = 0; k < admitted->len; k++) {
                int i = g_array_index(admitted, int, k);

                g_assert_cmpint(i, >, last); /* in order, each once */
                last = i;
                g_assert_true(s->jobs[i].ready && s->jobs[i].not_before <= s->now);
                g_assert_true(resources_add(&sum, &s->jobs[i].want, 1));
        }
        g_assert_true(!admitted->len || resources_fit(&sum, &s->free)); /* never over-committed */
        for (int i = 0; i < s->n_jobs; i++) {
                bool eligible = s->jobs[i].ready && s->jobs[i].not_before <= s->now &&
                                resources_fit(&s->jobs[i].want, &s->total);

                if (eligible && (head < 0 || i < head))
                        g_assert_true(is_admitted(admitted, i)); /* nobody is passed over */
                if (head >= 0 && i >= head)
                        g_assert_false(is_admitted(admitted, i)); /* nobody overtakes */
        }
        if (head >= 0) { /* the head really does not fit beside those before it */
                Resources left = s->free;

                resources_subtract(&left, &sum);
                g_assert_false(resources_fit(&s->jobs[head].want, &left));
                g_assert_true(resources_fit(&s->jobs[head].want, &s->total));
        }
}

static void run_trace(void)
{
        Resources total = { { 4000, 6, 2 } }, free = total;
        SchedJob waiting[WAITING_MAX];
        g_autoptr(GArray) running = g_array_new(FALSE, FALSE, sizeof(Resources));
        int n = 0;
        gint64 seq = 1;

        for (int step = 0; step < STEPS; step++) {
                SchedSnapshot snapshot = { total, free, step, waiting, 0 };
                g_autoptr(GArray) admitted = g_array_new(FALSE, FALSE, sizeof(int));
                int head, kept = 0;

                while (n < WAITING_MAX && g_test_rand_bit())
                        waiting[n++] = (SchedJob){ seq++, random_want(), g_test_rand_int_range(0, STEPS),
                                                   g_test_rand_int_range(0, 4) > 0 };
                snapshot.n_jobs = n;
                sched_pass(&snapshot, admitted, &head);
                check_pass(&snapshot, admitted, head);
                for (int i = 0; i < n; i++) {
                        if (is_admitted(admitted, i)) {
                                resources_subtract(&free, &waiting[i].want);
                                g_array_append_val(running, waiting[i].want);
                        } else {
                                waiting[kept++] = waiting[i];
                        }
                }
                n = kept;
                g_assert_true(resources_fit(&(Resources){ 0 }, &free));
                if (running->len && g_test_rand_bit()) { /* one ends */
                        g_assert_true(resources_add(&free, &g_array_index(running, Resources, 0), 1));
                        g_array_remove_index(running, 0);
                }
        }
}

static void test_traces(void)
{
        for (int i = 0; i < TRACES; i++)
                run_trace();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sched/cases", test_cases);
        g_test_add_func("/sched/explain", test_explain);
        g_test_add_func("/sched/traces", test_traces);
        return g_test_run();
}
