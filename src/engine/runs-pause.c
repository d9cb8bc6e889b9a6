/* Pauses of runs: breakpoints, single steps, changed parameters, and the commands for them (see runs.h, pipeline/run.h).
 *
 * What a user has set is the control of the run, an object in JSON in its record:
 *
 *      {"before": ["train"], "after": ["prepare"], "parameters": {"dag-1.train": {"epochs": 5}}, "stepping": true, "epoch": 2}
 *
 * "missed" (runs-missed.c) and "lost" (runs-lost.c) are parts of it, too.
 *
 * It is never changed in place: a command makes a new one, and a failed commit puts the earlier one back. Where components
 * are paused is in the machine, and in the rows of its children. */
#include "engine/runs.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "engine/submit.h"
#include "pipeline/edit.h"

/* ---- breakpoints as texts ---- */

static const Break *find_break(const GPtrArray *list, const char *text, bool after)
{
        for (guint i = 0; i < list->len; i++) {
                const Break *at = list->pdata[i];

                if (at->after == after && strcmp(at->text, text) == 0)
                        return at;
        }
        return NULL;
}

static bool refuse_more(GError **error)
{
        return err_set(error, ERR_QUOTA,
                       "a run has at most %d breakpoints\n"
                       "`paddle run break RUN --delete --before STEP` deletes one.",
                       BREAKS_MAX);
}

static bool take_break(const Definition *definition, const json_t *text, bool after, GPtrArray *list,
                       GError **error)
{
        Break *at;

        if (!json_is_string(text))
                return err_set(error, ERR_INVALID, "%s must be a list of steps", after ? "after" : "before");
        if (find_break(list, json_string_value(text), after))
                return true;
        if (list->len == BREAKS_MAX)
                return refuse_more(error);
        at = break_parse(definition, json_string_value(text), after, error);
        if (at)
                g_ptr_array_add(list, at);
        return at != NULL;
}

/* Adds those of `texts`, a list of places, or NULL. */
static bool take_breaks(const Definition *definition, const json_t *texts, bool after, GPtrArray *list,
                        GError **error)
{
        const json_t *text;
        size_t i;

        if (texts && !json_is_array(texts))
                return take_break(definition, NULL, after, list, error);
        json_array_foreach((json_t *)texts, i, text)
                if (!take_break(definition, text, after, list, error))
                        return false;
        return true;
}

static bool check_places(const Definition *definition, const GPtrArray *list, GError **error)
{
        for (guint i = 0; i < list->len; i++)
                if (!break_check(definition, list->pdata[i], error))
                        return false;
        return true;
}

static json_t *texts_of(const GPtrArray *list, bool after)
{
        json_t *texts = json_array();

        for (guint i = 0; list && i < list->len; i++) {
                const Break *at = list->pdata[i];

                if (at->after == after)
                        json_array_append_new(texts, json_string(at->text));
        }
        return texts;
}

/* ---- the control ---- */

/* The caller's. */
static char *write_control(const GPtrArray *list, const json_t *edits, const json_t *missed, bool stepping,
                           guint32 epoch)
{
        g_autoptr(json_t) control = json_pack("{s:o, s:o, s:O?, s:b, s:I}", "before", texts_of(list, false),
                                              "after", texts_of(list, true), "parameters", edits, "stepping",
                                              stepping, "epoch", (json_int_t)epoch);

        if (json_array_size(missed) > 0)
                json_object_set(control, "missed", (json_t *)missed);
        return json_format(control);
}

/* Single steps, the epoch and missed breakpoints do not count, so that a run that has room for its breakpoints can always go on. */
static bool control_fits(const GPtrArray *list, const json_t *edits, GError **error)
{
        g_autofree char *control = write_control(list, edits, NULL, false, 0);

        return strlen(control) <= RUN_CONTROL_MAX ||
               err_set(error, ERR_TOO_LARGE,
                       "the breakpoints and changed parameters of a run have at most %d KiB together",
                       RUN_CONTROL_MAX >> 10);
}

