/* The lines to and from the agent. */
#include "runtime/local/message.h"

#include "base/err.h"
#include "base/json.h"

static void test_start(void)
{
        const char *argv[] = { "sh", "-c", "echo \"a\\b\"\n\t\x01", NULL };
        const char *env[] = { "A=\xc3\xa4", "BAD=\xff", NULL };
        const char *binds[] = { "/s", "/t", NULL };
        const TaskMount mounts[] = {
                { .fs = "home", .root = "/h", .sub = "", .path = "/d" },
                { .fs = "x", .root = "/x\"", .sub = "s", .path = "w", .read_only = true }
        };
        static const char *const words[] = { "home", "/h", "", "/d", "rw", "x", "/x\"", "s", "w", "ro" };
        TaskStart task = { .task = "j.1.trainer.0",
                           .argv = (char *const *)argv,
                           .env = (char *const *)env,
                           .dir = "/d",
                           .log = "/l",
                           .limits = { .cpu_milli = 1500, .memory = G_GINT64_CONSTANT(1) << 40 },
                           .cpu_weight_milli = 7,
                           .max_processes = 8,
                           .user = 12,
                           .user_processes = 13,
                           .log_limit = 9,
                           .grace_ms = 30000,
                           .ready_port = 20001,
                           .mounts = mounts,
                           .n_mounts = 2,
                           .binds = binds };
        g_autoptr(GString) line = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = NULL;

        message_start(line, &task, NULL, NULL);
        g_assert_cmpint(line->str[line->len - 1], ==, '\n');
        g_assert_null(memchr(line->str, '\n', line->len - 1));
        object = json_parse(line->str, line->len - 1, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(json_string_value(json_object_get(object, "op")), ==, "start");
        g_assert_cmpstr(json_string_value(json_object_get(object, "task")), ==, "j.1.trainer.0");
        g_assert_cmpstr(json_string_value(json_array_get(json_object_get(object, "argv"), 2)), ==, argv[2]);
        g_assert_cmpstr(json_string_value(json_array_get(json_object_get(object, "env"), 0)), ==, env[0]);
        g_assert_cmpstr(json_string_value(json_array_get(json_object_get(object, "env"), 1)), ==,
                        "BAD=\xef\xbf\xbd");
        g_assert_cmpint(json_array_size(json_object_get(object, "binds")), ==, 2);
        g_assert_cmpint(json_array_size(json_object_get(object, "mounts")), ==, G_N_ELEMENTS(words));
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
                g_assert_cmpstr(json_string_value(json_array_get(json_object_get(object, "mounts"), i)), ==,
                                words[i]);
        g_assert_cmpint(json_integer_value(json_object_get(object, "memory")), ==,
                        G_GINT64_CONSTANT(1) << 40);
        g_assert_cmpint(json_integer_value(json_object_get(object, "cpu_milli")), ==, 1500);
        g_assert_cmpint(json_integer_value(json_object_get(object, "processes")), ==, 8);
        g_assert_cmpint(json_integer_value(json_object_get(object, "user")), ==, 12);
        g_assert_cmpint(json_integer_value(json_object_get(object, "user_processes")), ==, 13);
        g_assert_cmpint(json_integer_value(json_object_get(object, "log_bytes")), ==, 9);
        g_assert_cmpint(json_integer_value(json_object_get(object, "ready_port")), ==, 20001);
        g_assert_true(json_is_null(json_object_get(object, "ready_file")));
        g_assert_true(json_is_null(json_object_get(object, "banner")));
        g_assert_null(json_object_get(object, "uid")); /* the agent's own */
        g_assert_null(json_object_get(object, "new_privileges"));
}

static void test_somebody_else(void)
{
        const char *argv[] = { "id", NULL };
        gid_t groups[] = { 5, 4000000001u };
        const Identity identity = { .owner = { 4000000000u, 7 }, .groups = groups, .n_groups = 2 };
        TaskStart task = { .task = "j.1.trainer.0",
                           .argv = (char *const *)argv,
                           .dir = "/d",
                           .log = "/l",
                           .new_privileges = true };
        g_autoptr(GString) line = g_string_new(NULL);
        g_autoptr(json_t) object = NULL;

        message_start(line, &task, &identity, NULL);
        object = json_parse(line->str, line->len - 1, NULL);
        g_assert_cmpint(json_integer_value(json_object_get(object, "uid")), ==, 4000000000);
        g_assert_cmpint(json_integer_value(json_object_get(object, "gid")), ==, 7);
        g_assert_cmpint(json_array_size(json_object_get(object, "groups")), ==, 2);
        g_assert_cmpint(json_integer_value(json_array_get(json_object_get(object, "groups"), 1)), ==,
                        4000000001);
        g_assert_true(json_is_true(json_object_get(object, "new_privileges")));
}

static void test_small(void)
{
        g_autoptr(GString) lines = g_string_new(NULL);

        message_hello(lines, 3, NULL);
        message_stop(lines, "a", 0);
        message_forget(lines, "b");
        g_assert_cmpstr(lines->str, ==,
                        "{\"op\":\"hello\",\"epoch\":3}\n{\"op\":\"stop\",\"task\":\"a\",\"grace_ms\":0}\n{"
                        "\"op\":\"forget\",\"task\":\"b\"}\n");
}

static void test_parse(void)
{
        static const struct {
                const char *line;
                bool ok;
                MessageKind kind;
                ObservationKind observed;
        } cases[] = {
                { "{\"op\":\"hello\",\"epoch\":7,\"pid\":1,\"boot_id\":\"x\",\"limits\":[\"cpu\"]}", true,
                  MESSAGE_HELLO, 0 },
                { "{\"op\":\"refused\",\"epoch\":7}", true, MESSAGE_REFUSED, 0 },
                { "{\"op\":\"started\",\"task\":\"t\",\"pid\":5,\"time\":9}", true, MESSAGE_OBSERVATION,
                  OBSERVED_STARTED },
                { "{\"op\":\"ready\",\"task\":\"t\",\"time\":9}", true, MESSAGE_OBSERVATION, OBSERVED_READY },
                { "{\"op\":\"exited\",\"task\":\"t\",\"exit_code\":-1,\"signal\":9,\"oom\":true}", true,
                  MESSAGE_OBSERVATION, OBSERVED_EXITED },
                { "{\"op\":\"failed\",\"task\":\"t\",\"text\":\"no\"}", true, MESSAGE_OBSERVATION,
                  OBSERVED_START_FAILED },
                { "{\"op\":\"lost\",\"task\":\"t\",\"text\":\"no\",\"time\":1}", true, MESSAGE_OBSERVATION,
                  OBSERVED_LOST },
                { "{\"op\":\"synced\"}", true, MESSAGE_OBSERVATION, OBSERVED_SYNCED },
                { "{\"op\":\"pong\"}", true, MESSAGE_OTHER, 0 },
                { "{\"op\":\"of a newer agent\",\"task\":5}", true, MESSAGE_OTHER, 0 },
                { "{\"op\":\"started\"}", false, 0, 0 },
                { "{\"op\":\"started\",\"task\":5}", false, 0, 0 },
                { "{\"op\":\"exited\",\"task\":\"t\",\"exit_code\":256}", false, 0, 0 },
                { "{\"op\":\"exited\",\"task\":\"t\",\"signal\":\"KILL\"}", false, 0, 0 },
                { "{}", false, 0, 0 },
                { "[]", false, 0, 0 },
                { "", false, 0, 0 },
                { "{\"op\":\"synced\"", false, 0, 0 },
                { "\x01\x02", false, 0, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                Message message = { 0 };

                g_test_message("%s", cases[i].line);
                g_assert_true(message_parse(cases[i].line, strlen(cases[i].line), &message, &error) ==
                              cases[i].ok);
                if (!cases[i].ok) {
                        g_assert_true(err_is(error, ERR_INVALID));
                        continue;
                }
                g_assert_cmpint(message.kind, ==, cases[i].kind);
                g_assert_true((message.observation != NULL) == (cases[i].kind == MESSAGE_OBSERVATION));
                if (message.observation)
                        g_assert_cmpint(message.observation->kind, ==, cases[i].observed);
                observation_free(message.observation);
        }
}

static void test_fields(void)
{
        static const char line[] = "{\"op\":\"exited\",\"task\":\"j.1.t.0\",\"exit_code\":-1,\"signal\":9,"
                                   "\"oom\":true,\"permanent\":true,\"time\":1700000000123,"
                                   "\"peak_memory\":4096,\"cpu_us\":77}";
        Message message = { 0 };

        g_assert_true(message_parse(line, strlen(line), &message, NULL));
        g_assert_cmpstr(message.observation->task, ==, "j.1.t.0");
        g_assert_cmpint(message.observation->exit_code, ==, -1);
        g_assert_cmpint(message.observation->signal, ==, 9);
        g_assert_true(message.observation->oom);
        g_assert_true(message.observation->permanent);
        g_assert_cmpint(message.observation->time, ==, 1700000000123);
        g_assert_cmpint(message.observation->peak_memory, ==, 4096);
        g_assert_cmpint(message.observation->cpu_us, ==, 77);
        observation_free(message.observation);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/message/start", test_start);
        g_test_add_func("/message/somebody-else", test_somebody_else);
        g_test_add_func("/message/small", test_small);
        g_test_add_func("/message/parse", test_parse);
        g_test_add_func("/message/fields", test_fields);
        return g_test_run();
}
