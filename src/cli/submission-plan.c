/* The plan of a submission (see submission-plan.h). */
#include "cli/submission-plan.h"

#include <string.h>

#include "base/number.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/table.h"
#include "model/framework.h"
#include "model/spec.h"

enum { NAMES_SHOWN = 3 };

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

/* The lines that ask for a package. */
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

/* ---- what it asks for ---- */

/* "2 cores, 4.0 GiB of memory"; NULL when nothing is said. */
static char *amounts_of(const Resources *each, int times)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                g_autofree char *amount = NULL;
                gint64 sum;

                if (each->amount[kind] <= 0 || __builtin_mul_overflow(each->amount[kind], times, &sum))
                        continue;
                amount = quantity_named(kind, sum);
                g_string_append_printf(text, "%s%s", text->len ? ", " : "", amount);
        }
        return text->len ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

static void add_role(GString *out, const Role *role, const char *label)
{
        g_autofree char *count = count_format(role->replicas, role->name);
        g_autofree char *each = amounts_of(&role->each, 1), *all = amounts_of(&role->each, role->replicas);
        g_autofree char *text = NULL;

        if (!each)
                text = g_strdup_printf("%s with what its queue gives by default", count);
        else if (role->replicas == 1)
                text = g_strdup_printf("%s with %s", count, each);
        else
                text = g_strdup_printf("%s with %s each, %s in all", count, each, all);
        add_line(out, label, text);
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
        add_environment(out, plan, plan->needs ? plan->needs : spec->requirements);
        for (int i = 0; i < spec->n_roles; i++)
                add_role(out, &spec->roles[i], i == 0 ? "asks for" : "");
        if (spec->output)
                add_line(out, "keeps", spec->output);
        return g_string_free(g_steal_pointer(&out), FALSE);
}
