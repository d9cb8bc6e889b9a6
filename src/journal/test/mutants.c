/* Planted faults: the checks of random traces notice each of them, and soon. Built against the variant of the
 * library that has them (mutant.h). */
#include "journal/test/room.h"

enum { ROOM_STEPS = 1000, STEPS_MAX = 200000 };

static const char *const names[MUTANTS] = {
        [MUTANT_NONE] = "none",
        [MUTANT_PREEMPT_EQUAL] = "preempt-equal",
        [MUTANT_RECLAIM_BELOW_MIN] = "reclaim-below-min",
        [MUTANT_EVICT_BEFORE_SHRINK] = "evict-before-shrink",
        [MUTANT_BACKFILL_DELAYS_HEAD] = "backfill-delays-head",
        [MUTANT_GANG_PARTIAL] = "gang-partial",
        [MUTANT_DEVICE_TWICE] = "device-twice",
        [MUTANT_QUEUE_OVER_MAX] = "queue-over-max",
};

/* How many steps until a check fails; 0: none did. */
static gint64 steps_until_caught(Mutant mutant, gint64 most)
{
        RoomCounts counts = { 0 };

        for (guint64 seed = 1; counts.steps < most; seed++) {
                g_autoptr(Room) room = room_new(room_kind(seed), seed, mutant, NULL, &counts);

                for (int step = 0; step < ROOM_STEPS; step++) {
                        const char *wrong = room_step(room);

                        if (!wrong)
                                continue;
                        g_test_message("%s: caught after %" G_GINT64_FORMAT " steps in room '%s': %s",
                                       names[mutant], counts.steps + 1, room->kind->name, wrong);
                        return counts.steps + 1;
                }
        }
        return 0;
}

static void test_mutant(gconstpointer data)
{
        g_assert_cmpint(steps_until_caught((Mutant)GPOINTER_TO_INT(data), STEPS_MAX), >, 0);
}

/* The same library without a fault has none. */
static void test_none(void)
{
        g_assert_cmpint(steps_until_caught(MUTANT_NONE, STEPS_MAX / 10), ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mutants/none", test_none);
        for (int mutant = MUTANT_NONE + 1; mutant < MUTANTS; mutant++) {
                g_autofree char *path = g_strconcat("/mutants/", names[mutant], NULL);

                g_test_add_data_func(path, GINT_TO_POINTER(mutant), test_mutant);
        }
        return g_test_run();
}
