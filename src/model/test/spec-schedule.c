/* The scheduling fields of a specification: parsed, checked, formatted, stored. Expected forms are those of
 * doc/guide/rest.md. */
#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "model/spec.h"

/* `a` as "a": quotes in C strings are hard to read. */
static json_t *json(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "`", '"');
        g_autoptr(GError) error = NULL;
        json_t *value = json_parse(quoted, strlen(quoted), &error);

        g_assert_no_error(error);
        return value;
}

static Spec *parse(const char *members, GError **error)
{
        g_autofree char *text = g_strdup_printf("{`command`:`x`%s%s}", *members ? "," : "", members);
        g_autoptr(json_t) object = json(text);

        return spec_parse(object, error);
}

static Spec *spec(const char *members)
{
        g_autoptr(GError) error = NULL;
        Spec *s = parse(members, &error);

        g_assert_no_error(error);
        return s;
}

/* Fields and their canonical form; a field that is not shown has its default. */
static void test_forms(void)
{
        static const struct {
                const char *members, *name, *shown; /* NULL: left out */
        } cases[] = {
                { "`queue`:`q1`", "queue", "`q1`" },
                { "`queue`:null", "queue", NULL },
                { "", "queue", NULL },
                { "`priority`:17", "priority", "17" },
                { "`priority`:-1000", "priority", "-1000" },
                { "`priority`:`high`", "priority", "100" },
                { "`priority`:`very-low`", "priority", "-200" },
                { "`priority`:`VERY_HIGH`", "priority", "200" },
                { "`priority`:`-5`", "priority", "-5" },
                { "`priority`:`normal`", "priority", NULL },
                { "`labels`:{`b`:`1`,`a-b`:``,`a`:`=2`}", "labels", "{`a`:`=2`,`a-b`:``,`b`:`1`}" },
                { "`labels`:{}", "labels", NULL },
                { "`annotations`:{`paddleflow/job-ttl-seconds`:`1`}", "annotations",
                  "{`paddleflow/job-ttl-seconds`:`1`}" },
                { "`node_labels`:{`zone`:`a`}", "node_labels", "{`zone`:`a`}" },
                { "`topology`:`rack`", "topology", "`rack`" },
                { "`topology`:`rack`,`topology_required`:true", "topology_required", "true" },
                { "`topology`:`rack`", "topology_required", NULL },
                { "`array`:`0-999%50`", "array", "`0-999%50`" },
                { "`array`:`9,7,8,1,8`", "array", "`1,7-9`" },
                { "`array`:`5`", "array", "`5`" },
                { "`after`:[`ok:0123456789abcdef`,`any:first`,`fail:b`]", "after",
                  "[`ok:0123456789abcdef`,`any:first`,`fail:b`]" },
                { "`after`:[]", "after", NULL },
                { "`begin`:`2026-03-01T10:00:00Z`", "begin", "`2026-03-01T10:00:00.000Z`" },
                { "`begin`:`2026-03-01T10:00:00.123+01:00`", "begin", "`2026-03-01T09:00:00.123Z`" },
                { "`begin`:1772359200123", "begin", "`2026-03-01T10:00:00.123Z`" },
                { "`begin`:0", "begin", NULL },
                { "`signal`:`USR1@60s`", "signal", "`USR1@60s`" },
                { "`signal`:`SIGUSR2@2m`", "signal", "`USR2@120s`" },
                { "`signal`:`TERM`", "signal", "`TERM@60s`" },
                { "`signal`:`INT@1500ms`", "signal", "`INT@1500ms`" },
                { "`preemptable`:false", "preemptable", "false" },
                { "`preemptable`:true", "preemptable", NULL },
                { "`on_preempt`:`end`", "on_preempt", "`end`" },
                { "`on_preempt`:`requeue`", "on_preempt", NULL },
                { "`namespace`:`team-a`", "namespace", "`team-a`" },
                { "`origin`:{`z`:[1,{`y`:null}],`a`:`b`}", "origin", "{`z`:[1,{`y`:null}],`a`:`b`}" },
                { "`origin`:null", "origin", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Spec) s = spec(cases[i].members), again = NULL;
                g_autoptr(json_t) shown = spec_format(s), second = NULL;
                g_autoptr(GError) error = NULL;
                g_autoptr(JsonText) text = NULL;
                const json_t *member = json_object_get(shown, cases[i].name);

                g_test_message("%s", cases[i].members);
                text = member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
                if (text)
                        g_strdelimit(text, "\"", '`');
                g_assert_cmpstr(text, ==, cases[i].shown);
                again = spec_parse(shown, &error);
                g_assert_no_error(error);
                second = spec_format(again);
                g_assert_true(json_equal(shown, second));
        }
}

