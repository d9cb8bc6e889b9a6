/* paddle run diff: lines that differ, values as they count, artifacts without the id of their run, and what is printed. */
#include "cli/run-diff.h"

#include <string.h>

#include "base/test/quoted.h"
#include "base/test/seed.h"
#include "cli/line-diff.h"
#include "cli/listing.h"

/* ---- lines ---- */

static const struct {
        const char *a, *b, *lines; /* of the difference, joined by '|' */
} texts[] = {
        { "a\nb\n", "a\nb\n", "" },
        { "a\nb", "a\nb\n", "" },
        { "", "a\n", "@@ line 1|+a" },
        { "a\nb\nc\n", "a\nx\nc\n", "@@ line 1| a|-b|+x| c" },
        { "a\nb\nc\nd\ne\nf\ng\n", "a\nB\nc\nd\ne\nF\ng\n", "@@ line 1| a|-b|+B| c|@@ line 5| e|-f|+F| g" },
        { "a\nb\nc\nd\n", "a\nB\nc\nD\n", "@@ line 1| a|-b|+B| c|-d|+D" },
        { "a\nb\nc\n", "b\nc\nd\n", "@@ line 1|-a| b| c|+d" },
        { "x\ny\n", "p\nq\n", "@@ line 1|-x|-y|+p|+q" },
        { "1\n2\n3\n4\n", "1\n4\n", "@@ line 1| 1|-2|-3| 4" },
};

static void test_lines(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(GPtrArray) lines = line_diff(texts[i].a, texts[i].b);
                g_autofree char *joined = NULL;

                g_ptr_array_add(lines, NULL);
                joined = g_strjoinv("|", (char **)lines->pdata);
                g_assert_cmpstr(joined, ==, texts[i].lines);
        }
}

/* How many lines of one letter differ at least, by a naive search. */
static guint fewest(const char *a, const char *b)
{
        if (!*a || !*b)
                return (guint)(strlen(a) + strlen(b)) / 2;
        if (*a == *b)
                return fewest(a + 2, b + 2);
        return 1 + MIN(fewest(a + 2, b), fewest(a, b + 2));
}

static void test_random_lines(void)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        for (int round = 0; round < 2000; round++) {
                char a[2 * 7 + 1] = "", b[2 * 7 + 1] = "";
                g_autoptr(GPtrArray) lines = NULL;
                gint64 n = 0, balance = 0;

                for (int i = g_rand_int_range(rand, 0, 8); i > 0; i--)
                        g_strlcat(a,
                                  (const char *const[]){ "a\n", "b\n", "c\n" }[g_rand_int_range(rand, 0, 3)],
                                  sizeof a);
                for (int i = g_rand_int_range(rand, 0, 8); i > 0; i--)
                        g_strlcat(b,
                                  (const char *const[]){ "a\n", "b\n", "c\n" }[g_rand_int_range(rand, 0, 3)],
                                  sizeof b);
                lines = line_diff(a, b);
                for (guint i = 0; i < lines->len; i++) {
                        char sign = *(const char *)lines->pdata[i];

                        n += sign == '-' || sign == '+';
                        balance += sign == '+' ? 1 : sign == '-' ? -1 : 0;
                }
                g_assert_cmpint(n, ==, fewest(a, b));
                g_assert_cmpint(balance, ==, ((gint64)strlen(b) - (gint64)strlen(a)) / 2);
        }
}

/* Two changes far apart in a long text. */
static void test_long_text(void)
{
        g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);
        g_autoptr(GPtrArray) lines = NULL;
        g_autofree char *joined = NULL;

        for (int i = 1; i <= 100000; i++) {
                g_string_append_printf(a, "%d\n", i);
                g_string_append_printf(b, "%d\n", i == 7 || i == 99990 ? -i : i);
        }
        lines = line_diff(a->str, b->str);
        g_ptr_array_add(lines, NULL);
        joined = g_strjoinv("|", (char **)lines->pdata);
        g_assert_cmpstr(joined, ==, "@@ line 6| 6|-7|+-7| 8|@@ line 99989| 99989|-99990|+-99990| 99991");
}

/* Too many lines to be compared one by one are replaced as a whole. */
static void test_many_lines(void)
{
        g_autoptr(GString) a = g_string_new("first\n"), b = g_string_new("first\n");
        g_autoptr(GPtrArray) lines = NULL;

        for (int i = 0; i < 5000; i++) {
                g_string_append_printf(a, "%d\n", i);
                g_string_append_printf(b, "%d\n", i + 2500);
        }
        lines = line_diff(a->str, b->str);
        g_assert_cmpuint(lines->len, ==, 2 + 2 * 5000);
}