static json_t *read_control(const RunRecord *record)
{
        json_t *control =
                record->control ? json_parse_own(record->control, strlen(record->control), NULL) : NULL;

        return control ? control : json_object();
}

void runs_put_lost(RunRecord *record, json_t *lost)
{
        g_autoptr(json_t) control = read_control(record);

        json_object_set(control, "lost", lost);
        record->size -= record->control ? (gint64)strlen(record->control) : 0;
        g_free(record->control);
        record->control = json_format(control);
        record->size += (gint64)strlen(record->control);
}

bool runs_take_breaks(RunRecord *record, const Definition *definition, const json_t *request,
                      const json_t *edits, GPtrArray *list, GError **error)
{
        if (!take_breaks(definition, json_object_get(request, "break_before"), false, list, error) ||
            !take_breaks(definition, json_object_get(request, "break_after"), true, list, error))
                return err_prefix(error, "breakpoint: ");
        if (!check_places(definition, list, error))
                return err_prefix(error, "breakpoint: ");
        if (list->len == 0 && json_object_size(edits) == 0)
                return true;
        record->control = write_control(list, edits, NULL, false, 0);
        record->size += (gint64)strlen(record->control);
        return control_fits(list, edits, error);
}

static json_t *edits_in(const json_t *control)
{
        json_t *edits = json_object_get(control, "parameters");

        return json_object_size(edits) > 0 ? json_incref(edits) : NULL;
}

json_t *runs_edits_of(const RunRecord *record)
{
        g_autoptr(json_t) control = read_control(record);

        return edits_in(control);
}

/* "dag.train" of "dag-1.train"; the caller's, or NULL. */
static char *plain_path(const Definition *definition, const char *path)
{
        StepPath parsed;

        return step_path_parse(definition, path, &parsed, NULL) ? step_path_names(definition, &parsed) : NULL;
}

/* The value that a request gives to the parameter; NULL: none. */
static const json_t *wished(const json_t *wish, const char *key, const char *name)
{
        const json_t *value = json_object_get(wish, key);

        return value ? value : json_object_get(wish, name);
}

bool runs_drop_edits(json_t *edits, const Definition *definition, const json_t *wish, json_t *before)
{
        json_t *values, *value;
        const char *path, *name;
        void *next, *after;
        bool any = false;

        json_object_foreach_safe(edits, next, path, values) {
                g_autofree char *plain = plain_path(definition, path);

                json_object_foreach_safe(values, after, name, value) {
                        g_autofree char *key = g_strdup_printf("%s.%s", plain ? plain : path, name);
                        const json_t *other = wished(wish, key, name);

                        if (!other)
                                continue;
                        any = true;
                        if (!json_equal(other, value) || !json_object_get(before, key))
                                json_object_set(before, key, value);
                        json_object_del(values, name);
                }
                if (json_object_size(values) == 0)
                        json_object_del(edits, path);
        }
        return any;
}

/* Those of `texts` that the definition still has: it is another one if an update changed the language. */
static void take_known(const LiveRun *live, const json_t *texts, bool after, GPtrArray *list)
{
        const json_t *text;
        size_t i;

        json_array_foreach((json_t *)texts, i, text) {
                g_autoptr(GError) error = NULL;

                if (!take_break(live->plan->definition, text, after, list, &error))
                        log_warning("a breakpoint is not understood any more", "run", live->record->id,
                                    "reason", error->message, NULL);
        }
}

void runs_read_control(LiveRun *live)
{
        g_autoptr(json_t) control = read_control(live->record);
        g_autoptr(GPtrArray) list = break_list_new();

        take_known(live, json_object_get(control, "before"), false, list);
        take_known(live, json_object_get(control, "after"), true, list);
        run_breaks_unref(live->breaks);
        live->breaks = list->len > 0 ? run_breaks_new(list) : NULL;
        run_set_breaks(live->machine, live->breaks);
        live->breaks_looked = false;
        json_decref(live->missed);
        live->missed = runs_missed_of(json_object_get(control, "missed"), list);
        json_decref(live->lost);
        live->lost = json_incref(json_object_get(control, "lost"));
        json_decref(live->edits);
        live->edits = edits_in(control);
        render_memo_clear(&live->memo);
}

