/* Commands and ports of pods (runtime/kubernetes/pod-terminal.h) against a server that answers as the test says.
 * The whole is tested on real nodes (t/kube). */
#include "runtime/kubernetes/pod-terminal.h"

#include "kube/test/rogue.h"

enum {
        MESSAGE = 32 << 10, /* as the kubelet sends them */
        MESSAGES = 96,
        HELD_AT = 64 << 10,
};

/* All that a port says at once: 3 MiB, which the connection's buffers take. */
static GString *flood(void)
{
        GString *text = g_string_new("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                     "Connection: Upgrade\r\nSec-WebSocket-Accept: @ACCEPT@\r\n"
                                     "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n");
        g_autofree char *bytes = g_strnfill(MESSAGE, 'x');
        const char head[] = { (char)0x82, 126, (char)((MESSAGE + 1) >> 8), (char)((MESSAGE + 1) & 0xff), 0 };

        g_string_append_len(text, "\x82\x03\x00P\x00\x82\x03\x01P\x00", 10); /* the port, on both channels */
        for (int i = 0; i < MESSAGES; i++) {
                g_string_append_len(text, head, sizeof head);
                g_string_append_len(text, bytes, MESSAGE);
        }
        g_string_append_len(text, "\x88\x02\x03\xe8", 4);
        return text;
}

typedef struct {
        RuntimeExec *exec;
        gsize came, at_hold;
        bool over, failed;
        int code;
} Reader;

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Reader *reader = arg;

        reader->came += len;
        if (reader->came >= HELD_AT && !reader->at_hold) {
                reader->at_hold = reader->came;
                exec_hold(reader->exec, true);
        }
}

static void on_taken(gsize len, void *arg)
{
}

static void on_done(int status, const GError *error, void *arg)
{
        Reader *reader = arg;

        reader->over = true;
        reader->failed = status != 0 || error;
        reader->code = error ? error->code : -1;
}

static bool find(void *arg, const char *task, const char **ret_namespace, const char **ret_pod,
                 const char **ret_container, bool *ret_on_host)
{
        *ret_namespace = "n";
        *ret_pod = task;
        *ret_container = "main";
        *ret_on_host = false;
        return true;
}

/* A reader that says it has enough gets little more, however much is there; and all of it later. */
static void test_held(void)
{
        g_autoptr(GString) text = flood();
        const RogueRow rows[] = {
                { "/portforward?", 0, ROGUE_CLOSE, text->str, text->len },
                { "GET /api/v1/namespaces/n/pods/", 0, ROGUE_REPLY, "{\"kind\":\"Pod\"}", 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Reader reader = { 0 };
        ExecStart start = { .kind = EXEC_PORT,
                            .port = 80,
                            .output = on_output,
                            .taken = on_taken,
                            .done = on_done,
                            .arg = &reader };
        ExecRoom *room = exec_room_new(g_main_context_default());
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        TerminalPod pod = {
                .client = client, .context = g_main_context_default(), .task = "p", .find = find
        };

        reader.exec = exec_new(room, &terminal_pod_ops, &start, terminal_pod_copy(&pod), terminal_pod_free);
        run_until(reader.at_hold);
        while (g_main_context_iteration(NULL, FALSE))
                ;
        g_assert_false(reader.over);
        g_assert_cmpuint(reader.came, <=, reader.at_hold + MESSAGE);
        exec_hold(reader.exec, false);
        run_until(reader.over);
        g_assert_false(reader.failed);
        g_assert_cmpuint(reader.came, ==, (gsize)MESSAGES * MESSAGE);
        exec_unref(reader.exec);
        exec_room_close(room);
        exec_room_free(room);
        rogue_stop(&rogue);
}

static bool find_none(void *arg, const char *task, const char **ret_namespace, const char **ret_pod,
                      const char **ret_container, bool *ret_on_host)
{
        return false;
}

/* A server that has just started does not know its pods yet: it is worth to try again. */
static void test_unknown(void)
{
        Reader reader = { 0 };
        ExecStart start = {
                .kind = EXEC_TERMINAL, .output = on_output, .taken = on_taken, .done = on_done, .arg = &reader
        };
        TerminalPod pod = { .context = g_main_context_default(), .task = "p", .find = find_none };
        ExecRoom *room = exec_room_new(g_main_context_default());

        reader.exec = exec_new(room, &terminal_pod_ops, &start, terminal_pod_copy(&pod), terminal_pod_free);
        run_until(reader.over);
        g_assert_cmpint(reader.code, ==, ERR_UNAVAILABLE);
        exec_unref(reader.exec);
        exec_room_close(room);
        exec_room_free(room);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pod-terminal/held", test_held);
        g_test_add_func("/pod-terminal/unknown", test_unknown);
        return g_test_run();
}