/* ---- runs ---- */

#define DEFINITION(head, n, x)                                                                               \
        "{'definition':'name: p\\n" head "entry_points:\\n  a: {command: c, parameters: {n: " n              \
        "}, env: {X: " x "}}\\n  b: {command: c, deps: a, parameters: {m: \\'{{a.n}}\\'}}\\n','request':{"
#define STEP(path, state, end)                                                                               \
        "{'path':'" path "','type':'step','state':'" state "','loop':false,'count':1,'states':{'" state      \
        "':1},'kept':0,'started_at':'2026-03-01T10:00:00.000Z','finished_at':'2026-03-01T10:" end ".000Z'}"
#define ARTIFACT(run, path)                                                                                  \
        "{'name':'o','filesystem':'home','user':'ann','path':'.pipeline/" run "/" path "'}"

typedef struct {
        const char *run, *definition, *steps, *artifacts;
} Text;

static const Text first = {
        "{'id':'aaaa','name':'p','user':'ann','state':'succeeded','created_at':'2026-03-01T10:00:00.000Z','finished_at':'2026-03-01T10:01:10.000Z'}",
        DEFINITION("", "1", "one") "'package':'0123456789abcdef','parameters':{}}}",
        "{'items':[" STEP("a", "succeeded", "00:10") "," STEP("b", "succeeded", "01:00") "],'partial':false}",
        "[" ARTIFACT("aaaa", "x") "," ARTIFACT("aaaa", "y") "]",
};

static const Text second = {
        "{'id':'bbbb','name':'p','user':'ann','state':'failed','created_at':'2026-03-01T10:00:00.000Z','finished_at':'2026-03-01T10:00:20.000Z'}",
        DEFINITION("parallelism: 3\\n", "1", "two") "'package':'0123456789abcdef','parameters':{'a.n':7}}}",
        "{'items':[" STEP("a", "succeeded", "00:20") "," STEP("b", "failed", "00:20") "],'partial':false}",
        "[" ARTIFACT("bbbb", "x") "]",
};

typedef struct {
        json_t *run, *definition, *steps, *artifacts;
} Parsed;

static void parsed_init(Parsed *parsed, const Text *text)
{
        *parsed = (Parsed){ json_of(text->run), json_of(text->definition), json_of(text->steps),
                            json_of(text->artifacts) };
}

static void parsed_clear(Parsed *parsed)
{
        json_decref(parsed->run);
        json_decref(parsed->definition);
        json_decref(parsed->steps);
        json_decref(parsed->artifacts);
}

static json_t *diff_of(const Text *a, const Text *b)
{
        Parsed left, right;
        json_t *diff;

        parsed_init(&left, a);
        parsed_init(&right, b);
        diff = run_diff(&(RunSide){ left.run, left.definition, left.steps, left.artifacts },
                        &(RunSide){ right.run, right.definition, right.steps, right.artifacts });
        parsed_clear(&left);
        parsed_clear(&right);
        return diff;
}

static char *print(const json_t *diff, bool all)
{
        const Terminal terminal = { .width = 80 };
        g_autofree char *text = NULL;
        char *copy;
        gsize len;
        FILE *to = open_memstream(&text, &len);

        run_diff_print(diff, &terminal, all, to);
        fclose(to);
        copy = g_strdup(text);
        free(g_steal_pointer(&text)); /* of the C library */
        return copy;
}

/* A retry or the cache took the file of the other run; the one of a third run may be the same, which is compared. */
static void test_files_of_other_runs(void)
{
        const Text taken = { second.run, second.definition, second.steps,
                             "[" ARTIFACT("aaaa", "x") "," ARTIFACT("cccc", "y") "]" };
        g_autoptr(json_t) diff = diff_of(&first, &taken);
        const json_t *list = json_object_get(diff, "artifacts"), *x = json_array_get(list, 0),
                     *y = json_array_get(list, 1);

        g_autofree char *lines = print(diff, false);

        g_assert_cmpuint(json_array_size(list), ==, 2);
        g_assert_cmpstr(text_of(x, "in"), ==, "both");
        g_assert_true(json_is_false(json_object_get(x, "differs")));
        g_assert_cmpstr(text_of(y, "in"), ==, "both");
        g_assert_cmpstr(text_of(y, "path_b"), ==, ".pipeline/cccc/y");
        g_assert_true(json_is_null(json_object_get(y, "differs")));
        g_assert_nonnull(strstr(lines, "1 artifact of both runs: the contents were not compared\n"));
        g_assert_null(strstr(lines, "only in"));
}

