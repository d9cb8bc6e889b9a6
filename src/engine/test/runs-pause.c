/* Runs that pause: commands whose commit fails, restarts, limits, events (doc/reference/pipelines.md, "Breakpoints"). */
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "engine/runs.h"
#include "engine/test/play.h"
#include "store/test/faulty.h"

#define CHAIN                                                                                                 \
        "entry_points:\n"                                                                                     \
        "  a: {command: 'a {{n}}', parameters: {n: {type: int, default: 1}, d: {type: path, default: /d}}}\n" \
        "  b: {deps: a, command: 'b {{n}}', parameters: {n: '{{a.n}}'}}\n"

/* ---- commands ---- */

typedef enum { GO, STEP, SET, BREAK, UNBREAK } What;

static json_t *json_of(const char *quoted)
{
        g_autofree char *text = g_strdelimit(g_strdup(quoted), "'", '"');
        g_autoptr(GError) error = NULL;
        json_t *json = json_parse(text, strlen(text), &error);

        g_assert_no_error(error);
        return json;
}

/* `words`: of SET an object, of breakpoints a list before which; JSON with ' for ". */
static bool command(const Play *play, What what, const char *step, const char *words, GError **error)
{
        Engine *engine = play->house->engine;
        g_autoptr(json_t) json = words ? json_of(words) : NULL;
        RunAnswer *answer = g_new0(RunAnswer, 1);
        bool ok;

        if (what == SET)
                engine_set_run(engine, play->id, step, json, "ann", play_note_answer, answer);
        else if (what == BREAK || what == UNBREAK)
                engine_break_run(engine, play->id, json, NULL, what == UNBREAK, "ann", play_note_answer,
                                 answer);
        else
                engine_continue_run(engine, play->id, step, what == STEP, "ann", play_note_answer, answer);
        house_barrier(play->house);
        ok = !answer->error;
        if (answer->error)
                g_propagate_error(error, answer->error);
        run_record_free(answer->run);
        g_free(answer);
        return ok;
}

static void must(const Play *play, What what, const char *step, const char *words)
{
        g_autoptr(GError) error = NULL;

        command(play, what, step, words, &error);
        g_assert_no_error(error);
}

/* A run with these places as its "break_before". */
static Play paused_run(House *house, const char *text, const char *places)
{
        g_autofree char *request = g_strdup_printf("{'break_before': %s}", places);
        g_autoptr(GError) error = NULL;
        Play play = { .house = house, .definition = play_compile(text) };

        play.id = play_create(house, text, request, NULL, &play.seq, &error);
        g_assert_no_error(error);
        return play;
}

/* What is stored: "before a; parameters {...}; steps; paused 1". The caller's. */
static char *stored(const Play *play)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run = store_run_by_id(play->house->store, play->id, true, &error);
        g_autoptr(json_t) control =
                run->control ? json_parse(run->control, strlen(run->control), NULL) : json_object();
        g_autofree char *before = json_dumps(json_object_get(control, "before"), JSON_ENCODE_ANY),
                        *edits = json_dumps(json_object_get(control, "parameters"), JSON_ENCODE_ANY);

        return g_strdup_printf("%s %s%s paused %u", before, edits,
                               json_is_true(json_object_get(control, "stepping")) ? " steps" : "",
                               run->paused);
}

static void assert_stored(const Play *play, const char *want)
{
        g_autofree char *text = stored(play);

        g_assert_cmpstr(text, ==, want);
}

/* ---- events ---- */

/* The events of the run of this kind, as JSON in an array. */
static json_t *events_of(const Play *play, const char *kind)
{
        const EventQuery query = { .subject = SUBJECT_RUN, .seq = play->seq, .limit = 1000 };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events = store_events(play->house->store, &query, &error);
        json_t *list = json_array();

        g_assert_no_error(error);
        for (guint i = 0; i < events->len; i++) {
                const Event *event = events->pdata[i];

                if (strcmp(event->kind, kind) == 0)
                        json_array_append_new(list, json_parse(event->data, strlen(event->data), NULL));
        }
        return list;
}

static void assert_events(const Play *play, const char *kind, const char *want)
{
        g_autoptr(json_t) events = events_of(play, kind), wanted = json_of(want);

        if (!json_equal(events, wanted))
                g_error("%s, not %s", json_dumps(events, 0), want);
}

/* ---- tests ---- */

