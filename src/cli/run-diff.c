/* In what two runs differ (see run-diff.h). Both definitions are compiled with what their requests changed, so values are
 * compared as they count. */
#include "cli/run-diff.h"

#include <string.h>

#include "base/number.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "cli/line-diff.h"
#include "cli/listing.h"
#include "cli/table.h"
#include "pipeline/definition.h"
#include "pipeline/render.h"
#include "pipeline/step-path.h"
#include "pipeline/value.h"
#include "storage/hash.h"

enum {
        SHOWN_MAX = 200,     /* characters of a value */
        RATIO_MS = 1000,     /* smaller differences of durations are none */
        RATIO_PERCENT = 125, /* nor those of less than a quarter */
        CELL_MAX = 40,       /* columns of a value on the terminal */
        HASH_SHOWN = 12,     /* characters of a hash on the terminal */
};

/* ---- values of a run ---- */

typedef enum { FACT_PARAMETER, FACT_ENVIRONMENT, FACT_SETTING, FACT_PACKAGE, FACT_KINDS } FactKind;

/* Packages are compared further, and a variable may have the name "package", too. */
static const char *const fact_parts[FACT_KINDS] = { "parameters", "environment", "settings", "environment" };
static const char *const listed_parts[] = { "parameters", "environment", "settings" };

typedef struct {
        FactKind kind;
        char *path, *name;
        char *shown; /* the value, cut */
        char *sum;   /* of a value that was cut: its SHA-256; or NULL */
} Fact;

typedef struct {
        GPtrArray *list;   /* Fact */
        GHashTable *by;    /* key -> Fact */
        GHashTable *paths; /* components that there are: their values are compared if both runs have them */
} Facts;

static void fact_free(gpointer data)
{
        Fact *fact = data;

        g_free(fact->path);
        g_free(fact->name);
        g_free(fact->shown);
        g_free(fact->sum);
        g_free(fact);
}

static void facts_init(Facts *facts)
{
        facts->list = g_ptr_array_new_with_free_func(fact_free);
        facts->by = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        facts->paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_hash_table_add(facts->paths, g_strdup(""));
}

static void facts_clear(Facts *facts)
{
        g_ptr_array_unref(facts->list);
        g_hash_table_unref(facts->by);
        g_hash_table_unref(facts->paths);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Facts, facts_clear)

static char *key_of(FactKind kind, const char *path, const char *name)
{
        return g_strdup_printf("%d %s %s", (int)kind, path, name);
}

/* One that is known gets another value. */
static void put_fact(Facts *facts, FactKind kind, const char *path, const char *name, const char *value)
{
        g_autofree char *key = key_of(kind, path, name);
        Fact *fact = g_hash_table_lookup(facts->by, key);
        bool known = fact != NULL;

        if (!value || (!known && (!*value || facts->list->len >= RUN_DIFF_FACTS_MAX)))
                return;
        if (!known)
                fact = g_new0(Fact, 1);
        g_free(fact->shown);
        g_clear_pointer(&fact->sum, g_free);
        if (g_utf8_strlen(value, -1) > SHOWN_MAX) {
                g_autofree char *start = g_utf8_substring(value, 0, SHOWN_MAX);

                fact->shown = g_strconcat(start, "...", NULL);
                fact->sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, value, -1);
        } else {
                fact->shown = g_strdup(value);
        }
        if (known)
                return;
        fact->kind = kind;
        fact->path = g_strdup(path);
        fact->name = g_strdup(name);
        g_ptr_array_add(facts->list, fact);
        g_hash_table_insert(facts->by, g_steal_pointer(&key), fact);
}

