/* paddle status: one job in full. */
#include <math.h>

#include "base/err.h"
#include "base/number.h"
#include "cli/follow-array.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/summary.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *format;
} Status;

static const Option options[] = {
        FORMAT_OPTION(offsetof(Status, format)),
        COMMON_OPTIONS,
        { 0 },
};

static void print_line(const char *name, const char *value)
{
        g_autofree char *visible = text_visible(value);

        if (*visible)
                printf("%-12s %s\n", name, visible);
}

static void print_time(const char *name, const json_t *job, const char *member)
{
        g_autofree char *text = local_time_text(job, member);

        print_line(name, text ? text : "");
}

static void print_state(const Cli *cli, const json_t *job)
{
        g_autofree char *visible = text_visible(text_of(job, "state"));
        g_autofree char *text = state_text(visible, cli->terminal.out_colour);

        printf("%-12s %s\n", "state", text);
}

static void print_roles(const json_t *job)
{
        const json_t *roles = json_object_get(job, "roles");
        gsize i;
        json_t *role;

        json_array_foreach(roles, i, role) {
                g_autofree char *text =
                        g_strdup_printf("%d %s: %d running, %d succeeded, %d failed",
                                        (int)int_of(role, "replicas"), text_of(role, "name"),
                                        (int)int_of(role, "running"), (int)int_of(role, "succeeded"),
                                        (int)int_of(role, "failed"));

                print_line(i == 0 ? "members" : "", text);
        }
}

