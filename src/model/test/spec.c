/* Specifications: accepted ones and their canonical form, every error message, submissions of PaddlePaddle
 * Cloud, requested resources. */
#include "model/spec.h"

#include <string.h>

#include "base/err.h"
#include "model/framework.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static json_t *json(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "`", '"');
        g_autoptr(GError) error = NULL;
        json_t *value = json_parse(quoted, strlen(quoted), &error);

        g_assert_no_error(error);
        return value;
}

static Spec *spec(const char *text)
{
        g_autoptr(json_t) object = json(text);
        g_autoptr(GError) error = NULL;
        Spec *made = spec_parse(object, &error);

        g_assert_no_error(error);
        return made;
}

/* ---- accepted ---- */

static const char *const taken[] = {
        "{`command`:`true`}",
        "{`command`:[`a`,``,`b c`]}",
        "{`name`:`digits`,`framework`:`paddle-ps`,`command`:[`python`,`train.py`],`roles`:[{`name`:`pserver`,"
        "`replicas`:2,"
        "`cpu`:`500m`,`memory`:`1Gi`,`gpus`:0,`env`:{},`command`:null},{`name`:`trainer`,`replicas`:4}],"
        "`env`:{`NUM_PASS`:`5`},`image`:`paddlepaddle/paddle:2.6.2`,`package`:`" HASH
        "`,`package_name`:`demo`,"
        "`input`:`/pfs/local/home/ann/data`,`output`:`/pfs/local/home/ann/out`,`retries`:0,`backoff`:`1s`,"
        "`time_limit`:`2h`,`grace`:`30s`,`on_lost`:`retry`,`use_gpu`:false,`ready`:`listen`}",
        "{`roles`:[{`name`:`trainer`,`replicas`:2,`command`:`x`,`gpus`:1}],`use_gpu`:true}",
        "{`command`:`x`,`env`:{`A`:1,`B`:1.5,`C`:true,`D`:`d=e`,`E`:``}}",
        "{`command`:`x`,`env`:[`A=1`,`B=x=y`,`A=2`]}",
        "{`command`:`x`,`roles`:[{`name`:`worker`,`replicas`:10000,`cpu`:0,`memory`:0}]}",
        "{`command`:`x`,`time_limit`:1.5,`grace`:0,`backoff`:`250ms`,`on_lost`:`fail`,`ready`:`declared`,`"
        "retries`:1000}",
        "{`command`:`x`,`requirements`:`numpy\\nscipy\\n`}",
        "{`command`:`x`,`framework`:`paddle-collective`}",
};

/* The canonical form parses to the same specification, each in one block. */
static void test_round_trip(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(taken); i++) {
                g_autoptr(Spec) first = spec(taken[i]), second = NULL;
                g_autoptr(json_t) a = spec_format(first), b = NULL;
                g_autoptr(GError) error = NULL;

                g_test_message("%s", taken[i]);
                second = spec_parse(a, &error);
                g_assert_no_error(error);
                b = spec_format(second);
                g_assert_true(json_equal(a, b));
        }
}

static void test_defaults(void)
{
        g_autoptr(Spec) s = spec("{`command`:`echo hi`}");
        g_autoptr(json_t) object = spec_format(s);
        g_autofree char *text = json_format(object);

        g_assert_cmpstr(text, ==,
                        "{\"name\":null,\"framework\":\"plain\",\"command\":[\"sh\",\"-c\",\"echo "
                        "hi\"],\"roles\":[{\"name\":"
                        "\"worker\",\"replicas\":1,\"cpu\":null,\"memory\":null,\"gpus\":0,\"env\":{},"
                        "\"command\":null}],"
                        "\"env\":{},\"image\":null,\"package\":null,\"package_name\":null,\"requirements\":"
                        "null,\"input\":null,"
                        "\"output\":null,\"retries\":0,\"backoff\":\"1s\",\"time_limit\":null,\"grace\":"
                        "\"30s\",\"on_lost\":"
                        "\"retry\",\"use_gpu\":false,\"ready\":\"listen\"}");
}

