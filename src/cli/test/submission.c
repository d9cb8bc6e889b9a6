/* Command lines to specifications (doc/reference/paddle-cloud.md, "Flags of paddle job submit" and "Cases
 * that a client passes"): the specification, or the error. */
#include "cli/submission.h"
#include "cli/when.h"

#include <string.h>

#include "base/err.h"
#include "base/yaml.h"

#define SEED "--job-name=a --package-path=. --entry-point=go "
#define A_NAME_OF_64 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"

static const struct {
        SubmitForm form;
        const char *line;
        const char *file; /* job file, YAML, or NULL */
        const char *spec; /* JSON, if it is accepted */
        const char *says; /* a part of the error message */
} cases[] = {
        /* the short form */
        { SUBMIT_WORDS, "-- true", NULL, "{\"command\":[\"true\"]}", NULL },
        { SUBMIT_WORDS, "true", NULL, "{\"command\":[\"true\"]}", NULL },
        { SUBMIT_WORDS, "-n 4 --ps 2 -- python train.py", NULL,
          "{\"command\":[\"python\",\"train.py\"],\"roles\":[{\"name\":\"pserver\",\"replicas\":2},"
          "{\"name\":\"trainer\",\"replicas\":4}]}",
          NULL },
        { SUBMIT_WORDS, "-n 2 python -u x.py --flag", NULL,
          "{\"command\":[\"python\",\"-u\",\"x.py\",\"--flag\"],\"roles\":[{\"name\":\"trainer\","
          "\"replicas\":2}]}",
          NULL },
        { SUBMIT_WORDS, "--ps 1 'python train.py --x 1'", NULL,
          "{\"command\":\"python train.py --x 1\",\"roles\":[{\"name\":\"pserver\",\"replicas\":1},"
          "{\"name\":\"trainer\",\"replicas\":1}]}",
          NULL },
        { SUBMIT_WORDS, "--name digits --entry-point 'a b'", NULL,
          "{\"name\":\"digits\",\"command\":\"a b\"}", NULL },
        { SUBMIT_WORDS, "--framework plain -n 3 true", NULL,
          "{\"framework\":\"plain\",\"command\":[\"true\"],\"roles\":[{\"name\":\"worker\",\"replicas\":3}]}",
          NULL },
        { SUBMIT_WORDS, "--ps 0 true", NULL,
          "{\"command\":[\"true\"],\"roles\":[{\"name\":\"trainer\",\"replicas\":1}]}", NULL },
        { SUBMIT_WORDS, "--ps 0 -n 2 true", NULL,
          "{\"command\":[\"true\"],\"roles\":[{\"name\":\"trainer\",\"replicas\":2}]}", NULL },
        { SUBMIT_WORDS, "--framework plain -n 3 --ps 0 true", NULL,
          "{\"framework\":\"plain\",\"command\":[\"true\"],\"roles\":[{\"name\":\"worker\",\"replicas\":3}]}",
          NULL },
        { SUBMIT_WORDS, "", NULL, NULL, "a command is missing\nName the command" },
        { SUBMIT_WORDS, "--", NULL, NULL, "a command is missing" },
        { SUBMIT_WORDS, "-- ''", NULL, NULL, "the command is an empty word" },
        { SUBMIT_WORDS, "--entry-point=x y", NULL, NULL,
          "the command 'y ...' cannot be combined with --entry-point='x'" },

        /* the form of PaddlePaddle Cloud, in all its spellings */
        { SUBMIT_FLAGS,
          "--job-name=a --package-path=. --entry-point='python train.py' --input=/i --output=/o --trainers=4 "
          "--pservers=2 --base-image=img",
          NULL,
          "{\"name\":\"a\",\"image\":\"img\",\"input\":\"/i\",\"output\":\"/o\",\"command\":\"python "
          "train.py\","
          "\"roles\":[{\"name\":\"pserver\",\"replicas\":2},{\"name\":\"trainer\",\"replicas\":4}]}",
          NULL },
        { SUBMIT_FLAGS, SEED "--base-image:paddlepaddle/paddle:0.10.rc2", NULL,
          "{\"name\":\"a\",\"image\":\"paddlepaddle/paddle:0.10.rc2\",\"command\":\"go\"}", NULL },
        { SUBMIT_FLAGS, SEED "--base-image paddlepaddle/paddle", NULL,
          "{\"name\":\"a\",\"image\":\"paddlepaddle/paddle\",\"command\":\"go\"}", NULL },
        { SUBMIT_FLAGS, SEED "--pserver=1", NULL,
          "{\"name\":\"a\",\"command\":\"go\",\"roles\":[{\"name\":\"pserver\",\"replicas\":1},"
          "{\"name\":\"trainer\",\"replicas\":1}]}",
          NULL },
        { SUBMIT_FLAGS, SEED "--env=NUM_PASS=5 --env X= --env:Y=a=b --env NUM_PASS=6", NULL,
          "{\"name\":\"a\",\"env\":{\"NUM_PASS\":\"6\",\"X\":\"\",\"Y\":\"a=b\"},\"command\":\"go\"}", NULL },
        { SUBMIT_FLAGS, SEED "--use-gpu=true --trainer-gpu-num=2", NULL,
          "{\"name\":\"a\",\"use_gpu\":true,\"command\":\"go\",\"roles\":[{\"name\":\"trainer\",\"replicas\":"
          "1,"
          "\"gpus\":2}]}",
          NULL },
        { SUBMIT_FLAGS, SEED "--use-gpu=false", NULL, "{\"name\":\"a\",\"command\":\"go\"}", NULL },
        { SUBMIT_FLAGS, SEED "--gpus 2", NULL,
          "{\"name\":\"a\",\"use_gpu\":true,\"command\":\"go\",\"roles\":[{\"name\":\"trainer\",\"replicas\":"
          "1,"
          "\"gpus\":2}]}",
          NULL },
        { SUBMIT_FLAGS,
          SEED "--pservers 1 --cpu 2 --memory 1Gi --ps-cpu 500m --ps-memory 64Mi --retries 3 --time-limit 2h "
               "--grace 5s --on-lost fail",
          NULL,
          "{\"name\":\"a\",\"on_lost\":\"fail\",\"retries\":3,\"time_limit\":\"2h\",\"grace\":"
          "\"5s\","
          "\"command\":\"go\",\"roles\":[{\"name\":\"pserver\",\"replicas\":1,\"cpu\":\"500m\",\"memory\":"
          "\"64Mi\"},"
          "{\"name\":\"trainer\",\"replicas\":1,\"cpu\":\"2\",\"memory\":\"1Gi\"}]}",
          NULL },

        /* missing or contradictory flags */
        { SUBMIT_FLAGS, "--package-path=. --entry-point=go", NULL, NULL, "--job-name is missing" },
        { SUBMIT_FLAGS, "--job-name=a --package-path=.", NULL, NULL, "--entry-point is missing" },
        { SUBMIT_FLAGS, "--job-name=a --entry-point=go", NULL, NULL, "--package-path is missing" },
        { SUBMIT_FLAGS, "--job-name=a --entry-point=go --no-package", NULL,
          "{\"name\":\"a\",\"command\":\"go\"}", NULL },
        { SUBMIT_FLAGS, SEED "python", NULL, NULL, "'python' is not expected here" },
        { SUBMIT_FLAGS, SEED "--use-gpu=true", NULL, NULL, "--use-gpu=true needs --trainer-gpu-num" },
        { SUBMIT_FLAGS, SEED "--use-gpu", NULL, NULL, "--use-gpu=true needs --trainer-gpu-num" },
        { SUBMIT_FLAGS, SEED "--trainer-gpu-num=2", NULL, NULL, "--trainer-gpu-num=2 needs --use-gpu=true" },
        { SUBMIT_FLAGS, SEED "--use-gpu=maybe", NULL, NULL, "--use-gpu: 'maybe' is not true or false" },
        { SUBMIT_FLAGS, SEED "--use-gpu --gpus 1 --trainer-gpu-num 2", NULL, NULL,
          "--gpus=1 cannot be combined with --trainer-gpu-num=2" },
        { SUBMIT_FLAGS, SEED "--no-package", NULL, NULL,
          "--no-package cannot be combined with --package-path='.'" },
        { SUBMIT_FLAGS, "--job-name=a --entry-point=go --package-path=/nonexistent", NULL, NULL,
          "--package-path: '/nonexistent' does not exist" },
        { SUBMIT_FLAGS, "--job-name=a --entry-point=go --package-path=/dev/null", NULL, NULL,
          "--package-path: '/dev/null' is not a directory" },
        { SUBMIT_FLAGS, "--job-name=a --entry-point=go --package-path=", NULL, NULL,
          "--package-path: '' does not exist" },
        { SUBMIT_FLAGS, SEED "--ps-cpu 1", NULL, NULL, "--ps-cpu needs --pservers of 1 or more" },
        { SUBMIT_FLAGS, SEED "--pservers 0 --ps-memory 1Gi", NULL, NULL,
          "--ps-memory needs --pservers of 1 or more" },
        { SUBMIT_FLAGS, SEED "--pservers 2 --framework plain", NULL, NULL,
          "--pservers=2 cannot be combined with --framework=plain" },
        { SUBMIT_FLAGS, SEED "--framework caffe", NULL, NULL,
          "--framework: 'caffe' is not known; it is one of" },

        /* counts */
        { SUBMIT_FLAGS, SEED "--trainers 0", NULL, NULL,
          "--trainers: '0' is not a whole number from 1 to 10000" },
        { SUBMIT_FLAGS, SEED "--trainers -1", NULL, NULL, "--trainers: '-1' is not a whole number" },
        { SUBMIT_FLAGS, SEED "--trainers 1000000000", NULL, NULL,
          "--trainers: '1000000000' is not a whole number" },
        { SUBMIT_FLAGS, SEED "--trainers 2x", NULL, NULL, "--trainers: '2x'" },
        { SUBMIT_FLAGS, SEED "--pservers -1", NULL, NULL,
          "--pservers: '-1' is not a whole number from 0 to 10000" },
        { SUBMIT_FLAGS, SEED "--pservers 1000000000", NULL, NULL, "--pservers: '1000000000'" },
        { SUBMIT_FLAGS, SEED "--trainers", NULL, NULL, "--trainers needs a value" },
        { SUBMIT_FLAGS, SEED "--trainer 2", NULL, NULL, "Did you mean --trainers?" },

        /* names, variables, quantities */
        { SUBMIT_FLAGS, "--job-name=a/b --package-path=. --entry-point=go", NULL, NULL, "'a/b'" },
        { SUBMIT_FLAGS, "--job-name=.. --package-path=. --entry-point=go", NULL, NULL, "'..'" },
        { SUBMIT_FLAGS, "--job-name=Upper --package-path=. --entry-point=go", NULL, NULL, "'Upper'" },
        { SUBMIT_FLAGS, "--job-name= --package-path=. --entry-point=go", NULL, NULL, "''" },
        { SUBMIT_FLAGS, "--job-name=" A_NAME_OF_64 " --package-path=. --entry-point=go", NULL, NULL,
          A_NAME_OF_64 },
        { SUBMIT_FLAGS, SEED "--time-limit 5", NULL, NULL, "--time-limit: '5' has no unit" },
        { SUBMIT_FLAGS, SEED "--grace 90", NULL, NULL, "--grace: '90' has no unit" },
        { SUBMIT_FLAGS, SEED "--env NOT_SET", NULL, NULL,
          "--env: 'NOT_SET' has no value, and there is no such" },
        { SUBMIT_FLAGS, SEED "--env-file /nosuch.env", NULL, NULL, "--env-file: cannot open '/nosuch.env'" },
        { SUBMIT_FLAGS, SEED "--secret a-b", NULL, NULL, "'a-b' is not a variable's name" },
        { SUBMIT_FLAGS, SEED "--env =5", NULL, NULL, "--env: '' is not a variable's name" },
        { SUBMIT_FLAGS, SEED "--env 1A=5", NULL, NULL, "--env: '1A' is not a variable's name" },
        { SUBMIT_FLAGS, SEED "--cpu many", NULL, NULL, "--cpu" },
        { SUBMIT_FLAGS, SEED "--memory 1Q", NULL, NULL, "--memory" },
        { SUBMIT_FLAGS, SEED "--time-limit soon", NULL, NULL, "--time-limit: 'soon' is not a duration" },
        { SUBMIT_FLAGS, SEED "--on-lost cry", NULL, NULL, "'cry'" },

        /* scheduling */
        { SUBMIT_WORDS, "--queue q -p high --label a=b --label c= --annotation x=y true", NULL,
          "{\"command\":[\"true\"],\"queue\":\"q\",\"priority\":\"high\",\"labels\":{\"a\":\"b\",\"c\":\"\"},"
          "\"annotations\":{\"x\":\"y\"}}",
          NULL },
        { SUBMIT_WORDS, "--priority -200 --array 0-9%3 --after ok:x --after prepare --after any:y true", NULL,
          "{\"command\":[\"true\"],\"priority\":-200,\"array\":\"0-9%3\",\"after\":[\"ok:x\",\"ok:prepare\","
          "\"any:y\"]}",
          NULL },
        { SUBMIT_WORDS, "-n 4 --min-trainers 2 --flavour big --resources memory=1Gi true", NULL,
          "{\"command\":[\"true\"],\"roles\":[{\"name\":\"trainer\",\"replicas\":4,\"resources\":{\"memory\":"
          "\"1Gi\"},"
          "\"min\":2,\"flavour\":\"big\"}]}",
          NULL },
        { SUBMIT_WORDS,
          "--begin 2026-03-01T10:00:00Z --signal USR1@60s --time-limit 1h --no-preempt --on-preempt end "
          "--node-label rack=a "
          "--topology zone --topology-required true",
          NULL,
          "{\"command\":[\"true\"],\"time_limit\":\"1h\",\"begin\":\"2026-03-01T10:00:00.000Z\",\"signal\":"
          "\"USR1@60s\","
          "\"on_preempt\":\"end\",\"topology\":\"zone\",\"topology_required\":true,\"preemptable\":false,"
          "\"node_labels\":{\"rack\":\"a\"}}",
          NULL },
        { SUBMIT_WORDS, "--label b=2", "command: [\"true\"]\nlabels: {a: \"1\"}\n",
          "{\"command\":[\"true\"],\"labels\":{\"a\":\"1\",\"b\":\"2\"}}", NULL },
        { SUBMIT_FLAGS, SEED "--label a", NULL, NULL, "--label: 'a' is not KEY=VALUE" },
        { SUBMIT_FLAGS, SEED "--begin tomorrow", NULL, NULL, "--begin: 'tomorrow' is not a time" },
        { SUBMIT_FLAGS, SEED "--priority urgent", NULL, NULL, "'urgent'" },
        { SUBMIT_FLAGS, SEED "--priority 1001", NULL, NULL, "1001" },
        { SUBMIT_FLAGS, SEED "--array 9-0", NULL, NULL, "'9-0'" },
        { SUBMIT_FLAGS, SEED "--after never:x", NULL, NULL, "'never" },
        { SUBMIT_FLAGS, SEED "--signal NOSUCH@1s", NULL, NULL, "NOSUCH" },
        { SUBMIT_FLAGS, SEED "--on-preempt cry", NULL, NULL, "'cry'" },
        { SUBMIT_FLAGS, SEED "--trainers 2 --min-trainers 3", NULL, NULL,
          "--min-trainers=3 is more than --trainers=2" },
        { SUBMIT_FLAGS, SEED "--queue=", NULL, NULL, "--queue: its value is empty" },
        { SUBMIT_FLAGS, SEED "--resources cpu", NULL, NULL, "--resources: 'cpu' is not NAME=AMOUNT" },

        /* job files */
        { SUBMIT_WORDS, "", "command: [\"true\"]\nname: a\n", "{\"command\":[\"true\"],\"name\":\"a\"}",
          NULL },
        { SUBMIT_WORDS, "--name b -- false", "command: [\"true\"]\nname: a\nretries: 2\n",
          "{\"command\":[\"false\"],\"name\":\"b\",\"retries\":2}", NULL },
        { SUBMIT_WORDS, "--retries 0 --grace 0 --time-limit 0 -- true",
          "retries: 2\ngrace: 5s\ntime_limit: 1h\n",
          "{\"command\":[\"true\"],\"retries\":0,\"grace\":\"0\",\"time_limit\":\"0\"}", NULL },
        { SUBMIT_WORDS, "-n 3 --cpu 2",
          "command: [\"true\"]\nroles: [{name: worker, replicas: 1, memory: 1Gi}]\n",
          "{\"command\":[\"true\"],\"roles\":[{\"name\":\"worker\",\"replicas\":3,\"memory\":\"1Gi\",\"cpu\":"
          "\"2\"}]}",
          NULL },
        { SUBMIT_FLAGS, SEED "--env SET_HERE --secret T=t --secret U --secret-file k.json=k --secret-file f",
          NULL,
          "{\"name\":\"a\",\"env\":{\"SET_HERE\":\"here\"},\"secrets\":{\"T\":\"t\",\"U\":\"U\"},"
          "\"secret_files\":{\"k.json\":\"k\",\"f\":\"f\"},\"command\":\"go\"}",
          NULL },
        { SUBMIT_WORDS, "--mount home:/data --mount set/a/b:in:ro --mount home/x/:/y:rw -- true", NULL,
          "{\"command\":[\"true\"],\"mounts\":[{\"fs\":\"home\",\"path\":\"/data\"},"
          "{\"fs\":\"set\",\"path\":\"in\",\"sub\":\"a/b\",\"read_only\":true},"
          "{\"fs\":\"home\",\"path\":\"/y\",\"sub\":\"x/\"}]}",
          NULL },
        { SUBMIT_WORDS, "--mount home/b:/b --mount home:/c -- true",
          "mounts: [{fs: home, path: /a}, {fs: home, sub: x, path: /b}]\n",
          "{\"command\":[\"true\"],\"mounts\":[{\"fs\":\"home\",\"path\":\"/a\"},"
          "{\"fs\":\"home\",\"path\":\"/b\",\"sub\":\"b\"},{\"fs\":\"home\",\"path\":\"/c\"}]}",
          NULL },
        { SUBMIT_WORDS, "--mount home -- true", NULL, NULL, "--mount: 'home' is not FS" },
        { SUBMIT_WORDS, "--mount :/data -- true", NULL, NULL, "--mount: ':/data' is not FS" },
        { SUBMIT_WORDS, "--mount home: -- true", NULL, NULL, "--mount: 'home:' is not FS" },
        { SUBMIT_WORDS, "--mount /x:/data -- true", NULL, NULL, "--mount: '/x' is a directory, not a name" },
        { SUBMIT_WORDS, "--mount ./x:/data -- true", NULL, NULL, "`paddle upload ./x DIRECTORY`" },
        { SUBMIT_WORDS, "--mount home:/data:write -- true", NULL, NULL, "is not FS" },
        { SUBMIT_WORDS, "--mount home:/data:ro:x -- true", NULL, NULL, "is not FS" },
        { SUBMIT_WORDS, "--mount home:/etc -- true", NULL, NULL, "nothing can be mounted in '/etc'" },
        { SUBMIT_WORDS, "--mount home:/d --mount home:/d/ -- true", NULL, NULL,
          "the path of mounts[0], too" },
        { SUBMIT_WORDS, "-e A=2", "command: [\"true\"]\nenv: {A: \"1\", B: \"1\"}\n",
          "{\"command\":[\"true\"],\"env\":{\"A\":\"2\",\"B\":\"1\"}}", NULL },
        { SUBMIT_FLAGS, "", "name: a\ncommand: go\npackage_path: demo\n",
          "{\"name\":\"a\",\"command\":\"go\"}", NULL },
        { SUBMIT_FLAGS, "", "command: go\npackage_path: demo\n", NULL, "--job-name is missing" },
        { SUBMIT_WORDS, "", "command: [\"true\"]\ncolour: red\n", NULL, "'colour'" },
        { SUBMIT_WORDS, "", "command: 7\n", NULL, "command" },
};

