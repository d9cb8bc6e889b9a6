/* The older client's command line (doc/reference/paddleflow-api.md, "The command line" to "Its job files"):
 * command lines to requests, the ini file, tables with frames. */
#include <string.h>

#include "base/err.h"
#include "cli/paddleflow/args.h"
#include "cli/paddleflow/grid.h"
#include "cli/paddleflow/ini.h"
#include "cli/paddleflow/job-file.h"
#include "cli/paddleflow/request.h"

#define BASE "/api/paddleflow/v1"

/* A command line, and the older client's request for it. */
static const struct {
        const char *line, *method, *path, *body;
} requests[] = {
        { "version", "GET", "/version", NULL },
        { "user list", "GET", "/user?maxKeys=100", NULL },
        { "user list -m 7", "GET", "/user?maxKeys=7", NULL },
        { "user list -m7", "GET", "/user?maxKeys=7", NULL },
        { "user list --maxsize=-3", "GET", "/user?maxKeys=-3", NULL },
        { "user add ann secret1", "POST", "/user", "{\"username\":\"ann\",\"password\":\"secret1\"}" },
        { "user add -- -ann secret1", "POST", "/user", "{\"username\":\"-ann\",\"password\":\"secret1\"}" },
        { "user set ann secret2", "PUT", "/user/ann", "{\"password\":\"secret2\"}" },
        { "user delete a/b", "DELETE", "/user/a%2Fb", NULL },
        { "queue list -mk abc --maxsize 2", "GET", "/queue?maxKeys=2&marker=abc", NULL },
        { "queue show q", "GET", "/queue/q", NULL },
        { "queue create q ns 4 8Gi", "POST", "/queue",
          "{\"name\":\"q\",\"namespace\":\"ns\",\"clusterName\":null,\"maxResources\":{\"cpu\":\"4\",\"mem\":"
          "\"8Gi\"}}" },
        { "queue create --maxscalar nvidia.com/gpu=1,rdma/hca=2 q ns --mincpu 1 4 8Gi --policy priority,x "
          "--location a=b "
          "--quota elasticQuota --clustername c",
          "POST", "/queue",
          "{\"name\":\"q\",\"namespace\":\"ns\",\"clusterName\":\"c\",\"maxResources\":{\"cpu\":\"4\","
          "\"mem\":\"8Gi\","
          "\"scalarResources\":{\"nvidia.com/gpu\":\"1\",\"rdma/"
          "hca\":\"2\"}},\"schedulingPolicy\":[\"priority\",\"x\"],"
          "\"location\":{\"a\":\"b\"},\"quotaType\":\"elasticQuota\"}" },
        { "queue create q ns 4 8Gi --mincpu 1 --minmem 1Gi --minscalar a=1", "POST", "/queue",
          "{\"name\":\"q\",\"namespace\":\"ns\",\"clusterName\":null,\"maxResources\":{\"cpu\":\"4\",\"mem\":"
          "\"8Gi\"},"
          "\"minResources\":{\"cpu\":\"1\",\"mem\":\"1Gi\",\"scalarResources\":{\"a\":\"1\"}}}" },
        { "queue update q --maxcpu 3 --minscalar a=", "PUT", "/queue/q",
          "{\"maxResources\":{\"cpu\":\"3\"},\"minResources\":{\"scalarResources\":{\"a\":\"\"}}}" },
        { "queue update q", "PUT", "/queue/q", "{}" },
        { "queue delete q", "DELETE", "/queue/q", NULL },
        { "queue grant ann q", "POST", "/grant",
          "{\"username\":\"ann\",\"resourceType\":\"queue\",\"resourceID\":\"q\"}" },
        { "queue ungrant ann q", "DELETE", "/grant?resourceType=queue&username=ann&resourceID=q", NULL },
        { "queue grantlist -u ann", "GET", "/grant?maxKeys=100&username=ann", NULL },
        { "fs list -u ann", "GET", "/fs?username=ann&maxKeys=100", NULL },
        { "fs show f", "GET", "/fs/f", NULL },
        { "fs create f mock://srv -o pvc=a,b --option namespace=n -u ann", "POST", "/fs",
          "{\"name\":\"f\",\"url\":\"mock://srv\",\"username\":\"ann\",\"properties\":"
          "{\"pvc\":\"a,b\",\"namespace\":\"n\"}}" },
        { "fs delete f -u ann", "DELETE", "/fs/f?username=ann", NULL },
        { "flavour list --marker x -m 5", "GET", "/flavour?maxKeys=5&marker=x", NULL },
        { "flavour create f -c 1 -m 1Gi -s a=1", "POST", "/flavour",
          "{\"name\":\"f\",\"cpu\":\"1\",\"mem\":\"1Gi\",\"scalarResources\":{\"a\":\"1\"}}" },
        { "flavour update f --memory 2Gi", "PUT", "/flavour/f", "{\"mem\":\"2Gi\"}" },
        { "cluster list -cn a,b -cs online", "GET",
          "/cluster?maxKeys=100&clusterNames=a%2Cb&clusterStatus=online", NULL },
        { "cluster create c 10.0.0.1 Local -c abc -ns a,b", "POST", "/cluster",
          "{\"clusterName\":\"c\",\"endpoint\":\"10.0.0.1\",\"clusterType\":\"Local\",\"credential\":"
          "\"YWJj\","
          "\"namespaceList\":[\"a\",\"b\"]}" },
        { "cluster update c -e h -t K3S --status offline", "PUT", "/cluster/c",
          "{\"endpoint\":\"h\",\"clusterType\":\"K3S\",\"status\":\"offline\"}" },
        { "cluster resource -cn a,b", "GET", "/cluster/resource?clusterNames=a%2Cb", NULL },
        { "cluster statistic -cn a,b -q q -l k=v", "POST", "/cluster/resource",
          "{\"pageNo\":0,\"pageSize\":1000,\"clusterNames\":[\"a\",\"b\"],\"queueName\":\"q\",\"labels\":\"k="
          "v\"}" },
        { "job list", "GET", "/job", NULL },
        { "job list -s running -l a=1,b=2 -fl id,name -st 2024", "GET",
          "/job?status=running&startTime=2024&labels=%7B%22a%22%3A%221%22%2C%22b%22%3A%222%22%7D", NULL },
        { "job update j -p high -l c=3 -a e=5", "PUT", "/job/j?action=modify",
          "{\"priority\":\"high\",\"labels\":{\"c\":\"3\"},\"annotations\":{\"e\":\"5\"}}" },
        { "job stop j", "PUT", "/job/j?action=stop", NULL },
        { "job delete j", "DELETE", "/job/j", NULL },
        { "log show r -j x -ps 10 -pn 2 -fp end", "GET",
          "/log/run/r?jobID=x&pageSize=10&pageNo=2&logFilePosition=end", NULL },
        { "log job -j x -f paddle -r true -l 5 -s 1M", "GET",
          "/log/job?jobID=x&framework=paddle&readFromTail=true&lineLimit=5&sizeLimit=1M", NULL },
        { "log kube -n p -ns d -c c -t pod", "GET", "/log/job?name=p&namespace=d&clusterName=c&type=pod",
          NULL },
        { "statistics job j", "GET", "/statistics/job/j", NULL },
        { "statistics job j -d -s 1 -e 2 -st 60", "GET", "/statistics/jobDetail/j?start=1&end=2&step=60",
          NULL },
        { "statistics card-time -q a,b -s x -e y", "POST", "/statistics/cardTime",
          "{\"queueNames\":[\"a\",\"b\"],\"startTime\":\"x\",\"endTime\":\"y\"}" },
};

