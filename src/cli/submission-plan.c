/* The plan of a submission (see submission-plan.h). */
#include "cli/submission-plan.h"

#include <string.h>

#include "base/number.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "cli/asks.h"
#include "cli/listing.h"
#include "cli/table.h"
#include "model/framework.h"
#include "model/spec.h"
#include "model/sweep.h"
#include "package/setup.h"

enum { NAMES_SHOWN = 3, VALUES_SHOWN = 4 };

static void add_line(GString *out, const char *label, const char *text)
{
        g_autofree char *visible = text_visible(text);

        g_string_append_printf(out, "%-12s%s\n", label, visible);
}

/* "a, b and 3 more" */
static char *some_of(char *const *names, guint shown, guint64 n)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; i < shown && i < n; i++)
                g_string_append_printf(text, "%s%s", i ? ", " : "", names[i]);
        if (n > shown)
                g_string_append_printf(text, " and %" G_GUINT64_FORMAT " more", n - shown);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- the command ---- */

static char *command_text(const Spec *spec)
{
        if (!spec->command)
                return g_strdup("each role's own command");
        if (g_strv_length(spec->command) == 3 && strcmp(spec->command[0], "sh") == 0 &&
            strcmp(spec->command[1], "-c") == 0)
                return g_strdup(spec->command[2]);
        return g_strjoinv(" ", spec->command);
}

static void add_command(GString *out, const Spec *spec)
{
        g_autofree char *command = command_text(spec);
        g_autofree char *text = g_strdup_printf("%s (framework %s)", command, spec->framework->name);

        add_line(out, "runs", text);
}

/* ---- the package ---- */

static void add_package(GString *out, const Plan *plan)
{
        const Measure *measure = plan->measure;
        g_autofree char *files = NULL, *size = NULL, *text = NULL;

        if (!plan->package) {
                add_line(out, "sends", "no files");
                return;
        }
        files = count_format((gint64)measure->files, "file");
        size = bytes_format(measure->bytes);
        text = g_strdup_printf("%s%s, %s of '%s', unless the server has them",
                               measure->cut ? "more than " : "", files, size, plan->package);
        add_line(out, "sends", text);
}

static void add_left_out(GString *out, const Measure *measure)
{
        g_autofree char *names = NULL, *files = NULL, *size = NULL, *text = NULL;

        if (!measure->left_out || measure->n_left_out == 0)
                return;
        names = some_of((char *const *)measure->left_out->pdata, NAMES_SHOWN, measure->n_left_out);
        if (measure->foreign_files > 0) {
                files = count_format((gint64)measure->foreign_files, "downloaded file");
                size = bytes_format(measure->foreign_bytes);
                text = g_strdup_printf("%s; of these %s, %s", names, files, size);
        }
        add_line(out, "leaves out", text ? text : names);
}

/* ---- the environment ---- */

/* The lines that name a package. */
static GPtrArray *packages_of(const char *needs)
{
        g_auto(GStrv) lines = g_strsplit(needs, "\n", -1);
        GPtrArray *packages = g_ptr_array_new_with_free_func(g_free);

        for (char **line = lines; *line; line++) {
                g_strstrip(*line);
                if (**line && !strchr("#-", **line))
                        g_ptr_array_add(packages, g_strndup(*line, strcspn(*line, " ;#")));
        }
        return packages;
}

static void add_environment(GString *out, const Plan *plan, const char *needs)
{
        g_autoptr(GPtrArray) packages = needs ? packages_of(needs) : NULL;
        bool ready = strcmp(text_of(plan->dry, "environment"), "ready") == 0;
        g_autofree char *count = NULL, *names = NULL, *text = NULL;

        if (!packages || packages->len == 0) {
                add_line(out, "installs", "nothing");
                return;
        }
        count = count_format(packages->len, "package");
        names = some_of((char *const *)packages->pdata, NAMES_SHOWN, packages->len);
        text = g_strdup_printf("%s: %s; %s", count, names,
                               ready ? "the environment is ready" : "the environment is built first");
        add_line(out, "installs", text);
}

/* ---- the setup ---- */

static gint by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The paths of the future package, in the order of its manifest. */
static GPtrArray *paths_of(const Measure *measure)
{
        GPtrArray *paths = g_ptr_array_new();
        GHashTableIter iter;
        gpointer path, found;

        g_hash_table_iter_init(&iter, measure->paths);
        while (g_hash_table_iter_next(&iter, &path, &found))
                if (GPOINTER_TO_INT(found) != FOUND_DIRECTORY)
                        g_ptr_array_add(paths, path);
        g_ptr_array_sort(paths, by_name);
        return paths;
}

/* "setup.py, src/a.c and 3 more"; NULL: none. */
static char *named_files(const Plan *plan, const char *setup)
{
        g_autoptr(GPtrArray) paths = plan->package ? paths_of(plan->measure) : g_ptr_array_new();
        g_autoptr(GArray) named = setup_named(setup, paths);
        char *names[NAMES_SHOWN];

        for (guint i = 0; i < named->len && i < NAMES_SHOWN; i++)
                names[i] = paths->pdata[g_array_index(named, guint, i)];
        return named->len ? some_of(names, NAMES_SHOWN, named->len) : NULL;
}

