/* paddle run logs: the output of all steps of a run. The stream of doc/guide/rest.md, "The log of a run"; a broken
 * connection is resumed where it stopped. */
#include <string.h>

#include "base/err.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/prefix.h"
#include "cli/retry.h"
#include "cli/run-words.h"
#include "cli/verbs.h"
#include "net/url.h"

enum { WIDTH = 16 }; /* of the steps' names; longer ones move their text to the right */

typedef struct {
        Common common;
        bool follow, timestamps, raw;
} LogOptions;

static const Option options[] = {
        { "follow", 'f', OPTION_BOOL, offsetof(LogOptions, follow), NULL, "go on until the run ends" },
        { "timestamps", 0, OPTION_BOOL, offsetof(LogOptions, timestamps), NULL,
          "show the time of each line: in your time zone on a terminal, otherwise RFC 3339 in UTC" },
        { "raw", 0, OPTION_BOOL, offsetof(LogOptions, raw), NULL,
          "unfiltered output: all states of redrawn lines and, on a terminal, all control sequences" },
        COMMON_OPTIONS,
        { 0 },
};

typedef struct {
        Cli *cli;
        const LogOptions *options;
        char *id, *step, *cursor;
        LogPrefixer *prefixer;
        GString *out;
        bool heard, ended;
        char *state; /* of the run at its end */
        GError *failed;
        Retry retry;
} RunLog;

static void run_log_clear(RunLog *log)
{
        g_free(log->id);
        g_free(log->cursor);
        g_free(log->state);
        log_prefixer_free(log->prefixer);
        if (log->out)
                g_string_free(log->out, TRUE);
        g_clear_error(&log->failed);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunLog, run_log_clear)

static void flush(RunLog *log)
{
        fwrite(log->out->str, 1, log->out->len, stdout);
        fflush(stdout);
        g_string_truncate(log->out, 0);
}

/* "train-3", or "train-3/pserver-0" of a step with several members. The member of most steps is worker-0. */
static char *name_of(const json_t *data)
{
        const char *step = text_of(data, "step"), *member = text_of(data, "member");

        return strcmp(member, "worker-0") == 0 ? g_strdup(step) : g_strdup_printf("%s/%s", step, member);
}

static void on_log(RunLog *log, const json_t *data)
{
        g_autofree char *name = name_of(data);
        g_autofree char *local = NULL;

        if (log->options->timestamps) {
                local = log->cli->terminal.out_is_terminal ? local_stamp(text_of(data, "time")) : NULL;
                log_prefixer_stamp(log->prefixer, local ? local : text_of(data, "time"));
        }
        log->heard = true;
        log_prefixer_add(log->prefixer, name, text_of(data, "text"), log->out);
        flush(log);
}

static void on_end(RunLog *log, const json_t *data)
{
        log->ended = true;
        log->state = g_strdup(text_of(data, "state"));
}

static void on_error(RunLog *log, const json_t *data)
{
        const char *hint = text_of(data, "hint");

        g_clear_error(&log->failed);
        err_set(&log->failed, err_from_word(text_of(data, "code")), "%s%s%s", text_of(data, "message"),
                *hint ? "\n" : "", hint);
}

static bool on_event(const char *id, const char *event, const char *data, void *arg)
{
        static const struct {
                const char *name;
                void (*take)(RunLog *log, const json_t *data);
        } rows[] = { { "log", on_log }, { "end", on_end }, { "error", on_error } };
        RunLog *log = arg;
        g_autoptr(json_t) value = json_parse(data, strlen(data), NULL);

        if (retry_succeeded(&log->retry))
                cli_say(log->cli, "paddle: connected again");
        for (gsize i = 0; value && event && i < G_N_ELEMENTS(rows); i++)
                if (strcmp(event, rows[i].name) == 0)
                        rows[i].take(log, value);
        if (id && *id) {
                g_free(log->cursor);
                log->cursor = g_strdup(id);
        }
        return !log->ended && !log->failed;
}

static char *stream_path(const RunLog *log)
{
        g_autofree char *base = run_path(log->id, "/logs");
        g_autofree char *step = log->step ? url_escape(log->step) : NULL;
        g_autofree char *cursor = log->cursor ? url_escape(log->cursor) : NULL;

        return g_strdup_printf("%s?follow=%s%s%s%s%s%s%s", base, log->options->follow ? "true" : "false",
                               log->options->timestamps ? "&timestamps=true" : "",
                               log->options->raw ? "&raw=true" : "", step ? "&step=" : "", step ? step : "",
                               cursor ? "&cursor=" : "", cursor ? cursor : "");
}