static void put_variables(Facts *facts, const Definition *definition, guint32 component, const char *path)
{
        const Component *at = &definition->components[component];

        for (guint32 i = at->variables; i < at[1].variables; i++) {
                const Value *value = &definition->variables[i];
                g_autoptr(GString) text = g_string_new(NULL);

                if (value->role != ROLE_PARAMETER && value->role != ROLE_ENV)
                        continue;
                value_write(text, definition, value);
                put_fact(facts, value->role == ROLE_PARAMETER ? FACT_PARAMETER : FACT_ENVIRONMENT, path,
                         definition_text(definition, value->name), text->str);
        }
}

/* "d.train"; of the library and of post_process with the section. */
static char *short_path(const Definition *definition, guint32 component)
{
        g_autofree char *path = component_path(definition, component);
        const char *section = "entry_points.";

        return g_strdup(g_str_has_prefix(path, section) ? path + strlen(section) : path);
}

static void put_component(Facts *facts, const Definition *definition, guint32 component)
{
        const Extra *extra = component_extra(definition, component);
        g_autofree char *path = short_path(definition, component);

        g_hash_table_add(facts->paths, g_strdup(path));
        put_variables(facts, definition, component, path);
        if (definition->components[component].image != definition->image)
                put_fact(facts, FACT_ENVIRONMENT, path, "image",
                         definition_text(definition, definition->components[component].image));
        put_fact(facts, FACT_PACKAGE, path, "package", definition_text(definition, extra->package));
        put_fact(facts, FACT_ENVIRONMENT, path, "requirements",
                 definition_text(definition, extra->requirements));
}

/* ---- parameters that were changed at a pause ---- */

static const json_t *edits_of(const RunSide *side)
{
        return json_object_get(side->run, "changed_parameters");
}

/* The value of the definition; NULL: there is none. Borrowed. */
static const char *defined(const Facts *facts, const Definition *definition, const StepPath *at,
                           const char *name)
{
        g_autofree char *path = short_path(definition, at->parts[at->n - 1].component);
        g_autofree char *key = key_of(FACT_PARAMETER, path, name);
        const Fact *fact = g_hash_table_lookup(facts->by, key);

        return fact ? fact->shown : NULL;
}

/* The parameters that one of the two runs has changed at this place ("dag-1.train") have their value in this run. */
static void put_changed(Facts *facts, const Definition *definition, const RunSide *side, const char *place,
                        const json_t *values)
{
        const json_t *own = json_object_get(edits_of(side), place);
        StepPath at;
        json_t *value;
        const char *name;

        if (!step_path_parse(definition, place, &at, NULL))
                return;
        g_hash_table_add(facts->paths, g_strdup(place));
        json_object_foreach((json_t *)values, name, value) {
                const json_t *changed = json_object_get(own, name);
                g_autofree char *key = key_of(FACT_PARAMETER, place, name);
                g_autofree char *text =
                        changed ? render_text(changed) : g_strdup(defined(facts, definition, &at, name));

                if (changed || !g_hash_table_contains(facts->by, key))
                        put_fact(facts, FACT_PARAMETER, place, name, text);
        }
}

static void put_edits(Facts *facts, const Definition *definition, const RunSide *side, const json_t *edits)
{
        json_t *values;
        const char *place;

        json_object_foreach((json_t *)edits, place, values)
                put_changed(facts, definition, side, place, values);
}

/* ---- all of them ---- */

/* False: it is not understood any more. */
static bool put_definition(Facts *facts, const RunSide *side, const RunSide *other)
{
        const char *text = text_of(side->definition, "definition");
        g_autoptr(Definition) definition = NULL;
        g_auto(Problems) problems = { 0 };
        DefinitionRequest request;
        g_autofree char *parallelism = NULL;

        problems_init(&problems);
        definition_request_read(json_object_get(side->definition, "request"), &request);
        definition = definition_parse(text, strlen(text), &request, &problems);
        if (!definition)
                return false;
        parallelism = g_strdup_printf("%d", definition->parallelism);
        put_fact(facts, FACT_ENVIRONMENT, "", "image", definition_text(definition, definition->image));
        put_fact(facts, FACT_SETTING, "", "parallelism", parallelism);
        put_fact(facts, FACT_SETTING, "", "failure strategy",
                 definition->continues ? "continue" : "fail_fast");
        put_variables(facts, definition, DEFINITION_ROOT, "");
        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++)
                put_component(facts, definition, i);
        put_edits(facts, definition, side, edits_of(other));
        put_edits(facts, definition, side, edits_of(side));
        return true;
}

