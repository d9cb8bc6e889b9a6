/* Fuzz target: a scheduler's journal: it is replayed and listed, or refused with ERR_INVALID. */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "journal/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const JournalEntry *entry, void *arg)
{
        g_assert_true(entry->decision.kind < DECIDE_KINDS && entry->decision.rule < RULES);
        g_assert_true(entry->decision.n_tasks == 0 || entry->tasks[entry->decision.n_tasks - 1].node >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GError) replay = NULL, list = NULL;
        JournalReport report;

        if (journal_replay((const char *)data, size, &report, &replay)) {
                g_assert_true(report.same || report.recorded || report.replayed);
                journal_report_clear(&report);
        } else {
                g_assert_true(err_is(replay, ERR_INVALID));
        }
        if (!journal_list((const char *)data, size, 5, check_entry, NULL, &list))
                g_assert_true(err_is(list, ERR_INVALID));
        return 0;
}
