/* Changes of a run, as lines (see run-news.h). */
#include "cli/run-news.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/run-words.h"

enum {
        NODES_MAX = 1000,      /* a run with more nodes is shown by the counts of their states */
        COUNTS_MS = 10000,     /* the least time between two lines with counts */
        GROUP_MIN = 3,         /* the least number of reused results of one step that share a line */
        WAIT_MS = 1000,        /* a shorter wait of a step is not printed */
        WAIT_AGAIN_MS = 10000, /* the least time between two lines about the wait of a step */
};

/* A step in the list "waits" of the run. */
typedef struct {
        gint64 since, said; /* monotonic ms; said 0: not yet */
        char *kind;         /* what was printed, without numbers; or NULL */
        bool here;          /* the last look found it */
} Wait;

struct RunNews {
        Cli *cli;
        char *known;        /* of news_of, at the last look; or NULL */
        GHashTable *states; /* node -> its state, as it was printed */
        GHashTable *waits;  /* path of a step -> Wait */
        gint64 counts_due;  /* 0: no counts were printed */
        bool counts_held;   /* those that were seen last were not printed: it was too early */
        char *pauses;       /* as they were printed; or NULL */
        char *trouble;      /* the same */
        size_t missed;      /* number of missed breakpoints that were printed */
        bool drawn;         /* the last line of the terminal is the one of run_news_draw_waits */
};

static void wait_free(gpointer data)
{
        Wait *wait = data;

        g_free(wait->kind);
        g_free(wait);
}

RunNews *run_news_new(Cli *cli)
{
        RunNews *news = g_new0(RunNews, 1);

        news->cli = cli;
        news->states = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        news->waits = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, wait_free);
        return news;
}

void run_news_free(RunNews *news)
{
        if (!news)
                return;
        g_hash_table_unref(news->states);
        g_hash_table_unref(news->waits);
        g_free(news->known);
        g_free(news->pauses);
        g_free(news->trouble);
        g_free(news);
}

bool run_news_has_steps(const RunNews *news)
{
        return news->counts_due == 0;
}

/* ---- steps as they go ---- */

/* Items of a loop that reuse earlier results. They share a line. */
typedef struct {
        char *names, *what;
        guint steps;
        bool printed;
} Group;

static void group_free(gpointer data)
{
        Group *group = data;

        g_free(group->names);
        g_free(group->what);
        g_free(group);
}

static void print_group(Group *group)
{
        if (!group->printed)
                cli_print("%s: %u items %s", group->names, group->steps, group->what);
        group->printed = true;
}

static bool is_kept(const json_t *node)
{
        return is_set(node, "run") && !json_is_true(json_object_get(node, "cached"));
}

/* A loop without items, and one that is disabled, has one node: it is no item. */
static bool is_empty_loop(const json_t *node)
{
        const char *message = text_of(node, "message");

        return is_set(node, "number") && strcmp(text_of(node, "state"), "skipped") == 0 &&
               (strcmp(message, "disabled") == 0 || strcmp(message, "its loop has no items") == 0);
}

static void print_step(const RunNews *news, const json_t *node, const char *state)
{
        const char *message = strcmp(state, "running") == 0 ? "" : text_of(node, "message");
        g_autofree char *painted = state_text(state, news->cli->terminal.out_colour);
        bool skipped = strcmp(state, "skipped") == 0;
        g_autofree char *time = skipped ? NULL : run_took(node, "started_at", "finished_at"),
                        *visible = text_visible(message), *path = text_visible(text_of(node, "path"));

        if (is_empty_loop(node))
                *strrchr(path, '-') = '\0';
        if (is_kept(node)) {
                cli_print("%s: kept from run %s", path, text_of(node, "run"));
                return;
        }
        printf("%s: %s%s%s%s%s%s\n", path, painted, time ? " (" : "", time ? time : "", time ? ")" : "",
               *visible ? ": " : "", visible);
}

static bool is_news(const RunNews *news, const json_t *node)
{
        gpointer key = GINT_TO_POINTER((int)int_of(node, "node"));

        return strcmp(text_of(node, "type"), "step") == 0 &&
               g_strcmp0(run_step_word(node), g_hash_table_lookup(news->states, key)) != 0;
}