static void test_values(void)
{
        g_autoptr(Spec) s = spec(taken[2]), env = spec(taken[4]), list = spec(taken[5]),
                        times = spec(taken[7]);

        g_assert_cmpstr(s->framework->name, ==, "paddle-ps");
        g_assert_cmpint(s->n_roles, ==, 2);
        g_assert_cmpint(s->roles[0].each.cpu_milli, ==, 500);
        g_assert_cmpint(s->roles[0].each.memory, ==, 1073741824);
        g_assert_cmpint(s->roles[1].each.cpu_milli, ==, -1);
        g_assert_cmpint(spec_members(s), ==, 6);
        g_assert_cmpint(s->time_limit_ms, ==, 7200000);
        g_assert_cmpstr(s->env[0], ==, "NUM_PASS=5");
        g_assert_cmpint(g_strv_length(env->env), ==, 5);
        g_assert_cmpstr(env->env[1], ==, "B=1.5");
        g_assert_cmpstr(env->env[2], ==, "C=true");
        g_assert_cmpstr(list->env[0], ==, "A=2"); /* the later value wins */
        g_assert_cmpstr(list->env[1], ==, "B=x=y");
        g_assert_null(list->env[2]);
        g_assert_true(times->time_limit_ms == 1500 && times->grace_ms == 0 && times->backoff_ms == 250);
        g_assert_true(!times->restart_lost && times->ready_declared && times->retries == 1000);
}