static void put_request(Facts *facts, const RunSide *side)
{
        const json_t *request = json_object_get(side->definition, "request");
        g_autofree char *version =
                is_set(side->run, "version")
                        ? g_strdup_printf("%" G_GINT64_FORMAT, int_of(side->run, "version"))
                        : NULL;

        put_fact(facts, FACT_PACKAGE, "", "package", text_of(request, "package"));
        put_fact(facts, FACT_ENVIRONMENT, "", "requirements", text_of(request, "requirements"));
        put_fact(facts, FACT_SETTING, "", "stored pipeline", text_of(side->run, "pipeline"));
        put_fact(facts, FACT_SETTING, "", "version", version);
        put_fact(facts, FACT_SETTING, "", "queue", text_of(request, "queue"));
        put_fact(facts, FACT_SETTING, "", "disabled", text_of(request, "disabled"));
        put_fact(facts, FACT_SETTING, "", "user", text_of(side->run, "user"));
}

static const Fact *find_fact(const Facts *facts, const Fact *like)
{
        g_autofree char *key = key_of(like->kind, like->path, like->name);

        return g_hash_table_lookup(facts->by, key);
}

static json_t *value_or_null(const Fact *fact)
{
        return fact ? json_string(fact->shown) : json_null();
}

static void compare_fact(const Fact *a, const Fact *b, json_t *diff)
{
        const Fact *either = a ? a : b;

        if (a && b && strcmp(a->shown, b->shown) == 0 && g_strcmp0(a->sum, b->sum) == 0)
                return;
        json_array_append_new(json_object_get(diff, fact_parts[either->kind]),
                              json_pack("{s:s, s:s, s:o, s:o}", "path", either->path, "name", either->name,
                                        "a", value_or_null(a), "b", value_or_null(b)));
        if (either->kind == FACT_PACKAGE && a && b)
                json_array_append_new(json_object_get(diff, "packages"),
                                      json_pack("{s:s, s:s, s:s, s:n, s:i, s:n}", "path", either->path, "a",
                                                a->shown, "b", b->shown, "files", "more", 0, "why"));
}

static void compare_facts(const Facts *a, const Facts *b, json_t *diff)
{
        for (guint i = 0; i < a->list->len; i++) {
                const Fact *fact = a->list->pdata[i];

                if (g_hash_table_contains(b->paths, fact->path))
                        compare_fact(fact, find_fact(b, fact), diff);
        }
        for (guint i = 0; i < b->list->len; i++) {
                const Fact *fact = b->list->pdata[i];

                if (g_hash_table_contains(a->paths, fact->path) && !find_fact(a, fact))
                        compare_fact(NULL, fact, diff);
        }
}

/* False: one of the definitions is not understood any more, so values are not compared. */
static bool diff_facts(const RunSide *a, const RunSide *b, json_t *diff)
{
        g_auto(Facts) left = { 0 }, right = { 0 };

        facts_init(&left);
        facts_init(&right);
        for (gsize i = 0; i < G_N_ELEMENTS(listed_parts); i++)
                json_object_set_new(diff, listed_parts[i], json_array());
        json_object_set_new(diff, "packages", json_array());
        if (!put_definition(&left, a, b) || !put_definition(&right, b, a))
                return false;
        put_request(&left, a);
        put_request(&right, b);
        compare_facts(&left, &right, diff);
        return left.list->len < RUN_DIFF_FACTS_MAX && right.list->len < RUN_DIFF_FACTS_MAX;
}

/* ---- the definition ---- */