void runs_restore_steps(LiveRun *live)
{
        g_autoptr(json_t) control = read_control(live->record);

        run_restore_steps(live->machine, json_is_true(json_object_get(control, "stepping")),
                          (guint32)json_integer_value(json_object_get(control, "epoch")));
}

/* After a command has changed the machine, the breakpoints or the parameters. */
static void put_control(LiveRun *live, const GPtrArray *list, const json_t *edits)
{
        RunRecord *record = live->record;

        record->size -= record->control ? (gint64)strlen(record->control) : 0;
        g_free(record->control);
        record->control = write_control(list, edits, live->missed, run_is_stepping(live->machine),
                                        run_epoch(live->machine));
        record->size += (gint64)strlen(record->control);
        if (live->lost)
                runs_put_lost(record, live->lost);
}

/* Of the breakpoints that the run then has. */
static void set_missed(LiveRun *live, json_t *missed)
{
        json_decref(live->missed);
        live->missed = missed;
}

static const GPtrArray *breaks_of(const LiveRun *live)
{
        return live->breaks ? run_breaks_list(live->breaks) : NULL;
}

void runs_add_missed(LiveRun *live, const json_t *missed)
{
        json_t *all = live->missed ? json_copy(live->missed) : json_array();

        json_array_extend(all, (json_t *)missed);
        set_missed(live, all);
        put_control(live, breaks_of(live), live->edits);
}

/* ---- paths of children ---- */

/* "dag-1.train", and "dag-1.train-3" of a loop that is paused at an item; the caller's. */
static char *child_path(const LiveRun *live, guint32 child)
{
        const RunPause *pause = run_pause_of(live->machine, child);
        guint32 dag = run_dag(live->machine, run_child(live->machine, child)->dag)->node;
        g_autofree char *above = runs_node_path(live, dag);
        const char *name = component_name(live->plan->definition, run_child_component(live->machine, child));
        g_autofree char *number = pause && pause->kind == RUN_PAUSE_BEFORE && pause->at > 0
                                          ? g_strdup_printf("-%u", pause->at - 1)
                                          : g_strdup("");

        return g_strconcat(above, *above ? "." : "", name, number, NULL);
}

void runs_note_pauses(Engine *engine, LiveRun *live)
{
        json_t *steps;

        live->record->paused = run_paused(live->machine);
        if (live->paused->len == 0)
                return;
        steps = json_array();
        for (guint i = 0; i < MIN(live->paused->len, RUN_PAUSES_NAMED); i++) {
                guint32 child = g_array_index(live->paused, guint32, i);
                const RunPause *pause = run_pause_of(live->machine, child);
                g_autofree char *path = child_path(live, child);

                json_array_append_new(steps, json_pack("{s:s, s:s}", "step", path, "at",
                                                       pause->kind == RUN_PAUSE_AFTER ? "after" : "before"));
        }
        runs_note(engine, live, "run.paused",
                  json_pack("{s:o, s:i}", "paused", steps, "count", (int)live->paused->len));
        g_array_set_size(live->paused, 0);
}

static bool refuse_unmade(const Break *at, GError **error)
{
        return err_set(error, ERR_CONFLICT, "step '%s' is not paused: the DAG around it has not begun",
                       at->text);
}