/* A command whose commit fails changes nothing, in the store and in the machine; the next one finds the run as it was. */
static void test_full_disk(void)
{
        static const struct {
                What what;
                const char *step, *words, *then;
        } commands[] = {
                { BREAK, NULL, "['b']", "[\"a\", \"b\"] null paused 1" },
                { SET, "a", "{'n': 7}", "[\"a\", \"b\"] {\"a\": {\"n\": 7}} paused 1" },
                { UNBREAK, NULL, "['a']", "[\"b\"] {\"a\": {\"n\": 7}} paused 1" },
                { STEP, "a", NULL, "[\"b\"] {\"a\": {\"n\": 7}} steps paused 0" },
        };
        g_autofree char *text = NULL;
        Play play;

        faulty_install();
        play = paused_run(house_new(), CHAIN, "['a']");
        for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
                g_autofree char *before = stored(&play);
                GError *error = NULL;

                faulty_set(FAULT_FULL, "-wal", 1, false);
                assert_error(command(&play, commands[i].what, commands[i].step, commands[i].words, &error),
                             &error, ERR_NO_SPACE, "");
                assert_stored(&play, before);
                g_assert_cmpstr(play_state(&play, "a"), ==, "none");
                faulty_set(FAULT_NONE, NULL, 0, false);
                must(&play, commands[i].what, commands[i].step, commands[i].words);
                assert_stored(&play, commands[i].then);
        }
        play_assert(&play, "a", "running");
        text = play_command(&play, "a");
        g_assert_nonnull(strstr(text, "a 7"));
        faulty_set(FAULT_FULL, "-wal", 1, false); /* the pause before b is not stored */
        play_end_job(&play, "a", 0);
        assert_stored(&play, commands[3].then);
        faulty_set(FAULT_NONE, NULL, 0, false);
        must(&play, GO, NULL, NULL); /* the end comes with it, or after it: single steps are over */
        for (int i = 0; i < 100; i++)
                house_pass(play.house, 100);
        assert_stored(&play, "[\"b\"] {\"a\": {\"n\": 7}} paused 1");
        must(&play, GO, "b", NULL);
        play_assert(&play, "b", "running");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        house_free(play.house);
        play_clear(&play);
        faulty_remove();
}

static void test_restart(void)
{
        g_autofree char *text = NULL;
        Play play = paused_run(house_new(), CHAIN, "['a', 'b']");

        must(&play, SET, "a", "{'n': '5'}");
        play_restart(&play);
        assert_stored(&play, "[\"a\", \"b\"] {\"a\": {\"n\": 5}} paused 1");
        must(&play, GO, NULL, NULL);
        play_restart(&play);
        play_assert(&play, "a", "running");
        play_end_job(&play, "a", 0);
        assert_stored(&play, "[\"a\", \"b\"] {\"a\": {\"n\": 5}} paused 1");
        play_restart(&play);
        must(&play, GO, NULL, NULL);
        play_assert(&play, "b", "running");
        text = play_command(&play, "b");
        g_assert_nonnull(strstr(text, "b 5"));
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        house_free(play.house);
        play_clear(&play);
}

/* A run that is full of changes can still go on, often: the epoch is never lost. */
static void test_large_control(void)
{
        g_autofree char *megabyte = g_strnfill(RUN_CONTROL_MAX - 150, 'x');
        g_autofree char *values = g_strdup_printf("{'d': '%s'}", megabyte),
                        *more = g_strdup_printf("{'d': '%sx'}", megabyte);
        g_autoptr(GError) error = NULL;
        GError *refused = NULL;
        gsize fits = strlen(megabyte);
        Play play = paused_run(house_new(), CHAIN, "['a']");

        must(&play, SET, "a", values);
        while (command(&play, SET, "a", more, &refused)) {
                fits++;
                g_free(megabyte);
                g_free(more);
                megabyte = g_strnfill(fits, 'x');
                more = g_strdup_printf("{'d': '%sx'}", megabyte);
        }
        assert_error(false, &refused, ERR_TOO_LARGE, "at most 64 KiB");
        assert_error(command(&play, BREAK, NULL, "['b']", &refused), &refused, ERR_TOO_LARGE,
                     "at most 64 KiB");
        must(&play, STEP, "a", NULL);
        for (int i = 0; i < 12; i++) { /* the epoch gets a second digit */
                must(&play, GO, NULL, NULL);
                must(&play, STEP, NULL, NULL);
        }
        play_restart(&play);
        g_autoptr(RunRecord) run = store_run_by_id(play.house->store, play.id, true, &error);
        g_assert_cmpuint(strlen(run->control), >=, RUN_CONTROL_MAX);
        g_assert_nonnull(strstr(run->control, "\"epoch\":12"));
        play_end_job(&play, "a", 0);
        must(&play, GO, NULL, NULL);
        play_assert(&play, "b", "running");
        play_end_job(&play, "b", 0);
        play_assert(&play, "run", "succeeded");
        house_free(play.house);
        play_clear(&play);
}