static bool parse(const char *line, PaddleFlowArgs *args, GError **error)
{
        g_auto(GStrv) argv = NULL;
        int argc = 0;

        g_assert_true(!*line || g_shell_parse_argv(line, &argc, &argv, NULL));
        return paddleflow_args_parse(argc, argv, args, error);
}

static void test_requests(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
                g_autofree char *path = g_strconcat(BASE, requests[i].path, NULL);
                g_auto(PaddleFlowRequest) request = { 0 };
                g_autoptr(GError) error = NULL;
                g_auto(PaddleFlowArgs) args = { 0 };
                g_autoptr(json_t) body = NULL, wanted = NULL;

                g_test_message("%s", requests[i].line);
                g_assert_true(parse(requests[i].line, &args, &error) &&
                              paddleflow_request_build(&args, &request, &error));
                g_assert_cmpstr(request.method, ==, requests[i].method);
                g_assert_cmpstr(request.path, ==, path);
                g_assert_cmpint(request.body != NULL, ==, requests[i].body != NULL);
                if (!request.body)
                        continue;
                body = json_parse(request.body, strlen(request.body), NULL);
                wanted = json_parse(requests[i].body, strlen(requests[i].body), NULL);
                g_assert_nonnull(wanted);
                if (!json_equal(body, wanted))
                        g_test_fail_printf("have %s, want %s", request.body, requests[i].body);
        }
}

