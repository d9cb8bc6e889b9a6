/* Fuzz target: jobs of steps. The first line is the step's command, each other one a variable, NAME=VALUE.
 *
 * Any variables either make a specification that is read back as the same, or an error of RE-05. What a shell gets is
 * the step's command, or the value of a variable that is a command: nothing else of them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pipeline/step-job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Definition *one_step(void)
{
        static const char text[] = "name: demo\ndocker_env: img\nentry_points: {s: {command: run}}\n";
        static const DefinitionRequest request;
        g_auto(Problems) problems = { 0 };

        problems_init(&problems);
        return definition_parse(text, strlen(text), &request, &problems);
}

static Catalog *seeded(void)
{
        g_autoptr(GPtrArray) objects = catalog_seed(CLUSTER_LOCAL, 0);

        return catalog_load(objects);
}

static json_t *env_of(char *const *lines)
{
        json_t *env = json_object();

        for (; *lines; lines++) {
                const char *equals = strchr(*lines, '=');
                g_autofree char *name = equals ? g_strndup(*lines, (gsize)(equals - *lines)) : NULL;

                if (name)
                        json_object_set_new(env, name, json_string(equals + 1));
        }
        return env;
}

static bool is_line_of(const char *text, const char *command)
{
        g_autofree char *line = step_command(command);

        return strcmp(line, text) == 0;
}

static bool is_command(const char *text, const Rendered *rendered)
{
        const char *name;
        json_t *value;

        json_object_foreach(rendered->env, name, value) {
                if (g_str_has_suffix(name, "_COMMAND") && is_line_of(text, json_string_value(value)))
                        return true;
        }
        return is_line_of(text, rendered->command);
}

static void check(const Spec *spec, const Rendered *rendered)
{
        g_autoptr(json_t) shown = spec_format(spec);
        g_autoptr(Spec) again = spec_parse(shown, NULL);
        g_autoptr(json_t) twice = again ? spec_format(again) : NULL;

        g_assert_true(json_equal(shown, twice));
        g_assert_null(spec->command);
        for (int r = 0; r < spec->n_roles; r++) {
                char **argv = spec->roles[r].command;

                g_assert_true(!argv || (g_strv_length(argv) == 3 && g_str_equal(argv[0], "sh") &&
                                        is_command(argv[2], rendered)));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static Definition *definition;
        static Catalog *catalog;
        g_autofree char *raw = g_strndup((const char *)data, size), *text = g_utf8_make_valid(raw, -1);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autoptr(json_t) env = env_of(lines[0] ? lines + 1 : lines);
        const Rendered rendered = { .env = env, .command = lines[0] ? lines[0] : (char *)"" };
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) spec = NULL;

        if (!definition) {
                json_init();
                definition = one_step();
                catalog = seeded();
        }
        spec = step_job(&(StepRun){ .definition = definition, .catalog = catalog, .queue = "default" },
                        DEFINITION_FIRST, "run-1-s-1", &rendered, &error);
        if (spec)
                check(spec, &rendered);
        else
                g_assert_true(g_str_has_prefix(error->message, "RE-05: "));
        return 0;
}