static bool from_line(SubmitForm form, const char *line, const char *file_text, json_t **ret_spec,
                      char **ret_package, GError **error)
{
        const Option *options = form == SUBMIT_WORDS ? submission_short_options : submission_options;
        g_autoptr(json_t) file =
                file_text ? yaml_parse(file_text, strlen(file_text), "job.yaml", error) : NULL;
        Submission submission = { 0 };
        g_auto(GStrv) argv = NULL;
        g_auto(GStrv) words = NULL;
        int argc = 0;
        bool ok;

        g_assert_true(!*line || g_shell_parse_argv(line, &argc, &argv, NULL));
        options_set_defaults(options, &submission);
        ok = options_parse(options, &submission, argc, argv, form == SUBMIT_WORDS, &words, error) &&
             submission_spec(&submission, form, words, file, ret_spec, ret_package, error);
        options_clear(options, &submission);
        return ok;
}

static void check_taken(const json_t *spec, const char *expected)
{
        g_autoptr(json_t) wanted = json_parse(expected, strlen(expected), NULL);
        g_autofree char *have = json_format(spec);

        g_assert_nonnull(wanted);
        if (!json_equal(spec, wanted))
                g_test_fail_printf("have %s, want %s", have, expected);
}

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) spec = NULL;
                g_autofree char *package = NULL;
                bool ok = from_line(cases[i].form, cases[i].line, cases[i].file, &spec, &package, &error);

                g_test_message("%s", cases[i].line);
                if (cases[i].spec) {
                        g_assert_no_error(error);
                        g_assert_true(ok);
                        check_taken(spec, cases[i].spec);
                        continue;
                }
                g_assert_false(ok);
                g_assert_cmpint(err_row(error)->exit, ==, 2);
                if (!strstr(error->message, cases[i].says))
                        g_test_fail_printf("'%s' says: %s", cases[i].line, error->message);
        }
}

