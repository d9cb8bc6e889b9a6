/* The journal: what a room lived through is played again bit for bit; what was changed afterwards is noticed;
 * what was cut is passed over; generations come and go. */
#include "journal/journal.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/test/seed.h"
#include "journal/test/room.h"
#include "sched/line.h"

/* A sink in memory: the generation before, and this one. */
typedef struct {
        GString *older, *newer;
        int begun;
        bool broken; /* refuses to write */
} Memory;

static bool memory_begin(void *arg, GError **error)
{
        Memory *memory = arg;

        g_string_assign(memory->older, memory->newer->str);
        g_string_truncate(memory->newer, 0);
        memory->begun++;
        return true;
}

static bool memory_write(void *arg, const char *text, gsize len, GError **error)
{
        Memory *memory = arg;

        if (memory->broken)
                return err_set(error, ERR_NO_SPACE, "the disk is full");
        g_string_append_len(memory->newer, text, (gssize)len);
        return true;
}

static JournalSink memory_sink(Memory *memory)
{
        *memory = (Memory){ .older = g_string_new(NULL), .newer = g_string_new(NULL) };
        return (JournalSink){ .begin = memory_begin, .write = memory_write, .arg = memory };
}

static void memory_clear(Memory *memory)
{
        g_string_free(memory->older, true);
        g_string_free(memory->newer, true);
}

/* A room's life, as a journal. */
static void live(guint64 seed, int steps, Memory *memory, RoomCounts *counts)
{
        JournalSink sink = memory_sink(memory);
        g_autoptr(Room) room = room_new(room_kind(seed), seed, MUTANT_NONE, &sink, counts);

        for (int step = 0; step < steps; step++)
                g_assert_cmpstr(room_step(room), ==, NULL);
        g_assert_true(journal_flush(room->journal, NULL));
}

static void check_same(const char *text, gsize len, JournalReport *report)
{
        g_autoptr(GError) error = NULL;

        g_assert_true(journal_replay(text, len, report, &error));
        g_assert_no_error(error);
        if (!report->same)
                g_error("pass %" G_GINT64_FORMAT ": recorded '%s', replayed '%s'", report->pass,
                        report->recorded, report->replayed);
}

static void test_replay(void)
{
        guint64 first = seed_of_test();

        for (guint64 seed = first; seed < first + 28; seed++) {
                RoomCounts counts = { 0 };
                Memory memory;
                JournalReport report;

                live(seed, 400, &memory, &counts);
                check_same(memory.newer->str, memory.newer->len, &report);
                g_assert_cmpint(report.decisions, >=, counts.decisions);
                g_assert_cmpint(report.passes, >=, counts.steps); /* settling needs some more */
                g_assert_cmpint(report.generations, ==, 1);
                g_assert_false(report.torn);
                journal_report_clear(&report);
                memory_clear(&memory);
        }
}

/* Cut anywhere, it plays up to there. */
static void test_torn(void)
{
        RoomCounts counts = { 0 };
        Memory memory;
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        live(3, 100, &memory, &counts);
        for (int i = 0; i < 200; i++) {
                gsize len = (gsize)g_rand_int_range(rand, 100, (gint32)memory.newer->len);
                JournalReport report;

                check_same(memory.newer->str, len, &report);
                g_assert_true(report.torn || memory.newer->str[len - 1] == '\n');
                journal_report_clear(&report);
        }
        memory_clear(&memory);
}

/* One digit of a decision, of an input, is another. */
static void test_changed(void)
{
        RoomCounts counts = { 0 };
        Memory memory;
        JournalReport report;
        g_autofree char *line = NULL;
        char *start, *end;

        live(2, 300, &memory, &counts);
        start = strstr(memory.newer->str, "\nstart ");
        g_assert_nonnull(start);
        end = strchr(start + 1, '\n');
        line = g_strndup(start + 1, (gsize)(end - start - 1));
        end[-1] = end[-1] == '0' ? '1' : '0'; /* the node, or a device, of its last task */
        g_assert_true(journal_replay(memory.newer->str, memory.newer->len, &report, NULL));
        g_assert_false(report.same);
        g_assert_cmpstr(report.replayed, ==, line);
        g_assert_cmpstr(report.recorded, !=, line);
        g_assert_cmpint(report.key, >, 0);
        g_assert_cmpint(report.pass, >, 0);
        journal_report_clear(&report);
        memory_clear(&memory);
}