static void test_values(void)
{
        g_autoptr(Spec) plain = spec("");
        g_autoptr(Spec) s = spec("`signal`:`USR1@90s`,`begin`:5,`preemptable`:false,`on_preempt`:`end`,"
                                 "`labels`:{`a`:`1`},`priority`:7");

        g_assert_cmpint(s->warn_signal, ==, SIGUSR1);
        g_assert_cmpint(s->warn_ms, ==, 90000);
        g_assert_cmpint(s->begin, ==, 5);
        g_assert_true(s->rigid && s->end_evicted);
        g_assert_cmpstr(labels_get(s->labels, "a"), ==, "1");
        g_assert_cmpint(s->priority, ==, 7);
        g_assert_true(!plain->rigid && !plain->end_evicted && !plain->warn_signal && !plain->begin);
        g_assert_null(plain->labels);
        g_assert_null(plain->queue);
}

static void test_refused(void)
{
        static const struct {
                const char *members, *says;
        } cases[] = {
                { "`queue`:`Q`", "queue: 'Q' is not a name" },
                { "`queue`:5", "queue must be a string" },
                { "`priority`:1001",
                  "priority: '1001' is neither a whole number from -1000 to 1000 nor one of" },
                { "`priority`:`urgent`", "priority: 'urgent' is neither" },
                { "`priority`:1.5", "priority: '1.5' is neither" },
                { "`priority`:`--5`", "priority: '--5' is neither" },
                { "`labels`:[]", "labels must be an object of strings" },
                { "`labels`:{`a`:1}", "labels: the value of 'a' must be a string" },
                { "`labels`:{``:`1`}", "labels: '' is not a key" },
                { "`annotations`:{`a b`:`1`}", "annotations: 'a b' is not a key" },
                { "`node_labels`:{`a=b`:`1`}", "node_labels: 'a=b' is not a key" },
                { "`topology`:``", "topology: '' is not a key" },
                { "`topology_required`:true", "topology_required is true, but topology is missing" },
                { "`array`:``", "array: '' is neither an index" },
                { "`array`:`1-`", "array: '1-' is neither" },
                { "`array`:`9-1`", "array: '9-1' runs backwards\nThe smaller index comes first: 1-9." },
                { "`array`:`-1`", "array: '-1' is neither" },
                { "`array`:`1,,2`", "array: '' is neither" },
                { "`array`:`1%`", "array: '' after '%' is not a number of jobs" },
                { "`array`:`1%0`", "array: '0' after '%' is not a number of jobs" },
                { "`array`:`1%5%6`", "array: '5%6' after '%' is not a number of jobs" },
                { "`array`:`1000001`", "array: '1000001' is neither an index from 0 to 1000000" },
                { "`array`:`0-10000`", "array: '0-10000' has more than 10000 jobs" },
                { "`array`:`99999999999999999999`", "array: '99999999999999999999' is neither" },
                { "`array`:[1]", "array must be a string" },
                { "`after`:`ok:x`", "after must be a list" },
                { "`after`:[`x`]", "after[0]: 'x' is not ok:JOB, any:JOB or fail:JOB" },
                { "`after`:[`ok:a`,`done:b`]", "after[1]: 'done:b' is not" },
                { "`after`:[`ok:`]", "after[0]: 'ok:' is not" },
                { "`after`:[1]", "after[0] must be a string" },
                { "`begin`:`tomorrow`", "begin: '\"tomorrow\"' is neither a time" },
                { "`begin`:`2026-03-01T10:00:00`", "begin: " },
                { "`begin`:-1", "begin: '-1' is neither" },
                { "`begin`:253402300800000", "begin: '253402300800000' is neither" },
                { "`begin`:true", "begin: 'true' is neither" },
                { "`signal`:`KILL@60s`", "signal: 'KILL@60s' is not NAME@TIME" },
                { "`signal`:`USR1@`", "signal: 'USR1@' is not" },
                { "`signal`:`USR1@2d`", "signal: 'USR1@2d' is not" },
                { "`signal`:``", "signal: '' is not" },
                { "`signal`:`USR1@60s`,`time_limit`:60",
                  "signal: 'USR1@60s' would be sent before the start" },
                { "`preemptable`:1", "preemptable must be true or false" },
                { "`on_preempt`:`die`", "on_preempt: 'die' is not one of requeue, end" },
                { "`namespace`:`A`", "namespace: 'A' is not a name" },
                { "`origin`:[]", "origin must be an object" },
                { "`colour`:1", "'colour' is not a known field" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_test_message("%s", cases[i].members);
                g_assert_null(parse(cases[i].members, &error));
                g_assert_true(err_is(error, ERR_INVALID));
                if (!g_str_has_prefix(error->message, cases[i].says))
                        g_assert_cmpstr(error->message, ==, cases[i].says);
        }
}

static void test_bounds(void)
{
        g_autoptr(json_t) object = json("{`command`:`x`}");
        json_t *labels = json_object(), *after = json_array(), *origin = json_object();
        g_autofree char *large = g_strnfill(SPEC_ORIGIN_MAX, 'x');
        g_autoptr(GError) many = NULL, more = NULL, wide = NULL;

        for (int i = 0; i <= SPEC_LABELS_MAX; i++) {
                g_autofree char *key = g_strdup_printf("k%d", i);

                json_object_set_new(labels, key, json_string(""));
                json_array_append_new(after, json_string("ok:a"));
        }
        json_object_set_new(object, "labels", labels);
        g_assert_null(spec_parse(object, &many));
        g_assert_cmpstr(many->message, ==, "labels has 101 members, more than 100");
        json_object_del(labels, "k0");
        json_object_set_new(object, "after", after);
        g_assert_null(spec_parse(object, &more));
        g_assert_cmpstr(more->message, ==, "after has more than 100 items");
        json_object_del(object, "after");
        json_object_set_new(origin, "x", json_string(large));
        json_object_set_new(object, "origin", origin);
        g_assert_null(spec_parse(object, &wide));
        g_assert_cmpstr(wide->message, ==, "origin is longer than 65536 bytes");
}

/* {"a":{"a":...}}, so many objects in each other. */
static json_t *nested(int depth)
{
        json_t *value = json_object();

        while (--depth > 0)
                value = json_pack("{s:o}", "a", value);
        return value;
}

/* It is shown and stored deeper than it came, and must be readable there. What an older version stored still is. */
static void test_deep_origin(void)
{
        g_autoptr(json_t) object = json("{`command`:`x`}"), deep = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) fits = NULL, stored = NULL;

        json_object_set_new(object, "origin", nested(JSON_DEPTH_MAX - 7));
        g_assert_null(spec_parse(object, &error));
        g_assert_cmpstr(error->message, ==, "origin is nested deeper than 56");
        json_object_set_new(object, "origin", nested(JSON_DEPTH_MAX - 8));
        fits = spec_parse(object, NULL);
        g_assert_nonnull(fits);
        deep = spec_format(fits);
        g_assert_true(json_equal(json_object_get(deep, "origin"), json_object_get(object, "origin")));
        json_object_set_new(object, "origin", nested(JSON_DEPTH_MAX + 1));
        stored = spec_unpack(object, NULL);
        g_assert_nonnull(stored);
        json_decref(deep);
        deep = spec_format(stored);
        g_assert_true(json_equal(json_object_get(deep, "origin"), json_object_get(object, "origin")));
}

