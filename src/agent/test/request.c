/* `start` requests: which are accepted, the errors of the others, and the message for the spawner. */
#include "agent/request.h"

#include <string.h>

#include "base/err.h"

#define BASE "\"dir\":\"/d\",\"log\":\"/l\""

static void test_refused(void)
{
        static const struct {
                const char *line, *says;
        } cases[] = {
                { "{\"task\":\"a.1\",\"argv\":[\"x\"]," BASE "}", NULL },
                { "{\"task\":\"a.1\",\"argv\":[\"x\"],\"env\":[],\"binds\":[\"/a\",\"/"
                  "b\"],\"banner\":null," BASE "}",
                  NULL },
                { "{\"argv\":[\"x\"]," BASE "}", "'start' names no task" },
                { "{\"task\":\"A\",\"argv\":[\"x\"]," BASE "}", "task 'A' is not a name of [a-z0-9.-]" },
                { "{\"task\":\"../x\",\"argv\":[\"x\"]," BASE "}", "task '../x' is not a name" },
                { "{\"task\":\"\",\"argv\":[\"x\"]," BASE "}", "task '' is not a name" },
                { "{\"task\":\"a\",\"argv\":[]," BASE "}", "task 'a': argv names no program" },
                { "{\"task\":\"a\",\"argv\":[\"\"]," BASE "}", "task 'a': argv names no program" },
                { "{\"task\":\"a\"," BASE "}", "task 'a': argv names no program" },
                { "{\"task\":\"a\",\"argv\":[\"x\",1]," BASE "}", "argv[1] is not a string" },
                { "{\"task\":\"a\",\"argv\":\"x\"," BASE "}", "argv" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"env\":[null]," BASE "}", "env[0] is not a string" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"binds\":[\"/a\"]," BASE "}", "binds are not pairs" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"proxy\":[\"/p\",\"ALLOW=a:1\"]," BASE "}", NULL },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"mounts\":[\"home\",\"/h\",\"\",\"/d\",\"ro\"]," BASE
                  "}",
                  NULL },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"mounts\":[\"home\",\"/h\",\"\",\"/d\"]," BASE "}",
                  "a mount has 5 words" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"mounts\":[1]," BASE "}", "mounts[0] is not a string" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"proxy\":[1]," BASE "}", "proxy[0] is not a string" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"dir\":\"d\",\"log\":\"/l\"}", "must be absolute" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"memory\":-1," BASE "}", "memory" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"ready_port\":65536," BASE "}", "ready_port" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"grace_ms\":1.5," BASE "}", "grace_ms" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"uid\":7,\"gid\":8,\"groups\":[0,4294967294]," BASE "}",
                  NULL },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"uid\":7," BASE "}",
                  "uid, gid and groups belong together" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"gid\":7," BASE "}",
                  "uid, gid and groups belong together" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"groups\":[7]," BASE "}",
                  "uid, gid and groups belong together" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"uid\":4294967295,\"gid\":8," BASE "}", "uid" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"uid\":-1,\"gid\":8," BASE "}", "uid" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"uid\":7,\"gid\":8,\"groups\":[7,-1]," BASE "}",
                  "groups[1] is not a group's number" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"uid\":7,\"gid\":8,\"groups\":[\"7\"]," BASE "}",
                  "groups[0] is not a group's number" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"sandbox\":[\"pids\",\"calls\"]," BASE "}", NULL },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"sandbox\":[\"moat\"]," BASE "}",
                  "no part is called 'moat'" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"sandbox\":[\"ipc\"],\"shared\":true," BASE "}",
                  "its sandbox has no place" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"keep\":[7]," BASE "}", "keep[0] is not a string" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"denied_major\":195,\"denied_minors\":[0,63]," BASE "}",
                  NULL },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"denied_major\":195,\"denied_minors\":[64]," BASE "}",
                  "denied_minors[0] is not a number from 0 to 63" },
                { "{\"task\":\"a\",\"argv\":[\"x\"],\"denied_major\":-1," BASE "}", "denied_major" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) object = json_parse(cases[i].line, strlen(cases[i].line), NULL);
                g_autoptr(GError) error = NULL;
                StartRequest request;
                bool ok = start_request_parse(object, &request, &error);

                g_assert_true(ok == !cases[i].says);
                if (!ok && !strstr(error->message, cases[i].says))
                        g_error("'%s' does not say '%s'", error->message, cases[i].says);
        }
}