/* 2026-03-01T10:00:00Z, in UTC */
static void test_begin(void)
{
        static const struct {
                const char *text, *time;
        } rows[] = {
                { "2h", "2026-03-01T12:00:00.000Z" },
                { "+90s", "2026-03-01T10:01:30.000Z" },
                { "0", "2026-03-01T10:00:00.000Z" },
                { "10:30", "2026-03-01T10:30:00.000Z" },
                { "9:30", "2026-03-02T09:30:00.000Z" },
                { "10:00", "2026-03-02T10:00:00.000Z" },
                { "22:30:15", "2026-03-01T22:30:15.000Z" },
                { "2026-04-01T08:00", "2026-04-01T08:00:00.000Z" },
                { "2026-04-01 08:00", "2026-04-01T08:00:00.000Z" },
                { "2026-04-01T08:00:00+02:00", "2026-04-01T06:00:00.000Z" },
                { "2026-04-01T08:00:00.5Z", "2026-04-01T08:00:00.500Z" },
                { "24:30", NULL },
                { "10:61", NULL },
                { "soon", NULL },
                { "", NULL },
                { ":", NULL },
                { "1:", NULL },
                { "2026-04-01", NULL },
                { "2026-13-01T08:00", NULL },
                { "-2h", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *time =
                        begin_parse("--begin", rows[i].text, G_GINT64_CONSTANT(1772359200000), &error);

                g_test_message("%s", rows[i].text);
                g_assert_cmpstr(time, ==, rows[i].time);
                g_assert_true(rows[i].time || g_str_has_prefix(error->message, "--begin: '"));
        }
}

static void test_packages(void)
{
        static const struct {
                SubmitForm form;
                const char *line, *file, *package;
        } rows[] = {
                { SUBMIT_WORDS, "true", NULL, "." },
                { SUBMIT_WORDS, "--package-path /tmp true", NULL, "/tmp" },
                { SUBMIT_WORDS, "--no-package true", NULL, NULL },
                { SUBMIT_FLAGS, SEED, NULL, "." },
                { SUBMIT_WORDS, "", "command: [\"true\"]\npackage_path: demo\n", "demo" },
                { SUBMIT_WORDS, "--package-path /tmp", "command: [\"true\"]\npackage_path: demo\n", "/tmp" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) spec = NULL;
                g_autofree char *package = NULL;

                from_line(rows[i].form, rows[i].line, rows[i].file, &spec, &package, &error);
                g_assert_no_error(error);
                g_assert_cmpstr(package, ==, rows[i].package);
        }
}

static void test_queue_of_a_cluster(void)
{
        static const struct {
                const char *queues, *queue, *says;
        } rows[] = {
                { "[{'name':'default','cluster':'here'},{'name':'gpus','cluster':'prod'}]", "gpus", NULL },
                { "[{'name':'gpus','cluster':'prod'},{'name':'prod','cluster':'prod'}]", "prod", NULL },
                { "[{'name':'a','cluster':'prod'},{'name':'b','cluster':'prod'}]", NULL,
                  "has several queues that take jobs: a, b\nName one with --queue" },
                { "[{'name':'a','cluster':'prod','closed':true},{'name':'b','cluster':'prod','closed':false}"
                  "]",
                  "b", NULL },
                { "[{'name':'prod','cluster':'prod'},{'name':'leaf','cluster':'prod','parent':'prod'}]",
                  "leaf", NULL },
                { "[{'name':'prod','cluster':'here'}]", NULL, "paddle queue create prod --cluster prod" },
                { "[]", NULL, "no queue of a cluster 'prod'" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = g_strdelimit(g_strdup(rows[i].queues), "'", '"');
                g_autoptr(json_t) queues = json_parse(text, strlen(text), NULL);
                g_autoptr(GError) error = NULL;

                g_assert_cmpstr(submission_queue_of(queues, "prod", &error), ==, rows[i].queue);
                g_assert_true((error != NULL) == (rows[i].says != NULL));
                g_assert_true(!error || strstr(error->message, rows[i].says));
        }
}

int main(int argc, char **argv)
{
        g_setenv("TZ", "UTC", TRUE);
        g_setenv("SET_HERE", "here", TRUE);
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/submission/cases", test_cases);
        g_test_add_func("/cli/submission/queue of a cluster", test_queue_of_a_cluster);
        g_test_add_func("/cli/submission/begin", test_begin);
        g_test_add_func("/cli/submission/packages", test_packages);
        return g_test_run();
}