/* ---- roles ---- */

static void test_elastic(void)
{
        static const struct {
                const char *members;
                int min; /* of all; -1: refused */
        } cases[] = {
                { "`roles`:[{`name`:`worker`,`replicas`:10,`min`:5}]", 5 },
                { "`roles`:[{`name`:`worker`,`replicas`:10}]", 10 },
                { "`roles`:[{`name`:`worker`,`replicas`:10,`min`:10}]", 10 },
                { "`roles`:[{`name`:`worker`,`replicas`:10,`min`:11}]", -1 },
                { "`roles`:[{`name`:`worker`,`replicas`:10,`min`:0}]", -1 },
                { "`roles`:[{`name`:`pserver`,`replicas`:2},{`name`:`trainer`,`replicas`:8,`min`:2}]", 4 },
                { "`roles`:[{`name`:`pserver`,`replicas`:2,`min`:1},{`name`:`trainer`,`replicas`:8}]", -1 },
                { "`roles`:[{`name`:`pserver`,`replicas`:2,`min`:2},{`name`:`trainer`,`replicas`:8}]", 10 },
                { "`framework`:`pytorch`,`roles`:[{`name`:`master`},{`name`:`worker`,`replicas`:3,`min`:1}]",
                  2 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) s = parse(cases[i].members, &error);
                Resources total = { .cpu_milli = 1000000 }, all, min;

                g_test_message("%s", cases[i].members);
                g_assert_cmpint(s != NULL, ==, cases[i].min >= 0);
                if (!s) {
                        g_assert_true(err_is(error, ERR_INVALID) && strstr(error->message, ".min: "));
                        continue;
                }
                g_assert_cmpint(spec_members_min(s), ==, cases[i].min);
                g_assert_true(spec_wants(s, &total, &all) && spec_wants_min(s, &total, &min));
                g_assert_cmpint(all.cpu_milli, ==, 1000 * spec_members(s));
                g_assert_cmpint(min.cpu_milli, ==, 1000 * cases[i].min);
        }
}