/* One connection. True: reconnect. */
static bool stream_once(RunLog *log, GError **error)
{
        g_autofree char *path = stream_path(log);
        g_autoptr(GError) cause = NULL;

        (void)http_client_events(log->cli->client, path, on_event, log, &cause);
        if (log->failed && retry_is_worth(log->failed)) /* the server is shutting down */
                g_propagate_error(&cause, g_steal_pointer(&log->failed));
        if (log->failed) {
                g_propagate_error(error, g_steal_pointer(&log->failed));
                return false;
        }
        if (log->ended)
                return false;
        log_prefixer_break(log->prefixer, log->out);
        flush(log);
        return retry_after(&log->retry, log->cli, g_steal_pointer(&cause), error);
}

static LogPrefixer *prefixer_of(const Cli *cli, const LogOptions *about)
{
        LogPrefixer *prefixer = log_prefixer_new(WIDTH, cli->terminal.out_colour);

        if (about->raw)
                log_prefixer_raw(prefixer);
        else if (cli->terminal.out_is_terminal)
                log_prefixer_tame(prefixer);
        return prefixer;
}

/* ---- a step that is not there ---- */

/* "train", or "train-3" of a loop. The items of a loop that are not shown count by their number. */
static bool is_named(const json_t *item, const char *name, gsize len)
{
        gsize own = strlen(text_of(item, "name"));

        if (len < own || strncmp(text_of(item, "name"), name, own) != 0)
                return false;
        return len == own || (is_set(item, "count") && name[own] == '-' && len > own + 1 &&
                              strspn(name + own + 1, "0123456789") == len - own - 1 &&
                              g_ascii_strtoull(name + own + 1, NULL, 10) < (guint64)int_of(item, "count"));
}

static const json_t *find_step(const json_t *items, const char *path);

/* The component of this path in an item of the loop; the loop itself if it may be in an item that the tree leaves out. */
static const json_t *find_in_loop(const json_t *loop, const char *path)
{
        const json_t *children = json_object_get(loop, "children"), *child, *found = NULL;
        size_t i;

        json_array_foreach((json_t *)children, i, child)
                if ((found = find_step(json_object_get(child, "children"), path)))
                        return found;
        return (gint64)json_array_size(children) < int_of(loop, "count") ? loop : NULL;
}

/* The one of these components with this path, "dag.train", or NULL. */
static const json_t *find_step(const json_t *items, const char *path)
{
        gsize len = strcspn(path, ".");
        const json_t *item;
        size_t i;

        json_array_foreach((json_t *)items, i, item) {
                if (!is_named(item, path, len))
                        continue;
                if (!path[len])
                        return item;
                return is_set(item, "count") ? find_in_loop(item, path + len + 1)
                                             : find_step(json_object_get(item, "children"), path + len + 1);
        }
        return NULL;
}

enum { PATHS_MAX = 2000 }; /* that are compared with a wrong one */

/* The paths of all components, "loop.fit", and their last parts at the same places. */
typedef struct {
        GPtrArray *paths, *names;
} Paths;

static void add_paths(const Paths *paths, const json_t *items, const char *above)
{
        const json_t *item, *child;
        size_t i, k;

        json_array_foreach((json_t *)items, i, item) {
                const json_t *children = json_object_get(item, "children");
                char *path = g_strconcat(above, *above ? "." : "", text_of(item, "name"), NULL);

                if (paths->paths->len == PATHS_MAX) {
                        g_free(path);
                        return;
                }
                g_ptr_array_add(paths->paths, path);
                g_ptr_array_add(paths->names, (gpointer)text_of(item, "name"));
                if (!is_set(item, "count"))
                        add_paths(paths, children, path);
                else
                        json_array_foreach((json_t *)children, k, child)
                                add_paths(paths, k ? NULL : json_object_get(child, "children"), path);
        }
}

static const char *last_part(const char *path)
{
        const char *dot = strrchr(path, '.');

        return dot ? dot + 1 : path;
}