static void add_setup(GString *out, const Plan *plan, const char *setup)
{
        g_autofree char *files = NULL, *line = NULL, *text = NULL;

        if (!setup)
                return;
        line = text_first_line(setup);
        files = named_files(plan, setup);
        text = g_strdup_printf("%s%s; once, and again when %s%s changes", line,
                               strlen(line) < strlen(setup) ? " ..." : "", files ? "it or one of " : "it",
                               files ? files : "");
        add_line(out, "sets up", text);
}

char *plan_setup_note(const Plan *plan)
{
        const char *setup = json_string_value(json_object_get(plan->spec, "setup"));
        g_autofree char *files = setup ? named_files(plan, setup) : NULL;

        if (!setup)
                return NULL;
        return g_strdup_printf(
                "the setup runs once, and again when %s%s changes; name other files that it reads in a "
                "comment after it: 'COMMAND # FILE'",
                files ? "its text or one of " : "its text", files ? files : "");
}

/* ---- requested resources ---- */

/* "1 core (by default), 4Gi of memory (by default)" */
static char *each_text(const Role *role, const Resources *each)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                Resources one = { 0 };
                g_autofree char *amount = NULL;

                one.amount[kind] = each->amount[kind];
                amount = amounts_text(&one);
                if (amount)
                        g_string_append_printf(text, "%s%s%s", text->len ? ", " : "", amount,
                                               role->each.amount[kind] > 0 ? "" : " (by default)");
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_role(GString *out, const Plan *plan, const Spec *spec, int r)
{
        const Role *role = &spec->roles[r];
        Resources said = asks_each(plan->dry, r), each = resources_is_zero(&said) ? role->each : said, all;
        g_autofree char *count = count_format(role->replicas, role->name), *one = each_text(role, &each);
        g_autofree char *sum = NULL;
        g_autoptr(GString) text = g_string_new(count);

        if (*one)
                g_string_append_printf(text, " with %s", one);
        all = (Resources){ 0 };
        if (*one && role->replicas > 1 && resources_add(&all, &each, role->replicas)) {
                sum = amounts_text(&all);
                g_string_append_printf(text, " each, %s in all", sum);
        }
        if (each.memory == 0)
                g_string_append(text, "; memory is not limited");
        add_line(out, r == 0 ? "asks for" : "", text->str);
}

/* ---- arrays ---- */

/* "[0]  lr=0.1   depth=2": columns have the width of the widest displayed cell. */
static void add_rows(GString *out, char ***rows, const int *indices, guint n)
{
        for (guint i = 0; i < n; i++) {
                g_autoptr(GString) line = g_string_new(NULL);

                g_string_append_printf(line, "[%d]", indices[i]);
                for (guint k = 0; rows[i][k]; k++) {
                        int width = 0;

                        for (guint j = 0; k > 0 && j < n; j++)
                                width = MAX(width, text_columns(rows[j][k - 1]));
                        for (int pad = k > 0 ? width - text_columns(rows[i][k - 1]) : 0; pad > 0; pad--)
                                g_string_append_c(line, ' ');
                        g_string_append_printf(line, "  %s", rows[i][k]);
                }
                add_line(out, "", line->str);
        }
}

static void add_values(GString *out, const Spec *spec, const GArray *indices)
{
        guint n = MIN(indices->len, VALUES_SHOWN);
        char **rows[VALUES_SHOWN] = { 0 };

        for (guint i = 0; i < n; i++)
                rows[i] = sweep_values(spec, g_array_index(indices, int, i));
        add_rows(out, rows, (const int *)(gpointer)indices->data, n);
        if (indices->len > n) {
                g_autofree char *more = g_strdup_printf("... and %u more", indices->len - n);

                add_line(out, "", more);
        }
        for (guint i = 0; i < n; i++)
                g_strfreev(rows[i]);
}

static void add_array(GString *out, const Spec *spec, const json_t *dry)
{
        g_autoptr(GArray) indices = NULL;
        g_autofree char *count = asks_array_text(dry), *text = NULL;
        int max = 0;

        if (!spec->array || !spec_array(spec->array, &indices, &max, NULL))
                return;
        if (!count)
                count = count_format((gint64)indices->len, "job");
        text = spec->sweep ? g_strdup(count)
                           : g_strdup_printf("%s, with the indices %.*s", count,
                                             (int)strcspn(spec->array, "%"), spec->array);
        add_line(out, "makes", text);
        if (spec->sweep)
                add_values(out, spec, indices);
}

char *plan_array_text(const json_t *object, const json_t *dry)
{
        g_autoptr(Spec) spec = spec_parse(object, NULL);
        g_autoptr(GString) out = g_string_new(NULL);

        if (spec)
                add_array(out, spec, dry);
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *plan_text(const Plan *plan)
{
        g_autoptr(Spec) spec = spec_parse(plan->spec, NULL);
        g_autoptr(GString) out = g_string_new(NULL);

        if (!spec) /* it was parsed before */
                return g_strdup("");
        add_command(out, spec);
        add_package(out, plan);
        if (plan->package)
                add_left_out(out, plan->measure);
        add_setup(out, plan, spec->setup);
        add_environment(out, plan, plan->needs ? plan->needs : spec->requirements);
        for (int r = 0; r < spec->n_roles; r++)
                add_role(out, plan, spec, r);
        add_array(out, spec, plan->dry);
        if (spec->output)
                add_line(out, "keeps", spec->output);
        return g_string_free(g_steal_pointer(&out), FALSE);
}