static void diff_definition(const RunSide *a, const RunSide *b, json_t *diff)
{
        g_autoptr(GPtrArray) lines =
                line_diff(text_of(a->definition, "definition"), text_of(b->definition, "definition"));
        json_t *list = json_array();

        for (guint i = 0; i < MIN(lines->len, RUN_DIFF_LINES_MAX); i++)
                json_array_append_new(list, json_string(lines->pdata[i]));
        json_object_set_new(diff, "definition", list);
        json_object_set_new(diff, "definition_more",
                            json_integer(lines->len > RUN_DIFF_LINES_MAX ? lines->len - RUN_DIFF_LINES_MAX
                                                                         : 0));
}

/* ---- artifacts ---- */

/* The path with RUN in place of the id of the run that wrote it, which a retry or the cache may have taken it from. */
static char *general_path(const char *path)
{
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);

        for (char **part = parts; *part; part++)
                if (strcmp(*part, ".pipeline") == 0 && part[1]) {
                        g_free(part[1]);
                        part[1] = g_strdup("RUN");
                        break;
                }
        return g_strjoinv("/", parts);
}

/* "filesystem general-path" -> the artifact, borrowed. */
static GHashTable *artifacts_by(const RunSide *side)
{
        GHashTable *by = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        const json_t *artifact;
        size_t i;

        json_array_foreach((json_t *)side->artifacts, i, artifact) {
                g_autofree char *path = general_path(text_of(artifact, "path"));

                g_hash_table_replace(by, g_strdup_printf("%s %s", text_of(artifact, "filesystem"), path),
                                     (gpointer)artifact);
        }
        return by;
}

/* Of the artifacts that both have only those of `a` are put. The same file of both is the same. */
static void put_artifacts(const RunSide *side, GHashTable *others, const char *which, json_t *list)
{
        const json_t *artifact;
        size_t i;

        json_array_foreach((json_t *)side->artifacts, i, artifact) {
                g_autofree char *path = general_path(text_of(artifact, "path"));
                g_autofree char *key = g_strdup_printf("%s %s", text_of(artifact, "filesystem"), path);
                const json_t *other = g_hash_table_lookup(others, key);
                const char *own = text_of(artifact, "path"), *its = other ? text_of(other, "path") : NULL;
                json_t *item;

                if (other && *which == 'b')
                        continue;
                item = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:o}", "path", path, "name",
                                 text_of(artifact, "name"), "filesystem", text_of(artifact, "filesystem"),
                                 "user", text_of(artifact, "user"), "in", other ? "both" : which, "path_a",
                                 *which == 'a' ? own : NULL, "path_b", *which == 'b' ? own : its, "differs",
                                 its && strcmp(own, its) == 0 ? json_false() : json_null());
                json_array_append_new(list, item);
        }
}

static void diff_artifacts(const RunSide *a, const RunSide *b, json_t *diff)
{
        g_autoptr(GHashTable) left = artifacts_by(a), right = artifacts_by(b);
        json_t *list = json_array();

        put_artifacts(a, right, "a", list);
        put_artifacts(b, left, "b", list);
        json_object_set_new(diff, "artifacts", list);
}

/* ---- steps ---- */

/* All its instances have results that the cache gave. */
static bool is_cached(const json_t *step)
{
        return int_of(step, "cached") > 0 && int_of(step, "cached") == int_of(step, "count");
}

/* ms; -1: none, since it never began, still runs, is kept, or the cache gave it. */
static gint64 time_taken(const json_t *step)
{
        gint64 begun = step ? time_of(step, "started_at") : 0,
               ended = step ? time_of(step, "finished_at") : 0;

        return begun && ended && !is_cached(step) ? MAX(ended - begun, 0) : -1;
}

