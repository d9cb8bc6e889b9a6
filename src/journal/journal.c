/* The journal's writing half (see journal.h). Lines gather in one text that is handed to the sink when it is
 * large enough; a generation starts between two calls, when the scheduler stands as the last pass left it. */
#include "journal/journal.h"

#include "sched/dump.h"
#include "sched/line.h"

enum {
        BUFFER = 64 * 1024, /* handed on from here */
        PASSES = 10000,
        BYTES = 16 * 1024 * 1024,
};

struct Journal {
        Scheduler *scheduler; /* borrowed */
        JournalSink sink;
        JournalLimits limits;
        GString *text; /* lines that the sink has not */
        GError *error; /* of the sink, until journal_flush tells of it */
        bool recording;
        gint64 passes, begun; /* so far; before this generation */
        gsize dump, bytes;    /* size of the generation's dump; of what follows it */
        int kinds;            /* that its lines have told of */
};

Journal *journal_new(Scheduler *scheduler, const JournalSink *sink, const JournalLimits *limits)
{
        Journal *journal = g_new0(Journal, 1);

        journal->scheduler = scheduler;
        if (sink)
                journal->sink = *sink;
        if (limits)
                journal->limits = *limits;
        if (journal->limits.max_passes == 0)
                journal->limits.max_passes = PASSES;
        if (journal->limits.max_bytes == 0)
                journal->limits.max_bytes = BYTES;
        journal->text = g_string_sized_new(sink ? 2 * BUFFER : 0);
        journal->begun = -journal->limits.max_passes; /* the first generation is due at once */
        return journal;
}

void journal_free(Journal *journal)
{
        if (!journal)
                return;
        (void)journal_flush(journal, NULL);
        if (journal->sink.free)
                journal->sink.free(journal->sink.arg);
        g_clear_error(&journal->error);
        g_string_free(journal->text, true);
        g_free(journal);
}

gint64 journal_passes(const Journal *journal)
{
        return journal->passes;
}

/* The sink failed: nothing more is written until the next generation is due. */
static void stop(Journal *journal)
{
        journal->recording = false;
        g_string_truncate(journal->text, 0);
}

static void hand_on(Journal *journal)
{
        GString *text = journal->text;

        if (!journal->recording || text->len == 0)
                return;
        journal->bytes += text->len;
        g_clear_error(&journal->error);
        if (!journal->sink.write(journal->sink.arg, text->str, text->len, &journal->error))
                stop(journal);
        g_string_truncate(text, 0);
}

bool journal_flush(Journal *journal, GError **error)
{
        hand_on(journal);
        if (!journal->error)
                return true;
        g_propagate_prefixed_error(error, g_steal_pointer(&journal->error), "the scheduler's journal: ");
        return false;
}

static void begin(Journal *journal)
{
        g_autoptr(GString) head = g_string_new("paddle-sched-journal 1\n"), dump = g_string_new(NULL);
        JournalSink *sink = &journal->sink;

        hand_on(journal);
        journal->begun = journal->passes;
        journal->kinds = resource_kinds();
        line_kinds(head);
        scheduler_dump(journal->scheduler, dump);
        line_number(head, "dump", (gint64)dump->len);
        g_string_append_c(dump, '\n');
        journal->dump = head->len + dump->len;
        journal->bytes = 0;
        g_clear_error(&journal->error);
        journal->recording = sink->begin(sink->arg, &journal->error) &&
                             sink->write(sink->arg, head->str, head->len, &journal->error) &&
                             sink->write(sink->arg, dump->str, dump->len, &journal->error);
}

/* Before every change: starts a generation when one is due. */
static void prepare(Journal *journal)
{
        gsize most = MAX(journal->limits.max_bytes, journal->dump);

        if (!journal->sink.write)
                return;
        if (journal->passes - journal->begun >= journal->limits.max_passes ||
            journal->bytes + journal->text->len >= most)
                begin(journal);
        if (journal->recording && resource_kinds() != journal->kinds) {
                journal->kinds = resource_kinds();
                line_kinds(journal->text);
        }
}

static void written(Journal *journal)
{
        if (journal->text->len >= BUFFER)
                hand_on(journal);
}

bool journal_put_node(Journal *journal, const SchedNode *node)
{
        prepare(journal);
        if (!scheduler_put_node(journal->scheduler, node))
                return false;
        if (journal->recording)
                line_node(journal->text, node);
        written(journal);
        return true;
}

bool journal_drop_node(Journal *journal, int id)
{
        prepare(journal);
        if (!scheduler_drop_node(journal->scheduler, id))
                return false;
        if (journal->recording)
                line_number(journal->text, "drop-node", id);
        return true;
}

bool journal_put_queue(Journal *journal, const SchedQueue *queue)
{
        prepare(journal);
        if (!scheduler_put_queue(journal->scheduler, queue))
                return false;
        if (journal->recording)
                line_queue(journal->text, queue);
        written(journal);
        return true;
}

bool journal_drop_queue(Journal *journal, int id)
{
        prepare(journal);
        if (!scheduler_drop_queue(journal->scheduler, id))
                return false;
        if (journal->recording)
                line_number(journal->text, "drop-queue", id);
        return true;
}

/* The job is written first: `job` may refer to what the scheduler itself keeps of it. */
bool journal_put_job(Journal *journal, const SchedJob *job)
{
        gsize len;

        prepare(journal);
        len = journal->text->len;
        if (journal->recording)
                line_job(journal->text, job);
        if (!scheduler_put_job(journal->scheduler, job)) {
                g_string_truncate(journal->text, len);
                return false;
        }
        written(journal);
        return true;
}

void journal_drop_job(Journal *journal, gint64 key)
{
        prepare(journal);
        scheduler_drop_job(journal->scheduler, key);
        if (journal->recording)
                line_number(journal->text, "drop-job", key);
        written(journal);
}

void journal_put_usage(Journal *journal, int queue, int user, gint64 usage, gint64 at)
{
        prepare(journal);
        scheduler_put_usage(journal->scheduler, queue, user, usage, at);
        if (journal->recording)
                line_usage(journal->text, queue, user, usage, at);
        written(journal);
}

void journal_clock(Journal *journal, gint64 now)
{
        prepare(journal);
        scheduler_clock(journal->scheduler, now);
        if (journal->recording)
                line_number(journal->text, "clock", now);
        written(journal);
}

void journal_pass(Journal *journal, gint64 now, Decisions *ret)
{
        prepare(journal);
        scheduler_pass(journal->scheduler, now, ret);
        journal->passes++;
        if (!journal->recording)
                return;
        line_numbers(journal->text, "pass", (gint64[]){ journal->passes, now }, 2);
        for (guint i = 0; i < ret->decisions->len; i++) {
                const Decision *decision = &g_array_index(ret->decisions, Decision, i);

                line_decision(journal->text, decision,
                              decision->n_tasks ? &g_array_index(ret->tasks, SchedTask, decision->first_task)
                                                : NULL);
        }
        line_numbers(journal->text, "decided",
                     (gint64[]){ journal->passes, ret->decisions->len, ret->considered, ret->gang_discards },
                     4);
        written(journal);
}