/* Every job is queued for a moment: print_waits prints the steps that stay queued. `group`: steps that share a line,
 * of which this is one; or NULL. */
static void note_step(RunNews *news, const json_t *node, Group *group)
{
        const char *state = run_step_word(node);

        if (!is_news(news, node))
                return;
        g_hash_table_replace(news->states, GINT_TO_POINTER((int)int_of(node, "node")), g_strdup(state));
        if (group && group->steps >= GROUP_MIN)
                print_group(group);
        else if (strcmp(state, "queued") != 0)
                print_step(news, node, state);
}

/* "trial.fit": without the numbers of loops. `nodes`: index -> node of the page. The caller's. */
static char *names_of(const json_t *node, GHashTable *nodes)
{
        GString *path = g_string_new(text_of(node, "name"));

        while (is_set(node, "parent")) {
                node = g_hash_table_lookup(nodes, GINT_TO_POINTER((int)int_of(node, "parent")));
                if (!node)
                        break;
                g_string_prepend_c(path, '.');
                g_string_prepend(path, text_of(node, "name"));
        }
        return g_string_free(path, FALSE);
}

/* "trial.fit: 24 items", "kept from run 6rpyr77cvstaad5v": what is printed of a step whose result is an earlier one. The
 * caller's. */
static Group *group_new(const json_t *node, GHashTable *nodes)
{
        Group *group = g_new0(Group, 1);
        g_autofree char *names = names_of(node, nodes);

        group->names = text_visible(names);
        group->what = is_kept(node) ? g_strdup_printf("kept from run %s", text_of(node, "run"))
                                    : g_strdup_printf("%s, from the cache", text_of(node, "state"));
        return group;
}

/* The steps of a page that are news, and whose results are earlier ones, by names and words: key -> Group. *ret_of is
 * index -> Group. */
static GHashTable *find_groups(const RunNews *news, const json_t *items, GHashTable *ret_of)
{
        g_autoptr(GHashTable) nodes = g_hash_table_new(NULL, NULL);
        GHashTable *groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, group_free);
        json_t *item;
        size_t i;

        json_array_foreach((json_t *)items, i, item)
                g_hash_table_insert(nodes, GINT_TO_POINTER((int)int_of(item, "node")), item);
        json_array_foreach((json_t *)items, i, item) {
                Group *group = is_set(item, "run") && is_news(news, item) ? group_new(item, nodes) : NULL,
                      *same;
                char *key = group ? g_strconcat(group->names, " ", group->what, NULL) : NULL;

                if (!group)
                        continue;
                same = g_hash_table_lookup(groups, key);
                if (same)
                        group_free(group);
                else
                        g_hash_table_insert(groups, g_strdup(key), group);
                same = same ? same : group;
                same->steps++;
                g_hash_table_insert(ret_of, GINT_TO_POINTER((int)int_of(item, "node")), same);
                g_free(key);
        }
        return groups;
}

static void note_steps(RunNews *news, const json_t *items)
{
        g_autoptr(GHashTable) group_of = g_hash_table_new(NULL, NULL);
        g_autoptr(GHashTable) groups = find_groups(news, items, group_of);
        const json_t *item;
        size_t i;

        json_array_foreach((json_t *)items, i, item)
                note_step(news, item,
                          g_hash_table_lookup(group_of, GINT_TO_POINTER((int)int_of(item, "node"))));
}

static gint64 count_queued(const json_t *run)
{
        const json_t *waits = json_object_get(run, "waits"), *one;
        gint64 n = 0;
        size_t i;

        json_array_foreach((json_t *)waits, i, one)
                n += strcmp(text_of(one, "state"), "queued") == 0;
        return n;
}

static void put_count(GString *text, gint64 n, const char *state)
{
        if (n > 0)
                g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s", text->len ? ", " : "", n, state);
}