/* A decision that is missing, one too many. */
static void test_count(void)
{
        RoomCounts counts = { 0 };
        Memory memory;

        live(2, 300, &memory, &counts);
        for (int twice = 0; twice < 2; twice++) {
                g_autoptr(GString) text = g_string_new(memory.newer->str);
                gsize at = (gsize)(strstr(text->str, "\nstart ") + 1 - text->str);
                gsize len = strcspn(text->str + at, "\n") + 1;
                g_autofree char *line = g_strndup(text->str + at, len);
                JournalReport report;

                if (twice)
                        g_string_insert(text, (gssize)at, line);
                else
                        g_string_erase(text, (gssize)at, (gssize)len);
                g_assert_true(journal_replay(text->str, text->len, &report, NULL));
                g_assert_false(report.same);
                journal_report_clear(&report);
        }
        memory_clear(&memory);
}

static void test_refused(void)
{
        static const char *const texts[] = {
                "",
                "hello\n",
                "pass 1 2\n",
                "paddle-sched-journal 2\n",
                "paddle-sched-journal 1\nnode 0 0 1 n - -\n", /* no dump */
                "paddle-sched-journal 1\ndump 3\nabc\n",
                "paddle-sched-journal 1\ndump -1\n",
                "paddle-sched-journal 1\nkinds memory cpu\n",
        };

        for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(GError) error = NULL;
                JournalReport report;

                g_test_message("%s", texts[i]);
                if (journal_replay(texts[i], strlen(texts[i]), &report, &error)) {
                        g_assert_cmpstr(texts[i], ==, "");
                        continue;
                }
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                g_assert_true(strstr(error->message, "line ") != NULL);
        }
}

/* Lines between that are not of this world. */
static void test_bad_lines(void)
{
        static const char *const lines[] = {
                "node 0 0 1 n 0:1000",
                "node 0 0 2 n - -",
                "node 0 0 1 n 99:1 -",
                "node 0 0 1 n 0:1,1 -",
                "node 0 0 1 n 0:99999999999999999999 -",
                "node 0 0 1 %zz - -",
                "node 0 0 1 n\x01 - -",
                "node 0 0 1 n\xff - -",
                "node 0 0 1 n - a\x7f",
                "node -1 0 1 n - -",
                "queue 0 0 -1 q 1 - - - 0 0 1 0 0 1 0 -",
                "queue 0 0 -1 q 9 - - - 1 0 1 0 0 1 0 -",
                "job 1 77 0 0 0 0 0 0 0 1 0 0 -1 0 - 1 - 1 1 0",
                "job 1 0 0 0 0 0 0 0 0 1 0 0 -1 0 - 1 - 1 2 0",
                "job 1 0 0 5000 0 0 0 0 0 1 0 0 -1 0 - 1 - 1 1 0",
                "job 900001 0 0 0 0 0 0 0 0 1 0 0 -1 0 - 1 - 2 2 1 5 0 0",
                "pass 5",
                "pass 5 -1",
                "start nonsense 1 0 0",
                "usage 0 0 -5 0",
                "something else",
                " ",
                "",
        };
        RoomCounts counts = { 0 };
        Memory memory;

        live(2, 20, &memory, &counts);
        for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_autoptr(GString) text = g_string_new(memory.newer->str);
                g_autoptr(GError) error = NULL;
                g_autofree char *shown = g_strescape(lines[i], NULL);
                JournalReport report;

                g_string_append_printf(text, "%s\n", lines[i]);
                g_test_message("%s", shown);
                g_assert_false(journal_replay(text->str, text->len, &report, &error));
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
        }
        memory_clear(&memory);
}

static void test_labels(void)
{
        static const char *const rows[][3] = {
                { NULL },     { "a=b" }, { "a=b", "c=-" }, { "-" },
                { "-", "-" }, { "" },    { "%", "," },     { "\x01\xff b" },
        };

        for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
                SchedNode node = { .name = "-", .usable = true, .labels = rows[i] }, again = { 0 };
                g_autoptr(GString) text = g_string_new(NULL);
                LineMemory memory;

                line_node(text, &node);
                Line line = { text->str + strlen("node "), text->str + text->len - 1 };
                line_memory_init(&memory);
                g_assert_true(line_read_node(&line, &memory, &again));
                g_assert_cmpstr(again.name, ==, "-");
                g_assert_cmpint(again.labels != NULL, ==, rows[i][0] != NULL);
                for (int n = 0; again.labels && n < 3; n++) {
                        g_assert_cmpstr(again.labels[n], ==, rows[i][n]);
                        if (!again.labels[n])
                                break;
                }
                line_memory_clear(&memory);
        }
}

/* ---- listing ---- */

