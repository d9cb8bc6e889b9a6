/* The journal's reading half (see journal.h): a table of lines, each with a function that plays it. A listing
 * plays only what it needs. Text from outside: a line that does not read is an error with its number; the end
 * of the text may be torn. */
#include <string.h>

#include "base/err.h"
#include "base/text-cut.h"
#include "journal/journal.h"
#include "sched/dump.h"
#include "sched/line.h"

typedef struct Player Player;

struct Player {
        const char *at, *end;
        gint64 line_number;
        LineMemory memory;
        Scheduler *scheduler; /* of this generation; NULL before its dump */
        Decisions decisions;  /* of the last pass */
        guint compared;       /* of them */
        gint64 pass, now;
        JournalReport *report;
        GError *error; /* what is wrong with a dump */

        GArray *last; /* of a listing: a ring of Entry; NULL when replaying */
        guint last_max;
        guint64 listed;
};

typedef struct {
        JournalEntry entry;
        GArray *tasks;
} Entry;

static bool play_node(Player *player, Line *line)
{
        SchedNode node;

        return line_read_node(line, &player->memory, &node) && scheduler_put_node(player->scheduler, &node);
}

static bool play_queue(Player *player, Line *line)
{
        SchedQueue queue;

        return line_read_queue(line, &player->memory, &queue) &&
               scheduler_put_queue(player->scheduler, &queue);
}

static bool play_job(Player *player, Line *line)
{
        SchedJob job;

        return line_read_job(line, &player->memory, &job) && scheduler_put_job(player->scheduler, &job);
}

static bool play_drop_node(Player *player, Line *line)
{
        gint64 id;

        return line_int(line, 0, G_MAXINT, &id) && scheduler_drop_node(player->scheduler, (int)id);
}

static bool play_drop_queue(Player *player, Line *line)
{
        gint64 id;

        return line_int(line, 0, G_MAXINT, &id) && scheduler_drop_queue(player->scheduler, (int)id);
}

static bool play_drop_job(Player *player, Line *line)
{
        gint64 key;

        if (!line_int(line, 1, G_MAXINT64, &key))
                return false;
        scheduler_drop_job(player->scheduler, key);
        return true;
}

static bool play_usage(Player *player, Line *line)
{
        gint64 queue, user, usage, at;

        if (!line_int(line, 0, G_MAXINT, &queue) || !line_int(line, 0, G_MAXINT, &user) ||
            !line_int(line, 0, G_MAXINT64, &usage) || !line_int(line, 0, G_MAXINT64, &at))
                return false;
        scheduler_put_usage(player->scheduler, (int)queue, (int)user, usage, at);
        return true;
}

static bool play_clock(Player *player, Line *line)
{
        gint64 now;

        if (!line_int(line, 0, G_MAXINT64, &now))
                return false;
        scheduler_clock(player->scheduler, now);
        return true;
}

static bool read_pass(Player *player, Line *line)
{
        gint64 before = player->now;

        return line_int(line, 1, G_MAXINT64, &player->pass) && line_int(line, 0, G_MAXINT64, &player->now) &&
               player->now >= before && line_done(line);
}

static bool play_pass(Player *player, Line *line)
{
        if (!read_pass(player, line))
                return false;
        scheduler_pass(player->scheduler, player->now, &player->decisions);
        player->compared = 0;
        player->report->passes++;
        return true;
}