static void test_role_resources(void)
{
        static const struct {
                const char *role, *says; /* NULL: accepted, as 2 cores, 1Gi, 3 GPUs and 4Gi of storage */
        } cases[] = {
                { "`cpu`:2,`memory`:`1Gi`,`gpus`:3,`resources`:{`storage`:`4Gi`}", NULL },
                { "`resources`:{`cpu`:`2`,`memory`:`1Gi`,`nvidia.com/gpu`:3,`storage`:`4Gi`}", NULL },
                { "`cpu`:2,`resources`:{`scalarResources`:{`gpu`:`3`},`mem`:`1Gi`,`storage`:`4Gi`}", NULL },
                { "`cpu`:2,`resources`:{`cpu`:2}",
                  "roles[0].resources sets cpu, which roles[0].cpu sets, too" },
                { "`resources`:{`no/such`:1}",
                  "roles[0].resources.no/such: 'no/such' is not a kind of resource" },
                { "`resources`:{`gpu`:1025}", "roles[0].resources: 1025 GPUs are more than 1024" },
                { "`resources`:[]", "roles[0].resources must be an object" },
                { "`flavour`:5", "roles[0].flavour must be a string" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *members = g_strdup_printf("`roles`:[{`name`:`worker`,%s}]", cases[i].role);
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) s = parse(members, &error), again = NULL;
                g_autoptr(json_t) shown = NULL;

                g_test_message("%s", members);
                if (cases[i].says) {
                        g_assert_null(s);
                        g_assert_true(g_str_has_prefix(error->message, cases[i].says));
                        continue;
                }
                g_assert_no_error(error);
                g_assert_true(resources_equal(&s->roles[0].each, &(Resources){ .cpu_milli = 2000,
                                                                               .memory = 1 << 30,
                                                                               .gpus = 3,
                                                                               .storage = 4ll << 30 }));
                shown = spec_format(s);
                again = spec_parse(shown, NULL);
                g_assert_true(resources_equal(&s->roles[0].each, &again->roles[0].each));
        }
}

static void test_flavour(void)
{
        g_autoptr(Spec) s = spec("`roles`:[{`name`:`worker`,`flavour`:`flavour1`,`cpu`:1}]");
        g_autoptr(json_t) shown = spec_format(s);
        const json_t *role = json_array_get(json_object_get(shown, "roles"), 0);

        g_assert_cmpstr(s->roles[0].flavour, ==, "flavour1");
        g_assert_cmpstr(json_string_value(json_object_get(role, "flavour")), ==, "flavour1");
        g_assert_null(json_object_get(role, "min"));
        g_assert_null(json_object_get(role, "resources"));
}

/* A stored job may request a kind that no machine and no queue has any more. */
static void test_unpack(void)
{
        g_autoptr(json_t) object =
                json("{`command`:`x`,`roles`:[{`name`:`worker`,`resources`:{`gone.io/x`:2}}]}");
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) refused = spec_parse(object, NULL), s = spec_unpack(object, &error);

        g_assert_null(refused);
        g_assert_no_error(error);
        g_assert_cmpint(s->roles[0].each.amount[resource_find("gone.io/x")], ==, 2);
}

/* ---- parts ---- */