static void test_wrong(void)
{
        static const struct {
                const char *line, *says;
        } rows[] = {
                { "nothing",
                  "Usage: paddleflow [OPTIONS] COMMAND [ARGS]...\nTry 'paddleflow --help' for help.\n\n"
                  "Error: No such command 'nothing'." },
                { "user nothing",
                  "Usage: paddleflow user [OPTIONS] COMMAND [ARGS]...\nTry 'paddleflow user --help' for "
                  "help.\n\nError: No such command 'nothing'." },
                { "user add one",
                  "Usage: paddleflow user add [OPTIONS] USERNAME PASSWORD\nTry 'paddleflow user add --help' "
                  "for help.\n\nError: Missing argument 'PASSWORD'." },
                { "user add a b c", "Error: Got unexpected extra argument (c)" },
                { "user list -m many",
                  "Error: Invalid value for '-m' / '--maxsize': many is not a valid integer" },
                { "user list --nothing", "Error: no such option: --nothing" },
                { "user list -x", "Error: no such option: -x" },
                { "user list -m", "Error: --maxsize option requires an argument" },
                { "--output xml user list", "Error: Invalid value for '--output': invalid choice: xml." },
                { "--nothing", "Error: no such option: --nothing" },
                { "flavour create f -c 1", "Error: Missing option '-m' / '--memory'." },
                { "statistics job x -d=1", "Error: --detail option does not take a value" },
                { "job create array f", "Error: Invalid value for 'JOBTYPE': invalid choice: array." },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;
                g_auto(PaddleFlowArgs) args = { 0 };

                g_test_message("%s", rows[i].line);
                g_assert_false(parse(rows[i].line, &args, &error));
                g_assert_true(err_is(error, ERR_USAGE));
                g_assert_nonnull(strstr(error->message, rows[i].says));
        }
}

static void test_environment(void)
{
        g_auto(PaddleFlowArgs) first = { 0 }, second = { 0 }, third = { 0 };

        g_setenv("PADDLEFLOW_OUTPUT", "json", TRUE);
        g_setenv("PADDLEFLOW_PF_CONFIG", "/x.ini", TRUE);
        g_setenv("PADDLEFLOW_QUEUE_LIST_MAXSIZE", "7", TRUE);
        g_assert_true(parse("queue list", &first, NULL));
        g_assert_true(parse("--output text --pf_config y queue list -m 8", &second, NULL));
        g_setenv("PADDLEFLOW_QUEUE_LIST_MAXSIZE", "x", TRUE);
        g_assert_false(parse("queue list", &third, NULL));
        g_unsetenv("PADDLEFLOW_OUTPUT");
        g_unsetenv("PADDLEFLOW_PF_CONFIG");
        g_unsetenv("PADDLEFLOW_QUEUE_LIST_MAXSIZE");
        g_assert_cmpstr(first.output, ==, "json");
        g_assert_cmpstr(first.config, ==, "/x.ini");
        g_assert_cmpstr(first.options[0], ==, "7");
        g_assert_cmpstr(second.output, ==, "text");
        g_assert_cmpstr(second.config, ==, "y");
        g_assert_cmpstr(second.options[0], ==, "8");
}