static json_t *format_step(const json_t *step)
{
        gint64 taken = time_taken(step);

        if (!step)
                return json_null();
        return json_pack("{s:s, s:I, s:I, s:I, s:O, s:o, s:b}", "state", text_of(step, "state"), "count",
                         (json_int_t)int_of(step, "count"), "kept", (json_int_t)int_of(step, "kept"),
                         "cached", (json_int_t)int_of(step, "cached"), "states",
                         json_object_get(step, "states"), "ms",
                         taken >= 0 ? json_integer(taken) : json_null(), "loop",
                         (int)json_is_true(json_object_get(step, "loop")));
}

static bool counts_differ(const json_t *a, const json_t *b)
{
        return json_equal(json_object_get(a, "states"), json_object_get(b, "states")) == 0;
}

static void put_step(const json_t *a, const json_t *b, json_t *list)
{
        gint64 left = time_taken(a), right = time_taken(b);
        bool differs =
                !a || !b || strcmp(text_of(a, "state"), text_of(b, "state")) != 0 || counts_differ(a, b);

        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:b}", "path", text_of(a ? a : b, "path"),
                                              "a", format_step(a), "b", format_step(b), "ratio",
                                              left > 0 && right >= 0 ? json_real((double)right / (double)left)
                                                                     : json_null(),
                                              "differs", (int)differs));
}

static GHashTable *steps_by(const RunSide *side)
{
        GHashTable *by = g_hash_table_new(g_str_hash, g_str_equal);
        const json_t *step;
        size_t i;

        json_array_foreach(json_object_get(side->steps, "items"), i, step)
                g_hash_table_insert(by, (gpointer)text_of(step, "path"), (gpointer)step);
        return by;
}

static void diff_steps(const RunSide *a, const RunSide *b, json_t *diff)
{
        g_autoptr(GHashTable) left = steps_by(a), right = steps_by(b);
        json_t *list = json_array();
        const json_t *step;
        size_t i;

        json_array_foreach(json_object_get(a->steps, "items"), i, step)
                put_step(step, g_hash_table_lookup(right, text_of(step, "path")), list);
        json_array_foreach(json_object_get(b->steps, "items"), i, step)
                if (!g_hash_table_contains(left, text_of(step, "path")))
                        put_step(NULL, step, list);
        json_object_set_new(diff, "steps", list);
}

/* ---- the whole ---- */

static json_t *format_side(const RunSide *side)
{
        gint64 begun = time_of(side->run, "created_at"), ended = time_of(side->run, "finished_at");

        return json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", text_of(side->run, "id"), "name",
                         text_of(side->run, "name"), "user", text_of(side->run, "user"), "state",
                         text_of(side->run, "state"), "ms",
                         begun && ended ? json_integer(MAX(ended - begun, 0)) : json_null());
}

static bool artifacts_differ(const json_t *diff)
{
        const json_t *artifact;
        size_t i;

        json_array_foreach(json_object_get(diff, "artifacts"), i, artifact)
                if (strcmp(text_of(artifact, "in"), "both") != 0 ||
                    json_is_true(json_object_get(artifact, "differs")))
                        return true;
        return false;
}

static bool steps_differ(const json_t *diff)
{
        const json_t *step;
        size_t i;

        json_array_foreach(json_object_get(diff, "steps"), i, step)
                if (json_is_true(json_object_get(step, "differs")))
                        return true;
        return strcmp(text_of(json_object_get(diff, "a"), "state"),
                      text_of(json_object_get(diff, "b"), "state")) != 0;
}

static bool list_differs(const json_t *diff, const char *part)
{
        return json_array_size(json_object_get(diff, part)) > 0;
}

/* The parts in the order in which they are printed. */
static const char *const parts[] = { "definition", "parameters", "environment",
                                     "settings",   "artifacts",  "states" };

static bool part_differs(const json_t *diff, const char *part)
{
        return strcmp(part, "artifacts") == 0 ? artifacts_differ(diff)
               : strcmp(part, "states") == 0  ? steps_differ(diff)
                                              : list_differs(diff, part);
}