/* The instance of the DAG in which the last part lies. */
static bool find_dag(const LiveRun *live, const Break *at, guint32 *ret, GError **error)
{
        const Run *machine = live->machine;
        const StepPath *path = at->path;
        guint32 dag = run_node(machine, path->post ? RUN_POST : RUN_ROOT)->inner;

        for (gsize i = 0; i + 1 < path->n && dag != (guint32)RUN_NONE; i++) {
                guint32 index = run_child_of(machine, dag, path->parts[i].component);
                const RunChild *child = run_child(machine, index);
                guint32 number = path->parts[i].number;

                if (child->first == (guint32)RUN_NONE)
                        return refuse_unmade(at, error);
                if (number == (guint32)STEP_ANY && run_child_is_loop(machine, index) && child->count > 1)
                        return err_set(error, ERR_INVALID,
                                       "step '%s': which item of the loop '%s'?\n"
                                       "Name it: %s-0. `paddle run show %s` shows what is paused.",
                                       at->text,
                                       component_name(live->plan->definition, path->parts[i].component),
                                       component_name(live->plan->definition, path->parts[i].component),
                                       live->record->id);
                number = number == (guint32)STEP_ANY ? 0 : number;
                if (number >= child->count)
                        return refuse_unmade(at, error);
                dag = run_node(machine, child->first + number)->inner;
        }
        *ret = dag;
        return dag != (guint32)RUN_NONE || refuse_unmade(at, error);
}

/* The child at which the run is paused at this place. */
static bool find_paused(const LiveRun *live, const Break *at, guint32 *ret, GError **error)
{
        guint32 dag, number = break_last(at)->number;
        const RunPause *pause;

        if (!find_dag(live, at, &dag, error))
                return false;
        *ret = run_child_of(live->machine, dag, break_last(at)->component);
        pause = run_pause_of(live->machine, *ret);
        if (pause && pause->listed &&
            (number == (guint32)STEP_ANY || (pause->kind == RUN_PAUSE_BEFORE && pause->at == number + 1)))
                return true;
        return err_set(error, ERR_CONFLICT,
                       "run '%s' is not paused at step '%s'\n`paddle run show %s` shows where it is paused.",
                       live->record->id, at->text, live->record->id);
}

/* ---- commands ---- */

/* On a live run, whose definition the caller's thread knew. */
typedef struct {
        RunCommand run;
        char *id, *by;
        bool ended;        /* it had no definition any more */
        GError *failure;   /* found on the caller's thread */
        Break *at;         /* or NULL */
        bool step;         /* of a continuation: a single step */
        GPtrArray *before; /* Break, also those after; of a change of breakpoints */
        bool remove;
        json_t *values;  /* of parameters, by name; null: the default */
        RunRecord *read; /* as it was when the command was created; NULL: there is none */
} PauseRun;

static void free_pause(Command *command)
{
        PauseRun *pause = (PauseRun *)command;

        run_record_free(pause->run.answer);
        run_record_free(pause->read);
        g_clear_error(&pause->failure);
        break_unref(pause->at);
        g_clear_pointer(&pause->before, g_ptr_array_unref);
        json_decref(pause->values);
        g_free(pause->id);
        g_free(pause->by);
}

static void refuse_ended(const PauseRun *pause, GError **error)
{
        if (!pause->read)
                err_set(error, ERR_NOT_FOUND,
                        "there is no run '%s'\n`paddle run list` shows the newest runs.", pause->id);
        else
                err_set(error, ERR_CONFLICT,
                        "run '%s' has ended\n`paddle run retry %s --from STEP` runs it again from a step on.",
                        pause->id, pause->id);
}

/* The live run on which the command may act; NULL with an error. */
static LiveRun *find_run(Engine *engine, PauseRun *pause)
{
        LiveRun *live = runs_find_id(engine, pause->id);
        GError **error = &pause->run.command.error;

        if (!live || live->record->state != NODE_RUNNING || live->record->dropped || !live->machine ||
            pause->ended)
                refuse_ended(pause, error);
        else if (pause->failure)
                *error = g_error_copy(pause->failure);
        else if (live->record->stopping)
                err_set(error, ERR_CONFLICT, "run '%s' is being stopped, and does not pause any more",
                        pause->id);
        else
                return live;
        return NULL;
}