typedef struct {
        gint64 keys[1000];
        gint64 tasks;
        int n;
} Listed;

static void list_one(const JournalEntry *entry, void *arg)
{
        Listed *listed = arg;

        g_assert_cmpint(entry->pass, >, 0);
        g_assert_cmpint(entry->now, >, 0);
        listed->keys[listed->n++] = entry->decision.key;
        for (int i = 0; i < entry->decision.n_tasks; i++)
                listed->tasks += entry->tasks[i].node >= 0;
}

static void test_list(void)
{
        RoomCounts counts = { 0 };
        Memory memory;
        Listed all = { 0 }, last = { 0 }, none = { 0 };

        live(1, 200, &memory, &counts);
        g_assert_true(journal_list(memory.newer->str, memory.newer->len, 1000, list_one, &all, NULL));
        g_assert_cmpint(all.n, ==, counts.decisions);
        g_assert_cmpint(all.n, >, 20);
        g_assert_cmpint(all.tasks, >, 0);
        g_assert_true(journal_list(memory.newer->str, memory.newer->len, 7, list_one, &last, NULL));
        g_assert_cmpint(last.n, ==, 7);
        for (int i = 0; i < 7; i++)
                g_assert_cmpint(last.keys[i], ==, all.keys[all.n - 7 + i]);
        g_assert_true(journal_list(memory.newer->str, memory.newer->len, 0, list_one, &none, NULL));
        g_assert_cmpint(none.n, ==, 0);
        memory_clear(&memory);
}

/* ---- generations ---- */

static SchedNode some_node(void)
{
        SchedNode node = { .id = 0, .name = "a node, 100 %", .usable = true };

        node.total.cpu_milli = 8000;
        return node;
}

static void fill(Journal *journal, int first, int jobs)
{
        Decisions decisions;

        decisions_init(&decisions);
        for (int i = first; i < first + jobs; i++) {
                SchedRole role = { .replicas = 1, .min = 1 };
                SchedJob job = { .key = i + 1, .submitted = i, .topology = -1, .n_roles = 1, .roles = &role };

                role.each.cpu_milli = 1000;
                g_assert_true(journal_put_job(journal, &job));
                journal_pass(journal, 1000 + i, &decisions);
                if (i > 4)
                        journal_drop_job(journal, i - 4);
        }
        decisions_clear(&decisions);
}

static void furnish(Journal *journal)
{
        SchedNode node = some_node();
        SchedQueue queue = { .parent = -1, .name = "", .state = QUEUE_OPEN, .weight = 1 };

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                queue.max.amount[kind] = RESOURCE_UNLIMITED;
        g_assert_true(journal_put_node(journal, &node));
        g_assert_true(journal_put_queue(journal, &queue));
        journal_put_usage(journal, 0, 3, 12345, 600);
}

static void test_generations(void)
{
        Memory memory;
        JournalSink sink = memory_sink(&memory);
        g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
        Journal *journal = journal_new(scheduler, &sink, &(JournalLimits){ .max_passes = 100 });
        g_autoptr(GString) both = NULL;
        JournalReport report;

        furnish(journal);
        fill(journal, 0, 450);
        g_assert_cmpint(journal_passes(journal), ==, 450);
        g_assert_true(journal_flush(journal, NULL));
        g_assert_cmpint(memory.begun, ==, 5);
        both = g_string_new(memory.older->str);
        g_string_append(both, memory.newer->str);
        check_same(both->str, both->len, &report);
        g_assert_cmpint(report.generations, ==, 2);
        g_assert_cmpint(report.passes, ==, 150);
        journal_report_clear(&report);
        journal_free(journal);
        memory_clear(&memory);
}

/* What follows a dump may become as large as the dump, or as the limit. */
static void test_bytes(void)
{
        Memory memory;
        JournalSink sink = memory_sink(&memory);
        g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
        Journal *journal = journal_new(scheduler, &sink, &(JournalLimits){ .max_bytes = 20000 });

        furnish(journal);
        fill(journal, 0, 1000);
        g_assert_true(journal_flush(journal, NULL));
        g_assert_cmpint(memory.begun, >, 3);
        g_assert_cmpint(memory.older->len, <, 30000);
        journal_free(journal);
        memory_clear(&memory);
}

