/* Following a run (see run-follow.h). The server is asked again and again, at growing intervals while nothing changes. */
#include "cli/run-follow.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/retry.h"
#include "net/url.h"

enum {
        PAUSE_MS = 100,
        PAUSE_MAX_MS = 2000,
        NODES_MAX = 1000,      /* steps of a run with more nodes are not shown one by one, */
        COUNTS_MS = 10000,     /* but how many are in which state, at most this often */
        GROUP_MIN = 3,         /* so many steps of one name whose results are earlier ones are one line */
        WAIT_MS = 1000,        /* a step that waits for less is not said to */
        WAIT_AGAIN_MS = 10000, /* ... and what it waits for is said at most this often */
};

const char run_between_reasons[] = "; step '";

char *run_path(const char *run, const char *suffix)
{
        g_autofree char *escaped = url_escape(run);

        return g_strdup_printf("/v1/runs/%s%s", escaped, suffix);
}

bool run_step_is_queued(const json_t *step)
{
        static const char *const words[] = { "submitted", "queued", "suspended", NULL };

        return strcmp(text_of(step, "state"), "running") == 0 &&
               g_strv_contains(words, text_of(step, "job_state"));
}

const char *run_step_word(const json_t *step)
{
        return run_step_is_queued(step) ? "queued" : text_of(step, "state");
}

const char *run_state_word(const json_t *run)
{
        const char *state = text_of(run, "state");

        return int_of(run, "paused") > 0 && strcmp(state, "running") == 0 ? "paused" : state;
}

char *run_lost_line(const json_t *lost)
{
        return g_strdup_printf("%s: its file %s is gone, so it runs again", text_of(lost, "step"),
                               text_of(lost, "path"));
}

bool run_is_final(const json_t *run)
{
        const char *state = text_of(run, "state");

        return strcmp(state, "running") != 0 && strcmp(state, "stopping") != 0;
}

/* "3.2 s"; NULL: it has not ended. */
static char *took(const json_t *item, const char *from, const char *to)
{
        gint64 begun = time_of(item, from), ended = time_of(item, to);

        return begun && ended ? duration_format(MAX(ended - begun, 0)) : NULL;
}

/* ---- steps as they go ---- */

/* A step that waits, as its run says it ("waits"). */
typedef struct {
        gint64 since, said; /* monotonic ms; said 0: not yet */
        char *kind;         /* what was printed, without numbers; or NULL */
        bool here;          /* the last look found it */
} Wait;

typedef struct {
        Cli *cli;
        GHashTable *states; /* node -> its state, as it was printed */
        GHashTable *waits;  /* path of a step -> Wait */
        gint64 counts_due;  /* 0: no counts were printed */
        bool counts_held;   /* those that were seen last were not printed: it was too early */
        char *pauses;       /* as they were printed; or NULL */
        char *trouble;      /* the same */
        size_t missed;      /* so many breakpoints without a pause were printed */
        bool drawn;         /* the last line of the terminal is the one of draw_waits */
} Steps;

/* Steps of one name whose results are earlier ones: many items of a loop. */
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