/* The path that is meant: one that ends so, or nearly so; NULL: none. The caller's. */
static char *meant_step(const json_t *tree, const char *step)
{
        g_autoptr(GPtrArray) own = g_ptr_array_new_with_free_func(g_free), names = g_ptr_array_new();
        const Paths paths = { own, names };
        const char *name = last_part(step), *near;

        add_paths(&paths, json_object_get(tree, "items"), "");
        g_ptr_array_add(names, NULL);
        near = word_nearest(name, (const char *const *)names->pdata);
        for (guint i = 0; near && i < own->len; i++)
                if (strcmp(names->pdata[i], near) == 0)
                        return g_strdup(own->pdata[i]);
        return NULL;
}

static bool no_step(const RunLog *log, const json_t *tree, GError **error)
{
        g_autofree char *meant = meant_step(tree, log->step);
        g_autofree char *hint = meant ? g_strdup_printf("Did you mean '%s'? ", meant) : g_strdup("");

        return err_set(error, ERR_NOT_FOUND,
                       "run '%s' has no step '%s'\n%s`paddle run show %s` shows its steps.", log->id,
                       log->step, hint, log->id);
}

/* *ret_why: why it has no log, or NULL; borrowed. */
static bool check_step(RunLog *log, const char **ret_why, GError **error)
{
        static const char *const whys[][2] = { { "cancelled", "it was cancelled before it began" },
                                               { "skipped", "it was skipped" } };
        g_autofree char *path = run_path(log->id, "/tree");
        g_autoptr(json_t) tree = NULL;
        const json_t *step;

        if (!http_call_json(log->cli->client, "GET", path, NULL, &tree, error))
                return false;
        step = find_step(json_object_get(tree, "items"), log->step);
        for (gsize i = 0; step && i < G_N_ELEMENTS(whys); i++)
                if (strcmp(text_of(step, "state"), whys[i][0]) == 0)
                        *ret_why = whys[i][1];
        return step || json_is_true(json_object_get(tree, "partial")) || no_step(log, tree, error);
}

static bool say_nothing_heard(RunLog *log, bool over, GError **error)
{
        const char *why = NULL;

        if (log->heard)
                return true;
        if (log->step && !check_step(log, &why, error))
                return false;
        if (log->step)
                cli_say(log->cli, "'%s' of run %s has written nothing%s%s", log->step, log->id,
                        why    ? ": "
                        : over ? ""
                               : " yet",
                        why ? why : "");
        else
                cli_say(log->cli, "the steps of run %s have written nothing%s", log->id, over ? "" : " yet");
        return true;
}

static bool run_logs(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autofree char *path = run_path(words[0], "");
        g_autoptr(json_t) run = NULL;
        g_autoptr(GError) cause = NULL;
        g_auto(RunLog) log = { .cli = cli, .options = target, .step = words[1] };

        if (!cli_client(cli, error) || !http_call_json(cli->client, "GET", path, NULL, &run, error))
                return false;
        log.id = g_strdup(text_of(run, "id")); /* a name may mean a newer run soon */
        log.out = g_string_new(NULL);
        log.prefixer = prefixer_of(cli, log.options);
        retry_init(&log.retry, "`paddle run logs -f` shows the log again from its beginning.");
        while (stream_once(&log, &cause))
                continue;
        log_prefixer_break(log.prefixer, log.out);
        flush(&log);
        if (cause) {
                g_propagate_error(error, g_steal_pointer(&cause));
                return false;
        }
        return say_nothing_heard(&log, log.options->follow || run_is_final(run), error);
}

const Verb verb_run_logs = {
        .name = "run logs",
        .args = "RUN [STEP]",
        .summary = "Show the logs of all steps of a run, or of one",
        .about =
                "Each line starts with the name of its step: `train | ...`, `train-3 | ...` in a loop, `dag.train | ...` in "
                "a DAG, `train/worker-1 | ...` for further members. Steps come in the order of the definition; those "
                "that run at the same time with -f are mixed. STEP without a number means all items of a loop, and the "
                "name of a DAG all that is in it.\n\nRUN is an id, or the name of a pipeline: your newest run of it. "
                "`paddle logs JOB` shows the log of one job with more options.",
        .examples = "paddle run logs 6rpyr77cvstaad5v -f\npaddle run logs train evaluate",
        .options = options,
        .size = sizeof(LogOptions),
        .min_words = 1,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = run_logs,
};