/* An event has what a command changed, not all that there is; one that changes nothing has none. */
static void test_events(void)
{
        g_autoptr(GString) text = g_string_new("entry_points:\n  a: {command: c, parameters: {n: 1}}\n");
        g_autoptr(GString) places = g_string_new("['a'");
        Play play;

        for (int i = 0; i < 30; i++) {
                g_string_append_printf(text, "  s%02d: {command: c, deps: a}\n", i);
                g_string_append_printf(places, ", 's%02d'", i);
        }
        g_string_append_c(places, ']');
        play = paused_run(house_new(), text->str, "['a']");
        must(&play, BREAK, NULL, "['s00', 'a', 's01']");
        must(&play, BREAK, NULL, "['s01', 's00']");
        must(&play, UNBREAK, NULL, "['s00']");
        must(&play, BREAK, NULL, places->str);
        assert_events(&play, "run.breakpoints",
                      "[{'by': 'ann', 'removed': false, 'before': ['s00', 's01'], 'after': [], 'count': 2},"
                      " {'by': 'ann', 'removed': true, 'before': ['s00'], 'after': [], 'count': 1},"
                      " {'by': 'ann', 'removed': false, 'before': ['s00', 's02', 's03', 's04', 's05', 's06',"
                      "  's07', 's08', 's09', 's10'], 'after': [], 'count': 29}]");
        must(&play, SET, "a", "{'n': 2}");
        must(&play, SET, "a", "{'n': 2}");
        must(&play, SET, "a", "{'n': 3}");
        assert_events(&play, "run.changed",
                      "[{'by': 'ann', 'step': 'a', 'parameters': ['n'], 'count': 1},"
                      " {'by': 'ann', 'step': 'a', 'parameters': ['n'], 'count': 1}]");
        must(&play, STEP, "a", NULL);
        must(&play, STEP, NULL, NULL);
        must(&play, STEP, NULL, NULL);
        assert_events(&play, "run.continued", "[{'by': 'ann', 'step': 'a', 'single': true}]");
        house_free(play.house);
        play_clear(&play);
}

/* A list that is known when its loop begins. */
#define LATER                                                                                                \
        "entry_points:\n"                                                                                    \
        "  a: {command: c, parameters: {list: {type: list, default: [1, 2]}}}\n"                             \
        "  d:\n"                                                                                             \
        "    loop_argument: [x, y]\n"                                                                        \
        "    parameters: {list: '{{a.list}}'}\n"                                                             \
        "    deps: a\n"                                                                                      \
        "    entry_points:\n"                                                                                \
        "      fit: {command: c, parameters: {list: '{{PF_PARENT.list}}'}, loop_argument: '{{list}}'}\n"     \
        "      use: {command: c, deps: fit, loop_argument: [1, 2, 3]}\n"

/* The places that are missed, in the events and in the record: "d.fit-2 d.x / d.fit-2". The caller's. */
static char *missed(const Play *play)
{
        g_autoptr(json_t) events = events_of(play, "run.missed");
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run = store_run_by_id(play->house->store, play->id, true, &error);
        g_autoptr(json_t) control = json_parse(run->control, strlen(run->control), NULL);
        GString *text = g_string_new(NULL);
        json_t *event, *one;
        size_t i, k;

        json_array_foreach(events, i, event)
                json_array_foreach(json_object_get(event, "missed"), k, one)
                        g_string_append_printf(text, "%s ", json_string_value(json_object_get(one, "step")));
        g_string_append_c(text, '/');
        json_array_foreach(json_object_get(control, "missed"), k, one)
                g_string_append_printf(text, " %s: %s", json_string_value(json_object_get(one, "step")),
                                       json_string_value(json_object_get(one, "reason")));
        return g_string_free(text, FALSE);
}

