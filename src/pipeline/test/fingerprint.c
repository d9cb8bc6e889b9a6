/* First fingerprints: what counts in them, and what does not (doc/reference/pipelines.md, "Cache"). */
#include "pipeline/fingerprint.h"

#include <string.h>

#include "pipeline/test/parse.h"

static const char base[] =
        "!name: e1\n"
        "docker_env: py:1\n"
        "fs_options: {main_fs: {name: xd}, extra_fs: [{name: one}, {name: two}]}\n"
        "entry_points:\n"
        "  a: {command: make, artifacts: {output: [data]}}\n"
        "  b: {command: 'fit {{p}} {{data}} {{model}}', deps: a, parameters: {p: 1, q: x}, env: {SEED: 7, N: 2},\n"
        "      artifacts: {input: {data: '{{a.data}}'}, output: [model]}}\n";

/* The base with `from` replaced by `to`. */
typedef struct {
        const char *what, *from, *to;
        const char *run_id;  /* NULL: run-000007 */
        const char *package; /* or NULL */
        bool content;
        bool same;        /* the fingerprint is that of the base */
        const char *part; /* else: the part that differs, or is there in one of the two only */
} Row;

static const Row rows[] = {
        { "C115: order of parameters", "{p: 1, q: x}", "{q: x, p: 1}", .same = true },
        { "C115: order of env", "{SEED: 7, N: 2}", "{N: 2, SEED: 7}", .same = true },
        { "C115: order of mounts", "[{name: one}, {name: two}]", "[{name: two}, {name: one}]",
          .part = "mount extra_fs 1" },
        { "C115: mount path", "{name: two}", "{name: two, mount_path: /two}", .part = "mount extra_fs 2" },
        { "mount read-only", "{name: two}", "{name: two, read_only: true}", .part = "mount extra_fs 2" },
        { "mount sub path", "{name: xd}", "{name: xd, sub_path: s}", .part = "mount main_fs" },
        { "C115: image", "py:1", "py:2", .part = "image" },
        { "C115: parameter", "q: x", "q: y", .part = "parameter q" },
        { "parameter of another type, the same text", "q: x", "q: 'x'", .same = true },
        { "command", "'fit ", "'fat ", .part = "command" },
        { "env", "SEED: 7", "SEED: 8", .part = "env SEED" },
        { "a variable more", "N: 2", "N: 2, M: 3", .part = "env M" },
        { "queue, as env", "N: 2", "N: 2, PF_JOB_QUEUE_NAME: q", .part = "env PF_JOB_QUEUE_NAME" },
        { "an output more", "output: [model]", "output: [model, log]", .part = "output log" },
        { "condition", "deps: a,", "deps: a, condition: '1 < 2',", .same = true },
        { "another run: the path of its input", "", "", .run_id = "run-000008", .part = "input data" },
        { "package", "", "", .package = "abc", .part = "package" },
        { "contents", "", "", .content = true, .part = "fingerprint" },
        { "R-26: an item of a loop", "deps: a,", "deps: a, loop_argument: [5],", .part = "loop item" },
};

static char *text_of(const Row *row)
{
        g_auto(GStrv) parts = *row->from ? g_strsplit(base, row->from, 2) : NULL;

        if (!parts)
                return g_strdup(base);
        g_assert_cmpuint(g_strv_length(parts), ==, 2);
        return g_strconcat(parts[0], row->to, parts[1], NULL);
}

/* The parts of step `b`, and its command for the fingerprint; the caller's. */
static json_t *parts_of(const Row *row, char **ret_command)
{
        g_autofree char *text = text_of(row);
        g_autoptr(Definition) definition = parse_valid(text, NULL);
        const RenderContext context = { .definition = definition,
                                        .run_id = row->run_id ? row->run_id : "run-000007",
                                        .user = "root",
                                        .keep_outputs = true,
                                        .keep_inputs = row->content };
        const RenderDag root = { .component = DEFINITION_ROOT };
        g_autoptr(json_t) item = json_integer(5);
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(GError) error = NULL;
        FingerprintStep step = { .definition = definition,
                                 .component = component_named(definition, "b"),
                                 .user = "root",
                                 .content = row->content,
                                 .package = row->package,
                                 .rendered = &rendered };

        (void)render_instance(&context, &root, step.component, 0, strstr(text, "loop_argument") ? item : NULL,
                              NULL, &rendered, &error);
        g_assert_no_error(error);
        if (ret_command)
                *ret_command = g_strdup(rendered.command);
        return fingerprint_parts(&step);
}