static void accept(Engine *engine, PauseRun *pause, LiveRun *live, const char *kind, json_t *data)
{
        live->record->paused = run_paused(live->machine);
        runs_note(engine, live, kind, data);
        runs_make_due(engine, live);
        run_command_set(&pause->run, live->record);
}

/* Nothing changes. */
static bool accept_unchanged(PauseRun *pause, const LiveRun *live)
{
        run_command_set(&pause->run, live->record);
        return true;
}

/* Changes whose events have texts of the user count among the submissions of a minute. */
static bool take_rate(Engine *engine, const PauseRun *pause, const LiveRun *live, GError **error)
{
        return live->record->admin || submit_take_rate(engine, pause->by, 1, false, error) ||
               err_prefix(error, "run '%s': a change counts as a submitted job: ", pause->id);
}

/* ---- step, continue ---- */

static bool find_next(const PauseRun *pause, const LiveRun *live, guint32 *ret, GError **error)
{
        if (pause->at)
                return find_paused(live, pause->at, ret, error);
        *ret = pause->step ? run_paused_first(live->machine) : (guint32)RUN_NONE;
        return pause->step || run_paused(live->machine) > 0 || run_is_stepping(live->machine) ||
               err_set(error, ERR_CONFLICT, "run '%s' is not paused", pause->id);
}

static bool apply_go(Engine *engine, Command *command)
{
        PauseRun *pause = (PauseRun *)command;
        LiveRun *live = find_run(engine, pause);
        g_autofree char *path = NULL;
        guint32 child;

        if (!live || !find_next(pause, live, &child, &command->error))
                return true;
        if (pause->step && child == (guint32)RUN_NONE && run_is_stepping(live->machine))
                return accept_unchanged(pause, live);
        if (run_paused(live->machine) == 0 && !take_rate(engine, pause, live, &command->error))
                return true; /* what is paused may always go on */
        runs_touch(engine, live);
        path = child != (guint32)RUN_NONE ? child_path(live, child) : NULL;
        (pause->step ? run_step : run_continue)(live->machine, child);
        put_control(live, breaks_of(live), live->edits);
        accept(engine, pause, live, "run.continued",
               json_pack("{s:s, s:s?, s:b}", "by", pause->by, "step", path, "single", pause->step));
        return true;
}

static const CommandOps go_ops = { .name = "continue run",
                                   .size = sizeof(PauseRun),
                                   .apply = apply_go,
                                   .answer = run_command_answer,
                                   .free = free_pause };

/* ---- breakpoints ---- */

/* `ret`: the breakpoints that the run then has; `changed`: those that are added or removed. */
static bool merge_breaks(const PauseRun *pause, const GPtrArray *now, GPtrArray *ret, GPtrArray *changed,
                         GError **error)
{
        for (guint i = 0; now && i < now->len; i++) {
                Break *at = now->pdata[i];

                if (!pause->remove || !find_break(pause->before, at->text, at->after))
                        g_ptr_array_add(ret, break_ref(at));
        }
        for (guint i = 0; i < pause->before->len; i++) {
                Break *at = pause->before->pdata[i];
                bool there = now && find_break(now, at->text, at->after);

                if (pause->remove && !there)
                        return err_set(error, ERR_NOT_FOUND,
                                       "run '%s' has no breakpoint %s '%s'\n"
                                       "`paddle run break %s` lists its breakpoints.",
                                       pause->id, at->after ? "after" : "before", at->text, pause->id);
                if (pause->remove == there)
                        g_ptr_array_add(changed, break_ref(at));
                if (!pause->remove && !there)
                        g_ptr_array_add(ret, break_ref(at));
        }
        return ret->len <= BREAKS_MAX || refuse_more(error);
}