/* "train: 1040 succeeded, 2 running, 18 queued" */
static void print_counts(RunNews *news, const json_t *run)
{
        const json_t *counts = json_object_get(run, "nodes"), *count;
        g_autoptr(GString) text = g_string_new(NULL);
        gint64 queued = count_queued(run);
        const char *state;

        news->counts_held = clock_monotonic_ms() < news->counts_due && !run_is_final(run);
        if (news->counts_held)
                return;
        if (!news->counts_due)
                cli_say(news->cli, "there are more than %d steps: how many are in which state follows",
                        NODES_MAX);
        news->counts_due = clock_monotonic_ms() + COUNTS_MS;
        json_object_foreach((json_t *)counts, state, count)
                put_count(text, json_integer_value(count) - (strcmp(state, "running") == 0 ? queued : 0),
                          state);
        put_count(text, queued, "queued");
        cli_print("%s: %s", text_of(run, "name"), text->str);
}

static bool print_steps(RunNews *news, const json_t *run, GError **error)
{
        g_autofree char *suffix = g_strdup_printf("/nodes?limit=%d", NODES_MAX),
                        *path = run_path(text_of(run, "id"), suffix);
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(news->cli->client, "GET", path, NULL, &reply, error))
                return false;
        if (is_set(reply, "next"))
                print_counts(news, run);
        else
                note_steps(news, json_object_get(reply, "items"));
        fflush(stdout);
        return true;
}

/* ---- steps that wait ---- */

/* Of a reason: "waits for 2 cores" and "waits for 3 cores" are the same news. */
static char *without_numbers(const char *text)
{
        GString *kind = g_string_new(NULL);

        for (; *text; text++)
                if (!g_ascii_isdigit(*text))
                        g_string_append_c(kind, *text);
        return g_string_free(kind, FALSE);
}

static Wait *find_wait(RunNews *news, const char *step)
{
        Wait *wait = g_hash_table_lookup(news->waits, step);

        if (!wait) {
                wait = g_new0(Wait, 1);
                wait->since = clock_monotonic_ms();
                g_hash_table_insert(news->waits, g_strdup(step), wait);
        }
        return wait;
}

/* "train: queued: its environment is being built". Another reason is a new line, at most each WAIT_AGAIN_MS. */
static void print_wait(const RunNews *news, Wait *wait, const json_t *one)
{
        gint64 now = clock_monotonic_ms();
        g_autofree char *kind = without_numbers(text_of(one, "message"));
        g_autofree char *path = text_visible(text_of(one, "step")),
                        *message = text_visible(text_of(one, "message"));
        g_autofree char *state = state_text(text_of(one, "state"), news->cli->terminal.out_colour);

        if (now - wait->since < WAIT_MS || (wait->said && now - wait->said < WAIT_AGAIN_MS) ||
            g_strcmp0(kind, wait->kind) == 0)
                return;
        printf("%s: %s: %s\n", path, state, message);
        wait->said = now;
        g_free(wait->kind);
        wait->kind = g_steal_pointer(&kind);
}

static gboolean is_gone(gpointer step, gpointer wait, gpointer arg)
{
        return !((const Wait *)wait)->here;
}

static void print_waits(RunNews *news, const json_t *run)
{
        const json_t *waits = json_object_get(run, "waits"), *one;
        GHashTableIter iter;
        gpointer known;
        size_t i;

        g_hash_table_iter_init(&iter, news->waits);
        while (g_hash_table_iter_next(&iter, NULL, &known))
                ((Wait *)known)->here = false;
        json_array_foreach((json_t *)waits, i, one) {
                Wait *wait = find_wait(news, text_of(one, "step"));

                wait->here = true;
                if (!news->counts_due) /* else the steps are not shown one by one */
                        print_wait(news, wait, one);
        }
        g_hash_table_foreach_remove(news->waits, is_gone, NULL);
        fflush(stdout);
}

void run_news_draw_waits(RunNews *news, const json_t *run)
{
        const json_t *waits = json_object_get(run, "waits"), *first = json_array_get(waits, 0);
        const Terminal *terminal = &news->cli->terminal;
        const Wait *wait = g_hash_table_lookup(news->waits, text_of(first, "step"));
        g_autofree char *time = NULL, *line = NULL, *visible = NULL, *cut = NULL, *others = NULL;

        if (!terminal->out_is_terminal || !wait || clock_monotonic_ms() - wait->since < WAIT_MS)
                return;
        time = duration_format(clock_monotonic_ms() - wait->since);
        others = json_array_size(waits) > 1
                         ? g_strdup_printf(" and %zu more wait", json_array_size(waits) - 1)
                         : g_strdup(" waits");
        line = g_strdup_printf("%s  %s%s: %s", time, text_of(first, "step"), others,
                               text_of(first, "message"));
        visible = text_visible(line);
        cut = text_cut_columns(visible, terminal->width - 1, terminal->utf8);
        printf("%s", cut);
        fflush(stdout);
        news->drawn = true;
}