void run_diff_settle(json_t *diff)
{
        json_t *differs = json_array();

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (part_differs(diff, parts[i]))
                        json_array_append_new(differs, json_string(parts[i]));
        json_object_set_new(diff, "same", json_boolean(json_array_size(differs) == 0));
        json_object_set_new(diff, "differs", differs);
}

json_t *run_diff(const RunSide *a, const RunSide *b)
{
        json_t *diff = json_pack("{s:o, s:o, s:n, s:n}", "a", format_side(a), "b", format_side(b), "same",
                                 "differs");
        bool whole;

        diff_definition(a, b, diff);
        whole = diff_facts(a, b, diff);
        diff_artifacts(a, b, diff);
        diff_steps(a, b, diff);
        json_object_set_new(diff, "partial",
                            json_boolean(!whole || json_is_true(json_object_get(a->steps, "partial")) ||
                                         json_is_true(json_object_get(b->steps, "partial"))));
        run_diff_settle(diff);
        return diff;
}

/* ---- on the terminal ---- */

typedef struct {
        const json_t *diff;
        const Terminal *terminal;
        int most; /* lines of a part */
        FILE *to;
} Printing;

static void print_line(const Printing *printing, const char *line)
{
        g_autofree char *visible = text_visible(line);
        g_autofree char *cut =
                printing->terminal->out_is_terminal
                        ? text_cut_columns(visible, printing->terminal->width, printing->terminal->utf8)
                        : g_strdup(visible);

        fprintf(printing->to, "%s\n", cut);
}

static void print_more(const Printing *printing, gint64 more, const char *what)
{
        if (more > 0)
                fprintf(printing->to, "  %s %" G_GINT64_FORMAT " more %s%s\n",
                        printing->terminal->utf8 ? "…" : "...", more, what,
                        printing->most == G_MAXINT ? "" : "; --all shows them");
}

/* "A  digits (6rpyr77cvstaad5v)  failed  4m 30s" */
static void print_side(const Printing *printing, const char *member, const char *label)
{
        const json_t *side = json_object_get(printing->diff, member);
        g_autofree char *time = is_set(side, "ms") ? duration_format(int_of(side, "ms")) : g_strdup("");
        g_autofree char *line = g_strdup_printf("%s  %s (%s)  %s  %s", label, text_of(side, "name"),
                                                text_of(side, "id"), text_of(side, "state"), time);

        print_line(printing, g_strchomp(line));
}

static void print_summary(const Printing *printing)
{
        g_autoptr(GString) differs = g_string_new(NULL), same = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
                GString *list = part_differs(printing->diff, parts[i]) ? differs : same;

                g_string_append_printf(list, "%s%s", list->len ? ", " : "", parts[i]);
        }
        if (differs->len > 0)
                fprintf(printing->to, "different: %s\n", differs->str);
        if (same->len > 0)
                fprintf(printing->to, "the same: %s\n", same->str);
}

static void print_definition(const Printing *printing)
{
        const json_t *lines = json_object_get(printing->diff, "definition"), *line;
        size_t i;

        if (json_array_size(lines) == 0)
                return;
        fprintf(printing->to, "\ndefinition\n");
        json_array_foreach((json_t *)lines, i, line) {
                g_autofree char *text = g_strconcat("  ", json_string_value(line), NULL);

                if ((int)i < printing->most)
                        print_line(printing, text);
        }
        print_more(printing,
                   MAX((gint64)json_array_size(lines) - printing->most, 0) +
                           int_of(printing->diff, "definition_more"),
                   "lines");
}

static char *cell_of(const Printing *printing, const json_t *value)
{
        g_autofree char *visible =
                json_is_string(value) ? text_visible(json_string_value(value)) : g_strdup("-");

        if (printing->most != G_MAXINT && hash_is_valid(visible)) /* of a package */
                return g_strndup(visible, HASH_SHOWN);
        return printing->most == G_MAXINT ? g_steal_pointer(&visible)
                                          : text_cut_columns(visible, CELL_MAX, printing->terminal->utf8);
}