/* The first ones, of those before and after steps together. */
static json_t *break_data(const PauseRun *pause, const GPtrArray *changed)
{
        g_autoptr(GPtrArray) named = break_list_new();

        for (guint i = 0; i < MIN(changed->len, RUN_PAUSES_NAMED); i++)
                g_ptr_array_add(named, break_ref(changed->pdata[i]));
        return json_pack("{s:s, s:b, s:o, s:o, s:i}", "by", pause->by, "removed", pause->remove, "before",
                         texts_of(named, false), "after", texts_of(named, true), "count", (int)changed->len);
}

static bool apply_break(Engine *engine, Command *command)
{
        PauseRun *pause = (PauseRun *)command;
        LiveRun *live = find_run(engine, pause);
        g_autoptr(GPtrArray) list = break_list_new(), changed = break_list_new();

        if (!live || !merge_breaks(pause, breaks_of(live), list, changed, &command->error))
                return true;
        if (changed->len == 0)
                return accept_unchanged(pause, live);
        if (!pause->remove &&
            !runs_check_breaks(live->machine, live->plan->definition, NULL, changed, &command->error))
                return true;
        if (!control_fits(list, live->edits, &command->error) ||
            !take_rate(engine, pause, live, &command->error))
                return true;
        runs_touch(engine, live);
        set_missed(live, runs_missed_of(live->missed, list));
        put_control(live, list, live->edits);
        run_breaks_unref(live->breaks);
        live->breaks = list->len > 0 ? run_breaks_new(list) : NULL;
        run_set_breaks(live->machine, live->breaks);
        accept(engine, pause, live, "run.breakpoints", break_data(pause, changed));
        return true;
}

static const CommandOps break_ops = { .name = "breakpoints of a run",
                                      .size = sizeof(PauseRun),
                                      .apply = apply_break,
                                      .answer = run_command_answer,
                                      .free = free_pause };

/* ---- parameters ---- */

static bool is_item(const Break *at)
{
        return at->path->parts[at->path->n - 1].number != (guint32)STEP_ANY;
}

static bool check_unbegun(const LiveRun *live, guint32 child, const Break *at, GError **error)
{
        const RunPause *pause = run_pause_of(live->machine, child);

        if (pause->kind == RUN_PAUSE_BEFORE && pause->at == 0)
                return true;
        return err_set(
                error, ERR_CONFLICT,
                "step '%s' %s: its parameters cannot be changed any more\n"
                "`paddle run stop %s`, then `paddle run retry %s --from STEP -p NAME=VALUE` runs it again.",
                at->text,
                pause->kind == RUN_PAUSE_AFTER ? "has run"
                : is_item(at) ? "is an item of a loop that has begun, whose items have one set of parameters"
                              : "is a loop that has begun",
                live->record->id, live->record->id);
}

/* All changes with those of this component; a new object. */
static json_t *merge_edits(const LiveRun *live, const char *path, const json_t *values)
{
        json_t *all = live->edits ? json_copy(live->edits) : json_object();
        const json_t *before = json_object_get(all, path);
        json_t *own = before ? json_copy((json_t *)before) : json_object(), *value;
        const char *name;

        json_object_set_new(all, path, own);
        json_object_foreach((json_t *)values, name, value) {
                if (json_is_null(value))
                        json_object_del(own, name);
                else
                        json_object_set(own, name, value);
        }
        if (json_object_size(own) == 0)
                json_object_del(all, path);
        return all;
}

static bool same_edits(const LiveRun *live, const json_t *edits)
{
        return live->edits ? json_equal(live->edits, edits) : json_object_size(edits) == 0;
}

/* The first names. */
static json_t *set_data(const PauseRun *pause, const char *path)
{
        json_t *names = json_array(), *value;
        const char *name;

        json_object_foreach(pause->values, name, value)
                if (json_array_size(names) < RUN_PAUSES_NAMED)
                        json_array_append_new(names, json_string(name));
        return json_pack("{s:s, s:s, s:o, s:i}", "by", pause->by, "step", path, "parameters", names, "count",
                         (int)json_object_size(pause->values));
}

