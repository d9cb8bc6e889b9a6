/* Random traces against the invariants of doc/reference/scheduling.md, "Invariants of a scheduler", after
 * every step. The generator has to reach what it is there for: preemption, reclaim, shrinking, backfill and
 * the undoing of gangs, often.
 *
 * A tenth of it runs under a sanitizer, ten times as much with PADDLE_SOAK=1. ROOM=NAME PADDLE_SEED=N STEPS=N
 * plays one room again, with TRACE=1 as a journal on standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/sanitized.h"
#include "base/test/seed.h"
#include "journal/test/room.h"

enum {
        STEPS = 1000000,
        ROOM_STEPS = 1000, /* then another room */
        OFTEN = 10000,
};

static gint64 setting(const char *name, gint64 otherwise)
{
        const char *text = g_getenv(name);

        return text ? g_ascii_strtoll(text, NULL, 10) : otherwise;
}

static bool trace_begin(void *arg, GError **error)
{
        return true;
}

static bool trace_write(void *arg, const char *text, gsize len, GError **error)
{
        return fwrite(text, 1, len, stderr) == len;
}

static const JournalSink trace = { .begin = trace_begin, .write = trace_write };

static void fail_at(const RoomKind *kind, guint32 seed, gint64 steps, const char *wrong)
{
        g_autofree char *command = seed_command(seed);

        g_error("%s; repeat this room with: ROOM=%s STEPS=%" G_GINT64_FORMAT " %s", wrong, kind->name, steps,
                command);
}

static void play_room(const RoomKind *kind, guint32 seed, gint64 steps, RoomCounts *counts)
{
        g_autoptr(Room) room = room_new(kind, seed, MUTANT_NONE, g_getenv("TRACE") ? &trace : NULL, counts);

        for (gint64 step = 0; step < steps; step++) {
                const char *wrong = room_step(room);

                if (wrong)
                        (void)journal_flush(room->journal, NULL);
                if (wrong)
                        fail_at(kind, seed, step + 1, wrong);
        }
}

static void say(const RoomCounts *counts)
{
        g_test_message("%" G_GINT64_FORMAT " steps, %" G_GINT64_FORMAT " decisions, %" G_GINT64_FORMAT
                       " gang discards, %" G_GINT64_FORMAT " shrinks",
                       counts->steps, counts->decisions, counts->gang_discards, counts->kinds[DECIDE_SHRINK]);
        for (int rule = 0; rule < RULES; rule++)
                g_test_message("%s: %" G_GINT64_FORMAT, decision_rule_name((DecisionRule)rule),
                               counts->rules[rule]);
}

static void test_invariants(void)
{
        gint64 usual = IS_SANITIZED ? STEPS / 10 : STEPS;
        gint64 steps = setting("STEPS", is_soak() ? 10 * usual : usual);
        guint32 seed = seed_of_test();
        const char *only = g_getenv("ROOM");
        RoomCounts counts = { 0 };

        if (only) {
                for (int i = 0; i < n_room_kinds; i++)
                        if (strcmp(room_kinds[i].name, only) == 0)
                                play_room(&room_kinds[i], seed, steps, &counts);
                say(&counts);
                return;
        }
        for (; counts.steps < steps; seed++)
                play_room(room_kind(seed), seed, ROOM_STEPS, &counts);
        say(&counts);
        if (steps < STEPS)
                return;
        g_assert_cmpint(counts.rules[RULE_PREEMPT], >=, OFTEN);
        g_assert_cmpint(counts.rules[RULE_RECLAIM], >=, OFTEN);
        g_assert_cmpint(counts.kinds[DECIDE_SHRINK], >=, OFTEN);
        g_assert_cmpint(counts.rules[RULE_BACKFILL], >=, OFTEN);
        g_assert_cmpint(counts.gang_discards, >=, OFTEN);
        g_assert_cmpint(counts.rules[RULE_GROW], >=, OFTEN);
        g_assert_cmpint(counts.rules[RULE_NOMINATED], >=, OFTEN / 10);
}

/* ---- equal queues, unlimited demand (invariant 11) ---- */

enum { QUEUES_MAX = 6, DEMAND = 80, TASK_MAX = 3000 };

typedef struct {
        gint64 task[QUEUES_MAX][2], held[QUEUES_MAX][2], total[2]; /* cpu, memory */
        int n;
} Equal;

