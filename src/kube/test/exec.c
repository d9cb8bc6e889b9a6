/* Commands in a container: frames of a WebSocket, cut everywhere, and the whole against a server that answers
 * as the test says. */
#include "kube/exec.h"

#include "base/json.h"
#include "net/client-frame.h"
#include "kube/test/rogue.h"

/* ---- Frames ---- */

static bool note_message(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        g_string_append_printf(arg, "%d:%.*s ", (int)opcode, (int)len, data);
        return opcode != FRAME_CLOSE;
}

static void test_frames(void)
{
        static const struct {
                const char *bytes;
                gsize len;
                const char *seen;
                int code; /* -1: none */
        } cases[] = {
                { "\x82\x02hi", 4, "2:hi ", -1 },
                { "\x81\x00\x82\x01x", 5, "1: 2:x ", -1 },
                { "\x02\x01"
                  "a\x89\x01p\x00\x01"
                  "b\x80\x01"
                  "c",
                  12, "9:p 2:abc ", -1 },
                { "\x82\x7e\x00\x03xyz", 7, "2:xyz ", -1 },
                { "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x02xy", 12, "2:xy ", -1 },
                { "\x88\x02\x03\xe8\x82\x01x", 7, "8:\x03\xe8 ", -1 },
                { "\x82\x7e\x10\x01", 4, "", ERR_TOO_LARGE },
                { "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10, "", ERR_TOO_LARGE },
                { "\x82\x81", 2, "", ERR_INVALID },         /* masked */
                { "\xc2\x00", 2, "", ERR_INVALID },         /* reserved bits */
                { "\x80\x00", 2, "", ERR_INVALID },         /* goes on that has not begun */
                { "\x02\x00\x02\x00", 4, "", ERR_INVALID }, /* begins within another */
                { "\x83\x00", 2, "", ERR_INVALID },         /* not known */
                { "\x09\x00", 2, "", ERR_INVALID },         /* a control frame in pieces */
                { "\x89\x7e\x00\x80", 4, "", ERR_INVALID }, /* a long one */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (gsize step = 1; step <= cases[i].len; step++) {
                        g_autoptr(GString) seen = g_string_new(NULL);
                        g_autoptr(FrameReader) reader = frame_reader_new(4096, note_message, seen);
                        g_autoptr(GError) error = NULL;

                        for (gsize at = 0; at < cases[i].len && !error; at += step)
                                frame_reader_feed(reader, cases[i].bytes + at, MIN(step, cases[i].len - at),
                                                  &error);
                        g_assert_cmpstr(seen->str, ==, cases[i].seen);
                        g_assert_cmpint(error ? error->code : -1, ==, cases[i].code);
                }
}

static void test_append(void)
{
        static const gsize lens[] = { 0, 1, 125, 126, 65535, 65536 };
        static const gsize heads[] = { 6, 6, 6, 8, 8, 14 };

        for (gsize i = 0; i < G_N_ELEMENTS(lens); i++) {
                g_autoptr(GString) out = g_string_new("x");
                g_autofree char *data = g_strnfill(lens[i], 'd');
                guint8 key[4] = { 1, 2, 3, 4 };
                guint32 mask;

                memcpy(&mask, key, sizeof mask);
                frame_append_masked(out, FRAME_BINARY, data, lens[i], mask);
                g_assert_cmpuint(out->len, ==, 1 + heads[i] + lens[i]);
                g_assert_cmpint((guint8)out->str[1], ==, 0x82);
                g_assert_true((guint8)out->str[2] & 0x80);
                for (gsize k = 0; k < lens[i]; k++)
                        g_assert_cmpint((guint8)out->str[1 + heads[i] + k], ==, 'd' ^ key[k % 4]);
        }
}

/* ---- The whole ---- */

typedef struct {
        GString *seen;
        int done, status, code;
        char *message;
        KubeExec *exec;
        bool cancel, hold;
} Result;

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Result *result = arg;

        g_string_append_printf(result->seen, "%d:%.*s ", fd, (int)len, data);
        if (result->cancel)
                kube_exec_cancel(result->exec);
        else if (result->hold)
                kube_exec_hold(result->exec, true);
}

static void on_done(int exit_status, const GError *error, void *arg)
{
        Result *result = arg;

        result->done++;
        result->status = exit_status;
        result->code = error ? error->code : -1;
        result->message = error ? g_strdup(error->message) : NULL;
}

static void result_clear(Result *result)
{
        g_string_free(result->seen, TRUE);
        g_free(result->message);
}

static KubeExec *start_within(KubeClient *client, const char *pod, gint64 open_ms, Result *result)
{
        static const char *const argv[] = { "echo", "", "a b&c", NULL };
        KubeExecConfig config = { .namespace = "n",
                                  .pod = pod,
                                  .container = "main",
                                  .argv = argv,
                                  .input = true,
                                  .open_ms = open_ms,
                                  .output = on_output,
                                  .done = on_done,
                                  .arg = result };

        *result = (Result){ .seen = g_string_new(NULL) };
        return result->exec = kube_exec(client, &config);
}

static KubeExec *start(KubeClient *client, const char *pod, Result *result)
{
        return start_within(client, pod, 0, result);
}

#define SWITCH(version)                                                                                      \
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                  \
        "Sec-WebSocket-Accept: @ACCEPT@\r\nSec-WebSocket-Protocol: " version "\r\n\r\n"
#define V5 SWITCH("v5.channel.k8s.io")
#define V4 SWITCH("v4.channel.k8s.io")
#define SUCCESS "\x82\x15\x03{\"status\":\"Success\"}"
#define EXITED                                                                                               \
        "\x82\x7e\x00\x78\x03{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"details\":{"           \
        "\"causes\":["                                                                                       \
        "{\"reason\":\"ExitCode\",\"message\":\"42\"}]},\"code\":1}   "
#define PORT_SAYS "\x82\x02\x00P\x82\x02\x00\x00\x82\x03\x01P\x00\x82\x06\x00hello"
#define ROW(pod, how, bytes)                                                                                 \
        {                                                                                                    \
                "/pods/" pod "/exec?", 0, how, bytes, sizeof(bytes) - 1                                      \
        }

static const RogueRow rows[] = {
        ROW("good", ROGUE_BYTEWISE,
            V5 "\x82\x06\x01hello\x82\x04\x02"
               "err\x82\x01\x01\x89\x00" SUCCESS),
        ROW("v4", ROGUE_CLOSE, SWITCH("v4.channel.k8s.io") "\x82\x03\x01hi" EXITED),
        ROW("absent", ROGUE_HOLD,
            V5 "\x82\x45\x03{\"status\":\"Failure\",\"message\":\"no such file\",\"code\":500}            "),
        ROW("ended", ROGUE_HOLD,
            V5
            "\x82\x5e\x03{\"status\":\"Failure\",\"message\":\"unable to upgrade connection: container not found (\\\"main\\\")\"}"),
        ROW("early", ROGUE_PIECES, V5 "\x82\x03\x01hi" EXITED),
        ROW("talk", ROGUE_HEAR, V5),
        ROW("lost", ROGUE_CLOSE, V5 "\x82\x03\x01hi"),
        ROW("closed", ROGUE_HOLD, V5 "\x88\x02\x03\xe8"),
        ROW("wild", ROGUE_HOLD, V5 "\x82\x81"),
        { "/pods/ports/portforward?ports=80 ", 0, ROGUE_CLOSE, V4 PORT_SAYS "\x88\x02\x03\xe8",
          sizeof V4 PORT_SAYS - 1 + 4 },
        { "/pods/ports/portforward?ports=83 ", 0, ROGUE_CLOSE, V4 PORT_SAYS, sizeof V4 PORT_SAYS - 1 },
        { "/pods/ports/portforward?ports=84 ", 0, ROGUE_HOLD, V4 PORT_SAYS "\x88\x02\x03\xf3",
          sizeof V4 PORT_SAYS - 1 + 4 },
        { "/pods/ports/portforward?ports=81 ", 0, ROGUE_HOLD, V4 "\x82\x03\x01Q\x00\x82\x08\x01refused",
          sizeof V4 - 1 + 15 },
        { "/pods/ports/portforward?ports=82 ", 0, ROGUE_HOLD, V4 "\x82\x0b\x01R\x00no route",
          sizeof V4 - 1 + 13 },
        ROW("v3", ROGUE_HOLD, SWITCH("channel.k8s.io")),
        ROW("other", ROGUE_HOLD, "HTTP/1.1 101 X\r\nSec-WebSocket-Accept: x\r\n\r\n"),
        ROW("refused", ROGUE_HOLD,
            HEAD("400 Bad Request") "Content-Length: 51\r\n\r\n{\"message\":\"container x is not valid for "
                                    "pod good\"}"),
        ROW("cut", ROGUE_CLOSE, "HTTP/1.1 50"),
        ROW("mute", ROGUE_CLOSE, ""),
        { "/pods/hung ", 0, ROGUE_HOLD, "", 0 },
        ROW("slow", ROGUE_HOLD, ""),
        { "/pods/none ", 0, ROGUE_CLOSE,
          HEAD("404 Not Found") "\r\n{\"message\":\"pods \\\"none\\\" not found\"}", 0 },
        { "GET /api/v1/namespaces/n/pods/", 0, ROGUE_REPLY, "{\"kind\":\"Pod\"}", 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void test_ends(void)
{
        static const struct {
                const char *pod, *seen;
                int status, code;
                const char *says;
        } cases[] = {
                { "good", "1:hello 2:err ", 0, -1, NULL },
                { "v4", "1:hi ", 42, -1, NULL },
                { "absent", "", -1, ERR_FAILED, "did not run: no such file" },
                { "ended", "", -1, ERR_UNAVAILABLE, "container not found" },
                { "lost", "1:hi ", -1, ERR_UNAVAILABLE, "ended before the command" },
                { "closed", "", -1, ERR_UNAVAILABLE, "closed the connection" },
                { "wild", "", -1, ERR_INVALID, "masked" },
                { "v3", "", -1, ERR_UNAVAILABLE, "neither v5 nor v4" },
                { "other", "", -1, ERR_UNAVAILABLE, "not the server's" },
                { "refused", "", -1, ERR_INVALID, "container x is not valid" },
                { "cut", "", -1, ERR_UNAVAILABLE, "no HTTP" },
                { "mute", "", -1, ERR_UNAVAILABLE, "ended before" },
                { "none", "", -1, ERR_NOT_FOUND, "pods \"none\" not found" },
        };
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "token: t", NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Result result;

                start(client, cases[i].pod, &result);
                run_until(result.done);
                g_assert_cmpstr(result.seen->str, ==, cases[i].seen);
                g_assert_cmpint(result.status, ==, cases[i].status);
                g_assert_cmpint(result.code, ==, cases[i].code);
                if (cases[i].says && !strstr(result.message, cases[i].says))
                        g_error("'%s' is not in '%s'", cases[i].says, result.message);
                result_clear(&result);
        }
        g_assert_cmpint(rogue_count(&rogue,
                                    "/exec?container=main&stdin=true&stdout=true&stderr=true&command=echo&"
                                    "command=&command=a%20b%26c HTTP/1.1"),
                        ==, 12);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* Each channel begins with the port, in pieces, too. */
static void test_port(void)
{
        static const struct {
                int port, status, code;
                const char *seen, *says;
        } cases[] = {
                { 80, 0, -1, "1:hello ", NULL },
                { 81, -1, ERR_CONFLICT, "", "nothing listens on port 81" },
                { 82, -1, ERR_CONFLICT, "", "no route" },
                { 83, -1, ERR_UNAVAILABLE, "1:hello ", "broke" }, /* without a goodbye */
                { 84, -1, ERR_UNAVAILABLE, "1:hello ", "broke" }, /* 1011: an error of the server */
        };
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Result result = { .seen = g_string_new(NULL) };
                KubeExecConfig config = { .namespace = "n",
                                          .pod = "ports",
                                          .port = cases[i].port,
                                          .output = on_output,
                                          .done = on_done,
                                          .arg = &result };

                result.exec = kube_exec(client, &config);
                run_until(result.done);
                g_assert_cmpstr(result.seen->str, ==, cases[i].seen);
                g_assert_cmpint(result.status, ==, cases[i].status);
                g_assert_cmpint(result.code, ==, cases[i].code);
                if (cases[i].says && !strstr(result.message, cases[i].says))
                        g_error("'%s' is not in '%s'", cases[i].says, result.message);
                result_clear(&result);
        }
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* What the server has heard, without masks: "<channel>:<data> ". */
static char *unmask(Rogue *rogue)
{
        GString *out = g_string_new(NULL);

        pthread_mutex_lock(&rogue->mutex);
        for (gsize at = 0; at + 6 <= rogue->heard->len;) {
                const guint8 *frame = (const guint8 *)rogue->heard->str + at;
                gsize len = frame[1] & 0x7f;

                g_assert_cmpuint(len, <, 126);
                if (at + 6 + len > rogue->heard->len)
                        break;
                for (gsize i = 0; i < len; i++) {
                        guint8 byte = frame[6 + i] ^ frame[2 + i % 4];

                        if (i == 0)
                                g_string_append_printf(out, "%d:", byte);
                        else if (byte < ' ')
                                g_string_append_printf(out, "#%d", byte);
                        else
                                g_string_append_c(out, (char)byte);
                }
                g_string_append_c(out, ' ');
                at += 6 + len;
        }
        pthread_mutex_unlock(&rogue->mutex);
        return g_string_free(out, FALSE);
}

static void test_input(void)
{
        static const char expected[] = "0:before 4:{\"Width\":80,\"Height\":24} 255:#0 ";
        g_autofree char *heard = g_strdup("");
        Result result;
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        KubeExec *exec = start(client, "talk", &result);
        g_autofree char *much = g_malloc0(KUBE_EXEC_UNSENT_MAX);
        g_assert_true(kube_exec_write(exec, "before", 6));
        g_assert_cmpuint(kube_exec_unsent(exec), >, 6);
        g_assert_false(kube_exec_write(exec, much, KUBE_EXEC_UNSENT_MAX));
        kube_exec_resize(exec, 80, 24);
        kube_exec_close_input(exec);
        g_assert_false(kube_exec_write(exec, "x", 1));
        gint64 late = g_get_monotonic_time() + PATIENCE_MS * 1000;
        while (strlen(heard) < strlen(expected)) {
                g_main_context_iteration(NULL, FALSE);
                g_free(heard);
                heard = unmask(&rogue);
                g_assert_cmpint(g_get_monotonic_time(), <, late);
        }
        g_assert_cmpstr(heard, ==, expected);
        g_assert_cmpuint(kube_exec_unsent(exec), ==, 0);
        kube_exec_cancel(exec);
        g_assert_cmpint(result.done, ==, 0);
        result_clear(&result);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* The command ends and reads no more: what it said last counts, and not that nobody takes our bytes. */
static void test_early_end(void)
{
        static const char much[64 << 10];
        Result result;
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        KubeExec *exec = start(client, "early", &result);
        result.hold = true;
        run_until(result.seen->len);
        while (!result.done && kube_exec_unsent(exec) < KUBE_EXEC_UNSENT_MAX - sizeof much &&
               kube_exec_write(exec, much, sizeof much))
                g_main_context_iteration(NULL, FALSE);
        if (!result.done)
                kube_exec_hold(exec, false);
        run_until(result.done);
        g_assert_cmpint(result.code, ==, -1);
        g_assert_cmpint(result.status, ==, 42);
        result_clear(&result);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* A connection that ends while its output is held is not looked at over and over. */
static void test_held(void)
{
        Result result;
        Rogue rogue;
        int turns = 0;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        KubeExec *exec = start(client, "lost", &result);
        result.hold = true;
        run_until(result.seen->len);
        gint64 late = g_get_monotonic_time() + PATIENCE_MS * 1000;
        while (kube_exec_write(exec, "x", 1)) { /* until the server has refused it */
                g_main_context_iteration(NULL, FALSE);
                g_assert_cmpint(g_get_monotonic_time(), <, late);
        }
        while (g_main_context_iteration(NULL, FALSE))
                g_assert_cmpint(turns++, <, 1000);
        g_assert_cmpint(result.done, ==, 0);
        kube_exec_hold(exec, false);
        run_until(result.done);
        g_assert_cmpint(result.code, ==, ERR_UNAVAILABLE);
        result_clear(&result);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

static guint64 in_flight(const KubeClient *client)
{
        KubeClientFigures figures;

        kube_client_figures(client, &figures);
        return figures.in_flight;
}

/* A server that says nothing, neither of the pod nor to the opening: the end comes in time, and once. */
static void test_late(void)
{
        static const char *const pods[] = { "hung", "slow" };
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client =
                rogue_client(&rogue, "", &(KubeClientOptions){ .timeout_ms = 300, .retries = -1 });
        for (gsize i = 0; i < G_N_ELEMENTS(pods); i++) {
                Result result;

                start_within(client, pods[i], 100, &result);
                run_until(result.done);
                g_assert_cmpint(result.code, ==, ERR_TIMEOUT);
                run_until(in_flight(client) == 0);
                g_assert_cmpint(result.done, ==, 1);
                result_clear(&result);
        }
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

static void test_cancel(void)
{
        Result result;
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        start(client, "good", &result);
        kube_exec_cancel(result.exec); /* at once */
        result_clear(&result);
        start(client, "good", &result);
        result.cancel = true; /* from its own output */
        run_until(result.seen->len);
        while (g_main_context_iteration(NULL, FALSE))
                ;
        g_assert_cmpstr(result.seen->str, ==, "1:hello ");
        g_assert_cmpint(result.done, ==, 0);
        result_clear(&result);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/exec/frames", test_frames);
        g_test_add_func("/kube/exec/append", test_append);
        g_test_add_func("/kube/exec/ends", test_ends);
        g_test_add_func("/kube/exec/input", test_input);
        g_test_add_func("/kube/exec/port", test_port);
        g_test_add_func("/kube/exec/early-end", test_early_end);
        g_test_add_func("/kube/exec/held", test_held);
        g_test_add_func("/kube/exec/late", test_late);
        g_test_add_func("/kube/exec/cancel", test_cancel);
        return g_test_run();
}