static void test_framework_guess(void)
{
        static const struct {
                const char *roles, *framework, *first;
        } cases[] = {
                { "[{`name`:`pserver`},{`name`:`trainer`}]", "paddle-ps", "pserver" },
                { "[{`name`:`trainer`,`replicas`:2}]", "paddle-collective", "trainer" },
                { "[{`name`:`trainer`}]", "plain", "worker" },
                { "[{`name`:`worker`,`replicas`:3}]", "plain", "worker" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{`command`:`x`,`roles`:%s}", cases[i].roles);
                g_autoptr(Spec) s = spec(text);

                g_assert_cmpstr(s->framework->name, ==, cases[i].framework);
                g_assert_cmpstr(s->roles[0].name, ==, cases[i].first);
        }
}

/* ---- refused ---- */

static const struct {
        const char *text, *says; /* the beginning of the message */
} refused[] = {
        { "[]", "a specification must be a JSON object" },
        { "{}", "command is missing\n" },
        { "{`comand`:`x`}", "'comand' is not a known field\nDid you mean 'command'? The fields are name," },
        { "{`command`:``}", "command is empty\n" },
        { "{`command`:` \\n`}", "command is empty\n" },
        { "{`command`:[]}", "command is empty\n" },
        { "{`command`:[``]}", "command[0] is empty\n" },
        { "{`command`:[`a`,1]}", "command[1] must be a string" },
        { "{`command`:5}", "command must be a string or a list of strings" },
        { "{`command`:`x`,`name`:`a/b`}",
          "name: 'a/b' is not a name of 1 to 63 characters a-z, 0-9 and '-'" },
        { "{`command`:`x`,`name`:`..`}", "name: '..' is not a name" },
        { "{`command`:`x`,`name`:``}", "name: '' is not a name" },
        { "{`command`:`x`,`name`:`-a`}", "name: '-a' is not a name" },
        { "{`command`:`x`,`name`:`Upper`}", "name: 'Upper' is not a name" },
        { "{`command`:`x`,`name`:`a\\u0007b`}", "name: 'a\\007b' is not a name" },
        { "{`command`:`x`,`name`:5}", "name must be a string" },
        { "{`command`:`x`,`framework`:`mxnet`}",
          "framework: 'mxnet' is not one of paddle-ps, paddle-collective, plain" },
        { "{`command`:`x`,`roles`:[]}", "roles is empty\n" },
        { "{`command`:`x`,`roles`:{}}", "roles must be a list" },
        { "{`command`:`x`,`roles`:[1]}", "roles[0] must be an object" },
        { "{`command`:`x`,`roles`:[{}]}", "roles[0].name is missing" },
        { "{`command`:`x`,`roles`:[{`name`:`boss`}]}",
          "roles[0].name: 'boss' is not a role of plain, which has worker" },
        { "{`command`:`x`,`framework`:`plain`,`roles`:[{`name`:`pserver`},{`name`:`worker`}]}",
          "roles[0].name: 'pserver' is not a role of plain" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`},{`name`:`trainer`}]}",
          "roles[1].name: 'trainer' is given twice" },
        { "{`command`:`x`,`roles`:[{`name`:`pserver`},{`name`:`trainer`,`replicas`:-1}]}",
          "roles[1].replicas: '-1' is not a whole number from 0 to 10000" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`replicas`:1000000000}]}",
          "roles[0].replicas: '1000000000' is not a whole number from 0 to 10000" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`replicas`:0}]}",
          "roles: plain needs at least 1 worker" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`replicas`:`2`}]}",
          "roles[0].replicas: '\"2\"' is not a whole number" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`replica`:2}]}",
          "roles[0].'replica' is not a known field" },
        { "{`command`:`x`,`framework`:`paddle-ps`}", "roles: paddle-ps needs at least 1 pserver" },
        { "{`command`:`x`,`roles`:[{`name`:`pserver`}]}", "roles: paddle-ps needs at least 1 trainer" },
        { "{`command`:`x`,`roles`:[{`name`:`pserver`,`replicas`:5001},{`name`:`trainer`,`replicas`:5000}]}",
          "roles: 10001 members in all are more than 10000" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`cpu`:`-1`}]}",
          "roles[0].cpu: '-1' is not a number of cores" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`cpu`:-1}]}",
          "roles[0].cpu: '-1' is not a number of cores" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`cpu`:[]}]}", "roles[0].cpu must be text or a number" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`memory`:`1XB`}]}",
          "roles[0].memory: '1XB' is not an amount of memory" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`replicas`:10,`memory`:`7Ei`}]}",
          "roles: together they ask for more than can be counted" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`gpus`:-1}]}",
          "roles[0].gpus: '-1' is not a whole number from 0 to 1024" },
        { "{`command`:`x`,`use_gpu`:true}", "use_gpu is true, but no role asks for gpus\n" },
        { "{`command`:`x`,`use_gpu`:false,`roles`:[{`name`:`worker`,`gpus`:2}]}",
          "use_gpu is false, but the roles ask for 2 gpus\n" },
        { "{`command`:`x`,`use_gpu`:`yes`}", "use_gpu must be true or false" },
        { "{`command`:`x`,`env`:{`1A`:`x`}}", "env: '1A' is not a variable's name" },
        { "{`command`:`x`,`env`:{`A B`:`x`}}", "env: 'A B' is not a variable's name" },
        { "{`command`:`x`,`env`:{`A\\nB`:`x`}}", "env: 'A\\nB' is not a variable's name" },
        { "{`command`:`x`,`env`:{``:`x`}}", "env: '' is not a variable's name" },
        { "{`command`:`x`,`env`:{`A`:null}}", "env: the value of 'A' must be text, a number, true or false" },
        { "{`command`:`x`,`env`:[`A`]}", "env[0]: 'A' is not NAME=VALUE" },
        { "{`command`:`x`,`env`:[`=x`]}", "env: '' is not a variable's name" },
        { "{`command`:`x`,`env`:[5]}", "env[0]: '' is not NAME=VALUE" },
        { "{`command`:`x`,`env`:`A=1`}", "env must be an object or a list of NAME=VALUE" },
        { "{`command`:`x`,`roles`:[{`name`:`worker`,`env`:{`A=B`:`x`}}]}",
          "roles[0].env: 'A=B' is not a variable's name" },
        { "{`command`:`x`,`image`:`a b`}", "image: 'a b' is not an image reference" },
        { "{`command`:`x`,`image`:``}", "image: '' is not an image reference" },
        { "{`command`:`x`,`image`:`../x`}", "image: '../x' is not an image reference" },
        { "{`command`:`x`,`package`:`abc`}",
          "package: 'abc' is not a content hash of 64 hexadecimal digits" },
        { "{`command`:`x`,`package_name`:`a`}", "package_name: 'a' is given without a package" },
        { "{`command`:`x`,`package`:`" HASH "`,`package_name`:`a/b`}",
          "package_name: 'a/b' is not the name of a directory" },
        { "{`command`:`x`,`package`:`" HASH "`,`package_name`:`..`}",
          "package_name: '..' is not the name of a directory" },
        { "{`command`:`x`,`package`:`" HASH "`,`package_name`:``}",
          "package_name: '' is not the name of a directory" },
        { "{`command`:`x`,`input`:`/pfs/a/../b`}", "input: path '/pfs/a/../b' contains '..'" },
        { "{`command`:`x`,`output`:`a\\nb`}", "output: path 'a\\nb' contains a control character" },
        { "{`command`:`x`,`output`:``}", "output: the path is empty" },
        { "{`command`:`x`,`time_limit`:-1}", "time_limit: '-1' is not a duration" },
        { "{`command`:`x`,`time_limit`:`soon`}", "time_limit: 'soon' is not a duration" },
        { "{`command`:`x`,`time_limit`:true}", "time_limit: 'true' is not a duration" },
        { "{`command`:`x`,`time_limit`:`99999d`}", "time_limit: '\"99999d\"' is longer than 3650 days" },
        { "{`command`:`x`,`grace`:`2d`}", "grace: '\"2d\"' is longer than 1 day" },
        { "{`command`:`x`,`retries`:-1}", "retries: '-1' is not a whole number from 0 to 1000" },
        { "{`command`:`x`,`on_lost`:`cry`}", "on_lost: 'cry' is not one of retry, fail" },
        { "{`command`:`x`,`ready`:`soon`}", "ready: 'soon' is not one of listen, declared" },
};

static void test_refused(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
                g_autoptr(json_t) object = json(refused[i].text);
                g_autoptr(GError) error = NULL;

                g_assert_null(spec_parse(object, &error));
                g_test_message("%s: %s", refused[i].text, error->message);
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_true(g_str_has_prefix(error->message, refused[i].says));
        }
}

/* Sizes: 300 letters, one argument and one variable above the kernel's limit, too many of each. */
static void test_bounds(void)
{
        g_autofree char *letters = g_strnfill(300, 'a'), *long_text = g_strnfill(SPEC_TEXT_MAX, 'a');
        g_autofree char *ok_text = g_strnfill(SPEC_TEXT_MAX - 1, 'a'),
                        *ok_value = g_strnfill(SPEC_TEXT_MAX - 3, 'a');
        json_t *many = json_array(), *vars = json_object();
        struct {
                json_t *object;
                bool ok;
        } cases[] = {
                { json_pack("{s:s, s:s}", "command", "x", "name", letters), false },
                { json_pack("{s:s, s:s}", "command", "x", "image", letters), false },
                { json_pack("{s:s}", "command", long_text), false },
                { json_pack("{s:s}", "command", ok_text), true },
                { json_pack("{s:[s]}", "command", long_text), false },
                { json_pack("{s:s, s:{s:s}}", "command", "x", "env", "A", ok_value), true },
                { json_pack("{s:s, s:{s:s}}", "command", "x", "env", "AB", ok_value), false },
                { json_pack("{s:o}", "command", many), false },
                { json_pack("{s:s, s:o}", "command", "x", "env", vars), false },
        };

        for (int i = 0; i <= SPEC_ARGV_MAX; i++)
                json_array_append_new(many, json_string("x"));
        for (int i = 0; i <= SPEC_ENV_MAX; i++) {
                g_autofree char *name = g_strdup_printf("V%d", i);

                json_object_set_new(vars, name, json_string(""));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) s = spec_parse(cases[i].object, &error);

                g_test_message("case %zu", i);
                g_assert_cmpint(s != NULL, ==, cases[i].ok);
                json_decref(cases[i].object);
        }
}

/* Parts that are short enough each, `n` variables of 100,000 bytes. */
static json_t *with_variables(int n)
{
        g_autofree char *value = g_strnfill(100000, 'a');
        json_t *vars = json_object();

        for (int i = 0; i < n; i++) {
                g_autofree char *name = g_strdup_printf("V%d", i);

                json_object_set_new(vars, name, json_string(value));
        }
        return json_pack("{s:s, s:o}", "command", "x", "env", vars);
}

/* Such a job is refused, but read from a store that has it already. */
static void test_too_large(void)
{
        g_autoptr(json_t) large = with_variables(21), largest = with_variables(20);
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) kept = spec_unpack(large, NULL), good = spec_parse(largest, NULL),
                        none = spec_parse(large, &error);

        g_assert_nonnull(kept);
        g_assert_nonnull(good);
        g_assert_null(none);
        g_assert_cmpstr(
                error->message, ==,
                "the job's command, variables and other texts are longer than 2097152 bytes together");
}

/* ---- submissions of PaddlePaddle Cloud ---- */

static void test_cloud_job(void)
{
        g_autoptr(json_t) cloud = json(
                "{`job_name`:`digits`,`package_path`:`./demo/`,`entry_point`:`python train.py`,`input`:`/i`,"
                "`output`:`/o`,`trainers`:4,`pservers`:2,`base_image`:`paddlepaddle/paddle:0.10.rc2`,"
                "`env`:[`NUM_PASS=5`],`package`:`" HASH "`,`job_id`:`x`}");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = spec_from_cloud_job(cloud, &error);
        g_autoptr(Spec) s = NULL;

        g_assert_no_error(error);
        s = spec_parse(object, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(s->name, ==, "digits");
        g_assert_cmpstr(s->framework->name, ==, "paddle-ps");
        g_assert_cmpstr(s->command[2], ==, "python train.py");
        g_assert_cmpint(s->roles[0].replicas, ==, 2);
        g_assert_cmpint(s->roles[1].replicas, ==, 4);
        g_assert_cmpstr(s->package_name, ==, "demo");
        g_assert_cmpstr(s->env[0], ==, "NUM_PASS=5");
        g_assert_cmpstr(s->image, ==, "paddlepaddle/paddle:0.10.rc2");
}

static void test_cloud_job_gpus(void)
{
        g_autoptr(json_t) cloud = json("{`entry_point`:`x`,`trainers`:2,`use_gpu`:true,`trainer_gpu_num`:2}");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = spec_from_cloud_job(cloud, &error);
        g_autoptr(Spec) s = spec_parse(object, &error);

        g_assert_no_error(error);
        g_assert_true(s->use_gpu);
        g_assert_cmpint(s->roles[0].each.gpus, ==, 2);
        g_assert_cmpstr(s->framework->name, ==, "paddle-collective");
}

static void test_cloud_job_refused(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "5", "a submission must be a JSON object" },
                { "{`trainers`:1}", "entry_point is missing\n" },
                { "{`entry_point`:`x`,`trainers`:0}", "trainers: '0' is not a whole number from 1 to 10000" },
                { "{`entry_point`:`x`,`trainers`:1000000000}", "trainers: '1000000000' is not" },
                { "{`entry_point`:`x`,`pservers`:-1}",
                  "pservers: '-1' is not a whole number from 0 to 10000" },
                { "{`entry_point`:`x`,`use_gpu`:true}", "use_gpu is true, but trainer_gpu_num is missing\n" },
                { "{`entry_point`:`x`,`use_gpu`:true,`trainer_gpu_num`:0}",
                  "use_gpu is true, but trainer_gpu_num is 0\n" },
                { "{`entry_point`:`x`,`trainer_gpu_num`:1}",
                  "trainer_gpu_num is 1, but use_gpu is not true\n" },
                { "{`entry_point`:`x`,`entry-point`:`y`}", "'entry-point' is not a known field\n" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) cloud = json(cases[i].text);
                g_autoptr(GError) error = NULL;

                g_assert_null(spec_from_cloud_job(cloud, &error));
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_true(g_str_has_prefix(error->message, cases[i].says));
        }
}

/* ---- requested resources ---- */

static void test_wants(void)
{
        static const struct {
                const char *roles;
                gint64 total_milli, want_milli;
        } cases[] = {
                { "[{`name`:`worker`}]", 2000, 1000 },
                { "[{`name`:`worker`,`replicas`:2}]", 2000, 2000 },
                { "[{`name`:`worker`,`replicas`:6}]", 2000,
                  1998 }, /* 333 each: never more than the machine has */
                { "[{`name`:`worker`}]", 500, 500 },
                { "[{`name`:`pserver`,`replicas`:2},{`name`:`trainer`,`replicas`:4,`cpu`:`1`}]", 2000, 6000 },
                { "[{`name`:`pserver`,`replicas`:2,`cpu`:`500m`},{`name`:`trainer`,`replicas`:4}]", 2000,
                  5000 },
                /* 0 counts as undeclared, for each member */
                { "[{`name`:`worker`,`replicas`:3,`cpu`:0}]", 2000, 1998 },
                { "[{`name`:`worker`,`replicas`:3,`resources`:{`cpu`:`0`}}]", 4000, 3000 },
                { "[{`name`:`pserver`,`replicas`:2,`cpu`:0},{`name`:`trainer`,`cpu`:`1`}]", 2000, 3000 },
                { "[{`name`:`worker`,`replicas`:5000}]", 2000, 5000 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{`command`:`x`,`roles`:%s}", cases[i].roles);
                g_autoptr(Spec) s = spec(text);
                Resources total = { .cpu_milli = cases[i].total_milli }, want, each, sum = { 0 };

                g_assert_true(spec_wants(s, &total, &want));
                g_assert_cmpint(want.cpu_milli, ==, cases[i].want_milli);
                for (int r = 0; r < s->n_roles; r++) {
                        spec_member_wants(s, r, (SpecShare){ .cpu_milli = spec_share(s, &total) }, &each);
                        g_assert_true(resources_add(&sum, &each, s->roles[r].replicas));
                }
                g_assert_cmpint(sum.cpu_milli, ==, want.cpu_milli);
        }
}

static void test_paths(void)
{
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "/i", "/pfs/local/home/ann/i" },
                { "i", "/pfs/local/home/ann/i" },
                { "/", "/pfs/local/home/ann" },
                { "./a//b/./c/", "/pfs/local/home/ann/a/b/c" },
                { "/pfs/local/home/ann/x", "/pfs/local/home/ann/x" },
                { "/pfs/local//public/", "/pfs/local/public" },
                { "/pfs", "/pfs" },
                { "/pfsx", "/pfs/local/home/ann/pfsx" },
                { "pfs/x", "/pfs/local/home/ann/pfs/x" },
                { "a..b", "/pfs/local/home/ann/a..b" },
                { "..", NULL },
                { "/pfs/local/home/ann/../bob", NULL },
                { "a/..", NULL },
                { "", NULL },
                { "a\x7f", NULL },
                { "a\xff", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *out = pfs_path_normal(cases[i].in, "local", "ann", &error);

                g_assert_cmpstr(out, ==, cases[i].out);
                g_assert_cmpint(err_is(error, ERR_INVALID), ==, !out);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/spec/round-trip", test_round_trip);
        g_test_add_func("/spec/defaults", test_defaults);
        g_test_add_func("/spec/values", test_values);
        g_test_add_func("/spec/framework-guess", test_framework_guess);
        g_test_add_func("/spec/refused", test_refused);
        g_test_add_func("/spec/bounds", test_bounds);
        g_test_add_func("/spec/too-large", test_too_large);
        g_test_add_func("/spec/cloud-job", test_cloud_job);
        g_test_add_func("/spec/cloud-job-gpus", test_cloud_job_gpus);
        g_test_add_func("/spec/cloud-job-refused", test_cloud_job_refused);
        g_test_add_func("/spec/wants", test_wants);
        g_test_add_func("/spec/paths", test_paths);
        return g_test_run();
}