static void check_help(const PaddleFlowGroup *group, const PaddleFlowCommand *command)
{
        g_autofree char *line = g_strdup_printf("%s %s --help", group->name, command->name);
        g_auto(PaddleFlowArgs) args = { 0 };

        g_assert_true(parse(line, &args, NULL));
        for (const PaddleFlowParam *option = command->options; option && option->name; option++)
                g_assert_nonnull(strstr(args.help, option->name));
}

/* Every group and command has a help text that names every option. */
static void test_help(void)
{
        g_auto(PaddleFlowArgs) front = { 0 };

        g_assert_true(parse("--help", &front, NULL));
        for (const PaddleFlowGroup *group = paddleflow_groups; group->name; group++) {
                g_auto(PaddleFlowArgs) args = { 0 };

                g_assert_nonnull(strstr(front.help, group->name));
                g_assert_true(parse(group->name, &args, NULL));
                g_assert_true(g_str_has_prefix(args.help, "Usage: paddleflow "));
                for (const PaddleFlowCommand *command = group->commands; command->name; command++)
                        check_help(group, command);
        }
}

static void test_ini(void)
{
        static const struct {
                const char *text;
                const char *says; /* NULL: accepted, as ann:pw1 at h:77 */
        } rows[] = {
                { "[user]\nname = ann\npassword = pw1\n[server]\npaddleflow_server_host = "
                  "h\npaddleflow_server_port = 77\n",
                  NULL },
                { "# größe\n; more\n[x]\nname = z\n[user]\nNAME: ann\npassword "
                  ":pw1\n\n[server]\r\nPaddleflow_Server_Host=h\n"
                  "paddleflow_server_port=77\nother = 1\n",
                  NULL },
                { "", "[user] has no 'name'" },
                { "[user]\nname=ann\n[server]\npaddleflow_server_host=h\n", "[user] has no 'password'" },
                { "[user]\nname=ann\npassword=x\n", "[server] has no 'paddleflow_server_host'" },
                { "[user]\nname=ann\npassword=x\n[server]\npaddleflow_server_host=h\npaddleflow_server_port="
                  "0\n",
                  "paddleflow_server_port: '0'" },
                { "[user\n", "line 1 is neither" },
                { "name = ann\n", "line 1 is neither" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(PaddleFlowConfig) config = paddleflow_config_parse(rows[i].text, "c", &error);

                g_test_message("%s", rows[i].text);
                g_assert_cmpint(config != NULL, ==, rows[i].says == NULL);
                if (!config) {
                        g_assert_nonnull(strstr(error->message, rows[i].says));
                        continue;
                }
                g_assert_cmpstr(config->user, ==, "ann");
                g_assert_cmpstr(config->password, ==, "pw1");
                g_assert_cmpstr(config->host, ==, "h");
                g_assert_cmpint(config->port, ==, 77);
        }
}

/* The frames in tabulate's documentation. */
static void test_grid(void)
{
        static const char *const heads[] = { "item", "qty", NULL };
        static const char *const cells[] = { "spam", "42", "eggs", "451", "bacon", "0" };
        static const char *const wide[] = { "字", NULL, "two\nlines", "1.5" };
        g_autoptr(GPtrArray) plain = g_ptr_array_new(), lines = g_ptr_array_new(), none = g_ptr_array_new();
        g_autofree char *first = NULL, *second = NULL, *third = NULL, *fourth = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(cells); i++)
                g_ptr_array_add(plain, (gpointer)cells[i]);
        for (gsize i = 0; i < G_N_ELEMENTS(wide); i++)
                g_ptr_array_add(lines, (gpointer)wide[i]);
        first = grid_format(heads, plain);
        second = grid_format(heads, lines);
        third = grid_format(heads, none);
        g_assert_cmpstr(first, ==,
                        "+--------+-------+\n| item   |   qty |\n+========+=======+\n| spam   |    42 "
                        "|\n+--------+-------+\n"
                        "| eggs   |   451 |\n+--------+-------+\n| bacon  |     0 |\n+--------+-------+\n");
        g_assert_cmpstr(second, ==,
                        "+--------+-------+\n| item   |   qty |\n+========+=======+\n| 字     |       "
                        "|\n+--------+-------+\n"
                        "| two    |   1.5 |\n| lines  |       |\n+--------+-------+\n");
        g_ptr_array_add(none, NULL);
        g_ptr_array_add(none, (gpointer) "");
        fourth = grid_format(heads, none);
        g_assert_cmpstr(fourth, ==,
                        "+--------+-------+\n| item   | qty   |\n+========+=======+\n|        |       "
                        "|\n+--------+-------+\n");
        g_assert_cmpstr(third, ==,
                        "+--------+-------+\n| item   | qty   |\n+========+=======+\n+--------+-------+\n");
}