static void assert_missed(const Play *play, const char *want)
{
        g_autofree char *text = missed(play);

        g_assert_cmpstr(text, ==, want);
}

/* A breakpoint in several instances is missed when the last one has a list; a failed commit tells nothing, and the next one
 * tells it once. It is kept over a restart, and goes with its breakpoint. */
static void test_missed(void)
{
        GError *error = NULL;
        Play play;

        faulty_install();
        play = paused_run(house_new(), LATER, "['d.fit', 'd.fit-2', 'd-1.use-2']");
        play_assert(&play, "a", "running");
        play_end_job(&play, "a", 0);
        must(&play, GO, "d-0.fit", NULL);
        play_assert(&play, "d-0.fit-0", "running");
        assert_missed(&play, "/"); /* d-1.fit may have more items */
        faulty_set(FAULT_FULL, "-wal", 1, false);
        assert_error(command(&play, GO, "d-1.fit", NULL, &error), &error, ERR_NO_SPACE, "");
        assert_missed(&play, "/");
        faulty_set(FAULT_NONE, NULL, 0, false);
        must(&play, GO, "d-1.fit", NULL);
        play_assert(&play, "d-1.fit-0", "running");
        assert_missed(&play, "d.fit-2 / d.fit-2: the loop 'fit' has 2 items");
        play_restart(&play);
        play_end_job(&play, "d-1.fit-0", 0);
        assert_missed(&play, "d.fit-2 / d.fit-2: the loop 'fit' has 2 items");
        assert_error(command(&play, BREAK, NULL, "['d-0.fit-1']", &error), &error, ERR_CONFLICT,
                     "'d-0.fit-1' has begun");
        must(&play, UNBREAK, NULL, "['d.fit-2']");
        assert_missed(&play, "d.fit-2 /");
        house_free(play.house);
        play_clear(&play);
        faulty_remove();
}

/* Changes count as submissions; going on does not. */
static void test_rate(void)
{
        House *house = house_new_cold();
        GError *error = NULL;
        Play play;

        house->config.submit_rate = 3;
        house_open(house);
        house_sync(house);
        play = paused_run(house, CHAIN, "['a']");
        must(&play, BREAK, NULL, "['b']");
        must(&play, SET, "a", "{'n': 2}");
        must(&play, SET, "a", "{'n': 2}"); /* no change */
        assert_error(command(&play, SET, "a", "{'n': 3}", &error), &error, ERR_QUOTA,
                     "a change counts as a submitted job: 'ann' may submit 3 jobs in a minute");
        assert_error(command(&play, UNBREAK, NULL, "['b']", &error), &error, ERR_QUOTA, "Try again in");
        assert_stored(&play, "[\"a\", \"b\"] {\"a\": {\"n\": 2}} paused 1");
        must(&play, GO, NULL, NULL);
        play_assert(&play, "a", "running");
        house_free(house);
        play_clear(&play);
}

/* A breakpoint that a newer version does not understand is left out; those behind it hold. */
static void test_unknown_places(void)
{
        RunPlan plan = { .definition = play_compile(CHAIN) };
        RunRecord record = { .id = "x",
                             .control =
                                     (char *)"{\"before\":[\"gone\",\"a\"],\"after\":[\"gone-1\",\"b\"]}" };
        LiveRun live = { .record = &record, .plan = &plan, .machine = run_new(plan.definition, 100) };
        const GPtrArray *list;

        runs_read_control(&live);
        list = run_breaks_list(live.breaks);
        g_assert_cmpuint(list->len, ==, 2);
        g_assert_cmpstr(((Break *)list->pdata[0])->text, ==, "a");
        g_assert_cmpstr(((Break *)list->pdata[1])->text, ==, "b");
        g_assert_true(((Break *)list->pdata[1])->after);
        run_breaks_unref(live.breaks);
        json_decref(live.missed);
        run_free(live.machine);
        definition_free(plan.definition);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs-pause/full-disk", test_full_disk);
        g_test_add_func("/engine/runs-pause/restart", test_restart);
        g_test_add_func("/engine/runs-pause/large-control", test_large_control);
        g_test_add_func("/engine/runs-pause/events", test_events);
        g_test_add_func("/engine/runs-pause/missed", test_missed);
        g_test_add_func("/engine/runs-pause/rate", test_rate);
        g_test_add_func("/engine/runs-pause/unknown-places", test_unknown_places);
        return g_test_run();
}