static void test_different(void)
{
        g_autoptr(json_t) diff = diff_of(&first, &second);
        json_t *artifact = json_array_get(json_object_get(diff, "artifacts"), 0);
        g_autofree char *lines = NULL;

        g_assert_cmpstr(text_of(artifact, "path"), ==, ".pipeline/RUN/x");
        g_assert_cmpstr(text_of(artifact, "path_a"), ==, ".pipeline/aaaa/x");
        g_assert_cmpstr(text_of(artifact, "path_b"), ==, ".pipeline/bbbb/x");
        json_object_set_new(artifact, "differs", json_true());
        run_diff_settle(diff);
        lines = print(diff, false);
        g_assert_cmpstr(lines, ==,
                        "A  p (aaaa)  succeeded  1m 10s\n"
                        "B  p (bbbb)  failed  20.0 s\n"
                        "different: definition, parameters, environment, settings, artifacts, states\n"
                        "\n"
                        "definition\n"
                        "  @@ line 1\n"
                        "   name: p\n"
                        "  +parallelism: 3\n"
                        "   entry_points:\n"
                        "  -  a: {command: c, parameters: {n: 1}, env: {X: one}}\n"
                        "  +  a: {command: c, parameters: {n: 1}, env: {X: two}}\n"
                        "     b: {command: c, deps: a, parameters: {m: \"{{a.n}}\"}}\n"
                        "\n"
                        "parameters\n"
                        "  NAME  A  B\n"
                        "  a.n   1  7\n"
                        "\n"
                        "environment\n"
                        "  NAME  A    B\n"
                        "  a.X   one  two\n"
                        "\n"
                        "settings\n"
                        "  NAME         A   B\n"
                        "  parallelism  10  3\n"
                        "\n"
                        "artifacts\n"
                        "  differs    .pipeline/RUN/x\n"
                        "  only in A  .pipeline/RUN/y\n"
                        "\n"
                        "steps\n"
                        "  STEP  A                  B                  TIME B/A\n"
                        "  a     succeeded, 10.0 s  succeeded, 20.0 s      2.00\n"
                        "  b     succeeded, 1m 00s  failed, 20.0 s         0.33\n");
}

/* Packages are compared by whoever can ask for their files. A variable of the name "package" is none. */
static void test_packages(void)
{
        g_autofree char *hash_a = g_strnfill(64, 'a'), *hash_b = g_strnfill(64, 'b');
        g_autofree char
                *one = g_strdup_printf(
                        "{'definition':'name: p\\nentry_points: {a: {command: c, env: {package: x}}}\\n',"
                        "'request':{'package':'%s'}}",
                        hash_a),
                *two = g_strdup_printf(
                        "{'definition':'name: p\\nentry_points: {a: {command: c, env: {package: y}}}\\n',"
                        "'request':{'package':'%s'}}",
                        hash_b);
        const Text left = { first.run, one, first.steps, first.artifacts },
                   right = { first.run, two, first.steps, first.artifacts };
        g_autoptr(json_t) diff = diff_of(&left, &right);
        const json_t *packages = json_object_get(diff, "packages");
        json_t *package = json_array_get(packages, 0);
        g_autofree char *unknown = print(diff, false), *lines = NULL, *all = NULL;

        g_assert_cmpuint(json_array_size(packages), ==, 1);
        g_assert_cmpstr(text_of(package, "path"), ==, "");
        g_assert_cmpstr(text_of(package, "a"), ==, hash_a);
        g_assert_cmpstr(text_of(package, "b"), ==, hash_b);
        g_assert_nonnull(strstr(unknown, "1 other package: the files were not compared\n"));
        json_object_set_new(
                package, "files",
                json_of("[{'path':'fit.py','change':'differs'},{'path':'\\u001b[1m','change':'new'}]"));
        json_object_set_new(package, "more", json_integer(7));
        lines = print(diff, false);
        all = print(diff, true);
        g_assert_nonnull(strstr(lines, "  package    aaaaaaaaaaaa  bbbbbbbbbbbb\n"));
        g_assert_nonnull(strstr(lines, "\nfiles of the package\n"
                                       "  differs    fit.py\n"
                                       "  only in B  ?[1m\n"
                                       "  ... 7 more files; --all shows them\n"));
        g_assert_nonnull(strstr(all, "  ... 7 more files\n"));
        g_assert_nonnull(strstr(all, hash_a));
}