static void test_parts(void)
{
        const Row plain = { "", "", "" };
        g_autoptr(json_t) want = parts_of(&plain, NULL);
        g_autofree char *sum = fingerprint_sum(want);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) got = parts_of(&rows[i], NULL);
                g_autofree char *other = fingerprint_sum(got);

                g_test_message("%s", rows[i].what);
                g_assert_cmpint(strcmp(sum, other) == 0, ==, rows[i].same);
                if (rows[i].part)
                        g_assert_cmpstr(json_string_value(json_object_get(want, rows[i].part)), !=,
                                        json_string_value(json_object_get(got, rows[i].part)));
        }
}

/* System variables and the variables of artifacts are no parts; the paths of other runs are none for contents. */
static void test_not_counted(void)
{
        const Row contents = { "", "", "", .content = true };
        const Row other = { "", "", "", .content = true, .run_id = "run-000008" };
        g_autoptr(json_t) one = parts_of(&contents, NULL), two = parts_of(&other, NULL);
        g_autofree char *sum = fingerprint_sum(one), *same = fingerprint_sum(two);

        g_assert_cmpstr(sum, ==, same);
        g_assert_null(json_object_get(one, "env PF_RUN_ID"));
        g_assert_null(json_object_get(one, "env PF_LOOP_ARGUMENT"));
        g_assert_null(json_object_get(one, "env PF_INPUT_ARTIFACT_DATA"));
        g_assert_null(json_object_get(one, "env PF_OUTPUT_ARTIFACT_MODEL"));
        g_assert_nonnull(json_object_get(one, "env SEED"));
}

/* C116. */
static void test_command(void)
{
        const Row plain = { "", "", "" }, contents = { "", "", "", .content = true };
        g_autofree char *command = NULL, *bare = NULL;

        json_decref(parts_of(&plain, &command));
        json_decref(parts_of(&contents, &bare));
        g_assert_true(
                g_str_has_prefix(command,
                                 "fit 1 /home/paddleflow/storage/mnt/fs-root-xd/.pipeline/run-000007/"));
        g_assert_true(g_str_has_suffix(command, " {{model}}"));
        g_assert_cmpstr(bare, ==, "fit 1 {{data}} {{model}}");
}

static void test_short(void)
{
        g_autoptr(json_t) parts = json_object(), shown = NULL, few = NULL;

        fingerprint_add(parts, "image", "py");
        few = fingerprint_short(parts);
        g_assert_cmpuint(strlen(json_string_value(json_object_get(few, "image"))), ==, 16);
        for (int i = 0; i < FINGERPRINT_SHOWN_MAX; i++) {
                g_autofree char *name = g_strdup_printf("parameter p%d", i);

                fingerprint_add(parts, name, "1");
        }
        shown = fingerprint_short(parts);
        g_assert_cmpuint(json_object_size(shown), ==, 2);
        g_assert_nonnull(json_object_get(shown, "parameter"));
}

/* Parts of `names` files whose names end with `last`. *ret_sum is the caller's. */
static json_t *long_parts(int names, char last, char **ret_sum)
{
        g_autofree char *begin = g_strnfill(20000, 'x');
        g_autoptr(json_t) parts = json_object();

        for (int i = 0; i < names; i++) {
                g_autofree char *name = g_strdup_printf("files of home:/%s%d%c", begin, i, last);

                fingerprint_add(parts, name, "1");
        }
        *ret_sum = fingerprint_sum(parts);
        return fingerprint_short(parts);
}

/* Two names that differ only behind thousands of bytes are two, also where they are shown by their kind. */
static void test_long_names(void)
{
        for (int names = 1; names <= 2; names++) {
                g_autofree char *sum = NULL, *other_sum = NULL;
                g_autoptr(json_t) shown = long_parts(names, 'a', &sum),
                                  other = long_parts(names, 'b', &other_sum);

                g_assert_cmpstr(sum, !=, other_sum);
                g_assert_false(json_equal(shown, other));
                g_assert_cmpint(json_object_get(shown, "files") != NULL, ==, names == 2);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/fingerprint/parts", test_parts);
        g_test_add_func("/pipeline/fingerprint/not-counted", test_not_counted);
        g_test_add_func("/pipeline/fingerprint/command", test_command);
        g_test_add_func("/pipeline/fingerprint/short", test_short);
        g_test_add_func("/pipeline/fingerprint/long-names", test_long_names);
        return g_test_run();
}