static void test_array(void)
{
        static const struct {
                const char *text, *indices;
                int max;
        } cases[] = {
                { "0-3%2", "0 1 2 3", 2 },       { "7", "7", 0 },    { "5,3-4,4", "3 4 5", 0 },
                { "1000000,0", "0 1000000", 0 }, { "0007", "7", 0 }, { "0-2,1%10000", "0 1 2", 10000 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GArray) indices = NULL;
                g_autoptr(GError) error = NULL;
                g_autoptr(GString) text = g_string_new(NULL);
                int max = -1;

                g_assert_true(spec_array(cases[i].text, &indices, &max, &error));
                for (guint k = 0; k < indices->len; k++)
                        g_string_append_printf(text, "%s%d", k ? " " : "", g_array_index(indices, int, k));
                g_assert_cmpstr(text->str, ==, cases[i].indices);
                g_assert_cmpint(max, ==, cases[i].max);
        }
        {
                g_autoptr(GArray) indices = NULL;
                int max;

                g_assert_true(spec_array("0-9999", &indices, &max, NULL));
                g_assert_cmpint(indices->len, ==, SPEC_ARRAY_MAX);
        }
}

static void test_after(void)
{
        AfterKind kind;
        const char *job = NULL;

        g_assert_true(after_parse("ok:a1", &kind, &job, NULL) && kind == AFTER_OK && strcmp(job, "a1") == 0);
        g_assert_true(after_parse("any:a1", &kind, &job, NULL) && kind == AFTER_ANY);
        g_assert_true(after_parse("fail:a1", &kind, &job, NULL) && kind == AFTER_FAIL);
        g_assert_false(after_parse("OK:a1", &kind, &job, NULL));
        g_assert_false(after_parse(":a1", &kind, &job, NULL));
}

static void test_priority_words(void)
{
        static const struct {
                int priority;
                const char *word;
        } cases[] = {
                { -1000, "VERY_LOW" }, { -200, "VERY_LOW" },  { -100, "LOW" },  { -51, "LOW" },
                { -50, "NORMAL" },     { 0, "NORMAL" },       { 50, "NORMAL" }, { 51, "HIGH" },
                { 100, "HIGH" },       { 149, "HIGH" },       { 150, "HIGH" },  { 151, "VERY_HIGH" },
                { 200, "VERY_HIGH" },  { 1000, "VERY_HIGH" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpstr(priority_word(cases[i].priority), ==, cases[i].word);
}

static void test_labels(void)
{
        g_autoptr(json_t) object = json("{`b`:`2`,`a`:`1`}"), shown = NULL;
        g_auto(GStrv) labels = NULL;
        g_auto(GStrv) more = NULL;
        g_auto(GStrv) fewer = NULL;
        g_auto(GStrv) none = NULL;
        g_auto(GStrv) first = NULL;

        g_assert_true(labels_parse("labels", object, &labels, NULL));
        g_assert_cmpstr(labels[0], ==, "a=1");
        g_assert_cmpstr(labels_get(labels, "b"), ==, "2");
        g_assert_null(labels_get(labels, "c"));
        g_assert_null(labels_get(NULL, "c"));
        more = labels_with(labels, "aa", "x=y");
        g_assert_cmpstr(more[1], ==, "aa=x=y");
        fewer = labels_with(labels, "a", NULL);
        g_assert_cmpstr(fewer[0], ==, "b=2");
        none = labels_with(fewer, "b", NULL);
        g_assert_null(none);
        first = labels_with(NULL, "k", "");
        g_assert_cmpstr(first[0], ==, "k=");
        shown = labels_format(labels);
        g_assert_true(json_equal(shown, object));
}

static void test_seed(void)
{
        g_autoptr(json_t) seed = json("{`entry_point`:`x`,`queue`:`q1`}");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = spec_from_cloud_job(seed, &error);
        g_autoptr(Spec) s = spec_parse(object, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(s->queue, ==, "q1");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/spec-schedule/forms", test_forms);
        g_test_add_func("/spec-schedule/values", test_values);
        g_test_add_func("/spec-schedule/refused", test_refused);
        g_test_add_func("/spec-schedule/bounds", test_bounds);
        g_test_add_func("/spec-schedule/deep origin", test_deep_origin);
        g_test_add_func("/spec-schedule/elastic", test_elastic);
        g_test_add_func("/spec-schedule/role-resources", test_role_resources);
        g_test_add_func("/spec-schedule/flavour", test_flavour);
        g_test_add_func("/spec-schedule/unpack", test_unpack);
        g_test_add_func("/spec-schedule/array", test_array);
        g_test_add_func("/spec-schedule/after", test_after);
        g_test_add_func("/spec-schedule/priority-words", test_priority_words);
        g_test_add_func("/spec-schedule/labels", test_labels);
        g_test_add_func("/spec-schedule/seed", test_seed);
        return g_test_run();
}