/* A step that the cache gave has no time to compare. */
static void test_cached(void)
{
        Text cached = first;
        g_autoptr(json_t) diff = NULL;
        g_autofree char *lines = NULL;

        cached.steps = "{'items':[" STEP(
                "a", "succeeded",
                "00:10") ",{'path':'b','type':'step','state':'succeeded','loop':false,"
                         "'count':1,'states':{'succeeded':1},'kept':0,'cached':1,'started_at':'2026-03-01T10:00:10.000Z',"
                         "'finished_at':'2026-03-01T10:00:10.000Z'}],'partial':false}";
        diff = diff_of(&first, &cached);
        lines = print(diff, false);
        g_assert_true(json_is_true(json_object_get(diff, "same")));
        g_assert_nonnull(strstr(lines, "  STEP  A                  B                          TIME B/A\n"
                                       "  b     succeeded, 1m 00s  succeeded, from the cache         -\n"
                                       "  1 other component: the same states"));
}

static void test_same(void)
{
        g_autoptr(json_t) diff = diff_of(&first, &first);
        g_autofree char *lines = print(diff, false), *all = print(diff, true);

        g_assert_true(json_is_true(json_object_get(diff, "same")));
        g_assert_cmpstr(lines, ==,
                        "A  p (aaaa)  succeeded  1m 10s\n"
                        "B  p (aaaa)  succeeded  1m 10s\n"
                        "the same: definition, parameters, environment, settings, artifacts, states\n"
                        "\n"
                        "2 components: the same states, and about the same time; --all shows them\n");
        g_assert_nonnull(strstr(all, "  a     succeeded, 10.0 s  succeeded, 10.0 s      1.00\n"));
}

/* What a user changed at a pause counts, in a loop for its item; the other run has the value of the definition. */
static void test_changed(void)
{
        static const char definition[] =
                "{'definition':'name: p\\nentry_points:\\n  a: {command: c, parameters: {n: 1, m: 2}}\\n"
                "  d:\\n    loop_argument: [1, 2]\\n    entry_points:\\n      x: {command: c, parameters: {r: 0.5}}\\n"
                "','request':{}}";
        static const char steps[] = "{'items':[],'partial':false}";
        const Text plain = { "{'id':'aaaa','changed_parameters':{}}", definition, steps, "[]" },
                   changed = { "{'id':'bbbb','changed_parameters':{'a':{'n':7},'d-1.x':{'r':0.1}}}",
                               definition, steps, "[]" },
                   other = { "{'id':'cccc','changed_parameters':{'a':{'n':8,'m':3},'d-1.x':{'r':0.1}}}",
                             definition, steps, "[]" };
        g_autoptr(json_t) first_diff = diff_of(&plain, &changed), second_diff = diff_of(&changed, &other);
        g_autoptr(json_t) same = diff_of(&changed, &changed);
        g_autoptr(json_t) first_want = json_of("[{'path':'a','name':'n','a':'1','b':'7'},"
                                               " {'path':'d-1.x','name':'r','a':'0.5','b':'0.1'}]");
        g_autoptr(json_t) second_want = json_of("[{'path':'a','name':'n','a':'7','b':'8'},"
                                                " {'path':'a','name':'m','a':'2','b':'3'}]");

        g_assert_true(json_equal(json_object_get(first_diff, "parameters"), first_want));
        g_assert_true(json_equal(json_object_get(second_diff, "parameters"), second_want));
        g_assert_true(json_is_true(json_object_get(same, "same")));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/run-diff/lines", test_lines);
        g_test_add_func("/cli/run-diff/random lines", test_random_lines);
        g_test_add_func("/cli/run-diff/long text", test_long_text);
        g_test_add_func("/cli/run-diff/many lines", test_many_lines);
        g_test_add_func("/cli/run-diff/different", test_different);
        g_test_add_func("/cli/run-diff/files-of-other-runs", test_files_of_other_runs);
        g_test_add_func("/cli/run-diff/packages", test_packages);
        g_test_add_func("/cli/run-diff/cached", test_cached);
        g_test_add_func("/cli/run-diff/same", test_same);
        g_test_add_func("/cli/run-diff/changed", test_changed);
        return g_test_run();
}