static char *command_text(const json_t *spec)
{
        const json_t *command = json_object_get(spec, "command");
        g_autoptr(GString) out = g_string_new(json_string_value(command));
        gsize i;
        json_t *word;

        json_array_foreach(command, i, word) {
                g_autofree char *quoted =
                        g_shell_quote(json_string_value(word) ? json_string_value(word) : "");
                bool plain = json_string_value(word) &&
                             !strpbrk(json_string_value(word), " \t\n'\"\\$`;&|<>()*?[]#~!{}") &&
                             *json_string_value(word);

                g_string_append_printf(out, "%s%s", i > 0 ? " " : "",
                                       plain ? json_string_value(word) : quoted);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static void print_mounts(const json_t *mounts)
{
        const json_t *mount;
        gsize i;

        json_array_foreach(mounts, i, mount) {
                const char *sub = text_of(mount, "sub");
                g_autofree char *text =
                        g_strdup_printf("%s%s%s at %s%s", text_of(mount, "fs"), *sub ? "/" : "", sub,
                                        text_of(mount, "path"),
                                        json_is_true(json_object_get(mount, "read_only")) ? ", read-only"
                                                                                          : "");

                print_line("mount", text);
        }
}

static void print_spec(const json_t *job)
{
        const json_t *spec = json_object_get(job, "spec");
        static const char *const secrets[][2] = { { "secrets", "secrets" },
                                                  { "secret_files", "secret files" } };
        g_autofree char *command = command_text(spec);
        const json_t *note;
        size_t i;

        print_line("command", command);
        print_line("image", text_of(spec, "image"));
        print_line("package", text_of(spec, "package"));
        print_line("input", text_of(spec, "input"));
        print_line("output", text_of(spec, "output"));
        print_mounts(json_object_get(spec, "mounts"));
        print_line("network", text_of(spec, "network"));
        for (i = 0; i < G_N_ELEMENTS(secrets); i++) {
                g_autofree char *text = value_text(json_object_get(spec, secrets[i][0]));

                print_line(secrets[i][1], text ? text : "");
        }
        json_array_foreach(json_object_get(job, "notes"), i, note)
                print_line("note", json_string_value(note));
}

/* Scheduling fields. Default values are not shown. */
static void print_sharing(const json_t *job)
{
        static const char *const members[] = { "labels", "annotations", "after" };
        g_autofree char *priority = value_text(json_object_get(job, "priority"));
        g_autofree char *evictions = g_strdup_printf("%d times", (int)int_of(job, "evictions"));

        print_line("queue", text_of(job, "queue"));
        if (int_of(job, "priority") != 0)
                print_line("priority", priority);
        for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
                g_autofree char *text = value_text(json_object_get(job, members[i]));

                print_line(members[i], text ? text : "");
        }
        if (int_of(job, "evictions") > 0)
                print_line("evicted", evictions);
}

/* "loss 0.1 (0.05 to 2.3)" */
static void print_results(const json_t *job)
{
        const char *name, *label = "results";
        json_t *value;

        json_object_foreach(json_object_get(job, "results"), name, value) {
                const json_t *last = json_object_get(value, "last"), *min = json_object_get(value, "min");
                g_autofree char *text =
                        g_strdup_printf("%s %.6g", name,
                                        json_is_number(last) ? json_number_value(last) : (double)NAN);
                g_autofree char *range =
                        json_is_number(min)
                                ? g_strdup_printf("%s (%.6g to %.6g)", text, json_number_value(min),
                                                  json_number_value(json_object_get(value, "max")))
                                : g_strdup(text);

                print_line(label, range);
                label = "";
        }
}

static void print_attempts(const json_t *job)
{
        g_autofree char *text =
                g_strdup_printf("%d, of which %d failed (%d retries allowed)", (int)int_of(job, "attempt"),
                                (int)int_of(job, "failures"), (int)int_of(job, "retries"));

        if (int_of(job, "attempt") > 1 || int_of(job, "retries") > 0)
                print_line("attempts", text);
}

static void print_job(const Cli *cli, const json_t *job)
{
        g_autofree char *stages = summary_stages(job, &cli->terminal, cli->terminal.out_colour);
        const char *environment = text_of(job, "environment");

        print_line("name", text_of(job, "name"));
        print_line("id", text_of(job, "id"));
        if (is_element(job))
                print_line("array", text_of(json_object_get(job, "array"), "name"));
        print_line("user", text_of(job, "user"));
        print_state(cli, job);
        print_line("reason", text_of(job, "reason"));
        print_sharing(job);
        print_line("framework", text_of(job, "framework"));
        print_line("environment", strcmp(environment, "none") == 0 ? "" : environment);
        print_attempts(job);
        print_results(job);
        print_roles(job);
        print_spec(job);
        print_time("submitted", job, "submitted_at");
        print_time("started", job, "running_at");
        print_time("finished", job, "finished_at");
        printf("\n%s", stages);
        if (json_array_size(json_object_get(job, "members")) > 0) {
                putchar('\n');
                summary_members(json_object_get(job, "members"), 2, stdout);
        }
}

/* "lr=0.1,0.01", one line per parameter. */
static void print_sweep(const json_t *array)
{
        const char *name, *label = "sweep";
        json_t *values;

        json_object_foreach(json_object_get(json_object_get(array, "spec"), "sweep"), name, values) {
                g_autoptr(GString) text = g_string_new(name);
                const json_t *value;
                gsize i;

                json_array_foreach(values, i, value)
                        g_string_append_printf(text, "%c%s", i ? ',' : '=', json_string_value(value));
                print_line(label, text->str);
                label = "";
        }
}

static void print_array(const Cli *cli, const json_t *array)
{
        const json_t *about = json_object_get(array, "array");
        g_autofree char *counts = summary_elements(array), *failed = summary_failed(array);
        g_autofree char *size =
                g_strdup_printf("%d (%s)", (int)int_of(about, "size"), text_of(about, "indices"));

        print_line("name", text_of(array, "name"));
        print_line("id", text_of(array, "id"));
        print_line("user", text_of(array, "user"));
        print_state(cli, array);
        print_line("reason", text_of(array, "reason"));
        print_line("jobs", size);
        print_line("", counts);
        print_sweep(array);
        print_sharing(array);
        print_line("framework", text_of(array, "framework"));
        print_spec(array);
        print_time("submitted", array, "submitted_at");
        print_time("finished", array, "finished_at");
        if (*failed)
                printf("\n%s\n", failed);
}

/* Adds the present usage of the members. */
static bool measure(Cli *cli, const char *name, json_t *job, GError **error)
{
        g_autofree char *path = job_path(name, "/members");
        json_t *usage = json_object_get(job, "usage"), *members;
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        members = json_object_get(reply, "items");
        json_object_set(job, "members", members);
        if (json_is_object(usage)) {
                json_object_set_new(usage, "cpu_ms", json_integer(summary_cpu_ms(members)));
                json_object_set_new(usage, "cpu_efficiency", json_null()); /* it is that of ended members */
        }
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Status *status = target;
        g_autofree char *path = job_path(words[0], "");
        g_autoptr(json_t) job = NULL;
        Format format;

        if (!format_parse(cli, status->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &job, error))
                return false;
        if (!is_array(job) && !job_is_final(job) && !measure(cli, words[0], job, error))
                return false;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE)
                format_print(job, format, "name");
        else if (is_array(job))
                print_array(cli, job);
        else
                print_job(cli, job);
        return true;
}

const Verb verb_status = {
        .name = "status",
        .args = "JOB",
        .summary = "Show a job or an array: state, reason, members, times",
        .about =
                "JOB is an id or a name; a name means the newest job of that name. For an array, `sw` is all "
                "of it: the number of its jobs in each state, and the failed ones; `sw[3]` or `sw-3` is one "
                "of its jobs.",
        .options = options,
        .size = sizeof(Status),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