static void print_facts(const Printing *printing, const char *part)
{
        static const char *const heads[] = { "NAME", "A", "B", NULL };
        const json_t *list = json_object_get(printing->diff, part), *fact;
        g_autoptr(Table) table = table_new(heads);
        size_t i;

        if (json_array_size(list) == 0)
                return;
        fprintf(printing->to, "\n%s\n", part);
        json_array_foreach((json_t *)list, i, fact) {
                const char *path = text_of(fact, "path");
                g_autofree char *name = g_strconcat(path, *path ? "." : "", text_of(fact, "name"), NULL);
                g_autofree char *a = cell_of(printing, json_object_get(fact, "a"));
                g_autofree char *b = cell_of(printing, json_object_get(fact, "b"));

                if ((int)i < printing->most)
                        table_row(table, (const char *const[]){ name, a, b });
        }
        table_print(table, 2, printing->to);
        print_more(printing, (gint64)json_array_size(list) - printing->most, "values");
}

/* ---- files of packages ---- */

static const struct {
        const char *change, *words;
} file_changes[] = {
        { "differs", "differs  " },
        { "gone", "only in A" },
        { "new", "only in B" },
};

static void print_file(const Printing *printing, const json_t *file)
{
        for (gsize i = 0; i < G_N_ELEMENTS(file_changes); i++) {
                g_autofree char *line =
                        g_strdup_printf("  %s  %s", file_changes[i].words, text_of(file, "path"));

                if (strcmp(file_changes[i].change, text_of(file, "change")) == 0)
                        print_line(printing, line);
        }
}

static void print_package(const Printing *printing, const json_t *package)
{
        const json_t *files = json_object_get(package, "files"), *file;
        gint64 n = (gint64)json_array_size(files);
        g_autofree char *title = *text_of(package, "path")
                                         ? g_strdup_printf("files of %s.package", text_of(package, "path"))
                                         : g_strdup("files of the package");
        size_t i;

        fprintf(printing->to, "\n");
        print_line(printing, title);
        if (is_set(package, "why")) {
                g_autofree char *line = g_strconcat("  not compared: ", text_of(package, "why"), NULL);

                print_line(printing, line);
        }
        json_array_foreach((json_t *)files, i, file)
                if ((int)i < printing->most)
                        print_file(printing, file);
        print_more(printing, MAX(n - printing->most, 0) + int_of(package, "more"), "files");
}

static void print_packages(const Printing *printing)
{
        const json_t *package;
        gint64 unknown = 0;
        size_t i;

        json_array_foreach(json_object_get(printing->diff, "packages"), i, package) {
                if (is_set(package, "files") || is_set(package, "why"))
                        print_package(printing, package);
                else
                        unknown++;
        }
        if (unknown > 0) {
                g_autofree char *count = count_format(unknown, "other package");

                fprintf(printing->to, "\n%s: the files were not compared\n", count);
        }
}

static void print_artifacts(const Printing *printing)
{
        const json_t *list = json_object_get(printing->diff, "artifacts"), *artifact;
        gint64 lines = 0, unknown = 0;
        size_t i;

        if (artifacts_differ(printing->diff))
                fprintf(printing->to, "\nartifacts\n");
        json_array_foreach((json_t *)list, i, artifact) {
                const char *in = text_of(artifact, "in");
                bool both = strcmp(in, "both") == 0,
                     differs = json_is_true(json_object_get(artifact, "differs"));
                g_autofree char *line = g_strdup_printf("  %s  %s",
                                                        both         ? "differs  "
                                                        : *in == 'a' ? "only in A"
                                                                     : "only in B",
                                                        text_of(artifact, "path"));

                unknown += both && !is_set(artifact, "differs");
                if ((!both || differs) && lines++ < printing->most)
                        print_line(printing, line);
        }
        print_more(printing, lines - printing->most, "artifacts");
        if (unknown > 0) {
                g_autofree char *count = count_format(unknown, "artifact");

                fprintf(printing->to, "\n%s of both runs: the contents were not compared\n", count);
        }
}

