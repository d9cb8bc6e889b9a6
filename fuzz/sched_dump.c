/* Fuzz target: the dump of a scheduler, the base of a journal.
 *
 * Any bytes are either refused with ERR_INVALID, or load as a scheduler whose own dump loads as an equal one,
 * and which goes through a few passes. */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sched/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_passes(Scheduler *scheduler)
{
        Decisions decisions;
        gint64 now = scheduler_due(scheduler);

        decisions_init(&decisions);
        for (int i = 0; i < 3 && now < G_MAXINT64 / 2; i++) {
                scheduler_pass(scheduler, now, &decisions);
                now = MAX(scheduler_due(scheduler), now) + 1;
        }
        decisions_clear(&decisions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Scheduler) scheduler = scheduler_load((const char *)data, size, &error), again = NULL;
        g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

        if (!scheduler) {
                g_assert_true(err_is(error, ERR_INVALID));
                return 0;
        }
        (void)scheduler_dump(scheduler, first);
        again = scheduler_load(first->str, first->len, &error);
        g_assert_no_error(error);
        (void)scheduler_dump(again, second);
        g_assert_cmpstr(first->str, ==, second->str);
        g_assert_true(scheduler_hash(scheduler) == scheduler_hash(again));
        check_passes(scheduler);
        return 0;
}