static void print_step(const Steps *steps, const json_t *node, const char *state)
{
        const char *message = strcmp(state, "running") == 0 ? "" : text_of(node, "message");
        g_autofree char *painted = state_text(state, steps->cli->terminal.out_colour);
        bool skipped = strcmp(state, "skipped") == 0;
        g_autofree char *time = skipped ? NULL : took(node, "started_at", "finished_at"),
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

static bool is_news(const Steps *steps, const json_t *node)
{
        gpointer key = GINT_TO_POINTER((int)int_of(node, "node"));

        return strcmp(text_of(node, "type"), "step") == 0 &&
               g_strcmp0(run_step_word(node), g_hash_table_lookup(steps->states, key)) != 0;
}

/* A job is queued for a moment, so this is printed by show_waits if it lasts. `group`: of steps that are printed together,
 * of which this is one; or NULL. */
static void note_step(Steps *steps, const json_t *node, Group *group)
{
        const char *state = run_step_word(node);

        if (!is_news(steps, node))
                return;
        g_hash_table_replace(steps->states, GINT_TO_POINTER((int)int_of(node, "node")), g_strdup(state));
        if (group && group->steps >= GROUP_MIN)
                print_group(group);
        else if (strcmp(state, "queued") != 0)
                print_step(steps, node, state);
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
static GHashTable *find_groups(const Steps *steps, const json_t *items, GHashTable *ret_of)
{
        g_autoptr(GHashTable) nodes = g_hash_table_new(NULL, NULL);
        GHashTable *groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, group_free);
        json_t *item;
        size_t i;

        json_array_foreach((json_t *)items, i, item)
                g_hash_table_insert(nodes, GINT_TO_POINTER((int)int_of(item, "node")), item);
        json_array_foreach((json_t *)items, i, item) {
                Group *group = is_set(item, "run") && is_news(steps, item) ? group_new(item, nodes) : NULL,
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

static void note_steps(Steps *steps, const json_t *items)
{
        g_autoptr(GHashTable) group_of = g_hash_table_new(NULL, NULL);
        g_autoptr(GHashTable) groups = find_groups(steps, items, group_of);
        const json_t *item;
        size_t i;

        json_array_foreach((json_t *)items, i, item)
                note_step(steps, item,
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
static void print_counts(Steps *steps, const json_t *run)
{
        const json_t *counts = json_object_get(run, "nodes"), *count;
        g_autoptr(GString) text = g_string_new(NULL);
        gint64 queued = count_queued(run);
        const char *state;

        steps->counts_held = clock_monotonic_ms() < steps->counts_due && !run_is_final(run);
        if (steps->counts_held)
                return;
        if (!steps->counts_due)
                cli_say(steps->cli, "there are more than %d steps: how many are in which state follows",
                        NODES_MAX);
        steps->counts_due = clock_monotonic_ms() + COUNTS_MS;
        json_object_foreach((json_t *)counts, state, count)
                put_count(text, json_integer_value(count) - (strcmp(state, "running") == 0 ? queued : 0),
                          state);
        put_count(text, queued, "queued");
        cli_print("%s: %s", text_of(run, "name"), text->str);
}

static bool show_steps(Steps *steps, const char *nodes, const json_t *run, GError **error)
{
        g_autofree char *path = g_strdup_printf("%s?limit=%d", nodes, NODES_MAX);
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(steps->cli->client, "GET", path, NULL, &reply, error))
                return false;
        if (is_set(reply, "next"))
                print_counts(steps, run);
        else
                note_steps(steps, json_object_get(reply, "items"));
        fflush(stdout);
        return true;
}

/* ---- steps that wait ---- */

static void wait_free(gpointer data)
{
        Wait *wait = data;

        g_free(wait->kind);
        g_free(wait);
}

/* Of a reason: "waits for 2 cores" and "waits for 3 cores" are the same news. */
static char *without_numbers(const char *text)
{
        GString *kind = g_string_new(NULL);

        for (; *text; text++)
                if (!g_ascii_isdigit(*text))
                        g_string_append_c(kind, *text);
        return g_string_free(kind, FALSE);
}

static Wait *find_wait(Steps *steps, const char *step)
{
        Wait *wait = g_hash_table_lookup(steps->waits, step);

        if (!wait) {
                wait = g_new0(Wait, 1);
                wait->since = clock_monotonic_ms();
                g_hash_table_insert(steps->waits, g_strdup(step), wait);
        }
        return wait;
}

/* "train: queued: its environment is being built", and again with another reason, though not all the time. */
static void print_wait(const Steps *steps, Wait *wait, const json_t *one)
{
        gint64 now = clock_monotonic_ms();
        g_autofree char *kind = without_numbers(text_of(one, "message"));
        g_autofree char *path = text_visible(text_of(one, "step")),
                        *message = text_visible(text_of(one, "message"));
        g_autofree char *state = state_text(text_of(one, "state"), steps->cli->terminal.out_colour);

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

static void show_waits(Steps *steps, const json_t *run)
{
        const json_t *waits = json_object_get(run, "waits"), *one;
        GHashTableIter iter;
        gpointer known;
        size_t i;

        g_hash_table_iter_init(&iter, steps->waits);
        while (g_hash_table_iter_next(&iter, NULL, &known))
                ((Wait *)known)->here = false;
        json_array_foreach((json_t *)waits, i, one) {
                Wait *wait = find_wait(steps, text_of(one, "step"));

                wait->here = true;
                if (!steps->counts_due) /* else the steps are not shown one by one */
                        print_wait(steps, wait, one);
        }
        g_hash_table_foreach_remove(steps->waits, is_gone, NULL);
        fflush(stdout);
}

/* The last line of a terminal while steps wait: "21 s  train and 3 more wait: its environment is being built". */
static void draw_waits(Steps *steps, const json_t *run)
{
        const json_t *waits = json_object_get(run, "waits"), *first = json_array_get(waits, 0);
        const Terminal *terminal = &steps->cli->terminal;
        const Wait *wait = g_hash_table_lookup(steps->waits, text_of(first, "step"));
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
        steps->drawn = true;
}

static void erase_waits(Steps *steps)
{
        if (steps->drawn)
                fputs("\r\033[K", stdout);
        steps->drawn = false;
}

/* ---- the server ---- */

/* It cannot store what happens, so nothing goes on. */
static void show_trouble(Steps *steps, const json_t *run)
{
        g_autofree char *now = err_line(text_of(run, "trouble"));

        if (g_strcmp0(steps->trouble ? steps->trouble : "", now) == 0)
                return;
        if (*now)
                cli_say(steps->cli, "paddle: the server cannot store changes, so the run does not go on: %s",
                        now);
        else
                cli_say(steps->cli, "paddle: the server stores changes again");
        g_free(steps->trouble);
        steps->trouble = g_steal_pointer(&now);
}

/* ---- pauses ---- */

/* The server names the first hundred. Without `show` only the last line is printed. */
static void print_pauses(const Steps *steps, const json_t *run, bool show)
{
        const json_t *pauses = json_object_get(run, "pauses"), *pause;
        size_t i;

        json_array_foreach((json_t *)(show ? pauses : NULL), i, pause)
                cli_print("%s: paused %s it", text_of(pause, "step"), text_of(pause, "at"));
        fflush(stdout);
        if (json_array_size(pauses) > 0)
                cli_say(steps->cli,
                        "the run is paused: `paddle run continue %s` goes on, `paddle run step %s` with a single step",
                        text_of(run, "id"), text_of(run, "id"));
}

/* Breakpoints at which the run does not pause, once each. */
static void show_missed(Steps *steps, const json_t *run)
{
        json_t *missed = json_object_get(run, "missed_breakpoints"), *one;
        size_t i;

        json_array_foreach(missed, i, one)
                if (i >= steps->missed)
                        cli_print("%s: no pause %s it: %s", text_of(one, "step"), text_of(one, "at"),
                                  text_of(one, "reason"));
        steps->missed = json_array_size(missed);
        fflush(stdout);
}

/* When they have changed. */
static void show_pauses(Steps *steps, const json_t *run, bool show)
{
        g_autofree char *now = json_format(json_object_get(run, "pauses"));

        if (g_strcmp0(steps->pauses, now) == 0)
                return;
        g_free(steps->pauses);
        steps->pauses = g_steal_pointer(&now);
        print_pauses(steps, run, show);
}

/* ---- the run ---- */

/* What is known of the steps of a run: how many are in which state, and which of them wait. */
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
static bool take_news(char **known, const json_t *run)
{
        g_autofree char *now = news_of(run);

        if (g_strcmp0(*known, now) == 0)
                return false;
        g_free(*known);
        *known = g_steal_pointer(&now);
        return true;
}

/* One look. False with an error. */
static bool look(Steps *steps, const char *run, bool show, char **known, json_t **ret, bool *ret_news,
                 GError **error)
{
        g_autofree char *path = run_path(run, ""), *nodes = run_path(run, "/nodes");
        bool due;

        if (!http_call_json(steps->cli->client, "GET", path, NULL, ret, error))
                return false;
        *ret_news = take_news(known, *ret);
        due = *ret_news || (steps->counts_held && run_is_final(*ret));
        if (due && show && !show_steps(steps, nodes, *ret, error)) {
                g_clear_pointer(known, g_free); /* it is news when the server answers again */
                return false;
        }
        show_trouble(steps, *ret);
        show_pauses(steps, *ret, show);
        if (show)
                show_missed(steps, *ret);
        if (show)
                show_waits(steps, *ret);
        return true;
}

static bool is_late(const char *run, gint64 deadline, GError **error)
{
        return deadline && clock_monotonic_ms() >= deadline &&
               !err_set(error, ERR_TIMEOUT, "run %s has not ended in time\nIt goes on.", run);
}

/* A name may mean a newer run soon. */
static void keep_id(char **word, const json_t *run)
{
        g_free(*word);
        *word = g_strdup(text_of(run, "id"));
}

/* Until the next look. `run`: with what waits in it on the terminal; NULL: without. */
static void rest(Steps *steps, gint64 pause, const json_t *run)
{
        bool waits = run && json_array_size(json_object_get(run, "waits")) > 0;

        if (waits)
                draw_waits(steps, run);
        g_usleep((gulong)(waits ? MIN(pause, WAIT_MS) : pause) * 1000);
        erase_waits(steps);
}

static bool wait(Steps *steps, const char *word, bool show, gint64 deadline, json_t **ret, GError **error)
{
        g_autofree char *known = NULL, *run = g_strdup(word);
        gint64 pause = PAUSE_MS;
        Retry retry;

        retry_init(&retry, "`paddle run wait` continues to wait.");
        for (;;) {
                g_autoptr(json_t) now = NULL;
                GError *cause = NULL;
                bool news = false, ok = look(steps, run, show, &known, &now, &news, &cause);

                if (ok && retry_succeeded(&retry))
                        cli_say(steps->cli, "paddle: connected again");
                if (ok)
                        keep_id(&run, now);
                if (ok && run_is_final(now)) {
                        *ret = g_steal_pointer(&now);
                        return true;
                }
                if (!ok && !retry_after(&retry, steps->cli, cause, error))
                        return false;
                if (is_late(run, deadline, error))
                        return false;
                pause = news ? PAUSE_MS : MIN(pause * 3 / 2, PAUSE_MAX_MS);
                if (ok)
                        rest(steps, pause, show ? now : NULL);
        }
}

/* *ret_shown: each step was printed, with its reason if it failed. */
static bool follow_run(Cli *cli, const char *run, bool show, gint64 deadline, bool *ret_shown, json_t **ret,
                       GError **error)
{
        Steps steps = { .cli = cli,
                        .states = g_hash_table_new_full(NULL, NULL, NULL, g_free),
                        .waits = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, wait_free) };
        bool ok = wait(&steps, run, show, deadline, ret, error);

        *ret_shown = show && !steps.counts_due;
        g_hash_table_unref(steps.states);
        g_hash_table_unref(steps.waits);
        g_free(steps.pauses);
        g_free(steps.trouble);
        return ok;
}

bool run_follow(Cli *cli, const char *run, bool show, gint64 deadline, json_t **ret, GError **error)
{
        bool shown;

        return follow_run(cli, run, show, deadline, &shown, ret, error);
}

/* "step 'a' failed; step 'b' failed (see above)": without the reasons, which were printed with the steps. */
static char *without_reasons(const char *message)
{
        g_auto(GStrv) parts = g_strsplit(message, run_between_reasons, -1);
        g_autoptr(GString) text = g_string_new(NULL);
        bool shorter = false;

        for (char **part = parts; *part; part++) {
                char *failed = strstr(*part, "' failed: ");

                if (failed)
                        failed[strlen("' failed")] = '\0';
                shorter |= failed != NULL;
                g_string_append_printf(text, "%s%s", part == parts ? "" : run_between_reasons, *part);
        }
        return shorter ? g_strconcat(text->str, " (see above)", NULL) : g_strdup(message);
}

static void print_end(Cli *cli, const json_t *run, const char *reason)
{
        const char *state = text_of(run, "state");
        g_autofree char *painted = state_text(state, cli->terminal.out_colour);
        g_autofree char *time = took(run, "created_at", "finished_at"), *message = text_visible(reason),
                        *name = text_visible(text_of(run, "name"));

        printf("%s (%s): %s%s%s%s%s\n", name, text_of(run, "id"), painted, time ? " after " : "",
               time ? time : "", *message ? ": " : "", message);
        if (strcmp(state, "succeeded") != 0)
                cli->status = 1;
}

void run_print_end(Cli *cli, const json_t *run)
{
        print_end(cli, run, text_of(run, "message"));
}

/* ---- after a creation or a retry ---- */

bool run_post(Cli *cli, const char *path, const char *key, const json_t *body, json_t **ret, GError **error)
{
        g_autofree char *text = json_format(body);
        g_autofree char *header = key ? g_strconcat("Idempotency-Key: ", key, NULL) : NULL;
        const char *headers[] = { header, NULL };
        const HttpCall call = { .method = "POST",
                                .path = path,
                                .body = text,
                                .body_len = strlen(text),
                                .headers = header ? headers : NULL };
        g_auto(HttpReply) reply = { 0 };

        if (!http_call(cli->client, &call, &reply, error))
                return false;
        if (reply.status / 100 != 2)
                return http_reply_error(&reply, error);
        *ret = json_parse(reply.body->str, reply.body->len, error);
        return *ret != NULL;
}

/* Prepared before, because a signal handler may only write it. */
static struct {
        char text[512]; /* ids have 16 letters, the other words some 200 */
        gsize len;
} interrupt_note;

static void on_interrupt(int number)
{
        if (write(STDERR_FILENO, interrupt_note.text, interrupt_note.len) < 0)
                _exit(1);
        _exit(128 + number);
}

static void catch_interrupt(const char *id)
{
        struct sigaction action = { .sa_handler = on_interrupt };

        g_snprintf(
                interrupt_note.text, sizeof interrupt_note.text,
                "\npaddle: the run goes on without this command\n"
                "Watch it with `paddle run show --watch %s`, follow its logs with `paddle run logs -f %s`, "
                "stop it with `paddle run stop %s`.\n",
                id, id, id);
        interrupt_note.len = strlen(interrupt_note.text);
        sigaction(SIGINT, &action, NULL);
}

/* Of a retry: steps that it would keep if their files were there. */
static void print_lost(const json_t *run)
{
        const json_t *one;
        size_t i;

        json_array_foreach(json_object_get(run, "lost_outputs"), i, one) {
                g_autofree char *line = run_lost_line(one), *visible = text_visible(line);

                cli_print("%s", visible);
        }
        fflush(stdout);
}

bool run_begun(Cli *cli, const json_t *run, bool follow, GError **error)
{
        g_autoptr(json_t) ended = NULL;
        g_autofree char *reason = NULL;
        bool shown;

        printf("%s\n", text_of(run, "id"));
        fflush(stdout);
        if (!follow) {
                cli_say(cli, "`paddle run show %s` shows its steps", text_of(run, "id"));
                return true;
        }
        print_lost(run);
        catch_interrupt(text_of(run, "id"));
        if (!follow_run(cli, text_of(run, "id"), true, 0, &shown, &ended, error))
                return false;
        reason = shown ? without_reasons(text_of(ended, "message")) : g_strdup(text_of(ended, "message"));
        print_end(cli, ended, reason);
        return true;
}