/* "failed, 98 of 100, 4m 10s" */
static char *step_cell(const json_t *step)
{
        GString *text = g_string_new(NULL);

        if (!step || json_is_null(step))
                return g_string_free(g_string_append(text, "not begun"), FALSE);
        g_string_append(text, text_of(step, "state"));
        if (int_of(step, "count") > 1)
                g_string_append_printf(text, ", %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
                                       int_of(json_object_get(step, "states"), "succeeded"),
                                       int_of(step, "count"));
        if (is_set(step, "ms") && strcmp(text_of(step, "state"), "skipped") != 0) {
                g_autofree char *time = duration_format(int_of(step, "ms"));

                g_string_append_printf(text, ", %s", time);
        } else if (int_of(step, "kept") > 0) {
                g_string_append(text, ", kept");
        }
        if (is_cached(step))
                g_string_append(text, ", from the cache");
        else if (int_of(step, "cached") > 0)
                g_string_append_printf(text, ", %" G_GINT64_FORMAT " from the cache", int_of(step, "cached"));
        return g_string_free(text, FALSE);
}

/* The cache gave it in one of the runs only. */
static bool cache_differs(const json_t *step)
{
        const json_t *a = json_object_get(step, "a"), *b = json_object_get(step, "b");

        return !json_is_null(a) && !json_is_null(b) && is_cached(a) != is_cached(b);
}

/* Noise is no difference. */
static bool duration_differs(const json_t *step)
{
        const json_t *a = json_object_get(step, "a"), *b = json_object_get(step, "b");
        gint64 left = int_of(a, "ms"), right = int_of(b, "ms");

        return is_set(step, "ratio") && ABS(left - right) >= RATIO_MS &&
               100 * MAX(left, right) >= RATIO_PERCENT * MIN(left, right);
}

static void print_steps(const Printing *printing)
{
        static const char *const heads[] = { "STEP", "A", "B", ">TIME B/A", NULL };
        const json_t *list = json_object_get(printing->diff, "steps"), *step;
        g_autoptr(Table) table = table_new(heads);
        gint64 rows = 0, same = 0;
        size_t i;

        json_array_foreach((json_t *)list, i, step) {
                g_autofree char *a = step_cell(json_object_get(step, "a")),
                                *b = step_cell(json_object_get(step, "b"));
                g_autofree char *ratio =
                        is_set(step, "ratio")
                                ? g_strdup_printf("%.2f", json_real_value(json_object_get(step, "ratio")))
                                : g_strdup("");

                if (printing->most != G_MAXINT && !json_is_true(json_object_get(step, "differs")) &&
                    !duration_differs(step) && !cache_differs(step))
                        same++;
                else if (rows++ < printing->most)
                        table_row(table, (const char *const[]){ text_of(step, "path"), a, b, ratio });
        }
        if (rows > 0) {
                fprintf(printing->to, "\nsteps\n");
                table_print(table, 2, printing->to);
        }
        print_more(printing, rows - printing->most, "steps");
        if (same > 0) {
                g_autofree char *count = count_format(same, rows > 0 ? "other component" : "component");

                fprintf(printing->to, "%s%s: the same states, and about the same time; --all shows them\n",
                        rows > 0 ? "  " : "\n", count);
        }
}

void run_diff_print(const json_t *diff, const Terminal *terminal, bool all, FILE *to)
{
        const Printing printing = { diff, terminal, all ? G_MAXINT : RUN_DIFF_LINES, to };

        print_side(&printing, "a", "A");
        print_side(&printing, "b", "B");
        print_summary(&printing);
        print_definition(&printing);
        for (gsize i = 0; i < G_N_ELEMENTS(listed_parts); i++)
                print_facts(&printing, listed_parts[i]);
        print_packages(&printing);
        print_artifacts(&printing);
        print_steps(&printing);
}
