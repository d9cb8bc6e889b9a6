/* The states of an image's build: exactly the arrows of the drawing in build-state.c, and no state without a way on. */
#include "runtime/kubernetes/image/build-state.h"

#include <glib.h>

static const struct {
        BuildActivity activity;
        int from, to;
} arrows[] = {
        { BUILD_CONTENT, CONTENT_PACKING, CONTENT_READY },
        { BUILD_CONTENT, CONTENT_PACKING, CONTENT_FAILED },

        { BUILD_JOB, IMAGE_JOB_UNKNOWN, IMAGE_JOB_CREATING },
        { BUILD_JOB, IMAGE_JOB_UNKNOWN, IMAGE_JOB_OURS },     /* a restarted server finds it running */
        { BUILD_JOB, IMAGE_JOB_UNKNOWN, IMAGE_JOB_DELETING }, /* it had ended before */
        { BUILD_JOB, IMAGE_JOB_CREATING, IMAGE_JOB_CREATED },
        { BUILD_JOB, IMAGE_JOB_CREATING, IMAGE_JOB_UNKNOWN },
        { BUILD_JOB, IMAGE_JOB_CREATED, IMAGE_JOB_OURS },
        { BUILD_JOB, IMAGE_JOB_CREATED, IMAGE_JOB_CREATING },
        { BUILD_JOB, IMAGE_JOB_CREATED, IMAGE_JOB_DELETING },
        { BUILD_JOB, IMAGE_JOB_OURS, IMAGE_JOB_CREATING },
        { BUILD_JOB, IMAGE_JOB_OURS, IMAGE_JOB_DELETING },
        { BUILD_JOB, IMAGE_JOB_DELETING, IMAGE_JOB_CREATING },
        { BUILD_JOB, IMAGE_JOB_DELETING, IMAGE_JOB_UNKNOWN },

        { BUILD_LOG, IMAGE_LOG_NONE, IMAGE_LOG_AWAITED },
        { BUILD_LOG, IMAGE_LOG_NONE, IMAGE_LOG_FOLLOWED },
        { BUILD_LOG, IMAGE_LOG_AWAITED, IMAGE_LOG_FOLLOWED },
        { BUILD_LOG, IMAGE_LOG_FOLLOWED, IMAGE_LOG_COMPLETE },
        { BUILD_LOG, IMAGE_LOG_AWAITED, IMAGE_LOG_NONE }, /* of another pod */
        { BUILD_LOG, IMAGE_LOG_FOLLOWED, IMAGE_LOG_NONE },
        { BUILD_LOG, IMAGE_LOG_COMPLETE, IMAGE_LOG_NONE },

        { BUILD_DELIVERY, DELIVERY_NONE, DELIVERY_STARTED },
        { BUILD_DELIVERY, DELIVERY_STARTED, DELIVERY_DONE },
        { BUILD_DELIVERY, DELIVERY_STARTED, DELIVERY_NONE },
        { BUILD_DELIVERY, DELIVERY_DONE, DELIVERY_NONE }, /* to another pod */

        { BUILD_RESULT, RESULT_OPEN, RESULT_KNOWN },
        { BUILD_RESULT, RESULT_KNOWN, RESULT_TOLD },
        { BUILD_RESULT, RESULT_TOLD, RESULT_OPEN },
};

static bool has_arrow(BuildActivity activity, int from, int to)
{
        for (gsize i = 0; i < G_N_ELEMENTS(arrows); i++)
                if (arrows[i].activity == activity && arrows[i].from == from && arrows[i].to == to)
                        return true;
        return false;
}

static void test_arrows(void)
{
        for (guint activity = 0; activity < BUILD_ACTIVITIES; activity++)
                for (int from = 0; from < build_states(activity); from++)
                        for (int to = 0; to < build_states(activity); to++)
                                g_assert_cmpint(build_may_move(activity, from, to), ==,
                                                has_arrow(activity, from, to));
}

/* Every state is reached from the first one, and one activity leaves the others where they are. */
static void test_moves(void)
{
        BuildState state = { 0 }, other = { 0 };

        for (guint activity = 0; activity < BUILD_ACTIVITIES; activity++) {
                guint reached = 1;

                for (int round = 0; round < build_states(activity); round++)
                        for (gsize i = 0; i < G_N_ELEMENTS(arrows); i++)
                                if (arrows[i].activity == activity && reached & 1u << arrows[i].from)
                                        reached |= 1u << arrows[i].to;
                g_assert_cmphex(reached, ==, (1u << build_states(activity)) - 1);
        }
        build_move(&state, BUILD_JOB, IMAGE_JOB_CREATING);
        other.at[BUILD_JOB] = IMAGE_JOB_CREATING;
        g_assert_cmpmem(&state, sizeof state, &other, sizeof other);
}

/* A move that is not drawn ends the program: it is a fault of build.c. */
static void test_fault(void)
{
        if (g_test_subprocess()) {
                BuildState state = { 0 };

                build_move(&state, BUILD_LOG, IMAGE_LOG_COMPLETE);
                return;
        }
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_failed();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/build-state/arrows", test_arrows);
        g_test_add_func("/build-state/moves", test_moves);
        g_test_add_func("/build-state/fault", test_fault);
        return g_test_run();
}