static void put_equal(Scheduler *scheduler, const Equal *equal)
{
        Resources none = { 0 }, unlimited;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                unlimited.amount[kind] = RESOURCE_UNLIMITED;
        for (int i = 0; i < equal->n; i++) {
                SchedQueue queue = { .id = i,
                                     .parent = -1,
                                     .name = "q",
                                     .state = QUEUE_OPEN,
                                     .min = none,
                                     .max = unlimited,
                                     .weight = 1,
                                     .reclaimable = true,
                                     .order = QUEUE_ORDER_PRIORITY,
                                     .backfill = true };

                g_assert_true(scheduler_put_queue(scheduler, &queue));
        }
        for (int job = 0; job < DEMAND * equal->n; job++) {
                int queue = job / DEMAND;
                SchedRole role = { .replicas = 1, .min = 1 };
                SchedJob put = { .key = job + 1,
                                 .queue = queue,
                                 .submitted = job,
                                 .topology = -1,
                                 .n_roles = 1,
                                 .roles = &role,
                                 .preemptable = true };

                role.each.amount[RESOURCE_CPU] = equal->task[queue][0];
                role.each.amount[RESOURCE_MEMORY] = equal->task[queue][1];
                g_assert_true(scheduler_put_job(scheduler, &put));
        }
}

static double share_of(const Equal *equal, const gint64 amounts[2])
{
        return MAX((double)amounts[0] / (double)equal->total[0],
                   (double)amounts[1] / (double)equal->total[1]);
}

/* No two shares are further apart than a task. */
static void check_equal(const Equal *equal, guint32 seed)
{
        double largest = 0;

        for (int i = 0; i < equal->n; i++)
                largest = MAX(largest, share_of(equal, equal->task[i]));
        for (int i = 0; i < equal->n; i++)
                for (int j = 0; j < equal->n; j++)
                        if (share_of(equal, equal->held[i]) - share_of(equal, equal->held[j]) >
                            largest + 1e-9)
                                g_error("seed %u: queues %d and %d have shares %f and %f, a task %f", seed, i,
                                        j, share_of(equal, equal->held[i]), share_of(equal, equal->held[j]),
                                        largest);
}

/* Decision by decision, as long as the room is large enough for a task of any of them. */
static void take_equal(Equal *equal, const Decisions *decisions, guint32 seed)
{
        gint64 left[2] = { equal->total[0], equal->total[1] };

        g_assert_cmpint(decisions->decisions->len, >, 0);
        for (guint i = 0; i < decisions->decisions->len; i++) {
                const Decision *decision = &g_array_index(decisions->decisions, Decision, i);
                int queue = (int)((decision->key - 1) / DEMAND);

                g_assert_cmpint(decision->kind, ==, DECIDE_START);
                for (int kind = 0; kind < 2; kind++) {
                        equal->held[queue][kind] += equal->task[queue][kind];
                        left[kind] -= equal->task[queue][kind];
                }
                if (MIN(left[0], left[1]) >= TASK_MAX)
                        check_equal(equal, seed);
        }
        g_assert_cmpint(MIN(left[0], left[1]), <, TASK_MAX); /* the demand is more than there is */
}

static void test_equal_shares(void)
{
        guint32 first = seed_of_test();

        for (guint32 seed = first; seed != first + 300; seed++) {
                g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
                g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
                Equal equal = { .total = { 64000, 64000 }, .n = g_rand_int_range(rand, 2, QUEUES_MAX + 1) };
                SchedNode node = { .id = 0, .name = "n", .usable = true };
                Decisions decisions;

                for (int i = 0; i < equal.n; i++)
                        for (int kind = 0; kind < 2; kind++)
                                equal.task[i][kind] = 1000 * g_rand_int_range(rand, 1, TASK_MAX / 1000 + 1);
                node.total.amount[RESOURCE_CPU] = equal.total[0];
                node.total.amount[RESOURCE_MEMORY] = equal.total[1];
                g_assert_true(scheduler_put_node(scheduler, &node));
                put_equal(scheduler, &equal);
                decisions_init(&decisions);
                scheduler_pass(scheduler, 1000000, &decisions);
                take_equal(&equal, &decisions, seed);
                decisions_clear(&decisions);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/random/equal-shares", test_equal_shares);
        g_test_add_func("/random/invariants", test_invariants);
        return g_test_run();
}