void run_news_erase_waits(RunNews *news)
{
        if (news->drawn)
                fputs("\r\033[K", stdout);
        news->drawn = false;
}

/* ---- the server ---- */

/* The server cannot store changes, so no run goes on. */
static void print_trouble(RunNews *news, const json_t *run)
{
        g_autofree char *now = err_line(text_of(run, "trouble"));

        if (g_strcmp0(news->trouble ? news->trouble : "", now) == 0)
                return;
        if (*now)
                cli_say(news->cli, "paddle: the server cannot store changes, so the run does not go on: %s",
                        now);
        else
                cli_say(news->cli, "paddle: the server stores changes again");
        g_free(news->trouble);
        news->trouble = g_steal_pointer(&now);
}

/* ---- pauses ---- */

/* The server names the first hundred. Without `show` only the last line is printed. */
static void print_all_pauses(const RunNews *news, const json_t *run, bool show)
{
        const json_t *pauses = json_object_get(run, "pauses"), *pause;
        size_t i;

        json_array_foreach((json_t *)(show ? pauses : NULL), i, pause)
                cli_print("%s: paused %s it", text_of(pause, "step"), text_of(pause, "at"));
        fflush(stdout);
        if (json_array_size(pauses) > 0)
                cli_say(news->cli,
                        "the run is paused: `paddle run continue %s` goes on, `paddle run step %s` with a single step",
                        text_of(run, "id"), text_of(run, "id"));
}

/* Breakpoints at which the run does not pause, once each. */
static void print_missed(RunNews *news, const json_t *run)
{
        json_t *missed = json_object_get(run, "missed_breakpoints"), *one;
        size_t i;

        json_array_foreach(missed, i, one)
                if (i >= news->missed)
                        cli_print("%s: no pause %s it: %s", text_of(one, "step"), text_of(one, "at"),
                                  text_of(one, "reason"));
        news->missed = json_array_size(missed);
        fflush(stdout);
}

/* Prints the pauses if they have changed. */
static void print_pauses(RunNews *news, const json_t *run, bool show)
{
        g_autofree char *now = json_format(json_object_get(run, "pauses"));

        if (g_strcmp0(news->pauses, now) == 0)
                return;
        g_free(news->pauses);
        news->pauses = g_steal_pointer(&now);
        print_all_pauses(news, run, show);
}

/* ---- all of it ---- */

/* A text that changes with the states of the steps: their counts, and the names of steps that wait. */
static char *news_of(const json_t *run)
{
        g_autofree char *counts = json_format(json_object_get(run, "nodes"));
        GString *text = g_string_new(counts);
        const json_t *waits = json_object_get(run, "waits"), *one;
        size_t i;

        json_array_foreach((json_t *)waits, i, one)
                g_string_append_printf(text, " %s", text_of(one, "step"));
        return g_string_free(text, FALSE);
}

/* True: something has changed since the last look. */
static bool take_news(RunNews *news, const json_t *run)
{
        g_autofree char *now = news_of(run);

        if (g_strcmp0(news->known, now) == 0)
                return false;
        g_free(news->known);
        news->known = g_steal_pointer(&now);
        return true;
}

bool run_news_print(RunNews *news, const json_t *run, bool show, bool *ret_news, GError **error)
{
        bool due;

        *ret_news = take_news(news, run);
        due = *ret_news || (news->counts_held && run_is_final(run));
        if (due && show && !print_steps(news, run, error)) {
                g_clear_pointer(&news->known, g_free); /* it is news when the server answers again */
                return false;
        }
        print_trouble(news, run);
        print_pauses(news, run, show);
        if (show) {
                print_missed(news, run);
                print_waits(news, run);
        }
        return true;
}