/* The next decision of the pass, as a line; NULL when there is none. The caller's. */
static char *next_decision(Player *player, gint64 *ret_key)
{
        g_autoptr(GString) text = NULL;
        const Decision *decision;

        if (player->compared >= player->decisions.decisions->len)
                return NULL;
        decision = &g_array_index(player->decisions.decisions, Decision, player->compared++);
        text = g_string_new(NULL);
        line_decision(text, decision,
                      decision->n_tasks
                              ? &g_array_index(player->decisions.tasks, SchedTask, decision->first_task)
                              : NULL);
        g_string_truncate(text, text->len - 1);
        *ret_key = decision->key;
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void differ(Player *player, gint64 key, char *recorded, char *replayed)
{
        JournalReport *report = player->report;

        report->same = false;
        report->pass = player->pass;
        report->now = player->now;
        report->key = key;
        report->recorded = recorded;
        report->replayed = replayed;
}

static bool play_decision(Player *player, Line *line, DecisionKind kind, const char *start)
{
        gint64 key = 0;
        Decision decision;
        g_autofree char *recorded = g_strndup(start, (gsize)(line->end - start)), *replayed = NULL;

        if (!line_read_decision(line, &player->memory, kind, &decision))
                return false;
        replayed = next_decision(player, &key);
        player->report->decisions++;
        if (g_strcmp0(recorded, replayed) != 0)
                differ(player, decision.key, g_steal_pointer(&recorded), g_steal_pointer(&replayed));
        return true;
}

static bool play_decided(Player *player, Line *line)
{
        gint64 numbers[4], key = 0;
        g_autofree char *more = NULL;

        for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
                if (!line_int(line, 0, G_MAXINT64, &numbers[i]))
                        return false;
        more = next_decision(player, &key);
        if (more)
                differ(player, key, NULL, g_steal_pointer(&more));
        return line_done(line);
}

static bool play_kinds(Player *player, Line *line)
{
        return line_read_kinds(line, &player->memory);
}

static bool play_start(Player *player, Line *line)
{
        gint64 version;

        g_clear_pointer(&player->scheduler, scheduler_free);
        player->now = 0;
        if (player->report)
                player->report->generations++;
        return line_int(line, 1, 1, &version) && line_done(line);
}

/* False at the end of the text, too: then the generation is torn. */
static bool play_dump(Player *player, Line *line)
{
        gint64 len;
        const char *dump = line->end + 1;

        if (!line_int(line, 0, JOURNAL_READ_MAX, &len) || !line_done(line))
                return false;
        if (len >= player->end - dump) {
                player->at = player->end;
                if (player->report)
                        player->report->torn = true;
                return true;
        }
        player->at = dump + len + 1;
        if (player->report) {
                scheduler_free(player->scheduler);
                player->scheduler = scheduler_load(dump, (gsize)len, &player->error);
        }
        return !player->report || player->scheduler;
}

/* Into the ring, over the oldest. */
static bool list_decision(Player *player, Line *line, DecisionKind kind)
{
        Decision decision;
        Entry *entry;

        if (!line_read_decision(line, &player->memory, kind, &decision))
                return false;
        if (player->last_max == 0)
                return true;
        if (player->last->len < player->last_max) {
                Entry fresh = { .tasks = g_array_new(false, false, sizeof(SchedTask)) };

                g_array_append_val(player->last, fresh);
        }
        entry = &g_array_index(player->last, Entry, player->listed++ % player->last_max);
        entry->entry = (JournalEntry){ .pass = player->pass, .now = player->now, .decision = decision };
        g_array_set_size(entry->tasks, 0);
        g_array_append_vals(entry->tasks, player->memory.tasks->data, player->memory.tasks->len);
        entry->entry.tasks = (const SchedTask *)(void *)entry->tasks->data;
        return true;
}

static const struct {
        const char *word;
        bool (*play)(Player *player, Line *line);
        bool input;                               /* a change of the scheduler */
        bool listed;                              /* a listing looks at it, too */
        bool (*list)(Player *player, Line *line); /* ... with this instead */
} lines[] = {
        { "paddle-sched-journal", play_start, false, true, NULL },
        { "kinds", play_kinds, false, false, NULL },
        { "dump", play_dump, false, true, NULL },
        { "node", play_node, true, false, NULL },
        { "drop-node", play_drop_node, true, false, NULL },
        { "queue", play_queue, true, false, NULL },
        { "drop-queue", play_drop_queue, true, false, NULL },
        { "job", play_job, true, false, NULL },
        { "drop-job", play_drop_job, true, false, NULL },
        { "usage", play_usage, true, false, NULL },
        { "clock", play_clock, true, false, NULL },
        { "pass", play_pass, false, true, read_pass },
        { "decided", play_decided, false, false, NULL },
};

static bool is_word(const char *word, gsize len, const char *name)
{
        return strlen(name) == len && memcmp(word, name, len) == 0;
}

static bool is_first(const Player *player)
{
        return player->line_number == 1;
}

/* One of the table's lines, when there is a scheduler for it to go to. */
static bool play_row(Player *player, guint row, Line *line)
{
        bool starts = lines[row].play == play_start;

        if (is_first(player) && !starts)
                return false;
        if (player->last)
                return !lines[row].listed ||
                       (lines[row].list ? lines[row].list : lines[row].play)(player, line);
        if (!player->scheduler && !starts && lines[row].play != play_kinds && lines[row].play != play_dump)
                return false;
        player->report->inputs += lines[row].input;
        return lines[row].play(player, line);
}

static bool play_line(Player *player, const char *start, const char *end)
{
        Line line = { .at = start, .end = end };
        const char *word;
        gsize len;

        if (!line_word(&line, &word, &len))
                return false;
        for (guint row = 0; row < G_N_ELEMENTS(lines); row++)
                if (is_word(word, len, lines[row].word))
                        return play_row(player, row, &line);
        for (int kind = 0; kind < DECIDE_KINDS; kind++) {
                if (!is_word(word, len, decision_kind_name((DecisionKind)kind)))
                        continue;
                if (player->last)
                        return list_decision(player, &line, (DecisionKind)kind);
                return player->pass > 0 && player->scheduler &&
                       play_decision(player, &line, (DecisionKind)kind, start);
        }
        return false;
}

static bool wrong_line(Player *player, const char *start, const char *end, GError **error)
{
        g_autofree char *line = g_strndup(start, (gsize)(end - start)), *text = text_cut_bytes(line, 60);

        if (player->error) {
                g_propagate_error(error, g_steal_pointer(&player->error));
                return err_prefix(error, "line %" G_GINT64_FORMAT " of the journal: ", player->line_number);
        }
        return err_set(error, ERR_INVALID, "line %" G_GINT64_FORMAT " of the journal cannot be played: '%s'",
                       player->line_number, text);
}

/* Line by line until the end, or the first difference. */
static bool play_all(Player *player, GError **error)
{
        while (player->at < player->end && (!player->report || player->report->same)) {
                const char *start = player->at;
                const char *end = memchr(start, '\n', (gsize)(player->end - start));

                if (!end) {
                        if (player->report)
                                player->report->torn = true;
                        return player->line_number > 0 || wrong_line(player, start, player->end, error);
                }
                player->at = end + 1;
                player->line_number++;
                if (!play_line(player, start, end))
                        return wrong_line(player, start, end, error);
        }
        return true;
}

static void player_clear(Player *player)
{
        line_memory_clear(&player->memory);
        decisions_clear(&player->decisions);
        scheduler_free(player->scheduler);
        g_clear_error(&player->error);
}

bool journal_replay(const char *text, gsize len, JournalReport *ret, GError **error)
{
        JournalReport report = { .same = true };
        Player player = { .at = text, .end = text + len, .report = &report };
        bool ok;

        line_memory_init(&player.memory);
        decisions_init(&player.decisions);
        ok = play_all(&player, error);
        player_clear(&player);
        if (ok)
                *ret = report;
        else
                journal_report_clear(&report);
        return ok;
}

void journal_report_clear(JournalReport *report)
{
        g_clear_pointer(&report->recorded, g_free);
        g_clear_pointer(&report->replayed, g_free);
}

bool journal_list(const char *text, gsize len, int last, void (*func)(const JournalEntry *entry, void *arg),
                  void *arg, GError **error)
{
        Player player = { .at = text, .end = text + len, .last_max = (guint)MAX(last, 0) };
        bool ok;

        player.last = g_array_new(false, true, sizeof(Entry));
        line_memory_init(&player.memory);
        decisions_init(&player.decisions);
        ok = play_all(&player, error);
        for (guint i = 0; i < player.last->len; i++) {
                guint64 first = player.listed - player.last->len;
                const Entry *entry = &g_array_index(player.last, Entry, (first + i) % player.last_max);

                if (ok)
                        func(&entry->entry, arg);
        }
        for (guint i = 0; i < player.last->len; i++)
                g_array_unref(g_array_index(player.last, Entry, i).tasks);
        g_array_unref(player.last);
        player_clear(&player);
        return ok;
}