static void test_job_file(void)
{
        static const struct {
                const char *file, *body; /* body NULL: refused */
        } rows[] = {
                { "{\"schedulingPolicy\":{\"queue\":\"q\",\"other\":1},\"image\":\"i\",\"command\":\"\","
                  "\"args\":[],\"port\":0,"
                  "\"unknown\":1,\"limitFlavour\":{\"cpu\":\"1\"},\"flavour\":{\"name\":\"f\",\"x\":1},"
                  "\"fs\":{\"id\":\"1\",\"name\":\"n\"},\"extraFS\":[{\"name\":\"m\",\"id\":\"2\"}]}",
                  "{\"schedulingPolicy\":{\"queue\":\"q\"},\"image\":\"i\",\"flavour\":{\"name\":\"f\"},"
                  "\"fs\":{\"name\":\"n\"},"
                  "\"extraFS\":[{\"name\":\"m\"}]}" },
                { "{\"schedulingPolicy\":{\"queue\":\"q\",\"priority\":\"HIGH\"},\"framework\":\"paddle\","
                  "\"members\":[{\"role\":"
                  "\"worker\",\"replicas\":2,\"image\":\"i\"},{\"role\":\"worker\",\"replicas\":1,"
                  "\"schedulingPolicy\":"
                  "{\"queue\":\"q\"}}]}",
                  "{\"schedulingPolicy\":{\"queue\":\"q\",\"priority\":\"HIGH\"},\"framework\":\"paddle\","
                  "\"members\":[{\"role\":"
                  "\"worker\",\"replicas\":2,\"image\":\"i\",\"schedulingPolicy\":{\"queue\":null}},{"
                  "\"role\":\"worker\","
                  "\"replicas\":1,\"schedulingPolicy\":{\"queue\":\"q\"}}]}" },
                { "{\"image\":\"i\"}", NULL },
                { "{\"schedulingPolicy\":{\"queue\":\"\"}}", NULL },
                { "{\"schedulingPolicy\":null}", NULL },
                { "{\"schedulingPolicy\":{\"queue\":\"q\"},\"members\":[{\"replicas\":1}]}", NULL },
                { "{\"schedulingPolicy\":{\"queue\":\"q\"},\"members\":[{\"role\":\"w\",\"replicas\":0}]}",
                  NULL },
                { "[]", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) file = json_parse(rows[i].file, strlen(rows[i].file), NULL),
                                  body = json_object(), wanted = NULL;

                g_test_message("%s", rows[i].file);
                g_assert_nonnull(file);
                g_assert_cmpint(job_body_parse(body, file, NULL), ==, rows[i].body != NULL);
                wanted = rows[i].body ? json_parse(rows[i].body, strlen(rows[i].body), NULL) : NULL;
                g_assert_true(!wanted || json_equal(body, wanted));
        }
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/paddleflow/requests", test_requests);
        g_test_add_func("/cli/paddleflow/wrong", test_wrong);
        g_test_add_func("/cli/paddleflow/environment", test_environment);
        g_test_add_func("/cli/paddleflow/help", test_help);
        g_test_add_func("/cli/paddleflow/ini", test_ini);
        g_test_add_func("/cli/paddleflow/grid", test_grid);
        g_test_add_func("/cli/paddleflow/job-file", test_job_file);
        return g_test_run();
}