/* A full disk: told once, the scheduler goes on, and the next generation is whole. */
static void test_broken_sink(void)
{
        Memory memory;
        JournalSink sink = memory_sink(&memory);
        g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
        Journal *journal = journal_new(scheduler, &sink, &(JournalLimits){ .max_passes = 100 });
        g_autoptr(GError) error = NULL;
        JournalReport report;

        furnish(journal);
        memory.broken = true;
        fill(journal, 0, 50);
        g_assert_false(journal_flush(journal, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NO_SPACE);
        g_assert_true(journal_flush(journal, NULL));
        memory.broken = false;
        fill(journal, 50, 20);
        g_assert_true(journal_flush(journal, NULL));
        fill(journal, 70, 100);
        g_assert_true(journal_flush(journal, NULL));
        check_same(memory.newer->str, memory.newer->len, &report);
        g_assert_cmpint(report.passes, ==, 70);
        journal_report_clear(&report);
        journal_free(journal);
        memory_clear(&memory);
}

/* Without a sink it only hands on. */
static void test_no_sink(void)
{
        g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
        g_autoptr(Journal) journal = journal_new(scheduler, NULL, NULL);
        SchedJob job;

        furnish(journal);
        fill(journal, 0, 20);
        g_assert_true(scheduler_job(scheduler, 20, &job));
        g_assert_true(journal_flush(journal, NULL));
}

/* Inputs that are refused are not written. */
static void test_refused_input(void)
{
        Memory memory;
        JournalSink sink = memory_sink(&memory);
        g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
        Journal *journal = journal_new(scheduler, &sink, NULL);
        SchedRole role = { .replicas = 1, .min = 1 };
        SchedJob job = { .key = 1, .queue = 7, .topology = -1, .n_roles = 1, .roles = &role };

        furnish(journal);
        g_assert_false(journal_put_job(journal, &job));
        g_assert_false(journal_drop_queue(journal, 5));
        g_assert_false(journal_drop_node(journal, 5));
        g_assert_true(journal_flush(journal, NULL));
        g_assert_null(strstr(memory.newer->str, "\njob "));
        g_assert_null(strstr(memory.newer->str, "\ndrop-"));
        journal_free(journal);
        memory_clear(&memory);
}

static void test_files(void)
{
        g_autofree char *dir = g_dir_make_tmp("journal-XXXXXX", NULL),
                        *inner = g_build_filename(dir, "a/b", NULL);
        g_autofree char *text = NULL, *cut = NULL, *path = g_build_filename(inner, "journal.0", NULL);
        gsize len;
        g_autoptr(GError) error = NULL;
        JournalReport report;

        g_assert_false(journal_read(inner, &text, &len, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        for (int life = 0; life < 3; life++) {
                g_autoptr(Scheduler) scheduler = scheduler_new(&(SchedulerConfig){ 0 });
                g_autoptr(Journal) journal = NULL;
                JournalSink sink;

                g_assert_true(journal_files(inner, &sink, NULL));
                journal = journal_new(scheduler, &sink, NULL);
                furnish(journal);
                fill(journal, 0, 10 + life);
        }
        g_assert_true(journal_read(inner, &text, &len, NULL));
        check_same(text, len, &report);
        g_assert_cmpint(report.generations, ==, 2);
        g_assert_cmpint(report.passes, ==, 11 + 12);
        journal_report_clear(&report);

        /* the older one was cut: in a line, and in its dump */
        for (gsize keep = 50; keep < 400; keep += 30) {
                g_autofree char *older = NULL, *both = NULL;
                gsize older_len;

                g_assert_true(file_read(path, 1 << 20, &older, &older_len, NULL));
                g_assert_true(file_replace(path, older, older_len - MIN(keep, older_len), 0600, false, NULL));
                g_assert_true(journal_read(inner, &both, &older_len, NULL));
                check_same(both, older_len, &report);
                g_assert_cmpint(report.passes, >=, 12);
                journal_report_clear(&report);
        }
        g_assert_true(file_remove_tree(dir, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/journal/replay", test_replay);
        g_test_add_func("/journal/torn", test_torn);
        g_test_add_func("/journal/changed", test_changed);
        g_test_add_func("/journal/count", test_count);
        g_test_add_func("/journal/refused", test_refused);
        g_test_add_func("/journal/labels", test_labels);
        g_test_add_func("/journal/bad-lines", test_bad_lines);
        g_test_add_func("/journal/list", test_list);
        g_test_add_func("/journal/generations", test_generations);
        g_test_add_func("/journal/bytes", test_bytes);
        g_test_add_func("/journal/broken-sink", test_broken_sink);
        g_test_add_func("/journal/no-sink", test_no_sink);
        g_test_add_func("/journal/refused-input", test_refused_input);
        g_test_add_func("/journal/files", test_files);
        return g_test_run();
}