static bool apply_set(Engine *engine, Command *command)
{
        PauseRun *pause = (PauseRun *)command;
        LiveRun *live = find_run(engine, pause);
        g_autoptr(json_t) edits = NULL;
        g_autofree char *path = NULL;
        guint32 child;

        if (!live || !find_paused(live, pause->at, &child, &command->error) ||
            !check_unbegun(live, child, pause->at, &command->error))
                return true;
        path = child_path(live, child);
        edits = merge_edits(live, path, pause->values);
        if (same_edits(live, edits))
                return accept_unchanged(pause, live);
        if (!control_fits(breaks_of(live), edits, &command->error) ||
            !take_rate(engine, pause, live, &command->error))
                return true;
        runs_touch(engine, live);
        put_control(live, breaks_of(live), edits);
        json_decref(live->edits);
        live->edits = json_object_size(edits) > 0 ? g_steal_pointer(&edits) : NULL;
        render_memo_clear(&live->memo);
        accept(engine, pause, live, "run.changed", set_data(pause, path));
        return true;
}

static const CommandOps set_ops = { .name = "parameters of a run",
                                    .size = sizeof(PauseRun),
                                    .apply = apply_set,
                                    .answer = run_command_answer,
                                    .free = free_pause };

/* ---- the caller's side ---- */

static PauseRun *pause_new(Engine *engine, const CommandOps *ops, const char *id, const char *by,
                           EngineRunDone done, void *arg)
{
        PauseRun *pause = command_new(ops, NULL, arg);

        pause->run.run_done = done;
        pause->id = g_strdup(id);
        pause->by = g_strdup(by);
        pause->read = store_run_by_id(engine->store, id, false, NULL);
        return pause;
}

/* Names are looked up in the definition here. */
static void take_place(PauseRun *pause, const RunPlan *plan, const char *step)
{
        pause->ended = !plan && step;
        if (plan && step)
                pause->at = break_parse(plan->definition, step, false, &pause->failure);
}

/* Each value is checked for its parameter. */
static void take_values(PauseRun *pause, const RunPlan *plan, const json_t *parameters)
{
        const char *name;
        json_t *given;

        pause->values = json_object();
        if (!plan || !pause->at)
                return;
        json_object_foreach((json_t *)parameters, name, given) {
                json_t *value = edit_value(plan->definition, break_last(pause->at)->component, name, given,
                                           &pause->failure);

                if (!value)
                        return;
                json_object_set_new(pause->values, name, value);
        }
}

void engine_continue_run(Engine *engine, const char *id, const char *step, bool single, const char *by,
                         EngineRunDone done, void *arg)
{
        PauseRun *pause = pause_new(engine, &go_ops, id, by, done, arg);
        g_autoptr(RunPlan) plan = step ? engine_run_plan(engine, id) : NULL;

        pause->step = single;
        take_place(pause, plan, step);
        inbox_put(&engine->inbox, &pause->run.command);
}

void engine_set_run(Engine *engine, const char *id, const char *step, const json_t *parameters,
                    const char *by, EngineRunDone done, void *arg)
{
        PauseRun *pause = pause_new(engine, &set_ops, id, by, done, arg);
        g_autoptr(RunPlan) plan = engine_run_plan(engine, id);

        take_place(pause, plan, step);
        take_values(pause, plan, parameters);
        inbox_put(&engine->inbox, &pause->run.command);
}

void engine_break_run(Engine *engine, const char *id, const json_t *before, const json_t *after, bool remove,
                      const char *by, EngineRunDone done, void *arg)
{
        PauseRun *pause = pause_new(engine, &break_ops, id, by, done, arg);
        g_autoptr(RunPlan) plan = engine_run_plan(engine, id);

        pause->remove = remove;
        pause->before = break_list_new();
        if (plan && take_breaks(plan->definition, before, false, pause->before, &pause->failure) &&
            take_breaks(plan->definition, after, true, pause->before, &pause->failure) && !remove)
                (void)check_places(plan->definition, pause->before, &pause->failure);
        inbox_put(&engine->inbox, &pause->run.command);
}