static void test_names(void)
{
        g_autofree char *longest = g_strnfill(160, 'a'), *longer = g_strnfill(161, 'a');
        const struct {
                const char *name;
                bool ok;
        } cases[] = {
                { "4k2m.1.trainer.0", true },
                { "env.0f", true },
                { "-", true },
                { longest, true },
                { longer, false },
                { ".", false },
                { "..", false },
                { ".hidden", false },
                { "a/b", false },
                { "a b", false },
                { "", false },
                { "A", false },
                { "\xc3\xa4", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(task_name_is_valid(cases[i].name) == cases[i].ok);
}

static void test_pack(void)
{
        static const char line[] =
                "{\"task\":\"a\",\"argv\":[\"x\",\"\"],\"env\":[\"A=1\"],\"memory\":77,\"grace_ms\":9,"
                "\"uid\":4000000000,\"gid\":5,\"groups\":[6,70],\"progress\":\"/q\"," BASE "}";
        static const char strings[] = "a\0/d\0/l\0\0\0s\0"
                                      "6,70\0\0/q\0\0/m\0\0\0/p\0\0x\0\0A=1"; /* and the literal's own NUL */
        g_autoptr(json_t) object = json_parse(line, strlen(line), NULL);
        const Slot slot = { .dir = { [SLOT_MEMORY] = "/m", [SLOT_PIDS] = "/p" }, .v2 = 1u << SLOT_PIDS };
        g_autoptr(GByteArray) message = NULL;
        StartRequest request;
        WireSpawn head;

        g_assert_true(start_request_parse(object, &request, NULL));
        message = start_request_pack(&request, 5, "s", 4, &slot, NULL, NULL);
        memcpy(&head, message->data, sizeof head);
        g_assert_cmpint((int)head.id, ==, 5);
        g_assert_cmpint(head.slot, ==, 4);
        g_assert_cmpint((int)head.limits.memory, ==, 77);
        g_assert_true(head.as_user && head.uid == 4000000000u && head.gid == 5);
        g_assert_cmpint((int)head.n_argv, ==, 2);
        g_assert_cmpint((int)head.n_env, ==, 1);
        g_assert_cmpint((int)head.n_binds, ==, 0);
        g_assert_cmpmem(message->data + sizeof head, message->len - sizeof head, strings, sizeof strings);
        g_assert_cmpint((int)head.payload, ==, sizeof strings);
}

/* They come last in the message, and the member can never gain rights. */
static void test_mounts(void)
{
        static const char line[] =
                "{\"task\":\"a\",\"argv\":[\"x\"],\"new_privileges\":true,\"keep\":[\"/k\"],"
                "\"mounts\":[\"home\",\"/h\",\"s\",\"/d\",\"ro\"]," BASE "}";
        static const char last[] = "/k\0home\0/h\0s\0/d\0ro";
        g_autoptr(json_t) object = json_parse(line, strlen(line), NULL);
        g_autoptr(GByteArray) message = NULL;
        StartRequest request;
        WireSpawn head;

        g_assert_true(start_request_parse(object, &request, NULL));
        message = start_request_pack(&request, 5, "s", 4, &(Slot){ 0 }, NULL, NULL);
        memcpy(&head, message->data, sizeof head);
        g_assert_cmpint((int)head.n_mounts, ==, 1);
        g_assert_cmpint((int)head.n_keep, ==, 1);
        g_assert_true(head.confined);
        g_assert_cmpmem(message->data + message->len - sizeof last, sizeof last, last, sizeof last);
}

static void test_own_user(void)
{
        static const char line[] = "{\"task\":\"a\",\"argv\":[\"x\"]," BASE "}";
        g_autoptr(json_t) object = json_parse(line, strlen(line), NULL);
        g_autoptr(GByteArray) message = NULL;
        StartRequest request;
        WireSpawn head;

        g_assert_true(start_request_parse(object, &request, NULL));
        message = start_request_pack(&request, 5, "s", 4, &(Slot){ 0 }, NULL, NULL);
        memcpy(&head, message->data, sizeof head);
        g_assert_false(head.as_user);
        g_assert_true(head.confined);
}

static void test_new_privileges(void)
{
        static const char line[] = "{\"task\":\"a\",\"argv\":[\"x\"],\"new_privileges\":true," BASE "}";
        g_autoptr(json_t) object = json_parse(line, strlen(line), NULL);
        g_autoptr(GByteArray) message = NULL;
        StartRequest request;
        WireSpawn head;

        g_assert_true(start_request_parse(object, &request, NULL));
        message = start_request_pack(&request, 5, "s", 4, &(Slot){ 0 }, NULL, NULL);
        memcpy(&head, message->data, sizeof head);
        g_assert_false(head.confined);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/agent/request/refused", test_refused);
        g_test_add_func("/agent/request/names", test_names);
        g_test_add_func("/agent/request/pack", test_pack);
        g_test_add_func("/agent/request/own-user", test_own_user);
        g_test_add_func("/agent/request/mounts", test_mounts);
        g_test_add_func("/agent/request/new-privileges", test_new_privileges);
        return g_test_run();
}
